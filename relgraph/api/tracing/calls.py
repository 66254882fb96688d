"""NumPy's functions, and relgraph's, on the arrays of a traced function."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from relgraph.api.tracing.attributes import TracedPart, attribute_of
from relgraph.api.tracing.creation import creation_traced, filled
from relgraph.api.tracing.in_place import assign, into
from relgraph.api.tracing.in_place_functions import UPDATES_AT, WRITERS
from relgraph.api.tracing.storage import Storage
from relgraph.api.tracing.tracer import (
    Trace,
    Tracer,
    computed,
    fresh,
    in_c_order,
    is_known,
    known,
    operand,
    running,
    traces,
    unwrap,
    wrap,
)
from relgraph.api.tracing.views import part_of, unsure, viewed
from relgraph.api.tracing.weak_scalar import CALLS, WeakScalar, recorded
from relgraph.errors import RelgraphError
from relgraph.ir.dispatch import intercepted_by
from relgraph.ir.op import Op
from relgraph.ir.operators import FUNCTIONS
from relgraph.numpy import protocol

VIEWS: frozenset[Callable[..., Any]] = frozenset(
    (
        np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays,
        np.broadcast_to, np.diag, np.diagonal, np.diff, np.dsplit, np.einsum, np.expand_dims,
        np.flip, np.fliplr, np.flipud, np.histogram, np.hsplit, np.linalg.diagonal,
        np.linalg.matrix_power, np.linalg.matrix_transpose, np.matrix_transpose, np.moveaxis,
        np.ravel, np.real, np.reshape, np.rollaxis, np.rot90, np.split, np.squeeze, np.swapaxes,
        np.transpose, np.unstack, np.vsplit,
    )
)  # fmt: skip
"""Functions that return views of their operands, at least for some arguments."""

_SCALARS = frozenset((np.flip, np.unstack))  # their results without dimensions are not views

_ARRAYS_WITHOUT_DIMENSIONS = frozenset(
    (
        np.astype, np.block, np.copy, np.cov, np.empty_like, np.full_like, np.linalg.tensordot,
        np.ones_like, np.pad, np.roll, np.select, np.tensordot, np.tile, np.where, np.zeros_like,
    )
)  # fmt: skip
"""Functions that never return a scalar."""

_IN_C_ORDER = frozenset(
    (
        np.argsort, np.clip, np.column_stack, np.concatenate, np.cumsum, np.dot, np.dstack,
        np.hstack, np.inner, np.kron, np.linalg.cholesky, np.linalg.inv, np.linalg.solve, np.max,
        np.mean, np.min, np.outer, np.prod, np.repeat, np.round, np.sort, np.stack, np.std, np.sum,
        np.take, np.tensordot, np.tril, np.triu, np.var, np.vstack,
    )
)  # fmt: skip
"""Functions whose result is in C order if their operands are."""

_FILLED = frozenset((np.empty_like, np.full_like, np.ones_like, np.zeros_like))

_WITH_NUMBERS = (np.where, np.clip, np.select)  # functions of arrays that also take numbers

_SUMS = (np.add, np.multiply, np.sum, np.prod, np.cumsum, np.cumprod)  # computed in out's dtype


def apply_ufunc(ufunc: np.ufunc, method: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the result of a ufunc, or of one of its methods, of traced values."""
    if is_known((args, kwargs)):
        return _called(getattr(ufunc, method), args, kwargs, writes=method == "at")
    if method == "at" and type(args[0]) is Tracer and ufunc in UPDATES_AT:
        return UPDATES_AT[ufunc](*args)
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    out = kwargs.get("out")
    mask, casting = True, "same_kind"
    if out is not None:
        casting = rest.pop("casting", casting)
        mask = rest.pop("where", True) if method == "__call__" else True
    convert = operand if method in ("__call__", "outer") else unwrap

    def compute(**more: Any) -> Any:
        return FUNCTIONS["__array_ufunc__"](
            ufunc, method, tuple(map(convert, args)), {**unwrap(rest), **more}
        )

    if out is None:
        return computed(compute(), () if ufunc is np.matmul else args)
    if method != "__call__":
        return _summed(ufunc, out, compute, "dtype" in rest)
    results = compute()
    pairs = zip(out, results if isinstance(results, tuple) else (results,), strict=True)
    written = tuple(wrap(r) if x is None else into(x, r, casting, mask) for x, r in pairs)
    return written if len(written) > 1 else written[0]


def _summed(function: Any, out: Any, compute: Callable[..., Any], has_dtype: bool) -> Any:
    """Write a reduction to an array, after computing it in the dtype of that array."""
    result = compute()
    target = out[0] if type(out) is tuple else out
    if function in _SUMS and not has_dtype and result.dtype != target.dtype:
        result = compute(dtype=target.dtype)
    return into(out, result)


