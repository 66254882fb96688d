"""The graphs that a relation is checked on, built from both sides or from one."""

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
from relgraph.errors import DTypeError, RelgraphError
from relgraph.ir.facts import check_consistent
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, constant, make_input
from relgraph.ir.types import TensorType
from relgraph.ops.contraction import Einsum, Matmul, Outer
from relgraph.ops.elementwise import Elementwise, Row
from relgraph.ops.linalg.structured import Diag, Diagonal, Eye, Trace, Tril, Triu
from relgraph.ops.reductions import LogSoftmax, Reduction, Softmax
from relgraph.relations.clause import Clause, with_block
from relgraph.relations.pattern import OpPattern, PatternNode, subterms, variables
from relgraph.relations.relation import Relation

EVERY_DTYPE = ("float64", "float32", "int64", "int32", "int8", "uint8", "bool")
FLOAT = np.dtype("float64")
OF_MATRICES = (Matmul, Outer, Einsum, Eye, Diag, Diagonal, Trace, Tril, Triu)
ALONG_AXES = (Reduction, Softmax, LogSoftmax)
DRAWS = 1500  # of shapes and parameters for one side

Side = tuple[Variable, Any, made.Instance]


def shipped() -> list[tuple[str, Relation]]:
    """Return the relations of the catalogue with their themes, in the registered directions."""
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
    """Return True if ``rg.optdb`` holds a relation in this direction."""
    return any(
        entry.item is relation
        for database in default_database().databases()
        for entry in database._entries.values()
    )


def both_directions(relation: Relation) -> list[Relation]:
    """Return a relation in each direction that can run."""
    forward = relation
    if relation.backward:
        assert relation._twin is not None
        forward = relation._twin
    both = [forward]
    with contextlib.suppress(RelgraphError):
        both.append(forward.reversed)
    return [r for r in both if runs(r)]


def runs(relation: Relation) -> bool:
    """Return True if a relation is compiled and has a clause that runs in its direction."""
    try:
        return bool(relation.rewrites)
    except RelgraphError:
        return False


def profile(relation: Relation, clause: Clause) -> str:
    """Return which shapes to try; other themes may also contain reductions or products."""
    theme = theme_of(relation)
    if theme in made.SHAPES_OF:
        return made.SHAPES_OF[theme]
    if made.is_pointwise(clause):
        return "elementwise"
    classes = [x.op.cls if isinstance(x.op, OpPattern) else type(x.op) for x in _nodes(clause)]
    if any(cls.conditioned or issubclass(cls, OF_MATRICES) for cls in classes):
        return "linalg"
    reduces = theme is not None or any(issubclass(cls, ALONG_AXES) for cls in classes)
    return "reductions" if reduces else "shape"


def _nodes(clause: Clause) -> list[PatternNode]:
    sides = (clause.left, clause.right)
    return [x for side in sides for x in subterms(side) if isinstance(x, PatternNode)]


def dtypes_of(clause: Clause) -> tuple[str, ...]:
    """Return the dtypes of inputs that the ops and conditions of a clause ask for."""
    rows = [x.op.row for x in _nodes(clause) if isinstance(x.op, Elementwise)]
    if any(row.theme == "logic and bits" and not _takes_floats(row) for row in rows):
        return "bool", "int64"
    if any(c.label.startswith("integers") for c in clause.conditions):
        return "int64", "int8"
    asked = any(c.label.startswith("bool(") for c in clause.conditions)
    logic = any(row.decides == "condition" or row.theme == "logic and bits" for row in rows)
    return ("bool", "float64") if asked or logic else ("float64",)


def _takes_floats(row: Row) -> bool:
    try:
        row.loop(row.name, (FLOAT,) * row.arity)
    except DTypeError:
        return False
    return True


def clause_key(clause: Clause) -> str:
    """Return a key that identifies a clause of a relation."""
    return str(with_block(clause).left)


def rewrite_of(relation: Relation, clause: Clause) -> Any:
    """Return the rewrite of a clause in its relation's direction, or None if it cannot run."""
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

    A side is ``(graph to match, graph to build, instance)``.  With ``equal``, all sizes are equal,
    and elementwise clauses are left out, since equal sizes test nothing about them.
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
    """Yield the items of :func:`cases`; the sides are built lazily."""
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
    """Yield instances as the graph to match and the graph to build, in a relation's direction."""
    for x in drawn:
        side = (x.right, x.left, x) if relation.backward else (x.left, x.right, x)
        if isinstance(side[0], Variable):
            yield side


