"""Adjacent axes of size 1, permutations, broadcasts and reshapes."""

from __future__ import annotations

from typing import Any

from relgraph.ops.arguments import canonical_shape, solve
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, Dim, ExpandDims, Reshape, Squeeze
from relgraph.relations.catalogue import TIDY, relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko

SWAP = MatrixTranspose()


def placed(x: Any, *steps: Any) -> tuple[Any, ...] | None:
    """Return where the axes of ``x`` stand after some steps: each an axis, or None for a new one.

    Parameters
    ----------
    x : Variable
        The array.
    *steps : tuple of str and tuple of int
        Each step and its axes: "permute", "insert" or "remove".
    """
    axes: list[Any] = list(range(-x.ndim, 0))
    for kind, which in steps:
        ndim = len(axes) + (len(which) if kind == "insert" else 0)
        if any(axis < -ndim for axis in which) or (kind == "permute" and len(which) != ndim):
            return None
        if kind == "permute":
            axes = [axes[axis] for axis in which]
        elif kind == "insert":
            rest = iter(axes)
            axes = [None if axis in which else next(rest) for axis in range(-ndim, 0)]
        else:
            axes = [a for i, a in enumerate(axes, -ndim) if i not in which]
    return tuple(axes)


def inserted(axes: Any, x: Any) -> tuple[int, ...]:
    """Return the new axes among placed ones."""
    return tuple(i for i, axis in enumerate(axes, -len(axes)) if axis is None)


def permuted(axes: Any, x: Any) -> tuple[int, ...]:
    """Return the permutation of the old axes among placed ones."""
    old = sorted(axis for axis in axes if axis is not None)
    return tuple(old.index(axis) - len(old) for axis in axes if axis is not None)


def removed(axes: Any, x: Any) -> tuple[int, ...]:
    """Return the axes of ``x`` that are not among placed ones."""
    return tuple(axis for axis in range(-x.ndim, 0) if axis not in axes)


STEPS: dict[Any, Any] = {
    Transpose: ("permute", permuted),
    ExpandDims: ("insert", inserted),
    Squeeze: ("remove", removed),
}


def exchanged(first: Any, second: Any, which: Any) -> Any:
    """Return the function that computes the axes of one of two steps that are exchanged."""

    def axes_of(a: Any, b: Any, x: Any) -> Any:
        axes = placed(x, (STEPS[first][0], a), (STEPS[second][0], b))
        cancels = (first, second) == (ExpandDims, Squeeze) and a == b
        return None if axes is None or cancels else STEPS[which][1](axes, x)

    axes_of.__name__ = STEPS[which][1].__name__
    return axes_of


@identity(tags=(*TIDY, "local_dimshuffle_lift"), rounding="exact")
def exchange_axeso(x, a, b, c, d):
    """g(f(x, a), b) = f(g(x, c), d), where transposes stand within expand_dims, and squeezes last.

    Holds for f expand_dims and g a transpose, and for either as f and squeeze as g.
    Source: composition of maps of axes.
    """
    for f, g in ((ExpandDims, Transpose), (Transpose, Squeeze), (ExpandDims, Squeeze)):
        both = calco(c, exchanged(f, g, g), a, b, x), calco(d, exchanged(f, g, f), a, b, x)
        yield g(b)(f(a)(x)), f(d)(g(c)(x)), both


@identity(tags=(*TIDY, "local_dimshuffle_lift"), rounding="exact")
def remove_no_axeso(x):
    """expand_dims(x, ()) = x, and so for squeeze.

    Source: definition.
    """
    for cls in (ExpandDims, Squeeze):
        yield cls(())(x), x


# Broadcasts.


def leading(a: Any, s: Any, x: Any) -> bool:
    """Return True if new axes of ``x`` stand before all of its own."""
    return bool(a) and bool(x.ndim < -max(a, default=-1) and len(s) >= x.ndim + len(a))


@identity(
    tags=(*TIDY, "local_alloc_dimshuffle"),
    where=lambda x, a, s: checko(leading, a, s, x, label="the new axes lead"),
    rounding="exact",
)
def absorb_leading_axeso(x, a, s, n, m):
    """broadcast_to(expand_dims(x, a), s) = broadcast_to(x, s).

    Source: a broadcast inserts leading axes of size 1.
    """
    yield BroadcastTo(s)(ExpandDims(a)(x)), BroadcastTo(s)(x)
    yield BroadcastTo(s)(ExpandDims(a)(x), Dim(n)(m)), BroadcastTo(s)(x, Dim(n)(m))


