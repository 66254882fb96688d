"""``rg.why_not``: why a relation does not fire in a graph, and what would make it fire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from relgraph.api.rewrite import leaves_out, refined, selected
from relgraph.checking.diagnosis import reasons as kinds
from relgraph.checking.diagnosis.firing import of_graph, passing, unfired
from relgraph.checking.diagnosis.reasons import Place, Reason, listed
from relgraph.checking.diagnosis.report import WhyNot
from relgraph.db.default import default_database
from relgraph.db.entries import Entry
from relgraph.db.listing import every_row
from relgraph.db.pipeline import Pipeline
from relgraph.errors import ArgumentError, BudgetError, OscillationError
from relgraph.ir.dispatch import traceable
from relgraph.ir.graph import outputs_of
from relgraph.ir.node import Variable
from relgraph.relations.relation import Relation
from relgraph.rewriting.derivation.derivation import recording
from relgraph.rewriting.rewriters import GraphRewriter, as_item, map_graph


@traceable
def why_not(
    graph: Any,
    relation: Any,
    *,
    mode: Any = None,
    include: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    nonfinite: str = "assume",
) -> WhyNot:
    """Say why a relation does not fire in a graph, and what would make it fire.

    The pattern of the relation is compared with each node that has its head.  Where a test fails,
    the comparison goes on, so that the place with the fewest failures is known; it comes first.

    Parameters
    ----------
    graph : Variable, iterable or dict of Variable, FunctionGraph, or Function
        The graph.
    relation : relation, goal constructor, or str
        The relation in the direction in which it should fire, or a name of :func:`catalogue`, which
        stands for the direction that :data:`relgraph.optdb` holds.
    mode : str, Query, relation, rewriter, or list of them; optional
        The mode to ask about, as in :func:`rewrite_graph`; other relations of it may fire first.
        Without a mode and tags, the relation runs alone.
    include, exclude : str or iterable of str, optional
        As in :func:`rewrite_graph`.
    nonfinite : {"assume", "keep"}
        As in :func:`rewrite_graph`.

    Returns
    -------
    WhyNot
        Prints the reasons, or where the relation fires.  ``fired`` and ``places`` have them as
        objects, and ``reason`` the first test that failed at the nearest place.

    Raises
    ------
    UnknownTagError
        For a name, a tag or a mode that does not exist.
    ArgumentError
        For an object that is not a relation, such as a rewriter written in Python.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.identity(where=lambda x: rg.positiveo(x), specials="assumes_finite")
    ... def log_squareo(x):
    ...     '''log(x^2) = 2 log(x), for positive x.'''
    ...     return rg.log(rg.square(x)), 2 * rg.log(x)
    >>> x = rg.vector("x")
    >>> rg.why_not(rg.log(rg.square(x)) + 1, log_squareo)
    log_squareo does not fire
    1. at log(square(x)), pattern log(square(x)):
       nothing proves that x is positive
       Declare it of x, with facts=('positive',), where you make the input.
    >>> p = rg.vector("p", facts=("positive",))
    >>> rg.why_not(rg.log(rg.square(p)) + 1, log_squareo)
    log_squareo fires at log(square(p))
    """
    item = _relation(relation)
    outputs = outputs_of(graph)
    if not outputs:
        raise ArgumentError(
            "why_not takes a graph, and this list has none",
            fix="Pass a Variable, or a list with at least one.",
        )
    selected(None, nonfinite)  # raises for an unknown word
    alone = mode is None and include is None and exclude is None
    if leaves_out(item, nonfinite):
        reason = Reason(kinds.NONFINITE, _LEFT_OUT.format(item.label), _KEPT)
        return WhyNot(item, (), (of_graph(outputs, reason), *_alone(item, outputs)))
    rewriter = GraphRewriter([item]) if alone else refined(include, exclude, mode, nonfinite)
    if item not in _running(rewriter):
        reason = _unselected(item, rewriter)
        return WhyNot(item, (), (of_graph(outputs, reason), *_alone(item, outputs)))
    return _answer(item, outputs, rewriter)


def _answer(relation: Relation, outputs: tuple[Variable, ...], rewriter: Any) -> WhyNot:
    """Return where a relation fires in a run of a rewriter, or why it does not."""
    try:
        with recording() as phases:
            after = map_graph(outputs, rewriter)
    except (BudgetError, OscillationError) as error:
        reason = Reason(kinds.BUDGET, f"rewriting ends with an error: {error.what}", error.fix)
        return WhyNot(relation, (), (of_graph(outputs, reason),))
    steps = [x for phase in phases for x in phase.steps if relation.label in x.relations]
    if steps:
        return WhyNot(relation, tuple(dict.fromkeys(x.before for x in steps)))
    return WhyNot(relation, (), unfired(relation, outputs, after, phases))


def _alone(relation: Relation, outputs: tuple[Variable, ...]) -> tuple[Place, ...]:
    """Return what keeps a relation from firing by itself; nothing if it would fire."""
    return _answer(relation, outputs, GraphRewriter([relation])).places


_LEFT_OUT = '{} assumes finite values, and nonfinite="keep" leaves out what does'
_KEPT = (
    'Leave nonfinite= out, or declare specials="kept" if it holds for infinities and NaN too: '
    "rg.check tests that."
)


def _relation(x: Any) -> Relation:
    """Return the relation that a caller passes, as an object or by name."""
    if isinstance(x, str):
        database = default_database()
        rows = [] if x in database else [row for row in every_row() if row.name == x]
        x = rows[0].item if rows else database[x]
    item = as_item(x)
    if not isinstance(item, Relation):
        raise ArgumentError(
            f"why_not takes a relation, and {getattr(item, 'name', item)!s:.60} is a rewriter "
            "written in Python",
            {"given": f"{x!r:.60}"},
            "rg.explain shows whether and how it changes a graph.",
        )
    return item


def _running(rewriter: Any) -> list[Relation]:
    """Return the relations that a rewriter applies."""
    return [x for s in getattr(rewriter, "selections", ()) for x in s.relations]


def _unselected(relation: Relation, rewriter: Any) -> Reason:
    """Return the reason where a mode does not select a relation."""
    label = relation.label
    parts = [rewriter, *getattr(rewriter, "items", ())]
    query = next((x.query for x in parts if isinstance(x, Pipeline)), None)
    passed = f"Pass it: {passing(relation)}."
    other = [x for x in _running(rewriter) if x.forward is relation.forward]
    if other:
        what = f"the mode runs it in the other direction, as {other[0].label}"
        return Reason(kinds.DIRECTION, what, passed)
    held = list(_held(relation))
    if not held:
        return Reason(kinds.MODE, f"no phase of rg.optdb runs {label}", passed)
    if query is None:
        return Reason(kinds.MODE, "it is not among the relations of the mode", passed)
    for phase, entry in held:
        inner = query.subquery.get(phase, query)
        own = entry.tags | entry.aliases | {phase}
        blocking = sorted((inner.exclude & (own | entry.excluded_by)) | (query.exclude & {phase}))
        if blocking:
            what = f"the mode excludes {_tags(blocking)} of {label}"
            advice = f"Exclude something narrower, or pass the relation: {passing(relation)}."
            return Reason(kinds.MODE, what, advice)
        lacking = sorted(inner.require - own)
        if lacking:
            what = f"the mode requires {_tags(lacking)}, which {label} lacks"
            return Reason(kinds.MODE, what, passed)
    entry = held[0][1]
    what = f"the mode includes none of its tags: {', '.join(sorted(entry.tags))}"
    return Reason(kinds.MODE, what, f"Include it by name: include=[{entry.name!r}].")


def _tags(names: Sequence[str]) -> str:
    """Return tags as a message names them."""
    return f"the {'tag' if len(names) == 1 else 'tags'} {listed([repr(x) for x in names])}"


def _held(relation: Relation) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a relation in the default database, with the names of their phases."""
    for database in default_database().databases():
        for entry in database.entries():
            if entry.item is relation:
                yield database.name, entry
