"""Facts: proved, disproved or unknown; declared, looked at, inferred and implied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special  # noqa: F401 - otherwise an example imports it, and exceeds its deadline

import relgraph as rg
from relgraph.errors import DomainError
from relgraph.ir.facts import MATRIX_FACTS, NAMES, NOTHING, VALUE_FACTS, Facts, kept, proved

x, y = rg.vectors("x y", shape=("n",))

IMPLICATIONS = [
    ("positive", "nonnegative"), ("positive", "nonzero"), ("negative", "nonpositive"),
    ("negative", "nonzero"), ("finite", "not_nan"), ("diagonal", "symmetric"),
    ("diagonal", "upper_triangular"), ("diagonal", "lower_triangular"), ("spd", "symmetric"),
    ("spd", "psd"), ("psd", "symmetric"), ("spd", "invertible"), ("orthogonal", "invertible"),
    ("invertible", "square"),
]  # fmt: skip

# What each fact says of an array, in NumPy.
MEANING = {
    "positive": lambda a: bool((np.isnan(a) | (a > 0)).all()),
    "nonnegative": lambda a: bool((np.isnan(a) | (a >= 0)).all()),
    "negative": lambda a: bool((np.isnan(a) | (a < 0)).all()),
    "nonpositive": lambda a: bool((np.isnan(a) | (a <= 0)).all()),
    "nonzero": lambda a: bool((a != 0).all()),
    "integer": lambda a: bool((np.isnan(a) | (np.trunc(a) == a)).all()),
    "finite": lambda a: bool(np.isfinite(a).all()),
    "not_nan": lambda a: not bool(np.isnan(a).any()),
}


def test_a_fact_has_three_values():
    assert rg.fact(rg.constant(2.0), "positive") is True
    assert rg.fact(rg.constant(-2.0), "positive") is False
    assert rg.fact(x, "positive") is None
    assert Facts().holds("positive") is None


@pytest.mark.parametrize(("one", "other"), IMPLICATIONS)
def test_implications(one, other):
    assert proved(one).holds(other) is True
    assert proved(other).holds(one) is None


def test_both_triangles_make_a_diagonal():
    assert proved("lower_triangular", "upper_triangular").holds("diagonal") is True
    both = proved("lower_triangular") | proved("upper_triangular")
    assert both.holds("symmetric") is True
    assert proved("lower_triangular").holds("symmetric") is None


def test_semidefinite_and_invertible_is_definite():
    assert proved("psd", "invertible").holds("spd") is True
    assert (proved("psd") | proved("invertible")).holds("spd") is True
    assert proved("psd", "symmetric").holds("spd") is None


def test_joining_and_keeping():
    known = proved("positive") | proved("finite")
    assert known.names() == ("positive", "nonnegative", "nonzero", "finite", "not_nan")
    assert kept(known, "nonnegative", "integer") == proved("nonnegative")
    assert kept(NOTHING, *NAMES) == NOTHING
    assert set(VALUE_FACTS) | set(MATRIX_FACTS) == set(NAMES)


@pytest.mark.parametrize("name", VALUE_FACTS)
def test_declared_facts(name):
    p = rg.vector("p", facts=name)
    assert rg.fact(p, name) is True
    assert p is rg.vector("p", facts=(name,))
    assert p is not rg.vector("p")
    assert rg.fact(rg.vector("p"), name) is None


@pytest.mark.parametrize("name", MATRIX_FACTS)
def test_declared_facts_of_matrices(name):
    S = rg.matrix("S", shape=("n", "n"), facts=name)
    assert rg.fact(S, name) is True
    assert rg.fact(S, "square") is True
    oblong = rg.tensor("S", shape=(2, 3), facts="selection")
    assert rg.fact(oblong, "selection") is True and rg.fact(oblong, "square") is False
    for shape in ((2, 3), (3,))[name == "selection" :]:
        with pytest.raises(DomainError, match="cannot be"):
            rg.tensor("S", shape=shape, facts=name)


@pytest.mark.parametrize("bad", ["postive", "", "Positive"])
def test_facts_that_do_not_exist(bad):
    for ask in (lambda: rg.fact(x, bad), lambda: rg.vector("p", facts=(bad,)),
                lambda: rg.facto(x, bad), lambda: rg.assume(x, bad)):  # fmt: skip
        with pytest.raises(DomainError, match="there is no fact"):
            ask()


@given(
    arrays(
        st.sampled_from(["float64", "float32", "int8", "uint8"]),
        st.sampled_from([(), (1,), (3,), (2, 2)]),
        elements=st.sampled_from([0, 1, 2, 3]),
    ),
    st.lists(st.sampled_from([-1.0, 0.5, -0.0, np.nan, np.inf, -np.inf]), max_size=2),
)
def test_a_constant_is_looked_at(array, specials):
    if array.dtype.kind == "f" and array.size:
        for place, value in enumerate(specials):
            array.reshape(-1)[place % array.size] = value
    with np.errstate(invalid="ignore"):
        for name, holds in MEANING.items():
            assert rg.fact(rg.constant(array), name) is holds(array), name


def test_an_empty_constant_has_every_sign():
    empty = rg.constant(np.zeros(0))
    assert all(rg.fact(empty, name) is True for name in MEANING)


@pytest.mark.parametrize(
    ("array", "true", "false"),
    [
        ([[1.0, 2.0], [2.0, 5.0]], ("symmetric", "square"), ("lower_triangular", "diagonal")),
        ([[1.0, 0.0], [2.0, 5.0]], ("lower_triangular",), ("upper_triangular", "symmetric")),
        ([[1.0, 2.0], [0.0, 5.0]], ("upper_triangular",), ("lower_triangular", "symmetric")),
        ([[1.0, 0.0], [0.0, 5.0]], ("diagonal", "symmetric"), ()),
        ([[1.0, 2.0, 3.0]], (), ("square",)),
    ],
)
def test_constant_matrices(array, true, false):
    node = rg.constant(np.array(array))
    assert all(rg.fact(node, name) is True for name in true)
    assert not any(rg.fact(node, name) for name in false)


@pytest.mark.parametrize(
    ("dtype", "true"),
    [
        ("bool", ("nonnegative", "integer", "finite", "not_nan")),
        ("uint8", ("nonnegative", "integer", "finite", "not_nan")),
        ("int8", ("integer", "finite", "not_nan")),
        ("float32", ()),
    ],
)
def test_dtypes_prove_facts(dtype, true):
    assert rg.facts(rg.vector("v", dtype=dtype)).names() == true


def test_shapes_prove_facts():
    assert rg.fact(rg.matrix("A", shape=("n", "n")), "square") is True
    assert rg.fact(rg.matrix("A", shape=(2, 3)), "square") is False
    assert rg.fact(rg.matrix("A", shape=("n", "m")), "square") is None
    assert rg.fact(rg.matrix("A", shape=(None, None)), "square") is None
    assert rg.fact(x, "square") is False


def test_facts_speak_of_the_computed_value():
    assert rg.fact(rg.exp(x), "nonnegative") is True
    assert rg.fact(rg.exp(x), "positive") is not True  # it underflows
    assert rg.fact(rg.exp(x), "finite") is not True  # it overflows
    p = rg.vector("p", facts=("positive", "finite"))
    assert rg.fact(p + p, "positive") is True
    assert rg.fact(p + p, "finite") is not True
    assert rg.fact(p * p, "nonzero") is not True
    assert rg.fact(x - x, "nonnegative") is None


def test_assumptions_are_nodes_of_their_own():
    assumed = rg.assume(x + y, "positive")
    assert assumed is not x + y
    assert rg.fact(assumed, "positive") is True
    assert rg.fact(x + y, "positive") is None
    a = np.array([1.0, 2.0])
    np.testing.assert_array_equal(rg.evaluate(assumed, {x: a, y: a}), a + a)


def test_deep_graphs():
    node = x
    for _ in range(20_000):
        node = rg.exp(node)
    assert rg.fact(node, "nonnegative") is True


INTERVALS = ["[0, 1]", "(0, 1)", "[0, 1)", "(-2, 0.5]", "[1, inf]", "(-inf, -1]"]


@pytest.mark.parametrize("text", INTERVALS)
def test_an_interval_is_a_fact(text):
    v = rg.vector("v", facts=text)
    assert v is rg.vector("v", facts=text.replace(" ", "")) and v is not rg.vector("v")
    assert rg.fact(v, text) is True
    assert rg.fact(v, "[-inf, inf]") is True
    assert rg.fact(v, "[0.25, 0.5]") is None
    assert rg.fact(rg.assume(x, text), text) is True


def test_intervals_prove_signs_and_signs_prove_intervals():
    names = {"[0, 1]": "nonnegative", "(0, 1]": "positive", "[-1, 0)": "negative"}
    for text, name in names.items():
        assert rg.fact(rg.vector("v", facts=text), name) is True
    assert rg.fact(rg.vector("v", facts="[0, 1]"), "positive") is None
    assert rg.fact(rg.vector("v", facts="(0, 1)"), "finite") is None  # NaN is in no interval
    assert rg.fact(rg.vector("v", facts=("(0, 1)", "not_nan")), "finite") is True
    assert rg.fact(rg.vector("p", facts="positive"), "(0, inf]") is True
    assert rg.fact(rg.vector("v", facts=("[-1, 1]", "nonnegative")), "[0, 1]") is True


@pytest.mark.parametrize("bad", ["[1, 0]", "(1, 1)", ("[0, 1]", "[2, 3]")])
def test_intervals_without_a_number_are_refused(bad):
    with pytest.raises(DomainError, match="has no number in"):
        rg.vector("v", facts=bad)


@pytest.mark.parametrize("bad", ["[0; 1]", "[0, 1", "[a, b]", "[nan, 1]"])
def test_texts_that_are_no_interval(bad):
    with pytest.raises(DomainError, match="there is no fact"):
        rg.vector("v", facts=bad)


INSIDE = {
    "1 - v": lambda v: 1 - v,
    "v - 1": lambda v: v - 1,
    "2 v + 1": lambda v: 2 * v + 1,
    "v / (1 - v)": lambda v: v / (1 - v),
    "1 / (1 + v)": lambda v: 1 / (1 + v),
    "-v": lambda v: -v,
    "|v - 1|": lambda v: abs(v - 1),
    "v v": lambda v: v * v,
    "v (1 - v)": lambda v: v * (1 - v),
    "(v - 0.5)^2": lambda v: rg.square(v - 0.5),
    "v / 2.5": lambda v: v / 2.5,
    "2.5 v": lambda v: 2.5 * v,
    "sqrt": rg.sqrt,
    "exp": rg.exp,
    "log": rg.log,
    "tanh": rg.tanh,
    "sigmoid": rg.sigmoid,
    "max": lambda v: rg.maximum(v, 0.25),
    "min": lambda v: rg.minimum(v, 0.25),
    "clip": lambda v: rg.clip(v, -1.0, 0.75),
    "where": lambda v: rg.where(v > 0.5, v, v / 2),
    "index": lambda v: rg.stack([v, v + 1.0])[1],
    "largest": rg.max,
}


@pytest.mark.parametrize("name", INSIDE)
@given(st.sampled_from(INTERVALS), st.lists(st.floats(0, 1), min_size=1, max_size=6),
       st.sampled_from(["float64", "float32"]))  # fmt: skip
def test_computed_values_are_in_the_inferred_interval(name, text, shares, dtype):
    bounds = rg.facts(rg.vector("v", facts=text)).bounds()
    low, high = max(bounds.low, -50.0), min(bounds.high, 50.0)
    values = np.array([low + share * (high - low) for share in shares]).astype(dtype)
    ends = (np.asarray(low, dtype), np.asarray(high, dtype))
    near = [np.nextafter(ends[0], ends[1]), np.nextafter(ends[1], ends[0])]
    values = np.append(values, np.array(near, dtype))
    above = values > bounds.low if bounds.low_open else values >= bounds.low
    below = values < bounds.high if bounds.high_open else values <= bounds.high
    values = values[above & below]
    v = rg.vector("v", dtype=dtype, facts=text)
    node = INSIDE[name](v)
    result = rg.facts(node).bounds()
    with np.errstate(all="ignore"):
        computed = np.asarray(rg.evaluate(node, {v: values}), float)
    computed = computed[~np.isnan(computed)]
    assert ((computed > result.low) if result.low_open else (computed >= result.low)).all()
    assert ((computed < result.high) if result.high_open else (computed <= result.high)).all()


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(
    ("dtype", "text"), [("float32", "[-100, -90]"), ("float64", "[-744, -720]")]
)
def test_bounds_hold_where_a_function_may_return_0_or_a_subnormal_number(dtype, text, target):
    v = rg.vector("v", dtype=dtype, facts=text)
    ends = rg.facts(v).bounds()
    node = rg.sigmoid(v)
    result = rg.facts(node).bounds()
    values = np.linspace(ends.low, ends.high, 40).astype(dtype)
    computed = rg.function([v], node, mode=None, target=target)(values)
    assert (computed >= result.low).all() and (computed <= result.high).all()


OF_INTEGERS = {
    "v + 1": lambda v: v + 1,
    "3 - v": lambda v: 3 - v,
    "v - v": lambda v: v - v[::-1],
    "2 v": lambda v: 2 * v,
    "v v": lambda v: v * v[::-1],
    "-v": lambda v: -v,
    "|v|": abs,
    "square": rg.square,
    "max": lambda v: rg.maximum(v, 3),
    "min": lambda v: rg.minimum(v, 3),
    "clip": lambda v: rg.clip(v, 2, 7),
    "reciprocal": lambda v: rg.reciprocal(rg.clip(v, 1, 7)),
    "where": lambda v: rg.where(v > 4, v, 1),
    "wide": lambda v: v.astype("int64") + 1,
    "float32": lambda v: v.astype("float32"),
    "float16 of a sum": lambda v: (v.astype("int64") + 2**20).astype("float32"),
    "test": lambda v: (v > 3).astype("int32") - 1,
}


@pytest.mark.parametrize("name", OF_INTEGERS)
@pytest.mark.parametrize("text", ["[0, 9]", "[1, 3]", "[-5, 4]", "[-inf, 9]", "[100, 127]", ""])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64"])
def test_computed_integers_are_in_the_inferred_interval(name, text, dtype):
    limits = np.iinfo(dtype)
    bounds = rg.facts(rg.vector("v", dtype=dtype, facts=text or ())).bounds()
    low, high = max(bounds.low, limits.min), min(bounds.high, limits.max)
    ends = [int(low), min(int(low) + 1, int(high)), int(low / 2 + high / 2)]
    ends += [max(int(high) - 1, int(low)), int(high) if high < 2**62 else int(limits.max)]
    values = np.array([x for x in {*ends, *range(-5, 10)} if low <= x <= high], dtype)
    v = rg.vector("v", dtype=dtype, facts=text or ())
    node = OF_INTEGERS[name](v)
    result = rg.facts(node).bounds()
    with np.errstate(all="ignore"):
        computed = np.asarray(rg.evaluate(node, {v: values}), float)
    assert (computed >= result.low).all() and (computed <= result.high).all()


def test_intervals_of_integers():
    v = rg.vector("v")
    place = rg.clip(v.astype("int64"), 0, 9)
    byte = rg.vector("b", dtype="uint8")
    for node, expected in (
        (place, (0, 9)),
        (place - (v < 1.0).astype("int64"), (-1, 9)),
        (rg.maximum(place - 1, 0) + 1, (1, 9)),
        (byte.astype("int64"), (0, 255)),
        (byte.astype("int64") + 1, (1, 256)),
    ):
        bounds = rg.facts(node).bounds()
        assert (bounds.low, bounds.high) == expected


def test_intervals_decide_relations():
    u = rg.vector("u", facts="(0, 1)")
    p = rg.vector("p", facts="[0, inf)")
    for graph, expected in (
        (rg.sigmoid(rg.log(u / (1 - u))), u),
        (rg.sigmoid(rg.log(u) - rg.log1p(-u)), u),
        (rg.sqrt(p**2), p),
        (rg.sqrt(rg.square(1 - u)), 1 - u),
        (abs(1 - u), 1 - u),
        (rg.maximum(u, 0.0), u),
        (rg.maximum(1 - u, 0.0), 1 - u),
        (rg.exp(rg.log(u)), u),
        (rg.log(rg.exp(u)), u),
    ):
        assert rg.rewrite_graph(graph, mode="o4") is rg.rewrite_graph(expected, mode="o4")
    points = np.array([1e-12, 0.25, 1 - 1e-12])
    graph = rg.sigmoid(rg.log(u / (1 - u)))
    np.testing.assert_allclose(rg.function([u], graph)(points), points, rtol=1e-12)
