"""Rows of arithmetic: sums and products, powers, extremes, and rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

import relgraph.ops.elementwise.facts as rules
from relgraph.errors import DomainError
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import Op
from relgraph.ops.elementwise import bounds
from relgraph.ops.elementwise.row import (
    AC,
    ACI,
    CHEAP,
    DIVIDE,
    LONG,
    TRANSCENDENTAL,
    Cpu,
    Polynomial,
    Row,
    Ulps,
    promote_loop,
    themed,
    ufunc,
)


def prepare_power(op: Op, operands: tuple[Any, ...]) -> tuple[Variable, ...]:
    """Raise for a negative constant exponent of an integer, as NumPy does."""
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

    Later versions of NumPy give the same for ``np.power(x, 0.5)``.
    """
    return np.sqrt(base) if is_half(exponent) else np.power(base, exponent)


ARITHMETIC: tuple[Row, ...] = themed(
    "arithmetic",
    ufunc(
        np.add,
        laws=AC,
        difference="subtract",
        inverse="negative",
        scale="multiply",
        symbol="+",
        precedence=11,
        latex="#1 + #2",
        facts=rules.add,
        bounds=bounds.add,
        zero="all",
        definite=rules.definite_sum,
        measure=(3, 1),
        meaning=lambda mp, x, y: x + y,
        derivative=lambda op, r, x, y: (1, 1),
        cpu=Cpu(float="{0} + {1}", integer="{0} + {1}", boolean="{0} | {1}", plain=True),
        cuda="add{s}({0}, {1})",
    ),
    ufunc(
        np.subtract,
        symbol="-",
        precedence=11,
        latex="#1 - #2",
        facts=rules.subtract,
        bounds=bounds.subtract,
        zero="all",
        measure=(3, 1),
        meaning=lambda mp, x, y: x - y,
        derivative=lambda op, r, x, y: (1, -1),
        cpu=Cpu(float="{0} - {1}", integer="{0} - {1}", plain=True),
        cuda="add{s}({0}, -{1})",
    ),
    ufunc(
        np.multiply,
        laws=AC,
        difference="true_divide",
        symbol="*",
        precedence=12,
        latex=r"#1 \cdot #2",
        facts=rules.multiply,
        bounds=bounds.multiply,
        zero="any",
        definite=rules.definite_product,
        measure=(2, 1),
        meaning=lambda mp, x, y: x * y,
        derivative=lambda op, r, x, y: (y, x),
        cpu=Cpu(float="{0} * {1}", integer="{0} * {1}", boolean="{0} & {1}", plain=True),
        cuda="mul{s}({0}, {1})",
    ),
    ufunc(
        np.true_divide,
        name="true_divide",
        aliases=("divide",),
        symbol="/",
        precedence=12,
        latex=r"\frac{#1}{#2}",
        facts=rules.true_divide,
        bounds=bounds.true_divide,
        zero="first",
        definite=rules.definite_quotient,
        flops=DIVIDE,
        measure=(5, (1, 2)),
        meaning=lambda mp, x, y: x / y,
        derivative=lambda op, r, x, y: (1 / y, -r / y),
        cpu=Cpu(float="{0} / {1}", plain=True),
        cuda="{0} / {1}",
    ),
    ufunc(
        np.floor_divide,
        symbol="//",
        precedence=12,
        latex=r"\left\lfloor\frac{#1}{#2}\right\rfloor",
        facts=rules.floor_divide,
        zero="first",
        decides="quotient",
        flops=DIVIDE,
        derivative=lambda op, r, x, y: (0, 0),
        cpu=Cpu(
            float="floor_divide({0}, {1})",
            signed="signed_floor_divide({0}, {1})",
            unsigned="int_floor_divide({0}, {1})",
            share=LONG,
        ),
        cuda="floor_divide{s}({0}, {1})",
    ),
    ufunc(
        np.remainder,
        aliases=("mod",),
        symbol="%",
        precedence=12,
        latex=r"#1 \bmod #2",
        facts=rules.remainder,
        zero="first",
        decides="quotient",
        flops=DIVIDE,
        derivative=lambda op, r, x, y: (1, -op.floor_divide(x, y)),
        cpu=Cpu(
            float="remainder({0}, {1})",
            signed="signed_remainder({0}, {1})",
            unsigned="int_remainder({0}, {1})",
            share=LONG,
        ),
        cuda="remainder{s}({0}, {1})",
    ),
    ufunc(
        np.power,
        compute=compute_power,
        aliases=("pow",),
        symbol="**",
        precedence=14,
        latex="#1^{#2}",
        prepare=prepare_power,
        facts=rules.power,
        flops=2 * TRANSCENDENTAL,
        constants=((1, 0), (2, CHEAP), (0.5, DIVIDE)),
        measure=(8, (2, 1)),
        meaning=lambda mp, x, y: mp.power(x, y),
        derivative=lambda op, r, x, y: (y * op.power(x, y - 1), op.xlogy(r, x)),
        cpu=Cpu(
            float="power({0}, {1})", integer="int_power({0}, {1}, {one})", plain=True, share=LONG
        ),
        cuda="pow{s}({0}, {1})",
        elementary=Polynomial("powers.power", Ulps(1.0, 1.5), library="pow"),
        ulps=Ulps(
            4, 4, "a number 2 as the exponent is a product, 0.5 a square root as in `x**0.5`"
        ),
    ),
    ufunc(
        np.negative,
        symbol="-",
        precedence=13,
        latex="-#1",
        facts=rules.negative,
        bounds=bounds.negative,
        zero="all",
        meaning=lambda mp, x: -x,
        rounding="none",
        derivative=lambda op, r, x: (-1,),
        cpu=Cpu(float="-{0}", integer="-{0}", plain=True),
        cuda="-{0}",
    ),
    ufunc(
        np.absolute,
        latex=r"\left|#1\right|",
        aliases=("abs",),
        facts=rules.absolute,
        bounds=bounds.absolute,
        zero="all",
        decides="strict sign",
        meaning=lambda mp, x: abs(x),
        rounding="none",
        derivative=lambda op, r, x: (op.sign(x),),
        cpu=Cpu(float="abs({0})", signed="abs({0})", unsigned="{0}", boolean="{0}", plain=True),
        cuda="fabs{s}({0})",
    ),
    ufunc(
        np.sign,
        facts=rules.sign,
        zero="all",
        range=(-1.0, 1.0),
        decides="sign",
        measure=(1, 2),
        meaning=lambda mp, x: mp.sign(x),
        rounding="none",
        derivative=lambda op, r, x: (0,),
        cpu=Cpu(
            float="sign({0})",
            signed="1 if {0} > 0 else (-1 if {0} < 0 else 0)",
            unsigned="1 if {0} > 0 else 0",
        ),
        cuda="sign{s}({0})",
    ),
    ufunc(
        np.copysign,
        decides="second sign",
        derivative=lambda op, r, x, y: (op.copysign(1.0, x) * op.copysign(1.0, y), 0),
        cpu=Cpu(float="math.copysign({0}, {1})"),
        cuda="copysign{s}({0}, {1})",
    ),
    ufunc(
        np.square,
        latex="#1^{2}",
        facts=rules.square,
        bounds=bounds.square,
        zero="all",
        definite=rules.definite_product,
        measure=(1, 2),
        meaning=lambda mp, x: x * x,
        derivative=lambda op, r, x: (2 * x,),
        cpu=Cpu(float="{0} * {0}", integer="{0} * {0}", plain=True),
        cuda="mul{s}({0}, {0})",
    ),
    ufunc(
        np.sqrt,
        latex=r"\sqrt{#1}",
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
        flops=DIVIDE,
        measure=(5, 2),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.sqrt(x),
        derivative=lambda op, r, x: (0.5 / r,),
        cpu=Cpu(float="math.sqrt({0})"),
        cuda="sqrt{s}({0})",
    ),
    ufunc(
        np.cbrt,
        spelled={"torch": ""},
        facts=rules.rule(keeps=(*rules.SIGNS, "nonzero", "finite", "not_nan")),
        zero="all",
        flops=TRANSCENDENTAL,
        measure=(5, 2),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.sign(x) * mp.cbrt(abs(x)),
        derivative=lambda op, r, x: (1 / (3 * op.square(r)),),
        cpu=Cpu(float="cbrt({0})", plain=True, share=LONG),
        cuda="cbrt{s}({0})",
        elementary=Polynomial("powers.cbrt", Ulps(0.6, 0.6), library="cbrt"),
        ulps=Ulps(4, 4),
    ),
    ufunc(
        np.reciprocal,
        latex=r"\frac{1}{#1}",
        facts=rules.reciprocal,
        bounds=bounds.reciprocal,
        flops=DIVIDE,
        measure=(2, 1),
        meaning=lambda mp, x: 1 / x,
        derivative=lambda op, r, x: (-op.square(r),),
        cpu=Cpu(float="{one} / {0}"),
        cuda="{F}(1) / {0}",
    ),
    ufunc(
        np.hypot,
        facts=rules.hypot,
        zero="all",
        flops=TRANSCENDENTAL,
        meaning=lambda mp, x, y: mp.hypot(x, y),
        derivative=lambda op, r, x, y: (x / r, y / r),
        cpu=Cpu(float="math.hypot({0}, {1})", wide=True),
        cuda="hypot{s}({0}, {1})",
        ulps=Ulps(2, 2),
    ),
    ufunc(
        np.maximum,
        laws=ACI,
        facts=rules.maximum,
        bounds=bounds.maximum,
        zero="all",
        decides="extreme",
        meaning=lambda mp, x, y: max(x, y),
        rounding="none",
        derivative=lambda op, r, x, y: (op.cast(x >= y, r.dtype), op.cast(x < y, r.dtype)),
        cpu=Cpu(
            float="maximum({0}, {1})",
            integer="{0} if {0} > {1} else {1}",
            boolean="{0} | {1}",
            plain=True,
        ),
        cuda="maximum{s}({0}, {1})",
    ),
    ufunc(
        np.minimum,
        laws=ACI,
        facts=rules.minimum,
        bounds=bounds.minimum,
        zero="all",
        decides="extreme",
        meaning=lambda mp, x, y: min(x, y),
        rounding="none",
        derivative=lambda op, r, x, y: (op.cast(x <= y, r.dtype), op.cast(x > y, r.dtype)),
        cpu=Cpu(
            float="minimum({0}, {1})",
            integer="{0} if {0} < {1} else {1}",
            boolean="{0} & {1}",
            plain=True,
        ),
        cuda="minimum{s}({0}, {1})",
    ),
    Row(
        "clip",
        np.clip,
        3,
        promote_loop,
        spelled={"torch": "torch.minimum(torch.maximum({0}, {1}), {2})"},
        doc="Limit to an interval: ``minimum(maximum(x, low), high)``.",
        public=False,
        facts=rules.clip,
        bounds=bounds.clip,
        decides="bounds",
        flops=2,
        meaning=lambda mp, x, low, high: min(max(x, low), high),
        rounding="none",
        derivative=lambda op, r, x, low, high: (
            op.cast((x >= low) & (x <= high), r.dtype),
            op.cast((x < low) & (low <= high), r.dtype),
            op.cast(op.maximum(x, low) > high, r.dtype),
        ),
        cpu=Cpu(
            float="minimum(maximum({0}, {1}), {2})",
            integer="int_clip({0}, {1}, {2})",
            boolean="({0} | {1}) & {2}",
            plain=True,
        ),
        cuda="minimum{s}(maximum{s}({0}, {1}), {2})",
    ),
)

