"""The expression for each elementwise op in a kernel for a GPU.

Integers and bools use the expressions of the CPU backend; floats compute in their own dtype with
NVIDIA's libdevice.  Each product and sum rounds separately instead of being contracted to fma, so
that ``a * a - b * b`` is 0 for ``b == a``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relgraph.backends.numba import templates as common
from relgraph.ir.node import Variable
from relgraph.lowering.kernels import Statement
from relgraph.ops.elementwise import Cast, Elementwise, sqrt
from relgraph.ops.elementwise.instances import power


def supported(node: Variable) -> bool:
    """Return True if an elementwise node can be a statement of a kernel."""
    op = node.op
    if isinstance(op, Elementwise):
        loop = op.row.loop(op.name, tuple(x.dtype for x in node.inputs))
        if loop[0].kind == "f":
            cpu = op.row.cpu
            # Expressions of operators alone also serve floats on a GPU.
            return bool(op.row.cuda or (cpu is not None and (cpu.number or cpu.any)))
    return common.supported(node)


def expression(row: Statement, names: Sequence[str]) -> str:
    """Write the right-hand side of a statement, given the names of the operands."""
    op = row.op
    dtypes = tuple(np.dtype(ref.dtype) for ref in row.operands)
    if isinstance(op, Cast):
        return typed(convert(names[0], dtypes[0], np.dtype(row.dtype)), row.dtype)
    assert isinstance(op, Elementwise)
    loop = op.row.loop(op.name, dtypes)
    if loop[0].kind != "f" or not op.row.cuda:
        return typed(common.expression(row, names), row.dtype)
    args = [convert(*item) for item in zip(names, dtypes, loop, strict=False)]
    suffix = "f" if loop[0].name == "float32" else ""
    template = op.row.cuda
    if op is power and row.operands[1].kind == "literal":
        powers = {1: "{0}", 2: "mul{s}({0}, {0})", 0.5: sqrt.row.cuda}
        template = powers[row.operands[1].value]
    return typed(template.format(*args, s=suffix, F=loop[0].name), row.dtype)


def convert(name: str, source: np.dtype[np.generic], target: np.dtype[np.generic]) -> str:
    """Write the conversion of a value, which gives the same result as ``astype``."""
    text = common.convert(name, source, target)
    if source.name == "float32" and text.startswith("to_"):
        text = text.replace("(", "f(", 1)
    elif source.name == "float32":
        text = text.replace("(to_int64(", "(to_int64f(").replace("(to_int32(", "(to_int32f(")
    return text


def typed(text: str, dtype: str) -> str:
    """Write a cast to a dtype, which undoes the wider promotion of Python or numba."""
    return text if dtype == "bool" else f"{dtype}({text})"


literals = common.literals
weight = common.weight
