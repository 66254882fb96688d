"""Files of the cache that are swapped, forged, damaged or another user's never run."""

import hashlib
import json
import os
import stat
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
POSIX = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners on this system")


def where_from():
    """Compile, check the value, and return where the kernel came from."""
    forget()
    x = rg.vector("x")
    f = rg.function([x], rg.sqrt(x) * 3.0 - rg.cbrt(x), mode=None)
    np.testing.assert_allclose(f(np.array([64.0, 1.0])), [20.0, 2.0], rtol=1e-14)
    (name,) = f.report().kernels
    return kernels.stats()[name]


def run(script, env, **options):
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=env, check=False, capture_output=True,
        text=True, timeout=200, **options,
    )  # fmt: skip


SWAPS = """
import itertools, os
from pathlib import Path
import numpy as np
import relgraph as rg
from relgraph.backends.numba import kernels

x, y, m = rg.vector("x"), rg.vector("y"), rg.matrix("m")
a, b, c = np.array([1.0, 4.0]), np.array([2.0, 3.0]), np.arange(6.0).reshape(2, 3)
PROGRAMS = [
    ([x, y], rg.sqrt(x) * y, (a, b), np.sqrt(a) * b),
    ([m], rg.sum(m * m, axis=0), (c,), (c * c).sum(axis=0)),
    ([x], rg.where(x > 2.0, x, -x), (a,), np.where(a > 2, a, -a)),
    ([x, m], [x[:, None] + m, rg.exp(x)], (a, c), [a[:, None] + c, np.exp(a)]),
]

def compute():
    kernels._addresses.clear()
    kernels._scalars.clear()
    for made_once in (kernels.trampoline, kernels._guard, kernels._calls, kernels._entry):
        made_once.cache_clear()
    for inputs, graph, values, expected in PROGRAMS:
        result = rg.function(inputs, graph, mode=None)(*values)
        lists = isinstance(graph, list)
        for one, other in zip(result if lists else [result], expected if lists else [expected]):
            np.testing.assert_allclose(one, other, rtol=1e-14)

compute()
files = {p: p.read_bytes() for p in sorted(Path(os.environ["RELGRAPH_CACHE_DIR"]).iterdir())}
for one, other in itertools.permutations(files, 2):
    one.write_bytes(files[other])
    if one.name.startswith("rgf"):  # a function of scalars, which is read to compile kernels
        for path in files:
            if path.name.startswith("rgk"):
                path.unlink(missing_ok=True)
    compute()
    assert one.read_bytes() == files[one], (one, other)
print(len(files))
"""


