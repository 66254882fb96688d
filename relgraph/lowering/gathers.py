"""Gathers: elements of a vector at places that an array holds, read in the kernel that uses them.

A kernel does not test its indices.  Before it runs, the largest of them, taken as numbers without
a sign, is compared with the size of the vector; negative ones are the largest of all.
"""

from __future__ import annotations

from relgraph.ir.node import Variable, apply
from relgraph.ops.elementwise import Cast
from relgraph.ops.indexing.index import Index
from relgraph.ops.reductions import Top


def is_gather(node: Variable) -> bool:
    """Tell whether a node holds the elements of a vector at the places in an array."""
    if not isinstance(node.op, Index) or node.op.params[0] != (("array",),):
        return False
    vector, places = node.inputs
    return vector.ndim == 1 and vector.type.layout == "dense" and places.dtype.kind in "iu"


def furthest(places: Variable) -> Variable:
    """Return the largest index, where a negative one counts as the largest of all; 0 for none."""
    return apply(Top(None, False), (apply(Cast("uint64"), (places,)),))


__all__ = ["furthest", "is_gather"]
