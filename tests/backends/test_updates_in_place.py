"""Updates: what is computed in the array itself is what a copy would hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import relgraph as rg

KINDS = {"set": None, "add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def updated(array, kind, key, value):
    """Return a copy of an array, updated by NumPy."""
    result = np.array(array, order="C")
    if kind == "set":
        result[key] = value
    else:
        KINDS[kind].at(result, key, value)
    return result


def copies(f):
    """Return how many updates of a compiled function are made in a copy of their array."""
    calls = f._program._main.__globals__
    nodes = [node for step in f._program.steps for node in getattr(step, "nodes", ())]
    kernels = sum(node.op.name == "copy" for node in nodes)
    return (
        kernels
        + f.source.count("copyto(")
        + sum(
            1
            for name, call in calls.items()
            if name.startswith("call_") and call.node.op.name.endswith("_index")
            if call.perform.__name__ == "perform"
        )
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_of_a_value_that_nothing_else_reads_is_made_in_place(kind):
    x, v = rg.vector("x", "n"), rg.vector("v", 2)
    i = rg.tensor("i", (2,), "int64")
    node = getattr((x * 2 + 1).at[i], kind)(v)
    a, b, c = np.arange(5.0), np.array([7.0, -7.0]), np.array([3, 3 if kind != "set" else 1])
    expected = updated(a * 2 + 1, kind, c, b)
    for mode, count in (("o4", 0), ("o3", 1), (rg.mode("o4").excluding("inplace"), 1)):
        f = rg.function([x, v, i], node, mode=mode)
        assert copies(f) == count
        np.testing.assert_array_equal(f(a, b, c), expected)
    np.testing.assert_array_equal(a, np.arange(5.0))


def test_a_chain_of_updates_makes_one_copy():
    x = rg.vector("x", 6)
    node = x.at[0].set(1.0).at[1].add(2.0).at[2:4].multiply(3.0)
    f = rg.function([x], rg.sum(rg.exp(node)), mode=None)
    a = np.linspace(0, 1, 6)
    expected = a.copy()
    expected[0], expected[1] = 1.0, expected[1] + 2
    expected[2:4] *= 3
    np.testing.assert_allclose(f(a), np.exp(expected).sum())
    assert copies(f) == 1
    np.testing.assert_array_equal(a, np.linspace(0, 1, 6))


def test_what_somebody_reads_is_left_as_it_is():
    x, y = rg.vectors("x y", 4)
    z = rg.sin(x) + y
    cases = {
        "an input": [x.at[0].set(1.0)],
        "an output": [z, z.at[0].set(1.0)],
        "read again": [z.at[0].set(1.0), rg.reshape(z, (2, 2)).at[0, 1].add(z[1])],
        "two updates": [z.at[0].set(1.0), z.at[1].set(2.0)],
        "its own value": [z.at[:].add(z)],
        "a view of it": [rg.reshape(z, (2, 2)).T, z.at[0].set(5.0)],
        "part of it": [z.at[0:2].set(z[2:4])],
        "a constant": [rg.zeros(4).at[0:2].set(y[2:4]), rg.zeros(4).at[1].add(1.0)],
    }
    a, b = np.arange(4.0), np.arange(4.0) ** 2
    s = np.sin(a) + b
    expected = {
        "an input": [updated(a, "set", 0, 1.0)],
        "an output": [s, updated(s, "set", 0, 1.0)],
        "read again": [
            updated(s, "set", 0, 1.0),
            updated(s.reshape(2, 2), "add", (0, 1), s[1]),
        ],
        "two updates": [updated(s, "set", 0, 1.0), updated(s, "set", 1, 2.0)],
        "its own value": [s + s],
        "a view of it": [s.reshape(2, 2).T, updated(s, "set", 0, 5.0)],
        "part of it": [updated(s, "set", slice(0, 2), s[2:4])],
        "a constant": [np.array([b[2], b[3], 0, 0]), np.array([0.0, 1, 0, 0])],
    }
    for name, outputs in cases.items():
        f = rg.function([x, y], outputs, mode=None)
        updates = sum(node.op is not None and node.op.name.endswith("_index") for node in f.graph)
        assert copies(f) == updates - (name == "two updates"), name  # the second of them
        for _ in range(2):
            for one, other in zip(f(a, b), expected[name], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("kind", KINDS)
def test_updates_of_arrays_that_are_not_in_c_order(kind, target):
    x, v = rg.matrix("x", (3, 4)), rg.scalar("v")
    i, j = (rg.tensor(name, (2,), "int64") for name in "ij")
    a = np.arange(12.0).reshape(3, 4)
    for transpose, twice in itertools.product((True, False), repeat=2):
        base = x.T if transpose else rg.broadcast_to(x[0], (3, 4))
        if twice:
            base = base.at[0].set(2.0)
        node = getattr(base.at[i, j], kind)(v)
        start = a.T if transpose else np.broadcast_to(a[0], (3, 4))
        start = updated(start, "set", 0, 2.0) if twice else start
        key = (np.array([1, 2]), np.array([2, 0]))
        expected = updated(start, kind, key, 5.0)
        f = rg.function([x, v, i, j], node, mode=None, target=target)
        np.testing.assert_array_equal(f(a, 5.0, *key), expected)
