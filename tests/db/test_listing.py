"""``rg.catalogue``: what is shipped, searched by name, op, tag and text."""

from __future__ import annotations

import pytest

import relgraph as rg
from relgraph.db.catalogue import relations
from relgraph.errors import ArgumentError
from relgraph.relations.relation import Relation


def test_without_an_argument_it_holds_everything():
    found = rg.catalogue()
    assert found.relations == tuple(relations())
    others = {row.name for row in found if not isinstance(row.item, Relation)}
    assert {"constant_folding", "fusion", "merge", "inplace"} <= others
    assert {row.name for row in found} <= {x.removesuffix(".reversed") for x in rg.optdb} | {
        r.name for r in relations() if not {"canonicalize", "stabilize", "specialize"} & {*r.tags}
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("softmax", "log_softmaxo"),  # an op of its sides
        ("local_log_softmax", "log_softmaxo"),  # a tag: the name that others give it
        ("CANCEL_LOG_EXPO", "cancel_log_expo"),
        ("subnormal", "reciprocal_expo"),  # a word of its docstring
        ("exp stabilize", "cancel_log_expo"),
    ],
)
def test_it_is_found_by(text, name):
    assert name in [row.name for row in rg.catalogue(text)]


def test_words_match_whole_words():
    found = rg.catalogue("log")
    assert {"cancel_exp_logo", "log_prodo"} <= {row.name for row in found[:50]}
    assert not {"distribute_logico", "idempotento"} & {row.name for row in found}
    assert {"logdet_invo", "distribute_logico"}.isdisjoint(row.name for row in found[:50])
    assert "distribute_logico" in [row.name for row in rg.catalogue("logical_and")]


def test_parts_of_words_match_if_no_word_does():
    assert "softmax_divideo" in [row.name for row in rg.catalogue("softma")]
    assert "softmax_divideo" in [row.name for row in rg.catalogue("softma exp")]


def test_an_exact_name_is_all_that_is_shown():
    assert [row.name for row in rg.catalogue("cancel_log_expo")] == ["cancel_log_expo"]


def test_all_words_must_occur():
    both = {row.name for row in rg.catalogue("exp log")}
    assert both == {row.name for row in rg.catalogue("exp")} & {
        row.name for row in rg.catalogue("log")
    }


def test_it_prints_a_table():
    text = str(rg.catalogue("distribute_exp_addo"))
    heads, line, identity = text.splitlines()
    assert heads.split() == ["name", "runs", "promises", "phases"]
    assert line.split() == ["distribute_exp_addo", "<->", "rounded,", "kept", "canonicalize,", "stabilize"]  # fmt: skip  # noqa: E501
    assert identity.strip() == "exp(x + y) = exp(x) * exp(y)"
    assert repr(rg.catalogue("softmax")[:1]).count("\n") >= 2


def test_nothing_found_says_what_is_near():
    assert "cancel_log_expo" in str(rg.catalogue("cancel_log_exp0"))
    assert len(rg.catalogue("cancel_log_exp0")) == 0


def test_it_is_searched_for_a_text():
    with pytest.raises(ArgumentError, match="searched for a text"):
        rg.catalogue(3)


@pytest.mark.parametrize("row", rg.catalogue(), ids=lambda row: row.name)
def test_every_row_says_what_holds(row):
    assert row.identity
    assert all(row.identity)
    if isinstance(row.item, Relation):
        assert row.ways in ("->", "<-", "<->")
        assert row.ops
