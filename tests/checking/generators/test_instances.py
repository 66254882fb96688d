"""What fires is tried: axes of one number, sums of three terms, parameters of every op."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil

import numpy as np
import pytest

import relgraph as rg
import relgraph.ops
from relgraph.checking.generators.instances import build
from relgraph.checking.generators.shapes import choices_of
from relgraph.errors import PatternError, RelationError, RelgraphError
from relgraph.ir.op import Op
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import SetIndex
from relgraph.relations.clause import Clause
from relgraph.relations.pattern import OpPattern, lvars

x = rg.vector("x", shape=(3,))
M = rg.matrix("M", shape=(2, 3))

TRUE = {
    "sorted twice": lambda x, a: (rg.sort(rg.sort(x, axis=a), axis=a), rg.sort(x, axis=a)),
    "a sum of three": lambda x, y, z: (x + y + rg.exp(z) * 0.5, rg.exp(z) / 2 + (x + y)),
    "a product with two numbers": lambda x: ((x * 0.5) * 2, x),
}


@pytest.mark.parametrize("case", TRUE)
def test_what_fires_is_compared(case):
    report = rg.check(rg.identity(TRUE[case], name="firingo", specials="assumes_finite"))
    assert report, str(report)
    assert report.tried > 10


def test_places_of_sorted_elements_are_compared():
    @rg.identity
    def places_of_sortedo(x, a):
        """argsort(sort(x)) = argsort(x), wrong."""
        return rg.argsort(rg.sort(x, axis=a), axis=a), rg.argsort(x, axis=a)

    found = rg.check(places_of_sortedo).counterexample
    (value,) = found.values.values()
    axis = found.graph.op.params[0]
    assert (np.argsort(np.sort(value, axis), axis) != np.argsort(value, axis)).any()


def ops_with_parameters():
    for module in pkgutil.walk_packages(relgraph.ops.__path__, "relgraph.ops."):
        importlib.import_module(module.name)
    found, waiting = {}, [Op]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__module__ == "relgraph.ops.loops":  # graphs are not parameters of a pattern
            continue
        if cls.parameters and cls.__module__.startswith("relgraph.ops.") and cls.name != "op":
            found[cls.__name__] = cls
    return found


OPS = ops_with_parameters()


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_parameter_of_every_op_has_values_that_it_takes(name):
    cls = OPS[name]
    names = lvars(" ".join(cls.parameters))
    pattern = OpPattern(cls, names)(*lvars("x y"))
    by_name = choices_of(Clause(pattern, 0), pattern)
    assert set(by_name) == set(names)
    choices = [by_name[v] for v in names]
    assert all(choices)
    taken = []
    for value in choices[0]:
        with contextlib.suppress(RelgraphError):  # shared with ops that take others
            taken.append(cls(value, *[c[0] for c in choices[1:]]).params[0])
    assert set(taken) & set(choices[0])
    assert len(taken) == len(choices[0]) or "axis" not in cls.parameters


def test_the_place_of_an_extreme_is_rewritten_through_floats():
    @rg.identity
    def smallesto(x):
        """argmin(x) = argmax(-x)."""
        return rg.argmin(x), rg.argmax(-x)

    made_of = rg.rewrite_graph(rg.argmin(M, axis=0), rg.identity(
        lambda x, a: (rg.argmin(x, axis=a), rg.argmax(-x, axis=a)), name="smallest_of_axiso"
    ))  # fmt: skip
    assert str(made_of) == "argmax(-M, axis=-2)"
    assert rg.rewrite_graph(rg.argmin(x), smallesto) is rg.argmax(-x)
    assert rg.rewrite_graph(rg.argmax(-x), smallesto.reversed) is rg.argmin(x)
    found = rg.check(smallesto).counterexample  # of the least integer, whose negative it is
    (value,) = found.values.values()
    assert value.dtype.kind in "iu"
    assert np.argmin(value) != np.argmax(-value)
    floats = rg.identity(smallesto_of_floats, name="smallest_floato", where=rg.floato)
    report = rg.check(floats)
    assert report, str(report)


def smallesto_of_floats(x):
    return rg.argmin(x), rg.argmax(-x)


def test_an_intermediate_of_a_wider_dtype_still_holds_a_place_back():
    graph = rg.argmin(rg.vector("i", dtype="int32"))
    wide = rg.identity(lambda x: (rg.argmin(x), rg.argmax(-0.5 * x)), name="wideo")
    assert rg.rewrite_graph(graph, wide) is graph


def test_a_parameter_that_no_op_takes_is_an_error_of_the_relation():
    wrong = rg.identity(
        lambda x, a, b: (rg.sum(x, axis=a), rg.sum(rg.exp(x), axis=b)),
        name="miscomputedo",
        where=lambda a, b: rg.calco(b, lambda a: "last", a),
    )
    for use in (lambda: rg.rewrite_graph(rg.sum(x), wrong), lambda: rg.check(wrong)):
        with pytest.raises(RelationError, match="miscomputedo computes a parameter") as caught:
            use()
        assert "axis     : last" in str(caught.value)
        assert "b == " in str(caught.value)


def test_a_computed_parameter_that_one_operand_does_not_take_is_no_error():
    last_but_two = rg.identity(
        lambda x, a, b: (rg.sum(rg.exp(x), axis=a), rg.prod(x, axis=b)),
        name="last_but_twoo",
        where=lambda a, b: rg.calco(b, lambda a: (-3,), a),
    )
    graph = rg.sum(rg.exp(M), axis=0)
    assert rg.rewrite_graph(graph, last_but_two) is graph


def test_one_variable_is_the_axis_of_a_sum_and_of_a_softmax():
    largest = rg.identity(
        lambda x, a: (
            rg.max(rg.softmax(x, axis=a), axis=a),
            rg.exp(rg.max(rg.log_softmax(x, axis=a), axis=a)),
        ),
        name="largesto",
    )
    graph = rg.max(rg.softmax(M, axis=1), axis=1)
    found = rg.rewrite_graph(graph, largest)
    assert str(found) == "exp(max(log_softmax(M, axis=-1), axis=(-1,)))"
    value = np.array([[1.0, 2.0, 4.0], [0.5, -1.0, 0.0]])
    softmax = np.exp(value) / np.exp(value).sum(-1, keepdims=True)
    np.testing.assert_allclose(rg.function([M], found, target="numpy")(value), softmax.max(-1))
    crossed = rg.max(rg.softmax(M, axis=0), axis=1)
    assert rg.rewrite_graph(crossed, largest) is crossed
    report = rg.check(largest)
    assert report, str(report)


def test_keys_of_patterns_are_written_as_the_error_says():
    for sides in (lambda x: (x[0], x), lambda x: (x.at[0].set(1), x), lambda x: (np.flip(x), x)):
        with pytest.raises(PatternError) as caught:
            rg.identity(sides)
        last = str(caught.value).splitlines()[-1]
        assert 'Index((("int", 0),))(x) for x[0]' in last
    first = rg.identity(
        lambda x, v: (Index((("int", 0),))(SetIndex((("int", 0),))(x, v)), v), name="first_seto"
    )
    v = rg.scalar("v")
    assert rg.rewrite_graph(x.at[0].set(v)[0], first) is v
    report = rg.check(first)
    assert report, str(report)
    any_key = rg.identity(
        lambda x, s: (Index(s)(rg.exp(x)), rg.exp(Index(s)(x))), name="index_expo", rounding="exact"
    )
    assert rg.rewrite_graph(rg.exp(M)[:, ::-1], any_key) is rg.exp(M[:, ::-1])
    report = rg.check(any_key)
    assert report, str(report)
    assert report.tried > 100


def test_what_an_op_refuses_of_one_number_it_may_take_of_an_equal_one():
    def refused(number):
        sides = lambda x: (rg.left_shift(x, number), rg.left_shift(x, number) + 0)  # noqa: E731
        return rg.check(rg.identity(sides, name="refusedo"))

    def doubled():
        sides = lambda x: (rg.left_shift(x, 1), x + x)  # noqa: E731
        return rg.check(rg.identity(sides, name="shifto", rounding="exact"))

    assert np.left_shift(3, 1) == 3 + 3
    with pytest.raises(TypeError, match="not supported"):
        np.left_shift(3, 1.0)
    alone = doubled()
    assert alone, str(alone)
    assert alone.tried > 100
    assert not refused(1.0).tried
    after = doubled()
    assert after, str(after)
    assert after.tried == alone.tried
    assert not refused(1.0).tried


def test_what_is_refused_is_asked_once_for_each_kind_of_operand():
    asked = []

    class Picky(rg.Op):
        name = "picky"
        arity = 1

        def infer(self, x):
            asked.append(x)
            raise rg.errors.DomainError("picky takes nothing")

    (v,) = lvars("v")
    term = Picky()(v)
    refused = set()
    for value in (1, 1, 1.0, 1.0, True, x, rg.vector("y", shape=(3,)), M):
        with pytest.raises((RelgraphError, TypeError)):
            build(term, {v: value}, refused)
    assert len(refused) == len(asked) == 5


def test_a_mistake_in_a_condition_is_told_with_the_relation():
    @rg.identity(where=lambda a: rg.checko(lambda n: 1 / 0, a))
    def mistakeno(a):
        return rg.exp(a) + 0, rg.exp(a)

    with pytest.raises(RelationError, match="mistakeno: a side condition failed"):
        rg.check(mistakeno)
