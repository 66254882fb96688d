"""``rg.check``: one relation against its labels, or a selection of relations against itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from relgraph.checking import promises
from relgraph.checking.advice import advised, fix_of_labels, weaker_labels
from relgraph.checking.branches.coverage import keeps_branches, stays_defined
from relgraph.checking.differentials import keeps_derivatives
from relgraph.checking.generators.cases import clauses_of
from relgraph.checking.generators.instances import input_names
from relgraph.checking.outcome import Outcome
from relgraph.checking.report import RelationReport
from relgraph.checking.rounding.stability import loses_digits
from relgraph.checking.selections.findings import SelectionReport
from relgraph.checking.selections.static_checks import check_selection
from relgraph.checking.sizes import runs_wherever
from relgraph.checking.skipped_products import keeps_products
from relgraph.db.listing import both_directions
from relgraph.errors import ArgumentError, RelgraphError, checks_arguments
from relgraph.relations.decorators import as_relation
from relgraph.relations.relation import Relation
from relgraph.viz.progress import note, progress

# Other dtypes come last, because advice to keep to floats needs all results for floats.
CHECKS: dict[str, Callable[[Relation], Outcome]] = {
    "values": promises.keeps_values,
    "values of equal sizes": promises.keeps_equal_sizes,
    "special values": promises.keeps_specials,
    "values on branches": keeps_branches,
    "where it is defined": stays_defined,
    "exact values in float64": promises.keeps_digits,
    "exact values in float32": partial(promises.keeps_digits, dtype="float32"),
    "values of other dtypes": promises.keeps_every_dtype,
    "calls with other sizes": runs_wherever,
    "values of matrices": keeps_products,
    "graphs of arrays": promises.fires_on_arrays,
    "digits": loses_digits,
}


@checks_arguments
def check(
    subject: Any,
    *,
    pairs: bool = True,
    most: int | None = None,
    only: Iterable[str] | None = None,
    samples: Mapping[str, Sequence[float]] | None = None,
) -> RelationReport | SelectionReport:
    """Check a relation against its labels, or a selection of relations against itself.

    The check evaluates graphs made from the relation's sides, in every direction that can run: with
    many shapes, sizes 0 and 1, broadcast operands, all dtypes, infinities, NaN and zeros of both
    signs. mpmath judges the rounding.  A counterexample proves that the relation does not hold;
    finding none proves nothing.  If an op branches on values, such as ``where`` or ``clip``, the
    check searches for values that take each branch; if none takes some branch, the relation is
    undecided.  The report also lists matrix products on which the relation is false and does not
    fire, and inputs for which it loses digits; these are not failures.  It lists values for which
    the reverse of a relation with ``specials="assumes_finite"`` turns a number into NaN, too: these
    are failures only if you check ``relation.reversed``, or if a mode runs that direction.

    For a selection, the report lists relations that never fire because others fire first, that undo
    each other, that follow from the others, or whose conditions nothing satisfies, and pairs that
    rewrite one graph to two different results.

    Parameters
    ----------
    subject : relation, mode, Query, database or list of relations
        A relation or goal constructor; the name of a mode such as ``"o4"``; a query of
        :data:`relgraph.optdb`; a database; a rewriter; or a list of relations.
    pairs : bool
        For a selection: whether to look for critical pairs that do not join, which takes longest.
    most : int, optional
        For a selection: the number of critical pairs to try per phase if one relation applies below
        the other, sampled at equal distances.  If both apply at the root, where their order
        decides, all pairs are tried.
    only : iterable of str, optional
        For a selection: names of the relations to report on; the others are still part of it.
    samples : mapping of str to sequence of float, optional
        For a relation: numbers to try for its variables, by name, in addition to those of the
        search.

    Returns
    -------
    RelationReport or SelectionReport
        True if the check has no findings; prints them, and ``raise_()`` raises them.  The report of
        a relation is also false if one of its clauses could not be compared on any graph, fires on
        scalars only, or has a branch that no sample takes.

    Raises
    ------
    ArgumentError
        For other objects, and for arguments that do not apply: ``pairs``, ``most`` and ``only`` are
        for selections, ``samples`` for one relation.

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
    if callable(subject) and not hasattr(subject, "apply") and not isinstance(subject, type):
        passed = {"pairs": not pairs, "most": most is not None, "only": only is not None}
        if any(passed.values()):
            names = ", ".join(name for name in passed if passed[name])
            raise ArgumentError(
                f"rg.check of one relation does not take {names}",
                {"relation": subject},
                "Leave it out; rg.check([relation], ...) looks at a selection.",
            )
        relation = as_relation(subject)
        operands = [name for c in clauses_of(relation) for name in input_names(c)]
        unknown = [name for name in samples or () if name not in operands]
        if unknown:
            raise ArgumentError(
                f"rg.check: {relation.name} has no operand {unknown[0]!r} to take samples",
                {"operands": ", ".join(dict.fromkeys(operands))},
                "Give numbers for one of these.",
            )
        report = check_relation(relation, samples)
        note("checked %s: %s", relation.name, str(report).partition("\n")[0])
        return report
    if samples is not None:
        raise ArgumentError(
            "rg.check of a selection does not take samples",
            {"selection": subject},
            "Check the relation alone: rg.check(relation, samples=...).",
        )
    of_selection = check_selection(subject, pairs=pairs, most=most, only=only)
    note("checked a selection: %s", str(of_selection).partition("\n")[0])
    return of_selection


