"""Rows of comparisons, tests of floats, the choice by a condition, logic and bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import relgraph.ops.elementwise.facts as rules
from relgraph.errors import NumberRangeError
from relgraph.ir.node import Constant, Variable, as_variable, constant, is_weak
from relgraph.ir.op import Op
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.elementwise.row import (
    AC,
    ACI,
    COMMUTATIVE,
    Cpu,
    Row,
    choice_loop,
    themed,
    ufunc,
)


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


def _test(function: np.ufunc, **fields: Any) -> Row:
    return ufunc(function, tests=True, **fields)


COMPARISON: tuple[Row, ...] = themed(
    "comparison and choice",
    # Printed as calls: '==' on graphs is identity.
    _test(
        np.equal,
        spelled={"torch": "torch.eq({0}, {1})"},  # torch.equal compares whole arrays
        laws=COMMUTATIVE,
        precedence=6,
        prepare=prepare_comparison,
        decides="order",
        measure=(3, 1),
        meaning=lambda mp, x, y: mp.mpf(x == y),
        rounding="none",
        cpu=Cpu(number="{0} == {1}", boolean="{0} == {1}"),
    ),
    _test(
        np.not_equal,
        laws=COMMUTATIVE,
        precedence=6,
        prepare=prepare_comparison,
        decides="order",
        measure=(3, 1),
        meaning=lambda mp, x, y: mp.mpf(x != y),
        rounding="none",
        cpu=Cpu(number="{0} != {1}", boolean="{0} != {1}"),
    ),
    _test(
        np.less,
        symbol="<",
        precedence=6,
        latex="#1 < #2",
        prepare=prepare_comparison,
        decides="order",
        measure=(3, 1),
        meaning=lambda mp, x, y: mp.mpf(x < y),
        rounding="none",
        cpu=Cpu(number="{0} < {1}", boolean="(not {0}) & {1}"),
    ),
    _test(
        np.less_equal,
        symbol="<=",
        precedence=6,
        latex=r"#1 \le #2",
        prepare=prepare_comparison,
        decides="order",
        measure=(3, 1),
        meaning=lambda mp, x, y: mp.mpf(x <= y),
        rounding="none",
        cpu=Cpu(number="{0} <= {1}", boolean="(not {0}) | {1}"),
    ),
    _test(
        np.greater,
        symbol=">",
        precedence=6,
        latex="#1 > #2",
        prepare=prepare_comparison,
        decides="order",
        measure=(4, 1),
        meaning=lambda mp, x, y: mp.mpf(x > y),
        rounding="none",
        cpu=Cpu(number="{0} > {1}", boolean="{0} & (not {1})"),
    ),
    _test(
        np.greater_equal,
        symbol=">=",
        precedence=6,
        latex=r"#1 \ge #2",
        prepare=prepare_comparison,
        decides="order",
        measure=(4, 1),
        meaning=lambda mp, x, y: mp.mpf(x >= y),
        rounding="none",
        cpu=Cpu(number="{0} >= {1}", boolean="{0} | (not {1})"),
    ),
    _test(
        np.isnan,
        decides="truth",
        cpu=Cpu(float="{0} != {0}", integer="False", boolean="False"),
        cuda="{0} != {0}",
    ),
    _test(
        np.isinf,
        decides="truth",
        cpu=Cpu(float="abs({0}) == math.inf", integer="False", boolean="False"),
        cuda="fabs{s}({0}) == {F}(math.inf)",
    ),
    _test(
        np.isfinite,
        decides="truth",
        cpu=Cpu(float="abs({0}) < math.inf", integer="True", boolean="True"),
        cuda="fabs{s}({0}) < {F}(math.inf)",
    ),
    _test(
        np.signbit,
        decides="truth",
        cpu=Cpu(float="math.copysign({one}, {0}) < 0"),
        cuda="copysign{s}({F}(1), {0}) < 0",
    ),
    Row(
        "where",
        np.where,
        3,
        choice_loop,
        doc="Return elements of the second operand where the first is true, else of the third.",
        prepare=prepare_choice,
        facts=rules.where,
        zero="branches",
        decides="condition",
        measure=(6, 1),
        meaning=lambda mp, c, x, y: x if c else y,
        rounding="none",
        derivative=lambda op, r, c, x, y: (
            None,
            op.cast(c, r.dtype),
            op.cast(op.logical_not(c), r.dtype),
        ),
        cpu=Cpu(any="{1} if {0} else {2}", plain=True),
    ),
)

LOGIC: tuple[Row, ...] = themed(
    "logic and bits",
    _test(
        np.logical_and,
        laws=ACI,
        prepare=prepare_logic,
        zero="any",
        decides="truth",
        meaning=lambda mp, x, y: mp.mpf(bool(x) and bool(y)),
        rounding="none",
        cpu=Cpu(any="{0} & {1}", truths=True),
    ),
    _test(
        np.logical_or,
        laws=ACI,
        prepare=prepare_logic,
        zero="all",
        decides="truth",
        meaning=lambda mp, x, y: mp.mpf(bool(x) or bool(y)),
        rounding="none",
        cpu=Cpu(any="{0} | {1}", truths=True),
    ),
    _test(
        np.logical_xor,
        laws=COMMUTATIVE,
        prepare=prepare_logic,
        zero="all",
        decides="truth",
        measure=(2, 1),
        cpu=Cpu(any="{0} != {1}", truths=True),
    ),
    _test(
        np.logical_not,
        decides="truth",
        meaning=lambda mp, x: mp.mpf(not x),
        rounding="none",
        cpu=Cpu(any="not {0}", truths=True),
    ),
    ufunc(
        np.bitwise_and,
        laws=ACI,
        symbol="&",
        precedence=9,
        latex=r"#1 \wedge #2",
        facts=rules.bitwise_and,
        zero="any",
        measure=(3, 1),
        cpu=Cpu(integer="{0} & {1}", boolean="{0} & {1}"),
    ),
    ufunc(
        np.bitwise_or,
        laws=ACI,
        symbol="|",
        precedence=7,
        latex=r"#1 \vee #2",
        facts=rules.bitwise_or,
        zero="all",
        measure=(3, 1),
        cpu=Cpu(integer="{0} | {1}", boolean="{0} | {1}"),
    ),
    ufunc(
        np.bitwise_xor,
        laws=AC,
        symbol="^",
        precedence=8,
        latex=r"#1 \oplus #2",
        facts=rules.bitwise_xor,
        zero="all",
        measure=(3, 1),
        cpu=Cpu(integer="{0} ^ {1}", boolean="{0} ^ {1}"),
    ),
    ufunc(
        np.invert,
        name="invert",
        aliases=("bitwise_not", "bitwise_invert"),
        symbol="~",
        precedence=13,
        latex=r"\neg #1",
        facts=rules.invert,
        measure=(2, 1),
        cpu=Cpu(integer="~{0}", boolean="not {0}"),
    ),
    ufunc(
        np.left_shift,
        aliases=("bitwise_left_shift",),
        symbol="<<",
        precedence=10,
        latex=r"#1 \ll #2",
        cpu=Cpu(integer="left_shift({0}, {1}, {bits})"),
    ),
    ufunc(
        np.right_shift,
        aliases=("bitwise_right_shift",),
        symbol=">>",
        precedence=10,
        latex=r"#1 \gg #2",
        facts=rules.right_shift,
        cpu=Cpu(
            signed="right_shift({0}, {1}, {bits})",
            unsigned="unsigned_right_shift({0}, {1}, {bits})",
        ),
    ),
)
