"""Regions: which ops share a loop, which wait for another one, and where long ones are cut."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.regions import Regions, is_scalar
from tests.lowering.evaluation import check_run, fusion, graph_of, names, steps_of

X, Y = rg.matrices("X Y", ("n", "m"))
S = rg.matrix("S", ("n", "n"))
v = rg.vector("v", "m")
a = rg.scalar("a")


def regions_of(*outputs, **changes):
    return Regions(graph_of(*outputs), fusion(**changes))


def groups_of(*outputs, **changes):
    """Return the names of the ops of each region."""
    regions = regions_of(*outputs, **changes)
    return [[regions.order[i].op.name for i in region] for region in regions.groups()]


def chain(length, *, period=("sin", "exp")):
    x = v
    for i in range(length):
        x = getattr(rg, period[i % len(period)])(x)
    return x


def test_elementwise_ops_of_one_shape_share_a_loop():
    assert groups_of(rg.exp(X) * Y + 1.0) == [["exp", "multiply", "add"]]


def test_a_reduction_shares_the_loop_that_feeds_it():
    assert groups_of(rg.sum(rg.exp(X), axis=1)) == [["exp", "sum"]]


def test_what_reads_a_reduction_waits_for_it():
    assert groups_of(rg.exp(rg.sum(X, axis=1))) == [["sum"], ["exp"]]


def test_a_value_that_is_stretched_is_computed_before():
    assert groups_of(X * rg.exp(v)) == [["exp"], ["multiply"]]


def test_ops_around_a_call_do_not_share_a_loop():
    assert groups_of(rg.exp(rg.sin(S) @ S)) == [["sin"], ["exp"]]


def test_two_readers_of_one_array_share_a_loop():
    assert groups_of(rg.exp(X), rg.sum(X, axis=0)) == [["exp", "sum"]]


def test_readers_of_different_arrays_stay_separate():
    assert groups_of(rg.exp(X), rg.exp(Y)) == [["exp"], ["exp"]]


def test_readers_of_a_constant_do_not_share_a_loop_for_it():
    table = rg.constant(np.arange(3.0))
    x, y = rg.vectors("x y", 3)
    assert groups_of(x + table, y * table) == [["add"], ["multiply"]]


def test_ops_that_the_backend_lacks_are_calls():
    regions = regions_of(rg.exp(rg.sin(X)), maps=lambda node: node.op.name == "exp")
    assert regions.role == ["leaf", "call", "map"]


def test_reductions_that_the_backend_lacks_are_calls():
    regions = regions_of(rg.sum(X), reduces=lambda node: False)
    assert regions.role == ["leaf", "call"]


def test_a_map_moves_down_to_its_only_client():
    # exp(Y) could run before the product; it runs with its reader, so that it is not stored.
    late = (S @ S) * rg.exp(S)
    assert groups_of(late) == [["exp", "multiply"]]


def test_reductions_stay_with_their_operand():
    total = rg.sum(S, axis=1)
    assert groups_of(rg.sin(S), (S @ S) @ S * total) == [["sin", "sum"], ["multiply"]]


def test_stages_rise_along_every_edge_that_cannot_share_a_loop():
    regions = regions_of(rg.exp(X - rg.max(X, axis=1, keepdims=True)) @ v)
    for i, operands in enumerate(regions.operands):
        for j in operands:
            if not regions.fused(j, i) and regions.role[j] != "leaf":
                assert regions.stage[i] > regions.stage[j]


def test_users_and_operands_agree():
    regions = regions_of(rg.exp(X) + rg.exp(X) * Y)
    for i, operands in enumerate(regions.operands):
        assert all(i in regions.users[j] for j in operands)
    assert regions.outputs == {len(regions.order) - 1}


def test_a_reduction_loops_over_its_operand():
    regions = regions_of(rg.sum(X, axis=1))
    assert regions.loop(regions.place[rg.sum(X, axis=1)]) == ("n", "m")


@pytest.mark.parametrize("again", [0, 5])
def test_numbers_that_are_cheap_are_computed_by_every_reader(again):
    number = rg.sqrt(a) + 1.0
    regions = regions_of(X * number, v * number, again=again)
    assert {regions.order[i].op.name for i in regions.repeated} == (
        {"sqrt", "add"} if again else set()
    )


def test_numbers_that_weigh_too_much_are_computed_once():
    number = rg.sqrt(rg.exp(a) + 1.0)
    regions = regions_of(X * number, again=2)
    assert not regions.repeated  # what only they need is part of their kernel
    regions = regions_of(X * number, X - rg.exp(a), again=2)
    assert {regions.order[i].op.name for i in regions.repeated} == {"exp"}


def test_numbers_made_of_arrays_are_computed_once():
    regions = regions_of(X * rg.sqrt(rg.sum(v)), again=1)
    assert not regions.repeated


def test_a_gather_is_no_call_where_kernels_gather():
    i = rg.tensor("i", ("k",), "int64")
    node = v[i] * 2.0
    assert ["index", "multiply"] in groups_of(node, gathers=True)
    assert groups_of(node, gathers=False) == [["multiply"]]


def test_the_largest_index_is_computed_before_a_gather():
    i = rg.tensor("i", ("k",), "int64")
    regions = regions_of(v[i], gathers=True)
    ((largest,),) = regions.furthest.values()
    assert regions.stage[regions.place[largest]] < regions.stage[regions.place[v[i]]]


def test_a_region_within_the_limits_is_one_piece():
    regions = regions_of(chain(10), limit=10)
    (region,) = regions.groups()
    assert regions.cut(region) == [region]


@pytest.mark.parametrize("limit", [1, 4, 7, 10])
def test_no_piece_weighs_more_than_the_limit(limit):
    regions = regions_of(chain(24), limit=limit)
    (region,) = regions.groups()
    pieces = regions.cut(region)
    assert [i for piece in pieces for i in piece] == region
    assert all(len(piece) <= limit for piece in pieces)
    assert len(pieces) >= 24 // limit


def test_pieces_hold_whole_periods():
    regions = regions_of(chain(30, period=("sin", "exp", "cos")), limit=8)
    (region,) = regions.groups()
    assert [len(piece) for piece in regions.cut(region)] == [6] * 5


def test_no_piece_reads_more_arrays_than_a_kernel_takes():
    inputs = [rg.vector(f"y{i}", "m") for i in range(40)]
    total = v
    for y in inputs:
        total = total + y
    steps = steps_of(total, arrays=8)
    assert len(steps) > 4
    assert all(len(set(step.arrays) & set(inputs)) <= 8 for step in steps)


def test_an_op_above_the_limit_is_a_piece_of_its_own():
    regions = regions_of(chain(3), limit=2, weight=lambda node: 5)
    (region,) = regions.groups()
    assert [len(piece) for piece in regions.cut(region)] == [1, 1, 1]


@pytest.mark.parametrize("period", [("sin",), ("sin", "exp"), ("sin", "exp", "cos", "tanh", "exp")])
def test_the_period_of_a_regular_chain(period):
    regions = regions_of(chain(60, period=period))
    (region,) = regions.groups()
    assert regions.period(region) == len(period)


def test_an_irregular_region_has_period_1():
    draw = np.random.default_rng(0)
    ops = ["sin", "exp", "cos", "tanh", "sqrt", "cbrt"]
    regions = regions_of(chain(60, period=[ops[i] for i in draw.integers(6, size=60)]))
    (region,) = regions.groups()
    assert regions.period(region) == 1


def test_cut_regions_compute_the_same_values():
    graph = graph_of(chain(24) + rg.sum(chain(12)))
    for limit in (1, 3, 8, 200):
        steps = steps_of(*graph.outputs, limit=limit)
        check_run(graph, steps, [np.linspace(0.1, 0.9, 5)])


def test_only_constants_of_one_value_are_scalars():
    assert is_scalar(rg.constant(2.0))
    assert is_scalar(rg.constant(np.full(3, 2.0)))
    assert not is_scalar(rg.constant(np.arange(3.0)))
    assert not is_scalar(a)


def test_a_step_names_what_it_computes():
    (step,) = steps_of(rg.exp(X) + 1.0)
    assert names(step) == ["exp", "add"]


def test_numbers_that_only_numbers_need_are_computed_once():
    number = rg.sqrt(a) + 1.0
    regions = regions_of(number * 2.0, rg.exp(number), again=5)
    assert not regions.repeated
    regions = regions_of(number * 2.0, v * rg.sin(number), again=5)
    assert {regions.order[i].op.name for i in regions.repeated} == {"sqrt", "add", "sin"}
