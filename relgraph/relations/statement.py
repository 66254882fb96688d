"""The statement of a relation as a display: its equations, conditions, labels and place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relgraph.ir.latex import LATEX, text_latex
from relgraph.relations.pattern import infix
from relgraph.viz.document import Code, Element, Facts, Formula, Heading

if TYPE_CHECKING:
    from relgraph.relations.clause import Clause
    from relgraph.relations.relation import Relation

CLAUSES = 12  # of a display


def described(relation: Relation) -> list[Element]:
    """Return the display of a relation.

    Parameters
    ----------
    relation : Relation
        The relation, in either direction.

    Returns
    -------
    list of Element
        Its name, what it states, and what it claims.
    """
    elements: list[Element] = [Heading(relation.label)]
    clauses = relation.clauses
    if clauses is None:
        elements.append(Code("a goal that kanren runs"))
    else:
        lines = str(relation).splitlines()[:CLAUSES]
        stated = "\n".join(f"  {x.removeprefix(relation.label + ': ')}" for x in lines)
        elements.append(Formula(formula(relation), stated))
    rows = [("values", _LABELS[relation.rounding]), ("infinities, NaN", _LABELS[relation.specials])]
    if relation.tags:
        rows.append(("tags", ", ".join(relation.tags)))
    if relation.location:
        rows.append(("declared", relation.location))
    return [*elements, Facts(tuple(rows))]


_LABELS = {
    "exact": "equal bit for bit",
    "rounded": "equal up to rounding",
    "kept": "kept",
    "assumes_finite": "not kept: finite values are assumed",
}


def formula(relation: Relation) -> tuple[tuple[str, str], ...]:
    """Return the clauses of a relation as lines of LaTeX, in its direction."""
    lines: list[tuple[str, str]] = []
    for clause in (relation.clauses or ())[:CLAUSES]:
        sides = (clause.right, clause.left) if relation.backward else (clause.left, clause.right)
        left, right = [side_latex(x) for x in sides]
        lines.append((f"{left} =", right + conditions_latex(clause)))
    return tuple(lines)


def latex(relation: Relation) -> str:
    """Return the clauses of a relation as one formula."""
    return Formula(formula(relation), "").latex


def side_latex(side: Any) -> str:
    """Return one side of a clause as LaTeX."""
    return infix(side, LATEX)[0]


def conditions_latex(clause: Clause) -> str:
    """Return the conditions of a clause as LaTeX; "" if it has none."""
    if not clause.conditions:
        return ""
    words = ", ".join(map(repr, clause.conditions))
    return rf" \quad {text_latex(f'where {words}')}"
