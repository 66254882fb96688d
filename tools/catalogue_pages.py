"""The pages of the catalogue, one for each theme, generated from the relations.

``python -m tools.catalogue_pages`` writes them to ``docs/catalogue/``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from relgraph.checking.generators.cases import rewrite_of
from relgraph.checking.selections.static_checks import refusal
from relgraph.db.catalogue import THEMES
from relgraph.db.listing import CatalogueRow, every_row, identities, rows_of, runs
from relgraph.relations.clause import Clause
from relgraph.relations.relation import Relation
from relgraph.relations.statement import CLAUSES, conditions_latex, side_latex

WRITTEN = "Written by `python -m tools.catalogue_pages` from the relations; edit them, not this."
LINE = 62  # characters in the text of an equation whose formula fits into a line of a page


def pages() -> dict[str, str]:
    """Return the text of every page, by file name."""
    texts = {f"{theme}.md": _page(theme) for theme in THEMES} | {"index.md": _index()}
    return {name: "\n".join(lines) + "\n" for name, lines in texts.items()}


def _title(theme: str) -> str:
    return theme.replace("_", " ").capitalize()


def _summary(theme: str) -> str:
    module = import_module(f"relgraph.relations.catalogue.{theme}")
    return " ".join(cleandoc(module.__doc__ or "").split("\n\n")[0].split())


def _page(theme: str) -> Iterator[str]:
    rows = list(rows_of(theme))
    yield from (f"# {_title(theme)}", "", _summary(theme), "", WRITTEN, "")
    yield from ("| relation | runs | promises | phases |", "|---|---|---|---|")
    for row in rows:
        promises = f"{row.item.rounding}, {row.item.specials}"
        phases = ", ".join(row.phases) or "on request"
        yield f"| [{row.name}](#{row.name}) | `{row.ways}` | {promises} | {phases} |"
    for row in rows:
        yield from _entry(row)


def _entry(row: CatalogueRow) -> Iterator[str]:
    relation: Relation = row.item
    first, holds, source = sections(relation)
    formula, texts = _formula(relation), identities(relation)
    yield from ("", f"## {row.name}", "", _escaped(first), "")
    yield from ("```math", r"\begin{aligned}", formula, r"\end{aligned}", "```", "")
    if len(texts) > CLAUSES:
        yield from (f"The formula shows {CLAUSES} of {len(texts)} equations. All, as text:", "")
    if len(texts) > CLAUSES or _says_more(texts, formula):
        yield from ("```text", *texts, "```", "")
    yield f"- {_escaped(holds)}"
    yield from (f"- {line}" for line in _runs(row))
    other = sorted(set(row.tags) - set(row.phases))
    if other:
        yield f"- Tags: {', '.join(f'`{tag}`' for tag in other)}."
    if source:
        yield f"- Source: {_escaped(source)}"


def _formula(relation: Relation) -> str:
    """Return the equations of a relation as LaTeX, as declared."""
    texts = identities(relation)[:CLAUSES]
    pairs = list(zip(relation.clauses or (), texts, strict=False))
    if all(len(text) <= LINE for text in texts):
        rows = [f"{_sides(clause, ' & = ')}{conditions_latex(clause)}" for clause, _ in pairs]
    else:
        rows = [f"& {row}" for clause, text in pairs for row in _broken(clause, text)]
    # GitHub shows no formula with \operatorname.
    return " \\\\\n".join(rows).replace(r"\operatorname", r"\mathrm")


def _sides(clause: Clause, between: str) -> str:
    return f"{side_latex(clause.left)}{between}{side_latex(clause.right)}"


def _broken(clause: Clause, text: str) -> Iterator[str]:
    """Yield an equation that is too long for one line as several."""
    fits = len(text.partition(" where ")[0]) <= LINE
    yield from _sides(clause, " = " if fits else "\n\\quad = ").split("\n")
    if clause.conditions:
        yield conditions_latex(clause).strip()


def _says_more(texts: tuple[str, ...], formula: str) -> bool:
    """Return True if texts have parameters, or names of ops that the formula shows as signs."""
    names = re.findall(r"\w+(?=\()", " ".join(text.partition(" where ")[0] for text in texts))
    shown = formula.replace("\\", "")
    return "_{text" in shown or any(f"mathrm{{{name}}}" not in shown for name in names)


def sections(relation: Relation) -> tuple[str, str, str]:
    """Return a docstring's first line, its part on where the relation holds, and its source."""
    first, _, rest = cleandoc(relation.__doc__ or "").partition("\n")
    holds, _, source = rest.partition("Source:")
    return first, " ".join(holds.split()), " ".join(source.split())


