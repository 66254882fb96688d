"""Linear algebra of square matrices, and of batches of them: solving, factoring, inverting.

Integers and bool are taken as float64, as by NumPy.  A matrix that has no inverse or no factor
raises ``numpy.linalg.LinAlgError`` when the graph runs.

A fact of a matrix (symmetric, spd, ...) is structural: it is true of the exact value, which the
computed one approximates.  So the inverse of a symmetric matrix is called symmetric although
rounding may leave its halves unequal in the last place.  A fact of a value (positive, finite, ...)
is true of the computed value, so none follows from a fact of a matrix.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, DomainError, ShapeError
from relgraph.ir.cost import extent, nbytes, size
from relgraph.ir.facts import Facts, kept, proved
from relgraph.ir.node import Variable
from relgraph.ir.op import GetItem, Measure, Op
from relgraph.ir.types import Dim, TensorType, TupleType, Type, broadcast_shapes, unify_dims
from relgraph.ops.arguments import as_operand, is_open
from relgraph.ops.contraction import contracted
from relgraph.ops.docstrings import documented
from relgraph.ops.linalg.lapack import (
    common_floats,
    float_dtype,
    inverse,
    positive_definite,
    small_factor,
    small_solution,
    solved,
    symmetric,
    triangular,
)
from relgraph.ops.linalg.structured import last_two

ASSUMPTIONS = ("general", "symmetric", "spd")
_TRANS = {"N": 0, "T": 1, "C": 1, 0: 0, 1: 1, 2: 1}


def square_size(x: TensorType, what: str) -> Dim:
    """Return the side of a square matrix, or raise ShapeError where it is not square."""
    rows, columns = last_two(x, what)
    try:
        return unify_dims(rows, columns)
    except ShapeError as error:
        raise ShapeError(
            f"{what} needs a square matrix: {error.what}",
            fix="Give both sizes the same number or name, as in shape=('n', 'n').",
        ) from None


def square_type(x: TensorType, what: str) -> TensorType:
    """Return the type of a batch of square matrices in the dtype that linear algebra uses.

    An operand that is not square raises ShapeError.
    """
    n = square_size(x, what)
    return TensorType(float_dtype(x), (*x.shape[:-2], n, n))


def solution_type(a: TensorType, b: TensorType) -> TensorType:
    """Return the type of the solution of ``a @ x = b``: a vector only if ``b`` is one vector."""
    n = square_size(a, "a system")
    if b.ndim == 0:
        raise ShapeError(
            "the right side of a system is a vector or a matrix, not a scalar",
            fix="Give it an element for each row, for instance with broadcast_to.",
        )
    dtype = float_dtype(a, b)
    if b.ndim == 1:
        return TensorType(dtype, (*a.shape[:-2], contracted(n, b.shape[0])))
    n = contracted(n, b.shape[-2])
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
    return TensorType(dtype, (*batch, n, b.shape[-1]))


def cubes(matrices: TensorType) -> int:
    """Return n^3 for n by n matrices, times their number."""
    return size(matrices) * extent(matrices.shape[-1])


def matrices_of(batch: TensorType) -> int:
    """Return the number of matrices of a batch."""
    return size(batch.with_shape(batch.shape[:-2]))


class SquareOp(Op):
    """An op on one square matrix."""

    __slots__ = ()
    arity = 1
    conditioned = True
    returns_new_array = True
    rate = "factorisation"
    overhead = 5000

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost an elimination: 2 n^3 / 3 for each matrix."""
        return 2 * cubes(types[0]) // 3


class Switch(Op):
    """An op whose one parameter is a bool."""

    __slots__ = ()

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the parameter as a bool."""
        (value,) = super().canonical(*args, **kwargs)
        return (_flag(value),)


class Inv(SquareOp):
    """The inverse of each matrix."""

    __slots__ = ()
    name = "inv"
    latex = "#1^{-1}"
    overhead = 4000
    measure = (18, 4)
    needs_regular = True
    inverts = True

    def infer(self, *types: Any) -> Type:
        """Return the type of the operand, in a float dtype."""
        return square_type(types[0], "an inverse")

    def perform(self, *values: Any) -> Any:
        """Invert with LAPACK, in fewer operations than NumPy; batches by NumPy."""
        (a,) = common_floats(values[0])
        return inverse(a) if a.ndim == 2 and a.size else np.linalg.inv(a)

    def demands(self, fact: str = "") -> tuple[str, ...]:
        """Demand an invertible matrix."""
        return ("invertible",)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 2 n^3 for a matrix; a batch costs systems with the identity, 8 n^3 / 3 each."""
        return 2 * cubes(types[0]) if types[0].ndim == 2 else 8 * cubes(types[0]) // 3

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep the structures that form a group."""
        return proved("invertible") | kept(
            operands[0],
            "symmetric",
            "psd",
            "lower_triangular",
            "upper_triangular",
            "diagonal",
            "orthogonal",
            "permutation",
            "identity",
        )


class Det(SquareOp):
    """The determinant of each matrix."""

    __slots__ = ()
    name = "det"
    overhead = 3500
    measure = (104, 32)

    def infer(self, *types: Any) -> Type:
        """Return the type of the batch, in a float dtype."""
        square_size(types[0], "a determinant")
        return TensorType(float_dtype(types[0]), types[0].shape[:-2])

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy."""
        return np.linalg.det(values[0])


