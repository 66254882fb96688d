"""Views: the operands of one n-ary application, indexed for matching.

The index finds an operand by its *key* (its op, or that it is a constant), by itself, or by the
nodes inside it.  A view keeps its index while a sum or product grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from relgraph.ir.node import Constant, Variable
from relgraph.relations.clause import Rewrite, is_ac
from relgraph.relations.nary import NEAR, canonical, leaves
from relgraph.relations.op_kinds import OpKind
from relgraph.relations.pattern import Block, OpPattern, PatternNode, PatternVariable, Rest, Term


class _Any:
    """The key of a term that any operand may match: one object, also after it was pickled."""

    def __repr__(self) -> str:
        return "any operand"

    def __reduce__(self) -> str:
        return "ANY"


ANY = _Any()
SEQUENCE = "any operands"  # the key of a sequence of operands
EACH = "each operand"  # before the key that one operand has, where all match one element
ANYWHERE = -1  # the position of the operands of a commutative op
NOTHING_INSIDE: Mapping[Any, frozenset[int]] = {}


def key_of(node: Variable) -> Any:
    """Return the key of an operand: its op, or the class of constants; None for an input."""
    op = node.op
    return op if op is not None else (Constant if node.__class__ is Constant else None)


def anchor(term: Term) -> Any:
    """Return the key of the operands that may match a term."""
    if isinstance(term, PatternVariable):
        return ANY
    if isinstance(term, PatternNode | Block):
        op = term.op
        if isinstance(op, PatternVariable):
            return op.kind
        return op.cls if isinstance(op, OpPattern) else op
    if isinstance(term, Rest):
        return SEQUENCE
    return key_of(term) if isinstance(term, Variable) else Constant


def plays(key: Any, role: Any) -> bool:
    """Return True if an operand with this key may play a role."""
    if role is ANY or key is role or type(key) is role:
        return True
    return isinstance(role, OpKind) and role(key)


class Firing(NamedTuple):
    """One use of a rewrite: the operands it removed from the view, and those it added.

    ``subtracted`` is True for terms that the sum subtracts.
    """

    rewrite: Rewrite
    bindings: tuple[Any, ...]
    taken: tuple[Variable, ...]
    result: Variable
    subtracted: bool = False

    @property
    def fired(self) -> tuple[Variable, Rewrite, tuple[Any, ...]]:
        """The result, the rewrite and its bindings, as matchers return them."""
        return self.result, self.rewrite, self.bindings


class Match(NamedTuple):
    """A match in a view: the operands it removes, and those it adds."""

    slots: tuple[int, ...]
    firing: Firing


class View:
    """The operands of one n-ary application, indexed.

    ``operands`` maps slots to operands, in order of first occurrence.  ``index`` maps the key of an
    operand to its slots; with ``by_identity`` it also maps its canonical form and, for the ops and
    positions in ``inside``, ``(op, position, what stands there)``.  Constants have no entry by
    identity: folding combines equal ones, and refuses where that would overflow.  ``keys`` holds
    the keys of all operands that were ever in the view.
    """

    __slots__ = ("_slot", "buckets", "by_identity", "index", "inside", "keys", "operands")

    def __init__(
        self, by_identity: bool, inside: Mapping[Any, frozenset[int]] = NOTHING_INSIDE
    ) -> None:
        self.by_identity = by_identity
        self.inside = inside
        self.operands: dict[int, Variable] = {}
        self.index: dict[Any, dict[int, None]] = {}
        self.buckets: dict[Any, Buckets] = {}
        self.keys: set[Any] = set()
        self._slot = 0

    def add(self, node: Variable, slot: int | None = None) -> int:
        """Put an operand into a slot, by default a new one at the end."""
        if slot is None:
            slot = self._slot
            self._slot += 1
        self.operands[slot] = node
        index = self.index
        key = node.op if node.op is not None else key_of(node)
        places = index.get(key)
        if places is None:
            index[key] = {slot: None}
            self.keys.add(key)
        else:
            places[slot] = None
        if self.by_identity and key is not Constant:
            index.setdefault(canonical(node), {})[slot] = None
        if key in self.inside:
            for place in _inside(node, self.inside[key]):
                index.setdefault(place, {})[slot] = None
        return slot

    def fill(self, nodes: Sequence[Variable]) -> Iterable[int]:
        """Put operands into an empty view all at once; return their slots."""
        if self.by_identity or self.inside:
            for node in nodes:
                self.add(node)
            return range(len(nodes))
        by_key: dict[Any, list[int]] = {}
        for slot, node in enumerate(nodes):
            key = node.op if node.op is not None else key_of(node)
            if key in by_key:
                by_key[key].append(slot)
            else:
                by_key[key] = [slot]
        self.operands = dict(enumerate(nodes))
        self.index = {key: dict.fromkeys(slots) for key, slots in by_key.items()}
        self.keys = set(by_key)
        self._slot = len(nodes)
        return range(len(nodes))

    def remove(self, slots: Sequence[int]) -> None:
        """Remove operands, from every bucket too."""
        index, operands = self.index, self.operands
        if len(slots) == len(operands):
            operands.clear()
            index.clear()
            for buckets in self.buckets.values():
                buckets.clear()
            return
        for slot in slots:
            node = operands.pop(slot)
            key = key_of(node)
            by_itself = self.by_identity and key is not Constant
            keys = [key, canonical(node)] if by_itself else [key]
            if key in self.inside:
                keys += _inside(node, self.inside[key])
            for key in keys:
                places = index[key]
                del places[slot]
                if not places:
                    del index[key]
        for buckets in self.buckets.values():
            buckets.remove(slots)

    def in_order(self) -> list[Variable]:
        """Return the operands in order of first occurrence."""
        return [self.operands[slot] for slot in sorted(self.operands)]


def _inside(node: Variable, positions: frozenset[int]) -> list[Any]:
    """Return ``(op, position, operand)`` for each operand of an application, without repeats."""
    op = node.op
    assert op is not None
    if ANYWHERE in positions:
        inner = leaves(node, op, (), NEAR) if is_ac(op) else node.inputs
        return [(op, ANYWHERE, x) for x in dict.fromkeys(map(canonical, inner))]
    return [(op, i, canonical(node.inputs[i])) for i in positions]


class Buckets:
    """The operands that are instances of a gather rule's element, by their shared variables.

    The key of a bucket is what its operands share, with their types.  ``members`` maps it to the
    operands' own parts by slot, and ``keys`` maps a slot to its buckets.  ``ready`` holds the
    buckets that a second operand has joined, in that order, and ``shared`` the first node of each
    canonical form.
    """

    __slots__ = ("keys", "members", "ready", "shared")

    def __init__(self) -> None:
        self.shared: dict[Any, Variable] = {}
        self.members: dict[Any, dict[int, Any]] = {}
        self.keys: dict[int, list[Any]] = {}
        self.ready: dict[Any, None] = {}

    def clear(self) -> None:
        """Remove all operands."""
        self.members.clear()
        self.keys.clear()
        self.ready.clear()

    def remove(self, slots: Iterable[int]) -> None:
        """Remove operands from all their buckets."""
        for slot in slots:
            for key in self.keys.pop(slot, ()):
                members = self.members[key]
                del members[slot]
                if not members:
                    del self.members[key]
