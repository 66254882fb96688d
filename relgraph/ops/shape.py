"""Shapes: the same elements in another arrangement.

Parameters do not depend on rank: axes are counted from the end, and the transpose of the last two
axes is an op of its own.  A size that is not a static int is an operand: in the shape parameter of
:class:`Reshape` and :class:`BroadcastTo` a name or None stands for the next extra operand, an
integer scalar, so the value of a node depends on its operands alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from relgraph.errors import DomainError, ShapeError
from relgraph.ir.facts import Facts, proved
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable
from relgraph.ir.sizes import Given, Tie
from relgraph.ir.types import Dim as Extent
from relgraph.ir.types import Shape, TensorType, Type, unify_dims
from relgraph.ops.arguments import (
    AxisOp,
    as_operand,
    canonical_shape,
    check_int,
    check_scalar,
    check_shape,
    check_sizes,
    fill,
    is_open,
    is_pattern,
    no_rank,
    normalise_axes,
    normalise_axis,
    one_tuple,
    rank_of,
    solve,
)
from relgraph.ops.docstrings import documented
from relgraph.ops.permutation import Rearrangement, transpose


class Reshape(Rearrangement):
    """The same elements in C order in another shape.

    Parameters
    ----------
    shape : tuple of int, str or None
        A static size; -1 (once) for the size that follows from the others; a name or None for a
        size given by the next extra operand, an integer scalar.
    """

    __slots__ = ()
    name = "reshape"
    measure = (5, 1)
    parameters = ("shape",)
    takes_shape = True

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the shape as a tuple of Python ints, names and None."""
        (shape,) = super().canonical(*args, **kwargs)
        return (shape if is_open(shape) else check_shape(shape, cls.name, unknown=True),)

    def infer(self, *types: Any) -> Type:
        """Return the type, with the size at -1 solved where the others are known."""
        x, *sizes = types
        shape = self.params[0]
        check_sizes(shape, sizes)
        return x.with_shape(solve(x.shape, shape))  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Reshape with NumPy."""
        return np.reshape(values[0], fill(self.params[0], values[1:]))


class BroadcastTo(Rearrangement):
    """Repeat an operand along new axes and along those that are statically 1.

    Parameters
    ----------
    shape : tuple of int, str or None
        A static size, or a name or None for a size given by the next extra operand.
    """

    __slots__ = ()
    name = "broadcast_to"
    total = True
    measure = (5, 1)
    second_measure = (3, (2, 1))
    parameters = ("shape",)
    takes_shape = True

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the shape as a tuple of Python ints, names and None."""
        (shape,) = super().canonical(*args, **kwargs)
        return (shape if is_open(shape) else check_shape(shape, cls.name),)

    def infer(self, *types: Any) -> Type:
        """Return the type of the given shape, each dimension as exact as either side has it."""
        x, *sizes = types
        shape = self.params[0]
        check_sizes(shape, sizes)
        lead = len(shape) - x.ndim
        if lead < 0:
            raise ShapeError(
                f"{x} has more dimensions than the shape it is to fill",
                {"shape": shape},
                "Give a size for each axis, or remove axes of size 1 with squeeze.",
            )
        fitted = tuple(
            target if dim == 1 else unify_dims(dim, target)
            for dim, target in zip(x.shape, shape[lead:], strict=True)
        )
        return x.with_shape(shape[:lead] + fitted)  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Broadcast with NumPy (a read-only view)."""
        return np.broadcast_to(values[0], fill(self.params[0], values[1:]))

    def performer(self, node: Variable) -> Callable[..., Any]:
        """Raise for a stretched size that is not declared as 1, as every other op does."""
        declared = node.inputs[0].type.shape
        spanning = [a for a in range(-len(declared), 0) if not isinstance(declared[a], int)]
        if not spanning:
            return self.perform

        def broadcast(*values: Any) -> Any:
            result = self.perform(*values)
            for axis in spanning:
                size, target = values[0].shape[axis], result.shape[axis]
                if size != target:
                    raise _not_declared(node, axis, size, target)
            return result

        return broadcast

    def ties(self, shapes: Sequence[Shape]) -> list[Tie]:
        """Tie dimensions that are not declared as 1 to the shape."""
        shape, target = shapes[0], self.params[0]
        positions = iter(range(1, len(target) + 1))
        sizes = [dim if isinstance(dim, int) else Given(next(positions)) for dim in target]
        open_ = [a for a in range(-len(shape), 0) if not isinstance(shape[a], int)]
        return [Tie((0, a), sizes[a]) for a in open_ if shape[a] is None or shape[a] != target[a]]

    def given_size(self, node: Variable, axis: int) -> Variable | None:
        """Return the operand that gives a size along an axis (from the end), if one does."""
        x, *sizes = node.inputs
        if x.ndim >= -axis and x.type.shape[axis] != 1:
            return None
        shape = self.params[0]
        before = [d for d in shape[: len(shape) + axis] if not isinstance(d, int)]
        return None if isinstance(shape[axis], int) else sizes[len(before)]

    def keeps_matrices(self, node: Variable) -> bool:
        """Return True if only leading axes are new."""
        shape = node.inputs[0].type.shape
        return len(shape) >= 2 and shape[-2:] == node.type.shape[-2:]


def spans(x: Variable, repeated: Variable, shape: tuple[Any, ...]) -> bool:
    """Return True if ``x`` has every axis along which broadcasting to ``shape`` repeats a node.

    An elementwise function of ``x`` and the broadcast then repeats the node by itself.
    """
    for axis in range(-len(shape), 0):
        size = repeated.type.shape[axis] if repeated.ndim >= -axis else 1
        if size != 1 and (size != shape[axis] or not isinstance(size, int)):
            return False  # it may be 1 at the call
        if size == 1 and shape[axis] != 1 and (x.ndim < -axis or x.type.shape[axis] == 1):
            return False
    return True


def _not_declared(node: Variable, axis: int, size: int, target: int) -> ShapeError:
    """Return the error for a size of 1 that a broadcast would stretch."""
    x = node.inputs[0]
    return ShapeError(
        f"{brief(x, 12)} must have size {target} along axis {axis}, and it is {size}",
        {"in": brief(node, 24), brief(x, 12): x.type},
        "Only a dimension that is declared as 1 is stretched: put a 1 in the input's shape.",
    )


class _UnitAxes(Rearrangement):
    """An op that inserts or removes axes of size 1.

    Parameters
    ----------
    axes : tuple of int
        Where the longer of both shapes has them, sorted and counted from its end.
    """

    __slots__ = ()
    parameters = ("axes",)
    arity = 1

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the axes sorted."""
        (axes,) = super().canonical(*args, **kwargs)
        return (normalise_axes(axes, None, cls.name),)

    def keeps_matrices(self, node: Variable) -> bool:
        """Return True if the axes lead."""
        return all([axis < -2 for axis in self.params[0]])


