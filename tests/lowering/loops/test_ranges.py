"""What is proved of indices holds at every call, and what loops need is proved."""

from itertools import product

import numpy as np
import pytest

from relgraph.lowering.loops.builder import ONE, ZERO, Builder
from relgraph.lowering.loops.nodes import Const, Op, Var, index
from relgraph.lowering.loops.ranges import Ranges

N, M = Var("n", "int64"), Var("m", "int64")
OPS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "min": min, "max": max,
}  # fmt: skip


def nested(*bounds):
    """Return ranges with the indices of loops, each from and to an index or a size."""
    ranges = Ranges()
    for size in (N, M):
        ranges.size(size)
    for k, (low, high) in enumerate(bounds):
        ranges.index(Var(f"i{k}", "int64"), low, high)
    return ranges


def places(bounds):
    """Return the values that sizes and indices have together."""
    found = [{N: n, M: m} for n, m in product(range(5), repeat=2)]
    for k, (low, high) in enumerate(bounds):
        found = [
            {**values, Var(f"i{k}", "int64"): i}
            for values in found
            for i in range(values.get(low, 0), values[high])
        ]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_comparisons_that_are_proved_hold(seed):
    rng = np.random.default_rng(seed)
    i, j = Var("i0", "int64"), Var("i1", "int64")
    bounds = [(ZERO, N), [(ZERO, i), (i, N), (ZERO, M)][rng.integers(3)]]
    ranges, meaning = nested(*bounds), {}
    operands = [i, j, N, M, *map(index, (-2, 1, 3))]
    for k in range(6):
        op = list(OPS)[rng.integers(len(OPS))]
        args = [operands[rng.integers(len(operands))] for _ in range(2)]
        x = Var(f"v{k}", "int64")
        ranges.result(x, op, args)
        meaning[x] = (op, args)
        operands.append(x)

    def value(x, values):
        if isinstance(x, Const):
            return x.value
        if x in values:
            return values[x]
        op, args = meaning[x]
        return OPS[op](*[value(y, values) for y in args])

    cases = places(bounds)
    assert cases
    for a, b in product(operands, repeat=2):
        values = [(value(a, case), value(b, case)) for case in cases]
        assert not ranges.less(a, b) or all(x < y for x, y in values)
        assert not ranges.at_most(a, b) or all(x <= y for x, y in values)


def test_indices_of_loops_are_within_arrays():
    b = Builder(100)
    b.ranges.size(N)
    with b.loop(ONE, b.sub(N, ONE)) as rows, b.loop(ZERO, rows.index) as columns:
        i, j = rows.index, columns.index
        before, after = b.sub(i, ONE), b.add(i, ONE)
        for x in (i, j, before, after, b.op("min", i, j, dtype="int64")):
            assert b.op("less", x, N, dtype="bool").value
            assert not b.op("less", x, ZERO, dtype="bool").value
        assert isinstance(b.op("less", b.sub(j, ONE), ZERO, dtype="bool"), Var)
        assert isinstance(b.op("less", b.add(after, ONE), N, dtype="bool"), Var)
        assert b.op("max", i, j, dtype="int64") is i
        rows.next = columns.next = []


def test_sums_are_as_short_as_they_can_be():
    b = Builder(100)
    b.ranges.size(N)
    with b.loop(ZERO, N) as loop:
        i = loop.index
        assert b.sub(b.add(i, ONE), ONE) is i
        assert b.sub(b.add(i, N), i) is N
        assert b.sub(b.add(i, index(3)), b.add(i, ONE)) is index(2)
        assert b.add(b.add(i, ONE), ONE) is b.add(i, index(2))
        loop.next = []


def test_sums_that_may_overflow_are_not_compared():
    ranges = Ranges()
    x, y = Var("x", "int64"), Var("y", "int64")
    assert not ranges.are_known(x)
    ranges.result(y, "select", [Op("less", (x, ZERO), "bool"), x, ZERO])
    assert not ranges.are_known(y)
    ranges.index(y, ZERO, index(9))
    assert ranges.are_known(y)


def test_a_proof_ends():
    ranges = Ranges()
    last = N
    ranges.size(N)
    for k in range(300):
        x = Var(f"v{k}", "int64")
        ranges.result(x, "min" if k % 2 else "max", [last, index(k)])
        last = x
    assert not ranges.less(last, N)


def test_branches_know_what_their_condition_says():
    ranges, n, i = Ranges(), Var("n", "int64"), Var("i", "int64")
    ranges.size(n)
    ranges.index(i, ZERO, n)
    zero, one = index(0), index(1)
    assert not ranges.less(zero, i)
    with ranges.assumed(Op("less", (zero, i), "bool"), True):
        assert ranges.less(zero, i)
        assert ranges.less(one, n)
    with ranges.assumed(Op("less", (zero, i), "bool"), False):
        assert ranges.at_most(i, zero)
    with ranges.assumed(Op("equal", (i, zero), "bool"), False):
        assert ranges.at_most(one, i)
    with ranges.assumed(Op("equal", (i, one), "bool"), True):
        assert ranges.less(one, n)
    with ranges.assumed(Op("equal", (i, one), "bool"), False):
        assert not ranges.less(zero, i)
    assert not ranges.less(zero, i)
