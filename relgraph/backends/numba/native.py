"""A whole program in machine code: sizes, memory and kernel calls, without Python in between.

A program of kernels, views and products of two vectors is bytecode, as :mod:`.tape_layout`
describes.  One machine function interprets it for all programs.  It is a builtin function with the
arguments and results of the main function, which have already passed their test.

Some cases are left to the main function, called with the same arguments: invalid sizes or indices,
maxima of no elements, a single long row, and large temporaries.  The main function then starts
again, even if kernels have already run.  That is sound because kernels write only to temporaries,
new arrays and out arguments.  An out argument shares no memory with an argument unless the result
may be computed in that argument, and never if a later step may be left to the main function
(:attr:`.tapes.Taped.early`).  Unequal sizes are an exception: they raise an error, after which out
arguments may hold anything.
"""

from __future__ import annotations

from relgraph.backends.numba.arena import LARGE
from relgraph.backends.numba.launch import LAUNCH
from relgraph.backends.numba.native_memory import ALLOCATION, COUNTS, LINE, NOT
from relgraph.backends.numba.native_steps import STEP_FUNCTIONS
from relgraph.backends.numba.tape_layout import (
    ARGUMENT,
    ARGUMENTS,
    ARRAY_TYPE,
    AS_SCALAR,
    CONSTANTS,
    COUNT,
    HEAD,
    INTEGER,
    MAIN,
    MEMORY,
    NONE,
    NUMBER,
    RESULTS,
    RESULTS_AT,
    SINGLE,
    STEPS,
    TERM,
    TERMS,
    VIEWS,
)

# Below, %terms are the sizes, %values points to the first element of each value, and %objects holds
# the new arrays and null for other values.  After Python's 16-byte header, a NumPy array holds
# data, ndim (32 bits), dimensions and strides.

_SIZES = f"""
declare i64 @PySlice_AdjustIndices(i64, ptr, ptr, i64)

; The sizes: of the arguments, numbers, and what a slice of an axis begins with or holds.
define internal void @read_sizes(ptr %tape, ptr %args, i64 %count, ptr %terms) optsize {{
entry:
  %start = alloca i64
  %stop = alloca i64
  br label %term
term:
  %i = phi i64 [ 0, %entry ], [ %i.next, %set ]
  %before = mul i64 %i, {TERM}
  %at = add i64 %before, {HEAD}
  %more = icmp slt i64 %i, %count
  br i1 %more, label %read, label %done
read:
  %which = call i64 @entry_of(ptr %tape, i64 %at)
  %axis.at = add i64 %at, 1
  %axis = call i64 @entry_of(ptr %tape, i64 %axis.at)
  %argument = icmp sge i64 %which, 0
  br i1 %argument, label %dimension, label %other
dimension:
  %object.at = getelementptr ptr, ptr %args, i64 %which
  %object = load ptr, ptr %object.at, align 8
  %dimensions = call ptr @field(ptr %object, i64 32)
  %given = call i64 @entry_of(ptr %dimensions, i64 %axis)
  br label %set
other:
  %number = icmp eq i64 %which, {NUMBER}
  br i1 %number, label %set, label %slice
slice:
  %whole = call i64 @entry_of(ptr %terms, i64 %axis)
  %start.at = add i64 %at, 2
  %start.n = call i64 @entry_of(ptr %tape, i64 %start.at)
  store i64 %start.n, ptr %start, align 8
  %stop.at = add i64 %at, 3
  %stop.n = call i64 @entry_of(ptr %tape, i64 %stop.at)
  store i64 %stop.n, ptr %stop, align 8
  %step.at = add i64 %at, 4
  %step = call i64 @entry_of(ptr %tape, i64 %step.at)
  %length = call i64 @PySlice_AdjustIndices(i64 %whole, ptr %start, ptr %stop, i64 %step)
  %first = load i64, ptr %start, align 8
  %counts = icmp eq i64 %which, {COUNT}
  %part = select i1 %counts, i64 %length, i64 %first
  br label %set
set:
  %size = phi i64 [ %axis, %other ], [ %given, %dimension ], [ %part, %slice ]
  %place = getelementptr i64, ptr %terms, i64 %i
  store i64 %size, ptr %place, align 8
  %i.next = add i64 %i, 1
  br label %term
done:
  ret void
}}
"""

