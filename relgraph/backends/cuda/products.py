"""Matrix products: cuBLAS through CuPy, or a tiled kernel.

The tiled kernel computes products of integers, and all products in the simulator or without CuPy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from relgraph.backends.base import OpCall
from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.launches import blocks, compiled
from relgraph.backends.cuda.libraries import cupy, on_stream, view
from relgraph.backends.cuda.movement import strided_copy
from relgraph.backends.cuda.source import Text
from relgraph.backends.cuda.templates import convert
from relgraph.ir.node import Variable

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

TILE = 16


def product(run: Run, node: Variable) -> DeviceArray:
    """Return the product of two operands, with the rules of NumPy for vectors and batches."""
    x, y = (run.on_device(z) for z in node.inputs)
    left = x.part((1, *x.shape)) if x.ndim == 1 else x
    right = y.part((*y.shape, 1)) if y.ndim == 1 else y
    (n, m), (inner, p) = left.shape[-2:], right.shape[-2:]
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        batch = None
    if m != inner or batch is None:
        OpCall(node)(run.on_host(node.inputs[0]), run.on_host(node.inputs[1]))  # raises the error
    assert batch is not None
    shape = (*batch, *(() if x.ndim == 1 else (n,)), *(() if y.ndim == 1 else (p,)))
    result = run.result(node, shape)
    if not result.size:
        return result
    cp = cupy() if result.dtype.kind == "f" and x.dtype == y.dtype else None
    if cp is not None:
        out = result.part((*batch, n, p))

        def multiply() -> None:
            with on_stream(run):
                cp.matmul(view(left), view(right), out=view(out))

        run.call_library(multiply)
        return result
    left, right = (_whole(run, z, batch) for z in (left, right))
    count = math.prod(batch)
    strides = [
        0 if math.prod(z.shape[:-2]) == 1 else math.prod(z.shape[-2:]) for z in (left, right)
    ]
    tile = 2 if adapter.simulated() else TILE
    text = product_text(left.dtype.name, right.dtype.name, result.dtype.name, tile)
    run.launch(
        compiled(text),
        (blocks(count * -(-n // tile) * -(-p // tile), 1),),
        (tile, tile),
        [count, n, m, p, *strides, flat_of(left), flat_of(right), flat_of(result)],
    )
    return result


def _whole(run: Run, x: DeviceArray, batch: tuple[int, ...]) -> DeviceArray:
    """Return an operand with one matrix for each of the batch, or a single one for all of it."""
    if math.prod(x.shape[:-2]) == 1 or x.shape[:-2] == batch:
        return x
    whole = np.broadcast_to(np.empty(x.shape, np.int8), (*batch, *x.shape[-2:]))
    return strided_copy(run, x, 0, whole.shape, whole.strides)


@lru_cache(maxsize=64)
def product_text(left: str, right: str, result: str, tile: int) -> Text:
    """Write the kernel of a matrix product, tile by tile through shared memory.

    Its parameters are the number of products, the rows, the inner size and the columns, the strides
    between the matrices of both operands, and the arrays.
    """
    total = {"float32": "float32", "float64": "float64", "uint64": "uint64"}.get(result, "int64")
    kind = np.dtype(total)
    text = Text()
    text.parameters = [(name, "int64") for name in ("count", "n", "m", "p", "sx", "sy")]
    text.parameters += [("x", f"{left}[::1]"), ("y", f"{right}[::1]"), ("o", f"{result}[::1]")]
    text.line(f"a = cuda.shared.array(({tile}, {tile}), {total})")
    text.line(f"b = cuda.shared.array(({tile}, {tile}), {total})")
    text.line("tx = int64(cuda.threadIdx.x)")
    text.line("ty = int64(cuda.threadIdx.y)")
    text.line(f"across = (p + {tile - 1}) // {tile}")
    text.line(f"tiles = (n + {tile - 1}) // {tile} * across")
    text.line("block = int64(cuda.blockIdx.x)")
    text.open("while block < tiles * count:")
    text.line("z = block // tiles")
    text.line(f"i = block % tiles // across * {tile} + ty")
    text.line(f"j = block % tiles % across * {tile} + tx")
    text.line(f"total = {total}(0)")
    text.line("first = int64(0)")
    text.open("while first < m:")
    text.line(f"a[ty, tx] = {total}(0)")
    text.line(f"b[ty, tx] = {total}(0)")
    text.open("if (i < n) & (first + tx < m):")
    value = convert("x[windex(z * sx + i * m + first + tx)]", np.dtype(left), kind)
    text.line(f"a[ty, tx] = {value}")
    text.close()
    text.open("if (first + ty < m) & (j < p):")
    value = convert("y[windex(z * sy + (first + ty) * p + j)]", np.dtype(right), kind)
    text.line(f"b[ty, tx] = {value}")
    text.close()
    text.line("cuda.syncthreads()")
    text.open(f"for q in range({tile}):")
    text.line(f"total = {total}(total + a[ty, q] * b[q, tx])")
    text.close()
    text.line("cuda.syncthreads()")
    text.line(f"first = first + {tile}")
    text.close()
    text.open("if (i < n) & (j < p):")
    final = "total != 0" if result == "bool" else f"{result}(total)"
    text.line(f"o[windex(z * n * p + i * p + j)] = {final}")
    text.close()
    text.line("block = block + int64(cuda.gridDim.x)")
    text.close()
    return text
