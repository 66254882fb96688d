"""Time the elementary functions of kernels against those of the C library, NumPy and vendors.

It prints nanoseconds an element for 8192 numbers in the cache, including calls and allocations; the
candidates of a row take turns, and each figure is the median of its rounds.  "libm" is a loop
compiled by numba that calls the C library's scalar function.

    python benchmarks/elementary.py             # all functions
    python benchmarks/elementary.py exp erf
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from scipy import special
from ulp import UNIT

import relgraph as rg
from relgraph.backends.numba.elementary.table import TABLE
from relgraph.errors import CompileError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.ops.elementwise import Elementwise
from relgraph.settings import config

COUNT, ROUNDS, CALLS = 8192, 15, 20
Array = Any

LIBRARY: dict[str, Any] = {
    name: getattr(math, name)
    for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh", "erf",
        "erfc", "sin", "cos", "tan", "hypot",
    )
    if hasattr(math, name)
} | {
    "power": math.pow, "cbrt": np.cbrt, "arcsin": math.asin, "arccos": math.acos,
    "arctan": math.atan, "arctan2": math.atan2, "arcsinh": math.asinh, "arccosh": math.acosh,
    "arctanh": math.atanh,
}  # fmt: skip
PEERS: dict[str, Any] = {
    "erf": special.erf,
    "erfc": special.erfc,
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(0, x),
    "log1mexp": lambda x: np.where(x > -0.7, np.log(-np.expm1(x)), np.log1p(-np.exp(x))),
}


def operands(name: str, dtype: str) -> list[Array]:
    """Return numbers of ordinary size, in the function's domain."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=COUNT) * 2
    if (name.startswith("log") and name != "logaddexp") or name == "power":
        x = np.exp(x)
    if name == "log1mexp":
        x = -x
    if name in UNIT:
        x = np.tanh(x)
    if name == "arccosh":
        x = 1 + np.exp(x)
    return [a.astype(dtype) for a in (x, rng.normal(size=COUNT))[: TABLE[name].arity]]


def library_loop(name: str) -> Callable[..., Array] | None:
    """Return a loop around the C library's function; None where Python does not name it."""
    function = LIBRARY.get(name)
    if function is None:
        return None
    if TABLE[name].arity == 2:

        @njit(error_model="numpy")
        def binary(x: Array, y: Array) -> Array:
            out = np.empty_like(x)
            for i in range(x.size):
                out[i] = function(x[i], y[i])
            return out

        return binary  # type: ignore[no-any-return]

    @njit(error_model="numpy")
    def unary(x: Array) -> Array:
        out = np.empty_like(x)
        for i in range(x.size):
            out[i] = function(x[i])
        return out

    return unary  # type: ignore[no-any-return]


def compiled(name: str, dtype: str) -> Callable[..., Array]:
    """Return the op's kernel."""
    xs = [make_input(f"x{i}", TensorType(dtype, ("n",))) for i in range(TABLE[name].arity)]
    return rg.function(xs, Elementwise(name)(*xs), mode=None)  # type: ignore[no-any-return]


def candidates(name: str, dtype: str) -> dict[str, Callable[..., Array]]:
    """Return what to time."""
    found: dict[str, Callable[..., Array]] = {"relgraph": compiled(name, dtype)}
    loop = library_loop(name)
    if loop is not None:
        found["libm"] = loop
    found["numpy"] = PEERS.get(name) or getattr(np, name)
    for library in ("libmvec", "svml"):
        if name not in LIBRARY:
            continue
        try:
            with config(veclib=library, threads=1):
                found[library] = compiled(name, dtype)
        except CompileError:
            continue
    return found


def measure(name: str, dtype: str) -> dict[str, float]:
    """Return nanoseconds an element of each candidate."""
    args = operands(name, dtype)
    todo = candidates(name, dtype)
    times: dict[str, list[float]] = {who: [] for who in todo}
    with np.errstate(all="ignore"):
        for function in todo.values():
            function(*args)
        for _ in range(ROUNDS):
            for who, function in todo.items():
                start = time.perf_counter()
                for _ in range(CALLS):
                    function(*args)
                times[who].append((time.perf_counter() - start) / CALLS / COUNT * 1e9)
    return {who: statistics.median(found) for who, found in times.items()}


def main() -> None:
    """Print a table for each dtype."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions; all of them if none is named")
    options = parser.parse_args()
    columns = ("relgraph", "libm", "numpy", "libmvec", "svml")
    with config(threads=1):
        for dtype in ("float64", "float32"):
            print(f"{dtype:10}" + "".join(f"{c:>10}" for c in columns))
            for name in options.names or TABLE:
                found = measure(name, dtype)
                cells = [f"{found[c]:10.2f}" if c in found else f"{'-':>10}" for c in columns]
                print(f"{name:10}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
