"""Forward and reverse mode of single ops, against differences of NumPy's and SciPy's functions."""

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.special

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.derivatives.forward import jvp
from relgraph.derivatives.reverse import vjp
from relgraph.ops.differentials import stop_gradient
from tests.derivatives.differences import along

random = np.random.default_rng(7)


def normal(*shape):
    return random.normal(size=shape)


def positive(*shape):
    return random.uniform(0.4, 2.0, size=shape)


def inner(*shape):
    return random.uniform(-0.8, 0.8, size=shape)


def spd(*shape):
    a = normal(*shape)
    return a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])


PLACES = np.array([0, 2, 2, 1])
LOWER = np.linalg.cholesky(spd(4, 4))

# A name, the function of graphs, that of arrays, and operands.
CASES = []


def case(name, graph, array, *operands):
    CASES.append(pytest.param(graph, array, operands, id=name))


def same(name, function, *operands):
    """Add a case whose functions of graphs and arrays have one spelling, with a module."""
    case(name, lambda *xs: function(rnp, *xs), lambda *xs: function(np, *xs), *operands)


for f in ("exp", "exp2", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "arctan", "arcsinh",
          "square", "negative", "abs"):  # fmt: skip
    same(f, lambda m, x, f=f: getattr(m, f)(x), normal(3, 4))
for f in ("log", "log2", "log10", "log1p", "sqrt", "cbrt", "reciprocal"):
    same(f, lambda m, x, f=f: getattr(m, f)(x), positive(3, 4))
for f in ("arcsin", "arccos", "arctanh"):
    same(f, lambda m, x, f=f: getattr(m, f)(x), inner(3, 4))
for f in ("erf", "erfc", "erfcx", "gammaln", "gamma", "digamma"):
    case(f, getattr(rg, f), getattr(scipy.special, f), positive(5))
for f in ("add", "subtract", "multiply", "true_divide", "maximum", "minimum", "hypot", "arctan2",
          "logaddexp", "power"):  # fmt: skip
    same(f, lambda m, x, y, f=f: getattr(m, f)(x, y), positive(3, 4), positive(3, 4))
    same(
        f"{f}_broadcast",
        lambda m, x, y, f=f: getattr(m, f)(x, y),
        positive(3, 1),
        positive(2, 1, 4),
    )
same("clip", lambda m, x: m.clip(x, -0.5, 0.5), normal(6))
same("where", lambda m, x, y: m.where(np.arange(4) < 2, x * y, y), normal(3, 4), normal(4))
for f, keepdims in itertools.product(("sum", "mean", "max", "min", "prod"), (False, True)):
    same(f, lambda m, x, f=f, k=keepdims: getattr(m, f)(x, keepdims=k), normal(3, 4))
    same(
        f"{f}_axis",
        lambda m, x, f=f, k=keepdims: getattr(m, f)(x, axis=1, keepdims=k),
        normal(3, 4, 2),
    )
same("prod_of_zeros", lambda m, x: m.prod(x), np.array([1.0, 0.0, 3.0]))
case("logsumexp", lambda x: rg.logsumexp(x, axis=-1),
     lambda x: scipy.special.logsumexp(x, axis=-1), normal(3, 4))  # fmt: skip
case("softmax", lambda x: rg.softmax(x, axis=0),
     lambda x: scipy.special.softmax(x, axis=0), normal(3, 4))  # fmt: skip
case("log_softmax", lambda x: rg.log_softmax(x, axis=-1),
     lambda x: scipy.special.log_softmax(x, axis=-1), normal(3, 4))  # fmt: skip
same("cumsum", lambda m, x: m.cumsum(x, axis=0), normal(3, 4))
same("cumprod", lambda m, x: m.cumprod(x, axis=1), positive(3, 4))
case("cummax", lambda x: rg.cummax(x, axis=0), lambda x: np.maximum.accumulate(x, 0), normal(5, 3))
same("sort", lambda m, x: m.sort(x, axis=0), normal(4, 3))
same("reshape", lambda m, x: m.reshape(x, (4, 3)), normal(3, 4))
same("transpose", lambda m, x: m.transpose(x, (2, 0, 1)), normal(2, 3, 4))
same("expand_dims", lambda m, x: m.expand_dims(x, 1), normal(3, 4))
same("squeeze", lambda m, x: m.squeeze(x, 1), normal(3, 1))
same("broadcast_to", lambda m, x: m.broadcast_to(x, (2, 3, 4)), normal(3, 1))
same("concatenate", lambda m, x, y: m.concatenate([x, y, x], axis=0), normal(2, 3), normal(1, 3))
same("stack", lambda m, x, y: m.stack([x, y], axis=1), normal(2, 3), normal(2, 3))
same("pad", lambda m, x: m.pad(x, 1), normal(3))
same("roll", lambda m, x: m.roll(x, 1), normal(4))
same("slice", lambda m, x: x[::2, 1:], normal(3, 4))
same("gather", lambda m, x: x[PLACES], normal(3, 4))
same("gather_pairs", lambda m, x: x[PLACES, np.arange(4)], normal(3, 4))


