"""The facts of relations that selecting and dispatching them needs, as data for the disk.

From its facts a relation of the catalogue exists before the module that declares it has run.
"""

from __future__ import annotations

import sys
from typing import Any

from relgraph.relations.relation import ANNOUNCED, CataloguedRelation, Relation

# The facts of a relation, and those that differ by direction.
FACTS = (
    "name", "tags", "rounding", "specials", "broadcast", "location", "budget",
    "__module__", "__qualname__",
)  # fmt: skip
DIRECTED = ("heads", "forms", "binds_ops", "needs")

Record = tuple[tuple[Any, ...], tuple[Any, ...] | None, tuple[Any, ...] | None]


def record_of(relation: Relation, directions: tuple[bool, ...]) -> Record:
    """Return the facts of a relation, and those of its forward and its backward direction."""
    forward = relation.forward
    facts = tuple([getattr(forward, name) for name in FACTS])
    sides = {x.backward: x for x in (forward, forward.reversed if True in directions else forward)}
    directed = [
        tuple([getattr(sides[way], name) for name in DIRECTED]) if way in directions else None
        for way in (False, True)
    ]
    return facts, directed[0], directed[1]


def announce(record: Record) -> Relation:
    """Return the relation of a record: the declared one if its module has run."""
    facts, forward, backward = record
    module, qualname = facts[-2:]
    declared = ANNOUNCED.get((module, qualname))
    if declared is None:
        declared = getattr(sys.modules.get(module), qualname, None)
    if isinstance(declared, Relation):
        return declared
    relation = object.__new__(CataloguedRelation)
    relation.__dict__.update(zip(FACTS, facts, strict=True))
    relation.__dict__.update(backward=False, _given=None, _twin=None, _oriented={}, _refused=[])
    if forward is not None:
        relation.__dict__.update(zip(DIRECTED, forward, strict=True))
    if backward is not None:
        twin = relation._twin = relation.swapped()
        twin.__dict__.update(zip(DIRECTED, backward, strict=True))
    return ANNOUNCED.setdefault((module, qualname), relation)  # type: ignore[no-any-return]
