"""Whether a result is NumPy's, up to what rounding explains.

Equal bits need no explanation.  Where bits differ, NumPy runs the program again, with each rounding
changed at random, and a difference within a few times the widest change is rounding's.  An integer
or a bool that such a change alters is near a tie, and so is a float behind one; ties are counted.

How a step rounds is one letter:

====== ============================ ============================ =================================
letter as the graph is written      after rewriting              calls
====== ============================ ============================ =================================
E      exact                        exact                        shapes, indices, comparisons
Z      zeros have either sign       zeros have either sign       maximum, sort
A      exact: NumPy's own bits      one rounding, where inexact  sums, products, square roots
D      exact: NumPy's own bits      one rounding                 quotients
R      exact: NumPy's own bits      operands, unless small       cumulative sums
F      one function                 operands and one function    exp, power
S      operands, unless small       operands, unless small       sums, products of matrices
L      operands and result          operands and result          variances, linear algebra
U      as L, of 1 at least          as L, of 1 at least          logarithms of sums
====== ============================ ============================ =================================

After rewriting, zeros of computed values have either sign, a value that overflows or underflows in
its dtype may be what a wider dtype gives, and a regrouped product may overflow: docs/rewriting.md
says so.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from tests.random_programs.program import NUMPY, Program, Step, evaluate, widened

ULPS = 4  # docs/accuracy.md: the largest error of an elementwise function, by SciPy's and NumPy's
SCIPY_ERFC = 500  # the same page: SciPy's own error grows so far
RUNS = 6
MORE_RUNS = 60
FACTOR = 4.0  # how much wider errors may be than those of random runs


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings, as of overflow."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Reference:
    """NumPy's values of a program, and by how much rounding may change them.

    Parameters
    ----------
    program : Program
        What runs.
    inputs : mapping
        Arrays and numbers by name.
    rewritten : bool
        Whether results to judge come from a rewritten graph.
    """

    def __init__(self, program: Program, inputs: Mapping[str, Any], rewritten: bool) -> None:
        self.program, self.inputs, self.rewritten = program, inputs, rewritten
        with quiet():
            self.values = program.values(inputs, NUMPY)
        self.value = np.asarray(self.values[program.result])
        self._perturbed: list[Any] = []

    def verdict(self, result: Any) -> tuple[str, str]:
        """Return an outcome, and what is wrong where it is "wrong".

        Parameters
        ----------
        result : array
            What relgraph computed.

        Returns
        -------
        str
            equal, rounded, tie, range, beyond, overflow or wrong.
        str
            For "wrong", the difference.
        """
        expected, result = self.value, np.asarray(result)
        if (result.dtype, result.shape) != (expected.dtype, expected.shape):
            return "wrong", f"{result.dtype}{result.shape}, not {expected.dtype}{expected.shape}"
        different = ~_same(result, expected, signs=not self.rewritten)
        if not different.any():
            return "equal", ""
        for runs in (RUNS, MORE_RUNS):
            outcome, left = self._explained(result, different, runs)
            if not left.any():
                return outcome, ""
        if self.rewritten and (outcome := self._by_range(result, left)):
            return outcome, ""
        where = tuple(int(i) for i in np.argwhere(left)[0])
        number, wanted = result[where], expected[where]
        bound = self._width(RUNS)[0][where]
        return "wrong", f"{number!r}, not {wanted!r}, at {where}; rounding explains {bound:.3g}"

    def _explained(self, result: Any, different: Any, runs: int) -> tuple[str, Any]:
        width, tie, varied = self._width(runs)
        if result.dtype.kind != "f":
            return "tie", different & ~tie
        with quiet():
            distance = np.abs(result.astype(float) - self.value.astype(float))
        close = (distance <= FACTOR * width) & (distance > 0)
        zero = (result == 0) & (self.value == 0) & varied
        jump = width > 1e-3 * np.abs(self.value.astype(float))
        left = different & ~close & ~tie & ~zero
        return ("tie" if (different & (tie | jump) & ~zero).any() else "rounded"), left

    def _width(self, runs: int) -> tuple[Any, Any, Any]:
        """Return the widest change of each element, which elements jump, and which change."""
        while len(self._perturbed) < runs:
            with quiet():
                self._perturbed.append(self._run(np.random.default_rng(len(self._perturbed))))
        expected = self.value
        alike = [x for x in self._perturbed if x is not None and x.shape == expected.shape]
        stack = np.array([expected, *alike])
        if expected.dtype.kind != "f":
            varied = (stack != expected).any(axis=0)
            return np.zeros(expected.shape), varied, varied
        with quiet():
            finite = np.isfinite(stack).all(axis=0)
            width = np.abs(stack.astype(float) - expected.astype(float)).max(axis=0)
        same = np.array([_same(run, expected, signs=True) for run in stack]).all(axis=0)
        return np.where(finite, width, 0.0), ~finite & ~same, ~same

    def _run(self, rng: np.random.Generator) -> Any:
        values = dict(self.inputs)
        for name, step in self.program.steps.items():
            try:
                values[name] = self._step(step, [values[x] for x in step.operands], rng)
            except (ValueError, IndexError, ArithmeticError, np.linalg.LinAlgError):
                return None  # another path than the reference's
        return np.asarray(values[self.program.result])

    def _step(self, step: Step, operands: list[Any], rng: np.random.Generator) -> Any:
        """Return the value of a step with its roundings changed."""
        letter, loose = step.rounding, self.rewritten
        if step.template.startswith(("np.signbit", "np.copysign")):
            operands = [_flipped(x, np.isnan, rng) for x in operands]  # NaN has no fixed sign
        around = letter in "LU" or (letter == "F" and loose)
        if letter == "S" or (letter == "R" and loose):
            around = not all(_small(x) for x in operands)
        if around:
            ulps = 1 if letter == "F" else ULPS
            operands = [perturbed(x, rng, ulps) for x in operands]
        value = evaluate(step, operands, NUMPY)
        after = around or letter == "F" or (letter == "D" and loose)
        if letter == "A" and loose and re.search(r" [+-] ", step.template):
            value = _regrouped(operands, value, rng)
        elif letter == "A" and loose:
            value = np.where(_exact(step, operands, value), value, perturbed(value, rng, 1))[()]
        elif after:
            # 1 - erf(x) may become erfc(x), which errs where x is 0.
            near_1 = letter == "U" or (loose and "rg.erf(" in step.template)
            ulps = SCIPY_ERFC if "rg.erfc(" in step.template else ULPS if letter in "FLU" else 1
            value = perturbed(value, rng, ulps, float(near_1))
        if loose or letter in "SLU":
            value = _underflown(value, operands, rng)
        if loose and letter in "FDSRLU":
            value = _snapped(value, rng, sums=letter in "SRLU")
        products = letter == "S" and "np.sum" not in step.template  # whose zeros BLAS adds to 0.0
        if letter == "Z" or products or (loose and letter not in "E"):
            value = _flipped(value, np.logical_not, rng)
        return value

    def _by_range(self, result: Any, left: Any) -> str:
        """Return what the range of floats explains.

        "range": longdoubles give the result, and NumPy's dtype overflows before; "beyond":
        longdoubles overflow as well, so that there is no reference; "overflow": products of two
        values overflow or underflow, which a regrouped product may hold.
        """
        values = [np.asarray(x) for x in self.values.values() if np.asarray(x).dtype.kind == "f"]
        wide = {name: _widest(x) for name, x in self.inputs.items()}
        try:
            with quiet():
                for name, step in self.program.steps.items():
                    wide[name] = _wide(step, [wide[x] for x in step.operands])
                exact = np.asarray(wide[self.program.result]).astype(self.value.dtype)
                near, far = (_close(x, exact) for x in (result, self.value))
        except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):
            return ""
        if (near & ~far)[left].all():
            return "range"
        finite = all(np.isfinite(self.inputs[name]).all() for name in self.program.inputs())
        lost = not all(np.isfinite(x).all() for x in wide.values())
        overflown = not all(np.isfinite(x).all() for x in values)
        if finite and lost and overflown and np.isfinite(result[left]).all():
            return "beyond"
        if any(_extreme(x) for x in values) and (~np.isfinite(result) | (result == 0))[left].all():
            return "overflow"
        return ""


def _extreme(x: Any) -> bool:
    """Return whether the square of an element overflows or underflows."""
    info = np.finfo(x.dtype)
    size = np.abs(x[np.isfinite(x) & (x != 0)])
    return bool(np.any((size > np.sqrt(info.max)) | (size < np.sqrt(info.smallest_normal))))


def _widest(x: Any) -> Any:
    """Return floats as longdoubles."""
    floats = isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f"
    return x.astype("longdouble") if floats else x


def _wide(step: Step, operands: list[Any]) -> Any:
    """Return a step's value for longdoubles; LAPACK and SciPy compute in doubles."""
    try:
        return evaluate(widened(step), operands, NUMPY)
    except TypeError:
        narrow = [
            x.astype("float64") if np.asarray(x).dtype == np.longdouble else x for x in operands
        ]
        value = evaluate(step, narrow, NUMPY)
        return value.astype("longdouble") if np.asarray(value).dtype.kind == "f" else value


