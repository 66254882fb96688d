"""Databases: registration, selection by tag, order, errors, and what is printed."""

from __future__ import annotations

import numpy as np
import pytest
from etuples import etuple
from kanren import eq, lall, var

import relgraph as rg
from relgraph.db.catalogue import build_database
from relgraph.db.database import EquilibriumDB
from relgraph.db.modes import MODES, mode
from relgraph.errors import (
    ArgumentError,
    DuplicateNameError,
    OscillationError,
    UnknownTagError,
)
from tests.concurrency import at_once


@rg.identity(tags=["canonicalize", "products"])
def distribute_matmulo(X, Y, Z):
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


@rg.identity(tags=["specialize"], rounding="rounded")
def squareo(x):
    """x x = x^2."""
    return x * x, rg.square(x)


@rg.identity(tags=["canonicalize"], specials="assumes_finite")
def subtract_selfo(x):
    """x - x = 0."""
    return x - x, 0


class Simplify(rg.GraphRewriter):
    """Replaces x y / y by x."""

    def apply(self, graph):
        for node in graph.toposort():
            if node.op is rg.true_divide and node.inputs[0].op is rg.multiply:
                a, b = node.inputs[0].inputs
                if node.inputs[1] is b:
                    return self.apply(graph.replace(node, a))
        return graph


x, y, z = rg.vectors("x y z", shape=("n",))
A, B, C = rg.matrices("A B C", shape=("n", "n"))


def sequence():
    """Return a new database with two phases and two choices."""
    db = rg.SequenceDB("mine")
    db.register("canonicalize", rg.EquilibriumDB("canonicalize"), position=1)
    db.register("specialize", rg.EquilibriumDB("specialize"), position=2)
    db.register(rg.LoweringChoice("fusion", 49, "one loop"), "fast_run")
    db.register(rg.LoweringChoice("inplace", 50, "in place"), "fast_run")
    db.register(distribute_matmulo, "fast_run")
    db.register(squareo, "fast_run")
    db.register(subtract_selfo, "fast_run")
    return db


def names(rewriter):
    """Return the names of all relations and rewriters that a query selected, in order."""
    return [
        entry.name
        for stage, inner in rewriter.stages
        for entry in getattr(inner, "entries", (stage,))
    ]


def test_a_relation_goes_into_the_phase_that_its_tag_names():
    db = sequence()
    assert "distribute_matmulo" in db["canonicalize"]
    assert "distribute_matmulo" not in db["specialize"]
    assert list(db) == [
        "canonicalize", "distribute_matmulo", "subtract_selfo", "specialize", "squareo",
        "fusion", "inplace",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (rg.Query(["fast_run"]),
         ["distribute_matmulo", "subtract_selfo", "squareo", "fusion", "inplace"]),
        (rg.Query(["products"]), ["distribute_matmulo"]),
        (rg.Query(["squareo"]), ["squareo"]),
        (rg.Query(["canonicalize"]), ["distribute_matmulo", "subtract_selfo"]),
        (rg.Query(["canonicalize"], require=["products"]), ["distribute_matmulo"]),
        (rg.Query(["fast_run"], exclude=["canonicalize"]), ["squareo", "fusion", "inplace"]),
        (rg.Query(["fast_run"], exclude=["assumes_finite", "inplace"]),
         ["distribute_matmulo", "squareo", "fusion"]),
        (rg.Query(["fast_run"], exclude=["distribute_matmulo"]),
         ["subtract_selfo", "squareo", "fusion", "inplace"]),
        (rg.Query(["fast_run"], subquery={"canonicalize": rg.Query(["products"])}),
         ["distribute_matmulo", "squareo", "fusion", "inplace"]),
        (rg.Query(["fusion"], subquery={"specialize": rg.Query(["fast_run"])}),
         ["squareo", "fusion"]),
        (rg.Query([]), []),
    ],
)  # fmt: skip
def test_selection(query, found):
    assert names(sequence().query(query)) == found


@rg.identity(tags=["canonicalize", "specialize", "accurate"])
def cancel_log_expo(x):
    """log(e^x) = x."""
    return rg.log(rg.exp(x)), x


