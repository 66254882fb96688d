"""Icicles: times within times, as rows of nested rectangles, in SVG.

The rectangle of a part stands below that of the whole, and its width is its share of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from relgraph.viz.svg import CHARACTER

WIDTH = 900.0
ROW = 22.0
_GAP = 14.0  # between two wholes
_LEAST = 0.5  # pixels below which a part is left out

STYLE = """
.relgraph-icicle{background:#fff;border-radius:4px}
.relgraph-icicle text{font:12px ui-monospace,"DejaVu Sans Mono",Consolas,monospace;fill:#1f2328}
.relgraph-icicle rect{stroke:#fff}
.relgraph-icicle .row0 rect{fill:#c9d8ee}.relgraph-icicle .row1 rect{fill:#d8e4f4}
.relgraph-icicle .row2 rect{fill:#e6eefa}.relgraph-icicle .row3 rect{fill:#f1e9d2}
"""


class Part(NamedTuple):
    """A time with its parts; ``detail`` shows on hover, after the name."""

    name: str
    seconds: float
    detail: str = ""
    parts: tuple[Part, ...] = ()


def icicle(wholes: Sequence[Part]) -> str:
    """Return times as one SVG image, each whole as wide as the image.

    Parameters
    ----------
    wholes : sequence of Part
        From top to bottom.

    Returns
    -------
    str
        An ``svg`` element.
    """
    boxes: list[str] = []
    top = 0.0
    for whole in wholes:
        deepest = top
        waiting = [(whole, 0.0, WIDTH, 0)]
        while waiting:
            part, left, width, depth = waiting.pop()
            y = top + depth * ROW
            deepest = max(deepest, y + ROW)
            boxes.append(_box(part, left, y, width, depth))
            inner = sum([x.seconds for x in part.parts])
            scale = width / max(inner, part.seconds) if inner else 0.0
            for x in part.parts:
                if x.seconds * scale >= _LEAST:
                    waiting.append((x, left, x.seconds * scale, depth + 1))
                left += x.seconds * scale
        top = deepest + _GAP
    height = max(top - _GAP, ROW)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="relgraph-icicle" role="img" '
        f'width="{WIDTH:.0f}" height="{height:.0f}" viewBox="0 0 {WIDTH:.0f} {height:.0f}">'
        f"<style>{STYLE}</style>{''.join(boxes)}</svg>"
    )


def _box(part: Part, left: float, top: float, width: float, depth: int) -> str:
    room = int((width - 8) / CHARACTER)
    label = part.name if len(part.name) <= room else part.name[: max(room - 1, 0)] + "…"
    text = f'<text x="{left + 4:.1f}" y="{top + 15:.1f}">{escape(label)}</text>' if room > 2 else ""
    title = escape(f"{part.name}: {part.detail}" if part.detail else part.name)
    return (
        f'<g class="row{min(depth, 3)}"><title>{title}</title><rect x="{left:.1f}" y="{top:.1f}" '
        f'width="{width:.1f}" height="{ROW - 1:.1f}"/>{text}</g>'
    )


__all__ = ["Part", "icicle"]
