"""The elementwise ops by name, one for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relgraph.ops.elementwise.op import TABLE, Elementwise

OPS = {name: Elementwise(name) for name in TABLE}
globals().update(OPS)

if TYPE_CHECKING:
    __getattr__: Any  # the names of the rows are not written a second time
