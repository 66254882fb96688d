"""What pickles by reference, by the module and the name that hold it, and what does not pickle."""

from __future__ import annotations

import sys
from typing import Any

from relgraph.errors import ArgumentError


def global_name(value: Any, module: str | None, qualname: str | None) -> str | None:
    """Return the name by which a module holds an object, or None where it does not.

    Parameters
    ----------
    value : object
        What is looked for.
    module : str or None
        The module that it is declared in.
    qualname : str or None
        The name that it is declared by; other globals of the module are tried after it.

    Returns
    -------
    str or None
        What :mod:`pickle` imports it by.
    """
    holder: Any = sys.modules.get(module or "")
    if holder is None:
        return None
    found = holder
    for part in (qualname or "").split("."):
        found = getattr(found, part, None)
    if found is value:
        return qualname
    return next((name for name, x in list(vars(holder).items()) if x is value), None)


class ByReference:
    """An object that does not change: a copy is the object, and it pickles by its global name."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        found = global_name(self, self.__module__, getattr(self, "__qualname__", None))
        if found is None:
            raise ArgumentError(
                f"{self!r} cannot be pickled: no module holds it",
                {"declared": getattr(self, "location", "") or "<unknown>"},
                "Declare it at the top level of a module that can be imported, and keep it there "
                "under a name of its own; a query of names and tags can always be pickled.",
            )
        return found

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self


class NotPickled:
    """A database, which is asked by queries: these are data, and pickle."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise ArgumentError(
            f"the database {getattr(self, 'name', '')} cannot be pickled",
            fix="Pickle the query, and ask the database of the other process: optdb.query(query).",
        )
