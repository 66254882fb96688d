"""The order of a chain of matrix products, by cost.

Sizes that are not known are symbols, equal where their names are.  The cost of an order is then a
polynomial, and another order is taken only where it costs no more for all sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.types import Dim, TensorType
from relgraph.ops.contraction import Matmul
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

Monomial = tuple[str, ...]
Cost = Counter[Monomial]
Tree = Any  # a place in the chain, or a pair of trees
MATMUL = Matmul()
LONGEST = 64  # operands of a chain that is looked at
_SMALL, _USUAL, _LARGE = 2, 256, 4096


class MatmulChain(GraphRewriter):
    """Multiplies chains of matrices in the order that costs least.

    A product that has other users stays a product.  Sizes that are not static count as symbols:
    the order changes only where it costs no more whatever they are.

    References
    ----------
    T. H. Cormen, C. E. Leiserson, R. L. Rivest and C. Stein, Introduction to Algorithms, 3rd ed.,
    section 15.2.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.chains import MatmulChain
    >>> A, B = rg.matrices("A B", shape=("n", "n"))
    >>> x = rg.vector("x", shape=("n",))
    >>> rg.rewrite_graph(A @ B @ x, MatmulChain())
    A @ (B @ x)
    """

    def __init__(self) -> None:
        super().__init__(name="matmul_chain")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with each of its chains in the best order."""
        inner = {x for node in graph if node.op is MATMUL for x in _absorbed(node, graph)}
        found: dict[Variable, Variable] = {}
        for root in graph:
            if root.op is not MATMUL or root in inner:
                continue
            operands, tree = _flattened(root, inner)
            best = _best(operands, tree) if 3 <= len(operands) <= LONGEST else tree
            if best != tree:
                made = _built(best, operands)
                if made.type.narrows(root.type):
                    found[root] = made
        return with_changes(graph, found)


def _absorbed(node: Variable, graph: FunctionGraph) -> Iterator[Variable]:
    """Yield the operands of a product that are part of its chain."""
    if max(x.ndim for x in (node, *node.inputs)) > 2:
        return
    for place, child in enumerate(node.inputs):
        if child.op is not MATMUL or len(graph.clients[child]) > 1 or child.dtype != node.dtype:
            continue
        if len({x.dtype for x in (*node.inputs, *child.inputs)}) > 1:
            continue  # another order would round or wrap around elsewhere
        # What stands between two products is a matrix: a vector is a row or a column.
        between = child.inputs[1 - place]
        if between.ndim == 2 and max(x.ndim for x in child.inputs) <= 2:
            yield child


def _flattened(root: Variable, inner: set[Variable]) -> tuple[list[Variable], Tree]:
    """Return the operands of a chain in order, and the order in which they are multiplied."""
    operands: list[Variable] = []
    trees: list[Any] = []
    stack: list[Variable | None] = [root]
    while stack:
        x = stack.pop()
        if x is None:
            right, left = trees.pop(), trees.pop()
            trees.append((left, right))
        elif x is root or (x in inner and x.op is MATMUL):
            stack += [None, x.inputs[1], x.inputs[0]]
        else:
            trees.append(len(operands))
            operands.append(x)
    return operands, trees[0]


def _built(tree: Tree, operands: list[Variable]) -> Variable:
    done: list[Variable] = []
    stack: list[Any] = [tree]
    while stack:
        x = stack.pop()
        if x is None:
            right, left = done.pop(), done.pop()
            done.append(MATMUL(left, right))
        elif isinstance(x, tuple):
            stack += [None, x[1], x[0]]
        else:
            done.append(operands[x])
    return done[0]


def _best(operands: list[Variable], tree: Tree) -> Tree:
    """Return an order that costs no more than the given one, whatever the sizes."""
    sizes = _sizes(operands)
    symbols = sorted({s for s in sizes if isinstance(s, str)})
    written = _cost(tree, sizes)
    best, least = tree, written
    for values in _samples(symbols):
        other = _ordered([values.get(s, s) for s in sizes])
        cost = _cost(other, sizes)
        if cost != least and dominates(cost, least):
            best, least = other, cost
    return best


def _samples(symbols: list[str]) -> Iterator[dict[Any, int]]:
    """Yield values for symbols: all alike, then each in turn much larger or smaller."""
    yield dict.fromkeys(symbols, _USUAL)
    if len(symbols) > 1:
        for one in symbols:
            for value in (_SMALL, _LARGE):
                yield {**dict.fromkeys(symbols, _USUAL), one: value}


def _sizes(operands: list[Variable]) -> list[int | str]:
    """Return the sizes along a chain: operand i is of ``sizes[i]`` by ``sizes[i + 1]``."""
    types = [x.type for x in operands]
    assert all(isinstance(t, TensorType) for t in types)
    shapes: list[Any] = [t.shape for t in types]
    if len(shapes[0]) == 1:
        shapes[0] = (1, *shapes[0])
    if len(shapes[-1]) == 1:
        shapes[-1] = (*shapes[-1], 1)
    found: list[int | str] = [_symbol(0, shapes[0][0], None)]
    for i, shape in enumerate(shapes):
        after = shapes[i + 1][0] if i + 1 < len(shapes) else None
        found.append(_symbol(i + 1, shape[1], after))
    return found


def _symbol(place: int, *dims: Dim) -> int | str:
    static = [d for d in dims if isinstance(d, int)]
    named = [d for d in dims if isinstance(d, str)]
    return static[0] if static else (named[0] if named else f"?{place}")


def _ordered(sizes: list[Any]) -> Tree:
    """Return the best order for numbers, by dynamic programming."""
    count = len(sizes) - 1
    best: dict[tuple[int, int], tuple[int, Tree]] = {(i, i): (0, i) for i in range(count)}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length - 1
            options = [
                (
                    best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1],
                    k,
                )
                for k in range(i, j)
            ]
            cost, k = min(options)
            best[i, j] = (cost, (best[i, k][1], best[k + 1, j][1]))
    return best[0, count - 1][1]


def _cost(tree: Tree, sizes: Sequence[int | str]) -> Cost:
    """Return the multiplications of an order, as a polynomial in the sizes that are symbols."""
    total: Cost = Counter()
    spans: list[tuple[int, int]] = []
    stack: list[Any] = [tree]
    while stack:
        x = stack.pop()
        if x is None:
            (middle, end), (start, _) = spans.pop(), spans.pop()
            factors = (sizes[start], sizes[middle], sizes[end])
            number = 1
            for f in factors:
                number *= f if isinstance(f, int) else 1
            total[tuple(sorted(f for f in factors if isinstance(f, str)))] += number
            spans.append((start, end))
        elif isinstance(x, tuple):
            stack += [None, x[1], x[0]]
        else:
            spans.append((x, x + 1))
    return total


def dominates(cheap: Cost, dear: Cost) -> bool:
    """Tell whether a cost is at most another one for all sizes of at least 1.

    Each monomial of the first is paid for by monomials of the second that it divides.
    """
    left = Counter(dear)
    for monomial, number in sorted(cheap.items(), key=lambda item: (-len(item[0]), item[0])):
        own = Counter(monomial)
        payers = sorted(
            (m for m in left if left[m] > 0 and not own - Counter(m)), key=lambda m: (len(m), m)
        )
        for m in payers:
            paid = min(number, left[m])
            left[m] -= paid
            number -= paid
        if number > 0:
            return False
    return True
