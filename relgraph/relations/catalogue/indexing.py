"""Indexing and functional updates.

A key is a parameter, so one relation serves every key; the key of the other side is computed.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from typing import Any

from relgraph.ir.node import Constant
from relgraph.ir.types import TensorType
from relgraph.ops import key_algebra as keys
from relgraph.ops import reducers
from relgraph.ops.elementwise import add, maximum, minimum, multiply
from relgraph.ops.indexing import Index
from relgraph.ops.joining import Concatenate
from relgraph.ops.keys import indexed_shape, static_slice
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reducers import LogSoftmax, Softmax
from relgraph.ops.shape import BroadcastTo, ExpandDims, Squeeze
from relgraph.ops.updates import AddIndex, MaximumIndex, MinimumIndex, MultiplyIndex, SetIndex
from relgraph.relations.catalogue.conditions import numerico
from relgraph.relations.goals import calco, checko, eq, lall, lany
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

TIDY = ("canonicalize", "specialize", "fast_run")
SWAP = MatrixTranspose()


def distincto(s: Any) -> Any:
    """Relate keys that select each element at most once."""
    return checko(keys.is_basic, s, label="no element twice")


def same_dtypeo(x: Any, v: Any) -> Any:
    """Relate arrays and values of one dtype."""
    return checko(_same_dtype, x, v, label="one dtype")


def known_shapeo(v: Any) -> Any:
    """Relate values no size of which is open, so that none is stretched at the call."""
    return checko(_known_shape, v, label=f"known shape({v!r})")


def fills_parto(s: Any, x: Any, v: Any) -> Any:
    """Relate values to the parts of ``x`` of which they surely have the shape."""
    return checko(_fills_part, s, x, v, label="the value has the shape of the part")


def _fills_part(s: Any, x: Any, v: Any) -> bool:
    scalars = (TensorType("int64"),) * sum(map(keys.operands_of, s))
    part = indexed_shape(s, x.type.shape, scalars)
    return None not in part and part == v.type.shape


def zeroo(z: Any) -> Any:
    """Relate arrays of zeros: constant ones, and those repeated to a size known at the call."""
    return checko(_is_zero, z, label=f"zero({z!r})")


def _is_zero(z: Any) -> bool:
    while isinstance(z.op, BroadcastTo):
        z = z.inputs[0]
    return isinstance(z, Constant) and z.uniform is not None and not z.uniform


def _known_shape(v: Any) -> bool:
    return None not in v.type.shape


def _same_dtype(x: Any, v: Any) -> bool:
    return bool(x.dtype == v.dtype)


# Indexing.


def everything(s: Any, x: Any) -> bool:
    """Tell whether a key selects all of ``x``."""
    return keys.selects_all(s, x.type.shape)


@relation(tags=(*TIDY, "local_useless_subtensor"), rounding="exact")
def remove_indexo(left, right):
    """x[:] = x, and at(x)[:].set(v) = v.

    Holds where the key selects all of x, and v has the shape of x; exact, kept.
    Source: definition.
    """
    x, v, s = lvars("x v s")
    whole = checko(everything, s, x, label="the key selects everything")
    return lany(
        lall(eq(left, Index(s)(x)), eq(right, x), whole),
        lall(eq(left, SetIndex(s)(x, v)), eq(right, v), whole, known_shapeo(v)),
    )


def one_key(s: Any, t: Any, x: Any) -> Any:
    """Return the key that does what two static keys do in turn."""
    found = keys.composed(s, t, x.type.shape)
    return None if found is None else found.spec


def in_order(s: Any, t: Any, x: Any) -> Any:
    """Return the key that does what two do in turn, where the operands keep their order."""
    found = keys.composed(s, t, x.type.shape)
    return None if found is None or list(found.order) != sorted(found.order) else found.spec


def out_of_order(s: Any, t: Any, x: Any) -> Any:
    """Return the key that does what two do in turn, where the second's operand comes first."""
    found = keys.composed(s, t, x.type.shape)
    return None if found is None or found.order != ((1, 0), (0, 0)) else found.spec


