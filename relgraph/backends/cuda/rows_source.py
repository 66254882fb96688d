"""Kernels of several passes: rows stay in registers, or each pass reads them again.

Each thread of a row holds some of its vectors of 16 bytes; the stride between them is the number of
threads.  Values that one pass keeps for another also stay in registers, and the kernel writes only
results that other steps read.  If a row is too long for registers, every pass reads it again,
usually from the cache.  The largest element and the sum of exponentials then share one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relgraph.backends.cuda.online import Online, online
from relgraph.backends.cuda.primitives import load, store
from relgraph.backends.cuda.reduction_source import reduce_of
from relgraph.backends.cuda.source import (
    Text,
    add_slots,
    finished,
    joined,
    operand_name,
    start,
    term,
)
from relgraph.backends.cuda.templates import expression
from relgraph.lowering.kernels import Pass, Structure
from relgraph.lowering.refs import Ref

REGISTERS = 24  # of 4 bytes, for the elements that a thread holds
VECTORS = 2  # the most vectors of a row that a thread holds
SCALARS = 6  # the most elements that a thread holds if it cannot read vectors
BYTES = 16


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


def kinds(structure: Structure) -> list[str] | None:
    """Return which axes of the loop nest each array spans; None if one spans them in another way.

    An array is "full", "row" (one element for each row), "column" (one row for all) or "one".
    """
    result = []
    for _, spans in structure.arrays:
        outer = {s for s, r in zip(spans, structure.reduced, strict=True) if not r}
        inner = {s for s, r in zip(spans, structure.reduced, strict=True) if r}
        if len(outer) > 1 or len(inner) > 1:
            return None
        row, column = outer == {True}, inner == {True}
        result.append("full" if row and column else "row" if row else "column" if column else "one")
    return result


def lanes_of(structure: Structure) -> int:
    """Return how many consecutive elements make a vector."""
    sizes = [
        np.dtype(dtype).itemsize
        for (dtype, _), kind in zip(structure.arrays, kinds(structure) or (), strict=False)
        if kind in ("full", "column")
    ]
    sizes += [np.dtype(dtype).itemsize for dtype, full in structure.results if full]
    return max(1, min(8, BYTES // max(sizes, default=8)))


def held(structure: Structure, lanes: int) -> int:
    """Return how many vectors of a row a thread can hold in registers."""
    full = [
        dtype
        for (dtype, _), kind in zip(structure.arrays, kinds(structure) or (), strict=False)
        if kind == "full"
    ]
    full += [dtype for dtype, spans in structure.results if spans]
    words = sum(max(1, np.dtype(dtype).itemsize // 4) for dtype in full)
    elements = max(1, REGISTERS // max(1, words))
    most = VECTORS if lanes > 1 else min(SCALARS, VECTORS * lanes_of(structure))
    return max(1, min(most, elements // lanes))


def row_text(structure: Structure, shape: Shape, unread: frozenset[int] = frozenset()) -> Text:
    """Write a kernel of several passes.

    Its parameters are the number of rows and of elements in each, the arrays, the constants and the
    results.  If rows fit in registers, it does not write the results in ``unread``.
    """
    return _Writer(structure, shape, unread).text


@dataclass(frozen=True)
class _Vector:
    """The name suffix of a vector, the test that it lies in the row, and its offset there."""

    suffix: str
    inside: str
    place: str


class _Writer:
    def __init__(self, structure: Structure, shape: Shape, unread: frozenset[int]) -> None:
        self.s = s = structure
        self.shape = shape
        self.unread = unread if shape.vectors else frozenset()
        self.kinds = kinds(s) or []
        self.index = "windex" if shape.wide else "uindex"
        self.single = {  # statements that run once for a row
            k for part in s.passes if not part.inner for k in range(*part.rows)
        }
        self.last = {
            result: number for number, part in enumerate(s.passes) for _, result in part.stores
        }
        self.loaded: set[int] = set()
        self.online = None if shape.vectors else online(s, self.kinds)
        self.recomputed = {} if self.online is None else self.online.recomputed
        self.text = text = Text()
        kind = "uint64" if shape.wide else "uint32"
        text.parameters = [("k", kind), ("m", kind)]
        text.parameters += [(f"x{i}", f"{dtype}[::1]") for i, (dtype, _) in enumerate(s.arrays)]
        add_slots(text, s.slot_counts())
        text.parameters += [(f"o{i}", f"{dtype}[::1]") for i, (dtype, _) in enumerate(s.results)]
        self._write()

    def _write(self) -> None:
        text, index = self.text, self.index
        text.line(f"i = {index}(cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y)")
        text.line(f"t = {index}(cuda.threadIdx.x)")
        for k, kind in enumerate(self.kinds):
            if kind == "one":
                text.line(f"v{k} = x{k}[0]")
        text.open("while i < k:")
        text.line(f"first = {index}(i * m)")
        for k, kind in enumerate(self.kinds):
            if kind == "row":
                text.line(f"v{k} = x{k}[i]")
        for s in range(self.shape.vectors):
            self._place(s)
        for number, part in enumerate(self.s.passes):
            if part.inner:
                self._elements(part, number)
            else:
                self._once(part)
        text.line(f"i = {index}(i + cuda.gridDim.x * cuda.blockDim.y)")
        text.close()

    def _place(self, s: int) -> None:
        """Write the offset in the row of a vector that a thread holds."""
        text, shape, index = self.text, self.shape, self.index
        step = s * shape.threads * shape.lanes
        text.line(f"q_{s} = {index}(t * {shape.lanes} + {step})")
        text.line(f"inside_{s} = q_{s} < m")
        text.line(f"place_{s} = {index}(cuda.selp(inside_{s}, q_{s}, {index}(0)))")

    def _name(self, lane: str) -> Callable[[Ref], str]:
        """Return the function that names references in one lane."""

        def name(ref: Ref) -> str:
            if ref.kind == "fold":
                return f"f{ref.index}"
            if ref.kind == "kept" and ref.index in self.recomputed:
                return operand_name(self.recomputed[ref.index], lane)
            if ref.kind == "kept":
                return f"h{ref.index}{lane}"
            single = (ref.kind == "row" and ref.index in self.single) or (
                ref.kind == "array" and self.kinds[ref.index] in ("row", "one")
            )
            return operand_name(ref, "" if single else lane)

        return name

    def _once(self, part: Pass) -> None:
        """Write the statements that run once for a row."""
        name = self._name("")
        for k in range(*part.rows):
            row = self.s.rows[k]
            self.text.line(f"t{k} = {expression(row, [name(ref) for ref in row.operands])}")
        written = [(ref, r) for ref, r in part.stores if r not in self.unread]
        if written:
            self.text.open("if t == 0:")
            for ref, result in written:
                self.text.line(f"o{result}[i] = {name(ref)}")
            self.text.close()

    def _elements(self, part: Pass, number: int) -> None:
        """Write a pass over the elements of a row."""
        text, shape = self.text, self.shape
        folds = [(i, self.s.folds[i]) for i in range(*part.folds)]
        if self.online is not None and number == self.online.second:
            self._joined_sum(self.online)
        for i, fold in folds:
            text.line(f"a{i} = {start(fold)}")
        if self.online is not None and number == self.online.first:
            self._running(self.online)
        elif shape.vectors:
            vectors = [_Vector(f"_{s}", f"inside_{s}", f"place_{s}") for s in range(shape.vectors)]
            for vector in vectors:
                self._load(part, vector)
            self.loaded |= self._read(part)
            for vector in vectors:
                self._vector(part, number, vector)
        else:

            def body(at: _Vector) -> None:
                self._load(part, at)
                self._vector(part, number, at)

            self._loop(body)
        if self.online is not None and number == self.online.second:
            text.close()
        for i, fold in folds:
            text.names[f"reduce{i}"] = reduce_of(fold, shape.threads)
            text.line(f"a{i} = reduce{i}(a{i})")
            text.line(f"f{i} = {finished(fold, f'a{i}', 'm')}")

    def _loop(self, body: Callable[[_Vector], object]) -> None:
        """Write a loop over the vectors of a row that a thread reads."""
        text, shape = self.text, self.shape
        text.line(f"place = {self.index}(t * {shape.lanes})")
        text.open("while place < m:")
        body(_Vector("", "", "place"))
        text.line(f"place = {self.index}(place + {shape.threads * shape.lanes})")
        text.close()

    def _running(self, merged: Online) -> None:
        """Write the pass that keeps the largest element together with the sum of exponentials."""
        text, part = self.text, self.s.passes[merged.first]
        fold, top, total = self.s.folds[merged.top], f"a{merged.top}", f"s{merged.total}"
        rows = [self.s.rows[k] for k in merged.rows]
        text.line(f"{total} = float64(0.0)")

        def body(at: _Vector) -> None:
            self._load(part, at)
            values = [f"v{merged.array}{at.suffix}_{lane}" for lane in range(self.shape.lanes)]
            text.line(f"best = {top}")
            for value in values:
                text.line(f"best = {joined(fold, 'best', value)}")
            text.open(f"if not (best <= {top}):")
            text.line(f"{total} = mul({total}, exp(float64({top}) - float64(best)))")
            text.line(f"{top} = best")
            text.close()
            for value in values:  # skip -inf, which may be the largest so far
                text.line(f"d = {expression(rows[0], [value, top])}")
                text.line(f"e = float64({expression(rows[1], ['d'])})")
                text.line(f"{total} = {total} + cuda.selp({value} > -math.inf, e, float64(0.0))")

        self._loop(body)
        text.line(f"own{merged.top} = {top}")

    def _joined_sum(self, merged: Online) -> None:
        """Write the sum for rows with a finite largest element, and open the block for others."""
        text, top = self.text, f"f{merged.top}"
        text.open(f"if ({top} - {top}) == 0:")
        scale = f"exp(float64(own{merged.top}) - float64({top}))"
        text.line(f"a{merged.total} = mul(s{merged.total}, {scale})")
        text.close()
        text.open("else:")

    def _refs(self, part: Pass) -> list[Ref]:
        refs = [ref for k in range(*part.rows) for ref in self.s.rows[k].operands]
        refs += [self.s.folds[i].operand for i in range(*part.folds)]
        return refs + [ref for ref, _ in part.stores]

    def _read(self, part: Pass) -> set[int]:
        """Return the arrays that a pass reads element by element."""
        again = {self.online.array} if self.online and self._recomputes(part) else set()
        return again | {
            ref.index
            for ref in self._refs(part)
            if ref.kind == "array" and self.kinds[ref.index] in ("full", "column")
        }

    def _recomputes(self, part: Pass) -> bool:
        """Return True if a pass reads values that an earlier one did not keep."""
        return any(ref.kind == "kept" and ref.index in self.recomputed for ref in self._refs(part))

    def _load(self, part: Pass, at: _Vector) -> None:
        """Load what a pass needs of a vector, unless registers hold it already."""
        for k in sorted(self._read(part) - self.loaded):
            place = f"first + {at.place}" if self.kinds[k] == "full" else at.place
            self._load_vector(f"v{k}", f"x{k}", self.s.arrays[k][0], at.suffix, place)
        if self.shape.vectors:
            return
        kept = {ref.index for ref in self._refs(part) if ref.kind == "kept"}
        for k in sorted(kept - set(self.recomputed)):
            dtype = self.s.results[k][0]
            self._load_vector(f"h{k}", f"o{k}", dtype, at.suffix, f"first + {at.place}")

    def _load_vector(self, name: str, array: str, dtype: str, suffix: str, place: str) -> None:
        lanes = self.shape.lanes
        if lanes == 1:
            self.text.line(f"{name}{suffix}_0 = {array}[{self.index}({place})]")
            return
        self.text.names[f"load_{dtype}_{lanes}"] = load(dtype, lanes)
        names = ", ".join(f"{name}{suffix}_{lane}" for lane in range(lanes))
        self.text.line(f"{names} = load_{dtype}_{lanes}({array}, {self.index}({place}))")

    def _vector(self, part: Pass, number: int, at: _Vector) -> None:
        """Write the statements of a pass for one vector of the row."""
        text = self.text
        lanes = [f"{at.suffix}_{lane}" for lane in range(self.shape.lanes)]
        again = self.online.rows if self.online and self._recomputes(part) else ()
        for lane in lanes:
            name = self._name(lane)
            for k in (*again, *range(*part.rows)):
                row = self.s.rows[k]
                operands = [name(ref) for ref in row.operands]
                text.line(f"t{k}{lane} = {expression(row, operands)}")
            for i in range(*part.folds):
                fold = self.s.folds[i]
                value = term(fold, name(fold.operand))
                if at.inside:
                    value = f"cuda.selp({at.inside}, {value}, {start(fold)})"
                text.line(f"b{i} = {value}")
                text.line(f"a{i} = {joined(fold, f'a{i}', f'b{i}')}")
        for ref, result in part.stores:
            if self.online and number == self.online.second and result in self.recomputed:
                continue
            values = [self._name(lane)(ref) for lane in lanes]
            if self.shape.vectors:
                for lane, value in zip(lanes, values, strict=True):
                    text.line(f"h{result}{lane} = {value}")
                if self.last[result] != number or result in self.unread:
                    continue
            self._store(result, values, at)

    def _store(self, result: int, values: list[str], at: _Vector) -> None:
        text, lanes = self.text, self.shape.lanes
        dtype = self.s.results[result][0]
        place = f"{self.index}(first + {at.place})"
        if at.inside:
            text.open(f"if {at.inside}:")
        if lanes == 1:
            text.line(f"o{result}[{place}] = {values[0]}")
        else:
            text.names[f"store_{dtype}_{lanes}"] = store(dtype, lanes)
            text.line(f"store_{dtype}_{lanes}(o{result}, {place}, ({', '.join(values)}))")
        if at.inside:
            text.close()
