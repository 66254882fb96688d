"""Checks at the call: of a shape, of a condition, and of the sizes that squeeze keeps.

And the distinct elements of an array.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, DomainError, RelgraphError, ShapeError
from relgraph.ir.cost import size as count_of_elements
from relgraph.ir.facts import Facts, of_elements
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.polynomial import digits
from relgraph.ir.types import TensorType, Type
from relgraph.ops.arguments import (
    as_operand,
    check_no_list,
    is_axis_of_scalar,
    is_int,
    is_open,
    is_pattern,
    no_rank,
    normalise_axes,
    rank_of,
    shape_text,
)
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise import logical_and, not_equal
from relgraph.ops.permutation import Rearrangement
from relgraph.ops.shape import Squeeze, dim


class SpecifyShape(Rearrangement):
    """The operand, of which some sizes are known; they are compared at the call.

    Parameters
    ----------
    shape : tuple of int or None
        A size for each axis, or None where nothing is said.
    """

    __slots__ = ()
    name = "specify_shape"
    measure = (2, 2)
    parameters = ("shape",)
    arity = 1

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the shape as a tuple of ints and None."""
        (shape,) = super().canonical(*args, **kwargs)
        if is_open(shape):
            return (shape,)
        for size in shape:
            if size is not None and not (is_int(size) and size >= 0):
                raise ArgumentError(
                    f"specify_shape: a size is an int or None, not {size!r}",
                    fix="Give None for a size of which nothing is known.",
                )
        return (tuple([None if size is None else int(size) for size in shape]),)

    def infer(self, *types: Any) -> Type:
        """Return the type with the given sizes."""
        (x,) = types
        shape = self.params[0]
        if len(shape) != x.ndim:
            raise ShapeError(
                f"specify_shape: {x} has not the rank of the shape",
                {"shape": shape},
                "Give one size, or None, for each axis.",
            )
        sizes = []
        for entry, size in zip(x.shape, shape, strict=True):
            if isinstance(entry, int) and size not in (None, entry):
                raise ShapeError(
                    f"specify_shape: a size of {x} is {entry}, not {size}",
                    fix=f"Give {entry} or None for that axis, or declare it as {size}.",
                )
            sizes.append(entry if size is None else size)  # a name is compared at the call
        return x.with_shape(sizes)  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Return the operand where it has the shape, or raise ShapeError."""
        actual, shape = np.shape(values[0]), self.params[0]
        if len(actual) != len(shape) or any(
            [size is not None and size != entry for entry, size in zip(actual, shape, strict=True)]
        ):
            raise ShapeError(
                "an array does not have the shape that specify_shape gives",
                {"shape": shape_text(actual), "expected": shape_text(shape)},
                "Pass an array of that shape, or leave the size open with None.",
            )
        return values[0]

    def keeps_matrices(self, node: Variable) -> bool:
        """Keep everything."""
        return True


class Assert(Rearrangement):
    """The first operand, where all elements of the second are true; else an error at the call.

    Parameters
    ----------
    message : str, or tuple of str
        What the error says; or its class ("DomainError" or "ShapeError"), that, and its fix.
    """

    __slots__ = ()
    name = "assert"
    parameters = ("message",)
    arity = 2

    def infer(self, *types: Any) -> Type:
        """Return the type of the first operand."""
        return types[0]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Return the first operand, or raise the error."""
        if np.all(values[1]):
            return values[0]
        message = self.params[0]
        if not isinstance(message, tuple):
            message = ("DomainError", str(message), "Give values for which the condition holds.")
        kind, what, fix = message
        raise _ERRORS[kind](what, fix=fix)

    def keeps_matrices(self, node: Variable) -> bool:
        """Keep everything."""
        return True


_ERRORS: dict[str, type[RelgraphError]] = {"DomainError": DomainError, "ShapeError": ShapeError}


class Unique(Op):
    """The distinct elements of an array, sorted; NaN comes last, once."""

    __slots__ = ()
    name = "unique"
    measure = (8, 2)
    arity = 1
    moves_elements = True

    def infer(self, *types: Any) -> Type:
        """Return a vector; its size is known where there is one element at most."""
        shape = types[0].shape
        few = 0 in shape or all([size == 1 for size in shape])
        return TensorType(types[0].dtype, ((0 if 0 in shape else 1) if few else None,))

    def perform(self, *values: Any) -> Any:
        """Sort with NumPy."""
        return np.unique(values[0])

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost n log2(n) comparisons."""
        count = count_of_elements(types[0])
        return count * digits(count)  # type: ignore[no-any-return]

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep what is known of each element."""
        return of_elements(operands[0])


