"""``rg.why_not`` names the test that failed, and following its advice makes the relation fire."""

from __future__ import annotations

import pytest

import relgraph as rg
from relgraph.checking.diagnosis.reasons import KINDS
from relgraph.errors import ArgumentError, UnknownTagError
from tests.api.near_misses import MISSES, NEWCOMERS, A, B, e, forward, v, w, x, y


@pytest.mark.parametrize("miss", [*MISSES, *NEWCOMERS], ids=str)
def test_the_reason_is_the_change_and_mending_it_makes_the_relation_fire(miss):
    answer = rg.why_not(miss.graph, miss.relation, **miss.asked)
    assert answer.fired == ()
    assert answer.reason.kind == miss.kind
    assert miss.words in answer.reason.text
    assert answer.reason.advice
    arguments = {"relation": miss.relation, **miss.asked, **miss.how}
    graph = miss.graph if miss.mended is None else miss.mended
    mended = rg.why_not(graph, arguments.pop("relation"), **arguments)
    assert mended.fired
    assert mended.places == () and mended.reason is None


def test_the_table_has_forty_rows_of_the_catalogue_and_most_kinds():
    assert len(MISSES) >= 40
    assert all(isinstance(m.relation, str) or m.relation.catalogued for m in MISSES)
    assert {m.kind for m in MISSES} >= {*KINDS} - {"condition", "result", "budget", "goal"}


def test_what_fires_in_a_mode_does_so_where_it_is_said_to():
    answer = rg.why_not(2 * rg.log(1 + x), "log1p_addo", mode="o4")
    assert answer.fired == (rg.log(1 + x),)
    assert str(answer) == "log1p_addo fires at log(1 + x)"


def test_places_are_in_order_of_nearness():
    graph = rg.log(rg.sin(x) * y) + rg.log(2 + x)
    first, *others = rg.why_not(graph, "log1p_addo").places
    assert first.node == rg.log(2 + x)
    assert [place.node for place in others] == [rg.log(rg.sin(x) * y)]


def test_several_tests_may_fail_at_one_place():
    @rg.identity(where=lambda a, b: (rg.positiveo(a), rg.integero(b)))
    def lower_whole_powero(a, b):
        """log(a^b) = b log(a), for positive a and whole b."""
        return rg.log(a**b), b * rg.log(a)

    (place,) = rg.why_not(rg.log(x**y), lower_whole_powero).places
    assert [reason.kind for reason in place.reasons] == ["fact", "fact"]
    assert "x is positive" in place.reasons[0].text and "y is integer" in place.reasons[1].text


def test_a_fact_is_declared_of_the_inputs_that_prove_it():
    answer = rg.why_not(rg.sqrt((x * y) ** 2), _cancel_square)
    assert "x * y is nonnegative" in answer.reason.text
    assert "Declare it of x and y" in answer.reason.advice
    answer = rg.why_not(rg.sqrt((x - y) ** 2), _cancel_square)
    assert "rg.assume(x - y, 'nonnegative')" in answer.reason.advice
    assert rg.why_not(rg.sqrt(rg.assume(x - y, "nonnegative") ** 2), _cancel_square).fired


@rg.identity(where=rg.nonnegativeo, specials="assumes_finite")
def _cancel_square(x):
    """sqrt(x^2) = x where x is not negative."""
    return rg.sqrt(x**2), x


def test_a_condition_says_what_it_was_asked_of():
    def is_short(a):
        return a.type.shape == (2,)

    @rg.identity(where=lambda a: rg.checko(is_short, a))
    def negate_shorto(a):
        """-(-a) = a, of vectors of two elements."""
        return rg.negative(rg.negative(a)), a

    reason = rg.why_not(rg.negative(rg.negative(x)), negate_shorto).reason
    assert reason.kind == "condition"
    assert reason.text == "the condition is_short(a) does not hold for a = x"


