"""Compiled matchers on disk: the code of each, with references to what it names.

The matchers of the catalogue's relations are the same in every process, so a process that compiles
one keeps it in the cache, and later processes load its code without stating the relations.  The
key of a matcher lists the clauses that it was compiled from, and the entry of the cache belongs to
the sources that compiled it.

A matcher names ops, constants and sets of literals, which pickle by value, and three kinds of
objects that belong to a relation: its rewrites, its conditions and its rank classes.  These are
kept as references.  A condition keeps its function by name, whose module is imported when the
condition is first decided; for all others, the relation is stated when one is asked for something.
"""

from __future__ import annotations

import atexit
import marshal
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from relgraph import cache
from relgraph.ir import forks
from relgraph.relations.clause import FIRING_FACTS, Rewrite
from relgraph.relations.generated_names import COMMON, guarded_condition
from relgraph.relations.generated_source import run
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.relation import Relation

Clauses = Sequence[tuple[Relation, int]]  # relations, each with the number of one of its clauses

LIMIT = 2**23  # bytes of matchers in the entry
PART = 16  # new matchers are written once they are a sixteenth of those on disk, or at the end
_UNPICKLED = (pickle.PicklingError, AttributeError, TypeError)


# A matcher on disk: its name, source and code; its globals as bytes; and those that belong to its
# relations, each with its name, its kind, the place of its clause, and what its kind needs.
Saved = tuple[str, str, bytes, bytes, tuple[tuple[Any, ...], ...]]


class Ranks:
    """The rank classes of a rewrite in a matcher's globals, with the answers known so far."""

    def __init__(self, rewrite: Rewrite, table: _Table, name: str) -> None:
        self.rewrite = rewrite
        self.table = table
        self.known = table.ranks.setdefault(name, {})

    def __call__(self, ranks: tuple[int, ...], parameters: tuple[Any, ...] = ()) -> bool:
        """Return True if the rewrite holds for operands of these ranks and op parameters."""
        try:
            return self.known[ranks, parameters]
        except KeyError:
            classes = self.rewrite.ranks
            assert classes is not None
            answer = self.known[ranks, parameters] = classes(ranks, parameters)
            self.table.answers += 1
            return answer


# Matchers, and other data as bytes, by key; and the answers of rank classes.
Content = tuple[dict[bytes, Saved | bytes], dict[str, dict[Any, bool]]]


