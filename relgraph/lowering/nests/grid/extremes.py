"""The indices of extremes: ``argmax`` and ``argmin``.

Each thread keeps the best of the elements that it reads.  Those that share a result find the best
value of all, and then the least index at which one of them has it.  A NaN is better than any
number, and among equal elements the first one is best, so the result does not depend on the order.
"""

from __future__ import annotations

import math

import numpy as np

from relgraph.lowering.loops.builder import ZERO, Builder
from relgraph.lowering.loops.nodes import Const, Function, Scalar, const
from relgraph.lowering.nests.folds import cast
from relgraph.lowering.nests.grid.moves import array, integers
from relgraph.lowering.nests.grid.nest import GridBuilder
from relgraph.ops.elementwise import maximum, minimum
from relgraph.ops.elementwise.instances import greater, less

NONE = const(-1, "int64")
FAR = const(np.iinfo("int64").max, "int64")


def carrier(dtype: str) -> str:
    """Return the dtype in which threads exchange values: small dtypes use 32 bits."""
    kind = np.dtype(dtype)
    if kind.kind == "f" or dtype in ("int32", "int64", "uint64"):
        return dtype
    return "int64" if dtype == "uint32" else "int32"


def extreme(dtype: str, largest: bool, joins: bool) -> Function:
    """Return the kernel that searches all elements for extremes, or candidates with ``joins``.

    Its integers are the number of results, of elements of each, of parts, of elements in a part, of
    elements along the axis and after it.  Its arrays are the operand; the indices of the
    candidates, which an earlier search found; and the indices to write, part by part.
    """
    b, kind = GridBuilder(), carrier(dtype)
    k, m, parts, part, size, inner = integers("k", "m", "parts", "part", "size", "inner")
    x, found, o = array("x", dtype, size), array("found", "int64", m), array("o", "int64", k)
    with b.loop(ZERO, b.mul(k, parts), level="rows", name="row") as row:
        number = b.op("div", row.index, k, dtype="int64")
        r = b.sub(row.index, b.mul(number, k))
        low = b.mul(number, part)
        high = b.least(b.add(low, part), m)
        outer = b.op("div", r, inner, dtype="int64")
        base = b.add(b.mul(b.mul(outer, size), inner), b.sub(r, b.mul(outer, inner)))
        starts: list[Scalar] = [_worst(kind, largest), NONE]
        with b.loop(low, high, starts, level="group", name="j") as loop:
            value, place = loop.vars
            at = loop.index if not joins else b.load(found, [b.add(b.mul(loop.index, k), r)])
            other = cast(b, b.load(x, [b.add(base, b.mul(at, inner))]), kind)
            first = b.op("less", place, ZERO, dtype="bool")
            better = b.op("or", first, _better(b, other, value, largest), dtype="bool")
            loop.next = [
                b.op("select", better, other, value, dtype=kind),
                b.op("select", better, at, place, dtype="int64"),
            ]
        b.store(o, [row.index], _first(b, loop.vars[0], loop.vars[1], largest))
    return Function("NAME", (k, m, parts, part, size, inner), (x, found, o), b.body)


def _first(b: Builder, value: Scalar, place: Scalar, largest: bool) -> Scalar:
    """Return the least place of the best value that a thread of a group has."""
    best = b.join(value, maximum if largest else minimum)
    same = b.op("equal", value, best, dtype="bool")
    if value.dtype[0] == "f":
        same = b.op("or", same, _is_nan(b, value), dtype="bool")
    some = b.op("not", b.op("less", place, ZERO, dtype="bool"), dtype="bool")
    mine = b.op("and", some, same, dtype="bool")
    return b.join(b.op("select", mine, place, FAR, dtype="int64"), minimum)


def _worst(dtype: str, largest: bool) -> Const:
    if dtype[0] == "f":
        return const(-math.inf if largest else math.inf, dtype)
    info = np.iinfo(dtype)
    return const(info.min if largest else info.max, dtype)


def _is_nan(b: Builder, x: Scalar) -> Scalar:
    return b.op("not", b.op("equal", x, x, dtype="bool"), dtype="bool")


def _better(b: Builder, other: Scalar, value: Scalar, largest: bool) -> Scalar:
    better = b.op(greater if largest else less, other, value, dtype="bool")
    if other.dtype[0] != "f":
        return better
    better = b.op("or", better, _is_nan(b, other), dtype="bool")
    return b.op("and", better, b.op("equal", value, value, dtype="bool"), dtype="bool")


__all__ = ["carrier", "extreme"]
