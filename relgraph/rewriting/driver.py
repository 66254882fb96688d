"""The driver: memoised innermost normalisation over an explicit stack.

A node's operands are brought to normal form, the node is rebuilt on them, the matcher of its op is
applied until nothing fires, and its normal form is remembered.  Nodes are hash-consed, so each
distinct node is matched once, and a node that occurs again on its own chain of rewrites is an
oscillation, detected exactly.  Nested applications of an associative and commutative op are one
group: their n-ary view is what is matched.
"""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from typing import Any

from relgraph.errors import BudgetError, OscillationError
from relgraph.ir.node import Constant, Variable, apply
from relgraph.ir.op import Op
from relgraph.relations.ac import leaves, nary, region, small_first, uniform
from relgraph.relations.ac_matcher import AcMatcher, Firing, Match, View, key_of
from relgraph.rewriting.interpreter import interpret
from relgraph.rewriting.selection import Selection
from relgraph.rewriting.walk import walk

# Called with what is replaced in the graph, its replacement, and the firings that justify it.
Log = Callable[[Variable, Variable, Sequence[Firing]], None]

# A run in the place of the ordinary one: to record it, to profile it, or to check it.
Runner = Callable[[Sequence[Variable], Selection, bool], tuple[Variable, ...]]
RUNNER: ContextVar[Runner | None] = ContextVar("relgraph_runner", default=None)

CHAIN = 10_000  # rewrites that may follow from one node before it is called runaway growth
KEPT = 50_000  # normal forms that a selection remembers between calls
_MISSING = object()


def shared_applications(outputs: Sequence[Variable], ops: Collection[Op]) -> frozenset[Variable]:
    """Return the applications of ``ops`` nested in the same op that have other users as well.

    They are not opened into their clients: a sum computed once for two users stays one sum.
    """
    seen: set[Variable] = set(outputs)
    nested: set[Variable] = set()
    several: set[Variable] = {x for x in outputs if x.op in ops}
    stack = [x for x in seen if x.inputs]
    while stack:
        node = stack.pop()
        op = node.op
        inner = op in ops
        for x in node.inputs:
            if not x.inputs:
                continue
            if inner and x.op is op:
                nested.add(x)
            if x not in seen:
                seen.add(x)
                stack.append(x)
            elif x.op in ops:
                several.add(x)
    return frozenset(several & nested)


