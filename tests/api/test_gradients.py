"""The public derivatives: of graphs and of functions, against differences of NumPy's values."""

import pickle
import threading

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError
from tests.derivatives.differences import jacobian_by_differences

random = np.random.default_rng(11)
W, B, X = random.normal(size=(2, 3)), random.normal(size=2), random.normal(size=3)


def model(p, x):
    return np.sum(np.tanh(p["w"] @ x + p["b"]) ** 2)


def of_weights(w):
    return model({"w": w, "b": B}, X)


def cube(x):
    return x**3 * np.sin(x)


def value(graph, **values):
    return rg.evaluate(graph, values)


# Gradients of graphs.


def test_the_gradient_of_a_graph_is_in_the_structure_of_the_nodes():
    w, b, x = rg.matrix("w", (2, 3)), rg.vector("b", 2), rg.vector("x", 3)
    gradient = rg.grad(model({"w": w, "b": b}, x), {"w": w, "rest": [b, x]})
    assert list(gradient) == ["w", "rest"]
    expected = jacobian_by_differences(of_weights, W)
    np.testing.assert_allclose(value(gradient["w"], w=W, b=B, x=X), expected, rtol=1e-8)
    assert [tuple(g.type.shape) for g in gradient["rest"]] == [(2,), (3,)]


def test_an_intermediate_node_counts_as_a_variable():
    x = rg.vector("x", 3)
    y = rg.exp(x)
    loss = rg.sum(rg.log(1 + y) * x)
    total, partial = rg.grad(loss, [x, y])
    np.testing.assert_allclose(value(partial, x=X), X / (1 + np.exp(X)), rtol=1e-12)
    expected = np.exp(X) / (1 + np.exp(X)) * X + np.log1p(np.exp(X))
    np.testing.assert_allclose(value(total, x=X), expected, rtol=1e-12)


def test_an_input_without_influence_has_zeros():
    x, y = rg.vectors("x y", 3)
    loss = rg.sum(x * rg.floor(y))
    assert np.array_equal(value(rg.grad(loss, y), x=X, y=X), np.zeros(3))
    f = rg.grad(lambda x, y: np.sum(x), argnums=1)
    assert np.array_equal(f(X, np.ones(2)), np.zeros(2))


def test_sizes_may_be_named_or_unknown():
    for size in ("n", None):
        A, x = rg.matrix("A", (size, size)), rg.vector("x", size)
        gradient = rg.grad(rg.sum(rg.softmax(A @ x) ** 2), x)
        Q = random.normal(size=(3, 3))

        def loss(x, Q=Q):
            e = np.exp(Q @ x)
            return np.sum((e / e.sum()) ** 2)

        np.testing.assert_allclose(
            value(gradient, A=Q, x=X), jacobian_by_differences(loss, X), rtol=1e-7
        )


def test_a_value_and_its_gradient_share_nodes():
    x = rg.vector("x", 3)
    loss, gradient = rg.value_and_grad(rg.sum(rg.exp(x)), x)
    assert loss is rg.sum(rg.exp(x))
    assert rg.exp(x) in rg.FunctionGraph(None, gradient).toposort()


# Gradients of functions.


def test_a_gradient_of_a_function_takes_containers():
    gradient = rg.grad(model)({"w": W, "b": B}, X)
    np.testing.assert_allclose(gradient["w"], jacobian_by_differences(of_weights, W), rtol=1e-8)
    assert gradient["b"].shape == (2,)


def test_argnums_may_be_several_and_negative():
    f = rg.grad(lambda x, y: np.sum(x * y**2), argnums=(0, -1))
    gx, gy = f(X, X + 1)
    np.testing.assert_allclose(gx, (X + 1) ** 2)
    np.testing.assert_allclose(gy, 2 * X * (X + 1))
    (alone,) = rg.grad(lambda x: np.sum(x**2), argnums=[0])(X)
    np.testing.assert_allclose(alone, 2 * X)


