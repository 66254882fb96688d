"""Kernels without reductions: each thread computes 16 bytes of elements at a time."""

from __future__ import annotations

import numpy as np

from relgraph.backends.cuda.primitives import load, store
from relgraph.backends.cuda.source import (
    Text,
    add_operands,
    offset,
    statements,
)
from relgraph.lowering.kernels import Structure

BYTES = 16  # of one load or store of a thread
LINES = 320  # the most statements of all lanes, which numba compiles in half a second


def width(structure: Structure) -> int:
    """Return how many consecutive elements a thread computes together."""
    dtypes = [dtype for dtype, spans in structure.arrays if spans[-1]]
    dtypes += [structure.rows[row].dtype for row in structure.stored]
    widest = max((np.dtype(dtype).itemsize for dtype in dtypes), default=8)
    lanes = min(8, BYTES // widest)
    while lanes > 1 and lanes * len(structure.rows) > LINES:
        lanes //= 2
    return lanes


def is_flat(structure: Structure) -> bool:
    """Return True if each array spans the whole loop or is a single element."""
    return all(all(spans) or not any(spans) for _, spans in structure.arrays)


def elementwise_text(structure: Structure, wide: bool, threads: int) -> Text:
    """Write the kernel of a structure without reductions; ``wide`` allows 2**31 elements or more.

    Its parameters are the number of elements, the number of vectors among them, the sizes of the
    groups, the arrays, the constants and the results.
    """
    return _Elementwise(structure, wide, threads).text


class _Elementwise:
    def __init__(self, structure: Structure, wide: bool, threads: int) -> None:
        self.s = structure
        self.kind = "uint64" if wide else "uint32"
        self.index = "windex" if wide else "uindex"
        self.count = len(structure.reduced)
        self.flat = is_flat(structure)
        self.width = width(structure)
        self.text = text = Text()
        text.parameters = [("n", self.kind), ("vectors", self.kind)]
        text.line(f"p = {self.index}(cuda.blockIdx.x * {threads} + cuda.threadIdx.x)")
        text.line(f"step = {self.index}(cuda.gridDim.x * {threads})")
        add_operands(text, structure, self.kind)
        if self.width > 1:
            self._vectors()
        self._rest()

    def _vectors(self) -> None:
        text, lanes = self.text, self.width
        text.line("i = p")
        text.open("while i < vectors:")
        text.line(f"e = {self.index}(i * {lanes})")
        self._coordinates()
        scattered = set()
        for i, (dtype, spans) in enumerate(self.s.arrays):
            if not any(spans):
                continue
            place = self._offset(spans)
            if spans[-1]:
                scattered.add(i)
                text.names[f"load_{dtype}_{lanes}"] = load(dtype, lanes)
                names = ", ".join(f"v{i}_{k}" for k in range(lanes))
                text.line(f"{names} = load_{dtype}_{lanes}(x{i}, {self.index}({place}))")
            else:
                text.line(f"v{i} = x{i}[{self.index}({place})]")
        for k in range(lanes):
            for i in range(len(self.s.arrays)):
                if i not in scattered:
                    text.line(f"v{i}_{k} = v{i}")
            statements(text, self.s.rows, f"_{k}")
        for i, row in enumerate(self.s.stored):
            dtype = self.s.rows[row].dtype
            text.names[f"store_{dtype}_{lanes}"] = store(dtype, lanes)
            values = ", ".join(f"t{row}_{k}" for k in range(lanes))
            text.line(f"store_{dtype}_{lanes}(o{i}, e, ({values}))")
        text.line(f"i = {self.index}(i + step)")
        text.close()

    def _rest(self) -> None:
        text = self.text
        text.line(f"e = {self.index}(vectors * {self.width} + p)")
        text.open("while e < n:")
        self._coordinates()
        for i, (_, spans) in enumerate(self.s.arrays):
            if any(spans):
                text.line(f"v{i} = x{i}[{self.index}({self._offset(spans)})]")
        statements(text, self.s.rows)
        for i, row in enumerate(self.s.stored):
            text.line(f"o{i}[e] = t{row}")
        text.line(f"e = {self.index}(e + step)")
        text.close()

    def _coordinates(self) -> None:
        """Split the number of an element into its index in each group."""
        if self.flat or self.count == 1:
            return
        rest = "e"
        for g in reversed(range(1, self.count)):
            self.text.line(f"q{g} = {self.index}({rest} // n{g})")
            self.text.line(f"i{g} = {self.index}({rest} - q{g} * n{g})")
            rest = f"q{g}"
        self.text.line(f"i0 = {rest}")

    def _offset(self, spans: tuple[bool, ...]) -> str:
        if all(spans):
            return "e"
        return offset([g for g, spanned in enumerate(spans) if spanned], "i")
