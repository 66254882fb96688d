"""The identities that relgraph ships, one theme a module, each with its tuple ``RELATIONS``.

A module declares data and registers nothing.  ``RELATIONS`` holds every relation in the direction
in which its result is simpler; a relation that no mode runs is listed with tags of its own.

How a docstring reads: the identity; where it holds, with its labels; its source.  ``exact`` sides
are equal bit for bit (any NaN for any NaN), ``rounded`` ones differ by rounding.  ``kept`` sides
agree on infinities and NaN, ``assumes_finite`` ones where inputs and intermediates are finite.  In
a relation tagged ``stabilize`` the left side may overflow or underflow for finite inputs where the
right side does not: that is what the relation is for, and no other difference is allowed.
"""