@pytest.mark.parametrize(
    ("query", "phases"),
    [
        (rg.Query(["fast_run"]), ["canonicalize", "specialize"]),
        (rg.Query(["accurate"]), ["canonicalize", "specialize"]),
        (rg.Query(["canonicalize"]), ["canonicalize"]),
        (rg.Query(["specialize"]), ["specialize"]),
        (rg.Query(["fast_run"], require=["specialize"]), ["specialize"]),
        (rg.Query(["fast_run"], exclude=["accurate"]), []),
        (rg.Query(["fast_run"], exclude=["specialize"]), []),
        (rg.Query(["canonicalize"], exclude=["specialize"]), []),
        (rg.Query(["fast_run"], subquery={"specialize": rg.Query([])}), ["canonicalize"]),
    ],
)
def test_what_has_an_excluded_tag_is_left_out_of_every_phase(query, phases):
    db = sequence()
    db.register(cancel_log_expo, "fast_run")
    found = db.query(query)
    held = [
        stage.name
        for stage, inner in found.stages
        if "cancel_log_expo" in [e.name for e in getattr(inner, "entries", ())]
    ]
    assert held == phases
    graph = rg.log(rg.exp(x))
    assert (found.rewrite(graph) is x) == bool(phases)


def test_a_relation_of_several_phases_shows_them_all():
    both = ["canonicalize", "specialize"]
    db = sequence()
    gather = rg.identity(
        lambda x, y: (rg.exp(x + y), rg.exp(x) * rg.exp(y)), name="expo", tags=both
    )
    db.register(gather.reversed, "fast_run")
    for phase in both:
        (line,) = [n for n in db[phase].lines() if "expo.reversed" in n]
        assert line.endswith("[canonicalize, fast_run, kept, rounded, specialize]")


def test_every_printed_name_is_a_name_to_exclude():
    db = sequence()
    everything = rg.Query(["fast_run"])
    for name in names(db.query(everything)):
        assert name in str(db.query(everything))
        assert name not in names(db.query(everything.excluding(name)))


def test_an_empty_selection_is_the_identity():
    graph = A @ (B + C) + x * x
    assert sequence().query(rg.Query([])).rewrite(graph) is graph
    assert rg.EquilibriumDB("empty").query(rg.Query([])).rewrite(graph) is graph


def test_phases_run_in_order_of_position():
    seen = []

    class Recorder(rg.GraphRewriter):
        def __init__(self, label):
            super().__init__(name=label)

        def apply(self, graph):
            seen.append(self.name)
            return graph

    db = rg.SequenceDB("order")
    for position, label in ((2, "second"), (0.5, "first"), (10, "last")):
        db.register(label, Recorder(label), "all", position=position)
    db.register("behind", Recorder("behind"), "all")
    db.query("all").rewrite(x)
    assert seen == ["first", "second", "last", "behind"]


@pytest.mark.parametrize(
    "arguments",
    [
        (("simplify", Simplify(), "fast_run"), {"position": 0.5}),
        ((Simplify(), "fast_run"), {"name": "simplify", "position": 0.5}),
        (("simplify", Simplify(), 0.5, "fast_run"), {}),
    ],
)
def test_orders_of_arguments(arguments):
    args, options = arguments
    db = sequence()
    db.register(*args, **options)
    rewriter = db.query(rg.Query(["fast_run"]))
    assert names(rewriter)[0] == "simplify"
    assert rewriter.stages[0][0].position == 0.5
    assert rewriter.rewrite(x * y / y) is x
    assert db.query(rg.Query(["fast_run"], exclude=["simplify"])).rewrite(x * y / y) is x * y / y


