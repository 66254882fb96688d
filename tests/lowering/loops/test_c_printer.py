"""The loop language printed as C, against the interpreter and NumPy."""

import math
import shutil

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.builder import ZERO, Builder
from relgraph.lowering.loops.nodes import Buffer, Function, Var, index
from relgraph.ops.elementwise import ROWS, Cast, Elementwise
from tests.lowering.loops.c_printer import SKIPPED, NoSpelling, compiled, printed, spelling
from tests.lowering.loops.evaluation import is_exact, outcome, same_bits, written
from tests.lowering.loops.programs import Program

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

RNG = np.random.default_rng(8)


def agree(loop, found, expected):
    """Compare results of a loop: bit by bit where each op is rounded once, in one order."""
    exact = is_exact(loop.function)
    for a, b in zip(found, expected, strict=True):
        tolerance = 1e-4 if np.asarray(b).dtype == np.float32 else 1e-9
        if exact:
            assert same_bits(a, b)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("batch", range(5))
def test_random_loops(batch, tmp_path):
    loops = []
    with np.errstate(all="ignore"):
        for seed in range(20 * batch, 20 * (batch + 1)):
            program = Program(seed)
            loop = written(program.application)
            if loop is not None:
                loops.append((loop, program.operands()))
        assert len(loops) >= 10  # others have ops without a rule
        runners = compiled([loop.function for loop, _ in loops], tmp_path)
        for run, (loop, operands) in zip(runners, loops, strict=True):
            status, expected = outcome(loop, interpreter.run, operands)
            found, results = outcome(loop, run, operands)
            assert found == status
            if not status:
                agree(loop, results, expected)


def kalman(ys, mean, cov, *model):
    F, H, Q, r = model

    def step(state, y):
        m, P = state
        m, P = F @ m, F @ P @ F.T + Q
        gain = P @ H / (H @ P @ H + r)
        return (m + gain * (y - H @ m), P - np.outer(gain, H @ P)), m

    return rg.scan(step, (mean, cov), ys)[1]


def autoregression(a, x):
    return rg.scan(lambda y, x: (a * y + x,) * 2, 0.0, x)[1]


def newton(x):
    def step(state):
        root, _ = state
        return 0.5 * (root + x / root), root

    return rg.while_loop(lambda s: np.abs(s[0] - s[1]) > 1e-14 * s[0], step, (x, x * 2))[0]


def levenshtein(a, b, first):
    def row(above, letter):
        def cell(left, parts):
            corner, upper, other = parts
            best = np.minimum(np.minimum(left, upper) + 1, corner + (letter != other))
            return best, best

        _, cells = rg.scan(cell, above[0] + 1, (above[:-1], above[1:], b))
        return np.concatenate([above[:1] + 1, cells]), cells[-1]

    return rg.scan(row, first, a)[1]


def filtered(ys, m, P, *model):
    """Return what the Kalman filter predicts, by NumPy."""
    F, H, Q, r = model
    predictions = []
    for y in ys:
        m, P = F @ m, F @ P @ F.T + Q
        predictions.append(m)
        gain = P @ H / (H @ P @ H + r)
        m, P = m + gain * (y - H @ m), P - np.outer(gain, H @ P)
    return np.array(predictions)


def distances(a, b, _):
    """Return the edit distance of the beginnings of a word to another one, by the definition."""

    def distance(a, b):
        if not a or not b:
            return len(a) + len(b)
        same = distance(a[1:], b[1:])
        return same if a[0] == b[0] else 1 + min(same, distance(a[1:], b), distance(a, b[1:]))

    return np.array([distance(list(a[: k + 1]), list(b)) for k in range(len(a))])


def recurrence(a, x):
    y, ys = 0.0, []
    for value in x:
        y = a * y + value
        ys.append(y)
    return np.array(ys)