def test_no_entry_passes_for_another(tmp_path):
    done = run(SWAPS, {**os.environ, "RELGRAPH_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 8


def forged(data, name, line=None, rest=None):
    """Return the file of an entry with another header, or other contents, and the digest of it."""
    magic, _, own, contents = data.split(b"\n", 3)
    own, contents = own if line is None else line, contents if rest is None else rest
    whole = own + b"\n" + contents
    digest = hashlib.sha256(f"{name}\n".encode() + whole).hexdigest().encode()
    return b"\n".join([magic, digest, whole])


HEADERS = {
    "empty": b"",
    "nested lists": b"[" * 100_000,
    "nested dicts": b'{"a":' * 100_000,
    "a closed nest": b"[" * 50_000 + b"]" * 50_000,
    "not json": b"key: value",
    "not utf-8": b'{"key": "\xff\xfe"}',
    "utf-16": '{"key": "a"}'.encode("utf-16"),
    "a list": b"[1, 2]",
    "a number": b"12",
    "null": b"null",
    "an empty dict": b"{}",
    "huge number": b"9" * 10_000,
    "zeros": bytes(1000),
}
FIELDS = {
    "key": (None, 1, [], {}, ""),
    "facts": (None, 1, [], "symbols", [["symbols", []]]),
    "source": (None, "3", 1.5, -1, True, [], 2**63, 10**400),
}


def test_headers_of_any_kind_are_compiled_again(folder):
    where_from()
    path = kernel_file(folder)
    good = path.read_bytes()
    header = json.loads(good.split(b"\n", 3)[2])
    lines = [*HEADERS.values()]
    lines += [json.dumps(header).encode()[:n] for n in range(0, len(json.dumps(header)), 37)]
    lines += [
        json.dumps({**header, field: value}).encode()
        for field, values in FIELDS.items() for value in values
    ]  # fmt: skip
    lines += [
        json.dumps({k: v for k, v in header.items() if k != field}).encode() for field in FIELDS
    ]
    assert forged(good, path.stem) == good
    for line in lines:
        path.write_bytes(forged(good, path.stem, line))
        assert cache.fetch(path.stem, kernels.environment()) is None, line[:100]
    for line in (HEADERS["nested lists"], HEADERS["an empty dict"]):
        path.write_bytes(forged(good, path.stem, line))
        assert where_from() == "compiled", line[:100]
        assert path.read_bytes() == good, line[:100]
    assert where_from() == "disk"


def test_every_part_of_a_file_is_checked(folder):
    where_from()
    path = kernel_file(folder)
    good = path.read_bytes()
    name, key = path.stem, kernels.environment()
    assert cache.fetch(name, key) is not None
    for place in {*range(0, 600, 7), *range(600, len(good), 401), len(good) - 1}:
        bad = bytearray(good)
        bad[place] ^= 1 << place % 8
        path.write_bytes(bad)
        assert cache.fetch(name, key) is None, place
    for length in {*range(0, len(good), 997), len(good) - 1}:
        path.write_bytes(good[:length])
        assert cache.fetch(name, key) is None, length
    for bad in (good + b"\0", good + good, good.replace(b"cache 2", b"cache 1", 1)):
        path.write_bytes(bad)
        assert cache.fetch(name, key) is None
    path.write_bytes(good)
    assert cache.fetch(name, key + " ") is None
    assert cache.fetch(name, key) is not None


def test_names_that_are_no_files_of_entries_are_passed_over(folder, tmp_path):
    where_from()
    path, key = kernel_file(folder), kernels.environment()
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)

    def linked_to(target):
        return lambda: path.symlink_to(target)

    for make in (
        path.mkdir, linked_to(elsewhere), linked_to(path), linked_to("/dev/zero"),
        linked_to("nowhere"), lambda: os.mkfifo(path), lambda: path.touch(0o000),
    ):  # fmt: skip
        make()
        assert cache.fetch(path.stem, key) is None
        if path.is_dir():
            path.rmdir()
        else:
            assert where_from() == "compiled"
            assert path.is_file()
            assert not path.is_symlink()
            path.unlink()


def of_another_user(path, monkeypatch):
    """Have a file or folder belong to somebody else than the user and root."""
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)


@POSIX
def test_folders_that_are_made_are_the_users_alone(tmp_path, monkeypatch):
    folder = tmp_path / "a" / "b"
    monkeypatch.setenv("RELGRAPH_CACHE_DIR", str(folder))
    monkeypatch.setattr(kernels, "_addresses", {})
    monkeypatch.setattr(kernels, "_scalars", {})
    before = os.umask(0)
    try:
        where_from()
    finally:
        os.umask(before)
    assert [stat.S_IMODE(x.stat().st_mode) for x in (folder, folder.parent)] == [0o700] * 2
    assert stat.S_IMODE(kernel_file(folder).stat().st_mode) == 0o600


def others_write(path, _):
    path.chmod(0o777)


def others_write_where_names_stay(path, _):
    path.chmod(0o1777)


def a_group_writes(path, _):
    if os.geteuid() == 0:
        os.chown(path, -1, 12345)
    path.chmod(0o775)


CASES = (of_another_user, others_write, others_write_where_names_stay)


@POSIX
@pytest.mark.parametrize("change", [*CASES, a_group_writes])
def test_a_folder_that_others_write_is_not_used(change, folder, monkeypatch):
    if change is a_group_writes and os.geteuid():
        monkeypatch.setattr(cache, "_is_private", lambda group: False)
    assert where_from() == "compiled"
    assert where_from() == "disk"
    monkeypatch.setattr(cache, "_places", {})  # as in a new process
    before = {x.name: x.read_bytes() for x in folder.iterdir()}
    change(folder, monkeypatch)
    with pytest.warns(RuntimeWarning, match="not cached, and what is in .*written by") as caught:
        assert where_from() == "compiled"
    assert len(caught) == 1
    assert str(folder) in str(caught[0].message)
    assert "chmod" in str(caught[0].message)
    assert where_from() == "compiled"  # without another warning
    assert {x.name: x.read_bytes() for x in folder.iterdir()} == before