class Driver:
    """One run of a selection over a graph.

    Parameters
    ----------
    selection : Selection
        What to apply.
    closed : frozenset of Variable
        Shared applications that views do not open.
    log : callable, optional
        Called at every step with the node that is replaced, its replacement, and the firings.
    once : bool
        Apply each rewrite at most once a node, and not to its own results.
    """

    def __init__(
        self,
        selection: Selection,
        closed: frozenset[Variable],
        memo: dict[Variable, Variable],
        log: Log | None = None,
        once: bool = False,
    ) -> None:
        self.selection = selection
        self.closed = closed
        self.normal = memo
        self.log = log
        self.once = once
        self.forward: dict[Variable, Variable] = {}
        self.why: dict[Variable, str] = {}
        self.firings = 0
        self.depth: dict[Variable, int] = {}
        self.groups: dict[Variable, _Group] = {}
        self.views: dict[Variable, View] = {}
        self.keys: dict[Variable, frozenset[Any]] = {}
        self.spent: dict[str, int] = {}

    def run(self, root: Variable) -> Variable:  # noqa: PLR0915 - one loop, inlined for speed
        """Return the normal form of one output."""
        normal, forward, depth = self.normal, self.forward, self.depth
        ac, get_ac = self.selection._ac, self.selection.ac_of
        plain, get_plain = self.selection._plain, self.selection.plain
        fallback = bool(self.selection.interpreted or self.selection.transforms)
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
            if changed:
                m = apply(op, tuple([normal.get(x, x) for x in inputs]))
                if m in normal:
                    pop()
                    normal[n] = normal[m]
                    continue
                if m in forward:
                    raise self.oscillation(n, m)
                forward[n] = m
                if depth:
                    self.inherit(n, (m,))
                push(m)
                continue
            match: Any = plain.get(op, _MISSING)
            if match is _MISSING:
                match = get_plain(op)
            found = match(n) if match is not None else None
            if found is None and fallback:
                found = interpret(self.selection, n)
            if found is None:
                pop()
                normal[n] = n
                continue
            result, rewrite, bindings = found
            self.fired(n, result, rewrite, bindings)
            if self.once or result in normal:
                pop()
                normal[n] = result if self.once else normal[result]
                continue
            if result in forward and result not in normal:
                self.why[n] = rewrite.relation
                raise self.oscillation(n, result)
            forward[n] = result
            push(result)
        return normal[root]

    def inherit(self, node: Variable, operands: Sequence[Variable]) -> None:
        """Count the operands of a reduct as part of the chain that made it."""
        steps = self.depth.get(node)
        if steps is not None:
            for x in operands:
                self.depth.setdefault(x, steps)

    def fired(
        self, before: Variable, after: Variable, rewrite: Any, bindings: tuple[Any, ...]
    ) -> None:
        """Log a firing and charge it to the budgets."""
        self.why[before] = rewrite.relation
        self.firings += 1
        if self.firings > CHAIN:
            self.deepen(before, after, rewrite.relation)
        if self.selection.budgets:
            self.charge(rewrite.relation, before)
        if self.log is not None:
            self.log(before, after, (Firing(rewrite, bindings, (before,), after),))

    def deepen(self, before: Variable, after: Variable, name: str) -> None:
        """Measure the chain of rewrites that a node ends, once there were many in all."""
        steps = self.depth.get(before, 0) + 1
        self.depth[after] = max(steps, self.depth.get(after, 0))
        if steps > CHAIN:
            raise self.runaway(name, f"{CHAIN} rewrites followed from one node", before)

    def charge(self, name: str, before: Variable, times: int = 1) -> None:
        """Charge a relation's own budget."""
        limit = self.selection.budgets.get(name)
        if limit is None:
            return
        self.spent[name] = self.spent.get(name, 0) + times
        if self.spent[name] > limit:
            raise self.runaway(name, f"its budget of {limit} firings is spent", before)

    def runaway(self, name: str, why: str, before: Variable) -> BudgetError:
        """Return the error for a relation that fires without end."""
        return BudgetError(
            f"{name} does not come to an end: {why}",
            {"last graph": before},
            f"Leave it out with excluding({name.split('.', maxsplit=1)[0]!r}), or give it a side "
            "condition under which its result is simpler than what it matches.",
        )

    def oscillation(self, node: Variable, reduct: Variable) -> OscillationError:
        """Return the error for a chain of rewrites that comes back to where it was."""
        cycle: list[tuple[str, object, object]] = []
        x: Variable | None = reduct
        seen: set[Variable] = set()
        chain = [node]
        while x is not None and x not in seen and len(chain) < 12:
            seen.add(x)
            chain.append(x)
            waiting = self.groups[x].pending if x in self.groups else ()
            x = waiting[0] if waiting else self.forward.get(x)
        for a, b in itertools.pairwise(chain):
            cycle.append((self.why.get(a, "(rebuilt)"), a, b))
        names = list(dict.fromkeys(name for name, _, _ in cycle if name != "(rebuilt)"))
        error = OscillationError(
            f"{' and '.join(names) or 'the relations'} "
            + ("undo each other" if len(names) > 1 else "makes a graph grow inside its own result"),
            [(name, f"{a}  ->  {b}") for name, a, b in cycle],
            "Exclude one of them, or orient them the same way; a relation that only grows needs "
            "a side condition.",
        )
        error.cycle = tuple(cycle)
        return error

    def pair(
        self, n: Variable, op: Any, matcher: AcMatcher, push: Callable[[Variable], None]
    ) -> bool | None:
        """Advance an application that nests no other: most are; the group path does the rest.

        Returns
        -------
        bool or None
            True when ``n`` is normal, None while it waits, False when it is more than a pair.
        """
        a, b = n.inputs
        if (a.op is op and a not in self.closed) or (b.op is op and b not in self.closed):
            return False
        normal = self.normal
        x, y = normal.get(a), normal.get(b)
        if x is None:
            if a.inputs:
                push(a)
            else:
                x = a
        if y is None:
            if b.inputs:
                push(b)
            else:
                y = b
        if x is None or y is None:
            if self.depth:
                self.inherit(n, n.inputs)
            return None
        m = n if x is a and y is b else apply(op, (x, y))
        nested_x, nested_y = x.op is op and x is not a, y.op is op and y is not b
        if nested_x or nested_y:
            # A normal sum grows by one operand: nothing to do unless their keys can match.
            if (nested_x and nested_y) or op.idempotent:
                return False
            inner, outer = (x, y) if nested_x else (y, x)
            keys, key = self.keys_of(inner), key_of(outer)
            if key not in keys:
                keys |= {key}
            elif key is Constant and matcher.fold is not None:
                return False
            if matcher.may_match(keys):
                return False
            self.keys[m] = keys
            normal[n] = normal[m] = m
            return True
        found = matcher.pair(x, y)
        if found is None:
            normal[n] = normal[m] = m
            return True
        result, rewrite, bindings = found
        if m is not n and n in self.depth:
            self.depth[m] = max(self.depth[n], self.depth.get(m, 0))
        self.fired(m, result, rewrite, bindings)
        self.why[n] = rewrite.relation
        if self.once or result in normal:
            normal[n] = result if self.once else normal[result]
            return True
        if (result in self.forward and result not in normal) or result is n:
            raise self.oscillation(n, result)
        self.forward[n] = result
        push(result)
        return None

    def group(self, n: Variable, matcher: AcMatcher, push: Callable[[Variable], None]) -> bool:
        """Advance the group of nested applications below ``n``; True when it is normal."""
        op = matcher.op
        normal = self.normal
        group = self.groups.get(n)
        if group is None:
            operands = leaves(n, op, self.closed)
            if all([normal.get(x) is x or not x.inputs for x in operands]):
                keys = frozenset(map(key_of, operands))
                if not matcher.may_match(keys) and not (matcher.fold and Constant in keys):
                    normal[n] = n
                    self.keys[n] = keys
                    return True
            dtype = n.type.dtype if uniform(n) and n.type.dtype.kind != "b" else None
            group = self.groups[n] = _Group(operands, dtype)
        if any([x not in normal for x in group.pending]):
            raise self.oscillation(n, group.pending[0])
        while True:
            pending = [x for x in group.waiting if x.inputs and x not in normal]
            if len(pending) > 2:
                pending = self.unmatched(pending)
            if pending:
                group.pending = pending
                for x in pending:
                    push(x)
                if group.passes:  # they are what a firing made: one step further down the chain
                    steps = self.depth.get(n, 0) + 1
                    for x in pending:
                        self.depth.setdefault(x, steps)
                elif self.depth:
                    self.inherit(n, pending)
                return False
            if not self.enter(group, matcher) or (self.once and group.passes):
                break
            assert group.view is not None
            fresh, group.fresh = group.fresh, []
            matches = matcher.step(group.view, fresh)
            if not matches:
                break
            self.record(n, group, op, matches)
        del self.groups[n]
        result = self.rebuilt(n, group, op)
        normal[n] = result
        normal.setdefault(result, result)
        if result.op is op:
            if group.view is not None:
                self.views[result] = group.view
            else:
                self.keys[result] = group.keys
        return True

    def unmatched(self, nodes: Sequence[Variable]) -> list[Variable]:
        """Return the nodes that have to be visited; the others are normal as they stand."""
        normal, plain, ac = self.normal, self.selection.plain, self.selection.ac_ops
        if self.selection.interpreted or self.selection.transforms:
            return list(nodes)
        left: list[Variable] = []
        idle: dict[Any, bool] = {}
        for x in nodes:
            op = x.op
            quiet = idle.get(op)
            if quiet is None:
                quiet = idle[op] = op not in ac and op is not None and plain(op) is None
            if quiet and all([not y.inputs or normal.get(y) is y for y in x.inputs]):
                normal[x] = x
            else:
                left.append(x)
        return left

    def enter(self, group: _Group, matcher: AcMatcher) -> bool:
        """Bring normal operands into the view; False when no rewrite can match them."""
        normal, op = self.normal, matcher.op
        waiting, group.waiting = group.waiting, []
        arrived: list[tuple[Variable, int | None]] = []
        inner: list[tuple[Variable, int | None]] = []
        for x, slot in zip(waiting, group.slots, strict=True):
            y = normal.get(x, x)
            if y is not x:
                group.changed = True
                if y.op is op and x.op is not op and y.type.dtype is group.dtype and uniform(y):
                    inner.append((y, slot))
                    continue
            arrived.append((y, slot))
        group.slots = []
        if group.view is None:
            keys = {key_of(x) for x, _ in arrived}
            for y, _ in inner:
                keys |= self.keys_of(y)
            group.keys = frozenset(keys)
            if not matcher.may_match(group.keys) and not (matcher.fold and Constant in keys):
                return False
            group.view, group.base = self.base_view(inner, matcher)
        view = group.view
        for y, slot in inner:
            if y is not group.base:
                for i, z in enumerate(leaves(y, op, self.closed)):
                    group.fresh.append(view.add(z, slot if i == 0 else None))
        for y, slot in arrived:
            group.fresh.append(view.add(y, slot))
        return True

    def keys_of(self, node: Variable) -> frozenset[Any]:
        """Return the keys of the operands of a normal application."""
        known = self.keys.get(node)
        if known is None:
            view = self.views.get(node)
            if view is None:
                assert node.op is not None
                known = frozenset(map(key_of, leaves(node, node.op)))
            else:
                known = frozenset(view.keys)
            self.keys[node] = known
        return known

    def base_view(
        self, inner: Sequence[tuple[Variable, int | None]], matcher: AcMatcher
    ) -> tuple[View, Variable | None]:
        """Take over the view of the largest operand that is an application itself.

        Its operands do not match each other, so only what is added to them has to be tried.
        """
        best = None
        for y, slot in inner:
            if y in self.views and slot is None:
                size = len(self.views[y].operands)
                if best is None or size > len(self.views[best].operands):
                    best = y
        if best is None:
            return View(matcher.by_identity), None
        # The node stays what it is; only the index moves to the larger application.
        view = self.views.pop(best)
        self.keys[best] = frozenset(view.keys)
        return view, best

    def record(self, n: Variable, group: _Group, op: Op, matches: Sequence[Match]) -> None:
        """Take over the matches of a step: their results wait to become normal."""
        view = group.view
        assert view is not None
        group.passes += 1
        group.fired = True
        name = matches[0].firing.rewrite.relation
        self.why[n] = name
        if group.passes + self.depth.get(n, 0) > CHAIN:
            raise self.runaway(name, f"{CHAIN} rewrites followed from one sum or product", n)
        self.charge(name, n, len(matches))
        for slots, firing in matches:
            for i, x in enumerate(leaves(firing.result, op, self.closed)):
                group.waiting.append(x)
                group.slots.append(min(slots) if i == 0 else None)
        state = tuple([*view.operands.values(), *group.waiting])
        if self.log is not None:
            whole = dict(view.operands)
            for match in matches:
                whole |= dict(zip(match.slots, match.firing.taken, strict=True))
            before = nary(op, [whole[i] for i in sorted(whole)])
            self.log(before, self.joined(group, op), [m.firing for m in matches])
        if len(state) < 64:
            if state in group.seen:
                raise self.oscillation(n, nary(op, state) if len(state) > 1 else state[0])
            group.seen.add(state)

    def joined(self, group: _Group, op: Op) -> Variable:
        """Return the application of all operands of a group, those that wait included."""
        assert group.view is not None
        slots = dict(group.view.operands)
        free = max(slots, default=-1) + 1
        for x, slot in zip(group.waiting, group.slots, strict=True):
            place = free if slot is None or slot in slots else slot
            slots[place] = x
            free = max(free, place) + 1
        operands = [slots[i] for i in sorted(slots)]
        return nary(op, small_first(operands)) if len(operands) > 1 else operands[0]

    def rebuilt(self, n: Variable, group: _Group, op: Op) -> Variable:
        """Return the node of a finished group; the same object where nothing happened."""
        if group.fired and group.view is not None:
            view = group.view.in_order()
            return nary(op, small_first(view)) if len(view) > 1 else view[0]
        if not group.changed:
            return n
        # Only operands changed: keep the bracketing that the graph had.
        opened = region(n, op, self.closed)
        normal = self.normal
        image: dict[Variable, Variable] = {}
        stack = [n]
        while stack:
            x = stack[-1]
            if x in image:
                stack.pop()
            elif x is n or (x.op is op and opened.get(x, False)):
                waiting = [y for y in x.inputs if y not in image]
                if waiting:
                    stack.extend(waiting)
                else:
                    image[x] = apply(op, tuple([image[y] for y in x.inputs]))
                    stack.pop()
            else:
                image[x] = normal.get(x, x)
                stack.pop()
        return image[n]


