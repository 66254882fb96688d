"""Declarations: the parameters, the conditions and the sides of an identity.

A Python function declares a relation.  An invalid declaration raises at the declaration, and the
error names file and line.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from textwrap import wrap
from types import FunctionType, MappingProxyType
from typing import Any

from relgraph.errors import RelationError, RelgraphError
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations.clause import Clause, up_to_laws
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.kanren.search import failed
from relgraph.relations.op_variables import with_op_variables
from relgraph.relations.pattern import (
    OpPattern,
    Pattern,
    PatternNode,
    PatternVariable,
    check_nesting,
    from_term,
    rename,
    stated,
    subterms,
    text,
)


def location_of(function: Callable[..., Any]) -> str:
    """Return the file and line that a function begins at."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return "<unknown>"
    name = code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{name}:{code.co_firstlineno}"


def check_two_sides(function: Callable[..., Any], label: str) -> None:
    """Raise RelationError for a goal constructor that cannot be called with two sides."""
    plain = _plain_parameters(function)
    if plain is not None and len(plain) == 2:
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function in C may have no signature
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise RelationError(
            f"{label} must take two sides, and its parameters are {signature}",
            {"declared": location_of(function)},
            "Write def name(left, right), which returns a goal; rg.identity takes a function of "
            "logic variables that returns both sides.",
        ) from None


def conditions_of(
    where: Callable[..., Any] | None,
    parameters: dict[str, PatternVariable],
    name: str,
    location: str,
) -> tuple[Suspended, ...]:
    """Return the side conditions of an identity, which ``where`` makes from its parameters."""
    if where is None:
        return ()
    if not callable(where):
        raise RelationError(
            f"{name}: where= is a function, not {where!r:.60}",
            {"declared": location},
            "Write where=lambda x: rg.positiveo(x), of parameters of the identity.",
        )
    wanted = _plain_parameters(where) or list(_signature(where, f"{name}: where=", location))
    unknown = [p for p in wanted if p not in parameters]
    if unknown:
        raise RelationError(
            f"{name}: where= asks for {', '.join(unknown)}, which the identity does not have",
            {"parameters": ", ".join(parameters), "declared": location},
            "Name the parameters of where= as those of the identity.",
        )
    try:
        goals = where(*(parameters[p] for p in wanted))
    except Exception as error:
        raise _condition_failed(name, error, location, location_of(where)) from error
    goals = _as_goals(goals)
    for goal in goals:
        if not isinstance(goal, Suspended):
            raise RelationError(
                f"{name}: where= must return side conditions, not {goal!r}",
                {"declared": location},
                "Use rg.facto and its short forms, rg.checko, rg.calco; several as a tuple.",
            )
    return goals


def _as_goals(conditions: Any) -> tuple[Any, ...]:
    """Return one condition, or several, as a tuple."""
    return tuple(conditions) if isinstance(conditions, tuple | list) else (conditions,)


def pairs_of(statement: Any, name: str, location: str) -> list[Clause]:
    """Return the pairs of sides that an identity states, each with its own conditions.

    It states ``(left, right)`` or ``(left, right, condition)``, or a list of these.
    """
    clauses = []
    for pair in statement if isinstance(statement, list) and statement else [statement]:
        sides = pair if isinstance(pair, tuple) else ()
        conditions = _as_goals(sides[2]) if len(sides) == 3 else ()
        if len(sides) not in (2, 3) or not all(isinstance(x, Suspended) for x in conditions):
            raise RelationError(
                f"{name} must return its two sides, not {pair!r}",
                {"declared": location},
                "Write: return left, right; or, for each of several pairs, yield left, right "
                "or yield left, right, condition.",
            )
        clauses.append(Clause(sides[0], sides[1], conditions))
    return clauses


def _condition_failed(name: str, error: Exception, location: str, place: str) -> RelgraphError:
    """Return the error that ``where`` raised as one that names the identity."""
    facts = {"declared": location, "condition": place}
    if isinstance(error, RelgraphError):
        return failed(name, error, facts)
    return RelationError(
        f"{name}: its condition (where=) failed",
        {**facts, "error": repr(error)},
        "It is called once, with logic variables, and returns goals; what looks at the graphs "
        "goes in a goal: where=lambda x: rg.checko(lambda x: x.ndim == 2, x).",
    )


