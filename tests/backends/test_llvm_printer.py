"""The LLVM printer of the loop language, against the interpreter."""

import numpy as np
import pytest

from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.builder import ONE, ZERO, Builder
from relgraph.lowering.loops.nodes import Buffer, Function, Load, Op, Var, const, index
from relgraph.lowering.loops.verify import verify
from relgraph.ops.elementwise import (
    Cast,
    absolute,
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
    negative,
    remainder,
    sqrt,
    subtract,
    true_divide,
)
from tests.lowering.loops.evaluation import machine, same_bits

RNG = np.random.default_rng(6)
ONCE, N = Var("once", "int64"), Var("n", "int64")


def compare(write, *arrays, n=0):
    """Write a function of some arrays and an integer, and run it in both ways."""
    builder = Builder(10_000)
    buffers = [
        Buffer(f"x{k}", x.dtype.name, tuple([N if m == n else index(m) for m in x.shape]))
        for k, x in enumerate(arrays)
    ]
    write(builder, *buffers)
    function = Function("NAME", (ONCE, N), tuple(buffers), builder.body)
    verify(function)
    one, other = [x.copy() for x in arrays], [x.copy() for x in arrays]
    interpreter.run(function, [1, n], one)
    machine(function, [1, n], other)
    for a, b in zip(one, other, strict=True):
        assert same_bits(a, b), (a, b)
    return other


def test_a_loop_over_elements():
    def write(b, x, y):
        with b.loop(ZERO, N, apart=True) as loop:
            value = b.load(x, [loop.index])
            b.store(y, [loop.index], b.op(multiply, value, value, dtype="float64"))

    x = RNG.normal(size=37)
    _, y = compare(write, x, np.zeros(37), n=37)
    assert np.array_equal(y, x * x)


@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_values_that_a_loop_carries(n):
    def write(b, out):
        with b.loop(ZERO, N, [ZERO, ONE]) as loop:
            older, newer = loop.vars
            loop.next = [newer, b.add(older, newer)]  # the next values are computed together
        b.store(out, [ZERO], loop.vars[0])
        b.store(out, [ONE], loop.vars[1])

    compare(write, np.zeros(2, "int64"), n=n)


def test_loops_in_loops():
    def write(b, x, out):
        with b.loop(ZERO, N, [const(0.0, "float64")]) as rows:
            with b.loop(ZERO, b.add(rows.index, ONE), rows.vars) as columns:
                value = b.load(x, [rows.index, columns.index])
                columns.next = [b.op(subtract, value, columns.vars[0], dtype="float64")]
            rows.next = columns.vars
            b.store(out, [rows.index], columns.vars[0])

    compare(write, RNG.normal(size=(9, 9)), np.zeros(9), n=9)


@pytest.mark.parametrize("n", [0, 1, 27, 97])
def test_a_while_loop(n):
    def write(b, out):
        def head(values):
            return b.op("less", ONE, values[0], dtype="bool")

        def body(values):
            x, count = values
            odd = b.op("equal", b.op("rem", x, index(2), dtype="int64"), ONE, dtype="bool")
            (x,) = b.choice(
                odd,
                lambda: [b.add(b.mul(x, index(3)), ONE)],
                lambda: [b.op("div", x, index(2), dtype="int64")],
            )
            return [x, b.add(count, ONE)]

        _, count = b.loop_while([N, ZERO], head, body)
        b.store(out, [ZERO], count)

    (out,) = compare(write, np.zeros(1, "int64"), n=n)
    assert out[0] == {0: 0, 1: 0, 27: 111, 97: 118}[n]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_choices_within_choices(n):
    def write(b, x, out):
        with b.loop(ZERO, index(4)) as loop:
            value = b.load(x, [loop.index])

            def then():
                b.store(x, [loop.index], const(-1.0, "float64"))
                less = b.op("less", loop.index, N, dtype="bool")
                return b.choice(less, lambda: [value], lambda: [const(9.0, "float64")])

            test = b.op("less", ZERO, N, dtype="bool")
            (value,) = b.choice(test, then, lambda: [b.op(negative, value, dtype="float64")])
            b.store(out, [loop.index], value)

    compare(write, RNG.normal(size=4), np.zeros(4), n=n)


