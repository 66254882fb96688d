"""Quotients: one row each, and divisors that are numbers."""

import mpmath
import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.matching import canonical
from relgraph.ir.node import constant
from relgraph.numpy.reductions import sum
from relgraph.ops.elementwise import erf, floor, rint
from relgraph.relations.catalogue import quotients as r
from tests.relations.catalogue.table import (
    Row,
    b,
    check,
    covers_theme,
    i,
    rewritten,
    s,
    t,
    tensor,
    u,
    x,
    y,
)

ROWS = [
    Row(r.merge_divide_divideo, x / y / u, x / (y * u), x / y * u),
    Row(r.merge_multiply_divideo, (x / y) * (u / x), (x * u) / (y * x), (x / y) * u),
    Row(r.merge_multiply_numeratoro, (1.0 / y) * x, x / y, (x / y) * x),
    Row(r.merge_multiply_numeratoro, (0.5 / y) * (3.0 * x), (1.5 * x) / y, (0.5 / y) * x),
    Row(r.merge_factorso, (3.0 * x) / (2.0 * y), (1.5 * x) / y, x / (2.0 * y)),
    Row(r.extract_negativeo, x / -y, -(x / y), -x / y),
    Row(r.merge_numeratoro, x * (u / y), (x * u) / y, rg.sum(x) * (u / y)),
    Row(r.merge_numeratoro, -x / y, -(x / y), -x * y),
    Row(r.invert_divisoro, x / 7.0, x * (1 / 7.0), floor(x) / 7.0),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_a_quotient_of_numbers_is_rounded_once():
    assert rewritten(r.merge_factorso, (49.0 * x) / (49.0 * y)) is (1.0 * x) / y


f = tensor("f", 3, dtype="float32")
DIVISORS = (3, 7.0, -0.3, 49, 1e-5, 123456.789, 2, -0.125)


def of_three(number, dtype="float64"):
    """Return a constant of three elements, all of them one number."""
    return constant(np.full(3, number, dtype))


INVERTED = {
    "a weak number of a narrower dtype": (f / 3, f * constant(1 / np.float32(3))),
    "a float64 that is not weak": (f / np.float64(3), f * constant(np.float64(1 / 3))),
    "an integer that is not weak": (x / np.int64(3), x * (1 / 3)),
    "no dimensions": (x / constant(3.0), x * (1 / 3)),
    "all dimensions": (x / of_three(3.0), x * (1 / 3)),
    "a negative number": (x / -7, x * (-1 / 7)),
    "more dimensions than x": (tensor("v", 1) / of_three(3.0), None),
    "a row at a time": (sum(t, axis=-1) / 3, sum(t, axis=-1) * (1 / 3)),
}


@pytest.mark.parametrize("case", INVERTED)
def test_numbers_of_every_spelling_are_inverted(case):
    graph, expected = INVERTED[case]
    result = rewritten(r.invert_divisoro, graph)
    assert result.type == graph.type
    assert "/" not in str(result)
    if expected is not None:
        assert result is expected


LEFT_ALONE = {
    "integers, whose quotients may be exact": i / 7,
    "truth values": b / 7,
    "floats that are integers": rint(x * 10) / 10,
    "one number": s / 7,
    "several numbers": x / constant([1.0, 2.0, 3.0]),
    "a number above": 7 / x,
    "zero": x / 0.0,
    "infinity": x / np.inf,
    "no number": x / np.nan,
    "a reciprocal that is subnormal": x / 1e308,
    "a reciprocal that is infinite": x / 1e-309,
    "a reciprocal that float32 has not": f / 2e38,
    "a reciprocal of fewer digits than the quotient": x / np.float32(3),
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_other_quotients_stay(case):
    assert rewritten(r.invert_divisoro, LEFT_ALONE[case]) is LEFT_ALONE[case]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("divisor", DIVISORS)
def test_a_product_with_the_inverse_errs_by_two_roundings(dtype, divisor):
    info, rng = np.finfo(dtype), np.random.default_rng(1)
    number = np.dtype(dtype).type(divisor)
    drawn = rng.uniform(1, 2, 300) * 2.0 ** rng.integers(info.minexp, 100, 300)
    values = np.concatenate([drawn, np.arange(-49.0, 50)]).astype(dtype)
    x = tensor("x", len(values), dtype=dtype)
    graph = rewritten(r.invert_divisoro, x / number)
    assert graph.op is rg.multiply
    found = graph.op.perform(values, graph.inputs[1].value)
    unit, least = mpmath.mpf(float(info.eps)) / 2, mpmath.mpf(float(info.smallest_subnormal))
    with mpmath.workdps(60):
        for value, one in zip(values.tolist(), found.tolist(), strict=True):
            quotient = mpmath.mpf(value) / mpmath.mpf(float(number))
            assert abs(one - quotient) <= (2 * unit + unit**2) * abs(quotient) + least
    if np.frexp(number)[0] in (0.5, -0.5):  # a power of two
        np.testing.assert_array_equal(found, values / number)


@pytest.mark.parametrize("divisor", DIVISORS)
def test_infinities_nan_and_zeros_are_those_of_the_quotient(divisor):
    values = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0])
    graph = rewritten(r.invert_divisoro, tensor("x", 5) / float(divisor))
    found = graph.op.perform(values, graph.inputs[1].value)
    np.testing.assert_array_equal(found, values / divisor)
    np.testing.assert_array_equal(np.signbit(found[3:]), np.signbit(values[3:] / divisor))


def test_a_mode_inverts_divisors_unless_it_rounds_as_written():
    graph = x / 3
    assert rg.rewrite_graph(graph, mode="o4") is x * (1 / 3)
    assert rg.rewrite_graph(graph, mode="o4", nonfinite="keep") is x * (1 / 3)
    for out in ("rounded", "invert_divisoro"):
        assert rg.rewrite_graph(graph, mode=rg.mode("o4").excluding(out)) is graph


def test_inverses_combine_with_what_is_there():
    assert canonical(rg.rewrite_graph(x / 4 / 8, mode="o4")) == canonical(x * (1 / 32))
    assert canonical(rg.rewrite_graph(2 * x / 8, mode="o4")) == canonical(x * 0.25)
    assert rg.rewrite_graph(x / 3 * 3, mode="o4") is x
    assert rg.rewrite_graph(rg.round(x, 1), mode="o4") is rint(x * 10) / 10
    assert "/" not in str(rg.rewrite_graph(0.5 * x * (1 + erf(x / np.sqrt(2))), mode="o4"))


def test_a_compiled_quotient_is_that_of_numpy_up_to_a_rounding():
    values = np.random.default_rng(2).normal(size=1000).astype("float32")
    v = tensor("v", None, dtype="float32")
    found = rg.function([v], [v / 3, v / 3 / 7, v / 8], mode="o4")(values)
    for one, expected, ulp in zip(
        found, (values / 3, values / 3 / 7, values / 8), (2, 4, 0), strict=True
    ):
        np.testing.assert_array_max_ulp(one, expected, ulp)
