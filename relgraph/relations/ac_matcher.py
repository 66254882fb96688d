"""Matching below an associative and commutative head: subsets of an n-ary view, by index.

A rewrite whose pattern is ``op(P1, ..., Pk)`` matches any k operands of a view and leaves the
others alone.  Each operand of the pattern is a *role*, and each role has a compiled function.  So
an operand that is new to a view is tried in every role it may play; its partners are looked up by
head op, or by identity where they are bound.  A rewrite whose pattern is a block gathers any number
of terms at once: it puts operands in buckets by the values of their shared variables.

A :class:`View` keeps its index while a sum grows, so that no operands are matched twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from relgraph.ir.forks import cached_property
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import Op
from relgraph.relations import runtime
from relgraph.relations.block_matcher import GatherRule, computed
from relgraph.relations.clause import Rewrite, is_ac
from relgraph.relations.generated_names import Names
from relgraph.relations.matcher import Compiler, crowds, endless
from relgraph.relations.matcher_store import stored_of
from relgraph.relations.operand_index import (
    ANY,
    ANYWHERE,
    Firing,
    Match,
    View,
    anchor,
    key_of,
    plays,
)
from relgraph.relations.pattern import (
    Block,
    PatternNode,
    PatternVariable,
    Term,
    flat_args,
    same_term,
    variables,
)
from relgraph.relations.runtime import OutOfSteps
from relgraph.relations.symmetry import exchange

Accepts = Callable[[Any, Op, Sequence[Variable], Any], bool]
VIEWED = "n0, i0, view, index"  # the parameters of a function that matches operands of a view


class Role(NamedTuple):
    """One operand of a rule's pattern: the keys of who may play it, and of a partner."""

    key: Any
    partner: Any


