"""Constant folding: applications of constants are computed at compile time.

There are two transforms, because they promise different things.  :class:`ConstantFolding` computes
an application of constants exactly as the call would, so values stay the same bit for bit.
:class:`ConstantCollecting` combines the constants of one sum or product, which regroups it: this is
exact for integers, and for floats within the error bound of a sum, if no intermediate value
overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.ir.node import Constant, Variable, constant
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, TupleType
from relgraph.ops.elementwise import ROWS, Elementwise, add, multiply
from relgraph.ops.shape import Dim
from relgraph.relations.operand_index import Firing

LIMIT = 1_000_000  # the most elements of a folded result, unless the constants have more

# Regrouping these stays within the error bound of a sum.
_COLLECTED = tuple(
    name for name, row in ROWS.items() if "associative" in row.laws and row.rounding != "absolute"
)


class ConstantFolding:
    """Computes applications of constants, and sizes that are static.

    A result becomes a constant only if it has exactly the type of the node and at most ``limit``
    elements (or as many as the constants it came from).  If computing it fails, as for a singular
    matrix, the node stays and fails at the call.

    Parameters
    ----------
    limit : int
        The largest number of elements of a result.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.constant_folding import ConstantFolding
    >>> x = rg.vector("x", shape=(3,))
    >>> rg.rewrite_graph(x * rg.sqrt(rg.constant(4.0)) + x.size, ConstantFolding())
    x * 2 + 3
    """

    name = relation = "constant_folding"
    tracks: tuple[Any, ...] | None = None
    pure = True

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit

    def __repr__(self) -> str:
        return "<constant_folding>"

    def transform(self, node: Variable) -> Variable | None:
        """Return the constant that a node is equal to, or None."""
        op, inputs = node.op, node.inputs
        if op is None:
            return None
        if type(op) is Dim:
            size = _static_size(op, inputs[0])
            return None if size is None else constant(size, "int64")
        for x in inputs:
            if x.__class__ is not Constant and (
                x.type.__class__ is not TupleType or not _is_constant_tuple(x)
            ):
                return None
        return self._computed(node)

    def _computed(self, node: Variable) -> Constant | None:
        type_ = node.type
        if not isinstance(type_, TensorType) or node.op is None:
            return None  # the getitem folds results of ops with several results
        values = [_value(x) for x in node.inputs]
        if any(v is None for v in values):
            return None
        largest = max((np.size(v) for v in values if isinstance(v, np.ndarray)), default=0)
        count = 1
        for dim in type_.shape:
            count *= dim if isinstance(dim, int) else 0
        if count > max(self.limit, largest):
            return None
        result = compute(node.op, values)
        if result is None or np.size(result) > max(self.limit, largest):
            return None
        array = np.asarray(result)
        if array.dtype != type_.dtype or not TensorType(array.dtype, array.shape).narrows(type_):
            return None
        return constant(array)


def compute(op: Op, values: Sequence[Any]) -> Any:
    """Return the result of an op on constants, or None if it fails or warns of an error."""
    try:
        with np.errstate(all="ignore"):
            return op.perform(*values)
    except Exception:  # the call will raise the same error of NumPy, SciPy or LAPACK
        return None


def _is_constant_tuple(node: Variable) -> bool:
    """Return True if a node applies an op with several results to constants."""
    return isinstance(node.type, TupleType) and all([x.__class__ is Constant for x in node.inputs])


def _value(node: Variable) -> Any:
    if isinstance(node, Constant):
        return node.value
    if node.op is None:
        return None
    return compute(node.op, [x.value for x in node.inputs if isinstance(x, Constant)])


def _static_size(op: Dim, x: Variable) -> int | None:
    size = x.type.shape[op.params[0]]
    return size if isinstance(size, int) else None


class ConstantCollecting:
    """Combines the constants of one sum or product.

    ``(x + 1) + 2`` becomes ``x + 3``.  Constants of floats are combined if the result is finite
    and, in a product, neither underflows nor is zero.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.constant_folding import ConstantCollecting
    >>> x = rg.vector("x")
    >>> rg.rewrite_graph(1 + (x + 2), ConstantCollecting())
    3 + x
    """

    name = relation = "constant_collecting"
    ac_ops = tuple(Elementwise(name) for name in _COLLECTED)
    tracks: tuple[Any, ...] | None = ac_ops
    pure = True

    def __repr__(self) -> str:
        return "<constant_collecting>"

    def transform(self, node: Variable) -> Variable | None:
        """Return None: sums and products are matched as n-ary views, by :meth:`fold`."""
        return None

    def fold(self, op: Op, constants: Sequence[Variable]) -> Firing | None:
        """Return the constants of one view combined into one.

        Parameters
        ----------
        op : Op
            The associative and commutative op.
        constants : sequence of Constant
            Two or more of the view's operands.

        Returns
        -------
        Firing or None
            None if combining them would lose a value by overflow or underflow, or build an array
            larger than each of them.
        """
        if op not in self.ac_ops:
            return None
        values = [x.value for x in constants if isinstance(x, Constant)]
        total = values[0]
        for value in values[1:]:
            combined = compute(op, (total, value))
            if combined is None or combined.size > max(total.size, value.size):
                return None
            if not _keeps(op, combined):
                return None
            total = combined
        return Firing(self, (), tuple(constants), constant(total))  # type: ignore[arg-type]


def _keeps(op: Op, result: npt.NDArray[Any]) -> bool:
    """Return True if no element overflowed, and no product underflowed or is zero."""
    if result.dtype.kind != "f" or op not in (add, multiply):
        return True  # integers wrap around in any order; other ops select or mask
    if not np.isfinite(result).all():
        return False
    return op is add or bool((np.abs(result) >= np.finfo(result.dtype).tiny).all())
