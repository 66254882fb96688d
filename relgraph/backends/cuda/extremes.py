"""The indices of extremes: ``argmax`` and ``argmin``.

Each thread keeps the best of the elements that it reads, and the threads that share a result
combine theirs in pairs.  A NaN is better than any number, and among equal elements the first one is
best, so the result does not depend on the order of the pairs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.launches import block_rows, blocks, compiled, refuse_nothing
from relgraph.backends.cuda.primitives import WARP, geometry, synchronising
from relgraph.backends.cuda.source import Text
from relgraph.ir.node import Variable
from relgraph.ops.reductions import Argmax, reduced_axes

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

# Keep the better of (value, place) and (other, its); place and its are indices, -1 for no element.
_BETTER = "(its >= 0) & ((place < 0) | ({order}) | (({same}) & (its < place)))"
_JOINED = """
{indent}if BETTER:
{indent}    value = other
{indent}    place = its"""
_SHUFFLE = """
    other = {dtype}(cuda.shfl_xor_sync(0xffffffff, {wire}(value), {offset}))
    its = cuda.shfl_xor_sync(0xffffffff, place, {offset})"""
_MEET = """
    values = cuda.shared.array({count}, {dtype})
    places = cuda.shared.array({count}, int64)
    if cuda.threadIdx.x % {step} == 0:
        values[cuda.threadIdx.x // {step}] = value
        places[cuda.threadIdx.x // {step}] = place
    cuda.syncthreads()
    value = values[0]
    place = places[0]
    for k in range(1, {count}):
        other = values[k]
        its = places[k]"""


def better(largest: bool, dtype: str) -> str:
    """Write the test that (other, its) is better than (value, place)."""
    order, same = f"other {'>' if largest else '<'} value", "other == value"
    if np.dtype(dtype).kind == "f":
        order = f"({order}) & (value == value) | ((other != other) & (value == value))"
        same = "(other == value) | ((other != other) & (value != value))"
    return _BETTER.format(order=order, same=same)


def joint(largest: bool, dtype: str, threads: int) -> Any:
    """Return ``join(value, place)``, which gives every thread along x the best index of all."""
    test = better(largest, dtype)
    text = "def NAME(value, place):"
    step = 1
    if not adapter.simulated():
        wire = {"uint64": "int64", "uint32": "int32"}.get(dtype, dtype)
        for k in reversed(range(min(threads, WARP).bit_length() - 1)):
            text += _SHUFFLE.format(dtype=dtype, wire=wire, offset=1 << k)
            text += _JOINED.format(indent="    ")
        step = WARP
    if threads > step:
        text += _MEET.format(count=threads // step, step=step, dtype=dtype)
        text += _JOINED.format(indent="        ") + "\n    cuda.syncthreads()"
    text = text.replace("BETTER", test) + "\n    return place\n"
    return synchronising(f"best_{'max' if largest else 'min'}_{dtype}_{threads}", text)


def carrier(dtype: str) -> str:
    """Return the dtype in which threads exchange values: small dtypes use 32 bits."""
    kind = np.dtype(dtype)
    if kind.kind == "f" or kind.itemsize >= 4:
        return dtype
    return "int32"


@lru_cache(maxsize=64)
def extreme_text(dtype: str, largest: bool, threads: int, joins: bool) -> Text:
    """Write the kernel that searches all elements for extremes, or candidates with ``joins``.

    Its parameters are the number of results, of elements of each, of parts, of elements in a part
    and after the axis; the array; the indices of the candidates, which an earlier search found; and
    the indices to write, part by part.
    """
    text = Text()
    kind = carrier(dtype)
    text.parameters = [(name, "int64") for name in ("k", "m", "parts", "part", "size", "inner")]
    text.parameters += [("x", f"{dtype}[::1]"), ("found", "int64[::1]"), ("o", "int64[::1]")]
    text.names["best"] = joint(largest, kind, threads)
    text.line("row = int64(cuda.blockIdx.x) * int64(cuda.blockDim.y) + int64(cuda.threadIdx.y)")
    text.open("while row < k * parts:")
    text.line("r = row % k")
    text.line("first = row // k * part")
    text.line("end = min(first + part, m)")
    text.line("outer = r // inner")
    text.line("base = outer * size * inner + r - outer * inner")
    text.line(f"value = {kind}(0)")
    text.line("place = int64(-1)")
    text.line("j = first + int64(cuda.threadIdx.x)")
    text.open("while j < end:")
    text.line("its = found[windex(j * k + r)]" if joins else "its = j")
    text.line(f"other = {kind}(x[windex(base + its * inner)])")
    text.open(f"if {better(largest, kind)}:")
    text.line("value = other")
    text.line("place = its")
    text.close()
    text.line(f"j = j + {threads}")
    text.close()
    text.line("place = best(value, place)")
    text.open("if cuda.threadIdx.x == 0:")
    text.line("o[windex(row)] = place")
    text.close()
    text.line("row = row + int64(cuda.gridDim.x) * int64(cuda.blockDim.y)")
    text.close()
    return text


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
