"""What follows from equations between sums, and what does not."""

import itertools
import random

import numpy as np
import pytest

import relgraph as rg
from relgraph.rewriting.entailment import Entailment, Lattice

p, q, r, s = rg.vectors("p q r s", 3, dtype="int64")
i, u = rg.vector("i", 3, dtype="int8"), rg.vector("u", 3)


@pytest.mark.parametrize(
    ("equations", "a", "b"),
    [
        ([], p + q - r, -(r - q) + p),
        ([], -1 * (p - q), q - p),
        ([], 2 * (3 * p), -6 * -p),
        ([], 100 * (100 * i), 16 * i),  # as int8 has it
        ([], 1e200 * u * 1e200, 1e200 * (1e200 * u)),
        ([(p + p, 2 * p)], q + p - (r - p), q - r + 2 * p),
        ([(p + p, 2 * p)], rg.sign(p + q + p), rg.sign(q + 2 * p)),
        ([(p + p, 2 * p)], (p + p) * (p + p), 4 * (p * p)),
        ([(p + p, 2 * p), (4 * (p * p), r)], (p + p) * (p + p), r),
        ([(rg.abs(p), p), (q, rg.abs(rg.abs(p)))], q, p),
        ([(p + q, r), (q + r, s)], p - r, r - s),
        ([(p - q, r - s), (q, s)], rg.sign(p), rg.sign(r)),
        ([(3 * p, q), (2 * p, r)], rg.sign(q - r), rg.sign(3 * p - 2 * p)),
    ],
)
def test_what_follows(equations, a, b):
    assert Entailment(equations).holds(a, b)
    assert Entailment([(y, x) for x, y in equations]).holds(b, a)


@pytest.mark.parametrize(
    ("equations", "a", "b"),
    [
        ([], p - q, q - p),
        ([], p + p, p),
        ([], p * q, p + q),
        ([], p * p, p),
        ([], 1e200 * u * 1e200, 1e250 * u * 1e250),
        ([], 1e-200 * u * 1e-200, 0.0 * u),
        ([(p + p, q + q)], p, q),  # not so for integers that wrap around
        ([(p * r, q * r)], p, q),  # r may be zero
        ([(rg.sign(p), rg.sign(q))], p, q),
        ([(p + q, r)], p, r),
        ([(p, q)], p * r, p * s),
        ([(p, q)], p, q.astype("int8")),
        ([(p.astype("int8"), q.astype("int8"))], rg.sign(p), rg.sign(q)),
    ],
)
def test_what_does_not_follow(equations, a, b):
    assert not Entailment(equations).holds(a, b)


@pytest.mark.parametrize("seed", range(30))
def test_a_lattice_holds_the_combinations_of_its_vectors(seed):
    rng = random.Random(seed)
    vectors = [np.array([rng.randrange(-3, 4) for _ in range(3)]) for _ in range(2)]
    lattice = Lattice()
    for v in vectors:
        lattice.add({k: int(n) for k, n in enumerate(v) if n})
    # Coefficients of what is as small as these are found among these, by Cramer's rule.
    span = range(-40, 41)
    held = {tuple(a * vectors[0] + b * vectors[1]) for a, b in itertools.product(span, span)}
    for v in itertools.product(range(-2, 3), repeat=3):
        reduced = lattice.reduced({k: n for k, n in enumerate(v) if n})
        assert (not reduced) == (v in held)
        moved = np.array(v) + 2 * vectors[0] - 5 * vectors[1]
        assert lattice.reduced({k: int(n) for k, n in enumerate(moved) if n}) == reduced
