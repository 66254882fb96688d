"""Why a relation did not fire while a graph was rewritten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from relgraph.checking.diagnosis import reasons as kinds
from relgraph.checking.diagnosis.places import nearest_places, plain_rewrites
from relgraph.checking.diagnosis.reasons import Place, Reason, listed, shown
from relgraph.errors import RelgraphError
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.relations.clause import Rewrite, is_ac, op_name
from relgraph.relations.nary import kind_of
from relgraph.relations.pattern import Block, PatternNode, subterms, text
from relgraph.relations.relation import Relation
from relgraph.relations.shape_proof import nodes_of
from relgraph.rewriting.derivation.derivation import Phase, Step, run_recorded
from relgraph.rewriting.selection import selection_of

PATTERNS = 2  # that a message shows
MOST = 50  # nodes of a match that are looked at

Outputs = Sequence[Variable]


def unfired(
    relation: Relation, before: Outputs, after: Outputs, phases: Sequence[Any]
) -> tuple[Place, ...]:
    """Return the places at which a relation might have fired and did not, the nearest first.

    There is at least one.  ``phases`` are those of the derivation from ``before`` to ``after``.
    """
    try:
        steps = _steps(relation, before)
    except RelgraphError as error:
        return (of_graph(before, Reason(kinds.BUDGET, error.what, error.fix)),)
    if steps:
        return tuple([_outdone(relation, x, before, phases) for x in steps])
    backward = _backward(relation, before)
    if relation.interpreted:
        what = f"kanren runs {relation.label} at each node, and finds no answer"
        advice = "relation.run(1, node) asks it for the answer at one node."
        return (*backward, of_graph(before, Reason(kinds.GOAL, what, advice)))
    old = toposort(before)
    known = set(old)
    new = [x for x in toposort(after) if x not in known]
    places = nearest_places(relation, [x for x in (*old, *new) if x.inputs])
    uses = _uses(before)
    places = [x if x.reasons else _all_pass(x, uses) for x in places]
    if not places:
        return backward or (of_graph(before, _no_head(relation)),)
    # What has one op alone, such as x + y, matches almost everywhere.
    specific = backward and any(map(_is_specific, plain_rewrites(relation.reversed)))
    if specific and places[0].kind in (kinds.OP, kinds.TERMS):
        return (*backward, *places)
    return (*places, *backward)


def of_graph(outputs: Outputs, reason: Reason) -> Place:
    """Return a reason that holds for a graph as a whole."""
    return Place(outputs[0], None, (reason,))


def _steps(relation: Relation, outputs: Outputs, *, thrifty: bool = False) -> list[Step]:
    """Return the firings of a relation alone at the nodes of a graph."""
    selection = selection_of((relation,), thrifty=thrifty)
    known = set(toposort(outputs))
    steps = run_recorded(outputs, selection, once=not thrifty).steps
    return [x for x in steps if x.before in known]


def _backward(relation: Relation, outputs: Outputs) -> tuple[Place, ...]:
    """Return where a relation fires in the other direction, if it does."""
    try:
        other = relation.reversed
        steps = _steps(other, outputs)
    except RelgraphError:
        return ()
    if not steps:
        return ()
    node = steps[0].before
    what = f"it fires in the other direction: {shown(node)} = {shown(steps[0].after)}"
    reason = Reason(kinds.DIRECTION, what, f"Pass {other.label}.")
    return (Place(node, None, (reason,)),)


def _is_specific(rewrite: Rewrite) -> bool:
    """Return True if the pattern of a rewrite applies several ops."""
    return sum(isinstance(x, PatternNode | Block) for x in subterms(rewrite.pattern)) > 1


def _no_head(relation: Relation) -> Reason:
    """Return the reason where no node has the head of a pattern."""
    patterns = list(dict.fromkeys(x.pattern for x in plain_rewrites(relation)))
    heads = list(dict.fromkeys(op_name(x.op) for x in patterns))
    sides = ", nor ".join(map(text, patterns[:PATTERNS]))
    do = "do" if len(heads) > 1 else "does"
    what = f"no node of the graph matches {sides}: {listed(heads)} {do} not occur in it"
    return Reason(kinds.OP, what, "Another relation may bring the graph to that form.")


# Where the relation would fire by itself.


def _outdone(relation: Relation, step: Step, before: Outputs, phases: Sequence[Any]) -> Place:
    """Return why a relation did not make a step that it makes by itself."""
    rewrite = step.firings[0].rewrite if step.firings else None
    matched = _matched(step)
    own = [p for p in phases if isinstance(p, Phase) and relation in p.selection.relations]
    others = [x for p in phases for x in p.steps if x.before in matched]
    if any(p.selection.thrifty for p in own) and not _pays(relation, step, before):
        reason = _shared(relation, matched, step, before)
    elif others:
        first = others[0].before
        where = "" if first is step.before else f" at {shown(first)}"
        reason = _earlier(relation, f"{listed(others[0].relations)} fires first{where}")
    else:
        passes = [p.name for p in phases if not isinstance(p, Phase)]
        changed = passes or [x.relations[0] for p in phases for x in p.steps]
        reason = _earlier(relation, f"{changed[0] if changed else 'another relation'} fires first")
    return Place(step.before, rewrite, (reason,))


def _earlier(relation: Relation, what: str) -> Reason:
    """Return the reason where something else changes a graph first."""
    advice = f"Pass it before the others: {passing(relation)}."
    return Reason(kinds.ORDER, what, advice)


def passing(relation: Relation) -> str:
    """Return how to pass a relation beside a mode, or alone."""
    label = relation.label
    return f"mode=[{label}, 'o4'], or rg.rewrite_graph(graph, {label})"


def _pays(relation: Relation, step: Step, outputs: Outputs) -> bool:
    """Return True if a step is made where relations must not compute more than they save."""
    try:
        return any(x.before is step.before for x in _steps(relation, outputs, thrifty=True))
    except RelgraphError:
        return True


def _shared(relation: Relation, matched: Iterable[Variable], step: Step, graph: Outputs) -> Reason:
    """Return the reason where a matched node has other users."""
    uses = _uses(graph)
    shared = [x for x in matched if x is not step.before and uses[x] > 1]
    names = listed([shown(x) for x in shared[:3]]) if shared else "part of it"
    what = (
        f"{names} is used elsewhere too, so it is computed all the same, and the step would cost "
        "more than it saves"
    )
    advice = f"Pass the relation itself, which fires at any cost: {passing(relation)}."
    return Reason(kinds.SHARING, what, advice)


def _all_pass(place: Place, uses: Counter[Variable]) -> Place:
    """Return a place at which all tests pass, with the reason that remains."""
    node = place.node
    op: Any = node.op
    if is_ac(op):
        inner = [x for x in kind_of(op).terms(node)[1] if x is not node and uses[x] > 1]
        if inner:
            what = f"{shown(inner[0])} is used elsewhere too, so its terms stay together"
            advice = "Write the sum or product without the shared part, or rewrite that first."
            return Place(node, place.rewrite, (Reason(kinds.SHARING, what, advice),))
    what = "it would fire here if the operands had other signs, coefficients or brackets"
    advice = "Write the terms next to each other, with the signs and numbers of the pattern."
    return Place(node, place.rewrite, (Reason(kinds.TERMS, what, advice),))


def _matched(step: Step) -> dict[Variable, None]:
    """Return the nodes that a step matches, down to those that its variables stand for."""
    bound = {x for f in step.firings for x in nodes_of(f.bindings)}
    matched = {step.before: None}
    waiting = [step.before]
    for x in waiting:
        for y in x.inputs:
            if y.inputs and y not in bound and y not in matched and len(matched) < MOST:
                matched[y] = None
                waiting.append(y)
    return matched


def _uses(outputs: Outputs) -> Counter[Variable]:
    """Return how often each node of a graph is used, as an operand or an output."""
    uses = Counter(outputs)
    for x in toposort(outputs):
        uses.update(x.inputs)
    return uses
