"""Binary search in sorted arrays, bins and histograms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, DomainError, DTypeError, ShapeError
from relgraph.ir.node import Constant, Variable
from relgraph.numpy import reductions
from relgraph.numpy.creation import full, linspace, spaced_at
from relgraph.numpy.finite_differences import diff
from relgraph.numpy.operands import common_dtype, together, typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import check_int
from relgraph.ops.checks import assert_
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise import cast, subtract
from relgraph.ops.indexing.index import index, take
from relgraph.ops.indexing.update import at
from relgraph.ops.shape import broadcast_to, expand_dims, ravel, shape, size

Edge = Callable[[Variable], Variable]

__all__ = ["bincount", "digitize", "histogram", "searchsorted"]

_FEW = 8  # elements of the largest array in which each element is compared


@documented()
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Return where to insert values to keep an array sorted, as ``numpy.searchsorted``.

    a (Variable or array-like, of one dimension): Sorted, with NaN last; not checked.
    v (Variable or array-like): The values.
    side ({"left", "right"}): Whether the place is before or after elements equal to the value.
    sorter (integer array, optional): Indices that sort ``a``.
    Returns: int64, of the shape of ``v``.
    DomainError: For another ``side``.
    ShapeError: For an array of other than one dimension.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> edges, x = rg.vector("edges", 3), rg.vector("x", "n")
    >>> rg.function([edges, x], np.searchsorted(edges, x))([0.0, 1.0, 2.0], [0.5, 1.0])
    array([1, 1])
    """
    _check_side(side)
    values, keys = together("searchsorted", a, v, rule="less")
    if values.ndim != 1:
        raise ShapeError(
            "searchsorted takes a sorted array of one dimension",
            {"array": values.type},
            "Ravel it, or search in each row.",
        )
    values = values if sorter is None else take(values, sorter)
    count = values.type.shape[0]
    if isinstance(count, int) and count > _FEW:
        return _halved(values, keys, count, side)
    before = _before(values, expand_dims(keys, -1), side)
    return reductions.sum(before, axis=-1, dtype="int64")


def _check_side(side: str) -> None:
    if side not in ("left", "right"):
        raise DomainError(
            f"searchsorted takes side 'left' or 'right', not {side!r}",
            fix="Use 'right' for places after equal elements.",
        )


def _before(element: Any, key: Any, side: str) -> Any:
    """Return whether an element comes before the place of a key; NaN is larger than numbers."""
    number = (
        elementwise.less(element, key) if side == "left" else elementwise.less_equal(element, key)
    )
    if key.dtype.kind != "f":
        return number
    last = elementwise.isnan(key)
    if side == "left":
        last = elementwise.logical_and(last, elementwise.logical_not(elementwise.isnan(element)))
    return elementwise.logical_or(number, last)


def _halved(values: Variable, keys: Variable, count: int, side: str) -> Any:
    """Find places by binary search: each step adds one bit of the place."""
    place = full(shape(keys), 0, "int64")
    for bit in reversed(range(count.bit_length())):
        probe = elementwise.add(place, 1 << bit)
        element = index(values, elementwise.minimum(probe, count) - 1)
        inside = elementwise.less_equal(probe, count)
        moves = elementwise.logical_and(inside, _before(element, keys, side))
        place = elementwise.where(moves, probe, place)
    return place