@documented()
def specify_shape(x: Any, shape: Any) -> Any:
    """Return ``x`` with sizes that the graph may rely on; they are compared at the call.

    shape (sequence of int or None): A size for each axis; None where nothing is said.
    Returns: ``x`` itself where its type has the sizes already.
    ArgumentError: For a shape that is not a sequence of ints and None.
    ShapeError: For a size that ``x`` cannot have.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> x = make_input("x", TensorType("float64", (None, "n")))
    >>> specify_shape(x, (3, None)).type
    float64[3, n]
    """
    if not is_open(shape):
        if not isinstance(shape, Iterable):
            raise ArgumentError(
                f"specify_shape takes a size for each axis, not {shape!r:.60}",
                fix="Write specify_shape(x, (3, None)).",
            )
        shape = tuple(shape)
    node = SpecifyShape(shape)(as_operand(x))
    if isinstance(node, Variable) and node.type is node.inputs[0].type:
        return node.inputs[0]
    return node


@documented()
def assert_(
    x: Any,
    condition: Any,
    message: str = "an assertion does not hold",
    fix: str | None = None,
) -> Any:
    """Return ``x``; a call where the condition is not true in all elements raises an error.

    x (Variable, array-like or pattern): What is returned.
    condition (Variable, array-like or pattern): Any dtype and shape.
    message (str): What the error says.
    fix (str, optional): How to mend it: the last line of the error.
    Returns (Variable or pattern): Of the type of ``x``. Mode ``unsafe`` leaves the check out.
    DomainError: At a call, where the condition is not true.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> f = rg.function([x], rg.log(rg.assert_(x, x > 0, "x must be positive")))
    >>> f([1.0])
    array([0.])
    """
    parameter = message if fix is None else ("DomainError", message, fix)
    return Assert(parameter)(as_operand(x), as_operand(condition))


def assert_sizes(x: Any, condition: Any, message: str, fix: str) -> Any:
    """Return ``x``; a call where the condition on sizes is not true raises ShapeError.

    Message and fix are those of the error for sizes that are known when the graph is built.
    """
    return Assert(("ShapeError", message, fix))(x, as_operand(condition))


@documented("pattern")
def squeeze(x: Any, axis: Any = None) -> Any:
    """Return ``x`` without axes of size 1.

    axis (int or tuple of int, optional): Which axes; a size that is not static is checked at the
        call. Without it, those whose size is statically 1.
    Returns (Variable or pattern): With fewer dimensions and the same elements.
    ShapeError: For an axis whose size is not 1; at a call, without ``axis``, for one whose size is
        not static and turns out to be 1: the number of dimensions is that of the graph.
    PatternError: For a pattern without ``axis``.
    """
    x = as_operand(x)
    if axis is None:
        if not isinstance(x, Variable):
            raise no_rank("squeeze", "Name the axes, counted from the end.")
        kept_axes = [a for a, entry in enumerate(x.type.shape) if not isinstance(entry, int)]
        result = squeeze(x, tuple(a for a, entry in enumerate(x.type.shape) if entry == 1))
        if not kept_axes:
            return result
        return assert_sizes(
            result,
            reduce(logical_and, [not_equal(dim(x, a), 1) for a in kept_axes]),
            "squeeze without axis= keeps an axis of no static size, and it has size 1",
            f"Name the axes to remove with axis=; the sizes of {tuple(kept_axes)} are not static.",
        )
    check_no_list(axis, "squeeze")
    if is_axis_of_scalar(axis, rank_of(x)):  # as NumPy's
        return x
    axes = normalise_axes(axis, rank_of(x), "squeeze")
    return x if axes == () else Squeeze(axes)(x)


@documented()
def unique(x: Any) -> Any:
    """Return the distinct elements of ``x``, sorted, as ``numpy.unique`` does.

    Returns: A vector, of a size that is known at the call.
    PatternError: For a pattern, which is written with the op.
    """
    if is_pattern(x):
        raise no_rank("unique", "Write it as the op: Unique()(x).")
    return Unique()(as_operand(x))
