"""Rewriting graphs: with relations given, or with those that a query selects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from relgraph.db.default import built_database, default_database
from relgraph.db.modes import mode, nonfinite_choice
from relgraph.db.query import RewriteDatabaseQuery
from relgraph.errors import ArgumentError, checks_arguments
from relgraph.relations.relation import Relation
from relgraph.rewriting.rewriters import (
    GraphRewriter,
    SequentialGraphRewriter,
    as_item,
    flat,
    map_graph,
    runs_on_nodes,
)
from relgraph.rewriting.selection import clear_selections

Graph = TypeVar("Graph")

DEFAULT = ("canonicalize",)  # what rewrite_graph applies when it is given nothing


@checks_arguments
def rewrite_graph(
    graph: Graph,
    *relations: Any,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    mode: str | RewriteDatabaseQuery | None = None,
    custom_rewrite: Any = None,
    clone: bool = False,
    nonfinite: str = "assume",
    strategy: str = "innermost",
) -> Graph:
    """Rewrite a graph to normal form.

    Parameters
    ----------
    graph : Variable, list or tuple or dict of Variable, or FunctionGraph
        It stays as it is.
    *relations : relation, goal constructor, rewriter, or list of them
        Applied in this order; neighbouring relations are applied together.  If any are given, even
        as an empty list, nothing else is applied.
    include, exclude : str or iterable of str
        Tags and names of :data:`relgraph.optdb`.  Without relations, tags or a mode, the tag
        ``canonicalize`` is included.
    mode : str or Query
        A mode, such as ``"o4"``, or a query; ``include`` and ``exclude`` refine it.
    custom_rewrite : rewriter or relation, optional
        Applied after what tags and modes select; without those it is all that is applied.
    clone : bool
        Accepted as in PyTensor; graphs cannot be changed, so it makes no difference.
    nonfinite : {"assume", "keep"}
        Whether to use relations that hold for finite values only, such as ``x - x = 0``.
    strategy : {"innermost", "once"}
        For relations that are given: rewrite to normal form, or visit each node once.

    Returns
    -------
    the kind that was given
        The same object where nothing fired.

    Raises
    ------
    ArgumentError
        For arguments that do not go together.
    UnknownTagError
        For a tag or a mode that does not exist.
    OscillationError, BudgetError
        When the relations do not come to an end.

    Examples
    --------
    >>> import relgraph as rg
    >>> A, B, C = rg.matrices("A B C", shape=("n", "n"))
    >>> @rg.identity(specials="assumes_finite")
    ... def distribute_matmulo(X, Y, Z):
    ...     '''X (Y + Z) = X Y + X Z.'''
    ...     return X @ (Y + Z), X @ Y + X @ Z
    >>> rg.rewrite_graph(A @ (B + C), distribute_matmulo)
    A @ B + A @ C
    >>> rg.rewrite_graph(A @ B + A @ C, distribute_matmulo.reversed)
    A @ (B + C)
    """
    asked = include is not None or exclude is not None or mode is not None
    if relations and asked:
        raise ArgumentError(
            "rewrite_graph takes relations, or tags and modes, not both",
            {
                "relations": ", ".join(map(repr, relations)),
                **({"include": include} if include is not None else {}),
                **({"exclude": exclude} if exclude is not None else {}),
                **({"mode": mode} if mode is not None else {}),
            },
            "Pass the relations as custom_rewrite=[...] to apply them after the query.",
        )
    if asked and strategy != "innermost":
        raise ArgumentError(
            f"strategy={strategy!r} is for relations that are given; phases of a database say "
            "themselves how they run",
            fix="Pass relations in place of include=, exclude= and mode=, or leave strategy= out.",
        )
    steps: list[Any] = []
    if relations:
        steps += _given(relations, nonfinite, strategy)
    elif asked or custom_rewrite is None:
        steps.append(default_database().query(query_of(include, exclude, mode, nonfinite)))
    if custom_rewrite is not None:
        steps += _given((custom_rewrite,), nonfinite, strategy)
    rewriter = steps[0] if len(steps) == 1 else SequentialGraphRewriter(*steps)
    return map_graph(graph, rewriter)


def query_of(
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    name: str | RewriteDatabaseQuery | None = None,
    nonfinite: str = "assume",
) -> RewriteDatabaseQuery:
    """Return the query of a mode and of tags to include and exclude.

    Parameters
    ----------
    include, exclude : str or iterable of str, optional
        Tags.
    name : str or Query, optional
        The mode; without one, and without ``include``, the tag ``canonicalize``.
    nonfinite : {"assume", "keep"}
        As in :func:`rewrite_graph`.
    """
    tags = (include,) if isinstance(include, str) else include
    if name is not None:
        query = mode(name)
        if tags is not None:
            query = query.including(*tags)
    else:
        query = RewriteDatabaseQuery(include=DEFAULT if tags is None else tags)
    if exclude is not None:
        query = query.excluding(*((exclude,) if isinstance(exclude, str) else exclude))
    return nonfinite_choice(query, nonfinite)


def _given(relations: tuple[Any, ...], nonfinite: str, strategy: str) -> list[Any]:
    """Return rewriters for what is given: neighbouring relations and node rewriters are one."""
    nonfinite_choice(RewriteDatabaseQuery(()), nonfinite)
    steps: list[Any] = []
    group: list[Any] = []

    def close() -> Iterator[Any]:
        if group:
            yield GraphRewriter(list(group), strategy)
            group.clear()

    for x in flat(relations):
        if isinstance(x, str):
            raise ArgumentError(
                f"{x!r} is no relation and no rewriter, but a string",
                fix=f"Select by tag or name with include=[{x!r}], or a mode with mode={x!r}.",
            )
        item = as_item(x)
        if isinstance(item, Relation) and nonfinite == "keep" and item.specials != "kept":
            continue
        if runs_on_nodes(item):
            group.append(item)
        else:
            steps += close()
            steps.append(item)
    steps += close()
    return steps


@checks_arguments
def clear_caches() -> None:
    """Forget compiled selections, and the normal forms and queries remembered with them.

    Graphs, and functions compiled from them, stay as they are.
    """
    clear_selections()
    database = built_database()
    if database is not None:
        database.clear()


__all__ = ["clear_caches", "mode", "query_of", "rewrite_graph"]
