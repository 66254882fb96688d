"""Matrices with structure: diagonal, triangular, orthogonal, Kronecker, block-diagonal.

The ranks for which an identity holds (vectors, matrices, batches) are found by the engine; see
:mod:`relgraph.relations.ranks`.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from relgraph.ops.matrices import Diag
from relgraph.ops.shape import expand_dims
from relgraph.relations.catalogue.conditions import vectoro
from relgraph.relations.relation import Relation, identity

CANONICAL = ("canonicalize", "fast_run")
SPECIALIZE = ("specialize", "fast_run")
diag = Diag(0)


@identity(tags=SPECIALIZE, specials="assumes_finite", broadcast="*")
def scale_rowso(v, X):
    """diag(v) X = v[:, None] * X.

    Holds where X is a matrix or a batch of them; rounded (a sum with zeros may turn -0.0 into
    0.0), assumes_finite (0 times infinity is NaN).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return diag(v) @ X, expand_dims(v, -1) * X


@identity(tags=SPECIALIZE, specials="assumes_finite", broadcast="*")
def scale_columnso(X, v):
    """X diag(v) = X * v.

    Holds where X is a vector, a matrix or a batch of them; rounded (a sum with zeros may turn
    -0.0 into 0.0), assumes_finite (0 times infinity is NaN).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return X @ diag(v), X * v


@identity(tags=SPECIALIZE, where=lambda v, x: (vectoro(v), vectoro(x)), specials="assumes_finite")
def scale_elementso(v, x):
    """diag(v) x = v * x for a vector x.

    Holds where v and x are vectors; rounded (a sum with zeros may turn -0.0 into 0.0),
    assumes_finite (0 times infinity is NaN).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return diag(v) @ x, v * x


RELATIONS: tuple[Relation, ...] = (
    scale_rowso,
    scale_columnso,
    scale_elementso,
)
