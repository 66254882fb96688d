"""Declared sizes, assertions, and the distinct elements of an array."""

from __future__ import annotations

from typing import Any

from relgraph.ops.checks import Assert, SpecifyShape, Unique
from relgraph.ops.indexing.update import AddIndex, SetIndex
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, Dim, ExpandDims, Reshape, Squeeze
from relgraph.relations.catalogue import TIDY, relations_in
from relgraph.relations.catalogue.axes import static
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko
from relgraph.relations.relation import Relation

SWAP = MatrixTranspose()


def has_shape(s: Any, x: Any) -> bool:
    """Return True if the type of ``x`` has the sizes already."""
    pairs = zip(s, x.type.shape, strict=True) if len(s) == x.ndim else [(0, 1)]
    return all(size is None or size == own for size, own in pairs)


@identity(
    tags=(*TIDY, "local_useless_specify_shape"),
    rounding="exact",
    where=lambda s, x: checko(has_shape, s, x, label="x has these sizes"),
)
def remove_specify_shapeo(x, s):
    """specify_shape(x, s) = x.

    Source: definition.
    """
    return SpecifyShape(s)(x), x


def both_shapes(s: Any, t: Any) -> Any:
    """Return the sizes that two shapes give together, if they agree."""
    if len(s) != len(t) or any(a != b for a, b in zip(s, t, strict=True) if None not in (a, b)):
        return None
    return tuple(b if a is None else a for a, b in zip(s, t, strict=True))


@identity(
    tags=(*TIDY, "local_merge_consecutive_specify_shape"),
    rounding="exact",
    where=lambda u, s, t: calco(u, both_shapes, s, t),
)
def merge_specify_shapeo(x, s, t, u):
    """specify_shape(specify_shape(x, s), t) = specify_shape(x, u), where u is s and t.

    Source: definition.
    """
    return SpecifyShape(t)(SpecifyShape(s)(x)), SpecifyShape(u)(x)


@identity(tags=(*TIDY, "local_lift_specify_shape_inc_subtensor", "derived"), rounding="exact")
def specify_shape_updateo(x, v, s, k):
    """specify_shape(at(x)[k].set(v), s) = at(specify_shape(x, s))[k].set(v), and so for add.

    An update keeps the shape.  Derived from remove_specify_shapeo where the sizes are static; kept
    for its own name.
    Source: definition.
    """
    for cls in (SetIndex, AddIndex):
        yield SpecifyShape(s)(cls(k)(x, v)), cls(k)(SpecifyShape(s)(x), v)


def given_shape(s: Any, t: Any, x: Any, n: Any, a: Any) -> Any:
    """Return a target shape of which the one open size is given by a specified shape."""
    if len(s) != len(t) or x.ndim > len(s) or n.ndim < -a:
        return None
    known = n.type.shape[a]
    sizes = [b for size, b in zip(s, t, strict=True) if not isinstance(size, int)]
    if isinstance(known, int) and sizes != [known]:
        return None
    shape = tuple(b if isinstance(a, str | None) else a for a, b in zip(s, t, strict=True))
    return shape if static(shape) else None


@identity(
    tags=(*TIDY, "local_specify_shape_alloc"),
    rounding="exact",
    where=lambda u, s, t, x, n, a: calco(u, given_shape, s, t, x, n, a),
)
def specify_shape_broadcasto(x, n, s, t, u, a):
    """specify_shape(broadcast_to(x, (n, ...)), t) = broadcast_to(x, u).

    Holds where t gives the size that is not static.
    Source: definition.
    """
    return SpecifyShape(t)(BroadcastTo(s)(x, Dim(a)(n))), BroadcastTo(u)(x)


@identity(tags=(*TIDY, "local_remove_useless_assert"), rounding="exact")
def remove_asserto(x, m):
    """assert_(x, True) = x.

    Source: definition.
    """
    return Assert(m)(x, True), x


@identity(tags=("local_remove_all_assert",), rounding="exact")
def remove_all_asserto(x, c, m):
    """assert_(x, c) = x.

    Holds where the condition does, which nothing checks any more.
    Only mode unsafe runs it.
    Source: definition.
    """
    return Assert(m)(x, c), x


def repeats(s: Any, x: Any) -> bool:
    """Return True if a broadcast leaves out no element."""
    return static(s) and 0 not in s


@identity(tags=(*TIDY, "local_Unique_lift"))
def absorb_uniqueo(x, a):
    """unique(reshape(x, s)) = unique(x), and so for a transpose, expand_dims and squeeze.

    0.0 and -0.0 are equal, and the first of them stays.
    Source: a set has no order.
    """
    same = [cls(a)(x) for cls in (Reshape, Transpose, ExpandDims, Squeeze)]
    for y in same:
        yield Unique()(y), Unique()(x)


@identity(tags=(*TIDY, "local_Unique_lift"))
def absorb_unique_repeatso(x, s):
    """unique(unique(x)) = unique(x), and unique(broadcast_to(x, s)) = unique(x).

    0.0 and -0.0 are equal, and the first of them stays.
    Source: a set has no order, and no element twice.
    """
    yield Unique()(Unique()(x)), Unique()(x)
    yield Unique()(BroadcastTo(s)(x)), Unique()(x), checko(repeats, s, x, label="no size is 0")


@identity(tags=(*TIDY, "local_Unique_lift"))
def absorb_unique_transposeo(x):
    """unique(x.mT) = unique(x).

    0.0 and -0.0 are equal, and the first of them stays.
    Source: a set has no order.
    """
    return Unique()(SWAP(x)), Unique()(x)


def one_element(x: Any) -> bool:
    """Return True if there is exactly one element."""
    return all(size == 1 for size in x.type.shape)


@identity(
    tags=(*TIDY, "local_Unique_scalar"),
    rounding="exact",
    where=lambda x: checko(one_element, x, label="one element"),
)
def unique_oneo(x):
    """unique(x) = reshape(x, (-1,)) for one element.

    Source: definition.
    """
    return Unique()(x), Reshape((-1,))(x)


# What mode unsafe does besides: no phase and no search does it on its own account.
UNSAFE: tuple[Relation, ...] = (remove_all_asserto,)
RELATIONS = tuple([x for x in relations_in(globals()) if x not in UNSAFE])
