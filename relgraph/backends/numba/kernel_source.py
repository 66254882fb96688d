"""The source of a kernel: a loop nest with one statement for each op.

A kernel runs a range of its outermost loop.  If that loop is not reduced, the kernel writes each
result of the range directly.  If it is reduced, the range consists of fixed blocks of rows: each
block writes its own partial results, and a second function combines them in order.  Results
therefore do not depend on how threads split the range.
"""

from __future__ import annotations

from collections.abc import Iterable

from relgraph.backends.numba.fold_source import (
    BLOCK,
    Array,
    Lines,
    cast,
    combine,
    in_blocks,
    operand,
    operand_name,
    start,
    sums_exponentials,
)
from relgraph.backends.numba.past_cache import EVEN
from relgraph.backends.numba.templates import expression, is_elementary
from relgraph.lowering.kernels import Fold, Statement, Structure
from relgraph.lowering.refs import Ref
from relgraph.ops.reductions import Mean


class KernelText(Lines):
    """The text of a kernel.

    With ``past`` results are written by streaming stores.  ``partial`` is True if the outermost
    loop is reduced; ``combined`` is the number of results combined from partial ones.
    """

    def __init__(self, structure: Structure, past: bool = False) -> None:
        super().__init__(structure, past)
        s = structure
        kept = tuple(not r for r in s.reduced)
        self.stored = [self._result(i) for i in range(len(s.stored))]
        self.folded = [Array(f"r{i}", f.dtype, kept) for i, f in enumerate(s.folds)]
        self.numbers = self._numbers()
        self.scattered = self._scattered()
        self.suffix = self.count
        while self.suffix > 0 and s.reduced[self.suffix - 1]:
            self.suffix -= 1
        self.inner = self.suffix < self.count  # whether the innermost loop is reduced
        self.blocked = self.inner and any(map(in_blocks, s.folds))
        self.partial = bool(s.folds) and s.reduced[0]
        self.pairs = [i for i, fold in enumerate(s.folds) if sums_exponentials(fold)]
        self.combined = len(s.folds) + len(self.pairs) if self.partial else 0
        # Whether reductions accumulate in memory rather than only in variables.
        self.accumulates = any(s.reduced[: self.suffix])
        self.kept = [g for g, reduced in enumerate(s.reduced) if not reduced and g]

    def _result(self, i: int) -> Array:
        """Return the parameter of an elementwise result, or of the part of an array that it
        updates.
        """
        targets = self.structure.targets
        target = targets[i] if targets else None
        dtype = self.structure.rows[self.structure.stored[i]].dtype
        return Array(f"o{i}", dtype, (True,) * self.count, target.strides if target else ())

    def functions(self, name: str, finish: str) -> str:
        """Return the kernel and, if it has partial results, the function that combines them."""
        texts = [f"def {name}{self._parameters()}:\n{self._body()}\n"]
        if self.partial:
            texts.append(f"def {finish}{self._parameters()}:\n{self._finish()}\n")
        return "\n\n".join(texts)

    def _parameters(self) -> str:
        """Return the parameter list: the range, integers and arrays."""
        names = ["start", "stop", *(f"n{g}" for g in range(self.count))]
        names += [stride for array in self.arrays + self.stored for stride, _ in array.strides]
        names += ["rows"] if self.partial else []
        names += ["head"] if self.past else []
        arrays = [array.declared() for array in self.arrays]
        arrays += [f"y_{i}: {dtype}[1]" for i, dtype in enumerate(self.structure.tables)]
        arrays += self.slot_parameters()
        arrays += map(self.declared, self.stored)
        arrays += [array.declared() for array in self.folded]
        if self.partial:
            sizes = ", ".join(["parts", *(f"n{g}" for g in self.kept)])
            arrays += [
                f"w{i}: {self._total(fold)}[{sizes}]" for i, fold in enumerate(self.structure.folds)
            ]
            arrays += [f"u{i}: float64[parts]" for i in self.pairs]
        return f"(\n    {', '.join(names)},\n    {', '.join(arrays)},\n)"

    def _total(self, fold: Fold) -> str:
        """Return the dtype of the accumulator of a reduction."""
        if self.partial and self.inner and in_blocks(fold):
            return "float64"
        return fold.dtype

    # The kernel.

    def _body(self) -> str:
        self.lines = []
        self.depth = 1
        self.read_slots()
        self.lines_of_memory(self.stored)
        for i in self.pairs:
            self.line(f"q{i} = scratch({self.structure.folds[i].dtype}, {BLOCK})")
        for k in self.scattered:
            self.line(f"near{k} = scratch({self.arrays[k].dtype}, {BLOCK})")
        self._values(-1)
        for k in self.numbers:
            self._row(k)
        if self.partial:
            self.open("for b in range(start, stop):")
            self.line("first = b * rows")
            self.line("last = min(first + rows, n0)")
            if self.accumulates:
                self._fill()
        for g in range(self.count):
            low, high = "0", f"n{g}"
            if g == 0:
                low, high = ("first", "last") if self.partial else ("start", "stop")
            if g == self.suffix:
                self.start(enumerate(self.structure.folds))
            if g == self.count - 1:
                self._innermost(low, high)
            else:
                self.open(f"for i{g} in range({_range(low, high)}):")
                self._values(g)
                if g == 0 and self.accumulates and not self.partial:
                    self._fill()
        self.depth = 1 + self.suffix + self.partial
        if self.inner:
            self._store()
        self.depth = 2
        if self.accumulates and not self.partial:
            self._divide()
        return "\n".join(self.lines)

    def _values(self, level: int) -> None:
        """Load the elements that are invariant in the loops inside of ``level``."""
        for k, array in enumerate(self.arrays):
            if max(array.groups, default=-1) == level != self.count - 1:
                self.line(f"v{k} = {self.element(array)}")

    def _target(self, i: int) -> str:
        """Return the element in which a reduction accumulates inside the loop nest."""
        if not self.partial:
            return self.element(self.folded[i])
        return f"w{i}[{', '.join(['b', *map(self.index, self.kept)])}]"

    def _fill(self) -> None:
        """Initialise the reductions that accumulate in memory."""
        depth = self.depth
        for g in self.kept:
            self.open(f"for {self.index(g)} in range(n{g}):")
        for i, fold in enumerate(self.structure.folds):
            self.line(f"{self._target(i)} = {start(fold, self._total(fold))}")
        self.depth = depth

    def _scattered(self) -> list[int]:
        """Return the strided arrays whose elements are first copied to a contiguous buffer.

        LLVM does not vectorise a loop that would have to gather the operands of a long function.
        """
        if not any(is_elementary(row.op) for row in self.structure.rows):
            return []
        return [
            k
            for k, array in enumerate(self.arrays)
            if array.steps and self.count - 1 in array.groups and array.steps[-1][0] not in (1, -1)
        ]

    def _innermost(self, low: str, high: str) -> None:
        if not self.blocked and not self.scattered:
            if self.past and self.count == 1:
                self.open(f"for j in range(start & -{EVEN}, min(stop, n0 - head)):")
                self.line("i = j + head")
            else:
                self.open(f"for i in range({_range(low, high)}):")
            self._statements()
            self.depth -= 1
            return
        folds = list(enumerate(self.structure.folds)) if self.blocked else []
        self.open(f"for k in range({low}, {high}, {BLOCK}):")
        self.block_start(folds)
        for k in self.scattered:
            self.open(f"for i in range(k, min(k + {BLOCK}, {high})):")
            self.line(f"near{k}[i - k] = {self.element(self.arrays[k])}")
            self.depth -= 1
        self.open(f"for i in range(k, min(k + {BLOCK}, {high})):")
        self._statements()
        self.depth -= 1
        self.block_end(folds, f"min({BLOCK}, {high} - k)")
        self.depth -= 1

    def _numbers(self) -> list[int]:
        """Return the statements that are loop-invariant."""
        invariant: set[int] = set()
        for k, row in enumerate(self.structure.rows):
            if k not in self.structure.stored and all(
                ref.kind in ("slot", "literal")
                or (ref.kind == "row" and ref.index in invariant)
                or (ref.kind == "array" and not self.arrays[ref.index].groups)
                for ref in row.operands
            ):
                invariant.add(k)
        return sorted(invariant)

    def _row(self, k: int) -> None:
        row = self.structure.rows[k]
        if row.operands[0].kind == "table":
            table, places = row.operands
            self.line(f"t{k} = y_{table.index}[{operand_name(places)}]")
            return
        self.line(f"t{k} = {expression(row, [operand_name(ref) for ref in row.operands])}")

    def _statements(self) -> None:
        last = self.count - 1
        s = self.structure

        for k, array in enumerate(self.arrays):
            if last in array.groups:
                near = f"near{k}[i - k]" if k in self.scattered else self.element(array)
                self.line(f"v{k} = {near}")
        for k in range(len(s.rows)):
            if k not in self.numbers:
                self._row(k)
        for i, k in enumerate(s.stored):
            self._write(i, f"t{k}")
        for i, fold in enumerate(s.folds):
            value = operand(fold, operand_name(fold.operand))
            if not self.inner:
                target = self._target(i)
                # If all reduced axes have size 1, each result is a single term.
                total = target if self.accumulates else start(fold, fold.dtype)
                self.line(f"{target} = {combine(fold, total, value)}")
            else:
                self.join(i, fold, value)

    def _write(self, i: int, value: str) -> None:
        """Store a value, or combine it with the stored one."""
        place = self.written(self.stored[i])
        target = self.structure.targets[i] if self.structure.targets else None
        if target is not None and target.op is not None:
            dtype = self.stored[i].dtype
            value = expression(
                Statement(target.op, (Ref("row", 0, dtype),) * 2, dtype), [place, value]
            )
        self.line(f"{place} = {value}")

    def _store(self) -> None:
        """Store the reductions of the inner loops."""
        for i, fold in enumerate(self.structure.folds):
            value = f"a{i}"
            if i in self.pairs:
                self.line(f"u{i}[b] = a{i}")
                value = f"e{i}"
            elif in_blocks(fold):
                value = self.sum(i)
                if not self.accumulates and not self.partial:
                    value = self._mean(fold, value)
                if self._total(fold) != "float64":
                    value = f"{fold.dtype}({value})"
            target = self._target(i)
            if self.accumulates:
                value = combine(fold, target, value)
            self.line(f"{target} = {value}")

    def _mean(self, fold: Fold, total: str) -> str:
        """Return a sum, divided by the number of terms if the reduction is a mean."""
        if not isinstance(fold.op, Mean) or not any(self.structure.reduced):
            return total
        terms = " * ".join(f"n{g}" for g, r in enumerate(self.structure.reduced) if r)
        dtype = "float64" if self.inner else fold.dtype
        return f"{total} / {dtype}({terms})"

    def _divide(self) -> None:
        """Divide the means that were accumulated in memory."""
        means = [i for i, fold in enumerate(self.structure.folds) if isinstance(fold.op, Mean)]
        if not means:
            return
        for g in self.kept:
            self.open(f"for {self.index(g)} in range(n{g}):")
        for i in means:
            fold, target = self.structure.folds[i], self._target(i)
            self.line(f"{target} = {fold.dtype}({self._mean(fold, target)})")

    # The function that combines partial results.

    def _finish(self) -> str:
        self.lines = []
        self.depth = 1
        self._finish_rows() if self.kept else self._finish_scalars()
        return "\n".join(self.lines)

    def _finish_scalars(self) -> None:
        folds = self.structure.folds
        self.start(enumerate(self.structure.folds))
        self.open("for b in range(start, stop):")
        for i, fold in enumerate(folds):
            if i in self.pairs:
                self.join_pair(i, f"u{i}[b]", f"w{i}[b]")
            elif in_blocks(fold):
                self.add(i, f"w{i}[b]")
            else:
                self.line(f"a{i} = {combine(fold, f'a{i}', f'w{i}[b]')}")
        self.depth = 1
        for i, fold in enumerate(folds):
            value = f"a{i}"
            if i in self.pairs:
                value = f"a{i} + log(e{i})"
            elif in_blocks(fold):
                value = self._mean(fold, self.sum(i))
            self.line(f"r{i}[0] = {cast(value, fold.dtype, self._total(fold))}")

    def _finish_rows(self) -> None:
        folds = self.structure.folds
        inside = ", ".join(map(self.index, self.kept))
        self.open("for b in range(1, stop):")
        self._loops(self.kept)
        for i, fold in enumerate(folds):
            first, other = f"w{i}[0, {inside}]", f"w{i}[b, {inside}]"
            self.line(f"{first} = {combine(fold, first, other)}")
        self.depth = 1
        self._loops(self.kept)
        for i, fold in enumerate(folds):
            value = self._mean(fold, f"w{i}[0, {inside}]")
            text = cast(value, fold.dtype, self._total(fold))
            self.line(f"{self.element(self.folded[i])} = {text}")

    def _loops(self, groups: Iterable[int]) -> None:
        for g in groups:
            self.open(f"for {self.index(g)} in range(n{g}):")


def _range(low: str, high: str) -> str:
    return high if low == "0" else f"{low}, {high}"
