"""The indices of extremes: ``argmax`` and ``argmin``."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.grid_printer import printed_on_grid
from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.launches import block_rows, blocks, compiled, refuse_nothing
from relgraph.backends.cuda.primitives import geometry
from relgraph.ir.node import Variable
from relgraph.lowering.nests.grid import extremes as nests
from relgraph.ops.reductions import Argmax, reduced_axes

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run


@lru_cache(maxsize=64)
def extreme_text(dtype: str, largest: bool, threads: int, joins: bool) -> Text:
    """Return the kernel that searches all elements for extremes, or candidates with ``joins``."""
    return printed_on_grid(nests.extreme(dtype, largest, joins), threads, indices="int64")


def extreme(run: Run, node: Variable) -> DeviceArray:
    """Return the indices of the largest or smallest elements along an axis."""
    op: Any = node.op
    axis, keepdims = op.params
    x = run.on_device(node.inputs[0])
    if axis is None:
        outer, size, inner, shape = 1, x.size, 1, (1,) * x.ndim if keepdims else ()
    else:
        (at,) = reduced_axes((axis,), x.ndim, op.name)
        outer, size = math.prod(x.shape[:at]), x.shape[at]
        inner = math.prod(x.shape[at + 1 :])
        shape = (*x.shape[:at], *((1,) if keepdims else ()), *x.shape[at + 1 :])
    k = outer * inner
    refuse_nothing(node, k, size)
    result = run.result(node, shape)
    if not k:
        return result
    g = geometry()
    if inner >= g.warp:  # neighbouring threads read neighbouring columns
        threads, rows = 1, g.threads
    else:
        threads = g.threads if size > 4 * g.warp else g.warp
        rows = block_rows(threads)
    full = g.blocks * adapter.processors() * rows
    parts = max(1, min(full // k, size // (threads * 8)))
    part = -(-size // parts)
    parts = -(-size // part)
    partial = result if parts == 1 else run.empty((parts * k,), result.dtype)
    largest = isinstance(op, Argmax)
    search = compiled(extreme_text(x.dtype.name, largest, threads, False))
    numbers = [size, parts, part, size, inner]
    flat = [flat_of(x), flat_of(partial), flat_of(partial)]
    run.launch(search, (blocks(k * parts, rows),), (threads, rows), [k, *numbers, *flat])
    if parts > 1:
        join = compiled(extreme_text(x.dtype.name, largest, g.warp, True))
        numbers = [parts, 1, parts, size, inner]
        flat = [flat_of(x), flat_of(partial), flat_of(result)]
        rows = block_rows(g.warp)
        run.launch(join, (blocks(k, rows),), (g.warp, rows), [k, *numbers, *flat])
    return result
