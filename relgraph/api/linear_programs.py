"""A value and its derivative at arrays, as two programs: the second reuses results of the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.api.differentiation import holds_graphs
from relgraph.api.function import Function, function
from relgraph.api.pytrees import filled, flattened, in_order_of, rebuilt
from relgraph.api.tracing.arguments import node_of
from relgraph.api.tracing.calls import tracing
from relgraph.api.tracing.tracer import argument
from relgraph.errors import ArgumentError
from relgraph.ir.dispatch import is_tracing
from relgraph.ir.graph import FunctionGraph, free_inputs, substitute, toposort
from relgraph.ir.node import Constant, Input, Variable, make_input


@lru_cache(maxsize=128)
def _compiled(graph: FunctionGraph) -> Function:
    return function(list(graph.inputs), list(graph.outputs))


class _Arrays:
    """Arrays, and inputs that stand for them while a function is traced.

    The inputs have the same names in each call, so that equal graphs are one compiled program.
    """

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.inputs: list[Input] = []

    def traced(self, x: Any, name: str) -> Any:
        """Return the tracer for a leaf."""
        if x is None:
            return None
        node = node_of(x, name)
        assert isinstance(node, Constant)  # no graphs are among the arguments
        self.arrays.append(node.value)
        self.inputs.append(make_input(name, node.type))
        return argument(self.inputs[-1])


def _evaluated(build: Callable[..., Any], args: Sequence[Any], literal: int | None) -> Any:
    """Trace a function at arrays, and return the value.

    Each call traces the function, because values that it reads from outside may have changed.
    """
    arguments = _Arrays()

    def kept(x: Any, name: str) -> Any:
        return x if type(x) is int else arguments.traced(x, name)

    with tracing():
        traced = [
            rebuilt(x, kept if i == literal else arguments.traced, f"argument_{i}")
            for i, x in enumerate(args)
        ]
        result = build(*traced)
    outputs = _nodes(result)
    if not set(free_inputs(outputs)) <= set(arguments.inputs):  # the function reads a graph
        return build(*args)
    program = _compiled(FunctionGraph(arguments.inputs, outputs))
    return filled(result, _listed(program(*arguments.arrays)))


def _listed(values: Any) -> Any:
    return values if isinstance(values, list | tuple) else [values]


def at_arguments(build: Callable[..., Any], *args: Any, literal: int | None = None) -> Any:
    """Return the result of a function: a graph for graphs or in a trace, a value for arrays.

    ``literal`` is the number of an argument whose Python integers stay what they are, so that they
    can take the dtype of what they meet.
    """
    if is_tracing() or holds_graphs(args):
        return build(*args)
    return _evaluated(build, args, literal)


def linear_program(
    build: Callable[..., Any], primals: Sequence[Any], *, of_value: bool, has_aux: bool = False
) -> tuple[Any, Callable[..., Any]]:
    """Return the value at some arrays, and the function of directions there.

    Parameters
    ----------
    build : callable
        ``build(*primals)`` returns a value and a linear function, for traced arrays.
    primals : sequence of array
        The point at which to compute.
    of_value : bool
        Whether the linear function takes one argument in the structure of the value, rather than
        arguments in the structure of the primals.
    has_aux : bool
        Whether the value is a pair whose second part is not differentiated.

    Returns
    -------
    tuple of object and callable
        The value, and the linear function of arrays.
    """
    arguments = _Arrays()
    with tracing():
        traced = [rebuilt(x, arguments.traced, f"x{i}") for i, x in enumerate(primals)]
        value, linear = build(*traced)
        domain = (value[0] if has_aux else value,) if of_value else tuple(primals)
        directions, tracers = _inputs_like(domain)
        image = linear(*tracers)
    values, images = _nodes(value), _nodes(image)
    residuals = _residuals(images, directions)
    first = _compiled(FunctionGraph(arguments.inputs, [*values, *residuals]))
    computed = first(*arguments.arrays)
    arrays = [np.asarray(x) for x in computed[len(values) :]]
    holes = [make_input(f"residual_{i}", x.type) for i, x in enumerate(residuals)]
    program = FunctionGraph(
        [*holes, *directions], substitute(images, dict(zip(residuals, holes, strict=True)))
    )

    def apply(*args: Any) -> Any:
        args = in_order_of(domain, args, "direction")
        leaves = [x for x, _ in flattened(args, "x") if x is not None]
        if len(leaves) != len(directions):
            raise ArgumentError(
                f"there are {len(leaves)} arrays for {len(directions)} of the other side",
                fix="Pass one array for each, in containers of the same structure.",
            )
        return filled(image, _compiled(program)(*arrays, *leaves))

    return filled(value, computed[: len(values)]), apply


def _nodes(value: Any) -> list[Variable]:
    return [node_of(x, name, "result") for x, name in flattened(value, "x") if x is not None]


def _inputs_like(value: Any) -> tuple[list[Input], Any]:
    """Return an input for each array of a container, and the container of their tracers."""
    inputs: list[Input] = []

    def leaf(x: Any, name: str) -> Any:
        if x is None:
            return None
        inputs.append(make_input(name, node_of(x, name).type))
        return argument(inputs[-1])

    return inputs, rebuilt(value, leaf, "direction")


def _residuals(results: Sequence[Variable], directions: Sequence[Variable]) -> list[Variable]:
    """Return the nodes that do not depend on directions, but are operands of nodes that do."""
    order = toposort(results)
    dependent = set(directions)
    for x in order:
        if not dependent.isdisjoint(x.inputs):
            dependent.add(x)
    border = [
        i for x in order if x in dependent for i in x.inputs
        if i not in dependent and not isinstance(i, Constant)
    ]  # fmt: skip
    border += [x for x in results if x not in dependent and not isinstance(x, Constant)]
    return list(dict.fromkeys(border))