def static(s: Any) -> bool:
    """Return True if a shape has numbers only."""
    return all(isinstance(size, int) for size in s)


def filled(x: Any, s: Any) -> list[int]:
    """Return the axes that ``x`` needs to have the rank of a shape."""
    return list(range(-len(s), -x.ndim))


def shape_after(kind: str, s: Any, a: Any) -> Any:
    """Return a static shape with some axes inserted or removed."""
    if not static(s):
        return None
    ndim = len(s) + (len(a) if kind == "insert" else 0)
    if any(axis < -ndim for axis in a):
        return None
    if kind == "remove":
        return tuple(size for i, size in enumerate(s, -ndim) if i not in a)
    sizes = iter(s)
    return tuple(1 if axis in a else next(sizes) for axis in range(-ndim, 0))


def permuted_shape(s: Any, a: Any) -> Any:
    """Return a shape, of which at most one size is not static, with its axes permuted."""
    return tuple(s[axis] for axis in a) if len(a) == len(s) else None


def swapped_shape(s: Any) -> Any:
    """Return a shape, of which at most one size is not static, with its last two exchanged."""
    return (*s[:-2], s[-1], s[-2])


def order_of_own(a: Any, x: Any) -> Any:
    """Return how a permutation orders the axes of ``x``, where those it has stay the last."""
    last = a[len(a) - x.ndim :] if len(a) >= x.ndim else ()
    own = tuple(range(-x.ndim, 0))
    return last if tuple(sorted(last)) == own else None


def has_matrices(x: Any) -> bool:
    """Return True if ``x`` is a matrix or a batch of them."""
    return bool(x.ndim >= 2)


@identity(tags=(*TIDY, "local_dimshuffle_alloc"), rounding="exact")
def permute_broadcast_too(x, s, a, b, t, n, m):
    """transpose(broadcast_to(x, s), a) = broadcast_to(transpose(x, b), s[a]), and so for .mT.

    Holds where the axes that a broadcast inserts stay before those of x.
    b is what the permutation does to the axes of x.  At most one size of the shape is not static.
    Source: definition.
    """
    permuted = (calco(b, order_of_own, a, x), calco(t, permuted_shape, s, a))
    swapped = (
        checko(has_matrices, x, label="x is a matrix or a batch of them"),
        calco(t, swapped_shape, s),
    )
    for sizes in ((), (Dim(n)(m),)):
        moved = Transpose(b)(x)
        yield Transpose(a)(BroadcastTo(s)(x, *sizes)), BroadcastTo(t)(moved, *sizes), permuted
    for sizes in ((), (Dim(n)(m),)):
        yield SWAP(BroadcastTo(s)(x, *sizes)), BroadcastTo(t)(SWAP(x), *sizes), swapped


def new_outside(s: Any, a: Any, x: Any) -> Any:
    """Return a shape without the new axes ``a``, where a broadcast does not stretch them."""
    if not static(s) or len(s) != x.ndim + len(a) or any(s[axis] != 1 for axis in a):
        return None
    return shape_after("remove", s, a)


@identity(
    tags=(*TIDY, "local_alloc_sink_dimshuffle"),
    rounding="exact",
    where=lambda x, s, a, t: calco(t, new_outside, s, a, x),
)
def broadcast_expand_dimso(x, s, a, t):
    """broadcast_to(expand_dims(x, a), s) = expand_dims(broadcast_to(x, t), a).

    Holds for static shapes in which the new axes have size 1.
    Source: definition.
    """
    return BroadcastTo(s)(ExpandDims(a)(x)), ExpandDims(a)(BroadcastTo(t)(x))


def new_removed(s: Any, a: Any, x: Any) -> Any:
    """Return a shape without axes of size 1 that ``x`` does not have."""
    if any(axis >= -x.ndim or axis < -len(s) or s[axis] != 1 for axis in a):
        return None
    return shape_after("remove", s, a)


