"""The CUDA backend, which compiles a graph to a program for the device."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import Pool
from relgraph.backends.cuda.launches import scope
from relgraph.backends.cuda.program import FUSION, CudaProgram
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.records import replace
from relgraph.lowering.regions import Fusion


@lru_cache(maxsize=1)
def default_pool() -> Pool:
    """Return the pool that all programs share."""
    return Pool()


class CudaBackend:
    """Compiles a graph to kernels for an NVIDIA GPU, or for numba's simulator of one.

    Parameters
    ----------
    fusion : Fusion
        Which ops may share a kernel.
    pool : Pool, optional
        The memory pool; by default, the pool that all programs share.
    deterministic : bool
        If True, all additions have a fixed order; if False, those of ``at(x)[i].add(v)`` are atomic
        and have no fixed order.

    Raises
    ------
    GPUNotAvailableError
        If there is no usable GPU; the message lists what is installed and what is missing.
    """

    name = "cuda"

    def __init__(
        self, fusion: Fusion = FUSION, pool: Pool | None = None, deterministic: bool = True
    ) -> None:
        adapter.require()
        self.fusion = fusion
        self.pool = default_pool() if pool is None else pool
        self.deterministic = deterministic

    @classmethod
    def with_choices(cls, choices: Collection[str] | None) -> CudaBackend:
        """Return the backend with these lowering choices; with all of them for None."""
        if choices is None or "fusion" in choices:
            return cls()
        return cls(replace(FUSION, limit=1))

    def compile(self, graph: FunctionGraph) -> CudaProgram:
        return CudaProgram(graph, self.fusion, self.pool, self.deterministic)


def kernels_of(graph: FunctionGraph, cc: tuple[int, int]) -> dict[str, str]:
    """Compile the kernels of a graph to PTX for a compute capability; this needs no device."""
    program = CudaProgram(graph, FUSION, Pool())
    ptx: dict[str, str] = {}
    for text in program.kernels():
        name, body = text.module()
        ptx[name] = adapter.ptx(adapter.Source(name, body, text.types(), scope(text)), cc)
    return ptx
