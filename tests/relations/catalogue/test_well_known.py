"""Well-known identities in the default mode, and what they must not do to NaN and infinities."""

import numpy as np
import pytest
from scipy import special

import relgraph as rg
from relgraph.ir.graph import toposort

n = 4
a, b, c, x = (rg.vector(name, shape=(n,)) for name in "abcx")
p = rg.vector("p", shape=(n,), facts="positive")
u, v = (rg.tensor(name, shape=(n,), dtype="bool") for name in "uv")
A, B, C = (rg.matrix(name, shape=(n, n)) for name in "ABC")
s = rg.scalar("s")

# A graph, what the mode o4 makes of it, and its meaning.
SIMPLIFIED = [
    ("a*b - b*a", a * b - b * a, rg.broadcast_to(0.0, (n,)), lambda v: 0 * v.a),
    ("a*b + a*c", a * b + a * c, a * (b + c), lambda v: v.a * v.b + v.a * v.c),
    ("A@B + A@C", A @ B + A @ C, A @ (B + C), lambda v: v.A @ v.B + v.A @ v.C),
    ("exp(-log a)", rg.exp(-rg.log(p)), rg.reciprocal(p), lambda v: 1 / v.p),
    ("exp(b log a)", rg.exp(b * rg.log(p)), p**b, lambda v: v.p**v.b),
    ("sin^2 + cos^2", rg.sin(a) ** 2 + rg.cos(a) ** 2, rg.broadcast_to(1.0, (n,)),
     lambda v: np.ones(n)),
    ("not not x", rg.logical_not(rg.logical_not(u)), u, lambda v: v.u),
    ("De Morgan", ~(~u | ~v), rg.logical_and(u, v), lambda v: v.u & v.v),
    ("max(a, min(a, b))", rg.maximum(a, rg.minimum(a, b)), a, lambda v: v.a),
    ("det(A.T)", rg.det(A.T), rg.det(A), lambda v: np.linalg.det(v.A)),
    ("inv(A) @ A", rg.inv(A) @ A, rg.eye(n), lambda v: np.eye(n)),
    ("sum(a+b) - sum(a)", rg.sum(a + b) - rg.sum(a), rg.sum(b), lambda v: v.b.sum()),
    ("(s*A) @ B", (s * A) @ B, s * (A @ B), lambda v: v.s * (v.A @ v.B)),
    ("log(gamma x)", rg.log(rg.gamma(p)), rg.gammaln(p), lambda v: special.gammaln(v.p)),
    ("softplus(log x)", rg.softplus(rg.log(p)), rg.log1p(p), lambda v: np.log1p(v.p)),
    ("trace of a product", rg.trace(A @ B), None, lambda v: np.trace(v.A @ v.B)),
    ("sum of a product", rg.sum(A @ B), None, lambda v: (v.A @ v.B).sum()),
]  # fmt: skip


class Values:
    """One point, by the names of the inputs."""

    def __init__(self):
        rng = np.random.default_rng(8)
        for name in "abcx":
            setattr(self, name, rng.normal(size=n))
        for name in "ABC":
            setattr(self, name, rng.normal(size=(n, n)) + 3 * np.eye(n))
        self.p = rng.uniform(0.1, 3, n)
        self.u, self.v = rng.random((2, n)) > 0.5
        self.s = 1.75


@pytest.mark.parametrize(
    ("graph", "expected", "meaning"),
    [row[1:] for row in SIMPLIFIED],
    ids=[row[0] for row in SIMPLIFIED],
)
def test_an_identity_of_the_text_books_is_used(graph, expected, meaning):
    found = rg.rewrite_graph(graph, mode="o4")
    assert found is not graph
    if expected is not None:
        assert found is rg.rewrite_graph(expected, mode="o4")
    else:  # without forming the product of two matrices
        assert not [y for y in toposort([found]) if y.op is rg.matmul and y.ndim == 2]
    values = Values()
    f = rg.function(None, graph, mode="o4", target="numpy")
    arrays = {x.name: getattr(values, x.name) for x in f.graph.inputs}
    np.testing.assert_allclose(f(**arrays), meaning(values), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "graph",
    [rg.exp(-rg.log(a)), rg.exp(b * rg.log(a)), rg.sqrt(a) ** 2, a**0.5 * a**0.5,
     rg.log(rg.gamma(a)), rg.softplus(rg.log(a)), rg.exp(rg.log(a))],
    ids=str,
)  # fmt: skip
def test_what_holds_for_positive_numbers_only_keeps_the_nan_of_others(graph):
    f = rg.function(None, graph, mode="o4", target="numpy")
    arrays = {x.name: np.array([-2.5, -0.5, 0.5, 3.0]) for x in f.graph.inputs}
    result = f(**arrays)
    assert np.isnan(result[:2]).all() and np.isfinite(result[2:]).all()


def test_updates_that_are_summed_are_made_in_series():
    zeros, start, d = rg.zeros(n), rg.vector("start", shape=(n,)), rg.scalar("d")
    graph = start + zeros.at[1].add(s) + zeros.at[2:].add(d)
    found = rg.rewrite_graph(graph, mode="o4")
    assert found is start.at[1].add(s).at[2:].add(d)
    values = np.array([1.0, 2.0, 3.0, 4.0])
    result = rg.function([start, s, d], graph, mode="o4", target="numpy")(values, 10.0, 20.0)
    np.testing.assert_array_equal(result, [1.0, 12.0, 23.0, 24.0])


SPECIAL = np.array([-2.0, 0.0, -0.0, 1.5, np.inf, -np.inf, np.nan])
UNDEFINED = [
    (lambda m, x: m.arccosh(m.cosh(x))), (lambda m, x: x / x), (lambda m, x: x * 0),
    (lambda m, x: m.equal(x, x)), (lambda m, x: x**0.5 * x**0.5), (lambda m, x: x - x),
    (lambda m, x: m.sqrt(x) ** 2), (lambda m, x: m.sqrt(m.square(x))), (lambda m, x: 0 / x),
    (lambda m, x: m.maximum(x, m.minimum(x, 1.0))), (lambda m, x: m.log(m.exp(x))),
    (lambda m, x: m.exp(m.log(x))), (lambda m, x: m.sin(x) ** 2 + m.cos(x) ** 2),
]  # fmt: skip
WRITTEN = [
    "arccosh(cosh(x))", "x / x", "x * 0", "x == x", "x**.5 * x**.5", "x - x", "sqrt(x)**2",
    "sqrt(x**2)", "0 / x", "max(x, min(x, 1))", "log(exp(x))", "exp(log(x))", "sin^2 + cos^2",
]  # fmt: skip


@pytest.mark.parametrize("form", UNDEFINED, ids=WRITTEN)
@pytest.mark.parametrize("mode", ["o4", "unsafe", "stabilization"])
def test_kept_infinities_and_nan_are_those_of_numpy(mode, form):
    x = rg.vector("x", shape=(len(SPECIAL),))
    f = rg.function([x], form(rg, x), mode=mode, target="numpy", nonfinite="keep")
    with np.errstate(all="ignore"):
        expected = form(np, SPECIAL)
    np.testing.assert_allclose(f(SPECIAL), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("form", UNDEFINED, ids=WRITTEN)
def test_where_values_are_finite_the_default_mode_agrees_with_numpy(form):
    x = rg.vector("x", shape=(len(SPECIAL),))
    found = rg.function([x], form(rg, x), mode="o4", target="numpy")(SPECIAL)
    with np.errstate(all="ignore"):
        expected = form(np, SPECIAL)
    finite = np.isfinite(SPECIAL) & np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-14, atol=0)
