"""Pictures of graphs, compiled functions and derivations."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike, fspath
from typing import Any

from relgraph.api.function import Function
from relgraph.api.profile_report import Profile
from relgraph.errors import ArgumentError, count_of, kind_of
from relgraph.ir.diagram import NODES, Frame, diagram, regions
from relgraph.ir.dispatch import traceable
from relgraph.ir.graph import outputs_of, toposort
from relgraph.ir.node import Variable
from relgraph.rewriting.derivation.derivation import Derivation
from relgraph.rewriting.derivation.diagram import beside
from relgraph.viz.display import Displayed
from relgraph.viz.document import Element, Fold, Graphic
from relgraph.viz.html import page
from relgraph.viz.icicle import icicle
from relgraph.viz.svg import Diagram, svg


class Drawing(Displayed):
    """A picture, which notebooks show; ``save`` writes it to a file.

    Parameters
    ----------
    picture : str
        The picture, in SVG.
    what : str
        What it shows, in a few words.
    inside : sequence of (str, Diagram)
        The diagrams of regions, which open on a click, with the names that links have.

    Attributes
    ----------
    svg : str
        The picture; the regions are only in HTML.
    """

    def __init__(self, picture: str, what: str, inside: Sequence[tuple[str, Diagram]] = ()) -> None:
        self.svg = picture
        self._what = what
        self._inside = tuple(inside)

    def __repr__(self) -> str:
        return f"<drawing of {self._what}>"

    def _document(self) -> list[Element]:
        folds = [Fold(x.caption, (Graphic(svg([x])),), link) for link, x in self._inside]
        return [Graphic(self.svg, repr(self)), *folds]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {**super()._repr_mimebundle_(include, exclude), "image/svg+xml": self.svg}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture to a file.

        Parameters
        ----------
        path : str or Path
            A name that ends in ``.svg`` or ``.html``.  For ``.png`` and ``.pdf``, the package
            CairoSVG or the program rsvg-convert must be installed.

        Raises
        ------
        ArgumentError
            For another ending, or if no converter is installed.

        Examples
        --------
        >>> import relgraph as rg
        >>> rg.draw(rg.exp(rg.vector("x"))).save("graph.svg")
        """
        ending = fspath(path).rpartition(".")[2].lower() if isinstance(path, str | PathLike) else ""
        if ending in ("svg", "html"):
            text = self.svg if ending == "svg" else page("graph", self._document())
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        elif ending in _CONVERTED:
            data = _converter(ending)(self.svg.encode())
            with open(path, "wb") as binary:
                binary.write(data)
        else:
            raise ArgumentError(
                f"a drawing is saved to the path of a .svg, .html, .png or .pdf file, not {path!r}",
                fix='Write rg.draw(graph).save("graph.svg").',
            )


_CONVERTED = ("png", "pdf")


def _converter(ending: str) -> Callable[[bytes], bytes]:
    """Return a function from SVG to a format, or raise ArgumentError if there is none here."""
    try:
        cairosvg: Any = import_module("cairosvg")
    except (ImportError, OSError):  # OSError: the library cairo is missing
        program = shutil.which("rsvg-convert")
        if program is None:
            raise ArgumentError(
                f"nothing that is installed converts SVG to {ending.upper()}",
                {"looked for": "the package cairosvg, the program rsvg-convert"},
                "Run `pip install cairosvg`, install librsvg, or save to a .svg or .html file.",
            ) from None
        command = [program, "--format", ending]
        return lambda data: (
            subprocess.run(command, input=data, capture_output=True, check=True).stdout
        )
    convert = cairosvg.svg2png if ending == "png" else cairosvg.svg2pdf
    return lambda data: convert(bytestring=data)


@traceable
def draw(what: Any, path: str | PathLike[str] | None = None) -> Drawing:
    """Draw a graph, a compiled function, or the graphs before and after a derivation.

    Each box shows what a node computes, its dtype and its shape; its op, facts and expression show
    on hover.  Scalar constants stand in the boxes of the nodes that use them.  A compiled function
    has a frame for each kernel and call, with the names of the arrays that it writes.  For a
    derivation, the nodes that it removed are red, and the new ones green.

    Parameters
    ----------
    what : Variable, iterable of Variable, FunctionGraph, Function, Derivation or Profile
        What to draw; of a profile, the times within times, as rows of nested rectangles.  More
        than 600 nodes are drawn as regions, or as kernels; in HTML, each opens on a click.
    path : str or Path, optional
        Where to save the drawing, too; see :meth:`Drawing.save`.

    Returns
    -------
    Drawing
        Notebooks show it; ``svg`` is its text.

    Raises
    ------
    ArgumentError
        For an object that has no picture, or a path that :meth:`Drawing.save` rejects.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x", shape=(3,))
    >>> rg.draw(rg.exp(x) + x)
    <drawing of 3 nodes>
    """
    drawing = _drawing(what)
    if path is not None:
        drawing.save(path)
    return drawing


def _drawing(what: Any) -> Drawing:
    if isinstance(what, Derivation):
        return _of_diagrams(*beside(what.before, what.after))
    if isinstance(what, Profile):
        wholes = what.pictured()
        if not wholes:
            raise ArgumentError("the profile has no times to draw", fix="Profile with rg.profile.")
        return Drawing(icicle(wholes), "a profile")
    if isinstance(what, Function):
        return _of_function(what)
    try:
        outputs = outputs_of(what)
    except TypeError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(
            f"{kind_of(what)} has no picture",
            fix="Draw a graph, a function that rg.function returned, or what rg.explain returned.",
        ) from None
    return _of_graph(outputs)


def _of_diagrams(
    diagrams: Sequence[Diagram], inside: Sequence[tuple[str, Diagram]] = ()
) -> Drawing:
    nodes = count_of(sum(len(x.nodes) for x in diagrams), "node")
    regions = f", {count_of(len(inside), 'region')}" if inside else ""
    return Drawing(svg(diagrams), nodes + regions, inside)


def _of_graph(outputs: Sequence[Variable], frames: Sequence[Frame] = (), **notes: Any) -> Drawing:
    if len(toposort(outputs)) <= NODES:
        return _of_diagrams([diagram(outputs, frames, **notes)])
    parts = regions(outputs, frames)
    return _of_diagrams([parts.overview], parts.regions)


def _of_function(function: Function) -> Drawing:
    """Draw the graph that a function computes, with a frame for each kernel and call."""
    scheduled = function._program.scheduled()
    if scheduled is None:
        return _of_graph(function.graph.outputs)
    graph, steps = scheduled
    frames = [Frame(step.label, step.nodes) for step in steps]
    notes = {x: f"array {name}" for step in steps for x, name in step.buffers.items()}
    return _of_graph(graph.outputs, frames, notes=notes)
