"""Definedness: the facts without which a side of a relation cannot be computed.

``inv(A)`` runs only if ``A`` is invertible.  So a relation that holds for invertible ``A`` needs no
proof of that in the direction that matches ``inv(A)``; the other direction needs one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from relgraph.ir.facts import is_fact, proved
from relgraph.ir.op import Op
from relgraph.relations.kanren.goals import Suspended, facto
from relgraph.relations.pattern import PatternNode, Term, same_term, subterms


def required(term: Term) -> list[tuple[Term, str]]:
    """Return terms, each with a fact that holds for it wherever the pattern can be computed."""
    facts: list[tuple[Term, str]] = []
    stack: list[tuple[Term, str]] = [(x, "") for x in subterms(term)]
    while stack:
        x, fact = stack.pop()
        if fact:
            facts.append((x, fact))
        if isinstance(x, PatternNode) and isinstance(x.op, Op):
            demanded = x.op.demands(fact)
            stack.extend((y, f) for y, f in zip(x.args, demanded, strict=False) if f)
    return facts


def unproved(conditions: Iterable[Suspended], *sides: Term) -> tuple[Suspended, ...]:
    """Return the conditions that remain to be proved where some sides are defined.

    A condition is left out if it follows, and weakened if it follows from less: a matrix that is
    inverted is positive definite if it is semidefinite.
    """
    facts = [pair for side in sides for pair in required(side)]
    left = [_weakened(c, facts) for c in conditions]
    return tuple([c for c in left if c is not None])


def _weakened(condition: Suspended, facts: list[tuple[Term, str]]) -> Suspended | None:
    """Return what is left to prove of a condition where facts of terms are given."""
    needed = fact_asked(condition)
    if needed is None:
        return condition
    x = condition.args[0]
    given = proved(*(name for term, name in facts if same_term(x, term)))
    if given.holds(needed):
        return None
    for less in WEAKER.get(needed, ()):
        if (given | proved(less)).holds(needed):
            return facto(x, less)
    return condition


# Facts that imply a fact together with what else is known.
WEAKER = {"spd": ("psd",)}


def fact_asked(condition: Suspended) -> str | None:
    """Return the fact that a condition needs of its argument, or None for other conditions."""
    if condition.kind == "check" and isinstance(condition.function, partial):
        name = condition.function.args[0]
        return name if is_fact(name) else None
    return None
