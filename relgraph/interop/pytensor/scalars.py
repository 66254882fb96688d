"""Translation of PyTensor's scalar ops, which ``Elemwise`` applies to arrays.

The table is keyed by the names of classes, so that ops of PyMC need no import of PyMC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

import relgraph.ops.elementwise as ew
from relgraph.interop.pytensor.special import SpecialFunction
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ir.types import TensorType
from relgraph.numpy.ufuncs import deg2rad, rad2deg
from relgraph.ops.shape import broadcast_to, dim


class Scalar(NamedTuple):
    """The translation of a scalar op."""

    apply: Callable[..., Any]
    cast: str = "all"
    """The operands to cast to the dtype of the result first: "all", "none", or all but the first
    one ("rest")."""


def _folded(op: Any) -> Callable[..., Any]:
    """Return a binary op for any number of operands."""
    return lambda *operands: reduce(op, operands)


def _second(like: Variable, x: Variable) -> Variable:
    """Return ``x``, broadcast together with ``like``."""
    shape: list[Any] = []
    ndim = max(like.ndim, x.ndim)
    for axis in range(-ndim, 0):
        sizes = [node.type.shape[axis] for node in (like, x) if node.ndim >= -axis]
        longest = next((s for s in sizes if isinstance(s, int) and s != 1), None)
        if longest is None and all(s == 1 for s in sizes):
            longest = 1
        if longest is None:
            node = next(n for n in (x, like) if n.ndim >= -axis and n.type.shape[axis] != 1)
            longest = dim(node, axis)
        shape.append(longest)
    return broadcast_to(x, tuple(shape))  # type: ignore[no-any-return]


def _clip(x: Any, low: Any, high: Any) -> Any:
    """Return ``x`` clipped as PyTensor does where the bounds cross: to the lower one."""
    bounds = [b.uniform for b in (low, high) if isinstance(b, Constant) and b.uniform is not None]
    if len(bounds) == 2 and bounds[0] <= bounds[1]:
        return ew.clip(x, low, high)
    return ew.where(ew.less(x, low), low, ew.where(ew.greater(x, high), high, x))


def _switch(condition: Any, x: Any, y: Any) -> Any:
    truth = condition if condition.dtype.kind == "b" else ew.not_equal(condition, 0)
    return ew.where(truth, x, y)


def _half_away(x: Any) -> Any:
    return ew.copysign(ew.floor(ew.absolute(x) + 0.5), x)


def _of_order(op: Any, order: int) -> Callable[[Any], Any]:
    """Return a Bessel function of a fixed order."""
    return lambda x: op(np.asarray(order, dtype=x.dtype), x)


def _special(name: str) -> Scalar:
    return Scalar(SpecialFunction(name))


def _upper_gamma(k: Any, x: Any) -> Any:
    return SpecialFunction("gammaincc")(k, x) * ew.gamma(k)


def _lower_gamma(k: Any, x: Any) -> Any:
    return SpecialFunction("gammainc")(k, x) * ew.gamma(k)


_COMPARED = partial(Scalar, cast="none")

SCALARS: dict[str, Scalar] = {
    # arithmetic
    "Add": Scalar(_folded(ew.add)),
    "Mul": Scalar(_folded(ew.multiply)),
    "Sub": Scalar(ew.subtract),
    "TrueDiv": Scalar(ew.true_divide),
    "IntDiv": Scalar(ew.floor_divide),
    "Mod": Scalar(ew.remainder),
    "Pow": Scalar(ew.power),
    "Neg": Scalar(ew.negative),
    "Reciprocal": Scalar(ew.reciprocal),
    "Abs": Scalar(ew.absolute),
    "Sign": Scalar(ew.sign),
    "Sqr": Scalar(ew.square),
    "Sqrt": Scalar(ew.sqrt),
    "Maximum": Scalar(ew.maximum),
    "Minimum": Scalar(ew.minimum),
    "Clip": Scalar(_clip),
    "Ceil": Scalar(ew.ceil),
    "Floor": Scalar(ew.floor),
    "Trunc": Scalar(ew.trunc),
    "RoundHalfToEven": Scalar(ew.rint),
    "RoundHalfAwayFromZero": Scalar(_half_away),
    "Deg2Rad": Scalar(deg2rad),
    "Rad2Deg": Scalar(rad2deg),
    # selection and conversion
    "Second": Scalar(_second, cast="rest"),
    "Switch": Scalar(_switch, cast="rest"),
    "Identity": Scalar(lambda x: x),
    "Cast": Scalar(lambda x: x),
    "Conj": Scalar(lambda x: x),
    "Real": Scalar(lambda x: x),
    # comparisons and logic
    "LT": _COMPARED(ew.less),
    "GT": _COMPARED(ew.greater),
    "LE": _COMPARED(ew.less_equal),
    "GE": _COMPARED(ew.greater_equal),
    "EQ": _COMPARED(ew.equal),
    "NEQ": _COMPARED(ew.not_equal),
    "IsNan": _COMPARED(ew.isnan),
    "IsInf": _COMPARED(ew.isinf),
    "AND": Scalar(_folded(ew.bitwise_and)),
    "OR": Scalar(_folded(ew.bitwise_or)),
    "XOR": Scalar(_folded(ew.bitwise_xor)),
    "Invert": Scalar(ew.invert),
    # exponentials
    "Exp": Scalar(ew.exp),
    "Exp2": Scalar(ew.exp2),
    "Expm1": Scalar(ew.expm1),
    "Log": Scalar(ew.log),
    "Log2": Scalar(ew.log2),
    "Log10": Scalar(ew.log10),
    "Log1p": Scalar(ew.log1p),
    "Log1mexp": Scalar(ew.log1mexp),
    "Sigmoid": Scalar(ew.sigmoid),
    "Softplus": Scalar(ew.softplus),
    # trigonometry
    "Cos": Scalar(ew.cos),
    "Sin": Scalar(ew.sin),
    "Tan": Scalar(ew.tan),
    "ArcCos": Scalar(ew.arccos),
    "ArcSin": Scalar(ew.arcsin),
    "ArcTan": Scalar(ew.arctan),
    "ArcTan2": Scalar(ew.arctan2),
    "Cosh": Scalar(ew.cosh),
    "Sinh": Scalar(ew.sinh),
    "Tanh": Scalar(ew.tanh),
    "ArcCosh": Scalar(ew.arccosh),
    "ArcSinh": Scalar(ew.arcsinh),
    "ArcTanh": Scalar(ew.arctanh),
    # special functions
    "Erf": Scalar(ew.erf),
    "Erfc": Scalar(ew.erfc),
    "Erfcx": Scalar(ew.erfcx),
    "Erfinv": _special("erfinv"),
    "Erfcinv": _special("erfcinv"),
    "Owens_t": _special("owens_t"),
    "Gamma": Scalar(ew.gamma),
    "GammaLn": Scalar(ew.gammaln),
    "Psi": Scalar(ew.digamma),
    "TriGamma": Scalar(ew.trigamma),
    "PolyGamma": Scalar(ew.polygamma),
    "GammaInc": _special("gammainc"),
    "GammaIncC": _special("gammaincc"),
    "GammaIncInv": _special("gammaincinv"),
    "GammaIncCInv": _special("gammainccinv"),
    "GammaU": Scalar(_upper_gamma),
    "GammaL": Scalar(_lower_gamma),
    "BetaInc": _special("betainc"),
    "BetaIncInv": _special("betaincinv"),
    "Hyp2F1": _special("hyp2f1"),
    "Jv": _special("jv"),
    "J0": _special("j0"),
    "J1": _special("j1"),
    "Iv": Scalar(ew.iv),
    "Ive": Scalar(ew.ive),
    "Kve": Scalar(ew.kve),
    "I0": Scalar(_of_order(ew.iv, 0)),
    "I1": Scalar(_of_order(ew.iv, 1)),
    "I0e": Scalar(_of_order(ew.ive, 0)),
    "I1e": Scalar(_of_order(ew.ive, 1)),
}

REFUSED = {
    **dict.fromkeys(("Imag", "Angle", "Complex", "ComplexFromPolar"), "its numbers are complex"),
}


def applied(name: str, operands: Sequence[Variable], dtype: str) -> Variable:
    """Return a scalar op applied to arrays; the result has the dtype that PyTensor gives it."""
    row = SCALARS[name]
    first = {"all": 0, "rest": 1, "none": len(operands)}[row.cast]
    operands = [as_dtype(x, dtype) if i >= first else x for i, x in enumerate(operands)]
    return as_dtype(row.apply(*operands), dtype)


def as_dtype(x: Variable, dtype: str) -> Variable:
    """Return an array in a dtype."""
    if x.dtype == dtype:
        return x
    if isinstance(x, Constant):
        return constant(x.value.astype(dtype))
    assert isinstance(x.type, TensorType)
    return ew.cast(x, dtype)  # type: ignore[no-any-return]


__all__ = ["REFUSED", "SCALARS", "Scalar", "applied", "as_dtype"]
