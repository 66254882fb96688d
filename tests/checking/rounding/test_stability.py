"""Where ``rg.check`` tells that a direction loses digits which the side that it matches keeps."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.generators.arrays import CANCELLING
from relgraph.checking.rounding import stability
from relgraph.db.catalogue import relations_of
from relgraph.db.listing import both_directions


def variance(x, mp):
    mean = sum(x.flat) / x.size
    return sum((v - mean) ** 2 for v in x.flat) / x.size


# Of each identity, the direction that loses digits; both sides in NumPy; and the exact value.
UNSTABLE = {
    "log1p(x) = log(1 + x)": (
        lambda x: (rg.log1p(x), rg.log(1 + x)), False,
        np.log1p, lambda x: np.log(1 + x), lambda x, mp: mp.log1p(x),
    ),
    "expm1(x) = exp(x) - 1": (
        lambda x: (rg.expm1(x), rg.exp(x) - 1), False,
        np.expm1, lambda x: np.exp(x) - 1, lambda x, mp: mp.expm1(x),
    ),
    "1 - cos(x) = 2 sin(x / 2)^2": (
        lambda x: (1 - rg.cos(x), 2 * rg.sin(x / 2) ** 2), True,
        lambda x: 2 * np.sin(x / 2) ** 2, lambda x: 1 - np.cos(x),
        lambda x, mp: 2 * mp.sin(x / 2) ** 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", UNSTABLE)
def test_a_direction_that_cancels_is_told_of_and_no_fault(text):
    sides, backward, stable, cancelling, true = UNSTABLE[text]
    report = rg.check(rg.identity(sides, name="lossyo", specials="assumes_finite"))
    assert report, str(report)
    (label,) = report.unstable
    assert label == ("lossyo.reversed" if backward else "lossyo")
    assert "loses digits" in str(report)
    (value,) = report.unstable[label].values.values()
    with mpmath.workdps(50):
        exact = true(mpmath.mpf(value.item()), mpmath)
        good, bad = (abs(f(value).item() - exact) / abs(exact) for f in (stable, cancelling))
    assert bad > 1e-8
    assert good < 1e-12
    assert report.unstable[label].errors == pytest.approx((float(good), float(bad)))


def test_a_variance_of_numbers_that_are_close_to_each_other_is_told_of():
    @rg.identity(specials="assumes_finite", broadcast="*", where=rg.floato)
    def variance_of_squareso(x):
        """mean((x - mean(x))^2) = mean(x^2) - mean(x)^2."""
        return rg.mean((x - rg.mean(x)) ** 2), rg.mean(x**2) - rg.mean(x) ** 2

    report = rg.check(variance_of_squareso)
    assert report, str(report)
    assert set(report.unstable) == {"variance_of_squareso"}
    (x,) = report.unstable["variance_of_squareso"].values.values()
    with mpmath.workdps(50):
        real = np.array([mpmath.mpf(v) for v in x.ravel()], dtype=object)
        exact = float(variance(real, mpmath))
    assert abs(np.mean(x**2) - np.mean(x) ** 2 - exact) > 1e-8 * exact
    assert abs(np.mean((x - np.mean(x)) ** 2) - exact) < 1e-12 * exact


def test_what_keeps_its_digits_is_not_told_of():
    for sides in (
        lambda x, y: (rg.exp(x) * rg.exp(y), rg.exp(x + y)),
        lambda x, y, z: (x * y + x * z, x * (y + z)),
        lambda x: (rg.square(rg.sqrt(x)), x),
    ):
        relation = rg.identity(sides, name="steadyo", specials="assumes_finite", where=None)
        assert stability.loses_digits(relation).loss is None


def test_the_floats_that_are_drawn_are_what_cancels():
    rng = np.random.default_rng(0)
    drawn = {kind: draw(rng, (50,)) for kind, draw in CANCELLING.items()}
    assert np.abs(drawn["tiny"]).max() < 1e-2
    assert (drawn["tiny"] < 0).any()
    assert np.abs(drawn["near one"] - 1).max() < 1e-2
    assert np.ptp(drawn["clustered"]) < 1e-2 * np.abs(drawn["clustered"]).min()
    assert np.abs(drawn["wide"]).max() > 1e6 * np.abs(drawn["wide"]).min()


def test_of_the_stabilising_relations_only_the_other_direction_loses_digits():
    lossy = [
        d.label
        for r in relations_of("stabilise")
        if len(r.clauses or ()) < 4
        for d in both_directions(r)
        if stability.loses_digits(d).loss
    ]
    assert lossy
    assert all(label.endswith(".reversed") for label in lossy)
    assert {"log1p_addo.reversed", "expm1_subtracto.reversed"} <= set(lossy)
