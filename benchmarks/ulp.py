"""Measure the errors of the elementary functions that kernels call.

    python benchmarks/ulp.py                      # every 997th float32
    python benchmarks/ulp.py --stride 1 exp log   # all float32 numbers, of two functions
    python benchmarks/ulp.py --float64 10000000   # random float64 numbers
    python benchmarks/ulp.py --mpmath 2000        # fewer, by mpmath, and the reference itself

float32 is compared with float64 of NumPy and SciPy; float64 with the 80-bit format of x86, whose
own error ``--mpmath`` shows.  An error is a multiple of the distance between neighbouring numbers
at the exact result.  Numbers are drawn with every exponent, and as many between -8 and 8.

References
----------
M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 7.1.6 and 7.1.14: the error
function in the 80-bit format.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
from scipy import special

import relgraph as rg
from relgraph.backends.numba.elementary.table import TABLE
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.ops.elementwise import ROWS, Elementwise

Array = Any
BLOCK = 1 << 18
WIDE = np.longdouble
BITS: dict[Any, Any] = {np.float32: np.uint32, np.float64: np.uint64}


def compiled(name: str, dtype: str) -> Callable[..., Array]:
    """Return the kernel of an op: operands in, the result out."""
    xs = [make_input(f"x{i}", TensorType(dtype, ("n",))) for i in range(TABLE[name].arity)]
    return rg.function(xs, Elementwise(name)(*xs), mode=None)  # type: ignore[no-any-return]


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _logaddexp(x: Array, y: Array) -> Array:
    gap = np.where(x == y, 0, np.abs(x - y))
    return np.where(x > y, x, y) + np.log1p(np.exp(-gap))


def _log1mexp(x: Array) -> Array:
    return np.where(x > -np.log(x.dtype.type(2)), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _erf(x: Array) -> Array:
    if x.dtype != WIDE:
        return special.erf(x)
    a = np.abs(x)
    found = np.where(np.isnan(x), x, WIDE(1))
    found[a < 1] = _series(a[a < 1])
    tail = (a >= 1) & (a < 8)
    found[tail] = 1 - _tail(a[tail])
    return np.copysign(found, x)


def _erfc(x: Array) -> Array:
    if x.dtype != WIDE:
        return special.erfc(x)
    a = np.abs(x)
    found = np.where(np.isnan(x), x, WIDE(0))
    found[a < 1] = _series(a[a < 1])
    found[a < 1] = 1 - np.copysign(found, x)[a < 1]
    tail = (a >= 1) & (a < 110)
    found[tail] = _tail(a[tail])
    return np.where(x <= -1, 2 - found, found)


def _series(a: Array) -> Array:
    total = term = np.ones_like(a)
    for n in range(1, 40):
        term = term * (2 * a * a) / (2 * n + 1)
        total = total + term
    return 2 * a / np.sqrt(WIDE(PI)) * np.exp(-a * a) * total


def _tail(a: Array) -> Array:
    fraction = np.zeros_like(a)
    for low, high in pairwise((1, 1.5, 2, 3, 4, 6, 8, 12, np.inf)):
        here = (a >= low) & (a < high)
        part, x = fraction[here], a[here]
        for n in range(int(400 / low**2) + 8, 0, -1):  # it converges like exp(-sqrt(8 n) x)
            part = (WIDE(n) / 2) / (x + part)
        fraction[here] = part
    high = a.astype(np.float32).astype(WIDE)  # its square is exact
    square = np.exp(-high * high) * np.exp(-(a - high) * (a + high))
    return square / (np.sqrt(WIDE(PI)) * (a + fraction))


PI = WIDE("3.14159265358979323846264338327950288")
REFERENCES: dict[str, Callable[..., Array]] = {
    "softplus": _softplus,
    "logaddexp": _logaddexp,
    "log1mexp": _log1mexp,
    "sigmoid": _sigmoid,
    "erf": _erf,
    "erfc": _erfc,
}
# Formulas that lose no digits in 200 bits.
EXACT: dict[str, Callable[..., Any]] = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "log1p": lambda x: mpmath.log(1 + x) if abs(x) > 1e-5 else mpmath.log1p(x),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(-abs(x))) + max(x, 0),
    "logaddexp": lambda x, y: mpmath.log1p(mpmath.exp(-abs(x - y))) + max(x, y),
    "log1mexp": lambda x: mpmath.log(-mpmath.expm1(x)) if x > -1 else mpmath.log1p(-mpmath.exp(x)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arctan2": mpmath.atan2,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
}


def reference(name: str, args: list[Array]) -> Array:
    """Compute a function by NumPy or SciPy, in the format of the operands."""
    function = REFERENCES.get(name) or getattr(np, name, None)
    if function is None:
        raise KeyError(f"add a function for long double to REFERENCES in benchmarks/ulp.py: {name}")
    with np.errstate(all="ignore"):
        return function(*args)


def exact(name: str, args: list[float]) -> Any:
    """Compute a function with mpmath in 200 bits, or in 2,000 by the meaning of its row."""
    function = EXACT.get(name) or getattr(mpmath, name, None)
    with mpmath.workprec(200 if function else 2000):
        function = function or partial(ROWS[name].meaning, mpmath)
        return function(*map(mpmath.mpf, args))


def spacing(value: Array, dtype: Any) -> Array:
    """Return the distance between neighbouring numbers of a format at a value."""
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        inside = np.clip(np.abs(value), info.smallest_subnormal, info.max).astype(dtype)
    return np.spacing(np.where(inside == info.max, np.nextafter(info.max, dtype(0)), inside))


def errors(name: str, result: Array, expected: Array, args: list[Array]) -> Array:
    """Return errors in units in the last place; infinity where only one is NaN or infinite."""
    dtype = result.dtype.type
    with np.errstate(all="ignore"):
        narrow = expected.astype(dtype)
        scale = np.abs(expected)
        for x in args if name == "logaddexp" else ():
            scale = np.maximum(scale, np.abs(x))
        found = np.abs(result.astype(expected.dtype) - expected) / spacing(scale, dtype)
        alike = (result == narrow) | (np.isnan(result) & np.isnan(narrow))
        found = np.where(alike & ~np.isfinite(narrow), 0, found)
        found = np.where(np.isnan(found), np.inf, found)
        wrong_zero = (result == 0) & (narrow == 0) & (np.signbit(result) != np.signbit(narrow))
    return np.where(wrong_zero & (expected == 0), np.inf, found)


def every_float32(stride: int, first: int = 0) -> Iterator[Array]:
    """Yield float32 numbers in blocks, in the order of their bits."""
    for start in range(first, 1 << 32, BLOCK * stride):
        count = min(BLOCK, -(-((1 << 32) - start) // stride))
        bits = np.arange(count, dtype=np.uint64) * np.uint64(stride) + np.uint64(start)
        yield bits.astype(np.uint32).view(np.float32)


def random_numbers(dtype: Any, count: int, seed: Any) -> Array:
    """Return numbers: a third of all exponents, a third in the range of exp, a third near 1."""
    rng = np.random.default_rng(seed)
    kind = BITS[dtype]
    bits = rng.integers(0, np.iinfo(kind).max, count, dtype=kind, endpoint=True)
    near = rng.uniform(-8, 8, count).astype(dtype)
    wide = rng.uniform(-750, 750, count).astype(dtype)
    choice = rng.integers(0, 3, count)
    return np.where(choice == 0, bits.view(dtype), np.where(choice == 1, near, wide))


UNIT = ("arcsin", "arccos", "arctanh")  # defined between -1 and 1


def random_operands(name: str, dtype: Any, count: int, seed: int) -> list[Array]:
    """Return random operands of a function."""
    args = [random_numbers(dtype, count, (seed, k)) for k in range(TABLE[name].arity)]
    if name in UNIT:
        args = [np.where(np.abs(x) < 8, x / 8, x) for x in args]
    if name == "power":  # keep the result in range, mostly
        with np.errstate(all="ignore"):
            limit = 1.1 * np.log(np.finfo(dtype).max) / np.abs(np.log(np.abs(args[0])))
            scaled = (args[1] % 2 - 1) * limit.astype(dtype)
        args[1] = np.where(np.arange(count) % 3 == 0, args[1], scaled)
    return args


def operands(name: str, options: argparse.Namespace) -> Iterator[list[Array]]:
    """Yield the operands to test a function on, in blocks."""
    dtype = np.float64 if options.float64 else np.float32
    if TABLE[name].arity == 1 and not options.float64:
        for block in every_float32(options.stride, options.first):
            yield [block]
        return
    count = options.float64 or (1 << 32) // options.stride
    for seed, start in enumerate(range(0, count, BLOCK)):
        yield random_operands(name, dtype, min(BLOCK, count - start), seed)


def judged(name: str, run: Callable[..., Array], args: list[Array]) -> tuple[float, list[Array]]:
    """Return the largest error over some operands, and where it is: the operands and the result.

    float32 is judged by float64, float64 by the 80-bit format.  A result that is the nearest number
    is off by half a unit at most, and reported as that.
    """
    dtype = args[0].dtype.type
    result = run(*args)
    with np.errstate(all="ignore"):  # signalling NaN
        wide = [x.astype(np.float64 if dtype == np.float32 else WIDE) for x in args]
        expected = reference(name, wide)
        rounded = expected.astype(dtype)
    off = np.flatnonzero(result.view(BITS[dtype]) != rounded.view(BITS[dtype]))
    if not off.size:
        return 0.5, []
    found = errors(name, result[off], expected[off], [x[off] for x in wide])
    i = int(np.argmax(found))
    if found[i] <= 0.5:
        return 0.5, []
    return float(found[i]), [x[off[i]] for x in (*args, result)]


def judged_exactly(
    name: str, run: Callable[..., Array], args: list[Array]
) -> tuple[int, float, list[float], float]:
    """Judge float64 results by mpmath, where they are finite and above 1e-300.

    Returns
    -------
    tuple of int, float, list and float
        How many were judged, the largest error and where it is, and that of the 80-bit reference.
    """
    result = run(*args)
    wide = reference(name, [x.astype(WIDE) for x in args])
    with np.errstate(all="ignore"):
        narrow = wide.astype(np.float64)
    keep = np.isfinite(result) & (np.abs(result) > 1e-300) & np.isfinite(narrow)
    worst, at, worst_reference = 0.0, [], 0.0
    for i in np.flatnonzero(keep):
        own = [float(x[i]) for x in args]
        value = exact(name, own)
        size = max(abs(float(x)) for x in ((*own, value) if name == "logaddexp" else (value,)))
        unit = float(np.spacing(size))
        error = abs(float(value - mpmath.mpf(float(result[i])))) / unit
        if error > worst:
            worst, at = error, [*own, float(result[i])]
        high = float(narrow[i])
        low = float(wide[i] - WIDE(high))
        difference = value - mpmath.mpf(high) - mpmath.mpf(low)
        worst_reference = max(worst_reference, abs(float(difference)) / unit)
    return int(keep.sum()), worst, at, worst_reference


def measure(name: str, options: argparse.Namespace) -> str:
    """Return a line on one function."""
    run = compiled(name, "float64" if options.float64 else "float32")
    start, count, worst, at = time.perf_counter(), 0, 0.5, ""
    for args in operands(name, options):
        count += args[0].size
        error, where = judged(name, run, args)
        if error > worst:
            worst, at = error, " at " + ", ".join(map(repr, where))
    bound = TABLE[name].float64 if options.float64 else TABLE[name].float32
    mark = "" if worst <= bound else "  ABOVE THE BOUND"
    seconds = time.perf_counter() - start
    return f"{name:10} {count:11} values, {worst:6.3f} of {bound} ULP{at} ({seconds:.0f} s){mark}"


def measure_exactly(name: str, options: argparse.Namespace) -> str:
    """Return a line on one function, and on the reference, judged by mpmath."""
    run = compiled(name, "float64")
    options.float64 = options.mpmath
    found = [judged_exactly(name, run, args) for args in operands(name, options)]
    ours, reference_ = (max(x[k] for x in found) for k in (1, 3))
    return f"{name:10} ours {ours:.3f} ULP, the 80-bit reference {reference_:.4f}"


def main() -> None:
    """Print a line on each function."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions; all of them if none is named")
    parser.add_argument("--stride", type=int, default=997, help="test every n-th float32")
    parser.add_argument("--first", type=int, default=0, help="the bits of the first float32")
    parser.add_argument("--float64", type=int, default=0, help="test as many float64 numbers")
    parser.add_argument("--mpmath", type=int, default=0, help="test as many float64 by mpmath")
    options = parser.parse_args()
    for name in options.names or TABLE:
        print((measure_exactly if options.mpmath else measure)(name, options))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
