"""Locks that are free in a forked child.

A child has one thread, the one that forked.  A lock that another thread held at that moment would
never be released there, so a child releases such locks.  This requires guarded data to be valid
after every step, not only when the lock is released, just as for interrupts: tables change by
single calls, and an entry that changes in several steps is removed from its table before and put
back afterwards.  Data that cannot meet this, such as LLVM's state, has a lock that a fork waits
for.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload
from weakref import WeakSet

T = TypeVar("T")

_locks: WeakSet[threading.RLock] = WeakSet()


def lock() -> threading.RLock:
    """Return a new reentrant lock that is free in a forked child."""
    new = threading.RLock()
    _locks.add(new)
    return new


def in_child(function: Callable[[], None]) -> None:
    """Register a function to call in every child, after its locks were released."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def _release() -> None:
    """Release the locks of threads that the child does not have."""
    for held in _locks:
        if held.acquire(blocking=False):
            held.release()
        else:
            held._at_fork_reinit()  # type: ignore[attr-defined]


in_child(_release)


class WaitedLock:
    """A reentrant lock that a fork waits for.

    A fork acquires these locks in the reverse order of creation, so a thread that holds one may
    acquire those created before it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._gate = threading.Lock()  # closed while a fork waits, which might otherwise starve
        self._taken: list[bool] = []  # by forks under way, whether they closed the gate
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._take, after_in_parent=self._let_go, after_in_child=self._let_go
            )

    def __enter__(self) -> None:
        if not self._is_held_here():
            with self._gate:
                pass
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _is_held_here(self) -> bool:
        held: bool = self._lock._is_owned()  # type: ignore[attr-defined]
        return held

    def _take(self) -> None:
        closes = not self._is_held_here() and self._gate.acquire()
        self._lock.acquire()
        self._taken.append(closes)

    def _let_go(self) -> None:
        if self._taken:  # otherwise it was made while the fork waited for another lock
            closed = self._taken.pop()
            self._lock.release()
            if closed:
                self._gate.release()


class cached_property(Generic[T]):
    """A method that is called once per instance, and whose result replaces it.

    Up to Python 3.11, functools has one lock for all instances of a class, which a child may find
    held.  Here, two threads may both call the method; the first result is kept.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        result: T = instance.__dict__.setdefault(self.name, self.function(instance))
        return result


class ImportLock(WaitedLock):
    """The lock of imports at first use, which run without the cyclic collector.

    A child could not finish an import, so a fork waits.  What an import makes stays, and the
    collector would walk over it again and again: a third of the time of a first function.  So it
    joins the oldest objects at once, unless the program has frozen some objects.
    """

    def __init__(self) -> None:
        super().__init__()
        self._collects: list[bool] = []  # before each entry

    def __enter__(self) -> None:
        super().__enter__()
        self._collects.append(gc.isenabled())
        gc.disable()

    def __exit__(self, *details: object) -> None:
        if self._collects.pop():
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
        super().__exit__(*details)


importing = ImportLock()

__all__ = ["ImportLock", "WaitedLock", "cached_property", "importing", "in_child", "lock"]
