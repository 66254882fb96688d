"""Updates in kernels: which values are written straight into a part of an array."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.kernels import Call, Kernel, schedule
from relgraph.lowering.updates import join_updates, with_places
from tests.lowering.evaluation import check_run, fusion, graph_of

S = rg.matrix("S", (4, 4))
X = rg.matrix("X", ("n", "m"))
v, w = rg.vectors("v w", 4)
i = rg.tensor("i", (3,), "int64")
RNG = np.random.default_rng(4)
ARRAYS = {"S": RNG.normal(size=(4, 4)), "v": RNG.normal(size=4), "w": RNG.normal(size=4),
          "i": np.array([2, 0, 2]), "u": RNG.normal(size=3),
          "X": RNG.normal(size=(3, 5))}  # fmt: skip


def joined(*outputs, **changes):
    graph = graph_of(*outputs)
    limits = fusion(**changes)
    steps = schedule(with_places(graph), limits)
    return graph, join_updates(graph, steps, limits)


def updates_of(steps):
    return [update.node for s in steps if isinstance(s, Kernel) for update in s.updates]


def check(graph, steps):
    check_run(graph, steps, [ARRAYS[x.name] for x in graph.inputs])


def test_a_kernel_writes_its_value_into_the_part():
    result = S.at[1].set(rg.exp(v))
    graph, steps = joined(result)
    (kernel,) = steps
    assert kernel.results == (result,)
    assert rg.exp(v) not in kernel.results
    assert kernel.reads == (v, S)
    check(graph, steps)


def test_an_array_is_written_by_a_kernel_of_its_own():
    graph, steps = joined(S.at[:, 2].set(v))
    (kernel,) = steps
    assert kernel.arrays == (v,)
    check(graph, steps)


def test_a_number_is_written_by_a_kernel_of_its_own():
    graph, steps = joined(S.at[1:3].set(2.0))
    assert updates_of(steps) == list(graph.outputs)
    check(graph, steps)


@pytest.mark.parametrize(
    ("kind", "op"),
    [("set", None), ("add", "add"), ("multiply", "multiply"), ("min", "minimum"),
     ("max", "maximum")],
)  # fmt: skip
def test_each_kind_of_update_has_its_op(kind, op):
    graph, (kernel,) = joined(getattr(S.at[1], kind)(rg.exp(v)))
    (target,) = kernel.structure.targets
    assert (target.op and target.op.name) == op
    check(graph, [kernel])


def test_the_strides_of_a_target_are_those_of_the_part():
    def strides(update):
        _, (kernel,) = joined(update)
        (target,) = kernel.structure.targets
        return target.strides

    assert strides(S.at[1].set(rg.exp(v))) == ()
    assert strides(S.at[:, 2].set(rg.exp(v))) == ((4, 0),)  # constant and short
    assert strides(S.at[1, ::-1].set(rg.exp(v))) == ((-1, 0),)


def test_a_value_with_other_readers_is_stored_as_well():
    e = rg.exp(v)
    graph, steps = joined(S.at[1].set(e), e)
    (kernel,) = steps
    assert set(kernel.results) == set(graph.outputs)
    assert kernel.structure.targets[kernel.stored.index(e)] is None
    check(graph, steps)


def test_a_value_may_go_to_two_arrays():
    e = rg.exp(v)
    graph, steps = joined(S.at[1].set(e), S.at[:, 2].add(e))
    assert set(updates_of(steps)) == set(graph.outputs)
    check(graph, steps)


def test_a_value_of_another_dtype_is_cast():
    e = rg.exp(v.astype("float32"))
    graph, steps = joined(S.at[1].set(e))
    (kernel,) = steps
    assert kernel.structure.rows[kernel.structure.stored[0]].dtype == "float64"
    check(graph, steps)


def test_places_are_an_operand_of_the_kernel():
    u = rg.vector("u", 3)
    result = v.at[i].add(rg.exp(u))
    graph, steps = joined(result)
    kernel = next(s for s in steps if isinstance(s, Kernel) and s.updates)
    (update,) = kernel.updates
    assert kernel.arrays[update.places] is i
    assert kernel.structure.targets[0].places == update.places
    assert update.furthest in kernel.reads
    check(graph, steps)


def test_the_largest_place_is_computed_before_the_update():
    graph, steps = joined(v.at[i].add(1.0))
    produced = [x for step in steps for x in step.results]
    (update,) = [u for s in steps if isinstance(s, Kernel) for u in s.updates]
    assert produced.index(update.furthest) < produced.index(update.node)
    check(graph, steps)


def test_only_updates_at_places_need_their_largest_index():
    plain = graph_of(S.at[1].set(v))
    assert with_places(plain) is plain
    wider = with_places(graph_of(v.at[i].add(1.0), v.at[i].set(2.0)))
    assert len(wider.outputs) == 3


def test_a_value_that_goes_to_places_has_no_other_readers():
    u = rg.vector("u", 3)
    e = rg.exp(u)
    graph, steps = joined(v.at[i].add(e), e)
    assert all(set(s.results) != set(graph.outputs) for s in steps)
    check(graph, steps)


def test_an_update_that_waits_for_the_kernel_is_made_after_it():
    e = rg.exp(v)
    base = S * rg.sum(e * w)
    graph, steps = joined(base.at[1].set(e))
    kernel = next(s for s in steps if isinstance(s, Kernel) and s.updates)
    assert kernel.arrays == (e,)
    check(graph, steps)


@pytest.mark.parametrize(
    "result",
    [S.at[S > 0.0].set(1.0), X.at[0].set(rg.vector("z")), S.at[i, i].set(1.0)],
    ids=["mask", "unknown size", "two arrays of indices"],
)
def test_other_keys_stay_calls(result):
    _, steps = joined(result)
    assert updates_of(steps) == []
    assert isinstance(steps[-1], Call)


def test_a_value_that_is_stretched_has_a_kernel_of_its_own():
    row = rg.exp(v)[None, :]
    graph, steps = joined(S.at[1:3].set(row * 2.0))
    kernel = next(s for s in steps if isinstance(s, Kernel) and s.updates)
    assert kernel.nodes == (graph.outputs[0],)
    check(graph, steps)


def test_a_kernel_keeps_its_number_of_arrays():
    result = S.at[1].set(rg.exp(v) * w)
    assert len(joined(result, arrays=5)[1]) == 1
    assert len(joined(result, arrays=4)[1]) == 2


def test_a_schedule_without_updates_stays_as_it_is():
    graph = graph_of(rg.exp(S))
    steps = schedule(graph, fusion())
    assert join_updates(graph, steps, fusion()) == steps


@pytest.mark.parametrize("key", [(1,), (slice(None), 2), (slice(1, 3), slice(None, None, -1))])
def test_chains_of_updates_compute_what_numpy_does(key):
    value = rg.exp(S[key])
    graph, steps = joined(S.at[key].set(value).at[0].add(v).at[key].multiply(value))
    check(graph, steps)
