"""NumPy's functions on graphs: what ``np.exp(x)`` and ``np.sum(x, axis=0)`` build.

NumPy asks an operand's ``__array_ufunc__`` or ``__array_function__`` first.  Two tables map its
functions to those of relgraph, and to :mod:`relgraph.numpy.functions` where its parameters
differ.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError
from relgraph.numpy import (
    comparison,
    creation,
    finite_differences,
    linalg,
    manipulation,
    nan_reductions,
    norms,
    polynomials,
    products,
    quantiles,
    reductions,
    statistics,
    ufuncs,
)
from relgraph.numpy.cumulative import cumulative_prod, cumulative_sum
from relgraph.numpy.functions import (
    clip,
    diagonal,
    einsum,
    ndim,
    reshape,
    result_type,
    size,
    std,
    trace,
    transpose,
    var,
)
from relgraph.numpy.linalg import cholesky, eigh, eigvalsh, qr, svd
from relgraph.numpy.unsupported import instead_of
from relgraph.ops import (
    checks,
    concatenate,
    contraction,
    cumulative,
    elementwise,
    permutation,
    shape,
    sorting,
)
from relgraph.ops.arguments import as_operand
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.indexing.index import take
from relgraph.ops.linalg import blocks, solve, structured

Function = Callable[..., Any]

# The tables.

UFUNCS: dict[np.ufunc, Function] = {
    **{
        getattr(np, name): Elementwise(name)
        for name in elementwise.TABLE
        if isinstance(getattr(np, name, None), np.ufunc)
    },
    np.positive: elementwise.positive,
    np.conjugate: elementwise.conjugate,
    np.matmul: contraction.matmul,
    np.divmod: elementwise.divmod,
    np.fmax: elementwise.fmax,
    np.fmin: elementwise.fmin,
    np.deg2rad: ufuncs.deg2rad,
    np.rad2deg: ufuncs.rad2deg,
    np.fabs: ufuncs.fabs,
    np.float_power: ufuncs.float_power,
    np.fmod: ufuncs.fmod,
    np.heaviside: ufuncs.heaviside,
    np.logaddexp2: ufuncs.logaddexp2,
    np.modf: ufuncs.modf,
    np.vecdot: products.vecdot,
    np.degrees: ufuncs.rad2deg,
    np.radians: ufuncs.deg2rad,
    np.matvec: products.matvec,
    np.vecmat: products.vecmat,
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
    "expit": elementwise.sigmoid,
    "erf": elementwise.erf,
    "erfc": elementwise.erfc,
    "erfcx": elementwise.erfcx,
    "gamma": elementwise.gamma,
    "gammaln": elementwise.gammaln,
    "psi": elementwise.digamma,
    "digamma": elementwise.digamma,
    "kv": elementwise.kv,
    "kve": elementwise.kve,
    "iv": elementwise.iv,
    "ive": elementwise.ive,
}


def _where(condition: Any, *branches: Any) -> Any:
    if not branches:
        raise ArgumentError(
            "np.where of a condition alone is not supported on graphs",
            fix=instead_of("np.nonzero"),
        )
    return elementwise.where(condition, *branches)


ARRAY_FUNCTIONS: dict[Function, Function] = {
    np.sum: reductions.sum,
    np.prod: reductions.prod,
    np.max: reductions.max,
    np.amax: reductions.max,
    np.min: reductions.min,
    np.amin: reductions.min,
    np.mean: reductions.mean,
    np.std: std,
    np.var: var,
    np.any: reductions.any,
    np.all: reductions.all,
    np.argmax: reductions.argmax,
    np.argmin: reductions.argmin,
    np.cumsum: cumulative.cumsum,
    np.cumprod: cumulative.cumprod,
    np.clip: clip,
    np.round: elementwise.round,
    np.around: elementwise.round,
    np.where: _where,
    np.copy: elementwise.copy,
    np.real: elementwise.copy,
    np.reshape: reshape,
    np.transpose: transpose,
    np.matrix_transpose: permutation.matrix_transpose,
    np.swapaxes: permutation.swapaxes,
    np.moveaxis: permutation.moveaxis,
    np.expand_dims: shape.expand_dims,
    np.squeeze: checks.squeeze,
    np.ravel: shape.ravel,
    np.broadcast_to: shape.broadcast_to,
    np.shape: shape.shape,
    np.size: size,
    np.ndim: ndim,
    np.concatenate: concatenate.concatenate,
    np.stack: concatenate.stack,
    np.split: manipulation.split,
    np.repeat: manipulation.repeat,
    np.tile: manipulation.tile,
    np.take: take,
    np.flip: manipulation.flip,
    np.roll: manipulation.roll,
    np.diff: finite_differences.diff,
    np.pad: manipulation.pad,
    np.sort: sorting.sort,
    np.argsort: sorting.argsort,
    np.isclose: comparison.isclose,
    np.allclose: comparison.allclose,
    np.array_equal: comparison.array_equal,
    np.fix: ufuncs.fix,
    np.isneginf: ufuncs.isneginf,
    np.isposinf: ufuncs.isposinf,
    np.nan_to_num: ufuncs.nan_to_num,
    np.select: ufuncs.select,
    np.sinc: ufuncs.sinc,
    np.broadcast_arrays: creation.broadcast_arrays,
    np.linspace: creation.linspace,
    np.logspace: creation.logspace,
    np.meshgrid: creation.meshgrid,
    np.vander: polynomials.vander,
    np.nanargmax: nan_reductions.nanargmax,
    np.nanargmin: nan_reductions.nanargmin,
    np.nancumprod: nan_reductions.nancumprod,
    np.nancumsum: nan_reductions.nancumsum,
    np.nanmax: nan_reductions.nanmax,
    np.nanmean: nan_reductions.nanmean,
    np.nanmin: nan_reductions.nanmin,
    np.nanprod: nan_reductions.nanprod,
    np.nanstd: nan_reductions.nanstd,
    np.nansum: nan_reductions.nansum,
    np.nanvar: nan_reductions.nanvar,
    np.cross: products.cross,
    np.polyval: polynomials.polyval,
    np.median: quantiles.median,
    np.percentile: quantiles.percentile,
    np.quantile: quantiles.quantile,
    np.append: manipulation.append,
    np.array_split: manipulation.array_split,
    np.atleast_1d: manipulation.atleast_1d,
    np.atleast_2d: manipulation.atleast_2d,
    np.atleast_3d: manipulation.atleast_3d,
    np.block: manipulation.block,
    np.column_stack: manipulation.column_stack,
    np.diagflat: creation.diagflat,
    np.dsplit: manipulation.dsplit,
    np.dstack: manipulation.dstack,
    np.gradient: finite_differences.gradient,
    np.ediff1d: finite_differences.ediff1d,
    np.fliplr: manipulation.fliplr,
    np.flipud: manipulation.flipud,
    np.hsplit: manipulation.hsplit,
    np.hstack: manipulation.hstack,
    np.rollaxis: manipulation.rollaxis,
    np.rot90: manipulation.rot90,
    np.vsplit: manipulation.vsplit,
    np.vstack: manipulation.vstack,
    np.average: statistics.average,
    np.corrcoef: statistics.corrcoef,
    np.count_nonzero: statistics.count_nonzero,
    np.cov: statistics.cov,
    np.ptp: statistics.ptp,
    np.trapezoid: statistics.trapezoid,
    np.zeros_like: creation.zeros_like,
    np.ones_like: creation.ones_like,
    np.full_like: creation.full_like,
    np.empty_like: creation.zeros_like,
    np.result_type: result_type,
    np.dot: products.dot,
    np.vdot: products.vdot,
    np.inner: products.inner,
    np.outer: contraction.outer,
    np.tensordot: products.tensordot,
    np.einsum: einsum,
    np.diag: structured.diag,
    np.diagonal: diagonal,
    np.trace: trace,
    np.tril: structured.tril,
    np.triu: structured.triu,
    np.linalg.solve: solve.solve,
    np.linalg.inv: solve.inv,
    np.linalg.det: solve.det,
    np.linalg.slogdet: solve.slogdet,
    np.linalg.cholesky: cholesky,
    np.linalg.eigh: eigh,
    np.linalg.eigvalsh: eigvalsh,
    np.linalg.svd: svd,
    np.linalg.qr: qr,
    np.kron: blocks.kron,
    np.linalg.norm: norms.norm,
    np.linalg.vector_norm: norms.vector_norm,
    np.linalg.matrix_norm: norms.matrix_norm,
    np.linalg.cross: linalg.cross,
    np.linalg.matmul: contraction.matmul,
    np.linalg.matrix_power: linalg.matrix_power,
    np.linalg.multi_dot: linalg.multi_dot,
    np.linalg.vecdot: products.vecdot,
    np.linalg.outer: linalg.outer,
    np.linalg.tensordot: products.tensordot,
    np.linalg.matrix_transpose: permutation.matrix_transpose,
    np.linalg.diagonal: structured.diagonal,
    np.linalg.trace: structured.trace,
    np.unstack: manipulation.unstack,
    np.astype: elementwise.cast,
    np.cumulative_sum: cumulative_sum,
    np.cumulative_prod: cumulative_prod,
}


def array_ufunc(ufunc: np.ufunc, method: str, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Build what a NumPy ufunc means on graphs.

    Parameters
    ----------
    ufunc : numpy.ufunc
        NumPy's function, such as ``np.exp``.
    method : str
        "__call__", or "reduce" or "accumulate" where there is such a function.
    args, kwargs : tuple, mapping
        Its arguments.

    Returns
    -------
    Variable
        The node.

    Raises
    ------
    ArgumentError
        For a ufunc, a method or an argument that graphs do not have, such as ``out=``.
    """
    label = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
    plain: dict[str, Any] = {
        "out": None,
        "where": True,
        "order": "K",
        "subok": True,
        "casting": "same_kind",
    }
    if method == "__call__":
        target = UFUNCS.get(ufunc) or _scipy_function(ufunc)
    else:
        tables = {"reduce": REDUCTIONS, "accumulate": ACCUMULATIONS}
        target = tables.get(method, {}).get(ufunc)
        plain |= {"dtype": None, "initial": np._NoValue}
        args, kwargs = _by_name(_ARGUMENTS.get(method, ()), args, kwargs)
    if target is None:
        raise _unsupported(label, [f"np.{u.__name__}" for u in UFUNCS])
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


