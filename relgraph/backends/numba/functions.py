"""Scalar functions that kernels call, compiled with them by numba.

They reproduce NumPy's meaning for zeros of either sign, infinities and NaN, and are free of
branches where that lets a loop run on vectors.  The exponentials and logarithms of float64 are
polynomials of their own, because numba calls the C library one element at a time.

References
----------
S. Gal and B. Bachelis, "An accurate elementary mathematical library for the IEEE floating point
standard", ACM TOMS 17 (1991); the logarithm is FreeBSD's ``e_log.c`` (P. Tang's method).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, njit, types
from numba.core import cgutils

intrinsic: Any = extending.intrinsic
insert_function: Any = cgutils.get_or_insert_function
scalar = njit(inline="never", forceinline=True, fastmath=False, error_model="numpy")


def kernel(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel; one that was loaded from a file is cached beside it."""

    def compile_(function: Callable[..., Any]) -> Any:
        return njit(
            signature,
            nogil=True,
            error_model="numpy",
            fastmath=False,
            cache="__file__" in function.__globals__,
        )(function)

    return compile_


# Instructions that Python has no word for.


@intrinsic
def fma(context: Any, a: Any, b: Any, c: Any) -> Any:
    """Compute ``a * b + c`` with one rounding."""

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return a(a, a, a), generate


@intrinsic
def add_any_order(context: Any, a: Any, b: Any) -> Any:
    """Add a term to a sum whose terms may be added in any order."""

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args, flags=("reassoc",))

    return a(a, a), generate


def _extreme(name: str) -> Any:
    def typed(context: Any, a: Any, b: Any) -> Any:
        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = args[0].type
            suffix = "f64" if kind == ir.DoubleType() else "f32"
            function = insert_function(
                builder.module, ir.FunctionType(kind, [kind, kind]), f"llvm.{name}.{suffix}"
            )
            return builder.call(function, args)

        return a(a, a), generate

    typed.__name__ = name
    return intrinsic(typed)


maximum = _extreme("maximum")  # NaN where either operand is NaN, as in NumPy
minimum = _extreme("minimum")


def _bits(source: Any, target: Any) -> Any:
    def typed(context: Any, a: Any) -> Any:
        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], ctx.get_value_type(target))

        return target(source), generate

    typed.__name__ = f"{source}_bits"
    return intrinsic(typed)


_int_of = _bits(types.float64, types.int64)
_float_of = _bits(types.int64, types.float64)
_int_of32 = _bits(types.float32, types.int32)
_float_of32 = _bits(types.int32, types.float32)

# Conversion of floats: out of range gives what x86 gives, instead of an undefined value.


@scalar
def to_int64(x: Any) -> Any:
    """Convert a float, to the smallest integer where it does not fit."""
    return np.int64(x) if abs(x) < 9223372036854775808.0 else np.int64(-9223372036854775808)


@scalar
def to_int32(x: Any) -> Any:
    """Convert a float, to the smallest integer where it does not fit."""
    wide = np.float64(x)
    fits = (wide < 2147483648.0) & (wide > -2147483649.0)
    return np.int32(wide) if fits else np.int32(-2147483648)


@scalar
def to_uint64(x: Any) -> Any:
    """Convert a float, through int64 below 2**63."""
    wide = np.float64(x)
    high = wide >= 9223372036854775808.0
    low = to_int64(wide - 9223372036854775808.0 if high else wide)
    return np.uint64(low) ^ (np.uint64(9223372036854775808) if high else np.uint64(0))


# Integers.


@scalar
def int_floor_divide(a: Any, b: Any) -> Any:
    """Divide unsigned integers; 0 where the divisor is 0, as in NumPy."""
    zero = a - a
    return zero if b == 0 else a // b


@scalar
def int_remainder(a: Any, b: Any) -> Any:
    """Return the remainder of unsigned integers; 0 where the divisor is 0."""
    zero = a - a
    return zero if b == 0 else a % b


@scalar
def signed_floor_divide(a: Any, b: Any) -> Any:
    """Divide signed integers, rounding down; 0 where the divisor is 0."""
    # The smallest integer divided by -1 traps; it wraps around, as in NumPy.
    safe = b if (b != 0) & (b != -1) else a - a + 1
    quotient = a // safe
    return a - a if b == 0 else (-a if b == -1 else quotient)


@scalar
def signed_remainder(a: Any, b: Any) -> Any:
    """Return the remainder with the divisor's sign; 0 where the divisor is 0."""
    safe = b if (b != 0) & (b != -1) else a - a + 1
    return a % safe  # a % 1 is 0, which is also the result for 0 and -1


