"""Indexing.

A key is a parameter, so one relation serves every key; the key of the other side is computed.
"""

from __future__ import annotations

from typing import Any

from relgraph.ops import reductions
from relgraph.ops.checks import SpecifyShape
from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.expression import indexed_shape
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import SetIndex
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reductions import LogSoftmax, Softmax
from relgraph.ops.shape import BroadcastTo, ExpandDims, Squeeze
from relgraph.relations.catalogue import TIDY, relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, nth, unary_goal

SWAP = MatrixTranspose()


def _known_shape(v: Any) -> bool:
    return None not in v.type.shape


known_shapeo = unary_goal(
    "known shape", _known_shape, "Relate values no size of which is open, so that none stretches."
)


def _as_large(v: Any, x: Any) -> bool:
    """Return True if ``v`` has the shape of ``x``, or one that can be stretched to known sizes."""
    return v.type.shape == x.type.shape or all(isinstance(d, int) for d in x.type.shape)


# Indexing.


def everything(s: Any, x: Any) -> bool:
    """Return True if a key selects all of ``x``."""
    return keys.selects_all(s, x.type.shape)


@identity(
    tags=(*TIDY, "local_useless_subtensor"),
    where=lambda x, s: checko(everything, s, x, label="the key selects everything"),
    rounding="exact",
)
def remove_indexo(x, v, s):
    """x[:] = x, and at(x)[:].set(v) = v.

    Source: definition.
    """
    yield Index(s)(x), x
    yield (
        SetIndex(s)(x, v),
        v,
        (known_shapeo(v), checko(_as_large, v, x, label="v is as large as x")),
    )


def one_key(s: Any, t: Any, x: Any) -> Any:
    """Return the key that does what two static keys do in turn."""
    key = keys.composed(s, t, x.type.shape)
    return None if key is None else key.spec


def in_order(s: Any, t: Any, x: Any) -> Any:
    """Return the key that does what two do in turn, where the operands keep their order."""
    key = keys.composed(s, t, x.type.shape)
    return None if key is None or list(key.order) != sorted(key.order) else key.spec


def out_of_order(s: Any, t: Any, x: Any) -> Any:
    """Return the key that does what two do in turn, where the second's operand comes first."""
    key = keys.composed(s, t, x.type.shape)
    return None if key is None or key.order != ((1, 0), (0, 0)) else key.spec


@identity(tags=(*TIDY, "local_subtensor_merge", "local_subtensor_merge_slice"), rounding="exact")
def merge_indexo(x, s, t, u, i, j):
    """x[s][t] = x[u].

    Holds for slices, integers and new axes, where u can be written without knowing more sizes than
    are known.
    Source: composition of maps of places.
    """
    cases = (((), (), one_key), ((i,), (), one_key), ((), (i,), one_key),
             ((i,), (j,), in_order))  # fmt: skip
    for first, second, merged in cases:
        indexed = Index(t)(Index(s)(x, *first), *second)
        yield indexed, Index(u)(x, *first, *second), calco(u, merged, s, t, x)
    yield Index(t)(Index(s)(x, i), j), Index(u)(x, j, i), calco(u, out_of_order, s, t, x)


def ones(s: Any, x: Any) -> Any:
    """Return the axes of size 1 of which a key takes the only element, if it does nothing else."""
    entries = keys.by_axis(s, x.ndim)
    if entries is None or not s:
        return None
    axes = []
    for axis, (entry, dim) in enumerate(zip(entries, x.type.shape, strict=True)):
        if entry == ("int", 0) and dim == 1:
            axes.append(axis - x.ndim)
        elif not keys.whole_axis(entry, dim):
            return None
    return tuple(axes) or None


@identity(
    tags=(*TIDY, "local_subtensor_remove_broadcastable_index"),
    where=lambda a, s, x: calco(a, ones, s, x),
    rounding="exact",
)
def squeeze_indexo(x, s, a):
    """x[..., 0] = squeeze(x).

    Holds where the key takes the only element of axes of size 1.
    Source: definition.
    """
    return Index(s)(x), Squeeze(a)(x)


