"""The source of a kernel: nested loops with one statement for each op.

A kernel runs a range of its outermost loop.  Where that loop is kept apart, the range is one of its
elements, and each result is written in place.  Where it is reduced, the range is one of fixed
blocks of rows: each block leaves its own partial results, and a second function combines them in
order.  How the range is cut among threads therefore changes no result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from relgraph.backends.numba.templates import convert, expression
from relgraph.lowering.kernels import Fold, Ref, Structure

BLOCK = 1024  # elements whose float sum may be added in any order; blocks are added in order

_COMBINE = {
    "sum": "{0} + {1}",
    "mean": "{0} + {1}",
    "prod": "{0} * {1}",
    "any": "{0} | {1}",
    "all": "{0} & {1}",
}
_FLOAT_START = {"sum": "0.0", "mean": "0.0", "prod": "1.0", "max": "-math.inf", "min": "math.inf"}


@dataclass(frozen=True)
class _Array:
    """An array argument: its name, dtype, and which groups it spans."""

    name: str
    dtype: str
    spans: tuple[bool, ...]
    strided: bool = False

    @property
    def groups(self) -> list[int]:
        return [g for g, spanned in enumerate(self.spans) if spanned]

    @property
    def strides(self) -> list[str]:
        """The parameters that hold the distances of its elements."""
        return [f"{self.name}_{g}" for g in self.groups] if self.strided else []

    def declared(self) -> str:
        sizes = [f"n{g}" for g in self.groups] or ["1"]
        if self.strided and self.groups:
            pairs = zip(sizes, self.strides, strict=True)
            sizes = [f"{size}:{stride}" for size, stride in pairs]
        return f"{self.name}: {self.dtype}[{', '.join(sizes)}]"


@dataclass
class KernelText:
    """The text of a kernel, line by line.

    Parameters
    ----------
    structure : Structure
        What to write.
    strided : collection of int
        The array operands that are read through their strides; the others lie in memory in the
        order of the loops.

    Attributes
    ----------
    partial : bool
        Whether the outermost loop is reduced, so that partial results are combined.
    """

    structure: Structure
    strided: Collection[int] = ()
    lines: list[str] = field(default_factory=list)
    depth: int = 1

    def __post_init__(self) -> None:
        s = self.structure
        every = (True,) * len(s.reduced)
        kept = tuple(not r for r in s.reduced)
        self.arrays = [
            _Array(f"x{i}", dtype, spans, i in self.strided)
            for i, (dtype, spans) in enumerate(s.arrays)
        ]
        self.stored = [_Array(f"o{i}", s.rows[row].dtype, every) for i, row in enumerate(s.stored)]
        self.folded = [_Array(f"r{i}", f.dtype, kept) for i, f in enumerate(s.folds)]
        self.slots = {
            ref.dtype: 1 + max(r.index for r in self._refs() if r.dtype == ref.dtype)
            for ref in sorted(self._refs(), key=lambda r: r.dtype)
        }
        self.count = len(s.reduced)
        self.suffix = self.count
        while self.suffix > 0 and s.reduced[self.suffix - 1]:
            self.suffix -= 1
        self.inner = self.suffix < self.count  # whether the innermost loop is reduced
        self.blocked = self.inner and any(map(_in_blocks, s.folds))
        self.partial = bool(s.folds) and s.reduced[0]
        # Whether results are added to where they are stored, not in variables alone.
        self.accumulates = any(s.reduced[: self.suffix])
        self.kept = [g for g, reduced in enumerate(s.reduced) if not reduced and g]

    def _refs(self) -> list[Ref]:
        rows = [ref for row in self.structure.rows for ref in row.operands]
        folds = [fold.operand for fold in self.structure.folds]
        return [ref for ref in rows + folds if ref.kind == "slot"]

    def functions(self, name: str, finish: str) -> str:
        """Return the kernel and, where there are partial results, what combines them.

        Parameters
        ----------
        name, finish : str
            The names of the two.
        """
        texts = [f"def {name}{self._parameters()}:\n{self._body()}\n"]
        if self.partial:
            texts.append(f"def {finish}{self._parameters()}:\n{self._finish()}\n")
        return "\n\n".join(texts)

    def _parameters(self) -> str:
        """Return the parameter list: the range, integers, and arrays."""
        names = ["start", "stop", *(f"n{g}" for g in range(self.count))]
        names += [stride for array in self.arrays for stride in array.strides]
        names += ["rows"] if self.partial else []
        arrays = [array.declared() for array in self.arrays]
        arrays += [f"c_{dtype}: {dtype}[{count}]" for dtype, count in self.slots.items()]
        arrays += [array.declared() for array in self.stored + self.folded]
        if self.partial:
            sizes = ", ".join(["parts", *(f"n{g}" for g in self.kept)])
            arrays += [
                f"w{i}: {self._total(fold)}[{sizes}]" for i, fold in enumerate(self.structure.folds)
            ]
        return f"(\n    {', '.join(names)},\n    {', '.join(arrays)},\n)"

    def _total(self, fold: Fold) -> str:
        """Return the dtype in which results are added up."""
        if self.partial and self.inner and _in_blocks(fold):
            return "float64"
        return fold.dtype

    # The kernel.

    def _body(self) -> str:
        self.lines = []
        self.depth = 1
        for dtype, count in self.slots.items():
            for i in range(count):
                self._line(f"c_{dtype}_{i} = c_{dtype}[{i}]")
        self._values(-1)
        if self.partial:
            self._open("for b in range(start, stop):")
            self._line("first = b * rows")
            self._line("last = min(first + rows, n0)")
            if self.accumulates:
                self._fill()
        for g in range(self.count):
            low, high = "0", f"n{g}"
            if g == 0:
                low, high = ("first", "last") if self.partial else ("start", "stop")
            if g == self.suffix:
                self._start()
            if g == self.count - 1:
                self._innermost(low, high)
            else:
                self._open(f"for i{g} in range({_range(low, high)}):")
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

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _open(self, text: str) -> None:
        self._line(text)
        self.depth += 1

    def _values(self, level: int) -> None:
        """Read the elements that do not change in the loops inside of ``level``."""
        for k, array in enumerate(self.arrays):
            if max(array.groups, default=-1) == level != self.count - 1:
                self._line(f"v{k} = {self._element(array)}")

    def _index(self, g: int) -> str:
        return "i" if g == self.count - 1 else f"i{g}"

    def _element(self, array: _Array) -> str:
        return f"{array.name}[{', '.join(map(self._index, array.groups)) or '0'}]"

    def _target(self, i: int) -> str:
        """Return where the result of a reduction is added up, inside the loops."""
        if not self.partial:
            return self._element(self.folded[i])
        return f"w{i}[{', '.join(['b', *map(self._index, self.kept)])}]"

    def _fill(self) -> None:
        """Begin the results that are added up where they are stored."""
        depth = self.depth
        for g in self.kept:
            self._open(f"for {self._index(g)} in range(n{g}):")
        for i, fold in enumerate(self.structure.folds):
            self._line(f"{self._target(i)} = {_start(fold, self._total(fold))}")
        self.depth = depth

    def _start(self) -> None:
        for i, fold in enumerate(self.structure.folds):
            if _in_blocks(fold):
                self._line(f"a{i} = 0.0")
                self._line(f"e{i} = 0.0")
            else:
                self._line(f"a{i} = {_start(fold, fold.dtype)}")

    def _innermost(self, low: str, high: str) -> None:
        if not self.blocked:
            self._open(f"for i in range({_range(low, high)}):")
            self._statements()
            self.depth -= 1
            return
        self._open(f"for k in range({low}, {high}, {BLOCK}):")
        for i, fold in enumerate(self.structure.folds):
            if _in_blocks(fold):
                self._line(f"p{i} = {fold.dtype}(0)")
        self._open(f"for i in range(k, min(k + {BLOCK}, {high})):")
        self._statements()
        self.depth -= 1
        for i, fold in enumerate(self.structure.folds):
            if _in_blocks(fold):
                block = f"p{i}" if fold.dtype == "float64" else f"float64(p{i})"
                self._add(i, block)
        self.depth -= 1

    def _add(self, i: int, term: str) -> None:
        """Add a term to a sum and keep what rounding loses (Knuth's two-sum)."""
        self._line(f"y{i} = {term}")
        self._line(f"s{i} = a{i} + y{i}")
        self._line(f"d{i} = s{i} - a{i}")
        self._line(f"e{i} = e{i} + ((a{i} - (s{i} - d{i})) + (y{i} - d{i}))")
        self._line(f"a{i} = s{i}")

    def _statements(self) -> None:
        last = self.count - 1
        s = self.structure

        def name(ref: Ref) -> str:
            if ref.kind == "row":
                return f"t{ref.index}"
            if ref.kind == "slot":
                return f"c_{ref.dtype}_{ref.index}"
            if ref.kind == "literal":
                return f"{ref.dtype}({ref.value!r})"
            return f"v{ref.index}"

        for k, array in enumerate(self.arrays):
            if last in array.groups:
                self._line(f"v{k} = {self._element(array)}")
        for k, row in enumerate(s.rows):
            self._line(f"t{k} = {expression(row, [name(ref) for ref in row.operands])}")
        for array, k in zip(self.stored, s.stored, strict=True):
            self._line(f"{self._element(array)} = t{k}")
        for i, fold in enumerate(s.folds):
            value = _operand(fold, name(fold.operand))
            if not self.inner:
                target = self._target(i)
                # Where all reduced axes have size 1, each result is one term.
                total = target if self.accumulates else _start(fold, fold.dtype)
                self._line(f"{target} = {_combine(fold, total, value)}")
            elif _in_blocks(fold):
                self._line(f"p{i} = add_any_order(p{i}, {value})")
            else:
                self._line(f"a{i} = {_combine(fold, f'a{i}', value)}")

    def _store(self) -> None:
        """Store the reductions of the inner loops."""
        for i, fold in enumerate(self.structure.folds):
            value = f"a{i}"
            if _in_blocks(fold):
                value = self._sum(i)
                if not self.accumulates and not self.partial:
                    value = self._mean(fold, value)
                if self._total(fold) != "float64":
                    value = f"{fold.dtype}({value})"
            target = self._target(i)
            if self.accumulates:
                value = _combine(fold, target, value)
            self._line(f"{target} = {value}")

    def _sum(self, i: int) -> str:
        """Return a sum with what rounding lost; after an overflow that is NaN, and left out."""
        self._line(f"z{i} = a{i} + e{i} if e{i} == e{i} else a{i}")
        return f"z{i}"

    def _mean(self, fold: Fold, total: str) -> str:
        """Return a sum divided by the number of its terms, where a mean is asked for."""
        if fold.op.name != "mean" or not any(self.structure.reduced):
            return total
        terms = " * ".join(f"n{g}" for g, r in enumerate(self.structure.reduced) if r)
        dtype = "float64" if self.inner else fold.dtype
        return f"{total} / {dtype}({terms})"

    def _divide(self) -> None:
        """Divide the sums of a row that were added up in place."""
        means = [i for i, fold in enumerate(self.structure.folds) if fold.op.name == "mean"]
        if not means:
            return
        for g in self.kept:
            self._open(f"for {self._index(g)} in range(n{g}):")
        for i in means:
            fold, target = self.structure.folds[i], self._target(i)
            self._line(f"{target} = {fold.dtype}({self._mean(fold, target)})")

    # What combines partial results.

    def _finish(self) -> str:
        self.lines = []
        self.depth = 1
        self._finish_rows() if self.kept else self._finish_scalars()
        return "\n".join(self.lines)

    def _finish_scalars(self) -> None:
        folds = self.structure.folds
        self._start()
        self._open("for b in range(start, stop):")
        for i, fold in enumerate(folds):
            if _in_blocks(fold):
                self._add(i, f"w{i}[b]")
            else:
                self._line(f"a{i} = {_combine(fold, f'a{i}', f'w{i}[b]')}")
        self.depth = 1
        for i, fold in enumerate(folds):
            value = self._mean(fold, self._sum(i)) if _in_blocks(fold) else f"a{i}"
            self._line(f"r{i}[0] = {_cast(value, fold.dtype, self._total(fold))}")

    def _finish_rows(self) -> None:
        folds = self.structure.folds
        inside = ", ".join(map(self._index, self.kept))
        self._open("for b in range(1, stop):")
        self._loops(self.kept)
        for i, fold in enumerate(folds):
            first, other = f"w{i}[0, {inside}]", f"w{i}[b, {inside}]"
            self._line(f"{first} = {_combine(fold, first, other)}")
        self.depth = 1
        self._loops(self.kept)
        for i, fold in enumerate(folds):
            value = self._mean(fold, f"w{i}[0, {inside}]")
            text = _cast(value, fold.dtype, self._total(fold))
            self._line(f"{self._element(self.folded[i])} = {text}")

    def _loops(self, groups: Iterable[int]) -> None:
        for g in groups:
            self._open(f"for {self._index(g)} in range(n{g}):")


def _range(low: str, high: str) -> str:
    return high if low == "0" else f"{low}, {high}"


def _cast(text: str, dtype: str, source: str) -> str:
    return text if dtype == source else f"{dtype}({text})"


def _in_blocks(fold: Fold) -> bool:
    return fold.op.name in ("sum", "mean") and np.dtype(fold.dtype).kind == "f"


def _operand(fold: Fold, name: str) -> str:
    source, target = np.dtype(fold.operand.dtype), np.dtype(fold.dtype)
    return convert(name, source, target)


def _combine(fold: Fold, total: str, value: str) -> str:
    op, dtype = fold.op.name, np.dtype(fold.dtype)
    if op in ("max", "min"):
        if dtype.kind == "f":
            return f"{op}imum({total}, {value})"
        if dtype.kind == "b":
            return f"{total} {'|' if op == 'max' else '&'} {value}"
        return f"{total} if {total} {'>' if op == 'max' else '<'} {value} else {value}"
    text = _COMBINE[op].format(total, value)
    return f"uint64({text})" if dtype.kind == "u" else text


def _start(fold: Fold, total: str) -> str:
    op, dtype = fold.op.name, np.dtype(total)
    if op in ("any", "all"):
        return "True" if op == "all" else "False"
    if dtype.kind == "b":
        return "False" if op == "max" else "True"
    if dtype.kind == "f":
        return f"{dtype.name}({_FLOAT_START[op]})"
    if op in ("max", "min"):
        info = np.iinfo(dtype)
        return f"{dtype.name}({info.min if op == 'max' else info.max})"
    return f"{dtype.name}({1 if op == 'prod' else 0})"