@scalar
def left_shift(a: Any, b: Any, bits: Any) -> Any:
    """Shift left; 0 where nothing is left."""
    return a << b if (b >= 0) & (b < bits) else a - a


@scalar
def right_shift(a: Any, b: Any, bits: Any) -> Any:
    """Shift right; only the sign where nothing else is left."""
    sign = -1 if a < 0 else 0
    return a >> b if (b >= 0) & (b < bits) else sign


@scalar
def unsigned_right_shift(a: Any, b: Any, bits: Any) -> Any:
    """Shift right; 0 where nothing is left."""
    return a >> b if b < bits else a - a


@scalar
def int_clip(x: Any, low: Any, high: Any) -> Any:
    """Limit an integer to an interval; the upper limit wins."""
    y = x if x > low else low
    return y if y < high else high


@scalar
def int_power(a: Any, b: Any, one: Any) -> Any:
    """Raise to a power that is not negative, by repeated squaring."""
    result = one
    left = np.uint64(b)  # the caller refuses negative exponents
    while left != 0:
        if left & np.uint64(1):
            result = result * a
        a = a * a
        left = left >> np.uint64(1)
    return result


# Division of floats, as in NumPy's npy_divmod.


@scalar
def floor_divide(a: Any, b: Any) -> Any:
    """Divide floats, rounding down."""
    rest = np.fmod(a, b)
    quotient = (a - rest) / b
    quotient = quotient - 1 if (rest != 0) & ((b < 0) != (rest < 0)) else quotient
    whole = np.floor(quotient)
    whole = whole + 1 if quotient - whole > 0.5 else whole
    whole = whole if quotient != 0 else math.copysign(0.0, a / b)
    return whole if b != 0 else a / b


@scalar
def remainder(a: Any, b: Any) -> Any:
    """Return the remainder with the divisor's sign."""
    rest = np.fmod(a, b)
    shifted = rest + b if (b < 0) != (rest < 0) else rest
    result = shifted if rest != 0 else math.copysign(0.0, b)
    return result if b != 0 else rest


# Signs, exponentials and logarithms.


@scalar
def sign(x: Any) -> Any:
    """Return -1, 0, 1 or NaN."""
    result = 1.0 if x > 0 else (-1.0 if x < 0 else 0.0)
    return math.nan if math.isnan(x) else result


_MAGIC = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer in the low bits
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
_SPLIT = 0x3FF0000000000000 - 0x3FE6A09E667F3BCD  # centres the mantissa on 1


@scalar
def _power_of_two(k: Any) -> Any:
    return _float_of((_int_of(k + _MAGIC) + np.int64(1023)) << np.int64(52))


@scalar
def _exp_tail(r: Any) -> Any:
    """Compute (exp(r) - 1 - r) / r**2 for |r| <= 0.3466."""
    r2 = r * r
    r4 = r2 * r2
    a = fma(1.6666666666666666e-01, r, 0.5)
    b = fma(8.333333333333333e-03, r, 4.1666666666666664e-02)
    c = fma(1.984126984126984e-04, r, 1.388888888888889e-03)
    d = fma(2.7557319223985893e-06, r, 2.48015873015873e-05)
    e = fma(2.505210838544172e-08, r, 2.755731922398589e-07)
    f = fma(1.6059043836821613e-10, r, 2.08767569878681e-09)
    ab = fma(b, r2, a)
    cd = fma(d, r2, c)
    ef = fma(f, r2, e)
    return fma(fma(ef, r4, cd), r4, ab)


@scalar
def _exp_reduce(x: Any) -> Any:
    k = fma(x, _LOG2_E, _MAGIC) - _MAGIC
    r = fma(k, -_LN2_LOW, fma(k, -_LN2_HIGH, x))
    k1 = k if k < 1000.0 else 1000.0
    k1 = k1 if k1 > -1000.0 else -1000.0
    return r, _power_of_two(k1), _power_of_two(k - k1)


@scalar
def exp(x: Any) -> Any:
    """Compute exp in float64."""
    x = x if not (x > 750.0) else 750.0
    x = x if not (x < -750.0) else -750.0
    r, s1, s2 = _exp_reduce(x)
    return ((fma(r * r, _exp_tail(r), r) + 1.0) * s1) * s2


@scalar
def expm1(x: Any) -> Any:
    """Compute exp(x) - 1 in float64."""
    y = x if not (x > 750.0) else 750.0
    y = y if not (y < -50.0) else -50.0
    r, s1, s2 = _exp_reduce(y)
    result = fma(fma(r * r, _exp_tail(r), r), s1, s1 - 1.0) * s2
    return x if x == 0.0 else result


