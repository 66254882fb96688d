"""Values of inputs that tell two graphs apart, beyond rounding; and equations tried on values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from relgraph.checking.evaluation import all_finite, close, evaluate
from relgraph.checking.generators.arrays import draw, generator, has_facts
from relgraph.checking.generators.cases import needs_regular
from relgraph.checking.outcome import Values, shown
from relgraph.checking.rounding import judge, mpmath_semantics
from relgraph.checking.rounding.judge import DIGITS
from relgraph.checking.rounding.mpmath_linalg import Undefined
from relgraph.errors import VerifyError
from relgraph.ir.graph import free_inputs, toposort
from relgraph.ir.node import Input, Variable, make_input
from relgraph.ir.types import TensorType

DRAWS = 12
SIZES = (3, 2, 4)  # of named sizes, in turn; unknown sizes are the first
LARGEST = 1e8  # of an intermediate value; a nearly singular matrix has larger ones in its inverse


@dataclass(frozen=True)
class Refutation:
    """Values of inputs for which two graphs differ.

    Attributes
    ----------
    values : dict of str to array
        By the name of the input.
    left, right : array
        The values of the graphs, by NumPy.
    """

    values: Values
    left: Any
    right: Any

    def __str__(self) -> str:
        rows = [f"{name} = {shown(value, in_full=True)}" for name, value in self.values.items()]
        rows += [f"left  = {shown(self.left)}", f"right = {shown(self.right)}"]
        return "\n".join(rows)


def drawn(inputs: Sequence[Input], regular: bool) -> Iterator[Values]:
    """Yield values for inputs, the same ones in every run: of any sign, positive ones, small ones.

    Each name of a size has one value; different names have different ones if possible.
    """
    names = list(dict.fromkeys(d for x in inputs for d in x.type.shape if isinstance(d, str)))
    for number in range(DRAWS):
        rng = generator("refutation", number)
        order = [SIZES[(k + number) % len(SIZES)] for k in range(len(names))]
        sizes = dict(zip(names, order, strict=True))
        values = {}
        for x in inputs:
            shape = [sizes.get(d, d) if isinstance(d, str) else d for d in x.type.shape]
            sized = make_input(x.name, TensorType(x.dtype, shape), x.facts)
            value = draw(sized, rng, regular=regular)
            if x.dtype.kind == "f" and number % 3:
                other = np.abs(value) if number % 3 == 1 else value / 4
                value = other if has_facts(sized, other) else value
            values[x.name] = np.asarray(value, x.dtype)
        yield values


def refutation(a: Variable, b: Variable) -> tuple[Refutation | None, int]:
    """Return values that tell two graphs apart, if some do, and on how many values they agree.

    Rounding does not count: the exact values differ too, and the computed ones by more than the
    errors of their steps.
    """
    inputs = free_inputs([a, b])
    held = 0
    if len({x.name for x in inputs}) < len(inputs):
        return None, 0
    for values in drawn(inputs, needs_regular(a, b)):
        done = _computed((a, b), values)
        if done is None:
            continue
        if done[a].shape == done[b].shape and close(done[a], done[b], done, _eps(done)):
            held += 1
        elif _differ(a, b, done, values):
            return Refutation(values, done[a], done[b]), held
    return None, held


def _computed(graphs: tuple[Variable, ...], values: Values) -> dict[Variable, Any] | None:
    """Return the values of all nodes, None if a graph has none or nearly has none."""
    try:
        done = evaluate(graphs, values)
    except (ValueError, np.linalg.LinAlgError):
        return None
    arrays = [np.asarray(v) for x, v in done.items() if isinstance(x.type, TensorType)]
    floats = [v for v in arrays if v.dtype.kind == "f" and v.size]
    if not all_finite(done) or any([np.abs(v).max() > LARGEST for v in floats]):
        return None
    return done


def _eps(done: dict[Variable, Any]) -> float:
    dtypes = {x.dtype for x in done if isinstance(x.type, TensorType) and x.dtype.kind == "f"}
    return max([float(np.finfo(d).eps) for d in dtypes], default=float(np.finfo(float).eps))


def _differ(a: Variable, b: Variable, done: dict[Variable, Any], values: Values) -> bool:
    """Return True if the exact values of two graphs differ, and rounding does not explain it."""
    x, y = done[a], done[b]
    if x.shape != y.shape or x.dtype.kind != "f":
        return True
    try:
        sides = []
        for digits in (DIGITS, 2 * DIGITS):  # what depends on them has no exact value
            with mpmath.workdps(digits):
                sides.append([mpmath_semantics.value(g, values) for g in (a, b)])
        with mpmath.workdps(DIGITS):
            for first, second in zip(*sides, strict=True):
                if np.any(abs(first - second) > mpmath.mpf(10) ** (-DIGITS // 3)):
                    return False
            if judge.unequal((a, b), sides[0], values) is None:
                return False
            widths = [
                mpmath_semantics.bound(g, values, _eps(done), side)
                for g, side in zip((a, b), sides[0], strict=True)
            ]
            gap = abs(np.asarray(x - y, float))
            allowed = 16 * (widths[0] + widths[1]) + 8 * _eps(done) * (np.abs(x) + np.abs(y))
            return bool(np.any(gap > allowed))
    except Undefined:
        return False


def replay(equations: Sequence[tuple[Variable, Variable]], given: tuple[Variable, ...] = ()) -> int:
    """Compare both sides of equations on values; return how many equations had values.

    Only values count for which the ``given`` graphs have finite values: the equations may assume
    it.

    Raises
    ------
    VerifyError
        If the exact values of the sides differ.
    """
    graphs = [*given, *[x for pair in equations for x in pair]]
    inputs = free_inputs(graphs)
    tried: set[int] = set()
    for values in drawn(inputs, needs_regular(*graphs)):
        if given and _computed(given, values) is None:
            continue
        for number, (before, after) in enumerate(equations):
            if number in tried or _computed((before, after), values) is None:
                continue
            tried.add(number)
            done = evaluate((before, after), values)
            if not _agree(before, after, done, values):
                raise VerifyError(
                    f"step {number + 1} is not an equation",
                    {"before": before, "after": after, "values": values},
                    "This is a defect of relgraph; please report it with the graphs.",
                )
        if len(tried) == len(equations):
            break
    return len(tried)


def _agree(a: Variable, b: Variable, done: dict[Variable, Any], values: Values) -> bool:
    """Return True if two graphs have one exact value, or nearly one value where none is exact."""
    if not all(isinstance(x.type, TensorType) for x in (a, b)):
        return True
    if done[a].dtype.kind == "f" and all(x.op is None or _exact(x) for x in toposort([a, b])):
        try:
            with mpmath.workdps(DIGITS):
                sides = [mpmath_semantics.value(x, values) for x in (a, b)]
                return judge.unequal((a, b), sides, values) is None
        except Undefined:
            pass
    return close(done[a], done[b], done, _eps(done))


def _exact(x: Variable) -> bool:
    return isinstance(x.type, TensorType) or bool(x.op is not None and x.op.conditioned)
