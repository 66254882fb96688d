"""Schedules: order, limits, regular cuts and memory, on random graphs; and that they compute."""

import numpy as np
import pytest

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.backends.numba.compiler import NumbaBackend
from relgraph.backends.numba.schedules import FUSION
from relgraph.ir.graph import FunctionGraph, toposort
from relgraph.ir.node import Constant, Input, make_input
from relgraph.ir.types import TensorType
from relgraph.lowering.buffers import last_reads, plan
from relgraph.lowering.kernels import Call, Kernel, schedule
from relgraph.lowering.products import join_products
from relgraph.lowering.regions import Fusion, Regions
from relgraph.lowering.rows import join_rows
from relgraph.lowering.sizes import Sizes
from relgraph.numpy import reductions
from relgraph.ops.elementwise import Elementwise

add, multiply, sin = Elementwise("add"), Elementwise("multiply"), Elementwise("sin")


def limited(**changes):
    return Fusion(**{**vars(FUSION), **changes})


def random_graph(seed, size=60, unknown=False):
    """Return a graph in which maps, reductions, products and views of several shapes meet."""
    rng = np.random.default_rng(seed)
    dims = (None, None) if unknown else ("n", "n")
    values = [
        make_input("a", TensorType("float64", dims)),
        make_input("b", TensorType("float64", ("n",))),
        make_input("c", TensorType("float64", ("n", 1))),
    ]
    inputs = list(values)
    for _ in range(size):
        x, y = (values[int(rng.integers(max(0, len(values) - 12), len(values)))] for _ in "xy")
        kind = rng.integers(8)
        if kind < 4:
            values.append(Elementwise(["add", "maximum", "subtract", "minimum"][kind])(x, y))
        elif kind == 4:
            values.append(sin(x))
        elif kind == 5 and x.ndim == 2:
            name = ["mean", "max", "min"][int(rng.integers(3))]
            values.append(getattr(reductions, name)(x, axis=int(rng.integers(2))))
        elif kind == 6 and x.ndim == 2 and 1 not in x.type.shape:
            values.append(x.T)
        elif kind == 7 and x.ndim == 2 and 1 not in x.type.shape:
            values.append(sin(x @ x))
    picks = rng.choice(len(values), size=4, replace=False)
    return FunctionGraph(inputs, [*(values[i] for i in picks), values[-1]])


def numpy_values(graph, arrays):
    """Compute a graph node by node."""
    done = dict(zip(graph.inputs, arrays, strict=True))
    for x in toposort(graph.outputs):
        if isinstance(x, Constant):
            done[x] = x.value
        elif not isinstance(x, Input):
            done[x] = x.op.perform(*[done[i] for i in x.inputs])
    return [done[x] for x in graph.outputs]


@pytest.mark.parametrize("seed", range(30))
def test_steps_follow_what_they_read_and_compute_all_that_is_read(seed):
    graph = random_graph(seed)
    for fusion in (FUSION, limited(limit=3), limited(budget=5), limited(arrays=4)):
        steps = schedule(graph, fusion)
        known = {*graph.inputs}
        for step in steps:
            assert all(x in known or isinstance(x, Constant) for x in step.reads)
            assert not known & set(step.results)
            known.update(step.results)
        assert known.issuperset(x for x in graph.outputs if not isinstance(x, Constant))
        computed = [x for s in steps for x in (s.nodes if isinstance(s, Kernel) else (s.node,))]
        assert len(computed) == len(set(computed)) == sum(x.op is not None for x in graph)


@pytest.mark.parametrize("seed", range(30))
def test_no_memory_is_taken_over_while_it_is_read(seed):
    graph = random_graph(seed)
    steps = schedule(graph, limited(limit=4))
    memory = plan(graph, steps, Sizes(graph, steps))
    last = last_reads(graph, steps)
    made = {x: i for i, step in enumerate(steps) for x in step.results}
    viewed = {
        x for s in steps if isinstance(s, Call) and s.node.op.name != "matmul" for x in s.reads
    }
    for new, old in memory.takes.items():
        step = steps[made[new]]
        if last[old] == made[new]:  # written over by the kernel that reads it, element by element
            assert isinstance(step, Kernel)
            assert new in step.stored
            assert old.type.shape == step.shape == new.type.shape
        else:
            assert last[old] < made[new]
        assert old not in graph.outputs
        assert not isinstance(old, Input | Constant)
        assert old not in viewed
    assert len(set(memory.takes.values())) == len(memory.takes)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("unknown", [False, True])
def test_random_graphs_compute_what_numpy_does(seed, unknown):
    graph = random_graph(seed, size=40, unknown=unknown)
    rng = np.random.default_rng(seed)
    single = NumbaBackend(limited(limit=1, arrays=3)).compile(graph)
    fused = NumbaBackend().compile(graph)
    for n in (3, 1, 6):
        arrays = [rng.uniform(-0.5, 0.5, shape) for shape in ((n, n), (n,), (n, 1))]
        expected = numpy_values(graph, arrays)
        for program in (single, fused):
            for result, value in zip(program(arrays), expected, strict=True):
                np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-9)


