"""``rg.source``: a graph as a function of NumPy, JAX or torch, for people to read and to run."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from keyword import iskeyword
from typing import Any

from relgraph.errors import ArgumentError, UnsupportedOpError, count_of, kind_of
from relgraph.export.spellings import JOINING, LIBRARIES, SPELLINGS
from relgraph.export.writer import MODULES, Writer
from relgraph.ir.dispatch import traceable
from relgraph.ir.graph import FunctionGraph, as_graph
from relgraph.ir.types import TensorType
from relgraph.viz.display import Text

_WIDE = ("float64", "int64", "uint64")  # dtypes that JAX has only where they are enabled


@traceable
def source(graph: Any, library: str = "numpy", name: str = "compute") -> Text:
    """Return a function that computes a graph with another library alone.

    Parameters
    ----------
    graph : Variable, list or tuple or dict of Variable, FunctionGraph, or Function
        The graph, which is not rewritten first.
    library : {"numpy", "jax", "torch"}
        What computes it.  For NumPy, SciPy computes what NumPy lacks.
    name : str
        The name of the function.

    Returns
    -------
    Text
        A str: imports, and a function of the inputs.  Several outputs are a tuple, or a dict with
        the keys of yours.  Checks such as :func:`assert_` are left out.

    Raises
    ------
    UnsupportedOpError
        If the library lacks an op; the message lists all of those.
    ArgumentError
        For an unknown library, and for a name that is not an identifier or is taken.

    Examples
    --------
    >>> import relgraph as rg
    >>> A = rg.matrix("A", shape=("m", "n"))
    >>> x = rg.vector("x", shape=("n",))
    >>> y = rg.exp(A @ x)
    >>> print(rg.source(y / rg.sum(y), name="normalised"))
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def normalised(A, x):
        t0 = np.exp(A @ x)
        return t0 / np.sum(t0)
    >>> print(rg.source(rg.maximum(x, 0), "torch"))
    import torch
    <BLANKLINE>
    <BLANKLINE>
    def compute(x):
        return torch.maximum(x, torch.tensor(0, dtype=torch.float64))
    """
    if library not in LIBRARIES:
        shown = repr(library) if isinstance(library, str) else kind_of(library)
        near = get_close_matches(str(library).lower(), LIBRARIES, 1)
        raise ArgumentError(
            f"no source can be written for {shown}",
            {"libraries": ", ".join(LIBRARIES)},
            f"Did you mean {near[0]!r}?" if near else "Use one of these.",
        )
    taken = name in MODULES or (isinstance(name, str) and iskeyword(name))
    if taken or not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(
            f"the function must have an identifier as its name, and one not taken: {name!r:.60}",
            fix='Write it as in rg.source(graph, name="loss").',
        )
    whole = as_graph(graph)
    writer = Writer(LIBRARIES[library], SPELLINGS, JOINING)
    parameters, results = writer.write(whole, name)
    if writer.unsupported:
        others = [x for x in LIBRARIES if x != library and _writes(whole, x)]
        raise UnsupportedOpError(
            f"{count_of(len(writer.unsupported), 'op')} of the graph cannot be written "
            f"with {library}",
            writer.unsupported,
            f"Write it for {' or '.join(others)}."
            if others
            else "Rewrite the graph without them, or pass their results as inputs.",
        )
    body = [*writer.lines, f"return {_returned(results, graph)}"]
    lines = [f"def {name}({', '.join(parameters)}):", *(f"    {x}" if x else "" for x in body)]
    return Text("\n".join([*_header(writer, whole, body), "", "", *lines]))


def _writes(graph: FunctionGraph, library: str) -> bool:
    """Return True if a graph can be written for a library."""
    writer = Writer(LIBRARIES[library], SPELLINGS, JOINING)
    writer.write(graph, "compute")
    return not writer.unsupported


def _returned(results: list[str], graph: Any) -> str:
    if isinstance(graph, Mapping):
        return f"{{{', '.join(f'{k!r}: {x}' for k, x in zip(graph, results, strict=True))}}}"
    if len(results) == 1 and not isinstance(graph, list | tuple):
        return results[0]
    return f"({', '.join(results)}{',' if len(results) == 1 else ''})"


def _header(writer: Writer, graph: FunctionGraph, body: list[str]) -> list[str]:
    """Return the imports that the statements need."""
    library, text = writer.library, "\n".join(body)
    package = "jax." if library.name == "jax" else ""
    imports = {library.imports[-1]}
    imports |= {
        f"import {package}{module}"
        for module in ("scipy.linalg", "scipy.special")
        if f"{module}." in text
    }
    wide = library.name == "jax" and any(
        isinstance(x.type, TensorType) and x.type.dtype.name in _WIDE for x in graph
    )
    if wide or "jax.nn." in text or "jax.lax." in text:
        imports |= set(library.imports)
    enabled = 'jax.config.update("jax_enable_x64", True)  # otherwise it has 32 bits only'
    return [*sorted(imports), *(["", enabled] if wide else [])]


__all__ = ["source"]
