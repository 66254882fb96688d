"""Relations keep values where operands of several dtypes meet: nothing wraps or rounds earlier."""

from __future__ import annotations

import numpy as np
import pytest

from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable, make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions
from relgraph.ops import elementwise as ew
from relgraph.relations.decorators import identity
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import selection_of


@identity
def absorbo(x, y):
    """x - (-y) = x + y."""
    return x - (-y), x + y


@identity
def gathero(x, y, z):
    """x y + x z = x (y + z)."""
    return x * y + x * z, x * (y + z)


@identity
def sum_negativeo(x):
    """sum(-x) = -sum(x)."""
    return reductions.sum(-x), -reductions.sum(x)


@identity
def rooto(x):
    """x ** 0.5 = sqrt(x)."""
    return x**0.5, ew.sqrt(x)


@identity
def inverseo(x):
    """x ** -1 = reciprocal(x)."""
    return x**-1.0, ew.reciprocal(x)


def column(name: str, dtype: str) -> Variable:
    return make_input(name, TensorType(dtype, (4,)))


def value(graph: Variable) -> np.ndarray:
    """Compute a graph op by op on the extreme values of each input's dtype."""
    found: dict[Variable, np.ndarray] = {}
    for x in toposort(graph):
        if isinstance(x, Constant):
            found[x] = x.value
        elif x.op is None and x.dtype.kind == "f":
            found[x] = np.array([1.5, 2.0**-20, 3.0, 1e7], x.dtype)
        elif x.op is None and x.dtype.kind == "b":
            found[x] = np.array([True, False, True, True])
        elif x.op is None:
            info = np.iinfo(x.dtype)
            found[x] = np.array([info.max, info.min, 100, 1], x.dtype)
        else:
            with np.errstate(all="ignore"):
                found[x] = x.op.perform(*[found[y] for y in x.inputs])
    return found[graph]


x8, y8, z8 = (column(n, "int8") for n in "xyz")
x64, r64 = column("x", "int64"), column("r", "int64")
b1, b2 = column("b", "bool"), column("c", "bool")
x32, y32, z32 = (column(n, "float32") for n in "xyz")
d64 = column("d", "float64")

KEPT = [
    (absorbo, x64 - (-column("y", "uint8"))),
    (absorbo, x64 - (-y8)),
    (gathero, x64 * y8 + x64 * z8),
    (gathero, x64 * b1 + x64 * b2),
    (gathero, r64 + x8 * y8 + x8 * z8),
    (gathero, d64 + x32 * y32 + x32 * z32),
    (gathero, d64 * y32 + d64 * z32),
    (sum_negativeo, reductions.sum(-x8)),
    (rooto, x8**0.5),
    (inverseo, x64**-1.0),
]


@pytest.mark.parametrize(("relation", "graph"), KEPT, ids=[f"{r.name}-{g}" for r, g in KEPT])
def test_a_relation_stays_away_where_another_dtype_would_show(relation, graph):
    (result,) = normalise([graph], selection_of((relation,)))
    assert result is graph


FIRED = [
    (absorbo, x8 - (-y8)),
    (absorbo, d64 - (-y32)),
    (gathero, x8 * y8 + x8 * z8),
    (gathero, r64 + x64 * r64 + x64 * x64),
    (sum_negativeo, reductions.sum(-x64)),
    (rooto, x64**0.5),
]


@pytest.mark.parametrize(("relation", "graph"), FIRED, ids=[f"{r.name}-{g}" for r, g in FIRED])
def test_a_relation_fires_where_every_dtype_fits(relation, graph):
    (result,) = normalise([graph], selection_of((relation,)))
    assert result is not graph
    assert result.type.narrows(graph.type)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(value(result), value(graph), rtol=1e-14)


def test_a_normal_form_of_a_narrow_operand_is_not_taken_apart():
    graph = r64 + (x8 - (-y8))
    (result,) = normalise([graph], selection_of((absorbo, gathero)))
    assert result is r64 + (x8 + y8)
