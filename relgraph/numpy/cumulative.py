"""Cumulative sums and products of the array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import ArgumentError
from relgraph.ir.node import constant
from relgraph.ops.arguments import as_operand, is_pattern, no_rank, normalise_axis
from relgraph.ops.concatenate import concatenate
from relgraph.ops.cumulative import cumprod, cumsum
from relgraph.ops.docstrings import documented
from relgraph.ops.shape import ravel, slab

__all__ = ["cumulative_prod", "cumulative_sum"]


@documented("cumulative")
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: npt.DTypeLike | None = None,
    include_initial: bool = False,
) -> Any:
    """Add up the elements so far along an axis, as ``numpy.cumulative_sum``.

    x: Any dtype and shape; a scalar is a vector of one element.
    axis: The axis; may be left out for a vector.
    include_initial (bool): Whether 0, the sum of no elements, comes first.
    Returns: As :func:`cumsum`, or with one more element along the axis.
    ArgumentError: For an array of several dimensions without an axis.
    """
    return _with_initial(cumsum, x, axis, dtype, 0 if include_initial else None)


@documented(like=cumulative_sum)
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: npt.DTypeLike | None = None,
    include_initial: bool = False,
) -> Any:
    """Multiply the elements so far along an axis, as ``numpy.cumulative_prod``.

    include_initial (bool): Whether 1, the product of no elements, comes first.
    Returns: As :func:`cumprod`, or with one more element along the axis.
    """
    return _with_initial(cumprod, x, axis, dtype, 1 if include_initial else None)


def _with_initial(function: Any, x: Any, axis: Any, dtype: Any, initial: int | None) -> Any:
    operand = as_operand(x)
    name = f"cumulative_{function.__name__[3:]}"
    if is_pattern(operand):
        if axis is not None and initial is None:
            return function(operand, axis, dtype)
        raise no_rank(name, "Write cumsum or cumprod with an axis: axis=-1 is the last.")
    if operand.ndim == 0:
        operand = ravel(operand)
    if axis is None and operand.ndim > 1:
        raise ArgumentError(
            f"{name} takes an axis of an array of several dimensions, not None of {operand.type}",
            fix="Pass axis=0 for the first axis; cumsum and cumprod flatten without one.",
        )
    axis = -1 if axis is None else normalise_axis(axis, operand.ndim, name)
    result = function(operand, axis, dtype)
    if initial is None:
        return result
    first = constant(np.asarray(initial, result.dtype))
    return concatenate([slab(first, result, axis), result], axis)
