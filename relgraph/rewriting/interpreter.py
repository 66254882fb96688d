"""The interpreter: it runs goals in kanren on one node, and node rewriters written in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from unification import reify

from relgraph.errors import RelgraphError
from relgraph.ir.etuple import as_node
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations.kanren import search
from relgraph.relations.kanren.goals import RESIDUALS
from relgraph.relations.pattern import fresh
from relgraph.relations.relation import Relation
from relgraph.relations.runtime import fit
from relgraph.relations.shape_proof import proved

if TYPE_CHECKING:
    from relgraph.rewriting.selection import Selection

TRIES = 8  # answers to search for one that is ground and of the right type


class NodeTransform(Protocol):
    """A node rewriter written in Python; its result has the type of the node.

    ``tracks`` holds the ops, or classes of ops, whose nodes it rewrites; None for all.  A transform
    that computes a part of an operand, such as an index of a sum as a sum of indices, also has the
    methods ``computed_whole(outputs)``, which returns the nodes of a graph, operands first, no part
    of which must be computed again, and ``takes_part(node)``, which says whether a node is such a
    part.  A transform that may be asked of nodes on operands of any form has the attribute
    ``pure = True``.
    """

    name: str
    tracks: tuple[Any, ...] | None

    @property
    def relation(self) -> str:
        """The name of its steps in a derivation."""
        ...

    def transform(self, node: Variable) -> Variable | None:
        """Return the replacement of a node, or None."""
        ...


class Interpreted:
    """The step of a relation that kanren runs, instead of a compiled rewrite."""

    __slots__ = ("source",)

    def __init__(self, source: Relation) -> None:
        self.source = source

    @property
    def relation(self) -> str:
        """The name of the relation, with its direction."""
        return self.source.label


def interpret(
    selection: Selection,
    node: Variable,
    repeats: Callable[[Any, Variable, Variable], bool] | None = None,
) -> tuple[Variable, Any, tuple[Any, ...]] | None:
    """Try the selection's interpreted relations and transforms on one node.

    A result is skipped if ``repeats(transform, node, result)``.

    :meth:`~relgraph.rewriting.driver.Driver.run` contains an inlined copy of the second loop.
    """
    for shapes in selection.shapes:
        result = shapes.answer(node)
        if result is not None and result is not node:
            return result, Interpreted(shapes.relation), ()
    for transform in selection.asked(node.op):
        result = transform.transform(node)
        if result is not None and result is not node:
            if repeats is not None and repeats(transform, node, result):
                continue
            return result, transform, ()
    return None


def tracked(transform: NodeTransform, op: Op | None) -> bool:
    """Return True if a transform tracks applications of an op."""
    tracks = transform.tracks
    return tracks is None or op in tracks or type(op) in tracks


def answer(relation: Relation, node: Variable) -> Variable | None:
    """Return kanren's first ground answer for a node that has the node's type, or None.

    A search that exceeds its limit raises RelationError.
    """
    for built in answers(relation, node):
        fitted = placed(relation, built, node)
        if fitted is not None:
            return fitted
    return None


def placed(relation: Relation, built: Variable, node: Variable) -> Variable | None:
    """Return the replacement of a node by an answer of kanren, or None if it is not valid.

    The replacement has the type of the node, runs wherever the node does, and broadcasts on neither
    side, unless the relation declares ``broadcast=`` or is elementwise.
    """
    fitted = fit(built, node.type, node, pointwise=False)
    uniform = not relation.broadcast
    return proved(fitted, node, (), uniform=uniform, numbers=relation.binds_ops)


def answers(relation: Relation, node: Variable) -> Iterator[Variable]:
    """Yield kanren's ground answers for a node, of any type."""
    q = fresh("q")
    states = search.answers(lambda: relation(node, q), relation.label, {"node": node})
    for final in islice(states, TRIES):
        if RESIDUALS in final:
            continue
        try:
            built = as_node(reify(q, final), node)
        except RelgraphError:
            continue
        yield built
