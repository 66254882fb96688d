"""The memory of a program in machine code: what it allocates before the first step.

This LLVM IR is part of :mod:`.native`, which explains the names.  The temporaries of a call share
one block.  A result is a new NumPy array.  Memory of large results comes from the arena, which is
created when first needed.
"""

from __future__ import annotations

from relgraph.backends.numba.arena import LARGE
from relgraph.backends.numba.launch import HANDLER, PREPARE, SET_HANDLER
from relgraph.backends.numba.tape_layout import (
    ARRAY_TYPE,
    NEW,
    PLACE,
    RESULT,
    SETTINGS,
    TEMPORARY,
)

MOST_DIMENSIONS = 64  # NumPy's limit
_PARTIAL = 1 << 30  # upper bound of factors of a byte count, so that products do not overflow
LINE = 64  # alignment of temporaries: a cache line, in bytes
NOT = -1  # returned as the number of bytes if an out argument does not fit

COUNTS = f"""
; A number of elements: a product of sizes.
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
"""

ALLOCATION = f"""
; Bytes of all temporaries, whose values become their distances from the first byte; {NOT} where a
; place has another shape than its result, which the main function says.
define internal i64 @measure(ptr %tape, ptr %args, i64 %first, i64 %count, ptr %terms, ptr %values,
                             ptr %objects) optsize {{
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %measured ]
  %at = phi i64 [ %first, %entry ], [ %after, %measured ]
  %total = phi i64 [ 0, %entry ], [ %total.next, %measured ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %kind = call i64 @entry_of(ptr %tape, i64 %at)
  %item.at = add i64 %at, 1
  %item = call i64 @entry_of(ptr %tape, i64 %item.at)
  %rank.at = add i64 %at, 3
  %rank = call i64 @entry_of(ptr %tape, i64 %rank.at)
  %axes = add i64 %at, 4
  %order = add i64 %axes, %rank
  %ordered = icmp eq i64 %kind, {RESULT}
  %orders = select i1 %ordered, i64 %rank, i64 0
  %after = add i64 %order, %orders
  %value = getelementptr i64, ptr %values, i64 %i
  %object = getelementptr ptr, ptr %objects, i64 %i
  store ptr null, ptr %object, align 8
  switch i64 %kind, label %measured [ i64 {TEMPORARY}, label %temporary
                                      i64 {PLACE}, label %place ]
temporary:
  %bytes = call i64 @bytes(ptr %tape, i64 %axes, i64 %rank, ptr %terms, i64 %item)
  %above = add i64 %bytes, {LINE - 1}
  %lines = and i64 %above, -{LINE}
  store i64 %total, ptr %value, align 8
  %total.more = add i64 %total, %lines
  br label %measured
place:
  %which.at = add i64 %at, 2
  %which = call i64 @entry_of(ptr %tape, i64 %which.at)
  %given.at = getelementptr ptr, ptr %args, i64 %which
  %given = load ptr, ptr %given.at, align 8
  %data = call ptr @field(ptr %given, i64 16)
  %dimensions = call ptr @field(ptr %given, i64 32)
  store ptr %data, ptr %value, align 8
  br label %axis
axis:
  %x = phi i64 [ 0, %place ], [ %x.next, %same ]
  %x.more = icmp slt i64 %x, %rank
  br i1 %x.more, label %compare, label %measured
compare:
  %x.at = add i64 %axes, %x
  %x.term = call i64 @entry_of(ptr %tape, i64 %x.at)
  %x.size = call i64 @entry_of(ptr %terms, i64 %x.term)
  %x.given = call i64 @entry_of(ptr %dimensions, i64 %x)
  %x.same = icmp eq i64 %x.size, %x.given
  br i1 %x.same, label %same, label %other
same:
  %x.next = add i64 %x, 1
  br label %axis
measured:
  %total.next = phi i64 [ %total, %one ], [ %total.more, %temporary ], [ %total, %axis ]
  %i.next = add i64 %i, 1
  br label %look
other:
  ret i64 {NOT}
done:
  ret i64 %total
}}

; A new array; null where an error was raised.
define internal ptr @new(ptr %tape, ptr %dtype, i64 %rank, ptr %dimensions,
                         ptr %strides) alwaysinline {{
  call void @Py_IncRef(ptr %dtype)
  %new.n = call i64 @entry_of(ptr %tape, i64 {NEW})
  %new = inttoptr i64 %new.n to ptr
  %type.n = call i64 @entry_of(ptr %tape, i64 {ARRAY_TYPE})
  %type = inttoptr i64 %type.n to ptr
  %rank.32 = trunc i64 %rank to i32
  %made = call ptr %new(ptr %type, ptr %dtype, i32 %rank.32, ptr %dimensions, ptr %strides,
                        ptr null, i32 0, ptr null)
  ret ptr %made
}}

; A new array with memory of the arena.
define internal ptr @new_large(ptr %tape, ptr %dtype, i64 %rank,
                               ptr %dimensions, ptr %strides) noinline optsize {{
entry:
  %settings.n = call i64 @entry_of(ptr %tape, i64 {SETTINGS})
  %settings = inttoptr i64 %settings.n to ptr
  %ready.n = call i64 @entry_of(ptr %settings, i64 {HANDLER})
  %missing = icmp eq i64 %ready.n, 0
  br i1 %missing, label %prepare, label %ready
prepare:
  %prepared = call i1 @called(ptr %settings, i64 {PREPARE})
  br i1 %prepared, label %ready, label %none
ready:
  %handler.n = call i64 @entry_of(ptr %settings, i64 {HANDLER})
  %handler = inttoptr i64 %handler.n to ptr
  %set.n = call i64 @entry_of(ptr %settings, i64 {SET_HANDLER})
  %set = inttoptr i64 %set.n to ptr
  %before = call ptr %set(ptr %handler)
  %unset = icmp eq ptr %before, null
  br i1 %unset, label %none, label %make
make:
  %made = call ptr @new(ptr %tape, ptr %dtype, i64 %rank, ptr %dimensions,
                             ptr %strides)
  %ours = call ptr %set(ptr %before)
  call void @Py_DecRef(ptr %before)
  %lost = icmp eq ptr %ours, null
  br i1 %lost, label %undo, label %reset
reset:
  call void @Py_DecRef(ptr %ours)
  ret ptr %made
undo:
  %nothing = icmp eq ptr %made, null
  br i1 %nothing, label %none, label %drop
drop:
  call void @Py_DecRef(ptr %made)
  br label %none
none:
  ret ptr null
}}

; Addresses of temporaries, which lie in one block, and new arrays for results; returns where the
; steps begin on the tape, or 0 where there is no memory for an array.
define internal i64 @allocate(ptr %tape, i64 %first, i64 %count, ptr %terms, i64 %block,
                              ptr %values, ptr %objects) optsize {{
entry:
  %dimensions = alloca i64, i64 {MOST_DIMENSIONS}
  %strides = alloca i64, i64 {MOST_DIMENSIONS}
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %allocated ]
  %at = phi i64 [ %first, %entry ], [ %after, %allocated ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %kind = call i64 @entry_of(ptr %tape, i64 %at)
  %item.at = add i64 %at, 1
  %item = call i64 @entry_of(ptr %tape, i64 %item.at)
  %rank.at = add i64 %at, 3
  %rank = call i64 @entry_of(ptr %tape, i64 %rank.at)
  %axes = add i64 %at, 4
  %order = add i64 %axes, %rank
  %ordered = icmp eq i64 %kind, {RESULT}
  %orders = select i1 %ordered, i64 %rank, i64 0
  %after = add i64 %order, %orders
  %value = getelementptr i64, ptr %values, i64 %i
  switch i64 %kind, label %allocated [ i64 {TEMPORARY}, label %temporary
                                       i64 {RESULT}, label %axis ]
temporary:
  %offset = load i64, ptr %value, align 8
  %address = add i64 %block, %offset
  store i64 %address, ptr %value, align 8
  br label %allocated
axis:
  %x = phi i64 [ 0, %one ], [ %x.next, %size ]
  %x.more = icmp slt i64 %x, %rank
  br i1 %x.more, label %size, label %stride
size:
  %x.at = add i64 %axes, %x
  %x.term = call i64 @entry_of(ptr %tape, i64 %x.at)
  %x.size = call i64 @entry_of(ptr %terms, i64 %x.term)
  %x.place = getelementptr i64, ptr %dimensions, i64 %x
  store i64 %x.size, ptr %x.place, align 8
  %x.next = add i64 %x, 1
  br label %axis
stride:  ; from the innermost axis of memory
  %s = phi i64 [ %rank, %axis ], [ %s.next, %strided ]
  %distance = phi i64 [ %item, %axis ], [ %distance.next, %strided ]
  %s.more = icmp sgt i64 %s, 0
  br i1 %s.more, label %strided, label %array
strided:
  %s.next = sub i64 %s, 1
  %s.at = add i64 %order, %s.next
  %s.axis = call i64 @entry_of(ptr %tape, i64 %s.at)
  %s.place = getelementptr i64, ptr %strides, i64 %s.axis
  store i64 %distance, ptr %s.place, align 8
  %s.size = call i64 @entry_of(ptr %dimensions, i64 %s.axis)
  %s.some = call i64 @llvm.smax.i64(i64 %s.size, i64 1)
  %distance.next = mul i64 %distance, %s.some
  br label %stride
array:
  %bytes = call i64 @bytes(ptr %tape, i64 %axes, i64 %rank, ptr %terms, i64 %item)
  %dtype.at = add i64 %at, 2
  %dtype.n = call i64 @entry_of(ptr %tape, i64 %dtype.at)
  %dtype = inttoptr i64 %dtype.n to ptr
  %is.large = icmp uge i64 %bytes, {LARGE}
  br i1 %is.large, label %large, label %small
small:
  %small.made = call ptr @new(ptr %tape, ptr %dtype, i64 %rank, ptr %dimensions,
                             ptr %strides)
  br label %new
large:
  %large.made = call ptr @new_large(ptr %tape, ptr %dtype, i64 %rank, ptr %dimensions,
                             ptr %strides)
  br label %new
new:
  %made = phi ptr [ %small.made, %small ], [ %large.made, %large ]
  %object = getelementptr ptr, ptr %objects, i64 %i
  store ptr %made, ptr %object, align 8
  %unmade = icmp eq ptr %made, null
  br i1 %unmade, label %failed, label %elements
elements:
  %data = call ptr @field(ptr %made, i64 16)
  store ptr %data, ptr %value, align 8
  br label %allocated
allocated:
  %i.next = add i64 %i, 1
  br label %look
failed:
  ret i64 0
done:
  ret i64 %at
}}

; Drop the new arrays.
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
"""

__all__ = ["ALLOCATION", "COUNTS", "LINE", "MOST_DIMENSIONS", "NOT"]
