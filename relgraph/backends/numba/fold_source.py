"""The parts that all kernel sources share: names and the code of reductions.

A float sum is added in blocks of 1024 elements, in any order within a block.  The sums of blocks
are added in order with compensation (Knuth's two-sum).

log(sum(exp(x))) reads memory once: it computes the maximum of each block and the sum of
exponentials relative to it, and rescales such pairs to the larger maximum to combine them.  An
infinite maximum is replaced by the largest finite number, so that infinite elements stay infinite
relative to it.

References
----------
M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867: how
pairs of a maximum and a sum are combined.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from relgraph.backends.numba.past_cache import EVEN
from relgraph.backends.numba.templates import convert
from relgraph.ir.records import record
from relgraph.lowering.kernels import Fold, Structure
from relgraph.lowering.refs import Ref
from relgraph.ops.elementwise import add, logical_and, logical_or, maximum, minimum, multiply
from relgraph.ops.reductions import LogSumExp

BLOCK = 1024  # elements that a float sum may add in any order; blocks are added in order

LARGEST = {name: float(np.finfo(name).max) for name in ("float32", "float64")}

_COMBINE = {
    add: "{0} + {1}",
    multiply: "{0} * {1}",
    logical_or: "{0} | {1}",
    logical_and: "{0} & {1}",
}
_FLOAT_START = {add: "0.0", multiply: "1.0", maximum: "-math.inf", minimum: "math.inf"}


@record
class Array:
    """An array parameter: its name and dtype, the groups it spans, and its steps.

    A step is the distance between elements, in elements, with the axis of the array; None stands
    for a stride parameter.  An array without steps is contiguous in the order of the groups.
    """

    name: str
    dtype: str
    spans: tuple[bool, ...]
    steps: tuple[tuple[int | None, int], ...] = ()

    @property
    def groups(self) -> list[int]:
        """The groups that the array spans."""
        return [g for g, spanned in enumerate(self.spans) if spanned]

    @property
    def strides(self) -> list[tuple[str, int]]:
        """The stride parameters, each with its axis."""
        return [(f"{self.name}_{axis}", axis) for step, axis in self.steps if step is None]

    def declared(self) -> str:
        """Return the declaration of the parameter."""
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
    """The lines of a kernel, with the current indentation.

    With ``past`` results are written by streaming stores.
    """

    def __init__(self, structure: Structure, past: bool = False) -> None:
        self.structure = structure
        self.past = past
        self.arrays = operands(structure)
        self.slots = structure.slot_counts()
        self.count = len(structure.reduced)  # number of groups in the loop nest
        self.lines: list[str] = []
        self.depth = 1

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + text)

    def open(self, text: str) -> None:
        """Add a line that opens a block."""
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
        """Load the packed constants into variables."""
        for dtype, count in self.slots.items():
            for i in range(count):
                self.line(f"c_{dtype}_{i} = c_{dtype}[{i}]")

    def index(self, g: int) -> str:
        """Return the loop index of a group."""
        return "i" if g == self.count - 1 else f"i{g}"

    def element(self, array: Array) -> str:
        """Return the current element of an array."""
        return f"{array.name}[{', '.join(map(self.index, array.groups)) or '0'}]"

    # Results, which streaming stores may write.

    def declared(self, array: Array) -> str:
        """Return the declaration of a result."""
        if not self._goes_past(array):
            return array.declared()
        sizes = ", ".join([*(f"n{g}" for g in range(self.count - 1)), "even"])
        return f"{array.name}: past_cache({array.dtype}[{sizes}])"

    def lines_of_memory(self, results: Iterable[Array]) -> None:
        """Align the results to cache lines: from the first cache line on, or at each row."""
        if not self.past:
            return
        self.line(f"even = n{self.count - 1} & -{EVEN}")
        first = ", ".join(["0"] * (self.count - 1) + ["head"])
        for array in results:
            if self._goes_past(array):
                self.line(f"l_{array.name} = aligned({array.name}[{first}])")

    def written(self, array: Array) -> str:
        """Return the current element of a result, as the target of a store."""
        if not self._goes_past(array):
            return self.element(array)
        if self.count == 1:
            return f"l_{array.name}[j]"
        return f"l_{self.element(array)}"

    def _goes_past(self, array: Array) -> bool:
        return self.past and all(array.spans)

    # Reductions, each with the number that its variables end in.

    def start(self, folds: Iterable[tuple[int, Fold]]) -> None:
        """Initialise the accumulators."""
        for i, fold in folds:
            if in_blocks(fold):
                self.line(f"a{i} = {0.0 if not sums_exponentials(fold) else -LARGEST['float64']!r}")
                self.line(f"e{i} = 0.0")
            else:
                self.line(f"a{i} = {start(fold, fold.dtype)}")

    def block_start(self, folds: Iterable[tuple[int, Fold]]) -> None:
        """Initialise the accumulators of a block."""
        for i, fold in folds:
            if in_blocks(fold):
                self.line(f"p{i} = {fold.dtype}(0)")
            if sums_exponentials(fold):
                self.line(f"b{i} = {fold.dtype}(-math.inf)")

    def join(self, i: int, fold: Fold, value: str) -> None:
        """Add a term to the accumulator of the block, or to the total."""
        if sums_exponentials(fold):
            self.line(f"b{i} = maximum(b{i}, {value})")
            self.line(f"q{i}[i - k] = {value}")
        elif in_blocks(fold):
            self.line(f"p{i} = add_any_order(p{i}, {value})")
        else:
            self.line(f"a{i} = {combine(fold, f'a{i}', value)}")

    def block_end(self, folds: Iterable[tuple[int, Fold]], count: str) -> None:
        """Combine the sums of a block of ``count`` elements with the totals."""
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
        """Combine a maximum and a sum relative to it with the totals."""
        self.line(f"g{i} = maximum(a{i}, {top})")
        self.line(f"e{i} = e{i} * exp(a{i} - g{i}) + {total} * exp({top} - g{i})")
        self.line(f"a{i} = g{i}")

    def add(self, i: int, term: str) -> None:
        """Add a term to a compensated sum (Knuth's two-sum)."""
        self.line(f"y{i} = {term}")
        self.line(f"s{i} = a{i} + y{i}")
        self.line(f"d{i} = s{i} - a{i}")
        self.line(f"e{i} = e{i} + ((a{i} - (s{i} - d{i})) + (y{i} - d{i}))")
        self.line(f"a{i} = s{i}")

    def sum(self, i: int) -> str:
        """Add the compensation to a sum; leave it out if an overflow made it NaN."""
        self.line(f"z{i} = a{i} + e{i} if e{i} == e{i} else a{i}")
        return f"z{i}"


# The prefix of variable names for each kind of reference.
_VARIABLE = {"row": "t", "array": "v", "fold": "f", "kept": "h", "product": "h"}


def operand_name(ref: Ref, suffix: str = "") -> str:
    """Return the variable that a reference stands for, or its literal."""
    if ref.kind == "slot":
        return f"c_{ref.dtype}_{ref.index}"
    if ref.kind == "literal":
        return f"{ref.dtype}({ref.value!r})"
    return f"{_VARIABLE[ref.kind]}{ref.index}{suffix}"


def cast(text: str, dtype: str, source: str) -> str:
    """Convert an expression from the dtype ``source`` if necessary."""
    return text if dtype == source else f"{dtype}({text})"


def sums_exponentials(fold: Fold) -> bool:
    """Return True if a reduction is log(sum(exp(x)))."""
    return isinstance(fold.op, LogSumExp)


def in_blocks(fold: Fold) -> bool:
    """Return True if a reduction is a float sum, which is added in blocks."""
    return (fold.op.combiner is add or sums_exponentials(fold)) and np.dtype(fold.dtype).kind == "f"


def operand(fold: Fold, name: str) -> str:
    """Return the operand of a reduction, converted to the dtype of the result."""
    source, target = np.dtype(fold.operand.dtype), np.dtype(fold.dtype)
    return convert(name, source, target)


def combine(fold: Fold, total: str, value: str) -> str:
    """Return a total combined with one more term."""
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
    """Return the identity element of a reduction in the dtype ``total``."""
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
