"""Log-densities of PyMC's models and their gradients: relgraph beside PyTensor's mode NUMBA.

    python benchmarks/models.py                 # all models, and results/models.json
    python benchmarks/models.py logistic        # those whose name holds "logistic"
    python benchmarks/models.py --sample        # also draws, and compares posterior means

Both start from the graph that PyMC and PyTensor's ``grad`` build.  ``rewriting`` is the time from
that graph to the rewritten one: for relgraph, loading and rewriting; for PyTensor, the rewrites of
its mode.  ``cold`` is the processor time of ``model.logp_dlogp_function(mode=...)`` with its first
call, in a fresh process with empty caches, imports apart.  ``warm`` is the same with the caches
that it left.  ``call`` is the median time of a call of that function, and ``direct`` that of
PyTensor's function without PyMC's wrapper, in turns within one process.  Values and gradients must
agree to 1e-10.  Last come the distributions of PyMC that relgraph does not load, with the reasons.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from calibration import machine, versions

sys.path.insert(0, str(Path(__file__).parent.parent))

warnings.filterwarnings("ignore")
logging.getLogger("pytensor").setLevel(logging.CRITICAL)  # rewrites of its own that fail

RESULTS = Path(__file__).parent / "results" / "models.json"
MODES = ("RELGRAPH", "NUMBA")


def hierarchical() -> Any:
    """A regression with a mean and a slope for each of 85 groups, non-centred."""
    import pymc as pm

    rng = np.random.default_rng(0)
    group, x = rng.integers(0, 85, 919), rng.standard_normal(919)
    y = 1.5 + 0.3 * rng.standard_normal(85)[group] - 0.7 * x + 0.7 * rng.standard_normal(919)
    with pm.Model() as model:
        means, slopes = pm.Normal("means", 0, 1, shape=2), pm.HalfNormal("scales", 1, shape=2)
        raw = pm.Normal("raw", 0, 1, shape=(85, 2))
        a = means[0] + slopes[0] * raw[:, 0]
        b = means[1] + slopes[1] * raw[:, 1]
        pm.Normal("y", a[group] + b[group] * x, pm.HalfNormal("sigma", 1), observed=y)
    return model


def logistic() -> Any:
    """A logistic regression of 1,000 observations on 20 features."""
    import pymc as pm

    rng = np.random.default_rng(1)
    X = rng.standard_normal((1000, 20))
    y = rng.random(1000) < 1 / (1 + np.exp(-X @ rng.standard_normal(20)))
    with pm.Model() as model:
        weights = pm.Normal("weights", 0, 1, shape=20)
        pm.Bernoulli("y", logit_p=pm.Normal("bias", 0, 2) + X @ weights, observed=y.astype(int))
    return model


def volatility() -> Any:
    """A stochastic volatility model of 500 returns: a random walk, and Student's t."""
    import pymc as pm

    rng = np.random.default_rng(2)
    returns = rng.standard_t(5, 500) * np.exp(0.1 * np.cumsum(rng.standard_normal(500)) / 5)
    with pm.Model() as model:
        step, nu = pm.Exponential("step", 10), pm.Exponential("nu", 0.1)
        walk = pm.GaussianRandomWalk(
            "walk", sigma=step, init_dist=pm.Normal.dist(0, 1), steps=len(returns) - 1
        )
        pm.StudentT("returns", nu=nu, lam=pm.math.exp(-2 * walk), observed=returns)
    return model


def item_response() -> Any:
    """Two-parameter item response: 100 persons answer 20 items."""
    import pymc as pm

    rng = np.random.default_rng(3)
    person, item = np.repeat(np.arange(100), 20), np.tile(np.arange(20), 100)
    right = rng.random(2000) < 1 / (1 + np.exp(-rng.standard_normal(100)[person]))
    with pm.Model() as model:
        ability = pm.Normal("ability", 0, 1, shape=100)
        difficulty = pm.Normal("difficulty", 0, pm.HalfNormal("spread", 1), shape=20)
        slope = pm.LogNormal("slope", 0, 0.5, shape=20)
        logit = slope[item] * (ability[person] - difficulty[item])
        pm.Bernoulli("right", logit_p=logit, observed=right.astype(int))
    return model


