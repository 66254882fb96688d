"""rg.scan, rg.fori_loop, rg.while_loop and rg.cond, against loops of Python and NumPy."""

from collections import namedtuple

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from tests.api.loop_programs import Plain, agree, check

RNG = np.random.default_rng(20)
V3, V70 = RNG.normal(size=3), RNG.normal(size=70)
M3 = RNG.normal(size=(3, 3)) / 2
XS = RNG.normal(size=(7, 3))
LONG = RNG.normal(size=(5, 70))
Pair = namedtuple("Pair", "mean count")


# Carries and stacks.


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8"])
@pytest.mark.parametrize("shape", [(6,), (6, 3), (6, 70), (6, 9, 9)])
def test_a_running_total(dtype, shape):
    xs = RNG.integers(0, 9, shape).astype(dtype)

    def program(L, init, xs):
        return L.scan(lambda c, x: (c + x, c * c), init, xs)

    check(program, xs[0].copy(), xs, rtol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_bools(reverse):
    xs = RNG.random((8, 4)) < 0.5

    def program(L, init, xs):
        return L.scan(lambda c, x: (c ^ x, c & x), init, xs, reverse=reverse)

    check(program, xs[0].copy(), xs)


@pytest.mark.parametrize("length", [0, 1, 4])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_length_in_place_of_sequences(length, reverse):
    def program(L, x):
        last, ys = L.scan(lambda c, _: (c * 0.5 + 1, c), x, None, length, reverse)
        return last, ys if length else None

    check(program, V3)
    check(program, V70)
    check(program, np.float64(2.0), sizes=["known"])


@pytest.mark.parametrize("length", [0, 1, 6])
def test_a_length_that_is_an_argument(length):
    def program(L, n, x):
        return L.scan(lambda c, _: (c * 0.5 + 1, None), x, length=n)[0]

    check(program, np.int64(length), V3)
    stacked = rg.jit(lambda n, x: rg.scan(lambda c, _: (c + 1, c), x, length=n))
    last, ys = stacked(np.int64(length), V3)
    agree(last, V3 + length)
    assert ys.shape[0] == length


@pytest.mark.parametrize("reverse", [False, True])
def test_containers(reverse):
    def step(s, x):
        pair = Pair(s["pair"].mean + x["a"] * x["b"][0], s["pair"].count + 1)
        following = {"pair": pair, "extra": (s["extra"][0] * 0.5 + x["b"][0], None)}
        return following, (pair.mean, {"sum": np.sum(x["b"][1])}, None)

    def program(L, mean, extra, a, *b):
        init = {"pair": Pair(mean, np.int64(0)), "extra": (extra, None)}
        return L.scan(step, init, {"a": a, "b": b}, reverse=reverse)

    check(program, V3, V3 * 2, RNG.normal(size=5), RNG.normal(size=(5, 3)), LONG)


def test_sequences_of_named_and_unknown_sizes_run_at_any_size():
    xs = rg.matrix("xs", ("T", "n"))
    last, ys = rg.scan(lambda c, x: (np.tanh(c + x), c), rg.vector("c", "n"), xs)
    f = rg.function([*[x for x in (rg.vector("c", "n"), xs)]], [last, ys])
    for T, n in ((0, 3), (1, 70), (5, 1), (4, 0), (9, 33)):
        c, x = RNG.normal(size=n), RNG.normal(size=(T, n))
        expected = Plain.scan(lambda c, x: (np.tanh(c + x), c), c, x)
        found = f(c, x)
        agree(found[0], expected[0])
        assert found[1].shape == (T, n)
        if T:
            agree(found[1], expected[1])


def test_two_sequences_of_unknown_lengths_are_compared_at_the_call():
    a, b = rg.tensor("a", (None,)), rg.tensor("b", (None,))
    total, _ = rg.scan(lambda c, x: (c + x[0] * x[1], None), 0.0, (a, b))
    for target in ("cpu", "numpy"):
        f = rg.function([a, b], total, target=target)
        assert f(np.arange(3.0), np.arange(3.0)) == 5.0
        with pytest.raises(
            rg.errors.ShapeError, match=r"scan of \d iterations reads a sequence of length \d"
        ):
            f(np.arange(3.0), np.arange(2.0))


def test_weak_numbers_take_the_dtype_of_the_next_value():
    xs = np.arange(4.0)
    last, ys = rg.scan(lambda c, x: (c + x, c), 0, xs)
    assert last == 6.0 and ys.dtype == np.float64
    last, _ = rg.scan(lambda c, x: (c + x, None), 0.0, xs.astype("float32"))
    assert float(last) == 6.0
    assert rg.fori_loop(0, 3, lambda i, c: c * 0.5, 8) == 1.0
    assert rg.while_loop(lambda c: c < 10, lambda c: c + 0.5, 1) == 10.0
    count, total = rg.fori_loop(0, 4, lambda i, s: (s[0] + 1, s[1] + s[0] / 2), (0, 0))
    assert (count, total) == (4, 3.0) and np.asarray(count).dtype == np.int64


def test_numbers_among_the_arguments_of_a_traced_function():
    half = rg.jit(lambda n, x: rg.fori_loop(0, n, lambda i, c: c * 0.5, x))
    for n, x in ((3, 8), (2, 8.0), (0, 5)):
        agree(half(n, x), np.float64(x * 0.5**n))
    chosen = rg.jit(lambda flag, x: rg.cond(flag, lambda x: x + 1, lambda x: x * 2.5, x))
    agree([chosen(True, V3), chosen(False, V3)], [V3 + 1, V3 * 2.5])
    last, ys = rg.jit(lambda x, n: rg.scan(lambda c, _: (c * 0.5, c), x, length=n))(V3, 4)
    assert ys.shape == (4, 3)
    agree(last, V3 / 16)


def test_shapes_that_change_from_call_to_call():
    f = rg.jit(lambda x, xs: rg.scan(lambda c, y: (c + y, c * y), x, xs))
    for n in (3, 5, 70):
        x, xs = RNG.normal(size=n), RNG.normal(size=(4, n))
        agree(f(x, xs), Plain.scan(lambda c, y: (c + y, c * y), x, xs))


# Closures.


def test_closures_over_arrays_graphs_and_traced_arrays():
    W = RNG.normal(size=(70, 70)) / 8

    def program(L, x, bias):
        scale = np.exp(bias)  # computed once
        return L.scan(lambda h, y: (np.tanh(W @ h + y * scale), h[:2]), x, LONG)

    check(program, V70, V70 * 0.1, sizes=["known", "unknown"])


def test_a_closure_over_a_graph_makes_a_graph():
    x = rg.vector("x", 3)
    last = rg.fori_loop(0, 4, lambda i, c: c + x * i, np.zeros(3))
    assert isinstance(last, rg.Variable)
    agree(rg.function([x], last)(V3), V3 * 6)


def test_an_array_of_the_closure_is_not_written_to():
    def program(L, x, a):
        def body(i, total):
            b = a.copy()
            b[i] = total[0]
            b[1:] += b[:-1]
            return total + b

        return L.fori_loop(0, 3, body, x), a * 1.0

    check(program, V3, V3, eager=False, sizes=[])
    check(program, V70, V70 + 1, eager=False, sizes=[])


def test_an_array_that_an_inner_loop_reads_is_not_written_to():
    def program(L, x, xs):
        def outer(state, y):
            state = state * 0.5 + y

            def inner(i, total):
                b = state.copy()
                b[i] = 7.0
                return total + b

            total = L.fori_loop(0, 3, inner, np.zeros_like(y))
            return state, total

        return L.scan(outer, x, xs)

    check(program, V3, XS, sizes=["known", "named"])
    check(program, V70, LONG, sizes=["known", "named"])


def test_a_branch_does_not_write_to_what_is_read_after_it():
    def program(L, x, xs):
        def step(c, y):
            c = c * 0.5 + y

            def changed(z):
                z = z.copy()
                z[1] = 100.0
                return z

            new = L.cond(y[0] > 0, changed, lambda z: z * 2, c)
            return c, new + c

        return L.scan(step, x, xs)

    check(program, V3, XS, sizes=["known", "named"])
    check(program, V70, LONG, sizes=["known", "named"])


# Nested loops.


def test_a_scan_within_a_scan():
    def program(L, A, xs):
        def row(total, x):
            last, ys = L.scan(lambda c, a: (c * 0.5 + a * x[0], c), np.sum(x), A[0])
            return total + last, (ys, np.max(ys))

        return L.scan(row, 0.0, xs)

    check(program, M3, XS)
    check(program, RNG.normal(size=(2, 70)), LONG)


def test_an_inner_scan_without_iterations():
    def program(L, xs, rows):
        def series(total, parts):
            x, row = parts
            inner, _ = L.scan(lambda c, y: (c + y, c * x), x, row)
            return total + inner, inner

        return L.scan(series, 0.0, (xs, rows))

    check(program, V3, np.zeros((3, 0)), sizes=["known"])


def test_a_while_loop_within_a_scan():
    def program(L, xs):
        def root(count, a):
            def near(state):
                return np.abs(state[0] ** 2 - a) > 1e-12 * a

            x, steps = L.while_loop(
                near, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, np.int64(0))
            )
            return count + steps, x

        return L.scan(root, np.int64(0), xs)

    check(program, RNG.uniform(1, 50, 9))


