"""The memory's limit, to time beside workloads; the measurement itself is relgraph's own."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from importlib import metadata
from typing import Any

from relgraph.measurement.windows import Contender, Plan, Timing, measure

__all__ = ["Ceiling", "Contender", "Plan", "Timing", "load_tbb", "measure"]


def load_tbb(numba: Any) -> None:
    """Have numba use the threads of tbb where its wheel is installed, as relgraph does.

    A process has one layer of threads, which the first to ask for it chooses.
    """
    with suppress(metadata.PackageNotFoundError, OSError):
        for file in metadata.files("tbb") or []:
            if file.name == "libtbb.so.12":
                ctypes.CDLL(str(file.locate()), mode=ctypes.RTLD_GLOBAL)
                numba.config.THREADING_LAYER = "tbb"


class Ceiling:
    """What the memory allows: a triad, or a sum, over as many bytes as a workload moves.

    Bytes are counted as in STREAM: each array once, whether it is read or written.
    """

    def __init__(self) -> None:
        import numba
        import numpy as np

        load_tbb(numba)

        def triad(a: Any, b: Any, out: Any) -> None:
            for i in numba.prange(out.size):
                out[i] = a[i] + 2.0 * b[i]

        def total(a: Any) -> float:
            found = 0.0
            for i in numba.prange(a.size):
                found += a[i]
            return found

        options = {"fastmath": True, "nogil": True}
        self._triads = [numba.njit(parallel=p, **options)(triad) for p in (False, True)]
        self._totals = [numba.njit(parallel=p, **options)(total) for p in (False, True)]
        self._empty = np.empty
        self._ones = np.ones

    def contenders(self, read: int, written: int, fresh: bool) -> dict[str, Contender]:
        """Return what to time beside a workload; the faster of the two is its ceiling.

        Parameters
        ----------
        read, written : int
            The bytes of the inputs and of the outputs.
        fresh : bool
            Whether a result is a new array, as the workload's, or always the same.
        """
        if written < read / 8:
            a = self._ones((read + written) // 8 or 1)
            kernels = [lambda f=f: f(a) for f in self._totals]
        else:
            count = (read + written) // 24 or 1
            a, b, out = self._ones(count), self._ones(count), self._ones(count)
            if fresh:
                kernels = [lambda f=f: f(a, b, self._empty(count)) for f in self._triads]
            else:
                kernels = [lambda f=f: f(a, b, out) for f in self._triads]
        return dict(zip(("ceiling, one thread", "ceiling, all threads"), kernels, strict=True))
