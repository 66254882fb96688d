"""Every op has a derivative, in both modes and of second order, or a reason why it has none."""

import numpy as np
import pytest
import scipy.special

import relgraph as rg
from relgraph.derivatives.forward import jvp
from relgraph.derivatives.reverse import vjp
from relgraph.ops.elementwise import ROWS, Elementwise
from tests.backends.test_every_op import CLOSE, EXACT, SQUARE, classes
from tests.derivatives.differences import along
from tests.test_documentation import op_classes

random = np.random.default_rng(5)
X, Y, V = random.normal(size=(4, 4)), random.normal(size=(4, 4)), random.normal(size=4)
K = np.array([0, 2, 3, 1])
A = random.normal(size=(4, 4)) / 4 + 2 * np.eye(4)
TABLES = {
    "exact": (EXACT, (X, Y, V, K)),
    "close": (CLOSE, (X, Y, V)),
    "square": (SQUARE, (A, A @ A.T, V)),
}

# Ops whose results are not floats, or do not vary with an operand of floats.
CONSTANT = {
    "Any": "bool", "All": "bool", "Argmax": "indices", "Argmin": "indices", "Argsort": "indices",
    "Dim": "a size", "Eye": "no operand", "PivotSign": "a sign, constant in each region",
    "PermutationSign": "a sign, constant in each region", "Unique": "tested for integers",
    "StopGradient": "taken for a constant",
    "Differential": "only in relations",
    "NoPartial": "only in relations",
}  # fmt: skip
# Ops of floats without a derivative.
UNDEFINED = {
    "Schur": "the form changes its structure where eigenvalues become complex",
    "QZ": "the form changes its structure where eigenvalues become complex",
    "Densify": "sparse matrices are constants",
    "SparseTranspose": "sparse matrices are constants",
    "Unique": "the size of the result depends on values",
}
ELSEWHERE = {
    "test_ops.py": "Sum Prod Mean LogSumExp Cumsum Cumprod Cummax Cummin Cast SparseMatmul Max Min",
    "test_row.py": "Elementwise",
    "test_loops.py": "Scan WhileLoop Cond",
}


def test_every_op_is_differentiated_or_listed():
    sampled = {name for table, _ in TABLES.values() for name in classes(table)}
    listed = {name for names in ELSEWHERE.values() for name in names.split()}
    inside = (".lowering.", ".interop.")
    every = {x.__name__ for x in op_classes() if not any(part in x.__module__ for part in inside)}
    assert every <= sampled | listed | set(CONSTANT) | set(UNDEFINED)
    assert set(CONSTANT) | set(UNDEFINED) <= every


def test_elementwise_ops_without_derivatives_return_no_floats():
    for name, row in ROWS.items():
        if row.derivative is None:
            floats = [rg.tensor(f"x{i}", (), dtype="float64") for i in range(row.arity)]
            try:
                assert Elementwise(name)(*floats).dtype.kind == "b", name
            except rg.errors.DTypeError:  # of integers
                assert "bitwise" in name or "shift" in name or name == "invert"


def samples():
    """Yield each row of the tables whose result varies."""
    for label, (table, arrays) in TABLES.items():
        for key in table:
            names = set(key.partition(",")[0].split())
            skipped = names & (set(CONSTANT) | set(UNDEFINED)) or key in ("Assume", "SpecifyShape")
            if not skipped and "of nothing" not in key:
                yield pytest.param(label, key, arrays, id=key)


def sample(label, key, arrays):
    graph, array = TABLES[label][0][key]
    inputs = [rg.tensor(f"x{i}", v.shape, dtype=v.dtype.name) for i, v in enumerate(arrays)]
    floats = [v for v in arrays if v.dtype.kind == "f"]
    directions = [random.normal(size=v.shape) for v in floats]
    if label == "square":  # the second matrix is symmetric
        directions[1] = directions[1] + directions[1].T
    rest = arrays[len(floats) :]
    return graph(*inputs), inputs, floats, directions, lambda *xs: np.asarray(array(*xs, *rest))


@pytest.mark.parametrize(("label", "key", "arrays"), list(samples()))
def test_both_modes_give_the_derivative(label, key, arrays):
    y, inputs, floats, directions, array = sample(label, key, arrays)
    expected = along(array, floats, directions, 1e-3)
    values = dict(zip(inputs, arrays, strict=True))
    scale = max(1.0, float(np.max(np.abs(expected))))
    wrt = inputs[: len(floats)]
    (tangent,) = jvp([y], dict(zip(wrt, map(rg.constant, directions), strict=True)))
    np.testing.assert_allclose(rg.evaluate(tangent, values), expected, rtol=1e-7, atol=1e-8 * scale)
    cotangent = random.normal(size=expected.shape)
    parts = vjp([y], [rg.constant(cotangent)], wrt)
    total = sum(
        float(np.sum(rg.evaluate(part, values) * t))
        for part, t in zip(parts, directions, strict=True)
        if part is not None
    )
    assert total == pytest.approx(float(np.sum(cotangent * expected)), rel=1e-7, abs=1e-8 * scale)


@pytest.mark.parametrize(("label", "key", "arrays"), list(samples()))
def test_second_derivatives_are_those_of_the_first(label, key, arrays):
    y, inputs, floats, directions, _ = sample(label, key, arrays)
    wrt = inputs[: len(floats)]
    tangents = dict(zip(wrt, map(rg.constant, directions), strict=True))
    loss = rg.sum(y * y * y)
    gradient = vjp([loss], [rg.constant(1.0)], wrt)
    present = [(g, x) for g, x in zip(gradient, wrt, strict=True) if g is not None]
    values = dict(zip(inputs, arrays, strict=True))

    def first(*xs):
        at = {**values, **dict(zip(wrt, xs, strict=True))}
        return np.concatenate([np.ravel(rg.evaluate(g, at)) for g, _ in present])

    expected = along(first, floats, directions, 1e-3)
    second = jvp([g for g, _ in present], tangents)
    computed = np.concatenate(
        [
            np.ravel(np.zeros(g.type.shape) if t is None else rg.evaluate(t, values))
            for t, (g, _) in zip(second, present, strict=True)
        ]
    )
    scale = max(1.0, float(np.max(np.abs(expected))))
    np.testing.assert_allclose(computed, expected, rtol=1e-6, atol=1e-7 * scale)


def test_ops_without_derivatives_are_named():
    a = rg.matrix("a", (3, 3))
    for y in (rg.schur(a)[1], rg.qz(a, a)[0], rg.unique(a[0])):
        with pytest.raises(rg.errors.DerivativeError, match="has no differential"):
            vjp([y], [y], [a])


def test_an_order_that_varies_is_refused_in_both_modes():
    v, x = rg.scalars("v x")
    y = rg.kv(v, x)
    with pytest.raises(rg.errors.DerivativeError, match="no derivative with respect to"):
        rg.grad(y, v)
    with pytest.raises(rg.errors.DerivativeError, match="no derivative with respect to"):
        rg.jvp(y, v, 1.0)
    expected = -(scipy.special.kv(1.5, 2.0) + scipy.special.kv(3.5, 2.0)) / 2
    assert rg.evaluate(rg.grad(y, x), {v: 2.5, x: 2.0}) == pytest.approx(expected, rel=1e-12)
