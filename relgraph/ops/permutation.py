"""Permutations of axes; the transpose of the last two is an op of its own at every rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import DomainError, ShapeError, count_of
from relgraph.ir.facts import MATRIX_FACTS, Facts, kept, of_elements
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Type
from relgraph.ops.arguments import (
    as_operand,
    check_int,
    distinct_axes,
    is_open,
    no_rank,
    normalise_axis,
    rank_of,
)
from relgraph.ops.docstrings import documented
from relgraph.ops.sparse import SparseTranspose, is_sparse, transposed_facts


class Rearrangement(Op):
    """An op whose result holds elements of its first operand, so it keeps facts of values."""

    __slots__ = ()
    computes = False
    moves_elements = True
    rearranges = linear = True
    view = True
    overhead = 200

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep what is known of each element, and of each matrix where those stay whole."""
        matrices = MATRIX_FACTS if self.keeps_matrices(node) else ()
        return of_elements(operands[0]) | kept(operands[0], *matrices)

    def keeps_matrices(self, node: Variable) -> bool:
        """Return True if each matrix of the result is a matrix of the operand."""
        return False


class Transpose(Rearrangement):
    """Permute all axes: axis ``axes[i]`` of the operand becomes axis ``i`` of the result.

    Parameters
    ----------
    axes : tuple of int
        A permutation, counted from the end.
    """

    __slots__ = ()
    name = "transpose"
    total = True
    measure = (4, 1)
    second_measure = (1, 2)
    parameters = ("axes",)
    arity = 1

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the permutation, counted from the end."""
        (axes,) = super().canonical(*args, **kwargs)
        return (axes if is_open(axes) else _permutation(axes, len(axes)),)

    def infer(self, *types: Any) -> Type:
        """Return the type with its axes permuted."""
        axes = self.params[0]
        if len(axes) != types[0].ndim:
            raise ShapeError(
                f"a permutation of {count_of(len(axes), 'axis')} does not fit {types[0]}",
                fix="Name every axis once, as in transpose(x, (1, 0)) for a matrix.",
            )
        return types[0].with_shape(types[0].shape[axis] for axis in axes)  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Transpose with NumPy."""
        return np.transpose(values[0], self.params[0])

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep facts of values, and of matrices where the last two axes stay the last two."""
        last = self.params[0][-2:]
        if last == (-1, -2):
            return of_elements(operands[0]) | transposed_facts(operands[0])
        return of_elements(operands[0]) | kept(
            operands[0], *(MATRIX_FACTS if last == (-2, -1) else ())
        )


class MatrixTranspose(Rearrangement):
    """Swap the last two axes: the transpose of each matrix."""

    __slots__ = ()
    name = "matrix_transpose"
    latex = r"#1^{\top}"
    total = True
    second_measure = (1, 2)
    arity = 1

    def infer(self, *types: Any) -> Type:
        """Return the type with its last two axes swapped."""
        shape = types[0].shape
        if len(shape) < 2:
            raise ShapeError(
                f"only a matrix, or a batch of them, has a matrix transpose, not {types[0]}",
                fix="Use expand_dims(x, -1) for a column and expand_dims(x, -2) for a row.",
            )
        return types[0].with_shape((*shape[:-2], shape[-1], shape[-2]))  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Swap the axes with NumPy."""
        return np.swapaxes(values[0], -1, -2)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep all facts; swap lower and upper."""
        return of_elements(operands[0]) | transposed_facts(operands[0])

    def infix(self, operands: list[str]) -> str | None:
        """Print as ``x.mT``."""
        return f"{postfix_operand(operands[0])}.mT"


def are_transposes(x: Variable, y: Variable) -> bool:
    """Return True if one of two matrices is written as the transpose of the other."""
    flip = MatrixTranspose()
    return (y.op is flip and y.inputs[0] is x) or (x.op is flip and x.inputs[0] is y)


def postfix_operand(text: str) -> str:
    """Return the text of an operand as it stands before ``.mT`` or ``[...]``."""
    depth = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if depth == 0 and character in " -~":
            return f"({text})"
    return f"({text})" if text[:1].isdigit() else text


def _permutation(axes: Any, ndim: int) -> tuple[int, ...]:
    order = tuple(
        normalise_axis(check_int(axis, "transpose: an axis"), ndim, "transpose") for axis in axes
    )
    if len(order) != ndim or len(set(order)) != ndim:
        raise DomainError(
            f"transpose: {tuple(axes)} is not a permutation of {count_of(ndim, 'axis')}",
            fix="Name every axis once.",
        )
    return order


@documented("pattern")
def transpose(x: Any, *axes: Any) -> Any:
    """Return ``x`` with its axes permuted; all reversed when none are given.

    x: For a pattern, without axes, the matrix transpose: patterns speak of matrices.
    *axes (int, or one tuple of them): Axis ``axes[i]`` of ``x`` becomes axis ``i`` of the result.
    Returns: ``x`` itself where nothing moves.
    DomainError: When the axes are not a permutation.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> x = make_input("x", TensorType("float64", ("n", 3)))
    >>> transpose(x), transpose(x).type
    (x.mT, float64[3, n])
    """
    x = as_operand(x)
    ndim = rank_of(x)
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int | np.integer) else axes
    if is_open(order):
        return Transpose(order)(x)
    if not axes or order is None:
        if ndim is None:
            return MatrixTranspose()(x)
        order = tuple(reversed(range(ndim)))
    permutation = _permutation(order, len(order) if ndim is None else ndim)
    straight = tuple(range(-len(permutation), 0))
    if permutation == straight:
        return x
    if permutation == (*straight[:-2], -1, -2) and (len(permutation) == 2 or ndim is not None):
        return matrix_transpose(x)
    return Transpose(permutation)(x)


@documented("matrix")
def matrix_transpose(x: Any) -> Any:
    """Return ``x`` with its last two axes swapped.

    Returns (Variable or pattern, [..., n, m]): In the dtype of ``x``.
    """
    x = as_operand(x)
    return SparseTranspose()(x) if is_sparse(x) else MatrixTranspose()(x)


@documented()
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Return ``x`` with two axes swapped.

    x (Variable, array-like or pattern): For a pattern, only the last two axes can be swapped.
    axis1, axis2 (int): The axes, counted from either end.
    Returns (Variable or pattern): With the axes in their new order.
    DomainError: For an axis out of range.
    """
    x = as_operand(x)
    ndim = rank_of(x)
    first = normalise_axis(axis1, ndim, "swapaxes")
    second = normalise_axis(axis2, ndim, "swapaxes")
    if first == second:
        return x
    if {first, second} == {-1, -2}:
        return MatrixTranspose()(x)
    if ndim is None:
        raise no_rank("swapaxes", "In a pattern only the last two axes can be swapped, with .mT.")
    order = list(range(-ndim, 0))
    order[first], order[second] = second, first
    return transpose(x, tuple(order))


@documented()
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Return ``x`` with some axes moved; the others keep their order.

    source, destination (int or sequence of int): Where the axes are, and where the result has them.
    Returns: With the axes in their new order.
    PatternError: For a pattern: use ``transpose`` with all axes.
    DomainError: When the two do not have the same number of axes.
    """
    x = as_operand(x)
    if not isinstance(x, Variable):
        raise no_rank("moveaxis", "In a pattern use transpose with all axes, or .mT.")
    old, new = (distinct_axes(axes, x.ndim, "moveaxis") for axes in (source, destination))
    if len(old) != len(new):
        raise DomainError(
            "moveaxis: as many axes must leave as arrive",
            {"source": source, "destination": destination},
            "Name one destination for each source.",
        )
    order = [axis for axis in range(-x.ndim, 0) if axis not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place + x.ndim, axis)
    return transpose(x, tuple(order))
