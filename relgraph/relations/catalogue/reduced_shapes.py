"""Reductions of rearranged, repeated or joined arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
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
from relgraph.relations.catalogue import CANONICAL, relations_in
from relgraph.relations.catalogue.conditions import numerico, scalaro
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, floato

EVERY = (sum, prod, max, min, mean, any, all, logsumexp)
VALUES = (sum, prod, max, min, mean, logsumexp)  # of one element it is that element
JOINED = (
    (sum, add), (prod, multiply), (max, maximum), (min, minimum), (any, logical_or),
    (all, logical_and), (logsumexp, logaddexp),
)  # fmt: skip


# Axes of size 1.


def all_ones(axis: Any, x: Any) -> bool:
    """Return True if every reduced axis has size 1, and there is one."""
    axes = reduced_axes(axis, x.ndim, "reduce")
    return bool(axes) and not [a for a in axes if x.type.shape[a] != 1]


def ones(axis: Any, x: Any) -> Any:
    """Return the reduced axes if all of them have size 1, or None."""
    if not all_ones(axis, x):
        return None
    return tuple(a - x.ndim if a >= 0 else a for a in reduced_axes(axis, x.ndim, "reduce"))


@identity(tags=(*CANONICAL, "local_reduce_broadcastable"))
def squeeze_reduceo(x, a, b):
    """sum_a(x) = squeeze_a(x), with kept dimensions x itself, and so for other reductions.

    The same holds for prod, max, min, mean and logsumexp.  A sum may lose the sign of -0.0.
    Source: a sum of one term is the term.
    """
    for reduce in VALUES:
        yield reduce(x, axis=a, keepdims=True), x, checko(all_ones, a, x, label=f"{a!r} has size 1")
    for reduce in VALUES:
        yield reduce(x, axis=a), Squeeze(b)(x), calco(b, ones, a, x)


@identity(tags=CANONICAL, where=lambda x: scalaro(x))
def remove_reduce_scalaro(x, keepdims):
    """sum(x) = x, and so for prod, max, min, mean and logsumexp.

    A sum may lose the sign of -0.0.
    Source: a sum of one term is the term.
    """
    for reduce in VALUES:
        yield reduce(x, axis=None, keepdims=keepdims), x


def kept_axes(a: Any, b: Any, x: Any) -> bool:
    """Return True if new axes ``a`` are where a reduction of ``x`` over ``b`` removed them."""
    return bool(a == tuple(range(-x.ndim, 0)) if b is None else a == b)


@identity(
    tags=(*CANONICAL, "stabilize"),
    where=lambda a, b, x: checko(kept_axes, a, b, x, label="the reduced axes"),
    rounding="exact",
)
def keep_reduced_axeso(x, a, b):
    """expand_dims(sum_a(x), a) = sum_a(x) with dimensions kept, and so for all other reductions.

    Source: definition.
    """
    for reduce in EVERY:
        yield ExpandDims(a)(reduce(x, axis=b)), reduce(x, axis=b, keepdims=True)


@identity(
    tags=CANONICAL,
    where=lambda a, b, x: checko(kept_axes, a, b, x, label="the reduced axes"),
    rounding="exact",
)
def squeeze_reduced_axeso(x, a, b):
    """squeeze(sum_a(x) with dimensions kept, a) = sum_a(x), and so for all other reductions.

    Source: definition.
    """
    for reduce in EVERY:
        yield Squeeze(a)(reduce(x, axis=b, keepdims=True)), reduce(x, axis=b)


# Rearrangements.


@identity(tags=CANONICAL, specials="assumes_finite")
def absorb_rearrangemento(x, p):
    """sum(transpose(x, p)) = sum(x), for all reductions of everything and all rearrangements.

    The same holds for reshape, squeeze and expand_dims.  The order of summation differs, within n u
    sum |x|.  A partial sum may overflow.
    Source: associative and commutative laws.
    """
    forms = [cls(p)(x) for cls in (Transpose, Reshape, Squeeze, ExpandDims)]
    for reduce in EVERY:
        for form in forms:
            yield reduce(form), reduce(x)


@identity(tags=CANONICAL, specials="assumes_finite")
def absorb_matrix_transposeo(x):
    """sum_rows(x.mT) = sum_columns(x) and sum(x.mT) = sum(x), and so for other reductions.

    The order of summation differs, within n u sum |x|.
    Source: the rows of a transpose are the columns.
    """
    turned = MatrixTranspose()(x)
    for reduce in EVERY:
        for a, b in ((-1, -2), (-2, -1), (None, None)):
            yield reduce(turned, axis=a), reduce(x, axis=b)


def axes_before(p: Any, axis: Any) -> Any:
    """Return the axes that a permutation moves to the reduced ones, if it orders the rest."""
    if axis is None or len(axis) >= len(p):
        return None
    rest = [p[a] for a in range(-len(p), 0) if a not in axis]
    return tuple(sorted(p[a] for a in axis)) if rest == sorted(rest) else None


@identity(
    tags=CANONICAL, where=lambda p, a, b: calco(b, axes_before, p, a), specials="assumes_finite"
)
def absorb_transposeo(x, p, a, b):
    """sum_a(transpose(x, p)) = sum_b(x), where b = p[a], and so for other reductions.

    Holds where p leaves the other axes in order.
    The order of summation differs, within n u sum |x|.
    Source: associative and commutative laws.
    """
    for reduce in EVERY:
        yield reduce(Transpose(p)(x), axis=a), reduce(x, axis=b)


# What is repeated.


def reduced_of(s: Any, axis: Any) -> set[int]:
    """Return the reduced axes of a shape, counted from the end."""
    return {a - len(s) for a in reduced_axes(axis, len(s), "reduce")}


def times(s: Any, x: Any, axis: Any) -> int:
    """Return how often a reduction meets each element of ``x``, broadcast to a static shape.

    0 if the shape has no elements, if nothing is repeated, or if it also is along an axis that
    stays.
    """
    if [size for size in s if not isinstance(size, int) or size < 1]:
        return 0
    own = (1,) * (len(s) - x.ndim) + x.type.shape
    again = {a for a in range(-len(s), 0) if own[a] == 1 != s[a]}
    return math.prod(s[a] for a in again) if again and again <= reduced_of(s, axis) else 0


def repeats(s: Any, x: Any, axis: Any) -> Any:
    """Return how often a reduction meets each element, as a number of the dtype it is summed in."""
    count = times(s, x, axis)
    return constant(np.asarray(count, accumulator(x.dtype))) if count else None


def is_repeated(s: Any, x: Any, axis: Any) -> bool:
    """Return True if a reduction meets each element more than once."""
    return times(s, x, axis) > 1


def axes_within(s: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """Return the reduced axes that ``x`` has, if every new axis is reduced."""
    new, reduced = set(range(-len(s), -x.ndim)), reduced_of(s, axis)
    if new and (keepdims or not new <= reduced):
        return None
    return tuple(sorted(reduced - new)) or None


def new_reduced(s: Any, x: Any, axis: Any) -> bool:
    """Return True if the new axes are those that are reduced."""
    return reduced_of(s, axis) == set(range(-len(s), -x.ndim))


def of_repeated(
    reduce: Callable[..., Any], x: Any, s: Any, axis: Any, keepdims: Any, b: Any
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield a reduction of a repeated ``x``, the reduction of ``x``, and the condition."""
    whole = BroadcastTo(s)(x)
    within = calco(b, axes_within, s, x, axis, keepdims)
    yield reduce(whole, axis=axis, keepdims=keepdims), reduce(x, axis=b, keepdims=keepdims), within
    yield reduce(whole, axis=axis), x, checko(new_reduced, s, x, axis, label="the rest is x")


