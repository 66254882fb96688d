"""Elementwise ops against NumPy, SciPy and mpmath: values, dtypes, shapes, laws and errors."""

import math
import pickle
import sys

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import relgraph.numpy.operators  # noqa: F401 - the operators of graphs
from relgraph.errors import ArgumentError, DomainError, DTypeError, ShapeError
from relgraph.ir.infix import brief
from relgraph.ir.node import constant, make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.ops import elementwise
from relgraph.ops.elementwise import ROWS, Cast, Elementwise
from tests.concurrency import at_once

NAMES = list(ROWS)
REFERENCE = {name: getattr(np, name) for name in NAMES if hasattr(np, name)} | {
    name: lambda *x, name=row.scipy[0]: getattr(scipy.special, name)(*map(as_float, x))
    for name, row in ROWS.items()
    if row.scipy
}
TWO_FLOATS = ("polygamma", "kv", "kve", "iv", "ive")  # of an order
UNARY = [n for n in REFERENCE if ROWS[n].arity == 1]  # the others are compared with mpmath
BINARY = [n for n in REFERENCE if ROWS[n].arity == 2 and n not in TWO_FLOATS]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-30, -1e30, 5e-324, np.inf, -np.inf, np.nan]


def samples(dtype):
    """Return special and ordinary values of a dtype."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind == "f":
        info = np.finfo(dtype)
        return np.array([*FLOATS, info.max, info.tiny, info.smallest_subnormal], dtype)
    info = np.iinfo(dtype)
    return np.unique(np.array([info.min, info.max, 0, 1, 2, 3, 7, 100, info.max // 2], dtype))


def as_float(x):
    """Convert to float32 or float64, whichever NumPy's float functions take an array as."""
    if x.dtype.kind == "f":
        return x
    return x.astype("float32" if x.dtype.itemsize <= 2 else "float64")


def typed(name, dtype, shape=()):
    return make_input(name, TensorType(dtype, shape))


def numpy_answer(function, *arrays):
    """Return NumPy's result; where it is a float16, that of the same call on float32."""
    with np.errstate(all="ignore"):
        result = np.asarray(function(*arrays))
        if result.dtype == "float16":
            result = np.asarray(function(*(a.astype("float32") for a in arrays)))
    return result


def check(name, *arrays):
    """Compare an op with NumPy on arrays: type inferred, type computed, and values."""
    op = Elementwise(name)
    try:
        expected = numpy_answer(REFERENCE[name], *arrays)
    except TypeError:
        with pytest.raises(DTypeError):
            op(*(typed(f"x{i}", a.dtype, a.shape) for i, a in enumerate(arrays)))
        return
    node = op(*(typed(f"x{i}", a.dtype, a.shape) for i, a in enumerate(arrays)))
    with np.errstate(all="ignore"):
        result = op.perform(*arrays)
    assert isinstance(result, np.ndarray)
    assert node.type is TensorType(result.dtype, result.shape), (name, node.type, result.dtype)
    assert result.dtype == expected.dtype, (name, [a.dtype for a in arrays])
    np.testing.assert_array_equal(result, expected, err_msg=name)
    if expected.dtype.kind == "f":  # assert_array_equal takes -0.0 for 0.0
        np.testing.assert_array_equal(np.signbit(result), np.signbit(expected), err_msg=name)


def test_every_public_row_is_an_op_of_the_module():
    assert all(getattr(elementwise, n) is Elementwise(n) for n in NAMES if ROWS[n].public)
    assert elementwise.clip is not Elementwise("clip")  # a function that takes None for a bound


@pytest.mark.parametrize("name", UNARY)
def test_unary_ops_equal_numpy_for_every_dtype(name):
    for dtype in DTYPES:
        check(name, samples(dtype))
        check(name, samples(dtype)[:1].reshape(()))
        check(name, samples(dtype)[:0])


@pytest.mark.parametrize("name", BINARY)
def test_binary_ops_equal_numpy_for_every_pair_of_dtypes(name):
    for left in DTYPES:
        for right in DTYPES:
            a, b = samples(left)[:, None], samples(right)
            if name == "power" and right[0] != "f" and left[0] != "f" and right[0] != "b":
                b = b[b >= 0]
            check(name, a, b)


