"""NumPy's functions that make arrays, as a traced function calls them.

``np.zeros(5)`` has no traced argument, so NumPy would return an ordinary array, which cannot hold
traced values.  While a thread traces, the traced code therefore sees another function as
``np.zeros``, which returns a tracer whose elements are known.  Properties of the class of NumPy's
module choose the function by thread and by caller: other threads, and the code of NumPy, SciPy and
other installed packages, see NumPy's functions.  When the last trace ends, the module gets its
class back.
"""

from __future__ import annotations

import dis
import functools
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from relgraph.api.tracing.storage import Storage
from relgraph.api.tracing.tracer import (
    Tracer,
    fresh,
    operand,
    running,
    stacked,
    traces,
    unwrap,
    wrap,
)
from relgraph.api.tracing.views import viewed
from relgraph.api.tracing.weak_scalar import WeakScalar
from relgraph.ir import forks
from relgraph.ir.node import as_variable
from relgraph.ir.operators import FUNCTIONS
from relgraph.ops.elementwise import cast

Function = Callable[..., Any]


def filled(value: Any) -> Any:
    """Return an array of one number as a tracer, whose graph is the number, broadcast."""
    tracer = wrap(value)
    if type(tracer) is Tracer and value.size:
        number = value[(0,) * value.ndim]
        tracer._storage = Storage(FUNCTIONS["full"](value.shape, number, value.dtype), value)
    return tracer


def _zeros(zeros: Function, *args: Any, **kwargs: Any) -> Any:
    return filled(zeros(*args, **kwargs))


def _empty(empty: Function, *args: Any, **kwargs: Any) -> Any:
    array = empty(*args, **kwargs)
    array.fill(0)  # instead of whatever the memory held before
    return filled(array)


def _full(full: Function, shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if traces(fill_value) or type(fill_value) is WeakScalar:
        sizes = np.zeros(shape, "bool").shape
        value = as_variable(operand(fill_value))
        node = FUNCTIONS["broadcast_to"](value if dtype is None else cast(value, dtype), sizes)
        return fresh(node, c_order=True)
    array = full(shape, unwrap(fill_value), dtype, **kwargs)
    return filled(array) if np.ndim(fill_value) == 0 else wrap(array)


def _like(like: Function, a: Any, *args: Any, **kwargs: Any) -> Any:
    result = like(a, *args, **kwargs)
    return result if type(result) is Tracer else filled(result)


def _array(array: Function, obj: Any, dtype: Any = None, *, copy: Any = True, **kwargs: Any) -> Any:
    if not traces(obj):
        return wrap(array(obj, dtype, copy=copy, **kwargs))
    if not copy and type(obj) is Tracer and not obj._scalar and dtype in (None, obj.dtype):
        return obj
    node = obj.node if type(obj) is Tracer else stacked(obj)
    tracer = fresh(node if dtype is None else cast(node, dtype), c_order=True)
    missing = kwargs.get("ndmin", 0) - tracer.ndim
    return tracer[(None,) * missing] if missing > 0 else tracer


def _asarray(asarray: Function, a: Any, dtype: Any = None, **kwargs: Any) -> Any:
    return _array(np.array, a, dtype, copy=True if kwargs.get("copy") else None)


def _ascontiguousarray(ascontiguousarray: Function, a: Any, dtype: Any = None) -> Any:
    array = np.atleast_1d(_asarray(np.asarray, a, dtype))
    return viewed(lambda x: x, (array,), {}, contiguous=True)


def _new(function: Function, *args: Any, **kwargs: Any) -> Any:
    """Call a function that makes an array; copy the result if NumPy returns a view of one."""
    result = function(*args, **kwargs)
    is_view = type(result) is np.ndarray and result.base is not None
    return wrap(result.copy("K") if is_view else result)


_OF_NUMBERS = (
    "append", "arange", "argsort", "column_stack", "concatenate", "copy", "cumprod", "cumsum",
    "eye", "geomspace", "hstack", "identity", "indices", "linspace", "logspace", "outer", "pad",
    "repeat", "roll", "sort", "stack", "tile", "tri", "tril", "triu", "vstack", "where",
)  # fmt: skip

_FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys(_OF_NUMBERS, _new),
    "array": _array,
    "asanyarray": _asarray,
    "asarray": _asarray,
    "ascontiguousarray": _ascontiguousarray,
    "empty": _empty,
    "empty_like": _like,
    "full": _full,
    "full_like": _like,
    "ones": _zeros,
    "ones_like": _like,
    "zeros": _zeros,
    "zeros_like": _like,
}

# Which code sees these functions.

_UNTRACED = ("numpy", "scipy", "relgraph")
_INSTALLED = tuple({sysconfig.get_path(x) for x in ("stdlib", "platstdlib", "purelib", "platlib")})


def _is_traced_code(frame: FrameType | None) -> bool:
    """Return True for code that a trace runs, and False for that of NumPy and other packages."""
    if frame is None or not _reads_attribute(frame):
        return False
    package = _package(frame)
    if package in _UNTRACED:
        return False
    if package != running()[-1].package and frame.f_code.co_filename.startswith(_INSTALLED):
        return False
    while frame is not None and _package(frame) != "relgraph":  # which runs the traced function
        if frame.f_code.co_name == "<module>":  # a module that the traced function imports
            return False
        frame = frame.f_back
    return True


# What reads ``np.zeros`` in Python.  Compiled code, such as that of NumPy's random numbers, has no
# frame: it runs in that of its caller, which is then in a call.
_READS = {dis.opmap.get(x) for x in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")}

_instructions = functools.lru_cache(maxsize=256)(attrgetter("co_code"))


def _reads_attribute(frame: FrameType) -> bool:
    """Return True if the present instruction of a frame reads an attribute."""
    return _instructions(frame.f_code)[frame.f_lasti] in _READS


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


@functools.cache
def _traced(function: Function, name: str) -> Function:
    creation = _FUNCTIONS[name]

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        if not running():  # kept beyond the trace
            return function(*args, **kwargs)
        return creation(function, *args, **kwargs)

    return traced


def _property(name: str) -> property:
    def read(module: ModuleType) -> Any:
        function = module.__dict__[name]
        if running() and _is_traced_code(sys._getframe(1)):
            return _traced(function, name)
        return function

    def write(module: ModuleType, value: Any) -> None:
        module.__dict__[name] = value

    def delete(module: ModuleType) -> None:
        del module.__dict__[name]

    return property(read, write, delete)


class _TracedNumPy(ModuleType):
    """The class of NumPy's module while a trace runs."""


for _name in _FUNCTIONS:
    setattr(_TracedNumPy, _name, _property(_name))

_lock = forks.lock()
_threads: list[int] = []  # the thread of each trace


@contextmanager
def creation_traced() -> Iterator[None]:
    """Make NumPy's creation functions return tracers to the traced code of this thread."""
    thread = threading.get_ident()
    with _lock:
        _threads.append(thread)
        _set_class()
    try:
        yield
    finally:
        with _lock:
            _threads.remove(thread)
            _set_class()


def _set_class() -> None:
    if type(np) in (ModuleType, _TracedNumPy):  # and not that of another tool
        np.__class__ = _TracedNumPy if _threads else ModuleType


def _only_this_thread() -> None:
    """Forget the traces of the parent's other threads, which a forked child does not have."""
    thread = threading.get_ident()
    _threads[:] = [x for x in _threads if x == thread]
    _set_class()


forks.in_child(_only_this_thread)
