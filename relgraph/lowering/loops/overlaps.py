"""Short loops, whose last vector overlaps the one before it.

A loop of 23 iterations is two vectors of eight and seven single iterations, which take longer than
both vectors.  If iterations may run twice, a third vector from the sixteenth iteration computes the
last eight.
"""

from __future__ import annotations

from itertools import count

from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.changes import mapped, with_loops
from relgraph.lowering.loops.nodes import (
    Body,
    Const,
    Function,
    Let,
    Load,
    Loop,
    Node,
    Op,
    Store,
    Var,
    const,
    walk,
)

LANES = 8  # of a vector, or of two
LONGEST = 256  # iterations of a loop that ends in an overlapping vector


def with_overlaps(function: Function) -> Function:
    """Return a function in which short loops end in a vector that overlaps the last one."""
    copies = count(1)
    return with_loops(
        function, lambda s: _overlapping(s, next(copies)) if _may_overlap(s) else None
    )


def _overlapping(s: Loop, copy: int) -> Body:
    """Return a loop over whole vectors, and one over the last vector."""
    assert isinstance(s.high, Const)
    whole = const(s.high.value // LANES * LANES, "int64")
    first = const(s.high.value - LANES, "int64")
    bound = [s.index, *[x.var for x in s.body if isinstance(x, Let)]]
    names: dict[Node, Var] = {x: Var(f"{x.name}y{copy}", x.dtype) for x in bound}
    lane = Var(f"{s.index.name}lane{copy}", "int64")
    place = Let(names[s.index], Op("add", (lane, first), "int64"))
    body = (place, *mapped(s.body, lambda x: names.get(x, x)))
    return (
        Loop(s.index, ZERO, whole, s.body, (), True),
        Loop(lane, ZERO, const(LANES, "int64"), body, (), True),
    )


def _may_overlap(s: Loop) -> bool:
    """Return True for a loop of some vectors and a long rest, whose iterations may run twice."""
    if not (s.apart and s.low is ZERO and isinstance(s.high, Const)):
        return False
    if s.carried or s.level or s.step != 1 or not all([isinstance(x, Let | Store) for x in s.body]):
        return False
    loaded = {x.buffer for x in walk(s.body) if isinstance(x, Load)}
    stored = {x.buffer for x in s.body if isinstance(x, Store)}
    rest = s.high.value % LANES
    return LANES < s.high.value < LONGEST and rest > LANES // 2 and not loaded & stored


__all__ = ["with_overlaps"]
