"""Checks of a relation's promises on graphs built from its sides: type, value, rounding, specials.

Every check returns an :class:`Outcome`: the number of comparisons, and the smallest counterexample
if the relation breaks a promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

from relgraph.backends.numpy.interpreter import NumpyBackend
from relgraph.checking import instances as made
from relgraph.checking import mpmath_linalg, mpmath_semantics, numbers, rounding
from relgraph.checking.branches import Branch
from relgraph.checking.cases import (
    EVERY_DTYPE,
    Side,
    cases,
    generator,
    needs_regular,
    one_sided,
    registered,
)
from relgraph.checking.rounding import DIGITS, HELD, MANY_DIGITS, SKIPPED
from relgraph.checking.shrinking import Counterexample, Problem, Values, smallest
from relgraph.errors import RelgraphError
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.forks import cached_property
from relgraph.ir.graph import FunctionGraph, free_inputs, toposort
from relgraph.ir.node import Variable, make_input
from relgraph.ir.types import TensorType
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation

FAILS = "makes a graph that fails where the one it matches does not"
SIZES = (3, 2, 1, 0)  # values of named and unknown sizes
CALLS = 5  # calls of one graph with different sizes, the last with size 0


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
        written.
    """

    rounding: str
    specials: str
    excused: str = "nothing"
    defined: bool = True


@dataclass(frozen=True)
class Outcome:
    """The result of a check.

    Attributes
    ----------
    tried : int
        How many comparisons were made.
    failure : Counterexample or None
        The smallest counterexample.
    idle : tuple of Clause
        Clauses for which no graph was compared.
    reached, unreached : tuple of Branch
        The branches on which the check compared the sides, and the others.
    """

    tried: int = 0
    failure: Counterexample | None = None
    idle: tuple[Clause, ...] = ()
    reached: tuple[Branch, ...] = ()
    unreached: tuple[Branch, ...] = ()


# Values.


def promise_of(relation: Relation) -> Promise:
    """Return the promises of a relation in its direction."""
    excused = "nothing"
    if "stabilize" in relation.tags:
        excused = "graph" if is_stabilising(relation) else "both"
    return Promise(relation.rounding, relation.specials, excused, not relation.backward)


def disagreement(
    relation: Relation,
    graph: Variable,
    values: Values,
    kind: str,
    promise: Promise | None = None,
) -> Problem | bool:
    """Compare the values of a graph and its replacement under the labels of the relation.

    Parameters
    ----------
    relation : Relation
        In one direction.
    graph : Variable
        The graph; if the relation does not match it, there is nothing to judge.
    values : dict of str to array
        For the inputs.
    kind : str
        How they were drawn.
    promise : Promise, optional
        The promises to check instead of those of the relation's labels.
    """
    promise = promise or promise_of(relation)
    result = made.match(relation, graph)
    if result is None:
        return SKIPPED
    if not result.type.narrows(graph.type):
        return Problem("changes a type", graph.type, result.type)
    made_up = _made_up(relation, graph, result)
    if made_up is not None:
        return made_up
    try:
        expected = numbers.evaluate((graph,), values)[graph]
    except ValueError:  # sizes that are operands may not fit
        return SKIPPED
    try:
        done = numbers.evaluate((graph, result), values)
    except np.linalg.LinAlgError:
        return SKIPPED
    except ValueError as error:
        return Problem(FAILS, expected, error)
    if not numbers.all_finite(_asked_to_be_finite(promise, graph, done, kind)):
        return SKIPPED
    a, b = done[graph], done[result]
    if promise.excused != "nothing" and kind == "extreme":
        agree = numbers.all_finite({result: b})  # mpmath judges the digits
    elif promise.rounding == "exact":
        agree = numbers.same(a, b, True)
    else:
        eps = coarsest(done, graph)
        agree = numbers.close(a, b, done, eps)
        if not agree:
            # A stable form may be closer to the exact value than its graph.
            judged = (graph, result) if promise.excused == "nothing" else (result,)
            ranges = promise.rounding == "rounded" and kind == "moderate"
            explained = rounding.explains((graph, result), judged, done, values, eps, ranges=ranges)
            if explained is not None:
                return explained
    return HELD if agree else Problem("changes a value", a, b)


def _made_up(relation: Relation, graph: Variable, result: Variable) -> Problem | None:
    """Return a problem if a result has inputs that neither the graph nor the relation has."""
    known, found = made.inputs_of(relation, graph), free_inputs([result])
    if set(found) <= set(known):
        return None
    first, second = (", ".join(map(str, inputs)) or "no inputs" for inputs in (known, found))
    return Problem("makes up an input", first, second)


def _asked_to_be_finite(
    promise: Promise, graph: Variable, done: dict[Variable, Any], kind: str
) -> dict[Variable, Any]:
    """Return the values that must be finite for the promise to apply.

    For finite inputs, a stable form may be finite where its graph overflows, but not the reverse.
    If a relation assumes finite values, the built graph may also overflow; but it may not be NaN
    for finite values, since it would be undefined where its graph is defined.
    """
    if promise.specials == "assumes_finite":
        own = {x: done[x] for x in toposort([graph])}
        others = [done[x] for x in done.keys() - own.keys()]
        some = all(np.size(x) for x in done.values())  # an empty sum has no value to divide
        return own if promise.defined and some and undefined(others) else done
    if promise.excused == "nothing" or kind not in ("moderate", "extreme"):
        return {}
    return {x: done[x] for x in toposort([graph])} if promise.excused == "graph" else done


