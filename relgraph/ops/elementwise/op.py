"""The class of the elementwise ops, with one instance for each row.

Names, operands and dtypes are NumPy's, with one exception: float functions of bool, int8 and uint8
compute in float32, where NumPy would use float16.  int16 and uint16 give float32 and wider integers
float64, as in NumPy.  Functions that NumPy lacks follow the rule of exp or, with two operands, that
of arctan2.  Shapes broadcast where a dimension is statically 1.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from relgraph.errors import ArgumentError, NumberRangeError
from relgraph.ir import forks
from relgraph.ir.cost import size
from relgraph.ir.facts import Facts, within
from relgraph.ir.intervals import EVERYTHING, Interval
from relgraph.ir.node import Constant, Variable, digest_of
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, Type, broadcast_shapes
from relgraph.ops.elementwise.arithmetic import ARITHMETIC, ROUNDING
from relgraph.ops.elementwise.bounds import of_result
from relgraph.ops.elementwise.comparison import COMPARISON, LOGIC
from relgraph.ops.elementwise.facts import structure
from relgraph.ops.elementwise.row import Row, in_floats
from relgraph.ops.elementwise.special import SPECIALS
from relgraph.ops.elementwise.transcendental import EXPONENTIAL, TRIGONOMETRIC

_lock = forks.lock()

ROWS: dict[str, Row] = {
    row.name: row
    for rows in (ARITHMETIC, ROUNDING, COMPARISON, LOGIC, EXPONENTIAL, TRIGONOMETRIC, SPECIALS)
    for row in rows
}


class Elementwise(Op):
    """A scalar function applied to every element, with broadcasting.

    Parameters
    ----------
    name : str
        The name of a row; the same name gives the same object.

    Raises
    ------
    ArgumentError
        For a name without a row.

    Examples
    --------
    >>> from relgraph.ops.elementwise import Elementwise, add
    >>> Elementwise("add") is add
    True
    """

    __slots__ = (
        "arity",
        "associative",
        "commutative",
        "computes",
        "decides",
        "difference",
        "idempotent",
        "identity",
        "inverse",
        "latex",
        "measure",
        "name",
        "precedence",
        "row",
        "scale",
        "symbol",
    )
    pointwise = True
    total = True
    overhead = 300
    _named: ClassVar[dict[str, Elementwise]] = {}

    row: Row

    def __new__(cls, name: str) -> Elementwise:
        op = cls._named.get(name)
        if op is not None:
            return op
        if name not in ROWS:
            raise ArgumentError(
                f"there is no elementwise function {name!r}",
                {"functions": ", ".join(ROWS)},
                "Use one of these names.",
            )
        row = ROWS[name]
        op = object.__new__(cls)
        op.name, op.arity, op.row = row.name, row.arity, row
        op.symbol, op.precedence, op.latex = row.symbol, row.precedence, row.latex
        op.associative = "associative" in row.laws
        op.commutative = "commutative" in row.laws
        op.idempotent = "idempotent" in row.laws
        op.computes = not row.tests
        op.decides, op.measure = row.decides, row.measure
        op.difference = cls(row.difference) if row.difference else None
        op.inverse = cls(row.inverse) if row.inverse else None
        op.scale = cls(row.scale) if row.scale else None
        op.identity = getattr(row.compute, "identity", None) if op.associative else None
        op.params, op._nodes, op._types = (), {}, {}
        op.digest = digest_of(cls.__qualname__, name, ())
        with _lock:
            return cls._named.setdefault(name, op)

    def __reduce__(self) -> tuple[object, ...]:
        return Elementwise, (self.name,)

    def coerce(self, operands: tuple[Any, ...]) -> tuple[Variable, ...]:
        """Turn numbers and arrays into constants, by the rule of the row where it has one."""
        prepare = self.row.prepare
        if prepare is not None:
            return prepare(self, operands)
        try:
            return super().coerce(operands)
        except NumberRangeError:
            floats = in_floats(self.row, operands)
            if floats is None:
                raise
            return floats

    def infer(self, *types: Any) -> Type:
        """Return NumPy's dtype and the broadcast shape."""
        dtype = self.row.loop(self.name, tuple([t.dtype for t in types]))[-1]
        return TensorType(dtype, broadcast_shapes([t.shape for t in types]))

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy or SciPy, in the dtypes of the rule of the row."""
        arrays = [np.asarray(v) for v in values]
        loop = self.row.loop(self.name, tuple([a.dtype for a in arrays]))
        cast = [a.astype(d, copy=False) for a, d in zip(arrays, loop, strict=False)]
        return np.asarray(self.row.compute(*cast))

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Return the operations of the row for each element of the result."""
        return self.row.flops * size(result)

    def node_flops(self, inputs: tuple[Variable, ...], types: tuple[Any, ...], result: Any) -> int:
        """Return the operations of the row, which may be others for a constant last operand."""
        if self.row.constants and isinstance(inputs[-1], Constant):
            for value, flops in self.row.constants:
                if inputs[-1].uniform == value:
                    return flops * size(result)
        return self.flops(types, result)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Return what the rule of the row proves, and the matrix structure that it keeps."""
        row = self.row
        facts = row.facts(operands, node)
        if row.range != EVERYTHING[:2] and node.dtype.kind == "f":
            facts |= within(Interval(*row.range))
        if row.bounds is not None:
            facts |= of_result(operands, node, row.bounds)
        if node.type.ndim >= 2:
            facts |= structure(self.row.zero, self.row.definite, operands, node)
        return facts
