"""Scalar functions that kernels call, as text for both the device and the simulator.

They treat zeros of either sign, infinities and NaN as NumPy does.  A function whose name ends in
``f`` computes in float32.  The functions that they call are in the primitive table,
:mod:`.primitives`.
"""

from __future__ import annotations

# A template for each float dtype: {s} is the suffix of the functions, {F} the dtype.
FLOATS = """
def maximum{s}(a, b):
    return a if (a > b) | (a != a) else b

def minimum{s}(a, b):
    return a if (a < b) | (a != a) else b

def sign{s}(x):
    return {F}(1 if x > 0 else (-1 if x < 0 else 0)) if x == x else x

def sigmoid{s}(x):
    e = exp{s}(-fabs{s}(x))
    return x if x != x else ({F}(1) if x >= 0 else e) / add{s}({F}(1), e)

def softplus{s}(x):
    return add{s}(x if x > 0 else {F}(0), log1p{s}(exp{s}(-fabs{s}(x)))) if x == x else x

def logaddexp{s}(x, y):
    d = fabs{s}(add{s}(x, -y))
    high = maximum{s}(x, y)
    return add{s}(x, {F}(0.6931471805599453)) if x == y else add{s}(high, log1p{s}(exp{s}(-d)))

def log1mexp{s}(x):
    near = log{s}(-expm1{s}(x))
    return near if x > {F}(-0.6931471805599453) else log1p{s}(-exp{s}(x))

def gammaln{s}(x):
    return x if x == {F}(-math.inf) else lgamma{s}(x)

def floor_divide{s}(a, b):
    rest = fmod{s}(a, b)
    quotient = add{s}(a, -rest) / b
    quotient = add{s}(quotient, {F}(-1)) if (rest != 0) & ((b < 0) != (rest < 0)) else quotient
    whole = floor{s}(quotient)
    whole = add{s}(whole, {F}(1)) if add{s}(quotient, -whole) > {F}(0.5) else whole
    whole = whole if quotient != 0 else copysign{s}({F}(0), a / b)
    return whole if b != 0 else a / b

def remainder{s}(a, b):
    rest = fmod{s}(a, b)
    shifted = add{s}(rest, b) if (b < 0) != (rest < 0) else rest
    result = shifted if rest != 0 else copysign{s}({F}(0), b)
    return result if b != 0 else rest

def to_int64{s}(x):
    fits = fabs{s}(x) < {F}(9223372036854775808.0)
    return int64(x if fits else {F}(0)) if fits else int64(-9223372036854775808)

def to_int32{s}(x):
    wide = float64(x)
    fits = (wide < 2147483648.0) & (wide > -2147483649.0)
    return int32(wide if fits else 0.0) if fits else int32(-2147483648)

def to_uint64{s}(x):
    wide = float64(x)
    high = wide >= 9223372036854775808.0
    low = to_int64(wide - 9223372036854775808.0 if high else wide)
    return uint64(low) ^ (uint64(9223372036854775808) if high else uint64(0))
"""

INTEGERS = """
def int_floor_divide(a, b):
    safe = b if b != 0 else b ^ ~b  # not "+ 1", which makes a float of a uint64
    return a - a if b == 0 else a // safe

def int_remainder(a, b):
    safe = b if b != 0 else b ^ ~b
    return a - a if b == 0 else a % safe

def signed_floor_divide(a, b):
    safe = b if (b != 0) & (b != -1) else a - a + 1
    quotient = a // safe
    return a - a if b == 0 else (-a if b == -1 else quotient)

def signed_remainder(a, b):
    safe = b if (b != 0) & (b != -1) else a - a + 1
    return a % safe

def left_shift(a, b, bits):
    inside = (b >= 0) & (b < bits)
    return a << (b if inside else b - b) if inside else a - a

def right_shift(a, b, bits):
    inside = (b >= 0) & (b < bits)
    sign = a - a - 1 if a < 0 else a - a
    return a >> (b if inside else b - b) if inside else sign

def unsigned_right_shift(a, b, bits):
    inside = b < bits
    return a >> (b if inside else b - b) if inside else a - a

def int_clip(x, low, high):
    y = x if x > low else low
    return y if y < high else high

def int_power(a, b, one):
    result = one
    left = uint64(b)
    while left != 0:
        if left & uint64(1):
            result = result * a
        a = a * a
        left = left >> uint64(1)
    return result
"""


def text() -> str:
    """Return the functions of all dtypes as the text of one module."""
    doubles = FLOATS.format(s="", F="float64")
    singles = FLOATS.format(s="f", F="float32")
    return INTEGERS + doubles + singles
