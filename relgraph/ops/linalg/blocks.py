"""Matrices made of blocks: Kronecker products and block-diagonal matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, ShapeError
from relgraph.ir.cost import size
from relgraph.ir.facts import Facts, kept, shared
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Dim, TensorType, Type, broadcast_shapes
from relgraph.ops.arguments import as_operand, is_pattern
from relgraph.ops.contraction import Outer, product_facts
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise import multiply
from relgraph.ops.linalg.structured import SURVIVE_ZEROS, last_two
from relgraph.ops.shape import expand_dims, ravel, reshape, shape

# What a matrix of blocks has where all blocks have it.
STRUCTURES = (
    "square", "symmetric", "lower_triangular", "upper_triangular", "diagonal", "orthogonal",
    "permutation", "selection", "spd", "psd", "invertible", "identity",
)  # fmt: skip


class Kron(Op):
    """The Kronecker product of two matrices: the blocks ``a[i, j] * b``."""

    __slots__ = ()
    name = "kron"
    measure = (100, 4)
    arity = 2
    returns_new_array = True

    def infer(self, *types: Any) -> Type:
        """Return the type, with the products of static sizes."""
        a, b = types
        if a.ndim != 2 or b.ndim != 2:
            raise ShapeError(
                "a Kronecker product is of two matrices",
                fix="Write np.kron(a, b), which takes arrays of any dimensions.",
            )
        dims = [_product(m, n) for m, n in zip(a.shape, b.shape, strict=True)]
        return TensorType(np.result_type(a.dtype, b.dtype), dims)

    def result_sizes(self, shapes: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
        """Multiply the sizes."""
        (m, n), (p, q) = shapes
        return (m * p, n * q)

    def perform(self, *values: Any) -> Any:
        """Multiply with NumPy."""
        a, b = (np.asarray(v) for v in values)
        whole = a[:, None, :, None] * b[None, :, None, :]
        return whole.reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost one multiplication for each element."""
        return size(result)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep signs and integrality, and the structures that both have."""
        wraps = node.dtype.kind != "f"  # integers: what they are around zero is not known
        names = [x for x in STRUCTURES if not (wraps and x in ("spd", "psd", "invertible"))]
        return product_facts(operands, node) | kept(shared(operands), *names)


class BlockDiag(Op):
    """Two matrices, corner to corner, with zeros elsewhere; more of them are nested to the right.

    Its operands may be batches, which broadcast.
    """

    __slots__ = ()
    name = "block_diag"
    measure = (100, (2, 1))
    arity = 2
    moves_elements = True
    returns_new_array = True

    def infer(self, *types: Any) -> Type:
        """Return the type, with the sums of static sizes."""
        a, b = types
        sizes = zip(last_two(a, "a block"), last_two(b, "a block"), strict=True)
        batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
        dtype = np.result_type(a.dtype, b.dtype)
        return TensorType(dtype, (*batch, *[_total(m, n) for m, n in sizes]))

    def result_sizes(self, shapes: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
        """Add the sizes of matrices."""
        (*batch, m, n), (*other, p, q) = shapes
        return None if batch or other else (m + p, n + q)

    def perform(self, *values: Any) -> Any:
        """Copy both blocks."""
        a, b = (np.asarray(v) for v in values)
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        (m, n), (p, q) = a.shape[-2:], b.shape[-2:]
        result = np.zeros((*batch, m + p, n + q), np.result_type(a, b))
        result[..., :m, :n] = a
        result[..., m:, n:] = b
        return result

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep what both blocks have and zeros elsewhere leave true."""
        return kept(shared(operands), *SURVIVE_ZEROS, *STRUCTURES)


def _product(m: Dim, n: Dim) -> Dim:
    if isinstance(m, int) and isinstance(n, int):
        return m * n
    return n if m == 1 else (m if n == 1 else None)


def _total(m: Dim, n: Dim) -> Dim:
    if isinstance(m, int) and isinstance(n, int):
        return m + n
    return n if m == 0 else (m if n == 0 else None)


@documented()
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product of two arrays, as ``numpy.kron``.

    a (Variable, array-like or pattern, [m, n] or [n]): Of any number of dimensions; a pattern
        stands for a matrix.
    b (Variable, array-like or pattern, [p, q] or [q]): Where there are fewer dimensions in one of
        them, axes of size 1 lead.
    Returns (Variable or pattern, [m p, n q] or [n q]): The blocks ``a[i, j] * b``.
    ShapeError: For an operand beside a pattern that is not a matrix.

    Examples
    --------
    >>> from relgraph.ops.inputs import matrices
    >>> A, B = matrices("A B", shape=(2, 3))
    >>> kron(A, B).type
    float64[4, 9]
    """
    a, b = as_operand(a), as_operand(b)
    if not isinstance(a, Variable) or not isinstance(b, Variable):
        return Kron()(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
    ndim = max(a.ndim, b.ndim)
    a, b = (expand_dims(x, tuple(range(ndim - x.ndim))) for x in (a, b))
    if ndim == 1:
        return ravel(Outer()(a, b))
    if ndim == 2:
        return Kron()(a, b)
    sizes = [m * n for m, n in zip(shape(a), shape(b), strict=True)]
    a, b = (expand_dims(x, tuple(range(i, 2 * ndim, 2))) for x, i in ((a, 1), (b, 0)))
    return reshape(multiply(a, b), tuple(sizes))


@documented()
def block_diag(*blocks: Any) -> Any:
    """Return a matrix with blocks on its diagonal and zeros elsewhere.

    *blocks (Variable, array-like or pattern, [..., m, n]): At least one; batches broadcast.
    Returns (Variable or pattern): As tall and as wide as the blocks together, of their common
        dtype.
    ArgumentError: For no blocks.
    ShapeError: For a block that is not a matrix.

    Examples
    --------
    >>> from relgraph.ops.inputs import matrices
    >>> A, B = matrices("A B", shape=(2, 3))
    >>> block_diag(A, B, A)
    block_diag(A, block_diag(B, A))
    """
    if not blocks:
        raise ArgumentError(
            "block_diag needs at least one block",
            fix="Pass the blocks as arguments: rg.block_diag(A, B).",
        )
    operands = [as_operand(x) for x in blocks]
    if len(operands) == 1 and not is_pattern(operands[0]):
        last_two(operands[0].type, "a block")
    result = operands[-1]
    for x in reversed(operands[:-1]):
        result = BlockDiag()(x, result)
    return result
