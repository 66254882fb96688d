"""Sums and products as multisets: gathering, matching and cancelling modulo coefficients."""

import random

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import VerifyError
from relgraph.ir.graph import toposort
from relgraph.ir.records import replace
from relgraph.rewriting.derivation.derivation import run_recorded
from relgraph.rewriting.derivation.equality import Keys
from relgraph.rewriting.selection import Selection

A, U, C, V = rg.matrices("A U C V", shape=(3, 3))
x, y, z, u, p, w = rg.vectors("x y z u p w", shape=(3,))
s, t = rg.scalars("s t")
RNG = np.random.default_rng(5)
VALUES = {n: RNG.uniform(0.5, 2.0, (3, 3)) for n in "AUCV"} | {
    n: RNG.uniform(0.5, 2.0, 3) for n in "xyzupw"
} | {"s": np.array(1.25), "t": np.array(-0.75)}  # fmt: skip


def value(graph, rewritten, mode):
    """Return what a graph computes, op by op with NumPy if it is not rewritten."""
    inputs = [v for v in toposort([graph]) if v.op is None and hasattr(v, "name")]
    call = rg.function(inputs, rewritten, mode=mode, target="numpy")
    return call(*[VALUES[v.name] for v in inputs])


def check(graph, expected):
    """Compare structure and values, and rewrite twice; the derivation is checked too."""
    derivation = rg.explain(graph, mode="fast_run")
    derivation.check()
    (made,) = derivation.after
    key = Keys()
    assert key(made) == key(expected), made
    assert rg.rewrite_graph(made, mode="fast_run") is made
    np.testing.assert_allclose(value(graph, made, None), value(graph, graph, None), rtol=1e-12)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (2 * (A @ x) + 3 * (A @ y), A @ (2 * x + 3 * y)),
        (A @ z - A @ y, A @ (z - y)),
        (A @ z - A @ y + A @ x, A @ ((z + x) - y)),
        (2 * (A @ x) + 2 * (A @ y), 2 * (A @ (x + y))),
        (z - A @ x - A @ y, z - A @ (x + y)),
        (-(A @ x) - A @ y, -(A @ (x + y))),
        (p * u + p, p * (u + 1)),
        (p * u - p, p * (u - 1)),
        (p * u + p + w, p * u + p + w),
        (x / 3 + x / 5, (1 / 3 + 1 / 5) * x),
    ],
)
def test_gathering_sees_coefficients_and_signs(graph, expected):
    check(graph, expected)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (x * y / y, x),
        (x / y / z, x / (y * z)),
        (x / (y / z), x * z / y),
        ((x / y) * (z / x), z / y),
        ((x / y) * (z / w), (x * z) / (y * w)),
        (2 * x / -y, (-2 * x) / y),
        (-(x * 2), -2 * x),
    ],
)
def test_quotients_have_one_division(graph, expected):
    check(graph, expected)


def test_a_quotient_of_scalars_is_not_spread_over_an_array():
    big = rg.rewrite_graph(x / s / y, mode="fast_run")
    assert big is x / s / y
    assert rg.rewrite_graph(x / (s / t), mode="fast_run") is x / (s / t)


@pytest.mark.parametrize("seed", range(8))
def test_a_polynomial_ends_as_a_sum_of_monomials(seed):
    rng = random.Random(seed)
    wanted = {(0, 0): 5, (1, 0): 2, (0, 1): -2, (1, 1): 19, (2, 0): 3, (0, 2): 15}
    terms = []
    for powers, total in wanted.items():
        parts = [rng.choice([-7, -3, -2, 2, 3, 4, 6]) for _ in range(4)]
        terms += [(c, powers) for c in [*parts, total - sum(parts)] if c]
    rng.shuffle(terms)
    graph = rg.constant(0.0)
    for c, (i, j) in terms:
        product = rg.constant(1.0)
        for factor in rng.sample([s] * i + [t] * j, i + j):
            product = product * factor
        product = rng.choice([lambda u, v: u * v, lambda u, v: v * u])(product, float(abs(c)))
        graph = graph + product if c > 0 else graph - product
    check(graph, 5 + 2 * s - 2 * t + 19 * s * t + 3 * rg.square(s) + 15 * rg.square(t))


