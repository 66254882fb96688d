"""Random programs of every kind of kernel, simulated on the device."""

import numpy as np
import pytest

import relgraph as rg
from tests.backends.programs import inputs, program, results


@pytest.mark.filterwarnings("ignore:.*run on the CPU:RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_a_program_computes_what_numpy_does(seed):
    rng = np.random.default_rng(1000 + seed)
    variables, values = inputs(rng, known=bool(seed % 2))
    steps = program(rng, values, int(rng.integers(2, 8)))
    f = rg.function(variables, results(steps, variables), target="cuda")
    for found, value in zip(rg.cuda.to_host(f(*values)), results(steps, values), strict=True):
        assert found.shape == np.shape(value)
        np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-8)