@relation(tags=(*TIDY, "local_subtensor_merge", "local_subtensor_merge_slice"), rounding="exact")
def merge_indexo(left, right):
    """x[s][t] = x[u].

    Holds for slices, integers and new axes, where u can be written without knowing more sizes than
    are known; exact, kept.
    Source: composition of maps of places.
    """
    x, s, t, u, i, j = lvars("x s t u i j")
    cases = (((), (), one_key), ((i,), (), one_key), ((), (i,), one_key),
             ((i,), (j,), in_order))  # fmt: skip
    pairs = [
        lall(
            eq(left, Index(t)(Index(s)(x, *first), *second)),
            eq(right, Index(u)(x, *first, *second)),
            calco(u, function, s, t, x),
        )
        for first, second, function in cases
    ]
    swapped = lall(
        eq(left, Index(t)(Index(s)(x, i), j)),
        eq(right, Index(u)(x, j, i)),
        calco(u, out_of_order, s, t, x),
    )
    return lany(*pairs, swapped)


def ones(s: Any, x: Any) -> Any:
    """Return the axes of size 1 of which a key takes the only element, if it does nothing else."""
    entries = keys.by_axis(s, x.ndim)
    if entries is None or not s:
        return None
    found = []
    for axis, (entry, dim) in enumerate(zip(entries, x.type.shape, strict=True)):
        if entry == ("int", 0) and dim == 1:
            found.append(axis - x.ndim)
        elif not keys.whole_axis(entry, dim):
            return None
    return tuple(found) or None


@identity(
    tags=(*TIDY, "local_subtensor_remove_broadcastable_index"),
    where=lambda a, s, x: calco(a, ones, s, x),
    rounding="exact",
)
def squeeze_indexo(x, s, a):
    """x[..., 0] = squeeze(x).

    Holds where the key takes the only element of axes of size 1; exact, kept.
    Source: definition.
    """
    return Index(s)(x), Squeeze(a)(x)


def picked(a: Any, s: Any, x: Any) -> Any:
    """Return a key with slices of one element made integers on the axes that are squeezed."""
    entries = keys.by_axis(s, x.ndim)
    if entries is None:
        return None
    left = keys.kept_axes(entries)
    found = list(entries)
    for axis in a:
        at = left[axis]
        places = keys.places(entries[at], x.type.shape[at])
        if places is None or len(places) != 1:
            return None
        found[at] = ("int", places[0])
    return keys.trimmed(found)


@identity(
    tags=(*TIDY, "local_dimshuffle_subtensor"),
    where=lambda t, a, s, x: calco(t, picked, a, s, x),
    rounding="exact",
)
def pick_squeezeo(x, s, t, a):
    """squeeze(x[i:i + 1]) = x[i].

    Holds where the slices of the squeezed axes have one element; exact, kept.
    Source: definition.
    """
    return Squeeze(a)(Index(s)(x)), Index(t)(x)


# A key past an op.


def nth(function: Any, n: int) -> Any:
    """Return a function that computes one part of what another does."""

    def part(*values: Any) -> Any:
        found = function(*values)
        return None if found is None else found[n]

    part.__name__ = f"{function.__name__}[{n}]"
    return part


def _past(cls: Any, function: Any, left: Any, right: Any) -> Any:
    """Relate an index of an op to the op of an index, for static keys."""
    x, s, t, a, b = lvars("x s t a b")
    return lall(
        eq(left, Index(s)(cls(a)(x))),
        eq(right, cls(b)(Index(t)(x))),
        calco(t, nth(function, 0), s, a, x),
        calco(b, nth(function, 1), s, a, x),
    )


def past_transpose(s: Any, a: Any, x: Any) -> Any:
    """Return the key on ``x``, and the permutation, for a key on a transpose of ``x``."""
    return keys.past_permutation(s, a)


def still_swapped(s: Any, x: Any) -> Any:
    """Return the key on ``x`` for a key on ``x.mT`` that keeps both axes."""
    found = keys.past_permutation(s, (*range(-x.ndim, -2), -1, -2))
    return None if found is None or found[1][-2:] != (-1, -2) else found[0]


def no_more_swapped(s: Any, x: Any) -> Any:
    """Return the key on ``x`` for a key on ``x.mT`` that picks a row or a column."""
    found = keys.past_permutation(s, (*range(-x.ndim, -2), -1, -2))
    return None if found is None or found[1][-2:] == (-1, -2) else found[0]


