"""Reductions of what is rearranged, repeated or joined."""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from relgraph.ir.node import constant
from relgraph.numpy.reductions import all, any, logsumexp, max, mean, min, prod, sum
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.elementwise import (
    add,
    logaddexp,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
)
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reductions import accumulator, reduced_axes
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze
from relgraph.relations.catalogue.conditions import numerico, scalaro
from relgraph.relations.kanren.goals import calco, checko, eq, floato, lall, lany
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, relation

CANONICAL = ("canonicalize", "fast_run")
EVERY = (sum, prod, max, min, mean, any, all, logsumexp)
VALUES = (sum, prod, max, min, mean, logsumexp)  # of one element it is that element
JOINED = (
    (sum, add), (prod, multiply), (max, maximum), (min, minimum), (any, logical_or),
    (all, logical_and), (logsumexp, logaddexp),
)  # fmt: skip


# Axes of size 1.


def all_ones(axis: Any, x: Any) -> bool:
    """Tell whether every reduced axis has size 1, and there is one."""
    axes = reduced_axes(axis, x.ndim, "reduce")
    return bool(axes) and not [a for a in axes if x.type.shape[a] != 1]


def ones(axis: Any, x: Any) -> Any:
    """Return the reduced axes if all of them have size 1, or None."""
    if not all_ones(axis, x):
        return None
    return tuple(a - x.ndim if a >= 0 else a for a in reduced_axes(axis, x.ndim, "reduce"))


@relation(tags=(*CANONICAL, "local_reduce_broadcastable"))
def squeeze_reduceo(left, right):
    """sum_a(x) = squeeze_a(x), with kept dimensions x itself, and so for other reductions.

    Holds where the axes a have size 1, for prod, max, min, mean and logsumexp too; rounded (a sum
    may lose the sign of -0.0), kept.
    Source: a sum of one term is the term.
    """
    x, a, b = lvars("x a b")
    return lany(
        *[
            lall(
                eq(left, reduce(x, axis=a, keepdims=True)),
                eq(right, x),
                checko(all_ones, a, x, label=f"{a!r} has size 1"),
            )
            for reduce in VALUES
        ],
        *[
            lall(eq(left, reduce(x, axis=a)), eq(right, Squeeze(b)(x)), calco(b, ones, a, x))
            for reduce in VALUES
        ],
    )


@relation(tags=CANONICAL)
def remove_reduce_scalaro(left, right):
    """sum(x) = x, and so for prod, max, min, mean and logsumexp.

    Holds for scalars; rounded (a sum may lose the sign of -0.0), kept.
    Source: a sum of one term is the term.
    """
    x, keepdims = lvars("x keepdims")
    return lany(
        *[
            lall(eq(left, reduce(x, axis=None, keepdims=keepdims)), eq(right, x), scalaro(x))
            for reduce in VALUES
        ]
    )


# Rearrangements.


@relation(tags=CANONICAL, specials="assumes_finite")
def absorb_rearrangemento(left, right):
    """sum(transpose(x, p)) = sum(x), for all reductions of everything and all rearrangements.

    Holds for reshape, squeeze and expand_dims as well; rounded (another order of summation,
    within n u sum |x|), assumes_finite (a partial sum may overflow).
    Source: associative and commutative laws.
    """
    x, p = lvars("x p")
    forms = [cls(p)(x) for cls in (Transpose, Reshape, Squeeze, ExpandDims)]
    return lany(
        *[lall(eq(left, reduce(form)), eq(right, reduce(x))) for reduce in EVERY for form in forms]
    )


@relation(tags=CANONICAL, specials="assumes_finite")
def absorb_matrix_transposeo(left, right):
    """sum_rows(x.mT) = sum_columns(x) and sum(x.mT) = sum(x), and so for other reductions.

    Holds always; rounded (another order of summation, within n u sum |x|), assumes_finite.
    Source: the rows of a transpose are the columns.
    """
    (x,) = lvars("x")
    turned = MatrixTranspose()(x)
    return lany(
        *[
            lall(eq(left, reduce(turned, axis=a)), eq(right, reduce(x, axis=b)))
            for reduce in EVERY
            for a, b in ((-1, -2), (-2, -1), (None, None))
        ]
    )


def axes_before(p: Any, axis: Any) -> Any:
    """Return the axes that a permutation moves to the reduced ones, if it orders the rest."""
    if axis is None or len(axis) >= len(p):
        return None
    rest = [p[a] for a in range(-len(p), 0) if a not in axis]
    return tuple(sorted(p[a] for a in axis)) if rest == sorted(rest) else None


@relation(tags=CANONICAL, specials="assumes_finite")
def absorb_transposeo(left, right):
    """sum_a(transpose(x, p)) = sum_b(x), where b = p[a], and so for other reductions.

    Holds where p leaves the other axes in order; rounded (another order of summation, within
    n u sum |x|), assumes_finite.
    Source: associative and commutative laws.
    """
    x, p, a, b = lvars("x p a b")
    return lany(
        *[
            lall(
                eq(left, reduce(Transpose(p)(x), axis=a)),
                eq(right, reduce(x, axis=b)),
                calco(b, axes_before, p, a),
            )
            for reduce in EVERY
        ]
    )


# What is repeated.


def repeats(s: Any, x: Any) -> Any:
    """Return how often a shape repeats a scalar, as a number of the dtype it is summed in."""
    count = math.prod(s) if repeated(s) else 0
    dtype = accumulator(x.dtype)
    return constant(np.asarray(count, dtype)) if count else None


def repeated(s: Any) -> bool:
    """Tell whether a shape is static and has elements."""
    return not [d for d in s if not isinstance(d, int) or d < 1]


