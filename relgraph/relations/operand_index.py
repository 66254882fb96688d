"""Views: the operands of one n-ary application, indexed for matching.

The index finds an operand by its *key* (its op, or that it is a constant), by itself, or by the
nodes inside it.  A view keeps its index while a sum or product grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from relgraph.ir.node import Constant, Variable
from relgraph.relations.clause import Rewrite, is_ac
from relgraph.relations.nary import NEAR, Kind, canonical, leaves
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
PLAIN = (False, None)  # the layer of operands that are added, as they stand
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

    ``scales`` holds the coefficient of each operand if the rewrite matched the operands without
    them, or one for all of them; numbers, negative for operands that are subtracted.
    """

    rewrite: Rewrite
    bindings: tuple[Any, ...]
    taken: tuple[Variable, ...]
    result: Variable
    scales: tuple[Any, ...] = ()

    @property
    def subtracted(self) -> bool:
        """True if the sum subtracts the result."""
        return bool(self.scales) and max(self.scales) < 0

    @property
    def fired(self) -> tuple[Variable, Rewrite, tuple[Any, ...]]:
        """The result, the rewrite and its bindings, as matchers return them."""
        return self.result, self.rewrite, self.bindings


class Match(NamedTuple):
    """A match in a view: the operands it removes, and the one it adds or subtracts."""

    slots: tuple[int, ...]
    firing: Firing
    negative: bool = False


class Layer:
    """Operands of one sign and coefficient, indexed.

    ``operands`` maps slots to operands, in order of first occurrence.  ``index`` maps the key of an
    operand to its slots; with ``by_identity`` it also maps its canonical form and, for the ops and
    positions in ``inside``, ``(op, position, what stands there)``.  Constants have no entry by
    identity: folding combines equal ones, and refuses where that would overflow.  The layer is
    ``repeated`` if two operands were ever alike.
    """

    __slots__ = ("by_identity", "index", "inside", "operands", "repeated")

    def __init__(
        self, by_identity: bool, inside: Mapping[Any, frozenset[int]] = NOTHING_INSIDE
    ) -> None:
        self.by_identity = by_identity
        self.inside = inside
        self.operands: dict[int, Variable] = {}
        self.index: dict[Any, dict[int, None]] = {}
        self.repeated = False

    def add(self, node: Variable, slot: int, form: Any = None) -> None:
        """Put an operand into a slot; its canonical form, if it is known, is computed once."""
        self.operands[slot] = node
        index = self.index
        key = node.op if node.op is not None else key_of(node)
        places = index.get(key)
        if places is None:
            index[key] = {slot: None}
        else:
            places[slot] = None
        if self.by_identity and key is not Constant:
            if form is None:
                form = canonical(node)
            places = index.get(form)
            if places is None:
                index[form] = {slot: None}
            else:
                places[slot] = None
                self.repeated = True
        if key in self.inside:
            for place in _inside(node, self.inside[key]):
                index.setdefault(place, {})[slot] = None

    def remove(self, slot: int) -> None:
        """Remove an operand, if it is here."""
        node = self.operands.pop(slot, None)
        if node is None:
            return
        key = key_of(node)
        keys = [key, canonical(node)] if self.by_identity and key is not Constant else [key]
        if key in self.inside:
            keys += _inside(node, self.inside[key])
        for key in keys:
            places = self.index[key]
            del places[slot]
            if not places:
                del self.index[key]


