"""Settings: the default rewrites, threads, the library of vector functions, rounding and memory.

A setting applies to the whole process.  ``rg.config.threads = 2`` sets one;
``rg.config(threads=2)`` sets any number, and in a ``with`` statement restores them at its end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from types import TracebackType
from typing import TYPE_CHECKING, Any

from relgraph.errors import (
    ArgumentError,
    DomainError,
    RelgraphError,
    UnsupportedAttributeError,
    checks_arguments,
    kind_of,
)

VECTOR_LIBRARIES = (None, "svml", "libmvec")
CACHE_LIMIT = 512 * 2**20
ARENA_LIMIT = 256 * 2**20


def processors() -> int:
    """Return the number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _threads(value: Any) -> int:
    if value is None:
        return processors()
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DomainError(
            f"the setting 'threads' is an integer from 1, not {value!r}",
            {"processors": processors()},
            "Set it to 1 to run on one thread.",
        )
    return value


def _bytes(name: str, least: int, default: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**62:
            raise DomainError(
                f"the setting {name!r} is a number of bytes, an integer from {least}, "
                f"not {value!r}",
                {"default": default},
                f"Write {name}=512 * 2**20 for 512 MiB.",
            )
        return value

    return check


def _vector_library(value: Any) -> str | None:
    if value not in VECTOR_LIBRARIES:
        raise DomainError(
            f"there is no library of vector functions {value!r}",
            {"veclib": ", ".join(map(repr, VECTOR_LIBRARIES))},
            "Use one of these; None stands for the polynomials that are always there.",
        )
    return None if value is None else str(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise DomainError(
            f"the setting 'contract' is True or False, not {value!r}",
            fix="With True, a product and the sum it is added to are rounded once.",
        )
    return value


def _mode(value: Any) -> Any:
    if value is None or value == "default":
        raise DomainError(
            f"the setting 'mode' is the name of a mode or a query, not {value!r}",
            fix="Write rg.config(mode='o2'), or pass mode=None to one rg.function.",
        )
    return value


def _seconds(value: Any) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        value = -1
    if value is None or value > 0:
        return value  # type: ignore[no-any-return]
    raise DomainError(
        "the setting 'time_limit' is a positive number of seconds, or None for no limit",
        fix="Write rg.config(time_limit=2.5).",
    )


def _names(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Iterable) or not all(isinstance(x, str) for x in (*names,)):
        raise DomainError(
            f"the setting 'exclude' is a list of tags and names, not {value!r}",
            fix="Write rg.config(exclude=['fusion']), or exclude=[] for none.",
        )
    return tuple(names)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "mode": _mode,
    "exclude": _names,
    "time_limit": _seconds,
    "threads": _threads,
    "veclib": _vector_library,
    "contract": _truth,
    "cache_limit": _bytes("cache_limit", 1, CACHE_LIMIT),
    "arena_limit": _bytes("arena_limit", 0, ARENA_LIMIT),
}


class Config:
    """The settings of the process.

    Attributes
    ----------
    mode : str or Query
        The default mode of :func:`relgraph.function` and :func:`relgraph.jit`: initially
        ``$RELGRAPH_MODE``, or ``"fast_run"``.
    exclude : tuple of str
        Tags and names that every selection from :data:`relgraph.optdb` leaves out: initially those
        in ``$RELGRAPH_EXCLUDE``, separated by commas.
    time_limit : float or None
        The seconds that the rewriting of one graph may take; None, the default, sets no limit.
        Rewriting that takes longer raises BudgetError, and a search returns the best so far.
    threads : int
        The most threads that a kernel may use; None sets the number of processors.
    veclib : {None, "svml", "libmvec"}
        The library of functions such as ``exp`` in kernels compiled from now on: None for
        relgraph's polynomials, or a vendor's library.
    contract : bool
        Whether kernels compiled from now on may round ``a * b + c`` once.  Then ``a * a - b * b``
        may differ from 0 for equal a and b.
    cache_limit : int
        The bytes of compiled code to keep on disk.
    arena_limit : int
        The bytes of memory of dropped large arrays, results and temporaries, to keep for reuse; 0
        returns all of it to the system at once.

    Examples
    --------
    >>> import relgraph as rg
    >>> with rg.config(threads=1):
    ...     rg.config.threads
    1
    >>> rg.config.contract
    False
    """

    mode: Any
    exclude: tuple[str, ...]
    time_limit: float | None
    threads: int
    veclib: str | None
    contract: bool
    cache_limit: int
    arena_limit: int

    def __init__(self) -> None:
        excluded = os.environ.get("RELGRAPH_EXCLUDE", "").split(",")
        self.__dict__.update(
            mode=os.environ.get("RELGRAPH_MODE") or "fast_run",
            exclude=tuple(name.strip() for name in excluded if name.strip()),
            time_limit=None, threads=processors(), veclib=None, contract=False,
            cache_limit=CACHE_LIMIT, arena_limit=ARENA_LIMIT, _listeners=[], _given=set(),
        )  # fmt: skip

    def __setattr__(self, name: str, value: Any) -> None:
        check = _CHECKS.get(name)
        if check is None:
            raise _unknown(name)
        self.__dict__[name] = check(value)
        self._given.add(name)
        for listener in self._listeners:
            listener()

    def __delattr__(self, name: str) -> None:
        raise ArgumentError(
            f"the setting {name!r} cannot be deleted", fix=f"Set it: rg.config.{name} = ..."
        )

    @checks_arguments
    def __call__(self, **settings: Any) -> _Settings:
        """Change settings.

        Parameters
        ----------
        **settings
            New values by name.

        Returns
        -------
        context manager
            Restores the settings on exit.

        Raises
        ------
        ArgumentError
            For an unknown setting.
        DomainError
            For an invalid value.
        """
        checked = {}
        for name, value in settings.items():
            if name not in _CHECKS:
                raise _unknown(name)
            checked[name] = _CHECKS[name](value)
        before = {name: self.__dict__[name] for name in checked}
        for name, value in checked.items():
            setattr(self, name, value)
        return _Settings(self, before)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Register a function to call after every change."""
        if not callable(listener):
            raise ArgumentError(
                f"on_change takes a function, not {kind_of(listener)}",
                fix="Pass a function without parameters.",
            )
        self._listeners.append(listener)

    def given(self, name: str) -> bool:
        """Return True if a setting was ever set, even to its previous value."""
        return name in self._given

    if not TYPE_CHECKING:  # type checkers report this themselves

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # names that Python and its libraries look up
                raise AttributeError(f"rg.config has no {name}")
            raise _unknown(name, UnsupportedAttributeError)

    _listeners: list[Callable[[], None]]
    _given: set[str]

    def __repr__(self) -> str:
        return f"config({', '.join(f'{name}={self.__dict__[name]!r}' for name in _CHECKS)})"


class _Settings:
    """Changed settings, with their previous values."""

    def __init__(self, owner: Config, before: dict[str, Any]) -> None:
        self._owner = owner
        self._before = before

    def __enter__(self) -> Config:
        return self._owner

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, value in self._before.items():
            setattr(self._owner, name, value)


def _unknown(name: str, kind: type[RelgraphError] = ArgumentError) -> RelgraphError:
    near = get_close_matches(name, _CHECKS, 1)
    return kind(
        f"there is no setting {name!r}",
        {"settings": ", ".join(_CHECKS)},
        f"Did you mean {near[0]!r}?" if near else "Use one of these settings.",
    )


config = Config()

__all__ = ["Config", "config", "processors"]
