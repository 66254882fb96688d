"""The call of a kernel from Python: one machine function for all kernels.

A bound kernel is a builtin function, ``kernel(n0, n1, x0, x1, o0)``: sizes first, then arrays.  It
runs :data:`TRAMPOLINE` with a table of integers as its ``self``.  The trampoline reads addresses
and strides at the offsets that NumPy's ABI defines, so a call takes a tenth of a microsecond and no
signature has to be compiled.  From the sizes it decides whether to release the GIL and whether to
split the range among threads.  For reductions over the outermost loop it allocates the partial
results and combines them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.backends.numba.launch import (
    ARRAY_TYPE,
    ARRAYS,
    FOLDS,
    HEAD,
    LAUNCH,
    LEAST,
    LONGEST,
    MAKE,
    MAKE_PAST,
    NONE,
    PAST,
    SHORT,
    SIZES,
    STRIDES,
    settings,
)
from relgraph.errors import CompileError
from relgraph.ir.records import record
from relgraph.ir.types import DTYPES

# Below, `self.data + 8 * i` is an entry of the table.  After Python's 16-byte header, a NumPy array
# holds data, ndim (32 bits), dimensions and strides.
TRAMPOLINE = f"""{LAUNCH}
define ptr @NAME(ptr %self, ptr %args, i64 %nargs) optsize {{
entry:
  %table = call ptr @field(ptr %self, i64 16)
  %sizes = call i64 @entry_of(ptr %table, i64 {SIZES})
  %count = call i64 @entry_of(ptr %table, i64 {ARRAYS})
  %folds = call i64 @entry_of(ptr %table, i64 {FOLDS})
  %strided = call i64 @entry_of(ptr %table, i64 {STRIDES})
  %type = call i64 @entry_of(ptr %table, i64 {ARRAY_TYPE})
  %expected = add i64 %sizes, %count
  %right = icmp eq i64 %expected, %nargs
  br i1 %right, label %reserve, label %bad
reserve:
  %pointers = add i64 %count, %folds
  %arrays = alloca ptr, i64 %pointers
  %all.0 = add i64 %sizes, %strided
  %all = add i64 %all.0, 1
  %integers = alloca i64, i64 %all
  br label %size
size:
  %i = phi i64 [ 0, %reserve ], [ %i.next, %sized ]
  %i.more = icmp slt i64 %i, %sizes
  br i1 %i.more, label %sized, label %array
sized:
  %size.at = getelementptr ptr, ptr %args, i64 %i
  %size.object = load ptr, ptr %size.at, align 8
  %value = call i64 @PyLong_AsLongLong(ptr %size.object)
  %integer.at = getelementptr i64, ptr %integers, i64 %i
  store i64 %value, ptr %integer.at, align 8
  %i.next = add i64 %i, 1
  br label %size
array:  ; the address of each array
  %j = phi i64 [ 0, %size ], [ %j.next, %addressed ]
  %j.more = icmp slt i64 %j, %count
  br i1 %j.more, label %typed, label %stride
typed:
  %place = add i64 %sizes, %j
  %object.at = getelementptr ptr, ptr %args, i64 %place
  %object = load ptr, ptr %object.at, align 8
  %object.type = call ptr @field(ptr %object, i64 8)
  %object.type.n = ptrtoint ptr %object.type to i64
  %is.array = icmp eq i64 %object.type.n, %type
  br i1 %is.array, label %addressed, label %bad
addressed:
  %address = call ptr @field(ptr %object, i64 16)
  %pointer.at = getelementptr ptr, ptr %arrays, i64 %j
  store ptr %address, ptr %pointer.at, align 8
  %j.next = add i64 %j, 1
  br label %array
stride:  ; the strides that the kernel takes
  %k = phi i64 [ 0, %array ], [ %k.next, %stride.set ]
  %k.more = icmp slt i64 %k, %strided
  br i1 %k.more, label %stride.set, label %checked
stride.set:
  %pair = shl i64 %k, 1
  %which.at = add i64 %pair, {HEAD}
  %axis.at = add i64 %pair, {HEAD + 1}
  %which = call i64 @entry_of(ptr %table, i64 %which.at)
  %axis = call i64 @entry_of(ptr %table, i64 %axis.at)
  %from = add i64 %sizes, %which
  %from.at = getelementptr ptr, ptr %args, i64 %from
  %from.object = load ptr, ptr %from.at, align 8
  %strides = call ptr @field(ptr %from.object, i64 40)
  %distance = call i64 @entry_of(ptr %strides, i64 %axis)
  %to = add i64 %sizes, %k
  %to.at = getelementptr i64, ptr %integers, i64 %to
  store i64 %distance, ptr %to.at, align 8
  %k.next = add i64 %k, 1
  br label %stride
checked:
  %outcome = call i64 @launch(ptr %table, ptr %arrays, ptr %integers)
  %refused = icmp ne i64 %outcome, 0
  br i1 %refused, label %failed, label %end
end:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %failed, label %none
none:
  %none.n = call i64 @entry_of(ptr %table, i64 {NONE})
  %nothing = inttoptr i64 %none.n to ptr
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
bad:
  %ignored = call i32 @PyErr_BadArgument()
  ret ptr null
failed:
  ret ptr null
}}
"""


@record
class Layout:
    """The signature of a kernel and its cost model.

    Attributes
    ----------
    sizes, arrays : int
        The number of size parameters and of array parameters.
    folds : int
        The number of results combined from partial ones; 0 if the outermost loop is not reduced.
    kept : int
        A bit mask: bit g is set if reduced results span group g of the loop nest.
    cost : int
        The estimated cost of one element of the loop, in picoseconds.
    strides : tuple of (int, int)
        The array and axis of each stride parameter.
    longest : int
        The longest row for which the short-row variant is used; 0 if there is no such variant.
    least : int
        The smallest number of elements for which the streaming-store variant is used; 0 if there is
        no such variant.
    results : int
        How many of the arrays, counted from the end, are results.
    item : int
        The item size of the results in bytes; 0 if they differ.
    """

    sizes: int
    arrays: int
    folds: int = 0
    kept: int = 0
    cost: int = 1000
    strides: tuple[tuple[int, int], ...] = ()
    longest: int = 0
    least: int = 0
    results: int = 0
    item: int = 0


class _Method(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_FASTCALL, _KEYWORDS = 0x80, 0x2


@lru_cache(maxsize=1)
def _new() -> Callable[..., Any]:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    new.restype = ctypes.py_object
    return new


def bind(
    name: str,
    trampoline: int,
    addresses: Sequence[int],
    layout: Layout,
    others: Mapping[int, Callable[[], int]] = MappingProxyType({}),
) -> Callable[..., None]:
    """Return a builtin function that calls a kernel with sizes, then arrays.

    ``addresses`` are those of the kernel and, for reductions, of the function that combines partial
    results.  ``others`` maps ``SHORT`` and ``PAST`` to functions that compile the variant on its
    first use and return its address.
    """
    table = np.zeros(HEAD + 2 * len(layout.strides), dtype=np.int64)
    table[:HEAD] = (
        addresses[0], addresses[-1], layout.sizes, layout.arrays, layout.folds, layout.kept,
        layout.cost, settings.ctypes.data, id(np.ndarray), id(None), len(layout.strides),
        0, 0, 0, 0, 0, 0, layout.results, layout.item,
    )  # fmt: skip
    table[HEAD:] = [number for pair in layout.strides for number in pair]

    def store_address(place: int, other: Callable[[], int]) -> None:
        table[place] = other()

    makers = {place: partial(store_address, place, other) for place, other in others.items()}
    if SHORT in makers:
        table[LONGEST], table[MAKE] = layout.longest, id(makers[SHORT])
    if PAST in makers:
        table[LEAST], table[MAKE_PAST] = layout.least, id(makers[PAST])
    return builtin(name, trampoline, table, *makers.values())


def builtin(
    name: str, address: int, table: npt.NDArray[np.int64], *kept: Any, named: bool = False
) -> Callable[..., Any]:
    """Return a builtin function that runs machine code.

    The machine function at ``address`` takes ``table`` as ``self``, a pointer to the arguments and
    their number; with ``named`` it also takes the tuple of keyword names.  ``kept`` holds the
    objects that the table points to.
    """
    _checked()
    method = _Method(name.encode(), address, _FASTCALL | _KEYWORDS * named, None)
    # A builtin holds a reference to its module, which keeps these objects alive.
    function: Callable[..., Any] = _new()(ctypes.addressof(method), table, (method, *kept))
    return function


def _inside(scalar: Any) -> bytes:
    """Return what lies behind Python's header: the element of a scalar."""
    return ctypes.string_at(id(scalar) + 16, np.asarray(scalar).itemsize)


@lru_cache(maxsize=1)
def _checked() -> None:
    """Raise CompileError unless arrays and scalars lie in memory as machine code expects."""
    array = np.arange(6.0).reshape(2, 3)[:, ::2]
    words = (ctypes.c_int64 * 9).from_address(id(array))
    strides = (ctypes.c_int64 * 2).from_address(words[5])
    scalars = [0.1, *(np.dtype(name).type(1) for name in DTYPES)]
    if (
        words[1] != id(np.ndarray)
        or words[2] != array.ctypes.data
        or words[3] & 0xFFFFFFFF != array.ndim
        or tuple((ctypes.c_int64 * 2).from_address(words[4])) != array.shape
        or words[7] != id(array.dtype)
        or words[8] & 0xFFFFFFFF != array.flags.num
        or tuple(strides) != array.strides
        or any(_inside(x) != np.asarray(x).tobytes() for x in scalars)
    ):
        raise CompileError(
            "arrays or scalars do not lie in memory as the CPU backend takes them to",
            {"numpy": np.__version__},
            "Use target='numpy' with this build of Python and NumPy.",
        )


__all__ = ["TRAMPOLINE", "Layout", "bind", "builtin"]
