"""Reduction ops: sums, products, extremes, tests, and the stable exponentials of a whole axis.

Axes are stored sorted and counted from the end, and a full reduction stores ``axis=None``, so that
an op means the same at any rank.  Sums and products of bool and of signed integers are int64, of
unsigned ones uint64, as in NumPy; means and exponentials of any integers are float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any as Value  # Any is a reduction here

import numpy as np

from relgraph.errors import ArgumentError, ShapeError
from relgraph.ir.cost import size
from relgraph.ir.facts import NOTHING, Facts, kept, of_elements, proved
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Dim, Shape, TensorType, Type
from relgraph.ops.arguments import AxisOp, is_open, normalise_axes, normalise_axis
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.elementwise.facts import WEAK_SIGNS, holds
from relgraph.ops.elementwise.instances import (
    add,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
)
from relgraph.ops.elementwise.row import TRANSCENDENTAL


def accumulator(operand: np.dtype[Value]) -> np.dtype[Value]:
    """Return the dtype in which NumPy adds and multiplies: 64 bits wide for integers."""
    if operand.kind == "f":
        return operand
    return np.dtype("uint64") if operand.kind == "u" else np.dtype("int64")


def floating(operand: np.dtype[Value]) -> np.dtype[Value]:
    """Return the dtype in which a mean is taken: float64 for integers."""
    return operand if operand.kind == "f" else np.dtype("float64")


def sums_exactly(operand: np.dtype[Value]) -> bool:
    """Return True if no sum that fits in memory wraps around."""
    return operand.kind == "f" or operand.itemsize <= 2


def checked_keepdims(keepdims: Value) -> Value:
    """Return a bool or an open parameter; raise for anything else, which is another argument."""
    if is_open(keepdims) or isinstance(keepdims, bool):
        return keepdims
    if isinstance(keepdims, np.bool_ | int) and keepdims in (0, 1):
        return bool(keepdims)
    raise ArgumentError(
        f"keepdims is True or False, not {keepdims!r}",
        fix="Here it is what follows the axis; give everything else by name, such as dtype=...",
    )


class Reduction(Op):
    """A reduction of some axes; a subclass says how, and of which dtype the result is.

    Parameters
    ----------
    axis : tuple of int or None
        Negative axes, sorted; None for all.
    keepdims : bool
        Whether reduced axes stay, with size 1.
    """

    __slots__ = ()
    parameters = ("axis", "keepdims")
    arity = 1
    overhead = 500
    nonempty = False  # whether a reduction over no elements has no value
    initial = ""  # the value over no elements, printed if the name does not imply it
    weight = 1
    # The op that combines elements one by one.  A reduction without one needs an expansion in
    # lowering/expansion.py, or back ends call its perform.
    combiner: Elementwise | None = None

    @classmethod
    def canonical(cls, axis: Value = None, keepdims: Value = False) -> tuple[Value, ...]:
        """Sort the axes, which must be negative; open parameters pass through."""
        axes = None if axis is None else normalise_axes(axis, None, cls.__name__)
        return axes, checked_keepdims(keepdims)

    def dtype(self, operand: np.dtype[Value]) -> np.dtype[Value]:
        """Return the dtype of the result."""
        return operand

    def infer(self, *types: Value) -> Type:
        """Remove the reduced axes, or keep them with size 1."""
        (x,) = types
        axes = reduced_axes(self.axis, x.ndim, self.name)
        if self.nonempty:
            for axis in axes:
                if x.shape[axis] == 0:
                    raise ShapeError(
                        f"{self.name} over axis {axis - x.ndim}, which has size 0",
                        {"operand": x},
                        "It has no value there; reduce an axis that has elements.",
                    )
        shape: Shape
        if self.keepdims:
            shape = tuple(1 if i in axes else dim for i, dim in enumerate(x.shape))
        else:
            shape = tuple(dim for i, dim in enumerate(x.shape) if i not in axes)
        return TensorType(self.dtype(x.dtype), shape)

    def perform(self, *values: Value) -> Value:
        """Reduce with NumPy."""
        x = np.asarray(values[0])
        dtype = self.dtype(x.dtype)
        return np.asarray(self.compute(x, dtype)).astype(dtype, copy=False)

    compute: Callable[..., Value]  # the reduced array, from an array and the dtype to compute in

    def infix(self, operands: list[str]) -> str | None:
        """Print with the value over no elements, where the name does not tell it."""
        if not self.initial:
            return None
        params = {"axis": self.axis, "keepdims": self.keepdims}
        shown = [
            f"{name}={value!r}" for name, value in params.items() if value not in (None, False)
        ]
        return f"{self.name}({', '.join([*operands, *shown, f'initial={self.initial}'])})"

    def __repr__(self) -> str:
        plain = super().__repr__()
        return f"{plain[:-1]}, initial={self.initial}}}" if self.initial else plain

    def flops(self, types: tuple[Value, ...], result: Value) -> int:
        """Return the weight for each element of the operand."""
        return self.weight * size(types[0])

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Return what :meth:`facts_of_elements` says, with what the shapes prove."""
        return self.facts_of_elements(operands[0], node, self.filled(node))

    def facts_of_elements(self, x: Facts, node: Variable, filled: bool) -> Facts:
        """Return what a reduction of elements with the facts ``x`` satisfies.

        ``filled`` says that there is at least one element.  Cumulative ops read this, too.
        """
        return NOTHING

    def filled(self, node: Variable) -> bool:
        """Return True if each result provably reduces at least one element."""
        (x,) = node.inputs
        axes = reduced_axes(self.axis, x.ndim, self.name)
        return not any(may_be_empty(x.type.shape[axis]) for axis in axes)