@relation(tags=(*CANONICAL, "local_careduce_of_alloc"), rounding="exact")
def reduce_repeatedo(left, right):
    """max(broadcast_to(x, s)) = x, and so for min.

    Holds for a scalar x and a shape s that has elements; exact, kept.
    Source: idempotent laws.
    """
    x, s = lvars("x s")
    return lany(
        *[
            lall(
                eq(left, reduce(BroadcastTo(s)(x))),
                eq(right, x),
                scalaro(x),
                checko(repeated, s, label=f"{s!r} has elements"),
            )
            for reduce in (max, min)
        ]
    )


@relation(tags=(*CANONICAL, "local_careduce_of_alloc"), specials="assumes_finite")
def sum_repeatedo(left, right):
    """sum(broadcast_to(x, s)) = n x, prod(broadcast_to(x, s)) = x^n, and the mean is x.

    Holds for a scalar x, n being the number of elements of the static shape s, modulo 2^n for
    integers; rounded (within n u |x|), assumes_finite (a partial sum may overflow).
    Source: definition of a multiple and of a power.
    """
    x, s, n = lvars("x s n")
    whole, counted = BroadcastTo(s)(x), calco(n, repeats, s, x)
    return lany(
        lall(eq(left, sum(whole)), eq(right, n * x), scalaro(x), numerico(x), counted),
        lall(eq(left, prod(whole)), eq(right, x**n), scalaro(x), floato(x), counted),
        lall(
            eq(left, mean(whole)),
            eq(right, x),
            scalaro(x),
            floato(x),
            checko(repeated, s, label=f"{s!r} has elements"),
        ),
    )


# What is joined.


def joined_along(axis: Any, k: Any) -> bool:
    """Tell whether the one axis along which arrays were joined is reduced."""
    return bool(axis == (k,))


@relation(tags=(*CANONICAL, "local_reduce_join", "local_sum_make_vector"))
def reduce_stacko(left, right):
    """sum_k(stack_k(x, y)) = x + y, of up to four arrays, and so for other reductions.

    Holds for prod, max, min, any, all and logsumexp (with logaddexp) as well, and for the reduction
    of everything where up to three scalars are stacked; rounded (another order of summation), kept.
    Source: definition.
    """
    parts = lvars("x y z w")
    axis, k = lvars("axis k")
    clauses = []
    for n in (2, 3, 4):
        some = parts[:n]
        for reduce, op in JOINED:
            together = functools.reduce(op, some)
            clauses.append(
                lall(
                    eq(left, reduce(Stack(k)(*some), axis=axis)),
                    eq(right, together),
                    checko(joined_along, axis, k, label="the new axis is reduced"),
                )
            )
            if n < 4:
                clauses.append(
                    lall(
                        eq(left, reduce(Stack(k)(*some), axis=None)),
                        eq(right, together),
                        *map(scalaro, some),
                    )
                )
    return lany(*clauses)


def reduces(axis: Any, k: Any) -> bool:
    """Tell whether the axis along which arrays were joined is among the reduced ones."""
    return axis is None or k in axis


@relation(tags=(*CANONICAL, "local_reduce_join"), specials="assumes_finite")
def reduce_concatenateo(left, right):
    """sum_k(concatenate_k(x, y)) = sum_k(x) + sum_k(y), of up to three, and so for prod.

    Holds where k is among the reduced axes, for any, all and logsumexp (with logaddexp) as well;
    rounded (another order of summation,
    within n u sum |x|), assumes_finite (a partial sum may overflow).
    Source: associative law.
    """
    parts = lvars("x y z")
    axis, k, keepdims = lvars("axis k keepdims")
    pairs = [(reduce, op) for reduce, op in JOINED if reduce not in (max, min)]
    return lany(
        *[
            lall(
                eq(left, reduce(Concatenate(k)(*parts[:n]), axis=axis, keepdims=keepdims)),
                eq(
                    right,
                    functools.reduce(
                        op, [reduce(x, axis=axis, keepdims=keepdims) for x in parts[:n]]
                    ),
                ),
                checko(reduces, axis, k, label="the joined axis is reduced"),
            )
            for n in (2, 3)
            for reduce, op in pairs
        ]
    )


def filled(axis: Any, *xs: Any) -> bool:
    """Tell whether arrays have elements along the reduced axes."""
    sizes = [x.type.shape[a] for x in xs for a in reduced_axes(axis, x.ndim, "reduce")]
    return not [d for d in sizes if not isinstance(d, int) or d < 1]


@relation(tags=(*CANONICAL, "local_reduce_join"))
def extreme_concatenateo(left, right):
    """max_k(concatenate_k(x, y)) = max(max_k(x), max_k(y)), and so for min.

    Holds where both have elements along the axis; rounded (zeros may differ in sign), kept.
    Source: associative law of a lattice.
    """
    x, y, axis, k, keepdims = lvars("x y axis k keepdims")
    at = {"axis": axis, "keepdims": keepdims}
    return lany(
        *[
            lall(
                eq(left, reduce(Concatenate(k)(x, y), **at)),
                eq(right, op(reduce(x, **at), reduce(y, **at))),
                checko(reduces, axis, k, label="the joined axis is reduced"),
                checko(filled, axis, x, y, label="both have elements"),
            )
            for reduce, op in ((max, maximum), (min, minimum))
        ]
    )


RELATIONS: tuple[Relation, ...] = (
    squeeze_reduceo,
    remove_reduce_scalaro,
    absorb_rearrangemento,
    absorb_matrix_transposeo,
    absorb_transposeo,
    reduce_repeatedo,
    sum_repeatedo,
    reduce_stacko,
    reduce_concatenateo,
    extreme_concatenateo,
)