@pytest.mark.parametrize("left", DTYPES)
def test_where_promotes_its_branches_only(left):
    condition = np.array([True, False, True])
    for right in DTYPES:
        a, b = samples(left)[:1], samples(right)[-1:]
        check("where", condition, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_clip_equals_numpy(dtype):
    x = samples(dtype)
    check("clip", x, x[:1], x[-1:])
    check("clip", x, x[1:2], x[:1])  # low above high gives high
    check("clip", x, np.array(0, "int8"), np.array(2, "int16"))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_shapes_broadcast_as_in_numpy(data):
    name = data.draw(st.sampled_from(["add", "where", "clip", "maximum", "less", "arctan2"]))
    arity = ROWS[name].arity
    shapes = data.draw(
        mutually_broadcastable_shapes(num_shapes=arity, min_side=0, max_side=3, max_dims=3)
    ).input_shapes
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    arrays = [rng.standard_normal(shape) for shape in shapes]
    if name == "where":
        arrays[0] = arrays[0] > 0
    check(name, *arrays)


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(
        ["add", "multiply", "true_divide", "remainder", "floor_divide", "hypot"]),
    x=st.floats(), y=st.floats(),
)  # fmt: skip
def test_binary_ops_equal_numpy_for_any_floats(name, x, y):
    check(name, np.array(x), np.array(y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log1mexp_is_accurate(dtype):
    x = -np.concatenate([np.logspace(-30, 2.5, 200), [0.6931471805599453, 0.0, np.inf]])
    x = x.astype(dtype)
    result = Elementwise("log1mexp").perform(x)
    assert result.dtype == dtype
    with mpmath.workdps(200):
        for got, value in zip(result, x, strict=True):
            if value == 0:
                assert got == -np.inf
                continue
            exact = float(mpmath.log(1 - mpmath.exp(mpmath.mpf(float(value)))))
            info = np.finfo(dtype)
            subnormal = float(info.smallest_subnormal)
            assert math.isclose(float(got), exact, rel_tol=8 * info.eps, abs_tol=subnormal), value
    outside = Elementwise("log1mexp").perform(np.array([1.0, np.inf, np.nan]))
    assert np.isnan(outside).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("softplus", lambda x: mpmath.log(1 + mpmath.exp(x))),
        ("sigmoid", lambda x: 1 / (1 + mpmath.exp(-x))),
    ],
)
def test_softplus_and_sigmoid_are_accurate(name, exact, dtype):
    x = np.linspace(-80, 80, 161).astype(dtype)
    result = Elementwise(name).perform(x)
    assert result.dtype == dtype
    with mpmath.workdps(60):
        expected = [float(exact(mpmath.mpf(float(v)))) for v in x]
    np.testing.assert_allclose(result, expected, rtol=8 * np.finfo(dtype).eps)
    ends = Elementwise(name).perform(np.array([-np.inf, np.inf, np.nan], dtype))
    np.testing.assert_array_equal(ends, [0, 1 if name == "sigmoid" else np.inf, np.nan])


def test_float_functions_of_small_integers_give_float32():
    for name in ("exp", "sqrt", "arctan2", "sigmoid", "rint"):
        for dtype, expected in {
            "bool": "float32",
            "int8": "float32",
            "uint8": "float32",
            "int16": "float32",
            "uint16": "float32",
            "int32": "float64",
            "uint64": "float64",
        }.items():
            x = typed("x", dtype, (2,))
            op = Elementwise(name)
            assert op(*[x] * op.arity).dtype == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_numbers_are_weak(dtype):
    x = typed("x", dtype, (3,))
    array = np.ones(3, dtype)
    for number in (np.True_, 2, 2.5):
        expected = np.multiply(array, number)
        assert (x * number).dtype == expected.dtype
        assert (number * x).dtype == expected.dtype
    assert elementwise.where(typed("c", "bool"), x, 1).dtype == np.where(True, array, 1).dtype


def test_where_takes_weak_numbers_from_its_branches_only():
    c = typed("c", "bool", (3,))
    x = typed("x", "float32", (3,))
    assert elementwise.where(c, x, 0.5).dtype == "float32"
    assert elementwise.where(c, 1, 0).dtype == "int64"
    assert elementwise.where(c, 1, 0.5).dtype == "float64"
    assert elementwise.where(np.array([True, False, True]), x, 0).type is x.type


def test_where_needs_a_bool_condition():
    x = typed("x", "float64", (3,))
    with pytest.raises(ArgumentError, match=r"rg\.equal"):
        elementwise.where(x is x, x, 1)
    with pytest.raises(DTypeError, match="must be bool, not float64"):
        elementwise.where(x, x, 1)
    with pytest.raises(DTypeError, match="must be bool"):
        elementwise.where(1, x, 1)


