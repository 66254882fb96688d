"""
Gather 64 matrix products into 4
================================

The 64 products of a sum have only four left factors.  The identity X (Y + Z) = X Y + X Z, read
right to left, collects the right factors of products that share a left one.  ``rg.benchmark`` times
both forms, without further rewriting, in turns: the gathered one has a sixteenth of the products,
and takes less than half of the time.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

import relgraph as rg

TERMS = 64
FACTORS = 4


@rg.identity(specials="assumes_finite")
def distribute_matmulo(X: Any, Y: Any, Z: Any) -> tuple[Any, Any]:
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


def products(graph: rg.Variable) -> int:
    """Return the number of matrix products in a graph."""
    return sum(node.op is rg.matmul for node in rg.FunctionGraph(None, [graph]))


def main() -> None:
    """Rewrite the sum, compare both forms with NumPy, and time them."""
    left = rg.matrices([f"A{i}" for i in range(FACTORS)], shape=("m", "k"))
    right = rg.matrices([f"B{j}" for j in range(TERMS)], shape=("k", "n"))
    written = reduce(add, [left[j % FACTORS] @ right[j] for j in range(TERMS)])
    gathered = rg.rewrite_graph(written, distribute_matmulo.reversed)
    assert (products(written), products(gathered)) == (TERMS, FACTORS)
    print(f"products: {products(written)} as written, {products(gathered)} gathered")
    print(f"flops:    {rg.flops([written])} as written, {rg.flops([gathered])} gathered")

    inputs = [*left, *right]
    slow = rg.function(inputs, written, mode=None)
    fast = rg.function(inputs, gathered, mode=None)

    rng = np.random.default_rng(0)
    size = 128
    a = list(rng.standard_normal((FACTORS, size, size)))
    b = list(rng.standard_normal((TERMS, size, size)))
    wanted = sum(a[j % FACTORS] @ b[j] for j in range(TERMS))
    # The error of a sum of products is bounded by the sum of the products' absolute values.
    terms = sum(np.abs(a[j % FACTORS]) @ np.abs(b[j]) for j in range(TERMS))
    bound = (size + TERMS) * np.finfo(float).eps * terms
    for compute in (slow, fast):
        assert (np.abs(compute(*a, *b) - wanted) <= bound).all()

    result = rg.benchmark(written, distribute_matmulo.reversed, arrays=[*a, *b], budget=10)
    print(result)
    assert result.ratio > 2


if __name__ == "__main__":
    main()
