"""Op variables: the kinds of ops that they stand for, and samples of their clauses.

A clause such as ``f(transpose(x), ...) = transpose(f(x, ...))`` has one instance for each op and
number of operands.  The matcher compiles the clause itself; checks evaluate samples of it, which
are clauses of particular ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from relgraph.errors import RelationError, count_of
from relgraph.ir.op import Op
from relgraph.ops.contraction import Matmul
from relgraph.ops.shape import Dim
from relgraph.relations.clause import Clause, is_ac, numbers_stay, traits
from relgraph.relations.kanren.clause_goals import is_number
from relgraph.relations.kanren.goals import Suspended, nth
from relgraph.relations.op_kinds import OpKind
from relgraph.relations.pattern import (
    Block,
    OpPattern,
    Pattern,
    PatternNode,
    PatternVariable,
    Rest,
    Term,
    op_variables,
    rename,
    subterms,
    text,
    variables,
)
from relgraph.relations.rank_classes import takes_key

LENGTHS = 3  # of sequences to try


def is_kind(condition: Suspended) -> bool:
    """Return True for a condition that says of which kind an op is."""
    return isinstance(condition.function, OpKind)


def with_op_variables(clause: Clause, name: str, location: str) -> Clause:
    """Return a clause with its op variables marked by kind, and the own variables of its blocks.

    The own variables of ``f(x, ...)`` are those that occur only below ``f`` on both sides; they
    differ from operand to operand.  A clause without op variables is returned unchanged.
    """
    sides = (clause.left, clause.right)
    terms = subterms(*sides)
    heads = [x.op for x in terms if type(x) is PatternNode or type(x) is Block]
    ops = [op for op in heads if type(op) is PatternVariable]
    if any([type(x) is Rest for x in terms]):
        _check_sequences(terms, ops, name, location)
    if not ops:
        return clause
    kinds = {f: _kind_of(f, clause, name, location) for f in ops}
    _check_applications(clause, kinds, name, location)
    marked = {f: PatternVariable(f.name, f.token, kind) for f, kind in kinds.items()}
    left, right = (rename(side, lambda v: marked.get(v, v)) for side in sides)
    own = _own(left, right)
    return Clause(_with_own(left, own), _with_own(right, own), clause.conditions)


def _kind_of(f: PatternVariable, clause: Clause, name: str, location: str) -> OpKind:
    kinds = [c.function for c in clause.conditions if is_kind(c) and c.args == (f,)]
    if not kinds:
        raise RelationError(
            f"{name}: {f.name} stands for an op, and nothing says for which",
            {"identity": clause, "declared": location},
            f"State its kind as a condition: where=lambda {f.name}: rg.elementwiseo({f.name}), or "
            "rg.reductiono, rg.linearo, rg.rearrangemento.",
        )
    return kinds[0]  # type: ignore[return-value]


def _check_applications(
    clause: Clause, kinds: dict[PatternVariable, OpKind], name: str, location: str
) -> None:
    """Raise RelationError for applications of op variables that no op has."""

    def wrong(what: str, fix: str) -> RelationError:
        return RelationError(f"{name}: {what}", {"identity": clause, "declared": location}, fix)

    for x in subterms(clause.left, clause.right):
        if isinstance(x, PatternVariable) and x in kinds:
            raise wrong(f"{x.name} is an op and an operand", "Use one variable for each.")
        if isinstance(x, PatternNode) and isinstance(x.op, Matmul):
            raise wrong(
                "a product of matrices does not stand beside an op variable",
                "State the identity for one op at a time: the ranks for which a product may be "
                "rewritten are found by computing both sides.",
            )
        if not isinstance(x, PatternNode) or not isinstance(x.op, PatternVariable):
            continue
        arity, given = kinds[x.op].cls.arity, len(x.args)
        if isinstance(arity, int) and arity != given and not any(_rests(x)):
            raise wrong(
                f"{x.op.name} is applied to {count_of(given, 'operand')}, and a "
                f"{kinds[x.op].name} op takes {arity}: {text(x)}",
                "Apply it to as many operands as ops of the kind take.",
            )


def _rests(x: PatternNode) -> list[Rest]:
    return [y for y in x.args if isinstance(y, Rest)]


def _check_sequences(
    terms: Sequence[Term], ops: Sequence[PatternVariable], name: str, location: str
) -> None:
    """Raise RelationError where ``*k`` cannot stand for a sequence of operands."""
    sequences = {x.variable for x in terms if isinstance(x, Rest)}
    nodes = [x for x in terms if isinstance(x, PatternNode)]
    alone = next((x for x in terms if isinstance(x, PatternVariable) and x in sequences), None)
    summed = next((x for x in nodes if is_ac(x.op) and _rests(x)), None)
    what = fix = ""
    if alone is not None or sequences & set(ops):
        what = f"*{(alone or next(iter(sequences))).name} is a sequence and also one term"
        fix = "Write the star wherever it stands, and only among the operands of an op."
    elif summed is not None:
        what = f"a sequence stands in a sum or product: {text(summed)}"
        fix = "Leave it out: at the root, a pattern matches some of the terms and keeps the others."
    if what:
        raise RelationError(f"{name}: {what}", {"declared": location}, fix)


def _own(*sides: Term) -> frozenset[PatternVariable]:
    """Return the variables that occur below the three dots of op variables only."""
    inside: set[PatternVariable] = set()
    outside: set[PatternVariable] = set()
    stack: list[tuple[Term, bool]] = [(side, False) for side in sides]
    while stack:
        x, below = stack.pop()
        if isinstance(x, PatternVariable):
            (inside if below else outside).add(x)
        elif isinstance(x, Rest):
            outside.add(x.variable)
        elif isinstance(x, Block):
            outside.update([x.op] if isinstance(x.op, PatternVariable) else ())
            stack.append((x.element, below or isinstance(x.op, PatternVariable)))
        elif isinstance(x, PatternNode):
            ops = x.op.params if isinstance(x.op, OpPattern) else (x.op,)
            stack += [(y, below) for y in (*x.args, *ops) if isinstance(y, Pattern)]
    return frozenset(inside - outside)


def _with_own(term: Term, own: frozenset[PatternVariable]) -> Term:
    """Return a term with the own variables of each block of an op variable."""
    if isinstance(term, PatternNode):
        return PatternNode(term.op, tuple(_with_own(x, own) for x in term.args))
    if isinstance(term, Block) and isinstance(term.op, PatternVariable):
        return Block(term.op, term.element, tuple(v for v in variables(term.element) if v in own))
    return term


@dataclass(frozen=True)
class Sample(Clause):
    """A clause of particular ops and numbers of operands, and the clause that it is one of."""

    origin: Clause = field(kw_only=True, compare=False)


def samples_of(clause: Clause) -> list[Clause]:
    """Return samples of a clause; one without op variables and sequences is its only sample."""
    terms = subterms(clause.left, clause.right)
    ops = op_variables(clause.left, clause.right)
    rests = list(dict.fromkeys(x.variable for x in terms if isinstance(x, Rest)))
    if not ops and not rests:
        return [clause]
    of_ops = list(product(*[f.kind.samples for f in ops if f.kind is not None]))
    free = [i for i, k in enumerate(rests) if not all(takes_key(x.op) for x in _taking(k, terms))]

    def uneven(sequences: Sequence[tuple[Term, ...]]) -> int:
        lengths = [len(sequences[i]) for i in free]
        return max(lengths, default=0) - min(lengths, default=0)

    of_rests = sorted(product(*[_sequences_for(k, terms) for k in rests]), key=uneven)
    images: list[dict[PatternVariable, Any]] = []
    for number, chosen in enumerate(of_ops):
        every = [dict(zip((*ops, *rests), (*chosen, *x), strict=True)) for x in of_rests]
        fitting = [x for x in every if all(_fits(term, x) for term in terms)]
        images += fitting[: 1 if number else LENGTHS]
    numbers = [_Sampler(clause, image, number=True) for image in images]
    numbers = [x for x in numbers if x.number is not None][:1]
    samples = [x.sample() for x in (*[_Sampler(clause, image) for image in images], *numbers)]
    return [x for x in samples if x is not None]


def _fits(term: Term, image: dict[PatternVariable, Any]) -> bool:
    """Return True if the op that a term applies takes as many operands as it has."""
    if not isinstance(term, PatternNode):
        return True
    op = image[term.op] if isinstance(term.op, PatternVariable) else traits(term.op)
    given = sum(len(image[x.variable]) if isinstance(x, Rest) else 1 for x in term.args)
    return op.arity in (None, given) or not isinstance(op.arity, int)


def _taking(k: PatternVariable, terms: Sequence[Term]) -> list[PatternNode]:
    """Return the applications that have a sequence among their operands."""
    return [x for x in terms if isinstance(x, PatternNode) and Rest(k) in x.args]


def _sequences_for(k: PatternVariable, terms: Sequence[Term]) -> list[tuple[Term, ...]]:
    """Return the sequences to try: one operand, two and none; a size where these are sizes."""
    nodes = _taking(k, terms)
    first, second = PatternVariable(f"{k.name}1"), PatternVariable(f"{k.name}2")
    if all(takes_key(x.op) for x in nodes):
        return [(), (first,)]
    if all(traits(x.op).takes_shape for x in nodes):
        axis, of = PatternVariable("axis"), PatternVariable(f"{k.name}_of")
        return [(PatternNode(OpPattern(Dim, (axis,)), (of,)),), ()]
    return [(first,), (first, second), ()]


class _Sampler:
    """Makes one sample: with ops and sequences for variables, and a number as an operand or not."""

    def __init__(
        self, clause: Clause, image: dict[PatternVariable, Any], number: bool = False
    ) -> None:
        self.clause = clause
        self.image = image
        blocks = [
            x
            for side in (clause.left, clause.right)
            for x in subterms(side)
            if isinstance(x, Block) and isinstance(x.op, PatternVariable)
        ]
        self.own = list(dict.fromkeys(v for x in blocks for v in x.own))
        self.arity = max([image[f].arity or 2 for f in op_variables(*blocks)], default=0)
        number = number and any(map(numbers_stay, blocks)) and self.arity > len(self.own) == 1
        self.copies = [
            {v: PatternVariable(f"{v.name}{i + 1}" if self.arity > 1 else v.name) for v in self.own}
            for i in range(self.arity)
        ]
        self.number = self.copies[-1][self.own[0]] if number else None

    def sample(self) -> Clause | None:
        """Return the sample; None if a condition on its ops alone does not hold."""
        left, right = self.term(self.clause.left, {}), self.term(self.clause.right, {})
        conditions = tuple(c for one in self.clause.conditions for c in self.conditions(one))
        if not all(c.args or c.function() for c in conditions):
            return None
        conditions = tuple(c for c in conditions if c.args)
        if self.number is not None:
            conditions += (Suspended("check", (self.number,), "a number", is_number),)
        return Sample(left, right, conditions, origin=self.clause)

    def term(self, term: Term, copy: dict[PatternVariable, PatternVariable]) -> Any:
        """Return a term with everything replaced, and own variables by those of one operand."""
        if isinstance(term, PatternVariable):
            return copy.get(term, self.image.get(term, term))
        if isinstance(term, Block) and isinstance(term.op, PatternVariable):
            return self.image[term.op](*self.operands(term))
        if not isinstance(term, PatternNode):
            return term
        op: Any = term.op
        if isinstance(op, PatternVariable):
            op = self.image[op]
        elif isinstance(op, OpPattern):
            op = OpPattern(op.cls, tuple(self.term(p, copy) for p in op.params))
        args: list[Any] = []
        for x in term.args:
            args += self.image[x.variable] if isinstance(x, Rest) else [self.term(x, copy)]
        return PatternNode(op, tuple(args))

    def operands(self, block: Block) -> Iterator[Any]:
        """Yield the operands of a block."""
        for copy in self.copies:
            stays = self.number is not None and self.number in copy.values()
            yield self.number if stays else self.term(block.element, copy)

    def conditions(self, condition: Suspended) -> Iterator[Suspended]:
        """Yield a condition for each operand that it is asked of; none for a kind."""
        if is_kind(condition):
            return
        asked = {v for x in condition.args for v in variables(x)}
        of_operands = bool(asked & set(self.own))
        for copy in self.copies if of_operands else [{}]:
            args = [self.term(x, copy) for x in condition.args]
            if not (condition.computes and isinstance(args[0], tuple)):
                yield _asked(condition, args, condition.function)
                continue
            for i, out in enumerate(args[0]):
                yield _asked(condition, [out, *args[1:]], nth(condition.function, i))


def _asked(condition: Suspended, args: Sequence[Any], function: Any) -> Suspended:
    """Return a condition with ops and sequences of operands for some of its arguments."""
    plain = [x for x in args if not isinstance(x, tuple | Op)]
    if len(plain) < len(args):
        function = _Regrouped(function, args, int(condition.computes))
        plain += [y for x in args if isinstance(x, tuple) for y in x]
    return Suspended(condition.kind, tuple(plain), condition.label, function)


class _Regrouped:
    """The function of a condition, with ops and sequences of operands for some arguments."""

    def __init__(self, function: Any, args: Sequence[Any], skipped: int) -> None:
        self.function = function
        self.of_type = getattr(function, "of_type", False)
        self.args = list(args)[skipped:]

    def __call__(self, *values: Any) -> Any:
        plain = sum(not isinstance(x, tuple | Op) for x in self.args)
        single, rest = iter(values[:plain]), iter(values[plain:])
        given: list[Any] = []
        for x in self.args:
            if isinstance(x, tuple):
                given.append(tuple([next(rest) for _ in x]))
            else:
                given.append(x if isinstance(x, Op) else next(single))
        return self.function(*given)