@documented()
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return the bin of each element, as ``numpy.digitize``.

    bins (Variable or array-like, of one dimension): Edges that increase or decrease; where they
        are not constant, that is not checked.
    right (bool): Whether a bin has its right edge, instead of its left one.
    Returns: int64, of the shape of ``x``; 0 before the first edge.
    DomainError: For constant edges that neither increase nor decrease.
    """
    edges, values = together("digitize", bins, x, rule="less")
    _check_edges(edges, "digitize", down=True)
    side = "left" if right else "right"
    up = searchsorted(edges, values, side)
    if isinstance(edges, Constant):
        falls = edges.value.size > 1 and edges.value[0] > edges.value[-1]
        return _falling(edges, values, side) if falls else up
    pairs = index(edges, slice(None, -1)), index(edges, slice(1, None))
    falls = reductions.any(elementwise.greater(*pairs))
    return elementwise.where(falls, _falling(edges, values, side), up)


def _falling(edges: Variable, values: Variable, side: str) -> Any:
    rising = index(edges, slice(None, None, -1))
    return subtract(size(edges), searchsorted(rising, values, side))


def _check_edges(edges: Variable, function: str, *, down: bool = False) -> None:
    """Raise an error for edges that are not a vector, or constant edges that are not in order."""
    if edges.ndim != 1:
        raise ShapeError(
            f"{function} takes edges of one dimension",
            {"edges": edges.type},
            "Give one number for each edge.",
        )
    if isinstance(edges, Constant):
        steps = np.diff(edges.value.astype("float64"))
        if not (np.all(steps >= 0) or (down and np.all(steps <= 0))):
            raise DomainError(
                f"{function}: the edges are not in order",
                {"edges": edges},
                "Sort them.",
            )


@documented()
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Count how often each number occurs, as ``numpy.bincount``.

    x (integer Variable or array-like, of one dimension): Numbers from 0.
    weights (Variable or array-like, optional): What each element counts, instead of 1.
    minlength (int): The smallest size of the result.
    Returns: int64, or float64 with weights; its size, one more than the largest number, is known at
        the call only.  To have a static size, write ``rg.zeros(n, "int64").at[x].add(1)``.
    DTypeError: For numbers that are not integers.
    ShapeError: For an array of other than one dimension, or weights of another shape.
    DomainError: At a call, for a negative number.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x = rg.vector("x", "n", dtype="int64")
    >>> rg.function([x], np.bincount(x))([0, 2, 2])
    array([1, 0, 2])
    """
    places = typed(x, "bincount")
    least = check_int(minlength, "bincount: minlength")
    if least < 0:
        raise DomainError("bincount: minlength is negative", fix="Use 0 or more.")
    if places.ndim != 1:
        raise ShapeError(
            "bincount takes an array of one dimension", {"array": places.type}, "Ravel it."
        )
    if places.dtype.kind not in "biu":
        raise DTypeError(
            f"bincount takes integers, not {places.dtype}",
            fix="Convert them with .astype('int64').",
        )
    if places.dtype.kind == "b":
        places = cast(places, "int64")  # as indices, Booleans are a mask
    if places.type.shape == (0,):
        weights = None  # of no elements, NumPy returns integers
    largest = cast(reductions.max(places, initial=0), "int64")
    some = cast(elementwise.greater(size(places), 0), "int64")
    length = elementwise.maximum(elementwise.add(largest, some), least)
    if places.dtype.kind != "u":
        length = assert_(
            length,
            elementwise.greater_equal(reductions.min(places, initial=0), 0),
            "bincount takes numbers from 0, and one is negative",
            "Subtract the smallest first.",
        )
    return _counted(places, weights, length, "bincount")


def _counted(places: Variable, weights: Any, length: Any, function: str) -> Any:
    """Return how often each place occurs, or the sums of the weights there."""
    if weights is None:
        return at(full((length,), 0, "int64"))[places].add(1)
    w = cast(typed(weights, function), "float64")
    if w.ndim != 1:
        raise ShapeError(
            f"{function} takes one weight for each element",
            {"weights": w.type, "elements": places.type},
            "Give the weights the shape of the array.",
        )
    return at(full((length,), 0.0, "float64"))[places].add(broadcast_to(w, shape(places)))


@documented()
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    """Count elements in intervals, as ``numpy.histogram``.

    a (Variable or array-like): Its elements, raveled.
    bins (int, or array-like of one dimension): The number of intervals of equal width, or all
        edges; the last interval has its right edge too.
    range (pair of scalars, optional): The first and last edge; by default the smallest and largest
        element.
    density (bool): Whether to divide by the total and the widths.
    weights (Variable or array-like, optional): Of the shape of ``a``: what each element counts.
    Returns (tuple of Variable): The counts, int64 or of the dtype of the weights, and the edges.
        If the smallest or largest element is not finite the edges are NaN, where NumPy raises.
    ArgumentError: For the name of a rule for bins, such as "auto".
    DomainError: For fewer than one interval, or edges that are not in order.
    ShapeError: For weights of another shape.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x = rg.vector("x", "n")
    >>> rg.function([x], np.histogram(x, 2, range=(0, 2))[0])([0.5, 1.0, 2.0, 3.0])
    array([1, 2])
    """
    x = ravel(typed(a, "histogram"))
    x = cast(x, "uint8") if x.dtype.kind == "b" else x
    edges, edge = _edges(x, bins, range)
    count = edges.type.shape[0]
    if not isinstance(count, int):
        raise ShapeError(
            "histogram needs to know how many edges there are",
            {"edges": edges.type},
            "Declare the size of the array of edges.",
        )
    first, last = index(edges, 0), index(edges, -1)
    inside = elementwise.logical_and(
        elementwise.greater_equal(x, first), elementwise.less_equal(x, last)
    )
    if edge is None:
        place = elementwise.minimum(subtract(searchsorted(edges, x, "right"), 1), count - 2)
    else:
        place = _place(elementwise.where(inside, x, first), first, last, edge, count - 1)
    place = elementwise.where(inside, place, count - 1)  # an additional bin for the others
    w = None if weights is None else ravel(_of_shape(weights, a))
    counts = index(_counted(place, w, count, "histogram"), slice(None, -1))
    counts = counts if w is None else cast(counts, w.dtype)
    if density:
        shares = elementwise.true_divide(counts, cast(diff(edges), "float64"))
        return elementwise.true_divide(shares, reductions.sum(counts)), edges
    return counts, edges


