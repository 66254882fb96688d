"""Chains of products and systems: rewritten, as written, and by NumPy.

    python benchmarks/chains.py            # all
    python benchmarks/chains.py ridge      # the programs whose name holds "ridge"

The contenders of a row take turns in one process, with BLAS on one thread.  All times are medians,
in microseconds.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import relgraph as rg

Program = Callable[..., Any]
Operand = tuple[tuple[int, ...], tuple[str, ...]]  # its shape and its facts


def ridge(numpy: Any, inv: Any, X: Any, y: Any) -> Any:
    """Return the coefficients of ridge regression, as most books write them."""
    return inv(X.T @ X + 0.1 * numpy.eye(X.shape[1])) @ X.T @ y


def kalman(numpy: Any, inv: Any, *given: Any) -> Any:
    """Return the state and its covariance after ten steps of Kalman's filter."""
    F, H, Q, R, P, x, z = given
    for k in range(10):
        x, P = F @ x, F @ P @ F.T + Q
        gain = P @ H.T @ inv(H @ P @ H.T + R)
        x, P = x + gain @ (z[k] - H @ x), (numpy.eye(F.shape[0]) - gain @ H) @ P
    return [x, P]


def likelihood(numpy: Any, inv: Any, *given: Any) -> Any:
    """Return the terms of a gain and of a likelihood, which use one inverse."""
    H, P, R, v = given
    inverse = inv(H @ P @ H.T + R)
    return [P @ H.T @ inverse @ v, v @ inverse @ v]


def filter_of(n: int) -> tuple[Program, list[Operand]]:
    """Return Kalman's filter of n states, half of them observed."""
    m = n // 2
    shapes: list[tuple[int, ...]] = [(n, n), (m, n), (n, n), (m, m), (n, n), (n,), (10, m)]
    return kalman, [(shape, ()) for shape in shapes]


N = 1000
SQUARE: Operand = ((N, N), ())
PROGRAMS: dict[str, tuple[Program, list[Operand]]] = {
    **{f"kalman, {n} states": filter_of(n) for n in (2, 4, 8, 16)},
    **{
        f"ridge, {m} by {n}": (ridge, [((m, n), ()), ((m,), ())])
        for m, n in ((20, 4), (100, 10), (1000, 100), (3000, 300))
    },
    **{
        f"likelihood, {n}": (
            likelihood,
            [((n // 2, n), ()), ((n, n), ()), ((n // 2, n // 2), ()), ((n // 2,), ())],
        )
        for n in (4, 40, 400)
    },
    "(A.T B).T A.T B": (lambda numpy, inv, A, B: (A.T @ B).T @ A.T @ B, [SQUARE] * 2),
    "A B.T + B A.T": (lambda numpy, inv, A, B: A @ B.T + B @ A.T, [SQUARE] * 2),
    "(A - H.T H) x": (lambda numpy, inv, A, H, x: (A - H.T @ H) @ x, [SQUARE, SQUARE, ((N,), ())]),
    "L B, lower triangular": (
        lambda numpy, inv, L, B: L @ B,
        [((N, N), ("lower_triangular",)), SQUARE],
    ),
    "T B, tridiagonal": (lambda numpy, inv, T, B: T @ B, [((N, N), ("tridiagonal",)), SQUARE]),
    "inv(S) b, symmetric": (
        lambda numpy, inv, S, b: inv(S) @ b,
        [((N, N), ("symmetric",)), ((N,), ())],
    ),
}
CUTS = {
    "lower_triangular": np.tril,
    "tridiagonal": lambda x: np.tril(np.triu(x, -1), 1),
    "symmetric": lambda x: x + x.T,
}


def operands(declared: list[Operand]) -> list[Any]:
    """Return arrays of these shapes and facts; square ones are diagonally dominant."""
    draw = np.random.default_rng(0)
    arrays = []
    for shape, facts in declared:
        x = draw.standard_normal(shape) / max(shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            x = x @ x.T + np.eye(len(x))
        for fact in facts:
            x = CUTS[fact](x)
        arrays.append(x)
    return arrays


def medians(contenders: list[Callable[[], Any]], seconds: float = 1.0) -> list[float]:
    """Return the median time of each contender, taking turns."""
    times: list[list[float]] = [[] for _ in contenders]
    for run in contenders:
        run()
    end = time.perf_counter() + seconds * len(contenders)
    while time.perf_counter() < end or len(times[0]) < 5:
        for one, run in zip(times, contenders, strict=True):
            start = time.perf_counter()
            run()
            one.append(time.perf_counter() - start)
    return [statistics.median(one) * 1e6 for one in times]


def main(part: str = "") -> None:
    """Print a row for each program."""
    print(f"{'program':26}{'rewritten':>12}{'as written':>12}{'NumPy':>12}  of NumPy  rewriting")
    for name, (program, declared) in PROGRAMS.items():
        if part not in name:
            continue
        arrays = operands(declared)
        inputs = [
            rg.tensor(f"x{i}", shape, facts=facts) for i, (shape, facts) in enumerate(declared)
        ]
        graphs = program(rg, rg.inv, *inputs)
        rg.rewrite_graph(graphs, mode="o4")
        start = time.perf_counter()
        rg.rewrite_graph(graphs, mode="o4")
        spent = time.perf_counter() - start
        rewritten, written = (rg.function(inputs, graphs, mode=mode) for mode in ("o4", None))
        expected = program(np, np.linalg.inv, *arrays)
        for got, value in zip(
            rewritten(*arrays) if isinstance(graphs, list) else [rewritten(*arrays)],
            expected if isinstance(graphs, list) else [expected],
            strict=True,
        ):
            np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-7)
        times = medians(
            [
                lambda: rewritten(*arrays),  # noqa: B023 (called in this turn)
                lambda: written(*arrays),  # noqa: B023
                lambda: program(np, np.linalg.inv, *arrays),  # noqa: B023
            ]
        )
        row = "".join(f"{t:12.1f}" for t in times)
        print(f"{name:26}{row}{times[0] / times[2]:10.2f}{spent * 1e3:8.1f} ms", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
