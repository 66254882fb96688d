"""The loop language as the text of a kernel.

One thread runs a function.  If its last statement is a loop over independent series, as
:mod:`relgraph.lowering.loops.batches` writes it, the threads of the grid share its iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.primitives import group_reduce
from relgraph.backends.cuda.templates import expression, supported
from relgraph.ir.node import apply, as_variable, make_input
from relgraph.ir.op import Op as GraphOp
from relgraph.ir.types import TensorType
from relgraph.lowering.kernels import Statement as Row
from relgraph.lowering.loops.nodes import (
    Body,
    Buffer,
    Carry,
    Const,
    Function,
    If,
    Let,
    Load,
    Loop,
    Op,
    Result,
    Scalar,
    Statement,
    Store,
    Var,
    While,
    buffers_of,
)
from relgraph.lowering.loops.rules import Unsupported
from relgraph.lowering.refs import Ref
from relgraph.ops.elementwise import add, maximum, multiply

# The expressions of the ops that graphs do not have.
_PRIMITIVES = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} // {1}",
    "rem": "{0} % {1}", "min": "min({0}, {1})", "max": "max({0}, {1})", "less": "{0} < {1}",
    "equal": "{0} == {1}", "and": "{0} & {1}", "or": "{0} | {1}", "not": "not {0}",
    "select": "{1} if {0} else {2}",
}  # fmt: skip
BARRIER = "cuda.syncthreads()"
_SUMS = {"float64": "add({0}, {1})", "float32": "addf({0}, {1})"}


def printed(function: Function, threads: int = 0) -> Text:
    """Return a function of the loop language as a kernel.

    Parameters
    ----------
    function : Function
        The function.
    threads : int
        The threads of a block, of a grid that shares the iterations of the last statement, after
        the caller has cleared the status; 0 for one thread, which runs the whole function.

    Returns
    -------
    Text
        Its parameters are the integers and the arrays of the function, without dimensions.

    Raises
    ------
    Unsupported
        If an op or a statement has no spelling on a GPU.
    """
    text = kernel(function)
    for b in sorted(buffers_of(function.body) - set(function.arrays), key=name_of):
        kind = "bool_" if b.dtype == "bool" else b.dtype
        text.line(f"{name_of(b)} = cuda.local.array({size_of(b)}, {kind})")
    printer = Printer(text)
    if not threads:
        printer.body(function.body)
        return text
    *before, loop = function.body
    assert isinstance(loop, Loop)
    # The caller clears the status: a thread could clear what another one has set.
    private = [s for s in before if not isinstance(s, Store) or s.buffer.space == "stack"]
    printer.body(tuple(private))
    first = f"cuda.blockIdx.x * {threads} + cuda.threadIdx.x"
    printer.iterate(loop, first, f"cuda.gridDim.x * {threads}")
    return text


def combined(op: str | GraphOp, dtype: str, one: str, other: str) -> str:
    """Return the expression of two totals of threads as one."""
    if op in ("sum", add, multiply):
        return f"{dtype}({one} {'*' if op is multiply else '+'} {other})"
    test = f"{one} {'>' if op in ('max', maximum) else '<'} {other}"
    if dtype.startswith("float"):
        test = f"({test}) | ({one} != {one})"  # NaN stays
    return f"{dtype}(cuda.selp({test}, {one}, {other}))"


def kernel(function: Function) -> Text:
    """Return a kernel without statements, of the parameters of a function."""
    text = Text(names={"bool_": np.bool_})
    text.parameters = [(x.name, "int64") for x in function.integers]
    text.parameters += [(name_of(b), f"{b.dtype}[::1]") for b in function.arrays]
    return text


def name_of(buffer: Buffer) -> str:
    """Return the name of a buffer, which no variable has."""
    return buffer.name.upper()


def size_of(buffer: Buffer) -> int:
    """Return the number of elements of a buffer on the stack, at least 1."""
    return max(prod([n.value for n in buffer.shape]), 1)  # type: ignore[attr-defined]


class Printer:
    """Writes the statements that one thread runs."""

    index = "int64"  # the type of indices

    def __init__(self, text: Text) -> None:
        self.text = text
        self.count = 0
        self.names: dict[Var, str] = {}  # of variables that have another name here

    def name(self, x: Var) -> str:
        """Return the name of a variable."""
        return self.names.get(x, x.name)

    def bind(self, x: Var) -> str:
        """Return the name of a variable that is bound now."""
        return x.name

    # Statements.

    def body(self, body: Body) -> None:
        """Write statements."""
        for statement in body:
            self.statement(statement)

    def statement(self, s: Statement) -> None:
        """Write a statement."""
        if isinstance(s, Let):
            value = self.expression(s.value)
            self.text.line(f"{self.bind(s.var)} = {value}")
        elif isinstance(s, Store):
            value = self.scalar(s.value)
            self.text.line(f"{self.element(s.buffer, s.index)} = {value}")
        elif isinstance(s, Loop):
            self.loop(s)
        elif isinstance(s, While):
            self.start(s.carried)
            self.text.open("while True:")
            self.body(s.head)
            self.text.open(f"if not {self.scalar(s.test)}:")
            self.text.line("break")
            self.text.close()
            self.body(s.body)
            self.step(s.carried)
            self.text.close()
        elif isinstance(s, If):
            self.text.open(f"if {self.scalar(s.test)}:")
            self.branch(s.then, s.results, [r.then for r in s.results])
            self.text.close()
            if s.other or s.results:
                self.text.open("else:")
                self.branch(s.other, s.results, [r.other for r in s.results])
                self.text.close()
        else:
            raise Unsupported

    def loop(self, s: Loop) -> None:
        """Write a loop over integers."""
        self.iterate(s, self.scalar(s.low), "1")

    def iterate(self, s: Loop, first: str, step: str) -> None:
        """Write every ``step``-th iteration from the first one on."""
        high = self.scalar(s.high)
        self.start(s.carried)
        index = self.bind(s.index)
        self.text.line(f"{index} = {self.index}({first})")
        self.text.open(f"while {index} < {high}:")
        self.body(s.body)
        self.step(s.carried)
        self.text.line(f"{index} = {self.index}({index} + {step})")
        self.text.close()

    def joined(self, op: str | GraphOp, dtype: str, value: str, threads: int) -> str:
        """Return the expression of a total of all threads of a group."""
        name = f"join_{op if isinstance(op, str) else op.name}_{dtype}"
        self.text.names[name] = group_reduce(combined(op, dtype, "value", "other"), dtype, threads)
        return f"{name}({value})"

    def start(self, carried: Sequence[Carry]) -> None:
        """Write the first values."""
        starts = [self.expression(c.start) for c in carried]
        for c, start in zip(carried, starts, strict=True):
            self.text.line(f"{self.bind(c.var)} = {start}")

    def step(self, carried: Sequence[Carry]) -> None:
        """Write the next values, all of which read the values so far."""
        pairs = [(self.name(c.var), self.scalar(c.next)) for c in carried]
        pairs = [(name, value) for name, value in pairs if name != value]
        if pairs:
            names, values = zip(*pairs, strict=True)
            self.text.line(f"{', '.join(names)} = {', '.join(values)}")

    def branch(self, body: Body, results: Sequence[Result], values: Sequence[Scalar]) -> None:
        """Write one of two bodies, and the values at its end."""
        self.body(body)
        ends = [self.expression(value) for value in values]
        for r, end in zip(results, ends, strict=True):
            self.text.line(f"{self.bind(r.var)} = {end}")
        if not body and not results:
            self.text.line("pass")

    # Scalars.

    def scalar(self, x: Scalar) -> str:
        """Return a name or a constant, after writing what computes it."""
        if isinstance(x, Var | Const):
            return self.expression(x)
        self.count += 1
        name = f"_{self.count}"
        self.text.line(f"{name} = {self.expression(x)}")
        return name

    def expression(self, x: Scalar) -> str:
        """Return the right-hand side of a statement."""
        if isinstance(x, Var):
            return self.name(x)
        if isinstance(x, Const):
            return _constant(x)
        if isinstance(x, Load):
            return self.element(x.buffer, x.index)
        assert isinstance(x, Op)
        if isinstance(x.op, str) and x.op not in ("select", "equal"):
            names = [self.number(y) for y in x.args]
        else:
            names = [self.scalar(y) for y in x.args]
        if isinstance(x.op, str):
            template = _SUMS[x.dtype] if x.op == "sum" else _PRIMITIVES[x.op]
            text = template.format(*names)
            kind = self.index if x.dtype == "int64" else x.dtype
            return text if x.dtype == "bool" else f"{kind}({text})"
        return expression(_row(x), names)

    def number(self, x: Scalar) -> str:
        """Return an index, a number of which takes the type of the others."""
        return x.text if isinstance(x, Const) and x.dtype == "int64" else self.scalar(x)

    def element(self, buffer: Buffer, at: Sequence[Scalar]) -> str:
        """Return an element of an array without dimensions."""
        offset = "0"
        for k, (x, size) in enumerate(zip(at, buffer.shape, strict=True)):
            index = self.number(x)
            if k == 0 or offset == "0":
                offset = index
                continue
            factor = self.number(size)
            offset = f"({offset}) * {factor} + {index}" if "+" in offset else (
                f"{offset} * {factor} + {index}"
            )  # fmt: skip
        return f"{name_of(buffer)}[{offset}]"


def _constant(x: Const) -> str:
    if x.dtype == "bool":
        return x.text
    special = {"nan": "math.nan", "inf": "math.inf", "-inf": "-math.inf"}
    return f"{x.dtype}({special.get(x.text, x.text)})"


def _row(x: Op) -> Row:
    """Return the statement of a kernel that means an op of scalars."""
    assert isinstance(x.op, GraphOp)
    last = x.args[-1].value if isinstance(x.args[-1], Const) else None
    dtypes = tuple([y.dtype for y in x.args])
    if not _is_supported(x.op, dtypes, last):
        raise Unsupported
    refs = [Ref("row", i, name) for i, name in enumerate(dtypes)]
    if last in (0.5, 1, 2) and len(refs) > 1:  # powers that need no function
        refs[-1] = Ref("literal", 0, dtypes[-1], last)
    return Row(x.op, tuple(refs), x.dtype)


@lru_cache(maxsize=4096)
def _is_supported(op: GraphOp, dtypes: tuple[str, ...], last: object) -> bool:
    operands = [make_input(f"x{i}", TensorType(name)) for i, name in enumerate(dtypes)]
    constant = () if last is None else (as_variable(np.asarray(last, dtypes[-1])),)
    return supported(apply(op, (*operands[: len(dtypes) - len(constant)], *constant)))


__all__ = ["BARRIER", "Printer", "combined", "kernel", "name_of", "printed", "size_of"]
