"""Gathers: elements of an array at indices in arrays, read inside the kernel that uses them.

There is an array of indices for each axis.  Kernels do not check indices.  The program computes the
largest index along each axis beforehand and compares it with the size.  It reads indices as
unsigned numbers, so a negative one is too large.
"""

from __future__ import annotations

from relgraph.ir.node import Variable, apply
from relgraph.ops.elementwise import Cast
from relgraph.ops.indexing.index import Index
from relgraph.ops.reductions import Top


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


def furthest(indices: Variable) -> Variable:
    """Return the largest index as an unsigned number; 0 if there are no indices."""
    return apply(Top(None, False), (apply(Cast("uint64"), (indices,)),))


__all__ = ["furthest", "is_gather"]