@pytest.mark.parametrize("x", [V3, V70], ids=["small", "large"])
def test_a_choice_within_a_scan(x):
    def program(L, init, xs):
        def step(c, y):
            c, z = L.cond(
                np.sum(y) > 0, lambda a, b: (a + b, np.sum(a)), lambda a, b: (a * 0.5, b[0]), c, y
            )
            return c, z

        return L.scan(step, init, xs)

    check(program, x, XS if len(x) == 3 else LONG)


def test_a_choice_alone():
    def program(L, flag, x):
        return L.cond(flag, lambda x: {"a": np.sin(x)}, lambda x: {"a": np.exp(x)}, x)

    for flag in (True, False):
        check(program, np.bool_(flag), V3)
        check(program, np.bool_(flag), V70)


# Elements and parts that a body writes.


def test_elements_at_the_index():
    def program(L, x):
        def body(i, x):
            x[i] = x[i - 1] + x[i] * i
            return x

        return L.fori_loop(1, 3, body, x)

    check(program, V3)
    check(program, V70)


def test_negative_indices_count_from_the_end():
    def program(L, x, k):
        def body(i, x):
            x[-i - 1] = x[k] + i
            return x

        return L.fori_loop(0, 3, body, x)

    check(program, V3, np.int64(-1))
    check(program, V70, np.int64(-70))