def past_expand_dims(s: Any, a: Any, x: Any) -> Any:
    """Return the key on ``x``, and the new axes, for a key on ``x`` with new axes."""
    return keys.past_new_axes(s, a, x.ndim)


def past_squeeze(s: Any, a: Any, x: Any) -> Any:
    """Return the key on ``x``, and the axes to squeeze, for a key on ``x`` without these axes."""
    return keys.past_squeeze(s, a, x.ndim)


@relation(tags=(*TIDY, "local_subtensor_of_transpose"), rounding="exact")
def index_transposeo(left, right):
    """transpose(x, a)[s] = transpose(x[t], b).

    Holds always, the key being permuted like the axes; exact, kept.
    Source: definition.
    """
    return _past(Transpose, past_transpose, left, right)


@relation(tags=(*TIDY, "local_subtensor_of_transpose"), rounding="exact")
def index_matrix_transposeo(left, right):
    """x.mT[s] = x[t].mT, or x[t] where the key picks a row or a column.

    Holds always, the key being permuted like the axes; exact, kept.
    Source: definition.
    """
    x, s, t = lvars("x s t")
    pair = Index(s)(SWAP(x))
    return lany(
        lall(eq(left, pair), eq(right, SWAP(Index(t)(x))), calco(t, still_swapped, s, x)),
        lall(eq(left, pair), eq(right, Index(t)(x)), calco(t, no_more_swapped, s, x)),
    )


@relation(tags=(*TIDY, "local_subtensor_of_expand_dims"), rounding="exact")
def index_expand_dimso(left, right):
    """expand_dims(x, a)[s] = expand_dims(x[t], b).

    Holds where the key takes all of each new axis, or its element; exact, kept.
    Source: definition.
    """
    return _past(ExpandDims, past_expand_dims, left, right)


@relation(tags=(*TIDY, "local_subtensor_of_squeeze"), rounding="exact")
def index_squeezeo(left, right):
    """squeeze(x, a)[s] = squeeze(x[t], b).

    Holds always; exact, kept.
    Source: definition.
    """
    return _past(Squeeze, past_squeeze, left, right)


def unstretched(s: Any, a: Any, x: Any) -> Any:
    """Return the key on ``x``, and the shape of the part, for a key on ``x`` stretched."""
    if None in a or not all([isinstance(size, int) for size in a]):
        return None
    inner = keys.past_stretch(s, x.type.shape, a)
    if inner is None or any([keys.operands_of(entry) for entry in s]):
        return None
    return inner, indexed_shape(s, a, ())


@identity(
    tags=(*TIDY, "local_subtensor_of_alloc"),
    where=lambda s, a, x, t, b: (
        calco(t, nth(unstretched, 0), s, a, x),
        calco(b, nth(unstretched, 1), s, a, x),
    ),
    rounding="exact",
)
def index_broadcast_too(x, s, a, t, b):
    """broadcast_to(x, a)[s] = broadcast_to(x[t], b).

    Holds for static shapes; exact, kept.
    Source: definition.
    """
    return Index(s)(BroadcastTo(a)(x)), BroadcastTo(b)(Index(t)(x))


def unreduced(s: Any, a: Any, k: Any, x: Any, every: bool = False) -> Any:
    """Return the key on ``x`` and the axes to reduce, some of those that are left."""
    found = keys.past_reduction(s, a, k, x.ndim)
    entries = keys.by_axis(s, x.ndim if k else x.ndim - len(a or range(x.ndim)))
    if found is None or entries is None or not s:
        return None
    reduced = set(a or range(-x.ndim, 0))
    sizes = [d for i, d in enumerate(x.type.shape, -x.ndim) if k or i not in reduced]
    if not keys.small(entries, tuple(sizes)):
        return None
    inner = keys.by_axis(found[0], x.ndim) or []
    return found if (len(found[1]) == len(keys.kept_axes(inner))) == every else None


def unreduced_all(s: Any, a: Any, k: Any, x: Any) -> Any:
    """Return the key on ``x`` where all axes that are left are reduced."""
    found = unreduced(s, a, k, x, True)
    return None if found is None else found[0]


REDUCTIONS = (
    reducers.Sum, reducers.Prod, reducers.Max, reducers.Min, reducers.Mean, reducers.Any,
    reducers.All, reducers.LogSumExp,
)  # fmt: skip


