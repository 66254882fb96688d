"""Arithmetic of the scalars of one float dtype in the loop language, and checks of them.

A check that fails sets the flag of the function.  Where the caller can compute the op by its
definition at once, whatever makes a result depend on the order of operations fails, too: a pivot
that is rounding error, and values that are not finite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.lowering.loops.nodes import Scalar, const
from relgraph.ops.elementwise import absolute, add, multiply, subtract, true_divide

if TYPE_CHECKING:
    from relgraph.lowering.loops.build import GraphWriter

WIDTH = 8  # numbers of a vector of AVX-512, or of two of AVX2
WIDE = "float64"  # the dtype of all computations: NumPy's of float32, too
ROUNDING = 2  # ulps of the largest element of a column; a smaller pivot is rounding error


class Arithmetic:
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

    def inverse(self, b: Scalar) -> Scalar:
        """Return ``1 / b``."""
        return self.over(self.number(1.0), b)

    def divisor(self, b: Scalar) -> Scalar:
        """Return what :meth:`divided` takes for a divisor of several numbers.

        That is the inverse if the caller computes the op again where this is not finite.
        """
        return self.inverse(b) if self.w.strict else b

    def divided(self, a: Scalar, divisor: Scalar) -> Scalar:
        """Return a number over a divisor."""
        return (self.times if self.w.strict else self.over)(a, divisor)

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


__all__ = ["ROUNDING", "WIDE", "WIDTH", "Arithmetic"]
