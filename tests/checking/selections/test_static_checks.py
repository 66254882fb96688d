"""``rg.check`` of a selection: small ones with one fault each, and the modes that are shipped."""

from __future__ import annotations

import pytest

import relgraph as rg
from relgraph.checking.generators.shapes import ELEMENTWISE
from relgraph.checking.selections import critical_pairs, expected_findings
from relgraph.checking.selections.findings import FAULTS, NOTES, Finding, SelectionReport
from relgraph.checking.selections.static_checks import has_value, stages_of
from relgraph.db.modes import MODES
from relgraph.errors import ArgumentError, UnsoundRelationError
from relgraph.ops.shape import BroadcastTo, Dim
from tests.samples import cancel_log_expo
from tools.catalogue_pages import independent

PAIRS = 100  # critical pairs tried below the root in each phase of a shipped mode
ASSERTIONS = {"remove_all_asserto"}  # relations of the mode unsafe alone


@rg.identity
def cancel_log_exp_negativeo(x):
    """log(e^(-x)) = -x, an instance of the other."""
    return rg.log(rg.exp(-x)), -x


@rg.identity
def cancel_negativeo(x):
    """-(-x) = x."""
    return rg.negative(-x), x


@rg.identity
def sin_negativeo(x):
    """sin(-x) = -sin(x)."""
    return rg.sin(-x), -rg.sin(x)


@rg.identity
def sin_outo(x):
    """-sin(x) = sin(-x)."""
    return -rg.sin(x), rg.sin(-x)


def kinds(report):
    return {(f.kind, f.relations[0]) for f in report.findings if f.kind != "one way"}


def test_a_relation_that_never_fires_is_shadowed():
    report = rg.check([cancel_log_expo, cancel_log_exp_negativeo])
    assert not report
    (found,) = report.of_kind("shadowed")
    assert found.relations == ("cancel_log_exp_negativeo", "cancel_log_expo")
    with pytest.raises(UnsoundRelationError, match="1 fault"):
        report.raise_()


def test_order_decides_who_is_shadowed():
    report = rg.check([cancel_log_exp_negativeo, cancel_log_expo])
    assert not report.of_kind("shadowed")
    assert kinds(report) == {("derivable", "cancel_log_exp_negativeo")}


def test_derivable_relations_are_found():
    @rg.identity
    def log_of_squareo(x):
        """log(exp(x)^2) = 2 log(exp(x)), and then 2 x."""
        return rg.log(rg.square(rg.exp(x))), 2 * x

    @rg.identity
    def log_squareo(x):
        """log(exp(x)^2) = 2 log(exp(x))."""
        return rg.log(rg.square(rg.exp(x))), 2 * rg.log(rg.exp(x))

    report = rg.check([log_of_squareo, log_squareo, cancel_log_expo])
    assert ("derivable", "log_of_squareo") in kinds(report)


def test_a_derived_relation_may_say_so():
    tagged = rg.identity(tags=["derived"], name="cancel_log_exp_negativeo")(
        lambda x: (rg.log(rg.exp(-x)), -x)
    )
    report = rg.check([tagged, cancel_log_expo])
    assert report
    assert kinds(report) == {("derived", "cancel_log_exp_negativeo")}
    assert report.counts["derived"] == 1


def test_an_exact_relation_does_not_follow_from_rounded_ones():
    exact = rg.identity(rounding="exact", name="cancel_log_exp_negativeo")(
        lambda x: (rg.log(rg.exp(-x)), -x)
    )
    assert not rg.check([exact, cancel_log_expo]).of_kind("derivable")


def test_relations_that_undo_each_other_oscillate():
    report = rg.check([sin_negativeo, sin_outo])
    assert not report
    found = report.of_kind("oscillates")
    assert {"sin_negativeo", "sin_outo"} <= {name for f in found for name in f.relations}
    assert report.of_kind("unmeasured")


def test_both_directions_of_a_relation_are_reported_and_the_rest_is_checked():
    report = rg.check([sin_negativeo, cancel_log_expo, [sin_negativeo.reversed]])
    assert not report
    (found,) = report.of_kind("oscillates")
    assert found.relations == ("sin_negativeo", "sin_negativeo.reversed")
    assert report.counts["relations"] == 2
    with pytest.raises(UnsoundRelationError, match="1 fault"):
        report.raise_()


