"""The table of comparisons, logic, tests of floats, and the choice by a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.errors import NumberRangeError
from relgraph.ir.node import Constant, Variable, as_variable, constant, is_weak
from relgraph.ir.op import Op
from relgraph.ops import fact_rules as rules
from relgraph.ops.functions import ACI, COMMUTATIVE, Function, choice_loop, ufunc


def prepare_comparison(op: Op, operands: tuple[Any, ...]) -> tuple[Variable, ...]:
    """Let a Python integer beyond the other operand's dtype keep its value.

    ``uint8_array < 300`` is True everywhere.  NumPy compares integers of different signs exactly,
    so 64 bits of either sign are enough; any larger number compares as an infinity.
    """
    try:
        return Op.coerce(op, operands)
    except NumberRangeError:
        plain = [isinstance(x, int) and not isinstance(x, bool) for x in operands]
        others = [as_variable(x) for x, is_int in zip(operands, plain, strict=True) if not is_int]
        if any(x.dtype.kind == "f" for x in others):
            raise
        return tuple(
            _exact_integer(int(x)) if is_int else as_variable(x)
            for x, is_int in zip(operands, plain, strict=True)
        )


def prepare_logic(op: Op, operands: tuple[Any, ...]) -> tuple[Variable, ...]:
    """Let a Python integer beyond the other operand's dtype be an int64: only 0 is false."""
    try:
        return Op.coerce(op, operands)
    except NumberRangeError:
        return tuple(map(as_variable, operands))


def _exact_integer(value: int) -> Variable:
    if -(2**63) <= value < 2**63:
        return constant(value, "int64")
    if 0 < value < 2**64:
        return constant(value, "uint64")
    return constant(np.inf if value > 0 else -np.inf)


def prepare_choice(op: Op, operands: tuple[Any, ...]) -> tuple[Variable, ...]:
    """Promote the branches only."""
    condition, *branches = operands
    (test,) = Op.coerce(op, (condition,))
    try:
        return test, *Op.coerce(op, tuple(branches))
    except NumberRangeError:
        return test, *wrapped(branches)


def wrapped(branches: Sequence[Any]) -> list[Variable]:
    """Let Python integers beyond the other branches' dtype wrap around in it, as NumPy does."""
    from relgraph.ops.elementwise import Cast

    nodes = [as_variable(x) for x in branches]
    weak = [is_weak(x) for x in branches]
    strong = [node.dtype for node, number in zip(nodes, weak, strict=True) if not number]
    to = Cast(np.result_type(*strong, 0))
    return [
        node
        if not number
        else constant(to.perform(node.value))
        if isinstance(node, Constant)
        else to(node)
        for node, number in zip(nodes, weak, strict=True)
    ]


def _test(function: np.ufunc, **fields: Any) -> Function:
    return ufunc(function, tests=True, **fields)


def _compare(function: np.ufunc, symbol: str = "", laws: tuple[str, ...] = ()) -> Function:
    return _test(function, laws=laws, symbol=symbol, precedence=6, prepare=prepare_comparison)


COMPARISON: tuple[Function, ...] = (
    # Printed as calls: '==' on graphs is identity.
    _compare(np.equal, laws=COMMUTATIVE),
    _compare(np.not_equal, laws=COMMUTATIVE),
    _compare(np.less, "<"),
    _compare(np.less_equal, "<="),
    _compare(np.greater, ">"),
    _compare(np.greater_equal, ">="),
    _test(np.logical_and, laws=ACI, zero="any", prepare=prepare_logic),
    _test(np.logical_or, laws=ACI, zero="all", prepare=prepare_logic),
    _test(np.logical_xor, laws=COMMUTATIVE, zero="all", prepare=prepare_logic),
    _test(np.logical_not),
    _test(np.signbit),
    _test(np.isnan),
    _test(np.isinf),
    _test(np.isfinite),
    Function(
        "where",
        np.where,
        3,
        choice_loop,
        facts=rules.where,
        zero="branches",
        prepare=prepare_choice,
    ),
)
