"""Placement: into which blocks each value of a graph is divided, and over which its op loops.

The graph has static sizes, because the shapes of a call are known.  An axis in several blocks has a
:class:`Letter`, which names its division.  The *grid* of a node is the set of letters that its op
loops over: those of its result, and those that it reduces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import nan, prod
from typing import Any, Literal, NamedTuple

from relgraph.backends.dask.subscripts import Label, Subscripts, subscripts
from relgraph.errors import ArgumentError
from relgraph.ir.graph import is_tensor
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable
from relgraph.ir.records import record
from relgraph.ops.shape import BroadcastTo

Chunks = tuple[Any, ...]
"""The sizes of the blocks along an axis, as Dask writes them; NaN for one that is not known."""

Blocks = tuple[Chunks, ...]
"""The blocks along each axis of a value."""


class Letter(NamedTuple):
    """A division of an axis; equal divisions of two axes of one grid differ in ``copy``."""

    chunks: Chunks
    copy: int = 0


Axes = tuple[Letter | None, ...]
"""The letter of each axis of a value; None for an axis in one block."""


@record
class Read:
    """A value as an op reads it.

    Attributes
    ----------
    node
        The value.
    blocks
        The blocks along each axis.
    halo
        For each axis, how many elements of the next block follow those of a block.
    """

    node: Variable
    blocks: Blocks
    halo: tuple[int, ...]


@record(eq=False)
class Placed:
    """A node and how it is computed.

    Attributes
    ----------
    kind
        "local": block by block; "partial": block by block, with the results joined by a combiner;
        "array": by a function of Dask arrays; "input": not at all.
    axes, blocks
        The letters and the blocks of the result; empty for an op of several results.
    reads, letters
        The operands, and the letters of their axes.
    subscripts
        The subscripts of the op.
    """

    node: Variable
    kind: Literal["local", "partial", "array", "input"]
    axes: Axes
    blocks: Blocks
    reads: tuple[Read, ...] = ()
    letters: tuple[Axes, ...] = ()
    subscripts: Subscripts | None = None

    @property
    def grid(self) -> frozenset[Letter]:
        """The letters that the op loops over."""
        return frozenset(x for axes in (self.axes, *self.letters) for x in axes if x is not None)

    @property
    def reduced(self) -> frozenset[Letter]:
        """The letters that the op reduces."""
        return self.grid.difference(self.axes)


ByDask = Callable[[Variable, Sequence[Blocks]], Blocks | None]
"""The blocks of a node that a function of Dask's computes from operands in these blocks; None where
Dask has no such function."""

_Places = dict[Label, list[tuple[int, int]]]


def placement(
    order: Iterable[Variable],
    sources: Mapping[Variable, Blocks],
    by_dask: ByDask,
    limit: float,
    usual: Mapping[int, Chunks],
) -> dict[Variable, Placed]:
    """Return how each node is computed.

    Parameters
    ----------
    order
        The nodes, operands first.
    sources
        The blocks of the inputs and constants.
    by_dask
        What functions of Dask's compute.
    limit
        The bytes of the largest block to join from several, where an op needs an axis in one.
    usual
        The blocks to make of new axes, by their size.

    Raises
    ------
    ArgumentError
        For an op that needs a larger one; the message names the axis.
    """
    placed: dict[Variable, Placed] = {}
    read = Counter[Chunks]()  # the bytes of the inputs in each division of an axis
    for x, blocks in sources.items():
        read.update(dict.fromkeys([c for c in blocks if len(c) > 1], _bytes(x)))
    for node in order:
        if node in sources:
            placed[node] = Placed(node, "input", lettered(sources[node]), sources[node])
        else:
            placed[node] = _Op(node, placed, read).placed(by_dask, limit, usual)
    return placed


def lettered(blocks: Blocks) -> Axes:
    """Return a letter for each axis in several blocks."""
    letters: list[Letter | None] = []
    for chunks in blocks:
        copy = sum(x is not None and x.chunks == chunks for x in letters)
        letters.append(Letter(chunks, copy) if len(chunks) > 1 else None)
    return tuple(letters)


class _Op:
    """An application of an op to operands whose placement is known."""

    def __init__(
        self, node: Variable, placed: Mapping[Variable, Placed], read: Mapping[Chunks, int]
    ) -> None:
        self.node = node
        self.read = read
        self.operands = [placed[x] for x in node.inputs]
        self.rule = subscripts(node)
        self.places: _Places = {}
        for i, labels in enumerate(self.rule.operands):
            for axis, label in enumerate(labels):
                if label is not None:
                    self.places.setdefault(label, []).append((i, axis))
        self.chunks: dict[Label, Chunks] = {}
        self.halos: dict[Label, int] = {}
        self.followed: dict[Label, Label] = {}  # by labels of operands, for windows

    def placed(self, by_dask: ByDask, limit: float, usual: Mapping[int, Chunks]) -> Placed:
        joined = [*self._choose(), *self._windows()]
        if joined or any([x.kind == "array" and not is_tensor(x.node) for x in self.operands]):
            given = [x.blocks for x in self.operands]
            result = by_dask(self.node, given)
            if result is not None:
                reads = [Read(x.node, x.blocks, (0,) * len(x.blocks)) for x in self.operands]
                axes = lettered(result)
                return Placed(self.node, "array", axes, result, tuple(reads))
            for label in joined:
                self._check_size(label, limit)
        self._divide_new(usual)
        return self._looped()

    def _choose(self) -> list[Label]:
        """Choose the blocks along each label; return those that must be joined."""
        joined = []
        for label, places in self.places.items():
            given = list(dict.fromkeys([self.operands[i].blocks[a] for i, a in places]))
            if label in self.rule.whole:
                i, axis = places[0]
                self.chunks[label] = (_size(self.node.inputs[i], axis),)
                if any([len(chunks) > 1 for chunks in given]):
                    joined.append(label)
            else:
                self.chunks[label] = min(given, key=partial(self._moved, places))
        return joined

    def _moved(self, places: list[tuple[int, int]], chunks: Chunks) -> tuple[int, int]:
        """Return how bad it is to move operands to these blocks.

        Data in other blocks than the largest inputs could not be read in the same pass.  What
        counts then are the bytes of the operands that move.
        """
        others = {i for i, axis in places if self.operands[i].blocks[axis] != chunks}
        moved = sum([_bytes(self.node.inputs[i]) for i in others])
        return -self.read.get(chunks, 0), moved

    def _windows(self) -> list[Label]:
        """Let slices follow their operand; return the labels that must be joined for others."""
        joined = []
        for new, old, bounds in self.rule.windows:
            chunks = self.chunks[old]
            size = sum(chunks)
            start, stop, _ = slice(*bounds).indices(size)
            left_out = size - max(stop - start, 0)
            self.chunks[new] = (size - left_out,)
            if len(chunks) == 1:
                continue
            if left_out < min(chunks):
                self.chunks[new] = (*chunks[:-1], chunks[-1] - left_out)
                self.halos[old] = left_out
                self.followed[old] = new
            else:
                self.chunks[old] = (size,)
                joined.append(old)
        return joined

    def _check_size(self, label: Label, limit: float) -> None:
        """Raise ArgumentError if joining the blocks along a label makes too large a block."""
        for i, axis in self.places[label]:
            x, blocks = self.node.inputs[i], self.operands[i].blocks
            others = [max(c) for a, c in enumerate(blocks) if a != axis]
            size = prod(others) * _size(x, axis) * x.dtype.itemsize
            if len(blocks[axis]) > 1 and size > limit:
                raise ArgumentError(
                    f"{self.node.op!r} needs axis {axis} of {brief(x, 12)} in one block",
                    {
                        "in": brief(self.node, 24),
                        brief(x, 12): f"{x.type}, in {len(blocks[axis])} blocks along that axis",
                        "one block": f"{size / 2**20:,.0f} MiB; array.chunk-size allows "
                        f"{limit / 2**20:,.0f} MiB",
                    },
                    f"Divide another axis: x.rechunk({{{axis}: -1}}), with smaller blocks along "
                    "the others; or raise dask.config.set({'array.chunk-size': ...}).",
                )

    def _divide_new(self, usual: Mapping[int, Chunks]) -> None:
        """Divide the axes that no operand has: those of a broadcast as inputs are, others not."""
        if not is_tensor(self.node):
            return
        blocks = usual if isinstance(self.node.op, BroadcastTo) else {}
        for label, size in zip(self.rule.result, self.node.type.shape, strict=True):
            if label is not None and label not in self.chunks:
                known = (nan,) if size is None else (size,)
                self.chunks[label] = blocks.get(size, known)

    def _looped(self) -> Placed:
        rule, chunks = self.rule, self.chunks
        letters = self._letters()
        reads = [
            Read(
                x.node,
                tuple([(1,) if k is None else chunks[k] for k in labels]),
                tuple([self.halos.get(k, 0) if k is not None else 0 for k in labels]),
            )
            for x, labels in zip(self.operands, rule.operands, strict=True)
        ]
        own, *operands = [
            tuple([None if k is None else letters.get(k) for k in labels])
            for labels in (rule.result, *rule.operands)
        ]
        blocks = tuple([(1,) if k is None else chunks[k] for k in rule.result])
        if not is_tensor(self.node):
            own, blocks = (), ()
        reduced = set(letters.values()).difference(own)
        kind: Any = "partial" if reduced else "local"
        return Placed(self.node, kind, own, blocks, tuple(reads), tuple(operands), rule)

    def _letters(self) -> dict[Label, Letter]:
        """Return a letter for each label in several blocks: that of an operand, if it is free."""
        letters: dict[Label, Letter] = {}
        for label in dict.fromkeys([*self.rule.result, *self.places]):
            if label is None or label in self.followed or len(self.chunks[label]) == 1:
                continue
            chunks = self.chunks[label]
            known = [self.operands[i].axes[axis] for i, axis in self.places.get(label, ())]
            usable = [x for x in known if x is not None and x.chunks == chunks]
            copies = (Letter(chunks, copy) for copy in range(len(letters) + 1))
            letters[label] = next(x for x in (*usable, *copies) if x not in letters.values())
        letters |= {old: letters[new] for old, new in self.followed.items()}
        return letters


def _size(x: Variable, axis: int) -> Any:
    return x.type.shape[axis]


def _bytes(x: Variable) -> int:
    sizes = [dim or 0 for dim in x.type.shape]
    return int(prod(sizes)) * x.dtype.itemsize


__all__ = [
    "Axes",
    "Blocks",
    "ByDask",
    "Chunks",
    "Letter",
    "Placed",
    "Read",
    "lettered",
    "placement",
]
