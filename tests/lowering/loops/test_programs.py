"""Random loops: as machine code, by the interpreter, and by the definitions of their ops."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ops.loops import results_of
from tests.lowering.loops.evaluation import check
from tests.lowering.loops.programs import Program

BATCH = 10
BATCHES = 30


@pytest.mark.parametrize("batch", range(BATCHES))
def test_machine_code_means_what_the_interpreter_computes(batch):
    outcomes = []
    with np.errstate(all="ignore"):
        for seed in range(BATCH * batch, BATCH * (batch + 1)):
            program = Program(seed)
            outcomes.append(check(program.application, program.operands()) is not None)
    assert sum(outcomes) >= BATCH // 2  # others have ops without a rule


@pytest.mark.parametrize("batch", range(10))
def test_a_compiled_loop_computes_what_its_definition_does(batch):
    with np.errstate(all="ignore"):
        for seed in range(10_000 + 5 * batch, 10_005 + 5 * batch):
            program = Program(seed)
            node = program.application
            f = rg.function(program.inputs, results_of(node))
            try:
                expected = node.op.perform(*program.operands())
            except (ValueError, IndexError):  # sizes that only a call knows
                with pytest.raises((ValueError, IndexError)):
                    f(*program.arrays)
                continue
            for a, b in zip(f(*program.arrays), expected, strict=True):
                tolerance = 1e-4 if np.asarray(b).dtype == np.float32 else 1e-9
                assert np.shape(a) == np.shape(b)
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
