"""The call of a kernel from Python: one machine function for all kernels and all arrays.

A bound kernel is a builtin function of Python's: ``kernel(n0, n1, x0, x1, o0)``, sizes first, then
arrays.  What stands behind it is :data:`TRAMPOLINE`, with a table of integers as its ``self``.  It
reads the address and the strides of each array where NumPy's ABI has them, so that a call costs a
tenth of a microsecond and no signature of arrays has to be compiled.  It decides from the sizes
whether the interpreter's lock is released and whether the range is shared among threads, gives
reductions over the outermost loop the places of their partial results, and has them combined.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import CompileError

ROWS = 16384  # elements of one partial result: fixed, so that no result depends on the threads
PARTS = 32  # partial results at most, where each is an array; their rows at least
RELEASE = 20_000  # picoseconds of work, in thousands, from which the lock is released: 20 us
SHARE = 50_000  # the same, from which threads share it: 50 us
PIECES = 4  # pieces of a range for each thread: one that is late then does fewer

# What the trampoline reads.  Integers of 64 bits, in a table for each kernel and one for all.
KERNEL, FINISH, SIZES, ARRAYS, FOLDS, KEPT, COST, SETTINGS, ARRAY_TYPE, NONE, STRIDES = range(11)
HEAD = 11  # after it, pairs (array, axis) of the strides
THREADS, SPREAD, WANTED, WORK, POOL = range(5)

settings: npt.NDArray[np.int64] = np.zeros(5, dtype=np.int64)
"""The settings of all calls: how many threads; the address of the function that shares a range
among them, or 0; the callable to call where it is missed; the nanoseconds of work that missed it;
and the address of the pool of threads."""

ENTRY_OF = """
define internal i64 @entry_of(ptr %table, i64 %index) alwaysinline {
  %at = getelementptr i64, ptr %table, i64 %index
  %value = load i64, ptr %at, align 8
  ret i64 %value
}
"""

# In what follows, `self.data + 8 * i` is an entry of the table.  An array of NumPy holds, after
# Python's header of 16 bytes: data, ndim (32 bits), dimensions, strides.
TRAMPOLINE = f"""
declare i64 @PyLong_AsLongLong(ptr)
declare i32 @PyErr_BadArgument()
declare ptr @PyErr_NoMemory()
declare ptr @PyErr_Occurred()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

{ENTRY_OF}
define internal ptr @field(ptr %object, i64 %offset) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 %offset
  %value = load ptr, ptr %at, align 8
  ret ptr %value
}}

; Work times cost, in thousands of picoseconds, without overflow.
define internal i64 @work_of(i64 %count, i64 %cost) alwaysinline {{
  %few = call i64 @llvm.smin.i64(i64 %count, i64 1000000000000)
  %product = mul i64 %few, %cost
  %work = sdiv i64 %product, 1000
  ret i64 %work
}}

