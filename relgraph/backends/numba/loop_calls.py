"""Applications as one machine function each, if the loop language has all their ops.

Other loops run their bodies, which are compiled, from Python, and other ops by their definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.base import Array, OpCall
from relgraph.backends.numba import kernels
from relgraph.backends.numba.calls import Layout
from relgraph.errors import RelgraphError
from relgraph.ir.node import Variable
from relgraph.ir.types import TupleType
from relgraph.lowering.loops.batches import series_in_turn
from relgraph.lowering.loops.build import written_loop
from relgraph.lowering.loops.exchanges import with_exchanges
from relgraph.lowering.loops.function import LoopFunction
from relgraph.lowering.loops.lanes import on_lanes
from relgraph.lowering.loops.linalg.limits import CALLS
from relgraph.lowering.loops.overlaps import with_overlaps
from relgraph.lowering.loops.writer import FAILED
from relgraph.ops.loops import Body, Cond, Scan, WhileLoop, is_loop, repeated, scanned

if TYPE_CHECKING:
    from relgraph.backends.numba.compiler import NumbaBackend


class LoopCall:
    """An application of a loop, or of linear algebra, as a function of its operands.

    Attributes
    ----------
    compiled : LoopFunction or None
        The function that computes it; None if bodies run from Python, or the op by its definition.
    kernel : callable
        What calls the function.
    """

    def __init__(self, node: Variable, backend: NumbaBackend) -> None:
        self.node = node
        written = written_loop(node, "NAME")
        self.compiled = None if written is None else with_exchanges(written)
        self._slow: Callable[..., Any] | None = None
        self._backend = backend
        self._defined = OpCall(node)  # raises errors that name the op
        if self.compiled is not None:
            self.kernel = _kernel(self.compiled)

    def __call__(self, *operands: Any) -> Any:
        """Return the results: a tuple, or an array."""
        loop = self.compiled
        results = None if loop is None else self._run(loop, operands)
        if results is not None:
            return results if isinstance(self.node.type, TupleType) else results[0]
        return self._by_bodies(operands) if is_loop(self.node) else self._defined(*operands)

    def _run(self, loop: LoopFunction, operands: Sequence[Any]) -> tuple[Array, ...] | None:
        """Run the function; return None if a check failed."""
        arrays = [
            _ready(np.swapaxes(x, -1, -2) if i in loop.turned else x)
            for i, x in enumerate(operands)
        ]
        integers = [arrays[i].shape[axis] for i, axis in loop.integers]
        if loop.bounded and not self._fits(loop, integers):
            return None
        scratch = [kernels.empty(loop.sizes(x, integers), x.dtype) for x in loop.scratch]
        status = np.empty(1, np.int64)
        while True:
            results = [kernels.empty(loop.sizes(x, integers), x.dtype) for x in loop.results]
            read = [arrays[i] for i in loop.operands]
            self.kernel(1, *integers, *read, *results, *scratch, status)
            if not status[0]:
                return tuple(results)
            if status[0] & FAILED:
                return None
            arrays[: len(results)] = results  # a ``while`` loop goes on

    def _fits(self, loop: LoopFunction, integers: Sequence[int]) -> bool:
        """Return False for sizes of matrices for which the function fails."""
        ranks = [x.ndim for x in self.node.inputs]
        axes = zip(loop.integers, integers, strict=True)
        return all([n <= CALLS for (i, axis), n in axes if axis >= ranks[i] - 2])

    def _by_bodies(self, operands: Sequence[Any]) -> tuple[Array, ...]:
        """Run the bodies from Python; checks that fail raise their errors."""
        op: Any = self.node.op
        if self._slow is None:
            self._slow = _by_bodies(op, self._backend)
        try:
            return tuple(self._slow(*operands))
        except (ValueError, IndexError, OverflowError) as error:
            if isinstance(error, RelgraphError):
                raise
            results: tuple[Array, ...] = self._defined(*operands)
            return results


def _ready(x: Any) -> Array:
    array = np.asarray(x)
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else array.copy()


def _kernel(loop: LoopFunction) -> Callable[..., None]:
    arrays = len(loop.function.arrays)
    layout = Layout(sizes=1 + len(loop.integers), arrays=arrays, cost=loop.cost)
    function = with_overlaps(on_lanes(series_in_turn(loop).function))
    return kernels.load_function(function, layout)


def _by_bodies(op: Any, backend: NumbaBackend) -> Callable[..., Any]:
    if isinstance(op, Scan):
        body = _runner(op.body, backend)
        return lambda *values: scanned(op, body, values)
    if isinstance(op, WhileLoop):
        test, body = _runner(op.test, backend), _runner(op.body, backend)
        return lambda *values: repeated(test, body, op.carries, values)
    assert isinstance(op, Cond)
    then, other = _runner(op.then, backend), _runner(op.other, backend)
    return lambda test, *values: (then if test else other)(*values)


def _runner(body: Body, backend: NumbaBackend) -> Callable[..., list[Any]]:
    program = backend.compile(body.graph)
    return lambda *arrays: program([np.asarray(x) for x in arrays])


__all__ = ["LoopCall"]
