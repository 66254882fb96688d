"""Linear algebra of matrices of constant, small size, written out.

The pivot of an elimination is found by comparing and exchanging rows, so that there is no branch.
A factorisation that does not exist sets the flag of the function.

References
----------
G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., 2013: 3.1 (substitution), 3.4 (partial
pivoting), 4.2 (Cholesky).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.ir.node import Variable
from relgraph.lowering.loops.nodes import Scalar, const
from relgraph.lowering.loops.rules import Rule, Unsupported
from relgraph.lowering.loops.values import Value
from relgraph.ops.elementwise import (
    absolute,
    add,
    greater,
    less,
    log,
    multiply,
    negative,
    sign,
    sqrt,
    subtract,
    true_divide,
)
from relgraph.ops.linalg.factored_solve import ChoSolve
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular

if TYPE_CHECKING:
    from relgraph.lowering.loops.build import GraphWriter

LARGEST = 8  # rows of a matrix that is written out
Matrix = Any  # an array of scalars


class _Algebra:
    """Arithmetic of scalars of one float dtype."""

    def __init__(self, w: GraphWriter, dtype: str) -> None:
        self.w, self.dtype = w, dtype

    def _op(self, op: Any, *args: Scalar) -> Scalar:
        return self.w.builder.op(op, *args, dtype=self.dtype)

    def number(self, value: float) -> Scalar:
        return const(value, self.dtype)

    def minus(self, a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        """Return ``a - b * c``."""
        return self._op(subtract, a, self._op(multiply, b, c))

    def times(self, a: Scalar, b: Scalar) -> Scalar:
        return self._op(multiply, a, b)

    def over(self, a: Scalar, b: Scalar) -> Scalar:
        return self._op(true_divide, a, b)

    def plus(self, a: Scalar, b: Scalar) -> Scalar:
        return self._op(add, a, b)

    def sign(self, a: Scalar) -> Scalar:
        return self._op(sign, a)

    def log_absolute(self, a: Scalar) -> Scalar:
        return self._op(log, self._op(absolute, a))

    def cholesky(self, a: Matrix) -> Matrix:
        """Return the lower factor of a matrix, of which the lower triangle is read."""
        n = len(a)
        lower = np.full((n, n), self.number(0.0), object)
        b = self.w.builder
        for j in range(n):
            d = a[j, j]
            for p in range(j):
                d = self.minus(d, lower[j, p], lower[j, p])
            positive = b.op(greater, d, self.number(0.0), dtype="bool")
            self.w.fail_if(b.op("not", positive, dtype="bool"))
            lower[j, j] = self._op(sqrt, d)
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
        b = self.w.builder
        a, right = a.copy(), right.copy()
        n = len(a)
        sign = self.number(1.0)
        for k in range(n):
            for i in range(k + 1, n):
                larger = b.op(
                    less, self._op(absolute, a[k, k]), self._op(absolute, a[i, k]), dtype="bool"
                )
                for m in (a, right):
                    for c in range(k if m is a else 0, m.shape[1]):
                        up, down = m[k, c], m[i, c]
                        m[k, c] = b.op("select", larger, down, up, dtype=self.dtype)
                        m[i, c] = b.op("select", larger, up, down, dtype=self.dtype)
                sign = b.op("select", larger, self._op(negative, sign), sign, dtype=self.dtype)
            for i in range(k + 1, n):
                factor = self.over(a[i, k], a[k, k])
                for m in (a, right):
                    for c in range(k + 1 if m is a else 0, m.shape[1]):
                        m[i, c] = self.minus(m[i, c], factor, m[k, c])
        return a, right, sign


def _matrices(w: GraphWriter, dtype: str, operands: Sequence[Value]) -> tuple[_Algebra, list[Any]]:
    """Return the operands, written out, as arrays of scalars; the first one is a matrix."""
    arrays = []
    for x in operands:
        if x.static is None or len(x.shape) > 2 or max(x.static, default=0) > LARGEST:
            raise Unsupported
        arrays.append(w.written_out(w.converted(x, dtype)).elements)
    if arrays[0].size == 0 or not w.is_small(operands[0].shape):
        raise Unsupported
    return _Algebra(w, dtype), arrays


def _columns(x: Any) -> Any:
    return x[:, None] if x.ndim == 1 else x


def cholesky(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a Cholesky factor."""
    algebra, (a,) = _matrices(w, node.dtype.name, operands)
    if node.op.params[0]:  # type: ignore[union-attr]
        return w.written(algebra.dtype, algebra.cholesky(a))
    return w.written(algebra.dtype, algebra.cholesky(a.T).T)


