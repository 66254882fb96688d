"""The CUDA backend on a GPU: correctness, bandwidth relative to a copy, peers, launches, loops.

    python benchmarks/cuda.py                # all of it, and results/cuda.json
    python benchmarks/cuda.py --quick        # smaller arrays, no peers
    python benchmarks/cuda.py --dry          # without a GPU: compiles every kernel, runs none
    NUMBA_ENABLE_CUDASIM=1 python benchmarks/cuda.py --output /tmp/x.json   # all of it, simulated

The first step computes a few kernels and reports immediately if the machine cannot run them.  It
times windows of many calls, with contenders in turns; a figure is the median of the rounds.
Bandwidth counts each array once, and is a fraction of the bandwidth of a device-to-device copy in
the same run.  If a peer is missing, the script prints that and no mean.  The script ends within
seven minutes: it skips parts that would start too late, prints their names, and writes the file
after each part.  In the simulator, arrays are tiny and times mean nothing.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import relgraph as rg

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "cuda.json"
TESTS = HERE.parent / "tests" / "backends" / "cuda" / "simulated"
SUITES = (
    "programs", "device_arrays", "rows", "moves", "products", "extremes", "cumulative",
    "elementwise", "reductions", "random_programs", "loops",
)  # fmt: skip
BUDGET = 420.0  # seconds
PEERS = ("torch", "jax", "cupy")
ROUNDS = 7


def softmax(x: Any) -> Any:
    """Return the softmax of each row."""
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def layer_norm(x: Any, g: Any, b: Any) -> Any:
    """Return each row normalised, scaled and shifted."""
    centred = x - np.mean(x, axis=1, keepdims=True)
    variance = np.mean(centred * centred, axis=1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(1e-5)) * g + b


def kalman(model: Any, state: Any, y: Any) -> Any:
    """Return the next state of a Kalman filter of four states, and what it predicts.

    Arrays may have an axis of series in front, as peers without a scan need it.
    """
    F, H, Q = model
    m, P = state
    m, P = (F @ m[..., None])[..., 0], F @ P @ F.swapaxes(-1, -2) + Q
    PH = (P @ H[:, None])[..., 0]
    gain = PH / ((PH @ H) + 1.0)[..., None]
    error = (y - m @ H)[..., None]
    return (m + gain * error, P - gain[..., None] * PH[..., None, :]), m


# For each row of loops: the number of series and of steps.
LOOPS = {
    "Kalman filter, 1,000 series of 100 steps": (1000, 100),
    "Kalman filter, 1 series of 1,000 steps": (1, 1000),
}


# For each row: its function, the shapes of its operands, and the required fraction of a copy.
# The functions use NumPy, which relgraph traces; peers spell the same in their own API.
ROWS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float]] = {
    "a*b + c*d": (lambda a, b, c, d: a * b + c * d, ("n",) * 4, 0.90),
    "exp(-x*x/2)*y + log1p(exp(z))": (
        lambda x, y, z: np.exp(x * x * np.float32(-0.5)) * y + np.log1p(np.exp(z)),
        ("n",) * 3,
        0.90,
    ),
    "sum(x)": (np.sum, ("n",), 0.90),
    "sum((x - y)**2)": (lambda x, y: np.sum((x - y) * (x - y)), ("n",) * 2, 0.90),
    "softmax": (softmax, (("r", "c"),), 0.85),
    "layer norm": (layer_norm, (("r", "c"), "c", "c"), 0.85),
}


def simulated() -> bool:
    """Return True if numba's simulator stands in for a device."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


def sizes(quick: bool) -> dict[str, int]:
    """Return what the names of sizes stand for."""
    if simulated():
        return {"n": 12, "r": 2, "c": 4}
    if quick:
        return {"n": 10**7, "r": 2048, "c": 4096}
    return {"n": 10**8, "r": 16384, "c": 4096}


def shape_of(shape: Any, named: dict[str, int]) -> tuple[int, ...]:
    """Return a shape in numbers."""
    return tuple(named[s] for s in ((shape,) if isinstance(shape, str) else shape))


