"""The check for directions that lose digits which their matched side keeps.

``rounded`` promises that both sides have one exact value, and that the steps of the built side
explain its error.  The steps of ``log(1 + x)`` explain the loss of every digit at 1e-17, since ``1
+ x`` is rounded, and ``log1p(x)`` loses none.  So this check computes both sides where steps
cancel, and compares each with the exact value: a direction is unstable if it loses half of the
digits where its matched side loses less than a quarter.  That is not a failure, since many
identities lose digits somewhere.

References
----------
N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, sections 1.7 (of
cancellation) and 1.14 (of ``expm1`` and ``log1p``).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import prod
from typing import Any

import mpmath
import numpy as np

from relgraph.checking.evaluation import evaluate
from relgraph.checking.generators.arrays import CANCELLING, draw, generator, shape_of
from relgraph.checking.generators.cases import Side, cases, firings
from relgraph.checking.generators.instances import Instance
from relgraph.checking.generators.shapes import is_pointwise
from relgraph.checking.outcome import Loss, Outcome, Values
from relgraph.checking.rounding import mpmath_semantics
from relgraph.checking.rounding.judge import DIGITS
from relgraph.checking.rounding.mpmath_linalg import Undefined
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.relations.relation import Relation

DRAWS = 2  # of each kind of floats of which steps cancel
GRAPHS = 2  # of each clause
CLAUSES = 4  # of each relation


def loses_digits(relation: Relation) -> Outcome:
    """Look for an example on which a rounded direction loses digits; this is not a failure."""
    if relation.rounding == "exact":
        return Outcome()
    for clause, sides in cases(relation)[:CLAUSES]:
        small = sorted(sides, key=_elements) if is_pointwise(clause) else _of_several(sides)
        judged = (
            (graph, result, instance)
            for graph, result, instance in firings(relation, small)
            if graph.dtype.kind == "f" and not _is_conditioned(graph, result)
        )
        for graph, result, instance in islice(judged, GRAPHS):
            loss = _lost(relation, graph, result, instance)
            if loss is not None:
                return Outcome(loss=loss)
    return Outcome()


def _is_conditioned(*graphs: Variable) -> bool:
    """Return True if graphs factor matrices, which makes no promise for single elements."""
    return any(x.op is not None and x.op.conditioned for x in toposort(list(graphs)))


def _elements(side: Side) -> int:
    return sum(prod(shape_of(x)) for x in side[2].inputs)


def _of_several(sides: list[Side]) -> list[Side]:
    """Return the sides whose inputs have several elements, the smallest first."""
    several = [s for s in sides if all(prod(shape_of(x)) > 1 for x in s[2].inputs)]
    return sorted(several, key=_elements)


def _lost(relation: Relation, graph: Variable, result: Variable, instance: Instance) -> Loss | None:
    eps = float(np.finfo(graph.dtype).eps)
    for values in _drawn(relation, instance):
        pairs = _errors(graph, result, values)
        worst = max(pairs, key=lambda pair: pair[1] / max(pair[0], eps), default=(0.0, 0.0))
        if worst[1] > eps**0.5 and worst[0] < eps**0.75:
            return Loss(graph, result, values, worst)
    return None


def _drawn(relation: Relation, instance: Instance) -> Iterator[Values]:
    for kind in CANCELLING:
        for number in range(DRAWS):
            rng = generator(relation.name, str(instance), kind, number)
            yield {x.name: draw(x, rng, kind) for x in instance.inputs}


def _errors(graph: Variable, result: Variable, values: Values) -> list[tuple[float, float]]:
    """Return the relative errors of both sides, for each element where they are defined.

    There are none if a side has no exact value, or if the exact values differ.
    """
    try:
        done = evaluate((graph, result), values)
        with mpmath.workdps(DIGITS):
            return list(_pairs(done[graph], done[result], graph, result, values))
    except (Undefined, ValueError, np.linalg.LinAlgError):
        return []


def _pairs(
    first: Any, second: Any, graph: Variable, result: Variable, values: Values
) -> Iterator[tuple[float, float]]:
    info = np.finfo(graph.dtype)
    left, right = mpmath_semantics.value(graph, values), mpmath_semantics.value(result, values)
    for x, y, a, b in zip(left.flat, right.flat, first.flat, second.flat, strict=True):
        normal = float(info.tiny) / float(info.eps) < abs(x) < float(info.max)
        if normal and np.isfinite(a) and np.isfinite(b) and abs(x - y) <= info.eps * abs(x):
            left_error, right_error = (
                float(abs(mpmath.mpf(float(v)) - x) / abs(x)) for v in (a, b)
            )
            yield left_error, right_error
