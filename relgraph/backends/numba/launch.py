"""How a kernel is run: on which threads, and with which partial results.

This LLVM IR is part of each machine function that runs kernels: the call of one kernel in
:mod:`.calls` and of a whole program in :mod:`.native`.  The description of a kernel is a table of
integers, and that of the process is :data:`settings`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relgraph.lowering.nests.elements import EVEN

ROWS = 16384  # elements per partial result: fixed, so that results do not depend on the threads
PARTS = 32  # maximum number of partial results that are arrays, and minimum number of their rows
RELEASE = 20_000  # nanoseconds of work from which the GIL is released
SHARE = 50_000  # nanoseconds of work from which threads share the range
MANY = 48  # minimum number of rows for the short-row variant
LINES = 1024  # chunks of at least this many elements are multiples of 64
PIECES = 4  # chunks per thread: a late thread then runs fewer of them

# The table of a kernel: 64-bit integers.
KERNEL, FINISH, SIZES, ARRAYS, FOLDS, KEPT, COST, SETTINGS, ARRAY_TYPE, NONE, STRIDES = range(11)
# The short-row variant or 0, its longest row, and the callable that compiles it.
SHORT, LONGEST, MAKE = range(11, 14)
# The streaming-store variant or 0, its smallest number of elements, the callable that compiles it,
# the number of results (the last arrays) and their item size, or 0 if the item sizes differ.
PAST, LEAST, MAKE_PAST, RESULTS, ITEM = range(14, 19)
HEAD = 19  # followed by pairs (array, axis) of the strides
THREADS, SPREAD, WANTED, WORK, POOL, SET_HANDLER, HANDLER, PREPARE = range(8)

settings: npt.NDArray[np.int64] = np.zeros(8, dtype=np.int64)
"""The settings of all calls: the number of threads; the address of the function that shares a range
among them, or 0; the callable to call if it is missing; the nanoseconds of work that ran without
it; the address of the thread pool; the address of NumPy's function that sets the memory handler;
the handler for large arrays, or 0; and the callable that creates it.
"""

ENTRY_OF = """
define internal i64 @entry_of(ptr %table, i64 %index) alwaysinline {
  %at = getelementptr i64, ptr %table, i64 %index
  %value = load i64, ptr %at, align 8
  ret i64 %value
}
"""

LAUNCH = f"""
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