def graph(row: str) -> tuple[list[Any], Any]:
    """Return the inputs and the output of a row, in float32."""
    function, shapes, _ = ROWS[row]
    inputs = [
        rg.tensor(f"x{i}", shape=(s,) if isinstance(s, str) else s, dtype="float32")
        for i, s in enumerate(shapes)
    ]
    return inputs, function(*inputs)


def moved(x: Any, array: np.ndarray) -> Any:
    """Return an array on the device."""
    return rg.function([x], x, target="cuda", mode=None)(array)


class Clock:
    """Times work on the device: windows of many calls, between waits for all of its streams."""

    def __init__(self) -> None:
        from numba import cuda

        self.cuda = cuda
        self.least, self.most = (0.0, 1) if simulated() else (0.02, 4096)

    def seconds(self, work: Callable[[], Any]) -> float:
        """Return the seconds of a call, over a window that is long enough."""
        self._finish(work())
        count = 1
        while True:
            begin = time.perf_counter()
            for _ in range(count):
                last = work()
            self._finish(last)
            elapsed = time.perf_counter() - begin
            if elapsed >= self.least or count >= self.most:
                return elapsed / count
            count *= 4

    def host(self, work: Callable[[], Any], count: int = 500) -> float:
        """Return the seconds that the CPU takes to start a call."""
        count = min(count, self.most)
        self._finish(work())
        begin = time.perf_counter()
        for _ in range(count):
            last = work()
        elapsed = time.perf_counter() - begin
        self._finish(last)
        return elapsed / count

    def _finish(self, result: Any) -> None:
        """Wait for a result, which JAX may not even have put on a stream, and for all streams."""
        wait = getattr(result, "block_until_ready", None)
        if wait is not None:
            wait()
        self.cuda.synchronize()


def contenders(
    row: str, arrays: list[Any], missing: dict[str, str]
) -> dict[str, Callable[[], Any]]:
    """Return what computes a row, by name, on the same memory."""
    function, _, _ = ROWS[row]
    inputs, output = graph(row)
    compiled = rg.function(inputs, output, target="cuda")
    on_device = [moved(x, a) for x, a in zip(inputs, arrays, strict=True)]
    found: dict[str, Callable[[], Any]] = {"relgraph": lambda: compiled(*on_device)}
    if "torch" not in missing:
        import torch

        own = [torch.as_tensor(x, device="cuda") for x in on_device]
        call = torch.compile(_torch(row))
        found["torch.compile"] = lambda: call(*own)
    if "jax" not in missing:
        import jax

        given = [jax.device_put(a) for a in arrays]
        jitted = jax.jit(_jax(row))
        found["jax.jit"] = lambda: jitted(*given)
    if "cupy" not in missing:
        import cupy

        theirs = [cupy.asarray(x) for x in on_device]
        found["cupy"] = lambda: function(*theirs)  # NumPy's functions dispatch to CuPy
    return found


def _torch(row: str) -> Callable[..., Any]:
    import torch

    functional = torch.nn.functional
    return {
        "a*b + c*d": lambda a, b, c, d: a * b + c * d,
        "exp(-x*x/2)*y + log1p(exp(z))": lambda x, y, z: (
            torch.exp(x * x * -0.5) * y + torch.log1p(torch.exp(z))
        ),
        "sum(x)": lambda x: x.sum(),
        "sum((x - y)**2)": lambda x, y: ((x - y) * (x - y)).sum(),
        "softmax": lambda x: functional.softmax(x, dim=1),
        "layer norm": lambda x, g, b: functional.layer_norm(x, x.shape[1:], g, b, 1e-5),
    }[row]


