"""Skeletons: the upper levels of a graph, which goals look at instead of the graph itself.

A goal does with a skeleton what it does with every graph of that shape, provided that it never
looks further: a skeleton reports every access to what it does not show.
"""

from __future__ import annotations

from typing import Any, NoReturn

from relgraph.ir.node import Apply, Constant, Variable


class Looked(Exception):
    """A goal looked at more than a skeleton shows."""


class Watch:
    """The observer of a search, notified when a goal looks at more than a skeleton shows.

    Attributes
    ----------
    looked : bool
        Whether one did.
    deeper : bool
        Whether it looked for the parts of a node, which a skeleton with more levels shows.
    """

    __slots__ = ("deeper", "looked")

    def __init__(self) -> None:
        self.looked = self.deeper = False

    def report(self, deeper: bool = False) -> NoReturn:
        """Record the look, and end the search."""
        self.deeper = deeper and not self.looked
        self.looked = True
        raise Looked


def _hidden(x: Any) -> Any:
    x.watch.report()


_set = object.__setattr__


class _Shadow(Variable):
    """A stand-in for a node, which shows its identity and hides every attribute.

    Attributes
    ----------
    number : int
        Its index among the nodes of its outline.
    watch : Watch
        Notified when a hidden attribute is read.
    """

    __slots__ = ()
    number: int
    watch: Watch

    def __getattr__(self, name: str) -> NoReturn:
        self.watch.report()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Variable) and not isinstance(other, _Shadow):
            self.watch.report()
        return self is other

    def __hash__(self) -> int:
        return int(_hidden(self))

    op = inputs = type = _facts = _digest = property(_hidden)


class Skeleton(_Shadow, Apply):
    """A node of which unification sees the op and the operands, or only its identity.

    Attributes
    ----------
    parts : tuple or None
        Its op and its operands; None where they are not shown.
    """

    __slots__ = ("number", "parts", "watch")
    parts: tuple[Any, ...] | None

    def __init__(self, number: int, watch: Watch) -> None:
        _set(self, "number", number)
        _set(self, "parts", None)
        _set(self, "watch", watch)

    def __length_hint__(self) -> int:
        """Return the length of its S-expression, which ``cons`` needs."""
        return len(self.parts or self.watch.report(deeper=True))


class Atom(_Shadow):
    """A node that unification sees as an input, which has no parts."""

    __slots__ = ("number", "watch")

    def __init__(self, number: int, watch: Watch) -> None:
        _set(self, "number", number)
        _set(self, "watch", watch)


class Outline:
    """The upper levels of a graph.

    Parameters
    ----------
    node : Variable
        The root, an application.
    levels : int
        How many levels are shown.

    Attributes
    ----------
    nodes : list of Variable
        Its nodes, the shown ones first.
    shown : int
        How many are shown.
    key : tuple
        What is shown: ops, which operands are the same nodes, and constants with their values.
        Nodes with equal keys have the same skeleton.
    """

    __slots__ = ("key", "nodes", "shown")

    def __init__(self, node: Variable, levels: int) -> None:
        self.nodes = nodes = [node]
        numbers = {node: 0}
        key: list[Any] = []
        self.shown = 0
        for _ in range(levels):
            shown = nodes[self.shown :]
            self.shown = len(nodes)
            for x in shown:
                if x.op is None:
                    key.append(x if isinstance(x, Constant) else None)
                    continue
                key.append(x.op)
                for y in x.inputs:
                    number = numbers.get(y)
                    if number is None:
                        number = numbers[y] = len(nodes)
                        nodes.append(y)
                    key.append(number)
        self.key = tuple(key)

    def skeleton(self, watch: Watch) -> Skeleton:
        """Return the skeleton that goals look at.

        Parameters
        ----------
        watch : Watch
            Notified when a goal looks at more.
        """
        made: dict[Variable, Any] = {}
        for number, x in enumerate(self.nodes):
            shown = number < self.shown
            if shown and isinstance(x, Constant):
                made[x] = x
            elif shown and x.op is None:
                made[x] = Atom(number, watch)
            else:
                made[x] = Skeleton(number, watch)
        for x in self.nodes[: self.shown]:
            if x.op is not None:
                _set(made[x], "parts", (x.op, *[made[y] for y in x.inputs]))
        root: Skeleton = made[self.nodes[0]]
        return root
