"""The result of a check: how much was compared, and the counterexample if there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgraph.checking.branches.decisions import Branch
from relgraph.checking.diagnosis.reasons import Place
from relgraph.checking.matching import inputs_of
from relgraph.errors import UnsoundRelationError
from relgraph.ir.node import Variable
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation

Values = dict[str, Any]  # by the name of an input

# What may be wrong with a rewrite; each completes "the relation ...".
CHANGES_TYPE = "changes a type"
CHANGES_SHAPE = "changes a shape or dtype"
CHANGES_VALUE = "changes a value"
FAILS = "makes a graph that fails where the one it matches does not"
INVENTS_INPUT = "makes up an input"
LOSES_DIGITS = "loses more digits than its steps explain"
NO_MATRICES = "is false of matrices, where it does not fire"
WRONG_DERIVATIVE = "does not state the derivative of its left side"
NO_TRANSPOSE = "has no adjoint: reverse mode cannot use it"
UNEQUAL = "has sides that are not equal"

# The verdict of a comparison that has no problem.
SKIPPED = False  # nothing to judge: no rewrite, or a graph that has no value there
HELD = True


@dataclass(frozen=True)
class Problem:
    """What is wrong with a rewrite, and the values of the graph and of its replacement."""

    what: str
    expected: Any = None
    computed: Any = None


@dataclass(frozen=True)
class Counterexample:
    """A graph and values on which a relation breaks a promise.

    Attributes
    ----------
    relation : Relation
        The relation, in the failing direction.
    clause : Clause
        The clause of the relation.
    graph, result : Variable
        The matched graph and its replacement.
    values : mapping of str to array
        For the inputs of the graph.
    problem : Problem
        What is wrong.
    kind : str
        How the values were drawn.
    fix : str
        How to fix the relation.
    """

    relation: Relation
    clause: Clause
    graph: Variable
    result: Any
    values: Mapping[str, Any]
    problem: Problem
    kind: str = "moderate"
    fix: str = ""

    def rows(self) -> Iterator[tuple[str, object]]:
        """Yield the facts of the counterexample, named."""
        yield "relation", self.clause
        yield "declared", self.relation.location
        yield "promises", f"{self.relation.rounding}, {self.relation.specials}"
        yield "graph", self.graph
        yield "becomes", self.result
        for x in inputs_of(self.relation, self.graph):
            if x.name in self.values:
                facts = f" ({', '.join(sorted(x.facts))})" if x.facts else ""
                yield x.name, f"{x.type}{facts} = {shown(self.values[x.name], in_full=True)}"
        if self.problem.expected is not None:
            results = self.problem.expected, self.problem.computed
            alike = shown(results[0]) == shown(results[1])
            for name, value in zip(("expected", "computed"), results, strict=True):
                yield name, shown(value, in_full=alike)

    def example(self) -> str:
        """Return the counterexample in one line."""
        expected, computed = map(shown, (self.problem.expected, self.problem.computed))
        change = f"{self.graph}  ->  {self.result} turns {expected} into {computed}"
        return f"{change} at {_assigned(self.values)}"

    def error(self) -> UnsoundRelationError:
        """Return the counterexample as an error."""
        error = UnsoundRelationError(
            f"{self.relation.label} {self.problem.what}", list(self.rows()), self.fix
        )
        error.counterexample = self
        return error

    def __str__(self) -> str:
        return str(self.error())


def shown(value: Any, *, in_full: bool = False) -> str:
    """Write an array in one line; ``in_full`` shows all digits needed to identify it."""
    if isinstance(value, np.ndarray | np.generic):
        mode: Any = "unique" if in_full else "maxprec"
        text = np.array2string(np.asarray(value), threshold=20, floatmode=mode)
        return " ".join(text.split()).replace("[ ", "[").replace(" ]", "]")
    return str(value)


def _assigned(values: Mapping[str, Any]) -> str:
    """Write the values of inputs in one line."""
    return ", ".join(f"{name} = {shown(v, in_full=True)}" for name, v in values.items())


@dataclass(frozen=True)
class Loss:
    """An example on which a direction loses digits that its matched side keeps."""

    graph: Variable
    result: Variable
    values: Values
    errors: tuple[float, float]  # the relative error of each graph

    def __str__(self) -> str:
        first, second = self.errors
        change = f"{self.graph}  ->  {self.result} is off by {second:.0e} beside {first:.0e}"
        return f"{change} at {_assigned(self.values)}"


@dataclass(frozen=True)
class Outcome:
    """The result of a check of one direction.

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
    scalars_only : tuple of Clause
        Clauses that fire only where an operand is a scalar, although arrays fit.
    misses : tuple of (Clause, Place)
        Clauses that fire on no array, each with the first test that fails on one.
    left_out : tuple of Variable
        Graphs of the matched side on which the direction is false and does not fire.
    loss : Loss or None
        An example on which the direction loses digits.
    undefined : Counterexample or None
        Values for which the direction is undefined, although the graph that it matches is not.
    """

    tried: int = 0
    failure: Counterexample | None = None
    idle: tuple[Clause, ...] = ()
    reached: tuple[Branch, ...] = ()
    unreached: tuple[Branch, ...] = ()
    scalars_only: tuple[Clause, ...] = ()
    misses: tuple[tuple[Clause, Place], ...] = ()
    left_out: tuple[Variable, ...] = ()
    loss: Loss | None = None
    undefined: Counterexample | None = None
