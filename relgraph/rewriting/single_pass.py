"""A single pass over a graph: it visits every node once, operands first, but no results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, apply
from relgraph.relations.ac_matcher import AcMatcher
from relgraph.relations.nary import NEAR, combined, leaves
from relgraph.rewriting.interpreter import interpret

if TYPE_CHECKING:
    from relgraph.rewriting.driver import Driver


def walk(outputs: Sequence[Variable], driver: Driver) -> tuple[Variable, ...]:
    """Return a graph after one visit to each of its nodes; the driver logs the firings."""
    image: dict[Variable, Variable] = {}
    for node in toposort(outputs):
        if node.op is None:
            image[node] = node
            continue
        inputs = tuple([image[x] for x in node.inputs])
        rebuilt = node if inputs == node.inputs else apply(node.op, inputs)
        image[node] = _visited(rebuilt, driver)
    return tuple([image[x] for x in outputs])


def _visited(node: Variable, driver: Driver) -> Variable:
    """Return the replacement of a node by one rewrite, or the node."""
    selection = driver.selection
    op: Any = node.op
    matcher = selection.ac_of(op)
    if matcher is not None:
        regrouped = _regrouped(node, matcher, driver)
        if regrouped is not None:
            return regrouped
    match = selection.plain(op)
    fired = match(node) if match is not None else None
    if fired is None and (selection.interpreted or selection.transforms):
        fired = interpret(selection, node)
    if fired is None:
        return node
    result, rewrite, bindings = fired
    driver.fired(node, result, rewrite, bindings)
    return result  # type: ignore[no-any-return]


def _regrouped(node: Variable, matcher: AcMatcher, driver: Driver) -> Variable | None:
    """Return a sum or product after one step on its n-ary view, or None."""
    view = matcher.view()
    closed = () if driver.selection.regroups else driver.nary.closed
    view.fill(leaves(node, matcher.op, closed, NEAR))
    matches = matcher.step(view)
    if not matches:
        return None
    parts = dict(view.operands)
    for match in matches:
        made = match.firing.result
        parts[min(match.slots)] = matcher.kind.negated(made) if match.negative else made
    result = combined(matcher.op, [parts[i] for i in sorted(parts)])
    driver.charge(matches[0].firing.rewrite, node, len(matches))
    if driver.log is not None:
        driver.log.step(node, result, [match.firing for match in matches])
    return result
