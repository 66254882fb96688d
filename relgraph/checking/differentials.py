"""Checks of differentials against differences in mpmath's precision, in both modes.

Both sides of a differential evaluate to zero, so comparing their values checks nothing.  These
checks replace the differentials of the operands by random directions.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import mpmath
import numpy as np

from relgraph.checking.evaluation import evaluate
from relgraph.checking.generators.arrays import generator
from relgraph.checking.generators.cases import cases, firings, never_compared
from relgraph.checking.matching import match
from relgraph.checking.outcome import (
    CHANGES_TYPE,
    HELD,
    NO_TRANSPOSE,
    SKIPPED,
    WRONG_DERIVATIVE,
    Outcome,
    Problem,
    Values,
)
from relgraph.checking.promises import attempts
from relgraph.checking.rounding import mpmath_semantics
from relgraph.checking.rounding.judge import DIGITS
from relgraph.checking.rounding.mpmath_linalg import Undefined
from relgraph.checking.shrinking import smallest
from relgraph.derivatives.rules import expanded, transposed
from relgraph.errors import DerivativeError
from relgraph.ir.graph import free_inputs, substitute, toposort
from relgraph.ir.node import Input, Variable, make_input
from relgraph.ir.types import TensorType
from relgraph.ops.differentials import d, no_partial
from relgraph.ops.linalg.blas import Syrk
from relgraph.ops.linalg.factorisations import Eigh, Eigvalsh
from relgraph.ops.linalg.solve import Cholesky, Solve
from relgraph.relations.relation import Relation

MOST = 24  # instances of a clause
STEP = mpmath.mpf(10) ** -15  # with 60 digits, central differences are right to 30
FLOAT_STEP = 2e-3
WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # of central differences of order 8


def keeps_derivatives(relation: Relation) -> Outcome:
    """Compare a differential with differences, for many shapes and parameters."""
    tried, idle = 0, []
    for clause, sides in cases(relation, ("float64",), MOST):
        before = tried
        for graph, result, instance in islice(firings(relation, sides), MOST):
            for values in attempts(relation, graph, result, instance, "moderate"):
                verdict = wrong_derivative(relation, graph, values, "moderate")
                if isinstance(verdict, Problem):
                    failing = (graph, values, "moderate")
                    return Outcome(tried, smallest(relation, clause, wrong_derivative, failing))
                if verdict:
                    tried += 1
                    break
        if tried == before:
            idle.append(clause)
    return Outcome(tried, None, never_compared(relation, idle))


def wrong_derivative(
    relation: Relation, graph: Variable, values: Values, kind: str
) -> Problem | bool:
    """Compare the right side of a differential with the derivative that its left side denotes."""
    result = match(relation, graph)
    if result is None:
        return SKIPPED
    if not result.type.narrows(graph.type):
        return Problem(CHANGES_TYPE, graph.type, result.type)
    (y,) = graph.inputs
    constants = [x.inputs[0].inputs[0] for x in toposort([result]) if x.op is no_partial]
    if y.dtype.kind != "f" or any([x.dtype.kind != "f" for x in _differentiated(result)]):
        return SKIPPED
    inputs = [x for x in free_inputs([y]) if x.dtype.kind == "f" and x not in constants]
    if not inputs:
        return SKIPPED
    values, tangents = _point(y, values, inputs)
    try:
        right = expanded(result)
    except DerivativeError:
        return SKIPPED
    holes = {d(x): make_input(f"d_{x.name}", x.type) for x in inputs}
    (tangent,) = substitute(right, holes)
    at = {**values, **{f"d_{name}": t for name, t in tangents.items()}}
    try:
        with mpmath.workdps(DIGITS):
            expected, computed = _exact(y, values, tangents), mpmath_semantics.value(tangent, at)
            tolerance = max(1e-12, 8 * _coarsest(y, tangent))
    except Undefined:  # an op without a meaning in mpmath
        expected = _differences(y, values, tangents)
        computed = _computed(tangent, at)
        tolerance = 1e-6
    if expected is None or computed is None:
        return SKIPPED
    expected, computed = (np.asarray(v, float) for v in (expected, computed))
    if not _near(expected, computed, tolerance):
        return Problem(WRONG_DERIVATIVE, expected, computed)
    if _reads_one_triangle(y):
        symmetric = [_with_symmetry(x) for x in inputs]
        (right,) = substitute(right, dict(zip(inputs, symmetric, strict=True)))
        inputs = symmetric
    return _reverse(right, inputs, at, tangents, _computed(tangent, at))


def _coarsest(*graphs: Variable) -> float:
    """Return the epsilon of float32 if a graph computes in it, and 0 otherwise."""
    dtypes = {x.type.dtype for x in toposort(graphs) if isinstance(x.type, TensorType)}
    return float(np.finfo("float32").eps) if np.dtype("float32") in dtypes else 0.0


def _differentiated(right: Variable) -> list[Variable]:
    return [x for x in toposort([right]) if x.op is d]


def _point(
    y: Variable, values: Values, inputs: list[Input]
) -> tuple[Values, dict[str, np.ndarray[Any, Any]]]:
    """Return values and directions; symmetric ones for an op that reads one triangle."""
    rng = generator("direction", str(y))
    tangents = {x.name: rng.uniform(-1, 1, np.shape(values[x.name])) for x in inputs}
    if _reads_one_triangle(y):
        values = {name: _symmetric(v) for name, v in values.items()}
        tangents = {name: _symmetric(t) for name, t in tangents.items()}
    return values, tangents


def _with_symmetry(x: Input) -> Input:
    """Return an input like ``x`` that is declared symmetric, if it is square."""
    return make_input(x.name, x.type, ("symmetric",)) if _square(x.type) else x


def _reads_one_triangle(y: Variable) -> bool:
    return any([_is_symmetric(x.op) for x in toposort([y])])


def _is_symmetric(op: Any) -> bool:
    return isinstance(op, Cholesky | Eigh | Eigvalsh | Syrk) or (
        isinstance(op, Solve) and op.params[0] != "general"
    )


def _symmetric(v: Any) -> Any:
    return (v + np.swapaxes(v, -1, -2)) / 2 if _square(v) else v


def _square(v: Any) -> bool:
    return len(v.shape) > 1 and v.shape[-1] == v.shape[-2]


def _exact(y: Variable, values: Values, tangents: dict[str, Any]) -> Any:
    """Return the derivative along a direction by mpmath; None at a kink."""
    here = mpmath_semantics.value(y, values)
    ahead, behind = (
        mpmath_semantics.value(y, {**values, **_moved(values, tangents, step)})
        for step in (STEP, -STEP)
    )
    one_sided = [np.asarray(v / STEP, float) for v in (ahead - here, here - behind)]
    if not _near(one_sided[0], one_sided[1], 1e-6):
        return None
    return (ahead - behind) / (2 * STEP)


def _moved(values: Values, tangents: dict[str, Any], step: Any) -> dict[str, Any]:
    exact = np.vectorize(mpmath.mpf, otypes=[object])
    return {
        name: exact(values[name]) + step * exact(t) if t.size else values[name]
        for name, t in tangents.items()
    }


def _differences(y: Variable, values: Values, tangents: dict[str, Any]) -> Any:
    """Return the derivative along a direction by differences of floats; None at a kink."""
    steps = [sign * k * FLOAT_STEP for k in WEIGHTS for sign in (1, -1)]
    moved = {
        step: _computed(y, {**values, **{n: values[n] + step * t for n, t in tangents.items()}})
        for step in (*steps, 0.0, 1e-6, -1e-6)
    }
    if any([value is None for value in moved.values()]):
        return None
    one_sided = [(moved[step] - moved[0.0]) / step for step in (1e-6, -1e-6)]
    if not _near(one_sided[0], one_sided[1], 1e-3):
        return None
    terms = [
        weight / FLOAT_STEP * (moved[k * FLOAT_STEP] - moved[-k * FLOAT_STEP])
        for k, weight in WEIGHTS.items()
    ]
    total = sum(terms)
    return total if _near(np.asarray(total), one_sided[0], 1e-3) else None


def _computed(graph: Variable, values: Values) -> Any:
    """Return the value of a graph by NumPy; None where it is not finite, or does not exist."""
    try:
        value = np.asarray(evaluate((graph,), values)[graph])
    except (ValueError, np.linalg.LinAlgError):
        return None
    return value if np.isfinite(value).all() else None


def _near(a: Any, b: Any, tolerance: float) -> bool:
    scale = max(1.0, *[float(np.abs(v).max(initial=0.0)) for v in (a, b)])
    return a.shape == b.shape and bool((np.abs(a - b) <= tolerance * scale).all())


def _reverse(
    right: Variable, inputs: list[Input], values: Values, tangents: dict[str, Any], expected: Any
) -> Problem | bool:
    """Compare the cotangents of reverse mode with the derivative of forward mode, by NumPy."""
    if expected is None:
        return HELD
    g = make_input("cotangent", right.type)
    try:
        cotangents = transposed(right, g, inputs)
    except DerivativeError as error:
        return Problem(NO_TRANSPOSE, "an adjoint", error.what)
    cotangent = generator("cotangent", str(right)).uniform(-1, 1, np.shape(expected))
    total = 0.0
    for x in inputs:
        if x not in cotangents:
            continue
        value = _computed(cotangents[x], {**values, "cotangent": cotangent})
        if value is None:
            return HELD
        if value.shape != tangents[x.name].shape:
            return Problem(WRONG_DERIVATIVE, tangents[x.name].shape, value.shape)
        total += float(np.sum(value * tangents[x.name]))
    by_forward_mode = float(np.sum(cotangent * expected))
    tolerance = max(1e-8, 8 * _coarsest(right))
    if _near(np.asarray(by_forward_mode), np.asarray(total), tolerance):
        return HELD
    return Problem(WRONG_DERIVATIVE, by_forward_mode, total)
