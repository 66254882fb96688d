"""Memory stays flat, threads build one object, and results do not depend on hash order."""

import gc
import os
import subprocess
import sys
import tracemalloc

import relgraph as rg
from relgraph.ir import node as nodes
from tests.concurrency import at_once
from tests.samples import distribute_matmulo


def build_and_drop(count, start=0, rewrite=True):
    for i in range(start, start + count):
        x = rg.vector(f"x{i}", shape=("n",))
        a = rg.matrix(f"A{i}", shape=("n", "n"))
        y = a @ (x + float(i)) + rg.exp(x) * float(i + 1)
        if rewrite:
            rg.rewrite_graph(y, distribute_matmulo)
        rg.fact(y, "finite")


def measure():
    """Print the bytes in use and the entries of the tables, after rounds of graphs."""
    tracemalloc.start()
    for rewrite, counts in ((False, (1000, 10_000)), (True, (5000, 5000))):
        for count in counts:
            build_and_drop(count, rewrite=rewrite)
            if rewrite:  # normal forms are remembered; what was only built is freed at once
                rg.clear_caches()
            gc.collect()
            entries = len(nodes._inputs), len(nodes._constants), len(rg.add._nodes)
            print(tracemalloc.get_traced_memory()[0], *entries)


def test_dropped_graphs_are_freed():
    # In a process of its own, where no other test has filled the tables before.
    script = f"import runpy; runpy.run_path({__file__!r})['measure']()"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    rows = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(rows) == 4  # the first of each pair lets tables reach their size
    for (first, *before), (last, *after) in (rows[:2], rows[2:]):
        assert last - first < 100_000  # bytes; a single graph of these takes about 5,000
        assert all(n <= m + 8 for n, m in zip(after, before, strict=True))


def test_memos_are_bounded():
    rg.clear_caches()
    gc.collect()
    before = len(rg.add._nodes)
    build_and_drop(12_000, 50_000)
    gc.collect()
    # Some normal forms are remembered without clear_caches, but not those of all graphs.
    assert len(rg.add._nodes) - before < 12_000
    rg.clear_caches()


def test_threads_that_build_one_graph_get_one_object():
    def build(name):
        node = rg.vector(name, shape=("n",))
        for i in range(400):
            node = rg.tanh(node * float(i) + node)
        return node

    results = at_once(build, ["shared"] * 16)
    assert all(r is results[0] for r in results)


def test_threads_that_rewrite_one_graph_get_one_result():
    a = rg.matrix("A", shape=("n", "n"))
    terms = [rg.vector(f"t{i}", shape=("n",)) for i in range(50)]
    graph = a @ terms[0]
    for t in terms[1:]:
        graph = graph + a @ t
    results = at_once(rg.rewrite_graph, [graph] * 8, [distribute_matmulo.reversed] * 8)
    assert results[0].op is rg.matmul and all(r is results[0] for r in results)


SCRIPT = """
import numpy as np
import relgraph as rg
A, B = rg.matrices("A B", shape=("n", "n"))
x, y, z = rg.vectors("x y z", shape=("n",))
s = rg.scalar("s")
graph = [
    rg.log(1 + rg.exp(A @ x + B @ y + A @ z)) + x * y + x * z + 3 * x - s * y,
    rg.sum(rg.exp(x - rg.max(x))) / (1 + rg.exp(-s)) + rg.sum(y * y + 0),
]
rewritten = rg.rewrite_graph(graph, mode="o4")
print(rg.pprint(rewritten))
print([n.digest for n in rewritten])
print(rg.optdb.query(rg.mode("o4")))
print(rg.explain(graph, mode="o4"))
f = rg.function([A, B, x, y, z, s], graph)
print(f.source)
rng = np.random.default_rng(0)
arrays = [rng.normal(size=shape) for shape in [(40, 40)] * 2 + [40] * 3 + [()]]
print([np.asarray(result).tobytes().hex() for result in f(*arrays)])
"""


def test_results_do_not_depend_on_the_hash_seed():
    texts = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "4242")
    ]  # fmt: skip
    assert "softplus" in texts[0] and "def main" in texts[0]
    assert len(texts[0].splitlines()[-1]) > 640  # the bytes of 40 numbers and of one
    assert texts[0] == texts[1]
