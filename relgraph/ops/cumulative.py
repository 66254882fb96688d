"""Cumulative ops: the sum, product and extremes of the elements so far along an axis.

Each result is made from the one before it and the next element, in order, as NumPy does it.  So the
results of floats are defined to the last bit, and backends for the CPU compute the same ones.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from relgraph.ir.cost import size
from relgraph.ir.facts import Facts
from relgraph.ir.node import Variable, constant
from relgraph.ir.types import TensorType, Type
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
from relgraph.ops.elementwise import cast, in_dtype
from relgraph.ops.reductions import Max, Min, Prod, Reduction, Sum
from relgraph.ops.shape import broadcast_to, ravel


class Cumulative(AxisOp):
    """A function of the elements so far along an axis."""

    __slots__ = ()
    arity = 1
    overhead = 500
    fold: ClassVar[type[Reduction]]  # of all elements: the last result

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost one operation for each element."""
        return size(result)

    @property
    def ufunc(self) -> Any:
        """NumPy's function of two elements."""
        assert self.fold.combiner is not None
        return self.fold.combiner.row.compute

    def infer(self, *types: Any) -> Type:
        """Keep the shape; the dtype is that of the reduction."""
        (x,) = types
        normalise_axis(self.axis, x.ndim, self.name)
        return TensorType(self.fold().dtype(x.dtype), x.shape)

    def perform(self, *values: Any) -> Any:
        """Accumulate with NumPy, in the dtype that it chooses."""
        with np.errstate(all="ignore"):
            return self.ufunc.accumulate(np.asarray(values[0]), axis=self.axis)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Return the facts of the reduction: every result is one of at least one element."""
        return self.fold().facts_of_elements(operands[0], node, filled=True)  # type: ignore[no-any-return]


class Cumsum(Cumulative):
    """The sums of the elements so far along an axis."""

    __slots__ = ()
    name = "cumsum"
    measure = (4, 2)
    linear = True
    fold = Sum


class Cumprod(Cumulative):
    """The products of the elements so far along an axis."""

    __slots__ = ()
    name = "cumprod"
    measure = (5, 2)
    fold = Prod


class Cummax(Cumulative):
    """The largest of the elements so far along an axis; NaN from the first NaN on."""

    __slots__ = ()
    name = "cummax"
    measure = (4, 2)
    fold = Max
    computes = False
    moves_elements = True


class Cummin(Cumulative):
    """The smallest of the elements so far along an axis; NaN from the first NaN on."""

    __slots__ = ()
    name = "cummin"
    measure = (4, 2)
    fold = Min
    computes = False
    moves_elements = True


def _along(cls: type[Cumulative], x: Any, axis: Any) -> Any:
    """Apply an op along an axis; for None, to the raveled array."""
    operand = as_operand(x)
    if axis is None or is_axis_of_scalar(axis, rank_of(operand)):
        if is_pattern(operand):
            raise no_rank(f"{cls.name} without an axis", "Name the axis: axis=-1 is the last.")
        operand, axis = ravel(operand), -1
    return cls(normalise_axis(axis, rank_of(operand), cls.name))(operand)


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
    return in_dtype(_along(Cumsum, in_dtype(a, dtype), axis), dtype)


@documented(like=cumsum)
def cumprod(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None) -> Any:
    """Multiply the elements so far along an axis, as ``numpy.cumprod``."""
    return in_dtype(_along(Cumprod, in_dtype(a, dtype), axis), dtype)


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


def iota(count: Any, dtype: str = "int64") -> Variable:
    """Return 0, 1, ..., count - 1 for an int, or for an integer that is known at the call."""
    if isinstance(count, int):
        return constant(np.arange(count, dtype=dtype))
    ones = broadcast_to(constant(1, "int64"), (count,))
    return cast(Cumsum(-1)(ones) - 1, dtype)  # type: ignore[no-any-return]
