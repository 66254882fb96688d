"""Launches: the kernel, the number of threads and the arguments for the sizes of a call."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.grid_printer import printed_on_grid
from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.primitives import WARP, geometry, table
from relgraph.backends.failures import no_elements
from relgraph.ir import forks
from relgraph.ir.node import Variable
from relgraph.lowering.kernels import Call, Fold, Kernel, Step, Structure
from relgraph.lowering.loops.nodes import Buffer
from relgraph.lowering.nests.grid.elements import GridElements, is_flat, width
from relgraph.lowering.nests.grid.nest import GridNest
from relgraph.lowering.nests.grid.reductions import (
    GridReductions,
    lanes_of,
    second_pass,
    shares,
)
from relgraph.lowering.nests.grid.rows import GridRows, held, kinds, vector_of
from relgraph.lowering.nests.grid.totals import accumulator
from relgraph.lowering.sizes import Sizes, Term, folded_shape

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

SizeOf = Callable[[Term], int]
NARROW = 2**31  # from this number of elements, indices need 64 bits
SLOTS = 24  # the most constants that are kernel parameters; more are passed in an array

_compiled: dict[str, Any] = {}
_lock = forks.lock()


def compiled(text: Text) -> Any:
    """Return the compiled kernel of a text; a process compiles each text once."""
    name, body = text.module()
    with _lock:
        if name not in _compiled:
            source = adapter.Source(name, body, text.types(), scope(text))
            _compiled[name] = adapter.compiled(source)
        return _compiled[name]


def scope(text: Text) -> dict[str, Any]:
    """Return the names that the text of a kernel may use."""
    return {**table(), **text.names}


class Launcher(Protocol):
    """Runs one step of a program."""

    def run(self, run: Run, size: SizeOf) -> None:
        """Launch its kernels for the sizes of a call."""
        ...

    def texts(self) -> Iterator[str]:
        """Yield the text of each kernel, in the variant for small arrays."""
        ...

    def all_texts(self) -> Iterator[Text]:
        """Yield the kernels, in the variants for small arrays."""
        ...


class _StepLauncher(ABC):
    """The kernels of one step, written and compiled on first use."""

    def __init__(self, kernel: Kernel, sizes: Sizes) -> None:
        self.kernel = kernel
        self.sizes = sizes
        self.constants = Constants(kernel)
        self._compiled: dict[tuple[Any, ...], Any] = {}

    def compiled(self, text: Callable[..., Text], *variant: Any) -> Any:
        """Return the compiled kernel of a text for a variant, such as a number of threads."""
        found = self._compiled.get((text, variant))
        if found is None:
            found = self._compiled[text, variant] = compiled(text(*variant))
        return found

    @abstractmethod
    def all_texts(self) -> Iterator[Text]:
        """Yield the kernels, in the variants for small arrays."""

    def texts(self) -> Iterator[str]:
        for text in self.all_texts():
            yield text.module()[1]


class Constants:
    """The constants of a kernel as launch arguments."""

    def __init__(self, kernel: Kernel) -> None:
        self.counts = kernel.structure.slot_counts()
        self.values = {
            dtype: np.array([x.uniform for x in kernel.slots[dtype]], dtype)
            for dtype in self.counts
        }
        self.arrays: list[DeviceArray] = []

    def arguments(self, run: Run) -> list[Any]:
        """Return the constants as numbers, or as arrays if there are many.

        Arrays stay on the device for later calls.
        """
        if are_parameters(self.counts):
            return [number for values in self.values.values() for number in values]
        if not self.arrays:
            self.arrays = [run.moved(values) for values in self.values.values()]
        return list(map(flat_of, self.arrays))


def are_parameters(counts: dict[str, int]) -> bool:
    """Return True if constants are parameters; a kernel with many of them gets arrays."""
    return sum(counts.values()) <= SLOTS


def constants_of(nest: GridNest) -> Collection[Buffer]:
    """Return the arrays of constants whose elements are parameters."""
    return nest.slots.values() if are_parameters(nest.structure.slot_counts()) else ()


def indices(wide: bool) -> str:
    """Return the dtype of indices; with ``wide`` there are 2**31 elements or more."""
    return "uint64" if wide else "uint32"


@lru_cache(maxsize=1024)
def map_text(structure: Structure, wide: bool, threads: int) -> Text:
    """Return the kernel of a structure without reductions."""
    nest = GridElements(structure)
    return printed_on_grid(nest.kernel("NAME"), threads, 0, indices(wide), constants_of(nest))


@lru_cache(maxsize=1024)
def fold_text(structure: Structure, wide: bool, threads: int) -> Text:
    """Return the first pass of a structure with reductions."""
    nest = GridReductions(structure)
    return printed_on_grid(nest.kernel("NAME"), threads, 0, indices(wide), constants_of(nest))


@lru_cache(maxsize=256)
def second_text(folds: tuple[Fold, ...], threads: int) -> Text:
    """Return the second pass of reductions."""
    return printed_on_grid(second_pass(folds, "NAME"), threads, 0, "uint64")


@lru_cache(maxsize=1024)
def row_text(structure: Structure, shape: Shape, unread: frozenset[int]) -> Text:
    """Return the kernel of a structure with several passes."""
    capacity = shape.threads * shape.vectors * shape.lanes
    nest = GridRows(structure, shape.lanes, capacity, unread)
    function = nest.kernel("NAME")
    return printed_on_grid(
        function, shape.threads, shape.vectors, indices(shape.wide), constants_of(nest)
    )


@dataclass(frozen=True)
class Shape:
    """How rows are spread over threads.

    Attributes
    ----------
    threads
        Threads of a row.
    vectors
        Vectors that each thread holds; 0 to read the row again in each pass.
    lanes
        Elements of a vector.
    wide
        Whether there may be 2**31 elements or more.
    """

    threads: int
    vectors: int
    lanes: int
    wide: bool = False


def blocks(count: int, threads: int) -> int:
    """Return the number of blocks for ``count`` threads, within the limits of a grid."""
    return max(1, min(geometry().grid, -(-count // threads)))


def block_rows(threads: int) -> int:
    """Return how many rows a block works on, if each row has this many threads."""
    return 4 if threads == WARP else 1  # the threads of a warp need no barrier


def aligned(arrays: Sequence[DeviceArray], lanes: int) -> bool:
    """Return True if the start of each array is aligned for vectors of ``lanes`` elements."""
    return all(
        adapter.pointer(flat_of(x)) % (lanes * x.dtype.itemsize) == 0 for x in arrays if x.size
    )


def group_sizes(kernel: Kernel, sizes: Sizes, size: SizeOf) -> list[int]:
    """Return the size of each group of a kernel's loop."""
    loop = sizes.loop[kernel]
    return [math.prod(size(loop[axis]) for axis in group) for group in kernel.groups]


