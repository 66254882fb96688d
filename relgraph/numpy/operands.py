"""Operands of compositions, which need types: as nodes, with common dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import PatternError, ShapeError, count_of
from relgraph.ir.node import Variable
from relgraph.ops.arguments import as_operand, is_pattern
from relgraph.ops.elementwise import ROWS, Elementwise, cast

_COMPOSITION = "Write what it is composed of with the functions that patterns take."


def typed(x: Any, function: str, fix: str = _COMPOSITION) -> Variable:
    """Return an operand as a node; a pattern, which has no type, raises PatternError."""
    if is_pattern(x):
        raise PatternError(
            f"{function} needs the type of its operand, and a pattern has none", fix=fix
        )
    return as_operand(x)  # type: ignore[no-any-return]


def of_rank(x: Any, ndim: int, function: str) -> Variable:
    """Return an operand as a node; fewer than ``ndim`` dimensions raise ShapeError."""
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

    A Python integer that does not fit that dtype follows the elementwise op ``rule``: it becomes a
    float if the op computes in floats, and raises NumberRangeError otherwise.
    """
    for value in values:
        if is_pattern(value):
            typed(value, function)
    return Elementwise(rule).coerce(values)


def as_floats(function: str, *values: Any) -> tuple[Variable, ...]:
    """Return one or two operands in the float dtype in which functions such as ``exp`` compute."""
    rule = "exp" if len(values) == 1 else "arctan2"
    operands = together(function, *values, rule=rule)
    dtype = ROWS[rule].loop(function, tuple([x.dtype for x in operands]))[-1]
    return tuple([cast(x, dtype) for x in operands])


def common_dtype(*operands: Variable) -> np.dtype[Any]:
    """Return NumPy's common dtype of nodes."""
    return np.result_type(*[x.dtype for x in operands])
