"""Matching below an associative and commutative head: subsets of an n-ary view, by index.

A :class:`~relgraph.relations.match_rule.MatchRule` matches a fixed number of operands, and a
:class:`~relgraph.relations.block_matcher.GatherRule` any number, which it puts in buckets by the
values of their shared variables.

A :class:`View` keeps its index while a sum grows, so that no operands are matched twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.op import Op
from relgraph.relations import runtime
from relgraph.relations.block_matcher import GatherRule
from relgraph.relations.clause import Rewrite
from relgraph.relations.discrimination_tree import PlainMatcher
from relgraph.relations.match_rule import MatchRule, rule_of
from relgraph.relations.matcher import endless
from relgraph.relations.nary import NEAR, alike, canonical, coefficient, kind_of, leaves
from relgraph.relations.operand_index import ANY, Firing, Layer, Match, View, key_of, plays
from relgraph.relations.runtime import OutOfSteps

Accepts = Callable[[Any, Op, Sequence[Variable], Any], bool]

WHOLE_PAIR, PLAIN_PAIR = -1, -2  # what may match two operands, beside the numbers of rules


def _positions_inside(rules: Iterable[MatchRule]) -> dict[Op, frozenset[int]]:
    """Return, by the ops inside of patterns, the positions at which they stand."""
    inside: dict[Op, set[int]] = {}
    for rule in rules:
        for inner, position in rule.inside:
            inside.setdefault(inner, set()).add(position)
    return {inner: frozenset(positions) for inner, positions in inside.items()}


class AcMatcher:
    """All rewrites of a selection with one associative and commutative head op, in declared order.

    ``fold(op, constants)`` combines constants that meet in a view, or returns None.  ``plain``
    matches applications as they stand, by patterns of any op.  ``signed`` is True if rewrites match
    operands with signs and coefficients; only then views have them.
    """

    def __init__(
        self,
        op: Op,
        rewrites: Sequence[Rewrite],
        fold: Callable[..., Any] | None = None,
        plain: PlainMatcher | None = None,
    ) -> None:
        self.op = op
        self.kind = kind_of(op)
        self.fold = fold
        self.plain = plain
        self.rules = [rule_of(op, r) for r in rewrites]
        blocks = [r for r in self.rules if isinstance(r, GatherRule)]
        self.gathering = [r for r in blocks if not r.collects]
        self.collecting = [r for r in blocks if r.collects]
        self._gathers: dict[Any, list[tuple[int, GatherRule]]] = {}
        # (rule, role) by the key of the operand that may play the role; a role that any operand
        # may play waits for its partner's key to be there.
        self.by_key: dict[Any, list[tuple[int, int]]] = {}
        self.by_partner: dict[Any, list[tuple[int, int]]] = {}
        self.twins: list[tuple[int, int]] = []  # of x + x, for operands that may occur twice
        for number, rule in enumerate(self.rules):
            if isinstance(rule, GatherRule):
                continue
            if rule.twins and rule.roles[0].key is ANY:
                self.twins.append((number, 0))
                continue
            for place in rule.leading:
                role = rule.roles[place]
                if role.key is not ANY:
                    self.by_key.setdefault(role.key, []).append((number, place))
                else:
                    self.by_partner.setdefault(role.partner, []).append((number, place))
        self.always = self.by_partner.pop(ANY, []) + self.by_key.pop(ANY, [])
        self.keys = frozenset([*self.by_key, *self.by_partner])
        self.classes = any([isinstance(x, type) and x is not Constant for x in self.by_partner])
        self.matching = [r for r in self.rules if isinstance(r, MatchRule)]
        self.by_identity = any([r.by_identity for r in self.matching])
        self.inside = _positions_inside(self.matching)
        self.linear = frozenset(
            [i for i, rule in enumerate(self.rules) if rule.linear] if self.kind.scaling else []
        )
        self.signed = bool(self.kind.scaling and (self.linear or self.collecting))
        self.family = self.kind.family if self.signed else self.kind.only
        self.equal = bool(self.collecting or self.twins)
        self.products = frozenset([r.key for r in self.gathering if r.factoring])
        self._may: dict[frozenset[Any], bool] = {}
        self._two: dict[Any, bool] = {}
        self._pairs: dict[tuple[Any, Any, bool], tuple[tuple[int, bool], ...]] = {}
        self._gatherers: dict[tuple[Any, Any], list[GatherRule]] = {}

    def view(self, signed: bool = True, logged: bool = True) -> View:
        """Return an empty view with the indexes that the rewrites look operands up in."""
        kind = self.kind if signed and self.signed else None
        return View(self.by_identity, self.inside, kind, bool(kind and self.collecting), logged)

    def may_match(self, keys: frozenset[Any]) -> bool:
        """Return False if the keys of different operands show that no rule matches several."""
        may = self._may.get(keys)
        if may is None:
            may = self._may[keys] = any(
                [
                    all([any([plays(key, r.key) for key in keys]) for r in rule.roles])
                    for rule in self.matching
                    if not (rule.twins and rule.roles[0].key is ANY)
                ]
            )
        return may

    def idle(self, terms: Iterable[tuple[Variable, bool]], signed: bool) -> bool:
        """Return True if a short look at normal operands shows that no rewrite matches them.

        Each comes with whether it is taken away.
        """
        split, scaling = self.kind.split, self.kind.scaling if signed else ()
        products, equal = self.products, self.equal
        cores: set[Any] = set()
        factors: set[Any] = set()
        layers: dict[Any, list[Any]] = {}
        once: set[Any] = set()
        twice: set[Any] = set()
        for node, taken in terms:
            x, key = node, node.op if node.op is not None else key_of(node)
            scale: Any = -1 if taken else 1
            if key in scaling:
                parts = split(x)
                if parts is not None:
                    layers.setdefault(scale, []).append(key)
                    scale, x = parts[0] * scale, parts[1]
                    key = x.op if x.op is not None else key_of(x)
                elif any([y.__class__ is Constant for y in x.inputs]):
                    return False  # it may be an array of one number
            if key not in once:
                once.add(key)
            elif key not in twice:
                if self._joins_two(key):
                    return False
                twice.add(key)
            if scale in layers:
                layers[scale].append(key)
            else:
                layers[scale] = [key]
            if (equal or products) and key is not Constant:
                core = x if key is None or not key.commutative else canonical(x)
                if core in cores and equal:
                    return False
                cores.add(core)
            if products and (key in products or node.op in products):
                factored: Any = node if node.op in products else x
                for y in leaves(factored, factored.op, (), NEAR):
                    factor = y if y.op is None or not y.op.commutative else canonical(y)
                    if factor in factors:
                        return False
                    factors.add(factor)
        return cores.isdisjoint(factors) and not any(
            [
                len(keys) > 1 and (scale == 1 or self.linear) and self.may_match(frozenset(keys))
                for scale, keys in layers.items()
            ]
        )

    def _joins_two(self, key: Any) -> bool:
        """Return True if two operands of a key may be folded or gathered, shared factors apart."""
        joins = self._two.get(key)
        if joins is None:
            joins = self._two[key] = (key is Constant and self.fold is not None) or any(
                [not rule.factoring for _, rule in self.gathers(key)]
            )
        return joins

    def pair(
        self,
        a: Variable,
        b: Variable,
        agenda: Sequence[tuple[int, bool]] | None = None,
        accepts: Accepts | None = None,
        root: Any = None,
        *,
        taken: bool = False,
    ) -> tuple[Variable, Any, tuple[Any, ...]] | Match | None:
        """Match a view of two operands, the second of which may be taken away.

        ``agenda`` is what :meth:`pairs_of` returns for them.

        Return ``(result, rewrite, bindings)``, a match with signs or coefficients, or None.  A
        firing that ``accepts(root, op, operands, firing)`` refuses counts as no match; for None it
        returns False if no firing pays that takes these operands.
        """
        for number, swapped in self.pairs_of(a, b, taken) if agenda is None else agenda:
            if number == PLAIN_PAIR:
                continue
            if number == WHOLE_PAIR:
                match = self._whole_pair(a, b, accepts, root, taken)
                if match is not None:
                    _, firing, negative = match
                    if negative or firing.scales:
                        return match
                    return firing.result, firing.rewrite, firing.bindings
                continue
            rule = self.rules[number]
            if isinstance(rule, MatchRule):
                found = self._paired(rule, a, b, swapped)
                if found is not None and (
                    accepts is None
                    or not found[1].may_recompute
                    or accepts(root, self.op, (a, b), found)
                ):
                    return found  # type: ignore[no-any-return]
        return None

    @staticmethod
    def _paired(rule: MatchRule, a: Variable, b: Variable, swapped: bool) -> Any:
        try:
            return rule.pair(b, a) if swapped else rule.pair(a, b)
        except OutOfSteps:
            raise endless(rule.rewrite) from None

    def pairs_of(self, a: Variable, b: Variable, taken: bool) -> tuple[tuple[int, bool], ...]:
        """Return the numbers of the rules that two operands may match, by their keys.

        Each comes with whether the operands swap roles.
        """
        keys = (a.op or key_of(a), b.op or key_of(b), taken)
        agenda = self._pairs.get(keys)
        if agenda is None:
            agenda = self._pairs[keys] = self._pair_agenda(*keys)
        return agenda

    def _whole_pair(
        self, a: Variable, b: Variable, accepts: Accepts | None, root: Any, taken: bool
    ) -> Match | None:
        """Match a view of two operands by the rules that see the whole of it."""
        if a.__class__ is b.__class__ is Constant:
            firing = None if self.fold is None or taken else self.fold(self.op, (a, b))
            return None if firing is None else Match((0, 1), firing)
        if not self._joins(a, b, taken):
            return None
        view = self.view()
        view.add(a)
        view.add(b, None, taken)
        matches = self.step(view, accepts, root)
        return matches[0] if matches else None

    def _joins(self, a: Variable, b: Variable, taken: bool) -> bool:
        """Return True if rules that see the whole of a view may match one of two operands."""
        x, y, same, kind = a, b, not taken, self.kind
        if self.signed:
            same = False
            if a.op in kind.scaling or b.op in kind.scaling:
                p = kind.split(a) if a.op in kind.scaling else None
                q = kind.split(b) if b.op in kind.scaling else None
                same = p is not None and q is not None and abs(p[0]) == abs(q[0])
                if self.collecting and (p is None or q is None):
                    p, q = p or kind.split_array(a), q or kind.split_array(b)
                x, y = a if p is None else p[1], b if q is None else q[1]
        return bool(
            (self.collecting and alike(x, y))
            or (same and self.linear)
            or any([rule.joins(a, b, x, y) for rule in self._may_gather(a, b)])
        )

    def _may_gather(self, a: Variable, b: Variable) -> list[GatherRule]:
        """Return the rules that may gather two operands, by their keys."""
        keys = (a.op or key_of(a), b.op or key_of(b))
        rules = self._gatherers.get(keys)
        if rules is None:
            rules = [rule for rule in self.gathering if rule.may_join(*keys)]
            self._gatherers[keys] = rules
        return rules

    def _pair_agenda(self, a: Any, b: Any, taken: bool) -> tuple[tuple[int, bool], ...]:
        """Return the rules that operands of two keys may match, and whether they swap roles.

        WHOLE_PAIR stands for all rules that see the whole view, and PLAIN_PAIR for the patterns of
        any op.
        """
        agenda = []
        scaling = self.kind.scaling if self.signed else ()
        whole = (
            (self.fold is not None and a is b is Constant)
            or (self.collecting and (a == b or a in scaling or b in scaling))
            or (self.signed and a in scaling and b in scaling)
            or any([rule.may_join(a, b) for rule in self.gathering])
        )
        if whole:
            agenda.append((WHOLE_PAIR, False))
        for number, rule in enumerate(self.rules):
            if isinstance(rule, GatherRule) or taken:
                continue
            if rule.twins:
                if a == b:
                    agenda.append((number, False))
            elif len(rule.roles) == 2:
                first, second = rule.roles
                orders = ((a, b, False), (b, a, True))
                for mine, other, swapped in orders[: len(rule.leading)]:
                    if plays(mine, first.key) and plays(other, second.key):
                        agenda.append((number, swapped))
        if self.plain is not None and not taken:
            keys = [Input if key is None else key for key in (a, b)]
            if self.plain.fits(*keys):
                agenda.append((PLAIN_PAIR, False))
        return tuple(agenda)

    def step(self, view: View, accepts: Accepts | None = None, root: Any = None) -> list[Match]:
        """Match the operands that are new to a view, and remove the matched ones from it.

        The matches are disjoint: constants first, then like terms, then in order of the rules and
        of the operands.  ``accepts`` is as in :meth:`pair`.
        """
        operands = view.operands
        if len(operands) == 2 and not self._may_join(view):
            return []
        fresh, view.fresh = view.fresh, []
        if len(operands) <= runtime.WHOLE:  # a variable may stand for several, old and new
            fresh = list(operands)
        matches: list[Match] = []

        def take(match: Match | None, pays: bool = False) -> None:
            if match is None:
                return
            firing = match.firing
            if (
                pays
                or accepts is None
                or not firing.rewrite.may_recompute
                or accepts(root, self.op, firing.taken, firing.fired)
            ):
                view.remove(match.slots)
                matches.append(match)

        folded = None if self.fold is None else self._folded(view)
        if folded is not None:
            view.remove(folded.slots)
            matches.append(folded)
            if len(operands) < 2:
                view.fresh = list(operands)
                return matches
        for key in view.met:
            members = view.alike.get(key, ())
            if len(members) > 1:
                # A product with what the terms have in common costs no more than adding them.
                whole = all([view.has_whole_core(i) for i in members])
                take(self._collected(members, view), whole)
        view.met.clear()
        fresh = [i for i in fresh if i in operands]
        for number, slot, place, key in self._agenda(view, fresh) if fresh else ():
            rule = self.rules[number]
            if isinstance(rule, GatherRule):
                needed = None
                if accepts is not None and rule.rewrite.may_recompute:
                    needed = partial(self._may_pay, accepts, root)
                for match in rule.gather(view, needed):
                    take(match)
            elif slot in operands:
                found = rule.find(place, slot, view.layers[key])
                if found is not None:
                    take(self._scaled(found, key, view))
        return matches

    def _may_pay(self, accepts: Accepts, root: Any, taken: Sequence[Variable]) -> bool:
        """Return False if no firing that gathers some operands pays."""
        return accepts(root, self.op, taken, None)

    def _agenda(self, view: View, fresh: Sequence[int]) -> list[tuple[int, int, int, Any]]:
        """Return the rules to try on the operands that are new to a view, in order.

        Each comes with a slot, the role that its operand plays, and its layer.
        """
        agenda: list[tuple[int, int, int, Any]] = []
        if self.matching:
            for key, layer in view.layers.items():
                if len(layer.operands) > 1:
                    if key == (view.flipped, None):
                        self._roles(agenda, layer, fresh, key, None)
                    elif self.linear:
                        self._roles(agenda, layer, fresh, key, self.linear)
        if self.gathering:
            for number, slots in self._instances(view, fresh).items():
                rule = self.rules[number]
                assert isinstance(rule, GatherRule)
                if rule.enter(slots, view):
                    agenda.append((number, -1, 0, None))
        agenda.sort(key=itemgetter(0, 1, 2))
        return agenda

    def _may_join(self, view: View) -> bool:
        """Return False if no rule matches the two operands of a view, by a short look at them."""
        (i, a), (j, b) = view.operands.items()
        taken = view.is_negative(i)
        if taken != view.is_negative(j):
            if taken:
                a, b = b, a
            taken = True
        elif taken:
            return True
        for number, swapped in self.pairs_of(a, b, taken):
            if number == PLAIN_PAIR:
                continue
            rule = self.rules[number]
            if number == WHOLE_PAIR:
                if self._joins(a, b, taken) or a.__class__ is b.__class__ is Constant:
                    return True
            elif isinstance(rule, MatchRule) and self._paired(rule, a, b, swapped) is not None:
                return True
        return False

    def _roles(
        self,
        agenda: list[tuple[int, int, int, Any]],
        layer: Layer,
        fresh: Collection[int],
        name: Any,
        only: Container[int] | None,
    ) -> None:
        """Append the roles that the new operands of a layer may play, of all rules or some."""
        index, operands = layer.index, layer.operands
        present = {*index, *map(type, index)} if self.classes else index
        waiting = [r for key in self.by_partner if key in present for r in self.by_partner[key]]
        waiting += self.always
        by_key: dict[Any, list[int]] = {}
        repeated = bool(self.twins) and (layer.repeated or self.op in index)
        for slot in fresh:
            node = operands.get(slot)
            if node is not None:
                if repeated:
                    for number, place in self.twins:
                        if only is None or number in only:
                            agenda.append((number, slot, place, name))
                key = node.op if node.op is not None else key_of(node)
                if key in by_key:
                    by_key[key].append(slot)
                else:
                    by_key[key] = [slot]
        for key, slots in by_key.items():
            for number, place in (
                *self.by_key.get(key, ()),
                *self.by_key.get(type(key), ()),
                *waiting,
            ):
                if only is None or number in only:
                    agenda.extend([(number, slot, place, name) for slot in slots])

    def _instances(self, view: View, fresh: Collection[int]) -> dict[int, list[int]]:
        """Return the new operands that may be instances of each gather rule's element."""
        operands, cores, gathers, known = view.operands, view.cores, self.gathers, self._gathers
        instances: dict[int, list[int]] = {}
        for slot in fresh:
            node = operands[slot]
            key = node.op if node.op is not None else key_of(node)
            scaled = slot in cores
            rules = known.get(key)
            if rules is None:
                rules = gathers(key)
            for number, rule in rules:
                if number in self.linear:
                    if scaled and rule.key is not self.kind.scale:
                        continue
                elif view.negative and view.is_negative(slot):
                    continue
                instances.setdefault(number, []).append(slot)
            if scaled:
                for number, rule in gathers(key_of(cores[slot][1])):
                    if number in self.linear and rule.key is not self.kind.scale:
                        instances.setdefault(number, []).append(slot)
        return instances

    def gathers(self, key: Any) -> list[tuple[int, GatherRule]]:
        """Return the gather rules, with their numbers, whose elements operands of a key may be."""
        rules = self._gathers.get(key)
        if rules is None:
            rules = self._gathers[key] = [
                (number, rule)
                for number, rule in enumerate(self.rules)
                if isinstance(rule, GatherRule) and not rule.collects and plays(key, rule.key)
            ]
        return rules

    def _collected(self, members: Any, view: View) -> Match | None:
        """Return the match that combines like terms, if it is valid."""
        slots = tuple(sorted(members))
        group = view.taken(slots)
        arrays = view.arrays
        core = arrays[slots[0]][1] if slots[0] in arrays else view.core(slots[0])
        bare = not all([i in arrays or abs(view.cores.get(i, (1,))[0]) != 1 for i in slots])
        if bare and view.kind is not None and core.op in view.kind.family:
            return None  # a sum that stays closed; relations on pairs may match it
        dtype = core.type.dtype
        scales = [-members[i] if view.flipped else members[i] for i in slots]
        # Subtract -5 y - y as 5 y + y if there is a term to subtract it from.
        negative = all(
            [view.is_negative(i) and x < 0 for i, x in zip(slots, scales, strict=True)]
        ) and not view.all_taken(slots)
        if negative:
            scales = [-x for x in scales]
        coefficients = [coefficient(x, dtype) for x in scales]
        for k, i in enumerate(slots if arrays else ()):
            if i in arrays and scales[k] == arrays[i][0].uniform:
                coefficients[k] = arrays[i][0]
        like = runtime.instance(self.op, group)
        for rule in self.collecting:
            built = rule.build((core, dtype), coefficients, like, group)
            if built is not None:
                sign = (-1,) if negative else ()
                return Match(slots, Firing(built[1], built[2], group, built[0], sign), negative)
        return None

    def _scaled(self, found: Any, layer: Any, view: View) -> Match:
        """Return the match of operands of one sign and coefficient."""
        result, rewrite, bindings, slots = found
        sign, number = layer
        negative = sign != view.flipped
        taken = view.taken(slots)
        scales: tuple[Any, ...] = ()
        if number is not None:
            result = self.kind.scaled(number, result)
        if negative or number is not None:
            scale = 1 if number is None else number
            scales = (-scale if negative else scale,)
        return Match(slots, Firing(rewrite, bindings, taken, result, scales), negative)

    def _folded(self, view: View) -> Match | None:
        """Return the match that combines the constants of a view, if it is valid."""
        assert self.fold is not None
        if Constant not in view.keys:
            return None
        places = [
            i
            for sign in (False, True)
            if (sign, None) in view.layers
            for i in view.layers[sign, None].index.get(Constant, ())
        ]
        if len(places) < 2:
            return None
        # Constants of a narrower dtype than the view's would round or wrap around on their own.
        wide = np.result_type(*{x.type.dtype for x in view.operands.values()})
        slots = tuple([i for i in sorted(places) if view.operands[i].type.dtype == wide])
        if len(slots) < 2:
            return None
        # Take away what all of them take away together, if there is a term to take it from.
        negative = all([view.is_negative(i) for i in slots]) and not view.all_taken(slots)
        node = view.operands.__getitem__ if negative else view.written
        firing = self.fold(self.op, tuple([node(i) for i in slots]))
        if firing is None or not negative:
            return None if firing is None else Match(slots, firing)
        return Match(slots, firing._replace(taken=view.taken(slots), scales=(-1,)), True)
