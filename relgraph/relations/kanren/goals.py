"""Goals: what a relation's body consists of, usable unchanged in ``kanren.run``.

``lall``, ``lany``, ``conde``, ``conso``, ``heado`` and ``tailo`` are miniKanren's own.  This module
adds side conditions on graphs (:func:`facto`, :func:`checko`, :func:`calco`) and two goals on
sequences that stay finite when both of their ends are open (:func:`mapo`, :func:`assoc_flatten`).

A goal of this module does not fail while its arguments are open: it is *suspended*.  It stays in
the answer's state as a residual, like a constraint of miniKanren, and is decided once its arguments
are bound.  So goals may stand in any order, and a relation can be enumerated with both ends free:
its answers are its clauses, and the residuals are their guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import kanren
import numpy as np
from cons.core import ConsPair
from etuples import etuple
from etuples.core import ExpressionTuple
from kanren import conde, conso, heado, lall, lany, tailo
from unification import isvar, reify, unify, var

from relgraph.errors import ArgumentError, RelationError, checks_arguments
from relgraph.ir.etuple import raise_
from relgraph.ir.fact_inference import facts_of
from relgraph.ir.facts import Facts, is_fact, unknown_fact
from relgraph.ir.node import Apply, Constant, Variable, as_literal, as_variable
from relgraph.ir.op import Op
from relgraph.relations.kanren.residuals import (
    RESIDUALS,
    drop_residuals,
    residuals,
    settle,
    with_residuals,
)
from relgraph.relations.nary import leaves
from relgraph.relations.op_kinds import kind_of_ops
from relgraph.relations.pattern import Pattern, to_term

State = dict[Any, Any]
Goal = Callable[[State], Iterator[State]]


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
    return kanren.eq(u, v)


class Suspended:
    """A goal that waits for its arguments to be bound.

    Attributes
    ----------
    kind : str
        ``"check"``, ``"calc"``, ``"map"``, ``"flatten"`` or ``"join"``; ``"reduce"``, made from a
        calc of two operands, computes one value from any number of them.
    args : tuple
        Its arguments, as terms.
    label : str
        What it is printed as.
    """

    __slots__ = ("args", "function", "kind", "label")

    def __init__(
        self, kind: str, args: tuple[Any, ...], label: str, function: Callable[..., Any]
    ) -> None:
        self.kind = kind
        self.args = args
        self.label = label
        self.function = function

    def __call__(self, state: State) -> Iterator[State]:
        """Run as a kanren goal: decide now if the arguments are bound, otherwise suspend."""
        done = self.decide(state)
        if done is None:
            yield with_residuals(state, (*residuals(state), self))
        else:
            yield from done

    def decide(self, state: State) -> Iterable[State] | None:
        """Return the states in which the goal holds, or None while its arguments are open."""
        return _SOLVED[self.kind](self, state)

    @property
    def computes(self) -> bool:
        """Whether its first argument is computed from the others."""
        return self.kind in ("calc", "reduce")

    def __bool__(self) -> bool:
        raise ArgumentError(
            f"a side condition has no truth of its own: {self.label}",
            fix="Return several conditions as a tuple, not joined by 'and', 'or' or 'not'; "
            "rg.lany(...) in an rg.relation states alternatives.",
        )

    def __repr__(self) -> str:
        return self.label


_OPEN = object()  # None is a value: the axis parameter of a full reduction


def _ground(term: Any, state: State) -> Any:
    """Return a term's value: a node, a number or a parameter; ``_OPEN`` while it has none."""
    value = reify(to_term(term) if isinstance(term, Pattern) else term, state)
    if isinstance(value, ExpressionTuple):
        if any(isvar(x) for x in _atoms(value)):
            return _OPEN
        return tuple(map(raise_, value)) if _are_operands(value) else raise_(value)
    return _OPEN if isvar(value) or type(value) is ConsPair else value


