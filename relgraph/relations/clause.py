"""Clauses: the pairs of sides a relation consists of, and the two directions of each.

A clause is data: two patterns and the conditions under which they are equal.  In one direction it
is a rewrite, ready for the matcher compiler; a direction that cannot run raises an error that says
why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relgraph.errors import NotInvertibleError, RelgraphError, UnboundVariableError
from relgraph.ir.forks import cached_property
from relgraph.ir.node import Apply, Constant, Variable
from relgraph.ir.op import Op
from relgraph.relations.definedness import unproved
from relgraph.relations.kanren.goals import Predicate, Suspended
from relgraph.relations.pattern import (
    Block,
    OpPattern,
    PatternNode,
    PatternVariable,
    Rest,
    Term,
    flat_args,
    rename,
    same_term,
    subterms,
    text,
    variables,
    without_brackets,
)
from relgraph.relations.rank_classes import RankClasses

SEQUENCES = 2  # of the operands of one application that is matched, such as f(*a, x, *b)


@dataclass(frozen=True)
class Clause:
    """Two sides, as patterns, that are equal where the conditions hold."""

    left: Term
    right: Term
    conditions: tuple[Suspended, ...] = ()

    def __str__(self) -> str:
        where = f"  where {', '.join(map(repr, self.conditions))}" if self.conditions else ""
        return f"{text(self.left)} = {text(self.right)}{where}"


# What a firing asks of its rewrite.
FIRING_FACTS = ("may_recompute", "gathers", "shallow", "window")


@dataclass(frozen=True)
class Rewrite:
    """A clause in one direction, with what the compiler needs to know about it.

    ``relation`` is the name of the relation with its direction, and ``source`` the relation itself.
    ``conditions`` follow each other so that the arguments of each are bound when it is decided;
    ``origin``, the clause, also has those that need no proof in this direction.  ``broadcast``
    names the variables that may broadcast where the others may not.  If both sides round alike, the
    rewrite is ``exact``: a repeated variable then stands for nodes with the same bracketing.
    """

    pattern: Term
    result: Term
    conditions: tuple[Suspended, ...]
    relation: str
    broadcast: frozenset[str] = frozenset()
    origin: Any = field(default=None, compare=False)
    exact: bool = False
    source: Any = field(default=None, compare=False, repr=False)

    @property
    def pointwise(self) -> bool:
        """Whether all ops on both sides are elementwise, so that operands broadcast freely."""
        return all(
            traits(x.op).pointwise
            for side in (self.pattern, self.result)
            for x in subterms(side)
            if isinstance(x, PatternNode | Block)
        )

    @cached_property
    def may_recompute(self) -> bool:
        """Whether what it builds may cost more than it saves if a matched node has other users.

        It is False for relations that exist for stability, at any cost.
        """
        if "stabilization" in getattr(self.source, "tags", ()):
            return False
        built = isinstance(self.result, PatternNode | Block)
        inner = isinstance(self.pattern, Block) or (
            isinstance(self.pattern, PatternNode)
            and any(isinstance(x, PatternNode | Block) for x in self.pattern.args)
        )
        return built and inner

    @cached_property
    def any_brackets(self) -> bool:
        """Whether products of matrices match in any bracketing.

        They match as written if other brackets would round differently or are all that changes.
        """
        return not self.exact and without_brackets(self.pattern) != without_brackets(self.result)

    @cached_property
    def shallow(self) -> bool:
        """Whether the operands of the pattern are variables, or applications of some to those."""
        inner = [self.pattern.element] if isinstance(self.pattern, Block) else self.pattern.args
        return not any(
            isinstance(y, PatternNode | Block)
            for x in inner
            if isinstance(x, PatternNode)
            for y in x.args
        )

    @cached_property
    def gathers(self) -> bool:
        """Whether the pattern is a block, which matches any number of operands."""
        return isinstance(self.pattern, Block)

    @cached_property
    def window(self) -> int:
        """How many neighbours in a sequence it replaces, whatever stands on either side of them.

        It is 2 for ``f(*a, x, y, *b) = f(*a, z, *b)``, and 0 unless both sides have this form.
        """
        pattern, result = self.pattern, self.result
        sides = [x for x in (pattern, result) if isinstance(x, PatternNode) and len(x.args) > 1]
        if len(sides) < 2 or pattern.op != result.op or isinstance(pattern.op, PatternVariable):
            return 0
        before, *inner, after = pattern.args
        first, *built, last = result.args
        ends = (before, after)
        if not all(isinstance(x, Rest) for x in ends) or ends != (first, last) or before == after:
            return 0
        used = [v for x in (*inner, *built) for v in variables(x)]
        used += [v for c in self.conditions for x in c.args for v in variables(x)]
        return 0 if before.variable in used or after.variable in used else len(inner)

    @cached_property
    def ranks(self) -> RankClasses | None:
        """The ranks of its operands for which it holds; None for any, without a product."""
        # A direction leaves conditions out that its pattern cannot be computed without.
        conditions = getattr(self.origin, "conditions", self.conditions)
        return RankClasses.of(self.pattern, self.result, conditions)

    def __str__(self) -> str:
        where = f"  where {', '.join(map(repr, self.conditions))}" if self.conditions else ""
        return f"{text(self.pattern)} -> {text(self.result)}{where}"


class DeferredRewrite(Rewrite):
    """A rewrite that is made from its clause when one of its sides or conditions is asked for."""

    def __init__(self, source: Any, make: Callable[[], Rewrite | None]) -> None:
        self.__dict__.update(
            relation=source.label, broadcast=source.broadcast, exact=source.rounding == "exact",
            source=source, _make=make,
        )  # fmt: skip

    @cached_property
    def whole(self) -> Rewrite:
        """The rewrite itself."""
        rewrite = self.__dict__["_make"]()
        assert rewrite is not None
        return rewrite  # type: ignore[no-any-return]

    @property
    def pattern(self) -> Term:
        """The side that is matched."""
        return self.whole.pattern

    @property
    def result(self) -> Term:
        """The side that is built."""
        return self.whole.result

    @property
    def conditions(self) -> tuple[Suspended, ...]:
        """Its conditions, in the order in which they are decided."""
        return self.whole.conditions

    @property
    def origin(self) -> Any:
        """Its clause."""
        return self.whole.origin


def traits(op: Op | OpPattern | PatternVariable) -> Op | type[Op]:
    """Return what carries the class attributes of an op, closed, open or variable."""
    if isinstance(op, PatternVariable):
        return op.kind.cls if op.kind is not None else Op
    return op.cls if isinstance(op, OpPattern) else op


def op_name(op: Op | OpPattern | PatternVariable) -> str:
    """Return the name of an op, closed, open or variable."""
    return op.name if isinstance(op, PatternVariable) else traits(op).name


def numbers_stay(block: Block) -> bool:
    """Return True if an operand without axes stands for itself among the operands of a block.

    So it does in ``f(transpose(x), ...)``: an elementwise op stretches a number to any shape, in
    which a rearrangement moves equal elements.
    """
    if not isinstance(block.op, PatternVariable) or not traits(block.op).pointwise:
        return False
    if not all(traits(x.op).rearranges for x in subterms(block.element) if hasattr(x, "args")):
        return False
    return moved_by(block.element) in block.own


def moved_by(element: Term) -> Term:
    """Return the operand that the rearrangements of an element move."""
    while isinstance(element, PatternNode):
        element = element.args[0]
    return element


def up_to_laws(term: Term) -> Any:
    """Return a key that terms share if they are equal by commutativity and associativity."""
    if isinstance(term, PatternNode):
        op = term.op
        keys = [up_to_laws(x) for x in (flat_args(term) if is_ac(op) else term.args)]
        if isinstance(op, Op) and op.commutative:
            return (op, frozenset(Counter(keys).items()))
        return (op, tuple(keys))
    if isinstance(term, bool | int | float):
        return (type(term), repr(term))
    return term


def is_ac(op: Any) -> bool:
    """Return True if an op is associative and commutative."""
    return isinstance(op, Op) and op.associative and op.commutative


def is_bound(clause: Clause, backward: bool) -> bool:
    """Return True if a side binds all variables of a clause, so that this direction runs."""
    pattern, result = (clause.right, clause.left) if backward else (clause.left, clause.right)
    if not isinstance(pattern, PatternNode | Block):
        return False
    if any(type(x) is Rest for x in subterms(pattern)):
        return False  # perhaps too many for one application
    bound = set(variables(pattern))
    return bound.issuperset(variables(result)) and all(
        bound.issuperset(variables(x)) for c in clause.conditions for x in c.args
    )


def orient(
    clause: Clause,
    backward: bool,
    relation: str,
    location: str,
    *,
    broadcast: frozenset[str] = frozenset(),
    exact: bool = False,
    source: Any = None,
) -> Rewrite:
    """Return a clause as a rewrite in one direction.

    A side that cannot be matched, and a variable that would have to be computed backwards, raise
    NotInvertibleError; a variable of the result that the pattern does not bind raises
    UnboundVariableError.
    """
    pattern, result = (clause.right, clause.left) if backward else (clause.left, clause.right)
    if isinstance(pattern, Apply):  # it stands for itself, up to the laws of its op
        pattern = PatternNode(pattern.op, pattern.inputs)
    way = "backward" if backward else "forward"

    def refuse(kind: type[RelgraphError], why: str, fix: str) -> RelgraphError:
        return kind(
            f"{relation} cannot run {way}: {why}",
            {"matches": text(pattern), "builds": text(result), "declared": location},
            fix,
        )

    if not isinstance(pattern, PatternNode | Block):
        what, why = _unmatched(pattern)
        raise refuse(
            NotInvertibleError,
            f"the side to match is {what}",
            f"{why}; use the other direction, or relation.run for a query.",
        )
    for x in subterms(pattern):
        if isinstance(x, PatternNode) and sum(isinstance(y, Rest) for y in x.args) > SEQUENCES:
            why = f"more than {SEQUENCES} sequences of operands stand in {text(x)}"
            fix = "Match op(*a, x, *b): the operands before and after those that are named."
            raise refuse(NotInvertibleError, why, fix)
    bound = set(variables(pattern))
    ordered, waiting = _in_order(unproved(clause.conditions, pattern), bound)
    missing = [v for v in variables(result) if v not in bound]
    if missing or waiting:
        raise refuse(*_unbound(missing, waiting, bound))
    return Rewrite(pattern, result, tuple(ordered), relation, broadcast, clause, exact, source)


def _unbound(
    missing: Sequence[PatternVariable],
    waiting: Sequence[Suspended],
    bound: Collection[PatternVariable],
) -> tuple[type[RelgraphError], str, str]:
    """Return the error for a direction that lacks variables, why it does, and what to do."""
    names = ", ".join(dict.fromkeys(v.name for v in missing)) or ", ".join(
        v.name for c in waiting for v in _needs(c) if v not in bound
    )
    if any(c.computes for c in waiting):
        return (
            NotInvertibleError,
            f"{names} would have to be computed backwards",
            "Add an rg.calco(...) that computes it from the other side, or keep one direction.",
        )
    return (
        UnboundVariableError,
        f"nothing binds {names}",
        "Every variable of the built side must occur in the matched side or be computed by "
        "rg.calco(...).",
    )


def _in_order(
    conditions: Iterable[Suspended], bound: set[PatternVariable]
) -> tuple[list[Suspended], list[Suspended]]:
    """Return the conditions that can be decided, each after those that bind its arguments.

    The other conditions come second.  The variables that conditions compute are added to ``bound``.
    """
    ordered: list[Suspended] = []
    waiting = list(conditions)
    while ready := [c for c in waiting if set(_needs(c)) <= bound]:
        for c in ready:
            waiting.remove(c)
            ordered.append(c)
            if c.computes:
                bound.update(variables(c.args[0]))
    return ordered, waiting


def _unmatched(side: Term) -> tuple[str, str]:
    """Return the kind of a side that cannot be matched, and the reason."""
    if isinstance(side, PatternVariable):
        return "a bare variable", "It would match everywhere"
    if isinstance(side, bool | int | float):
        return "a number", "It has no operands"
    if isinstance(side, Variable):
        kind = "a constant" if isinstance(side, Constant) else "an input"
        return kind, "Only applications of ops are rewritten"
    return f"a {type(side).__name__}", "Only applications of ops are rewritten"


def _needs(condition: Suspended) -> list[PatternVariable]:
    args = condition.args[1:] if condition.computes else condition.args
    return [v for x in args for v in variables(x)]


def with_block(clause: Clause) -> Clause:
    """Return a clause that maps a context over a sum, with its binary sums made blocks.

    ``X (Y + Z) = X Y + X Z`` holds for any number of terms: one side applies a context to a
    combination of terms, and the other combines the context applied to each.  So does
    ``a x + b x = c x`` where c is computed from a and b: it is then computed from any number of
    coefficients in turn.  If both sides have that form, :class:`Block` replaces the
    binary combinations; otherwise the clause is returned unchanged.
    """
    for outer, other, swapped in (
        (clause.right, clause.left, False),
        (clause.left, clause.right, True),
    ):
        sides = _block_sides(outer, other, clause.conditions)
        if sides is not None:
            new_outer, new_other, conditions = sides
            left, right = (new_outer, new_other) if swapped else (new_other, new_outer)
            return Clause(left, right, conditions)
    return clause


def _block_sides(
    outer: Term, other: Term, conditions: tuple[Suspended, ...]
) -> tuple[Term, Term, tuple[Suspended, ...]] | None:
    if not (isinstance(outer, PatternNode) and is_ac(outer.op) and len(outer.args) == 2):
        return None
    first, second = outer.args
    if not isinstance(first, PatternNode):
        return None
    pair = _single_difference(first, second)
    if pair is None:
        return None
    own, twin = pair
    assert isinstance(outer.op, Op)
    block = Block(outer.op, first, (own,))
    reduced = _reduced(other, conditions, own, twin)
    if reduced is not None:
        return block, other, reduced
    holes = [
        x
        for x in subterms(other)
        if isinstance(x, PatternNode) and is_ac(x.op) and x.args in ((own, twin), (twin, own))
    ]
    if len(holes) != 1 or other is holes[0]:
        return None
    hole = holes[0]
    assert isinstance(hole.op, Op)
    new_other = _replace(other, hole, Block(hole.op, own, (own,)))
    if {own, twin} & set(variables(_replace(other, hole, 0))):
        return None
    merged = _merge_conditions(conditions, own, twin)
    if merged is None:
        return None
    return block, new_other, merged


def _reduced(
    other: Term, conditions: tuple[Suspended, ...], own: PatternVariable, twin: PatternVariable
) -> tuple[Suspended, ...] | None:
    """Return the conditions, with a reduction for the one that computes from both operands."""
    if {own, twin} & set(variables(other)):
        return None
    calcs = [c for c in conditions if c.kind == "calc" and set(c.args[1:]) == {own, twin}]
    if len(calcs) != 1:
        return None
    kept = _merge_conditions([c for c in conditions if c is not calcs[0]], own, twin)
    if kept is None:
        return None
    (calc,) = calcs
    return (*kept, Suspended("reduce", (calc.args[0], own), calc.label, calc.function))


def _single_difference(a: Term, b: Term) -> tuple[PatternVariable, PatternVariable] | None:
    """Return the one pair of variables in which two terms differ, each in one term only."""
    in_a, in_b = set(variables(a)), set(variables(b))
    only_a, only_b = in_a - in_b, in_b - in_a
    if len(only_a) != 1 or len(only_b) != 1:
        return None
    (own,), (twin,) = only_a, only_b
    return (own, twin) if same_term(rename(a, lambda v: twin if v == own else v), b) else None


def _replace(term: Term, old: Term, new: Term) -> Term:
    if term is old:
        return new
    if isinstance(term, PatternNode):
        return PatternNode(term.op, tuple(_replace(x, old, new) for x in term.args))
    return term


def _merge_conditions(
    conditions: Iterable[Suspended], own: PatternVariable, twin: PatternVariable
) -> tuple[Suspended, ...] | None:
    """Return one of each pair of conditions that are the same for both variables, or None."""
    kept: list[Suspended] = []
    twins: list[Suspended] = []
    for c in conditions:
        mentioned = {v for x in c.args for v in variables(x)}
        if own in mentioned and twin in mentioned:
            return None
        (twins if twin in mentioned else kept).append(c)
    mine = [c for c in kept if own in {v for x in c.args for v in variables(x)}]
    if len(mine) != len(twins):
        return None
    if all(renamed_among(mine, c, {twin: own}) is not None for c in twins):
        return tuple(kept)
    return None


def renamed_among(
    conditions: Iterable[Suspended],
    condition: Suspended,
    image: Mapping[PatternVariable, PatternVariable],
) -> Suspended | None:
    """Return the condition that is equal to another one whose variables are renamed, or None."""
    args = tuple(rename(x, lambda v: image.get(v, v)) for x in condition.args)
    for c in conditions:
        if (
            c.kind == condition.kind
            and _same_function(c.function, condition.function)
            and all(map(same_term, args, c.args))
        ):
            return c
    return None


def _same_function(f: Any, g: Any) -> bool:
    if isinstance(f, Predicate) and isinstance(g, Predicate):
        f, g = f.function, g.function
    if isinstance(f, partial) and isinstance(g, partial):
        return f.func is g.func and f.args == g.args
    return f is g