_VALUES = f"""
; Where the element of a scalar or a Python number is: in the object, or, converted, in %own.
define internal ptr @number(ptr %tape, i64 %at, ptr %object, ptr %type,
                            ptr %own) noinline optsize {{
entry:
  %inside = getelementptr i8, ptr %object, i64 16
  %type.n = ptrtoint ptr %type to i64
  %scalar = call i64 @entry_of(ptr %tape, i64 %at)
  %is.scalar = icmp eq i64 %type.n, %scalar
  br i1 %is.scalar, label %held, label %other
other:
  %form.at = add i64 %at, 1
  %form = call i64 @entry_of(ptr %tape, i64 %form.at)
  switch i64 %form, label %held [ i64 {INTEGER}, label %integer
                                  i64 {SINGLE}, label %single ]
integer:
  %value = call i64 @PyLong_AsLongLong(ptr %object)
  store i64 %value, ptr %own, align 8
  ret ptr %own
single:
  %double = load double, ptr %inside, align 8
  %rounded = fptrunc double %double to float
  store float %rounded, ptr %own, align 8
  ret ptr %own
held:
  ret ptr %inside
}}

; Where the elements of arguments and constants are.
define internal void @read_values(ptr %tape, ptr %args, i64 %nargs, i64 %at, i64 %constants,
                                  ptr %values, ptr %numbers) optsize {{
entry:
  %each = mul i64 %nargs, {ARGUMENT}
  %constants.at = add i64 %at, %each
  %type.n = call i64 @entry_of(ptr %tape, i64 {ARRAY_TYPE})
  %array.type = inttoptr i64 %type.n to ptr
  br label %argument
argument:
  %a = phi i64 [ 0, %entry ], [ %a.next, %argument.set ]
  %a.more = icmp slt i64 %a, %nargs
  br i1 %a.more, label %argument.read, label %constant
argument.read:
  %object.at = getelementptr ptr, ptr %args, i64 %a
  %object = load ptr, ptr %object.at, align 8
  %type = call ptr @field(ptr %object, i64 8)
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %array, label %number
array:
  %array.data = call ptr @field(ptr %object, i64 16)
  br label %argument.set
number:
  %before = mul i64 %a, {ARGUMENT}
  %a.at = add i64 %at, %before
  %own = getelementptr i64, ptr %numbers, i64 %a
  %number.data = call ptr @number(ptr %tape, i64 %a.at, ptr %object, ptr %type, ptr %own)
  br label %argument.set
argument.set:
  %data = phi ptr [ %array.data, %array ], [ %number.data, %number ]
  %a.place = getelementptr ptr, ptr %values, i64 %a
  store ptr %data, ptr %a.place, align 8
  %a.next = add i64 %a, 1
  br label %argument
constant:
  %c = phi i64 [ 0, %argument ], [ %c.next, %constant.set ]
  %c.more = icmp slt i64 %c, %constants
  br i1 %c.more, label %constant.set, label %done
constant.set:
  %c.at = add i64 %constants.at, %c
  %address = call i64 @entry_of(ptr %tape, i64 %c.at)
  %value = add i64 %nargs, %c
  %c.place = getelementptr i64, ptr %values, i64 %value
  store i64 %address, ptr %c.place, align 8
  %c.next = add i64 %c, 1
  br label %constant
done:
  ret void
}}
"""

_RESULTS = f"""
; What the call returns: None where results have places, a single result or scalar, or a tuple.
define internal ptr @answer(ptr %tape, ptr %objects, i64 %count) optsize {{
entry:
  %results = call i64 @entry_of(ptr %tape, i64 {RESULTS})
  %results.at = call i64 @entry_of(ptr %tape, i64 {RESULTS_AT})
  switch i64 %results, label %several [ i64 -1, label %none
                                        i64 1, label %single ]
none:
  %none.n = call i64 @entry_of(ptr %tape, i64 {NONE})
  %none.object = inttoptr i64 %none.n to ptr
  call void @Py_IncRef(ptr %none.object)
  ret ptr %none.object
single:
  %scalar.n = call i64 @entry_of(ptr %tape, i64 {AS_SCALAR})
  %as.scalar = inttoptr i64 %scalar.n to ptr
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
  %i = phi i64 [ 0, %several ], [ %i.next, %set ]
  %more = icmp slt i64 %i, %results
  br i1 %more, label %set, label %returned
set:
  %at = add i64 %results.at, %i
  %which = call i64 @entry_of(ptr %tape, i64 %at)
  %object.at = getelementptr ptr, ptr %objects, i64 %which
  %object = load ptr, ptr %object.at, align 8
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %i, ptr %object)
  %i.next = add i64 %i, 1
  br label %result
dropped:
  call void @drop(ptr %objects, i64 %count)
  br label %returned
returned:
  ret ptr %tuple
}}
"""

