"""An allocator that reuses the memory of large arrays.

The system returns large allocations as pages that it zeroes on first access, which takes longer
than most kernels need to fill them.  The arena therefore keeps freed blocks and reuses them for
arrays of about the same size.  All programs and threads of a process share one arena.

NumPy lets a handler provide and free the memory of arrays (NEP 49,
https://numpy.org/neps/nep-0049.html).  The arena is such a handler, in machine code, and is set
only while a program allocates a large array.  The result is an ordinary array that owns its memory.

Blocks are page-aligned, while the system's allocator puts a header at the start of a page.  A
kernel thus stores slightly below the addresses that it loads, modulo the page size.  If it stored
slightly above them, loads would seem to depend on recent stores, because processors compare the low
address bits first (A. Fog, "The microarchitecture of Intel, AMD and VIA CPUs", false dependences).
That would cost a tenth to a third of the time (benchmarks/large_results.py).

Slots hold the free blocks.  Atomic exchanges update them, so no lock can be left held in a forked
child.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.backends.base import Array
from relgraph.backends.numba import numpy_api
from relgraph.backends.numba.launch import ENTRY_OF
from relgraph.settings import config

LARGE = 2**20  # smallest block that is kept, in bytes
FEW = LARGE // 8  # an array with fewer elements is not large, whatever its dtype
SLOTS = 64  # maximum number of free blocks
SPARE = 8  # a block is reused if at most 1/SPARE of it stays unused
_PAGE = 4096  # alignment of blocks, in bytes
_NAME = b"mem_handler"  # the name that NumPy requires for the capsule of a handler
_HEAD = 16  # bytes before a block: the address to free and the size of the block

# The context of the handler: bytes kept and their limit, the next slot to evict, NumPy's own
# handler (its context, malloc and free), and the slots.
KEPT, LIMIT, TURN, OWN, OWN_MALLOC, OWN_FREE, FIRST = range(7)

_BLOCKS = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64, i64)
{ENTRY_OF}

define internal i64 @capacity(ptr %block) alwaysinline {{
  %at = getelementptr i8, ptr %block, i64 -8
  %bytes = load i64, ptr %at, align 8
  ret i64 %bytes
}}

; A block from NumPy's own allocator; null where there is no memory.
define internal ptr @obtain(ptr %arena, i64 %bytes) {{
entry:
  %whole = add i64 %bytes, {_HEAD + _PAGE - 1}
  %sane = icmp ugt i64 %whole, %bytes
  br i1 %sane, label %ask, label %none
ask:
  %own.n = call i64 @entry_of(ptr %arena, i64 {OWN})
  %own = inttoptr i64 %own.n to ptr
  %malloc.n = call i64 @entry_of(ptr %arena, i64 {OWN_MALLOC})
  %malloc = inttoptr i64 %malloc.n to ptr
  %base = call ptr %malloc(ptr %own, i64 %whole)
  %refused = icmp eq ptr %base, null
  br i1 %refused, label %none, label %given
given:
  %base.n = ptrtoint ptr %base to i64
  %above = add i64 %base.n, {_HEAD + _PAGE - 1}
  %block.n = and i64 %above, -{_PAGE}
  %block = inttoptr i64 %block.n to ptr
  %base.at = getelementptr i8, ptr %block, i64 -16
  store ptr %base, ptr %base.at, align 8
  %bytes.at = getelementptr i8, ptr %block, i64 -8
  store i64 %bytes, ptr %bytes.at, align 8
  ret ptr %block
none:
  ret ptr null
}}

; Give a block back to NumPy's own allocator.
define internal void @release(ptr %arena, ptr %block) {{
  %own.n = call i64 @entry_of(ptr %arena, i64 {OWN})
  %own = inttoptr i64 %own.n to ptr
  %free.n = call i64 @entry_of(ptr %arena, i64 {OWN_FREE})
  %free = inttoptr i64 %free.n to ptr
  %bytes = call i64 @capacity(ptr %block)
  %whole = add i64 %bytes, {_HEAD + _PAGE - 1}
  %base.at = getelementptr i8, ptr %block, i64 -16
  %base = load ptr, ptr %base.at, align 8
  call void %free(ptr %own, ptr %base, i64 %whole)
  ret void
}}
"""

