"""Arrays while a graph is written in the loop language: elements written out, computed, or stored.

A *written* array of constant shape has a scalar for each element, and takes no memory.  A
*computed* one is a function of an index, written where the element is needed.  A *stored* one is in
a buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from relgraph.lowering.loops.builder import ZERO, Builder
from relgraph.lowering.loops.nodes import Buffer, Const, Scalar, const, index

Index = Sequence[Scalar]
At = Callable[[Index], Scalar]


class Part(NamedTuple):
    """Elements of an array: the sizes, and the index in the array for one in the part."""

    shape: Sequence[Scalar]
    place: Callable[[Index], Index]


class Value:
    """An array: its dtype, its sizes, and its elements.

    ``by_columns`` is True for a matrix of which elements of a column are next to each other.
    """

    by_columns = False

    def __init__(self, dtype: str, shape: Sequence[Scalar]) -> None:
        self.dtype = dtype
        self.shape = tuple(shape)

    @property
    def static(self) -> tuple[int, ...] | None:
        """The sizes, if all are constant."""
        sizes = tuple([x.value for x in self.shape if isinstance(x, Const)])
        return sizes if len(sizes) == len(self.shape) else None

    @property
    def reads(self) -> frozenset[Buffer]:
        """The buffers that elements are read from."""
        return frozenset()

    def at(self, place: Index) -> Scalar:
        """Return an element."""
        raise NotImplementedError


class Written(Value):
    """An array with a scalar for each element.

    ``source`` returns the same array in memory, if it can be there too.
    """

    def __init__(self, dtype: str, elements: Any, builder: Builder) -> None:
        super().__init__(dtype, [index(n) for n in elements.shape])
        self.elements = elements
        self.source: Callable[[], Value] | None = None
        self._builder = builder

    def at(self, place: Index) -> Scalar:
        """Return an element; at an index that is not constant, by comparing it with each one."""
        if self.source is not None and not all([isinstance(i, Const) for i in place]):
            return self.source().at(place)
        elements: Any = self.elements
        for axis, i in enumerate(place):
            if isinstance(i, Const):
                elements = np.take(elements, [i.value], axis)
        rest = [(axis, i) for axis, i in enumerate(place) if not isinstance(i, Const)]
        found: Scalar | None = None
        for where in product(*[range(n) for n in elements.shape]):
            element: Scalar = elements[where]
            if found is None:
                found = element
                continue
            test: Scalar | None = None
            for axis, i in rest:
                same = self._builder.op("equal", i, index(where[axis]), dtype="bool")
                test = same if test is None else self._builder.op("and", test, same, dtype="bool")
            assert test is not None
            found = self._builder.op("select", test, element, found, dtype=self.dtype)
        # An array without elements is read only where a loop has no iterations.
        return const(0, self.dtype) if found is None else found


class Computed(Value):
    """An array whose elements are a function of their index.

    ``cost`` counts the ops of an element.  ``turned`` is the matrix of which it is the transpose.
    """

    def __init__(
        self,
        dtype: str,
        shape: Sequence[Scalar],
        at: At,
        reads: frozenset[Buffer],
        cost: int,
    ) -> None:
        super().__init__(dtype, shape)
        self._at = at
        self._reads = reads
        self.cost = cost
        self.turned: Stored | None = None

    @property
    def reads(self) -> frozenset[Buffer]:
        """The buffers that elements are read from."""
        return self._reads

    def at(self, place: Index) -> Scalar:
        """Return an element, writing what computes it."""
        return self._at(place)


class Stored(Value):
    """An array in a buffer, of which the first indices may be fixed.

    ``shared`` is True for one that is read again later, by another iteration or around a loop.
    ``shape`` is that of an array that may be smaller than the buffer.
    """

    def __init__(
        self,
        buffer: Buffer,
        builder: Builder,
        first: Index = (),
        *,
        shared: bool = False,
        shape: Sequence[Scalar] | None = None,
    ) -> None:
        super().__init__(buffer.dtype, buffer.shape[len(first) :] if shape is None else shape)
        self.buffer = buffer
        self.first = tuple(first)
        self.shared = shared
        self._builder = builder

    def part(self, *at: Scalar) -> Stored:
        """Return the part at further indices."""
        shape = self.shape[len(at) :]
        return Stored(self.buffer, self._builder, (*self.first, *at), shape=shape)

    @property
    def reads(self) -> frozenset[Buffer]:
        """The buffer."""
        return frozenset({self.buffer})

    def at(self, place: Index) -> Scalar:
        """Return an element as it is now."""
        return self._builder.load(self.buffer, (*self.first, *place))


def reads(*values: Value) -> frozenset[Buffer]:
    """Return the buffers that arrays read."""
    return frozenset().union(*[x.reads for x in values])


def stretched(value: Value, place: Index) -> Scalar:
    """Return the element of an operand that broadcasts, for an index of the result."""
    last = place[len(place) - len(value.shape) :]
    ones = [isinstance(n, Const) and n.value == 1 for n in value.shape]
    return value.at([ZERO if one else i for one, i in zip(ones, last, strict=True)])


__all__ = [
    "At", "Computed", "Index", "Part", "Stored", "Value", "Written", "reads", "stretched",
]  # fmt: skip
