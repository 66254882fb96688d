"""Derive the polynomials of ``relgraph/backends/numba/elementary`` with Remez's algorithm.

Each is the polynomial of its degree whose largest weighted error is least.  The script rounds its
first coefficients to the format one by one, and fits the later ones again to compensate for the
rounding; the printed errors are those of the rounded polynomials.

    python benchmarks/minimax.py           # the errors, as powers of two
    python benchmarks/minimax.py --write   # and write coefficients.py

References
----------
E. Remez, "Sur le calcul effectif des polynômes d'approximation de Tchebichef", C. R. Acad. Sci.
Paris 199 (1934); J.-M. Muller, "Elementary Functions", 3rd ed., chapters 3 and 4; N. Brisebarre and
S. Chevillard, "Efficient polynomial L-infinity approximations", ARITH-18 (2007), on rounding.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf

FORMATS: dict[str, type[np.floating[Any]]] = {
    "float32": np.float32,
    "float64": np.float64,
    "mixed": np.float64,
}
TARGET = Path(__file__).parents[1] / "relgraph/backends/numba/elementary/coefficients.py"
Real = Any  # a number of mpmath
Function = Callable[[Real], Real]

mp.dps = 60


@dataclass(frozen=True)
class Fit:
    """A polynomial to derive.

    Parameters
    ----------
    name : str
        Its name in ``coefficients.py``.
    text : str
        What it approximates, and where.
    function : callable
        The function.
    weight : callable
        What its error counts at a point.
    low, high : mpf
        The interval.
    degrees : tuple of int
        Its degree in float32, in float64, and for a float32 computed in float64; a negative one is
        left out.
    """

    name: str
    text: str
    function: Function
    weight: Function
    low: Real
    high: Real
    degrees: tuple[int, int] | tuple[int, int, int]


def remez(function: Function, weight: Function, low: Real, high: Real, degree: int) -> list[Real]:
    """Return the coefficients, constant first, that make the largest weighted error least."""
    count = degree + 2
    middle, half = (low + high) / 2, (high - low) / 2
    # Neither has a point in the middle, where many of these functions are 0 / 0.
    nodes = [middle - half * mp.cos(mp.pi * i / (count - mpf("0.999"))) for i in range(count)]
    size = 12 * count + 1
    grid = [middle - half * mp.cos(mp.pi * i / size) for i in range(size + 1)]
    known = {x: (function(x), weight(x)) for x in grid}
    best: tuple[Real, list[Real]] = (mp.inf, [])
    for _ in range(30):
        rows = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for i, x in enumerate(nodes):
            for j in range(degree + 1):
                rows[i, j] = x**j
            rows[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = function(x)
        solution = mp.lu_solve(rows, right)
        coefficients = [solution[j] for j in range(degree + 1)]
        errors = [known[x][1] * (_value(coefficients, x) - known[x][0]) for x in grid]
        largest = max(map(abs, errors))
        if largest < best[0]:
            best = (largest, coefficients)
        nodes = _alternation(grid, errors, count)
        if len(nodes) < count or largest < abs(solution[degree + 1]) * mpf("1.005"):
            break
    return best[1]


def _value(coefficients: Sequence[Real], x: Real) -> Real:
    total = mpf(0)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def _alternation(grid: Sequence[Real], errors: Sequence[Real], count: int) -> list[Real]:
    """Return the points of the largest errors whose signs alternate."""
    runs: list[tuple[Real, Real]] = []
    for x, error in zip(grid, errors, strict=True):
        if runs and (runs[-1][1] > 0) == (error > 0):
            if abs(error) > abs(runs[-1][1]):
                runs[-1] = (x, error)
        else:
            runs.append((x, error))
    while len(runs) > count:
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    return [x for x, _ in runs]


def rounded(fit: Fit, degree: int, dtype: type[np.floating[Any]]) -> tuple[list[float], Real]:
    """Return the coefficients in a format, and the largest weighted error, in bits.

    How many coefficients it pays to fit again after those before them are rounded differs; the
    best of a few is taken.
    """
    reach = fit.high - fit.low
    points = [fit.low + reach * (i + mpf("0.41")) / 1500 for i in range(1500)]
    exact = [(x, fit.weight(x), fit.function(x)) for x in points]
    best: tuple[Real, list[float]] = (mp.inf, [])
    for refits in range(0, min(degree, 5), 2):
        found = _rounded(fit, degree, dtype, refits)
        error = max(abs(w * (_value(found, x) - y)) for x, w, y in exact)
        best = min(best, (error, found))
    return best[1], mp.log(best[0], 2)


def _rounded(fit: Fit, degree: int, dtype: type[np.floating[Any]], refits: int) -> list[float]:
    function, weight = fit.function, fit.weight
    rest = remez(function, weight, fit.low, fit.high, degree)
    found: list[float] = []
    for j in range(degree + 1):
        found.append(float(dtype(float(rest[0]))))
        last = mpf(found[-1])

        def reduced(x: Real, f: Function = function, c: Real = last) -> Real:
            return (f(x) - c) / x

        def weighted(x: Real, w: Function = weight) -> Real:
            return w(x) * abs(x)

        function, weight, rest = reduced, weighted, rest[1:]
        if j < refits:
            rest = remez(function, weight, fit.low, fit.high, degree - j - 1)
    return found


@dataclass(frozen=True)
class Constant:
    """A constant to split into numbers of a format.

    Parameters
    ----------
    name : str
        Its name in ``coefficients.py``.
    value : mpf
        Its value.
    bits : mapping of str to tuple of int
        For each format the significant bits of the parts; the sum of them all is nearest.
    """

    name: str
    value: Real
    bits: dict[str, tuple[int, ...]]

    def parts(self, name: str) -> list[float]:
        """Return the parts, largest first."""
        rest, found = self.value, []
        for bits in self.bits[name]:
            scale = mpf(2) ** (bits - 1 - mp.floor(mp.log(abs(rest), 2)))
            found.append(float(mp.nint(rest * scale) / scale))
            rest -= mpf(found[-1])
        return found


def constants() -> list[Constant]:
    """Return the constants, in the order of ``coefficients.py``."""

    def full(count: int) -> dict[str, tuple[int, ...]]:
        return {"float32": (24,) * count, "float64": (53,) * count}

    # Products of these with exponents are exact.
    short = {"float32": (16, 24), "float64": (42, 53)}
    return [
        Constant("LN2", mp.log(2), full(2)),
        Constant("LN2_SHORT", mp.log(2), short),
        Constant("LOG10_2_SHORT", mp.log10(2), short),
        Constant("LOG2_E", 1 / mp.log(2), full(2)),
        Constant("LOG10_E", 1 / mp.log(10), full(2)),
        Constant("PI", +mp.pi, full(3)),
        Constant("HALF_PI", mp.pi / 2, full(3)),
        # Small multiples of its first part are exact.
        Constant("QUARTER_PI_SHORT", mp.pi / 4, {"float32": (22, 24), "float64": (51, 53)}),
    ]


def _atanh_tail(z: Real) -> Real:
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) / s - 2) / z


def _atanh_tail_5(z: Real) -> Real:
    return (_atanh_tail(z) - mpf(2) / 3) / z


def _scaled_erfcx(t: Real) -> Real:
    a = 1 / t - mpf("2.5")
    return mp.erfc(a) * mp.exp(a * a) / t


def _odd(name: str, function: str, high: str, degrees: tuple[int, int]) -> Fit:
    """Return the fit of an odd function that is near x, up to a number."""
    f = getattr(mp, function)
    return Fit(
        name,
        f"({function}(x) / x - 1) / x**2 of x**2, for abs(x) <= {high}",
        lambda z: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / f(mp.sqrt(z)),
        mpf("1e-9"),
        mpf(high) ** 2 * mpf("1.0001"),
        degrees,
    )


def fits() -> list[Fit]:
    """Return the polynomials, in the order of ``coefficients.py``."""
    ln2, pi = mp.log(2), mp.pi
    narrow = (3 - 2 * mp.sqrt(2)) ** 2
    return [
        Fit(
            "EXP_TAIL",
            "(exp(r) - 1 - r) / r**2 for abs(r) <= log(2) / 2",
            lambda r: (mp.expm1(r) - r) / r**2,
            abs,
            -ln2 / 2 * mpf("1.0001"),
            ln2 / 2 * mpf("1.0001"),
            (4, 10, 5),
        ),
        Fit(
            "EXP2",
            "(2**r - 1) / r for abs(r) <= 1/2",
            lambda r: mp.expm1(r * ln2) / r,
            abs,
            mpf(-1) / 2,
            mpf(1) / 2,
            (5, 10),
        ),
        Fit(
            "LOG_TAIL",
            "(log((1 + s) / (1 - s)) / s - 2) / s**2 of s**2, for abs(s) <= 3 - 2 sqrt(2)",
            _atanh_tail,
            lambda z: z / 2,
            mpf("1e-9"),
            narrow * mpf("1.0001"),
            (2, 6, 3),
        ),
        Fit(
            "LOG_TAIL_WIDE",
            "(log((1 + s) / (1 - s)) / s - 2) / s**2 of s**2, for abs(s) <= 1/3",
            _atanh_tail,
            lambda z: z / 2,
            mpf("1e-9"),
            mpf(1) / 9,
            (3, 9),
        ),
        Fit(
            "LOG_TAIL_5",
            "(log((1 + s) / (1 - s)) / s - 2 - 2/3 s**2) / s**4 of s**2, s as in LOG_TAIL",
            _atanh_tail_5,
            lambda z: z * z / 2,
            mpf("1e-9"),
            narrow * mpf("1.0001"),
            (-1, 6),
        ),
        Fit(
            "TANH",
            "(tanh(x) / x - 1) / x**2 of x**2, for abs(x) <= 0.55",
            lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
            lambda z: z * mp.sqrt(z) / mp.tanh(mp.sqrt(z)),
            mpf("1e-9"),
            mpf("0.3025"),
            (4, 9),
        ),
        Fit(
            "ERF",
            "erf(x) / x - 1 of x**2, for abs(x) <= 1",
            lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
            lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
            mpf("1e-9"),
            mpf(1),
            (6, 11),
        ),
        *(
            Fit(
                "LOG_ERFC",
                "-log(erfc(1 + t)) for t >= 0, up to where erf is 1",
                lambda t: -mp.log(mp.erfc(1 + t)),
                lambda t: mp.erfc(1 + t) / mp.erf(1 + t),
                mpf("1e-9"),
                mpf(high),
                degrees,
            )
            for high, degrees in (("3", (7, -1)), ("5", (-1, 18)))
        ),
        *(
            Fit(
                "ERFC",
                "exp(a**2) erfc(a) / t of t - c for t = 1 / (a + 2.5); c is 119/1024 and 86/1024 "
                "in float64",
                lambda u, c=c: _scaled_erfcx(u + c),
                lambda u, c=c: 1 / _scaled_erfcx(u + c),
                1 / (mpf(high) + mpf("2.5")) - c,
                mpf("0.4") - c,
                degrees,
            )
            # Where the value and its slope are nearly in the format, and no terms cancel.
            for c, high, degrees in (
                (mpf(119) / 1024, "10.3", (9, -1)),
                (mpf(86) / 1024, "27.5", (-1, 24)),
            )
        ),
        *(
            Fit(
                name,
                f"(sin(r) / r - 1) / r**2 of r**2, for abs(r) <= pi / {part}",
                lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
                lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
                mpf("1e-9"),
                (pi / part * mpf("1.001")) ** 2,
                degrees,
            )
            for name, part, degrees in (("SIN", 2, (4, 8)), ("SIN_QUARTER", 4, (2, 6)))
        ),
        Fit(
            "COS_QUARTER",
            "(cos(r) - 1 + r**2 / 2) / r**4 of r**2, for abs(r) <= pi / 4",
            lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
            lambda z: z * z / mp.cos(mp.sqrt(z)),
            mpf("1e-9"),
            (pi / 4 * mpf("1.001")) ** 2,
            (2, 5),
        ),
        Fit(
            "CUBE_ROOT",
            "r**(-1/3) for 0.84 <= r <= 1.17",
            lambda r: r ** (mpf(-1) / 3),
            lambda r: r ** (mpf(1) / 3),
            mpf("0.84"),
            mpf("1.17"),
            (2, 4),
        ),
        *(
            _odd(name, function, high, degrees)
            for name, function, high, degrees in (
                ("ASIN", "asin", "0.5", (5, 12)),
                ("ATAN", "atan", "0.5", (5, 11)),
                ("ASINH", "asinh", "0.5", (4, 11)),
                ("SINH", "sinh", "1", (3, 7)),
            )
        ),
    ]


def text(rows: Sequence[tuple[Fit, dict[str, tuple[list[float], Real]]]]) -> str:
    """Return the source of ``coefficients.py``."""
    lines = [
        '"""Polynomials of least largest error; ``benchmarks/minimax.py`` derives and writes them.',
        "",
        'For each format the coefficients, constant first; the format "mixed" is float64, as exact',
        "as float32 needs.  Before them constants, as sums of numbers of a format.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "Numbers = dict[str, tuple[float, ...]]",
        "",
    ]
    for constant in constants():
        lines.append(f"{constant.name}: Numbers = {{")
        for name in constant.bits:
            lines.append(f'    "{name}": ({", ".join(map(repr, constant.parts(name)))}),')
        lines.append("}")
    for fit, found in rows:
        lines += ["", f"# {fit.text}"]
        for name, (_, bits) in found.items():
            lines.append(f"# {name}: weighted error 2**{float(bits):.1f}")
        lines.append(f"{fit.name}: Numbers = {{")
        for name, (coefficients, _) in found.items():
            lines.append(f'    "{name}": (')
            lines += [f"        {c!r}," for c in coefficients]
            lines.append("    ),")
        lines.append("}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Derive all polynomials, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="derive these only")
    parser.add_argument("--write", action="store_true", help="write coefficients.py")
    options = parser.parse_args()
    rows: dict[str, tuple[Fit, dict[str, tuple[list[float], Real]]]] = {}
    for fit in fits():
        if options.names and fit.name not in options.names:
            continue
        found = rows.setdefault(fit.name, (fit, {}))[1]
        for (name, dtype), degree in zip(FORMATS.items(), fit.degrees, strict=False):
            if degree >= 0:
                found[name] = rounded(fit, degree, dtype)
                print(f"{fit.name:14} {name} degree {degree:2}: 2**{float(found[name][1]):.2f}")
                sys.stdout.flush()
    if options.write:
        TARGET.write_text(text(list(rows.values())), encoding="utf-8")


if __name__ == "__main__":
    main()
