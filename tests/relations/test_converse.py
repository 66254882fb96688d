"""Where kanren has an answer, in any order and bracketing, the compiled matcher fires.

``test_soundness.py`` shows the other half: where the matcher fires, kanren has an answer.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice, permutations, product

from relgraph.checking.generators.cases import clauses_of, rewrite_of
from relgraph.checking.generators.instances import instances
from relgraph.checking.generators.shapes import dtypes_of, shapes_of
from relgraph.ir.graph import toposort
from relgraph.ir.node import Apply, Input, apply, make_input
from relgraph.ir.types import TensorType
from relgraph.relations.clause import is_ac
from relgraph.relations.nary import uniform
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.interpreter import answer
from relgraph.rewriting.selection import selection_of
from tests.relations.near_misses import near_misses
from tests.relations.test_soundness import every_direction

TERMS = 4  # of one sum or product
TRIED = 24  # arrangements of a graph that kanren is asked about
FIRED = 8  # arrangements that the matcher is tried on


def terms_of(node, op):
    """Return the operands of a sum or product, however nested."""
    if node.op is not op or not uniform(node) or node.dtype.kind == "b":
        return [node]
    return [leaf for x in node.inputs for leaf in terms_of(x, op)]


def bracketings(op, terms):
    """Yield all ways to combine terms two at a time, in the order that they have."""
    if len(terms) == 1:
        yield terms[0]
    for i in range(1, len(terms)):
        for pair in product(bracketings(op, terms[:i]), bracketings(op, terms[i:])):
            yield apply(op, pair)


@lru_cache(4096)
def arrangements(node):
    """Return the graphs that are equal to one by associativity and commutativity, it first."""
    if not isinstance(node, Apply):
        return (node,)
    op = node.op
    leaves = terms_of(node, op) if is_ac(op) else []
    if len(leaves) > 1 and leaves[0] is not node:
        found = {node: None}
        for parts in islice(product(*[arrangements(x)[:6] for x in leaves]), 12):
            for order in permutations(parts):
                found |= dict.fromkeys(bracketings(op, list(order)))
        return tuple(found)
    found = {node: None}
    for inputs in islice(product(*[arrangements(x)[:TRIED] for x in node.inputs]), 4 * TRIED):
        found[apply(op, inputs)] = None
        if op.commutative:
            found[apply(op, inputs[::-1])] = None
    return tuple(found)


def spread(found, most):
    """Return at most so many of a sequence, from its whole length, the first one first."""
    step = max(1, len(found) // most)
    return found[::step][:most]


def small(graph):
    """Return True if no sum or product of a graph has more than a few terms."""
    return all(
        len(terms_of(x, x.op)) <= TERMS
        for x in toposort([graph])
        if isinstance(x, Apply) and is_ac(x.op)
    )


def enlarged(graph):
    """Yield a graph with one of its inputs made a sum or product that meets another one."""
    ops = {x.op: None for x in toposort([graph]) if isinstance(x, Apply) and is_ac(x.op)}
    for x in toposort([graph]):
        if isinstance(x, Input):
            other = make_input(f"{x.name}2", x.type, tuple(x.facts))
            for op in ops:
                made_of = apply(op, (x, other))
                if made_of.type is x.type:
                    yield replaced(graph, x, made_of)


def replaced(graph, old, new):
    image = {old: new}
    for x in toposort([graph]):
        if x not in image:
            image[x] = apply(x.op, tuple(image[y] for y in x.inputs)) if x.inputs else x
    return image[graph]


def fires(relation, graph):
    return normalise([graph], selection_of((relation,)), once=True)[0] is not graph


def nests_floats(graph):
    """Return True if a sum or product of floats stands in another of its kind."""
    return any(
        x.op is not None and is_ac(x.op) and x.dtype.kind == "f" and y.op is x.op
        for x in toposort([graph])
        for y in x.inputs
    )


def check(relation, graph):
    """Require that the matcher fires on all arrangements when kanren answers one.

    An exact relation does not see through the bracketing of floats: another one rounds otherwise.
    """
    if relation.rounding == "exact" and nests_floats(graph):
        return 0
    found = arrangements(graph)
    answered = next((x for x in spread(found, TRIED) if answer(relation, x) is not None), None)
    if answered is None:
        return 0
    for x in dict.fromkeys((answered, *spread(found, FIRED))):
        assert fires(relation, x), (
            f"{relation.label}: kanren answers {answered}, nothing fires on {x}"
        )
    return 1


def sides_of(theme, relation, clause):
    """Return a few graphs of the matched side of a clause, two of them on inputs of one type.

    Where dtypes or shapes differ, the matcher also minds rounding and broadcasting, which kanren
    knows nothing of: of those, the graphs that fire as they are written.
    """
    dtypes = dtypes_of(clause)
    drawn = islice(instances(clause, shapes_of(relation, clause).usual, dtypes), 12)
    pairs = [(x.right if relation.backward else x.left, x.inputs) for x in drawn]
    pairs = [(g, inputs) for g, inputs in pairs if isinstance(g, Apply) and small(g)]
    alike = [g for g, inputs in pairs if len({i.type for i in inputs}) == 1 and of_one_dtype(g)][:2]
    others = (g for g, _ in pairs if g not in alike and fires(relation, g))
    return [*alike, *islice(others, 2)]


def of_one_dtype(graph):
    """Return True if the nodes of a graph are of one dtype, beside truth values."""
    tensors = [x for x in toposort([graph]) if isinstance(x.type, TensorType)]
    dtypes = {x.dtype for x in tensors if x.dtype.kind != "b"}
    return len(dtypes) == 1 or (not dtypes and graph.dtype.kind == "b")


@every_direction
def test_sides_in_any_arrangement(theme, relation):
    graphs = [g for clause in clauses_of(relation) for g in sides_of(theme, relation, clause)]
    assert sum(check(relation, g) for g in graphs)


@every_direction
def test_sides_with_larger_sums_and_products(theme, relation):
    for clause in clauses_of(relation):
        for graph in sides_of(theme, relation, clause)[:1]:
            for larger in islice(filter(small, enlarged(graph)), 4):
                check(relation, larger)


@every_direction
def test_near_misses(theme, relation):
    running = (c for c in clauses_of(relation) if rewrite_of(relation, c) is not None)
    for clause in running:
        for changed, *_ in islice(near_misses(clause, relation.backward), 4):
            for graph in sides_of(theme, relation, changed)[:1]:
                check(relation, graph)
