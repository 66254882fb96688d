"""How kernels spell each elementwise op: one expression for each loop dtype."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import Op
from relgraph.lowering.copies import Copy
from relgraph.lowering.kernels import Statement
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.elementwise import Cast, Elementwise, where
from relgraph.ops.elementwise.arithmetic import is_half
from relgraph.ops.elementwise.instances import power
from relgraph.ops.elementwise.row import LONG
from relgraph.ops.reductions import LogSumExp

# The expressions of the rows call functions of :mod:`relgraph.backends.numba.functions` and of
# Python's ``math``.


def supported(node: Variable) -> bool:
    """Return True if an elementwise node can be a statement of a kernel."""
    op = node.op
    if isinstance(op, Cast | Copy):
        return True
    if not isinstance(op, Elementwise):
        return False
    loop = _loop(op, node)
    if op is power and loop[0].kind in "iu":  # a negative exponent is an error at run time
        exponent = node.inputs[1]
        return exponent.dtype.kind in "bu" or (
            isinstance(exponent, Constant) and bool((exponent.value >= 0).all())
        )
    return op.row.spelling(loop[0].kind) is not None


def is_elementary(op: Op) -> bool:
    """Return True if a polynomial of relgraph's own computes an op."""
    return isinstance(op, Elementwise) and op.row.elementary is not None


def weight(node: Variable) -> int:
    """Return the weight of a node in the size limit of a kernel."""
    op = node.op
    if isinstance(op, Elementwise):
        return 1 if op.row.cpu is None else op.row.cpu.share
    # A cumulative op waits for each sum before the next one.
    return LONG if isinstance(op, LogSumExp | Cumulative) else 1


def literals(node: Variable) -> frozenset[int]:
    """Return the operands to write as literals: exponents that need no ``pow``."""
    if node.op is power:
        exponent = node.inputs[1]
        if isinstance(exponent, Constant) and (
            exponent.uniform in (1, 2) or is_half(exponent.value)
        ):
            return frozenset({1})
    return frozenset()


def expression(row: Statement, names: Sequence[str]) -> str:
    """Return the right-hand side of a statement, in the dtype of the row."""
    dtypes = tuple(np.dtype(ref.dtype) for ref in row.operands)
    op = row.op
    if isinstance(op, Cast | Copy):
        return convert(names[0], dtypes[0], np.dtype(row.dtype))
    assert isinstance(op, Elementwise)
    *loop, result = op.row.loop(op.name, dtypes)
    cpu = op.row.cpu
    assert cpu is not None
    if cpu.truths:
        args = [convert(n, d, np.dtype(bool)) for n, d in zip(names, dtypes, strict=True)]
        return cpu.any.format(*args)
    args = [convert(*item) for item in zip(names, dtypes, loop, strict=False)]
    if op is power:
        special = _small_power(row, args[0])
        if special is not None:
            return _typed(special, result)
    kind = loop[-1 if op is where else 0]
    template = cpu.spelling(kind.kind)
    assert template is not None
    if kind == np.float32 and cpu.wide:
        return f"float32({template.format(*[f'float64({a})' for a in args])})"
    text = template.format(*args, bits=8 * kind.itemsize, one=f"{kind.name}(1)")
    if result == np.float32 and not cpu.plain:
        return f"float32({text})"
    return _typed(text, result)


def convert(name: str, source: np.dtype[np.generic], target: np.dtype[np.generic]) -> str:
    """Return the conversion of a value, with the meaning of ``astype``."""
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
    """Return a cast that undoes numba's promotion of small and unsigned integers."""
    return f"{dtype.name}({text})" if dtype.kind in "iu" and dtype.name != "int64" else text


def _small_power(row: Statement, base: str) -> str | None:
    """Return a power whose exponent is a small literal, without ``pow``."""
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
    return op.row.loop(op.name, tuple(x.dtype for x in node.inputs))
