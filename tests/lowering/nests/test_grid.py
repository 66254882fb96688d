"""Nests of a GPU, run by the interpreter, against NumPy: kernels with groups of one thread."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.backends.cuda.arrays import Pool
from relgraph.backends.cuda.program import FUSION, CudaProgram
from relgraph.ir.node import Constant
from relgraph.lowering.kernels import Kernel
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.verify import verify
from relgraph.lowering.nests.grid import cumulative, extremes, moves, products
from relgraph.lowering.nests.grid.elements import GridElements, width
from relgraph.lowering.nests.grid.reductions import GridReductions, lanes_of, second_pass
from relgraph.lowering.nests.grid.rows import GridRows, kinds, vector_of
from relgraph.ops.cumulative import Cumulative
from tests.lowering.nests.evaluation import layer_norm, softmax

RNG = np.random.default_rng(31)
X, Y = RNG.normal(size=(2, 6, 8))
T = RNG.normal(size=(3, 4, 8))
V, C = RNG.normal(size=8), RNG.normal(size=(6, 1))
J = RNG.integers(-3, 4, size=(6, 8))
WIDE, NARROW = "vectors, in parts and in registers", "one element at a time"


# Of each kind: a function of variables, one of arrays, and the arrays.
CASES = {
    "a map": (lambda x, y: x * y + rg.exp(x), lambda x, y: x * y + np.exp(x), X, Y),
    "rows and columns": (lambda x, v, c: x * v + c, lambda x, v, c: x * v + c, X, V, C),
    "a row of a stack": (lambda t, y: t[:, :, :] * y[:4] + 1, lambda t, y: t * y[:4] + 1, T, Y),
    "several maps": (lambda x, v: [x + v, x > v], lambda x, v: [x + v, x > v], X, V),
    "a sum of all": (lambda x: rg.sum(rg.exp(x)), lambda x: np.exp(x).sum(), X),
    "sums of rows": (lambda x: rg.sum(x * x, axis=1), lambda x: (x * x).sum(1), X),
    "means of columns": (lambda x: rg.mean(x * 2, axis=0), lambda x: (x * 2).mean(0), X),
    "sums in the middle": (lambda t: rg.sum(t, axis=1), lambda t: t.sum(1), T),
    "sums around the middle": (lambda t: rg.mean(t, axis=(0, 2)), lambda t: t.mean((0, 2)), T),
    "extremes": (
        lambda x: [rg.max(x, axis=0), rg.min(x, axis=1), rg.max(x)],
        lambda x: [x.max(0), x.min(1), x.max()],
        X,
    ),
    "integers": (
        lambda i: [rnp.prod(i, axis=1), rnp.sum(i + 1), rnp.max(i, axis=0)],
        lambda i: [np.prod(i, axis=1), np.sum(i + 1), np.max(i, axis=0)],
        J,
    ),
    "any and all": (
        lambda x: [rnp.any(x > 1, axis=0), rnp.all(x > -2, axis=1)],
        lambda x: [np.any(x > 1, axis=0), np.all(x > -2, axis=1)],
        X,
    ),
    "a map that is reduced": (
        lambda x: [x + 1, rg.sum(x + 1)], lambda x: [x + 1, (x + 1).sum()], X,
    ),
    "softmax": (lambda x: rg.softmax(x, axis=-1), softmax, X),
    "softmax of three axes": (lambda t: rg.softmax(t, axis=-1), softmax, T),
    "normalised rows": (layer_norm(rg), layer_norm(np), X),
    "float32": (
        lambda x: rg.softmax(rg.cast(x, "float32"), axis=-1),
        lambda x: softmax(x.astype("float32")),
        X,
    ),
}  # fmt: skip


@pytest.mark.parametrize("variant", [WIDE, NARROW])
@pytest.mark.parametrize("name", CASES)
def test_nests_compute_what_numpy_does(name, variant):
    build, meaning, *arrays = CASES[name]
    inputs = [rg.tensor(f"a{k}", shape=x.shape, dtype=x.dtype) for k, x in enumerate(arrays)]
    found = build(*inputs)
    program = CudaProgram(
        rg.FunctionGraph(inputs, found if isinstance(found, list) else [found]), FUSION, Pool()
    )
    values = dict(zip(program._graph.inputs, arrays, strict=True))
    assert any(isinstance(step, Kernel) for step in program.steps)
    for step in program.steps:
        compute(step, values, variant == WIDE)
    expected = meaning(*arrays)
    expected = expected if isinstance(expected, list) else [expected]
    tolerance = 1e-5 if name == "float32" else 1e-12
    for x, y in zip(program._graph.outputs, expected, strict=True):
        np.testing.assert_allclose(value(x, values), y, rtol=tolerance, atol=1e-12)


def value(x, values):
    if isinstance(x, Constant):
        return np.asarray(x.value)
    if x not in values:
        values[x] = np.asarray(x.op.perform(*[value(y, values) for y in x.inputs]))
    return values[x]


def compute(step, values, wide):
    """Compute the results of a step, a kernel by the interpreter."""
    if not isinstance(step, Kernel):
        value(step.node, values)
        return
    s = step.structure
    arrays = [np.ravel(value(x, values)) for x in step.arrays]
    arrays += [np.array([x.uniform for x in xs], dtype) for dtype, xs in step.slots.items()]
    groups = [prod([int(step.shape[axis]) for axis in group]) for group in step.groups]
    k = prod([n for n, r in zip(groups, s.reduced, strict=True) if not r])
    m = prod([n for n, r in zip(groups, s.reduced, strict=True) if r])
    if s.passes and kinds(s) is None:
        for part in step.parts:
            compute(part, values, wide)
        return
    stored = [np.full(x.type.shape, 77, x.dtype) for x in step.stored]
    folded = [np.full(x.type.shape, 77, x.dtype) for x in step.folded]
    flat = [x.reshape(-1) for x in stored]
    if s.passes:
        lanes = vector_of(s) if wide and m % vector_of(s) == 0 else 1
        run(GridRows(s, lanes, m if wide else 0).kernel("f"), [k, m], [*arrays, *flat])
    elif s.folds:
        reduce(s, [k, m, *groups], [*arrays, *flat], folded, wide)
    else:
        vectors = k // width(s) if wide and groups[-1] % width(s) == 0 else 0
        vectors = vectors if width(s) > 1 else 0
        run(GridElements(s).kernel("f"), [k, vectors, *groups], [*arrays, *flat])
    values.update(zip((*step.stored, *step.folded), (*stored, *folded), strict=True))


def reduce(s, sizes, arrays, folded, wide):
    k, m, *groups = sizes
    lanes = lanes_of(s)
    part = -(-m // (2 * lanes)) * lanes if wide else m
    parts = -(-m // part)
    nest = GridReductions(s)
    pairs = [
        (x.reshape(-1), np.full(k * parts, 77, partial.dtype))
        for x, (_, partial) in zip(folded, nest.results, strict=True)
    ]
    results = [x for pair in pairs for x in pair]
    vectors = int(wide and m % lanes == 0)
    run(nest.kernel("f"), [k, m, parts, part, vectors, *groups], [*arrays, *results])
    if parts > 1:
        run(second_pass(s.folds, "g"), [k, parts, m], results)


def run(function, integers, arrays):
    verify(function)
    interpreter.run(function, integers, arrays)


# Kernels of single ops.

EVERY_KIND = ("float32", "int64", "bool")


def elements(dtype, shape):
    return (RNG.normal(size=shape) * 3).round().astype(dtype)


@pytest.mark.parametrize("dtype", EVERY_KIND)
def test_copies_and_transpositions(dtype):
    x, o = elements(dtype, (5, 6)), np.zeros(12, dtype)
    key = (slice(4, 1, -1), slice(1, 5, 1))
    run(moves.copy(dtype, 2), [12, 4 * 6 + 1, 0, 3, -6, 4, 4, 1, 1], [x.ravel(), o])
    np.testing.assert_array_equal(o.reshape(3, 4), x[key])
    batch, o = elements(dtype, (2, 7, 5)), np.zeros(70, dtype)
    run(moves.transpose(dtype, 4), [2, 5, 7, 0, 35, 5], [batch.ravel(), o])
    np.testing.assert_array_equal(o.reshape(2, 5, 7), batch.swapaxes(1, 2))


@pytest.mark.parametrize("dtype", EVERY_KIND)
def test_gathers_and_scatters(dtype):
    x, places = elements(dtype, (3, 5, 2)), np.array([4, -1, 0, -5], "int32")
    flag, o = np.zeros(1, "int32"), np.zeros((3, 4, 2), dtype)
    arrays = [flag, x.ravel(), places, o.reshape(-1)]
    run(moves.gather(dtype, "int32"), [24, 4, 5, 2], arrays)
    np.testing.assert_array_equal(o, x[:, places])
    assert not flag[0]
    places[1] = 5
    run(moves.gather(dtype, "int32"), [24, 4, 5, 2], arrays)
    assert flag[0]
    index, v = np.array([4, 1, 4, 4]), elements(dtype, (3, 4, 2))
    order = np.argsort(index, kind="stable")
    changed, starts = np.unique(index[order], return_index=True)
    expected, o = x.copy(), x.copy()
    np.add.at(expected, (slice(None), index), v)
    tables = [changed, np.append(starts, 4), order]
    run(moves.scatter(dtype), [12, 2, 4, 5, 2], [*tables, v.ravel(), o.reshape(-1)])
    np.testing.assert_array_equal(o, expected)
    if dtype != "bool":
        o = x.copy()
        run(moves.atomic_scatter(dtype, "int64"), [24, 4, 5, 2], [index, v.ravel(), o.reshape(-1)])
        np.testing.assert_array_equal(o, expected)


@pytest.mark.parametrize("dtype", ["float64", "int64", "bool"])
def test_products(dtype):
    x, y = elements(dtype, (2, 5, 6)), elements(dtype, (6, 3))
    o = np.zeros(30, (x @ y).dtype)
    function = products.product(dtype, dtype, o.dtype.name, 1)
    run(function, [2, 5, 6, 3, 30, 0], [x.ravel(), y.ravel(), o])
    np.testing.assert_array_equal(o.reshape(2, 5, 3), x @ y)


@pytest.mark.parametrize("dtype", ["float64", "uint32", "int8", "bool"])
@pytest.mark.parametrize("largest", [True, False])
def test_places_of_extremes(dtype, largest):
    x = np.abs(elements(dtype, (3, 12, 2)))  # with many that are equal
    if dtype == "float64":
        x[1, 5:9, 0] = np.nan
    expected = (np.argmax if largest else np.argmin)(x, axis=1).ravel()
    whole, partial, joined = [np.zeros(n, np.int64) for n in (6, 18, 6)]
    search = extremes.extreme(dtype, largest, False)
    run(search, [6, 12, 1, 12, 12, 2], [x.ravel(), whole, whole])
    np.testing.assert_array_equal(whole, expected)
    run(search, [6, 12, 3, 5, 12, 2], [x.ravel(), partial, partial])
    run(extremes.extreme(dtype, largest, True), [6, 3, 1, 3, 12, 2], [x.ravel(), partial, joined])
    np.testing.assert_array_equal(joined, expected)


@pytest.mark.parametrize("dtype", ["float64", "int64", "bool"])
@pytest.mark.parametrize("cls", Cumulative.__subclasses__(), ids=lambda cls: cls.name)
def test_cumulative_ops(cls, dtype):
    x, op = elements(dtype, (3, 10)), cls(-1)
    if dtype == "float64":
        x[:, 0] = -0.0
    expected = op.perform(x)
    names = op, dtype, expected.dtype.name
    o = np.zeros((3, 10), expected.dtype)
    run(cumulative.columns(*names), [3, 10, 1], [x.ravel(), o.reshape(-1)])
    assert o.tobytes() == expected.tobytes()
    kind = cumulative.rows(*names).arrays[1].dtype
    totals, o = np.zeros((3, 2), kind), np.zeros((3, 10), expected.dtype)
    run(cumulative.totals(*names), [3, 10, 2, 6], [x.ravel(), totals.reshape(-1)])
    running = op.ufunc.accumulate(totals, axis=1).astype(kind)
    arrays = [x.ravel(), running.reshape(-1), o.reshape(-1)]
    run(cumulative.rows(*names), [3, 10, 2, 6], arrays)
    np.testing.assert_allclose(o, expected, rtol=1e-14)
    np.testing.assert_array_equal(np.signbit(o), np.signbit(expected)) if dtype[0] == "f" else None
