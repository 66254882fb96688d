"""A compiler from the source of kernels to LLVM IR.

The language is the subset of Python that :mod:`.kernel_source` and its siblings write::

    def name(start, stop, n0, n1, x0: float64[n0, n1], c: float64[2], o0: float64[n0:a, n1:b]):
        for i0 in range(start, stop):
            for i in range(n1):
                o0[i0, i] = exp(x0[i0, i]) + c[0]

Annotated parameters are contiguous arrays of these sizes; a stride in bytes may follow a size after
a colon.  The other parameters are integers.  All compiled kernels take ``(arrays, integers, start,
stop)``: two tables and a range.  ``q = scratch(float64, 256)`` declares an array on the stack.
Results declared as ``past_cache(float64[n0])`` use streaming stores where possible; ``l0 =
aligned(o0[n])`` is the part of an array from an element at the start of a cache line.

Statements are assignments and ``for`` loops over ``range``.  A literal takes the dtype of the other
operand.  Functions that are not single instructions are linked as bitcode from :mod:`.scalars`:
relgraph prints the LLVM IR of elementary functions, and numba compiles the rest.

Compiling a whole loop with numba would take ten times as long, give no better code, and add a
runtime check for each pair of arrays that might overlap.  Here innermost loops are declared
parallel: their iterations pass values only through variables, never through array elements.  Loops
over ``in_order`` are the exception.
"""

from __future__ import annotations

import ast
from collections import Counter

from relgraph.backends.numba import past_cache
from relgraph.backends.numba.expressions import Expressions, rejected
from relgraph.backends.numba.instructions import (
    TYPES,
    Module,
    Provider,
    Scalar,
    Value,
    memory_type,
)
from relgraph.ir.records import record, replace


@record
class Translation:
    """A module in LLVM IR, and the functions to link to it, by symbol."""

    text: str
    scalars: dict[str, Scalar]


def translate(source: str, scalar: Provider, contract: bool = False) -> Translation:
    """Translate the functions of a kernel's source, keeping their names.

    ``scalar(callee, dtypes)`` compiles a function that is not an instruction.  With ``contract`` a
    product and a sum may be rounded once.  Source outside the language raises SyntaxError.
    """
    module = Module(scalar, " contract" if contract else "")
    texts = [
        _Function(module, node).text()
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    ]
    declared = "\n".join(sorted(module.declared))
    return Translation("\n".join([*texts, declared, *module.metadata]) + "\n", module.scalars)


@record
class _Array:
    """An array: its dtype, sizes and strides, and whether it is written by streaming stores."""

    dtype: str
    sizes: tuple[ast.expr, ...]
    strides: tuple[ast.expr | None, ...]
    past_cache: bool = False