def test_both_directions_are_entries_of_one_relation():
    db = sequence()
    db.register(distribute_matmulo.reversed, "gather", "canonicalize")
    assert "distribute_matmulo.reversed" in db["canonicalize"]
    assert db.query("gather").rewrite(A @ B + A @ C) is A @ (B + C)
    assert db.query("distribute_matmulo").rewrite(A @ (B + C)) is A @ B + A @ C
    assert "backward: X @ Y + X @ Z = X @ (Y + Z)" in str(db.query("gather"))
    subqueries = {"canonicalize": rg.Query(["gather"])}
    assert names(db.query(rg.Query(["fusion"], subquery=subqueries))) == [
        "distribute_matmulo.reversed", "fusion",
    ]  # fmt: skip
    with pytest.raises(OscillationError, match="both directions of distribute_matmulo"):
        db.query("canonicalize")


def test_the_name_of_a_relation_excludes_both_directions():
    db = sequence()
    db.register(distribute_matmulo.reversed, "gather", "canonicalize")
    query = rg.Query(["canonicalize"], exclude=["distribute_matmulo"])
    assert names(db.query(query)) == ["subtract_selfo"]


def test_what_is_registered_later_is_found_and_old_rewriters_stay():
    db = sequence()
    query = rg.Query(["fast_run"])
    before = db.query(query)
    assert db.query(query) is before
    db.register(rg.PatternNodeRewriter((rg.exp, (rg.log, "x")), "x", name="exp_logo"),
                "canonicalize", "fast_run")  # fmt: skip
    after = db.query(query)
    assert after is not before
    assert before.rewrite(rg.exp(rg.log(x))) is rg.exp(rg.log(x))
    assert after.rewrite(rg.exp(rg.log(x))) is x
    db.unregister("exp_logo")
    assert db.query(query).rewrite(rg.exp(rg.log(x))) is rg.exp(rg.log(x))


def test_equal_selections_share_their_memo():
    db = sequence()
    first = db.query(rg.Query(["products"]))
    second = db.query(rg.Query(["products"], exclude=["fusion"]))
    assert first is not second
    assert first.selections[0] is second.selections[0]


def test_lowering_choices_leave_graphs_alone_and_are_listed():
    rewriter = sequence().query(rg.Query(["fast_run"], exclude=["inplace"]))
    assert rewriter.choices == ("fusion",)
    assert rewriter.rewrite(x + y) is x + y


def test_results_agree_with_numpy():
    rewriter = sequence().query(rg.Query(["fast_run"]))
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 4, 4))
    graph = rewriter.rewrite(A @ (B + C) * (A @ (B + C)))
    found = rg.evaluate(graph, {"A": a, "B": b, "C": c})
    np.testing.assert_allclose(found, (a @ (b + c)) ** 2, rtol=1e-10)
    assert graph.op is rg.square


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (rg.Query(["canonicalise"]), "include: mine has no tag or name 'canonicalise'"),
        (rg.Query(["fast_run"], exclude=["fuson"]), "exclude: mine has no tag or name 'fuson'"),
        (rg.Query(["fast_run"], require=["prodcts"]), "Did you mean 'products'?"),
        (rg.Query(["fast_run"], subquery={"canonicalize": rg.Query(["gathr"])}),
         "subquery['canonicalize'], include: mine has no tag or name 'gathr'"),
        (rg.Query(["fast_run"], subquery={"canonicalise": rg.Query(["fast_run"])}),
         "Did you mean 'canonicalize'?"),
        (rg.Query(["o4"]), "'o4' is a mode: use rg.mode('o4')."),
    ],
)  # fmt: skip
def test_unknown_tags(query, text):
    with pytest.raises(UnknownTagError) as caught:
        sequence().query(query)
    assert text in str(caught.value)
    assert isinstance(caught.value, KeyError)


def test_the_error_for_an_unknown_tag_lists_what_there_is():
    db = rg.EquilibriumDB("small")
    db.register(squareo)
    with pytest.raises(UnknownTagError) as caught:
        db.query("specialise")
    assert str(caught.value) == (
        "include: small has no tag or name 'specialise'\n"
        "  tags  : assumes_finite, exact, kept, rounded, small, specialize\n"
        "  names : squareo\n"
        "Did you mean 'specialize'?"
    )


