"""One rule of an n-ary matcher: a pattern with a fixed number of operands, each a role.

A rewrite whose pattern is ``op(P1, ..., Pk)`` matches any k operands of a view and leaves the
others alone.  Each operand of the pattern is a *role*, and each role has a compiled function.  So
an operand that is new to a view is tried in every role it may play; its partners are looked up by
head op, or by identity where they are bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from relgraph.ir.forks import cached_property
from relgraph.ir.node import Constant
from relgraph.ir.op import Op
from relgraph.relations.block_matcher import GatherRule, computed, is_linear
from relgraph.relations.clause import Rewrite, is_ac
from relgraph.relations.generated_names import Names
from relgraph.relations.matcher import Compiler, crowds, endless
from relgraph.relations.matcher_store import stored_of
from relgraph.relations.operand_index import ANY, ANYWHERE, Layer, anchor
from relgraph.relations.pattern import (
    Block,
    PatternNode,
    PatternVariable,
    Term,
    chained_args,
    flat_args,
    same_term,
    variables,
)
from relgraph.relations.runtime import OutOfSteps
from relgraph.relations.symmetry import exchange

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
            if not (i and self.twins)
            and not any(exchange(rewrite, y, x) is not None for y in self.args[:i])
        ]
        self.linear = is_linear(rewrite)
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
        if len(self.args) == 2 and _is_number(self.args[0]):
            return f"rest({op}, view, {taken})"  # x * (-1) = -x for all other factors at once
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

    def find(self, role: int, slot: int, layer: Layer) -> Any:
        """Match with the operand in a slot playing a role.

        Return ``(result, rewrite, bindings, slots)``, or None.
        """
        node = layer.operands[slot]
        try:
            return self.matcher(role)(node, slot, layer.operands, layer.index)
        except OutOfSteps:
            raise endless(self.rewrite) from None


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
    if len(chained_args(term)) > 2:  # its operands depend on the bracketing
        return []
    anywhere = term.op.commutative
    args = flat_args(term) if is_ac(term.op) else term.args
    return [
        (ANYWHERE if anywhere else i, x)
        for i, x in enumerate(args)
        if isinstance(x, PatternVariable)
    ]


def _is_number(term: Term) -> bool:
    return isinstance(term, bool | int | float)


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
