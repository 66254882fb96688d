"""Joining arrays along an axis, and taking them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, DomainError, ShapeError, checks_arguments, count_of
from relgraph.ir.cost import size
from relgraph.ir.facts import MATRIX_FACTS, VALUE_FACTS, Facts, kept
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Dim, Type, unify_dims
from relgraph.ops.arguments import (
    as_operand,
    check_int,
    is_axis_of_scalar,
    is_open,
    is_pattern,
    no_rank,
    normalise_axis,
    rank_of,
    result_dtype,
)
from relgraph.ops.checks import specify_shape
from relgraph.ops.elementwise import multiply
from relgraph.ops.indexing import index
from relgraph.ops.shape import broadcast_to, expand_dims, ravel, reshape, shape


class _Join(Op):
    """An op that puts its operands beside each other."""

    __slots__ = ()
    parameters = ("axis",)

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the axis, counted from the end."""
        (axis,) = super().canonical(*args, **kwargs)
        return (normalise_axis(axis, None, cls.name),)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost one copy of each element."""
        return size(result)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know what is known of every operand."""
        common = Facts(-1)
        for one in operands:
            common = Facts(common.true & one.true)
        return kept(common, *VALUE_FACTS, *(MATRIX_FACTS if self.params[0] < -2 else ()))


class Concatenate(_Join):
    """Join arrays along one of their axes.

    Parameters
    ----------
    axis : int
        Counted from the end.
    """

    __slots__ = ()
    name = "concatenate"

    def infer(self, *types: Any) -> Type:
        """Return the common dtype, and the sum of the sizes where all are static."""
        ndim = types[0].ndim
        axis = normalise_axis(self.params[0], ndim, self.name)
        dims: list[Dim] = list(types[0].shape)
        for other in types[1:]:
            if other.ndim != ndim:
                raise ShapeError(
                    "the operands of concatenate have different numbers of dimensions",
                    fix="Insert axes with expand_dims, or join along a new axis with stack.",
                )
            for place in range(-ndim, 0):
                if place != axis:
                    dims[place] = _same_size(dims[place], other.shape[place], place, self.name)
        dims[axis] = _sum([type_.shape[axis] for type_ in types])
        return types[0].with_shape(dims).with_dtype(result_dtype(t.dtype for t in types))  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Concatenate with NumPy."""
        return np.concatenate(values, axis=self.params[0])


class Stack(_Join):
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    axis : int
        Where the result has the new axis, counted from its end.
    """

    __slots__ = ()
    name = "stack"

    def infer(self, *types: Any) -> Type:
        """Return the common dtype, and the shape with the number of operands inserted."""
        ndim = types[0].ndim
        place = normalise_axis(self.params[0], ndim + 1, self.name) + ndim + 1
        dims: list[Dim] = list(types[0].shape)
        for other in types[1:]:
            if other.ndim != ndim:
                raise ShapeError(
                    "the operands of stack have different numbers of dimensions",
                    fix="Insert axes with expand_dims, or stretch operands with broadcast_to.",
                )
            for axis in range(-ndim, 0):
                dims[axis] = _same_size(dims[axis], other.shape[axis], axis, self.name)
        dims.insert(place, len(types))
        return types[0].with_shape(dims).with_dtype(result_dtype(t.dtype for t in types))  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Stack with NumPy."""
        return np.stack(values, axis=self.params[0])


def _operands(arrays: Sequence[Any], function: str) -> list[Any]:
    if is_pattern(arrays) or isinstance(arrays, Variable):
        raise ArgumentError(
            f"{function} takes a sequence of arrays", {"given": arrays}, "Pass a list: [x, y]."
        )
    found = [as_operand(x) for x in arrays]
    if not found:
        raise ArgumentError(
            f"{function} needs at least one operand",
            fix="Pass a list with an array; rg.zeros(shape) makes one that may be empty.",
        )
    return found


def _same_size(a: Dim, b: Dim, axis: int, function: str) -> Dim:
    try:
        return unify_dims(a, b)
    except ShapeError as error:
        raise ShapeError(
            f"{error.what} along axis {axis}",
            fix=f"The operands of {function} agree in every other dimension; nothing is stretched.",
        ) from None


def _sum(dims: list[Dim]) -> Dim:
    """Return the sum of sizes; unknown as soon as two of them are not static."""
    sizes = [dim for dim in dims if dim != 0]
    if len(sizes) == 1:
        return sizes[0]
    static = [dim for dim in sizes if isinstance(dim, int)]
    return sum(static) if len(static) == len(sizes) else None


@checks_arguments
def concatenate(arrays: Sequence[Any], axis: Any = 0) -> Any:
    """Join arrays along an axis that they have.

    Parameters
    ----------
    arrays : sequence of Variable, array-like or pattern
        Of the same shape but for that axis; nothing is stretched.
    axis : int or None
        Counted from either end (for patterns, from the end); None joins the raveled arrays.

    Returns
    -------
    Variable
        Of their common dtype; of static size along the axis where every operand is.

    Raises
    ------
    ShapeError
        When the other dimensions differ.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> x = make_input("x", TensorType("float64", (3, "n")))
    >>> concatenate([x, x]).type, concatenate([x, x], axis=1).type
    (float64[6, n], float64[3, ?])
    """
    operands = _operands(arrays, "concatenate")
    if axis is None:
        operands = [ravel(x) for x in operands]
        axis = -1
    ranks = [rank for rank in map(rank_of, operands) if rank is not None]
    axis = normalise_axis(axis, ranks[0] if ranks else None, "concatenate")
    return operands[0] if len(operands) == 1 else Concatenate(axis)(*operands)


@checks_arguments
def stack(arrays: Sequence[Any], axis: Any = 0) -> Any:
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    arrays : sequence of Variable, array-like or pattern
        Of the same shape; nothing is stretched.
    axis : int
        Where the result has the new axis (for patterns counted from its end).

    Returns
    -------
    Variable or pattern
        With one more dimension than the arrays.

    Raises
    ------
    ShapeError
        When the shapes differ.
    """
    operands = _operands(arrays, "stack")
    ranks = [rank for rank in map(rank_of, operands) if rank is not None]
    return Stack(normalise_axis(axis, ranks[0] + 1 if ranks else None, "stack"))(*operands)