def _runs(row: CatalogueRow) -> Iterator[str]:
    relation = row.item
    way = "backward" if relation.backward else "forward"
    other = "forward" if relation.backward else "backward"
    if row.phases:
        yield f"Runs {way} in {' and '.join(row.phases)}."
    else:
        yield f"Runs {way} on request."
    if relation.interpreted:
        yield "miniKanren runs it, node by node."
        return
    left_out = [c for c in relation.clauses or () if rewrite_of(relation, c) is None]
    for clause in left_out:
        yield f"Not {way}: `{clause}`, because {refusal(relation, clause, relation.backward)}."
    why = {refusal(relation, c, not relation.backward) for c in relation.clauses or ()}
    if why == {None} and runs(relation.reversed):
        yield f"Also runs {other}, on request."
    elif None in why:
        yield f"Some clauses also run {other}, on request."
    else:
        reasons = "; ".join(sorted(x for x in why if x is not None))
        yield f"Does not run {other}: {_escaped(reasons)}."


def _escaped(text: str) -> str:
    """Keep Markdown from reading formulas as emphasis, quotes or links."""
    for mark in "\\*_|<>[]`":
        text = text.replace(mark, f"\\{mark}")
    return text


def independent() -> list[str]:
    """Return the names of relations in the phases that do not follow from the others there.

    ``rg.check`` of a mode shows that these are all.
    """
    rows = [row for row in every_row() if isinstance(row.item, Relation)]
    return sorted({row.name for row in rows if row.phases and "derived" not in row.tags})


def _index() -> Iterator[str]:
    yield from ("# Catalogue", "")
    yield 'The identities that relgraph ships, by theme. `rg.catalogue("softmax")` searches them.'
    yield from ("", WRITTEN, "")
    yield from (
        "| theme | what it holds | relations | both ways | in a phase |",
        "|---|---|---|---|---|",
    )
    totals = [0, 0, 0]
    for theme in THEMES:
        rows = list(rows_of(theme))
        both = sum(row.ways == "<->" for row in rows)
        counts = [len(rows), both, sum(bool(row.phases) for row in rows)]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        shown = " | ".join(map(str, counts))
        yield f"| [{theme}]({theme}.md) | {_escaped(_summary(theme))} | {shown} |"
    yield f"| all | | {' | '.join(map(str, totals))} |"
    derived = [row.name for row in every_row() if "derived" in row.tags]
    yield ""
    yield f"{len(independent())} relations in a phase are independent: `rg.check` shows that none"
    yield "of them follows from the others of its phase."
    if derived:
        yield from ("", f"{len(derived)} follow from others and stay for a reason:")
        yield from ("", *(f"- `{name}`" for name in derived))
    yield from ("", "## Rewriters and choices", "")
    yield from (
        "Other rewrites are rewriters written in Python, or choices, in the same database.",
        "",
    )
    yield from ("| name | kind | what it does |", "|---|---|---|")
    for row in every_row():
        if not isinstance(row.item, Relation):
            yield f"| `{row.name}` | {row.theme} | {_escaped(row.identity[0])} |"
    yield from ("", "```{toctree}", ":hidden:", "", *THEMES, "```")


def write(directory: Path) -> list[str]:
    """Write the pages that differ from those in a directory, and return their names."""
    directory.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, text in pages().items():
        path = directory / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(name)
    return changed


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/catalogue")
    print("\n".join(write(target)) or "nothing changed")
