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
from relgraph.backends.numba.launch import ARRAYS, FOLDS, LAUNCH, SIZES, STRIDES
from relgraph.backends.numba.lone import LONG
from relgraph.backends.numba.native_memory import ALLOCATION, COUNTS, LINE, NOT
from relgraph.backends.numba.tape_layout import (
    ARGUMENTS,
    AS_SCALAR,
    CONSTANTS,
    COPY,
    COUNT,
    DOT,
    EQUAL,
    HEAD,
    LONE,
    MAIN,
    MEMORY,
    NONE,
    NUMBER,
    RESULTS,
    RESULTS_AT,
    SOME,
    STEPS,
    TERM,
    TERMS,
    VIEW,
    VIEWS,
    WITHIN,
)

LONG_VECTOR = 1 << 15  # shortest vector whose product releases the GIL

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

_VALUES = """
; Where the elements of arguments and constants are.
define internal void @read_values(ptr %tape, ptr %args, i64 %nargs, i64 %at, i64 %constants,
                                  ptr %values) optsize {
entry:
  br label %argument
argument:
  %a = phi i64 [ 0, %entry ], [ %a.next, %argument.set ]
  %a.more = icmp slt i64 %a, %nargs
  br i1 %a.more, label %argument.set, label %constant
argument.set:
  %object.at = getelementptr ptr, ptr %args, i64 %a
  %object = load ptr, ptr %object.at, align 8
  %data = call ptr @field(ptr %object, i64 16)
  %a.place = getelementptr ptr, ptr %values, i64 %a
  store ptr %data, ptr %a.place, align 8
  %a.next = add i64 %a, 1
  br label %argument
constant:
  %c = phi i64 [ 0, %argument ], [ %c.next, %constant.set ]
  %c.more = icmp slt i64 %c, %constants
  br i1 %c.more, label %constant.set, label %done
constant.set:
  %c.at = add i64 %at, %c
  %address = call i64 @entry_of(ptr %tape, i64 %c.at)
  %value = add i64 %nargs, %c
  %c.place = getelementptr i64, ptr %values, i64 %value
  store i64 %address, ptr %c.place, align 8
  %c.next = add i64 %c, 1
  br label %constant
done:
  ret void
}
"""

