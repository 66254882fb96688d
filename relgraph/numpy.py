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

from types import SimpleNamespace
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

from relgraph.ops import matrices
from relgraph.ops.arguments import as_operand
from relgraph.ops.blocks import kron
from relgraph.ops.checks import unique
from relgraph.ops.contraction import dot, einsum, inner, matmul, outer, tensordot, vdot
from relgraph.ops.cumulative import cumprod, cumsum, cumulative_prod, cumulative_sum
from relgraph.ops.elementwise import (
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
)  # fmt: skip
from relgraph.ops.elementwise import cast as astype
from relgraph.ops.indexing import take
from relgraph.ops.inputs import arange, full, full_like, ones, ones_like, zeros, zeros_like
from relgraph.ops.joining import concatenate, repeat, split, stack, tile
from relgraph.ops.linalg import det, inv, slogdet, solve
from relgraph.ops.matrices import diag, eye, tril, triu
from relgraph.ops.numpy_functions import (
    cholesky,
    clip,
    diagonal,
    eigh,
    eigvalsh,
    ndim,
    norm,
    qr,
    size,
    std,
    svd,
    trace,
    transpose,
    var,
)  # fmt: skip
from relgraph.ops.permutation import matrix_transpose, moveaxis, swapaxes
from relgraph.ops.reduction import all, any, argmax, argmin, max, mean, min, prod, sum
from relgraph.ops.sequences import diff, flip, pad, roll
from relgraph.ops.shape import broadcast_to, expand_dims, ravel, reshape, shape, squeeze


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
divide = true_divide
mod = remainder
permute_dims = transpose
pow = power

linalg = SimpleNamespace(
    cholesky=cholesky,
    det=det,
    eigh=eigh,
    eigvalsh=eigvalsh,
    inv=inv,
    matmul=matmul,
    matrix_transpose=matrix_transpose,
    norm=norm,
    outer=outer,
    qr=qr,
    slogdet=slogdet,
    solve=solve,
    svd=svd,
    tensordot=tensordot,
    diagonal=matrices.diagonal,
    trace=matrices.trace,
)

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "amax",
    "amin",
    "any",
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
    "around",
    "array",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool_",
    "broadcast_to",
    "cbrt",
    "ceil",
    "clip",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diag",
    "diagonal",
    "diff",
    "divide",
    "divmod",
    "dot",
    "e",
    "einsum",
    "equal",
    "euler_gamma",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "flip",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "inf",
    "inner",
    "int8",
    "int16",
    "int32",
    "int64",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "kron",
    "left_shift",
    "less",
    "less_equal",
    "linalg",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mod",
    "moveaxis",
    "multiply",
    "nan",
    "ndim",
    "negative",
    "newaxis",
    "not_equal",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "power",
    "prod",
    "ravel",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "right_shift",
    "rint",
    "roll",
    "round",
    "shape",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "size",
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
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique",
    "var",
    "vdot",
    "where",
    "zeros",
    "zeros_like",
]
