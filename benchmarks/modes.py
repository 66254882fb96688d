"""A mode applied to whole programs: the time of rewriting, and the number of ops it leaves.

    python benchmarks/modes.py            # all workloads, and results/workloads.json
    python benchmarks/modes.py radon      # those whose name holds "radon", and the ops they leave

``rewriting.py`` runs it as the section ``workloads``.  The mode is ``o4`` without the BLAS calls
that add; PyTensor runs its ``fast_run`` without fusion, in-place forms and the lowering of products
to BLAS.  Both start from the graph as written, with an empty memo.

Ops are counted before fusion.  An n-ary sum, product, maximum or minimum counts as n - 1 ops, so
that a sum counts the same however it is bracketed.  Views (reshapes, transposes, broadcast axes,
slices) and the arithmetic of sizes compute no element, and are counted apart.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from calibration import calibrate, compile_sources, interleaved, machine, versions
from workloads import WORKLOADS, Workload

import relgraph as rg
from relgraph.ir.types import TensorType

try:
    import peer_workloads as peer
except ImportError as error:
    peer = None
    print(f"PyTensor is not here ({error}): relgraph is measured alone.\n")

MODE = rg.mode("o4").excluding("BlasOpt")
VIEWS = {
    "reshape", "transpose", "matrix_transpose", "expand_dims", "squeeze", "broadcast_to", "assume",
    "getitem",
}  # fmt: skip


class NumpySpace:
    """NumPy's own functions: the values that every rewritten graph must have."""

    exp, log, sqrt, abs, where = np.exp, np.log, np.sqrt, np.abs, np.where
    sin, cos, tanh = np.sin, np.cos, np.tanh
    maximum, minimum, sum, mean = np.maximum, np.minimum, np.sum, np.mean
    ones, reshape, transpose = np.ones, np.reshape, np.transpose

    @staticmethod
    def erf(x: Any) -> Any:
        """Return SciPy's error function."""
        from scipy.special import erf

        return erf(x)

    @staticmethod
    def scatter_add(size: int, index: Any, values: Any) -> Any:
        """Sum the values that share an index."""
        return np.bincount(index, values, size)


class RelgraphSpace:
    """relgraph's functions, which have NumPy's names."""

    exp, log, sqrt, abs, where = rg.exp, rg.log, rg.sqrt, rg.abs, rg.where
    sin, cos, tanh, erf = rg.sin, rg.cos, rg.tanh, rg.erf
    maximum, minimum, sum, mean = rg.maximum, rg.minimum, rg.sum, rg.mean
    ones, reshape, transpose = rg.ones, rg.reshape, rg.transpose

    @staticmethod
    def scatter_add(size: int, index: Any, values: Any) -> Any:
        """Sum the values that share an index."""
        return rg.zeros(size).at[index].add(values)


def build(workload: Workload) -> rg.FunctionGraph:
    """Return a workload as a graph of relgraph."""
    inputs = {name: rg.tensor(name, x.shape, x.dtype) for name, x in workload.inputs.items()}
    outputs = workload.build(RelgraphSpace, inputs)
    return rg.FunctionGraph(list(inputs.values()), outputs)


def forget(rewriter: Any) -> None:
    """Empty the memos of a mode; its compiled matchers stay."""
    for _, inner in rewriter.stages:
        for selection in getattr(inner, "selections", ()):
            selection.forget()


def rewrite(graph: rg.FunctionGraph, mode: Any = MODE) -> tuple[rg.FunctionGraph, float]:
    """Return the rewritten graph and the seconds it took, from an empty memo."""
    rewriter = rg.optdb.query(rg.mode(mode))
    forget(rewriter)
    start = time.perf_counter()
    found = rewriter.rewrite(graph)
    return found, time.perf_counter() - start


def counts(graph: rg.FunctionGraph) -> Counter[str]:
    """Return how many applications are left, by op."""
    found: Counter[str] = Counter()
    for node in graph.toposort():
        if node.op is None:
            continue
        name = node.op.name
        if name in VIEWS or (name == "index" and len(node.inputs) == 1):
            found["(view)"] += 1
        elif name == "dim" or _is_size(node):
            found["(size)"] += 1
        else:
            found[name] += 1
    return found


def _is_size(node: Any) -> bool:
    return (
        isinstance(node.type, TensorType)
        and node.ndim == 0
        and node.dtype.kind == "i"
        and all(x.op is not None and x.op.name == "dim" for x in node.inputs)
    )


def left(found: Counter[str]) -> int:
    """Return the number of scalar and array ops that compute elements."""
    return sum(n for name, n in found.items() if not name.startswith("("))


def cold(workload: Workload, whose: str) -> tuple[float, float]:
    """Return the seconds of the first rewrite in a new process, and with the import before it.

    relgraph builds its database and compiles matchers in the first rewrite; PyTensor builds its
    own when it is imported, which the second figure counts for both.
    """
    compile_sources()
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); ours = sys.argv[3] == 'relgraph'\n"
        "start = time.perf_counter()\n"
        "if ours:\n"
        "    sys.modules['pytensor'] = None\n"
        "    import relgraph\n"
        "else:\n"
        "    import pytensor.tensor\n"
        "imported = time.perf_counter() - start\n"
        "import modes\n"
        "workload = next(w for w in modes.WORKLOADS if w.name == sys.argv[2])\n"
        "parts = [modes.build(workload)] if ours else modes.peer.build(workload)\n"
        "rewrite = modes.rewrite if ours else modes.peer.rewrite\n"
        "start = time.perf_counter()\n"
        "rewrite(*parts)\n"
        "first = time.perf_counter() - start\n"
        "print(first, imported + first)\n"
    )
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code, here, workload.name, whose],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, both = done.stdout.splitlines()[-1].split()
    return float(first), float(both)


