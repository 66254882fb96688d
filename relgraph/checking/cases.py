"""Which graphs a relation is checked on: those made of both sides, and those made of one."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from itertools import islice, product
from typing import Any
from zlib import crc32

import numpy as np

from relgraph.checking import instances as made
from relgraph.db.catalogue import THEMES
from relgraph.db.default import default_database
from relgraph.errors import RelgraphError
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, constant, make_input
from relgraph.ir.types import TensorType
from relgraph.relations.clause import Clause, with_block
from relgraph.relations.pattern import OpPattern, PatternNode, subterms, variables
from relgraph.relations.relation import Relation

EVERY_DTYPE = ("float64", "float32", "int64", "int32", "int8", "uint8", "bool")
LOGIC = ("where", "logical_and", "logical_or", "logical_not", "logical_xor")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert")  # not of floats
DRAWS = 1500  # of shapes and parameters for one side

Side = tuple[Variable, Any, made.Instance]


def shipped() -> list[tuple[str, Relation]]:
    """Return the relations of the catalogue with their themes, as they are registered."""
    return [
        (theme, r)
        for theme in THEMES
        for r in import_module(f"relgraph.relations.catalogue.{theme}").RELATIONS
    ]


@cache
def _themes() -> dict[int, str]:
    return {id(r.goal): theme for theme, r in shipped()}


def theme_of(relation: Relation) -> str | None:
    """Return the theme of a relation of the catalogue, None for any other."""
    return _themes().get(id(relation.goal))


def registered(relation: Relation) -> bool:
    """Tell whether ``rg.optdb`` holds a relation, in its direction."""
    return any(
        entry.item is relation
        for database in default_database().databases()
        for entry in database._entries.values()
    )


def both_directions(relation: Relation) -> list[Relation]:
    """Return a relation forward and backward, where it can run."""
    forward = relation
    if relation.backward:
        assert relation._twin is not None
        forward = relation._twin
    both = [forward]
    with contextlib.suppress(RelgraphError):
        both.append(forward.reversed)
    return [r for r in both if runs(r)]


def runs(relation: Relation) -> bool:
    """Tell whether a relation is compiled and has a clause that runs in its direction."""
    try:
        return bool(relation.rewrites)
    except RelgraphError:
        return False


def profile(relation: Relation, clause: Clause) -> str:
    """Return which shapes to try; reductions and products appear outside of their themes, too."""
    theme = theme_of(relation)
    if theme in made.SHAPES_OF:
        return made.SHAPES_OF[theme]
    if made.is_pointwise(clause):
        return "elementwise"
    kinds = {_module(x.op) for x in _nodes(clause)}
    if kinds & {"linalg", "matrices", "contraction"}:
        return "linalg"
    if theme is not None:
        return "reductions"
    return "reductions" if "reducers" in kinds else "shape"


def _module(op: Any) -> str:
    cls = op.cls if isinstance(op, OpPattern) else type(op)
    return str(cls.__module__).rpartition(".")[2]


def _nodes(clause: Clause) -> list[PatternNode]:
    sides = (clause.left, clause.right)
    return [x for side in sides for x in subterms(side) if isinstance(x, PatternNode)]


def dtypes_of(clause: Clause) -> tuple[str, ...]:
    """Return the dtypes of inputs that the ops and conditions of a clause ask for."""
    names = {getattr(x.op, "name", "") for x in _nodes(clause)}
    if names & set(BITS):
        return "bool", "int64"
    if any(c.label.startswith("integers") for c in clause.conditions):
        return "int64", "int8"
    asked = any(c.label.startswith("bool(") for c in clause.conditions)
    return ("bool", "float64") if asked or names & set(LOGIC) else ("float64",)


def clause_key(clause: Clause) -> str:
    """Return what identifies a clause of a relation."""
    return str(with_block(clause).left)


def rewrite_of(relation: Relation, clause: Clause) -> Any:
    """Return the rewrite of a clause in the direction of its relation, None if it cannot run."""
    key = clause_key(clause)
    return next((r for r in relation.rewrites if str(r.origin.left) == key), None)


@lru_cache(2048)
def cases(
    relation: Relation,
    dtypes: tuple[str, ...] = ("float64",),
    most: int = 24,
    facts: bool = True,
    equal: bool = False,
) -> list[tuple[Clause, list[Side]]]:
    """Return ``(clause, sides)`` for all clauses that run in the relation's direction.

    A side is ``(graph to match, graph to make, instance)``.  With ``equal``, all sizes are equal;
    of what is elementwise, where types tell nothing either way, there is nothing then.
    """
    found = each_case(relation, dtypes, most, facts, equal=equal)
    return [(clause, list(sides)) for clause, sides in found]


def each_case(
    relation: Relation,
    dtypes: tuple[str, ...] = ("float64",),
    most: int = 24,
    facts: bool = True,
    *,
    equal: bool = False,
) -> Iterator[tuple[Clause, Iterator[Side]]]:
    """Yield what :func:`cases` returns, each side made when it is asked for."""
    for clause in relation.clauses or ():
        if rewrite_of(relation, clause) is None:
            continue
        own = dtypes
        if len(dtypes) == 1:
            own = tuple([dtypes[0] if d == "float64" else d for d in dtypes_of(clause)])
        kind = profile(relation, clause)
        drawn: Iterator[made.Instance] = iter(())
        if not (equal and kind == "elementwise"):
            shapes = made.EQUAL_SHAPES if equal else None
            drawn = made.each_instance(clause, kind, own, facts, shapes=shapes, name=relation.name)
        yield clause, each_side(relation, islice(drawn, most))


def each_side(relation: Relation, drawn: Iterable[made.Instance]) -> Iterator[Side]:
    """Yield instances as the side to match and the side to make, in a relation's direction."""
    for x in drawn:
        side = (x.right, x.left, x) if relation.backward else (x.left, x.right, x)
        if isinstance(side[0], Variable):
            yield side


