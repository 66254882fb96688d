"""Loops and choices on the device: a kernel if the loop language has all their ops.

Independent series run on a thread each.  All other loops run on the threads of one block, which
share what is done for each element of an array, or on one thread if arrays are small.  So do few
series of wide arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.block_printer import printed_for_block
from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.launches import blocks, compiled
from relgraph.backends.cuda.loop_printer import printed
from relgraph.backends.cuda.primitives import geometry
from relgraph.ir.node import Variable
from relgraph.ir.records import record
from relgraph.lowering.loops.batches import batched
from relgraph.lowering.loops.build import written_loop
from relgraph.lowering.loops.function import Array, LoopFunction
from relgraph.lowering.loops.nodes import Loop, Store, walk
from relgraph.lowering.loops.rules import Unsupported
from relgraph.lowering.loops.writer import FAILED, Limits
from relgraph.ops.loops import is_loop

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

# None of these numbers has been measured on a GPU.
STATEMENTS = 2000  # which numba compiles in 10 s: 450 of a Kalman filter of 4 states take 2.5 s
STACK = 64  # elements of an array in local memory, which the driver reserves for all threads
WAITS = 8  # how much wider a block has to be than threads that need not wait for each other
ARRAYS = 64  # whose descriptions of 56 bytes fit the 4 kB of parameters of a kernel
LIMITS = Limits(statements=STATEMENTS, stack=STACK)


@record(eq=False)
class LoopKernel:
    """A kernel of a loop.

    Attributes
    ----------
    runs : {"series", "block", "thread"}
        What runs it: a thread for each series, the threads of a block, or one thread.
    loop : LoopFunction
        What it computes.
    threads : int
        The threads of a block.
    text : Text
        The kernel.
    """

    runs: str
    loop: LoopFunction
    threads: int
    text: Text

    def width(self, integers: Sequence[int]) -> int:
        """Return how many threads have work; fewer, for threads that wait for each other."""
        if self.runs == "thread":
            return 1
        body = self.loop.function.body
        if self.runs == "series":
            last = body[-1]
            assert isinstance(last, Loop)
            return self.loop.size(last.high, integers) or 0
        widest = max([self.loop.size(x.high, integers) or 1 for x in _loops_apart(body)])
        return max(min(self.threads, widest) // WAITS, 1)


def loop_call(node: Variable) -> LoopCall | None:
    """Return the function that computes a loop on the device; None if it runs on the CPU."""
    if not is_loop(node):
        return None
    loop = written_loop(node, "NAME", LIMITS)
    if loop is None or len(loop.function.arrays) > ARRAYS:
        return None
    kernels = _kernels(loop)
    return LoopCall(node, kernels) if kernels else None


def _kernels(loop: LoopFunction) -> list[LoopKernel]:
    """Return the kernels that compute a loop, the one for many series first."""
    kernels: list[LoopKernel] = []
    threads = geometry().threads
    series = batched(loop)
    with suppress(Unsupported):
        if series is not None:
            text = printed(series.function, threads)
            kernels.append(LoopKernel("series", series, threads, text))
        if series is None or any(_loops_apart(series.function.body[-1].values)):
            text = printed_for_block(loop.function, threads)
            kernels.append(LoopKernel("block", loop, threads, text))
    if not kernels:
        with suppress(Unsupported):
            kernels.append(LoopKernel("thread", loop, 1, printed(loop.function)))
    return kernels


class LoopCall:
    """An application of a loop on the device.

    A call returns None if a check failed, or if there are no series, whose checks nothing would
    make; then the op is computed on the CPU, by its definition.

    Attributes
    ----------
    kernels : list of LoopKernel
        Those that compute it; a call takes the widest one.
    operands : tuple of int
        Which operands they read.
    checks : bool
        Whether a kernel may set the status, which the CPU then reads.
    """

    def __init__(self, node: Variable, kernels: list[LoopKernel]) -> None:
        self.node = node
        self.kernels = kernels
        self.operands = kernels[0].loop.operands
        function = kernels[-1].loop.function
        stores = [x for x in walk(function.body[1:]) if isinstance(x, Store)]
        self.checks = any([x.buffer is function.arrays[-1] for x in stores])

    def kernel(self, integers: Sequence[int]) -> LoopKernel:
        """Return the kernel for arrays of these sizes."""
        first, *_ = self.kernels
        if first.runs == "series" and not first.width(integers):
            return first
        return max(self.kernels, key=lambda x: x.width(integers))

    def __call__(self, run: Run) -> tuple[DeviceArray, ...] | None:
        """Return the results."""
        inputs = self.node.inputs
        places = self.kernels[0].loop.integers
        integers = [run.shapes[inputs[i]][axis] for i, axis in places]
        kernel = self.kernel(integers)
        width = kernel.width(integers)
        if not width:
            return None
        if self.checks:
            run.refuse_recording(self.node)
        arrays = {i: run.on_device(inputs[i]) for i in self.operands}
        scratch = _made(run, kernel.loop, kernel.loop.scratch, integers)
        grid = blocks(width, kernel.threads) if kernel.runs == "series" else 1
        while True:
            results = _made(run, kernel.loop, kernel.loop.results, integers)
            zero = np.zeros(1, np.int64)
            status = run.moved(zero) if self.checks else run.empty(zero.shape, zero.dtype)
            used = [*[arrays[i] for i in self.operands], *results, *scratch, status]
            run.launch(
                compiled(kernel.text),
                (grid,),
                (kernel.threads,),
                [1, *integers, *map(flat_of, used)],
            )
            found = int(status.to_host(run.stream)[0]) if self.checks else 0
            if not found:
                return tuple(results)
            if found & FAILED:
                return None
            arrays.update(enumerate(results))  # a ``while`` loop goes on


def _made(
    run: Run, loop: LoopFunction, arrays: Sequence[Array], integers: Sequence[int]
) -> list[DeviceArray]:
    return [run.empty(loop.sizes(x, integers), np.dtype(x.dtype)) for x in arrays]


def _loops_apart(x: Any) -> Iterator[Loop]:
    """Yield the loops over elements within statements."""
    for s in walk(x):
        if isinstance(s, Loop) and s.apart:
            yield s


__all__ = ["LoopCall", "LoopKernel", "loop_call"]
