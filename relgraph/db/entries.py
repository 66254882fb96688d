"""What databases hold: entries with tags, and choices that are made when a graph is compiled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from relgraph.db.query import RewriteDatabaseQuery
from relgraph.ir.graph import FunctionGraph
from relgraph.relations.relation import Relation
from relgraph.rewriting.rewriters import describe, item_name


@dataclass(frozen=True)
class LoweringChoice:
    """A choice that is made when a graph is compiled, as data that queries select.

    It leaves graphs as they are: an immutable graph has no in-place form and no kernels.  The
    compiler reads which choices a query selected from ``rewriter.choices``.

    Parameters
    ----------
    name : str
        What it is selected and excluded by.
    position : float
        Where it is printed in a sequence.
    description : str
        What it does.
    """

    name: str
    position: float
    description: str

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph as it is.

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


@dataclass(frozen=True)
class Entry:
    """What is registered: a relation in one direction, a rewriter, a choice or a database.

    Attributes
    ----------
    name : str
        Unique in its database.
    item : object
        What is registered.
    tags : frozenset of str
        All tags it is found by: those given, those of the relation, its labels and its name.  The
        names and tags of the databases that hold it count as well.
    excluded_by : frozenset of str
        Further names that exclude it: of a relation registered backward, the relation's own; of one
        in several phases, the other phases.
    position : float
        Its place in a sequence; in a fixed point, the order of registration.
    aliases : frozenset of str
        The field's other names for its tags, which it is found and excluded by as well.
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
        """Return the entry's name, padded to a width, what it does, and its tags."""
        names = {self.name, item_name(self.item), getattr(self.item, "name", self.name)}
        own = sorted((self.tags | self.excluded_by) - names)
        return f"{self.name:<{width}}  {summary(self.item)}  [{', '.join(own)}]"

    def __str__(self) -> str:
        return self.line()


def redeclared(old: Any, new: Any) -> bool:
    """Return True if two items are one declaration, run twice, as when a notebook cell is.

    A function or class has the same module and qualified name both times.  What is declared inside
    a function, or by a constructor such as ``rg.PatternNodeRewriter``, has the same text and line.

    Parameters
    ----------
    old, new : object
        An item that is registered, and one to register under its name.

    Returns
    -------
    bool
        Whether the second takes the place of the first.
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
    """Return what an item does, in a line."""
    if isinstance(item, Relation):
        way = "backward" if item.backward else "forward"
        return f"{way}: {describe(item).partition(': ')[2]}"
    if isinstance(item, LoweringChoice):
        return item.description
    return describe(item).partition(": ")[2]


def width_of(entries: Iterable[Entry]) -> int:
    """Return the length of the longest name."""
    return max((len(entry.name) for entry in entries), default=0)
