"""The call of a compiled function in machine code: test the arguments, then run the program.

Arguments that pass the test go to the program.  All others, and keyword arguments, go to a Python
function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgraph.backends.numba.calls import builtin
from relgraph.backends.numba.launch import ENTRY_OF

TEST, TESTED, RUN, PROGRAM, OTHER, TRUE = range(6)

ENTRY = f"""
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @Py_DecRef(ptr)
{ENTRY_OF}
define ptr @NAME(ptr %self, ptr %args, i64 %nargs, ptr %names) optsize {{
entry:
  %table.at = getelementptr i8, ptr %self, i64 16
  %table = load ptr, ptr %table.at, align 8
  %unnamed = icmp eq ptr %names, null
  br i1 %unnamed, label %test, label %other
test:
  %test.n = call i64 @entry_of(ptr %table, i64 {TEST})
  %test.function = inttoptr i64 %test.n to ptr
  %tested.n = call i64 @entry_of(ptr %table, i64 {TESTED})
  %tested = inttoptr i64 %tested.n to ptr
  %answer = call ptr %test.function(ptr %tested, ptr %args, i64 %nargs)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %failed, label %answered
failed:
  ret ptr null
answered:
  %answer.n = ptrtoint ptr %answer to i64
  call void @Py_DecRef(ptr %answer)
  %true = call i64 @entry_of(ptr %table, i64 {TRUE})
  %fits = icmp eq i64 %answer.n, %true
  br i1 %fits, label %run, label %other
run:
  %run.n = call i64 @entry_of(ptr %table, i64 {RUN})
  %run.function = inttoptr i64 %run.n to ptr
  %table.self.n = call i64 @entry_of(ptr %table, i64 {PROGRAM})
  %table.self = inttoptr i64 %table.self.n to ptr
  %result = call ptr %run.function(ptr %table.self, ptr %args, i64 %nargs)
  ret ptr %result
other:
  %other.n = call i64 @entry_of(ptr %table, i64 {OTHER})
  %other.function = inttoptr i64 %other.n to ptr
  %other.result = call ptr @PyObject_Vectorcall(ptr %other.function, ptr %args, i64 %nargs,
                                                ptr %names)
  ret ptr %other.result
}}
"""


def bind_entry(
    address: int,
    test: tuple[int, Callable[..., bool]],
    run: tuple[int, Callable[..., Any]],
    other: Callable[..., Any],
) -> Callable[..., Any]:
    """Return a builtin function that calls the program ``run``, or ``other`` if ``test`` fails.

    ``address`` is that of the machine function; ``test`` and ``run`` each come with the address of
    theirs.
    """
    table = np.array(
        [test[0], _self(test[1]), run[0], _self(run[1]), id(other), id(True)], dtype=np.int64
    )
    return builtin("call", address, table, test[1], run[1], other, named=True)


def _self(function: Callable[..., Any]) -> int:
    """Return the address of the ``self`` of a builtin function."""
    return id(function.__self__)  # type: ignore[attr-defined]


__all__ = ["ENTRY", "bind_entry"]
