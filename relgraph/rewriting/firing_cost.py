"""Whether a firing pays: it must not compute more than it makes unnecessary.

A relation replaces a few nodes by a few others.  Where nothing else uses the matched nodes, its
direction says that this is a gain.  Where something does, they are computed all the same, and what
is gained are only the nodes that nothing else uses: ``exp(x)**2 = exp(2 x)`` beside ``exp(x)``
would compute a second exponential to save one product.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from relgraph.ir.cost import node_flops, size
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations.shape_proof import nodes_of

_NOTHING = object()
SHARED = -1  # a count of uses that stands for two or more

# The uses of nodes for which a firing was rejected; with the same uses, it is rejected again.
Uses = dict[Variable, int]


class FiringCost:
    """The users of nodes during one run of a selection, and the firings that pay.

    ``users`` counts the uses of each application in the graph that the run started from, the
    outputs among them, and ``normal`` has the normal forms so far.  A node has the users of all
    nodes whose normal form it is.  ``refused`` holds the nodes at which a firing was refused, each
    with what was counted: if some of it is gone when the run is over, the graph is worth another.
    ``depends`` says whether any decision depended on users.
    """

    def __init__(self, users: Mapping[Variable, int], normal: dict[Variable, Variable]) -> None:
        self.users = users
        self.normal = normal
        self.refused: dict[Variable, Uses] = {}
        self.depends = False
        self._before = len(normal)
        self._moved: dict[Variable, int] = {}
        self._last: Any = _NOTHING  # the normal form that was counted last

    def of_node(self, node: Variable, fired: tuple[Variable, Any, tuple[Any, ...]]) -> bool:
        """Return True if the firing that replaces a node pays."""
        return self._pays(node, node.inputs, _cost((node,)), fired)

    def of_operands(
        self, root: Variable, op: Op, taken: Sequence[Variable], firing: Sequence[Any] | None
    ) -> bool:
        """Return True if the firing that replaces some operands of a sum or product pays.

        ``root`` is the sum or product.  For None it is any firing that gathers the operands: it
        does not pay if all of them are used elsewhere.
        """
        if firing is None:
            self.depends = True
            self._follow()
            if any([self._uses(x) < 2 for x in taken]):
                return True
            self.refuse(root, taken)
            return False
        if not getattr(firing[1], "may_recompute", False):
            return True
        kind, count = firing[0].type, len(taken) - 1
        saved = count * op.flops((kind, kind), kind), 2 * count * size(kind)
        return self._pays(root, taken, saved, firing)

    def _pays(
        self,
        root: Variable,
        taken: Sequence[Variable],
        saved: tuple[int, int],
        fired: Sequence[Any],
    ) -> bool:
        """Return True unless the new nodes of a result cost more than the nodes that go.

        ``saved`` is the cost of what goes above the operands ``taken``.
        """
        result, rewrite, bindings = fired
        bound = nodes_of(bindings)
        for x in [x for x in bound if self._is_made(x, taken)]:
            del bound[x]  # its operands are in the graph, it is not
        # An instance may be a bound node as a whole, as x is 1 x; otherwise none but bound nodes
        # means that a matched node is bound, too, and stays: exp(x) / exp(x) = exp(x) exp(-x).
        gathers = rewrite.gathers
        inner = [x for x in taken if x.inputs and x not in bound]
        if gathers and not inner:
            return True
        self.depends = True
        self._follow()
        if inner and rewrite.shallow and not any(map(self._shares, inner)):
            return True
        new, kept = self._built(result, bound)
        left, gone = self._released(taken, kept, bound.keys() | new.keys())
        once = len(set(taken)) == len(taken)  # otherwise the pattern counts an operand twice
        if len(gone) == len(left) and (left or gathers) and once:
            return True
        stack = [x for x in left if x not in gone]
        for x in stack:  # grows as it goes: what is below a node with other users stays as well
            for y in x.inputs:
                if y in bound or y in new:
                    kept.add(y)
                elif y.inputs and y not in kept and y not in left:
                    left[y] = 0
                    stack.append(y)
        new, _ = self._built(result, kept)
        lost = _cost(gone)
        if _cost(new) <= (saved[0] + lost[0], saved[1] + lost[1]):
            return True
        self.refuse(root, (*left, *new, *kept))
        return False

    def _is_made(self, x: Variable, taken: Sequence[Variable]) -> bool:
        """Return True for a sum or product that matching made from the operands left over."""
        op: Any = x.op
        if op is None or not (op.associative and op.commutative) or self._uses(x):
            return False
        seen = dict.fromkeys(taken)
        stack = list(seen)
        for y in stack:  # grows as it goes
            nested = [z for z in y.inputs if z.op is op and z not in seen]
            seen.update(dict.fromkeys(nested))
            stack += nested
        return x not in seen

    def refuse(self, root: Variable, nodes: Iterable[Variable]) -> None:
        """Record that a firing was rejected because of the users of some nodes."""
        self.refused.setdefault(root, {}).update({x: self._uses(x) for x in nodes})

    def keeps_shared(self, root: Variable, x: Variable) -> bool:
        """Return True if an operand of a sum has other users, so that its normal form stays."""
        self.depends = True
        if self.users.get(x, 0) < 2:
            return False
        self.refused.setdefault(root, {})[self.normal[x]] = SHARED
        return True

    def _shares(self, x: Variable) -> bool:
        """Return True if an operand has other users, or the products that matching opens in it."""
        if self._uses(x) > 1:
            return True
        op: Any = x.op
        nested = [y for y in x.inputs if y.op is op] if op.associative and op.commutative else []
        for y in nested:  # grows as it goes
            if self._uses(y) > 1:
                return True
            nested += [z for z in y.inputs if z.op is op]
        return False

    def _released(
        self, taken: Sequence[Variable], kept: set[Variable], bound: Collection[Variable]
    ) -> tuple[dict[Variable, int], dict[Variable, None]]:
        """Return the other users of the matched nodes, and the nodes that nothing else uses.

        Of the nodes that are bound, those that are reached are added to ``kept``.
        """
        left: dict[Variable, int] = {}
        gone: dict[Variable, None] = {}
        stack = list(taken)
        while stack:
            x = stack.pop()
            if not x.inputs or x in kept or x in bound:
                kept.add(x)
                continue
            left[x] = left.get(x) or self._uses(x)
            left[x] -= 1
            if left[x] <= 0 and x not in gone:
                gone[x] = None
                stack += x.inputs
        return left, gone

    def _built(
        self, result: Variable, bound: Collection[Variable]
    ) -> tuple[dict[Variable, None], set[Variable]]:
        """Return the nodes of a result that the graph has not, and those below that it has.

        Bound nodes are not among them, nor what is below these.
        """
        new: dict[Variable, None] = {}
        kept: set[Variable] = set()
        stack = [result]
        for x in stack:  # grows as it goes
            if not x.inputs or x in new or x in bound:
                continue
            if self._uses(x):
                kept.add(x)
            else:
                new[x] = None
                stack += x.inputs
        return new, kept

    def _uses(self, x: Variable) -> int:
        """Return how often a node is used, as far as the run got."""
        moved = self._moved.get(x, 0)
        return moved + self.users.get(x, 0) if self.normal.get(x, x) is x else moved

    def _follow(self) -> None:
        """Count the users of what became normal since the last call for its normal form."""
        normal, users, moved = self.normal, self.users, self._moved
        last, self._last = self._last, next(reversed(normal), None)
        for x in users if last is _NOTHING else reversed(normal):
            if x is last:
                break
            count = users.get(x)
            if count is not None:
                y = normal.get(x, x)
                if y is not x:
                    moved[y] = moved.get(y, 0) + count

    def holds(self, x: Variable, uses: Uses | None) -> bool:
        """Return True if a firing that an earlier run rejected at a node is rejected again."""
        if uses is None or not are_used(uses, self.users):
            return False
        self.depends = True
        self.refused[x] = uses
        return True

    def keep(self, memo: dict[Variable, Variable]) -> dict[Variable, Uses]:
        """Reduce the memo of a run to what holds whoever uses the nodes.

        That is what was there before the run.  Of what came, a node that is normal is so in any
        graph, unless a firing was refused at it, or in it: return the normal forms of the nodes
        where one was refused, with what was counted.
        """
        if not self.depends:
            return {}
        refused: dict[Variable, Uses] = {}
        for x, uses in self.refused.items():
            refused.setdefault(memo.get(x, x), {}).update(uses)
        for x in list(islice(memo, self._before, None)):
            if memo[x] is not x or x in refused or x in self.refused:
                del memo[x]
        return refused


def are_used(uses: Uses, users: Mapping[Variable, int]) -> bool:
    """Return True if nodes have the recorded numbers of uses."""
    for x, count in uses.items():
        now = users.get(x, 0)
        if now != count and (count != SHARED or now < 2):
            return False
    return True


def _cost(nodes: Collection[Variable]) -> tuple[int, int]:
    """Return the operations of some nodes; of nodes alike in it, the elements that they read."""
    return sum(map(node_flops, nodes)), sum([size(y.type) for x in nodes for y in x.inputs])
