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
from relgraph.backends.cuda.grid_printer import printed_on_grid
from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.launches import blocks, compiled
from relgraph.backends.cuda.libraries import cupy, on_stream, view
from relgraph.backends.cuda.movement import strided_copy
from relgraph.ir.node import Variable
from relgraph.lowering.nests.grid import products as nests

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
    """Return the kernel of products of matrices."""
    return printed_on_grid(nests.product(left, right, result, tile), tile, indices="int64")