@pytest.mark.parametrize("n", [4, 9, 70, 5000])
def test_steps_of_an_equation_in_place(n):
    def program(L, u):
        def body(i, u):
            u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            u[0] = u[1]
            return u

        return L.fori_loop(0, 5, body, u)

    check(program, RNG.normal(size=n))


def test_two_arrays_that_change_places():
    def program(L, a, b):
        return L.fori_loop(0, 5, lambda i, s: (s[1], s[0] + s[1][0]), (a, b))

    check(program, V3, V3 + 1)
    check(program, V70, V70 + 1)


def test_rows_and_columns_of_a_matrix():
    def program(L, A):
        def body(i, A):
            A[i, :] = A[i, :] / (1 + A[i, i] ** 2)
            A[:, i] += A[i, 0]
            return A

        return L.fori_loop(0, 3, body, A)

    check(program, M3)
    check(program, RNG.normal(size=(12, 12)))


def test_levenshtein():
    def program(L, a, b):
        def row(previous, letter):
            def column(left, pair):
                other, diagonal, up = pair
                new = np.minimum(np.minimum(left, up) + 1, diagonal + (letter != other))
                return new, new

            first = previous[0] + 1
            _, rest = L.scan(column, first, (b, previous[:-1], previous[1:]))
            return np.concatenate([first[None], rest]), None

        start = np.arange(b.shape[0] + 1)
        return L.scan(row, start, a)[0]

    a, b = RNG.integers(0, 4, 11), RNG.integers(0, 4, 9)
    check(program, a, b, sizes=["known"])


@pytest.mark.parametrize("n", [3, 8, 9, 16, 40])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_products_of_all_sizes_and_orders(n, dtype):
    W, P = (RNG.normal(size=(n, n)) * 2 for _ in range(2))
    x = RNG.normal(size=n) * 2

    def program(L, W, P, x):
        def step(i, state):
            P, x = state
            P = (W @ P @ W.T + P.T @ W) % 7
            x = (W @ x + x @ W + W.T @ x + x @ W.T + P @ x) % 7
            return P, x + np.outer(x, x)[1] % 3

        return L.fori_loop(0, 2, step, (P, x))

    arrays = [x.astype(dtype) for x in (np.round(W), np.round(P), np.round(x))]  # exact sums
    check(program, *arrays, sizes=["known", "named"])


@pytest.mark.parametrize("shape", [(4,), (3, 4), (20,), (6, 10)])
def test_constants_that_are_read_at_an_index(shape):
    table = RNG.normal(size=shape)

    def program(L, xs, take=np.take):
        def step(total, i):
            return total + take(table, i % 3, 0), take(table, (i + 1) % 2, 0) * 2

        return L.scan(step, np.zeros(shape[1:]), xs)

    xs = RNG.integers(0, 9, 5)
    agree(rg.jit(lambda xs: program(rg, xs, rnp.take))(xs), program(Plain, xs))


