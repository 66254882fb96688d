"""NumPy's functions on graphs: what ``np.exp(x)`` and ``np.sum(x, axis=0)`` build.

NumPy calls an operand's ``__array_ufunc__`` or ``__array_function__`` first.  These call the
function that :mod:`relgraph.numpy` has under the same name.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np

import relgraph.numpy as rnp
from relgraph.errors import ArgumentError
from relgraph.ir.node import as_literal
from relgraph.numpy import linalg, nan_reductions, reductions
from relgraph.numpy.functions import einsum, reshape, result_type
from relgraph.numpy.unsupported import instead_of
from relgraph.ops import cumulative, elementwise
from relgraph.ops.arguments import as_operand
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.shape import expand_dims

Function = Callable[..., Any]

# The tables.

UFUNCS: dict[np.ufunc, Function] = {
    getattr(np, name): getattr(rnp, name)
    for name in rnp._PUBLIC
    if isinstance(getattr(np, name), np.ufunc)
}

REDUCTIONS: dict[np.ufunc, Function] = {
    np.add: reductions.sum,
    np.multiply: reductions.prod,
    np.maximum: reductions.max,
    np.minimum: reductions.min,
    np.fmax: nan_reductions.nanmax,
    np.fmin: nan_reductions.nanmin,
    np.logical_and: reductions.all,
    np.logical_or: reductions.any,
    np.logaddexp: reductions.logsumexp,
}

ACCUMULATIONS: dict[np.ufunc, Function] = {
    np.add: cumulative.cumsum,
    np.multiply: cumulative.cumprod,
    np.maximum: cumulative.cummax,
    np.minimum: cumulative.cummin,
}

# SciPy's ufuncs are looked up where SciPy has been imported already.
SCIPY: dict[str, Function] = {
    alias: Elementwise(name) for name, row in elementwise.ROWS.items() for alias in row.scipy
}


def _where(condition: Any, *branches: Any) -> Any:
    if not branches:
        raise ArgumentError(
            "np.where of a condition alone is not supported on graphs",
            fix=instead_of("np.nonzero"),
        )
    return elementwise.where(condition, *branches)


def _named(numpys: Any, ours: Any) -> dict[Function, Function]:
    """Return the functions of a namespace that NumPy dispatches, with those of the same name."""
    dispatched = type(np.sum)
    functions = {getattr(numpys, name): getattr(ours, name) for name in ours.__all__}
    return {of: function for of, function in functions.items() if isinstance(of, dispatched)}


# Where NumPy takes other arguments than the function of that name here, or has none here.
ARRAY_FUNCTIONS: dict[Function, Function] = {
    **_named(np, rnp),
    **_named(np.linalg, linalg),
    np.copy: elementwise.copy,
    np.einsum: einsum,
    np.empty_like: rnp.zeros_like,
    np.real: elementwise.copy,
    np.reshape: reshape,
    np.result_type: result_type,
    np.where: _where,
}
del ARRAY_FUNCTIONS[np.unique]  # an error that says to write rg.unique


def array_ufunc(ufunc: np.ufunc, method: str, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Build the graph of a NumPy ufunc, or of its method "reduce", "accumulate" or "outer".

    A ufunc, method or argument that graphs do not have, such as ``out=``, raises ArgumentError.
    """
    of = "np" if getattr(np, ufunc.__name__, None) is ufunc else "scipy.special"
    label = f"{of}.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    plain: dict[str, Any] = {
        "out": None,
        "where": True,
        "order": "K",
        "subok": True,
        "casting": "same_kind",
    }
    if method == "__call__" or (method == "outer" and ufunc.nin == 2 and not ufunc.signature):
        target = UFUNCS.get(ufunc) or _scipy_function(ufunc)
    else:
        tables = {"reduce": REDUCTIONS, "accumulate": ACCUMULATIONS}
        target = tables.get(method, {}).get(ufunc)
        plain |= {"dtype": None, "initial": np._NoValue}
        args, kwargs = _by_name(_ARGUMENTS.get(method, ()), args, kwargs)
    if target is None:
        raise _unsupported(label, [f"np.{u.__name__}" for u in UFUNCS])
    args = _every_pair(*args) if method == "outer" else args
    rest = {}
    for name, value in kwargs.items():
        if name in plain and value is plain[name]:
            continue
        if name not in _parameters(target):
            raise _no_argument(label, name)
        rest[name] = value
    if method == "accumulate" and rest["axis"] is None and as_operand(args[0]).ndim > 1:
        raise ArgumentError(f"{label} takes one axis", fix="Pass axis=0, or ravel the array first.")
    return target(*args, **rest)


