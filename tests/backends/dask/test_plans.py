"""Into which tasks graphs are divided: passes over the data, bytes, and what moves."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, CompileError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

ROWS, BLOCKS = 1000, 10
X = rg.matrix("X", ("n", 4))
y = rg.vector("y", "n")
w = rg.vector("w", 4)


def tall(seed=0):
    return da.from_array(np.random.default_rng(seed).normal(size=(ROWS, 4)), chunks=(100, 4))


def long(seed=1):
    return da.from_array(np.random.default_rng(seed).normal(size=ROWS), chunks=100)


def planned(outputs, *arrays, inputs=None):
    return rg.function(inputs, outputs, target="dask").plan(*arrays)


def test_a_loss_and_its_gradient_read_the_data_once():
    loss = rg.mean(rg.log(1 + rg.exp(-y * (X @ w))))
    plan = planned([loss, rg.grad(loss, w)], tall(), long(), np.ones(4), inputs=[X, y, w])
    assert plan.passes == 1
    assert plan.tasks == BLOCKS + 1  # one task for each block, and the division by the number
    assert plan.bytes_read == 8 * (ROWS * 4 + ROWS + 4)
    assert plan.bytes_moved == BLOCKS * 8 * (1 + 4)  # a loss and a gradient of each block


@pytest.mark.parametrize("labels", [np.ones(ROWS), da.ones(ROWS, chunks=50)])
def test_operands_in_other_blocks_move_to_those_of_the_largest_input(labels):
    loss = rg.mean(rg.log(1 + rg.exp(-y * (X @ w))))
    plan = planned([loss, rg.grad(loss, w)], tall(), labels, np.ones(4), inputs=[X, y, w])
    assert plan.passes == 1


@pytest.mark.parametrize("method", ["add", "multiply", "max", "min"])
def test_updates_at_divided_indices_are_parts_that_are_joined(method):
    i, v, x = rg.vector("i", "n", dtype="int64"), rg.vector("v", "n"), rg.vector("x", 7)
    rng = np.random.default_rng(0)
    indices, values, array = rng.integers(0, 7, ROWS), rng.random(ROWS) + 0.5, rng.random(7)
    f = rg.function([x, i, v], getattr(x.at[i], method)(v), target="dask")
    args = array, da.from_array(indices, chunks=100), da.from_array(values, chunks=100)
    assert f.plan(*args).passes == 1
    assert f.plan(*args).tasks == BLOCKS + 1
    assert f.plan(*args).bytes_moved == BLOCKS * 8 * 7
    expected = array.copy()
    ufuncs = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}
    ufuncs[method].at(expected, indices, values)
    np.testing.assert_allclose(f.compute(*args), expected, rtol=1e-12)


def test_a_histogram_of_a_divided_array_is_one_pass():
    f = rg.jit(lambda a: np.histogram(a, bins=8, range=(-3, 3))[0], target="dask")
    values = np.random.default_rng(1).normal(size=ROWS)
    counts = f(da.from_array(values, chunks=100)).compute()
    np.testing.assert_array_equal(counts, np.histogram(values, 8, (-3, 3))[0])


def test_means_of_clusters_by_updates_read_the_data_once():
    C = rg.matrix("C", (3, 4))
    distances = rg.sum(X**2, axis=1)[:, None] - 2 * (X @ C.T) + rg.sum(C**2, axis=1)
    nearest = rg.argmin(distances, axis=1)
    sums, numbers = rg.constant(np.zeros((3, 4))), rg.constant(np.zeros(3))
    means = sums.at[nearest].add(X) / numbers.at[nearest].add(1.0)[:, None]
    f = rg.function([X, C], means, target="dask")
    data, centres = tall(), np.random.default_rng(2).normal(size=(3, 4))
    assert f.plan(data, centres).passes == 1
    rows = data.compute()
    labels = ((rows[:, None] - centres) ** 2).sum(axis=-1).argmin(axis=-1)
    expected = np.stack([rows[labels == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(f.compute(data, centres), expected, rtol=1e-12)


def test_ridge_regression_reads_the_data_once():
    solution = rg.solve(X.T @ X + 0.1 * rg.eye(4), X.T @ y)
    assert planned(solution, tall(), long(), inputs=[X, y]).passes == 1


def test_a_step_of_k_means_reads_the_data_once():
    C = rg.matrix("C", (3, 4))
    squares = rg.sum(X**2, axis=1)[:, None] - 2 * (X @ C.T) + rg.sum(C**2, axis=1)
    nearest = rg.argmin(squares, axis=1)
    members = rg.equal(nearest[:, None], np.arange(3)).astype("float64")
    centres = (members.T @ X) / rg.sum(members, axis=0)[:, None]
    plan = planned(centres, tall(), np.ones((3, 4)), inputs=[X, C])
    assert plan.passes == 1


def test_gathered_products_read_a_matrix_once():
    A = rg.matrix("A", ("n", "m"))
    xs = rg.vectors("x0 x1 x2", shape=("m",))
    arrays = [tall(), *np.ones((3, 4))]
    plan = planned(sum(A @ x for x in xs), *arrays, inputs=[A, *xs])
    assert plan.bytes_read == 8 * (ROWS * 4 + 3 * 4)
    assert plan.passes == 1
    assert plan.bytes_moved == 0


def test_principal_components_read_the_data_once():
    parts = rg.svd(X - rg.mean(X, axis=0), full_matrices=False)
    f = rg.function([X], [parts[1], abs(parts[2])], target="dask")
    assert f.plan(tall()).passes == 1
    values, vectors = f.compute(tall())
    data = tall().compute()
    expected = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(values, expected[1], rtol=1e-12)
    np.testing.assert_allclose(vectors, np.abs(expected[2]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_means_variances_and_covariances_read_the_data_once(shift):
    centred = X - rg.mean(X, axis=0)
    outputs = [rg.mean(X, axis=0), rg.var(X, axis=0), centred.T @ centred]
    f = rg.function([X], outputs, target="dask")
    data = (tall() + shift).rechunk((37, 4))
    assert f.plan(data).passes == 1
    array = data.compute()
    deviations = array - array.mean(axis=0)
    expected = [array.mean(axis=0), array.var(axis=0), deviations.T @ deviations]
    for value, meaning in zip(f.compute(data), expected, strict=True):
        np.testing.assert_allclose(value, meaning, rtol=1e-9, atol=1e-6)


def test_columns_are_standardised_in_two_passes():
    z = (X - rg.mean(X, axis=0)) / rg.std(X, axis=0)
    f = rg.function([X], z, target="dask")
    assert f.plan(tall()).passes == 2
    data = tall().compute()
    expected = (data - data.mean(axis=0)) / data.std(axis=0)
    np.testing.assert_allclose(f.compute(tall()), expected, rtol=1e-12, atol=1e-12)
    single = tall().astype("float32")
    x = rg.matrix("x", ("n", 4), "float32")
    value = rg.function([x], rg.var(x, axis=0), target="dask").compute(single)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, single.compute().var(axis=0), rtol=1e-5)


def test_rows_of_a_stencil_come_with_a_halo():
    plan = planned(y[2:] - 2 * y[1:-1] + y[:-2], long(), inputs=[y])
    assert (plan.passes, plan.tasks) == (1, BLOCKS)
    assert plan.bytes_moved == (BLOCKS - 1) * 2 * 8
    assert "y with a halo" in str(plan)


def test_the_smaller_array_moves_to_the_blocks_of_the_larger_one():
    vector = long().rechunk(70)
    plan = planned(X * y[:, None], tall(), vector, inputs=[X, y])
    assert plan.bytes_moved == ROWS * 8
    assert "in other blocks" in str(plan)


def test_cheap_values_are_computed_again_rather_than_kept():
    centred = X - rg.mean(X, axis=0)
    plan = planned(rg.sum(centred**2, axis=0), tall(), inputs=[X])
    kept = [step.region.outputs for step in plan.steps]
    assert all(x.type.shape[0] != ROWS for outputs in kept for x in outputs)


def test_the_largest_task_grows_with_the_blocks():
    small = planned(rg.exp(X), tall(), inputs=[X]).largest_task
    large = planned(rg.exp(X), tall().rechunk((500, 4)), inputs=[X]).largest_task
    assert (small, large) == (2 * 100 * 4 * 8, 2 * 500 * 4 * 8)


def test_an_op_that_needs_too_large_a_block_names_it_and_the_remedy():
    f = rg.function([X], rg.sort(X, axis=0), target="dask")
    with (
        dask.config.set({"array.chunk-size": "16kiB"}),
        pytest.raises(ArgumentError, match=r"sort.* needs axis 0 of X in one block") as caught,
    ):
        f(tall())
    assert "x.rechunk({0: -1})" in str(caught.value)
    np.testing.assert_array_equal(f.compute(tall()), np.sort(tall().compute(), axis=0))


def test_only_the_target_dask_has_plans():
    with pytest.raises(CompileError, match="only calls with Dask arrays have a plan"):
        rg.function([y], y + 1).plan(np.ones(3))


def test_a_plan_grows_with_the_graph_and_not_with_the_blocks():
    f = rg.function([X], rg.exp(X), target="dask")
    few, many = (f.plan(da.zeros((10**6, 4), chunks=(n, 4))) for n in (10**5, 10**2))
    assert (few.tasks, many.tasks) == (10, 10**4)
    assert len(few.steps) == len(many.steps) == 1
