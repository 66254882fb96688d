"""relgraph.numpy has NumPy's names, and they mean what NumPy means."""

import inspect
import itertools
import math
import re
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import ArgumentError, DomainError, RelgraphError, UnsupportedAttributeError
from relgraph.ir.node import Variable, make_input
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType
from relgraph.numpy.protocol import ARRAY_FUNCTIONS, UFUNCS
from relgraph.numpy.unsupported import INSTEAD
from relgraph.ops import elementwise
from tests.numpy.test_operators import FUNCTIONS, source_of
from tests.ops.evaluation import TYPINGS, check, evaluate, typed

X = np.random.default_rng(0).standard_normal((3, 3)) + 3 * np.eye(3)


def graph(array=X):
    return make_input("x", TensorType(array.dtype, array.shape))


def test_all_is_complete_and_sorted():
    public = {name for name in vars(rnp) if not name.startswith("_")}
    modules = {name for name in public if isinstance(getattr(rnp, name), types.ModuleType)}
    imported = {"Any", "TYPE_CHECKING", "annotations"}
    assert set(rnp.__all__) == public - imported - (modules - {"linalg"})
    assert len(set(rnp.__all__)) == len(rnp.__all__)
    assert all(hasattr(rnp, name) for name in rnp.__all__)


def test_every_row_of_the_table_is_public():
    rows = {name for name, row in elementwise.ROWS.items() if getattr(row, "public", True)}
    assert rows <= set(rg.__all__)
    assert {name for name in elementwise.ROWS if hasattr(np, name)} <= set(rnp.__all__)


def test_every_name_is_one_of_numpy():
    assert [name for name in rnp.__all__ if not hasattr(np, name)] == []
    assert [name for name in rnp.linalg.__all__ if not hasattr(np.linalg, name)] == []


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


FUNCTIONS_HERE = [
    (name, getattr(space, name))
    for space in (rnp, rnp.linalg)
    for name in space.__all__
    if callable(getattr(space, name)) and not isinstance(getattr(space, name), type)
]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS_HERE, ids=[n for n, _ in FUNCTIONS_HERE])
def test_an_argument_that_there_is_not_is_told(name, function):
    with pytest.raises(ArgumentError, match=r"nonsense=|'nonsense'"):
        function(nonsense=1)


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda x: rg.sum(x, axes=0), "Did you mean axis=?"),
        (lambda x: x.sum(keepdim=True), "Did you mean keepdims=?"),
        (lambda x: rg.sort(x, descending=True), "Leave descending= out."),
        (lambda x: rnp.linalg.norm(x, order=2), "Did you mean ord=?"),
        (lambda x: rg.exp(x, dtype="float32"), "convert the result with .astype(...)"),
    ],
)
def test_arguments_nearly_right_are_told(call, fix):
    with pytest.raises(ArgumentError) as caught:
        call(typed("x", np.ones(3)))
    assert fix in str(caught.value).splitlines()[-1]


@pytest.mark.parametrize(
    ("look", "what", "fix"),
    [
        (lambda: rnp.linalg.eigg, "linalg has no eigg", "linalg.eigh"),
        (lambda: rnp.linalg.eig, "linalg has no eig", "of a symmetric one write np.linalg.eigh(A)"),
        (lambda: rnp.cumsumm, "no cumsumm", "Did you mean relgraph.numpy.cumsum"),
        (lambda: rnp.partition, "no partition", "Write np.sort(x)"),
        (lambda: rg.rewrite_grap, "relgraph has no rewrite_grap", "relgraph.rewrite_graph"),
        (lambda: rg.vstack, "relgraph has no vstack", "Write relgraph.numpy.vstack."),
        (lambda: rnp.qqqq, "no qqqq", "dir(relgraph.numpy) lists"),
    ],
)
def test_names_that_are_not_there_are_told(look, what, fix):
    with pytest.raises(UnsupportedAttributeError) as caught:
        look()
    first, *_, last = str(caught.value).splitlines()
    assert what in first and fix in last
    assert not hasattr(rnp, "qqqq") and not hasattr(rnp.linalg, "__wrapped__")


def documented():
    """Return the words that stand as code in the page of the ops."""
    page = (Path(__file__).parents[2] / "docs" / "ops.md").read_text(encoding="utf-8")
    return {
        word for code in re.findall(r"`([^`\n]+)`", page) for word in re.findall(r"[\w.]+", code)
    }


def test_every_name_stands_in_the_page_of_the_ops():
    words = documented()
    assert [name for name in rnp.__all__ if name not in {*words, "linalg"}] == []
    linalg = [name for name in rnp.linalg.__all__ if not {name, f"linalg.{name}"} & words]
    assert linalg == []
    assert [name for name in rg.__all__ if is_op(getattr(rg, name)) and name not in words] == []


def is_op(x):
    """Return True if a public name is an op, or a function that builds graphs of them."""
    module = getattr(x, "__module__", None) or ""
    return isinstance(x, Op) or (
        inspect.isfunction(x) and module.startswith(("relgraph.ops", "relgraph.numpy"))
    )


REDUCTIONS = [
    "sum", "prod", "max", "min", "any", "all", "mean", "std", "var", "median", "ptp",
    "count_nonzero", "average", "argmax", "argmin", "nansum", "nanprod", "nanmax", "nanmin",
    "nanmean", "nanstd", "nanvar", "nanargmax", "nanargmin",
]  # fmt: skip
AXES = [None, 0, -1, 1, (0,), (-1, 0), (), (0, 0), [0]]