; Call what a table holds, without arguments; false where it raised an error.
define internal i1 @called(ptr %table, i64 %index) noinline optsize {{
  %callable.n = call i64 @entry_of(ptr %table, i64 %index)
  %callable = inttoptr i64 %callable.n to ptr
  %answer = call ptr @PyObject_CallNoArgs(ptr %callable)
  %fine = icmp ne ptr %answer, null
  br i1 %fine, label %answered, label %raised
answered:
  call void @Py_DecRef(ptr %answer)
  br label %raised
raised:
  ret i1 %fine
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
                          i64 %least, i64 %work) optsize {{
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
  %answered = call i1 @called(ptr %settings, i64 {WANTED})
  br i1 %answered, label %wanted, label %done
wanted:
  %second = call i64 @entry_of(ptr %settings, i64 {SPREAD})
  %came = icmp ne i64 %second, 0
  br i1 %came, label %share, label %alone
share:
  %spread = phi i64 [ %first, %ask ], [ %second, %wanted ]
  %pieces = mul i64 %threads, {PIECES}
  %parts = call i64 @llvm.smin.i64(i64 %pieces, i64 %count)
  %below = sub i64 %parts, 1
  %rounded = add i64 %count, %below
  %even = sdiv i64 %rounded, %parts
  ; Whole lines of memory to each thread, where there are many.
  %padded = add i64 %even, 63
  %whole = and i64 %padded, -64
  %large = icmp sge i64 %even, {LINES}
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

; The kernel for large results, where it can be used; null where an error was raised.  What is
; before the first line of memory in flat results is computed here.
define internal ptr @past_cache(ptr %table, ptr %settings, ptr %arrays, ptr %integers, i64 %total,
                                ptr %usual) noinline optsize {{
entry:
  %sizes = call i64 @entry_of(ptr %table, i64 {SIZES})
  %count = call i64 @entry_of(ptr %table, i64 {ARRAYS})
  %results = call i64 @entry_of(ptr %table, i64 {RESULTS})
  %operands = sub i64 %count, %results
  %one = call i64 @entry_of(ptr %arrays, i64 %operands)
  %one.below = sub i64 0, %one
  %gap = and i64 %one.below, 63
  %flat = icmp eq i64 %sizes, 1
  br i1 %flat, label %lines, label %row
row:
  %last = sub i64 %sizes, 1
  %length = call i64 @entry_of(ptr %integers, i64 %last)
  %rest = and i64 %length, {EVEN - 1}
  %even = icmp eq i64 %rest, 0
  br i1 %even, label %lines, label %no
lines:  ; lines begin at the same element of all results, and at the first one of rows
  %item = call i64 @entry_of(ptr %table, i64 {ITEM})
  %alike = icmp ne i64 %item, 0
  %may.gap = and i1 %flat, %alike
  %no.gap = icmp eq i64 %gap, 0
  %fits = or i1 %may.gap, %no.gap
  br i1 %fits, label %result, label %no
result:  ; none is an operand, which is in the cache already
  %r = phi i64 [ %operands, %lines ], [ %r.next, %compare ]
  %r.next = add i64 %r, 1
  %r.more = icmp slt i64 %r, %count
  br i1 %r.more, label %begins, label %get
begins:
  %address = call i64 @entry_of(ptr %arrays, i64 %r)
  %below = sub i64 0, %address
  %its.gap = and i64 %below, 63
  %same.gap = icmp eq i64 %its.gap, %gap
  br i1 %same.gap, label %compare, label %no
compare:
  %j = phi i64 [ 0, %begins ], [ %j.next, %other ]
  %j.more = icmp slt i64 %j, %operands
  br i1 %j.more, label %other, label %result
other:
  %operand = call i64 @entry_of(ptr %arrays, i64 %j)
  %j.next = add i64 %j, 1
  %same = icmp eq i64 %operand, %address
  br i1 %same, label %no, label %compare
get:
  %first = call i64 @entry_of(ptr %table, i64 {PAST})
  %made = icmp ne i64 %first, 0
  br i1 %made, label %there, label %make
make:
  %answered = call i1 @called(ptr %table, i64 {MAKE_PAST})
  br i1 %answered, label %there, label %raised
there:
  %kernel.n = call i64 @entry_of(ptr %table, i64 {PAST})
  %kernel = inttoptr i64 %kernel.n to ptr
  br i1 %flat, label %range, label %take
range:  ; pieces begin at multiples of 64 elements where they are as long as that
  %threads = call i64 @entry_of(ptr %settings, i64 {THREADS})  ; as they are in what follows
  %least = mul i64 %threads, {PIECES * LINES}
  %divides = icmp sge i64 %total, %least
  br i1 %divides, label %take, label %no
take:
  %item.some = call i64 @llvm.smax.i64(i64 %item, i64 1)
  %elements = udiv i64 %gap, %item.some
  %strided = call i64 @entry_of(ptr %table, i64 {STRIDES})
  %head.place = add i64 %sizes, %strided
  %head.at = getelementptr i64, ptr %integers, i64 %head.place
  store i64 %elements, ptr %head.at, align 8
  br i1 %no.gap, label %whole, label %head
head:
  call void %usual(ptr %arrays, ptr %integers, i64 0, i64 %elements)
  br label %whole
whole:
  ret ptr %kernel
no:
  ret ptr %usual
raised:
  ret ptr null
}}

; Run a kernel over its whole range.  After the pointers there is place for those of partial
; results, and after the integers for one more.  Returns 0, or 1 where an error was raised.
define internal i64 @launch(ptr %table, ptr %arrays, ptr %integers) optsize {{
entry:
  %sizes = call i64 @entry_of(ptr %table, i64 {SIZES})
  %count = call i64 @entry_of(ptr %table, i64 {ARRAYS})
  %folds = call i64 @entry_of(ptr %table, i64 {FOLDS})
  %strided = call i64 @entry_of(ptr %table, i64 {STRIDES})
  %cost = call i64 @entry_of(ptr %table, i64 {COST})
  %kept = call i64 @entry_of(ptr %table, i64 {KEPT})
  %settings.n = call i64 @entry_of(ptr %table, i64 {SETTINGS})
  %settings = inttoptr i64 %settings.n to ptr
  %usual.n = call i64 @entry_of(ptr %table, i64 {KERNEL})
  %longest = call i64 @entry_of(ptr %table, i64 {LONGEST})
  br label %size
size:  ; the product of the sizes, that of all but the first, and of those that are kept
  %i = phi i64 [ 0, %entry ], [ %i.next, %sized ]
  %total = phi i64 [ 1, %entry ], [ %total.next, %sized ]
  %inner = phi i64 [ 1, %entry ], [ %inner.next, %sized ]
  %each = phi i64 [ 1, %entry ], [ %each.next, %sized ]
  %i.more = icmp slt i64 %i, %sizes
  br i1 %i.more, label %sized, label %checked
sized:
  %value = call i64 @entry_of(ptr %integers, i64 %i)
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
checked:
  %work = call i64 @work_of(i64 %total, i64 %cost)
  %outer = load i64, ptr %integers, align 8
  %has.short = icmp ne i64 %longest, 0
  br i1 %has.short, label %rows.are, label %chosen
rows.are:  ; the last size is that of a row, the one before it their number
  %row.place = sub i64 %sizes, 1
  %row = call i64 @entry_of(ptr %integers, i64 %row.place)
  %number.place = sub i64 %sizes, 2
  %number = call i64 @entry_of(ptr %integers, i64 %number.place)
  %some = icmp sgt i64 %row, 0
  %few = icmp sle i64 %row, %longest
  %many = icmp sge i64 %number, {MANY}
  %some.few = and i1 %some, %few
  %is.short = and i1 %some.few, %many
  br i1 %is.short, label %short, label %chosen
short:
  %short.n = call i64 @entry_of(ptr %table, i64 {SHORT})
  %made = icmp ne i64 %short.n, 0
  br i1 %made, label %chosen, label %make
make:
  %answered = call i1 @called(ptr %table, i64 {MAKE})
  br i1 %answered, label %new, label %raised
new:
  %new.n = call i64 @entry_of(ptr %table, i64 {SHORT})
  br label %chosen
chosen:
  %kernel.n = phi i64 [ %usual.n, %checked ], [ %usual.n, %rows.are ], [ %short.n, %short ],
                      [ %new.n, %new ]
  %kernel = inttoptr i64 %kernel.n to ptr
  %reduces = icmp ne i64 %folds, 0
  br i1 %reduces, label %reduce, label %map
map:
  %past.least = call i64 @entry_of(ptr %table, i64 {LEAST})
  %past.less = sub i64 %past.least, 1  ; 0 is none
  %is.past = icmp ult i64 %past.less, %total
  br i1 %is.past, label %past, label %here
past:
  %past.kernel = call ptr @past_cache(ptr %table, ptr %settings, ptr %arrays, ptr %integers,
                                      i64 %total, ptr %kernel)
  %past.failed = icmp eq ptr %past.kernel, null
  br i1 %past.failed, label %raised, label %here
here:
  %map.kernel = phi ptr [ %kernel, %map ], [ %past.kernel, %past ]
  call void @run(ptr %map.kernel, ptr %settings, ptr %arrays, ptr %integers, i64 %outer, i64 2,
                 i64 %work)
  ret i64 0
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
  %rows.place = add i64 %sizes, %strided
  %rows.at = getelementptr i64, ptr %integers, i64 %rows.place
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
  ret i64 0
full:
  %ignored = call ptr @PyErr_NoMemory()
  br label %raised
raised:
  ret i64 1
}}
"""

__all__ = ["ENTRY_OF", "LAUNCH", "settings"]
