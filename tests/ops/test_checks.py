"""Declared sizes, assertions and distinct elements, on both backends."""

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import ArgumentError, DomainError, PatternError, ShapeError

x = rg.vector("x")
both = pytest.mark.parametrize("target", ["numpy", "cpu"])


@both
def test_a_declared_size_is_compared_at_the_call(target):
    f = rg.function([x], rg.specify_shape(rg.exp(x), (3,)) + 1, target=target)
    np.testing.assert_allclose(f(np.zeros(3)), np.full(3, 2.0))
    with pytest.raises(ShapeError, match="specify_shape"):
        f(np.zeros(2))


def test_declared_sizes_are_part_of_the_type():
    assert rg.specify_shape(rg.matrix("A"), (2, None)).type.shape == (2, None)
    assert rg.specify_shape(x, (None,)) is x
    with pytest.raises(ShapeError, match="rank"):
        rg.specify_shape(x, (1, 2))
    with pytest.raises(ShapeError, match="is 3, not 4"):
        rg.specify_shape(rg.vector("v", shape=(3,)), (4,))
    with pytest.raises(ArgumentError, match="int or None"):
        rg.specify_shape(x, ("n",))


@both
def test_an_assertion_is_checked_at_the_call(target):
    f = rg.function([x], rg.assert_(x, x > 0, "x must be positive") * 2, target=target)
    np.testing.assert_array_equal(f(np.array([1.0, 2.0])), [2.0, 4.0])
    with pytest.raises(DomainError, match="x must be positive"):
        f(np.array([1.0, -2.0]))
    told = rg.assert_(x, x > 0, "x must be positive", "Pass abs(x).")
    with pytest.raises(DomainError, match=r"x must be positive\nPass abs\(x\)\.$"):
        rg.function([x], told, target=target)(np.array([-2.0]))
    unsafe = rg.function([x], rg.assert_(x, x > 0) * 2, mode="unsafe", target=target)
    np.testing.assert_array_equal(unsafe(np.array([1.0, -2.0])), [2.0, -4.0])


@both
@pytest.mark.parametrize(("build", "value", "wrong", "fix"), [
    (np.gradient, np.ones(1), ShapeError, "Pass more points, or name the other axes"),
    (lambda v: np.quantile(v, 0.5), np.ones(0), ShapeError, "Reduce axes with elements"),
    (lambda v: np.linalg.matrix_power(rg.outer(v, v[1:]), 1), np.ones(3), ShapeError,
     "Pass matrices with as many rows as columns."),
    (np.nanargmax, np.full(2, np.nan), DomainError, "Leave these slices out"),
])  # fmt: skip
def test_checks_at_the_call_say_what_to_do(build, value, wrong, fix, target):
    with pytest.raises((ValueError, IndexError)):
        build(value)
    with pytest.raises(wrong) as caught:
        rg.function([x], build(x), target=target)(value)
    assert str(caught.value).splitlines()[-1].startswith(fix)


@both
def test_distinct_elements(target):
    values = np.array([3.0, 1.0, np.nan, 3.0, -1.0, np.nan])
    f = rg.function([x], rg.unique(x), target=target)
    np.testing.assert_array_equal(f(values), np.unique(values))
    assert rnp.unique(np.array([2, 1, 2])).type.dtype == "int64"
    assert rg.unique(rg.scalar("c")).type.shape == (1,)
    with pytest.raises(PatternError, match="unique"):
        rg.unique(rg.lvars("p")[0])