@POSIX
@pytest.mark.parametrize("change", [of_another_user, others_write])
def test_a_file_that_others_write_is_not_loaded(change, folder, monkeypatch):
    where_from()
    path, key = kernel_file(folder), kernels.environment()
    assert cache.fetch(path.stem, key) is not None
    change(path, monkeypatch)
    assert cache.fetch(path.stem, key) is None


@POSIX
def test_the_group_of_the_user_alone_may_write(folder, monkeypatch):
    folder.mkdir()
    folder.chmod(0o775)
    monkeypatch.setattr(cache, "_is_private", lambda group: group == folder.stat().st_gid)
    where_from()
    assert where_from() == "disk"


def test_a_folder_behind_a_link_is_used(folder, tmp_path):
    (tmp_path / "real").mkdir(0o700)
    folder.symlink_to(tmp_path / "real")
    where_from()
    assert where_from() == "disk"


def test_a_link_to_itself_means_one_warning(folder):
    folder.symlink_to(folder)
    with pytest.warns(RuntimeWarning, match="not cached") as caught:
        assert where_from() == "compiled"
    assert len(caught) == 1
    assert rg.cache.info().entries == 0


def test_a_folder_that_is_a_file_means_one_warning(folder):
    folder.touch()
    with pytest.warns(RuntimeWarning, match="not cached") as caught:
        assert where_from() == "compiled"
    assert len(caught) == 1


def test_old_files_of_killed_processes_are_deleted(folder):
    where_from()
    new, old = folder / "rgk_1.tmp", folder / "rgk_2.tmp"
    for path in (new, old):
        path.touch()
    os.utime(old, (1, 1))
    rg.cache.clear()
    assert list(folder.iterdir()) == [new]  # somebody may be writing it


HOMELESS = """
import pwd, sys, warnings

def missing(uid):
    raise KeyError(uid)

pwd.getpwuid = missing
import numpy as np
import relgraph as rg
x = rg.vector("x")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for k in range(2):
        value = rg.function([x], rg.sqrt(x) + float(k), mode=None)(np.array([4.0]))
        np.testing.assert_array_equal(value, [2.0 + k])
(warning,) = caught
assert warning.category is RuntimeWarning
assert "no home folder" in str(warning.message) and "RELGRAPH_CACHE_DIR" in str(warning.message)
info = rg.cache.info()
assert rg.cache.directory() is None and info.directory is None
assert (info.entries, info.size) == (0, 0)
rg.cache.clear()
print("done")
"""


@POSIX
def test_a_user_without_a_home_compiles_in_memory():
    names = ("HOME", "XDG_CACHE_HOME", "RELGRAPH_CACHE_DIR")
    done = run(HOMELESS, {k: v for k, v in os.environ.items() if k not in names})
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


RACE = """
import os, sys, warnings
import numpy as np
import relgraph as rg
warnings.simplefilter("error")
x, number = rg.vector("x"), int(sys.argv[1])
a = np.array([1.0, 4.0])
for k in range(7):
    f = rg.function([x], rg.sqrt(x) * float(k % 5 + 1) - x, mode=None)
    np.testing.assert_array_equal(f(a), np.sqrt(a) * (k % 5 + 1) - a)
    if k % 3 == number % 3:
        rg.cache.clear()
    if k % 4 == number % 4:
        for path in rg.cache.directory().glob("*.rgc"):
            try:
                path.write_bytes(path.read_bytes()[: 100 * k])
            except FileNotFoundError:
                pass
print("done")
"""


def test_processes_that_write_clear_and_damage_one_cache(tmp_path):
    env = {**os.environ, "RELGRAPH_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(number)], cwd=ROOT, env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for number in range(8)
    ]  # fmt: skip
    for each in running:
        out, error = each.communicate(timeout=200)
        assert (out, each.returncode) == ("done\n", 0), error
    assert not list(tmp_path.glob("*.tmp"))
