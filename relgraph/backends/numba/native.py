"""A whole program in machine code: its sizes, its memory and its kernels, without Python between.

A program that only calls kernels on its inputs, on constants and on results of other kernels is a
*tape* of integers, which one machine function reads, the same for all programs.  It is a builtin
function of Python's that takes the arguments of the program's main function, once these have passed
their test, and returns what that returns.  What it leaves to the main function, which it calls with
the same arguments: a size or an index that is wrong, extremes of nothing, and temporaries that are
large, since the arena keeps these.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from relgraph.backends.base import Array
from relgraph.backends.numba.arena import LARGE
from relgraph.backends.numba.calls import builtin
from relgraph.backends.numba.launch import ARRAYS, FOLDS, LAUNCH, SIZES
from relgraph.backends.numba.lone import LONG

# The head of a tape.  After it come, one after the other: for each term two integers, an argument
# and its axis, or -1 and a size; the addresses of the constants; the memory of values; the steps;
# for each result the value that it is.
ARGUMENTS, TERMS, CONSTANTS, MEMORY, STEPS, RESULTS, RESULTS_AT = range(7)
MAIN, NONE, ARRAY_TYPE, NEW, AS_SCALAR = range(7, 12)
HEAD = 12

TEMPORARY, RESULT, PLACE = range(3)  # kinds of memory
RUN, EQUAL, WITHIN, SOME, LONE = range(5)  # kinds of steps

_MOST_DIMENSIONS = 64  # of an array of NumPy
_PARTIAL = 1 << 30  # what a factor of a number of bytes counts at most; products do not overflow

# In what follows, a value is a pointer to the first of its elements.  Values are numbered:
# arguments first, then constants, then what is allocated.
#
# Memory is (kind, bytes of an element, dtype object or the argument that is the place, rank, then
# a term for each axis).  The steps:
#
#   RUN, table of the kernel, for each of its sizes the number of terms and these, for each of its
#       arrays a value
#   EQUAL, term, term
#   WITHIN, value, term: an integer without a sign that must be less
#   SOME, the number of terms, and these: of which none may be 0
#   LONE, the number of terms, these, and the same again: of which the first may not all be 1 where
#       the product of the others is large
PROGRAM = f"""{LAUNCH}
declare i32 @PyErr_CheckSignals()
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)

define internal i64 @product(ptr %tape, i64 %at, i64 %count, ptr %terms, i64 %first) optsize {{
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %term ]
  %total = phi i64 [ %first, %entry ], [ %total.next, %term ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %term, label %done
term:
  %place = add i64 %at, %i
  %which = call i64 @entry_of(ptr %tape, i64 %place)
  %size = call i64 @entry_of(ptr %terms, i64 %which)
  %total.next = mul i64 %total, %size
  %i.next = add i64 %i, 1
  br label %look
done:
  ret i64 %total
}}

; The bytes of an array, or more than are ever allocated here.
define internal i64 @bytes(ptr %tape, i64 %at, i64 %count, ptr %terms, i64 %first) optsize {{
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %term ]
  %total = phi i64 [ %first, %entry ], [ %total.next, %term ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %term, label %done
term:
  %place = add i64 %at, %i
  %which = call i64 @entry_of(ptr %tape, i64 %place)
  %size = call i64 @entry_of(ptr %terms, i64 %which)
  %factor = call i64 @llvm.smin.i64(i64 %size, i64 {_PARTIAL})
  %whole = mul i64 %total, %factor
  %total.next = call i64 @llvm.smin.i64(i64 %whole, i64 {_PARTIAL})
  %i.next = add i64 %i, 1
  br label %look
done:
  ret i64 %total
}}

