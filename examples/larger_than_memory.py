"""
Larger than memory
==================

Fit a logistic regression to data on disk that is larger than the memory of the workers.

The loss and its gradient are one graph.  With ``target="dask"`` a call makes one task for each
block of rows, which reads the block once and returns a number and a short vector; Dask runs the
tasks on a cluster.  By default the data is small, so that the example takes seconds.
``python examples/larger_than_memory.py --gigabytes 8 --memory 1GB`` takes 8 GB of disk, and gives
each worker 1 GB of memory.
"""

import argparse
import tempfile
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import relgraph as rg

COLUMNS = 32
BLOCK = 32 * 2**20  # bytes

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--gigabytes", type=float, default=0.25)
arguments.add_argument("--memory", default="1GB", help="of each of two workers")
arguments.add_argument("--steps", type=int, default=5)


def written(folder: str, gigabytes: float, weights: np.ndarray) -> tuple[da.Array, da.Array]:
    """Write random rows and their labels to disk, and return them as Dask arrays."""
    rows = int(gigabytes * 1e9 / (8 * COLUMNS))
    chunks = BLOCK // (8 * COLUMNS)
    X = da.random.default_rng(0).standard_normal((rows, COLUMNS), chunks=(chunks, COLUMNS))
    noise = da.random.default_rng(1).logistic(size=rows, chunks=chunks)
    da.to_npy_stack(f"{folder}/X", X)
    X = da.from_npy_stack(f"{folder}/X")
    da.to_npy_stack(f"{folder}/y", da.sign(X @ weights + noise))
    return X, da.from_npy_stack(f"{folder}/y")


def main() -> None:
    options = arguments.parse_args()
    X, w = rg.matrix("X", ("n", COLUMNS)), rg.vector("w", COLUMNS)
    y = rg.vector("y", "n")
    loss = rg.mean(rg.log(1 + rg.exp(-y * (X @ w))))
    step = rg.function([X, y, w], [loss, rg.grad(loss, w)], target="dask")
    truth = np.linspace(-1, 1, COLUMNS)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            2,
            threads_per_worker=1,
            memory_limit=options.memory,
            dashboard_address=":0",
            silence_logs="ERROR",
        ) as cluster,
        Client(cluster) as client,
    ):
        data = written(folder, options.gigabytes, truth)
        weights = np.zeros(COLUMNS)
        print(step.plan(*data, weights))
        for i in range(options.steps):
            start = time.perf_counter()
            value, gradient = step.compute(*data, weights)
            weights -= 2 * gradient
            print(f"step {i + 1}: loss {value:.4f}, {time.perf_counter() - start:.2f} s")
        used = client.run(lambda dask_worker: max(dask_worker.monitor.quantities["memory"]))
        print(f"most memory of a worker: {max(used.values()) / 1e6:.0f} MB")
        # The direction of the weights is that of those which made the labels.
        cosine = weights @ truth / np.linalg.norm(weights) / np.linalg.norm(truth)
        assert cosine > 0.95, cosine


if __name__ == "__main__":
    main()
