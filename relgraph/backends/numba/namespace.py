"""The namespace of a main function: the objects that the names in its text stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.base import Array, OpCall
from relgraph.backends.failures import failure, misplaced, no_elements
from relgraph.backends.numba import kernels
from relgraph.backends.numba.loop_calls import LoopCall
from relgraph.backends.numba.main_source import MainText
from relgraph.errors import ShapeError
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable
from relgraph.ir.types import DTYPES
from relgraph.lowering.kernels import Gather
from relgraph.lowering.loops.build import has_function
from relgraph.lowering.sizes import Check
from relgraph.ops.indexing.expression import numpy_key
from relgraph.ops.loops import is_loop

if TYPE_CHECKING:
    from relgraph.backends.numba.compiler import NumbaBackend

NUMBERS = tuple(name for name in DTYPES if name != "bool")


def namespace_of(
    main: MainText, functions: Mapping[str, Callable[..., None]], backend: NumbaBackend
) -> dict[str, Any]:
    """Return the namespace in which the functions of a program are defined."""
    return {
        "empty": kernels.empty,
        "given": given_or_new,
        "ready": ready,
        "matmul": np.matmul,
        "copyto": np.copyto,
        "ndarray": np.ndarray,
        "bool": np.bool_,
        **{name: np.dtype(name).type for name in NUMBERS},
        **functions,
        **{name: _call(n, n in main.overwrites, backend) for name, n in main.calls.items()},
        **{name: _packed(values) for name, values in main.packed.items()},
        **{name: ready(x.value) for name, x in main.constants.items()},
        **{name: _differ(check) for name, check in main.checks.items()},
        **{name: _no_elements(node) for name, node in main.nonempty.items()},
        **{name: _places(x) for name, x in main.gathers.items()},
        **{name: _part(node) for name, node in main.views.items()},
        **{name: _misshapen(node) for name, node in main.verified.items()},
    }


def _call(node: Variable, overwrite: bool, backend: NumbaBackend) -> Callable[..., Any]:
    if has_function(node):
        call = LoopCall(node, backend)
        if call.compiled is not None or is_loop(node):
            return call
    return OpCall(node, overwrite)


def given_or_new(place: Array | None, shape: tuple[int, ...], dtype: Any) -> Array:
    """Return the out argument of a result, or a new array if there is none."""
    if place is None:
        return kernels.empty(shape, dtype)
    if place.shape != shape:
        raise misplaced(place.shape, shape)
    return place


def ready(array: Array) -> Array:
    """Return an array as kernels expect it: C-contiguous and aligned."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else array.copy()


def _packed(values: Sequence[Constant]) -> Array:
    return np.array([x.uniform for x in values], dtype=values[0].dtype)


def _differ(check: Check) -> Callable[[int, int], None]:
    def differ(left: int, right: int) -> None:
        raise check.error(left, right)

    return differ


def _no_elements(node: Variable) -> Callable[[], None]:
    def nothing() -> None:
        raise no_elements(node)

    return nothing


def _places(gather: Gather) -> Callable[[Array, Array], Array]:
    node, axis = gather.node, gather.axis
    operand = node.inputs.index(gather.indices)

    def in_range(index: Array, array: Array) -> Array:
        """Return the indices as nonnegative numbers, or raise if one is out of range."""
        key: Any = (*[slice(1)] * axis, index)
        try:
            array[key]
        except IndexError as error:
            values = [array if i == 0 else ... for i in range(len(node.inputs))]
            values[operand] = index
            raise failure(node, values, error) from error
        places = index.astype(np.int64, copy=False)  # as NumPy reads indices, also unsigned ones
        return np.where(places < 0, places + array.shape[axis], places).astype(index.dtype)

    return in_range


def _part(node: Variable) -> Callable[..., Array]:
    spec = node.op.params[0]  # type: ignore[union-attr]

    def part(array: Array, *operands: Array) -> Array:
        """Return a view of an array, even if it is a single element."""
        try:
            return array[(*numpy_key(spec, operands), Ellipsis)]
        except IndexError as error:
            raise failure(node, _given(node, array, *operands), error) from error

    return part


def _given(node: Variable, array: Array, *key: Array) -> tuple[Any, ...]:
    """Return the operands of an index or update for an error message; an unknown one is ``...``."""
    return (array, *[...] * (len(node.inputs) - 1 - len(key)), *key)


def _misshapen(node: Variable) -> Callable[[Any, Any], None]:
    def misshapen(shape: Any, expected: Any) -> None:
        raise ShapeError(
            f"{node.op!r} computed the shape {shape}, and {expected} is needed",
            {"in": brief(node, 24), "type": node.type},
            "Sizes of one name must be equal within a call.",
        )

    return misshapen


__all__ = ["given_or_new", "namespace_of", "ready"]
