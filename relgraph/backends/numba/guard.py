"""A test in machine code of arguments that a program can use as they are.

It is a builtin function of Python's that takes the arguments of a call and returns whether each is
an array of NumPy's own type, of the dtype and rank that was declared, with its elements in order,
one after the other, and aligned; and whether the sizes agree that have to.  It reads what NumPy's
ABI fixes, as :mod:`.calls` does, in a few nanoseconds for each argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgraph.backends.numba.calls import builtin

Source = tuple[int, int] | int  # an input and its axis, or a size

_C_CONTIGUOUS, _ALIGNED = 0x1, 0x100
COUNT, PAIRS, ARRAY_TYPE, TRUE, FALSE, HEAD = range(6)

# After the head of the table come the dtype object and rank of each argument, and then for each
# pair of sizes two (argument, axis); the argument -1 stands for the number in place of an axis.
GUARD = f"""
declare void @Py_IncRef(ptr)

define internal i64 @entry_of(ptr %table, i64 %index) alwaysinline {{
  %at = getelementptr i64, ptr %table, i64 %index
  %value = load i64, ptr %at, align 8
  ret i64 %value
}}

define internal i64 @field(ptr %object, i64 %offset) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 %offset
  %value = load i64, ptr %at, align 8
  ret i64 %value
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

define ptr @NAME(ptr %self, ptr %args, i64 %nargs) {{
entry:
  %table.n = call i64 @field(ptr %self, i64 16)
  %table = inttoptr i64 %table.n to ptr
  %count = call i64 @entry_of(ptr %table, i64 {COUNT})
  %pairs = call i64 @entry_of(ptr %table, i64 {PAIRS})
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
  br i1 %is.array, label %array, label %no
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
  %at.next = add i64 %at, 2
  br label %argument
pair:
  %k = phi i64 [ 0, %argument ], [ %k.next, %equal ]
  %first = phi i64 [ %at, %argument ], [ %first.next, %equal ]
  %k.more = icmp slt i64 %k, %pairs
  br i1 %k.more, label %sizes, label %yes
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
) -> Callable[..., bool]:
    """Return the test of the arguments of a function.

    Parameters
    ----------
    address : int
        That of the machine function.
    wanted : sequence of (dtype, int)
        The dtype and rank of each argument; None for a dtype that no array has.
    equal : sequence of (source, source)
        Which sizes must be equal: each an argument and its axis, which may be counted from the end,
        or an int.

    Returns
    -------
    callable
        Takes the arguments, any number of them.
    """
    table = [len(wanted), len(equal), id(np.ndarray), id(True), id(False)]
    for dtype, rank in wanted:
        table += [0 if dtype is None else id(dtype), rank]
    for pair in equal:
        for source in pair:
            if isinstance(source, int):
                table += [-1, source]
            else:
                argument, axis = source
                table += [argument, axis if axis >= 0 else axis + wanted[argument][1]]
    dtypes = [dtype for dtype, _ in wanted]  # kept, so that no other object has their addresses
    test: Callable[..., bool] = builtin("guard", address, np.array(table, dtype=np.int64), dtypes)
    return test


__all__ = ["GUARD", "Source", "bind_guard"]
