"""Elementwise ops: each is defined by one row.

A new op is one :class:`Row` in ``arithmetic``, ``comparison``, ``transcendental`` (exponentials,
logarithms, trigonometric and hyperbolic functions) or ``special`` (other functions that only SciPy
has).  :data:`ROWS` holds the rows by name.  Each becomes the op ``Elementwise(name)``, also called
``relgraph.ops.elementwise.<name>`` unless a wrapper of that name accepts more arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.elementwise.functions import (
    cast,
    clip,
    conjugate,
    copy,
    divmod,
    fmax,
    fmin,
    in_dtype,
    positive,
    raise_to,
    round,
)
from relgraph.ops.elementwise.op import ROWS, Elementwise
from relgraph.ops.elementwise.row import Row

__all__ = [
    "ROWS",
    "Cast",
    "Elementwise",
    "Row",
    "cast",
    "clip",
    "conjugate",
    "copy",
    "divmod",
    "fmax",
    "fmin",
    "in_dtype",
    "positive",
    "raise_to",
    "round",
]

# A row that is not public has a wrapper of the same name, which accepts more arguments.
globals().update({name: Elementwise(name) for name, row in ROWS.items() if row.public})

if TYPE_CHECKING:
    __getattr__: Any  # the names of the rows are not written a second time
