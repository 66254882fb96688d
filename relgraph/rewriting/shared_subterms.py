"""The users of nodes, and the nested sums and products among them, from one graph to the next.

The selections of a pipeline run in turn on nearly the same graph, and a graph is often
rewritten again after a small change.  So one count serves all selections of a thread, and the next
graph's users are recounted only in the nodes that were added or removed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from relgraph.ir.node import Variable
from relgraph.ir.op import Op

KEPT = 50_000  # the largest graph, in applications, to remember


def families(ops: Iterable[Op]) -> dict[Op | None, Op]:
    """Return the op that n-ary views of each op belong to: differences are sums, too."""
    return {x: op for op in ops for x in (op, op.difference, op.inverse) if x is not None}


class Sharing:
    """The users of each application in the last graph, and those that nest it in its own family.

    ``families`` are those of all selections that have asked so far.
    """

    __slots__ = ("_closed", "_outputs", "_users", "families", "nested")

    def __init__(self) -> None:
        self.families: dict[Op | None, Op] = {}
        self._forget()

    def _forget(self) -> None:
        """Start again: the next graph is counted as a whole."""
        self._outputs: list[Variable] = []
        self._users: dict[Variable, int] = {}
        self.nested: dict[Variable, int] = {}
        self._closed: frozenset[Variable] = frozenset()

    def count(
        self, outputs: Sequence[Variable], families: Mapping[Op | None, Op]
    ) -> tuple[frozenset[Variable], dict[Variable, int]]:
        """Return the closed applications of some families, and how often each application is used.

        Closed are those that are nested in the same op, or in its difference or inverse, and also
        have other users.  Views do not open these: a sum computed once for two users stays one sum.
        Being an output of the graph counts as a use.  The counts hold until the next call.
        """
        if not families.keys() <= self.families.keys():
            self.families |= families
            self._forget()
        gone, self._outputs = self._outputs, [x for x in outputs if x.inputs]
        users: dict[Variable, int] = {}
        nested: dict[Variable, int] = {}
        if self._count(self._outputs, users, nested):
            touched = {*nested, *users}
            for counts, new in ((self._users, users), (self.nested, nested)):
                for x, n in new.items():
                    counts[x] = counts.get(x, 0) + n
            touched |= self._drop(gone)
            counted, within, closed = self._users, self.nested, self._closed
            self._closed ^= {
                x for x in touched if (x in closed) is not (x in within and counted[x] > 1)
            }
        else:
            self._users, self.nested = users, nested
            self._closed = frozenset([x for x in nested if users[x] > 1])
        closed, counts = self._closed, self._users
        if len(families) < len(self.families):
            own = [x for x in closed if x.op in families]
            closed = closed if len(own) == len(closed) else frozenset(own)
        if len(counts) > KEPT:
            self._forget()
        return closed, counts

    def _count(
        self, roots: Iterable[Variable], users: dict[Variable, int], nested: dict[Variable, int]
    ) -> bool:
        """Count the uses in a graph's new nodes; return True if it shares nodes with the last."""
        known, families, met = self._users, self.families, False
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
            family = families.get(node.op)
            for x in node.inputs:
                if not x.inputs:
                    continue
                if family is not None and families.get(x.op) is family:
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
        """Remove the uses in nodes that are no longer used; return the nodes that lost a use."""
        users, nested, families = self._users, self.nested, self.families
        touched = set(roots)
        stack = list(roots)
        while stack:
            node = stack.pop()
            users[node] -= 1
            if users[node]:
                continue
            del users[node]
            nested.pop(node, None)
            family = families.get(node.op)
            for x in node.inputs:
                if not x.inputs:
                    continue
                touched.add(x)
                stack.append(x)
                if family is not None and families.get(x.op) is family:
                    nested[x] -= 1
                    if not nested[x]:
                        del nested[x]
        return touched


class _Last(threading.local):
    """What the last run in each thread counted."""

    sharing: Sharing | None = None


_last = _Last()


@contextmanager
def last_count() -> Iterator[Sharing]:
    """Lend the count of this thread's last run.

    A run within another run counts anew, as does the one after a run that raised.
    """
    sharing, _last.sharing = _last.sharing or Sharing(), None
    yield sharing
    _last.sharing = sharing


def forget_count() -> None:
    """Forget what the last run in this thread counted."""
    _last.sharing = None
