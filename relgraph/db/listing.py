"""The catalogue as a table, searchable by name, op, tag and text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from inspect import cleandoc
from typing import Any, overload

from relgraph.db.catalogue import THEMES, relations_of
from relgraph.db.database import EquilibriumDB, RewriteDatabase
from relgraph.db.default import default_database
from relgraph.db.entries import LoweringChoice
from relgraph.errors import ArgumentError, RelgraphError, checks_arguments
from relgraph.ir.records import record
from relgraph.relations.clause import op_name
from relgraph.relations.pattern import PatternNode, subterms
from relgraph.relations.relation import Relation
from relgraph.rewriting.rewriters import describe
from relgraph.viz.display import Displayed
from relgraph.viz.document import Element, Note, Table

SHOWN = 100  # rows of a display
_WORD = re.compile(r"[^\W_]+")


@record
class CatalogueRow:
    """A relation of the catalogue, or a rewriter or choice of the database.

    Attributes
    ----------
    name : str
        The name by which queries include and exclude it.
    item : Relation, or a rewriter or choice
        The item; a relation is in its registered direction.
    theme : str
        The module of the catalogue, or "pass" or "choice".
    phases : tuple of str
        The phases in which it runs; a relation without one runs only in queries and in the search.
    identity : tuple of str
        The clauses of a relation, as declared; for other items, a description.
    tags : tuple of str
        Its tags, phases included.
    """

    name: str
    item: Any
    theme: str
    phases: tuple[str, ...]
    identity: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def ways(self) -> str:
        """The directions that run: "->", "<-", or "<->" for both."""
        if not isinstance(self.item, Relation):
            return ""
        backward = {r.backward for r in both_directions(self.item)}
        if self.item.interpreted:
            backward.add(self.item.backward)
        return f"{'<' if True in backward else ''}-{'>' if False in backward else ''}"

    @property
    def ops(self) -> frozenset[str]:
        """The names of the ops in its sides."""
        clauses = self.item.clauses if isinstance(self.item, Relation) else ()
        return frozenset(
            op_name(x.op)
            for c in clauses or ()
            for side in (c.left, c.right)
            for x in subterms(side)
            if isinstance(x, PatternNode)
        )

    def rank(self, word: str, whole: bool) -> int | None:
        """Return how well a word fits, 0 best; None if it does not occur, or not as a whole."""
        doc = self.item.__doc__ or ""
        named = (self.name, self.name.removesuffix("o"), self.theme)
        places = ({self.name}, self.ops, self.tags, named, self.ops, self.identity, (doc,))
        for i, texts in enumerate(places):
            for text in map(str.lower, texts):
                parts = _WORD.findall(text) if whole else text
                if word == text if i < 3 else word in parts:
                    return i
        return None


class Catalogue(Displayed, Sequence[CatalogueRow]):
    """Rows of the catalogue; prints as a table.

    Parameters
    ----------
    rows : iterable of CatalogueRow
        The rows, in printing order.
    text : str
        The search text.
    """

    def __init__(self, rows: Sequence[CatalogueRow], text: str = "") -> None:
        self._rows = tuple(rows)
        self._text = text

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations among the rows, each in the direction it is registered in."""
        return tuple(row.item for row in self._rows if isinstance(row.item, Relation))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> CatalogueRow: ...
    @overload
    def __getitem__(self, index: slice) -> Catalogue: ...
    def __getitem__(self, index: int | slice) -> CatalogueRow | Catalogue:
        if isinstance(index, slice):
            return Catalogue(self._rows[index], self._text)
        return self._rows[index]

    def __str__(self) -> str:
        if not self._rows:
            near = get_close_matches(self._text, [row.name for row in every_row()], 3, 0.4)
            hint = f"; near it: {', '.join(near)}" if near else ""
            return f"nothing in the catalogue matches {self._text!r}{hint}"
        table = [(r.name, r.ways, _promise(r), ", ".join(r.phases) or "-") for r in self._rows]
        heads = ("name", "runs", "promises", "phases")
        widths = [max(map(len, column)) for column in zip(heads, *table, strict=True)]
        lines = ["  ".join(x.ljust(w) for x, w in zip(heads, widths, strict=True)).rstrip()]
        for row, cells in zip(self._rows, table, strict=True):
            lines.append("  ".join(x.ljust(w) for x, w in zip(cells, widths, strict=True)).rstrip())
            lines += [f"    {text}" for text in row.identity]
        return "\n".join(lines)

    __repr__ = __str__

    def _document(self) -> list[Element]:
        if not self._rows:
            return [Note(str(self))]
        rows = [
            (r.name, r.ways, "\n".join(r.identity), _promise(r), ", ".join(r.phases) or "-")
            for r in self._rows[:SHOWN]
        ]
        heads = ("name", "runs", "states", "promises", "phases")
        more = len(self._rows) - SHOWN
        rest = [Note(f"... {more} more rows; print(...) shows all of them")] if more > 0 else []
        return [Table(heads, tuple(rows), text=str(self[:SHOWN])), *rest]