class ExpandDims(_UnitAxes):
    """Insert axes of size 1."""

    __slots__ = ()
    name = "expand_dims"
    total = True
    measure = (2, 1)

    def infer(self, *types: Any) -> Type:
        """Return the type with the new axes."""
        axes = self.params[0]
        ndim = types[0].ndim + len(axes)
        normalise_axes(axes, ndim, self.name)
        dims = iter(types[0].shape)
        return types[0].with_shape(1 if a - ndim in axes else next(dims) for a in range(ndim))  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Expand with NumPy."""
        return np.expand_dims(values[0], self.params[0])


class Squeeze(_UnitAxes):
    """Remove axes of size 1."""

    __slots__ = ()
    name = "squeeze"
    measure = (3, 1)
    second_measure = (1, 3)

    def ties(self, shapes: Sequence[Shape]) -> list[Tie]:
        """Tie each axis that is not declared as 1 to that size, as :meth:`infer` takes any name."""
        return [Tie((0, axis), 1) for axis in self.params[0] if shapes[0][axis] != 1]

    def infer(self, *types: Any) -> Type:
        """Return the type without the axes; a size that is not static is checked at the call."""
        (x,) = types
        axes = normalise_axes(self.params[0], x.ndim, self.name)
        for axis in axes:
            if isinstance(x.shape[axis], int) and x.shape[axis] != 1:
                raise ShapeError(
                    f"axis {axis} of {x} has size {x.shape[axis]} and cannot be squeezed",
                    fix="Only an axis of size 1 can be removed; use an index to pick one element.",
                )
        return x.with_shape(d for a, d in enumerate(x.shape) if a - x.ndim not in axes)  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Squeeze with NumPy."""
        return np.squeeze(values[0], self.params[0])


