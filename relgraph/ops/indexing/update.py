"""Functional updates: a copy of an array in which the part that a key selects is changed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from relgraph.errors import (
    DTypeError,
    PatternError,
    ShapeError,
    UnsupportedAttributeError,
)
from relgraph.ir.cost import size
from relgraph.ir.dispatch import traceable
from relgraph.ir.facts import NOTHING, Facts, of_elements, shared
from relgraph.ir.node import Variable, as_literal, as_variable
from relgraph.ir.op import Op
from relgraph.ir.types import Type, broadcast_shapes, covers
from relgraph.ops.arguments import is_pattern, shape_text
from relgraph.ops.elementwise import Elementwise, add, maximum, minimum, multiply
from relgraph.ops.indexing.expression import Spec, indexed_shape, numpy_key, parse_key, spec_text
from relgraph.ops.indexing.index import as_array
from relgraph.ops.permutation import postfix_operand


class IndexUpdate(Op):
    """A copy of an array in which the part that a key selects is changed by a value.

    Parameters
    ----------
    spec : tuple of tuple
        The key, as that of :class:`relgraph.ops.indexing.index.Index`.
    """

    __slots__ = ()
    parameters = ("spec",)
    combiner: ClassVar[Elementwise | None] = None  # joins a value to an element; None replaces it

    def infer(self, *types: Any) -> Type:
        """Return the type of the array; the value must fit its dtype and broadcast to the part."""
        x, value, *rest = types
        part = indexed_shape(self.params[0], x.shape, tuple(rest))
        if not np.can_cast(value.dtype, x.dtype, "same_kind"):
            raise DTypeError(
                f"a value of dtype {value.dtype} cannot be stored in an array of {x.dtype}",
                fix=f"Convert the value with .astype({x.dtype.name!r}), or the array.",
            )
        try:
            fits = covers(broadcast_shapes([part, value.shape]), part)
        except ShapeError:
            fits = False
        if not fits:
            raise ShapeError(
                "the value does not broadcast to the part it replaces",
                {"value": shape_text(value.shape), "part": shape_text(part)},
                "Reshape the value: each of its sizes is that of the part, or is declared as 1.",
            )
        return x  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Update a copy with NumPy; where a key repeats an element, the updates accumulate."""
        return self.overwrite(np.array(values[0], order="C"), *values[1:])

    def overwrite(self, *values: Any) -> Any:
        """Update the first operand, which nothing else reads, and return it.

        It is C-contiguous and writeable; the value and the operands of the key follow.
        """
        result, value, *rest = values
        key = numpy_key(self.params[0], tuple(rest))
        value = np.asarray(value).astype(result.dtype)
        if self.combiner is None:
            result[key] = value
        else:
            # Flat places and values: NumPy 2.4's ufunc.at reads past the end of a value that it
            # has to broadcast to an index array of several dimensions.
            places = np.arange(result.size).reshape(result.shape)[key]
            spread = np.broadcast_to(value, places.shape).ravel()
            ufunc: Any = self.combiner.row.compute
            ufunc.at(result.reshape(-1), places.ravel(), spread)
        return result

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost one operation for each element that is combined with a value."""
        return 0 if self.moves_elements else size(types[1])

    def infix(self, operands: list[str]) -> str | None:
        """Print as ``at(x)[key].set(value)``."""
        key = spec_text(self.params[0], operands[2:])
        return f"at({operands[0]})[{key}].{self.name.split('_')[0]}({operands[1]})"

    def described(self, operands: list[str]) -> str:
        """Name it as it is typed with the property ``at``."""
        array, value, *others = operands
        key = spec_text(self.params[0], others)
        return f"{postfix_operand(array)}.at[{key}].{self.name.split('_')[0]}({value})"


class SetIndex(IndexUpdate):
    """A copy of an array with a part replaced; of updates to one element the last holds."""

    __slots__ = ()
    name = "set_index"
    measure = (4, 1)
    moves_elements = True

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know what is known of both the array and the value."""
        if node.inputs[0].dtype != node.inputs[1].dtype:
            return NOTHING  # the value is converted, and may overflow or wrap
        return of_elements(shared(operands[:2]))