def accumulates(op: Op | None) -> bool:
    """Return True if an op joins one element after the other to a total, as a loop can."""
    return isinstance(op, Reduction) and op.combiner is not None


def may_be_empty(dim: Dim) -> bool:
    """Return True if a size is not known to be 1 or more."""
    return not isinstance(dim, int) or dim == 0


def reduced_axes(axis: Value, ndim: int, name: str) -> tuple[int, ...]:
    """Return the reduced axes of an operand of that rank, counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(normalise_axis(a, ndim, name) + ndim for a in axes)


class Sum(Reduction):
    """The sum over axes."""

    __slots__ = ()
    name = "sum"
    total = True
    measure = (4, 2)
    linear = True
    combiner = add

    def dtype(self, operand: np.dtype[Value]) -> np.dtype[Value]:
        """Return NumPy's accumulator."""
        return accumulator(operand)

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Sum with NumPy's pairwise summation."""
        return np.sum(x, axis=self.axis, keepdims=self.keepdims, dtype=dtype)

    def facts_of_elements(self, x: Facts, node: Variable, filled: bool) -> Facts:
        """Signs are kept where nothing wraps; an empty sum is 0."""
        if not sums_exactly(node.inputs[0].dtype):
            return NOTHING
        facts = kept(x, *WEAK_SIGNS, "integer")
        if filled:
            facts |= kept(x, "positive", "negative")
        # Partial sums that overflow to both infinities cancel to NaN.
        one_sign = any(holds(x, name) for name in WEAK_SIGNS)
        return facts | (kept(x, "not_nan") if one_sign else NOTHING)


class Prod(Reduction):
    """The product over axes."""

    __slots__ = ()
    name = "prod"
    total = True
    measure = (5, 2)
    combiner = multiply

    def dtype(self, operand: np.dtype[Value]) -> np.dtype[Value]:
        """Return NumPy's accumulator."""
        return accumulator(operand)

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Multiply with NumPy."""
        return np.prod(x, axis=self.axis, keepdims=self.keepdims, dtype=dtype)

    def facts_of_elements(self, x: Facts, node: Variable, filled: bool) -> Facts:
        """Floats keep signs weakly, integers not at all; partial products may be 0 and inf."""
        if node.dtype.kind != "f":
            return NOTHING
        facts = kept(x, "nonnegative", "integer")
        if holds(x, "integer", "nonzero"):
            facts |= kept(x, "nonzero", "positive", "not_nan")
        return facts


class Max(Reduction):
    """The largest element over axes; NaN where there is one."""

    __slots__ = ()
    name = "max"
    measure = (4, 2)
    nonempty = True
    combiner = maximum
    moves_elements = True

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Take the maximum with NumPy."""
        return np.max(x, axis=self.axis, keepdims=self.keepdims)

    def facts_of_elements(self, x: Facts, node: Variable, filled: bool) -> Facts:
        """One of the elements."""
        return of_elements(x)


