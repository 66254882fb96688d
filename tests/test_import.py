"""Importing relgraph is cheap: no compiler, no SciPy, no device, no registration."""

import json
import os
import subprocess
import sys

HEAVY = (
    "numba", "llvmlite", "scipy", "cuda", "numba_cuda", "cupy", "torch", "jax", "pytensor",
    "sklearn", "relgraph.api.function", "relgraph.backends", "relgraph.lowering",
    "relgraph.relations.catalogue",
)  # fmt: skip


def run(program, **environment):
    """Run a program in a fresh interpreter and return what it prints, read as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_importing_relgraph_imports_no_compiler():
    loaded = run("import json, sys, relgraph; print(json.dumps(sorted(sys.modules)))")
    assert "numpy" in loaded
    assert [x for x in loaded if any(x == y or x.startswith(y + ".") for y in HEAVY)] == []


def test_importing_relgraph_registers_nothing():
    built = run(
        "import json, relgraph\n"
        "from relgraph.db.default import built_database\n"
        "before = built_database() is None\n"
        "relgraph.optdb\n"
        "print(json.dumps([before, built_database() is relgraph.optdb]))"
    )
    assert built == [True, True]


def test_rewriting_needs_no_compiler():
    loaded = run(
        "import json, sys, relgraph as rg\n"
        "x = rg.vector('x')\n"
        "rg.rewrite_graph(rg.exp(x + 0) * rg.log(rg.sigmoid(rg.abs(x))), mode='fast_run')\n"
        "assert rg.facts(rg.sigmoid(rg.abs(x))).bounds().low > 0.49\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    assert [x for x in loaded if x.split(".")[0] in ("numba", "llvmlite", "scipy")] == []


def test_importing_relgraph_takes_little_time(tmp_path):
    # Processor time, in a process of its own, the least of five: other work on the machine adds
    # little to it.  NumPy is imported first and not counted.  The first process writes bytecode.
    program = (
        "import numpy, time\n"
        "start = time.process_time()\n"
        "import relgraph\n"
        "print(time.process_time() - start)"
    )
    bytecode = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    run(program, **bytecode)
    assert min(run(program, **bytecode) for _ in range(5)) < 0.25


def test_the_namespace_is_what_it_says():
    listed, found = run(
        "import json, relgraph\n"
        "print(json.dumps([relgraph.__all__, [hasattr(relgraph, n) for n in relgraph.__all__]]))"
    )
    assert dict(zip(listed, found, strict=True)) == dict.fromkeys(listed, True)
    assert len(listed) == len(set(listed))
