"""Which applications of linear algebra are compiled, and how, by the sizes of their matrices.

The limits were measured beside NumPy, with ``benchmarks/linalg_small.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from relgraph.ir.node import Variable
from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.linalg.arithmetic import WIDTH
from relgraph.lowering.loops.linalg.written_out import WRITTEN_OUT
from relgraph.lowering.loops.nodes import Const, Scalar, index
from relgraph.lowering.loops.values import Value
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.solve import Cholesky, Inv

if TYPE_CHECKING:
    from relgraph.lowering.loops.build import GraphWriter

LARGEST = 8  # rows, and columns of a right side, that are written out
# Rows and columns of products of a batch that are written out: 1,000 products of 6 rows take 43 us
# so, and 32 by BLAS.
LARGEST_FACTOR = 5
MOST_IN_BLOCKS, FACTORS_IN_BLOCKS = 32, 16  # rows of a matrix of a batch, and if it is factored
WIDE_FROM = 5  # columns of a right side from which matrices of a batch are not written out
TALL = 4096  # rows of two narrow matrices whose product A.mT @ B is small
CALLS = 64  # rows of a matrix up to which a call of a routine is compiled, outside of loops


def is_written_out(shapes: Sequence[Sequence[Scalar]]) -> bool:
    """Return True for matrices and right sides of which each operation is a statement."""
    return all([isinstance(n, Const) and n.value <= LARGEST for s in shapes for n in s])


def is_product_written_out(operands: Sequence[Value]) -> bool:
    """Return True for matrices of a batch whose products are written out, to run on vectors."""
    sizes = [n for x in operands for n in x.shape[-2:]]
    return all([isinstance(n, Const) and n.value <= LARGEST_FACTOR for n in sizes])


def is_by_blas(node: Variable, operands: Sequence[Value]) -> bool:
    """Return True for two matrices of a batch whose rows do not fill vectors."""
    if any([len(x.shape) != 2 or x.dtype != node.dtype.name for x in operands]):
        return False
    columns = operands[1].shape[1]
    fills = isinstance(columns, Const) and columns.value % WIDTH == 0
    return node.dtype.kind == "f" and not fills


def is_in_blocks(op: Any, shapes: Sequence[Sequence[Scalar]]) -> bool:
    """Return True for matrices of a batch of which several are computed at a time."""
    sizes = [n.value if isinstance(n, Const) else MOST_IN_BLOCKS + 1 for s in shapes for n in s]
    wide = isinstance(op, Inv) or (len(shapes) > 1 and sizes[-1] >= WIDE_FROM)
    least = WIDE_FROM if wide and len(shapes[-1]) > 1 else LARGEST + 1
    most = FACTORS_IN_BLOCKS if isinstance(op, Cholesky) else MOST_IN_BLOCKS
    return least <= max(sizes) <= most


def is_small_product(node: Variable) -> bool:
    """Return True for a product that a function of its own computes faster than NumPy is called."""
    if not isinstance(node.op, Matmul) or not node.ndim or node.dtype.kind != "f":
        return False
    sizes = [n for x in node.inputs for n in x.type.shape[-2:]]
    most = LARGEST if max([x.ndim for x in node.inputs]) > 2 else CALLS
    if not all([isinstance(n, int) and n > 0 for n in sizes]):
        return False
    narrow = [x.ndim for x in node.inputs] == [2, 2] and max(node.type.shape) <= LARGEST
    return bool(max(sizes) <= (TALL if narrow else most))


def is_compiled(node: Variable) -> bool:
    """Return True for an application that is worth a function of its own."""
    if type(node.op) not in WRITTEN_OUT or any([x.type.layout != "dense" for x in node.inputs]):
        return False
    shapes = [x.type.shape for x in node.inputs]
    sizes = [n for shape in shapes for n in shape if isinstance(n, int)]
    return 0 not in sizes and max(_core(shapes), default=0) <= CALLS


def _core(shapes: Sequence[Sequence[Any]]) -> list[int]:
    """Return the constant sizes of the matrices of a batch."""
    return [n for shape in shapes for n in _constants(shape[-2:])]


def _constants(shape: Sequence[Any]) -> list[int]:
    return [n for n in shape if isinstance(n, int)]


def flops(node: Variable) -> int:
    """Return about how many operations an application takes, but for sizes that are not known."""
    n = max(_core([x.type.shape for x in node.inputs]), default=LARGEST)
    batch = max([prod(_constants(x.type.shape[:-2])) for x in node.inputs])
    return max(1, n**3 * batch // 3)


def fits(w: GraphWriter, operands: Sequence[Value]) -> Scalar | None:
    """Return whether sizes that are known only at a call are such that routines pay."""
    b = w.builder
    test: Scalar | None = None
    for x in operands:
        for n in x.shape[-2:]:
            if isinstance(n, Const):
                continue
            few = b.op("less", n, index(CALLS + 1), dtype="bool")
            some = b.op("less", ZERO, n, dtype="bool")
            both = b.op("and", few, some, dtype="bool")
            test = both if test is None else b.op("and", test, both, dtype="bool")
    return test


__all__ = [
    "CALLS", "fits", "flops", "is_by_blas", "is_compiled", "is_in_blocks",
    "is_product_written_out", "is_small_product", "is_written_out",
]  # fmt: skip
