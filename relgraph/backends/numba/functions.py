"""Scalar functions that kernels call; numba compiles them to bitcode.

They match NumPy for signed zeros, infinities and NaN, and avoid branches where that lets LLVM
vectorise the loop.  Exponentials, logarithms and similar functions are in
:mod:`relgraph.backends.numba.elementary`, because numba would call the C library for each element.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, njit
from numba.core import cgutils

intrinsic: Any = extending.intrinsic
insert_function: Any = cgutils.get_or_insert_function
scalar = njit(inline="never", forceinline=True, fastmath=False, error_model="numpy")


# Instructions that Python has no operator for.


def _extreme(name: str) -> Any:
    def typed(context: Any, a: Any, b: Any) -> Any:
        def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = args[0].type
            suffix = "f64" if kind == ir.DoubleType() else "f32"
            function = insert_function(
                builder.module, ir.FunctionType(kind, [kind, kind]), f"llvm.{name}.{suffix}"
            )
            return builder.call(function, args, fastmath=("nsz",))

        return a(a, a), generate

    typed.__name__ = name
    return intrinsic(typed)


# NaN if either operand is NaN, as in NumPy; like NumPy they may return either of two zeros.
maximum = _extreme("maximum")
minimum = _extreme("minimum")


# Conversions of floats.  A value out of range gives the result of x86; in LLVM it is undefined.


@scalar
def to_int64(x: Any) -> Any:
    """Convert a float; a value out of range gives the smallest integer."""
    return np.int64(x) if abs(x) < 9223372036854775808.0 else np.int64(-9223372036854775808)


@scalar
def to_int32(x: Any) -> Any:
    """Convert a float; a value out of range gives the smallest integer."""
    wide = np.float64(x)
    fits = (wide < 2147483648.0) & (wide > -2147483649.0)
    return np.int32(wide) if fits else np.int32(-2147483648)


@scalar
def to_uint64(x: Any) -> Any:
    """Convert a float, through int64 for values below 2**63."""
    wide = np.float64(x)
    high = wide >= 9223372036854775808.0
    low = to_int64(wide - 9223372036854775808.0 if high else wide)
    return np.uint64(low) ^ (np.uint64(9223372036854775808) if high else np.uint64(0))


# Integers.


@scalar
def int_floor_divide(a: Any, b: Any) -> Any:
    """Divide unsigned integers; division by zero gives 0, as in NumPy."""
    zero = a - a
    return zero if b == 0 else a // b


@scalar
def int_remainder(a: Any, b: Any) -> Any:
    """Return the remainder of unsigned integers; division by zero gives 0."""
    zero = a - a
    return zero if b == 0 else a % b


@scalar
def signed_floor_divide(a: Any, b: Any) -> Any:
    """Divide signed integers, rounding down; division by zero gives 0."""
    # Dividing the smallest integer by -1 would trap; NumPy wraps around.
    safe = b if (b != 0) & (b != -1) else a - a + 1
    quotient = a // safe
    return a - a if b == 0 else (-a if b == -1 else quotient)


@scalar
def signed_remainder(a: Any, b: Any) -> Any:
    """Return the remainder with the sign of the divisor; division by zero gives 0."""
    safe = b if (b != 0) & (b != -1) else a - a + 1
    return a % safe  # a % 1 is 0, which is also the result for 0 and -1


@scalar
def left_shift(a: Any, b: Any, bits: Any) -> Any:
    """Shift left; a shift by ``bits`` or more gives 0."""
    return a << b if (b >= 0) & (b < bits) else a - a


@scalar
def right_shift(a: Any, b: Any, bits: Any) -> Any:
    """Shift right with sign; a shift by ``bits`` or more leaves only the sign."""
    sign = -1 if a < 0 else 0
    return a >> b if (b >= 0) & (b < bits) else sign


@scalar
def unsigned_right_shift(a: Any, b: Any, bits: Any) -> Any:
    """Shift right; a shift by ``bits`` or more gives 0."""
    return a >> b if b < bits else a - a


@scalar
def int_clip(x: Any, low: Any, high: Any) -> Any:
    """Clip an integer to an interval; if the limits cross, the upper one wins."""
    y = x if x > low else low
    return y if y < high else high


@scalar
def int_power(a: Any, b: Any, one: Any) -> Any:
    """Raise to a nonnegative power by repeated squaring."""
    result = one
    left = np.uint64(b)  # the caller rejects negative exponents
    while left != 0:
        if left & np.uint64(1):
            result = result * a
        a = a * a
        left = left >> np.uint64(1)
    return result


# Signs and functions of the C library.


@scalar
def sign(x: Any) -> Any:
    """Return -1, 0, 1 or NaN."""
    result = 1.0 if x > 0 else (-1.0 if x < 0 else 0.0)
    return math.nan if math.isnan(x) else result


@scalar
def gammaln(x: Any) -> Any:
    """Compute log(abs(gamma(x))) in float64."""
    return x if x == -math.inf else math.lgamma(x)


@scalar
def digamma(x: Any) -> Any:
    """Compute the derivative of log(gamma(x)) in float64.

    The recurrence leads to arguments from 10, where the asymptotic series (DLMF 5.11.2) holds to
    the last digit, and the reflection (DLMF 5.5.4) from negative arguments to positive ones.
    """
    result = 0.0
    if x <= 0:
        if x == np.floor(x):  # a pole, at 0 of both signs
            return math.copysign(math.inf, -x) if x == 0 else math.nan
        part = x - np.floor(x + 0.5)  # exact
        result = -math.pi / math.tan(math.pi * part)
        x = 1 - x
    while x < 10:
        result -= 1 / x
        x += 1
    if x == math.inf:
        return x
    y = 1 / (x * x)
    series = 691 / 32760 - y / 12
    series = 1 / 240 - y * (1 / 132 - y * series)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * series)))
    return result + math.log(x) - 0.5 / x - series
