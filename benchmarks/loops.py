"""Loops: relgraph's scan and while_loop beside JAX, PyTensor, numba by hand and NumPy.

    python benchmarks/loops.py                       # all rows, and results/loops.json
    python benchmarks/loops.py kalman ar1            # rows whose names hold one of these
    python benchmarks/loops.py --rounds 31
    python benchmarks/loops.py --compile             # only the time to compile the Kalman filter

A row is one program (``loop_workloads.py``): relgraph runs it as ``rg.jit`` of ``rg.scan``, JAX as
``jax.jit`` of ``jax.lax.scan``, PyTensor by its scan in the mode NUMBA, NumPy as a loop of Python.
"numba by hand" has every loop written out over scalars.  Results are compared with NumPy's.  Then
all take turns in one process and one thread; a ratio is the median of the ratios of turns, and
above 1 where relgraph is faster.  "first" is the time of the first call, in this process, without
caches on disk.  ``--compile`` measures processor time in new processes with empty caches.

Rows of gradients are ``rg.value_and_grad`` beside ``jax.value_and_grad``; one that relgraph does
not differentiate is left out, with the reason.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from calibration import machine, versions
from harness import Plan, measure
from loop_workloads import WORKLOADS, Workload, kalman, kalman_arrays

import relgraph as rg
from relgraph.measurement.windows import Ratio, ratio

warnings.filterwarnings("ignore", message="PyTensor could not link to a BLAS installation")

RESULTS = Path(__file__).parent / "results" / "loops.json"
TOLERANCE = 1e-9
SLOW = 0.3  # seconds of a call that is not timed in turns


class Plain:
    """JAX's loops in Python."""

    @staticmethod
    def scan(f: Any, init: Any, xs: Any) -> Any:
        """Run a function along sequences."""
        ys = []
        for x in zip(*xs, strict=True) if isinstance(xs, tuple) else xs:
            init, y = f(init, x)
            ys.append(y)
        return init, None if ys[0] is None else np.stack(ys)

    @staticmethod
    def fori_loop(low: int, high: int, body: Any, value: Any) -> Any:
        """Run a function for each integer of a range."""
        value = value.copy()
        for i in range(low, high):
            value = body(i, value)
        return value

    @staticmethod
    def while_loop(again: Any, body: Any, value: Any) -> Any:
        """Run a function as long as a condition holds."""
        while again(value):
            value = body(value)
        return value


def call_numpy(w: Workload) -> Callable[[], Any]:
    """Return a call of NumPy."""
    if w.gradient:
        raise NotImplementedError("NumPy has no derivatives")
    return lambda: w.program(np, Plain, *w.arrays)


def call_relgraph(w: Workload) -> Callable[[], Any]:
    """Return a call of rg.jit, or of rg.value_and_grad."""
    fixed = [x for x in w.arrays if isinstance(x, int)]
    arrays = [x for x in w.arrays if not isinstance(x, int)]

    def program(*xs: Any) -> Any:
        return w.program(np, rg, *xs, *fixed)

    if w.gradient:
        f = rg.value_and_grad(program, argnums=tuple(range(w.gradient)))
    else:
        f = rg.jit(program)
    return functools.partial(f, *arrays)


def call_function(w: Workload) -> Callable[[], Any]:
    """Return a call of rg.function, for arrays of known sizes."""
    if w.gradient:
        raise NotImplementedError("the row of rg.value_and_grad")
    fixed = [x for x in w.arrays if isinstance(x, int)]
    arrays = [np.asarray(x) for x in w.arrays if not isinstance(x, int)]
    inputs = [rg.tensor(f"x{k}", x.shape, x.dtype.name) for k, x in enumerate(arrays)]
    return functools.partial(rg.function(inputs, w.program(np, rg, *inputs, *fixed)), *arrays)


def call_jax(w: Workload) -> Callable[[], Any]:
    """Return a call of jax.jit."""
    import jax

    jax.config.update("jax_enable_x64", True)
    fixed = [x for x in w.arrays if isinstance(x, int)]
    arrays = [jax.numpy.asarray(x) for x in w.arrays if not isinstance(x, int)]

    def program(*xs: Any) -> Any:
        return w.program(jax.numpy, jax.lax, *xs, *fixed)

    if w.gradient:
        program = jax.value_and_grad(program, argnums=tuple(range(w.gradient)))
    f = jax.jit(program)
    return lambda: jax.block_until_ready(f(*arrays))


