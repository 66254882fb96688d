"""Random loops: their bodies are functions of NumPy's arrays, which build graphs when traced."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import relgraph as rg
from relgraph.api.differentiation import node_of
from relgraph.errors import RelgraphError

SIZES = (2, 3, 4, 9, 70)
TRIES = 6  # of a step with other operands


def tamed(x: Any) -> Any:
    """Return values of the same sign that do not grow without limit."""
    if x.dtype.kind == "f":
        return x / (1 + np.abs(x) * x.dtype.type(0.125))
    return x % 97 if x.dtype.kind == "i" else x


class Program:
    """A random loop; ``application`` is its node, and ``operands`` are arrays for it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # whose state can be read while NumPy is traced
        self.numbers = np.random.default_rng(seed)
        self.exact = self.rng.random() < 0.6
        self.sizes = self.rng.choice(["known", "known", "named", "unknown"])
        n, m = self.rng.choice(SIZES), self.rng.choice(SIZES[:3])
        self.shapes = [(), (), (n,), (n,), (n, n) if n < 70 else (n, m), (n, m), (m,)]
        real = "float32" if self.rng.random() < 0.2 else "float64"
        self.dtypes = [real, real, real, "int64", "bool"]
        self.arrays: list[Any] = []
        self.inputs: list[Any] = []
        count = self.rng.randrange(1, 4)
        carried = [self.input(self.shape(), self.dtype()) for _ in range(count)]
        rest = [self.input(self.shape(), self.dtype()) for _ in range(self.rng.randrange(3))]
        length = self.rng.randrange(5)
        xs = [
            self.input((length, *self.shape()), self.dtype()) for _ in range(self.rng.randrange(3))
        ]
        kind = self.rng.choice(["scan", "scan", "scan", "fori", "while", "cond"])
        state = self.rng.getstate()

        def begin() -> None:  # a body may be traced several times
            self.rng.setstate(state)

        def scanned(carry: Any, x: Any) -> Any:
            begin()
            pool = self.steps([*carry, *rest, *x], 0)
            ys = [self.pick(pool) for _ in range(self.rng.randrange(3))]
            return self.following(carry, pool), ys

        def counted(i: Any, carry: Any) -> Any:
            begin()
            return self.following(carry, self.steps([i, *carry, *rest], 0))

        def again(state: Any) -> Any:
            begin()
            i, *carry = state
            return (i + 1, *self.following(carry, self.steps([i, *carry, *rest], 0)))

        def branch(*carry: Any) -> Any:
            return self.following(list(carry), self.steps([*carry, *rest], 0))

        if kind == "scan":
            result = rg.scan(scanned, tuple(carried), tuple(xs), length, self.rng.random() < 0.3)
            nodes = [*result[0], *result[1]]
        elif kind == "fori":
            nodes = rg.fori_loop(1, 1 + length, counted, tuple(carried))
        elif kind == "while":
            nodes = rg.while_loop(lambda s: s[0] < length, again, (0, *carried))
        else:
            flag = self.input((), "bool")
            nodes = rg.cond(flag, branch, branch, *carried)
        self.application = nodes[0].inputs[0]

    def operands(self) -> list[Any]:
        """Return the values of the operands."""
        values = [np.asarray(x) for x in self.arrays]
        graph = rg.function(self.inputs, list(self.application.inputs), target="numpy", mode=None)
        return [np.asarray(x) for x in graph(*values)]

    # Choices.

    def shape(self) -> tuple[int, ...]:
        return self.rng.choice(self.shapes)

    def dtype(self) -> str:
        return self.rng.choice(self.dtypes)

    def input(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return an input, and remember an array for it."""
        if dtype == "bool":
            array = self.numbers.random(shape) < 0.5
        elif dtype == "int64":
            array = self.numbers.integers(-5, 6, shape)
        else:
            array = self.numbers.normal(size=shape).astype(dtype)
        self.arrays.append(array)
        names = {"known": shape, "named": tuple([f"n{n}" if n > 4 else n for n in shape])}
        sizes = names.get(self.sizes, (None,) * len(shape))
        self.inputs.append(rg.tensor(f"a{len(self.inputs)}", sizes, dtype))
        return self.inputs[-1]

    def pick(self, pool: list[Any], kinds: str = "fib", rank: int | None = None) -> Any:
        """Return a value of the pool, the later ones more often."""
        some = [x for x in pool if x.dtype.kind in kinds and rank in (None, x.ndim)]
        if not some:
            raise LookupError
        return some[-1 - int(len(some) * self.rng.random() ** 1.5)]

    def following(self, carry: Any, pool: list[Any]) -> Any:
        """Return a next value of the type of each carry."""
        values = []
        for x in carry:
            same = [y for y in pool if node_of(y, "y").type is node_of(x, "x").type]
            y = self.pick(same)
            values.append(tamed(y))
        return tuple(values) if isinstance(carry, tuple) else values

    def steps(self, pool: list[Any], depth: int) -> list[Any]:
        """Return a pool with random values added."""
        pool = list(pool)
        for _ in range(self.rng.randrange(4, 12)):
            make = self.rng.choice(
                [self.unary, self.binary, self.binary, self.reduction, self.product, self.part,
                 self.update, self.update, self.join, self.moved, self.nested]
            )  # fmt: skip
            for _ in range(TRIES):
                try:
                    value = make(pool, depth)
                except (LookupError, RelgraphError):  # no fitting operands
                    continue
                if value.ndim <= 2:
                    pool.append(value)
                    break
        return pool

    # Steps.

    def unary(self, pool: list[Any], depth: int) -> Any:
        x = self.pick(pool, "fi")
        functions = [np.abs, np.negative, np.square, lambda x: x * 0.5, lambda x: x + 1]
        if x.dtype.kind == "f":
            functions += [lambda x: np.sqrt(np.abs(x)), np.floor, lambda x: 1 / (1 + x * x)]
            if not self.exact:
                functions += [np.sin, np.tanh, lambda x: np.exp(-np.abs(x))]
        return tamed(functions[self.rng.randrange(len(functions))](x))

    def binary(self, pool: list[Any], depth: int) -> Any:
        x, y = self.pick(pool), self.pick(pool)
        if "b" in (x.dtype.kind, y.dtype.kind):
            if x.dtype.kind == y.dtype.kind:
                return [np.logical_and, np.logical_or, np.not_equal][self.rng.randrange(3)](x, y)
            flag, other = (x, y) if x.dtype.kind == "b" else (y, x)
            return np.where(flag, other, other.dtype.type(1))
        functions = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.less,
                     lambda x, y: np.where(x < y, y, x - y)]  # fmt: skip
        return tamed(functions[self.rng.randrange(len(functions))](x, y))

    def reduction(self, pool: list[Any], depth: int) -> Any:
        x = self.pick(pool, "fi")
        axis = None if self.rng.random() < 0.5 else self.rng.randrange(-1, max(x.ndim, 1))
        function = [np.sum, np.max, np.min, np.mean][self.rng.randrange(4)]
        return tamed(function(x, axis=axis, keepdims=self.rng.random() < 0.3))

    def product(self, pool: list[Any], depth: int) -> Any:
        x, y = self.pick(pool, "f"), self.pick(pool, "f")
        return tamed(x @ y if self.rng.random() < 0.7 else np.outer(x, y)[:4, :4])

    def part(self, pool: list[Any], depth: int) -> Any:
        x = self.pick(pool)
        keys = [0, -1, slice(1, None), slice(None, -1), slice(None, None, -1), slice(0, 2), None]
        key = keys[self.rng.randrange(len(keys))]
        if key is None:
            key = self.pick(pool, "i", 0) % 2
        return x[:, key] if x.ndim == 2 and self.rng.random() < 0.5 else x[key]

    def update(self, pool: list[Any], depth: int) -> Any:
        x = self.pick([y for y in pool if y.ndim])
        rank = self.rng.choice([0, x.ndim - 1, x.ndim])
        value = self.pick([y for y in pool if y.dtype == x.dtype], rank=rank)
        if self.rng.random() < 0.5 and x.dtype.kind != "b":
            x = tamed(x + x)
        if (
            depth or self.rng.random() < 0.7
        ):  # an inner body may not write to arrays of an outer one
            x = x.copy()
        i = self.pick([*pool, np.int64(1)], "i", 0)
        key: Any = self.rng.choice([0, i % 2, slice(1, None), slice(None, 2), slice(None, -1)])
        if self.rng.random() < 0.3:  # as explicit steps of an equation
            value = value[key] if value.ndim else value
        if x.ndim == 2 and self.rng.random() < 0.5:
            key = (slice(None), key)
        if self.rng.random() < 0.3 and x.dtype.kind != "b":
            x[key] += value
        else:
            x[key] = value
        return x

    def join(self, pool: list[Any], depth: int) -> Any:
        x = self.pick(pool)
        others = [y for y in pool if y.ndim == x.ndim and y.dtype == x.dtype]
        y = self.pick(others)
        if x.ndim == 0 or self.rng.random() < 0.3:
            return np.stack([x, y])
        return np.concatenate([x, y])[: x.shape[0]]

    def moved(self, pool: list[Any], depth: int) -> Any:
        x = self.pick(pool)
        functions = [lambda x: x.T, np.ravel, lambda x: x[None], lambda x: np.roll(x, 1),
                     lambda x: np.broadcast_to(x, (2, *x.shape)), np.flip]  # fmt: skip
        return functions[self.rng.randrange(len(functions))](x)

    def nested(self, pool: list[Any], depth: int) -> Any:
        if depth == 1:
            raise LookupError
        x, flag = self.pick(pool), self.pick(pool, "fi", 0)
        state = self.rng.getstate()

        def inside(y: Any, *more: Any) -> Any:
            self.rng.setstate(state)
            return self.following((y,), self.steps([*pool, *more, y], depth + 1))[0]

        kind = self.rng.randrange(4)
        state = self.rng.getstate()
        if kind == 0:
            return rg.cond(flag > 0, inside, lambda y: y, x)
        if kind == 1:
            return rg.fori_loop(0, 2, lambda i, y: inside(y, i), x)
        if kind == 2:
            count = np.sum(x * 0 + 1) if x.dtype.kind == "i" else flag * 0
            return rg.while_loop(
                lambda s: (s[0] < 2) & (s[0] < 5 + count),
                lambda s: (s[0] + 1, inside(s[1], s[0])), (0, x)
            )[1]  # fmt: skip
        total, ys = rg.scan(lambda c, _: (inside(c), c), x, None, 2)
        return ys[1] if self.rng.random() < 0.5 else total


__all__ = ["Program"]
