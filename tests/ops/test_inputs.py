"""Inputs of graphs, and facts that are taken as true of them."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError
from relgraph.ir.fact_inference import facts_of
from relgraph.ir.types import TensorType
from relgraph.ops import elementwise, inputs
from tests.ops.evaluation import evaluate, typed

X = np.random.default_rng(0).random((3, 3)) + 0.5


def test_inputs():
    assert inputs.tensor("x", (None, 3, "k"), "float32").type is TensorType(
        "float32", (None, 3, "k")
    )
    assert inputs.scalar("s").type is TensorType("float64")
    assert inputs.vector("v").type is TensorType("float64", (None,))
    assert inputs.vector("v", shape="n") is inputs.vector("v", shape=("n",))
    assert inputs.vector("v", 3).type.shape == (3,)
    assert inputs.matrix("A", shape=("n", 2)).type.shape == ("n", 2)
    assert inputs.matrix("A").type.shape == (None, None)
    a, b = inputs.matrices("A B", shape=("n", "n"), dtype="float32")
    assert (a.name, b.name) == ("A", "B") and a.type is b.type
    assert [x.name for x in inputs.vectors("a, b c")] == ["a", "b", "c"]
    with pytest.raises(ArgumentError, match=r"take their names, not 3"):
        inputs.vectors(3)
    assert [x.name for x in inputs.scalars(["p", "q"], "int8")] == ["p", "q"]
    assert facts_of(inputs.matrix("S", ("n", "n"), facts=("spd",))).holds("symmetric")
    with pytest.raises(ArgumentError, match="a matrix has 2 dimensions"):
        inputs.matrix("A", shape=(3,))
    with pytest.raises(DomainError):
        inputs.scalar("not a name")


def test_assume():
    x = typed("x", X)
    node = inputs.assume(x, "positive", "finite")
    assert node is inputs.assume(x, "finite", "positive") and node is not x
    assert node.op is inputs.Assume(("finite", "positive"))
    assert facts_of(node).holds("positive") and facts_of(node).holds("not_nan")
    assert facts_of(elementwise.log(node)).holds("finite")
    assert node.type is x.type and node.op.flops((x.type,), x.type) == 0
    np.testing.assert_array_equal(evaluate(node, {"x": X}), X)
    with pytest.raises(DomainError, match="Did you mean 'positive'"):
        inputs.assume(x, "positiv")


def test_assuming_facts_of_an_array_returns_the_array():
    value = np.array([1.0, 2.0])
    assert rg.assume(value, "positive") is value
    assert rg.assume(value[0], "positive") == 1.0
    with pytest.raises(DomainError):
        rg.assume(value, "positiv")
    with pytest.raises(DomainError):
        rg.assume(value, "positive", "negative")

    def root(x):
        return np.sqrt(rg.assume(x, "positive") ** 2)

    assert rg.jit(root, target="numpy")(value).tolist() == root(value).tolist() == [1.0, 2.0]