def negative_binomial() -> Any:
    """A regression of counts with overdispersion."""
    import pymc as pm

    rng = np.random.default_rng(4)
    X = rng.standard_normal((500, 4))
    counts = rng.negative_binomial(2, 2 / (2 + np.exp(0.5 + X @ [0.3, -0.2, 0.1, 0.4])))
    with pm.Model() as model:
        weights = pm.Normal("weights", 0, 1, shape=4)
        mean = pm.math.exp(pm.Normal("bias", 0, 1) + X @ weights)
        alpha = pm.Gamma("alpha", 2, 1)
        pm.NegativeBinomial("counts", mu=mean, alpha=alpha, observed=counts)
    return model


def robust() -> Any:
    """A linear regression with the noise of Student's t."""
    import pymc as pm

    rng = np.random.default_rng(5)
    x = rng.standard_normal(400)
    y = 1 + 2 * x + rng.standard_t(3, 400)
    with pm.Model() as model:
        bias, slope = pm.Normal("bias", 0, 5), pm.Normal("slope", 0, 5)
        nu, sigma = pm.Gamma("nu", 2, 0.1), pm.HalfNormal("sigma", 2)
        pm.StudentT("y", nu=nu, mu=bias + slope * x, sigma=sigma, observed=y)
    return model


MODELS: dict[str, Callable[[], Any]] = {
    f.__name__: f
    for f in (hierarchical, logistic, volatility, item_response, negative_binomial, robust)
}


def value_and_gradient(model: Any, mode: str) -> tuple[Callable[[], Any], Any, Any]:
    """Return a call of a model's log-density and gradient, PyMC's function, and its argument."""
    from pymc.blocking import DictToArrayBijection

    function = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
    function.set_extra_values({})
    point = DictToArrayBijection.map(model.initial_point(random_seed=1))
    values = point.data + 0.1 * np.random.default_rng(6).standard_normal(point.data.shape)
    point = point._replace(data=values)
    return lambda: function(point), function, values


def first_compile(name: str, mode: str) -> None:
    """Print the seconds until the first value; in a process of its own."""
    import pymc  # noqa: F401
    import pytensor

    import relgraph as rg

    _ = rg.interop.pytensor, rg.optdb, pytensor.compile.mode.get_mode(mode)
    if mode == "NUMBA":
        import pytensor.link.numba.dispatch
    else:
        import relgraph.api.function
        import relgraph.backends.numba.compiler  # noqa: F401
    model = MODELS[name]()
    start = time.process_time(), time.perf_counter()
    value_and_gradient(model, mode)[0]()
    print(json.dumps([time.process_time() - start[0], time.perf_counter() - start[1]]))


def rewriting(model: Any, rounds: int) -> dict[str, list[float]]:
    """Return processor seconds of rewriting, in turns; the graphs are built anew each time."""
    import pytensor
    from pytensor.compile.mode import get_mode
    from pytensor.graph.fg import FunctionGraph

    import relgraph as rg

    seconds: dict[str, list[float]] = {mode: [] for mode in MODES}
    for _ in range(rounds):
        outputs = [model.logp(), model.dlogp()]
        inputs = model.value_vars
        graph = FunctionGraph(inputs, outputs, clone=True)
        start = time.process_time()
        get_mode("NUMBA").optimizer.rewrite(graph)
        seconds["NUMBA"].append(time.process_time() - start)
        rg.clear_caches()
        start = time.process_time()
        rg.rewrite_graph(rg.interop.pytensor.load(outputs), mode="default", nonfinite="keep")
        seconds["RELGRAPH"].append(time.process_time() - start)
        assert pytensor.config.floatX == "float64"
    return seconds


