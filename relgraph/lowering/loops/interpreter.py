"""The meaning of the loop language: functions run on scalars of NumPy, one statement at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.lowering.loops.linalg.numpy_lapack import ROUTINES
from relgraph.lowering.loops.nodes import (
    START,
    STOP,
    Address,
    Alias,
    Allocate,
    Atomic,
    Body,
    Buffer,
    Call,
    Carry,
    Const,
    Function,
    If,
    Join,
    Launch,
    Leave,
    Let,
    Load,
    Loop,
    Op,
    Prefix,
    Scalar,
    Statement,
    Store,
    Stream,
    Var,
    While,
)

Values = dict[Var, Any]

_PRIMITIVES: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "rem": lambda a, b: a % b,
    "min": min,
    "max": max,
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": lambda test, a, b: a if test else b,
    "sum": lambda a, b: a + b,
}


def run(
    function: Function,
    integers: Sequence[int],
    arrays: Sequence[npt.NDArray[Any]],
    start: int = 0,
    stop: int = 1,
    *,
    kernels: Mapping[str, Callable[..., None]] = MappingProxyType({}),
) -> dict[int, npt.NDArray[Any]]:
    """Run a function, which writes to some of the arrays, and return what it allocated.

    Parameters
    ----------
    function : Function
        The function.
    integers : sequence of int
        The value of each of its integers.
    arrays : sequence of array
        An array of the shape and dtype of each of its buffers.
    start, stop : int
        Its range.
    kernels : dict of callable
        What runs each kernel that it launches, on flat arrays and integers.
    """
    values: Values = dict(zip(function.integers, map(np.int64, integers), strict=True))
    values.update({START: np.int64(start), STOP: np.int64(stop)})
    buffers = dict(zip(function.arrays, arrays, strict=True))
    this = _Run(buffers, kernels)
    with np.errstate(all="ignore"), suppress(_Left):
        this.body(function.body, values)
    return this.allocated


class _Left(Exception):
    pass


class _Run:
    def __init__(
        self, buffers: dict[Buffer, npt.NDArray[Any]], kernels: Mapping[str, Callable[..., None]]
    ) -> None:
        self.buffers = buffers
        self.kernels = kernels
        self.allocated: dict[int, npt.NDArray[Any]] = {}

    def body(self, body: Body, values: Values) -> None:
        for statement in body:
            self.statement(statement, values)

    def statement(self, s: Statement, values: Values) -> None:
        if isinstance(s, Let | Join):
            values[s.var] = self.value(s.value, values)
        elif isinstance(s, Prefix):
            start, value = self.value(s.start, values), self.value(s.value, values)
            values[s.before], values[s.after] = start, s.op.perform(start, value)
        elif isinstance(s, Store):
            value = self.value(s.value, values)
            self.array(s.buffer)[self.place(s.buffer, s.index, values)] = value
        elif isinstance(s, Atomic):
            self.array(s.buffer)[self.place(s.buffer, s.index, values)] += self.value(
                s.value, values
            )
        elif isinstance(s, Stream):
            *first, last = self.place(s.buffer, s.index, values)
            count = self.value(s.count, values)
            source = self.array(s.source)[:count]
            self.array(s.buffer)[(*first, slice(last, last + count))] = source
        elif isinstance(s, Loop):
            self.start(s.carried, values)
            for i in range(self.value(s.low, values), self.value(s.high, values), s.step):
                values[s.index] = np.int64(i)
                self.body(s.body, values)
                self.step(s.carried, values)
        elif isinstance(s, While):
            self.start(s.carried, values)
            self.body(s.head, values)
            while self.value(s.test, values):
                self.body(s.body, values)
                self.step(s.carried, values)
                self.body(s.head, values)
        elif isinstance(s, If):
            holds = self.value(s.test, values)
            self.body(s.then if holds else s.other, values)
            ends = [self.value(r.then if holds else r.other, values) for r in s.results]
            values.update(zip([r.var for r in s.results], ends, strict=True))
        elif isinstance(s, Leave):
            if self.value(s.test, values):
                raise _Left
        elif isinstance(s, Alias):
            memory = self.argument(s.address, values).view(s.buffer.dtype)
            self.buffers[s.buffer] = memory[: prod(self.shape(s.buffer, values))].reshape(
                self.shape(s.buffer, values)
            )
        elif isinstance(s, Allocate):
            array = np.empty([int(self.value(n, values)) for n in s.sizes], s.buffer.dtype)
            self.allocated[s.number] = array
            self.buffers[s.buffer] = array.reshape(self.shape(s.buffer, values))
        elif isinstance(s, Launch):
            arrays = [self.argument(x, values) for x in s.arrays]
            self.kernels[s.kernel.name](arrays, [self.value(x, values) for x in s.integers])
        elif isinstance(s, Call):
            ROUTINES[s.routine[1:]](*[self.argument(x, values) for x in s.arguments])

    def shape(self, buffer: Buffer, values: Values) -> list[int]:
        return [int(self.value(n, values)) for n in buffer.shape]

    def argument(self, x: Address | Scalar, values: Values) -> Any:
        """Return a scalar, or the memory of a buffer from an address on."""
        if isinstance(x, Scalar):
            return self.value(x, values)
        array = self.array(x.buffer)
        assert array.flags.c_contiguous
        place = [int(self.value(i, values)) for i in x.index]
        first = sum([i * n // array.itemsize for i, n in zip(place, array.strides, strict=True)])
        return array.reshape(-1)[first:]

    def start(self, carried: Iterable[Carry], values: Values) -> None:
        starts = [(c.var, self.value(c.start, values)) for c in carried]
        values.update(starts)

    def step(self, carried: Iterable[Carry], values: Values) -> None:
        following = [(c.var, self.value(c.next, values)) for c in carried]
        values.update(following)

    def array(self, buffer: Buffer) -> npt.NDArray[Any]:
        if buffer not in self.buffers:
            shape = [size.value for size in buffer.shape]  # type: ignore[attr-defined]
            self.buffers[buffer] = np.empty(shape, buffer.dtype)
        return self.buffers[buffer]

    def place(self, buffer: Buffer, at: Sequence[Scalar], values: Values) -> tuple[Any, ...]:
        place = tuple([self.value(x, values) for x in at])
        for i, size in zip(place, self.array(buffer).shape, strict=True):
            if not 0 <= i < size:
                raise IndexError(f"{buffer.name}{list(map(int, place))} is out of range")
        return place

    def value(self, x: Scalar, values: Values) -> Any:
        if isinstance(x, Const):
            return np.dtype(x.dtype).type(x.value)
        if isinstance(x, Var):
            return values[x]
        if isinstance(x, Load):
            return self.array(x.buffer)[self.place(x.buffer, x.index, values)]
        assert isinstance(x, Op)
        args = [self.value(y, values) for y in x.args]
        function = _PRIMITIVES[x.op] if isinstance(x.op, str) else x.op.perform
        return np.dtype(x.dtype).type(function(*args))


__all__ = ["run"]