def check_relation(
    relation: Relation, samples: Mapping[str, Sequence[float]] | None = None
) -> RelationReport:
    """Check a relation against its labels, and look for weaker labels if it breaks them."""
    report = _report(relation, samples)
    first = failure = report.counterexample
    while failure is not None:
        assert first is not None
        weaker = weaker_labels(failure)
        if weaker is None:
            direction = (
                relation if failure.relation.backward == relation.backward else relation.reversed
            )
            return report.with_counterexample(replace(failure, relation=direction))
        amended = _report(_relabelled(relation, *weaker), samples)
        failure = amended.counterexample
        if failure is None:
            fix = fix_of_labels(first, weaker)
            if not amended:
                rounding, specials = weaker
                rest = str(amended).partition("\n")[0]
                fix = (
                    f"With rounding={rounding!r}, specials={specials!r} nothing contradicts it, "
                    f"but {rest}."
                )
            return report.with_counterexample(replace(first, fix=fix))
    return report


def _relabelled(relation: Relation, rounding: str, specials: str) -> Relation:
    """Return a relation with the same clauses and other labels, in the same direction."""
    forward = _forward(relation)
    made = Relation(
        forward.name,
        forward.goal,
        clauses=forward.clauses,
        tags=forward.tags,
        rounding=rounding,
        specials=specials,
        broadcast=forward.broadcast,
        doc=forward.doc,
        location=forward.location,
    )
    return made.reversed if relation.backward else made


def _forward(relation: Relation) -> Relation:
    return relation.reversed if relation.backward else relation


def _report(relation: Relation, samples: Mapping[str, Sequence[float]] | None) -> RelationReport:
    """Return the report of all checks, in each direction, up to the first failure."""
    checks: dict[str, Callable[[Relation], Outcome]] = {
        **CHECKS,
        "values on branches": partial(keeps_branches, samples=samples),
    }
    if "differential" in relation.tags:
        checks = {"derivatives": keeps_derivatives}
    outcomes: dict[str, dict[str, Outcome]] = {}
    refused = _refusals(relation)
    directions = [relation] if "differential" in relation.tags else both_directions(relation)
    for direction in directions:
        of_direction = outcomes[direction.label] = dict[str, Outcome]()
        for name in progress(checks, f"checks {direction.label}"):
            outcome = of_direction[name] = checks[name](direction)
            if outcome.undefined is not None and direction.backward == relation.backward:
                outcome = replace(outcome, failure=outcome.undefined, undefined=None)
            if outcome.failure is not None:
                failure = advised(outcome.failure, _covered(of_direction))
                of_direction[name] = replace(outcome, failure=failure)
                return RelationReport(relation, outcomes, refused)
    return RelationReport(relation, outcomes, refused)


def _covered(outcomes: Mapping[str, Outcome]) -> bool:
    """Return True if floats were compared, on every branch."""
    on_branches = outcomes.get("values on branches")
    return on_branches is not None and not on_branches.unreached and outcomes["values"].tried > 0


def _refusals(relation: Relation) -> dict[str, str]:
    """Return the reasons why directions of a relation do not run, by label."""
    name = relation.name
    if relation.interpreted:
        return {name: "kanren runs it, node by node: it has no clauses to make graphs from"}
    forward = _forward(relation)
    reasons = {}
    try:
        forward.rewrites  # noqa: B018 - raises if it cannot run
    except RelgraphError as error:
        reasons[name] = error.what
    try:
        forward.reversed  # noqa: B018 - raises if the reverse cannot run
    except RelgraphError as error:
        reasons[f"{name}.reversed"] = error.what
    return reasons
