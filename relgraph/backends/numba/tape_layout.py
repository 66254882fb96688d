"""The bytecode of a program: a table of integers that :mod:`.native` interprets.

Values are numbered: arguments, then constants, then the allocated values, called memory.  The table
holds a head, followed by

* two integers for each term, which is a size: an argument and its axis, or -1 and the size;
* the addresses of the elements of the constants;
* for each value in memory its kind, its item size, a field of the kind (the dtype object of a
  RESULT, the argument of a PLACE, which is an out argument), its rank, and a term for each axis;
* the steps, each an opcode and its operands;
* the index in memory of each result.

====== ===================================================================================
opcode operands
====== ===================================================================================
RUN    the table of a kernel; for each size a count of terms and the terms to multiply;
       for each array a value
EQUAL  two terms that must be equal
WITHIN a value, an unsigned integer that must be less than a term
SOME   a count of terms and the terms, none of which may be 0
LONE   two counts, each with terms: the number of rows and the elements of a row; a single
       long row is left to a variant
====== ===================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgraph.backends.base import Array
from relgraph.backends.numba import numpy_api
from relgraph.backends.numba.calls import builtin
from relgraph.backends.numba.launch import settings

# The head of the table.
ARGUMENTS, TERMS, CONSTANTS, MEMORY, STEPS, RESULTS, RESULTS_AT = range(7)
MAIN, NONE, ARRAY_TYPE, NEW, AS_SCALAR, SETTINGS = range(7, 13)
HEAD = 13

TEMPORARY, RESULT, PLACE = range(3)  # kinds of memory
RUN, EQUAL, WITHIN, SOME, LONE = range(5)  # kinds of steps


class Tape:
    """A builder of bytecode; ``arguments`` counts the parameters, including out arguments."""

    def __init__(self, arguments: int) -> None:
        self.arguments = arguments
        self._terms: dict[tuple[int, int], int] = {}
        self._constants: list[Array] = []
        self._memory: list[list[int]] = []
        self._steps: list[int] = []
        self._count = 0

    def term(self, argument: int, axis: int) -> int:
        """Return the number of a size: an argument and its axis, or -1 and an int."""
        return self._terms.setdefault((argument, axis), len(self._terms))

    def constant(self, array: Array) -> int:
        """Return the number of a constant, counted from the end of the arguments."""
        self._constants.append(array)
        return len(self._constants) - 1

    def memory(self, dtype: np.dtype[Any], terms: Sequence[int], place: int | None = None) -> int:
        """Return the number of a temporary, or of a result in the out argument ``place``."""
        kind = TEMPORARY if place is None else PLACE
        self._memory.append([kind, dtype.itemsize, place or 0, len(terms), *terms])
        return len(self._memory) - 1

    def result(self, memory: int, dtype: np.dtype[Any]) -> None:
        """Turn a temporary into a new array that is returned."""
        self._memory[memory][0] = RESULT
        self._memory[memory][2] = id(dtype)

    def step(self, *integers: int) -> None:
        """Add a step; LONE must come first."""
        assert integers[0] != LONE or not self._steps
        self._steps.extend(integers)
        self._count += 1

    @property
    def constants(self) -> int:
        """The number of constants."""
        return len(self._constants)

    def bound(
        self, address: int, results: Sequence[int] | None, main: Callable[..., Any], *kept: Any
    ) -> Callable[..., Any]:
        """Return the builtin function that runs the bytecode.

        ``address`` is that of the machine function.  ``results`` holds the memory of the results,
        or None if they are out arguments.  ``kept`` holds further objects that the table points to.
        """
        body = [number for pair in self._terms for number in pair]
        body += [x.ctypes.data for x in self._constants]
        body += [number for entry in self._memory for number in entry]
        body += self._steps
        head = [0] * HEAD
        head[:7] = (
            self.arguments, len(self._terms), len(self._constants), len(self._memory),
            self._count, -1 if results is None else len(results), HEAD + len(body),
        )  # fmt: skip
        head[7:] = (
            id(main), id(None), id(np.ndarray), numpy_api.address(numpy_api.NEW_FROM_DESCR),
            numpy_api.address(numpy_api.RETURN), settings.ctypes.data,
        )  # fmt: skip
        table = np.array([*head, *body, *(results or ())], dtype=np.int64)
        return builtin("main", address, table, main, self._constants, *kept)


__all__ = ["EQUAL", "LONE", "RUN", "SOME", "WITHIN", "Tape"]