@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
)
@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" in d])
def test_comparison_with_integers_out_of_range(name, dtype):
    array = samples(dtype)
    x = typed("x", dtype, array.shape)
    for number in (300, -1, 70000, -70000, 2**63, -(2**63), 2**64 - 1, 2**64, 10**30, -(10**30)):
        for swap in (False, True):
            ours = Elementwise(name)(*((number, x) if swap else (x, number)))
            expected = REFERENCE[name](*((number, array) if swap else (array, number)))
            values = [array if operand is x else operand.value for operand in ours.inputs]
            np.testing.assert_array_equal(ours.op.perform(*values), expected)


def test_arithmetic_with_integers_out_of_range_raises():
    with pytest.raises(DTypeError, match="does not fit"):
        typed("x", "uint8", (2,)) + 300


def test_integers_to_negative_constant_powers_raise():
    with pytest.raises(ValueError, match="negative integer powers"):
        typed("x", "int64", (2,)) ** -1
    with pytest.raises(DomainError):
        elementwise.power(3, constant(np.array([1, -2])))
    assert (typed("x", "float32", (2,)) ** -1).dtype == "float32"
    assert (typed("x", "int64", (2,)) ** -1.0).dtype == "float64"


def test_types_with_names_and_unknown_sizes():
    a = typed("a", "float32", ("n", None, 1))
    b = typed("b", "float64", ("n", 3, "k"))
    assert (a + b).type is TensorType("float64", ("n", 3, "k"))
    assert elementwise.exp(a).type is TensorType("float32", ("n", None, 1))
    assert elementwise.where(a > 0, b, 0).type is TensorType("float64", ("n", 3, "k"))
    assert (typed("u", "int8", (None,)) + typed("v", "int8", (None,))).type is TensorType(
        "int8", (None,)
    )


def test_shapes_that_do_not_broadcast_raise_and_name_the_operands():
    a, b = typed("a", "float64", ("n", 2)), typed("b", "float64", ("m", 2))
    with pytest.raises(ShapeError) as caught:
        elementwise.add(a, b)
    assert "add" in str(caught.value) and "a : float64[n, 2]" in str(caught.value)
    with pytest.raises(ShapeError):
        elementwise.add(a, typed("c", "float64", (2, 2)))


def test_dtypes_that_do_not_fit_raise_and_name_the_operands():
    with pytest.raises(DTypeError) as caught:
        elementwise.bitwise_and(typed("a", "float64"), typed("b", "int8"))
    assert "bitwise_and is not defined for float64, int8" in str(caught.value)
    assert "operand 1 : b : int8[]" in str(caught.value)
    with pytest.raises(DTypeError):
        elementwise.subtract(typed("p", "bool"), typed("q", "bool"))


def test_number_of_operands():
    x = typed("x", "float64", (2,))
    with pytest.raises(ArgumentError, match="takes 2 operands, not 1"):
        elementwise.subtract(x)
    assert elementwise.add(x, x, x) is elementwise.add(elementwise.add(x, x), x)


LAWS = {
    "associative": "add multiply maximum minimum logical_and logical_or bitwise_and bitwise_or "
    "bitwise_xor logaddexp",
    "commutative": "add multiply maximum minimum logical_and logical_or bitwise_and bitwise_or "
    "bitwise_xor logaddexp equal not_equal logical_xor",
    "idempotent": "maximum minimum logical_and logical_or bitwise_and bitwise_or",
}


@pytest.mark.parametrize("law", LAWS)
def test_laws(law):
    assert {n for n in NAMES if getattr(Elementwise(n), law)} == set(LAWS[law].split())


def test_ops_are_one_object_and_pickle_by_name():
    for name in NAMES:
        op = Elementwise(name)
        assert op is Elementwise(name)
        assert pickle.loads(pickle.dumps(op)) is op
        assert op.pointwise and not op.parameters and op.params == () and repr(op) == name
    assert len({Elementwise(n).digest for n in NAMES}) == len(NAMES)
    found = at_once(Elementwise, ["exp"] * 4)
    assert all(op is Elementwise("exp") for op in found)


def test_an_unknown_name_raises():
    with pytest.raises(ArgumentError, match="there is no elementwise function 'plus'"):
        Elementwise("plus")


