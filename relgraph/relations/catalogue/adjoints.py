"""Adjoints: linear ops moved from one side of an inner product to the other.

``<g, L(x)> = <L*(g), x>``.  An inner product is ``sum(g * x)`` with broadcasting.  Reverse mode
reads these from left to right.

Source, where none is given: definition of the adjoint, with sums written out.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from relgraph.ir.node import constant
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.contraction import Einsum, Outer
from relgraph.ops.cumulative import Cumsum
from relgraph.ops.differentials import inner_product as pair
from relgraph.ops.elementwise import where
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import AddIndex, SetIndex
from relgraph.ops.linalg.blocks import BlockDiag, Kron
from relgraph.ops.linalg.factored_solve import ChoSolve
from relgraph.ops.linalg.solve import Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal, Trace, Tril, Triu, eye
from relgraph.ops.permutation import Transpose
from relgraph.ops.permutation import matrix_transpose as T
from relgraph.ops.reductions import Mean, Sum
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, broadcast_to, dim, reshape
from relgraph.relations.catalogue import relations_in
from relgraph.relations.catalogue.conditions import matrixo, vectoro
from relgraph.relations.catalogue.updates import distincto
from relgraph.relations.differentiation import adjoint, varieso
from relgraph.relations.kanren.goals import calco, checko, facto, floato


def dtype_of(x: Any) -> str:
    """Return the name of a dtype."""
    return str(x.dtype.name)


def axes_of(a: Any, x: Any) -> tuple[int, ...]:
    """Return the reduced axes, also where all are."""
    return tuple(range(-x.ndim, 0)) if a is None else a


def reduced_size(a: Any, x: Any) -> Any:
    """Return how many elements one mean is of."""
    sizes = [x.shape[i] for i in axes_of(a, x)]
    total = 1
    for size in sizes:
        total = total * size
    return constant(total, x.dtype) if isinstance(total, int) else Cast(x.dtype.name)(total)


def undone(a: Any) -> tuple[int, ...]:
    """Return the permutation that undoes one."""
    n = len(a)
    return tuple((np.argsort([i % n for i in a]) - n).tolist())


@adjoint
def pair_addo(g, x, y):
    """<g, x + y> = <g, x> + <g, y>, and so for differences."""
    yield pair(g, x + y), pair(g, x) + pair(g, y)
    yield pair(g, x - y), pair(g, x) + pair(-g, y)


@adjoint
def pair_negativeo(g, x):
    """<g, -x> = <-g, x>."""
    return pair(g, -x), pair(-g, x)


@adjoint(where=lambda x: varieso(x))
def pair_multiplyo(g, x, v):
    """<g, v x> = <g v, x>."""
    return pair(g, v * x), pair(g * v, x)


@adjoint(where=lambda x: varieso(x))
def pair_divideo(g, x, v):
    """<g, x / v> = <g / v, x>."""
    return pair(g, x / v), pair(g / v, x)


@adjoint
def pair_whereo(g, c, x, y):
    """<g, where(c, x, y)> = <where(c, g, 0), x> + <where(c, 0, g), y>."""
    return pair(g, where(c, x, y)), pair(where(c, g, 0.0), x) + pair(where(c, 0.0, g), y)


@adjoint(where=lambda x, u: (floato(x), calco(u, dtype_of, x)))
def pair_casto(g, x, t, u):
    """<g, cast(x, t)> = <cast(g, u), x>, where u is the dtype of x."""
    return pair(g, Cast(t)(x)), pair(Cast(u)(g), x)


# Reductions and what runs along an axis.


@adjoint
def pair_sumo(g, x, a, b):
    """<g, sum(x, a)> = <expand_dims(g, a), x>."""
    yield pair(g, Sum(a, True)(x)), pair(g, x)
    yield pair(g, Sum(a, False)(x)), pair(ExpandDims(b)(g), x), calco(b, axes_of, a, x)


@adjoint(where=lambda x, n, a: calco(n, reduced_size, a, x))
def pair_meano(g, x, a, b, n):
    """<g, mean(x, a)> = <expand_dims(g, a) / n, x>, n being the number of elements of a mean."""
    yield pair(g, Mean(a, True)(x)), pair(g / n, x)
    yield pair(g, Mean(a, False)(x)), pair(ExpandDims(b)(g / n), x), calco(b, axes_of, a, x)


# Matrices.


@adjoint
def pair_matrix_transposeo(g, x):
    """<g, x.T> = <g.T, x>."""
    return pair(g, T(x)), pair(T(g), x)


@adjoint(where=lambda X: varieso(X))
def pair_matmulo(g, A, X):
    """<g, A X> = <A.T g, X>."""
    return pair(g, A @ X), pair(T(A) @ g, X)


@adjoint(where=lambda X: varieso(X))
def pair_left_matmulo(g, A, X):
    """<g, X A> = <g A.T, X>."""
    return pair(g, X @ A), pair(g @ T(A), X)


@adjoint(where=lambda X: varieso(X))
def pair_matrix_vectoro(g, X, v):
    """<g, X v> = <g v.T, X>, and <g, v X> = <v g.T, X> for vectors v."""
    yield pair(g, X @ v), pair(Outer()(g, v), X)
    yield pair(g, v @ X), pair(Outer()(v, g), X)
    yield pair(g, X @ v), pair(ExpandDims((-1,))(g) * v, X), vectoro(v)
    yield pair(g, v @ X), pair(ExpandDims((-1,))(v) * ExpandDims((-2,))(g), X), vectoro(v)


@adjoint(where=lambda x: (varieso(x), vectoro(x)))
def pair_vectoro(g, A, x):
    """<g, A x> = <A.T g, x> and <g, x A> = <A g, x> for batches of matrices."""
    yield pair(g, A @ x), pair(Squeeze((-1,))(T(A) @ ExpandDims((-1,))(g)), x)
    yield pair(g, x @ A), pair(Squeeze((-1,))(A @ ExpandDims((-1,))(g)), x)


@adjoint(where=lambda x: varieso(x))
def pair_outero(g, x, v):
    """<g, x v.T> = <g v, x> and <g, v x.T> = <g.T v, x>."""
    yield pair(g, Outer()(x, v)), pair(g @ v, x)
    yield pair(g, Outer()(v, x)), pair(T(g) @ v, x)


def eye_like(A: Any) -> Any:
    """Return the identity matrix in the shape of one."""
    return cast_like(eye(*A.shape[-2:]), A)


def cast_like(x: Any, y: Any) -> Any:
    """Return a node in the dtype of another."""
    return Cast(y.dtype.name)(x) if x.dtype != y.dtype else x


@adjoint(where=lambda A, e: calco(e, eye_like, A))
def pair_traceo(g, A, e):
    """<g, trace(A)> = <g I, A>."""
    return pair(g, Trace()(A)), pair(ExpandDims((-2, -1))(g) * e, A)


def first_block(g: Any, A: Any) -> Any:
    """Return the block of ``g`` where the first of two diagonal blocks is."""
    m, n = A.shape[-2:]
    return g[..., :m, :n]


def second_block(g: Any, A: Any) -> Any:
    """Return the block of ``g`` after the first."""
    m, n = A.shape[-2:]
    return g[..., m:, n:]


@adjoint(where=lambda g, A, h, k: (calco(h, first_block, g, A), calco(k, second_block, g, A)))
def pair_block_diago(g, A, B, h, k):
    """<g, block_diag(A, B)> = <the first block of g, A> + <the second, B>."""
    return pair(g, BlockDiag()(A, B)), pair(h, A) + pair(k, B)


def kron_parts(g: Any, A: Any, B: Any, which: int) -> Any:
    """Return the sum of g times one factor of a Kronecker product, in the shape of the other."""
    (m, n), (p, q) = A.shape, B.shape
    parts = reshape(g, (m, p, n, q))
    subscripts = "ipjq,pq->ij" if which == 0 else "ipjq,ij->pq"
    return Einsum(subscripts)(parts, B if which == 0 else A)


@adjoint(where=lambda x: (varieso(x), matrixo(x)))
def pair_krono(g, x, v, h):
    """<g, kron(x, v)> = <the sums of the blocks of g times v, x>, and by the second factor."""
    yield pair(g, Kron()(x, v)), pair(h, x), calco(h, kron_parts, g, x, v, 0)
    yield pair(g, Kron()(v, x)), pair(h, x), calco(h, kron_parts, g, v, x, 1)


def einsum_back(subscripts: str, i: int) -> str | None:
    """Return the subscripts that give the cotangent of an operand, or None if none do."""
    operands, result = subscripts.split("->")
    names = operands.split(",")
    rest = [name for k, name in enumerate(names) if k != i]
    if set(names[i]) - set(result).union(*rest) or len(set(names[i])) < len(names[i]):
        return None
    return ",".join([result, *rest]) + "->" + names[i]


@adjoint
def pair_einsumo(g, s, t, u, v, w, x):
    """<g, einsum(x, v, ...)> = <einsum(g, v, ...), x>, where the others have every axis of x."""
    for count in range(1, 5):
        operands = (u, v, w, x)[:count]
        for i, y in enumerate(operands):
            rest = [z for k, z in enumerate(operands) if k != i]
            yield (
                pair(g, Einsum(s)(*operands)),
                pair(Einsum(t)(g, *rest), y),
                varieso(y),
                calco(t, partial(einsum_back, i=i), s),
            )


def is_one_system(A: Any, x: Any) -> bool:
    """Return True if no axis of ``x`` is both a batch's and a vector's."""
    return A.ndim == 2 or bool(A.ndim == x.ndim)


def systemo(A: Any, x: Any) -> Any:
    """Relate matrices and right sides that vary."""
    return varieso(x), checko(is_one_system, A, x, label="a matrix, or as many axes")


@adjoint(where=systemo)
def pair_cho_solveo(g, A, x):
    """<g, solve(B, x)> = <solve(B, g), x>, B being A A.T or A.T A."""
    for lower in (True, False):
        yield pair(g, ChoSolve(lower)(A, x)), pair(ChoSolve(lower)(A, g), x)


@adjoint(where=lambda x, v: (varieso(x), vectoro(x), vectoro(v)))
def pair_doto(g, v, x):
    """<g, v x> = <g v, x> for vectors."""
    yield pair(g, v @ x), pair(g * v, x)
    yield pair(g, x @ v), pair(g * v, x)


@adjoint(where=systemo)
def pair_solveo(g, A, x):
    """<g, solve(A, x)> = <solve(A.T, g), x>, where one triangle of A is read if A is definite."""
    general, symmetric, definite = Solve("general"), Solve("symmetric"), Solve("spd")
    yield pair(g, general(A, x)), pair(general(T(A), g), x)
    yield pair(g, symmetric(A, x)), pair(symmetric(A, g), x), facto(A, "symmetric")
    yield pair(g, definite(A, x)), pair(definite(A, g), x)


@adjoint(where=systemo)
def pair_solve_triangularo(g, w, u, A, x):
    """<g, solve_triangular(A, x)> = <solve_triangular(A.T, g), x>."""
    for trans in (0, 1):
        yield (
            pair(g, SolveTriangular(w, trans, u)(A, x)),
            pair(SolveTriangular(w, 1 - trans, u)(A, g), x),
        )


@adjoint
def pair_triangleo(g, x, k):
    """<g, tril(x)> = <tril(g), x>, and so for triu."""
    yield pair(g, Tril(k)(x)), pair(Tril(k)(g), x)
    yield pair(g, Triu(k)(x)), pair(Triu(k)(g), x)


# Views.


@adjoint
def pair_broadcast_too(g, x, s, k):
    """<g, broadcast_to(x, s)> = <g, x>, where g has the shape s."""
    return pair(g, BroadcastTo(s)(x, *k)), pair(g, x)


@adjoint
def pair_axeso(g, x, a):
    """<g, expand_dims(x, a)> = <squeeze(g, a), x>, and the reverse."""
    yield pair(g, ExpandDims(a)(x)), pair(Squeeze(a)(g), x)
    yield pair(g, Squeeze(a)(x)), pair(ExpandDims(a)(g), x)


@adjoint(where=lambda a, b: calco(b, undone, a))
def pair_transposeo(g, x, a, b):
    """<g, transpose(x, a)> = <transpose(g, b), x>, where b undoes a."""
    return pair(g, Transpose(a)(x)), pair(Transpose(b)(g), x)


# Selections and updates.


def zeros_like(x: Any) -> Any:
    """Return zeros in the shape of a node."""
    return broadcast_to(constant(0, x.dtype), x.shape)


@adjoint(where=lambda x, z: calco(z, zeros_like, x))
def pair_indexo(g, x, s, k, z):
    """<g, x[s]> = <zeros with g added at s, x>."""
    return pair(g, Index(s)(x, *k)), pair(AddIndex(s)(z, g, *k), x)


@adjoint
def pair_updateo(g, x, v, s, k):
    """<g, x.at[s].add(v)> = <g, x> + <g[s], v>, and x.at[s].set(v) with zeros in g at s."""
    yield pair(g, AddIndex(s)(x, v, *k)), pair(g, x) + pair(Index(s)(g, *k), v)
    yield (
        pair(g, SetIndex(s)(x, v, *k)),
        pair(SetIndex(s)(g, 0.0, *k), x) + pair(Index(s)(g, *k), v),
        distincto(s),
    )


def sizes_of(x: Any) -> tuple[Any, ...]:
    """Return the shape of a node as a parameter, with None for sizes that are not static."""
    return tuple([n if isinstance(n, int) else None for n in x.type.shape])


def open_sizes(x: Any) -> list[Any]:
    """Return the sizes of a node that are not static."""
    return [dim(x, i) for i, n in enumerate(x.type.shape) if not isinstance(n, int)]


@adjoint(where=lambda x, t, m: (calco(t, sizes_of, x), calco(m, open_sizes, x)))
def pair_reshapeo(g, x, s, k, t, m):
    """<g, reshape(x, s)> = <reshape(g, t), x>, where t is the shape of x."""
    return pair(g, Reshape(s)(x, *k)), pair(Reshape(t)(g, *m), x)


def from_the_end(a: int) -> tuple[Any, ...]:
    """Return the key that reverses an axis."""
    rest = [("slice", None, None, None)] * (-1 - a)
    return (("ellipsis",), ("slice", None, None, -1), *rest)


@adjoint(where=lambda a, r: calco(r, from_the_end, a))
def pair_cumsumo(g, x, a, r):
    """<g, cumsum(x)> = <the sums of g from the end, x>."""
    return pair(g, Cumsum(a)(x)), pair(Index(r)(Cumsum(a)(Index(r)(g))), x)


@adjoint
def pair_diagonalo(g, x):
    """<g, diag(x)> = <diagonal(g), x>, and the reverse for square matrices."""
    yield pair(g, Diag(0)(x)), pair(Diagonal(0)(g), x)
    yield pair(g, Diagonal(0)(x)), pair(Diag(0)(g), x), facto(x, "square")


# Joins.


def part_of_join(g: Any, k: int, before: Any, x: Any) -> Any:
    """Return the part of ``g`` that an operand of a join has there."""
    start = 0
    for y in before:
        start = start + y.shape[k]
    rest = [slice(None)] * (-1 - k)
    return g[(..., slice(start, start + x.shape[k]), *rest)]


def layer_of_stack(g: Any, k: int, before: Any) -> Any:
    """Return the part of ``g`` that an operand of a stack has there."""
    return g[(..., len(before), *[slice(None)] * (-1 - k))]


@adjoint(where=lambda x, z: (varieso(x), calco(z, zeros_like, x)))
def pair_joino(g, a, x, b, k, z, h):
    """<g, concatenate(a, x, b)> = <part of g, x> + <g, concatenate(a, 0, b)>, and so for stack."""
    joined = calco(h, part_of_join, g, k, a, x)
    yield (
        pair(g, Concatenate(k)(*a, x, *b)),
        pair(h, x) + pair(g, Concatenate(k)(*a, z, *b)),
        joined,
    )
    layered = calco(h, layer_of_stack, g, k, a)
    yield pair(g, Stack(k)(*a, x, *b)), pair(h, x) + pair(g, Stack(k)(*a, z, *b)), layered


RELATIONS = relations_in(globals())
