"""Reports: what a program says of its kernels, library calls, memory and variants."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numpy.interpreter import NumpyBackend
from relgraph.backends.report import Report
from relgraph.errors import CompileError

x, y = rg.vectors("x y", "n")
A = rg.matrix("A", ("n", "n"))


def report_of(*outputs, inputs=None, target="cpu", **options):
    return rg.function(inputs, list(outputs), mode=None, target=target, **options).report()


def test_kernels_of_one_structure_are_listed_once_and_run_twice():
    report = report_of(rg.exp(x) * 2.0, rg.exp(rg.vector("z", "m")) * 3.0)
    assert len(report.kernels) == 1
    assert report.loops == 2


def test_library_calls_are_listed_in_order():
    report = report_of(rg.sort(rg.exp(A) @ x))
    assert report.calls == ("matmul", "sort")
    assert report.loops == 1


def test_views_are_not_library_calls():
    assert report_of(rg.sort(A.T[0])).calls == ("sort",)


@pytest.mark.parametrize(
    ("outputs", "names"),
    [([rg.exp(x) + y], ("x",)), ([rg.sum(x)], ()), ([x.at[0].set(1.0)], ("x",)),
     ([rg.exp(x), rg.sort(x)], ())],
    ids=["elementwise", "sum", "update", "read later"],
)  # fmt: skip
def test_donated_inputs_that_are_written_over_are_listed(outputs, names):
    inputs = rg.FunctionGraph(None, outputs).inputs
    report = report_of(*outputs, inputs=inputs, donate="x")
    assert report.in_place == names
    f = rg.function(inputs, outputs, mode=None, donate="x")
    arrays = [np.array([2.0, 1.0]) for _ in inputs]
    f(*arrays)
    assert (arrays[0].tolist() != [2.0, 1.0]) == bool(names)


def test_without_donated_inputs_nothing_is_written_over():
    assert report_of(x.at[0].set(1.0)).in_place == ()


def test_variants_are_compiled_on_the_first_call_that_needs_them():
    f = rg.function([A], rg.exp(A), mode=None)
    a = np.zeros((400, 400))
    f(a)
    assert f.report().variants == 0
    for _ in range(2):
        f(a.T)
    assert f.report().variants == 1


def test_the_reference_backend_calls_every_op():
    report = report_of(rg.exp(x) + y, target="numpy")
    assert report == Report(calls=("exp", "add"))


def test_reports_read_as_sentences():
    report = Report(("rgk_a", "rgk_b"), 3, ("matmul", "sort"), ("x",), 1)
    assert repr(report).splitlines() == [
        "2 kernels, run 3 times", "2 library calls: matmul, sort", "written in place: x",
        "1 variant compiled",
    ]  # fmt: skip
    assert repr(Report()).splitlines() == [
        "0 kernels, run 0 times", "0 library calls", "written in place: nothing",
        "0 variants compiled",
    ]  # fmt: skip


class Silent(NumpyBackend):
    """Compiles to a function, which has no report."""

    def compile(self, graph):
        program = super().compile(graph)

        def run(arrays):
            return program(arrays)

        run.source = program.source
        return run


def test_a_program_without_a_report_is_an_error():
    f = rg.function([x], rg.exp(x), mode=None, target=Silent())
    np.testing.assert_array_equal(f(np.zeros(2)), np.ones(2))
    with pytest.raises(CompileError, match="no report"):
        f.report()
