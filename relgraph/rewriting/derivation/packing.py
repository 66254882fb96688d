"""Firings as data that pickles: nodes in one flat list, and relations by reference.

A rewrite consists of fresh logic variables and functions that may have no name, so pickle cannot
store it; it is packed as the nth rewrite of a relation of its selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from relgraph.errors import ArgumentError
from relgraph.ir.graph import flatten, unflatten
from relgraph.ir.node import Variable
from relgraph.relations.operand_index import Firing
from relgraph.rewriting.interpreter import Interpreted
from relgraph.rewriting.selection import Selection, relation_of


class NodeIndex(NamedTuple):
    """The index of a node in the list of all nodes."""

    number: int


class Packing:
    """The nodes of all packed values, each once."""

    def __init__(self) -> None:
        self._indices: dict[Variable, NodeIndex] = {}

    def packed(self, value: Any) -> Any:
        """Return a value with its nodes replaced by indices, also inside tuples and lists."""
        if isinstance(value, Variable):
            return self._indices.setdefault(value, NodeIndex(len(self._indices)))
        if type(value) in (tuple, list):
            return type(value)([self.packed(x) for x in value])
        return value

    def firing(self, firing: Firing, selection: Selection) -> tuple[Any, ...]:
        """Return a firing of a selection as data."""
        parts = (firing.bindings, firing.taken, firing.result, firing.scales)
        return _named(firing.rewrite, selection), *map(self.packed, parts)

    def nodes(self) -> tuple[Any, ...]:
        """Return all nodes packed so far, as a flat list."""
        return flatten(list(self._indices))


class Unpacking:
    """The reverse of :class:`Packing`.

    Parameters
    ----------
    nodes : tuple
        What :meth:`Packing.nodes` returned.
    """

    def __init__(self, nodes: tuple[Any, ...]) -> None:
        self._nodes: Sequence[Variable] = unflatten(nodes)

    def unpacked(self, value: Any) -> Any:
        """Return a value with its indices replaced by nodes."""
        if type(value) is NodeIndex:
            return self._nodes[value.number]
        if type(value) in (tuple, list):
            return type(value)([self.unpacked(x) for x in value])
        return value

    def firing(self, data: tuple[Any, ...], selection: Selection) -> Firing:
        """Return the firing that was packed."""
        (kind, *where), *parts = data
        if kind == "relation":
            number, nth = where
            relation = selection.relations[number]
            rewrite: Any = Interpreted(relation) if nth is None else relation.rewrites[nth]
        elif kind == "transform":
            rewrite = selection.transforms[where[0]]
        else:
            rewrite = where[0]
        return Firing(rewrite, *map(self.unpacked, parts))


def _named(rewrite: Any, selection: Selection) -> tuple[Any, ...]:
    """Return a reference to the rewrite that fired, within its selection."""
    if relation_of(rewrite) is not None:
        place = selection.place(rewrite)
        if place is None:
            raise ArgumentError(
                f"a firing of {rewrite.relation} cannot be pickled: its selection does not hold it",
                {"selection": selection},
                "Pickle derivations as rg.explain returns them.",
            )
        return "relation", *place
    for number, transform in enumerate(selection.transforms):
        if transform is rewrite:
            return "transform", number
    return "itself", rewrite
