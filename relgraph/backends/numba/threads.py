"""Threads: which of numba's threading layers shares the range of a kernel, and from when on.

numba has three.  ``tbb`` is used where its wheel is installed, ``omp`` otherwise; ``workqueue``
never, because it ends the process when two threads call it at once.  A child of a process that has
used ``omp`` runs on one thread, because its runtime does not survive a fork.

Importing numba and starting its threads takes about half a second, once.  So kernels that are worth
it run on one thread until they have taken as long as that, unless numba is imported already, or the
number of threads was set.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path

from relgraph.backends.config import config
from relgraph.backends.numba.calls import SPREAD, THREADS, WANTED, WORK, settings
from relgraph.backends.numba.uninterrupted import uninterrupted

WORTH = 500_000_000  # nanoseconds of shared work, from which on loading a layer pays


class _State:
    """What is known of the layer.  There is one; its attributes change under its lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.layer: str | None = None
        self.refused = False


_state = _State()


def layer() -> str | None:
    """Return the threading layer in use; None where there is none, or none yet."""
    return _state.layer if settings[SPREAD] else None


def start() -> None:
    """Have kernels that are worth it run on threads, from the next call on."""
    with _state.lock:
        if settings[SPREAD] or _state.refused:
            return
        try:
            address, name = uninterrupted(_load)
        except (ImportError, OSError, ValueError):  # a layer whose library cannot be loaded
            address, name = 0, ""
        if name in ("tbb", "omp"):
            _state.layer = name
            settings[SPREAD] = address
        else:  # or one that somebody else has started, and that is not safe
            _refuse()


def _load() -> tuple[int, str]:
    """Return the address of the function that shares a range, and the layer it uses."""
    import numba

    numba.config.THREADING_LAYER = _available()
    from relgraph.backends.numba.spread import address

    return address, numba.threading_layer()


def _refuse() -> None:
    _state.refused = True
    settings[THREADS] = 1


def _wanted() -> None:
    """Load a layer if that is worth it; called where a kernel would run on threads."""
    if _state.refused:
        settings[THREADS] = 1
    elif config.given("threads") or "numba" in sys.modules or settings[WORK] >= WORTH:
        start()


def _available() -> str:
    """Return the layer to use, its library loaded."""
    library = _tbb()
    if library is not None:
        with suppress(OSError, ImportError):
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            import_module("numba.np.ufunc.tbbpool")
            return "tbb"
    return "omp"


def _tbb() -> Path | None:
    """Return the library in the wheel ``tbb``, which is not where a loader would look."""
    try:
        files = metadata.files("tbb") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name.startswith(("libtbb.so.12", "libtbb.12.dylib")):
            path = Path(str(file.locate()))
            if path.exists():
                return path
    return None


def _changed() -> None:
    """Take over the number of threads from the settings."""
    settings[THREADS] = 1 if _state.refused else config.threads


def _after_fork() -> None:
    _state.lock = threading.Lock()
    if _state.layer == "omp":
        settings[SPREAD] = 0
        _refuse()


def prepare() -> None:
    """Connect the calls of kernels with the settings; once for a process."""
    if settings[WANTED]:
        return
    settings[WANTED] = id(_wanted)
    settings[THREADS] = config.threads
    config.on_change(_changed)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


__all__ = ["layer", "prepare", "start"]
