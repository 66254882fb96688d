"""Products: which steps around one matrix are made in one pass over it."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.kernels import Call, Kernel, schedule
from relgraph.lowering.products import join_products
from tests.lowering.evaluation import check_run, fusion, graph_of

X = rg.matrix("X", ("n", "m"))
b, c = rg.vectors("b c", "m")
y = rg.vector("y", "n")
RNG = np.random.default_rng(3)
ARRAYS = {"X": RNG.normal(size=(5, 3)), "b": RNG.normal(size=3), "c": RNG.normal(size=3),
          "y": RNG.normal(size=5)}  # fmt: skip


def joined(*outputs, **changes):
    graph = graph_of(*outputs)
    limits = fusion(**changes)
    return graph, join_products(graph, schedule(graph, limits), limits)


def products(steps):
    return [s for s in steps if isinstance(s, Kernel) and s.structure.products is not None]


def test_a_gradient_is_one_pass_over_the_matrix():
    graph, steps = joined(X.T @ (X @ b - y))
    (kernel,) = products(steps)
    assert kernel.results == graph.outputs
    assert kernel.reads.count(X) == 1
    assert kernel.structure.products.forward == ((0, 1),)


def test_the_loss_is_computed_in_the_pass_of_the_gradient():
    residual = X @ b - y
    graph, steps = joined(rg.sum(residual * residual), X.T @ residual)
    (kernel,) = products(steps)
    assert set(kernel.results) == set(graph.outputs)
    assert [fold.op.name for fold in kernel.structure.folds] == ["sum"]


def test_a_residual_that_is_an_output_is_stored():
    residual = X @ b - y
    _, steps = joined(residual, X.T @ residual)
    (kernel,) = products(steps)
    assert kernel.results == (residual, X.T @ residual)
    assert len(kernel.structure.products.stored) == 1


def test_two_vectors_share_the_pass():
    _, steps = joined(X.T @ (rg.exp(X @ b) * (X @ c)))
    (kernel,) = products(steps)
    assert len(kernel.structure.products.forward) == 2


@pytest.mark.parametrize(
    "output",
    [X @ b, X.T @ y, X.T @ (rg.exp(y)), rg.exp(X @ b)],
    ids=["product", "transpose", "no first product", "no second product"],
)
def test_products_of_one_kind_alone_stay_calls(output):
    _, steps = joined(output)
    assert products(steps) == []
    assert any(isinstance(step, Call) for step in steps)


def test_products_of_different_matrices_stay_calls():
    Y = rg.matrix("Y", ("n", "m"))
    assert products(joined(Y.T @ rg.exp(X @ b))[1]) == []


def test_integers_stay_calls():
    Z = rg.matrix("Z", ("n", "m"), dtype="int64")
    z = rg.vector("z", "m", dtype="int64")
    assert products(joined(Z.T @ (Z @ z + 1))[1]) == []


def test_a_view_of_a_matrix_stays_a_call():
    W = rg.matrix("W", (6, 4))
    w = rg.vector("w", 4)
    part = W[1:]
    assert products(joined(part.T @ rg.exp(part @ w))[1]) == []


def test_a_result_of_the_transpose_is_not_read_in_the_same_pass():
    first = X.T @ (X @ b - y)
    _, steps = joined(X.T @ (X @ first - y))
    assert len(products(steps)) == 2


def test_what_reads_the_result_of_a_square_matrix_waits_for_the_whole_pass():
    S, r = rg.matrix("S", ("n", "n")), rg.vector("r", "n")
    gradient = S.T @ (S @ r - y)
    graph, steps = joined(rg.sum(rg.exp(gradient)))
    (kernel,) = products(steps)
    assert kernel.results == (gradient,)
    arrays = {"S": RNG.normal(size=(5, 5)), "r": ARRAYS["y"], "y": ARRAYS["y"]}
    check_run(graph, steps, [arrays[x.name] for x in graph.inputs])


@pytest.mark.parametrize(
    "outputs",
    [
        [X.T @ (X @ b - y)],
        [rg.sum((X @ b - y) ** 2), X.T @ (X @ b - y)],
        [(y - rg.exp(X @ b)) @ X, rg.exp(X @ b)],
    ],
    ids=["gradient", "loss and gradient", "from the left"],
)
def test_joined_products_compute_what_numpy_does(outputs):
    graph, steps = joined(*outputs)
    assert products(steps)
    check_run(graph, steps, [ARRAYS[x.name] for x in graph.inputs])
