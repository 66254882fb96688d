"""Cumulative ops: the sum, product and extremes of the elements so far along an axis.

Each result is made from the one before it and the next element, in order, as NumPy does it.  So the
results of floats are defined to the last bit, and backends for the CPU compute the same ones.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from relgraph.ir.facts import NOTHING, VALUE_FACTS, Facts, kept
from relgraph.ir.node import Variable
from relgraph.ir.types import TensorType, Type
from relgraph.ops import elementwise
from relgraph.ops.arguments import (
    AxisOp,
    as_operand,
    is_axis_of_scalar,
    is_pattern,
    no_rank,
    normalise_axis,
    rank_of,
)
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise.facts import WEAK_SIGNS, holds
from relgraph.ops.reductions import Max, Min, Prod, Reduction, Sum, accumulator, sums_exactly
from relgraph.ops.shape import ravel


class Cumulative(AxisOp):
    """A function of the elements so far along an axis."""

    __slots__ = ()
    arity = 1
    ufunc: ClassVar[np.ufunc]
    fold: ClassVar[type[Reduction]]  # what its last element is

    def dtype(self, operand: np.dtype[Any]) -> np.dtype[Any]:
        """Return the dtype of the result."""
        return operand

    def infer(self, *types: Any) -> Type:
        """Keep the shape."""
        (x,) = types
        normalise_axis(self.axis, x.ndim, self.name)
        return TensorType(self.dtype(x.dtype), x.shape)

    def perform(self, *values: Any) -> Any:
        """Accumulate with NumPy, in the dtype that it chooses."""
        with np.errstate(all="ignore"):
            return self.ufunc.accumulate(np.asarray(values[0]), axis=self.axis)


class Cumsum(Cumulative):
    """The sums of the elements so far along an axis."""

    __slots__ = ()
    name = "cumsum"
    fold = Sum
    ufunc = np.add

    def dtype(self, operand: np.dtype[Any]) -> np.dtype[Any]:
        """Return NumPy's accumulator."""
        return accumulator(operand)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Signs are kept where nothing wraps: no sum is of no elements."""
        (x,) = operands
        if not sums_exactly(node.inputs[0].dtype):
            return NOTHING
        facts = kept(x, *WEAK_SIGNS, "positive", "negative", "integer")
        # Partial sums that overflow to both infinities cancel to NaN.
        one_sign = any(holds(x, name) for name in WEAK_SIGNS)
        return facts | (kept(x, "not_nan") if one_sign else NOTHING)


class Cumprod(Cumulative):
    """The products of the elements so far along an axis."""

    __slots__ = ()
    name = "cumprod"
    fold = Prod
    ufunc = np.multiply

    def dtype(self, operand: np.dtype[Any]) -> np.dtype[Any]:
        """Return NumPy's accumulator."""
        return accumulator(operand)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Floats keep signs weakly, integers not at all; partial products may be 0 and inf."""
        (x,) = operands
        if node.dtype.kind != "f":
            return NOTHING
        facts = kept(x, "nonnegative", "integer")
        if holds(x, "integer", "nonzero"):
            facts |= kept(x, "nonzero", "positive", "not_nan")
        return facts


class Cummax(Cumulative):
    """The largest of the elements so far along an axis; NaN from the first NaN on."""

    __slots__ = ()
    name = "cummax"
    fold = Max
    ufunc = np.maximum
    computes = False

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """One of the elements."""
        return kept(operands[0], *VALUE_FACTS)


class Cummin(Cumulative):
    """The smallest of the elements so far along an axis; NaN from the first NaN on."""

    __slots__ = ()
    name = "cummin"
    fold = Min
    ufunc = np.minimum
    computes = False

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """One of the elements."""
        return kept(operands[0], *VALUE_FACTS)


def _along(cls: type[Cumulative], x: Any, axis: Any) -> Any:
    """Apply an op along an axis; for None to the elements one after the other."""
    operand = as_operand(x)
    if axis is None or is_axis_of_scalar(axis, rank_of(operand)):
        if is_pattern(operand):
            raise no_rank(f"{cls.name} without an axis", "Name the axis: axis=-1 is the last.")
        operand, axis = ravel(operand), -1
    return cls(normalise_axis(axis, rank_of(operand), cls.name))(operand)


def _cast(x: Any, dtype: npt.DTypeLike | None) -> Any:
    return x if dtype is None else elementwise.cast(x, dtype)


@documented("cumulative")
def cumsum(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None) -> Any:
    """Add up the elements so far along an axis, as ``numpy.cumsum``.

    Returns: The shape of ``a``, or a vector; of that dtype, without one int64 for bool and signed
        integers, uint64 for unsigned ones, otherwise the dtype of ``a``.
    PatternError: For a pattern without an axis, or with one counted from the front.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.cumsum(rg.matrix("X", shape=(2, 3)), axis=0).type
    float64[2, 3]
    """
    return _cast(_along(Cumsum, _cast(a, dtype), axis), dtype)


@documented(like=cumsum)
def cumprod(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None) -> Any:
    """Multiply the elements so far along an axis, as ``numpy.cumprod``."""
    return _cast(_along(Cumprod, _cast(a, dtype), axis), dtype)


@documented(like=cumsum)
def cummax(a: Any, axis: Any = None) -> Any:
    """Take the largest of the elements so far, as ``numpy.maximum.accumulate``.

    Returns: The shape of ``a``, or a vector, and its dtype; NaN from the first NaN on.
    """
    return _along(Cummax, a, axis)


@documented(like=cummax)
def cummin(a: Any, axis: Any = None) -> Any:
    """Take the smallest of the elements so far, as ``numpy.minimum.accumulate``."""
    return _along(Cummin, a, axis)
