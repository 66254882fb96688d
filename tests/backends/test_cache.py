"""The disk cache: what is in it, what is refused, several processes, unusable folders."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import relgraph as rg
from relgraph import cache
from relgraph.backends.numba import kernels
from tests.backends.kernel_files import forget, kernel_file

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def hot():
    """Keep main functions in Python: these tests count what is compiled."""


def compiled():
    x, y = rg.vector("x"), rg.vector("y")
    f = rg.function([x, y], rg.cbrt(x) * y + rg.sqrt(y) - x, mode=None)
    np.testing.assert_allclose(f(np.array([8.0]), np.array([4.0])), [2.0], rtol=1e-14)
    return f


def test_entries_are_counted_and_deleted(folder):
    assert rg.cache.info().entries == 0
    compiled()
    info = rg.cache.info()
    assert info.directory == folder
    assert info.entries == len(list(folder.iterdir())) >= 2
    assert info.size == sum(path.stat().st_size for path in folder.iterdir())
    hits = info.hits
    forget()
    compiled()
    assert rg.cache.info().hits >= hits + 1
    rg.cache.clear()
    assert list(folder.iterdir()) == []
    compiled()


def damaged(data):
    middle = len(data) // 2
    yield b""
    yield data[:middle]  # cut short
    yield data[:-1]
    yield data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]  # a bit of the code
    yield b"\x7fELF" + data[4:]
    yield data.replace(b"cpu ", b"cpU ", 1)  # of another processor
    yield data.replace(b"numba ", b"numbb ", 1)  # of another version
    yield data.split(b"\n", 1)[0] + b"\n[1, 2]\n" + data
    yield data.split(b"\n", 1)[0] + b"\nnot json\n"


def test_a_file_that_is_not_whole_and_ours_is_replaced_and_never_loaded(folder, monkeypatch):
    compiled()
    good = kernel_file(folder).read_bytes()
    loaded = []
    load = kernels.machine.load

    def watched(code, names):
        loaded.append(bytes(code))
        return load(code, names)

    monkeypatch.setattr(kernels.machine, "load", watched)
    for bad in damaged(good):
        kernel_file(folder).write_bytes(bad)
        forget()
        loaded.clear()
        compiled()
        assert kernels.stats()[kernel_file(folder).stem] == "compiled"
        assert kernel_file(folder).read_bytes() == good
        assert loaded == [good[-len(loaded[0]) :]]


def test_a_file_that_is_whole_is_loaded(folder):
    compiled()
    forget()
    compiled()
    assert kernels.stats()[kernel_file(folder).stem] == "disk"


def test_the_source_can_be_read_in_the_file(folder):
    f = compiled()
    text = kernel_file(folder).read_bytes()
    (name,) = f.report().kernels
    assert f"def {name}(".encode() in text
    assert b"cpu " in text.split(b"\n")[2]


def test_old_entries_are_dropped_at_the_limit(folder):
    with rg.config(cache_limit=20_000):
        folder.mkdir()
        for i in range(10):
            entry = cache.Entry({}, b"x" * 5000)
            cache.keep(f"rgk_{i:016x}", "key", "", entry)
            os.utime(folder / f"rgk_{i:016x}.rgc", (i, i))
        info = rg.cache.info()
        assert info.size <= 20_000
        names = sorted(path.name for path in folder.iterdir())
        assert names[-1] == f"rgk_{9:016x}.rgc"
        assert cache.fetch(f"rgk_{0:016x}", "key") is None
        found = cache.fetch(f"rgk_{9:016x}", "key")
        assert found is not None
        assert found.code == b"x" * 5000


FILL = """
import numpy as np, relgraph as rg
x, y = rg.vector("x"), rg.vector("y")
for k in range(6):
    f = rg.function([x, y], rg.exp(x) * y - float(k) * rg.sqrt(y) ** k, mode=None)
    a = np.array([0.0, 1.0])
    value = f(a, a + 1)
    np.testing.assert_allclose(value, np.exp(a) * (a + 1) - k * np.sqrt(a + 1) ** k, rtol=1e-13)
print("done")
"""


def process(script, **env):
    return subprocess.Popen(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", script], cwd=ROOT,
        env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_two_processes_fill_one_cache(folder):
    running = [process(FILL, RELGRAPH_CACHE_DIR=str(folder)) for _ in range(2)]
    for each in running:
        out, error = each.communicate(timeout=100)
        assert (out, each.returncode) == ("done\n", 0), error
    assert not list(folder.glob("*.tmp"))
    assert all(path.read_bytes().startswith(b"relgraph cache") for path in folder.iterdir())


def test_a_full_disk_means_one_warning(folder):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
        with pytest.warns(RuntimeWarning, match="not cached") as caught:
            compiled()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert len(caught) == 1
    assert list(folder.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_still_read(folder):
    compiled()
    names = sorted(folder.iterdir())
    cache._unwritable.add(folder)
    try:
        forget()
        compiled()
        assert set(kernels.stats().values()) >= {"disk"}
        assert sorted(folder.iterdir()) == names
    finally:
        cache._unwritable.discard(folder)
