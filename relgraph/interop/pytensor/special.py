"""Elementwise ops for functions that relgraph lacks: SciPy's, splines, and loops on scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special

from relgraph.ir.cost import size
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, TupleType, Type, broadcast_shapes


class SpecialFunction(Op):
    """A function of ``scipy.special``, applied to every element, with broadcasting.

    Parameters
    ----------
    function : str
        Its name in ``scipy.special``.
    """

    __slots__ = ()
    parameters = ("function",)
    pointwise = True
    overhead = 1500

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the function."""
        return str(self.params[0])

    def infer(self, *types: Any) -> Type:
        """Return float32 or float64, and the broadcast shape."""
        dtype = np.result_type("float32", *[t.dtype for t in types])
        return TensorType(dtype, broadcast_shapes([t.shape for t in types]))

    def perform(self, *values: Any) -> Any:
        """Compute with SciPy."""
        dtype = np.result_type("float32", *[np.asarray(v).dtype for v in values])
        function = getattr(scipy.special, self.params[0])
        return np.asarray(function(*[np.asarray(v, dtype=dtype) for v in values]), dtype=dtype)

    def flops(self, types: tuple[Any, ...], result: Any) -> Any:
        """Return a hundred operations for each element."""
        return 100 * size(result)


class Spline(Op):
    """A spline of ``scipy.interpolate``, evaluated at every element.

    Parameters
    ----------
    spline : UnivariateSpline
        The spline.
    """

    __slots__ = ()
    name = "spline"
    parameters = ("spline",)
    arity = 1
    pointwise = True

    def infer(self, *types: Any) -> Type:
        """Keep the type."""
        return types[0]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Evaluate with SciPy."""
        x = np.asarray(values[0])
        return np.asarray(self.params[0](x), dtype=x.dtype)

    def flops(self, types: tuple[Any, ...], result: Any) -> Any:
        """Return twenty operations for each element."""
        return 20 * size(result)


class ElementLoop(Op):
    """States of every element, updated in steps until a condition holds: a tuple.

    The operands are the number of steps, the states, and constants; all broadcast.

    Parameters
    ----------
    step : FunctionGraph
        From the states and constants of elements, in vectors, to their next states and, if
        ``until``, to whether the element is done.
    until : bool
        Whether the step says when an element is done; the last result is then a mask of those that
        are.
    """

    __slots__ = ()
    name = "element_loop"
    parameters = ("step", "until")

    def infer(self, *types: Any) -> Type:
        """Return the broadcast shape and the dtypes of the states."""
        shape = broadcast_shapes([t.shape for t in types])
        return TupleType([TensorType(x.dtype, shape) for x in self.params[0].outputs])

    def perform(self, *values: Any) -> Any:
        """Compute step by step with NumPy, on the elements that are not done."""
        graph, until = self.params
        steps, *arrays = np.broadcast_arrays(*values)
        flat = [np.array(x).reshape(-1) for x in arrays]
        count = len(graph.outputs) - until
        states, constants = flat[:count], flat[count:]
        done = np.ones(steps.size, dtype=bool)  # PyTensor's result without any step
        active, left = np.arange(steps.size), steps.reshape(-1)
        for number in range(int(left.max(initial=0))):
            active = active[left[active] > number]
            if not active.size:
                break
            results = _stepped(graph, [x[active] for x in (*states, *constants)])
            for state, new in zip(states, results[:count], strict=True):
                state[active] = new
            if until:
                done[active] = results[-1]
                active = active[~done[active]]
        return tuple(x.reshape(steps.shape) for x in ([*states, done] if until else states))

    def flops(self, types: tuple[Any, ...], result: Any) -> Any:
        """Return a hundred steps of the graph for each element."""
        return 100 * len(self.params[0]) * size(result.items[0])


def _stepped(graph: FunctionGraph, arrays: Sequence[Any]) -> list[Any]:
    """Return the outputs of a graph, computed op by op with NumPy."""
    values: dict[Any, Any] = dict(zip(graph.inputs, arrays, strict=True))
    with np.errstate(all="ignore"):
        for node in graph.toposort():
            if isinstance(node, Constant):
                values[node] = node.value
            elif node.op is not None:
                values[node] = node.op.perform(*[values[x] for x in node.inputs])
    return [np.broadcast_to(values[x], arrays[0].shape) for x in graph.outputs]


__all__ = ["ElementLoop", "SpecialFunction", "Spline"]