def call_numba(w: Workload) -> Callable[[], Any]:
    """Return a call of the function by hand."""
    if w.by_hand is None:
        raise NotImplementedError("no derivative is written by hand")
    return functools.partial(w.by_hand, *w.arrays)


class _PytensorLoops:
    """JAX's loops by PyTensor's scan."""

    @staticmethod
    def scan(f: Any, init: Any, xs: Any) -> Any:
        import pytensor
        import pytensor.tensor as pt

        starts = init if isinstance(init, tuple) else (init,)
        sequences = xs if isinstance(xs, tuple) else (xs,)
        starts = tuple([pt.as_tensor(x, dtype="float64") if x == 0.0 else x for x in starts])
        form: list[Any] = []

        def step(*values: Any) -> Any:
            parts, carried = values[: len(sequences)], values[len(sequences) :]
            carry, y = f(
                tuple(carried) if isinstance(init, tuple) else carried[0],
                tuple(parts) if isinstance(xs, tuple) else parts[0],
            )
            form[:] = [y is not None]
            following = list(carry) if isinstance(carry, tuple) else [carry]
            return [*following, *([] if y is None else [y])]

        probe = step(*[x[0] for x in sequences], *starts)
        info = [*starts, *([None] if len(probe) > len(starts) else [])]
        with warnings.catch_warnings(action="ignore"):
            results = pytensor.scan(
                step, sequences=list(sequences), outputs_info=info, return_updates=False,
                return_list=True,
            )  # fmt: skip
        last = tuple([x[-1] for x in results[: len(starts)]])
        ys = results[len(starts)] if form[0] else None
        return (last if isinstance(init, tuple) else last[0]), ys

    @staticmethod
    def fori_loop(low: int, high: int, body: Any, value: Any) -> Any:
        import pytensor
        import pytensor.tensor as pt

        def step(u: Any) -> Any:
            return pt.set_subtensor(u[1:-1], u[1:-1] + 0.25 * (u[2:] - 2.0 * u[1:-1] + u[:-2]))

        del body  # PyTensor has a function for assignments
        results = pytensor.scan(
            step, outputs_info=[value], n_steps=high - low, return_updates=False
        )
        return results[-1]


def call_pytensor(w: Workload) -> Callable[[], Any]:
    """Return a call of PyTensor's function in the mode NUMBA."""
    import pytensor
    import pytensor.tensor as pt

    if w.gradient or w.name.startswith("kepler"):
        raise NotImplementedError("left out for PyTensor")
    module = SimpleNamespace(
        linalg=SimpleNamespace(solve=pt.linalg.solve, det=pt.linalg.det), log=pt.log, exp=pt.exp,
        tanh=pt.tanh, sum=pt.sum, stack=pt.stack, minimum=pt.minimum, concatenate=pt.concatenate,
        not_equal=pt.neq, reshape=lambda x, shape: x.reshape(shape), abs=pt.abs,
    )  # fmt: skip
    fixed = [x for x in w.arrays if isinstance(x, int)]
    arrays = [np.asarray(x) for x in w.arrays if not isinstance(x, int)]
    inputs = [pt.tensor(f"x{k}", dtype=x.dtype, shape=x.shape) for k, x in enumerate(arrays)]
    output = w.program(module, _PytensorLoops, *inputs, *fixed)
    f = pytensor.function(inputs, output, mode="NUMBA", trust_input=True)
    return functools.partial(f, *arrays)


PEERS: dict[str, Callable[[Workload], Callable[[], Any]]] = {
    "numpy": call_numpy,
    "relgraph": call_relgraph,
    "rg.function": call_function,
    "numba by hand": call_numba,
    "jax": call_jax,
    "pytensor": call_pytensor,
}


def leaves(value: Any) -> list[Any]:
    """Return the arrays of a result."""
    if isinstance(value, tuple | list):
        return [x for y in value for x in leaves(y)]
    return [np.asarray(value)]


def difference(found: Any, expected: Any) -> float:
    """Return the largest difference, beside the largest element."""
    pairs = list(zip(leaves(found), leaves(expected), strict=True))
    scale = max(1.0, *[float(np.abs(y).max()) for _, y in pairs])
    return max(float(np.abs(x - y).max()) for x, y in pairs) / scale


