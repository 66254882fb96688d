"""The elementwise ops, one for each row, under their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relgraph.ops.elementwise.op import ROWS, Elementwise

globals().update({name: Elementwise(name) for name in ROWS})

if TYPE_CHECKING:
    __getattr__: Any  # the names of the rows are not written a second time
