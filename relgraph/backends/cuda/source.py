"""Parts of all kernel texts: statements, offsets, reductions and parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relgraph.backends.cuda.templates import convert, expression
from relgraph.lowering.kernels import Fold, Statement, Structure
from relgraph.lowering.refs import Ref
from relgraph.ops.elementwise import add, logical_and, logical_or, maximum, minimum, multiply
from relgraph.ops.reductions import Mean

SLOTS = 24  # the most constants that are kernel parameters; more are passed in an array


@dataclass
class Text:
    """The text of a kernel, and what a launch needs to know of it.

    Attributes
    ----------
    lines
        Its statements.
    parameters
        The name and the type of each parameter.
    names
        The names that it uses in addition to the primitive table.
    """

    lines: list[str] = field(default_factory=list)
    parameters: list[tuple[str, str]] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    depth: int = 1

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def open(self, text: str) -> None:
        """Add a line that opens a block."""
        self.line(text)
        self.depth += 1

    def close(self) -> None:
        """End a block."""
        self.depth -= 1

    @contextmanager
    def each(self, name: str, count: str, threads: int, index: str = "int64") -> Iterator[None]:
        """Write a loop over a range, whose numbers the threads of the grid share."""
        self.line(f"{name} = {index}(cuda.blockIdx.x * {threads} + cuda.threadIdx.x)")
        self.open(f"while {name} < {count}:")
        yield
        self.line(f"{name} = {index}({name} + cuda.gridDim.x * {threads})")
        self.close()

    def module(self) -> tuple[str, str]:
        """Return the name of the kernel, which is a hash of its text, and its text."""
        head = f"def NAME({', '.join(name for name, _ in self.parameters)}):"
        body = "\n".join([head, *self.lines, ""])
        digest = hashlib.sha256((body + repr(self.types())).encode()).hexdigest()[:16]
        name = f"rgc_{digest}"
        return name, body.replace("def NAME(", f"def {name}(")

    def types(self) -> list[str]:
        return [kind for _, kind in self.parameters]


def as_parameters(counts: dict[str, int]) -> bool:
    """Return True if constants are parameters; a kernel with many of them gets arrays."""
    return sum(counts.values()) <= SLOTS


def add_slots(text: Text, counts: dict[str, int]) -> None:
    """Add the constants to the parameters of a kernel, and bind them to names."""
    for dtype, count in counts.items():
        names = [f"c_{dtype}_{i}" for i in range(count)]
        if as_parameters(counts):
            text.parameters += [(name, dtype) for name in names]
            continue
        array = f"c_{dtype}"
        text.parameters.append((array, f"{dtype}[::1]"))
        for i, name in enumerate(names):
            text.line(f"{name} = {array}[{i}]")


def add_operands(text: Text, structure: Structure, kind: str) -> None:
    """Add the operands of a loop nest over elements to the parameters of a kernel.

    They are the sizes of the groups, the arrays, the constants and the elementwise results.  The
    kernel reads arrays of one element before the loops.
    """
    text.parameters += [(f"n{g}", kind) for g in range(len(structure.reduced))]
    text.parameters += [(f"x{i}", f"{d}[::1]") for i, (d, _) in enumerate(structure.arrays)]
    add_slots(text, structure.slot_counts())
    text.parameters += [
        (f"o{i}", f"{structure.rows[row].dtype}[::1]") for i, row in enumerate(structure.stored)
    ]
    for i, (_, spans) in enumerate(structure.arrays):
        if not any(spans):
            text.line(f"v{i} = x{i}[0]")


def operand_name(ref: Ref, lane: str = "") -> str:
    """Return the name of an operand in one lane of a kernel."""
    if ref.kind == "row":
        return f"t{ref.index}{lane}"
    if ref.kind == "slot":
        return f"c_{ref.dtype}_{ref.index}"
    if ref.kind == "literal":
        return f"{ref.dtype}({ref.value!r})" if ref.dtype != "bool" else repr(bool(ref.value))
    return f"v{ref.index}{lane}"


def statements(text: Text, rows: Sequence[Statement], lane: str = "") -> None:
    """Write one statement for each row, for one lane."""
    for k, row in enumerate(rows):
        names = [operand_name(ref, lane) for ref in row.operands]
        text.line(f"t{k}{lane} = {expression(row, names)}")


def offset(groups: Sequence[int], index: str) -> str:
    """Write the offset of an element in an array that spans some groups."""
    if not groups:
        return "0"
    result = f"{index}{groups[0]}"
    for g in groups[1:]:
        factor = f"({result})" if "+" in result else result
        result = f"{factor} * n{g} + {index}{g}"
    return result


# Reductions.

_COMBINE = {
    add: "{0} + {1}", multiply: "{0} * {1}", logical_or: "{0} | {1}", logical_and: "{0} & {1}",
}  # fmt: skip


def accumulator(fold: Fold) -> str:
    """Return the dtype in which a reduction accumulates; a sum of float32 uses float64."""
    kind = np.dtype(fold.dtype)
    if kind.kind == "f":
        return "float64" if fold.op.combiner in (add, multiply) else kind.name
    if kind.name in ("int64", "uint64"):
        return kind.name
    return "int64" if kind.name == "uint32" else "int32"


def joined(fold: Fold, a: str, b: str) -> str:
    """Write the combination of two values of a reduction; ``b`` must be a name."""
    op, dtype = fold.op.combiner, accumulator(fold)
    if op in (maximum, minimum):
        test = f"{a} {'>' if op is maximum else '<'} {b}"
        if dtype.startswith("float"):
            test = f"({test}) | ({a} != {a})"  # NaN stays
        return f"{dtype}(cuda.selp({test}, {a}, {b}))"
    return f"{dtype}({_COMBINE[op].format(a, b)})"


def start(fold: Fold) -> str:
    """Write the value of a reduction over no elements."""
    op, dtype, kind = fold.op.combiner, accumulator(fold), np.dtype(fold.dtype)
    if op in (maximum, minimum):
        if kind.kind == "f":
            return f"{dtype}({'-' if op is maximum else ''}math.inf)"
        if kind.kind == "b":
            return f"{dtype}({0 if op is maximum else 1})"
        info = np.iinfo(kind)
        return f"{dtype}({info.min if op is maximum else info.max})"
    return f"{dtype}({op.identity:d})"


def term(fold: Fold, name: str) -> str:
    """Write the contribution of one element to a reduction."""
    text = convert(name, np.dtype(fold.operand.dtype), np.dtype(fold.dtype))
    return f"{accumulator(fold)}({text})"


def finished(fold: Fold, name: str, count: str) -> str:
    """Write the result of a reduction from its accumulator and the number of elements."""
    if isinstance(fold.op, Mean):
        return f"{fold.dtype}({name} / float64({count}))"
    return f"({name} != 0)" if fold.dtype == "bool" else f"{fold.dtype}({name})"
