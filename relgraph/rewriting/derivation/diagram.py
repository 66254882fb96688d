"""Graphs before and after a rewrite, side by side, with what was matched and what is new marked."""

from __future__ import annotations

from collections.abc import Sequence

from relgraph.ir.diagram import NODES, diagram, regions
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.rewriting.derivation.changes import change_of
from relgraph.viz.svg import Diagram

Outputs = Sequence[Variable]


def beside(before: Outputs, after: Outputs) -> tuple[list[Diagram], list[tuple[str, Diagram]]]:
    """Return the diagrams of two graphs, and those of their regions where they are large."""
    old, new = set(toposort(before)), set(toposort(after))
    drawn: list[Diagram] = []
    inside: list[tuple[str, Diagram]] = []
    for outputs, other, mark, caption in (
        (before, new, "matched", "before"),
        (after, old, "new", "after"),
    ):
        own = old if outputs is before else new
        if len(own) <= NODES:
            marks = {x: mark for x in own if x not in other}
            drawn.append(diagram(outputs, marks=marks, caption=caption))
        else:
            parts = regions(outputs, prefix=caption)
            drawn.append(parts.overview._replace(caption=caption))
            inside += parts.regions
    return drawn, inside


def change(before: Variable, after: Variable) -> list[Diagram]:
    """Return the diagrams of one step; what both graphs contain is drawn without its operands."""
    change = change_of(before, after)
    return [
        diagram([x], marks=dict.fromkeys(own, mark), caption=caption, stops=change.kept)
        for x, own, mark, caption in (
            (before, change.removed, "matched", "before"),
            (after, change.added, "new", "after"),
        )
    ]
