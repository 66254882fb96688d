"""The source of a kernel that updates the elements of an array at indices from another array.

Indices may repeat, so the elements are updated in order.  The values are computed beforehand, in
vectorised blocks that stay in the cache.
"""

from __future__ import annotations

from relgraph.backends.numba.fold_source import BLOCK, Array
from relgraph.backends.numba.kernel_source import KernelText
from relgraph.lowering.targets import Target


class UpdateText(KernelText):
    """The text of a kernel that updates the elements at some indices.

    Its outermost loop, which threads share, has one iteration.
    """

    @property
    def _target_at(self) -> Target:
        (target,) = self.structure.targets
        assert target is not None
        return target

    @property
    def _along(self) -> list[int]:
        """The groups of the axes after the first one of the updated array."""
        place = self._target_at.places
        assert place is not None
        spans = self.structure.arrays[place][1]
        return [g for g in range(1, self.count) if not spans[g]]

    def _result(self, i: int) -> Array:
        spans = tuple(g == 0 or g in self._along for g in range(self.count))  # 0 for the indices
        return Array(f"o{i}", self.structure.rows[self.structure.stored[i]].dtype, spans)

    def element(self, array: Array) -> str:
        """Return the current element of an array."""
        if array not in self.stored:
            return super().element(array)
        indices = [f"v{self._target_at.places}", *map(self.index, self._along)]
        return f"{array.name}[{', '.join(indices)}]"

    def _scattered(self) -> list[int]:
        return super()._scattered() if self.count - 1 in self._along else []

    def _innermost(self, low: str, high: str) -> None:
        if self.count - 1 in self._along:
            super()._innermost(low, high)
            return
        place = self._target_at.places
        assert place is not None
        dtype = self.stored[0].dtype
        self.line(f"s = scratch({dtype}, {BLOCK})")
        self.open(f"for k in range({low}, {high}, {BLOCK}):")
        self.open(f"for i in range(k, min(k + {BLOCK}, {high})):")
        self._statements()
        self.depth -= 1
        self.open(f"for i in in_order(k, min(k + {BLOCK}, {high})):")
        self.line(f"v{place} = {self.element(self.arrays[place])}")
        super()._write(0, "s[i - k]")
        self.depth -= 2

    def _write(self, i: int, value: str) -> None:
        if self.count - 1 in self._along:
            super()._write(i, value)
        else:
            self.line(f"s[i - k] = {value}")


__all__ = ["UpdateText"]
