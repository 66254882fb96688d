"""Definite matrices: what is inferred holds of eigenvalues, and what may fail is not inferred."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import eigsy, matrix, mpf, workdps

import relgraph as rg
from relgraph.ops.linalg import solve
from tests.ops.evaluation import evaluate

FACTS = {
    "P": "spd", "Q": "spd", "V": "psd", "W": "psd", "G": "invertible", "F": (), "H": (), "R": "spd",
    "c": "positive", "d": "nonnegative", "z": "nonzero", "s": (), "p": "positive",
    "q": "nonnegative", "s_n": (), "q_m": "nonnegative",
}  # fmt: skip
SHAPES = {"H": ("m", "n"), "R": ("m", "m"), "c": (), "d": (), "z": (), "s": (), "p": ("n",),
          "q": ("n",), "s_n": ("n",), "q_m": ("m",)}  # fmt: skip


def inputs(dtype="float64", batch=()):
    """Return an input for each name; the matrices of a batch have its axes."""
    return {
        name: rg.tensor(
            name,
            shape=(*(batch if len(SHAPES.get(name, "nn")) == 2 else ()), *SHAPES.get(name, "nn")),
            dtype=dtype,
            facts=facts,
        )
        for name, facts in FACTS.items()
    }


# Written with the names above: what is definite, and only semidefinite, and neither.
DEFINITE = {
    "sum": lambda v: v.P + v.Q,
    "sum with semidefinite": lambda v: v.V + v.P,
    "sum of three": lambda v: v.V + (v.W + v.P),
    "multiple": lambda v: v.c * v.P,
    "quotient": lambda v: v.P / v.c,
    "noise added": lambda v: v.V + v.c * rg.eye(rg.dim(v.P, -1)),
    "number added": lambda v: v.P + v.d,
    "Hadamard product": lambda v: v.P * v.Q,
    "elementwise square": lambda v: rg.square(v.P),
    "congruence": lambda v: v.G @ v.P @ v.G.mT,
    "congruence, other brackets": lambda v: v.G @ (v.P @ v.G.mT),
    "congruence of a product": lambda v: (v.G @ v.Q) @ v.P @ (v.G @ v.Q).mT,
    "Gram": lambda v: v.G.mT @ v.G,
    "power": lambda v: v.P @ v.P,
    "inverse": lambda v: rg.inv(v.P),
    "semidefinite and definite": lambda v: (v.H.mT * v.q_m) @ v.H + v.P,
    "inverse of a sum": lambda v: rg.inv(v.H @ v.P @ v.H.mT + v.R),
    "transpose": lambda v: (v.P + v.V).mT,
    "innovation": lambda v: v.H @ v.P @ v.H.mT + v.R,
    "Joseph form": lambda v: v.F @ v.P @ v.F.mT + v.H.mT @ v.R @ v.H + v.Q,
    "diagonal": lambda v: rg.diag(v.p),
    "blocks": lambda v: rg.block_diag(v.P, v.R),
}
SEMIDEFINITE = {
    "sum": lambda v: v.V + v.W,
    "multiple": lambda v: v.d * v.P,
    "Hadamard product": lambda v: v.P * v.V,
    "congruence": lambda v: v.F @ v.P @ v.F.mT,
    "congruence, other brackets": lambda v: v.H @ (v.P @ v.H.mT),
    "congruence with a transpose first": lambda v: v.F.mT @ v.P @ v.F,
    "congruence of a product": lambda v: (v.H @ v.F) @ v.P @ (v.H @ v.F).mT,
    "mirrored product": lambda v: v.H @ v.F @ v.F.mT @ v.H.mT,
    "Gram": lambda v: v.H.mT @ v.H,
    "weighted Gram": lambda v: (v.F * v.q) @ v.F.mT,
    "weighted on the right": lambda v: v.F @ (v.q[:, None] * v.F.mT),
    "weighted by rows": lambda v: v.H.mT @ (v.q_m[:, None] * v.H),
    "divided": lambda v: (v.F / v.p) @ v.F.mT,
    "weighted twice": lambda v: (v.F * v.s_n) @ (v.F * v.s_n).mT,
    "weighted and transposed": lambda v: ((v.F * v.q) @ v.F.mT).mT,
    "weighted in brackets": lambda v: v.H @ ((v.F * v.q) @ (v.H @ v.F).mT),
    "Schur complement": lambda v: v.F.mT @ rg.solve(v.P, v.F),
    "oblong system": lambda v: v.H @ rg.solve(v.P, v.H.mT),
    "system with an inverse": lambda v: v.H @ rg.inv(v.P) @ v.H.mT,
    "weighted system": lambda v: (v.F * v.s_n).mT @ rg.solve(v.P, v.F * v.s_n),
    "transpose": lambda v: (v.F @ v.P @ v.F.mT).mT,
    "diagonal": lambda v: rg.diag(v.q),
    "blocks": lambda v: rg.block_diag(v.V, v.R),
}
NEITHER = {
    "difference": lambda v: v.P - v.Q,
    "negative": lambda v: -v.P,
    "multiple of unknown sign": lambda v: v.s * v.P,
    "nonzero multiple": lambda v: v.z * v.P,
    "quotient of unknown sign": lambda v: v.P / v.z,
    "number of unknown sign added": lambda v: v.P + v.s,
    "rows added": lambda v: v.P + v.p,
    "scaled rows": lambda v: v.p * v.P,
    "product": lambda v: v.P @ v.Q,
    "weights of unknown sign": lambda v: (v.F * v.s_n) @ v.F.mT,
    "weights of one side": lambda v: (v.F * v.q) @ (v.F * v.p).mT,
    "weighted columns for rows": lambda v: (v.q[:, None] * v.F) @ v.F.mT,
    "system of another matrix": lambda v: v.F.mT @ rg.solve(v.G, v.F),
    "system of two matrices": lambda v: v.F.mT @ rg.solve(v.P, v.G),
    "two sides": lambda v: v.F @ v.P @ v.G.mT,
    "no transpose": lambda v: v.F @ v.P @ v.F,
    "middle": lambda v: v.F @ v.F @ v.F.mT,
}


class Named:
    """Values by attribute."""

    def __init__(self, values):
        self.__dict__.update(values)


def draw(rng, n, m, batch=(), scale=1.0):
    """Return values that have the facts, singular and zero ones among the semidefinite."""

    def gram(side, rank):
        x = rng.normal(size=(*batch, side, rank))
        return x @ x.mT

    rank = int(rng.integers(0, n)) if n else 0
    values = {name: scale * (gram(n, n) + 0.5 * np.eye(n)) for name in ("P", "Q")}
    values |= {"V": scale * gram(n, rank), "W": scale * gram(n, 1) if n else gram(0, 0)}
    values |= {"F": rng.normal(size=(*batch, n, n)), "H": rng.normal(size=(*batch, m, n))}
    values["G"] = np.linalg.qr(rng.normal(size=(*batch, n, n)))[0] * rng.uniform(0.5, 2)
    values["R"] = gram(m, m) + 0.5 * np.eye(m)
    values |= {"c": rng.uniform(0.1, 3), "d": float(rng.choice([0.0, 2.0])), "z": -1.5, "s": -0.5}
    values |= {"p": rng.uniform(0.1, 2, n), "q": rng.choice([0.0, 1.0], n)}
    values |= {"s_n": rng.normal(size=n), "q_m": rng.choice([0.0, 1.5], m)}
    return {name: np.asarray(value) for name, value in values.items()}


def eigenvalues(node, values):
    """Return the eigenvalues, relative to the largest; the matrix has to be symmetric."""
    value = evaluate(node, values)
    close = 1e-9 * (1 + np.abs(value).max(initial=0))
    np.testing.assert_allclose(value, value.mT, rtol=0, atol=close)
    found = np.linalg.eigvalsh((value + value.mT) / 2)
    return found / np.abs(found).max(initial=1e-300)


@pytest.mark.parametrize("name", DEFINITE)
@given(st.integers(0, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_what_is_inferred_to_be_definite_has_positive_eigenvalues(name, n, m, seed):
    node = DEFINITE[name](Named(inputs()))
    assert rg.fact(node, "spd") is True
    assert rg.fact(node, "invertible") is True
    values = draw(np.random.default_rng(seed), n, m)
    assert (eigenvalues(node, values) > 0).all()
    np.linalg.cholesky(evaluate(node, values))


@pytest.mark.parametrize("name", SEMIDEFINITE)
@given(st.integers(0, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_what_is_inferred_to_be_semidefinite_has_no_negative_eigenvalues(name, n, m, seed):
    node = SEMIDEFINITE[name](Named(inputs()))
    assert rg.fact(node, "psd") is True
    assert rg.fact(node, "spd") is None
    assert (eigenvalues(node, draw(np.random.default_rng(seed), n, m)) > -1e-12).all()


@pytest.mark.parametrize("name", NEITHER)
def test_what_may_have_negative_eigenvalues_is_not_inferred(name):
    node = NEITHER[name](Named(inputs()))
    assert rg.fact(node, "psd") is None
    lowest = []
    for seed in range(60):
        value = evaluate(node, draw(np.random.default_rng(seed), 3, 2))
        symmetric = np.allclose(value, value.T)
        lowest.append(np.linalg.eigvalsh(value)[0] if symmetric else -np.inf)
    assert min(lowest) < 0  # such values exist: nothing could be inferred


@pytest.mark.parametrize("name", [name for name in DEFINITE if name != "diagonal"])
def test_batches(name):
    node = DEFINITE[name](Named(inputs(batch=("b",))))
    assert rg.fact(node, "spd") is True
    assert (eigenvalues(node, draw(np.random.default_rng(3), 3, 2, (4,))) > 0).all()


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool"])
def test_integers_wrap_around(dtype):
    v = Named(inputs(dtype))
    graphs = [v.P + v.Q, v.c * v.P, v.F @ v.P @ v.F.mT, v.G.mT @ v.G, rg.kron(v.P, v.Q)]
    assert [rg.fact(x, "psd") for x in graphs] == [None] * len(graphs)
    a = np.array([[100, 0], [0, 100]], "int8")
    assert (np.linalg.eigvalsh((a + a).astype(float)) < 0).all()


def test_a_broadcast_operand_is_no_matrix_of_the_sum():
    row = rg.matrix("r", shape=(1, 1), facts="spd")
    P = rg.matrix("P", shape=(3, 3), facts="spd")
    assert rg.fact(P + row, "spd") is None
    assert rg.fact(P + rg.matrix("c", shape=(1, 1), facts="positive"), "spd") is True


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.diag([1.0, 2.0]), True),
        (np.diag([1.0, 0.0]), None),
        (np.diag([1.0, -1.0]), None),
        ([[2.0, 1.0], [1.0, 2.0]], True),
        ([[2, 1], [1, 2]], True),
        ([[1.0, 1.0], [1.0, 1.0]], None),
        ([[1.0, 2.0], [2.0, 1.0]], None),
        ([[1.0, 1.0], [1.0, 1.0 + 2e-16]], None),
        ([[2.0, 1.0], [0.0, 2.0]], None),
        ([[np.inf, 0.0], [0.0, 1.0]], None),
        ([[np.nan, 0.0], [0.0, 1.0]], None),
        ([[1e-300, 0.0], [0.0, 1e300]], True),
        (np.eye(200), True),
        (np.eye(200) + 0.01, None),  # too large to be factored for a fact
        (np.zeros((0, 0)), None),
    ],
    ids=str,
)
def test_constants_are_looked_at(array, expected):
    assert rg.fact(rg.constant(np.array(array)), "spd") is expected


@given(st.integers(1, 8), st.integers(0, 2**32 - 1), st.floats(-1e-13, 1e-13))
@settings(max_examples=40, deadline=None)
def test_a_constant_on_the_border_is_definite_only_where_it_is_so_exactly(side, seed, shift):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (side, max(side - 1, 1))).astype(float)
    value = x @ x.T + shift * np.eye(side)  # singular where shift is 0
    if rg.fact(rg.constant(value), "spd"):
        exact = [[mpf(float(v)) for v in row] for row in value]
        with workdps(60):
            assert min(eigsy(matrix(exact), eigvals_only=True)) > 0


def test_semidefinite_and_invertible_is_definite():
    V = rg.matrix("V", shape=("n", "n"), facts=("psd", "invertible"))
    assert rg.fact(V, "spd") is True
    assert rg.fact(rg.inv(rg.matrix("V", shape=("n", "n"), facts="psd")), "spd") is True
    assert rg.fact(rg.matrix("V", shape=("n", "n"), facts="psd"), "symmetric") is True
    assert rg.fact(solve.cholesky(V), "spd") is None


def test_a_long_product_is_read_in_bounded_time():
    factors = [rg.matrix(f"F{i}", shape=("n", "n")) for i in range(6)]
    product = rg.matrix("P", shape=("n", "n"), facts="spd")
    for F in factors:
        product = F @ product @ F.mT
    assert rg.fact(product, "psd") is True
    chain = factors[0]
    for _ in range(3000):
        chain = chain @ factors[1]
    assert rg.fact(chain, "psd") is None


def test_a_semidefinite_matrix_that_is_inverted_is_definite():
    V, X = rg.matrix("V", shape=("n", "n"), facts="psd"), rg.matrix("X", shape=("n", "m"))
    S = rg.matrix("S", shape=("n", "n"), facts="symmetric")
    w = rg.vector("w", shape="n", facts="nonnegative")
    b = rg.vector("b", shape="n")
    assert rg.rewrite_graph(rg.solve(V, b), mode="o4") is rg.solve(V, b, assume="spd")
    assert rg.rewrite_graph(rg.solve(S, b), mode="o4") is rg.solve(S, b, assume="symmetric")
    gram = X.T @ (w[:, None] * X)
    graph = rg.solve(gram, X.T @ b)
    ops = {x.op for x in rg.FunctionGraph([X, w, b], [rg.rewrite_graph(graph, mode="o4")])}
    assert solve.Solve("spd") in ops and solve.Solve("general") not in ops
    rng = np.random.default_rng(2)
    x, at, right = rng.normal(size=(20, 4)), rng.uniform(0, 2, 20), rng.normal(size=20)
    expected = np.linalg.solve(x.T @ (at[:, None] * x), x.T @ right)
    done = rg.function([X, w, b], graph, mode="o4")(x, at, right)
    np.testing.assert_allclose(done, expected, rtol=1e-10)
