"""The source of a graph computes what NumPy does, in each library, for every op it has."""

from __future__ import annotations

import importlib.util
import inspect

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, UnsupportedOpError
from relgraph.export.spellings import LIBRARIES, SPELLINGS
from tests.backends.cases import BROADCAST, REDUCTIONS, graphs, integers, meaning, reduced, sample
from tests.backends.test_every_op import CLOSE, EXACT, SHAPES, SQUARE, elements
from tests.test_documentation import op_classes

INSTALLED = [x for x in LIBRARIES if importlib.util.find_spec(x)]
SPARSE = "Densify SparseMatmul SparseTranspose"


def defined(text, name="compute"):
    """Return the function that a text defines."""
    namespace = {}
    exec(text, namespace)
    return namespace[name]


def converter(library):
    """Return what makes an array of a library from NumPy's, and back."""
    if library == "torch":
        import torch

        return lambda x: torch.from_numpy(np.array(x)), np.asarray
    if library == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        return jax.numpy.asarray, np.asarray
    return np.asarray, np.asarray


def run(text, library, arrays):
    """Return the results of a text on NumPy's arrays, as such arrays."""
    there, back = converter(library)
    with np.errstate(all="ignore"):
        return back(defined(text)(*map(there, arrays)))


def written(build, inputs, library):
    """Return the source of one row of a table; None if the library has no such op."""
    try:
        return rg.source(rg.FunctionGraph(inputs, [build(*inputs)]), library)
    except UnsupportedOpError:
        return None


def test_every_op_has_a_spelling_in_numpy():
    elsewhere = ("Elementwise", "Cast", "Dim", "Copy", "AsGiven", "Empty")
    loaded = "relgraph.interop."  # the ops that hold functions of another library
    classes = {
        cls
        for cls in op_classes()
        if cls.__name__ not in elsewhere and not cls.__module__.startswith(loaded)
    }
    assert {x.__name__ for x in classes if x not in SPELLINGS} == set()


@pytest.mark.parametrize(
    ("library", "dtype"),
    [
        *[("numpy", d) for d in ("float64", "float32", "bool", "int8")],
        *[(x, "float64") for x in INSTALLED[1:]],
    ],
)
def test_what_is_exact_equals_numpy(library, dtype):
    x, y = rg.matrices("x y", shape=("m", "n"), dtype=dtype)
    v, k = rg.vector("v", shape=("n",), dtype=dtype), rg.vector("k", shape=(None,), dtype="int64")
    rng = np.random.default_rng(1)
    for key, (build, expected_of) in EXACT.items():
        text = written(build, [x, y, v, k], library)
        if text is None:
            assert library != "numpy", key
            continue
        for shape in SHAPES if library == "numpy" else ((3, 4), (1, 5)):
            a, b, c = (elements(dtype, s, rng) for s in (shape, shape, shape[1]))
            places = rng.permutation(shape[0])[: min(shape[0], 4)]
            arrays = (a, b, c, places)
            if library != "numpy":  # which differ in the order of NaN
                arrays = tuple(np.nan_to_num(z) if z.dtype.kind == "f" else z for z in arrays)
            with np.errstate(all="ignore"):
                expected = np.asarray(expected_of(*arrays))
            result = run(text, library, arrays)
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape), (key, text)
            np.testing.assert_array_equal(result, expected, err_msg=f"{key} {shape}\n{text}")


@pytest.mark.parametrize("library", INSTALLED)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("table", [CLOSE, SQUARE], ids=["close", "square"])
def test_what_is_rounded_equals_numpy(library, dtype, table):
    rng = np.random.default_rng(2)
    square = table is SQUARE
    shape = ("n", "n") if square else ("m", "n")
    inputs = [*rg.matrices("x y", shape=shape, dtype=dtype), rg.vector("v", ("n",), dtype)]
    a = rng.normal(size=(5, 5)) / 5 + 2 * np.eye(5)
    values = [a, a @ a.T, rng.normal(size=5)] if square else [
        rng.normal(size=s) for s in ((3, 4), (3, 4), 4)
    ]  # fmt: skip
    arrays = [x.astype(dtype) for x in values]
    tolerance = 1e-11 if dtype == "float64" else 1e-3
    for key, (build, expected_of) in table.items():
        text = written(build, inputs, library)
        if text is None or (key.endswith("of nothing") and library != "numpy"):
            assert library != "numpy", key
            continue
        if key in ("QR", "Schur", "QZ") and library != "numpy":
            continue  # unique up to signs
        expected = np.asarray(expected_of(*arrays))
        result = run(text, library, arrays)
        assert result.shape == expected.shape, (key, text)
        assert result.dtype == ("float64" if "Sign" in key else expected.dtype), (key, text)
        np.testing.assert_allclose(result, expected, tolerance, tolerance, err_msg=f"{key}\n{text}")


