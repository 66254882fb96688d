"""The benchmark on a GPU runs from end to end in the simulator, and writes what it should."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "benchmarks" / "cuda.py"


def run(*options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_ENABLE_CUDASIM": "1"}
    return subprocess.run(
        [sys.executable, str(SCRIPT), *options],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_all_parts_in_the_simulator(tmp_path):
    path = tmp_path / "cuda.json"
    done = run("--output", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "first step: 5 kernels are right" in done.stdout
    for peer in ("torch", "jax", "cupy"):
        assert re.search(rf"^{peer}: needs a GPU", done.stdout, re.M)
    assert "no mean beside peers" in done.stdout
    result = json.loads(path.read_text())
    assert result["device"]["device"] == "numba's simulator"
    assert {"relgraph", "python", "numpy", "torch", "jax", "cupy"} <= set(result["versions"])
    rows = result["bandwidth"]["rows"]
    assert len(rows) == 6
    assert all(row["agrees"] for row in rows), rows
    assert result["bandwidth"]["mean"] is None
    assert result["launch"]["launches"] >= 2
    assert set(result["gather"]) == {"as written", "rewritten"}
    assert [row["agrees"] for row in result["loops"].values()] == [True, True]
    assert len(result["correctness"]) >= 8
    assert result["driver"] and result["seconds"] > 0


def test_results_of_the_simulator_are_not_kept():
    done = run()
    assert done.returncode != 0
    assert "the simulator measures nothing" in done.stderr


def test_every_suite_that_it_runs_is_there():
    folder = Path(__file__).parent / "simulated"
    names = re.search(r"SUITES = \((.*?)\)", SCRIPT.read_text(), re.S)
    suites = re.findall(r'"(\w+)"', names[1])
    there = {path.stem.removeprefix("test_") for path in folder.glob("test_*.py")}
    assert set(suites) | {"libraries"} >= there  # which has NumPy in the place of CuPy
    assert set(suites) <= there
