"""Gathering: blocks of any number of operands, and coefficients computed from all of them."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.relations.catalogue.arithmetic import collect_like_termso

x, y, z = rg.vectors("x y z", 3)
VALUES = {"x": [1.0, 2.0, -3.0], "y": [0.5, -1.5, 2.5], "z": [4.0, 1.0, 0.25]}


def run(graph, inputs, *values):
    return rg.function(inputs, graph, mode="fast_compile", target="numpy")(*values)


@pytest.mark.parametrize(
    ("graph", "made"),
    [
        (x + x + y + x, 3 * x + y),
        (x + 3.0 * x + y * x, 4 * x + y * x),
        (y * 2.0 * z + z * y, 3 * (y * z)),
        (x + y + 2 * x + 3 * y, 3 * x + 4 * y),
        (x + -1.0 * x, 0 * x),
        (rg.sin(x) + rg.sin(x) * 0.5, 1.5 * rg.sin(x)),
    ],
)
def test_like_terms_are_collected(graph, made):
    derivation = rg.explain(graph, collect_like_termso)
    (found,) = derivation.after
    derivation.check()
    inputs = [x, y, z]
    values = [np.array(VALUES[v.name]) for v in inputs]
    assert np.allclose(run(found, inputs, *values), run(graph, inputs, *values))
    assert sorted(repr(found).replace("(", "").replace(")", "").split(" + ")) == sorted(
        repr(made).replace("(", "").replace(")", "").split(" + ")
    )


def test_many_terms_are_one_step():
    total = x
    for i in range(999):
        total = total + (x if i % 2 else 0.5 * y)
    derivation = rg.explain(total, collect_like_termso)
    assert len(derivation.phases[0].steps) == 1
    derivation.check()
    ones = np.ones(3)
    found = rg.function([x, y], derivation.after[0], target="numpy")(ones, ones)
    assert np.allclose(found, 500 + 0.5 * 500)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_integer_coefficients_wrap_around_as_the_sum_does(dtype):
    v = rg.vector("v", 3, dtype=dtype)
    total = v
    for _ in range(299):
        total = total + v
    found = rg.rewrite_graph(total, collect_like_termso)
    assert found.op is rg.multiply
    value = np.array([1, 3, 100], dtype)
    expected = value.copy()
    with np.errstate(over="ignore"):
        for _ in range(299):
            expected = expected + value
    np.testing.assert_array_equal(run(found, [v], value), expected)


def test_a_coefficient_that_overflows_is_not_computed():
    graph = 1.0e308 * x + 1.5e308 * x + y
    assert rg.rewrite_graph(graph, collect_like_termso) is graph


def test_logical_sums_keep_their_terms():
    flags = rg.vector("flags", 3, dtype="bool")
    graph = flags + flags
    assert rg.rewrite_graph(graph, collect_like_termso) is graph


def test_coefficients_of_any_shape_broadcast():
    """The coefficient is a vector, the term a scalar: the sum is a vector."""
    s = rg.scalar("s")
    graph = np.full(3, 2.0) * s + s + x
    found = rg.rewrite_graph(graph, collect_like_termso)
    values = [np.array(1.25), np.array(VALUES["x"])]
    assert found.type == graph.type
    np.testing.assert_allclose(run(found, [s, x], *values), run(graph, [s, x], *values))


def test_an_operand_of_another_dtype_is_no_like_term():
    """1 * f of float32 in a sum of float64 rounds otherwise than f does."""
    f = rg.vector("f", 3, dtype="float32")
    graph = f + f + x
    found = rg.rewrite_graph(graph, collect_like_termso)
    value = np.array([1e-3, 1.1, 3.3], "float32")
    other = np.array(VALUES["x"])
    np.testing.assert_allclose(run(found, [f, x], value, other), value + value + other)


def test_a_computed_operand_of_two_terms_is_computed_from_all():
    """The mean exponent of any number of powers: a relation of one's own."""

    @rg.identity(
        where=lambda a, b, c: (
            rg.checko(lambda v: v.op is None and hasattr(v, "value"), a),
            rg.checko(lambda v: v.op is None and hasattr(v, "value"), b),
            rg.calco(c, lambda p, q: rg.constant(p.value + q.value), a, b),
        )
    )
    def add_exponentso(v, a, b, c):
        return v**a * v**b, v**c

    p = rg.vector("p", 3)
    graph = p**1.5 * p**2.5 * p**0.5
    found = rg.rewrite_graph(graph, add_exponentso)
    assert found.op is rg.power
    value = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(run(found, [p], value), value**4.5)