class Top(Max):
    """The largest element over axes; over no elements -inf, or the lowest integer."""

    __slots__ = ()
    nonempty = False
    initial = "-inf"

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Take the maximum with NumPy."""
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        return np.max(x, axis=self.axis, keepdims=self.keepdims, initial=lowest)

    def facts_of_elements(self, x: Facts, node: Variable, filled: bool) -> Facts:
        """One of the elements, or -inf."""
        return of_elements(x) if filled else kept(x, "not_nan")


class Min(Reduction):
    """The smallest element over axes; NaN where there is one."""

    __slots__ = ()
    name = "min"
    measure = (4, 2)
    nonempty = True
    combiner = minimum
    moves_elements = True

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Take the minimum with NumPy."""
        return np.min(x, axis=self.axis, keepdims=self.keepdims)

    def facts_of_elements(self, x: Facts, node: Variable, filled: bool) -> Facts:
        """One of the elements."""
        return of_elements(x)


class Bottom(Min):
    """The smallest element over axes; inf over no elements."""

    __slots__ = ()
    nonempty = False
    initial = "inf"

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Take the minimum with NumPy."""
        return np.min(x, axis=self.axis, keepdims=self.keepdims, initial=np.inf)

    def facts_of_elements(self, x: Facts, node: Variable, filled: bool) -> Facts:
        """One of the elements, or inf."""
        return of_elements(x) if filled else kept(x, "not_nan")


class Mean(Reduction):
    """The mean over axes; NaN over no elements."""

    __slots__ = ()
    name = "mean"
    total = True
    measure = (4, 2)
    linear = True
    combiner = add

    def dtype(self, operand: np.dtype[Value]) -> np.dtype[Value]:
        """Return float64 for integers."""
        return floating(operand)

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Sum and divide by the number of elements, as NumPy does."""
        total = np.sum(x, axis=self.axis, keepdims=self.keepdims, dtype=dtype)
        count = math.prod(x.shape[i] for i in reduced_axes(self.axis, x.ndim, self.name))
        with np.errstate(invalid="ignore"):  # 0 / 0 over no elements
            return np.true_divide(total, dtype.type(count))

    def facts_of_elements(self, x: Facts, node: Variable, filled: bool) -> Facts:
        """Signs are kept weakly: dividing by the count may underflow."""
        facts = kept(x, *WEAK_SIGNS)
        if filled:
            if any(holds(x, name) for name in WEAK_SIGNS):
                facts |= kept(x, "not_nan")
            if node.inputs[0].dtype.kind != "f":
                facts |= proved("finite")
        return facts


class Any(Reduction):
    """Whether some element over axes is not zero."""

    __slots__ = ()
    name = "any"
    total = True
    measure = (4, 2)
    computes = False
    combiner = logical_or
    decides = "truth"

    def dtype(self, operand: np.dtype[Value]) -> np.dtype[Value]:
        """Return bool."""
        return np.dtype(bool)

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Test with NumPy."""
        return np.any(x, axis=self.axis, keepdims=self.keepdims)


class All(Reduction):
    """Whether every element over axes is not zero."""

    __slots__ = ()
    name = "all"
    total = True
    measure = (4, 2)
    computes = False
    combiner = logical_and
    decides = "truth"

    def dtype(self, operand: np.dtype[Value]) -> np.dtype[Value]:
        """Return bool."""
        return np.dtype(bool)

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Test with NumPy."""
        return np.all(x, axis=self.axis, keepdims=self.keepdims)