class Dim(AxisOp):
    """The size of one dimension when the graph runs, as an int64 scalar."""

    __slots__ = ()
    name = "dim"
    total = True
    arity = 1
    computes = False
    moves_elements = True
    returns_new_array = True
    reads_shape = True
    view = True
    overhead = 50

    def infer(self, *types: Any) -> Type:
        """Return the type of an int64 scalar."""
        normalise_axis(self.params[0], types[0].ndim, self.name)
        return TensorType("int64")

    def perform(self, *values: Any) -> Any:
        """Read the size."""
        return np.asarray(np.shape(values[0])[self.params[0]], dtype="int64")

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know that a size is not negative."""
        return proved("nonnegative")


@documented("pattern")
def reshape(x: Any, *shape: Any, order: str = "C") -> Any:
    """Return the elements of ``x`` in another shape.

    *shape (int, str or integer scalar Variable, or one tuple of them): Static sizes; -1, once, for
        the size that follows; names that occur in the shape of ``x``; integer scalars such as
        ``rg.dim(x, 0)`` for sizes known at the call. One axis of all elements is stored as -1, so
        that a pattern with ``rg.ravel`` matches it.
    order ({"C", "F"}): Whether the last or the first index changes fastest, in ``x`` and in the
        result.
    Returns: ``x`` itself where the shape stays the same.
    ShapeError: When the number of elements would change.
    DomainError: For a name that does not occur in the shape of ``x``, or a negative size.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> x = make_input("x", TensorType("float64", ("n", 6)))
    >>> reshape(x, "n", 2, 3).type, reshape(x, -1, 3).type
    (float64[n, 2, 3], float64[?, 3])
    """
    entries = one_tuple(shape)
    if order != "C":
        return _reshaped_by_columns(x, entries, order)
    if is_open(entries):
        return Reshape(entries)(as_operand(x))
    x = as_operand(x)
    sizes, operands = _entries(x, entries, "reshape")
    sizes = list(check_shape(sizes, "reshape", unknown=True))
    if isinstance(x, Variable):
        solved = solve(x.type.shape, tuple(sizes))
        if solved == x.type.shape and None not in solved:
            return x
        sizes, operands = _inferred(x.type.shape, sizes, solved, operands)
    return Reshape(tuple(sizes))(x, *operands)


def _reshaped_by_columns(x: Any, entries: Any, order: str) -> Any:
    """Reshape in Fortran's order: in C order with all axes reversed, before and after."""
    if order != "F":
        raise DomainError(
            f"reshape takes the order 'C' or 'F', not {order!r}",
            fix="'A' and 'K' follow the layout in memory, which a graph does not know: use 'C'.",
        )
    if is_open(entries) or is_pattern(x):
        raise no_rank("reshape with order='F'", "Write the transposes and a reshape out.")
    columns = reshape(transpose(x), tuple(reversed(tuple(entries))))
    return transpose(columns)


def _inferred(
    old: Shape, sizes: list[Any], solved: Shape, operands: list[Any]
) -> tuple[list[Any], list[Any]]:
    """Return a shape in canonical form: -1 where it is needed, else static, few operands."""
    if -1 in sizes:
        at = sizes.index(-1)
        if not isinstance(solved[at], int):
            return sizes, operands
        sizes[at] = solved[at]
    sizes = list(canonical_shape(old, tuple(sizes)))
    if len(operands) == 1:  # one size not static: it follows, unless an empty array hides it
        at = next(i for i, entry in enumerate(sizes) if not isinstance(entry, int))
        follows = [*sizes[:at], -1, *sizes[at + 1 :]]
        if sizes[at] is not None and 0 not in sizes and solve(old, tuple(follows)) == solved:
            return follows, []
    return sizes, operands


@documented("pattern")
def ravel(x: Any, order: str = "C") -> Any:
    """Return all elements of ``x`` as a vector.

    order ({"C", "F"}): Whether the last or the first index changes fastest.
    Returns (Variable or pattern): One dimension.
    """
    return reshape(x, (-1,), order=order)


@documented()
def broadcast_to(x: Any, shape: Any) -> Any:
    """Return ``x`` stretched to a shape, by NumPy's rule.

    x (Variable, array-like or pattern): Only its new axes and those that are statically 1 are
        stretched.
    shape (tuple of int, str or integer scalar Variable): A name must occur in the shape of ``x``;
        for the name of another input's dimension pass that dimension, ``rg.dim(y, axis)``, or a
        whole shape, ``rg.shape(y)``.
    Returns (Variable or pattern): Of that shape, in the dtype of ``x``.
    ShapeError: When ``x`` does not broadcast to the shape.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> x = make_input("x", TensorType("float64", ("n", 3)))
    >>> broadcast_to(1.0, shape(x)).type
    float64[n, 3]
    """
    if is_open(shape):
        return BroadcastTo(shape)(as_operand(x))
    x = as_operand(x)
    sizes, operands = _entries(x, one_tuple((shape,)), "broadcast_to")
    if isinstance(x, Variable) and tuple(sizes) == x.type.shape and None not in sizes:
        return x
    return BroadcastTo(tuple(sizes))(x, *operands)


