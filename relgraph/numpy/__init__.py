"""NumPy's names, for graphs: ``import relgraph.numpy as rnp``.

The functions take NumPy's arguments and build graphs.  On arrays and numbers they build graphs of
constants.

Examples
--------
>>> import relgraph as rg
>>> import relgraph.numpy as rnp
>>> rnp.sum(rnp.exp(rg.vector("x")))
sum(exp(x))
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from numpy import (
    bool_,
    e,
    euler_gamma,
    float32,
    float64,
    inf,
    int8,
    int16,
    int32,
    int64,
    nan,
    newaxis,
    pi,
    uint8,
    uint16,
    uint32,
    uint64,
)

from relgraph.errors import checks_arguments, no_attribute
from relgraph.numpy import linalg
from relgraph.numpy.comparison import allclose, array_equal, isclose
from relgraph.numpy.creation import (
    arange,
    broadcast_arrays,
    diagflat,
    full,
    full_like,
    identity,
    linspace,
    logspace,
    meshgrid,
    ones,
    ones_like,
    tri,
    zeros,
    zeros_like,
)
from relgraph.numpy.cumulative import cumulative_prod, cumulative_sum
from relgraph.numpy.finite_differences import diff, ediff1d, gradient
from relgraph.numpy.functions import (  # fmt: skip
    clip,
    diagonal,
    ndim,
    size,
    std,
    trace,
    transpose,
    var,
)
from relgraph.numpy.manipulation import (
    append,
    array_split,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block,
    column_stack,
    dsplit,
    dstack,
    flip,
    fliplr,
    flipud,
    hsplit,
    hstack,
    pad,
    repeat,
    roll,
    rollaxis,
    rot90,
    split,
    tile,
    unstack,
    vsplit,
    vstack,
)
from relgraph.numpy.nan_reductions import (
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)
from relgraph.numpy.polynomials import polyval, vander
from relgraph.numpy.products import cross, dot, inner, matvec, tensordot, vdot, vecdot, vecmat
from relgraph.numpy.quantiles import median, percentile, quantile
from relgraph.numpy.reductions import all, any, argmax, argmin, max, mean, min, prod, sum
from relgraph.numpy.statistics import average, corrcoef, count_nonzero, cov, ptp, trapezoid
from relgraph.numpy.ufuncs import (
    deg2rad,
    fabs,
    fix,
    float_power,
    fmod,
    heaviside,
    isneginf,
    isposinf,
    logaddexp2,
    modf,
    nan_to_num,
    rad2deg,
    select,
    sinc,
)
from relgraph.numpy.unsupported import instead_of
from relgraph.ops.arguments import as_operand
from relgraph.ops.checks import squeeze, unique
from relgraph.ops.concatenate import concatenate, stack
from relgraph.ops.contraction import einsum, matmul, outer
from relgraph.ops.cumulative import cumprod, cumsum
from relgraph.ops.elementwise import (  # fmt: skip
    absolute,
    add,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    cbrt,
    ceil,
    conjugate,
    copysign,
    cos,
    cosh,
    divmod,
    equal,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    fmax,
    fmin,
    greater,
    greater_equal,
    hypot,
    invert,
    isfinite,
    isinf,
    isnan,
    left_shift,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    positive,
    power,
    reciprocal,
    remainder,
    right_shift,
    rint,
    round,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    true_divide,
    trunc,
    where,
)
from relgraph.ops.elementwise import cast as astype
from relgraph.ops.indexing.index import take
from relgraph.ops.linalg.blocks import kron
from relgraph.ops.linalg.structured import diag, eye, tril, triu
from relgraph.ops.permutation import matrix_transpose, moveaxis, swapaxes
from relgraph.ops.shape import broadcast_to, expand_dims, ravel, reshape, shape
from relgraph.ops.sorting import argsort, sort


@checks_arguments
def asarray(a: Any, dtype: npt.DTypeLike | None = None) -> Any:
    """Return a graph as it is, and an array or a number as a constant.

    Parameters
    ----------
    a : Variable or array-like
        Any shape.
    dtype : dtype-like, optional
        That of the result.

    Returns
    -------
    Variable
        ``a`` itself where it is a graph of that dtype.
    """
    return as_operand(a) if dtype is None else astype(a, dtype)


# Other names that NumPy has for the same functions.
array = asarray
abs = absolute
acos = arccos
acosh = arccosh
amax = max
amin = min
around = round
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
bitwise_invert = invert
bitwise_left_shift = left_shift
bitwise_not = invert
bitwise_right_shift = right_shift
concat = concatenate
conj = conjugate
degrees = rad2deg
divide = true_divide
mod = remainder
permute_dims = transpose
pow = power
radians = deg2rad


def __getattr__(name: str) -> Any:
    raise no_attribute("relgraph.numpy", name, __all__, instead_of(f"np.{name}"))


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "append",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "around",
    "array",
    "array_equal",
    "array_split",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "block",
    "bool_",
    "broadcast_arrays",
    "broadcast_to",
    "cbrt",
    "ceil",
    "clip",
    "column_stack",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "copysign",
    "corrcoef",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "deg2rad",
    "degrees",
    "diag",
    "diagflat",
    "diagonal",
    "diff",
    "divide",
    "divmod",
    "dot",
    "dsplit",
    "dstack",
    "e",
    "ediff1d",
    "einsum",
    "equal",
    "euler_gamma",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "fabs",
    "fix",
    "flip",
    "fliplr",
    "flipud",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "full",
    "full_like",
    "gradient",
    "greater",
    "greater_equal",
    "heaviside",
    "hsplit",
    "hstack",
    "hypot",
    "identity",
    "inf",
    "inner",
    "int8",
    "int16",
    "int32",
    "int64",
    "invert",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "kron",
    "left_shift",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "matmul",
    "matrix_transpose",
    "matvec",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "modf",
    "moveaxis",
    "multiply",
    "nan",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "ndim",
    "negative",
    "newaxis",
    "not_equal",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "percentile",
    "permute_dims",
    "pi",
    "polyval",
    "positive",
    "pow",
    "power",
    "prod",
    "ptp",
    "quantile",
    "rad2deg",
    "radians",
    "ravel",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "right_shift",
    "rint",
    "roll",
    "rollaxis",
    "rot90",
    "round",
    "select",
    "shape",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "size",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "trace",
    "transpose",
    "trapezoid",
    "tri",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique",
    "unstack",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vsplit",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]
