"""NumPy's functions on graphs: what ``np.exp(x)`` and ``np.sum(x, axis=0)`` build.

NumPy asks an operand's ``__array_ufunc__`` or ``__array_function__`` first.  Two tables map its
functions to those of relgraph, and to :mod:`relgraph.ops.numpy_functions` where its parameters
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
from relgraph.ops import (
    blocks,
    checks,
    closeness,
    composed,
    contraction,
    cumulative,
    cutting,
    dots,
    elementwise,
    filled,
    gradient,
    grids,
    indexing,
    joining,
    linalg,
    matrices,
    missing,
    norms,
    permutation,
    products,
    quantiles,
    reduction,
    sequences,
    shape,
    sorting,
    stacking,
    statistics,
    turning,
)
from relgraph.ops.arguments import as_operand
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.numpy_functions import (
    cholesky,
    clip,
    diagonal,
    eigh,
    eigvalsh,
    einsum,
    ndim,
    qr,
    reshape,
    result_type,
    size,
    std,
    svd,
    trace,
    transpose,
    var,
)
from relgraph.ops.unsupported import instead_of

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
    np.deg2rad: composed.deg2rad,
    np.rad2deg: composed.rad2deg,
    np.fabs: composed.fabs,
    np.float_power: composed.float_power,
    np.fmod: composed.fmod,
    np.heaviside: composed.heaviside,
    np.logaddexp2: composed.logaddexp2,
    np.modf: composed.modf,
    np.vecdot: products.vecdot,
    np.degrees: composed.rad2deg,
    np.radians: composed.deg2rad,
    np.matvec: products.matvec,
    np.vecmat: products.vecmat,
}

REDUCTIONS: dict[np.ufunc, Function] = {
    np.add: reduction.sum,
    np.multiply: reduction.prod,
    np.maximum: reduction.max,
    np.minimum: reduction.min,
    np.fmax: missing.nanmax,
    np.fmin: missing.nanmin,
    np.logical_and: reduction.all,
    np.logical_or: reduction.any,
    np.logaddexp: reduction.logsumexp,
}

ACCUMULATIONS: dict[np.ufunc, Function] = {
    np.add: cumulative.cumsum,
    np.multiply: cumulative.cumprod,
    np.maximum: cumulative.cummax,
    np.minimum: cumulative.cummin,
}

# SciPy's ufuncs are looked up where SciPy has been imported already.
SCIPY: dict[str, Function] = {
    alias: Elementwise(name) for name, row in elementwise.TABLE.items() for alias in row.scipy
}


def _where(condition: Any, *branches: Any) -> Any:
    if not branches:
        raise ArgumentError(
            "np.where of a condition alone is not supported on graphs",
            fix=instead_of("np.nonzero"),
        )
    return elementwise.where(condition, *branches)


ARRAY_FUNCTIONS: dict[Function, Function] = {
    np.sum: reduction.sum,
    np.prod: reduction.prod,
    np.max: reduction.max,
    np.amax: reduction.max,
    np.min: reduction.min,
    np.amin: reduction.min,
    np.mean: reduction.mean,
    np.std: std,
    np.var: var,
    np.any: reduction.any,
    np.all: reduction.all,
    np.argmax: reduction.argmax,
    np.argmin: reduction.argmin,
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
    np.concatenate: joining.concatenate,
    np.stack: joining.stack,
    np.split: joining.split,
    np.repeat: joining.repeat,
    np.tile: joining.tile,
    np.take: indexing.take,
    np.flip: sequences.flip,
    np.roll: sequences.roll,
    np.diff: sequences.diff,
    np.pad: sequences.pad,
    np.sort: sorting.sort,
    np.argsort: sorting.argsort,
    np.isclose: closeness.isclose,
    np.allclose: closeness.allclose,
    np.array_equal: closeness.array_equal,
    np.fix: composed.fix,
    np.isneginf: composed.isneginf,
    np.isposinf: composed.isposinf,
    np.nan_to_num: composed.nan_to_num,
    np.select: composed.select,
    np.sinc: composed.sinc,
    np.broadcast_arrays: grids.broadcast_arrays,
    np.linspace: grids.linspace,
    np.logspace: grids.logspace,
    np.meshgrid: grids.meshgrid,
    np.vander: grids.vander,
    np.nanargmax: missing.nanargmax,
    np.nanargmin: missing.nanargmin,
    np.nancumprod: missing.nancumprod,
    np.nancumsum: missing.nancumsum,
    np.nanmax: missing.nanmax,
    np.nanmean: missing.nanmean,
    np.nanmin: missing.nanmin,
    np.nanprod: missing.nanprod,
    np.nanstd: missing.nanstd,
    np.nansum: missing.nansum,
    np.nanvar: missing.nanvar,
    np.cross: products.cross,
    np.polyval: products.polyval,
    np.median: quantiles.median,
    np.percentile: quantiles.percentile,
    np.quantile: quantiles.quantile,
    np.append: stacking.append,
    np.array_split: cutting.array_split,
    np.atleast_1d: stacking.atleast_1d,
    np.atleast_2d: stacking.atleast_2d,
    np.atleast_3d: stacking.atleast_3d,
    np.block: stacking.block,
    np.column_stack: stacking.column_stack,
    np.diagflat: matrices.diagflat,
    np.dsplit: cutting.dsplit,
    np.dstack: stacking.dstack,
    np.gradient: gradient.gradient,
    np.ediff1d: sequences.ediff1d,
    np.fliplr: turning.fliplr,
    np.flipud: turning.flipud,
    np.hsplit: cutting.hsplit,
    np.hstack: stacking.hstack,
    np.rollaxis: turning.rollaxis,
    np.rot90: turning.rot90,
    np.vsplit: cutting.vsplit,
    np.vstack: stacking.vstack,
    np.average: statistics.average,
    np.corrcoef: statistics.corrcoef,
    np.count_nonzero: statistics.count_nonzero,
    np.cov: statistics.cov,
    np.ptp: statistics.ptp,
    np.trapezoid: statistics.trapezoid,
    np.zeros_like: filled.zeros_like,
    np.ones_like: filled.ones_like,
    np.full_like: filled.full_like,
    np.empty_like: filled.zeros_like,
    np.result_type: result_type,
    np.dot: dots.dot,
    np.vdot: dots.vdot,
    np.inner: dots.inner,
    np.outer: contraction.outer,
    np.tensordot: dots.tensordot,
    np.einsum: einsum,
    np.diag: matrices.diag,
    np.diagonal: diagonal,
    np.trace: trace,
    np.tril: matrices.tril,
    np.triu: matrices.triu,
    np.linalg.solve: linalg.solve,
    np.linalg.inv: linalg.inv,
    np.linalg.det: linalg.det,
    np.linalg.slogdet: linalg.slogdet,
    np.linalg.cholesky: cholesky,
    np.linalg.eigh: eigh,
    np.linalg.eigvalsh: eigvalsh,
    np.linalg.svd: svd,
    np.linalg.qr: qr,
    np.kron: blocks.kron,
    np.linalg.norm: norms.norm,
    np.linalg.vector_norm: norms.vector_norm,
    np.linalg.matrix_norm: norms.matrix_norm,
    np.linalg.cross: products.linalg_cross,
    np.linalg.matmul: contraction.matmul,
    np.linalg.matrix_power: products.matrix_power,
    np.linalg.multi_dot: products.multi_dot,
    np.linalg.vecdot: products.vecdot,
    np.linalg.outer: products.linalg_outer,
    np.linalg.tensordot: dots.tensordot,
    np.linalg.matrix_transpose: permutation.matrix_transpose,
    np.linalg.diagonal: matrices.diagonal,
    np.linalg.trace: matrices.trace,
    np.unstack: cutting.unstack,
    np.astype: elementwise.cast,
    np.cumulative_sum: cumulative.cumulative_sum,
    np.cumulative_prod: cumulative.cumulative_prod,
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
