"""Arguments that need no conversion, and that those which do are converted and checked."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.api.argument_conversion import fits
from relgraph.backends.numba.kernels import guard
from relgraph.errors import RelgraphError

FLOAT, INT = np.dtype("float64"), np.dtype("int64")
MATRIX = np.arange(12.0).reshape(3, 4)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array):
    buffer = bytearray(array.nbytes + 1)
    made = np.frombuffer(buffer, dtype=array.dtype, offset=1, count=array.size)
    made = made.reshape(array.shape)
    made[...] = array
    assert not made.flags.aligned
    return made


class Subclass(np.ndarray):
    """An array of another class."""


MADE = {
    "as they are": lambda x: x,
    "read-only": read_only,
    "unaligned": unaligned,
    "in Fortran's order": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "of another byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "of a smaller dtype": lambda x: x.astype("float32"),
    "of a subclass": lambda x: x.view(Subclass),
    "lists": lambda x: x.tolist(),
}


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("kind", MADE)
def test_arrays_of_every_make(kind, target):
    x = rg.matrix("x", shape=("n", 4))
    y = rg.vector("y", shape=(4,))
    f = rg.function([x, y], [x + y, x @ y], target=target)
    a, b = MADE[kind](MATRIX), MADE[kind](MATRIX[0])
    before = np.array(a)
    for args in ((a, b), (MATRIX, b), (a, MATRIX[0])):
        added, product = f(*args)
        np.testing.assert_array_equal(added, MATRIX + MATRIX[0], strict=True)
        np.testing.assert_allclose(product, MATRIX @ MATRIX[0])
    np.testing.assert_array_equal(np.array(a), before)


@pytest.mark.parametrize("fits", [fits, guard], ids=["python", "machine code"])
def test_what_fits(fits):
    test = fits([(FLOAT, 2), (INT, 1)], [((0, 0), (1, -1)), ((0, 1), 4)])
    k = np.arange(3)
    assert test(MATRIX, k) is True
    assert test(read_only(MATRIX), k) is True
    for x, y in [
        (MATRIX, k[:2]), (MATRIX[:2].copy(), k), (MATRIX[:, :3].copy(), k), (MATRIX[0], k),
        (MATRIX.astype("float32"), k), (MATRIX, k * 1.0), (MATRIX.T.copy().T, k),
        (unaligned(MATRIX), k), (MATRIX.view(Subclass), k), (MATRIX.tolist(), k), (MATRIX, 3),
        (None, k), (MATRIX.astype(FLOAT.newbyteorder()), k), (MATRIX, k.astype("uint64")),
    ]:  # fmt: skip
        assert test(x, y) is False
    for arguments in ((), (MATRIX,), (MATRIX, k, k)):
        assert test(*arguments) is False
    assert fits([], [])() is True
    assert fits([(None, 2)], [])(MATRIX) is False
    with pytest.raises(TypeError):
        test(MATRIX, y=k)


def test_functions_of_no_and_of_many_inputs():
    assert rg.function([], rg.constant(2.0) + 1)() == 3.0
    inputs = [rg.scalar(f"s{i}") for i in range(300)]
    f = rg.function(inputs, inputs[0] + inputs[-1], target="numpy")
    arrays = [np.array(float(i)) for i in range(300)]
    assert f(*arrays) == f(*range(300)) == f(*map(float, range(300))) == 299.0


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_a_function_without_checks(target):
    x, y = rg.vector("x"), rg.vector("y")
    a, b = np.arange(3.0), np.ones(3)
    total = rg.function([x, y], rg.sum(x * y), target=target).unchecked(a, b)
    assert (type(total), total) == (np.float64, 3.0)
    one = rg.function([x, y], x + y, target=target).unchecked(a, b)
    np.testing.assert_array_equal(one, a + b, strict=True)
    named = rg.function([x, y], {"sum": x + y, "flat": x[::-1]}, target=target).unchecked(a, b)
    assert list(named) == ["sum", "flat"]
    np.testing.assert_array_equal(named["flat"], a[::-1], strict=True)
    pair = rg.function([x, y], (x + y, rg.max(x)), target=target).unchecked(a, b)
    assert (type(pair), pair[1]) == (tuple, 2.0)


@pytest.mark.parametrize("value", [2.5, 2, True, np.float32(2.5), np.float64(2.5), np.int8(2)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_for_scalars(value, dtype):
    s = rg.scalar("s", dtype=dtype)
    f = rg.function([s], s * 2, target="numpy")
    if isinstance(value, np.float64) and dtype == "float32":
        with pytest.raises(RelgraphError):
            f(value)
    else:
        result = f(value)
        assert result.dtype == dtype
        assert result == value * 2.0


def test_results_share_no_memory():
    x = rg.vector("x")
    a = np.ones(3)
    for outputs in (x, [x, x], [x, x + 0, x[1:]]):
        results = rg.function([x], outputs)(a)
        arrays = [a, *(results if isinstance(results, list) else [results])]
        for i, p in enumerate(arrays):
            assert not any(np.shares_memory(p, q) for q in arrays[:i])