@checks_arguments
def split(x: Any, sections: Any, axis: int = 0) -> list[Any]:
    """Cut an array along an axis.

    Parameters
    ----------
    x : Variable or array-like
        Of any shape.
    sections : int or sequence of int
        The number of equal parts, of a static size; or the places where to cut.
    axis : int
        Which axis to cut along.

    Returns
    -------
    list of Variable
        The parts, in order.

    Raises
    ------
    ShapeError
        When the size is not static or not a multiple of the number of parts.
    """
    from relgraph.ops.indexing import index

    x = as_operand(x)
    if not isinstance(x, Variable):
        raise no_rank("split", "Write the parts as operands of a concatenate instead.")
    axis = normalise_axis(axis, x.ndim, "split") + x.ndim
    if isinstance(sections, tuple | list | np.ndarray):
        cuts: list[Any] = [check_int(cut, "split: a place to cut") for cut in sections]
    else:
        parts = check_int(sections, "split: the number of parts")
        total = x.type.shape[axis]
        if parts < 1 or not isinstance(total, int) or total % parts:
            raise ShapeError(
                f"split: axis {axis} cannot be cut into {count_of(parts, 'equal part')}",
                {"operand": f"{x} : {x.type}"},
                "Give the places where to cut, as a list of ints.",
            )
        cuts = [total // parts * i for i in range(1, parts)]
    bounds = zip([None, *cuts], [*cuts, None], strict=True)
    return [index(x, (slice(None),) * axis + (slice(a, b),)) for a, b in bounds]


@checks_arguments
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Return ``x`` with each element repeated along an axis, as ``numpy.repeat``.

    Parameters
    ----------
    x : Variable or array-like
        Of any shape.
    repeats : int or sequence of int
        How often, the same for each element or one number for each.
    axis : int, optional
        Which axis; without it the raveled array is repeated.

    Returns
    -------
    Variable
        Longer along the axis.

    Raises
    ------
    ArgumentError
        For numbers that are not ints known when the graph is built.
    DomainError
        For a negative number, or an axis out of range.
    ShapeError
        For another number of numbers than there are elements along the axis.
    """
    x = as_operand(x)
    if not isinstance(x, Variable):
        raise no_rank("repeat", "Write it as expand_dims and broadcast_to.")
    if axis is None or is_axis_of_scalar(axis, x.ndim):  # as NumPy's
        x, axis = ravel(x), 0
    axis = normalise_axis(axis, x.ndim, "repeat") + x.ndim
    if isinstance(repeats, tuple | list | np.ndarray) and np.ndim(repeats) == 1:
        if len(repeats) != 1:
            return _each_repeated(x, [_count(n, "repeat") for n in repeats], axis)
        repeats = repeats[0]
    count = _count(repeats, "repeat")
    sizes = list(shape(x))
    spread = broadcast_to(expand_dims(x, axis + 1), (*sizes[: axis + 1], count, *sizes[axis + 1 :]))
    return _merge(spread, axis)


def _each_repeated(x: Variable, counts: list[int], axis: int) -> Any:
    """Return ``x`` with each element along an axis as often as a number of its own says."""
    size = x.type.shape[axis]
    if isinstance(size, int) and size != len(counts):
        raise ShapeError(
            f"repeat takes a number for each of the {count_of(size, 'element')} along axis {axis}, "
            f"not {len(counts)}",
            {"operand": f"{x} : {x.type}"},
            "Give one number for all of them, or one for each.",
        )
    known = specify_shape(x, tuple([len(counts) if i == axis else None for i in range(x.ndim)]))
    places = np.repeat(np.arange(len(counts)), counts)
    return index(known, (*[slice(None)] * axis, places))


@checks_arguments
def tile(x: Any, reps: Any) -> Any:
    """Return ``x`` laid out as often as ``reps`` says along each axis.

    Parameters
    ----------
    x : Variable or array-like
        Of any shape.
    reps : int or sequence of int
        How often; missing axes of either count as 1, leading.

    Returns
    -------
    Variable
        Each size times its entry of ``reps``.

    Raises
    ------
    ArgumentError
        For numbers that are not ints.
    DomainError
        For a negative number.
    PatternError
        For a pattern, whose rank is not known.
    """
    x = as_operand(x)
    if not isinstance(x, Variable):
        raise no_rank("tile", "Write it as expand_dims, broadcast_to and reshape.")
    given = reps if isinstance(reps, tuple | list) else (reps,)
    counts = [_count(count, "tile") for count in given]
    counts = [1] * (x.ndim - len(counts)) + counts
    if len(counts) > x.ndim:
        x = expand_dims(x, tuple(range(len(counts) - x.ndim)))
    for axis, count in enumerate(counts):
        if count != 1:
            sizes = shape(x)
            spread = broadcast_to(expand_dims(x, axis), (*sizes[:axis], count, *sizes[axis:]))
            x = _merge(spread, axis)
    return x


def _count(value: object, function: str) -> int:
    if is_open(value):
        raise no_rank(function, "Give the number of repetitions as an int.")
    count = check_int(value, f"{function}: a number of repetitions")
    if count < 0:
        raise DomainError(
            f"{function}: a number of repetitions cannot be negative: {count}",
            fix="Give 0 for a result without elements, or more.",
        )
    return count


def _merge(x: Variable, axis: int) -> Any:
    """Return ``x`` with the axes ``axis`` and ``axis + 1`` made one."""
    sizes = shape(x)
    a, b = sizes[axis : axis + 2]
    # The product, never -1: NumPy infers no size for an array that another axis leaves empty.
    both = isinstance(a, int) and isinstance(b, int)
    merged = a * b if both else (b if isinstance(a, int) and a == 1 else multiply(a, b))
    return reshape(x, (*sizes[:axis], merged, *sizes[axis + 2 :]))