def undefined(values: Iterable[Any]) -> bool:
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

    Parameters
    ----------
    relation : Relation
        In one direction.
    dtypes : tuple of str
        The dtypes to draw for each input.
    most : int
        The number of instances of each clause.
    kinds : tuple of str
        Which values to draw; see :func:`relgraph.checking.numbers.draw`.
    draws : int
        The number of draws for each instance.
    equal : bool
        Whether all sizes are equal.
    """
    tried, idle = 0, []
    for clause, sides in cases(relation, dtypes, most, equal=equal):
        before = tried
        for graph, _, instance in sides:
            result = made.match(relation, graph)
            if result is None:
                continue
            regular = needs_regular(graph, result)
            for kind in kinds:
                for number in range(draws):
                    rng = generator(relation.name, str(instance), kind, number)
                    values = _drawn(instance.inputs, rng, kind, regular, number)
                    verdict = disagreement(relation, graph, values, kind)
                    if isinstance(verdict, Problem):
                        found = smallest(relation, clause, disagreement, (graph, values, kind))
                        return Outcome(tried, found)
                    tried += verdict
        if tried == before:
            idle.append(clause)
    return Outcome(tried, None, tuple(idle))


def on_scalars_only(relation: Relation) -> tuple[Clause, ...]:
    """Return the clauses that fire on scalar graphs, but on no arrays of their sides."""
    found = []
    for clause in relation.clauses or ():
        fires = {False: 0, True: 0}
        arrays = 0
        for dtypes in (("float64",), EVERY_DTYPE):
            for graph, _, instance in _sides_of(relation, clause, dtypes):
                whole = any(x.ndim for x in instance.inputs)
                arrays += whole
                fires[whole] += made.match(relation, graph) is not None
                if fires[True]:
                    break
        if arrays and fires[False] and not fires[True]:
            found.append(clause)
    return tuple(found)


def _sides_of(relation: Relation, clause: Clause, dtypes: tuple[str, ...]) -> list[Side]:
    return [side for c, sides in cases(relation, dtypes) if c is clause for side in sides]


def _drawn(inputs: Any, rng: Any, kind: str, regular: bool, number: int) -> Values:
    """Return values for inputs; named and unknown sizes change from one draw to the next.

    In every third draw of extreme values, operands cancel.
    """
    size = SIZES[number % len(SIZES)]
    values = {x.name: numbers.draw(x, rng, kind, regular, size) for x in inputs}
    plain = [x for x in inputs if x.dtype.kind == "f" and not x.facts]
    if kind == "extreme" and number % 3 == 2 and plain:
        first, *others = plain
        values |= {x.name: -values[first.name] for x in others if x.type is first.type}
    return values


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
    if registered(relation):
        return True
    other = relation._twin
    return not relation.backward and (other is None or not registered(other))


def inaccuracy(relation: Relation, graph: Variable, values: Values, kind: str) -> Problem | bool:
    """Compare exact values of both sides, and the computed result with them."""
    result = made.match(relation, graph)
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
            difference = rounding.unequal((graph, result), (left, right), values)
            if difference is not None:
                return difference
            width = mpmath_semantics.bound(result, values, float(np.finfo(graph.dtype).eps), right)
            computed = numbers.evaluate((result,), values)[result]
            return rounding.within(computed, right, width)
        except mpmath_linalg.Undefined:
            return SKIPPED


def keeps_digits(relation: Relation, dtype: str = "float64") -> Outcome:
    """Check that both sides have one exact value, and results are as accurate as their steps."""
    kinds = ("moderate", "large") if is_stabilising(relation) else ("moderate",)
    judged = 0
    for clause, sides in cases(relation, (dtype,), 40):
        fired = [
            (graph, instance)
            for graph, _, instance in sides
            if graph.dtype.kind == "f"
            and not any(0 in x.type.shape for x in instance.inputs)  # empty: no digits to judge
            and made.match(relation, graph) is not None
        ]
        for graph, instance in fired[:2]:
            for kind in kinds:
                for values in _positions(relation, graph, instance, kind):
                    verdict = inaccuracy(relation, graph, values, kind)
                    if isinstance(verdict, Problem):
                        found = smallest(relation, clause, inaccuracy, (graph, values, kind))
                        return Outcome(judged, found)
                    if verdict:
                        judged += 1
                        break
    return Outcome(judged)


def _positions(
    relation: Relation, graph: Variable, instance: made.Instance, kind: str
) -> Iterator[Values]:
    rng = generator(relation.name, str(instance), kind)
    regular = needs_regular(graph, made.match(relation, graph))
    for attempt in range(8):
        values = {x.name: numbers.draw(x, rng, kind, regular) for x in instance.inputs}
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


# Sizes known only at the call.


class _Calls:
    """A graph that a direction matches and its replacement, callable with arrays of any sizes.

    Parameters
    ----------
    relation : Relation
        In one direction.
    graph : Variable
        A graph that it matches.
    """

    def __init__(self, relation: Relation, graph: Variable) -> None:
        result = made.match(relation, graph)
        assert result is not None
        self.graph, self.result = graph, result
        self.inputs = made.inputs_of(relation, graph)
        self.made_up = _made_up(relation, graph, result)

    @cached_property
    def programs(self) -> tuple[Any, Any]:
        """The programs of the graph and of its replacement."""
        first, second = (
            NumpyBackend().compile(FunctionGraph(self.inputs, [x]))
            for x in (self.graph, self.result)
        )
        return first, second

    def verdict(self, values: Values, kind: str) -> Problem | bool:
        """Run both on arrays of these sizes, if the graph runs on them."""
        if not _fit(self.inputs, values):
            return SKIPPED
        if self.made_up is not None:
            return self.made_up
        arrays = [values[x.name] for x in self.inputs]
        first, second = self.programs
        try:
            expected = np.asarray(first(arrays)[0])
        except (RelgraphError, np.linalg.LinAlgError, ValueError):
            return SKIPPED
        try:
            found = np.asarray(second(arrays)[0])
        except (RelgraphError, np.linalg.LinAlgError, ValueError) as error:
            return Problem(FAILS, expected, error)
        if found.shape != expected.shape or found.dtype != expected.dtype:
            return Problem("changes a shape or dtype", expected, found)
        both = self.graph, self.result
        if kind == "moderate" and numbers.all_finite(numbers.evaluate(both, values)):
            with np.errstate(all="ignore"):
                agree = np.allclose(found, expected, rtol=1e-6, atol=1e-6)
            return HELD if agree else Problem("changes a value", expected, found)
        return HELD


def _fit(inputs: list[Any], values: Values) -> bool:
    """Return True if arrays have the sizes that inputs declare, equal ones for equal names."""
    sizes: dict[Any, int] = {}
    for x in inputs:
        for wanted, size in zip(x.type.shape, values[x.name].shape, strict=True):
            if wanted is not None and sizes.setdefault(wanted, size) != size:
                return False
            if isinstance(wanted, int) and wanted != size:
                return False
    return True


def runs_wherever(relation: Relation) -> Outcome:
    """Check that the built graph runs wherever the matched one does, for any sizes at the call."""
    graphs = dict.fromkeys((*one_sided(relation), *one_sided(relation, alike=True)))
    return _runs_on(relation, list(graphs))


def _runs_on(relation: Relation, graphs: list[tuple[Clause, Variable]]) -> Outcome:
    checked = 0
    failures = []
    for clause, graph in graphs:
        calls = _Calls(relation, graph)
        regular, text = needs_regular(graph, calls.result), str(graph)
        for number in range(CALLS):
            rng = generator(relation.label, text, number)
            kind = "zeros" if regular and number % 2 else "moderate"
            size = 0 if number == CALLS - 1 else None
            values = arguments(calls.inputs, rng, kind, regular and kind == "moderate", size)
            verdict = calls.verdict(values, kind)
            if isinstance(verdict, Problem):
                failures.append(
                    Counterexample(relation, clause, graph, calls.result, values, verdict)
                )
            checked += not isinstance(verdict, Problem) and verdict
    return Outcome(checked, min(failures, key=_elements, default=None))


def _elements(found: Counterexample) -> tuple[int, int]:
    return len(found.values), sum(v.size + v.ndim for v in found.values.values())


def arguments(
    inputs: list[Any],
    rng: np.random.Generator,
    kind: str,
    regular: bool,
    size: int | None = None,
) -> Values:
    """Return arrays for inputs; unknown sizes mostly agree, or all equal ``size``."""
    sizes = {None: int(rng.choice([0, 1, 2, 3])), "n": int(rng.choice([0, 1, 2, 3]))}
    if rng.random() < 0.6:
        sizes["n"] = sizes[None] = 3
    if size is not None:
        sizes = {None: size, "n": size}
    for d in dict.fromkeys(d for x in inputs for d in x.type.shape if not isinstance(d, int)):
        sizes.setdefault(d, sizes["n"])
    found = {}
    for x in inputs:
        shape = [
            int(rng.integers(4))
            if d is None and size is None and rng.random() < 0.15
            else sizes.get(d, d)
            for d in x.type.shape
        ]
        if x.facts & set(MATRIX_FACTS):  # declared facts must hold
            fixed = [d for d in x.type.shape[-2:] if isinstance(d, int)]
            shape[-2:] = [fixed[0] if fixed else shape[-1]] * 2
        value = numbers.draw(
            make_input(x.name, TensorType(x.dtype, shape), x.facts), rng, kind, regular
        )
        if kind == "zeros" and not x.facts:
            value = np.where(rng.random(value.shape) < 0.5, 0.0, value)
        found[x.name] = value.astype(x.dtype)
    return found
