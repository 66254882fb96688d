"""Every fact an elementwise op or a reduction concludes is true of what it computes.

For each op and each choice of facts of the operands, the operands hold every special value that
satisfies those facts (NaN, infinities, both zeros, subnormals, the largest and least numbers,
integers that wrap around), in all combinations; then hypothesis draws others.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import relgraph.numpy.operators  # noqa: F401 - the operators of graphs
from relgraph.ir.fact_inference import facts_of
from relgraph.ir.facts import VALUE_FACTS
from relgraph.ir.node import constant, make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.ops import elementwise, reductions
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.elementwise import ROWS, Cast, Elementwise

# The meaning of each fact, element by element.
MEANING = {
    "positive": lambda x: ~(x <= 0),
    "nonnegative": lambda x: ~(x < 0),
    "negative": lambda x: ~(x >= 0),
    "nonpositive": lambda x: ~(x > 0),
    "nonzero": lambda x: x != 0,
    "integer": lambda x: np.isnan(x) | (np.floor(x) == x),
    "finite": np.isfinite,
    "not_nan": lambda x: ~np.isnan(x),
}
MATRIX_MEANING = {
    "symmetric": lambda x: np.array_equal(x, np.swapaxes(x, -1, -2), equal_nan=True),
    "lower_triangular": lambda x: not np.triu(x, 1).any(),
    "upper_triangular": lambda x: not np.tril(x, -1).any(),
}
CHOICES = [
    (),
    ("not_nan",),
    ("finite",),
    ("integer",),
    ("nonzero",),
    ("finite", "nonzero"),
    ("positive",),
    ("nonnegative",),
    ("negative",),
    ("nonpositive",),
    ("nonnegative", "not_nan"),
    ("nonpositive", "not_nan"),
    ("positive", "not_nan"),
    ("positive", "finite"),
    ("nonnegative", "finite"),
    ("negative", "finite"),
    ("integer", "nonzero", "not_nan"),
    ("integer", "finite", "nonnegative"),
    ("positive", "integer"),
]

REDUCER_NAMES = "Sum Prod Max Min Mean Any All Argmax Argmin LogSumExp Softmax LogSoftmax"


def pool(dtype):
    """Return the special values of a dtype."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind == "f":
        info = np.finfo(dtype)
        some = [0.0, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 8.0, 100.0, 2.0**53, 1e-9, 1e20, np.pi, np.inf]
        some += [info.max, info.tiny, info.smallest_subnormal, info.eps, info.max / 2]
        half = np.array(some, dtype)
        return np.concatenate([half, -half, [np.array(np.nan, dtype)]]).astype(dtype)
    info = np.iinfo(dtype)
    near = [0, 1, 2, 3, 5, 10, 16, 100, info.max, info.max - 1, info.max // 2 + 1]
    if kind == "i":
        near += [-1, -2, -3, -16, -100, info.min, info.min + 1]
    return np.array(near, dtype)


def satisfying(values, facts):
    keep = np.ones(values.shape, bool)
    for fact in facts:
        keep &= MEANING[fact](values)
    return values[keep]


def check(node, arrays):
    """Compute a node and test each value fact that is concluded of it."""
    with np.errstate(all="ignore"):
        result = node.op.perform(*arrays)
    for fact in facts_of(node).names():
        if fact in MEANING:
            fails = ~MEANING[fact](result)
            assert not fails.any(), f"{node} is not {fact}: {result[fails][:3]}"


def arguments(dtypes, facts):
    """Return inputs with declared facts, and arrays of all values that satisfy them."""
    n = len(dtypes)
    arrays = []
    for place, (dtype, some) in enumerate(zip(dtypes, facts, strict=True)):
        values = satisfying(pool(dtype), some)
        arrays.append(values.reshape([-1 if i == place else 1 for i in range(n)]))
    inputs = [
        make_input(f"x{i}", TensorType(a.dtype, a.shape), some)
        for i, (a, some) in enumerate(zip(arrays, facts, strict=True))
    ]
    return inputs, arrays


def accepted(name, dtypes):
    try:
        ROWS[name].loop(name, tuple(map(np.dtype, dtypes)))
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("name", [n for n in ROWS if ROWS[n].arity == 1])
def test_facts_of_unary_ops(name):
    for dtype in DTYPES:
        if not accepted(name, [dtype]):
            continue
        for facts in CHOICES:
            (x,), arrays = arguments([dtype], [facts])
            check(Elementwise(name)(x), arrays)


@pytest.mark.parametrize("name", [n for n in ROWS if ROWS[n].arity == 2])
def test_facts_of_binary_ops(name):
    pairs = [(d, d) for d in ("float64", "float32", "int8", "int64", "uint8", "bool")]
    pairs += [("int64", "float32"), ("float64", "uint8"), ("int8", "uint64")]
    for dtypes in pairs:
        if not accepted(name, dtypes):
            continue
        for facts in itertools.product(CHOICES, repeat=2):
            inputs, arrays = arguments(dtypes, facts)
            if name == "power" and np.result_type(*dtypes).kind in "iu":
                arrays[1] = np.abs(arrays[1]) % 7
                inputs[1] = make_input("x1", TensorType(arrays[1].dtype, arrays[1].shape))
            check(Elementwise(name)(*inputs), arrays)


@pytest.mark.parametrize("dtype", ["float64", "int8"])
@pytest.mark.parametrize("name", ["where", "clip"])
def test_facts_of_choices(name, dtype):
    for facts in itertools.product(CHOICES[::2], repeat=3 if name == "clip" else 2):
        if name == "where":
            inputs, arrays = arguments(["bool", dtype, dtype], [(), *facts])
        else:
            inputs, arrays = arguments([dtype] * 3, facts)
        check(Elementwise(name)(*inputs), arrays)


@pytest.mark.parametrize("number", [np.nan, [np.nan, np.nan], []], ids=["nan", "nans", "empty"])
@pytest.mark.parametrize("name", [n for n in ROWS if ROWS[n].arity == 2])
def test_facts_beside_a_constant_without_a_number(name, number):
    value = np.asarray(number, "float64")
    for dtype, facts in itertools.product(("float64", "uint8"), CHOICES):
        if accepted(name, [dtype, "float64"]):
            values = satisfying(pool(dtype), facts).reshape(-1, *[1] * value.ndim)
            x, c = make_input("x", TensorType(dtype, values.shape), facts), constant(value)
            check(Elementwise(name)(x, c), [values, value])
            check(Elementwise(name)(c, x), [value, values])


@pytest.mark.parametrize("name", [n for n in ROWS if ROWS[n].arity == 2])
def test_facts_of_an_operand_with_itself(name):
    for dtype in ("float64", "int8", "bool"):
        if not accepted(name, [dtype] * 2):
            continue
        for facts in CHOICES:
            (x,), (values,) = arguments([dtype], [facts])
            if name == "power" and dtype == "int8":
                values = values[values >= 0]
            check(Elementwise(name)(x, x), [values, values])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 2, 3, 0.5, np.inf, -np.inf, np.nan])