def apply_function(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the result of a function of NumPy of traced values."""
    if func in VIEWS and traces((args, kwargs)):
        try:
            return _view(func, args, kwargs)
        except RelgraphError:
            if not is_known((args, kwargs)):
                raise
    if is_known((args, kwargs)):
        return _called(func, args, kwargs, writes=func in WRITERS)
    if func in WRITERS:
        return WRITERS[func](*args, **kwargs)
    args, kwargs, out = _without_out(func, args, kwargs)
    if not traces((args, kwargs)) and func not in _WITH_NUMBERS:
        result = func(*unwrap(args), **unwrap(kwargs))
        return result if out is None else into(out, FUNCTIONS["asarray"](result))

    def compute(**more: Any) -> Any:
        positional, named = _with_numbers(func, args, {**kwargs, **more})
        return FUNCTIONS["__array_function__"](func, positional, named)

    if out is not None:
        return _summed(func, out, compute, "dtype" in kwargs)
    result = compute()
    if func in _ARRAYS_WITHOUT_DIMENSIONS:
        return fresh(result, c_order=all(in_c_order(x) for x in args if type(x) is Tracer))
    return computed(result, _tracers((args, kwargs))) if func in _IN_C_ORDER else wrap(result)


def _with_numbers(func: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Return arguments with nodes for tracers; some functions take weak scalars too."""
    if func not in _WITH_NUMBERS:
        return unwrap(args), unwrap(kwargs)
    if func is np.select:  # lists of them
        operands = (*(list(map(operand, x)) for x in args[:2]), *map(operand, args[2:]))
    else:
        operands = tuple(map(operand, args))
    if func is np.where and type(operands[0]) is WeakScalar:
        truth = recorded(operator.truth, operands[0])
        weak = type(truth) is WeakScalar
        operands = (truth.__relgraph_operand__([]) if weak else np.bool_(truth), *operands[1:])
    return operands, {k: operand(v) for k, v in kwargs.items()}


def _view(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the result of a function that makes views."""
    results = viewed(_graph_function(func), args, kwargs, contiguous=func is np.ravel)
    for x in _tracers(results) if func in _SCALARS else ():
        if x.ndim == 0:
            x._storage, x._steps, x._scalar = Storage(x.node), (), True
    if func is np.einsum and type(results) is Tracer:
        for x in _tracers(args):
            if x._storage is not results._storage and _is_diagonal(args):
                unsure(x, results)
    return results


def _is_diagonal(args: Any) -> bool:
    """Return True if the result of np.einsum is a view in NumPy: no product, and no sum."""
    zeros = [np.broadcast_to(0, x.shape) if type(x) is Tracer else x for x in args]
    return any(np.may_share_memory(np.einsum(*zeros), x) for x in zeros[1:])


def _graph_function(func: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: FUNCTIONS["__array_function__"](func, args, kwargs)


def _without_out(func: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any], Any]:
    """Return the arguments of a function without ``out``, and ``out`` or None."""
    signature = protocol.signature_of(func)
    if signature is None or "out" not in signature.parameters:
        rest = {name: value for name, value in kwargs.items() if name != "out"}
        return args, rest, kwargs.get("out")
    bound = signature.bind(*args, **kwargs)
    out = bound.arguments.pop("out", None)
    return bound.args, bound.kwargs, out


def _called(function: Any, args: Any, kwargs: dict[str, Any], *, writes: bool) -> Any:
    """Call a function of NumPy on arrays whose elements are known."""
    out = kwargs.get("out")
    for x in _tracers((args[:1] if writes else (), out)):
        x._storage.check_body()
    result = function(*known(args), **known(kwargs))
    for x in _tracers((args, kwargs)):
        (x._storage.changed if writes or out is not None else x._storage.lent)()
    if out is not None:
        return out[0] if type(out) is tuple and len(out) == 1 else out
    if function in _FILLED:
        return filled(result)
    return wrap(_separate(result, [known(x) for x in _tracers((args, kwargs))]))


def _separate(result: Any, arrays: list[Any]) -> Any:
    """Return a result of NumPy, copied if it is a view of an array that is not an argument."""
    if type(result) in (tuple, list):
        return type(result)(_separate(x, arrays) for x in result)
    if type(result) is not np.ndarray or result.base is None:
        return result
    return result if any(np.may_share_memory(result, x) for x in arrays) else result.copy("K")


def _tracers(value: Any) -> Iterator[Tracer]:
    if type(value) is Tracer:
        yield value
    elif type(value) in (tuple, list):
        for part in value:
            yield from _tracers(part)
    elif type(value) is dict:
        yield from _tracers(list(value.values()))


def _apply(function: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of relgraph, or an op, with the nodes of tracers, if there are any."""
    if not traces((args, kwargs)):
        return NotImplemented
    convert = operand if isinstance(function, Op) else unwrap
    return wrap(function(*map(convert, args), **unwrap(kwargs)))


@contextmanager
def tracing(function: Callable[..., Any] | None = None) -> Iterator[Trace]:
    """Make NumPy's and relgraph's functions accept, make and return tracers in a ``with`` block.

    Parameters
    ----------
    function : callable, optional
        The function to trace, whose package may make tracers wherever it is installed.
    """
    trace = Trace(str(getattr(function, "__module__", "")).partition(".")[0])
    running().append(trace)
    try:
        with creation_traced(), intercepted_by(_apply):
            yield trace
    finally:
        running().pop()


CALLS.update(
    assign=assign,
    attribute=attribute_of,
    function=apply_function,
    index=part_of,
    part=TracedPart,
    ufunc=apply_ufunc,
)
