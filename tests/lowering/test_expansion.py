"""Ops of a whole axis, written out: the same values as SciPy, and as NumPy for special ones."""

import numpy as np
import pytest
import scipy.special

import relgraph as rg
import relgraph.numpy.operators
from relgraph.ir.graph import FunctionGraph, toposort
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.lowering.expansion import EXPANSIONS, expanded, joins_as_updates, reduced_once
from relgraph.numpy import reductions
from relgraph.ops.concatenate import Concatenate, Stack, concatenate, stack
from relgraph.ops.reductions import Sum

INF, NAN = np.inf, np.nan


def evaluate(graph, array):
    """Compute the one output of a graph by the NumPy meaning of its ops."""
    done = {graph.inputs[0]: array}
    for x in toposort(graph.outputs):
        if x.op is not None:
            with np.errstate(all="ignore"):
                done[x] = x.op.perform(*[done[i] for i in x.inputs])
        elif x not in done:
            done[x] = x.value
    return done[graph.outputs[0]]


def written_out(name, dtype, shape, **parameters):
    x = make_input("x", TensorType(dtype, shape))
    graph = expanded(FunctionGraph([x], [getattr(reductions, name)(x, **parameters)]))
    assert not any(type(node.op) in EXPANSIONS for node in graph)
    return graph


def log_softmax(x, axis):
    with np.errstate(all="ignore"):
        return scipy.special.log_softmax(x, axis=axis)


MEANINGS = {
    "softmax": lambda x, axis: scipy.special.softmax(x, axis=axis),
    "log_softmax": log_softmax,
    "logsumexp": lambda x, axis: scipy.special.logsumexp(x, axis=axis),
}


@pytest.mark.parametrize("name", MEANINGS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_it_computes_what_scipy_does(name, dtype):
    a = (np.random.default_rng(0).normal(size=(3, 4, 5)) * 30).astype(dtype)
    wide = a if a.dtype.kind == "f" else a.astype(float)
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    for axis in (-1, -2, -3):
        result = evaluate(written_out(name, dtype, ("n", "m", 5), axis=axis), a)
        expected = np.asarray(MEANINGS[name](wide, axis))
        assert result.dtype == wide.dtype
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("axis", [None, (-1,), (-3, -1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_over_several_axes(axis, keepdims):
    a = np.random.default_rng(1).normal(size=(2, 3, 4))
    graph = written_out("logsumexp", "float64", (2, "m", 4), axis=axis, keepdims=keepdims)
    expected = scipy.special.logsumexp(a, axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(evaluate(graph, a), expected, rtol=1e-14)
    assert graph.outputs[0].ndim == np.ndim(expected)


@pytest.mark.parametrize(
    ("row", "total"),
    [
        ([-INF, -INF], -INF), ([INF, 1.0], INF), ([INF, INF], INF), ([INF, -INF], INF),
        ([NAN, 1.0], NAN), ([NAN, INF], NAN), ([1e308, 1e308], 1e308), ([-1e308, -1e308], -1e308),
    ],
)  # fmt: skip
def test_infinite_and_undefined_operands(row, total):
    a = np.array([row])
    result = evaluate(written_out("logsumexp", "float64", ("n", "m"), axis=-1), a)
    np.testing.assert_array_equal(result, [total])
    with np.errstate(all="ignore"):
        top = np.max(a)
        weights = np.exp(a - top) / (top if top == INF else np.sum(np.exp(a - top)))
        shift = top if np.isfinite(top) else 0.0
        logs = a - shift - np.log(np.sum(np.exp(a - shift)))
    result = evaluate(written_out("softmax", "float64", ("n", "m")), a)
    np.testing.assert_array_equal(result, weights)
    result = evaluate(written_out("log_softmax", "float64", ("n", "m")), a)
    np.testing.assert_array_equal(result, logs)


def test_over_no_elements():
    empty = np.empty((2, 0))
    for name, expected in [("logsumexp", np.full(2, -INF)), ("softmax", empty)]:
        result = evaluate(written_out(name, "float64", ("n", "m"), axis=-1), empty)
        np.testing.assert_array_equal(result, expected)
    assert evaluate(written_out("logsumexp", "float64", (2, 0), axis=None), empty) == -INF


def test_what_is_not_wanted_stays():
    x = make_input("x", TensorType("float64", ("n",)))
    graph = FunctionGraph([x], [reductions.softmax(x)])
    assert expanded(graph, lambda node: False) is graph
    plain = FunctionGraph([x], [reductions.sum(x)])
    assert expanded(plain) is plain


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_short_joins_are_updates_of_the_same_value(dtype):
    x = make_input("x", TensorType(dtype, (3,)))
    joined = concatenate([x, x[:1], stack([x[0], x[2]])])
    graph = joins_as_updates(FunctionGraph([x], [joined]))
    assert not any(isinstance(node.op, Concatenate | Stack) for node in graph)
    array = np.array([2, 0, 1]).astype(dtype)
    result = evaluate(graph, array)
    np.testing.assert_array_equal(result, np.array([2, 0, 1, 2, 2, 1]).astype(dtype), strict=True)


@pytest.mark.parametrize(
    "join",
    [
        lambda x, u, A: concatenate([x, u]),  # of unknown size
        lambda x, u, A: concatenate([A, A], axis=1),
        lambda x, u, A: concatenate([x] * 65),
        lambda x, u, A: concatenate([x, np.zeros(5000)]),
        lambda x, u, A: concatenate([x, x[:0]]),
    ],
)
def test_other_joins_stay(join):
    x = make_input("x", TensorType("float64", (3,)))
    u = make_input("u", TensorType("float64", (None,)))
    A = make_input("A", TensorType("float64", (2, 2)))
    graph = FunctionGraph([x, u, A], [join(x, u, A)])
    assert joins_as_updates(graph) is graph


def test_what_is_reduced_with_and_without_its_axes_is_reduced_once():
    x = rg.tensor("x", shape=("n", "m", 3))
    total, along = rg.sum(x, axis=(0, 2)), rg.sum(x, axis=(0, 2), keepdims=True)
    outputs = [total, x - along, rg.max(x, axis=1, keepdims=True)]
    graph = reduced_once(rg.FunctionGraph([x], outputs))
    sums = [node for node in graph if isinstance(node.op, Sum)]
    assert [node.op.params[1] for node in sums] == [False]
    value = np.random.default_rng(2).normal(size=(4, 5, 3))
    found = rg.evaluate(list(graph.outputs), {x: value})
    assert len(found) == 3
    sums_along = value.sum((0, 2), keepdims=True)
    for a, b in zip(found, (value.sum((0, 2)), value - sums_along), strict=False):
        np.testing.assert_allclose(a, b, rtol=1e-13)
        assert a.shape == b.shape


def test_results_stay_apart_where_an_array_is_reduced_once():
    x = rg.tensor("x", shape=("n", "m"))
    graph = rg.FunctionGraph([x], [rg.sum(x, axis=1), rg.sum(x, axis=1, keepdims=True)])
    assert reduced_once(graph) is graph
    one, other = rg.function([x], list(graph.outputs))(np.ones((3, 4)))
    assert not np.shares_memory(one, other)
