"""The n-ary normaliser: it rewrites nested applications of an AC op as one n-ary view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relgraph.ir.node import Constant, Variable, apply, apply_chain
from relgraph.ir.op import Op
from relgraph.relations.ac_matcher import PLAIN_PAIR, Accepts, AcMatcher
from relgraph.relations.nary import Kind, combined, leaves, region, uniform
from relgraph.relations.operand_index import Firing, Match, View, key_of
from relgraph.rewriting.budgets import CHAIN, Limits
from relgraph.rewriting.firing_cost import FiringCost
from relgraph.rewriting.selection import Selection

GROWN = 1000  # operands that rewrites may add to one sum or product
LONG = 8  # steps after which a sum or product may be in a cycle


class _Group:
    """Nested applications while they are being rewritten.

    ``waiting`` holds operands that must become normal before they enter the view, each with its
    slot and whether it is taken away.  The group opens only applications of ``dtype``; with None,
    it opens none.  ``inner`` holds the applications that it opened, if some of them take away
    operands.
    """

    __slots__ = (
        "changed", "dtype", "fired", "grown", "history", "inner", "parts",
        "passes", "pending", "seen", "signed", "view", "waiting",
    )  # fmt: skip

    def __init__(
        self,
        parts: Sequence[tuple[Variable, bool]],
        opened: Sequence[tuple[Variable, bool]],
        dtype: Any,
        inner: Sequence[Variable] | None,
    ) -> None:
        self.parts = parts
        self.history: list[tuple[int, Any]] = []  # steps, with the parts that they brought in
        self.waiting: list[tuple[Variable, int | None, bool]] = [
            (x, None, taken) for x, taken in opened
        ]
        self.dtype = dtype
        self.inner = inner
        self.signed = inner is not None
        self.view: View | None = None
        self.pending: Sequence[Variable] = ()
        self.passes = 0
        self.grown = 0
        self.fired = False
        self.changed = False
        self.seen: set[tuple[Any, ...]] = set()


class _FloatsToo:
    """Closed applications, and all of floats, since another order rounds differently."""

    __slots__ = ("closed",)

    def __init__(self, closed: frozenset[Variable]) -> None:
        self.closed = closed

    def __contains__(self, node: Variable) -> bool:
        return node.type.dtype.kind == "f" or node in self.closed


class NaryNormaliser:
    """The sums and products of one run; the driver visits everything else.

    Views do not open the shared applications in ``closed``.  ``normal`` has the normal forms so
    far, ``limits`` the log and the budgets of the run.  ``checked`` holds sums in which nothing
    matches across additions, subtractions and negations.
    """

    def __init__(
        self,
        selection: Selection,
        closed: frozenset[Variable],
        normal: dict[Variable, Variable],
        limits: Limits,
        cost: FiringCost | None = None,
    ) -> None:
        self.selection = selection
        self.cost = cost
        self.accepts: Accepts | None = None if cost is None else cost.of_operands
        self.closed: Any = closed if selection.regroups else _FloatsToo(closed)
        self.normal = normal
        self.limits = limits
        self.groups: dict[Variable, _Group] = {}
        self.views: dict[Variable, View] = {}
        self.keys: dict[Variable, frozenset[Any]] = {}
        self.checked: set[Variable] = set()
        self.below: dict[Variable, Any] = {}  # what _below has found, or None
        self.flips: dict[Variable, bool] = {}

    def waiting_for(self, node: Variable) -> Variable | None:
        """Return the operand that a sum or product waits for, if any."""
        group = self.groups.get(node)
        return group.pending[0] if group is not None and group.pending else None

    def visit(
        self, n: Variable, op: Any, matcher: AcMatcher, push: Callable[[Variable], None]
    ) -> bool | None:
        """Advance the normalisation of an application of an associative and commutative op.

        Return True once ``n`` is normal; until then it waits for nodes that were pushed.
        """
        if n not in self.groups:
            done = self._pair(n, op, matcher, push)
            if done is not False:
                return done
        return self._group(n, matcher, push)

    def _pair(
        self, n: Variable, op: Any, matcher: AcMatcher, push: Callable[[Variable], None]
    ) -> bool | None:
        """Advance an application that nests no other, the usual case; :meth:`_group` does the rest.

        Return True if ``n`` is normal, None while it waits, and False if it is more than a pair.
        """
        a, b = n.inputs
        family = matcher.family
        if n in self.checked:
            family = matcher.kind.only
        if (a.op in family and a not in self.closed) or (b.op in family and b not in self.closed):
            return False
        normal = self.normal
        x, y = normal.get(a), normal.get(b)
        if x is None:
            if a.inputs:
                if len(a.inputs) == 1 and self._below(a, matcher):
                    return False
                push(a)
            else:
                x = a
        if y is None:
            if b.inputs:
                if len(b.inputs) == 1 and self._below(b, matcher):
                    return False
                push(b)
            else:
                y = b
        if x is None or y is None:
            if self.limits.depth:
                self.limits.inherit(n, n.inputs)
            return None
        m = n if x is a and y is b else apply(op, (x, y))
        # Closed applications stay closed, and so do the normal forms of other shared operands.
        nested_x = x is not a and x.op in family and a.op not in family and not self._shared(n, a)
        nested_y = y is not b and y.op in family and b.op not in family and not self._shared(n, b)
        if nested_x or nested_y:
            # A normal sum grows by one operand: done unless their keys can match.
            inner, outer = (x, y) if nested_x else (y, x)
            keys = None if nested_x and nested_y else self._keys_grown(inner, outer, op, matcher)
            if keys is None:
                return False
            self.keys[m] = keys
            return self._as_it_stands(n, m, matcher, push)
        agenda = matcher.pairs_of(x, y, False)
        if not agenda:
            normal[n] = normal[m] = m
            return True
        fired = matcher.pair(x, y, agenda, self.accepts, n)
        if fired is None:
            return self._as_it_stands(n, m, matcher, push)
        return self._replaced(n, m, fired, matcher.kind, push)

    def _keys_grown(self, inner: Variable, outer: Variable, op: Op, matcher: AcMatcher) -> Any:
        """Return the keys of a normal application with one more operand; None if any may match."""
        if op.idempotent or inner.op is not op:
            return None
        if matcher.signed and self.has_flips(inner, matcher.kind):
            return None
        return self._with_one_more(inner, outer, matcher)

    def _as_it_stands(
        self, n: Variable, m: Variable, matcher: AcMatcher, push: Callable[[Variable], None]
    ) -> bool | None:
        """Match an application whose view is normal by the patterns of any op."""
        if matcher.plain is not None:
            fired = matcher.plain(m, None if self.cost is None else self.cost.of_node)
            if fired is not None:
                return self._replaced(n, m, fired, matcher.kind, push)
        self.normal[n] = self.normal[m] = m
        return True

    def difference(
        self, n: Variable, matcher: AcMatcher, push: Callable[[Variable], None]
    ) -> bool | None:
        """Advance a difference as a sum with signs; return None if nothing is combined in it.

        Return True once ``n`` is normal, and False while it waits for nodes that were pushed.
        """
        if n in self.groups:
            return self._group(n, matcher, push)
        a, b = n.inputs
        family, normal = matcher.family, self.normal
        if a.op in family or b.op in family:
            dtype, kind, closed = n.type.dtype, matcher.kind, self.closed
            if dtype.kind not in "fi" or not uniform(n):
                return None
            if (a.op in family and kind.opens(a, dtype, closed)) or (
                b.op in family and kind.opens(b, dtype, closed)
            ):
                return self._group(n, matcher, push)
        x, y = normal.get(a), normal.get(b)
        if (x is None and len(a.inputs) == 1 and self._below(a, matcher)) or (
            y is None and len(b.inputs) == 1 and self._below(b, matcher)
        ):
            return self._group(n, matcher, push)
        if x is None:
            if a.inputs:
                return None
            x = a
        if y is None:
            if b.inputs:
                return None
            y = b
        nested = (x is not a and x.op in family and not self._shared(n, a)) or (
            y is not b and y.op in family and not self._shared(n, b)
        )
        agenda = () if nested else matcher.pairs_of(x, y, True)
        if not nested and not agenda:
            return None
        if n.type.dtype.kind not in "fi" or not uniform(n):
            return None
        if nested:
            return self._group(n, matcher, push)
        fired = matcher.pair(x, y, agenda, self.accepts, n, taken=True)
        if fired is None:
            return None
        assert n.op is not None
        m = n if x is a and y is b else apply(n.op, (x, y))
        return bool(self._replaced(n, m, fired, matcher.kind, push))

    def _replaced(
        self, n: Variable, m: Variable, fired: Any, kind: Kind, push: Callable[[Variable], None]
    ) -> bool | None:
        """Record a rewrite of ``m``, which is ``n`` on normal operands."""
        limits = self.limits
        firing: Firing | None = None
        if fired.__class__ is Match:
            firing = fired.firing
            result, rewrite, bindings = firing.fired
            if fired.negative:
                result = kind.negated(result)
        else:
            result, rewrite, bindings = fired
        if m is not n and n in limits.depth:
            limits.depth[m] = max(limits.depth[n], limits.depth.get(m, 0))
        limits.fired(m, result, rewrite, bindings, firing)
        limits.why[n] = rewrite.relation
        return self._becomes(n, result, push) or None

    def _becomes(self, n: Variable, result: Variable, push: Callable[[Variable], None]) -> bool:
        """Give a node the normal form of its result; return False while it waits for that."""
        normal, limits = self.normal, self.limits
        if result in normal or limits.settled(result):
            normal[n] = normal[result]
            return True
        if result in limits.forward or result is n:
            raise limits.oscillation(n, result)
        limits.forward[n] = result
        push(result)
        return False

    def _with_one_more(
        self, inner: Variable, outer: Variable, matcher: AcMatcher
    ) -> frozenset[Any] | None:
        """Return the keys of a normal sum and another operand, or None if they may match."""
        if matcher.equal or matcher.gathering:
            return None
        keys, key = self.keys_of(inner), key_of(outer)
        if key not in keys:
            keys |= {key}
        elif key is Constant and matcher.fold is not None:
            return None
        return None if matcher.may_match(keys) else keys

    def _group(self, n: Variable, matcher: AcMatcher, push: Callable[[Variable], None]) -> bool:
        """Advance nested applications as one view; return True once ``n`` is normal."""
        kind, normal, limits = matcher.kind, self.normal, self.limits
        group = self.groups.get(n)
        if group is None:
            group = self._opened(n, matcher)
            if group is None:
                return bool(self._as_it_stands(n, n, matcher, push))
            self.groups[n] = group
        if any([x not in normal for x in group.pending]):
            raise limits.oscillation(n, group.pending[0])
        while True:
            pending = [x for x, _, _ in group.waiting if x.inputs and x not in normal]
            if pending and (group.passes or len(pending) > 2):
                pending = self.unmatched(pending)
            if pending:
                group.pending = pending
                for x in pending:
                    push(x)
                if group.passes:  # a firing built them: one step further down the chain
                    steps = limits.depth.get(n, 0) + 1
                    for x in pending:
                        limits.depth.setdefault(x, steps)
                elif limits.depth:
                    limits.inherit(n, pending)
                return False
            if not self._enter(n, group, matcher):
                break
            assert group.view is not None
            matches = matcher.step(group.view, self.accepts, n)
            if not matches:
                break
            self._record(n, group, kind, matches)
        del self.groups[n]
        return self._finished(n, group, matcher, push)

    def _finished(
        self, n: Variable, group: _Group, matcher: AcMatcher, push: Callable[[Variable], None]
    ) -> bool:
        """Replace a sum or product in which nothing matches any more; return True if it is normal.

        A difference is seen by the matchers of its own op as well.
        """
        op, kind, normal, limits = matcher.op, matcher.kind, self.normal, self.limits
        if group.inner is not None and not group.fired:
            # Nothing to combine across signs: the matchers of each op see the nodes as they stand.
            self.checked.add(n)
            self.checked.update(group.inner)
            return False
        result = self._rebuilt(n, group, op, kind)
        if group.history and limits.log is not None:
            limits.log.total(n, group.parts, group.history, result)
        if (result.op is op or result.op is kind.difference) and group.view is not None:
            self.views[result] = group.view
        if result.op is op:
            return bool(self._as_it_stands(n, result, matcher, push))
        if group.inner is None:
            normal[n] = result
            normal.setdefault(result, result)
            return True
        if result.op in kind.family:
            self.checked.add(result)
        return self._becomes(n, result, push)

    def _opened(self, n: Variable, matcher: AcMatcher) -> _Group | None:
        """Return the group of a sum or product; None if its view is known to be normal."""
        op, kind, closed = matcher.op, matcher.kind, self.closed
        dtype = n.type.dtype if uniform(n) and n.type.dtype.kind != "b" else None
        signed = matcher.signed and n not in self.checked and dtype is not None
        if n.op is op:
            operands = leaves(n, op, closed)
            if not signed or not any([x.op in matcher.family for x in operands]):
                self.limits.worked(len(operands), len(self.normal), n)
                terms = [(x, False) for x in operands]
                if _all_normal(operands, self.normal) and matcher.idle(terms, signed):
                    self.keys[n] = frozenset(map(key_of, operands))
                    return None
                opened = self._through(terms, matcher, dtype) if signed else terms
                group = _Group(terms, opened, dtype, None if opened is terms else ())
                group.signed = signed
                return group
        terms, inner = kind.terms(n, closed)
        opened = self._through(terms, matcher, dtype) if signed else terms
        self.limits.worked(len(opened), len(self.normal), n)
        return _Group(terms, opened, dtype, inner)

    def _below(self, x: Variable, matcher: AcMatcher) -> Any:
        """Return the firing that turns ``f(g(z))`` into the sum ``z``, if each has one user."""
        cost = self.cost
        if cost is None or not matcher.collecting or len(x.inputs) != 1:
            return None
        (y,) = x.inputs
        if len(y.inputs) != 1 or y.inputs[0].op not in matcher.family or x in self.normal:
            return None
        if x not in self.below:
            (z,), users = y.inputs, cost.users
            cost.depends = True
            fired = None
            if users.get(x) == users.get(y) == users.get(z) == 1:
                match = self.selection.plain(x.op)  # type: ignore[arg-type]
                if match is not None and matcher.kind.opens(z, x.type.dtype, self.closed):
                    fired = match(x)
            self.below[x] = fired if fired is not None and fired[0] is z else None
        return self.below[x]

    def _through(
        self, terms: Sequence[tuple[Variable, bool]], matcher: AcMatcher, dtype: Any
    ) -> Sequence[tuple[Variable, bool]]:
        """Return the terms of a sum with those of operands that become sums, such as log(exp(z)).

        Like terms then meet before a normal form of each operand is built.  If no like terms meet,
        the terms are returned as they are.
        """
        opened: list[tuple[Variable, bool]] = []
        firings: list[tuple[Variable, Any]] = []
        stack = list(reversed(terms))
        while stack:
            x, taken = stack.pop()
            fired = self._below(x, matcher)
            if fired is None or x.type.dtype is not dtype:
                opened.append((x, taken))
                continue
            firings.append((x, fired))
            inner, _ = matcher.kind.terms(fired[0], self.closed)
            stack += [(y, flipped != taken) for y, flipped in reversed(inner)]
        if len({x for x, _ in opened}) == len(opened):
            self.below.update(dict.fromkeys([x for x, _ in firings]))
            return terms
        for x, fired in firings:
            self.limits.fired(x, *fired)
        return opened

    def unmatched(self, nodes: Sequence[Variable]) -> list[Variable]:
        """Return the nodes that the driver must visit; the others are already normal."""
        normal, selection = self.normal, self.selection
        plain, ac, asked = selection.plain, selection.ac_of, selection.asked
        if selection.interpreted:
            return list(nodes)
        left: list[Variable] = []
        known: dict[Any, Any] = {}  # by op: its n-ary matcher, or whether it has any other
        for x in nodes:
            op: Any = x.op
            matcher = known.get(op)
            if matcher is None:
                matcher = ac(op) or (plain(op) is not None or bool(asked(op)))
                known[op] = matcher
            if matcher is not True:
                for y in x.inputs:
                    if y.inputs and normal.get(y) is not y:
                        matcher = True
                        break
            if matcher is True:
                left.append(x)
            elif matcher is False:
                normal[x] = x
            else:
                a, b = x.inputs
                nested = a.op in matcher.family or b.op in matcher.family
                agenda = () if nested else matcher.pairs_of(a, b, False)
                if (
                    nested
                    or (agenda and agenda[-1][0] == PLAIN_PAIR)
                    or (agenda and matcher.pair(a, b, agenda, self.accepts, x) is not None)
                ):
                    left.append(x)
                else:
                    normal[x] = x
        return left

    def _shared(self, n: Variable, x: Variable) -> bool:
        """Return True if an operand has other users, so that its normal form stays as it is."""
        return self.cost is not None and self.cost.keeps_shared(n, x)

    def _enter(self, n: Variable, group: _Group, matcher: AcMatcher) -> bool:
        """Enter normal operands into the view; return False if no rewrite can match them."""
        normal, op, kind = self.normal, matcher.op, matcher.kind
        waiting, group.waiting = group.waiting, []
        family = matcher.family if group.signed else kind.only
        arrived: list[tuple[Variable, int | None, bool]] = []
        nested: list[tuple[Variable, int | None, bool]] = []
        for x, slot, negative in waiting:
            y = normal.get(x, x)
            if y is not x:
                group.changed = True
                if (
                    y.op in family
                    and x.op not in family
                    and kind.opens(y, group.dtype)
                    and not self._shared(n, x)
                ):
                    nested.append((y, slot, negative))
                    if y.op is not op or (group.signed and self.has_flips(y, kind)):
                        group.inner = group.inner or ()
                    continue
            arrived.append((y, slot, negative))
        base: Variable | None = None
        new = group.view is None
        if group.view is None:
            if not nested and matcher.idle([(x, s) for x, _, s in arrived], group.signed):
                return False
            group.view, base = self._base_view(nested, matcher, group.signed)
        view = group.view
        for y, slot, negative in nested:
            if y is base:  # the view already holds it; enter other occurrences only
                base = None
                continue
            for x, taken in (
                kind.terms(y, self.closed)[0]
                if group.signed
                else [(x, False) for x in leaves(y, op, self.closed)]
            ):
                view.add(x, slot, taken != negative)
                slot = None
        if new and not nested and not any([negative for _, _, negative in arrived]):
            view.fill([y for y, _, _ in arrived])
            return True
        for y, slot, negative in arrived:
            view.add(y, slot, negative)
        return True

    def keys_of(self, node: Variable) -> frozenset[Any]:
        """Return the keys of the operands of a normal application."""
        keys = self.keys.get(node)
        if keys is None:
            view = self.views.get(node)
            if view is not None:
                keys = frozenset(view.keys)
            else:
                assert node.op is not None
                keys = frozenset(map(key_of, leaves(node, node.op)))
            self.keys[node] = keys
        return keys

    def _base_view(
        self,
        nested: Sequence[tuple[Variable, int | None, bool]],
        matcher: AcMatcher,
        signed: bool,
    ) -> tuple[View, Variable | None]:
        """Reuse the view of the largest operand that is an application of the same op.

        Its operands do not match each other, so only the additional ones have to be tried.
        """
        best, taken = None, False
        for y, slot, negative in nested:
            if (
                y in self.views
                and slot is None
                and (self.views[y].kind is not None) == (signed and matcher.signed)
            ):
                size = len(self.views[y].operands)
                if best is None or size > len(self.views[best].operands):
                    best, taken = y, negative
        if best is None:
            return matcher.view(signed, self.limits.log is not None), None
        # The node is unchanged; only the index moves to the larger application.
        view = self.views.pop(best)
        if taken:
            view.flipped = not view.flipped
        self.keys[best] = frozenset(view.keys)
        return view, best

    def has_flips(self, root: Variable, kind: Kind) -> bool:
        """Return True if a sum of normal operands takes any of them away."""
        flips, stack = self.flips, [root]
        while stack:
            node = stack[-1]
            if node in flips or node.op not in kind.family:
                stack.pop()
                continue
            if node.op is not kind.op:
                flips[node] = True
                stack.pop()
                continue
            waiting = [x for x in node.inputs if x.op in kind.family and x not in flips]
            if waiting:
                stack.extend(waiting)
                continue
            flips[node] = any([flips.get(x, False) for x in node.inputs])
            stack.pop()
        return flips.get(root, False)

    def _record(self, n: Variable, group: _Group, kind: Kind, matches: Sequence[Match]) -> None:
        """Record the matches of a step; their results wait to become normal."""
        view, limits, op = group.view, self.limits, kind.op
        assert view is not None
        group.passes += 1
        group.fired = True
        name = matches[0].firing.rewrite.relation
        limits.why[n] = name
        if group.passes + limits.depth.get(n, 0) > CHAIN:
            raise limits.runaway(name, f"{CHAIN} rewrites followed from one sum or product", n)
        if limits.end is not None:
            limits.in_time(matches[0].firing.rewrite, n)
        for match in matches:
            limits.charge(match.firing.rewrite, n)
        arrived = len(group.waiting)
        for slots, firing, negative in matches:
            result = firing.result
            place: int | None = min(slots)
            opens = result.op in kind.family and result.type.dtype is group.dtype
            if opens and group.signed and kind.opens(result, group.dtype):
                parts = kind.terms(result, self.closed)[0]
                if result.op is not op or any([taken for _, taken in parts]):
                    group.inner = group.inner or ()
            elif opens and result.op is op and uniform(result):
                parts = [(x, False) for x in leaves(result, op, self.closed)]
            else:
                parts = [(result, False)]
            if negative:
                group.inner = group.inner or ()
            for x, taken in parts:
                group.waiting.append((x, place, taken != negative))
                place = None
        used = sum([len(match.slots) for match in matches])
        group.grown += len(group.waiting) - arrived - used
        if group.grown > GROWN:
            raise limits.runaway(name, "it adds operands to a sum or product at every step", n)
        if limits.log is not None:
            self._log(group, kind, matches)
        if group.passes > LONG and len(view.operands) + len(group.waiting) < 64:
            signs = frozenset([i for i in view.operands if view.is_negative(i)])
            state = (tuple(view.operands.values()), signs, *group.waiting)
            if state in group.seen:
                raise limits.oscillation(n, self._joined(group, kind))
            group.seen.add(state)

    def _log(self, group: _Group, kind: Kind, matches: Sequence[Match]) -> None:
        """Log a step: the whole sum or product before and after."""
        view, log = group.view, self.limits.log
        assert view is not None and log is not None
        whole = {i: (x, view.is_negative(i)) for i, x in view.operands.items()}
        for match in matches:
            for i, x in zip(match.slots, match.firing.taken, strict=True):
                taken = kind.inverse is not None and x.op is kind.inverse
                whole[i] = (x.inputs[0], True) if taken and group.signed else (x, False)
        parts = [whole[i] for i in sorted(whole)]
        before = self._sum(parts, kind, apply_chain)
        step = log.step(before, self._joined(group, kind), [m.firing for m in matches])
        group.history.append((step, tuple([(x, taken) for x, _, taken in group.waiting])))

    def _joined(self, group: _Group, kind: Kind) -> Variable:
        """Return the application of all operands of a group, including those that wait."""
        view = group.view
        assert view is not None
        slots = {i: (x, view.is_negative(i)) for i, x in view.operands.items()}
        free = max(slots, default=-1) + 1
        for x, slot, negative in group.waiting:
            place = free if slot is None or slot in slots else slot
            slots[place] = x, negative
            free = max(free, place) + 1
        return self._sum([slots[i] for i in sorted(slots)], kind, combined)

    @staticmethod
    def _sum(
        parts: Sequence[tuple[Variable, bool]], kind: Kind, join: Callable[..., Variable]
    ) -> Variable:
        """Return the application of signed operands."""
        if not any([taken for _, taken in parts]):
            return join(kind.op, [x for x, _ in parts])
        return kind.joined([x for x, taken in parts if not taken], [x for x, t in parts if t])

    def _rebuilt(self, n: Variable, group: _Group, op: Op, kind: Kind) -> Variable:
        """Return the node of a finished group; the same object if nothing changed."""
        view = group.view
        if group.fired and view is not None:
            slots = sorted(view.operands)
            added = [view.operands[i] for i in slots if not view.is_negative(i)]
            taken = [view.operands[i] for i in slots if view.is_negative(i)]
            if group.inner is not None and len(added) > 1:
                _take_away_negative(added, taken, kind)
            if not taken:
                return combined(op, added)
            if len(added) > 1:
                total = combined(op, added)
                self.normal.setdefault(total, total)
            return kind.joined(added, taken)
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


def _take_away_negative(added: list[Variable], taken: list[Variable], kind: Kind) -> None:
    """Take away terms that are added with a negative coefficient: ``a + -3 b`` is ``a - 3 b``."""
    for i in reversed(range(len(added))):
        x = added[i]
        if x.op is not kind.scale or len(added) == 1:
            continue
        split = kind.split(x)
        if split is not None and split[0] < 0 and -split[0] > 0:
            del added[i]
            taken.append(kind.scaled(-split[0], split[1]))


def _all_normal(nodes: Sequence[Variable], normal: dict[Variable, Variable]) -> bool:
    """Return True if all nodes are known to be their own normal forms."""
    for x in nodes:  # noqa: SIM110 - as a generator it takes twice as long
        if x.inputs and normal.get(x) is not x:
            return False
    return True
