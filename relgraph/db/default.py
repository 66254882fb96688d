"""``rg.optdb``: the default database, built on first use.

Its rewriters and the relations of the catalogue are imported then.
"""

from __future__ import annotations

from relgraph.db.database import SequenceDB
from relgraph.ir import forks

_default: list[SequenceDB] = []


def default_database() -> SequenceDB:
    """Return ``rg.optdb``, built on first use."""
    with forks.importing:
        if not _default:
            from relgraph.db.catalogue import build_database

            _default.append(build_database())
        return _default[0]


def built_database() -> SequenceDB | None:
    """Return ``rg.optdb`` if it has been built, without building it."""
    return _default[0] if _default else None