def test_inferring_types_does_not_import_scipy():
    import subprocess

    code = (
        "import sys; from relgraph.ops import elementwise as e; "
        "from relgraph.ir.node import make_input; from relgraph.ir.types import TensorType; "
        "e.erf(make_input('x', TensorType('float64', (2,)))); "
        "print([m for m in ('scipy', 'numba') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda x, i: x + x * 2, "x + x * 2"),
        (lambda x, i: (x + 1) * 2, "(x + 1) * 2"),
        (lambda x, i: -(x**2), "-x ** 2"),
        (lambda x, i: (-x) ** 2, "(-x) ** 2"),
        (lambda x, i: x - (x - 1), "x - (x - 1)"),
        (lambda x, i: x / (x * x), "x / (x * x)"),
        (lambda x, i: i & ~i | i ^ 3, "i & ~i | i ^ 3"),
        (lambda x, i: (x < 1) & (x >= 0), "(x < 1) & (x >= 0)"),
        (lambda x, i: elementwise.equal(x, 0), "equal(x, 0)"),
        (lambda x, i: elementwise.where(x > 0, x, 0), "where(x > 0, x, 0)"),
        (lambda x, i: elementwise.left_shift(i, 2) + 1, "(i << 2) + 1"),
    ],
)
def test_printing_follows_python(build, text):
    x, i = typed("x", "float64", (2,)), typed("i", "int64", (2,))
    assert brief(build(x, i)) == text


def test_flops_weigh_transcendental_functions():
    x = typed("x", "float64", (10, 10))
    cost = {n: Elementwise(n).flops((x.type,), x.type) for n in ("negative", "sqrt", "exp", "erf")}
    assert cost["negative"] == 100
    assert cost["negative"] < cost["sqrt"] < cost["exp"] < cost["erf"]


@pytest.mark.parametrize("source", DTYPES)
def test_cast_equals_astype(source):
    x = samples(source)
    if np.dtype(source).kind == "f":
        x = np.array([0.0, -0.0, 1.5, 100.25, 3.0], source)
    for target in DTYPES:
        node = Cast(target)(typed("x", source, x.shape))
        with np.errstate(all="ignore"):
            result, expected = Cast(target).perform(x), x.astype(target)
        assert node.type is TensorType(target, x.shape)
        assert result.dtype == target
        np.testing.assert_array_equal(result, expected)


def test_cast_to_the_same_dtype_is_no_node():
    x = typed("x", "float32", (2,))
    assert elementwise.cast(x, np.float32) is x
    assert elementwise.cast(x, float).op is Cast("float64")
    assert Cast(np.dtype("float64")) is Cast("float64")
    assert pickle.loads(pickle.dumps(Cast("int8"))) is Cast("int8")
    with pytest.raises(DTypeError):
        elementwise.cast(x, "complex128")
    with pytest.raises(DTypeError, match="not None"):
        elementwise.cast(x, None)


def test_clip_without_a_bound():
    x = typed("x", "float64", (2,))
    assert elementwise.clip(x) is x
    assert elementwise.clip(x, 0).op is elementwise.maximum
    assert elementwise.clip(x, None, 1).op is elementwise.minimum
    assert elementwise.clip(x, 0, 1).op is Elementwise("clip")
    assert elementwise.clip(typed("i", "int8", (2,)), 0, 100).dtype == "int8"


def test_positive_and_conjugate_return_the_operand():
    x = typed("x", "float64", (2,))
    assert elementwise.positive(x) is x and elementwise.conjugate(x) is x
    assert elementwise.positive(2.0) is constant(2.0)


@pytest.mark.parametrize("decimals", [0, 1, 3])
def test_round_equals_numpy(decimals):
    values = np.array([0.05, 1.25, -2.675, 1234.5678, 2.5, 3.5])
    node = elementwise.round(constant(values), decimals)
    computed = run(node)
    np.testing.assert_allclose(computed, np.round(values, decimals), rtol=0, atol=1e-15)
    assert elementwise.round(typed("i", "int8", (2,)), decimals) is typed("i", "int8", (2,))
    with pytest.raises(ArgumentError, match="is an int"):
        elementwise.round(node, 0.5)


@pytest.mark.parametrize("decimals", [-1, -3])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16", "uint8"])
def test_round_to_tens_equals_numpy(decimals, dtype):
    values = np.array([0, 4, 5, 15, 25, 26, 99, 127]).astype(dtype)
    signed = values if dtype == "uint8" else np.concatenate([values, -values])
    computed = run(elementwise.round(constant(signed), decimals))
    np.testing.assert_array_equal(computed, np.round(signed, decimals), strict=True)


def test_round_takes_decimals_of_which_the_power_is_a_float():
    values = np.array([1.5, -2e300, 0.0])
    with np.errstate(over="ignore"):
        for decimals in (-308, 300):
            computed = run(elementwise.round(constant(values), decimals))
            np.testing.assert_array_equal(computed, np.round(values, decimals), strict=True)
    for decimals in (-309, 309, np.int16(-400)):
        with pytest.raises(DomainError, match="no float64") as caught:
            elementwise.round(constant(values), decimals)
        assert str(caught.value).endswith("Give decimals from -308 to 308.")
    whole = constant(np.array([1, 2]))
    assert elementwise.round(whole, 400) is whole
    with pytest.raises(DomainError, match="no float64"):
        elementwise.round(whole, -400)


