"""Functions defined by generated text, whose lines tracebacks and debuggers can show."""

from __future__ import annotations

import hashlib
from typing import Any


class _Text:
    """A loader (PEP 302) of one text, which lives as long as what the text defines.

    ``linecache`` asks for the text where a traceback is printed, and only then keeps it.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        """Return the text; there is one, whatever the name."""
        return self.text


def define(name: str, text: str, namespace: dict[str, Any]) -> None:
    """Run the text of definitions in a namespace, which then holds what they define.

    Parameters
    ----------
    name : str
        What tracebacks call it, with a digest of the text, so that another text is another file.
    text : str
        Python statements.
    namespace : dict
        What the names in the text mean.  ``__name__`` and ``__loader__`` are added.
    """
    filename = f"relgraph/generated/{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    namespace["__name__"] = f"relgraph.generated.{name}"
    namespace["__loader__"] = _Text(text)
    exec(compile(text, filename, "exec"), namespace)
