"""Gathering: any number of operands of a view that are instances of one element, at once.

A hash join puts operands into buckets by the values of the variables that the instances share:
``A @ x1 + B @ y + A @ x2`` has a bucket for ``A`` and one for ``B``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relgraph.ir.forks import cached_property
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations import runtime
from relgraph.relations.clause import Rewrite
from relgraph.relations.generated_names import Names
from relgraph.relations.generated_source import STEPS, Line
from relgraph.relations.matcher import Compiler, endless
from relgraph.relations.matcher_store import stored_of
from relgraph.relations.nary import alike
from relgraph.relations.operand_index import ANY, Buckets, Firing, Match, View, anchor
from relgraph.relations.pattern import Block, PatternNode, PatternVariable, Term
from relgraph.relations.runtime import OutOfSteps

DEALT = "slots, operands, buckets, keys, ready, shared"  # the parameters that deal operands


class GatherRule:
    """Gathers operands that are instances of one element, such as ``A @ x1 + ... + A @ xk``.

    Operands with the key ``element`` are instances as they stand.  Those with ``key`` may go into
    buckets; it is ANY if an operand x counts as ``1 * x``.
    """

    TERMS = frozenset({"own", "_reductions", "_whole"})  # attributes that are not on disk

    def __init__(self, op: Op, rewrite: Rewrite) -> None:
        block = rewrite.pattern
        assert isinstance(block, Block)
        self.op = op
        self.rewrite = rewrite
        self.own = block.own[0]
        self.element = self.key = anchor(block.element)
        self.guarded = not rewrite.pointwise
        self._reductions = [c for c in rewrite.conditions if c.kind == "reduce"]
        self._whole = self._unit(block.element) if self._reductions else None
        if self._whole is not None:
            self.key = ANY

    def __getattr__(self, name: str) -> Any:
        return computed(self, name)

    @cached_property
    def deal(self) -> Callable[..., Any]:
        """The function that puts operands into buckets, compiled at its first use."""
        matcher: Callable[..., Any] = stored_of("deal", self.rewrite, self._compile_deal)
        return matcher

    def _compile_deal(self) -> Callable[..., Any]:
        compiler, shared = self._matched()
        bodies = [self._dealt(compiler, shared)]
        if self._whole is not None:
            other = Compiler(self.rewrite, compiler.names, f"{DEALT}, slot, n0")
            bodies.append(self._dealt_whole(other, self._whole, shared))
        doc = f"Put operands of {self.op.name} into buckets, by what they share as the element."
        return compiler.names.function("deal", DEALT, bodies, doc)

    @cached_property
    def build(self) -> Callable[..., Any]:
        """The function that builds the other side for one bucket, compiled at its first use."""
        matcher: Callable[..., Any] = stored_of("build", self.rewrite, self._compile_build)
        return matcher

    def _compile_build(self) -> Callable[..., Any]:
        compiler, shared = self._matched()
        compiler.lines, compiler.inner = [], []
        compiler.done = [c for c in compiler.done if c not in self._reductions]
        compiler.env = {v: f"s{i}" for i, v in enumerate(shared)} | {self.own: "terms"}
        if shared:
            compiler.let("".join(f"s{i}, " for i in range(len(shared))) + "*_ = key")
        compiler.finish("t", "group")
        doc = "Build the other side for the terms of one bucket."
        return compiler.names.function("build", "key, terms, t, group", [compiler.lines], doc)

    def _matched(self) -> tuple[Compiler, list[PatternVariable]]:
        """Return a compiler that has matched the element, and the variables that terms share."""
        compiler = Compiler(self.rewrite, Names(), f"{DEALT}, slot, n0")
        compiler.done.extend(self._reductions)
        compiler.match(self.rewrite.pattern.element, "n0")
        return compiler, [v for v in compiler.env if v != self.own]

    @property
    def sources(self) -> list[str]:
        """The sources of the functions compiled so far."""
        functions = (self.__dict__.get(name) for name in ("deal", "build"))
        return [f.source for f in functions if f is not None]

    def _dealt(self, compiler: Compiler, shared: Sequence[PatternVariable]) -> list[Line]:
        """Return the lines that put an instance of the element, once matched, into its bucket."""
        own = compiler.env[self.own]
        key = "".join(self._shared(compiler, v) for v in shared)
        # Terms of one bucket have one dtype, and so has their combination.
        inner = [x for x in compiler.inner if x != "n0"]
        if inner:
            compiler.test(f"steady(n0.type, ({', '.join(inner)},))")
        # Terms that are combined must have one type, or combining them would broadcast, wrap
        # around or round where the original did not.
        kind = f"{own}.type, n0.type" if self.guarded else f"{own}.type.dtype"
        counts = any("steps" in text for text, _ in compiler.lines)
        return [
            ("for slot in slots:", True),
            ("n0 = operands[slot]", False),
            *([(f"steps = [{STEPS}]", False)] if counts else ()),
            *compiler.lines,
            (f"key = ({key}{kind},)", False),
            ("places = buckets.get(key)", False),
            ("if places is None or slot not in places:", True),
            (f"if places is None: buckets[key] = {{slot: {own}}}", False),
            (f"else: places[slot], ready[key] = {own}, None", False),
            ("if slot in keys: keys[slot].append(key)", False),
            ("else: keys[slot] = [key]", False),
        ]

    def _dealt_whole(
        self, compiler: Compiler, whole: PatternVariable, shared: Sequence[PatternVariable]
    ) -> list[Line]:
        """Return the lines for an operand x that is an instance as ``1 * x``."""
        element = compiler.rewrite.pattern.element
        compiler.done.extend(c for c in compiler.rewrite.conditions if c.kind == "reduce")
        one = f"unit({compiler.names.of(element.op, element.op.name)}, n0.type.dtype)"
        compiler.nodes.add(whole)
        compiler.env[self.own] = "one"
        compiler.bind(whole, "n0")
        lines = self._dealt(compiler, shared)
        # Folding combines the constants of a view, and checks for overflow.
        whole_only: list[Line] = [("if n0.__class__ is not Constant:", True)]
        return [*lines[:2], *whole_only, (f"one = {one}", False), *lines[2:]]

    def _unit(self, element: Term) -> PatternVariable | None:
        """Return the variable that is the whole element where its own part is the identity."""
        if not isinstance(element, PatternNode) or not isinstance(element.op, Op):
            return None
        op, args = element.op, element.args
        if op.identity is None or len(args) != 2:
            return None
        first, second = args
        if op.commutative and first == self.own:
            first, second = second, first
        return first if second == self.own and isinstance(first, PatternVariable) else None

    @staticmethod
    def _shared(compiler: Compiler, variable: PatternVariable) -> str:
        """Return an expression for a shared variable in a key, one for all equal nodes."""
        x = compiler.env[variable]
        if variable not in compiler.nodes:
            return f"{x}, "
        regroup = ", False" if compiler.rewrite.exact else ""
        one = f"shared.setdefault(canonical({x}{regroup}), {x})"
        return f"{x} if {x}.op is None or not {x}.op.commutative else {one}, "

    def enter(self, slots: Iterable[int], view: View) -> bool:
        """Put operands into their buckets; return True if one of them can be gathered."""
        buckets = view.buckets.get(self)
        if buckets is None:
            buckets = view.buckets[self] = Buckets()
        tables = buckets.members, buckets.keys, buckets.ready, buckets.shared
        try:
            self.deal(slots, view.operands, *tables)
        except OutOfSteps:
            raise endless(self.rewrite) from None
        return bool(buckets.ready)

    def pair(self, a: Variable, b: Variable, view: Callable[[], View]) -> Match | None:
        """Match a view of two operands."""
        if self.key is not self.element and self.element not in (a.op, b.op) and not alike(a, b):
            return None
        both = view()
        if not self.enter((both.add(a), both.add(b)), both):
            return None
        return next(iter(self.gather(both)), None)

    def gather(self, view: View) -> Iterable[Match]:
        """Yield matches for the full buckets, beginning with those that save most."""
        buckets = view.buckets[self]
        ready = [key for key in buckets.ready if len(buckets.members.get(key, ())) > 1]
        buckets.ready.clear()
        if len(ready) > 1:
            ready.sort(key=lambda key: -self._saving(view, buckets.members[key]))
        for key in ready:
            members = buckets.members.get(key, {})
            if len(members) < 2:
                continue
            slots = tuple(sorted(members))
            group = tuple([view.operands[i] for i in slots])
            like = group[0].type if self.guarded else runtime.instance(self.op, group)
            built = self.build(key, [members[i] for i in slots], like, group)
            if built is not None:
                yield Match(slots, Firing(built[1], built[2], group, built[0]))

    @staticmethod
    def _saving(view: View, members: dict[int, Any]) -> int:
        node = view.operands[next(iter(members))]
        if node.op is None:
            return 0
        cost = node.op.flops(tuple([x.type for x in node.inputs]), node.type)
        return (len(members) - 1) * cost


def computed(rule: Any, name: str) -> Any:
    """Return a missing attribute of a rule that is from disk: a new rule has it."""
    if name not in rule.TERMS:
        raise AttributeError(f"{type(rule).__name__} has no {name}")
    new = vars(type(rule)(rule.op, rule.rewrite))
    vars(rule).update({name: new[name] for name in rule.TERMS})
    return new[name]
