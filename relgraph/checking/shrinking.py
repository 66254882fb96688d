"""Shrinking a counterexample: fewer and smaller inputs with simpler values that still fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from relgraph.checking.generators.arrays import draw, generator, has_facts, shape_of
from relgraph.checking.generators.cases import drawn_sides, needs_regular
from relgraph.checking.generators.instances import fixed_inputs
from relgraph.checking.generators.shapes import shapes_of
from relgraph.checking.matching import inputs_of, match
from relgraph.checking.outcome import Counterexample, Problem, Values
from relgraph.ir.graph import free_inputs, substitute
from relgraph.ir.node import Variable
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation

GRAPHS = 200  # smaller graphs to try
DRAWS = 6  # draws of values for each of them
SIZES = (1, 2, 3)  # values of named and unknown sizes
ELEMENTS = 16  # elements of one input to simplify
SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5, -2.0, 3.0, -0.0, math.inf, -math.inf, math.nan)

# A predicate of a relation, a graph, values for its inputs, and the kind of these values.
Predicate = Callable[[Relation, Variable, Values, str], Problem | bool]


def smallest(
    relation: Relation,
    clause: Clause,
    predicate: Predicate,
    failing: tuple[Variable, Values, str],
) -> Counterexample:
    """Return the smallest counterexample that shrinking leads to.

    ``failing`` is a graph, values, and the kind of values to draw for smaller graphs, which are
    built from ``clause``; ``predicate`` returns a :class:`Problem` where the relation fails.
    """
    graph, values, kind = failing
    shrinking = _Shrinking(relation, predicate, kind)
    graph, values = shrinking.of_smaller_graph(clause, graph, values)
    graph, values = shrinking.merged(graph, values)
    values = shrinking.simplified(graph, values)
    problem = predicate(relation, graph, values, kind)
    assert isinstance(problem, Problem)
    return Counterexample(relation, clause, graph, match(relation, graph), values, problem, kind)


class _Shrinking:
    """The steps of shrinking, each of which keeps the relation failing."""

    def __init__(self, relation: Relation, predicate: Predicate, kind: str) -> None:
        self.relation, self.predicate, self.kind = relation, predicate, kind

    def fails(self, graph: Variable, values: Values) -> bool:
        """Return True if the relation fails on a graph and values."""
        return isinstance(self.predicate(self.relation, graph, values, self.kind), Problem)

    def of_smaller_graph(
        self, clause: Clause, graph: Variable, values: Values
    ) -> tuple[Variable, Values]:
        """Return the smallest failing graph of a clause, with values, if it is smaller."""
        for smaller in self._graphs(clause, graph):
            if _size(smaller) > _size(graph):
                break
            failing = self._failing_values(smaller)
            if failing is not None:
                return smaller, failing
        return graph, values

    def _graphs(self, clause: Clause, graph: Variable) -> list[Variable]:
        """Return graphs of the matched side of a clause, the smallest first."""
        dtypes = tuple(dict.fromkeys(x.dtype.name for x in free_inputs([graph]))) or ("float64",)
        shapes = shapes_of(self.relation, clause).small
        graphs: dict[Variable, None] = {}
        for of_inputs in dict.fromkeys([("float64",), dtypes[:1], dtypes]):
            sides = drawn_sides(self.relation, clause, shapes, of_inputs, GRAPHS)
            graphs |= dict.fromkeys(side for side, _, _ in sides)
        return sorted(graphs, key=_size)

    def _failing_values(self, graph: Variable) -> Values | None:
        """Return values on which a graph fails, or None."""
        for values in self._constant_values(graph):
            if self.fails(graph, values):
                return values
        inputs = inputs_of(self.relation, graph)
        regular = needs_regular(graph, match(self.relation, graph))
        for number in range(DRAWS):
            rng = generator(self.relation.name, str(graph), self.kind, number)
            size = SIZES[number % len(SIZES)]
            values = {x.name: draw(x, rng, self.kind, regular, size) for x in inputs}
            if self.fails(graph, values):
                return values
        return None

    def _constant_values(self, graph: Variable) -> Iterator[Values]:
        """Yield values that are one simple number everywhere."""
        inputs = inputs_of(self.relation, graph)
        sized = all(isinstance(d, int) for x in inputs for d in x.type.shape)
        floats = all(x.dtype.kind == "f" for x in inputs)
        for size, number in product((1,) if sized else SIZES, SIMPLE if floats else ()):
            values = {x.name: np.full(shape_of(x, size), number, x.dtype) for x in inputs}
            if all(has_facts(x, values[x.name]) for x in inputs):
                yield values

    def merged(self, graph: Variable, values: Values) -> tuple[Variable, Values]:
        """Replace one input by another wherever that still fails."""
        fixed = set(fixed_inputs(*(self.relation.clauses or ())))
        for kept, gone in combinations(free_inputs([graph]), 2):
            left = {*free_inputs([graph])}
            if gone in fixed or {kept, gone} - left or kept.type is not gone.type:
                continue
            (fewer,) = substitute((graph,), {gone: kept})
            rest = {name: v for name, v in values.items() if name != gone.name}
            failing = rest if self.fails(fewer, rest) else self._failing_values(fewer)
            if failing is not None:
                graph, values = fewer, failing
        return graph, values

    def simplified(self, graph: Variable, values: Values) -> Values:
        """Replace numbers in turn by simpler ones, wherever that still fails."""
        for x in inputs_of(self.relation, graph):
            for index in list(np.ndindex(*values[x.name].shape))[:ELEMENTS]:
                for number in _simpler(values[x.name][index]):
                    changed = np.array(values[x.name])
                    changed[index] = number
                    candidate = {**values, x.name: changed}
                    if has_facts(x, changed) and self.fails(graph, candidate):
                        values = candidate
                        break
        return values


def _size(graph: Variable) -> tuple[int, int, int]:
    inputs = free_inputs([graph])
    elements = sum(math.prod(shape_of(x)) for x in inputs)
    return elements, sum(x.ndim for x in inputs), len(inputs)


def _simpler(value: Any) -> list[Any]:
    """Return the numbers of a value's dtype that are simpler to read, the simplest first."""
    if value.dtype.kind == "b":
        return [False] if value else []
    with np.errstate(over="ignore"):  # 1e308 is multiplied by 10
        numbers: list[Any] = [*SIMPLE, *(float(np.round(value, n)) for n in (0, 1))]
    if value.dtype.kind in "iu":
        low = np.iinfo(value.dtype).min
        numbers = [int(v) for v in (0, 1, -1, 2, 3) if v >= low]
    same = [i for i, v in enumerate(numbers) if repr(type(value)(v)) == repr(value)]
    return numbers[: same[0]] if same else numbers
