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


def matrix_with(name, n=4, seed=0):
    """Return a matrix that has a fact, and no more than it must."""
    rng = np.random.default_rng(seed)
    full = rng.normal(size=(n, n)) + n * np.eye(n)
    return {
        "square": full - n * np.eye(n),
        "symmetric": full + full.T,
        "lower_triangular": np.tril(full),
        "upper_triangular": np.triu(full),
        "diagonal": np.diag(np.diag(full)),
        "tridiagonal": np.tril(np.triu(full, -1), 1),
        "orthogonal": np.linalg.qr(full)[0],
        "spd": full @ full.T,
        "psd": full[:, 1:] @ full[:, 1:].T,
        "invertible": full,
        "permutation": np.eye(n)[rng.permutation(n)],
        "identity": np.eye(n),
        "selection": np.eye(n)[rng.integers(n, size=n)],
    }[name]


def holds(name, x):
    """Return True if a value has a fact; facts of matrices up to rounding."""
    elements = {
        "positive": x > 0,
        "nonnegative": x >= 0,
        "negative": x < 0,
        "nonpositive": x <= 0,
        "nonzero": x != 0,
        "integer": x == np.floor(x),
        "finite": np.isfinite(x),
        "not_nan": ~np.isnan(x),
    }
    return bool(elements[name].all()) if name in elements else _matrix_holds(name, x)


def _matrix_holds(name, x):
    if x.shape[-1] != x.shape[-2]:
        return False
    x = np.clip(x, -1e3, 1e3)  # infinite elements have a place in a structure too
    small = 1e-8 * (1 + np.abs(x).max(initial=0))
    identity = np.eye(x.shape[-1])
    differences = {
        "square": 0 * x,
        "symmetric": x - x.mT,
        "lower_triangular": np.triu(x, 1),
        "upper_triangular": np.tril(x, -1),
        "diagonal": x - np.tril(np.triu(x)),
        "tridiagonal": x - np.tril(np.triu(x, -1), 1),
        "orthogonal": x @ x.mT - identity,
        "spd": x - x.mT,
        "psd": x - x.mT,
        "invertible": 0 * x,
        "permutation": np.abs(x @ x.mT - identity) + np.minimum(np.abs(x), np.abs(x - 1)),
        "identity": np.abs(x - identity),
        "selection": np.abs(x.sum(-1, keepdims=True) - 1) + np.minimum(np.abs(x), np.abs(x - 1)),
    }
    close = bool((np.abs(differences[name]) <= small).all())
    if name == "spd":
        return close and bool((np.linalg.eigvalsh(x) > 0).all())
    if name == "psd":
        return close and bool((np.linalg.eigvalsh(x) >= -small).all())
    return close and (name != "invertible" or bool((np.linalg.det(x) != 0).all()))
