"""The texts of kernels for a device: what is read once, and how many sums are added at a time."""

import os
import re

import pytest

import relgraph as rg
from relgraph.backends.cuda.arrays import Pool
from relgraph.backends.cuda.launches import FoldLauncher
from relgraph.backends.cuda.program import FUSION, CudaProgram

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_ENABLE_CUDASIM") == "1", reason="the simulator has other widths"
)


def text_of(inputs, output):
    """Return the text of the one kernel of a graph, for a device."""
    program = CudaProgram(rg.FunctionGraph(inputs, [output]), FUSION, Pool())
    (launcher,) = program._launchers.values()
    text = launcher.text(False, 256) if isinstance(launcher, FoldLauncher) else launcher.text(False)
    return text.module()[1]


def test_an_operand_of_one_element_is_read_before_the_loops():
    x, s = rg.vector("x", "n", dtype="float32"), rg.vector("s", 1, dtype="float32")
    text = text_of([x, s], x * s + s)
    before, loops = text.split("while", 1)
    assert re.findall(r"X1\[.*\]", text) == ["X1[0]"]
    assert "X1[0]" in before
    assert "load_float32_4(X0" in loops


def test_a_row_that_is_broadcast_is_read_where_it_varies():
    x, r = rg.matrix("x", shape=("n", "m")), rg.vector("r", "m")
    c = rg.matrix("c", shape=("n", 1))
    _, text = text_of([x, r, c], x * r + c).split(":", 1)
    quotients = re.findall(r"(\w+) = uindex\(\w+ // n1\)", text)
    assert re.findall(r"X2\[(\w+)\]", text) == quotients  # the rows
    assert len(re.findall(r"X1[\[,]", text)) == len(quotients) == 2  # vectors, and the rest


@pytest.mark.parametrize(("dtype", "lanes"), [("float32", 4), ("float64", 2)])
def test_each_thread_adds_several_sums_at_a_time(dtype, lanes):
    x = rg.matrix("x", shape=("n", "m"), dtype=dtype)
    text = text_of([x], rg.sum(x * x, axis=1))
    totals = [f"a1_{k}" for k in range(lanes)]
    assert re.findall(r"(a1_\d) = float64\(0.0\)", text) == totals  # float32 too
    assert re.findall(r"(a1_\d) = v\d+_\d", text) == totals
    assert re.findall(r"e\d+ = (a1_\d)", text) == totals  # joined in a fixed order


def test_a_report_lists_the_kernels_and_the_library_calls():
    x, A = rg.vector("x", "n"), rg.matrix("A", ("n", "n"))
    program = CudaProgram(rg.FunctionGraph([A, x], [A @ rg.exp(x)]), FUSION, Pool())
    report = program.report()
    assert report.loops == 1
    assert report.calls == ("matmul",)
    assert len(report.kernels) >= 1
    assert report.in_place == ()
