"""Buffers: which values take over the memory of others, and which never do."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.buffers import (
    has_own_buffer,
    is_new,
    is_update,
    last_reads,
    origins,
    pinned_values,
    plan,
)
from relgraph.lowering.kernels import schedule
from relgraph.lowering.sizes import Sizes
from relgraph.lowering.updates import join_updates, with_places
from tests.lowering.evaluation import fusion, graph_of, run_in_memory, values_of

S = rg.matrix("S", ("n", "n"))
X = rg.matrix("X", ("n", "m"))
v = rg.vector("v", "n")
RNG = np.random.default_rng(1)


def planned(*outputs, updates=False, donated=(), limit=200, **choices):
    """Return a graph, its steps and its plan."""
    graph = graph_of(*outputs)
    wider = with_places(graph) if updates else graph
    steps = schedule(wider, fusion(limit=limit))
    if updates:
        steps = join_updates(graph, steps, fusion(limit=limit))
    return graph, steps, plan(graph, steps, Sizes(graph, steps), donated=donated, **choices)


def test_a_product_takes_over_the_memory_of_a_dead_one():
    first = S @ S
    second = (first @ S) @ S
    _, _, memory = planned(second)
    assert memory.takes == {second: first}


def test_a_kernel_writes_over_an_operand_that_dies_with_it():
    product = S @ S
    _, _, memory = planned(rg.exp(product))
    assert memory.takes == {rg.exp(product): product}


def test_an_operand_that_is_read_later_is_not_written_over():
    product = S @ S
    result = rg.exp(product) @ product
    _, _, memory = planned(result)
    assert product not in memory.takes.values()


def test_an_output_is_never_taken_over():
    product = S @ S
    _, _, memory = planned(product, rg.exp(product), rg.exp(product) @ S)
    assert memory.takes == {}


def test_inputs_are_never_taken_over():
    _, _, memory = planned(rg.exp(S))
    assert memory.takes == {}


def test_inputs_are_taken_over_where_they_are_donated():
    _, _, memory = planned(rg.exp(S), donated=(S,))
    assert memory.takes == {rg.exp(S): S}


def test_values_of_another_shape_are_not_taken_over():
    product = X.T @ S @ S
    _, _, memory = planned(rg.sum(product, axis=0))
    assert rg.sum(product, axis=0) not in memory.takes


def test_values_of_another_dtype_are_not_taken_over():
    product = S @ S
    _, _, memory = planned(product.astype("float32"))
    assert memory.takes == {}


def test_unknown_sizes_are_only_equal_where_they_are_checked():
    P, Q = rg.matrices("P Q", (None, None))
    first = P @ Q
    _, _, memory = planned(rg.exp(first) @ Q)
    assert memory.takes == {rg.exp(first): first}


def test_an_operand_that_is_stretched_is_not_written_over():
    row = rg.matrix("Z", (1, "n")) @ S
    result = rg.exp(S + row)
    _, _, memory = planned(result)
    assert row not in memory.takes.values()


def test_the_operand_of_a_view_is_never_taken_over():
    product = S @ S
    _, steps, memory = planned(rg.exp(product.T) @ S)
    assert pinned_values(steps) == {product, product.T}
    assert memory.takes == {}


def test_nothing_is_taken_over_without_reuse():
    product = S @ S
    _, _, memory = planned(rg.exp(product) @ S @ S, reuse=False)
    assert memory.takes == {}


def test_a_result_in_an_out_array_takes_over_no_memory():
    product = S @ S
    result = rg.exp(product)
    _, _, memory = planned(result, placed=(result,))
    assert memory.takes == {}


def test_memory_is_taken_over_once():
    values = [S @ S, S @ rg.exp(S), S @ rg.sin(S)]
    _, _, memory = planned(*[rg.exp(rg.sin(x) @ x) for x in values])
    assert len(set(memory.takes.values())) == len(memory.takes)


def test_values_die_after_the_step_that_reads_them_last():
    product = S @ S
    graph, steps, memory = planned(rg.sum(product, axis=0) @ S, reuse=False)
    last = last_reads(graph, steps)
    for i, dead in enumerate(memory.dies):
        assert all(last[x] == i for x in dead)
    assert product in set().union(*memory.dies)


def test_a_value_whose_memory_lives_on_does_not_die():
    product = S @ S
    _, _, memory = planned(rg.exp(product))
    assert product not in set().union(*memory.dies)


def test_outputs_and_inputs_have_no_last_reader():
    product = S @ S
    graph, steps, _ = planned(rg.exp(product), product)
    assert last_reads(graph, steps) == {}
    assert S in last_reads(graph, steps, donated=(S,))


def test_an_update_of_a_value_that_dies_is_made_in_it():
    product = S @ S
    result = product.at[0].set(v)
    _, _, memory = planned(result, updates=True)
    assert memory.overwrites == {result}
    assert memory.takes == {result: product}


@pytest.mark.parametrize("updates", [False, True], ids=["calls", "kernels"])
def test_an_update_of_a_value_that_lives_is_made_in_a_copy(updates):
    product = S @ S
    _, _, memory = planned(product.at[0].set(v), product, updates=updates)
    assert memory.overwrites == set()


@pytest.mark.parametrize("updates", [False, True], ids=["calls", "kernels"])
def test_an_update_of_an_input_is_made_in_it_only_where_it_is_donated(updates):
    result = S.at[0].set(v)
    assert planned(result, updates=updates)[2].overwrites == set()
    assert planned(result, updates=updates, donated=(S,))[2].overwrites == {result}


@pytest.mark.parametrize("updates", [False, True], ids=["calls", "kernels"])
def test_an_update_by_a_part_of_the_array_itself_is_made_in_a_copy(updates):
    product = S @ S
    _, _, memory = planned(product.at[0].set(product[1]), updates=updates)
    assert memory.overwrites == set()


def test_an_update_is_made_in_a_copy_where_the_backend_wants_it():
    product = S @ S
    _, _, memory = planned(product.at[0].set(v), updates=True, overwrite=False)
    assert memory.overwrites == set()


def test_the_origin_of_an_output_is_the_array_that_updates_changed():
    product = S @ S
    once = product.at[0].set(v)
    twice = once.at[1].set(v)
    graph, steps, _ = planned(twice, updates=True)
    assert origins(graph, steps) == {twice: product}
    assert origins(graph, steps, None) == {twice: twice}


def test_steps_whose_memory_is_the_programs():
    product, view, update = S @ S, S.T, S.at[v > 0.0].set(1.0)
    _, steps, _ = planned(rg.exp(S), product, rg.sort(view), update)
    kinds = {step.results[0]: step for step in steps}
    assert has_own_buffer(kinds[rg.exp(S)])
    assert has_own_buffer(kinds[product])
    assert not has_own_buffer(kinds[view])
    assert is_update(kinds[update])
    assert is_new(kinds[product])
    assert not is_new(kinds[view])


def random_outputs(seed):
    """Return outputs in whose graph products, kernels, views and updates alternate."""
    draw = np.random.default_rng(seed)
    matrices, vectors = [S], [v]
    for kind in draw.integers(6, size=30):
        x = matrices[int(draw.integers(max(0, len(matrices) - 4), len(matrices)))]
        y = vectors[int(draw.integers(max(0, len(vectors) - 4), len(vectors)))]
        if kind == 0:
            matrices.append(rg.tanh(x @ matrices[-1]))
        elif kind == 1:
            matrices.append(rg.sin(x) * y)
        elif kind == 2:
            matrices.append(x.at[0].set(y))
        elif kind == 3:
            vectors.append(rg.max(x, axis=1))
        elif kind == 4:
            vectors.append(rg.tanh(x.T @ y))
        else:
            matrices.append(x.at[:, 1].add(rg.cos(y)))
    return [*matrices[-2:], vectors[-1]]


@pytest.mark.parametrize("updates", [False, True], ids=["calls", "kernels"])
@pytest.mark.parametrize("seed", range(8))
def test_values_are_right_in_the_memory_of_the_plan(seed, updates):
    graph, steps, memory = planned(*random_outputs(seed), updates=updates, limit=4)
    arrays = [RNG.uniform(-1, 1, (3, 3) if x is S else 3) for x in graph.inputs]
    expected = values_of(graph, arrays)
    for result, x in zip(run_in_memory(graph, steps, memory, arrays), graph.outputs, strict=True):
        np.testing.assert_allclose(result, expected[x], rtol=1e-12)
