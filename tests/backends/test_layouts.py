"""Arguments in Fortran's order, with gaps, reversed, repeated, shifted, of another byte order."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import compiler

RNG = np.random.default_rng(0)
SHAPE = (130, 270)  # large enough to be read where they lie, in long rows
MATRIX, OTHER, ROW = RNG.normal(size=SHAPE), RNG.normal(size=SHAPE), RNG.normal(size=SHAPE[1])


def shifted(a):
    memory = np.zeros(a.nbytes + 1, dtype=np.uint8)[1:].view(a.dtype).reshape(a.shape)
    memory[...] = a
    assert not memory.flags.aligned
    return memory


MADE = {
    "C": lambda a: a,
    "Fortran": np.asfortranarray,
    "read-only Fortran": lambda a: np.broadcast_to(np.asfortranarray(a), a.shape),
    "gaps": lambda a: np.repeat(np.repeat(a, 2, axis=0), 3, axis=1)[::2, ::3],
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "columns of more": lambda a: np.concatenate([a, a], axis=1)[:, : a.shape[1]],
    "reversed rows": lambda a: a[::-1].copy()[::-1],
    "reversed columns": lambda a: a[:, ::-1].copy()[:, ::-1],
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "reversed Fortran": lambda a: np.asfortranarray(a[::-1])[::-1],
    "shifted": shifted,
    "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "swapped Fortran": lambda a: np.asfortranarray(a.astype(a.dtype.newbyteorder())),
    "float32 Fortran": lambda a: np.asfortranarray(a.astype("float32")),
}


def graphs(x, y, v):
    return [
        x * y + v, rg.sum(rg.tanh(x) * y, axis=0), rg.max(x - y, axis=1), rg.sum(x * x), x @ y.T,
        x.T * 2.0, x, rg.exp(x) / rg.sum(rg.exp(x), axis=1, keepdims=True), x[3:, ::2] + 1.0,
    ]  # fmt: skip


def expected(a, b, v):
    e = np.exp(a)
    return [
        a * b + v, (np.tanh(a) * b).sum(0), (a - b).max(1), (a * a).sum(), a @ b.T, a.T * 2, a,
        e / e.sum(1, keepdims=True), a[3:, ::2] + 1,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def functions():
    x = rg.matrix("x", shape=("n", "m"))
    y = rg.matrix("y", shape=("n", "m"))
    v = rg.vector("v", shape=("m",))
    outputs = graphs(x, y, v)
    return [rg.function([x, y, v], outputs), *[rg.function([x, y, v], [o]) for o in outputs[:4]]]


def refuse_copies(monkeypatch):
    """Make a call raise if it copies an argument into C order."""

    def ready(array):
        assert array.flags.c_contiguous, "copied"
        return array

    def copied(*args, **kwargs):
        raise AssertionError("copied")

    monkeypatch.setattr(compiler, "ready", ready)
    monkeypatch.setattr(np, "require", copied)


@pytest.mark.parametrize("second", ["C", "Fortran"])
@pytest.mark.parametrize("kind", MADE)
def test_every_layout_gives_the_same_result(functions, kind, second):
    a, b = MADE[kind](MATRIX), MADE[second](OTHER)
    before = np.array(a)
    values = expected(np.asarray(a, dtype="float64"), OTHER, ROW)
    results = functions[0](a, b, ROW)
    for result, value in zip(results, values, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-10)
        assert not np.shares_memory(result, a)
    for f, value in zip(functions[1:], values, strict=False):
        np.testing.assert_allclose(f(a, b, ROW)[0], value, rtol=1e-12, atol=1e-10)
    np.testing.assert_array_equal(np.array(a), before)


def test_repeated_elements_and_no_elements(functions):
    a = np.broadcast_to(ROW, SHAPE)
    for result, value in zip(functions[0](a, OTHER, ROW), expected(a, OTHER, ROW), strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-10)
    f = functions[1]
    assert f(np.zeros((0, 3), order="F"), np.zeros((0, 3)), np.zeros(3))[0].shape == (0, 3)


def test_large_matrices_in_fortran_order_are_not_copied(monkeypatch):
    x = rg.matrix("x", shape=("n", "m"))
    f = rg.function([x], rg.sum(x * x, axis=0))
    a = np.asfortranarray(MATRIX)
    first = f(a)

    refuse_copies(monkeypatch)
    np.testing.assert_array_equal(f(a), first)
    with pytest.raises(AssertionError, match="copied"):
        f(a[::4])
    np.testing.assert_allclose(first, (MATRIX**2).sum(0), rtol=1e-13)


def test_errors_speak_of_the_array_that_was_given():
    x, v = rg.matrix("x", shape=("n", "m")), rg.vector("v", shape=("m",))
    f = rg.function([x, v], x * v)
    with pytest.raises(rg.errors.ShapeError, match=r"'m' is 270 in the input 'x' \(axis 1\) and 5"):
        f(np.asfortranarray(MATRIX), np.ones(5))


def test_places_and_donations_of_fortran_order():
    x = rg.matrix("x", shape=("n", "m"))
    a = np.asfortranarray(MATRIX)
    out = np.zeros(SHAPE, order="F")
    f = rg.function([x], rg.sqrt(x * x) + 1.0)
    assert f(a, out=out) is out
    np.testing.assert_allclose(out, abs(MATRIX) + 1)
    f(a, out=a)
    np.testing.assert_array_equal(a, out)
    g = rg.function([x], x * 2.0, donate="x")
    np.testing.assert_array_equal(g(np.asfortranarray(MATRIX)), MATRIX * 2)


GAPS = {
    "rows": (lambda a: np.repeat(a, 2, axis=0)[::2], True),
    "columns": (lambda a: np.concatenate([a, a], axis=1)[:, : a.shape[1]], True),
    "every third element": (lambda a: np.repeat(a, 3, axis=1)[:, ::3], True),
    "reversed": (lambda a: a[::-1, ::-1].copy()[::-1, ::-1], True),
    "small": (lambda a: np.repeat(a, 2, axis=0)[::2][:20], False),
    "shifted": (shifted, False),
}


@pytest.mark.parametrize("gaps", GAPS)
def test_arrays_with_gaps_are_not_copied_where_that_pays(gaps, monkeypatch):
    x, v = rg.matrix("x", shape=("n", "m")), rg.vector("v", shape=("m",))
    f = rg.function([x, v], [rg.exp(x[1:]) * v, rg.sum(x[:, ::-1] + v, axis=1)])
    make, in_place = GAPS[gaps]
    a = make(MATRIX)
    exact = [np.exp(a[1:]) * ROW, (a[:, ::-1] + ROW).sum(1)]
    for found, value in zip(f(a, ROW), exact, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)

    refuse_copies(monkeypatch)
    if in_place:
        for found, value in zip(f(a, ROW), exact, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)
    else:
        with pytest.raises(AssertionError, match="copied"):
            f(a, ROW)


def test_vectors_with_gaps_and_places_for_results(monkeypatch):
    x, y = rg.vectors("x y", "n")
    f = rg.function([x, y], [rg.tanh(x) - y, rg.max(x * y)])
    memory = RNG.normal(size=120_000)
    a, b = memory[::3], memory[-1:-80_001:-2]
    exact = np.tanh(a) - b, (a * b).max()
    out = np.empty(40_000), np.empty(())
    for found in (f(a, b), f(a, b, out=out)):
        np.testing.assert_allclose(found[0], exact[0], rtol=1e-14, atol=1e-15)
        np.testing.assert_array_equal(found[1], exact[1])
    np.testing.assert_array_equal(out[1], exact[1])
    overlapping = memory[40_000:80_000]
    found = f(a, b, out=(overlapping, np.empty(())))
    assert found[0] is overlapping
    np.testing.assert_allclose(overlapping, exact[0], rtol=1e-14, atol=1e-15)


def test_functions_of_distant_elements_are_computed_on_vectors_in_the_graph_too():
    x = rg.matrix("x", shape=("n", "m"))
    f = rg.function([x], [rg.exp(x.T) + 1.0, rg.sum(rg.exp(x[:, ::3]), axis=1)], mode=None)
    assert "near1 = stack.float64[1024]" in f.source
    for shape in ((130, 270), (2100, 3), (1, 1), (0, 4)):
        a = RNG.normal(size=shape)
        one, two = f(a)
        np.testing.assert_allclose(one, np.exp(a.T) + 1, rtol=1e-14)
        np.testing.assert_allclose(two, np.exp(a[:, ::3]).sum(1), rtol=1e-13)
