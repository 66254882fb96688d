"""Each identity that README and docs teach holds as it is labelled there, by ``rg.check``."""

from __future__ import annotations

import contextlib
import doctest
import io
from pathlib import Path

import pytest

import relgraph as rg
from relgraph.relations.relation import Relation

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/index.md", "docs/relations.md", "docs/rewriting.md", "docs/porting.md")
# What a page shows as wrong, or as what cannot be tried.
WRONG = {"cancel_arccosh_cosho", "absolute_arccosh_cosho"}
UNTRIED = {"dot_distributeo": "it stands for sums of any length, with an open tail"}


def identities(page):
    """Return the relations that the examples of a page declare, in order; its errors are shown."""
    found, names = [], {"__name__": "__main__"}
    text = (ROOT / page).read_text(encoding="utf-8")
    for example in doctest.DocTestParser().get_examples(text):
        code = compile(example.source, page, "single")
        expected = contextlib.suppress(Exception) if example.exc_msg else contextlib.nullcontext()
        with contextlib.redirect_stdout(io.StringIO()), expected:
            exec(code, names)
        found += [
            x
            for name, x in names.items()
            if isinstance(x, Relation) and x.name == name and x not in found
        ]
    return found


TAUGHT = [(page, r) for page in PAGES for r in identities(page)]


def test_the_pages_teach_identities():
    assert {r.name for _, r in TAUGHT} >= WRONG | UNTRIED.keys() | {"distribute_matmulo"}
    assert {page for page, _ in TAUGHT} >= {"README.md", "docs/relations.md"}


@pytest.mark.parametrize(
    ("page", "relation"), TAUGHT, ids=[f"{page}: {r.name}" for page, r in TAUGHT]
)
def test_what_is_taught_holds_as_labelled(page, relation):
    report = rg.check(relation)
    assert (report.counterexample is not None) == (relation.name in WRONG), str(report)
    assert bool(report) == (relation.name not in {*WRONG, *UNTRIED}), str(report)
