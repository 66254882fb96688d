"""The index of the catalogue: what a second process knows without running the catalogue."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from relgraph.db.catalogue import relations
from relgraph.relations.declaration import check_clause
from relgraph.relations.decorators import check_directions

ROOT = Path(__file__).resolve().parents[2]

DESCRIBE = """
import json, sys
import relgraph as rg
from relgraph.rewriting.rewriters import item_name
database = rg.optdb
themes = sum(x.startswith("relgraph.relations.catalogue.") for x in sys.modules)
rows = [
    (x.name, item_name(x.item), *map(sorted, (x.tags, x.excluded_by, x.aliases)), x.position)
    for inner in database.databases() for x in inner.entries()
]
queries = [repr(database.query("fast_run").selections), sorted(database.tags())]
said = str(database)
print(json.dumps({"themes": themes, "rows": rows, "queries": queries, "text": said}))
"""


def run(program, folder):
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "RELGRAPH_CACHE_DIR": str(folder)},
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a cache folder in which a process has left the index."""
    path = tmp_path_factory.mktemp("index")
    run(DESCRIBE, path)
    return path


def test_the_second_process_has_the_same_database_and_runs_no_theme(folder, tmp_path):
    first, second = run(DESCRIBE, tmp_path), run(DESCRIBE, folder)
    assert first.pop("themes") > 20
    assert second.pop("themes") == 0
    assert second == first


def test_a_relation_of_the_index_is_the_one_of_its_module(folder):
    assert run(
        """
import copy, json, pickle, sys
import relgraph as rg
double = rg.optdb["double_addo"]
reverse = rg.optdb["distribute_multiply_addo.reversed"]
known = "relgraph.relations.catalogue.arithmetic" in sys.modules
from relgraph.relations.catalogue import arithmetic
print(json.dumps([
    known, double is arithmetic.double_addo,
    reverse is arithmetic.distribute_multiply_addo.reversed,
    reverse.reversed is arithmetic.distribute_multiply_addo, double.reversed.reversed is double,
    pickle.loads(pickle.dumps(double)) is double, copy.deepcopy(reverse) is reverse,
    pickle.loads(pickle.dumps(reverse)) is reverse,
]))
""",
        folder,
    ) == [False, *[True] * 7]


def test_a_relation_of_the_index_says_what_a_declared_one_says(folder, tmp_path):
    program = """
import json
import relgraph as rg
x = rg.optdb["double_addo"]
say = [str(x), x.__doc__, x.doc, x.location, repr(x.clauses), x.rounding, x.specials, x.tags]
print(json.dumps([say, [str(r) for r in x.rewrites], str(x.run(1, rg.vector("v") * 2))]))
"""
    assert run(program, folder) == run(program, tmp_path)


def test_a_module_that_ran_first_keeps_its_relations(folder):
    assert run(
        """
import json
from relgraph.relations.catalogue import arithmetic
import relgraph as rg
print(json.dumps(rg.optdb["double_addo"] is arithmetic.double_addo))
""",
        folder,
    )


@pytest.mark.parametrize("relation", list(relations()), ids=lambda x: x.label)
def test_declarations_of_the_catalogue_are_valid(relation):
    for clause in relation.forward.clauses:
        check_clause(clause, relation.name, relation.location)
    check_directions(relation.forward)
    assert relation.rewrites
