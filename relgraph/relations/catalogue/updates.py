"""Functional updates: writes of writes, reads of writes, and sums of sparse arrays.

A key is a parameter, so one relation serves every key.
"""

from __future__ import annotations

from typing import Any

from relgraph.ir.node import Constant
from relgraph.ir.types import TensorType
from relgraph.numpy.reductions import sum as total
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
from relgraph.relations.catalogue import TIDY, relations_in
from relgraph.relations.catalogue.conditions import numerico
from relgraph.relations.catalogue.indexing import known_shapeo
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import checko

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
    """Return True if two keys select no element of ``x`` in common."""
    return keys.disjoint(s, t, x.type.shape)


def places_apart(s: Any, t: Any, x: Any, i: Any) -> bool:
    """Return True if a key with constant places ``i`` and another one select nothing in common."""
    if not isinstance(i, Constant) or i.dtype.kind not in "iu" or i.value.size > PLACES:
        return False
    return keys.disjoint(s, t, x.type.shape, i.value.reshape(-1).tolist())


@identity(tags=(*TIDY, "local_read_of_write_same_indices"), where=lambda s: distincto(s))
def read_updateo(x, v, s, i):
    """at(x)[s].set(v)[s] = v, and at(x)[s].add(v)[s] = x[s] + v for distinct elements.

    A sum may be rounded in another dtype.
    Source: definition.
    """
    fits = fills_parto(s, x, v)
    yield Index(s)(SetIndex(s)(x, v)), v, fits
    yield Index(s)(SetIndex(s)(x, v, i), i), v, fits
    yield Index(s)(AddIndex(s)(x, v)), Index(s)(x) + v, (same_dtypeo(x, v), fits)
    yield Index(s)(AddIndex(s)(x, v, i), i), Index(s)(x, i) + v, (same_dtypeo(x, v), fits)


@identity(
    tags=(
        *TIDY,
        "local_slice_read_of_write",
        "local_advanced_read_of_write_constant_indices",
    ),
    rounding="exact",
)
def read_besideo(x, v, s, t, i):
    """at(x)[s].set(v)[t] = x[t], and so for add, multiply, min and max.

    Of arrays of indices, at most 256 constant ones are compared.
    Source: definition.
    """
    keys_apart = checko(apart, s, t, x, label="nothing in common")
    indices_apart = checko(places_apart, s, t, x, i, label="nothing in common")
    updates = (SetIndex, AddIndex, MultiplyIndex, MinimumIndex, MaximumIndex)
    for cls in updates:
        yield Index(t)(cls(s)(x, v)), Index(t)(x), keys_apart
    for cls in updates:
        yield Index(t)(cls(s)(x, v, i)), Index(t)(x), indices_apart


@identity(tags=(*TIDY, "local_setsubtensor_of_constants"), rounding="exact")
def write_what_is_reado(x, s, i):
    """at(x)[s].set(x[s]) = x.

    Source: definition.
    """
    yield SetIndex(s)(x, Index(s)(x)), x
    yield SetIndex(s)(x, Index(s)(x, i), i), x


@identity(tags=(*TIDY, "local_write_of_write_same_indices"), rounding="exact")
def merge_seto(x, v, w, s, i):
    """at(at(x)[s].set(v))[s].set(w) = at(x)[s].set(w), and so where the first adds or multiplies.

    Source: definition.
    """
    for cls in (SetIndex, AddIndex, MultiplyIndex, MinimumIndex, MaximumIndex):
        yield SetIndex(s)(cls(s)(x, v), w), SetIndex(s)(x, w)
    yield SetIndex(s)(SetIndex(s)(x, v, i), w, i), SetIndex(s)(x, w, i)


def _one_shape(v: Any, w: Any) -> bool:
    return bool(v.type.shape == w.type.shape and None not in v.type.shape)


@identity(tags=(*TIDY, "local_write_of_write_same_indices"), specials="assumes_finite")
def merge_addo(x, v, w, s, i):
    """at(at(x)[s].add(v))[s].add(w) = at(x)[s].add(v + w), and for set(v) and then add(w) too.

    Holds modulo 2^n for integers.
    The error is within 2 u (|x| + |v| + |w|).
    Source: associative law.
    """
    for indices in ((), (i,)):
        added = AddIndex(s)(AddIndex(s)(x, v, *indices), w, *indices)
        written = AddIndex(s)(SetIndex(s)(x, v, *indices), w, *indices)
        same = (same_dtypeo(x, v), same_dtypeo(x, w), checko(_one_shape, v, w, label="one shape"))
        yield added, AddIndex(s)(x, v + w, *indices), same
        yield written, SetIndex(s)(x, v + w, *indices), (distincto(s), *same)


