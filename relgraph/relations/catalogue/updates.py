"""Functional updates: writes of writes, reads of writes, and sums of sparse arrays.

A key is a parameter, so one relation serves every key.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from typing import Any

from relgraph.ir.node import Constant
from relgraph.ir.types import TensorType
from relgraph.ops.elementwise import add, maximum, minimum, multiply
from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.expression import indexed_shape
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import (
    AddIndex,
    MaximumIndex,
    MinimumIndex,
    MultiplyIndex,
    SetIndex,
)
from relgraph.ops.shape import BroadcastTo
from relgraph.relations.catalogue.conditions import numerico
from relgraph.relations.catalogue.indexing import known_shapeo
from relgraph.relations.kanren.goals import checko, eq, lall, lany
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, relation

TIDY = ("canonicalize", "specialize", "fast_run")
PLACES = 256  # of one key, that are looked at one by one


def distincto(s: Any) -> Any:
    """Relate keys that select each element at most once."""
    return checko(keys.is_basic, s, label="no element twice")


def same_dtypeo(x: Any, v: Any) -> Any:
    """Relate arrays and values of one dtype."""
    return checko(_same_dtype, x, v, label="one dtype")


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


def _same_dtype(x: Any, v: Any) -> bool:
    return bool(x.dtype == v.dtype)


def apart(s: Any, t: Any, x: Any) -> bool:
    """Tell whether two keys select no element of ``x`` in common."""
    return keys.disjoint(s, t, x.type.shape)


def places_apart(s: Any, t: Any, x: Any, i: Any) -> bool:
    """Tell whether a key with constant places ``i`` and another one select nothing in common."""
    if not isinstance(i, Constant) or i.dtype.kind not in "iu" or i.value.size > PLACES:
        return False
    return keys.disjoint(s, t, x.type.shape, i.value.reshape(-1).tolist())


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


@relation(
    tags=(
        *TIDY, "local_slice_read_of_write", "local_advanced_read_of_write_constant_indices",
    ),
    rounding="exact",
)  # fmt: skip
def read_besideo(left, right):
    """at(x)[s].set(v)[t] = x[t], and so for add, multiply, min and max.

    Holds where the keys select no element in common, which is also seen of at most 256 constant
    places that are written; exact, kept.
    Source: definition.
    """
    x, v, s, t, i = lvars("x v s t i")
    condition = checko(apart, s, t, x, label="nothing in common")
    written = checko(places_apart, s, t, x, i, label="nothing in common")
    updates = (SetIndex, AddIndex, MultiplyIndex, MinimumIndex, MaximumIndex)
    return lany(
        *[
            lall(eq(left, Index(t)(cls(s)(x, v))), eq(right, Index(t)(x)), condition)
            for cls in updates
        ],
        *[
            lall(eq(left, Index(t)(cls(s)(x, v, i))), eq(right, Index(t)(x)), written)
            for cls in updates
        ],
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


@relation(
    tags=(*TIDY, "local_add_of_sparse_write", "local_IncSubtensor_serialize", "inc_subtensor_srlz")
)
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
