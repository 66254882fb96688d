"""The judge of rounding: whether rounding explains a difference, according to mpmath.

A step may amplify the rounding of its operand: if x has a relative error of eps, cosh(x) has one of
x eps, which is 690 eps where cosh(x) is 1e300.  So the sides of a true identity may differ by far
more than a unit in the last place.  Rounding explains a difference if both sides have one exact
value, and each computed value is as near to it as its steps allow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np

from relgraph.checking.branches.decisions import decision_of
from relgraph.checking.evaluation import all_finite, evaluate
from relgraph.checking.outcome import HELD, LOSES_DIGITS, SKIPPED, UNEQUAL, Problem, Values
from relgraph.checking.rounding import mpmath_semantics
from relgraph.checking.rounding.mpmath_linalg import Undefined
from relgraph.ir.graph import free_inputs, toposort
from relgraph.ir.node import Variable
from relgraph.ir.types import TensorType

DIGITS = 60
MANY_DIGITS = 800  # 1 + exp(-800) has 348 of them


def explains(
    graphs: tuple[Variable, Variable],
    judged: Sequence[Variable],
    done: dict[Variable, Any],
    values: Values,
    eps: float,
    *,
    ranges: bool,
) -> bool | None:
    """Return HELD if rounding explains the difference of two graphs, SKIPPED if underflow does.

    None means that neither does.  The values of the ``judged`` graphs must be near the exact ones;
    ``done`` has the computed value of every node, and ``eps`` is the largest error of a step,
    relative to its result.  With ``ranges``, steps may leave the range of floats: the labels
    promise nothing for underflow, and values near the largest float may overflow.
    """
    a, b = (done[x] for x in graphs)
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind != "f":
        return None
    differs = np.ones(a.shape, dtype=bool)
    inputs = {x.name: values[x.name] for x in free_inputs(graphs)}
    if all(x.op is None or x.op.pointwise for x in toposort(list(graphs))):
        # The other elements may have no real value, so the first of these replaces them.
        differs = (a != b) & ~(np.isnan(a) & np.isnan(b))
        first = np.unravel_index(np.argmax(differs), a.shape)
        inputs = {
            n: np.where(differs, v, np.broadcast_to(v, a.shape)[first]) for n, v in inputs.items()
        }
        done = {x: np.broadcast_to(v, a.shape)[differs] for x, v in done.items()}
        judged_values = [done[x] for x in judged]
    else:
        judged_values = [done[x][differs] for x in judged]
    if not ranges and not all_finite({x: done[x] for x in toposort(list(judged))}):
        return None
    for digits in (DIGITS, MANY_DIGITS):
        with mpmath.workdps(digits):
            try:
                sides = [mpmath_semantics.value(x, inputs) for x in graphs]
                if unequal(graphs, sides, inputs) is not None:
                    continue
                if ranges and underflows(graphs, inputs):
                    return SKIPPED
                exact = [sides[graphs.index(x)] for x in judged]
                triples = zip(judged, judged_values, exact, strict=True)
                near = [_near(x, y, z, differs, values=inputs, eps=eps) for x, y, z in triples]
                return HELD if all(near) else None
            except Undefined:
                return None
    return None


def _near(
    graph: Variable, computed: Any, exact: Any, where: Any, *, values: Values, eps: float
) -> bool:
    """Return True if rounding explains the errors of computed elements."""
    try:
        width = mpmath_semantics.bound(graph, values, eps, exact)
    except Undefined:  # rounding may cross the nearby end of a domain
        return True
    return within(computed, exact[where], width[where]) is HELD


def unequal(graphs: Sequence[Variable], sides: Sequence[Any], values: Values) -> Problem | None:
    """Return a problem if exact values differ by more than rounded constants explain."""
    pairs = zip(graphs, sides, strict=True)
    widths = np.add(*[mpmath_semantics.error_of_constants(x, values, y) for x, y in pairs])
    near, floor = (mpmath.mpf(10) ** (-n // 2) for n in (DIGITS, mpmath.mp.dps))
    for x, y, w in zip(sides[0].flat, sides[1].flat, np.ravel(widths), strict=True):
        if abs(x - y) > 2 * w + near * abs(x) + floor:
            return Problem(UNEQUAL, mpmath.nstr(x, 20), mpmath.nstr(y, 20))
    return None


def within(computed: Any, exact: Any, widths: Any) -> Problem | bool:
    """Compare computed values with exact ones, within these widths."""
    info = np.finfo(computed.dtype)
    for x, y, w in zip(computed.flat, exact.flat, widths.flat, strict=True):
        if abs(y) < info.max / 2 or np.isfinite(x):
            allowed = 16 * w + 4 * float(info.eps) * abs(y) + float(info.tiny)
            if not (np.isfinite(x) and abs(mpmath.mpf(float(x)) - y) <= allowed):
                return Problem(LOSES_DIGITS, mpmath.nstr(y, 20), x)
    return HELD


def underflows(graphs: tuple[Variable, ...], values: Values) -> bool:
    """Return True if steps underflow and no branch depends on it."""
    done = evaluate(graphs, values)
    lost = False
    for x in toposort(list(graphs)):
        if x.op is None or not isinstance(x.type, TensorType):
            continue
        decision = decision_of(x)
        if decision is not None:
            real = [_float(mpmath_semantics.value(y, values)).astype(y.dtype) for y in x.inputs]
            computed = [np.asarray(done[y]) for y in x.inputs]
            if (decision.label(real, done[x]) != decision.label(computed, done[x])).any():
                return False
        elif x.dtype.kind == "f":
            least = float(np.finfo(x.dtype).tiny)
            lost |= any(0 < abs(v) < least for v in mpmath_semantics.value(x, values).flat)
    return lost


def _float(real: Any) -> Any:
    """Convert mpmath's numbers to floats; only zero becomes zero."""
    flat = [float(v) or math.copysign(5e-324, v) * bool(v) for v in real.flat]
    return np.array(flat).reshape(real.shape)