def test_a_condition_that_nothing_satisfies_is_found():
    @rg.identity(where=lambda x: rg.checko(lambda x: x.ndim == 9, x))
    def nine_dimensionso(x):
        """-(-x) = x, of nine dimensions."""
        return rg.negative(-x), x

    report = rg.check([nine_dimensionso])
    assert kinds(report) == {("unproved", "nine_dimensionso")}
    assert "it asks for" in str(report)


def test_a_direction_that_does_not_run_is_reported_with_its_reason():
    (found,) = rg.check([cancel_log_expo]).of_kind("one way")
    assert "bare variable" in found.text


def test_competing_relations_that_lead_to_one_result_are_no_finding():
    report = rg.check([sin_negativeo, cancel_negativeo])
    assert report.counts["critical pairs"] >= 1
    assert not report.of_kind("not joined")
    assert not report.of_kind("missed")


def test_competing_relations_that_lead_apart_are_found():
    @rg.identity
    def log_of_expo(x):
        """log(e^x) = x."""
        return rg.log(rg.exp(x)), x

    @rg.identity
    def exp_of_sino(x):
        """e^(sin x) = tan x, which is wrong, but that is not asked here."""
        return rg.exp(rg.sin(x)), rg.tan(x)

    report = rg.check([log_of_expo, exp_of_sino])
    (found,) = report.of_kind("inner first")  # log(tan(x)) costs more than sin(x)
    assert found.relations == ("log_of_expo", "exp_of_sino")
    assert "log(tan(" in found.text
    assert report  # rewriting is innermost: no order of the relations changes that


def test_an_order_that_leads_to_the_costlier_result_is_a_fault():
    @rg.identity
    def sin_plus_cos_by_expo(x):
        """sin x + cos x, made of much: which of two wins is asked here, not whether they hold."""
        return rg.sin(x) - rg.cos(x), rg.exp(rg.exp(rg.exp(x)))

    @rg.identity
    def sin_minuso(x, y):
        """sin x - y, made of little."""
        return rg.sin(x) - y, x - y

    relations = [sin_plus_cos_by_expo, sin_minuso]
    (found,) = rg.check(relations).of_kind("missed")
    assert found.relations == ("sin_plus_cos_by_expo", "sin_minuso")
    assert rg.check(relations, most=0).of_kind("missed") == (found,)  # all at the root are tried
    assert not rg.check(relations[::-1]).of_kind("missed")


def test_a_graph_that_is_never_met_is_no_fault_of_the_order():
    @rg.identity
    def sin_minuso(x, y):
        """sin x - y, made of less."""
        return rg.sin(x) - y, x - y

    @rg.identity
    def sin_minus_coso(x):
        """sin x - cos x, made of least."""
        return rg.sin(x) - rg.cos(x), x

    @rg.identity
    def cos_by_tano(x):
        """cos x, of which nothing is left when sin x - cos x is looked at."""
        return rg.cos(x), rg.tan(x)

    relations = [sin_minuso, sin_minus_coso]
    (found,) = rg.check(relations).of_kind("missed")
    assert found.relations == ("sin_minuso", "sin_minus_coso")
    report = rg.check([*relations, cos_by_tano])
    assert not report.of_kind("missed")
    assert found.relations in [f.relations for f in report.of_kind("inner first")]


def test_overlaps_are_found_in_any_order_of_commutative_operands():
    @rg.identity
    def outero(x, y):
        """e^x (sin y) ..."""
        return rg.cos(rg.exp(x) * rg.sin(y)), x + y

    @rg.identity
    def innero(x, y):
        """sin x e^(cos y) ..."""
        return rg.sin(x) * rg.exp(rg.cos(y)), x - y

    found = list(critical_pairs.peaks(critical_pairs.rules_of([outero, innero])))
    places = {(p.outer.relation.name, p.inner.relation.name, p.path) for p in found}
    assert ("outero", "innero", (0,)) in places
    fork = critical_pairs.fork(found[0], ELEMENTWISE)
    assert str(fork.first) == "cos(x0) + x1" or "cos" in str(fork.graph)


def test_unification_minds_occurrence_and_repeats():
    x, y = rg.lvars("x y")
    assert not list(critical_pairs.unified(rg.exp(x), x, {}))
    assert not list(critical_pairs.unified(x - x, rg.exp(y) - y, {}))
    crossed = critical_pairs.unified(rg.exp(x) - y, rg.exp(rg.sin(y)) - rg.cos(x), {})
    assert not list(crossed)
    u, v = rg.lvars("u v")
    (s,) = critical_pairs.unified(rg.exp(x) - y, rg.exp(rg.sin(u)) - rg.cos(v), {})
    assert str(critical_pairs.substituted(x / y, s)) == "sin(u) / cos(v)"
    assert len(list(critical_pairs.unified(x * y, rg.exp(u) * v, {}))) == 2


