"""Values for the inputs of a graph, NumPy's results for them, and comparisons of two results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable

Array = Any
MATRIX = {"symmetric", "spd", "psd", "orthogonal", "invertible", "permutation", "selection"}
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0)
ZEROS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0)
EXTREME = (
    1e308, -1e308, 1e300, -1e300, 1e-300, -1e-300, 800.0, -800.0, 40.0, -40.0, 1e-10, 1.0
)  # fmt: skip
LARGE = (800.0, -800.0, 40.0, -40.0, 5.0, -5.0, 1e-10, -1e-10, 1.0)


def _small(rng: np.random.Generator, shape: Any, low: float = -12, high: float = -3) -> Array:
    return 10 ** rng.uniform(low, high, shape) * rng.choice([-1.0, 1.0], shape)


def _clustered(rng: np.random.Generator, shape: Any) -> Array:
    base, spread = _small(rng, (), 2, 7), float(10 ** rng.uniform(-6, -3))
    return base * (1 + spread * rng.uniform(-1, 1, shape))


# Kinds of floats for which steps cancel that another form avoids.
CANCELLING: dict[str, Any] = {
    "tiny": _small,
    "near one": lambda rng, shape: 1 + _small(rng, shape),
    "clustered": _clustered,
    "wide": lambda rng, shape: _small(rng, shape, -6, 6),
}


def shape_of(x: Any, size: int = 3) -> tuple[int, ...]:
    """Return the shape of an input; ``size`` replaces named and unknown sizes."""
    return tuple([d if isinstance(d, int) else size for d in x.type.shape])


def draw(
    x: Any,
    rng: np.random.Generator,
    kind: str = "moderate",
    regular: bool = False,
    size: int = 3,
) -> Array:
    """Return values for an input that have its declared facts.

    Parameters
    ----------
    x : Input
        The input, with its type and facts.
    kind : {"moderate", "special", "zeros", "extreme", "large", *CANCELLING}
        Which floats to draw.
    regular : bool
        Whether matrices must be well conditioned.
    size : int
        The value of named and unknown sizes.
    """
    shape, dtype = shape_of(x, size), x.dtype
    if dtype.kind == "b":
        value = rng.integers(0, 2, shape).astype(bool)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(0 if dtype.kind == "u" else -5, 6, shape)
        ends = rng.choice(np.array([info.min, info.max], dtype), shape)
        rare = (rng.random(shape) < 0.15) & (not (regular or MATRIX & x.facts))
        value = np.where(rare, ends, small.astype(dtype))
    else:
        pool = {"special": SPECIAL, "zeros": ZEROS, "extreme": EXTREME, "large": LARGE}.get(kind)
        if kind in CANCELLING:
            value = CANCELLING[kind](rng, shape)
        elif pool is None:
            value = rng.uniform(-3, 3, shape)
        else:
            value = rng.choice(np.array(pool), shape)
        with np.errstate(over="ignore", under="ignore"):
            value = value.astype(dtype)
    return _obey(x, np.asarray(value, dtype), rng, regular)


def _obey(x: Any, value: Array, rng: np.random.Generator, regular: bool) -> Array:
    facts, dtype_kind = x.facts, value.dtype.kind
    if dtype_kind == "f" and {"not_nan", "finite"} & facts:
        value = np.where(np.isnan(value), 2, value)
    if dtype_kind == "f" and "integer" in facts:
        value = np.rint(value)
    if dtype_kind == "f" and "finite" in facts:
        value = np.where(np.isinf(value), 3, value)
    if {"positive", "nonnegative"} & facts:
        value = (
            np.where(value == np.iinfo(value.dtype).min, 1, np.abs(value))
            if (value.dtype.kind == "i")
            else np.abs(value)
        )
    if {"negative", "nonpositive"} & facts:
        value = np.minimum(value, 0 if dtype_kind in "bu" else -value)
    if {"positive", "nonzero"} & facts:
        value = np.where(value == 0, 1, value)
    if "negative" in facts:
        value = np.where(value == 0, -1, value)
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:
        side = value.shape[-1]
        if {"symmetric", "spd", "psd"} & facts:
            with np.errstate(invalid="ignore", over="ignore"):  # infinities of both signs
                value = value + np.swapaxes(value, -1, -2)
            if dtype_kind == "f" and "finite" in facts:
                value = np.where(np.isinf(value), 3, value)
        if "lower_triangular" in facts:
            value = np.tril(value)
        if "upper_triangular" in facts:
            value = np.triu(value)
        if "diagonal" in facts:
            value = np.where(np.eye(side, dtype=bool), value, np.zeros((), value.dtype))
        if {"spd", "psd"} & facts:
            value = _dominated(value, definite=True)
            if not {"spd", "invertible"} & facts:  # semidefinite only
                value[..., :1, :] = value[..., :, :1] = 0
        elif {"orthogonal", "permutation"} & facts:
            # A permutation: exactly orthogonal in every dtype.
            value = np.broadcast_to(np.eye(side)[rng.permutation(side)], value.shape)
        elif regular or "invertible" in facts:
            value = _dominated(value)
    if "selection" in facts and value.shape[-1]:
        rows = np.arange(value.shape[-1])
        value = rng.integers(value.shape[-1], size=value.shape[:-1])[..., None] == rows
    return np.asarray(value).astype(x.dtype)


def _dominated(value: Array, *, definite: bool = False) -> Array:
    """Return matrices that are invertible because they are diagonally dominant.

    Symmetric ones are then positive definite.  A boolean diagonal cannot dominate, so boolean
    matrices keep only their diagonals.

    Parameters
    ----------
    value : ndarray
        The square matrices.
    definite : bool
        Whether infinities may only be on the diagonal.  A NaN may be anywhere.

    References
    ----------
    R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., theorem 6.1.10.
    """
    unit = np.eye(value.shape[-1], dtype=bool)
    if value.dtype.kind == "b":
        return (value | True) & unit
    rest = np.where(unit, 0, value)
    finite = np.where(np.isfinite(rest), rest, 0)
    if definite:
        rest = np.where(np.isinf(rest), 0, rest)
    with np.errstate(over="ignore"):  # the diagonal may become infinite
        total = np.abs(finite).sum(axis=-1) + 8
        return np.where(unit, np.abs(value) + total[..., None], rest).astype(value.dtype)


def obeys(x: Any, value: Array) -> bool:
    """Return True if a value has the declared facts of an input, apart from matrix facts."""
    if x.facts & set(MATRIX_FACTS):
        return False
    value = np.asarray(value)
    wanted = _obey(x, value, np.random.default_rng(0), False)
    return same(value, wanted, True)


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


def same(a: Array, b: Array, exact: bool) -> bool:
    """Compare bit for bit, any NaN for any NaN; without ``exact``, zeros of either sign agree."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    nan = np.isnan(a)
    if not (nan == np.isnan(b)).all():
        return False
    equal = (a == b) & ((np.signbit(a) == np.signbit(b)) | (not exact))
    return bool((equal | nan).all())


def close(a: Array, b: Array, done: dict[Variable, Array], eps: float) -> bool:
    """Compare within 256 ``eps`` of the largest intermediate; NaN is NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    if not (np.isnan(a) == np.isnan(b)).all():
        return False
    finite = np.isfinite(a) & np.isfinite(b)
    if not (finite | np.isnan(a) | (a == b)).all():
        return False
    scale = max([1.0, *[_top(v) for v in done.values()]])
    with np.errstate(all="ignore"):
        return bool((np.abs(a - b)[finite] <= 256 * eps * scale).all())


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
    computed = [np.asarray(v) for x, v in done.items() if not isinstance(x, Constant)]
    return all(np.isfinite(v).all() for v in computed if v.dtype.kind == "f")
