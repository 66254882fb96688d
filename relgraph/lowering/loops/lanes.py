"""Loops over elements with loops inside, in blocks of elements on vectors.

``for j: for k: c[i, j] += a[i, k] * b[k, j]`` reads along a column in the inner loop.  If the
iterations over ``j`` are apart and what they read and write lies side by side, they run in blocks:
the loop over ``k`` runs once for a block, and each statement within becomes a loop over the lanes
of the block, which LLVM makes vectors.  Values that a lane hands from one of these loops to the
next are in buffers on the stack, which LLVM keeps in registers.

References
----------
R. Allen and K. Kennedy, "Optimizing Compilers for Modern Architectures", 2001, 5.2 (interchange)
and 5.3 (scalar expansion).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.changes import Steps, mapped, with_loops
from relgraph.lowering.loops.nodes import (
    Body,
    Buffer,
    Function,
    Let,
    Load,
    Loop,
    Node,
    Op,
    Scalar,
    Statement,
    Store,
    Var,
    const,
    walk,
)
from relgraph.lowering.loops.verify import Accesses

LANES = (32, 8)  # of a block: first of many, then of few; the rest run one by one
LARGEST = 80  # statements of a loop, which are written for each kind of block


def on_lanes(function: Function) -> Function:
    """Return a function whose loops over elements with loops inside run in blocks, if they may."""
    values = {s.var: s.value for s in walk(function.body) if isinstance(s, Let)}
    copies = count(1)

    def change(s: Loop) -> Body | None:
        steps = Steps(s)
        if _is_nest(s, steps) and not Accesses(s, values).shared():
            return _in_blocks(s, steps, copies)
        return None

    return with_loops(function, change)


def _in_blocks(s: Loop, steps: Steps, copies: Iterator[int]) -> Body:
    """Return a loop over blocks for each number of lanes, and one over the rest."""
    difference = Op("sub", (s.high, s.low), "int64")
    length = Op("max", (difference, ZERO), "int64")
    result: list[Statement] = []
    begin = s.low
    for lanes in LANES:
        block = _Block(s, steps, lanes, f"x{next(copies)}")
        end = Var(f"{s.index.name}end{block.suffix}", "int64")
        whole = Op("div", (length, const(lanes, "int64")), "int64")
        covered = Op("mul", (whole, const(lanes, "int64")), "int64")
        result.append(Let(end, Op("add", (s.low, covered), "int64")))
        result.append(Loop(block.first, begin, end, block.body(), (), False, lanes))
        begin = end
    return (*result, Loop(s.index, begin, s.high, s.body, (), s.apart))


def _is_nest(s: Loop, steps: Steps) -> bool:
    """Return True for a loop over elements that lie side by side, with loops inside.

    All elements run the loops inside equally often.
    """
    inside = [x for x in walk(s.body) if isinstance(x, Statement)]
    loops = [x for x in inside if isinstance(x, Loop)]
    if not loops or len(inside) > LARGEST or s.carried or s.step != 1 or s.level:
        return False
    if any([isinstance(x, Load) for x in walk((s.low, s.high))]):  # which the blocks may change
        return False
    if any([x.level or steps.of(x.low) != 0 or steps.of(x.high) != 0 for x in loops]):
        return False
    if not all([isinstance(x, Let | Store | Loop) for x in inside]):
        return False
    accesses = [x for x in walk(s.body) if isinstance(x, Load | Store)]
    moving = [x for x in accesses if any([steps.of(i) != 0 for i in x.index])]
    return bool(moving) and all([_is_side_by_side(x, steps) for x in moving])


def _is_side_by_side(x: Load | Store, steps: Steps) -> bool:
    """Return True if neighbouring iterations access neighbours."""
    *outer, last = [steps.of(i) for i in x.index]
    return last == 1 and not any([n != 0 for n in outer]) and not x.buffer.strides


Kept = Sequence[tuple[Buffer, Scalar]]
"""Values that each lane keeps for other statements, and where."""


class _Block:
    """A block of iterations.

    The statements between loops are runs, and each run is a loop over the lanes.
    """

    def __init__(self, loop: Loop, steps: Steps, lanes: int, suffix: str) -> None:
        self.loop = loop
        self.lanes = lanes
        self.suffix = suffix
        self.first = self.renamed(loop.index, "first")
        self._steps = steps
        self._uniform: dict[Var, Var] = {}  # what is the same in all lanes, with its name here
        self._buffers: dict[Var, Buffer] = {}  # where the value of each lane is, for other runs
        self._recomputed: list[Let] = []  # indices, which each run computes again
        self._numbers = count(1)

    def renamed(self, x: Var, part: str = "") -> Var:
        return Var(f"{x.name}{part}{self.suffix}", x.dtype)

    def body(self) -> Body:
        """Return the statements of a block."""
        self._classify(self.loop.body)
        return tuple(self._written(self.loop.body, []))

    def _classify(self, body: Body) -> None:
        """Find what is the same in all lanes, and what a run reads of another one.

        Such values are indices, which each run computes, or go through buffers.
        """
        run = 0
        defined: dict[Var, int] = {}
        reads: list[tuple[int, Any]] = []

        def visit(body: Body) -> None:
            nonlocal run
            for s in body:
                if isinstance(s, Loop):
                    reads.append((run, [c.start for c in s.carried]))
                    self._uniform[s.index] = self.renamed(s.index)
                    for c in s.carried:
                        self._keep(c.var)
                    run += 1
                    visit(s.body)
                    reads.append((run, [c.next for c in s.carried]))
                    run += 1
                elif isinstance(s, Let) and self._steps.of(s.value) == 0:
                    self._uniform[s.var] = self.renamed(s.var)
                else:
                    if isinstance(s, Let) and self._steps.of(s.var) is not None:
                        self._recomputed.append(s)
                    elif isinstance(s, Let):
                        defined[s.var] = run
                    reads.append((run, s))

        visit(body)
        for number, x in reads:
            for y in _variables(tuple(x) if isinstance(x, list) else x):
                if defined.get(y, number) != number:
                    self._keep(y)

    def _keep(self, x: Var) -> None:
        if x not in self._buffers:
            size = (const(self.lanes, "int64"),)
            self._buffers[x] = Buffer(f"{x.name}lanes{self.suffix}", x.dtype, size, "stack")

    def _written(self, body: Body, ends: Kept) -> Iterator[Statement]:
        """Yield statements for all lanes; ``ends`` are values to keep at their end."""
        run: list[Statement] = []
        for s in body:
            if isinstance(s, Let) and s.var in self._uniform:
                yield mapped(s, self._of_all)
            elif not isinstance(s, Loop):
                run.append(s)
            else:
                yield from self._lane_loop(
                    run, [(self._buffers[c.var], c.start) for c in s.carried]
                )
                run = []
                inner = self._written(s.body, [(self._buffers[c.var], c.next) for c in s.carried])
                low, high = (mapped(x, self._of_all) for x in (s.low, s.high))
                index: Any = self._uniform[s.index]
                yield Loop(index, low, high, tuple(inner), (), False, s.step)
        yield from self._lane_loop(run, ends)

    def _of_all(self, x: Node) -> Node:
        return self._uniform.get(x, x) if isinstance(x, Var) else x

    def _lane_loop(self, run: Sequence[Statement], kept: Kept) -> Iterator[Statement]:
        """Yield a loop over the lanes, unless it would be empty."""
        if not run and not kept:
            return
        number = f"r{next(self._numbers)}"
        lane = self.renamed(self.loop.index, f"lane{number}")
        names: dict[Var, Scalar] = dict(self._uniform)
        statements = self._with_places(run, kept)
        local = {s.var for s in statements if isinstance(s, Let)}
        body: list[Statement] = []
        read = _variables((*statements, *[y for _, y in kept]))
        if self.loop.index in read:
            names[self.loop.index] = self.renamed(self.loop.index, number)
            body.append(Let(names[self.loop.index], Op("add", (self.first, lane), "int64")))
        for x in sorted(read - local, key=lambda x: x.name):
            if x in self._buffers:
                names[x] = self.renamed(x, number)
                body.append(Let(names[x], Load(self._buffers[x], (lane,))))
        names |= {x: self.renamed(x, number) for x in local}

        def image(x: Node) -> Node:
            return names.get(x, x) if isinstance(x, Var) else x

        body += mapped(tuple(statements), image)
        own = [s.var for s in statements if isinstance(s, Let) and s.var in self._buffers]
        body += [Store(self._buffers[x], (lane,), names[x]) for x in own]
        body += [Store(buffer, (lane,), mapped(x, image)) for buffer, x in kept]
        yield Loop(lane, ZERO, const(self.lanes, "int64"), tuple(body), (), True)

    def _with_places(self, run: Sequence[Statement], kept: Kept) -> list[Statement]:
        """Return the statements of a run, after those for the indices that it reads."""
        own = [s for s in run if not (isinstance(s, Let) and s in self._recomputed)]
        read = _variables((*own, *[y for _, y in kept]))
        places: list[Statement] = []
        for s in reversed(self._recomputed):
            if s.var in read:
                places.append(s)
                read |= _variables(s.value)
        return [*reversed(places), *own]


def _variables(x: Any) -> set[Var]:
    return {y for y in walk(x) if isinstance(y, Var)}


__all__ = ["on_lanes"]
