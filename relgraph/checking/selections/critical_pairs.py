"""Critical pairs: graphs that two relations rewrite at overlapping positions, and the results.

The matched side of one relation is unified with a part of another's that is not a variable, also
with the operands of commutative ops exchanged.  A graph that both match is a peak; two relations
that compete for it do no harm if both results have one normal form.

References
----------
D. E. Knuth and P. B. Bendix, "Simple word problems in universal algebras", in Computational
Problems in Abstract Algebra, Pergamon, 1970.
F. Baader and T. Nipkow, Term Rewriting and All That, Cambridge University Press, 1998, chapter 6.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from relgraph.checking.generators.cases import clauses_of, rewrite_of
from relgraph.checking.generators.instances import INVALID, Refused, build
from relgraph.checking.generators.shapes import (
    ELEMENTWISE,
    LINALG,
    REARRANGEMENTS,
    REDUCTIONS,
    Shapes,
    choices_of,
    dtypes_of,
    shapes_of,
)
from relgraph.checking.matching import match
from relgraph.errors import RelgraphError
from relgraph.ir.forks import cached_property
from relgraph.ir.graph import substitute
from relgraph.ir.node import Variable, constant, make_input
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType
from relgraph.relations.clause import Clause
from relgraph.relations.definedness import fact_asked
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.pattern import (
    OpPattern,
    PatternNode,
    PatternVariable,
    Term,
    rename,
    same_term,
    variables,
)
from relgraph.relations.relation import Relation

Substitution = dict[PatternVariable, Term]
UNIFIERS = 2  # of one overlap, which differ in the order of operands
SIGNS = {"positive": ("nonnegative",), "negative": ("nonpositive",)}
TRIES = 40  # draws of shapes and parameters for one peak


@dataclass(frozen=True)
class Rule:
    """A clause in the direction in which its relation is selected."""

    relation: Relation
    clause: Clause
    pattern: PatternNode

    @property
    def head(self) -> Any:
        """The op that the rule matches, or the op's class if its parameters are open."""
        return head_of(self.pattern)

    @cached_property
    def apart(self) -> tuple[PatternNode, tuple[Suspended, ...]]:
        """The pattern and conditions, with variables that no other rule has."""
        fresh: dict[PatternVariable, PatternVariable] = {}

        def image(v: PatternVariable) -> PatternVariable:
            if v not in fresh:
                fresh[v] = PatternVariable(v.name)
            return fresh[v]

        pattern = rename(self.pattern, image)
        return pattern, tuple([_mapped(c, lambda x: rename(x, image)) for c in self.conditions])

    @property
    def conditions(self) -> tuple[Suspended, ...]:
        """The conditions of its clause."""
        return self.clause.conditions


def _mapped(condition: Suspended, image: Callable[[Term], Term]) -> Suspended:
    """Return a condition with its arguments mapped."""
    args = tuple(map(image, condition.args))
    return Suspended(condition.kind, args, condition.label, condition.function)


@dataclass(frozen=True)
class Peak:
    """A pattern that one relation matches at its root and another at a position inside it."""

    outer: Rule
    inner: Rule
    path: tuple[int, ...]
    pattern: Term
    conditions: tuple[Suspended, ...]


@dataclass(frozen=True)
class Fork:
    """A graph, and its results after one step of either relation."""

    peak: Peak
    graph: Variable
    first: Variable
    second: Variable

    @property
    def names(self) -> tuple[str, str]:
        """The labels of the relations of the first step and of the second."""
        return self.peak.outer.relation.label, self.peak.inner.relation.label


def head_of(pattern: PatternNode) -> Any:
    """Return the op of a pattern node, or its class if parameters are open."""
    return pattern.op.cls if isinstance(pattern.op, OpPattern) else pattern.op


def rules_of(relations: Sequence[Relation]) -> list[Rule]:
    """Return the clauses of relations that run in the direction selected."""
    rules = []
    for relation in relations:
        for clause in clauses_of(relation):
            side = clause.right if relation.backward else clause.left
            if isinstance(side, PatternNode) and rewrite_of(relation, clause) is not None:
                rules.append(Rule(relation, clause, side))
    return rules


def peaks(rules: Sequence[Rule]) -> Iterator[Peak]:
    """Yield the overlaps of rules; each pair overlaps at its root once."""
    by_head: dict[Any, list[int]] = {}
    by_class: dict[Any, list[int]] = {}
    for i, rule in enumerate(rules):
        by_head.setdefault(rule.head, []).append(i)
        cls = rule.head if isinstance(rule.head, type) else type(rule.head)
        by_class.setdefault(cls, []).append(i)
    for i, outer in enumerate(rules):
        for path, part in _parts(outer.pattern, ()):
            head = head_of(part)
            alike = by_class.get(head, ())
            if not isinstance(head, type):
                alike = sorted([*by_head.get(head, ()), *by_head.get(type(head), ())])
            for j in alike:
                if path or j > i:
                    yield from _overlaps(outer, rules[j], path, part)


def _parts(term: Term, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], PatternNode]]:
    if isinstance(term, PatternNode):
        yield path, term
        for i, x in enumerate(term.args):
            yield from _parts(x, (*path, i))


def _overlaps(outer: Rule, inner: Rule, path: tuple[int, ...], part: PatternNode) -> Iterator[Peak]:
    pattern, conditions_of_inner = inner.apart
    for s in islice(unified(part, pattern, {}), UNIFIERS):
        whole = substituted(outer.pattern, s)
        image = partial(substituted, s=s)
        conditions = [_mapped(c, image) for c in (*outer.conditions, *conditions_of_inner)]
        yield Peak(outer, inner, path, whole, tuple(conditions))


