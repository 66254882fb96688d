"""Published experiments as graphs: the rows of ``algebra.json``.

Sources: LAAB (Sankaran et al. 2022), LAMP (Psarras, Barthels, Bientinesi 2022), HADAD (Alotaibi et
al. 2021), SystemDS (Apache), TASO (Jia et al. 2019), Linnea (Barthels et al. 2021).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import relgraph as rg
from relgraph.ir.graph import FunctionGraph

FACTS = {"tril": ("lower_triangular",), "spd": ("spd",), "pos": ("positive",),
         "wc": ("invertible",), "tridiag": ("tridiagonal",), "orth": ("orthogonal",)}  # fmt: skip
SMALLEST = 4  # of a size, where all sizes are divided


class Trmm(rg.Op):
    """The product with a triangular matrix, in half of the operations."""

    __slots__ = ()
    name = "trmm"
    arity = 2

    def infer(self, *types: Any) -> Any:
        return types[1]

    def perform(self, *values: Any) -> Any:
        return np.matmul(*values)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        return rg.matmul.flops(types, result) // 2


class Band(rg.Op):
    """The product with a tridiagonal matrix."""

    __slots__ = ()
    name = "band"
    arity = 2

    def infer(self, *types: Any) -> Any:
        return types[1]

    def perform(self, *values: Any) -> Any:
        return np.matmul(*values)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        return 6 * super().flops(types, result)


def _syr2k(a: Any, b: Any) -> Any:
    """Return ``a @ b.T + b @ a.T`` with one product."""
    product = a @ b.T
    return product + product.T


def _namespace() -> dict[str, Any]:
    """Return what the expressions of the table call."""
    return {
        "band": Band(),
        "cat": lambda axis, *xs: rg.concatenate(xs, axis=axis),
        "cholsolve": lambda a, b: rg.solve(a, b, assume="spd"),
        "col": lambda x: x[:, None],
        "cs": lambda x: rg.sum(x, axis=0),
        "det": rg.det,
        "diag": rg.diag,
        "exp": rg.exp,
        "eye": lambda n, like: rg.eye(n),
        "inv": rg.inv,
        "let": lambda value, body: body(value),
        "ones": lambda m, n: rg.ones((m, n)),
        "outer": rg.outer,
        "prod": rg.prod,
        "rs": lambda x: rg.sum(x, axis=1),
        "sigm": rg.sigmoid,
        "solve": rg.solve,
        "sum_": rg.sum,
        "syr2k": _syr2k,
        "syrk": lambda x: x @ x.T,
        "tr": rg.trace,
        "trisolve": lambda a, b: rg.solve_triangular(a, b, lower=True),
        "trmm": Trmm(),
        "zeros": lambda m, n, like: rg.zeros((m, n)),
    }


@dataclass(frozen=True)
class Row:
    """One published experiment.

    Attributes
    ----------
    name, source : str
        Its name, and where it was published.
    sizes : dict of str to int
        The published sizes.
    operands : tuple
        The name, the sizes as expressions, and the property of each operand.
    naive, target : str
        The expression as a person writes it, and the best form known.
    flops_target : int
        The operations of the best form at the published sizes.
    """

    name: str
    source: str
    sizes: dict[str, int]
    operands: tuple[tuple[str, tuple[str, ...], str], ...]
    naive: str
    target: str
    flops_target: int

    def smaller(self, by: int) -> dict[str, int]:
        """Return the sizes divided by a number."""
        return {name: max(SMALLEST, size // by) for name, size in self.sizes.items()}

    def inputs(self, sizes: dict[str, int] | None) -> dict[str, Any]:
        """Return the operands, with static sizes or, for None, with named ones."""
        made = {}
        for name, dims, fact in self.operands:
            shape = tuple(_dim(text, sizes) for text in dims)
            made[name] = rg.tensor(name, shape=shape, facts=FACTS.get(fact, ()))
        return made

    def graph(self, expression: str, sizes: dict[str, int] | None) -> FunctionGraph:
        """Return an expression as a graph."""
        inputs = self.inputs(sizes)
        output = eval(expression, _namespace() | (sizes or {}) | inputs)
        return rg.FunctionGraph(list(inputs.values()), output)

    def places(self) -> dict[str, int]:
        """Return the published sizes, of names and of the places of operands."""
        shapes = {
            f"{name}.shape[{axis}]": _dim(text, self.sizes)
            for name, dims, _ in self.operands
            for axis, text in enumerate(dims)
        }
        return self.sizes | shapes

    def arrays(self, sizes: dict[str, int]) -> dict[str, Any]:
        """Return random arrays with the properties of the operands."""
        rng = np.random.default_rng(0)
        return {
            name: _with(fact, rng.normal(size=[_dim(text, sizes) for text in dims]))
            for name, dims, fact in self.operands
        }


def _dim(text: str, sizes: dict[str, int] | None) -> Any:
    """Return a size of an operand: a number, or a name or None where there are no numbers."""
    if text.isidentifier():
        return text if sizes is None else sizes[text]
    if text.isdigit():
        return int(text)
    return None if sizes is None else eval(text, {}, dict(sizes))


def _with(fact: str, x: Any) -> Any:
    """Return an array with a property."""
    if fact == "pos":
        return np.abs(x) + 0.5
    if not fact:
        return x
    n = len(x)
    if fact == "orth":
        return np.linalg.qr(x)[0]
    if fact == "spd":
        return x @ x.T / n + np.eye(n)
    part = {"wc": x, "tril": np.tril(x), "tridiag": np.triu(np.tril(x, 1), -1)}[fact]
    return part / (4 * np.sqrt(n)) + np.eye(n)


def operands_of(text: str) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """Return the operands that are written as ``A:m,n:spd x:n``."""
    operands = []
    for word in text.split():
        name, _, rest = word.partition(":")
        dims, _, fact = rest.partition(":")
        operands.append((name, tuple(d for d in dims.split(",") if d), fact))
    return tuple(operands)


def _row(entry: dict[str, Any]) -> Row:
    return Row(
        entry["id"], entry["source"], entry["sizes"], operands_of(entry["operands"]),
        entry["naive"], entry["target"], entry["flops_target"],
    )  # fmt: skip


ROWS = [_row(x) for x in json.loads(Path(__file__).with_name("algebra.json").read_text("utf-8"))]
