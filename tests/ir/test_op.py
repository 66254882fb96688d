"""Ops: interned, immutable, callable, and open to new ones."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DTypeError, NotOverriddenError, ShapeError
from relgraph.ir.op import GetItem, Op
from relgraph.ir.types import TensorType, TupleType
from relgraph.ops.elementwise import Cast
from relgraph.ops.reductions import Sum

x, y = rg.vectors("x y", shape=("n",))


class Scaled(Op):
    """``factor * x``, as a user would write it."""

    __slots__ = ()
    name = "scaled"
    parameters = ("factor",)
    arity = 1
    pointwise = True

    def infer(self, *types):
        (operand,) = types
        if operand.dtype.kind != "f":
            raise DTypeError("scaled takes floats", fix="Cast it first.")
        return operand

    def perform(self, *values):
        return values[0] * values[0].dtype.type(self.factor)


def test_equal_ops_are_one_object():
    assert Scaled(2) is Scaled(factor=2)
    assert Sum((-1,), False) is Sum(axis=-1, keepdims=False)
    for op in (Scaled(2), rg.add, Sum(None, True), Cast("int8")):
        for again in (copy.copy(op), copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
            assert again is op


def test_parameters_are_told_apart_by_type():
    assert len({Scaled(1), Scaled(1.0), Scaled(True), Scaled((1,)), Scaled((1.0,))}) == 5
    assert Scaled(1)(x) is not Scaled(1.0)(x)


def test_parameters_are_attributes():
    assert Scaled(2.5).factor == 2.5
    assert Scaled(2.5).params == (2.5,)
    with pytest.raises(AttributeError, match="no attribute 'power'"):
        Scaled(2.5).power
    assert repr(Scaled(2.5)) == "scaled{factor=2.5}"
    assert repr(rg.add) == "add"


@pytest.mark.parametrize("make", [Scaled, lambda: Scaled(1, 2), lambda: Scaled(power=1),
                                  lambda: Scaled(1, factor=2)])  # fmt: skip
def test_bad_parameters(make):
    with pytest.raises(ArgumentError, match="Scaled"):
        make()


def test_an_own_op_computes():
    graph = Scaled(2)(x) + 1
    assert graph is Scaled(2)(x) + 1
    assert repr(graph) == "scaled(x, factor=2) + 1"
    rg.verify(graph)
    a = np.arange(3.0)
    np.testing.assert_array_equal(rg.evaluate(graph, {x: a}), a * 2 + 1)


def test_an_own_op_takes_part_in_relations():
    @rg.identity
    def merge_scaledo(x):
        """Twice twice is four times."""
        return Scaled(2)(Scaled(2)(x)), Scaled(4)(x)

    assert rg.rewrite_graph(Scaled(2)(Scaled(2)(x + y)), merge_scaledo) is Scaled(4)(x + y)
    assert rg.rewrite_graph(Scaled(2)(Scaled(3)(x)), merge_scaledo) is Scaled(2)(Scaled(3)(x))


def test_errors_name_the_op_and_its_operands():
    with pytest.raises(DTypeError, match=r"scaled\{factor=2\}: scaled takes floats") as caught:
        Scaled(2)(rg.vector("k", dtype="int64"))
    assert "k : int64[?]" in str(caught.value)
    with pytest.raises(ShapeError, match="operand 0"):
        rg.vector("u", shape=(2,)) + rg.vector("v", shape=(3,))
    with pytest.raises(ArgumentError, match="takes 1 operand, not 2"):
        Scaled(2)(x, y)


def test_operands_are_coerced():
    assert Scaled(2)(3.0).inputs == (rg.constant(3.0),)
    assert Scaled(2)(np.ones(2)).inputs == (rg.constant(np.ones(2)),)
    assert Scaled(2)([1.0, 2.0]).inputs == (rg.constant([1.0, 2.0]),)


def test_results_are_picked_from_a_tuple():
    A = rg.matrix("A", shape=("n", "n"))
    sign, value = rg.slogdet(A)
    (pair,) = sign.inputs
    assert isinstance(pair.type, TupleType)
    assert sign is GetItem(0)(pair)
    assert value is GetItem(1)(pair)
    assert value.type is TensorType("float64")
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    expected = np.linalg.slogdet(a)
    np.testing.assert_allclose(rg.evaluate([sign, value], {A: a}), list(expected))


def test_the_base_class_says_nothing():
    class Bare(Op):
        __slots__ = ()
        name = "bare"

    with pytest.raises(NotImplementedError, match=r"Bare does not say what type .*\n.*infer\("):
        Bare()(x)
    with pytest.raises(NotOverriddenError, match=r"Bare does not say what it computes"):
        Bare().perform(np.ones(2))
    assert Bare().flops((x.type,), TensorType("float64", (3, 4))) == 12
    assert Bare().infix(["x"]) is None
    assert not Bare().facts((), x).names()
