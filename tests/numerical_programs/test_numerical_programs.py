"""Numerical kernels in NumPy's own style do the same when they are traced."""

import copy

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import DTypeError
from tests.numerical_programs import data, linear_algebra, stencils

PROGRAMS = {
    program.name: program
    for module in (linear_algebra, stencils, data)
    for program in module.PROGRAMS
}

NAMES = [
    "adi", "arc_distance", "atax", "azimint_hist", "azimint_naive", "bicg", "cavity_flow",
    "channel_flow", "cholesky", "cholesky2", "compute", "contour_integral", "conv2d",
    "correlation", "covariance", "covariance2", "crc16", "deriche", "doitgen", "durbin",
    "fdtd_2d", "floyd_warshall", "gemm", "gemver", "gesummv", "go_fast", "gramschmidt", "hdiff",
    "heat_3d", "jacobi_1d", "jacobi_2d", "k2mm", "k3mm", "lenet", "lu", "ludcmp", "mandelbrot1",
    "mandelbrot2", "mlp", "mvt", "nbody", "nussinov", "resnet", "scattering_self_energies",
    "seidel_2d", "softmax", "spmv", "stockham_fft", "symm", "syr2k", "syrk", "trisolv", "trmm",
    "vadv",
]  # fmt: skip

COMPLEX = (DTypeError, "complex128")

NOT_TRACED = {
    "contour_integral": COMPLEX,
    "mandelbrot1": COMPLEX,
    "scattering_self_energies": COMPLEX,
    "stockham_fft": COMPLEX,
}


def leaves(value):
    """Return the arrays and numbers of nested tuples."""
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [] if value is None else [value]


def test_all_programs_are_here_and_most_are_traced():
    assert sorted(PROGRAMS) == sorted(NAMES)
    assert len(NAMES) - len(NOT_TRACED) >= 49


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(NOT_TRACED)))
def test_a_traced_program_returns_and_changes_what_numpy_does(name):
    program = PROGRAMS[name]
    traced = rg.jit(program.function)
    for seed in (1, 2):
        arguments = program.arguments(np.random.default_rng(seed))
        changed = copy.deepcopy(arguments)
        expected = leaves((program.function(*arguments), arguments))
        got = leaves((traced(*changed), changed))
        assert len(got) == len(expected)
        for x, y in zip(got, expected, strict=True):
            assert np.shape(x) == np.shape(y)
            assert np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted(NOT_TRACED))
def test_what_is_not_traced_says_why_and_changes_nothing(name):
    program = PROGRAMS[name]
    arguments = program.arguments(np.random.default_rng(1))
    before = copy.deepcopy(arguments)
    error, text = NOT_TRACED[name]
    with pytest.raises(error, match=text):
        rg.jit(program.function)(*arguments)
    for x, y in zip(leaves(arguments), leaves(before), strict=True):
        np.testing.assert_array_equal(x, y)
