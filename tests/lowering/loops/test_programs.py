"""Random loops: as machine code, by the interpreter, and by the definitions of their ops."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ops.loops import Scan, results_of
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


@pytest.mark.parametrize("function", [rg.softmax, rg.log_softmax, rg.logsumexp])
@pytest.mark.parametrize("n", [4, 100])
def test_bodies_with_ops_over_rows_are_machine_code(function, n):
    x = rg.vector("x", n)
    last, _ = rg.scan(lambda c, _: (function(c) - c * 0.5 + x, None), x, None, length=6)
    (node,) = [y for y in rg.FunctionGraph(None, [last]) if isinstance(y.op, Scan)]
    values = np.random.default_rng(n).normal(0, 3, n)
    values[1] = values.max() + 800.0  # exp overflows
    operands = [{x: values}.get(y, getattr(y, "value", None)) for y in node.inputs]
    assert check(node, operands) is not None
