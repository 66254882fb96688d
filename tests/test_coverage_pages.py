"""The pages of docs/coverage/: a row for each rewrite listed, and no name that does not exist.

``pytest -rP tests/test_coverage_pages.py -k share`` prints how much is done.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import relgraph as rg
from relgraph.db.catalogue import relations

FOLDER = Path(__file__).parents[1] / "docs" / "coverage"
EXAMPLES = Path(__file__).parent / "relations" / "catalogue"
LISTED = re.findall(
    r"`(\w+)`", (FOLDER / "index.md").read_text(encoding="utf-8").partition("\n## ")[2]
)


def cells(line):
    """Return the cells of a row of a table."""
    return [x.strip() for x in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def rows():
    """Return ``(page, row)`` for each row of the tables whose last column is ours."""
    found = []
    for path in sorted(FOLDER.glob("*.md")):
        inside = False
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.startswith("|"):
                inside = False
            elif cells(line)[-1] == "relgraph":
                inside = True
            elif inside and not set(line) <= set("|-: "):
                found.append((path.name, cells(line)))
    return found


ROWS = rows()


@cache
def known():
    """Return the names of relations, rewriters, choices and modes, and every tag."""
    names = {name for r in relations() for name in (r.name, r.label, *r.tags)}
    return names | rg.optdb.tags()


def by_name():
    """Return the last cells of the rows, by the names in their first."""
    found = {}
    for _, row in ROWS:
        for name in re.findall(r"\w+", row[0]):
            found.setdefault(name, []).append(row[-1])
    return found


def done(cell):
    """Return True if the last cell of a row names a relation or rewriter."""
    return bool(re.search(r"`\w", cell)) and not cell.lower().startswith("none")


def names_shown(path):
    """Return the rewrites that the tests of a file run a graph of.

    A test names them with the marker ``shows``, or is run for each row of a table whose first
    column is the name.
    """
    module = import_module(f"tests.relations.catalogue.{path.stem}")
    found = set()
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()):
            if mark.name == "shows":
                found.update(mark.args)
            elif mark.name == "parametrize" and mark.args[0][0] == "name":
                found.update(row[0].partition(" ")[0] for row in mark.args[1])
    return found


def test_the_list_is_whole():
    assert len(LISTED) == len(set(LISTED)) > 200


@pytest.mark.parametrize("name", LISTED)
def test_every_rewrite_listed_has_a_row(name):
    assert name in by_name(), f"no page in docs/coverage has a row for {name}"


@pytest.mark.parametrize(("page", "row"), ROWS, ids=[f"{p}: {r[0]}" for p, r in ROWS])
def test_a_row_names_what_exists_or_says_why_not(page, row):
    cell = row[-1]
    assert cell
    for name in re.findall(r"`([^`]+)`", cell):
        attribute = re.match(r"rg\.(\w+)", name)
        if attribute:
            assert hasattr(rg, attribute[1]), f"{page}: there is no rg.{attribute[1]}"
        elif re.fullmatch(r"\w+(\.reversed)?", name):
            assert name in known(), f"{page}: nothing is registered as {name!r}"
    if not done(cell):
        assert len(cell.split()) > 2, f"{page}: {row[0]} has neither a name nor a reason"


def test_what_is_done_has_an_example_graph():
    shown = set().union(*map(names_shown, sorted(EXAMPLES.glob("test_coverage_*.py"))))
    table = by_name()
    finished = {name for name in LISTED if any(map(done, table.get(name, [])))}
    assert not finished - shown


def test_the_share_that_is_done():
    table = by_name()
    finished = [name for name in LISTED if any(map(done, table.get(name, [])))]
    left = [name for name in LISTED if name not in finished]
    seed = [row for page, row in ROWS if page == "seed_table.md"]
    print(f"{len(finished)} of {len(LISTED)} listed rewrites are done")
    print(f"{sum(done(row[-1]) for row in seed)} of {len(seed)} rows of the table of optimizations")
    print("not done:", ", ".join(left) or "none")
    assert len(finished) >= 0.95 * len(LISTED)