class _Group:
    """Nested applications while they are being rewritten.

    ``waiting`` holds operands that must become normal before they enter the view, and ``slots``
    the place each takes; ``fresh`` those in the view that were not matched yet.  Only applications
    of ``dtype`` are taken apart; None where none is.
    """

    __slots__ = (
        "base", "changed", "dtype", "fired", "fresh", "keys", "passes", "pending", "seen", "slots",
        "view", "waiting",
    )  # fmt: skip

    def __init__(self, operands: list[Variable], dtype: Any) -> None:
        self.waiting: list[Variable] = operands
        self.dtype = dtype
        self.slots: list[int | None] = [None] * len(operands)
        self.view: View | None = None
        self.base: Variable | None = None
        self.fresh: list[int] = []
        self.pending: Sequence[Variable] = ()
        self.passes = 0
        self.fired = False
        self.changed = False
        self.keys: frozenset[Any] = frozenset()
        self.seen: set[tuple[Variable, ...]] = set()


def normalise(
    outputs: Sequence[Variable],
    selection: Selection,
    log: Log | None = None,
    once: bool = False,
) -> tuple[Variable, ...]:
    """Return the normal forms of a graph under a selection.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph.
    selection : Selection
        The relations, compiled.
    log : callable, optional
        Called at every firing; switches the memo of earlier calls off, so that every step is seen.
    once : bool
        Visit each node once instead of rewriting to normal form.

    Raises
    ------
    OscillationError, BudgetError
        When the relations do not come to an end.  Nothing is half-rewritten.
    """
    runner = RUNNER.get()
    if runner is not None and log is None:
        return runner(outputs, selection, once)
    if log is None and os.environ.get("RELGRAPH_CHECK") == "1":
        from relgraph.rewriting.derivation import run_recorded

        phase = run_recorded(outputs, selection, once)
        phase.check()
        return phase.after
    ops = selection.ac_ops
    with selection.lock:
        key = tuple(outputs)
        if log is None and not once:
            known = selection.results.get(key)
            if known is not None:
                return known
        closed = shared_applications(outputs, ops) if ops else frozenset[Variable]()
        memo: dict[Variable, Variable] = {}
        if log is None and not once:
            memo = selection.memo.setdefault(closed, memo)
            selection.memo.move_to_end(closed)
        driver = Driver(selection, closed, memo, log, once)
        if once:
            return walk(outputs, driver)
        # Nodes hold no cycles, so the cyclic collector would only walk over them, again and again.
        collecting = gc.isenabled()
        gc.disable()
        try:
            result = tuple([driver.run(x) for x in outputs])
        except BaseException:
            selection.memo.pop(closed, None)
            raise
        finally:
            if collecting:
                gc.enable()
        if log is None and not once:
            selection.results[key] = result
        selection.trim(KEPT)
    return result
