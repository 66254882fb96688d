"""rg.profile: what it counts on graphs whose rewrites, kernels and costs are known."""

from __future__ import annotations

import json

import numpy as np
import pytest

import relgraph as rg
from relgraph.api.profile_report import Profile, RunProfile, StepTime
from relgraph.errors import ArgumentError
from relgraph.ir.spans import COMPILED, LOADED, Span, recorded, span
from relgraph.rewriting.profile import RewriteProfile, Stage

A = rg.matrix("A", shape=("n", "n"))
x = rg.vector("x", shape=("n",))
a, b = np.random.default_rng(0).normal(size=(40, 40)), np.linspace(-1, 1, 40)


def test_a_graph_is_profiled_from_rewriting_to_steps():
    profile = rg.profile(rg.log(1 + rg.exp(A @ x)) + rg.sort(x), a, b)
    assert profile.rewriting.counts["softplus_log1po"].fired == 1
    parts = profile.making.parts
    assert {"lowering", "kernels", "main function"} <= set(parts)
    inside = sum(part.seconds for part in parts.values()) + profile.rewriting.whole.seconds
    assert 0 < inside <= profile.making.seconds
    assert sum(profile.kernels.values()) == 1
    run = profile.run
    cost = rg.cost(rg.rewrite_graph(rg.log(1 + rg.exp(A @ x)) + rg.sort(x), mode="fast_run"))
    assert len(run.steps) == cost.kernels + cost.library_calls == 3
    assert sum(step.bytes for step in run.steps) == cost.at(n=40).bytes
    assert [step.kernel for step in run.steps].count(True) == 1
    assert {step.name for step in run.steps if not step.kernel} == {"matmul", "sort"}
    assert all(step.seconds > 0 and step.bandwidth > 0 for step in run.steps)
    assert run.rounds >= 3 and run.seconds > 0
    assert profile.calls.count == 0


def test_allocations_are_the_buffers_of_a_call():
    run = rg.profile([rg.exp(A) @ A, rg.exp(x)], a, b).run
    assert (run.allocations, run.allocated) == (3, 2 * 40 * 40 * 8 + 40 * 8)


def test_without_arrays_nothing_runs():
    assert rg.profile(rg.exp(x)).run is None


def test_modes_and_relations_are_those_of_function():
    @rg.identity(specials="assumes_finite")
    def cancel_log_expo(v):
        """log(exp(x)) = x."""
        return rg.log(rg.exp(v)), v

    profile = rg.profile(rg.log(rg.exp(x)) + 1, mode=cancel_log_expo)
    assert {k: c.fired for k, c in profile.rewriting.counts.items()} == {"cancel_log_expo": 1}
    assert not rg.profile(rg.exp(x), mode=None).rewriting.counts


def test_arrays_by_name():
    assert rg.profile(x @ A, {"A": a, "x": b}).run.steps[0].bytes == 40 * 42 * 8
    with pytest.raises(ArgumentError, match="'A'"):
        rg.profile(x @ A, {"x": b})


def test_a_compiled_function_and_one_of_numpy():
    f = rg.function([A, x], rg.exp(A) @ x)
    profile = rg.profile(f, a, b)
    assert not profile.rewriting.whole.stages
    assert profile.kernels == {"compiled": 0, "from disk": 0, "in memory": 1}
    assert len(profile.run.steps) == 2
    traced = rg.profile(lambda v: np.log(1 + np.exp(v)), b)
    assert traced.rewriting.counts["softplus_log1po"].fired == 1
    assert len(rg.profile(rg.jit(np.exp), b).run.steps) == 1


def test_arrays_in_another_order_time_the_variant_that_reads_them():
    run = rg.profile(rg.exp(A) * 2, a.T).run
    (step,) = run.steps
    assert step.kernel and step.bytes == 2 * 40 * 40 * 8


def test_backends_without_times_of_steps():
    f = rg.function([x], rg.exp(x), target="numpy")
    run = rg.profile(f, b).run
    assert run.steps == () and run.rounds >= 3


def test_timed_runs_change_no_result():
    f = rg.function([A, x], [rg.softmax(A, axis=1) @ x, A.at[0].set(1.0), rg.sum(A * A)])
    timed = f.timed(a, b)
    timed.run()
    timed.run()
    assert len(timed.seconds) == len(timed.steps) == len(timed.names)
    expected = f(a, b)
    rg.profile(f, a, b)
    for one, two in zip(f(a, b), expected, strict=True):
        np.testing.assert_array_equal(one, two)


def test_donated_arrays_are_still_updated_in_place():
    f = rg.function([A], A + 1, donate="A")
    own = a.copy()
    timed = f.timed(own)
    timed.run()
    np.testing.assert_array_equal(own, a + 1)


