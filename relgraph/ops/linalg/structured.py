"""Matrices by their structure: the identity, diagonals, traces and triangles."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from relgraph.errors import DomainError, ShapeError
from relgraph.ir.cost import Sized, extent, nbytes, size
from relgraph.ir.facts import Facts, kept, of_elements, proved
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ir.op import Op
from relgraph.ir.polynomial import least
from relgraph.ir.types import Dim, TensorType, Type, check_dtype
from relgraph.ops.arguments import as_operand, check_int, is_open, is_pattern, no_rank, rank_of
from relgraph.ops.docstrings import documented
from relgraph.ops.permutation import Rearrangement, moveaxis
from relgraph.ops.reductions import Sum, accumulator
from relgraph.ops.shape import broadcast_to, dim

SURVIVE_ZEROS = (
    "nonnegative",
    "nonpositive",
    "integer",
    "finite",
    "not_nan",
)  # facts that hold with zeros added, too


class Eye(Op):
    """A matrix with ones on one diagonal and zeros elsewhere; it has no operands.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns.
    k : int
        The diagonal: 0 the main one, positive above it, negative below.
    dtype : str
        The dtype.
    """

    __slots__ = ()
    name = "eye"
    parameters = ("n", "m", "k", "dtype")
    arity = 0
    moves_elements = True

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the sizes and the diagonal as ints, and the dtype by name."""
        *numbers, dtype = super().canonical(*args, **kwargs)
        numbers = [a if is_open(a) else check_int(a, "eye: a size or diagonal") for a in numbers]
        for number in numbers[:2]:
            if not is_open(number) and number < 0:
                raise DomainError(
                    f"eye: a size cannot be negative: {number}",
                    fix="Give n and m of at least 0; the diagonal k may be negative.",
                )
        return (*numbers, dtype if is_open(dtype) else check_dtype(dtype).name)

    def infer(self, *types: Any) -> Type:
        """Return the type [n, m]."""
        n, m, _, dtype = self.params
        return TensorType(dtype, (n, m))

    def perform(self, *values: Any) -> Any:
        """Build with NumPy."""
        n, m, k, dtype = self.params
        return np.eye(n, m, k, dtype=dtype)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know its elements, and the identity."""
        n, m, k, _ = self.params
        values = proved("nonnegative", "integer", "finite")
        return values | proved("identity") if n == m and k == 0 else values


class _Diagonals(Op):
    """An op that builds, reads or cuts along one diagonal of each matrix.

    Parameters
    ----------
    k : int
        The diagonal: 0 the main one, positive above it, negative below.
    """

    __slots__ = ()
    parameters = ("k",)
    arity = 1
    moves_elements = True
    linear = True

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the diagonal as an int."""
        (k,) = super().canonical(*args, **kwargs)
        return (k if is_open(k) else check_int(k, f"{cls.name}: the diagonal k"),)


class Diag(_Diagonals):
    """The matrix with a vector on one diagonal and zeros elsewhere."""

    __slots__ = ()
    name = "diag"
    measure = (2, 1)
    returns_new_array = True

    def demands(self, fact: str = "") -> tuple[str, ...]:
        """Demand a vector without zeros of an invertible matrix."""
        return ("nonzero",) if fact == "invertible" and self.params[0] == 0 else ()

    def infer(self, *types: Any) -> Type:
        """Return the type: square, of the vector's size plus ``abs(k)``."""
        (x,) = types
        if x.ndim == 0:
            raise ShapeError(
                "a diagonal matrix is made of a vector, not of a scalar",
                fix="Make it a vector, for instance with expand_dims.",
            )
        dim, k = x.shape[-1], abs(self.params[0])
        side: Dim = dim + k if isinstance(dim, int) else (dim if k == 0 else None)
        return x.with_shape((*x.shape[:-1], side, side))  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Build with NumPy, for each vector of a batch."""
        x, k = np.asarray(values[0]), self.params[0]
        side = x.shape[-1] + abs(k)
        result = np.zeros((*x.shape[:-1], side, side), x.dtype)
        first, after = max(k, -k * side), side + 1
        flat = result.reshape((*x.shape[:-1], side * side))
        flat[..., first : first + x.shape[-1] * after : after] = x
        return result

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know the structure; the signs of elements make it definite, nonzero ones invertible."""
        (x,), k = operands, self.params[0]
        facts = kept(x, *SURVIVE_ZEROS)
        if k:
            band = ("tridiagonal",) if abs(k) == 1 else ()
            return facts | proved("lower_triangular" if k < 0 else "upper_triangular", *band)
        facts |= proved("identity" if uniform_value(node.inputs[0]) == 1 else "diagonal")
        if x.holds("nonzero"):
            facts |= proved("invertible")
        if x.holds("positive"):
            return facts | proved("spd")
        return facts | proved("psd") if x.holds("nonnegative") else facts


