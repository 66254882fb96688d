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
from typing import Any

from relgraph.ir.op import Op
from relgraph.ops.elementwise import TABLE
from relgraph.relations.clause import Rewrite
from relgraph.relations.pattern import Block, OpPattern, PatternNode, PatternVariable, Term

# Weights of ops by name, 1 for all others: those of elementwise ops stand in their rows.
WEIGHTS = {name: row.measure[0] for name, row in TABLE.items()} | {
    "matmul": 40, "inv": 14, "solve": 60, "solve{assume='spd'}": 58, "solve_triangular": 56,
    "transpose": 2, "diag": 2, "sum": 4, "prod": 5, "mean": 4, "max": 4, "min": 4, "any": 4,
    "all": 4, "logsumexp": 4, "cumsum": 4, "cumprod": 5, "cummax": 4, "cummin": 4,
    "concatenate": 12, "index": 2, "set_index": 4, "add_index": 5, "multiply_index": 5,
    "min_index": 5, "max_index": 5, "outer": 40, "kron": 100, "block_diag": 100, "eigvalsh": 60,
    "eigh": 20, "svd": 100, "qr": 20, "lu": 20, "lu_factor": 20, "schur": 20, "qz": 20, "expm": 20,
    "solve_sylvester": 40, "cho_solve": 50, "det": 104, "slogdet": 201, "cholesky": 10,
}  # fmt: skip

# Coefficients of the operands, 1 for all others: what an op has to do for each part of an operand
# it does several times over.  An odd function has 2, so that a sign in front of it weighs less.
COEFFICIENTS: dict[str, int | tuple[int, ...]] = {
    name: row.measure[1] for name, row in TABLE.items()
} | {
    "logsumexp": 2, "matmul": 4, "solve": 4, "solve{assume='spd'}": 4, "solve_triangular": 4,
    "sum": 2, "prod": 2, "cumsum": 2, "cumprod": 2, "cummax": 2, "cummin": 2, "mean": 2, "max": 2,
    "min": 2, "any": 2, "all": 2, "index": 4, "inv": 3, "det": 32, "slogdet": 64, "cholesky": 4,
    "trace": 4, "diagonal": 2, "kron": 4, "block_diag": (2, 1), "eigvalsh": 20, "eigh": 12,
    "svd": 40, "qr": 4, "lu": 4, "lu_factor": 4, "schur": 8, "qz": 12, "expm": 8,
    "solve_sylvester": 8, "cho_solve": 4,
}  # fmt: skip

# What arranges elements: (weight, coefficient).  From the outside in stand new axes, broadcasts,
# transposes and squeezes; an index moves inward past all of them.
ARRANGING: dict[str, tuple[int, int | tuple[int, ...]]] = {
    "expand_dims": (2, 1), "broadcast_to": (5, 1), "transpose": (4, 2), "squeeze": (3, 2),
    "reshape": (5, (2, 1)), "stack": (3, 1), "specify_shape": (2, 2), "unique": (8, 2),
    "index": (5, (4, 1)),
}  # fmt: skip
WEIGHTS |= {name: pair[0] for name, pair in ARRANGING.items()}
COEFFICIENTS |= {name: pair[1] for name, pair in ARRANGING.items()}

Tables = tuple[dict[str, int], dict[str, int | tuple[int, ...]]]
FIRST: Tables = (WEIGHTS, COEFFICIENTS)

# It decides where the first reading does not: new axes stand outside of broadcasts, which stand
# outside of transposes of matrices.  The latter leave products, so they weigh no operand twice in
# the first reading.
SECOND: Tables = ({"broadcast_to": 3}, {"broadcast_to": (2, 1), "matrix_transpose": 2})


def weight(term: Term, tables: Tables = FIRST) -> tuple[int, Counter[PatternVariable]]:
    """Return the weight of a pattern: a number, and how often each variable's weight counts."""
    weights, coefficients = tables
    if isinstance(term, PatternVariable):
        return 0, Counter({term: 1})
    if isinstance(term, Block):  # two instances of the element; more only differ by more
        total, counts = weight(term.element, tables)
        term_variable = term.own[0]
        doubled = Counter({v: 2 * n if v != term_variable else n for v, n in counts.items()})
        return 2 * total + _of(weights, term.op), doubled
    if not isinstance(term, PatternNode):
        return 0, Counter()
    total, counts = _of(weights, term.op), Counter[PatternVariable]()
    factors: Any = _of(coefficients, term.op)
    for i, argument in enumerate(term.args):
        factor = factors[min(i, len(factors) - 1)] if isinstance(factors, tuple) else factors
        inner, own_counts = weight(argument, tables)
        total += factor * inner
        for v, n in own_counts.items():
            counts[v] += factor * n
    return total, counts


def _of(table: dict[str, Any], op: Op | OpPattern) -> Any:
    """Return the entry of an op, by its parameters or else its name; 1 without one."""
    if isinstance(op, OpPattern):
        return table.get(op.cls.name, 1)
    return table.get(repr(op), table.get(op.name, 1))


def decreases(rewrite: Rewrite) -> bool:
    """Return True if a rewrite decreases the measure wherever it applies.

    A computed operand, which the pattern does not bind, counts as a constant.  A result of
    lower rank that has to be broadcast to the shape of what it replaces is not counted.
    """
    first = _lost(rewrite, FIRST)
    if first is None or first > 0:
        return first is not None
    return (_lost(rewrite, SECOND) or 0) > 0


def _lost(rewrite: Rewrite, tables: Tables) -> int | None:
    """Return a lower bound of the decrease; None if the weight may increase."""
    before, counts = weight(rewrite.pattern, tables)
    after, result = weight(rewrite.result, tables)
    kept = all([n <= counts[v] for v, n in result.items() if v in counts])
    return before - after if kept and before >= after else None