class MapLauncher(_StepLauncher):
    """Launches a kernel without reductions."""

    def __init__(self, kernel: Kernel, sizes: Sizes) -> None:
        super().__init__(kernel, sizes)
        self.lanes = width(kernel.structure)

    def text(self, wide: bool) -> Text:
        return map_text(self.kernel.structure, wide, geometry().threads)

    def all_texts(self) -> Iterator[Text]:
        yield self.text(False)

    def run(self, run: Run, size: SizeOf) -> None:
        kernel, threads = self.kernel, geometry().threads
        arrays = [run.on_device(x) for x in kernel.arrays]
        for x in kernel.stored:
            run.result(x, tuple(map(size, self.sizes.shape[x])))
        results = [run.device[x] for x in kernel.stored]
        groups = group_sizes(kernel, self.sizes, size)
        n = math.prod(groups)
        if n == 0:
            return
        structure = kernel.structure
        last = groups[-1]
        read = [x for x, (_, spans) in zip(arrays, structure.arrays, strict=True) if spans[-1]]
        whole = is_flat(structure) or len(groups) == 1 or last % self.lanes == 0
        vectors = n // self.lanes if whole and aligned([*read, *results], self.lanes) else 0
        vectors = vectors if self.lanes > 1 else 0
        work = max(vectors, n - vectors * self.lanes)
        run.launch(
            self.compiled(self.text, n >= NARROW),
            (blocks(work, threads),),
            (threads,),
            [
                n,
                vectors,
                *groups,
                *map(flat_of, arrays),
                *self.constants.arguments(run),
                *map(flat_of, results),
            ],
        )


