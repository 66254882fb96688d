"""Databases of rewriters: entries with a name and tags, and the queries that select among them.

An :class:`EquilibriumDB` runs the selected entries to a fixed point, a :class:`SequenceDB` one
after the other by position.  A query returns a rewriter, which prints the names that a query can
exclude.
"""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any

from relgraph.db.entries import Entry, LoweringChoice, redeclared, width_of
from relgraph.db.names import ABSENT, MODE_TAGS, aliases_of
from relgraph.db.pipeline import Phase, Pipeline
from relgraph.db.query import RewriteDatabaseQuery
from relgraph.errors import (
    ArgumentError,
    DuplicateNameError,
    NotOverriddenError,
    UnknownTagError,
    checks_arguments,
    count_of,
)
from relgraph.ir import forks
from relgraph.ir.reference import NotPickled
from relgraph.relations.relation import ROUNDINGS, SPECIALS, Relation
from relgraph.rewriting.rewriters import (
    as_item,
    item_name,
    runs_on_nodes,
)

_versions = itertools.count(1)
_ANSWERS = 32  # rewriters of so many queries are kept


class RewriteDatabase(NotPickled):
    """Entries selected by tag.

    Parameters
    ----------
    name : str
        A query with this name selects everything in the database.  If you register the database in
        another one, it takes the registered name.
    """

    def __init__(self, name: str = "") -> None:
        if not isinstance(name, str):
            raise ArgumentError(
                f"the name of a database is a string, not {name!r:.60}",
                fix=f'Write rg.{type(self).__name__}("mine"), or leave the name out.',
            )
        self.name = name or type(self).__name__
        self._registered = False  # in another database, which has named it
        self._entries: dict[str, Entry] = {}
        self._inner: dict[str, RewriteDatabase] = {}  # the entries that are databases
        self._last = 0.0
        self._lock = forks.lock()
        self._answers: OrderedDict[Any, Any] = OrderedDict()
        self._version = next(_versions)

    @checks_arguments
    def register(self, *args: Any, name: str | None = None, position: float | None = None) -> Any:
        """Add an entry, as ``register(item, *tags)`` or ``register(name, item, *tags)``.

        Called with tags alone, it returns a decorator.  Running the same declaration again, in a
        notebook cell for instance, replaces the earlier entry.

        Parameters
        ----------
        *args : str, item, tags
            The item is a relation, a kanren goal constructor, a rewriter or a database.
        name : str, optional
            By default the relation's label or the rewriter's name.
        position : float, optional
            Its position in a :class:`SequenceDB`.

        Returns
        -------
        object
            The item; a decorator if there is none.

        Raises
        ------
        DuplicateNameError
            If another item has the name, or the item is a database that is registered elsewhere
            under another name.
        ArgumentError
            If the item is missing, of an unknown kind, or a database that contains this one.
        """
        if _decorates(args):
            return _Registration(self, args, name, position)
        item, label, tags, place = _parsed(args, name, position)
        if isinstance(item, Relation):
            tags |= frozenset(item.tags)
        with self._lock:
            self._add(item, label, tags, place)
        return item

    def _add(
        self,
        item: Any,
        name: str,
        tags: frozenset[str],
        position: float | None,
        elsewhere: frozenset[str] = frozenset(),
    ) -> None:
        self._check_item(item, name, position)
        earlier = self._entries.get(name)
        taken = earlier is not None and not redeclared(earlier.item, item)
        if taken or name == self.name:
            raise DuplicateNameError(
                f"the name {name!r} is taken in {self.name}",
                {"registered": earlier or "the database"},
                "Give another one: register(item, ..., name=...).",
            )
        labels: frozenset[str] = frozenset()
        excluded_by: frozenset[str] = frozenset()
        if isinstance(item, Relation):
            labels = frozenset((item.rounding, item.specials))
            excluded_by = elsewhere | {item.name}
        own = tags | labels | {name}
        if isinstance(item, RewriteDatabase):
            item._enter(self, name)
            self._inner[name] = item
        place = self._last + 1.0 if position is None else float(position)
        self._last = max(self._last, place)
        self._entries[name] = Entry(name, item, own, excluded_by, place, aliases_of(own))
        self._version = next(_versions)

    def restore(self, entries: Iterable[Entry]) -> None:
        """Add entries of relations as an equal database holds them."""
        with self._lock:
            for entry in entries:
                self._entries[entry.name] = entry
                self._last = max(self._last, entry.position)
            self._version = next(_versions)

    def _check_item(self, item: Any, name: str, position: float | None) -> None:
        """Raise for an item, or a position, that this kind of database cannot hold."""

    def _enter(self, outer: RewriteDatabase, name: str) -> None:
        """Take the name under which another database registers this one."""
        if any(database is outer for database in self.databases()):
            raise ArgumentError(
                f"register: {outer.name} is part of the database {self.name}, so cannot hold it",
                fix="Register the inner database in the outer one only.",
            )
        if self._registered and name != self.name:
            raise DuplicateNameError(
                f"register: this database is already registered as {self.name!r}, "
                f"so it cannot be {name!r} in {outer.name}",
                fix=f"Register it as {self.name!r} here too, or make another database.",
            )
        self.name = name
        self._registered = True

    def unregister(self, item: Any) -> None:
        """Remove what :meth:`register` added, here and in sub-databases.

        Later queries do not select it.  Rewriters from earlier queries, and functions compiled with
        them, do not change.

        Parameters
        ----------
        item : str, or the registered item
            The registered name, or the item itself, which is removed under all its names.

        Raises
        ------
        UnknownTagError
            For a name that is not registered.
        ArgumentError
            For an item that is not registered.

        Examples
        --------
        >>> import relgraph as rg
        >>> @rg.identity
        ... def sqrt_in_logo(x):
        ...     '''log(sqrt(x)) = log(x) / 2.'''
        ...     return rg.log(rg.sqrt(x)), rg.log(x) / 2
        >>> x = rg.vector("x")
        >>> rg.optdb.register(sqrt_in_logo, "canonicalize")
        <relation sqrt_in_logo>
        >>> rg.rewrite_graph(rg.log(rg.sqrt(x)), include="sqrt_in_logo")
        log(x) / 2
        >>> rg.optdb.unregister(sqrt_in_logo)
        >>> "sqrt_in_logo" in rg.optdb
        False
        """
        with self._lock:
            removed = False
            for database in self.databases():
                own = database._entries
                for name in _names(own, item):
                    del own[name]
                    database._inner.pop(name, None)
                    database._version = next(_versions)
                    removed = True
            if removed:
                return
            if isinstance(item, str):
                raise self._unknown(item, "unregister")
            raise ArgumentError(
                f"unregister: {self.name} does not hold {item!r}",
                fix="Give the item that was registered, or the name it was registered under.",
            )

    def __getitem__(self, name: str) -> Any:
        """Return the item registered under a name, here or in a sub-database."""
        if not isinstance(name, str):
            raise ArgumentError(
                f"look-up in {self.name}: a name is a string, not {name!r:.60}",
                fix="Write database['name']; printing the database lists the names.",
            )
        for database in self.databases():
            if name in database._entries:
                return database._entries[name].item
        raise self._unknown(name, "look-up")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(name in x._entries for x in self.databases())

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of all entries, in the order in which they run."""
        for entry in self._ordered():
            yield entry.name
            if isinstance(entry.item, RewriteDatabase):
                yield from entry.item

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def databases(self) -> Iterator[RewriteDatabase]:
        """Yield this database and all databases registered in it.

        Yields
        ------
        RewriteDatabase
            This one first.
        """
        yield self
        for database in list(self._inner.values()):
            yield from database.databases()

    def tags(self) -> frozenset[str]:
        """Return every tag and name that a query to this database may use.

        Returns
        -------
        frozenset of str
            Those of sub-databases included.
        """
        tags = {self.name, *ROUNDINGS, *SPECIALS}
        for database in self.databases():
            for entry in list(database._entries.values()):
                tags |= entry.tags | entry.aliases | entry.excluded_by
        return frozenset(tags)

    def query(self, *query: RewriteDatabaseQuery | str) -> Any:
        """Return the rewriter of all entries that a query selects.

        Parameters
        ----------
        *query : Query, or str
            One query, or tags; an entry must have at least one of them.

        Returns
        -------
        EquilibriumGraphRewriter or SequentialGraphRewriter
            It prints the entries that it runs.  If nothing is selected, it changes no graph.

        Raises
        ------
        UnknownTagError
            For a tag that no entry has, anywhere in the query.
        OscillationError
            When both directions of one relation are selected in one phase.
        """
        asked = _as_query(query)
        key = (asked, max(database._version for database in self.databases()))
        with self._lock:
            rewriter = self._answers.get(key)
            if rewriter is None:
                self.check(asked)
                rewriter = self._build(asked)
                self._answers[key] = rewriter
                while len(self._answers) > _ANSWERS:
                    self._answers.popitem(last=False)
            else:
                self._answers.move_to_end(key)
        return rewriter

    def clear(self) -> None:
        """Forget the rewriters of earlier queries."""
        with self._lock:
            for database in self.databases():
                database._answers.clear()

    def entries(self) -> list[Entry]:
        """Return the entries of this database, in order of registration.

        Returns
        -------
        list of Entry
            Those of sub-databases are not among them.
        """
        return list(self._entries.values())

    def _ordered(self) -> list[Entry]:
        return sorted(self._entries.values(), key=lambda entry: entry.position)

    def _build(self, query: RewriteDatabaseQuery, outer: frozenset[str] = frozenset()) -> Any:
        """Return the rewriter of the selected entries; ``outer`` are tags of all entries."""
        raise NotOverriddenError(
            f"the database {self.name} does not say how to run the selected entries",
            fix="Use rg.EquilibriumDB, which runs to a fixed point, or rg.SequenceDB, in order.",
        )

    def _selected(
        self, query: RewriteDatabaseQuery, outer: frozenset[str] = frozenset()
    ) -> list[Entry]:
        """Return the entries that a query selects, those of nested databases in order."""
        outer |= {self.name}
        selected: list[Entry] = []
        for entry in self._ordered():
            if isinstance(entry.item, RewriteDatabase):
                if entry.name not in query.exclude:
                    inner = query.subquery.get(entry.name, query)
                    selected += entry.item._selected(inner, outer | entry.tags)
            elif entry.selected_by(query, outer):
                selected.append(entry)
        return selected

    def check(self, query: RewriteDatabaseQuery) -> None:
        """Raise an error for a query with unknown tags or names.

        Parameters
        ----------
        query : Query
            Any query.

        Raises
        ------
        UnknownTagError
            For a tag or name that no entry has, anywhere in the query.
        """
        known = self.tags()
        for tag, where in query.mentioned():
            if tag not in known:
                raise self._unknown(tag, where)
        names = {database.name for database in self.databases()}
        waiting = [query]
        for one in waiting:
            for name in sorted(one.subquery):
                if name not in names:
                    raise UnknownTagError(
                        f"subquery: there is no database {name!r} in {self.name}",
                        {"databases": ", ".join(sorted(names))},
                        _did_you_mean(name, names),
                    )
            waiting.extend(one.subquery.values())

    def _unknown(self, tag: str, where: str) -> UnknownTagError:
        known = self.tags()
        names = set(self)
        if tag in MODE_TAGS:
            fix = f"{tag!r} is a mode: use rg.mode({tag!r})."
        elif tag in ABSENT:
            fix = ABSENT[tag]
        else:
            fix = _did_you_mean(tag, known)
        return UnknownTagError(
            f"{where}: {self.name} has no tag or name {tag!r}",
            {
                "tags": _abridged(tag, known - names),
                "names": _abridged(tag, names),
            },
            fix,
        )

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, indent: str = "") -> Iterator[str]:
        """Yield a line for each entry.

        Parameters
        ----------
        indent : str
            The beginning of each line.

        Yields
        ------
        str
            A line.
        """
        yield f"{indent}{type(self).__name__} {self.name}"
        entries = self._ordered()
        width = width_of(entries)
        for entry in entries:
            if isinstance(entry.item, RewriteDatabase):
                yield from entry.item.lines(indent + "  ")
            else:
                yield f"{indent}  {entry.line(width)}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {count_of(len(self), 'entry')}>"


class EquilibriumDB(RewriteDatabase):
    """A database whose selected entries run together to a fixed point.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.identity(tags=["exponents"], specials="assumes_finite")
    ... def exp_addo(x, y):
    ...     '''exp(x) exp(y) = exp(x + y).'''
    ...     return rg.exp(x) * rg.exp(y), rg.exp(x + y)
    >>> db = rg.EquilibriumDB("mine")
    >>> db.register(exp_addo)
    <relation exp_addo>
    >>> x, y = rg.vectors("x y")
    >>> db.query("exponents").rewrite(rg.exp(x) * rg.exp(y))
    exp(x + y)
    """

    def _check_item(self, item: Any, name: str, position: float | None) -> None:
        if position is not None:
            raise ArgumentError(
                f"{self.name} runs to a fixed point, so {name!r} has no position in it",
                fix="Positions belong to a SequenceDB.",
            )

    def _build(self, query: RewriteDatabaseQuery, outer: frozenset[str] = frozenset()) -> Phase:
        return Phase(self.name, self._selected(query, outer))


class SequenceDB(RewriteDatabase):
    """A database whose selected entries run in sequence, by position.

    A relation registered without a position goes into the sub-database that one of its tags names.
    """

    @checks_arguments
    def register(self, *args: Any, name: str | None = None, position: float | None = None) -> Any:
        """Add an entry; see :meth:`RewriteDatabase.register`.

        Parameters
        ----------
        *args : str, item, tags
            As in :meth:`RewriteDatabase.register`.
        name : str, optional
            By default the relation's label or the rewriter's name.
        position : float, optional
            When it runs.  A graph rewriter without a position runs last; a relation without one
            joins the sub-databases that its tags name.

        Raises
        ------
        ArgumentError
            For a relation with neither a position nor a tag that names a sub-database.
        """
        if _decorates(args):
            return _Registration(self, args, name, position)
        item, label, tags, place = _parsed(args, name, position)
        with self._lock:
            self._check_free(label, item)
            if place is not None or not runs_on_nodes(item):
                if runs_on_nodes(item) and isinstance(item, Relation):
                    tags |= frozenset(item.tags)
                self._add(item, label, tags, place)
                return item
            inner = self._inner.items()
            phases = {name: x for name, x in inner if isinstance(x, EquilibriumDB)}
            own = frozenset(item.tags) if isinstance(item, Relation) else frozenset()
            wanted = [x for x in phases if x in tags] or [x for x in phases if x in own]
            if not wanted:
                raise ArgumentError(
                    f"{self.name}: {label!r} has no tag that says which phase it belongs to",
                    {"phases": ", ".join(phases) or "none", "tags": ", ".join(tags) or "none"},
                    "Add one of these tags, or a position to make it a separate phase.",
                )
            for database in phases.values():  # an earlier declaration may have had other tags
                entry = database._entries.get(label)
                if entry is not None and entry.item is not item:
                    del database._entries[label]
                    database._version = next(_versions)
            given = tags | own
            for phase in wanted:
                elsewhere = given & phases.keys() - {phase}
                phases[phase]._add(item, label, given - elsewhere, None, elsewhere)
        return item

    def _check_free(self, name: str, item: Any) -> None:
        """Require a name that no other item in the whole tree has."""
        for database in self.databases():
            entry = database._entries.get(name)
            taken = entry is not None and not redeclared(entry.item, item)
            if taken or name == database.name:
                raise DuplicateNameError(
                    f"the name {name!r} is taken in {database.name}",
                    {"registered": entry or "the database"},
                    "Give another one: register(item, ..., name=...).",
                )

    def _build(self, query: RewriteDatabaseQuery, outer: frozenset[str] = frozenset()) -> Pipeline:
        outer |= {self.name}
        stages: list[tuple[Entry, Any]] = []
        for entry in self._ordered():
            item = entry.item
            if isinstance(item, RewriteDatabase):
                if entry.name in query.exclude:
                    continue
                inner = item._build(query.subquery.get(entry.name, query), outer | entry.tags)
                if inner.items:
                    stages.append((entry, inner))
            elif entry.selected_by(query, outer):
                stages.append((entry, Phase(entry.name, [entry]) if runs_on_nodes(item) else item))
        return Pipeline(self.name, query, stages)


class _Registration:
    """A decorator that registers an item."""

    def __init__(
        self, database: RewriteDatabase, tags: tuple[Any, ...], name: str | None, position: Any
    ) -> None:
        self._arguments = database, tags, name, position
        self._used = False

    def __call__(self, item: Any) -> Any:
        database, tags, name, position = self._arguments
        self._used = True
        return database.register(item, *tags, name=name, position=position)

    def __del__(self) -> None:
        if not self._used:
            tags = ", ".join(map(repr, self._arguments[1]))
            warnings.warn(
                f"register({tags}) registered nothing: write register(item, {tags}), or "
                f"@register({tags}) above a declaration",
                RuntimeWarning,
                stacklevel=2,
            )


def _decorates(args: Sequence[Any]) -> bool:
    """Return True if the arguments of a registration are tags alone."""
    return bool(args) and all(isinstance(x, str) for x in args)


def _parsed(
    args: Sequence[Any], name: str | None, position: float | None
) -> tuple[Any, str, frozenset[str], float | None]:
    """Return item, name, tags and position of a registration, in any of the orders of arguments."""
    rest = list(args)
    if len(rest) > 1 and isinstance(rest[0], str) and not isinstance(rest[1], str):
        first = rest.pop(0)
        if name is not None and name != first:
            raise ArgumentError(
                f"two names are given: {first!r} and {name!r}",
                fix="Write register(item, *tags, name=...), or register(name, item, *tags).",
            )
        name = first
    if not rest or isinstance(rest[0], str):
        raise ArgumentError(
            "register: there is nothing to register",
            {"given": ", ".join(map(repr, args)) or "no arguments"},
            "Write register(relation, *tags) or register(name, relation, *tags).",
        )
    given = rest.pop(0)
    item = given if isinstance(given, RewriteDatabase | LoweringChoice) else as_item(given)
    tags: set[str] = set()
    for tag in rest:
        if isinstance(tag, int | float) and not isinstance(tag, bool) and position is None:
            position = tag  # Theano's order: register(name, rewriter, position, *tags)
        elif isinstance(tag, str):
            tags.add(tag)
        else:
            raise ArgumentError(
                f"register: a tag is a string, not {tag!r}",
                {"item": given},
                "Write register(item, 'tag', 'another tag'); a number is a position.",
            )
    if position is None and isinstance(item, LoweringChoice):
        position = item.position
    if name is not None and not isinstance(name, str):
        raise ArgumentError(
            f"register: a name is a string, not {name!r:.60}",
            {"item": given},
            "Write register(item, 'tag', name='my_name').",
        )
    if position is not None and not (isinstance(position, int | float) and isfinite(position)):
        raise ArgumentError(
            f"register: a position is a finite number, not {position!r:.60}",
            {"item": given},
            "Entries run in order of their positions, such as position=2.5.",
        )
    return item, name or item_name(item), frozenset(tags), position


def _names(entries: Mapping[str, Entry], item: Any) -> list[str]:
    """Return the registered names of an item, or the given name."""
    if isinstance(item, str):
        return [item] if item in entries else []
    return [
        name
        for name, entry in entries.items()
        if entry.item is item
        or getattr(getattr(entry.item, "goal", None), "__wrapped__", entries) is item
    ]


def _as_query(query: tuple[Any, ...]) -> RewriteDatabaseQuery:
    if len(query) == 1 and isinstance(query[0], RewriteDatabaseQuery):
        return query[0]
    if all(isinstance(tag, str) for tag in query):
        return RewriteDatabaseQuery(include=query)
    raise ArgumentError(
        f"a database takes one query or tags, not {query!r}",
        fix="Write database.query(rg.Query(include=[...])).",
    )


def _abridged(tag: str, known: Iterable[str]) -> str:
    """List names; if they are too many to read, those nearest to a tag."""
    names = sorted(known)
    if len(names) <= 24:
        return ", ".join(names) or "none"
    near = get_close_matches(tag, names, 4, cutoff=0.5)
    return ", ".join([*near, f"... ({len(names)} in all, listed by printing the database)"])


def _did_you_mean(tag: str, known: Iterable[str]) -> str:
    near = get_close_matches(tag, sorted(known), 1)
    return f"Did you mean {near[0]!r}?" if near else "Use one of these."


__all__ = ["EquilibriumDB", "Phase", "Pipeline", "RewriteDatabase", "SequenceDB"]
