"""The source of one kernel: nested loops with one statement for each op."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from relgraph.backends.numba.templates import convert, expression
from relgraph.ir.types import DTYPES
from relgraph.lowering.kernels import Fold, Ref, Structure

BLOCK = 512  # elements whose float sum may be added in any order; blocks are added in order

_FUNCTION = re.compile(r"(?<![.\w])([a-z_]\w*)\(")
_BUILTINS = frozenset({"abs", "min", "range", *DTYPES})

_COMBINE = {
    "sum": "{0} + {1}",
    "mean": "{0} + {1}",
    "prod": "{0} * {1}",
    "any": "{0} | {1}",
    "all": "{0} & {1}",
}
_FLOAT_START = {"sum": "0.0", "mean": "0.0", "prod": "1.0", "max": "-math.inf", "min": "math.inf"}


@dataclass
class _Array:
    """An array argument: its name, dtype, and which groups it spans."""

    name: str
    dtype: str
    spans: tuple[bool, ...]
    written: bool = False
    view: str = ""  # the name of its part that the innermost loop runs over

    @property
    def groups(self) -> list[int]:
        return [g for g, spanned in enumerate(self.spans) if spanned]


@dataclass
class KernelText:
    """The text of a kernel, line by line.

    Parameters
    ----------
    structure : Structure
        What to write.
    """

    structure: Structure
    lines: list[str] = field(default_factory=list)
    depth: int = 1

    def __post_init__(self) -> None:
        s = self.structure
        every = (True,) * len(s.reduced)
        kept = tuple(not r for r in s.reduced)
        self.arrays = [_Array(f"x{i}", dtype, spans) for i, (dtype, spans) in enumerate(s.arrays)]
        self.stored = [
            _Array(f"o{i}", s.rows[row].dtype, every, True) for i, row in enumerate(s.stored)
        ]
        self.folded = [_Array(f"r{i}", f.dtype, kept, True) for i, f in enumerate(s.folds)]
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

    def _refs(self) -> list[Ref]:
        rows = [ref for row in self.structure.rows for ref in row.operands]
        folds = [fold.operand for fold in self.structure.folds]
        return [ref for ref in rows + folds if ref.kind == "slot"]

    def signature(self) -> str:
        """Return the numba signature of the kernel."""
        types = ["int64"] * self.count
        types += [_type(a) for a in self.arrays]
        types += [f"{_scalar(dtype)}[::1]" for dtype in self.slots]
        types += [_type(a) for a in self.stored + self.folded]
        return f"void({', '.join(types)})"

    def parameters(self) -> str:
        """Return the parameter list."""
        names = [f"n{g}" for g in range(self.count)]
        names += [a.name for a in self.arrays]
        names += [f"c_{dtype}" for dtype in self.slots]
        names += [a.name for a in self.stored + self.folded]
        return ", ".join(names)

    def body(self) -> str:
        """Return the statements of the kernel."""
        self._prologue()
        for g in range(self.count):
            if g == self.suffix:
                self._start()
            if g == self.count - 1:
                self._innermost(g)
            else:
                self._line(f"for i{g} in range(n{g}):")
                self.depth += 1
                self._views(g)
        self.depth = 1 + self.suffix
        if self.inner:
            self._finish()
        self.depth = 1
        self._divide()
        return "\n".join(self.lines)

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _prologue(self) -> None:
        for dtype, count in self.slots.items():
            for i in range(count):
                self._line(f"c_{dtype}_{i} = c_{dtype}[{i}]")
        for array in self.arrays:
            if not array.groups:
                self._line(f"{array.name}_ = {array.name}[0]")
        for array, fold in zip(self.folded, self.structure.folds, strict=True):
            if self._accumulates():
                self._line(f"{array.name}.fill({_start(fold)})")
        self._views(-1)

    def _accumulates(self) -> bool:
        """Tell whether results of reductions are added to in their arrays."""
        return any(self.structure.reduced[: self.suffix])

    def _views(self, level: int) -> None:
        """Bind the rows, or the single elements, that the loops up to ``level`` determine."""
        last = self.count - 1
        for array in self.arrays + self.stored + self.folded:
            outer = [g for g in array.groups if g != last]
            if last in array.groups:
                array.view = f"{array.name}_" if outer else array.name
            elif array.written or not outer:
                continue
            if outer and max(outer) == level:
                index = ", ".join(f"i{g}" for g in outer)
                self._line(f"{array.name}_ = {array.name}[{index}]")

    def _start(self) -> None:
        for i, fold in enumerate(self.structure.folds):
            self._line(f"a{i} = {'0.0' if _in_blocks(fold) else _start(fold)}")
            if _in_blocks(fold):
                self._line(f"e{i} = 0.0")

    def _innermost(self, g: int) -> None:
        if not self.blocked:
            self._line(f"for i in range(n{g}):")
            self.depth += 1
            self._statements()
            self.depth -= 1
            return
        self._line(f"for b in range(0, n{g}, {BLOCK}):")
        self.depth += 1
        self._line(f"m = min({BLOCK}, n{g} - b)")
        for array in self.arrays + self.stored:
            if g in array.groups:
                self._line(f"{array.name}b = {array.view}[b : b + {BLOCK}]")
                array.view = f"{array.name}b"
        for i, fold in enumerate(self.structure.folds):
            if _in_blocks(fold):
                self._line(f"p{i} = {fold.dtype}(0)")
        self._line("for i in range(m):")
        self.depth += 1
        self._statements()
        self.depth -= 1
        for i, fold in enumerate(self.structure.folds):
            if _in_blocks(fold):
                self._add_block(i)
        self.depth -= 1

    def _add_block(self, i: int) -> None:
        """Add the sum of a block and keep what rounding loses (Knuth's two-sum)."""
        block = f"p{i}"
        if self.structure.folds[i].dtype != "float64":
            block = f"w{i}"
            self._line(f"{block} = float64(p{i})")
        self._line(f"s{i} = a{i} + {block}")
        self._line(f"d{i} = s{i} - a{i}")
        self._line(f"e{i} = e{i} + ((a{i} - (s{i} - d{i})) + ({block} - d{i}))")
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

        for array in self.arrays:
            if last in array.groups:
                self._line(f"v{array.name[1:]} = {array.view}[i]")
            else:
                self._line(f"v{array.name[1:]} = {array.name}_")
        for k, row in enumerate(s.rows):
            self._line(f"t{k} = {expression(row, [name(ref) for ref in row.operands])}")
        for array, k in zip(self.stored, s.stored, strict=True):
            self._line(f"{array.view}[i] = t{k}")
        for i, fold in enumerate(s.folds):
            value = _operand(fold, name(fold.operand))
            if not self.inner:
                target = f"{self.folded[i].view}[i]"
                # Where all reduced axes have size 1, each result is one term.
                total = target if self._accumulates() else _start(fold)
                self._line(f"{target} = {_combine(fold, total, value)}")
            elif _in_blocks(fold):
                self._line(f"p{i} = add_any_order(p{i}, {value})")
            else:
                self._line(f"a{i} = {_combine(fold, f'a{i}', value)}")

    def _finish(self) -> None:
        """Store the reductions of the inner loops."""
        for i, fold in enumerate(self.structure.folds):
            array = self.folded[i]
            value = f"a{i}"
            if _in_blocks(fold):
                # After an overflow the lost part is NaN, and the sum is right without it.
                self._line(f"a{i} = a{i} + e{i} if e{i} == e{i} else a{i}")
                value = f"{fold.dtype}(a{i})" if fold.dtype != "float64" else value
            index = ", ".join(f"i{g}" for g in array.groups) or "0"
            target = f"{array.name}[{index}]"
            if self._accumulates():
                value = _combine(fold, target, value)
            self._line(f"{target} = {value}")

    def _divide(self) -> None:
        for array, fold in zip(self.folded, self.structure.folds, strict=True):
            if fold.op.name == "mean" and any(self.structure.reduced):
                count = " * ".join(f"n{g}" for g, r in enumerate(self.structure.reduced) if r)
                self._line(f"{array.name}f = {array.name}.reshape({array.name}.size)")
                self._line(f"for i in range({array.name}f.size):")
                self._line(f"    {array.name}f[i] = {array.name}f[i] / {fold.dtype}({count})")


def functions_used(text: str) -> list[str]:
    """Return the names of the scalar functions that a kernel's text calls."""
    return sorted(set(_FUNCTION.findall(text)) - _BUILTINS)


def _scalar(dtype: str) -> str:
    return "boolean" if dtype == "bool" else dtype


def _type(array: _Array) -> str:
    rank = max(1, len(array.groups))
    return f"{_scalar(array.dtype)}[{':, ' * (rank - 1)}::1]"


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


def _start(fold: Fold) -> str:
    op, dtype = fold.op.name, np.dtype(fold.dtype)
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