; Run a kernel; returns the place after it on the tape, or 0 where an error was raised.
define internal i64 @kernel(ptr %tape, i64 %at, ptr %terms, ptr %values) noinline optsize {{
entry:
  %table.n = call i64 @entry_of(ptr %tape, i64 %at)
  %table = inttoptr i64 %table.n to ptr
  %sizes = call i64 @entry_of(ptr %table, i64 {SIZES})
  %count = call i64 @entry_of(ptr %table, i64 {ARRAYS})
  %folds = call i64 @entry_of(ptr %table, i64 {FOLDS})
  %pointers = add i64 %count, %folds
  %arrays = alloca ptr, i64 %pointers
  %all = add i64 %sizes, 1
  %integers = alloca i64, i64 %all
  %at.sizes = add i64 %at, 1
  br label %size
size:
  %i = phi i64 [ 0, %entry ], [ %i.next, %sized ]
  %at.i = phi i64 [ %at.sizes, %entry ], [ %at.after, %sized ]
  %i.more = icmp slt i64 %i, %sizes
  br i1 %i.more, label %sized, label %array
sized:
  %factors = call i64 @entry_of(ptr %tape, i64 %at.i)
  %at.factors = add i64 %at.i, 1
  %value = call i64 @product(ptr %tape, i64 %at.factors, i64 %factors, ptr %terms, i64 1)
  %integer.at = getelementptr i64, ptr %integers, i64 %i
  store i64 %value, ptr %integer.at, align 8
  %at.after = add i64 %at.factors, %factors
  %i.next = add i64 %i, 1
  br label %size
array:
  %j = phi i64 [ 0, %size ], [ %j.next, %addressed ]
  %at.j = add i64 %at.i, %j
  %j.more = icmp slt i64 %j, %count
  br i1 %j.more, label %addressed, label %ready
addressed:
  %which = call i64 @entry_of(ptr %tape, i64 %at.j)
  %address = call i64 @entry_of(ptr %values, i64 %which)
  %pointer.at = getelementptr i64, ptr %arrays, i64 %j
  store i64 %address, ptr %pointer.at, align 8
  %j.next = add i64 %j, 1
  br label %array
ready:
  %outcome = call i64 @launch(ptr %table, ptr %arrays, ptr %integers)
  %fine = icmp eq i64 %outcome, 0
  %after = select i1 %fine, i64 %at.j, i64 0
  ret i64 %after
}}

; Run the steps; returns 0, 1 for what is left to the main function, or 2 where an error was raised.
define internal i64 @steps(ptr %tape, i64 %first, i64 %count, ptr %terms, ptr %values) optsize {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.1, %unraised ], [ %i.1, %alike ], [ %i.1, %below ],
               [ %i.1, %any ], [ %i.1, %other ]
  %at = phi i64 [ %first, %entry ], [ %after, %unraised ], [ %at.3, %alike ], [ %at.3, %below ],
                [ %at.any, %any ], [ %at.other, %other ]
  %i.1 = add i64 %i, 1
  %more = icmp slt i64 %i, %count
  br i1 %more, label %step, label %done
done:
  ret i64 0
step:
  %kind = call i64 @entry_of(ptr %tape, i64 %at)
  %at.1 = add i64 %at, 1
  %at.2 = add i64 %at, 2
  %at.3 = add i64 %at, 3
  switch i64 %kind, label %run [ i64 {EQUAL}, label %equal
                                 i64 {WITHIN}, label %within
                                 i64 {SOME}, label %some
                                 i64 {LONE}, label %lone ]
run:
  %after = call i64 @kernel(ptr %tape, i64 %at.1, ptr %terms, ptr %values)
  %refused = icmp eq i64 %after, 0
  br i1 %refused, label %raised, label %ran
ran:
  %error = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %error, null
  br i1 %failed, label %raised, label %unfailed
unfailed:
  %signal = call i32 @PyErr_CheckSignals()
  %interrupted = icmp ne i32 %signal, 0
  br i1 %interrupted, label %raised, label %unraised
unraised:
  br label %next
raised:
  ret i64 2
equal:
  %one = call i64 @entry_of(ptr %tape, i64 %at.1)
  %two = call i64 @entry_of(ptr %tape, i64 %at.2)
  %one.size = call i64 @entry_of(ptr %terms, i64 %one)
  %two.size = call i64 @entry_of(ptr %terms, i64 %two)
  %same = icmp eq i64 %one.size, %two.size
  br i1 %same, label %alike, label %left
alike:
  br label %next
within:
  %most = call i64 @entry_of(ptr %tape, i64 %at.1)
  %size = call i64 @entry_of(ptr %tape, i64 %at.2)
  %most.n = call i64 @entry_of(ptr %values, i64 %most)
  %most.at = inttoptr i64 %most.n to ptr
  %most.value = load i64, ptr %most.at, align 8
  %size.value = call i64 @entry_of(ptr %terms, i64 %size)
  %less = icmp ult i64 %most.value, %size.value
  br i1 %less, label %below, label %left
below:
  br label %next
