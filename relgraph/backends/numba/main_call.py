"""The call of a main function that is machine code: it reads arguments and creates results.

A call is a builtin function with the arguments and results of the main function, which have already
passed their test.  It runs :data:`CALL`, one machine function for all programs, with a table of
integers as its ``self``.  Each argument is an array, or a scalar or Python number for one without
dimensions.  The call gives the addresses and the sizes to the function of the program, written by
:mod:`.main_function`, which asks it for memory.  The main function in Python takes over if the
function leaves before its end without an error, and if there are large temporaries.

The table holds a head, followed by three integers for each argument (its scalar type, how a Python
number becomes its element, its rank), the addresses of constants and tables, the place of each
result's description, and these: the dtype object, the item size, the rank, and the axes in the
order of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.numba import numpy_api
from relgraph.backends.numba.arena import LARGE
from relgraph.backends.numba.calls import Layout, builtin
from relgraph.backends.numba.launch import (
    HANDLER,
    KERNEL,
    LAUNCH,
    PREPARE,
    SET_HANDLER,
    settings,
)
from relgraph.backends.numba.launch import SIZES as SIZES_OF
from relgraph.lowering.loops.nodes import Function

if TYPE_CHECKING:
    from relgraph.backends.numba.main_function import MainFunction

HOT = 100  # calls after which a main function is compiled; that takes as long as 1,000 of them

ARGUMENTS, SIZES, POINTERS, RESULTS, RESULTS_AT, FUNCTION, MAIN = range(7)
NONE, ARRAY_TYPE, NEW, AS_SCALAR, SETTINGS, ALLOCATE, LAUNCHER = range(7, 14)
HEAD = 14
ARGUMENT = 3  # integers for each argument
DOUBLE, SINGLE, INTEGER = range(3)  # elements that Python numbers become
LONG_VECTOR = 1 << 15  # shortest vector whose product releases the GIL
LINE = 64  # alignment of temporaries: a cache line, in bytes
MOST_DIMENSIONS = 64  # NumPy's limit
_PARTIAL = 1 << 30  # upper bound of factors of a byte count, so that products do not overflow

# The run time of a call: the functions, the table, memory to free, and the new arrays.
TABLE, MEMORY, OBJECTS = 2, 3, 4

# After Python's 16-byte header, a NumPy array holds data, ndim (32 bits), dimensions and strides.
_ARGUMENTS = f"""
; Where the element of a scalar or a Python number is: in the object, or, converted, in %own.
define internal ptr @number(ptr %table, i64 %at, ptr %object, ptr %type,
                            ptr %own) noinline optsize {{
entry:
  %inside = getelementptr i8, ptr %object, i64 16
  %type.n = ptrtoint ptr %type to i64
  %scalar = call i64 @entry_of(ptr %table, i64 %at)
  %is.scalar = icmp eq i64 %type.n, %scalar
  br i1 %is.scalar, label %held, label %other
other:
  %form.at = add i64 %at, 1
  %form = call i64 @entry_of(ptr %table, i64 %form.at)
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

; The addresses of arguments, constants and tables, and the sizes of the arguments.
define internal void @read(ptr %table, ptr %args, i64 %nargs, ptr %pointers, ptr %sizes,
                           ptr %numbers) optsize {{
entry:
  %type.n = call i64 @entry_of(ptr %table, i64 {ARRAY_TYPE})
  %array.type = inttoptr i64 %type.n to ptr
  br label %argument
argument:
  %a = phi i64 [ 0, %entry ], [ %a.next, %argument.set ]
  %at = phi i64 [ {HEAD}, %entry ], [ %at.next, %argument.set ]
  %n = phi i64 [ 0, %entry ], [ %n.next, %argument.set ]
  %a.more = icmp slt i64 %a, %nargs
  br i1 %a.more, label %argument.read, label %given
argument.read:
  %object.at = getelementptr ptr, ptr %args, i64 %a
  %object = load ptr, ptr %object.at, align 8
  %type = call ptr @field(ptr %object, i64 8)
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %array, label %number
array:
  %array.data = call ptr @field(ptr %object, i64 16)
  %dimensions = call ptr @field(ptr %object, i64 32)
  %rank.at = add i64 %at, 2
  %rank = call i64 @entry_of(ptr %table, i64 %rank.at)
  br label %size
size:
  %i = phi i64 [ 0, %array ], [ %i.next, %sized ]
  %n.i = add i64 %n, %i
  %i.more = icmp slt i64 %i, %rank
  br i1 %i.more, label %sized, label %argument.set
sized:
  %dimension = call i64 @entry_of(ptr %dimensions, i64 %i)
  %size.at = getelementptr i64, ptr %sizes, i64 %n.i
  store i64 %dimension, ptr %size.at, align 8
  %i.next = add i64 %i, 1
  br label %size
number:
  %own = getelementptr i64, ptr %numbers, i64 %a
  %number.data = call ptr @number(ptr %table, i64 %at, ptr %object, ptr %type, ptr %own)
  br label %argument.set
argument.set:
  %data = phi ptr [ %array.data, %size ], [ %number.data, %number ]
  %n.next = phi i64 [ %n.i, %size ], [ %n, %number ]
  %a.next = add i64 %a, 1
  %a.place = getelementptr ptr, ptr %pointers, i64 %a.next
  store ptr %data, ptr %a.place, align 8
  %at.next = add i64 %at, {ARGUMENT}
  br label %argument
given:
  %more = call i64 @entry_of(ptr %table, i64 {POINTERS})
  %from = getelementptr i64, ptr %table, i64 %at
  %first = add i64 %nargs, 1
  %to = getelementptr i64, ptr %pointers, i64 %first
  %bytes = shl i64 %more, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}}
"""

_MEMORY = f"""
; A new array; null where an error was raised.
define internal ptr @new(ptr %table, ptr %dtype, i64 %rank, ptr %dimensions,
                         ptr %strides) alwaysinline {{
  call void @Py_IncRef(ptr %dtype)
  %new.n = call i64 @entry_of(ptr %table, i64 {NEW})
  %new = inttoptr i64 %new.n to ptr
  %type.n = call i64 @entry_of(ptr %table, i64 {ARRAY_TYPE})
  %type = inttoptr i64 %type.n to ptr
  %rank.32 = trunc i64 %rank to i32
  %made = call ptr %new(ptr %type, ptr %dtype, i32 %rank.32, ptr %dimensions, ptr %strides,
                        ptr null, i32 0, ptr null)
  ret ptr %made
}}

; A new array with memory of the arena, which is created when it is first needed.
define internal ptr @new_large(ptr %table, ptr %dtype, i64 %rank,
                               ptr %dimensions, ptr %strides) noinline optsize {{
entry:
  %settings.n = call i64 @entry_of(ptr %table, i64 {SETTINGS})
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
  %made = call ptr @new(ptr %table, ptr %dtype, i64 %rank, ptr %dimensions, ptr %strides)
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

; Memory for temporaries (-1), or the elements of a new result; null where there is none.
define ptr @NAME_allocate(ptr %host, i64 %number, ptr %sizes) optsize {{
entry:
  %strides = alloca i64, i64 {MOST_DIMENSIONS}
  %table.n = call i64 @entry_of(ptr %host, i64 {TABLE})
  %table = inttoptr i64 %table.n to ptr
  %is.result = icmp sge i64 %number, 0
  br i1 %is.result, label %result, label %temporary
temporary:
  %total = load i64, ptr %sizes, align 8
  %too.large = icmp ugt i64 %total, {LARGE}
  br i1 %too.large, label %failed, label %reserve
reserve:
  %reserved = add i64 %total, {LINE}
  %memory = call ptr @malloc(i64 %reserved)
  %exhausted = icmp eq ptr %memory, null
  br i1 %exhausted, label %none, label %block
none:
  %ignored = call ptr @PyErr_NoMemory()
  ret ptr null
block:
  %memory.at = getelementptr i64, ptr %host, i64 {MEMORY}
  store ptr %memory, ptr %memory.at, align 8
  %memory.n = ptrtoint ptr %memory to i64
  %above = add i64 %memory.n, {LINE - 1}
  %line = and i64 %above, -{LINE}
  %first = inttoptr i64 %line to ptr
  ret ptr %first
result:
  %results.at = call i64 @entry_of(ptr %table, i64 {RESULTS_AT})
  %which = add i64 %results.at, %number
  %at = call i64 @entry_of(ptr %table, i64 %which)
  %dtype.n = call i64 @entry_of(ptr %table, i64 %at)
  %dtype = inttoptr i64 %dtype.n to ptr
  %item.at = add i64 %at, 1
  %item = call i64 @entry_of(ptr %table, i64 %item.at)
  %rank.at = add i64 %at, 2
  %rank = call i64 @entry_of(ptr %table, i64 %rank.at)
  %order = add i64 %at, 3
  br label %stride
stride:  ; from the innermost axis of memory
  %s = phi i64 [ %rank, %result ], [ %s.next, %strided ]
  %distance = phi i64 [ %item, %result ], [ %distance.next, %strided ]
  %bytes = phi i64 [ %item, %result ], [ %bytes.next, %strided ]
  %s.more = icmp sgt i64 %s, 0
  br i1 %s.more, label %strided, label %array
strided:
  %s.next = sub i64 %s, 1
  %s.at = add i64 %order, %s.next
  %s.axis = call i64 @entry_of(ptr %table, i64 %s.at)
  %s.place = getelementptr i64, ptr %strides, i64 %s.axis
  store i64 %distance, ptr %s.place, align 8
  %s.size = call i64 @entry_of(ptr %sizes, i64 %s.axis)
  %s.some = call i64 @llvm.smax.i64(i64 %s.size, i64 1)
  %distance.next = mul i64 %distance, %s.some
  %factor = call i64 @llvm.smin.i64(i64 %s.size, i64 {_PARTIAL})
  %whole = mul i64 %bytes, %factor
  %bytes.next = call i64 @llvm.smin.i64(i64 %whole, i64 {_PARTIAL})
  br label %stride
array:
  %is.large = icmp uge i64 %bytes, {LARGE}
  br i1 %is.large, label %large, label %small
small:
  %small.made = call ptr @new(ptr %table, ptr %dtype, i64 %rank, ptr %sizes, ptr %strides)
  br label %made
large:
  %large.made = call ptr @new_large(ptr %table, ptr %dtype, i64 %rank, ptr %sizes, ptr %strides)
  br label %made
made:
  %object = phi ptr [ %small.made, %small ], [ %large.made, %large ]
  %unmade = icmp eq ptr %object, null
  br i1 %unmade, label %failed, label %elements
elements:
  %place = add i64 %number, {OBJECTS}
  %object.at = getelementptr ptr, ptr %host, i64 %place
  store ptr %object, ptr %object.at, align 8
  %data = call ptr @field(ptr %object, i64 16)
  ret ptr %data
failed:
  ret ptr null
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

_RESULTS = f"""
; What the call returns: None where results have places, a single result or scalar, or a tuple.
define internal ptr @answer(ptr %table, ptr %objects, i64 %count) optsize {{
entry:
  switch i64 %count, label %several [ i64 0, label %none
                                      i64 1, label %single ]
none:
  %none.n = call i64 @entry_of(ptr %table, i64 {NONE})
  %none.object = inttoptr i64 %none.n to ptr
  call void @Py_IncRef(ptr %none.object)
  ret ptr %none.object
single:
  %scalar.n = call i64 @entry_of(ptr %table, i64 {AS_SCALAR})
  %as.scalar = inttoptr i64 %scalar.n to ptr
  %only.object = load ptr, ptr %objects, align 8
  %only.result = call ptr %as.scalar(ptr %only.object)
  ret ptr %only.result
several:
  %tuple = call ptr @PyTuple_New(i64 %count)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %dropped, label %result
result:
  %i = phi i64 [ 0, %several ], [ %i.next, %set ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %set, label %returned
set:
  %object.at = getelementptr ptr, ptr %objects, i64 %i
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

_STEPS = f"""
; Run a kernel; returns 0, or 1 where an error was raised.  One without sizes has no range to share.
define i64 @NAME_launch(ptr %table, ptr %arrays, ptr %integers) optsize {{
entry:
  %sizes = call i64 @entry_of(ptr %table, i64 {SIZES_OF})
  %ranged = icmp ne i64 %sizes, 0
  br i1 %ranged, label %range, label %once
once:
  %kernel = call ptr @field(ptr %table, i64 {8 * KERNEL})
  call void %kernel(ptr %arrays, ptr %integers, i64 0, i64 1)
  ret i64 0
range:
  %outcome = call i64 @launch(ptr %table, ptr %arrays, ptr %integers)
  %refused = icmp ne i64 %outcome, 0
  br i1 %refused, label %raised, label %ran
ran:
  %error = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %error, null
  br i1 %failed, label %raised, label %unfailed
unfailed:
  %signal = call i32 @PyErr_CheckSignals()
  %interrupted = icmp ne i32 %signal, 0
  br i1 %interrupted, label %raised, label %done
done:
  ret i64 0
raised:
  ret i64 1
}}

; The kernel that copies bytes.
define void @NAME_copy(ptr %arrays, ptr %integers, i64 %start, i64 %stop) optsize {{
  %to = call ptr @field(ptr %arrays, i64 0)
  %from = call ptr @field(ptr %arrays, i64 8)
  %bytes = call i64 @entry_of(ptr %integers, i64 0)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}}

; The kernel that multiplies two vectors, by a function of NumPy.
define void @NAME_dot(ptr %arrays, ptr %integers, i64 %start, i64 %stop) optsize {{
entry:
  %x = call ptr @field(ptr %arrays, i64 0)
  %y = call ptr @field(ptr %arrays, i64 8)
  %result = call ptr @field(ptr %arrays, i64 16)
  %function = call ptr @field(ptr %arrays, i64 24)
  %length = call i64 @entry_of(ptr %integers, i64 0)
  %x.stride = call i64 @entry_of(ptr %integers, i64 1)
  %y.stride = call i64 @entry_of(ptr %integers, i64 2)
  %is.long = icmp sge i64 %length, {LONG_VECTOR}
  br i1 %is.long, label %release, label %hold
release:
  %state = call ptr @PyEval_SaveThread()
  call void %function(ptr %x, i64 %x.stride, ptr %y, i64 %y.stride, ptr %result, i64 %length,
                      ptr null)
  call void @PyEval_RestoreThread(ptr %state)
  ret void
hold:
  call void %function(ptr %x, i64 %x.stride, ptr %y, i64 %y.stride, ptr %result, i64 %length,
                      ptr null)
  ret void
}}
"""

CALL = f"""{LAUNCH}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @PyErr_CheckSignals()
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
{_ARGUMENTS}{_MEMORY}{_STEPS}{_RESULTS}
define ptr @NAME(ptr %self, ptr %args, i64 %nargs) optsize {{
entry:
  %table = call ptr @field(ptr %self, i64 16)
  %function.n = call i64 @entry_of(ptr %table, i64 {FUNCTION})
  %function = inttoptr i64 %function.n to ptr
  %expected = call i64 @entry_of(ptr %table, i64 {ARGUMENTS})
  %right = icmp eq i64 %expected, %nargs
  br i1 %right, label %chosen, label %bad
bad:
  %ignored = call i32 @PyErr_BadArgument()
  ret ptr null
chosen:
  %cold = icmp eq ptr %function, null
  br i1 %cold, label %python, label %read
read:
  %sizes.count = call i64 @entry_of(ptr %table, i64 {SIZES})
  %given = call i64 @entry_of(ptr %table, i64 {POINTERS})
  %count = call i64 @entry_of(ptr %table, i64 {RESULTS})
  %pointers.0 = add i64 %nargs, %given
  %pointers.count = add i64 %pointers.0, 1
  %pointers = alloca ptr, i64 %pointers.count
  %sizes = alloca i64, i64 %sizes.count
  %numbers = alloca i64, i64 %nargs
  %host.count = add i64 %count, {OBJECTS}
  %host = alloca i64, i64 %host.count
  %host.bytes = shl i64 %host.count, 3
  call void @llvm.memset.p0.i64(ptr %host, i8 0, i64 %host.bytes, i1 false)
  %allocate = call i64 @entry_of(ptr %table, i64 {ALLOCATE})
  store i64 %allocate, ptr %host, align 8
  %launcher = call i64 @entry_of(ptr %table, i64 {LAUNCHER})
  %launcher.at = getelementptr i64, ptr %host, i64 1
  store i64 %launcher, ptr %launcher.at, align 8
  %table.at = getelementptr i64, ptr %host, i64 {TABLE}
  store ptr %table, ptr %table.at, align 8
  store ptr %host, ptr %pointers, align 8
  call void @read(ptr %table, ptr %args, i64 %nargs, ptr %pointers, ptr %sizes, ptr %numbers)
  %objects = getelementptr i64, ptr %host, i64 {OBJECTS}
  %ended = call i1 %function(ptr %pointers, ptr %sizes, i64 0, i64 0)
  %memory.at = getelementptr i64, ptr %host, i64 {MEMORY}
  %memory = load ptr, ptr %memory.at, align 8
  call void @free(ptr %memory)
  br i1 %ended, label %finished, label %left
finished:
  %result = call ptr @answer(ptr %table, ptr %objects, i64 %count)
  ret ptr %result
left:
  call void @drop(ptr %objects, i64 %count)
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %failed, label %python
failed:
  ret ptr null
python:  ; all of it, by the main function
  %main.n = call i64 @entry_of(ptr %table, i64 {MAIN})
  %main = inttoptr i64 %main.n to ptr
  %answer = call ptr @PyObject_Vectorcall(ptr %main, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

# Kernels that each main function may launch, by their suffixes.
ROUTINES = {"_copy": Layout(sizes=0, arrays=2), "_dot": Layout(sizes=0, arrays=4)}
ENDS = ("", "_allocate", "_launch", *ROUTINES)


def bind_main(
    addresses: dict[str, int],
    main: MainFunction,
    dtypes: list[np.dtype[Any]],
    python: tuple[Callable[..., Any], Callable[..., Any]],
    load: Callable[[Function], int],
) -> Callable[..., Any]:
    """Return the builtin function that calls a main function.

    ``addresses`` are those of the functions of :data:`CALL` by their suffixes, and ``dtypes`` those
    of the arguments.  The first calls go to the first function of ``python``.  Then ``load``
    compiles the main function and returns its address, and calls that it leaves go to the second.
    """
    body: list[int] = []
    for dtype, dims in zip(dtypes, main.dims, strict=True):
        form = INTEGER if dtype.kind != "f" else SINGLE if dtype.itemsize == 4 else DOUBLE
        body += [id(dtype.type), form, len(dims)]
    body += main.pointers
    results_at = HEAD + len(body)
    descriptions: list[int] = []
    for dtype, order in main.results:
        body.append(results_at + len(main.results) + len(descriptions))
        descriptions += [id(dtype), dtype.itemsize, len(order), *order]
    calls = 0

    def first(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls <= HOT:
            return python[0](*arguments)
        table[FUNCTION] = load(main.function)
        table[MAIN] = id(python[1])
        return call(*arguments)

    head = [
        len(dtypes), sum(map(len, main.dims)), len(main.pointers), len(main.results), results_at,
        0, id(first), id(None), id(np.ndarray), numpy_api.address(numpy_api.NEW_FROM_DESCR),
        numpy_api.address(numpy_api.RETURN), settings.ctypes.data, addresses["_allocate"],
        addresses["_launch"],
    ]  # fmt: skip
    table = np.array([*head, *body, *descriptions], dtype=np.int64)
    kept = [dtype for dtype, _ in main.results]
    call = builtin("main", addresses[""], table, python, first, main.kept, kept)
    return call


__all__ = ["CALL", "ENDS", "HOT", "ROUTINES", "bind_main"]
