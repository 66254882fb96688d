"""What elementwise ops and reductions are run on by every target, and NumPy's results."""

from __future__ import annotations

import itertools

import numpy as np

from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.ops.elementwise import ROWS, Cast, Elementwise

# These have no kernel: the backends call the op.
CALLED = [name for name, row in ROWS.items() if row.cpu is None]

BROADCAST = [
    ((), ()), ((0,), (0,)), ((1,), (1,)), ((5,), (1,)), ((5,), ()), ((3, 4), (4,)),
    ((3, 4), (3, 1)), ((3, 1), (1, 4)), ((3, 0), (1, 0)), ((2, 3, 4), (3, 1)),
    ((2, 3, 4), (2, 1, 4)), ((2, 1, 4), (3, 1)), ((1, 1), (4, 5)), ((2, 3, 1, 5), (1, 4, 1)),
]  # fmt: skip


def integers(dtype, wide, near, rng):
    """Return bools, or integers: special ones, some of any size, and some near zero."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, wide).astype(bool)
    info = np.iinfo(dtype)
    first = [0, 1, 2, 3, 7, info.min, info.max, info.max - 1, info.min + 1]
    first += [-1, -2, -7] if dtype.kind == "i" else []
    return np.concatenate([
        np.array(first, dtype),
        rng.integers(info.min, info.max, wide, dtype=dtype, endpoint=True),
        rng.integers(max(info.min, -9), 20, near).astype(dtype),
    ])  # fmt: skip


def meaning(name, args):
    """Compute an op by NumPy or SciPy, on operands of the dtypes it computes in."""
    loop = ROWS[name].loop(name, tuple(x.dtype for x in args))
    compute = getattr(np, name, ROWS[name].compute)
    with np.errstate(all="ignore"):
        return compute(*[x.astype(d) for x, d in zip(args, loop, strict=False)])


def operands_of(name, dtype, x, y, c):
    """Return the arrays that an op is computed of; exponents of integers are from 0 to 8."""
    if name == "where":
        return c, x, y
    if name == "power" and np.dtype(dtype).kind == "i":
        return x, y.astype("uint8") % np.uint8(9)
    return (x, y, x)[: ROWS[name].arity]


def graphs(dtype):
    """Return the inputs and one output for each op that takes the dtype."""
    x, y = (make_input(name, TensorType(dtype, ("n",))) for name in "xy")
    c = make_input("c", TensorType("bool", ("n",)))
    outputs = {}
    for name, row in ROWS.items():
        operands = (x, y, x)[: row.arity] if name != "where" else (c, x, y)
        if name == "power" and np.dtype(dtype).kind == "i":
            operands = (x, Elementwise("remainder")(Cast("uint8")(y), np.uint8(9)))
        try:
            outputs[name] = Elementwise(name)(*operands)
        except TypeError:
            continue  # NumPy has no such op for the dtype: tests/ops checks that
    return [x, y, c], outputs


def mixed(names, dtypes):
    """Return inputs of some dtypes, ops on each two of them, and what each is computed of."""
    inputs = {d: make_input(f"x_{d}", TensorType(d, ("n",))) for d in dtypes}
    cases = [
        (name, [*(["bool"] if name == "where" else []), a, b])
        for name, a, b in itertools.product(names, dtypes, dtypes)
    ]
    outputs = [Elementwise(name)(*[inputs[d] for d in operands]) for name, operands in cases]
    return list(inputs.values()), outputs, cases


def assert_within(name, result, expected, operands=()):
    """Assert equality, or the bound of the row."""
    assert result.dtype == expected.dtype, name
    assert result.shape == expected.shape, name
    limit = getattr(ROWS[name].ulps, result.dtype.name, 0)
    same = (result == expected) | ((result != result) & (expected != expected))
    if name not in ("maximum", "minimum", "clip") and result.dtype.kind == "f":
        same &= (result != 0) | (np.signbit(result) == np.signbit(expected))
    if same.all():
        return
    assert limit, (name, [x[~same][:3] for x in operands], result[~same][:3], expected[~same][:3])
    scale = np.abs(expected[~same])
    for x in operands if name == "logaddexp" else ():
        scale = np.maximum(scale, np.abs(x[~same]))
    if name in ("digamma", "gammaln"):
        scale = np.maximum(scale, 1)
    wide = np.longdouble
    with np.errstate(all="ignore"):
        error = np.abs(result[~same].astype(wide) - expected[~same].astype(wide))
        error = error / np.spacing(scale).astype(wide)
    assert np.nanmax(np.where(np.isnan(error), np.inf, error)) <= limit, name


def assert_cast(a, target, result):
    """Assert what NumPy makes of an array in another dtype, where C defines it."""
    with np.errstate(all="ignore"):
        expected = a.astype(target)
    if a.dtype.kind == "f" and np.dtype(target).kind in "iu":
        info = np.iinfo(target)
        with np.errstate(invalid="ignore"):
            keep = (np.trunc(a) >= float(info.min)) & (np.trunc(a) < float(info.max))
        result, expected = result[keep], expected[keep]
    np.testing.assert_array_equal(result, expected, strict=True)


# Reductions.

NAMES = ("sum", "prod", "max", "min", "mean", "any", "all")
AXES = [None, *(c for n in (1, 2) for c in itertools.combinations((0, 1, 2), n))]
REDUCED = ["float64", "float32", "bool", "int8", "uint32", "int64"]  # dtypes
REDUCTIONS = [  # axes, whether they are kept, and the name
    *itertools.product(AXES, (False,), NAMES),
    *((axis, True, "sum") for axis in AXES),
]
OF_NOTHING = list(itertools.product(("sum", "prod", "mean", "any", "all"), (None, 0, 1)))
EMPTY = [(0, 3), (3, 0), (0, 0)]


def sample(dtype, shape, seed=0):
    """Return an array of small numbers."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    low = 0 if dtype.kind in "bu" else -3
    return rng.integers(low, 2 if dtype.kind == "b" else 5, shape).astype(dtype)


def reduced(name, a, axis, keepdims=False):
    """Reduce by NumPy; the mean of nothing is NaN, without a warning."""
    if name == "mean" and a.size == 0:
        total = np.sum(a, axis=axis, keepdims=keepdims, dtype=np.result_type(a, np.float32(0)))
        return np.full(np.shape(total), np.nan, a.dtype if a.dtype.kind == "f" else np.float64)
    return np.asarray(getattr(np, name)(a, axis=axis, keepdims=keepdims))


def assert_reduced(result, a, case, spacings):
    """Assert what NumPy makes of an array, for a row of ``REDUCTIONS``.

    Sums and products of floats may be some spacings off, of the sum or product of absolute values.
    """
    axis, keepdims, name = case
    expected = reduced(name, a, axis, keepdims)
    assert np.asarray(result).dtype == expected.dtype, (name, axis)
    assert np.shape(result) == expected.shape, (name, axis, keepdims)
    if name in ("sum", "mean", "prod") and a.dtype.kind == "f":
        scale = np.asarray(getattr(np, name)(np.abs(a), axis=axis, keepdims=keepdims))
        assert (np.abs(result - expected) <= spacings * np.spacing(scale)).all(), (name, axis)
    else:
        np.testing.assert_array_equal(result, expected)
