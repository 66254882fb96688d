"""Linear algebra of small matrices of constant size, written out.

The pivot of an elimination is found by comparing and exchanging rows, so that there is no branch,
and a loop over matrices runs on vectors.  A factorisation that does not exist sets the flag of the
function.  So does, where the caller can compute the op by its definition at once, whatever makes a
result depend on the order of operations: a pivot that is rounding error, and values that are not
finite.

References
----------
G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., 2013: 3.1 (substitution), 3.4 (partial
pivoting), 4.2 (Cholesky).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.lowering.loops.nodes import Scalar, const
from relgraph.ops.elementwise import (
    absolute,
    add,
    greater,
    less,
    multiply,
    negative,
    sqrt,
    subtract,
    true_divide,
)
from relgraph.ops.elementwise.instances import log
from relgraph.ops.linalg.factored_solve import ChoSolve
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular

if TYPE_CHECKING:
    from relgraph.lowering.loops.build import GraphWriter

LARGEST = 8  # rows, and columns of a right side, that are written out
ROUNDING = 2  # ulps of the largest element of a column; a smaller pivot is rounding error
Matrix = Any  # an array of scalars


class Algebra:
    """Arithmetic of scalars of one float dtype."""

    def __init__(self, w: GraphWriter, dtype: str) -> None:
        self.w, self.dtype = w, dtype
        self.limits: Any = np.finfo(dtype)

    def op(self, op: Any, *args: Scalar) -> Scalar:
        """Return an op of scalars."""
        return self.w.builder.op(op, *args, dtype=self.dtype)

    def number(self, value: float) -> Scalar:
        """Return a constant."""
        return const(value, self.dtype)

    def minus(self, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        """Return ``a - b * c``."""
        return self.op(subtract, a, self.op(multiply, b, c))

    def times(self, a: Scalar, b: Scalar) -> Scalar:
        """Return ``a * b``."""
        return self.op(multiply, a, b)

    def over(self, a: Scalar, b: Scalar) -> Scalar:
        """Return ``a / b``."""
        return self.op(true_divide, a, b)

    def magnitude(self, a: Scalar) -> Scalar:
        """Return ``abs(a)``."""
        return self.op(absolute, a)

    def chosen(self, test: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """Return ``a`` if a test holds, else ``b``."""
        return self.w.builder.op("select", test, a, b, dtype=self.dtype)

    def test(self, op: Any, a: Scalar, b: Scalar) -> Scalar:
        """Return whether two scalars compare so."""
        return self.w.builder.op(op, a, b, dtype="bool")

    def require(self, test: Scalar) -> None:
        """Set the flag unless a test holds."""
        self.w.fail_if(self.w.builder.op("not", test, dtype="bool"))

    def require_finite(self, values: Any) -> None:
        """Set the flag unless all values are finite, where the caller computes the op at once."""
        if not self.w.strict:
            return
        zero = self.number(0.0)
        total: Scalar | None = None
        for x in np.ravel(values):
            term = self.times(x, zero)
            total = term if total is None else self.op(add, total, term)
        if total is not None:
            self.require(self.test("equal", total, zero))

    def require_regular(self, pivots: Sequence[Scalar], columns: Matrix | None = None) -> None:
        """Set the flag unless no pivot is zero, or rounding error of elements of its column."""
        for k, pivot in enumerate(pivots):
            size = self.magnitude(pivot)
            if columns is None or not self.w.strict:
                self.w.fail_if(self.test("equal", pivot, self.number(0.0)))
                continue
            largest = self.magnitude(columns[0, k])
            for x in columns[1:, k]:
                other = self.magnitude(x)
                largest = self.chosen(self.test(less, largest, other), other, largest)
            error = self.number(ROUNDING * float(self.limits.eps))
            self.require(self.test(greater, size, self.times(largest, error)))

    def cholesky(self, a: Matrix) -> Matrix:
        """Return the lower factor of a matrix, of which the lower triangle is read."""
        n = len(a)
        lower = np.full((n, n), self.number(0.0), object)
        least = self.number(0.0)
        for j in range(n):
            d = a[j, j]
            for p in range(j):
                d = self.minus(d, lower[j, p], lower[j, p])
            if self.w.strict and j:
                error = self.number(ROUNDING * float(self.limits.eps))
                least = self.times(self.magnitude(a[j, j]), error)
            self.require(self.test(greater, d, least))
            lower[j, j] = self.op(sqrt, d)
            for i in range(j + 1, n):
                v = a[i, j]
                for p in range(j):
                    v = self.minus(v, lower[i, p], lower[j, p])
                lower[i, j] = self.over(v, lower[j, j])
        return lower

    def substituted(self, a: Matrix, right: Matrix, lower: bool, unit: bool = False) -> Matrix:
        """Return the solution of a triangular system for the columns of ``right``."""
        n = len(a)
        x = right.copy()
        rows = range(n) if lower else range(n - 1, -1, -1)
        for i in rows:
            for c in range(x.shape[1]):
                v = x[i, c]
                for p in range(i) if lower else range(i + 1, n):
                    v = self.minus(v, a[i, p], x[p, c])
                x[i, c] = v if unit else self.over(v, a[i, i])
        return x

    def eliminated(self, a: Matrix, right: Matrix) -> tuple[Matrix, Matrix, Scalar]:
        """Return U and the transformed right sides, and the sign of the exchange of rows."""
        a, right = a.copy(), right.copy()
        n = len(a)
        sign = self.number(1.0)
        for k in range(n):
            for i in range(k + 1, n):
                larger = self.test(less, self.magnitude(a[k, k]), self.magnitude(a[i, k]))
                for m in (a, right):
                    for c in range(k if m is a else 0, m.shape[1]):
                        up, down = m[k, c], m[i, c]
                        m[k, c] = self.chosen(larger, down, up)
                        m[i, c] = self.chosen(larger, up, down)
                sign = self.chosen(larger, self.op(negative, sign), sign)
            for i in range(k + 1, n):
                factor = self.over(a[i, k], a[k, k])
                for m in (a, right):
                    for c in range(k + 1 if m is a else 0, m.shape[1]):
                        m[i, c] = self.minus(m[i, c], factor, m[k, c])
        return a, right, sign


def _columns(x: Any) -> Any:
    return x[:, None] if x.ndim == 1 else x


def cholesky(g: Algebra, params: Any, a: Matrix) -> list[Any]:
    """Write a Cholesky factor."""
    return [g.cholesky(a) if params[0] else g.cholesky(a.T).T]


def solve(g: Algebra, params: Any, a: Matrix, right: Matrix) -> list[Any]:
    """Write the solution of a system."""
    columns = _columns(right)
    if params[0] == "spd":
        lower = g.cholesky(a)
        x = g.substituted(lower, columns, True)
        x = g.substituted(lower.T, x, False)
    else:
        if params[0] == "symmetric":
            a = np.array([[a[max(i, j), min(i, j)] for j in range(len(a))] for i in range(len(a))])
        upper, changed, _ = g.eliminated(a, columns)
        g.require_regular(upper.diagonal(), a)
        x = g.substituted(upper, changed, False)
    g.require_finite(x)
    return [x.reshape(right.shape)]


def solve_triangular(g: Algebra, params: Any, a: Matrix, right: Matrix) -> list[Any]:
    """Write the solution of a triangular system."""
    lower, trans, unit = params
    if not unit:
        g.require_regular(a.diagonal())
    if trans:
        a, lower = a.T, not lower
    x = g.substituted(a, _columns(right), lower, unit)
    g.require_finite(x)
    return [x.reshape(right.shape)]


def cho_solve(g: Algebra, params: Any, factor: Matrix, right: Matrix) -> list[Any]:
    """Write the solution of a system with a Cholesky factor."""
    lower = factor if params[0] else factor.T
    g.require_regular(factor.diagonal())
    x = g.substituted(lower, _columns(right), True)
    x = g.substituted(lower.T, x, False)
    g.require_finite(x)
    return [x.reshape(right.shape)]


def inverse(g: Algebra, params: Any, a: Matrix) -> list[Any]:
    """Write an inverse."""
    identity = np.array(
        [[g.number(float(i == j)) for j in range(len(a))] for i in range(len(a))], object
    )
    upper, changed, _ = g.eliminated(a, identity)
    g.require_regular(upper.diagonal(), a)
    x = g.substituted(upper, changed, False)
    g.require_finite(x)
    return [x]


def determinant(g: Algebra, params: Any, a: Matrix) -> list[Any]:
    """Write a determinant.

    NumPy's neither overflows nor underflows before the result does, so a product that leaves the
    range of normal numbers sets the flag.
    """
    upper, _, result = g.eliminated(a, np.empty((len(a), 0), object))
    if g.w.strict:
        g.require_regular(upper.diagonal(), a)
    smallest = g.number(float(g.limits.tiny))
    for k in range(len(a)):
        result = g.times(result, upper[k, k])
        if g.w.strict:
            g.require(g.test(less, smallest, g.magnitude(result)))
    g.require_finite([result])
    zero = g.number(0.0)
    for k in range(0 if g.w.strict else len(a)):  # a column of zeros
        result = g.chosen(g.test("equal", upper[k, k], zero), zero, result)
    return [_scalar(result)]


def signed_log(g: Algebra, params: Any, a: Matrix) -> list[Any]:
    """Write the sign of a determinant and the logarithm of its absolute value."""
    upper, _, sign = g.eliminated(a, np.empty((len(a), 0), object))
    if g.w.strict:
        g.require_regular(upper.diagonal(), a)
    zero = g.number(0.0)
    total: Scalar | None = None
    for pivot in upper.diagonal():
        term = g.op(log, g.magnitude(pivot))
        total = term if total is None else g.op(add, total, term)
        sign = g.chosen(g.test(less, pivot, zero), g.op(negative, sign), sign)
        if not g.w.strict:
            sign = g.chosen(g.test("equal", pivot, zero), zero, sign)
    assert total is not None
    g.require_finite([total])
    return [_scalar(sign), _scalar(total)]


def _scalar(x: Scalar) -> Any:
    array = np.empty((), object)
    array[()] = x
    return array


WRITTEN_OUT: dict[type[Any], Callable[..., list[Any]]] = {
    Cholesky: cholesky,
    ChoSolve: cho_solve,
    Det: determinant,
    Inv: inverse,
    Slogdet: signed_log,
    Solve: solve,
    SolveTriangular: solve_triangular,
}
"""Writes an op of operands that are arrays of scalars, and returns its results as such."""

__all__ = ["LARGEST", "WRITTEN_OUT", "Algebra"]
