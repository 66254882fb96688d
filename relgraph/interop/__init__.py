"""Translations between relgraph and other libraries, in both directions.

Each module imports its library when it is first used: ``rg.interop.pytensor``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from relgraph.errors import MissingPackageError, no_attribute

_EXTRAS = {"jax": "jax", "pytensor": "pytensor", "sympy": "sympy"}


def __getattr__(name: str) -> Any:
    if name not in _EXTRAS:
        raise no_attribute("relgraph.interop", name, __dir__())
    try:
        return import_module(f"relgraph.interop.{name}")
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise MissingPackageError(
            f"relgraph.interop.{name} needs {name}, which is not installed",
            fix=f"Install it: pip install 'relgraph[{_EXTRAS[name]}]'.",
        ) from None


def __dir__() -> list[str]:
    return sorted(_EXTRAS)
