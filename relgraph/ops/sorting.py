"""Sorting along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import ArgumentError
from relgraph.ir.cost import extent, size
from relgraph.ir.facts import VALUE_FACTS, Facts, kept, proved
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Type
from relgraph.ops.arguments import as_operand, normalise_axis, rank_of


class _Sorting(Op):
    """An op that sorts along an axis."""

    __slots__ = ()
    parameters = ("axis",)
    arity = 1

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the axis, counted from the end."""
        (axis,) = super().canonical(*args, **kwargs)
        return (normalise_axis(axis, None, cls.name),)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost n log2(n) comparisons for each vector."""
        return size(result) * max(1, extent(types[0].shape[self.params[0]]).bit_length())


class Sort(_Sorting):
    """The elements in ascending order along an axis, NaN last.

    Parameters
    ----------
    axis : int
        Counted from the end.
    """

    __slots__ = ()
    name = "sort"

    def infer(self, *types: Any) -> Type:
        """Return the type of the operand."""
        normalise_axis(self.params[0], types[0].ndim, self.name)
        return types[0]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Sort with NumPy."""
        return np.sort(values[0], axis=self.params[0])

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep what is known of each element."""
        return kept(operands[0], *VALUE_FACTS)


class Argsort(_Sorting):
    """The places of the elements in ascending order along an axis; equal ones keep their order.

    Parameters
    ----------
    axis : int
        Counted from the end.
    """

    __slots__ = ()
    name = "argsort"
    computes = False

    def infer(self, *types: Any) -> Type:
        """Return the type int64 of the operand's shape."""
        normalise_axis(self.params[0], types[0].ndim, self.name)
        return types[0].with_dtype("int64")  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Sort with NumPy, by a stable method."""
        return np.argsort(values[0], axis=self.params[0], kind="stable").astype(np.int64)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know that places are not negative."""
        return proved("nonnegative")


def sort(x: Any, axis: int = -1) -> Any:
    """Return the elements in ascending order along an axis.

    Parameters
    ----------
    x : Variable, array-like or pattern
        Of at least one dimension; NaN come last.
    axis : int
        Counted from either end, for a pattern from the end.

    Returns
    -------
    Variable or pattern
        Of the shape and dtype of ``x``.
    """
    x = as_operand(x)
    return Sort(_axis(x, axis, "sort"))(x)


def argsort(x: Any, axis: int = -1) -> Any:
    """Return the places of the elements in ascending order along an axis.

    Parameters
    ----------
    x : Variable, array-like or pattern
        Of at least one dimension; of equal elements the first comes first.
    axis : int
        Counted from either end, for a pattern from the end.

    Returns
    -------
    Variable or pattern, int64
        Of the shape of ``x``.
    """
    x = as_operand(x)
    return Argsort(_axis(x, axis, "argsort"))(x)


def _axis(x: Any, axis: Any, function: str) -> Any:
    if axis is None:
        raise ArgumentError(f"{function} needs an axis", fix="Sort ravel(x) to sort all elements.")
    return normalise_axis(axis, rank_of(x), function)
