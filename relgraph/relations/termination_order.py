"""Termination order: every shipped rewrite decreases a measure, so that no mode runs forever.

Each op is read as a linear function of the weights of its operands, with coefficients of at least
1: ``weight(f(x, y)) = w + a x + b y``.  Inputs weigh 1 and constants 0.  Such an interpretation is
strictly monotone and ignores bracketing and order, so rewrites that decrease it wherever they apply
terminate, also modulo associativity and commutativity.  A rewrite that moves an arrangement of
elements out of a function of one operand keeps it and decreases a second interpretation, and one
that only exchanges two arrangements keeps both and decreases a third: every rewrite decreases the
triple in lexicographic order.

A join also weighs each of its operands, so that one of fewer operands weighs less.

An op variable is read as an op of one operand, which it weighs once: more operands only make the
side that applies something to each of them heavier.  Its own weight may be any, small or large.

References
----------
F. Baader and T. Nipkow, Term Rewriting and All That, Cambridge University Press, 1998, sections 5.3
(the interpretation method) and 2.4 (lexicographic products of orders).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from relgraph.ir.op import Measure, Op
from relgraph.relations.clause import Rewrite, traits
from relgraph.relations.pattern import (
    Block,
    OpPattern,
    PatternNode,
    PatternVariable,
    Rest,
    Term,
    op_variables,
)

HEAVY = 1000  # a weight beyond that of any op
Reading = Callable[[Any], Measure]


def first(op: Op | OpPattern) -> Measure:
    """Return the weight of an op, and the coefficients of its operands.

    A coefficient says how often an op does again what it does for a part of an operand.  An odd
    function has 2, so that a sign in front of it weighs less.  The ops that arrange elements have
    1, so that elementwise functions move past them; an index moves inward past all of them.
    """
    return op.cls.measure if isinstance(op, OpPattern) else op.termination_measure()


def lifted(op: Op | OpPattern) -> Measure:
    """Return what decides where the first reading does not: what stands below elementwise ops.

    They weigh their operands twice, and all other ops once.
    """
    return 1, 1 + traits(op).pointwise


def second(op: Op | OpPattern) -> Measure:
    """Return what decides where the other readings do not.

    New axes stand outside of broadcasts, which stand outside of transposes, and those outside of
    squeezes.  Transposes of matrices leave products, so they weigh no operand twice in the first
    reading.
    """
    return traits(op).second_measure


def weight(
    term: Term, reading: Reading = first, of_variable: int = 1
) -> tuple[int, Counter[PatternVariable]]:
    """Return the weight of a pattern: a number, and how often each variable's weight counts.

    ``of_variable`` is the weight of an op variable.
    """
    if isinstance(term, PatternVariable):
        return 0, Counter({term: 1})
    if isinstance(term, Rest):
        return 0, Counter({term.variable: 1})
    if isinstance(term, PatternNode | Block) and isinstance(term.op, PatternVariable):
        # The first reading is not known; the second is that of all ops of the kind.
        factor = 1 + traits(term.op).pointwise if reading is lifted else 1
        total, counts = of_variable, Counter[PatternVariable]()
        for argument in (term.element,) if isinstance(term, Block) else term.args:
            inner, own_counts = weight(argument, reading, of_variable)
            total += factor * inner
            for v, n in own_counts.items():
                counts[v] += factor * n
        return total, counts
    if isinstance(term, Block):  # two instances of the element; more only differ by more
        total, counts = weight(term.element, reading, of_variable)
        own = term.own[0]
        doubled = Counter({v: 2 * n if v != own else n for v, n in counts.items()})
        return 2 * total + reading(term.op)[0], doubled
    if not isinstance(term, PatternNode):
        return 0, Counter()
    total, factors = reading(term.op)
    if traits(term.op).arity is None and not traits(term.op).rearranges:
        total += sum([not isinstance(x, Rest) for x in term.args])
    counts = Counter[PatternVariable]()
    for i, argument in enumerate(term.args):
        factor = factors[min(i, len(factors) - 1)] if isinstance(factors, tuple) else factors
        inner, own_counts = weight(argument, reading, of_variable)
        total += factor * inner
        for v, n in own_counts.items():
            counts[v] += factor * n
    return total, counts


def decreases(rewrite: Rewrite) -> bool:
    """Return True if a rewrite decreases the measure wherever it applies.

    A computed operand, which the pattern does not bind, counts as a constant.  A result of
    lower rank that has to be broadcast to the shape of what it replaces is not counted.
    """
    variable = op_variables(rewrite.pattern, rewrite.result)
    return all(_decreases(rewrite, w) for w in ((1, HEAVY) if variable else (1,)))


def _decreases(rewrite: Rewrite, of_variable: int) -> bool:
    for reading in (first, lifted, second):
        lost = _lost(rewrite, reading, of_variable)
        if lost is None or lost > 0:
            return lost is not None
    return False


def _lost(rewrite: Rewrite, reading: Reading, of_variable: int) -> int | None:
    """Return a lower bound of the decrease; None if the weight may increase."""
    before, counts = weight(rewrite.pattern, reading, of_variable)
    after, result = weight(rewrite.result, reading, of_variable)
    kept = all([n <= counts[v] for v, n in result.items() if v in counts])
    return before - after if kept and before >= after else None
