"""Parameters in patterns: one form for a raveled shape, one variable for an axis, filled arrays."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import PatternError

STATIC = rg.matrix("S", shape=(4, 5))
NAMED = rg.matrix("N", shape=("n", 6))
UNKNOWN = rg.matrix("U")
CUBE = rg.tensor("C", (2, 3, 5))
SCALAR = rg.tensor("s", ())
RAVELS = [rg.ravel, np.ravel, lambda x: x.reshape(-1), lambda x: rg.reshape(x, (-1,))]


def fires(graph, relation):
    return rg.rewrite_graph(graph, relation) is not graph


@pytest.mark.parametrize("ravel", RAVELS)
@pytest.mark.parametrize("x", [STATIC, NAMED, UNKNOWN, CUBE, SCALAR], ids=str)
def test_a_raveled_pattern_matches_every_way_to_ravel(ravel, x):
    relation = rg.identity(lambda a: (ravel(rg.exp(a)), rg.exp(ravel(a))), name="ravelo")
    for other in RAVELS:
        assert rg.rewrite_graph(other(rg.exp(x)), relation) is rg.exp(rg.ravel(x))
        assert relation.run(1, other(rg.exp(x))) == (rg.exp(rg.ravel(x)),)
        assert rg.rewrite_graph(rg.exp(other(x)), relation.reversed) is rg.ravel(rg.exp(x))
    assert not fires(rg.reshape(rg.exp(STATIC), (2, 10)), relation)


def test_one_axis_of_all_elements_is_one_node():
    assert rg.reshape(STATIC, 20) is rg.ravel(STATIC)
    assert rg.reshape(rg.tensor("M", (2, 10)), 20).op is rg.ravel(STATIC).op
    assert rg.ravel(STATIC).type.shape == (20,)
    assert rg.reshape(UNKNOWN, 20).type.shape == (20,)  # checked at the call
    by_columns = rg.evaluate(rg.ravel(STATIC, order="F"), {STATIC: np.arange(20.0).reshape(4, 5)})
    np.testing.assert_array_equal(by_columns, np.arange(20.0).reshape(4, 5).ravel("F"))
    empty = rg.tensor("E", (0, 5))
    assert rg.evaluate(rg.ravel(empty), {empty: np.ones((0, 5))}).shape == (0,)


def test_reshapes_in_a_chain_become_one_that_keeps_its_static_size():
    merged = rg.rewrite_graph(rg.ravel(rg.reshape(UNKNOWN, (4, 5))))
    assert merged is rg.reshape(UNKNOWN, 20)
    assert rg.rewrite_graph(rg.ravel(rg.reshape(STATIC, (2, 10)))) is rg.ravel(STATIC)
    squeezed = rg.squeeze(rg.reshape(CUBE, (30, 1)), -1)
    assert rg.rewrite_graph(squeezed) is rg.ravel(CUBE)


@rg.identity(specials="assumes_finite", broadcast="*")
def softmaxo(x, a):
    return rg.softmax(x, axis=a), rg.exp(x) / rg.sum(rg.exp(x), axis=a, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_one_variable_is_the_axis_of_a_softmax_and_of_a_sum(axis):
    graph = rg.softmax(STATIC, axis=axis)
    written = rg.rewrite_graph(graph, softmaxo)
    values = np.random.default_rng(0).normal(size=(4, 5))
    expected = np.exp(values) / np.exp(values).sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(rg.evaluate(written, {STATIC: values}), expected, rtol=1e-14)
    assert softmaxo.run(None, graph) == (written,)
    for axes in (axis, (axis,)):
        e = rg.exp(STATIC)
        quotient = e / rg.sum(e, axis=axes, keepdims=True)
        assert rg.rewrite_graph(quotient, softmaxo.reversed) is graph
        assert softmaxo.run(None, None, quotient) == (graph,)


def test_several_axes_and_none_are_not_the_axis_of_a_softmax():
    for axes in (None, (0, 1)):
        graph = rg.exp(STATIC) / rg.sum(rg.exp(STATIC), axis=axes, keepdims=True)
        assert not fires(graph, softmaxo.reversed)
        assert softmaxo.run(None, None, graph) == ()


@pytest.mark.parametrize("axis, matches", [(0, True), ((-2,), True), (None, True), ((0, 1), False)])
def test_no_axis_is_an_axis_where_both_ops_take_it(axis, matches):
    relation = rg.identity(
        lambda x, a: (
            rg.max(x, axis=a) + rg.argmax(x, axis=a),
            rg.argmax(x, axis=a) + rg.exp(rg.max(x, axis=a)),
        ),
        name="placeo",
    )
    one = axis[0] if isinstance(axis, tuple) else axis
    graph = rg.max(STATIC, axis=axis) + rg.argmax(STATIC, axis=one)
    assert fires(graph, relation) == matches
    assert bool(relation.run(1, graph)) == matches


def test_an_axis_of_expand_dims_is_that_of_argmax():
    relation = rg.identity(
        lambda x, a: (rg.expand_dims(rg.argmax(x, axis=a), a), rg.argmax(x, axis=a, keepdims=True)),
        name="keepo",
    )
    graph, kept = rg.expand_dims(rg.argmax(CUBE, axis=1), 1), rg.argmax(CUBE, 1, keepdims=True)
    assert rg.rewrite_graph(graph, relation) is kept
    assert rg.rewrite_graph(kept, relation.reversed) is graph
    assert not fires(rg.expand_dims(rg.argmax(CUBE, axis=1), 0), relation)
    assert str(rg.check(relation)).startswith("nothing contradicts")


@pytest.mark.parametrize(
    "like, number", [(rg.zeros_like, 0), (rg.ones_like, 1), (np.zeros_like, 0)]
)
def test_a_filled_array_like_a_pattern_has_the_type_of_what_it_replaces(like, number):
    relation = rg.identity(lambda x: (x - x + number, like(x)), name="filledo")
    for x in (STATIC, NAMED, UNKNOWN, rg.tensor("I", (3,), dtype="int32")):
        result = rg.rewrite_graph(x - x + number, relation)
        assert result.type is x.type
        values = np.ones([size if isinstance(size, int) else 6 for size in x.shape], x.dtype)
        filled = rg.function([x], result)(values)
        np.testing.assert_array_equal(filled, np.full_like(values, number))


def test_a_filled_array_like_a_pattern_is_matched_as_a_number():
    relation = rg.identity(
        lambda c, x: (rg.where(c, x, rg.full_like(x, 2.5)), rg.where(c, rg.exp(x), 7)),
        name="chooseo",
    )
    assert fires(rg.where(STATIC > 0, STATIC, 2.5), relation)
    assert not fires(rg.where(STATIC > 0, STATIC, 3.5), relation)


def test_a_filled_array_like_a_pattern_takes_no_dtype_or_pattern():
    x, y = rg.lvars("x y")
    for wrong in (
        lambda: rg.zeros_like(x, dtype="int64"),
        lambda: rg.ones_like(x, shape=(3,)),
        lambda: rg.full_like(x, y),
    ):
        with pytest.raises(PatternError, match="full_like of a pattern takes a number"):
            wrong()
