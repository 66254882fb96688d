"""The loop language as LLVM IR.

A function takes ``(arrays, integers, start, stop)``: two tables, and a range.  Each ``Op`` is an
instruction, or the expression by which the row of an elementwise op spells it.  Functions that are
not single instructions are linked as bitcode from :mod:`.scalars`: relgraph prints the LLVM IR of
elementary functions, and numba compiles the rest.

Loops whose iterations are apart are declared parallel, so that LLVM runs them on vectors without
tests for arrays that overlap.  Compiling a whole loop with numba would take ten times as long, give
no better code, and add such tests.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.backends.numba.expressions import Expressions
from relgraph.backends.numba.instructions import (
    TYPES,
    Module,
    Provider,
    Translation,
    Value,
    memory_type,
)
from relgraph.backends.numba.lapack_addresses import PREFIX
from relgraph.backends.numba.templates import expression
from relgraph.ir.op import Op as GraphOp
from relgraph.lowering.kernels import Statement as Row
from relgraph.lowering.loops.nodes import (
    START,
    STOP,
    Address,
    Alias,
    Allocate,
    Body,
    Buffer,
    Call,
    Carry,
    Const,
    Function,
    If,
    Launch,
    Leave,
    Let,
    Load,
    Loop,
    Op,
    Scalar,
    Statement,
    Store,
    Stream,
    Var,
    While,
    const,
)
from relgraph.lowering.refs import Ref

LINE = 64  # bytes of a line of the cache
LONG = 16  # iterations of a loop that LLVM would write out before it looks for vectors
LANES = 8  # iterations of a loop that is a vector or two
ALLOCATE, LAUNCH = 0, 1  # the functions in the table of the run time
FOLLOWUP = '!"llvm.loop.vectorize.followup_vectorized"'
_INTEGERS = {"add": "add nsw", "sub": "sub nsw", "mul": "mul nsw", "div": "udiv", "rem": "urem"}
_TRUTHS = {"and": "and", "or": "or"}


def printed(functions: Sequence[Function], scalar: Provider, contract: bool = False) -> Translation:
    """Return functions of the loop language as a module.

    Parameters
    ----------
    functions : sequence of Function
        The functions.
    scalar : callable
        Compiles a function of scalars that is not an instruction.
    contract : bool
        Whether a product and a sum may be rounded once.
    """
    module = Module(scalar, " contract" if contract else "")
    texts = [_Printer(module).function(function) for function in functions]
    declared = "\n".join(sorted(module.declared))
    return Translation("\n".join([*texts, declared, *module.metadata]) + "\n", module.scalars)


class _Printer(Expressions):
    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.known: dict[Var, Value] = {}
        self.buffers: set[Buffer] = set()
        self.group = ""  # the access group of the parallel loop around, if there is one
        self.streams = False
        self.leaves = False

    def function(self, f: Function) -> str:
        self.known.update({START: Value("int64", "%start"), STOP: Value("int64", "%stop")})
        for i, variable in enumerate(f.integers):
            self._parameter(variable.name, "integers", i, "i64")
            self.known[variable] = Value("int64", f"%{variable.name}")
        for i, buffer in enumerate(f.arrays):
            self._parameter(buffer.name, "arrays", i, "ptr")
            self.buffers.add(buffer)
        self.body(f.body)
        if self.streams:  # makes these stores visible to other threads
            self.module.declared.add("declare void @llvm.x86.sse.sfence()")
            self.lines.append("  call void @llvm.x86.sse.sfence()")
        kind = "i1" if self.leaves else "void"
        if self.leaves:  # returns whether it came to its end
            self.lines.append("  ret i1 true")
            self.label("leave")
        lines = "\n".join([*self.entry, *self.lines])
        return (
            f"define {kind} @{f.name}(ptr noalias readonly %arrays, "
            f"ptr noalias readonly %integers, i64 %start, i64 %stop) nounwind {{\nentry:\n"
            f"{lines}\n  ret {'i1 false' if self.leaves else kind}\n}}\n"
        )

    def _parameter(self, name: str, table: str, i: int, kind: str) -> None:
        self.entry.append(f"  %{name}.at = getelementptr inbounds i64, ptr %{table}, i64 {i}")
        self.entry.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")

    # Statements.

    def body(self, body: Body) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, s: Statement) -> None:
        if isinstance(s, Let):
            self.known[s.var] = self.scalar(s.value)
        elif isinstance(s, Store):
            self._store(s)
        elif isinstance(s, Stream):
            self._stream(s)
        elif isinstance(s, Loop):
            self._loop(s)
        elif isinstance(s, While):
            self._while(s)
        elif isinstance(s, If):
            self._if(s)
        elif isinstance(s, Call):
            self._call_routine(s)
        elif isinstance(s, Leave):
            self._leave(self.text(s.test))
        elif isinstance(s, Alias):
            address = self._address(s.address.buffer, s.address.index)
            self._bind(s.buffer, f"getelementptr i8, ptr {address}, i64 0")
        elif isinstance(s, Allocate):
            self._allocate(s)
        elif isinstance(s, Launch):
            self._launch(s)

    def _bind(self, buffer: Buffer, instruction: str) -> None:
        self.buffers.add(buffer)
        self.lines.append(f"  %{buffer.name} = {instruction}")

    def _leave(self, test: str) -> None:
        self.counter += 1
        self.leaves = True
        self.lines.append(f"  br i1 {test}, label %leave, label %stay.{self.counter}")
        self.label(f"stay.{self.counter}")

    def _table(self, kind: str, values: Sequence[str], more: int = 0) -> str:
        """Return the address of values in a row on the stack, with room for more of them."""
        self.counter += 1
        table = f"%table.{self.counter}"
        self.entry.append(f"  {table} = alloca [{len(values) + more} x {kind}], align 8")
        for i, value in enumerate(values):
            at = self.emit(f"getelementptr inbounds {kind}, ptr {table}, i64 {i}")
            self.lines.append(f"  store {kind} {value}, ptr {at}, align 8")
        return table

    def _host(self, host: Buffer, number: int) -> str:
        """Return a function of the run time."""
        at = self._address(host, (const(number, "int64"),))
        return self.emit(f"load ptr, ptr {at}, align 8")

    def _allocate(self, s: Allocate) -> None:
        sizes = self._table("i64", list(map(self.text, s.sizes)), not s.sizes)
        allocate = self._host(s.host, ALLOCATE)
        arguments = f"ptr %{s.host.name}, i64 {s.number}, ptr {sizes}"
        self._bind(s.buffer, f"call ptr {allocate}({arguments})")
        self._leave(self.emit(f"icmp eq ptr %{s.buffer.name}, null"))

    def _launch(self, s: Launch) -> None:
        places = [self._address(x.buffer, x.index) for x in s.arrays]
        arrays = self._table("ptr", places, s.partial)
        integers = self._table("i64", list(map(self.text, s.integers)), 1)
        launch = self._host(s.host, LAUNCH)
        outcome = self.emit(
            f"call i64 {launch}(ptr %{s.kernel.name}, ptr {arrays}, ptr {integers})"
        )
        self._leave(self.emit(f"icmp ne i64 {outcome}, 0"))

    def _call_routine(self, s: Call) -> None:
        """Pass addresses, as Fortran does: those of elements, and of copies of scalars."""
        texts = []
        for x in s.arguments:
            if isinstance(x, Address):
                texts.append(self._address(x.buffer, x.index))
                continue
            self.counter += 1
            kind, copy = memory_type(x.dtype), f"%argument.{self.counter}"
            self.entry.append(f"  {copy} = alloca {kind}, align 8")
            self.lines.append(f"  store {kind} {self.text(x)}, ptr {copy}")
            texts.append(copy)
        name = f"{PREFIX}{s.routine}"
        self.module.declared.add(f"declare void @{name}({', '.join(['ptr'] * len(texts))})")
        self.lines.append(f"  call void @{name}({', '.join([f'ptr {x}' for x in texts])})")

    def _store(self, s: Store) -> None:
        text = self.text(s.value)
        if s.buffer.dtype == "bool":
            text = self.emit(f"zext i1 {text} to i8")
        address = self._address(s.buffer, s.index)
        self.lines.append(
            f"  store {memory_type(s.buffer.dtype)} {text}, ptr {address}{self._access()}"
        )

    def _stream(self, s: Stream) -> None:
        """Copy whole lines by vectors that go past the cache, and the rest of the elements."""
        self.streams = True
        self.counter += 1
        k, kind = self.counter, memory_type(s.buffer.dtype)
        lanes = LINE // np.dtype(s.buffer.dtype).itemsize
        target, count = self._address(s.buffer, s.index), self.text(s.count)
        source = self._address(s.source, (const(0, "int64"),))
        past = f", !nontemporal {self.module.one()}"
        whole = self.emit(f"and i64 {count}, -{lanes}")
        for name, low, high, step, type_, align, flags in (
            ("line", "0", whole, lanes, f"<{lanes} x {kind}>", LINE, past),
            ("rest", whole, count, 1, kind, LINE // lanes, ""),
        ):
            at, before = f"%{name}.{k}", self.block
            self.lines += [
                f"  br label %{name}.head.{k}",
                f"{name}.head.{k}:",
                f"  {at} = phi i64 [ {low}, %{before} ], [ {at}.next, %{name}.body.{k} ]",
                f"  {at}.more = icmp slt i64 {at}, {high}",
                f"  br i1 {at}.more, label %{name}.body.{k}, label %{name}.exit.{k}",
                f"{name}.body.{k}:",
                f"  {at}.from = getelementptr inbounds {kind}, ptr {source}, i64 {at}",
                f"  {at}.to = getelementptr inbounds {kind}, ptr {target}, i64 {at}",
                f"  {at}.value = load {type_}, ptr {at}.from, align {align}",
                f"  store {type_} {at}.value, ptr {at}.to, align {align}{flags}",
                f"  {at}.next = add nsw i64 {at}, {step}",
                f"  br label %{name}.head.{k}",
            ]
            self.label(f"{name}.exit.{k}")

    def _access(self) -> str:
        return f", !llvm.access.group {self.group}" if self.group else ""

    def _carry(self, carried: Sequence[Carry], k: int) -> list[str]:
        """Bind what a loop carries, and return the starts."""
        starts = [self.text(c.start) for c in carried]
        for c in carried:
            self.known[c.var] = Value(c.var.dtype, f"%{c.var.name}.{k}")
        return starts

    def _phis(
        self,
        carried: Sequence[Carry],
        k: int,
        starts: list[str],
        ends: list[str],
        at: tuple[str, str],
    ) -> list[str]:
        before, last = at
        return [
            f"  %{c.var.name}.{k} = phi {TYPES[c.var.dtype]} [ {a}, %{before} ], [ {b}, %{last} ]"
            for c, a, b in zip(carried, starts, ends, strict=True)
        ]

    def _loop(self, s: Loop) -> None:
        low, high = self.text(s.low), self.text(s.high)
        self.counter += 1
        k, index, before = self.counter, f"%{s.index.name}.{self.counter}", self.block
        starts = self._carry(s.carried, k)
        self.known[s.index] = Value("int64", index)
        self.lines.append(f"  br label %head.{k}")
        head = len(self.lines)
        self.block = f"body.{k}"
        outside, end = self.group, ""
        if s.apart and not any(isinstance(x, Loop | While | If | Call) for x in s.body):
            self.group = self.module.node("")
            accesses = self.module.node(f'!"llvm.loop.parallel_accesses", {self.group}')
            rolled = self._rolled(s)
            end = f", !llvm.loop {self.module.node(f'SELF, {accesses}{rolled}')}"
        self.body(s.body)
        ends = [self.text(c.next) for c in s.carried]
        self.group = outside
        body = self.lines[head:]
        self.lines[head:] = [
            f"head.{k}:",
            f"  {index} = phi i64 [ {low}, %{before} ], [ {index}.next, %latch.{k} ]",
            *self._phis(s.carried, k, starts, ends, (before, f"latch.{k}")),
            f"  {index}.more = icmp slt i64 {index}, {high}",
            f"  br i1 {index}.more, label %body.{k}, label %exit.{k}",
            f"body.{k}:",
            *body,
            f"  br label %latch.{k}",
            f"latch.{k}:",
            f"  {index}.next = add nsw i64 {index}, {s.step}",
            f"  br label %head.{k}{end}",
        ]
        self.label(f"exit.{k}")

    def _rolled(self, s: Loop) -> str:
        """Return what keeps a loop from being written out before it runs on vectors.

        The loop over vectors that LLVM makes of it may be written out.
        """
        if isinstance(s.high, Const) and (s.high.value >= LONG or s.high.value == LANES):
            node = self.module.node
            done = node('!"llvm.loop.isvectorized", i32 1')
            whole = node('!"llvm.loop.unroll.disable"')
            return f", {whole}, {node(f'{FOLLOWUP}, {done}')}"
        return ""

    def _while(self, s: While) -> None:
        self.counter += 1
        k, before = self.counter, self.block
        starts = self._carry(s.carried, k)
        self.lines.append(f"  br label %head.{k}")
        head = len(self.lines)
        self.block = f"head.{k}"
        self.body(s.head)
        test = self.text(s.test)
        self.lines.append(f"  br i1 {test}, label %body.{k}, label %exit.{k}")
        self.label(f"body.{k}")
        self.body(s.body)
        ends = [self.text(c.next) for c in s.carried]
        last = self.block
        self.lines.append(f"  br label %head.{k}")
        self.lines[head:head] = [
            f"head.{k}:", *self._phis(s.carried, k, starts, ends, (before, last))
        ]  # fmt: skip
        self.label(f"exit.{k}")

    def _if(self, s: If) -> None:
        self.counter += 1
        k = self.counter
        self.lines.append(f"  br i1 {self.text(s.test)}, label %then.{k}, label %else.{k}")
        sides = []
        for name, body, values in (
            ("then", s.then, [r.then for r in s.results]),
            ("else", s.other, [r.other for r in s.results]),
        ):
            self.label(f"{name}.{k}")
            self.body(body)
            sides.append(([self.text(x) for x in values], self.block))
            self.lines.append(f"  br label %join.{k}")
        self.label(f"join.{k}")
        (yes, a), (no, b) = sides
        for r, x, y in zip(s.results, yes, no, strict=True):
            name = f"%{r.var.name}.{k}"
            self.lines.append(f"  {name} = phi {TYPES[r.var.dtype]} [ {x}, %{a} ], [ {y}, %{b} ]")
            self.known[r.var] = Value(r.var.dtype, name)

    # Scalars.

    def text(self, x: Scalar) -> str:
        """Return the operand of an instruction."""
        return self.scalar(x).text

    def scalar(self, x: Scalar) -> Value:
        """Return the value of a scalar."""
        if isinstance(x, Var):
            return self.known[x]
        if isinstance(x, Const):
            return self.converted(Value(None, number=x.value), x.dtype)
        if isinstance(x, Load):
            address = self._address(x.buffer, x.index)
            text = self.emit(f"load {memory_type(x.dtype)}, ptr {address}{self._access()}")
            if x.dtype == "bool":
                text = self.emit(f"icmp ne i8 {text}, 0")
            return Value(x.dtype, text)
        assert isinstance(x, Op)
        args = [self.scalar(y) for y in x.args]
        if isinstance(x.op, str):
            return Value(x.dtype, self._primitive(x.op, args, x.dtype))
        names = [f"a{i}" for i in range(len(args))]
        self.values.update(zip(names, args, strict=True))
        dtypes = tuple([y.dtype for y in x.args])
        return self.converted(self.value(_spelled(x.op, dtypes, x.dtype, _literal(x))), x.dtype)

    def _primitive(self, op: str, args: list[Value], dtype: str) -> str:
        a, *rest = [x.text for x in args]
        kind = TYPES[str(args[0].dtype)]
        if op == "not":
            return self.emit(f"xor i1 {a}, true")
        if op == "select":
            kind = TYPES[dtype]
            return self.emit(f"select i1 {a}, {kind} {rest[0]}, {kind} {rest[1]}")
        (b,) = rest
        if op == "sum":
            return self.emit(f"fadd reassoc {kind} {a}, {b}")
        if op == "less":
            return self.emit(f"icmp slt {kind} {a}, {b}")
        if op == "equal":
            test = "fcmp oeq" if kind in ("float", "double") else "icmp eq"
            return self.emit(f"{test} {kind} {a}, {b}")
        if op in ("min", "max"):
            return self.intrinsic(f"llvm.s{op}", args, dtype).text
        return self.emit(f"{ {**_INTEGERS, **_TRUTHS}[op] } {kind} {a}, {b}")

    def _address(self, buffer: Buffer, at: Sequence[Scalar]) -> str:
        if buffer not in self.buffers:
            self.buffers.add(buffer)
            count = 1
            for size in buffer.shape:
                assert isinstance(size, Const)
                count *= size.value
            kind = memory_type(buffer.dtype)
            self.entry.append(f"  %{buffer.name} = alloca [{count} x {kind}], align 64")
        if buffer.strides:
            address = f"%{buffer.name}"
            for x, stride in zip(at, buffer.strides, strict=True):
                offset = self.emit(f"mul nsw i64 {self.text(x)}, {self.text(stride)}")
                address = self.emit(f"getelementptr inbounds i8, ptr {address}, i64 {offset}")
            return address
        offset = "0"
        for i, (x, size) in enumerate(zip(at, buffer.shape, strict=True)):
            if i == 0:
                offset = self.text(x)
                continue
            offset = self.emit(f"mul nsw i64 {offset}, {self.text(size)}")
            offset = self.emit(f"add nsw i64 {offset}, {self.text(x)}")
        return self.emit(
            f"getelementptr inbounds {memory_type(buffer.dtype)}, ptr %{buffer.name}, i64 {offset}"
        )


def _literal(x: Op) -> Any:
    """Return the value of the last operand, if it is a constant."""
    return x.args[-1].value if isinstance(x.args[-1], Const) else None


@lru_cache(maxsize=4096)
def _spelled(op: GraphOp, dtypes: tuple[str, ...], dtype: str, last: Any) -> ast.expr:
    """Return the expression of an elementwise op of the values ``a0``, ``a1`` and so on."""
    refs = [Ref("row", i, name) for i, name in enumerate(dtypes)]
    if last in (0.5, 1, 2) and len(refs) > 1:  # powers that need no function
        refs[-1] = Ref("literal", 0, dtypes[-1], last)
    names = [f"a{i}" for i in range(len(dtypes))]
    return ast.parse(expression(Row(op, tuple(refs), dtype), names), mode="eval").body


__all__ = ["ALLOCATE", "LAUNCH", "printed"]
