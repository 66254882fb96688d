"""Functions of NumPy's C API, by their fixed index in its table."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

# https://numpy.org/doc/stable/reference/c-api/array.html and .../data_memory.html
NEW_FROM_DESCR, RETURN = 94, 76
SET_HANDLER, DEFAULT_HANDLER = 304, 306
_FUNCTIONS_OF, _DOT = 365, 27  # the functions of a dtype, and the place of its dot among them


def pointer_in(capsule: Any, name: bytes | None) -> int:
    """Return the address that a capsule holds."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    value: int = pointer(capsule, name)
    return value


@lru_cache(maxsize=1)
def _table() -> Any:
    core = import_module("numpy._core._multiarray_umath")
    return (ctypes.c_int64 * (_FUNCTIONS_OF + 1)).from_address(pointer_in(core._ARRAY_API, None))


def address(entry: int) -> int:
    """Return the address of a function of NumPy's C API.

    ``NEW_FROM_DESCR`` creates an array, ``RETURN`` turns an array without dimensions into a scalar,
    and ``SET_HANDLER`` sets the memory handler.
    """
    return int(_table()[entry])


@lru_cache
def dot(dtype: np.dtype[Any]) -> int:
    """Return the address of the function by which ``matmul`` multiplies two vectors.

    It takes the address and the stride of each vector, that of the result, the length, and null.
    """
    functions_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(address(_FUNCTIONS_OF))
    functions = (ctypes.c_int64 * (_DOT + 1)).from_address(functions_of(dtype))
    return int(functions[_DOT])


def silent(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that NumPy runs without floating-point warnings.

    Where NumPy has the variable that ``np.errstate`` sets, a call costs a tenth of that.
    """
    umath = import_module("numpy._core.umath")
    errors = getattr(umath, "_extobj_contextvar", None)
    if errors is None or not hasattr(umath, "_make_extobj"):
        return np.errstate(all="ignore")(function)
    ignored = umath._make_extobj(all="ignore")

    def run(*arguments: Any) -> Any:
        token = errors.set(ignored)
        try:
            return function(*arguments)
        finally:
            errors.reset(token)

    return run


@lru_cache(maxsize=1)
def set_handler() -> Callable[[Any], Any]:
    """Return the function that sets the memory handler of this context and returns the old one."""
    function: Callable[[Any], Any]
    function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address(SET_HANDLER))
    return function


def default_handler() -> Any:
    """Return the capsule of NumPy's own memory handler."""
    return ctypes.py_object.from_address(address(DEFAULT_HANDLER)).value


__all__ = [
    "NEW_FROM_DESCR", "RETURN", "SET_HANDLER", "address", "default_handler", "dot", "pointer_in",
    "set_handler", "silent",
]  # fmt: skip