@relation(tags=(*TIDY, "local_subtensor_of_reduce"))
def index_reduceo(left, right):
    """sum(x, axis)[s] = sum(x[t], axis), and so for prod, max, min, mean, any, all and logsumexp.

    Holds for keys on axes that are not reduced, where they leave at most half; rounded (a sum may
    be taken in another order), kept.
    Source: each element of a reduction is a reduction of its own part.
    """
    x, s, t, a, b, k = lvars("x s t a b k")
    found = []
    for cls in REDUCTIONS:
        found.append(
            lall(
                eq(left, Index(s)(cls(a, k)(x))),
                eq(right, cls(b, k)(Index(t)(x))),
                calco(t, nth(unreduced, 0), s, a, k, x),
                calco(b, nth(unreduced, 1), s, a, k, x),
            )
        )
        found.append(
            lall(
                eq(left, Index(s)(cls(a, k)(x))),
                eq(right, cls(None, k)(Index(t)(x))),
                calco(t, unreduced_all, s, a, k, x),
            )
        )
    return lany(*found)


def beside(s: Any, a: Any, x: Any) -> Any:
    """Return the axis of a softmax past a key that takes all of it and half of the rest."""
    entries = keys.by_axis(s, x.ndim)
    if entries is None or not s or not keys.small(entries, x.type.shape):
        return None
    return keys.past_axis(s, a, x.ndim)


@relation(tags=(*TIDY, "local_subtensor_of_softmax"))
def index_softmaxo(left, right):
    """softmax(x)[s] = softmax(x[s]), and so for log_softmax.

    Holds for keys on other axes, where they leave at most half; rounded, kept.
    Source: each row of a softmax depends on its own row.
    """
    x, s, a, b = lvars("x s a b")
    return lany(
        *[
            lall(
                eq(left, Index(s)(cls(a)(x))),
                eq(right, cls(b)(Index(s)(x))),
                calco(b, beside, s, a, x),
            )
            for cls in (Softmax, LogSoftmax)
        ]
    )


def adjoining(c: Any, s: Any, t: Any, x: Any) -> Any:
    """Return the key of two parts of ``x`` that follow each other along an axis."""
    first, second = keys.by_axis(s, x.ndim), keys.by_axis(t, x.ndim)
    if first is None or second is None:
        return None
    left = keys.kept_axes(first)
    if left != keys.kept_axes(second) or len(left) < -c:
        return None
    at = left[c]
    rest = [i for i in range(x.ndim) if i != at]
    if any([first[i] != second[i] or "dynamic" in first[i] for i in rest]):
        return None
    dim = x.type.shape[at]
    one, other = (keys.places(entries[at], dim) for entries in (first, second))
    if one is None or other is None or one.step != 1 or other.step != 1:
        return None
    if not (len(one) and len(other) and one.stop == other.start):
        return None
    if dim is None or isinstance(dim, str):
        # x[:3] is shorter where x is; then x[3:] is empty, and x[:] is x[:3].
        joined = ("slice", one.start or None, second[at][2], None)
    else:
        joined = static_slice((one.start, other.stop, 1), dim)
    return keys.trimmed([joined if i == at else e for i, e in enumerate(first)])


@identity(
    tags=(*TIDY, "local_join_subtensors"),
    where=lambda u, c, s, t, x: calco(u, adjoining, c, s, t, x),
    rounding="exact",
)
def join_indexo(x, s, t, u, c):
    """concatenate([x[:k], x[k:]]) = x.

    Holds where the second part follows the first along the axis; exact, kept.
    Source: definition.
    """
    return Concatenate(c)(Index(s)(x), Index(t)(x)), Index(u)(x)


# Updates.


def apart(s: Any, t: Any, x: Any) -> bool:
    """Tell whether two keys select no element of ``x`` in common."""
    return keys.disjoint(s, t, x.type.shape)


