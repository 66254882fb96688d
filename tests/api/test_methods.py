"""Methods that are traced, against the same methods run by NumPy."""

import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError

X = np.array([0.5, -1.0, 2.0])


class Model:
    def __init__(self, slope):
        self.slope = slope
        self.weights = np.array([1.0, 2.0, 3.0])
        self.parts = [np.ones(3), {"shift": 4}]
        self.name = "model"

    @rg.jit(target="numpy")
    def predict(self, x, power=2):
        """Predict."""
        return self.slope * x**power + self.weights + self.shifted(x)

    @rg.jit(target="numpy")
    def shifted(self, x):
        return self.parts[0] * x + self.parts[1]["shift"]

    @rg.jit(target="numpy")
    def learn(self, x):
        self.weights += x
        return x

    @staticmethod
    @rg.jit(target="numpy")
    def twice(x):
        return 2 * x

    def expected(self, x, power=2):
        return self.slope * x**power + self.weights + (self.parts[0] * x + self.parts[1]["shift"])


class Child(Model):
    pass


class Pair(NamedTuple):
    a: Any
    b: Any

    @rg.jit(target="numpy")
    def total(self, x):
        return self.a * x + self.b


@dataclass(frozen=True)
class Line:
    slope: Any

    @rg.jit(target="numpy")
    def at(self, x):
        return self.slope * x


class Slotted:
    __slots__ = ("slope",)

    @rg.jit(target="numpy")
    def at(self, x):
        return self.slope * x


@pytest.mark.parametrize("kind", [Model, Child])
def test_attributes_are_read_at_each_call(kind):
    model = kind(3)
    np.testing.assert_allclose(model.predict(X), model.expected(X), rtol=1e-15)
    np.testing.assert_allclose(model.predict(X, power=3), model.expected(X, 3), rtol=1e-15)
    model.slope, model.weights = -7, np.array([0.0, 1.0, 0.0])
    model.parts[1]["shift"] = 9
    np.testing.assert_allclose(model.predict(X), model.expected(X), rtol=1e-15)
    other = kind(2.5)
    np.testing.assert_allclose(other.predict(X), other.expected(X), rtol=1e-15)
    np.testing.assert_array_equal(kind.twice(X), 2 * X)
    np.testing.assert_array_equal(model.twice(X), 2 * X)


def test_one_program_serves_equal_types():
    first, second = Model(3), Model(4)
    first.shifted(X), second.shifted(X)
    assert "1 signature compiled" in repr(second.shifted)
    assert first.predict.__doc__ == "Predict." and first.predict.__name__ == "predict"
    names = {x.name for x in first.shifted.graph(X).inputs}
    assert names == {"self_weights", "self_parts_0", "self_parts_1_shift", "x"}


def test_named_tuples_and_frozen_dataclasses():
    np.testing.assert_array_equal(Pair(X, 1.0).total(2.0), X * 2.0 + 1.0)
    np.testing.assert_array_equal(Line(X).at(3), X * 3)


def test_methods_pickle_by_reference():
    assert pickle.loads(pickle.dumps(Model.shifted)) is Model.shifted


def test_a_method_may_change_the_arrays_of_its_object():
    model = Model(3)
    weights = model.weights
    for count in (1, 2):
        model.learn(X)
        np.testing.assert_array_equal(weights, np.array([1.0, 2.0, 3.0]) + count * X)
    assert model.weights is weights


def test_what_cannot_be_traced_is_told():
    model = Model(3)
    model.log = object()
    with pytest.raises(ArgumentError, match=r"'log' is an object(.|\n)*compile that with rg\.jit"):
        model.shifted(X)
    with pytest.raises(ArgumentError, match=r"argument 1 is an object"):
        Line(X).at(object())
    with pytest.raises(ArgumentError, match="belongs to a Slotted"):
        Slotted().at(X)