def _place(x: Variable, first: Variable, last: Variable, edge: Edge, count: int) -> Variable:
    """Return the interval of each element, of equal width, as NumPy finds it.

    Rounding may put an element that is close to an edge on the wrong side of it.  So it is compared
    with the edges, which are computed again: that is faster than to read them from an array.
    """
    share = elementwise.true_divide(subtract(x, first), subtract(last, first))
    place = cast(elementwise.multiply(share, float(count)), "int64")
    place = elementwise.maximum(elementwise.minimum(place, count - 1), 0)
    place = subtract(place, cast(elementwise.less(x, edge(place)), "int64"))
    place = elementwise.maximum(place, 0)  # no element is below the first edge
    after = elementwise.greater_equal(x, edge(elementwise.add(place, 1)))
    beyond = elementwise.logical_and(after, elementwise.less(place, count - 1))
    found: Variable = elementwise.add(place, cast(beyond, "int64"))
    return found


def _of_shape(weights: Any, a: Any) -> Variable:
    w, x = typed(weights, "histogram"), typed(a, "histogram")
    if w.type.shape != x.type.shape:
        raise ShapeError(
            "histogram takes weights of the shape of the array",
            {"weights": w.type, "array": x.type},
            "Give each element a weight.",
        )
    return w


def _edges(x: Variable, bins: Any, limits: Any) -> tuple[Variable, Edge | None]:
    """Return the edges of the intervals of a histogram.

    For intervals of equal width, also return the function that computes those before the last one
    from their numbers.
    """
    if isinstance(bins, str):
        raise ArgumentError(
            f"histogram on graphs does not choose the bins by the rule {bins!r}",
            fix="Give the number of bins, or their edges.",
        )
    edges = typed(bins, "histogram")
    if edges.ndim:
        _check_edges(edges, "histogram")
        return edges, None
    count = check_int(bins, "histogram: bins")
    if count < 1:
        raise DomainError("histogram takes at least one bin", fix="Give a positive number.")
    first, last = _limits(x, limits)
    dtype = np.dtype("float64")
    if x.dtype.kind == "f":
        weak = limits if limits is not None else (first, last)
        dtype = common_dtype(*together("histogram", *weak, x, rule="true_divide"))
    edges, step = linspace(first, last, count + 1, retstep=True, dtype=dtype)

    def edge(number: Variable) -> Variable:
        low, place = cast(first, step.dtype), cast(number, step.dtype)
        point: Variable = cast(spaced_at(place, low, step), dtype)
        return point

    return edges, edge


def _limits(x: Variable, limits: Any) -> tuple[Any, Any]:
    """Return the outer edges: those given, or the extreme elements."""
    if limits is not None:
        first, last = (typed(limit, "histogram") for limit in limits)
        if isinstance(first, Constant) and isinstance(last, Constant) and first.value > last.value:
            raise DomainError(
                "histogram: the range ends before it starts",
                {"range": limits},
                "Give the smaller number first.",
            )
    elif 0 in x.type.shape:
        first, last = typed(0.0, "histogram"), typed(1.0, "histogram")
    else:
        first, last = reductions.min(x), reductions.max(x)
    equal = elementwise.equal(first, last)
    half = elementwise.where(equal, 0.5, 0.0)
    if first.dtype.kind == "f":
        half = cast(half, first.dtype)
    return subtract(first, half), elementwise.add(last, half)
