"""How objects display themselves: in notebooks, in IPython and, as plain text, anywhere else."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relgraph.viz.document import Element


class Displayed:
    """An object that describes itself as a document, and displays itself with it.

    A class defines :meth:`_document` where its text is not enough, and :meth:`_latex` where it is
    mathematics.
    """

    __slots__ = ()

    def _document(self) -> list[Element]:
        """Return the document that describes the object, by default its text."""
        from relgraph.viz.document import Code

        return [Code(str(self))]

    def _latex(self) -> str:
        """Return the object as LaTeX without dollar signs; "" if it is not mathematics."""
        return ""

    def _repr_html_(self) -> str:
        """Return the document as HTML, for tools that read only this form."""
        from relgraph.viz.html import fragment

        return fragment(self._document())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the forms that Jupyter chooses from; the text is coloured on a terminal only."""
        from relgraph.viz.document import text

        bundle = {
            "text/plain": text(self._document(), colour=has_colour()),
            "text/html": self._repr_html_(),
        }
        latex = self._latex()
        if latex:
            bundle["text/latex"] = f"$\\displaystyle {latex}$"
        return bundle


class Text(Displayed, str):
    """A text that a console or notebook shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def has_colour() -> bool:
    """Return True if what is printed goes to a terminal that shows colours."""
    out = sys.stdout
    return (
        not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
        and bool(getattr(out, "isatty", bool)())
    )
