"""Each identity that README, docs and docstrings teach holds as it is labelled, by ``rg.check``."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
from pathlib import Path

import pytest

import relgraph as rg
from relgraph.relations.relation import Relation
from tests.modules import MODULES

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md", "docs/index.md", "docs/relations.md", "docs/rewriting.md",
    "docs/coming_from/pytensor.md",
    "docs/custom_ops.md", "docs/tutorials/teach_an_identity.md", "docs/tutorials/ask_why.md",
    "docs/tutorials/run_it_backward.md", "docs/tutorials/your_own_database.md",
)  # fmt: skip
# What a page shows as wrong, or as what cannot be tried.
WRONG = {
    "cancel_arccosh_cosho", "absolute_arccosh_cosho", "cancel_sqrt_squareo", "unit_intervalo",
    "first_tryo", "second_tryo",
}  # fmt: skip
UNTRIED = {
    "dot_distributeo": "it stands for sums of any length, with an open tail",
    "distribute_sparse_matmulo": "its operand is sparse, and what is tried is dense",
    "scalar_oddso": "the page shows that it fires on no array",
    "never_belowo": "no value takes one of its branches",
}


def docstrings():
    """Return the examples of each docstring that declares a relation, by where it is."""
    finder, found = doctest.DocTestFinder(), {}
    for name in MODULES:
        for test in finder.find(importlib.import_module(name), name):
            if any("@rg." in example.source for example in test.examples):
                found[test.name] = test.examples
    return found


def pages():
    """Return the examples of each page."""
    parser = doctest.DocTestParser()
    return {x: parser.get_examples((ROOT / x).read_text(encoding="utf-8")) for x in PAGES}


def identities(examples):
    """Return the relations that examples declare, in order; errors among them are shown."""
    found, names = [], {"__name__": "__main__"}
    for example in examples:
        code = compile(example.source, "examples", "single")
        expected = contextlib.suppress(Exception) if example.exc_msg else contextlib.nullcontext()
        with contextlib.redirect_stdout(io.StringIO()), expected:
            exec(code, names)
        found += [
            x
            for name, x in names.items()
            if isinstance(x, Relation) and x.name == name and x not in found
        ]
    return found


TAUGHT = [(place, r) for place, x in (pages() | docstrings()).items() for r in identities(x)]


def test_identities_are_taught():
    assert {r.name for _, r in TAUGHT} >= WRONG | UNTRIED.keys() | {"distribute_matmulo"}
    places = {place for place, _ in TAUGHT}
    assert places >= {"README.md", "docs/relations.md", "relgraph.relations.decorators.identity"}


@pytest.mark.parametrize(
    "relation", [r for _, r in TAUGHT], ids=[f"{place}: {r.name}" for place, r in TAUGHT]
)
def test_what_is_taught_holds_as_labelled(relation):
    report = rg.check(relation)
    assert (report.counterexample is not None) == (relation.name in WRONG), str(report)
    assert bool(report) == (relation.name not in {*WRONG, *UNTRIED}), str(report)
