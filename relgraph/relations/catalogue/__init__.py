"""The identities that relgraph ships, one theme a module, each with its tuple ``RELATIONS``.

A module declares data and registers nothing.  ``RELATIONS`` lists every relation in the direction
in which its result is simpler; a relation that no mode runs has only tags of its own.

A docstring states the identity on its first line, then what conditions and labels do not say, then
the source.  A sentence "Holds ..." says where the identity is true beyond its conditions;
``relation.__doc__`` completes it with the conditions and the labels, so no docstring repeats them.

``exact`` sides are equal bit for bit (any NaN for any NaN), ``rounded`` ones differ by rounding.
``kept`` sides agree on infinities and NaN, ``assumes_finite`` ones where inputs and intermediates
are finite.  In a relation tagged ``stabilize`` the left side may overflow or underflow for finite
inputs where the right side does not: that is the purpose of the relation, and no other difference
is allowed.
"""
