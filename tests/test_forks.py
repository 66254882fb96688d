"""A child that is forked while other threads rewrite and compile can do so itself."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from relgraph.ir import forks

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

# What every script begins with: a child that hangs ends with a traceback of where.
CHILDREN = """
import faulthandler, gc, os, sys, threading
import numpy as np
import relgraph as rg

def child(work):
    process = os.fork()
    if process == 0:
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            work()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(2)
        os._exit(0)
    return os.waitpid(process, 0)[1]
"""

WHILE_OTHERS_WORK = """
numbers = iter(range(10**9))
x, y = rg.vector("x"), rg.vector("y")
a = np.array([0.5, 1.5, 2.5])
same = rg.function([x], rg.exp(x) - 1.0)

def rewritten():
    k = float(next(numbers))
    graph = rg.rewrite_graph(rg.log(rg.exp(x * k + y)) * 1 + 0, mode="fast_run")
    assert "log" not in str(graph), graph
    wide = x
    for i in range(40):
        wide = (wide + k) * (y + i) + 0
    rg.rewrite_graph(wide, mode="fast_run")

def compiled():
    k = float(next(numbers)) + os.getpid()
    f = rg.function([x, y], rg.sqrt(x) * k + rg.tanh(y) / k)
    np.testing.assert_allclose(f(a, a), np.sqrt(a) * k + np.tanh(a) / k, rtol=1e-12)

@rg.jit
def traced(x, k):
    return x * k - rg.sin(x)

def called():
    np.testing.assert_allclose(same(a), np.expm1(a), rtol=1e-13)
    for k in range(3):
        np.testing.assert_allclose(traced(a, k), a * k - np.sin(a), rtol=1e-12)
        np.testing.assert_allclose(rg.jit(lambda x: x + k)(a), a + k)

def everything():
    rewritten()
    compiled()
    called()

everything()
failures, done = [], threading.Event()

def loop(work):
    try:
        while not done.is_set():
            work()
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=loop, args=(w,)) for w in (rewritten, compiled, called)]
for thread in threads:
    thread.start()
statuses = [child(everything) for _ in range(24)]
done.set()
for thread in threads:
    thread.join()
print(statuses.count(0), failures)
"""


def run(script, tmp_path):
    return subprocess.run(
        [sys.executable, "-c", CHILDREN + script], cwd=ROOT, check=False, capture_output=True,
        text=True, timeout=150, env={**os.environ, "RELGRAPH_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip


def test_children_work_while_threads_rewrite_compile_and_call(tmp_path):
    done = run(WHILE_OTHERS_WORK, tmp_path)
    assert (done.returncode, done.stdout) == (0, "24 []\n"), done.stderr


# A thread waits in the middle of something while its process forks.
IN_THE_MIDDLE = """
x = rg.vector("x")
a = np.array([0.5, 1.5])
inside, resume = threading.Event(), threading.Event()
main = threading.get_ident()

def wait():
    if threading.get_ident() != main:
        inside.set()
        resume.wait()

def fork_during(work, other):
    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(60)
    status = child(other)
    resume.set()
    thread.join()
    inside.clear()
    resume.clear()
    return status
"""

REWRITING = """
class Slow(rg.NodeRewriter):
    def transform(self, graph, node):
        wait()
        return node.inputs[0] if node.op.name == "sin" else None

rewriter = rg.EquilibriumGraphRewriter([Slow()])
graph = rg.FunctionGraph(None, [rg.sin(rg.exp(x) + x) * (x + 1)])

def rewrite():
    (result,) = rewriter.rewrite(graph).outputs
    assert str(result) == "(exp(x) + x) * (x + 1)", result
    assert gc.isenabled()

print(fork_during(rewrite, rewrite))
"""

TRACING = """
@rg.jit
def traced(x):
    wait()
    return x * 2

def trace():
    np.testing.assert_array_equal(traced(a), a * 2)

def trace_in_the_child():
    from relgraph.ir.dispatch import interceptors
    assert not interceptors
    trace()

print(fork_during(trace, trace_in_the_child))
"""

COMPILING = """
from relgraph.backends.numba import machine
compile_module = machine.compile_module

def slow(*args):
    if threading.get_ident() != main:
        inside.set()
        resume.wait(2)  # a fork waits for the compiler
    return compile_module(*args)

machine.compile_module = slow

def compiled():
    f = rg.function([x], rg.sqrt(x) + 1.0)
    np.testing.assert_allclose(f(a), np.sqrt(a) + 1, rtol=1e-14)

print(fork_during(compiled, compiled))
"""

IMPORTING = """
from relgraph.backends.numba import kernels
import logging  # a fork takes its lock, and numba asks for it
uninterrupted = kernels.uninterrupted

def slow(work):
    if threading.get_ident() != main:
        inside.set()
        resume.wait(2)
    return uninterrupted(work)

kernels.uninterrupted = slow

def compiled():
    f = rg.function([x], rg.gammaln(x))
    np.testing.assert_allclose(f(a + 1), [-0.120782237635245, 0.284682870472919], rtol=1e-14)
    assert "numba" in sys.modules

print(fork_during(compiled, compiled))
"""

SEARCHING = """
from etuples import etuple
from kanren import eq, lall, var
from relgraph.relations.kanren.search import KANREN

def slowo(left, right):
    x = var()
    def waiting(state):
        wait()
        yield state
    return lall(eq(left, etuple(rg.sin, x)), waiting, eq(right, etuple(rg.cos, x)))

def search():
    relation = rg.relation(slowo)
    assert str(rg.rewrite_graph(rg.sin(x), [relation])) == "cos(x)"

print(fork_during(search, search))
"""

BUILDING = """
from relgraph.db import catalogue
build = catalogue.build_database

def slow():
    if threading.get_ident() != main:
        inside.set()
        resume.wait(2)  # a fork waits for the default database
    return build()

catalogue.build_database = slow

def rewrite():
    assert str(rg.rewrite_graph(rg.log(rg.exp(x)))) == "x"

print(fork_during(rewrite, rewrite))
"""

SCENES = {
    "rewriting": REWRITING, "tracing": TRACING, "compiling": COMPILING, "importing": IMPORTING,
    "searching": SEARCHING, "building": BUILDING,
}  # fmt: skip


@pytest.mark.parametrize("scene", SCENES)
def test_a_child_does_what_another_thread_was_doing(scene, tmp_path):
    done = run(IN_THE_MIDDLE + SCENES[scene], tmp_path)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_what_an_import_makes_is_old_and_what_is_frozen_stays_so():
    with forks.importing:
        made: list[object] = [[]]
    assert any(x is made for x in gc.get_objects(generation=2))
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        with forks.importing:
            later: list[object] = [[]]
        assert gc.get_freeze_count() >= count
        assert not any(x is later for x in gc.get_objects(generation=2))
    finally:
        gc.unfreeze()
