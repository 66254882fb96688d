"""The pages of the catalogue are what the relations say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from relgraph.db.catalogue import relations
from tools import catalogue_pages

DIRECTORY = Path(__file__).parents[2] / "docs" / "catalogue"
PAGES = catalogue_pages.pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_in_the_repository_is_the_one_generated(name):
    path = DIRECTORY / name
    assert path.exists(), "run python -m tools.catalogue_pages"
    assert path.read_text(encoding="utf-8") == PAGES[name], "run python -m tools.catalogue_pages"


def test_there_is_no_other_page():
    assert {path.name for path in DIRECTORY.glob("*.md")} == set(PAGES)


def test_every_relation_has_its_entry():
    headings = re.findall(r"^## (\w+)$", "\n".join(PAGES.values()), re.MULTILINE)
    for relation in relations():
        assert headings.count(relation.name) == 1


def test_links_lead_to_headings():
    for name, text in PAGES.items():
        for target in re.findall(r"\]\((\w+\.md|#\w+)\)", text):
            path, _, anchor = target.partition("#")
            page = PAGES[path] if path else text
            assert not anchor or f"\n## {anchor}\n" in page, f"{name} links to {target}"


def test_an_entry_states_identity_condition_labels_and_source():
    entry = PAGES["explog.md"].partition("## cancel_exp_logo")[2].partition("\n## ")[0]
    assert r"\mathrm{exp}\left(\mathrm{log}\left(x\right)\right) & = x" in entry
    assert r"\text{where nonnegative(x)}" in entry
    assert "- Holds where nonnegative(x); rounded, kept." in entry
    assert "- Runs forward in canonicalize" in entry
    assert "- Does not run backward: the side to match is a bare variable." in entry
    assert "- Tags: `fast_run`." in entry
    assert "- Source: DLMF 4.8(i), for real arguments." in entry


def test_the_text_follows_where_it_says_more_than_the_formula():
    entries = {
        name: entry
        for page in PAGES.values()
        for name, _, entry in (part.partition("\n") for part in page.split("\n## ")[1:])
    }
    assert "```text" not in entries["cancel_exp_logo"]
    assert r"\left(A \, B\right)^{-1} & = B^{-1} \, A^{-1}" in entries["reverse_inv_matmulo"]
    assert "inv(A @ B) = inv(B) @ inv(A)" in entries["reverse_inv_matmulo"]
    assert "solve(A, b, assume='general')" in entries["solve_spdo"]
    assert "shows 12 of 43 equations. All, as text:\n\n```text\n" in entries["log_multiply_expo"]
    assert not any("operatorname" in entry for entry in entries.values())


def test_only_what_changed_is_written(tmp_path):
    assert set(catalogue_pages.write(tmp_path)) == set(PAGES)
    assert catalogue_pages.write(tmp_path) == []
    (tmp_path / "explog.md").write_text("old", encoding="utf-8")
    assert catalogue_pages.write(tmp_path) == ["explog.md"]
