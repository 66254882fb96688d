"""relgraph.numpy has NumPy's names, and they mean what NumPy means."""

import numpy as np
import pytest

import relgraph.numpy as rnp
from relgraph.ir.node import Variable, make_input
from relgraph.ir.types import TensorType
from relgraph.ops import elementwise
from relgraph.ops.numpy_protocol import ARRAY_FUNCTIONS, UFUNCS
from relgraph.ops.unsupported import INSTEAD
from tests.ops.evaluation import evaluate
from tests.ops.test_operators import FUNCTIONS, source_of

X = np.random.default_rng(0).standard_normal((3, 3)) + 3 * np.eye(3)


def graph(array=X):
    return make_input("x", TensorType(array.dtype, array.shape))


def test_all_is_complete_and_sorted():
    public = {name for name in vars(rnp) if not name.startswith("_")}
    helpers = {
        "SimpleNamespace", "Any", "annotations", "as_operand", "matrices", "norms", "npt",
        "products",
    }  # fmt: skip
    inside_linalg = {
        "cholesky", "det", "eigh", "eigvalsh", "inv", "qr", "slogdet", "solve", "svd",
    }  # fmt: skip
    assert set(rnp.__all__) == public - helpers - inside_linalg
    assert len(set(rnp.__all__)) == len(rnp.__all__)
    assert all(hasattr(rnp, name) for name in rnp.__all__)


def test_every_name_is_one_of_numpy():
    assert [name for name in rnp.__all__ if not hasattr(np, name)] == []
    assert [name for name in vars(rnp.linalg) if not hasattr(np.linalg, name)] == []


def test_every_ufunc_and_function_that_graphs_take_is_here():
    missing = [u.__name__ for u in UFUNCS if u.__name__ not in rnp.__all__]
    assert missing == []
    for function in ARRAY_FUNCTIONS:
        space = rnp.linalg if "linalg" in (function.__module__ or "") else rnp
        if function not in (np.copy, np.real, np.empty_like, np.result_type):
            assert hasattr(space, function.__name__), function


def test_what_graphs_have_needs_nothing_instead():
    taken = {u.__name__ for u in UFUNCS}
    taken |= {
        f"linalg.{f.__name__}" if "linalg" in (f.__module__ or "") else f.__name__
        for f in ARRAY_FUNCTIONS
    }
    assert len(INSTEAD) > 10
    assert INSTEAD.keys() & taken == set()


@pytest.mark.parametrize("ufunc", list(UFUNCS), ids=lambda u: u.__name__)
def test_ufuncs_have_the_same_meaning_under_either_name(ufunc):
    array = np.abs(X).astype("int64") if "bit" in ufunc.__name__ else X
    if ufunc.__name__ in ("invert", "left_shift", "right_shift"):
        array = np.abs(X).astype("int64")
    x = graph(array)
    ours = getattr(rnp, ufunc.__name__)
    assert ours(*[x] * ufunc.nin) == ufunc(*[x] * ufunc.nin)  # of graphs, identity


# Arguments that only NumPy's own functions take.
FOREIGN = ("None, None", "optimize", "np.copy")


@pytest.mark.parametrize(
    "function",
    [f for f in FUNCTIONS if not any(word in source_of(f) for word in FOREIGN)],
    ids=source_of,
)
def test_functions_equal_numpy(function):
    node = function(rnp, graph())
    expected = np.asarray(function(np, X))
    assert isinstance(node, Variable)
    result = evaluate(node, {"x": X})
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-12)


def test_asarray():
    x = graph()
    assert rnp.asarray(x) is x and rnp.array(x, "float64") is x
    assert rnp.asarray([1, 2]).type is TensorType("int64", (2,))
    assert rnp.asarray(x, "float32").op is elementwise.Cast("float32")
    assert (rnp.pi, rnp.float32, rnp.newaxis) == (np.pi, np.float32, None)


def test_functions_of_numbers_build_constants():
    assert evaluate(rnp.add(1, 2.5), {}) == 3.5
    assert evaluate(rnp.sum([1, 2, 3]), {}) == 6
