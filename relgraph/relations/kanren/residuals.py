"""Residuals: the goals of a state whose arguments are not bound yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from unification import unify, var
from unification.core import _unify, stream_eval

State = dict[Any, Any]

RESIDUALS = var("relgraph.residuals")


class Waits(Protocol):
    """A goal that may have to wait."""

    def decide(self, state: State) -> Iterable[State] | None:
        """Return the states in which the goal holds, or None while its arguments are open."""
        ...


class Waiting(dict[Any, Any]):
    """A substitution with residuals, which are decided when a variable is bound."""

    __slots__ = ()

    def copy(self) -> Waiting:
        """Return a copy with the same residuals."""
        return Waiting(self)


def residuals(state: State) -> tuple[Any, ...]:
    """Return the residuals of an answer."""
    goals: tuple[Any, ...] = state.get(RESIDUALS, ())
    return goals


def with_residuals(state: State, waiting: tuple[Waits, ...]) -> State:
    """Return the state with these residuals; a copy of the state's own kind."""
    copied = Waiting(state) if type(state) is dict else state.copy()
    copied[RESIDUALS] = waiting
    return copied


def drop_residuals(state: State) -> State:
    """Return the state without its residuals; a copy of the state's own kind."""
    copied = dict(state) if type(state) is Waiting else state.copy()
    copied.pop(RESIDUALS, None)
    return copied


def settle(state: State) -> Iterator[State]:
    """Run the residuals of a state repeatedly until no more of them can be decided."""
    waiting = list(residuals(state))
    states = [drop_residuals(state)]
    while waiting:
        progress = False
        for goal in list(waiting):
            decided = [goal.decide(s) for s in states]
            if None not in decided:
                results = [s for done in decided if done is not None for s in done]
                waiting.remove(goal)
                states = results
                progress = True
        if not progress:
            break
    for s in states:
        yield with_residuals(s, tuple(waiting)) if waiting else s


def _unify_and_decide(u: Any, v: Any, state: Waiting) -> Any:
    """Unify two terms, and decide the residuals whose arguments this binds.

    Unification returns one state, so a goal that holds in several ways remains a residual.
    """
    bound = stream_eval(_unify(u, v, state))
    if bound is False or len(bound) == len(state):
        return bound
    settled: Any = bound
    progress = True
    while progress:
        progress = False
        for goal in residuals(settled):
            rest = tuple(x for x in residuals(settled) if x is not goal)
            without = with_residuals(settled, rest) if rest else drop_residuals(settled)
            decided = goal.decide(without)
            ways = None if decided is None else list(islice(decided, 2))
            if ways is None or len(ways) > 1:
                continue
            if not ways:
                return False
            (settled,) = ways
            progress = True
            break
    return settled


unify.add((object, object, Waiting), _unify_and_decide)
