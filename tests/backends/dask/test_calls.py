"""Arguments and results of functions with the target "dask"."""

import itertools
import pickle
import sys

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DTypeError, MissingPackageError, ShapeError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

X = rg.matrix("X", ("n", 4))
y = rg.vector("y", "n")
w = rg.vector("w", 4)
DATA = np.random.default_rng(0).normal(size=(100, 4))


@pytest.fixture
def data():
    return da.from_array(DATA, chunks=(30, 4))


def test_results_are_lazy_arrays_in_the_container_of_the_outputs(data):
    f = rg.function([X, w], {"product": X @ w, "total": rg.sum(X)}, target="dask")
    results = f(data, np.ones(4))
    assert isinstance(results["product"], da.Array)
    assert results["product"].chunks == ((30, 30, 30, 10),)
    np.testing.assert_allclose(results["product"].compute(), DATA.sum(axis=1))
    computed = f.compute(data, w=np.ones(4))
    assert isinstance(computed["product"], np.ndarray)
    assert computed["total"] == pytest.approx(DATA.sum())


def test_arguments_may_be_numbers_lists_and_arrays_of_numpy(data):
    a = rg.scalar("a")
    f = rg.function([X, w, a], a * (X @ w), target="dask")
    for weights in ([1, 2, 3, 4], np.arange(1.0, 5), da.from_array(np.arange(1, 5), chunks=2)):
        np.testing.assert_allclose(f.compute(data, weights, 2), 2 * DATA @ np.arange(1, 5))
    np.testing.assert_allclose(f.compute(DATA, np.ones(4), 2.0), 2 * DATA.sum(axis=1))


def test_arrays_without_elements_and_of_one_row(data):
    f = rg.function([X], [rg.sum(X, axis=0), X + 1], target="dask")
    for rows in (0, 1):
        total, more = f.compute(data[:rows])
        np.testing.assert_allclose(total, DATA[:rows].sum(axis=0))
        np.testing.assert_array_equal(more, DATA[:rows] + 1)


def test_sizes_that_are_not_known_are_refused_with_the_remedy(data):
    f = rg.function([X], rg.sum(X), target="dask")
    unknown = data[data[:, 0] > 0]
    with pytest.raises(ShapeError, match="the blocks of 'X' have sizes that are not known") as e:
        f(unknown)
    assert "compute_chunk_sizes" in str(e.value)
    expected = DATA[DATA[:, 0] > 0].sum()
    assert f.compute(unknown.compute_chunk_sizes()) == pytest.approx(expected)


def test_dtypes_ranks_and_sizes_are_checked_as_on_one_machine(data):
    f = rg.function([X, y], X * y[:, None], target="dask")
    with pytest.raises(DTypeError, match="the input 'X' is float64"):
        f(data.astype("complex128"), np.ones(100))
    with pytest.raises(ShapeError, match="the input 'X' has 2 dimensions, not 1"):
        f(data[:, 0], np.ones(100))
    with pytest.raises(ShapeError, match="the size 'n' is 100"):
        f(data, np.ones(99))
    single = data.astype("float32")
    np.testing.assert_allclose(f.compute(single, np.ones(100)), DATA.astype("float32"))


def test_an_operand_of_another_size_is_refused_before_any_task_runs(data):
    u, v = rg.vector("u"), rg.vector("v")
    f = rg.function([u, v], u + v, target="dask")
    with pytest.raises(ShapeError, match="must have equal sizes"):
        f(data[:, 0], data[:1, 0])


def test_results_can_be_written_to_arrays_of_numpy(data):
    f = rg.function([X], rg.exp(X), target="dask")
    out = np.empty((100, 4))
    assert f(data, out=out) is out
    np.testing.assert_allclose(out, np.exp(DATA))


def test_shared_variables_are_updated_in_one_pass(data):
    weights = rg.shared(np.zeros(4), name="weights")
    loss = rg.mean(rg.log(1 + rg.exp(-y * (X @ weights))))
    step = rg.function(
        [X, y], loss, updates={weights: weights - 0.5 * rg.grad(loss, weights)}, target="dask"
    )
    labels = np.sign(DATA[:, 0])
    losses = [step(data, labels) for _ in range(5)]
    assert all(b < a for a, b in itertools.pairwise(losses))
    expected = np.zeros(4)
    for _ in range(5):
        slope = -labels / (1 + np.exp(labels * (DATA @ expected)))
        expected -= 0.5 * DATA.T @ slope / len(DATA)
    np.testing.assert_allclose(weights.get_value(), expected, rtol=1e-10)


def test_functions_are_pickled(data):
    f = pickle.loads(pickle.dumps(rg.function([X], rg.sum(X, axis=0), target="dask")))
    np.testing.assert_allclose(f.compute(data), DATA.sum(axis=0))


def test_results_do_not_depend_on_the_number_of_threads(data):
    f = rg.function([X], [rg.sum(X), X.T @ X], target="dask")
    results = []
    for workers in (1, 2, 3):
        with dask.config.set(scheduler="threads", num_workers=workers):
            results.append(f.compute(data))
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_calls_of_equal_arguments_make_equal_keys(data):
    f = rg.function([X], rg.sum(X), target="dask")
    assert f(data).name == f(data).name


def test_memory_maps_and_other_sources(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, DATA)
    mapped = da.from_array(np.load(path, mmap_mode="r"), chunks=(40, 4))
    f = rg.function([X], rg.max(X, axis=1), target="dask")
    np.testing.assert_array_equal(f.compute(mapped), DATA.max(axis=1))


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.delitem(sys.modules, "relgraph.backends.dask.compiler", raising=False)
    with pytest.raises(MissingPackageError, match="needs the package dask"):
        rg.function([y], y + 1, target="dask")


def test_traced_functions_take_dask_arrays_without_computing_them(data):
    def logarithms(X, w):
        return np.log1p(np.exp(X @ w)).mean(), X.T @ (X @ w)

    computed = []
    lazy = data.map_blocks(lambda block: computed.append(1) or block, meta=data._meta)
    f = rg.jit(logarithms, target="dask")
    loss, product = f(lazy, np.ones(4))
    assert isinstance(loss, da.Array)
    assert not computed
    expected = logarithms(DATA, np.ones(4))
    assert loss.compute() == pytest.approx(expected[0])
    np.testing.assert_allclose(product.compute(), expected[1])
    slope = rg.jit(rg.value_and_grad(lambda w, X: np.mean((X @ w) ** 2)), target="dask")
    value, gradient = slope(np.ones(4), lazy)
    np.testing.assert_allclose(gradient.compute(), 2 * DATA.T @ DATA.sum(axis=1) / len(DATA))
    assert value.compute() == pytest.approx(np.mean(DATA.sum(axis=1) ** 2))


def test_traced_functions_do_not_change_dask_arrays(data):
    def changed(X):
        X[0] = 1
        return X.sum()

    with pytest.raises(ArgumentError, match="'X' in place, and the array is a Dask array"):
        rg.jit(changed, target="dask")(data)
    with pytest.raises(ArgumentError, match="argument 0 is in blocks whose sizes are not known"):
        rg.jit(np.sum, target="dask")(data[data[:, 0] > 0])


def test_objects_that_hold_a_dask_array_are_read(data):
    class Labelled:
        def __init__(self, array):
            self.data = array

    f = rg.function([X], rg.sum(X, axis=0), target="dask")
    np.testing.assert_allclose(f.compute(Labelled(data)), DATA.sum(axis=0))
