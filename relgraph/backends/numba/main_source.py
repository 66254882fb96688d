"""The source of the main function, which allocates buffers and calls kernels and ops in order."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from relgraph.ir.graph import FunctionGraph, is_tensor
from relgraph.ir.infix import constant_text
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.op import GetItem
from relgraph.ir.printing import pprint
from relgraph.ir.types import DTYPES
from relgraph.lowering.buffers import Plan, origins, plan
from relgraph.lowering.kernels import (
    Call,
    Gather,
    Kernel,
    Step,
    Structure,
    reduced_axes,
)
from relgraph.lowering.refs import dtype_name
from relgraph.lowering.sizes import Check, Sizes, Term, Unknown, is_product
from relgraph.lowering.split_joins import Empty
from relgraph.lowering.targets import Update
from relgraph.lowering.views import AsGiven, axes, in_order, is_view, root
from relgraph.ops.indexing.expression import FULL, Spec, spec_text
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze

PART = 1000  # maximum number of steps per function: Python's compiler needs 10 kB per line
_SHOWN = 40  # maximum number of lines of the graph in the comment above the program

_RESERVED = re.compile(
    r"[td]\d+|(c|call|differ|misshapen|no_elements|part|rgk|input|n|out|at|places)_\w*|v|main"
)


@dataclass
class _Block:
    """The lines of a few steps, the names they read from other blocks, and the names they bind."""

    lines: list[str] = field(default_factory=list)
    reads: dict[str, None] = field(default_factory=dict)
    binds: dict[str, None] = field(default_factory=dict)


class MainText:
    """The text of the main function and the objects that its names stand for.

    ``kernels`` maps each structure to the name of its kernel.  ``reuse``, ``overwrite`` and
    ``donated`` are those of :class:`.compiler.NumbaBackend`.  The function returns a single result
    itself, as a scalar if it has no dimensions, and several as a tuple.  With ``into`` it takes,
    after its inputs, an out argument or None for each result, computes in it the results that it
    would allocate itself, and returns a tuple.

    Attributes
    ----------
    into : bool
        Whether it takes out arguments.
    parts : list of (str, str)
        The functions in order, each with its name; ``main`` is the last.
    sizes : Sizes
        The sizes of its values.
    memory : Plan
        The memory plan.
    overwrites : set of Variable
        The calls that update an array in place.
    given_sizes : list of Check
        The sizes of inputs that must be equal, which the caller compares.
    calls, packed, constants, checks, nonempty, verified : dict of str
        What the names in the text stand for: nodes computed by their own ops, constants packed for
        kernels, constant arrays, and checks that raise.
    """

    def __init__(
        self,
        graph: FunctionGraph,
        steps: Sequence[Step],
        kernels: Mapping[Structure, str],
        reuse: bool = True,
        overwrite: bool = True,
        *,
        donated: Collection[Variable] = (),
        into: bool = False,
    ) -> None:
        self.graph = graph
        self.kernels = kernels
        self.into = into
        self.calls: dict[str, Variable] = {}
        self.packed: dict[str, tuple[Constant, ...]] = {}
        self.constants: dict[str, Constant] = {}
        self.checks: dict[str, Check] = {}
        self.given_sizes: list[Check] = []
        self.nonempty: dict[str, Variable] = {}
        self.gathers: dict[str, Gather] = {}
        self.views: dict[str, Variable] = {}
        self.verified: dict[str, Variable] = {}
        self.sizes = Sizes(graph, steps)
        self._names: dict[Variable, str] = {}
        self._terms: dict[Term, str] = {}
        self._packs: dict[tuple[Constant, ...], str] = {}
        self._ready: dict[Variable, str] = {}  # contiguous copies of the results of calls
        self._parts: dict[Variable, str] = {}  # the views that the next kernel writes to
        self._block = _Block()
        self._bound = 0
        self._taken: set[str] = set()
        for position, x in enumerate(graph.inputs):
            self._names[x] = self._unused(x.name, f"input_{position}")
        self._inputs = [self._names[x] for x in graph.inputs]
        self._arguments = frozenset(graph.inputs)
        self._donated = frozenset(donated)
        first = origins(graph, steps, donated if overwrite else None)
        self._places = {first[x]: f"out_{k}" for k, x in enumerate(graph.outputs) if into}
        self._inputs += [f"out_{k}" for k in range(len(graph.outputs)) if into]
        memory = plan(
            graph, steps, self.sizes, reuse, overwrite, donated=donated, placed=self._places
        )
        self.memory = memory
        self.overwrites = memory.overwrites
        blocks = self._blocks(steps, memory)
        self.parts = self._functions(blocks)

    def text(self) -> str:
        """Return the functions, below comments with the graph and the constants."""
        shown = []
        if len(self.graph) <= 50 * _SHOWN:
            lines = pprint(self.graph.outputs).splitlines()
            shown = lines[:_SHOWN] + (["..."] if len(lines) > _SHOWN else [])
        for name, values in self.packed.items():
            if len(shown) > 2 * _SHOWN:
                break
            numbers = [constant_text(x) for x in values[:8]] + ["..."] * (len(values) > 8)
            shown.append(f"{name} = [{', '.join(numbers)}]")
        for check in self.given_sizes:
            sides = [f"{self._names[x]}.shape[{axis}]" for x, axis in check.sides]
            shown.append(" == ".join(sides))
        head = "".join(f"# {line}\n" for line in shown)
        return head + "\n\n".join(text for _, text in self.parts)

    @property
    def names(self) -> Mapping[Variable, str]:
        """The names of arrays in the main function."""
        return self._names

    # Names.

    def _unused(self, name: str, other: str) -> str:
        plain = name.isascii() and not keyword.iskeyword(name) and not _RESERVED.fullmatch(name)
        if not plain or name in self._taken or name in _GLOBALS:
            name = other
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _name(self, x: Variable) -> str:
        name = self._names.get(x)
        if name is None:
            assert isinstance(x, Constant)
            name = f"c_array_{len(self.constants)}"
            self.constants[name] = x
            self._names[x] = name
        elif name not in self._block.binds and name not in self.constants:
            self._block.reads[name] = None
        return name

    def _bind(self, x: Variable) -> str:
        name = self._names[x] = f"t{self._bound}"
        self._bound += 1
        self._block.binds[name] = None
        return name

    def _term(self, term: Term) -> str:
        """Return the text of a size; the first use of a name reads it from its source."""
        if isinstance(term, int):
            return str(term)
        name = self._terms.get(term)
        if name is None:
            name = (
                f"d{term.index}" if isinstance(term, Unknown) else self._unused(term, f"n_{term}")
            )
            if not name.isascii():
                name = self._unused(f"n{len(self._terms)}", f"n_{len(self._terms)}")
            self._terms[term] = name
            x, axis = self.sizes.source[term]
            self._line(f"{name} = {self._name(x)}.shape[{axis}]")
            self._block.binds[name] = None
        elif name not in self._block.binds:
            self._block.reads[name] = None
        return name

    def _line(self, text: str) -> None:
        self._block.lines.append(text)

    # Steps.

    def _blocks(self, steps: Sequence[Step], memory: Plan) -> list[_Block]:
        blocks = [self._block]
        for term, (x, _) in self.sizes.source.items():
            if x in self._donated:
                self._term(term)
        early = self._early_sizes()
        for i, step in enumerate(steps):
            if i and i % PART == 0:
                self._block = _Block()
                blocks.append(self._block)
            if isinstance(step, Kernel):
                self._regions(step)
            for k, check in enumerate(self.sizes.checks.get(step, ())):
                self._check(f"differ_{i}_{k}", check)
            if isinstance(step, Kernel):
                self._kernel(i, step, memory)
            elif is_product(step.node):
                self._product(step, memory)
            else:
                self._call(step)
            for x in step.results:
                for term in early.get(x, ()):
                    self._term(term)
            dead = [self._name(x) for x in memory.dies[i] if x in self._names]
            dead += [self._arranged(x) for x in memory.dies[i] if x in self._ready]
            if dead:
                self._line(f"del {', '.join(dict.fromkeys(dead))}")
        return blocks

    def _early_sizes(self) -> dict[Variable, list[Term]]:
        """Return the sizes to read from a computed value immediately, before it is deleted."""
        sizes: dict[Variable, list[Term]] = {}
        for term, (x, _) in self.sizes.source.items():
            if not isinstance(x, Input):
                sizes.setdefault(x, []).append(term)
        return sizes

    def _check(self, name: str, check: Check) -> None:
        if self._arguments.issuperset([x for x, _ in check.sides]):
            self.given_sizes.append(check)
            return
        left, right = map(self._term, check.terms)
        self.checks[name] = check
        self._line(f"if {left} != {right}:")
        self._line(f"    {name}({left}, {right})")

    def _kernel(self, i: int, step: Kernel, memory: Plan) -> None:
        loop = self.sizes.loop[step]
        sizes = [" * ".join(self._term(loop[a]) for a in g) or "1" for g in step.groups]
        in_place = step.structure.products is None
        laid = {x for x in step.arrays if in_place and axes(x) is not None}
        for x in (*step.tables, *step.arrays):
            if x not in laid:
                self._arranged(x)
        for x, part in step.reductions:
            self._guard(f"no_elements_{i}", part, x)
        places: dict[int, str] = {}
        for k, gather in enumerate(step.gathers):
            places[gather.places] = self._indices(f"{i}_{k}", gather)
        for k, update in enumerate(step.updates, len(step.gathers)):
            if update.places is not None and update.furthest is not None:
                at = Gather(
                    update.node, update.array, 0, update.key[0], update.furthest, update.places
                )
                places[update.places] = self._indices(f"{i}_{k}", at)
        parts = {update.node: self._region(update, memory) for update in step.updates}
        for x in step.results:
            if x not in parts:
                self._allocate(x, memory)
        arrays = [
            places.get(k) or (self._name(x) if x in laid else self._arranged(x))
            for k, x in enumerate(step.arrays)
        ]
        arguments = [*sizes, *arrays, *map(self._arranged, step.tables)]
        arguments.extend(self._pack(values) for values in step.slots.values())
        arguments.extend(parts.get(x) or self._names[x] for x in step.results)
        self._line(f"{self.kernels[step.structure]}({', '.join(arguments)})")
        if self._parts:
            self._line(f"del {', '.join(self._parts.values())}")
            self._parts.clear()

    def _indices(self, number: str, gather: Gather) -> str:
        """Write the indices of a gather or update, checked and made nonnegative."""
        places = self._name(gather.indices)
        size = self._term(self.sizes.shape[gather.array][gather.axis])
        if axes(gather.indices) is not None:
            places = f"ready({places})"
        self.gathers[f"places_{number}"] = gather
        self._line(f"at_{number} = {places}")
        self._line(f"if {self._name(gather.furthest)} >= {size}:")
        self._line(f"    at_{number} = places_{number}(at_{number}, {self._name(gather.array)})")
        return f"at_{number}"

    # Updates.

    def _regions(self, step: Kernel) -> None:
        """Write the views of arrays that a kernel updates, before anything is written to them."""
        for update in step.updates:
            if axes(update.array) is None:
                self._arranged(update.array)
            if update.places is None:
                view = self._part(update, self._name(update.array))
                other = self._names.get(update.part)  # a view in the graph
                name = self._parts[update.node] = self._bind(update.part)
                self._line(f"{name} = {view}")
                for axis, term in enumerate(self.sizes.shape[update.part]):
                    if self.sizes.source.get(term) == (update.part, axis):
                        self._term(term)
                del self._names[update.part]
                if other is not None:
                    self._names[update.part] = other

    def _region(self, update: Update, memory: Plan) -> str:
        """Write the allocation of an updated array; return the name that its kernel writes to."""
        node = update.node
        if node in memory.overwrites:
            self._allocate(node, memory)
        else:
            array = self._name(update.array)
            self._allocate(node, memory)
            self._line(f"copyto({self._names[node]}, {array})")
        if update.places is not None:
            return self._names[node]
        name = self._parts[node]
        if node not in memory.overwrites:
            self._line(f"{name} = {self._part(update, self._names[node])}")
        return name

    def _part(self, update: Update, array: str) -> str:
        """Return the expression of the view that an update writes to."""
        spec = update.part.op.params[0]  # type: ignore[union-attr]
        if (key := view_key(spec, update.part.inputs[0])) is not None:
            return f"{array}[{key}]"
        return f"{self._view(update.node)}({', '.join([array, *map(self._name, update.key)])})"

    def _view(self, node: Variable) -> str:
        """Return the name of the function that creates a view whose key may be invalid."""
        for name, x in self.views.items():
            if x is node:
                return name
        name = f"part_of_{len(self.views)}"
        self.views[name] = node
        return name

    def _arranged(self, x: Variable) -> str:
        """Return the name of a contiguous array with the value of ``x``, whatever a call returned.

        A view also keeps its own name, because kernels read it through its strides.
        """
        if x not in self.sizes.verified:
            return self._name(x)
        if x not in self._ready:
            old = self._name(x)
            new = self._ready[x] = self._bind(x)
            self._line(f"{new} = ready({old})")
            if axes(x) is not None:
                self._names[x] = old
            else:
                self._line(f"del {old}")
        if axes(x) is None:
            return self._name(x)
        name = self._ready[x]
        if name not in self._block.binds:
            self._block.reads[name] = None
        return name

    def _pack(self, values: tuple[Constant, ...]) -> str:
        name = self._packs.get(values)
        if name is None:
            name = self._packs[values] = f"c_{len(self._packs)}"
            self.packed[name] = values
        return name

    def _guard(self, name: str, step: Kernel, x: Variable) -> None:
        """Write a check that a maximum or minimum that has results is not over no elements."""
        if not x.op.nonempty:  # type: ignore[union-attr]
            return
        axes = reduced_axes(x)
        loop = self.sizes.loop[step]
        reduced = [loop[a] for a in axes]
        if all(isinstance(term, int) and term > 0 for term in reduced):
            return
        kept = [loop[a] for a in range(len(loop)) if a not in axes]
        self.nonempty[name] = x
        empty = " * ".join(map(self._term, reduced)) + " == 0"
        if kept:
            empty += f" and {' * '.join(map(self._term, kept))} != 0"
        self._line(f"if {empty}:")
        self._line(f"    {name}()")

    def _allocate(self, x: Variable, memory: Plan) -> None:
        source = memory.takes.get(x)
        if source is not None:
            old = self._name(source)
            self._names[source] = self._bind(x)  # it may also hold operands of this step
            self._line(f"{self._names[x]} = {old}")
            self._line(f"del {old}")
            return
        shape = self._shape(map(self._term, self.sizes.shape[x]))
        place = self._places.get(x)
        if place is not None:
            self._block.reads[place] = None
            self._line(f"{self._bind(x)} = given({place}, {shape}, {dtype_name(x)})")
            return
        self._line(f"{self._bind(x)} = empty({shape}, {dtype_name(x)})")

    def _shape(self, sizes: Iterable[str]) -> str:
        texts = list(sizes)
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def _product(self, step: Call, memory: Plan) -> None:
        operands = [self._name(x) for x in step.node.inputs]
        self._allocate(step.node, memory)
        self._line(f"matmul({', '.join(operands)}, {self._names[step.node]})")

    def _call(self, step: Call) -> None:
        node = step.node
        assert node.op is not None
        if isinstance(node.op, Empty):
            shape = self._shape(map(str, node.type.shape))
            self._line(f"{self._bind(node)} = empty({shape}, {dtype_name(node)})")
            return
        if axes(node) is not None or isinstance(node.op, Diagonal | Reshape):
            below = root(node.inputs[0])
            if below in self.sizes.verified and below not in self._ready:
                self._arranged(below)
            text = view_text(node, self._name(node.inputs[0]))
            if text is not None:
                self._line(f"{self._bind(node)} = {text}")
                return
        operands = ", ".join(map(self._name, node.inputs))
        if isinstance(node.op, GetItem):
            self._line(f"{self._bind(node)} = {operands}[{node.op.params[0]}]")
            return
        if is_view(node) and isinstance(node.op, Index):
            name = self._view(node)
        else:
            name = f"call_{len(self.calls)}_{node.op.name}"
            self.calls[name] = node
        result = self._bind(node)
        self._line(f"{result} = {name}({operands})")
        if not is_tensor(node) or not node.ndim:
            return
        expected = []
        has_known_size = False
        for axis, term in enumerate(self.sizes.shape[node]):
            is_new = not isinstance(term, int) and self.sizes.source[term] == (node, axis)
            has_known_size = has_known_size or not is_new
            expected.append(f"{result}.shape[{axis}]" if is_new else self._term(term))
        if has_known_size:
            check = f"misshapen_{len(self.verified)}"
            self.verified[check] = node
            shape = self._shape(expected)
            self._line(f"if {result}.shape != {shape}:")
            self._line(f"    {check}({result}.shape, {shape})")

    # Functions.

    def _functions(self, blocks: Sequence[_Block]) -> list[tuple[str, str]]:
        outputs = [self._name(x) for x in self.graph.outputs]
        head = f"def main({', '.join(self._inputs)}):"
        if len(blocks) == 1:
            return [("main", _function(head, [*blocks[0].lines, self._returned(outputs)]))]
        last: dict[str, int] = {x: len(blocks) for x in outputs}
        for i, block in enumerate(blocks):
            for name in block.reads:
                last[name] = max(i, last.get(name, 0))
        functions = []
        lines = ["v = {" + ", ".join(f'"{x}": {x}' for x in self._inputs) + "}"]
        for i, block in enumerate(blocks):
            body = [
                f'{x} = v.pop("{x}")' if last[x] == i else f'{x} = v["{x}"]' for x in block.reads
            ]
            body += block.lines
            body += [f'v["{x}"] = {x}' for x in block.binds if last.get(x, 0) > i]
            functions.append((f"part_{i}", _function(f"def part_{i}(v):", body)))
            lines.append(f"part_{i}(v)")
        outputs = [x if x in self.constants else f'v["{x}"]' for x in outputs]
        lines.append(self._returned(outputs))
        return [*functions, ("main", _function(head, lines))]

    def _returned(self, names: Sequence[str]) -> str:
        if len(names) == 1 and not self.into:
            (x,) = self.graph.outputs
            return f"return {names[0]}" + "[()]" * (is_tensor(x) and not x.ndim)
        return f"return ({''.join(f'{x}, ' for x in names).rstrip()})"


_GLOBALS = frozenset(
    {
        "copyto",
        "empty",
        "ndarray",
        "given",
        "matmul",
        "ready",
        "math",
        "np",
        "kernel",
        *DTYPES,
    }
)


def _function(head: str, lines: Sequence[str]) -> str:
    return "\n".join([head, *(f"    {line}" for line in lines)]) + "\n"


def view_text(node: Variable, x: str) -> str | None:
    """Return the Python expression of a view; None if it may fail, or only a call computes it."""
    op = node.op
    assert op is not None
    array = node.inputs[0]
    if isinstance(op, AsGiven):
        return x
    if isinstance(op, MatrixTranspose):
        return f"{x}.swapaxes(-1, -2)"
    if isinstance(op, Transpose):
        return f"{x}.transpose({op.params[0]})"
    if isinstance(op, ExpandDims):
        spec = [("newaxis",) if a in op.params[0] else FULL for a in range(-node.ndim, 0)]
        return f"{x}[{spec_text(tuple(spec), [])}]"
    if isinstance(op, Index) and (key := view_key(op.params[0], array)) is not None:
        return f"{x}[{key}]"
    if isinstance(op, Diagonal):
        return f"{x}.diagonal({op.params[0]}, -2, -1)"
    if not (is_static(node) and is_static(array)):
        return None
    if isinstance(op, Squeeze):
        return f"{x}.squeeze({op.params[0]})"
    if isinstance(op, Reshape):
        return f"{x}.reshape({node.type.shape})"
    return repeated_text(node, x) if isinstance(op, BroadcastTo) else None


def view_key(spec: Spec, array: Variable) -> str | None:
    """Return the key of a view as it is typed, or None if it may be out of range."""
    sizes = iter(array.type.shape)
    number = False
    for kind, *values in spec:
        if kind == "newaxis":
            continue
        size = next(sizes, None)
        if kind == "int" and isinstance(size, int) and -size <= values[0] < size:
            number = True
        elif kind != "slice" or "dynamic" in values:
            return None
    # NumPy returns a scalar, not a view, for a key of integers alone.
    return spec_text(spec, []) + (", ..." if number else "")


def is_static(x: Variable) -> bool:
    """Return True if all sizes of a value are known."""
    return all(isinstance(dim, int) for dim in x.type.shape)


def repeated_text(node: Variable, x: str) -> str | None:
    """Return the expression of a contiguous array that is broadcast, if all sizes are known.

    It takes a tenth of the time of ``np.broadcast_to``.
    """
    array = node.inputs[0]
    if not (is_static(node) and is_static(array) and in_order(array)):
        return None
    strides, distance = [], np.dtype(dtype_name(node)).itemsize
    for dim in reversed(array.type.shape):
        strides.append(0 if dim == 1 else distance)
        distance *= max(1, dim)
    spread = (*[0] * (node.ndim - array.ndim), *reversed(strides))
    return f"ndarray({node.type.shape}, {dtype_name(node)}, {x}, 0, {spread})"