some:
  %terms.count = call i64 @entry_of(ptr %tape, i64 %at.1)
  %elements = call i64 @product(ptr %tape, i64 %at.2, i64 %terms.count, ptr %terms, i64 1)
  %at.any = add i64 %at.2, %terms.count
  %nothing = icmp eq i64 %elements, 0
  br i1 %nothing, label %left, label %any
any:
  br label %next
lone:
  %rows.count = call i64 @entry_of(ptr %tape, i64 %at.1)
  %rows = call i64 @product(ptr %tape, i64 %at.2, i64 %rows.count, ptr %terms, i64 1)
  %at.row = add i64 %at.2, %rows.count
  %row.count = call i64 @entry_of(ptr %tape, i64 %at.row)
  %at.row.1 = add i64 %at.row, 1
  %row = call i64 @product(ptr %tape, i64 %at.row.1, i64 %row.count, ptr %terms, i64 1)
  %at.other = add i64 %at.row.1, %row.count
  %is.one = icmp eq i64 %rows, 1
  %is.long = icmp sge i64 %row, {LONG}
  %is.lone = and i1 %is.one, %is.long
  br i1 %is.lone, label %left, label %other
other:
  br label %next
left:
  ret i64 1
}}

define internal void @drop(ptr %objects, i64 %count) optsize {{
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %at = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %at, align 8
  %none = icmp eq ptr %object, null
  br i1 %none, label %next, label %held
held:
  call void @Py_DecRef(ptr %object)
  br label %next
next:
  %i.next = add i64 %i, 1
  br label %look
done:
  ret void
}}

