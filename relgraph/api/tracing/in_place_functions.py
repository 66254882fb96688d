"""Functions of NumPy that write to an array, on traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgraph.api.tracing.in_place import assign, converted, into, without_lead, write
from relgraph.api.tracing.tracer import Tracer, operand
from relgraph.api.tracing.views import key_of
from relgraph.errors import ArgumentError, DTypeError, ShapeError
from relgraph.ir.node import Variable, as_variable
from relgraph.ir.operators import FUNCTIONS
from relgraph.numpy.along_axis import along_axis_key
from relgraph.ops.elementwise import cast, negative
from relgraph.ops.indexing.expression import parse_key
from relgraph.ops.indexing.index import moved_inside
from relgraph.ops.indexing.update import (
    AddIndex,
    IndexUpdate,
    MaximumIndex,
    MinimumIndex,
    MultiplyIndex,
)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    node = without_lead(as_variable(operand(src), like=_dtypes(dst)), np.shape(dst))
    into(dst, node, casting, where)


def _putmask(a: Any, mask: Any, values: Any) -> None:
    node = as_variable(operand(values), like=_dtypes(a))
    if node.ndim and node.type.shape != np.shape(a):
        raise ArgumentError(
            "np.putmask of a traced array takes a number, or values of the shape of the array",
            {"values": node.type},
            "Write x[mask] = values, with one value for each True of the mask.",
        )
    into(a, cast(node, a.dtype), where=mask)


def _dtypes(x: Any) -> list[np.dtype[Any]]:
    return [x.dtype] if hasattr(x, "dtype") else []


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values at indices of the raveled array; repeat the values, or leave some out."""
    flat = _flat(a, "put")
    indices = FUNCTIONS["ravel"](as_variable(operand(ind)))
    values = FUNCTIONS["ravel"](converted(v, a.dtype))
    count, supply = indices.type.shape[0], values.type.shape[0]
    if not isinstance(count, int) or not isinstance(supply, int):
        raise ShapeError(
            "np.put of a traced array needs to know how many values there are",
            {"indices": indices.type, "values": values.type},
            "Write np.ravel(x)[indices] = values.",
        )
    indices = moved_inside(indices, flat.type.shape[0], mode)
    if 1 < supply != count:
        values = values[np.arange(count) % supply]
    if count and supply:
        write(a, FUNCTIONS["reshape"](flat.at[indices].set(values), a.shape))


def _flat(a: Any, name: str) -> Variable:
    if type(a) is not Tracer:
        into(a, name)  # raises
    return FUNCTIONS["ravel"](a.node)  # type: ignore[no-any-return]


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    if type(arr) is not Tracer:
        into(arr, "put_along_axis")  # raises
    node = as_variable(operand(indices))
    if axis is None:
        _put(arr, indices, values)
        return
    assign(arr, along_axis_key(arr.node, node, axis, "put_along_axis"), values)


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write to ``a[i, i, ...]``."""
    shape = np.shape(a)
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(
            "np.fill_diagonal takes an array of at least two dimensions, equal if more than two",
            {"shape": shape},
            "Assign to the elements, a[i, i] = value.",
        )
    tall = wrap and len(shape) == 2 and shape[0] > shape[1]
    if tall:
        raise ArgumentError(
            "np.fill_diagonal of a traced array does not wrap around",
            {"shape": shape},
            "Assign to the elements, a[i, i % columns] = value.",
        )
    count = min(shape)
    indices = np.arange(count)
    values = converted(val, a.dtype)
    if values.ndim:
        values = FUNCTIONS["ravel"](values)[indices % values.type.shape[0]]
    assign(a, (indices,) * len(shape), values)


WRITERS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.copyto: _copyto,
    np.fill_diagonal: _fill_diagonal,
    np.put: _put,
    np.put_along_axis: _put_along_axis,
    np.putmask: _putmask,
}
"""Functions that write to their first argument."""


def _updating(op: type[IndexUpdate], ufunc: np.ufunc, sign: int = 1) -> Callable[..., None]:
    def update(a: Any, indices: Any, b: Any) -> None:
        spec, operands = parse_key(a.node, key_of(indices))
        value = as_variable(operand(b), like=[a.dtype])
        if not np.can_cast(np.result_type(a.dtype, value.dtype), a.dtype, "same_kind"):
            raise DTypeError(
                f"np.{ufunc.__name__}.at cannot write {value.dtype} to an array of {a.dtype}",
                {"values": value.type},
                f"Convert the values with .astype({a.dtype.name!r}).",
            )
        value = cast(value, a.dtype)
        write(a, op(spec)(a.node, value if sign > 0 else negative(value), *operands))

    return update


UPDATES_AT: dict[np.ufunc, Callable[..., None]] = {
    np.add: _updating(AddIndex, np.add),
    np.subtract: _updating(AddIndex, np.subtract, -1),
    np.multiply: _updating(MultiplyIndex, np.multiply),
    np.maximum: _updating(MaximumIndex, np.maximum),
    np.minimum: _updating(MinimumIndex, np.minimum),
}
"""Implementations of ``ufunc.at``, by ufunc."""
