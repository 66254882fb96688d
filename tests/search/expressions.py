"""Random expressions of matrices, as graphs and as NumPy values of the same formula."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import relgraph as rg

SIZES = (1, 2, 3, 5, 8)


class Term(NamedTuple):
    """A graph, and the value that NumPy gives the same formula."""

    graph: Any
    value: np.ndarray[Any, Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


class Expressions:
    """Draws expressions from a seed.

    ``arrays`` has the values of all inputs that the expressions use.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.arrays: dict[Any, np.ndarray[Any, Any]] = {}
        self.pool: list[Term] = []

    def leaf(self, shape: tuple[int, ...]) -> Term:
        same = [term for term in self.pool if term.shape == shape]
        if same and self.random.random() < 0.7:
            return self.random.choice(same)
        facts: tuple[str, ...] = ()
        value = self.numbers.normal(size=shape)
        if len(shape) == 2 and shape[0] == shape[1] > 1:
            kind = self.random.randrange(6)
            if kind == 0:
                facts, value = ("spd",), value @ value.T + shape[0] * np.eye(shape[0])
            elif kind == 1:
                facts, value = ("symmetric",), value + value.T
            elif kind == 2:
                facts = ("lower_triangular", "invertible")
                value = np.tril(value) + 3 * shape[0] * np.eye(shape[0])
            elif kind == 3:
                facts, value = ("orthogonal",), np.linalg.qr(value)[0]
        x = rg.tensor(f"x{len(self.arrays)}", shape=shape, dtype="float64", facts=facts)
        self.arrays[x] = value
        term = Term(x, value)
        self.pool.append(term)
        return term

    def draw(self, shape: tuple[int, ...], depth: int) -> Term:
        """Return an expression of a shape."""
        if depth <= 0:
            return self.leaf(shape)
        makers: list[Callable[..., Term]] = [
            self.sum, self.difference, self.scaled, self.elementwise, self.repeated, self.leaf_,
        ]  # fmt: skip
        if len(shape) == 2:
            makers += [self.product] * 3 + [self.transpose, self.broadcast, self.joined]
            if shape[0] == shape[1]:
                makers += [self.inverse, self.diagonal_matrix, self.gram]
        elif len(shape) == 1:
            makers += [self.vector_product] * 2 + [
                self.solution,
                self.total,
                self.row,
                self.diagonal,
            ]
        else:
            makers += [self.inner, self.grand_total, self.trace, self.quotient]
        term = self.random.choice(makers)(shape, depth - 1)
        return self.leaf(shape) if np.abs(term.value).max(initial=0) > 1e6 else term

    def size(self) -> int:
        return self.random.choice(SIZES)

    def leaf_(self, shape: tuple[int, ...], depth: int) -> Term:
        return self.leaf(shape)

    def two(self, shape: tuple[int, ...], depth: int) -> tuple[Term, Term]:
        return self.draw(shape, depth), self.draw(shape, depth)

    def sum(self, shape: tuple[int, ...], depth: int) -> Term:
        a, b = self.two(shape, depth)
        return Term(a.graph + b.graph, a.value + b.value)

    def difference(self, shape: tuple[int, ...], depth: int) -> Term:
        a, b = self.two(shape, depth)
        return Term(a.graph - b.graph, a.value - b.value)

    def scaled(self, shape: tuple[int, ...], depth: int) -> Term:
        a = self.draw(shape, depth)
        if self.random.random() < 0.5:
            c = self.random.choice([2.0, -1.0, 0.5, -3.0])
            return Term(c * a.graph, c * a.value)
        s = self.draw((), depth)
        return Term(s.graph * a.graph, s.value * a.value)

    def elementwise(self, shape: tuple[int, ...], depth: int) -> Term:
        a, b = self.two(shape, depth)
        return Term(a.graph * b.graph, a.value * b.value)

    def repeated(self, shape: tuple[int, ...], depth: int) -> Term:
        """Use one expression twice."""
        a, b = self.two(shape, depth)
        return Term(a.graph + b.graph - 2.0 * a.graph, a.value + b.value - 2.0 * a.value)

    def product(self, shape: tuple[int, ...], depth: int) -> Term:
        k = self.size()
        a, b = self.draw((shape[0], k), depth), self.draw((k, shape[1]), depth)
        return Term(a.graph @ b.graph, a.value @ b.value)

    def transpose(self, shape: tuple[int, ...], depth: int) -> Term:
        a = self.draw(shape[::-1], depth)
        return Term(a.graph.T, a.value.T)

    def gram(self, shape: tuple[int, ...], depth: int) -> Term:
        a = self.draw((self.size(), shape[0]), depth)
        return Term(a.graph.T @ a.graph, a.value.T @ a.value)

    def inverse(self, shape: tuple[int, ...], depth: int) -> Term:
        a = self.draw(shape, depth)
        n = shape[0]
        value = a.value @ a.value.T + n * np.eye(n)
        return Term(rg.inv(a.graph @ a.graph.T + float(n) * rg.eye(n)), np.linalg.inv(value))

    def diagonal_matrix(self, shape: tuple[int, ...], depth: int) -> Term:
        v = self.draw(shape[:1], depth)
        return Term(rg.diag(v.graph), np.diag(v.value))

    def broadcast(self, shape: tuple[int, ...], depth: int) -> Term:
        a, v = self.draw(shape, depth), self.draw(shape[1:], depth)
        if self.random.random() < 0.5:
            return Term(a.graph + v.graph, a.value + v.value)
        u = self.draw(shape[:1], depth)
        return Term(a.graph * u.graph[:, None], a.value * u.value[:, None])

    def joined(self, shape: tuple[int, ...], depth: int) -> Term:
        if shape[0] < 2:
            return self.leaf(shape)
        k = self.random.randrange(1, shape[0])
        a, b = self.draw((k, shape[1]), depth), self.draw((shape[0] - k, shape[1]), depth)
        return Term(rg.concatenate([a.graph, b.graph]), np.concatenate([a.value, b.value]))

    def vector_product(self, shape: tuple[int, ...], depth: int) -> Term:
        k = self.size()
        v = self.draw((k,), depth)
        if self.random.random() < 0.5:
            a = self.draw((*shape, k), depth)
            return Term(a.graph @ v.graph, a.value @ v.value)
        a = self.draw((k, *shape), depth)
        return Term(v.graph @ a.graph, v.value @ a.value)

    def solution(self, shape: tuple[int, ...], depth: int) -> Term:
        a, v = self.draw((*shape, *shape), depth), self.draw(shape, depth)
        n = shape[0]
        value = a.value @ a.value.T + n * np.eye(n)
        graph = a.graph @ a.graph.T + float(n) * rg.eye(n)
        return Term(rg.solve(graph, v.graph), np.linalg.solve(value, v.value))

    def total(self, shape: tuple[int, ...], depth: int) -> Term:
        axis = self.random.randrange(2)
        k = self.size()
        a = self.draw((k, *shape) if axis == 0 else (*shape, k), depth)
        return Term(rg.sum(a.graph, axis=axis), a.value.sum(axis=axis))

    def row(self, shape: tuple[int, ...], depth: int) -> Term:
        m = self.size()
        a = self.draw((m, *shape), depth)
        k = self.random.randrange(m)
        return Term(a.graph[k], a.value[k])

    def diagonal(self, shape: tuple[int, ...], depth: int) -> Term:
        a = self.draw((*shape, *shape), depth)
        return Term(rg.diagonal(a.graph), np.diagonal(a.value))

    def inner(self, shape: tuple[int, ...], depth: int) -> Term:
        a, b = self.two((self.size(),), depth)
        return Term(a.graph @ b.graph, np.asarray(a.value @ b.value))

    def grand_total(self, shape: tuple[int, ...], depth: int) -> Term:
        a = self.draw((self.size(), self.size()), depth)
        return Term(rg.sum(a.graph), np.asarray(a.value.sum()))

    def trace(self, shape: tuple[int, ...], depth: int) -> Term:
        n = self.size()
        a = self.draw((n, n), depth)
        return Term(rg.trace(a.graph), np.asarray(np.trace(a.value)))

    def quotient(self, shape: tuple[int, ...], depth: int) -> Term:
        a = self.draw(shape, depth)
        b = self.draw(shape, depth)
        return Term(
            a.graph / (1.5 + rg.square(b.graph)), np.asarray(a.value / (1.5 + np.square(b.value)))
        )
