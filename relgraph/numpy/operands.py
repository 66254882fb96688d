"""Operands of compositions, which need types: as nodes, with common dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import PatternError, ShapeError, count_of
from relgraph.ir.node import Variable
from relgraph.ops.arguments import as_operand, is_pattern
from relgraph.ops.elementwise import ROWS, Elementwise, cast


def typed(x: Any, function: str) -> Variable:
    """Return an operand as a node.

    Parameters
    ----------
    x : Variable or array-like
        Any dtype and shape.
    function : str
        Whose operand it is, for messages.

    Returns
    -------
    Variable
        With a type.

    Raises
    ------
    PatternError
        For a pattern, which has no type.
    """
    if is_pattern(x):
        raise PatternError(
            f"{function} needs the type of its operand, and a pattern has none",
            fix="Write what it is composed of with the functions that patterns take.",
        )
    found: Variable = as_operand(x)
    return found


def of_rank(x: Any, ndim: int, function: str) -> Variable:
    """Return an operand as a node of at least so many dimensions.

    Parameters
    ----------
    x : Variable or array-like
        Any dtype.
    ndim : int
        The fewest dimensions.
    function : str
        Whose operand it is, for messages.

    Returns
    -------
    Variable
        With a type.

    Raises
    ------
    PatternError
        For a pattern, which has no type.
    ShapeError
        For fewer dimensions.
    """
    array = typed(x, function)
    if array.ndim < ndim:
        raise ShapeError(
            f"{function} takes an array of at least {count_of(ndim, 'dimension')}, "
            f"not {array.type}",
            fix="Insert axes with np.expand_dims.",
        )
    return array


def together(function: str, *values: Any, rule: str = "add") -> tuple[Variable, ...]:
    """Return operands as nodes; Python numbers take the dtype of the others.

    Parameters
    ----------
    function : str
        Whose operands they are, for messages.
    *values : Variable, array-like or number
        Any dtype and shape.
    rule : str
        The elementwise function whose rule Python integers follow that do not fit.

    Returns
    -------
    tuple of Variable
        In the same order.

    Raises
    ------
    NumberRangeError
        For such an integer where that function computes in integers.
    PatternError
        For a pattern, which has no type.
    """
    for value in values:
        if is_pattern(value):
            typed(value, function)
    return Elementwise(rule).coerce(values)


def as_floats(function: str, *values: Any) -> tuple[Variable, ...]:
    """Return operands in the float dtype in which functions such as ``exp`` compute.

    Parameters
    ----------
    function : str
        Whose operands they are, for messages.
    *values : Variable, array-like or number
        One, or two that have a common dtype.

    Returns
    -------
    tuple of Variable
        float32 or float64.
    """
    rule = "exp" if len(values) == 1 else "arctan2"
    operands = together(function, *values, rule=rule)
    dtype = ROWS[rule].loop(function, tuple([x.dtype for x in operands]))[-1]
    return tuple([cast(x, dtype) for x in operands])


def common_dtype(*operands: Variable) -> np.dtype[Any]:
    """Return NumPy's common dtype of nodes."""
    return np.result_type(*[x.dtype for x in operands])
