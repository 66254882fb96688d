"""The nearest match of a pattern at a node, and the tests that fail in it.

This interprets a clause as the compiled matchers do, but goes on where a test fails: a match is a
way through the pattern together with the tests that failed on it.  What a graph has in another
form, type or place costs 1; another number or operand costs 3; and another op costs 1, and 3 for
each op of the pattern that is not there.  Ways of cost 0 are tried first, then those of cost 1, and
so on, so that the first one found is nearest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from relgraph.checking.diagnosis import reasons as kinds
from relgraph.checking.diagnosis.conditions import Conditions
from relgraph.checking.diagnosis.reasons import Reason
from relgraph.ir.node import Constant, Variable, apply_chain
from relgraph.ir.op import Op
from relgraph.ir.types import covers
from relgraph.ops.elementwise import Elementwise
from relgraph.relations.clause import Rewrite, is_ac, numbers_stay, traits
from relgraph.relations.matcher import literal_bits
from relgraph.relations.nary import NEAR, alike, kind_of, leaves, sequence
from relgraph.relations.pattern import (
    Block,
    OpPattern,
    PatternNode,
    PatternVariable,
    Rest,
    Term,
    chained_args,
    flat_args,
    subterms,
)
from relgraph.relations.runtime import alike_each, splits

Pair = tuple[Term, Any]  # a term, and the node or the operands that it is to match
Signed = tuple[Any, bool]  # an operand, and whether it is taken away
STEPS = 2000  # of one search for the ways of one cost
BUILT = 20  # steps that it takes to build a graph
OTHER = 3  # the cost of an op, a number or an operand that is not there


class Way(NamedTuple):
    """A way through a pattern: what its variables stand for, and the tests that failed so far.

    ``inner`` are the nodes below the root that compute numbers, ``taken`` the operands of the root
    if it is a sum or product, and ``done`` the conditions that were decided.
    """

    env: dict[PatternVariable, Any]
    reasons: tuple[Reason, ...] = ()
    cost: int = 0
    inner: tuple[Variable, ...] = ()
    taken: tuple[Variable, ...] = ()
    done: frozenset[int] = frozenset()


class OutOfSteps(Exception):
    """A search used up its steps."""


class NearMatch:
    """Searches for the nearest match of a rewrite whose sums have not been made blocks."""

    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite
        self.guarded = not rewrite.pointwise
        self.conditions = Conditions(rewrite.conditions)
        self.rebrackets = True  # whether a part of a product of matrices may match
        self.limit = self.left = 0
        self.steps = 0  # taken so far

    def ways(self, node: Variable, limit: int) -> Iterator[Way]:
        """Yield the ways through the pattern at a node that cost at most ``limit``."""
        self.limit, self.left = limit, STEPS
        try:
            yield from self.match(self.rewrite.pattern, node, Way({}), root=True)
        except (OutOfSteps, RecursionError):
            return

    def spend(self, steps: int) -> None:
        """Take steps from those that are left."""
        self.steps += steps
        self.left -= steps
        if self.left < 0:
            raise OutOfSteps

    def missed(self, way: Way, reason: Reason, cost: int = 1) -> Iterator[Way]:
        """Yield a way on which one more test failed, unless that is too many."""
        if way.cost + cost <= self.limit:
            yield way._replace(reasons=(*way.reasons, reason), cost=way.cost + cost)

    def all(self, pairs: Sequence[Pair], way: Way) -> Iterator[Way]:
        """Yield the ways through several terms."""
        if not pairs:
            yield way
            return
        (term, at), *others = pairs
        for one in self.match(term, at, way):
            yield from self.all(others, one)

    def match(self, term: Term, at: Any, way: Way, *, root: bool = False) -> Iterator[Way]:
        """Yield the ways through a term at a node."""
        self.spend(1)
        if isinstance(term, PatternVariable):
            yield from self.variable(term, at, way)
        elif isinstance(term, Rest):
            yield from self.variable(term.variable, at, way)
        elif isinstance(term, bool | int | float):
            if isinstance(at, Constant) and at.bits in literal_bits(term):
                yield way
            else:
                yield from self.missed(way, kinds.other_number(term, at), OTHER)
        elif isinstance(term, Variable):
            if at is term:
                yield way
            else:
                yield from self.missed(way, kinds.other_node(term, at), OTHER)
        elif isinstance(term, Block):
            yield from self.each_operand(term, at, way, root)
        elif is_ac(term.op):
            yield from self.nary(term, at, way, root)
        else:
            yield from self.node(term, at, way, root)

    def variable(self, variable: PatternVariable, value: Any, way: Way) -> Iterator[Way]:
        """Bind a variable, or compare with what it stands for already."""
        if variable not in way.env:
            bound = way._replace(env={**way.env, variable: value})
            yield from self.conditions.decided(self, bound)
            return
        known = way.env[variable]
        if _same(known, value, not self.rewrite.exact):
            yield way
            return
        yield from self.missed(way, kinds.other_operand(variable, known, value), OTHER)

    # Heads.

    def head(self, term: PatternNode | Block, at: Any, way: Way) -> Iterator[tuple[Way, bool]]:
        """Yield ways past the test of a node's op, each with whether to look at its operands."""
        op: Any = term.op
        own = getattr(at, "op", None)
        if isinstance(op, PatternVariable) and own is not None:
            for one in self.variable(op, own, way):
                yield one, True
            return
        cls: Any = op.cls if isinstance(op, OpPattern) else type(op)
        if own is op:
            yield way, True
        elif own is not None and type(own) is cls and own.parameters and cls is not Elementwise:
            for one in self.parameters(op, own, way):
                yield one, True
        else:
            for one in self.missed(way, kinds.other_op(term, at), size_of(term)):
                yield one, False

    def parameters(self, op: Any, own: Any, way: Way) -> Iterator[Way]:
        """Match the parameters of an op."""
        named = list(zip(own.parameters, op.params, own.params, strict=True))
        if not named:
            yield way
        ways = [way]
        for name, wanted, value in named:
            following: list[Way] = []
            for one in ways:
                known = one.env.get(wanted) if isinstance(wanted, PatternVariable) else wanted
                if isinstance(wanted, PatternVariable) and wanted not in one.env:
                    following += self.variable(wanted, value, one)
                elif bool(known == value):
                    following.append(one)
                else:
                    reason = kinds.other_parameter(own, name, wanted, known, value)
                    following += self.missed(one, reason)
            ways = following
        yield from ways

    # Operands in order.

    def node(self, term: PatternNode, at: Any, way: Way, root: bool) -> Iterator[Way]:
        """Match an application whose operands have an order, or two that may be exchanged."""
        for one, opened in self.head(term, at, way):
            if not opened:
                yield one
                continue
            if not root and traits(term.op).computes:
                one = one._replace(inner=(*one.inner, at))
            found = False
            for pairs in self.aligned(term, at):
                found = True
                for guarded in self.guards(term, pairs, at.type, one):
                    yield from self.all(pairs, guarded)
            if not found:
                reason = kinds.other_terms(term, at, len(at.inputs))
                yield from self.missed(one, reason, size_of(term))
            yield from self.bracketed(term, at, one, root)

    def aligned(self, term: PatternNode, at: Variable) -> Iterator[list[Pair]]:
        """Yield the operands of a term, each with what it may match, in order."""
        args, inputs = term.args, at.inputs
        free = [i for i, x in enumerate(args) if isinstance(x, Rest)]
        spare = len(inputs) - (len(args) - len(free))
        if not free:
            if spare:
                return
            yield list(zip(args, inputs, strict=True))
            if isinstance(term.op, Op) and term.op.commutative and len(args) == 2:
                yield list(zip(args, inputs[::-1], strict=True))
            return
        for first in range(spare + 1) if len(free) > 1 and spare >= 0 else [spare]:
            lengths = {free[0]: first, free[-1]: spare - first if len(free) > 1 else first}
            start, pairs = 0, list[Pair]()
            for i, x in enumerate(args):
                if i in lengths:
                    pairs.append((x, inputs[start : start + lengths[i]]))
                    start += lengths[i]
                else:
                    pairs.append((x, inputs[start]))
                    start += 1
            yield pairs

    def bracketed(self, term: PatternNode, at: Variable, way: Way, root: bool) -> Iterator[Way]:
        """Match a product of matrices with other brackets, or a part of it at the root."""
        op, factors = term.op, chained_args(term)
        if not factors or not isinstance(op, Op):
            return
        nodes, count = sequence(op, at), len(factors)
        free = self.rewrite.any_brackets and count > 2
        if len(nodes) < max(count, 3):
            return
        for window in _windows(nodes, count, parts=root and self.rebrackets):
            allowed = free and window is nodes
            if not allowed and way.cost >= self.limit:
                continue
            for cuts in combinations(range(1, len(window)), count - 1):
                self.spend(BUILT + len(window))
                ends = zip((0, *cuts), (*cuts, len(window)), strict=True)
                parts = tuple([apply_chain(op, window[i:j]) for i, j in ends])
                pairs = list(zip(factors, parts, strict=True))
                if allowed:
                    yield from self.all(pairs, way)
                elif parts != at.inputs:
                    reason = kinds.other_brackets(term, at, apply_chain(op, parts))
                    for one in self.missed(way, reason):
                        yield from self.all(pairs, one)

    def each_operand(self, block: Block, at: Any, way: Way, root: bool) -> Iterator[Way]:
        """Match an op variable applied to any number of operands, each an instance of an element.

        One operand after the other is matched in the nearest way, without looking back.  What is
        asked of the operands is decided when all of them are known.
        """
        every = frozenset(range(len(self.rewrite.conditions)))
        for start, opened in self.head(block, at, way):
            one: Way | None = start
            if opened and not root and traits(block.op).computes:
                one = start._replace(inner=(*start.inner, at))
            lists: dict[PatternVariable, list[Any]] = {v: [] for v in block.own}
            stays = numbers_stay(block) and len(block.own) == 1
            for x in at.inputs if opened else ():
                assert one is not None
                known = {v: y for v, y in one.env.items() if v not in lists}
                clear = one._replace(env=known, done=every)
                one = min(self.match(block.element, x, clear), key=lambda w: w.cost, default=None)
                if stays and not x.type.ndim and (one is None or one.cost > clear.cost):
                    one = clear._replace(env={**clear.env, block.own[0]: x})
                if one is None:
                    return
                for v in block.own:
                    lists[v].append(one.env.get(v))
            assert one is not None
            if opened:
                bound = one._replace(env={**one.env, **lists}, done=start.done)
                yield from self.conditions.decided(self, bound)
            else:
                yield one

    # Sums and products.

    def nary(self, term: PatternNode, at: Any, way: Way, root: bool) -> Iterator[Way]:
        """Match a sum or product: at the root some of its operands, below it all of them."""
        op, args = term.op, flat_args(term)
        assert isinstance(op, Op)
        kind = kind_of(op)
        if getattr(at, "op", None) not in (kind.family if root else (op,)):
            yield from self.missed(way, kinds.other_op(term, at), size_of(term))
            return
        near = None if root else NEAR
        views = [[(x, False) for x in leaves(at, op, (), near)]] if at.op is op else []
        if root:  # differences are opened, too
            views += [x for x in [kind.terms(at)[0]] if x not in views]
        self.spend(sum(map(len, views)))
        if max(map(len, views)) < len(args):
            count = max(map(len, views))
            yield from self.missed(way, kinds.other_terms(term, at, count), size_of(term))
            return
        if root:
            for view in views:
                yield from self.some(term, view, way)
            return
        (view,) = views
        if traits(op).computes:
            way = way._replace(inner=(*way.inner, at))
        named = [x for x in args if isinstance(x, PatternVariable)]
        single = [x for x in args if not isinstance(x, PatternVariable)]
        for one, used in self.chosen(single, view, way, ()):
            left = [x for i, (x, _) in enumerate(view) if i not in used]
            pairs = [(x, view[i][0]) for x, i in zip(single, used, strict=True)]
            for guarded in self.guards(term, pairs, at.type, one):
                yield from self.rest(named, left, term, at, guarded)

    def chosen(
        self,
        args: Sequence[Term],
        view: Sequence[tuple[Any, bool]],
        way: Way,
        used: tuple[int, ...],
    ) -> Iterator[tuple[Way, tuple[int, ...]]]:
        """Yield ways to give each term one operand, with the operands' numbers."""
        if not args:
            yield way, used
            return
        for i, (x, _) in enumerate(view):
            if i not in used:
                for one in self.match(args[0], x, way):
                    yield from self.chosen(args[1:], view, one, (*used, i))

    def some(self, term: PatternNode, view: Sequence[Signed], way: Way) -> Iterator[Way]:
        """Yield ways to match some operands of the root, each with those that it takes."""
        op: Any = term.op
        args = sorted(flat_args(term), key=_is_variable)
        for one, slots in self.chosen(args, view, way, ()):
            chosen = [view[i] for i in slots]
            nodes = tuple([x for x, _ in chosen])
            taking = one._replace(taken=nodes)
            pairs = list(zip(args, nodes, strict=True))
            signed = iter([taking])
            if len({negative for _, negative in chosen}) > 1:
                signed = self.missed(taking, kinds.other_sign(op, chosen))
            like = apply_chain(op, nodes).type
            for past in signed:
                yield from self.guards(term, pairs, like, past)

    def rest(
        self,
        named: Sequence[PatternVariable],
        nodes: list[Variable],
        term: PatternNode,
        at: Variable,
        way: Way,
    ) -> Iterator[Way]:
        """Yield ways to give variables all operands of a nested sum or product that are left."""
        assert isinstance(term.op, Op)
        if not named or len(nodes) < len(named):
            if nodes or named:
                reason = kinds.other_terms(term, at, len(nodes) + len(flat_args(term)) - len(named))
                yield from self.missed(way, reason, OTHER)
            else:
                yield way
            return
        for groups in splits(nodes, len(named)) if len(named) > 1 else [(nodes,)]:
            parts = [x[0] if len(x) == 1 else apply_chain(term.op, x) for x in groups]
            pairs = list(zip(named, parts, strict=True))
            for guarded in self.guards(term, pairs, at.type, way):
                yield from self.all(pairs, guarded)

    # Broadcasting.

    def guards(
        self, term: PatternNode, pairs: Sequence[Pair], like: Any, way: Way
    ) -> Iterator[Way]:
        """Yield a way past the tests that no operand of an elementwise op is broadcast."""
        if not self.guarded or not traits(term.op).pointwise:
            yield way
            return
        for arg, x in pairs:
            if isinstance(arg, Rest) or self.may_broadcast(arg) or covers(like.shape, x.type.shape):
                continue
            reason = kinds.broadcast_operand(term, arg, x, like)
            for one in self.missed(way, reason):
                way = one
                break
            else:
                return
        yield way

    def may_broadcast(self, term: Term) -> bool:
        """Return True if an operand may broadcast by declaration, or is a number."""
        named = self.rewrite.broadcast
        if "*" in named or isinstance(term, bool | int | float):
            return True
        return isinstance(term, PatternVariable) and term.name in named


def _windows(nodes: list[Variable], count: int, parts: bool) -> Iterator[list[Variable]]:
    """Yield the factors of a product to give to a pattern: some neighbours, and then all."""
    for start in range(len(nodes) - count + 1 if parts else 0):
        yield nodes[start : start + count]
    yield nodes


def size_of(term: Term) -> int:
    """Return what it costs if nothing of a term is there."""
    return 1 + OTHER * sum(isinstance(x, PatternNode | Block) for x in subterms(term))


def _is_variable(term: Term) -> bool:
    return isinstance(term, PatternVariable)


def _same(x: Any, y: Any, regroup: bool) -> bool:
    """Return True if two nodes, sequences of nodes, parameters or ops are equal."""
    if isinstance(x, Variable):
        return isinstance(y, Variable) and alike(x, y, regroup)
    if isinstance(x, tuple) and isinstance(y, tuple):
        return alike_each(x, y, regroup)
    return x is y or bool(x == y)