# What the methods of ufuncs take after the array.
_ARGUMENTS = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
}


def _by_name(
    names: tuple[str, ...], args: Any, kwargs: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the arguments of a method by name; it takes the first axis by default."""
    given = {"axis": 0, **dict(zip(names, args[1:], strict=False)), **kwargs}
    return args[:1], given


def _scipy_function(ufunc: np.ufunc) -> Function | None:
    special = sys.modules.get("scipy.special")
    known = special is not None and getattr(special, ufunc.__name__, None) is ufunc
    return SCIPY.get(ufunc.__name__) if known else None


def array_function(func: Function, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Build what a function of NumPy means on graphs.

    Parameters
    ----------
    func : callable
        NumPy's function, such as ``np.sum``.
    args, kwargs : tuple, mapping
        Its arguments.

    Returns
    -------
    Variable
        The node.

    Raises
    ------
    ArgumentError
        For a function or an argument that graphs do not have, naming functions of similar names.
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
def _signature(func: Function) -> inspect.Signature | None:
    try:
        return inspect.signature(func)
    except ValueError:  # some functions in C have none
        return None


def _bound(
    func: Function, args: Any, kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return NumPy's required arguments by position, and by name others that differ."""
    signature = _signature(func)
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
    """Return what to write instead of an attribute of NumPy's arrays, or "" where no way is known.

    Parameters
    ----------
    name : str
        An attribute or a method.

    Returns
    -------
    str
        A sentence for the last line of a message.
    """
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
