"""The tape of a program: a table of integers that says what :mod:`.native` does.

Values are numbered: arguments first, then constants, then what is allocated, which is called the
memory of the program.  After a head come, one after the other:

* for each term, which is a size, two integers: an argument and its axis, or -1 and the size;
* the addresses of the elements of the constants;
* the memory: for each value its kind, the bytes of an element, what the kind asks for (the dtype
  object of a RESULT, the argument that is a PLACE), its rank, and a term for each axis;
* the steps, each its kind and what this asks for;
* for each result, where it is in the memory.

====== ===================================================================================
step   what follows
====== ===================================================================================
RUN    the table of a kernel; for each of its sizes a number of terms and these, which are
       multiplied; for each of its arrays a value
EQUAL  two terms, which must be equal
WITHIN a value and a term: an integer without a sign that must be less
SOME   a number of terms, and these: none of them may be 0
LONE   a number of terms, and these, twice: the first count rows, and the second the elements of
       a row; one long row is left to another program
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

# The head of a tape.
ARGUMENTS, TERMS, CONSTANTS, MEMORY, STEPS, RESULTS, RESULTS_AT = range(7)
MAIN, NONE, ARRAY_TYPE, NEW, AS_SCALAR, SETTINGS = range(7, 13)
HEAD = 13

TEMPORARY, RESULT, PLACE = range(3)  # kinds of memory
RUN, EQUAL, WITHIN, SOME, LONE = range(5)  # kinds of steps


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
        """Add a step.  Nothing may be done before it is known whether the rows are one."""
        assert integers[0] != LONE or not self._steps
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
