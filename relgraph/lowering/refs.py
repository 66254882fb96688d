"""References: where an operand of a kernel's statement comes from, and its packed constants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.ir.node import Constant, Variable


@dataclass(frozen=True, slots=True)
class Ref:
    """Where an operand of a statement comes from.

    Attributes
    ----------
    kind : str
        "array" (an operand of the kernel), "slot" (an entry of its packed constants), "literal"
        (a number in its source) or "row" (an earlier statement); in a kernel of several passes
        also "fold" (a reduction of an earlier pass) or "kept" (an element of a result that an
        earlier pass wrote), and in one with products "product" (an element of X @ b).  The first
        operand of a gather is a "table".
    index : int
        Which one of that kind; slots are counted for each dtype.
    dtype : str
        The dtype of the value.
    value : object
        The number of a literal.
    """

    kind: str
    index: int
    dtype: str
    value: Any = None


class Slots:
    """The packed constants of a kernel.

    Parameters
    ----------
    shared : bool
        Whether all uses of a constant have one slot.
    """

    def __init__(self, shared: bool = True) -> None:
        self.shared = shared
        self._packed: dict[str, list[Constant]] = {}
        self._known: dict[Constant, Ref] = {}

    def ref(self, x: Constant, literal: bool) -> Ref:
        """Return the reference to a scalar constant: its slot, or its number as a literal."""
        dtype = dtype_name(x)
        if literal:
            return Ref("literal", 0, dtype, x.uniform.item())
        if self.shared and x in self._known:
            return self._known[x]
        values = self._packed.setdefault(dtype, [])
        self._known[x] = Ref("slot", len(values), dtype)
        values.append(x)
        return self._known[x]

    def packed(self) -> dict[str, tuple[Constant, ...]]:
        """Return the constants of each dtype, in the order of their slots."""
        return {dtype: tuple(values) for dtype, values in sorted(self._packed.items())}


@lru_cache(maxsize=256)
def _name(dtype: np.dtype[Any]) -> str:
    return dtype.name


def dtype_name(node: Variable) -> str:
    """Return the name of a value's dtype; NumPy takes microseconds to spell it."""
    return _name(node.type.dtype)


__all__ = ["Ref", "Slots", "dtype_name"]
