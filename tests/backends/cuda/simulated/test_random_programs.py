"""Random programs of views, updates and gathers, simulated on the device."""

import numpy as np
import pytest

import relgraph as rg
from tests.backends.programs import N, results, step


@pytest.mark.filterwarnings("ignore:.*run on the CPU:RuntimeWarning")
@pytest.mark.parametrize("seed", range(60))
def test_a_program_computes_what_numpy_does(seed):
    rng = np.random.default_rng(1000 + seed)
    shape = (N, N) if seed % 2 else (None, None)
    variables = [rg.matrix(name, shape=shape) for name in "abc"]
    values = [rng.normal(size=(N, N)) / 2 for _ in variables]
    steps = [step(rng, made) for made in range(rng.integers(2, 8))]
    with np.errstate(over="ignore", invalid="ignore"):
        expected = results(steps, values)
    found = rg.cuda.to_host(
        rg.function(variables, results(steps, variables), target="cuda")(*values)
    )
    for result, value in zip(found, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-9)
