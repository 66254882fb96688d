"""Arguments in Fortran's order, with gaps, reversed, repeated, shifted, of another byte order."""

import numpy as np
import pytest

import relgraph as rg

RNG = np.random.default_rng(0)
SHAPE = (130, 90)  # large enough to be read where they lie
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

    def copied(*args, **kwargs):
        raise AssertionError("copied")

    monkeypatch.setattr(np, "require", copied)
    np.testing.assert_array_equal(f(a), first)
    with pytest.raises(AssertionError, match="copied"):
        f(a[::2])
    np.testing.assert_allclose(first, (MATRIX**2).sum(0), rtol=1e-13)


def test_errors_speak_of_the_array_that_was_given():
    x, v = rg.matrix("x", shape=("n", "m")), rg.vector("v", shape=("m",))
    f = rg.function([x, v], x * v)
    with pytest.raises(rg.errors.ShapeError, match=r"'m' is 90 in the input 'x' \(axis 1\) and 5"):
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
