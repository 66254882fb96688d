"""Progress of work that a person waits for: bars on a terminal, and records of a logger.

Neither costs an import where nobody looks: tqdm is imported for a terminal, and records are made
once the program has imported ``logging``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

DELAY = 1.0  # seconds before a bar is shown


def progress(items: Iterable[T], what: str) -> Iterator[T]:
    """Yield items; if that takes more than a second, show a bar on the terminal meanwhile."""
    if not (sys.stderr is not None and sys.stderr.isatty()):
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, what, leave=False, delay=DELAY, dynamic_ncols=True)


def note(message: str, *values: object, level: str = "INFO") -> None:
    """Make a record of the logger "relgraph"; ``message`` has a ``%s`` for each value."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("relgraph").log(getattr(logging, level), message, *values)


__all__ = ["note", "progress"]
