"""The ops that derivatives are stated with: the differential, the inner product, and a stop.

They occur in relations and while derivatives are taken, and in no graph that is compiled, except
for ``stop_gradient``, which is its operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, Type
from relgraph.ops.elementwise import multiply


class Differential(Op):
    """The differential of a node, in its type: ``d(x * y) = d(x) * y + x * d(y)``.

    Its values are zeros, the differential of a value that does not change.
    """

    __slots__ = ()
    name = "d"
    arity = 1
    pointwise = True
    computes = False
    overhead = 0

    def infer(self, *types: Any) -> Type:
        """Return the type of the operand."""
        return types[0]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Return zeros."""
        return np.zeros_like(values[0])


class InnerProduct(Op):
    """The inner product of two arrays, ``sum(g * x)`` with broadcasting, which states adjoints.

    A law such as ``<g, A @ X> = <A.mT @ g, X>`` transposes a linear op.
    """

    __slots__ = ()
    name = "inner_product"
    arity = 2

    def infer(self, *types: Any) -> Type:
        """Return the type of a number."""
        return TensorType(multiply.infer(*types).dtype, ())

    def perform(self, *values: Any) -> Any:
        """Sum the products of matching elements."""
        product = np.asarray(np.multiply(*values))
        return np.asarray(np.sum(product, dtype=product.dtype))


class StopGradient(Op):
    """Its operand, taken for a constant by differentiation."""

    __slots__ = ()
    name = "stop_gradient"
    total = True
    arity = 1
    pointwise = True
    view = True

    def infer(self, *types: Any) -> Type:
        """Return the type of the operand."""
        return types[0]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Return the operand."""
        return values[0]


class NoPartial(Op):
    """A term of a differential for an operand without a partial derivative."""

    __slots__ = ()
    name = "no_partial"
    arity = 1
    pointwise = True

    def infer(self, *types: Any) -> Type:
        """Return the type of the operand."""
        return types[0]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Return zeros."""
        return np.zeros_like(values[0])


d, inner_product, stop_gradient = Differential(), InnerProduct(), StopGradient()
no_partial = NoPartial()