def picked(a: Any, s: Any, x: Any) -> Any:
    """Return a key with slices of one element made integers on the axes that are squeezed."""
    entries = keys.by_axis(s, x.ndim)
    if entries is None:
        return None
    left = keys.kept_axes(entries)
    picks = list(entries)
    for axis in a:
        at = left[axis]
        places = keys.places(entries[at], x.type.shape[at])
        if places is None or len(places) != 1:
            return None
        picks[at] = ("int", places[0])
    return keys.trimmed(picks)


@identity(
    tags=(*TIDY, "local_dimshuffle_subtensor"),
    where=lambda t, a, s, x: calco(t, picked, a, s, x),
    rounding="exact",
)
def pick_squeezeo(x, s, t, a):
    """squeeze(x[i:i + 1]) = x[i].

    Holds where the slices of the squeezed axes have one element.
    Source: definition.
    """
    return Squeeze(a)(Index(s)(x)), Index(t)(x)


# A key past an op.


def past_transpose(s: Any, a: Any, x: Any) -> Any:
    """Return the key on ``x``, and the permutation, for a key on a transpose of ``x``."""
    return keys.past_permutation(s, a)


def still_swapped(s: Any, x: Any) -> Any:
    """Return the key on ``x`` for a key on ``x.mT`` that keeps both axes."""
    key = keys.past_permutation(s, (*range(-x.ndim, -2), -1, -2))
    return None if key is None or key[1][-2:] != (-1, -2) else key[0]


def no_more_swapped(s: Any, x: Any) -> Any:
    """Return the key on ``x`` for a key on ``x.mT`` that picks a row or a column."""
    key = keys.past_permutation(s, (*range(-x.ndim, -2), -1, -2))
    return None if key is None or key[1][-2:] == (-1, -2) else key[0]


def past_expand_dims(s: Any, a: Any, x: Any) -> Any:
    """Return the key on ``x``, and the new axes, for a key on ``x`` with new axes."""
    return keys.past_new_axes(s, a, x.ndim)


def past_squeeze(s: Any, a: Any, x: Any) -> Any:
    """Return the key on ``x``, and the axes to squeeze, for a key on ``x`` without these axes."""
    return keys.past_squeeze(s, a, x.ndim)


def unstretched(s: Any, a: Any, x: Any) -> Any:
    """Return the key on ``x``, and the shape of the part, for a key on ``x`` stretched."""
    if None in a or not all([isinstance(size, int) for size in a]):
        return None
    inner = keys.past_stretch(s, x.type.shape, a)
    if inner is None or any([keys.operands_of(entry) for entry in s]):
        return None
    return inner, indexed_shape(s, a, ())


@identity(
    tags=(
        *TIDY, "local_subtensor_of_transpose", "local_subtensor_of_expand_dims",
        "local_subtensor_of_squeeze", "local_subtensor_of_alloc",
    ),
    rounding="exact",
)  # fmt: skip
def index_rearrangemento(x, s, t, a, b):
    """g(x, a)[s] = g(x[t], b) for a transpose, expand_dims, squeeze or broadcast_to g.

    And so for x.mT, which is x[t] where the key picks a row or a column.  Shapes are static.
    Source: composition of maps of places.
    """
    for cls, past in (
        (Transpose, past_transpose),
        (ExpandDims, past_expand_dims),
        (Squeeze, past_squeeze),
        (BroadcastTo, unstretched),
    ):
        both = calco(t, nth(past, 0), s, a, x), calco(b, nth(past, 1), s, a, x)
        yield Index(s)(cls(a)(x)), cls(b)(Index(t)(x)), both
    yield Index(s)(SWAP(x)), SWAP(Index(t)(x)), calco(t, still_swapped, s, x)
    yield Index(s)(SWAP(x)), Index(t)(x), calco(t, no_more_swapped, s, x)


def unreduced(s: Any, a: Any, k: Any, x: Any, every: bool = False) -> Any:
    """Return the key on ``x`` and the axes to reduce, some of those that are left."""
    key_and_axes = keys.past_reduction(s, a, k, x.ndim)
    entries = keys.by_axis(s, x.ndim if k else x.ndim - len(a or range(x.ndim)))
    if key_and_axes is None or entries is None or not s:
        return None
    reduced = set(a or range(-x.ndim, 0))
    sizes = [d for i, d in enumerate(x.type.shape, -x.ndim) if k or i not in reduced]
    if not keys.small(entries, tuple(sizes)):
        return None
    inner = keys.by_axis(key_and_axes[0], x.ndim) or []
    return key_and_axes if (len(key_and_axes[1]) == len(keys.kept_axes(inner))) == every else None


