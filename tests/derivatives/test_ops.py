"""Forward and reverse mode of single ops, against differences of NumPy's and SciPy's functions."""

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.derivatives.forward import jvp
from relgraph.derivatives.reverse import vjp
from relgraph.ops.differentials import stop_gradient

random = np.random.default_rng(7)
STEP = 2e-3


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
same("left_vectors", lambda m, a: m.linalg.svd(a, full_matrices=False)[0] ** 2, normal(5, 3))
same("right_vectors", lambda m, a: m.linalg.svd(a, full_matrices=False)[2] ** 2, normal(3, 5))


def along(function, operands, direction):
    """Return the derivative of a function of arrays along a direction, to the eighth order."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    total = 0.0
    for k, weight in weights.items():
        ahead = [x + k * STEP * t for x, t in zip(operands, direction, strict=True)]
        behind = [x - k * STEP * t for x, t in zip(operands, direction, strict=True)]
        total = total + weight / STEP * (function(*ahead) - function(*behind))
    return total


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


def test_an_op_without_a_differential_is_named():
    x = rg.matrix("x", (3, 3))
    with pytest.raises(rg.errors.RelgraphError, match="expm has no differential"):
        vjp([rg.expm(x)], [rg.constant(np.ones((3, 3)))], [x])
