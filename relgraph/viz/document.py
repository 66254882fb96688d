"""Documents: lists of elements, and their text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple

BOLD, DIM, GREEN, RED = "1", "2", "32", "31"


class Heading(NamedTuple):
    """A line that says what follows; ``tone`` is "good" or "bad" for a verdict."""

    text: str
    tone: str = ""


class Code(NamedTuple):
    """Lines that keep their spaces."""

    text: str


class Note(NamedTuple):
    """A remark, less prominent than the rest."""

    text: str


class Formula(NamedTuple):
    """Mathematics.

    ``lines`` holds LaTeX in two columns, as (left, right); a terminal shows ``text`` instead.
    """

    lines: tuple[tuple[str, str], ...]
    text: str

    @property
    def latex(self) -> str:
        """The lines as one formula."""
        if len(self.lines) == 1:
            return " ".join(x for x in self.lines[0] if x)
        rows = r" \\ ".join(f"{left} & {right}" for left, right in self.lines)
        return rf"\begin{{aligned}} {rows} \end{{aligned}}"


class Table(NamedTuple):
    """Rows of cells; the columns with an index in ``numbers`` are aligned to the right.

    A terminal shows ``text`` instead, if there is one.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    text: str = ""


class Facts(NamedTuple):
    """Names with their values."""

    rows: tuple[tuple[str, str], ...]


class Fold(NamedTuple):
    """Elements that HTML shows on a click, also on one on a link; a terminal shows the summary."""

    summary: str
    elements: tuple[Element, ...]
    link: str = ""


class Graphic(NamedTuple):
    """A picture in SVG; a terminal shows ``text`` instead."""

    svg: str
    text: str = ""


Element = Heading | Code | Note | Formula | Table | Facts | Fold | Graphic


def text(elements: Iterable[Element], colour: bool = False) -> str:
    """Return a document as lines of text.

    Parameters
    ----------
    elements : iterable of Element
        The document.
    colour : bool
        Whether to add the escape sequences of a terminal.

    Returns
    -------
    str
        The text.
    """
    lines = [_line(element, colour) for element in elements]
    return "\n".join([x for x in lines if x])


def _line(element: Element, colour: bool) -> str:
    match element:
        case Heading(words, tone):
            paint = {"good": GREEN, "bad": RED}.get(tone, BOLD)
            return _painted(words, paint, colour)
        case Note(words):
            return _painted(words, DIM, colour)
        case Facts(rows):
            return _facts(rows, colour)
        case Table(text=""):
            return _table(element, colour)
        case Fold(summary):
            return _painted(summary, DIM, colour)
    return element.text


def _painted(words: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{words}\x1b[0m" if colour and words else words


def _facts(rows: tuple[tuple[str, str], ...], colour: bool) -> str:
    width = max([len(name) for name, _ in rows], default=0)
    lines: list[str] = []
    for name, value in rows:
        first, *more = value.splitlines() or [""]
        lines.append(f"  {_painted(f'{name:<{width}} :', DIM, colour)} {first}")
        lines.extend(" " * (width + 5) + line for line in more)
    return "\n".join(lines)


def _table(table: Table, colour: bool) -> str:
    rows = [line for row in table.rows for line in _lines_of(row)]
    widths = [max(map(len, column)) for column in zip(table.heads, *rows, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        aligned = [
            x.rjust(w) if i in table.numbers else x.ljust(w)
            for i, (x, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(aligned).rstrip()

    return "\n".join([_painted(line(table.heads), BOLD, colour), *map(line, rows)])


def _lines_of(row: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return a row as one line for each line of its longest cell."""
    return list(zip_longest(*[cell.splitlines() for cell in row], fillvalue=""))
