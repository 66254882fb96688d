"""Advice on how to fix a relation, given the counterexample that refutes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relgraph.checking.evaluation import finite
from relgraph.checking.generators.shapes import parameters_of
from relgraph.checking.outcome import (
    CHANGES_TYPE,
    CHANGES_VALUE,
    FAILS,
    INVENTS_INPUT,
    LOSES_DIGITS,
    NO_MATRICES,
    UNEQUAL,
    Counterexample,
    Problem,
)
from relgraph.checking.promises import Promise, disagreement, promise_of
from relgraph.ir.graph import free_inputs
from relgraph.relations.pattern import variables

_DIFFERENT = (
    "The sides differ by more than rounding where every value is finite: add a condition (where=) "
    "that says where they are equal, or mend a side."
)
_NOT_DEFINED = (
    "The built side is not defined here, but the other side is: add a condition (where=) that "
    "excludes such values, such as "
)
_UNDEFINED = _NOT_DEFINED + "rg.positiveo(x) or rg.nonzeroo(x)."
_UNDEFINED_REVERSED = _NOT_DEFINED + (
    "rg.nonnegativeo(x), or rewrite only in the direction in which the relation is declared "
    "(rg.optimize takes both)."
)
_OF_PROBLEM = {
    CHANGES_TYPE: (
        "Add a condition (where=) on the shapes and dtypes for which the sides have one type."
    ),
    INVENTS_INPUT: "Build the other side of what the matched side binds.",
    LOSES_DIGITS: (
        "Add a condition (where=) that excludes values where the built side is inaccurate."
    ),
    NO_MATRICES: (
        "It can only hold for factors of other ranks: add a condition (where=) on the ranks, such "
        "as rg.checko(lambda x: x.ndim == 1, x), or correct a side."
    ),
    UNEQUAL: _DIFFERENT,
}
_OF_VALUES = "Add a condition (where=) that excludes values that the built side does not accept."
_SINGULAR = (
    "The built side solves with a matrix that is singular here, but the other side does not: "
    "add the condition that it is invertible, such as where=lambda A: rg.invertibleo(A)."
)
_SIZES = "Add a condition (where=) on the shapes for which both sides run and agree."


def advised(counterexample: Counterexample, floats: bool) -> Counterexample:
    """Return a counterexample with the fix that it suggests: a label or a condition.

    ``floats`` says whether float inputs were compared on all branches without contradicting the
    relation.
    """
    return replace(counterexample, fix=_fix(counterexample, floats))


def _fix(counterexample: Counterexample, floats: bool) -> str:
    what = counterexample.problem.what
    if what == FAILS:
        if "singular" in str(counterexample.problem.computed):
            return _SINGULAR
        shapes = any(np.ndim(v) for v in counterexample.values.values())
        return _dtype(counterexample, floats) or (_SIZES if shapes else _OF_VALUES)
    if what != CHANGES_VALUE:
        return _OF_PROBLEM.get(what, _SIZES)
    false = _DIFFERENT
    if _is_undefined(counterexample):
        false = _UNDEFINED_REVERSED if counterexample.relation.backward else _UNDEFINED
    return _dtype(counterexample, floats) or false


def _is_undefined(counterexample: Counterexample) -> bool:
    """Return True if an element of the built side is NaN where the matched side is not."""
    expected, computed = map(
        np.asarray, (counterexample.problem.expected, counterexample.problem.computed)
    )
    if expected.shape != computed.shape or expected.dtype.kind != "f":
        return False
    return bool((np.isnan(computed) & ~np.isnan(expected)).any())


def weaker_labels(counterexample: Counterexample) -> tuple[str, str] | None:
    """Return the labels (rounding, specials) under which a counterexample passes, or None.

    They give up as little as possible.
    """
    promise = promise_of(counterexample.relation)
    if counterexample.problem.what != CHANGES_VALUE:
        return None
    if promise.rounding == "exact" and _holds(counterexample, replace(promise, rounding="rounded")):
        return "rounded", promise.specials
    if promise.specials == "assumes_finite":
        return None
    for rounding in dict.fromkeys((promise.rounding, "rounded")):
        weaker = Promise(rounding, "assumes_finite", "nothing", promise.defined)
        if _holds(counterexample, weaker):
            return rounding, "assumes_finite"
    return None


def fix_of_labels(counterexample: Counterexample, weaker: tuple[str, str]) -> str:
    """Return the advice to declare labels under which a counterexample passes."""
    promise, (rounding, specials) = promise_of(counterexample.relation), weaker
    if specials == promise.specials:
        if np.array_equal(
            counterexample.problem.expected, counterexample.problem.computed, equal_nan=True
        ):
            return (
                "The sides differ in the sign of zero here, which rounding='exact' keeps: "
                "declare rounding='rounded'."
            )
        return "The sides differ by rounding: declare rounding='rounded'."
    labels = "specials='assumes_finite'"
    if rounding != promise.rounding:
        labels = f"rounding='rounded', {labels}"
    text = (
        f"The sides differ where an input or an intermediate value is not finite: declare {labels}"
    )
    if _overflows(counterexample) and _holds(counterexample, replace(promise, excused="graph")):
        text += ", or, where the other side is there to avoid it, the tag 'stabilize'"
    return f"{text}."


def _overflows(counterexample: Counterexample) -> bool:
    """Return True if inputs and result are finite, so only an intermediate value overflows."""
    return finite([*counterexample.values.values(), counterexample.problem.computed])


def _holds(counterexample: Counterexample, promise: Promise) -> bool:
    values = dict(counterexample.values)
    verdict = disagreement(
        counterexample.relation, counterexample.graph, values, counterexample.kind, promise
    )
    return not isinstance(verdict, Problem)


def _dtype(counterexample: Counterexample, floats: bool) -> str:
    """Return advice to add a condition, if only dtypes other than floats refute the relation."""
    inputs = free_inputs([counterexample.graph])
    others = sorted({x.dtype.name for x in inputs if x.dtype.kind != "f"})
    if not floats or not others:
        return ""
    clause = counterexample.clause
    parameters = parameters_of(clause.left, clause.right)
    names = [v.name for v in variables(clause.left) if v not in parameters]
    goals = ", ".join(f"rg.floato({name})" for name in names)
    where = goals if len(names) == 1 else f"({goals})"
    return (
        f"No floats contradict it, {' and '.join(others)} do: "
        f"add the condition where=lambda {', '.join(names)}: {where}."
    )
