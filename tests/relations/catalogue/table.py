"""One row for each relation of a theme: two graphs written out, and one that must not match."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgraph.checking.evaluation import evaluate
from relgraph.checking.matching import canonical
from relgraph.errors import RelgraphError
from relgraph.ir.node import Input, Variable, make_input
from relgraph.ir.types import TensorType
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import selection_of


def tensor(name: str, *shape: Any, dtype: str = "float64", facts: tuple[str, ...] = ()) -> Input:
    """Return an input."""
    return make_input(name, TensorType(dtype, shape), facts)


x, y, z, w = (tensor(name, 3) for name in "xyzw")
s = tensor("s")
t = tensor("t", 2, 3)
p, q = tensor("p", 3, facts=("positive",)), tensor("q", 3, facts=("positive",))
n = tensor("n", 3, facts=("nonnegative",))
u = tensor("u", 3, facts=("nonzero",))
i, j = tensor("i", 3, dtype="int64"), tensor("j", 3, dtype="int64")
b, c = tensor("b", 3, dtype="bool"), tensor("c", 3, dtype="bool")
A, B, C = (tensor(name, 3, 3) for name in "ABC")


@dataclass(frozen=True)
class Row:
    """A relation in the direction that is shipped, what it makes of a graph, and a near miss."""

    relation: Any
    left: Variable
    right: Variable
    miss: Variable

    def __str__(self) -> str:
        return f"{self.relation.name}: {self.left}"


def rewritten(relation: Any, graph: Variable) -> Variable:
    """Return the normal form of a graph under one relation."""
    return normalise([graph], selection_of((relation,)))[0]


def check(row: Row) -> None:
    """Assert structure in both directions, type, numbers, and that the near miss stays."""
    result = rewritten(row.relation, row.left)
    assert canonical(result) == canonical(row.right), f"{row.left} became {result}"
    assert result.type.narrows(row.left.type)
    assert rewritten(row.relation, row.miss) is row.miss
    if len(row.relation.clauses) == 1:
        with contextlib.suppress(RelgraphError):
            back = row.relation.reversed
            again = normalise([row.right], selection_of((back,)), once=True)[0]
            assert again.type.narrows(row.right.type) or row.right.type.narrows(again.type)
            assert_equal_values(again, row.right)
    assert_equal_values(row.left, result)


def assert_equal_values(
    first: Variable,
    second: Variable,
    integers: tuple[int, int] = (1, 9),
    rtol: float = 1e-9,
    atol: float = 1e-12,
) -> None:
    """Assert that two graphs compute the same numbers at a point where all of them exist.

    Sizes that are not known are 4.  Integers are from the first of ``integers`` up to the second,
    which is left out: indices are drawn from 0, what may divide is not.
    """
    from relgraph.ir.graph import toposort

    rng = np.random.default_rng(3)
    values = {}
    for node in toposort([first, second]):
        if isinstance(node, Input):
            shape = [4 if size is None else size for size in node.type.shape]
            drawn = rng.uniform(0.2, 0.9, shape)
            if node.dtype.kind == "b":
                drawn = drawn > 0.5
            elif node.dtype.kind in "iu":
                drawn = rng.integers(*integers, shape)
            elif len(shape) == 2 and shape[0] == shape[1]:
                drawn = structured(node.facts, drawn + 3 * np.eye(shape[0]))
            values[node.name] = drawn.astype(node.dtype)
    done = evaluate((first, second), values)
    assert np.shape(done[first]) == np.shape(done[second])
    np.testing.assert_allclose(done[first], done[second], rtol=rtol, atol=atol)


def structured(facts: frozenset[str], matrix: Any) -> Any:
    """Return a matrix with the structure that facts promise."""
    if "diagonal" in facts:
        return np.diag(np.diagonal(matrix) + np.arange(len(matrix)))
    if "identity" in facts:
        return np.eye(len(matrix))
    if {"symmetric", "spd", "psd"} & facts:
        return matrix + matrix.T
    if "orthogonal" in facts:
        return np.linalg.qr(matrix)[0]
    if {"permutation", "selection"} & facts:
        return np.roll(np.eye(len(matrix)), 1, 0)
    if "lower_triangular" in facts:
        return np.tril(matrix)
    return np.triu(matrix) if "upper_triangular" in facts else matrix


def covers_theme(rows: list[Row], relations: tuple[Any, ...]) -> set[str]:
    """Return the names of the relations of a theme that no row shows."""
    return {r.name for r in relations} - {row.relation.name for row in rows}
