"""Compiled matchers on disk: the code of each, with references to what it names.

The matchers of the catalogue's relations are the same in every process, so a process that compiles
one keeps it in the cache, and later processes load its code without stating the relations.  The
key of a matcher lists the clauses that it was compiled from, and the entry of the cache belongs to
the sources that compiled it.

A matcher names ops, constants and sets of literals, which pickle by value, and three kinds of
objects that belong to a relation: its rewrites, its conditions and its rank classes.  These are
kept as references, and the relation is stated when one of them is asked for something.
"""

from __future__ import annotations

import atexit
import io
import marshal
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import FunctionType
from typing import Any

from relgraph import cache
from relgraph.ir import forks
from relgraph.relations.clause import Rewrite
from relgraph.relations.generated_names import COMMON, Names, guarded_condition
from relgraph.relations.generated_source import run
from relgraph.relations.kanren import goals
from relgraph.relations.kanren.goals import Predicate, Suspended
from relgraph.relations.relation import CATALOGUE, Relation

Reference = tuple[Any, ...]  # of an object that belongs to a relation
Clauses = Sequence[tuple[Relation, int]]  # relations, each with the number of one of its clauses

# Modules with functions of conditions, which are cheap to import.
GENERAL = (goals.__name__, f"{CATALOGUE}.conditions")
LIMIT = 2**23  # bytes of matchers in the entry
PART = 16  # new matchers are written once they are a sixteenth of those on disk, or at the end


class Condition:
    """A condition of a rewrite in a matcher's globals, which its function replaces at first use."""

    def __init__(self, rewrite: Rewrite, number: int) -> None:
        self.rewrite = rewrite
        self.number = number
        self.variables: dict[str, Any] = {}

    def __call__(self, *values: Any) -> Any:
        """Decide the condition."""
        condition = self.rewrite.conditions[self.number]
        function = guarded_condition(condition, self.rewrite.relation)
        for name in [name for name, x in self.variables.items() if x is self]:
            self.variables[name] = function
        return function(*values)


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


_UNPICKLED = (pickle.PicklingError, AttributeError, TypeError)
Content = tuple[dict[bytes, bytes], dict[str, dict[Any, bool]]]


class _Pickler(pickle.Pickler):
    def __init__(self, file: Any, references: dict[int, Reference]) -> None:
        super().__init__(file, 5)
        self.references = references

    def persistent_id(self, value: Any) -> Reference | None:
        """Return the reference of an object that belongs to a relation."""
        return self.references.get(id(value))


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, resolve: Callable[..., Any]) -> None:
        super().__init__(io.BytesIO(data))
        self.resolve = resolve

    def persistent_load(self, reference: Reference) -> Any:
        """Return the object with a reference."""
        return self.resolve(*reference)


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
        found = cache.fetch(*self.entry) if self.entry else None
        return ({}, {}) if found is None else pickle.loads(found.code)

    def write(self) -> None:
        """Write what is new, beside what other processes have written meanwhile."""
        new, self.new, self.answers = self.new, {}, 0
        if self.entry is None:
            return
        own: dict[bytes, bytes] = {}
        for key, x in new.items():
            data = x if isinstance(x, bytes) else _saved(*x)
            if data is not None:
                own[key] = data
            if not isinstance(x, bytes):
                self.ranks |= _answers(x[1])
        self.data |= own
        merged, ranks = self.read()
        merged |= own
        for name, answers in self.ranks.items():
            ranks.setdefault(name, {}).update(answers)
        size = sum(map(len, merged.values()))
        while size > LIMIT:
            size -= len(merged.pop(next(iter(merged))))
        cache.keep(*self.entry, "", cache.Entry({}, pickle.dumps((merged, ranks), 5)))


_tables: dict[Path | None, _Table] = {}
_lock = forks.lock()


