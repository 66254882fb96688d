"""Linear algebra of batches of matrices too large to write out: eight at a time, on vectors.

The matrices of a block are copied so that equal elements of all of them follow each other.  An
algorithm is then loops whose innermost one runs over the block, on vectors, whatever the size of
the matrices, and takes little time to compile.  A block that reaches beyond the batch repeats the
last matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.linalg.arithmetic import ROUNDING, WIDE, WIDTH, Arithmetic
from relgraph.lowering.loops.nodes import Scalar, index
from relgraph.lowering.loops.values import Stored, Value
from relgraph.ops.elementwise import absolute, add, greater, less, negative, sqrt
from relgraph.ops.elementwise.instances import log, maximum
from relgraph.ops.linalg.factored_solve import ChoSolve
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular

if TYPE_CHECKING:
    from relgraph.lowering.loops.build import GraphWriter

LANES = index(WIDTH)  # matrices of a block

At = Callable[[Scalar, Scalar, Scalar], Scalar]
"""An element of a matrix of the block: of its row, its column and the matrix."""


class Block:
    """A block of matrices, and what its algorithms need.

    Parameters
    ----------
    w : GraphWriter
        What writes the function.
    size : int
        The rows of a matrix.
    """

    def __init__(self, w: GraphWriter, size: int) -> None:
        self.w, self.b = w, w.builder
        self.g = Arithmetic(w, WIDE)
        self.n = index(size)
        self._failed = w.buffer("int64", [LANES])
        with self.lanes() as lane:
            self.b.store(self._failed.buffer, [lane], ZERO)

    @contextmanager
    def lanes(self) -> Iterator[Scalar]:
        """Write a loop over the matrices of the block."""
        with self.b.loop(ZERO, LANES, apart=True, name="lane") as loop:
            yield loop.index

    @contextmanager
    def loop(self, low: Scalar, high: Scalar) -> Iterator[Scalar]:
        """Write a loop over rows or columns."""
        with self.b.loop(low, high) as loop:
            yield loop.index

    @contextmanager
    def downwards(self, high: Scalar) -> Iterator[Scalar]:
        """Write a loop from below ``high`` to 0."""
        with self.b.loop(ZERO, high) as loop:
            yield self.b.sub(self.b.sub(high, ONE), loop.index)

    def buffer(self, *shape: Scalar) -> Stored:
        """Return memory for a number of each matrix, or an array of them."""
        return self.w.buffer(WIDE, [*shape, LANES])

    def put(self, m: Stored, *place: Scalar, value: Scalar) -> None:
        """Write an element."""
        self.b.store(m.buffer, place, value)

    def require(self, lane: Scalar, test: Scalar) -> None:
        """Set the flag, after the block, unless a test holds."""
        failed = self._failed.at([lane])
        one_more = self.b.add(failed, ONE)
        value = self.b.op("select", test, failed, one_more, dtype="int64")
        self.b.store(self._failed.buffer, [lane], value)

    def finish(self) -> None:
        """Set the flag if a test did not hold."""
        with self.b.loop(ZERO, LANES, [ZERO]) as loop:
            loop.next = [self.b.add(loop.vars[0], self._failed.at([loop.index]))]
        self.w.fail_if(self.b.op("less", ZERO, loop.vars[0], dtype="bool"))

    def require_finite(self, m: Stored, *sizes: Scalar, first: Scalar = ZERO) -> None:
        """Require finite values of a matrix, from a column on."""
        rows, columns = sizes
        zero = self.g.number(0.0)
        total = self.buffer()
        with self.lanes() as lane:
            self.put(total, lane, value=zero)
        with self.loop(ZERO, rows) as i, self.loop(first, columns) as j, self.lanes() as lane:
            term = self.g.times(m.at([i, j, lane]), zero)
            self.put(total, lane, value=self.g.op(add, total.at([lane]), term))
        with self.lanes() as lane:
            self.require(lane, self.g.test("equal", total.at([lane]), zero))

    def require_diagonal(self, m: Stored) -> None:
        """Require a diagonal without zeros."""
        zero = self.g.number(0.0)
        with self.loop(ZERO, self.n) as k, self.lanes() as lane:
            same = self.g.test("equal", m.at([k, k, lane]), zero)
            self.require(lane, self.b.op("not", same, dtype="bool"))

    def filled(self, rows: Scalar, columns: Scalar, *parts: tuple[At, Scalar]) -> Stored:
        """Return a matrix of parts beside each other, each with its number of columns."""
        m = self.buffer(rows, columns)
        start: Scalar = ZERO
        for at, width in parts:
            with (
                self.loop(ZERO, LANES) as lane,
                self.loop(ZERO, rows) as i,
                self.loop(ZERO, width) as j,
            ):
                self.put(m, i, self.b.add(start, j), lane, value=at(i, j, lane))
            start = self.b.add(start, width)
        return m

    def cholesky(self, m: Stored) -> None:
        """Replace the lower triangle of a matrix by its Cholesky factor."""
        g, b, n = self.g, self.b, self.n
        error = g.number(ROUNDING * float(g.limits.eps))
        least, inverse = self.buffer(n), self.buffer()
        with self.loop(ZERO, n) as k, self.lanes() as lane:
            size = g.times(g.magnitude(m.at([k, k, lane])), error)
            self.put(least, k, lane, value=size if self.w.strict else g.number(0.0))
        with self.loop(ZERO, n) as k:
            below = b.add(k, ONE)
            with self.lanes() as lane:
                d = m.at([k, k, lane])
                self.require(lane, g.test(greater, d, least.at([k, lane])))
                self.put(m, k, k, lane, value=g.op(sqrt, d))
            with self.lanes() as lane:
                self.put(inverse, lane, value=g.inverse(m.at([k, k, lane])))
            with self.loop(below, n) as i, self.lanes() as lane:
                value = g.times(m.at([i, k, lane]), inverse.at([lane]))
                self.put(m, i, k, lane, value=value)
            with (
                self.loop(below, n) as i,
                self.loop(below, b.add(i, ONE)) as j,
                self.lanes() as lane,
            ):
                value = g.minus(m.at([i, j, lane]), m.at([i, k, lane]), m.at([j, k, lane]))
                self.put(m, i, j, lane, value=value)

    def substitute(
        self,
        m: Stored,
        x: Stored,
        columns: tuple[Scalar, Scalar],
        *,
        lower: bool,
        trans: bool,
        unit: bool = False,
    ) -> None:
        """Solve a triangular system, or its transpose, in columns of a matrix."""
        g, b, n = self.g, self.b, self.n
        forward = lower != trans
        with self.loop(ZERO, n) if forward else self.downwards(n) as k:
            if not unit:
                with self.loop(*columns) as c, self.lanes() as lane:
                    value = g.over(x.at([k, c, lane]), m.at([k, k, lane]))
                    self.put(x, k, c, lane, value=value)
            rest = (b.add(k, ONE), n) if forward else (ZERO, k)
            with self.loop(*rest) as i, self.loop(*columns) as c, self.lanes() as lane:
                factor = m.at([k, i, lane]) if trans else m.at([i, k, lane])
                value = g.minus(x.at([i, c, lane]), factor, x.at([k, c, lane]))
                self.put(x, i, c, lane, value=value)

    def eliminate(self, m: Stored, columns: Scalar, *, check: bool) -> Stored:
        """Eliminate below the diagonal, in all columns; return the sign of the permutation."""
        g, b, n = self.g, self.b, self.n
        sign, exchange, divisor, factor = [self.buffer() for _ in range(4)]
        largest = self._largest(m) if check else sign
        one, zero = g.number(1.0), g.number(0.0)
        with self.lanes() as lane:
            self.put(sign, lane, value=one)
        with self.loop(ZERO, n) as k:
            below = b.add(k, ONE)
            with self.loop(below, n) as i:
                with self.lanes() as lane:
                    sizes = [g.magnitude(m.at([row, k, lane])) for row in (k, i)]
                    larger = g.test(less, *sizes)
                    self.put(exchange, lane, value=g.chosen(larger, one, zero))
                    old = sign.at([lane])
                    self.put(sign, lane, value=g.chosen(larger, g.op(negative, old), old))
                with self.loop(k, columns) as c, self.lanes() as lane:
                    larger = g.test(greater, exchange.at([lane]), zero)
                    up, down = m.at([k, c, lane]), m.at([i, c, lane])
                    self.put(m, k, c, lane, value=g.chosen(larger, down, up))
                    self.put(m, i, c, lane, value=g.chosen(larger, up, down))
            if check:
                self._require_pivot(m, k, largest)
            with self.lanes() as lane:
                self.put(divisor, lane, value=g.divisor(m.at([k, k, lane])))
            with self.loop(below, n) as i:
                with self.lanes() as lane:
                    value = g.divided(m.at([i, k, lane]), divisor.at([lane]))
                    self.put(factor, lane, value=value)
                with self.loop(below, columns) as c, self.lanes() as lane:
                    value = g.minus(m.at([i, c, lane]), factor.at([lane]), m.at([k, c, lane]))
                    self.put(m, i, c, lane, value=value)
        return sign

    def _largest(self, m: Stored) -> Stored:
        """Return the largest magnitude of each column of a matrix."""
        g, n = self.g, self.n
        largest = self.buffer(n)
        with self.loop(ZERO, n) as j, self.lanes() as lane:
            self.put(largest, j, lane, value=g.number(0.0))
        with self.loop(ZERO, n) as i, self.loop(ZERO, n) as j, self.lanes() as lane:
            value = g.op(maximum, largest.at([j, lane]), g.magnitude(m.at([i, j, lane])))
            self.put(largest, j, lane, value=value)
        return largest

    def _require_pivot(self, m: Stored, k: Scalar, largest: Stored) -> None:
        g = self.g
        with self.lanes() as lane:
            pivot = m.at([k, k, lane])
            if self.w.strict:
                error = g.number(ROUNDING * float(g.limits.eps))
                least = g.times(largest.at([k, lane]), error)
                self.require(lane, g.test(greater, g.magnitude(pivot), least))
            else:
                zero = g.test("equal", pivot, g.number(0.0))
                self.require(lane, self.b.op("not", zero, dtype="bool"))


def _matrix(values: Sequence[Value], position: int) -> tuple[At, Scalar]:
    """Return the elements of an operand as those of a matrix, and its number of columns."""
    x = values[position]
    if len(x.shape) == 2:
        return (lambda i, j, lane: x.at([lane, i])), ONE
    return (lambda i, j, lane: x.at([lane, i, j])), x.shape[2]


def cholesky(t: Block, params: Any, values: Sequence[Value]) -> list[Any]:
    """Write Cholesky factors."""
    at, n = _matrix(values, 0)
    m = t.filled(n, n, (at if params[0] else lambda i, j, lane: at(j, i, lane), n))
    t.cholesky(m)
    with t.loop(ZERO, n) as i, t.loop(t.b.add(i, ONE), n) as j, t.lanes() as lane:
        t.put(m, i, j, lane, value=t.g.number(0.0))
    if params[0]:
        return [lambda lane, i, j: m.at([i, j, lane])]
    return [lambda lane, i, j: m.at([j, i, lane])]


def _solution(x: Stored, right: Value, first: Scalar, b: Any) -> list[Any]:
    if len(right.shape) == 2:
        return [lambda lane, i: x.at([i, first, lane])]
    return [lambda lane, i, j: x.at([i, b.add(first, j), lane])]


def solve(t: Block, params: Any, values: Sequence[Value]) -> list[Any]:
    """Write the solutions of systems."""
    (at, n), (right, count) = _matrix(values, 0), _matrix(values, 1)
    b = t.b
    if params[0] == "spd":
        m, x = t.filled(n, n, (at, n)), t.filled(n, count, (right, count))
        t.cholesky(m)
        for trans in (False, True):
            t.substitute(m, x, (ZERO, count), lower=True, trans=trans)
        t.require_finite(x, n, count)
        return _solution(x, values[1], ZERO, b)
    if params[0] == "symmetric":
        whole = at

        def at(i: Scalar, j: Scalar, lane: Scalar) -> Scalar:
            low, high = (b.op(op, i, j, dtype="int64") for op in ("min", "max"))
            return whole(high, low, lane)

    width = b.add(n, count)
    m = t.filled(n, width, (at, n), (right, count))
    t.eliminate(m, width, check=True)
    t.substitute(m, m, (n, width), lower=False, trans=False)
    t.require_finite(m, n, width, first=n)
    return _solution(m, values[1], n, b)


def solve_triangular(t: Block, params: Any, values: Sequence[Value]) -> list[Any]:
    """Write the solutions of triangular systems."""
    (at, n), (right, count) = _matrix(values, 0), _matrix(values, 1)
    lower, trans, unit = params
    m, x = t.filled(n, n, (at, n)), t.filled(n, count, (right, count))
    if not unit:
        t.require_diagonal(m)
    t.substitute(m, x, (ZERO, count), lower=lower, trans=bool(trans), unit=unit)
    t.require_finite(x, n, count)
    return _solution(x, values[1], ZERO, t.b)


def cho_solve(t: Block, params: Any, values: Sequence[Value]) -> list[Any]:
    """Write the solutions of systems with Cholesky factors."""
    (at, n), (right, count) = _matrix(values, 0), _matrix(values, 1)
    lower = params[0]
    m, x = t.filled(n, n, (at, n)), t.filled(n, count, (right, count))
    t.require_diagonal(m)
    for trans in (not lower, lower):
        t.substitute(m, x, (ZERO, count), lower=lower, trans=trans)
    t.require_finite(x, n, count)
    return _solution(x, values[1], ZERO, t.b)


def inverse(t: Block, params: Any, values: Sequence[Value]) -> list[Any]:
    """Write inverses."""
    at, n = _matrix(values, 0)
    g, b = t.g, t.b

    def identity(i: Scalar, j: Scalar, lane: Scalar) -> Scalar:
        return g.chosen(b.op("equal", i, j, dtype="bool"), g.number(1.0), g.number(0.0))

    width = b.add(n, n)
    m = t.filled(n, width, (at, n), (identity, n))
    t.eliminate(m, width, check=True)
    t.substitute(m, m, (n, width), lower=False, trans=False)
    t.require_finite(m, n, width, first=n)
    return [lambda lane, i, j: m.at([i, b.add(n, j), lane])]


def determinant(t: Block, params: Any, values: Sequence[Value]) -> list[Any]:
    """Write determinants; a product that leaves the range of normal numbers sets the flag."""
    at, n = _matrix(values, 0)
    g = t.g
    m = t.filled(n, n, (at, n))
    result = t.eliminate(m, n, check=t.w.strict)
    smallest, most = g.number(float(g.limits.tiny)), g.number(float(g.limits.max))
    with t.loop(ZERO, n) as k, t.lanes() as lane:
        value = g.times(result.at([lane]), m.at([k, k, lane]))
        t.put(result, lane, value=value)
        if t.w.strict:
            size = g.op(absolute, value)
            small, large = g.test(less, size, smallest), g.test(less, most, size)
            t.require(lane, _neither(t, small, large))
    return [lambda lane: result.at([lane])]


def _neither(t: Block, a: Scalar, b: Scalar) -> Scalar:
    either = t.b.op("or", a, b, dtype="bool")
    return t.b.op("not", either, dtype="bool")


def signed_log(t: Block, params: Any, values: Sequence[Value]) -> list[Any]:
    """Write the signs of determinants and the logarithms of their absolute values."""
    at, n = _matrix(values, 0)
    g = t.g
    m = t.filled(n, n, (at, n))
    sign = t.eliminate(m, n, check=t.w.strict)
    total, zero = t.buffer(), g.number(0.0)
    with t.lanes() as lane:
        t.put(total, lane, value=zero)
    with t.loop(ZERO, n) as k, t.lanes() as lane:
        pivot, old = m.at([k, k, lane]), sign.at([lane])
        new = g.chosen(g.test(less, pivot, zero), g.op(negative, old), old)
        t.put(sign, lane, value=g.chosen(g.test("equal", pivot, zero), zero, new))
        term = g.op(log, g.magnitude(pivot))
        t.put(total, lane, value=g.op(add, total.at([lane]), term))
    if t.w.strict:
        with t.lanes() as lane:
            none = g.times(total.at([lane]), zero)
            t.require(lane, g.test("equal", none, zero))
    return [lambda lane: sign.at([lane]), lambda lane: total.at([lane])]


IN_BLOCKS: dict[type[Any], Callable[..., list[Any]]] = {
    Cholesky: cholesky,
    ChoSolve: cho_solve,
    Det: determinant,
    Inv: inverse,
    Slogdet: signed_log,
    Solve: solve,
    SolveTriangular: solve_triangular,
}
"""Writes an op of a block of matrices, which are the first axis of the operands.

For each result it returns a function of the number of a matrix and an index in it.
"""

__all__ = ["IN_BLOCKS", "LANES", "Block"]