# Unification of patterns, modulo commutativity.


def unified(a: Term, b: Term, s: Substitution) -> Iterator[Substitution]:
    """Yield substitutions that make two patterns equal, up to the order of commutative operands."""
    a, b = _walk(a, s), _walk(b, s)
    if isinstance(a, PatternVariable) or isinstance(b, PatternVariable):
        if isinstance(a, PatternVariable) and a == b:
            yield s
            return
        v, term = (a, b) if isinstance(a, PatternVariable) else (b, a)
        if not _occurs(v, term, s):
            yield {**s, v: term}
        return
    if not (isinstance(a, PatternNode) and isinstance(b, PatternNode)):
        if same_term(a, b):
            yield s
        return
    if len(a.args) != len(b.args):
        return
    orders = [b.args]
    if len(b.args) == 2 and isinstance(b.op, Op) and b.op.commutative:
        orders.append(b.args[::-1])
    for started in _unified_ops(a.op, b.op, s):
        for order in orders:
            yield from _unified_all(list(zip(a.args, order, strict=True)), started)


def _unified_all(pairs: list[tuple[Term, Term]], s: Substitution) -> Iterator[Substitution]:
    if not pairs:
        yield s
        return
    (a, b), *rest = pairs
    for extended in unified(a, b, s):
        yield from _unified_all(rest, extended)


def _unified_ops(a: Any, b: Any, s: Substitution) -> Iterator[Substitution]:
    if isinstance(a, Op) and isinstance(b, Op):
        if a is b:
            yield s
        return
    if head_class(a) is not head_class(b):
        return
    for x, y in zip(a.params, b.params, strict=True):
        x, y = _walk(x, s), _walk(y, s)
        if isinstance(x, PatternVariable):
            s = s if x == y else {**s, x: y}
        elif isinstance(y, PatternVariable):
            s = {**s, y: x}
        elif x != y:
            return
    yield s


def head_class(op: Any) -> Any:
    """Return the class of an op, open or closed."""
    return op.cls if isinstance(op, OpPattern) else type(op)


def _walk(x: Term, s: Substitution) -> Term:
    while isinstance(x, PatternVariable) and x in s:
        x = s[x]
    return x


def _occurs(v: PatternVariable, term: Term, s: Substitution) -> bool:
    return any(v == w for w in variables(substituted(term, s)))


def substituted(term: Term, s: Substitution) -> Term:
    """Return a pattern with its variables replaced, recursively."""

    def image(v: PatternVariable) -> Term:
        term = _walk(v, s)
        return term if isinstance(term, PatternVariable) else substituted(term, s)

    return rename(term, image)


# Graphs.


def fork(peak: Peak, shapes: Shapes) -> Fork | None:
    """Return a graph of a peak with both of its steps, or None if none can be built.

    The inputs of the graph declare the conditions of the peak as facts.
    """
    for graph in _graphs(peak, shapes):
        part = graph
        for i in peak.path:
            if i >= len(part.inputs):
                break
            part = part.inputs[i]
        first = match(peak.outer.relation, graph)
        inner = match(peak.inner.relation, part) if first is not None else None
        if first is None or inner is None:
            continue
        try:
            (second,) = substitute((graph,), {part: inner})
        except RelgraphError:
            continue
        return Fork(peak, graph, first, second)
    return None


def _graphs(peak: Peak, shapes: Shapes) -> Iterator[Variable]:
    clause = Clause(peak.pattern, peak.pattern, peak.conditions)
    choices = choices_of(clause, peak.pattern)
    free = variables(peak.pattern)
    facts = {v: set[str]() for v in free}
    constants = set()
    for c in peak.conditions:
        fact = fact_asked(c)
        if fact is not None and c.args[0] in facts:
            facts[c.args[0]].add(fact)
        elif c.kind == "calc" or c.label.startswith(("constant(", "coefficient(")):
            constants |= {v for x in c.args for v in variables(x) if v not in choices}
    if any(map(contradictory, facts.values())):
        return
    dtypes = dtypes_of(clause)
    rng = random.Random(str(peak.pattern))
    alike = [dict.fromkeys(free, (shape, dtypes[0])) for shape in shapes.usual]
    mixed = (
        {v: (rng.choice(shapes.usual), rng.choice(dtypes)) for v in free}
        for _ in range(TRIES if len(free) > 1 or len(dtypes) > 1 else 0)
    )
    first = alike if len(dtypes) == 1 else alike[:1]
    refused: Refused = set()
    for types in (*first, *mixed):
        try:
            values: dict[Any, Any] = {}
            for i, v in enumerate(free):
                if v in choices:
                    values[v] = rng.choice(choices[v])
                elif v in constants:
                    values[v] = constant(float(i + 2))
                else:
                    shape, dtype = types[v]
                    values[v] = make_input(f"x{i}", TensorType(dtype, shape), tuple(facts[v]))
            graph = build(peak.pattern, values, refused)
        except (*INVALID, KeyError):
            continue
        if isinstance(graph, Variable) and graph.op is not None:
            yield graph


def contradictory(facts: set[str]) -> bool:
    """Return True if only NaN has all of these facts."""
    signs = {fact for one in facts for fact in (one, *SIGNS.get(one, ()))}
    both = {"nonnegative", "nonpositive"} <= signs
    return both and bool({"positive", "negative", "nonzero"} & signs)


def shapes_for(rules: Sequence[Rule]) -> Shapes:
    """Return the shapes to draw for a peak of these rules."""
    shapes = [shapes_of(rule.relation, rule.clause) for rule in rules]
    return next((s for s in (LINALG, REDUCTIONS, REARRANGEMENTS) if s in shapes), ELEMENTWISE)
