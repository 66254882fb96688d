"""Theano's table of optimizations: each of its names is known, and runs in the modes it says."""

from __future__ import annotations

import re
from importlib import import_module
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


# The rewrites that Theano's documentation names beyond the table, in profiles of real graphs.
PROFILED = """
    MergeOptimizer merge1 merge2 merge3 ShapeOpt BlasOpt GemmOptimizer gemm_optimizer
    FusionOptimizer elemwise_fusion composite_elemwise_fusion inplace_elemwise
    inplace_elemwise_optimizer
    insert_inplace_optimizer use_c_blas use_scipy_ger constant_folding AlgebraicCanonizer
    local_0_dot_x local_IncSubtensor_serialize local_abs_merge local_add_canonizer
    local_add_mul_fusion local_add_specialize local_advanced_indexing_crossentropy_onehot
    local_alloc_unary local_cast_cast local_cut_useless_reduce local_dimshuffle_lift
    local_dimshuffle_no_inplace_at_canonicalize local_div_switch_sink local_div_to_inv
    local_dot22_to_dot22scalar local_dot_to_dot22 local_elemwise_alloc local_elemwise_sub_zeros
    local_fill_cut local_fill_sink local_fill_to_alloc local_flatten_lift local_func_inv
    local_gemm_to_gemv local_grad_log_erfc_neg local_greedy_distributor local_inplace_setsubtensor
    local_lift_transpose_through_dot local_log1p local_log_add local_log_erfc local_log_softmax
    local_mul_canonizer local_mul_specialize local_mul_switch_sink local_mul_to_sqr local_mul_zero
    local_neg_div_neg local_neg_neg local_neg_to_mul local_one_minus_erf local_one_minus_erf2
    local_pow_specialize local_reduce_broadcastable local_reduce_join local_remove_all_assert
    local_remove_switch_const_cond local_reshape_chain local_reshape_lift local_shape_lift
    local_shape_to_shape_i local_structured_dot local_subtensor_lift local_subtensor_make_vector
    local_subtensor_merge local_subtensor_of_alloc local_subtensor_of_dot local_sum_all_to_none
    local_sum_alloc local_sum_div_dimshuffle local_sum_mul_by_scalar local_sum_sum
    local_track_shape_i local_upcast_elemwise_constant_inputs local_useless_alloc
    local_useless_elemwise local_useless_slice local_useless_subtensor
"""


@pytest.mark.parametrize("name", PROFILED.split())
def test_every_profiled_name_selects_something_or_has_a_reason(name, database):
    if name in ABSENT:
        with pytest.raises(UnknownTagError) as caught:
            database.query(name)
        assert caught.value.fix == ABSENT[name]
    else:
        assert database.query(name).stages
        excluded = database.query(rg.mode("o4").excluding(name))
        for entry, inner in excluded.stages:
            for e in getattr(inner, "entries", (entry,)):
                assert name not in e.tags | e.aliases


def test_reasons_name_relations_that_exist():
    for reason in ABSENT.values():
        for module, name in re.findall(r"(relgraph\.relations\.catalogue\.\w+)\.(\w+)", reason):
            assert isinstance(getattr(import_module(module), name), rg.Relation)


@pytest.mark.parametrize("name", ALIASES)
def test_an_alias_selects_every_entry_that_it_stands_for(name, database):
    stood_for = {
        (inner.name, entry.name)
        for inner in database.databases()
        for entry in inner._entries.values()
        if entry.tags & set(ALIASES[name])
    }
    assert stood_for
    assert stood_for <= {
        (inner.name, entry.name)
        for inner in database.databases()
        for entry in inner._entries.values()
        if name in entry.tags | entry.aliases
    }
