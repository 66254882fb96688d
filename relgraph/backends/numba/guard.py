"""A machine-code test of arguments: return True if a program can use them as they are.

The test is a builtin function.  It checks that each argument is an instance of ``numpy.ndarray``
itself, has the declared dtype and rank, and is C-contiguous and aligned, and that sizes agree.  For
an argument without dimensions, a program in machine code also takes a NumPy scalar of that dtype,
and a Python number that NumPy converts to it without a warning.  Arguments that the program writes
to, such as out arguments, must be writeable and share no memory with another argument, unless they
are the same array as an input that may be overwritten.  Like :mod:`.calls` the test reads the
fields of NumPy's ABI, in a few nanoseconds per argument.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from relgraph.backends.base import Source
from relgraph.backends.numba.calls import builtin
from relgraph.backends.numba.launch import ENTRY_OF

_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
COUNT, PAIRS, ARRAY_TYPE, TRUE, FALSE, WRITTEN, FLOAT, HEAD = range(8)
_MOST = 2**63 - 1  # the greatest int that a register holds
_MOST_FLOAT32 = "0x47EFFFFFE0000000"
EACH = 8  # entries per argument
_BITS = 63  # arguments that the mask of an argument can hold
_WRITTEN = -1 << _BITS  # the mask of an argument that the program writes to

# After the head, the table holds for each argument its dtype object, rank and item size; a mask, in
# which bit 63 says that the program writes to it, and other bits which arguments may then be the
# same array; the types of scalars and of Python numbers that pass, or 0; and the least and the
# greatest int.  Then it holds two (argument, axis) for each pair of sizes; (-1, size) stands for a
# number.
GUARD = f"""
declare void @Py_IncRef(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @llvm.fabs.f64(double)

{ENTRY_OF}
define internal i64 @field(ptr %object, i64 %offset) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 %offset
  %value = load i64, ptr %at, align 8
  ret i64 %value
}}

; Whether a scalar or a Python number of this type can stand for an argument.
define internal i1 @number(ptr %table, i64 %at, ptr %object, i64 %type) noinline optsize {{
entry:
  %overflow = alloca i32
  %scalar.at = add i64 %at, 4
  %scalar = call i64 @entry_of(ptr %table, i64 %scalar.at)
  %is.scalar = icmp eq i64 %type, %scalar
  br i1 %is.scalar, label %yes, label %other
other:
  %number.at = add i64 %at, 5
  %number = call i64 @entry_of(ptr %table, i64 %number.at)
  %is.number = icmp eq i64 %type, %number
  br i1 %is.number, label %ranged, label %no
ranged:
  %float = call i64 @entry_of(ptr %table, i64 {FLOAT})
  %is.float = icmp eq i64 %type, %float
  br i1 %is.float, label %floating, label %integral
floating:
  %itemsize.at = add i64 %at, 2
  %itemsize = call i64 @entry_of(ptr %table, i64 %itemsize.at)
  %value.at = getelementptr i8, ptr %object, i64 16
  %value = load double, ptr %value.at, align 8
  %size = call double @llvm.fabs.f64(double %value)
  %finite = fcmp one double %size, 0x7FF0000000000000
  %beyond = fcmp ogt double %size, {_MOST_FLOAT32}
  %inexact = and i1 %finite, %beyond
  %wide = icmp eq i64 %itemsize, 8
  %narrow = xor i1 %inexact, true
  %exact = or i1 %wide, %narrow
  ret i1 %exact
integral:
  %least.at = add i64 %at, 6
  %least = call i64 @entry_of(ptr %table, i64 %least.at)
  %most.at = add i64 %at, 7
  %most = call i64 @entry_of(ptr %table, i64 %most.at)
  %integer = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %overflowed = load i32, ptr %overflow, align 4
  %above = icmp sge i64 %integer, %least
  %below = icmp sle i64 %integer, %most
  %between = and i1 %above, %below
  %whole = icmp eq i32 %overflowed, 0
  %fits = and i1 %between, %whole
  ret i1 %fits
yes:
  ret i1 true
no:
  ret i1 false
}}

define internal i64 @size(ptr %args, ptr %table, i64 %at) alwaysinline {{
  %argument = call i64 @entry_of(ptr %table, i64 %at)
  %after = add i64 %at, 1
  %axis = call i64 @entry_of(ptr %table, i64 %after)
  %number = icmp slt i64 %argument, 0
  br i1 %number, label %given, label %read
given:
  ret i64 %axis
read:
  %object.n = call i64 @entry_of(ptr %args, i64 %argument)
  %object = inttoptr i64 %object.n to ptr
  %dimensions.n = call i64 @field(ptr %object, i64 32)
  %dimensions = inttoptr i64 %dimensions.n to ptr
  %dimension = call i64 @entry_of(ptr %dimensions, i64 %axis)
  ret i64 %dimension
}}

