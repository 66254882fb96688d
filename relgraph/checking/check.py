"""``rg.check``: one relation against its labels, or a selection of relations against itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from relgraph.checking import labels, products, stability
from relgraph.checking.advice import advised
from relgraph.checking.cases import both_directions
from relgraph.checking.report import RelationReport, SelectionReport
from relgraph.errors import ArgumentError, RelgraphError, checks_arguments
from relgraph.ir.node import Variable
from relgraph.relations.relation import Relation, as_relation

CHECKS = {
    "values": labels.keeps_values,
    "values of equal sizes": labels.keeps_equal_sizes,
    "values of other dtypes": labels.keeps_every_dtype,
    "special values": labels.keeps_specials,
    "calls with other sizes": labels.runs_wherever,
}
OF_FLOATS = ("values", "values of equal sizes")


@checks_arguments
def check(
    subject: Any,
    *,
    pairs: bool = True,
    most: int | None = None,
    only: Iterable[str] | None = None,
) -> RelationReport | SelectionReport:
    """Check a relation against its labels, or a selection of relations against itself.

    A relation is tried, in every direction that it can run, on graphs made from its sides: of many
    shapes, sizes 0 and 1, broadcast operands, all dtypes, infinities, NaN and zeros of both signs;
    and mpmath judges its rounding.  A counterexample proves that the relation does not hold; to
    find none proves nothing.  The report also tells, as no fault, of products on which the relation
    is false and does not fire, and of inputs for which it loses digits.

    In a selection, relations are looked for that never fire because others are there first, that
    undo each other, whose conditions nothing satisfies, that follow from the others, and pairs that
    rewrite one graph to two different results.

    Parameters
    ----------
    subject : relation, mode, Query, database or list of relations
        A relation or goal constructor; the name of a mode such as ``"o4"``; a query of
        :data:`relgraph.optdb`; a database; a rewriter; or a list of relations.
    pairs : bool
        Of a selection: whether to look for critical pairs that do not join, which takes longest.
    most : int, optional
        Of a selection: how many critical pairs to try in each phase where one relation applies
        below the other, taken from all of them at equal distances.  All are tried where both apply
        at the root, and their order decides.
    only : iterable of str, optional
        Of a selection: names of the relations to look at; the others are present all the same.

    Returns
    -------
    RelationReport or SelectionReport
        True where nothing was found; prints what was.  ``raise_()`` raises it.  Of a relation, it
        is false as well where one of its clauses could not be compared on any graph.

    Raises
    ------
    ArgumentError
        For what is neither, and for arguments that it does not take: one relation is checked
        alone, without any of these.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.identity
    ... def cancel_sqrt_squareo(x):
    ...     '''sqrt(x^2) = x, which is wrong for negative x.'''
    ...     return rg.sqrt(rg.square(x)), x
    >>> report = rg.check(cancel_sqrt_squareo)
    >>> bool(report)
    False
    >>> report.counterexample.values
    {'x': array(-1.)}
    """
    from relgraph.checking.selections import check_selection

    if callable(subject) and not hasattr(subject, "apply") and not isinstance(subject, type):
        given = {"pairs": not pairs, "most": most is not None, "only": only is not None}
        if any(given.values()):
            names = ", ".join(name for name in given if given[name])
            raise ArgumentError(
                f"rg.check of one relation does not take {names}",
                {"relation": subject},
                "Leave it out; rg.check([relation], ...) looks at a selection.",
            )
        return check_relation(as_relation(subject))
    return check_selection(subject, pairs=pairs, most=most, only=only)


def check_relation(relation: Relation) -> RelationReport:
    """Check a relation against its labels; see :func:`check`.

    Parameters
    ----------
    relation : Relation
        Both of its directions are checked, where they run.
    """
    outcomes: dict[str, dict[str, labels.Outcome]] = {}
    refused = refusals(relation)
    left_out: dict[str, list[Variable]] = {}
    unstable: dict[str, stability.Loss] = {}
    for direction in both_directions(relation):
        label = direction.label
        found = outcomes[label] = {}
        for name, run in CHECKS.items():
            found[name] = one = run(direction)
            if one.failure is not None:
                floats = name not in OF_FLOATS and bool(found["values"].tried)
                found[name] = replace(one, failure=advised(one.failure, floats))
                return RelationReport(relation, outcomes, refused)
        left_out[label], failure = products.left_out(direction)
        if failure is not None:
            failure = advised(failure, floats=False)
            found["values of matrices"] = labels.Outcome(failure=failure)
            return RelationReport(relation, outcomes, refused)
        if relation.rounding == "rounded":
            loss = stability.loses_digits(direction)
            if loss is not None:
                unstable[label] = loss
            for dtype in ("float64", "float32"):
                one = labels.keeps_digits(direction, dtype)
                if one.failure is not None:
                    one = replace(one, failure=advised(one.failure, floats=True))
                found[f"exact values in {dtype}"] = one
    return RelationReport(relation, outcomes, refused, left_out, unstable)


def refusals(relation: Relation) -> dict[str, str]:
    """Return why directions of a relation do not run, by label."""
    found = {}
    name = relation.name
    if relation.interpreted:
        return {name: "kanren runs it, node by node: it has no clauses to make graphs from"}
    forward = relation.reversed if relation.backward else relation
    try:
        forward.rewrites  # noqa: B018 - raises where it cannot run
    except RelgraphError as error:
        found[name] = error.what
    try:
        forward.reversed  # noqa: B018 - raises, too
    except RelgraphError as error:
        found[f"{name}.reversed"] = error.what
    return found
