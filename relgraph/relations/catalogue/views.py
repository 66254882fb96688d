"""Views of elementwise functions: what moves elements moves past what computes each of them."""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from typing import Any

from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, spans
from relgraph.relations.kanren.goals import checko, elementwiseo
from relgraph.relations.relation import Relation, identity

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


RELATIONS: tuple[Relation, ...] = (
    lift_transposeo,
    lift_unit_axeso,
    lift_reshapeo,
    lift_broadcast_too,
    cut_broadcast_too,
)
