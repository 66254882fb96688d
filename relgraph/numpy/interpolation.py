"""Interpolation between points."""

from __future__ import annotations

from typing import Any

from relgraph.errors import DomainError, ShapeError
from relgraph.ir.node import Variable
from relgraph.numpy.operands import typed
from relgraph.numpy.searching import searchsorted
from relgraph.ops import elementwise
from relgraph.ops.concatenate import concatenate
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise import add, cast, multiply, subtract, true_divide
from relgraph.ops.indexing.index import index
from relgraph.ops.shape import size
from relgraph.ops.sorting import argsort

__all__ = ["interp"]


@documented()
def interp(  # noqa: PLR0917 - the parameters of NumPy
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Interpolate linearly between points, as ``numpy.interp``.

    x (Variable or array-like): Where to evaluate.
    xp (Variable or array-like, of one dimension): Where the points are, increasing; not checked.
    fp (Variable or array-like, of the shape of ``xp``): The values at the points.
    left, right (scalar or Variable, optional): The results before the first and after the last
        point; by default the first and the last value.
    period (scalar or Variable, optional): The period of ``x``; with it, ``xp`` may be in any order.
    Returns: float64, of the shape of ``x``.
    ShapeError: For points that are not two vectors of one size, or none.
    DomainError: For a period of 0.
    """
    at, places, values = (cast(typed(v, "interp"), "float64") for v in (x, xp, fp))
    _check_points(places, values)
    if period is not None:
        at, places, values = _periodic(at, places, values, period)
        left = right = None
    last = subtract(size(places), 1)
    point = subtract(searchsorted(places, at, "right"), 1)
    j = elementwise.clip(point, 0, elementwise.maximum(subtract(last, 1), 0))
    left_x, left_y = index(places, j), index(values, j)
    k = elementwise.minimum(add(j, 1), last)
    line = _line(at, (left_x, left_y), (index(places, k), index(values, k)))
    result = elementwise.where(elementwise.equal(at, left_x), left_y, line)
    first_value, last_value = index(values, 0), index(values, -1)
    below = first_value if left is None else cast(typed(left, "interp"), "float64")
    above = last_value if right is None else cast(typed(right, "interp"), "float64")
    unknown = first_value if places.type.shape == (1,) else at  # like NumPy with one point
    for condition, value in (
        (elementwise.equal(at, index(places, -1)), last_value),
        (elementwise.greater(at, index(places, -1)), above),
        (elementwise.less(at, index(places, 0)), below),
        (elementwise.isnan(at), unknown),
    ):
        result = elementwise.where(condition, value, result)
    return result


def _line(x: Any, low: tuple[Any, Any], high: tuple[Any, Any]) -> Any:
    """Return the value at ``x`` on the line through two points."""
    run = subtract(high[0], low[0])
    run = elementwise.where(
        elementwise.equal(run, 0.0), 1.0, run
    )  # 0 at the last point, unused there
    slope = true_divide(subtract(high[1], low[1]), run)
    from_low = add(multiply(slope, subtract(x, low[0])), low[1])
    from_high = add(multiply(slope, subtract(x, high[0])), high[1])
    flat = elementwise.where(elementwise.equal(low[1], high[1]), low[1], from_high)
    other = elementwise.where(elementwise.isnan(from_high), flat, from_high)
    return elementwise.where(elementwise.isnan(from_low), other, from_low)


def _check_points(places: Variable, values: Variable) -> None:
    if places.ndim != 1 or values.ndim != 1 or 0 in (*places.type.shape, *values.type.shape):
        raise ShapeError(
            "interp takes at least one point, with a place and a value",
            {"places": places.type, "values": values.type},
            "Give two vectors of one size.",
        )
    sizes = {n for n in (*places.type.shape, *values.type.shape) if isinstance(n, int)}
    if len(sizes) > 1:
        raise ShapeError(
            "interp: there are not as many places as values",
            {"places": places.type, "values": values.type},
            "Give two vectors of one size.",
        )


def _periodic(x: Any, places: Any, values: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return ``x`` and the points within one period, and a point before and after it."""
    if isinstance(period, int | float) and period == 0:
        raise DomainError("interp: the period is 0", fix="Give another number.")
    length = elementwise.absolute(cast(typed(period, "interp"), "float64"))
    x, places = elementwise.remainder(x, length), elementwise.remainder(places, length)
    order = argsort(places)
    places, values = index(places, order), index(values, order)
    first, last = slice(None, 1), slice(-1, None)
    around = [subtract(index(places, last), length), places, add(index(places, first), length)]
    return x, concatenate(around), concatenate([index(values, last), values, index(values, first)])
