"""Variants of a program that read arrays in other memory orders without copying them.

An array in Fortran order is the transpose of one in C order.  Its variant is compiled from the same
graph with a transposed input, because kernels read transposes through strides.  Other strided
arrays, including those with negative strides, are inputs that kernels read through the strides of
the argument.  The variant is compiled on the first call with such an array.  It is used for large
arrays that few steps read.  Arrays whose short rows of strided elements are read to compute results
of the same size are copied into C order, as are all others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from relgraph.backends.base import Array
from relgraph.ir.graph import FunctionGraph, substitute
from relgraph.ir.node import Input, Variable, apply, make_input
from relgraph.ir.types import TensorType
from relgraph.lowering.kernels import Kernel, Step
from relgraph.lowering.nests.elements import has_polynomial
from relgraph.lowering.nests.folds import sums_exponentials
from relgraph.lowering.views import AsGiven
from relgraph.ops.permutation import Transpose

LARGE = 1 << 18  # smallest array that is not copied, in bytes
READERS = 2  # maximum number of steps that read it
SHORT = 32  # shortest row for which long functions are vectorised
ROW = 256  # shortest strided row for which reading in place is as fast as copying
NEVER = 2**63

FORTRAN = "F"
Order = tuple[int, str | int | None]  # an input, and "F", the step in a row, or None for any step


def readable(graph: FunctionGraph, steps: Sequence[Step]) -> dict[int, tuple[int, int]]:
    """Return, by position, the inputs that kernels can read in other memory orders.

    The values are the shortest rows for which that pays off: of contiguous and of strided rows.
    """
    count = dict.fromkeys(graph.inputs, 0)
    least: dict[Variable, tuple[int, int]] = {}
    for step in steps:
        needed = _needed(step)
        for x in step.reads:
            if isinstance(x, Input):
                count[x] += 1
                previous = least.get(x, (0, 0))
                least[x] = max(needed[0], previous[0]), max(needed[1], previous[1])
    return {
        i: least[x]
        for i, x in enumerate(graph.inputs)
        if x.ndim and x.type.layout == "dense" and 0 < count[x] <= READERS
    }


def _needed(step: Step) -> tuple[int, int]:
    if not isinstance(step, Kernel) or step.structure.products is not None:
        return 0, 0
    structure = step.structure
    expensive = any(map(sums_exponentials, structure.folds)) or any(
        has_polynomial(x.op) for x in structure.rows
    )
    if step.structure.passes and expensive:
        return 0, NEVER  # each pass would gather the elements again
    return (SHORT if expensive else 0), (ROW if expensive or step.stored else 0)


def layouts(arrays: Sequence[Array], which: Mapping[int, tuple[int, int]]) -> frozenset[Order]:
    """Return the memory orders of the arguments that are large and not in C order."""
    orders: set[Order] = set()
    for i, (near, apart) in which.items():
        x = arrays[i]
        if type(x) is not np.ndarray or x.nbytes < LARGE:
            continue
        flags = x.flags
        if flags.c_contiguous or not flags.aligned:
            continue
        step = x.strides[-1]
        if abs(step) == x.itemsize:
            if x.shape[-1] >= near:
                orders.add((i, step // x.itemsize))
        elif x.shape[-1] >= apart:
            orders.add((i, FORTRAN if flags.f_contiguous else None))
    return frozenset(orders)


def laid_out(graph: FunctionGraph, which: Collection[Order]) -> FunctionGraph:
    """Return the graph for inputs in other memory orders.

    An input in Fortran order is replaced by the transpose of an input in C order.
    """
    inputs: list[Variable] = list(graph.inputs)
    places: dict[Variable, Variable] = {}
    for i, layout in which:
        x = graph.inputs[i]
        type_ = x.type
        assert isinstance(type_, TensorType)
        if layout == FORTRAN:
            type_ = TensorType(type_.dtype, tuple(reversed(type_.shape)))
        other = inputs[i] = make_input(x.name, type_)
        if layout == FORTRAN:
            places[x] = apply(Transpose(tuple(range(x.ndim))[::-1]), (other,))
        else:
            places[x] = apply(AsGiven(layout), (other,))
    return FunctionGraph(inputs, substitute(graph.outputs, places))


def turned(arrays: Sequence[Array], which: Collection[Order]) -> list[Array]:
    """Return the arguments of the program that :func:`laid_out` describes."""
    arguments = list(arrays)
    for i, layout in which:
        if layout == FORTRAN:
            arguments[i] = arrays[i].T
    return arguments


__all__ = ["FORTRAN", "Order", "laid_out", "layouts", "readable", "turned"]
