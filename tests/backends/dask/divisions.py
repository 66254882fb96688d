"""Random divisions of arrays into blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

da: Any = pytest.importorskip("dask.array")


def chunks(rng: np.random.Generator, size: int) -> tuple[int, ...]:
    """Return sizes of blocks along an axis: one block, blocks of 1, or random ones, also empty."""
    kind = rng.integers(4)
    if kind == 0 or size == 0:
        return (size,)
    if kind == 1:
        return (1,) * size
    result: list[int] = []
    while sum(result) < size:
        result.append(int(rng.integers(0 if kind == 3 else 1, size - sum(result) + 1)))
    return tuple(result)


def divided(rng: np.random.Generator, array: Any) -> Any:
    """Return an array as a Dask array in random blocks, and a scalar as it is."""
    array = np.asarray(array)
    if not array.ndim:
        return array
    return da.from_array(array, chunks=tuple([chunks(rng, n) for n in array.shape]))
