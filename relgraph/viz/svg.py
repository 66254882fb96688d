"""Diagrams of nodes, edges and groups as SVG, which nothing else is needed to show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from relgraph.viz.layout import Edge, Layout, Point, layered

CHARACTER = 7.4  # the widest that monospace fonts of 12 pixels are
LINE = 16.0
_PAD = 9.0
_HEAD = 22.0  # above the nodes of a group
_MARGIN = 10.0

STYLE = """
.relgraph-graph{background:#fff;border-radius:4px}
.relgraph-graph text{font:12px ui-monospace,"DejaVu Sans Mono",Consolas,monospace;fill:#1f2328}
.relgraph-graph .detail{font-size:11px;fill:#59636e}
.relgraph-graph .caption{font-weight:600}
.relgraph-graph .label{font-size:11px;fill:#59636e;paint-order:stroke;stroke:#fff;stroke-width:4px}
.relgraph-graph .node rect{fill:#eef3fb;stroke:#6e8fc0}
.relgraph-graph .input rect{fill:#f6f3ea;stroke:#a99a6b}
.relgraph-graph .output rect{stroke-width:2.5px}
.relgraph-graph .matched rect{fill:#ffe5e1;stroke:#c0392b;stroke-width:1.5px}
.relgraph-graph .new rect{fill:#def5e3;stroke:#2b8a4b;stroke-width:1.5px}
.relgraph-graph .region rect{fill:#f3effa;stroke:#8a6fb8;stroke-dasharray:4 2}
.relgraph-graph .group rect{fill:#fbfbfc;stroke:#b8bfc9}
.relgraph-graph .edge{fill:none;stroke:#7a828e;stroke-width:1.1px}
"""


class Node(NamedTuple):
    """A box with lines of text; ``title`` shows on hover, and ``kinds`` are classes of style."""

    lines: tuple[str, ...]
    title: str = ""
    kinds: tuple[str, ...] = ()
    link: str = ""


class Group(NamedTuple):
    """Nodes that stand together in a frame, by their indices."""

    label: str
    nodes: tuple[int, ...]
    title: str = ""


class Diagram(NamedTuple):
    """What to draw: nodes, pairs of their indices, frames, and a caption above."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...] = ()
    caption: str = ""


class _Drawn(NamedTuple):
    """Elements with the size that they take."""

    text: str
    width: float
    height: float


def svg(diagrams: Sequence[Diagram], styled: bool = True) -> str:
    """Return diagrams side by side as one SVG image.

    Parameters
    ----------
    diagrams : sequence of Diagram
        From left to right.
    styled : bool
        Whether it holds its style; a page with many pictures has :data:`STYLE` once.

    Returns
    -------
    str
        An ``svg`` element.
    """
    parts: list[str] = []
    left, height = _MARGIN, 0.0
    for diagram in diagrams:
        drawn = _drawn(diagram)
        parts.append(f'<g transform="translate({left:.1f},{_MARGIN:.1f})">{drawn.text}</g>')
        left += drawn.width + 3 * _MARGIN
        height = max(height, drawn.height)
    width, height = left - 2 * _MARGIN, height + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="relgraph-graph" role="img" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"{f'<style>{STYLE}</style>' if styled else ''}{''.join(parts)}</svg>"
    )


def _drawn(diagram: Diagram) -> _Drawn:
    """Return the elements of a diagram: frames, then edges, boxes and labels above them."""
    placed = _Placed(diagram)
    frames, labels = [], []
    for group, (left, top, width, height) in zip(diagram.groups, placed.frames, strict=True):
        frames.append(
            f'<g class="group">{_title(group.title)}<rect x="{left:.1f}" y="{top:.1f}" '
            f'width="{width:.1f}" height="{height:.1f}" rx="6"/></g>'
        )
        labels.append(
            f'<text class="label" x="{left + _PAD:.1f}" y="{top + 15:.1f}">'
            f"{escape(group.label)}</text>"
        )
    edges = [_edge(placed.path(edge)) for edge in diagram.edges]
    boxes = [_box(node, placed.centres[i], placed.sizes[i]) for i, node in enumerate(diagram.nodes)]
    words = escape(diagram.caption)
    caption = f'<text class="caption" x="0" y="12">{words}</text>' if words else ""
    width = max(placed.width, len(diagram.caption) * CHARACTER)
    return _Drawn("".join([caption, *frames, *edges, *boxes, *labels]), width, placed.height)


class _Placed:
    """A diagram laid out: first inside of each frame, then frames and other boxes together."""

    def __init__(self, diagram: Diagram) -> None:
        self.sizes = [_size(node) for node in diagram.nodes]
        framed = {i for group in diagram.groups for i in group.nodes}
        clusters = [list(group.nodes) for group in diagram.groups]
        clusters += [[i] for i in range(len(diagram.nodes)) if i not in framed]
        self._home = {i: c for c, members in enumerate(clusters) for i in members}
        inside: dict[int, list[Edge]] = {}
        for a, b in diagram.edges:
            if self._home[a] == self._home[b]:
                inside.setdefault(self._home[a], []).append((a, b))
        layouts: list[Layout] = []
        sizes: list[Point] = []
        for c, members in enumerate(clusters):
            layout = self._inner(members, inside.get(c, []))
            width, height = layout.width, layout.height
            if c < len(diagram.groups):
                width = max(width, len(diagram.groups[c].label) * CHARACTER) + 2 * _PAD
                height += _HEAD + _PAD
            layouts.append(layout)
            sizes.append((width, height))
        joined = [(self._home[a], self._home[b]) for a, b in diagram.edges]
        outer = layered(sizes, joined)
        top = _HEAD if diagram.caption else 0.0
        self.width, self.height = outer.width, outer.height + top
        self.centres: dict[int, Point] = {}
        self.frames: list[tuple[float, float, float, float]] = []
        self._bends: dict[Edge, list[Point]] = {}  # by boxes inside of a frame
        self._outer = {
            edge: [(x, y + top) for x, y in bends] for edge, bends in outer.bends.items()
        }
        for c, members in enumerate(clusters):
            layout, (width, height), (x, y) = layouts[c], sizes[c], outer.centres[c]
            left, upper = x - layout.width / 2, y - height / 2 + top
            if c < len(diagram.groups):
                self.frames.append((x - width / 2, upper, width, height))
                upper += _HEAD
            for i, (p, q) in zip(members, layout.centres, strict=True):
                self.centres[i] = (left + p, upper + q)
            for (one, two), bends in layout.bends.items():
                edge = members[one], members[two]
                self._bends[edge] = [(left + p, upper + q) for p, q in bends]

    def _inner(self, members: list[int], edges: list[Edge]) -> Layout:
        """Lay out the boxes of a frame, or a box that stands alone."""
        if len(members) == 1:
            width, height = self.sizes[members[0]]
            return Layout([(width / 2, height / 2)], {}, width, height)
        place = {i: k for k, i in enumerate(members)}
        return layered([self.sizes[i] for i in members], [(place[a], place[b]) for a, b in edges])

    def path(self, edge: Edge) -> list[Point]:
        """Return the points of an edge, from the bottom of a box to the top of another."""
        a, b = edge
        (x, y), (u, v) = self.centres[a], self.centres[b]
        bends = self._bends.get(edge) or self._outer.get((self._home[a], self._home[b]), [])
        return [(x, y + self.sizes[a][1] / 2), *bends, (u, v - self.sizes[b][1] / 2)]


def _size(node: Node) -> Point:
    width = max([len(line) for line in node.lines], default=0) * CHARACTER
    return width + 2 * _PAD, len(node.lines) * LINE + 8


def _title(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def _box(node: Node, centre: Point, size: Point) -> str:
    (x, y), (width, height) = centre, size
    first, detail = y - height / 2 + LINE, ' class="detail"'
    lines = "".join(
        f'<text{detail if k else ""} x="{x:.1f}" y="{first + k * LINE:.1f}" text-anchor="middle">'
        f"{escape(line)}</text>"
        for k, line in enumerate(node.lines)
    )
    rect = (
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="{11 if "input" in node.kinds else 4}"/>'
    )
    box = f'<g class="{" ".join(("node", *node.kinds))}">{_title(node.title)}{rect}{lines}</g>'
    return f'<a href="#{escape(node.link)}">{box}</a>' if node.link else box


def _edge(points: list[Point]) -> str:
    """Return a smooth line through points, with an arrow at its end."""
    x, y = points[0]
    path = [f"M{x:.1f} {y:.1f}"]
    for (x, y), (u, v) in pairwise(points):
        middle = (y + v) / 2
        path.append(f"C{x:.1f} {middle:.1f} {u:.1f} {middle:.1f} {u:.1f} {v:.1f}")
    x, y = points[-1]  # the arrow is part of the path: a marker would be one of another picture
    path.append(f"M{x - 3.5:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}L{x + 3.5:.1f} {y - 6:.1f}")
    return f'<path class="edge" d="{"".join(path)}"/>'