class Recorder:
    """A pattern, as the relations layer has: it records the op applied to it."""

    def __relgraph_op__(self, op, operands):
        return op, operands


def test_functions_take_patterns():
    p = Recorder()
    assert elementwise.exp(p) == (elementwise.exp, (p,))
    assert elementwise.add(1, p) == (elementwise.add, (1, p))
    assert elementwise.where(p, p, 0) == (elementwise.where, (p, p, 0))
    assert elementwise.cast(p, "float32") == (Cast("float32"), (p,))
    assert elementwise.clip(p, 0, 1) == (Elementwise("clip"), (p, 0, 1))
    assert elementwise.clip(p, 0) == (elementwise.maximum, (p, 0))
    assert elementwise.round(p) == (elementwise.rint, (p,))
    assert elementwise.positive(p) is p


def test_an_open_dtype_passes_through():
    from unification import var

    dtype = var()
    assert elementwise.cast(Recorder(), dtype)[0].params == (dtype,)


def run(node):
    """Evaluate a small graph of constants with each op's own meaning."""
    return node.value if node.op is None else node.op.perform(*map(run, node.inputs))


@pytest.mark.parametrize("name", TWO_FLOATS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_of_an_order_equal_scipy(name, dtype):
    order = np.array([0, 1, 2, 3], dtype)[:, None]
    x = np.array([0.1, 0.5, 2.0, 30.0, 700.0, np.inf, np.nan], dtype)
    node = Elementwise(name)(typed("n", dtype, (4, 1)), typed("x", dtype, (7,)))
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(order, x).astype(dtype)
        result = node.op.perform(order, x)
    assert result.dtype == dtype and node.type is TensorType(dtype, (4, 7))
    np.testing.assert_array_equal(result, expected)
    assert Elementwise(name)(typed("n", "int8"), typed("x", "int8")).dtype == "float32"
    assert Elementwise(name)(typed("n", "int64"), typed("x", "float32")).dtype == "float64"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_logerfc_equals_mpmath(dtype):
    x = np.array([-30, -3, -1e-10, 0, 1e-20, 1e-5, 0.3, 0.999, 1, 1.001, 8, 27, 1e5], dtype)
    result = Elementwise("logerfc").perform(x)
    assert result.dtype == dtype
    with mpmath.workdps(40):
        for point, value in zip(x, result, strict=True):
            exact = logerfc(mpmath.mpf(float(point)))
            assert abs(float(value) - exact) <= 8 * np.finfo(dtype).eps * abs(exact), point
    with np.errstate(all="ignore"):
        special = Elementwise("logerfc").perform(np.array([np.inf, -np.inf, np.nan], dtype))
    np.testing.assert_allclose(special, [-np.inf, np.log(2), np.nan], rtol=1e-6)


def test_trigamma_equals_mpmath():
    x = np.array([1e-3, 0.5, 1, 2.5, 40, 1e9, -0.5, -2.7, -1000.25, -123456.75])
    result = Elementwise("trigamma").perform(x)
    with mpmath.workdps(40):
        for point, value in zip(x, result, strict=True):
            exact = mpmath.psi(1, mpmath.mpf(float(point)))
            assert abs(float(value) - exact) <= 1e-12 * abs(exact), point
    with np.errstate(all="ignore"):
        special = Elementwise("trigamma").perform(np.array([0.0, -3.0, np.inf, np.nan, -1e300]))
    np.testing.assert_array_equal(special, [np.inf, np.inf, 0, np.nan, np.inf])
    assert Elementwise("trigamma").perform(np.float32([2])).dtype == "float32"


def test_polygamma_has_no_value_where_its_order_is_no_order_or_its_series_too_long():
    assert np.isnan(Elementwise("polygamma").perform(-1.0, 2.0))
    assert np.isnan(Elementwise("polygamma").perform(3.0, -1e300))
    assert Elementwise("polygamma").perform(0.0, -2.5) == scipy.special.digamma(-2.5)


def logerfc(x):
    """Return log(erfc(x)) by its definition, or for a large x by its continued fraction."""
    if x < 1000:
        return mpmath.log(mpmath.erfc(x))
    return -x * x - mpmath.log(x * mpmath.sqrt(mpmath.pi)) + mpmath.log1p(-1 / (2 * x * x))
