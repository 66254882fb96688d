"""The same rewrites in PyTensor, as its documentation writes them: kanren run on every node.

Imported only if PyTensor is installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytensor
import pytensor.tensor as pt
from etuples import etuple
from kanren import conso, eq, fact, heado, tailo
from kanren.assoccomm import assoc_flatten, associative
from kanren.core import lall
from kanren.graph import mapo
from pytensor.graph.rewriting.basic import EquilibriumGraphRewriter
from pytensor.graph.rewriting.kanren import KanrenRelationSub
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.tensor.math import _dot
from unification import vars as lvars

fact(associative, pt.add)

VERSION: str = pytensor.__version__


def dot_distributeo(left: Any, right: Any) -> Any:
    """Relate A.dot(a + b + ...) to A.dot(a) + A.dot(b) + ..."""
    a, term, terms, products, flat = lvars(5)
    return lall(
        eq(left, etuple(_dot, a, term)),
        heado(pt.add, term),
        assoc_flatten(term, flat),
        tailo(terms, flat),
        conso(pt.add, products, right),
        mapo(lambda x, y: conso(_dot, etuple(a, x), y), terms, products),
    )


def distributed(terms: int, nary: bool) -> Any:
    """Return A x1 + A x2 + ..., nested to the left or as one addition."""
    a = pt.matrix("A")
    products = [a.dot(pt.matrix(f"x{i}")) for i in range(terms)]
    return pt.add(*products) if nary else _nested(products)


def gathered(terms: int, nary: bool) -> Any:
    """Return A (x1 + x2 + ...)."""
    xs = [pt.matrix(f"x{i}") for i in range(terms)]
    return pt.matrix("A").dot(pt.add(*xs) if nary else _nested(xs))


def _nested(terms: list[Any]) -> Any:
    total = terms[0]
    for x in terms[1:]:
        total = total + x
    return total


def run(forward: bool, terms: int, nary: bool) -> Callable[[], float]:
    """Return a function that rewrites once and returns the seconds it took."""
    relation = dot_distributeo if forward else (lambda x, y: dot_distributeo(y, x))
    rewriter = EquilibriumGraphRewriter([KanrenRelationSub(relation)], max_use_ratio=100)

    def once() -> float:
        graph = gathered(terms, nary) if forward else distributed(terms, nary)
        start = time.perf_counter()
        result = rewrite_graph(graph, include=[], custom_rewrite=rewriter, clone=False)
        seconds = time.perf_counter() - start
        expected = pt.add if forward else _dot
        assert result.owner.op == expected, result
        return seconds

    return once


def canonicalize(build: Callable[[Any], Any], nodes: int) -> Callable[[], float]:
    """Return a function that applies PyTensor's canonicalize mode to a graph of ``nodes``."""

    def once() -> float:
        graph = build(nodes)
        start = time.perf_counter()
        rewrite_graph(graph, include=["canonicalize"], clone=False)
        return time.perf_counter() - start

    return once


def sums(nodes: int) -> Any:
    """Return x0 * 1 + x1 * 1 + ..., of about ``nodes`` nodes."""
    xs = [pt.vector(f"x{i}") for i in range(8)]
    node = xs[0]
    for i in range(nodes // 3):
        node = pt.sin(node + xs[i % 8] * 1.0)
    return node
