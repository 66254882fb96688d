"""
Distribute a matrix product over a sum, and gather it again
===========================================================

The relation is written twice: as an identity of one line, and as a goal built from miniKanren's
goal constructors.  Both run left to right and right to left.  The program prints the
graphs, and compares the compiled functions with NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from etuples import etuple
from kanren import conso, eq, fact, heado, lall, tailo
from kanren.assoccomm import assoc_flatten, associative
from kanren.graph import mapo
from unification import vars as lvars

import relgraph as rg

# kanren's assoc_flatten needs to know which ops are associative.
fact(associative, rg.add)


@rg.identity(specials="assumes_finite")
def distribute_matmulo(X: Any, Y: Any, Z: Any) -> tuple[Any, Any]:
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


@rg.relation
def dot_distributeo(in_lv: Any, out_lv: Any) -> Any:
    """A (a + b + ...) = A a + A b + ..., written with kanren's goals."""
    A_lv, add_term_lv, add_cdr_lv, dot_cdr_lv, add_flat_lv = lvars(5)

    return lall(
        # The input is a product.
        eq(in_lv, etuple(rg.matmul, A_lv, add_term_lv)),
        # Its right operand is a sum.
        heado(rg.add, add_term_lv),
        # Flatten the nested sums.
        assoc_flatten(add_term_lv, add_flat_lv),
        # Take the terms of the flat sum.
        tailo(add_cdr_lv, add_flat_lv),
        # The output is a sum.
        conso(rg.add, dot_cdr_lv, out_lv),
        # Each of its terms is a product with a term of the flat sum.
        mapo(lambda x, y: conso(rg.matmul, etuple(A_lv, x), y), add_cdr_lv, dot_cdr_lv),
    )


def products(graph: rg.Variable) -> int:
    """Return the number of matrix products in a graph."""
    return sum(node.op is rg.matmul for node in rg.FunctionGraph(None, [graph]))


def terms(graph: rg.Variable) -> Iterator[rg.Variable]:
    """Yield the terms of nested sums."""
    stack = [graph]
    while stack:
        node = stack.pop()
        if node.op is rg.add:
            stack.extend(reversed(node.inputs))
        else:
            yield node


def main() -> None:
    """Rewrite the graph in both directions with both relations, and compute all its forms."""
    A, B = rg.matrices("A B", shape=("n", "n"))
    x, y, z, w = rg.vectors("x y z w", shape=("n",))
    gathered = A @ (x + (y + B @ (z + w)))
    expected = {A @ x, A @ y, A @ (B @ z), A @ (B @ w)}

    forms = [gathered]
    for relation in (distribute_matmulo, dot_distributeo):
        print(relation.name)
        distributed = rg.rewrite_graph(gathered, relation)
        back = rg.rewrite_graph(distributed, relation.reversed)
        print(f"  start     {gathered}")
        print(f"  forward   {distributed}")
        print(f"  backward  {back}")
        assert set(terms(distributed)) == expected
        assert (products(gathered), products(distributed), products(back)) == (2, 6, 2)
        forms += [distributed, back]
    # kanren keeps the bracketing of sums; a compiled relation flattens them.
    assert back is gathered

    rng = np.random.default_rng(0)
    n = 50
    a, b = rng.standard_normal((2, n, n))
    vectors = rng.standard_normal((4, n))
    xs, ys, zs, ws = vectors
    wanted = a @ (xs + (ys + b @ (zs + ws)))
    # The error of a sum of products is bounded by the sum of the products' absolute values.
    size = np.abs(a) @ (np.abs(xs) + np.abs(ys) + np.abs(b) @ (np.abs(zs) + np.abs(ws)))
    bound = 4 * n * np.finfo(float).eps * size
    print("compiled, against NumPy")
    for form in dict.fromkeys(forms):
        compute = rg.function([A, B, x, y, z, w], form, mode=None)
        error = np.abs(compute(a, b, *vectors) - wanted)
        assert (error <= bound).all()
        print(f"  {products(form)} products, largest difference {error.max():.1e}")


if __name__ == "__main__":
    main()
