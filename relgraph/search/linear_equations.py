"""Linear equations whose coefficients are polynomials of words in scalars, solved exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relgraph.search.polynomials import ONE, Polynomial, add_to
from relgraph.search.words import Words

Row = dict[int, Polynomial]  # by the number of the unknown; the right side comes last


def solve(
    columns: Sequence[Mapping[Any, Polynomial]],
    right: Mapping[Any, Polynomial],
    words: Words,
) -> list[Polynomial] | None:
    """Return a solution of a system, or None if there is none or the elimination does not reach it.

    The elimination divides equations by monomials only, whose reciprocals are polynomials again;
    the last equation may be divided by a sum.  Undetermined unknowns are zero, later ones first.

    Parameters
    ----------
    columns : sequence of mapping
        The coefficients of each unknown, by equation.
    right : mapping
        The right sides, by equation.
    words : Words
        The arithmetic.
    """
    rows: dict[Any, Row] = {}
    last = len(columns)
    for j, column in enumerate([*columns, right]):
        for key, value in column.items():
            if value:
                rows.setdefault(key, {})[j] = value
    equations = list(rows.values())
    pivots: dict[int, Row] = {}
    for j in range(last):
        row = min(
            [r for r in equations if len(r.get(j, ())) == 1], key=len, default=None
        )  # the shortest equation fills in least
        if row is not None:
            pivots[j] = _eliminated(equations, pivots, j, row, words)
    for row in list(equations):
        unknowns = [j for j in row if j != last]
        if unknowns and unknowns[0] not in pivots and len(equations) == 1:
            pivots[unknowns[0]] = _eliminated(equations, pivots, unknowns[0], row, words)
        else:
            return None
    return [pivots[j].get(last, {}) if j in pivots else {} for j in range(last)]


def _eliminated(
    equations: list[Row], pivots: dict[int, Row], j: int, row: Row, words: Words
) -> Row:
    """Divide an equation by the coefficient of an unknown, eliminate that elsewhere; return it."""
    equations[:] = [r for r in equations if r is not row]
    reciprocal = words.power(row[j], -1)
    row = {k: words.times(v, reciprocal) for k, v in row.items()} | {j: ONE}
    for other in [*equations, *pivots.values()]:
        factor = other.get(j)
        if factor is None:
            continue
        for k, value in row.items():
            total = dict(other.get(k, {}))
            add_to(total, words.times(value, factor), -1)
            if total:
                other[k] = total
            else:
                other.pop(k, None)
    equations[:] = [r for r in equations if r]
    return row
