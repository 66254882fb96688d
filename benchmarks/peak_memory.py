"""The memory that one workload needs in one framework, in a separate process that kernels.py runs.

    python benchmarks/peak_memory.py softmax jax   # prints megabytes, or null

The figure excludes code and libraries: the script compiles the function, on small arrays if it
accepts any size, before it reads the memory of the process.  The figure is the growth of the
resident memory during three calls of the function: results, temporaries, and buffers it keeps.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel_workloads import ROWS
from peers import FRAMEWORKS

CALLS = 3
SMALL = 2_000
_STATUS = Path("/proc/self/status")
_FORGET_PEAK = Path("/proc/self/clear_refs")


def _kilobytes(name: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(x.split()[1]) for x in lines if x.startswith(name + ":"))


def grown(contender: Callable[[], Any]) -> float:
    """Return by how many megabytes memory grows during the calls."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # return freed memory, whose reuse would not be counted
    _FORGET_PEAK.write_text("5")
    before = _kilobytes("VmRSS")
    for _ in range(CALLS):
        contender()
    return round((_kilobytes("VmHWM") - before) * 1024 / 1e6, 1)


def main() -> None:
    """Print the megabytes of one workload in one framework."""
    _, workload, framework = sys.argv
    row = next(x for x in ROWS if x.name == workload)
    peer = FRAMEWORKS[framework]()
    arrays = row.inputs(max(row.sizes), "float64")
    shaped = framework.startswith(("jax", "torch"))  # compiled for one shape
    warm = peer.contender(row, arrays if shaped else row.inputs(SMALL, "float64"))
    if warm is None:
        print("null")
        return
    warm()
    contender = warm if shaped else peer.contender(row, arrays)
    print(json.dumps(grown(contender)))


if __name__ == "__main__":
    main()
