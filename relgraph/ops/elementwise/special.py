"""Rows of special functions: error functions, gamma functions and Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import relgraph.ops.elementwise.facts as rules
from relgraph.ops.elementwise.row import (
    LONG,
    SPECIAL,
    Cpu,
    Polynomial,
    Row,
    Ulps,
    themed,
    ufunc_loop,
)

Array = Any  # a NumPy array of float32 or float64

_SLOPE = 2 / math.sqrt(math.pi)  # of erf at 0
_DENSITY = 1 / math.sqrt(2 * math.pi)  # of the standard normal distribution at 0


def scipy_function(name: str) -> Callable[..., Array]:
    """Return a function of ``scipy.special``, which is imported on the first call."""

    def compute(*operands: Array) -> Array:
        from scipy import special

        return getattr(special, name)(*operands)

    compute.__name__ = name
    return compute


def logerfc(x: Array) -> Array:
    """Compute ``log(erfc(x))`` where ``erfc`` underflows, too.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 7.12.1 (``exp(x**2) erfc(x)`` for large x).
    """
    from scipy import special

    with np.errstate(all="ignore"):  # each branch is evaluated where the other one holds, too
        large = np.log(special.erfcx(x)) - np.square(x)
        return np.where(x < 1, np.log1p(-special.erf(x)), large)


def trigamma(x: Array) -> Array:
    """Compute the second derivative of the logarithm of the gamma function.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 5.15.6 (reflection) and 25.11.12.
    """
    from scipy import special

    with np.errstate(all="ignore"):  # each branch is evaluated where the other one holds, too
        above = special.zeta(2, np.where(x > 0, x, 1 - x))
        reflected = np.square(np.pi / np.sin(np.pi * (x - np.rint(x)))) - above
        return np.asarray(np.where(x <= 0, reflected, above)).astype(x.dtype)


def polygamma(n: Array, x: Array) -> Array:
    """Compute the derivative of order ``n`` of the digamma function.

    Orders above 1 are NaN below -10,000, where the series has too many terms.
    """
    from scipy import special

    n, x = np.broadcast_arrays(n, x)
    with np.errstate(all="ignore"):
        near = np.where(x > -1e4, x, np.nan)
        high = special.polygamma(np.where(n > 1, n, 2), near)
        return np.select([n == 0, n == 1, n > 1], [special.digamma(x), trigamma(x), high], np.nan)


def _row(name: str, arity: int, doc: str, compute: Any = None, **fields: Any) -> Row:
    # The dtype rule is that of a NumPy function, so that inferring a type does not import SciPy.
    loop = ufunc_loop(np.exp if arity == 1 else np.arctan2)
    scipy = () if compute else (name,)
    columns = {"flops": arity * SPECIAL, "scipy": scipy, **fields}
    return Row(name, compute or scipy_function(name), arity, loop, doc=doc, **columns)


def _polygamma(mp: Any, n: Any, x: Any) -> Any:
    """Return a derivative of digamma where that is quick: mpmath takes a step for each -1 of x."""
    if n > 0 and x < -1000:
        raise ValueError("polygamma of a large negative argument")
    return mp.psi(n, x)


def _bessel(mp: Any, function: Any, v: Any, x: Any) -> Any:
    """Return a Bessel function where that is quick: with many digits its series takes minutes.

    Of half an odd number, the order makes it elementary (DLMF 10.39 and 10.49).
    """
    elementary = abs(v) < 10 and 2 * v % 2 == 1
    if not elementary and (mp.mp.dps > 100 or abs(x) > 50 or abs(v) > 50):
        raise ValueError("a Bessel function of a large argument, or in many digits")
    return function(v, x)


# The derivatives are those of DLMF 5.9, 5.15, 7.10, 10.29.
SPECIALS: tuple[Row, ...] = themed(
    "special functions",
    _row(
        "erf",
        1,
        "Compute the error function.",
        facts=rules.rule(keeps=rules.WEAK_SIGNS, when=((("not_nan",), ("finite",)),)),
        zero="all",
        range=(-1.0, 1.0),
        measure=(5, 2),
        meaning=lambda mp, x: mp.erf(x),
        derivative=lambda op, r, x: (_SLOPE * op.exp(-op.square(x)),),
        cpu=Cpu(float="erf({0})", plain=True, share=LONG),
        cuda="erf{s}({0})",
        elementary=Polynomial("errors.erf", Ulps(1.2, 1.3), library="erf"),
        ulps=Ulps(2, 4),
    ),
    _row(
        "erfc",
        1,
        "Compute the complementary error function.",
        facts=rules.rule(always=("nonnegative",), when=((("not_nan",), ("finite",)),)),
        range=(0.0, 2.0),
        measure=(5, 2),
        meaning=lambda mp, x: mp.erfc(x),
        rounding="measured",  # SciPy rounds the square below the exponential: 245 eps at 25.6
        derivative=lambda op, r, x: (-_SLOPE * op.exp(-op.square(x)),),
        cpu=Cpu(float="erfc({0})", plain=True, share=LONG),
        cuda="erfc{s}({0})",
        elementary=Polynomial("errors.erfc", Ulps(3.0, 2.9), library="erfc"),
        ulps=Ulps(
            4,
            4,
            "of mpmath's value; SciPy's own error grows to 500 with its operand; "
            "below the smallest normal number it gives 0",
        ),
    ),
    _row(
        "erfcx",
        1,
        "Compute ``exp(x**2) * erfc(x)``, the scaled complementary error function.",
        facts=rules.rule(always=("nonnegative",), keeps=("not_nan",)),
        meaning=lambda mp, x: mp.exp(x * x) * mp.erfc(x),
        derivative=lambda op, r, x: (2 * x * r - _SLOPE,),
    ),
    _row(
        "logerfc",
        1,
        "Compute ``log(erfc(x))``, also where ``erfc`` underflows.",
        logerfc,
        spelled={
            "numpy": "np.where({0} < 1, np.log1p(-scipy.special.erf({0})), "
            "np.log(scipy.special.erfcx({0})) - np.square({0}))",
            "torch": "torch.where({0} < 1, torch.log1p(-torch.special.erf({0})), "
            "torch.log(torch.special.erfcx({0})) - torch.square({0}))",
        },
        facts=rules.rule(keeps=("not_nan",), when=((("nonnegative",), ("nonpositive",)),)),
        measure=(2, 2),
        meaning=lambda mp, x: mp.log(mp.erfc(x)),
        derivative=lambda op, r, x: (-_SLOPE / op.erfcx(x),),
    ),
    _row(
        "gamma",
        1,
        "Compute the gamma function.",
        spelled={"torch": ""},
        facts=rules.rule(
            keeps=("positive",), when=((("positive", "not_nan"), ("positive", "not_nan")),)
        ),
        measure=(3, 3),
        meaning=lambda mp, x: mp.gamma(x),
        derivative=lambda op, r, x: (r * op.digamma(x),),
    ),
    _row(
        "gammaln",
        1,
        "Compute the logarithm of the absolute value of the gamma function.",
        facts=rules.rule(when=((("positive", "not_nan"), ("not_nan",)),)),
        measure=(1, 3),
        meaning=lambda mp, x: mp.log(abs(mp.gamma(x))),
        rounding="absolute",
        derivative=lambda op, r, x: (op.digamma(x),),
        cpu=Cpu(float="gammaln({0})", wide=True),
        cuda="gammaln{s}({0})",
        ulps=Ulps(
            2, 8, "of the larger of 1 and the result; below 1e-300 SciPy gives inf, this the value"
        ),
    ),
    _row(
        "digamma",
        1,
        "Compute the derivative of the logarithm of the gamma function.",
        spelled={"jax": "scipy.special.digamma({0})"},
        scipy=("psi", "digamma"),
        measure=(4, 2),
        meaning=lambda mp, x: mp.digamma(x),
        rounding="measured",  # SciPy rounds the argument of a tangent: 40 % at -1 + 1e-16, a pole
        derivative=lambda op, r, x: (op.trigamma(x),),
        cpu=Cpu(float="digamma({0})", wide=True, share=8),
        ulps=Ulps(
            2, 8, "of the larger of 1 and the result; near its poles, where SciPy errs, from it"
        ),
    ),
    _row(
        "trigamma",
        1,
        "Compute the second derivative of the logarithm of the gamma function.",
        trigamma,
        spelled={"numpy": "", "torch": ""},
        measure=(4, 1),
        meaning=lambda mp, x: _polygamma(mp, 1, x),
        derivative=lambda op, r, x: (op.polygamma(2, x),),
    ),
    _row(
        "polygamma",
        2,
        "Compute the derivative of order ``n`` of the digamma function.",
        polygamma,
        spelled={"numpy": "", "torch": ""},
        measure=(5, (1, 2)),
        meaning=_polygamma,
        derivative=lambda op, r, n, x: (None, op.polygamma(n + 1, x)),
    ),
    _row(
        "kv",
        2,
        "Compute the modified Bessel function of the second kind, of order ``v``.",
        spelled={"jax": "", "torch": ""},
        facts=rules.bessel_k,
        measure=(3, (1, 2)),
        meaning=lambda mp, v, x: _bessel(mp, mp.besselk, v, x),
        derivative=lambda op, r, v, x: (None, -(op.kv(v - 1, x) + op.kv(v + 1, x)) / 2),
    ),
    _row(
        "kve",
        2,
        "Compute ``kv(v, x) * exp(x)``, which does not underflow.",
        spelled={"jax": "", "torch": ""},
        facts=rules.bessel_k,
        meaning=lambda mp, v, x: _bessel(mp, mp.besselk, v, x) * mp.exp(x),
        derivative=lambda op, r, v, x: (None, r - (op.kve(v - 1, x) + op.kve(v + 1, x)) / 2),
    ),
    _row(
        "iv",
        2,
        "Compute the modified Bessel function of the first kind, of order ``v``.",
        spelled={"jax": "", "torch": ""},
        facts=rules.bessel_i,
        measure=(3, (1, 2)),
        meaning=lambda mp, v, x: _bessel(mp, mp.besseli, v, x),
        rounding="measured",  # SciPy cancels where the order is near a negative integer
        derivative=lambda op, r, v, x: (None, (op.iv(v - 1, x) + op.iv(v + 1, x)) / 2),
    ),
    _row(
        "ive",
        2,
        "Compute ``iv(v, x) * exp(-abs(x))``, which does not overflow.",
        spelled={"jax": "", "torch": ""},
        facts=rules.bessel_i,
        meaning=lambda mp, v, x: _bessel(mp, mp.besseli, v, x) * mp.exp(-abs(x)),
        rounding="measured",  # as of iv
        derivative=lambda op, r, v, x: (
            None,
            (op.ive(v - 1, x) + op.ive(v + 1, x)) / 2 - op.sign(x) * r,
        ),
    ),
    _row(
        "ndtr",
        1,
        "Compute the distribution function of the standard normal distribution.",
        facts=rules.rule(
            always=("nonnegative",), keeps=("not_nan",), when=((("not_nan",), ("finite",)),)
        ),
        range=(0.0, 1.0),
        meaning=lambda mp, x: mp.ncdf(x),
        rounding="measured",  # as of erfc
        derivative=lambda op, r, x: (_DENSITY * op.exp(-op.square(x) / 2),),
    ),
    _row(
        "log_ndtr",
        1,
        "Compute ``log(ndtr(x))``, also where ``ndtr`` underflows.",
        facts=rules.rule(always=("nonpositive",), keeps=("not_nan",)),
        range=(-math.inf, 0.0),
        meaning=lambda mp, x: mp.log(mp.ncdf(x)),
        rounding="measured",  # as of erfc
        derivative=lambda op, r, x: (2 * _DENSITY / op.erfcx(-x / math.sqrt(2)),),
    ),
    _row(
        "ndtri",
        1,
        "Compute the inverse of ``ndtr``, the quantile of the standard normal distribution.",
        meaning=lambda mp, p: mp.sqrt(2) * mp.erfinv(2 * p - 1),
        derivative=lambda op, r, p: (op.exp(op.square(r) / 2) / _DENSITY,),
    ),
    _row(
        "betaln",
        2,
        "Compute the logarithm of the absolute value of the beta function.",
        spelled={"jax": "", "torch": ""},
        meaning=lambda mp, a, b: mp.log(abs(mp.beta(a, b))),
        rounding="measured",  # SciPy subtracts logarithms of the gamma function
        derivative=lambda op, r, a, b: (
            op.digamma(a) - op.digamma(a + b),
            op.digamma(b) - op.digamma(a + b),
        ),
    ),
    _row(
        "xlogy",
        2,
        "Compute ``x * log(y)``, and 0 where ``x`` is 0 and ``y`` is not NaN.",
        zero="first",
        meaning=lambda mp, x, y: x * mp.log(y) if x else x,
        derivative=lambda op, r, x, y: (op.log(y), x / y),
        cpu=Cpu(
            float="{0} * log({1}) if ({0} != 0) | ({1} != {1}) else abs({0})",
            plain=True,
            share=LONG,
        ),
        cuda="mul{s}({0}, log{s}({1})) if ({0} != 0) | ({1} != {1}) else fabs{s}({0})",
        ulps=Ulps(4, 4),
    ),
    _row(
        "xlog1py",
        2,
        "Compute ``x * log1p(y)``, and 0 where ``x`` is 0 and ``y`` is not NaN.",
        zero="first",
        meaning=lambda mp, x, y: x * mp.log1p(y) if x else x,
        derivative=lambda op, r, x, y: (op.log1p(y), x / (1 + y)),
        cpu=Cpu(
            float="{0} * log1p({1}) if ({0} != 0) | ({1} != {1}) else abs({0})",
            plain=True,
            share=LONG,
        ),
        cuda="mul{s}({0}, log1p{s}({1})) if ({0} != 0) | ({1} != {1}) else fabs{s}({0})",
        ulps=Ulps(4, 4),
    ),
    _row(
        "logit",
        1,
        "Compute ``log(x / (1 - x))``, the inverse of the logistic function.",
        meaning=lambda mp, x: mp.log(x / (1 - x)),
        derivative=lambda op, r, x: (1 / (x * (1 - x)),),
        # Between 0.3 and 0.65 the quotient is near 1, so the logarithm takes what it is above 1.
        cpu=Cpu(
            float="log({0} / ({one} - {0})) if ({0} < 0.3) | ({0} > 0.65) "
            "else log1p(({0} + {0} - {one}) / ({one} - {0}))",
            plain=True,
            share=LONG,
        ),
        cuda="log{s}({0} / ({F}(1) - {0})) if ({0} < {F}(0.3)) | ({0} > {F}(0.65)) "
        "else log1p{s}(({0} + {0} - {F}(1)) / ({F}(1) - {0}))",
        ulps=Ulps(4, 4),
    ),
)