def sides_of(relation: Relation, drawn: Iterable[made.Instance]) -> list[Side]:
    """Return the items of :func:`each_side` as a list."""
    return list(each_side(relation, drawn))


def one_sided(
    relation: Relation, most: int = 40, *, alike: bool = False
) -> list[tuple[Clause, Variable]]:
    """Return graphs of the matched side of each clause, the same in every run.

    Operands of random shapes rarely fit together; with ``alike``, there are only two shapes.
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
    roles = _OneSided(clause, side, kind)
    refused: made.Refused = set()
    rng = random.Random(str(clause))
    for _ in range(DRAWS):
        shapes = rng.sample(roles.shapes, 2) if alike else roles.shapes
        chosen = [rng.choice(roles.parameters.get(v, shapes)) for v in roles.free]
        facts = rng.random() < 0.7
        try:
            values = {
                v: roles.value(i, one, facts, rng)
                for i, (v, one) in enumerate(zip(roles.free, chosen, strict=True))
            }
            values |= _determined(clause, roles.parameters, values)
            graph = made.build(side, values, refused)
        except (RelgraphError, IndexError, TypeError, ValueError):
            continue
        if isinstance(graph, Variable) and graph.op is not None:
            yield graph


class _OneSided:
    """Values for the variables of one side of a clause, when the other side is not built.

    Parameters
    ----------
    clause : Clause
        With its conditions.
    side : pattern
        One of its sides.
    kind : str
        The theme whose shapes to draw from.

    Attributes
    ----------
    free : list of PatternVariable
        The variables of the side.
    shapes : list of tuple
        The shapes and dtypes that operands may have.
    parameters : dict of PatternVariable to list
        The values to try for each open parameter of the side.
    """

    def __init__(self, clause: Clause, side: Any, kind: str) -> None:
        self.free = variables(side)
        own = made.own_inputs(clause)
        self._names = made.names_beside(own)
        fitting = [*made.shapes_beside(own), *made.OPEN_SHAPES[kind]]
        self.shapes = list(product(fitting, dtypes_of(clause)))
        fields = made.fields_of(Clause(side, side))
        self.parameters = {v: made.parameters_of(clause, v, field) for v, field in fields.items()}
        self._zeros, self._examples = made.zeros_of(clause), made.examples_of(clause)
        self._keys = made.index_operands(clause)
        # If conditions name examples, these are the only numbers to try.
        self._constants = set() if self._examples else _constants(clause)
        self._asked = {v: made.facts_of(clause, v) for v in self.free}
        self._inputs: dict[Any, Variable] = {}

    def value(self, number: int, chosen: Any, facts: bool, rng: random.Random) -> Any:
        """Return a value for a variable.

        Parameters
        ----------
        number : int
            Its index among the variables.
        chosen : object
            The value of a parameter, or the shape and dtype of an operand.
        facts : bool
            Whether an operand declares the facts that the clause requires.
        rng : random.Random
            The generator for constants.
        """
        v = self.free[number]
        if v in self.parameters:
            return chosen
        if v in self._keys:
            return constant(np.zeros(rng.choice([(), (2,)]), "int64"))
        shape, dtype = chosen
        if made.token(v) in self._zeros:
            return constant(np.zeros([d or 3 for d in shape], dtype))
        if made.token(v) in self._examples:
            return constant(float(rng.choice(self._examples[made.token(v)])))
        if v in self._constants:
            return constant(float(number))
        key = number, chosen, facts
        if key not in self._inputs:
            asked = self._asked[v] if facts else ()
            check_consistent("an operand", asked)
            self._inputs[key] = make_input(self._names[number], TensorType(dtype, shape), asked)
        return self._inputs[key]


def _constants(clause: Clause) -> set[Any]:
    """Return the variables of a clause that must be numbers because others depend on them."""
    fields = made.fields_of(clause)
    found = {
        x
        for c in clause.conditions
        if c.kind == "calc"
        and c.args[0] not in fields
        and not getattr(c.function, "of_type", False)
        for x in c.args[1:]
    }
    return found | {c.args[0] for c in clause.conditions if c.label.startswith("coefficient(")}


def _determined(clause: Clause, fields: Any, values: dict[Any, Any]) -> dict[Any, Any]:
    """Return operands, such as identities, that conditions compute from the types of others."""
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
    """Return a generator that is seeded by these parts, the same in every run."""
    return np.random.default_rng(crc32(repr(parts).encode()))


def needs_regular(*graphs: Any) -> bool:
    """Return True if graphs solve equations, which requires regular matrices."""
    return any(
        x.op is not None and x.op.needs_regular
        for x in toposort([g for g in graphs if isinstance(g, Variable)])
    )
