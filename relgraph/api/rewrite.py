"""Rewriting graphs, with relations or with the selection of a query.

:func:`selected` defines ``mode=`` for all functions that have this parameter.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from relgraph.db.default import built_database, default_database
from relgraph.db.modes import MODES, mode, nonfinite_choice
from relgraph.db.query import RewriteDatabaseQuery
from relgraph.errors import ArgumentError, checks_arguments
from relgraph.ir.dispatch import traceable
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
from relgraph.settings import config

Graph = TypeVar("Graph")

DEFAULT = ("canonicalize",)  # the default of rewrite_graph
DEFAULT_MODE = "default"  # stands for rg.config.mode


@traceable
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
        The graph, which does not change.
    *relations : relation, goal constructor, rewriter, or list of them
        Applied in this order; adjacent relations are applied together.  If you pass any, even an
        empty list, but no tags or mode, nothing else is applied.
    include, exclude : str or iterable of str
        Tags and names of :data:`relgraph.optdb`.  Without relations, tags or a mode, the tag
        ``canonicalize`` is included.
    mode : str, Query, relation, rewriter, or list of them
        A mode, such as ``"o4"``, or a query; ``include`` and ``exclude`` refine it.  It runs after
        ``relations``.  For a list see :func:`relgraph.function`.
    custom_rewrite : rewriter or relation, optional
        Applied after the selection of tags and modes; without those, nothing else is applied.
    clone : bool
        Accepted for PyTensor's sake; graphs are immutable, so it has no effect.
    nonfinite : {"assume", "keep"}
        Whether to use relations that hold for finite values only, such as ``x - x = 0``.  A
        warning names those that you pass and ``"keep"`` leaves out.
    strategy : {"innermost", "once"}
        For the ``relations`` that you pass: rewrite to normal form, or visit each node once.

    Returns
    -------
    the kind of ``graph``
        The same object if nothing fired.

    Raises
    ------
    ArgumentError
        For conflicting arguments.
    UnknownTagError
        For a tag or a mode that does not exist.
    OscillationError, BudgetError
        If the relations do not terminate.

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
    if asked and not relations and strategy != "innermost":
        raise ArgumentError(
            f"strategy={strategy!r} applies to relations that you pass; a database determines "
            "how its phases run",
            fix="Pass relations in place of include=, exclude= and mode=, or leave strategy= out.",
        )
    steps: list[Any] = []
    if relations:
        steps += _given(relations, nonfinite, strategy)
    if asked or (custom_rewrite is None and not relations):
        steps.append(refined(include, exclude, mode, nonfinite))
    if custom_rewrite is not None:
        steps += _given((custom_rewrite,), nonfinite, strategy)
    rewriter = steps[0] if len(steps) == 1 else SequentialGraphRewriter(*steps)
    return map_graph(graph, rewriter)


def refined(
    include: str | Iterable[str] | None,
    exclude: str | Iterable[str] | None,
    mode: Any,
    nonfinite: str,
) -> Any:
    """Return the rewriter of a mode with tags to include and exclude, as in :func:`rewrite_graph`.

    Tags refine a name or a query; with any other rewrites they raise ArgumentError.
    """
    if mode is None or isinstance(mode, str | RewriteDatabaseQuery):
        return default_database().query(query_of(include, exclude, mode, nonfinite))
    if include is not None or exclude is not None:
        raise ArgumentError(
            "include= and exclude= refine a mode or a query, not other rewrites",
            {"mode": mode},
            "Refine the query in the list: mode=[relation, rg.mode('o4').including(...)].",
        )
    return selected(mode, nonfinite)[0]


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
        query = mode(config.mode if name == DEFAULT_MODE else name)
        if tags is not None:
            query = query.including(*tags)
    else:
        query = RewriteDatabaseQuery(include=DEFAULT if tags is None else tags)
    if exclude is not None:
        query = query.excluding(*((exclude,) if isinstance(exclude, str) else exclude))
    if config.exclude:
        query = query.excluding(*config.exclude)
    return nonfinite_choice(query, nonfinite)


def selected(mode: Any, nonfinite: str = "assume") -> tuple[Any, tuple[str, ...] | None]:
    """Return the rewriter of a mode, and its lowering choices.

    Parameters
    ----------
    mode : str, Query, relation, rewriter, list of them, or None
        Names and queries select from :data:`relgraph.optdb`; a query of another database returns a
        rewriter.  A list runs in order, adjacent relations together.
    nonfinite : {"assume", "keep"}
        As in :func:`rewrite_graph`.

    Returns
    -------
    rewriter or None
        None for a mode of None.
    tuple of str or None
        The names of the lowering choices; None for all, if nothing selects among them.

    Raises
    ------
    ArgumentError
        For an object that is not a rewrite.
    UnknownTagError
        For a mode or tag that does not exist.
    """
    nonfinite_choice(RewriteDatabaseQuery(()), nonfinite)  # raises for an unknown word
    if mode is None:
        return None, None
    items: list[Any] = []
    choices: list[tuple[str, ...]] = []
    for x in flat(mode):
        if isinstance(x, str | RewriteDatabaseQuery):
            x = default_database().query(query_of(name=x, nonfinite=nonfinite))
            choices.append(x.choices)
        elif getattr(x, "choices", ()):  # a user's database need not have any
            choices.append(x.choices)
        items.append(x)
    try:
        steps = _given(items, nonfinite, "innermost")
    except ArgumentError as error:
        raise ArgumentError(
            f"a mode is a name, a query, a relation, a rewriter or a list of them: {error.what}",
            {"mode": f"{mode!r:.60}", "modes": ", ".join(MODES)},
            error.fix,
        ) from None
    rewriter = steps[0] if len(steps) == 1 else SequentialGraphRewriter(*steps)
    return rewriter, tuple(dict.fromkeys(sum(choices, ()))) if choices else None


def _given(relations: Iterable[Any], nonfinite: str, strategy: str) -> list[Any]:
    """Return rewriters for relations and rewriters, adjacent ones joined."""
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
                f"{x!r} is a string, not a relation or rewriter",
                fix=f"Select by tag or name with include=[{x!r}], or a mode with mode={x!r}.",
            )
        item = as_item(x)
        if isinstance(item, Relation) and leaves_out(item, nonfinite):
            warnings.warn(
                f'nonfinite="keep" leaves out {item.label}, which assumes finite values: leave the '
                'relation or the argument out, or declare specials="kept" if it holds for '
                "infinities and NaN too (rg.check tests that)",
                RuntimeWarning,
                stacklevel=4,
            )
            continue
        if runs_on_nodes(item):
            group.append(item)
        else:
            steps += close()
            steps.append(item)
    steps += close()
    return steps


def leaves_out(relation: Relation, nonfinite: str) -> bool:
    """Return True if ``nonfinite="keep"`` leaves a relation out, since it assumes finite values.

    Parameters
    ----------
    relation : Relation
        The relation.
    nonfinite : {"assume", "keep"}
        As in :func:`rewrite_graph`.
    """
    return nonfinite == "keep" and relation.specials != "kept"


@checks_arguments
def clear_caches() -> None:
    """Forget compiled selections, and the normal forms and queries remembered with them.

    Graphs and compiled functions are not affected.
    """
    clear_selections()
    database = built_database()
    if database is not None:
        database.clear()


__all__ = ["clear_caches", "mode", "query_of", "rewrite_graph", "selected"]
