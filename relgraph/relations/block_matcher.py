"""Gathering: any number of operands of a view that are instances of one element, at once.

A hash join puts operands into buckets by the values of the variables that the instances share:
``A @ x1 + B @ y + A @ x2`` has a bucket for ``A`` and one for ``B``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from relgraph.ir.forks import cached_property
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ir.op import Op
from relgraph.relations import runtime
from relgraph.relations.clause import Rewrite, is_ac
from relgraph.relations.generated_names import Names
from relgraph.relations.generated_source import STEPS, Line
from relgraph.relations.matcher import Compiler, endless
from relgraph.relations.matcher_store import stored_of
from relgraph.relations.nary import NEAR, alike, canonical, kind_of, leaves
from relgraph.relations.operand_index import Buckets, Firing, Match, View, anchor, plays
from relgraph.relations.pattern import (
    Block,
    PatternNode,
    PatternVariable,
    Term,
    subterms,
    variables,
)
from relgraph.relations.runtime import OutOfSteps, unit

DEALT = "slots, operands, buckets, keys, ready, shared"  # the parameters that deal operands


class GatherRule:
    """Gathers operands that are instances of one element, such as ``A @ x1 + ... + A @ xk``.

    Operands with the key ``key`` may go into buckets.  A rule ``collects`` if it computes one
    coefficient from those of like terms, as ``a x + b x = (a + b) x`` does.  It is ``linear`` if it
    gathers terms that have a coefficient in common: ``2 log(x) + 2 log(y) = 2 log(x y)``.  It
    ``spreads`` if it gathers terms with different ones as well: ``2 A x + 3 A y = A (2 x + 3 y)``,
    since what is additive commutes with numbers.  It is ``factoring`` if the element is the product
    of a shared factor and another: then a number, or 1, may stand in the place of the other.
    """

    TERMS = frozenset({"own", "_reductions"})  # attributes that are not on disk

    def __init__(self, op: Op, rewrite: Rewrite) -> None:
        block = rewrite.pattern
        assert isinstance(block, Block)
        self.op = op
        self.kind = kind_of(op)
        self.rewrite = rewrite
        self.own = block.own[0]
        self.key = anchor(block.element)
        self.shared = tuple(self._shared_positions(block.element))
        self.guarded = not rewrite.pointwise
        self._reductions = [c for c in rewrite.conditions if c.kind == "reduce"]
        self.collects = (
            bool(self._reductions)
            and any([c.kind == "check" and c.args == (self.own,) for c in rewrite.conditions])
            and self.key is self.kind.scale
            and self._unit(block.element) is not None
        )
        self.linear = bool(self.kind.scaling) and is_linear(rewrite) and not self.collects
        self.spreads = self.linear and takes_coefficients(rewrite)
        self.factoring = (
            not self.guarded
            and not self._reductions
            and is_ac(self.key)
            and self._unit(block.element) is not None
        )

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
        if self.collects:  # coefficients come from the view, without a match
            own = [c for c in compiler.done if any(self.own in variables(x) for x in c.args)]
            compiler.done = own
        compiler.done = [c for c in compiler.done if c not in self._reductions]
        compiler.env = {v: f"s{i}" for i, v in enumerate(shared)} | {self.own: "terms"}
        compiler.signed = self.spreads
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

    def _shared_positions(self, element: Term) -> Iterator[int]:
        """Yield the positions of the operands that all instances of an element share."""
        if isinstance(element, PatternNode) and isinstance(element.op, Op):
            for i, x in enumerate(element.args if not element.op.commutative else ()):
                if isinstance(x, PatternVariable) and x != self.own:
                    yield i

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
        waiting = buckets.waiting
        waiting.update(dict.fromkeys(slots))
        if len(waiting) == 1 and not buckets.keys and not (self.factoring and self._pairs(view)):
            return False
        slots, buckets.waiting = list(waiting), {}
        if self.linear and view.cores and self.key is not self.kind.scale:
            operands: Any = {i: view.core(i) for i in slots}
        else:
            operands = view.operands
        tables = buckets.members, buckets.keys, buckets.ready, buckets.shared
        try:
            self.deal(slots, operands, *tables)
        except OutOfSteps:
            raise endless(self.rewrite) from None
        if self.factoring and len(view.operands) == 2:
            buckets.ready.update(dict.fromkeys(buckets.members))
        return bool(buckets.ready)

    def _pairs(self, view: View) -> bool:
        """Return True if a view has two operands, one of which may be a factor of the other."""
        if len(view.operands) != 2:
            return False
        (i, a), (j, b) = view.operands.items()
        return self.joins(a, b, view.core(i), view.core(j))

    def may_join(self, a: Any, b: Any) -> bool:
        """Return True if operands with these keys, or their cores, may be gathered."""
        key = self.key
        first, second = plays(a, key), plays(b, key)
        if self.factoring and (first or second):
            return True
        if not self.linear:
            return first and second
        scaling = self.kind.scaling
        return (first or a in scaling) and (second or b in scaling)

    def joins(self, a: Variable, b: Variable, x: Variable, y: Variable) -> bool:
        """Return True if two operands, or their cores x and y, may be gathered."""
        key: Any = self.key
        if self.factoring:
            first = leaves(a if a.op is key else x, key, (), NEAR)
            second = leaves(b if b.op is key else y, key, (), NEAR)
            if len(first) == len(second) == 1:
                return False
            return not set(map(canonical, first)).isdisjoint(map(canonical, second))
        if not (plays(x.op, key) and plays(y.op, key)):
            return False
        return all([alike(x.inputs[i], y.inputs[i]) for i in self.shared])

    def gather(
        self, view: View, accepts: Callable[[Sequence[Variable]], bool] | None = None
    ) -> Iterable[Match]:
        """Yield matches for the full buckets, beginning with those that save most.

        Nothing is built from instances of the element that ``accepts`` refuses.
        """
        buckets = view.buckets[self]
        ready = [key for key in buckets.ready if buckets.members.get(key)]
        buckets.ready.clear()
        if len(ready) > 1:
            ready.sort(key=lambda key: -self._saving(view, buckets.members[key]))
        for key in ready:
            members = buckets.members.get(key, {})
            if self.factoring:
                members = self._factored(key, members, view)
            for part in self._of_one_scale(members, view):
                if len(part) < 2:
                    continue
                if accepts is not None:
                    nodes = [x for i in part for x in (view.operands[i], view.core(i))]
                    if not accepts([x for x in nodes if plays(x.op, self.key)]):
                        continue
                match = self._built(key, part, view)
                if match is not None:
                    yield match

    def _of_one_scale(self, members: dict[int, Any], view: View) -> Iterable[dict[int, Any]]:
        """Return operands that may be gathered together: by coefficient, unless all may."""
        if self.spreads or not self.linear:
            return [members]
        parts: dict[Any, dict[int, Any]] = {}
        for i, x in members.items():
            parts.setdefault(self._scale(i, view), {})[i] = x
        return parts.values()

    def _scale(self, slot: int, view: View) -> Any:
        """Return the coefficient that an operand takes inside."""
        if self.key is self.kind.scale:  # numbers are factors of the element itself
            return -1 if view.is_negative(slot) else 1
        return view.scale(slot)

    def _factored(self, key: tuple[Any, ...], members: dict[int, Any], view: View) -> Any:
        """Return the operands of a bucket to gather.

        An operand that is the shared factor, with or without a number, saves no product.  It is
        gathered only if the whole sum then becomes one product; otherwise polynomials would not
        keep a form.
        """
        shared = key[0]
        left = len(view.operands) - len(members)
        if len(key) != 2 or not isinstance(shared, Variable):
            return members
        if all(map(_is_number, members.values())):
            return {}  # like terms: their coefficients may add up to infinity
        if left == 0:
            return members
        if left == 1 and not _is_number(shared):
            (slot,) = [i for i in view.operands if i not in members]
            split = view.cores.get(slot)
            node = view.operands[slot]
            one = unit(self.key, shared.type.dtype)
            if node.type.dtype is shared.type.dtype:
                if alike(node, shared):
                    return members | {slot: one}
                if split is not None and alike(split[1], shared):
                    return members | {slot: constant(split[0], shared.type.dtype)}
        if _is_number(shared):
            return {}
        return {i: x for i, x in members.items() if not _is_number(x)}

    def _built(self, key: tuple[Any, ...], members: dict[int, Any], view: View) -> Match | None:
        """Return the match of some operands."""
        slots = tuple(sorted(members))
        owns = [members[i] for i in slots]
        group = view.taken(slots)
        like = group[0].type if self.guarded else runtime.instance(self.op, group)
        scales: tuple[Any, ...] = ()
        negative, number = False, 1
        terms = owns
        if self.linear and (view.negative or view.flipped or view.cores):
            scales = tuple([self._scale(i, view) for i in slots])
            if self.spreads and any([x.type.dtype is not group[0].type.dtype for x in owns]):
                return None
            terms, number, negative = self.kind.spread(owns, scales)
            if all([c == 1 for c in scales]):
                scales = ()
        built = self.build(key, terms, like, group)
        if built is None:
            return None
        result, rewrite, bindings = built
        if scales:
            bindings = tuple([owns if x is terms else x for x in bindings])
            result = self.kind.scaled(number, result)
        return Match(slots, Firing(rewrite, bindings, group, result, scales), negative)

    @staticmethod
    def _saving(view: View, members: dict[int, Any]) -> int:
        node = view.core(next(iter(members)))
        if node.op is None:
            return 0
        cost = node.op.flops(tuple([x.type for x in node.inputs]), node.type)
        return (len(members) - 1) * cost


def takes_coefficients(rewrite: Rewrite) -> bool:
    """Return True if terms may take different coefficients inside.

    A sum of the terms must be on the other side, and no condition may restrict them: from
    ``abs(x) + abs(y) = abs(x + y)`` for nonnegative x and y nothing follows for ``-y``.
    """
    block = rewrite.pattern
    own = block.own[0]
    adds = any(
        isinstance(x, Block) and x.op is block.op and x.element == own
        for x in subterms(rewrite.result)
    )
    return adds and not any(
        not getattr(c.function, "of_type", False) and any(own in variables(x) for x in c.args)
        for c in rewrite.conditions
    )


def is_linear(rewrite: Rewrite) -> bool:
    """Return True if a rewrite also holds for its operands times a number, by its labels.

    The coefficient is one more rounding, and the coefficient of an infinity may be lost.
    """
    return not rewrite.exact and getattr(rewrite.source, "specials", "") == "assumes_finite"


def _is_number(x: Any) -> bool:
    return isinstance(x, Constant) and not x.ndim


def computed(rule: Any, name: str) -> Any:
    """Return a missing attribute of a rule that is from disk: a new rule has it."""
    if name not in rule.TERMS:
        raise AttributeError(f"{type(rule).__name__} has no {name}")
    new = vars(type(rule)(rule.op, rule.rewrite))
    vars(rule).update({name: new[name] for name in rule.TERMS})
    return new[name]
