"""Checks of a relation's promises on graphs of both sides: type, value, rounding, special values.

Every check returns an :class:`Outcome`: the number of comparisons, and the smallest counterexample
if the relation breaks a promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import mpmath
import numpy as np

from relgraph.checking.diagnosis.places import nearest_places
from relgraph.checking.diagnosis.reasons import BROADCAST, Place
from relgraph.checking.evaluation import all_finite, close, evaluate, same
from relgraph.checking.generators.arrays import draw, generator
from relgraph.checking.generators.cases import (
    cases,
    clauses_of,
    firings,
    needs_regular,
    never_compared,
    sides_of,
)
from relgraph.checking.generators.instances import Instance
from relgraph.checking.generators.shapes import EVERY_DTYPE
from relgraph.checking.matching import inputs_of, match
from relgraph.checking.outcome import (
    CHANGES_TYPE,
    CHANGES_VALUE,
    FAILS,
    HELD,
    INVENTS_INPUT,
    SKIPPED,
    Outcome,
    Problem,
    Values,
)
from relgraph.checking.rounding import judge, mpmath_semantics
from relgraph.checking.rounding.judge import DIGITS, MANY_DIGITS
from relgraph.checking.rounding.mpmath_linalg import Undefined
from relgraph.checking.shrinking import smallest
from relgraph.db.default import default_database
from relgraph.ir.graph import free_inputs, toposort
from relgraph.ir.node import Input, Variable
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation

SIZES = (3, 2, 1, 0)  # values of named and unknown sizes


@dataclass(frozen=True)
class Promise:
    """The promises that the labels of a relation make in one direction.

    Attributes
    ----------
    rounding, specials : str
        The declared labels.
    excused : {"nothing", "graph", "both"}
        Which intermediate values may overflow for finite inputs, although infinities and NaN are
        kept: those of the matched graph, or also those of the built graph.
    defined : bool
        Whether the built graph must have a value wherever the matched graph has one, even if the
        label assumes finite values.  This is required of the direction in which a relation is
        written, and of one that a mode runs.
    """

    rounding: str
    specials: str
    excused: str = "nothing"
    defined: bool = True


# Values.


def promise_of(relation: Relation) -> Promise:
    """Return the promises of a relation in its direction."""
    excused = "nothing"
    if "stabilize" in relation.tags:
        excused = "graph" if is_stabilising(relation) else "both"
    defined = not relation.backward or _registered(relation)
    return Promise(relation.rounding, relation.specials, excused, defined)


def disagreement(
    relation: Relation,
    graph: Variable,
    values: Values,
    kind: str,
    promise: Promise | None = None,
) -> Problem | bool:
    """Compare the values of a graph and its replacement under the labels of the relation.

    ``kind`` says how the values were drawn; ``promise`` replaces the promises of the labels.
    """
    promise = promise or promise_of(relation)
    result = match(relation, graph)
    if result is None:
        return SKIPPED
    if not result.type.narrows(graph.type):
        return Problem(CHANGES_TYPE, graph.type, result.type)
    extra = extra_inputs(relation, graph, result)
    if extra is not None:
        return extra
    try:
        expected = evaluate((graph,), values)[graph]
    except ValueError:  # sizes that are operands may not fit
        return SKIPPED
    try:
        done = evaluate((graph, result), values)
    except np.linalg.LinAlgError:
        return SKIPPED
    except ValueError as error:
        return Problem(FAILS, expected, error)
    if not all_finite(_finite_by_promise(promise, graph, done, kind)):
        return SKIPPED
    a, b = done[graph], done[result]
    if promise.excused != "nothing" and kind == "extreme":
        agree = all_finite({result: b})  # mpmath judges the digits
    elif promise.rounding == "exact":
        agree = same(a, b)
    else:
        eps = coarsest(done, graph)
        agree = close(a, b, done, eps)
        if not agree:
            # A stable form may be closer to the exact value than its graph.
            judged = (graph, result) if promise.excused == "nothing" else (result,)
            ranges = promise.rounding == "rounded" and kind == "moderate"
            explained = judge.explains((graph, result), judged, done, values, eps, ranges=ranges)
            if explained is not None:
                return explained
    return HELD if agree else Problem(CHANGES_VALUE, a, b)


def extra_inputs(relation: Relation, graph: Variable, result: Variable) -> Problem | None:
    """Return a problem if a result has inputs that neither the graph nor the relation has."""
    expected, inputs = inputs_of(relation, graph), free_inputs([result])
    if set(inputs) <= set(expected):
        return None
    first, second = (", ".join(map(str, x)) or "no inputs" for x in (expected, inputs))
    return Problem(INVENTS_INPUT, first, second)


def _finite_by_promise(
    promise: Promise, graph: Variable, done: dict[Variable, Any], kind: str
) -> dict[Variable, Any]:
    """Return the values that must be finite for the promise to apply.

    For finite inputs, a stable form may be finite where its graph overflows, but not the reverse.
    If a relation assumes finite values, the built graph may also overflow; but it may not be NaN
    for finite values, since it would be undefined where its graph is defined.
    """
    if promise.specials == "assumes_finite":
        of_graph = {x: done[x] for x in toposort([graph])}
        others = [done[x] for x in done.keys() - of_graph.keys()]
        some = all(np.size(x) for x in done.values())  # an empty sum has no value to divide
        return of_graph if promise.defined and some and _undefined(others) else done
    if promise.excused == "nothing" or kind not in ("moderate", "extreme"):
        return {}
    return {x: done[x] for x in toposort([graph])} if promise.excused == "graph" else done


def _undefined(values: Iterable[Any]) -> bool:
    """Return True if a value is NaN and none is infinite, so that no overflow explains it."""
    floats = [x for x in map(np.asarray, values) if x.dtype.kind == "f"]
    return any(np.isnan(x).any() for x in floats) and not any(np.isinf(x).any() for x in floats)


def coarsest(done: dict[Variable, Any], graph: Variable) -> float:
    """Return the relative spacing of the narrowest floats in a graph's own computation."""
    dtypes = {done[x].dtype for x in toposort([graph]) if done[x].dtype.kind == "f"}
    return max([float(np.finfo(d).eps) for d in dtypes], default=0.0)