@relation(tags=(*TIDY, "local_read_of_write_same_indices"))
def read_updateo(left, right):
    """at(x)[s].set(v)[s] = v, and at(x)[s].add(v)[s] = x[s] + v for distinct elements.

    Holds where v has the shape of the part; rounded (a sum may be rounded in another dtype),
    kept.
    Source: definition.
    """
    x, v, s, i = lvars("x v s i")
    fits = fills_parto(s, x, v)
    return lany(
        lall(eq(left, Index(s)(SetIndex(s)(x, v))), eq(right, v), distincto(s), fits),
        lall(eq(left, Index(s)(SetIndex(s)(x, v, i), i)), eq(right, v), distincto(s), fits),
        lall(
            eq(left, Index(s)(AddIndex(s)(x, v))),
            eq(right, Index(s)(x) + v),
            distincto(s),
            same_dtypeo(x, v),
            fits,
        ),
        lall(
            eq(left, Index(s)(AddIndex(s)(x, v, i), i)),
            eq(right, Index(s)(x, i) + v),
            distincto(s),
            same_dtypeo(x, v),
            fits,
        ),
    )


@relation(tags=(*TIDY, "local_slice_read_of_write"), rounding="exact")
def read_besideo(left, right):
    """at(x)[s].set(v)[t] = x[t], and so for add, multiply, min and max.

    Holds where the keys select no element in common; exact, kept.
    Source: definition.
    """
    x, v, s, t = lvars("x v s t")
    condition = checko(apart, s, t, x, label="nothing in common")
    return lany(
        *[
            lall(eq(left, Index(t)(cls(s)(x, v))), eq(right, Index(t)(x)), condition)
            for cls in (SetIndex, AddIndex, MultiplyIndex, MinimumIndex, MaximumIndex)
        ]
    )


@relation(tags=(*TIDY, "local_setsubtensor_of_constants"), rounding="exact")
def write_what_is_reado(left, right):
    """at(x)[s].set(x[s]) = x.

    Holds always; exact, kept.
    Source: definition.
    """
    x, s, i = lvars("x s i")
    return lany(
        lall(eq(left, SetIndex(s)(x, Index(s)(x))), eq(right, x)),
        lall(eq(left, SetIndex(s)(x, Index(s)(x, i), i)), eq(right, x)),
    )


@relation(tags=(*TIDY, "local_write_of_write_same_indices"), rounding="exact")
def merge_seto(left, right):
    """at(at(x)[s].set(v))[s].set(w) = at(x)[s].set(w), and so where the first adds or multiplies.

    Holds always; exact, kept.
    Source: definition.
    """
    x, v, w, s, i = lvars("x v w s i")
    firsts = (SetIndex, AddIndex, MultiplyIndex, MinimumIndex, MaximumIndex)
    return lany(
        *[
            lall(eq(left, SetIndex(s)(cls(s)(x, v), w)), eq(right, SetIndex(s)(x, w)))
            for cls in firsts
        ],
        lall(eq(left, SetIndex(s)(SetIndex(s)(x, v, i), w, i)), eq(right, SetIndex(s)(x, w, i))),
    )


def _one_shape(v: Any, w: Any) -> bool:
    return bool(v.type.shape == w.type.shape and None not in v.type.shape)


@relation(tags=(*TIDY, "local_write_of_write_same_indices"), specials="assumes_finite")
def merge_addo(left, right):
    """at(at(x)[s].add(v))[s].add(w) = at(x)[s].add(v + w), and for set(v) and then add(w) too.

    Holds where v and w have one dtype, that of x, and one shape, modulo 2^n for integers, and for
    a set where no element is selected twice; rounded (within 2 u (|x| + |v| + |w|)),
    assumes_finite.
    Source: associative law.
    """
    x, v, w, s, i = lvars("x v w s i")
    same = (same_dtypeo(x, v), same_dtypeo(x, w), checko(_one_shape, v, w, label="one shape"))
    found = []
    for extra in ((), (i,)):
        found += [
            lall(
                eq(left, AddIndex(s)(AddIndex(s)(x, v, *extra), w, *extra)),
                eq(right, AddIndex(s)(x, v + w, *extra)),
                *same,
            ),
            lall(
                eq(left, AddIndex(s)(SetIndex(s)(x, v, *extra), w, *extra)),
                eq(right, SetIndex(s)(x, v + w, *extra)),
                distincto(s),
                *same,
            ),
        ]
    return lany(*found)


