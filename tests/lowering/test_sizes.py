"""Sizes: which dimensions are known to be equal, and which a program compares when it runs."""

import pytest

import relgraph as rg
from relgraph.errors import ShapeError
from relgraph.lowering.sizes import (
    Unknown,
    folded_shape,
    inner_product,
    is_product,
    is_transpose,
    left_out,
    mismatch,
    transposed_product,
    unproved,
)
from tests.lowering.evaluation import sizes_of

X = rg.matrix("X", ("n", "m"))
P, Q = rg.matrices("P Q", (None, None))
p, q = rg.vectors("p q", (None,))
u, v, w = rg.vector("u", "n"), rg.vector("v", "m"), rg.vector("w", 5)


def compared(*outputs, **changes):
    """Return the sizes that a schedule compares: for each check its values and axes."""
    sizes, _ = sizes_of(*outputs, **changes)
    return [
        (check.left, check.left_axis, check.right, check.right_axis)
        for checks in sizes.checks.values()
        for check in checks
    ]


def test_named_and_known_sizes_are_their_own_terms():
    sizes, _ = sizes_of(X + v, w * 2.0)
    assert sizes.shape[X] == ("n", "m")
    assert sizes.shape[w] == (5,)


def test_a_name_is_read_from_the_first_input_that_has_it():
    sizes, _ = sizes_of(X + v)
    assert sizes.source["n"] == (X, 0)
    assert sizes.source["m"] == (X, 1)


def test_each_size_without_a_name_is_a_term_of_its_own():
    sizes, _ = sizes_of(P @ Q)
    terms = sizes.shape[P] + sizes.shape[Q]
    assert len(set(terms)) == 4
    assert all(isinstance(term, Unknown) for term in terms)


def test_equal_names_need_no_check():
    assert compared(X + v, X * X) == []


def test_sizes_that_nothing_proves_equal_are_compared_once():
    assert compared(p + q, p * q, rg.exp(p) - q) == [(p, -1, q, -1)]


def test_each_axis_is_compared():
    assert compared(P + Q) == [(P, -2, Q, -2), (P, -1, Q, -1)]


def test_a_declared_1_is_stretched_without_a_check():
    assert compared(P + rg.matrix("row", (1, 1))) == []


def test_after_a_check_the_two_sizes_are_one():
    sizes, _ = sizes_of(p + q)
    assert sizes.find_all(sizes.shape[p]) == sizes.find_all(sizes.shape[q])
    assert sizes.shape[p] != sizes.shape[q]


def test_a_name_stands_for_an_unknown_size():
    sizes, _ = sizes_of(p + u)
    assert sizes.find_all(sizes.shape[p]) == ("n",)


def test_a_number_stands_for_a_name():
    sizes, steps = sizes_of(rg.exp(p) + w)
    assert sizes.find_all(sizes.shape[p]) == (5,)
    assert sizes.find_all(sizes.loop[steps[0]]) == (5,)


def test_the_inner_sizes_of_a_product_are_compared():
    assert compared(P @ Q) == [(P, -1, Q, -2)]
    sizes, _ = sizes_of(P @ Q)
    assert sizes.shape[P @ Q] == (sizes.shape[P][0], sizes.shape[Q][1])


def test_batches_of_products_are_compared():
    a, b = rg.tensor("a", (None, "n", "m")), rg.tensor("b", (None, "m", "n"))
    assert compared(a @ b) == [(a, -3, b, -3)]


def test_a_reduction_drops_its_axes_or_keeps_them_as_1():
    total = rg.sum(X, axis=1)
    sizes, _ = sizes_of(total)
    assert sizes.shape[total] == ("n",)
    assert folded_shape(rg.sum(X, axis=1, keepdims=True), ("n", "m")) == ("n", 1)
    assert folded_shape(rg.sum(X), ("n", "m")) == ()


