"""The elementary functions and their error bounds, and functions that equal NumPy's.

A bound is in ULPs of the exact result.  It is slightly above the largest error that
``benchmarks/ulp.py`` finds over all numbers of float32, or every third, and over a hundred million
numbers of float64 (``benchmarks/elementary_errors.py``).
"""

from __future__ import annotations

from importlib import import_module

from relgraph.backends.numba.elementary.values import Formula
from relgraph.ir.records import record
from relgraph.ops.elementwise import ROWS


@record
class Elementary:
    """An elementary function.

    ``float32`` and ``float64`` are its error bounds in ULPs.
    """

    formula: Formula
    float32: float
    float64: float
    arity: int = 1


def formula_at(path: str) -> Formula:
    """Return the formula at a path of the form ``module.function``."""
    module, _, name = path.partition(".")
    formula: Formula = getattr(import_module(f"{__package__}.{module}"), name)
    return formula


TABLE: dict[str, Elementary] = {
    name: Elementary(
        formula_at(row.elementary.formula),
        row.elementary.ulps.float32,
        row.elementary.ulps.float64,
        row.arity,
    )
    for name, row in ROWS.items()
    if row.elementary is not None
}

# Functions of two operands that vectorise as formulas, and equal NumPy's to the last bit.
EQUAL: dict[str, Formula] = {
    name: formula_at(f"divisions.{name}") for name in ("remainder", "floor_divide")
}