def _every_pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Return operands that broadcast to every pair of their elements."""
    x, y = as_operand(as_literal(x)), as_operand(as_literal(y))
    new = tuple(range(x.ndim, x.ndim + y.ndim)) if x.ndim else ()
    return (expand_dims(x, new) if new else x), y


# What the methods of ufuncs take after the array.
_ARGUMENTS = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
}


def _by_name(
    names: tuple[str, ...], args: Any, kwargs: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the arguments of a method by name; it takes the first axis by default."""
    named = {"axis": 0, **dict(zip(names, args[1:], strict=False)), **kwargs}
    return args[:1], named


def _scipy_function(ufunc: np.ufunc) -> Function | None:
    special = sys.modules.get("scipy.special")
    known = special is not None and getattr(special, ufunc.__name__, None) is ufunc
    return SCIPY.get(ufunc.__name__) if known else None


def array_function(func: Function, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Build the graph of a NumPy function such as ``np.sum``.

    A function or argument that graphs do not have raises ArgumentError, which suggests others.
    """
    label = _label(func)
    target = ARRAY_FUNCTIONS.get(func)
    if target is None:
        raise _unsupported(label, [_label(f) for f in ARRAY_FUNCTIONS])
    positional, keywords = _bound(func, args, kwargs)
    accepted = _parameters(target)
    for name in keywords:
        if name not in accepted:
            raise _no_argument(label, name)
    return target(*positional, **keywords)


def _label(func: Any) -> str:
    module = getattr(func, "__module__", None) or "numpy"
    return f"{module.replace('numpy', 'np', 1)}.{getattr(func, '__name__', repr(func))}"


@cache
def _parameters(target: Function) -> frozenset[str]:
    if isinstance(target, Elementwise):
        return frozenset()
    return frozenset(inspect.signature(target).parameters)


@cache
def signature_of(func: Function) -> inspect.Signature | None:
    """Return the signature of a function of NumPy, or None for some functions in C."""
    try:
        return inspect.signature(func)
    except ValueError:  # some functions in C have none
        return None


def _bound(
    func: Function, args: Any, kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return NumPy's required arguments by position, and by name others that differ."""
    signature = signature_of(func)
    if signature is None:
        return list(args), {k: v for k, v in kwargs.items() if not (k == "out" and v is None)}
    bound = signature.bind(*args, **kwargs)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            keywords.update(value)
        elif parameter.default is parameter.empty or name in _REQUIRED.get(func, ()):
            positional.append(value)
        elif value is not parameter.default and value is not np._NoValue:
            keywords[name] = value
    return positional, keywords


# Parameters with a default in NumPy that its callers pass by position.
_REQUIRED: dict[Function, tuple[str, ...]] = {np.where: ("x", "y"), np.reshape: ("shape",)}


def _unsupported(label: str, names: list[str]) -> ArgumentError:
    fix = instead_of(label)
    near = [] if fix else get_close_matches(label, names, 4, 0.75)
    return ArgumentError(
        f"{label} is not supported on graphs",
        {"similar": ", ".join(near)} if near else (),
        fix or "Write it with functions of relgraph.numpy, or evaluate the graph first.",
    )


def instead_of_attribute(name: str) -> str:
    """Return what to write instead of an attribute of NumPy's arrays, or "" if nothing is known."""
    written = f"Use the function np.{name}." if getattr(np, name, None) in ARRAY_FUNCTIONS else ""
    return instead_of(f"np.ndarray.{name}") or instead_of(f"np.{name}") or written


def _no_argument(label: str, name: str) -> ArgumentError:
    fix = {
        "out": "A graph is immutable; use the result.",
        "where": "Use rg.where(condition, a, b) for a choice.",
        "dtype": "Convert an operand or the result with .astype(...).",
        "order": "Leave it out: elements of results are always in C order.",
        "initial": "Combine it with the result, for instance with np.add or np.logaddexp.",
    }
    return ArgumentError(
        f"{label} on graphs does not take {name}=",
        fix=fix.get(name, "Write what it does with other functions of NumPy, or leave it out."),
    )
