"""Neighbours: a rewrite of adjacent operands, applied to all of a sequence at once.

A relation such as ``f(*a, x, y, *b) = f(*a, z, *b)`` replaces neighbours whatever stands beside
them.  Applied to one pair after the other, it would build the whole sequence again for each.  Its
uses on disjoint neighbours do not depend on each other, so one step makes them all, from left to
right: a sequence of n operands takes about log n steps, each of which visits n operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from relgraph.ir.node import Variable, apply
from relgraph.relations.clause import Rewrite
from relgraph.relations.matcher import endless
from relgraph.relations.operand_index import Firing, plays
from relgraph.relations.runtime import REFUSED, OutOfSteps, fit

Accepts = Callable[[Variable, Any], bool]


class Firings(tuple[Firing, ...]):
    """The uses of one rewrite on disjoint neighbours of a node, from left to right.

    Each takes an application of the op of the node to its neighbours, and makes another one.
    """

    __slots__ = ()


class Matcher(Protocol):
    """Matches the applications of an op by several rewrites."""

    def only(self, rewrite: Rewrite) -> Callable[[Variable, Accepts | None], Any]:
        """Return the matcher of one of the rewrites."""
        ...


def everywhere(
    matcher: Matcher,
    node: Variable,
    rewrite: Rewrite,
    accepts: Accepts | None = None,
) -> tuple[Variable, Rewrite, Firings] | None:
    """Return the firing of a rewrite on all its neighbours in a node, or None.

    The firings come in the place of the bindings.  Those that ``accepts`` refuses are left out, and
    those in a dtype other than that of the node.
    """
    firings, operands = _firings(matcher.only(rewrite), node, rewrite, accepts)
    if not firings:
        return None
    try:
        result = fit(apply(node.op, tuple(operands)), node.type, node, False)  # type: ignore[arg-type]
    except REFUSED:
        return None
    if result is None or result.op is not node.op:
        return None
    return result, rewrite, Firings(firings)


def _firings(
    match: Callable[[Variable, Accepts | None], Any],
    node: Variable,
    rewrite: Rewrite,
    accepts: Accepts | None,
) -> tuple[list[Firing], list[Variable]]:
    """Return the uses of a rewrite on disjoint neighbours, and the operands after them."""
    relation = rewrite.source
    roles = relation.forms[relation.number_of(rewrite)][1][1:-1]
    op: Any = node.op
    inputs, dtype, width = node.inputs, node.type.dtype, len(roles)
    keys = [x.op or x.__class__ for x in inputs]
    firings: list[Firing] = []
    operands: list[Variable] = []
    place = 0
    while place < len(inputs):
        end = place + width
        firing = None
        if end <= len(inputs) and all(map(plays, keys[place:end], roles)):
            try:
                firing = _firing(match, op, inputs[place:end], dtype, accepts)
            except OutOfSteps:
                raise endless(rewrite) from None
        if firing is None:
            operands.append(inputs[place])
            place += 1
        else:
            operands += firing.result.inputs
            firings.append(firing)
            place = end
    return firings, operands


def _firing(
    match: Callable[[Variable, Accepts | None], Any],
    op: Any,
    neighbours: tuple[Variable, ...],
    dtype: Any,
    accepts: Accepts | None,
) -> Firing | None:
    """Return the use of a rewrite on neighbours, if it matches them and nothing refuses it."""
    try:
        part = apply(op, neighbours)
        fired = match(part, accepts) if part.type.dtype == dtype else None
    except REFUSED:
        return None
    if fired is None or fired[0].op is not op:
        return None
    result, rewrite, bindings = fired
    return Firing(rewrite, bindings, (part,), result)
