"""Products with a sum of products, term by term where that costs less.

``(A - H.mT @ H) @ x`` needs no product of matrices as ``A @ x - H.mT @ (H @ x)``.  The catalogue
gathers, which costs less for terms that are not products; this pass takes the other direction of
the same law where it costs less for all sizes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from relgraph.ir.cost import LEAST, operations
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.machine import node_seconds
from relgraph.ir.node import Variable
from relgraph.ir.polynomial import at_most
from relgraph.ops.elementwise import add, multiply, negative, subtract
from relgraph.rewriting.passes.blas import SUMS, Clients, Term, terms_of
from relgraph.rewriting.passes.chain_words import MATMUL, SWAP, Words, flip, is_joined
from relgraph.rewriting.passes.matmul_chains import ordered
from relgraph.rewriting.rewriters import GraphRewriter, images_of, with_changes

Changes = dict[Variable, Variable]

_VISITS = 16  # nodes that are looked at for each node of a graph, so that the time is linear


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
        changes: Changes = {}
        visits = _VISITS * len(graph)
        for node in graph:
            if node.op is not MATMUL or not is_joined(node):
                continue
            for place, x in enumerate(node.inputs):
                sum_ = x.inputs[0] if x.op is SWAP else x
                if sum_.op not in SUMS or sum_.ndim != 2:
                    continue
                gone = _gone(node, graph.clients)
                visits -= len(gone)
                if visits < 0:
                    break
                made = _distributed(node, place, sum_, gone, graph.clients)
                if made is not None:
                    changes[node] = made
                    break
        return with_changes(graph, changes)


def _gone(node: Variable, clients: Clients) -> dict[Variable, None]:
    """Return the products and sums that nothing but a node needs, and the node itself."""
    gone = {node: None}
    users: dict[Variable, int] = {}
    stack = [node]
    for x in stack:  # grows as it goes
        for y in x.inputs:
            if is_joined(y) or y.op is SWAP or y.op in (*SUMS, multiply, negative):
                users[y] = users.get(y, len(clients[y])) - 1
                if not users[y]:
                    gone[y] = None
                    stack.append(y)
    return gone


def _distributed(
    node: Variable, place: int, sum_: Variable, gone: Collection[Variable], clients: Clients
) -> Variable | None:
    """Return a product with a sum term by term if that costs less, else None."""
    x, other = node.inputs[place], node.inputs[1 - place]
    if sum_ not in gone or (other.ndim == 2 and other.type.shape == x.type.shape):
        return None  # nothing is gained for square matrices of one size
    terms = terms_of(sum_, clients, set())
    products = [term for term in terms if _is_product(term, gone)]
    others = [term for term in terms if term not in products]
    if not products or any([term.node.type != sum_.type for term in terms]):
        return None

    def multiplied(y: Variable) -> Any:
        y = flip(y) if x.op is SWAP else y
        return MATMUL(other, y) if place else MATMUL(y, other)

    made: Any = None
    others.sort(key=lambda term: not term.added)
    for term in others:
        made = _summed(made, term.added, term.node)
    made = None if made is None else multiplied(made)
    for term in products:
        product = multiplied(term.core)
        if term.number is not None:
            product = multiply(term.number, product)
        made = _summed(made, term.added is not term.negated, product)
    if not made.type.narrows(node.type):
        return None

    def stays(y: Variable) -> bool:
        return y in clients and y not in gone

    changes = ordered(Words(images_of([made], {}, stays), [made]))
    images = images_of([made], changes, stays)
    return images[made] if _is_less(dict.fromkeys(images.values()), gone) else None


def _is_product(term: Term, gone: Collection[Variable]) -> bool:
    """Return True for a product, perhaps with a number, that only the sum needs."""
    number, core = term.number, term.core
    return core.op is MATMUL and core in gone and (number is None or number.dtype == core.dtype)


def _summed(sum_: Variable | None, added: bool, x: Variable) -> Any:
    if sum_ is None:
        return x if added else negative(x)
    return (add if added else subtract)(sum_, x)


def _is_less(new: Collection[Variable], old: Collection[Variable]) -> bool:
    """Return True if nodes take less time, or fewer operations for all sizes if some are open."""
    sizes = {d for x in (*new, *old) for y in (x, *x.inputs) for d in y.type.shape}
    if None in sizes:
        return False
    if all([isinstance(d, int) for d in sizes]):
        return sum(map(node_seconds, new)) < sum(map(node_seconds, old))
    fewer, more = operations(new), operations(old)
    return fewer != more and at_most(fewer, more, LEAST)


__all__ = ["Distribution"]
