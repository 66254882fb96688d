"""Back ends of one's own: a program has defaults for all but its source and a call."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.base import Program
from relgraph.backends.numpy.interpreter import NumpyProgram
from relgraph.backends.report import Report
from relgraph.errors import CaptureError, CompileError, ShapeError

x = rg.vector("x", "n")
A = np.arange(3.0)


class Own:
    """A back end that compiles to what a function makes of NumPy's program."""

    name = "own"

    def __init__(self, wrap):
        self.wrap = wrap

    def compile(self, graph):
        return self.wrap(NumpyProgram(graph))


class Least(Program):
    """A program with nothing that is optional."""

    def __init__(self, program):
        self.program = program

    @property
    def source(self):
        return self.program.source

    def __call__(self, arrays):
        return self.program(arrays)


class Reporting:
    """A callable that derives from nothing, with a report and numbers of its own."""

    source = "mine"

    def __init__(self, program):
        self.program = program

    def __call__(self, arrays):
        return self.program(arrays)

    def report(self):
        return Report(calls=("mine",))

    def convert(self, wanted, value):
        return np.full(3, 7.0) if value == "seven" else None


def function(outputs, wrap, **options):
    return rg.function([x], outputs, mode=None, target=Own(wrap), **options)


@pytest.mark.parametrize("wrap", [Least, Reporting, lambda program: program.__call__])
def test_a_call_and_places_for_results_need_nothing_else(wrap):
    f = function([x + 1, x * 2], wrap, donate="x")
    places = [np.empty(3), np.empty(3)]
    assert f(A, out=places) is places
    for results in (f(A), f(x=[0, 1, 2]), places):
        np.testing.assert_array_equal(results, [A + 1, A * 2])
    with pytest.raises(ShapeError, match="given as out has the shape"):
        f(A, out=[np.empty(3), np.empty(4)])
    with pytest.raises(CaptureError, match="only calls on a GPU"):
        f.capture(A)


def test_only_what_a_program_lacks_is_missing():
    assert function(x + 1, Least).source == "x + 1"
    with pytest.raises(CompileError, match="no report"):
        function(x + 1, Least).report()
    f = function(x + 1, Reporting)
    assert f.source == "mine"
    assert f.report().calls == ("mine",)
    np.testing.assert_array_equal(f("seven"), np.full(3, 8.0))


def test_a_subclass_of_functions_may_call_them():
    class Counting(rg.Function):
        calls = 0

        def __call__(self, *args):
            self.calls += 1
            return super().__call__(*args)

    for target in ("cpu", "numpy"):
        f = Counting(rg.FunctionGraph([x], [x + 1]), None, target)
        np.testing.assert_array_equal(f(A), A + 1)
        assert f.calls == 1
