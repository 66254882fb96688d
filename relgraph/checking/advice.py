"""Advice on how to fix a relation, given the counterexample that refutes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relgraph.checking import instances as made
from relgraph.checking.products import NO_MATRICES
from relgraph.checking.promises import FAILS, Promise, disagreement, promise_of
from relgraph.checking.shrinking import Counterexample, Problem
from relgraph.ir.graph import free_inputs
from relgraph.relations.pattern import variables

MEND = (
    "The sides differ by more than rounding where every value is finite: add a condition (where=) "
    "that says where they are equal, or mend a side."
)
_UNDEFINED = (
    "The built side is not defined here, but the other side is: add a condition (where=) that "
    "excludes such values, such as rg.positiveo(x) or rg.nonzeroo(x)."
)
_MATRICES = (
    "It can only hold for factors of other ranks: add a condition (where=) on the ranks, such as "
    "rg.checko(lambda x: x.ndim == 1, x), or correct a side."
)
_OF_OTHERS = {
    "changes a type": (
        "Add a condition (where=) on the shapes and dtypes for which the sides have one type."
    ),
    NO_MATRICES: _MATRICES,
    "makes up an input": "Build the other side of what the matched side binds.",
    "has sides that are not equal": MEND,
    "loses more digits than its steps explain": (
        "Add a condition (where=) that excludes values where the built side is inaccurate."
    ),
}
_OF_VALUES = "Add a condition (where=) that excludes values that the built side does not accept."
_SINGULAR = (
    "The built side solves with a matrix that is singular here, but the other side does not: "
    "add the condition that it is invertible, such as where=lambda A: rg.invertibleo(A)."
)
_SIZES = "Add a condition (where=) on the shapes for which both sides run and agree."


def advised(found: Counterexample, floats: bool) -> Counterexample:
    """Return a counterexample with the fix that it suggests: a label or a condition.

    Parameters
    ----------
    found : Counterexample
        The smallest counterexample.
    floats : bool
        Whether float inputs were compared on all branches without contradicting the relation.
    """
    what = found.problem.what
    if what == FAILS:
        if "singular" in str(found.problem.found):
            return replace(found, fix=_SINGULAR)
        shapes = any(np.ndim(v) for v in found.values.values())
        return replace(found, fix=_dtype(found, floats) or (_SIZES if shapes else _OF_VALUES))
    if what != "changes a value":
        return replace(found, fix=_OF_OTHERS.get(what, _SIZES))
    false = _UNDEFINED if _is_undefined(found) else MEND
    return replace(found, fix=_dtype(found, floats) or false)


def _is_undefined(found: Counterexample) -> bool:
    """Return True if an element of the built side is NaN where the matched side is not."""
    expected, computed = map(np.asarray, (found.problem.expected, found.problem.found))
    if expected.shape != computed.shape or expected.dtype.kind != "f":
        return False
    return bool((np.isnan(computed) & ~np.isnan(expected)).any())


def weaker_labels(found: Counterexample) -> tuple[str, str] | None:
    """Return the labels (rounding, specials) under which a counterexample passes, or None.

    They give up as little as possible.
    """
    own = promise_of(found.relation)
    if found.problem.what != "changes a value":
        return None
    if own.rounding == "exact" and _holds(found, replace(own, rounding="rounded")):
        return "rounded", own.specials
    if own.specials == "assumes_finite":
        return None
    for rounding in dict.fromkeys((own.rounding, "rounded")):
        weaker = Promise(rounding, "assumes_finite", "nothing", own.defined)
        if _holds(found, weaker):
            return rounding, "assumes_finite"
    return None


def fix_of_labels(found: Counterexample, weaker: tuple[str, str]) -> str:
    """Return the advice to declare labels under which a counterexample passes."""
    own, (rounding, specials) = promise_of(found.relation), weaker
    if specials == own.specials:
        if np.array_equal(found.problem.expected, found.problem.found, equal_nan=True):
            return (
                "The sides differ in the sign of zero here, which rounding='exact' keeps: "
                "declare rounding='rounded'."
            )
        return "The sides differ by rounding: declare rounding='rounded'."
    asked = "specials='assumes_finite'"
    if rounding != own.rounding:
        asked = f"rounding='rounded', {asked}"
    text = (
        f"The sides differ where an input or an intermediate value is not finite: declare {asked}"
    )
    if _overflows(found) and _holds(found, replace(own, excused="graph")):
        text += ", or, where the other side is there to avoid it, the tag 'stabilize'"
    return f"{text}."


def _overflows(found: Counterexample) -> bool:
    """Return True if inputs and result are finite, so only an intermediate value overflows."""
    ends = [*found.values.values(), found.problem.found]
    return all(np.isfinite(v).all() for v in map(np.asarray, ends) if v.dtype.kind == "f")


def _holds(found: Counterexample, promise: Promise) -> bool:
    values = dict(found.values)
    verdict = disagreement(found.relation, found.graph, values, found.kind, promise)
    return not isinstance(verdict, Problem)


def _dtype(found: Counterexample, floats: bool) -> str:
    """Return advice to add a condition, if only dtypes other than floats refute the relation."""
    inputs = free_inputs([found.graph])
    others = sorted({x.dtype.name for x in inputs if x.dtype.kind != "f"})
    if not floats or not others:
        return ""
    fields = made.fields_of(found.clause)
    names = [v.name for v in variables(found.clause.left) if v not in fields]
    goals = ", ".join(f"rg.floato({name})" for name in names)
    shown = goals if len(names) == 1 else f"({goals})"
    return (
        f"No floats contradict it, {' and '.join(others)} do: "
        f"add the condition where=lambda {', '.join(names)}: {shown}."
    )
