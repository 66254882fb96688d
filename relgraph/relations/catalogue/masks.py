"""Elements that a mask selects: a choice at each element takes the place of their copy.

The relations have no phase: the pass ``push_index`` applies them, after it has moved masks past
the functions of what they select.
"""

from __future__ import annotations

from typing import Any

from relgraph.numpy.reductions import mean, sum
from relgraph.ops.elementwise import Cast, where
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import AddIndex, MultiplyIndex, SetIndex
from relgraph.relations.catalogue import relations_in
from relgraph.relations.catalogue.conditions import numerico, scalaro
from relgraph.relations.catalogue.updates import same_dtypeo
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, floato


def masko(s: Any, m: Any, x: Any) -> Any:
    """Relate keys that are one mask to it and to the arrays that surely have its shape."""
    return checko(is_mask, s, m, x, label=f"{m!r} is a mask of the shape of {x!r}")


def is_mask(s: Any, m: Any, x: Any) -> bool:
    """Return True if a key is a mask that surely has the shape of an array."""
    shape = m.type.shape
    return s == (("mask", x.ndim),) and shape == x.type.shape and None not in shape


@identity(where=lambda x, m, s: masko(s, m, x), rounding="exact", broadcast="v")
def write_at_masko(x, v, w, m, s):
    """at(x)[m].set(w[m]) = where(m, w, x), at(x)[m].add(w[m]) = where(m, x + w, x).

    The same holds for multiply, and with a number v instead of w[m].  Holds where m is a mask with
    the shape of x and w.
    Source: definition.
    """
    number = (scalaro(v), same_dtypeo(x, v))
    array = (masko(s, m, w), same_dtypeo(x, w))
    for value, whole, conditions in ((v, v, number), (Index(s)(w, m), w, array)):
        yield SetIndex(s)(x, value, m), where(m, whole, x), conditions
        yield AddIndex(s)(x, value, m), where(m, x + whole, x), conditions
        yield MultiplyIndex(s)(x, value, m), where(m, x * whole, x), conditions


def sums_vector(a: Any) -> bool:
    """Return True if a reduction of a vector with this axis reduces it."""
    return a in (None, (-1,))


def dtype_name(x: Any) -> str:
    """Return the name of the dtype of an array."""
    return str(x.dtype)


@identity(where=lambda x, m, s: masko(s, m, x))
def reduce_at_masko(x, m, s, a, d):
    """sum(x[m]) = sum(where(m, x, 0)), and mean(x[m]) = sum(where(m, x, 0)) / sum(m).

    Holds where m is a mask with the shape of x.
    Source: zero is the identity of addition.
    """
    reduced = checko(sums_vector, a, label="the axis is reduced")
    yield sum(Index(s)(x, m), axis=a), sum(where(m, x, 0)), (numerico(x), reduced)
    yield (
        mean(Index(s)(x, m), axis=a),
        sum(where(m, x, 0)) / sum(Cast(d)(m)),
        (floato(x), reduced, calco(d, dtype_name, x)),
    )


RELATIONS = relations_in(globals())
