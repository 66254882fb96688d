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

from relgraph.checking import instances as made
from relgraph.checking import numbers
from relgraph.checking.cases import dtypes_of, generator, needs_regular, profile, sides_of
from relgraph.checking.promises import coarsest
from relgraph.checking.shrinking import Counterexample, Problem, Values
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.ops.contraction import Matmul
from relgraph.relations.clause import Clause, Rewrite
from relgraph.relations.relation import Relation

SHAPES = {theme: [(2, 2), (2,), (), (2, 2, 2)] for theme in made.SHAPES}
MOST = 100  # graphs of one clause
NO_MATRICES = "is false of matrices, where it does not fire"


def left_out(relation: Relation) -> tuple[list[Variable], Counterexample | None]:
    """Return graphs of the matched side on which a direction is false and does not fire.

    Parameters
    ----------
    relation : Relation
        In one direction.

    Returns
    -------
    tuple
        The graphs, and a counterexample if the relation never holds with matrices as factors.
    """
    graphs: list[Variable] = []
    for clause, rewrite in zip(relation.clauses or (), _rewrites(relation), strict=True):
        if rewrite is None or rewrite.ranks is None:
            continue
        holds, first = False, None
        for graph, other, values, fires in _comparable(relation, clause):
            done = numbers.evaluate((graph, other), values)
            a, b = done[graph], done[other]
            equal = numbers.close(a, b, done, coarsest(done, graph))
            if not equal and not fires:
                graphs.append(graph)
            if _multiplies_matrices(graph, other):
                holds = holds or equal
                if first is None and not equal and not fires:
                    problem = Problem(NO_MATRICES, a, b)
                    first = Counterexample(relation, clause, graph, other, values, problem)
        if first is not None and not holds:
            return graphs, first
    return graphs, None


def _rewrites(relation: Relation) -> list[Rewrite | None]:
    return [relation.rewrite(number) for number in range(len(relation.clauses or ()))]


def _comparable(
    relation: Relation, clause: Clause
) -> Iterator[tuple[Variable, Variable, Values, bool]]:
    """Yield both sides if they have one type, with values, and whether the relation fires."""
    kind = profile(relation, clause)
    drawn = made.instances(clause, kind, dtypes_of(clause)[:1], MOST, shapes=SHAPES)
    for graph, other, instance in sides_of(relation, drawn):
        if not isinstance(other, Variable) or not other.type.narrows(graph.type):
            continue
        rng = generator(relation.name, str(instance))
        regular = needs_regular(graph, other)
        values = {x.name: numbers.draw(x, rng, "moderate", regular) for x in instance.inputs}
        for x in instance.inputs:
            whole = np.rint(values[x.name]) + 0  # makes zeros positive
            if numbers.obeys(x, whole) and not regular:  # easier to read
                values[x.name] = whole.astype(x.dtype)
        try:
            numbers.evaluate((graph, other), values)
        except (ValueError, np.linalg.LinAlgError):
            continue
        yield graph, other, values, made.match(relation, graph) is not None


def _multiplies_matrices(*graphs: Variable) -> bool:
    """Return True if each factor of each product is a matrix."""
    products = [x for x in toposort(list(graphs)) if isinstance(x.op, Matmul)]
    return all(y.ndim == 2 for x in products for y in x.inputs)