def test_a_function_counts_its_calls():
    f = rg.function([A, x], A @ x + 1, profile=True)
    for _ in range(3):
        np.testing.assert_allclose(f(a, x=b), a @ b + 1)
    with pytest.raises(rg.errors.ShapeError):
        f(a, b[:3])
    assert f.profile.calls.count == 4
    assert f.profile.calls.seconds > 0
    assert "in 4 calls" in str(f.profile)
    assert rg.function([x], x + 1).profile is None


def test_a_function_with_state_counts_its_calls():
    total = rg.shared(0.0, name="total")
    f = rg.function([x], None, updates={total: total + rg.sum(x)}, profile=True)
    f(np.ones(3))
    f(np.ones(2))
    assert total.get_value() == 5.0
    assert f.profile.calls.count == 2
    with pytest.raises(ArgumentError, match="would change the shared variables"):
        rg.profile(f, np.ones(3))


TREE = """\
   10.000 ms making the function
      6.000 ms kernels: 1 compiled, 1 from disk
        5.000 ms rgk_1
          4.000 ms compiled
        1.000 ms rgk_2
          0.500 ms loaded from disk
      3.000 ms rewriting
                 nodes: 4 at start, 4 largest, 3 at end, 1 created
        3.000 ms phase
                   nodes: 4 at start, 4 largest, 3 at end, 1 created
      0.250 ms lowering
    2.000 ms a call, the median of 7
               allocates 1 array, 8,000 bytes
      1.500 ms matmul (library): A @ x
      0.250 ms rgk_1, 16,000 bytes, 40% of the bandwidth: exp(x)
  100.000 ms in 3 calls"""


def built():
    compiled = Span("rgk_1", 0.005, 1, {COMPILED: Span(COMPILED, 0.004, 1)})
    loaded = Span("rgk_2", 0.001, 1, {LOADED: Span(LOADED, 0.0005, 1)})
    kernels = Span("kernels", 0.006, 1, {"rgk_1": compiled, "rgk_2": loaded})
    parts = {"lowering": Span("lowering", 0.00025, 1), "kernels": kernels}
    phase = Stage("phase", 0.003, 1, 1, 4, 3, 4, 1)
    rewriting = Stage("rewriting", 0.003, 1, 1, 4, 3, 4, 1, stages={"phase": phase})
    steps = (
        StepTime("rgk_1", "exp(x)", True, 0.00025, 16000, 0.4),
        StepTime("matmul", "A @ x", False, 0.0015, None, None),
    )
    profile = Profile(
        RewriteProfile({}, rewriting),
        Span("making the function", 0.01, 1, parts),
        RunProfile(0.002, 7, steps, 1, 8000),
    )
    profile.calls.count, profile.calls.seconds = 3, 0.1
    return profile


def test_the_tree():
    assert str(built()) == repr(built()) == TREE


def test_the_table_and_json(tmp_path):
    profile = built()
    rows = {row["part"]: row for row in profile.table()}
    assert rows["rewriting/phase"]["created"] == 1
    assert rows["making/kernels/rgk_2/loaded from disk"]["seconds"] == 0.0005
    assert rows["run/1/matmul"]["bytes"] is None
    data = json.loads(profile.to_json(tmp_path / "profile.json"))
    assert data == json.loads((tmp_path / "profile.json").read_text(encoding="utf-8"))
    assert data["kernels"] == {"compiled": 1, "from disk": 1, "in memory": 0}
    assert len(data["table"]) == len(rows)


def test_every_relation_is_listed_if_asked():
    profile = rg.profile(rg.log(1 + rg.exp(x)))
    short, long = str(profile), profile.text(every=True)
    assert "softplus_log1po" in short and "exp_logo" not in short
    assert len(long.splitlines()) > 4 * len(short.splitlines())


def test_spans_nest_and_are_not_recorded_outside():
    with span("outside"):
        pass
    with recorded(Span("whole")) as whole:
        for _ in range(2):
            with span("one"), span("two"):
                pass
    assert whole.parts["one"].count == whole.parts["one"].parts["two"].count == 2
    assert whole.seconds >= whole.parts["one"].seconds >= whole.parts["one"].parts["two"].seconds
    assert whole.total("two") == 2 and "outside" not in whole.parts


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rg.profile(3), "this is an int, not a graph"),
        (lambda: rg.profile(np.exp), "needs arguments"),
        (lambda: rg.profile(rg.exp(x), b, b), "2 positional arguments for 1 input"),
    ],
)
def test_wrong_arguments_raise(call, words):
    with pytest.raises(ArgumentError) as error:
        call()
    assert words in str(error.value)
