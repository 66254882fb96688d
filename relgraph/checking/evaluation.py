"""The values of graphs by NumPy, and comparisons of two values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable

Array = Any


def evaluate(graphs: tuple[Variable, ...], values: dict[str, Array]) -> dict[Variable, Array]:
    """Return the value of every node, op by op with NumPy."""
    done: dict[Variable, Array] = {}
    with np.errstate(all="ignore"):
        for x in toposort(list(graphs)):
            if isinstance(x, Constant):
                done[x] = x.value
            elif x.op is None:
                done[x] = values[x.name]  # type: ignore[attr-defined]
            else:
                done[x] = _stored(x.op.perform(*[done[y] for y in x.inputs]))
    return done


def _stored(value: Any) -> Array:
    """Return a value as an array; several results as an array of arrays."""
    if not isinstance(value, tuple):
        return np.asarray(value)
    several = np.empty(len(value), dtype=object)
    several[:] = value
    return several


def same(a: Array, b: Array) -> bool:
    """Compare bit for bit, any NaN for any NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    nan = np.isnan(a)
    if not (nan == np.isnan(b)).all():
        return False
    return bool((((a == b) & (np.signbit(a) == np.signbit(b))) | nan).all())


def close(a: Array, b: Array, done: dict[Variable, Array], eps: float) -> bool:
    """Compare within 256 ``eps`` of the largest intermediate; NaN is NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    if not (np.isnan(a) == np.isnan(b)).all():
        return False
    both_finite = np.isfinite(a) & np.isfinite(b)
    if not (both_finite | np.isnan(a) | (a == b)).all():
        return False
    scale = max([1.0, *[_top(v) for v in done.values()]])
    with np.errstate(all="ignore"):
        return bool((np.abs(a - b)[both_finite] <= 256 * eps * scale).all())


def _top(v: Array) -> float:
    v = np.asarray(v)
    if v.dtype.kind == "O":  # several results: each is compared at its getitem
        return 0.0
    v = v[np.isfinite(v)] if v.dtype.kind == "f" else v.astype(float)
    return float(np.abs(v).max()) if v.size else 0.0


def all_finite(done: dict[Variable, Array]) -> bool:
    """Return True if every input and intermediate is finite.

    Constants are part of the identity and may be infinite: max(x, -inf) = x is judged.
    """
    return finite(v for x, v in done.items() if not isinstance(x, Constant))


def finite(arrays: Iterable[Array]) -> bool:
    """Return True if all floats in arrays are finite."""
    floats = (v for v in map(np.asarray, arrays) if v.dtype.kind == "f")
    return all(np.isfinite(v).all() for v in floats)