@documented("pattern", "search")
def dim(x: Any, axis: int) -> Any:
    """Return the size of one dimension: an int where it is static, otherwise an int64 scalar.

    axis (int): Which dimension; for a pattern counted from the end.
    Returns (int, Variable or pattern): A Variable is int64 and has no dimensions.
    PatternError: For a pattern, whose rank is not known.
    """
    x = as_operand(x)
    axis = normalise_axis(axis, rank_of(x), "dim")
    if isinstance(x, Variable):
        if isinstance(x.type.shape[axis], int):
            return x.type.shape[axis]
        if isinstance(x.op, BroadcastTo):
            size = x.op.given_size(x, axis)
            if size is not None:
                return size
    return Dim(axis)(x)


@documented()
def shape(x: Any) -> tuple[Any, ...]:
    """Return the shape of ``x``: ints where sizes are static, otherwise int64 scalars.

    Returns (tuple of int and Variable): One entry a dimension.
    PatternError: For a pattern, which has no shape.
    """
    if is_pattern(x):
        raise no_rank("shape", "Use rg.dim(x, -1) for one size, or a side condition on types.")
    x = as_operand(x)
    return tuple(dim(x, axis) for axis in range(x.ndim))


def size(x: Any) -> Any:
    """Return the number of elements: an int where it is static, otherwise an int64 scalar."""
    return dim(ravel(x), -1)


def product_of(sizes: Iterable[Any]) -> Any:
    """Return the product of sizes: an int if all are static, else an int64 scalar."""
    total: Any = 1
    for one in sizes:
        total = one if isinstance(total, int) and total == 1 else total * one
    return total


def slab(value: Any, x: Variable, axis: int, size: int = 1) -> Any:
    """Return a scalar stretched to the shape of ``x``, but to another size along one axis."""
    sizes = list(shape(x))
    sizes[axis] = size
    return broadcast_to(value, tuple(sizes))


@documented("pattern", "reduction")
def expand_dims(x: Any, axis: Any) -> Any:
    """Return ``x`` with axes of size 1 inserted.

    axis (int or tuple of int): Where the result has the new axes; for a pattern counted from the
        end.
    Returns (Variable or pattern): With as many more dimensions as there are axes in ``axis``.
    PatternError: For a pattern and an axis counted from the front.
    """
    x = as_operand(x)
    if is_open(axis):
        return ExpandDims(axis)(x)
    places = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    ndim = rank_of(x)
    axes = normalise_axes(places, None if ndim is None else ndim + len(places), "expand_dims")
    return ExpandDims(axes)(x) if axes else x


def _entries(x: Any, entries: Any, function: str) -> tuple[list[Any], list[Any]]:
    """Return the shape parameter of an op, and the operands that give its open sizes."""
    sizes: list[Any] = []
    operands: list[Any] = []
    for entry in entries:
        if isinstance(entry, Constant):
            check_scalar(entry.type, f"{function}: a size")
            entry = int(entry.value)
        if isinstance(entry, str):
            entry = _named(x, entry, function)
        if isinstance(entry, Variable) or is_pattern(entry):
            sizes.append(_name_of(entry))
            operands.append(entry)
        else:
            sizes.append(check_int(entry, f"{function}: a size"))
    return sizes, operands


def _named(x: Any, name: str, function: str) -> Any:
    """Return the size of the dimension of ``x`` that has this name."""
    if not isinstance(x, Variable):
        raise no_rank(f"{function} to a named size", "Pass sizes as rg.dim(x, -1) in a pattern.")
    if name not in x.type.shape:
        raise DomainError(
            f"{function}: no dimension of the operand is called {name!r}",
            {"operand": f"{x} : {x.type}"},
            "Pass the size of the input that has it, as rg.dim(y, axis).",
        )
    return Dim(x.type.shape.index(name) - x.ndim)(x)


def _name_of(entry: Any) -> Extent:
    """Return the name of the dimension whose size ``entry`` is, or None."""
    if isinstance(entry, Variable) and isinstance(entry.op, Dim):
        return entry.inputs[0].type.shape[entry.op.axis]  # type: ignore[no-any-return]
    return None