; Run a range: on threads where that pays, without the lock where it takes longer than that costs.
define internal void @run(ptr %kernel, ptr %settings, ptr %arrays, ptr %integers, i64 %count,
                          i64 %least, i64 %work) {{
entry:
  %threads = call i64 @entry_of(ptr %settings, i64 {THREADS})
  %long = icmp sge i64 %work, {SHARE}
  %many = icmp sgt i64 %threads, 1
  %wide = icmp sge i64 %count, %least
  %both = and i1 %long, %many
  %shared = and i1 %both, %wide
  br i1 %shared, label %ask, label %alone
ask:
  %first = call i64 @entry_of(ptr %settings, i64 {SPREAD})
  %there = icmp ne i64 %first, 0
  br i1 %there, label %share, label %want
want:
  %sum.at = getelementptr i64, ptr %settings, i64 {WORK}
  %sum = load i64, ptr %sum.at, align 8
  %more = add i64 %sum, %work
  store i64 %more, ptr %sum.at, align 8
  %wanted = call i64 @entry_of(ptr %settings, i64 {WANTED})
  %callable = inttoptr i64 %wanted to ptr
  %answer = call ptr @PyObject_CallNoArgs(ptr %callable)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %done, label %answered
answered:
  call void @Py_DecRef(ptr %answer)
  %second = call i64 @entry_of(ptr %settings, i64 {SPREAD})
  %came = icmp ne i64 %second, 0
  br i1 %came, label %share, label %alone
share:
  %spread = phi i64 [ %first, %ask ], [ %second, %answered ]
  %pieces = mul i64 %threads, {PIECES}
  %parts = call i64 @llvm.smin.i64(i64 %pieces, i64 %count)
  %below = sub i64 %parts, 1
  %rounded = add i64 %count, %below
  %even = sdiv i64 %rounded, %parts
  ; Whole lines of memory to each thread, where there are many.
  %padded = add i64 %even, 63
  %whole = and i64 %padded, -64
  %large = icmp sge i64 %even, 4096
  %chunk = select i1 %large, i64 %whole, i64 %even
  %above = sub i64 %chunk, 1
  %covered = add i64 %count, %above
  %chunks = sdiv i64 %covered, %chunk
  %function = inttoptr i64 %spread to ptr
  %pool = call i64 @entry_of(ptr %settings, i64 {POOL})
  %state.1 = call ptr @PyEval_SaveThread()
  call void %function(ptr %kernel, ptr %arrays, ptr %integers, i64 %count, i64 %chunk, i64 %chunks,
                      i64 %threads, i64 %pool)
  call void @PyEval_RestoreThread(ptr %state.1)
  br label %done
alone:
  %releases = icmp sge i64 %work, {RELEASE}
  br i1 %releases, label %release, label %hold
release:
  %state.2 = call ptr @PyEval_SaveThread()
  call void %kernel(ptr %arrays, ptr %integers, i64 0, i64 %count)
  call void @PyEval_RestoreThread(ptr %state.2)
  br label %done
hold:
  call void %kernel(ptr %arrays, ptr %integers, i64 0, i64 %count)
  br label %done
done:
  ret void
}}