def _signature(
    function: Callable[..., Any], what: str, location: str
) -> MappingProxyType[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a function in C may have none
        raise RelationError(
            f"{what} is {function!r:.60}, whose parameters cannot be read",
            {"declared": location},
            "Write a function in Python.",
        ) from None


def parameters_of(
    function: Callable[..., Any], name: str, location: str
) -> dict[str, PatternVariable]:
    """Return a fresh logic variable for each parameter of a declaration."""
    plain = _plain_parameters(function)
    if plain is not None:
        return {p: PatternVariable(p) for p in plain}
    variables = {}
    for p in _signature(function, name, location).values():
        if p.default is not p.empty or p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            raise RelationError(
                f"{name}: the parameter {p} of an identity must be a plain logic variable",
                {"declared": location},
                "Write numbers into the sides, and make other variables with rg.lvars(...).",
            )
        variables[p.name] = PatternVariable(p.name)
    return variables


def _plain_parameters(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of the parameters if all are plain, otherwise None."""
    if type(function) is not FunctionType or function.__dict__:  # it may say otherwise
        return None
    code = function.__code__
    several = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if several or code.co_kwonlyargcount or function.__defaults__:
        return None
    return list(code.co_varnames[: code.co_argcount])


def names_of(names: str | Iterable[str], what: str) -> tuple[str, ...]:
    """Return one name, or several, as a tuple."""
    if isinstance(names, str):
        return (names,)
    result = tuple(names) if isinstance(names, Iterable) else (names,)
    if not all(isinstance(x, str) for x in result):
        raise RelationError(
            f"{what} takes names, which are strings, not {names!r:.60}",
            fix=f'Write {what.rpartition(" ")[2]}["a name", "another"], or leave it out.',
        )
    return result


def check_function(function: Any, name: Any, kind: str, example: str) -> None:
    """Raise RelationError unless a relation is declared by a function, under a valid name."""
    if not callable(function) or isinstance(function, type | Op):
        raise RelationError(
            f"{kind} takes a function of {example}, not {function!r:.60}",
            fix=f"Write @rg.{kind} above a function.",
        )
    if name is not None:
        check_name(name, kind)


def check_name(name: Any, kind: str) -> None:
    """Raise RelationError unless a name is an identifier."""
    if not isinstance(name, str):
        raise RelationError(
            f"{kind}: a name is a string, not {name!r:.60}",
            fix="Leave it out for the name of the function.",
        )
    if not name.isidentifier():
        raise RelationError(
            f"{kind}: a name is an identifier of Python, not {name!r:.60}",
            fix="Write it as the name of a function, such as distribute_matmulo.",
        )


def documentation(
    doc: str, clauses: tuple[Clause, ...] | None, rounding: str, specials: str
) -> str:
    """Return the docstring of a relation with a sentence that says where it holds, and how well.

    The sentence is made from the conditions and the labels.  Where the text below the first line
    begins with a sentence "Holds ...", which says more than the conditions, it becomes a part.
    """
    if not doc.strip():
        return doc
    law, _, text = doc.partition("\n\n")
    indent = text[: len(text) - len(text.lstrip(" "))]
    stated = _HOLDS.match(text.lstrip(" "))
    place = " ".join(stated[1].split()) if stated else ""
    rest = text.lstrip(" ")[stated.end() if stated else 0 :].strip()
    place = _where_it_holds(place, clauses, finite=specials == "assumes_finite")
    lines = wrap(f"{place}; {rounding}, {specials}.", 96)
    return f"{law.rstrip()}\n\n" + "\n".join(indent + line for line in [*lines, rest] if line)


_HOLDS = re.compile(r"(Holds\b.*?)\.(?=\s\s|\s*$)", re.DOTALL)


def _where_it_holds(place: str, clauses: tuple[Clause, ...] | None, finite: bool) -> str:
    """Return what the conditions of a relation say, after what its docstring says."""
    if clauses is None:
        return place or "Holds where its goal does"
    conditions = {tuple([goal.label for goal in clause.conditions]) for clause in clauses}
    if conditions == {()}:
        return place or ("Holds where all values are finite" if finite else "Holds always")
    if len(conditions) > 1:
        each = "the condition of each pair"
        return f"{place}, given {each}" if place else f"Holds where {each} does"
    labels = ", ".join(conditions.pop())
    return f"{place}, given {labels}" if place else f"Holds where {labels}"


def axis_kinds(clause: Clause) -> dict[PatternVariable, dict[type[Op], frozenset[type]]]:
    """Return the types of the axes that variables of a clause stand for, by variable and op.

    The axis of a reduction is a tuple or None, that of ``argmax`` an int or None, and that of
    ``softmax`` an int.
    """
    axes: dict[PatternVariable, dict[type[Op], frozenset[type]]] = {}
    for x in subterms(clause.left, clause.right):
        if type(x) is PatternNode and type(x.op) is OpPattern:
            for v, kinds in _axes_of(x.op):
                axes.setdefault(v, {})[x.op.cls] = kinds
    return axes


def _axes_of(op: OpPattern) -> list[tuple[PatternVariable, frozenset[type]]]:
    """Return the variables that an op takes as axes, with the types in which it stores them."""
    cls: Any = op.cls
    return [
        (v, kinds)
        for name, v in zip(cls.parameters, op.params, strict=True)
        if isinstance(v, PatternVariable) and (kinds := _kinds_of(cls, name))
    ]


@cache
def _kinds_of(op: Any, name: str) -> frozenset[type]:
    """Return the types of the axes that a class of ops stores under a name."""
    kinds = set()
    for axis in (-1, None) if name in ("axis", "axes") else ():
        with suppress(RelgraphError, TypeError):
            kinds.add(type(op.canonical(**{name: axis})[op.parameters.index(name)]))
    return frozenset(kinds)


def _one_axis(axis: Any) -> tuple[int] | None:
    return (axis,) if isinstance(axis, int) else None


def _axis_of_one(axes: Any) -> int | None:
    return axes[0] if isinstance(axes, tuple) and len(axes) == 1 else None


def with_axes(clause: Clause) -> tuple[Clause, ...]:
    """Return a clause whose axes fit ops that store an int and ops that store a tuple.

    ``softmax`` stores its axis as an int and ``sum`` as a tuple.  A variable that is the axis of
    both stands for the int, and a second variable stands for the tuple.  If both ops can do without
    an axis, that case is a clause of its own.
    """
    for v, by_op in axis_kinds(clause).items():
        common = frozenset.intersection(*by_op.values())
        if common & {int, tuple}:
            continue
        several = PatternVariable(f"({v.name},)")

        def image(op: OpPattern, v: Any = v, several: Any = several) -> OpPattern:
            tuples = [x for x, kinds in _axes_of(op) if x == v and int not in kinds]
            return OpPattern(op.cls, tuple(several if p in tuples else p for p in op.params))

        related = (
            Suspended("calc", (several, v), f"{several} holds {v}", _one_axis),
            Suspended("calc", (v, several), f"{v} is in {several}", _axis_of_one),
        )
        sides = [rename(side, lambda x: x, image) for side in (clause.left, clause.right)]
        one = Clause(sides[0], sides[1], (*related, *clause.conditions))
        if not common:
            return with_axes(one)

        def nothing(x: PatternVariable, v: Any = v) -> Any:
            return None if x == v else x

        left, right = (rename(side, nothing) for side in (clause.left, clause.right))
        conditions = [
            Suspended(c.kind, tuple(rename(x, nothing) for x in c.args), c.label, c.function)
            for c in clause.conditions
        ]
        return (*with_axes(one), *with_axes(Clause(left, right, tuple(conditions))))
    return (clause,)


def check_depth(clause: Clause, name: str, location: str) -> None:
    """Raise an error for a side that nests too many ops to be compiled."""
    try:
        check_nesting(clause.left, clause.right)
    except RelationError as error:
        raise failed(name, error, {"declared": location}) from None


def check_clause(clause: Clause, name: str, location: str) -> None:
    """Raise RelationError for sides that are not terms, nest too deep, or are the same."""
    check_depth(clause, name, location)
    for side in (clause.left, clause.right):
        if isinstance(side, Pattern):
            continue
        from_term(side)
        if not isinstance(side, bool | int | float) and not hasattr(side, "op"):
            raise RelationError(
                f"{name}: a side must be a pattern or a number, not {side!r}",
                {"declared": location},
                "Build both sides from the parameters of the function.",
            )
    if not any(isinstance(side, Pattern | Variable) for side in (clause.left, clause.right)):
        raise RelationError(
            f"{name}: both sides are numbers: {text(clause.left)} and {text(clause.right)}",
            {"declared": location},
            "Build one of them of an op and variables: a number alone is never rewritten.",
        )
    heads = (getattr(clause.left, "op", None), getattr(clause.right, "op", None))
    if heads[0] == heads[1] and up_to_laws(clause.left) == up_to_laws(clause.right):
        raise RelationError(
            f"{name}: both sides are the same: {text(clause.left)} and {text(clause.right)}",
            {"declared": location},
            "The laws of an op, such as x + y = y + x, hold without being declared; leave it out.",
        )


def stated_clauses(
    function: Callable[..., Any],
    where: Callable[..., Any] | None,
    name: str,
    location: str,
    check: Callable[[Clause, str, str], None] | None = None,
) -> tuple[Clause, ...]:
    """Return the clauses that the functions of an identity state, after a check of each."""
    parameters = parameters_of(function, name, location)
    pairs = pairs_of(stated(function, parameters.values()), name, location)
    common = conditions_of(where, parameters, name, location)
    clauses: list[Clause] = []
    for pair in pairs:
        clause = Clause(pair.left, pair.right, (*common, *pair.conditions))
        if check is not None:
            check(clause, name, location)
        clause = with_op_variables(clause, name, location)
        clauses.extend(with_axes(clause))
    return tuple(clauses)