@identity(
    tags=(*TIDY, "local_set_to_inc_subtensor"),
    where=lambda x, v, s: (distincto(s), same_dtypeo(x, v), known_shapeo(v)),
    rounding="exact",
    broadcast="v",
)
def add_readso(x, v, s, i):
    """at(x)[s].set(x[s] + v) = at(x)[s].add(v), and so for a product, a minimum and a maximum.

    Source: definition.
    """
    ops: tuple[Any, ...] = (
        (add, AddIndex),
        (multiply, MultiplyIndex),
        (minimum, MinimumIndex),
        (maximum, MaximumIndex),
    )
    for op, cls in ops:
        yield SetIndex(s)(x, op(Index(s)(x), v)), cls(s)(x, v)
        yield SetIndex(s)(x, op(Index(s)(x, i), v), i), cls(s)(x, v, i)


@identity(
    tags=(*TIDY, "local_add_of_sparse_write", "local_IncSubtensor_serialize", "inc_subtensor_srlz")
)
def add_sparseo(x, v, z, s, i):
    """x + at(0)[s].set(v) = at(x)[s].add(v), and x + at(0)[s].add(v) = at(x)[s].add(v).

    x + 0 loses the sign of -0.0.
    Source: x + 0 = x.
    """
    conditions = (distincto(s), same_dtypeo(x, z), zeroo(z))
    for indices in ((), (i,)):
        added = AddIndex(s)(x, v, *indices)
        yield x + SetIndex(s)(z, v, *indices), added, conditions
        yield x + AddIndex(s)(z, v, *indices), added, conditions


@identity(
    tags=(*TIDY, "local_IncSubtensor_serialize", "inc_subtensor_srlz"),
    where=lambda x, z, s: (
        checko(_may_repeat, s, label="an element may be selected twice"),
        same_dtypeo(x, z),
        zeroo(z),
    ),
    specials="assumes_finite",
)
def add_sparse_repeatedo(x, v, z, s, i):
    """x + at(0)[s].add(v) = at(x)[s].add(v), where s may select an element several times.

    The values of such an element are added in another order.
    Source: associative law.
    """
    return x + AddIndex(s)(z, v, i), AddIndex(s)(x, v, i)


def _may_repeat(s: Any) -> bool:
    return not keys.is_basic(s)


def is_part(v: Any, s: Any, x: Any, *i: Any) -> bool:
    """Return True if a value surely has the shape of a part of an array."""
    part = Index(s).infer(x.type, *[y.type for y in i]).shape
    return None not in part and part == v.type.shape


@identity(tags=TIDY, where=lambda x, v: same_dtypeo(x, v), specials="assumes_finite")
def sum_addo(x, v, s, i):
    """sum(at(x)[s].add(v)) = sum(x) + sum(v), where v has the shape of x[s].

    Holds modulo 2^n for integers.
    The order of summation differs, within 2 n u (sum |x| + sum |v|).
    Source: associative and commutative laws.
    """
    for indices in ((), (i,)):
        fits = checko(is_part, v, s, x, *indices, label="the value has the shape of the part")
        yield total(AddIndex(s)(x, v, *indices)), total(x) + total(v), fits


@identity(tags=(*TIDY, "local_incsubtensor_of_zeros"))
def remove_addo(x, s, i):
    """at(x)[s].add(0) = x, and at(x)[s].multiply(1) = x.

    -0.0 + 0.0 is 0.0.
    Source: 0 and 1 are neutral.
    """
    for cls, number in ((AddIndex, 0), (MultiplyIndex, 1)):
        yield cls(s)(x, number), x
        yield cls(s)(x, number, i), x


@identity(
    tags=(*TIDY, "local_incsubtensor_of_zeros_to_setsubtensor"),
    where=lambda z, s: (distincto(s), numerico(z), zeroo(z)),
)
def set_in_zeroso(v, z, s, i):
    """at(0)[s].add(v) = at(0)[s].set(v).

    0.0 + -0.0 is 0.0.
    Source: 0 + v = v.
    """
    yield AddIndex(s)(z, v), SetIndex(s)(z, v)
    yield AddIndex(s)(z, v, i), SetIndex(s)(z, v, i)


@identity(tags=(*TIDY, "local_useless_inc_subtensor_alloc"), rounding="exact")
def absorb_broadcast_valueo(x, v, s, t):
    """at(x)[s].set(broadcast_to(v, t)) = at(x)[s].set(v), and so for add and multiply.

    An update repeats its value by the same rule.
    Source: definition.
    """
    for cls in (SetIndex, AddIndex, MultiplyIndex, MinimumIndex, MaximumIndex):
        yield cls(s)(x, BroadcastTo(t)(v)), cls(s)(x, v)


RELATIONS = relations_in(globals())
