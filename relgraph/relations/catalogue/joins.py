"""Concatenations and stacks: nested and adjacent operands become one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import Any

import numpy as np

from relgraph.ops.arguments import canonical_shape
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.expression import static_slice
from relgraph.ops.indexing.index import Index
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape
from relgraph.relations.catalogue import relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, nth

TIDY = ("canonicalize", "specialize", "fast_run", "merge_joins")


def one_axis(k: Any) -> tuple[int]:
    """Return an axis as a tuple."""
    return (k,)


@identity(tags=(*TIDY, "local_join_1"), rounding="exact")
def join_oneo(x, k, a):
    """concatenate([x]) = x, and stack([x], k) = expand_dims(x, k).

    Source: definition.
    """
    yield Concatenate(k)(x), x
    yield Stack(k)(x), ExpandDims(a)(x), calco(a, one_axis, k)


@identity(tags=TIDY, rounding="exact")
def flatten_joino(a, b, c, k):
    """concatenate([*a, concatenate(b), *c]) = concatenate([*a, *b, *c]).

    Source: concatenation is associative.
    """
    return Concatenate(k)(*a, Concatenate(k)(*b), *c), Concatenate(k)(*a, *b, *c)


def empty(k: Any, x: Any) -> bool:
    """Return True if ``x`` has no element along an axis."""
    return bool(x.type.shape[k] == 0)


def is_first(k: Any, a: Any, b: Any) -> bool:
    """Return True if none of ``a`` is empty, and anything else is joined."""
    return bool(a or b) and not any(empty(k, y) for y in a)


def nonempty(k: Any, a: Any, b: Any) -> Any:
    """Return those of ``b`` that have elements, or one if else nothing is joined.

    Those that give the join of ``a`` and ``b`` its dtype stay, too.
    """
    chosen = [not empty(k, y) for y in b]
    if not a and not any(chosen):
        chosen[0] = True
    kept = dict.fromkeys([y.type.dtype for y in (*a, *compress(b, chosen))])
    wanted = result_dtype([y.type.dtype for y in (*a, *b)])
    for i, y in enumerate(b):
        if result_dtype(kept) == wanted:
            break
        if not chosen[i] and result_dtype([*kept, y.type.dtype]) != result_dtype(kept):
            chosen[i] = True
            kept[y.type.dtype] = None
    return tuple(compress(b, chosen))


nonempty.of_type = True  # type: ignore[attr-defined]


def result_dtype(dtypes: Iterable[Any]) -> Any:
    """Return the dtype of a join of operands of some dtypes."""
    return np.result_type(*set(dtypes))


@identity(
    tags=(*TIDY, "local_join_empty"),
    rounding="exact",
    where=lambda k, x, a, b, c: (
        checko(empty, k, x, label="x is empty along the axis"),
        checko(is_first, k, a, b, label="x is the first of these"),
        calco(c, nonempty, k, a, b),
    ),
)
def join_emptyo(a, x, b, c, k):
    """concatenate([*a, x, *b]) = concatenate([*a, *c]) for an empty x, and c those not empty of b.

    If all are empty, c is the first of b.
    Source: definition.
    """
    return Concatenate(k)(*a, x, *b), Concatenate(k)(*a, *c)


def adjoining(k: Any, s: Any, t: Any, x: Any) -> Any:
    """Return the key of two parts of ``x`` that follow each other along an axis."""
    return keys.adjoining(k, s, t, x.type.shape)


@identity(
    tags=(*TIDY, "local_join_subtensors"),
    where=lambda u, k, s, t, x: calco(u, adjoining, k, s, t, x),
    rounding="exact",
)
def join_indexo(x, s, t, u, k, a, b):
    """concatenate([*a, x[:i], x[i:], *b]) = concatenate([*a, x, *b]).

    Holds where the second part follows the first along the axis.
    Source: definition.
    """
    parts = Index(s)(x), Index(t)(x)
    return Concatenate(k)(*a, *parts, *b), Concatenate(k)(*a, Index(u)(x), *b)


@identity(tags=(*TIDY, "local_join_make_vector"), rounding="exact")
def join_stacko(a, b, c, d, x, y, k, n):
    """concatenate([*a, stack(b), stack(c), *d]) = concatenate([*a, stack([*b, *c]), *d]).

    All have one axis k.  The stack of one array x is expand_dims(x, k).
    Source: definition.
    """
    unit = calco(n, one_axis, k)
    pairs = (
        ((Stack(k)(*b), Stack(k)(*c)), Stack(k)(*b, *c), ()),
        ((Stack(k)(*b), ExpandDims(n)(y)), Stack(k)(*b, y), unit),
        ((ExpandDims(n)(x), Stack(k)(*c)), Stack(k)(x, *c), unit),
        ((ExpandDims(n)(x), ExpandDims(n)(y)), Stack(k)(x, y), unit),
    )
    for parts, whole, condition in pairs:
        yield Concatenate(k)(*a, *parts, *d), Concatenate(k)(*a, whole, *d), condition


def longer(k: Any, s: Any, t: Any, x: Any) -> Any:
    """Return the shape of two broadcasts of ``x`` together, along an axis that both repeat."""
    spans = x.ndim >= -k and x.type.shape[k] != 1
    if spans or not (isinstance(s[k], int) and isinstance(t[k], int)):
        return None
    at = len(s) + k
    return (*s[:at], s[k] + t[k], *s[at + 1 :])


@identity(
    tags=(*TIDY, "local_join_of_alloc"),
    rounding="exact",
    where=lambda u, k, s, t, x: calco(u, longer, k, s, t, x),
)
def join_broadcast_too(x, s, t, u, k, a, b):
    """concatenate([*a, broadcast_to(x, s), broadcast_to(x, t), *b]) = concatenate([*a, y, *b]).

    y is broadcast_to(x, u), and u has the sum of the sizes along the axis.
    Source: definition.
    """
    parts = BroadcastTo(s)(x), BroadcastTo(t)(x)
    return Concatenate(k)(*a, *parts, *b), Concatenate(k)(*a, BroadcastTo(u)(x), *b)


def copies(k: Any, x: Any, a: Any) -> Any:
    """Return a new axis, the shape of ``x`` repeated along it, and that of all copies joined."""
    shape = x.type.shape
    if any(y is not x for y in a) or not all(isinstance(size, int) for size in shape):
        return None
    at, count = k + x.ndim, 2 + len(a)
    spread = *shape[:at], count, *shape[at:]
    joined = *shape[:at], count * shape[at], *shape[at + 1 :]
    return (at - len(spread),), spread, canonical_shape(spread, joined)


@identity(
    tags=(*TIDY, "local_join_to_repeat"),
    rounding="exact",
    where=lambda k, x, a, n, s, t: tuple(
        calco(v, nth(copies, i), k, x, a) for i, v in enumerate((n, s, t))
    ),
)
def join_repeatedo(x, a, k, n, s, t):
    """concatenate([x, x, *a]) = reshape(broadcast_to(expand_dims(x, n), s), t).

    Holds for static shapes, where each of a is x.
    Source: definition.
    """
    return Concatenate(k)(x, x, *a), Reshape(t)(BroadcastTo(s)(ExpandDims(n)(x)))


# Parts of joins.


def picked(s: Any, k: Any, a: Any) -> Any:
    """Return the operand of a stack that a key picks, and the key on it."""
    entries = keys.by_axis(s, a[0].ndim + 1)
    if entries is None or entries[k][0] != "int":
        return None
    at = k + len(entries)
    return a[entries[k][1]], keys.trimmed([*entries[:at], *entries[at + 1 :]])


def within(s: Any, k: Any, a: Any) -> Any:
    """Return the operand of a concatenation that a static key is on, and the key on it."""
    entries = keys.by_axis(s, a[0].ndim)
    if entries is None:
        return None
    sizes = [x.type.shape[k] for x in a]
    static = all(isinstance(size, int) for size in sizes)
    places = keys.places(entries[k], sum(sizes) if static else None)
    if not places or places.step < 1:
        return None
    start = 0
    for x, size in zip(a, sizes, strict=True):
        if not isinstance(size, int):
            return None
        first, last = places[0] - start, places[-1] - start
        if first >= 0 and last < size:
            if entries[k][0] == "int":
                entries[k] = ("int", first)
            else:
                entries[k] = static_slice((first, last + 1, places.step), size)
            return x, keys.trimmed(entries)
        start += size
    return None


@identity(
    tags=(*TIDY[:-1], "local_subtensor_make_vector", "local_subtensor_of_join"), rounding="exact"
)
def index_joino(a, x, s, t, k, j):
    """stack(a, k)[s] = x[t], where s picks the element x of a, and so for concatenate.

    Of a concatenation, all that s selects is in x.  j holds what s takes as operands.
    Source: definition.
    """
    for cls, function in ((Stack, picked), (Concatenate, within)):
        place = calco(x, nth(function, 0), s, k, a), calco(t, nth(function, 1), s, k, a)
        yield Index(s)(cls(k)(*a), *j), Index(t)(x, *j), place


RELATIONS = relations_in(globals())
