"""Tasks: what workers run, as small objects that can be sent to them.

A task carries a graph, and each process compiles it once; kernels come from the cache on disk where
another process has compiled them.  Within a task, kernels run on one thread: Dask has threads of
its own.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from importlib.metadata import version
from typing import Any

import numpy as np

from relgraph.backends.dask.subscripts import Combiner
from relgraph.backends.numba.compiler import NumbaBackend
from relgraph.backends.numba.threads import serial
from relgraph.errors import CompileError
from relgraph.ir import forks
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.op import Op
from relgraph.ops.elementwise import Elementwise

PACKAGES = ("relgraph", "numba", "numpy")
"""The packages of which workers need the versions of the client."""


@lru_cache(maxsize=1)
def versions() -> tuple[str, ...]:
    """Return the versions of the packages that client and workers share."""
    return tuple(map(version, PACKAGES))


class Task:
    """A graph as a function of one block for each input; it returns a block for each output.

    Parameters
    ----------
    graph : FunctionGraph
        What it computes.
    backend : NumbaBackend
        What compiles it.
    name : str
        How Dask's dashboard names it.
    """

    __slots__ = ("_content", "_program", "_versions", "digest", "name")

    def __init__(self, graph: FunctionGraph, backend: NumbaBackend, name: str) -> None:
        content = pickle.dumps((graph, backend), protocol=5)
        self._set(name, versions(), content)

    def _set(self, name: str, packages: tuple[str, ...], content: bytes) -> None:
        self.name, self._versions, self._content = name, packages, content
        self.digest = hashlib.sha256(repr(packages).encode() + content).hexdigest()
        self._program: Any = None

    def __reduce__(self) -> tuple[object, ...]:
        return _task, (self.name, self._versions, self._content)

    def __dask_tokenize__(self) -> object:
        return "relgraph", self.digest

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *blocks: Any) -> Any:
        """Compute the blocks: one as it is, several as a tuple."""
        graph, program = _program(self._versions, self._content)
        arrays = [
            _prepared(_only(block), x.dtype) for block, x in zip(blocks, graph.inputs, strict=True)
        ]
        with serial():
            results = program(arrays)
        return results[0] if len(results) == 1 else tuple(results)


def _task(name: str, packages: tuple[str, ...], content: bytes) -> Task:
    task = object.__new__(Task)
    task._set(name, packages, content)
    return task


_lock = forks.lock()


def _program(packages: tuple[str, ...], content: bytes) -> Any:
    """Return a graph and its program, which a process compiles once."""
    with _lock:
        return _compiled(packages, content)


@lru_cache(maxsize=512)
def _compiled(packages: tuple[str, ...], content: bytes) -> Any:
    if packages != versions():
        pairs = zip(PACKAGES, packages, versions(), strict=True)
        differing = [f"{name} {a} here, {b} on this worker" for name, a, b in pairs if a != b]
        raise CompileError(
            "a worker has other versions than the client that made the task",
            {"versions": "; ".join(differing).replace(" here", " on the client")},
            "Install the same versions on all workers; client.get_versions(check=True) compares.",
        )
    graph, backend = pickle.loads(content)
    return graph, backend.compile(graph)


def _only(block: Any) -> Any:
    """Return a block; Dask nests it in a list for each axis that the result lacks."""
    while isinstance(block, list):
        (block,) = block
    return block


def _prepared(block: Any, dtype: np.dtype[Any]) -> Any:
    array = np.asarray(block)
    if array.dtype is not dtype:
        array = array.astype(dtype, copy=False)
    return np.require(array, requirements=["C", "A"])


class Combine:
    """Joins the partial results of several blocks, in the order of the blocks.

    Parameters
    ----------
    combiners : sequence of Combiner
        What joins each of the partial results.
    """

    __slots__ = ("combiners",)
    __name__ = "combine"

    def __init__(self, combiners: Sequence[Combiner]) -> None:
        self.combiners = tuple(combiners)

    def __reduce__(self) -> tuple[object, ...]:
        return Combine, (self.combiners,)

    def __dask_tokenize__(self) -> object:
        names = [x.name if isinstance(x, Op) else x.__qualname__ for x in self.combiners]
        return "relgraph", names

    def __call__(self, blocks: Any, axis: Any = None, keepdims: Any = None) -> Any:
        """Join the blocks in nested lists."""
        parts = [x if isinstance(x, tuple) else (x,) for x in _flat(blocks)]
        with np.errstate(all="ignore"):
            joined = [
                reduce(join.row.compute, column) if isinstance(join, Elementwise) else join(column)
                for join, column in zip(self.combiners, zip(*parts, strict=True), strict=True)
            ]
        return joined[0] if len(joined) == 1 else tuple(joined)


def _flat(blocks: Any) -> Iterator[Any]:
    if not isinstance(blocks, list):
        yield blocks
        return
    for block in blocks:
        yield from _flat(block)


def same(block: Any, axis: Any = None, keepdims: Any = None) -> Any:
    """Return a block as it is."""
    return _only(block)


__all__ = ["PACKAGES", "Combine", "Task", "same", "versions"]
