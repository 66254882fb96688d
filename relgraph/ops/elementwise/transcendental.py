"""Rows of exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import relgraph.ops.elementwise.facts as rules
from relgraph.ops.elementwise import bounds
from relgraph.ops.elementwise.row import (
    AC,
    CHEAP,
    DIVIDE,
    LONG,
    SPECIAL,
    TRANSCENDENTAL,
    Cpu,
    Polynomial,
    Row,
    Ulps,
    themed,
    ufunc,
    ufunc_loop,
)
from relgraph.ops.elementwise.special import scipy_function

Array = Any  # a NumPy array of float32 or float64

LOG_2 = 0.6931471805599453


def log1mexp(x: Array) -> Array:
    """Compute ``log(1 - exp(x))`` without cancellation.

    References
    ----------
    M. Mächler, "Accurately computing log(1 - exp(-|a|))", R package Rmpfr, 2012.
    """
    with np.errstate(all="ignore"):  # each branch is evaluated where the other one holds, too
        return np.where(x > -LOG_2, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def softplus(x: Array) -> Array:
    """Compute ``log(1 + exp(x))`` without overflow."""
    with np.errstate(invalid="ignore"):  # logaddexp warns of NaN
        return np.logaddexp(x.dtype.type(0), x)


def _polynomial(
    name: str,
    elementary: Ulps,
    ulps: Ulps,
    *,
    arity: int = 1,
    library: str = "",
    vector: bool = True,
    share: int = LONG,
) -> dict[str, Any]:
    """Return the columns of a function that the CPU computes by a polynomial.

    ``elementary`` bounds the distance to the exact result and ``ulps`` that to NumPy's;
    ``library`` is its name in C, if it differs; ``vector`` says whether vendors' libraries of
    vector functions have it.
    """
    function = name.partition(".")[2]
    library = library or function
    operands = ", ".join([f"{{{i}}}" for i in range(arity)])
    return {
        "cpu": Cpu(float=f"{function}({operands})", plain=True, share=share),
        "cuda": f"{library}{{s}}({operands})",
        "elementary": Polynomial(name, elementary, library if vector else ""),
        "ulps": ulps,
    }


def _transcendental(function: np.ufunc, facts: Any, **fields: Any) -> Row:
    """Return the row of a ufunc that costs one polynomial."""
    return ufunc(function, flops=TRANSCENDENTAL, facts=facts, **fields)


def _composite(name: str, compute: Any, doc: str, **fields: Any) -> Row:
    """Return the row of a function that NumPy lacks, computed by several of NumPy or SciPy."""
    # The dtype rule is that of exp, so that inferring a type does not import SciPy.
    columns = {"flops": SPECIAL, **fields}
    return Row(name, compute, 1, ufunc_loop(np.exp), doc=doc, **columns)


_EXP = rules.rule(
    always=("nonnegative",),
    keeps=("not_nan",),
    when=((("nonnegative",), ("positive",)), (("nonpositive", "not_nan"), ("finite",))),
)
_LOG = rules.rule(
    when=((("nonnegative", "not_nan"), ("not_nan",)), (("positive", "finite"), ("finite",)))
)
_CIRCULAR = rules.rule(when=((("finite",), ("finite",)),))
_ODD = (*rules.SIGNS, "nonzero")  # what an odd increasing function keeps

# A sine is the shortest polynomial of its kind: no division, and no range limits to handle.
_SHORT = 1
_LARGE = (
    "up to 2**18 and 2**49; beyond them the C library's (with glibc, 15 next to multiples of pi/2)"
)

EXPONENTIAL: tuple[Row, ...] = themed(
    "exponentials and logarithms",
    _transcendental(
        np.exp,
        _EXP,
        measure=(4, 1),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.exp(x),
        derivative=lambda op, r, x: (r,),
        **_polynomial("exponentials.exp", Ulps(1.1, 1.1), Ulps(4, 2)),
    ),
    _transcendental(
        np.exp2,
        _EXP,
        measure=(4, 1),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.power(2, x),
        derivative=lambda op, r, x: (r * LOG_2,),
        **_polynomial("exponentials.exp2", Ulps(1.1, 1.1), Ulps(4, 2)),
    ),
    _transcendental(
        np.expm1,
        rules.rule(
            keeps=(*_ODD, "not_nan"),
            when=((("nonpositive", "not_nan"), ("finite",)),),
        ),
        zero="all",
        measure=(5, 1),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.expm1(x),
        derivative=lambda op, r, x: (r + 1,),
        **_polynomial("exponentials.expm1", Ulps(2.0, 2.2), Ulps(4, 4)),
    ),
    _transcendental(
        np.log,
        _LOG,
        measure=(13, 4),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.log(x),
        derivative=lambda op, r, x: (1 / x,),
        **_polynomial("logarithms.log", Ulps(1.0, 1.0), Ulps(4, 3)),
    ),
    _transcendental(
        np.log2,
        _LOG,
        measure=(13, 4),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.log(x, 2),
        derivative=lambda op, r, x: (1 / (x * LOG_2),),
        **_polynomial("logarithms.log2", Ulps(1.3, 1.3), Ulps(4, 3)),
    ),
    _transcendental(
        np.log10,
        _LOG,
        measure=(13, 4),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.log10(x),
        derivative=lambda op, r, x: (1 / (x * math.log(10)),),
        **_polynomial("logarithms.log10", Ulps(1.3, 1.3), Ulps(4, 3)),
    ),
    _transcendental(
        np.log1p,
        rules.rule(
            keeps=_ODD,
            when=(
                (("nonnegative", "not_nan"), ("not_nan",)),
                (("nonnegative", "finite"), ("finite",)),
            ),
        ),
        zero="all",
        measure=(13, 4),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.log1p(x),
        derivative=lambda op, r, x: (1 / (1 + x),),
        **_polynomial("logarithms.log1p", Ulps(1.5, 1.5), Ulps(4, 3)),
    ),
    ufunc(
        np.logaddexp,
        laws=AC,
        facts=rules.logaddexp,
        flops=SPECIAL,
        meaning=lambda mp, x, y: mp.log(mp.exp(x) + mp.exp(y)),
        rounding="absolute",
        derivative=lambda op, r, x, y: (op.exp(x - r), op.exp(y - r)),
        **_polynomial(
            "logarithms.logaddexp",
            Ulps(3.2, 3.2, "of the largest of the operands and the result"),
            Ulps(4, 4, "of the largest of the operands and the result: near 0 it cancels"),
            arity=2,
            vector=False,
        ),
    ),
    _composite(
        "log1mexp",
        log1mexp,
        "Compute ``log(1 - exp(x))`` without cancellation.",
        spelled={
            "numpy": "np.where({0} > -0.6931471805599453, np.log(-np.expm1({0})), "
            "np.log1p(-np.exp({0})))",
            "torch": "torch.where({0} > -0.6931471805599453, torch.log(-torch.expm1({0})), "
            "torch.log1p(-torch.exp({0})))",
        },
        facts=rules.rule(
            always=("nonpositive",), when=((("nonpositive", "not_nan"), ("not_nan",)),)
        ),
        measure=(12, 2),
        meaning=lambda mp, x: mp.log(1 - mp.exp(x)),
        derivative=lambda op, r, x: (-1 / op.expm1(-x),),
        **_polynomial("logarithms.log1mexp", Ulps(2.2, 2.2), Ulps(6, 4), vector=False),
    ),
    _composite(
        "sigmoid",
        scipy_function("expit"),
        "Compute ``1 / (1 + exp(-x))``, the logistic function.",
        scipy=("expit",),
        facts=rules.rule(
            always=("nonnegative",),
            when=((("nonnegative",), ("positive",)), (("not_nan",), ("finite",))),
        ),
        range=(0.0, 1.0),
        flops=TRANSCENDENTAL + DIVIDE + CHEAP,
        measure=(3, 1),
        bounds=bounds.logistic,
        meaning=lambda mp, x: 1 / (1 + mp.exp(-x)),
        derivative=lambda op, r, x: (r * (1 - r),),
        **_polynomial(
            "hyperbolic.sigmoid",
            Ulps(2.5, 2.5),
            Ulps(4, 4, "below the smallest normal number SciPy gives 0"),
            vector=False,
        ),
    ),
    _composite(
        "softplus",
        softplus,
        "Compute ``log(1 + exp(x))`` without overflow.",
        spelled={
            "numpy": "np.logaddexp(0, {0})",
            "torch": "torch.logaddexp(torch.zeros_like({0}), {0})",
        },
        facts=rules.rule(
            always=("nonnegative",),
            keeps=("finite", "not_nan"),
            when=((("nonnegative",), ("positive",)),),
        ),
        measure=(4, 1),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.log1p(mp.exp(x)),
        derivative=lambda op, r, x: (op.sigmoid(x),),
        **_polynomial("logarithms.softplus", Ulps(2.2, 2.2), Ulps(4, 4), vector=False),
    ),
)

TRIGONOMETRIC: tuple[Row, ...] = themed(
    "trigonometric and hyperbolic",
    _transcendental(
        np.sin,
        _CIRCULAR,
        zero="all",
        range=(-1.0, 1.0),
        measure=(1, 2),
        meaning=lambda mp, x: mp.sin(x),
        derivative=lambda op, r, x: (op.cos(x),),
        **_polynomial("circular.sin", Ulps(2.2, 2.4, _LARGE), Ulps(4, 4), share=_SHORT),
    ),
    _transcendental(
        np.cos,
        _CIRCULAR,
        range=(-1.0, 1.0),
        measure=(20, 4),
        meaning=lambda mp, x: mp.cos(x),
        derivative=lambda op, r, x: (-op.sin(x),),
        **_polynomial("circular.cos", Ulps(2.2, 2.5, _LARGE), Ulps(4, 4), share=_SHORT),
    ),
    _transcendental(
        np.tan,
        rules.rule(when=((("finite",), ("not_nan",)),)),
        zero="all",
        measure=(1, 2),
        meaning=lambda mp, x: mp.tan(x),
        derivative=lambda op, r, x: (1 + op.square(r),),
        **_polynomial("circular.tan", Ulps(4.0, 4.0, _LARGE), Ulps(4, 4)),
    ),
    _transcendental(
        np.arcsin,
        rules.rule(keeps=_ODD),
        aliases=("asin",),
        zero="all",
        range=(-math.pi / 2, math.pi / 2),
        measure=(10, 2),
        meaning=lambda mp, x: mp.asin(x),
        derivative=lambda op, r, x: (1 / op.sqrt(1 - op.square(x)),),
        **_polynomial("inverse_circular.arcsin", Ulps(1.2, 1.2), Ulps(4, 4), library="asin"),
    ),
    _transcendental(
        np.arccos,
        rules.rule(always=("nonnegative",)),
        aliases=("acos",),
        range=(0.0, math.pi),
        measure=(11, 2),
        meaning=lambda mp, x: mp.acos(x),
        derivative=lambda op, r, x: (-1 / op.sqrt(1 - op.square(x)),),
        **_polynomial("inverse_circular.arccos", Ulps(1.2, 1.2), Ulps(4, 4), library="acos"),
    ),
    _transcendental(
        np.arctan,
        rules.rule(keeps=_ODD, when=((("not_nan",), ("finite",)),)),
        aliases=("atan",),
        zero="all",
        range=(-math.pi / 2, math.pi / 2),
        measure=(5, 2),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.atan(x),
        derivative=lambda op, r, x: (1 / (1 + op.square(x)),),
        **_polynomial("inverse_circular.arctan", Ulps(0.8, 0.8), Ulps(4, 4), library="atan"),
    ),
    ufunc(
        np.arctan2,
        aliases=("atan2",),
        facts=rules.arctan2,
        flops=SPECIAL,
        derivative=lambda op, r, y, x: (
            x / (op.square(x) + op.square(y)),
            -y / (op.square(x) + op.square(y)),
        ),
        **_polynomial(
            "inverse_circular.arctan2", Ulps(1.0, 1.0), Ulps(4, 4), arity=2, library="atan2"
        ),
    ),
    _transcendental(
        np.sinh,
        rules.rule(keeps=(*_ODD, "not_nan")),
        zero="all",
        measure=(5, 2),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.sinh(x),
        derivative=lambda op, r, x: (op.cosh(x),),
        **_polynomial("hyperbolic.sinh", Ulps(1.4, 1.4), Ulps(4, 4)),
    ),
    _transcendental(
        np.cosh,
        rules.rule(always=("positive",), keeps=("not_nan",)),
        measure=(5, 2),
        meaning=lambda mp, x: mp.cosh(x),
        derivative=lambda op, r, x: (op.sinh(x),),
        **_polynomial("hyperbolic.cosh", Ulps(1.4, 1.4), Ulps(4, 4)),
    ),
    _transcendental(
        np.tanh,
        rules.rule(keeps=_ODD, when=((("not_nan",), ("finite",)),)),
        zero="all",
        range=(-1.0, 1.0),
        measure=(5, 2),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.tanh(x),
        derivative=lambda op, r, x: (1 - op.square(r),),
        **_polynomial("hyperbolic.tanh", Ulps(1.6, 1.6), Ulps(4, 4)),
    ),
    _transcendental(
        np.arcsinh,
        rules.rule(keeps=(*_ODD, "finite", "not_nan")),
        aliases=("asinh",),
        zero="all",
        measure=(5, 2),
        bounds=bounds.increasing,
        meaning=lambda mp, x: mp.asinh(x),
        derivative=lambda op, r, x: (1 / op.sqrt(1 + op.square(x)),),
        **_polynomial("inverse_hyperbolic.arcsinh", Ulps(1.0, 1.0), Ulps(4, 4), library="asinh"),
    ),
    _transcendental(
        np.arccosh,
        rules.rule(always=("nonnegative",)),
        aliases=("acosh",),
        measure=(10, 2),
        meaning=lambda mp, x: mp.acosh(x),
        derivative=lambda op, r, x: (1 / op.sqrt(op.square(x) - 1),),
        **_polynomial("inverse_hyperbolic.arccosh", Ulps(1.6, 1.6), Ulps(4, 4), library="acosh"),
    ),
    _transcendental(
        np.arctanh,
        rules.rule(keeps=_ODD),
        aliases=("atanh",),
        zero="all",
        measure=(5, 2),
        meaning=lambda mp, x: mp.atanh(x),
        derivative=lambda op, r, x: (1 / (1 - op.square(x)),),
        **_polynomial("inverse_hyperbolic.arctanh", Ulps(1.0, 1.0), Ulps(4, 4), library="atanh"),
    ),
)
