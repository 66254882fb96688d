"""What a declaration consists of: the parameters, the conditions and the sides of an identity.

A relation is declared by a Python function.  What cannot be a relation is refused where it is
declared, with the place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from relgraph.errors import RelationError
from relgraph.relations.clause import Clause, up_to_laws
from relgraph.relations.goals import Suspended
from relgraph.relations.pattern import Pattern, PatternVariable, from_term, text


def location_of(function: Callable[..., Any]) -> str:
    """Return the file and line that a function begins at."""
    code = getattr(function, "__code__", None)
    if code is None:
        return "<unknown>"
    name = code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{name}:{code.co_firstlineno}"


def check_two_sides(function: Callable[..., Any], label: str) -> None:
    """Refuse a goal constructor that cannot be called with two sides."""
    plain = _plain_parameters(function)
    if plain is not None and len(plain) == 2:
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function in C may have none
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
    """Return the side conditions of an identity, of the parameters that ``where`` asks for."""
    if where is None:
        return ()
    wanted = _plain_parameters(where) or list(inspect.signature(where).parameters)
    unknown = [p for p in wanted if p not in parameters]
    if unknown:
        raise RelationError(
            f"{name}: where= asks for {', '.join(unknown)}, which the identity does not have",
            {"parameters": ", ".join(parameters), "declared": location},
            "Name the parameters of where= as those of the identity.",
        )
    goals = where(*(parameters[p] for p in wanted))
    goals = goals if isinstance(goals, tuple | list) else (goals,)
    for g in goals:
        if not isinstance(g, Suspended):
            raise RelationError(
                f"{name}: where= must return side conditions, not {g!r}",
                {"declared": location},
                "Use rg.facto and its short forms, rg.checko, rg.calco; several as a tuple.",
            )
    return tuple(goals)


def parameters_of(
    function: Callable[..., Any], name: str, location: str
) -> dict[str, PatternVariable]:
    """Return a fresh logic variable for each parameter of a declaration."""
    plain = _plain_parameters(function)
    if plain is not None:
        return {p: PatternVariable(p) for p in plain}
    found = {}
    for p in inspect.signature(function).parameters.values():
        if p.default is not p.empty or p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            raise RelationError(
                f"{name}: the parameter {p} of an identity must be a plain logic variable",
                {"declared": location},
                "Write numbers into the sides, and make other variables with rg.lvars(...).",
            )
        found[p.name] = PatternVariable(p.name)
    return found


def _plain_parameters(function: Callable[..., Any]) -> list[str] | None:
    """Return the parameters of a function that has plain ones only, and None for any other."""
    if type(function) is not FunctionType or function.__dict__:  # it may say otherwise
        return None
    code = function.__code__
    several = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if several or code.co_kwonlyargcount or function.__defaults__:
        return None
    return list(code.co_varnames[: code.co_argcount])


def names_of(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return one name, or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def check_clause(clause: Clause, name: str, location: str) -> None:
    """Refuse sides that are no terms, and sides that are the same."""
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
    heads = (getattr(clause.left, "op", None), getattr(clause.right, "op", None))
    if heads[0] == heads[1] and up_to_laws(clause.left) == up_to_laws(clause.right):
        raise RelationError(
            f"{name}: both sides are the same: {text(clause.left)} and {text(clause.right)}",
            {"declared": location},
            "The laws of an op, such as x + y = y + x, hold without being declared; leave it out.",
        )
