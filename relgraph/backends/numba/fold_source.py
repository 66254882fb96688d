"""What the texts of all kernels share: names, and reductions from their first to their last line.

A float sum is added up in blocks of 1024 elements, in any order inside of a block; sums of blocks
are added in order, and what rounding loses is kept (Knuth's two-sum).

log(sum(exp(x))) reads memory once: of each block it takes the largest element and the sum of
exponentials relative to it, and joins such pairs by bringing both to the larger one.  Largest
elements that are infinite count as the largest finite number, relative to which an infinite one
still is infinite.

References
----------
M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867: pairs
of a maximum and a sum, and how they are joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from relgraph.backends.numba.past_cache import EVEN
from relgraph.backends.numba.templates import convert
from relgraph.lowering.kernels import Fold, Structure
from relgraph.lowering.refs import Ref
from relgraph.ops.elementwise import add, logical_and, logical_or, maximum, minimum, multiply
from relgraph.ops.reductions import LogSumExp

BLOCK = 1024  # elements whose float sum may be added in any order; blocks are added in order

LARGEST = {name: float(np.finfo(name).max) for name in ("float32", "float64")}

_COMBINE = {
    add: "{0} + {1}",
    multiply: "{0} * {1}",
    logical_or: "{0} | {1}",
    logical_and: "{0} & {1}",
}
_FLOAT_START = {add: "0.0", multiply: "1.0", maximum: "-math.inf", minimum: "math.inf"}


@dataclass(frozen=True)
class Array:
    """An array argument: its name, dtype, which groups it spans, and in which steps.

    A step is in elements, None where it is a parameter; beside it stands the axis of the array.
    Without steps the elements lie in memory in the order of the groups.
    """

    name: str
    dtype: str
    spans: tuple[bool, ...]
    steps: tuple[tuple[int | None, int], ...] = ()

    @property
    def groups(self) -> list[int]:
        """The groups that it spans."""
        return [g for g, spanned in enumerate(self.spans) if spanned]

    @property
    def strides(self) -> list[tuple[str, int]]:
        """The parameters that hold distances of its elements, each with the axis it is of."""
        return [(f"{self.name}_{axis}", axis) for step, axis in self.steps if step is None]

    def declared(self) -> str:
        """Return its declaration among the parameters."""
        sizes = [f"n{g}" for g in self.groups] or ["1"]
        if self.steps:
            size = np.dtype(self.dtype).itemsize
            distances = [
                f"{self.name}_{axis}" if step is None else str(step * size)
                for step, axis in self.steps
            ]
            sizes = [f"{n}:{d}" for n, d in zip(sizes, distances, strict=True)]
        return f"{self.name}: {self.dtype}[{', '.join(sizes)}]"


def operands(structure: Structure) -> list[Array]:
    """Return the array operands of a kernel."""
    steps = structure.strides or ((),) * len(structure.arrays)
    return [
        Array(f"x{i}", dtype, spans, steps[i]) for i, (dtype, spans) in enumerate(structure.arrays)
    ]


class Lines:
    """Lines of a kernel, at a depth.

    Parameters
    ----------
    structure : Structure
        What to write.
    past : bool
        Whether results go past the cache.
    """

    def __init__(self, structure: Structure, past: bool = False) -> None:
        self.structure = structure
        self.past = past
        self.arrays = operands(structure)
        self.slots = structure.slot_counts()
        self.count = len(structure.reduced)  # of the groups of the loop
        self.lines: list[str] = []
        self.depth = 1

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + text)

    def open(self, text: str) -> None:
        """Add a line that those after it are inside of."""
        self.line(text)
        self.depth += 1

    def slot_parameters(self) -> list[str]:
        """Return the declarations of the packed constants."""
        return [f"c_{dtype}: {dtype}[{count}]" for dtype, count in self.slots.items()]

    def parameters(self, results: Iterable[Array]) -> str:
        """Return the parameters of a kernel without partial results."""
        integers = ["start", "stop", *(f"n{g}" for g in range(self.count))]
        integers += [stride for array in self.arrays for stride, _ in array.strides]
        integers += ["head"] if self.past else []
        arrays = [array.declared() for array in self.arrays]
        arrays += self.slot_parameters()
        arrays += map(self.declared, results)
        return f"(\n    {', '.join(integers)},\n    {', '.join(arrays)},\n)"

    def read_slots(self) -> None:
        """Bind the constants to names."""
        for dtype, count in self.slots.items():
            for i in range(count):
                self.line(f"c_{dtype}_{i} = c_{dtype}[{i}]")

    def index(self, g: int) -> str:
        """Return what counts the elements of a group."""
        return "i" if g == self.count - 1 else f"i{g}"

    def element(self, array: Array) -> str:
        """Return the element of an array that the loops are at."""
        return f"{array.name}[{', '.join(map(self.index, array.groups)) or '0'}]"

    # Results, which may go past the cache.

    def declared(self, array: Array) -> str:
        """Return the declaration of a result."""
        if not self._goes_past(array):
            return array.declared()
        sizes = ", ".join([*(f"n{g}" for g in range(self.count - 1)), "even"])
        return f"{array.name}: past_cache({array.dtype}[{sizes}])"

    def lines_of_memory(self, results: Iterable[Array]) -> None:
        """Say where lines of memory begin: from the first one on, or at each row."""
        if not self.past:
            return
        self.line(f"even = n{self.count - 1} & -{EVEN}")
        first = ", ".join(["0"] * (self.count - 1) + ["head"])
        for array in results:
            if self._goes_past(array):
                self.line(f"l_{array.name} = aligned({array.name}[{first}])")

    def written(self, array: Array) -> str:
        """Return the element of a result that the loops are at, to write it."""
        if not self._goes_past(array):
            return self.element(array)
        if self.count == 1:
            return f"l_{array.name}[j]"
        return f"l_{self.element(array)}"

    def _goes_past(self, array: Array) -> bool:
        return self.past and all(array.spans)

    # Reductions, each with the number that its variables carry.

    def start(self, folds: Iterable[tuple[int, Fold]]) -> None:
        """Begin totals."""
        for i, fold in folds:
            if in_blocks(fold):
                self.line(f"a{i} = {0.0 if not sums_exponentials(fold) else -LARGEST['float64']!r}")
                self.line(f"e{i} = 0.0")
            else:
                self.line(f"a{i} = {start(fold, fold.dtype)}")

    def block_start(self, folds: Iterable[tuple[int, Fold]]) -> None:
        """Begin the sums of a block."""
        for i, fold in folds:
            if in_blocks(fold):
                self.line(f"p{i} = {fold.dtype}(0)")
            if sums_exponentials(fold):
                self.line(f"b{i} = {fold.dtype}(-math.inf)")

    def join(self, i: int, fold: Fold, value: str) -> None:
        """Add a term to the sum of a block, or to the total."""
        if sums_exponentials(fold):
            self.line(f"b{i} = maximum(b{i}, {value})")
            self.line(f"q{i}[i - k] = {value}")
        elif in_blocks(fold):
            self.line(f"p{i} = add_any_order(p{i}, {value})")
        else:
            self.line(f"a{i} = {combine(fold, f'a{i}', value)}")

    def block_end(self, folds: Iterable[tuple[int, Fold]], count: str) -> None:
        """Add the sums of a block of a number of elements to their totals."""
        for i, fold in folds:
            if sums_exponentials(fold):
                most = f"{fold.dtype}({LARGEST[fold.dtype]!r})"
                self.line(f"c{i} = minimum(maximum(b{i}, -{most}), {most})")
                self.open(f"for i in range({count}):")
                self.line(f"p{i} = add_any_order(p{i}, exp(q{i}[i] - c{i}))")
                self.depth -= 1
                self.join_pair(i, f"float64(c{i})", f"float64(p{i})")
            elif in_blocks(fold):
                self.add(i, f"p{i}" if fold.dtype == "float64" else f"float64(p{i})")

    def join_pair(self, i: int, top: str, total: str) -> None:
        """Join a largest element and a sum relative to it to those so far."""
        self.line(f"g{i} = maximum(a{i}, {top})")
        self.line(f"e{i} = e{i} * exp(a{i} - g{i}) + {total} * exp({top} - g{i})")
        self.line(f"a{i} = g{i}")

    def add(self, i: int, term: str) -> None:
        """Add a term to a sum and keep what rounding loses (Knuth's two-sum)."""
        self.line(f"y{i} = {term}")
        self.line(f"s{i} = a{i} + y{i}")
        self.line(f"d{i} = s{i} - a{i}")
        self.line(f"e{i} = e{i} + ((a{i} - (s{i} - d{i})) + (y{i} - d{i}))")
        self.line(f"a{i} = s{i}")

    def sum(self, i: int) -> str:
        """Return a sum with what rounding lost; after an overflow that is NaN, and left out."""
        self.line(f"z{i} = a{i} + e{i} if e{i} == e{i} else a{i}")
        return f"z{i}"


# What the names of variables begin with, for each kind of reference.
_VARIABLE = {"row": "t", "array": "v", "fold": "f", "kept": "h", "product": "h"}


def operand_name(ref: Ref, suffix: str = "") -> str:
    """Return the name of what a reference stands for, or its number."""
    if ref.kind == "slot":
        return f"c_{ref.dtype}_{ref.index}"
    if ref.kind == "literal":
        return f"{ref.dtype}({ref.value!r})"
    return f"{_VARIABLE[ref.kind]}{ref.index}{suffix}"


def cast(text: str, dtype: str, source: str) -> str:
    """Return a value in a dtype."""
    return text if dtype == source else f"{dtype}({text})"


def sums_exponentials(fold: Fold) -> bool:
    """Return True if a reduction is log(sum(exp(x)))."""
    return isinstance(fold.op, LogSumExp)


def in_blocks(fold: Fold) -> bool:
    """Tell whether a reduction is a sum that is added up in blocks."""
    return (fold.op.combiner is add or sums_exponentials(fold)) and np.dtype(fold.dtype).kind == "f"


def operand(fold: Fold, name: str) -> str:
    """Return the operand of a reduction in the dtype of its result."""
    source, target = np.dtype(fold.operand.dtype), np.dtype(fold.dtype)
    return convert(name, source, target)


def combine(fold: Fold, total: str, value: str) -> str:
    """Return a total with one more term."""
    op, dtype = fold.op.combiner, np.dtype(fold.dtype)
    if op in (maximum, minimum):
        if dtype.kind == "f":
            return f"{op.name}({total}, {value})"
        if dtype.kind == "b":
            return f"{total} {'|' if op is maximum else '&'} {value}"
        return f"{total} if {total} {'>' if op is maximum else '<'} {value} else {value}"
    text = _COMBINE[op].format(total, value)
    return f"uint64({text})" if dtype.kind == "u" else text


def start(fold: Fold, total: str) -> str:
    """Return the total of no terms, in a dtype."""
    op, dtype = fold.op.combiner, np.dtype(total)
    if op in (logical_or, logical_and):
        return "True" if op is logical_and else "False"
    if dtype.kind == "b":
        return "False" if op is maximum else "True"
    if dtype.kind == "f":
        return f"{dtype.name}({_FLOAT_START[op]})"
    if op in (maximum, minimum):
        info = np.iinfo(dtype)
        return f"{dtype.name}({info.min if op is maximum else info.max})"
    return f"{dtype.name}({1 if op is multiply else 0})"
