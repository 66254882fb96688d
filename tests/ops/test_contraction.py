"""Matrix products and einsum against NumPy: values, types, facts, costs and errors."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from relgraph.errors import ArgumentError, PatternError, ShapeError
from relgraph.ir.cost import flops
from relgraph.ir.fact_inference import fact, facts_of
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.infix import brief
from relgraph.ir.node import constant, make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.ops import contraction
from relgraph.ops.contraction import Einsum, Matmul, Outer, einsum, matmul
from relgraph.ops.elementwise import add, negative
from relgraph.ops.permutation import matrix_transpose
from tests.ops.evaluation import Term, check, evaluate, holds, matrix_with, typed


def array(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)


def tensor(*dims, name="x", dtype="float64", facts=()):
    return make_input(name, TensorType(dtype, dims), facts)


PRODUCTS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 1)),
    ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((0,), (0,)), ((2, 0), (0, 3)), ((0, 3), (3, 2)),
    ((1, 1), (1, 1)), ((4, 0, 3), (3, 2)), ((2, 1), (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), PRODUCTS)
def test_products_agree_with_numpy(a, b):
    x, y = array(a), array(b, seed=1)
    check(matmul, np.matmul(x, y), x, y)
    check(contraction.outer, np.outer(x, y), x, y)


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
def test_products_promote_as_numpy(left, right):
    x, y = array((2, 3), left), array((3, 2), right, 1)
    check(matmul, np.matmul(x, y), x, y, typings=["static"])
    check(contraction.outer, np.outer(x, y), x, y, typings=["static"])
    expected = np.einsum("ij,jk,k->i", x, y, y[0])
    check(lambda a, b, c: einsum("ij,jk,k->i", a, b, c), expected, x, y, y[0], typings=["static"])


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij,kj->ik", (2, 3), (4, 3)),
    ("ji,jk->ik", (3, 2), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bij,bjk->bki", (5, 2, 3), (5, 3, 4)), ("bi,bi->b", (5, 3), (5, 3)), ("i,i->", (3,), (3,)),
    ("i,j->ij", (2,), (3,)), ("i,j->ji", (2,), (3,)), ("ij,j->i", (2, 3), (3,)),
    ("i,ij->j", (2,), (2, 3)),
    ("j,ij->i", (3,), (2, 3)), ("ij,ij->ij", (2, 3), (2, 3)), ("ij,ij->", (2, 3), (2, 3)),
    ("ij->ji", (2, 3)), ("ij", (2, 3)), ("ba", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
    ("ij->j", (2, 3)), ("ijk->kij", (2, 3, 4)), ("i,ij,j->", (2,), (2, 3), (3,)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)), ("...ij,...jk", (2, 3), (5, 3, 4)),
    ("i...->...", (2, 3, 4)), ("...i->i...", (2, 3, 4)), ("i...,i...", (2, 3), (2, 4, 3)),
    ("i,i->i", (1,), (3,)), ("ij,jk->ik", (2, 1), (3, 4)), ("ij,jk->ik", (0, 3), (3, 0)),
    ("ij,jk->ik", (2, 0), (0, 3)), ("...->...", (2, 3)), ("Ab,bA->A", (2, 3), (3, 2)),
    ("abc,cd,de,ebf->af", (2, 3, 4), (4, 2), (2, 3), (3, 3, 5)), (",i->i", (), (3,)),
]  # fmt: skip


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, rest) for s, *rest in EINSUMS])
def test_einsum_agrees_with_numpy(subscripts, shapes):
    arrays = [array(shape, seed=i) for i, shape in enumerate(shapes)]
    expected = np.einsum(subscripts, *arrays)
    check(lambda *v: einsum(subscripts, *v), expected, *arrays)


@st.composite
def einsums(draw):
    terms = draw(st.lists(st.text("ijk", max_size=3), min_size=1, max_size=3))
    sizes = {label: draw(st.integers(0, 3)) for label in "ijk"}
    used = sorted(set("".join(terms)))
    result = "".join(draw(st.permutations(used))[: draw(st.integers(0, len(used)))])
    return ",".join(terms) + "->" + result, [tuple(sizes[c] for c in term) for term in terms]


@given(einsums())
@settings(max_examples=200, deadline=None)
def test_random_einsums_agree_with_numpy(drawn):
    subscripts, shapes = drawn
    arrays = [array(shape, seed=i) for i, shape in enumerate(shapes)]
    expected = np.einsum(subscripts, *arrays)
    assume(expected.size < 1000)
    check(lambda *v: einsum(subscripts, *v), expected, *arrays)


def test_einsum_builds_products_as_such():
    A, B, v = tensor("m", "k"), tensor("k", "n", name="B"), tensor("k", name="v")
    assert einsum("ij,jk", A, B) is matmul(A, B)
    assert einsum("ij,jk->ki", A, B) is matrix_transpose(matmul(A, B))
    assert einsum("ij,kj->ik", A, A) is matmul(A, matrix_transpose(A))
    assert einsum("pq,q->p", A, v) is matmul(A, v)
    assert einsum("ij->ji", A) is matrix_transpose(A)
    assert einsum("...j,...k->...jk", v, v) is Outer()(v, v)
    assert Einsum("xy, zy -> xz") is Einsum("ij,kj")
    assert einsum("ij,ij->i", A, A).type.shape == ("m",)
    assert einsum("ij,jk->ik", tensor(2, 1), B).op is Einsum("ab,bc->ac")  # the 1 stretches


@pytest.mark.parametrize(
    ("subscripts", "error", "text"),
    [
        ("ij,jk->il", ArgumentError, "each label of the result"),
        ("ij,jk->ii", ArgumentError, "each label of the result"),
        ("i$,jk", ArgumentError, "only letters"),
        ("ij->i->j", ArgumentError, "only letters"),
        ("ij", ArgumentError, "1 term for 2 operands"),
        ("i,jk", ShapeError, "do not fit an operand of 2 dimensions"),
        ("ij,kl...->ij", ShapeError, None),
        ("i...,jk->", ArgumentError, "lacks the '...'"),
        ("ii,jk", ShapeError, "differ"),
    ],
)
def test_einsum_errors(subscripts, error, text):
    x, y = tensor(2, 3), tensor(4, 5, name="y")
    if text is None:
        assert einsum(subscripts, x, y).type.shape == (2, 3)
        return
    with pytest.raises(error, match=text):
        einsum(subscripts, x, y)


def test_einsum_names_the_label_that_differs():
    with pytest.raises(ShapeError, match="for the label 'b'"):
        einsum("ij,jk,k", tensor(2, 3), tensor(4, 5, name="y"), tensor(5, name="z"))
    with pytest.raises(ArgumentError, match="subscripts as a string"):
        einsum(tensor(2, 3), [0, 1])
    with pytest.raises(ArgumentError, match="has 2 operands, not 1"):
        Einsum("ij,jk")(tensor(2, 3))


def test_product_types():
    A, B = tensor("m", "k"), tensor("k", 3, name="B")
    assert matmul(A, B).type.shape == ("m", 3)
    assert matmul(tensor("b", 2, None), B).type.shape == ("b", 2, 3)
    assert matmul(tensor(1, 2, "k"), tensor("b", "k", 3, name="B")).type.shape == ("b", 2, 3)
    with pytest.raises(ShapeError, match="sizes k and m differ along the axis that is summed over"):
        matmul(A, A)
    with pytest.raises(ShapeError, match=r"operand 1 is a scalar.*(\n.*)*Use \* to multiply"):
        matmul(A, 2.0)
    with pytest.raises(ShapeError, match="operand 0 is a scalar"):
        Matmul()(2, A)
    with pytest.raises(ShapeError, match="two vectors"):
        Outer()(A, A)


def test_printing_and_cost():
    A, B, v = tensor(10, 20, name="A"), tensor(20, 30, name="B"), tensor(30, name="v")
    C = tensor(10, 20, name="C")
    assert brief(matmul(matmul(A, B), v)) == "A @ B @ v"
    assert brief(matmul(A, matmul(B, v))) == "A @ (B @ v)"
    assert brief(matmul(add(A, C), B)) == "(A + C) @ B"
    assert brief(matrix_transpose(matmul(A, B))) == "(A @ B).mT"
    assert flops([matmul(A, B)]) == 2 * 10 * 20 * 30
    assert flops([matmul(matmul(A, B), v)]) == 2 * 10 * 20 * 30 + 2 * 10 * 30
    assert flops([matmul(v, v)]) == 60
    assert flops([matmul(tensor(5, 10, 20), B)]) == 2 * 5 * 10 * 20 * 30
    assert flops([contraction.outer(v, v)]) == 900
    assert flops([einsum("ij,ij->i", A, A)]) == 2 * 10 * 20


@pytest.mark.parametrize("first", MATRIX_FACTS)
@pytest.mark.parametrize("second", MATRIX_FACTS)
def test_facts_of_products_hold(first, second):
    a, b = matrix_with(first), matrix_with(second, seed=1)
    x, y = typed("x", a, facts=[first]), typed("y", b, facts=[second])
    for node in (
        matmul(x, y),
        matmul(x, matrix_transpose(x)),
        matmul(matrix_transpose(x), x),
        contraction.outer(constant(a[0]), constant(a[0])),
    ):
        value = evaluate(node, {"x": a, "y": b})
        assert all(holds(name, value) for name in facts_of(node).names())
    if first == second and first not in ("symmetric", "spd", "psd", "tridiagonal"):
        assert fact(matmul(x, y), first)


def test_facts_of_gram_matrices():
    X, R = tensor("n", "k"), tensor("n", "n", facts=["invertible"])
    assert fact(matmul(X, matrix_transpose(X)), "symmetric")
    assert fact(matmul(matrix_transpose(X), X), "symmetric")
    assert fact(matmul(X, matrix_transpose(X)), "spd") is None
    assert fact(matmul(R, matrix_transpose(R)), "spd")
    v = tensor("n", name="v")
    assert fact(contraction.outer(v, v), "symmetric")
    assert fact(contraction.outer(v, negative(v)), "symmetric") is None


@pytest.mark.parametrize("left", ["positive", "nonnegative", "negative", "nonpositive", "integer"])
@pytest.mark.parametrize("right", ["positive", "nonnegative", "negative", "nonpositive", "integer"])
def test_signs_of_products_hold(left, right):
    values = {
        "positive": [5e-324, 1.0, 2.5],
        "nonnegative": [0.0, 1e-200, 2.5],
        "negative": [-5e-324, -1.0, -2.5],
        "nonpositive": [0.0, -1e-200, -2.5],
        "integer": [-3.0, 0.0, 4.0],
    }
    a, b = np.array([values[left]]), np.array([values[right]])
    x, y = typed("x", a, facts=[left]), typed("y", b, facts=[right])
    for build in (
        lambda u, w: matmul(u, matrix_transpose(w)),
        lambda u, w: matmul(matrix_transpose(u), w),
        contraction.outer,
        lambda u, w: einsum("ij,ij->ij", u, w),
    ):
        node = build(x, y)
        value = evaluate(node, {"x": a, "y": b})
        assert all(holds(name, value) for name in facts_of(node).names())
    strong = {"positive": "nonnegative", "negative": "nonpositive"}
    signs = {strong.get(left, left), strong.get(right, right)}
    if "integer" not in signs:
        expected = "nonnegative" if len(signs) == 1 else "nonpositive"
        assert fact(matmul(x, matrix_transpose(y)), expected)


def test_integers_wrap_around_so_their_products_have_no_sign():
    x = tensor(2, 2, dtype="int8", facts=["positive"])
    node = matmul(x, x)
    value = evaluate(node, {"x": np.full((2, 2), 100, "int8")})
    assert (value == 32).all() or (value < 0).any()
    assert fact(node, "nonnegative") is None
    assert fact(node, "integer")


def test_patterns():
    p, q = Term(), Term()
    assert matmul(p, q).op is Matmul()
    assert matmul(tensor(2), q).operands[1] is q
    assert contraction.outer(p, q).op is Outer()
    assert contraction.outer(p, q).operands == (p, q)
    assert einsum("ij,jk->ik", p, q).op is Matmul()
    assert einsum("ij,ij->i", p, q).op is Einsum("ab,ab->a")
    for ask in (lambda: einsum("...i->...", p),):
        with pytest.raises(PatternError, match="pattern"):
            ask()