@rg.identity(specials="assumes_finite")
def pythagoraso(v):
    """sin(v)^2 + cos(v)^2 = 1."""
    return rg.square(rg.sin(v)) + rg.square(rg.cos(v)), 1


def test_a_relation_matches_modulo_a_coefficient():
    sin, cos = rg.square(rg.sin(s)), rg.square(rg.cos(s))
    for graph, made in [
        (3 * sin + 3 * cos, rg.constant(3.0)),
        (t - sin - cos, t - 1),
        (2 * sin + t + 2 * cos, rg.constant(2.0) + t),
    ]:
        derivation = rg.explain(graph, pythagoraso)
        derivation.check()
        assert Keys()(derivation.after[0]) == Keys()(made)
    other = 3 * sin + 2 * cos
    assert rg.rewrite_graph(other, pythagoraso) is other
    written = rg.sin(x) * rg.sin(x) + rg.cos(x) * rg.cos(x)
    made = rg.rewrite_graph(written, mode="fast_run")
    np.testing.assert_allclose(value(written, made, None), np.ones(3))
    assert not any(node.op in (rg.sin, rg.cos) for node in toposort([made]))


def test_a_relation_that_keeps_infinities_does_not_match_modulo_a_coefficient():
    @rg.identity
    def keepo(v):
        """sin(v)^2 + cos(v)^2 = 1, without its label."""
        return rg.square(rg.sin(v)) + rg.square(rg.cos(v)), 1

    graph = 3 * rg.square(rg.sin(x)) + 3 * rg.square(rg.cos(x))
    assert rg.rewrite_graph(graph, keepo) is graph


def test_commuted_equals_are_computed_once():
    graph = rg.exp(x + y) * rg.sin(y + x) + rg.exp(y + x)
    made = rg.rewrite_graph(graph, mode="fast_run")
    assert sum(node.op is rg.exp for node in toposort([made])) == 1
    assert rg.rewrite_graph(made, mode="fast_run") is made
    np.testing.assert_allclose(value(graph, made, None), value(graph, graph, None))


@rg.identity(specials="assumes_finite")
def invert_sumo(a, b, c, d):
    """A law of three factors, to be found in any bracketing."""
    return rg.inv(a + b @ c @ d), rg.inv(d) @ c @ b @ a


@pytest.mark.parametrize(
    "graph", [rg.inv(A + U @ C @ V), rg.inv(A + U @ (C @ V)), rg.inv(U @ (C @ V) + A)]
)
def test_products_of_matrices_match_in_any_bracketing(graph):
    derivation = rg.explain(graph, invert_sumo)
    derivation.check()
    assert derivation.after == (rg.inv(V) @ C @ U @ A,)


def test_a_vector_between_two_factors_is_no_product_to_bracket():
    graph = rg.inv(A + rg.outer(U @ x, y @ V))
    assert rg.rewrite_graph(graph, invert_sumo) is graph


@pytest.mark.parametrize("number", [3, 60])
def test_repeated_updates_gather(number):
    @rg.identity(specials="assumes_finite")
    def distributeo(a, b, c):
        return a @ (b + c), a @ b + a @ c

    total = w
    for i in range(number):
        total = total - A @ rg.vector(f"v{i}", 3)
    made = rg.rewrite_graph(total, distributeo.reversed)
    assert sum(node.op is rg.matmul for node in toposort([made])) == 1


SCALED = u * rg.constant([-2.5] * 3)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (u + (u / 2 - u / 2), u),
        (u + -(SCALED * rg.square(w)) + SCALED * rg.square(w), u),
        (rg.exp(u) - (w / 4 - w * 0.25), rg.exp(u)),
    ],
)
def test_quotients_and_arrays_of_one_number_are_coefficients_in_derivations(graph, expected):
    check(graph, expected)


