"""Enumeration: miniKanren is its own partial evaluator.

A relation called with both ends free answers with its own clauses.  An open tail is a sequence of
any length, a residual is a guard, and a suspended :func:`mapo` over open tails is a block.  If the
answers exceed the bounds, or hold under miniKanren's own constraints, miniKanren runs the goal.
"""

from __future__ import annotations

from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import Any

from cons.core import ConsPair
from etuples.core import ExpressionTuple
from unification import isvar, reify, var

from relgraph.errors import RelationError, RelgraphError
from relgraph.ir.op import Op
from relgraph.relations.clause import Clause, is_ac
from relgraph.relations.declaration import check_depth
from relgraph.relations.kanren.goals import Suspended, drop_residuals, residuals
from relgraph.relations.kanren.search import (
    OutOfSteps,
    Steps,
    constrained,
    failed,
    search,
    substitution,
)
from relgraph.relations.op_variables import with_op_variables
from relgraph.relations.pattern import (
    Block,
    Pattern,
    PatternNode,
    PatternVariable,
    Term,
    from_term,
    subterms,
    to_term,
)

MOST = 64  # clauses a relation may have
STEPS = 20_000  # unifications that enumerating it may take


class _NoClause(Exception):
    """An answer that cannot be compiled as a clause."""


def enumerate_clauses(
    goal: Callable[[Any, Any], Any], name: str, location: str
) -> tuple[Clause, ...] | None:
    """Return the clauses of a goal constructor, or None if they do not end.

    Raises
    ------
    RelationError
        If a side occurs in itself, so that its graph would be infinite, if there is no answer, or
        if the goal raises an error.
    """
    left, right = var(), var()
    try:
        states = _answers(lambda: goal(left, right))
    except (OutOfSteps, RecursionError):
        return None
    except NameError as error:  # a goal that recurses names itself before it is declared
        if error.name != name:
            raise failed(name, error, {"declared": location}) from error
        return None
    except Exception as error:
        raise failed(name, error, {"declared": location}) from error
    if states is None:
        return None
    clauses = []
    for final in states:
        data = drop_residuals(final)
        if _occurs(data):
            raise RelationError(
                f"{name}: a term would contain itself (occurs check)",
                {"declared": location},
                "Some variable is equated with a term that holds it.",
            )
        try:
            clause = _clause(left, right, data, residuals(final))
            clauses.append(with_op_variables(clause, name, location))
        except (_NoClause, RelgraphError, OutOfSteps, RecursionError):
            return None
    for clause in clauses:
        check_depth(clause, name, location)
    if not clauses:
        raise RelationError(
            f"{name} relates nothing: its goal has no answer",
            {"declared": location},
            "Check the terms given to rg.eq: two of them cannot be equal.",
        )
    return tuple(clauses)


def _answers(goal: Callable[[], Any]) -> list[dict[Any, Any]] | None:
    """Return all answers of a goal, or None if they exceed the bounds or have constraints."""
    states = list(islice(search(goal, Steps(STEPS)), MOST + 1))
    if len(states) > MOST or any(map(constrained, states)):
        return None
    return [substitution(s) for s in states]


def _occurs(state: dict[Any, Any]) -> bool:
    """Return True if a substitution binds a variable, through others, to a term that holds it."""
    try:
        TopologicalSorter({v: _variables(term) for v, term in state.items()}).prepare()
    except CycleError:
        return True
    return False


def _variables(term: Any) -> list[Any]:
    """Return the logic variables of a term, as often as they occur."""
    stack, found = [term], []
    while stack:
        x = stack.pop()
        if isvar(x):
            found.append(x)
        elif isinstance(x, ExpressionTuple | tuple | list):
            stack.extend(x)
        elif type(x) is ConsPair:
            stack.extend((x.car, x.cdr))
        elif isinstance(x, PatternVariable):
            found.append(x.token)
        elif isinstance(x, PatternNode):
            stack.extend(x.args)
    return found


def _clause(left: Any, right: Any, state: Any, waiting: tuple[Suspended, ...]) -> Clause:
    """Return one answer as a clause."""
    names: dict[Any, PatternVariable] = {}
    tails = _Tails(state, waiting, names)
    sides = [tails.side(reify(x, state)) for x in (left, right)]
    conditions = []
    for goal in waiting:
        if goal.kind in ("check", "calc"):
            args = tuple(tails.side(_reified(x, state)) for x in goal.args)
            conditions.append(Suspended(goal.kind, args, goal.label, goal.function))
    return Clause(sides[0], sides[1], tuple(conditions))


def _reified(x: Any, state: Any) -> Any:
    return reify(to_term(x) if isinstance(x, Pattern) else x, state)


class _Tails:
    """The open tails of one answer, and what its suspended goals state about them.

    Each tail that is mapped over belongs to a block: ``element`` of the tail's sequence is a term
    in one variable of its own.
    """

    def __init__(
        self, state: Any, waiting: tuple[Suspended, ...], names: dict[Any, PatternVariable]
    ) -> None:
        self.names = names
        self.elements: dict[Any, tuple[Term, PatternVariable]] = {}
        self.same: dict[Any, Any] = {}
        for goal in waiting:
            if goal.kind == "flatten":
                term, flat = (_reified(x, state) for x in goal.args)
                if not (type(term) is ConsPair and type(flat) is ConsPair):
                    raise _NoClause
                if isvar(term.cdr) and isvar(flat.cdr):
                    self.same[term.cdr] = flat.cdr
        for goal in waiting:
            if goal.kind == "map":
                self._mapped(goal, state)

    def _mapped(self, goal: Suspended, state: Any) -> None:
        xs, ys = (_reified(x, state) for x in goal.args)
        if not (isvar(xs) and isvar(ys)):
            raise _NoClause
        x, y = var(), var()
        answers = _answers(lambda: goal.function(x, y))
        if answers is None or len(answers) != 1:
            raise _NoClause
        (final,) = answers
        merged = {**state, **drop_residuals(final)}
        terms = [from_term(reify(v, merged), self.names) for v in (x, y)]
        own = [t for t in terms if isinstance(t, PatternVariable)]
        if not own:
            raise _NoClause
        self.elements[xs] = (terms[0], own[0])
        self.elements[ys] = (terms[1], own[0])

    def side(self, term: Any) -> Term:
        """Return one side as a pattern, with blocks for its open tails."""
        if type(term) is ConsPair:
            op, tail = term.car, self.same.get(term.cdr, term.cdr)
            applies = isvar(op) or (isinstance(op, Op) and is_ac(op))
            if not (applies and tail in self.elements):
                raise _NoClause
            element, own = self.elements[tail]
            return Block(from_term(op, self.names) if isvar(op) else op, element, (own,))
        if isinstance(term, ExpressionTuple):
            if any(type(x) is ConsPair for x in term):
                head, *rest = term
                if not isinstance(head, Op):
                    raise _NoClause
                return PatternNode(head, tuple(self.side(x) for x in rest))
            pattern = from_term(term, self.names)
            if not any(isinstance(x, PatternNode) for x in subterms(pattern)):
                raise _NoClause
            return pattern
        return from_term(term, self.names)
