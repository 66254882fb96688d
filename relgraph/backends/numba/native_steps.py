"""The steps of a program in machine code: kernels, views, products of vectors, copies and checks.

This LLVM IR is part of :mod:`.native`, which explains the names.
"""

from __future__ import annotations

from relgraph.backends.numba.launch import ARRAYS, FOLDS, SIZES, STRIDES
from relgraph.backends.numba.lone import LONG
from relgraph.backends.numba.tape_layout import COPY, DOT, EQUAL, LONE, SOME, VIEW, WITHIN

LONG_VECTOR = 1 << 15  # shortest vector whose product releases the GIL

STEP_FUNCTIONS = f"""
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

; Run the steps.  Returns 0 if all ran, 1 if the main function must go on, 2 after an error.
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

__all__ = ["STEP_FUNCTIONS"]