@pytest.mark.parametrize("n", [3, 4, 8, 9, 33])
def test_long_ops_of_small_arrays(n):
    def program(L, x, xs):
        def step(h, x):
            h = np.tanh(h + x) * np.exp(-h[0]) + np.sin(x) ** np.abs(h)
            return h, np.log1p(np.abs(h))

        return L.scan(step, x, xs)

    check(program, RNG.normal(size=n), np.abs(RNG.normal(size=(4, n))), sizes=["known", "named"])


def test_linear_algebra_of_small_matrices():
    def program(L, A, x, xs):
        def step(state, y):
            P, x = state
            S = P @ P.T + np.eye(3)
            C = np.linalg.cholesky(S)
            x = np.linalg.solve(S, x + y) + np.linalg.solve(C, y)
            return (np.linalg.inv(S) @ A, x), np.linalg.det(S) + x[0]

        return L.scan(step, (A, x), xs)

    check(program, M3, V3, XS, sizes=["known"])


# Loops of unknown length.


def test_newton():
    def program(L, a):
        def far(x):
            return np.max(np.abs(x * x - a)) > 1e-12

        return L.while_loop(far, lambda x: 0.5 * (x + a / x), a)

    check(program, np.float64(2.0), sizes=["known"])
    check(program, RNG.uniform(1, 2, 3))
    check(program, RNG.uniform(1, 2, 70))


def test_a_loop_whose_condition_never_holds():
    def program(L, x):
        return L.while_loop(lambda x: x[0] > 100, lambda x: x + 1, x)

    check(program, V3)
    check(program, V70)


def test_a_loop_of_more_rounds_than_machine_code_runs_at_once():
    f = rg.jit(lambda x: rg.while_loop(lambda s: s[0] < x, lambda s: (s[0] + 1, s[1] ^ s[0]),
                                       (np.int64(0), np.int64(0))))  # fmt: skip
    n = (1 << 20) + 12_345
    count, mixed = f(np.int64(n))
    assert count == n
    assert mixed == np.bitwise_xor.reduce(np.arange(n))
    rounds = rg.jit(lambda x: rg.while_loop(lambda x: x[0] < n, lambda x: x + 1, x))
    agree(rounds(np.zeros(70)), np.full(70, float(n)))


@pytest.mark.parametrize("bounds", [(0, 5), (3, 3), (4, 1), (-2, 2)])
def test_the_range_of_a_counted_loop(bounds):
    def program(L, x):
        return L.fori_loop(*bounds, lambda i, x: x * 0.5 + i, x)

    check(program, V3)

    def dynamic(L, low, high, x):
        return L.fori_loop(low, high, lambda i, x: x * 0.5 + i, x)

    check(dynamic, *map(np.int64, bounds), V3)
    check(dynamic, *map(np.int64, bounds), V70)


# Errors.


def mistake(kind, call, *parts):
    """Check that a call raises an error that says all parts, the last of which mends it."""
    with pytest.raises(kind) as raised:
        call()
    for part in parts:
        assert part in str(raised.value)


def test_a_carry_of_another_dtype():
    mistake(
        rg.errors.DTypeError,
        lambda: rg.scan(lambda c, x: (c + x, None), np.float32(0), np.ones(3)),
        "carries float32", "next value is float64", "next", ".astype('float32')",
    )  # fmt: skip


def test_a_carry_of_another_shape():
    mistake(
        rg.errors.ShapeError,
        lambda: rg.fori_loop(0, 3, lambda i, x: x[1:], np.ones(4)),
        "float64[4]", "float64[3]", "same shape",
    )  # fmt: skip


def test_a_carry_of_another_structure():
    for call in (
        lambda: rg.scan(lambda c, x: ((c, c), None), 0.0, np.ones(3)),
        lambda: rg.fori_loop(0, 3, lambda i, x: (x, x), 1.0),
        lambda: rg.while_loop(lambda x: x[0] < 3, lambda x: x[0], (1.0,)),
    ):
        mistake(rg.errors.ArgumentError, call, "another structure", "first", "containers")


def test_a_function_that_returns_no_pair():
    mistake(
        rg.errors.ArgumentError,
        lambda: rg.scan(lambda c, x: c, 0.0, np.ones(3)),
        "returns a pair", "(carry, y)",
    )  # fmt: skip


