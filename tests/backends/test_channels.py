"""Channels of an image, and coordinates of points, are read together."""

import numpy as np
import pytest

import relgraph as rg


def grey(x):
    return x[..., 0] * 2 + x[..., 1] * 3 + x[..., 2]


def turned(x):
    return x[..., -1] - x[..., 0]


def of_parts(x):
    return x[1:, ..., 0] + x[:-1, ..., 1] * x[1:, ..., 2]


def reduced(x):
    return np.sum(x[..., 0] * x[..., 1]) + np.max(x[..., 2], axis=-1)


def with_functions(x):
    return np.exp(-(x[..., 0] ** 2)) * np.sqrt(np.abs(x[..., 1]))


def updated(x):
    x[..., 0] = x[..., 1] + x[..., 2]
    return x


def other_arrays(x):
    y = x * 2
    return y[..., 0] + y[..., 1] + x[..., 1]


PROGRAMS = [grey, turned, of_parts, reduced, with_functions, updated, other_arrays]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shape", [(37, 41, 3), (300, 4), (2, 3, 5, 3), (1, 3), (19, 1, 3)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_values_are_those_of_numpy(program, shape, dtype):
    x = np.random.default_rng(14).normal(0, 3, shape).astype(dtype)
    if len(shape) == 2 and program is reduced:
        x = x[None]
    expected = program(x.copy())
    found = rg.jit(program)(x.copy())
    tolerance = 1e-4 if expected.dtype == "float32" else 1e-11
    np.testing.assert_allclose(found, expected, tolerance, tolerance)
    for other in (np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], x[..., ::-1]):
        np.testing.assert_allclose(
            rg.jit(program)(other.copy(order="K")), program(other.copy()), tolerance, tolerance
        )


def test_a_kernel_reads_channels_from_one_array():
    x = rg.tensor("x", ("n", 3))
    source = rg.function([x], x[:, 0] + x[:, 1] * x[:, 2]).source
    assert all([f"x2[i1, {k}]" in source for k in range(3)])
    apart = rg.function([x], x[1:, 0] + x[:-1, 1]).source
    assert "x1[i1]" in apart
