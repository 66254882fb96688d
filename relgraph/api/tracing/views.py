"""Views of traced arrays: which functions and keys make them, and where NumPy makes a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgraph.api.tracing.storage import Step, is_view, joined, layout, stand_in, steps_from
from relgraph.api.tracing.tracer import (
    Tracer,
    fresh,
    is_known,
    known,
    mapped,
    node_of,
    stacked,
    traces,
    type_of,
    unwrap,
    values_of,
    wrap,
)
from relgraph.api.tracing.weak_scalar import WeakScalar, trace_of, value_of
from relgraph.ir.node import Variable
from relgraph.ir.operators import FUNCTIONS
from relgraph.ops.shape import Reshape


def viewed(
    function: Callable[..., Any], args: Any, kwargs: Any, *, contiguous: bool = False
) -> Any:
    """Call a function that makes views, and return the views.

    Parameters
    ----------
    function : callable
        A function of nodes.
    args, kwargs : tuple, dict
        Its arguments, with tracers in place of nodes.
    contiguous : bool
        Whether NumPy makes a copy of an array that is not contiguous, as ``ravel`` does.
    """
    arrays: list[tuple[Tracer, Variable]] = []

    def replaced(value: Any) -> Any:
        if type(value) is Tracer:
            arrays.append((value, stand_in(type_of(value), len(arrays))))
            return arrays[-1][1]
        return value_of(value) if type(value) is WeakScalar else mapped(replaced, value)

    result = function(*replaced(args), **replaced(kwargs))
    views = _views(result, arrays, contiguous)
    if views is not None:
        return views
    return _views(result, arrays, contiguous, wrap(function(*unwrap(args), **unwrap(kwargs))))


def _views(
    result: Any, arrays: list[tuple[Tracer, Variable]], contiguous: bool, others: Any = None
) -> Any:
    """Return views of arrays, in the way that a result is a view of their stand-ins.

    Parameters
    ----------
    result : Variable, or tuple or list of them
        What a function of the stand-ins returned.
    arrays : list of (Tracer, Variable)
        The arrays, each with its stand-in.
    contiguous : bool
        As for :func:`viewed`.
    others : Tracer, or tuple or list of them, optional
        The results for the arrays themselves, which replace those that are not views.  Without
        them, the function returns None if a result is not a view.
    """
    if type(result) in (tuple, list):
        parts = [
            _views(x, arrays, contiguous, others if others is None else others[k])
            for k, x in enumerate(result)
        ]
        return None if any(x is None for x in parts) else type(result)(parts)
    for x, start in arrays:
        steps = steps_from(start, result) if isinstance(result, Variable) else None
        if steps is not None:
            return _view(x, steps, contiguous)
    return others


def _view(x: Tracer, steps: tuple[Step, ...], contiguous: bool = False) -> Tracer:
    """Return a view of an array, or a copy where NumPy makes one."""
    view = Tracer(x._storage, joined(x._steps, steps))
    if x._scalar:
        return fresh(view.node)
    reshaped = contiguous or any(isinstance(step.op, Reshape) for step in steps)
    strided = contiguous or type_of(x).ndim > 1 or x._steps or len(steps) > 1
    shares_memory = _is_view(x, steps, contiguous) if reshaped and strided else True
    if shares_memory:
        if (reshaped and strided) or x._storage.is_related(x):
            x._storage.relate(view)
        return view
    value = values_of(x)
    if value is not None:
        for step in steps:
            value = step.of(value)
        return wrap(value if value.base is None else value.copy())  # type: ignore[no-any-return]
    copy = fresh(view.node, c_order=True)
    x._storage.relate(copy._storage)
    copy._storage.relate(x._storage)
    if shares_memory is None:
        unsure(x, copy)
    return copy


def unsure(x: Tracer, y: Tracer) -> None:
    """Forbid writing to either of two arrays that may share memory, as long as both exist."""
    x._storage.unsure.add(y._storage)
    y._storage.unsure.add(x._storage)


def _is_view(x: Tracer, steps: tuple[Step, ...], contiguous: bool) -> bool | None:
    """Return True if NumPy makes a view by these steps, and None if that is not known."""
    strides = layout(x._storage, x._steps)
    if strides is None:
        return None
    if contiguous and not strides.flags.c_contiguous:
        return False
    for step in steps:
        if isinstance(step.op, Reshape) and not is_view(step, strides):
            return False
        strides = step.of(strides)
    return True


def key_of(key: Any) -> Any:
    """Return a key of an array; integers in it may differ from call to call."""
    if type(key) is tuple:
        return tuple(map(key_of, key))
    if type(key) is WeakScalar and isinstance(key, int) and not isinstance(key, bool):
        trace, slot = trace_of(key)
        return trace.node(slot, [])
    if type(key) is Tracer:
        value = values_of(key)
        return key.node if value is None else value.copy()
    if type(key) is slice:
        return slice(key_of(key.start), key_of(key.stop), key_of(key.step))
    if type(key) is list and traces(key):
        return stacked(key)
    return unwrap(key)


def part_of(x: Tracer, key: Any) -> Any:
    """Return ``x[key]``: a scalar, a view, or for an advanced key a copy."""
    if is_known((x, key)):
        value = values_of(x)
        assert value is not None
        part = value[known(key)]
        if isinstance(part, np.generic):
            return part
        if not np.may_share_memory(part, value) and part.size:
            return wrap(part)
    start = stand_in(type_of(x))
    parsed = key_of(key)
    steps = steps_from(start, FUNCTIONS["index"](start, parsed))
    if steps is None or _copies(key):
        return wrap(x.node[parsed])
    if _is_element(key, type_of(x).ndim):
        return wrap(node_of(Tracer(x._storage, joined(x._steps, steps))))
    return _view(x, steps)


def _copies(key: Any) -> bool:
    """Return True if a key holds an array without dimensions, for which NumPy makes a copy."""
    parts = key if type(key) is tuple else (key,)
    return any(type(k) is Tracer and not k._scalar for k in parts)


def _is_element(key: Any, ndim: int) -> bool:
    """Return True if a basic key selects a scalar: it has an index for each axis, and no more."""
    parts = key if type(key) is tuple else (key,)
    return len(parts) == ndim and all(
        not isinstance(k, slice) and k is not None and k is not Ellipsis for k in parts
    )
