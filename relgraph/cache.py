"""The disk cache of compiled code: kernels and matchers, shared by all processes.

An entry is one file: a line with the format, a digest, a line of JSON, the source and the code.  It
is written under a temporary name and then renamed, so it is never incomplete.  An entry is used
only if its key matches and its digest is that of its name and bytes.  Otherwise its content is
compiled again and the entry is replaced.

Entries are code, of the machine or of Python, so folder and file must belong to the user or root,
and nobody else may be able to write to them.  Parent folders do not matter: someone who can replace
the folder can only put their own files there, or move the user's files, and both fail these checks.

Examples
--------
>>> import relgraph as rg
>>> rg.cache.info().limit
536870912
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relgraph.errors import checks_arguments, no_attribute
from relgraph.ir import forks
from relgraph.ir.records import record
from relgraph.settings import config

_MAGIC = b"relgraph cache 2"
_SUFFIX = ".rgc"
_DAY, _HOUR = 86400.0, 3600.0
_ROOM = 0.8  # the fraction of the limit to which the cache shrinks when it exceeds the limit

_lock = forks.lock()
_unwritable: set[Path | None] = set()
_places: dict[Path, Path | None] = {}  # resolved folders; None if others can write to one
_bytes: dict[Path, int] = {}  # sizes of the folders that this process has written to
_counts = {"hits": 0, "misses": 0}


@record
class Info:
    """The contents of the cache, and how often this process found an entry in it.

    Parameters
    ----------
    directory : Path or None
        The folder of the entries; None if the user has no home folder, so that nothing is cached.
    entries, size : int
        The number of entries and their total size in bytes.
    limit : int
        The size in bytes at which the oldest entries are deleted: ``rg.config(cache_limit=...)``.
    hits, misses : int
        How often this process found an entry, and how often it did not.
    """

    directory: Path | None
    entries: int
    size: int
    limit: int
    hits: int
    misses: int


@checks_arguments
def directory() -> Path | None:
    """Return the folder of compiled code: ``$RELGRAPH_CACHE_DIR``, or one in the user's cache.

    Returns
    -------
    Path or None
        The folder, which is created when the first entry is written.  None if the variable is not
        set and the user has no home folder, as in some containers; nothing is cached then.
    """
    return current_folder()


def current_folder() -> Path | None:
    """Return what :func:`directory` does, from memory while the environment stays the same."""
    return _folder(*map(os.environ.get, ("RELGRAPH_CACHE_DIR", "XDG_CACHE_HOME", "HOME")))


@lru_cache(maxsize=8)
def _folder(setting: str | None, base: str | None, home: str | None) -> Path | None:
    if setting:
        return Path(setting)
    if base:
        return Path(base) / "relgraph"
    try:
        return Path.home() / ".cache" / "relgraph"
    except RuntimeError:
        return None


@checks_arguments
def info() -> Info:
    """Return the contents of the cache and its statistics.

    Returns
    -------
    Info
        The folder, entries, size and limit of the cache, and the hits and misses of this process.
    """
    folder = directory()
    sizes = [size for _, _, size in _files(folder)]
    return Info(
        folder, len(sizes), sum(sizes), config.cache_limit,
        _counts["hits"], _counts["misses"],
    )  # fmt: skip


@checks_arguments
def clear() -> None:
    """Delete all entries; code that this process has loaded stays in use."""
    folder = directory()
    if folder is None:
        return
    with _lock:
        for path, _, _ in [*_files(folder), *_abandoned(folder)]:
            with suppress(OSError):
                path.unlink()
        _bytes.pop(folder, None)


@record
class Entry:
    """Compiled code, and facts about it that JSON can represent."""

    facts: dict[str, Any]
    code: bytes


class Sources(NamedTuple):
    """What compiled Python depends on, as text, and a short name for it."""

    name: str
    text: str


@cache
def sources() -> Sources | None:
    """Return what the generated code of relgraph depends on; None if it is not in a folder.

    It is the system, the versions of Python and NumPy, and path, time and size of each file of
    relgraph, by which Python decides as well whether its own compiled files are up to date.
    """
    lines = [sys.version, sys.platform, np.__version__, str(Path(__file__).parent)]
    waiting = lines[3:]
    try:
        for folder in waiting:  # which grows
            with os.scandir(folder) as items:
                for item in sorted(items, key=lambda x: x.name):
                    if item.name.endswith(".py"):
                        state = item.stat()
                        lines.append(f"{item.path} {state.st_mtime_ns} {state.st_size}")
                    elif item.name != "__pycache__" and item.is_dir():
                        waiting.append(item.path)
    except OSError:  # in an archive
        return None
    text = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return Sources(text[:16], text)


def fetch(name: str, key: str) -> Entry | None:
    """Return an entry of the cache; None if there is no intact entry with this name and key.

    The key is everything that the code depends on.
    """
    folder = _place()
    entry = None
    if folder is not None:
        path = folder / f"{name}{_SUFFIX}"
        with suppress(OSError):
            entry = _parsed(_contents(path), name, key)
    with _lock:
        _counts["misses" if entry is None else "hits"] += 1
    return entry


def keep(name: str, key: str, source: str, entry: Entry) -> None:
    """Write an entry, replacing one with the same name; warn once if the cache cannot be written.

    The source is stored for people to read.
    """
    folder = directory()
    with _lock:
        if folder in _unwritable:
            return
    try:
        if folder is None:
            raise OSError("the user has no home folder")
        data = _bytes_of(name, key, source, entry)
        try:
            _write(_made(folder), name, data)
        except FileNotFoundError:  # the folder was deleted in the meantime
            _write(_made(folder), name, data)
    except OSError as error:
        with _lock:
            if folder in _unwritable:
                return
            _unwritable.add(folder)
        warnings.warn(
            f"compiled code is not cached{_why_not(folder, error)}",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    _drop_old(folder, len(data))


def _bytes_of(name: str, key: str, source: str, entry: Entry) -> bytes:
    """Return the contents of the file of an entry."""
    text = source.encode()
    header = json.dumps({"key": key, "facts": entry.facts, "source": len(text)}).encode()
    content = text + entry.code
    return b"\n".join([_MAGIC, _digest(name, header, content), header, content])


def _digest(name: str, header: bytes, content: bytes) -> bytes:
    """Return the digest of a name and of the lines that follow the digest in the file."""
    digest = hashlib.sha256(f"{name}\n".encode())
    digest.update(header + b"\n")
    digest.update(content)
    return digest.hexdigest().encode()


def _parsed(data: bytes, name: str, key: str) -> Entry | None:
    """Return the entry in the contents of a file if it is intact and has this name and key."""
    parts = data.split(b"\n", 3)
    if len(parts) != 4 or parts[0] != _MAGIC or parts[1] != _digest(name, *parts[2:]):
        return None
    try:
        header = json.loads(parts[2])
        length, facts, stored_key = header["source"], header["facts"], header["key"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if stored_key != key or type(facts) is not dict or type(length) is not int:
        return None
    return Entry(facts, parts[3][length:]) if 0 <= length <= len(parts[3]) else None


def _contents(path: Path) -> bytes:
    """Return the contents of a file; nothing if anyone but the user or root can change it."""
    flags = os.O_RDONLY
    for flag in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"):  # do not block on a pipe
        flags |= getattr(os, flag, 0)
    with open(os.open(path, flags), "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or _others(state) or state.st_size > config.cache_limit:
            return b""
        if time.time() - state.st_mtime > _DAY:  # recently used entries are deleted last
            with suppress(OSError):
                os.utime(path)
        return file.read()


def _others(state: os.stat_result) -> str:
    """Return who, besides the user and root, can write to a file or folder; "" if nobody can."""
    if not hasattr(os, "geteuid"):  # on Windows modes do not describe permissions
        return ""
    if state.st_uid not in (0, os.geteuid()):
        return f"its owner, the user {state.st_uid}"
    if state.st_mode & stat.S_IWOTH:
        return "everybody"
    if state.st_mode & stat.S_IWGRP and not _is_private(state.st_gid):
        return f"the group {state.st_gid}"
    return ""


def _is_private(group: int) -> bool:
    """Return True for the user's private group, which many systems create for each user."""
    import grp
    import pwd

    try:
        user, members = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    name = user.pw_name
    return user.pw_gid == group and members.gr_name == name and {*members.gr_mem} <= {name}