def compare(w: Workload, peers: list[str], rounds: int) -> dict[str, Any]:
    """Return one row of the table."""
    row: dict[str, Any] = {"name": w.name, "steps": w.steps, "left_out": {}}
    calls: dict[str, Callable[[], Any]] = {}
    results: dict[str, Any] = {}
    for name in peers:
        start = time.perf_counter()
        try:
            call = PEERS[name](w)
            results[name] = call()
        except Exception as error:
            row["left_out"][name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            continue
        calls[name] = call
        row[f"{name} first ms"] = (time.perf_counter() - start) * 1e3
    reference = "jax" if w.gradient else "numpy"
    for name, result in results.items():
        if reference in results:
            apart = difference(result, results[reference])
            assert apart <= TOLERANCE, (w.name, name, apart)
    slow = {}
    for name in list(calls):
        start = time.perf_counter()
        calls[name]()
        seconds = time.perf_counter() - start
        if seconds > SLOW:
            slow[name] = seconds
            del calls[name]
    timings = measure(calls, Plan(rounds=rounds, window=0.01, attempts=1, patience=0.0))
    for name in peers:
        seconds = timings[name].median if name in timings else slow.get(name)
        if name in timings:
            row[f"{name} least us"] = min(timings[name].turns) * 1e6
        if seconds is not None:
            row[f"{name} us"] = seconds * 1e6
            row[f"{name} ns a step"] = seconds / w.steps * 1e9
    for name in peers:
        if name != "relgraph" and "relgraph" in timings and name in timings:
            value: Ratio = ratio(timings[name], timings["relgraph"])
            row[f"ratio to {name}"] = value.value
        elif "relgraph us" in row and f"{name} us" in row:
            row[f"ratio to {name}"] = row[f"{name} us"] / row["relgraph us"]
    return row


def first_compile(steps: int) -> None:
    """Print the processor seconds of the first call; in a process of its own."""
    rg.jit(lambda x: rg.fori_loop(0, 3, lambda i, x: x + 1, x))(1.0)  # imports
    arrays = kalman_arrays(steps)
    f = rg.jit(lambda *xs: kalman(np, rg, *xs))
    start = time.process_time()
    f(*arrays)
    print(time.process_time() - start)


def compile_times() -> dict[str, float]:
    """Return the processor seconds of the first call of a Kalman filter, by its length."""
    found = {}
    for steps in (10, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                **os.environ,
                "RELGRAPH_CACHE_DIR": folder,
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *sys.path]),
            }
            command = [sys.executable, __file__, "--first", str(steps)]
            out = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
        found[f"T={steps}"] = float(out.stdout.splitlines()[-1])
        print(f"first call of a Kalman filter, T={steps}: {found[f'T={steps}']:.3f} s", flush=True)
    return found


def show(row: dict[str, Any], peers: list[str]) -> None:
    """Print a row."""
    cells = [f"{row['name']:22}"]
    for name in peers:
        if f"{name} us" not in row:
            cells.append(f"{'-':>34}")
            continue
        against = f"{row[f'ratio to {name}']:6.2f}x" if f"ratio to {name}" in row else " " * 7
        cells.append(
            f"{row[f'{name} us']:9.4g} {row[f'{name} ns a step']:8.4g} {against}"
            f"{row[f'{name} first ms']:8.4g}"
        )
    print(" ".join(cells), flush=True)
    for name, reason in row["left_out"].items():
        if not reason.startswith("NotImplementedError"):
            print(f"    {name} is left out: {reason}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.first:
        first_compile(options.first)
        return
    if options.compile:
        compile_times()
        return
    peers = list(options.peers)
    print(
        f"{'':22}" + " ".join(f"{name + ': us, ns a step, ratio, first ms':>34}" for name in peers)
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder, rg.config(threads=1):
        os.environ["RELGRAPH_CACHE_DIR"] = folder
        for w in WORKLOADS.values():
            if options.names and not any(x in w.name for x in options.names):
                continue
            rows.append(compare(w, peers, options.rounds))
            show(rows[-1], peers)
    path = options.json or (None if options.names else RESULTS)
    if path is not None:
        report = {
            "machine": machine(),
            "versions": versions("numpy", "numba", "jax", "pytensor"),
            "rows": rows,
            "compile_seconds": compile_times(),
        }
        path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
