"""The workloads in PyTensor: its namespace, its fast_run rewrites, and the ops they leave.

Imported only if PyTensor is installed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.scalar.basic import Composite
from pytensor.tensor.elemwise import DimShuffle, Elemwise

# All mathematical rewrites of fast_run, without the later steps: fusion into kernels, in-place
# forms, and the lowering of products to BLAS calls.
FAST_RUN = RewriteDatabaseQuery(
    include=["fast_run"],
    exclude=["fusion", "add_mul_fusion", "inplace", "BlasOpt", "blas", "c_blas", "scan"],
)

VIEWS = {
    "DimShuffle", "Reshape", "Subtensor", "SpecifyShape", "ViewOp", "Assert", "CheckAndRaise",
    "JoinDims", "SplitDims",
}  # fmt: skip
SIZES = {"Shape", "Shape_i", "MakeVector", "ScalarFromTensor", "TensorFromScalar"}
NARY = {"add", "mul", "maximum", "minimum", "and_", "or_"}


class Space:
    """PyTensor's functions by NumPy's names."""

    exp, log, sqrt, abs, where = pt.exp, pt.log, pt.sqrt, pt.abs, pt.where
    sin, cos, tanh, erf = pt.sin, pt.cos, pt.tanh, pt.erf
    maximum, minimum, sum, mean = pt.maximum, pt.minimum, pt.sum, pt.mean
    ones = pt.ones

    @staticmethod
    def reshape(x: Any, shape: tuple[int, ...]) -> Any:
        """Reshape."""
        return x.reshape(shape)

    @staticmethod
    def transpose(x: Any, axes: tuple[int, ...]) -> Any:
        """Permute axes."""
        return x.transpose(*axes)

    @staticmethod
    def scatter_add(size: int, index: Any, values: Any) -> Any:
        """Sum the values that share an index, as the gradient of indexing does."""
        return pt.inc_subtensor(pt.zeros(size)[index], values)


def build(workload: Any) -> tuple[list[Any], list[Any]]:
    """Return the inputs and outputs of a workload, its shapes static."""
    inputs = {
        name: pt.tensor(name, dtype=x.dtype, shape=x.shape) for name, x in workload.inputs.items()
    }
    return list(inputs.values()), workload.build(Space, inputs)


def rewrite(inputs: list[Any], outputs: list[Any]) -> tuple[FunctionGraph, float]:
    """Return the rewritten graph and the seconds it took; the graph given stays as it is."""
    graph = FunctionGraph(inputs, outputs, clone=True, copy_inputs=True)
    start = time.perf_counter()
    optdb.query(FAST_RUN).rewrite(graph)
    return graph, time.perf_counter() - start


def contender(workload: Any) -> Callable[[], float]:
    """Return a function that rewrites the workload once and returns the seconds."""
    inputs, outputs = build(workload)
    return lambda: rewrite(inputs, outputs)[1]


def counts(graph: FunctionGraph) -> Counter[str]:
    """Return how many applications are left, by op.

    An addition, product, maximum or minimum of n operands counts as n - 1; views and the
    arithmetic of sizes go by their kind.
    """
    found: Counter[str] = Counter()
    for node in graph.toposort():
        name = type(node.op).__name__
        if isinstance(node.op, DimShuffle) or name in VIEWS:
            found["(view)"] += 1
        elif name in SIZES:
            found["(size)"] += 1
        elif isinstance(node.op, Elemwise):
            scalar = node.op.scalar_op
            if isinstance(scalar, Composite):
                for inner in scalar.fgraph.toposort():
                    _count(found, inner.op, len(inner.inputs))
            else:
                _count(found, scalar, len(node.inputs))
        elif name == "Blockwise":
            found[type(node.op.core_op).__name__.lower()] += 1
        else:
            found[name.lower()] += 1
    return found


def _count(found: Counter[str], scalar: Any, operands: int) -> None:
    name = getattr(scalar, "name", None) or type(scalar).__name__.lower()
    found[name] += operands - 1 if name in NARY else 1


def values(graph: FunctionGraph, inputs: dict[str, np.ndarray]) -> list[Any] | None:
    """Compute a rewritten graph without rewriting it any more; None where PyTensor cannot.

    Its interpreter has no sums of more than 31 operands.
    """
    if any(isinstance(x.op, Elemwise) and len(x.inputs) > 31 for x in graph.apply_nodes):
        return None
    mode = pytensor.compile.mode.Mode(linker="py", optimizer=None)
    function = pytensor.function(
        graph.inputs, graph.outputs, mode=mode, on_unused_input="ignore", accept_inplace=True
    )
    return function(*inputs.values())