@identity(
    tags=(*TIDY, "local_dimshuffle_alloc"),
    rounding="exact",
    where=lambda x, s, a, t: calco(t, new_removed, s, a, x),
)
def squeeze_broadcast_too(x, s, a, t):
    """squeeze(broadcast_to(x, s), a) = broadcast_to(x, t), where t is s without the axes a.

    Holds for static shapes and axes that x does not have.
    Source: definition.
    """
    return Squeeze(a)(BroadcastTo(s)(x)), BroadcastTo(t)(x)


def only_new(s: Any, x: Any) -> Any:
    """Return the leading axes that a broadcast inserts, if it repeats nothing."""
    new = filled(x, s)
    if not new or any(s[axis] != 1 for axis in new) or s[len(new) :] != x.type.shape:
        return None
    return tuple(new) if None not in x.type.shape and static(s) else None


@identity(
    tags=(*TIDY, "local_alloc_sink_dimshuffle"),
    rounding="exact",
    where=lambda a, s, x: calco(a, only_new, s, x),
)
def insert_broadcast_too(x, s, a):
    """broadcast_to(x, (1, ..., 1, *shape of x)) = expand_dims(x, a).

    Holds for static shapes, where nothing is repeated.
    Source: definition.
    """
    return BroadcastTo(s)(x), ExpandDims(a)(x)


# Reshapes that move no element past another of a size that is not 1.


def axes_inserted(old: Any, new: Any) -> Any:
    """Return the axes of size 1 that make one static shape another."""
    axes, at = [], len(old)
    for axis in range(len(new) - 1, -1, -1):
        if at and old[at - 1] == new[axis]:
            at -= 1
        elif new[axis] == 1:
            axes.append(axis - len(new))
        else:
            return None
    return tuple(sorted(axes)) if at == 0 and axes else None


def new_axes(s: Any, x: Any) -> Any:
    """Return the axes that a reshape of ``x`` inserts, if it does nothing else."""
    if len(s) <= x.ndim or not static(s):
        return None
    if static(x.type.shape):
        return axes_inserted(x.type.shape, solve(x.type.shape, s))
    return axes_inserted(one_open(x.type.shape), s)


def one_open(shape: Any) -> Any:
    """Return a shape with -1 for the only size that is not static; () for any other."""
    sizes = tuple([d if isinstance(d, int) else -1 for d in shape])
    return sizes if sizes.count(-1) == 1 and 0 not in sizes else ()


def old_axes(s: Any, x: Any) -> Any:
    """Return the axes that a reshape of ``x`` removes, if it does nothing else."""
    if len(s) >= x.ndim or not static(x.type.shape) or not static(s):
        return None
    return axes_inserted(solve(x.type.shape, s), x.type.shape)


@identity(tags=(*TIDY, "local_reshape_to_dimshuffle"), rounding="exact")
def reshape_axeso(x, s, a):
    """reshape(x, s) = expand_dims(x, a), or squeeze(x, a).

    Holds for shapes that differ in axes of size 1 only, and have one size at most that is not
    static.
    Source: axes of size 1 do not change the order of the elements.
    """
    yield Reshape(s)(x), ExpandDims(a)(x), calco(a, new_axes, s, x)
    yield Reshape(s)(x), Squeeze(a)(x), calco(a, old_axes, s, x)


def expanded_reshape(s: Any, a: Any, x: Any) -> Any:
    """Return a shape of ``x``, with a size at -1 or without, with axes of size 1 inserted."""
    t = shape_after("insert", s, a)
    return t and canonical_shape(x.type.shape, t)


def squeezed_reshape(s: Any, a: Any, x: Any) -> Any:
    """Return a static shape of ``x`` without some of its axes of size 1."""
    if any(-axis > len(s) or s[axis] != 1 for axis in a):
        return None
    t = shape_after("remove", s, a)
    return t and canonical_shape(x.type.shape, t)


@identity(tags=(*TIDY, "local_fuse_expand_dims_reshape"), rounding="exact")
def axes_of_reshapeo(x, s, a, t):
    """expand_dims(reshape(x, s), a) = reshape(x, t), and so for squeeze.

    Holds for shapes of which at most one size follows from the others.
    Source: axes of size 1 do not change the order of the elements.
    """
    for cls, function in ((ExpandDims, expanded_reshape), (Squeeze, squeezed_reshape)):
        yield cls(a)(Reshape(s)(x)), Reshape(t)(x), calco(t, function, s, a, x)


RELATIONS = relations_in(globals())
