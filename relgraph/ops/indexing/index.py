"""Indexing: the part of an array that a key selects."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import DomainError, PatternError
from relgraph.ir.facts import Facts, of_elements
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Type
from relgraph.ops.arguments import as_operand, is_axis_of_scalar, is_pattern, normalise_axis
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise import clip, remainder, subtract
from relgraph.ops.indexing.expression import (
    indexed_shape,
    is_advanced,
    numpy_key,
    parse_key,
    spec_text,
    split_new_axes,
)
from relgraph.ops.permutation import postfix_operand
from relgraph.ops.shape import dim, expand_dims, ravel


class Index(Op):
    """The part of an array that a key selects.

    Parameters
    ----------
    spec : tuple of tuple
        The key; :mod:`relgraph.ops.indexing.expression` has the table.  Dynamic parts are
        operands, in order.
    """

    __slots__ = ()
    name = "index"
    measure = (5, (4, 1))
    parameters = ("spec",)
    moves_elements = True
    rearranges = linear = True

    def infer(self, *types: Any) -> Type:
        """Return the type of the part."""
        return types[0].with_shape(indexed_shape(self.params[0], types[0].shape, types[1:]))  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Index with NumPy: a view where the key is basic."""
        return np.asarray(values[0])[numpy_key(self.params[0], values[1:])]

    @property
    def view(self) -> bool:  # type: ignore[override]
        """Whether the key is basic, so that the result is a view."""
        return not is_advanced(self.params[0])

    @property
    def returns_new_array(self) -> bool:  # type: ignore[override]
        """Whether the key is advanced, so that the result is a copy."""
        return not self.view

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep what is known of each element."""
        return of_elements(operands[0])

    def infix(self, operands: list[str]) -> str | None:
        """Print as ``x[0, 1:, i]``."""
        return f"{postfix_operand(operands[0])}[{spec_text(self.params[0], operands[1:])}]"

    def described(self, operands: list[str]) -> str:
        """Name it as it is typed."""
        return str(self.infix(operands))


@documented()
def index(x: Any, key: Any) -> Any:
    """Return the part of ``x`` that a key selects, by NumPy's rules.

    key (int, slice, None, Ellipsis, integer array, mask, or a tuple of them): Integer scalars,
        arrays and masks may be Variables; those are checked at the call.
    Returns: ``x`` itself where the key selects everything; the new axes of a basic key are those of
        :func:`~relgraph.ops.shape.expand_dims`.
    DomainError: For a static index out of range.
    ArgumentError: For a bool: ``x == y`` on graphs is identity.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> x = make_input("x", TensorType("float64", ("n", 3)))
    >>> index(x, (slice(1, None), -1)), index(x, [0, 0, 1]).type
    (x[1:, 2], float64[3, 3])
    """
    x = as_array(x, "index")
    spec, operands = parse_key(x, key)
    spec, axes = split_new_axes(spec)
    part = Index(spec)(x, *operands) if spec else x
    return expand_dims(part, axes) if axes else part


def along(x: Variable, axis: int, key: Any) -> Any:
    """Return the part of ``x`` that a key selects along an axis, counted from the front."""
    return index(x, (*[slice(None)] * axis, key))


@documented()
def take(x: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
    """Return the elements of ``x`` at indices along an axis.

    indices (int or integer array, of any shape): Negative ones count from the end.
    axis (int or None): Which axis; without it the raveled array.
    mode ({"raise", "wrap", "clip"}): What an index outside of the axis is: an error, counted round
        and round, or the nearest one; in "clip" negative ones are the first.
    Returns: The shape of ``indices`` in place of the axis.
    DomainError: For an axis or an index that is known to be out of range, or another mode.
    IndexRangeError: At a call, for an index out of range; also where another axis is empty, unlike
        NumPy.
    """
    x = as_array(x, "take")
    axis = None if is_axis_of_scalar(axis, x.ndim) else axis  # as NumPy's
    lead = 0 if axis is None else normalise_axis(axis, x.ndim, "take") + x.ndim
    whole = ravel(x) if axis is None else x
    return along(whole, lead, moved_inside(indices, dim(whole, lead), mode))


def moved_inside(indices: Any, size: Any, mode: str) -> Any:
    """Return indices of an axis of that size, moved into its range as ``mode`` says."""
    if mode == "raise":
        return indices
    if mode == "wrap":
        return remainder(indices, size)
    if mode == "clip":
        return clip(indices, 0, subtract(size, 1))
    raise DomainError(
        f"take has no mode {mode!r}", {"modes": "raise, wrap, clip"}, "Use one of these."
    )


def as_array(x: Any, function: str) -> Variable:
    """Return an operand as a node, or raise PatternError for a pattern."""
    if is_pattern(x):
        raise PatternError(
            f"{function} needs the rank of its operand, and a pattern has none",
            fix='In a pattern, apply the op to its key: Index((("int", 0),))(x) for x[0], or '
            "Index(s)(x) for any, of relgraph.ops.indexing.index; SetIndex(s)(x, v) of "
            "relgraph.ops.indexing.update.",
        )
    return as_operand(x)  # type: ignore[no-any-return]