def added(x, v):
    x = x.copy()
    np.add.at(x, PLACES, v)
    return x


def replaced(x, v):
    x = x.copy()
    x[1] = v
    return x


case("add_at", lambda x, v: x.at[PLACES].add(v), added, normal(3), normal(4))
case("set_at", lambda x, v: x.at[1].set(v), replaced, normal(3, 4), normal(4))


def last_of_two(x, v):
    x = x.copy()
    x[PLACES] = v
    return x


def largest(x, v):
    x = x.copy()
    np.maximum.at(x, PLACES, v)
    return x


case("set_at_places", lambda x, v: x.at[PLACES].set(v), last_of_two, normal(3), normal(4))
case("max_at_places", lambda x, v: x.at[PLACES].max(v), largest, normal(3), normal(4))
same("diag", lambda m, x: m.diag(x), normal(3))
same("diagonal", lambda m, x: m.diag(x), normal(3, 3))
same("trace", lambda m, x: m.trace(x), normal(3, 3))
same("tril", lambda m, x: m.tril(x), normal(3, 3))
same("outer", lambda m, x, y: m.outer(x, y), normal(3), normal(4))
same("kron", lambda m, x, y: m.kron(x, y), normal(2, 3), normal(3, 2))
case("block_diag", rg.block_diag, scipy.linalg.block_diag, normal(2, 3), normal(1, 2))
for a, b in (
    ((3, 4), (4, 2)), ((3, 4), (4,)), ((4,), (4, 2)), ((4,), (4,)), ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)),
    ((1, 3, 4), (2, 4, 3)),
):  # fmt: skip
    same(f"matmul{a}{b}", lambda m, x, y: x @ y, normal(*a), normal(*b))
same("einsum", lambda m, x, y: m.einsum("bij,bjk->bik", x, y), normal(2, 3, 4), normal(2, 4, 2))
for shape in ((4, 4), (2, 3, 3)):
    same(f"inv{shape}", lambda m, a: m.linalg.inv(a), spd(*shape) + 0.1 * normal(*shape))
    same(f"det{shape}", lambda m, a: m.linalg.det(a), normal(*shape))
    same(f"logdet{shape}", lambda m, a: m.linalg.slogdet(a)[1], normal(*shape))
    same(f"eigenvalues{shape}", lambda m, a: m.linalg.eigh(a + a.mT)[0], spd(*shape))
    same(f"eigenvectors{shape}", lambda m, a: m.linalg.eigh(a + a.mT)[1] ** 2,
         spd(*shape))  # fmt: skip
    same(f"cholesky{shape}", lambda m, a: m.linalg.cholesky(a + a.mT), spd(*shape))
    same(f"qr{shape}", lambda m, a: m.linalg.qr(a)[1] ** 2, normal(*shape))
same("q", lambda m, a: m.linalg.qr(a)[0] ** 2, normal(5, 3))
same("solve", lambda m, a, b: m.linalg.solve(a, b), spd(3, 3) + 0.1 * normal(3, 3), normal(3, 2))
for assume in ("symmetric", "spd"):
    case(f"solve_{assume}", lambda a, b, s=assume: rg.solve(a + a.mT, b, assume=s),
         lambda a, b: np.linalg.solve(a + a.T, b), spd(3, 3), normal(3, 2))  # fmt: skip
same("solve_vector", lambda m, a, b: m.linalg.solve(a, b), spd(3, 3), normal(3))
same("solve_batch", lambda m, a, b: m.linalg.solve(a, b), spd(2, 3, 3), normal(2, 3, 2))
for lower, trans, unit in itertools.product((True, False), (0, 1), (True, False)):
    case(
        f"solve_triangular{lower}{trans}{unit}",
        lambda a, b, o=(lower, trans, unit): rg.solve_triangular(
            a, b, lower=o[0], trans=o[1], unit_diagonal=o[2]
        ),
        lambda a, b, o=(lower, trans, unit): scipy.linalg.solve_triangular(
            a, b, lower=o[0], trans=o[1], unit_diagonal=o[2]
        ),
        spd(4, 4), normal(4, 2),
    )  # fmt: skip
