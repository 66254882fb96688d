"""The memory of temporaries is kept from call to call, and never in use twice."""

import numpy as np

import relgraph as rg
from relgraph.backends.numba.arena import LARGE, MOST, Arena
from tests.concurrency import at_once


def test_large_arrays_are_kept_and_handed_out_once():
    arena = Arena()
    small, large = np.empty(8), np.empty(LARGE // 8)
    arena.give_back(small)
    arena.give_back(large)
    assert arena.nbytes == large.nbytes
    assert arena.borrow((8,), np.float64) is not small
    assert arena.borrow((LARGE // 4,), np.float32).dtype == "float32"
    assert arena.borrow(large.shape, np.float64) is large
    assert arena.borrow(large.shape, np.float64) is not large
    assert arena.nbytes == 0


def test_what_is_kept_is_limited():
    arena = Arena()
    block = np.empty(MOST // 16)
    for _ in range(5):
        arena.give_back(block)
        assert arena.nbytes <= MOST
    arena.give_back(np.empty(MOST // 8 + 1))
    assert arena.nbytes <= MOST


def program():
    """Return a function with temporaries between its products."""
    x = rg.matrix("x", shape=("n", "n"))
    return rg.function([x], rg.tanh(rg.tanh(x @ x) @ x + 1.0) @ x, mode=None)


def expected(a):
    return np.tanh(np.tanh(a @ a) @ a + 1) @ a


def test_temporaries_of_one_call_serve_the_next():
    f = program()
    arena = f._program.arena
    a = np.random.default_rng(0).normal(size=(400, 400)) / 20
    first = f(a)
    kept = arena.nbytes
    assert kept >= a.nbytes
    second = f(a)
    assert arena.nbytes == kept
    assert not np.shares_memory(first, second)
    np.testing.assert_allclose(first, expected(a), rtol=1e-10)
    np.testing.assert_array_equal(first, second)
    f(a[:5, :5].copy())
    np.testing.assert_array_equal(f(a), first)


def test_threads_do_not_share_a_temporary():
    f = program()
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(380, 380)) / 20 for _ in range(6)]
    values = [expected(a) for a in arrays]
    failures = []

    def work(a, value):
        for _ in range(4):
            if not np.allclose(f(a), value, rtol=1e-9):
                failures.append(1)

    at_once(work, arrays, values)
    assert failures == []
