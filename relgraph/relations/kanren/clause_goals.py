"""Goals of clauses: an identity, which is given as data, as the goal that miniKanren runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kanren import eq, lall, lany
from unification import isvar
from unification.utils import transitive_get as walk

from relgraph.ir.node import Variable
from relgraph.relations.clause import Clause, numbers_stay
from relgraph.relations.definedness import unproved
from relgraph.relations.kanren.goals import Suspended, joino, mapo
from relgraph.relations.pattern import (
    Block,
    PatternNode,
    PatternVariable,
    Rest,
    Term,
    rename,
    subterms,
    to_term,
    variables,
)


def goal_of(clause: Clause, *others: Clause) -> Callable[[Any, Any], Any]:
    """Return the goal constructor of clauses; each of its goals has variables of its own."""
    if others:
        goals = [goal_of(x) for x in (clause, *others)]
        return lambda left, right: lany(*[goal(left, right) for goal in goals])
    clause, sequences = without_blocks(clause)
    conditions = clause.conditions
    depends_on_side = bool(conditions) and (
        unproved(conditions, clause.left, clause.right) != conditions
    )

    def goal(left: Any, right: Any) -> Any:
        variables: dict[PatternVariable, PatternVariable] = {}

        def fresh(v: PatternVariable) -> PatternVariable:
            return variables.setdefault(v, PatternVariable(v.name))

        def renewed(goals: Iterable[Suspended]) -> list[Any]:
            return [
                Suspended(c.kind, tuple(rename(x, fresh) for x in c.args), c.label, c.function)
                for c in goals
            ]

        first, second = (to_term(rename(side, fresh)) for side in (clause.left, clause.right))
        sides = lall(eq(left, first), eq(right, second), *[x.goal(fresh) for x in sequences])
        if not depends_on_side:
            return lall(sides, *renewed(conditions))

        def without_proved(state: Any) -> Any:
            """Leave out the conditions that follow from the sides that are bound."""
            pairs = ((left, clause.left), (right, clause.right))
            bound = [pattern for side, pattern in pairs if not isvar(walk(side, state))]
            return lall(sides, *renewed(unproved(conditions, *bound)))(state)

        return without_proved

    return goal


Renaming = Callable[[PatternVariable], PatternVariable]


class Joined(NamedTuple):
    """A sequence of operands that consists of sequences and single operands."""

    operands: PatternVariable
    args: tuple[Term, ...]

    def goal(self, fresh: Renaming) -> Any:
        """Return the goal, among variables that ``fresh`` renews."""
        args = [rename(x, fresh) for x in self.args]
        many = [isinstance(x, Rest) for x in args]
        parts = [x.variable if isinstance(x, Rest) else x for x in args]
        return joino(fresh(self.operands), parts, many)


class Mapped(NamedTuple):
    """A sequence of operands, each an instance of an element with own variables."""

    operands: PatternVariable
    owned: PatternVariable  # the sequence of the values of the own variables
    own: tuple[PatternVariable, ...]
    element: Term
    conditions: tuple[Suspended, ...]
    stays: bool  # whether an operand without axes stands for itself

    def goal(self, fresh: Renaming) -> Any:
        """Return the goal, among variables that ``fresh`` renews."""
        return mapo(self._of_one(fresh), *[fresh(x).token for x in (self.operands, self.owned)])

    def _of_one(self, fresh: Renaming) -> Callable[[Any, Any], Any]:
        def related(operand: Any, owned: Any) -> Any:
            mine = {v: PatternVariable(v.name) for v in self.own}

            def image(v: PatternVariable) -> PatternVariable:
                return mine[v] if v in mine else fresh(v)

            conditions = [
                Suspended(c.kind, tuple(rename(x, image) for x in c.args), c.label, c.function)
                for c in self.conditions
            ]
            values = tuple(mine[v].token for v in self.own)
            instance = eq(operand, to_term(rename(self.element, image)))
            if self.stays:
                number = Suspended("check", (owned,), f"number({owned!r})", is_number)
                instance = lany(lall(eq(operand, values[0]), number), instance)
            return lall(eq(owned, values if len(values) > 1 else values[0]), instance, *conditions)

        return related


def without_blocks(clause: Clause) -> tuple[Clause, list[Mapped | Joined]]:
    """Return a clause with ``f(*operands)`` for ``f(x, ...)`` and for sequences inside.

    What relates the operands comes second.
    """
    blocks = [
        x
        for side in (clause.left, clause.right)
        for x in subterms(side)
        if isinstance(x, Block) and isinstance(x.op, PatternVariable)
    ]
    own = tuple(dict.fromkeys(v for x in blocks for v in x.own))
    owned = PatternVariable("owned")
    asked = [(c, {v for x in c.args for v in variables(x)}) for c in clause.conditions]
    each = tuple([c for c, of in asked if of & {*own}])
    mapped: list[Mapped | Joined] = []

    def flat(term: Term) -> Term:
        if isinstance(term, Block) and isinstance(term.op, PatternVariable):
            if (term.element,) == own and not each:
                return PatternNode(term.op, (Rest(owned),))
            operands = PatternVariable("operands")
            stays = numbers_stay(term) and len(own) == 1 and term.element != own[0]
            mapped.append(Mapped(operands, owned, own, term.element, each, stays))
            return PatternNode(term.op, (Rest(operands),))
        if not isinstance(term, PatternNode):
            return term
        args = tuple(map(flat, term.args))
        if any(isinstance(x, Rest) for x in args[:-1]):
            operands = PatternVariable("operands")
            mapped.append(Joined(operands, args))
            args = (Rest(operands),)
        return PatternNode(term.op, args)

    left, right = flat(clause.left), flat(clause.right)
    shared = tuple([c for c in clause.conditions if c not in each])
    return Clause(left, right, shared), mapped


def is_number(x: Any) -> bool:
    """Return True for a number, or a node without axes."""
    return not isinstance(x, Variable) or not x.type.ndim
