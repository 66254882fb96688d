"""Loops and choices of PyTensor, translated, and those of relgraph, dumped."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import UnsupportedOpError
from relgraph.ops.loops import Cond, Scan, WhileLoop

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")

import pytensor.tensor as pt  # noqa: E402
from pytensor.ifelse import ifelse  # noqa: E402
from pytensor.scan.utils import until  # noqa: E402

from relgraph.interop.pytensor import compile, dump, load  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS")

x, A = pt.dvector("x"), pt.dmatrix("A")
a, n = pt.dscalar("a"), pt.lscalar("n")
zero = pt.as_tensor(np.float64(0))
RNG = np.random.default_rng(0)
VALUES = {
    x: RNG.standard_normal(4), A: RNG.standard_normal((4, 4)) / 2, a: np.array(0.7),
    n: np.array(3),
}  # fmt: skip


def scan(f, outputs=None, sequences=None, **kwargs):
    return pytensor.scan(
        f, sequences=sequences, outputs_info=outputs, return_updates=False, **kwargs
    )


def rnn(x, h, A):
    h = pt.tanh(A @ h + x)
    return h, h.sum(), 2 * x


def weighted(p, q, c):
    return c * p + q


CUMSUM = scan(lambda x, c: c + x, [zero], [x])
AR = scan(
    lambda e, p, q, a: a * p - 0.5 * q + e, [{"initial": x[:2], "taps": [-1, -2]}], [x],
    non_sequences=[a],
)  # fmt: skip
GAP = scan(lambda e, p, q: a * p - q + e, [{"initial": x[:3], "taps": [-1, -3]}], [x])
RNN = scan(rnn, [x, None, None], [x], non_sequences=[A])
POWERS = scan(lambda c: a * c, [x], n_steps=n)
BACKWARDS = scan(lambda x, c: a * c + x, [zero], [x], go_backwards=True)
NESTED = scan(
    lambda row, c: c + scan(lambda e, s: a * s + e, [zero], [row])[-1], [zero], [A]
)  # fmt: skip
UNTIL = scan(lambda x, c: (c + x**2, until(c + x**2 > 0.05)), [zero], [x])
DOUBLED = scan(lambda c: ([2 * c, c.sum()], until(c.sum() > 3)), [pt.abs(x), None], n_steps=20)

LOOPS = {
    "cumulative sum": CUMSUM,
    "autoregression": AR,
    "taps with a gap": GAP,
    "several outputs": RNN,
    "a number of steps": (POWERS, scan(lambda c: c / 2, [x], n_steps=3)),
    "no state": scan(lambda: 2 * a, [None], n_steps=n),
    "no step": scan(lambda c: c / 2, [x], n_steps=n - 3)[1:],
    "backwards": BACKWARDS,
    "taps of sequences": scan(weighted, [zero], [{"input": x, "taps": [-1, 1]}]),
    "nested": NESTED,
    "map and reduce": (
        pytensor.map(lambda x, y: x * y, [x, A], return_updates=False),
        pytensor.reduce(lambda x, y: x * y, x, zero + 1, return_updates=False),
    ),
    "last values": (CUMSUM[-1], POWERS[-1], RNN[0][-1], GAP[-1], GAP[1:-1], AR[-2]),
    "until a condition holds": UNTIL,
    "until a condition holds, vectors": DOUBLED,
    "never ending early": scan(lambda c: (c + 1, until(c > 99)), [a], n_steps=n),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_have_the_values_of_pytensor(name):
    outputs = LOOPS[name]
    agree(list(outputs) if isinstance(outputs, list | tuple) else [outputs])


def agree(outputs):
    expected = pytensor.function(
        list(VALUES), outputs, mode="FAST_COMPILE", on_unused_input="ignore"
    )(*VALUES.values())
    images = {}
    graphs = load(outputs, images)
    values = {images[v]: value for v, value in VALUES.items() if v in images}
    for target, mode in (("numpy", None), ("cpu", "fast_run")):
        results = rg.evaluate(graphs, values, target=target, mode=mode)
        for graph, result, value in zip(graphs, results, expected, strict=True):
            assert np.shape(result) == value.shape
            assert graph.dtype == value.dtype
            np.testing.assert_allclose(result, value, rtol=1e-10, atol=1e-13)


GRADIENTS = {
    "cumulative sum": CUMSUM,
    "autoregression": AR,
    "taps with a gap": GAP,
    "several outputs": pt.concatenate([RNN[0].ravel(), RNN[1], RNN[2].ravel()]),
    "a number of steps": POWERS,
    "backwards": BACKWARDS,
    "nested": NESTED,
    "until a condition holds": UNTIL,
    "until a condition holds, vectors": DOUBLED[0],
    "truncated": scan(lambda x, c: a * c + x, [zero], [x], truncate_gradient=2),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_loops_have_the_values_of_pytensor(name):
    states = GRADIENTS[name]
    for loss in ((states**2).sum(), (states[-1] ** 2).sum()):
        agree(pytensor.grad(loss, [x, a, A], disconnected_inputs="ignore"))


def test_second_derivatives_of_loops():
    agree([pytensor.gradient.hessian((AR**2).sum(), x)])


@pytest.mark.parametrize("name", ["autoregression", "several outputs", "nested"])
def test_graphs_that_pytensor_has_rewritten_load(name):
    """Its rewrites shorten the buffers of which only the last values are read."""
    states = GRADIENTS[name]
    outputs = [states[-1], *pytensor.grad(states[-1].sum(), [x, a], disconnected_inputs="ignore")]
    mode = pytensor.compile.mode.Mode(linker="py", optimizer="fast_run")
    function = pytensor.function([x, a, A], outputs, mode=mode, on_unused_input="ignore")
    expected = function(VALUES[x], VALUES[a], VALUES[A])
    images = {}
    graphs = load(list(function.maker.fgraph.outputs), images)
    values = dict(zip(function.maker.fgraph.inputs, map(VALUES.get, (x, a, A)), strict=True))
    results = rg.evaluate(graphs, {images[v]: values[v] for v in values if v in images})
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-10)


def test_what_a_step_reads_of_a_buffer_is_carried():
    (loop,) = [v for v in rg.FunctionGraph(None, load(GAP[-1])) if isinstance(v.op, Scan)]
    assert (loop.op.carries, loop.op.sequences) == (3, 1)
    assert str(load(GAP[-1])).startswith("getitem(scan(")


def test_choices():
    chosen = [
        ifelse(pt.gt(a, 0), x, 2 * x), ifelse(pt.gt(a, 1), x[1:], pt.exp(x)),
        *ifelse(pt.gt(a, 1), [x, a], [2 * x, 3 * a]),
        scan(lambda x, c: ifelse(pt.gt(x, 0), c + x, c), [zero], [x]),
    ]  # fmt: skip
    agree(chosen)
    agree([pytensor.grad(chosen[0].sum(), x)])
    assert any(isinstance(v.op, Cond) for v in rg.FunctionGraph(None, load(chosen[0])))


def test_only_one_side_of_a_choice_is_computed():
    wrong = pt.linalg.cholesky(-A @ A.T)
    choice = load(ifelse(pt.gt(a, 0), A, wrong))
    function = rg.function(None, choice)
    assert function(**{v.name: VALUES[{"a": a, "A": A}[v.name]] for v in function.inputs}).shape


def in_the_mode(*args, **kwargs):
    return pytensor.function(*args, mode="RELGRAPH", **kwargs)


@pytest.mark.parametrize("make", [compile, in_the_mode])
def test_shared_variables_that_a_loop_updates(make):
    w = pytensor.shared(np.float64(2.0), name="w")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTensor changes what scan returns
        states, updates = pytensor.scan(lambda x: (w * x, {w: w + x}), sequences=[x])
    function = make([x], states, updates=updates)
    assert function(np.array([1.0, 2.0])).tolist() == [2.0, 6.0]
    assert w.get_value() == 5.0


def test_all_unsupported_ops_of_bodies_are_listed_at_once():
    steps = scan(lambda c, s: c + pt.random.normal(), [zero], [x])
    steps = scan(lambda c: c + pt.searchsorted(x, c).sum(), [x], n_steps=2) + steps[-1]
    with pytest.raises(UnsupportedOpError) as caught:
        load(steps)
    assert dict(caught.value.facts).keys() >= {"SearchsortedOp"}
    assert "Scan" not in dict(caught.value.facts)


u, B = rg.vector("u"), rg.matrix("B", (3, 3))
s, k = rg.scalar("s"), rg.scalar("k", "int64")
KNOWN = {u: RNG.standard_normal(4), B: RNG.standard_normal((3, 3)), s: np.array(0.3)}


def recurrence(**kwargs):
    last, stacked = rg.scan(lambda c, x: (s * c + x, (c, x * c)), 0.0, u, **kwargs)
    return [last, *stacked]


DUMPED = {
    "scan": recurrence(),
    "reverse": recurrence(reverse=True),
    "range": [rg.fori_loop(0, i, lambda i, v: B @ v + i, B[0]) for i in (k, 3)],
    "one step": [rg.scan(lambda c, _: (c + 1, c), s, length=1)[1]],
    "choice": [rg.cond(s > 0, lambda v: 2 * v, rg.exp, u)],
    "gradient": rg.grad(recurrence()[0], [u, s]),
}


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("name", DUMPED)
def test_pytensor_computes_dumped_loops(name, number):
    images = {}
    values = {**KNOWN, k: np.array(number)}
    outputs = dump(DUMPED[name], images)
    inputs = [v for v in values if v in images]
    function = pytensor.function([images[v] for v in inputs], outputs, mode="FAST_COMPILE")
    expected = rg.evaluate(DUMPED[name], values, target="numpy", mode=None)
    for result, value in zip(function(*map(values.get, inputs)), expected, strict=True):
        assert result.shape == np.shape(value)
        np.testing.assert_allclose(result, value, rtol=1e-10)


def test_loops_that_pytensor_lacks_are_listed():
    endless = rg.while_loop(lambda v: v < 9.0, lambda v: 2 * v, s)
    assert isinstance(endless.inputs[0].op, WhileLoop)
    with pytest.raises(UnsupportedOpError) as caught:
        dump([endless, rg.fori_loop(0, 3, lambda i, v: rg.copysign(v, s), s)])
    assert dict(caught.value.facts) == {
        "while_loop": "loops of PyTensor have a largest number of steps",
        "copysign": "PyTensor has no such op",
    }