def compare(name: str, rounds: int) -> dict[str, Any]:
    """Return one row of the table."""
    from harness import Plan, measure

    row: dict[str, Any] = {"model": name}
    for mode in MODES:
        cold, warm = [], []
        for _ in range(max(1, rounds // 3)):
            with tempfile.TemporaryDirectory() as folder:
                times = [_fresh(name, mode, folder) for _ in range(2)]
            cold.append(times[0])
            warm.append(times[1])
        row[mode] = {"cold": statistics.median(cold), "warm": statistics.median(warm)}
    model = MODELS[name]()
    import relgraph as rg

    _ = rg.interop.pytensor
    calls, values = {}, {}
    for mode in MODES:
        calls[mode], function, point = value_and_gradient(model, mode)
        values[mode] = calls[mode]()
        calls[mode + " direct"] = partial(function._pytensor_function, point)
    for ours, theirs in zip(values["RELGRAPH"], values["NUMBA"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
    timings = measure(calls, Plan(rounds=rounds, patience=60.0))
    seconds = rewriting(model, rounds)
    for mode in MODES:
        row[mode]["call"] = timings[mode].seconds * 1e6
        row[mode]["direct"] = timings[mode + " direct"].seconds * 1e6
        row[mode]["rewriting"] = statistics.median(seconds[mode])
    return row


def _fresh(name: str, mode: str, folder: str) -> float:
    """Return the processor seconds of the first value in a new process."""
    environment = {
        **os.environ,
        "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor",
        "NUMBA_CACHE_DIR": f"{folder}/numba",
        "XDG_CACHE_HOME": f"{folder}/cache",
        "RELGRAPH_CACHE_DIR": f"{folder}/relgraph",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, __file__, "--first", name, mode]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])[0])


def sampled(name: str) -> dict[str, float]:
    """Return how far the posterior means of both modes are apart, in Monte Carlo errors."""
    import arviz
    import pymc as pm

    import relgraph as rg

    _ = rg.interop.pytensor
    summaries = {}
    for mode in MODES:
        with MODELS[name]():
            trace = pm.sample(
                draws=500, tune=500, chains=2, cores=1, random_seed=7, progressbar=False,
                compile_kwargs={"mode": mode},
            )  # fmt: skip
        summaries[mode] = arviz.summary(trace, round_to="none")
    ours, theirs = summaries["RELGRAPH"], summaries["NUMBA"]
    errors = np.hypot(ours["mcse_mean"], theirs["mcse_mean"])
    apart = np.abs(ours["mean"] - theirs["mean"]) / errors
    return {"largest": float(apart.max()), "median": float(apart.median())}


def unsupported() -> dict[str, str]:
    """Return why relgraph does not load a log-density, by the distribution of PyMC."""
    import pytensor

    import relgraph as rg
    from tests.interop.pytensor.distributions import CASES, log_density

    reasons = {}
    for name in CASES:
        values, density = log_density(name)
        wrt = [x for x in values if x.dtype == "float64"]
        try:
            rg.interop.pytensor.load(density)
            gradients = pytensor.grad(density.sum(), wrt, disconnected_inputs="ignore")
            rg.interop.pytensor.load(gradients)
        except rg.errors.UnsupportedOpError as error:
            reasons[name] = ", ".join(f"{op}: {reason}" for op, reason in error.facts)
    print(f"{len(CASES) - len(reasons)} of {len(CASES)} distributions load with their gradients")
    for name, reason in reasons.items():
        print(f"{name}: {reason}")
    return reasons


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--first", nargs=2)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if options.first:
        first_compile(*options.first)
        return
    rows = []
    titles = ("rewriting ms", "cold s", "warm s", "call us", "direct us")
    print(f"{'model':18}" + "".join(f"{t:>22}" for t in titles) + "   (relgraph, PyTensor, ratio)")
    for name in MODELS:
        if options.names and not any(x in name for x in options.names):
            continue
        row = compare(name, options.rounds)
        cells = []
        for key, scale in (
            ("rewriting", 1e3),
            ("cold", 1),
            ("warm", 1),
            ("call", 1),
            ("direct", 1),
        ):
            ours, theirs = (row[mode][key] * scale for mode in MODES)
            cells.append(f"{ours:8.3g} {theirs:7.3g} {theirs / ours:5.2f}")
        if options.sample:
            row["sample"] = sampled(name)
            cells.append(f"  means apart at most {row['sample']['largest']:.1f} standard errors")
        print(f"{name:18}" + "".join(cells), flush=True)
        rows.append(row)
    if not options.names:
        report = {
            "machine": machine(),
            "versions": versions("numpy", "numba", "pytensor", "pymc"),
            "models": rows,
            "unsupported": unsupported(),
        }
        RESULTS.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
