"""Cumulative sums, products and extremes along an axis.

With many adjacent columns, each thread scans one of them in order, and its results are NumPy's.
Along the last axis, a block of threads scans a row.  If long rows are cut into parts, another
kernel computes the totals of the parts first.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.grid_printer import printed_on_grid
from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.launches import blocks, compiled
from relgraph.backends.cuda.movement import Move, contiguous_strides, copy_strided, strided_copy
from relgraph.backends.cuda.primitives import geometry
from relgraph.ir.node import Variable
from relgraph.lowering.nests.grid import cumulative as nests
from relgraph.lowering.nests.grid.totals import accumulator
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.reductions import reduced_axes

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

LONG = 4096  # elements of a column above which few columns are transposed to rows


@lru_cache(maxsize=64)
def column_text(op: Cumulative, source: str, dtype: str, threads: int) -> Text:
    """Return the kernel that scans columns."""
    return printed_on_grid(nests.columns(op, source, dtype), threads, indices="int64")


@lru_cache(maxsize=64)
def total_text(op: Cumulative, source: str, dtype: str, threads: int) -> Text:
    """Return the kernel that computes the totals of parts of rows."""
    return printed_on_grid(nests.totals(op, source, dtype), threads, indices="int64")


@lru_cache(maxsize=64)
def row_text(op: Cumulative, source: str, dtype: str, threads: int) -> Text:
    """Return the kernel that scans parts of rows."""
    return printed_on_grid(nests.rows(op, source, dtype), threads, indices="int64")


def cumulative(run: Run, node: Variable) -> DeviceArray:
    """Return the cumulative sums, products, minima or maxima along an axis."""
    op: Any = node.op
    x = run.on_device(node.inputs[0])
    (at,) = reduced_axes((op.axis,), x.ndim, op.name)
    outer, m, inner = math.prod(x.shape[:at]), x.shape[at], math.prod(x.shape[at + 1 :])
    result = run.result(node, x.shape)
    if not result.size:
        return result
    g = geometry()
    if inner == 1:
        _along_rows(run, op, (outer, m), x, result)
    elif m >= LONG and outer * inner < g.threads * adapter.processors():
        _turned(run, op, (outer, m, inner), x, result)
    else:
        text = column_text(op, x.dtype.name, result.dtype.name, g.threads)
        k = outer * inner
        run.launch(
            compiled(text),
            (blocks(k, g.threads),),
            (g.threads,),
            [k, m, inner, flat_of(x), flat_of(result)],
        )
    return result


def _along_rows(
    run: Run, op: Cumulative, sizes: tuple[int, int], x: DeviceArray, result: DeviceArray
) -> None:
    """Scan rows; cut each row into parts if there are few rows."""
    k, m = sizes
    g = geometry()
    full = g.blocks * adapter.processors()
    parts = max(1, min(full // k, m // (16 * g.threads)))
    part = -(-m // parts)
    parts = -(-m // part)
    names = (x.dtype.name, result.dtype.name)
    numbers = [k, m, parts, part]
    prefixes = run.empty((0,), np.dtype(accumulator(nests.fold_of(op, *names))))
    if parts > 1:
        totals = run.empty((k, parts), prefixes.dtype)
        prefixes = run.empty((k, parts), prefixes.dtype)
        run.launch(
            compiled(total_text(op, *names, g.threads)),
            (blocks(k * parts, 1),),
            (g.threads,),
            [*numbers, flat_of(x), flat_of(totals)],
        )
        _along_rows(run, op, (k, parts), totals, prefixes)
    run.launch(
        compiled(row_text(op, *names, g.threads)),
        (blocks(k * parts, 1),),
        (g.threads,),
        [*numbers, flat_of(x), flat_of(prefixes), flat_of(result)],
    )


def _turned(
    run: Run, op: Cumulative, sizes: tuple[int, int, int], x: DeviceArray, result: DeviceArray
) -> None:
    """Transpose a few long columns to rows, scan these, and transpose the results back."""
    outer, m, inner = sizes
    columns = strided_copy(run, x, 0, (outer, inner, m), (m * inner, 1, inner))
    scanned = run.empty((outer, inner, m), result.dtype)
    _along_rows(run, op, (outer * inner, m), columns, scanned)
    target_strides = contiguous_strides((outer, m, inner))
    dims = list(zip((outer, m, inner), (m * inner, 1, m), target_strides, strict=True))
    copy_strided(run, Move(flat_of(scanned), flat_of(result), dims, result.dtype))
