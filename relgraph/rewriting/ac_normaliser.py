"""The AC normaliser: it rewrites nested applications of an AC op as one n-ary view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relgraph.ir.node import Constant, Variable, apply, apply_chain
from relgraph.ir.op import Op
from relgraph.relations.ac_matcher import Accepts, AcMatcher
from relgraph.relations.nary import combined, leaves, region, uniform
from relgraph.relations.operand_index import Match, View, key_of
from relgraph.rewriting.budgets import CHAIN, Limits, Log
from relgraph.rewriting.firing_cost import FiringCost
from relgraph.rewriting.selection import Selection

GROWN = 1000  # operands that rewrites may add to one sum or product


class _Group:
    """Nested applications while they are being rewritten.

    ``waiting`` holds operands that must become normal before they enter the view, and ``slots`` the
    slot of each; ``fresh`` holds operands in the view that were not matched yet.  The group opens
    only applications of ``dtype``; with None, it opens none.
    """

    __slots__ = (
        "changed", "dtype", "fired", "fresh", "grown", "keys", "passes", "pending", "seen",
        "slots", "view", "waiting",
    )  # fmt: skip

    def __init__(self, operands: list[Variable], dtype: Any) -> None:
        self.waiting: list[Variable] = operands
        self.dtype = dtype
        self.slots: list[int | None] = [None] * len(operands)
        self.view: View | None = None
        self.fresh: Any = []
        self.pending: Sequence[Variable] = ()
        self.passes = 0
        self.grown = 0
        self.fired = False
        self.changed = False
        self.keys: frozenset[Any] = frozenset()
        self.seen: set[tuple[Variable, ...]] = set()


class _FloatsToo:
    """Closed applications, and all of floats, since another order rounds differently."""

    __slots__ = ("closed",)

    def __init__(self, closed: frozenset[Variable]) -> None:
        self.closed = closed

    def __contains__(self, node: Variable) -> bool:
        return node.type.dtype.kind == "f" or node in self.closed


class Groups(Limits):
    """The groups of one run; the driver visits everything else.

    Views do not open the shared applications in ``closed``.  ``memo`` has the normal forms so far.
    """

    def __init__(
        self,
        selection: Selection,
        closed: frozenset[Variable],
        memo: dict[Variable, Variable],
        log: Log | None = None,
        cost: FiringCost | None = None,
    ) -> None:
        super().__init__(selection, log)
        self.cost = cost
        self.accepts: Accepts | None = None if cost is None else cost.of_operands
        self.closed: Any = closed if selection.regroups else _FloatsToo(closed)
        self.normal = memo
        self.groups: dict[Variable, _Group] = {}
        self.views: dict[Variable, View] = {}
        self.keys: dict[Variable, frozenset[Any]] = {}

    def waiting_for(self, node: Variable) -> Variable | None:
        """Return the next reduct of a node in this run, or the node that it waits for."""
        group = self.groups.get(node)
        return group.pending[0] if group is not None and group.pending else self.forward.get(node)

    def settled(self, node: Variable) -> bool:
        """Return True if the node's reduct is normal by now, and record the node's normal form."""
        reduct = self.forward.get(node)
        if reduct is None or reduct not in self.normal:
            return False
        self.normal[node] = self.normal[reduct]
        return True

    def pair(
        self, n: Variable, op: Any, matcher: AcMatcher, push: Callable[[Variable], None]
    ) -> bool | None:
        """Advance an application that nests no other, the usual case; :meth:`group` does the rest.

        Return True if ``n`` is normal, None while it waits, and False if it is more than a pair.
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
        # Closed applications stay closed, and so do the normal forms of other shared operands.
        nested_x = x.op is op and x is not a and a.op is not op and not self.shared(n, a)
        nested_y = y.op is op and y is not b and b.op is not op and not self.shared(n, b)
        if nested_x or nested_y:
            # A normal sum grows by one operand: done unless their keys can match.
            if (nested_x and nested_y) or op.idempotent:
                return False
            keys = self._with_one_more(*((x, y) if nested_x else (y, x)), matcher)
            if keys is None:
                return False
            self.keys[m] = keys
            normal[n] = normal[m] = m
            return True
        fired = matcher.pair(x, y, self.accepts, n)
        if fired is None:
            normal[n] = normal[m] = m
            return True
        result, rewrite, bindings = fired
        if m is not n and n in self.depth:
            self.depth[m] = max(self.depth[n], self.depth.get(m, 0))
        self.fired(m, result, rewrite, bindings)
        self.why[n] = rewrite.relation
        if result in normal or self.settled(result):
            normal[n] = normal[result]
            return True
        if result in self.forward or result is n:
            raise self.oscillation(n, result)
        self.forward[n] = result
        push(result)
        return None

    def _with_one_more(
        self, inner: Variable, outer: Variable, matcher: AcMatcher
    ) -> frozenset[Any] | None:
        """Return the keys of a normal sum and another operand, or None if they may match."""
        keys, key = self.keys_of(inner), key_of(outer)
        if key not in keys:
            keys |= {key}
        elif key is Constant and matcher.fold is not None:
            return None
        return None if matcher.may_match(keys) else keys

    def group(self, n: Variable, matcher: AcMatcher, push: Callable[[Variable], None]) -> bool:
        """Advance the group of nested applications below ``n``; return True once it is normal."""
        op = matcher.op
        normal = self.normal
        group = self.groups.get(n)
        if group is None:
            operands = leaves(n, op, self.closed)
            self.worked(len(operands), len(normal), n)
            if _all_normal(operands, normal):
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
                if group.passes:  # a firing built them: one step further down the chain
                    steps = self.depth.get(n, 0) + 1
                    for x in pending:
                        self.depth.setdefault(x, steps)
                elif self.depth:
                    self.inherit(n, pending)
                return False
            if not self.enter(n, group, matcher):
                break
            assert group.view is not None
            fresh, group.fresh = group.fresh, []
            matches = matcher.step(group.view, fresh, self.accepts, n)
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
        """Return the nodes that the driver must visit; the others are already normal."""
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
            if not quiet:
                left.append(x)
                continue
            for y in x.inputs:
                if y.inputs and normal.get(y) is not y:
                    left.append(x)
                    break
            else:
                normal[x] = x
        return left

    def shared(self, n: Variable, x: Variable) -> bool:
        """Return True if an operand has other users, so that its normal form stays as it is."""
        cost = self.cost
        if cost is None:
            return False
        cost.depends = True
        if cost.users.get(x, 0) < 2:
            return False
        cost.refused.add(n)
        return True

    def enter(self, n: Variable, group: _Group, matcher: AcMatcher) -> bool:
        """Enter normal operands into the view; return False if no rewrite can match them."""
        normal, op = self.normal, matcher.op
        waiting, group.waiting = group.waiting, []
        arrived: list[tuple[Variable, int | None]] = []
        inner: list[tuple[Variable, int | None]] = []
        if group.view is None and not any(group.slots) and _all_normal(waiting, normal):
            return self.enter_all(group, waiting, matcher)
        for x, slot in zip(waiting, group.slots, strict=True):
            y = normal.get(x, x)
            if y is not x:
                group.changed = True
                if (
                    y.op is op
                    and x.op is not op
                    and y.type.dtype is group.dtype
                    and uniform(y)
                    and not self.shared(n, x)
                ):
                    inner.append((y, slot))
                    continue
            arrived.append((y, slot))
        group.slots = []
        base: Variable | None = None
        if group.view is None:
            keys = {key_of(x) for x, _ in arrived}
            for y, _ in inner:
                keys |= self.keys_of(y)
            group.keys = frozenset(keys)
            if not matcher.may_match(group.keys) and not (matcher.fold and Constant in keys):
                return False
            group.view, base = self.base_view(inner, matcher)
        view = group.view
        for y, slot in inner:
            if y is base:  # the view already holds it; enter other occurrences only
                base = None
                continue
            for i, z in enumerate(leaves(y, op, self.closed)):
                group.fresh.append(view.add(z, slot if i == 0 else None))
        for y, slot in arrived:
            group.fresh.append(view.add(y, slot))
        return True

    def enter_all(self, group: _Group, operands: list[Variable], matcher: AcMatcher) -> bool:
        """Enter operands that are all unchanged; return False if no rewrite can match."""
        view = matcher.view()
        group.fresh = view.fill(operands)
        group.keys = frozenset(view.keys)
        group.slots = []
        if not matcher.may_match(group.keys) and not (matcher.fold and Constant in view.keys):
            return False
        group.view = view
        return True

    def keys_of(self, node: Variable) -> frozenset[Any]:
        """Return the keys of the operands of a normal application."""
        keys = self.keys.get(node)
        if keys is None:
            view = self.views.get(node)
            if view is None:
                assert node.op is not None
                keys = frozenset(map(key_of, leaves(node, node.op)))
            else:
                keys = frozenset(view.keys)
            self.keys[node] = keys
        return keys

    def base_view(
        self, inner: Sequence[tuple[Variable, int | None]], matcher: AcMatcher
    ) -> tuple[View, Variable | None]:
        """Reuse the view of the largest operand that is an application of the same op.

        Its operands do not match each other, so only the additional ones have to be tried.
        """
        best = None
        for y, slot in inner:
            if y in self.views and slot is None:
                size = len(self.views[y].operands)
                if best is None or size > len(self.views[best].operands):
                    best = y
        if best is None:
            return matcher.view(), None
        # The node is unchanged; only the index moves to the larger application.
        view = self.views.pop(best)
        self.keys[best] = frozenset(view.keys)
        return view, best

    def record(self, n: Variable, group: _Group, op: Op, matches: Sequence[Match]) -> None:
        """Record the matches of a step; their results wait to become normal."""
        view = group.view
        assert view is not None
        group.passes += 1
        group.fired = True
        name = matches[0].firing.rewrite.relation
        self.why[n] = name
        if group.passes + self.depth.get(n, 0) > CHAIN:
            raise self.runaway(name, f"{CHAIN} rewrites followed from one sum or product", n)
        self.charge(matches[0].firing.rewrite, n, len(matches))
        arrived = len(group.waiting)
        for slots, firing in matches:
            result = firing.result
            mixed = group.dtype is None or result.type.dtype is not group.dtype
            opened = result.op is op and not mixed and uniform(result)
            for i, x in enumerate(leaves(result, op, self.closed) if opened else (result,)):
                group.waiting.append(x)
                group.slots.append(min(slots) if i == 0 else None)
        taken = sum([len(match.slots) for match in matches])
        group.grown += len(group.waiting) - arrived - taken
        if group.grown > GROWN:
            raise self.runaway(name, "it adds operands to a sum or product at every step", n)
        state = tuple([*view.operands.values(), *group.waiting])
        if self.log is not None:
            whole = dict(view.operands)
            for match in matches:
                whole |= dict(zip(match.slots, match.firing.taken, strict=True))
            before = apply_chain(op, [whole[i] for i in sorted(whole)])
            self.log(before, self.joined(group, op), [m.firing for m in matches])
        if len(state) < 64:
            if state in group.seen:
                raise self.oscillation(n, apply_chain(op, state))
            group.seen.add(state)

    def joined(self, group: _Group, op: Op) -> Variable:
        """Return the application of all operands of a group, including those that wait."""
        assert group.view is not None
        slots = dict(group.view.operands)
        free = max(slots, default=-1) + 1
        for x, slot in zip(group.waiting, group.slots, strict=True):
            place = free if slot is None or slot in slots else slot
            slots[place] = x
            free = max(free, place) + 1
        return combined(op, [slots[i] for i in sorted(slots)])

    def rebuilt(self, n: Variable, group: _Group, op: Op) -> Variable:
        """Return the node of a finished group; the same object if nothing changed."""
        if group.fired and group.view is not None:
            return combined(op, group.view.in_order())
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


def _all_normal(nodes: Sequence[Variable], normal: dict[Variable, Variable]) -> bool:
    """Return True if all nodes are known to be their own normal forms."""
    for x in nodes:  # noqa: SIM110 - as a generator it takes twice as long
        if x.inputs and normal.get(x) is not x:
            return False
    return True