def _jax(row: str) -> Callable[..., Any]:
    import jax.numpy as jnp

    def norm(x: Any, g: Any, b: Any) -> Any:
        centred = x - jnp.mean(x, axis=1, keepdims=True)
        variance = jnp.mean(centred * centred, axis=1, keepdims=True)
        return centred / jnp.sqrt(variance + 1e-5) * g + b

    def rows(x: Any) -> Any:
        e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
        return e / jnp.sum(e, axis=1, keepdims=True)

    return {
        "a*b + c*d": lambda a, b, c, d: a * b + c * d,
        "exp(-x*x/2)*y + log1p(exp(z))": lambda x, y, z: (
            jnp.exp(x * x * -0.5) * y + jnp.log1p(jnp.exp(z))
        ),
        "sum(x)": lambda x: x.sum(),
        "sum((x - y)**2)": lambda x, y: ((x - y) * (x - y)).sum(),
        "softmax": rows,
        "layer norm": norm,
    }[row]


def missing_peers(quick: bool) -> dict[str, str]:
    """Return the peers that cannot be measured, each with the reason."""
    if quick or simulated():
        return dict.fromkeys(PEERS, "not asked for" if quick else "needs a GPU")
    found = {}
    for name in PEERS:
        if importlib.util.find_spec(name) is None:
            found[name] = "missing"
            continue
        try:
            if name == "torch":
                import torch

                torch.zeros(1, device="cuda")
            elif name == "jax":
                import jax

                jax.devices("gpu")
            else:
                import cupy

                cupy.zeros(1)
        except Exception as error:  # each peer has its own errors for a GPU that it cannot use
            found[name] = f"finds no GPU: {type(error).__name__}"
    return found


def correctness(seconds: float) -> dict[str, str]:
    """Run the tests of the op suite on the device, for at most some seconds."""
    results = {}
    begin = time.perf_counter()
    environment = {
        **os.environ,
        "RELGRAPH_CUDA_DEVICE_TESTS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    environment.pop("NUMBA_ENABLE_CUDASIM", None)
    parallel = ["-n", "8"] if importlib.util.find_spec("xdist") else []
    for suite in SUITES:
        if simulated():
            results[suite] = "left out: the tests run it in the simulator"
            continue
        left = seconds - (time.perf_counter() - begin)
        if left < 10:
            results[suite] = "left out: no time"
            continue
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *parallel]
        command += ["-p", "no:benchmark"]  # pytest-benchmark warns of parallel tests
        command += [str(TESTS / f"test_{suite}.py"), "-k", "not simulator"]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=left, check=False
            )
        except subprocess.TimeoutExpired:
            results[suite] = "ended: no time"
            continue
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        results[suite] = lines[-1] if lines else f"exit {done.returncode}"
    return results


def rows_measured(clock: Clock, named: dict[str, int], deadline: float, quick: bool) -> Any:
    """Measure all rows beside the copy and the peers."""
    missing = missing_peers(quick)
    for name, why in missing.items():
        print(f"{name}: {why}")
    copied = rg.vector("x", dtype="float32")
    copy = rg.function([copied], copied, target="cuda", mode=None)
    given = copy(np.ones(named["n"], np.float32))
    table = []
    for row, (function, shapes, wanted) in ROWS.items():
        if time.perf_counter() > deadline:
            print(f"{row}: left out, no time")
            continue
        rng = np.random.default_rng(0)
        arrays = [rng.random(shape_of(s, named), np.float32) for s in shapes]
        try:
            calls = contenders(row, arrays, missing)
            result = rg.cuda.to_host(calls["relgraph"]())
        except MemoryError as error:
            print(f"{row}: left out, {error}")
            continue
        small = [a[:64] if a.ndim == 2 else a for a in arrays]
        if np.ndim(result) == 0:
            expected = function(*[a.astype(np.float64) for a in arrays])
            close = np.isclose(result, expected, rtol=1e-5)
        else:
            expected = function(*small)
            close = np.allclose(result[: len(expected)], expected, rtol=1e-4, atol=1e-6)
        traffic = sum(a.nbytes for a in arrays) + np.asarray(result).nbytes
        windows: dict[str, list[float]] = {name: [] for name in ["copy", *calls]}
        for _ in range(1 if simulated() else ROUNDS):
            windows["copy"].append(clock.seconds(lambda: copy(given)))
            for name, call in calls.items():
                windows[name].append(clock.seconds(call))
        median = {name: statistics.median(times) for name, times in windows.items()}
        ceiling = 2 * given.nbytes / median["copy"]
        fraction = traffic / median["relgraph"] / ceiling
        ratios = {
            n: t / median["relgraph"] for n, t in median.items() if n not in ("copy", "relgraph")
        }
        table.append(
            {
                "row": row, "agrees": bool(close), "fraction": fraction, "wanted": wanted,
                "seconds": median, "speed beside": ratios, "copy GB/s": ceiling / 1e9,
            }
        )  # fmt: skip
        peers = "  ".join(f"{n} {r:.2f}" for n, r in ratios.items())
        note = "" if close else "  WRONG"
        note += "" if fraction >= wanted or simulated() else f"  below {wanted}"
        print(
            f"{row:32} {median['relgraph'] * 1e6:9.1f} us  {fraction:.2f} of the copy "
            f"({ceiling / 1e12:.2f} TB/s)  {peers}{note}",
            flush=True,
        )
        del arrays, calls, result
    best = [min(x["speed beside"].values()) for x in table if x["speed beside"]]
    mean = None
    if not missing and len(best) == len(ROWS):
        mean = float(np.exp(np.mean(np.log(best))))
        print(f"beside the best peer: {mean:.2f} in geometric mean, {min(best):.2f} at least")
    else:
        print("no mean beside peers: not all of them were measured")
    return {"rows": table, "missing": missing, "mean": mean}


