"""Bounded searches, and the states that they run goals on.

A goal whose search diverges unifies, reifies and looks variables up forever, whether or not it
answers; :class:`State` counts these steps.  Unification is dispatched on the type of the state,
too.  In the states of relgraph's own searches it is a loop over an explicit stack, which reads
graphs directly and leaves other kinds of terms to the functions that are registered for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from cons.core import ConsError, ConsPair, cons
from etuples import etuple
from etuples.core import ExpressionTuple
from unification import reify, unify
from unification.core import _reify, _unify, stream_eval
from unification.variable import Var

from relgraph.errors import Facts, RelationError, RelgraphError
from relgraph.ir import forks
from relgraph.ir.node import Apply, Constant, Variable
from relgraph.ir.op import Op
from relgraph.relations.kanren.goals import RESIDUALS, settle
from relgraph.relations.kanren.skeleton import Atom, Skeleton, Watch
from relgraph.relations.pattern import Pattern, check_nesting, to_term

# Held while miniKanren runs: its goals number their variables without a lock.
KANREN = forks.lock()

STEPS = 200_000  # unifications and look-ups from one answer to the next

# The goals of miniKanren that look at a sequence and not at its elements.
_BLIND = frozenset({
    "appendo_goal", "assoc_flatten_goal", "itero_goal", "membero_goal", "nullo_goal", "op_pred",
})  # fmt: skip


class OutOfSteps(Exception):
    """A search used up its steps."""


class Steps:
    """The number of steps that a search may still take.

    It is a key of the search's states: miniKanren turns the state of a goal with constraints into
    one of its own kind, copied key by key at every unification, which hashes this one.

    Parameters
    ----------
    left : int
        The bound.
    watch : Watch, optional
        Notified when a goal reads the state by itself.
    """

    __slots__ = ("left", "watch")

    def __init__(self, left: int, watch: Watch | None = None) -> None:
        self.left = left
        self.watch = watch

    def take(self) -> None:
        """Take one step."""
        self.left -= 1
        if self.left < 0:
            raise OutOfSteps

    def __hash__(self) -> int:
        self.take()
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class State(MutableMapping[Any, Any]):
    """A substitution that counts its uses and those of its copies.

    Parameters
    ----------
    bound : dict
        The substitution.
    steps : Steps
        The counter.
    """

    __slots__ = ("bound", "steps")

    def __init__(self, bound: dict[Any, Any], steps: Steps) -> None:
        self.bound = bound
        self.steps = steps

    def copy(self) -> State:
        """Return a copy with the same counter."""
        self.steps.take()
        return State(self.bound.copy(), self.steps)

    def _read(self) -> dict[Any, Any]:
        self.steps.take()
        if self.steps.watch is not None:
            self.steps.watch.report()
        return self.bound

    def __getitem__(self, key: Any) -> Any:
        return self._read()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.bound[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.bound[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())

    def __contains__(self, key: object) -> bool:
        return key in self._read()

    def __len__(self) -> int:
        return len(self.bound)


def search(goal: Callable[[], Any], steps: Steps) -> Iterator[Any]:
    """Yield the answers of a goal as states, with their residuals decided.

    Parameters
    ----------
    goal : callable
        Returns the goal.
    steps : Steps
        The number of steps it may take; the caller may grant more for more answers.

    Raises
    ------
    OutOfSteps
        When it takes more.
    """
    with KANREN:  # for each answer, not while the caller looks at one
        states = iter(goal()(State({steps: None}, steps)))
    while True:
        with KANREN:
            state = next(states, None)
        if state is None:
            return
        if RESIDUALS in _bound(state):
            yield from settle(state)
        else:
            yield state


def _bound(state: Any) -> Any:
    """Return the mapping inside a state of any kind."""
    bound = getattr(state, "data", state)
    return bound.bound if isinstance(bound, State) else bound


def answers(goal: Callable[[], Any], name: str, facts: Facts = ()) -> Iterator[dict[Any, Any]]:
    """Yield the answers of a relation's goal, as plain substitutions.

    Parameters
    ----------
    goal : callable
        Returns the goal.
    name : str
        The name of the relation, for errors.
    facts : mapping, optional
        More facts for errors.

    Raises
    ------
    RelationError
        When the search takes too many steps to its next answer, or recurses too deep, or a goal
        raises an error.
    """
    steps = Steps(STEPS)
    try:
        for state in search(goal, steps):
            steps.left = STEPS
            yield substitution(state)
            steps.left = STEPS
    except OutOfSteps:
        why = f"it took {STEPS} steps without an answer"
    except RecursionError:
        why = "it recursed past Python's limit"
    except Exception as error:
        raise failed(name, error, facts) from error
    else:
        return
    raise RelationError(
        f"{name}: its search ran away ({why})",
        facts,
        "Bound it: put the goal that binds a term before the goal that recurses on it.",
    )


def failed(name: str, error: Exception, facts: Facts = ()) -> RelgraphError:
    """Return the error of a goal as one that names its relation."""
    known = list(facts.items() if isinstance(facts, Mapping) else facts)
    if isinstance(error, RelgraphError):
        what = error.what if name in error.what else f"{name}: {error.what}"
        return type(error)(what, [*known, *error.facts], error.fix)
    return RelationError(
        f"{name}: its goal failed",
        [*known, ("error", repr(error))],
        "A goal is called with both sides, of which one may be a free logic variable; rg.checko "
        "and rg.calco wait until what they look at is bound.",
    )


def substitution(state: Any) -> dict[Any, Any]:
    """Return the substitution of an answer."""
    return {k: v for k, v in _bound(state).items() if type(k) is not Steps}


def constrained(state: Any) -> bool:
    """Return True if an answer has constraints of miniKanren that are not decided yet."""
    stores = getattr(state, "constraints", {})
    return any(store.lvar_constraints for store in stores.values())


_UNBOUND = object()
_WITHOUT_PARTS = (Variable, Op, int, float, str, type(None), type)


def _unify_in_state(u: Any, v: Any, s: State) -> Any:
    """Unify two terms as :func:`unification.unify` does."""
    s.steps.take()
    bound, mine = s.bound, s  # copied once, when something is bound
    pairs = [(u, v)]
    while pairs:
        u, v = pairs.pop()
        u = _term(u) if isinstance(u, Pattern) else u
        v = _term(v) if isinstance(v, Pattern) else v
        while type(u) is Var and (value := bound.get(u, _UNBOUND)) is not _UNBOUND:
            u = value
        while type(v) is Var and (value := bound.get(v, _UNBOUND)) is not _UNBOUND:
            v = value
        if u is v:
            continue
        if type(u) is Var or type(v) is Var:
            if mine is s:
                mine = s.copy()
                bound = mine.bound
            if type(u) is Var:
                bound[u] = v
            else:
                bound[v] = u
            continue
        inner = _inner_pairs(u, v)
        if inner is False:
            return False
        if inner is None:
            mine = stream_eval(_unify(u, v, mine))
            if mine is False:
                return False
            bound = mine.bound
        else:
            pairs += inner
    return mine


def _term(pattern: Pattern) -> Any:
    """Return a pattern as a term; a pattern that nests too deep raises RelationError."""
    try:
        return to_term(pattern)
    except RecursionError:
        check_nesting(pattern)
        raise


def _inner_pairs(u: Any, v: Any) -> Any:
    """Return the pairs of parts that two terms unify by, last first; False if they do not unify.

    Return None for terms that are not relgraph's.
    """
    if isinstance(u, Variable) and isinstance(v, Variable):
        return _same_node(u, v)
    a, b = type(u), type(v)
    for x in (u, v):
        if type(x) is Skeleton and x.parts is None:
            x.watch.report(deeper=True)
    if a is ExpressionTuple or b is ExpressionTuple:
        first, second = _sequence(u), _sequence(v)
        if first is not None and second is not None:
            if len(first) != len(second):
                return False
            return zip(reversed(first), reversed(second), strict=True)
    if a is ConsPair or b is ConsPair:
        try:
            first, second = _split(u), _split(v)
        except ConsError:
            return False
        if first is not None and second is not None:
            return ((first[1], second[1]), (first[0], second[0]))
    if isinstance(u, Op) and isinstance(v, Op):
        return False  # interned, and not the same
    return None


def _same_node(u: Variable, v: Variable) -> bool:
    """Return False, since two nodes stand for one node only if they are the same object."""
    shadow, other = (u, v) if isinstance(u, Skeleton | Atom) else (v, u)
    if isinstance(shadow, Skeleton | Atom) and not isinstance(other, Skeleton | Atom):
        known = isinstance(shadow, Atom) or shadow.parts is not None
        if not (known and isinstance(other, Constant)):
            shadow.watch.report(deeper=not known)
    return False


def _sequence(x: Any) -> Any:
    """Return the parts of a term that unify with the elements of an etuple, or None."""
    kind = type(x)
    if kind is ExpressionTuple:
        return x._tuple
    if kind is Apply:
        return (x.op, *x.inputs)
    if kind is Skeleton:
        return x.parts
    if isinstance(x, Op) and x.parameters:
        return (kind, *x.params)
    return x if kind is tuple else None


def _split(x: Any) -> tuple[Any, Any] | None:
    """Return the head and the tail of a term, or None if it is not relgraph's to split."""
    kind = type(x)
    if kind is ConsPair:
        return x.car, x.cdr
    if kind is Apply:
        return x.op, etuple(*x.inputs)
    if kind is Skeleton:
        return x.parts[0], etuple(*x.parts[1:])
    if kind is ExpressionTuple or kind is tuple or kind is list:
        if not x:
            raise ConsError("Not a cons pair")
        return x[0], x[1:]
    return None