def test_an_op_that_rejects_the_operands_of_the_other_side_is_quoted():
    @rg.identity
    def drop_transposeo(a):
        """sum(a) = sum(a.mT)."""
        return rg.sum(a), rg.sum(rg.matrix_transpose(a))

    reason = rg.why_not(rg.sum(x), drop_transposeo).reason
    assert reason.kind == "result"
    assert "matrix_transpose" in reason.text


def test_a_relation_that_grows_ends_with_its_error():
    @rg.identity
    def growo(a):
        """exp(a) = exp(exp(log(a)))."""
        return rg.exp(a), rg.exp(rg.exp(rg.log(a)))

    reason = rg.why_not(rg.exp(x), growo).reason
    assert reason.kind == "budget"
    assert "growo" in reason.text and reason.advice


def test_a_goal_that_kanren_runs_has_no_tests_to_name():
    def neither(a, b):
        return rg.lall(rg.heado(rg.exp, a), rg.tailo(b, a), rg.eq(b, 3))

    answer = rg.why_not(rg.exp(x), rg.relation(neither))
    assert answer.fired == ()
    assert answer.reason.kind in ("goal", "op")


def test_a_relation_left_out_is_looked_at_by_itself_too():
    answer = rg.why_not(rg.log(2 + x), "log1p_addo", mode="o1")
    assert [place.kind for place in answer.places] == ["mode", "number"]


def test_what_a_query_requires_or_excludes_in_a_phase_is_named():
    graph = rg.log(1 + x)
    query = rg.mode("o4").requiring("exact")
    reason = rg.why_not(graph, "log1p_addo", mode=query).reason
    assert reason.kind == "mode" and "requires" in reason.text and "'exact'" in reason.text
    inner = rg.Query(["fast_run"], exclude=["stabilization"])
    query = rg.Query(["fast_run"], subquery={"stabilize": inner})
    reason = rg.why_not(graph, "log1p_addo", mode=query).reason
    assert reason.kind == "mode" and "excludes the tag 'stabilization'" in reason.text


def test_the_other_direction_of_a_mode_is_named():
    answer = rg.why_not(A @ (v + w), forward("distribute_matmul_addo"), mode="o4")
    assert answer.reason.kind == "direction"
    assert "distribute_matmul_addo.reversed" in answer.reason.text


def test_a_printed_answer():
    answer = rg.why_not(rg.log(2 + x) + rg.log(e), "log1p_addo")
    assert str(answer) == (
        "log1p_addo does not fire\n"
        "1. at log(2 + x), pattern log(1 + x):\n"
        "   2 stands where the pattern has the number 1\n"
        "   A variable in place of 1 would match any number.\n"
        "2. at log(exp(x)), pattern log(1 + x):\n"
        "   exp(x) stands where the pattern has 1 + x\n"
        "   Write 1 + x there, or state an identity for this form too."
    )


def test_long_graphs_are_cut_and_many_places_counted():
    graph = x
    for number in range(2, 40):
        graph = rg.log(number + graph)
    lines = str(rg.why_not(graph, "log1p_addo")).splitlines()
    assert len(lines) <= 11
    assert lines[-1] == "and at 35 more places"
    assert max(map(len, lines)) < 200


def test_a_deep_graph_is_no_deeper_for_python():
    graph = x
    for _ in range(5000):
        graph = rg.sin(graph)
    assert rg.why_not(graph, "log1p_addo").reason.kind == "op"
    assert rg.why_not(graph, "lift_odd_negativeo").reason.kind == "op"


def test_a_long_sum_ends_within_its_steps():
    graph = sum((rg.exp(v * k) for k in range(2, 60)), rg.exp(v))
    answer = rg.why_not(graph, "pythagoras_circularo")
    assert answer.reason.kind == "op"


def test_names_and_what_is_no_relation():
    with pytest.raises(UnknownTagError, match="log1p_add0"):
        rg.why_not(x, "log1p_add0")
    with pytest.raises(ArgumentError, match="rewriter"):
        rg.why_not(x, rg.optdb["merge"])
    with pytest.raises(ArgumentError, match="refine a mode or a query"):
        rg.why_not(A @ B, "log1p_addo", mode=[forward("log1p_addo")], exclude=["fusion"])
