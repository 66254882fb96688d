"""Single long rows: a kernel that reduces each row separately would use only one thread.

If there is a single long row at run time, a variant runs in which that size is declared as 1.  Its
kernels reduce the whole array in blocks, which threads share.  The variant is compiled on the first
such call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relgraph.backends.base import Array
from relgraph.ir.graph import FunctionGraph, substitute
from relgraph.ir.node import Variable, make_input
from relgraph.ir.records import record
from relgraph.ir.types import TensorType
from relgraph.lowering.kernels import Kernel, Step
from relgraph.lowering.sizes import Sizes, Term

LONG = 1 << 16  # shortest row for which the variant pays off


@record
class Lone:
    """The sizes that count the rows, and those of a row, in the first step that reduces rows."""

    rows: tuple[Term, ...]
    row: tuple[Term, ...]


def lone_rows(graph: FunctionGraph, steps: Sequence[Step], sizes: Sizes) -> Lone | None:
    """Return the sizes that decide whether there is a single row; None if no variant helps."""
    named = {dim for x in graph.inputs for dim in x.type.shape if isinstance(dim, str)}
    for step in steps:
        if not isinstance(step, Kernel) or step.structure.products is not None:
            continue
        reduced = step.structure.reduced
        if reduced[0] or not reduced[-1]:
            continue
        first = reduced.index(True)
        rows, row = (
            tuple(sizes.loop[step][axis] for group in groups for axis in group)
            for groups in (step.groups[:first], step.groups[first:])
        )
        if all(reduced[first:]) and all(term in named for term in rows):
            return Lone(rows, row)
    return None


def declared_alone(graph: FunctionGraph, rows: Sequence[Term]) -> FunctionGraph:
    """Return the graph with the sizes ``rows`` declared as 1."""
    inputs: list[Variable] = []
    for x in graph.inputs:
        type_ = x.type
        assert isinstance(type_, TensorType)
        shape = tuple(1 if dim in rows else dim for dim in type_.shape)
        changed = shape != type_.shape
        inputs.append(make_input(x.name, TensorType(type_.dtype, shape)) if changed else x)
    places: dict[Variable, Variable] = {}
    places.update(zip(graph.inputs, inputs, strict=True))
    return FunctionGraph(inputs, substitute(graph.outputs, places))


def alone_first(
    graph: FunctionGraph,
    lone: Lone,
    program: Callable[[], Callable[[Sequence[Array]], list[Any]]],
    main: Callable[..., Any],
) -> Callable[..., Any]:
    """Return a function that runs ``program()`` for a single row and ``main`` otherwise.

    Its results have the form of those of ``main``: a single result directly, as a scalar if it has
    no dimensions, and several results as a tuple of arrays.
    """
    places = [
        (i, axis)
        for i, x in enumerate(graph.inputs)
        for axis, dim in enumerate(x.type.shape)
        if dim in lone.rows
    ]

    def run(*arrays: Array) -> Any:
        if any(arrays[i].shape[axis] != 1 for i, axis in places):
            return main(*arrays)
        results = program()(arrays)
        if len(results) > 1:
            return tuple(results)
        (x,) = results
        return x if x.ndim else x[()]

    return run


__all__ = ["LONG", "Lone", "alone_first", "declared_alone", "lone_rows"]
