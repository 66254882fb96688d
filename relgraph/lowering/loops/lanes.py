"""Loops over elements in blocks, for vectors.

``for j: for k: c[i, j] += a[i, k] * b[k, j]`` reads along a column in the inner loop.  If the
iterations over ``j`` are apart and what they read and write lies side by side, they run in blocks:
the loop over ``k`` runs once for a block, and each statement within becomes a loop over the lanes
of the block, which LLVM makes vectors.  Values that a lane hands from one of these loops to the
next are in buffers on the stack, which LLVM keeps in registers.

A loop of 23 iterations without loops inside is two vectors of eight and seven single iterations,
which take longer than both.  If iterations may run twice, a third vector overlaps the second one.

References
----------
R. Allen and K. Kennedy, "Optimizing Compilers for Modern Architectures", 2001, 5.2 (interchange)
and 5.3 (scalar expansion).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from relgraph.lowering.loops.batches import mapped
from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.nodes import (
    Body,
    Buffer,
    Const,
    Function,
    If,
    Let,
    Load,
    Loop,
    Node,
    Op,
    Scalar,
    Statement,
    Store,
    Var,
    While,
    const,
)
from relgraph.lowering.loops.verify import Accesses

LANES = (32, 8)  # of a block: first of many, then of few; the rest run one by one
LONGEST = 256  # iterations of a loop whose rest matters
LARGEST = 80  # statements of a loop, which are written for each kind of block


def on_lanes(function: Function) -> Function:
    """Return a function whose loops over elements with loops inside run in blocks, if they may."""
    values = {s.var: s.value for s in _walk(function.body) if isinstance(s, Let)}
    body = _Blocks(values).body(function.body)
    return Function(function.name, function.integers, function.arrays, body)


class _Blocks:
    """Finds the loops to run in blocks, from the outermost ones."""

    def __init__(self, values: dict[Var, Scalar]) -> None:
        self.values = values
        self.copies = count(1)

    def body(self, body: Body) -> Body:
        return tuple([new for s in body for new in self.statement(s)])

    def statement(self, s: Statement) -> Body:
        if isinstance(s, If):
            return (If(s.test, self.body(s.then), self.body(s.other), s.results),)
        if isinstance(s, While):
            return (While(s.carried, self.body(s.head), s.test, self.body(s.body)),)
        if not isinstance(s, Loop):
            return (s,)
        steps = _Steps(s)
        if _is_nest(s, steps) and not Accesses(s, self.values).shared():
            return self.blocks(s, steps)
        if _may_overlap(s):
            return self.with_last_vector(s)
        body = self.body(s.body)
        return (Loop(s.index, s.low, s.high, body, s.carried, s.apart, s.step, s.level),)

    def with_last_vector(self, s: Loop) -> Body:
        """Return a loop over whole vectors, and one over the last vector, which may overlap."""
        assert isinstance(s.high, Const)
        lanes, suffix = LANES[-1], f"x{next(self.copies)}"
        whole = const(s.high.value // lanes * lanes, "int64")
        lane = Var(f"{s.index.name}lane{suffix}", "int64")
        first = const(s.high.value - lanes, "int64")
        names: dict[Node, Var] = {
            x.var: Var(f"{x.var.name}{suffix}", x.var.dtype) for x in s.body if isinstance(x, Let)
        }
        names[s.index] = Var(f"{s.index.name}{suffix}", "int64")
        place = Let(names[s.index], Op("add", (lane, first), "int64"))
        body = mapped(s.body, lambda x: names.get(x, x))
        return (
            Loop(s.index, s.low, whole, s.body, (), True),
            Loop(lane, ZERO, const(lanes, "int64"), (place, *body), (), True),
        )

    def blocks(self, s: Loop, steps: _Steps) -> Body:
        """Return a loop over blocks for each number of lanes, and one over the rest."""
        difference = Op("sub", (s.high, s.low), "int64")
        length = Op("max", (difference, ZERO), "int64")
        result: list[Statement] = []
        begin = s.low
        for lanes in LANES:
            block = _Block(s, steps, lanes, f"x{next(self.copies)}")
            end = Var(f"{s.index.name}end{block.suffix}", "int64")
            whole = Op("div", (length, const(lanes, "int64")), "int64")
            covered = Op("mul", (whole, const(lanes, "int64")), "int64")
            result.append(Let(end, Op("add", (s.low, covered), "int64")))
            result.append(Loop(block.first, begin, end, block.body(), (), False, lanes))
            begin = end
        return (*result, Loop(s.index, begin, s.high, s.body, (), s.apart))


class _Steps:
    """How much scalars differ between neighbouring iterations of a loop.

    Loops inside count as if both iterations ran them together.
    """

    def __init__(self, loop: Loop) -> None:
        self._known: dict[Scalar, int | None] = {loop.index: 1}
        for x in _walk(loop.body):
            if isinstance(x, Loop):
                self._known |= {x.index: 0}
                self._known |= dict.fromkeys([c.var for c in x.carried])
            elif isinstance(x, Let):
                self._known[x.var] = self.of(x.value)

    def of(self, x: Scalar) -> int | None:
        """Return the difference; None if it is not the same number everywhere."""
        if isinstance(x, Var):
            return self._known.get(x, 0)
        if isinstance(x, Load):
            return 0 if all([self.of(i) == 0 for i in x.index]) else None
        if not isinstance(x, Op):
            return 0
        steps = [self.of(y) for y in x.args]
        if all([n == 0 for n in steps]):
            return 0
        if None in steps or x.op not in ("add", "sub"):
            return None
        one, other = steps
        return one + (other if x.op == "add" else -other)  # type: ignore[operator]


def _may_overlap(s: Loop) -> bool:
    """Return True for a loop of vectors and a rest, whose iterations may run twice."""
    if not (s.apart and s.low is ZERO and isinstance(s.high, Const)):
        return False
    if s.carried or s.level or s.step != 1 or not all([isinstance(x, Let | Store) for x in s.body]):
        return False
    count, lanes = s.high.value, LANES[-1]
    loaded = {x.buffer for x in _walk(s.body) if isinstance(x, Load)}
    stored = {x.buffer for x in s.body if isinstance(x, Store)}
    return lanes < count < LONGEST and count % lanes > lanes // 2 and not loaded & stored


def _is_nest(s: Loop, steps: _Steps) -> bool:
    """Return True for a loop over elements that lie side by side, with loops inside.

    Every element runs the loops inside as often.
    """
    inside = [x for x in _walk(s.body) if isinstance(x, Statement)]
    loops = [x for x in inside if isinstance(x, Loop)]
    if not loops or len(inside) > LARGEST or s.carried or s.step != 1:
        return False
    if any([x.level or steps.of(x.low) != 0 or steps.of(x.high) != 0 for x in loops]):
        return False
    if not all([isinstance(x, Let | Store | Loop) for x in inside]):
        return False
    accesses = [x for x in _walk(s.body) if isinstance(x, Load | Store)]
    moving = [x for x in accesses if any([steps.of(i) != 0 for i in x.index])]
    return bool(moving) and all([_is_side_by_side(x, steps) for x in moving])


def _is_side_by_side(x: Load | Store, steps: _Steps) -> bool:
    """Return True if neighbouring iterations access neighbours."""
    *outer, last = [steps.of(i) for i in x.index]
    return last == 1 and not any([n != 0 for n in outer]) and not x.buffer.strides


Kept = Sequence[tuple[Buffer, Scalar]]
"""Values that each lane keeps for other statements, and where."""


class _Block:
    """A block of iterations."""

    def __init__(self, loop: Loop, steps: _Steps, lanes: int, suffix: str) -> None:
        self.loop = loop
        self.lanes = lanes
        self.suffix = suffix
        self.first = self.renamed(loop.index, "first")
        self._steps = steps
        self._same: dict[Var, Scalar] = {}  # what is the same in all lanes
        self._own: dict[Var, Buffer] = {}  # where the value of each lane is, for other runs
        self._places: list[Let] = []  # indices, which each run computes again
        self._numbers = count(1)

    def renamed(self, x: Var, part: str = "") -> Var:
        return Var(f"{x.name}{part}{self.suffix}", x.dtype)

    def body(self) -> Body:
        """Return the statements of a block."""
        self._find_shared_values(self.loop.body)
        return tuple(self._written(self.loop.body, []))

    def _find_shared_values(self, body: Body) -> None:
        """Give a buffer to each value of a lane that another run reads."""
        run = 0
        defined: dict[Var, int] = {}
        reads: list[tuple[int, Any]] = []

        def visit(body: Body) -> None:
            nonlocal run
            for s in body:
                if isinstance(s, Loop):
                    reads.append((run, [c.start for c in s.carried]))
                    self._same[s.index] = self.renamed(s.index)
                    for c in s.carried:
                        self._keep(c.var)
                    run += 1
                    visit(s.body)
                    reads.append((run, [c.next for c in s.carried]))
                    run += 1
                elif isinstance(s, Let) and self._steps.of(s.value) == 0:
                    self._same[s.var] = self.renamed(s.var)
                else:
                    if isinstance(s, Let) and self._steps.of(s.var) is not None:
                        self._places.append(s)
                    elif isinstance(s, Let):
                        defined[s.var] = run
                    reads.append((run, s))

        visit(body)
        for number, x in reads:
            for y in _variables(tuple(x) if isinstance(x, list) else x):
                if defined.get(y, number) != number:
                    self._keep(y)

    def _keep(self, x: Var) -> None:
        if x not in self._own:
            size = (const(self.lanes, "int64"),)
            self._own[x] = Buffer(f"{x.name}lanes{self.suffix}", x.dtype, size, "stack")

    def _written(self, body: Body, ends: Kept) -> Iterator[Statement]:
        """Yield statements for all lanes; ``ends`` are values to keep at their end."""
        run: list[Statement] = []
        for s in body:
            if isinstance(s, Let) and s.var in self._same:
                yield mapped(s, self._of_all)
            elif not isinstance(s, Loop):
                run.append(s)
            else:
                yield from self._lane_loop(run, [(self._own[c.var], c.start) for c in s.carried])
                run = []
                inner = self._written(s.body, [(self._own[c.var], c.next) for c in s.carried])
                low, high = (mapped(x, self._of_all) for x in (s.low, s.high))
                index: Any = self._same[s.index]
                yield Loop(index, low, high, tuple(inner), (), False, s.step)
        yield from self._lane_loop(run, ends)

    def _of_all(self, x: Node) -> Node:
        return self._same.get(x, x) if isinstance(x, Var) else x

    def _lane_loop(self, run: Sequence[Statement], kept: Kept) -> Iterator[Statement]:
        """Yield a loop over the lanes, if there is something to do."""
        if not run and not kept:
            return
        number = f"r{next(self._numbers)}"
        lane = self.renamed(self.loop.index, f"lane{number}")
        names: dict[Var, Scalar] = dict(self._same)
        statements = self._with_places(run, kept)
        local = {s.var for s in statements if isinstance(s, Let)}
        body: list[Statement] = []
        read = _variables((*statements, *[y for _, y in kept]))
        if self.loop.index in read:
            names[self.loop.index] = self.renamed(self.loop.index, number)
            body.append(Let(names[self.loop.index], Op("add", (self.first, lane), "int64")))
        for x in sorted(read - local, key=lambda x: x.name):
            if x in self._own:
                names[x] = self.renamed(x, number)
                body.append(Let(names[x], Load(self._own[x], (lane,))))
        names |= {x: self.renamed(x, number) for x in local}

        def image(x: Node) -> Node:
            return names.get(x, x) if isinstance(x, Var) else x

        body += mapped(tuple(statements), image)
        body += [Store(self._own[x], (lane,), names[x]) for x in local if x in self._own]
        body += [Store(buffer, (lane,), mapped(x, image)) for buffer, x in kept]
        yield Loop(lane, ZERO, const(self.lanes, "int64"), tuple(body), (), True)

    def _with_places(self, run: Sequence[Statement], kept: Kept) -> list[Statement]:
        """Return the statements of a run, after those for the indices that it reads."""
        own = [s for s in run if not (isinstance(s, Let) and s in self._places)]
        read = _variables((*own, *[y for _, y in kept]))
        places: list[Statement] = []
        for s in reversed(self._places):
            if s.var in read:
                places.append(s)
                read |= _variables(s.value)
        return [*reversed(places), *own]


def _variables(x: Any) -> set[Var]:
    return {y for y in _walk(x) if isinstance(y, Var)}


def _walk(x: Any) -> Iterator[Node]:
    """Yield the statements and scalars of a body, each occurrence of them."""
    if isinstance(x, tuple):
        for y in x:
            yield from _walk(y)
    elif isinstance(x, Node) and not isinstance(x, Buffer):
        yield x
        for y in x.values:
            yield from _walk(y)


__all__ = ["on_lanes"]
