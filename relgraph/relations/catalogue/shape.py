"""Rearrangements of elements: chains become one step."""

from __future__ import annotations

import math
from typing import Any

from relgraph.ir.sizes import rule_of, size_at
from relgraph.ops.arguments import solve
from relgraph.ops.checks import SpecifyShape
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.elementwise import maximum, minimum
from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.index import Index
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, Dim, ExpandDims, Reshape, Squeeze, dim
from relgraph.relations.catalogue import TIDY, relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, elementwiseo, nth, op_kindo

SIZES = (*TIDY, "shape_lifting", "shape_promotion", "local_shape_lift")
SWAP = MatrixTranspose()


# Reshapes.


def fits_surely(s: Any, t: Any, x: Any) -> bool:
    """Return True if ``x`` has a shape ``s`` with a size at -1 wherever it has a shape ``t``."""
    if -1 not in s or -1 not in t:
        return True  # a known number of elements is compared with that of x either way
    rest, other = (math.prod(size for size in shape if size != -1) for shape in (s, t))
    known = math.prod(dim for dim in x.type.shape if isinstance(dim, int))
    return bool(rest != 0 and (other % rest == 0 or known % rest == 0))


def shape_of_all(s: Any, t: Any, x: Any) -> Any:
    """Return ``t``, or the size where it is -1 alone and known from ``s`` but not from ``x``."""
    if t != (-1,) or -1 in s or None not in solve(x.type.shape, t):
        return t
    return (math.prod(s),)


@identity(
    tags=(*TIDY, "reshape_chain"),
    where=lambda x, s, t, u: (
        checko(fits_surely, s, t, x, label="x has the first shape"),
        calco(u, shape_of_all, s, t, x),
    ),
    rounding="exact",
)
def merge_reshapeo(x, s, t, u):
    """reshape(reshape(x, s), t) = reshape(x, t).

    Holds for static shapes, the first of which fits wherever the second does.
    Source: a reshape keeps the order of the elements.
    """
    return Reshape(t)(Reshape(s)(x)), Reshape(u)(x)


def same_shape(s: Any, x: Any, k: Any) -> bool:
    """Return True if a reshape or broadcast to ``s``, with sizes ``k``, changes no shape."""
    shape = x.type.shape
    if len(s) != len(shape):
        return False
    if -1 in s:
        static = not k and None not in shape
        return len(s) == 1 or (static and Reshape(s).infer(x.type).shape == shape)
    sizes = iter(k)
    return all(
        size == own if isinstance(size, int) else is_size(next(sizes), x, axis)
        for axis, (size, own) in enumerate(zip(s, shape, strict=True), -x.ndim)
    )


def is_size(n: Any, x: Any, axis: int) -> bool:
    """Return True if a node reads the size of ``x`` along an axis that nothing stretches."""
    reads = x.type.shape[axis] != 1 and isinstance(n.op, Dim)
    return reads and size_at(n.inputs[0], n.op.params[0]) == size_at(x, axis)


@identity(
    tags=(*TIDY, "reshape_chain", "local_useless_reshape"),
    where=lambda x, s, k: checko(same_shape, s, x, k, label="the shape is the same"),
    rounding="exact",
)
def remove_reshapeo(x, s, k):
    """reshape(x, shape of x) = x, and so for broadcast_to.

    k holds the sizes of s that are not static.
    Source: definition.
    """
    for cls in (Reshape, BroadcastTo):
        yield cls(s)(x, *k), x


@identity(tags=(*TIDY, "reshape_chain"), rounding="exact")
def absorb_reshapeo(x, a, s):
    """reshape(expand_dims(x), s) = reshape(x, s), and so for squeeze.

    Holds for static shapes.
    Source: axes of size 1 do not change the order of the elements.
    """
    for cls in (ExpandDims, Squeeze):
        yield Reshape(s)(cls(a)(x)), Reshape(s)(x)


# Permutations of axes.


@identity(tags=TIDY, rounding="exact")
def cancel_matrix_transposeo(x):
    """x.mT.mT = x.

    Holds for matrices and batches of them.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.5.
    """
    return SWAP(SWAP(x)), x


def composed(outer: Any, inner: Any) -> tuple[int, ...] | None:
    """Return the permutation that does what ``inner`` and then ``outer`` do, if they fit."""
    return tuple(inner[axis] for axis in outer) if len(inner) == len(outer) else None


def swapped_first(outer: Any) -> tuple[int, ...]:
    """Return the permutation that swaps the last two axes and then does ``outer``."""
    inner = (*range(-len(outer), -2), -1, -2)
    return tuple(inner[axis] for axis in outer)


