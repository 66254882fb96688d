"""What Dask's own functions compute: ops whose blocks depend on several blocks of the operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dask.array as da
import numpy as np

from relgraph.backends.dask.placement import Blocks
from relgraph.backends.dask.subscripts import params_of
from relgraph.ir.graph import is_tensor
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import GetItem, Op
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.indexing.expression import FULL, is_advanced, numpy_key
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.factorisations import QR, SVD
from relgraph.ops.reductions import Argmax, Argmin
from relgraph.ops.shape import Reshape


def computed(node: Variable, arrays: Sequence[Any]) -> Any:
    """Return the array of a node from Dask arrays of its operands; None if Dask cannot."""
    for cls in type(node.op).__mro__:
        if cls in _FUNCTIONS:
            try:
                return _FUNCTIONS[cls](node, *arrays)
            except NotImplementedError:  # such as a reshape that no blocks fit
                return None
    return None


class Shapes:
    """The blocks of what Dask's functions compute, from arrays that are never computed."""

    def __init__(self) -> None:
        self._several: dict[Variable, Any] = {}

    def __call__(self, node: Variable, blocks: Sequence[Blocks]) -> Blocks | None:
        arrays = [
            da.zeros(x.type.shape, dtype=x.dtype, chunks=b)
            if is_tensor(x)
            else self._several.get(x)
            for x, b in zip(node.inputs, blocks, strict=True)
        ]
        if any([x is None for x in arrays]):
            return None
        result = computed(node, arrays)
        if isinstance(result, tuple):
            self._several[node] = result
            return ()
        return None if result is None else result.chunks


def _index(node: Variable, x: Any, *keys: Any) -> Any:
    spec = params_of(node)[0]
    values = [k.value for k in node.inputs[1:] if isinstance(k, Constant)]
    if len(values) < len(keys):
        return None
    if is_advanced(spec):  # Dask takes one vector of places, and fails beside a new axis
        kinds = [entry[0] for entry in spec if entry != FULL]
        if kinds.count("array") + kinds.count("slice") < len(kinds) or np.ndim(values[0]) != 1:
            return None
    return x[numpy_key(spec, tuple(values))]


def _concatenate(node: Variable, *arrays: Any) -> Any:
    return da.concatenate([x.astype(node.dtype) for x in arrays], axis=params_of(node)[0])


def _reshape(node: Variable, x: Any, *sizes: Any) -> Any:
    return x.reshape(node.type.shape)


def _cumulative(node: Variable, x: Any) -> Any:
    op: Any = node.op
    return da.reductions.cumreduction(
        _Accumulate(op), op.ufunc, _identity(op.ufunc, node.dtype), x.astype(node.dtype),
        axis=op.axis % node.ndim, dtype=node.dtype,
    )  # fmt: skip


def _identity(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """Return the value over no elements."""
    if ufunc.identity is not None:
        return dtype.type(ufunc.identity)
    largest = ufunc is np.minimum
    if dtype.kind == "f":
        return dtype.type(np.inf if largest else -np.inf)
    if dtype.kind == "b":
        return dtype.type(largest)
    return np.iinfo(dtype).max if largest else np.iinfo(dtype).min


class _Accumulate:
    """The cumulative op on one block, as Dask calls it."""

    def __init__(self, op: Any) -> None:
        self.op = op
        self.__name__ = op.name

    def __call__(self, block: Any, axis: int, dtype: Any = None) -> Any:
        return self.op.ufunc.accumulate(block, axis=axis)

    def __dask_tokenize__(self) -> object:
        return "relgraph", self.op.name


def _arg(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(node: Variable, x: Any) -> Any:
        axis, keepdims = params_of(node)
        if axis is None and any([n > 1 for n in x.numblocks[1:]]):
            return None  # of equal elements, Dask finds the first one of the first block
        return function(x, axis=axis, keepdims=keepdims)

    return compute


def _qr(node: Variable, x: Any) -> Any:
    tall = x.ndim == 2 and x.numblocks[1] == 1 and x.shape[0] >= x.shape[1]
    return da.linalg.qr(_floats(x)) if tall and params_of(node)[0] == "reduced" else None


def _svd(node: Variable, x: Any) -> Any:
    tall = x.ndim == 2 and x.numblocks[1] == 1 and x.shape[0] >= x.shape[1]
    return da.linalg.svd(_floats(x)) if tall and not params_of(node)[0] else None


def _floats(x: Any) -> Any:
    return x if x.dtype.kind == "f" else x.astype("float64")


def _item(node: Variable, several: Any) -> Any:
    return several[params_of(node)[0]]


_FUNCTIONS: Mapping[type[Op], Callable[..., Any]] = {
    Index: _index,
    Concatenate: _concatenate,
    Reshape: _reshape,
    Cumulative: _cumulative,
    Argmax: _arg(da.argmax),
    Argmin: _arg(da.argmin),
    QR: _qr,
    SVD: _svd,
    GetItem: _item,
}

__all__ = ["Shapes", "computed"]
