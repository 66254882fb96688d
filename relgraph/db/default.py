"""``rg.optdb``: the default database, built when it is first used.

What it is made of, the rewriters and the relations of the catalogue, is imported then too.
"""

from __future__ import annotations

from relgraph.db.database import SequenceDB
from relgraph.ir import forks

_default: list[SequenceDB] = []


def default_database() -> SequenceDB:
    """Return ``rg.optdb``, built when it is first asked for."""
    with forks.importing:
        if not _default:
            from relgraph.db.catalogue import build_database

            _default.append(build_database())
        return _default[0]


def built_database() -> SequenceDB | None:
    """Return ``rg.optdb`` if it has been built, without building it."""
    return _default[0] if _default else None
