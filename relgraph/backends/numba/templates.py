"""How each elementwise op is written in a kernel: one expression of names, for a loop dtype."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relgraph.ir.node import Constant, Variable
from relgraph.lowering.kernels import Row
from relgraph.ops.arithmetic import is_half
from relgraph.ops.elementwise import Cast, Elementwise

# The functions are those of :mod:`relgraph.backends.numba.functions` and of Python's ``math``.

_FLOAT = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "true_divide": "{0} / {1}",
    "negative": "-{0}",
    "absolute": "abs({0})",
    "square": "{0} * {0}",
    "sqrt": "math.sqrt({0})",
    "reciprocal": "{one} / {0}",
    "maximum": "maximum({0}, {1})",
    "minimum": "minimum({0}, {1})",
    "clip": "minimum(maximum({0}, {1}), {2})",
    "floor_divide": "floor_divide({0}, {1})",
    "remainder": "remainder({0}, {1})",
    "power": "power({0}, {1})",
    "sign": "sign({0})",
    "copysign": "math.copysign({0}, {1})",
    "signbit": "math.copysign({one}, {0}) < 0",
    "floor": "np.floor({0})",
    "ceil": "np.ceil({0})",
    "trunc": "np.trunc({0})",
    "rint": "np.rint({0})",
    "isnan": "{0} != {0}",
    "isinf": "abs({0}) == math.inf",
    "isfinite": "abs({0}) < math.inf",
    "exp2": "exp2({0})",
    "log2": "log2({0})",
    "log10": "log10({0})",
    "cbrt": "cbrt({0})",
    "sin": "sin({0})",
    "cos": "cos({0})",
    "tan": "tan({0})",
    "arcsin": "math.asin({0})",
    "arccos": "math.acos({0})",
    "arctan": "math.atan({0})",
    "arctan2": "math.atan2({0}, {1})",
    "sinh": "math.sinh({0})",
    "cosh": "math.cosh({0})",
    "arcsinh": "math.asinh({0})",
    "arccosh": "math.acosh({0})",
    "arctanh": "math.atanh({0})",
    "hypot": "math.hypot({0}, {1})",
    "erf": "erf({0})",
    "erfc": "erfc({0})",
    "exp": "exp({0})",
    "expm1": "expm1({0})",
    "log": "log({0})",
    "log1p": "log1p({0})",
    "tanh": "tanh({0})",
    "sigmoid": "sigmoid({0})",
    "softplus": "softplus({0})",
    "logaddexp": "logaddexp({0}, {1})",
    "log1mexp": "log1mexp({0})",
    "gammaln": "gammaln({0})",
}

_INTEGER = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "negative": "-{0}",
    "square": "{0} * {0}",
    "maximum": "{0} if {0} > {1} else {1}",
    "minimum": "{0} if {0} < {1} else {1}",
    "power": "int_power({0}, {1}, {one})",
    "clip": "int_clip({0}, {1}, {2})",
    "floor": "{0}",
    "ceil": "{0}",
    "trunc": "{0}",
    "isnan": "False",
    "isinf": "False",
    "isfinite": "True",
    "bitwise_and": "{0} & {1}",
    "bitwise_or": "{0} | {1}",
    "bitwise_xor": "{0} ^ {1}",
    "invert": "~{0}",
    "left_shift": "left_shift({0}, {1}, {bits})",
}

_SIGNED = {
    "right_shift": "right_shift({0}, {1}, {bits})",
    "absolute": "abs({0})",
    "sign": "1 if {0} > 0 else (-1 if {0} < 0 else 0)",
    "floor_divide": "signed_floor_divide({0}, {1})",
    "remainder": "signed_remainder({0}, {1})",
}

_UNSIGNED = {
    "right_shift": "unsigned_right_shift({0}, {1}, {bits})",
    "absolute": "{0}",
    "sign": "1 if {0} > 0 else 0",
    "floor_divide": "int_floor_divide({0}, {1})",
    "remainder": "int_remainder({0}, {1})",
}

_BOOL = {
    "clip": "({0} | {1}) & {2}",
    "add": "{0} | {1}",
    "multiply": "{0} & {1}",
    "absolute": "{0}",
    "maximum": "{0} | {1}",
    "minimum": "{0} & {1}",
    "bitwise_and": "{0} & {1}",
    "bitwise_or": "{0} | {1}",
    "bitwise_xor": "{0} ^ {1}",
    "invert": "not {0}",
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "less": "(not {0}) & {1}",
    "less_equal": "(not {0}) | {1}",
    "greater": "{0} & (not {1})",
    "greater_equal": "{0} | (not {1})",
    "floor": "{0}",
    "ceil": "{0}",
    "trunc": "{0}",
    "isnan": "False",
    "isinf": "False",
    "isfinite": "True",
}

_NUMBER = {
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
}

_ANY = {
    "logical_and": "{0} & {1}",
    "logical_or": "{0} | {1}",
    "logical_xor": "{0} != {1}",
    "logical_not": "not {0}",
    "where": "{1} if {0} else {2}",
}
_TRUTHS = frozenset(_ANY) - {"where"}  # their operands are tested against zero first

_TABLES = {
    "f": (_FLOAT, _NUMBER, _ANY),
    "i": (_SIGNED, _INTEGER, _NUMBER, _ANY),
    "u": (_UNSIGNED, _INTEGER, _NUMBER, _ANY),
    "b": (_BOOL, _ANY),
}

# Functions that exist for float64 only; float32 goes through it and is rounded once.
_WIDE = frozenset({"gammaln", "arccosh", "arcsinh", "arctanh", "sinh", "cosh", "hypot"})

ELEMENTARY = frozenset(
    {
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "softplus", "logaddexp",
        "log1mexp", "tanh", "sigmoid", "erf", "erfc", "sin", "cos", "tan", "power", "cbrt",
    }
)  # fmt: skip

# Kernels are limited by weight: machine instructions, very roughly, over ten.  A sine is the
# shortest of its kind: one polynomial, no division, no ends of the range to care for.  A cumulative
# op waits for each sum before the next one.
_HEAVY = (ELEMENTARY - {"sin", "cos"}) | {
    "floor_divide", "remainder", "logsumexp", "cumsum", "cumprod", "cummax", "cummin",
}  # fmt: skip


def supported(node: Variable) -> bool:
    """Tell whether an elementwise node can be a statement of a kernel."""
    op = node.op
    if isinstance(op, Cast):
        return True
    if not isinstance(op, Elementwise):
        return False
    loop = _loop(op, node)
    if op.name == "power" and loop[0].kind in "iu":  # a negative exponent is an error at run time
        exponent = node.inputs[1]
        return exponent.dtype.kind in "bu" or (
            isinstance(exponent, Constant) and bool((exponent.value >= 0).all())
        )
    return _template(op.name, loop[0]) is not None


def weight(node: Variable) -> int:
    """Return the share of a node in the limit of a kernel."""
    return 8 if node.op is not None and node.op.name in _HEAVY else 1


def literals(node: Variable) -> frozenset[int]:
    """Return the operands to write out as numbers: an exponent that needs no ``pow``."""
    if node.op is not None and node.op.name == "power":
        exponent = node.inputs[1]
        if isinstance(exponent, Constant) and (
            exponent.uniform in (1, 2) or is_half(exponent.value)
        ):
            return frozenset({1})
    return frozenset()


def expression(row: Row, names: Sequence[str]) -> str:
    """Write a statement's right side.

    Parameters
    ----------
    row : Row
        The op, the dtypes of its operands and that of its result.
    names : sequence of str
        The operands' names.

    Returns
    -------
    str
        An expression whose value has the dtype of the row.
    """
    dtypes = tuple(np.dtype(ref.dtype) for ref in row.operands)
    op = row.op
    if isinstance(op, Cast):
        return convert(names[0], dtypes[0], np.dtype(row.dtype))
    assert isinstance(op, Elementwise)
    *loop, result = op.function.loop(op.name, dtypes)
    if op.name in _TRUTHS:
        args = [convert(n, d, np.dtype(bool)) for n, d in zip(names, dtypes, strict=True)]
        return _ANY[op.name].format(*args)
    args = [convert(*item) for item in zip(names, dtypes, loop, strict=False)]
    if op.name == "power":
        special = _small_power(row, args[0])
        if special is not None:
            return _typed(special, result)
    kind = loop[-1 if op.name == "where" else 0]
    template = _template(op.name, kind)
    assert template is not None
    if kind == np.float32 and op.name in _WIDE:
        return f"float32({template.format(*[f'float64({a})' for a in args])})"
    text = template.format(*args, bits=8 * kind.itemsize, one=f"{kind.name}(1)")
    if result == np.float32 and op.name not in _PLAIN_FLOAT32:
        return f"float32({text})"
    return _typed(text, result)


_PLAIN_FLOAT32 = frozenset(
    {
        "add", "subtract", "multiply", "true_divide", "negative", "absolute", "square",
        "maximum", "minimum", "clip", "where",
    }
) | ELEMENTARY  # fmt: skip


def convert(name: str, source: np.dtype[np.generic], target: np.dtype[np.generic]) -> str:
    """Write the conversion of a value, as ``astype`` does it."""
    if source == target:
        return name
    if target.kind == "b":
        return f"({name} != 0)"
    if source.kind == "f" and target.kind in "iu":
        if target.name in ("int64", "uint64"):
            return f"to_{target.name}({name})"
        through = "to_int64" if target.name == "uint32" else "to_int32"
        text = f"{through}({name})"
        return text if target.name == "int32" else f"{target.name}({text})"
    return f"{target.name}({name})"


def _typed(text: str, dtype: np.dtype[np.generic]) -> str:
    """Write the cast that undoes numba's promotion of small and of unsigned integers."""
    return f"{dtype.name}({text})" if dtype.kind in "iu" and dtype.name != "int64" else text


def _small_power(row: Row, base: str) -> str | None:
    """Write a power whose exponent is a small number in the source."""
    exponent = row.operands[1]
    if exponent.kind != "literal":
        return None
    if exponent.value == 1:
        return base
    if exponent.value == 2:
        return f"{base} * {base}"
    root = f"math.sqrt({base})"
    return f"float32({root})" if row.dtype == "float32" else root


def _loop(op: Elementwise, node: Variable) -> tuple[np.dtype[np.generic], ...]:
    return op.function.loop(op.name, tuple(x.dtype for x in node.inputs))


def _template(name: str, dtype: np.dtype[np.generic]) -> str | None:
    for table in _TABLES[dtype.kind]:
        if name in table:
            return table[name]
    return None