def _same(a: Any, b: Any, *, signs: bool) -> Any:
    """Return where elements are equal; with ``signs``, zeros of different signs differ."""
    equal = np.equal(a, b)
    if np.asarray(a).dtype.kind != "f":
        return equal
    if signs:
        equal &= (np.signbit(a) == np.signbit(b)) | (a != 0)
    return equal | (np.isnan(a) & np.isnan(b))


def _close(a: Any, b: Any) -> Any:
    """Return where elements agree in four digits."""
    a, b = np.asarray(a).astype(float), np.asarray(b).astype(float)
    with np.errstate(all="ignore"):
        return (np.abs(a - b) <= 1e-4 * np.abs(b)) | _same(a, b, signs=False)


def perturbed(x: Any, rng: np.random.Generator, ulps: float, least: Any = 0.0) -> Any:
    """Return floats with random errors, relative to them or to ``least``; others as they are.

    Nearly all subnormal numbers stay as they are, as relative errors leave them.
    """
    if not isinstance(x, np.ndarray | np.generic) or x.dtype.kind != "f":
        return x
    errors = ulps * float(np.finfo(x.dtype).eps) * rng.uniform(-1, 1, x.shape)
    wide = x.astype("float64")
    errors = np.where(np.abs(wide) < least, least * errors, wide * errors)
    return np.where(np.isfinite(wide), wide + errors, wide).astype(x.dtype)[()]


