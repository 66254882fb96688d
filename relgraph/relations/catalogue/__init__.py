"""The identities that relgraph ships, one theme a module, each with its tuple ``RELATIONS``.

A module declares data and registers nothing.  ``RELATIONS`` has its relations in declared order,
each in the direction in which its result is simpler; a relation that no mode runs has only tags of
its own.

A docstring states the identity on its first line, then what conditions and labels do not say, then
the source.  A sentence "Holds ..." says where the identity is true beyond its conditions;
``relation.__doc__`` completes it with the conditions and the labels, so no docstring repeats them.

``exact`` sides are equal bit for bit (any NaN for any NaN), ``rounded`` ones differ by rounding.
``kept`` sides agree on infinities and NaN, ``assumes_finite`` ones where inputs and intermediates
are finite.  In a relation tagged ``stabilize`` the left side may overflow or underflow for finite
inputs where the right side does not: that is the purpose of the relation, and no other difference
is allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from relgraph.relations.relation import Relation

# Tags: the phases that relations join, and the mode that runs them.
CANONICAL = ("canonicalize", "fast_run")
SPECIALIZE = ("specialize", "fast_run")
TIDY = ("canonicalize", "specialize", "fast_run")  # again after the stabilising phase
STABLE = ("fast_run", "stabilize", "stabilization")
FINITE = ("fast_run", "stabilize")  # what assumes finite values is no part of "stabilization"
SEARCH = ("linear_algebra", "search")


def relations_in(
    names: Mapping[str, Any], backward: Collection[Relation] = ()
) -> tuple[Relation, ...]:
    """Return the relations that a module declares, in order; those in ``backward`` reversed."""
    own = [x for x in names.values() if isinstance(x, Relation)]
    own = [x for x in own if x.__module__ == names["__name__"]]
    return tuple([x.reversed if x in backward else x for x in own])
