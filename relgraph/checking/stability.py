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
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Any

import mpmath
import numpy as np

from relgraph.checking import instances as made
from relgraph.checking import mpmath_linalg, mpmath_semantics, numbers
from relgraph.checking.cases import Side, cases, generator
from relgraph.checking.rounding import DIGITS
from relgraph.checking.shrinking import Values, shown
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.relations.relation import Relation

# How far these are off depends on the matrix, and is small beside the largest element only.
DRAWS = 2  # of each kind of floats of which steps cancel
GRAPHS = 2  # of each clause
CLAUSES = 4  # of each relation


@dataclass(frozen=True)
class Loss:
    """An example on which a direction loses digits that its matched side keeps.

    Attributes
    ----------
    graph, result : Variable
        The matched graph and its replacement.
    values : mapping of str to array
        For the inputs.
    errors : tuple of float
        The relative error of each graph.
    """

    graph: Variable
    result: Variable
    values: Values
    errors: tuple[float, float]

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {shown(v, in_full=True)}" for name, v in self.values.items())
        first, second = self.errors
        return f"{self.graph}  ->  {self.result} is off by {second:.0e} beside {first:.0e} at {at}"


def loses_digits(relation: Relation) -> Loss | None:
    """Return an example on which a direction loses digits, or None if no trial shows one.

    Parameters
    ----------
    relation : Relation
        In one direction.
    """
    for clause, sides in cases(relation)[:CLAUSES]:
        small = sorted(sides, key=_elements) if made.is_pointwise(clause) else _of_several(sides)
        fired = (
            (graph, result, instance)
            for graph, _, instance in small
            if graph.dtype.kind == "f"
            and (result := made.match(relation, graph)) is not None
            and not _is_conditioned(graph, result)
        )
        for graph, result, instance in islice(fired, GRAPHS):
            loss = _lost(relation, graph, result, instance)
            if loss is not None:
                return loss
    return None


def _is_conditioned(*graphs: Variable) -> bool:
    """Return True if graphs factor matrices, which makes no promise for single elements."""
    return any(x.op is not None and x.op.conditioned for x in toposort(list(graphs)))


def _elements(side: Side) -> int:
    return sum(prod(numbers.shape_of(x)) for x in side[2].inputs)


def _of_several(sides: list[Side]) -> list[Side]:
    """Return the sides whose inputs have several elements, the smallest first."""
    several = [s for s in sides if all(prod(numbers.shape_of(x)) > 1 for x in s[2].inputs)]
    return sorted(several, key=_elements)


def _lost(
    relation: Relation, graph: Variable, result: Variable, instance: made.Instance
) -> Loss | None:
    eps = float(np.finfo(graph.dtype).eps)
    for values in _drawn(relation, instance):
        found = errors(graph, result, values)
        worst = max(found, key=lambda pair: pair[1] / max(pair[0], eps), default=(0.0, 0.0))
        if worst[1] > eps**0.5 and worst[0] < eps**0.75:
            return Loss(graph, result, values, worst)
    return None


def _drawn(relation: Relation, instance: made.Instance) -> Iterator[Values]:
    for kind in numbers.CANCELLING:
        for number in range(DRAWS):
            rng = generator(relation.name, str(instance), kind, number)
            yield {x.name: numbers.draw(x, rng, kind) for x in instance.inputs}


def errors(graph: Variable, result: Variable, values: Values) -> list[tuple[float, float]]:
    """Return the relative errors of both sides, for each element where they are defined.

    Parameters
    ----------
    graph, result : Variable
        Two graphs with one exact value.
    values : dict of str to ndarray
        For the inputs.

    Returns
    -------
    list of tuple of float
        Empty if a side has no exact value, or if the exact values differ.
    """
    try:
        done = numbers.evaluate((graph, result), values)
        with mpmath.workdps(DIGITS):
            return list(_pairs(done[graph], done[result], graph, result, values))
    except (mpmath_linalg.Undefined, ValueError, np.linalg.LinAlgError):
        return []


def _pairs(
    first: Any, second: Any, graph: Variable, result: Variable, values: Values
) -> Iterator[tuple[float, float]]:
    info = np.finfo(graph.dtype)
    left, right = mpmath_semantics.value(graph, values), mpmath_semantics.value(result, values)
    for x, y, a, b in zip(left.flat, right.flat, first.flat, second.flat, strict=True):
        normal = float(info.tiny) / float(info.eps) < abs(x) < float(info.max)
        if normal and np.isfinite(a) and np.isfinite(b) and abs(x - y) <= info.eps * abs(x):
            off, other = (float(abs(mpmath.mpf(float(v)) - x) / abs(x)) for v in (a, b))
            yield off, other
