"""Views of elementwise functions: what moves elements moves past what computes each of them.

So does what selects elements, also past a product.
"""

from __future__ import annotations

from typing import Any

from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.expression import FULL
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, spans
from relgraph.relations.catalogue import relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, elementwiseo

TIDY = ("canonicalize", "specialize", "fast_run", "lift_rearrangement")


@identity(
    tags=(*TIDY, "local_dimshuffle_lift"),
    where=elementwiseo,
    rounding="exact",
    broadcast=["x"],
)
def lift_transposeo(f, x, a):
    """f(transpose(x, a), ...) = transpose(f(x, ...), a) for any elementwise f, and so for .mT.

    A number among the operands stays as it is.
    Source: an elementwise function computes each element from the matching ones, wherever they are.
    """
    yield f(Transpose(a)(x), ...), Transpose(a)(f(x, ...))
    yield f(MatrixTranspose()(x), ...), MatrixTranspose()(f(x, ...))


@identity(
    tags=(*TIDY, "local_dimshuffle_lift"),
    where=elementwiseo,
    rounding="exact",
    broadcast=["x"],
)
def lift_unit_axeso(f, x, a):
    """f(expand_dims(x, a), ...) = expand_dims(f(x, ...), a) for any elementwise f, and squeeze too.

    A number among the operands stays as it is.
    Source: an axis of size 1 holds every element once.
    """
    yield f(ExpandDims(a)(x), ...), ExpandDims(a)(f(x, ...))
    yield f(Squeeze(a)(x), ...), Squeeze(a)(f(x, ...))


@identity(tags=(*TIDY, "local_reshape_lift"), where=elementwiseo, rounding="exact")
def lift_reshapeo(f, x, s, k):
    """f(reshape(x, s), ...) = reshape(f(x, ...), s) for any elementwise f.

    k holds the sizes of s that are not static.  A number among the operands stays as it is.
    Source: a reshape keeps the order of the elements.
    """
    return f(Reshape(s)(x, *k), ...), Reshape(s)(f(x, ...), *k)


@identity(
    tags=(
        *TIDY, "local_alloc_unary", "local_elemwise_alloc", "local_second_sink", "fill_cut",
        "local_fill_sink",
    ),
    where=elementwiseo,
    rounding="exact",
    broadcast=["x"],
)  # fmt: skip
def lift_broadcast_too(f, x, s, k):
    """f(broadcast_to(x, s), ...) = broadcast_to(f(x, ...), s) for any elementwise f.

    k holds the sizes of s that are not static.  A number among the operands stays as it is.
    Source: what is repeated is computed from what is repeated.
    """
    return f(BroadcastTo(s)(x, *k), ...), BroadcastTo(s)(f(x, ...), *k)


def repeated_anyway(x: Any, s: Any, *others: Any) -> bool:
    """Return True if one of some operands has every axis along which ``x`` is repeated."""
    return any(spans(y, x, s) for sequence in others for y in sequence)


@identity(
    tags=(*TIDY, "fill_cut", "local_elemwise_alloc"),
    where=lambda f, a, x, s, b: (
        elementwiseo(f),
        checko(repeated_anyway, x, s, a, b, label="another operand has the axes"),
    ),
    rounding="exact",
    broadcast="*",
)
def cut_broadcast_too(f, a, x, s, k, b):
    """f(..., broadcast_to(x, s), ...) = f(..., x, ...) for any elementwise f.

    Source: an elementwise function broadcasts its operands, by the same rule.
    """
    return f(*a, BroadcastTo(s)(x, *k), *b), f(*a, x, *b)


# Parts of elementwise functions and products, without a phase: push_index decides where one pays.


def part(x: Any, pairs: Any, whole: Any) -> Any:
    """Return the part of an operand, stretched to the shape ``whole``, that entries select."""
    own = []
    for (entry, sizes), size, stretched in zip(pairs, x.type.shape, whole, strict=True):
        if size != 1 or stretched == 1:
            own.append((entry, sizes))
        else:  # the one element is the same at every index
            own.append((FULL if entry[0] == "slice" else ("int", 0), []))
    spec = keys.trimmed([entry for entry, _ in own])
    return Index(spec)(x, *[y for _, sizes in own for y in sizes]) if spec else x


