"""The elementary functions, and how far each may be from the exact result.

A bound is in units in the last place of the exact result, rounded to the format, and a little above
the largest error that ``benchmarks/ulp.py`` finds: over all numbers of float32, or every third, and
over a hundred million of float64 (``benchmarks/elementary_errors.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from relgraph.backends.numba.elementary.values import Formula
from relgraph.ops.elementwise import ROWS


@dataclass(frozen=True)
class Elementary:
    """An elementary function.

    Parameters
    ----------
    formula : callable
        What it computes, on values of machine code.
    float32, float64 : float
        The bounds of its error, in units in the last place.
    arity : int
        The number of its operands.
    note : str
        What the bound refers to, where it is not the exact result.
    """

    formula: Formula
    float32: float
    float64: float
    arity: int = 1
    note: str = ""


def _formula(path: str) -> Formula:
    """Return the formula that a row names: its module here, and its own name."""
    module, _, name = path.partition(".")
    formula: Formula = getattr(import_module(f"{__package__}.{module}"), name)
    return formula


TABLE: dict[str, Elementary] = {
    name: Elementary(
        _formula(row.elementary.formula),
        row.elementary.ulps.float32,
        row.elementary.ulps.float64,
        row.arity,
        row.elementary.ulps.note,
    )
    for name, row in ROWS.items()
    if row.elementary is not None
}
