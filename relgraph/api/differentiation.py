"""Problems of differentiation: a graph, or a function of arrays run on new inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from relgraph.api import graph_derivatives as graphs
from relgraph.api.graph_derivatives import Nodes, check_floats, direction
from relgraph.api.pytrees import filled, flattened, in_order_of, rebuilt
from relgraph.api.tracing.arguments import node_of
from relgraph.api.tracing.calls import tracing
from relgraph.api.tracing.number_trace import NUMBERS
from relgraph.api.tracing.python_source import traceable
from relgraph.api.tracing.tracer import Tracer, argument, wrap
from relgraph.errors import ArgumentError, DerivativeError, kind_of
from relgraph.ir.graph import substitute
from relgraph.ir.node import Input, Variable, fresh_input

GRAPHS = (Variable, Tracer)


def holds_graphs(value: Any, kinds: Any = GRAPHS) -> bool:
    """Return True if a leaf of a container is a graph, or a traced array."""
    if type(value) is np.ndarray or type(value) in NUMBERS:  # most arguments
        return False
    if isinstance(value, tuple | list):
        return any([holds_graphs(x, kinds) for x in value])
    if isinstance(value, dict):
        return any([holds_graphs(x, kinds) for x in value.values()])
    return isinstance(value, kinds)


class OnInputs:
    """A function run on inputs in place of some of its arguments.

    Derivatives are taken with respect to these inputs.  Other occurrences of the arguments, as in a
    function that also reads them from outside, therefore count as constants.

    Parameters
    ----------
    function : callable
        Of arrays.
    args, kwargs : tuple, dict
        Its arguments.
    positions : sequence of int
        The positions in ``args`` to differentiate with respect to.
    has_aux : bool
        Whether the function returns a pair whose second part is not differentiated.

    Attributes
    ----------
    wrt : list of Input
        The inputs.
    result : object
        The result of the function, with nodes as leaves.
    aux : object
        The second part of the pair, or None.
    outputs : list of Variable
        The leaves of the result.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        positions: Sequence[int],
        has_aux: bool = False,
    ) -> None:
        self._raw = holds_graphs((args, kwargs), Variable)
        self._arguments: dict[Variable, Variable] = {}
        self.wrt: list[Variable] = []
        self.trees = [args[i] for i in positions]
        replaced = [
            rebuilt(x, self._leaf if i in positions else _traced, f"argument_{i}")
            for i, x in enumerate(args)
        ]
        with tracing(function):
            result = traceable(function)(
                *replaced, **{k: rebuilt(x, _traced, k) for k, x in kwargs.items()}
            )
        _check_unchanged(replaced[i] for i in positions)
        self.aux = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise ArgumentError(
                    f"has_aux=True is for a function that returns a pair, not {kind_of(result)}",
                    fix="Return (loss, aux), or leave has_aux= out.",
                )
            result, self.aux = result
        self.result = rebuilt(result, lambda x, name: node_of(x, name, "result"), "result")
        self.outputs = [x for x, _ in flattened(self.result, "result") if x is not None]

    def _leaf(self, x: Any, name: str) -> Any:
        if x is None:
            return None
        node = node_of(x, name)
        name, facts = (node.name, node.facts) if isinstance(node, Input) else (name, ())
        check_floats(node, f"the argument {name}")
        stand_in = fresh_input(name, node.type, facts)
        self._arguments[stand_in] = node
        self.wrt.append(stand_in)
        return argument(stand_in)

    def close(self, value: Any) -> Any:
        """Return a container with the arguments in place of the inputs of each graph in it."""
        leaves = [x for x, _ in flattened(value, "x")]
        nodes = [x.node if type(x) is Tracer else x for x in leaves]
        graphs = [x for x in nodes if isinstance(x, Variable)]
        closed: Iterator[Variable] = iter(substitute(graphs, self._arguments))
        results = [self._wrapped(next(closed)) if isinstance(x, Variable) else x for x in nodes]
        rest = iter(results)
        return rebuilt(value, lambda leaf, name: next(rest), "x")

    def _wrapped(self, node: Variable) -> Any:
        return node if self._raw else wrap(node)

    def like_arguments(self, nodes: Sequence[Variable], single: bool) -> Any:
        """Return one node for each input, in the structure of the arguments."""
        trees = filled(list(self.trees), nodes)
        return trees[0] if single else tuple(trees)

    def like_result(self, nodes: Sequence[Variable]) -> Any:
        """Return one node for each output, in the structure of the result."""
        return filled(self.result, nodes)