class MatchRule:
    """Matches a fixed number of operands; each of its functions is compiled at its first use.

    ``roles`` are those of the pattern's operands, the most selective first, and operands are tried
    in the roles that ``leading`` lists.  ``by_identity`` is True if the pattern repeats a variable,
    which is then looked up by the operand it is bound to, and ``twins`` if its two operands are
    equal, as in ``x + x``.
    """

    TERMS = frozenset({"args"})  # attributes that are not on disk, for they are terms

    def __init__(self, op: Op, rewrite: Rewrite) -> None:
        assert isinstance(rewrite.pattern, PatternNode)
        self.op = op
        self.rewrite = rewrite
        self.args = sorted(flat_args(rewrite.pattern), key=_selectivity)
        self.by_identity = any(isinstance(x, PatternVariable) for x in self.args)
        self.roles = []
        for i, arg in enumerate(self.args):
            others = self.args[:i] + self.args[i + 1 :]
            self.roles.append(
                Role(anchor(arg), min(map(anchor, others), key=lambda key: key is ANY))
            )
        self.twins = len(self.args) == 2 and same_term(*self.args)
        # Of roles that may be exchanged, the operands of a match are tried in the first.
        self.leading = [
            i
            for i, x in enumerate(self.args)
            if not any(exchange(rewrite, y, x) is not None for y in self.args[:i])
        ]
        self.inside = list(self._inside())
        self.matchers: list[Callable[..., Any] | None] = [None] * len(self.args)

    def __getattr__(self, name: str) -> Any:
        return computed(self, name)

    def matcher(self, role: int) -> Callable[..., Any]:
        """Return the function that matches a view, beginning with the operand of a role."""
        matcher = self.matchers[role]
        if matcher is None:
            matcher = self.matchers[role] = stored_of(
                f"match{role}", self.rewrite, lambda: self._compile(role)
            )
        return matcher

    @cached_property
    def pair(self) -> Callable[..., Any]:
        """The function that matches a view of two operands, in the order of the roles."""
        matcher: Callable[..., Any] = stored_of("pair", self.rewrite, self._compile_pair)
        return matcher

    def _compile_pair(self) -> Callable[..., Any]:
        compiler = Compiler(self.rewrite, Names(), "n0, n1")
        for place, arg in enumerate(self.args):
            compiler.match(arg, f"n{place}")
        places = dict(zip(("n0", "n1"), self.args, strict=True))
        return self._finished(compiler, places, "pair", "n0, n1", "")

    def _compile(self, role: int) -> Callable[..., Any]:
        first, others = self.args[role], self.args[:role] + self.args[role + 1 :]
        compiler = Compiler(self.rewrite, Names(), VIEWED)
        for op, several in crowds(self.args):
            name = compiler.names.of(op, op.name)
            compiler.test(f"len(index.get({name}, ())) >= {several}")
        compiler.match(first, "n0")
        places, slots = {"n0": first}, ["i0"]
        waiting = others
        while waiting:
            arg = min(waiting, key=lambda x: _urgency(x, compiler))
            alike = compiler.exchangeable(arg, waiting)
            waiting = [x for x in waiting if not any(x is y for y in alike)]
            names = [(f"i{k}", f"n{k}") for k, _ in enumerate(alike, len(places))]
            slot, place = names[0]
            taken = f"({', '.join(slots)},)"
            places |= {n: x for (_, n), x in zip(names, alike, strict=True)}
            if isinstance(arg, PatternVariable):  # may be several operands together
                compiler.loop(f"{slot}, {place}", self._together(compiler, arg, taken))
                compiler.match(arg, place)
                slots.append(f"*{slot}")
                continue

            def enter(
                arg: Term = arg, slot: str = slot, place: str = place, taken: str = taken
            ) -> None:
                compiler.loop(slot, self._candidates(compiler, arg))
                compiler.test(f"{slot} not in {taken}")
                compiler.let(f"{place} = view[{slot}]")

            compiler.match_alike(alike, names, enter)
            slots += [i for i, _ in names]
        taken = f", ({', '.join(slots)},)"
        return self._finished(compiler, places, "match", VIEWED, taken)

    def _finished(
        self,
        compiler: Compiler,
        places: dict[str, Term],
        name: str,
        parameters: str,
        extra: str,
    ) -> Callable[..., Any]:
        """Return the function that makes the remaining tests and builds the result."""
        names, op = compiler.names, self.op
        group = f"({', '.join(places)},)"
        compiler.let(f"t = instance({names.of(op, op.name)}, {group})")
        if compiler.guarded and op.pointwise:
            for place, arg in places.items():
                if not compiler.may_broadcast(arg):
                    compiler.test(f"fills(t, {place})")
        compiler.finish("t", group, extra)
        doc = f"Match operands of {op.name}, beginning with n0."
        return names.function(name, parameters, [compiler.lines], doc)

    @property
    def sources(self) -> list[str]:
        """The sources of the functions compiled so far."""
        functions: list[Any] = [*self.matchers, self.__dict__.get("pair")]
        return [f.source for f in functions if f is not None]

    def _together(self, compiler: Compiler, arg: PatternVariable, taken: str) -> str:
        """Return an expression for the slots and the node that a variable may stand for."""
        op = compiler.names.of(self.op, self.op.name)
        if arg in compiler.env:
            return f"within({op}, {compiler.env[arg]}, view, index, {taken})"
        conditions = compiler.rewrite.conditions
        decided = any(arg in variables(x) for c in conditions for x in c.args)
        every = decided or compiler.guarded or compiler.rewrite.ranks is not None
        return f"{'choices' if every else 'free'}({op}, view, {taken})"

    @staticmethod
    def _candidates(compiler: Compiler, arg: Term) -> str:
        """Return an expression for the slots of the operands that may match a term."""
        key = anchor(arg)
        if key is ANY or (isinstance(key, type) and key is not Constant):
            return "list(view)"
        name = compiler.names.of(key, key.name if isinstance(key, Op) else "leaf")
        for position, variable in _direct(arg):
            if variable in compiler.env:
                what = f"canonical({compiler.env[variable]})"
                return f"index.get(({name}, {position}, {what}), ())"
        return f"index.get({name}, ())"

    def _inside(self) -> Iterator[tuple[Op, int]]:
        """Yield the op and position of each variable by which its application is looked up."""
        for i, arg in enumerate(self.args):
            others = {v for x in self.args[:i] + self.args[i + 1 :] for v in variables(x)}
            for position, variable in _direct(arg):
                if variable in others:
                    yield arg.op, position

    def find(self, role: int, slot: int, view: View) -> Match | None:
        """Match with the operand in a slot playing a role."""
        node = view.operands[slot]
        try:
            match = self.matcher(role)(node, slot, view.operands, view.index)
        except OutOfSteps:
            raise endless(self.rewrite) from None
        if match is None:
            return None
        result, rewrite, bindings, slots = match
        taken = tuple([view.operands[i] for i in slots])
        return Match(slots, Firing(rewrite, bindings, taken, result))


Rule = MatchRule | GatherRule