def _are_operands(value: ExpressionTuple) -> bool:
    """Return True if a term is a sequence of operands, not an op applied to operands."""
    head = value[0] if value else None
    if isinstance(head, ExpressionTuple):  # an application, or an op with its parameters
        return not isinstance(head[0], type)
    return not isinstance(head, Op | type)


def _atoms(term: Any) -> Iterator[Any]:
    stack = [term]
    while stack:
        x = stack.pop()
        if isinstance(x, ExpressionTuple):
            stack.extend(x)
        elif type(x) is ConsPair:
            stack.extend((x.car, x.cdr))
        else:
            yield x


def _check(goal: Suspended, state: State) -> Iterable[State] | None:
    values = [_ground(x, state) for x in goal.args]
    if any(v is _OPEN for v in values):
        return None
    return [state] if _called(goal, values) else []


def _calc(goal: Suspended, state: State) -> Iterable[State] | None:
    out, *args = goal.args
    values = [_ground(x, state) for x in args]
    if any(v is _OPEN for v in values):
        return None
    result = _called(goal, values)
    if result is None:
        return []
    if isinstance(result, tuple) and any(isinstance(x, Variable) for x in result):
        result = etuple(*result)  # a sequence of operands
    s = unify(to_term(out) if isinstance(out, Pattern) else out, result, state)
    return [] if s is False else [s]


def _called(goal: Suspended, values: list[Any]) -> Any:
    """Call the function of a side condition; its errors name the condition."""
    try:
        return goal.function(*values)
    except RecursionError:
        raise
    except Exception as error:
        raise condition_failed(goal.label, values, error) from error


def condition_failed(
    label: str, values: Sequence[Any], error: Exception, relation: str = ""
) -> RelationError:
    """Return the error for a side condition that raised one; it names the relation, if known."""
    return RelationError(
        f"{relation}: a side condition failed: {label}"
        if relation
        else f"a side condition failed: {label}",
        [*((f"argument {i}", v) for i, v in enumerate(values)), ("error", repr(error))],
        "A side condition gets graph nodes, numbers or op parameters, and returns True, "
        "False or a computed value; the value of a constant c is c.value.",
    )