def test_views_of_axes_keep_the_terms_of_their_operand():
    nodes = [P.T, P[:, None], rg.squeeze(rg.tensor("t", (1, None)), axis=0)]
    for node in nodes:
        sizes, _ = sizes_of(node)
        below = [term for term in sizes.shape[node.inputs[0]] if term != 1]
        assert sorted(map(str, below)) == sorted(str(t) for t in sizes.shape[node] if t != 1)


def test_slices_that_leave_out_as_many_elements_are_equal():
    assert compared(p[1:] - p[:-1]) == []
    assert compared(p[2:] + p[1:-1] + p[:-2]) == []


def test_slices_that_leave_out_other_numbers_of_elements_are_compared():
    assert len(compared(p[1:] - p[2:])) == 1


def test_a_reversed_vector_has_the_size_of_the_vector():
    assert compared(p[::-1] - p) == []


def test_the_shape_of_a_call_is_verified():
    node = rg.sort(p)
    sizes, _ = sizes_of(node)
    assert sizes.verified == {node}
    assert isinstance(sizes.shape[node][0], Unknown)


@pytest.mark.parametrize(
    ("bounds", "count"),
    [
        ((None, None, None), 0), ((1, None, None), 1), ((None, -2, None), 2), ((1, -2, 1), 3),
        ((None, None, -1), 0), ((1, None, -1), None), ((None, 3, None), None),
        ((-1, None, None), None),
        ((None, None, 2), None), ((0, 0, None), None), (("dynamic", None, None), None),
    ],
)  # fmt: skip
def test_how_many_elements_a_slice_leaves_out(bounds, count):
    assert left_out(*bounds) == count


@pytest.mark.parametrize(
    ("bounds", "count"), [((1, None, None), 1), ((None, -2, None), 2), ((1, -2, 1), 3)]
)
def test_slices_leave_out_what_python_leaves_out(bounds, count):
    assert len(range(10)) - len(range(10)[slice(*bounds)]) == count == left_out(*bounds)


def test_the_error_of_a_check_says_both_sizes():
    sizes, _ = sizes_of(p + q)
    ((check,),) = sizes.checks.values()
    with pytest.raises(ShapeError, match="p and q must have equal sizes, and they are 3 and 1"):
        raise check.error(3, 1)
    assert "declared as 1 is stretched" in str(check.error(3, 1))


def test_the_error_of_a_product_does_not_speak_of_stretching():
    sizes, _ = sizes_of(P @ Q)
    ((check,),) = sizes.checks.values()
    assert "stretched" not in str(check.error(3, 2))


def test_the_error_of_a_matrix_that_is_not_square():
    error = mismatch(rg.exp(P), (P, -2, 3), (P, -1, 2))
    assert "P must be square" in str(error)
    assert "are 3 and 2" in str(error)


def test_products_with_a_matrix_and_with_its_transpose():
    r, S = u, rg.matrix("S", ("n", "n"))
    assert inner_product(X @ v) == (X, v)
    assert inner_product(X.T @ r) is None
    assert transposed_product(X.T @ r) == (X, r)
    assert transposed_product(r @ X) == (X, r)
    assert transposed_product(X @ v) is None
    assert inner_product(S @ S) is None
    assert is_product(S @ S)
    assert not is_product(X @ v)


def test_products_of_integers_are_not_made_in_kernels():
    i, j = rg.matrix("i", ("n", "m"), dtype="int64"), rg.vector("j", "m", dtype="int64")
    assert inner_product(i @ j) is None


def test_a_transpose_of_a_matrix():
    assert is_transpose(X.T)
    assert is_transpose(X.mT)
    assert not is_transpose(X)
    assert not is_transpose(rg.transpose(rg.tensor("t", ("n", "m", "k"))))


def test_axes_that_nothing_proves_equal():
    assert unproved(p + q) == (((0, -1), (1, -1)),)
    assert unproved(u + u) == ()
    assert unproved(p) == ()
