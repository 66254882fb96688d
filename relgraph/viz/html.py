"""Documents as HTML: a fragment for a notebook, or a page that needs no network."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from relgraph.viz.document import Code, Element, Facts, Fold, Formula, Graphic, Heading, Note, Table
from relgraph.viz.mathml import mathml

# Scoped by the class, so that it changes nothing else in a notebook.
STYLE = """
.relgraph{font:14px/1.45 system-ui,sans-serif;max-width:100%;overflow-x:auto}
.relgraph pre{font:13px/1.4 ui-monospace,monospace;margin:.3em 0;white-space:pre;background:none}
.relgraph h4{font-size:1em;margin:.7em 0 .2em}
.relgraph h4.good{color:#1a7f37}.relgraph h4.bad{color:#cf222e}
.relgraph p{margin:.3em 0;opacity:.75}
.relgraph table{border-collapse:collapse;margin:.3em 0}
.relgraph th,.relgraph td{padding:.15em .8em .15em 0;text-align:left;vertical-align:baseline;
border:0;background:none}
.relgraph th{font-weight:600;border-bottom:1px solid}
.relgraph .number{text-align:right}
.relgraph .name{opacity:.75;white-space:nowrap}
.relgraph td{white-space:pre-wrap}
.relgraph math{font-size:1.1em;margin:.25em 0}
.relgraph summary{cursor:pointer;opacity:.75}
.relgraph svg{display:block;max-width:none}
"""


def fragment(elements: Iterable[Element]) -> str:
    """Return a document as HTML for a notebook.

    Parameters
    ----------
    elements : iterable of Element
        The document.

    Returns
    -------
    str
        One ``div`` that includes its style.
    """
    return f'<div class="relgraph"><style>{STYLE}</style>{body(elements)}</div>'


def page(title: str, elements: Iterable[Element]) -> str:
    """Return a document as a complete HTML page, which fetches nothing.

    Parameters
    ----------
    title : str
        The title of the window.
    elements : iterable of Element
        The document.

    Returns
    -------
    str
        The page.
    """
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        f"</title></head>\n<body>{fragment(elements)}</body></html>\n"
    )


def body(elements: Iterable[Element]) -> str:
    """Return the elements of a document without their style."""
    return "".join(map(_element, elements))


def _element(element: Element) -> str:
    match element:
        case Heading(words, tone):
            return f'<h4 class="{tone}">{escape(words)}</h4>' if tone else _tag("h4", words)
        case Code(words):
            return _tag("pre", words)
        case Note(words):
            return _tag("p", words)
        case Formula(lines, _):
            return formula(lines)
        case Table(heads, rows, numbers, _):
            return _table(heads, rows, numbers)
        case Facts(rows):
            cells = "".join(
                f'<tr><td class="name">{escape(name)}</td><td>{escape(value)}</td></tr>'
                for name, value in rows
            )
            return f"<table>{cells}</table>"
        case Fold(summary, elements, link):
            # Browsers open what encloses the target of a link.
            inside = f'<div id="{escape(link)}">{body(elements)}</div>' if link else body(elements)
            return f"<details><summary>{escape(summary)}</summary>{inside}</details>"
        case Graphic(svg, _):
            return svg


def formula(lines: Iterable[tuple[str, str]]) -> str:
    """Return lines of LaTeX, each in two columns, as one element of MathML."""
    rows = "".join(
        '<mtr><mtd style="text-align:right;padding-right:.3em">'
        f'{mathml(left)}</mtd><mtd style="text-align:left">{mathml(right)}</mtd></mtr>'
        for left, right in lines
    )
    table = f'<mtable displaystyle="true" columnalign="right left">{rows}</mtable>'
    return f'<div><math displaystyle="true">{table}</math></div>'


def _table(
    heads: tuple[str, ...], rows: tuple[tuple[str, ...], ...], numbers: frozenset[int]
) -> str:
    def line(cells: tuple[str, ...], name: str) -> str:
        right = ' class="number"'
        columns = [
            f"<{name}{right if i in numbers else ''}>{escape(x)}</{name}>"
            for i, x in enumerate(cells)
        ]
        return f"<tr>{''.join(columns)}</tr>"

    lines = [line(heads, "th"), *(line(row, "td") for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _tag(name: str, words: str) -> str:
    return f"<{name}>{escape(words)}</{name}>"
