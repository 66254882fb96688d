"""Identities with products: where rewriting skips them, and identities false for all matrices.

A relation with ``@`` fires only for operand ranks for which both sides are equal on sample matrices
(:mod:`relgraph.relations.rank_classes`).  So ``A @ B = B @ A`` fires for two vectors and passes
every comparison, yet it is false for matrices: if each factor is a matrix and both sides exist and
have one type, they are never equal.  If they are equal for some matrices, as in ``(X @ Y) @ Z = X @
(Y @ Z)``, the report lists the skipped ranks; this is not a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from relgraph.checking.evaluation import close, evaluate
from relgraph.checking.generators.arrays import draw, generator, has_facts
from relgraph.checking.generators.cases import drawn_sides, needs_regular
from relgraph.checking.generators.shapes import dtypes_of
from relgraph.checking.matching import match
from relgraph.checking.outcome import NO_MATRICES, Counterexample, Outcome, Problem, Values
from relgraph.checking.promises import coarsest
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.ops.contraction import Matmul
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation

SHAPES = ((2, 2), (2,), (), (2, 2, 2))
MOST = 100  # graphs of one clause


def keeps_products(relation: Relation) -> Outcome:
    """List graphs of the matched side on which a direction is false and does not fire.

    It fails if the relation never holds with matrices as factors.
    """
    graphs: list[Variable] = []
    for number, clause in enumerate(relation.clauses or ()):
        rewrite = relation.rewrite(number)
        if rewrite is None or rewrite.ranks is None:
            continue
        holds, first = False, None
        for graph, other, values, fires in _comparable(relation, clause):
            done = evaluate((graph, other), values)
            a, b = done[graph], done[other]
            equal = close(a, b, done, coarsest(done, graph))
            if not equal and not fires:
                graphs.append(graph)
            if _multiplies_matrices(graph, other):
                holds = holds or equal
                if first is None and not equal and not fires:
                    problem = Problem(NO_MATRICES, a, b)
                    first = Counterexample(relation, clause, graph, other, values, problem)
        if first is not None and not holds:
            return Outcome(failure=first, left_out=tuple(graphs))
    return Outcome(left_out=tuple(graphs))


def _comparable(
    relation: Relation, clause: Clause
) -> Iterator[tuple[Variable, Variable, Values, bool]]:
    """Yield both sides if they have one type, with values, and whether the relation fires."""
    for graph, other, instance in drawn_sides(
        relation, clause, SHAPES, dtypes_of(clause)[:1], MOST
    ):
        if not isinstance(other, Variable) or not other.type.narrows(graph.type):
            continue
        rng = generator(relation.name, str(instance))
        regular = needs_regular(graph, other)
        values = {x.name: draw(x, rng, "moderate", regular) for x in instance.inputs}
        for x in instance.inputs:
            whole = np.rint(values[x.name]) + 0  # makes zeros positive
            if has_facts(x, whole) and not regular:  # easier to read
                values[x.name] = whole.astype(x.dtype)
        try:
            evaluate((graph, other), values)
        except (ValueError, np.linalg.LinAlgError):
            continue
        yield graph, other, values, match(relation, graph) is not None


def _multiplies_matrices(*graphs: Variable) -> bool:
    """Return True if each factor of each product is a matrix."""
    products = [x for x in toposort(list(graphs)) if isinstance(x.op, Matmul)]
    return all(y.ndim == 2 for x in products for y in x.inputs)