class Slogdet(SquareOp):
    """The sign of each determinant, and the logarithm of its absolute value: a tuple."""

    __slots__ = ()
    name = "slogdet"
    measure = (201, 64)
    needs_regular = True

    def infer(self, *types: Any) -> Type:
        """Return a tuple type of two results, each of the batch's shape."""
        square_size(types[0], "a determinant")
        one = TensorType(float_dtype(types[0]), types[0].shape[:-2])
        return TupleType([one, one])

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy."""
        return tuple(np.linalg.slogdet(values[0]))


class Cholesky(Switch, SquareOp):
    """The triangular factor of each SPD matrix; one of its triangles is read.

    Parameters
    ----------
    lower : bool
        The factor L of ``L @ L.mT``, from the lower triangle; else U of ``U.mT @ U``.
    """

    __slots__ = ()
    name = "cholesky"
    overhead = 1500
    measure = (10, 4)
    parameters = ("lower",)
    needs_regular = True

    def infer(self, *types: Any) -> Type:
        """Return the type of the operand, in a float dtype."""
        return square_type(types[0], "a Cholesky factor")

    def perform(self, *values: Any) -> Any:
        """Factor with NumPy."""
        (a,), lower = values, self.params[0]
        factor = small_factor(a, lower)
        return np.linalg.cholesky(a, upper=not lower) if factor is None else factor

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost n^3 / 3 for each matrix."""
        return cubes(types[0]) // 3

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know the triangle; a factor is invertible, and diagonal where the matrix is."""
        triangle = "lower_triangular" if self.params[0] else "upper_triangular"
        return proved(triangle, "invertible") | kept(operands[0], "diagonal")


class SystemOp(Op):
    """An op that solves ``a @ x = b``: ``b`` is a vector only where it has one dimension."""

    __slots__ = ()
    arity = 2
    conditioned = True
    needs_regular = True
    returns_new_array = True
    rate = "substitution"
    overhead = 5000

    def infer(self, *types: Any) -> Type:
        """Return the type of the solution: that of ``b``, its batch broadcast with that of a."""
        return solution_type(*types)

    def calls(self, types: tuple[Any, ...], result: Any) -> Any:
        """Return the number of matrices, which LAPACK takes one at a time."""
        return matrices_of(result)

    def _substitution(self, types: tuple[Any, ...], result: Any) -> int:
        """Return the cost of one triangular substitution, n^2 for each right side."""
        return size(result) * extent(types[0].shape[-1])


class Solve(SystemOp):
    """The solution x of ``a @ x = b``.

    Parameters
    ----------
    assume : str
        What is taken for granted of ``a``: "general" nothing, "symmetric" that it is symmetric
        (its lower triangle is read, and factors of Bunch and Kaufman used), "spd" that it is
        symmetric positive definite (the same, with Cholesky's factor).
    """

    __slots__ = ()
    name = "solve"
    rate = "factorisation"
    overhead = 2800
    measure = (60, 4)
    parameters = ("assume",)
    inverts = True

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the assumption by name."""
        (assume,) = super().canonical(*args, **kwargs)
        if not is_open(assume) and assume not in ASSUMPTIONS:
            raise DomainError(
                f"solve cannot assume {assume!r}", fix=f"Use one of {', '.join(ASSUMPTIONS)}."
            )
        return (assume,)

    def termination_measure(self) -> Measure:
        """Weigh less where more is assumed, so that rewriting may say so."""
        return {"symmetric": (59, 4), "spd": (58, 4)}.get(self.params[0], self.measure)

    def demands(self, fact: str = "") -> tuple[str, ...]:
        """Demand an invertible matrix, where all of it is read."""
        return ("invertible", "") if self.params[0] == "general" else ()

    def perform(self, *values: Any) -> Any:
        """Solve with LAPACK, as NumPy does, or by Cholesky's factor."""
        a, b = values
        kind = self.params[0]
        x = small_solution(a, b, kind == "spd") if a.ndim == 2 else None
        if x is not None:
            return x
        if kind == "general":
            return np.linalg.solve(a, b)
        a, b = common_floats(a, b)
        if kind == "symmetric":
            return solved(symmetric, a, b)
        if not b.size:
            np.linalg.cholesky(a)  # without a right side, too, the matrix needs a factor
        return solved(positive_definite, a, b)

    def calls(self, types: tuple[Any, ...], result: Any) -> Any:
        """Return 1 for general systems, of which NumPy takes a batch."""
        return 1 if self.params[0] == "general" else super().calls(types, result)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost the elimination of ``a`` and two substitutions for each right side."""
        cube = cubes(types[0])
        share = 2 * cube // 3 if self.params[0] == "general" else cube // 3
        return share + 2 * self._substitution(types, result)

    def work(self, flops: Any, types: tuple[Any, ...], result: Any) -> tuple[tuple[str, Any], ...]:
        """Separate the elimination from the substitutions."""
        substituted = 2 * self._substitution(types, result)
        return (self.rate, flops - substituted), ("substitution", substituted)


class SolveTriangular(SystemOp):
    """The solution x of ``a @ x = b`` for a triangular ``a``; its other triangle is not read.

    Parameters
    ----------
    lower : bool
        Which triangle ``a`` is.
    trans : int
        1 to solve ``a.mT @ x = b`` instead, else 0.
    unit_diagonal : bool
        Whether the diagonal is taken as ones and not read.
    """

    __slots__ = ()
    name = "solve_triangular"
    measure = (56, 4)
    parameters = ("lower", "trans", "unit_diagonal")

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the parameters as bool, 0 or 1, and bool."""
        lower, trans, unit = super().canonical(*args, **kwargs)
        if not is_open(trans):
            if trans not in _TRANS:
                raise DomainError(
                    f"solve_triangular: trans is 0 or 1 ('N', 'T' or 'C'), not {trans!r}",
                    fix="Use 1 to solve with the transposed matrix, or 0 with the matrix itself.",
                )
            trans = _TRANS[trans]
        return _flag(lower), trans, _flag(unit)

    def perform(self, *values: Any) -> Any:
        """Solve with LAPACK, one matrix at a time; NaN and infinity pass through."""
        lower, trans, unit = self.params
        one = partial(triangular, trans=trans, lower=lower, unit=unit)
        return solved(one, *common_floats(*values))

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost n^2 for each right side."""
        return self._substitution(types, result)

    def unread(self, types: tuple[Any, ...]) -> Any:
        """Leave out the other triangle."""
        return nbytes(types[0]) // 2


def _flag(value: Any) -> Any:
    if is_open(value):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ArgumentError(
        f"a switch is True or False, not {value!r}",
        fix="Pass a bool that is known when the graph is built.",
    )


@documented("square")
def solve(a: Any, b: Any, assume: str = "general") -> Any:
    """Return the solution x of ``a @ x = b``.

    b (Variable, array-like or pattern, [n] or [..., n, k]): A vector only where it has one
        dimension, as in NumPy 2.
    assume ({"general", "symmetric", "spd"}): What is taken for granted of ``a``.
    Returns (Variable, [..., n] or [..., n, k]):
    ShapeError: When the sizes differ.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> a = make_input("a", TensorType("float64", ("n", "n")))
    >>> b = make_input("b", TensorType("float64", ("n",)))
    >>> solve(a, b).type
    float64[n]
    """
    return Solve(assume)(as_operand(a), as_operand(b))


@documented("square")
def solve_triangular(
    a: Any, b: Any, lower: bool = False, trans: int | str = 0, unit_diagonal: bool = False
) -> Any:
    """Return the solution x of ``a @ x = b`` for a triangular ``a``, as SciPy does.

    a: Its other triangle is not read.
    b (Variable, array-like or pattern, [n] or [..., n, k]): A vector only where it has one
        dimension.
    lower: Which triangle ``a`` is.
    trans ({0, 1, "N", "T", "C"}): Whether to solve with the transpose of ``a``.
    unit_diagonal (bool): Whether the diagonal is taken as ones and not read.
    Returns (Variable or pattern): Of the shape of ``b``, in a float dtype.
    ShapeError: When the sizes do not fit.
    """
    return SolveTriangular(lower, trans, unit_diagonal)(as_operand(a), as_operand(b))


@documented("triangle")
def cholesky(a: Any, lower: bool = True) -> Any:
    """Return the triangular factor of a symmetric positive definite matrix.

    lower: True for L with ``a = L @ L.mT``, False for U with ``a = U.mT @ U``.
    Returns (Variable or pattern, float[..., n, n]): The factor; the other triangle is zero.
    LinearAlgebraError: At a call, for a matrix that is not positive definite.
    """
    return Cholesky(lower)(as_operand(a))


@documented("square")
def inv(a: Any) -> Any:
    """Return the inverse of a square matrix.

    Returns (Variable or pattern, [..., n, n]): A float.
    LinearAlgebraError: At a call, for a singular matrix.
    """
    return Inv()(as_operand(a))


@documented("square")
def det(a: Any) -> Any:
    """Return the determinant of a square matrix.

    Returns (Variable or pattern, [...]): One float for each matrix.
    """
    return Det()(as_operand(a))


@documented("square")
def slogdet(a: Any) -> tuple[Any, Any]:
    """Return the sign of a determinant, and the logarithm of its absolute value.

    Returns (sign, logabsdet : Variable): A singular matrix has 0 and minus infinity.
    """
    both = Slogdet()(as_operand(a))
    return GetItem(0)(both), GetItem(1)(both)
