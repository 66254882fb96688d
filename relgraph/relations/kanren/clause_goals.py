"""Goals of clauses: an identity, which is given as data, as the goal that miniKanren runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kanren import eq, lall, lany
from unification import isvar
from unification.utils import transitive_get as walk

from relgraph.relations.clause import Clause
from relgraph.relations.definedness import unproved
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.pattern import PatternVariable, rename, to_term


def goal_of(clause: Clause, *others: Clause) -> Callable[[Any, Any], Any]:
    """Return the goal constructor of clauses; each of its goals has variables of its own."""
    if others:
        goals = [goal_of(x) for x in (clause, *others)]
        return lambda left, right: lany(*[goal(left, right) for goal in goals])
    conditions = clause.conditions
    depends_on_side = bool(conditions) and (
        unproved(conditions, clause.left, clause.right) != conditions
    )

    def goal(left: Any, right: Any) -> Any:
        variables: dict[PatternVariable, PatternVariable] = {}

        def fresh(v: PatternVariable) -> PatternVariable:
            return variables.setdefault(v, PatternVariable(v.name))

        def renewed(goals: Iterable[Suspended]) -> list[Suspended]:
            return [
                Suspended(c.kind, tuple(rename(x, fresh) for x in c.args), c.label, c.function)
                for c in goals
            ]

        first, second = (to_term(rename(side, fresh)) for side in (clause.left, clause.right))
        sides = lall(eq(left, first), eq(right, second))
        if not depends_on_side:
            return lall(sides, *renewed(conditions))

        def without_proved(state: Any) -> Any:
            """Leave out the conditions that follow from the sides that are bound."""
            pairs = ((left, clause.left), (right, clause.right))
            bound = [pattern for side, pattern in pairs if not isvar(walk(side, state))]
            return lall(sides, *renewed(unproved(conditions, *bound)))(state)

        return without_proved

    return goal
