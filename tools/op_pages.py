"""The tables of elementwise ops in docs/ops.md and docs/accuracy.md, made from the rows.

``python -m tools.op_pages`` rewrites them and leaves the rest of the pages alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from relgraph.ops.elementwise import ROWS, Row
from relgraph.ops.elementwise.row import Ulps

NUMPY_HEAD = "| op | float32 | float64 | note |"
EXACT_HEAD = "| function | float32 | float64 | note |"


def accuracy(page: str) -> str:
    """Return the text of docs/accuracy.md with both tables of bounds rewritten."""
    rows = ROWS.values()
    numpy = [_bounds(row.name, row.ulps) for row in rows if row.ulps]
    exact = [_bounds(row.name, row.elementary.ulps) for row in rows if row.elementary]
    return _table(_table(page, NUMPY_HEAD, numpy), EXACT_HEAD, exact)


def _bounds(name: str, ulps: Ulps) -> str:
    return f"| {name} | {ulps.float32} | {ulps.float64} | {ulps.note} |"


def _table(page: str, head: str, lines: list[str]) -> str:
    """Return a page with new rows in the table that has this head."""
    before, _, rest = page.partition(f"\n{head}\n")
    rule, _, rest = rest.partition("\n")
    after = rest[rest.index("\n\n") :]
    return "\n".join([before, head, rule, *lines]) + after


def ops(page: str) -> str:
    """Return the text of docs/ops.md with the line of names of each theme rewritten."""
    for theme in dict.fromkeys(row.theme for row in ROWS.values()):
        names = " ".join(_names(theme))
        line = f"| {theme} | `ops.elementwise` | {names} |"
        page = re.sub(rf"^\| {theme} \|.*$", line, page, flags=re.M)
    return page


def _names(theme: str) -> Iterator[str]:
    for row in ROWS.values():
        if row.theme == theme and row.public:
            yield f"`{row.name}`{_aliases(row)}"


def _aliases(row: Row) -> str:
    return f" ({' '.join([f'`{alias}`' for alias in row.aliases])})" if row.aliases else ""


PAGES = {"accuracy.md": accuracy, "ops.md": ops}


def write(folder: Path) -> list[str]:
    """Rewrite the tables of the pages in a folder, and return the names of changed pages."""
    changed = []
    for name, rewrite in PAGES.items():
        path = folder / name
        old = path.read_text(encoding="utf-8")
        new = rewrite(old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            changed.append(name)
    return changed


if __name__ == "__main__":
    docs = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    print("\n".join(write(docs)) or "no page changed")
