"""What a side of a relation cannot be computed without.

``inv(A)`` runs only where ``A`` is invertible.  So a relation that holds for invertible ``A`` needs
no proof of that in the direction in which it matches ``inv(A)``, and needs one in the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from relgraph.ir.facts import BIT, proved
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.pattern import OpPattern, PatternNode, Term, same_term, subterms


def required(term: Term) -> list[tuple[Term, str]]:
    """Return terms and facts that hold of them wherever a pattern can be computed."""
    found: list[tuple[Term, str]] = []
    stack: list[tuple[Term, str]] = [(x, "") for x in subterms(term)]
    while stack:
        x, fact = stack.pop()
        if fact:
            found.append((x, fact))
        if isinstance(x, PatternNode) and not isinstance(x.op, OpPattern):
            demanded = x.op.demands(fact)
            stack.extend((y, f) for y, f in zip(x.args, demanded, strict=False) if f)
    return found


def unproved(conditions: Iterable[Suspended], *sides: Term) -> tuple[Suspended, ...]:
    """Return the conditions that do not follow from the fact that some sides can be computed.

    Parameters
    ----------
    conditions : iterable of Suspended
        Of a clause.
    *sides : term
        The sides that are given, as patterns.
    """
    known = [pair for side in sides for pair in required(side)]
    return tuple([c for c in conditions if not _follows(c, known)])


def _follows(condition: Suspended, known: list[tuple[Term, str]]) -> bool:
    asked = fact_asked(condition)
    return asked is not None and any(
        same_term(condition.args[0], term) and proved(name).true & BIT[asked]
        for term, name in known
    )


def fact_asked(condition: Suspended) -> str | None:
    """Return the fact that a condition asks of its argument, or None for another condition."""
    if condition.kind == "check" and isinstance(condition.function, partial):
        name = condition.function.args[0]
        return name if name in BIT else None
    return None