def _reify_in_state(term: Any, s: State) -> Any:
    """Replace variables by their values, as :func:`unification.reify` does."""
    s.steps.take()
    if s.steps.watch is not None and not _is_blind(sys._getframe(2)):
        s.steps.watch.report()
    return reified(term, s)


def reified(term: Any, s: State) -> Any:
    """Return a term with the values of its variables."""
    bound = s.bound
    waiting: list[tuple[Any, Any, list[Any]]] = []  # terms, their parts, and the parts reified
    while True:
        while type(term) is Var and (value := bound.get(term, _UNBOUND)) is not _UNBOUND:
            term = value
        kind = type(term)
        parts: Any = ()
        if kind is ExpressionTuple:
            parts = term._tuple
        elif kind is tuple or kind is list:
            parts = term
        elif kind is ConsPair:
            parts = (term.car, term.cdr)
        elif kind is not Var and not isinstance(term, _WITHOUT_PARTS):
            term = stream_eval(_reify(term, s))
        if parts:
            waiting.append((term, parts, []))
            term = parts[0]
            continue
        while waiting:
            whole, parts, done = waiting[-1]
            done.append(term)
            if len(done) < len(parts):
                term = parts[len(done)]
                break
            waiting.pop()
            term = _rebuilt(whole, parts, done)
        else:
            return term


def _rebuilt(whole: Any, parts: Any, done: list[Any]) -> Any:
    kind = type(whole)
    if kind is ConsPair:
        return cons(*done)
    if kind is not ExpressionTuple:
        return kind(done)
    if all([a is b and type(a) is not Var for a, b in zip(parts, done, strict=True)]):
        return whole
    return ExpressionTuple(done)


def _is_blind(frame: Any) -> bool:
    """Return True if a frame is a goal of miniKanren that does not look at elements."""
    return frame.f_code.co_name in _BLIND and frame.f_globals.get("__name__", "")[:7] == "kanren."


unify.add((object, object, State), _unify_in_state)
reify.add((object, State), _reify_in_state)