@identity(tags=(*CANONICAL, "local_careduce_of_alloc"), rounding="exact")
def reduce_repeatedo(x, s, axis, keepdims, b):
    """max_a(broadcast_to(x, s)) = max_b(x), and so for min.

    Holds for static shapes with elements, if x is repeated along reduced axes only; b holds those
    that x has.  If it has none, the result is x.
    Source: idempotent laws.
    """
    for reduce in (max, min):
        for whole, one, condition in of_repeated(reduce, x, s, axis, keepdims, b):
            again = checko(is_repeated, s, x, axis, label="only reduced axes repeat x")
            yield whole, one, (again, condition)


@identity(tags=(*CANONICAL, "local_careduce_of_alloc"), specials="assumes_finite", broadcast=("n",))
def sum_repeatedo(x, s, axis, keepdims, n, b):
    """sum_a(broadcast_to(x, s)) = n sum_b(x), and so for a product, with x^n, and a mean.

    Holds for static shapes with elements, modulo 2^n for integers, if x is repeated along reduced
    axes only, n times; b holds those that x has.  If it has none, x takes the place of sum_b(x),
    and the product is x^n.
    The error is within n u sum |x|.  A partial sum may overflow.
    Source: definition of a multiple and of a power.
    """
    counted = calco(n, repeats, s, x, axis)
    for whole, one, condition in of_repeated(sum, x, s, axis, keepdims, b):
        yield whole, n * one, (numerico(x), counted, condition)
    every = checko(new_reduced, s, x, axis, label="the rest is x")
    yield prod(BroadcastTo(s)(x), axis=axis), x**n, (floato(x), counted, every)
    for whole, one, condition in of_repeated(mean, x, s, axis, keepdims, b):
        yield whole, one, (floato(x), counted, condition)


