"""Results that are views: given as they are where the memory is new, and else copied."""

import numpy as np
import pytest

import relgraph as rg

A = np.arange(12.0).reshape(3, 4)
TARGETS = pytest.mark.parametrize("target", ["cpu", "numpy"])
x = rg.matrix("x", shape=("n", "k"))


@TARGETS
def test_a_transposed_new_array_is_not_copied(target):
    f = rg.function([x], (x + 1.0).T, target=target, mode=None)
    result = f(A)
    np.testing.assert_array_equal(result, A.T + 1)
    assert result.flags.f_contiguous
    assert result.flags.writeable
    assert (result if result.base is None else result.base).size == result.size
    result[:] = 0
    np.testing.assert_array_equal(f(A), A.T + 1)


@TARGETS
@pytest.mark.parametrize(
    "outputs",
    [
        (x.T,),
        (x + 1.0, (x + 1.0).T),
        ((x + 1.0).T, x + 1.0, (x + 1.0).T),
        (x.T, x, x[::-1]),
        ((x + 1.0)[0], (x + 1.0)[::-1], rg.broadcast_to((x + 1.0)[0], (2, x.shape[1]))),
        (rg.reshape(x * 2.0, (-1,)), x * 2.0),
        (rg.constant(A).T, rg.constant(A)),
        (rg.constant(np.arange(24.0).reshape(3, 8)[:, ::2]).T, x),
    ],
)
def test_results_share_no_memory(outputs, target):
    f = rg.function([x], list(outputs), target=target, mode=None)
    before = [np.array(value) for value in f(A)]
    results = f(A)
    for i, one in enumerate(results):
        np.testing.assert_array_equal(one, before[i])
        assert not np.shares_memory(one, A)
        assert one.base is None or one.base.size == one.size
        assert not any(np.shares_memory(one, other) for other in results[i + 1 :])
        one[...] = -1
    for value, expected in zip(f(A), before, strict=True):
        np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(A, np.arange(12.0).reshape(3, 4))


def test_a_transposed_result_is_an_argument_as_any_other():
    f = rg.function([x], (x * 2.0).T)
    g = rg.function([x], rg.exp(x) + x)
    result = f(A / 10)
    np.testing.assert_allclose(g(result), np.exp(result) + result, rtol=1e-14)
