"""Block graphs: the graph of a region, whose inputs are blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relgraph.backends.dask.centred import Centred
from relgraph.backends.dask.placement import Axes, Letter, Placed, Read
from relgraph.backends.dask.regions import Region
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Variable, apply, constant, make_input
from relgraph.ir.types import Dim, TensorType
from relgraph.ops.indexing.index import Index
from relgraph.ops.shape import Dim as SizeOf

Arguments = tuple[tuple[Read, Axes], ...]


def block_graph(
    region: Region, placed: Mapping[Variable, Placed]
) -> tuple[FunctionGraph, Arguments]:
    """Return the graph that a region computes for one block of its grid, and what its inputs read.

    Sizes of divided axes are named after their letters, so that one program serves blocks of all
    sizes.  Scalar constants are part of the graph.
    """
    return _Builder(region, placed).graph()


class _Builder:
    def __init__(self, region: Region, placed: Mapping[Variable, Placed]) -> None:
        self.region, self.placed = region, placed
        self.names = {letter: f"b{i}" for i, letter in enumerate(region.grid)}
        self.inputs: dict[tuple[Read, Axes], Variable] = {}
        self.image: dict[Variable, Variable] = {}
        self.sizes: dict[Letter, Variable] = {}
        for read, axes in region.reads:
            if not isinstance(read.node, Constant) or read.node.ndim:
                self._input(read, axes)

    def graph(self) -> tuple[FunctionGraph, Arguments]:
        inside = set(self.region.nodes)
        for node in self.region.nodes:
            p = self.placed[node]
            operands = []
            for read, axes in zip(p.reads, p.letters, strict=True):
                x = read.node
                if x in inside and self._is_own(read, axes):
                    operands.append(self.image[x])
                else:
                    operands.append(self.inputs.get((read, axes), x))
            self.image[node] = self._applied(p, tuple(operands))
        outputs = [self.image[x] for x in self.region.outputs]
        return FunctionGraph(list(self.inputs.values()), outputs), tuple(self.inputs)

    def _is_own(self, read: Read, axes: Axes) -> bool:
        """Return True if a read is of the block that this task computes itself."""
        q = self.placed[read.node]
        return read.blocks == q.blocks and axes == q.axes and not any(read.halo)

    def _input(self, read: Read, axes: Axes) -> Variable:
        shape: list[Dim] = []
        for letter, chunks, halo in zip(axes, read.blocks, read.halo, strict=True):
            if letter is not None:
                shape.append(None if halo else self.names[letter])
            else:
                shape.append(chunks[0] if isinstance(chunks[0], int) else None)
        x = make_input(f"x{len(self.inputs)}", TensorType(read.node.dtype, shape))
        self.inputs[read, axes] = x
        return x

    def _applied(self, p: Placed, operands: tuple[Variable, ...]) -> Variable:
        op: Any = p.node.op
        if isinstance(op, Centred):
            return op.of_block(operands[0])
        if op.takes_shape:
            return self._shaped(p, operands[0])
        if (
            p.subscripts is not None
            and p.subscripts.windows
            and any([halo for read in p.reads for halo in read.halo])
        ):
            op = Index(_from_the_end(p))
        return apply(op, operands)

    def _shaped(self, p: Placed, x: Variable) -> Variable:
        """Apply a reshape or a broadcast to the sizes of a block."""
        shape: list[int | None] = []
        sizes = []
        for letter, dim in zip(p.axes, p.node.type.shape, strict=True):
            if letter is None:
                shape.append(dim)
            else:
                shape.append(None)
                sizes.append(self._size(letter))
        if x.type.shape == tuple(shape) and not sizes:
            return x
        op: Any = type(p.node.op)
        return apply(op(tuple(shape)), (x, *sizes))

    def _size(self, letter: Letter) -> Variable:
        """Return the size of a block, read from an input, or else from an array of these sizes."""
        if letter in self.sizes:
            return self.sizes[letter]
        for (_, axes), x in self.inputs.items():
            for axis, other in enumerate(axes):
                if other == letter and x.type.shape[axis] == self.names[letter]:
                    self.sizes[letter] = apply(SizeOf(axis - x.ndim), (x,))
                    return self.sizes[letter]
        sizes = constant(list(letter.chunks), dtype="int64")
        x = make_input(f"x{len(self.inputs)}", TensorType("int64", (1,)))
        self.inputs[Read(sizes, ((1,) * len(letter.chunks),), (0,)), (letter,)] = x
        self.sizes[letter] = apply(Index((("int", 0),)), (x,))
        return self.sizes[letter]


def _from_the_end(p: Placed) -> tuple[tuple[Any, ...], ...]:
    """Return the key of slices whose ends are counted from the end of a block."""
    spec = []
    axis = 0
    x = p.node.inputs[0]
    for entry in p.node.op.params[0]:  # type: ignore[union-attr]
        if entry[0] == "newaxis":
            spec.append(entry)
            continue
        if entry[0] == "slice" and p.reads[0].halo[axis]:
            size = x.type.shape[axis]
            start, stop, _ = slice(*entry[1:]).indices(size)
            entry = ("slice", start or None, stop - size if stop < size else None, None)
        spec.append(entry)
        axis += 1
    return tuple(spec)


__all__ = ["block_graph"]