class _Table:
    """The matchers of one folder of the cache: those that were there, and those that are new.

    ``ranks`` holds what rank classes have answered, and ``answers`` counts the new ones.  ``made``
    counts what was made in this process.
    """

    def __init__(self) -> None:
        sources = cache.sources()
        self.entry = None if sources is None else (f"matchers_{sources.name}", sources.text)
        self.data, self.ranks = self.read()
        self.new: dict[bytes, bytes | tuple[Any, Clauses]] = {}
        self.answers = 0
        self.made = 0

    def read(self) -> Content:
        """Return what is on disk."""
        entry = cache.fetch(*self.entry) if self.entry else None
        if entry is None:
            return {}, {}
        content: Content = pickle.loads(entry.code)
        return content

    def write(self) -> None:
        """Write what is new, beside what other processes have written meanwhile."""
        new, self.new, self.answers = self.new, {}, 0
        if self.entry is None:
            return
        added: dict[bytes, Saved | bytes] = {}
        for key, x in new.items():
            data = x if isinstance(x, bytes) else _saved(*x)
            if data is not None:
                added[key] = data
            if not isinstance(x, bytes):
                self.ranks |= _answers(x[1])
        self.data |= added
        merged, ranks = self.read()
        merged |= added
        for name, answers in self.ranks.items():
            ranks.setdefault(name, {}).update(answers)
        while len(content := pickle.dumps((merged, ranks), 5)) > LIMIT:
            for key in list(merged)[: len(merged) // 4 + 1]:
                del merged[key]
        cache.keep(*self.entry, "", cache.Entry({}, content))


_tables: dict[Path | None, _Table] = {}
_lock = forks.lock()


def stored(kind: str, clauses: Clauses, make: Callable[[], Any]) -> Any:
    """Return what is made from clauses: a matcher or other data, from disk if it is there.

    ``kind`` says what it is, of all that is made from these clauses.
    """
    words = [kind]
    for relation, number in clauses:
        if relation.catalogued is None:
            return make()
        words.append(f"{relation.catalogued}/{number}")
    key = blake2b(" ".join(words).encode(), digest_size=16).digest()
    with _lock:
        folder = cache.current_folder()
        table = _tables.get(folder)
        if table is None:
            table = _tables[folder] = _Table()
    data = table.data.get(key)
    if data is not None:
        return pickle.loads(data) if isinstance(data, bytes) else _loaded(data, clauses, table)
    value = make()
    with _lock:
        table.made += 1
        if not table.new:
            atexit.unregister(_write_all)
            atexit.register(_write_all)
        # A matcher waits for the answers of its rank classes; data may change before it is written.
        table.new[key] = (value, clauses) if callable(value) else pickle.dumps(value, 5)
    return value


def stored_of(kind: str, rewrite: Rewrite, make: Callable[[], Any]) -> Any:
    """Return what is made from one rewrite, as :func:`stored` does."""
    relation = rewrite.source
    if not isinstance(relation, Relation):
        return make()
    return stored(kind, [(relation, relation.number_of(rewrite))], make)


def write() -> None:
    """Write new matchers to disk if they are many; a few wait for others, or for the end."""
    for table in list(_tables.values()):
        if table.answers or (table.new and len(table.new) * PART >= len(table.data)):
            with _lock:
                table.write()


def made() -> int:
    """Return how much this process has made, because it was not on disk."""
    return sum(table.made for table in _tables.values())


def _write_all() -> None:
    """Write all new matchers to disk."""
    with _lock:
        for table in _tables.values():
            if table.new:
                table.write()


def _saved(matcher: Any, clauses: Clauses) -> Saved | None:
    """Return a matcher as data; None if it names something that does not pickle."""
    of_relations = _references(matcher, clauses)
    values: dict[str, Any] = {}
    references = []
    for name, x in matcher.names.own().items():
        if id(x) in of_relations:
            references.append((name, *of_relations[id(x)]))
        else:
            values[name] = x
    try:
        code, dumped = marshal.dumps(matcher.code), pickle.dumps(values, 5)
    except _UNPICKLED:
        return None
    return matcher.__name__, matcher.source, code, dumped, tuple(references)


def _references(matcher: Any, clauses: Clauses) -> dict[int, tuple[Any, ...]]:
    """Return how to find the objects in a matcher's globals that belong to its relations."""
    references: dict[int, tuple[Any, ...]] = {}
    for i, (relation, number) in enumerate(clauses):
        rewrite = relation.rewrite(number)
        if rewrite is None:
            continue
        facts = {name: getattr(rewrite, name) for name in FIRING_FACTS}
        references[id(rewrite)] = "rewrite", i, facts
        references[id(rewrite.ranks)] = "ranks", i
        for j, condition in enumerate(rewrite.conditions):
            function = matcher.names.decided(condition, rewrite.relation)
            if function is not None:
                by_name = _by_name(condition.function)
                references[id(function)] = "condition", i, j, condition.label, by_name
    references.pop(id(None), None)
    return references


def _by_name(function: Any) -> bytes | None:
    """Return the function of a condition as bytes; None if it has no name in a module."""
    try:
        return pickle.dumps(function, 5)
    except _UNPICKLED:
        return None


def _answers(clauses: Clauses) -> dict[str, dict[Any, bool]]:
    """Return what the rank classes of clauses have answered so far."""
    rewrites = [(x, number, x.rewrite(number)) for x, number in clauses]
    return {
        f"{relation.catalogued}/{number}": rewrite.ranks.known()
        for relation, number, rewrite in rewrites
        if rewrite is not None and rewrite.ranks is not None
    }


def _loaded(saved: Saved, clauses: Clauses, table: _Table) -> Any:
    """Return the matcher of data that was made from clauses equal to these."""
    function, source, code, values, references = saved
    variables: dict[str, Any] = {**COMMON, **pickle.loads(values)}
    for name, kind, i, *rest in references:
        relation, number = clauses[i]
        rewrite = relation.deferred(number)
        if kind == "condition":
            variables[name] = _undecided(variables, name, partial(_condition, rewrite, *rest))
        elif kind == "ranks":
            variables[name] = Ranks(rewrite, table, f"{relation.catalogued}/{number}")
        else:
            for fact, value in rest[0].items():  # so that firing does not state it
                rewrite.__dict__.setdefault(fact, value)
            variables[name] = rewrite
    return run(marshal.loads(code), source, function, variables)


def _undecided(
    variables: dict[str, Any], name: str, make: Callable[[], Callable[..., Any]]
) -> Callable[..., Any]:
    """Return a condition that makes its function at first use, and gives it its name."""

    def decide(*values: Any) -> Any:
        function = variables[name] = make()
        return function(*values)

    return decide


def _condition(rewrite: Rewrite, number: int, label: str, by_name: bytes | None) -> Any:
    """Return the function of a condition of a rewrite."""
    if by_name is None:
        condition = rewrite.conditions[number]
    else:
        condition = Suspended("check", (), label, pickle.loads(by_name))
    return guarded_condition(condition, rewrite.relation)
