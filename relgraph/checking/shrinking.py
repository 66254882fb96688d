"""Shrinking a counterexample: fewer and smaller inputs with simpler values that still fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from relgraph.checking import instances as made
from relgraph.checking import numbers
from relgraph.checking.cases import generator, needs_regular, profile, sides_of
from relgraph.errors import UnsoundRelationError
from relgraph.ir.graph import free_inputs, toposort
from relgraph.ir.node import Variable, apply
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation

Values = dict[str, Any]
GRAPHS = 200  # smaller graphs to try
DRAWS = 6  # draws of values for each of them
SIZES = (1, 2, 3)  # values of named and unknown sizes
ELEMENTS = 16  # elements of one input to simplify
SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5, -2.0, 3.0, -0.0, float("inf"), float("-inf"), float("nan"))


@dataclass(frozen=True)
class Problem:
    """The description of a wrong rewrite, and the computed values.

    Attributes
    ----------
    what : str
        It completes "the relation ...".
    expected, found : object
        The values of the graph and of its replacement.
    """

    what: str
    expected: Any = None
    found: Any = None


# A predicate of a relation, a graph, values for its inputs, and the kind of these values.
Predicate = Callable[[Relation, Variable, Values, str], Problem | bool]


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
        for x in made.inputs_of(self.relation, self.graph):
            if x.name in self.values:
                facts = f" ({', '.join(sorted(x.facts))})" if x.facts else ""
                yield x.name, f"{x.type}{facts} = {shown(self.values[x.name], in_full=True)}"
        if self.problem.expected is not None:
            results = self.problem.expected, self.problem.found
            alike = shown(results[0]) == shown(results[1])
            for name, value in zip(("expected", "computed"), results, strict=True):
                yield name, shown(value, in_full=alike)

    def error(self) -> UnsoundRelationError:
        """Return the counterexample as an error."""
        made_of = UnsoundRelationError(
            f"{self.relation.label} {self.problem.what}", list(self.rows()), self.fix
        )
        made_of.counterexample = self
        return made_of

    def __str__(self) -> str:
        return str(self.error())


def shown(value: Any, *, in_full: bool = False) -> str:
    """Write an array in one line; ``in_full`` shows all digits needed to identify it."""
    if isinstance(value, np.ndarray | np.generic):
        mode: Any = "unique" if in_full else "maxprec"
        text = np.array2string(np.asarray(value), threshold=20, floatmode=mode)
        return " ".join(text.split()).replace("[ ", "[").replace(" ]", "]")
    return str(value)


def smallest(
    relation: Relation,
    clause: Clause,
    predicate: Predicate,
    failing: tuple[Variable, Values, str],
) -> Counterexample:
    """Shrink a counterexample as far as possible.

    Parameters
    ----------
    relation : Relation
        The relation, in the failing direction.
    clause : Clause
        The clause to build smaller graphs from.
    predicate : callable
        Returns a :class:`Problem` where the relation fails.
    failing : tuple
        The failing graph and values, and the kind of values to draw.
    """
    graph, values, kind = failing
    best = graph, values
    dtypes = tuple(dict.fromkeys(x.dtype.name for x in free_inputs([graph]))) or ("float64",)
    for one in _smaller(relation, clause, dtypes):
        if _size(one) > _size(graph):
            break
        found = _failing(relation, predicate, one, kind)
        if found is not None:
            best = one, found
            break
    best = _merged(relation, predicate, *best, kind)
    graph, values = _simplified(relation, predicate, *best, kind)
    problem = predicate(relation, graph, values, kind)
    assert isinstance(problem, Problem)
    result = made.match(relation, graph)
    return Counterexample(relation, clause, graph, result, values, problem, kind)


def _size(graph: Variable) -> tuple[int, int, int]:
    inputs = free_inputs([graph])
    elements = sum(
        int(np.prod([d if isinstance(d, int) else 3 for d in x.type.shape])) for x in inputs
    )
    return elements, sum(x.ndim for x in inputs), len(inputs)


def _smaller(relation: Relation, clause: Clause, dtypes: tuple[str, ...]) -> list[Variable]:
    """Return graphs of the matched side of a clause, the smallest first."""
    found: dict[Variable, None] = {}
    kind = profile(relation, clause)
    for own in dict.fromkeys([("float64",), dtypes[:1], dtypes]):
        drawn = made.instances(clause, kind, own, GRAPHS, shapes=made.SMALL_SHAPES)
        found |= dict.fromkeys(graph for graph, _, _ in sides_of(relation, drawn))
    return sorted(found, key=_size)


def _failing(relation: Relation, predicate: Predicate, graph: Variable, kind: str) -> Values | None:
    """Return values on which a graph fails, or None."""
    inputs = made.inputs_of(relation, graph)
    regular = needs_regular(graph, made.match(relation, graph))
    sized = all(isinstance(d, int) for x in inputs for d in x.type.shape)
    floats = all(x.dtype.kind == "f" for x in inputs)
    for size, number in product((1,) if sized else SIZES, SIMPLE if floats else ()):
        values = {
            x.name: np.full(numbers.shape_of(x, size), number, x.dtype) for x in inputs
        }  # fmt: skip
        if all(numbers.obeys(x, values[x.name]) for x in inputs) and isinstance(
            predicate(relation, graph, values, kind), Problem
        ):
            return values
    for draw in range(DRAWS):
        rng = generator(relation.name, str(graph), kind, draw)
        size = SIZES[draw % len(SIZES)]
        values = {x.name: numbers.draw(x, rng, kind, regular, size) for x in inputs}
        if isinstance(predicate(relation, graph, values, kind), Problem):
            return values
    return None


def _merged(
    relation: Relation, predicate: Predicate, graph: Variable, values: Values, kind: str
) -> tuple[Variable, Values]:
    """Replace one input by another wherever that still fails."""
    own = set(made.own_inputs(*(relation.clauses or ())))  # these stand for themselves
    for kept, gone in combinations(free_inputs([graph]), 2):
        if gone in own or {kept, gone} - {*free_inputs([graph])} or kept.type is not gone.type:
            continue
        fewer = replaced(graph, gone, kept)
        same = {name: v for name, v in values.items() if name != gone.name}
        if isinstance(predicate(relation, fewer, same, kind), Problem):
            graph, values = fewer, same
        else:
            failing = _failing(relation, predicate, fewer, kind)
            if failing is not None:
                graph, values = fewer, failing
    return graph, values


def replaced(graph: Variable, old: Variable, new: Variable) -> Variable:
    """Return a graph with one node replaced by another."""
    image = {old: new}
    for x in toposort([graph]):
        if x not in image:
            op = x.op
            image[x] = x if op is None else apply(op, tuple([image[y] for y in x.inputs]))
    return image[graph]


def _simplified(
    relation: Relation, predicate: Predicate, graph: Variable, values: Values, kind: str
) -> tuple[Variable, Values]:
    """Replace numbers by simpler ones, one after the other, wherever that still fails."""
    for x in made.inputs_of(relation, graph):
        for place in list(np.ndindex(*values[x.name].shape))[:ELEMENTS]:
            for number in _simpler(values[x.name][place]):
                changed = np.array(values[x.name])
                changed[place] = number
                if not numbers.obeys(x, changed):
                    continue
                candidate = {**values, x.name: changed}
                if isinstance(predicate(relation, graph, candidate, kind), Problem):
                    values = candidate
                    break
    return graph, values


def _simpler(value: Any) -> list[Any]:
    """Return the numbers of a value's dtype that are simpler to read, the simplest first."""
    if value.dtype.kind == "b":
        return [False] if value else []
    with np.errstate(over="ignore"):  # 1e308 is multiplied by 10
        found: list[Any] = [*SIMPLE, *(float(np.round(value, n)) for n in (0, 1))]
    if value.dtype.kind in "iu":
        low = np.iinfo(value.dtype).min
        found = [int(v) for v in (0, 1, -1, 2, 3) if v >= low]
    same = [i for i, v in enumerate(found) if repr(type(value)(v)) == repr(value)]
    return found[: same[0]] if same else found