def differ(found: list[Any], expected: list[Any]) -> float:
    """Return the largest difference, relative to the largest element of each output."""
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        scale = max(float(np.max(np.abs(b))), 1e-30)
        worst = max(worst, float(np.max(np.abs(np.asarray(a) - b))) / scale)
    return worst


def measured(workload: Workload) -> dict[str, Any]:
    """Return the row of a workload: times, ops left, and how far both are from NumPy."""
    graph = build(workload)
    with np.errstate(all="ignore"):
        expected = [np.asarray(x) for x in workload.build(NumpySpace, workload.inputs)]
    ours, _ = rewrite(graph)
    row: dict[str, Any] = {"workload": workload.name, "ops written": left(counts(graph))}
    result = rg.function(graph.inputs, list(ours.outputs), mode=None, target="numpy")
    row["ops left"] = left(counts(ours))
    row["error"] = differ(result(*workload.inputs.values()), expected)
    assert row["error"] < 1e-9, row
    contenders: dict[str, Callable[[], float]] = {"ms": lambda: rewrite(graph)[1]}
    if peer is not None:
        theirs, once = peer.rewrite(*peer.build(workload))
        row["peer: ops left"] = left(peer.counts(theirs))
        computed = peer.values(theirs, workload.inputs)
        if computed is not None:
            row["peer: error"] = differ(computed, expected)
            assert row["peer: error"] < 1e-9, row
        contenders["peer: ms"] = peer.contender(workload)
    large = row["ops written"] > 5_000  # PyTensor takes minutes, so it is timed once
    gc.collect()
    gc.freeze()
    if large and peer is not None:
        contenders["peer: ms"] = lambda: once
    for name, seconds in interleaved(contenders, 7 if row["ops written"] < 500 else 3).items():
        row[name] = statistics.median(seconds) * 1e3
    _cold(row, "", workload, "relgraph", 3)
    if peer is not None:
        row["times as fast"] = row["peer: ms"] / row["ms"]
        if not large:
            _cold(row, "peer: ", workload, "peer", 1)
            for name in ("cold", "with import"):
                row[f"times as fast, {name}"] = row[f"peer: {name} ms"] / row[f"{name} ms"]
    return row


def _cold(row: dict[str, Any], prefix: str, workload: Workload, whose: str, repeats: int) -> None:
    """Add the median milliseconds of the first rewrite, without and with the import."""
    seconds = [cold(workload, whose) for _ in range(repeats)]
    for name, each in zip(("cold", "with import"), zip(*seconds, strict=True), strict=True):
        row[f"{prefix}{name} ms"] = statistics.median(each) * 1e3


def workloads() -> list[dict[str, Any]]:
    """Measure all workloads."""
    return [measured(workload) for workload in WORKLOADS]


def compared(workload: Workload) -> list[dict[str, Any]]:
    """Return how many ops of each kind either side leaves."""
    ours = counts(rewrite(build(workload))[0])
    theirs = counts_of_peer(workload)
    names = sorted({*ours, *theirs}, key=lambda name: (name.startswith("("), name))
    return [{"op": name, "relgraph": ours[name], "PyTensor": theirs[name]} for name in names]


def counts_of_peer(workload: Workload) -> Counter[str]:
    """Return how many ops PyTensor leaves, by relgraph's names."""
    if peer is None:
        return Counter()
    found: Counter[str] = Counter()
    for name, n in peer.counts(peer.rewrite(*peer.build(workload))[0]).items():
        found[_NAMES.get(name, name)] += n
    return found


_NAMES = {
    "mul": "multiply", "sub": "subtract", "neg": "negative", "sqr": "square", "dot": "matmul",
    "advancedsubtensor": "index", "advancedsubtensor1": "index", "switch": "where",
    "advancedincsubtensor": "add_index", "advancedincsubtensor1": "add_index", "abs": "absolute",
    "pow": "power", "ge": "greater_equal", "true_div": "true_divide", "batcheddot": "matmul",
    "logsoftmax": "log_softmax",
}  # fmt: skip


def main() -> None:
    """Measure the workloads asked for; all of them are written to results/workloads.json."""
    from rewriting import show

    wanted = sys.argv[1:]
    chosen = [w for w in WORKLOADS if not wanted or any(x in w.name for x in wanted)]
    report: dict[str, Any] = {
        "machine": machine(),
        "versions": versions("numpy", "pytensor"),
        "calibration": calibrate(),
    }
    rows = list(map(measured, chosen))
    show("Rewriting under o4", rows)
    for workload in chosen if wanted else ():
        show(f"Ops left of {workload.name}", compared(workload))
    if not wanted:
        report["workloads"] = rows
        path = Path(__file__).parent / "results" / "workloads.json"
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
