"""Values and gradients of models, against NumPy's in extended precision."""

import types
from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.backends.numba.schedules import FUSION, planned
from relgraph.lowering.kernels import Call
from relgraph.lowering.sizes import is_dot
from relgraph.lowering.views import is_view
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.factorisations import Eigh, Eigvalsh
from relgraph.ops.loops import is_loop
from tests.derivatives.models import GRAPHS, MODELS

NUMPY = types.SimpleNamespace(
    gammaln=scipy.special.gammaln,
    erf=scipy.special.erf,
    logsumexp=lambda x: scipy.special.logsumexp(x, axis=-1),
    cholesky=np.linalg.cholesky,
    solve_triangular=lambda L, b: scipy.linalg.solve_triangular(L, b, lower=True),
)
SECOND = ("logistic", "poisson", "student_t", "gaussian_process", "gaussian_mixture",
          "softmax_regression", "kalman", "hidden_markov", "principal_components",
          "multivariate_normal", "predator_prey", "cox")  # fmt: skip
random = np.random.default_rng(1)


def numpy_loss(model, parameters):
    return float(model.loss(np, NUMPY, *parameters, *model.data))


def graph_of(model):
    inputs = [rg.tensor(f"p{i}", p.shape) for i, p in enumerate(model.parameters)]
    return inputs, model.loss(rnp, GRAPHS, *inputs, *model.data)


def slopes(function, parameters, direction):
    """Return a derivative along a direction, extrapolated from differences of several steps."""
    rows = []
    for k in range(6):
        step = 0.02 / 2**k
        ahead = [p + step * t for p, t in zip(parameters, direction, strict=True)]
        behind = [p - step * t for p, t in zip(parameters, direction, strict=True)]
        rows.append((np.asarray(function(ahead)) - np.asarray(function(behind))) / (2 * step))
    for order in range(1, 5):  # Richardson: the errors are even powers of the step
        rows = [(4**order * b - a) / (4**order - 1) for a, b in pairwise(rows)]
    return rows[0]


@pytest.mark.parametrize("name", MODELS)
def test_the_value_and_the_gradient_of_a_model(name):
    model = MODELS[name]
    inputs, loss = graph_of(model)
    function = rg.function(inputs, [*rg.value_and_grad(loss, inputs)[:1], *rg.grad(loss, inputs)])
    value, *gradients = function(*model.parameters)
    assert value == pytest.approx(numpy_loss(model, model.parameters), rel=1e-12)
    for _ in range(3):
        direction = [random.normal(size=p.shape) / np.sqrt(p.size) for p in model.parameters]
        expected = slopes(lambda ps: numpy_loss(model, ps), model.parameters, direction)
        computed = sum(float(np.sum(g * t)) for g, t in zip(gradients, direction, strict=True))
        scale = max(1.0, abs(value))
        assert computed == pytest.approx(float(expected), rel=1e-8, abs=1e-9 * scale), name


@pytest.mark.parametrize("name", MODELS)
def test_forward_mode_agrees_with_reverse_mode(name):
    model = MODELS[name]
    inputs, loss = graph_of(model)
    direction = [random.normal(size=p.shape) for p in model.parameters]
    values = dict(zip(inputs, model.parameters, strict=True))
    _, tangent = rg.jvp(loss, inputs, direction)
    gradients = [rg.evaluate(g, values) for g in rg.grad(loss, inputs)]
    total = sum(float(np.sum(g * t)) for g, t in zip(gradients, direction, strict=True))
    assert rg.evaluate(tangent, values) == pytest.approx(total, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_of_a_model(name):
    model = MODELS[name]
    inputs, loss = graph_of(model)
    direction = [random.normal(size=p.shape) / np.sqrt(p.size) for p in model.parameters]
    values = dict(zip(inputs, model.parameters, strict=True))
    products = rg.hvp(loss, inputs, direction)
    quadratic = sum(
        float(np.sum(rg.evaluate(h, values) * t)) for h, t in zip(products, direction, strict=True)
    )
    h = 3e-3
    weights = {1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}  # of order 8, at 0: -205 / 72
    expected = -205 / 72 * numpy_loss(model, model.parameters)
    for k, weight in weights.items():
        for sign in (1, -1):
            moved = [p + sign * k * h * t for p, t in zip(model.parameters, direction, strict=True)]
            expected += weight * numpy_loss(model, moved)
    scale = max(1.0, abs(numpy_loss(model, model.parameters)))
    assert quadratic == pytest.approx(expected / h**2, rel=1e-6, abs=1e-7 * scale)
    full = rg.hessian(loss, inputs)
    total = 0.0
    for row, t in zip(full, direction, strict=True):
        for block, u in zip(row, direction, strict=True):
            computed = rg.evaluate(block, values)
            total += float(np.tensordot(np.tensordot(t, computed, t.ndim), u, u.ndim))
    assert total == pytest.approx(quadratic, rel=1e-9, abs=1e-10)


def flops(graphs):
    return rg.cost(rg.rewrite_graph(graphs, mode="fast_run"), sizes={}).flops


@pytest.mark.parametrize("name", MODELS)
def test_a_gradient_takes_at_most_four_times_the_operations_of_the_value(name):
    inputs, loss = graph_of(MODELS[name])
    value, gradients = rg.value_and_grad(loss, inputs)
    assert flops([value, *gradients]) <= 4 * flops([loss])


def test_a_kalman_filter_and_its_gradient_call_no_library_but_for_dot_products():
    inputs, loss = graph_of(MODELS["kalman"])
    value, gradients = rg.value_and_grad(loss, inputs)
    graph = rg.FunctionGraph(inputs, rg.rewrite_graph([value, *gradients], mode="fast_run"))
    calls = [step.node for step in planned(graph, FUSION)[1] if isinstance(step, Call)]
    assert all(is_view(x) or is_dot(x) or is_loop(x) for x in calls)


def ops_of(graph):
    graph = rg.rewrite_graph(graph, mode="fast_run")
    return [x.op for x in rg.FunctionGraph(None, graph) if x.op is not None]


def test_the_gradient_of_a_determinant_by_cholesky_has_no_product_of_matrices():
    A = rg.matrix("A", ("n", "n"))
    y = rg.vector("y", ("n",))
    L = rg.cholesky(A)
    z = rg.solve_triangular(L, y, lower=True)
    loss = rg.sum(rg.log(rg.diagonal(L))) + rg.sum(z**2)
    assert not any(isinstance(op, Matmul) for op in ops_of(rg.grad(loss, A)))


def test_eigenvalues_and_their_gradient_share_a_decomposition():
    A = rg.matrix("A", (4, 4))
    values = rg.eigvalsh(A)
    ops = ops_of([rg.sum(values[:2]), rg.grad(rg.sum(values[:2]), A)])
    assert [type(op) for op in ops if isinstance(op, Eigh | Eigvalsh)] == [Eigh]