# What is joined.


def joined_along(axis: Any, k: Any) -> bool:
    """Return True if the one axis along which arrays were joined is reduced."""
    return bool(axis == (k,))


@identity(tags=(*CANONICAL, "local_reduce_join", "local_sum_make_vector"))
def reduce_stacko(x, y, z, w, axis, k):
    """sum_k(stack_k(x, y)) = x + y, of up to four arrays, and so for other reductions.

    The same holds for prod, max, min, any, all and logsumexp (with logaddexp), and for the
    reduction of everything where up to three scalars are stacked.  The order of summation differs.
    Source: definition.
    """
    for n in (2, 3, 4):
        parts = (x, y, z, w)[:n]
        for reduce, op in JOINED:
            together = functools.reduce(op, parts)
            new_axis = checko(joined_along, axis, k, label="the new axis is reduced")
            yield reduce(Stack(k)(*parts), axis=axis), together, new_axis
            if n < 4:
                scalars = tuple(map(scalaro, parts))
                yield reduce(Stack(k)(*parts), axis=None), together, scalars


def reduces(axis: Any, k: Any) -> bool:
    """Return True if the axis along which arrays were joined is among the reduced ones."""
    return axis is None or k in axis


@identity(
    tags=(*CANONICAL, "local_reduce_join"),
    where=lambda axis, k: checko(reduces, axis, k, label="the joined axis is reduced"),
    specials="assumes_finite",
)
def reduce_concatenateo(x, y, z, axis, k, keepdims):
    """sum_k(concatenate_k(x, y)) = sum_k(x) + sum_k(y), of up to three, and so for prod.

    The same holds for any, all and logsumexp (with logaddexp).  The order of summation differs,
    within n u sum |x|.  A partial sum may overflow.
    Source: associative law.
    """
    laws = [(reduce, op) for reduce, op in JOINED if reduce not in (max, min)]
    for n in (2, 3):
        parts = (x, y, z)[:n]
        for reduce, op in laws:
            reduced = [reduce(part, axis=axis, keepdims=keepdims) for part in parts]
            joined = reduce(Concatenate(k)(*parts), axis=axis, keepdims=keepdims)
            yield joined, functools.reduce(op, reduced)


def filled(axis: Any, *xs: Any) -> bool:
    """Return True if arrays have elements along the reduced axes."""
    sizes = [x.type.shape[a] for x in xs for a in reduced_axes(axis, x.ndim, "reduce")]
    return not [d for d in sizes if not isinstance(d, int) or d < 1]


@identity(
    tags=(*CANONICAL, "local_reduce_join"),
    where=lambda x, y, axis, k: (
        checko(reduces, axis, k, label="the joined axis is reduced"),
        checko(filled, axis, x, y, label="both have elements"),
    ),
)
def extreme_concatenateo(x, y, axis, k, keepdims):
    """max_k(concatenate_k(x, y)) = max(max_k(x), max_k(y)), and so for min.

    Zeros may differ in sign.
    Source: associative law of a lattice.
    """
    at = {"axis": axis, "keepdims": keepdims}
    for reduce, op in ((max, maximum), (min, minimum)):
        yield reduce(Concatenate(k)(x, y), **at), op(reduce(x, **at), reduce(y, **at))


RELATIONS = relations_in(globals())
