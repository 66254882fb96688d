"""Entries of databases: items with tags, and choices made during compilation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from relgraph.db.query import RewriteDatabaseQuery
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.records import record
from relgraph.relations.relation import Relation
from relgraph.rewriting.rewriters import describe, item_name


@record
class LoweringChoice:
    """A choice made during compilation, as data that queries select.

    It does not change graphs, since an immutable graph has no in-place form and no kernels.  The
    compiler reads the selected choices from ``rewriter.choices``.

    Parameters
    ----------
    name : str
        The name that selects and excludes it.
    position : float
        Its position in the printed sequence.
    description : str
        What it does.
    """

    name: str
    position: float
    description: str

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph unchanged.

        Parameters
        ----------
        graph : FunctionGraph
            Any graph.

        Returns
        -------
        FunctionGraph
            The same object.
        """
        return graph


@record
class Entry:
    """A registered item: a relation in one direction, a rewriter, a choice or a database.

    Attributes
    ----------
    name : str
        Unique in its database.
    item : object
        The registered item.
    tags : frozenset of str
        All tags that select it: registered tags, tags and labels of the relation, and its name.
        The names and tags of the databases that contain it count as well.
    excluded_by : frozenset of str
        Further names that exclude it: the relation's name if it is registered backward, and the
        other phases if it is in several.
    position : float
        Its position in a sequence; in a fixed point, the order of registration.
    aliases : frozenset of str
        The field's other names for its tags, which also select and exclude it.
    """

    name: str
    item: Any
    tags: frozenset[str]
    excluded_by: frozenset[str]
    position: float
    aliases: frozenset[str] = frozenset()

    def selected_by(self, query: RewriteDatabaseQuery, outer: frozenset[str] = frozenset()) -> bool:
        """Return True if a query selects the entry, whose databases have the tags ``outer``."""
        return query.accepts(self.tags | self.aliases | outer, self.excluded_by)

    def line(self, width: int = 0) -> str:
        """Return the entry's name, padded to a width, its summary, and its tags."""
        names = {self.name, item_name(self.item), getattr(self.item, "name", self.name)}
        own = sorted((self.tags | self.excluded_by) - names)
        return f"{self.name:<{width}}  {summary(self.item)}  [{', '.join(own)}]"

    def __str__(self) -> str:
        return self.line()


def redeclared(old: Any, new: Any) -> bool:
    """Return True if two items come from one declaration that ran twice, as in a notebook cell.

    A function or class has the same module and qualified name both times.  Items declared inside a
    function, or by a constructor such as ``rg.PatternNodeRewriter``, have the same text and line.

    Parameters
    ----------
    old, new : object
        The registered item, and one to register under its name.

    Returns
    -------
    bool
        Whether the second replaces the first.
    """
    if old is new:
        return True
    if isinstance(old, Relation) and isinstance(new, Relation):
        if old.label != new.label or old.__module__ != new.__module__:
            return False
        if "<locals>" not in old.__qualname__:
            return old.__qualname__ == new.__qualname__ != ""
        return old.location == new.location and str(old) == str(new)
    first, second = (getattr(x, "function", type(x)) for x in (old, new))
    place = [(x.__module__, x.__qualname__) for x in (first, second)]
    return first is not second and place[0] == place[1] and "<locals>" not in first.__qualname__


def summary(item: Any) -> str:
    """Return a one-line summary of an item."""
    if isinstance(item, Relation):
        way = "backward" if item.backward else "forward"
        return f"{way}: {describe(item).partition(': ')[2]}"
    if isinstance(item, LoweringChoice):
        return item.description
    return describe(item).partition(": ")[2]


def width_of(entries: Iterable[Entry]) -> int:
    """Return the length of the longest name."""
    return max((len(entry.name) for entry in entries), default=0)