def launches(clock: Clock) -> dict[str, float]:
    """Measure what the CPU spends on a call of a small graph, recorded and not."""
    x = rg.vector("x", dtype="float32")
    y = x
    for _ in range(5):
        y = rg.exp(y - rg.max(y))
    f = rg.function([x], y, target="cuda")
    a = moved(x, np.ones(8 if simulated() else 1024, np.float32))
    recorded = f.capture(a)
    found = {
        "launches": float(len(f._program.steps)),
        "call": clock.host(lambda: f(a)),
        "recorded call": clock.host(lambda: recorded(a)),
    }
    print(
        f"{found['launches']:.0f} steps of {a.size} elements: {found['call'] * 1e6:.1f} us a call, "
        f"{found['recorded call'] * 1e6:.1f} us recorded (a wait for its end included)"
    )
    return found


def filters(steps: int) -> tuple[list[Any], Any]:
    """Return the inputs and the output of independent Kalman filters, in float64."""
    F, Q, P = (rg.matrix(name, shape=(4, 4)) for name in "FQP")
    H, m = rg.vector("H", shape=4), rg.vector("m", shape=4)
    ys = rg.matrix("ys", shape=("n", steps))

    def step(state: Any, y: Any) -> Any:
        return kalman((F, H, Q), state, y)

    _, predictions = rg.scan(lambda _, y: ((), rg.scan(step, (m, P), y)[1]), (), ys)
    return [F, Q, P, H, m, ys], predictions


def filter_arrays(series: int, steps: int) -> list[Any]:
    """Return arrays for the inputs of the filters."""
    rng = np.random.default_rng(4)
    F = 0.9 * np.eye(4) + 0.1 * np.eye(4, k=1)
    H = np.array([1.0, 0.0, 0.5, 0.0])
    return [F, 0.1 * np.eye(4), np.eye(4), H, np.zeros(4), rng.normal(size=(series, steps))]


def filtered(xp: Any, arrays: list[Any]) -> Any:
    """Return the predictions with arrays of series, in NumPy's API."""
    F, Q, P, H, m, ys = arrays
    series, steps = ys.shape
    state = xp.broadcast_to(m, (series, 4)), xp.broadcast_to(P, (series, 4, 4))
    predictions = []
    for k in range(steps):
        state, prediction = kalman((F, H, Q), state, ys[:, k])
        predictions.append(prediction)
    return xp.stack(predictions, axis=1)


