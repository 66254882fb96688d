"""Modes: which entries of the default database each one selects."""

from __future__ import annotations

import subprocess
import sys

import pytest

import relgraph as rg
from relgraph.db.catalogue import build_database
from relgraph.db.default import default_database
from relgraph.db.names import FAMILIAR
from relgraph.errors import ArgumentError, UnknownTagError


def stages(name, nonfinite="assume"):
    rewriter = build_database().query(rg.mode(name, nonfinite))
    return {entry.name: inner for entry, inner in rewriter.stages}


PASSES = {
    "structured_products", "matmul_chain", "distribute_matmul", "reuse_factorisation",
    "gemm_narrow", "structured_kernels", "outer_in_loop", "loop_fission",
    "loop_rolling",
}  # fmt: skip
ASKED_FOR = {"gemm", "gemv", "ger", "syrk"}  # slower than a product and a loop

# What each mode runs: the rows of the table in relgraph/db/modes.py.
TABLE = {
    "o5": {
        "merge", "canonicalize", "stabilize", "specialize", "fusion", "inplace",
        "inplace_setsubtensor", "cheapest_program", *PASSES,
    },
    "o4": {
        "merge", "canonicalize", "stabilize", "specialize", "fusion", "inplace",
        "inplace_setsubtensor", *PASSES,
    },
    "o3": {"merge", "canonicalize", "stabilize", "specialize", "fusion", *PASSES},
    "o2": {"merge", "canonicalize", "fusion"},
    "o1": {"merge", "canonicalize"},
    "stabilization": {"stabilize"},
    "unsafe": {
        "merge", "canonicalize", "stabilize", "specialize", "fusion", "remove_all_assert", *PASSES,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_modes_select_the_phases_of_the_table(name):
    assert set(stages(name)) == TABLE[name]


@pytest.mark.parametrize("name", ["o1", "o2"])
def test_the_fast_modes_only_fold_constants(name):
    (entry,) = stages(name)["canonicalize"].entries
    assert entry.name == "constant_folding"


def test_other_names():
    assert rg.mode("fast_run") == rg.mode("o4")
    assert rg.mode("fast_compile") == rg.mode("o1")
    assert rg.mode("O4") == rg.mode("o4")


def test_a_mode_is_a_query():
    query = rg.mode("o4").excluding("fusion")
    assert rg.mode(query) is query
    assert "fusion" not in build_database().query(query).choices


@pytest.mark.parametrize("name", ["o4", "o3", "unsafe", "stabilization"])
def test_no_relation_that_has_an_excluded_tag_runs_in_any_phase(name):
    left = build_database().query(rg.mode(name).excluding("stabilize"))
    entries = [e for _, inner in left.stages for e in getattr(inner, "entries", ())]
    assert bool(entries) == (name != "stabilization")
    assert not [e.name for e in entries if "stabilize" in getattr(e.item, "tags", ())]


def test_stabilising_relations_among_the_canonical_forms_are_left_out_with_the_others():
    x = rg.vector("x")
    both = {
        e.name
        for e in stages("o4")["canonicalize"].entries
        if "stabilize" in getattr(e.item, "tags", ())
    }
    assert {"cancel_log_expo", "cancel_arccosh_cosho"} <= both
    for graph in (rg.log(rg.exp(x)), rg.arccosh(rg.cosh(x)), rg.exp(x) * rg.exp(2 * x)):
        assert rg.rewrite_graph(graph, mode="o4") is not graph
        assert rg.rewrite_graph(graph, mode=rg.mode("o4").excluding("stabilize")) is graph
        assert rg.rewrite_graph(graph, mode="o4", exclude=["stabilize"]) is graph


@pytest.mark.parametrize("refine", ["including", "excluding", "requiring"])
def test_a_mode_refuses_an_unknown_name_where_it_is_written(refine):
    with pytest.raises(UnknownTagError, match="optdb has no tag or name 'fusoin'") as caught:
        getattr(rg.mode("o4"), refine)("fusoin")
    assert caught.value.fix == "Did you mean 'fusion'?"
    with pytest.raises(UnknownTagError, match="is a mode"):
        getattr(rg.mode("o4").excluding("inplace"), refine)("o3")


def test_a_query_of_ones_own_may_name_what_no_database_has_yet():
    query = rg.Query(["mine"]).excluding("later")
    db = rg.EquilibriumDB("own")
    with pytest.raises(UnknownTagError, match="own has no tag or name 'mine'"):
        db.query(query)


def test_familiar_names_are_in_the_default_database():
    assert build_database().tags() >= FAMILIAR


def test_refining_a_mode_by_a_familiar_name_does_not_build_the_database():
    program = (
        "import relgraph as rg\n"
        "from relgraph.db.default import built_database\n"
        "rg.mode('o4', nonfinite='keep').excluding('fusion', 'stabilize', 'BlasOpt')\n"
        "print(built_database() is None)\n"
        "rg.mode('o4').excluding('cancel_log_expo')\n"
        "print(built_database() is None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]


def test_stabilization_keeps_infinities_and_nan():
    for entry in stages("stabilization")["stabilize"].entries:
        assert "assumes_finite" not in entry.tags


def test_nonfinite_keep_leaves_out_what_assumes_finite_values():
    for inner in stages("o4", "keep").values():
        for entry in getattr(inner, "entries", ()):
            assert "assumes_finite" not in entry.tags
    kept = {e.name for s in stages("o4", "keep").values() for e in getattr(s, "entries", ())}
    assumed = {e.name for s in stages("o4").values() for e in getattr(s, "entries", ())}
    assert kept < assumed


def test_unknown_modes():
    with pytest.raises(UnknownTagError, match="Did you mean 'fast_run'"):
        rg.mode("fastrun")
    with pytest.raises(UnknownTagError, match="there is no mode 'whatever'"):
        rg.mode("whatever")
    with pytest.raises(ArgumentError, match="a mode is a name or a query, not 3"):
        rg.mode(3)
    with pytest.raises(ArgumentError, match="nonfinite is 'assume' or 'keep'"):
        rg.mode("o4", nonfinite="ignore")


def test_the_default_database_is_built_once_and_lazily():
    code = (
        "import sys, relgraph as rg\n"
        "from relgraph.db.default import built_database\n"
        "assert built_database() is None\n"
        "heavy = {'numba', 'scipy', 'llvmlite'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert rg.optdb is rg.optdb\n"
        "assert built_database() is rg.optdb\n"
        "heavy = {'numba', 'scipy', 'llvmlite'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert default_database() is rg.optdb


def test_everything_in_the_default_database_is_reached_by_some_mode():
    db = build_database()
    reached = set()
    for name in TABLE:
        for stage, inner in db.query(rg.mode(name)).stages:
            reached |= {entry.name for entry in getattr(inner, "entries", (stage,))}
    databases = {database.name for database in db.databases()}
    relations = {name: db[name] for name in db if isinstance(db[name], rg.Relation)}
    optional = {name for name, relation in relations.items() if "optional" in relation.tags}
    assert set(db) - reached <= optional | databases | ASKED_FOR
    assert set(db) >= ASKED_FOR
    assert not reached & ASKED_FOR
