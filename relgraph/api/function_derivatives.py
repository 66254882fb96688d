"""Derivatives of Python functions of arrays, which are functions of arrays too."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from relgraph.api.differentiation import holds_graphs
from relgraph.api.jit import Jit
from relgraph.api.pytrees import flattened
from relgraph.api.rewrite import DEFAULT_MODE
from relgraph.errors import ArgumentError, DomainError, kind_of
from relgraph.ir.dispatch import is_tracing
from relgraph.ir.graph import free_inputs
from relgraph.ir.node import Variable

Transform = Callable[..., Any]


class Derivative(Jit):
    """A derivative of a function of arrays; it is compiled on the first call with each signature.

    A call with traced arrays or graphs returns traced arrays or graphs.
    """

    looks_first = True  # for graphs

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
    if len(set(positions)) < len(positions):
        raise DomainError(
            f"argnums={argnums} names an argument twice",
            fix="Name each argument once, such as argnums=(0, 1).",
        )
    return tuple(positions)


class Options(NamedTuple):
    """The options of a derivative of a function."""

    argnums: int | Sequence[int] = 0
    has_aux: bool = False
    stabilize: bool = True
    with_value: bool = False