@scalar
def _log_core(m: Any, k: Any, low: Any) -> Any:
    """Compute log(m * 2**k) + low for a mantissa near 1."""
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    t1 = fma(
        w, fma(w, 1.531383769920937332e-01, 2.222219843214978396e-01), 3.999999999940941908e-01
    )
    t2 = fma(
        w, fma(w, 1.479819860511658591e-01, 1.818357216161805012e-01), 2.857142874366239149e-01
    )
    tail = z * fma(w, t2, 6.666666666666735130e-01) + w * t1
    half = 0.5 * f * f
    rest = s * (half + tail) + fma(k, 1.90821492927058770002e-10, low)
    return k * 6.93147180369123816490e-01 - ((half - rest) - f)


@scalar
def _mantissa(x: Any) -> Any:
    """Split a positive normal number into a mantissa near 1 and an exponent."""
    bits = _int_of(x) + np.int64(_SPLIT)
    k = (bits >> np.int64(52)) - np.int64(1023)
    m = _float_of((bits & np.int64(0xFFFFFFFFFFFFF)) + np.int64(0x3FE6A09E667F3BCD))
    return m, _float_of(k + _int_of(_MAGIC)) - _MAGIC


@scalar
def log(x: Any) -> Any:
    """Compute the natural logarithm in float64."""
    tiny = x < 2.2250738585072014e-308
    m, k = _mantissa(x * 18014398509481984.0 if tiny else x)
    result = _log_core(m, k - 54.0 if tiny else k, 0.0)
    result = x if x == math.inf else result
    result = result if x > 0.0 else math.nan
    return -math.inf if x == 0.0 else result


@scalar
def log1p(x: Any) -> Any:
    """Compute log(1 + x) in float64."""
    u = 1.0 + x
    lost = (x - (u - 1.0)) if x < 1.0 else (1.0 - (u - x))
    m, k = _mantissa(u)
    result = _log_core(m, k, lost / u)
    result = x if x == math.inf else result
    result = result if x > -1.0 else math.nan
    result = -math.inf if x == -1.0 else result
    return x if abs(x) < 1e-16 else result


@scalar
def tanh(x: Any) -> Any:
    """Compute the hyperbolic tangent in float64."""
    a = abs(x)
    e = expm1(2.0 * (a if not (a > 22.0) else 22.0))
    return math.copysign(e / (e + 2.0), x)


@scalar
def sigmoid(x: Any) -> Any:
    """Compute 1 / (1 + exp(-x)) in float64."""
    e = exp(-abs(x))
    return x if math.isnan(x) else (e if x < 0.0 else 1.0) / (1.0 + e)


@scalar
def softplus(x: Any) -> Any:
    """Compute log(1 + exp(x)) in float64."""
    return (x if x > 0.0 else 0.0) + log1p(exp(-abs(x)))


@scalar
def logaddexp(x: Any, y: Any) -> Any:
    """Compute log(exp(x) + exp(y)) in float64."""
    d = x - y
    result = maximum(x, y) + log1p(exp(-abs(d)))
    return x + 0.6931471805599453 if x == y else result


@scalar
def log1mexp(x: Any) -> Any:
    """Compute log(1 - exp(x)) in float64."""
    return log(-expm1(x)) if x > -0.6931471805599453 else log1p(-exp(x))


@scalar
def gammaln(x: Any) -> Any:
    """Compute log(abs(gamma(x))) in float64."""
    return x if x == -math.inf else math.lgamma(x)


@scalar
def exp32(x: Any) -> Any:
    """Compute exp in float32."""
    f = np.float32
    x = x if not (x > f(105.0)) else f(105.0)
    x = x if not (x < f(-105.0)) else f(-105.0)
    magic = f(12582912.0)  # 1.5 * 2**23
    k = fma(x, f(1.442695041), magic) - magic
    r = fma(k, f(2.12194440e-4), fma(k, f(-0.693359375), x))
    q = fma(r, f(1.9875691500e-4), f(1.3981999507e-3))
    q = fma(r, q, f(8.3334519073e-3))
    q = fma(r, q, f(4.1665795894e-2))
    q = fma(r, q, f(1.6666665459e-1))
    q = fma(r, q, f(5.0000001201e-1))
    p = fma(r * r, q, r) + f(1.0)
    k1 = k if k < f(120.0) else f(120.0)
    k1 = k1 if k1 > f(-120.0) else f(-120.0)
    s1 = _float_of32((_int_of32(k1 + magic) + np.int32(127)) << np.int32(23))
    s2 = _float_of32((_int_of32(k - k1 + magic) + np.int32(127)) << np.int32(23))
    return (p * s1) * s2