def test_no_graph_is_made_of_facts_that_exclude_each_other():
    assert critical_pairs.contradictory({"positive", "negative"})
    assert critical_pairs.contradictory({"nonnegative", "nonpositive", "nonzero"})
    assert not critical_pairs.contradictory({"nonnegative", "nonpositive"})  # zero
    assert not critical_pairs.contradictory({"positive", "integer"})


def test_checking_anything_but_a_selection_raises():
    for subject in (3, [], "", object()):
        with pytest.raises((ArgumentError, rg.errors.UnknownTagError)):
            rg.check(subject)


def test_known_findings_need_a_reason_and_have_a_kind():
    for kind, first, second, reason in expected_findings.KNOWN:
        assert kind in FAULTS
        assert first
        assert second
        assert len(reason.split()) > 5
    for names in (("double_addo", "distribute_krono"), ("distribute_krono", "double_addo")):
        finding = expected_findings.expected(Finding("missed", "", names, ""))
        assert finding.reason
        assert not finding.fault
    assert not expected_findings.expected(Finding("shadowed", "", ("double_addo",), "")).reason
    assert not set(FAULTS) & set(NOTES)


def test_relations_that_are_known_to_be_called_shadowed_do_fire():
    M = rg.matrix("M")
    graph = rg.specify_shape(rg.specify_shape(M, (2, None)), (None, 3))
    assert rg.profile_rewrites(graph, mode="o4").counts["merge_specify_shapeo"].fired


def test_evaluation_without_a_value_is_not_an_oscillation():
    late = BroadcastTo((None, 3))(rg.constant(4.0), Dim(-2)(rg.matrix("x", shape=(0, 3))))
    assert not has_value(rg.min(late))
    assert has_value(rg.sum(late))
    assert has_value(rg.min(BroadcastTo((None, 3))(rg.constant(4.0), Dim(-2)(rg.matrix("M")))))
    with pytest.raises(rg.errors.ShapeError, match="which has size 0"):
        rg.rewrite_graph(rg.min(late), mode="o4")


def test_a_report_counts_and_lists():
    report = SelectionReport("mine", {"relations": 2}, [Finding("shadowed", "", ("a",), "a: why")])
    assert str(report).splitlines()[0] == "mine: 2 relations"
    assert "a: why" in str(report)
    assert not report


def names_of(mode):
    """Return the relations of a mode."""
    return {r.name for stage in stages_of(mode)[1] for r in stage.relations}


def test_the_modes_that_are_checked_hold_every_relation_of_the_others():
    assert set().union(*map(names_of, MODES)) == names_of("o4") | ASSERTIONS
    assert names_of("stabilization") <= names_of("o4")


def test_the_fastest_mode_has_no_fault_that_is_not_expected():
    report = rg.check("o4", most=PAIRS)
    assert report.counts["critical pairs"] > 1000
    assert report, "\n".join(map(str, report.faults))
    # What rg.check could show to follow from others, or could not try.
    kinds = ("derived", "derivable", "shadowed", "unproved", "fails")
    others = {f.relations[0].removesuffix(".reversed") for k in kinds for f in report.of_kind(k)}
    left = set(independent()) & names_of("o4") - others
    print(f"{len(left)} independent relations of {len(names_of('o4'))}")
    assert len(left) >= 250


def test_the_stable_forms_alone_have_no_fault_that_is_not_expected():
    report = rg.check("stabilization")
    assert report.counts["critical pairs"] > 40
    assert report, "\n".join(map(str, report.faults))


def test_what_only_the_unsafe_mode_runs_has_no_fault():
    report = rg.check("unsafe", only=sorted(ASSERTIONS), pairs=False)
    assert report, "\n".join(map(str, report.faults))


def test_only_named_relations_are_checked():
    report = rg.check(rg.optdb, only=["halve_log_sqrto"], pairs=False)
    assert {f.relations[0] for f in report.findings} <= {"halve_log_sqrto"}
    assert report.counts["relations"] == len(
        [s for s in stages_of(rg.optdb)[1] if "halve_log_sqrto" in [r.name for r in s.relations]]
    )
