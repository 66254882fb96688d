"""The driver: memoised innermost normalisation over an explicit stack.

The driver rewrites a node's operands to normal form, rebuilds the node on them, applies the matcher
of its op until nothing fires, and remembers the normal form.  Nodes are hash-consed, so each
distinct node is matched once, and a node that occurs again on its own chain of rewrites is an
oscillation, detected exactly.  Nested applications of an associative and commutative op are one
group, which is matched by its n-ary view.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from relgraph.ir import forks
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, apply
from relgraph.relations.neighbours import everywhere
from relgraph.rewriting.budgets import Limits, Log
from relgraph.rewriting.firing_cost import FiringCost, Uses, are_used
from relgraph.rewriting.interpreter import interpret
from relgraph.rewriting.nary_normaliser import NaryNormaliser
from relgraph.rewriting.selection import Selection
from relgraph.rewriting.shared_subterms import Sharing, last_count
from relgraph.rewriting.single_pass import walk

# Runs a selection instead of the driver, to record or profile it.
Runner = Callable[[Sequence[Variable], Selection, bool], tuple[Variable, ...]]
RUNNER: ContextVar[Runner | None] = ContextVar("relgraph_runner", default=None)

KEPT = 50_000  # normal forms that a selection remembers between calls
_MISSING = object()


class _WholeUnknown(Exception):
    """A transform is about to compute part of an operand that may be computed whole as well."""


class Driver(Limits):
    """One run of a selection over a graph, to normal form.

    ``nary`` normalises sums and products, and ``closed`` holds the shared ones.
    """

    def __init__(
        self,
        selection: Selection,
        closed: frozenset[Variable],
        memo: dict[Variable, Variable],
        log: Log | None = None,
        cost: FiringCost | None = None,
    ) -> None:
        super().__init__(selection, memo, log)
        self.cost = cost
        self.nary = NaryNormaliser(selection, closed, memo, self, cost)
        self.whole: set[Variable] | None = None  # no part of these is computed again

    def waiting_for(self, node: Variable) -> Variable | None:
        """Return the next reduct of a node in this run, or the node that it waits for."""
        return self.nary.waiting_for(node) or super().waiting_for(node)

    def outputs(
        self,
        outputs: Sequence[Variable],
        whole: Sequence[Variable] | None,
        earlier: dict[Variable, Variable],
        moved: set[Variable],
        nested: Container[Variable],
    ) -> tuple[Variable, ...]:
        """Return the normal forms of a graph; no part of the nodes in ``whole`` is computed again.

        If ``whole`` is None and it matters which nodes these are, _WholeUnknown is raised.  The
        others are as in :meth:`recall`.
        """
        if whole is not None:
            self.whole = set()
            for x in whole:
                self.whole.add(self.run(x))
        if earlier and earlier is not self.normal:
            self.recall(outputs, earlier, moved, nested)
        return tuple([self.run(x) for x in outputs])

    def recall(
        self,
        outputs: Sequence[Variable],
        earlier: dict[Variable, Variable],
        moved: set[Variable],
        nested: Container[Variable],
    ) -> None:
        """Take the nodes of a graph for normal that were so earlier, but look at some again.

        These are the nodes at which a firing was refused for users that changed, and the sums and
        products whose views change, for a node in ``moved`` was closed and no longer is, or the
        reverse.  Those in ``nested`` are operands in their own family.
        """
        normal, refused = self.normal, self.selection.refused
        closed, families = self.nary.closed, self.selection.families
        changed: set[Variable] = set()
        for x in toposort(outputs):
            if not changed.isdisjoint(x.inputs):
                changed.add(x)
                continue
            family = families.get(x.op)
            again = holds = False
            if x in refused:
                holds = self.cost is not None and self.cost.holds(x, refused[x])
                again = not holds
            if family is not None and not moved.isdisjoint(x.inputs):
                again = any([families.get(y.op) is family for y in x.inputs if y in moved])
                if again and x in nested and x not in closed:
                    moved.add(x)  # part of the view that the next application has
                    continue
            if again:
                if self.run(x) is not x:
                    changed.add(x)
            elif holds or earlier.get(x) is x:
                normal[x] = x

    def repeats(self, transform: Any, node: Variable, result: Variable) -> bool:
        """Return True if a transform applies an operand's op to parts, and the whole is needed."""
        x = node.inputs[0]
        if result.op is not x.op or not hasattr(transform, "computed_whole"):
            return False
        if not transform.takes_part(node):
            return False
        if self.whole is None:
            raise _WholeUnknown
        return x in self.whole

    def run(self, root: Variable) -> Variable:  # noqa: PLR0915 - one loop, inlined for speed
        """Return the normal form of one output."""
        normal, forward, depth = self.normal, self.forward, self.depth
        ac, get_ac = self.selection._ac, self.selection.ac_of
        plain, get_plain = self.selection._plain, self.selection.plain
        interpreted = self.selection.interpreted
        asked, get_asked = self.selection._asked, self.selection.asked
        nary, repeats = self.nary, self.repeats
        visit, difference, checked = nary.visit, nary.difference, nary.checked
        differences = self.selection.differences
        accepts = None if self.cost is None else self.cost.of_node
        stack: list[Variable] = [root]
        push, pop = stack.append, stack.pop
        while stack:
            n = stack[-1]
            if n in normal:
                pop()
                continue
            reduct = forward.get(n)
            if reduct is not None:
                if reduct not in normal:  # n lies below its own reduct
                    raise self.oscillation(n, reduct)
                pop()
                normal[n] = normal[reduct]
                continue
            inputs = n.inputs
            if not inputs:
                pop()
                normal[n] = n
                continue
            op: Any = n.op
            group: Any = ac.get(op, _MISSING)
            if group is _MISSING:
                group = get_ac(op)
            if group is not None:
                if visit(n, op, group, push):
                    pop()
                continue
            if op in differences and n not in checked:
                done = difference(n, differences[op], push)
                if done:
                    pop()
                if done is not None:
                    continue
            waiting = changed = False
            for x in inputs:
                y = normal.get(x)
                if y is None:
                    if x.inputs:
                        push(x)
                        waiting = True
                elif y is not x:
                    changed = True
            if waiting:
                if depth:
                    self.inherit(n, inputs)
                continue
            m = n
            if changed:
                m = apply(op, tuple([normal.get(x, x) for x in inputs]))
                if m in normal or self.settled(m):
                    pop()
                    normal[n] = normal[m]
                    continue
                if m in forward:
                    raise self.oscillation(n, m)
                if depth:
                    self.inherit(n, (m,))
            match: Any = plain.get(op, _MISSING)
            if match is _MISSING:
                match = get_plain(op)
            fired = match(m, accepts) if match is not None else None
            if fired is None and interpreted:
                fired = interpret(self.selection, m, repeats)
            elif fired is None:  # what interpret does: its call would cost 9 to 15 % here
                for transform in asked.get(op) or get_asked(op):
                    replacement = transform.transform(m)
                    if replacement is not None and replacement is not m:
                        if repeats(transform, m, replacement):
                            continue
                        fired = replacement, transform, ()
                        break
            if fired is None:
                pop()
                normal[n] = normal[m] = m
                continue
            result, rewrite, bindings = fired
            if getattr(rewrite, "window", 0) and bindings.__class__ is tuple:
                several = everywhere(match, m, rewrite, accepts)
                if several is not None and len(several[2]) > 1:
                    result, _, bindings = several
            self.fired(m, result, rewrite, bindings)
            if result in normal or self.settled(result):
                pop()
                normal[n] = normal[m] = normal[result]
                continue
            if result in forward or result is n:
                if m is not n:
                    forward[n] = m
                raise self.oscillation(m, result)
            if m is not n:
                forward[m] = result
                self.why[n] = rewrite.relation
            forward[n] = result
            push(result)
        return normal[root]


