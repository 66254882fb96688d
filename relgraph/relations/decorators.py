"""The decorators that declare a relation by a Python function: two sides, or a kanren goal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from relgraph.errors import RelationError, RelgraphError, checks_arguments
from relgraph.ir.op import Op
from relgraph.relations.clause import is_bound
from relgraph.relations.declaration import (
    check_clause,
    check_function,
    check_two_sides,
    documentation,
    location_of,
    names_of,
    parameters_of,
    stated_clauses,
)
from relgraph.relations.kanren.goals import require_goal
from relgraph.relations.relation import ANNOUNCED, CATALOGUE, CataloguedRelation, Relation


@checks_arguments
def identity(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    tags: Iterable[str] = (),
    where: Callable[..., Any] | None = None,
    rounding: str = "rounded",
    specials: str = "kept",
    broadcast: Iterable[str] = (),
    budget: int | None = None,
    location: str = "",
) -> Any:
    """Declare an identity by a function of logic variables that states its two sides.

    Parameters
    ----------
    function : callable
        Its parameters are fresh logic variables.  It returns ``left, right``, each built with
        the operators and functions that graphs take.  An identity of several pairs yields
        ``left, right`` for each, or ``left, right, condition`` for a pair that holds under a
        condition of its own: a goal, or a tuple of goals.
    name : str, optional
        By default the function's.
    tags : iterable of str
        Databases select it by them.
    where : callable, optional
        Takes any of the same parameters, and returns the goal, or a tuple of the goals, that
        must be proved for every pair.
    rounding : {"rounded", "exact"}
        Whether both sides have the same values bit for bit.
    specials : {"kept", "assumes_finite"}
        Whether it holds where inputs or intermediates are infinite or NaN.
    broadcast : iterable of str
        Parameters that may be broadcast although the identity is not elementwise; ``"*"`` where
        that holds of every operand, such as ``x - max(x, keepdims=True)``.
    budget : int, optional
        How often it may fire in one call.
    location : str, optional
        Where it is declared; by default where the function is.

    Returns
    -------
    Relation

    Raises
    ------
    RelationError
        When the function does not state two sides, or a side occurs in itself.
    UnboundVariableError, NotInvertibleError
        When neither direction can run.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.identity(tags=["canonicalize"], specials="assumes_finite")
    ... def distribute_matmulo(X, Y, Z):
    ...     '''X (Y + Z) = X Y + X Z.'''
    ...     return X @ (Y + Z), X @ Y + X @ Z
    >>> print(distribute_matmulo)
    distribute_matmulo: X @ (Y + Z) = X @ Y + X @ Z
    >>> @rg.identity(specials="assumes_finite")
    ... def lower_log_powero(x, y):
    ...     '''log(x^y) = y log x for x > 0, and log(e^x y) = x + log y.'''
    ...     yield rg.log(x**y), y * rg.log(x), rg.positiveo(x)
    ...     yield rg.log(rg.exp(x) * y), x + rg.log(y)
    >>> print(lower_log_powero)
    lower_log_powero: log(x ** y) = y * log(x)  where positive(x)
    lower_log_powero: log(exp(x) * y) = x + log(y)
    """
    if function is None:
        return lambda f: identity(
            f, name=name, tags=tags, where=where, rounding=rounding, specials=specials,
            broadcast=broadcast, budget=budget, location=location,
        )  # fmt: skip
    check_function(function, name, "identity", "logic variables that returns two sides")
    place = tuple([str(getattr(function, x, "")) for x in ("__module__", "__qualname__")])
    announced = ANNOUNCED.get(place)
    if announced is not None and announced.declare(function, where):
        return announced
    name = name or str(getattr(function, "__name__", "identity"))
    location = location or location_of(function)
    if place[0].rpartition(".")[0] == CATALOGUE and name == place[1]:
        catalogued = ANNOUNCED[place] = CataloguedRelation(
            name, tags=tags, rounding=rounding, specials=specials, broadcast=broadcast, doc=None,
            location=location, budget=budget,
        )  # fmt: skip
        catalogued.__module__, catalogued.__qualname__ = place
        catalogued.declare(function, where)
        return catalogued
    parameters = parameters_of(function, name, location)
    unknown = sorted({*names_of(broadcast, f"{name}: broadcast=")} - {*parameters, "*"})
    if unknown:
        raise RelationError(
            f"{name}: broadcast= names {', '.join(unknown)}, which the identity does not have",
            {"parameters": ", ".join(parameters), "declared": location},
            'Name parameters of the identity, or "*" for all operands.',
        )
    clauses = stated_clauses(function, where, name, location, check_clause)
    result = Relation(
        name, clauses=clauses, tags=tags, rounding=rounding, specials=specials,
        broadcast=broadcast, doc=function.__doc__ or "", location=location, budget=budget,
    )  # fmt: skip
    _declared_as(result, function)
    check_directions(result)
    return result


def _declared_as(relation: Relation, function: Callable[..., Any]) -> None:
    """Give a relation the names that it is pickled by, and its whole docstring."""
    relation.__module__ = getattr(function, "__module__", None) or __name__
    relation.__qualname__ = getattr(function, "__qualname__", "")
    relation.__doc__ = documentation(
        relation.doc, relation.clauses, relation.rounding, relation.specials
    )


@checks_arguments
def relation(
    function: Callable[[Any, Any], Any] | None = None,
    *,
    name: str | None = None,
    tags: Iterable[str] = (),
    rounding: str = "rounded",
    specials: str = "kept",
    broadcast: Iterable[str] = (),
    budget: int | None = None,
) -> Any:
    """Declare a relation by a kanren goal constructor of two arguments.

    The goal is run once with both sides free, and its answers are the clauses that compile.  If the
    answers do not end, miniKanren runs the goal at each node.

    Parameters
    ----------
    function : callable
        ``function(left, right)`` returns a goal.
    name, tags, rounding, specials, broadcast, budget
        As in :func:`identity`.

    Returns
    -------
    Relation

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.relation(broadcast="*", specials="assumes_finite")
    ... def diag_matmulo(left, right):
    ...     '''diag(v) X = v[:, None] * X.'''
    ...     v, X = rg.lvars("v X")
    ...     return rg.lall(
    ...         rg.eq(left, rg.diag(v) @ X), rg.eq(right, rg.expand_dims(v, -1) * X)
    ...     )
    >>> diag_matmulo.interpreted
    False
    """
    if function is None:
        return lambda f: relation(
            f, name=name, tags=tags, rounding=rounding, specials=specials, broadcast=broadcast,
            budget=budget,
        )  # fmt: skip
    check_function(function, name, "relation", "both sides")
    body = function
    label = str(name or getattr(function, "__name__", "relation"))
    check_two_sides(function, label)

    def goal(left: Any, right: Any) -> Any:
        return require_goal(body(left, right), label)

    goal.__wrapped__ = body  # type: ignore[attr-defined]

    result = Relation(
        label, goal, tags=tags, rounding=rounding, specials=specials, broadcast=broadcast,
        doc=function.__doc__ or "", location=location_of(function), budget=budget,
    )  # fmt: skip
    _declared_as(result, function)  # also raises if the goal relates nothing
    return result


def as_relation(x: Any) -> Relation:
    """Return ``x`` as a relation: itself, or a goal constructor of two arguments wrapped."""
    if isinstance(x, Relation):
        return x
    if callable(x) and not isinstance(x, type | Op):
        return relation(x)  # type: ignore[no-any-return]
    raise RelationError(
        f"{x!r} is not a relation",
        fix="Declare it with @rg.identity or @rg.relation, or pass a kanren goal constructor.",
    )


def check_directions(relation: Relation) -> None:
    """Raise an error if neither direction can run; it says why the forward one cannot."""
    if all(is_bound(clause, backward=False) for clause in relation.clauses or ()):
        return
    try:
        relation.rewrites  # noqa: B018 - raises when no clause can run forward
    except RelgraphError as forward:
        try:
            relation.reversed  # noqa: B018 - raises when no clause can run backward
        except RelgraphError:
            raise forward from None