def test_auxiliary_results_come_back_beside_the_gradient():
    def f(x):
        return np.sum(x**2), {"double": 2 * x, "name": None}

    gradient, aux = rg.grad(f, has_aux=True)(X)
    np.testing.assert_allclose(gradient, 2 * X)
    np.testing.assert_allclose(aux["double"], 2 * X)
    (loss, aux), _ = rg.value_and_grad(f, has_aux=True)(X)
    assert loss == pytest.approx(np.sum(X**2))
    assert aux["name"] is None


@pytest.mark.parametrize(
    "f",
    [
        rg.grad(rg.grad(cube)),
        rg.jit(rg.grad(rg.grad(cube))),
        rg.grad(rg.jit(rg.grad(cube))),
        rg.grad(rg.grad(rg.jit(cube))),
    ],
    ids=["grad grad", "jit grad grad", "grad jit grad", "grad grad jit"],
)
def test_grad_and_jit_nest_in_any_order(f):
    x = 0.7
    expected = 6 * x * np.sin(x) + 6 * x**2 * np.cos(x) - x**3 * np.sin(x)
    assert f(x) == pytest.approx(expected, rel=1e-13)


def test_a_function_may_read_an_argument_from_outside():
    def outer(x):
        return rg.grad(lambda y: np.sum(y * x))(x)  # the derivative by y alone

    np.testing.assert_allclose(rg.jit(outer)(X), X)
    inner = rg.jit(lambda x: rg.grad(lambda y: np.sum(y * x))(np.ones(3)))
    np.testing.assert_allclose(inner(X), X)
    assert rg.grad(lambda x: rg.grad(lambda y: x * y**2)(x) * x)(3.0) == pytest.approx(6 * 3.0**2)


def test_one_node_may_be_two_arguments():
    x = rg.scalar("x")
    gradient = rg.grad(lambda a, b: a * b**2)(x, x)
    assert value(gradient, x=3.0) == pytest.approx(9.0)


def test_graphs_are_arguments_too():
    x = rg.vector("x", 3)
    gradient = rg.grad(lambda x: np.sum(x**2))(x)
    assert isinstance(gradient, rg.Variable)
    np.testing.assert_allclose(value(gradient, x=X), 2 * X)


def test_functions_may_assign_in_place_to_arrays_of_their_own():
    def f(x):
        y = np.zeros(3)
        y[0] = x[0] ** 2
        y[1:] += x[1:]
        return np.sum(y * y)

    expected = [4 * X[0] ** 3, 2 * X[1], 2 * X[2]]
    np.testing.assert_allclose(rg.grad(f)(X), expected, rtol=1e-13)
    x = rg.vector("x", 3)
    np.testing.assert_allclose(value(rg.grad(f)(x), x=X), expected, rtol=1e-13)


def test_traced_arrays_are_nodes_too():
    @rg.jit
    def f(x):
        return rg.grad(np.sum(x**3), x)

    np.testing.assert_allclose(f(X), 3 * X**2)


def test_a_derivative_of_constants_inside_a_trace_has_a_value():
    def f(x):
        slope = rg.grad(lambda y: y**2)(3.0)
        return x * slope if slope > 5 else x

    assert rg.jit(f)(2.0) == pytest.approx(12.0)


def test_other_threads_do_not_change_what_a_call_returns():
    started, release = threading.Event(), threading.Event()

    @rg.jit
    def slow(x):
        started.set()
        release.wait(10)
        return x + 1

    thread = threading.Thread(target=slow, args=(1.0,))
    thread.start()
    started.wait(10)
    try:
        result = rg.grad(lambda x: x**2)(3.0)
        assert type(result) is np.float64
        assert result == 6.0
    finally:
        release.set()
        thread.join()


def test_derivatives_of_functions_pickle():
    f = pickle.loads(pickle.dumps(rg.grad(model)))
    p = {"w": W, "b": B}
    np.testing.assert_array_equal(f(p, X)["w"], rg.grad(model)(p, X)["w"])


