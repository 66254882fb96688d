"""Peers of a benchmark: the libraries that run the source of a graph, each at its usual setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from relgraph.backends.source import define
from relgraph.export.source import source
from relgraph.ir.graph import FunctionGraph

Call = Callable[[], Any]


def _compiled(graph: FunctionGraph, library: str) -> Callable[..., Any]:
    """Return the function that the source of a graph defines."""
    namespace: dict[str, Any] = {}
    define(library, source(graph, library), namespace)
    function: Callable[..., Any] = namespace["compute"]
    return function


def _numpy(graph: FunctionGraph, arrays: Sequence[Any]) -> Call:
    function = _compiled(graph, "numpy")

    def call() -> Any:
        with np.errstate(all="ignore"):
            return function(*arrays)

    return call


def _jax(graph: FunctionGraph, arrays: Sequence[Any]) -> Call:
    import jax

    function = jax.jit(_compiled(graph, "jax"))
    own = [jax.numpy.asarray(x) for x in arrays]
    return lambda: jax.block_until_ready(function(*own))


def _torch(graph: FunctionGraph, arrays: Sequence[Any], *, compiled: bool = False) -> Call:
    import torch

    function = _compiled(graph, "torch")
    function = torch.compile(function) if compiled else function
    own = [torch.from_numpy(np.array(x)) for x in arrays]

    def call() -> Any:
        with torch.no_grad():
            return function(*own)

    return call


def _pytensor(graph: FunctionGraph, arrays: Sequence[Any]) -> Call:
    import pytensor

    from relgraph.interop.pytensor.dumping import dump

    variables: dict[Any, Any] = {}
    outputs = dump(list(graph.outputs), variables)
    inputs = [variables[x] for x in graph.inputs]
    function = pytensor.function(inputs, outputs, on_unused_input="ignore", trust_input=True)
    return lambda: function(*arrays)


PEERS: dict[str, Callable[[FunctionGraph, Sequence[Any]], Call]] = {
    "numpy": _numpy,
    "jax": _jax,
    "torch": _torch,
    "torch.compile": partial(_torch, compiled=True),
    "pytensor": _pytensor,
}
"""For each peer, what makes a call that computes a graph on arrays and waits for the results."""