def keeps_values(
    relation: Relation,
    dtypes: tuple[str, ...] = ("float64",),
    most: int = 24,
    kinds: tuple[str, ...] = ("moderate",),
    draws: int = 2,
    *,
    equal: bool = False,
) -> Outcome:
    """Check type and value wherever a direction fires on graphs of its own sides.

    ``most`` bounds the instances of each clause, and ``draws`` the draws of each kind of values for
    each instance; with ``equal``, all sizes are equal.
    """
    tried, idle = 0, []
    for clause, sides in cases(relation, dtypes, most, equal=equal):
        before = tried
        for graph, result, instance in firings(relation, sides):
            regular = needs_regular(graph, result)
            for kind in kinds:
                for number in range(draws):
                    rng = generator(relation.name, str(instance), kind, number)
                    values = _drawn(instance.inputs, rng, kind, regular, number)
                    verdict = disagreement(relation, graph, values, kind)
                    if isinstance(verdict, Problem):
                        failure = smallest(relation, clause, disagreement, (graph, values, kind))
                        return Outcome(tried, failure)
                    tried += verdict
        if tried == before:
            idle.append(clause)
    return Outcome(tried, None, never_compared(relation, idle))


def _drawn(
    inputs: Iterable[Input], rng: np.random.Generator, kind: str, regular: bool, number: int
) -> Values:
    """Return values for inputs; named and unknown sizes change from one draw to the next.

    In every third draw of extreme values, operands cancel.
    """
    size = SIZES[number % len(SIZES)]
    values = {x.name: draw(x, rng, kind, regular, size) for x in inputs}
    plain = [x for x in inputs if x.dtype.kind == "f" and not x.facts]
    if kind == "extreme" and number % 3 == 2 and plain:
        first, *others = plain
        values |= {x.name: -values[first.name] for x in others if x.type is first.type}
    return values


def fires_on_arrays(relation: Relation) -> Outcome:
    """Look for clauses that fire on no array, or only where one of their operands is a scalar.

    An operand that is always a scalar counts if arrays would have to be broadcast; a condition may
    ask for scalars.  ``misses`` has the first test that failed on an array.
    """
    clauses: list[Clause] = []
    misses: list[tuple[Clause, Place]] = []
    for clause in clauses_of(relation):
        reached, left, fires = _arrays_reached(relation, clause)
        if not left:
            continue
        names = list(left)
        places = nearest_places(relation, [left[names[0]]])
        found = places and places[0].reasons
        stretches = found and places[0].kind == BROADCAST
        if fires and (stretches or not reached):
            clauses.append(clause)
        if found and (stretches or not reached):
            misses.append((clause, places[0]))
    return Outcome(scalars_only=tuple(clauses), misses=tuple(misses))


