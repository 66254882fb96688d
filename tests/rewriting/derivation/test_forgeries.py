"""Derivations that are said to end elsewhere are refused."""

import pytest

import relgraph as rg
from relgraph.errors import VerifyError
from relgraph.ir.records import replace

x, y, z = rg.vectors("x y z", 3)
k, m, o = rg.vectors("k m o", 3, dtype="int64")
a, b = rg.scalar("a"), rg.scalar("b", dtype="int64")
one, three = rg.tensor("one", (1,)), rg.tensor("three", (3,))
inf = rg.constant(float("inf"))


@rg.identity(rounding="exact")
def abs_abso(u):
    return rg.abs(rg.abs(u)), rg.abs(u)


def twice(u):
    return rg.abs(rg.abs(u))


def checked(graph, result, *relations):
    """Check a derivation of a graph that is said to end elsewhere."""
    derivation = rg.explain(graph, list(relations))
    derivation.check()
    assert len(derivation) >= 1
    (phase,) = derivation.phases
    replace(phase, after=(result,)).check()


@pytest.mark.parametrize(
    ("graph", "forged"),
    [
        (twice(z) + (x + y - x), rg.abs(z) + y),  # NaN where x is infinite
        (twice(z) + (x - x), rg.abs(z)),
        (rg.exp(twice(z)) * (x - x), rg.exp(rg.abs(z)) * (y - y)),
        (twice(z) + -1 * x + x, rg.abs(z)),
        (twice(z) + rg.exp(x - x), rg.abs(z) + rg.exp(y - y)),
        (rg.sum(twice(z)) + rg.sum(one + three - three), rg.sum(rg.abs(z)) + rg.sum(one)),
        (twice(a) + three - three, rg.abs(a)),
        (rg.sum(twice(o)) + rg.sum(b + k - k), rg.sum(rg.abs(o)) + b),
        (rg.sum(twice(o) + b - b), rg.sum(rg.abs(o) + m - k)),
    ],
)
def test_forged_derivations_are_refused(graph, forged):
    with pytest.raises(VerifyError, match="do not lead"):
        checked(graph, forged, abs_abso)