class _Function(Expressions):
    def __init__(self, module: Module, node: ast.FunctionDef) -> None:
        super().__init__(module)
        self.node = node
        self.group = ""  # the access group of the innermost loop, if one is open
        self.arrays: dict[str, _Array] = {}
        self.places: dict[str, tuple[str, str]] = {}  # mutable variables: dtype and stack slot
        self.stored = Counter(
            target.id
            for statement in ast.walk(node)
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        )

    def text(self) -> str:
        self._parameters()
        for statement in self.node.body:
            self._statement(statement)
        head = (
            f"define void @{self.node.name}(ptr noalias readonly %arrays, "
            "ptr noalias readonly %integers, i64 %start, i64 %stop) nounwind {\nentry:\n"
        )
        if any(array.past_cache for array in self.arrays.values()):
            self.lines.append(past_cache.FENCE)
        return f"{head}{self._lines(self.entry)}{self._lines(self.lines)}  ret void\n}}\n"

    @staticmethod
    def _lines(lines: list[str]) -> str:
        return "".join(f"{line}\n" for line in lines)

    def _parameters(self) -> None:
        arguments = self.node.args.args
        self.values["start"] = Value("int64", "%start")
        self.values["stop"] = Value("int64", "%stop")
        integers = arrays = 0
        for argument in arguments[2:]:
            name = argument.arg
            if argument.annotation is None:
                self._load(name, "integers", integers, "i64")
                self.values[name] = Value("int64", f"%{name}")
                integers += 1
            else:
                self._load(name, "arrays", arrays, "ptr")
                self.arrays[name] = self._array(argument.annotation)
                arrays += 1

    def _load(self, name: str, table: str, index: int, kind: str) -> None:
        self.entry.append(f"  %{name}.at = getelementptr inbounds i64, ptr %{table}, i64 {index}")
        self.entry.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")

    def _array(self, annotation: ast.expr) -> _Array:
        if isinstance(annotation, ast.Call) and ast.unparse(annotation.func) == "past_cache":
            self.module.declared.update(past_cache.DECLARED)
            return replace(self._array(annotation.args[0]), past_cache=True)
        if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.value, ast.Name):
            raise rejected(annotation)
        axes = annotation.slice
        sizes: list[ast.expr] = []
        strides: list[ast.expr | None] = []
        for axis in axes.elts if isinstance(axes, ast.Tuple) else [axes]:
            if isinstance(axis, ast.Slice):
                assert axis.lower is not None
                sizes.append(axis.lower)
                strides.append(axis.upper)
            else:
                sizes.append(axis)
                strides.append(None)
        return _Array(annotation.value.id, tuple(sizes), tuple(strides))

    # Statements.

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.For):
            self._for(node)
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(node.value, ast.Call):
                called, arguments = ast.unparse(node.value.func), node.value.args
                if called == "scratch":
                    return self._scratch(*map(ast.unparse, (target, *arguments)))
                if called == "aligned":
                    return self._aligned(ast.unparse(target), *arguments)
            value = self.value(node.value)
            if isinstance(target, ast.Subscript):
                self._store(target, value)
            elif isinstance(target, ast.Name):
                self._assign(target.id, value)
            else:
                raise rejected(node)
        else:
            raise rejected(node)

    def _scratch(self, name: str, dtype: str, size: str) -> None:
        self.arrays[name] = _Array(dtype, (ast.Constant(int(size)),), (None,))
        self.entry.append(f"  %{name} = alloca [{size} x {memory_type(dtype)}], align 64")

    def _aligned(self, name: str, element: ast.expr) -> None:
        assert isinstance(element, ast.Subscript)
        dtype, address = self._element(element)
        self.arrays[name] = self.arrays[ast.unparse(element.value)]
        kind = memory_type(dtype)
        self.lines.append(f"  %{name} = getelementptr inbounds {kind}, ptr {address}, i64 0")
        self.lines.append(past_cache.aligned(f"%{name}"))

    def _assign(self, name: str, value: Value) -> None:
        if self.stored[name] == 1:
            self.values[name] = value
            return
        place = self.places.get(name)
        if place is None:
            value = self.typed(value)
            assert value.dtype is not None
            place = self.places[name] = (value.dtype, f"%{name}.place")
            self.entry.append(f"  %{name}.place = alloca {TYPES[value.dtype]}")
        dtype, where = place
        self.lines.append(
            f"  store {TYPES[dtype]} {self.converted(value, dtype).text}, ptr {where}"
        )

    def _for(self, node: ast.For) -> None:
        if not (
            isinstance(node.target, ast.Name)
            and isinstance(node.iter, ast.Call)
            and ast.unparse(node.iter.func) in ("range", "in_order")
        ):
            raise rejected(node)
        bounds = [self.converted(self.value(x), "int64").text for x in node.iter.args]
        low, high, step = ("0", bounds[0], "1") if len(bounds) == 1 else (*bounds, "1")[:3]
        self.counter += 1
        k = self.counter
        index = f"%{node.target.id}.{k}"
        before = self.block
        innermost = not any(isinstance(x, ast.For) for s in node.body for x in ast.walk(s))
        self.lines.append(f"  br label %head.{k}")
        self.label(f"head.{k}")
        self.lines += [
            f"  {index} = phi i64 [ {low}, %{before} ], [ {index}.next, %latch.{k} ]",
            f"  {index}.more = icmp slt i64 {index}, {high}",
            f"  br i1 {index}.more, label %body.{k}, label %exit.{k}",
        ]
        self.label(f"body.{k}")
        loop = ""
        if innermost and ast.unparse(node.iter.func) == "range":
            self.group = self.module.node("")
            accesses = self.module.node(f'!"llvm.loop.parallel_accesses", {self.group}')
            loop = f", !llvm.loop {self.module.node(f'SELF, {accesses}')}"
        self.values[node.target.id] = Value("int64", index)
        for statement in node.body:
            self._statement(statement)
        self.group = ""
        self.lines.append(f"  br label %latch.{k}")
        self.label(f"latch.{k}")
        self.lines += [
            f"  {index}.next = add nsw i64 {index}, {step}",
            f"  br label %head.{k}{loop}",
        ]
        self.label(f"exit.{k}")

    # Elements of arrays.

    def _element(self, node: ast.Subscript) -> tuple[str, str]:
        """Return the dtype of an element and its address."""
        assert isinstance(node.value, ast.Name)
        name = node.value.id
        array = self.arrays.get(name)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if array is None or len(indices) != len(array.sizes):
            raise rejected(node)
        texts = [self.converted(self.value(x), "int64").text for x in indices]
        if all(stride is None for stride in array.strides):
            offset = texts[0]
            for text, size in zip(texts[1:], array.sizes[1:], strict=True):
                extent = self.converted(self.value(size), "int64").text
                offset = self.emit(f"mul nsw i64 {offset}, {extent}")
                offset = self.emit(f"add nsw i64 {offset}, {text}")
            kind = memory_type(array.dtype)
            return array.dtype, self.emit(
                f"getelementptr inbounds {kind}, ptr %{name}, i64 {offset}"
            )
        address = f"%{name}"
        for text, stride in zip(texts, array.strides, strict=True):
            assert stride is not None
            distance = self.converted(self.value(stride), "int64").text
            offset = self.emit(f"mul nsw i64 {text}, {distance}")
            address = self.emit(f"getelementptr inbounds i8, ptr {address}, i64 {offset}")
        return array.dtype, address

    def _access(self) -> str:
        return f", !llvm.access.group {self.group}" if self.group else ""

    def _store(self, target: ast.Subscript, value: Value) -> None:
        dtype, address = self._element(target)
        text = self.converted(value, dtype).text
        if dtype == "bool":
            text = self.emit(f"zext i1 {text} to i8")
        where = self._access()
        if self.arrays[ast.unparse(target.value)].past_cache:
            where += f", !alias.scope {self.module.scope(past_cache.SCOPE)}"
        self.lines.append(f"  store {memory_type(dtype)} {text}, ptr {address}{where}")

    def _read(self, node: ast.Subscript) -> Value:
        dtype, address = self._element(node)
        text = self.emit(f"load {memory_type(dtype)}, ptr {address}{self._access()}")
        if dtype == "bool":
            text = self.emit(f"icmp ne i8 {text}, 0")
        return Value(dtype, text)

    # Expressions.

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Name) and node.id in self.places:
            dtype, place = self.places[node.id]
            return Value(dtype, self.emit(f"load {TYPES[dtype]}, ptr {place}"))
        if isinstance(node, ast.Subscript):
            return self._read(node)
        return super().value(node)


__all__ = ["Scalar", "Translation", "translate"]