def test_facts_of_constant_powers(exponent, dtype):
    for facts in CHOICES:
        (x,), (values,) = arguments([dtype], [facts])
        power = constant(exponent, dtype)
        check(elementwise.power(x, power), [values, power.value])


@pytest.mark.parametrize("source", DTYPES)
def test_facts_of_casts(source):
    for target, facts in itertools.product(DTYPES, CHOICES):
        (x,), arrays = arguments([source], [facts])
        check(Cast(target)(x), arrays)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_facts_of_drawn_values(data):
    name = data.draw(st.sampled_from([n for n in ROWS if ROWS[n].arity < 3]))
    dtype = data.draw(st.sampled_from(["float64", "float32", "int8", "int64", "uint16"]))
    arity = ROWS[name].arity
    if not accepted(name, [dtype] * arity):
        return
    arrays = [
        data.draw(hnp.arrays(dtype, st.integers(0, 4).map(lambda n: (n,)) if arity == 1 else 3))
        for _ in range(arity)
    ]
    if name == "power" and dtype[0] != "f":
        arrays[1] = np.abs(arrays[1]) % 5
    inputs = []
    for place, array in enumerate(arrays):
        true = [fact for fact in VALUE_FACTS if MEANING[fact](array).all()]
        some = data.draw(st.lists(st.sampled_from(true), unique=True)) if true else []
        inputs.append(make_input(f"x{place}", TensorType(dtype, array.shape), some))
    check(Elementwise(name)(*inputs), arrays)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "int64", "uint64", "bool"])
@pytest.mark.parametrize(
    "cls",
    [getattr(reductions, name) for name in REDUCER_NAMES.split()] + Cumulative.__subclasses__(),
)
def test_facts_of_reductions(cls, dtype):
    rng = np.random.default_rng(0)
    for facts in CHOICES:
        values = satisfying(pool(dtype), facts)
        for size in (0, 1, 2, 5, 40):
            if size and not values.size:
                continue
            array = rng.choice(values, (30, size)) if size else np.empty((30, 0), dtype)
            if getattr(cls, "nonempty", False) and not size:
                continue
            for static in (True, False):
                x = make_input("x", TensorType(dtype, (30, size if static else None)), facts)
                check(cls(-1)(x), [array])