def uniform_value(x: Variable) -> Any:
    """Return the number that all elements are, through rearrangements; None where they may vary."""
    while isinstance(x.op, Rearrangement):
        x = x.inputs[0]
    return x.uniform if isinstance(x, Constant) else None


class Diagonal(_Diagonals):
    """One diagonal of each matrix, as a vector."""

    __slots__ = ()
    name = "diagonal"
    measure = (1, 2)
    rearranges = True
    view = True
    overhead = 800

    def infer(self, *types: Any) -> Type:
        """Return the type, with the size of the diagonal where both sizes are static."""
        (x,) = types
        rows, columns = last_two(x, "a diagonal")
        return x.with_shape((*x.shape[:-2], _length(rows, columns, self.params[0])))  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Take it with NumPy."""
        return np.diagonal(values[0], self.params[0], axis1=-2, axis2=-1)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep what is known of each element."""
        return of_elements(operands[0])


class Trace(Op):
    """The sum of the main diagonal of each matrix."""

    __slots__ = ()
    name = "trace"
    measure = (1, 4)
    arity = 1
    linear = True
    returns_new_array = True
    overhead = 900

    def infer(self, *types: Any) -> Type:
        """Return the type; small integers and bool are summed in 64 bits, as by NumPy's sum."""
        (x,) = types
        last_two(x, "a trace")
        return TensorType(accumulator(x.dtype), x.shape[:-2])

    def perform(self, *values: Any) -> Any:
        """Sum with NumPy."""
        return np.trace(values[0], axis1=-2, axis2=-1)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost one addition for each element of the diagonals."""
        return size(result) * least(map(extent, types[0].shape[-2:]))  # type: ignore[no-any-return]

    def unread(self, types: tuple[Any, ...]) -> Any:
        """Leave out what is off the diagonals."""
        (x,) = types
        diagonals = (*x.shape[:-2], least(map(extent, x.shape[-2:])))
        return nbytes(x) - nbytes(Sized(x.dtype, diagonals))

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep integrality, and signs of floats (integers wrap around)."""
        signs = ("nonnegative", "nonpositive") if node.dtype.kind == "f" else ()
        return kept(operands[0], "integer", *signs)


