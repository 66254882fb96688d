"""Threads: who shares the range of a kernel, and from when on.

Where the wheel ``tbb`` is installed, numba's threads of that kind do, which a process may use for
other work too; importing numba and starting them takes about half a second, so kernels that are
worth it run on one thread until they have taken as long as that, unless numba is imported already
or the number of threads was set.  Elsewhere a pool of the backend's own does, at once.

Numba's other two layers are not used: ``workqueue`` ends the process when two threads call it at
the same time, and ``omp`` does not survive a fork, and takes milliseconds for every kernel on a
machine whose processors are busy.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from relgraph.backends.numba import machine, pool
from relgraph.backends.numba.launch import POOL, SPREAD, THREADS, WANTED, WORK, settings
from relgraph.backends.numba.uninterrupted import uninterrupted
from relgraph.errors import CompileError
from relgraph.ir import forks
from relgraph.settings import config

WORTH = 500_000_000  # nanoseconds of shared work, from which on importing numba pays
MOST = 256  # helpers

Compiler = Callable[[str, str, tuple[str, ...]], tuple[int, ...]]


class _State:
    """What is known of the threads.  There is one; its attributes change under its lock."""

    def __init__(self) -> None:
        self.lock = forks.lock()
        self.compiled: Compiler | None = None
        self.layer: str | None = None
        self.looked = False
        self.library: Path | None = None  # TBB's
        self.pool: pool.Pool | None = None
        self.refused = False


_state = _State()


def layer() -> str | None:
    """Return "tbb" or "pool", whichever is in use; None where none is, or none yet."""
    return _state.layer if settings[SPREAD] else None


def start() -> None:
    """Have kernels that are worth it run on threads, from the next call on."""
    with machine.compiling, _state.lock:  # in this order: the pool is compiled
        if settings[SPREAD] or _state.refused:
            return
        _look_for_tbb()
        if _state.library is not None:
            with suppress(ImportError, OSError, ValueError):  # then there is no TBB after all
                uninterrupted(_import_numba)
                from relgraph.backends.numba.spread import address

                if import_module("numba").threading_layer() == "tbb":
                    _state.layer = "tbb"
                    settings[SPREAD] = address
                    return
            _state.library = None
        try:
            _start_pool()
        except (AttributeError, OSError, CompileError):  # a system without POSIX threads
            _state.refused = True
            settings[THREADS] = 1


def _import_numba() -> None:
    """Import numba, with what it loads when it first compiles, and choose its threads."""
    ctypes.CDLL(str(_state.library), mode=ctypes.RTLD_GLOBAL)
    numba = import_module("numba")
    import_module("numba.np.ufunc.tbbpool")
    numba.config.THREADING_LAYER = "tbb"
    registry = import_module("numba.core.registry")
    registry.cpu_target.target_context.refresh()


def _start_pool() -> None:
    assert _state.compiled is not None
    share, help_ = _state.compiled("rgp", pool.text(), ("_share", "_help"))
    _state.pool = pool.Pool(help_)
    _state.pool.grow(min(config.threads - 1, MOST))
    _state.layer = "pool"
    settings[POOL] = _state.pool.address
    settings[SPREAD] = share


def _wanted() -> None:
    """Start threads if that is worth it; called where a kernel would run on them."""
    _look_for_tbb()
    given = config.given("threads") or "numba" in sys.modules
    if _state.library is None or given or settings[WORK] >= WORTH:
        start()


def _look_for_tbb() -> None:
    if not _state.looked:
        with machine.compiling:  # a fork waits for the imports
            _state.library = _tbb()
            _state.looked = True


def _tbb() -> Path | None:
    """Return the library in the wheel ``tbb``, which is not where a loader would look."""
    from importlib import metadata  # takes longer to import than a kernel to load

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
    with _state.lock:
        settings[THREADS] = 1 if _state.refused else config.threads
        if _state.pool is not None:
            _state.pool.grow(min(config.threads - 1, MOST))


def _after_fork() -> None:
    """Forget the helpers, which only the parent has."""
    if _state.layer == "pool":
        settings[SPREAD] = 0
        _state.pool = None


def prepare(compiled: Compiler) -> None:
    """Connect the calls of kernels with the settings; once for a process.

    Parameters
    ----------
    compiled : callable
        Given a prefix of a name, the text of a module and the ends of its functions' names, their
        addresses.
    """
    with _state.lock:
        if _state.compiled is not None:
            return
        _state.compiled = compiled
        settings[WANTED] = id(_wanted)
        settings[THREADS] = config.threads
        config.on_change(_changed)
        forks.in_child(_after_fork)


__all__ = ["layer", "prepare", "start"]