def test_buffers_on_the_stack():
    def write(b, x, out):
        rows = b.stack("s", "float32", [3, 2])
        for k in range(6):
            b.store(rows, [index(k // 2), index(k % 2)], b.load(x, [index(k)]))
        with b.loop(ZERO, index(3)) as loop:
            product = b.op(
                multiply, b.load(rows, [loop.index, ZERO]), b.load(rows, [loop.index, ONE]),
                dtype="float32",
            )  # fmt: skip
            b.store(out, [loop.index], product)

    compare(write, RNG.normal(size=6).astype("float32"), np.zeros(3, "float32"))


def test_truths_are_bytes_in_memory():
    def write(b, x, y, out):
        with b.loop(ZERO, N, apart=True) as loop:
            p, q = b.load(x, [loop.index]), b.load(y, [loop.index])
            both = b.op("and", p, b.op("not", q, dtype="bool"), dtype="bool")
            either = b.op("or", both, b.op("equal", p, q, dtype="bool"), dtype="bool")
            b.store(out, [loop.index], b.op("select", p, either, q, dtype="bool"))

    x, y = RNG.random(19) < 0.5, RNG.random(19) < 0.5
    compare(write, x, y, np.zeros(19, bool), n=19)


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "int64", "int32", "int8", "uint8", "uint64"]
)
def test_arithmetic(dtype):
    ops = [add, subtract, multiply, maximum, minimum, floor_divide, remainder]

    def write(b, x, y, out):
        with b.loop(ZERO, N) as loop:
            p, q = b.load(x, [loop.index]), b.load(y, [loop.index])
            for k, op in enumerate(ops):
                b.store(out, [index(k), loop.index], b.op(op, p, q, dtype=dtype))

    if dtype[0] == "f":
        special = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1e30], dtype)
        x, y = np.repeat(special, 6), np.tile(special, 6)
        ops[5:] = [true_divide]
    else:
        info = np.iinfo(dtype)
        x = RNG.integers(info.min, info.max, 36, dtype)
        y = RNG.integers(1, info.max, 36, dtype)
    compare(write, x, y, np.zeros((len(ops), 36), dtype), n=36)


@pytest.mark.parametrize("source", ["float64", "float32", "int64", "int16", "uint8", "bool"])
def test_casts(source):
    targets = ["float64", "float32", "int64", "int32", "int8", "uint16", "bool"]
    x = (RNG.normal(size=12) * 50).clip(0 if source == "uint8" else -99, 99).astype(source)

    def write(b, x, *outs):
        with b.loop(ZERO, N) as loop:
            value = b.load(x, [loop.index])
            for out in outs:
                cast = b.op(Cast(out.dtype), value, dtype=out.dtype)
                b.store(out, [loop.index], cast)

    positive = np.abs(x.astype("float64")).astype(source)  # a negative number has no unsigned value
    compare(write, positive, *[np.zeros(12, t) for t in targets], n=12)


def test_scalars_within_scalars():
    def write(b, x, out):
        total = Op(add, (Load(x, (ZERO,)), Op(sqrt, (Load(x, (ONE,)),), "float64")), "float64")
        b.store(out, [ZERO], Op(absolute, (total,), "float64"))

    compare(write, np.array([-3.0, 4.0]), np.zeros(1))


def test_minima_and_maxima_of_indices():
    def write(b, out):
        b.store(out, [ZERO], b.op("min", N, index(4), dtype="int64"))
        b.store(out, [ONE], b.op("max", N, index(4), dtype="int64"))

    compare(write, np.zeros(2, "int64"), n=3)


def test_a_sum_of_floats_may_be_in_any_order():
    def write(b, x, out):
        with b.loop(ZERO, N, [const(0.0, "float64")], apart=True) as loop:
            loop.next = [b.op("sum", loop.vars[0], b.load(x, [loop.index]), dtype="float64")]
        b.store(out, [ZERO], loop.vars[0])

    compare(write, np.arange(100.0), np.zeros(1), n=100)  # sums of integers are exact