def swapped_last(inner: Any) -> tuple[int, ...]:
    """Return the permutation that does ``inner`` and then swaps the last two axes."""
    return (*inner[:-2], inner[-1], inner[-2])


@identity(tags=TIDY, rounding="exact")
def merge_transposeo(x, a, b, c):
    """transpose(transpose(x, a), b) = transpose(x, a[b]), and with .mT in place of either.

    Source: composition of permutations.
    """
    yield Transpose(b)(Transpose(a)(x)), Transpose(c)(x), calco(c, composed, b, a)
    yield Transpose(b)(SWAP(x)), Transpose(c)(x), calco(c, swapped_first, b)
    yield SWAP(Transpose(a)(x)), Transpose(c)(x), calco(c, swapped_last, a)


def straight(axes: Any) -> bool:
    """Return True if a permutation moves nothing."""
    return bool(axes == tuple(range(-len(axes), 0)))


def swaps_last(axes: Any) -> bool:
    """Return True if a permutation swaps the last two axes and moves no other."""
    return len(axes) >= 2 and tuple(axes) == (*range(-len(axes), -2), -1, -2)


@identity(tags=TIDY, rounding="exact")
def remove_transposeo(x, a):
    """transpose(x, (0, 1, ..., n)) = x, and a swap of the last two axes is x.mT.

    Source: definition.
    """
    turned = Transpose(a)(x)
    yield turned, x, checko(straight, a, label="nothing moves")
    yield turned, SWAP(x), checko(swaps_last, a, label="a swap")


# Axes of size 1.


def axes_after(first: Any, second: Any, x: Any) -> tuple[int, ...]:
    """Return ``first`` and ``second`` together, where ``second`` counts among the other axes.

    Parameters
    ----------
    first, second : tuple of int
        Axes of an array of the rank of ``x`` plus both, counted from its end.
    x : Variable
        The array without any of these axes.
    """
    ndim = x.ndim + len(first) + len(second)
    others = [axis for axis in range(-ndim, 0) if axis not in first]
    return tuple(sorted({*first, *(others[axis] for axis in second)}))


def squeezed_after(inner: Any, outer: Any, x: Any) -> tuple[int, ...]:
    """Return the axes of ``x`` that two squeezes in turn remove."""
    others = [axis for axis in range(-x.ndim, 0) if axis not in inner]
    return tuple(sorted({*inner, *(others[axis] for axis in outer)}))


@identity(tags=TIDY, rounding="exact", where=lambda c, b, a, x: calco(c, axes_after, b, a, x))
def merge_expand_dimso(x, a, b, c):
    """expand_dims(expand_dims(x, a), b) = expand_dims(x, c).

    c is b and the positions of a among the other axes.
    Source: definition.
    """
    return ExpandDims(b)(ExpandDims(a)(x)), ExpandDims(c)(x)


@identity(tags=TIDY, rounding="exact", where=lambda c, a, b, x: calco(c, squeezed_after, a, b, x))
def merge_squeezeo(x, a, b, c):
    """squeeze(squeeze(x, a), b) = squeeze(x, c).

    c is a and the positions of b among the other axes.
    Source: definition.
    """
    return Squeeze(b)(Squeeze(a)(x)), Squeeze(c)(x)


@identity(tags=TIDY, rounding="exact")
def cancel_squeeze_expand_dimso(x, a):
    """squeeze(expand_dims(x, a), a) = x.

    Source: definition.
    """
    return Squeeze(a)(ExpandDims(a)(x)), x


@identity(tags=TIDY, rounding="exact")
def merge_broadcast_too(x, s, t):
    """broadcast_to(broadcast_to(x, s), t) = broadcast_to(x, t).

    Holds for static shapes.
    Source: definition.
    """
    return BroadcastTo(t)(BroadcastTo(s)(x)), BroadcastTo(t)(x)


# Sizes, each read from the deepest operand that has it.


def origin(f: Any, a: Any, k: Any) -> Any:
    """Return the node below ``f(*a)``, and its axis, whose size axis ``k`` of the result has."""
    deepest = None
    below = operand_of_size(f, a, k)
    while below is not None:
        deepest = x, axis = below
        below = None if x.op is None else operand_of_size(x.op, x.inputs, axis)
    return deepest


origin.of_type = True  # type: ignore[attr-defined]