@rg.identity(
    where=lambda a, b: (rg.nonnegativeo(a), rg.nonnegativeo(b), rg.floato(a), rg.floato(b)),
    specials="assumes_finite",
)
def abs_addo(a, b):
    """abs(a) + abs(b) = abs(a + b) where a and b are not negative."""
    return rg.abs(a) + rg.abs(b), rg.abs(a + b)


e, f, g = rg.vectors("e f g", shape=(3,), facts=("positive",))


def assert_becomes(derivation, graph, expected):
    """Compare what a graph of e, f and g became with what was expected, and both with values."""
    derivation.check()
    (made,) = derivation.after
    key = Keys()
    assert key(made) == key(expected), made
    values = [RNG.uniform(0.5, 2.0, 3) for _ in "efg"]
    one, other = rg.function([e, f, g], [graph, made], mode=None, target="numpy")(*values)
    np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (rg.abs(e) - rg.abs(f), rg.abs(e) - rg.abs(f)),
        (2 * rg.abs(e) - 3 * rg.abs(f), 2 * rg.abs(e) - 3 * rg.abs(f)),
        (2 * rg.abs(e) + 2 * rg.abs(f), 2 * rg.abs(e + f)),
        (rg.exp(e) - rg.abs(e) - rg.abs(f), rg.exp(e) - rg.abs(e + f)),
        (rg.abs(e) - rg.abs(f) + rg.abs(g), rg.abs(e + g) - rg.abs(f)),
    ],
)
def test_a_condition_on_the_terms_keeps_different_coefficients_outside(graph, expected):
    assert rg.check(abs_addo)
    derivation = rg.explain(graph, abs_addo)
    assert_becomes(derivation, graph, expected)


@rg.identity(where=lambda a, b: (rg.nonnegativeo(a), rg.nonnegativeo(b)), specials="assumes_finite")
def log_producto(a, b):
    """log(a) + log(b) = log(a b) where a and b are not negative."""
    return rg.log(a) + rg.log(b), rg.log(a * b)


LOGS = [rg.log(v) for v in (e, f, g)]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (2 * LOGS[0] + 2 * LOGS[1], 2 * rg.log(e * f)),
        (-LOGS[0] - LOGS[1], -rg.log(e * f)),
        (e - 2 * LOGS[0] - LOGS[1] * 2, e - 2 * rg.log(e * f)),
        (LOGS[0] / 2 + 0.5 * LOGS[1] + 0.5 * LOGS[2], 0.5 * rg.log(e * f * g)),
        (
            LOGS[0] + LOGS[1] + 3 * LOGS[2] + 3 * rg.log(e + f),
            rg.log(e * f) + 3 * rg.log(g * (e + f)),
        ),
        (2 * LOGS[0] + 3 * LOGS[1], 2 * LOGS[0] + 3 * LOGS[1]),
        (2 * LOGS[0] - 2 * LOGS[1], 2 * LOGS[0] - 2 * LOGS[1]),
        (LOGS[0] - LOGS[1], LOGS[0] - LOGS[1]),
    ],
)
def test_a_sum_that_becomes_a_product_keeps_a_common_coefficient(graph, expected):
    derivation = rg.explain(graph, log_producto)
    assert_becomes(derivation, graph, expected)


def test_different_coefficients_of_a_sum_that_becomes_a_product_are_a_forgery():
    phase = run_recorded([2 * LOGS[0] + 2 * LOGS[1] + 3 * LOGS[2]], Selection([log_producto]))
    phase.check()
    (step,) = phase.steps
    (firing,) = step.firings
    wrong = rg.log((2 * e) * (3 * g))
    forged = firing._replace(
        taken=(2 * LOGS[0], 3 * LOGS[2]), result=wrong, scales=(2, 3), bindings=([e, g],)
    )
    forged_step = replace(step, after=wrong + 2 * LOGS[1], firings=(forged,))
    with pytest.raises(VerifyError, match="different coefficients are not carried through"):
        replace(phase, after=(forged_step.after,), steps=(forged_step,)).check()