@pytest.mark.parametrize("name", ["squareo", "fusion", "canonicalize", "mine"])
def test_names_are_unique_in_the_whole_tree(name):
    db = sequence()
    with pytest.raises(DuplicateNameError, match=f"the name '{name}' is taken"):
        db.register(Simplify(), "fast_run", name=name)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((), "there is nothing to register"),
        ((squareo, "fast_run", 3, 4), "a tag is a string, not 4"),
        ((Simplify, "fast_run"), "Simplify is a class, not a rewriter"),
        ((42, "fast_run"), "42 is no relation and no rewriter"),
        ((rg.add, "fast_run"), "add is no relation and no rewriter"),
    ],
)
def test_bad_registrations(args, text):
    with pytest.raises(ArgumentError, match=text):
        sequence().register(*args)


def test_a_relation_needs_a_phase_or_a_position():
    untagged = rg.PatternNodeRewriter((rg.exp, (rg.log, "x")), "x", name="exp_logo")
    db = sequence()
    with pytest.raises(ArgumentError, match="no tag that says which phase"):
        db.register(untagged, "fast_run")
    db.register(untagged, "fast_run", position=0.1)
    assert names(db.query(rg.Query(["fast_run"])))[0] == "exp_logo"
    assert db.query("exp_logo").rewrite(rg.exp(rg.log(x))) is x


def test_positions_belong_to_sequences():
    with pytest.raises(ArgumentError, match="runs to a fixed point"):
        rg.EquilibriumDB("phase").register(squareo, position=1)


def test_databases_nest():
    inner = rg.EquilibriumDB("inner")
    inner.register(squareo)
    outer = rg.EquilibriumDB("outer")
    outer.register(inner)
    assert outer.query("specialize").rewrite(x * x) is rg.square(x)
    assert outer.query(rg.Query(["squareo"], exclude=["inner"])).rewrite(x * x) is x * x


def test_threads_register_and_query_at_once():
    db = sequence()

    def work(number):
        rule = rg.PatternNodeRewriter((rg.add, "x", number), "x", name=f"drop_{int(number)}")
        db.register(rule, "canonicalize", "drop")
        for _ in range(20):
            db.query("drop").rewrite(x + number)

    at_once(work, [float(i) for i in range(1, 7)])
    assert len(names(db.query("drop"))) == 6


def test_printing_a_query():
    assert str(sequence().query(rg.Query(["specialize", "fusion"]))) == (
        "mine, in order: Query(include=['fusion', 'specialize'])\n"
        "  2     specialize, to a fixed point:\n"
        "          squareo  forward: x * x = square(x)  [fast_run, kept, rounded, specialize]\n"
        "  49    fusion  one loop  [fast_run]"
    )


def test_looking_up_a_name():
    db = sequence()
    assert db["squareo"] is squareo
    assert isinstance(db["canonicalize"], rg.EquilibriumDB)
    assert "squareo" in db
    assert "cubeo" not in db
    with pytest.raises(UnknownTagError, match="look-up: mine has no tag or name 'square'"):
        db["square"]
    with pytest.raises(UnknownTagError, match="unregister: mine has no tag or name 'square'"):
        db.unregister("square")


def test_a_goal_is_unregistered_as_it_was_registered():
    def halves(left, right):
        term = var()
        return lall(eq(left, etuple(rg.sin, term)), eq(right, etuple(rg.cos, term)))

    db = EquilibriumDB("trial")
    db.register(halves, "trial")
    assert db.query("trial").rewrite(rg.sin(x)) is rg.cos(x)
    db.unregister(halves)
    assert list(db) == []
    with pytest.raises(ArgumentError, match="does not hold"):
        db.unregister(halves)