case("cho_solve", lambda a, b: rg.cho_solve((a, True), b),
     lambda a, b: scipy.linalg.cho_solve((a, True), b), LOWER, normal(4, 2))  # fmt: skip
same("singular_values", lambda m, a: m.linalg.svd(a, full_matrices=False)[1], normal(5, 3))
same("singular_values_of_full_factors", lambda m, a: m.linalg.svd(a)[1], normal(4, 3))
same("full_factors", lambda m, a: m.linalg.svd(a)[0] ** 2, normal(4, 4))
same("complete_qr", lambda m, a: m.linalg.qr(a, "complete")[1] ** 2, normal(4, 4))
same("upper_cholesky", lambda m, a: m.linalg.cholesky(a + a.mT, upper=True), spd(4, 4))
case("expm", rg.expm, scipy.linalg.expm, normal(3, 3))
case("expm_of_a_batch", rg.expm, lambda a: np.stack([*map(scipy.linalg.expm, a)]), normal(2, 3, 3))
case("solve_sylvester", rg.solve_sylvester, scipy.linalg.solve_sylvester,
     spd(3, 3), spd(2, 2), normal(3, 2))  # fmt: skip
for part in (1, 2):
    case(f"lu_{part}", lambda a, i=part: rg.lu(a)[i], lambda a, i=part: scipy.linalg.lu(a)[i],
         spd(3, 3) + normal(3, 3))  # fmt: skip
for trans in (0, 1):
    case(
        f"lu_solve_{trans}",
        lambda a, b, t=trans: rg.lu_solve(rg.lu_factor(a), b, trans=t),
        lambda a, b, t=trans: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, trans=t),
        spd(3, 3) + normal(3, 3), normal(3, 2),
    )  # fmt: skip
same("prod_of_two_axes", lambda m, x: m.prod(x, axis=(0, 2)), normal(2, 3, 2))
same("diagonal_of_a_wide_matrix", lambda m, x: m.diagonal(x, 1), normal(2, 4))
same("diagonal_of_a_tall_matrix", lambda m, x: m.diagonal(x, -1), normal(5, 3))
same("left_vectors", lambda m, a: m.linalg.svd(a, full_matrices=False)[0] ** 2, normal(5, 3))
same("right_vectors", lambda m, a: m.linalg.svd(a, full_matrices=False)[2] ** 2, normal(3, 5))


@pytest.mark.parametrize(("graph", "array", "operands"), CASES)
def test_both_modes_give_the_derivative_of_the_values(graph, array, operands):
    inputs = [rg.tensor(f"x{i}", x.shape) for i, x in enumerate(operands)]
    y = graph(*inputs)
    direction = [0.1 * random.normal(size=x.shape) for x in operands]
    expected = along(array, operands, direction)
    cotangent = random.normal(size=np.shape(expected))
    values = dict(zip(inputs, operands, strict=True))

    (forward,) = jvp([y], dict(zip(inputs, map(rg.constant, direction), strict=True)))
    computed = rg.evaluate(forward, values)
    scale = max(1.0, float(np.max(np.abs(expected))))
    np.testing.assert_allclose(computed, expected, rtol=1e-6, atol=1e-7 * scale)

    parts = vjp([y], [rg.constant(cotangent)], inputs)
    total = 0.0
    for part, x, t in zip(parts, operands, direction, strict=True):
        if part is not None:
            assert tuple(part.type.shape) == x.shape
            total += float(np.sum(rg.evaluate(part, values) * t))
    assert total == pytest.approx(float(np.sum(cotangent * expected)), rel=1e-6, abs=1e-7 * scale)


@pytest.mark.parametrize(("graph", "array", "operands"), CASES)
def test_derivatives_of_float32_are_float32(graph, array, operands):
    narrow = [x.astype("float32") for x in operands]
    inputs = [rg.tensor(f"x{i}", x.shape, dtype="float32") for i, x in enumerate(operands)]
    y = graph(*inputs)
    direction = [0.1 * random.normal(size=x.shape) for x in operands]
    expected = along(array, operands, direction)
    values = dict(zip(inputs, narrow, strict=True))
    tangents = [rg.constant(t, "float32") for t in direction]
    (forward,) = jvp([y], dict(zip(inputs, tangents, strict=True)))
    assert forward.dtype == y.dtype == np.float32
    computed = rg.evaluate(forward, values)
    scale = max(1.0, float(np.max(np.abs(expected))))
    np.testing.assert_allclose(computed, expected, rtol=2e-3, atol=2e-3 * scale)
    parts = vjp([y], [rg.constant(np.ones(np.shape(expected)), "float32")], inputs)
    assert {part.dtype for part in parts if part is not None} == {np.dtype("float32")}