class _Triangle(_Diagonals):
    """An op that puts zeros on one side of a diagonal."""

    __slots__ = ()
    fact: ClassVar[str]  # of the result, if zeros reach the main diagonal

    def infer(self, *types: Any) -> Type:
        """Return the type of the operand."""
        last_two(types[0], self.name)
        return types[0]  # type: ignore[no-any-return]

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know the triangle, and what zeros elsewhere leave true."""
        (x,), k = operands, self.params[0]
        facts = kept(x, *SURVIVE_ZEROS, "square", *_TRIANGLES)
        whole = k <= 0 if self.fact == "lower_triangular" else k >= 0
        return facts | proved(self.fact) if whole and x.holds("square") else facts


class Tril(_Triangle):
    """The lower triangle: zeros above the diagonal ``k``."""

    __slots__ = ()
    name = "tril"
    fact = "lower_triangular"

    def perform(self, *values: Any) -> Any:
        """Zero with NumPy."""
        return np.tril(values[0], self.params[0])


class Triu(_Triangle):
    """The upper triangle: zeros below the diagonal ``k``."""

    __slots__ = ()
    name = "triu"
    fact = "upper_triangular"

    def perform(self, *values: Any) -> Any:
        """Zero with NumPy."""
        return np.triu(values[0], self.params[0])


_TRIANGLES = ("lower_triangular", "upper_triangular", "diagonal", "tridiagonal")


def last_two(x: TensorType, what: str) -> tuple[Dim, Dim]:
    """Return the sizes of a matrix, or raise ShapeError for a scalar or a vector."""
    if x.ndim < 2:
        raise ShapeError(
            f"{what} needs a matrix or a batch of them, not {x}",
            fix="Give it two dimensions, for instance with expand_dims.",
        )
    return x.shape[-2], x.shape[-1]


def _length(rows: Dim, columns: Dim, k: int) -> Dim:
    if isinstance(rows, int) and isinstance(columns, int):
        return max(0, min(rows + min(k, 0), columns - max(k, 0)))
    return rows if rows == columns and k == 0 else None


@documented("creation")
def eye(n: Any, m: int | None = None, k: int = 0, dtype: Any = "float64") -> Any:
    """Return a matrix with ones on one diagonal and zeros elsewhere.

    n (int or integer scalar Variable): The number of rows; one known only at the call makes the
        identity.
    m (int, optional): The number of columns, ``n`` without it.
    Returns (Variable, [n, m]):
    ArgumentError: For sizes that are not ints.
    DomainError: For a negative size; and where a size is known at the call only, for other numbers
        of columns or another diagonal.

    Examples
    --------
    >>> eye(3)
    eye(n=3, m=3, k=0, dtype='float64')
    """
    if isinstance(n, Variable):
        if k != 0 or (m is not None and m is not n):
            raise DomainError(
                "eye with a size known at the call only is the identity",
                {"n": n, "m": m, "k": k},
                "Give static sizes, or n alone.",
            )
        return Diag(0)(broadcast_to(constant(1, dtype), (n,)))
    return Eye(n, n if m is None else m, k, dtype)()


@documented()
def diag(x: Any, k: int = 0) -> Any:
    """Return a diagonal matrix made of a vector, or a diagonal of a matrix.

    x (Variable, array-like or pattern, [n] or [m, n]): A pattern stands for a vector; for the other
        meaning use ``diagonal``.
    Returns (Variable or pattern): A matrix for a vector, a vector for a matrix.
    ShapeError: For a scalar or a batch.
    """
    x = as_operand(x)
    if not isinstance(x, Variable) or x.ndim == 1:
        return Diag(k)(x)
    if x.ndim != 2:
        raise ShapeError(
            f"diag takes a vector or a matrix, not {x.type}",
            fix="Use diagonal(x) for batches of matrices; make a scalar a vector by expand_dims.",
        )
    return Diagonal(k)(x)


@documented("matrix")
def diagonal(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """Return one diagonal of each matrix.

    axis1, axis2 (int): The axes of the matrices: the last two, as in ``numpy.linalg.diagonal``.
    Returns (Variable, [..., min(m, n)] for the main diagonal):
    DomainError: For an axis out of range, or one given twice.
    PatternError: For a pattern with other axes than the last two.
    """
    return Diagonal(offset)(_matrices(x, axis1, axis2, "diagonal"))


@documented(like=diagonal)
def trace(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """Return the sum of a diagonal of each matrix.

    x: Small integers and bool are summed in 64 bits.
    axis1, axis2 (int): The axes of the matrices: the last two, as in ``numpy.linalg.trace``.
    Returns (Variable or pattern, [...]): One number for each matrix.
    """
    x = _matrices(x, axis1, axis2, "trace")
    if is_open(offset) or offset != 0:
        elements = Diagonal(offset)(x)
        return Sum(None if rank_of(elements) == 1 else (-1,))(elements)
    return Trace()(x)


@documented()
def tril(x: Any, k: int = 0) -> Any:
    """Return the lower triangle of each matrix: zeros above the diagonal ``k``.

    x (Variable, array-like or pattern, [..., m, n] or [n]): A matrix or a batch of them; a vector
        is each row of a square matrix.
    k: The last diagonal that is kept.
    Returns (Variable or pattern, [..., m, n] or [n, n]): In the dtype of ``x``.
    ShapeError: For a scalar.
    """
    return Tril(k)(_as_matrix(x))


@documented(like=tril)
def triu(x: Any, k: int = 0) -> Any:
    """Return the upper triangle of each matrix: zeros below the diagonal ``k``.

    k: The first diagonal that is kept.
    """
    return Triu(k)(_as_matrix(x))


def _as_matrix(x: Any) -> Any:
    """Return an operand, a vector as a square matrix of equal rows, as NumPy takes it."""
    operand = as_operand(x)
    if isinstance(operand, Variable) and operand.ndim == 1:
        return broadcast_to(operand, (dim(operand, 0),) * 2)
    return operand


def _matrices(x: Any, axis1: int, axis2: int, function: str) -> Any:
    """Return ``x`` with the axes of its matrices last."""
    x = as_operand(x)
    if (axis1, axis2) == (-2, -1):
        return x
    if is_pattern(x):
        raise no_rank(function, "In a pattern the matrices are in the last two axes.")
    return moveaxis(x, (axis1, axis2), (-2, -1))
