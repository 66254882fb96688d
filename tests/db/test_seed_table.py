"""Theano's table of optimizations: each of its names is known, and runs in the modes it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relgraph as rg
from relgraph.db.catalogue import build_database
from relgraph.db.modes import MODES
from relgraph.db.names import ABSENT, ALIASES
from relgraph.errors import UnknownTagError

COLUMNS = ("o4", "o3", "o2", "o1", "stabilization", "unsafe")

# The lines of the table, with the modes that have a cross, and the functions that its page names.
TABLE = {
    "merge": ("o4 o3 o2 o1 unsafe", "MergeOptimizer"),
    "constant folding": ("o4 o3 o2 o1 unsafe", "constant_folding"),
    "GPU transfer": ("o4 o3 o2 o1 unsafe", "theano.sandbox.cuda.opt"),
    "shape promotion": ("o4 o3 unsafe", "local_shape_lift"),
    "fill cut": ("o4 o3 unsafe", "local_fill_sink"),
    "inc_subtensor srlz.": ("o4 o3 unsafe", "local_IncSubtensor_serialize"),
    "reshape_chain": ("o4 o3 unsafe", "local_reshape_chain"),
    "const. elimination": ("o4 o3 unsafe", "local_mul_specialize"),
    "add canonical.": ("o4 o3 unsafe", "AlgebraicCanonizer, local_add_canonizer"),
    "mul canonical.": ("o4 o3 unsafe", "AlgebraicCanonizer, local_mul_canonizer"),
    "dot22": ("o4 o3 unsafe", "local_dot_to_dot22"),
    "sparse_dot": ("o4 o3 unsafe", "local_structured_dot"),
    "sum_scalar_mul": ("o4 o3 unsafe", "local_sum_mul_by_scalar"),
    "neg_neg": ("o4 o3 unsafe", "local_neg_neg"),
    "neg_div_neg": ("o4 o3 unsafe", "local_neg_div_neg"),
    "add specialize": ("o4 o3 unsafe", "local_add_specialize"),
    "mul specialize": ("o4 o3 unsafe", "local_mul_specialize"),
    "pow specialize": ("o4 o3 unsafe", "local_pow_specialize"),
    "inplace_setsubtensor": ("o4", "local_inplace_setsubtensor"),
    "gemm": ("o4 o3 unsafe", "GemmOptimizer"),
    "inplace_elemwise": ("o4", "insert_inplace_optimizer"),
    "inplace_random": ("o4", "random_make_inplace"),
    "elemwise fusion": ("o4 o3 o2 unsafe", "FusionOptimizer"),
    "local_log_softmax": ("o4 o3 stabilization unsafe", ""),
    "local_remove_all_assert": ("unsafe", ""),
}

PAGE = Path(__file__).parents[2] / "docs" / "coverage" / "seed_table.md"


def documented():
    """Return the rows of the page: name, crosses, functions, what relgraph has."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    rows = {}
    for line in lines[1:]:
        name, *crosses, functions, ours = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name] = (crosses, functions, ours)
    return rows


@pytest.fixture(scope="module")
def database():
    return build_database()


def selected(database, mode):
    """Return the entries that a mode runs, those of its phases among them."""
    rewriter = database.query(rg.mode(mode))
    return [e for entry, inner in rewriter.stages for e in getattr(inner, "entries", (entry,))]


def test_the_page_has_the_lines_of_the_table():
    rows = documented()
    assert list(rows) == list(TABLE)
    for name, (modes, functions) in TABLE.items():
        crosses, shown, ours = rows[name]
        assert crosses == ["x" if mode in modes.split() else "" for mode in COLUMNS], name
        assert shown == functions
        assert ours


@pytest.mark.parametrize("name", TABLE)
def test_every_name_is_known_or_has_a_reason(name, database):
    ours = documented()[name][2]
    key = re.sub(r"\W+", "_", name).strip("_").lower()
    if ours.startswith("none: "):
        assert {key, "local_" + key} & set(ABSENT)
        for tag in (key, *TABLE[name][1].split(", ")):
            if tag in ABSENT:
                with pytest.raises(UnknownTagError) as caught:
                    database.query(tag)
                assert caught.value.fix == ABSENT[tag]
        return
    tags = [tag for tag in re.findall(r"`([^`]*)`", ours) if "(" not in tag]
    assert tags
    assert set(tags) <= database.tags()
    functions = [f for f in TABLE[name][1].split(", ") if f]
    assert set(functions) <= database.tags()


@pytest.mark.parametrize("mode", COLUMNS)
def test_a_mode_runs_what_the_table_says(mode, database):
    entries = selected(database, mode)
    for name, (modes, _) in TABLE.items():
        ours = documented()[name][2]
        if ours.startswith("none: "):
            continue
        tag = re.findall(r"`([^`]*)`", ours)[0]
        found = [e.name for e in entries if tag in e.tags | e.aliases]
        assert bool(found) == (mode in modes.split()), (name, found)


@pytest.mark.parametrize("mode", MODES)
def test_every_printed_name_can_be_excluded(mode, database):
    text = str(database.query(rg.mode(mode)))
    entries = selected(database, mode)
    phases = {entry.name for entry, _ in database.query(rg.mode(mode)).stages}
    assert entries
    for entry in entries:
        assert re.search(rf"^ .* {re.escape(entry.name)}  ", text, re.M), entry.name
    without = rg.mode(mode).excluding(*(e.name for e in entries))
    assert not [
        e
        for entry, inner in database.query(without).stages
        for e in getattr(inner, "entries", (entry,))
    ]
    for phase in phases:
        left = database.query(rg.mode(mode).excluding(phase))
        assert phase not in {entry.name for entry, _ in left.stages}


def test_every_tag_that_is_printed_can_be_excluded(database):
    entries = selected(database, "o4")
    for tag in sorted({tag for e in entries for tag in e.tags | e.aliases}):
        left = database.query(rg.mode("o4").excluding(tag))
        for entry, inner in left.stages:
            for e in getattr(inner, "entries", (entry,)):
                assert tag not in e.tags | e.aliases


def test_positions(database):
    places = {entry.name: entry.position for entry in database._ordered()}
    order = ("merge", "canonicalize", "stabilize", "specialize", "fusion", "inplace")
    assert [places[name] for name in order] == [0, 1, 1.5, 2, 49, 50]


def test_aliases_are_found_wherever_their_tag_is(database):
    for tag, others in ALIASES.items():
        for inner in database.databases():
            for entry in inner._entries.values():
                if tag in entry.tags:
                    assert set(others) <= entry.aliases
