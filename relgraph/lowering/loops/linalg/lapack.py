"""Linear algebra of one matrix by calls of LAPACK and BLAS: larger ones, or of unknown size.

A routine takes matrices whose columns follow each other, so memory in which the rows do is the
transpose: the triangles change places, and what is to be read as it is, is copied in the other
order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.linalg.arithmetic import Arithmetic
from relgraph.lowering.loops.nodes import Address, Call, Const, Scalar, const, index
from relgraph.lowering.loops.values import Computed, Stored, Value
from relgraph.ops.elementwise import Cast, absolute, add, greater_equal, less, negative
from relgraph.ops.elementwise.instances import log
from relgraph.ops.linalg.factored_solve import ChoSolve
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular

if TYPE_CHECKING:
    from relgraph.lowering.loops.build import GraphWriter

BLOCK = 64  # columns for which a routine has memory of its own

Place = Callable[[int, Sequence[Scalar]], Stored]
"""Returns where a result is to be, of its number and its sizes."""


class Routines:
    """Calls of routines for matrices of one dtype; ``place`` says where results are to be."""

    def __init__(self, w: GraphWriter, dtype: str, place: Place) -> None:
        self.w, self.dtype, self.place = w, dtype, place
        self._letter = {"float32": "s", "float64": "d"}[dtype]

    def call(self, routine: str, *arguments: Any, writes: Sequence[Stored]) -> None:
        """Call a routine with letters, indices, constants and arrays."""
        buffers = tuple([x.buffer for x in writes])
        self.w.builder.write(
            Call(self._letter + routine, tuple(map(self._argument, arguments)), buffers)
        )

    def checked(self, routine: str, *arguments: Any, writes: Sequence[Stored]) -> None:
        """Call a routine whose last parameter says whether it failed."""
        info = self.w.buffer("int32", [ONE])
        self.call(routine, *arguments, info, writes=[*writes, info])
        b = self.w.builder
        fine = b.op("equal", b.load(info.buffer, [ZERO]), const(0, "int32"), dtype="bool")
        self.w.fail_if(b.op("not", fine, dtype="bool"))

    def _argument(self, x: Any) -> Address | Scalar:
        if isinstance(x, Stored):
            return Address(x.buffer, (*x.first, *[ZERO] * len(x.shape)))
        if isinstance(x, str):
            return const(ord(x), "uint8")
        if x.dtype != "int64":
            return x  # type: ignore[no-any-return]
        return self.w.builder.op(Cast("int32"), x, dtype="int32")

    def lead(self, n: Scalar) -> Scalar:
        """Return the distance of columns of ``n`` elements, which is never 0."""
        if isinstance(n, Const):
            return index(max(1, n.value))
        return self.w.builder.op("max", n, ONE, dtype="int64")

    def stored(self, x: Value) -> Stored:
        """Return an array in memory, to be read."""
        return x if isinstance(x, Stored) else self.w.kept(x)

    def operand(self, x: Value) -> tuple[Stored, str]:
        """Return a matrix in memory, and "T" if that holds its transpose, else "N"."""
        if isinstance(x, Computed) and x.turned is not None:
            return x.turned, "T"
        return self.stored(x), "N"

    def copied(self, x: Value, target: Stored) -> Stored:
        """Write an array to memory."""
        self.w.store(x, target)
        return target

    def turned(self, x: Value) -> Value:
        """Return the transpose of a matrix; a vector is one column either way."""
        if len(x.shape) == 1:
            return x
        return self.w.view(x, x.shape[::-1], lambda place: x.at(place[::-1]))

    def columns(self, x: Value) -> Stored:
        """Return a copy of a matrix or vector in which columns follow each other."""
        return self.w.kept(self.turned(x))

    def right_sides(self, x: Value) -> tuple[Stored, Scalar, Callable[[], Value]]:
        """Return a copy for a routine to solve in, how many columns it has, and the solution."""
        if len(x.shape) == 1:
            target = self.copied(x, self.place(0, x.shape))
            return target, ONE, lambda: target
        memory = self.columns(x)
        return memory, x.shape[1], lambda: self.turned(memory)

    def nonzero_diagonal(self, a: Value, check_value: Scalar) -> None:
        """Set the flag if an element of a diagonal is zero."""
        w, b = self.w, self.w.builder
        with b.loop(ZERO, a.shape[0], [const(True, "bool")]) as loop:
            zero = b.op("equal", a.at([loop.index, loop.index]), check_value, dtype="bool")
            fine = b.op("not", zero, dtype="bool")
            loop.next = [b.op("and", loop.vars[0], fine, dtype="bool")]
        w.fail_if(b.op("not", loop.vars[0], dtype="bool"))


def cholesky(r: Routines, params: Any, a: Value) -> list[Value]:
    """Write a Cholesky factor."""
    lower, n, b = params[0], a.shape[0], r.w.builder
    factor = r.copied(a, r.place(0, a.shape))
    r.checked("potrf", "U" if lower else "L", n, factor, r.lead(n), writes=[factor])
    zero = const(0.0, r.dtype)
    with b.loop(ZERO, n) as loop:
        i = loop.index
        bounds = (b.add(i, ONE), n) if lower else (ZERO, i)
        with b.loop(*bounds, apart=True) as row:
            b.store(factor.buffer, (*factor.first, i, row.index), zero)
    return [factor]


def solve(r: Routines, params: Any, a: Value, right: Value) -> list[Value]:
    """Write the solution of a system."""
    n = a.shape[0]
    if params[0] == "general":
        matrix = r.columns(a)
    else:
        matrix = r.w.kept(a)
    x, count, solution = r.right_sides(right)
    ld = r.lead(n)
    if params[0] == "spd":
        r.checked("posv", "U", n, count, matrix, ld, x, ld, writes=[matrix, x])
        return [solution()]
    pivots = r.w.buffer("int32", [n])
    if params[0] == "general":
        r.checked("gesv", n, count, matrix, ld, pivots, x, ld, writes=[matrix, pivots, x])
        return [solution()]
    length = r.w.builder.mul(index(BLOCK), ld)
    work = r.w.buffer(r.dtype, [length])
    r.checked(
        "sysv", "U", n, count, matrix, ld, pivots, x, ld, work, length,
        writes=[matrix, pivots, x, work],
    )  # fmt: skip
    return [solution()]


def _substitute(r: Routines, a: Stored, x: Stored, count: Scalar, *how: Any) -> None:
    lower, trans, unit = how
    n = a.shape[0]
    letters = ("U" if lower else "L", "N" if trans else "T", "U" if unit else "N")
    r.checked("trtrs", *letters, n, count, a, r.lead(n), x, r.lead(n), writes=[x])


def solve_triangular(r: Routines, params: Any, a: Value, right: Value) -> list[Value]:
    """Write the solution of a triangular system."""
    x, count, solution = r.right_sides(right)
    _substitute(r, r.stored(a), x, count, *params)
    return [solution()]


def cho_solve(r: Routines, params: Any, factor: Value, right: Value) -> list[Value]:
    """Write the solution of a system with a Cholesky factor."""
    lower = params[0]
    x, count, solution = r.right_sides(right)
    matrix = r.stored(factor)
    for trans in (not lower, lower):
        _substitute(r, matrix, x, count, lower, trans, False)
    return [solution()]


def inverse(r: Routines, params: Any, a: Value) -> list[Value]:
    """Write an inverse: the transpose of that of the transpose."""
    n = a.shape[0]
    result = r.copied(a, r.place(0, a.shape))
    pivots = r.w.buffer("int32", [n])
    r.checked("getrf", n, n, result, r.lead(n), pivots, writes=[result, pivots])
    length = r.w.builder.mul(index(BLOCK), r.lead(n))
    work = r.w.buffer(r.dtype, [length])
    r.checked(
        "getri", n, result, r.lead(n), pivots, work, length, writes=[result, work]
    )  # fmt: skip
    return [result]


def _pivots(r: Routines, a: Value) -> Callable[[Scalar], tuple[Scalar, Scalar]]:
    """Eliminate; return the function of k that is pivot k and whether its row was exchanged."""
    n, b = a.shape[0], r.w.builder
    matrix = r.columns(a)
    pivots = r.w.buffer("int32", [n])
    info = r.w.buffer("int32", [ONE])
    r.call("getrf", n, n, matrix, r.lead(n), pivots, info, writes=[matrix, pivots, info])

    def pivot(k: Scalar) -> tuple[Scalar, Scalar]:
        other = b.op(Cast("int64"), b.load(pivots.buffer, [k]), dtype="int64")
        stays = b.op("equal", other, b.add(k, ONE), dtype="bool")
        return matrix.at([k, k]), b.op("not", stays, dtype="bool")

    return pivot


def determinant(r: Routines, params: Any, a: Value) -> list[Value]:
    """Write a determinant; the flag is set if the product leaves the range of normal numbers."""
    g, b = Arithmetic(r.w, r.dtype), r.w.builder
    pivot = _pivots(r, a)
    tiny, most = g.number(float(g.limits.tiny)), g.number(float(g.limits.max))
    with b.loop(ZERO, a.shape[0], [g.number(1.0), const(True, "bool")]) as loop:
        value, moved = pivot(loop.index)
        factor = g.chosen(moved, g.op(negative, value), value)
        product = g.times(loop.vars[0], factor)
        size = g.op(absolute, product)
        normal = b.op(
            "and", g.test(greater_equal, size, tiny), g.test(greater_equal, most, size),
            dtype="bool",
        )  # fmt: skip
        loop.next = [product, b.op("and", loop.vars[1], normal, dtype="bool")]
    if r.w.strict:
        g.require(loop.vars[1])
    return [r.w.scalar(loop.vars[0])]


def signed_log(r: Routines, params: Any, a: Value) -> list[Value]:
    """Write the sign of a determinant and the logarithm of its absolute value."""
    g, b = Arithmetic(r.w, r.dtype), r.w.builder
    pivot = _pivots(r, a)
    zero = g.number(0.0)
    with b.loop(ZERO, a.shape[0], [g.number(1.0), zero]) as loop:
        value, moved = pivot(loop.index)
        old, total = loop.vars
        sign = g.chosen(moved, g.op(negative, old), old)
        sign = g.chosen(g.test(less, value, zero), g.op(negative, sign), sign)
        sign = g.chosen(g.test("equal", value, zero), zero, sign)
        loop.next = [sign, g.op(add, total, g.op(log, g.magnitude(value)))]
    g.require_finite(np.array([loop.vars[1]]))
    return [r.w.scalar(x) for x in loop.vars]


def product_of(r: Routines, x: Value, y: Value) -> Value:
    """Write a product of two matrices."""
    (left, trans_left), (right, trans_right) = r.operand(x), r.operand(y)
    (m, k), n = x.shape, y.shape[1]
    result = r.place(0, [m, n])
    r.call(
        "gemm", trans_right, trans_left, n, m, k, const(1.0, r.dtype), right,
        r.lead(right.shape[1]), left, r.lead(left.shape[1]), const(0.0, r.dtype), result,
        r.lead(n), writes=[result],
    )  # fmt: skip
    return result


CALLED: dict[type[Any], Callable[..., list[Value]]] = {
    Cholesky: cholesky,
    ChoSolve: cho_solve,
    Det: determinant,
    Inv: inverse,
    Slogdet: signed_log,
    Solve: solve,
    SolveTriangular: solve_triangular,
}
"""Writes an op of two-dimensional operands, and returns its results."""

__all__ = ["CALLED", "Routines", "product_of"]
