"""Compiled kernels, in this process and on disk.

A kernel's name carries a digest of its source, of this library's own scalar functions, of the
versions of numba, llvmlite, NumPy and relgraph, and of the processor.  Its module is written once
under that name, and numba keeps the machine code beside it; so a second process loads it, and
nothing that is there ever has to be replaced.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from relgraph.errors import CompileError

Kernel = Callable[..., None]

_lock = threading.RLock()
_loaded: dict[str, Kernel] = {}
_unwritable: set[str] = set()


def directory() -> Path:
    """Return the folder of cached kernels: ``$RELGRAPH_CACHE_DIR``, or one in the user's cache."""
    given = os.environ.get("RELGRAPH_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "relgraph"


@lru_cache(maxsize=1)
def environment() -> str:
    """Return what, besides its source, the machine code of a kernel depends on."""
    import llvmlite
    import llvmlite.binding as llvm
    import numba
    import numpy as np

    from relgraph.backends.numba import functions

    library = Path(functions.__file__).read_bytes()
    parts = (
        f"numba {numba.__version__}",
        f"llvmlite {llvmlite.__version__}",
        f"numpy {np.__version__}",
        f"functions {hashlib.sha256(library).hexdigest()[:12]}",
        f"cpu {llvm.get_host_cpu_name()}",
    )
    return ", ".join(parts)


def digest(text: str) -> str:
    """Return the digest that names a kernel."""
    return hashlib.sha256(f"{environment()}\n{text}".encode()).hexdigest()[:16]


def load(name: str, text: str) -> Kernel:
    """Return the compiled kernel of a module's text.

    Parameters
    ----------
    name : str
        The name of the module, ``rgk_<digest>``, and of the function in it.
    text : str
        The source of the module.

    Returns
    -------
    callable
        The function; from memory, or from disk, or compiled now.
    """
    found = _loaded.get(name)
    if found is not None:
        return found
    with _lock:
        if name not in _loaded:
            try:
                _loaded[name] = _load(name, text)
            except Exception as error:
                sys.modules.pop(name, None)
                raise CompileError(
                    f"numba cannot compile the kernel {name}",
                    {"numba": str(error).strip().splitlines()[-1], "source": text},
                ) from error
        return _loaded[name]


def clear() -> None:
    """Forget the kernels of this process; those on disk stay."""
    with _lock:
        for name in _loaded:
            sys.modules.pop(name, None)
        _loaded.clear()


def _load(name: str, text: str) -> Kernel:
    path = _written(directory(), name, text)
    if path is None:
        module = types.ModuleType(name)
        code = compile(text, f"<{name}>", "exec")
        sys.modules[name] = module
        exec(code, module.__dict__)
    else:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # numba looks the module up while it loads machine code
        spec.loader.exec_module(module)
    return getattr(module, name)  # type: ignore[no-any-return]


def _written(folder: Path, name: str, text: str) -> Path | None:
    """Write a module if it is not there, whole or not at all; None where that is not possible."""
    path = folder / f"{name}.py"
    if path.exists():
        return path
    if str(folder) in _unwritable:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(".tmp", name, folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            _publish(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        _unwritable.add(str(folder))
        warnings.warn(
            f"kernels are compiled but not cached: {folder} cannot be written ({error}). "
            "Set RELGRAPH_CACHE_DIR to a folder that can.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return path


def _publish(temporary: str, path: Path) -> None:
    """Give a written file its name, unless another process has just written the same one.

    numba recognises machine code by the file's time stamp, so an existing file is left alone.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        os.replace(temporary, path)


__all__ = ["clear", "digest", "directory", "environment", "load"]


def stats() -> dict[str, tuple[int, int]]:
    """Return for each kernel of this process how often it was found on disk, and how often not."""
    counts: dict[str, tuple[int, int]] = {}
    with _lock:
        for name, kernel in _loaded.items():
            found: Any = kernel.stats  # type: ignore[attr-defined]
            counts[name] = (sum(found.cache_hits.values()), sum(found.cache_misses.values()))
    return counts