@relation(tags=(*TIDY, "local_set_to_inc_subtensor"), rounding="exact", broadcast="v")
def add_readso(left, right):
    """at(x)[s].set(x[s] + v) = at(x)[s].add(v), and so for a product, a minimum and a maximum.

    Holds for distinct elements, where v has the dtype of x; exact, kept.
    Source: definition.
    """
    x, v, s, i = lvars("x v s i")
    ops: tuple[Any, ...] = (
        (add, AddIndex),
        (multiply, MultiplyIndex),
        (minimum, MinimumIndex),
        (maximum, MaximumIndex),
    )
    return lany(
        *[
            lall(
                eq(left, SetIndex(s)(x, op(Index(s)(x, *extra), v), *extra)),
                eq(right, cls(s)(x, v, *extra)),
                distincto(s),
                same_dtypeo(x, v),
                known_shapeo(v),
            )
            for op, cls in ops
            for extra in ((), (i,))
        ]
    )


@relation(tags=(*TIDY, "local_add_of_sparse_write", "local_IncSubtensor_serialize"))
def add_sparseo(left, right):
    """x + at(0)[s].set(v) = at(x)[s].add(v), and x + at(0)[s].add(v) = at(x)[s].add(v).

    Holds where x and the zeros have one dtype, for a set of distinct elements; rounded (x + 0
    loses the sign of -0.0, and values of repeated elements are added in another order), kept.
    Source: x + 0 = x.
    """
    x, v, z, s, i = lvars("x v z s i")
    found = []
    for extra in ((), (i,)):
        found += [
            lall(
                eq(left, x + SetIndex(s)(z, v, *extra)),
                eq(right, AddIndex(s)(x, v, *extra)),
                distincto(s),
                same_dtypeo(x, z),
                zeroo(z),
            ),
            lall(
                eq(left, x + AddIndex(s)(z, v, *extra)),
                eq(right, AddIndex(s)(x, v, *extra)),
                same_dtypeo(x, z),
                zeroo(z),
            ),
        ]
    return lany(*found)


@relation(tags=(*TIDY, "local_incsubtensor_of_zeros"))
def remove_addo(left, right):
    """at(x)[s].add(0) = x, and at(x)[s].multiply(1) = x.

    Holds always; rounded (-0.0 + 0.0 is 0.0), kept.
    Source: 0 and 1 are neutral.
    """
    x, s, i = lvars("x s i")
    pairs = ((AddIndex, 0), (MultiplyIndex, 1))
    return lany(
        *[
            lall(eq(left, cls(s)(x, number, *extra)), eq(right, x))
            for cls, number in pairs
            for extra in ((), (i,))
        ]
    )


@relation(tags=(*TIDY, "local_incsubtensor_of_zeros_to_setsubtensor"))
def set_in_zeroso(left, right):
    """at(0)[s].add(v) = at(0)[s].set(v).

    Holds for distinct elements and numbers; rounded (0.0 + -0.0 is 0.0), kept.
    Source: 0 + v = v.
    """
    v, z, s, i = lvars("v z s i")
    return lany(
        *[
            lall(
                eq(left, AddIndex(s)(z, v, *extra)),
                eq(right, SetIndex(s)(z, v, *extra)),
                distincto(s),
                numerico(z),
                zeroo(z),
            )
            for extra in ((), (i,))
        ]
    )


@relation(tags=(*TIDY, "local_useless_inc_subtensor_alloc"), rounding="exact")
def absorb_broadcast_valueo(left, right):
    """at(x)[s].set(broadcast_to(v, t)) = at(x)[s].set(v), and so for add and multiply.

    Holds always: an update repeats its value by the same rule; exact, kept.
    Source: definition.
    """
    x, v, s, t = lvars("x v s t")
    return lany(
        *[
            lall(eq(left, cls(s)(x, BroadcastTo(t)(v))), eq(right, cls(s)(x, v)))
            for cls in (SetIndex, AddIndex, MultiplyIndex, MinimumIndex, MaximumIndex)
        ]
    )


RELATIONS: tuple[Relation, ...] = (
    remove_indexo,
    merge_indexo,
    squeeze_indexo,
    pick_squeezeo,
    index_transposeo,
    index_matrix_transposeo,
    index_expand_dimso,
    index_squeezeo,
    index_broadcast_too,
    index_reduceo,
    index_softmaxo,
    join_indexo,
    read_updateo,
    read_besideo,
    write_what_is_reado,
    merge_seto,
    merge_addo,
    add_readso,
    add_sparseo,
    remove_addo,
    set_in_zeroso,
    absorb_broadcast_valueo,
)
