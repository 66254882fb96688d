"""Compiled matchers on disk: other processes use them, and nothing stale or damaged is used."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import relgraph as rg
from relgraph.db.catalogue import relations
from relgraph.relations import matcher_store

ROOT = Path(__file__).resolve().parents[2]

REWRITE = """
import json, sys
import relgraph as rg
x, y = rg.vectors("x y")
A, B = rg.matrices("A B")
v = rg.tensor("v", shape=(7,))
graphs = [
    rg.exp(rg.log(x) * 1) + 0 + y * 2 + x * 2, rg.log(1 + rg.exp(x)) - rg.abs(-y), (A.T @ B.T).T,
    rg.sum(A @ B, axis=0) / 2, rg.sqrt(y**2) * (x - y) / (x - y), rg.max(rg.exp(v)), rg.inv(A) @ B,
]
new = rg.rewrite_graph(graphs, mode="o4")
from relgraph.relations import matcher_store
themes = [x for x in sys.modules if x.startswith("relgraph.relations.catalogue.")]
from relgraph.relations.relation import ANNOUNCED
print(json.dumps({
    "graphs": [str(g) for g in new], "themes": len(themes), "made": matcher_store.made(),
    "stated": sum("clauses" in vars(x) for x in ANNOUNCED.values()),
}))
"""


def start(program, folder, cwd=ROOT, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=cwd,
        env={**os.environ, "RELGRAPH_CACHE_DIR": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1]), err


def run(program, folder, cwd=ROOT, **environment):
    return finished(start(program, folder, cwd, **environment))[0]


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """Return a folder that one process has filled, and what that process printed."""
    folder = tmp_path_factory.mktemp("matchers")
    return folder, run(REWRITE, folder)


def entry(folder):
    (path,) = folder.glob("matchers_*.rgc")
    return path


def test_the_second_process_compiles_and_states_nothing_and_rewrites_alike(warm):
    folder, cold = warm
    again = run(REWRITE, folder)
    assert again["graphs"] == cold["graphs"]
    assert cold["made"] > 50
    assert again["made"] == 0
    assert again["stated"] == 0 < cold["stated"]
    assert again["themes"] < cold["themes"]


def test_a_rewriting_by_disk_has_the_derivation_and_source_of_one_without(warm):
    folder, _ = warm
    program = """
import json
import relgraph as rg
x, y = rg.vectors("x y")
graph = rg.exp(rg.log(x) * 1) + 0 + y * 2 + x * 2
rewriter = rg.optdb.query("fast_run")
new = rewriter.rewrite(graph)
source = "".join(selection.source for selection in rewriter.selections)
print(json.dumps([str(new), str(rg.explain(graph, rewriter)), source]))
"""
    assert run(program, folder) == run(program, folder / "none")


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "other key"])
def test_a_damaged_file_is_compiled_again_and_replaced(warm, tmp_path, damage):
    folder, cold = warm
    path = tmp_path / entry(folder).name
    data = entry(folder).read_bytes()
    middle = len(data) // 2
    path.write_bytes({
        "empty": b"",
        "cut": data[:middle],
        "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "other key": data.replace(b'"key": "', b'"key": "0', 1),
    }[damage])  # fmt: skip
    path.chmod(0o600)
    again = run(REWRITE, tmp_path)
    assert again["graphs"] == cold["graphs"]
    assert again["made"] == cold["made"]
    assert run(REWRITE, tmp_path)["made"] == 0


def test_a_file_that_others_can_write_is_not_used(warm, tmp_path):
    folder, cold = warm
    path = tmp_path / entry(folder).name
    path.write_bytes(entry(folder).read_bytes())
    path.chmod(0o666)
    assert run(REWRITE, tmp_path)["made"] == cold["made"]


def test_two_processes_that_write_at_once_leave_a_whole_file(tmp_path, warm):
    _, cold = warm
    running = [start(REWRITE, tmp_path) for _ in range(2)]
    assert [finished(x)[0]["graphs"] for x in running] == [cold["graphs"]] * 2
    assert run(REWRITE, tmp_path)["made"] == 0


@pytest.mark.skipif(os.name == "nt", reason="modes of folders mean nothing on Windows")
def test_without_a_folder_rewriting_works_and_says_so_once(warm, tmp_path):
    _, cold = warm
    home = tmp_path / "home"
    home.write_text("a file, so that no folder can be made in it")
    result, said = finished(start(REWRITE, home / "cache"))
    assert result["graphs"] == cold["graphs"]
    assert said.count("compiled code is not cached") == 1


SOURCES = """
import json
from pathlib import Path
import relgraph as rg
from relgraph import cache
print(json.dumps([cache.sources().name, str(Path(rg.__file__).parent)]))
"""


def test_a_changed_source_has_another_entry(tmp_path):
    copy = tmp_path / "relgraph"
    shutil.copytree(ROOT / "relgraph", copy, ignore=shutil.ignore_patterns("__pycache__"))
    path = {"PYTHONPATH": str(tmp_path)}
    before, place = run(SOURCES, tmp_path / "cache", tmp_path, **path)
    assert place == str(copy)
    assert run(SOURCES, tmp_path / "cache", tmp_path, **path)[0] == before
    theme = copy / "relations" / "catalogue" / "signs.py"
    theme.write_text(theme.read_text() + "\n")
    assert run(SOURCES, tmp_path / "cache", tmp_path, **path)[0] != before


def test_a_relation_of_a_user_is_compiled_in_each_process(tmp_path, monkeypatch):
    monkeypatch.setenv("RELGRAPH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(matcher_store, "_tables", {})

    @rg.identity
    def double_sino(x):
        """2 sin x cos x = sin(2 x)."""
        return 2 * rg.sin(x) * rg.cos(x), rg.sin(2 * x)

    assert double_sino.catalogued is None
    x = rg.vector("x")
    assert str(rg.rewrite_graph(2 * rg.sin(x) * rg.cos(x), double_sino)) == "sin(2 * x)"
    assert list(tmp_path.glob("matchers_*")) == []


def test_each_clause_and_direction_has_a_name_of_its_own():
    names = [x.catalogued for x in relations()]
    assert None not in names
    assert len(set(names)) == len(names)
