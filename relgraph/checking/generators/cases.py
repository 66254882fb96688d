"""The graphs that a relation is checked on in one direction, built from both sides or from one."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import Any

import numpy as np

from relgraph.checking.generators.instances import (
    INVALID,
    Instance,
    Refused,
    Roles,
    build,
    facts_of,
    instances,
    token,
)
from relgraph.checking.generators.shapes import (
    ELEMENTWISE,
    Shape,
    Shapes,
    choices_of,
    dtypes_of,
    parameters_of,
    shapes_of,
)
from relgraph.checking.matching import match
from relgraph.ir.facts import check_consistent
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, constant, make_input
from relgraph.ir.types import TensorType
from relgraph.relations.clause import Clause, with_block
from relgraph.relations.op_variables import Sample, samples_of
from relgraph.relations.pattern import variables
from relgraph.relations.relation import Relation

DRAWS = 1500  # of shapes and parameters for one side

Side = tuple[Variable, Any, Instance]  # the graph to match, the graph to build, and both together
Firing = tuple[Variable, Variable, Instance]  # a matched graph, its replacement, and its instance


@lru_cache(2048)
def clauses_of(relation: Relation) -> tuple[Clause, ...]:
    """Return the clauses of a relation to make graphs of: samples, where they have op variables."""
    return tuple([sample for clause in relation.clauses or () for sample in samples_of(clause)])


def never_compared(relation: Relation, idle: Iterable[Clause]) -> tuple[Clause, ...]:
    """Return the idle clauses without the samples of a clause of which another one is not idle."""
    idle = list(idle)
    runs = [c for c in clauses_of(relation) if rewrite_of(relation, c) is not None]
    compared = [origin_of(c) for c in runs if not any(c is x for x in idle)]
    return tuple([c for c in idle if not any(origin_of(c) is x for x in compared)])


def origin_of(clause: Clause) -> Clause:
    """Return the declared clause that one is a sample of, or the clause itself."""
    return clause.origin if isinstance(clause, Sample) else clause


def rewrite_of(relation: Relation, clause: Clause) -> Any:
    """Return the rewrite of a clause in its relation's direction, or None if it cannot run."""
    key = str(with_block(origin_of(clause)).left)
    return next((r for r in relation.rewrites if str(r.origin.left) == key), None)


@lru_cache(2048)
def cases(
    relation: Relation,
    dtypes: tuple[str, ...] = ("float64",),
    most: int = 24,
    facts: bool = True,
    equal: bool = False,
) -> list[tuple[Clause, list[Side]]]:
    """Return all clauses that run in the relation's direction, with graphs of their sides.

    With ``equal``, all sizes are equal, and elementwise clauses have no graphs, since equal sizes
    test nothing about them.
    """
    lazy = each_case(relation, dtypes, most, facts, equal=equal)
    return [(clause, list(sides)) for clause, sides in lazy]


def each_case(
    relation: Relation,
    dtypes: tuple[str, ...] = ("float64",),
    most: int = 24,
    facts: bool = True,
    *,
    equal: bool = False,
) -> Iterator[tuple[Clause, Iterator[Side]]]:
    """Yield the items of :func:`cases`; the sides are built lazily."""
    for clause in clauses_of(relation):
        if rewrite_of(relation, clause) is None:
            continue
        of_inputs = dtypes
        if len(dtypes) == 1:
            of_inputs = tuple([dtypes[0] if d == "float64" else d for d in dtypes_of(clause)])
        shapes = shapes_of(relation, clause)
        if equal and shapes is ELEMENTWISE:
            yield clause, iter(())
            continue
        drawn = instances(
            clause, shapes.equal if equal else shapes.usual, of_inputs, facts, name=relation.name
        )
        yield clause, sides(relation, islice(drawn, most))


def sides(relation: Relation, drawn: Iterable[Instance]) -> Iterator[Side]:
    """Yield instances as the graph to match and the graph to build, in a relation's direction."""
    for x in drawn:
        side = (x.right, x.left, x) if relation.backward else (x.left, x.right, x)
        if isinstance(side[0], Variable):
            yield side


def sides_of(relation: Relation, clause: Clause, dtypes: tuple[str, ...]) -> list[Side]:
    """Return the sides of one clause among :func:`cases`."""
    return [side for c, listed in cases(relation, dtypes) if c is clause for side in listed]


def drawn_sides(
    relation: Relation,
    clause: Clause,
    shapes: Sequence[Shape],
    dtypes: tuple[str, ...],
    most: int,
) -> Iterator[Side]:
    """Yield the sides of a clause with inputs of these shapes and dtypes."""
    return sides(relation, islice(instances(clause, shapes, dtypes), most))


def firings(relation: Relation, pool: Iterable[Side]) -> Iterator[Firing]:
    """Yield the graphs of a pool that a relation matches, with their replacements."""
    for graph, _, instance in pool:
        result = match(relation, graph)
        if result is not None:
            yield graph, result, instance