SHAPES = [((0,), (0,)), ((1,), (4,)), ((0, 3), (1, 3)), ((3, 1), (1, 0)), ((1, 1), (2, 3)),
          ((), (3,)), ((2, 1, 3), (4, 1))]  # fmt: skip
PAIRS = {
    "multiply": lambda m, x, y: m.exp(x) * y + x,
    "divide": lambda m, x, y: x / (1 + y * y),
    "maximum": lambda m, x, y: m.maximum(x, y),
    "where": lambda m, x, y: m.where(x > 0, x * y, y),
    "sum": lambda m, x, y: m.sum(x * y, axis=0 if x.ndim else None),
    "mean": lambda m, x, y: m.mean(x + y**2, axis=-1, keepdims=True) * x,
    "cumsum": lambda m, x, y: m.cumsum(x * y, axis=-1),
    "concatenate": lambda m, x, y: m.concatenate([m.ravel(x), m.ravel(y)]) ** 2,
    "reshape": lambda m, x, y: m.ravel(x * y) ** 2,
    "slice": lambda m, x, y: (x * y)[1:] ** 2,
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
def test_sizes_of_0_and_1_and_broadcasting(name, shapes):
    rng = np.random.default_rng([SHAPES.index(shapes), list(PAIRS).index(name)])

    def normal(*shape):
        return rng.normal(size=shape)

    operands = [normal(*shape) for shape in shapes]
    function = PAIRS[name]
    inputs = [rg.tensor(f"x{i}", x.shape) for i, x in enumerate(operands)]
    direction = [normal(*shape) for shape in shapes]
    expected = along(lambda *xs: function(np, *map(np.asarray, xs)), operands, direction)
    y = function(rnp, *inputs)
    values = dict(zip(inputs, operands, strict=True))
    (forward,) = jvp([y], dict(zip(inputs, map(rg.constant, direction), strict=True)))
    computed = rg.evaluate(forward, values)
    assert computed.shape == np.shape(expected)
    np.testing.assert_allclose(computed, expected, rtol=1e-7, atol=1e-8)
    cotangent = normal(*np.shape(expected))
    for part, x in zip(vjp([y], [rg.constant(cotangent)], inputs), operands, strict=True):
        assert rg.evaluate(part, values).shape == x.shape
    parts = [rg.evaluate(g, values) for g in vjp([y], [rg.constant(cotangent)], inputs)]
    total = sum(float(np.sum(g * t)) for g, t in zip(parts, direction, strict=True))
    np.testing.assert_allclose(total, np.sum(cotangent * expected), rtol=1e-7, atol=1e-7)


def test_a_sparse_matrix_is_a_constant():
    S = rg.matrix("S", (3, 4), layout="csr")
    x, g = rg.vector("x", 4), rg.vector("g", 3)
    matrix = scipy.sparse.random(3, 4, 0.5, format="csr", random_state=1)
    v, w = normal(4), normal(3)
    values = {S: matrix, x: v, g: w}
    (part,) = vjp([S @ x], [g], [x])
    np.testing.assert_allclose(rg.evaluate(part, values), matrix.T @ w)
    (part,) = vjp([g @ S], [x], [g])
    np.testing.assert_allclose(rg.evaluate(part, values), matrix @ v)
    (tangent,) = jvp([S @ x], {x: x})
    np.testing.assert_allclose(rg.evaluate(tangent, values), matrix @ v)


def test_a_stopped_gradient_is_a_constant():
    x = rg.vector("x", 3)
    y = stop_gradient(x) * x
    (g,) = vjp([y], [rg.constant(np.ones(3))], [x])
    values = {x: np.array([1.0, -2.0, 3.0])}
    np.testing.assert_array_equal(rg.evaluate(g, values), values[x])


def test_shared_nodes_are_visited_once():
    x = rg.scalar("x")
    y = x
    for _ in range(200):  # 2 ** 200 paths
        y = y + rg.sin(y)
    (g,) = vjp([y], [rg.constant(1.0)], [x])
    assert sum(1 for node in rg.FunctionGraph(None, g) if node.inputs) < 1000