def test_a_map_with_two_readers_runs_with_the_first():
    x = make_input("x", TensorType("float64", ("n", "n")))
    e = sin(x)
    graph = FunctionGraph([x], [add(multiply(e, x), e @ e)])
    first, product, last = schedule(graph, FUSION)
    assert isinstance(product, Call)
    assert [len(step.nodes) for step in (first, last)] == [1, 2]


def test_softmax_takes_three_loops():
    x = make_input("x", TensorType("float64", ("n", "m")))
    shifted = x - reductions.max(x, axis=-1, keepdims=True)
    e = Elementwise("exp")(shifted)
    steps = schedule(FunctionGraph([x], [e / reductions.sum(e, axis=-1, keepdims=True)]), FUSION)
    assert [len(step.nodes) for step in steps] == [1, 3, 1]


def test_kernels_keep_their_limit():
    x = make_input("x", TensorType("float64", ("n",)))
    node = x
    for i in range(700):
        node = Elementwise(["sin", "exp", "negative"][i * i % 3])(node)
    steps = schedule(FunctionGraph([x], [node]), FUSION)
    for step in steps:
        assert sum(map(FUSION.weight, step.nodes)) <= FUSION.limit
    many = [make_input(f"y{i}", TensorType("float64", ("n",))) for i in range(100)]
    total = x
    for y in many:
        total = total + y
    for step in schedule(FunctionGraph([x, *many], [total]), FUSION):
        assert len(step.arrays) + len(step.results) <= FUSION.arrays + 2


@pytest.mark.parametrize("period", [1, 2, 3, 7, 13, 60])
def test_periodic_chains_share_one_kernel(period):
    x = make_input("x", TensorType("float64", ("n",)))
    rng = np.random.default_rng(period)
    ops = [int(k) for k in rng.integers(3, size=period)]
    node = sin(x)
    for i in range(3000):
        node = [node + float(i), node * x, sin(node)][ops[i % period]]
    steps = schedule(FunctionGraph([x], [node]), FUSION)
    assert len({step.structure for step in steps}) <= 3
    assert len(steps) >= 3000 // FUSION.limit


def test_the_period_is_the_smallest_distance_of_repetition():
    x = make_input("x", TensorType("float64", ("n",)))
    node = x
    for i in range(300):
        node = sin(node * 2.0 + float(i))
    regions = Regions(FunctionGraph([x], [node]), FUSION)
    (region,) = regions.groups()
    assert regions.period(region) == 3


def test_long_graphs_are_scheduled_without_recursion():
    x = make_input("x", TensorType("float64", ("n",)))
    node = x
    for i in range(30_000):
        node = sin(node) * x + float(i % 17)
    steps = schedule(FunctionGraph([x], [node]), FUSION)
    assert len({step.structure for step in steps}) == 3  # the first, the last, and all others


def layered(seed, size=250):
    """Return a graph of rows, their reductions and products, whose steps often share a matrix."""
    draw = np.random.default_rng(seed)
    S, U = (make_input(name, TensorType("float64", (6, 6))) for name in "SU")
    vectors, matrices = [make_input("v", TensorType("float64", (6,)))], [S]
    for kind in draw.integers(7, size=size):
        v, w = (vectors[int(i)] for i in draw.integers(max(0, len(vectors) - 12), len(vectors), 2))
        x = matrices[int(draw.integers(max(0, len(matrices) - 12), len(matrices)))]
        if kind < 3:
            vectors.append([S, S.mT, U][kind] @ v)
        elif kind == 3:
            vectors.append(sin(v) * w)
        elif kind == 4:
            vectors.append(reductions.sum(x, axis=1))
        elif kind == 5:
            matrices.append(x - reductions.max(x, axis=1, keepdims=True) * v)
        else:
            vectors.append(v * reductions.sum(v * w))
    return FunctionGraph(None, [*vectors[-12:], *matrices[-12:]])


@pytest.mark.parametrize("seed", [*range(10), 30, 50])
def test_joined_steps_never_wait_for_each_other(seed):
    graph = layered(seed)
    steps = join_rows(graph, schedule(graph, FUSION), FUSION)
    steps = join_products(graph, steps, FUSION)
    known = {*graph.inputs}
    for step in steps:
        assert all(x in known or isinstance(x, Constant) for x in step.reads)
        known.update(step.results)
    assert known.issuperset(graph.outputs)


def test_steps_far_apart_join_where_nothing_lies_between():
    X = make_input("X", TensorType("float64", ("n", 8)))
    y = make_input("y", TensorType("float64", (8,)))
    chain = y
    for _ in range(700):
        chain = sin(chain @ make_input("W", TensorType("float64", (8, 8))))
    residual = X @ (y * chain)
    graph = FunctionGraph(None, [chain, X.mT @ sin(residual)])
    steps = join_products(graph, schedule(graph, FUSION), FUSION)
    (kernel,) = [s for s in steps if isinstance(s, Kernel) and s.structure.products is not None]
    assert set(kernel.results) == {X.mT @ sin(residual)}