def solve(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write the solution of a system."""
    algebra, (a, right) = _matrices(w, node.dtype.name, operands)
    columns = _columns(right)
    if node.op.params[0] == "spd":  # type: ignore[union-attr]
        lower = algebra.cholesky(a)
        x = algebra.substituted(lower, columns, True)
        x = algebra.substituted(lower.T, x, False)
    else:
        if node.op.params[0] == "symmetric":  # type: ignore[union-attr]
            a = np.array([[a[max(i, j), min(i, j)] for j in range(len(a))] for i in range(len(a))])
        upper, changed, _ = algebra.eliminated(a, columns)
        _check_regular(w, algebra, upper)
        x = algebra.substituted(upper, changed, False)
    return w.written(algebra.dtype, x.reshape(right.shape))


def _check_regular(w: GraphWriter, algebra: _Algebra, upper: Matrix) -> None:
    for k in range(len(upper)):
        w.fail_if(w.builder.op("equal", upper[k, k], algebra.number(0.0), dtype="bool"))


def solve_triangular(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write the solution of a triangular system."""
    algebra, (a, right) = _matrices(w, node.dtype.name, operands)
    lower, trans, unit = node.op.params  # type: ignore[union-attr]
    if not unit:
        for k in range(len(a)):
            w.fail_if(w.builder.op("equal", a[k, k], algebra.number(0.0), dtype="bool"))
    if trans:
        a, lower = a.T, not lower
    x = algebra.substituted(a, _columns(right), lower, unit)
    return w.written(algebra.dtype, x.reshape(right.shape))


def cho_solve(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write the solution of a system with a Cholesky factor."""
    algebra, (c, right) = _matrices(w, node.dtype.name, operands)
    lower = c if node.op.params[0] else c.T  # type: ignore[union-attr]
    x = algebra.substituted(lower, _columns(right), True)
    x = algebra.substituted(lower.T, x, False)
    return w.written(algebra.dtype, x.reshape(right.shape))


def inverse(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write an inverse."""
    algebra, (a,) = _matrices(w, node.dtype.name, operands)
    identity = np.array(
        [[algebra.number(float(i == j)) for j in range(len(a))] for i in range(len(a))], object
    )
    upper, changed, _ = algebra.eliminated(a, identity)
    _check_regular(w, algebra, upper)
    return w.written(algebra.dtype, algebra.substituted(upper, changed, False))


def determinant(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a determinant."""
    algebra, (a,) = _matrices(w, node.dtype.name, operands)
    upper, _, result = algebra.eliminated(a, np.empty((len(a), 0), object))
    for k in range(len(a)):
        result = algebra.times(result, upper[k, k])
    b = w.builder
    zero = algebra.number(0.0)
    for k in range(len(a)):  # a column of zeros
        none = b.op("equal", upper[k, k], zero, dtype="bool")
        result = b.op("select", none, zero, result, dtype=algebra.dtype)
    return w.scalar(result)


def slogdet(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> list[Value]:
    """Write the sign of a determinant, and the logarithm of its absolute value."""
    dtype = node.type.items[0].dtype.name
    algebra, (a,) = _matrices(w, dtype, operands)
    upper, _, sign = algebra.eliminated(a, np.empty((len(a), 0), object))
    total = algebra.number(0.0)
    for k in range(len(a)):
        sign = algebra.times(sign, algebra.sign(upper[k, k]))
        total = algebra.plus(total, algebra.log_absolute(upper[k, k]))
    b, zero = w.builder, algebra.number(0.0)
    for k in range(len(a)):  # a column of zeros
        none = b.op("equal", upper[k, k], zero, dtype="bool")
        sign = b.op("select", none, zero, sign, dtype=dtype)
        total = b.op("select", none, algebra.number(-np.inf), total, dtype=dtype)
    return [w.scalar(sign), w.scalar(total)]


RULES: dict[type[Any], Rule] = {
    Cholesky: cholesky,
    ChoSolve: cho_solve,
    Det: determinant,
    Inv: inverse,
    Slogdet: slogdet,
    Solve: solve,
    SolveTriangular: solve_triangular,
}

__all__ = ["RULES"]