class FoldLauncher(_StepLauncher):
    """Launches a kernel with reductions, and a second pass if results have several parts."""

    def __init__(self, kernel: Kernel, sizes: Sizes) -> None:
        super().__init__(kernel, sizes)
        structure = kernel.structure
        self.reduces = any(structure.reduced)
        self.shared = self.reduces and shares(structure)
        self.lanes = lanes_of(structure) if self.reduces else 1
        self.partial = [np.dtype(accumulator(fold)) for fold in structure.folds]

    def text(self, wide: bool, threads: int) -> Text:
        return fold_text(self.kernel.structure, wide, threads)

    def all_texts(self) -> Iterator[Text]:
        yield self.text(False, geometry().threads)
        if self.shared:
            yield self.text(False, geometry().warp)
        yield second_text(self.kernel.structure.folds, geometry().threads)

    def run(self, run: Run, size: SizeOf) -> None:
        kernel, g = self.kernel, geometry()
        structure = kernel.structure
        arrays = [run.on_device(x) for x in kernel.arrays]
        groups = group_sizes(kernel, self.sizes, size)
        k = math.prod(n for n, r in zip(groups, structure.reduced, strict=True) if not r)
        m = math.prod(n for n, r in zip(groups, structure.reduced, strict=True) if r)
        self._allocate(run, size, k, m)
        if k == 0:
            return
        results = [run.device[x] for x in kernel.folded]
        threads, ranks = self._threads(m)
        parts, part = self._parts(k, m, threads * ranks)
        totals = [run.empty((parts * k,), dtype) for dtype in self.partial] if parts > 1 else []
        partial = [flat_of(x) for x in totals] or list(map(adapter.nothing, self.partial))
        rows = k * parts
        usable = self.lanes > 1 and (k == 1 or m % self.lanes == 0)
        read = [x for x, (_, spans) in zip(arrays, structure.arrays, strict=True) if spans[-1]]
        vectors = int(usable and aligned(read, self.lanes))
        grid = blocks(rows, ranks if self.shared else threads)
        folded = [x for pair in zip(map(flat_of, results), partial, strict=True) for x in pair]
        run.launch(
            self.compiled(self.text, k * max(m, parts) >= NARROW, threads),
            (grid,),
            (threads, ranks) if self.shared else (threads,),
            [
                k, m, parts, part, vectors, *groups,
                *map(flat_of, arrays),
                *self.constants.arguments(run),
                *(flat_of(run.device[x]) for x in kernel.stored),
                *folded,
            ],
        )  # fmt: skip
        if parts > 1:
            run.launch(
                self.compiled(second_text, structure.folds, g.threads),
                (blocks(k, 1),),
                (g.threads,),
                [k, parts, m, *folded],
            )

    def _threads(self, m: int) -> tuple[int, int]:
        """Return the threads of a group and the groups of a block."""
        g = geometry()
        if self.shared and m <= 4 * g.warp * self.lanes:
            return g.warp, max(1, g.threads // g.warp // 2) if g.warp == 32 else 1
        return g.threads, 1

    def _parts(self, k: int, m: int, threads: int) -> tuple[int, int]:
        """Return how many parts to cut each result's elements into, and the size of a part."""
        g = geometry()
        full = g.blocks * adapter.processors()
        if self.shared:
            smallest = threads * self.lanes * 4
            parts = min(full // k, -(-m // smallest)) if k < full else 1
        else:
            smallest = 32
            width = -(-k // g.threads)
            parts = min(full // width, -(-m // smallest)) if width < full else 1
        parts = max(1, parts)
        part = -(-m // parts)
        part = -(-part // (threads * self.lanes)) * threads * self.lanes if self.shared else part
        return (max(1, -(-m // part)), part) if m else (1, 0)

    def _allocate(self, run: Run, size: SizeOf, k: int, m: int) -> None:
        kernel = self.kernel
        loop = self.sizes.loop[kernel]
        for x in kernel.stored:
            run.result(x, tuple(map(size, self.sizes.shape[x])))
        for x in kernel.folded:
            refuse_nothing(x, k, m)
            run.result(x, tuple(map(size, folded_shape(x, loop))))


def refuse_nothing(x: Variable, k: int, m: int) -> None:
    """Raise the error of NumPy for an extreme over no elements, unless the result is empty."""
    assert x.op is not None
    if getattr(x.op, "nonempty", False) and m == 0 and k != 0:
        raise no_elements(x)


class RowLauncher(_StepLauncher):
    """Launches a kernel of several passes, or its parts one by one if no kernel of rows fits."""

    def __init__(self, kernel: Kernel, sizes: Sizes, read: Collection[Variable]) -> None:
        super().__init__(kernel, sizes)
        structure = kernel.structure
        self.parts = [(part, device_part(part, sizes)) for part in kernel.parts]
        self.kinds = kinds(structure)
        self.lanes = vector_of(structure)
        self.unread = frozenset(k for k, x in enumerate(kernel.stored) if x not in read)
        self.read = read

    def all_texts(self) -> Iterator[Text]:
        if self.kinds is None:
            for _, part in self.parts:
                yield from part.all_texts()
            return
        g = geometry()
        for lanes in sorted({1, self.lanes}):
            yield self._text(Shape(g.warp, self._held(lanes), lanes))
            yield self._text(Shape(g.threads, self._held(lanes), lanes))
        yield self._text(Shape(g.threads, 0, self.lanes))

    def texts(self) -> Iterator[str]:
        for text in list(self.all_texts())[-2:-1]:
            yield text.module()[1]

    def _text(self, shape: Shape) -> Text:
        return row_text(self.kernel.structure, shape, self.unread)

    def _held(self, lanes: int) -> int:
        return held(self.kernel.structure, lanes)

    def run(self, run: Run, size: SizeOf) -> None:
        kernel, g = self.kernel, geometry()
        structure = kernel.structure
        groups = group_sizes(kernel, self.sizes, size)
        k = math.prod(n for n, r in zip(groups, structure.reduced, strict=True) if not r)
        m = math.prod(n for n, r in zip(groups, structure.reduced, strict=True) if r)
        short = m <= g.most * self._held(self.lanes) * self.lanes
        if self.kinds is None or not k * m or (2 * k <= adapter.processors() and not short):
            self._one_by_one(run, size)
            return
        arrays = [run.on_device(x) for x in kernel.arrays]
        along = [
            x for x, kind in zip(arrays, self.kinds, strict=True) if kind in ("full", "column")
        ]
        along += self._allocate(run, size, k, m)
        lanes = self.lanes if m % self.lanes == 0 and aligned(along, self.lanes) else 1
        shape, ranks = self._shape(k, m, lanes)
        if not shape.vectors:  # values that one pass keeps for another need memory
            for index in self.unread:
                x = kernel.stored[index]
                run.result(x, tuple(map(size, self.sizes.shape[x])))
        run.launch(
            self.compiled(self._text, shape),
            (blocks(k, ranks),),
            (shape.threads, ranks),
            [
                k, m,
                *map(flat_of, arrays),
                *self.constants.arguments(run),
                *(flat_of(run.device[x]) for x in kernel.stored),
            ],
        )  # fmt: skip
        for index in self.unread:
            run.device.pop(kernel.stored[index], None)

    def _allocate(self, run: Run, size: SizeOf, k: int, m: int) -> list[DeviceArray]:
        """Allocate the results, and return the arrays that the kernel writes rows to."""
        row_results = []
        for part in self.kernel.parts:
            for x in part.folded if isinstance(part, Kernel) else ():
                refuse_nothing(x, k, m)
        for index, x in enumerate(self.kernel.stored):
            shape = (0,) if index in self.unread else tuple(map(size, self.sizes.shape[x]))
            run.result(x, shape)
            if self.kernel.structure.results[index][1]:
                row_results.append(run.device[x])
        return row_results

    def _shape(self, k: int, m: int, lanes: int) -> tuple[Shape, int]:
        """Return how to spread rows over threads, and the number of rows in a block."""
        g = geometry()
        wide = k * m >= NARROW
        vector = self._held(lanes) * lanes
        threads = g.warp
        while threads < g.most and threads * vector < m:
            threads *= 2
        if threads * vector < m:
            return Shape(g.threads, 0, lanes, wide), 1
        return Shape(threads, -(-m // (threads * lanes)), lanes, wide), block_rows(threads)

    def _one_by_one(self, run: Run, size: SizeOf) -> None:
        for _, part in self.parts:
            part.run(run, size)
        for step, _ in self.parts:
            for x in step.results:
                if x not in self.read:
                    run.device.pop(x, None)


class ViewLauncher:
    """Adds or drops axes of size 1, between the parts of a kernel of several passes."""

    def __init__(self, call: Call, sizes: Sizes) -> None:
        self.node = call.node
        self.sizes = sizes

    def texts(self) -> Iterator[str]:
        return iter(())

    def all_texts(self) -> Iterator[Text]:
        return iter(())

    def run(self, run: Run, size: SizeOf) -> None:
        shape = tuple(map(size, self.sizes.shape[self.node]))
        run.put(self.node, run.on_device(self.node.inputs[0]).part(shape))


def device_part(part: Step, sizes: Sizes) -> Launcher:
    """Return the launcher of one part of a kernel of several passes."""
    if isinstance(part, Call):
        return ViewLauncher(part, sizes)
    return step_launcher(part, sizes, part.results)


def step_launcher(step: Kernel, sizes: Sizes, read: Collection[Variable]) -> Launcher:
    """Return the launcher of a kernel; ``read`` holds the results that anything reads."""
    if step.structure.passes:
        return RowLauncher(step, sizes, read)
    if step.structure.folds:
        return FoldLauncher(step, sizes)
    return MapLauncher(step, sizes)