def _jax_filters(arrays: list[Any]) -> Callable[[], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    held = [jax.device_put(x) for x in arrays]

    @jax.jit
    def run(*held: Any) -> Any:
        F, Q, P, H, m, ys = held

        def step(state: Any, y: Any) -> Any:
            return kalman((F, H, Q), state, y)

        return jax.vmap(lambda y: jax.lax.scan(step, (m, P), y)[1])(ys)

    return lambda: run(*held)


def filter_contenders(arrays: list[Any], missing: dict[str, str]) -> dict[str, Callable[[], Any]]:
    """Return what computes the filters, by name."""
    inputs, output = filters(arrays[-1].shape[1])
    compiled = rg.function(inputs, output, target="cuda")
    on_cpu = rg.function(inputs, output, target="cpu")
    on_device = [moved(x, a) for x, a in zip(inputs, arrays, strict=True)]
    calls: dict[str, Callable[[], Any]] = {
        "relgraph": lambda: compiled(*on_device),
        "relgraph on the CPU": lambda: on_cpu(*arrays),
    }
    if "jax" not in missing:
        calls["jax.jit"] = _jax_filters(arrays)
    if "cupy" not in missing:
        import cupy

        theirs = [cupy.asarray(x) for x in arrays]
        calls["cupy"] = lambda: filtered(cupy, theirs)
    return calls


def loops_measured(clock: Clock, quick: bool) -> dict[str, Any]:
    """Measure loops beside relgraph on the CPU and the peers that can run them."""
    missing = missing_peers(quick)
    found: dict[str, Any] = {}
    for row, (series, steps) in LOOPS.items():
        arrays = filter_arrays(*((min(series, 3), 4) if simulated() else (series, steps)))
        calls = filter_contenders(arrays, missing)
        result = rg.cuda.to_host(calls["relgraph"]())
        close = np.allclose(result, filtered(np, arrays), rtol=1e-8, atol=1e-10)
        windows: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(1 if simulated() else ROUNDS):
            for name, call in calls.items():
                windows[name].append(clock.seconds(call))
        median = {name: statistics.median(times) for name, times in windows.items()}
        ratios = {n: t / median["relgraph"] for n, t in median.items() if n != "relgraph"}
        found[row] = {"agrees": bool(close), "seconds": median, "speed beside": ratios}
        peers = "  ".join(f"{n} {r:.2f}" for n, r in ratios.items())
        note = "" if close else "  WRONG"
        print(f"{row:40} {median['relgraph'] * 1e6:9.1f} us  {peers}{note}", flush=True)
    return found


def gathered(clock: Clock, quick: bool) -> dict[str, float]:
    """Measure A @ x1 + ... + A @ x8 as written and rewritten."""
    n, k = (4, 2) if simulated() else (2048 if quick else 8192, 64)
    A = rg.matrix("A", shape=("n", "n"), dtype="float32")
    xs = [rg.matrix(f"x{i}", shape=("n", k), dtype="float32") for i in range(8)]
    total = A @ xs[0]
    for x in xs[1:]:
        total = total + A @ x
    rng = np.random.default_rng(1)
    values = [rng.random((n, n), np.float32), *(rng.random((n, k), np.float32) for _ in xs)]
    inputs = [A, *xs]
    held = [moved(x, v) for x, v in zip(inputs, values, strict=True)]
    written = rg.function(inputs, total, target="cuda", mode=None)
    rewritten = rg.function(inputs, total, target="cuda", mode="o4")
    found = {
        "as written": clock.seconds(lambda: written(*held)),
        "rewritten": clock.seconds(lambda: rewritten(*held)),
    }
    ratio = found["as written"] / found["rewritten"]
    print(f"A @ x1 + ... + A @ x8, {n}: rewritten is {ratio:.2f} times as fast as written")
    return found


def dry() -> None:
    """Compile every kernel for compute capability 9.0 and build every graph; run nothing."""
    for row in ROWS:
        inputs, output = graph(row)
        begin = time.perf_counter()
        texts = rg.cuda.ptx(inputs, output)
        wide = sum("ld.global.v4" in text for text in texts.values())
        print(
            f"{row:32} {len(texts)} kernels, {wide} with loads of 16 bytes, compiled in "
            f"{time.perf_counter() - begin:.1f} s",
            flush=True,
        )
    for row, (_, steps) in LOOPS.items():
        begin = time.perf_counter()
        texts = rg.cuda.ptx(*filters(steps))
        seconds = time.perf_counter() - begin
        print(f"{row:40} {len(texts)} kernel, compiled in {seconds:.1f} s", flush=True)
    for name, why in missing_peers(False).items():
        print(f"{name}: {why}")
    print("dry run: no kernel was run and nothing was measured")


def driver_version() -> str:
    """Return the version of CUDA that the driver supports."""
    if simulated():
        return "none: simulated"
    from cuda.bindings import driver

    _, version = driver.cuDriverGetVersion()
    return f"{version // 1000}.{version % 1000 // 10}"


def versions() -> dict[str, str]:
    """Return the versions of relgraph, Python, NumPy and the peers."""
    found = {"relgraph": rg.__version__, "python": sys.version.split()[0], "numpy": np.__version__}
    for name in PEERS:
        for package in (name, f"{name}-cuda13x", f"{name}-cuda12x"):
            try:
                found[name] = importlib.metadata.version(package)
                break
            except importlib.metadata.PackageNotFoundError:
                found[name] = "missing"
    return found


def first_step() -> None:
    """Compute one kernel of each kind and end the script where one is wrong."""
    x = rg.matrix("x", dtype="float32")
    f = rg.function(
        [x], [rg.exp(x) * 2, rg.sum(x, axis=0), softmax(x), x.T, x @ x.T], target="cuda"
    )
    a = np.random.default_rng(2).random((3, 4) if simulated() else (301, 1030), np.float32)
    expected = [np.exp(a) * 2, a.sum(0, np.float64), softmax(a), a.T, a @ a.T]
    begin = time.perf_counter()
    kinds = ("elementwise", "reduction", "rows", "transpose", "product")
    for kind, result, value in zip(kinds, rg.cuda.to_host(f(a)), expected, strict=True):
        if not np.allclose(result, value, rtol=1e-4, atol=1e-6):
            sys.exit(f"first step: the kernel of the kind {kind!r} is wrong on this machine")
    print(f"first step: {len(kinds)} kernels are right after {time.perf_counter() - begin:.1f} s")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller arrays, no peers")
    parser.add_argument("--dry", action="store_true", help="compile for a device that is not there")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where results are written")
    options = parser.parse_args()
    begin = time.perf_counter()
    # NVIDIA's package has the name of this file, and must not be looked for in this folder.
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != HERE.resolve()]
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most memory
    report = rg.cuda.report()
    for name, value in report.items():
        print(f"{name:20} {value}")
    if options.dry:
        dry()
        return
    if report["device"].startswith("missing"):
        sys.exit("there is no GPU; --dry compiles without one")
    if simulated() and options.output == RESULTS:
        sys.exit("the simulator measures nothing: name another file with --output")
    first_step()
    clock = Clock()
    result: dict[str, Any] = {
        "device": report,
        "driver": driver_version(),
        "versions": versions(),
        "date": time.strftime("%Y-%m-%d"),
    }
    parts: dict[str, Callable[[], Any]] = {
        "bandwidth": lambda: rows_measured(
            clock, sizes(options.quick), begin + BUDGET - 160, options.quick
        ),
        "launch": lambda: launches(clock),
        "gather": lambda: gathered(clock, options.quick),
        "loops": lambda: loops_measured(clock, options.quick),
        "correctness": lambda: correctness(BUDGET - (time.perf_counter() - begin)),
    }
    for name, part in parts.items():
        result[name] = part()
        result["seconds"] = time.perf_counter() - begin
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    for suite, outcome in result["correctness"].items():
        print(f"{suite:20} {outcome}")
    if simulated():
        print("simulated: every part ran, and no time means anything")
    print(f"written to {options.output} after {result['seconds']:.0f} s")


if __name__ == "__main__":
    main()
