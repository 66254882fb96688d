"""The index of the catalogue: the entries of relations in the default database, kept on disk.

A process that has run the catalogue writes which relations each phase holds, with their tags and
what dispatching them needs.  The next process announces the relations from it, and their modules
run when something asks for their clauses.  The index is valid for the sources that wrote it.
"""

from __future__ import annotations

import pickle
from typing import Any

from relgraph import cache
from relgraph.db.database import RewriteDatabase
from relgraph.db.entries import Entry
from relgraph.relations.relation import Relation
from relgraph.relations.relation_facts import announce, record_of


def restore(database: RewriteDatabase) -> bool:
    """Add the entries of the index to a database and those in it; return False without an index."""
    sources = cache.sources()
    found = cache.fetch(f"catalogue_{sources.name}", sources.text) if sources else None
    if found is None:
        return False
    records, phases = pickle.loads(found.code)
    relations = [announce(x) for x in records]
    for name, rows in phases:
        database[name].restore(
            Entry(label, relations[n].reversed if backward else relations[n], *rest)
            for label, n, backward, *rest in rows
        )
    return True


def keep(database: RewriteDatabase) -> None:
    """Write the entries of relations in a database, and in those in it, as the index."""
    sources = cache.sources()
    if sources is None:
        return
    directions: dict[Relation, set[bool]] = {}
    phases = []
    for phase in database.databases():
        held = [x for x in phase.entries() if isinstance(x.item, Relation)]
        for entry in held:
            directions.setdefault(entry.item.forward, set()).add(entry.item.backward)
        if held:
            phases.append((phase.name, held))
    numbers = {relation: n for n, relation in enumerate(directions)}
    records = [record_of(x, tuple(ways)) for x, ways in directions.items()]
    rows = [(name, [_row(x, numbers) for x in held]) for name, held in phases]
    text = "".join(f"{name}: {', '.join(x.name for x in held)}\n" for name, held in phases)
    content = cache.Entry({}, pickle.dumps((records, rows), 5))
    cache.keep(f"catalogue_{sources.name}", sources.text, text, content)


def _row(entry: Entry, numbers: dict[Relation, int]) -> tuple[Any, ...]:
    relation = entry.item
    return (
        entry.name, numbers[relation.forward], relation.backward, entry.tags, entry.excluded_by,
        entry.position, entry.aliases,
    )  # fmt: skip


__all__ = ["keep", "restore"]
