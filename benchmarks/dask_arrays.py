"""Graphs on a Dask cluster: relgraph's target "dask", plain dask.array and NumPy.

Each row is a program over data in the memory of the workers of a ``LocalCluster``.  The three run
in turns in one process; the table has medians, the tasks of each graph, and the bytes that moved
between workers.  Run it with ``python -m benchmarks.dask_arrays``.  With ``--scale``, it builds the
graphs of a loss and its gradient for 10 to 100,000 blocks, without running them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import relgraph as rg
import relgraph.numpy as rnp

WINDOW = 16


def chain(np_: Any, a: Any, b: Any) -> Any:
    """Return an elementwise function of two vectors."""
    return np_.exp(-np_.square(a - b)) * np_.tanh(a) + 0.5 * np_.sqrt(np_.abs(a * b))


def covariance(np_: Any, X: Any) -> Any:
    """Return the covariance of the standardised columns."""
    centred = X - np_.mean(X, axis=0)
    z = centred / np_.sqrt(np_.mean(centred**2, axis=0))
    return z.T @ z / X.shape[0]


def logistic(np_: Any, X: Any, y: Any, w: Any) -> Any:
    """Return the loss of a logistic regression, and its gradient."""
    margin = y * (X @ w)
    loss = np_.mean(np_.log1p(np_.exp(-margin)))
    gradient = -(X.T @ (y / (1 + np_.exp(margin)))) / X.shape[0]
    return [loss, gradient]


def softmax(np_: Any, X: Any) -> Any:
    """Return the softmax of each row."""
    terms = np_.exp(X - np_.max(X, axis=1, keepdims=True))
    return terms / np_.sum(terms, axis=1, keepdims=True)


def rolling(np_: Any, a: Any) -> Any:
    """Return the means of windows of a series."""
    if np_ is not rnp:
        view = (da if np_ is da else np).lib.stride_tricks.sliding_window_view
        return view(a, WINDOW).mean(axis=-1)
    n = a.shape[0]
    return sum([a[i : n - (WINDOW - 1) + i] for i in range(WINDOW)]) / WINDOW


def nearest(np_: Any, X: Any, C: Any) -> Any:
    """Return the squared distance of each row to the nearest of some centres."""
    squares = np_.sum(X**2, axis=1)[:, None] - 2 * (X @ C.T) + np_.sum(C**2, axis=1)
    return np_.min(squares, axis=1)


def components(np_: Any, X: Any) -> Any:
    """Return the singular values and the right vectors of a centred matrix."""
    options = {} if np_ is da else {"full_matrices": False}
    return list(np_.linalg.svd(X - np_.mean(X, axis=0), **options))[1:]


# By name: the program, and the sizes of its arguments; -1 stands for the number of rows.
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "elementwise chain": (chain, ((-1,), (-1,))),
    "standardise and covariance": (covariance, ((-1, 16),)),
    "logistic loss and gradient": (logistic, ((-1, 16), (-1,), (16,))),
    "softmax of rows": (softmax, ((-1, 16),)),
    "rolling mean": (rolling, ((-1,),)),
    "nearest centre": (nearest, ((-1, 16), (8, 16))),
    "PCA of a tall matrix": (components, ((-1, 16),)),
}


@dataclass
class Row:
    """A program: seconds by name, interleaved, and the tasks and moved bytes of both graphs."""

    name: str
    times: dict[str, list[float]]
    tasks: dict[str, int]
    moved: dict[str, int]

    def text(self) -> str:
        """Return a row of the table."""
        ours, plain, numpy = (median(self.times[x]) for x in ("relgraph", "dask.array", "numpy"))
        return (
            f"{self.name:28s} {1000 * ours:9.0f} {1000 * plain:9.0f} {1000 * numpy:9.0f}"
            f" {plain / ours:7.2f}   {self.tasks['relgraph']:5d} {self.tasks['dask.array']:5d}"
            f"   {self.moved['relgraph'] / 1e6:7.1f} {self.moved['dask.array'] / 1e6:7.1f}"
        )


def arguments(shapes: Sequence[tuple[int, ...]], rows: int) -> list[Any]:
    """Return random arrays; vectors without a matrix beside them are eight times as long."""
    rng = np.random.default_rng(0)
    if (-1, 16) not in shapes:
        rows *= 8
    return [rng.standard_normal([rows if n < 0 else n for n in shape]) for shape in shapes]


def moved_bytes(client: Client) -> int:
    """Return the bytes that workers have received from each other."""

    def received(dask_worker: Any) -> int:
        return sum([entry["total"] for entry in dask_worker.transfer_incoming_log])

    return sum(client.run(received).values())


def run(rows: int, blocks: int, rounds: int, client: Client) -> Iterator[Row]:
    """Time each program."""
    for name, (program, shapes) in PROGRAMS.items():
        arrays = arguments(shapes, rows)
        divided = [
            da.from_array(x, chunks=(-(-len(x) // blocks), *x.shape[1:]) if len(x) > 100 else -1)
            for x in arrays
        ]
        divided = list(client.persist(divided))
        wait(divided)
        inputs = [rg.tensor(f"x{i}", (None,) * x.ndim) for i, x in enumerate(arrays)]
        ours = rg.function(inputs, program(rnp, *inputs), target="dask")
        calls: dict[str, Callable[[], Any]] = {
            "relgraph": lambda ours=ours, xs=divided: ours(*xs),
            "dask.array": lambda program=program, xs=divided: program(da, *xs),
            "numpy": lambda program=program, xs=arrays: program(np, *xs),
        }
        expected = listed(calls["numpy"]())
        tasks, moved = {}, {}
        for label in ("relgraph", "dask.array"):
            results = listed(calls[label]())
            graph = dask.base.collections_to_expr(results).optimize()
            tasks[label] = len(graph.__dask_graph__())
            before = moved_bytes(client)
            check(dask.compute(*results), expected)
            moved[label] = moved_bytes(client) - before
        times: dict[str, list[float]] = {label: [] for label in calls}
        for _ in range(rounds):
            for label, call in calls.items():
                start = time.perf_counter()
                result = listed(call())
                if label != "numpy":
                    wait(client.persist(result))
                times[label].append(time.perf_counter() - start)
                del result
        del divided, calls
        yield Row(name, times, tasks, moved)


def scale() -> None:
    """Print the time to build and optimise graphs, by the number of blocks."""
    inputs = [rg.matrix("X", ("n", 16)), rg.vector("y", "n"), rg.vector("w", 16)]
    ours = rg.function(inputs, logistic(rnp, *inputs), target="dask")
    programs: dict[str, Callable[..., Any]] = {
        "relgraph": ours, "dask.array": lambda *xs: logistic(da, *xs)
    }  # fmt: skip
    print("   blocks  graph of      tasks   build, s   optimise, s   us a block")
    for blocks in (10, 1000, 10_000, 100_000):
        X = da.random.default_rng(0).standard_normal((blocks * 1000, 16), chunks=(1000, 16))
        for name, program in programs.items():
            start = time.perf_counter()
            results = listed(program(X, X[:, 0], da.ones(16, chunks=16)))
            built = time.perf_counter()
            graph = dask.base.collections_to_expr(results).optimize().__dask_graph__()
            tasks, end = len(graph), time.perf_counter()
            print(
                f"{blocks:9d}  {name:10s} {tasks:8d} {built - start:10.3f} {end - built:13.3f}"
                f" {1e6 * (end - start) / blocks:12.1f}",
                flush=True,
            )


def listed(results: Any) -> list[Any]:
    """Return results as a list."""
    return list(results) if isinstance(results, list | tuple) else [results]


def check(results: Sequence[Any], expected: Sequence[Any]) -> None:
    """Raise if results differ from NumPy's by more than rounding; vectors may have either sign."""
    for a, b in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.abs(a), np.abs(b), rtol=1e-6, atol=1e-9)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scale", action="store_true", help="build graphs, and run none")
    options = parser.parse_args()
    if options.scale:
        scale()
        return
    with (
        LocalCluster(options.workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        print(f"{options.rows} rows in {options.blocks} blocks, {options.workers} workers")
        print(
            f"{'milliseconds':28s} {'relgraph':>9s} {'dask':>9s} {'numpy':>9s} {'ratio':>7s}"
            f"   {'tasks':>11s}   {'MB moved':>15s}"
        )
        ratios = []
        for row in run(options.rows, options.blocks, options.rounds, client):
            print(row.text(), flush=True)
            ratios.append(median(row.times["dask.array"]) / median(row.times["relgraph"]))
        print(f"geometric mean of the ratios {geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
