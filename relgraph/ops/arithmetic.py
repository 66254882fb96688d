"""The table of arithmetic: sums and products, powers, extremes, rounding and bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import DomainError
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import Op
from relgraph.ops import fact_rules as rules
from relgraph.ops.functions import AC, ACI, DIVIDE, TRANSCENDENTAL, Function, promote_loop, ufunc


def prepare_power(op: Op, operands: tuple[Any, ...]) -> tuple[Variable, ...]:
    """Refuse a negative constant exponent of an integer, as NumPy does."""
    base, exponent = Op.coerce(op, operands)
    if (
        base.dtype.kind in "biu"
        and isinstance(exponent, Constant)
        and exponent.dtype.kind == "i"
        and bool((exponent.value < 0).any())
    ):
        raise DomainError(
            "integers to negative integer powers are not allowed",
            {"base": f"{base} : {base.type}", "exponent": exponent},
            "Use a float base, for instance base.astype('float64'), or a float exponent.",
        )
    return base, exponent


def is_half(exponent: Any) -> bool:
    """Return True for the one number 0.5, which makes a power a square root."""
    return exponent.ndim == 0 and exponent.dtype.kind == "f" and bool(exponent == 0.5)


def compute_power(base: Any, exponent: Any) -> Any:
    """Compute a power as NumPy's ``**``: ``x**0.5`` is -0.0 for -0.0, and NaN for -infinity.

    So is ``np.power(x, 0.5)`` in later versions of NumPy.
    """
    return np.sqrt(base) if is_half(exponent) else np.power(base, exponent)


ARITHMETIC: tuple[Function, ...] = (
    ufunc(
        np.add,
        laws=AC,
        difference="subtract",
        inverse="negative",
        symbol="+",
        precedence=11,
        facts=rules.add,
        zero="all",
    ),
    ufunc(np.subtract, symbol="-", precedence=11, facts=rules.subtract, zero="all"),
    ufunc(np.multiply, laws=AC, symbol="*", precedence=12, facts=rules.multiply, zero="any"),
    ufunc(
        np.true_divide,
        name="true_divide",
        weight=DIVIDE,
        symbol="/",
        precedence=12,
        facts=rules.true_divide,
        zero="first",
    ),
    ufunc(
        np.floor_divide,
        weight=DIVIDE,
        symbol="//",
        precedence=12,
        facts=rules.floor_divide,
        zero="first",
    ),
    ufunc(
        np.remainder,
        weight=DIVIDE,
        symbol="%",
        precedence=12,
        facts=rules.remainder,
        zero="first",
    ),
    ufunc(
        np.power,
        compute=compute_power,
        weight=2 * TRANSCENDENTAL,
        symbol="**",
        precedence=14,
        facts=rules.power,
        prepare=prepare_power,
    ),
    ufunc(np.negative, symbol="-", precedence=13, facts=rules.negative, zero="all"),
    ufunc(np.absolute, facts=rules.absolute, zero="all"),
    ufunc(np.sign, facts=rules.sign, zero="all"),
    ufunc(np.copysign),
    ufunc(np.square, facts=rules.square, zero="all"),
    ufunc(
        np.sqrt,
        weight=DIVIDE,
        facts=rules.rule(
            always=("nonnegative",),
            keeps=("positive",),
            when=(
                (("nonzero",), ("positive",)),
                (("nonnegative", "not_nan"), ("not_nan",)),
                (("nonnegative", "finite"), ("finite",)),
            ),
        ),
        zero="all",
    ),
    ufunc(
        np.cbrt,
        weight=TRANSCENDENTAL,
        facts=rules.rule(keeps=(*rules.SIGNS, "nonzero", "finite", "not_nan")),
        zero="all",
    ),
    ufunc(np.reciprocal, weight=DIVIDE, facts=rules.reciprocal),
    ufunc(np.maximum, laws=ACI, facts=rules.maximum, zero="all"),
    ufunc(np.minimum, laws=ACI, facts=rules.minimum, zero="all"),
    Function("clip", np.clip, 3, promote_loop, weight=2, facts=rules.clip),
    ufunc(np.floor, facts=rules.rounding("negative"), zero="all"),
    ufunc(np.ceil, facts=rules.rounding("positive"), zero="all"),
    ufunc(np.trunc, facts=rules.rounding(), zero="all"),
    ufunc(np.rint, facts=rules.rounding(), zero="all"),
    ufunc(np.bitwise_and, laws=ACI, symbol="&", precedence=9, facts=rules.bitwise_and, zero="any"),
    ufunc(np.bitwise_or, laws=ACI, symbol="|", precedence=7, facts=rules.bitwise_or, zero="all"),
    ufunc(np.bitwise_xor, laws=AC, symbol="^", precedence=8, facts=rules.bitwise_xor, zero="all"),
    ufunc(np.invert, name="invert", symbol="~", precedence=13, facts=rules.invert),
    ufunc(np.left_shift, symbol="<<", precedence=10),
    ufunc(np.right_shift, symbol=">>", precedence=10, facts=rules.right_shift),
)
