"""Locks that a child of the process finds free.

A child has one thread, the one that forked.  A lock that another thread held at that moment would
never be released there.  So a child releases such locks, which asks two things of what a lock
guards.  It is right after every step and not only where the lock is released, just as an interrupt
asks: a table changes by single calls, and what changes in many steps is taken out of its table
before and put back after.  What cannot be so, such as LLVM's own state, has a lock that a fork
waits for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload
from weakref import WeakSet

T = TypeVar("T")

_locks: WeakSet[threading.RLock] = WeakSet()


def lock() -> threading.RLock:
    """Return a new lock that the thread which holds it may take again, and a child finds free.

    Returns
    -------
    threading.RLock
        The lock.
    """
    made = threading.RLock()
    _locks.add(made)
    return made


def in_child(function: Callable[[], None]) -> None:
    """Have a function called in every child, after its locks were released.

    Parameters
    ----------
    function : callable
        Takes nothing.
    """
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
    """A lock that a fork waits for; the thread which holds it may take it again.

    A fork takes such locks in the reverse order of their making, so a thread that holds one may
    ask for those that were made before it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._gate = threading.Lock()  # closed while a fork waits, or it might wait for ever
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
    """A method that is called once for each instance, and from then on is what it returned.

    That of functools has, up to Python 3.11, a lock for all instances of a class, which a child may
    find held.  Here two threads may both call the method; the first result is the one kept.
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


importing = WaitedLock()  # for modules imported at first use: a child cannot finish an import

__all__ = ["WaitedLock", "cached_property", "importing", "in_child", "lock"]