class LogSumExp(Reduction):
    """``log(sum(exp(x)))`` without overflow; ``-inf`` over no elements."""

    __slots__ = ()
    name = "logsumexp"
    total = True
    measure = (4, 2)
    weight = TRANSCENDENTAL
    returns_new_array = True

    def dtype(self, operand: np.dtype[Value]) -> np.dtype[Value]:
        """Return float64 for integers."""
        return floating(operand)

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Shift by the largest element, so that no exponential overflows."""
        x = x.astype(dtype, copy=False)
        top = np.max(x, axis=self.axis, keepdims=True, initial=-np.inf)
        shift = np.where(np.isfinite(top), top, dtype.type(0))
        with np.errstate(divide="ignore", over="ignore"):  # log(0) of a row of -inf; exp(inf)
            total = np.sum(np.exp(x - shift), axis=self.axis, keepdims=True)
            result = np.log(total) + shift
        if self.keepdims:
            return result
        return result.squeeze(reduced_axes(self.axis, x.ndim, self.name))

    def facts_of_elements(self, x: Facts, node: Variable, filled: bool) -> Facts:
        """At least the largest element, where there is one."""
        names = ("positive", "nonnegative", "finite") if filled else ()
        return kept(x, "not_nan", *names)


class _ArgReduction(Reduction):
    """The index of an extreme along one axis, or in the raveled array."""

    __slots__ = ()
    nonempty = True
    computes = False
    returns_indices = True
    moves_elements = True
    returns_new_array = True
    decides = "ties"

    @classmethod
    def canonical(cls, axis: Value = None, keepdims: Value = False) -> tuple[Value, ...]:
        """Store one negative axis, or None; open parameters pass through."""
        axis = None if axis is None else normalise_axis(axis, None, cls.__name__)
        return axis, checked_keepdims(keepdims)

    def dtype(self, operand: np.dtype[Value]) -> np.dtype[Value]:
        """Return int64."""
        return np.dtype("int64")

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """An index is not negative."""
        return proved("nonnegative")


class Argmax(_ArgReduction):
    """The index of the first largest element, or of the first NaN."""

    __slots__ = ()
    name = "argmax"

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Search with NumPy."""
        return np.argmax(x, axis=self.axis, keepdims=self.keepdims)


class Argmin(_ArgReduction):
    """The index of the first smallest element, or of the first NaN."""

    __slots__ = ()
    name = "argmin"

    def compute(self, x: Value, dtype: np.dtype[Value]) -> Value:
        """Search with NumPy."""
        return np.argmin(x, axis=self.axis, keepdims=self.keepdims)


class _AlongAxis(AxisOp):
    """A function of a whole axis that keeps the shape."""

    __slots__ = ()
    arity = 1
    returns_new_array = True

    def infer(self, *types: Value) -> Type:
        """Keep the shape; integers give float64."""
        (x,) = types
        normalise_axis(self.axis, x.ndim, self.name)
        return TensorType(floating(x.dtype), x.shape)

    def perform(self, *values: Value) -> Value:
        """Compute with NumPy, shifted by the largest element."""
        x = np.asarray(values[0])
        return np.asarray(self.compute(x.astype(floating(x.dtype), copy=False)))

    compute: Callable[..., Value]  # the result, from a float array

    def flops(self, types: tuple[Value, ...], result: Value) -> int:
        """Return the weight of an exponential for each element, and a few passes."""
        return (TRANSCENDENTAL + 3) * size(result)


class Softmax(_AlongAxis):
    """``exp(x) / sum(exp(x))`` along an axis, without overflow."""

    __slots__ = ()
    name = "softmax"

    def compute(self, x: Value) -> Value:
        """Shift by the largest element; +inf gives NaN and 0 beside it, as the quotient does."""
        with np.errstate(invalid="ignore", over="ignore"):
            top = np.max(x, axis=self.axis, keepdims=True, initial=-np.inf)
            e = np.exp(x - top)
            total = np.sum(e, axis=self.axis, keepdims=True)
            return e / np.where(top == np.inf, top, total)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Weights; NaN only where an operand is infinite or NaN."""
        finite = holds(operands[0], "finite")
        return proved("nonnegative", *(("finite",) if finite else ()))


class LogSoftmax(_AlongAxis):
    """``x - logsumexp(x)`` along an axis, without overflow."""

    __slots__ = ()
    name = "log_softmax"

    def compute(self, x: Value) -> Value:
        """Shift by the largest element where it is finite, as SciPy does."""
        top = np.max(x, axis=self.axis, keepdims=True, initial=-np.inf)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            shifted = x - np.where(np.isfinite(top), top, x.dtype.type(0))
            return shifted - np.log(np.sum(np.exp(shifted), axis=self.axis, keepdims=True))

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Logarithms of weights; a wide spread of finite numbers overflows to -inf."""
        finite = holds(operands[0], "finite")
        return proved("nonpositive", *(("not_nan",) if finite else ()))
