"""Termination order: every shipped rewrite decreases a measure, so that no mode runs forever.

Each op is read as a linear function of the weights of its operands, with coefficients of at least
1: ``weight(f(x, y)) = w + a x + b y``.  Inputs weigh 1 and constants 0.  Such an interpretation is
strictly monotone and ignores bracketing and order, so rewrites that decrease it wherever they apply
terminate, also modulo associativity and commutativity.  A rewrite that only exchanges two
arrangements of elements keeps it and decreases a second interpretation of the same kind: every
rewrite decreases the pair in lexicographic order.

References
----------
F. Baader and T. Nipkow, Term Rewriting and All That, Cambridge University Press, 1998, sections 5.3
(the interpretation method) and 2.4 (lexicographic products of orders).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from relgraph.ir.op import Measure, Op
from relgraph.relations.clause import Rewrite, traits
from relgraph.relations.pattern import Block, OpPattern, PatternNode, PatternVariable, Term

Reading = Callable[[Op | OpPattern], Measure]


def first(op: Op | OpPattern) -> Measure:
    """Return the weight of an op, and the coefficients of its operands.

    A coefficient says how often an op does again what it does for a part of an operand.  An odd
    function has 2, so that a sign in front of it weighs less.  Of the ops that arrange elements,
    new axes stand outside of broadcasts, then transposes and squeezes; an index moves inward past
    all of them.
    """
    return op.cls.measure if isinstance(op, OpPattern) else op.termination_measure()


def second(op: Op | OpPattern) -> Measure:
    """Return what decides where the first reading does not.

    New axes stand outside of broadcasts, which stand outside of transposes of matrices.  The latter
    leave products, so they weigh no operand twice in the first reading.
    """
    return traits(op).second_measure


def weight(term: Term, reading: Reading = first) -> tuple[int, Counter[PatternVariable]]:
    """Return the weight of a pattern: a number, and how often each variable's weight counts."""
    if isinstance(term, PatternVariable):
        return 0, Counter({term: 1})
    if isinstance(term, Block):  # two instances of the element; more only differ by more
        total, counts = weight(term.element, reading)
        own = term.own[0]
        doubled = Counter({v: 2 * n if v != own else n for v, n in counts.items()})
        return 2 * total + reading(term.op)[0], doubled
    if not isinstance(term, PatternNode):
        return 0, Counter()
    total, factors = reading(term.op)
    counts = Counter[PatternVariable]()
    for i, argument in enumerate(term.args):
        factor = factors[min(i, len(factors) - 1)] if isinstance(factors, tuple) else factors
        inner, own_counts = weight(argument, reading)
        total += factor * inner
        for v, n in own_counts.items():
            counts[v] += factor * n
    return total, counts


def decreases(rewrite: Rewrite) -> bool:
    """Return True if a rewrite decreases the measure wherever it applies.

    A computed operand, which the pattern does not bind, is taken to be a constant.  A result of
    lower rank that has to be broadcast to the shape of what it replaces is not counted.
    """
    lost = _lost(rewrite, first)
    if lost is None or lost > 0:
        return lost is not None
    return (_lost(rewrite, second) or 0) > 0


def _lost(rewrite: Rewrite, reading: Reading) -> int | None:
    """Return a lower bound of the decrease; None if the weight may increase."""
    before, counts = weight(rewrite.pattern, reading)
    after, result = weight(rewrite.result, reading)
    kept = all([n <= counts[v] for v, n in result.items() if v in counts])
    return before - after if kept and before >= after else None
