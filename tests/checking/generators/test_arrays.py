"""Values for inputs: what is declared of a matrix holds exactly, not to rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.generators.arrays import draw
from relgraph.checking.generators.shapes import EVERY_DTYPE

FACTS = {
    "invertible": ("invertible",),
    "symmetric": ("invertible", "symmetric"),
    "triangular": ("invertible", "lower_triangular"),
    "spd": ("spd",),
}


def determinant(matrix):
    """Return the determinant of a matrix, by Laplace's expansion in fractions."""
    if not len(matrix):
        return Fraction(1)
    rest = np.delete(matrix, 0, axis=0)
    return sum(
        (-1) ** j * Fraction(matrix[0, j].item()) * determinant(np.delete(rest, j, axis=1))
        for j in range(len(matrix))
    )


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
@pytest.mark.parametrize("kind", ["moderate", "zeros"])
@pytest.mark.parametrize("name", FACTS)
def test_a_matrix_that_is_declared_invertible_has_a_determinant(name, kind, dtype):
    x = rg.tensor("x", dtype=dtype, shape=(200, 3, 3), facts=FACTS[name])
    value = draw(x, np.random.default_rng(5), kind)
    assert value.dtype == dtype
    assert all(determinant(matrix) for matrix in value)
    assert len(np.unique(value, axis=0)) > 50 or dtype == "bool"
    if "symmetric" in x.facts:
        np.testing.assert_array_equal(value, np.swapaxes(value, -1, -2))
    if name == "spd":
        assert all(determinant(matrix[:n, :n]) > 0 for matrix in value for n in (1, 2, 3))


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_a_matrix_to_solve_with_is_invertible_whatever_it_declares(dtype):
    x = rg.tensor("x", dtype=dtype, shape=(200, 3, 3))
    value = draw(x, np.random.default_rng(5), regular=True)
    assert all(determinant(matrix) for matrix in value)
