"""The graph and the arrays that a measurement runs on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from relgraph.api.argument_conversion import as_array, as_sparse, bound
from relgraph.api.function import Function
from relgraph.api.jit import Jit, jit
from relgraph.checking.generators.arrays import draw
from relgraph.checking.generators.cases import needs_regular
from relgraph.errors import ArgumentError, kind_of
from relgraph.ir.graph import FunctionGraph, as_graph
from relgraph.ir.node import Input, Variable
from relgraph.ir.records import record
from relgraph.ir.types import TensorType

Array = Any


@record
class _Sized:
    """An input with values for its sizes, for which to draw an array."""

    type: TensorType
    dtype: Any
    facts: frozenset[str]


def graph_of(graph: Any, arrays: Any, fix: str) -> FunctionGraph:
    """Return the graph to measure; a function of NumPy is traced with arrays.

    Parameters
    ----------
    graph : Variable, list or tuple or dict of Variable, FunctionGraph, Function, or callable
        What a user passes.
    arrays : list or tuple of array, or other object
        The arguments of a function of NumPy, if it is a list or tuple of some.
    fix : str
        How to pass them.

    Returns
    -------
    FunctionGraph
        The graph.

    Raises
    ------
    ArgumentError
        For a function without arrays, and for other objects.
    """
    if isinstance(graph, Function | FunctionGraph | Variable | list | tuple | Mapping):
        return as_graph(graph)
    if not callable(graph):
        raise ArgumentError(
            f"this is {kind_of(graph)}, not a graph: {graph!r:.60}",
            fix="Pass a Variable, a list of them, a compiled function, or a function of NumPy.",
        )
    if not isinstance(arrays, list | tuple):
        raise ArgumentError(
            f"the function {getattr(graph, '__name__', graph)} needs arguments", fix=fix
        )
    traced = graph if isinstance(graph, Jit) else jit(graph)
    return traced.graph(*arrays)


def in_order(inputs: Sequence[Input], arrays: Any) -> tuple[Any, ...]:
    """Return one value for each input, from a list, from a dict by name, or from one value.

    Raises
    ------
    ArgumentError
        For a missing value, and one too many.
    """
    names = [x.name for x in inputs]
    if isinstance(arrays, Mapping):
        named = {x.name if isinstance(x, Input) else str(x): v for x, v in arrays.items()}
        return bound(names, (), named)
    return bound(names, arrays if isinstance(arrays, list | tuple) else (arrays,), {})


def given_arrays(graph: FunctionGraph, arrays: Any) -> list[Array]:
    """Return one array for each input, in its dtype and contiguous, as a call converts them.

    Raises
    ------
    ArgumentError
        As :func:`in_order` does, and for values that are not arrays.
    DTypeError, ShapeError
        For a dtype or rank that does not fit.
    """
    pairs = zip(graph.inputs, in_order(graph.inputs, arrays), strict=True)
    return [
        np.asarray(as_array(x, v), order="C") if x.type.layout == "dense" else as_sparse(x, v)
        for x, v in pairs
    ]


def drawn_arrays(graph: FunctionGraph, sizes: Mapping[str, int], seed: int = 0) -> list[Array]:
    """Return random arrays that have the facts of the inputs, for given sizes.

    Raises
    ------
    ArgumentError
        For a size without a value, and for a size without a name.
    """
    rng = np.random.default_rng(seed)
    regular = needs_regular(*graph.outputs)
    return [
        draw(_Sized(x.type.with_shape(_shape(x, sizes)), x.dtype, x.facts), rng, regular=regular)
        for x in graph.inputs
    ]


def points_of(graph: FunctionGraph, sizes: Any) -> list[dict[str, int]]:
    """Return the sizes of each measurement: ``{"n": [10, 100]}`` gives two.

    Raises
    ------
    ArgumentError
        For a name that the inputs do not have, sizes that are not positive integers, and lists
        that are empty or differ in length.
    """
    names = {d for x in graph.inputs for d in x.type.shape if isinstance(d, str)}
    if sizes is None:
        return [{}]
    if not isinstance(sizes, Mapping):
        raise ArgumentError(
            f"the sizes are {kind_of(sizes)}, not a dict", fix='Write sizes={"n": 1000}.'
        )
    lists: dict[str, Sequence[int]] = {}
    for name, value in sizes.items():
        if name not in names:
            raise ArgumentError(
                f"no input has a size {name!r}",
                {"sizes": ", ".join(sorted(names)) or "none"},
                "Name a size in the shape of an input.",
            )
        lists[name] = _values(name, value)
    longest = max(map(len, lists.values()), default=1)
    wrong = {k: f"{len(v)} values" for k, v in lists.items() if len(v) not in (1, longest)}
    if wrong:
        raise ArgumentError(
            "the lists of sizes differ in length", wrong, "Give as many values for each name."
        )
    return [{k: v[i % len(v)] for k, v in lists.items()} for i in range(longest)]


def _values(name: str, value: Any) -> list[int]:
    """Return the values of one size."""
    values = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    for x in values:
        if isinstance(x, bool) or not isinstance(x, int | np.integer) or x < 1:
            raise ArgumentError(
                f"the size {name} must be a positive integer, not {x!r:.60}", fix="Give an int."
            )
    if not values:
        raise ArgumentError(f"the list of sizes {name} is empty", fix="Give at least one.")
    return [int(x) for x in values]


def sizes_of(inputs: Sequence[Input], arrays: Sequence[Array]) -> dict[str, int]:
    """Return the values that arrays give to sizes with names."""
    return {
        dim: int(size)
        for x, a in zip(inputs, arrays, strict=True)
        for dim, size in zip(x.type.shape, np.shape(a), strict=True)
        if isinstance(dim, str)
    }


def _shape(x: Input, sizes: Mapping[str, int]) -> tuple[int, ...]:
    missing = [str(d) for d in x.type.shape if not isinstance(d, int) and d not in sizes]
    if missing:
        named = [] if "None" in missing else missing
        sizes_text = ", ".join(f"{d!r}: 1000" for d in named)
        raise ArgumentError(
            f"the input {x.name!r} has sizes without a value",
            {"type": x.type},
            f"Pass sizes={{{sizes_text}}}, or arrays=[...]." if named else "Pass arrays=[...].",
        )
    return tuple([d if isinstance(d, int) else sizes[str(d)] for d in x.type.shape])