define ptr @NAME(ptr %self, ptr %args, i64 %nargs) optsize {{
entry:
  %tape = call ptr @field(ptr %self, i64 16)
  %terms.count = call i64 @entry_of(ptr %tape, i64 {TERMS})
  %constants = call i64 @entry_of(ptr %tape, i64 {CONSTANTS})
  %memory.count = call i64 @entry_of(ptr %tape, i64 {MEMORY})
  %steps.count = call i64 @entry_of(ptr %tape, i64 {STEPS})
  %results = call i64 @entry_of(ptr %tape, i64 {RESULTS})
  %main.n = call i64 @entry_of(ptr %tape, i64 {MAIN})
  %main = inttoptr i64 %main.n to ptr
  %expected = call i64 @entry_of(ptr %tape, i64 {ARGUMENTS})
  %right = icmp eq i64 %expected, %nargs
  br i1 %right, label %reserve, label %bad
bad:
  %ignored.1 = call i32 @PyErr_BadArgument()
  ret ptr null
reserve:
  %terms = alloca i64, i64 %terms.count
  %known = add i64 %nargs, %constants
  %all = add i64 %known, %memory.count
  %values = alloca i64, i64 %all
  %objects = alloca ptr, i64 %memory.count
  %dimensions = alloca i64, i64 {_MOST_DIMENSIONS}
  br label %term
term:  ; the sizes
  %t = phi i64 [ 0, %reserve ], [ %t.next, %term.set ]
  %t.twice = shl i64 %t, 1
  %t.at = add i64 %t.twice, {HEAD}
  %t.more = icmp slt i64 %t, %terms.count
  br i1 %t.more, label %term.read, label %argument
term.read:
  %t.which = call i64 @entry_of(ptr %tape, i64 %t.at)
  %t.axis.at = add i64 %t.at, 1
  %t.axis = call i64 @entry_of(ptr %tape, i64 %t.axis.at)
  %t.number = icmp slt i64 %t.which, 0
  br i1 %t.number, label %term.set, label %term.dimension
term.dimension:
  %t.object.at = getelementptr ptr, ptr %args, i64 %t.which
  %t.object = load ptr, ptr %t.object.at, align 8
  %t.dimensions = call ptr @field(ptr %t.object, i64 32)
  %t.dimension = call i64 @entry_of(ptr %t.dimensions, i64 %t.axis)
  br label %term.set
term.set:
  %t.size = phi i64 [ %t.axis, %term.read ], [ %t.dimension, %term.dimension ]
  %t.place = getelementptr i64, ptr %terms, i64 %t
  store i64 %t.size, ptr %t.place, align 8
  %t.next = add i64 %t, 1
  br label %term
argument:  ; where the elements of the arguments are
  %a = phi i64 [ 0, %term ], [ %a.next, %argument.set ]
  %a.more = icmp slt i64 %a, %nargs
  br i1 %a.more, label %argument.set, label %constant
argument.set:
  %a.object.at = getelementptr ptr, ptr %args, i64 %a
  %a.object = load ptr, ptr %a.object.at, align 8
  %a.data = call ptr @field(ptr %a.object, i64 16)
  %a.place = getelementptr ptr, ptr %values, i64 %a
  store ptr %a.data, ptr %a.place, align 8
  %a.next = add i64 %a, 1
  br label %argument
constant:  ; and those of the constants
  %c = phi i64 [ 0, %argument ], [ %c.next, %constant.set ]
  %c.at = add i64 %t.at, %c
  %c.more = icmp slt i64 %c, %constants
  br i1 %c.more, label %constant.set, label %measure
constant.set:
  %c.data = call i64 @entry_of(ptr %tape, i64 %c.at)
  %c.value = add i64 %nargs, %c
  %c.place = getelementptr i64, ptr %values, i64 %c.value
  store i64 %c.data, ptr %c.place, align 8
  %c.next = add i64 %c, 1
  br label %constant
measure:  ; the bytes of temporaries, and whether places have the shapes of their results
  %m = phi i64 [ 0, %constant ], [ %m.next, %measured ]
  %m.at = phi i64 [ %c.at, %constant ], [ %m.after, %measured ]
  %total = phi i64 [ 0, %constant ], [ %total.next, %measured ]
  %m.more = icmp slt i64 %m, %memory.count
  br i1 %m.more, label %measure.one, label %measured.all
measure.one:
  %m.kind = call i64 @entry_of(ptr %tape, i64 %m.at)
  %m.item.at = add i64 %m.at, 1
  %m.item = call i64 @entry_of(ptr %tape, i64 %m.item.at)
  %m.rank.at = add i64 %m.at, 3
  %m.rank = call i64 @entry_of(ptr %tape, i64 %m.rank.at)
  %m.terms = add i64 %m.at, 4
  %m.after = add i64 %m.terms, %m.rank
  %m.place = add i64 %known, %m
  %m.value = getelementptr i64, ptr %values, i64 %m.place
  %m.object = getelementptr ptr, ptr %objects, i64 %m
  store ptr null, ptr %m.object, align 8
  switch i64 %m.kind, label %measured [ i64 {TEMPORARY}, label %measure.bytes
                                        i64 {PLACE}, label %measure.place ]
measure.bytes:
  %m.bytes = call i64 @bytes(ptr %tape, i64 %m.terms, i64 %m.rank, ptr %terms, i64 %m.item)
  %m.above = add i64 %m.bytes, 63
  %m.lines = and i64 %m.above, -64
  store i64 %total, ptr %m.value, align 8
  %total.more = add i64 %total, %m.lines
  br label %measured
measure.place:
  %m.which.at = add i64 %m.at, 2
  %m.which = call i64 @entry_of(ptr %tape, i64 %m.which.at)
  %m.given.at = getelementptr ptr, ptr %args, i64 %m.which
  %m.given = load ptr, ptr %m.given.at, align 8
  %m.data = call ptr @field(ptr %m.given, i64 16)
  %m.dimensions = call ptr @field(ptr %m.given, i64 32)
  store ptr %m.data, ptr %m.value, align 8
  br label %measure.axis
measure.axis:
  %x = phi i64 [ 0, %measure.place ], [ %x.next, %measure.same ]
  %x.more = icmp slt i64 %x, %m.rank
  br i1 %x.more, label %measure.size, label %measured
measure.size:
  %x.at = add i64 %m.terms, %x
  %x.term = call i64 @entry_of(ptr %tape, i64 %x.at)
  %x.size = call i64 @entry_of(ptr %terms, i64 %x.term)
  %x.given = call i64 @entry_of(ptr %m.dimensions, i64 %x)
  %x.same = icmp eq i64 %x.size, %x.given
  br i1 %x.same, label %measure.same, label %python
measure.same:
  %x.next = add i64 %x, 1
  br label %measure.axis
measured:
  %total.next = phi i64 [ %total, %measure.one ], [ %total.more, %measure.bytes ],
                        [ %total, %measure.axis ]
  %m.next = add i64 %m, 1
  br label %measure
python:  ; as the main function does it
  %answer = call ptr @PyObject_Vectorcall(ptr %main, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer
measured.all:
  %large = icmp sgt i64 %total, {LARGE}
  br i1 %large, label %python, label %reserved
reserved:
  %reserve.bytes = add i64 %total, 64
  %memory = call ptr @malloc(i64 %reserve.bytes)
  %memory.n = ptrtoint ptr %memory to i64
  %memory.above = add i64 %memory.n, 63
  %memory.first = and i64 %memory.above, -64
  %no.memory = icmp eq ptr %memory, null
  br i1 %no.memory, label %exhausted.0, label %allocate
exhausted.0:
  %ignored.2 = call ptr @PyErr_NoMemory()
  ret ptr null
allocate:  ; the addresses of temporaries, and new arrays
  %n = phi i64 [ 0, %reserved ], [ %n.next, %allocated ]
  %n.at = phi i64 [ %c.at, %reserved ], [ %n.after, %allocated ]
  %n.more = icmp slt i64 %n, %memory.count
  br i1 %n.more, label %allocate.one, label %work
allocate.one:
  %n.kind = call i64 @entry_of(ptr %tape, i64 %n.at)
  %n.dtype.at = add i64 %n.at, 2
  %n.rank.at = add i64 %n.at, 3
  %n.rank = call i64 @entry_of(ptr %tape, i64 %n.rank.at)
  %n.terms = add i64 %n.at, 4
  %n.after = add i64 %n.terms, %n.rank
  %n.place = add i64 %known, %n
  %n.value = getelementptr i64, ptr %values, i64 %n.place
  switch i64 %n.kind, label %allocated [ i64 {TEMPORARY}, label %allocate.bytes
                                         i64 {RESULT}, label %axis ]
allocate.bytes:
  %n.offset = load i64, ptr %n.value, align 8
  %n.address = add i64 %memory.first, %n.offset
  store i64 %n.address, ptr %n.value, align 8
  br label %allocated
axis:
  %y = phi i64 [ 0, %allocate.one ], [ %y.next, %axis.set ]
  %y.more = icmp slt i64 %y, %n.rank
  br i1 %y.more, label %axis.set, label %allocate.array
axis.set:
  %y.at = add i64 %n.terms, %y
  %y.term = call i64 @entry_of(ptr %tape, i64 %y.at)
  %y.size = call i64 @entry_of(ptr %terms, i64 %y.term)
  %y.place = getelementptr i64, ptr %dimensions, i64 %y
  store i64 %y.size, ptr %y.place, align 8
  %y.next = add i64 %y, 1
  br label %axis
allocate.array:
  %dtype.n = call i64 @entry_of(ptr %tape, i64 %n.dtype.at)
  %dtype = inttoptr i64 %dtype.n to ptr
  call void @Py_IncRef(ptr %dtype)
  %new.n = call i64 @entry_of(ptr %tape, i64 {NEW})
  %new = inttoptr i64 %new.n to ptr
  %type.n = call i64 @entry_of(ptr %tape, i64 {ARRAY_TYPE})
  %type = inttoptr i64 %type.n to ptr
  %rank = trunc i64 %n.rank to i32
  %made = call ptr %new(ptr %type, ptr %dtype, i32 %rank, ptr %dimensions, ptr null, ptr null,
                        i32 0, ptr null)
  %n.object = getelementptr ptr, ptr %objects, i64 %n
  store ptr %made, ptr %n.object, align 8
  %unmade = icmp eq ptr %made, null
  br i1 %unmade, label %failed, label %allocate.data
allocate.data:
  %made.data = call ptr @field(ptr %made, i64 16)
  store ptr %made.data, ptr %n.value, align 8
  br label %allocated
allocated:
  %n.next = add i64 %n, 1
  br label %allocate
work:
  %outcome = call i64 @steps(ptr %tape, i64 %n.at, i64 %steps.count, ptr %terms, ptr %values)
  switch i64 %outcome, label %failed [ i64 0, label %finish
                                       i64 1, label %leave ]
finish:
  call void @free(ptr %memory)
  %scalar.n = call i64 @entry_of(ptr %tape, i64 {AS_SCALAR})
  %as.scalar = inttoptr i64 %scalar.n to ptr
  %results.at = call i64 @entry_of(ptr %tape, i64 {RESULTS_AT})
  switch i64 %results, label %several [ i64 -1, label %none
                                        i64 1, label %single ]
none:
  %none.n = call i64 @entry_of(ptr %tape, i64 {NONE})
  %none.object = inttoptr i64 %none.n to ptr
  call void @Py_IncRef(ptr %none.object)
  ret ptr %none.object
single:
  %only = call i64 @entry_of(ptr %tape, i64 %results.at)
  %only.at = getelementptr ptr, ptr %objects, i64 %only
  %only.object = load ptr, ptr %only.at, align 8
  %only.result = call ptr %as.scalar(ptr %only.object)
  ret ptr %only.result
several:
  %tuple = call ptr @PyTuple_New(i64 %results)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %dropped, label %result
result:
  %r = phi i64 [ 0, %several ], [ %r.next, %result.set ]
  %r.more = icmp slt i64 %r, %results
  br i1 %r.more, label %result.set, label %returned
result.set:
  %r.at = add i64 %results.at, %r
  %r.which = call i64 @entry_of(ptr %tape, i64 %r.at)
  %r.object.at = getelementptr ptr, ptr %objects, i64 %r.which
  %r.object = load ptr, ptr %r.object.at, align 8
  %r.ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %r, ptr %r.object)
  %r.next = add i64 %r, 1
  br label %result
returned:
  ret ptr %tuple
failed:
  call void @free(ptr %memory)
  br label %dropped
dropped:
  call void @drop(ptr %objects, i64 %memory.count)
  ret ptr null
leave:
  call void @free(ptr %memory)
  call void @drop(ptr %objects, i64 %memory.count)
  br label %python
}}
"""


class Tape:
    """A tape in the making.

    Parameters
    ----------
    arguments : int
        How many arguments the program takes, places for its results among them.
    """

    def __init__(self, arguments: int) -> None:
        self.arguments = arguments
        self._terms: dict[tuple[int, int], int] = {}
        self._constants: list[Array] = []
        self._memory: list[list[int]] = []
        self._steps: list[int] = []
        self._count = 0

    def term(self, argument: int, axis: int) -> int:
        """Return the number of a size: that of an axis of an argument, or an int after a -1."""
        return self._terms.setdefault((argument, axis), len(self._terms))

    def constant(self, array: Array) -> int:
        """Return the number of a constant, which counts from the end of the arguments."""
        self._constants.append(array)
        return len(self._constants) - 1

    def memory(self, dtype: np.dtype[Any], terms: Sequence[int], place: int | None = None) -> int:
        """Return the number of a temporary, or of the argument that is the place of a result."""
        kind = TEMPORARY if place is None else PLACE
        self._memory.append([kind, dtype.itemsize, place or 0, len(terms), *terms])
        return len(self._memory) - 1

    def result(self, memory: int, dtype: np.dtype[Any]) -> None:
        """Make a temporary a new array, which is returned."""
        self._memory[memory][0] = RESULT
        self._memory[memory][2] = id(dtype)

    def step(self, *integers: int) -> None:
        """Add a step."""
        self._steps.extend(integers)
        self._count += 1

    @property
    def constants(self) -> int:
        """How many constants there are."""
        return len(self._constants)

    def bound(
        self, address: int, results: Sequence[int] | None, main: Callable[..., Any], *kept: Any
    ) -> Callable[..., Any]:
        """Return the function that runs the tape.

        Parameters
        ----------
        address : int
            That of the machine function.
        results : sequence of int, optional
            The memory of the results; None where these are in given places.
        main : callable
            The main function.
        *kept : object
            What the tape holds addresses of, besides.
        """
        new, as_scalar = array_functions()
        body = [number for pair in self._terms for number in pair]
        body += [x.ctypes.data for x in self._constants]
        body += [number for entry in self._memory for number in entry]
        body += self._steps
        head = [0] * HEAD
        head[:7] = (
            self.arguments, len(self._terms), len(self._constants), len(self._memory),
            self._count, -1 if results is None else len(results), HEAD + len(body),
        )  # fmt: skip
        head[7:] = id(main), id(None), id(np.ndarray), new, as_scalar
        table = np.array([*head, *body, *(results or ())], dtype=np.int64)
        return builtin("main", address, table, main, self._constants, *kept)


@lru_cache(maxsize=1)
def array_functions() -> tuple[int, int]:
    """Return the addresses of NumPy's functions that make an array and a scalar of one."""
    core = import_module("numpy._core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = (ctypes.c_int64 * 95).from_address(pointer(core._ARRAY_API, None))
    return table[94], table[76]  # PyArray_NewFromDescr and PyArray_Return, by NumPy's ABI


__all__ = ["PROGRAM", "Tape"]
