"""The expression for each elementwise op in a kernel for a GPU.

Integers and bools use the expressions of the CPU backend; floats compute in their own dtype with
NVIDIA's libdevice.  Each product and sum rounds separately, so none is contracted to fma: ``a * a -
b * b`` is 0 for ``b == a``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relgraph.backends.numba import templates as common
from relgraph.ir.node import Variable
from relgraph.lowering.kernels import Row
from relgraph.ops.elementwise import Cast, Elementwise

# {s} is the suffix of functions of the dtype ("f" for float32), {F} the dtype.
FLOATS = {
    "add": "add{s}({0}, {1})",
    "subtract": "add{s}({0}, -{1})",
    "multiply": "mul{s}({0}, {1})",
    "true_divide": "{0} / {1}",
    "negative": "-{0}",
    "absolute": "fabs{s}({0})",
    "square": "mul{s}({0}, {0})",
    "sqrt": "sqrt{s}({0})",
    "reciprocal": "{F}(1) / {0}",
    "maximum": "maximum{s}({0}, {1})",
    "minimum": "minimum{s}({0}, {1})",
    "clip": "minimum{s}(maximum{s}({0}, {1}), {2})",
    "floor_divide": "floor_divide{s}({0}, {1})",
    "remainder": "remainder{s}({0}, {1})",
    "power": "pow{s}({0}, {1})",
    "sign": "sign{s}({0})",
    "copysign": "copysign{s}({0}, {1})",
    "signbit": "copysign{s}({F}(1), {0}) < 0",
    "floor": "floor{s}({0})",
    "ceil": "ceil{s}({0})",
    "trunc": "trunc{s}({0})",
    "rint": "rint{s}({0})",
    "isnan": "{0} != {0}",
    "isinf": "fabs{s}({0}) == {F}(math.inf)",
    "isfinite": "fabs{s}({0}) < {F}(math.inf)",
    "arcsin": "asin{s}({0})",
    "arccos": "acos{s}({0})",
    "arctan": "atan{s}({0})",
    "arctan2": "atan2{s}({0}, {1})",
    "arcsinh": "asinh{s}({0})",
    "arccosh": "acosh{s}({0})",
    "arctanh": "atanh{s}({0})",
    "hypot": "hypot{s}({0}, {1})",
    "logaddexp": "logaddexp{s}({0}, {1})",
}
FLOATS |= {
    name: f"{name}{{s}}({{0}})"
    for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "sin", "cos", "tan",
        "sinh", "cosh", "tanh", "erf", "erfc", "sigmoid", "softplus", "log1mexp", "gammaln",
    )
}  # fmt: skip

# Ops that call no function: the CPU backend's text also serves floats.
_PLAIN = frozenset(
    {
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
        "logical_and", "logical_or", "logical_xor", "logical_not",
    }
)  # fmt: skip


def supported(node: Variable) -> bool:
    """Return True if a kernel statement can compute an elementwise node."""
    op = node.op
    if isinstance(op, Elementwise):
        loop = op.function.loop(op.name, tuple(x.dtype for x in node.inputs))
        if loop[0].kind == "f":
            return op.name in FLOATS or op.name in _PLAIN
    return common.supported(node)


def expression(row: Row, names: Sequence[str]) -> str:
    """Write a statement's right side in the dtype of the row, given the names of the operands."""
    op = row.op
    dtypes = tuple(np.dtype(ref.dtype) for ref in row.operands)
    if isinstance(op, Cast):
        return typed(convert(names[0], dtypes[0], np.dtype(row.dtype)), row.dtype)
    assert isinstance(op, Elementwise)
    loop = op.function.loop(op.name, dtypes)
    if loop[0].kind != "f" or op.name not in FLOATS:
        return typed(common.expression(row, names), row.dtype)
    args = [convert(*item) for item in zip(names, dtypes, loop, strict=False)]
    suffix = "f" if loop[0].name == "float32" else ""
    template = FLOATS[op.name]
    if op.name == "power" and row.operands[1].kind == "literal":
        powers = {1: "{0}", 2: "mul{s}({0}, {0})", 0.5: FLOATS["sqrt"]}
        template = powers[row.operands[1].value]
    return typed(template.format(*args, s=suffix, F=loop[0].name), row.dtype)


def convert(name: str, source: np.dtype[np.generic], target: np.dtype[np.generic]) -> str:
    """Write the conversion of a value with the meaning of ``astype``."""
    text = common.convert(name, source, target)
    if source.name == "float32" and text.startswith("to_"):
        text = text.replace("(", "f(", 1)
    elif source.name == "float32":
        text = text.replace("(to_int64(", "(to_int64f(").replace("(to_int32(", "(to_int32f(")
    return text


def typed(text: str, dtype: str) -> str:
    """Write the cast that undoes a wider promotion by Python or numba."""
    return text if dtype == "bool" else f"{dtype}({text})"


literals = common.literals
weight = common.weight