_SLOTS = f"""
define internal ptr @slot(ptr %arena, i64 %i) alwaysinline {{
  %at = add i64 %i, {FIRST}
  %place = getelementptr i64, ptr %arena, i64 %at
  ret ptr %place
}}

; Put a block in an empty slot; it is released where there is none.  Its bytes are counted already.
define internal void @put(ptr %arena, ptr %block) {{
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %more = icmp slt i64 %i, {SLOTS}
  br i1 %more, label %try, label %full
try:
  %place = call ptr @slot(ptr %arena, i64 %i)
  %found = cmpxchg ptr %place, ptr null, ptr %block seq_cst seq_cst
  %empty = extractvalue {{ ptr, i1 }} %found, 1
  br i1 %empty, label %done, label %next
next:
  %i.next = add i64 %i, 1
  br label %look
full:
  %bytes = call i64 @capacity(ptr %block)
  %kept = atomicrmw sub ptr %arena, i64 %bytes seq_cst
  call void @release(ptr %arena, ptr %block)
  br label %done
done:
  ret void
}}

; Release kept blocks, one slot after the other, until no more than so many bytes are kept.
define internal void @shrink(ptr %arena, i64 %most) {{
entry:
  %turn.at = getelementptr i64, ptr %arena, i64 {TURN}
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %i.next = add i64 %i, 1
  %kept = load atomic i64, ptr %arena seq_cst, align 8
  %over = icmp sgt i64 %kept, %most
  %more = icmp slt i64 %i, {SLOTS}
  %both = and i1 %over, %more
  br i1 %both, label %empty, label %done
empty:
  %turn = atomicrmw add ptr %turn.at, i64 1 seq_cst
  %which = urem i64 %turn, {SLOTS}
  %place = call ptr @slot(ptr %arena, i64 %which)
  %block = atomicrmw xchg ptr %place, ptr null seq_cst
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %next, label %some
some:
  %bytes = call i64 @capacity(ptr %block)
  %before = atomicrmw sub ptr %arena, i64 %bytes seq_cst
  call void @release(ptr %arena, ptr %block)
  br label %next
next:
  br label %look
done:
  ret void
}}

define void @NAME_shrink(ptr %arena, i64 %most) {{
  call void @shrink(ptr %arena, i64 %most)
  ret void
}}
"""

_HANDLER = f"""
; A kept block that fits, or a new one.
define ptr @NAME_malloc(ptr %arena, i64 %bytes) {{
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i, {SLOTS}
  br i1 %more, label %peek, label %new
peek:
  %place = call ptr @slot(ptr %arena, i64 %i)
  %seen = load atomic ptr, ptr %place seq_cst, align 8
  %nothing = icmp eq ptr %seen, null
  br i1 %nothing, label %next, label %take
take:  ; only what was taken may be looked into: another thread may release what is only seen
  %block = atomicrmw xchg ptr %place, ptr null seq_cst
  %gone = icmp eq ptr %block, null
  br i1 %gone, label %next, label %compare
compare:
  %capacity = call i64 @capacity(ptr %block)
  %enough = icmp uge i64 %capacity, %bytes
  %unused = sub i64 %capacity, %bytes
  %part = udiv i64 %capacity, {SPARE}
  %near = icmp ule i64 %unused, %part
  %fits = and i1 %enough, %near
  br i1 %fits, label %ours, label %back
back:
  call void @put(ptr %arena, ptr %block)
  br label %next
next:
  br label %look
ours:
  %before = atomicrmw sub ptr %arena, i64 %capacity seq_cst
  ret ptr %block
new:
  %first = call ptr @obtain(ptr %arena, i64 %bytes)
  %refused = icmp eq ptr %first, null
  br i1 %refused, label %again, label %given
again:  ; what is kept may be what is missing
  call void @shrink(ptr %arena, i64 0)
  %second = call ptr @obtain(ptr %arena, i64 %bytes)
  ret ptr %second
given:
  ret ptr %first
}}

define void @NAME_free(ptr %arena, ptr %block, i64 %size) {{
entry:
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %done, label %some
some:
  %bytes = call i64 @capacity(ptr %block)
  %limit = call i64 @entry_of(ptr %arena, i64 {LIMIT})
  %small = icmp ult i64 %bytes, {LARGE}
  %huge = icmp ugt i64 %bytes, %limit
  %either = or i1 %small, %huge
  br i1 %either, label %drop, label %keep
drop:
  call void @release(ptr %arena, ptr %block)
  br label %done
keep:
  %room = sub i64 %limit, %bytes
  call void @shrink(ptr %arena, i64 %room)
  %before = atomicrmw add ptr %arena, i64 %bytes seq_cst
  call void @put(ptr %arena, ptr %block)
  br label %done
done:
  ret void
}}

define ptr @NAME_calloc(ptr %arena, i64 %count, i64 %item) {{
entry:
  %product = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 %count, i64 %item)
  %bytes = extractvalue {{ i64, i1 }} %product, 0
  %over = extractvalue {{ i64, i1 }} %product, 1
  br i1 %over, label %none, label %ask
ask:
  %block = call ptr @NAME_malloc(ptr %arena, i64 %bytes)
  %refused = icmp eq ptr %block, null
  br i1 %refused, label %none, label %given
given:
  call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 %bytes, i1 false)
  ret ptr %block
none:
  ret ptr null
}}

define ptr @NAME_realloc(ptr %arena, ptr %block, i64 %bytes) {{
entry:
  %new = call ptr @NAME_malloc(ptr %arena, i64 %bytes)
  %refused = icmp eq ptr %new, null
  %nothing = icmp eq ptr %block, null
  %either = or i1 %refused, %nothing
  br i1 %either, label %done, label %move
move:
  %old = call i64 @capacity(ptr %block)
  %common = call i64 @llvm.umin.i64(i64 %old, i64 %bytes)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %block, i64 %common, i1 false)
  call void @NAME_free(ptr %arena, ptr %block, i64 %old)
  br label %done
done:
  ret ptr %new
}}
"""