_STEPS = f"""
; Run a kernel; returns the place after it on the tape, or 0 where an error was raised.
define internal i64 @kernel(ptr %tape, i64 %at, ptr %terms, ptr %values) noinline optsize {{
entry:
  %table.n = call i64 @entry_of(ptr %tape, i64 %at)
  %table = inttoptr i64 %table.n to ptr
  %sizes = call i64 @entry_of(ptr %table, i64 {SIZES})
  %strides = call i64 @entry_of(ptr %table, i64 {STRIDES})
  %count = call i64 @entry_of(ptr %table, i64 {ARRAYS})
  %folds = call i64 @entry_of(ptr %table, i64 {FOLDS})
  %pointers = add i64 %count, %folds
  %arrays = alloca ptr, i64 %pointers
  %numbers = add i64 %sizes, %strides
  %all = add i64 %numbers, 1
  %integers = alloca i64, i64 %all
  %at.sizes = add i64 %at, 1
  br label %size
size:
  %i = phi i64 [ 0, %entry ], [ %i.next, %sized ]
  %at.i = phi i64 [ %at.sizes, %entry ], [ %at.after, %sized ]
  %i.more = icmp slt i64 %i, %numbers
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

define internal ptr @value_of(ptr %tape, i64 %at, ptr %values) alwaysinline {{
  %which = call i64 @entry_of(ptr %tape, i64 %at)
  %address = call i64 @entry_of(ptr %values, i64 %which)
  %value = inttoptr i64 %address to ptr
  ret ptr %value
}}

; Copy an array; returns the place after the step on the tape.
define internal i64 @copy(ptr %tape, i64 %at, ptr %terms, ptr %values) noinline optsize {{
  %to = call ptr @value_of(ptr %tape, i64 %at, ptr %values)
  %at.1 = add i64 %at, 1
  %from = call ptr @value_of(ptr %tape, i64 %at.1, ptr %values)
  %at.2 = add i64 %at, 2
  %factors = call i64 @entry_of(ptr %tape, i64 %at.2)
  %at.3 = add i64 %at, 3
  %bytes = call i64 @product(ptr %tape, i64 %at.3, i64 %factors, ptr %terms, i64 1)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  %after = add i64 %at.3, %factors
  ret i64 %after
}}

; Set the address of a view; returns the place after the step on the tape.
define internal i64 @view(ptr %tape, i64 %at, ptr %terms, ptr %values) noinline optsize {{
entry:
  %view = call i64 @entry_of(ptr %tape, i64 %at)
  %at.1 = add i64 %at, 1
  %value = call i64 @entry_of(ptr %tape, i64 %at.1)
  %first = call i64 @entry_of(ptr %values, i64 %value)
  %at.2 = add i64 %at, 2
  %count = call i64 @entry_of(ptr %tape, i64 %at.2)
  %at.3 = add i64 %at, 3
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %offset ]
  %at.i = phi i64 [ %at.3, %entry ], [ %at.next, %offset ]
  %address = phi i64 [ %first, %entry ], [ %moved, %offset ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %offset, label %done
offset:
  %factors = call i64 @entry_of(ptr %tape, i64 %at.i)
  %at.factors = add i64 %at.i, 1
  %distance = call i64 @product(ptr %tape, i64 %at.factors, i64 %factors, ptr %terms, i64 1)
  %moved = add i64 %address, %distance
  %at.next = add i64 %at.factors, %factors
  %i.next = add i64 %i, 1
  br label %look
done:
  %place = getelementptr i64, ptr %values, i64 %view
  store i64 %address, ptr %place, align 8
  ret i64 %at.i
}}

; The product of two vectors; returns the place after the step on the tape.
define internal i64 @dot(ptr %tape, i64 %at, ptr %terms, ptr %values) noinline optsize {{
  %function.n = call i64 @entry_of(ptr %tape, i64 %at)
  %function = inttoptr i64 %function.n to ptr
  %at.1 = add i64 %at, 1
  %x = call ptr @value_of(ptr %tape, i64 %at.1, ptr %values)
  %at.2 = add i64 %at, 2
  %y = call ptr @value_of(ptr %tape, i64 %at.2, ptr %values)
  %at.3 = add i64 %at, 3
  %result = call ptr @value_of(ptr %tape, i64 %at.3, ptr %values)
  %at.4 = add i64 %at, 4
  %length.n = call i64 @entry_of(ptr %tape, i64 %at.4)
  %length = call i64 @entry_of(ptr %terms, i64 %length.n)
  %at.5 = add i64 %at, 5
  %factors = call i64 @entry_of(ptr %tape, i64 %at.5)
  %at.6 = add i64 %at, 6
  %x.stride = call i64 @product(ptr %tape, i64 %at.6, i64 %factors, ptr %terms, i64 1)
  %at.y = add i64 %at.6, %factors
  %y.factors = call i64 @entry_of(ptr %tape, i64 %at.y)
  %at.y.1 = add i64 %at.y, 1
  %y.stride = call i64 @product(ptr %tape, i64 %at.y.1, i64 %y.factors, ptr %terms, i64 1)
  %after = add i64 %at.y.1, %y.factors
  %is.long = icmp sge i64 %length, {LONG_VECTOR}
  br i1 %is.long, label %release, label %hold
release:
  %state = call ptr @PyEval_SaveThread()
  call void %function(ptr %x, i64 %x.stride, ptr %y, i64 %y.stride, ptr %result, i64 %length,
                      ptr null)
  call void @PyEval_RestoreThread(ptr %state)
  ret i64 %after
hold:
  call void %function(ptr %x, i64 %x.stride, ptr %y, i64 %y.stride, ptr %result, i64 %length,
                      ptr null)
  ret i64 %after
}}

; Run the steps; returns 0, 1 for what is left to the main function, or 2 where an error was raised.
define internal i64 @steps(ptr %tape, i64 %first, i64 %count, ptr %terms, ptr %values) optsize {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.1, %unraised ], [ %i.1, %alike ], [ %i.1, %below ],
               [ %i.1, %any ], [ %i.1, %other ], [ %i.1, %view ], [ %i.1, %dot ],
               [ %i.1, %copy ]
  %at = phi i64 [ %first, %entry ], [ %after, %unraised ], [ %at.3, %alike ], [ %at.3, %below ],
                [ %at.any, %any ], [ %at.other, %other ], [ %at.view, %view ],
                [ %at.dot, %dot ], [ %at.copy, %copy ]
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
                                 i64 {LONE}, label %lone
                                 i64 {VIEW}, label %view
                                 i64 {DOT}, label %dot
                                 i64 {COPY}, label %copy ]
copy:
  %at.copy = call i64 @copy(ptr %tape, i64 %at.1, ptr %terms, ptr %values)
  br label %next
dot:
  %at.dot = call i64 @dot(ptr %tape, i64 %at.1, ptr %terms, ptr %values)
  br label %next
view:
  %at.view = call i64 @view(ptr %tape, i64 %at.1, ptr %terms, ptr %values)
  br label %next
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
{_SIZES}{_VALUES}{COUNTS}{ALLOCATION}{_STEPS}{_RESULTS}
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
  %objects = alloca ptr, i64 %count
  %terms.length = mul i64 %terms.count, {TERM}
  %constants.at = add i64 %terms.length, {HEAD}
  %memory.at = add i64 %constants.at, %constants
  %own = getelementptr i64, ptr %values, i64 %known
  call void @read_sizes(ptr %tape, ptr %args, i64 %terms.count, ptr %terms)
  call void @read_values(ptr %tape, ptr %args, i64 %nargs, i64 %constants.at, i64 %constants,
                         ptr %values)
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
