"""Adjoints of products, systems, and parts of matrices.

Source, where none is given: definition of the adjoint, with sums written out.
"""

from __future__ import annotations

from typing import Any

from relgraph.numpy.creation import zeros_like
from relgraph.ops.contraction import Einsum, Outer
from relgraph.ops.differentials import inner_product as pair
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.linalg.blocks import BlockDiag, Kron
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve, SolveSylvester
from relgraph.ops.linalg.factorisations import ExpmFrechet
from relgraph.ops.linalg.solve import Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal, Trace, Tril, Triu, eye
from relgraph.ops.permutation import matrix_transpose as T
from relgraph.ops.shape import ExpandDims, Squeeze, reshape
from relgraph.ops.sparse import SparseMatmul, SparseTranspose, is_sparse
from relgraph.relations.catalogue import relations_in
from relgraph.relations.catalogue.conditions import matrixo, vectoro
from relgraph.relations.differentiation import adjoint, varieso
from relgraph.relations.kanren.goals import calco, checko, facto, floato


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
    """Return the identity matrix in the shape and dtype of a matrix."""
    return cast_like(eye(*A.shape[-2:]), A)


def cast_like(x: Any, y: Any) -> Any:
    """Return a node in the dtype of another."""
    return Cast(y.dtype.name)(x) if x.dtype != y.dtype else x


@adjoint(where=lambda A, e: calco(e, eye_like, A))
def pair_traceo(g, A, e):
    """<g, trace(A)> = <g I, A>."""
    return pair(g, Trace()(A)), pair(ExpandDims((-2, -1))(g) * e, A)


def block_products(g: Any, A: Any, B: Any) -> Any:
    """Return the sum of the inner products of two diagonal blocks with their parts of ``g``."""
    m, n = A.shape[-2:]
    return pair(g[..., :m, :n], A) + pair(g[..., m:, n:], B)


@adjoint(where=lambda g, A, B, r: calco(r, block_products, g, A, B))
def pair_block_diago(g, A, B, r):
    """<g, block_diag(A, B)> = <the first block of g, A> + <the second, B>."""
    return pair(g, BlockDiag()(A, B)), r


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


def is_one_system(A: Any, x: Any) -> bool:
    """Return True if the right sides are those of one matrix, or have as many axes as A."""
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
    """<g, solve(A, x)> = <solve(A.T, g), x>, where A.T is A if it is symmetric or definite."""
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


@adjoint
def pair_diagonalo(g, x, k, h):
    """<g, diag(x, k)> = <diagonal(g, k), x>, and the reverse; a matrix that is not square has zeros
    beside the diagonal and below it."""
    yield pair(g, Diag(k)(x)), pair(Diagonal(k)(g), x)
    yield pair(g, Diagonal(k)(x)), pair(Diag(k)(g), x), facto(x, "square")
    yield pair(g, Diagonal(k)(x)), pair(h, x), calco(h, on_diagonal, g, x, k)


def on_diagonal(g: Any, x: Any, k: int) -> Any:
    """Return the matrix in the shape of ``x`` with ``g`` on a diagonal; None for unknown sizes."""
    rows, columns = x.type.shape[-2:]
    if not (isinstance(rows, int) and isinstance(columns, int)):
        return None
    square = Diag(k)(g)
    m, n = min(rows, square.type.shape[-2]), min(columns, square.type.shape[-1])
    return zeros_like(x).at[..., :m, :n].set(square[..., :m, :n])


@adjoint(where=lambda b: varieso(b))
def pair_lu_solveo(g, F, p, b):
    """<g, lu_solve(F, b)> = <lu_solve(F, g, trans=1), b>, and the reverse."""
    yield pair(g, LUSolve(0)(F, p, b)), pair(LUSolve(1)(F, p, g), b)
    yield pair(g, LUSolve(1)(F, p, b)), pair(LUSolve(0)(F, p, g), b)


@adjoint(where=lambda A, B, q: (varieso(q), floato(A), floato(B)))
def pair_sylvestero(g, A, B, q):
    """<g, solve_sylvester(A, B, q)> = <solve_sylvester(A.T, B.T, g), q>."""
    return pair(g, SolveSylvester()(A, B, q)), pair(SolveSylvester()(T(A), T(B), g), q)


@adjoint(where=lambda A, e: (varieso(e), floato(A)))
def pair_expm_frecheto(g, A, e):
    """<g, expm_frechet(A, e)> = <expm_frechet(A.T, g), e>.

    Source: N. J. Higham, Functions of Matrices, 2008, section 3.2.
    """
    return pair(g, ExpmFrechet()(A, e)), pair(ExpmFrechet()(T(A), g), e)


@adjoint
def pair_sparse_matmulo(g, S, x):
    """<g, S x> = <S.T g, x> and <g, x S> = <g S.T, x> for a sparse matrix S."""
    sparse, product = checko(is_sparse, S, label="S is sparse"), SparseMatmul()
    yield pair(g, product(S, x)), pair(product(SparseTranspose()(S), g), x), sparse
    yield pair(g, product(x, S)), pair(product(g, SparseTranspose()(S)), x), sparse


RELATIONS = relations_in(globals())
