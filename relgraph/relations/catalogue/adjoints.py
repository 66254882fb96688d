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
from relgraph.numpy.creation import zeros_like
from relgraph.ops.checks import Assert, SpecifyShape
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.contraction import Einsum
from relgraph.ops.cumulative import Cumsum, iota
from relgraph.ops.differentials import inner_product as pair
from relgraph.ops.elementwise import equal, where
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.indexing.composition import is_basic
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import AddIndex, SetIndex
from relgraph.ops.permutation import Transpose
from relgraph.ops.reductions import Mean, Sum
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, broadcast_to, dim, reshape
from relgraph.relations.catalogue import relations_in
from relgraph.relations.catalogue.differentials import dtype_of
from relgraph.relations.differentiation import adjoint, varieso
from relgraph.relations.kanren.goals import calco, checko, floato


def axes_of(a: Any, x: Any) -> tuple[int, ...]:
    """Return the axes that a reduction removes; None stands for all."""
    return tuple(range(-x.ndim, 0)) if a is None else a


def reduced_size(a: Any, x: Any) -> Any:
    """Return the number of elements of each mean."""
    sizes = [x.shape[i] for i in axes_of(a, x)]
    total = 1
    for size in sizes:
        total = total * size
    return constant(total, x.dtype) if isinstance(total, int) else Cast(x.dtype.name)(total)


def inverse_permutation(a: Any) -> tuple[int, ...]:
    """Return the permutation that undoes another one."""
    n = len(a)
    return tuple((np.argsort([i % n for i in a]) - n).tolist())


@adjoint
def pair_addo(g, x, y):
    """<g, x + y> = <g, x> + <g, y>, and <g, x - y> = <g, x> + <-g, y>."""
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


# Reductions.


def numbero(g: Any) -> Any:
    """Relate nodes without dimensions."""
    return checko(is_number, g, label=f"{g!r} is a number")


def is_number(g: Any) -> bool:
    """Return True for a node without dimensions."""
    return bool(g.ndim == 0)


@adjoint
def pair_sumo(g, x, a, b):
    """<g, sum(x, a)> = <expand_dims(g, a), x>."""
    yield pair(g, Sum(a, True)(x)), pair(g, x)
    yield pair(g, Sum(a, False)(x)), pair(g, x), numbero(g)
    yield pair(g, Sum(a, False)(x)), pair(ExpandDims(b)(g), x), calco(b, axes_of, a, x)


@adjoint(where=lambda x, n, a: calco(n, reduced_size, a, x))
def pair_meano(g, x, a, b, n):
    """<g, mean(x, a)> = <expand_dims(g, a) / n, x>, n being the number of elements of a mean."""
    yield pair(g, Mean(a, True)(x)), pair(g / n, x)
    yield pair(g, Mean(a, False)(x)), pair(g / n, x), numbero(g)
    yield pair(g, Mean(a, False)(x)), pair(ExpandDims(b)(g / n), x), calco(b, axes_of, a, x)


def einsum_back(subscripts: str, i: int) -> str | None:
    """Return the subscripts that give the cotangent of an operand, or None if none do."""
    operands, result = subscripts.split("->")
    names = operands.split(",")
    rest = [name for k, name in enumerate(names) if k != i]
    if (
        i >= len(names)
        or set(names[i]) - set(result).union(*rest)
        or len(set(names[i])) < len(names[i])
    ):
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


@adjoint
def pair_checko(g, x, c, m, s):
    """<g, assert(x, c)> = <assert(g, c), x>, and <g, specify_shape(x, s)> = <g, x>."""
    yield pair(g, Assert(m)(x, c)), pair(Assert(m)(g, c), x)
    yield pair(g, SpecifyShape(s)(x)), pair(g, x)


@adjoint(where=lambda a, b: calco(b, inverse_permutation, a))
def pair_transposeo(g, x, a, b):
    """<g, transpose(x, a)> = <transpose(g, b), x>, where b undoes a."""
    return pair(g, Transpose(a)(x)), pair(Transpose(b)(g), x)


# Selections and updates.


@adjoint(where=lambda x, z: calco(z, zeros_like, x))
def pair_indexo(g, x, s, k, z):
    """<g, x[s]> = <zeros with g added at s, x>."""
    return pair(g, Index(s)(x, *k)), pair(AddIndex(s)(z, g, *k), x)