def rule_of(op: Op, rewrite: Rewrite) -> Rule:
    """Return the rule of a rewrite; what is computed for it is on disk, except for terms."""
    new: list[Rule] = []

    def facts() -> tuple[bool, dict[str, Any]]:
        block = isinstance(rewrite.pattern, Block)
        new.append(GatherRule(op, rewrite) if block else MatchRule(op, rewrite))
        own = {"op", "rewrite", *new[0].TERMS}
        return block, {name: x for name, x in vars(new[0]).items() if name not in own}

    block, known = stored_of("rule", rewrite, facts)
    if new:
        return new[0]
    kind: Any = GatherRule if block else MatchRule
    rule: Rule = object.__new__(kind)
    vars(rule).update(known, op=op, rewrite=rewrite)
    return rule


def _direct(term: Term) -> list[tuple[int, PatternVariable]]:
    """Return the variables that are operands of a term themselves, with their positions."""
    if not isinstance(term, PatternNode) or not isinstance(term.op, Op):
        return []
    anywhere = term.op.commutative
    args = flat_args(term) if is_ac(term.op) else term.args
    return [
        (ANYWHERE if anywhere else i, x)
        for i, x in enumerate(args)
        if isinstance(x, PatternVariable)
    ]


def _urgency(term: Term, compiler: Compiler) -> tuple[bool, int, bool]:
    """Order the operands of a pattern: those first that the fewest operands of a view match."""
    joined = any(v in compiler.env for _, v in _direct(term))
    return term not in compiler.env, _selectivity(term), not joined


def _selectivity(term: Term) -> int:
    if isinstance(term, PatternVariable):
        return 3
    if isinstance(term, PatternNode | Block):
        return 2 if anchor(term) is ANY else 0
    return 1


