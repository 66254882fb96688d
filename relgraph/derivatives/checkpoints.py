"""Checkpoints: a long scan as a scan of scans, so that reverse mode keeps less.

The pullback of a scan keeps what it carries into each of T iterations.  A scan over the square root
of T segments keeps that many values, and computes a segment again for as many more: twice the
square root of T in place of T, for one more run of the loop.

References
----------
A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., 2008, section 12.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

from relgraph.ir.cost import nbytes
from relgraph.ir.graph import substitute
from relgraph.ir.node import Variable, constant, fresh_input
from relgraph.ir.types import TensorType
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.elementwise import add, multiply
from relgraph.ops.indexing.index import Index
from relgraph.ops.loops import Scan, closed, results_of
from relgraph.ops.shape import reshape

KEPT = 1 << 27  # bytes that the pullback of a scan keeps, from which there are checkpoints


def needs_checkpoints(node: Variable) -> bool:
    """Return True if what the pullback of a scan would keep takes more than :data:`KEPT` bytes.

    Parameters
    ----------
    node : Variable
        The application of the scan.  One whose number of iterations is not known has none.
    """
    op: Any = node.op
    if not isinstance(op.size, int) or op.size < 4:
        return False
    carried = op.body.graph.inputs[1 : 1 + op.carries]
    return bool(op.size * sum([nbytes(x.type) for x in carried]) > KEPT)


def in_segments(node: Variable) -> list[Variable]:
    """Return the results of a scan, computed by a scan over segments.

    Parameters
    ----------
    node : Variable
        The application, of a known number of iterations.
    """
    op: Any = node.op
    n, m = op.carries, op.sequences
    length = isqrt(op.size)
    count = op.size // length
    first = op.size - count * length
    starts = list(node.inputs[1 : 1 + n])
    sequences = node.inputs[1 + n : 1 + n + m]
    rest = node.inputs[1 + n + m :]
    if not first:
        return _segments(op, (count, length, 0), starts, sequences, rest)
    ends = [_part(x, first, op.size) for x in sequences]
    beginnings = [_part(x, 0, first) for x in sequences]
    if op.reverse:
        high = _segments(op, (count, length, first), starts, ends, rest)
        low = _shifted(op, first, high[:n], beginnings, rest)
    else:
        low = _shifted(op, first, starts, beginnings, rest)
        high = _segments(op, (count, length, first), low[:n], ends, rest)
    pairs = zip(low[n:], high[n:], strict=True)
    last = low if op.reverse else high
    return [*last[:n], *[Concatenate(-x.ndim)(x, y) for x, y in pairs]]


def _part(x: Variable, low: int, high: int) -> Variable:
    return Index((("slice", low or None, high, None),))(x)  # type: ignore[no-any-return]


def _body(op: Any, index: Variable) -> tuple[list[Any], list[Any], list[Variable]]:
    """Return inputs for what changes with the iterations, for the rest, and the results."""
    n, m = op.carries, op.sequences
    old = op.body.graph.inputs
    own = [fresh_input(x.name, x.type) for x in old[1 : 1 + n + m]]
    rest = [fresh_input(x.name, x.type) for x in old[1 + n + m :]]
    images: dict[Variable, Variable] = dict(zip(old, (index, *own, *rest), strict=True))
    return own, rest, list(substitute(op.body.graph.outputs, images))


def _run(
    op: Any, size: int, body: tuple[list[Any], list[Variable]], operands: Sequence[Variable]
) -> list[Variable]:
    """Return the results of a scan whose body reads the other operands by itself."""
    n, m = op.carries, op.sequences
    names = ["index", *(f"carry_{i}" for i in range(n)), *(f"slice_{i}" for i in range(m))]
    (new,), others = closed([body], names)
    length = constant(size, dtype="int64")
    return results_of(Scan(new, n, m, size, op.reverse)(length, *operands, *others))


def _shifted(
    op: Any, size: int, starts: Sequence[Variable], xs: Sequence[Variable], rest: Sequence[Variable]
) -> list[Variable]:
    """Return the results of the first iterations."""
    index = fresh_input("index", TensorType("int64"))
    own, holes, results = _body(op, index)
    outputs = list(substitute(results, dict(zip(holes, rest, strict=True))))
    return _run(op, size, ([index, *own], outputs), [*starts, *xs])


def _segments(
    op: Any,
    sizes: tuple[int, int, int],
    starts: Sequence[Variable],
    xs: Sequence[Variable],
    rest: Sequence[Variable],
) -> list[Variable]:
    """Return the results of a scan over segments, after some first iterations."""
    count, length, first = sizes
    n = op.carries
    segment, place = (fresh_input("index", TensorType("int64")) for _ in range(2))
    index = add(add(multiply(segment, length), place), first)
    own, holes, results = _body(op, index)
    outputs = list(substitute(results, dict(zip(holes, rest, strict=True))))
    carries = [fresh_input(x.name, x.type) for x in own[:n]]
    pieces = [fresh_input("piece", TensorType(x.dtype, (length, *x.type.shape))) for x in own[n:]]
    inner = _run(op, length, ([place, *own], outputs), [*carries, *pieces])
    segments = [reshape(x, (count, length, *x.shape[1:])) for x in xs]
    values = _run(op, count, ([segment, *carries, *pieces], inner), [*starts, *segments])
    stacked = [reshape(y, (count * length, *y.shape[2:])) for y in values[n:]]
    return [*values[:n], *stacked]


__all__ = ["KEPT", "in_segments", "needs_checkpoints"]
