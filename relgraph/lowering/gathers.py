"""Gathers: elements of an array at indices in arrays, read inside the kernel that uses them.

There is an array of indices for each axis.  Kernels do not check indices.  Unless the facts prove
that they are in range, the program computes the largest index along each axis beforehand and
compares it with the size.  It reads indices as unsigned numbers, so a negative one is too large.
Indices that are proved to be in range may be computed in the kernel that uses them.
"""

from __future__ import annotations

from typing import Any

from relgraph.ir.fact_inference import facts_of
from relgraph.ir.intervals import Interval
from relgraph.ir.node import Variable, apply
from relgraph.ops.elementwise import Cast
from relgraph.ops.indexing.index import Index
from relgraph.ops.permutation import Transpose
from relgraph.ops.reductions import Top
from relgraph.ops.shape import Reshape


def is_gather(node: Variable) -> bool:
    """Return True if a node reads elements of an array at indices in arrays.

    The sizes of axes after the first one are constants.
    """
    if not isinstance(node.op, Index) or any(part != ("array",) for part in node.op.params[0]):
        return False
    array, *indices = node.inputs
    if array.ndim != len(indices) or array.type.layout != "dense":
        return False
    known = all([isinstance(n, int) for n in array.type.shape[1:]])
    return known and all([x.dtype.kind in "iu" for x in indices])


def furthest(indices: Variable, size: Any) -> Variable | None:
    """Return the largest index as an unsigned number, 0 if there are none.

    Returns None if the facts prove that all indices are from 0 to the size.
    """
    if isinstance(size, int) and facts_of(indices).bounds().within(Interval(0.0, size - 1.0)):
        return None
    while isinstance(indices.op, Reshape | Transpose):
        (indices,) = indices.inputs
    wide = Cast("uint64")
    if indices.dtype.kind == "u":
        return apply(wide, (apply(Top(None, False), (indices,)),))
    return apply(Top(None, False), (apply(wide, (indices,)),))


__all__ = ["furthest", "is_gather"]