def unreduced_all(s: Any, a: Any, k: Any, x: Any) -> Any:
    """Return the key on ``x`` where all axes that are left are reduced."""
    key_and_axes = unreduced(s, a, k, x, True)
    return None if key_and_axes is None else key_and_axes[0]


REDUCTIONS = (
    reductions.Sum, reductions.Prod, reductions.Max, reductions.Min, reductions.Mean,
    reductions.Any, reductions.All, reductions.LogSumExp,
)  # fmt: skip


@identity(tags=(*TIDY, "local_subtensor_of_reduce"))
def index_reduceo(x, s, t, a, b, k):
    """sum(x, axis)[s] = sum(x[t], axis), and so for prod, max, min, mean, any, all and logsumexp.

    The key is on axes that are not reduced, and leaves at most half.  A sum may be taken in another
    order.
    Source: each element of a reduction is a reduction of its own part.
    """
    for cls in REDUCTIONS:
        part = Index(s)(cls(a, k)(x))
        some = calco(t, nth(unreduced, 0), s, a, k, x), calco(b, nth(unreduced, 1), s, a, k, x)
        yield part, cls(b, k)(Index(t)(x)), some
        yield part, cls(None, k)(Index(t)(x)), calco(t, unreduced_all, s, a, k, x)


def beside(s: Any, a: Any, x: Any) -> Any:
    """Return the axis of a softmax past a key that takes all of it and half of the rest."""
    entries = keys.by_axis(s, x.ndim)
    if entries is None or not s or not keys.small(entries, x.type.shape):
        return None
    return keys.past_axis(s, a, x.ndim)


@identity(
    tags=(*TIDY, "local_subtensor_of_softmax"), where=lambda x, s, a, b: calco(b, beside, s, a, x)
)
def index_softmaxo(x, s, a, b):
    """softmax(x)[s] = softmax(x[s]), and so for log_softmax.

    The key is on other axes, and leaves at most half.
    Source: each row of a softmax depends on its own row.
    """
    for cls in (Softmax, LogSoftmax):
        yield Index(s)(cls(a)(x)), cls(b)(Index(s)(x))


def placed_key(s: Any, t: Any, x: Any) -> Any:
    """Return the key that does what one with places and then a basic one do."""
    return keys.before_places(s, t, x.type.shape) if t else None


@identity(
    tags=(*TIDY, "local_subtensor_of_adv_subtensor"),
    where=lambda u, s, t, x: calco(u, placed_key, s, t, x),
    rounding="exact",
)
def index_placeso(x, p, s, t, u):
    """x[:, p][i] = x[i, p].

    Holds where the second key touches only axes before the places.
    Source: composition of maps of places.
    """
    return Index(t)(Index(s)(x, p)), Index(u)(x, p)


def key_and_sizes(s: Any, a: Any, x: Any) -> Any:
    """Return the sizes of what a key selects of ``x`` with specified sizes ``a``."""
    if len(a) != x.ndim or keys.by_axis(s, len(a)) is None or any(map(keys.operands_of, s)):
        return None
    return indexed_shape(s, a, ())


@identity(
    tags=(*TIDY, "local_subtensor_SpecifyShape_lift"),
    where=lambda b, s, a, x: calco(b, key_and_sizes, s, a, x),
    rounding="exact",
)
def index_specify_shapeo(x, s, a, b):
    """specify_shape(x, a)[s] = specify_shape(x[s], b).

    b is the sizes of the part.
    Source: definition.
    """
    return Index(s)(SpecifyShape(a)(x)), SpecifyShape(b)(Index(s)(x))


def opposite(k: Any) -> int:
    """Return the number of the diagonal of a transpose."""
    return -int(k)


@identity(
    tags=(*TIDY, "extract_diag_of_transpose"),
    where=lambda k, m: calco(m, opposite, k),
    rounding="exact",
)
def diagonal_transposeo(x, k, m):
    """diagonal(x.mT, k) = diagonal(x, -k).

    Source: definition.
    """
    return Diagonal(k)(SWAP(x)), Diagonal(m)(x)


RELATIONS = relations_in(globals())