class Predicate:
    """The predicate of :func:`checko`: a function that must return a bool, not a graph.

    Attributes
    ----------
    function : callable
        The function.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *values: Any) -> bool:
        holds = self.function(*values)
        if holds is True or holds is False:
            return holds
        if isinstance(holds, np.bool_):
            return bool(holds)
        name = getattr(self.function, "__name__", "the function")
        what = f"the graph {holds}" if isinstance(holds, Variable) else repr(holds)
        raise TypeError(f"{name} returned {what}, not True or False")


def _require_function(function: Any, goal: str, before: str = "") -> None:
    """Raise ArgumentError unless a goal can call its function."""
    if not callable(function):
        raise ArgumentError(
            f"{goal} takes {before}a function, not {function!r:.60}",
            fix=f"Write rg.{goal}({'result, ' if before else ''}function, argument, ...).",
        )


@checks_arguments
def checko(function: Callable[..., bool], *args: Any, label: str = "") -> Suspended:
    """Relate terms for which a predicate holds.

    Parameters
    ----------
    function : callable
        Called with the bound values: graph nodes, numbers, or op parameters.  It returns True or
        False; any other value, such as the graph ``x > 0``, raises an error when it is called.
    *args : pattern variable or term
        The arguments.
    label : str, optional
        What the condition is printed as.

    Returns
    -------
    goal
        Suspended until every argument is bound.
    """
    _require_function(function, "checko")
    shown = label or f"{getattr(function, '__name__', 'check')}({', '.join(map(repr, args))})"
    return Suspended("check", args, shown, Predicate(function))


@checks_arguments
def calco(out: Any, function: Callable[..., Any], *args: Any) -> Suspended:
    """Relate ``out`` to ``function(*args)``; a result of None means that it does not hold.

    Parameters
    ----------
    out : pattern variable or term
        The result.
    function : callable
        Called with the bound values.  A direction of a relation that would have to compute ``args``
        from ``out`` cannot run.
    *args : pattern variable or term
        The arguments.

    Returns
    -------
    goal
        Suspended until every argument is bound.

    Examples
    --------
    >>> import kanren, relgraph as rg
    >>> from unification import var
    >>> q = var()
    >>> kanren.run(1, q, rg.calco(q, max, 2, 5))
    (5,)
    """
    _require_function(function, "calco", "the result first, then ")
    shown = f"{out!r} == {getattr(function, '__name__', 'f')}({', '.join(map(repr, args))})"
    return Suspended("calc", (out, *args), shown, function)


@checks_arguments
def facto(x: Any, name: str) -> Suspended:
    """Relate graphs of which a fact is proved (see :mod:`relgraph.ir.facts`).

    Parameters
    ----------
    x : pattern variable or term
        The graph to decide.
    name : str
        The fact, such as "positive", or an interval, such as "[0, 1]".

    Returns
    -------
    goal
        Suspended until ``x`` is bound.

    Raises
    ------
    DomainError
        For a fact that does not exist.
    """
    if not is_fact(name):
        raise unknown_fact(name)
    return Suspended("check", (x,), f"{name}({x!r})", partial(_proved, name))


def _proved(name: str, x: Any) -> bool:
    node = x if isinstance(x, Variable) else as_variable(as_literal(x))
    facts: Facts = node._facts or facts_of(node)
    return facts.holds(name) is True


def unary_goal(name: str, holds: Callable[[Any], bool], summary: str) -> Callable[[Any], Suspended]:
    """Return the goal ``nameo``, with the docstring that goals of one argument share."""

    def goal(x: Any) -> Suspended:
        return Suspended("check", (x,), f"{name}({x!r})", holds)

    return _described(goal, name, summary, "x : pattern variable or term\n        The graph")


def _described(goal: Any, name: str, summary: str, parameter: str) -> Callable[[Any], Suspended]:
    """Give a goal of one argument its name and docstring."""
    goal.__name__ = goal.__qualname__ = f"{name}o"
    goal.__doc__ = f"""{summary}

    Parameters
    ----------
    {parameter} to decide.

    Returns
    -------
    goal
        Suspended until ``{parameter[0]}`` is bound.
    """
    return goal  # type: ignore[no-any-return]


def nth(function: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Return a function that computes one part of what another does, or None."""

    def part(*values: Any) -> Any:
        parts = function(*values)
        return None if parts is None or len(parts) <= n else parts[n]

    part.__name__ = f"{getattr(function, '__name__', 'f')}[{n}]"
    part.of_type = getattr(function, "of_type", False)  # type: ignore[attr-defined]
    return part


def _fact_goal(name: str, summary: str) -> Callable[[Any], Suspended]:
    return unary_goal(name, partial(_proved, name), summary)


def _is_constant(x: Any) -> bool:
    return isinstance(x, Constant) or not isinstance(x, Variable)


def _is_float(x: Any) -> bool:
    return x.dtype.kind == "f" if isinstance(x, Variable) else isinstance(x, float)


positiveo = _fact_goal("positive", "Relate graphs whose elements are proved positive, or NaN.")
nonnegativeo = _fact_goal(
    "nonnegative", "Relate graphs whose elements are proved at least zero, or NaN."
)
nonzeroo = _fact_goal("nonzero", "Relate graphs whose elements are proved nonzero.")
finiteo = _fact_goal("finite", "Relate graphs whose elements are proved finite.")
integero = _fact_goal("integer", "Relate graphs whose elements are proved integers.")
invertibleo = _fact_goal("invertible", "Relate matrices proved invertible.")
symmetrico = _fact_goal("symmetric", "Relate matrices proved symmetric.")


