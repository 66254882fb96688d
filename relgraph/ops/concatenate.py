"""Joining arrays along an axis, and taking them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from relgraph.errors import ArgumentError, ShapeError
from relgraph.ir.facts import MATRIX_FACTS, Facts, kept, of_elements, shared
from relgraph.ir.node import Variable
from relgraph.ir.types import Dim, TensorType, Type, unify_dims
from relgraph.ops.arguments import AxisOp, as_operand, is_pattern, normalise_axis, rank_of
from relgraph.ops.docstrings import documented
from relgraph.ops.shape import ravel


class _Join(AxisOp):
    """An op that puts its operands beside each other."""

    __slots__ = ()
    moves_elements = True
    returns_new_array = True
    alternative: ClassVar[str]  # what joins operands of different ranks, for a message

    def _common_shape(self, types: Sequence[Any], joined: int | None = None) -> list[Dim]:
        """Return the sizes in which all operands agree, and the first one's along ``joined``."""
        dims: list[Dim] = list(types[0].shape)
        for other in types[1:]:
            if other.ndim != len(dims):
                raise ShapeError(
                    f"the operands of {self.name} have different numbers of dimensions",
                    fix=f"Insert axes with expand_dims, or {self.alternative}.",
                )
            for axis in range(-len(dims), 0):
                if axis != joined:
                    dims[axis] = _same_size(dims[axis], other.shape[axis], axis, self.name)
        return dims

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know what is known of every operand."""
        facts = shared(operands)
        return of_elements(facts) | kept(facts, *(MATRIX_FACTS if self.params[0] < -2 else ()))


class Concatenate(_Join):
    """Join arrays along one of their axes."""

    __slots__ = ()
    name = "concatenate"
    measure = (12, 1)
    alternative = "join along a new axis with stack"

    def infer(self, *types: Any) -> Type:
        """Return the common dtype, and the sum of the sizes where all are static."""
        axis = normalise_axis(self.params[0], _first(types, self.name).ndim, self.name)
        dims = self._common_shape(types, axis)
        dims[axis] = _sum([type_.shape[axis] for type_ in types])
        return TensorType(np.result_type(*[t.dtype for t in types]), dims)

    def result_sizes(self, shapes: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
        """Add the sizes along the axis."""
        sizes, axis = list(shapes[0]), self.params[0]
        sizes[axis] = sum([shape[axis] for shape in shapes])
        return tuple(sizes)

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
    measure = (2, 1)
    alternative = "stretch operands with broadcast_to"

    def infer(self, *types: Any) -> Type:
        """Return the common dtype, and the shape with the number of operands inserted."""
        ndim = _first(types, self.name).ndim + 1
        place = normalise_axis(self.params[0], ndim, self.name) + ndim
        dims = self._common_shape(types)
        dims.insert(place, len(types))
        return TensorType(np.result_type(*[t.dtype for t in types]), dims)

    def perform(self, *values: Any) -> Any:
        """Stack with NumPy."""
        return np.stack(values, axis=self.params[0])


def _operands(arrays: Sequence[Any], function: str) -> list[Any]:
    if is_pattern(arrays) or isinstance(arrays, Variable):
        raise ArgumentError(
            f"{function} takes a sequence of arrays", {"given": arrays}, "Pass a list: [x, y]."
        )
    operands = [as_operand(x) for x in arrays]
    _first(operands, function)
    return operands


def _first(operands: Sequence[Any], function: str) -> Any:
    """Return the first of some operands, or of their types."""
    if not operands:
        raise ArgumentError(
            f"{function} needs at least one operand",
            fix="Pass a list with an array; rg.zeros(shape) makes one that may be empty.",
        )
    return operands[0]


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


@documented()
def concatenate(arrays: Sequence[Any], axis: Any = 0) -> Any:
    """Join arrays along an axis that they have.

    arrays (sequence of Variable, array-like or pattern): Of the same shape but for that axis;
        nothing is stretched.
    axis (int or None): Counted from either end (for patterns, from the end); None joins the raveled
        arrays.
    Returns: Of their common dtype; of static size along the axis where every operand is.
    ShapeError: When the other dimensions differ.

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


@documented()
def stack(arrays: Sequence[Any], axis: Any = 0) -> Any:
    """Join arrays of one shape along a new axis.

    arrays (sequence of Variable, array-like or pattern): Of the same shape; nothing is stretched.
    axis (int): Where the result has the new axis (for patterns counted from its end).
    Returns (Variable or pattern): With one more dimension than the arrays.
    ShapeError: When the shapes differ.
    """
    operands = _operands(arrays, "stack")
    ranks = [rank for rank in map(rank_of, operands) if rank is not None]
    return Stack(normalise_axis(axis, ranks[0] + 1 if ranks else None, "stack"))(*operands)
