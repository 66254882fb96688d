"""Threads: which threads share the range of a kernel, and when they start.

If the wheel ``tbb`` is installed, these are numba's TBB threads, which a process can use for other
work too.  Importing numba and starting them takes about half a second.  Kernels that could share
their range therefore run on one thread until they have used that much time, unless numba is already
imported or the number of threads is set.  Otherwise the pool of this backend starts immediately.

Numba's other two threading layers are not used.  ``workqueue`` ends the process when two threads
call it at once.  ``omp`` does not survive a fork, and costs milliseconds per kernel when the
processors are busy.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from relgraph.backends.numba import machine, pool
from relgraph.backends.numba.launch import POOL, SPREAD, THREADS, WANTED, WORK, settings
from relgraph.backends.numba.uninterrupted import uninterrupted
from relgraph.errors import CompileError
from relgraph.ir import forks
from relgraph.settings import config

WORTH = 500_000_000  # nanoseconds of shareable work after which importing numba pays off
MOST = 256  # maximum number of helpers

Compiler = Callable[[str, str, tuple[str, ...]], tuple[int, ...]]


class _State:
    """The state of the threads; its lock guards the attributes."""

    def __init__(self) -> None:
        self.lock = forks.lock()
        self.compiled: Compiler | None = None
        self.layer: str | None = None
        self.looked = False
        self.library: Path | None = None  # of TBB
        self.pool: pool.Pool | None = None
        self.refused = False
        self.serial = 0  # blocks of serial() that run


_state = _State()


def layer() -> str | None:
    """Return the layer in use, "tbb" or "pool"; None if there is none yet."""
    return _state.layer if settings[SPREAD] else None


def start() -> None:
    """Let threads share the ranges of kernels from the next call on."""
    with machine.compiling, _state.lock:  # in this order: the pool is compiled
        if settings[SPREAD] or _state.refused:
            return
        _look_for_tbb()
        if _state.library is not None:
            with suppress(ImportError, OSError, ValueError):  # TBB is unusable
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
    """Import numba, with the modules that it loads when it first compiles, and select TBB."""
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
    """Start threads if that pays off; called when a kernel could use them."""
    _look_for_tbb()
    starts_now = config.given("threads") or "numba" in sys.modules
    if _state.library is None or starts_now or settings[WORK] >= WORTH:
        start()


def _look_for_tbb() -> None:
    if not _state.looked:
        with machine.compiling:  # makes forks wait for the imports
            _state.library = _tbb()
            _state.looked = True


def _tbb() -> Path | None:
    """Return the library in the wheel ``tbb``, which a loader would not find."""
    from importlib import metadata  # importing it takes longer than loading a kernel

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


@contextmanager
def serial() -> Iterator[None]:
    """Run kernels on the thread that calls them, in the whole process, until the block ends."""
    with _state.lock:
        _state.serial += 1
        settings[THREADS] = 1
    try:
        yield
    finally:
        with _state.lock:
            _state.serial -= 1
            settings[THREADS] = _threads()


def _threads() -> int:
    return 1 if _state.refused or _state.serial else config.threads


def _changed() -> None:
    """Apply the number of threads in the settings."""
    with _state.lock:
        settings[THREADS] = _threads()
        if _state.pool is not None:
            _state.pool.grow(min(config.threads - 1, MOST))


def _after_fork() -> None:
    """Forget the helpers, which a forked child does not have."""
    if _state.layer == "pool":
        settings[SPREAD] = 0
        _state.pool = None


def prepare(compiled: Compiler) -> None:
    """Connect the calls of kernels with the settings, once per process.

    ``compiled`` compiles a module: it takes a name prefix, the text and the suffixes of the
    functions, and returns their addresses.
    """
    with _state.lock:
        if _state.compiled is not None:
            return
        _state.compiled = compiled
        settings[WANTED] = id(_wanted)
        settings[THREADS] = _threads()
        config.on_change(_changed)
        forks.in_child(_after_fork)


__all__ = ["layer", "prepare", "serial", "start"]
