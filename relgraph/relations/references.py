"""Data as bytes for the cache, in which some objects are references.

Ops and constants are interned, so they pickle by value.  Objects that mean something because they
are one object, such as the key of any operand, pickle as references.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from relgraph.relations.operand_index import ANY

Reference = tuple[Any, ...]
NONE: Mapping[int, Reference] = {}
_ANY = ("any operand",)


class _Pickler(pickle.Pickler):
    def __init__(self, file: Any, references: Mapping[int, Reference]) -> None:
        super().__init__(file, 5)
        self.references = references

    def persistent_id(self, value: Any) -> Reference | None:
        """Return the reference of a value, or None for one that pickles by value."""
        return _ANY if value is ANY else self.references.get(id(value))


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, resolve: Callable[..., Any] | None) -> None:
        super().__init__(io.BytesIO(data))
        self.resolve = resolve

    def persistent_load(self, reference: Reference) -> Any:
        """Return the value of a reference."""
        if reference == _ANY:
            return ANY
        assert self.resolve is not None
        return self.resolve(*reference)


def dumps(value: Any, references: Mapping[int, Reference] = NONE) -> bytes:
    """Return a value as bytes; ``references`` maps the id of an object to its reference."""
    file = io.BytesIO()
    _Pickler(file, references).dump(value)
    return file.getvalue()


def loads(data: bytes, resolve: Callable[..., Any] | None = None) -> Any:
    """Return the value of bytes; ``resolve`` takes a reference and returns its object."""
    return _Unpickler(data, resolve).load()
