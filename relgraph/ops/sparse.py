"""Sparse matrices: products with dense operands, transposes, and the dense array of one.

A sparse operand has a type whose layout is ``csr`` or ``csc``, SciPy's formats.  These ops take
one; any other op raises.  They are ops of their own, so an identity of matrix products speaks
of dense operands, unless it is written with :func:`sparse_matmul`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, ShapeError
from relgraph.ir.cost import extent, size
from relgraph.ir.facts import MATRIX_FACTS, Facts, kept, of_elements, proved, shared
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.polynomial import most
from relgraph.ir.types import TensorType, Type, unify_dims
from relgraph.ops.arguments import as_operand
from relgraph.ops.docstrings import documented

# What is not known of a sparse matrix is how many elements it stores: for costs, 1 in 100.
STORED = 100

_FLIPPED = {"csr": "csc", "csc": "csr"}
_SWAPPED = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}


def is_sparse(x: Any) -> bool:
    """Return True if an operand is a graph node of a sparse layout; patterns have no layout."""
    return isinstance(x, Variable) and x.type.layout != "dense"


def transposed_facts(x: Facts) -> Facts:
    """Return the matrix facts of a transpose: lower and upper swapped.

    The transpose of a selection need not be one: its rows may hold several ones, or none.
    """
    names = (name for name in x.names() if name in MATRIX_FACTS and name != "selection")
    return proved(*(_SWAPPED.get(name, name) for name in names))


class SparseMatmul(Op):
    """The product of a sparse matrix and a dense array, in either order; the result is dense."""

    __slots__ = ()
    name = "sparse_matmul"
    arity = 2
    symbol = "@"
    latex = r"#1 \, #2"
    precedence = 12
    sparse = True
    returns_new_array = True

    def infer(self, *types: Any) -> Type:
        """Return the dense type; one operand is sparse, the other a dense vector or matrix."""
        a, b = types
        layouts = [x.layout != "dense" for x in types]
        if all(layouts):
            raise ArgumentError(
                "both operands are sparse, and one must be dense",
                fix="Write rg.densify(x) for one of them.",
            )
        if not any(layouts):
            raise ArgumentError("neither operand is sparse", fix="Use rg.matmul, or @.")
        dense = b if layouts[0] else a
        if dense.ndim not in (1, 2):
            raise ShapeError(
                f"a sparse matrix multiplies a dense vector or matrix, not {dense}",
                fix="Multiply the matrices of a batch one by one, or write rg.densify(x).",
            )
        try:
            unify_dims(a.shape[-1], b.shape[0])
        except ShapeError as error:
            raise ShapeError(
                f"{error.what} along the axis that is summed over",
                fix="Transpose one operand so that these sizes agree.",
            ) from None
        return TensorType(np.result_type(a.dtype, b.dtype), (*a.shape[:-1], *b.shape[1:]))

    def perform(self, *values: Any) -> Any:
        """Multiply with SciPy."""
        a, b = values
        dtype = np.result_type(a.dtype, b.dtype)
        return np.asarray(a @ b).astype(dtype, copy=False)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 2 for each stored element and column."""
        dense = 2 * size(result) * extent(types[0].shape[-1])
        return most((dense // STORED, size(result)))  # type: ignore[no-any-return]

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep the signs of floats, and integers; nothing is strictly positive or finite."""
        signs = ("nonnegative",) if node.dtype.kind == "f" else ()
        return kept(shared(operands), "integer", *signs)


class SparseTranspose(Op):
    """The transpose of a sparse matrix; csr becomes csc and csc csr, and nothing is moved."""

    __slots__ = ()
    name = "sparse_transpose"
    latex = r"#1^{\top}"
    arity = 1
    sparse = True
    view = True

    def infer(self, *types: Any) -> Type:
        """Return the type with its axes swapped, and the other layout."""
        (x,) = types
        if x.layout == "dense":
            raise ArgumentError("the operand is dense", fix="Use rg.transpose, or x.T.")
        return TensorType(x.dtype, x.shape[::-1], _FLIPPED[x.layout])

    def perform(self, *values: Any) -> Any:
        """Transpose with SciPy."""
        return values[0].T

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost nothing."""
        return 0

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep facts of values, and swap lower and upper."""
        return of_elements(operands[0]) | transposed_facts(operands[0])

    def infix(self, operands: list[str]) -> str | None:
        """Print as ``x.T``."""
        return f"{operands[0]}.T"


class Densify(Op):
    """The dense array of a sparse matrix."""

    __slots__ = ()
    name = "densify"
    arity = 1
    sparse = True
    returns_new_array = True

    def infer(self, *types: Any) -> Type:
        """Return the dense type of the same dtype and shape."""
        return TensorType(types[0].dtype, types[0].shape)

    def perform(self, *values: Any) -> Any:
        """Fill an array with SciPy."""
        return values[0] if isinstance(values[0], np.ndarray) else values[0].toarray()

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost nothing: it copies."""
        return 0

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep all facts."""
        return operands[0]


@documented()
def densify(x: Any) -> Any:
    """Return the dense array of a sparse matrix; what is dense is returned as it is.

    x (Variable, array-like or pattern, [m, n]): A pattern stands for a sparse matrix.
    Returns (Variable, [m, n]): Of the dtype of ``x``.

    Examples
    --------
    >>> import relgraph as rg
    >>> S = rg.matrix("S", shape=("m", "n"), layout="csr")
    >>> rg.densify(S).type
    float64[m, n]
    """
    x = as_operand(x)
    return x if isinstance(x, Variable) and not is_sparse(x) else Densify()(x)


@documented()
def sparse_matmul(x: Any, y: Any) -> Any:
    """Return the product of a sparse matrix and a dense array, in either order.

    ``x @ y`` builds it where one of them is a sparse graph node.  This function is for patterns,
    which have no layout: an identity written with it speaks of sparse operands.

    x (Variable, array-like or pattern, [m, k] or [k]): Sparse where ``y`` is not.
    y (Variable, array-like or pattern, [k, n] or [k]): Sparse where ``x`` is not.
    Returns (Variable or pattern, [m, n], dense): Of NumPy's common dtype, without the axis of a
        vector.
    ShapeError: When the inner sizes differ.
    ArgumentError: When both or neither are sparse.

    Examples
    --------
    >>> import relgraph as rg
    >>> S = rg.matrix("S", shape=("m", "n"), layout="csr")
    >>> x, y = rg.vectors("x y", shape="n")
    >>> @rg.identity(specials="assumes_finite")
    ... def distribute_sparse_matmulo(S, x, y):
    ...     '''S (x + y) = S x + S y.'''
    ...     return rg.sparse_matmul(S, x + y), rg.sparse_matmul(S, x) + rg.sparse_matmul(S, y)
    >>> rg.rewrite_graph(S @ x + S @ y, distribute_sparse_matmulo.reversed)
    S @ (x + y)
    """
    return SparseMatmul()(as_operand(x), as_operand(y))


@documented()
def sparse_transpose(x: Any) -> Any:
    """Return the transpose of a sparse matrix, which ``x.T`` builds; for patterns too.

    x (Variable or pattern, [m, n]): A sparse matrix.
    Returns (Variable or pattern, [n, m]): In the other layout.
    ArgumentError: For a dense operand.
    """
    return SparseTranspose()(as_operand(x))