@pytest.mark.parametrize(
    ("build", "facts"),
    [
        (lambda x, p: elementwise.exp(x), {"nonnegative"}),
        (lambda x, p: elementwise.exp(p), {"positive", "nonnegative", "nonzero"}),
        (lambda x, p: p + elementwise.exp(x), {"positive", "nonnegative", "nonzero"}),
        (lambda x, p: p * p, {"nonnegative"}),
        (lambda x, p: x * x, {"nonnegative"}),
        (lambda x, p: x - x, set()),
        (lambda x, p: elementwise.sqrt(p), {"positive", "nonnegative", "nonzero"}),
        (lambda x, p: elementwise.log1p(elementwise.exp(x)), {"nonnegative"}),
        (lambda x, p: -p, {"negative", "nonpositive", "nonzero"}),
        (lambda x, p: elementwise.tanh(x), set()),
        (lambda x, p: elementwise.sigmoid(x), {"nonnegative"}),
        (lambda x, p: elementwise.maximum(x, 1), {"positive", "nonnegative", "nonzero"}),
        (lambda x, p: x**2, {"nonnegative"}),
        (lambda x, p: 1 / p, {"nonnegative"}),
        (lambda x, p: elementwise.floor(x), {"integer"}),
    ],
)
def test_what_is_concluded(build, facts):
    x = make_input("x", TensorType("float64", (3,)))
    p = make_input("p", TensorType("float64", (3,)), ["positive"])
    assert set(facts_of(build(x, p)).names()) == facts


def test_integers_that_wrap_around_keep_no_sign():
    p = make_input("p", TensorType("int8", (3,)), ["positive"])
    for node in (p + p, p * p, elementwise.square(p), p**2, elementwise.left_shift(p, 1)):
        assert set(facts_of(node).names()) == {"integer", "finite", "not_nan"}
    n = make_input("n", TensorType("int8", (3,)))
    assert facts_of(elementwise.absolute(n)).holds("nonnegative") is None


def matrix_of(rng, fact, n):
    a = np.round(rng.standard_normal((n, n)), 2)
    if fact == "symmetric":
        return a + a.T
    return {"lower_triangular": np.tril, "upper_triangular": np.triu}.get(fact, np.copy)(a)


@pytest.mark.parametrize("name", [n for n in ROWS if accepted(n, ["float64"] * ROWS[n].arity)])
def test_structure_of_matrices_is_true_of_the_result(name):
    rng = np.random.default_rng(1)
    shapes = {"matrix": (3, 3), "scalar": (), "one": (1, 1), "row": (1, 3), "batch": (2, 1, 1)}
    facts = [None, "symmetric", "lower_triangular", "upper_triangular"]
    operands = [("matrix", f, v) for f in facts for v in ((), ("finite",))]
    operands += [(k, None, v) for k in list(shapes)[1:] for v in ((), ("finite", "nonzero"))]
    operands += [("one", "lower_triangular", ())]
    for chosen in itertools.product(operands, repeat=ROWS[name].arity):
        inputs, arrays = [], []
        for place, (kind, fact, values) in enumerate(chosen):
            declared = (*([fact] if fact else []), *values)
            inputs.append(make_input(f"x{place}", TensorType("float64", shapes[kind]), declared))
            array = (
                matrix_of(rng, fact, 3) if kind == "matrix" else rng.standard_normal(shapes[kind])
            )
            if not values and kind != "matrix":
                array = np.where(rng.random(array.shape) < 0.3, np.inf, array)
            arrays.append(array)
        node = Elementwise(name)(*inputs)
        with np.errstate(all="ignore"):
            result = node.op.perform(*arrays)
        for fact in facts_of(node).names():
            if fact in MATRIX_MEANING:
                assert MATRIX_MEANING[fact](result), f"{node} is not {fact}"


def test_structure_that_is_kept():
    def matrix(name, *facts):
        return make_input(name, TensorType("float64", ("n", "n")), facts)

    s, t = matrix("s", "symmetric"), matrix("t", "spd")
    low, other = matrix("low", "lower_triangular"), matrix("other", "lower_triangular")
    assert facts_of(s + t).holds("symmetric")
    assert facts_of(elementwise.exp(s) * 2).holds("symmetric")
    assert facts_of(low + other).holds("lower_triangular")
    assert facts_of(2 * low).holds("lower_triangular")
    assert facts_of(low / 2).holds("lower_triangular")
    c = make_input("c", TensorType("bool", ()))
    assert facts_of(elementwise.where(c, low, other)).holds("lower_triangular")
    assert not facts_of(elementwise.where(c, low, 1.0)).holds("lower_triangular")
    assert not facts_of(elementwise.exp(low)).holds("lower_triangular")
    assert not facts_of(low + 1).holds("lower_triangular")
    assert not facts_of(low * s).holds("lower_triangular")  # 0 * inf
    assert not facts_of(s + make_input("v", TensorType("float64", ("n",)))).holds("symmetric")