class View:
    """The operands of one n-ary application, indexed: a multiset of (coefficient, term).

    ``operands`` maps slots to operands without their signs, in order of first occurrence, and
    ``negative`` holds the slots of those that are subtracted; ``flipped`` inverts all signs.
    ``cores`` has the coefficient and the core of each operand that has a coefficient, or a sign of
    its own.  Every operand is in the layer of its sign, and its core in the layer of its
    coefficient.  ``arrays`` has the factors of operands of which one is an array of one
    number.  ``alike`` maps a core to the coefficients of its operands, by slot, and ``met``
    holds the cores that several operands have.  ``fresh`` holds the slots that were not matched
    yet.  ``keys`` holds the keys of all operands, and of their cores, that were ever in the view.
    It is ``logged`` if firings need the signs of what they take.
    """

    __slots__ = (
        "_inside", "_slot", "alike", "arrays", "buckets", "by_identity", "collects", "cores",
        "flipped", "fresh", "keys", "kind", "layers", "logged", "main", "met", "negative",
        "operands",
    )  # fmt: skip

    def __init__(
        self,
        by_identity: bool = False,
        inside: Mapping[Any, frozenset[int]] = NOTHING_INSIDE,
        kind: Kind | None = None,
        collects: bool = False,
        logged: bool = True,
    ) -> None:
        self.by_identity = by_identity
        self._inside = inside
        self.kind = kind
        self.collects = collects
        self.logged = logged
        self.main = Layer(by_identity, inside)
        self.layers: dict[Any, Layer] = {PLAIN: self.main}
        self.operands: dict[int, Variable] = {}
        self.negative: set[int] = set()
        self.flipped = False
        self.cores: dict[int, tuple[Any, Variable]] = {}
        self.arrays: dict[int, tuple[Any, Variable]] = {}
        self.alike: dict[Any, dict[int, Any]] = {}
        self.met: dict[Any, None] = {}
        self.buckets: dict[Any, Buckets] = {}
        self.fresh: list[int] = []
        self.keys: set[Any] = set()
        self._slot = 0

    def add(self, node: Variable, slot: int | None = None, negative: bool = False) -> int:
        """Put an operand into a slot, by default a new one at the end; return the slot."""
        if slot is None:
            slot = self._slot
            self._slot += 1
        self.operands[slot] = node
        self.fresh.append(slot)
        kind = self.kind
        op = node.op
        key = op if op is not None else key_of(node)
        self.keys.add(key)
        if kind is None:
            self.main.add(node, slot)
            return slot
        sign = negative != self.flipped
        form = canonical(node) if self.collects and key is not Constant else None
        if sign:
            self.negative.add(slot)
            self.layer((True, None)).add(node, slot, form)
        else:
            self.main.add(node, slot, form)
        scale: Any = -1 if sign else 1
        if op in kind.scaling:
            split = kind.split(node)
            if split is not None:
                number, core = split
                self.cores[slot] = split
                self.keys.add(core.op if core.op is not None else key_of(core))
                scale = -number if sign else number
                form = (
                    canonical(core) if form is not None and core.__class__ is not Constant else None
                )
                self.layer(_layer(scale)).add(core, slot, form)
            elif form is not None:
                array = kind.split_array(node)
                if array is not None:
                    self.arrays[slot] = array
                    number, form = array[0].uniform.item(), canonical(array[1])
                    scale = -number if sign else number
        if form is not None:
            alike = self.alike.get(form)
            if alike is None:
                self.alike[form] = {slot: scale}
            else:
                alike[slot] = scale
                self.met[form] = None
        return slot

    def fill(self, nodes: Iterable[Variable]) -> None:
        """Put operands into new slots, in order."""
        first, operands, index = self._slot, self.operands, self.main.index
        plain: dict[int, Variable] = {}
        scaling = frozenset[Any]() if self.kind is None else self.kind.scaling
        quick = not (self.by_identity or self.collects or self.flipped)
        inside, add = self._inside, self.add
        slot = first - 1
        for slot, node in enumerate(nodes, first):
            op = node.op
            key = op if op is not None else key_of(node)
            if not quick or op in scaling or key in inside:
                add(node, slot)
                continue
            operands[slot] = plain[slot] = node
            places = index.get(key)
            if places is None:
                index[key] = {slot: None}
                self.keys.add(key)
            else:
                places[slot] = None
        self.main.operands.update(plain)
        self.fresh.extend(plain)
        self._slot = slot + 1

    def layer(self, key: Any) -> Layer:
        """Return the layer of a sign, True for subtracted operands, and a coefficient."""
        layer = self.layers.get(key)
        if layer is None:
            layer = self.layers[key] = Layer(self.by_identity, self._inside)
        return layer

    def core(self, slot: int) -> Variable:
        """Return an operand without its coefficient."""
        split = self.cores.get(slot)
        return self.operands[slot] if split is None else split[1]

    def has_whole_core(self, slot: int) -> bool:
        """Return True if like terms share an operand as a whole, or one of its own operands."""
        split = self.cores.get(slot) or self.arrays.get(slot)
        return split is None or split[1] in self.operands[slot].inputs

    def scale(self, slot: int) -> Any:
        """Return the coefficient of an operand, with its sign."""
        split = self.cores.get(slot)
        number = 1 if split is None else split[0]
        return -number if self.is_negative(slot) else number

    def is_negative(self, slot: int) -> bool:
        """Return True if an operand is subtracted."""
        return (slot in self.negative) != self.flipped

    def all_taken(self, slots: Sequence[int]) -> bool:
        """Return True if all operands but these are subtracted."""
        added = len(self.negative) if self.flipped else len(self.operands) - len(self.negative)
        return added == sum([not self.is_negative(i) for i in slots])

    def written(self, slot: int) -> Variable:
        """Return an operand with its sign, as an operand of an addition."""
        node = self.operands[slot]
        if not self.is_negative(slot):
            return node
        assert self.kind is not None
        return self.kind.negated(node)

    def taken(self, slots: Sequence[int]) -> tuple[Variable, ...]:
        """Return the operands that a firing takes, for a log with their signs."""
        if self.logged and (self.negative or self.flipped):
            return tuple([self.written(i) for i in slots])
        operands = self.operands
        return tuple([operands[i] for i in slots])

    def remove(self, slots: Sequence[int]) -> None:
        """Remove operands, from every layer and bucket too."""
        if len(slots) == len(self.operands):
            self._clear()
            return
        for slot in slots:
            sign = slot in self.negative
            self.negative.discard(slot)
            node = self.operands.pop(slot)
            self.layers[sign, None].remove(slot)
            core, scale = node, 1
            if slot in self.cores:
                scale, core = self.cores.pop(slot)
                key = _layer(-scale if sign else scale)
                self.layers[key].remove(slot)
                if key[1] is not None and not self.layers[key].operands:
                    del self.layers[key]
            if slot in self.arrays:
                _, core = self.arrays.pop(slot)
            if self.collects and core.__class__ is not Constant:
                alike = self.alike[canonical(core)]
                del alike[slot]
        for buckets in self.buckets.values():
            buckets.remove(slots)

    def _clear(self) -> None:
        """Remove all operands."""
        self.operands.clear()
        self.negative.clear()
        self.cores.clear()
        self.arrays.clear()
        self.alike.clear()
        self.main = Layer(self.by_identity, self._inside)
        self.layers = {PLAIN: self.main}
        for buckets in self.buckets.values():
            buckets.clear()

    def in_order(self) -> list[Variable]:
        """Return the operands in order of first occurrence."""
        return [self.written(slot) for slot in sorted(self.operands)]


def _layer(scale: Any) -> tuple[bool, Any]:
    """Return the key of the layer of a coefficient."""
    size = abs(scale)
    return bool(scale < 0), None if size == 1 else size


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
    canonical form.  An operand that has no partner yet is in ``waiting``, and in no bucket.
    """

    __slots__ = ("keys", "members", "ready", "shared", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[int, None] = {}
        self.shared: dict[Any, Variable] = {}
        self.members: dict[Any, dict[int, Any]] = {}
        self.keys: dict[int, list[Any]] = {}
        self.ready: dict[Any, None] = {}

    def clear(self) -> None:
        """Remove all operands."""
        self.members.clear()
        self.keys.clear()
        self.ready.clear()
        self.waiting.clear()

    def remove(self, slots: Iterable[int]) -> None:
        """Remove operands from all their buckets."""
        for slot in slots:
            self.waiting.pop(slot, None)
            for key in self.keys.pop(slot, ()):
                members = self.members[key]
                del members[slot]
                if not members:
                    del self.members[key]