def test_what_a_function_reads_from_outside_may_change():
    factor = [2.0]

    def f(x):
        return factor[0] * np.sum(x)

    one = np.ones(2)
    first = rg.grad(f)(one), rg.jvp(f, (one,), (one,))[1], rg.hvp(f, (one,), (one,))[0]
    factor[0] = 3.0
    second = rg.grad(f)(one), rg.jvp(f, (one,), (one,))[1], rg.vjp(f, one)[1](1.0)[0]
    assert first[0][0] == 2.0
    assert first[1] == 4.0
    assert second[0][0] == second[2][0] == 3.0
    assert second[1] == 6.0


def test_float32_stays_float32():
    f = rg.value_and_grad(lambda x: np.sum(np.exp(x) * 2))
    loss, gradient = f(X.astype("float32"))
    assert loss.dtype == gradient.dtype == np.float32


# Forward and reverse mode, and linear maps.


def f_vector(x, y):
    return {"a": np.exp(x) * y, "b": np.sum(x * y)}


Y = random.normal(size=3)
J = np.diag(np.exp(X) * Y)


def test_jvp_of_a_function():
    out, tangent = rg.jvp(f_vector, (X, Y), (np.ones(3), np.zeros(3)))
    np.testing.assert_allclose(out["a"], np.exp(X) * Y)
    np.testing.assert_allclose(tangent["a"], np.exp(X) * Y)
    assert tangent["b"] == pytest.approx(np.sum(Y))


def test_vjp_of_a_function():
    out, pullback = rg.vjp(f_vector, X, Y)
    np.testing.assert_allclose(out["a"], np.exp(X) * Y)
    gx, gy = pullback({"a": np.ones(3), "b": 2.0})
    np.testing.assert_allclose(gx, np.exp(X) * Y + 2 * Y)
    np.testing.assert_allclose(gy, np.exp(X) + 2 * X)
    gx, _ = pullback({"a": np.zeros(3), "b": 1.0})  # another cotangent at the same point
    np.testing.assert_allclose(gx, Y)
    (out, aux), pullback = rg.vjp(lambda x: (2 * x, x[0]), X, has_aux=True)
    assert aux == X[0]
    np.testing.assert_allclose(pullback(X)[0], 2 * X)


def test_linearize_computes_the_value_once():
    value, derivative = rg.linearize(lambda x, y: np.exp(x) * y, X, Y)
    np.testing.assert_allclose(value, np.exp(X) * Y)
    np.testing.assert_allclose(derivative(X, Y), np.exp(X) * Y * X + np.exp(X) * Y)


def test_linear_maps_inside_a_trace():
    @rg.jit
    def f(x):
        _, pullback = rg.vjp(np.sin, x)
        _, derivative = rg.linearize(np.sin, x)
        return pullback(x)[0], derivative(x), rg.jvp(np.sin, (x,), (x,))[1]

    for result in f(X):
        np.testing.assert_allclose(result, np.cos(X) * X)


def test_linear_maps_of_graphs():
    x, t = rg.vectors("x t", 3)
    (y,), pullback = rg.vjp([rg.sin(x)], x)
    np.testing.assert_allclose(value(pullback([t]), x=X, t=Y), np.cos(X) * Y)
    _, derivative = rg.linearize(y, x)
    np.testing.assert_allclose(value(derivative(t), x=X, t=Y), np.cos(X) * Y)


def test_hvp():
    x, v = rg.vectors("x v", 3)
    product = rg.hvp(rg.sum(x**3 * x[0]), x, v)
    expected = jacobian_by_differences(
        lambda x: jacobian_by_differences(lambda x: np.sum(x**3 * x[0]), x), X
    )
    np.testing.assert_allclose(value(product, x=X, v=Y), expected @ Y, rtol=1e-6)
    (of_function,) = rg.hvp(lambda x: np.sum(x**3 * x[0]), (X,), (Y,))
    np.testing.assert_allclose(of_function, expected @ Y, rtol=1e-6)


