"""Cumulative sums, products and extremes along an axis.

With many adjacent columns, each thread scans one of them in order, and its results are NumPy's.
Along the last axis, a block of threads scans a row: each thread adds up a few consecutive elements,
the threads exchange their prefixes, and the running total is carried to the next step.  If long
rows are cut into parts, another kernel computes the totals of the parts first.

References
----------
G. E. Blelloch, "Prefix sums and their applications", technical report CMU-CS-90-190, 1990.

W. D. Hillis and G. L. Steele, "Data parallel algorithms", Communications of the ACM 29, 1986: an
exchange that takes log2(threads) steps.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.grid_printer import group_reduction
from relgraph.backends.cuda.launches import blocks, compiled
from relgraph.backends.cuda.movement import Move, contiguous_strides, copy_strided, strided_copy
from relgraph.backends.cuda.primitives import geometry
from relgraph.backends.cuda.source import Text, accumulator, finished, joined, start, term
from relgraph.backends.cuda.templates import convert, expression
from relgraph.ir.node import Variable
from relgraph.lowering.kernels import Fold, Statement
from relgraph.lowering.nests.grid.totals import combiner
from relgraph.lowering.refs import Ref
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.reductions import Sum, reduced_axes

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

NEIGHBOURS = 4  # elements that a thread adds up by itself
LONG = 4096  # elements of a column above which few columns are transposed to rows


def _fold(op: Cumulative, source: str, dtype: str) -> Fold:
    return Fold(op.fold(None, False), Ref("array", 0, source), dtype)


def _beginning(fold: Fold) -> str:
    """Write the identity of the reduction; for float sums it is -0.0, which preserves -0.0."""
    if isinstance(fold.op, Sum) and np.dtype(fold.dtype).kind == "f":
        return f"{accumulator(fold)}(-0.0)"
    return start(fold)


@lru_cache(maxsize=64)
def column_text(op: Cumulative, source: str, dtype: str, threads: int) -> Text:
    """Write the kernel that scans each column in order with one thread.

    Its parameters are the number of columns, of elements in each and of adjacent columns, and the
    arrays.
    """
    text = Text()
    text.parameters = [("k", "int64"), ("m", "int64"), ("inner", "int64")]
    text.parameters += [("x", f"{source}[::1]"), ("o", f"{dtype}[::1]")]
    refs = (Ref("row", 0, dtype), Ref("row", 1, dtype))
    join = expression(Statement(Elementwise(op.ufunc.__name__), refs, dtype), ["total", "value"])
    value = convert("x[windex(place)]", np.dtype(source), np.dtype(dtype))
    with text.each("c", "k", threads):
        text.line("place = c // inner * inner * m + c % inner")
        text.line("j = int64(0)")
        text.open("if m > 0:")
        text.line(f"total = {value}")
        text.line("o[windex(place)] = total")
        text.line("j = int64(1)")
        text.open("while j < m:")
        text.line("place = place + inner")
        text.line(f"value = {value}")
        text.line(f"total = {join}")
        text.line("o[windex(place)] = total")
        text.line("j = j + 1")
        text.close()
        text.close()
    return text


def _each_part(text: Text) -> None:
    """Begin the loop over parts of rows; a block works on one at a time."""
    text.line("t = int64(cuda.threadIdx.x)")
    text.line("b = int64(cuda.blockIdx.x)")
    text.open("while b < k * parts:")
    text.line("row = b // parts")
    text.line("low = (b - row * parts) * part")
    text.line("high = min(low + part, m)")


_SIZES = [(name, "int64") for name in ("k", "m", "parts", "part")]


@lru_cache(maxsize=64)
def total_text(op: Cumulative, source: str, dtype: str, threads: int) -> Text:
    """Write the kernel that computes the totals of parts of rows.

    Its parameters are the number of rows, of elements in each, of parts of a row and of elements
    in a part, the array, and the totals.
    """
    fold = _fold(op, source, dtype)
    text = Text()
    text.parameters = [*_SIZES, ("x", f"{source}[::1]"), ("w", f"{accumulator(fold)}[::1]")]
    text.names["reduce"] = group_reduction(combiner(fold), accumulator(fold), threads)
    _each_part(text)
    text.line(f"a = {_beginning(fold)}")
    text.line("j = low + t")
    text.open("while j < high:")
    text.line(f"value = {term(fold, 'x[windex(row * m + j)]')}")
    text.line(f"a = {joined(fold, 'a', 'value')}")
    text.line(f"j = j + {threads}")
    text.close()
    text.line("a = reduce(a)")
    text.open("if t == 0:")
    text.line("w[windex(b)] = a")
    text.close()
    text.line("b = b + int64(cuda.gridDim.x)")
    text.close()
    return text


@lru_cache(maxsize=64)
def row_text(op: Cumulative, source: str, dtype: str, threads: int) -> Text:
    """Write the kernel that scans parts of rows.

    Its parameters are those of the kernel for totals, then the running totals of the parts of each
    row, and the results.
    """
    fold = _fold(op, source, dtype)
    kind = accumulator(fold)
    text = Text()
    text.parameters = [*_SIZES, ("x", f"{source}[::1]"), ("w", f"{kind}[::1]")]
    text.parameters += [("o", f"{dtype}[::1]")]
    text.line(f"shared = cuda.shared.array({threads}, {kind})")
    _each_part(text)
    text.line(f"carry = {_beginning(fold)}")
    text.open("if low > 0:")
    text.line("carry = w[windex(b - 1)]")
    text.close()
    text.line("i = low")
    text.open("while i < high:")
    for e in range(NEIGHBOURS):
        text.line(f"j{e} = i + t * {NEIGHBOURS} + {e}")
        text.line(f"place = windex(row * m + cuda.selp(j{e} < high, j{e}, low))")
        text.line(f"value = {term(fold, 'x[place]')}")
        text.line(f"p{e} = cuda.selp(j{e} < high, value, {_beginning(fold)})")
        if e:
            text.line(f"p{e} = {joined(fold, f'p{e - 1}', f'p{e}')}")
    _exchange(text, fold, threads)
    for e in range(NEIGHBOURS):
        text.open(f"if j{e} < high:")
        text.line(f"total = {joined(fold, 'before', f'p{e}')}")
        text.line(f"o[windex(row * m + j{e})] = {finished(fold, 'total', '')}")
        text.close()
    text.line("cuda.syncthreads()")
    text.line(f"i = i + {threads * NEIGHBOURS}")
    text.close()
    text.line("b = b + int64(cuda.gridDim.x)")
    text.close()
    return text


def _exchange(text: Text, fold: Fold, threads: int) -> None:
    """Compute in each thread the prefix of its elements, and in all threads the running total."""
    text.line(f"shared[t] = p{NEIGHBOURS - 1}")
    text.line("cuda.syncthreads()")
    step = 1
    while step < threads:
        text.line(f"other = shared[cuda.selp(t >= {step}, t - {step}, t)]")
        text.line("own = shared[t]")
        text.line("cuda.syncthreads()")
        text.open(f"if t >= {step}:")
        text.line(f"shared[t] = {joined(fold, 'other', 'own')}")
        text.close()
        text.line("cuda.syncthreads()")
        step *= 2
    text.line("before = carry")
    text.open("if t > 0:")
    text.line("own = shared[t - 1]")
    text.line(f"before = {joined(fold, 'carry', 'own')}")
    text.close()
    text.line(f"own = shared[{threads - 1}]")
    text.line(f"carry = {joined(fold, 'carry', 'own')}")


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
    prefixes = run.empty((0,), np.dtype(accumulator(_fold(op, *names))))
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
