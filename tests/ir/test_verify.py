"""Verification: a node that breaks an invariant is found."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import RelgraphError, VerifyError
from relgraph.ir.graph import toposort
from relgraph.ir.node import Apply, Constant, Variable
from relgraph.ir.types import TensorType

x, y = rg.vectors("x y", shape=("n",))


def forged(cls, **fields):
    """Return a node that went round the table of nodes."""
    node = object.__new__(cls)
    for name, value in {"op": None, "inputs": (), "_digest": 0, "_facts": None, **fields}.items():
        object.__setattr__(node, name, value)
    return node


def test_whole_graphs_pass():
    p = rg.vector("p", facts="positive")
    graphs = [x, rg.constant(1.0), rg.exp(x) @ y + 2, rg.sum(p), rg.assume(x + y, "positive")]
    A = rg.matrix("A", shape=("n", "n"))
    graphs += list(rg.slogdet(A))
    rg.verify(graphs)
    assert all(node.type is not None for node in toposort(graphs))


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (lambda: forged(Apply, op=rg.exp, inputs=(x,), type=x.type), "not interned"),
        (lambda: forged(Apply, op=rg.exp, inputs=(x,), type=TensorType("float32")), "op infers"),
        (lambda: forged(Apply, op=rg.exp, inputs=(x, y), type=x.type), "has 2 operands"),
        (
            lambda: forged(Apply, op=rg.add, inputs=(x, rg.vector("m", shape=("m",))), type=x.type),
            "rejects",
        ),
        (
            lambda: forged(Constant, value=np.ones(3), type=TensorType("float64", (3,))),
            "writeable",
        ),
        (lambda: forged(Variable, type=x.type), "neither"),
    ],
    ids=["copy", "type", "arity", "operands", "writeable", "kind"],
)
def test_a_broken_node_is_found(node, text):
    broken = node()
    if isinstance(broken, Constant):
        object.__setattr__(broken, "uniform", None)
    with pytest.raises(VerifyError, match=text):
        rg.verify(broken)
    with pytest.raises(RelgraphError):
        rg.verify([x + y, broken])


def test_a_constant_with_the_type_of_another_is_found():
    frozen = np.ones(3)
    frozen.flags.writeable = False
    broken = forged(Constant, value=frozen, type=TensorType("float64", (4,)), uniform=None)
    with pytest.raises(VerifyError, match="not its array's"):
        rg.verify(broken)
