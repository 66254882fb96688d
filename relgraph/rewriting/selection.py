"""A selection of relations, compiled: one matcher for each head op, and the memo of its results."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from relgraph.errors import OscillationError
from relgraph.ir import forks
from relgraph.ir.forks import cached_property
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations.ac_matcher import AcMatcher
from relgraph.relations.clause import Rewrite, is_ac
from relgraph.relations.decorators import as_relation
from relgraph.relations.discrimination_tree import PlainMatcher
from relgraph.relations.matcher_store import stored
from relgraph.relations.op_kinds import OpKind
from relgraph.relations.relation import Relation
from relgraph.rewriting.firing_cost import Uses
from relgraph.rewriting.interpreter import tracked
from relgraph.rewriting.kanren_memo import Shapes
from relgraph.rewriting.shared_subterms import families, forget_count


class Selection:
    """Relations in declared order, compiled together, and the transforms to try after them.

    Each relation runs in its own direction; selecting both directions of one raises
    OscillationError.  ``regroups`` is True unless every relation is exact: rewriting may then
    regroup sums and products of floats, which changes rounding.  If it is ``thrifty``, relations
    do not fire where they would compute what other users of the matched nodes need anyway.
    """

    def __init__(
        self, relations: Iterable[Any] = (), transforms: Iterable[Any] = (), thrifty: bool = False
    ) -> None:
        self.relations: tuple[Relation, ...] = tuple(dict.fromkeys(map(as_relation, relations)))
        self.transforms = tuple(transforms)
        self._check_directions()
        self.thrifty = thrifty and bool(self.relations)
        self.budgets: dict[Any, int] = {x: x.budget for x in self.relations if x.budget is not None}
        self.regroups = any(x.rounding != "exact" for x in self.relations) or any(
            hasattr(t, "fold") for t in self.transforms
        )
        self.interpreted = tuple(x for x in self.relations if x.interpreted)
        self.shapes = tuple(map(Shapes, self.interpreted))
        self._heads: dict[Any, list[int]] = {}
        for place, relation in enumerate(self.relations):
            for head in relation.heads:
                self._heads.setdefault(head, []).append(place)
        self._kinds = [head for head in self._heads if isinstance(head, OpKind)]
        self._plain: dict[Op, PlainMatcher | None] = {}
        self._open: dict[tuple[Any, ...], PlainMatcher] = {}
        self._ac: dict[Any, AcMatcher | None] = {}
        self._asked: dict[Any, tuple[Any, ...]] = {}
        self.ac_ops = frozenset(op for op in self._heads if is_ac(op)) | frozenset(
            op for t in self.transforms for op in getattr(t, "ac_ops", ())
        )
        self.memo: OrderedDict[Any, dict[Variable, Variable]] = OrderedDict()
        self.results: OrderedDict[tuple[Variable, ...], tuple[Variable, ...]] = OrderedDict()
        self.families = families(self.ac_ops)
        self._idle: set[Variable] = set()  # nodes such that nothing fires at them or below
        self.closed: set[Variable] = set()  # nodes that the views of the last run did not open
        # Nodes that are normal for these numbers of users of others; None for unknown numbers.
        self.refused: dict[Variable, Uses | None] = {}
        # Graphs that a run left with firings refused because of users that may be gone by now.
        self.unsettled: set[tuple[Variable, ...]] = set()
        self.lock = forks.lock()

    def ac_of(self, op: Any) -> AcMatcher | None:
        """Return the matcher of the n-ary views of an op, or None for any other op."""
        try:
            return self._ac[op]
        except KeyError:
            pass
        matcher = None
        if op in self.ac_ops:
            folds = [t.fold for t in self.transforms if hasattr(t, "fold")]
            fold = folds[0] if folds else None
            matcher = AcMatcher(op, self.rewrites_of(op), fold, self.plain(op))
        self._ac[op] = matcher
        return matcher

    @cached_property
    def differences(self) -> dict[Any, AcMatcher]:
        """The matchers that see a difference as a sum with signs, by the op of differences."""
        matchers = [(op, self.ac_of(op)) for op in self.ac_ops if op.difference is not None]
        return {op.difference: x for op, x in matchers if x is not None and x.signed}

    def remember(self, outputs: tuple[Variable, ...], result: tuple[Variable, ...]) -> None:
        """Remember what several runs made of a graph, if the last was remembered."""
        with self.lock:
            if result in self.results:
                self.results[outputs] = result

    def forget(self) -> None:
        """Forget every normal form; compiled matchers stay."""
        for memory in (self.memo, self.results, self._idle, self.refused, self.unsettled):
            memory.clear()

    def trim(self, most: int) -> None:
        """Forget the least recently used normal forms beyond ``most`` nodes."""
        while len(self.results) > 8:
            self.results.popitem(last=False)
        if len(self._idle) > most:
            self._idle.clear()
        total = sum(map(len, self.memo.values()))
        while self.memo and total > most:
            _, dropped = self.memo.popitem(last=False)
            total -= len(dropped)
            self.results.clear()
        if not self.memo:
            self.refused.clear()

    def _check_directions(self) -> None:
        seen: dict[int, Relation] = {}
        for relation in self.relations:
            key = id(relation.forward)
            other = seen.setdefault(key, relation)
            if other.backward != relation.backward:
                raise OscillationError(
                    f"both directions of {relation.name} are selected: each undoes the other",
                    {"selected": ", ".join(x.label for x in self.relations)},
                    "Select one direction.",
                )

    @cached_property
    def needs(self) -> frozenset[Any] | None:
        """The ops, or classes of ops, without which the selection cannot fire; None for any op.

        A transform cannot fire in a graph without the ops it tracks or lists as ``needs``, nor a
        relation without those of its pattern.
        """
        ops: set[Any] = set()
        for relation in self.relations:
            if relation.needs is None:
                return None
            ops.update(relation.needs)
        for transform in self.transforms:
            needed = getattr(transform, "needs", transform.tracks)
            if needed is None:
                return None
            ops.update(needed)
        return frozenset(ops)

    def is_idle(self, outputs: Sequence[Variable]) -> bool:
        """Return True if nothing fires in a graph, after one test of each node as it stands.

        Returns False for selections that need operands in normal form, such as Python rewriters.
        """
        needs, idle = self.needs, self._idle
        if needs is None:
            return False
        nodes = dict.fromkeys([x for x in outputs if x.inputs and x not in idle])
        waiting, ops = list(nodes), set()
        for x in waiting:  # grows as it goes
            ops.add(x.op)
            for y in x.inputs:
                if y.inputs and y not in nodes:
                    if y in idle:
                        ops.add(y.op)
                    else:
                        nodes[y] = None
                        waiting.append(y)
        awake = {op for op in ops if op in needs or op.__class__ in needs}
        if awake:
            if self.interpreted or not ops.isdisjoint(self.families):
                return False
            near = nodes if self._is_deep else _with_ops(nodes, awake)
            if any(map(self._fires, near)):
                return False
            if self._is_deep:  # a node above these may see an op below them
                return True
        idle.update(nodes)
        return True

    @cached_property
    def _is_deep(self) -> bool:
        """Whether a pattern needs an op that is neither its own nor that of an operand."""
        needs = self.needs or frozenset()
        forms = [form for relation in self.relations for form in relation.forms]
        return not all([head in needs or not needs.isdisjoint(roles) for head, roles in forms])

    def _fires(self, x: Variable) -> bool:
        """Return True if something fires at a node as it stands, or may on normal operands."""
        op: Any = x.op
        match = self.plain(op)
        if match is not None and match(x) is not None:
            return True
        return any(
            [not getattr(t, "pure", False) or t.transform(x) is not None for t in self.asked(op)]
        )

    def asked(self, op: Any) -> tuple[Any, ...]:
        """Return the transforms that track applications of an op, in order."""
        try:
            return self._asked[op]
        except KeyError:
            transforms = self._asked[op] = tuple([t for t in self.transforms if tracked(t, op)])
            return transforms

    def computed_whole(self, outputs: Sequence[Variable]) -> list[Variable]:
        """Return the nodes, operands first, no part of which transforms compute again."""
        transforms = [t for t in self.transforms if hasattr(t, "computed_whole")]
        return [x for t in transforms for x in t.computed_whole(outputs)]

    def plain(self, op: Op) -> PlainMatcher | None:
        """Return the matcher of a head op, if any; of a sum, that of the patterns of any op."""
        try:
            return self._plain[op]
        except KeyError:
            pass
        matcher: PlainMatcher | None = None
        general = (type(op), *[kind for kind in self._kinds if kind(op)])
        own = op in self._heads and op not in self.ac_ops
        clauses = self.clauses_of(*((op, *general) if own else general))
        if clauses and own:
            matcher = PlainMatcher(op, clauses)
        elif clauses:  # only open patterns, so one matcher serves all ops with these heads
            matcher = self._open.get(general) or PlainMatcher(op, clauses)
            self._open[general] = matcher
        self._plain[op] = matcher
        return matcher

    def clauses_of(self, *heads: Any) -> list[tuple[Relation, int]]:
        """Return the clauses that match one of these heads, in declared order.

        A class of ops as a head stands for the patterns that leave its parameters open, and a
        kind of ops for those that leave the op open.  A clause is a relation and the number of the
        clause in it.
        """
        places = sorted({i for head in heads for i in self._heads.get(head, ())})
        return [
            (self.relations[place], number)
            for place in places
            for number, (head, _) in enumerate(self.relations[place].forms)
            if head in heads
        ]

    def rewrites_of(self, *heads: Any) -> list[Rewrite]:
        """Return the rewrites with one of these heads, in declared order."""
        clauses = self.clauses_of(*heads)

        def running() -> list[int]:
            return [i for i, (x, number) in enumerate(clauses) if x.rewrite(number) is not None]

        numbers = stored("running", clauses, running)
        return [clauses[i][0].deferred(clauses[i][1]) for i in numbers]

    def place(self, rewrite: Any) -> tuple[int, int | None] | None:
        """Return the indices of the relation that fired and of its rewrite.

        Names are ambiguous: all lambdas share one.  The second index is None if kanren ran the
        relation, and the result is None for a rewrite of no relation of the selection.
        """
        source = relation_of(rewrite)
        number = self._numbers.get(source)
        if number is None:
            return None
        if not isinstance(rewrite, Rewrite):
            return number, None
        places = [i for i, x in enumerate(self.relations[number].rewrites) if x is rewrite]
        return (number, places[0]) if places else None

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        return {x: i for i, x in enumerate(self.relations)}

    @property
    def source(self) -> str:
        """The source of every matcher compiled so far, each branch naming its relation."""
        parts = [m.source for m in self._plain.values() if m is not None]
        for matcher in self._ac.values():
            for rule in matcher.rules if matcher is not None else ():
                parts += rule.sources
        return "\n".join(dict.fromkeys(filter(None, parts)))

    def __repr__(self) -> str:
        return f"Selection({', '.join(x.label for x in self.relations)})"


def _with_ops(nodes: Iterable[Variable], ops: set[Any]) -> Iterable[Variable]:
    """Return the nodes that have one of some ops, or an operand that has one."""
    return [x for x in nodes if x.op in ops or not ops.isdisjoint([y.op for y in x.inputs])]


def relation_of(rewrite: Any) -> Relation | None:
    """Return the relation of a rewrite; None for a rewriter written in Python."""
    source = getattr(rewrite, "source", None)
    return source if isinstance(source, Relation) else None


_selections: OrderedDict[Any, Selection] = OrderedDict()
_lock = forks.lock()
_MOST = 64


def selection_of(
    relations: Sequence[Any], transforms: Sequence[Any] = (), thrifty: bool = False
) -> Selection:
    """Return the compiled selection of these relations; equal arguments give the same object."""
    key = (tuple(relations), tuple(transforms), thrifty)
    with _lock:
        selection = _selections.get(key)
        if selection is not None:
            _selections.move_to_end(key)
            return selection
    compiled = Selection(relations, transforms, thrifty)
    with _lock:
        selection = _selections.setdefault(key, compiled)
        while len(_selections) > _MOST:
            _selections.popitem(last=False)
    return selection


def clear_selections() -> None:
    """Forget every compiled selection, and its memo of normal forms."""
    with _lock:
        _selections.clear()
    forget_count()
