"""Conversion of elements to another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import DTypeError
from relgraph.ir.facts import NOTHING, VALUE_FACTS, Facts, kept, of_elements, proved, within
from relgraph.ir.intervals import Interval, of_dtype
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Type, check_dtype
from relgraph.ops.elementwise.facts import structure

_NARROW = 2  # bytes of an integer whose dtype alone bounds it usefully, as an index of a table


class Cast(Op):
    """Conversion to another dtype, as ``array.astype`` does.

    Parameters
    ----------
    dtype : dtype-like
        The dtype of the result; stored as its name.
    """

    __slots__ = ()
    name = "cast"
    total = True
    parameters = ("dtype",)
    arity = 1
    computes = False
    pointwise = True
    overhead = 300

    @classmethod
    def canonical(cls, dtype: Any) -> tuple[Any, ...]:
        """Store the name of the dtype; an open parameter passes through."""
        if dtype is None:
            raise DTypeError("a cast needs a dtype, not None", fix="Name one, such as 'float64'.")
        return (check_dtype(dtype).name if isinstance(dtype, str | type | np.dtype) else dtype,)

    def infer(self, *types: Any) -> Type:
        """Keep the shape."""
        return types[0].with_dtype(self.params[0])  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Convert; a float outside of an integer dtype's range is undefined, as in NumPy."""
        return np.asarray(values[0]).astype(self.params[0])

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep what conversion cannot lose to underflow, overflow or wrapping around."""
        (x,) = operands
        source, target = node.inputs[0].dtype, node.dtype
        if np.can_cast(source, target) or (source.kind in "iu" and target.kind == "f"):
            names: tuple[str, ...] = VALUE_FACTS
        elif target.kind == "b":
            return kept(x, "nonzero") | (proved("positive") if x.holds("nonzero") else NOTHING)
        elif target.kind == "f":
            names = ("nonnegative", "nonpositive", "integer", "not_nan")
        elif target.itemsize >= source.itemsize and source.kind in "iu" and x.holds("nonnegative"):
            # A signed integer that is not negative keeps its value among unsigned ones.
            names = VALUE_FACTS if target.kind == "u" else ()
        else:
            names = ()
        facts = of_elements(x) if names is VALUE_FACTS else kept(x, *names)
        if source.kind in "biu" and names is VALUE_FACTS:
            facts = _of_integers(facts, source, target)
        if node.type.ndim >= 2 and names:
            facts |= structure("all", None, operands, node)
        return facts


def _of_integers(facts: Facts, source: Any, target: Any) -> Facts:
    """Return the facts of converted integers with their interval, rounded to the dtype."""
    if source.itemsize <= _NARROW:
        facts |= within(of_dtype(source))
    if target.kind != "f" or facts.interval is None:
        return facts
    low, high = (float(target.type(end)) for end in facts.interval[:2])
    return facts._replace(interval=None) | within(Interval(low, high))
