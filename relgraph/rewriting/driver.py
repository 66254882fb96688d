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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from relgraph.ir import forks
from relgraph.ir.node import Variable, apply
from relgraph.rewriting.budgets import Log
from relgraph.rewriting.firing_cost import FiringCost
from relgraph.rewriting.interpreter import interpret
from relgraph.rewriting.like_terms import Sums
from relgraph.rewriting.selection import Selection
from relgraph.rewriting.single_pass import walk

# Runs a selection instead of the driver, to record or profile it.
Runner = Callable[[Sequence[Variable], Selection, bool], tuple[Variable, ...]]
RUNNER: ContextVar[Runner | None] = ContextVar("relgraph_runner", default=None)

KEPT = 50_000  # normal forms that a selection remembers between calls
_MISSING = object()


class _WholeUnknown(Exception):
    """A transform is about to compute part of an operand that may be computed whole as well."""


class Driver(Sums):
    """One run of a selection over a graph, to normal form."""

    whole: set[Variable] | None = None  # no part of these is computed again; None before it matters

    def outputs(
        self, outputs: Sequence[Variable], whole: Sequence[Variable] | None
    ) -> tuple[Variable, ...]:
        """Return the normal forms of a graph; no part of the nodes in ``whole`` is computed again.

        If ``whole`` is None and it matters which nodes these are, _WholeUnknown is raised.
        """
        if whole is not None:
            self.whole = set()
            for x in whole:
                self.whole.add(self.run(x))
        return tuple([self.run(x) for x in outputs])

    def repeats(self, transform: Any, node: Variable, result: Variable) -> bool:
        """Return True if a transform applies an operand's op to parts, and the whole is needed."""
        x = node.inputs[0]
        if result.op is not x.op or not hasattr(transform, "computed_whole"):
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
        signed, checked, repeats = self.selection.signed, self.checked, self.repeats
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
            kind = signed.get(op)
            if kind is not None and n not in checked:
                collected: Any = self.collect(n, kind, push)
                if collected is True:
                    continue
                if collected is not None:
                    if collected in normal or self.settled(collected):
                        pop()
                        normal[n] = normal[collected]
                        continue
                    if collected in forward or collected is n:
                        raise self.oscillation(n, collected)
                    forward[n] = collected
                    push(collected)
                    continue
            group: Any = ac.get(op, _MISSING)
            if group is _MISSING:
                group = get_ac(op)
            if group is not None:
                quick = self.pair(n, op, group, push) if n not in self.groups else False
                if quick or (quick is False and self.group(n, group, push)):
                    pop()
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


def _without(
    outputs: Sequence[Variable], needs: frozenset[Any], known: dict[Variable, Variable]
) -> list[Variable] | None:
    """Return the nodes of a graph that are not known, or None if one of them has a needed op."""
    nodes = dict.fromkeys([x for x in outputs if x.inputs])
    waiting = list(nodes)
    ops = set()
    for x in waiting:  # grows as it goes
        op = x.op
        if op not in ops:
            if op in needs or op.__class__ in needs:
                return None
            ops.add(op)
        image = known.get(x)
        if image is not None:
            if image is not x:
                return None
            continue
        for y in x.inputs:
            if y not in nodes and y.inputs:
                nodes[y] = None
                waiting.append(y)
    return waiting


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
    ops = selection.ac_ops
    with selection.lock:
        key = tuple(outputs)
        selection.unsettled.discard(key)
        if log is None and not once:
            normal_forms = selection.results.get(key)
            if normal_forms is not None:
                return normal_forms
        closed, users = frozenset[Variable](), None
        if ops or selection.thrifty:
            closed, users = selection.sharing.count(outputs)
        kept = log is None and not once
        group: Any = closed, None
        # It changes in many steps, and an interrupted run must not leave some of them behind.
        memo = selection.memo.pop(group, {}) if kept else {}
        if selection.needs is not None:
            idle = _without(outputs, selection.needs, memo)
            if idle is not None:
                memo.update(zip(idle, idle, strict=True))
                if kept:
                    selection.memo[group] = memo
                selection.trim(KEPT)
                return key
        if once:
            return walk(outputs, Driver(selection, closed, memo, log))
        cost = FiringCost(users, memo) if selection.thrifty and users is not None else None
        whole = None if kept else selection.computed_whole(outputs)
        with collector_paused():
            try:
                result = Driver(selection, closed, memo, log, cost).outputs(outputs, whole)
            except _WholeUnknown:  # most runs need not look for them
                if cost is not None:
                    cost.keep(outputs, memo)
                selection.memo[group] = memo
                whole = selection.computed_whole(outputs)
                group = closed, frozenset(whole)
                memo = selection.memo.pop(group, {})
                cost = None if cost is None else FiringCost(cost.users, memo)
                result = Driver(selection, closed, memo, log, cost).outputs(outputs, whole)
        if cost is not None and cost.refused and result != key:
            selection.unsettled.add(result)
        if kept:
            if cost is not None:
                cost.keep(outputs, memo)
            selection.memo[group] = memo
            if result not in selection.unsettled:
                selection.results[key] = result
        selection.trim(KEPT)
    return result