def test_directions_belong_to_the_keys_of_dicts():
    def f(x):
        return {"a": x, "b": 2 * x}

    x, one = np.array([1.0, 3.0]), np.array([1.0, 0.0])
    _, pull = rg.vjp(f, x)
    np.testing.assert_array_equal(pull({"b": one, "a": 0 * one})[0], [2, 0])

    def g(parts):
        return parts["a"] + 10 * parts["b"]

    _, pushed = rg.jvp(g, ({"a": x, "b": x},), ({"b": one, "a": 0 * one},))
    np.testing.assert_array_equal(pushed, [10, 0])
    with pytest.raises(ArgumentError, match="other keys"):
        pull({"a": one, "c": one})


def test_an_argument_is_named_once():
    with pytest.raises(DomainError, match="twice"):
        rg.grad(lambda x, y: np.sum(x * y), argnums=(0, 0))(np.ones(2), np.ones(2))


class Growth(rg.Op):
    """``exp(a x)``, whose parameter is a number in its differential."""

    name, arity, pointwise, parameters = "growth", 1, True, ("a",)

    def infer(self, x):
        return x

    def perform(self, x):
        return np.exp(self.params[0] * x)

    def derivatives(self):
        return (d_growtho,)


@rg.differential
def d_growtho(a, x):
    """d(growth(x)) = a growth(x) d(x)."""
    return rg.d(Growth(a)(x)), (a**2 / a) * Growth(a)(x) * rg.d(x)


def test_a_parameter_of_an_op_is_a_number_in_its_differential():
    x = rg.vector("x", shape=(2,))
    values = np.array([0.3, -0.4])
    gradient = rg.grad(rg.sum(Growth(2.0)(x)), x)
    np.testing.assert_allclose(rg.evaluate(gradient, {x: values}), 2 * np.exp(2 * values))


def zeroed(x):
    y = x**2
    y[y > 1] = 0
    return np.sum(y * np.arange(4.0))


def rows_replaced(x):
    y = np.outer(x, x)
    y[x > 1] = x
    return np.sum(y**2)


def scaled_at_mask(x):
    y = x**2
    y[y > 1] *= 2
    return np.sum(y * np.arange(4.0))


def joined_at_masks(x):
    y, z = np.outer(x, x), np.zeros(4)
    y[y > 1] = np.sin(y[y > 1])
    z[x > 1] += x[x > 1] ** 3
    return np.sum(y) + np.sum(z)


@pytest.mark.parametrize("function", [zeroed, rows_replaced, scaled_at_mask, joined_at_masks])
def test_assignments_to_masks_have_gradients(function):
    x = np.array([0.5, 1.5, -2.0, 3.0])
    expected = jacobian_by_differences(function, x)
    np.testing.assert_allclose(rg.grad(function)(x), expected, rtol=1e-6, atol=1e-6)


class Cube(rg.Op):
    """``x^3``, with a differential of choice."""

    name, arity, pointwise, parameters = "cube", 1, True, ("right",)

    def infer(self, x):
        return x

    def perform(self, x):
        return x**3

    def derivatives(self):
        def d_cubeo(x):
            return rg.d(self(x)), self.params[0](x, rg.d(x))

        return (rg.differential(d_cubeo),)


@pytest.mark.parametrize(
    "right",
    [
        lambda x, dx: dx * dx,
        lambda x, dx: rg.square(dx),
        lambda x, dx: 3 * rg.square(x) * dx + dx * rg.sum(dx),
        lambda x, dx: rg.exp(dx),
    ],
)
def test_a_differential_that_is_not_linear_is_refused(right):
    x = rg.vector("x")
    with pytest.raises(rg.errors.DerivativeError, match="not linear in the differentials"):
        rg.grad(rg.sum(Cube(right)(x)), x)


def test_a_linear_differential_may_read_sizes():
    x = rg.vector("x")
    mean = Cube(lambda x, dx: 3 * rg.square(x) * dx + (rg.mean(dx) - rg.mean(dx)))
    gradient = rg.grad(rg.sum(mean(x)), x)
    values = np.array([0.5, -2.0, 1.0])
    np.testing.assert_allclose(rg.evaluate(gradient, {x: values}), 3 * values**2)