def one_sided(
    relation: Relation, most: int = 40, *, alike: bool = False
) -> list[tuple[Clause, Variable]]:
    """Return graphs of the matched side of each clause, the same in every run.

    Operands of random shapes rarely fit together; with ``alike``, there are only two shapes.
    """
    clauses: dict[Variable, Clause] = {}
    for clause in clauses_of(relation):
        if rewrite_of(relation, clause) is None:
            continue
        side = clause.right if relation.backward else clause.left
        graphs = _graphs_of_side(clause, side, shapes_of(relation, clause), alike)
        matched = (x for x in graphs if match(relation, x) is not None)
        clauses = dict.fromkeys(islice(matched, most), clause) | clauses
    return [(clause, graph) for graph, clause in clauses.items()]


def _graphs_of_side(clause: Clause, side: Any, shapes: Shapes, alike: bool) -> Iterator[Variable]:
    """Yield graphs of one side of a clause, whether or not the other can be built."""
    roles = _OneSided(clause, side, shapes)
    refused: Refused = set()
    rng = random.Random(str(clause))
    for _ in range(DRAWS):
        types = rng.sample(roles.types, 2) if alike else roles.types
        choices = [rng.choice(roles.choices.get(v, types)) for v in roles.variables]
        facts = rng.random() < 0.7
        try:
            values = {
                v: roles.value(i, choice, facts, rng)
                for i, (v, choice) in enumerate(zip(roles.variables, choices, strict=True))
            }
            values |= roles.determined(values)
            graph = build(side, values, refused)
        except INVALID:
            continue
        if isinstance(graph, Variable) and graph.op is not None:
            yield graph


class _OneSided(Roles):
    """Values for the variables of one side of a clause, when the other side is not built.

    Attributes
    ----------
    variables : list of PatternVariable
        The variables of the side.
    types : list of tuple
        The shapes and dtypes that operands may have.
    choices : dict of PatternVariable to list
        The values to try for each open parameter of the side.
    """

    def __init__(self, clause: Clause, side: Any, shapes: Shapes) -> None:
        super().__init__(clause)
        self.variables = variables(side)
        self.types = list(product([*self.shapes, *shapes.open], dtypes_of(clause)))
        self.choices = choices_of(clause, side)
        self._calculations = [c for c in clause.conditions if c.kind == "calc"]
        # If conditions name examples, these are the only numbers to try.
        self._constants = set() if self.examples else self._numbers(clause)
        self._facts = {v: facts_of(clause, v) for v in self.variables}
        self._inputs: dict[Any, Variable] = {}

    def value(self, number: int, choice: Any, facts: bool, rng: random.Random) -> Any:
        """Return a value for variable ``number``.

        ``choice`` is the value of a parameter, or the shape and dtype of an operand; ``facts`` says
        whether the operand declares the facts that the clause requires.
        """
        v = self.variables[number]
        if v in self.choices:
            return choice
        shape, dtype = choice
        if v in self.indices and dtype != "bool":
            return constant(np.zeros(rng.choice([(), (2,)]), "int64"))
        if token(v) in self.zeros:
            return constant(np.zeros([d or 3 for d in shape], dtype))
        if token(v) in self.examples:
            return constant(float(rng.choice(self.examples[token(v)])))
        if v in self._constants:
            return constant(float(number))
        key = number, choice, facts
        if key not in self._inputs:
            declared = self._facts[v] if facts else ()
            check_consistent("an operand", declared)
            self._inputs[key] = make_input(self.names[number], TensorType(dtype, shape), declared)
        return self._inputs[key]

    def determined(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return operands, such as identities, that conditions compute from the types of others."""
        by_token = {token(v): (v, x) for v, x in values.items()}
        operands = {}
        for c in self._calculations:
            v = by_token.get(token(c.args[0]), (None,))[0]
            args = [by_token.get(token(x)) for x in c.args[1:]]
            if v is not None and v not in self.choices and None not in args:
                result = c.function(*[x for _, x in filter(None, args)])
                if isinstance(result, Variable):
                    operands[v] = result
        return operands

    def _numbers(self, clause: Clause) -> set[Any]:
        """Return the variables of a clause that must be numbers because others depend on them."""
        parameters = parameters_of(clause.left, clause.right)
        arguments = {
            x
            for c in self._calculations
            if c.args[0] not in parameters and not getattr(c.function, "of_type", False)
            for x in c.args[1:]
        }
        return arguments | self.coefficients


def needs_regular(*graphs: Any) -> bool:
    """Return True if graphs solve equations, which requires regular matrices."""
    return any(
        x.op is not None and x.op.needs_regular
        for x in toposort([g for g in graphs if isinstance(g, Variable)])
    )