class AddIndex(IndexUpdate):
    """A copy of an array with a value added to a part; repeated elements accumulate."""

    __slots__ = ()
    name = "add_index"
    measure = (5, 1)
    combiner = add


class MultiplyIndex(IndexUpdate):
    """A copy of an array with a part multiplied by a value; repeated elements accumulate."""

    __slots__ = ()
    name = "multiply_index"
    measure = (5, 1)
    combiner = multiply


class MinimumIndex(IndexUpdate):
    """A copy of an array with the minimum of a part and a value in its place."""

    __slots__ = ()
    name = "min_index"
    measure = (5, 1)
    combiner = minimum


class MaximumIndex(IndexUpdate):
    """A copy of an array with the maximum of a part and a value in its place."""

    __slots__ = ()
    name = "max_index"
    measure = (5, 1)
    combiner = maximum


class At:
    """The parts of an array, to be updated: ``at(x)[key].set(value)``.

    Each update is a new graph; the array does not change.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> x = make_input("x", TensorType("float64", ("n", 3)))
    >>> at(x)[:, 0].set(0)
    at(x)[:, 0].set(0)
    """

    __slots__ = ("array",)

    def __init__(self, x: Any) -> None:
        self.array = as_array(x, "at")

    @traceable
    def __getitem__(self, key: Any) -> Part:
        return Part(self.array, *parse_key(self.array, key))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python and its libraries ask for
            raise AttributeError(name)
        raise UnsupportedAttributeError(
            f"x.at has no attribute {name!r}: it takes a key first",
            fix=f"Write x.at[key].{name}(value), with x.at[...] for the whole array."
            if name in UPDATES
            else f"Write x.at[key] and one of {_listed(UPDATES)}.",
        )


class Part:
    """One part of an array, and the updates of it; each takes a value that broadcasts to it."""

    __slots__ = ("array", "operands", "spec")

    def __init__(self, array: Variable, spec: Spec, operands: list[Variable]) -> None:
        self.array, self.spec, self.operands = array, spec, operands

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python and its libraries ask for
            raise AttributeError(name)
        raise UnsupportedAttributeError(
            f"a part of an array, x.at[key], has no update {name!r}",
            {"updates": _listed(UPDATES)},
            _INSTEAD.get(name, "Write x.at[key].set(value), where value may be made of x[key]."),
        )

    def set(self, value: Any) -> Any:
        """Return the array with the part replaced."""
        return self._apply(SetIndex, value)

    def add(self, value: Any) -> Any:
        """Return the array with the value added to the part; repeated elements accumulate."""
        return self._apply(AddIndex, value)

    def multiply(self, value: Any) -> Any:
        """Return the array with the part multiplied by the value."""
        return self._apply(MultiplyIndex, value)

    def min(self, value: Any) -> Any:
        """Return the array with the smaller of the part and the value in its place."""
        return self._apply(MinimumIndex, value)

    def max(self, value: Any) -> Any:
        """Return the array with the larger of the part and the value in its place."""
        return self._apply(MaximumIndex, value)

    def _apply(self, op: type[IndexUpdate], value: Any) -> Any:
        if is_pattern(value):
            raise PatternError(
                "an update cannot take a pattern as its value",
                fix="Give it a number, an array or a graph.",
            )
        if op is SetIndex and self.array.dtype.kind == "b":
            value = as_literal(value)
        value = as_variable(value, like=[self.array.dtype])
        return op(self.spec)(self.array, value, *self.operands)


UPDATES = ("set", "add", "multiply", "min", "max")

_INSTEAD = {
    "get": "Write x[key].",
    "subtract": "Write x.at[key].add(-value).",
    "divide": "Write x.at[key].set(x[key] / value).",
    "mul": "Write x.at[key].multiply(value).",
    "minimum": "Write x.at[key].min(value).",
    "maximum": "Write x.at[key].max(value).",
    "power": "Write x.at[key].set(x[key] ** value).",
    "apply": "Write x.at[key].set(function(x[key])).",
}


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f".{name}(value)" for name in names)


def at(x: Any) -> At:
    """Return the parts of ``x``, to be updated functionally: ``at(x)[key].set(value)``."""
    return At(x)
