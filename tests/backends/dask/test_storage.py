"""Arrays as users store them: zarr, HDF5, Parquet, xarray, memory maps."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ShapeError

pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
DATA = RNG.standard_normal((1000, 4))
LABELS = np.sign(DATA[:, 0])
WEIGHTS = np.full(4, 0.1)
X, y, w = rg.matrix("X", ("n", 4)), rg.vector("y", "n"), rg.vector("w", 4)
LOSS = rg.mean(rg.log(1 + rg.exp(-y * (X @ w))))
STEP = rg.function([X, y, w], [LOSS, rg.grad(LOSS, w)], target="dask")


def check(data, labels):
    assert STEP.plan(data, labels, WEIGHTS).passes == 1
    loss, gradient = STEP.compute(data, labels, WEIGHTS)
    margin = LABELS * (DATA @ WEIGHTS)
    np.testing.assert_allclose(loss, np.mean(np.log1p(np.exp(-margin))), rtol=1e-12)
    expected = -(DATA.T @ (LABELS / (1 + np.exp(margin)))) / len(DATA)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)


def test_a_memory_map(tmp_path):
    np.save(tmp_path / "x.npy", DATA)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    check(da.from_array(mapped, chunks=(100, 4)), LABELS)


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    stored = zarr.open(str(tmp_path / "x.zarr"), mode="w", shape=(1000, 4), chunks=(100, 4))
    stored[:] = DATA
    check(da.from_zarr(str(tmp_path / "x.zarr")), da.from_array(LABELS, chunks=100))


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=DATA, chunks=(100, 4))
    with h5py.File(tmp_path / "x.h5", "r") as file:
        check(da.from_array(file["x"], chunks=(100, 4)), da.from_array(LABELS, chunks=100))


def test_xarray():
    xarray = pytest.importorskip("xarray")
    data = xarray.DataArray(da.from_array(DATA, chunks=(100, 4)), dims=("row", "column"))
    check(data, xarray.DataArray(da.from_array(LABELS, chunks=100), dims="row"))


def test_columns_of_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frames = pytest.importorskip("dask.dataframe")
    table = pandas.DataFrame(DATA, columns=list("abcd")).assign(label=LABELS)
    table.to_parquet(tmp_path / "x.parquet")
    frame = frames.read_parquet(tmp_path / "x.parquet").repartition(npartitions=5)
    columns, label = frame[list("abcd")], frame["label"]
    check(columns.to_dask_array(lengths=True), label.to_dask_array(lengths=True))
    with pytest.raises(ShapeError, match="have sizes that are not known"):
        STEP.compute(columns.to_dask_array(), label.to_dask_array(), WEIGHTS)
