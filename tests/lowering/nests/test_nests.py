"""Nests of every kind of kernel, run by the interpreter, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.lowering.kernels import Kernel
from relgraph.lowering.loops.verify import verify
from relgraph.lowering.nests import nest_of
from tests.backends import programs
from tests.lowering.nests.evaluation import (
    PAST,
    PLAIN,
    SHORT,
    functions_of,
    kernels_of,
    layer_norm,
    run,
    softmax,
)

RNG = np.random.default_rng(12)
X, Y = RNG.normal(size=(2, 11, 6))
T = RNG.normal(size=(7, 2, 5))
V, W = RNG.normal(size=6), RNG.normal(size=11)
COLUMNS, ROWS = RNG.integers(0, 6, size=9), RNG.integers(0, 11, size=9)
U = RNG.normal(size=9)
M, B, R = RNG.normal(size=(83, 100)), RNG.normal(size=100), RNG.normal(size=83)  # not small


def _updated(a, v):
    out = np.array(a)
    out[1:-1, ::2] = v
    return out


def _added_at(v, i, u):
    out = np.array(v)
    np.add.at(out, i, u * 2)
    return out


# Of each kind: a function of variables, one of arrays, and the arrays.
CASES = {
    "a map": (lambda x, y: x * y + rg.exp(x), lambda x, y: x * y + np.exp(x), X, Y),
    "several maps": (lambda x, v: [x + v, x > v], lambda x, v: [x + v, x > v], X, V),
    "a transpose": (lambda x, y: x.T * y.T + 1, lambda x, y: x.T * y.T + 1, X, Y),
    "strides": (lambda x: rg.exp(x[::-1, ::2]) * 2, lambda x: np.exp(x[::-1, ::2]) * 2, X),
    "a column": (lambda x: x * x[:, :1] - x[3], lambda x: x * x[:, :1] - x[3], X),
    "a gather": (lambda v, i: v[i] * 2, lambda v, i: v[i] * 2, V, COLUMNS),
    "a gather of elements": (
        lambda x, j, i: x[j, i] + 1, lambda x, j, i: x[j, i] + 1, X, ROWS, COLUMNS,
    ),
    "a sum of all": (lambda x: rg.sum(rg.exp(x)), lambda x: np.exp(x).sum(), X),
    "a mean of columns": (lambda x: rg.mean(x * 2, axis=0), lambda x: (x * 2).mean(0), X),
    "sums in the middle": (lambda t: rg.sum(t, axis=1), lambda t: t.sum(1), T),
    "sums around the middle": (lambda t: rg.mean(t, axis=(0, 2)), lambda t: t.mean((0, 2)), T),
    "sums of rows": (lambda x: rg.sum(x * x, axis=1), lambda x: (x * x).sum(1), X),
    "means of rows": (lambda x: rg.mean(rg.exp(x), axis=1), lambda x: np.exp(x).mean(1), X),
    "extremes": (
        lambda x: [rg.max(x, axis=0), rg.min(x, axis=1), rg.max(x)],
        lambda x: [x.max(0), x.min(1), x.max()],
        X,
    ),
    "products of integers": (
        lambda i: [rnp.prod(i), rnp.sum(i + 1)], lambda i: [np.prod(i), np.sum(i + 1)], COLUMNS,
    ),
    "any and all": (
        lambda x: [rnp.any(x > 2, axis=0), rnp.all(x > -9, axis=1), rnp.any(x > 2)],
        lambda x: [np.any(x > 2, axis=0), np.all(x > -9, axis=1), np.any(x > 2)],
        X,
    ),
    "logsumexp of all": (rg.logsumexp, scipy.special.logsumexp, X),
    "a map that is reduced": (
        lambda x: [x + 1, rg.sum(x + 1)], lambda x: [x + 1, (x + 1).sum()], X,
    ),
    "softmax": (lambda x: rg.softmax(x, axis=-1), softmax, X),
    "softmax of three axes": (lambda t: rg.softmax(t, axis=-1), softmax, T),
    "layer norm": (layer_norm(rg), layer_norm(np), X),
    "cumulative sums": (
        lambda x: rg.exp(rg.cumsum(x * 2, axis=1)), lambda x: np.exp(np.cumsum(x * 2, axis=1)), X,
    ),
    "cumulative sums of columns": (
        lambda x: rg.cumsum(x * 2, axis=0) + 1, lambda x: np.cumsum(x * 2, axis=0) + 1, X,
    ),
    "a cumulative sum of a cumulative sum": (
        lambda v: rg.cumsum(rg.exp(rg.cumsum(v))), lambda v: np.cumsum(np.exp(np.cumsum(v))), V,
    ),
    "a cumulative sum that is reduced": (
        lambda x: rg.sum(rg.cumsum(x, axis=1) ** 2, axis=1),
        lambda x: (np.cumsum(x, axis=1) ** 2).sum(1),
        X,
    ),
    "a matrix and its transpose": (
        lambda x, v, w: x.T @ (rg.tanh(x @ v) - w),
        lambda x, v, w: x.T @ (np.tanh(x @ v) - w),
        M, B, R,
    ),
    "products that are reduced": (
        lambda x, v, w: [x.T @ (x @ v - w), rg.sum((x @ v - w) ** 2)],
        lambda x, v, w: [x.T @ (x @ v - w), ((x @ v - w) ** 2).sum()],
        M, B, R,
    ),
    "an update": (lambda x, y: x.at[1:-1, ::2].set(y[1:-1, ::2] * 2),
                  lambda x, y: _updated(x, y[1:-1, ::2] * 2), X, Y),
    "an update at indices": (lambda v, i, u: v.at[i].add(u * 2), _added_at, V, COLUMNS, U),
    "float32": (
        lambda x: rg.softmax(rg.cast(x, "float32"), axis=-1),
        lambda x: softmax(x.astype("float32")),
        X,
    ),
}  # fmt: skip


def inputs(arrays):
    return [rg.tensor(f"a{k}", shape=x.shape, dtype=x.dtype.name) for k, x in enumerate(arrays)]


def listed(x):
    return x if isinstance(x, list) else [x]


@pytest.mark.parametrize("variant", [PLAIN, SHORT, PAST])
@pytest.mark.parametrize("name", CASES)
def test_the_interpreter_computes_what_numpy_does(name, variant):
    build, meaning, *arrays = CASES[name]
    graph, steps = kernels_of(*listed(build(*inputs(arrays))))
    order = [int(x.name[1:]) for x in graph.inputs]
    found = run(graph, steps, [arrays[k] for k in order], lambda s: functions_of(s, variant))
    expected = listed(meaning(*arrays))
    assert any(isinstance(step, Kernel) for step in steps)
    tolerance = 1e-5 if name == "float32" else 1e-12
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=1e-11)


@pytest.mark.parametrize("seed", range(60))
def test_kernels_of_random_programs_keep_the_rules(seed):
    rng = np.random.default_rng(seed)
    variables, values = programs.inputs(rng, known=bool(seed % 2))
    steps = programs.program(rng, values, int(rng.integers(2, 12)))
    _, scheduled = kernels_of(*programs.results(steps, variables))
    for step in scheduled:
        for variant in (PLAIN, SHORT, PAST) if isinstance(step, Kernel) else ():
            for function in functions_of(step, variant):
                verify(function)


def test_the_cases_hold_each_kind_of_nest():
    kinds, short = set(), 0
    for build, _, *arrays in CASES.values():
        _, steps = kernels_of(*listed(build(*inputs(arrays))))
        for step in steps:
            if isinstance(step, Kernel):
                kinds.add(type(nest_of(step.structure)).__name__)
                short += functions_of(step, SHORT)[0].name == "short"
    assert kinds == {"Elements", "Rows", "Scans", "MatrixProducts", "Updates"}
    assert short > 3