@pytest.mark.parametrize("library", INSTALLED)
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_elementwise_ops_equal_numpy(library, dtype):
    inputs, outputs = graphs(dtype)
    rng = np.random.default_rng(3)
    if np.dtype(dtype).kind == "f":
        x, y = (np.concatenate([[0.5, 1.0, 2.0], rng.uniform(0.1, 3, 40)]) for _ in range(2))
        x[1::2] *= -1
    else:
        x, y = integers(dtype, 40, 20, rng)[:40], rng.permutation(integers(dtype, 40, 20, rng))[:40]
        y = np.where(y == 0, np.ones_like(y), y)
        if np.dtype(dtype).kind == "i":
            x, y = x % 50, abs(y) % 7 + 1
    arrays = [x.astype(dtype), y.astype(dtype), rng.integers(0, 2, len(x)).astype(bool)]
    for name, output in outputs.items():
        try:
            text = rg.source(rg.FunctionGraph(inputs, [output]), library)
        except UnsupportedOpError:
            assert library != "numpy" or name in ("trigamma", "polygamma")
            continue
        if (library, name) == ("jax", "digamma") and dtype != "float64":
            continue  # NaN at 0, where SciPy has -inf
        if name == "power" and np.dtype(dtype).kind == "i":
            operands = (arrays[0], arrays[1].astype("uint8") % np.uint8(9))
        else:
            order = (arrays[2], *arrays[:2]) if name == "where" else (*arrays[:2], arrays[0])
            operands = order[: len(output.inputs)]
        expected = np.asarray(meaning(name, operands))
        result = run(text, library, arrays)
        assert (result.dtype, result.shape) == (output.dtype, expected.shape), (name, text)
        tolerance = {"float64": 1e-12, "float32": 1e-4}.get(result.dtype.name, 0)
        np.testing.assert_allclose(
            result, expected.astype(result.dtype), tolerance, tolerance, err_msg=f"{name}\n{text}"
        )


@pytest.mark.parametrize("library", INSTALLED)
@pytest.mark.parametrize("dtype", ["float64", "int8", "bool"])
def test_reductions_and_cumulative_ops_equal_numpy(library, dtype):
    a = sample(dtype, (2, 3, 4))
    x = rg.tensor("x", shape=a.shape, dtype=dtype)
    for axis, keepdims, name in REDUCTIONS:
        text = rg.source(getattr(np, name)(x, axis=axis, keepdims=keepdims), library)
        expected, result = reduced(name, a, axis, keepdims), run(text, library, [a])
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape), text
        np.testing.assert_allclose(result, expected, 1e-13, err_msg=text)
    for function, own in (
        (np.cumsum, np.cumsum),
        (np.cumprod, np.cumprod),
        (rg.cummax, np.maximum.accumulate),
        (rg.cummin, np.minimum.accumulate),
    ):
        for axis in (0, -1):
            text = rg.source(function(x, axis=axis), library)
            expected, result = own(a, axis=axis), run(text, library, [a])
            assert result.dtype == expected.dtype, text
            np.testing.assert_allclose(result, expected, 1e-13, err_msg=text)


@pytest.mark.parametrize("library", INSTALLED)
def test_operands_broadcast(library):
    rng = np.random.default_rng(4)
    for shapes in BROADCAST:
        arrays = [rng.normal(size=s) for s in shapes]
        x, y = (rg.tensor(n, a.shape) for n, a in zip("xy", arrays, strict=True))
        text = rg.source(rg.FunctionGraph([x, y], [np.maximum(x, y) - 2 * y]), library)
        np.testing.assert_array_equal(
            run(text, library, arrays), np.maximum(*arrays) - 2 * arrays[1]
        )


@pytest.mark.parametrize("library", INSTALLED)
def test_dtypes_promote_as_in_numpy(library):
    arrays = {
        d: np.array([1, 2, 3], d) for d in ("bool", "int8", "int32", "int64", "float32", "float64")
    }
    for d, a in arrays.items():
        for e, b in arrays.items():
            x, y = rg.vector("x", (3,), d), rg.vector("y", (3,), e)
            text = rg.source(rg.FunctionGraph([x, y], [x * y + x * 0.5]), library)
            expected = a * b + (a if d != "bool" else a.astype("float64")) * 0.5
            output = (x * y + x * 0.5).dtype
            result = run(text, library, [a, b])
            assert result.dtype == output, (d, e, text)
            np.testing.assert_allclose(result, expected.astype(output), 1e-6)