def _promise(row: CatalogueRow) -> str:
    item = row.item
    return f"{item.rounding}, {item.specials}" if isinstance(item, Relation) else row.theme


@checks_arguments
def catalogue(text: str = "") -> Catalogue:
    """Return the relations, rewriters and choices that relgraph ships, or those that match a text.

    Parameters
    ----------
    text : str
        Words that must all occur in a relation's name, ops, tags, theme, identity or docstring;
        the tags include other frameworks' names of rewrites.  ``"log"`` does not match
        ``logical_and``: parts of words match only if nothing matches the whole word.  The empty
        text matches everything.

    Returns
    -------
    Catalogue
        A sequence that prints as a table, with the best matches first.

    Raises
    ------
    ArgumentError
        If the text is not a string.

    Examples
    --------
    >>> import relgraph as rg
    >>> rows = rg.catalogue("exp_log_softmaxo")
    >>> print(rows)
    name              runs  promises       phases
    exp_log_softmaxo  <->   rounded, kept  stabilize
        exp(log_softmax(x, axis=axis)) = softmax(x, axis=axis)
    >>> rows[0].item
    <relation exp_log_softmaxo>
    """
    if not isinstance(text, str):
        raise ArgumentError(
            f"the catalogue is searched for a text, not for {text!r}",
            fix='Write rg.catalogue("softmax"), or rg.catalogue() for everything.',
        )
    words = text.lower().split()
    rows = every_row()
    ranked = []
    for row, *ranks in zip(rows, *[_ranks(rows, word) for word in words], strict=True):
        if None not in ranks:
            ranked.append((max([r for r in ranks if r is not None], default=0), row))
    exact = [row for rank, row in ranked if rank == 0] if words else []
    if exact:
        return Catalogue(exact, text)
    return Catalogue([row for _, row in sorted(ranked, key=lambda pair: pair[0])], text)


def _ranks(rows: Sequence[CatalogueRow], word: str) -> list[int | None]:
    """Return how well a word fits each row, as a part of a word only if it fits none as a whole."""
    ranks = [row.rank(word, whole=True) for row in rows]
    if any(r is not None for r in ranks):
        return ranks
    return [row.rank(word, whole=False) for row in rows]


@cache
def every_row() -> tuple[CatalogueRow, ...]:
    """Return a row for each relation of the catalogue and each other item of the database."""
    return (*(row for theme in THEMES for row in rows_of(theme)), *_others())


def rows_of(theme: str) -> Iterator[CatalogueRow]:
    """Yield a row for each relation of a theme, in order."""
    database = default_database()
    phases = [e.name for e in database._ordered() if isinstance(e.item, EquilibriumDB)]
    for relation in relations_of(theme):
        run_in = tuple(p for p in phases if p in relation.tags)
        yield CatalogueRow(
            relation.name, relation, theme, run_in, identities(relation), tuple(relation.tags)
        )


def identities(relation: Relation) -> tuple[str, ...]:
    """Return the clauses of a relation as equations with their conditions."""
    if relation.clauses is None:
        return (cleandoc(relation.__doc__ or "").partition("\n")[0],)
    return tuple(" ".join(str(c).replace("  where ", " where ").split()) for c in relation.clauses)


def _others() -> Iterator[CatalogueRow]:
    """Yield the rewriters and choices of the database that are not relations."""
    rows: dict[str, CatalogueRow] = {}
    for database in default_database().databases():
        for entry in database._ordered():
            item = entry.item
            if isinstance(item, Relation | RewriteDatabase):
                continue
            choice = isinstance(item, LoweringChoice)
            what = item.description if choice else describe(item).partition(": ")[2]
            before = rows.get(entry.name)
            phases = before.phases if before else ()
            rows[entry.name] = CatalogueRow(
                entry.name,
                item,
                "choice" if choice else "pass",
                phases if choice else (*phases, database.name),
                (what,),
                tuple(sorted(entry.tags - {entry.name, database.name})),
            )
    yield from rows.values()


def both_directions(relation: Relation) -> list[Relation]:
    """Return a relation in each direction that can run."""
    forward = relation.reversed if relation.backward else relation
    both = [forward]
    with suppress(RelgraphError):
        both.append(forward.reversed)
    return [r for r in both if runs(r)]


def runs(relation: Relation) -> bool:
    """Return True if a relation is compiled and has a clause that runs in its direction."""
    try:
        return bool(relation.rewrites)
    except RelgraphError:
        return False