@checks_arguments
def op_kindo(f: Any, kind: str) -> Suspended:
    """Relate ops of a kind; it says what an op variable of an identity stands for.

    Parameters
    ----------
    f : pattern variable or op
        The op to decide.
    kind : str
        ``"elementwise"``, ``"reduction"``, ``"linear"``, ``"rearrangement"`` or ``"any"``.

    Returns
    -------
    goal
        Suspended until ``f`` is bound.

    Raises
    ------
    DomainError
        For a kind that does not exist.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.identity(where=lambda f: rg.op_kindo(f, "elementwise"), broadcast=["x"])
    ... def lift_matrix_transposeo(f, x):
    ...     '''f(x.mT, ...) = f(x, ...).mT.'''
    ...     return f(x.mT, ...), f(x, ...).mT
    >>> A, B = rg.matrices("A B")
    >>> rg.rewrite_graph(rg.tanh(A.mT - 2 * B.mT), lift_matrix_transposeo)
    tanh(A - 2 * B).mT
    """
    holds = kind_of_ops(kind)
    return Suspended("check", (f,), f"{holds.name}({f!r})", holds)


def _kind_goal(kind: str) -> Callable[[Any], Suspended]:
    """Return the goal ``kindo``; a parameter of that name makes it a condition by itself."""

    def goal(f: Any) -> Suspended:
        return op_kindo(f, kind)

    parameter = "f : pattern variable or op\n        The op"
    return _described(goal, kind, kind_of_ops(kind).summary, parameter)


elementwiseo = _kind_goal("elementwise")
reductiono = _kind_goal("reduction")
linearo = _kind_goal("linear")
rearrangemento = _kind_goal("rearrangement")
constanto = unary_goal("constant", _is_constant, "Relate constants.")
floato = unary_goal("float", _is_float, "Relate graphs of a floating dtype.")


@checks_arguments
def assoc_flatten(term: Any, flat: Any) -> Suspended:
    """Relate an application of an associative op to the same with all nesting removed.

    ``x + (y + z)`` is related to ``etuple(add, x, y, z)``.

    Parameters
    ----------
    term : node, pattern or logic variable
        The nested application.
    flat : etuple or logic variable
        ``etuple(op, operand, ...)``.

    Returns
    -------
    goal
        Suspended until one of the arguments is bound.
    """
    return Suspended("flatten", (term, flat), f"assoc_flatten({term!r}, {flat!r})", _none)


def _none(*args: Any) -> None:
    return None


def _flatten(goal: Suspended, state: State) -> Iterable[State] | None:
    term, flat = (reify(to_term(x), state) for x in goal.args)
    if isinstance(term, ExpressionTuple) and not any(map(isvar, _atoms(term))):
        term = raise_(term)
    if isinstance(term, Apply):
        if not term.op.associative:
            return []
        s = unify(flat, etuple(term.op, *leaves(term, term.op)), state)
        return [] if s is False else [s]
    if isinstance(flat, ExpressionTuple) and len(flat) > 2 and isinstance(flat[0], Op):
        if not flat[0].associative:
            return []
        nested = flat[1]
        for x in flat[2:]:
            nested = etuple(flat[0], nested, x)
        s = unify(term, nested, state)
        return [] if s is False else [s]
    if isinstance(term, Variable):
        return []
    if type(term) is ConsPair and isvar(flat) and isinstance(term.car, Op):
        # Only the head is known: the flat form has the same head and an open tail of its own.
        tail = var()
        s = unify(flat, ConsPair(term.car, tail), state)
        rest = Suspended("flatten", (term, ConsPair(term.car, tail)), goal.label, _none)
        return [with_residuals(s, (*residuals(s), rest))]
    return None


@checks_arguments
def mapo(relation: Callable[[Any, Any], Goal], xs: Any, ys: Any) -> Suspended:
    """Relate two sequences of one length, element by element.

    Parameters
    ----------
    relation : callable
        ``relation(x, y)`` is a goal.
    xs, ys : sequence, etuple or logic variable
        At least one must be bound for the goal to run; until then it is suspended.

    Returns
    -------
    goal
        Suspended until one of the sequences is bound.

    Examples
    --------
    >>> import kanren, relgraph as rg
    >>> from unification import var
    >>> q = var()
    >>> kanren.run(1, q, rg.mapo(lambda x, y: rg.calco(y, abs, x), [-1, 2], q))
    ([1, 2],)
    """
    _require_function(relation, "mapo")
    return Suspended("map", (xs, ys), f"mapo({xs!r}, {ys!r})", relation)


