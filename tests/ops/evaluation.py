"""Run a graph node by node with the NumPy meaning of each op, and compare it with an answer."""

import numpy as np

from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, make_input
from relgraph.ir.types import TensorType

TYPINGS = ("static", "named", "unknown")


def typed(name, array, typing="static", facts=()):
    """Return an input for an array; a size of 1 stays static, since only that is stretched."""
    dims = {
        "static": lambda size: size,
        "named": lambda size: size if size == 1 else f"d{size}",
        "unknown": lambda size: size if size == 1 else None,
    }[typing]
    return make_input(name, TensorType(array.dtype, map(dims, array.shape)), facts)


def evaluate(node, values):
    """Return the value of a node, given those of its inputs; check all types."""
    done = {}
    sizes = {}
    for x in toposort(node):
        if isinstance(x, Constant):
            done[x] = x.value
        elif x.op is None:
            done[x] = values[x.name]
            sizes |= zip(x.type.shape, done[x].shape, strict=True)
        else:
            done[x] = x.op.perform(*[done[i] for i in x.inputs])
    for x, value in done.items():
        if isinstance(x.type, TensorType):
            check_type(x.type, value, sizes)
    return done[node]


def check_type(type_, value, sizes):
    """Assert that a value is what its inferred type says, symbolic sizes included."""
    assert type_.accepts(value) is None, (type_, type_.accepts(value))
    for size, dim in zip(value.shape, type_.shape, strict=True):
        assert not isinstance(dim, str) or size == sizes[dim], (type_, value.shape)


def check(build, expected, *arrays, typings=TYPINGS, rtol=0.0):
    """Assert that a graph has an answer's dtype, shape and values, however exact its types are."""
    expected = np.asarray(expected)
    for typing in typings:
        names = [f"x{i}" for i in range(len(arrays))]
        node = build(*(typed(n, a, typing) for n, a in zip(names, arrays, strict=True)))
        value = np.asarray(evaluate(node, dict(zip(names, arrays, strict=True))))
        assert value.dtype == expected.dtype, (typing, value.dtype, expected.dtype)
        assert value.shape == expected.shape, (typing, value.shape, expected.shape)
        if rtol:
            np.testing.assert_allclose(value, expected, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(value, expected)


class Term:
    """A pattern as the relations layer makes them: it records what is applied to it."""

    def __init__(self, op=None, operands=()):
        self.op, self.operands = op, operands

    @staticmethod
    def __relgraph_op__(operand, op, operands):
        return Term(op, operands)
