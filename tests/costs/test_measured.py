"""The figures of this machine, and the cache that keeps them."""

from __future__ import annotations

import pytest

import relgraph as rg
from relgraph.costs import measured as module
from relgraph.ir.machine import FIXED, Machine, Rate


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Return the calls of ``measure``, with an empty cache."""
    calls = []
    machine = Machine(product=Rate(7e9, 2e-9), calls=3.0)
    monkeypatch.setenv("RELGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "measure", lambda: calls.append(1) or machine)
    module.measured.cache_clear()
    yield calls
    module.measured.cache_clear()


def test_a_machine_is_measured_once_and_kept_on_disk(cached):
    first = module.measured()
    module.measured.cache_clear()
    assert module.measured() == first
    assert len(cached) == 1
    assert first.product == Rate(7e9, 2e-9)


def test_what_is_kept_is_only_for_the_same_libraries(cached, monkeypatch):
    module.measured()
    module.measured.cache_clear()
    monkeypatch.setattr(module.np, "__version__", "0")
    module.measured()
    assert len(cached) == 2


def test_costs_by_the_measured_figures(cached):
    A, B = rg.matrices("A B", shape=(9, 9))
    fixed, here = rg.cost(A @ B), rg.cost(A @ B, machine="measured")
    assert here.machine.calls == 3.0
    assert here.seconds == pytest.approx(3 * fixed.seconds, rel=0.1)
    assert here.flops == fixed.flops


def test_the_figures_are_positive():
    machine = module.measure()
    for rate in machine.rates.values():
        assert rate.peak > 0
        assert rate.surface >= 0
    assert [x for x, _ in machine.caches] == [x for x, _ in FIXED.caches]
    assert min(machine.calls, machine.kernel, *(x for _, x in machine.caches)) > 0


def test_a_rate_through_two_points():
    rate = Rate(20e9, 3e-9)
    points = [(f, rate.seconds(f)) for f in (1e6, 1e8)]
    found = module._rate(points)
    assert found.peak == pytest.approx(rate.peak)
    assert found.surface == pytest.approx(rate.surface)
    assert module._rate([(1e6, 1e-9), (1e8, 1.0)]) == Rate(1e8)