def sides_of(relation: Relation, drawn: Iterable[made.Instance]) -> list[Side]:
    """Return what :func:`each_side` yields."""
    return list(each_side(relation, drawn))


def one_sided(
    relation: Relation, most: int = 40, *, alike: bool = False
) -> list[tuple[Clause, Variable]]:
    """Return graphs that the matched side of a clause stands for, the same in every run.

    Operands of any shapes rarely fit together; those that are ``alike`` are of two shapes only.
    """
    found: dict[Variable, Clause] = {}
    for clause in relation.clauses or ():
        if rewrite_of(relation, clause) is None:
            continue
        side = clause.right if relation.backward else clause.left
        graphs = graphs_of_side(clause, side, profile(relation, clause), alike)
        matched = (x for x in graphs if made.match(relation, x) is not None)
        found = dict.fromkeys(islice(matched, most), clause) | found
    return [(clause, graph) for graph, clause in found.items()]


def graphs_of_side(clause: Clause, side: Any, kind: str, alike: bool = False) -> Iterator[Variable]:
    """Yield graphs of one side of a clause, whether or not the other can be built."""
    fields = made.fields_of(Clause(side, side))
    free = variables(side)
    own = made.own_inputs(clause)
    names = made.names_beside(own)
    fitting = [*made.shapes_beside(own), *made.OPEN_SHAPES[kind]]
    shapes = list(product(fitting, dtypes_of(clause)))
    every = made.fields_of(clause)
    computed = [
        c
        for c in clause.conditions
        if c.kind == "calc" and c.args[0] not in every and not getattr(c.function, "of_type", False)
    ]
    constants = {x for c in computed for x in c.args[1:]}
    constants |= {c.args[0] for c in clause.conditions if c.label.startswith("coefficient(")}
    zeros, examples = made.zeros_of(clause), made.examples_of(clause)
    keys = made.index_operands(clause)
    if examples:
        constants = {v for v in constants if made.token(v) in examples}
    choices: list[list[Any]] = []
    for v in free:
        found = v in fields
        choices.append(made.parameters_of(clause, v, fields[v]) if found else shapes)
    asked = [made.facts_of(clause, v) for v in free]
    inputs: dict[Any, Variable] = {}

    def operand(i: int, type_: Any, facts: bool) -> Variable:
        key = i, type_, facts
        if key not in inputs:
            shape, dtype = type_
            inputs[key] = make_input(names[i], TensorType(dtype, shape), asked[i] if facts else ())
        return inputs[key]

    rng = random.Random(str(clause))
    for _ in range(DRAWS):
        few = rng.sample(shapes, 2) if alike else shapes
        drawn = [few if c is shapes else c for c in choices]
        chosen = dict(zip(free, [rng.choice(c) for c in drawn], strict=True))
        facts = rng.random() < 0.7
        try:
            values = {
                v: chosen[v]
                if v in fields
                else constant(np.zeros(rng.choice([(), (2,)]), "int64"))
                if v in keys
                else constant(np.zeros([d or 3 for d in chosen[v][0]], chosen[v][1]))
                if made.token(v) in zeros
                else constant(float(rng.choice(examples[made.token(v)])))
                if made.token(v) in examples
                else constant(float(i))
                if v in constants
                else operand(i, chosen[v], facts)
                for i, v in enumerate(free)
            }
            graph = made.build(side, values | _determined(clause, fields, values))
        except (RelgraphError, IndexError, TypeError, ValueError):
            continue
        if isinstance(graph, Variable) and graph.op is not None:
            yield graph


def _determined(clause: Clause, fields: Any, values: dict[Any, Any]) -> dict[Any, Any]:
    """Return the operands that conditions compute from the types of the others: identities."""
    by_token = {made.token(v): (v, x) for v, x in values.items()}
    found = {}
    for c in clause.conditions:
        v = by_token.get(made.token(c.args[0]), (None,))[0]
        asked = [by_token.get(made.token(x)) for x in c.args[1:]]
        if c.kind == "calc" and v is not None and v not in fields and None not in asked:
            made_of = c.function(*[x for _, x in filter(None, asked)])
            if isinstance(made_of, Variable):
                found[v] = made_of
    return found


def generator(*parts: Any) -> np.random.Generator:
    """Return the same random numbers for the same parts, in every run."""
    return np.random.default_rng(crc32(repr(parts).encode()))


def needs_regular(*graphs: Any) -> bool:
    """Tell whether graphs solve equations, which only some matrices allow."""
    return any(
        x.op is not None and x.op.name in made.SOLVERS
        for x in toposort([g for g in graphs if isinstance(g, Variable)])
    )
