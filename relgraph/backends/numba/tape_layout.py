"""The bytecode of a program: a table of integers that :mod:`.native` interprets.

Values are numbered: arguments, constants, allocated values, called memory, and views.  The table
holds a head, followed by

* five integers for each term, which is a size or a position: an argument and its axis; -1 and the
  number; or FIRST or COUNT, an earlier term, and the bounds of a slice of an axis of that size, of
  which the term is the first position or the number of elements;
* two integers for each argument: its scalar type, and how a Python number becomes its element;
* the addresses of the elements of the constants;
* for each value in memory its kind, its item size, a field of the kind (the dtype object of a
  RESULT, the argument of a PLACE, which is an out argument), its rank, a term for each axis, and
  for a RESULT its axes in the order of memory;
* the steps, each an opcode and its operands;
* the index in memory of each result.

====== ===================================================================================
opcode operands
====== ===================================================================================
RUN    the table of a kernel; for each size and each stride a count of terms and the terms to
       multiply; for each array a value
VIEW   a view, a value, and a count of offsets, each a count of terms and the terms to multiply
COPY   two values, and a count of terms and the terms to multiply: how many bytes of the second
       are copied to the first
DOT    the address of NumPy's function, the values of two vectors and of the result, a term for
       the length, and for each stride a count of terms and the terms to multiply
EQUAL  two terms that must be equal
WITHIN a value, an unsigned integer that must be less than a term
SOME   a count of terms and the terms, none of which may be 0
LONE   two counts, each with terms: the number of rows and the elements of a row; a single
       long row is left to a variant
====== ===================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import maxsize
from typing import Any

import numpy as np

from relgraph.backends.base import Array
from relgraph.backends.numba import numpy_api
from relgraph.backends.numba.calls import builtin
from relgraph.backends.numba.launch import settings

# The head of the table.
ARGUMENTS, TERMS, CONSTANTS, MEMORY, VIEWS, STEPS, RESULTS, RESULTS_AT = range(8)
MAIN, NONE, ARRAY_TYPE, NEW, AS_SCALAR, SETTINGS = range(8, 14)
HEAD = 14

TERM = 5  # integers for each term
ARGUMENT = 2  # integers for each argument
DOUBLE, SINGLE, INTEGER = range(3)  # elements that Python numbers become
NUMBER, FIRST, COUNT = -1, -2, -3  # kinds of terms that are not the size of an argument
TEMPORARY, RESULT, PLACE = range(3)  # kinds of memory
RUN, EQUAL, WITHIN, SOME, LONE, VIEW, DOT, COPY = range(8)  # kinds of steps


class Tape:
    """A builder of bytecode; ``dtypes`` are those of the parameters, including out arguments."""

    def __init__(self, dtypes: Sequence[np.dtype[Any]]) -> None:
        self.arguments = len(dtypes)
        self._dtypes = dtypes
        self.views = 0
        self._terms: dict[tuple[int, ...], int] = {}
        self._constants: list[Array] = []
        self._memory: list[list[int]] = []
        self._steps: list[int] = []
        self._count = 0

    def size(self, argument: int, axis: int) -> int:
        """Return the number of the term for the size of an argument."""
        return self._term(argument, axis)

    def number(self, value: int) -> int:
        """Return the number of the term for an int."""
        return self._term(NUMBER, value)

    def part(self, size: int, bounds: slice) -> tuple[int, int]:
        """Return the terms for the first position and the length of a slice of an axis.

        ``size`` is the term of the axis.  The bounds are ints or None.
        """
        kind, length, *_ = [*self._terms][size]
        if kind == NUMBER:
            positions = range(*bounds.indices(length))
            return self.number(positions.start), self.number(len(positions))
        step = 1 if bounds.step is None else bounds.step
        ends = (0, maxsize) if step > 0 else (maxsize, -maxsize)
        pairs = zip((bounds.start, bounds.stop), ends, strict=True)
        start, stop = (end if bound is None else clipped(bound) for bound, end in pairs)
        step = clipped(step)
        return self._term(FIRST, size, start, stop, step), self._term(
            COUNT, size, start, stop, step
        )

    def _term(self, *integers: int) -> int:
        padded = (*integers, *[0] * (TERM - len(integers)))
        return self._terms.setdefault(padded, len(self._terms))

    def constant(self, array: Array) -> int:
        """Return the number of a constant, counted from the end of the arguments."""
        self._constants.append(array)
        return len(self._constants) - 1

    def memory(self, dtype: np.dtype[Any], terms: Sequence[int], place: int | None = None) -> int:
        """Return the number of a temporary, or of a result in the out argument ``place``."""
        kind = TEMPORARY if place is None else PLACE
        self._memory.append([kind, dtype.itemsize, place or 0, len(terms), *terms])
        return len(self._memory) - 1

    def result(
        self, memory: int, dtype: np.dtype[Any], terms: Sequence[int], order: Sequence[int]
    ) -> None:
        """Turn a temporary into a new array that is returned.

        ``terms`` are its sizes, and ``order`` its axes as they lie in memory, the outermost first.
        """
        entry = [RESULT, dtype.itemsize, id(dtype), len(terms), *terms, *order]
        self._memory[memory] = entry

    def view(self) -> int:
        """Return the number of a new view, which a step defines."""
        self.views += 1
        return self.views - 1

    def step(self, *integers: int) -> None:
        """Add a step; LONE must come first."""
        assert integers[0] != LONE or not self._steps
        self._steps.extend(integers)
        self._count += 1

    @property
    def constants(self) -> int:
        """The number of constants."""
        return len(self._constants)

    @property
    def allocated(self) -> int:
        """The number of allocated values."""
        return len(self._memory)

    def bound(
        self, address: int, results: Sequence[int] | None, main: Callable[..., Any], *kept: Any
    ) -> Callable[..., Any]:
        """Return the builtin function that runs the bytecode.

        ``address`` is that of the machine function.  ``results`` holds the memory of the results,
        or None if they are out arguments.  ``kept`` holds further objects that the table points to.
        """
        body = [number for term in self._terms for number in term]
        for dtype in self._dtypes:
            form = INTEGER if dtype.kind != "f" else SINGLE if dtype.itemsize == 4 else DOUBLE
            body += [id(dtype.type), form]
        body += [x.ctypes.data for x in self._constants]
        body += [number for entry in self._memory for number in entry]
        body += self._steps
        head = [0] * HEAD
        head[:8] = (
            self.arguments, len(self._terms), len(self._constants), len(self._memory), self.views,
            self._count, -1 if results is None else len(results), HEAD + len(body),
        )  # fmt: skip
        head[8:] = (
            id(main), id(None), id(np.ndarray), numpy_api.address(numpy_api.NEW_FROM_DESCR),
            numpy_api.address(numpy_api.RETURN), settings.ctypes.data,
        )  # fmt: skip
        table = np.array([*head, *body, *(results or ())], dtype=np.int64)
        return builtin("main", address, table, main, self._constants, *kept)


def clipped(bound: int) -> int:
    """Return a bound of a slice within the sizes that there are, which means the same."""
    return max(-maxsize, min(bound, maxsize))


__all__ = ["COPY", "DOT", "EQUAL", "LONE", "RUN", "SOME", "VIEW", "WITHIN", "Tape"]
