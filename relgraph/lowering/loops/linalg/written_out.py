"""Linear algebra of matrices of constant size up to 8: each operation is a statement of its own.

The pivot of an elimination is found by comparing and exchanging rows, so that there is no branch,
and a loop over matrices runs on vectors.

References
----------
G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., 2013: 3.1 (substitution), 3.4 (partial
pivoting), 4.2 (Cholesky).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.lowering.loops.linalg.arithmetic import ROUNDING, Arithmetic
from relgraph.lowering.loops.nodes import Scalar
from relgraph.ops.elementwise import (
    add,
    greater,
    less,
    negative,
    sqrt,
)
from relgraph.ops.elementwise.instances import log
from relgraph.ops.linalg.factored_solve import ChoSolve
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular

if TYPE_CHECKING:
    pass

Matrix = Any  # an array of scalars


class Algebra(Arithmetic):
    """Factorisations of matrices of scalars, and substitution."""

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
            inverse = self.inverse(lower[j, j]) if j < n - 1 else lower[j, j]
            for i in range(j + 1, n):
                v = a[i, j]
                for p in range(j):
                    v = self.minus(v, lower[i, p], lower[j, p])
                lower[i, j] = self.times(v, inverse)
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
            divisor = self.divisor(a[k, k]) if k < n - 1 else a[k, k]
            for i in range(k + 1, n):
                factor = self.divided(a[i, k], divisor)
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

__all__ = ["WRITTEN_OUT", "Algebra"]
