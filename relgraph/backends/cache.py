"""The disk cache of compiled code, shared by all backends and all processes.

Every entry is one file: a line that says what it is, a line of facts, the source that it was
compiled from, and the code.  It is written under another name and then renamed, so it is there
whole or not at all.  An entry is used only if its facts are those asked for and its digest is that
of its bytes; a file that was cut short, changed, or made for another processor or version is
compiled again and replaced.

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
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relgraph.backends.config import config
from relgraph.errors import checks_arguments, no_attribute

_MAGIC = b"relgraph cache 1\n"
_SUFFIX = ".rgc"
_DAY = 86400.0
_ROOM = 0.8  # what is kept of the limit when entries are dropped

_lock = threading.RLock()
_unwritable: set[Path] = set()
_bytes: dict[Path, int] = {}  # of the folders that this process has written to
_counts = {"hits": 0, "misses": 0}


@dataclass(frozen=True)
class Info:
    """What is in the cache, and how often this process found what it looked for.

    Parameters
    ----------
    directory : Path
        Where the entries are.
    entries, size : int
        How many there are, and their bytes.
    limit : int
        The bytes at which the oldest are dropped: ``rg.config(cache_limit=...)``.
    hits, misses : int
        How often an entry was found by this process, and how often not.
    """

    directory: Path
    entries: int
    size: int
    limit: int
    hits: int
    misses: int


@checks_arguments
def directory() -> Path:
    """Return the folder of compiled code: ``$RELGRAPH_CACHE_DIR``, or one in the user's cache.

    Returns
    -------
    Path
        The folder; it is made when the first entry is written.
    """
    given = os.environ.get("RELGRAPH_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "relgraph"


@checks_arguments
def info() -> Info:
    """Return what is in the cache.

    Returns
    -------
    Info
        Its folder, entries and bytes, the limit, and the hits and misses of this process.
    """
    sizes = [size for _, _, size in _entries(directory())]
    return Info(
        directory(), len(sizes), sum(sizes), config.cache_limit,
        _counts["hits"], _counts["misses"],
    )  # fmt: skip


@checks_arguments
def clear() -> None:
    """Delete all entries; what this process has loaded stays in use."""
    folder = directory()
    with _lock:
        for path, _, _ in _entries(folder):
            with suppress(OSError):
                path.unlink()
        _bytes.pop(folder, None)


@dataclass(frozen=True)
class Entry:
    """Something compiled.

    Attributes
    ----------
    facts : dict
        What its user has to know of it, as JSON can say it.
    code : bytes
        What was compiled.
    """

    facts: dict[str, Any]
    code: bytes


def fetch(name: str, key: str) -> Entry | None:
    """Return an entry of the cache; None where there is none that is whole and has this key.

    Parameters
    ----------
    name : str
        The name of the entry.
    key : str
        All that its code depends on.

    Returns
    -------
    Entry or None
        The entry.
    """
    path = directory() / f"{name}{_SUFFIX}"
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    found = _parsed(data, key)
    with _lock:
        _counts["hits" if found else "misses"] += 1
    if found:
        with suppress(OSError):  # entries used last are dropped last; a day is exact enough
            if time.time() - path.stat().st_mtime > _DAY:
                os.utime(path)
    return found


def keep(name: str, key: str, source: str, entry: Entry) -> None:
    """Write an entry, in place of one of its name; a folder that cannot be written is told once.

    Parameters
    ----------
    name : str
        The name of the entry.
    key : str
        All that its code depends on.
    source : str
        What it was compiled from, for people.
    entry : Entry
        The entry.
    """
    folder = directory()
    with _lock:
        if folder in _unwritable:
            return
    text = source.encode()
    facts = {
        "key": key, "facts": entry.facts, "source": len(text),
        "digest": hashlib.sha256(text + entry.code).hexdigest(),
    }  # fmt: skip
    data = b"".join([_MAGIC, json.dumps(facts).encode(), b"\n", text, entry.code])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(".tmp", name, folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, folder / f"{name}{_SUFFIX}")
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        with _lock:
            if folder in _unwritable:
                return
            _unwritable.add(folder)
        warnings.warn(
            f"kernels are compiled but not cached: {folder} cannot be written ({error}). "
            "Set RELGRAPH_CACHE_DIR to a folder that can.",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    _drop_old(folder, len(data))


def _parsed(data: bytes, key: str) -> Entry | None:
    """Return the entry in the bytes of a file, if they are whole and it has this key."""
    if not data.startswith(_MAGIC):
        return None
    end = data.find(b"\n", len(_MAGIC))
    try:
        facts = json.loads(data[len(_MAGIC) : end])
        rest = data[end + 1 :]
        if facts["key"] != key or facts["digest"] != hashlib.sha256(rest).hexdigest():
            return None
        return Entry(dict(facts["facts"]), rest[facts["source"] :])
    except (ValueError, KeyError, TypeError):
        return None


def _entries(folder: Path) -> list[tuple[Path, float, int]]:
    """Return the entries of a folder with their times and sizes."""
    found = []
    with suppress(OSError), os.scandir(folder) as files:
        for file in files:
            if file.name.endswith(_SUFFIX):
                with suppress(OSError):
                    state = file.stat()
                    found.append((Path(file.path), state.st_mtime, state.st_size))
    return found


def _drop_old(folder: Path, added: int) -> None:
    """Delete the entries used longest ago where the folder has outgrown its limit."""
    with _lock:
        if folder not in _bytes:
            _bytes[folder] = sum(size for _, _, size in _entries(folder))
        else:
            _bytes[folder] += added
        if _bytes[folder] <= config.cache_limit:
            return
        entries = sorted(_entries(folder), key=lambda entry: entry[1])
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
