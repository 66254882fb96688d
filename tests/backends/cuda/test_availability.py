"""Where no GPU can be used, the errors say what is missing; what needs CUDA is imported late."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import relgraph as rg
from relgraph.backends import cuda
from relgraph.backends.cuda import adapter
from relgraph.errors import CaptureError, GPUNotAvailableError


def test_only_the_adapter_imports_numba_cuda():
    folder = Path(cuda.__file__).parent
    pattern = re.compile(
        r"^\s*(from numba\.cuda|import numba\.cuda|from numba import .*cuda)", re.M
    )
    found = {path.name for path in folder.glob("*.py") if pattern.search(path.read_text())}
    assert found == {"adapter.py"}
    found = {path.name for path in folder.glob("*.py") if "cuda.bindings" in path.read_text()}
    assert found == {"driver.py"}


def test_the_names_of_cuda_import_no_compiler():
    code = "import sys, relgraph; relgraph.cuda.to_host(1); assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_ptx_without_a_compiler_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(adapter, "can_compile", lambda: False)
    x = rg.vector("x")
    with pytest.raises(GPUNotAvailableError, match="NVIDIA's compiler is not installed") as caught:
        rg.cuda.ptx([x], x + 1)
    assert {name for name, _ in caught.value.facts} >= {"numba", "numba-cuda", "cupy", "device"}


def test_a_driver_that_raises_is_a_driver_that_is_missing(monkeypatch):
    class Broken:
        def is_available(self):
            raise RuntimeError("Error at driver init:\n\nno such library")

    monkeypatch.setattr(adapter, "cuda", Broken)
    assert adapter.report()["device"] == "missing: Error at driver init: no such library"


def test_a_function_for_the_cpu_is_not_recorded():
    x = rg.vector("x")
    with pytest.raises(CaptureError, match="only calls on a GPU"):
        rg.function([x], x + 1).capture([1.0])