; The bytes of an argument.
define internal i64 @extent(ptr %args, ptr %table, i64 %argument) optsize {{
entry:
  %object.n = call i64 @entry_of(ptr %args, i64 %argument)
  %object = inttoptr i64 %object.n to ptr
  %first = mul i64 %argument, {EACH}
  %at = add i64 %first, {HEAD}
  %rank.at = add i64 %at, 1
  %rank = call i64 @entry_of(ptr %table, i64 %rank.at)
  %itemsize.at = add i64 %at, 2
  %itemsize = call i64 @entry_of(ptr %table, i64 %itemsize.at)
  %dimensions.n = call i64 @field(ptr %object, i64 32)
  %dimensions = inttoptr i64 %dimensions.n to ptr
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %axis ]
  %bytes = phi i64 [ %itemsize, %entry ], [ %bytes.next, %axis ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %axis, label %done
axis:
  %dimension = call i64 @entry_of(ptr %dimensions, i64 %i)
  %bytes.next = mul i64 %bytes, %dimension
  %i.next = add i64 %i, 1
  br label %look
done:
  ret i64 %bytes
}}

define ptr @NAME(ptr %self, ptr %args, i64 %nargs) optsize {{
entry:
  %table.n = call i64 @field(ptr %self, i64 16)
  %table = inttoptr i64 %table.n to ptr
  %count = call i64 @entry_of(ptr %table, i64 {COUNT})
  %pairs = call i64 @entry_of(ptr %table, i64 {PAIRS})
  %written.count = call i64 @entry_of(ptr %table, i64 {WRITTEN})
  %type = call i64 @entry_of(ptr %table, i64 {ARRAY_TYPE})
  %right = icmp eq i64 %count, %nargs
  br i1 %right, label %argument, label %no
argument:
  %i = phi i64 [ 0, %entry ], [ %i.next, %laid ]
  %at = phi i64 [ {HEAD}, %entry ], [ %at.next, %laid ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %typed, label %pair
typed:
  %object.n = call i64 @entry_of(ptr %args, i64 %i)
  %object = inttoptr i64 %object.n to ptr
  %object.type = call i64 @field(ptr %object, i64 8)
  %is.array = icmp eq i64 %object.type, %type
  br i1 %is.array, label %array, label %number
number:
  %is.number = call i1 @number(ptr %table, i64 %at, ptr %object, i64 %object.type)
  br i1 %is.number, label %laid, label %no
array:
  %dtype = call i64 @field(ptr %object, i64 56)
  %dtype.wanted = call i64 @entry_of(ptr %table, i64 %at)
  %dtype.right = icmp eq i64 %dtype, %dtype.wanted
  %rank.at = add i64 %at, 1
  %rank.wanted = call i64 @entry_of(ptr %table, i64 %rank.at)
  %rank.word = call i64 @field(ptr %object, i64 24)
  %rank = and i64 %rank.word, 4294967295
  %rank.right = icmp eq i64 %rank, %rank.wanted
  %flags = call i64 @field(ptr %object, i64 64)
  %laid.out = and i64 %flags, {_C_CONTIGUOUS | _ALIGNED}
  %layout.right = icmp eq i64 %laid.out, {_C_CONTIGUOUS | _ALIGNED}
  %two = and i1 %dtype.right, %rank.right
  %three = and i1 %two, %layout.right
  br i1 %three, label %laid, label %no
laid:
  %i.next = add i64 %i, 1
  %at.next = add i64 %at, {EACH}
  br label %argument
pair:
  %k = phi i64 [ 0, %argument ], [ %k.next, %equal ]
  %first = phi i64 [ %at, %argument ], [ %first.next, %equal ]
  %k.more = icmp slt i64 %k, %pairs
  br i1 %k.more, label %sizes, label %memory
sizes:
  %one = call i64 @size(ptr %args, ptr %table, i64 %first)
  %second = add i64 %first, 2
  %other = call i64 @size(ptr %args, ptr %table, i64 %second)
  %agree = icmp eq i64 %one, %other
  br i1 %agree, label %equal, label %no
equal:
  %k.next = add i64 %k, 1
  %first.next = add i64 %first, 4
  br label %pair
memory:
  %writes = icmp ne i64 %written.count, 0
  br i1 %writes, label %place, label %yes
place:  ; each argument that is written
  %q = phi i64 [ 0, %memory ], [ %q.next, %placed ], [ %q.next, %candidate ]
  %q.next = add i64 %q, 1
  %q.more = icmp slt i64 %q, %count
  br i1 %q.more, label %candidate, label %yes
candidate:
  %q.at = mul i64 %q, {EACH}
  %q.mask.at = add i64 %q.at, {HEAD + 3}
  %q.mask = call i64 @entry_of(ptr %table, i64 %q.mask.at)
  %q.written = icmp slt i64 %q.mask, 0
  br i1 %q.written, label %written, label %place
written:
  %q.object.n = call i64 @entry_of(ptr %args, i64 %q)
  %q.object = inttoptr i64 %q.object.n to ptr
  %q.flags = call i64 @field(ptr %q.object, i64 64)
  %q.writeable = and i64 %q.flags, {_WRITEABLE}
  %q.can = icmp ne i64 %q.writeable, 0
  %q.start = call i64 @field(ptr %q.object, i64 16)
  %q.bytes = call i64 @extent(ptr %args, ptr %table, i64 %q)
  %q.end = add i64 %q.start, %q.bytes
  br i1 %q.can, label %beside, label %no
beside:  ; against each other argument
  %r = phi i64 [ 0, %written ], [ %r.next, %apart ]
  %r.more = icmp slt i64 %r, %count
  br i1 %r.more, label %compare, label %placed
compare:
  %r.object.n = call i64 @entry_of(ptr %args, i64 %r)
  %r.object = inttoptr i64 %r.object.n to ptr
  %r.start = call i64 @field(ptr %r.object, i64 16)
  %r.bytes = call i64 @extent(ptr %args, ptr %table, i64 %r)
  %r.end = add i64 %r.start, %r.bytes
  %before = icmp uge i64 %q.start, %r.end
  %after.it = icmp uge i64 %r.start, %q.end
  %disjoint = or i1 %before, %after.it
  %itself = icmp eq i64 %q, %r
  %r.bit = call i64 @llvm.umin.i64(i64 %r, i64 {_BITS})
  %others = xor i64 %q.mask, {_WRITTEN}
  %shifted = lshr i64 %others, %r.bit
  %bit = and i64 %shifted, 1
  %allowed = icmp ne i64 %bit, 0
  %same.start = icmp eq i64 %q.start, %r.start
  %same.bytes = icmp eq i64 %q.bytes, %r.bytes
  %same = and i1 %same.start, %same.bytes
  %shared = and i1 %same, %allowed
  %fine.0 = or i1 %disjoint, %itself
  %fine = or i1 %fine.0, %shared
  br i1 %fine, label %apart, label %no
apart:
  %r.next = add i64 %r, 1
  br label %beside
placed:
  br label %place
yes:
  %true.n = call i64 @entry_of(ptr %table, i64 {TRUE})
  br label %answer
no:
  %false.n = call i64 @entry_of(ptr %table, i64 {FALSE})
  br label %answer
answer:
  %answer.n = phi i64 [ %true.n, %yes ], [ %false.n, %no ]
  %object.answer = inttoptr i64 %answer.n to ptr
  call void @Py_IncRef(ptr %object.answer)
  ret ptr %object.answer
}}
"""


def bind_guard(
    address: int,
    wanted: Sequence[tuple[np.dtype[Any] | None, int]],
    equal: Sequence[tuple[Source, Source]],
    written: Mapping[int, Collection[int]] = MappingProxyType({}),
    numbers: bool = False,
) -> Callable[..., bool]:
    """Return the test of the arguments of a function, which takes any number of arguments.

    ``wanted`` holds the dtype and rank of each argument, with None for a dtype that no array has.
    ``equal`` lists sizes that must be equal; an axis may count from the end.  ``written`` holds,
    for each argument that the program writes to, the arguments that may be the same array.  With
    ``numbers``, scalars and Python numbers pass for arguments without dimensions.
    """
    table = [len(wanted), len(equal), id(np.ndarray), id(True), id(False), len(written), id(float)]
    for position, (dtype, rank) in enumerate(wanted):
        mask = 0
        if position in written:
            mask = _WRITTEN + sum(1 << i for i in written[position] if i < _BITS)
        table += [0, rank, 0, 0] if dtype is None else [id(dtype), rank, dtype.itemsize, mask]
        table += [0] * 4 if dtype is None or rank or not numbers else _numbers(dtype)
    for pair in equal:
        for source in pair:
            if isinstance(source, int):
                table += [-1, source]
            else:
                argument, axis = source
                table += [argument, axis if axis >= 0 else axis + wanted[argument][1]]
    dtypes = [dtype for dtype, _ in wanted]  # kept alive, so that their addresses stay valid
    test: Callable[..., bool] = builtin("guard", address, np.array(table, dtype=np.int64), dtypes)
    return test


def _numbers(dtype: np.dtype[Any]) -> list[int]:
    """Return what the table holds of the scalars and the Python numbers of a dtype."""
    number = {"b": bool, "f": float}.get(dtype.kind, int)
    if number is not int:
        return [id(dtype.type), id(number), 0, 1]
    info = np.iinfo(dtype)
    return [id(dtype.type), id(number), int(info.min), min(int(info.max), _MOST)]


__all__ = ["GUARD", "Source", "bind_guard"]
