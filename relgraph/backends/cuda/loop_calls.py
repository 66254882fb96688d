"""Loops and choices on the device: a kernel if the loop language has all their ops.

Independent series run on a thread each.  All other loops run on the threads of one block, which
share what is done for each element of an array, or on one thread if arrays are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.block_printer import printed_for_block
from relgraph.backends.cuda.launches import blocks, compiled
from relgraph.backends.cuda.loop_printer import printed
from relgraph.backends.cuda.primitives import geometry
from relgraph.backends.cuda.source import Text
from relgraph.ir.node import Variable
from relgraph.lowering.loops.batches import batched
from relgraph.lowering.loops.build import written_loop
from relgraph.lowering.loops.function import Array, LoopFunction
from relgraph.lowering.loops.nodes import Buffer, Function, Loop, Node, Store
from relgraph.lowering.loops.rules import Unsupported
from relgraph.lowering.loops.writer import FAILED, Limits
from relgraph.ops.loops import is_loop

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

# None of these numbers has been measured on a GPU.
STATEMENTS = 2000  # which numba compiles in 10 s: 450 of a Kalman filter of 4 states take 2.5 s
STACK = 64  # elements of an array in local memory, which the driver reserves for all threads
LIMITS = Limits(statements=STATEMENTS, stack=STACK)


def loop_call(node: Variable) -> LoopCall | None:
    """Return the function that computes a loop on the device; None if it runs on the CPU."""
    if not is_loop(node):
        return None
    loop = written_loop(node, "NAME", LIMITS)
    if loop is None:
        return None
    try:
        return LoopCall(node, loop)
    except Unsupported:
        return None


class LoopCall:
    """An application of a loop on the device.

    A call returns None if a check failed, or if there are no series, whose checks nothing would
    make; then the op is computed on the CPU, by its definition.

    Attributes
    ----------
    runs : {"series", "block", "thread"}
        What runs the kernel: a thread for each series, a block, or one thread.
    threads : int
        The threads of a block.
    text : Text
        The kernel.
    checks : bool
        Whether the kernel may set the status, which the CPU then reads.
    """

    def __init__(self, node: Variable, loop: LoopFunction) -> None:
        self.node = node
        series = batched(loop)
        self.loop = loop if series is None else series
        function = self.loop.function
        self.runs, self.threads, self.text = _kernel(function, series is not None)
        last = function.body[-1]
        self._series = last.high if series is not None and isinstance(last, Loop) else None
        status = function.arrays[-1]
        stores = [x for x in _nodes(function.body[1:]) if isinstance(x, Store)]
        self.checks = any([x.buffer is status for x in stores])

    def __call__(self, run: Run) -> tuple[DeviceArray, ...] | None:
        """Return the results."""
        inputs, loop = self.node.inputs, self.loop
        integers = [run.shapes[inputs[i]][axis] for i, axis in loop.integers]
        count = self._count(integers)
        if not count:
            return None
        if self.checks:
            run.refuse_recording(self.node)
        arrays = {i: run.on_device(inputs[i]) for i in loop.operands}
        scratch = self._made(run, loop.scratch, integers)
        while True:
            results = self._made(run, loop.results, integers)
            zero = np.zeros(1, np.int64)
            status = run.moved(zero) if self.checks else run.empty(zero.shape, zero.dtype)
            used = [*[arrays[i] for i in loop.operands], *results, *scratch, status]
            run.launch(
                compiled(self.text),
                (blocks(count, self.threads),),
                (self.threads,),
                [1, *integers, *map(flat_of, used)],
            )
            found = int(status.to_host(run.stream)[0]) if self.checks else 0
            if not found:
                return tuple(results)
            if found & FAILED:
                return None
            arrays.update(enumerate(results))  # a ``while`` loop goes on

    def _made(
        self, run: Run, arrays: Sequence[Array], integers: Sequence[int]
    ) -> list[DeviceArray]:
        return [run.empty(self.loop.sizes(x, integers), np.dtype(x.dtype)) for x in arrays]

    def _count(self, integers: Sequence[int]) -> int:
        """Return the number of series, or 1."""
        return 1 if self._series is None else self.loop.size(self._series, integers) or 0


def _kernel(function: Function, series: bool) -> tuple[str, int, Text]:
    """Return what runs a function, the threads of its block, and its kernel."""
    threads = geometry().threads
    if series:
        return "series", threads, printed(function, threads)
    try:
        return "block", threads, printed_for_block(function, threads)
    except Unsupported:
        return "thread", 1, printed(function)


def _nodes(x: Any) -> Iterator[Node]:
    """Yield the statements and scalars of a body."""
    if isinstance(x, tuple):
        for y in x:
            yield from _nodes(y)
    elif isinstance(x, Node) and not isinstance(x, Buffer):
        yield x
        yield from _nodes(x.values)


__all__ = ["LoopCall", "loop_call"]
