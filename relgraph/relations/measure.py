"""A measure that every shipped rewrite makes smaller, so that no mode can run for ever.

Each op is read as a linear function of the weights of its operands, with coefficients of at least
1: ``weight(f(x, y)) = w + a x + b y``.  Inputs weigh 1, constants nothing.  Such a reading is
strictly monotone and blind to bracketing and order, so rewrites that make it smaller wherever they
apply end, also modulo associativity and commutativity.

References
----------
F. Baader and T. Nipkow, Term Rewriting and All That, Cambridge University Press, 1998, section 5.3
(the interpretation method).
"""

from __future__ import annotations

from collections import Counter

from relgraph.ir.op import Op
from relgraph.relations.clause import Rewrite
from relgraph.relations.pattern import Block, OpPattern, PatternNode, PatternVariable, Term

# Weights of ops by name, 1 for all others.
WEIGHTS = {
    "add": 3, "subtract": 3, "multiply": 2, "true_divide": 4, "power": 20, "sqrt": 3,
    "reciprocal": 2, "exp": 2, "exp2": 2, "expm1": 2, "matmul": 13, "inv": 10, "solve": 10,
    "solve{assume='spd'}": 9, "solve_triangular": 8, "transpose": 2, "diag": 2, "sum": 4,
    "prod": 4, "mean": 4, "max": 4, "min": 4, "any": 4, "all": 4, "logsumexp": 4,
}  # fmt: skip

# Coefficients of the operands, 1 for all others: what an op has to do for each part of an operand
# it does several times over.
COEFFICIENTS = {
    "matmul": 2, "solve": 2, "solve{assume='spd'}": 2, "solve_triangular": 2, "sum": 2, "prod": 2,
    "mean": 2, "max": 2, "min": 2, "any": 2, "all": 2, "log": 3, "log1p": 3,
}  # fmt: skip


def weight(term: Term) -> tuple[int, Counter[PatternVariable]]:
    """Return the weight of a pattern: a number, and how often each variable's weight counts."""
    if isinstance(term, PatternVariable):
        return 0, Counter({term: 1})
    if isinstance(term, Block):  # two instances of the element; more only differ by more
        total, counts = weight(term.element)
        own = term.own[0]
        doubled = Counter({v: 2 * n if v != own else n for v, n in counts.items()})
        return 2 * total + _of(WEIGHTS, term.op, 1), doubled
    if not isinstance(term, PatternNode):
        return 0, Counter()
    total, counts = _of(WEIGHTS, term.op, 1), Counter[PatternVariable]()
    factor = _of(COEFFICIENTS, term.op, 1)
    for argument in term.args:
        inner, own_counts = weight(argument)
        total += factor * inner
        for v, n in own_counts.items():
            counts[v] += factor * n
    return total, counts


def _of(table: dict[str, int], op: Op | OpPattern, default: int) -> int:
    if isinstance(op, OpPattern):
        return table.get(op.cls.name, default)
    return table.get(repr(op), table.get(op.name, default))


def decreases(rewrite: Rewrite) -> bool:
    """Tell whether a rewrite makes the measure smaller wherever it applies.

    A computed operand, which the pattern does not bind, is taken to be a constant.  A result of
    lower rank that has to be broadcast to the shape of what it replaces is not counted.
    """
    before, counts = weight(rewrite.pattern)
    after, result = weight(rewrite.result)
    return before > after and all(n <= counts[v] for v, n in result.items() if v in counts)
