"""Cheap values of which kernels read shifted parts are computed where they are read."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba.schedules import FUSION
from relgraph.lowering.recomputation import recomputed

RNG = np.random.default_rng(10)
N = 5000
u = rg.vector("u", N)
a = rg.scalar("a")
S = rg.matrix("S", (80, 90))
row = rg.matrix("row", (1, 90))


def differences(f):
    return f[1:] - f[:-1]


def along_rows(f):
    return f[:, 1:] - f[:, :-1]


def flux(x):
    g = x[1:] - x[:-1]
    return a * g * x[:-1]


F, DOUBLE = u * a, S[1:] * 2 - S[:-1]
PAIRS = u * u + 1.0
GRAPHS = {
    "flux": (rg.sqrt(rg.absolute(differences(flux(u)))), 1),
    "limited": (differences(rg.where(u > a, u, a * u)), 1),
    "plane": (S[1:-1, 1:-1] + (DOUBLE[1:, 1:-1] - DOUBLE[:-1, 1:-1]), 1),
    "broadcast": (along_rows(S * row), 1),
    "strides": (PAIRS[::2] + PAIRS[1::2], 1),
    "dtypes": (differences(u.astype("float32") * 2), 1),
    "three parts": (F[2:] - 2 * F[1:-1] + F[:-2], 1),
    "of differences": (differences(differences(F) * u[1:]), 2),
}
STORED = {
    "an output": [F, differences(F)],
    "six parts": sum([F[k : N - 5 + k] for k in range(6)]),
    "many operations": differences(u * a * u * a * u * a * u * a * u * a * u * a * u * a),
    "a function": differences(rg.exp(u)),
    "a quotient": differences(u / a),
    "many arrays": differences(sum([rg.vector(f"v{k}", N) for k in range(7)])),
    "of quotients": differences(u / a + a / u),
    "of functions": differences(rg.exp(u) * 2 + rg.sqrt(u)),
    "read whole": F[1:] - F[:-1] + rg.sum(F),
    "small": differences(rg.vector("v", 100) * a),
    "unknown": differences(rg.vector("w", "n") * a),
    "indices": F[1:] - F[:-1][np.arange(N - 1)],
}


def arguments(graph):
    return [RNG.uniform(0.5, 1.5, x.type.shape).astype(x.dtype) for x in graph.inputs]


@pytest.mark.parametrize("name", GRAPHS)
def test_values_are_those_of_numpy(name):
    node, _ = GRAPHS[name]
    graph = rg.FunctionGraph(None, [node])
    values = arguments(graph)
    (expected,) = rg.function(graph.inputs, graph.outputs, target="numpy", mode=None)(*values)
    (found,) = rg.function(graph.inputs, graph.outputs, mode=None)(*values)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", GRAPHS)
def test_parts_are_computed_in_one_kernel(name):
    node, kernels = GRAPHS[name]
    graph = rg.FunctionGraph(None, [node])
    assert recomputed(graph, FUSION) is not graph
    f = rg.function(graph.inputs, graph.outputs, mode=None)
    assert len(f.report().kernels) == kernels


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored(name):
    node = STORED[name]
    graph = rg.FunctionGraph(None, node if isinstance(node, list) else [node])
    assert recomputed(graph, FUSION) is graph
