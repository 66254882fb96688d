"""The figures of this machine, measured once and kept in the cache on disk.

Each figure comes from the shortest of a few runs of a NumPy or SciPy function.  They replace the
fixed ones only where a caller asks for them: rewriting does not depend on them.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from functools import lru_cache
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from relgraph import cache
from relgraph.ir.machine import FIXED, Machine, Rate
from relgraph.ir.op import RATES, Op
from relgraph.ops.contraction import Matmul
from relgraph.ops.elementwise import exp
from relgraph.ops.linalg.factored_solve import LUSolve
from relgraph.ops.linalg.factorisations import LUFactor
from relgraph.ops.linalg.solve import Solve
from relgraph.settings import processors

_NAME = "machine"
_FORMAT = 3
_LIMIT = 0.04  # seconds for each figure
# How much faster than NumPy's exp compiled loops are, from the ratios of 0.6 to 3.2 that
# benchmarks/costs.py gave with AVX-512.  A loop of relgraph's own would be compiled at first use.
_LOOP_SPEEDUP = 1.5


@lru_cache(maxsize=1)
def measured() -> Machine:
    """Return the figures of this machine, from the cache if they were measured before.

    Returns
    -------
    Machine
        Its kernels and calls run as the libraries do with their current number of threads.
    """
    key = json.dumps([
        _FORMAT, platform.node(), platform.machine(), platform.processor(), processors(),
        np.__version__,
    ])  # fmt: skip
    entry = cache.fetch(_NAME, key)
    if entry is not None:
        return _from_facts(entry.facts)
    machine = measure()
    cache.keep(_NAME, key, repr(machine), cache.Entry(_facts(machine), b""))
    return machine


def measure() -> Machine:
    """Measure this machine, which takes less than a second."""
    rng = np.random.default_rng(0)
    solve, matmul, factor, substitute = Solve("general"), Matmul(), LUFactor(), LUSolve(0)
    tiny = np.eye(2)
    calls = _shortest(solve.perform, tiny, tiny) / (solve.overhead * 1e-9)

    def matrices(n: int) -> tuple[Any, Any]:
        return rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=(n, n))

    points: dict[str, list[tuple[float, float]]] = {name: [] for name in RATES[1:]}

    def note(flops: float, op: Op, *operands: Any) -> None:
        seconds = _shortest(op.perform, *operands)
        points[op.rate].append((flops, seconds - op.overhead * 1e-9 * calls))

    for n in (60, 300):
        a, b = matrices(n)
        factors, pivots = factor.perform(a)
        note(2.0 * n**3, matmul, a, b)
        note(2 * n**3 / 3, factor, a)
        note(2.0 * n**3, substitute, factors, pivots, b)
    elements = rng.normal(size=10_000)
    loop = exp.row.flops * elements.size / _shortest(np.exp, elements)
    return Machine(
        loop=Rate(_LOOP_SPEEDUP * loop),
        **{name: _rate(timed) for name, timed in points.items()},
        caches=tuple([(capacity, _speed(capacity)) for capacity, _ in FIXED.caches]),
        calls=calls,
        kernel=FIXED.kernel * calls,
    )


def _shortest(function: Callable[..., object], *arguments: object) -> float:
    """Return the shortest time of one call, in seconds, of all calls within a limit."""
    function(*arguments)
    best, spent = inf, 0.0
    while spent < _LIMIT:
        start = perf_counter()
        function(*arguments)
        seconds = perf_counter() - start
        best, spent = min(best, seconds), spent + seconds
    return best


def _rate(points: list[tuple[float, float]]) -> Rate:
    """Return the rate through two points of operations and seconds, without a negative term."""
    (f, s), (g, t) = points
    p, q = f ** (2 / 3), g ** (2 / 3)
    inverse = (t * p - s * q) / (g * p - f * q)
    surface = (s - f * inverse) / p
    if inverse <= 0 or surface < 0:
        return Rate(g / t)
    return Rate(1 / inverse, surface)


def _speed(capacity: float) -> float:
    """Return the bytes that an addition moves in a second, with arrays of half a level."""
    count = int((2**25 if capacity == inf else capacity) / 2 / 24)
    a, b, c = (np.ones(count) for _ in range(3))
    moved = a.nbytes + b.nbytes + c.nbytes
    return moved / _shortest(np.add, a, b, c)


def _facts(machine: Machine) -> dict[str, object]:
    rates = {name: [machine.rates[name].peak, machine.rates[name].surface] for name in RATES}
    speeds = [speed for _, speed in machine.caches]
    return {"rates": rates, "speeds": speeds, "calls": machine.calls, "kernel": machine.kernel}


def _from_facts(facts: dict[str, object]) -> Machine:
    rates: dict[str, list[float]] = facts["rates"]  # type: ignore[assignment]
    speeds: list[float] = facts["speeds"]  # type: ignore[assignment]
    return Machine(
        **{name: Rate(*rates[name]) for name in RATES},
        caches=tuple([(x[0], s) for x, s in zip(FIXED.caches, speeds, strict=True)]),
        calls=facts["calls"],  # type: ignore[arg-type]
        kernel=facts["kernel"],  # type: ignore[arg-type]
    )


__all__ = ["measure", "measured"]
