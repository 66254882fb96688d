"""The elementary functions, and how far each may be from the exact result.

A bound is in units in the last place of the exact result, rounded to the format, and a little above
the largest error that ``benchmarks/ulp.py`` finds: over all numbers of float32, or every third, and
over a hundred million of float64 (``benchmarks/elementary_errors.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from relgraph.backends.numba.elementary import (
    circular,
    errors,
    exponentials,
    hyperbolic,
    logarithms,
    powers,
)
from relgraph.backends.numba.elementary.values import Formula


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


TABLE: dict[str, Elementary] = {
    "exp": Elementary(exponentials.exp, 1.1, 1.1),
    "exp2": Elementary(exponentials.exp2, 1.1, 1.1),
    "expm1": Elementary(exponentials.expm1, 2.0, 2.2),
    "log": Elementary(logarithms.log, 1.0, 1.0),
    "log2": Elementary(logarithms.log2, 1.3, 1.3),
    "log10": Elementary(logarithms.log10, 1.3, 1.3),
    "log1p": Elementary(logarithms.log1p, 1.5, 1.5),
    "softplus": Elementary(logarithms.softplus, 2.2, 2.2),
    "logaddexp": Elementary(
        logarithms.logaddexp, 3.2, 3.2, 2, "of the largest of the operands and the result"
    ),
    "log1mexp": Elementary(logarithms.log1mexp, 2.2, 2.2),
    "tanh": Elementary(hyperbolic.tanh, 1.6, 1.6),
    "sigmoid": Elementary(hyperbolic.sigmoid, 2.5, 2.5),
    "erf": Elementary(errors.erf, 1.2, 1.3),
    "erfc": Elementary(errors.erfc, 3.0, 2.9),
    "sin": Elementary(circular.sin, 2.2, 2.4),
    "cos": Elementary(circular.cos, 2.2, 2.5),
    "tan": Elementary(circular.tan, 4.0, 4.0),
    "power": Elementary(powers.power, 1.0, 1.5, 2),
    "cbrt": Elementary(powers.cbrt, 0.6, 0.6),
}
