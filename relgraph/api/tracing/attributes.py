"""Attributes and methods of traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import numpy as np

from relgraph.api.tracing.in_place import assign, into
from relgraph.api.tracing.storage import Array
from relgraph.api.tracing.tracer import (
    Tracer,
    computed,
    fresh,
    in_c_order,
    is_known,
    known,
    operand,
    unwrap,
    values_of,
    wrap,
)
from relgraph.api.tracing.views import key_of, viewed
from relgraph.api.tracing.weak_scalar import CALLS
from relgraph.errors import UnsupportedAttributeError
from relgraph.ir.node import Variable
from relgraph.numpy.protocol import instead_of_attribute

_VIEWS = frozenset(("T", "mT"))
_VIEW_METHODS = frozenset(("reshape", "transpose", "swapaxes", "squeeze", "ravel", "diagonal"))
_SAME = frozenset(("conj", "conjugate", "real"))  # of real numbers, the array itself


def attribute_of(x: Tracer, name: str) -> Any:
    """Return the attribute ``x.name`` of a traced array."""
    if name == "at":
        return TracedParts(x.node.at)
    if name in _VIEWS:
        return viewed(lambda node: getattr(node, name), (x,), {})
    if name in _VIEW_METHODS:
        return lambda *args, **kwargs: viewed(
            lambda node, *a, **k: getattr(node, name)(*a, **k),
            (x, *args),
            kwargs,
            contiguous=name == "ravel",
        )
    if name in _SAME:
        return x if name == "real" else lambda: x
    if name in _WRITING:
        return lambda *args, **kwargs: _WRITING[name](x, *args, **kwargs)
    value = values_of(x)
    if value is not None and name != "node":
        attribute = getattr(value, name, None)
        if not callable(attribute):
            return _known_attribute(x, value, name)
        return lambda *args, **kwargs: _known_method(x, name, args, kwargs)
    return _traced_attribute(x, name)


def _known_attribute(x: Tracer, value: Array, name: str) -> Any:
    attribute = getattr(value, name)  # raises as for an array
    x._storage.lent()
    return wrap(attribute) if isinstance(attribute, np.ndarray) else attribute


def _known_method(x: Tracer, name: str, args: Any, kwargs: Any) -> Any:
    if not is_known((args, kwargs)):
        return _traced_attribute(x, name)(*args, **kwargs)
    if name in _WRITERS:
        x._storage.check_body()
    result = getattr(values_of(x), name)(*known(args), **known(kwargs))
    x._storage.changed()
    return wrap(result)


def _traced_attribute(x: Tracer, name: str) -> Any:
    try:
        attribute = getattr(x.node, name)
    except AttributeError as error:
        if hasattr(np.ndarray, name):
            raise _no_attribute(x.node, name) from None
        near = get_close_matches(name, dir(np.ndarray), 1, 0.7)
        raise UnsupportedAttributeError(
            f"a traced array has no attribute {name!r}",
            {"array": x.node},
            f"Did you mean {near[0]!r}?" if near else "Use NumPy's functions and attributes.",
        ) from error
    if callable(attribute) and not isinstance(attribute, Variable):
        return lambda *args, **kwargs: _called(x, name, attribute, args, **kwargs)
    return wrap(attribute)


def _called(x: Tracer, name: str, method: Any, args: Any, out: Any = None, **kwargs: Any) -> Any:
    convert = operand if name == "clip" else unwrap
    result = method(*map(convert, args), **{k: convert(v) for k, v in kwargs.items()})
    if name == "astype" and kwargs.get("copy") is False and result is x.node:
        return x
    if name in _COPIES and not x._scalar:
        return fresh(result, c_order=in_c_order(x) or name != "astype")
    return computed(result, (x, *args)) if out is None else into(out, result)


_COPIES = ("astype", "copy", "flatten")


def _fill(x: Tracer, value: Any) -> None:
    assign(x, ..., value)


def _sort(x: Tracer, axis: int = -1, **kwargs: Any) -> None:
    assign(x, ..., np.sort(x, axis=axis, **kwargs))


def _put(x: Tracer, indices: Any, values: Any, mode: str = "raise") -> None:
    CALLS["function"](np.put, (x, indices, values, mode), {})


_WRITERS = ("byteswap", "itemset", "partition", "resize", "setfield")  # of known arrays only
_WRITING: dict[str, Callable[..., Any]] = {"fill": _fill, "sort": _sort, "put": _put}


class TracedParts:
    """``x.at`` of a traced array."""

    __slots__ = ("_at",)

    def __init__(self, at: Any) -> None:
        self._at = at

    def __getitem__(self, key: Any) -> TracedPart:
        return TracedPart(self._at[key_of(key)])


class TracedPart:
    """``x.at[key]`` of a traced array, with its updates."""

    __slots__ = ("_part",)

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        method = getattr(self._part, name)
        return lambda value: wrap(method(operand(value)))


def _no_attribute(node: Variable, name: str) -> UnsupportedAttributeError:
    return UnsupportedAttributeError(
        f"traced arrays do not have NumPy's attribute {name!r}",
        {"array": node},
        instead_of_attribute(name) or "Write it with NumPy's functions that graphs have.",
    )
