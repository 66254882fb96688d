"""Writing to traced arrays: assignments, and results that go to the argument ``out``."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.api.tracing.storage import check_writable, joined, stand_in, steps_from
from relgraph.api.tracing.tracer import (
    Tracer,
    is_known,
    known,
    operand,
    running,
    type_of,
    values_of,
)
from relgraph.api.tracing.views import key_of
from relgraph.errors import ArgumentError, DTypeError, ShapeError, kind_of
from relgraph.ir.node import Variable, as_variable
from relgraph.ir.operators import FUNCTIONS
from relgraph.ir.types import Shape, broadcast_shapes, covers
from relgraph.ops.elementwise import cast
from relgraph.ops.indexing.expression import indexed_shape, parse_key
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import SetIndex
from relgraph.ops.shape import broadcast_to, reshape

MADE_HERE = (
    "Make the array in the function with np.zeros, np.empty or the like, spelled with the module "
    "(not after `from numpy import zeros`), or pass it as an argument."
)


def assign(x: Tracer, key: Any, value: Any) -> None:
    """Assign ``x[key] = value``, with the value converted to the dtype of the array."""
    if x._scalar:
        raise ArgumentError(
            "the traced function assigns to elements of a scalar",
            {"scalar": x.node},
            "Make an array of one number with np.zeros(()), or np.zeros(1).",
        )
    x._storage.check_body()
    if is_known((x, key, value)):
        array = values_of(x)
        assert array is not None
        array[known(key)] = known(value)
        x._storage.changed()
        return
    start = stand_in(type_of(x))
    parsed = key_of(key)
    steps = steps_from(start, FUNCTIONS["index"](start, parsed))
    if steps is None:
        spec, operands = parse_key(start, parsed)
        part = indexed_shape(spec, start.type.shape, tuple(k.type for k in operands))
        node = without_lead(converted(value, start.dtype), part)
        write(x, SetIndex(spec)(x.node, node, *operands))
        return
    target = Tracer(x._storage, joined(x._steps, steps))
    if type(value) is Tracer and value._storage is x._storage and value._steps == target._steps:
        check_writable(target._steps)
        return  # x[key] += y has changed it already
    write(target, without_lead(converted(value, start.dtype), type_of(target).shape))


def without_lead(node: Variable, shape: Shape) -> Variable:
    """Return a value without leading axes of size 1 that the target of an assignment lacks."""
    extra = node.ndim - len(shape)
    if extra > 0 and set(node.type.shape[:extra]) == {1}:
        return reshape(node, node.type.shape[extra:])  # type: ignore[no-any-return]
    return node


def converted(value: Any, dtype: np.dtype[Any]) -> Variable:
    """Return the node of a value, converted to the dtype of the array that it is assigned to."""
    node = as_variable(operand(value), like=[dtype])
    return cast(node, dtype)  # type: ignore[no-any-return]


def store(x: Tracer, node: Variable, casting: str = "same_kind", where: Any = True) -> None:
    """Write the result of a ufunc to an array, as its argument ``out``.

    Parameters
    ----------
    x : Tracer
        The array.
    node : Variable
        The result.
    casting : str
        NumPy's rule for the conversion to the dtype of the array.
    where : bool, or array of bool
        Which elements to write.

    Raises
    ------
    DTypeError
        If the rule forbids the conversion.
    ShapeError
        If the result does not broadcast to the shape of the array.
    """
    dtype = type_of(x).dtype
    if not np.can_cast(node.dtype, dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(
            f"a result of {node.dtype} cannot be written to an array of {dtype}, with casting "
            f"{casting!r}",
            {"array": type_of(x), "result": node},
            f"Convert the result with .astype({dtype.name!r}), or make the array of {node.dtype}.",
        )
    node = cast(node, dtype)
    if where is not True:
        node = FUNCTIONS["where"](operand(where), node, x.node)
    write(x, node)


def write(x: Tracer, node: Variable) -> None:
    """Write a graph, broadcast to the shape, to an array or view."""
    shape = type_of(x).shape
    _check_shape(node.type.shape, shape)
    check_writable(x._steps)
    storage = x._storage
    storage.check_body()
    if storage.by_order and running():
        running()[-1].by_order = True
    # The call compares sizes that are not known here, unless one of them may be stretched.
    is_whole = node.ndim == len(shape) and all(
        [n == d or (d is None and n != 1) for n, d in zip(node.type.shape, shape, strict=True)]
    )
    if not is_whole and not (x._steps and isinstance(x._steps[-1].op, Index)):
        node, is_whole = broadcast_to(node, shape), True
    part = None
    for k in reversed(range(len(x._steps))):
        whole = storage.read(x._steps[:k]) if k else storage.node
        part = node if is_whole else None
        node, is_whole = x._steps[k].written(whole, node), True
    storage.store(node, x._steps[0] if x._steps else None, part)


def _check_shape(value: Shape, shape: Shape) -> None:
    try:
        fits = covers(broadcast_shapes([shape, value]), shape)
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(
            "the traced function writes an array to one of another shape",
            {"value": value, "array": shape},
            "Give the value the shape of the array, or one that broadcasts to it.",
        )


def into(out: Any, result: Any, casting: str = "same_kind", where: Any = True) -> Any:
    """Write a result to the argument ``out``, and return the array."""
    if type(out) is tuple and len(out) == 1:
        (out,) = out
    if type(out) is not Tracer or out._scalar:
        raise ArgumentError(
            "the traced function writes a traced result to an array that the trace cannot follow",
            {"out": kind_of(out), "result": result},
            MADE_HERE,
        )
    store(out, result, casting, where)
    return out