def _map(goal: Suspended, state: State) -> Iterable[State] | None:
    xs, ys = (reify(to_term(x), state) for x in goal.args)
    known = xs if isinstance(xs, list | tuple | ExpressionTuple) else ys
    if not isinstance(known, list | tuple | ExpressionTuple):
        return None
    fresh = [var() for _ in known]
    made = etuple(*fresh) if isinstance(known, ExpressionTuple) else type(known)(fresh)
    s = unify(ys if known is xs else xs, made, state)
    if s is False:
        return []
    pairs = zip(known, fresh, strict=True) if known is xs else zip(fresh, known, strict=True)
    return lall(*[goal.function(x, y) for x, y in pairs])(s) if fresh else [s]


def joino(whole: Any, parts: Sequence[Any], are_sequences: Sequence[bool]) -> Suspended:
    """Relate a sequence of operands to the operands and sequences that it consists of.

    Parameters
    ----------
    whole : etuple or logic variable
        The sequence.
    parts : sequence of terms
        Its parts, in order.
    are_sequences : sequence of bool
        Which parts are sequences themselves, of any length.

    Returns
    -------
    goal
        Suspended until the whole, or all its parts that are sequences, are bound.
    """
    return Suspended("join", (whole, tuple(are_sequences), *parts), "joino", _none)


def _join(goal: Suspended, state: State) -> Iterable[State] | None:
    whole, are_sequences, *parts = (reify(to_term(x), state) for x in goal.args)
    if isinstance(whole, ExpressionTuple):
        ways = _cut(tuple(whole), are_sequences)
        states = (unify(tuple(parts), way, state) for way in ways)
        return (s for s in states if s is not False)
    sequences = [x for x, many in zip(parts, are_sequences, strict=True) if many]
    if not all(isinstance(x, ExpressionTuple) for x in sequences):
        return None
    operands: list[Any] = []
    for x, many in zip(parts, are_sequences, strict=True):
        operands.extend(x if many else [x])
    s = unify(whole, etuple(*operands), state)
    return [] if s is False else [s]


def _cut(operands: tuple[Any, ...], are_sequences: Sequence[bool]) -> Iterator[tuple[Any, ...]]:
    """Yield the ways to cut operands into parts, of which some are sequences."""
    if not are_sequences:
        if not operands:
            yield ()
        return
    many, *rest = are_sequences
    lengths = range(len(operands) + 1 - rest.count(False)) if many else (1,)
    for n in lengths:
        if n <= len(operands):
            part = etuple(*operands[:n]) if many else operands[0]
            for others in _cut(operands[n:], rest):
                yield (part, *others)


_SOLVED = {"check": _check, "calc": _calc, "map": _map, "flatten": _flatten, "join": _join}


def require_goal(goal: Any, where: str) -> Goal:
    """Return ``goal`` if it can be run, or raise ArgumentError naming where it came from."""
    if callable(goal):
        return goal  # type: ignore[no-any-return]
    raise ArgumentError(
        f"{where} must return a goal, not {goal!r}",
        fix="Combine goals with rg.lall(...); rg.eq(a, b) states that two terms are equal.",
    )


__all__ = [
    "RESIDUALS", "Suspended", "assoc_flatten", "calco", "checko", "conde",
    "conso", "constanto", "drop_residuals", "elementwiseo", "eq", "facto", "finiteo", "floato",
    "heado", "integero", "invertibleo", "lall", "lany", "linearo", "mapo", "nonnegativeo",
    "nonzeroo", "op_kindo", "positiveo", "rearrangemento", "reductiono", "require_goal",
    "residuals", "settle", "symmetrico", "tailo",
]  # fmt: skip
