"""Gathers: elements of a vector at the indices in an array, read inside the kernel that uses them.

Kernels do not check indices.  The program computes the largest index beforehand and compares it
with the size of the vector.  It reads indices as unsigned numbers, so a negative one is too large.
"""

from __future__ import annotations

from relgraph.ir.node import Variable, apply
from relgraph.ops.elementwise import Cast
from relgraph.ops.indexing.index import Index
from relgraph.ops.reductions import Top


def is_gather(node: Variable) -> bool:
    """Return True if a node reads elements of a vector at the indices in an array."""
    if not isinstance(node.op, Index) or node.op.params[0] != (("array",),):
        return False
    vector, indices = node.inputs
    return vector.ndim == 1 and vector.type.layout == "dense" and indices.dtype.kind in "iu"


def furthest(indices: Variable) -> Variable:
    """Return the largest index as an unsigned number; 0 if there are no indices."""
    return apply(Top(None, False), (apply(Cast("uint64"), (indices,)),))


__all__ = ["furthest", "is_gather"]
