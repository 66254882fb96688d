"""Which nested sums and products have other users, kept up to date from one graph to the next.

A graph is often rewritten again with a small change.  Users are then counted again where the graph
is new and where the last one is gone, not everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from relgraph.ir.node import Variable
from relgraph.ir.op import Op

KEPT = 50_000  # applications up to which the last graph is remembered


class Sharing:
    """The users of the applications of the last graph.

    Parameters
    ----------
    ops : collection of Op
        The associative and commutative ops whose nested applications are of interest.
    """

    __slots__ = ("_changing", "_closed", "_nested", "_outputs", "_users", "ops")

    def __init__(self, ops: Collection[Op]) -> None:
        self.ops = ops
        self._forget()

    def _forget(self) -> None:
        """Begin anew: the next graph is counted whole."""
        self._outputs: list[Variable] = []
        self._users: dict[Variable, int] = {}
        self._nested: dict[Variable, int] = {}
        self._closed: frozenset[Variable] = frozenset()
        self._changing = False

    def closed(self, outputs: Sequence[Variable]) -> frozenset[Variable]:
        """Return the applications nested in the same op that have other users as well.

        They are not opened into their clients: a sum computed once for two users stays one sum.

        Parameters
        ----------
        outputs : sequence of Variable
            The graph; being an output counts as a use.
        """
        if self._changing:  # something stopped the last call half way
            self._forget()
        self._changing = True
        gone, self._outputs = self._outputs, [x for x in outputs if x.inputs]
        users: dict[Variable, int] = {}
        nested: dict[Variable, int] = {}
        if self._count(self._outputs, users, nested):
            touched = {*nested, *users}
            for counts, new in ((self._users, users), (self._nested, nested)):
                for x, n in new.items():
                    counts[x] = counts.get(x, 0) + n
            touched |= self._drop(gone)
            changed = {x for x in touched if (x in self._closed) != self._is_closed(x)}
            if changed:
                self._closed = self._closed ^ changed
        else:
            self._users, self._nested = users, nested
            self._closed = frozenset([x for x in nested if users[x] > 1])
        found = self._closed
        if len(self._users) > KEPT:
            self._forget()
        self._changing = False
        return found

    def _is_closed(self, x: Variable) -> bool:
        return x in self._nested and self._users[x] > 1

    def _count(
        self, roots: Iterable[Variable], users: dict[Variable, int], nested: dict[Variable, int]
    ) -> bool:
        """Count the uses made by what is new in a graph; tell whether it meets the last graph."""
        known, ops, met = self._users, self.ops, False
        stack: list[Variable] = []
        for x in roots:
            users[x] = users.get(x, 0) + 1
            if users[x] == 1:
                if x in known:
                    met = True
                else:
                    stack.append(x)
        while stack:
            node = stack.pop()
            op = node.op
            inner = op in ops
            for x in node.inputs:
                if not x.inputs:
                    continue
                if inner and x.op is op:
                    nested[x] = nested.get(x, 0) + 1
                if x in users:
                    users[x] += 1
                    continue
                users[x] = 1
                if x in known:
                    met = True
                else:
                    stack.append(x)
        return met

    def _drop(self, roots: Iterable[Variable]) -> set[Variable]:
        """Take back the uses made by what nothing uses any more; return what lost a use."""
        users, nested, ops = self._users, self._nested, self.ops
        touched = set(roots)
        stack = list(roots)
        while stack:
            node = stack.pop()
            users[node] -= 1
            if users[node]:
                continue
            del users[node]
            nested.pop(node, None)
            inner = node.op in ops
            for x in node.inputs:
                if not x.inputs:
                    continue
                touched.add(x)
                stack.append(x)
                if inner and x.op is node.op:
                    nested[x] -= 1
                    if not nested[x]:
                        del nested[x]
        return touched