def test_a_body_that_writes_to_an_array_from_outside():
    def program(x):
        total = np.zeros(3)

        def body(i, c):
            total[i] = c
            return c + 1

        return rg.fori_loop(0, 3, body, x) + total

    mistake(
        rg.errors.ArgumentError, lambda: rg.jit(program)(1.0),
        "writes to an array from outside", "float64[3]", "Carry the array",
    )  # fmt: skip

    def nested(x):
        def outer(i, x):
            def inner(j, y):
                x[j] = y
                return y

            return x + rg.fori_loop(0, 3, inner, 1.0)

        return rg.fori_loop(0, 3, outer, x)

    mistake(rg.errors.ArgumentError, lambda: rg.jit(nested)(V3), "outside", "copy")


def test_lengths_that_differ():
    mistake(
        rg.errors.ArgumentError,
        lambda: rg.scan(lambda c, x: (c, x[0]), 0.0, (np.ones(3), np.ones(4))),
        "one length, not 3, 4", "length=",
    )  # fmt: skip
    mistake(
        rg.errors.ArgumentError, lambda: rg.scan(lambda c, x: (c, x), 0.0, np.ones(3), 5),
        "one length", "length=",
    )  # fmt: skip
    mistake(
        rg.errors.ArgumentError, lambda: rg.scan(lambda c, x: (c, x), 0.0),
        "needs sequences or a length", "xs=",
    )  # fmt: skip


def test_a_condition_that_is_no_bool():
    mistake(
        rg.errors.DTypeError,
        lambda: rg.while_loop(lambda x: x, lambda x: x - 1, 3.0),
        "condition", "float64", "Compare",
    )  # fmt: skip
    mistake(
        rg.errors.DTypeError,
        lambda: rg.cond(3.0, lambda: 1.0, lambda: 2.0),
        "bool", "float64", "Compare",
    )  # fmt: skip


def test_branches_of_other_types():
    mistake(
        rg.errors.DTypeError,
        lambda: rg.cond(True, lambda x: x, lambda x: x > 0, V3),
        "result of cond", "float64[3]", "bool[3]", ".astype(",
    )  # fmt: skip


@pytest.mark.parametrize("x", [V3, V70], ids=["small", "large"])
def test_an_index_out_of_range_within_a_loop(x):
    def read(x, k):
        return rg.fori_loop(0, 3, lambda i, c: c + x[i + k], 0.0)

    def write(x, k):
        def body(i, x):
            x[i + k] = 1.0
            return x

        return rg.fori_loop(0, 3, body, x)

    for function in (read, write):
        f = rg.jit(function)
        f(x, np.int64(0))
        for k in (len(x), -len(x) - 5):
            mistake(IndexError, lambda f=f, k=k: f(x, np.int64(k)), str(len(x)))
        f(x, np.int64(0))  # and it still works


def test_an_index_of_an_empty_array_within_a_loop():
    x = rg.matrix("x", ("n", "m"))

    def write(i, x):
        x[i] = x[i] + 1.0
        return x

    changed = rg.fori_loop(0, 1, write, x)
    f = rg.function([x], changed)
    agree(f(np.zeros((2, 3))), np.array([[1.0] * 3, [0.0] * 3]))
    mistake(IndexError, lambda: f(np.zeros((0, 1000))), "0")


def test_a_matrix_without_a_cholesky_factor_within_a_loop():
    def program(A, xs):
        return rg.scan(lambda c, x: (c + np.linalg.cholesky(A * x), None), A * 0, xs)[0]

    f = rg.jit(program)
    A = np.eye(3) + 0.1
    f(A, np.ones(4))
    mistake(np.linalg.LinAlgError, lambda: f(A, np.array([1.0, -1.0])), "positive definite")


def test_a_singular_matrix_within_a_loop():
    f = rg.jit(lambda A, x: rg.fori_loop(0, 2, lambda i, x: np.linalg.solve(A, x), x))
    f(M3, V3)
    mistake(np.linalg.LinAlgError, lambda: f(np.ones((3, 3)), V3), "singular")


def test_sizes_that_differ_within_a_loop():
    a, b = rg.tensor("a", (None,)), rg.tensor("b", (None,))

    def body(i, x):
        x[1:] = b
        return x

    f = rg.function([a, b], rg.fori_loop(0, 2, body, a))
    agree(f(np.zeros(4), np.arange(3.0)), np.array([0.0, 0, 1, 2]))
    with pytest.raises(ValueError, match="3"):
        f(np.zeros(4), np.arange(4.0))
