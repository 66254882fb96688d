"""Elementwise ops: everything known of one stands in its row.

A new op is one row in ``arithmetic``, ``comparison``, ``transcendental`` or ``special``.  The op
itself, ``relgraph.ops.elementwise.<name>``, is made from it.
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
    positive,
    raise_to,
    round,
)
from relgraph.ops.elementwise.instances import OPS
from relgraph.ops.elementwise.op import TABLE, Elementwise
from relgraph.ops.elementwise.row import Row

__all__ = [
    "OPS",
    "TABLE",
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
    "positive",
    "raise_to",
    "round",
]

# A row that is not public has a function of the same name, which takes more than the op.
globals().update({name: op for name, op in OPS.items() if op.row.public})

if TYPE_CHECKING:
    __getattr__: Any  # the names of the rows are not written a second time
