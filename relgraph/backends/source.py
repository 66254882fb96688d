"""Functions defined by generated text, with source lines in tracebacks and debuggers."""

from __future__ import annotations

import hashlib
from typing import Any


class _Text:
    """A loader (PEP 302) for one text, which lives as long as the functions that it defines.

    ``linecache`` asks for the text when a traceback is printed, and stores it only then.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        """Return the text, whatever the name."""
        return self.text


def define(name: str, text: str, namespace: dict[str, Any]) -> None:
    """Execute the definitions in a text in a namespace.

    Tracebacks show ``name`` with a digest of the text, so that each text has its own file name.
    ``__name__`` and ``__loader__`` are added to the namespace.
    """
    filename = f"relgraph/generated/{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    namespace["__name__"] = f"relgraph.generated.{name}"
    namespace["__loader__"] = _Text(text)
    exec(compile(text, filename, "exec"), namespace)
