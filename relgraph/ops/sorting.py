"""Sorting along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, DomainError
from relgraph.ir.cost import extent, size
from relgraph.ir.facts import Facts, of_elements, proved
from relgraph.ir.node import Variable
from relgraph.ir.polynomial import digits
from relgraph.ir.types import Type
from relgraph.ops.arguments import AxisOp, as_operand, is_axis_of_scalar, normalise_axis, rank_of
from relgraph.ops.docstrings import documented
from relgraph.ops.shape import ravel


class _Sorting(AxisOp):
    """An op that sorts along an axis."""

    __slots__ = ()
    arity = 1
    moves_elements = True

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost n log2(n) comparisons for each vector."""
        return size(result) * digits(extent(types[0].shape[self.params[0]]))  # type: ignore[no-any-return]


class Sort(_Sorting):
    """The elements in ascending order along an axis, NaN last."""

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
        return of_elements(operands[0])


class Argsort(_Sorting):
    """The indices that sort an axis in ascending order; equal elements keep their order."""

    __slots__ = ()
    name = "argsort"
    computes = False
    returns_indices = True
    decides = "ties"

    def infer(self, *types: Any) -> Type:
        """Return the type int64 of the operand's shape."""
        normalise_axis(self.params[0], types[0].ndim, self.name)
        return types[0].with_dtype("int64")  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Sort with NumPy, by a stable method."""
        return np.argsort(values[0], axis=self.params[0], kind="stable").astype(np.int64)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know that indices are not negative."""
        return proved("nonnegative")


@documented()
def sort(a: Any, axis: Any = -1, kind: str | None = None, *, stable: bool | None = None) -> Any:
    """Return the elements in ascending order along an axis, as ``numpy.sort``.

    a (Variable, array-like or pattern): Of at least one dimension, unless ``axis`` is None; NaN
        come last.
    axis (int or None): Counted from either end, for a pattern from the end; None for the raveled
        array.
    kind ({"quicksort", "mergesort", "heapsort", "stable"}, optional): Checked, and of no effect:
        equal elements do not differ, but for the signs of zeros.
    stable (bool, optional): The same in another way.
    Returns (Variable or pattern): Of the shape and dtype of ``a``; of one dimension where ``axis``
        is None.
    DomainError: For an axis out of range, as every axis of a scalar is, or another ``kind``.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rg.evaluate(rnp.sort([3.0, 1.0, 2.0]))
    array([1., 2., 3.])
    """
    return _sorted(Sort, a, axis, kind, stable)


@documented(like=sort)
def argsort(a: Any, axis: Any = -1, kind: str | None = None, *, stable: bool | None = None) -> Any:
    """Return the indices that sort an axis in ascending order, as ``numpy.argsort``.

    a (Variable, array-like or pattern): Any dtype and shape; a scalar is a vector of one element.
        NaN come last.
    kind ({"quicksort", "mergesort", "heapsort", "stable"}, optional): Checked, and of no effect: of
        equal elements the first always comes first.
    Returns (Variable or pattern, int64): Of the shape of ``a``; of one dimension where ``axis`` is
        None.
    DomainError: For an axis out of range, or another ``kind``.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rg.evaluate(rnp.argsort([3.0, 1.0, 2.0]))
    array([1, 2, 0])
    """
    return _sorted(Argsort, a, axis, kind, stable)


_KINDS = ("quicksort", "mergesort", "heapsort", "stable")


def _sorted(op: type[_Sorting], a: Any, axis: Any, kind: Any, stable: Any) -> Any:
    if kind is not None and kind not in _KINDS:
        raise DomainError(
            f"{op.name} has no kind {kind!r}", {"kinds": ", ".join(_KINDS)}, "Use one of these."
        )
    if kind is not None and stable is not None:
        raise ArgumentError(
            f"{op.name} takes kind= or stable=, not both", fix="Leave both out: neither matters."
        )
    x = as_operand(a)
    if axis is None or (op is Argsort and is_axis_of_scalar(axis, rank_of(x))):  # as NumPy's
        x, axis = ravel(x), -1
    return op(normalise_axis(axis, rank_of(x), op.name))(x)