def test_names_shared_nodes_and_keeps_the_order_of_inputs():
    x, y = rg.vectors("x y", shape=("n",))
    z = rg.exp(x)
    text = rg.source(rg.FunctionGraph([y, x], [z * z + y]))
    assert text == inspect.cleandoc("""
        import numpy as np


        def compute(y, x):
            t0 = np.exp(x)
            return t0 * t0 + y""")


def test_names_of_inputs_do_not_hide_modules():
    np_, other = rg.vector("np", shape=(2,)), rg.vector("lambda", shape=(2,))
    text = rg.source(rg.exp(np_) + other)
    assert "def compute(np_, lambda_):" in text
    np.testing.assert_allclose(run(text, "numpy", [np.zeros(2), np.ones(2)]), [2.0, 2.0])


@pytest.mark.parametrize("library", INSTALLED)
@pytest.mark.parametrize("name", ["np", "int", "t0", "scipy"])
def test_an_input_may_have_the_name_of_what_the_source_calls(name, library):
    x, n = rg.matrix(name, shape=("n", "n")), rg.scalar("n", dtype="int32")
    text = rg.source(rg.broadcast_to(rg.sum(rg.exp(x.mT)), (n.astype("int64"),)), library)
    a = np.array([[0.0, 1.0], [2.0, 3.0]])
    result = run(text, library, [a, np.int32(3)])
    np.testing.assert_allclose(result, np.full(3, np.exp(a).sum()), err_msg=text)


def test_operators_have_the_brackets_that_python_needs():
    x, y = rg.vectors("x y", shape=(3,))
    a, b = np.array([1.0, -2.0, 3.0]), np.array([2.0, 2.0, -1.0])
    for build in (
        lambda x, y: x - (y - x),
        lambda x, y: (x + y) * -x / (y * x),
        lambda x, y: (-x) ** 2,
        lambda x, y: -(x**2),
        lambda x, y: ((x < y) < (y < x)) | (x <= y),
        lambda x, y: (x < y) & ~(y < x),
        lambda x, y: (x - -2.5) - (-2.5 - x),
        lambda x, y: (x + y)[::-1] @ (x - y),
    ):
        text = rg.source(rg.FunctionGraph([x, y], [build(x, y)]))
        np.testing.assert_array_equal(run(text, "numpy", [a, b]), build(a, b), err_msg=text)


def test_several_outputs():
    x = rg.vector("x", shape=("n",))
    a = np.array([1.0, 2.0])
    one = defined(rg.source([x + 1]))(a)
    assert isinstance(one, tuple) and len(one) == 1
    both = defined(rg.source({"up": x + 1, "down": x - 1}))(a)
    np.testing.assert_array_equal(both["up"] - both["down"], [2.0, 2.0])


def test_constants():
    x = rg.vector("x", shape=(3,))
    values = np.array([np.nan, -np.inf, 1e-300])
    text = rg.source(np.maximum(x, values) + np.float64("inf") * 1e-5)
    expected = np.maximum(np.ones(3), values) + np.inf
    np.testing.assert_array_equal(run(text, "numpy", [np.ones(3)]), expected)
    with pytest.raises(UnsupportedOpError, match="it has 2000 elements; make it an input"):
        rg.source(rg.vector("x", shape=(2000,)) + np.arange(2000.0))


def test_a_deep_graph_needs_no_recursion():
    x = rg.vector("x", shape=("n",))
    y = x
    for _ in range(20_000):
        y = rg.sin(y) + 1
    assert rg.source(y).count("np.sin") == 20_000


def test_a_function_has_a_source():
    x = rg.vector("x", shape=("n",))
    f = rg.function([x], rg.log(1 + rg.exp(x)))
    assert "np.logaddexp(0, x)" in rg.source(f)


def test_an_error_lists_all_ops_that_a_library_lacks():
    x = rg.vector("x", shape=("n",))
    with pytest.raises(UnsupportedOpError) as error:
        rg.source(rg.kv(x, x) + rg.polygamma(x, x) + rg.exp(x), "jax")
    message = str(error.value)
    assert "2 ops of the graph cannot be written with jax" in message
    assert "kv" in message and "polygamma" in message and "exp" not in message


@pytest.mark.parametrize(
    ("library", "advice"), [("Jax", "Did you mean 'jax'?"), (3, "Use one of these.")]
)
def test_unknown_libraries_raise(library, advice):
    with pytest.raises(ArgumentError, match=advice.replace("?", r"\?")):
        rg.source(rg.vector("x"), library)


@pytest.mark.parametrize("name", ["a b", "lambda", "np", 3])
def test_a_name_is_an_identifier_that_is_not_taken(name):
    with pytest.raises(ArgumentError, match="identifier"):
        rg.source(rg.vector("x"), name=name)