def stored(kind: str, clauses: Clauses, make: Callable[[], Any]) -> Any:
    """Return what is made from clauses: a matcher or other data, from disk if it is there.

    ``kind`` says what it is, of all that is made from these clauses.
    """
    names = [relation.catalogued for relation, _ in clauses]
    if None in names:
        return make()
    pairs = zip(names, clauses, strict=True)
    text = " ".join([kind, *[f"{name}/{number}" for name, (_, number) in pairs]])
    key = blake2b(text.encode(), digest_size=16).digest()
    with _lock:
        folder = cache.directory()
        table = _tables.get(folder)
        if table is None:
            table = _tables[folder] = _Table()
    data = table.data.get(key)
    if data is not None:
        return _loaded(data, clauses, table)
    value = make()
    with _lock:
        table.made += 1
        if not table.new:
            atexit.unregister(_write_all)
            atexit.register(_write_all)
        # A matcher waits for the answers of its rank classes; data may change before it is written.
        table.new[key] = (value, clauses) if callable(value) else pickle.dumps((value, False), 5)
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


def _saved(matcher: Any, clauses: Clauses) -> bytes | None:
    """Return a matcher as bytes; None if it names something that does not pickle."""
    parts = matcher.__name__, matcher.source, marshal.dumps(matcher.code), matcher.names.own()
    try:
        file = io.BytesIO()
        _Pickler(file, _references(matcher.names, clauses)).dump((parts, True))
        return file.getvalue()
    except _UNPICKLED:
        return None


def _references(names: Names, clauses: Clauses) -> dict[int, Reference]:
    """Return the references of the objects in a matcher's globals that belong to its relations."""
    references: dict[int, Reference] = {}
    for i, rewrite in enumerate(_rewrites(clauses)):
        if rewrite is None:
            continue
        references[id(rewrite)] = "rewrite", i, rewrite.may_recompute
        references[id(rewrite.ranks)] = "ranks", i
        for j, condition in enumerate(rewrite.conditions):
            function = names.decided(condition, rewrite.relation)
            if function is not None and _is_general(condition.function):
                references[id(function)] = "fact", i, condition.function, condition.label
            elif function is not None:
                references[id(function)] = "condition", i, j
    references.pop(id(None), None)
    return references


def _is_general(function: Any) -> bool:
    """Return True for a condition's function that pickles, and is not written beside a relation."""
    inner = function
    while isinstance(inner, Predicate | partial):
        inner = inner.function if isinstance(inner, Predicate) else inner.func
    owner = inner if isinstance(inner, FunctionType) else type(inner)
    try:
        return owner.__module__ in GENERAL and bool(pickle.dumps(function))
    except _UNPICKLED:
        return False


def _rewrites(clauses: Clauses) -> list[Rewrite | None]:
    return [relation.rewrite(number) for relation, number in clauses]


def _answers(clauses: Clauses) -> dict[str, dict[Any, bool]]:
    """Return what the rank classes of clauses have answered so far."""
    rewrites = zip(clauses, _rewrites(clauses), strict=True)
    return {
        f"{relation.catalogued}/{number}": rewrite.ranks.known()
        for (relation, number), rewrite in rewrites
        if rewrite is not None and rewrite.ranks is not None
    }


def _loaded(data: bytes, clauses: Clauses, table: _Table) -> Any:
    """Return the matcher or other data of bytes, made from clauses equal to these."""

    def resolve(kind: str, i: int, *rest: Any) -> Any:
        relation, number = clauses[i]
        rewrite = relation.deferred(number)
        if kind == "fact":
            function, label = rest
            return guarded_condition(Suspended("check", (), label, function), relation.label)
        if kind == "condition":
            return Condition(rewrite, *rest)
        if kind == "ranks":
            return Ranks(rewrite, table, f"{relation.catalogued}/{number}")
        rewrite.__dict__.setdefault("may_recompute", *rest)  # so that firing does not state it
        return rewrite

    value, compiled = _Unpickler(data, resolve).load()
    if not compiled:
        return value
    name, source, code, own = value
    variables = COMMON | own
    for x in own.values():
        if x.__class__ is Condition:
            x.variables = variables
    return run(marshal.loads(code), source, name, variables)