TEXT = f"{_BLOCKS}{_SLOTS}{_HANDLER}"
"""The handler as LLVM IR: the functions NAME_malloc, _calloc, _realloc, _free and _shrink."""
ENDS = ("_malloc", "_calloc", "_realloc", "_free", "_shrink")


class _Allocator(ctypes.Structure):
    _fields_ = [
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    ]


class _Handler(ctypes.Structure):
    """NumPy's ``PyDataMem_Handler``."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("allocator", _Allocator),
    ]


class Arena:
    """The memory of large arrays that were freed.

    ``functions`` are the addresses of the functions of :data:`TEXT`, in the order of :data:`ENDS`.
    ``handler`` is the capsule that NumPy allocates from while it is set.
    """

    def __init__(self, functions: Sequence[int]) -> None:
        *allocator, shrink = functions
        default = numpy_api.pointer_in(numpy_api.default_handler(), _NAME)
        allocator_of_numpy = _Handler.from_address(default).allocator
        self._table: npt.NDArray[np.int64] = np.zeros(FIRST + SLOTS, dtype=np.int64)
        self._table[OWN:FIRST] = (
            allocator_of_numpy.context or 0,
            allocator_of_numpy.malloc,
            allocator_of_numpy.free,
        )
        self._shrink = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(shrink)
        self._handler = _Handler(b"relgraph", 1, _Allocator(self._table.ctypes.data, *allocator))
        self.handler = _capsule(ctypes.addressof(self._handler))
        self._set = numpy_api.set_handler()
        for lasting in (self._table, self._handler, self.handler, _NAME):
            _keep(lasting)
        self.limit()
        config.on_change(self.limit)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an uninitialised array whose memory comes from the arena and returns to it."""
        before = self._set(self.handler)
        try:
            return np.empty(shape, dtype)
        finally:
            self._set(before)

    def limit(self) -> None:
        """Apply the setting ``arena_limit``."""
        self._table[LIMIT] = config.arena_limit
        self.release(config.arena_limit)

    def release(self, most: int = 0) -> None:
        """Free blocks until at most ``most`` bytes are kept."""
        self._shrink(self._table.ctypes.data, most)

    @property
    def nbytes(self) -> int:
        """The number of bytes that are kept."""
        return int(self._table[KEPT])


def _capsule(address: int) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, _NAME, None)


def _keep(value: Any) -> None:
    """Keep an object alive forever: the last arrays may be freed after all modules."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


__all__ = ["ENDS", "FEW", "LARGE", "TEXT", "Arena"]