def _traced(x: Any, name: str) -> Any:
    return wrap(x) if isinstance(x, Variable) else x


def one_output(traced: OnInputs) -> Variable:
    """Return the only output of a function, or raise DerivativeError."""
    if not isinstance(traced.result, Variable):
        raise DerivativeError(
            f"a gradient is of a number, and the function returned {kind_of(traced.result)}",
            fix="Return one number; has_aux=True lets the function return a pair (loss, aux), and "
            "rg.jacobian differentiates containers of arrays.",
        )
    return traced.result


def _check_unchanged(arguments: Iterable[Any]) -> None:
    """Raise DerivativeError if the function has changed an argument in place."""
    for x, name in flattened(list(arguments), "argument"):
        if type(x) is Tracer and not isinstance(x.node, Input):
            raise DerivativeError(
                f"the function changes its {name.replace('_', ' ')} in place, and you "
                "differentiate with respect to it",
                {"array": x.node},
                "Change a copy in the function: x = x.copy().",
            )


def is_function(x: Any) -> bool:
    """Return True for a function of arrays, False for graphs."""
    return callable(x) and not isinstance(x, Variable) and type(x) is not Tracer


class OnGraph:
    """A graph to differentiate, and the nodes to differentiate with respect to, in containers."""

    def __init__(self, outputs: Any, wrt: Any, what: str) -> None:
        if wrt is None:
            raise ArgumentError(
                f"{what} of a graph needs the nodes to differentiate with respect to",
                {"graph": outputs},
                f"Write rg.{what}(graph, x), or pass a function of arrays in place of the graph.",
            )
        self.traced = any([type(x) is Tracer for x, _ in flattened((outputs, wrt), "x")])
        self.result, self.tree = outputs, wrt
        self.outputs: Nodes = [
            node_of(y, name, "output") for y, name in flattened(outputs, "output") if y is not None
        ]
        self.wrt = [
            x.node if type(x) is Tracer else x for x, _ in flattened(wrt, "wrt") if x is not None
        ]
        graphs.check_wrt(self.wrt, self.outputs)

    @property
    def loss(self) -> Variable:
        """The only output, which must not be in a container."""
        if isinstance(self.result, tuple | list | dict):
            raise ArgumentError(
                f"a gradient is of one number, and the loss is {kind_of(self.result)}",
                fix="Pass one graph, such as the sum of the losses; rg.vjp takes several.",
            )
        return self.outputs[0]

    def wrapped(self, nodes: Sequence[Variable]) -> list[Any]:
        """Return nodes, traced if the graph is."""
        return list(map(wrap, nodes)) if self.traced else list(nodes)

    def like_wrt(self, nodes: Sequence[Variable]) -> Any:
        """Return one node for each of ``wrt``, in its structure."""
        return filled(self.tree, self.wrapped(nodes))

    def like_outputs(self, nodes: Sequence[Variable]) -> Any:
        """Return one node for each output, in their structure."""
        return filled(self.result, self.wrapped(nodes))


def directions(values: Any, nodes: Nodes, role: str, like: Any) -> Nodes:
    """Return tangents or cotangents as nodes, one for each of ``nodes``, or raise ArgumentError.

    ``like`` is the container of the arrays that they belong to.
    """
    values = in_order_of(like, values, role)
    leaves = [(x, name) for x, name in flattened(values, role) if x is not None]
    if len(leaves) != len(nodes):
        raise ArgumentError(
            f"there are {len(leaves)} {role}s for {len(nodes)} arrays",
            fix=f"Pass one {role} for each, in containers of the same structure.",
        )
    return [
        direction(x if isinstance(x, int | float) else node_of(x, name, role), node, role)
        for (x, name), node in zip(leaves, nodes, strict=True)
    ]


def prepared(graph: OnGraph | OnInputs, stabilize: bool) -> tuple[Nodes, Nodes]:
    """Check dtypes; return the outputs of a problem, and the nodes to differentiate by, stabilised.

    Without ``stabilize``, both are as in the problem.
    """
    for y in graph.outputs:
        graphs.check_floats(y, "the output")
    return graphs.stable(graph.outputs, graph.wrt) if stabilize else (graph.outputs, graph.wrt)
