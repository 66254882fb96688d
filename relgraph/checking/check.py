"""``rg.check``: one relation against its labels, or a selection of relations against itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from relgraph.checking import coverage, products, promises, stability
from relgraph.checking import instances as made
from relgraph.checking.advice import advised, fix_of_labels, weaker_labels
from relgraph.checking.cases import both_directions
from relgraph.checking.report import RelationReport, SelectionReport
from relgraph.errors import ArgumentError, RelgraphError, checks_arguments
from relgraph.ir.node import Variable
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation, as_relation

# Other dtypes come last, because advice to keep to floats needs all results for floats.
CHECKS = {
    "values": promises.keeps_values,
    "values of equal sizes": promises.keeps_equal_sizes,
    "special values": promises.keeps_specials,
    "values on branches": coverage.keeps_branches,
    "values of other dtypes": promises.keeps_every_dtype,
    "calls with other sizes": promises.runs_wherever,
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
    fire, and inputs for which it loses digits; these are not failures.

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
        True if nothing was found; prints the findings, and ``raise_()`` raises them.  The report of
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
    from relgraph.checking.selections.static_checks import check_selection

    if callable(subject) and not hasattr(subject, "apply") and not isinstance(subject, type):
        given = {"pairs": not pairs, "most": most is not None, "only": only is not None}
        if any(given.values()):
            names = ", ".join(name for name in given if given[name])
            raise ArgumentError(
                f"rg.check of one relation does not take {names}",
                {"relation": subject},
                "Leave it out; rg.check([relation], ...) looks at a selection.",
            )
        relation = as_relation(subject)
        operands = [name for c in relation.clauses or () for name in made.input_names(c)]
        unknown = [name for name in samples or () if name not in operands]
        if unknown:
            raise ArgumentError(
                f"rg.check: {relation.name} has no operand {unknown[0]!r} to take samples",
                {"operands": ", ".join(dict.fromkeys(operands))},
                "Give numbers for one of these.",
            )
        return check_relation(relation, samples)
    if samples is not None:
        raise ArgumentError(
            "rg.check of a selection does not take samples",
            {"selection": subject},
            "Check the relation alone: rg.check(relation, samples=...).",
        )
    return check_selection(subject, pairs=pairs, most=most, only=only)


def check_relation(
    relation: Relation, samples: Mapping[str, Sequence[float]] | None = None
) -> RelationReport:
    """Check a relation against its labels; see :func:`check`.

    Parameters
    ----------
    relation : Relation
        Both directions are checked if they can run.
    samples : mapping of str to sequence of float, optional
        Numbers to try for its variables.
    """
    report = _judged(relation, samples)
    first = found = report.counterexample
    if first is None:
        return report
    weaker = weaker_labels(first)
    while found is not None and weaker is not None:
        amended = _judged(relabelled(relation, *weaker), samples)
        if amended:  # with these labels it passes
            return report.with_counterexample(replace(first, fix=fix_of_labels(first, weaker)))
        found = amended.counterexample
        if found is not None:
            weaker = weaker_labels(found)
    if found is None:
        assert weaker is not None
        rounding, specials = weaker
        left = str(amended).partition("\n")[0]
        fix = (
            f"With rounding={rounding!r}, specials={specials!r} nothing contradicts it, but {left}."
        )
        return report.with_counterexample(replace(first, fix=fix))
    own = relation if found.relation.backward == relation.backward else relation.reversed
    return report.with_counterexample(replace(found, relation=own))


def relabelled(relation: Relation, rounding: str, specials: str) -> Relation:
    """Return a relation with the same clauses and other labels."""
    forward = relation.reversed if relation.backward else relation
    return Relation(
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


def _judged(relation: Relation, samples: Mapping[str, Sequence[float]] | None) -> RelationReport:
    outcomes: dict[str, dict[str, promises.Outcome]] = {}
    refused = refusals(relation)
    left_out: dict[str, list[Variable]] = {}
    unstable: dict[str, stability.Loss] = {}
    scalars: dict[str, tuple[Clause, ...]] = {}

    def failed(one: promises.Outcome, whole: bool = False) -> RelationReport:
        assert one.failure is not None
        outcomes[label][name] = replace(one, failure=advised(one.failure, whole))
        return RelationReport(relation, outcomes, refused)

    for direction in both_directions(relation):
        label = direction.label
        own = outcomes[label] = {}
        for name, run in CHECKS.items():
            if name == "values of other dtypes" and relation.rounding == "rounded":
                for dtype in ("float64", "float32"):
                    name = f"exact values in {dtype}"
                    own[name] = one = promises.keeps_digits(direction, dtype)
                    if one.failure is not None:
                        return failed(one)
                name = "values of other dtypes"
            one = run(direction, samples) if run is coverage.keeps_branches else run(direction)
            own[name] = one
            if one.failure is not None:
                covered = "values on branches" in own and not own["values on branches"].unreached
                return failed(one, covered and bool(own["values"].tried))
        name = "values of matrices"
        left_out[label], failure = products.left_out(direction)
        if failure is not None:
            return failed(promises.Outcome(failure=failure))
        scalars[label] = promises.on_scalars_only(direction)
        if relation.rounding == "rounded":
            loss = stability.loses_digits(direction)
            if loss is not None:
                unstable[label] = loss
    return RelationReport(relation, outcomes, refused, left_out, unstable, scalars_only=scalars)


def refusals(relation: Relation) -> dict[str, str]:
    """Return the reasons why directions of a relation do not run, by label."""
    found = {}
    name = relation.name
    if relation.interpreted:
        return {name: "kanren runs it, node by node: it has no clauses to make graphs from"}
    forward = relation.reversed if relation.backward else relation
    try:
        forward.rewrites  # noqa: B018 - raises if it cannot run
    except RelgraphError as error:
        found[name] = error.what
    try:
        forward.reversed  # noqa: B018 - raises if the reverse cannot run
    except RelgraphError as error:
        found[f"{name}.reversed"] = error.what
    return found