def _place() -> Path | None:
    """Resolve the folder of the cache once; return None if it does not exist or is not safe."""
    folder = directory()
    if folder is None:
        return None
    try:
        return _places[folder]
    except KeyError:
        pass
    try:
        place = folder.resolve(strict=True)
        others = _others(place.stat())
    except (OSError, RuntimeError):  # it does not exist yet, or its links form a cycle
        return None
    _places[folder] = None if others else place
    return _places[folder]


def _made(folder: Path) -> Path:
    """Return the resolved folder, creating it for the user alone if it does not exist."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(0o700, exist_ok=True)
    place = _place()
    if place is None:
        raise PermissionError(f"it can be written by {_others(folder.stat())}")
    return place


def _write(folder: Path, name: str, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(".tmp", name, folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, folder / f"{name}{_SUFFIX}")
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _why_not(folder: Path | None, error: OSError) -> str:
    """Return the rest of the warning that nothing is cached, with a remedy."""
    if folder is None:
        return f": {error}. Set RELGRAPH_CACHE_DIR to a folder."
    if folder in _places and _places[folder] is None:
        return (
            f", and what is in {folder} is not used: {error}. Run chmod go-w on it if it is yours, "
            "or set RELGRAPH_CACHE_DIR to a folder that only you can write."
        )
    return f": {folder} cannot be written ({error}). Set RELGRAPH_CACHE_DIR to a folder that can."


def _files(folder: Path | None, suffix: str = _SUFFIX) -> list[tuple[Path, float, int]]:
    """Return the files of a folder with a suffix, with their times and sizes."""
    files: list[tuple[Path, float, int]] = []
    if folder is None:
        return files
    with suppress(OSError), os.scandir(folder) as items:
        for item in items:
            if item.name.endswith(suffix):
                with suppress(OSError):
                    state = item.stat(follow_symlinks=False)
                    files.append((Path(item.path), state.st_mtime, state.st_size))
    return files


def _abandoned(folder: Path) -> list[tuple[Path, float, int]]:
    """Return the temporary files that killed processes left behind."""
    return [file for file in _files(folder, ".tmp") if time.time() - file[1] > _HOUR]


def _drop_old(folder: Path, added: int) -> None:
    """Delete the least recently used entries if the folder exceeds its limit."""
    with _lock:
        if folder not in _bytes:
            _bytes[folder] = sum(size for _, _, size in _files(folder))
        else:
            _bytes[folder] += added
        if _bytes[folder] <= config.cache_limit:
            return
        for path, _, _ in _abandoned(folder):
            with suppress(OSError):
                path.unlink()
        entries = sorted(_files(folder), key=lambda entry: entry[1])
        total = sum(size for _, _, size in entries)
        for path, _, size in entries:
            if total <= _ROOM * config.cache_limit:
                break
            with suppress(OSError):
                path.unlink()
            total -= size
        _bytes[folder] = total


def __getattr__(name: str) -> Any:
    raise no_attribute("relgraph.cache", name, __all__, "rg.cache.info() tells what is there.")


__all__ = ["Info", "clear", "directory", "info"]
