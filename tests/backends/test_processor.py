"""The processor that kernels are compiled for: numba's variables override the one detected."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from relgraph.backends.numba import machine
from relgraph.backends.numba.calls import TRAMPOLINE
from relgraph.backends.numba.guard import GUARD
from relgraph.backends.numba.main_call import CALL

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import numpy as np, relgraph as rg
from relgraph.backends.numba import kernels, machine
x = rg.vector("x")
a = np.linspace(-3, 3, 1001)
f = rg.function([x], rg.arcsinh(x) * 2 + rg.sqrt(x * x), mode=None)
np.testing.assert_allclose(f(a), np.arcsinh(a) * 2 + np.sqrt(a * a), rtol=1e-14)
print(*set(kernels.stats().values()))
print(*machine.processor(), sep="|")
"""


def run(folder, **variables):
    """Compile a kernel in another process; return where it came from, and for which processor."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_CPU")}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**kept, "RELGRAPH_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT), **variables},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    origin, processor = result.stdout.splitlines()
    return origin, tuple(processor.split("|"))


def test_kernels_are_compiled_for_the_processor_that_numba_is_told(tmp_path):
    origin, detected = run(tmp_path)
    assert origin == "compiled"
    assert detected[0] != "generic"
    # Machine code of another processor is not loaded, and each finds its own again.
    for expected in ("compiled", "disk"):
        assert run(tmp_path, NUMBA_CPU_NAME="generic") == (expected, ("generic", ""))
    assert run(tmp_path) == ("disk", detected)


def test_features_are_those_that_numba_is_told(tmp_path):
    _, (_, detected) = run(tmp_path)
    for features in ("", next(x for x in detected.split(",") if x.startswith("+"))):
        variables = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features}
        for expected in ("compiled", "disk"):
            assert run(tmp_path, **variables) == (expected, ("generic", features))


@pytest.mark.parametrize("text", [TRAMPOLINE, CALL, GUARD])
def test_what_calls_run_is_inlined_by_few_passes_unless_it_forbids_that(text):
    module = machine.optimised(text, branches=True)
    module.verify()
    own = [x for x in module.functions if not x.is_declaration]
    private = [x for x in own if not x.name.startswith("NAME")]
    assert all(any(b"noinline" in words for words in x.attributes) for x in private)
    code, symbols = machine.compile_module(text, branches=True)
    assert code and machine.missing(symbols) == []
