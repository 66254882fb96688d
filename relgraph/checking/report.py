"""The report of the check of one relation, to print, test for truth, or raise."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from relgraph.checking.branches.decisions import Branch
from relgraph.checking.outcome import Counterexample, Outcome
from relgraph.errors import RelationError, compose
from relgraph.ir.graph import free_inputs
from relgraph.ir.node import Variable
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation
from relgraph.viz.display import Displayed
from relgraph.viz.document import Element, Facts, Heading, Note

T = TypeVar("T")
_PLURAL = re.compile(r"(?<=[^s])s\b")

# The checks that report for which clauses they compared values.
BY_CLAUSE = ("values", "values of equal sizes", "values of other dtypes", "special values")
_SAMPLE_ADVICE = (
    "Give numbers that take it, as in rg.check(relation, samples={'x': [1e5]}), or add a condition "
    "(where=) that leaves it out, such as rg.positiveo(x)."
)
_UNTRIED_ADVICE = (
    "Either its conditions are never proved, or none of the tried shapes and dtypes fit."
)
_BROADCAST_ADVICE = (
    "With ops that are not elementwise, broadcast operands do not match: if the relation also "
    "holds for arrays, declare broadcast=, with the names of the operands or '*'."
)


class RelationReport(Displayed):
    """The report on one relation; true if everything was tried and nothing contradicts it.

    Parameters
    ----------
    relation : Relation
        The relation, as passed to the check.
    outcomes : mapping of str to mapping of str to Outcome
        The outcome of each check, by direction and label.
    refused : mapping of str to str
        Why the other directions cannot run, by label.

    Attributes
    ----------
    counterexample : Counterexample or None
        The smallest counterexample.
    untried : mapping of str to tuple of Clause
        For each direction that runs, the clauses without any comparison of values: they did not
        fire, or only where the labels promise nothing.
    reached, unreached : mapping of str to tuple of Branch
        For each direction that runs, the branches of ``where``, ``clip``, comparisons and the like
        on which values were compared, and the branches that no sample took.
    left_out : mapping of str to tuple of Variable
        For each direction, graphs of its matched side on which it is false and does not fire.
    unstable : mapping of str to Loss
        An example for each direction that loses digits.
    undefined : mapping of str to Counterexample
        An example for each direction that is undefined where the graph that it matches is not.
    scalars_only : mapping of str to tuple of Clause
        For each direction, clauses that fire only where an operand is a scalar, although arrays
        fit.
    misses : mapping of str to tuple of (Clause, Place)
        For each direction, clauses that fire on no array, each with the first test that fails on
        one.
    """

    def __init__(
        self,
        relation: Relation,
        outcomes: Mapping[str, Mapping[str, Outcome]],
        refused: Mapping[str, str],
    ) -> None:
        self.relation = relation
        self.outcomes = outcomes
        self.refused = refused
        everything = [o for by_name in outcomes.values() for o in by_name.values()]
        failures = [o.failure for o in everything if o.failure is not None]
        self.counterexample: Counterexample | None = failures[0] if failures else None
        self.untried = {x: idle for x, by_name in outcomes.items() if (idle := _idle(by_name))}
        self.reached = self._of_outcomes(lambda o: o.reached)
        self.unreached = self._of_outcomes(lambda o: o.unreached)
        self.left_out = self._of_outcomes(lambda o: o.left_out)
        self.scalars_only = self._of_outcomes(lambda o: o.scalars_only)
        self.misses = self._of_outcomes(lambda o: o.misses)
        each = [(label, o) for label, by_name in outcomes.items() for o in by_name.values()]
        self.unstable = {label: o.loss for label, o in each if o.loss is not None}
        self.undefined = {label: o.undefined for label, o in each if o.undefined is not None}

    def _of_outcomes(self, field: Callable[[Outcome], tuple[T, ...]]) -> dict[str, tuple[T, ...]]:
        """Return what the outcomes of each direction list in a field, where there is something."""
        lists = {
            label: tuple(dict.fromkeys(x for o in by_name.values() for x in field(o)))
            for label, by_name in self.outcomes.items()
        }
        return {label: items for label, items in lists.items() if items}

    def __bool__(self) -> bool:
        return (
            self.counterexample is None
            and self.tried > 0
            and not (self.untried or self.unreached or self.scalars_only)
        )

    @property
    def undecided(self) -> bool:
        """Whether nothing contradicts the relation, but one of its branches was never taken."""
        return self.counterexample is None and bool(self.unreached)

    def with_counterexample(self, counterexample: Counterexample) -> RelationReport:
        """Return the report with another counterexample."""
        report = RelationReport(self.relation, self.outcomes, self.refused)
        report.counterexample = counterexample
        return report

    @property
    def tried(self) -> int:
        """How many comparisons were made."""
        return sum(o.tried for by_name in self.outcomes.values() for o in by_name.values())

    def raise_(self) -> None:
        """Raise an error if the relation is refuted, or if parts of it could not be compared.

        Raises
        ------
        UnsoundRelationError
            If the relation is refuted; the error shows the smallest counterexample.
        RelationError
            If a clause could not be compared on any graph, or no sample took one of its branches.
        """
        if self.counterexample is not None:
            raise self.counterexample.error()
        if not self:
            raise RelationError(*self._untried())

    def __str__(self) -> str:
        return compose(*self._message())

    def _message(self) -> tuple[str, list[tuple[str, object]], str]:
        """Return the verdict, named facts, and advice."""
        if self.counterexample is not None:
            error = self.counterexample.error()
            return error.what, list(self.counterexample.rows()), error.fix
        relation = self.relation
        rows: list[tuple[str, object]] = [
            ("relation", relation),
            ("promises", f"{relation.rounding}, {relation.specials}"),
        ]
        for label, by_name in self.outcomes.items():
            counts = [counted(o.tried, name) for name, o in by_name.items() if o.tried]
            rows += [(label, ", ".join(counts) or "nothing")]
            rows += [("never compared", c) for c in self.untried.get(label, ())]
            rows += [("branches taken", x) for x in _by_node(self.reached.get(label, ()))]
            if label in self.unstable:
                rows += [("loses digits", self.unstable[label])]
            if label in self.undefined:
                rows += [("undefined", self.undefined[label].example())]
            rows += [("false, and left alone", _typed(x)) for x in self.left_out.get(label, ())[:2]]
        rows += [(f"{label} cannot run", why) for label, why in self.refused.items()]
        if not self:
            return self._untried()
        return f"nothing contradicts {relation.name}", rows, ""

    def _untried(self) -> tuple[str, list[tuple[str, object]], str]:
        rows: list[tuple[str, object]] = [("relation", self.relation)]
        rows += [(f"{label} cannot run", why) for label, why in self.refused.items()]
        what = f"{self.relation.name} could not be tried: it fires on no graph built from its sides"
        if self.tried and not self.untried:
            labels = [*self.unreached, *self.scalars_only]
            for label in dict.fromkeys(labels):
                lines = _by_node(self.unreached.get(label, ()))
                rows += [(f"{label}, never taken", x) for x in lines]
                lines = _by_node(self.reached.get(label, ()))
                rows += [(f"{label}, taken", x) for x in lines]
                rows += [(f"{label}, on scalars", c) for c in self.scalars_only.get(label, ())]
            if self.unreached:
                what = f"{self.relation.name} is undecided: no sample takes a branch of its sides"
                return what, rows, _SAMPLE_ADVICE
            what = f"{self.relation.name} fires only on scalars"
            return what, rows + self._missed(), _BROADCAST_ADVICE
        if self.tried:
            what = f"{self.relation.name} could not be tried in full: this was never compared"
            rows += [(label, c) for label, idle in self.untried.items() for c in idle]
        missed = self._missed()
        if self.misses.keys() >= self.outcomes.keys():
            what = f"{self.relation.name} fires on no array"
        return what, rows + missed, self._advice() if missed else _UNTRIED_ADVICE

    def _missed(self) -> list[tuple[str, object]]:
        """Return a row for each direction that fires on no array, with the test that fails."""
        rows: list[tuple[str, object]] = []
        for label, misses in self.misses.items():
            for _, place in misses[:2]:
                rows.append(
                    (f"{label}, on arrays", f"at {_typed(place.node)}, {place.reason.text}")
                )
        return rows

    def _advice(self) -> str:
        """Return what would make the first clause fire that fires on no array."""
        ((_, place), *_), *_ = self.misses.values()
        return place.reason.advice

    def _document(self) -> list[Element]:
        what, rows, fix = self._message()
        tone = "good" if self else "bad" if self.counterexample is not None else ""
        facts = Facts(tuple([(name, str(value)) for name, value in rows]))
        return [Heading(what, tone), facts, *([Note(fix)] if fix else [])]

    def __repr__(self) -> str:
        if self.counterexample is not None:
            return str(self)
        undecided = "undecided" if self.undecided else "not tried in full"
        rest = "no counterexample" if self else undecided
        return f"<check of {self.relation.name}: {counted(self.tried, 'comparisons')}, {rest}>"


def counted(number: int, what: str) -> str:
    """Return a number and the phrase it counts; 1 turns the first plural into a singular."""
    return f"{number} {what if number != 1 else _PLURAL.sub('', what, count=1)}"


def _typed(graph: Variable) -> str:
    """Write a graph with the types of its inputs."""
    return f"{graph} of {', '.join(f'{x}: {x.type}' for x in free_inputs([graph]))}"


def _by_node(branches: Sequence[Branch]) -> list[str]:
    """Return one line for each node, with its branches."""
    names: dict[str, list[str]] = {}
    for b in branches:
        names.setdefault(str(b.node), []).append(b.name)
    return [f"{node}: {', '.join(dict.fromkeys(taken))}" for node, taken in names.items()]


def _idle(outcomes: Mapping[str, Outcome]) -> tuple[Clause, ...]:
    """Return the clauses for which no check compared values."""
    first, *others = [o.idle for name, o in outcomes.items() if name in BY_CLAUSE] or [()]
    return tuple(c for c in first if all(c in idle for idle in others))
