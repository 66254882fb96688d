"""What tests of the loop language share: functions run by the interpreter and as machine code."""

from copy import copy

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import kernels, loop_calls
from relgraph.backends.numba.calls import Layout
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.build import written_loop
from relgraph.lowering.loops.nodes import Call, Const, Op
from relgraph.lowering.loops.verify import verify
from relgraph.lowering.loops.writer import FAILED, GOES_ON

EXACT = frozenset({
    "add", "subtract", "multiply", "true_divide", "sqrt", "square", "absolute", "negative",
    "maximum", "minimum", "floor", "ceil", "less", "less_equal", "greater", "greater_equal",
    "equal", "not_equal", "where", "logical_and", "logical_or", "logical_not", "cast",
})  # fmt: skip
"""Ops that are rounded once; the language's "sum" of floats may be in any order."""


def written(node):
    """Return the loop of an application in the loop language, verified; None without rules."""
    loop = written_loop(node, "NAME")
    if loop is not None:
        verify(loop.function)
    return loop


def machine(function, integers, arrays):
    """Run a function, named NAME, as machine code."""
    layout = Layout(sizes=len(integers), arrays=len(arrays), cost=1_000_000)
    kernels.load_function(function, layout)(*integers, *arrays)


def outcome(loop, run, operands):
    """Return the status of a loop and its results, by a runner of functions.

    Arrays that it makes hold an odd number first, which no result may depend on.
    """
    operands = [np.ascontiguousarray(x).reshape(np.shape(x)) for x in operands]
    integers = [operands[i].shape[axis] for i, axis in loop.integers]

    def memory(array):
        return np.full(loop.sizes(array, integers), 113, array.dtype)

    while True:
        results, scratch = map(memory, loop.results), map(memory, loop.scratch)
        results, scratch, status = list(results), list(scratch), np.full(1, 113)
        before = [x.copy() for x in operands]
        read = [operands[i] for i in loop.operands]
        run(loop.function, [1, *integers], [*read, *results, *scratch, status])
        for x, y in zip(operands, before, strict=True):
            assert x.tobytes() == y.tobytes(), "a loop wrote to an operand"
        if status[0] != GOES_ON:
            return int(status[0]), results
        operands[: len(results)] = results


def is_exact(function):
    """Return True if each op of a function is rounded once, in one order."""
    stack, seen = [function], set()
    while stack:
        x = stack.pop()
        if isinstance(x, tuple):
            stack.extend(x)
        elif hasattr(x, "values") and x not in seen:
            seen.add(x)
            if isinstance(x, Call):
                return False
            if isinstance(x, Op):
                if x.op == "sum":
                    return False
                if not isinstance(x.op, str) and x.op.name not in EXACT:
                    return False
            stack.extend(x.values)
    return True


def same_bits(a, b):
    """Return True for arrays of equal bits, but for those of NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    nan = np.isnan(a)
    return np.array_equal(nan, np.isnan(b)) and a[~nan].tobytes() == b[~nan].tobytes()


def check(node, operands):
    """Compare machine code with the interpreter, and with the definition of the op.

    Returns the function and its results; None for a loop without rules.
    """
    loop = written(node)
    if loop is None:
        return None
    status, meant = outcome(loop, interpreter.run, operands)
    printed, found = outcome(loop, machine, operands)
    assert printed == status
    if status & FAILED:
        with pytest.raises((ValueError, IndexError)):  # sizes that only a call knows
            node.op.perform(*operands)
        return loop, None
    expected = node.op.perform(*operands)
    exact = is_exact(loop.function)
    for a, b, c in zip(found, meant, expected, strict=True):
        assert a.dtype == np.asarray(c).dtype
        assert np.shape(a) == np.shape(c)
        tolerance = 1e-4 if a.dtype == np.float32 else 1e-9
        if exact:
            assert same_bits(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(a, c, rtol=tolerance, atol=tolerance)
    return loop, found


__all__ = ["EXACT", "check", "is_exact", "machine", "outcome", "same_bits", "written"]


def loops_of(monkeypatch, program, *arrays):
    """Return the functions of the loop language of a program, after comparing it with NumPy."""
    found = []
    real = loop_calls._kernel
    monkeypatch.setattr(
        loop_calls, "_kernel", lambda loop: found.append(loop.function) or real(loop)
    )
    expected = program(*[copy(x) for x in arrays])
    result = rg.jit(program)(*[copy(x) for x in arrays])
    rtol = 2e-6 if expected.dtype == "f4" else 1e-13
    np.testing.assert_allclose(result, expected, rtol, 1e-13)
    return found


def interpreted(function):
    """Return all arrays after a function ran on random ones of constant sizes."""
    assert function.integers == () or [x.name for x in function.integers] == ["once"]
    rng = np.random.default_rng(0)
    arrays = []
    for b in function.arrays:
        assert all(isinstance(n, Const) for n in b.shape)
        arrays.append(rng.uniform(1, 9, [n.value for n in b.shape]).astype(b.dtype))
    with np.errstate(all="ignore"):
        interpreter.run(function, [1] * len(function.integers), arrays)
    return arrays