PROGRAM = f"""{LAUNCH}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @PyErr_CheckSignals()
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
{_SIZES}{_VALUES}{COUNTS}{ALLOCATION}{STEP_FUNCTIONS}{_RESULTS}
define ptr @NAME(ptr %self, ptr %args, i64 %nargs) optsize {{
entry:
  %tape = call ptr @field(ptr %self, i64 16)
  %terms.count = call i64 @entry_of(ptr %tape, i64 {TERMS})
  %constants = call i64 @entry_of(ptr %tape, i64 {CONSTANTS})
  %count = call i64 @entry_of(ptr %tape, i64 {MEMORY})
  %views = call i64 @entry_of(ptr %tape, i64 {VIEWS})
  %steps.count = call i64 @entry_of(ptr %tape, i64 {STEPS})
  %expected = call i64 @entry_of(ptr %tape, i64 {ARGUMENTS})
  %right = icmp eq i64 %expected, %nargs
  br i1 %right, label %read, label %bad
bad:
  %ignored.1 = call i32 @PyErr_BadArgument()
  ret ptr null
read:
  %known = add i64 %nargs, %constants
  %made = add i64 %known, %count
  %all = add i64 %made, %views
  %terms = alloca i64, i64 %terms.count
  %values = alloca i64, i64 %all
  %numbers = alloca i64, i64 %nargs
  %objects = alloca ptr, i64 %count
  %terms.length = mul i64 %terms.count, {TERM}
  %arguments.at = add i64 %terms.length, {HEAD}
  %arguments.length = mul i64 %nargs, {ARGUMENT}
  %constants.at = add i64 %arguments.at, %arguments.length
  %memory.at = add i64 %constants.at, %constants
  %own = getelementptr i64, ptr %values, i64 %known
  call void @read_sizes(ptr %tape, ptr %args, i64 %terms.count, ptr %terms)
  call void @read_values(ptr %tape, ptr %args, i64 %nargs, i64 %arguments.at, i64 %constants,
                         ptr %values, ptr %numbers)
  %total = call i64 @measure(ptr %tape, ptr %args, i64 %memory.at, i64 %count, ptr %terms,
                             ptr %own, ptr %objects)
  %large = icmp ugt i64 %total, {LARGE}  ; or {NOT}, which is the largest number without a sign
  br i1 %large, label %python, label %reserve
reserve:
  %reserved = add i64 %total, {LINE}
  %memory = call ptr @malloc(i64 %reserved)
  %exhausted = icmp eq ptr %memory, null
  br i1 %exhausted, label %no.memory, label %make
no.memory:
  %ignored.2 = call ptr @PyErr_NoMemory()
  ret ptr null
make:
  %memory.n = ptrtoint ptr %memory to i64
  %memory.above = add i64 %memory.n, {LINE - 1}
  %block = and i64 %memory.above, -{LINE}
  %steps.at = call i64 @allocate(ptr %tape, i64 %memory.at, i64 %count, ptr %terms, i64 %block,
                                 ptr %own, ptr %objects)
  %unmade = icmp eq i64 %steps.at, 0
  br i1 %unmade, label %failed, label %work
work:
  %outcome = call i64 @steps(ptr %tape, i64 %steps.at, i64 %steps.count, ptr %terms, ptr %values)
  switch i64 %outcome, label %failed [ i64 0, label %finished
                                       i64 1, label %left ]
finished:
  call void @free(ptr %memory)
  %result = call ptr @answer(ptr %tape, ptr %objects, i64 %count)
  ret ptr %result
failed:
  call void @free(ptr %memory)
  call void @drop(ptr %objects, i64 %count)
  ret ptr null
left:
  call void @free(ptr %memory)
  call void @drop(ptr %objects, i64 %count)
  br label %python
python:  ; all of it, by the main function
  %main.n = call i64 @entry_of(ptr %tape, i64 {MAIN})
  %main = inttoptr i64 %main.n to ptr
  %answer = call ptr @PyObject_Vectorcall(ptr %main, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer
}}
"""

__all__ = ["PROGRAM"]
