"""Memory that a program keeps for its temporaries from one call to the next.

An array of many megabytes comes from the system as pages that have to be filled with zeros when
they are first touched, which takes longer than computing what is written there.  So large
temporaries are kept when a call has no more use for them.  Results are not: they are the caller's.
"""

from __future__ import annotations

from collections import deque
from math import prod
from typing import Any

import numpy as np

from relgraph.backends.base import Array

LARGE = 2**20  # bytes from which on an array is kept
MOST = 2**28  # bytes that a program keeps


class Arena:
    """The temporaries of a program that are not in use.

    Calls in several threads share it, and no array is handed to two of them: arrays are put to and
    taken from deques, which is done at once.  It has no lock that a child of the process could find
    taken.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[tuple[int, ...], Any], deque[Array]] = {}

    def borrow(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array with any contents, for a value that the program does not return.

        Parameters
        ----------
        shape : tuple of int
            Its shape.
        dtype : type
            Its scalar type.
        """
        kept = self._kept.get((shape, dtype))
        if kept:
            try:
                return kept.pop()
            except IndexError:  # another thread was faster
                pass
        return np.empty(shape, dtype)

    def give_back(self, array: Array) -> None:
        """Keep an array that nothing refers to any more, if it is large.

        Parameters
        ----------
        array : array
            One of :meth:`borrow`'s.
        """
        size = array.nbytes
        if size < LARGE or size > MOST:
            return
        if self.nbytes + size > MOST:  # sizes have changed: those of old calls are of no use
            self._kept = {}
        self._kept.setdefault((array.shape, array.dtype.type), deque()).append(array)

    @property
    def nbytes(self) -> int:
        """The bytes that are kept."""
        kept = self._kept
        return sum(
            len(arrays) * prod(shape) * np.dtype(dtype).itemsize
            for (shape, dtype), arrays in list(kept.items())
        )


__all__ = ["Arena"]
