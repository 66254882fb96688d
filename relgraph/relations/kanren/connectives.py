"""Equations between terms, and what joins goals: miniKanren's own, which can also be read.

``eq``, ``lall``, ``lany`` and ``conde`` run as miniKanren's goals of these names do.  They also
say what they were made of, so that a relation whose goal is a list of equations between two
patterns is its own list of clauses, without a search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import kanren

from relgraph.errors import checks_arguments


class Equation:
    """The goal that two terms unify.

    Attributes
    ----------
    left, right : term
        The terms.
    """

    __slots__ = ("left", "right")

    def __init__(self, left: Any, right: Any) -> None:
        self.left = left
        self.right = right

    def __call__(self, state: Any) -> Iterator[Any]:
        """Run as a kanren goal."""
        return kanren.eq(self.left, self.right)(state)  # type: ignore[no-any-return]


class _Joined:
    """A goal that is made of goals.

    Attributes
    ----------
    goals : tuple
        At least one.
    """

    __slots__ = ("goals",)

    def __init__(self, goals: tuple[Any, ...]) -> None:
        self.goals = goals


class Conjunction(_Joined):
    """The goal that each of some goals holds."""

    __slots__ = ()

    def __call__(self, state: Any) -> Iterator[Any]:
        """Run as a kanren goal."""
        return kanren.lall(*self.goals)(state)  # type: ignore[no-any-return]


class Disjunction(_Joined):
    """The goal that one of some goals holds."""

    __slots__ = ()

    def __call__(self, state: Any) -> Iterator[Any]:
        """Run as a kanren goal."""
        return kanren.lany(*self.goals)(state)  # type: ignore[no-any-return]


@checks_arguments
def eq(u: Any, v: Any) -> Any:
    """Relate two terms that are equal.

    Parameters
    ----------
    u, v : term
        Graphs, patterns, etuples or logic variables.

    Returns
    -------
    goal
        That they unify.
    """
    return Equation(u, v)


def lall(*goals: Any) -> Any:
    """Join goals by "and".

    Parameters
    ----------
    *goals : goal
        The goals, or one iterable of them.

    Returns
    -------
    goal
        That all of them hold.
    """
    return Conjunction(goals) if _each(goals) else kanren.lall(*goals)


def lany(*goals: Any) -> Any:
    """Join goals by "or".

    Parameters
    ----------
    *goals : goal
        The goals, or one iterable of them.

    Returns
    -------
    goal
        That one of them holds.
    """
    return Disjunction(goals) if _each(goals) else kanren.lany(*goals)


def conde(*goals: Any) -> Any:
    """Join sequences of goals by "or", the goals of each by "and".

    Parameters
    ----------
    *goals : sequence of goal
        The alternatives, or one iterator of them.

    Returns
    -------
    goal
        That all goals of one of them hold.
    """
    if all(isinstance(x, list | tuple) and _each(tuple(x)) for x in goals):
        return Disjunction(tuple([Conjunction(tuple(x)) for x in goals]))
    return kanren.conde(*goals)


def _each(goals: tuple[Any, ...]) -> bool:
    """Tell whether goals are given one by one, not as an iterable that kanren reads once."""
    return bool(goals) and not any([hasattr(x, "__iter__") for x in goals])
