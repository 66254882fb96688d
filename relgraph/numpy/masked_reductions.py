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
    PatternError,
    ShapeError,
)
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ops import elementwise
from relgraph.ops.arguments import as_operand, is_pattern
from relgraph.ops.concatenate import concatenate
from relgraph.ops.reductions import may_be_empty, reduced_axes
from relgraph.ops.shape import broadcast_to, shape


def chosen(x: Any, where: Any, neutral: Any, function: str) -> Any:
    """Return an operand with a neutral element wherever it is not chosen.

    Parameters
    ----------
    x : Variable or array-like
        What is to be reduced.
    where : bool array, or None
        Which elements count; None or True for all.
    neutral : scalar
        What the others become, in the dtype of ``x``.
    function : str
        The name of the reduction, for messages.

    Returns
    -------
    Variable
        The dtype and shape of ``x``.

    Raises
    ------
    DTypeError
        For a ``where`` that is not bool.
    ShapeError
        For one that does not broadcast to the shape of ``x``.
    """
    operand = as_operand(x)
    if where is None or where is True:
        return operand
    _no_pattern(operand, function, "where")
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
    other = neutral if isinstance(neutral, Variable) else constant(neutral, operand.dtype)
    return elementwise.where(mask, operand, other)


def start_value(initial: Any, like: Variable, function: str) -> Any:
    """Return ``initial`` as a scalar of the dtype of another node.

    Parameters
    ----------
    initial : scalar
        A number, or a graph without dimensions.
    like : Variable
        Of the dtype that is wanted.
    function : str
        The name of the reduction, for messages.

    Returns
    -------
    Variable
        Without dimensions.

    Raises
    ------
    NumberRangeError
        For a number that does not fit the dtype.
    ShapeError
        For an array.
    """
    _no_pattern(like, function, "initial")
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
    found: Variable = elementwise.cast(start, like.dtype)
    return found


def starting_with(
    x: Any, axis: Any, initial: Any, where: Any, function: str
) -> tuple[Any, Variable | None, bool]:
    """Return what an extreme over axes that starts with a value is the extreme of.

    Parameters
    ----------
    x : Variable or array-like
        What is to be reduced.
    axis : int, tuple of int or None
        The axes to reduce; None for all.
    initial : scalar or None
        What it starts with; None for nothing.
    where : bool array, or None
        Which elements count, where it starts with something; None or True for all.
    function : str
        The name of the reduction, for messages.

    Returns
    -------
    tuple of (Variable, Variable or None, bool)
        The operand; the start where the operand does not hold it; and whether the operand may have
        no elements along an axis.  Of floats an infinity is the extreme then.  Of other dtypes the
        start is one more element of the operand.
    """
    if initial is None:
        if where is None or where is True:
            return x, None, False
        raise ArgumentError(
            f"{function} with where= needs initial=, the result where no element is chosen",
            fix="Pass a bound of all elements as initial=.",
        )
    operand = as_operand(x)
    _no_pattern(operand, function, "initial")
    start = start_value(initial, operand, function)
    values = chosen(operand, where, start, function)
    places = reduced_axes(axis, operand.ndim, function) if operand.ndim else ()
    unfilled = [place for place in places if may_be_empty(operand.type.shape[place])]
    if operand.dtype.kind == "f" or not unfilled:
        return values, start, bool(unfilled)
    for place in unfilled:
        sizes = list(shape(values))
        sizes[place] = 1
        values = concatenate([values, broadcast_to(start, tuple(sizes))], place)
    return values, None, False


def _fits(start: Constant, dtype: np.dtype[Any]) -> bool:
    info = np.iinfo(dtype)
    return bool(np.isfinite(start.value)) and info.min <= int(start.value) <= info.max


def _no_pattern(operand: Any, function: str, parameter: str) -> None:
    if is_pattern(operand):
        raise PatternError(
            f"{function} with {parameter}= needs the type of its operand, and a pattern has none",
            fix="Write what it stands for with rg.where.",
        )