_paused: list[int] = []  # the threads that have switched the cyclic collector off


def _collect_again() -> None:
    """Switch the collector on if a thread that only the parent has switched it off."""
    thread = threading.get_ident()
    if any(x != thread for x in _paused):
        gc.enable()
    _paused[:] = [x for x in _paused if x == thread]


forks.in_child(_collect_again)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Switch the cyclic collector off: nodes hold no cycles, so it would only walk over them.

    A sum of 4,096 products is distributed in 25 ms instead of 47, and gathered in 12.4 instead of
    13.3.  If another thread calls gc.enable() meanwhile, only that is lost.
    """
    thread = threading.get_ident()
    collecting = gc.isenabled()
    if collecting:
        _paused.append(thread)
        gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
            _paused.remove(thread)


def normalise(
    outputs: Sequence[Variable],
    selection: Selection,
    log: Log | None = None,
    once: bool = False,
) -> tuple[Variable, ...]:
    """Return the normal forms of a graph under a selection; with ``once``, visit each node once.

    ``log`` is called at every firing.  It switches the memo of earlier calls off, so that it sees
    every step.  Relations that do not come to an end raise OscillationError or BudgetError, and no
    graph is half-rewritten.
    """
    runner = RUNNER.get()
    if runner is not None and log is None:
        return runner(outputs, selection, once)
    with selection.lock:
        key = tuple(outputs)
        selection.unsettled.discard(key)
        kept = log is None and not once
        if kept:
            normal_forms = selection.results.get(key)
            if normal_forms is not None:
                return normal_forms
            if selection.is_idle(outputs):
                selection.trim(KEPT)
                return key
        with collector_paused(), last_count() as sharing:
            if once:
                closed, _ = sharing.count(outputs, selection.families)
                return walk(outputs, Driver(selection, closed, {}, log))
            whole = None if kept else selection.computed_whole(outputs)
            try:
                result, settled, final = _run(outputs, selection, sharing, whole, log)
            except _WholeUnknown:  # most runs need not look for them
                whole = selection.computed_whole(outputs)
                result, settled, final = _run(outputs, selection, sharing, whole, log)
        if not settled and result != key:
            selection.unsettled.add(result)
        elif kept:
            selection.results[key] = result
            if final:
                selection.results[result] = result
        selection.trim(KEPT)
    return result


def _run(
    outputs: Sequence[Variable],
    selection: Selection,
    sharing: Sharing,
    whole: Sequence[Variable] | None,
    log: Log | None,
) -> tuple[tuple[Variable, ...], bool, bool]:
    """Return the normal forms of a graph, and whether they are settled and final.

    They are settled unless firings were refused for users of nodes that may be gone, and final if
    it is known that another run would see the same users and the same sums.

    Nodes that were normal in an earlier run are not visited again, unless the closed nodes below
    them changed, or the normal form of a node at which a firing was refused.
    """
    memos = selection.memo
    closed, users = frozenset[Variable](), dict[Variable, int]()
    if selection.families or selection.thrifty:
        closed, users = sharing.count(outputs, selection.families)
    group = closed, None if whole is None else frozenset(whole)
    # A memo changes in many steps, and an interrupted run must not leave some of them behind.
    memo = memos.pop(group, None) if log is None else {}
    earlier, moved = memo or {}, set[Variable]()
    if memo is None and memos:
        last = next(reversed(memos))
        if last[1] == group[1]:
            earlier, before = memos[last], selection.closed
            moved = {x for x in before if users.get(x) == 1} | (closed - before)
    if memo is None or not selection.refused.keys().isdisjoint(users):
        memo = {}
    cost = FiringCost(users, memo) if selection.thrifty else None
    driver = Driver(selection, closed, memo, log, cost)
    try:
        result = driver.outputs(outputs, whole, earlier, moved, sharing.nested)
    except _WholeUnknown:
        memos[group] = earlier
        raise
    shared = closed if cost is None else [x for x, count in users.items() if count > 1]
    images = {memo.get(x, x) for x in shared}
    refused = cost.keep(memo) if cost is not None else {}
    # The next selection of a pipeline needs this count, too; a graph that runs alone does not.
    final = cost is not None and _is_final(result, selection, sharing, images, refused)
    if cost is not None:
        selection.refused = dict.fromkeys(selection.refused) | refused
    if log is None:
        selection.closed = images
        memos[group] = memo
    return result, final or not refused, final


def _is_final(
    outputs: Sequence[Variable],
    selection: Selection,
    sharing: Sharing,
    shared: set[Variable],
    refused: Mapping[Variable, Uses],
) -> bool:
    """Return True if another run would open the same sums and reject the same firings.

    ``shared`` are the normal forms of the nodes that were shared before the run.
    """
    closed, users = sharing.count(outputs, selection.families)
    moved = {x for x in shared if users.get(x) == 1} | (closed - shared)
    if any([x.op in selection.families for x in moved]):
        return False
    return all([are_used(uses, users) for x, uses in refused.items() if x in users])