def test_what_is_unregistered_runs_no_more_and_modes_are_as_before():
    db = build_database()

    @rg.identity(tags=["canonicalize", "fast_run"])
    def sin_to_coso(x):
        return rg.sin(x), rg.cos(x)

    def shown():
        return [str(db.query(mode(name))) for name in MODES]

    before, tags, entries = shown(), db.tags(), list(db)
    registrations = [
        ("sin_to_coso", (sin_to_coso, "canonicalize", "specialize", "trial"), {}),
        ("turn", (sin_to_coso, "trial"), {"name": "turn", "position": 2.7}),
    ]
    for name, args, options in registrations:
        for removed in (name, sin_to_coso):
            db.register(*args, **options)
            assert shown() != before or "fast_run" not in args
            assert db.query("trial").rewrite(rg.sin(x)) is rg.cos(x)
            old = db.query("trial")
            db.unregister(removed)
            assert old.rewrite(rg.sin(x)) is rg.cos(x)
            assert (shown(), db.tags(), list(db)) == (before, tags, entries)
            assert db.query("fast_run").rewrite(rg.sin(x)) is rg.sin(x)
            with pytest.raises(UnknownTagError, match=f"unregister: optdb has no .* '{name}'"):
                db.unregister(name)
    with pytest.raises(ArgumentError, match="optdb does not hold <relation sin_to_coso>"):
        db.unregister(sin_to_coso)
    db.unregister("stabilize")
    left = [stage.name for stage in db.query("fast_run").rewriters]
    assert "canonicalize" in left
    assert "stabilize" not in left


class FoldNothing(rg.GraphRewriter):
    """Leaves graphs as they are."""

    def apply(self, graph):
        return graph


@pytest.mark.parametrize("made_with", ["mine", "", "eq"])
def test_a_registered_database_takes_the_name_of_its_registration(made_with):
    inner = rg.EquilibriumDB(made_with)
    inner.register(squareo)
    db = rg.SequenceDB("whole")
    db.register("eq", inner, position=1)
    assert inner.name == "eq"
    assert names(db.query(rg.Query(include=["eq"]))) == ["squareo"]
    assert names(db.query(rg.Query(["squareo"], subquery={"eq": rg.Query([])}))) == []
    assert names(db.query(rg.Query(["squareo"], exclude=["eq"]))) == []
    for query in (rg.Query(["mine"]), rg.Query(["eq"], subquery={"mine": rg.Query(["eq"])})):
        with pytest.raises(UnknownTagError):
            db.query(query)


def test_a_database_has_one_name_everywhere():
    inner = rg.EquilibriumDB()
    rg.SequenceDB("first").register("eq", inner, position=1)
    rg.SequenceDB("second").register("eq", inner, position=1)
    with pytest.raises(DuplicateNameError, match="already registered as 'eq'"):
        rg.SequenceDB("third").register("other", inner, position=1)


def test_the_name_and_tags_of_a_database_select_all_that_it_holds():
    deepest = rg.EquilibriumDB()
    deepest.register(squareo)
    middle = rg.SequenceDB()
    middle.register("deepest", deepest, position=1)
    middle.register(FoldNothing(), name="nothing", position=2)
    db = rg.SequenceDB("whole")
    db.register("middle", middle, "early", position=1)
    db.register(rg.LoweringChoice("fusion", 49, "one loop"), "fast_run")

    for tag in ("middle", "early"):
        pipeline = db.query(tag)
        assert [stage.name for stage, _ in pipeline.stages] == ["middle"]
        assert [stage.name for stage, _ in pipeline.stages[0][1].stages] == ["deepest", "nothing"]
    assert [stage.name for stage, _ in db.query("whole").stages] == ["middle", "fusion"]
    without = db.query(rg.Query(["whole"], exclude=["deepest"]))
    assert [stage.name for stage, _ in without.stages[0][1].stages] == ["nothing"]
    assert not db.query(rg.Query(["middle"], exclude=["early"])).stages


def test_a_database_cannot_hold_itself():
    outer, inner = rg.SequenceDB("outer"), rg.SequenceDB("inner")
    with pytest.raises(ArgumentError, match="part of the database outer"):
        outer.register("again", outer, position=1)
    outer.register("inner", inner, position=1)
    with pytest.raises(ArgumentError, match="part of the database outer"):
        inner.register("outer", outer, position=1)
    assert list(outer) == ["inner"]


def test_a_query_takes_none_for_no_tags():
    query = rg.Query(["a"], require=None, exclude=None, subquery=None)
    assert query == rg.Query(["a"])
