"""Arrays for the inputs of a graph, which have the facts that the inputs declare."""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any
from zlib import crc32

import numpy as np

from relgraph.checking.evaluation import same
from relgraph.ir.facts import MATRIX_FACTS, proved
from relgraph.ir.intervals import Interval

Array = Any
MATRIX = {
    "symmetric",
    "spd",
    "psd",
    "orthogonal",
    "invertible",
    "permutation",
    "selection",
    "identity",
}
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


def generator(*parts: Any) -> np.random.Generator:
    """Return a generator that is seeded by these parts, the same in every run."""
    return np.random.default_rng(crc32(repr(parts).encode()))


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

    ``kind`` says which floats to draw: "moderate", "special", "zeros", "extreme", "large", or a key
    of ``CANCELLING``.  ``regular`` asks for well conditioned matrices, and ``size`` is the value of
    named and unknown sizes.
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
    return with_facts(x, np.asarray(value, dtype), rng, regular)


def _between(bounds: Interval, value: Array) -> Array:
    """Return values in an interval, those that are there already unchanged."""
    low = bounds.low if math.isfinite(bounds.low) else min(bounds.high, 0.0) - 8
    high = bounds.high if math.isfinite(bounds.high) else max(bounds.low, 0.0) + 8
    inside = (value > bounds.low if bounds.low_open else value >= bounds.low) & (
        value < bounds.high if bounds.high_open else value <= bounds.high
    )
    with np.errstate(invalid="ignore", over="ignore"):
        share = 0.5 + 0.45 * np.tanh(np.nan_to_num(value))
    return np.where(inside | np.isnan(value), value, low + share * (high - low)).astype(value.dtype)


def with_facts(x: Any, value: Array, rng: np.random.Generator, regular: bool = False) -> Array:
    """Return values near these that have the declared facts of an input."""
    if not (x.facts or regular):
        return np.asarray(value).astype(x.dtype, copy=False)
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
    bounds = proved(*facts).interval
    if bounds is not None and dtype_kind == "f":
        value = _between(bounds, value)
    if {"negative", "nonpositive"} & facts:
        value = np.minimum(value, 0 if dtype_kind in "bu" else -value)
    if {"positive", "nonzero"} & facts:
        value = np.where(value == 0, 1, value)
    if "negative" in facts:
        value = np.where(value == 0, -1, value)
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:
        value = _square_with_facts(facts, value, rng, regular)
    if "identity" in facts:
        value = np.broadcast_to(np.eye(*value.shape[-2:]), value.shape)
    if "selection" in facts and value.shape[-1]:
        rows = np.arange(value.shape[-1])
        value = rng.integers(value.shape[-1], size=value.shape[:-1])[..., None] == rows
    return np.asarray(value).astype(x.dtype)


def _square_with_facts(
    facts: Set[str], value: Array, rng: np.random.Generator, regular: bool
) -> Array:
    """Return square matrices near these with the structure that facts declare."""
    side = value.shape[-1]
    if {"symmetric", "spd", "psd"} & facts:
        with np.errstate(invalid="ignore", over="ignore"):  # infinities of both signs
            value = value + np.swapaxes(value, -1, -2)
        if value.dtype.kind == "f" and "finite" in facts:
            value = np.where(np.isinf(value), 3, value)
    if "lower_triangular" in facts:
        value = np.tril(value)
    if "upper_triangular" in facts:
        value = np.triu(value)
    if "tridiagonal" in facts:
        value = np.triu(np.tril(value, 1), -1)
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
    return value


def _dominated(value: Array, *, definite: bool = False) -> Array:
    """Return matrices that are invertible because they are diagonally dominant.

    Symmetric ones are then positive definite.  A boolean diagonal cannot dominate, so boolean
    matrices keep only their diagonals.  With ``definite``, infinities may only be on the diagonal;
    a NaN may be anywhere.

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


def has_facts(x: Any, value: Array) -> bool:
    """Return True if a value has the declared facts of an input, none of which is a matrix fact."""
    if x.facts & set(MATRIX_FACTS):
        return False
    value = np.asarray(value)
    return same(value, with_facts(x, value, np.random.default_rng(0)))
