"""Derivatives of Python functions of arrays: the function is run on inputs of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from relgraph.api.argument_conversion import array_of
from relgraph.api.graph_derivatives import check_floats
from relgraph.api.jit import Jit
from relgraph.api.number_trace import NUMBERS
from relgraph.api.pytrees import STATIC, filled, flattened, rebuilt
from relgraph.api.rewrite import DEFAULT_MODE
from relgraph.api.tracing import Tracer, operand, tracing
from relgraph.errors import ArgumentError, DerivativeError, DomainError, kind_of
from relgraph.ir.dispatch import is_tracing
from relgraph.ir.graph import free_inputs, substitute
from relgraph.ir.node import Input, Variable, as_variable, fresh_input

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


def node_of(x: Any, name: str, role: str = "argument") -> Variable:
    """Return the node for an array, a number or a graph, or raise ArgumentError."""
    x = operand(x)
    if isinstance(x, STATIC):
        raise ArgumentError(
            f"the {role} {name} is {kind_of(x)}, not an array",
            fix="Differentiate with respect to arrays and numbers, or containers of them.",
        )
    if not isinstance(x, (Variable, np.ndarray, np.generic, *NUMBERS)):
        array = array_of(x)
        x = x if array is None else array
    return as_variable(x)


class OnInputs:
    """A function run on inputs that stand for some of its arguments.

    Derivatives are taken with respect to these inputs, so that other occurrences of the arguments,
    as in a function that also reads them from outside, count as constants.

    Parameters
    ----------
    function : callable
        Of arrays.
    args, kwargs : tuple, dict
        Its arguments.
    positions : sequence of int
        Which of ``args`` to differentiate with respect to.
    has_aux : bool
        Whether the function returns a pair whose second part is not differentiated.

    Attributes
    ----------
    wrt : list of Input
        The inputs.
    result : object
        What the function returned, with nodes as leaves.
    aux : object
        The second part.
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
            rebuilt(x, self._leaf, f"argument_{i}") if i in positions else x
            for i, x in enumerate(args)
        ]
        with nullcontext() if self._raw else tracing():
            result = function(*replaced, **kwargs)
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
        stands = fresh_input(name, node.type, facts)
        self._arguments[stands] = node
        self.wrt.append(stands)
        return stands if self._raw else Tracer(stands)

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
        return node if self._raw else Tracer(node)

    def like_arguments(self, nodes: Sequence[Variable], single: bool) -> Any:
        """Return one node for each input, in the structure of the arguments."""
        trees = filled(list(self.trees), nodes)
        return trees[0] if single else tuple(trees)

    def like_result(self, nodes: Sequence[Variable]) -> Any:
        """Return one node for each output, in the structure of the result."""
        return filled(self.result, nodes)


Transform = Callable[..., Any]


class Derivative(Jit):
    """A derivative of a function of arrays; it is compiled on the first call with each signature.

    Called with traced arrays or graphs, it builds its graph in place.
    """

    def __init__(self, transform: Transform, function: Callable[..., Any], *options: Any) -> None:
        @functools.wraps(function)
        def built(*args: Any, **kwargs: Any) -> Any:
            return transform(function, args, kwargs, *options)

        super().__init__(built, DEFAULT_MODE, "cpu")
        self._parts = (transform, function, *options)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return Derivative, self._parts

    def _like(self, function: Callable[..., Any]) -> Jit:
        return Derivative(self._parts[0], function, *self._parts[2:])

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the derivative at some arguments.

        Parameters
        ----------
        *args, **kwargs
            Those of the function.
        """
        if not is_tracing() and not holds_graphs((args, kwargs)):
            return super().__call__(*args, **kwargs)
        built = self._function(*args, **kwargs)
        if holds_graphs((args, kwargs)) or any(map(_is_open, flattened(built, "x"))):
            return built
        return super().__call__(*args, **kwargs)  # the function that is traced is not involved


def _is_open(leaf: tuple[Any, str]) -> bool:
    """Return True for a graph with inputs."""
    node = getattr(leaf[0], "node", leaf[0])
    return isinstance(node, Variable) and bool(free_inputs(node))


def positions_of(argnums: Any, args: Sequence[Any]) -> tuple[int, ...]:
    """Return the positions of the arguments to differentiate with respect to."""
    numbers = argnums if isinstance(argnums, tuple | list) else (argnums,)
    positions = []
    for i in numbers:
        if type(i) is not int:
            raise ArgumentError(
                f"argnums holds {kind_of(i)}, not positions of arguments",
                {"argnums": argnums},
                "Pass an int or a tuple of ints, such as argnums=(0, 1).",
            )
        if not -len(args) <= i < len(args):
            raise DomainError(
                f"argnums={argnums} names argument {i} of a call with {len(args)} by position",
                fix="Pass the arguments to differentiate with respect to by position.",
            )
        positions.append(i % len(args))
    return tuple(positions)


def one_output(traced: OnInputs) -> Variable:
    """Return the only output of a function, or raise DerivativeError."""
    if not isinstance(traced.result, Variable):
        raise DerivativeError(
            f"a gradient is of a number, and the function returned {kind_of(traced.result)}",
            fix="Return one number; has_aux=True lets the function return a pair (loss, aux), and "
            "rg.jacobian differentiates containers of arrays.",
        )
    return traced.result
