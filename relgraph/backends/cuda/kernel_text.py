"""The text of a kernel, line by line."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Text:
    """The text of a kernel, and what a launch needs to know of it.

    Attributes
    ----------
    lines
        Its statements.
    parameters
        The name and the type of each parameter.
    names
        The names that it uses in addition to the primitive table.
    """

    lines: list[str] = field(default_factory=list)
    parameters: list[tuple[str, str]] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    depth: int = 1
    _module: tuple[str, str] | None = None

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def open(self, text: str) -> None:
        """Add a line that opens a block."""
        self.line(text)
        self.depth += 1

    def close(self) -> None:
        """End a block."""
        self.depth -= 1

    def module(self) -> tuple[str, str]:
        """Return the name of the kernel, which is a hash of its text, and its text.

        No lines may be added afterwards.
        """
        if self._module is not None:
            return self._module
        head = f"def NAME({', '.join(name for name, _ in self.parameters)}):"
        body = "\n".join([head, *self.lines, ""])
        digest = hashlib.sha256((body + repr(self.types())).encode()).hexdigest()[:16]
        name = f"rgc_{digest}"
        self._module = name, body.replace("def NAME(", f"def {name}(")
        return self._module

    def types(self) -> list[str]:
        return [kind for _, kind in self.parameters]
