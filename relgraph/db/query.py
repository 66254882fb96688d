"""Queries: selections from a database, as data.

A query is immutable and hashable, so a database can remember its answers, and equal queries are one
key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from relgraph.errors import ArgumentError, ImmutableGraphError, checks_arguments
from relgraph.viz.display import Displayed

if TYPE_CHECKING:
    from relgraph.viz.document import Element

Tags = str | Iterable[str]


class RewriteDatabaseQuery(Displayed):
    """What to select from a database, by tag.

    Parameters
    ----------
    include : str or iterable of str
        An entry must have at least one of these tags.  Its name counts as a tag, and so do the
        names and tags of the databases that hold it.  With no tags, nothing is selected.
    require : str, iterable of str, or None
        It must have all of these.
    exclude : str, iterable of str, or None
        It must have none of these.  A relation with one of them is left out of every phase, even if
        the tag names another phase that it is in.
    subquery : mapping of str to RewriteDatabaseQuery
        Separate queries for sub-databases, by name; the others get this query.

    Examples
    --------
    >>> import relgraph as rg
    >>> q = rg.Query(["fast_run"], subquery={"specialize": rg.Query(["pow"])})
    >>> q.excluding("inplace")
    Query(include=['fast_run'], exclude=['inplace'],
          subquery={'specialize': Query(include=['pow'], exclude=['inplace'])})
    """

    __slots__ = ("_hash", "exclude", "include", "require", "subquery")

    include: frozenset[str]
    require: frozenset[str]
    exclude: frozenset[str]
    subquery: Mapping[str, RewriteDatabaseQuery]

    @checks_arguments
    def __init__(
        self,
        include: Tags,
        require: Tags | None = None,
        exclude: Tags | None = None,
        subquery: Mapping[str, RewriteDatabaseQuery] | None = None,
    ) -> None:
        if subquery is not None and not isinstance(subquery, Mapping):
            raise ArgumentError(
                f"subquery= is a dict from names of databases to queries, not {subquery!r:.60}",
                fix='Write subquery={"specialize": rg.Query(include=[...])}.',
            )
        given = dict(subquery or {})
        for name, query in given.items():
            if not isinstance(query, RewriteDatabaseQuery):
                raise ArgumentError(
                    f"the subquery for {name!r} is not a query: {query!r}",
                    fix=f'Write subquery={{"{name}": rg.Query(include=[...])}}.',
                )
        for field, value in (
            ("include", _tags(include, "include")),
            ("require", _tags(() if require is None else require, "require")),
            ("exclude", _tags(() if exclude is None else exclude, "exclude")),
            ("subquery", _Frozen(given)),
        ):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "_hash", hash(self._key()))

    def _key(self) -> tuple[Any, ...]:
        return self.include, self.require, self.exclude, frozenset(self.subquery.items())

    def __setattr__(self, name: str, value: object) -> None:
        raise ImmutableGraphError(
            f"a query cannot be changed: {name}",
            {"query": self},
            "query.including(...), requiring(...) and excluding(...) return new ones.",
        )

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.include, self.require, self.exclude)
        return type(self), (*(tuple(sorted(x)) for x in parts), dict(self.subquery))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RewriteDatabaseQuery):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return self._hash  # type: ignore[no-any-return, attr-defined]

    def __repr__(self) -> str:
        shown = [f"include={sorted(self.include)}"]
        for name in ("require", "exclude"):
            tags = getattr(self, name)
            if tags:
                shown.append(f"{name}={sorted(tags)}")
        if self.subquery:
            shown.append(f"subquery={dict(sorted(self.subquery.items()))}")
        return f"Query({', '.join(shown)})"

    def _document(self) -> list[Element]:
        from relgraph.viz.document import Facts, Heading

        fields = ("include", "require", "exclude")
        rows = [(name, ", ".join(sorted(tags))) for name in fields if (tags := getattr(self, name))]
        rows += [(f"in {name}", repr(query)) for name, query in sorted(self.subquery.items())]
        return [Heading("Query"), Facts(tuple(rows))]

    def including(self, *tags: str) -> RewriteDatabaseQuery:
        """Return the query that accepts entries with one of these tags as well.

        Parameters
        ----------
        *tags : str
            Tags or names.

        Returns
        -------
        Query
            A new query.
        """
        return self._with(include=self.include | _tags(tags, "including"))

    def requiring(self, *tags: str) -> RewriteDatabaseQuery:
        """Return the query that accepts only entries that also have all of these tags.

        Parameters
        ----------
        *tags : str
            Tags or names.

        Returns
        -------
        Query
            A new query.
        """
        return self._with(require=self.require | _tags(tags, "requiring"))

    def excluding(self, *tags: str) -> RewriteDatabaseQuery:
        """Return the query that accepts no entry with one of these tags.

        Its subqueries exclude them too, so an excluded entry stays excluded.

        Parameters
        ----------
        *tags : str
            Tags or names.

        Returns
        -------
        Query
            A new query.
        """
        wanted = _tags(tags, "excluding")
        inner = {name: query.excluding(*wanted) for name, query in self.subquery.items()}
        return self._with(exclude=self.exclude | wanted, subquery=inner)

    def _with(self, **fields: Any) -> RewriteDatabaseQuery:
        old = {name: getattr(self, name) for name in ("include", "require", "exclude", "subquery")}
        return type(self)(**(old | fields))

    def accepts(self, tags: frozenset[str], excluded_by: frozenset[str] = frozenset()) -> bool:
        """Return True if an entry is selected.

        Parameters
        ----------
        tags : frozenset of str
            Its tags, its name and its database's name.
        excluded_by : frozenset of str
            Further names that exclude it.

        Returns
        -------
        bool
            Whether it has one of the included tags, all of the required and none of the excluded.
        """
        return (
            not tags.isdisjoint(self.include)
            and self.require <= tags
            and tags.isdisjoint(self.exclude)
            and excluded_by.isdisjoint(self.exclude)
        )

    def mentioned(self) -> Iterator[tuple[str, str]]:
        """Yield every tag of the query and its subqueries, with its location.

        Yields
        ------
        str, str
            The tag, and the field of the query that it stands in.
        """
        for field in ("include", "require", "exclude"):
            for tag in sorted(getattr(self, field)):
                yield tag, field
        for name, query in sorted(self.subquery.items()):
            for tag, field in query.mentioned():
                yield tag, f"subquery[{name!r}], {field}"


class _Frozen(dict[str, RewriteDatabaseQuery]):
    """An immutable mapping."""

    def _refuse(self, *args: object, **kwargs: object) -> Any:
        raise ImmutableGraphError(
            "the subqueries of a query cannot be changed",
            fix="Build a new query: rg.Query([...], subquery={...}).",
        )

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse


def _tags(tags: Tags, where: str) -> frozenset[str]:
    """Return tags as a set, or raise ArgumentError for other objects."""
    if isinstance(tags, str):
        return frozenset((tags,))
    try:
        checked = frozenset(tags)
    except TypeError:
        raise ArgumentError(
            f"{where} takes tags, which are strings, not {tags!r}",
            fix='A tag is a string, such as "canonicalize".',
        ) from None
    for tag in checked:
        if not isinstance(tag, str):
            raise ArgumentError(
                f"{where} takes tags, which are strings, not {tag!r}",
                {"given": repr(tags)},
                'A tag is a string, such as "canonicalize".',
            )
    return checked


Query = RewriteDatabaseQuery
