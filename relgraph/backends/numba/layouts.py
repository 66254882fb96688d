"""Arrays in Fortran's order, with gaps and reversed ones, read where they lie.

A matrix in Fortran's order is the transpose of one in C's.  So a program for it is that of the same
graph with the transpose of another input in its place, and kernels read transposes through their
strides.  An array with gaps, or one that runs backwards, is an input that kernels read through the
strides it is given with.  Such a program is compiled when the first such array comes.  It pays for
arrays that are large, that few steps read, and that are not read along short rows of distant
elements for results as large as they are; others are copied into C's order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from relgraph.backends.base import Array
from relgraph.backends.numba.fold_source import sums_exponentials
from relgraph.backends.numba.templates import is_elementary
from relgraph.ir.graph import FunctionGraph, substitute
from relgraph.ir.node import Input, Variable, apply, make_input
from relgraph.ir.types import TensorType
from relgraph.lowering.kernels import Kernel, Step
from relgraph.lowering.views import AsGiven
from relgraph.ops.permutation import Transpose

LARGE = 1 << 18  # bytes of an array from which on it is not copied
READERS = 2  # steps that read it, at most
SHORT = 32  # elements of a row below which functions of many instructions are not on vectors
ROW = 256  # distant elements of a row from which on reading them takes as long as copying them
NEVER = 2**63

FORTRAN = "F"
Order = tuple[int, str | int | None]  # an input, and "F" or the step between elements of a row


def readable(graph: FunctionGraph, steps: Sequence[Step]) -> dict[int, tuple[int, int]]:
    """Return the inputs, by position, that may be read where they lie.

    Returns
    -------
    dict of int to (int, int)
        For each how long its rows have to be: where their elements lie side by side, and where they
        are apart.
    """
    count = dict.fromkeys(graph.inputs, 0)
    least: dict[Variable, tuple[int, int]] = {}
    for step in steps:
        needed = _needed(step)
        for x in step.reads:
            if isinstance(x, Input):
                count[x] += 1
                known = least.get(x, (0, 0))
                least[x] = max(needed[0], known[0]), max(needed[1], known[1])
    return {
        i: least[x]
        for i, x in enumerate(graph.inputs)
        if x.ndim and x.type.layout == "dense" and 0 < count[x] <= READERS
    }


def _needed(step: Step) -> tuple[int, int]:
    if not isinstance(step, Kernel) or step.structure.products is not None:
        return 0, 0
    structure = step.structure
    dear = any(map(sums_exponentials, structure.folds)) or any(
        is_elementary(x.op) for x in structure.rows
    )
    if step.structure.passes and dear:
        return 0, NEVER  # each pass would gather the elements anew
    return (SHORT if dear else 0), (ROW if dear or step.stored else 0)


def layouts(arrays: Sequence[Array], which: Mapping[int, tuple[int, int]]) -> frozenset[Order]:
    """Return those of some arguments that are large and not in C's order, with what they are in."""
    found: set[Order] = set()
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
                found.add((i, step // x.itemsize))
        elif x.shape[-1] >= apart:
            found.add((i, FORTRAN if flags.f_contiguous else None))
    return frozenset(found)


def laid_out(graph: FunctionGraph, which: Collection[Order]) -> FunctionGraph:
    """Return a graph whose inputs at some positions lie in memory as they are said to.

    Parameters
    ----------
    graph : FunctionGraph
        The graph.
    which : collection of (int, layout)
        The positions.  In the place of an input in Fortran's order the graph has one in C's, which
        is its transpose.
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
    """Return the arguments for a program of such a graph."""
    found = list(arrays)
    for i, layout in which:
        if layout == FORTRAN:
            found[i] = arrays[i].T
    return found


__all__ = ["FORTRAN", "Order", "laid_out", "layouts", "readable", "turned"]