def outcome(function, *args, **options):
    """Return the value of a call of NumPy, or None where it raises an error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args, **options)
        except (TypeError, ValueError, IndexError, ZeroDivisionError):
            return None


def agree(build, expected, array, typings=TYPINGS):
    """Assert that a graph has NumPy's answer, or raises if NumPy has none; return the answer."""
    if expected is not None:
        with np.errstate(all="ignore"):
            check(build, expected, array, typings=typings, rtol=1e-12)
    else:
        with pytest.raises(RelgraphError):
            build(typed("x", array))
    return expected


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_odd_shapes_and_axes_equal_numpy(name):
    numpys, ours = getattr(np, name), getattr(rnp, name)
    answers = 0
    for shape in ((), (0,), (1,), (3,), (0, 2), (2, 0), (1, 1)):
        array = np.arange(1.0, 1.0 + math.prod(shape)).reshape(shape)
        if name in ("average", "median") and not array.size:
            continue  # NaN, or nothing, where NumPy raises an error in dividing or reshaping
        for axis, keepdims in itertools.product(AXES, (False, True)):
            options = {"axis": axis, "keepdims": keepdims}
            answer = agree(lambda x, o=options: ours(x, **o), outcome(numpys, array, **options),
                           array, ("static",) if not array.size else TYPINGS)  # fmt: skip
            answers += answer is not None
    assert answers >= 20


def test_sizes_of_several_axes_equal_numpy():
    x = typed("x", np.ones((2, 0, 3)), "static")
    for axis in ((0, 1), (0, -1), (), (2,)):  # np.size takes several since NumPy 2.4
        assert rnp.size(x, axis) == math.prod(x.type.shape[i] for i in axis)
    y = typed("y", np.ones((2, 3)), "unknown")
    assert evaluate(rnp.size(y, (0, 1)), {"y": np.ones((2, 3))}) == 6
    with pytest.raises(DomainError, match="given twice"):
        rnp.size(x, (0, 0))


ODD = [
    lambda np, x: np.cumsum(x, 0),
    lambda np, x: np.cumprod(x, -1),
    lambda np, x: np.nancumsum(x, 0),
    lambda np, x: np.cumulative_sum(x, axis=0),
    lambda np, x: np.argsort(x),
    lambda np, x: np.sort(x),
    lambda np, x: np.squeeze(x, 0),
    lambda np, x: np.squeeze(x, (-1,)),
    lambda np, x: np.repeat(x, 2, axis=-1),
    lambda np, x: np.repeat(x, [1, 0, 2], axis=0),
    lambda np, x: np.repeat(x, (3,)),
    lambda np, x: np.repeat(x, [1, 2, 3]),
    lambda np, x: np.take(x, 0, axis=0),
    lambda np, x: np.take(x, [[0], [0]], axis=-1),
    lambda np, x: np.diff(x, 0),
    lambda np, x: np.diff(x),
    lambda np, x: np.pad(x, 1),
    lambda np, x: np.pad(x, ((1, 2),)),
    lambda np, x: np.flip(x, ()),
    lambda np, x: np.transpose(x, ()),
    lambda np, x: x.transpose(()),
    lambda np, x: np.transpose(x, 0),
    lambda np, x: np.tril(x),
    lambda np, x: np.triu(x, 1),
    lambda np, x: np.kron(x, x),
    lambda np, x: np.kron(x, [[1.0, 2.0]]),
    lambda np, x: np.linalg.outer(x, x),
    lambda np, x: np.round(x, -1),
    lambda np, x: np.zeros_like(x, shape=3),
    lambda np, x: np.ones_like(x, "int8", shape=(2, 0)),
    lambda np, x: np.full_like(x, 7, shape=()),
    lambda np, x: np.linalg.qr(x, "r"),
    lambda np, x: np.linalg.svd(x, compute_uv=False),
    lambda np, x: np.block([x]),
    lambda np, x: np.vander(x, 2),
    lambda np, x: np.linalg.norm(x, np.inf),
    lambda np, x: np.linalg.norm(x, 2),
    lambda np, x: np.tensordot(x, x, 1),
    lambda np, x: np.matvec(x, x),
    lambda np, x: np.vecdot(x, x),
]


NEVER = [
    lambda np, x: np.pad(x, -1),
    lambda np, x: np.rot90(x, 1, (0,)),
    lambda np, x: np.rot90(x, 1, (0, 1, 2)),
    lambda np, x: np.block((x, x)),
    lambda np, x: np.block([(x, x)]),
    lambda np, x: np.gradient(x, axis=(0, 0)),
    lambda np, x: np.linalg.norm(x, axis=()),
]


@pytest.mark.parametrize("function", ODD + NEVER, ids=source_of)
def test_other_functions_of_odd_shapes_equal_numpy(function):
    answers = 0
    for shape in ((), (0,), (1,), (3,), (0, 3), (3, 0), (1, 1), (3, 3), (2, 2, 3)):
        array = np.arange(3.0, 3.0 + math.prod(shape)).reshape(shape)
        expected = outcome(function, np, array)
        answers += agree(lambda x: function(rnp, x), expected, array, ("static",)) is not None
    assert (answers == 0) == (function in NEVER)  # NumPy takes no shape of those
