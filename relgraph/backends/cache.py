"""The disk cache of compiled code, shared by all backends and all processes.

Every entry is one file: a line that says what it is, a digest, a line of facts, the source that it
was compiled from, and the code.  It is written under another name and then renamed, so it is there
whole or not at all.  An entry is used only if its facts are those asked for and the digest is that
of its name and bytes; a file that was cut short, changed, renamed, or made for another processor or
version is compiled again and replaced.

Entries are machine code.  So the folder and the file must belong to the user or root, and nobody
else may be able to write them.  The folders above do not matter: who can exchange the folder can
put only files of their own there, or move those of the user, and neither pass.

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
import tempfile
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relgraph.errors import checks_arguments, no_attribute
from relgraph.ir import forks
from relgraph.settings import config

_MAGIC = b"relgraph cache 2\n"
_SUFFIX = ".rgc"
_DAY, _HOUR = 86400.0, 3600.0
_ROOM = 0.8  # what is kept of the limit when entries are dropped

_lock = forks.lock()
_unwritable: set[Path | None] = set()
_places: dict[Path, Path | None] = {}  # where a folder really is; None if others can write it
_bytes: dict[Path, int] = {}  # of the folders that this process has written to
_counts = {"hits": 0, "misses": 0}


@dataclass(frozen=True)
class Info:
    """What is in the cache, and how often this process found what it looked for.

    Parameters
    ----------
    directory : Path or None
        Where the entries are; None where nothing is kept, since the user has no home folder.
    entries, size : int
        How many there are, and their bytes.
    limit : int
        The bytes at which the oldest are dropped: ``rg.config(cache_limit=...)``.
    hits, misses : int
        How often an entry was found by this process, and how often not.
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
        The folder; it is made when the first entry is written.  None where the variable is not set
        and the user has no home folder, as in some containers; nothing is kept then.
    """
    own = os.environ.get("RELGRAPH_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "relgraph"
    try:
        return Path.home() / ".cache" / "relgraph"
    except RuntimeError:
        return None


@checks_arguments
def info() -> Info:
    """Return what is in the cache.

    Returns
    -------
    Info
        Its folder, entries and bytes, the limit, and the hits and misses of this process.
    """
    folder = directory()
    sizes = [size for _, _, size in _files(folder)]
    return Info(
        folder, len(sizes), sum(sizes), config.cache_limit,
        _counts["hits"], _counts["misses"],
    )  # fmt: skip


@checks_arguments
def clear() -> None:
    """Delete all entries; what this process has loaded stays in use."""
    folder = directory()
    if folder is None:
        return
    with _lock:
        for path, _, _ in [*_files(folder), *_abandoned(folder)]:
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
    """Write an entry, in place of one of its name; a warning, once, says where that cannot be.

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
    try:
        if folder is None:
            raise OSError("the user has no home folder")
        data = _bytes_of(name, key, source, entry)
        try:
            _write(_made(folder), name, data)
        except FileNotFoundError:  # somebody has just deleted it
            _write(_made(folder), name, data)
    except OSError as error:
        with _lock:
            if folder in _unwritable:
                return
            _unwritable.add(folder)
        warnings.warn(
            f"kernels are compiled but not cached{_why_not(folder, error)}",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    _drop_old(folder, len(data))


def _bytes_of(name: str, key: str, source: str, entry: Entry) -> bytes:
    """Return the bytes of the file of an entry."""
    text = source.encode()
    facts = json.dumps({"key": key, "facts": entry.facts, "source": len(text)}).encode()
    rest = b"".join([facts, b"\n", text, entry.code])
    return b"".join([_MAGIC, _digest(name, rest), b"\n", rest])


def _digest(name: str, rest: bytes) -> bytes:
    """Return the digest of a name and of what follows the digest in the file."""
    digest = hashlib.sha256(f"{name}\n".encode())
    digest.update(rest)
    return digest.hexdigest().encode()


def _parsed(data: bytes, name: str, key: str) -> Entry | None:
    """Return the entry in the bytes of a file, if they are whole and it has this name and key."""
    if not data.startswith(_MAGIC):
        return None
    digest, _, rest = data[len(_MAGIC) :].partition(b"\n")
    if digest != _digest(name, rest):
        return None
    line, _, rest = rest.partition(b"\n")
    try:
        header = json.loads(line)
        length, facts, own = header["source"], header["facts"], header["key"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if own != key or type(facts) is not dict or type(length) is not int:
        return None
    return Entry(facts, rest[length:]) if 0 <= length <= len(rest) else None


def _contents(path: Path) -> bytes:
    """Return what a file holds; nothing where it is none of the user's or root's alone."""
    flags = os.O_RDONLY
    for flag in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"):  # a pipe would not answer
        flags |= getattr(os, flag, 0)
    with open(os.open(path, flags), "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or _others(state) or state.st_size > config.cache_limit:
            return b""
        if time.time() - state.st_mtime > _DAY:  # entries used last are dropped last
            with suppress(OSError):
                os.utime(path)
        return file.read()


def _others(state: os.stat_result) -> str:
    """Return who can write a file or folder besides the user and root; "" where nobody can."""
    if not hasattr(os, "geteuid"):  # not on Windows, where modes do not say
        return ""
    if state.st_uid not in (0, os.geteuid()):
        return f"its owner, the user {state.st_uid}"
    if state.st_mode & stat.S_IWOTH:
        return "everybody"
    if state.st_mode & stat.S_IWGRP and not _is_private(state.st_gid):
        return f"the group {state.st_gid}"
    return ""


def _is_private(group: int) -> bool:
    """Return True for the group of a user's own that many systems give to everybody."""
    import grp
    import pwd

    try:
        user, members = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    name = user.pw_name
    return user.pw_gid == group and members.gr_name == name and {*members.gr_mem} <= {name}


def _place() -> Path | None:
    """Return where the folder really is, looked at once; None if there is none to trust."""
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
    except (OSError, RuntimeError):  # it is not there yet, or links lead in a circle
        return None
    _places[folder] = None if others else place
    return _places[folder]


def _made(folder: Path) -> Path:
    """Return where a folder really is, made for the user alone if it is not there."""
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
    """Return the rest of the warning that nothing is cached, and how to mend it."""
    if folder is None:
        return f": {error}. Set RELGRAPH_CACHE_DIR to a folder."
    if folder in _places and _places[folder] is None:
        return (
            f", and what is in {folder} is not used: {error}. Run chmod go-w on it if it is yours, "
            "or set RELGRAPH_CACHE_DIR to a folder that only you can write."
        )
    return f": {folder} cannot be written ({error}). Set RELGRAPH_CACHE_DIR to a folder that can."


def _files(folder: Path | None, suffix: str = _SUFFIX) -> list[tuple[Path, float, int]]:
    """Return the entries of a folder, or its other files, with their times and sizes."""
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
    """Return what processes that were killed left of entries that they wrote."""
    return [file for file in _files(folder, ".tmp") if time.time() - file[1] > _HOUR]


def _drop_old(folder: Path, added: int) -> None:
    """Delete the entries used longest ago where the folder has outgrown its limit."""
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
