"""Polynomials in sizes: exact arithmetic, values, and comparison for all sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relgraph.ir.polynomial import Polynomial, at, at_most, digits, least, most

m, n = Polynomial.of("m"), Polynomial.of("n")

terms = st.dictionaries(
    st.lists(st.sampled_from("mn"), max_size=3).map(lambda x: tuple(sorted(x))),
    st.integers(-5, 5),
    max_size=4,
)
polynomials = st.builds(Polynomial, terms)
sizes = st.fixed_dictionaries({"m": st.integers(1, 9), "n": st.integers(1, 9)})


def test_printing():
    assert str(2 * m * n) == "2*m*n"
    assert str(2 * n**3 // 3 + n - 1) == "2/3*n**3 + n - 1"
    assert str(n - n) == "0"
    assert str(m * m - n) == "m**2 - n"


@given(polynomials, polynomials, sizes)
def test_arithmetic_is_that_of_values(a, b, values):
    assert at(a + b, values) == at(a, values) + at(b, values)
    assert at(a * b, values) == at(a, values) * at(b, values)
    assert at(a - b, values) == at(a, values) - at(b, values)
    assert at(3 - a, values) == 3 - at(a, values)
    assert at(a**2, values) == at(a, values) ** 2


@given(polynomials, polynomials, sizes, st.sampled_from([1, 2, 4, 7]))
def test_what_is_at_most_is_so_for_all_sizes(a, b, values, smallest):
    if at_most(a, b, smallest):
        excess = {name: size + smallest - 1 for name, size in values.items()}
        assert at(a, excess) <= at(b, excess)
    assert at_most(a, a, smallest)


def test_comparison():
    assert at_most(m * n + n, 2 * m * n)
    assert not at_most(2 * m * n, m * n + n)
    assert not at_most(m, n)
    assert not at_most(n, m)
    assert at_most(n, n**2)
    assert at_most(3, 5)
    assert at_most(2, 2 * n)
    assert at_most(4 * m * n + 16, 2 * m * n**2, 4)
    assert not at_most(4 * m * n, m * n**2, 3)
    assert at_most(3 * n, 2 * n**2 // 3 + n, 4)
    assert not at_most(4, digits(n), 4)


def test_values_of_some_sizes_leave_a_polynomial():
    assert at(2 * m * n + n, {"n": 10}) == 20 * m + 10
    assert at(2 * m * n + n, {"n": 10, "m": 1}) == 30
    assert isinstance(at(n, {"n": 4}), int)


def test_a_fraction_is_exact_until_it_is_a_number():
    assert 3 * (n**3 // 3) == n**3
    assert at(2 * n**3 // 3, {"n": 2}) == 16 // 3
    assert at(2 * n**3 // 3 + n**3 // 3, {"n": 2}) == 8


def test_the_smallest_and_the_largest():
    assert least([m, m]) == m
    assert least([4, 3]) == 3
    assert least([n, n**2]) == n
    assert most([n, n**2, 5 * n]) == most([5 * n, n**2])
    undecided = 2 * least([m, n])
    assert str(undecided) == "2*min(m, n)"
    assert at(undecided, {"m": 3, "n": 4}) == 6
    assert undecided.names == ("m", "n")
    assert at(most([m, n, 7]), {"m": 3}) == most([n, 7])
    assert [digits(x) for x in (0, 1, 8)] == [1, 1, 4]
    assert at(digits(n), {"n": 8}) == 4


def test_other_operands_are_no_numbers():
    with pytest.raises(TypeError):
        n + "n"
    assert n != "n"
    assert hash(n + m) == hash(m + n)
