"""The loop language as the text of a kernel that the threads of one block run together.

Each thread runs all statements, but of the outermost loops whose iterations are apart it runs every
n-th iteration, and the first thread alone writes what other statements store.  Between two barriers
there are the stores of one such loop, those of the first thread, or none, so that no thread reads
what another one writes at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.loop_printer import BARRIER, Printer, kernel, name_of, size_of
from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.nodes import (
    Body,
    Carry,
    Const,
    Function,
    If,
    Let,
    Loop,
    Op,
    Statement,
    Store,
    Var,
    While,
    buffers_of,
)
from relgraph.lowering.loops.rules import Unsupported
from relgraph.ops.elementwise import add, maximum, minimum, multiply

WIDE = 32  # iterations for which the threads of a warp are faster than one; not measured
SHARED = 48 << 10  # bytes of shared memory that every device has for a block

# The ops of totals, with the value of no terms; None if the first value may be joined twice.
_NOTHING = {
    "sum": "0", add: "0", multiply: "1", "max": None, "min": None, maximum: None, minimum: None
}  # fmt: skip


def printed_for_block(function: Function, threads: int) -> Text:
    """Return a function of the loop language as a kernel of one block.

    Parameters
    ----------
    function : Function
        The function.
    threads : int
        The threads of the block, a power of two.

    Raises
    ------
    Unsupported
        If it has no wide loop whose iterations are apart, too many arrays of its own, or an op
        without a spelling on a GPU.
    """
    if not any(_is_wide(s) for s in _shared(function.body)):
        raise Unsupported
    text = kernel(function)
    own = sorted(buffers_of(function.body) - set(function.arrays), key=name_of)
    if sum([size_of(b) * np.dtype(b.dtype).itemsize for b in own]) > SHARED // 2:
        raise Unsupported
    for b in own:
        kind = "bool_" if b.dtype == "bool" else b.dtype
        text.line(f"{name_of(b)} = cuda.shared.array({size_of(b)}, {kind})")
    _BlockPrinter(text, threads).body(function.body)
    return text


def _shared(body: Body) -> Iterator[Loop]:
    """Yield the outermost loops whose iterations are apart."""
    for s in body:
        if isinstance(s, Loop) and s.apart:
            yield s
        elif isinstance(s, Loop):
            yield from _shared(s.body)
        elif isinstance(s, While):
            yield from _shared((*s.head, *s.body))
        elif isinstance(s, If):
            yield from _shared((*s.then, *s.other))


def _is_wide(s: Loop) -> bool:
    """Return True for a loop of many iterations, with those of the loops that it consists of."""
    sizes = [x.high for x in _nest(s)]
    known = [n.value for n in sizes if isinstance(n, Const)]
    return len(known) < len(sizes) or prod(known) >= WIDE


class _BlockPrinter(Printer):
    def __init__(self, text: Text, threads: int) -> None:
        super().__init__(text)
        self.threads = threads
        self.within = False  # a loop whose iterations the threads share

    def body(self, body: Body) -> None:
        if self.within:
            super().body(body)
            return
        stores: list[Statement] = []
        for s in body:
            if isinstance(s, Store):
                stores.append(s)
                continue
            self.stored(stores)
            self.statement(s)
        self.stored(stores)

    def barrier(self) -> None:
        line = "    " * self.text.depth + BARRIER
        if self.text.lines[-1:] != [line]:
            self.text.lines.append(line)

    def stored(self, stores: list[Statement]) -> None:
        """Write the stores of the first thread."""
        if not stores:
            return
        self.barrier()
        self.text.open("if cuda.threadIdx.x == 0:")
        super().body(tuple(stores))
        self.text.close()
        self.barrier()
        stores.clear()

    def loop(self, s: Loop) -> None:
        joins = [self.join(s, c) for c in s.carried]
        stores = any(_stores(s.body))
        if self.within or not s.apart or (None in joins and not stores):
            super().loop(s)  # all of it, by each thread
            return
        known = [join for join in joins if join is not None]
        if len(known) < len(joins):
            raise Unsupported
        if stores:
            self.barrier()
        for c, op in zip(s.carried, known, strict=True):
            start, nothing = self.scalar(c.start), _NOTHING[op]
            if nothing is not None:
                start = f"{start} if cuda.threadIdx.x == 0 else {c.var.dtype}({nothing})"
            self.text.line(f"{c.var.name} = {start}")
        self.iterations(_nest(s))
        for c, op in zip(s.carried, known, strict=True):
            value = self.joined(op, c.var.dtype, c.var.name, self.threads)
            self.text.line(f"{c.var.name} = {value}")
        if stores:
            self.barrier()

    def iterations(self, nest: list[Loop]) -> None:
        """Write the iterations of a thread, of loops within each other."""
        line, inner = self.text.line, nest[-1]
        outer, low, high = nest[0].index.name, self.scalar(nest[0].low), self.scalar(nest[0].high)
        sizes = [self.scalar(s.high) for s in nest[1:]]
        if sizes:
            outer, high = "place", f"{high} * {' * '.join(sizes)}"
        line(f"{outer} = int64({low} + cuda.threadIdx.x)")
        line(f"last = int64({high})")
        self.text.open(f"while {outer} < last:")
        if sizes:
            line(f"{nest[0].index.name} = place")
        for s, size in reversed(list(zip(nest[1:], sizes, strict=True))):
            rest = nest[0].index.name
            line(f"{s.index.name} = int64({rest} % {size})")
            line(f"{rest} = int64({rest} // {size})")
        self.within = True
        self.body(inner.body)
        self.step(inner.carried)
        self.within = False
        line(f"{outer} = int64({outer} + {self.threads})")
        self.text.close()

    def join(self, s: Loop, c: Carry) -> Any:
        """Return the op that joins totals of two threads, or None if none does."""
        values = {x.var: x.value for x in s.body if isinstance(x, Let)}
        total = values.get(c.next) if isinstance(c.next, Var) else c.next
        if not isinstance(total, Op) or c.var.dtype not in ("float32", "float64", "int64"):
            return None
        return total.op if total.op in _NOTHING else None


def _nest(s: Loop) -> list[Loop]:
    """Return a loop, and those in it that are all of the body of the one around them."""
    nest = [s]
    while len(nest[-1].body) == 1 and not nest[-1].carried:
        (inner,) = nest[-1].body
        if not isinstance(inner, Loop) or not inner.apart or inner.carried:
            break
        if not (inner.low is s.low is ZERO) or inner.high in [x.index for x in nest]:
            break
        nest.append(inner)
    return nest


def _stores(body: Body) -> Iterator[Store]:
    for s in body:
        if isinstance(s, Store):
            yield s
        elif isinstance(s, Loop):
            yield from _stores(s.body)
        elif isinstance(s, While):
            yield from _stores((*s.head, *s.body))
        elif isinstance(s, If):
            yield from _stores((*s.then, *s.other))


__all__ = ["printed_for_block"]
