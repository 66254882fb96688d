"""Row fusion: kernels over the same rows become one, and what it keeps from pass to pass."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.kernels import schedule
from relgraph.lowering.rows import join_rows
from tests.lowering.evaluation import check_run, check_structures, fusion, graph_of

X, Y = rg.matrices("X Y", ("n", "m"))
S = rg.matrix("S", ("n", "n"))
T = rg.tensor("T", ("k", "n", "m"))
v = rg.vector("v", "m")
RNG = np.random.default_rng(2)
ARRAYS = {
    "X": RNG.normal(size=(3, 4)), "Y": RNG.normal(size=(3, 4)), "S": RNG.normal(size=(3, 3)),
    "T": RNG.normal(size=(2, 3, 4)), "v": RNG.normal(size=4),
}  # fmt: skip


def shifted(x, axis=-1):
    return rg.exp(x - rg.max(x, axis=axis, keepdims=True))


def softmax(x, axis=-1):
    e = shifted(x, axis)
    return e / rg.sum(e, axis=axis, keepdims=True)


def joined(*outputs, **changes):
    graph = graph_of(*outputs)
    limits = fusion(**changes)
    return graph, join_rows(graph, schedule(graph, limits), limits)


def check(graph, steps):
    arrays = [ARRAYS[x.name] for x in graph.inputs]
    check_run(graph, steps, arrays)
    check_structures(graph, steps, arrays)


def test_softmax_is_one_kernel():
    graph, steps = joined(softmax(X))
    (kernel,) = steps
    assert len(kernel.parts) == 3
    assert kernel.results == graph.outputs
    check(graph, steps)


def test_softmax_passes_over_a_row_three_times():
    _, (kernel,) = joined(softmax(X))
    passes = [part for part in kernel.structure.passes if part.inner]
    assert len(passes) == 3
    assert [len(part.stores) for part in passes] == [0, 0, 1]


def test_softmax_over_columns_stays_three_kernels():
    graph, steps = joined(softmax(X, axis=0))
    assert len(steps) == 3
    assert not any(step.parts for step in steps)
    check(graph, steps)


def test_a_reduction_of_all_elements_is_no_row():
    _, steps = joined(X / rg.sum(X))
    assert not any(step.parts for step in steps)


def test_a_lone_reduction_stays_as_it_is():
    graph = graph_of(rg.sum(X, axis=1))
    steps = schedule(graph, fusion())
    assert join_rows(graph, steps, fusion()) == steps


def test_reductions_over_several_axes_are_rows():
    top = rg.max(T, axis=(1, 2), keepdims=True)
    graph, steps = joined(rg.sum(rg.exp(T - top), axis=(1, 2)))
    assert len(steps) == 1
    check(graph, steps)


def test_rows_of_different_sizes_are_not_joined():
    graph, steps = joined(rg.sum(S - rg.max(X, axis=1, keepdims=True), axis=1))
    assert not any(step.parts for step in steps)
    check(graph, steps)


def test_a_new_axis_between_two_kernels_is_joined():
    top = rg.expand_dims(rg.max(X, axis=1), -1)
    graph, steps = joined(rg.sum(X - top, axis=1))
    assert len(steps) == 1
    check(graph, steps)


def test_what_is_computed_once_for_a_row_is_joined():
    scale = rg.sqrt(rg.sum(X * X, axis=1, keepdims=True) + 1.0)
    graph, (kernel,) = joined(X / scale)
    assert [part.inner for part in kernel.structure.passes] == [True, False, True]
    check(graph, [kernel])


def test_a_cheap_value_is_computed_in_each_pass():
    graph, (kernel,) = joined(softmax(X))
    assert all(ref.kind != "kept" for ref in kernel.structure.operands())
    check(graph, [kernel])


@pytest.mark.parametrize(("weight", "kept"), [(3, False), (7, True)])
def test_a_costly_value_is_kept_in_the_row_of_the_result(weight, kept):
    graph, (kernel,) = joined(
        softmax(X), weight=lambda node: weight if node.op.name == "exp" else 0
    )
    assert any(ref.kind == "kept" for ref in kernel.structure.operands()) == kept
    assert kernel.results == graph.outputs
    check(graph, [kernel])


@pytest.mark.parametrize(("weight", "results"), [(20, 1), (21, 2)])
def test_a_very_costly_value_without_a_result_has_memory_of_its_own(weight, results):
    e = rg.exp(X)
    output = rg.sum(e - rg.max(e, axis=1, keepdims=True), axis=1)
    graph, (kernel,) = joined(output, weight=lambda node: weight if node.op.name == "exp" else 0)
    assert len(kernel.results) == results
    check(graph, [kernel])


def test_a_value_that_a_later_step_reads_is_a_result():
    top = rg.max(X, axis=1, keepdims=True)
    graph, steps = joined(rg.sum(X - top, axis=1), top)
    (kernel,) = steps
    assert set(kernel.results) == set(graph.outputs)
    check(graph, steps)


def test_a_joined_kernel_keeps_the_limit():
    assert len(joined(softmax(X), limit=6)[1]) == 1
    assert len(joined(softmax(X), limit=3)[1]) > 1


def test_joined_kernels_of_equal_structure_are_one_function():
    _, (first, second) = joined(softmax(X), softmax(S))
    assert first.structure == second.structure


@pytest.mark.parametrize("axis", [0, 1])
def test_a_cumulative_op_is_a_kernel_of_rows(axis):
    graph, steps = joined(rg.cumsum(rg.exp(X), axis=axis) * 2.0)
    (kernel,) = steps
    assert kernel.scanned == (rg.cumsum(rg.exp(X), axis=axis),)
    check_run(graph, steps, [ARRAYS["X"]])


def test_cumulative_ops_along_different_axes_have_kernels_of_their_own():
    graph, steps = joined(rg.cumsum(rg.cumsum(X, axis=0), axis=1))
    assert len(steps) == 2
    check_run(graph, steps, [ARRAYS["X"]])


LAYERS = {
    "log-softmax": X - rg.log(rg.sum(shifted(X), axis=-1, keepdims=True)),
    "layer norm": (X - rg.mean(X, axis=1, keepdims=True))
    / rg.sqrt(rg.mean(X * X, axis=1, keepdims=True) + 1e-5) * v,
    "two arrays": rg.sum(X * Y, axis=1, keepdims=True) * X + Y,
    "batches": softmax(T),
    "softmax of softmax": softmax(softmax(X)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_joined_rows_compute_what_numpy_does(name):
    graph, steps = joined(LAYERS[name])
    assert any(step.parts for step in steps)
    check(graph, steps)
