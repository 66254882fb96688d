"""Kernels with reductions: a first pass over parts of the elements, and a second over the parts.

The second pass combines the partial results in a fixed order.

``r`` counts the results and ``j`` the elements that each of them reduces.  If the last group of the
loop nest is reduced, several threads share a result and read consecutive elements.  If it is kept,
each thread computes its own results, and adjacent threads read adjacent columns.
"""

from __future__ import annotations

from relgraph.backends.cuda.elementwise_source import width
from relgraph.backends.cuda.primitives import group_reduce, load
from relgraph.backends.cuda.source import (
    Text,
    accumulator,
    add_operands,
    finished,
    joined,
    offset,
    operand_name,
    start,
    statements,
    term,
)
from relgraph.lowering.kernels import Fold, Structure


def reduce_of(fold: Fold, threads: int) -> object:
    """Return the kernel function that combines the accumulators of a group's threads."""
    return group_reduce(joined(fold, "value", "other"), accumulator(fold), threads)


def shares(structure: Structure) -> bool:
    """Return True if consecutive elements belong to one result."""
    return structure.reduced[-1]


def is_simple(structure: Structure) -> bool:
    """Return True if the elements of one result are contiguous in the arrays that span them."""
    first = structure.reduced.index(True)
    if not all(structure.reduced[first:]):
        return False
    return all(
        len(set(spans[first:])) == 1 and (not spans[first] or len(set(spans[:first])) <= 1)
        for _, spans in structure.arrays
    )


def reduction_text(structure: Structure, wide: bool, threads: int) -> Text:
    """Write the first pass of a structure with reductions; ``wide`` allows 2**31 elements or more.

    ``threads`` share a result, or, if each thread computes its own results, make up a block.  The
    parameters of the kernel are the number of results, of elements of each, of parts, of elements
    in a part (a multiple of the vector's width), whether vectors may be read, the sizes of the
    groups, the arrays, the constants, the elementwise results, and for each reduction the results
    and the partial results, stored part by part.
    """
    return _Reduction(structure, wide, threads).text


