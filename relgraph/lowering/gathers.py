"""Gathers: elements of an array at indices in arrays, read inside the kernel that uses them.

There is an array of indices for each axis.  Kernels do not check indices.  Unless intervals
prove that they are in range, the program computes the largest index along each axis beforehand and
compares it with the size.  It reads indices as unsigned numbers, so a negative one is too large.
Indices that are proved to be in range may be computed in the kernel that uses them.
"""

from __future__ import annotations

from typing import Any

from relgraph.ir.fact_inference import facts_of
from relgraph.ir.intervals import Interval
from relgraph.ir.node import Input, Variable, apply
from relgraph.ops.elementwise import Cast
from relgraph.ops.indexing.index import Index
from relgraph.ops.inputs import Assume
from relgraph.ops.permutation import Transpose
from relgraph.ops.reductions import Top
from relgraph.ops.shape import Reshape

_MOST = 1000  # nodes that indices are computed from; if there are more, the indices are checked


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

    Returns None if all indices are surely at least 0 and less than the size.
    """
    if isinstance(size, int) and _is_within(indices, size):
        return None
    while isinstance(indices.op, Reshape | Transpose):
        (indices,) = indices.inputs
    wide = Cast("uint64")
    if indices.dtype.kind == "u":
        return apply(wide, (apply(Top(None, False), (indices,)),))
    return apply(Top(None, False), (apply(wide, (indices,)),))


def _is_within(indices: Variable, size: int) -> bool:
    """Return True if indices are surely in range, whatever facts inputs declare.

    Declared facts are not checked, and an index out of range would corrupt memory.
    """
    if not facts_of(indices).bounds().within(Interval(0.0, size - 1.0)):
        return False
    stack, seen = [indices], {indices}
    while stack:
        x = stack.pop()
        if isinstance(x.op, Assume) or (isinstance(x, Input) and x.facts):
            return False
        new = [y for y in x.inputs if y not in seen]
        seen.update(new)
        stack += new
        if len(seen) > _MOST:
            return False
    return True


__all__ = ["furthest", "is_gather"]
