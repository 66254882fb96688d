"""The addresses of SciPy's LAPACK and BLAS, which machine code calls by name.

Object code on disk holds the name, so it is valid in every process.  SciPy publishes the addresses
in ``__pyx_capi__`` of ``scipy.linalg.cython_lapack`` and ``cython_blas``.  It is imported when code
that calls a routine is compiled or loaded.
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

PREFIX = "relgraph_"  # of the symbol of a routine


def address(symbol: str) -> int | None:
    """Return the address of a routine, or None for another symbol."""
    if not symbol.startswith(PREFIX):
        return None
    name = symbol.removeprefix(PREFIX)
    for module in ("cython_lapack", "cython_blas"):
        table = import_module(f"scipy.linalg.{module}").__pyx_capi__
        if name in table:
            return _pointer(table[name])
    return None


def _pointer(capsule: Any) -> int:
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    result: int = pointer(capsule, name(capsule))
    return result


__all__ = ["PREFIX", "address"]
