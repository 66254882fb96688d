"""Random programs on arrays in random blocks have NumPy's results."""

from dataclasses import replace

import numpy as np
import pytest

import relgraph as rg
from tests.backends.dask.divisions import divided
from tests.random_programs.batch import FAILURES, Failure, Setting, graphs_of, judged
from tests.random_programs.generator import Generator, random_inputs
from tests.random_programs.judge import quiet
from tests.random_programs.program import GRAPHS

dask = pytest.importorskip("dask")

MODES = (None, "fast_run", "o4", "o3")
PROGRAMS = 16  # of each seed


def attempt(program, inputs, blocks, setting):
    """Return the value of a program, or the error that it raises."""
    graphs = graphs_of(inputs, setting.sizes)
    options = {"mode": setting.mode, "nonfinite": "keep", "target": "dask"}
    with quiet():
        try:
            result = program.values(graphs, GRAPHS)[program.result]
            lazy = rg.function(list(graphs.values()), result, **options)(**blocks)
            value = lazy.compute(scheduler="synchronous")
        except Exception as error:
            return error
    assert all(n == size or np.isnan(n) for n, size in zip(lazy.shape, value.shape, strict=True))
    return value


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_have_the_results_of_numpy(seed):
    rng = np.random.default_rng(seed)
    inputs = random_inputs(rng, numbers=False)
    sizes = str(rng.choice(["static", "named", "unknown"]))
    setting = Setting("function", MODES[seed % len(MODES)], "keep", "dask", sizes)
    # Sums of blocks are sums in another order, as those of a rewritten graph.
    rounded = replace(setting, mode="o4")
    programs = [Generator(rng, inputs, False).program() for _ in range(PROGRAMS)]
    blocks = {name: divided(rng, x) for name, x in inputs.values.items()}
    failures = []
    for program in programs:
        result = attempt(program, inputs, blocks, setting)
        outcome, message = judged(program, inputs, rounded, result)
        if outcome == "documented":  # what sizes that are not static forbid
            static = replace(setting, sizes="static")
            result = attempt(program, inputs, blocks, static)
            outcome, message = judged(program, inputs, replace(rounded, sizes="static"), result)
        if outcome in FAILURES:
            failures.append(Failure(outcome, message, program, inputs, setting).reproducer())
    assert not failures, "\n\n".join(failures)
