"""Interval rules of elementwise ops: between which numbers the computed result lies.

Rounding to nearest is monotone, so the ends of a sum, difference, product or quotient, rounded to
the dtype of the result, bound what is computed.  Other functions are widened by a few units in the
last place, so that the rules hold for every backend.  Integers wrap around, so their interval says
something only if all of it is in the range of the dtype, and its ends are exact as floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from relgraph.ir.facts import BIT, NOTHING, Facts, within
from relgraph.ir.intervals import EXACT, Interval, of_dtype
from relgraph.ir.node import Constant, Variable

Bounds = tuple[Interval, ...]

_SIGNS = BIT["nonnegative"] | BIT["nonpositive"]
_WIDE = 16  # by how many units in the last place the ends of a function are moved


def of_result(operands: tuple[Facts, ...], node: Variable, rule: Any) -> Facts:
    """Return the interval of a result of numbers, from those of the operands, and its signs.

    The rules get intervals that contain a number: nothing follows from an operand of NaN only, or
    without elements, which has every sign.
    """
    if node.dtype.kind not in "fiu":
        return NOTHING
    for x, facts in zip(node.inputs, operands, strict=True):
        known = facts.interval is not None or facts.true & _SIGNS
        if known and (x.__class__ is not Constant or rule in _LIMITS):
            break
    else:
        return NOTHING
    bounds = tuple([x.bounds() for x in operands])
    if any([x.empty() for x in bounds]):
        return NOTHING
    integers = node.dtype.kind != "f"
    if integers:
        bounds = tuple(
            [x.meet(of_dtype(v.dtype)) for x, v in zip(bounds, node.inputs, strict=True)]
        )
    with np.errstate(all="ignore"):
        result = rule(bounds, node)
    if result is None or math.isnan(result.low) or math.isnan(result.high):
        return NOTHING
    if integers and not result.within(EXACT.meet(of_dtype(node.dtype))):
        return NOTHING
    return within(result)


def _rounded(node: Variable, number: float) -> float:
    return float(node.dtype.type(number)) if node.dtype.kind == "f" else number


def _sum(x: float, y: float, open_: bool, node: Variable) -> tuple[float, bool]:
    """Return an end of a sum, and whether it is open: no sum is zero unless its terms cancel."""
    total = _rounded(node, x + y) if not math.isinf(x) and not math.isinf(y) else x + y
    return total, open_ and total == 0


def add(operands: Bounds, node: Variable) -> Interval | None:
    """Add the ends."""
    x, y = operands
    if math.isnan(x.low + y.low) or math.isnan(x.high + y.high):
        return None
    low, low_open = _sum(x.low, y.low, x.low_open or y.low_open, node)
    high, high_open = _sum(x.high, y.high, x.high_open or y.high_open, node)
    return Interval(low, high, low_open, high_open)


def subtract(operands: Bounds, node: Variable) -> Interval | None:
    """Add the negated operand."""
    return add((operands[0], operands[1].mirrored()), node)


def _hull(ends: Iterable[float], node: Variable) -> Interval:
    numbers = [0.0 if math.isnan(x) else _rounded(node, x) for x in ends]  # 0 times infinity
    return Interval(min(numbers), max(numbers))


def multiply(operands: Bounds, node: Variable) -> Interval | None:
    """Multiply the ends; a positive number stays positive where the other factor is at least 1."""
    x, y = operands
    ends = [a * b for a, b in product((x.low, x.high), (y.low, y.high))]
    if node.inputs[0] is node.inputs[1]:
        return square((x,), node)
    result = _hull(ends, node)
    for one, other in ((x, y), (y, x)):
        if other.low >= 1 and one.low == 0 and one.low_open:
            return result._replace(low_open=result.low == 0)
    return result


def square(operands: Bounds, node: Variable) -> Interval | None:
    """Square the ends; 0 is between ends of two signs."""
    (x,) = operands
    ends = [x.low * x.low, x.high * x.high]
    return _hull([*ends, 0.0] if x.low < 0 < x.high else ends, node)


def true_divide(operands: Bounds, node: Variable) -> Interval | None:
    """Divide the ends, by a divisor that is never zero."""
    x, y = operands
    if y.high <= 0:
        x, y = x.mirrored(), y.mirrored()
    if not (y.low > 0 or (y.low == 0 and y.low_open)):
        return None
    ends: list[float] = []
    for a, b in product((x.low, x.high), (y.low, y.high)):
        if b == 0:
            ends.append(math.copysign(math.inf, a) if a else 0.0)
        else:
            ends.append(0.0 if math.isinf(a) and math.isinf(b) else a / b)
    if math.inf in (abs(x.low), abs(x.high)) and math.isinf(y.high):
        return None  # infinity by infinity is NaN, but what is large by what is large is not
    return _hull(ends, node)


def reciprocal(operands: Bounds, node: Variable) -> Interval | None:
    """Divide 1; a quotient of integers is rounded towards zero."""
    if node.dtype.kind != "f":
        return None
    return true_divide((Interval(1.0, 1.0), operands[0]), node)


def negative(operands: Bounds, node: Variable) -> Interval | None:
    """Exchange the ends."""
    return operands[0].mirrored()


def absolute(operands: Bounds, node: Variable) -> Interval | None:
    """Fold the interval at 0."""
    (x,) = operands
    if x.low >= 0:
        return x
    turned = x.mirrored()
    if turned.low >= 0:
        return turned
    return x.hull(turned).meet(Interval(0.0, math.inf))


def maximum(operands: Bounds, node: Variable) -> Interval | None:
    """Take the larger ends."""
    x, y = operands
    low, low_open = max((x.low, x.low_open), (y.low, y.low_open))
    return Interval(low, x.hull(y).high, low_open, x.hull(y).high_open)


def minimum(operands: Bounds, node: Variable) -> Interval | None:
    """Take the smaller ends."""
    x, y = (b.mirrored() for b in operands)
    result = maximum((x, y), node)
    return None if result is None else result.mirrored()


def clip(operands: Bounds, node: Variable) -> Interval | None:
    """Bound by the second operand, then by the third."""
    x, low, high = operands
    result = maximum((x, low), node)
    return None if result is None else minimum((result, high), node)


# They bound an operand of which nothing is known.
_LIMITS = (maximum, minimum, clip)


def increasing(operands: Bounds, node: Variable) -> Interval | None:
    """Apply an increasing function to the ends."""
    (x,) = operands
    assert node.op is not None
    return _widened(node.op.perform(np.asarray([x.low, x.high], node.dtype)), node)


def logistic(operands: Bounds, node: Variable) -> Interval | None:
    """Apply the logistic function to the ends, without SciPy, which takes long to import.

    Functions differ in whether they return subnormal numbers or 0.
    """
    (x,) = operands
    low, high = [
        (1.0 if end >= 0 else math.exp(end)) / (1 + math.exp(-abs(end))) for end in (x.low, x.high)
    ]
    tiny = float(np.finfo(node.dtype).tiny)
    ends = [low if low >= tiny else 0.0, max(high, tiny)]
    return _widened(np.asarray(ends, node.dtype), node)


def _widened(results: Any, node: Variable) -> Interval | None:
    """Return the interval between two computed ends, with room for other implementations."""
    ends = results.astype(np.float64)
    spread = _WIDE * float(np.finfo(node.dtype).eps) * np.abs(ends)
    spread = np.where(np.isfinite(ends), spread, 0.0)
    low, high = ends - spread * [1.0, 0.0], ends + spread
    bottom = -math.inf if math.isnan(low[0]) else float(low[0])
    return None if math.isnan(high[1]) else Interval(bottom, float(high[1]))
