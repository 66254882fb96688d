"""Kernels: what one loop reads, computes and writes, and which kernels are one function."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.records import replace
from relgraph.lowering.kernels import (
    Call,
    Kernel,
    merged_axes,
    ordered,
    reduced_axes,
    without_assumptions,
)
from relgraph.lowering.views import Operand
from tests.lowering.evaluation import check_run, check_structures, graph_of, names, steps_of

X, Y = rg.matrices("X Y", ("n", "m"))
S = rg.matrix("S", ("n", "n"))
u, v = rg.vector("u", "n"), rg.vector("v", "m")
RNG = np.random.default_rng(0)
MATRIX = RNG.uniform(0.5, 2.0, (3, 4))


def test_only_values_that_others_read_are_stored():
    e = rg.exp(X)
    (kernel,) = steps_of(rg.sin(e), rg.sum(e, axis=1))
    assert kernel.stored == (rg.sin(e),)
    assert kernel.folded == (rg.sum(e, axis=1),)
    assert kernel.results == kernel.stored + kernel.folded


def test_a_value_that_a_call_reads_is_stored():
    e = rg.exp(S)
    first, product = steps_of(e @ S)
    assert first.stored == (e,)
    assert isinstance(product, Call)
    assert product.reads == (e, S)
    assert product.results == (e @ S,)


def test_an_output_in_the_middle_is_stored():
    e = rg.exp(X)
    (kernel,) = steps_of(rg.sin(e), e)
    assert set(kernel.stored) == {rg.sin(e), e}


def test_an_array_that_is_read_twice_is_one_operand():
    (kernel,) = steps_of(X * Y + X)
    assert kernel.arrays == (X, Y)
    assert [[ref.index for ref in row.operands] for row in kernel.structure.rows] == [
        [0, 1], [0, 0],
    ]  # fmt: skip


def test_kernels_of_equal_structure_have_one_key():
    first, second = steps_of(rg.exp(X) * 2.0, rg.exp(S) * 3.0)
    assert first.structure == second.structure
    assert hash(first.structure) == hash(second.structure)


@pytest.mark.parametrize(
    "other",
    [rg.exp(X) + 2.0, rg.exp(X.astype("float32")) * 2.0, rg.exp(X) * v, rg.sum(rg.exp(X)) * 2.0],
    ids=["op", "dtype", "broadcasting", "reduction"],
)
def test_kernels_that_differ_have_other_keys(other):
    (kernel,) = steps_of(rg.exp(X) * 2.0)
    assert all(kernel.structure != step.structure for step in steps_of(other))


def test_numbers_are_arguments_of_a_kernel():
    (kernel,) = steps_of(X * 2.0 + 3.0)
    assert [float(x.uniform) for x in kernel.slots["float64"]] == [2.0, 3.0]
    assert kernel.structure.slot_counts() == {"float64": 2}


def test_numbers_that_the_backend_wants_stand_in_the_source():
    (kernel,) = steps_of(X**2.5, literals=lambda node: frozenset({1}))
    (row,) = kernel.structure.rows
    assert [ref.kind for ref in row.operands] == ["array", "literal"]
    assert row.operands[1].value == 2.5
    (other,) = steps_of(X**3.5, literals=lambda node: frozenset({1}))
    assert kernel.structure != other.structure


def test_equal_numbers_share_an_argument():
    (kernel,) = steps_of(rg.sin(X * 2.0) * 2.0)
    assert kernel.structure.slot_counts() == {"float64": 1}


def test_pieces_of_a_cut_region_give_each_use_of_a_number_an_argument():
    x = v
    for i in range(20):
        x = rg.sin(x * float(i // 6) + 1.0)
    steps = steps_of(x, limit=6)
    assert len({step.structure for step in steps if len(step.nodes) == 6}) == 1
    check_structures(graph_of(x), steps, [MATRIX[0]])


def test_beyond_the_budget_only_frequent_kernels_stay_whole():
    often = [rg.exp(rg.sin(rg.vector(f"y{i}", "m"))) for i in range(5)]
    rare = rg.cos(rg.tanh(rg.sqrt(X)))
    steps = steps_of(*often, rare, budget=2)
    assert sorted(len(step.nodes) for step in steps) == [1, 1, 1, 2, 2, 2, 2, 2]
    assert {name for step in steps if len(step.nodes) == 1 for name in names(step)} == {
        "cos", "tanh", "sqrt",
    }  # fmt: skip


def test_reductions_over_other_axes_have_kernels_of_their_own():
    graph = graph_of(rg.sum(rg.exp(X), axis=0), rg.sum(rg.exp(X), axis=1))
    steps = steps_of(*graph.outputs)
    assert sorted(map(names, steps), key=len) == [["sum"], ["exp", "sum"]]
    check_run(graph, steps, [MATRIX])


def test_reductions_over_the_same_axes_share_a_kernel():
    (kernel,) = steps_of(rg.sum(X, axis=-1), rg.max(X, axis=1))
    assert [fold.op.name for fold in kernel.structure.folds] == ["sum", "max"]


def test_a_cumulative_op_does_not_share_a_loop_with_a_sum_over_another_axis():
    steps = steps_of(rg.cumsum(X, axis=0), rg.sum(X, axis=1))
    assert [names(step) for step in steps] == [["cumsum"], ["sum"]]


@pytest.mark.parametrize(
    ("axis", "axes"), [(None, (0, 1)), (0, (0,)), (-1, (1,)), ((-2, 1), (0, 1))]
)
def test_reduced_axes_are_counted_from_the_front(axis, axes):
    assert reduced_axes(rg.sum(X, axis=axis)) == axes


def test_axes_that_all_arrays_span_are_one_loop():
    (kernel,) = steps_of(X + Y)
    assert kernel.groups == ((0, 1),)
    assert kernel.structure.reduced == (False,)


def test_axes_that_an_array_does_not_span_are_loops_of_their_own():
    (kernel,) = steps_of(X + v)
    assert kernel.groups == ((0,), (1,))
    assert kernel.structure.arrays == (("float64", (True, True)), ("float64", (False, True)))


def test_a_reduced_axis_is_a_loop_of_its_own():
    (kernel,) = steps_of(rg.sum(X, axis=1))
    assert kernel.groups == ((0,), (1,))
    assert kernel.structure.reduced == (False, True)


def test_axes_of_size_1_need_no_loop():
    t = rg.tensor("t", ("n", 1, "m"))
    (kernel,) = steps_of(rg.exp(t))
    assert kernel.groups == ((0, 2),)


def test_a_number_is_a_loop_without_axes():
    (kernel,) = steps_of(rg.exp(rg.scalar("a")))
    assert kernel.groups == ((),)


def test_axes_that_a_view_does_not_lay_out_in_order_stay_separate():
    transposed = Operand(S.T, 0, True)
    assert merged_axes(("n", "n"), (), [transposed]) == ((0,), (1,))
    assert merged_axes(("n", "n"), (), [Operand(S.T, 0, False)]) == ((0, 1),)


def test_views_are_read_through_their_strides_only_where_kernels_do():
    in_place, copied = (
        next(s for s in steps_of(rg.exp(S.T), views=views) if isinstance(s, Kernel))
        for views in (True, False)
    )
    assert in_place.structure.strides != ((),)
    assert copied.structure.strides == ((),)


def test_assumptions_compute_nothing():
    graph = graph_of(rg.exp(rg.assume(X, "positive")))
    assert without_assumptions(graph).outputs == (rg.exp(X),)
    plain = graph_of(rg.exp(X))
    assert without_assumptions(plain) is plain


def test_steps_that_nothing_reads_are_left_out():
    steps = steps_of(rg.exp(X), rg.sin(S))
    assert ordered(graph_of(rg.sin(S)), steps) == [s for s in steps if rg.sin(S) in s.results]


def test_values_are_used_soon_after_they_are_made():
    first, second = rg.sin(S) @ S, rg.cos(S) @ S
    steps = steps_of(first @ u, second @ u)
    made = [step.results[0] for step in steps]
    assert made.index(first @ u) < made.index(second)


def test_steps_that_wait_for_each_other_are_found():
    (first,) = steps_of(rg.exp(X))
    (second,) = steps_of(rg.sin(rg.exp(X)), limit=1)[1:]
    graph = graph_of(*second.results)
    assert ordered(graph, [second, first]) == [first, second]
    with pytest.raises(AssertionError, match="wait for each other"):
        ordered(graph, [second, replace(first, arrays=second.results)])


GRAPHS = {
    "chain": rg.exp(X) * Y + 1.0,
    "row": X - v,
    "column": X * u[:, None],
    "sum over rows": rg.sum(rg.exp(X) * v, axis=1),
    "sum over columns": rg.max(X - Y, axis=0),
    "sum of all": rg.sum(X * X),
    "integers": rg.sum((X > 1.0) & (Y > 1.0), axis=0),
    "kept axes": rg.mean(X, axis=1, keepdims=True) + 1.0,
    "outer": rg.outer(u, v) + X,
}


@pytest.mark.parametrize("name", GRAPHS)
def test_structures_compute_what_numpy_does(name):
    graph = graph_of(GRAPHS[name])
    arrays = {"X": MATRIX, "Y": MATRIX[::-1], "u": MATRIX[:, 0], "v": MATRIX[0]}
    values = [np.ascontiguousarray(arrays[x.name]) for x in graph.inputs]
    for limit in (200, 1):
        steps = steps_of(*graph.outputs, limit=limit)
        check_structures(graph, steps, values)
        check_run(graph, steps, values)