def operand_of_size(f: Any, a: Any, k: Any) -> Any:
    """Return the operand of ``f(*a)``, and its axis, whose size axis ``k`` of the result has."""
    size = f.result_type(a).shape[k]
    if size is None:
        at = rule_of(f, tuple([x.type for x in a])).origins[k]
        return None if at is None else (a[at[0]], at[1])
    # A name stands for one size wherever it occurs.
    same = (x for x in a if size in getattr(x.type, "shape", ()))
    return next(((x, x.type.shape.index(size) - x.ndim) for x in same), None)


@identity(
    tags=(*SIZES, "local_shape_to_shape_i", "derived"),
    where=lambda f, a, k, x, m: (
        op_kindo(f, "any"),
        calco(x, nth(origin, 0), f, a, k),
        calco(m, nth(origin, 1), f, a, k),
    ),
    rounding="exact",
)
def lift_dimo(f, a, k, x, m):
    """dim(f(*a), k) = dim(x, m) for any op f, where x is an operand, or an operand of one.

    Holds where the type rules say that axis k of the result has the size of axis m of x.
    Derived for static sizes, which are constants; kept for sizes that are known at the call.
    Source: definition.
    """
    return Dim(k)(f(*a)), Dim(m)(x)


def given_size(s: Any, n: Any, k: Any) -> Any:
    """Return the operand that is the size along an axis of a shape ``s`` with sizes ``n``."""
    before = sum(not isinstance(size, int) for size in s[: len(s) + k])
    return None if isinstance(s[k], int) else n[before]


@identity(tags=SIZES, where=lambda m, s, n, k: calco(m, given_size, s, n, k), rounding="exact")
def dim_reshapeo(x, s, n, k, m):
    """dim(reshape(x, s), k) = m, where m is that size in s, and so for broadcast_to.

    n holds the sizes of s that are not static.
    Source: definition.
    """
    for cls in (Reshape, BroadcastTo):
        yield Dim(k)(cls(s)(x, *n)), m


def sum_of_sizes(a: Any, k: Any) -> Any:
    """Return the sum of the sizes of some arrays along an axis."""
    first, *others = [dim(x, k) for x in a]
    return sum(others, start=first)


sum_of_sizes.of_type = True  # type: ignore[attr-defined]


@identity(
    tags=(*SIZES, "derived"), where=lambda m, a, k: calco(m, sum_of_sizes, a, k), rounding="exact"
)
def dim_joino(a, k, m):
    """dim(concatenate(a, k), k) = m, the sum of the sizes of a along axis k.

    Derived for static sizes, which are constants; kept for sizes that are known at the call.
    Source: definition.
    """
    return Dim(k)(Concatenate(k)(*a)), m


def size_of_slice(s: Any, x: Any, k: Any) -> Any:
    """Return the size of a part along an axis: a slice between positions from the start."""
    entries = keys.by_axis(s, x.ndim)
    if entries is None:
        return None
    at = keys.kept_axes(entries)[k]
    _, start, stop, step = entries[at]
    ends = [end for end in (start, stop) if end is not None]
    if step not in (None, 1) or any(not isinstance(end, int) or end < 0 for end in ends):
        return None
    size = dim(x, at - x.ndim)
    size = size if stop is None else minimum(size, stop)
    return maximum(size - start, 0) if start else size


size_of_slice.of_type = True  # type: ignore[attr-defined]


@identity(
    tags=(*SIZES, "derived"),
    where=lambda m, s, x, k: calco(m, size_of_slice, s, x, k),
    rounding="exact",
)
def dim_indexo(x, s, j, k, m):
    """dim(x[..., b:e], k) = m, which is max(min(dim(x), e) - b, 0) along the axis of the slice.

    Holds for slices between static positions from the start; either of them may be missing.
    Derived for static sizes, which are constants; kept for sizes that are known at the call.
    Source: definition.
    """
    return Dim(k)(Index(s)(x, *j)), m


def declared(s: Any, x: Any) -> Any:
    """Return the sizes of ``s`` for an operand, without those along which it is stretched."""
    sizes = s[len(s) - x.ndim :]
    return tuple(None if own == 1 else size for own, size in zip(x.type.shape, sizes, strict=True))


@identity(
    tags=(*SIZES, "local_lift_specify_shape_elemwise"),
    where=lambda f, t, s, x: (elementwiseo(f), calco(t, declared, s, x)),
    rounding="exact",
    broadcast=["x"],
)
def specify_shape_elementwiseo(f, x, s, t):
    """specify_shape(f(x, ...), s) = f(specify_shape(x, t), ...) for any elementwise f.

    t is the part of s for the axes of x that are not stretched.
    Source: an elementwise function has the shape of its operands.
    """
    return SpecifyShape(s)(f(x, ...)), f(SpecifyShape(t)(x), ...)


RELATIONS = relations_in(globals())
