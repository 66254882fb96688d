"""NumPy's products older than ``@`` against NumPy: values, types and errors."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, PatternError, ShapeError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.ops import dots
from relgraph.ops.contraction import Matmul, matmul
from relgraph.ops.permutation import matrix_transpose
from tests.ops.evaluation import Term, check


def array(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


def tensor(*dims, name="x", dtype="float64"):
    return make_input(name, TensorType(dtype, dims))


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((2, 0), (0, 3))],
)
def test_dot_of_vectors_and_matrices(a, b):
    x, y = array(a), array(b, seed=1)
    check(dots.dot, np.dot(x, y), x, y)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((2, 3, 4), (4, 5)),
        ((3,), (2, 3, 4)),
        ((2, 3), (5, 3, 1)),
        ((2, 1, 3), (2, 3, 0)),
        ((), (3,)),
    ],
)
def test_dot_inner_and_vdot_agree_with_numpy(a, b):
    x, y = array(a), array(b, seed=1)
    check(dots.dot, np.dot(x, y), x, y)
    flip = y.mT.copy() if y.ndim > 1 else y
    check(dots.inner, np.inner(x, flip), x, flip)
    check(dots.vdot, np.vdot(x, x), x, x)
    other = x.reshape(-1, 1)
    check(dots.vdot, np.vdot(x, other), x, other, typings=["static", "unknown"])


TENSORDOT = [
    ((2, 3), (3, 4), 1), ((2, 3, 4), (3, 4, 5), 2), ((2, 3), (2, 3), 2), ((2, 3), (4,), 0),
    ((2, 3, 4), (4, 5, 3), ([1, 2], [2, 0])), ((2, 3, 4), (4, 5, 2), ([-1, 0], [0, -1])),
    ((2, 3), (3,), (1, 0)), ((3,), (2, 3), (0, 1)), ((0, 3), (3, 2), 1), ((2, 0), (0, 3), 1),
    ((2, 3, 4, 5), (4, 5, 6, 1), 2), ((3, 2, 3), (3, 3), ([0, 2], [0, 1])), ((), (2,), 0),
    ((2, 3, 0), (0, 4), 1),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "axes"), TENSORDOT)
def test_tensordot_agrees_with_numpy(a, b, axes):
    x, y = array(a), array(b, seed=1)
    check(lambda u, v: dots.tensordot(u, v, axes), np.tensordot(x, y, axes), x, y)


def test_tensordot_errors():
    x, y = tensor("n", 3), tensor("m", 3, name="y")
    with pytest.raises(ShapeError, match="sizes n and m differ along the axis that is summed"):
        dots.tensordot(x, y, ([0], [0]))
    with pytest.raises(ShapeError, match="3 axes"):
        dots.tensordot(x, y, 3)
    with pytest.raises(ArgumentError, match="as many axes"):
        dots.tensordot(x, y, ([0, 1], [0]))
    for axes in ("a", None, 2.0, ([0], [1], [0]), (None, [1])):
        with pytest.raises(ArgumentError, match="axes as an int or a pair, not") as caught:
            dots.tensordot(x, y, axes)
        assert str(caught.value).endswith("or name them: axes=([1], [0]).")
    assert dots.tensordot(x, y, (1, 1)) is matmul(x, matrix_transpose(y))
    assert dots.inner(x, y) is matmul(x, matrix_transpose(y))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [((2, 6), (3, 4), 2), ((5, 2, 6), (3, 4, 2), 2), ((2, 6), (3, 4), ([0, 1], [1, 0]))],
)
def test_sizes_whose_products_are_equal_do_not_fit(a, b, axes, target):
    x, y = array(a), array(b)
    with pytest.raises(ValueError, match="shape-mismatch"):
        np.tensordot(x, y, axes)
    inputs = [tensor(*[None] * len(s), name=n) for n, s in (("x", a), ("y", b))]
    f = rg.function(inputs, dots.tensordot(*inputs, axes), target=target)
    with pytest.raises(ShapeError, match="sizes that are summed differ") as caught:
        f(x, y)
    assert str(caught.value).endswith("one operand so that these sizes agree.")


@pytest.mark.parametrize("axes", [2, ([0, 1], [0, 1]), ([1], [1])])
def test_unknown_sizes_that_fit(axes):
    x, y = array((2, 6)), array((2, 6), seed=1)
    inputs = tensor(None, None), tensor(None, None, name="y")
    f = rg.function(inputs, dots.tensordot(*inputs, axes))
    np.testing.assert_array_equal(f(x, y), np.tensordot(x, y, axes))


def test_patterns():
    p, q = Term(), Term()
    assert dots.dot(p, q).op is Matmul()
    for ask in (lambda: dots.inner(p, q), lambda: dots.tensordot(p, q)):
        with pytest.raises(PatternError, match="pattern"):
            ask()