def parts(f: Any, s: Any, k: Any, a: Any) -> Any:
    """Return the part of each operand of ``f(*a)`` that a key on it, with operands, selects."""
    whole = f.result_type(a).shape
    entries = keys.by_axis(s, len(whole))
    if entries is None or sum(map(keys.operands_of, entries)) != len(k):
        return None
    rest = iter(k)
    pairs = [(entry, [next(rest) for _ in range(keys.operands_of(entry))]) for entry in entries]
    return tuple([part(x, pairs[len(whole) - x.ndim :], whole[len(whole) - x.ndim :]) for x in a])


@identity(tags=("local_subtensor_of_batch_dims",), where=elementwiseo, rounding="exact")
def index_elementwiseo(f, x, s, k):
    """f(x, ...)[s] = f(x[s], ...) for any elementwise f.

    k holds what s takes as operands.  A number among the operands stays as it is.
    Source: an elementwise function computes each element from the matching ones.
    """
    return Index(s)(f(x, ...), *k), f(Index(s)(x, *k), ...)


@identity(
    tags=("local_subtensor_of_batch_dims",),
    where=lambda f, s, k, a, b: (elementwiseo(f), calco(b, parts, f, s, k, a)),
    rounding="exact",
    broadcast="*",
)
def index_stretchedo(f, s, k, a, b):
    """f(*a)[s] = f(*b) for any elementwise f, where b are the parts of a that s selects.

    k holds what s takes as operands.  The key on an operand that f stretches differs from s.
    Source: an elementwise function computes each element from the matching ones.
    """
    return Index(s)(f(*a), *k), f(*b)


@identity(tags=("extract_diag_lift_pass",), where=elementwiseo, rounding="exact")
def diagonal_elementwiseo(f, x, k):
    """diagonal(f(x, ...), k) = f(diagonal(x, k), ...) for any elementwise f.

    A number among the operands stays as it is.
    Source: an elementwise function computes each element from the matching ones.
    """
    return Diagonal(k)(f(x, ...)), f(Diagonal(k)(x), ...)


def key_of_product(side: int, count: int) -> Any:
    """Return the function that computes the key on the rows of ``x``, or the columns of ``y``.

    It takes a key on ``x @ y``, ``x`` and ``y``; the key that it computes takes ``count`` operands.
    """

    def key(s: Any, x: Any, y: Any) -> Any:
        entries = keys.by_axis(s, (x.ndim == 2) + (y.ndim == 2))
        if not entries or x.ndim > 2 or y.ndim > 2:
            return None
        both = entries[: x.ndim - 1], [FULL, entries[-1]][: 2 * y.ndim - 2]
        spec = keys.trimmed(both[side])
        return spec if sum(map(keys.operands_of, spec)) == count else None

    key.__name__ = ("key_of_rows", "key_of_columns")[side]
    return key


@identity(
    tags=("local_subtensor_of_dot", "local_advanced_subtensor_of_dot"), specials="assumes_finite"
)
def index_matmulo(x, y, s, t, u, i, j, p):
    """(x @ y)[i, j] = x[i] @ y[:, j], and (x @ y)[p] = x[p] @ y.

    Holds for matrices and vectors.
    Source: each element of a product depends on one row and one column.
    """
    for above, beside in (((), ()), ((i,), ()), ((), (i,)), ((i,), (j,))):
        rows = calco(t, key_of_product(0, len(above)), s, x, y)
        columns = calco(u, key_of_product(1, len(beside)), s, x, y)
        part = Index(s)(x @ y, *above, *beside)
        yield part, Index(t)(x, *above) @ Index(u)(y, *beside), (rows, columns)
    places = Index((("array",),))
    yield places(x @ y, p), places(x, p) @ y


RELATIONS = relations_in(globals())
