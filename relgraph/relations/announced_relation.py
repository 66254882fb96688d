"""Relations that exist before the modules that declare them have run.

An earlier process ran the declarations, checked them, and wrote down what selecting and dispatching
relations needs: names, tags, labels and the ops that patterns begin with.  From these facts a
relation is announced.  Its module runs when its clauses are asked for; then :func:`.identity`
returns the announced object, which keeps the functions that state it, and states itself alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from relgraph.ir.forks import cached_property
from relgraph.relations.clause import Clause
from relgraph.relations.declaration import documentation
from relgraph.relations.relation import ANNOUNCED, Relation, stated_clauses

# The facts of a relation, and those that differ by direction.
FACTS = (
    "name", "tags", "rounding", "specials", "broadcast", "location", "budget",
    "__module__", "__qualname__",
)  # fmt: skip
DIRECTED = ("heads", "forms")

Functions = tuple[Callable[..., Any], Callable[..., Any] | None]


class AnnouncedRelation(Relation):
    """A relation in one direction, known by its facts; the rest is stated when it is asked for."""

    def __init__(self, facts: tuple[Any, ...]) -> None:
        self.__dict__.update(zip(FACTS, facts, strict=True))
        self._given = None
        self._twin: Relation | None = None
        self._oriented = {}
        self._refused = []
        self._functions: Functions | None = None
        self.backward = False

    def declare(self, function: Callable[..., Any], where: Callable[..., Any] | None) -> bool:
        """Take the functions that state the relation; return False if it has them already."""
        if self._functions is not None:  # its module runs again
            return False
        self._functions = function, where
        return True

    @property
    def functions(self) -> Functions:
        """The functions that state its sides and its conditions; its module runs for them."""
        if self.backward:
            forward: Any = self.forward
            return forward.functions  # type: ignore[no-any-return]
        if self._functions is None:
            import_module(self.__module__)
            assert self._functions is not None, f"{self.__module__} does not declare {self.name}"
        return self._functions

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """Its clauses as declared."""
        if self.backward:
            return self.forward.clauses or ()
        return stated_clauses(*self.functions, self.name, self.location)

    @property
    def interpreted(self) -> bool:
        """Whether miniKanren runs it at each node: it does not, for an identity has clauses."""
        return False

    @cached_property
    def doc(self) -> str:
        """The docstring of its declaration."""
        return self.functions[0].__doc__ or ""

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return documentation(self.doc, self.clauses, self.rounding, self.specials)

    def __reduce__(self) -> str | tuple[Any, ...]:
        import_module(self.__module__)  # which holds it
        return super().__reduce__()


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
    relation = AnnouncedRelation(facts)
    if forward is not None:
        relation.__dict__.update(zip(DIRECTED, forward, strict=True))
    if backward is not None:
        twin = relation._twin = relation.swapped()
        twin.__dict__.update(zip(DIRECTED, backward, strict=True))
    return ANNOUNCED.setdefault((module, qualname), relation)  # type: ignore[no-any-return]
