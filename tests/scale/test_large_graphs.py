"""Graphs of 100,000 nodes and of 2^1000 paths: no recursion, no blow-up, in any part."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import relgraph as rg
from tests.samples import cancel_log_expo, remove_multiply_oneo

LENGTH = 100_000


@pytest.fixture(scope="module")
def chain():
    x, y = rg.vectors("x y", shape=("n",))
    node = x
    for i in range(LENGTH // 3):
        node = rg.sin(node) * y + float(i % 7)
    return node


@pytest.fixture(scope="module")
def doubling():
    node = rg.vector("x", shape=("n",))
    for _ in range(1000):
        node = node + node
    return node


def in_another_process(script, *args):
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, args)],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


COUNT = """
import pickle, sys
import relgraph as rg
with open(sys.argv[1], "rb") as file:
    node = pickle.load(file)
rg.verify(node)
print(len(rg.FunctionGraph(None, node)), node.digest)
"""


def test_a_long_chain_prints(chain):
    text = rg.pprint(chain)
    assert text.count("sin(") == LENGTH // 3
    assert max(map(len, text.splitlines())) < 300
    assert len(rg.dprint(chain).splitlines()) > LENGTH
    assert len(repr(chain)) < 2000


def test_a_long_chain_travels_to_another_process(chain, tmp_path):
    path = tmp_path / "chain.pickle"
    path.write_bytes(pickle.dumps(chain))
    count = len(rg.FunctionGraph(None, chain))
    assert in_another_process(COUNT, path) == f"{count} {chain.digest}"
    assert pickle.loads(path.read_bytes()) is chain


def test_a_long_chain_rewrites_to_its_end():
    x = rg.vector("x", shape=("n",))
    node = x
    for _ in range(LENGTH // 3):
        node = rg.log(rg.exp(node)) * 1
    assert rg.rewrite_graph(node, cancel_log_expo, remove_multiply_oneo) is x


def test_a_long_chain_that_nothing_matches_stays_itself(chain):
    assert rg.rewrite_graph(chain, cancel_log_expo) is chain


COMPILE = """
import pickle, resource, sys
from pathlib import Path
import numpy as np
import relgraph as rg
with open(sys.argv[1], "rb") as file:
    node = pickle.load(file)
f = rg.function(None, node, mode=None)
print(f(np.linspace(-1, 1, 5), np.full(5, 0.5)).tolist())
print(max(map(len, f.source.splitlines())))
status = Path("/proc/self/status")  # what getrusage says counts the parent's memory, on Linux
if status.exists():
    print(next(int(x.split()[1]) for x in status.open() if x.startswith("VmHWM")) // 1024)
else:
    unit = 1024**2 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit)
"""


def test_a_long_chain_compiles_in_a_gigabyte(chain, tmp_path):
    path = tmp_path / "chain.pickle"
    path.write_bytes(pickle.dumps(chain))
    result, widest, megabytes = map(json.loads, in_another_process(COMPILE, path).splitlines())
    expected, b = np.linspace(-1, 1, 5), np.full(5, 0.5)
    for i in range(LENGTH // 3):
        expected = np.sin(expected) * b + float(i % 7)
    np.testing.assert_allclose(result, expected, rtol=1e-9)
    assert widest < 1000
    assert megabytes < 1000


def test_shared_nodes_are_named_once(doubling):
    lines = rg.pprint(doubling).splitlines()
    assert len(lines) == 1000
    assert lines[1] == "t1 = t0 + t0"
    assert len(rg.dprint(doubling).splitlines()) == 2001
    assert len(repr(doubling)) < 2000


def test_doubling_travels_and_rewrites(doubling, tmp_path):
    path = tmp_path / "doubling.pickle"
    path.write_bytes(pickle.dumps(doubling))
    assert in_another_process(COUNT, path) == f"1001 {doubling.digest}"
    assert rg.rewrite_graph(doubling, cancel_log_expo) is doubling
    halved = rg.rewrite_graph(doubling, mode="o4")
    assert len(rg.FunctionGraph(None, halved)) <= 2002


@pytest.mark.parametrize(
    ("dtype", "steps"), [("int64", 100), ("float32", 100), ("float32", 200), ("uint8", 12)]
)
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_doubling_keeps_its_values(dtype, steps, target):
    x = rg.vector("x", shape=("n",), dtype=dtype)
    node = x
    for _ in range(steps):
        node = node + node
    a = np.array([0, 1, 3], dtype)
    expected = a
    with np.errstate(over="ignore"):
        for _ in range(steps):
            expected = expected + expected
    for mode in (None, "o4"):
        result = rg.function([x], node, mode=mode, target=target)(a)
        assert result.dtype == expected.dtype
        finite = np.isfinite(expected) & (a != 0)
        np.testing.assert_array_equal(result[finite], expected[finite])


def test_many_like_terms_keep_their_value():
    x, y = rg.vectors("x y", shape=("n",), dtype="uint8")
    total = x
    for _ in range(299):
        total = total + x
    total = total + y
    a, b = np.array([1, 2, 255], np.uint8), np.array([7, 0, 1], np.uint8)
    expected = b.copy()
    for _ in range(300):
        expected = expected + a
    rewritten = rg.rewrite_graph(total, mode="o4")
    assert len(rg.FunctionGraph(None, rewritten)) < 12
    for graph in (total, rewritten):
        result = rg.evaluate(graph, {x: a, y: b})
        assert result.dtype == np.uint8
        np.testing.assert_array_equal(result, expected)


def test_sums_of_bool_keep_their_value():
    p, q = rg.vectors("p q", shape=("n",), dtype="bool")
    total = p
    for _ in range(20):
        total = total + p
    graph = total + (q + p)
    a, b = np.array([True, False, False]), np.array([False, True, False])
    result = rg.evaluate(rg.rewrite_graph(graph, mode="o4"), {p: a, q: b})
    assert result.dtype == np.bool_
    np.testing.assert_array_equal(result, a | b)
