"""JAX: functions that relgraph computes and differentiates, inside ``jax.jit`` and the like."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from relgraph.api.function import Function, function
from relgraph.api.function_derivatives import Derivative
from relgraph.api.gradients import grad
from relgraph.api.jit import Jit
from relgraph.api.tracing.calls import tracing
from relgraph.api.tracing.tracer import argument, operand
from relgraph.errors import ArgumentError, ShapeError, kind_of
from relgraph.ir.graph import substitute
from relgraph.ir.node import Input, Variable, as_variable, make_input
from relgraph.ir.types import TensorType
from relgraph.numpy.reductions import sum as total


class _Program:
    """A graph of arrays of known shapes as a function of JAX, with derivatives of any order."""

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Variable], options: Any) -> None:
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.options = options
        self.results = [jax.ShapeDtypeStruct(_static(y), y.dtype) for y in outputs]
        self.run = jax.custom_vjp(self._run)
        self.run.defvjp(self._forward, self._backward)

    @functools.cached_property
    def compiled(self) -> Function:
        """The compiled graph."""
        return function(self.inputs, tuple(self.outputs), **self.options)

    @functools.cached_property
    def pullback(self) -> _Program:
        """The program from arguments and cotangents of float results to cotangents of floats."""
        cotangents = [
            make_input(f"cotangent{len(self.inputs) + i}", y.type)
            for i, y in enumerate(self.outputs)
            if y.dtype.kind == "f"
        ]
        floats = [y for y in self.outputs if y.dtype.kind == "f"]
        products = [total(y * g) for y, g in zip(floats, cotangents, strict=True)]
        loss = functools.reduce(lambda a, b: a + b, products)
        wrt = [x for x in self.inputs if x.dtype.kind == "f"]
        return _Program([*self.inputs, *cotangents], grad(loss, wrt), self.options)

    def _run(self, *values: Any) -> Any:
        return jax.pure_callback(
            self._computed, tuple(self.results), *values, vmap_method="sequential"
        )

    def _computed(self, *values: Any) -> Any:
        results = self.compiled(*[np.asarray(x) for x in values])
        return tuple(np.asarray(x) for x in results)

    def _forward(self, *values: Any) -> Any:
        return self.run(*values), values

    def _backward(self, values: Any, cotangents: Any) -> Any:
        floats = [g for g, y in zip(cotangents, self.outputs, strict=True) if y.dtype.kind == "f"]
        computed = iter(self.pullback.run(*values, *floats))
        return tuple(
            next(computed) if x.dtype.kind == "f" else np.zeros(x.type.shape, jax.dtypes.float0)
            for x in self.inputs
        )


def wrap(
    function: Callable[..., Any], mode: Any = "default", nonfinite: str = "assume"
) -> Callable[..., Any]:
    """Return a function of JAX's arrays that relgraph computes.

    Parameters
    ----------
    function : callable or Function
        A function written with NumPy, also under :func:`relgraph.jit`, or a compiled function.
    mode : str, Query, relation, rewriter, list of them, or None
        The rewrites to run, as in :func:`relgraph.function`.
    nonfinite : {"assume", "keep"}
        As in :func:`relgraph.function`.

    Returns
    -------
    callable
        A function of arrays, and pytrees of them, by position, which computes on the CPU.  It works
        inside ``jax.jit``; inside ``jax.grad``, of any order in reverse mode; and inside
        ``jax.vmap``, which runs it for one element after another.

    Raises
    ------
    ArgumentError
        For an object that is not callable.

    Notes
    -----
    The first call with each combination of structure, shapes and dtypes compiles.
    """
    if not callable(function):
        raise ArgumentError(
            f"wrap takes a function of arrays, not {kind_of(function)}",
            fix="Write rg.interop.jax.wrap(lambda x: np.sum(np.exp(x))).",
        )
    options = {"mode": mode, "nonfinite": nonfinite}

    @functools.lru_cache(maxsize=256)
    def program(tree: Any, types: tuple[TensorType, ...]) -> tuple[_Program, Any]:
        inputs = [make_input(f"x{i}", type_) for i, type_ in enumerate(types)]
        result = _traced(function, tree, inputs)
        outputs, structure = jax.tree.flatten(result)
        return _Program(inputs, [as_variable(operand(y)) for y in outputs], options), structure

    @functools.wraps(function)
    def wrapped(*args: Any) -> Any:
        leaves, tree = jax.tree.flatten(args)
        leaves = [x if hasattr(x, "shape") else np.asarray(x) for x in leaves]
        types = tuple(TensorType(np.dtype(x.dtype), x.shape) for x in leaves)
        compiled, structure = program(tree, types)
        return jax.tree.unflatten(structure, compiled.run(*leaves))

    return wrapped


def _traced(function: Callable[..., Any], tree: Any, inputs: Sequence[Input]) -> Any:
    """Return what a function computes from inputs: graphs, or traced arrays."""
    if not isinstance(function, Function):
        if isinstance(function, Jit) and not isinstance(function, Derivative):
            function = inspect.unwrap(function)
        with tracing(function):
            return function(*jax.tree.unflatten(tree, [argument(x) for x in inputs]))
    nodes = jax.tree.unflatten(tree, list(inputs))
    pairs: dict[Variable, Variable] = dict(zip(function.inputs, nodes, strict=True))
    results = substitute(function.graph.outputs, pairs)
    return results[0] if len(results) == 1 else tuple(results)


def _static(node: Variable) -> tuple[int, ...]:
    """Return the shape of a result, which JAX must know before the call."""
    sizes = node.type.shape
    if not all(isinstance(size, int) for size in sizes):
        raise ShapeError(
            "a result has a size that depends on values, and JAX needs to know it",
            {"result": node, "type": node.type},
            "Return an array whose shape follows from the shapes of the arguments.",
        )
    return tuple(sizes)


__all__ = ["wrap"]
