"""Arrays in Fortran's order, read where they lie.

A matrix in Fortran's order is the transpose of one in C's.  So a program for it is that of the same
graph with the transpose of another input in its place, and kernels read transposes through their
strides, in the order of loops that suits them.  It is compiled when the first such matrix comes,
and pays for those that are large, and that few steps read: others are copied into C's order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from relgraph.backends.base import Array
from relgraph.ir.graph import FunctionGraph, substitute
from relgraph.ir.node import Input, Variable, apply, make_input
from relgraph.ir.types import TensorType
from relgraph.lowering.kernels import Step
from relgraph.ops.permutation import Transpose

LARGE = 65536  # bytes of an array from which on it is not copied
READERS = 2  # steps that read it, at most


def readable(graph: FunctionGraph, steps: Sequence[Step]) -> frozenset[int]:
    """Return the inputs, by position, that may be read in Fortran's order."""
    count = dict.fromkeys(graph.inputs, 0)
    for step in steps:
        for x in step.reads:
            if isinstance(x, Input):
                count[x] += 1
    return frozenset(
        i
        for i, x in enumerate(graph.inputs)
        if x.ndim > 1 and x.type.layout == "dense" and 0 < count[x] <= READERS
    )


def in_fortran_order(arrays: Sequence[Array], which: Collection[int]) -> frozenset[int]:
    """Return those of some arguments that are in Fortran's order, and large."""
    return frozenset(
        i
        for i in which
        if type(arrays[i]) is np.ndarray
        and arrays[i].flags.fnc  # and not in C's order too
        and arrays[i].flags.aligned
        and arrays[i].nbytes >= LARGE
    )


def transposed(graph: FunctionGraph, which: Collection[int]) -> FunctionGraph:
    """Return a graph whose inputs at some positions are the transposes of a graph's.

    Parameters
    ----------
    graph : FunctionGraph
        The graph.
    which : collection of int
        The positions.
    """
    inputs: list[Variable] = list(graph.inputs)
    places: dict[Variable, Variable] = {}
    for i in which:
        x = graph.inputs[i]
        type_ = x.type
        assert isinstance(type_, TensorType)
        other = make_input(x.name, TensorType(type_.dtype, tuple(reversed(type_.shape))))
        inputs[i] = other
        places[x] = apply(Transpose(tuple(range(x.ndim))[::-1]), (other,))
    return FunctionGraph(inputs, substitute(graph.outputs, places))


__all__ = ["in_fortran_order", "readable", "transposed"]
