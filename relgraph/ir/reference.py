"""Objects that pickle by reference, by the module and name that hold them, or not at all."""

from __future__ import annotations

import sys
from typing import Any

from relgraph.errors import ArgumentError


def global_name(value: Any, module: str | None, qualname: str | None) -> str | None:
    """Return the name under which a module holds an object, as :mod:`pickle` looks it up, or None.

    The declared name comes first, then the other globals of the module.
    """
    holder: Any = sys.modules.get(module or "")
    if holder is None:
        return None
    attribute = holder
    for part in (qualname or "").split("."):
        attribute = getattr(attribute, part, None)
    if attribute is value:
        return qualname
    return next((name for name, x in list(vars(holder).items()) if x is value), None)


class ByReference:
    """An immutable object: its copy is itself, and it pickles by its global name."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        name = global_name(self, self.__module__, getattr(self, "__qualname__", None))
        if name is None:
            raise ArgumentError(
                f"{self!r} cannot be pickled: no module holds it",
                {"declared": getattr(self, "location", "") or "<unknown>"},
                "Declare it at the top level of a module that can be imported, and keep it there "
                "under a unique name; a query of names and tags can always be pickled.",
            )
        return name

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self


class NotPickled:
    """A database.  Databases do not pickle, but their queries do."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise ArgumentError(
            f"the database {getattr(self, 'name', '')} cannot be pickled",
            fix="Pickle the query, and run it in the other process: optdb.query(query).",
        )