def _arrays_reached(
    relation: Relation, clause: Clause
) -> tuple[set[str], dict[str, Variable], bool]:
    """Return the inputs that are arrays where a clause fires, and the others, each with a graph.

    The third value is True if it fires at all.
    """
    reached, left, fires = set[str](), dict[str, Variable](), False
    for dtypes in (("float64",), EVERY_DTYPE):
        if reached and not left.keys() - reached:
            break
        for graph, _, instance in sides_of(relation, clause, dtypes):
            arrays = [x.name for x in instance.inputs if _is_array(x)]
            if fires and reached.issuperset(arrays):
                continue
            if match(relation, graph) is not None:
                fires = True
                reached.update(arrays)
            elif graph.op is not None:
                for name in arrays:
                    left.setdefault(name, graph)
    return reached, {name: x for name, x in left.items() if name not in reached}, fires


def _is_array(x: Input) -> bool:
    """Return True for an input of several elements, or of an unknown number."""
    return any(size != 1 for size in x.type.shape)


def keeps_equal_sizes(relation: Relation) -> Outcome:
    """Check type and value with all sizes equal, where types reveal the fewest errors."""
    return keeps_values(relation, most=60, draws=1, equal=True)


def keeps_every_dtype(relation: Relation) -> Outcome:
    """Check type and value with inputs of several dtypes."""
    return keeps_values(relation, EVERY_DTYPE, 60)


def keeps_specials(relation: Relation) -> Outcome:
    """Check the labels for infinities, NaN, zeros of both signs and extreme values."""
    kinds = ("special", "extreme") if relation.specials == "kept" else ("zeros",)
    return keeps_values(relation, ("float64",), 12, kinds, 6)


# Rounding, with mpmath as judge.


def is_stabilising(relation: Relation) -> bool:
    """Return True if a relation, in this direction, must be accurate where its graph is not.

    The tag refers to the direction in ``rg.optdb``, or else to the declared one.
    """
    if "stabilize" not in relation.tags:
        return False
    if _registered(relation):
        return True
    other = relation._twin
    return not relation.backward and (other is None or not _registered(other))


def _registered(relation: Relation) -> bool:
    """Return True if ``rg.optdb`` holds a relation in this direction."""
    return any(
        entry.item is relation
        for database in default_database().databases()
        for entry in database._entries.values()
    )


def inaccuracy(relation: Relation, graph: Variable, values: Values, kind: str) -> Problem | bool:
    """Compare exact values of both sides, and the computed result with them."""
    result = match(relation, graph)
    if result is None:
        return SKIPPED
    with mpmath.workdps(MANY_DIGITS if kind == "large" else DIGITS):
        try:
            left, right = (
                mpmath_semantics.value(graph, values),
                mpmath_semantics.value(result, values),
            )
            if not left.size:
                return SKIPPED
            difference = judge.unequal((graph, result), (left, right), values)
            if difference is not None:
                return difference
            width = mpmath_semantics.bound(result, values, float(np.finfo(graph.dtype).eps), right)
            computed = evaluate((result,), values)[result]
            return judge.within(computed, right, width)
        except Undefined:
            return SKIPPED


def keeps_digits(relation: Relation, dtype: str = "float64") -> Outcome:
    """Check that both sides have one exact value, and results are as accurate as their steps.

    Exact relations promise more, and other checks compare them bit for bit.
    """
    if relation.rounding == "exact":
        return Outcome()
    kinds = ("moderate", "large") if is_stabilising(relation) else ("moderate",)
    judged = 0
    for clause, sides in cases(relation, (dtype,), 40):
        with_digits = (
            side
            for side in sides
            if side[0].dtype.kind == "f" and not any(0 in x.type.shape for x in side[2].inputs)
        )
        for graph, result, instance in islice(firings(relation, with_digits), 2):
            for kind in kinds:
                for values in attempts(relation, graph, result, instance, kind):
                    verdict = inaccuracy(relation, graph, values, kind)
                    if isinstance(verdict, Problem):
                        failure = smallest(relation, clause, inaccuracy, (graph, values, kind))
                        return Outcome(judged, failure)
                    if verdict:
                        judged += 1
                        break
    return Outcome(judged)


def attempts(
    relation: Relation, graph: Variable, result: Variable, instance: Instance, kind: str
) -> Iterator[Values]:
    """Yield values until some are inside the domain of both sides."""
    rng = generator(relation.name, str(instance), kind)
    regular = needs_regular(graph, result)
    for attempt in range(8):
        values = {x.name: draw(x, rng, kind, regular) for x in instance.inputs}
        if attempt == 4:  # some relations need each operand below the previous one
            values |= {
                x.name: (values[x.name] - 6 * i).astype(x.dtype)
                for i, x in enumerate(instance.inputs)
                if x.dtype.kind == "f" and not x.facts
            }
        if attempt > 4:  # some are defined only for positive arguments, in [0, 1] or above 1
            near, far = (0.25, 0) if attempt == 6 else (1, attempt == 7)
            values = {name: (np.abs(v) * near + far).astype(v.dtype) for name, v in values.items()}
        yield values
