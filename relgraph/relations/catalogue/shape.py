"""Rearrangements of elements: chains become one step."""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

import math
from typing import Any

from relgraph.ops.arguments import solve
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze
from relgraph.relations.kanren.goals import calco, checko
from relgraph.relations.relation import Relation, identity

TIDY = ("canonicalize", "specialize", "fast_run")
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


def same_shape(s: Any, x: Any) -> bool:
    """Return True if a reshape or broadcast to ``s`` provably leaves the shape of ``x``."""
    shape = x.type.shape
    if s == (-1,) and len(shape) == 1:
        return True
    if None in shape or len(s) != len(shape):
        return False
    return shape == s or (
        -1 in s and isinstance(s, tuple) and Reshape(s).infer(x.type).shape == shape
    )


@identity(
    tags=(*TIDY, "reshape_chain"),
    where=lambda x, s: checko(same_shape, s, x, label="the shape is the same"),
    rounding="exact",
)
def remove_reshapeo(x, s):
    """reshape(x, shape of x) = x, and so for broadcast_to.

    Source: definition.
    """
    for cls in (Reshape, BroadcastTo):
        yield cls(s)(x), x


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


RELATIONS: tuple[Relation, ...] = (
    merge_reshapeo,
    remove_reshapeo,
    absorb_reshapeo,
    cancel_matrix_transposeo,
    merge_transposeo,
    remove_transposeo,
    merge_expand_dimso,
    merge_squeezeo,
    cancel_squeeze_expand_dimso,
    merge_broadcast_too,
)