def _flipped(x: Any, which: Callable[[Any], Any], rng: np.random.Generator) -> Any:
    """Return floats with the sign of some of those changed for which a test holds."""
    if np.asarray(x).dtype.kind != "f":
        return x
    return np.where(which(x) & (rng.random(np.shape(x)) < 0.3), np.negative(x), x)[()]


def _snapped(x: Any, rng: np.random.Generator, sums: bool) -> Any:
    """Return floats with some of those that are near an integer equal to it.

    Exact values often are integers, as those of inv(A) @ A are, and rewriting may compute them.
    Of ``sums``, what is near is measured by the largest element.
    """
    if np.asarray(x).dtype.kind != "f":
        return x
    sizes = np.abs(np.where(np.isfinite(x), x, 0))
    scale = np.max(sizes, initial=0) if sums else sizes
    near = np.abs(x - np.rint(x)) <= 64 * np.finfo(np.asarray(x).dtype).eps * scale
    return np.where(near & np.isfinite(x) & (rng.random(np.shape(x)) < 0.3), np.rint(x), x)[()]


def _underflown(x: Any, operands: list[Any], rng: np.random.Generator) -> Any:
    """Return floats of which those below the smallest normal one have errors of a few steps.

    Where products of the operands underflow, 0 is one of them.
    """
    if np.asarray(x).dtype.kind != "f":
        return x
    info = np.finfo(np.asarray(x).dtype)
    errors = np.rint(rng.uniform(-4, 4, np.shape(x))) * info.smallest_subnormal
    low = np.abs(x) < info.smallest_normal
    small = [np.abs(y) for y in operands if np.asarray(y).dtype.kind == "f"]
    if not any(np.any((y > 0) & (y < np.sqrt(info.smallest_normal))) for y in small):
        low &= x != 0
    return np.where(low, x + errors.astype(info.dtype), x)[()]


def _small(x: Any) -> bool:
    """Return whether sums and products of the elements are exact: multiples of 1/64, and small."""
    return bool(np.all(_simple(np.asarray(x))))


def _simple(x: Any) -> Any:
    if x.dtype.kind != "f":
        return np.ones(x.shape, bool)
    bound = 2.0**17 if x.dtype == np.float64 else 8.0
    return (np.abs(x) <= bound) & (x * 64 == np.rint(x * 64))


def _regrouped(operands: list[Any], value: Any, rng: np.random.Generator) -> Any:
    """Return a sum or a difference with an error relative to its terms, of which one is a literal.

    Constants of several sums are added first: x - -1.5 + 1e-3 is x + 1.501, which is rounded.
    """
    size, exact = np.abs(value).astype(float), _simple(np.asarray(value))
    for x in map(np.asarray, operands):
        if x.shape in (size.shape, ()):
            size, exact = size + np.abs(x), exact & _simple(x)
        else:  # it is stretched, or the step takes a part of it
            size, exact = size + np.max(np.abs(x), initial=0), exact & _small(x)
    return np.where(exact, value, perturbed(value, rng, 1, size))[()]


def _exact(step: Step, operands: list[Any], value: Any) -> Any:
    """Return where the step rounds nothing."""
    try:
        exact = evaluate(widened(step), [_widest(x) for x in operands], NUMPY)
    except TypeError:
        return False
    return (exact == value) | (np.asarray(value).dtype.kind != "f")
