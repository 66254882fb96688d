"""The comparison of both sides of a relation on each branch that they can take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import mpmath
import numpy as np

from relgraph.checking.branches.decisions import Branch, branches_of
from relgraph.checking.branches.search import Points, Search, Trial, at, constants_of
from relgraph.checking.evaluation import finite
from relgraph.checking.generators.arrays import generator, shape_of
from relgraph.checking.generators.cases import (
    Firing,
    Side,
    clauses_of,
    drawn_sides,
    firings,
    needs_regular,
    sides_of,
)
from relgraph.checking.generators.instances import examples_of, input_names
from relgraph.checking.generators.shapes import (
    EVERY_DTYPE,
    LINALG,
    Shape,
    dtypes_of,
    is_pointwise,
    shapes_of,
)
from relgraph.checking.matching import inputs_of
from relgraph.checking.outcome import LOSES_DIGITS, SKIPPED, Outcome, Problem, Values
from relgraph.checking.promises import Promise, disagreement, inaccuracy, promise_of
from relgraph.checking.rounding.judge import MANY_DIGITS, underflows
from relgraph.checking.shrinking import Predicate, smallest
from relgraph.ir.graph import free_inputs, toposort
from relgraph.ir.node import Constant, Variable
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation

GRAPHS = 3  # for each clause
WIDER = ("uint16", "int16", "uint32")  # integers that other checks do not draw
TURNS = 3  # rounds of searching for unreached branches
COMPARED = 24  # points to compare singly after all were computed together
JUDGED = 6  # points among these that mpmath judges
TINY = 1e-20  # below this, more digits help
LEAST = 1e-100  # below this, products underflow
EPS = 4  # units in the last place by which sides may differ before mpmath judges them

UNREACHED, NOT_ASKED, REACHED = range(3)

Array = Any
Failing = tuple[Predicate, Values, str]


def stays_defined(relation: Relation) -> Outcome:
    """Look for values where a direction is undefined, although the graph that it matches is not.

    The other checks require it as well, except of directions that ``assumes_finite`` excuses.
    """
    promise = promise_of(relation)
    if promise.specials != "assumes_finite" or promise.defined:
        return Outcome()
    strict = keeps_branches(relation, promise=replace(promise, defined=True))
    return Outcome(undefined=strict.failure)


def keeps_branches(
    relation: Relation,
    samples: Mapping[str, Sequence[float]] | None = None,
    promise: Promise | None = None,
) -> Outcome:
    """Compare both sides on each branch that one of their ops can take.

    ``samples`` are numbers to try for variables, by name; ``promise`` replaces the promises of the
    labels.
    """
    promise = promise or promise_of(relation)
    tried = 0
    state: dict[tuple[Clause, int, str], int] = {}
    names: dict[tuple[Clause, int, str], Branch] = {}
    for clause, drawn in _firings(relation):
        for firing in drawn:
            graph = firing[0]
            comparison = _Comparison(relation, promise, clause, firing, samples or {})
            failing = comparison.run()
            tried += comparison.tried
            if failing is not None:
                predicate, values, kind = failing
                failure = smallest(relation, clause, predicate, (graph, values, kind))
                return Outcome(tried, failure)
            for number, branches in enumerate(comparison.branches.values()):
                for branch in branches:
                    key = clause, number, branch.name
                    names.setdefault(key, branch)
                    state[key] = max(state.get(key, UNREACHED), comparison.state(branch))
    return Outcome(
        tried,
        reached=tuple(names[key] for key, how in state.items() if how == REACHED),
        unreached=tuple(names[key] for key, how in state.items() if how == UNREACHED),
    )


def _firings(relation: Relation) -> Iterator[tuple[Clause, list[Firing]]]:
    """Yield a few graphs of each clause that the relation fires on, graphs of floats first."""
    for clause in clauses_of(relation):
        pools = _pools(relation, clause)
        some = next(filter(None, (list(_preferred(relation, p, GRAPHS)) for p in pools)), [])
        shapes = shapes_of(relation, clause)
        if not is_pointwise(clause) and shapes is not LINALG:
            pool = _pool(relation, clause, ("float64",), shapes.other)
            some += _preferred(relation, pool, 1)
        elif some and all(x.dtype.kind in "iu" for x in some[0][2].inputs):
            some += _preferred(relation, _pool(relation, clause, WIDER), GRAPHS)
        if some:
            yield clause, some


def _pools(relation: Relation, clause: Clause) -> Iterator[list[Side]]:
    """Yield the sides to choose from, the best pool first."""
    if is_pointwise(clause):
        for dtypes in (dtypes_of(clause), ("float64",)):
            yield _pool(relation, clause, dtypes)
    for dtypes in (("float64",), EVERY_DTYPE):
        yield sides_of(relation, clause, dtypes)
    yield _pool(relation, clause, WIDER)


def _pool(
    relation: Relation,
    clause: Clause,
    dtypes: tuple[str, ...],
    shapes: Sequence[Shape] = ((),),
) -> list[Side]:
    return list(drawn_sides(relation, clause, shapes, dtypes, 24))


def _preferred(relation: Relation, pool: Sequence[Side], most: int) -> Iterator[Firing]:
    """Yield the best graphs of a pool that the relation fires on."""
    return islice(firings(relation, sorted(pool, key=_preference)), most)


def _preference(side: Side) -> int:
    """Return a sort key: instances with several elements come first, empty ones last."""
    sizes = [math.prod(shape_of(x)) for x in side[2].inputs]
    return 2 if 0 in sizes else int(not any(1 < s < 40 for s in sizes))


def unexcused(
    relation: Relation, graph: Variable, values: Values, kind: str, promise: Promise | None = None
) -> Problem | bool:
    """Compare both sides as :func:`disagreement` does, except where products may underflow.

    For finite inputs, two sides of one exact value may differ by underflow, provided that no branch
    depends on it.
    """
    verdict = disagreement(relation, graph, values, kind, promise)
    if not isinstance(verdict, Problem):
        return verdict
    excused = relation.specials == "assumes_finite" and relation.rounding != "exact"
    return SKIPPED if _any_below(LEAST, values) and excused else verdict


def _any_below(limit: float, values: Values) -> bool:
    """Return True if a value other than zero is smaller than a limit."""
    return any(np.any((v != 0) & (abs(_floats(v)) < limit)) for v in values.values())


def _numbers_in_conditions(clause: Clause) -> list[float]:
    """Return the finite numbers that the conditions of a clause name."""
    numbers = [x for examples in examples_of(clause).values() for x in examples]
    for c in clause.conditions:
        code = getattr(getattr(c.function, "function", c.function), "__code__", None)
        constants = code.co_consts if code is not None else ()
        numbers += [x for x in constants if isinstance(x, int | float) and not isinstance(x, bool)]
    return [float(x) for x in numbers if math.isfinite(x)]


class _Comparison:
    """One graph and its replacement, on points of each branch."""

    def __init__(
        self,
        relation: Relation,
        promise: Promise,
        clause: Clause,
        firing: Firing,
        samples: Mapping[str, Sequence[float]],
    ) -> None:
        graph, result, instance = firing
        self.relation, self.graph, self.result = relation, graph, result
        self.promise = promise
        self.together = is_pointwise(clause) and all(x.ndim == 0 for x in instance.inputs)
        constants = [*constants_of((graph, result)), *_numbers_in_conditions(clause)]
        names = input_names(clause)
        self.search = Search(
            (graph, result),
            inputs_of(relation, graph),
            [*dict.fromkeys(constants)],
            generator(relation.name, str(instance), "branches"),
            together=self.together,
            samples={names[v]: samples[v] for v in names if v in samples},
            regular=needs_regular(graph, result),
        )
        self.branches: dict[Variable, dict[Branch, bool]] = {}
        self._labels: dict[Variable, dict[int, Branch]] = {}
        self._met: dict[Branch, bool] = {}
        for x in self.search.deciding:
            self._labels[x] = branches_of(x, relation.specials)
            self.branches[x] = dict.fromkeys(self._labels[x].values(), False)
        self.tried = self._judged = 0

    def run(self) -> Failing | None:
        """Compare until each branch is taken or rounds are used up; return the failure, if any."""
        search = self.search
        if not search.inputs:
            return None
        base = search.trial(*search.lines())
        failing = self.compare(base)
        points = search.crossings(base, self.unreached) if self.together else None
        for _ in range(TURNS):
            if failing is not None:
                return failing
            if points is not None:
                failing = self.compare(search.trial(points))
            if failing is not None or not self.unreached:
                return failing
            points = self._closer(base)
        return failing

    def _closer(self, base: Trial) -> Points | None:
        """Return points near where an unreached branch may begin."""
        search = self.search
        if not self.together:
            return search.crossings(base, self.unreached)
        peaks = search.peaks(base, self.unreached)
        if peaks is None:
            return None
        size = len(next(iter(peaks.values())))
        trial = search.trial(peaks, [(i, i + 2) for i in range(0, size, 2)])
        return search.crossings(trial, self.unreached) or peaks

    @property
    def unreached(self) -> list[Variable]:
        """The nodes with a branch that no sample has taken yet."""
        return [x for x, taken in self.branches.items() if not all(taken.values())]

    def compare(self, trial: Trial) -> Failing | None:
        """Compare both sides at points; return the failing values and their predicate, if any."""
        if not self.together:
            return self._each(trial)
        promised, agree, close = self._verdicts(trial)
        for i in self._worst(trial, promised & ~close):
            failing = self._judge(at(trial.points, i))
            if failing is not None:
                return failing
        held = promised & close
        self.tried += int(held.sum())
        self._note(trial, held, promised)
        for i in self._spread(trial, promised & close & ~agree):
            if self._judged >= JUDGED:
                break
            self._judged += 1
            failing = self._exactly(at(trial.points, i))
            if failing is not None:
                return failing
        return None

    def _note(self, trial: Trial, held: Any, promised: Any) -> None:
        """Record branches taken where sides were compared, or where labels promise nothing."""
        for x, mask in trial.masks.items():
            taken, met = (
                int(np.bitwise_or.reduce(mask[some], initial=0)) for some in (held, ~promised)
            )
            for label, branch in self._labels[x].items():
                self.branches[x][branch] |= bool(taken >> label & 1)
                self._met[branch] = self._met.get(branch, False) or bool(met >> label & 1)

    def state(self, branch: Branch) -> int:
        """Return whether the sides were compared on a branch.

        A branch is not required if only inputs without any promise take it, or if no input does:
        for bool inputs, every combination was tried.
        """
        if self.branches[branch.node][branch]:
            return REACHED
        whole = self.together and all(x.dtype.kind == "b" for x in free_inputs([branch.node]))
        return NOT_ASKED if whole or self._met.get(branch) else UNREACHED

    def _verdicts(self, trial: Trial) -> tuple[Any, Any, Any]:
        """Return masks: where labels promise something, where sides agree, where they are close."""
        done, size = trial.done, trial.size
        a, b = done[self.graph], done[self.result]
        floats = [x for x in done if done[x].dtype.kind == "f" and not isinstance(x, Constant)]
        in_graph = set(toposort([self.graph]))
        true: Array = np.ones(size, bool)
        is_finite = {x: np.isfinite(done[x]) for x in floats}
        of_graph = np.logical_and.reduce([true, *[is_finite[x] for x in floats if x in in_graph]])
        of_both = np.logical_and.reduce([true, *is_finite.values()])
        promised: Array = true
        if self.promise.specials == "assumes_finite":
            others = [done[x] for x in floats if x not in in_graph]
            nan = np.logical_or.reduce([~true, *[np.isnan(v) for v in others]])
            infinite = np.logical_or.reduce([~true, *[np.isinf(v) for v in others]])
            undefined = nan & ~infinite if self.promise.defined else ~true
            promised = np.where(undefined, of_graph, of_both)
        elif self.promise.excused != "nothing":
            inputs = [is_finite[x] for x in floats if x.op is None]
            usual = np.logical_and.reduce([true, *inputs])
            held = of_graph if self.promise.excused == "graph" else of_both
            # With infinities, only numbers for which no step under- or overflows.
            either = [~is_finite[x] | (np.abs(done[x]) <= 4) for x in floats if x.op is None]
            promised = np.where(usual, held, np.logical_and.reduce([true, *either]))
        if a.dtype.kind != "f" or a.dtype != b.dtype:
            agree = (a == b) if a.dtype == b.dtype else ~true
            return promised, agree, agree
        with np.errstate(all="ignore"):
            nan = np.isnan(a) & np.isnan(b)
            if self.promise.rounding == "exact":
                agree = nan | ((a == b) & (np.signbit(a) == np.signbit(b)))
                return promised, agree, agree
            eps = float(np.finfo(a.dtype).eps)
            agree = nan | (a == b) | (np.abs(a - b) <= EPS * eps * np.abs(b))
            tops = [np.where(np.isfinite(v), np.abs(v), 0) for v in map(_floats, done.values())]
            scale = np.maximum.reduce([np.ones(size), *tops])
            close = agree | (np.abs(a - b) <= 256 * eps * scale)
        return promised, agree, close

    def _worst(self, trial: Trial, mask: Any) -> list[int]:
        """Return a few of these points; those with a finite side and usual numbers come first."""
        (indices,) = np.nonzero(mask)
        size = np.zeros(len(indices))
        with np.errstate(all="ignore"):
            for v in trial.points.values():
                exponent = np.log10(np.abs(_floats(v[indices])))
                size += np.where(np.isfinite(exponent), np.abs(exponent), 0)
            a, b = (_floats(trial.done[x][indices]) for x in (self.graph, self.result))
            one_finite = np.isfinite(a) != np.isfinite(b)
        return [int(i) for i in indices[np.lexsort((size, ~one_finite))][:COMPARED]]

    def _spread(self, trial: Trial, mask: Any) -> list[int]:
        """Return a few of these points, on different branches."""
        (indices,) = np.nonzero(mask)
        masks = np.array([trial.masks[x][indices] for x in trial.masks]).T
        groups: dict[Any, list[int]] = {}
        for i, row in zip(indices, masks if len(masks) else [()] * len(indices), strict=True):
            groups.setdefault(tuple(row), []).append(int(i))
        samples = [group[:: max(1, len(group) // 3)] for group in groups.values()]
        return [g[k] for k in range(3) for g in samples if k < len(g)]

    def _judge(self, values: Values) -> Failing | None:
        """Compare at one point."""
        kind = "moderate" if finite(values.values()) else "special"
        predicate = partial(unexcused, promise=self.promise)
        verdict = predicate(self.relation, self.graph, values, kind)
        self.tried += verdict is True
        return (predicate, values, kind) if isinstance(verdict, Problem) else None

    def _exactly(self, values: Values) -> Failing | None:
        """Compare exact values at one point."""
        if not finite(values.values()):
            return None
        verdict = inaccuracy(self.relation, self.graph, values, "moderate")
        if _any_below(TINY, values) or isinstance(verdict, Problem):
            verdict = inaccuracy(self.relation, self.graph, values, "large")
        if not isinstance(verdict, Problem):
            return None
        with mpmath.workdps(MANY_DIGITS):
            lost = verdict.what == LOSES_DIGITS and underflows((self.graph, self.result), values)
        return None if lost else (inaccuracy, values, "large")

    def _each(self, trial: Trial) -> Failing | None:
        """Compare at each point alone."""
        held, promised = np.zeros(trial.size, bool), np.zeros(trial.size, bool)
        for i in range(trial.size):
            values = at(trial.points, i)
            if not finite(values.values()):
                continue
            before = self.tried
            failing = self._judge(values)
            if failing is not None:
                return failing
            held[i] = promised[i] = self.tried > before
        self._note(trial, held, promised)
        return None


def _floats(v: Array) -> Array:
    return v if v.dtype.kind == "f" else v.astype(float)