class _Reduction:
    def __init__(self, structure: Structure, wide: bool, threads: int) -> None:
        self.s = s = structure
        self.threads = threads
        self.index = "windex" if wide else "uindex"
        self.shared = shares(s)
        self.lanes = width(s) if self.shared and is_simple(s) and not s.stored else 1
        self.kept = [g for g, r in enumerate(s.reduced) if not r]
        self.reduced = [g for g, r in enumerate(s.reduced) if r]
        self.text = text = Text()
        kind = "uint64" if wide else "uint32"
        names = ["k", "m", "parts", "part", "vectors"]
        text.parameters = [(name, kind) for name in names]
        add_operands(text, s, kind)
        for i, fold in enumerate(s.folds):
            text.parameters.append((f"r{i}", f"{fold.dtype}[::1]"))
            text.parameters.append((f"p{i}", f"{accumulator(fold)}[::1]"))
        self._loop()

    def _loop(self) -> None:
        text, index = self.text, self.index
        if self.shared:
            text.line(f"row = {index}(cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y)")
            text.line(f"rows = {index}(cuda.gridDim.x * cuda.blockDim.y)")
        else:
            text.line(f"row = {index}(cuda.blockIdx.x * {self.threads} + cuda.threadIdx.x)")
            text.line(f"rows = {index}(cuda.gridDim.x * {self.threads})")
        text.open("while row < k * parts:")
        text.line(f"s = {index}(row // k)")
        text.line(f"r = {index}(row - s * k)")
        text.line(f"j = {index}(s * part)")
        text.line(f"end = {index}(j + part)")
        text.line(f"end = {index}(cuda.selp(end < m, end, m))")
        self._coordinates("r", self.kept)
        for i, (_, spans) in enumerate(self.s.arrays):
            if any(spans) and not any(spans[g] for g in self.reduced):
                text.line(f"v{i} = x{i}[{index}({self._offset(spans)})]")
        for i, fold in enumerate(self.s.folds):
            text.line(f"a{i} = {start(fold)}")
        if self.lanes > 1:
            self._vectors()
        if self.shared:
            text.line(f"j = {index}(j + cuda.threadIdx.x)")
        text.open("while j < end:")
        self._element()
        text.line(f"j = {index}(j + {self.threads if self.shared else 1})")
        text.close()
        self._result()
        text.line(f"row = {index}(row + rows)")
        text.close()

    def _vectors(self) -> None:
        text, index, lanes = self.text, self.index, self.lanes
        text.open("if vectors > 0:")
        text.line(f"q = {index}(j + cuda.threadIdx.x * {lanes})")
        text.line(f"j = {index}(j + (end - j) // {lanes} * {lanes})")
        for i, fold in enumerate(self.s.folds):
            for lane in range(lanes):
                text.line(f"a{i}_{lane} = {start(fold)}")
        text.open("while q < j:")
        for i, (dtype, spans) in enumerate(self.s.arrays):
            names = ", ".join(f"v{i}_{lane}" for lane in range(lanes))
            if not any(spans[g] for g in self.reduced):
                for lane in range(lanes):
                    text.line(f"v{i}_{lane} = v{i}")
                continue
            place = "r * m + q" if any(spans[g] for g in self.kept) else "q"
            text.names[f"load_{dtype}_{lanes}"] = load(dtype, lanes)
            text.line(f"{names} = load_{dtype}_{lanes}(x{i}, {index}({place}))")
        for lane in range(lanes):
            statements(text, self.s.rows, f"_{lane}")
            for i, fold in enumerate(self.s.folds):
                value = term(fold, operand_name(fold.operand, f"_{lane}"))
                text.line(f"b{i} = {value}")
                text.line(f"a{i}_{lane} = {joined(fold, f'a{i}_{lane}', f'b{i}')}")
        text.line(f"q = {index}(q + {self.threads * lanes})")
        text.close()
        for i, fold in enumerate(self.s.folds):
            for lane in range(lanes):
                text.line(f"a{i} = {joined(fold, f'a{i}', f'a{i}_{lane}')}")
        text.close()

    def _element(self) -> None:
        text = self.text
        self._coordinates("j", self.reduced)
        for i, (_, spans) in enumerate(self.s.arrays):
            if any(spans[g] for g in self.reduced):
                text.line(f"v{i} = x{i}[{self.index}({self._offset(spans)})]")
        statements(text, self.s.rows)
        for i, row in enumerate(self.s.stored):
            every = (True,) * len(self.s.reduced)
            text.line(f"o{i}[{self.index}({self._offset(every)})] = t{row}")
        for i, fold in enumerate(self.s.folds):
            text.line(f"b{i} = {term(fold, operand_name(fold.operand))}")
            text.line(f"a{i} = {joined(fold, f'a{i}', f'b{i}')}")

    def _result(self) -> None:
        text = self.text
        if self.shared:
            for i, fold in enumerate(self.s.folds):
                text.names[f"reduce{i}"] = reduce_of(fold, self.threads)
                text.line(f"a{i} = reduce{i}(a{i})")
            text.open("if cuda.threadIdx.x == 0:")
        text.open("if parts == 1:")
        for i, fold in enumerate(self.s.folds):
            text.line(f"r{i}[r] = {finished(fold, f'a{i}', 'm')}")
        text.close()
        text.open("else:")
        for i in range(len(self.s.folds)):
            text.line(f"p{i}[row] = a{i}")
        text.close()
        if self.shared:
            text.close()

    def _coordinates(self, number: str, groups: list[int]) -> None:
        """Split the number of a result, or of an element, into its index in each group."""
        rest = number
        for g in reversed(groups[1:]):
            self.text.line(f"q{g} = {self.index}({rest} // n{g})")
            self.text.line(f"i{g} = {self.index}({rest} - q{g} * n{g})")
            rest = f"q{g}"
        if groups:
            self.text.line(f"i{groups[0]} = {rest}")

    def _offset(self, spans: tuple[bool, ...]) -> str:
        return offset([g for g, spanned in enumerate(spans) if spanned], "i")


def second_pass_text(folds: tuple[Fold, ...], threads: int) -> Text:
    """Write the second pass, in which the threads of a block combine the parts of each result.

    Its parameters are the number of results, of parts and of elements of each result, and for each
    reduction the results and the partial results.
    """
    text = Text()
    text.parameters = [("k", "uint64"), ("parts", "uint64"), ("m", "uint64")]
    for i, fold in enumerate(folds):
        text.parameters.append((f"r{i}", f"{fold.dtype}[::1]"))
        text.parameters.append((f"p{i}", f"{accumulator(fold)}[::1]"))
        text.names[f"reduce{i}"] = reduce_of(fold, threads)
    text.line("r = windex(cuda.blockIdx.x)")
    text.open("while r < k:")
    for i, fold in enumerate(folds):
        text.line(f"a{i} = {start(fold)}")
    text.line("s = windex(cuda.threadIdx.x)")
    text.open("while s < parts:")
    for i, fold in enumerate(folds):
        text.line(f"b{i} = p{i}[windex(s * k + r)]")
        text.line(f"a{i} = {joined(fold, f'a{i}', f'b{i}')}")
    text.line(f"s = windex(s + {threads})")
    text.close()
    for i in range(len(folds)):
        text.line(f"a{i} = reduce{i}(a{i})")
    text.open("if cuda.threadIdx.x == 0:")
    for i, fold in enumerate(folds):
        text.line(f"r{i}[r] = {finished(fold, f'a{i}', 'm')}")
    text.close()
    text.line("r = windex(r + cuda.gridDim.x)")
    text.close()
    return text