define ptr @NAME(ptr %self, ptr %args, i64 %nargs) {{
entry:
  %table = call ptr @field(ptr %self, i64 16)
  %sizes = call i64 @entry_of(ptr %table, i64 {SIZES})
  %count = call i64 @entry_of(ptr %table, i64 {ARRAYS})
  %folds = call i64 @entry_of(ptr %table, i64 {FOLDS})
  %strided = call i64 @entry_of(ptr %table, i64 {STRIDES})
  %cost = call i64 @entry_of(ptr %table, i64 {COST})
  %type = call i64 @entry_of(ptr %table, i64 {ARRAY_TYPE})
  %settings.n = call i64 @entry_of(ptr %table, i64 {SETTINGS})
  %settings = inttoptr i64 %settings.n to ptr
  %kernel.n = call i64 @entry_of(ptr %table, i64 {KERNEL})
  %kernel = inttoptr i64 %kernel.n to ptr
  %expected = add i64 %sizes, %count
  %right = icmp eq i64 %expected, %nargs
  br i1 %right, label %reserve, label %bad
reserve:
  %pointers = add i64 %count, %folds
  %arrays = alloca ptr, i64 %pointers
  %all.0 = add i64 %sizes, %strided
  %all = add i64 %all.0, 1
  %integers = alloca i64, i64 %all
  %kept = call i64 @entry_of(ptr %table, i64 {KEPT})
  br label %size
size:  ; each size, their product, that of all but the first, and of those that are kept
  %i = phi i64 [ 0, %reserve ], [ %i.next, %sized ]
  %total = phi i64 [ 1, %reserve ], [ %total.next, %sized ]
  %inner = phi i64 [ 1, %reserve ], [ %inner.next, %sized ]
  %each = phi i64 [ 1, %reserve ], [ %each.next, %sized ]
  %i.more = icmp slt i64 %i, %sizes
  br i1 %i.more, label %sized, label %array
sized:
  %size.at = getelementptr ptr, ptr %args, i64 %i
  %size.object = load ptr, ptr %size.at, align 8
  %value = call i64 @PyLong_AsLongLong(ptr %size.object)
  %integer.at = getelementptr i64, ptr %integers, i64 %i
  store i64 %value, ptr %integer.at, align 8
  %total.next = mul i64 %total, %value
  %first = icmp eq i64 %i, 0
  %inner.factor = select i1 %first, i64 1, i64 %value
  %inner.next = mul i64 %inner, %inner.factor
  %bits = lshr i64 %kept, %i
  %bit = and i64 %bits, 1
  %keeps = icmp ne i64 %bit, 0
  %each.factor = select i1 %keeps, i64 %inner.factor, i64 1
  %each.next = mul i64 %each, %each.factor
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
  %work = call i64 @work_of(i64 %total, i64 %cost)
  %outer = load i64, ptr %integers, align 8
  %reduces = icmp ne i64 %folds, 0
  br i1 %reduces, label %reduce, label %map
map:
  call void @run(ptr %kernel, ptr %settings, ptr %arrays, ptr %integers, i64 %outer, i64 2,
                 i64 %work)
  br label %end
reduce:  ; the rows of a block, and the partial results of each
  %inner.some = call i64 @llvm.smax.i64(i64 %inner, i64 1)
  %fixed = sdiv i64 {ROWS}, %inner.some
  %one.row = call i64 @llvm.smax.i64(i64 %fixed, i64 1)
  %spread.rows.0 = add i64 %outer, {PARTS - 1}
  %spread.rows.1 = sdiv i64 %spread.rows.0, {PARTS}
  %spread.rows.2 = call i64 @llvm.smax.i64(i64 %spread.rows.1, i64 {PARTS})
  %spread.rows = call i64 @llvm.smax.i64(i64 %spread.rows.2, i64 %one.row)
  %is.row = icmp ne i64 %each, 1
  %rows = select i1 %is.row, i64 %spread.rows, i64 %one.row
  %rows.at = getelementptr i64, ptr %integers, i64 %all.0
  store i64 %rows, ptr %rows.at, align 8
  %last = sub i64 %rows, 1
  %blocks.0 = add i64 %outer, %last
  %blocks.1 = sdiv i64 %blocks.0, %rows
  %blocks = call i64 @llvm.smax.i64(i64 %blocks.1, i64 1)  ; of no rows there is one, and no terms
  %partial = mul i64 %blocks, %each
  %bytes.0 = mul i64 %partial, 8
  %bytes = add i64 %bytes.0, 64
  %memory.size = mul i64 %bytes, %folds
  %memory = call ptr @malloc(i64 %memory.size)
  %no.memory = icmp eq ptr %memory, null
  br i1 %no.memory, label %full, label %fold
fold:
  %f = phi i64 [ 0, %reduce ], [ %f.next, %folded ]
  %f.more = icmp slt i64 %f, %folds
  br i1 %f.more, label %folded, label %partials
folded:
  %offset = mul i64 %f, %bytes
  %fold.address = getelementptr i8, ptr %memory, i64 %offset
  %fold.place = add i64 %count, %f
  %fold.at = getelementptr ptr, ptr %arrays, i64 %fold.place
  store ptr %fold.address, ptr %fold.at, align 8
  %f.next = add i64 %f, 1
  br label %fold
partials:
  call void @run(ptr %kernel, ptr %settings, ptr %arrays, ptr %integers, i64 %blocks, i64 2,
                 i64 %work)
  %finish.n = call i64 @entry_of(ptr %table, i64 {FINISH})
  %finish = inttoptr i64 %finish.n to ptr
  call void %finish(ptr %arrays, ptr %integers, i64 0, i64 %blocks)
  call void @free(ptr %memory)
  br label %end
end:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %failed, label %none
none:
  %none.n = call i64 @entry_of(ptr %table, i64 {NONE})
  %nothing = inttoptr i64 %none.n to ptr
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
full:
  %ignored.1 = call ptr @PyErr_NoMemory()
  ret ptr null
bad:
  %ignored.2 = call i32 @PyErr_BadArgument()
  ret ptr null
failed:
  ret ptr null
}}
"""


@dataclass(frozen=True)
class Layout:
    """What a call has to know of a kernel besides its addresses.

    Attributes
    ----------
    sizes : int
        How many sizes it takes.
    arrays : int
        How many arrays it takes.
    folds : int
        How many of its results are combined from partial ones; 0 for a kernel whose outermost loop
        keeps its elements apart.
    kept : int
        Bit g is set where the results of reductions span group g of its loops.
    cost : int
        Picoseconds for each element of the loop, as an estimate.
    strides : tuple of (int, int)
        The array and the axis of each stride that it takes.
    """

    sizes: int
    arrays: int
    folds: int = 0
    kept: int = 0
    cost: int = 1000
    strides: tuple[tuple[int, int], ...] = ()


class _Method(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_FASTCALL = 0x80
_methods: list[Any] = []  # of functions that are still alive, as far as anyone can tell
_lock = threading.Lock()


@lru_cache(maxsize=1)
def _new() -> Callable[..., Any]:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    new.restype = ctypes.py_object
    return new


def bind(
    name: str, trampoline: int, addresses: Sequence[int], layout: Layout
) -> Callable[..., None]:
    """Return a function of Python's that calls a kernel.

    Parameters
    ----------
    name : str
        Its name.
    trampoline : int
        The address of the trampoline.
    addresses : sequence of int
        Those of the kernel and, for reductions, of what combines partial results.
    layout : Layout
        What the kernel takes.

    Returns
    -------
    callable
        Takes the sizes and then the arrays, and returns None.
    """
    table = np.zeros(HEAD + 2 * len(layout.strides), dtype=np.int64)
    table[:HEAD] = (
        addresses[0], addresses[-1], layout.sizes, layout.arrays, layout.folds, layout.kept,
        layout.cost, settings.ctypes.data, id(np.ndarray), id(None), len(layout.strides),
    )  # fmt: skip
    table[HEAD:] = [number for pair in layout.strides for number in pair]
    return builtin(name, trampoline, table)


def builtin(
    name: str, address: int, table: npt.NDArray[np.int64], *kept: Any
) -> Callable[..., Any]:
    """Return a builtin function of Python's that is machine code.

    Parameters
    ----------
    name : str
        Its name.
    address : int
        A function of ``self``, a pointer to the arguments, and their number.
    table : array of int64
        Its ``self``.
    *kept : object
        What the table holds addresses of.
    """
    _checked()
    method = _Method(name.encode(), address, _FASTCALL, None)
    with _lock:
        _methods.append((method, kept))  # Python keeps a pointer to it
    found: Callable[..., Any] = _new()(ctypes.addressof(method), table, None)
    return found


@lru_cache(maxsize=1)
def _checked() -> None:
    """Compare an array with what the trampoline takes it to be."""
    array = np.arange(6.0).reshape(2, 3)[:, ::2]
    words = (ctypes.c_int64 * 9).from_address(id(array))
    strides = (ctypes.c_int64 * 2).from_address(words[5])
    if (
        words[1] != id(np.ndarray)
        or words[2] != array.ctypes.data
        or words[3] & 0xFFFFFFFF != array.ndim
        or tuple((ctypes.c_int64 * 2).from_address(words[4])) != array.shape
        or words[7] != id(array.dtype)
        or words[8] & 0xFFFFFFFF != array.flags.num
        or tuple(strides) != array.strides
    ):
        raise CompileError(
            "arrays do not lie in memory as the CPU backend takes them to",
            {"numpy": np.__version__},
            "Use target='numpy' with this build of Python and NumPy.",
        )


__all__ = ["ENTRY_OF", "TRAMPOLINE", "Layout", "bind", "builtin", "settings"]
