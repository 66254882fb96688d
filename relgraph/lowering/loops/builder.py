"""Statements in the order in which they are written, with variables named and constants folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from relgraph.ir.op import Op as GraphOp
from relgraph.lowering.loops.nodes import (
    Buffer,
    Carry,
    Const,
    If,
    Join,
    Let,
    Load,
    Loop,
    Op,
    Prefix,
    Result,
    Scalar,
    Statement,
    Store,
    Stream,
    Var,
    While,
    const,
    index,
)
from relgraph.lowering.loops.ranges import Ranges
from relgraph.ops.elementwise import add, multiply, subtract
from relgraph.ops.elementwise.instances import maximum, minimum

ZERO, ONE = const(0, "int64"), const(1, "int64")


class TooManyStatements(Exception):
    """A function that would take LLVM too long to compile."""


_FAR = 1 << 48  # beyond the end of every axis
_INDICES = {add: "add", subtract: "sub", multiply: "mul", minimum: "min", maximum: "max"}
"""The ops of graphs that are primitives for integers that do not overflow."""
_EXACT = (minimum, maximum)  # for all integers
_TRACKED = frozenset({"add", "sub", "mul", "div", "rem", "min", "max", "select"})


class Region:
    """A loop or a branch that is being written.

    Attributes
    ----------
    index : Var
        The index of a ``for`` loop.
    vars : list of Var
        The values that it carries; after the block, the last ones.
    next : list of Scalar
        The values that go to the next iteration, to be set within the block.
    apart : bool
        Whether the iterations of a ``for`` loop are apart, which may be known only at its end.
    """

    def __init__(self, index: Var, variables: Sequence[Var], apart: bool = False) -> None:
        self.index = index
        self.vars: list[Scalar] = list(variables)
        self.apart = apart
        self.next: list[Scalar] = []


class Builder:
    """Writes the body of a function.

    ``budget`` limits the statements, since the time to compile a body grows with them.
    """

    def __init__(self, budget: int) -> None:
        self._blocks: list[list[Statement]] = [[]]
        self._bound: list[dict[Scalar, Scalar]] = [{}]  # what open blocks have computed
        self._names: Counter[str] = Counter()
        self._left = budget
        self.ranges = Ranges()
        self._aside = ""

    @property
    def body(self) -> tuple[Statement, ...]:
        """The statements, when all blocks are closed."""
        (block,) = self._blocks
        return tuple(block)

    def share_names(self, other: Builder) -> None:
        """Take names from another builder, whose statements stand before those of this one."""
        self._names = other._names

    def fresh(self, name: str, dtype: str = "int64") -> Var:
        """Return a new variable."""
        name = self._aside + name
        self._names[name] += 1
        return Var(f"{name}{self._names[name]}", dtype)

    def stack(self, name: str, dtype: str, shape: Sequence[int]) -> Buffer:
        """Return a new buffer on the stack."""
        variable = self.fresh(name, dtype)
        return Buffer(variable.name, dtype, tuple(map(index, shape)), "stack")

    def write(self, statement: Statement) -> None:
        """Add a statement.

        Raises
        ------
        TooManyStatements
            If the budget is used up.
        """
        self._left -= 1
        if self._left < 0:
            raise TooManyStatements
        self._blocks[-1].append(statement)

    def first(self, statement: Statement) -> None:
        """Add a statement before the outermost block that is open, such as a loop."""
        self._left -= 1
        self._blocks[0].append(statement)

    def once(self, *key: Scalar) -> bool:
        """Return True, but for a key that an open block has asked for before."""
        name = Op("once", key, "bool")
        if any([name in bound for bound in self._bound]):
            return False
        self._bound[-1][name] = name
        return True

    @contextmanager
    def aside(self) -> Iterator[list[Statement]]:
        """Collect statements without writing them; their variables have names of their own."""
        left, aside, self._aside = self._left, self._aside, "~"
        statements: list[Statement] = []
        with self._block(statements):
            yield statements
        self._left, self._aside = left, aside

    # Scalars.

    def let(self, value: Scalar, name: str = "v") -> Scalar:
        """Return a constant or a variable with a value."""
        if isinstance(value, Const | Var):
            return value
        pure = isinstance(value, Op)
        if pure:
            for bound in self._bound:
                if value in bound:
                    return bound[value]
        variable = self.fresh(name, value.dtype)
        self.write(Let(variable, value))
        if pure:
            self._bound[-1][value] = variable
        return variable

    def op(self, op: str | GraphOp, *args: Scalar, dtype: str) -> Scalar:
        """Return an op of scalars, computed now if they are constants or their order is known."""
        if isinstance(op, GraphOp):
            if all([isinstance(x, Const) for x in args]):
                with np.errstate(all="ignore"):
                    values = [np.dtype(x.dtype).type(x.value) for x in args]  # type: ignore[attr-defined]
                    return const(np.asarray(op.perform(*values), dtype)[()], dtype)
            primitive = self.primitive(op, args, dtype)
            if primitive is None:
                return self.let(Op(op, args, dtype))
            op = primitive
        folded = self._folded(op, args, dtype)
        if folded is not None:
            return folded
        result = self.let(Op(op, args, dtype))
        if dtype == "int64" and op in _TRACKED:
            self.ranges.result(result, op, args)
        return result

    def primitive(self, op: GraphOp, args: Sequence[Scalar], dtype: str) -> str | None:
        """Return the primitive of indices that an op of a graph is for these integers, or None."""
        name = _INDICES.get(op)
        if name is None or {dtype, *[x.dtype for x in args]} != {"int64"}:
            return None
        return name if op in _EXACT or self.ranges.are_known(*args) else None

    def _folded(self, op: str, args: Sequence[Scalar], dtype: str) -> Scalar | None:
        folded = _folded(op, args, dtype)
        if folded is not None or op not in ("add", "sub", "less", "min", "max"):
            return folded
        a, b = args
        if op == "less":
            if self.ranges.less(a, b):
                return const(True, "bool")
            return const(False, "bool") if self.ranges.at_most(b, a) else None
        if dtype != "int64":
            return None
        if op in ("min", "max"):
            first, last = (a, b) if op == "min" else (b, a)
            if self.ranges.at_most(first, last):
                return a
            return b if self.ranges.at_most(last, first) else None
        simpler = self.ranges.simpler(op, a, b)
        if simpler is None:
            return None
        x, number = simpler
        if x is None or not number:
            return index(number) if x is None else x
        sign, number = ("add", number) if number > 0 else ("sub", -number)
        if (op, a, b) == (sign, x, index(number)):
            return None
        return self.op(sign, x, index(number), dtype="int64")

    def apply(self, op: GraphOp, *args: Scalar) -> Scalar:
        """Return an elementwise op whose result has the dtype of its operands."""
        return self.op(op, *args, dtype=args[0].dtype)

    def load(self, buffer: Buffer, at: Sequence[Scalar]) -> Scalar:
        """Return an element, as it is now."""
        return self.let(Load(buffer, tuple(at)), "e")

    def store(self, buffer: Buffer, at: Sequence[Scalar], value: Scalar) -> None:
        """Write an element."""
        self.write(Store(buffer, tuple(at), value))

    def stream(self, buffer: Buffer, at: Sequence[Scalar], source: Buffer, count: Scalar) -> None:
        """Copy elements of a buffer on the stack past the cache."""
        self.write(Stream(buffer, tuple(at), source, count))

    # Indices.

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """Return the sum of indices."""
        return self.op("add", a, b, dtype="int64")

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        """Return the difference of indices."""
        return self.op("sub", a, b, dtype="int64")

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        """Return the product of indices."""
        return self.op("mul", a, b, dtype="int64")

    def least(self, a: Scalar, b: Scalar) -> Scalar:
        """Return the smaller index."""
        return self.op("min", a, b, dtype="int64")

    # Blocks.

    @contextmanager
    def _block(self, statements: list[Statement]) -> Iterator[None]:
        self._blocks.append(statements)
        self._bound.append({})
        yield
        self._blocks.pop()
        self._bound.pop()

    @contextmanager
    def loop(
        self,
        low: Scalar,
        high: Scalar,
        starts: Sequence[Scalar] = (),
        *,
        apart: bool = False,
        step: int = 1,
        level: str = "",
        name: str = "i",
    ) -> Iterator[Region]:
        """Write a ``for`` loop; values start as ``starts`` and go on as ``region.next``."""
        variables = [self.fresh("c", x.dtype) for x in starts]
        region = Region(self.fresh(name), variables, apart)
        if level != "steps":
            self.ranges.index(region.index, low, high)
        statements: list[Statement] = []
        with self._block(statements):
            yield region
        carried = tuple(map(Carry, variables, starts, region.next))
        body = tuple(statements)
        self.write(Loop(region.index, low, high, body, carried, region.apart, step, level))

    def join(self, value: Scalar, op: GraphOp) -> Scalar:
        """Return the values that the threads of a group have, combined."""
        variable = self.fresh("j", value.dtype)
        self.write(Join(variable, value, op))
        return variable

    def prefix(self, value: Scalar, start: Scalar, op: GraphOp) -> tuple[Scalar, Scalar]:
        """Return what the threads before this one have, and what all have; see ``Prefix``."""
        before, after = self.fresh("j", value.dtype), self.fresh("j", value.dtype)
        self.write(Prefix(before, after, value, start, op))
        return before, after

    def loop_while(self, starts: Sequence[Scalar], head: Any, body: Any) -> list[Scalar]:
        """Write a ``while`` loop, and return the last values.

        ``head`` returns the test, and ``body`` the next values, of the values so far.
        """
        variables = [self.fresh("c", x.dtype) for x in starts]
        first: list[Statement] = []
        with self._block(first):
            test = head(variables)
        statements: list[Statement] = []
        with self._block(statements):
            following = body(variables)
        carried = tuple(map(Carry, variables, starts, following))
        self.write(While(carried, tuple(first), test, tuple(statements)))
        return list(variables)

    def choice(self, test: Scalar, then: Any, other: Any) -> list[Scalar]:
        """Write a choice, and return the values that the branch which runs returns."""
        sides: list[tuple[list[Statement], list[Scalar]]] = []
        for branch, holds in ((then, True), (other, False)):
            statements: list[Statement] = []
            with self._block(statements), self.ranges.assumed(self._comparison(test), holds):
                sides.append((statements, branch()))
        (yes, a), (no, b) = sides
        variables = [self.fresh("r", x.dtype) for x in a]
        results = tuple(map(Result, variables, a, b))
        self.write(If(test, tuple(yes), tuple(no), results))
        return list(variables)

    def _comparison(self, test: Scalar) -> Op | None:
        """Return the op that computes a truth, as far as it is known."""
        if isinstance(test, Op):
            return test
        found = [op for bound in self._bound for op, x in bound.items() if x is test]
        return found[0] if found and isinstance(found[0], Op) else None


def part(b: Builder, size: Scalar, bounds: slice) -> tuple[Scalar, Scalar]:
    """Return the first index and the length of a slice of an axis, as Python's ``slice.indices``.

    Parameters
    ----------
    b : Builder
        What computes them.
    size : Scalar
        The size of the axis.
    bounds : slice
        Its bounds are integers or None.
    """
    if isinstance(size, Const):
        positions = range(*bounds.indices(size.value))
        return index(positions.start), index(len(positions))
    step = 1 if bounds.step is None else max(-_FAR, min(bounds.step, _FAR))
    least, most = (ZERO, size) if step > 0 else (index(-1), b.sub(size, ONE))
    if bounds.start is bounds.stop is None and abs(step) == 1:
        return least if step > 0 else most, size

    def inside(bound: int | None, default: Scalar) -> Scalar:
        if bound is None:
            return default
        bound = max(-_FAR, min(bound, _FAR))
        if bound >= 0:
            return b.least(index(bound), most)
        return b.op("max", b.add(size, index(bound)), least, dtype="int64")

    ends = (least, most) if step > 0 else (most, least)
    start, stop = inside(bounds.start, ends[0]), inside(bounds.stop, ends[1])
    distance = b.sub(stop, start) if step > 0 else b.sub(start, stop)
    above = b.add(b.op("max", distance, ZERO, dtype="int64"), index(abs(step) - 1))
    return start, b.op("div", above, index(abs(step)), dtype="int64")


def _folded(op: str, args: Sequence[Scalar], dtype: str) -> Scalar | None:
    """Return a simpler scalar than a primitive of these operands, or None."""
    if op == "select":
        test, yes, no = args
        if yes is no:
            return yes
        return (yes if test.value else no) if isinstance(test, Const) else None
    if op == "not":
        (a,) = args
        return const(not a.value, dtype) if isinstance(a, Const) else None
    if len(args) != 2 or dtype[0] == "f":
        return None
    a, b = args
    if op in ("and", "or") and isinstance(b, Const):
        a, b = b, a
    if op in ("and", "or") and isinstance(a, Const):
        return b if a.value == (op == "and") else a
    if isinstance(a, Const) and isinstance(b, Const):
        return const(_FOLD[op](a.value, b.value), dtype)
    if op == "add":
        return b if a is ZERO else a if b is ZERO else None
    if op == "sub":
        return a if b is ZERO else ZERO if a is b else None
    if op == "mul":
        return ZERO if ZERO in (a, b) else b if a is ONE else a if b is ONE else None
    if op == "div":
        return a if b is ONE else None
    if op == "rem":
        return ZERO if b is ONE else None
    if op in ("min", "max"):
        return a if a is b else None
    return None


_FOLD: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "rem": lambda a, b: a % b,
    "min": min,
    "max": max,
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}

__all__ = ["ONE", "ZERO", "Builder", "Region", "TooManyStatements", "part"]
