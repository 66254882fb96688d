"""Factorisations of matrices, and the exponential of a matrix.

NumPy's functions are called where NumPy has them (eigh, eigvalsh, svd, qr), else SciPy's, one
matrix of a batch at a time.  SciPy is imported when a graph runs.  Results are real: an op whose
result may be complex (eig, the complex Schur form) is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgraph.errors import DomainError
from relgraph.ir.cost import extent
from relgraph.ir.facts import NOTHING, Facts, kept, proved
from relgraph.ir.node import Variable
from relgraph.ir.op import GetItem, Op
from relgraph.ir.polynomial import least, most
from relgraph.ir.types import Dim, TensorType, TupleType, Type, broadcast_shapes
from relgraph.ops.arguments import as_operand, is_open
from relgraph.ops.contraction import contracted
from relgraph.ops.docstrings import documented
from relgraph.ops.linalg.lapack import common_floats, float_dtype, routine
from relgraph.ops.linalg.solve import (
    SquareOp,
    Switch,
    cubes,
    matrices_of,
    square_size,
    square_type,
)
from relgraph.ops.linalg.structured import last_two

MODES = ("reduced", "complete")


class Factoring(SquareOp):
    """An op on one square matrix, of which some results have facts of their own."""

    __slots__ = ()
    ITEMS: tuple[tuple[str, ...], ...] = ()

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 9 n^3 for each matrix, as eigenvalues with their vectors do."""
        return 9 * cubes(types[0])

    def item_facts(self, index: int, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know the structure of each factor."""
        return proved(*self.ITEMS[index]) if index < len(self.ITEMS) else NOTHING


class OneByOne(Op):
    """An op whose meaning is a function of SciPy, called for each matrix of a batch."""

    __slots__ = ()
    ORDER: Any = "C"  # of the results for a single matrix
    conditioned = True
    returns_new_array = True
    rate = "factorisation"

    one: Callable[..., Any]  # the result for one matrix of each operand, by SciPy

    def calls(self, types: tuple[Any, ...], result: Any) -> Any:
        """Return the number of matrices of the first operand."""
        return matrices_of(types[0])

    def perform(self, *values: Any) -> Any:
        """Compute with SciPy, one matrix at a time."""
        arrays = common_floats(*values)
        first = arrays[0]
        if len(arrays) == 1 and first.ndim == 2 and first.shape[0] == first.shape[1] > 0:
            result = self.one(first)
            if isinstance(result, tuple):
                return tuple([np.asarray(x, order=self.ORDER) for x in result])
            return np.asarray(result, order=self.ORDER)
        type_: Any = self.infer(*[TensorType(a.dtype, a.shape) for a in arrays])
        several = isinstance(type_, TupleType)
        types: list[Any] = list(type_.items) if several else [type_]
        results = [np.zeros(t.shape, t.dtype) for t in types]
        batch = np.broadcast_shapes(*[a.shape[:-2] for a in arrays])
        if all(a.size for a in arrays):
            stretched = [np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in arrays]
            for at in np.ndindex(*batch):
                parts = self.one(*[a[at] for a in stretched])
                for result, part in zip(results, parts if several else (parts,), strict=True):
                    result[at] = part
        return tuple(results) if several else results[0]


class Eigh(Switch, Factoring):
    """The eigenvalues of each symmetric matrix in ascending order, and its eigenvectors: a tuple.

    Parameters
    ----------
    lower : bool
        Which triangle of the matrix is read.
    """

    __slots__ = ()
    name = "eigh"
    overhead = 7000
    measure = (20, 12)
    parameters = ("lower",)
    ITEMS = ((), ("orthogonal",))

    def infer(self, *types: Any) -> Type:
        """Return the types [..., n] and [..., n, n]."""
        vectors = square_type(types[0], "an eigenvalue decomposition")
        return TupleType([vectors.with_shape(vectors.shape[:-1]), vectors])

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy."""
        return tuple(np.linalg.eigh(values[0], "L" if self.params[0] else "U"))


class Eigvalsh(Switch, Factoring):
    """The eigenvalues of each symmetric matrix, in ascending order.

    Parameters
    ----------
    lower : bool
        Which triangle of the matrix is read.
    """

    __slots__ = ()
    name = "eigvalsh"
    measure = (60, 20)
    parameters = ("lower",)

    def infer(self, *types: Any) -> Type:
        """Return the type [..., n]."""
        matrix = square_type(types[0], "an eigenvalue decomposition")
        return matrix.with_shape(matrix.shape[:-1])

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy."""
        return np.linalg.eigvalsh(values[0], "L" if self.params[0] else "U")

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 4 n^3 / 3 for each matrix."""
        return 4 * cubes(types[0]) // 3


class SVD(Switch, Factoring):
    """The singular value decomposition of each matrix: U, the singular values, and V.mT.

    Parameters
    ----------
    full_matrices : bool
        Whether U and V are square; else they have as many vectors as there are singular values.
    """

    __slots__ = ()
    name = "svd"
    overhead = 7000
    measure = (100, 40)
    parameters = ("full_matrices",)

    def infer(self, *types: Any) -> Type:
        """Return the three types."""
        m, n = last_two(types[0], "a singular value decomposition")
        k, batch, dtype = smaller(m, n), types[0].shape[:-2], float_dtype(types[0])
        left, right = (m, n) if self.params[0] else (k, k)
        shapes = ((*batch, m, left), (*batch, k), (*batch, right, n))
        return TupleType([TensorType(dtype, shape) for shape in shapes])

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy."""
        return tuple(np.linalg.svd(values[0], full_matrices=self.params[0]))

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 4 m^2 n + 22 n^3 for square factors, else 6 m n^2 + 20 n^3, where n <= m."""
        m, n = _long_and_short(types[0])
        one = 4 * m * m * n + 22 * n**3 if self.params[0] else 6 * m * n * n + 20 * n**3
        return matrices_of(types[0]) * one

    def item_facts(self, index: int, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know that singular values are not negative, and that square factors are orthogonal."""
        if index == 1:
            return proved("nonnegative")
        square = self.params[0] or operands[0].holds("square")
        return proved("orthogonal") if square else NOTHING


class QR(Factoring):
    """The factors Q, with orthonormal columns, and R, upper triangular, of each matrix: a tuple.

    Parameters
    ----------
    mode : {"reduced", "complete"}
        Whether Q has as many columns as R needs, or is square.
    """

    __slots__ = ()
    name = "qr"
    overhead = 12_000
    measure = (20, 4)
    parameters = ("mode",)

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the mode by name."""
        (mode,) = super().canonical(*args, **kwargs)
        if not is_open(mode) and mode not in MODES:
            raise DomainError(f"qr has no mode {mode!r}", fix=f"Use one of {', '.join(MODES)}.")
        return (mode,)

    def infer(self, *types: Any) -> Type:
        """Return the types of Q and R."""
        m, n = last_two(types[0], "a QR decomposition")
        k = smaller(m, n) if self.params[0] == "reduced" else m
        batch, dtype = types[0].shape[:-2], float_dtype(types[0])
        return TupleType([TensorType(dtype, (*batch, m, k)), TensorType(dtype, (*batch, k, n))])

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy."""
        return tuple(np.linalg.qr(values[0], self.params[0]))

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost the reflections, and Q, which is made of them."""
        (m, n), (*_, rows, columns) = _long_and_short(types[0]), result.items[0].shape
        p, q = extent(rows), extent(columns)
        factor = 2 * m * n * n - 2 * n**3 // 3
        one = factor + 4 * p * q * n - 2 * (p + q) * n * n + 4 * n**3 // 3
        return matrices_of(types[0]) * one

    def item_facts(self, index: int, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know the factors of a square matrix, and that a complete Q is orthogonal."""
        square = operands[0].holds("square")
        if index == 0:
            complete = self.params[0] == "complete"
            return proved("orthogonal") if square or complete else NOTHING
        return proved("upper_triangular") if square else NOTHING


class LU(OneByOne, Factoring):
    """The factors P, L and U of each square matrix: ``a = P @ L @ U``, a tuple."""

    __slots__ = ()
    name = "lu"
    overhead = 12_000
    measure = (20, 4)
    ITEMS = (("permutation",), ("lower_triangular", "invertible"), ("upper_triangular",))

    def infer(self, *types: Any) -> Type:
        """Return three types, each that of the operand in a float dtype."""
        return TupleType([square_type(types[0], "an LU decomposition")] * 3)

    def one(self, *matrices: Any) -> Any:
        """Factor with SciPy."""
        from scipy.linalg import lu as factor

        return factor(matrices[0], check_finite=False)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 2 n^3 / 3 for each matrix."""
        return 2 * cubes(types[0]) // 3


class LUFactor(OneByOne, Factoring):
    """Both factors of each square matrix in one matrix, and its row interchanges: a tuple.

    The interchanges say with which row each row was swapped, in turn.
    """

    __slots__ = ()
    name = "lu_factor"
    overhead = 3500
    measure = (20, 4)
    ORDER = None  # LAPACK's own, in which lu_solve takes the factors without a copy

    def infer(self, *types: Any) -> Type:
        """Return the type of the operand in a float dtype, and int32[..., n]."""
        factors = square_type(types[0], "an LU decomposition")
        return TupleType([factors, TensorType("int32", factors.shape[:-1])])

    def one(self, *matrices: Any) -> Any:
        """Factor with LAPACK; a singular matrix has a zero on the diagonal of U."""
        return routine("getrf", matrices[0].dtype)(matrices[0])[:2]

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 2 n^3 / 3 for each matrix."""
        return 2 * cubes(types[0]) // 3


class Schur(OneByOne, Factoring):
    """The real Schur form T and the orthogonal Z of each matrix, ``a = Z @ T @ Z.mT``: a tuple."""

    __slots__ = ()
    name = "schur"
    overhead = 15_000
    measure = (20, 8)
    ITEMS = ((), ("orthogonal",))

    def infer(self, *types: Any) -> Type:
        """Return two types, each that of the operand in a float dtype."""
        return TupleType([square_type(types[0], "a Schur decomposition")] * 2)

    def one(self, *matrices: Any) -> Any:
        """Factor with SciPy."""
        from scipy.linalg import schur as factor

        return factor(matrices[0], output="real")

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 25 n^3 for each matrix."""
        return 25 * cubes(types[0])


def paired_type(types: tuple[Any, ...], what: str) -> TensorType:
    """Return the type of square matrices like those of two operands, which have one size."""
    a, b = types
    n = contracted(*(square_size(x, what) for x in types))
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
    return TensorType(float_dtype(a, b), (*batch, n, n))


class QZ(OneByOne):
    """The real generalised Schur form of two matrices: AA, BB, Q and Z, a tuple.

    ``a = Q @ AA @ Z.mT`` and ``b = Q @ BB @ Z.mT``.
    """

    __slots__ = ()
    name = "qz"
    overhead = 50_000
    measure = (20, 12)
    arity = 2

    def infer(self, *types: Any) -> Type:
        """Return four types, each that of the operands in their common float dtype."""
        return TupleType([paired_type(types, "a generalised Schur form")] * 4)

    def one(self, *matrices: Any) -> Any:
        """Factor with SciPy."""
        from scipy.linalg import qz as factor

        return factor(*matrices, output="real")

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 66 n^3 for each pair of matrices."""
        return 66 * cubes(result.items[0])

    def item_facts(self, index: int, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know that Q and Z are orthogonal."""
        return proved("orthogonal") if index > 1 else NOTHING


class Expm(OneByOne, Factoring):
    """The exponential of each matrix."""

    __slots__ = ()
    name = "expm"
    overhead = 15_000
    measure = (20, 8)

    def infer(self, *types: Any) -> Type:
        """Return the type of the operand, in a float dtype."""
        return square_type(types[0], "an exponential of a matrix")

    def one(self, *matrices: Any) -> Any:
        """Compute with SciPy."""
        from scipy.linalg import expm as exponential

        return exponential(matrices[0])

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep triangles; an exponential is invertible, and of a symmetric matrix SPD."""
        facts = proved("invertible") | kept(
            operands[0], "lower_triangular", "upper_triangular", "diagonal"
        )
        return facts | proved("spd") if operands[0].holds("symmetric") else facts


class ExpmFrechet(OneByOne):
    """The derivative of the exponential of a matrix along another one, in which it is linear."""

    __slots__ = ()
    name = "expm_frechet"
    overhead = 60_000
    measure = (20, 12)
    arity = 2

    def infer(self, *types: Any) -> Type:
        """Return the type of the exponential, for matrices of one size."""
        return paired_type(types, "the derivative of an exponential")

    def one(self, *matrices: Any) -> Any:
        """Compute with SciPy."""
        from scipy.linalg import expm_frechet

        return expm_frechet(*matrices, compute_expm=False)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 40 n^3 for each pair of matrices."""
        return 40 * cubes(result)


def smaller(m: Dim, n: Dim) -> Dim:
    """Return the smaller of two sizes, None where it is not known."""
    if isinstance(m, int) and isinstance(n, int):
        return min(m, n)
    return m if m == n else None


def _long_and_short(matrices: TensorType) -> tuple[int, int]:
    """Return the larger and the smaller side of matrices."""
    sides = [extent(n) for n in matrices.shape[-2:]]
    return most(sides), least(sides)


def _items(results: Any, count: int) -> tuple[Any, ...]:
    return tuple(GetItem(i)(results) for i in range(count))


@documented("triangle")
def eigh(a: Any, lower: bool = True) -> tuple[Any, Any]:
    """Return the eigenvalues of a symmetric matrix in ascending order, and its eigenvectors.

    Returns (eigenvalues, eigenvectors : Variable, [..., n] and [..., n, n]): Column i of the second
        belongs to entry i of the first.
    """
    first, second = _items(Eigh(lower)(as_operand(a)), 2)
    return first, second


@documented("triangle")
def eigvalsh(a: Any, lower: bool = True) -> Any:
    """Return the eigenvalues of a symmetric matrix in ascending order.

    Returns (Variable or pattern, float[..., n]): One vector for each matrix.
    """
    return Eigvalsh(lower)(as_operand(a))


@documented("matrix")
def svd(a: Any, full_matrices: bool = True) -> tuple[Any, Any, Any]:
    """Return the singular value decomposition of a matrix.

    Returns (U, S, Vh : Variable): ``a = (U * S) @ Vh`` where the matrices are not full; S is in
        descending order.
    """
    first, second, third = _items(SVD(full_matrices)(as_operand(a)), 3)
    return first, second, third


@documented("matrix")
def qr(a: Any, mode: str = "reduced") -> tuple[Any, Any]:
    """Return the QR decomposition of a matrix.

    mode ({"reduced", "complete"}): Whether Q is square.
    Returns (Q, R : Variable): ``a = Q @ R``, with orthonormal columns of Q and R upper triangular.
    DomainError: For another mode.
    """
    first, second = _items(QR(mode)(as_operand(a)), 2)
    return first, second


@documented("square")
def lu(a: Any) -> tuple[Any, Any, Any]:
    """Return the LU decomposition of a square matrix with partial pivoting.

    Returns (P, L, U : Variable, [..., n, n]): ``a = P @ L @ U``: a permutation, a unit lower and an
        upper triangular matrix.
    """
    first, second, third = _items(LU()(as_operand(a)), 3)
    return first, second, third


@documented("square")
def lu_factor(a: Any) -> tuple[Any, Any]:
    """Return both LU factors in one matrix, and the row interchanges.

    Returns (lu, piv : Variable, float[..., n, n] and int32[..., n]): Row i was interchanged with
        row ``piv[i]``.
    """
    first, second = _items(LUFactor()(as_operand(a)), 2)
    return first, second


@documented("square")
def schur(a: Any) -> tuple[Any, Any]:
    """Return the real Schur decomposition of a square matrix.

    Returns (T, Z : Variable, [..., n, n]): ``a = Z @ T @ Z.mT`` with Z orthogonal; T has blocks of
        2 for pairs of complex eigenvalues.
    """
    first, second = _items(Schur()(as_operand(a)), 2)
    return first, second


@documented()
def qz(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Return the real generalised Schur decomposition of two square matrices.

    a, b (Variable, array-like or pattern, [..., n, n]): Square matrices of one size.
    Returns (AA, BB, Q, Z : Variable, [..., n, n]): ``a = Q @ AA @ Z.mT`` and ``b = Q @ BB @ Z.mT``.
    ShapeError: For operands that are not square matrices of one size.
    """
    first, second, third, fourth = _items(QZ()(as_operand(a), as_operand(b)), 4)
    return first, second, third, fourth


@documented("square")
def expm(a: Any) -> Any:
    """Return the exponential of a square matrix.

    Returns (Variable or pattern, float[..., n, n]): Not the exponentials of the elements, which are
        ``exp(a)``.
    """
    return Expm()(as_operand(a))