ROUNDING: tuple[Row, ...] = themed(
    "rounding",
    ufunc(
        np.floor,
        latex=r"\left\lfloor {#1} \right\rfloor",
        facts=rules.rounding("negative"),
        zero="all",
        decides="rounding",
        meaning=lambda mp, x: mp.floor(x),
        rounding="none",
        derivative=lambda op, r, x: (0,),
        cpu=Cpu(float="np.floor({0})", integer="{0}", boolean="{0}"),
        cuda="floor{s}({0})",
    ),
    ufunc(
        np.ceil,
        latex=r"\left\lceil {#1} \right\rceil",
        facts=rules.rounding("positive"),
        zero="all",
        decides="rounding",
        meaning=lambda mp, x: mp.ceil(x),
        rounding="none",
        derivative=lambda op, r, x: (0,),
        cpu=Cpu(float="np.ceil({0})", integer="{0}", boolean="{0}"),
        cuda="ceil{s}({0})",
    ),
    ufunc(
        np.trunc,
        facts=rules.rounding(),
        zero="all",
        decides="rounding",
        meaning=lambda mp, x: mp.floor(x) if x > 0 else mp.ceil(x),
        rounding="none",
        derivative=lambda op, r, x: (0,),
        cpu=Cpu(float="np.trunc({0})", integer="{0}", boolean="{0}"),
        cuda="trunc{s}({0})",
    ),
    ufunc(
        np.rint,
        spelled={"torch": "torch.round({0})"},
        facts=rules.rounding(),
        zero="all",
        decides="halfway",
        meaning=lambda mp, x: mp.nint(x),
        rounding="none",
        derivative=lambda op, r, x: (0,),
        cpu=Cpu(float="np.rint({0})"),
        cuda="rint{s}({0})",
    ),
)
