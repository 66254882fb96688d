"""Products over last axes, cross products, powers of matrices and polynomials, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, PatternError, ShapeError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import products
from relgraph.ops.contraction import Matmul, matmul
from relgraph.ops.permutation import matrix_transpose
from tests.ops.evaluation import Term, check, typed

RNG = np.random.default_rng(0)
A = RNG.standard_normal((2, 4, 3))
B = RNG.standard_normal((4, 3))
I = RNG.integers(-20, 20, (4, 3))  # noqa: E741 - integers
DTYPES = [("float64", "float64"), ("float32", "float64"), ("int8", "int8"), ("int64", "float32")]


@pytest.mark.parametrize("dtypes", DTYPES)
def test_vecdot(dtypes):
    x, y = I.astype(dtypes[0]), (I[::-1] + 1).astype(dtypes[1])
    for a, b in ((x, y), (x, y[0]), (x[0], y[1]), (x[:, :0], y[:, :0]), (x[:0], y[:0])):
        check(np.vecdot, np.vecdot(a, b), a, b, rtol=1e-6)
        check(np.linalg.vecdot, np.linalg.vecdot(a, b), a, b, rtol=1e-6)
    check(lambda a, b: np.vecdot(a, b, axis=0), np.vecdot(x, y, axis=0), x, y, rtol=1e-6)


@pytest.mark.parametrize("dtypes", DTYPES)
def test_matvec_and_vecmat(dtypes):
    m, v = (10 * A).astype(dtypes[0]), I.astype(dtypes[1])
    for matrix, vector in ((m, v[:2]), (m[0], v[0]), (m, v[0]), (m[0], v), (m[:1], v[:1])):
        check(np.matvec, np.matvec(matrix, vector), matrix, vector, rtol=1e-5)
        turned = np.ascontiguousarray(matrix.mT)
        check(np.vecmat, np.vecmat(vector, turned), vector, turned, rtol=1e-5)


def test_shapes_that_do_not_fit():
    with pytest.raises(ShapeError, match="takes matrices"):
        np.matvec(typed("x", B[0]), typed("y", B[0]))
    with pytest.raises(ShapeError, match="takes vectors"):
        np.vecdot(typed("x", B), 2.0)
    with pytest.raises(ShapeError):
        np.vecdot(typed("x", B), typed("y", B[:, :2]))
    with pytest.raises(ShapeError, match="not of 3 and 1"):
        np.vecdot(rg.matrix("x", shape=("n", 3)), rg.vector("y", shape=(1,)))


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("size", ["n", None])
def test_vecdot_stretches_no_vector_at_the_call(size, target):
    x = rg.matrix("x", (None, size))
    f = rg.function([x], np.vecdot(x, np.array([[2.0]])), target=target)
    np.testing.assert_array_equal(f(B[:, :1]), np.vecdot(B[:, :1], [[2.0]]))
    with pytest.raises(ValueError, match="core dimension"):
        np.vecdot(B, [[2.0]])
    with pytest.raises(ShapeError):
        f(B)


def test_outer_products_of_vectors():
    check(np.linalg.outer, np.linalg.outer(B[0], B[1, :2]), B[0], B[1, :2])
    for x, y in ((B, B[0]), (B[0], np.array(1.0))):
        with pytest.raises(ShapeError, match="takes vectors"):
            np.linalg.outer(typed("x", x), typed("y", y))


@pytest.mark.parametrize("dtypes", DTYPES)
def test_cross(dtypes):
    x, y = I.astype(dtypes[0]), (I[::-1] + 1).astype(dtypes[1])
    for a, b in ((x, y), (x, y[0]), (x[0], y), (x[0], y[1]), (x[:0], y[0])):
        check(np.cross, np.cross(a, b), a, b, typings=("static",))
    for options in ({"axis": 0}, {"axisa": 0, "axisb": 0, "axisc": 1}, {"axisa": 0, "axisb": 0}):
        check(lambda a, b, o=options: np.cross(a, b, **o), np.cross(x.T, y.T, **options), x.T, y.T,
              typings=("static",))  # fmt: skip
    check(np.linalg.cross, np.linalg.cross(x, y), x, y, typings=("static",))
    check(lambda a, b: np.linalg.cross(a, b, axis=0), np.linalg.cross(x.T, y.T, axis=0), x.T, y.T,
          typings=("static",))  # fmt: skip


def test_cross_of_other_sizes():
    for x in (typed("x", B[:, :2]), rg.vector("v")):
        with pytest.raises(ShapeError, match="three elements"):
            np.cross(x, x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("p", [
    [1, 0, -2], [2.5], [], np.array([1, 2], "float32"), np.array([0.5, np.nan]),
])  # fmt: skip
def test_polyval(p):
    special = np.array([1.5, -2.0, np.inf, np.nan, 0.0])
    for x in (B, B.astype("float32"), I, I.astype("int8"), special, B[:0], np.array(2.0)):
        check(lambda x: np.polyval(p, x), np.polyval(p, x), x)


def test_polyval_of_a_graph():
    p = np.array([1.5, -2.0, 4.0])
    check(np.polyval, np.polyval(p, B), p, B, typings=("static",))
    check(lambda p: np.polyval(p, 3), np.polyval(p, 3), p, typings=("static",))
    with pytest.raises(ArgumentError, match="whose number is known"):
        np.polyval(rg.vector("p"), 2.0)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8, -1, -3])
def test_matrix_power(n):
    square = B[:3] + 3 * np.eye(3)
    for x in (square, np.stack([square, square.T]), I[:3]):
        if n >= 0 or x.dtype.kind == "f":
            check(lambda x: np.linalg.matrix_power(x, n), np.linalg.matrix_power(x, n), x,
                  rtol=1e-11)  # fmt: skip
    with pytest.raises(ShapeError, match="square matrices"):
        np.linalg.matrix_power(typed("x", B), n)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_matrix_power_of_unknown_sizes(n):
    x = rg.matrix("x")
    f = rg.function([x], np.linalg.matrix_power(x, n))
    square = B[:3]
    np.testing.assert_allclose(f(square), np.linalg.matrix_power(square, n), rtol=1e-12)
    with pytest.raises(ValueError, match="must be square"):
        np.linalg.matrix_power(B, n)
    with pytest.raises(ValueError, match=r"square|must have"):
        f(B)


def test_multi_dot():
    arrays = [B.T, B, B.T, B[:, 0]]
    for taken in (arrays[:2], arrays[:3], arrays, [B[0], *arrays[:3]], [B[0], B.T @ B[:, 0]]):
        if taken[0].ndim == 1 or taken[0].shape[0] == 3:
            check(lambda *xs: np.linalg.multi_dot(xs), np.linalg.multi_dot(taken), *taken,
                  rtol=1e-12)  # fmt: skip
    x = typed("x", B)
    with pytest.raises(ArgumentError, match="at least two"):
        np.linalg.multi_dot([x])
    with pytest.raises(ShapeError, match="vectors at the ends"):
        np.linalg.multi_dot([x, typed("v", B[0]), x])


def test_they_trace_and_compile():
    def products(x, y):
        return np.vecdot(x, y), np.cross(x, y), np.polyval([1.0, 2.0], x)

    for got, expected in zip(rg.jit(products)(B, B + 1), products(B, B + 1), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)


def power_of(n):
    return lambda np, a: np.linalg.matrix_power(a, n)


BIT_FOR_BIT = {
    **{f"matrix_power {n}": (power_of(n), "nn") for n in (0, 1, 2, 3, 4, 5, 6, 7, 10)},
    "matrix_power of a batch": (power_of(3), "2nn"),
    "multi_dot of a narrow one": (lambda np, *a: np.linalg.multi_dot(a), "n3 3n n4"),
    "multi_dot of a wide one": (lambda np, *a: np.linalg.multi_dot(a), "2n nn n7"),
    "multi_dot with a tie": (lambda np, *a: np.linalg.multi_dot(a), "nn nn nn"),
    "multi_dot of four": (lambda np, *a: np.linalg.multi_dot(a), "n3 3n n4 4n"),
    "multi_dot of four with ties": (lambda np, *a: np.linalg.multi_dot(a), "nn nn nn nn"),
    "multi_dot of five": (lambda np, *a: np.linalg.multi_dot(a), "n3 3n nn n2 2n"),
    "multi_dot of a row": (lambda np, *a: np.linalg.multi_dot(a), "n nn n4"),
    "multi_dot of a column": (lambda np, *a: np.linalg.multi_dot(a), "4n nn nn n"),
    "multi_dot of both": (lambda np, *a: np.linalg.multi_dot(a), "n nn n"),
    "dot": (lambda np, a, b: np.dot(a, b), "5n n4"),
    "dot of vectors": (lambda np, a, b: np.dot(a, b), "n n"),
    "inner": (lambda np, a, b: np.inner(a, b), "5n 4n"),
    "inner with a vector": (lambda np, a, b: np.inner(a, b), "5n n"),
    "tensordot": (lambda np, a, b: np.tensordot(a, b, ([0, 2], [1, 0])), "34n n32"),
    "matmul": (lambda np, a, b: a @ b, "5n n4"),
    "matmul of batches": (lambda np, a, b: a @ b, "35n 3n4"),
    "a transpose": (lambda np, a, b: a.T @ b, "n5 n4"),
    "matvec": (lambda np, a, b: a @ b, "5n n"),
    "outer": (lambda np, a, b: np.outer(a, b), "n 4"),
    "kron": (lambda np, a, b: np.kron(a, b), "n2 43"),
    "trace": (lambda np, a: np.trace(a), "nn"),
    "singular vectors": (lambda np, a: np.linalg.svd(a)[0], "n5"),
    "singular values": (lambda np, a: np.linalg.svd(a)[1], "n5"),
    "qr": (lambda np, a: np.linalg.qr(a)[0], "n5"),
    "det": (lambda np, a: np.linalg.det(a), "nn"),
}


# Kernels compute small matrices in an order of their own.
SUMMED = {
    *(name for name in BIT_FOR_BIT if name.startswith(("matrix_power", "multi_dot", "matmul"))),
    *("dot", "inner", "inner with a vector", "tensordot", "a transpose", "matvec", "det"),
}


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("name", BIT_FOR_BIT)
def test_products_and_linear_algebra_equal_those_of_numpy(name, target):
    call, shapes = BIT_FOR_BIT[name]
    rng = np.random.default_rng(3)
    for dtype in ("float64", "float32", "int64"):
        for n in (1, 2, 3, 8, 17, 40):
            values = [
                rng.normal(size=[n if d == "n" else int(d) for d in shape])
                for shape in shapes.split()
            ]
            values = [(3 * x if dtype == "int64" else x).astype(dtype) for x in values]
            inputs = [rg.tensor(f"x{i}", shape=x.shape, dtype=dtype) for i, x in enumerate(values)]
            result = rg.function(inputs, call(np, *inputs), mode=None, target=target)(*values)
            expected = call(np, *values)
            assert result.dtype == expected.dtype and result.shape == expected.shape
            if name in SUMMED and target == "cpu" and result.dtype.kind == "f":
                far = np.abs(result - expected).max(initial=0)
                assert far <= 200 * np.finfo(result.dtype).eps * np.abs(expected).max(initial=0)
            else:
                np.testing.assert_array_equal(result, expected)


def test_a_chain_of_products_of_unknown_sizes_is_one_from_the_left():
    a, b, c = (rg.tensor(name, shape=(None, None)) for name in "abc")
    assert np.linalg.multi_dot([a, b, c]) is (a @ b) @ c


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
    check(products.dot, np.dot(x, y), x, y)


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
    check(products.dot, np.dot(x, y), x, y)
    flip = y.mT.copy() if y.ndim > 1 else y
    check(products.inner, np.inner(x, flip), x, flip)
    check(products.vdot, np.vdot(x, x), x, x)
    other = x.reshape(-1, 1)
    check(products.vdot, np.vdot(x, other), x, other, typings=["static", "unknown"])


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
    check(lambda u, v: products.tensordot(u, v, axes), np.tensordot(x, y, axes), x, y)


def test_tensordot_errors():
    x, y = tensor("n", 3), tensor("m", 3, name="y")
    with pytest.raises(ShapeError, match="sizes n and m differ along the axis that is summed"):
        products.tensordot(x, y, ([0], [0]))
    with pytest.raises(ShapeError, match="3 axes"):
        products.tensordot(x, y, 3)
    with pytest.raises(ArgumentError, match="as many axes"):
        products.tensordot(x, y, ([0, 1], [0]))
    for axes in ("a", None, 2.0, ([0], [1], [0]), (None, [1])):
        with pytest.raises(ArgumentError, match="axes as an int or a pair, not") as caught:
            products.tensordot(x, y, axes)
        assert str(caught.value).endswith("or name them: axes=([1], [0]).")
    assert products.tensordot(x, y, (1, 1)) is matmul(x, matrix_transpose(y))
    assert products.inner(x, y) is matmul(x, matrix_transpose(y))


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
    f = rg.function(inputs, products.tensordot(*inputs, axes), target=target)
    with pytest.raises(ShapeError, match="sizes that are summed differ") as caught:
        f(x, y)
    assert str(caught.value).endswith("one operand so that these sizes agree.")


@pytest.mark.parametrize("axes", [2, ([0, 1], [0, 1]), ([1], [1])])
def test_unknown_sizes_that_fit(axes):
    x, y = array((2, 6)), array((2, 6), seed=1)
    inputs = tensor(None, None), tensor(None, None, name="y")
    f = rg.function(inputs, products.tensordot(*inputs, axes))
    np.testing.assert_array_equal(f(x, y), np.tensordot(x, y, axes))


def test_patterns():
    p, q = Term(), Term()
    assert products.dot(p, q).op is Matmul()
    for ask in (lambda: products.inner(p, q), lambda: products.tensordot(p, q)):
        with pytest.raises(PatternError, match="pattern"):
            ask()
