"""Products with a sum of products, term by term where that costs less.

``(A - H.mT @ H) @ x`` needs no product of matrices as ``A @ x - H.mT @ (H @ x)``.  The catalogue
gathers, which costs less for terms that are not products; this pass takes the other direction of
the same law where it costs less for all sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ops.elementwise import add, multiply, negative, subtract
from relgraph.rewriting.passes.chain_costs import Cost, Term, dominates, product_terms, total
from relgraph.rewriting.passes.chain_words import MATMUL, SWAP, Words, flip, is_joined
from relgraph.rewriting.passes.matmul_chains import LEAST, ordered
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

SUMMED = (add, subtract, multiply, negative)
_MOST = 64  # nodes of a sum that are looked at


class Part(NamedTuple):
    """A term of a sum of matrices: a product, with a sign and a number."""

    added: bool
    number: Variable | None
    product: Variable


class Distribution(GraphRewriter):
    """Multiplies by the terms of a sum where that costs less than by the sum.

    References
    ----------
    A. Sankaran et al., "Benchmarking the linear algebra awareness of TensorFlow and PyTorch",
    IPDPSW 2022, section on distributivity.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.distribution import Distribution
    >>> A, H = rg.matrices("A H", shape=("n", "n"))
    >>> x = rg.vector("x", shape=("n",))
    >>> rg.rewrite_graph((A - H.mT @ H) @ x, Distribution())
    A @ x - H.mT @ (H @ x)
    """

    def __init__(self) -> None:
        super().__init__(name="distribute_matmul")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with such products term by term."""
        changes: dict[Variable, Variable] = {}
        for node in graph:
            if node.op is not MATMUL or not is_joined(node):
                continue
            for place, x in enumerate(node.inputs):
                core = x.inputs[0] if x.op is SWAP else x
                if core.op not in (add, subtract) or core.ndim != 2:
                    continue
                made = self._distributed(node, place, graph)
                if made is not None:
                    changes[node] = made
                    break
        return with_changes(graph, changes)

    def _distributed(self, node: Variable, place: int, graph: FunctionGraph) -> Variable | None:
        """Return a product term by term, if it costs less."""
        x, other = node.inputs[place], node.inputs[1 - place]
        turned = x.op is SWAP
        rest, products = _terms(x.inputs[0] if turned else x)
        if not products or (other.ndim == 2 and other.type.shape == x.type.shape):
            return None  # nothing is gained for square matrices of one size

        def multiplied(y: Variable) -> Any:
            y = flip(y) if turned else y
            return MATMUL(other, y) if place else MATMUL(y, other)

        made = None if rest is None else multiplied(rest)
        for added, number, product in products:
            term = multiplied(product)
            term = term if number is None else multiply(number, term)
            if made is None:
                made = term if added else negative(term)
            else:
                made = (add if added else subtract)(made, term)
        if made is None or not made.type.narrows(node.type):
            return None
        old = _inside([node, x])
        kept = [
            y for y in old if y is not node and any([u not in old for u, _ in graph.clients[y]])
        ]
        roots = [made, *kept] if rest is None else [made, *kept, rest]
        whole = FunctionGraph(None, roots)
        outputs = with_changes(whole, ordered(Words(whole, _inside(roots)))).outputs
        new = _inside(outputs)
        cheap, dear = _cost(new), _cost(old)
        if not new or not old or cheap is None or dear is None:
            return None
        saved = dear - cheap
        less = bool(saved) and dominates(cheap - dear, saved, LEAST)
        return outputs[0] if less else None


def _terms(x: Variable) -> tuple[Variable | None, list[Part]]:
    """Return the sum of the terms of a sum that are not products, and the products."""
    others: list[tuple[bool, Variable]] = []
    products: list[Part] = []
    stack = [(x, True)]
    while stack and len(others) + len(products) < _MOST:
        y, added = stack.pop()
        if y.type.shape != x.type.shape or y.dtype != x.dtype:
            return None, []
        if y.op in (add, subtract):
            left, right = y.inputs
            stack += [(right, added is (y.op is add)), (left, added)]
            continue
        if y.op is negative:
            stack.append((y.inputs[0], not added))
            continue
        number: Variable | None = None
        core = y
        if y.op is multiply:
            number, core = y.inputs if y.inputs[0].ndim == 0 else y.inputs[::-1]
        if core.op is MATMUL and (
            number is None or (number.ndim == 0 and number.dtype == core.dtype == y.dtype)
        ):
            products.append(Part(added, number, core))
        else:
            others.append((added, y))
    if stack:
        return None, []
    others.sort(key=lambda term: not term[0])
    return reduce(_summed, others, None), products


def _summed(sum_: Variable | None, term: tuple[bool, Variable]) -> Any:
    added, x = term
    if sum_ is None:
        return x if added else negative(x)
    return (add if added else subtract)(sum_, x)


def _inside(roots: Iterable[Variable]) -> dict[Variable, None]:
    """Return the sums below nodes, the products below these, and the products that they multiply.

    Sums below a product are operands like any other.
    """
    inside: dict[Variable, None] = {}
    stack = [(x, True) for x in roots]
    while stack:
        x, sums = stack.pop()
        summed = x.op in SUMMED
        if x in inside or not (is_joined(x) or x.op is SWAP or (sums and summed)):
            continue
        inside[x] = None
        if len(inside) > 4 * _MOST:
            return {}
        stack += [(y, sums and (summed or x.op is SWAP)) for y in x.inputs]
    return inside


def _cost(nodes: Iterable[Variable]) -> Cost | None:
    """Return the cost of nodes; None if a size has no name or a system is among them."""
    terms: list[Term] = []
    sizes: list[Any] = [d for x in nodes for y in (x, *x.inputs) for d in _shape(y)]
    timed = all([isinstance(d, int) for d in sizes])
    for x in nodes:
        shapes = [_shape(y) for y in (x, *x.inputs)]
        if any([d is None for shape in shapes for d in shape]):
            return None
        if x.op is MATMUL:
            left, right = shapes[1:]
            m, n = (*left[:-1], 1)[0], (1, *right[1:])[-1]
            gram = flip(x.inputs[0]) is x.inputs[1] and len(left) == 2
            terms += product_terms(m, left[-1], n, timed, "half" if gram else "")
        elif is_joined(x):
            return None
        elif x.op is not SWAP:
            terms.append((1000 if timed else 6, tuple(shapes[0])))
    return total(terms)


def _shape(x: Variable) -> Any:
    return x.type.shape


__all__ = ["Distribution"]
