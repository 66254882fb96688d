"""Compile time and memory of large graphs, first call and call overhead.

Each row runs in a separate process, so that memory is that of one graph.  Run it as

    python benchmarks/compile.py            # the table
    python benchmarks/compile.py chain 1000 # one row, as JSON
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from calibration import compile_sources

SIZES = (1_000, 10_000, 100_000)


def chain(count: int) -> tuple[list[Any], Any]:
    """Return x = sin(x) * y + i, which does not simplify, with `count` nodes."""
    from relgraph.ir.node import make_input
    from relgraph.ir.types import TensorType
    from relgraph.ops.elementwise import Elementwise

    sin = Elementwise("sin")
    x = make_input("x", TensorType("float64", ("n",)))
    y = make_input("y", TensorType("float64", ("n",)))
    node = x
    for i in range(count // 3):
        node = sin(node) * y + float(i)
    return [x, y], node


def irregular(count: int) -> tuple[list[Any], Any]:
    """Return a chain of ops drawn at random, in which nothing repeats."""
    import random

    from relgraph.ir.node import make_input
    from relgraph.ir.types import TensorType
    from relgraph.ops.elementwise import Elementwise

    draw = random.Random(0)
    unary = [Elementwise(name) for name in ("sin", "cos", "arctan", "tanh", "negative", "sqrt")]
    binary = [Elementwise(name) for name in ("add", "subtract", "multiply", "maximum")]
    x = make_input("x", TensorType("float64", ("n",)))
    y = make_input("y", TensorType("float64", ("n",)))
    node = x
    for _ in range(count):
        node = draw.choice(unary)(node) if draw.random() < 0.5 else draw.choice(binary)(node, y)
    return [x, y], node


def doubling(count: int) -> tuple[list[Any], Any]:
    """Return x = x + x, `count` times."""
    from relgraph.ir.node import make_input
    from relgraph.ir.types import TensorType

    x = make_input("x", TensorType("float64", ("n",)))
    node = x
    for _ in range(count):
        node = node + node
    return [x], node


def products(count: int) -> tuple[list[Any], Any]:
    """Return a chain of matrix products with an elementwise op between them."""
    from relgraph.ir.node import make_input
    from relgraph.ir.types import TensorType
    from relgraph.ops.elementwise import Elementwise

    tanh = Elementwise("tanh")
    a = make_input("a", TensorType("float64", ("n", "n")))
    node = a
    for _ in range(count // 2):
        node = tanh(a @ node)
    return [a], node


GRAPHS: dict[str, Callable[[int], tuple[list[Any], Any]]] = {
    "chain": chain,
    "irregular": irregular,
    "doubling": doubling,
    "products": products,
}


def row(name: str, count: int) -> dict[str, Any]:
    """Build, compile and call one graph in this process."""
    import numpy as np

    import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
    from relgraph.api.function import function

    start = time.perf_counter()
    inputs, output = GRAPHS[name](count)
    built = time.perf_counter()
    f = function(inputs, output)
    compiled = time.perf_counter()
    shape = (16,) * inputs[0].ndim
    arrays = [np.full(shape, 0.5) for _ in inputs]
    f(*arrays)
    called = time.perf_counter()
    f(*arrays)
    again = time.perf_counter()
    return {
        "graph": name,
        "nodes": count,
        "build s": round(built - start, 2),
        "compile s": round(compiled - built, 2),
        "first call s": round(called - compiled, 4),
        "second call s": round(again - called, 4),
        "kernels": len(getattr(f._program, "kernels", ())),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    """Print the table, or one row of it."""
    if len(sys.argv) > 2:
        print(json.dumps(row(sys.argv[1], int(sys.argv[2]))))
        return
    compile_sources()
    head: list[str] = []
    for name in GRAPHS:
        for count in SIZES:
            for cache in ("cold", "warm"):
                if cache == "cold":
                    folder = tempfile.mkdtemp()
                result = subprocess.run(
                    [sys.executable, __file__, name, str(count)],
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "RELGRAPH_CACHE_DIR": folder},
                    check=True,
                )
                cells = {"cache": cache, **json.loads(result.stdout)}
                if not head:
                    head = list(cells)
                    print(" | ".join(head))
                print(" | ".join(str(cells[key]) for key in head), flush=True)


if __name__ == "__main__":
    main()