class AcMatcher:
    """All rewrites of a selection with one associative and commutative head op, in declared order.

    ``fold(op, constants)`` combines constants that meet in a view, or returns None.
    """

    def __init__(
        self, op: Op, rewrites: Sequence[Rewrite], fold: Callable[..., Any] | None = None
    ) -> None:
        self.op = op
        self.fold = fold
        self.rules = [rule_of(op, r) for r in rewrites]
        # (rule, role) by the key of the operand that may play the role; a role that any operand
        # may play waits for its partner's key to be there.
        self.by_key: dict[Any, list[tuple[int, int]]] = {}
        self.by_partner: dict[Any, list[tuple[int, int]]] = {}
        for number, rule in enumerate(self.rules):
            if isinstance(rule, GatherRule):
                self.by_key.setdefault(rule.key, []).append((number, -1))
                continue
            for place in rule.leading:
                role = rule.roles[place]
                if role.key is not ANY:
                    self.by_key.setdefault(role.key, []).append((number, place))
                else:
                    self.by_partner.setdefault(role.partner, []).append((number, place))
        self.always = self.by_partner.pop(ANY, []) + self.by_key.pop(ANY, [])
        self.keys = frozenset(self.by_key) | frozenset(self.by_partner)
        matching = [r for r in self.rules if isinstance(r, MatchRule)]
        self.by_identity = any([r.by_identity for r in matching])
        inside: dict[Op, set[int]] = {}
        for r in matching:
            for inner, position in r.inside:
                inside.setdefault(inner, set()).add(position)
        self.inside = {inner: frozenset(positions) for inner, positions in inside.items()}
        self._may: dict[frozenset[Any], bool] = {}
        self._pairs: dict[tuple[Any, Any], tuple[tuple[int, bool], ...]] = {}

    def view(self) -> View:
        """Return an empty view with the indexes that the rewrites look operands up in."""
        return View(self.by_identity, self.inside)

    def may_match(self, keys: frozenset[Any]) -> bool:
        """Return False if the keys of the operands show that no rewrite matches."""
        may = self._may.get(keys)
        if may is None:
            may = self._may[keys] = bool(
                self.always
                or not self.keys.isdisjoint(keys)
                or not self.keys.isdisjoint(map(type, keys))
            )
        return may

    def pair(
        self, a: Variable, b: Variable, accepts: Accepts | None = None, root: Any = None
    ) -> tuple[Variable, Any, tuple[Any, ...]] | None:
        """Match a view of two operands; return ``(result, rewrite, bindings)`` or None.

        A firing that ``accepts(root, op, operands, firing)`` refuses counts as no match.
        """
        keys = (a.op or key_of(a), b.op or key_of(b))
        agenda = self._pairs.get(keys)
        if agenda is None:
            agenda = self._pairs[keys] = self._pair_agenda(*keys)
        if not agenda:
            return None
        for number, swapped in agenda:
            if number < 0:
                assert self.fold is not None
                firing = self.fold(self.op, (a, b))
                if firing is not None:
                    return firing.result, firing.rewrite, firing.bindings
                continue
            rule = self.rules[number]
            if isinstance(rule, MatchRule):
                try:
                    found = rule.pair(b, a) if swapped else rule.pair(a, b)
                except OutOfSteps:
                    raise endless(rule.rewrite) from None
            else:
                match = rule.pair(a, b, self.view)
                firing = None if match is None else match.firing
                found = firing and (firing.result, firing.rewrite, firing.bindings)
            if found is not None and (
                accepts is None
                or not found[1].may_recompute
                or accepts(root, self.op, (a, b), found)
            ):
                return found  # type: ignore[no-any-return]
        return None

    def _pair_agenda(self, a: Any, b: Any) -> tuple[tuple[int, bool], ...]:
        """Return the rules that operands of two keys may match, and whether they swap roles."""
        agenda = []
        if a is b is Constant and self.fold is not None:
            agenda.append((-1, False))
        for number, rule in enumerate(self.rules):
            if isinstance(rule, GatherRule):
                if rule.key is not ANY:
                    both = plays(a, rule.key) and plays(b, rule.key)
                else:  # two operands that are instances as they stand must be the same
                    both = a == b or a is rule.element or b is rule.element
                if both:
                    agenda.append((number, False))
            elif rule.twins:
                if a == b:
                    agenda.append((number, False))
            elif len(rule.roles) == 2:
                first, second = rule.roles
                orders = ((a, b, False), (b, a, True))
                for mine, other, swapped in orders[: len(rule.leading)]:
                    if plays(mine, first.key) and plays(other, second.key):
                        agenda.append((number, swapped))
        return tuple(agenda)

    def step(
        self,
        view: View,
        fresh: Collection[int],
        accepts: Accepts | None = None,
        root: Any = None,
    ) -> list[Match]:
        """Match the operands that are new to a view, and remove the matched ones from it.

        The matches are disjoint, in order of the rules and then of the operands.  ``accepts`` is
        as in :meth:`pair`.
        """

        def accepted(firing: Firing) -> bool:
            return (
                accepts is None
                or not firing.rewrite.may_recompute
                or accepts(root, self.op, firing.taken, firing.fired)
            )

        agenda: list[tuple[int, int, int]] = []
        index, operands = view.index, view.operands
        if len(operands) <= runtime.WHOLE:  # a variable may stand for several, old and new
            fresh = list(operands)
        present = {*index, *map(type, index)}
        waiting = [r for key in self.by_partner if key in present for r in self.by_partner[key]]
        waiting += self.always
        by_key: dict[Any, Collection[int]] = {}
        if len(fresh) == len(operands):
            by_key = {key: list(index[key]) for key in view.keys if key in index}
        else:
            grouped: dict[Any, list[int]] = {}
            for slot in fresh:
                node = operands[slot]
                key = node.op if node.op is not None else key_of(node)
                grouped.setdefault(key, []).append(slot)
            by_key.update(grouped)
        gathered = set()
        for key, slots in by_key.items():
            classes = self.by_key.get(type(key), ())
            for number, place in (*self.by_key.get(key, ()), *classes, *waiting):
                rule = self.rules[number]
                if isinstance(rule, MatchRule):
                    agenda.extend([(number, slot, place) for slot in slots])
                elif rule.enter(slots, view):
                    gathered.add(number)
        agenda.extend([(number, -1, 0) for number in gathered])
        matches: list[Match] = []
        if self.fold is not None and len(index.get(Constant, ())) > 1:
            folded = self._folded(view)
            if folded is not None:
                self._take(folded, view, matches)
        agenda.sort()
        for number, slot, place in agenda:
            rule = self.rules[number]
            if isinstance(rule, GatherRule):
                for match in rule.gather(view):
                    if accepted(match.firing):
                        self._take(match, view, matches)
            elif slot in operands:
                matched = rule.find(place, slot, view)
                if matched is not None and accepted(matched.firing):
                    self._take(matched, view, matches)
        return matches

    @staticmethod
    def _take(match: Match, view: View, matches: list[Match]) -> None:
        view.remove(match.slots)
        matches.append(match)

    def _folded(self, view: View) -> Match | None:
        """Return the match that combines the constants of a view, if it is valid."""
        assert self.fold is not None
        # Constants of a narrower dtype than the view's would round or wrap around on their own.
        wide = np.result_type(*{x.type.dtype for x in view.operands.values()})
        slots = tuple([i for i in sorted(view.index[Constant]) if view.operands[i].dtype == wide])
        if len(slots) < 2:
            return None
        firing = self.fold(self.op, tuple([view.operands[i] for i in slots]))
        return None if firing is None else Match(slots, firing)
