"""The source of graphs with loops and choices: its text, and its values in each library."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import UnsupportedOpError
from tests.export.test_source import INSTALLED, converter, defined

x, w = rg.vector("x"), rg.vector("w", (3,), "float32")
A = rg.matrix("A", (3, 3))
a, n = rg.scalar("a"), rg.scalar("n", "int64")
VALUES = {
    x: np.arange(4.0) + 0.5, w: np.arange(3, dtype="float32"), a: np.array(0.3), n: np.array(3),
    A: np.random.default_rng(0).standard_normal((3, 3)),
}  # fmt: skip


def average(mean, x):
    mean = a * mean + (1 - a) * x
    return mean, mean


def pair(carry, _):
    p, q = carry
    return (q, rg.tanh(A @ p) + a * q), (p.sum(), q)


def heat(i, u):
    return u.at[1:-1].add(0.25 * (u[2:] - 2 * u[1:-1] + u[:-2]))


def nested(c, row):
    return c + rg.scan(lambda s, e: (s * a + e, None), 0.0, row)[0], c


def softplus(v):
    return rg.log1p(rg.exp(v)) / (rg.log1p(rg.exp(v)) + 1)


def leaves(pair):
    return [x for part in pair for x in (part if isinstance(part, tuple) else (part,))]


GRAPHS = {
    "a scan": list(rg.scan(average, 0.0, x)),
    "backwards": list(rg.scan(average, a, x, reverse=True)),
    "two sequences": [
        rg.scan(lambda c, xs: (c + xs[0] * xs[1], softplus(c)), 0.0, (x, 2 * x))[1]
    ],
    "two carries": leaves(rg.scan(pair, (A[0], A[1]), length=4)),
    "no carry": [rg.scan(lambda _, x: (None, 2 * x + a), None, x)[1]],
    "a number of steps": [rg.fori_loop(0, n, lambda i, v: A @ v + i * a, A[0])],
    "float32": [rg.fori_loop(0, 3, lambda i, v: (v * i).astype("float32") + w, w)],
    "an index": [rg.fori_loop(0, 3, lambda i, v: v.at[i].set(v[i - 1] + x[i]), x)],
    "an update": [rg.fori_loop(0, 10, heat, x)],
    "a stacked index": [rg.scan(lambda c, x: (c + 1, c * x), n, x)[1]],
    "nested": [rg.scan(nested, 0.0, A)[1]],
    "a gradient": rg.grad(rg.sum(rg.scan(average, 0.0, x)[1] ** 2), [x, a]),
    "a choice": [rg.cond(a > 0, softplus, rg.exp, x)],
    "a choice of pairs": list(rg.cond(a > 1, lambda v: (v, a), lambda v: (v + 1, a * 2), x)),
    "a while loop": list(
        rg.while_loop(lambda v: v[0] < 9.0, lambda v: (2 * v[0] + a, v[1] + 1), (a, 0))
    ),
    "a test of several statements": [
        rg.while_loop(lambda v: rg.sum(softplus(v)) < 2.9, lambda v: 2 * v + rg.exp(a), x)
    ],
}  # fmt: skip


@pytest.mark.parametrize("library", INSTALLED)
@pytest.mark.parametrize("name", GRAPHS)
def test_loops_compute_what_numpy_does(name, library):
    graph = rg.FunctionGraph(None, GRAPHS[name])
    there, back = converter(library)
    function = defined(rg.source(graph, library))
    if library == "jax":
        import jax

        function = jax.jit(function)
    results = function(*[there(VALUES[v]) for v in graph.inputs])
    results = results if isinstance(results, tuple) else (results,)
    expected = rg.evaluate(list(graph.outputs), VALUES, target="numpy", mode=None)
    for result, value in zip(map(back, results), expected, strict=True):
        assert (result.dtype, result.shape) == (np.asarray(value).dtype, np.shape(value))
        np.testing.assert_allclose(result, value, 1e-6 if result.dtype == "float32" else 1e-12)


TEXTS = {
    "numpy": """
        import numpy as np


        def compute(a, x):
            t0 = 1 - a
            carry = np.float64(0)
            ys = []
            for i in range(x.shape[0]):
                x_i = x[i]
                t3 = a * carry + t0 * x_i
                ys.append(t3)
                carry = t3
            ys = np.array(ys, dtype=np.float64)
            return ys""",
    "torch": """
        import torch


        def compute(a, x):
            t0 = 1 - a
            carry = torch.tensor(0, dtype=torch.float64)
            ys = []
            for i in range(x.shape[0]):
                x_i = x[i]
                t3 = a * carry + t0 * x_i
                ys.append(t3)
                carry = t3
            ys = torch.stack(ys)
            return ys""",
    "jax": """
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)  # otherwise it has 32 bits only


        def compute(a, x):
            t0 = 1 - a

            def step(carry, x_i):
                t1 = a * carry + t0 * x_i
                return t1, t1

            carry, ys = jax.lax.scan(step, jnp.float64(0), x)
            return ys""",
}


@pytest.mark.parametrize("library", TEXTS)
def test_a_scan_reads_like_a_loop(library):
    text = rg.source(rg.FunctionGraph([a, x], [rg.scan(average, 0.0, x)[1]]), library)
    assert text == inspect.cleandoc(TEXTS[library])


def test_choices_and_while_loops_read_like_statements():
    doubled = rg.while_loop(lambda v: v < 9.0, lambda v: 2 * v, a)
    assert rg.source(rg.cond(doubled > 10, lambda: doubled, lambda: -a)) == inspect.cleandoc("""
        import numpy as np


        def compute(a):
            carry = a
            while carry < 9:
                carry = 2 * carry
            if carry > 10:
                chosen = carry
            else:
                chosen = -a
            return chosen""")


def test_what_iterations_read_is_computed_once():
    text = rg.source(rg.fori_loop(0, 3, lambda i, v: v + rg.exp(x), x))
    assert text.index("np.exp") < text.index("for i in range(3):")


def test_names_do_not_hide_those_of_the_loop():
    i, step = rg.vector("i", ("n",)), rg.scalar("range")
    total = rg.scan(lambda c, x: (c + x * step, None), 0.0, i)[0]
    text = rg.source(total)
    assert defined(text)(np.array([1.0, 2.0]), 3.0) == 9.0


def test_a_scan_of_nothing_stacks_nothing():
    graph = rg.FunctionGraph([a, x], [rg.scan(average, 0.0, x)[1]])
    assert defined(rg.source(graph))(0.5, np.zeros(0)).shape == (0,)


def test_jax_stacks_results_of_known_number_only():
    stacked = rg.scan(lambda c, _: (c + 1, c), a, length=n)[1]
    with pytest.raises(UnsupportedOpError, match="a number that it knows when it compiles"):
        rg.source(stacked, "jax")
    assert "for i in range(int(n)):" in rg.source(stacked)


def test_ops_of_bodies_that_a_library_lacks_are_listed():
    with pytest.raises(UnsupportedOpError) as error:
        rg.source(rg.fori_loop(0, 3, lambda i, v: rg.kv(v, v), a), "jax")
    assert "kv" in str(error.value)