@adjoint
def pair_updateo(g, x, v, s, k, w, r):
    """<g, x.at[s].add(v)> = <g, x> + <g[s], v>, and x.at[s].set(v) with zeros in g at s.

    Where places of a key name one element, the value at the last of them is set.
    """
    added, replaced = AddIndex(s)(x, v, *k), SetIndex(s)(x, v, *k)
    yield pair(g, added), pair(g, x) + pair(Index(s)(g, *k), v)
    yield (
        pair(g, replaced),
        pair(SetIndex(s)(g, 0.0, *k), x) + pair(Index(s)(g, *k), v),
        checko(no_element_twice, s, label="no element twice"),
    )
    held = calco(w, held_by_last, s, k, x)
    yield (
        pair(g, replaced),
        pair(SetIndex(s)(g, 0.0, *k), x) + pair(where(w, Index(s)(g, *k), 0.0), v),
        held,
    )
    yield pair(g, added), r, calco(r, added_at_mask, g, x, v, s, k)
    yield pair(g, replaced), r, calco(r, set_at_mask, g, x, v, s, k)


def added_at_mask(g: Any, x: Any, v: Any, s: Any, k: Any) -> Any:
    """Return the inner products with an array and with the values added at one mask.

    The update compares their number, which no type tells, with that of the true elements.
    """
    return pair(g, x) + pair(Index(s)(g, *k), v) if has_one_mask(s) else None


def set_at_mask(g: Any, x: Any, v: Any, s: Any, k: Any) -> Any:
    """Return the inner products with an array and with the values set at one mask."""
    if not has_one_mask(s):
        return None
    return pair(SetIndex(s)(g, 0.0, *k), x) + pair(Index(s)(g, *k), v)


def has_one_mask(s: Any) -> bool:
    """Return True if a key has one mask beside basic parts."""
    return any(entry[0] == "mask" for entry in s) and no_element_twice(s)


def no_element_twice(s: Any) -> bool:
    """Return True if a key is basic, or has one mask beside basic parts."""
    rest = [entry for entry in s if entry[0] != "mask"]
    return len(rest) >= len(s) - 1 and is_basic(tuple(rest))


def held_by_last(s: Any, k: Any, x: Any) -> Any:
    """Return, for each position in a key, whether it is the last one that names its element."""
    shape = Index(s)(x, *k).shape
    count = 1
    for n in shape:
        count = count * n
    positions = reshape(iota(count), shape)
    last = SetIndex(s)(broadcast_to(constant(0, "int64"), x.shape), positions, *k)
    return equal(Index(s)(last, *k), positions)


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


# Joins.


def part_of_join(g: Any, k: int, before: Any, x: Any) -> Any:
    """Return the part of ``g`` where a join has its operand ``x``."""
    start = 0
    for y in before:
        start = start + y.shape[k]
    rest = [slice(None)] * (-1 - k)
    return g[(..., slice(start, start + x.shape[k]), *rest)]


def part_and_rest(g: Any, k: int, before: Any, x: Any, after: Any) -> Any:
    """Return the inner product with one operand of a join, and with the join of the others."""
    rest = Concatenate(k)(*before, zeros_like(x), *after)
    return pair(part_of_join(g, k, before, x), x) + pair(g, rest)


def layer_and_rest(g: Any, k: int, before: Any, x: Any, after: Any) -> Any:
    """Return the inner product with one operand of a stack, and with the stack of the others."""
    layer = g[(..., len(before), *[slice(None)] * (-1 - k))]
    return pair(layer, x) + pair(g, Stack(k)(*before, zeros_like(x), *after))


@adjoint(where=lambda x: varieso(x))
def pair_joino(g, a, x, b, k, r):
    """<g, concatenate(a, x, b)> = <part of g, x> + <g, concatenate(a, 0, b)>, and so for stack."""
    yield pair(g, Concatenate(k)(*a, x, *b)), r, calco(r, part_and_rest, g, k, a, x, b)
    yield pair(g, Stack(k)(*a, x, *b)), r, calco(r, layer_and_rest, g, k, a, x, b)


RELATIONS = relations_in(globals())
