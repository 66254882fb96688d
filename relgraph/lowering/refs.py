"""References to the operands of kernel statements, and the packed constants of a kernel."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.ir.node import Constant, Variable
from relgraph.ir.records import record


@record
class Ref:
    """An operand of a statement.

    Attributes
    ----------
    kind
        "array": an operand of the kernel.  "slot": an entry of its packed constants.  "literal": a
        number in its source.  "row": the value of an earlier statement.  "table": the vector that a
        gather reads.  In a kernel of several passes, "fold": a reduction of an earlier pass, and
        "kept": an element of a result that an earlier pass wrote.  In a kernel with products,
        "product": an element of X @ b.
    index
        The number among those of its kind; slots are numbered for each dtype.
    dtype
        The dtype of the value.
    value
        The number of a literal.
    """

    kind: str
    index: int
    dtype: str
    value: Any = None


class Slots:
    """The packed constants of a kernel; if ``shared``, all uses of a constant share one slot."""

    def __init__(self, shared: bool = True) -> None:
        self.shared = shared
        self._packed: dict[str, list[Constant]] = {}
        self._refs: dict[Constant, Ref] = {}

    def ref(self, x: Constant, literal: bool) -> Ref:
        """Return the reference to a scalar constant: its slot, or a literal."""
        dtype = dtype_name(x)
        if literal:
            return Ref("literal", 0, dtype, x.uniform.item())
        if self.shared and x in self._refs:
            return self._refs[x]
        values = self._packed.setdefault(dtype, [])
        self._refs[x] = Ref("slot", len(values), dtype)
        values.append(x)
        return self._refs[x]

    def packed(self) -> dict[str, tuple[Constant, ...]]:
        """Return the constants of each dtype, in the order of their slots."""
        return {dtype: tuple(values) for dtype, values in sorted(self._packed.items())}


@lru_cache(maxsize=256)
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name


def dtype_name(node: Variable) -> str:
    """Return the name of a value's dtype, cached because NumPy takes microseconds to build it."""
    return _name(node.type.dtype)


__all__ = ["Ref", "Slots", "dtype_name"]
