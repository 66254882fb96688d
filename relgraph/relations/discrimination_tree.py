"""Matching below a plain head: by the heads of a node's operands.

Most relations with one head op differ in the operands of that op.  So the keys of the operands (an
op, a constant) select the rewrites that could match, and only these are compiled into one function,
when operands with these keys first occur.  A graph pays for the relations that could rewrite its
ops, not for all that are selected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relgraph.errors import RelgraphError
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations.clause import Rewrite
from relgraph.relations.matcher import compile_plain, endless
from relgraph.relations.matcher_store import stored
from relgraph.relations.neighbours import Accepts, everywhere
from relgraph.relations.operand_index import EACH, SEQUENCE, plays
from relgraph.relations.relation import Relation
from relgraph.relations.runtime import OutOfSteps

KEPT = 10_000  # combinations of keys that are remembered

Matcher = Callable[[Variable, Accepts | None], Any]


class PlainMatcher:
    """Matches applications of one op that is not associative and commutative.

    Called with a node, it returns ``(result, rewrite, bindings)``, or None.  If all patterns leave
    the parameters of the op open, one matcher serves all ops of its class.
    """

    __slots__ = ("_by_keys", "_compiled", "_roles", "clauses", "op")

    def __init__(self, op: Op, clauses: Sequence[tuple[Relation, int]]) -> None:
        self.op = op
        self.clauses = tuple(clauses)
        self._roles = [relation.forms[number][1] for relation, number in clauses]
        self._compiled: dict[tuple[int, ...], Matcher | None] = {(): None}
        self._by_keys: dict[Any, Matcher | None] = {}

    def __call__(self, node: Variable, accepts: Accepts | None = None) -> Any:
        """Return the result of the first rewrite that matches a node, or None.

        A firing that ``accepts`` refuses counts as no match; it is asked of rewrites that may
        compute more than they save.
        """
        inputs = node.inputs
        keys: tuple[Any, ...]
        if len(inputs) == 1:
            (x,) = inputs
            keys = (x.op or x.__class__,)
        elif len(inputs) == 2:
            x, y = inputs
            keys = (x.op or x.__class__, y.op or y.__class__)
        else:
            keys = tuple([x.op or x.__class__ for x in inputs])
        try:
            match = self._by_keys[keys]
        except KeyError:
            match = self._made(keys)
        if match is None:
            return None
        try:
            if accepts is None or self.op.arity is not None:
                return match(node, accepts)
            return self._first_accepted(node, self._fitting(keys), accepts)
        except OutOfSteps:
            raise self._endless(node) from None

    def _first_accepted(self, node: Variable, numbers: tuple[int, ...], accepts: Accepts) -> Any:
        """Return the first firing of some clauses that is accepted, for operands in a sequence.

        A rewrite of neighbours is tried on each of them apart from the others.
        """
        while numbers:
            match = self._matcher(numbers)
            fired = None if match is None else match(node, None)
            if fired is None or not fired[1].may_recompute or accepts(node, fired):
                return fired
            refused = fired[1]
            if refused.window:
                fired = everywhere(self, node, refused, accepts)
            else:
                fired = self.only(refused)(node, accepts)
            if fired is not None:
                return fired
            numbers = tuple([i for i in numbers if i > self._number(refused)])
        return None

    def only(self, rewrite: Rewrite) -> Matcher:
        """Return the matcher of one of the rewrites."""
        matcher = self._matcher((self._number(rewrite),))
        assert matcher is not None
        return matcher

    def _number(self, rewrite: Rewrite) -> int:
        """Return the number of the clause of a rewrite."""
        return self.clauses.index((rewrite.source, rewrite.source.number_of(rewrite)))

    def _made(self, keys: tuple[Any, ...]) -> Matcher | None:
        """Return the matcher of the rewrites that operands with these keys could match."""
        if len(self._by_keys) >= KEPT:
            self._by_keys.clear()
        matcher = self._by_keys[keys] = self._matcher(self._fitting(keys))
        return matcher

    def fits(self, *keys: Any) -> bool:
        """Return True if operands with these keys could match a clause."""
        return bool(self._fitting(keys))

    def _fitting(self, keys: tuple[Any, ...]) -> tuple[int, ...]:
        """Return the numbers of the clauses that operands with these keys could match."""
        return tuple([i for i, roles in enumerate(self._roles) if self._fit(keys, roles)])

    def _matcher(self, numbers: tuple[int, ...]) -> Matcher | None:
        """Return the matcher of some clauses, compiled at its first use."""
        if numbers not in self._compiled:
            clauses = [self.clauses[i] for i in numbers]
            self._compiled[numbers] = stored("match", clauses, lambda: self._compile(numbers))
        return self._compiled[numbers]

    def _compile(self, numbers: Sequence[int]) -> Matcher | None:
        """Compile clauses, or return None if none of them runs."""
        rewrites = [self.clauses[i][0].rewrite(self.clauses[i][1]) for i in numbers]
        runs = [x for x in rewrites if x is not None]
        return compile_plain(self.op, runs) if runs else None

    def _endless(self, node: Variable) -> RelgraphError:
        """Return the error for a match that used up its steps."""
        rewrites = [relation.rewrite(number) for relation, number in self.clauses]
        for rewrite in rewrites:
            if rewrite is not None:
                try:
                    compile_plain(self.op, [rewrite])(node, None)
                except OutOfSteps:
                    return endless(rewrite)
        raise AssertionError(rewrites)

    def _fit(self, keys: tuple[Any, ...], roles: tuple[Any, ...]) -> bool:
        """Return True if operands with these keys could match the operands of a pattern."""
        if roles[:1] == (EACH,):
            return any(plays(key, roles[1]) for key in keys)
        if SEQUENCE in roles:
            single = [x for x in roles if x != SEQUENCE]
            return len(keys) >= len(single) and all(
                any(plays(key, x) for key in keys) for x in single
            )
        if len(keys) != len(roles):
            return False
        if all(map(plays, keys, roles)):
            return True
        return self.op.commutative and len(keys) == 2 and all(map(plays, keys[::-1], roles))

    @property
    def source(self) -> str:
        """The sources of the functions compiled so far."""
        functions: list[Any] = [f for f in self._compiled.values() if f is not None]
        return "\n".join(f.source for f in functions)
