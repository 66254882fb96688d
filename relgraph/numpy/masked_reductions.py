"""The parameters ``where=`` and ``initial=`` of reductions, as operands of ops.

Elements that the mask leaves out become the neutral element: 0 in a sum, 1 in a product, the bound
in an extreme.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import (
    ArgumentError,
    DTypeError,
    NumberRangeError,
    ShapeError,
)
from relgraph.ir.node import Constant, Variable, constant
from relgraph.numpy.operands import typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import as_operand
from relgraph.ops.concatenate import concatenate
from relgraph.ops.reductions import may_be_empty, reduced_axes
from relgraph.ops.shape import slab

_WITHOUT_TYPE = "Write what it stands for with rg.where."


def chosen(x: Any, where: Any, neutral: Any, function: str) -> Any:
    """Return an operand with a neutral element wherever the mask ``where`` is False.

    None and True choose all elements.
    """
    operand = as_operand(x)
    if where is None or where is True:
        return operand
    typed(operand, f"{function} with where=", _WITHOUT_TYPE)
    mask = constant(where) if isinstance(where, bool) else as_operand(where)
    if mask.dtype.kind != "b":
        raise DTypeError(
            f"where= of {function} is bool, not {mask.dtype}",
            fix="Compare it first, for instance with rg.not_equal(where, 0).",
        )
    sizes = zip(reversed(mask.type.shape), reversed(operand.type.shape), strict=False)
    if mask.ndim > operand.ndim or any(n != 1 and m == 1 for n, m in sizes):
        raise ShapeError(
            f"where= of {function} does not broadcast to the shape of the operand",
            {"operand": operand.type, "where": mask.type},
            "Broadcast the operand first, with rg.broadcast_to.",
        )
    substitute = neutral if isinstance(neutral, Variable) else constant(neutral, operand.dtype)
    return elementwise.where(mask, operand, substitute)


def start_value(initial: Any, like: Variable, function: str) -> Any:
    """Return ``initial`` as a scalar of the dtype of ``like``.

    A number that does not fit the dtype raises NumberRangeError, and an array ShapeError.
    """
    typed(like, f"{function} with initial=", _WITHOUT_TYPE)
    start = as_operand(initial)
    if start.ndim:
        raise ShapeError(
            f"initial= of {function} is a scalar, not {start.type}",
            fix="Combine an array with the result: rg.maximum(rg.max(x, axis=0), array).",
        )
    if isinstance(start, Constant) and like.dtype.kind in "iu" and not _fits(start, like.dtype):
        raise NumberRangeError(
            f"initial= of {function} does not fit {like.dtype}",
            {"initial": start},
            "Convert the operand to a wider dtype, or pass a number in its range.",
        )
    if isinstance(start, Constant):
        return constant(start.value.astype(like.dtype))
    return elementwise.cast(start, like.dtype)


def starting_with(
    x: Any, axis: Any, initial: Any, where: Any, function: str
) -> tuple[Any, Variable | None, bool]:
    """Return the operand of an extreme over axes that starts with ``initial``, and how it starts.

    The result is the operand, the start unless the operand holds it, and whether an axis of the
    operand may be empty.  The extreme of no floats is an infinity.  Other dtypes have none, so that
    the start becomes one more element of the operand.
    """
    if initial is None:
        if where is None or where is True:
            return x, None, False
        raise ArgumentError(
            f"{function} with where= needs initial=, the result where no element is chosen",
            fix="Pass a bound of all elements as initial=.",
        )
    operand = as_operand(x)
    start = start_value(initial, operand, function)
    values = chosen(operand, where, start, function)
    axes = reduced_axes(axis, operand.ndim, function) if operand.ndim else ()
    unfilled = [a for a in axes if may_be_empty(operand.type.shape[a])]
    if operand.dtype.kind == "f" or not unfilled:
        return values, start, bool(unfilled)
    for a in unfilled:
        values = concatenate([values, slab(start, values, a)], a)
    return values, None, False


def _fits(start: Constant, dtype: np.dtype[Any]) -> bool:
    info = np.iinfo(dtype)
    return bool(np.isfinite(start.value)) and info.min <= int(start.value) <= info.max
