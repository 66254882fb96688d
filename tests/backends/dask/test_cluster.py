"""Tasks on a cluster of processes: results, errors of workers, and workers that die."""

import os
import signal
import time

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import CompileError, IndexRangeError, LinearAlgebraError
from tests.backends.dask.divisions import divided

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

X = rg.matrix("X", ("n", 4))
y = rg.vector("y", "n")
w = rg.vector("w", 4)
DATA = np.random.default_rng(0).normal(size=(1000, 4))


@pytest.fixture(scope="module")
def client():
    """Return the client of two processes, each with a thread."""
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def data(client):
    return da.from_array(DATA, chunks=(100, 4))


def test_programs_equal_numpy(data):
    rng = np.random.default_rng(1)
    few = DATA[:50]
    labels = np.sign(few[:, 0])
    loss = rg.mean(rg.log(1 + rg.exp(-y * (X @ w))))
    outputs = [
        loss,
        rg.grad(loss, w),
        rg.softmax(X, axis=0),
        rg.cumsum(X, axis=0),
        X[2:] - X[:-2],
        rg.svd(X, full_matrices=False)[1],
        rg.sort(X, axis=0),
    ]
    f = rg.function([X, y, w], outputs, target="dask")
    margins = labels * few.sum(axis=1)
    terms = np.exp(few - few.max(axis=0))
    expected = [
        np.mean(np.log1p(np.exp(-margins))),
        -few.T @ (labels / (1 + np.exp(margins))) / len(few),
        terms / terms.sum(axis=0),
        np.cumsum(few, axis=0),
        few[2:] - few[:-2],
        np.linalg.svd(few, compute_uv=False),
        np.sort(few, axis=0),
    ]
    arrays = (few, labels, np.ones(4))
    for arguments in ((data[:50], *arrays[1:]), [divided(rng, x) for x in arrays]):
        for value, meaning in zip(f.compute(*arguments), expected, strict=True):
            np.testing.assert_allclose(value, meaning, rtol=1e-10, atol=1e-12)


def test_results_are_those_of_one_machine_for_the_same_blocks(data):
    f = rg.function([X], [rg.sum(X), X.T @ X], target="dask")
    for a, b in zip(f.compute(data), (x.compute(scheduler="sync") for x in f(data)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_worker_that_dies_is_replaced(client):
    data = da.from_array(np.tile(DATA, (20, 1)), chunks=(100, 4)).map_blocks(_slowly)
    future = client.compute(rg.function([X], rg.sum(X, axis=0), target="dask")(data))
    time.sleep(0.5)
    victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, signal.SIGKILL)
    np.testing.assert_allclose(future.result(timeout=60), 20 * DATA.sum(axis=0))


def _slowly(block):
    time.sleep(0.02)
    return block


def test_an_error_of_a_kernel_names_the_op(data):
    places = rg.vector("places", "n", dtype="int64")
    f = rg.function([w, places], w[places], target="dask")
    with pytest.raises(IndexRangeError, match="index 9 is out of bounds"):
        f.compute(np.ones(4), da.from_array(np.array([0, 1, 9, 3]), chunks=1))
    g = rg.function([X], rg.cholesky(X.T @ X - 1e6 * rg.eye(4)), mode=None, target="dask")
    with pytest.raises(LinearAlgebraError, match=r"cholesky.*not positive definite"):
        g.compute(data)
    assert rg.function([X], rg.sum(X), target="dask").compute(data) == pytest.approx(DATA.sum())


def test_a_worker_with_other_versions_says_so(data, monkeypatch):
    from relgraph.backends.dask import tasks

    monkeypatch.setattr(tasks, "versions", lambda: ("9.9.9", "0.1", "1.0"))
    with pytest.raises(CompileError, match="other versions than the client") as caught:
        rg.function([X], rg.cos(X), target="dask").compute(data)
    assert "relgraph 9.9.9 on the client" in str(caught.value)


def test_a_cache_that_cannot_be_written_does_not_matter(client, data):
    def break_cache():
        os.environ["RELGRAPH_CACHE_DIR"] = "/dev/full/cache"

    before = client.run(os.environ.get, "RELGRAPH_CACHE_DIR")
    client.run(break_cache)
    try:
        value = rg.function([X], rg.sum(rg.sinh(X)), target="dask").compute(data)
    finally:
        client.run(os.environ.__setitem__, "RELGRAPH_CACHE_DIR", next(iter(before.values())))
    assert value == pytest.approx(np.sinh(DATA).sum())


def test_a_cancelled_call_leaves_the_cluster_usable(client, data):
    f = rg.function([X], rg.sum(X), target="dask")
    future = client.compute(f(data.map_blocks(_slowly)))
    future.cancel()
    with pytest.raises(distributed.client.FutureCancelledError):
        future.result(timeout=20)
    assert f.compute(data) == pytest.approx(DATA.sum())


def test_a_lost_cluster_raises():
    f = rg.function([X], rg.sum(X), target="dask")
    cluster = distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=":0")
    lost = distributed.Client(cluster, set_as_default=False, timeout=5)
    lazy = f(da.from_array(DATA, chunks=(100, 4)))
    assert lost.compute(lazy).result(timeout=30) == pytest.approx(DATA.sum())
    cluster.close()
    with pytest.raises(Exception, match=r"(?i)clos|cancel|connect|lost"):
        lost.compute(lazy + 1).result(timeout=20)
    lost.close(timeout=5)