F = np.eye(4) * 0.9 + np.eye(4, k=1) * 0.1
WORD, OTHER = np.array([1, 2, 2, 3, 1]), np.array([2, 2, 1, 3])
LOOPS = {
    "kalman": (
        kalman, filtered,
        [RNG.normal(size=30), np.zeros(4), np.eye(4), F, np.array([1.0, 0, 0.5, 0]),
         np.eye(4) * 0.1, np.float64(0.5)],
    ),
    "autoregression": (autoregression, recurrence, [np.float64(0.7), RNG.normal(size=40)]),
    "newton": (newton, math.sqrt, [np.float64(2.0)]),
    "levenshtein": (levenshtein, distances, [WORD, OTHER, np.arange(5)]),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_known_loops(name, tmp_path):
    function, definition, arrays = LOOPS[name]
    inputs = [rg.tensor(f"a{k}", x.shape, x.dtype.name) for k, x in enumerate(arrays)]
    item = function(*inputs)
    node = item.inputs[0]
    loop = written(node)
    (run,) = compiled([loop.function], tmp_path)
    operands = rg.function(inputs, list(node.inputs), target="numpy", mode=None)(*arrays)
    status, results = outcome(loop, run, operands)
    assert status == 0
    agree(loop, results, outcome(loop, interpreter.run, operands)[1])
    (found,) = [results[k] for k in item.op.params]
    np.testing.assert_allclose(found, definition(*arrays), rtol=1e-12)


def every_op():
    """Yield a function that applies an op, and arrays for it, for each op and dtype."""
    for dtype in map(np.dtype, ("float64", "float32", "int64", "int8", "uint64", "bool")):
        numbers = RNG.normal(size=(3, 40)) * 3
        numbers[:, :4] = [[0.0, -0.0, 1.0, 2.0]] * 3
        x = np.abs(numbers) if dtype.kind == "u" else numbers
        x = x > 0 if dtype.kind == "b" else x.astype(dtype)
        if dtype.kind in "iu":
            x[:, 4:6] = [[np.iinfo(dtype).min, np.iinfo(dtype).max]] * 3
        for name, row in ROWS.items():
            dtypes = [dtype] * row.arity
            if name == "where":
                dtypes[0] = np.dtype(bool)
            operands = [values.astype(d) for values, d in zip(x, dtypes, strict=False)]
            try:
                result = row.loop(name, tuple(dtypes))[-1]
            except TypeError:
                continue  # NumPy has no such op for the dtype
            yield applied(Elementwise(name), operands, result.name)
        for other in ("float64", "float32", "int64", "int32", "uint8", "uint64", "bool"):
            if other != dtype:
                yield applied(Cast(other), x[:1], other)


def applied(op, operands, dtype):
    builder, size = Builder(100), index(operands[0].size)
    buffers = [Buffer(f"x{k}", x.dtype.name, (size,)) for k, x in enumerate(operands)]
    out = Buffer("out", dtype, (size,))
    with builder.loop(ZERO, size, apart=True) as loop:
        args = [builder.load(b, (loop.index,)) for b in buffers]
        builder.store(out, (loop.index,), builder.op(op, *args, dtype=dtype))
    function = Function("NAME", (Var("once", "int64"),), (*buffers, out), builder.body)
    return op, function, [*operands, np.zeros(operands[0].size, dtype)]


def test_every_op_that_c_spells(tmp_path):
    cases, left_out = [], set()
    for op, function, arrays in every_op():
        try:
            printed(function, "f")
        except NoSpelling:
            left_out.add(op.name)
            continue
        cases.append((op, function, arrays))
    assert left_out == {*SKIPPED, "power", "reciprocal"}  # both of integers
    runners = compiled([function for _, function, _ in cases], tmp_path)
    for run, (op, function, arrays) in zip(runners, cases, strict=True):
        expected = [x.copy() for x in arrays]
        interpreter.run(function, [1], expected)
        run(function, [1], arrays)
        tolerance = 1e-5 if arrays[-1].dtype == np.float32 else 1e-12
        message = f"{op.name} of {arrays[0].dtype}"
        np.testing.assert_allclose(arrays[-1], expected[-1], tolerance, tolerance, err_msg=message)


def test_each_op_has_a_spelling_or_a_reason():
    kinds = list(map(np.dtype, ("float64", "int64", "bool")))
    spelled = {name for name in ROWS if any(spelling(name, kind) for kind in kinds)}
    assert spelled.isdisjoint(SKIPPED)
    assert spelled | set(SKIPPED) == set(ROWS)
