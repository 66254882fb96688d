"""A labelled union-find over hash-consed nodes, with congruence.

Nodes are tuples, such as ``("sum", ...)``; :mod:`relgraph.search.egraph` says which there are, and
builds them in normal form.  Equal terms are in one class.  The edges of the union-find carry the
labels of :mod:`relgraph.search.labels`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from relgraph.ir.cost import NOMINAL
from relgraph.ir.types import Dim
from relgraph.rewriting.budgets import is_over
from relgraph.search.labels import (
    UNIT,
    Factor,
    Label,
    Reference,
    compose,
    inverse,
    label_of,
)

Shape = tuple[Dim, Dim]
Node = tuple[Any, ...]

FORMS = 40  # how many nodes of a class are looked at, the oldest first
NEW_NODE = 2  # the steps that a new node takes; each term takes one, and one for 4 operands
ORDINARY: Node = ("",)  # of a class that is not special


class OutOfSteps(Exception):
    """The e-graph has used up its steps, or its time."""


class Class:
    """A class of equal terms.

    Attributes
    ----------
    shape : tuple of int or str
        Rows and columns.
    special : tuple
        The node by which it is recognised: a constant, a diagonal matrix, or a multiple of the
        identity, ``("multiple", scalars)``; otherwise :data:`ORDINARY`.
    nodes : dict
        Its nodes, in the order in which they were made.
    parents : dict
        The nodes that have it as a factor.
    symmetry : int
        1 if it equals its transpose, -1 if it is its negative, 0 if neither is known.
    inverse_is : int
        1 if its inverse is its transpose, 2 if its inverse is itself, 0 if neither is known.
    tick : int
        When it last changed.
    """

    __slots__ = ("inverse_is", "nodes", "parents", "shape", "special", "symmetry", "tick")

    def __init__(self, shape: Shape, special: Node, node: Node, tick: int) -> None:
        self.shape = shape
        self.special = special
        self.nodes: dict[Node, None] = {node: None}
        self.parents: dict[Node, None] = {}
        self.symmetry = int(shape == (1, 1) or special[0] in ("eye", "diag", "multiple"))
        self.inverse_is = int(special[0] == "eye")
        self.tick = tick

    @property
    def state(self) -> tuple[Node, int, int]:
        """What is known of its value."""
        return self.special, self.symmetry, self.inverse_is

    @property
    def weight(self) -> tuple[bool, int]:
        """A key by which the class that stays the root of a union comes last."""
        return self.special is not ORDINARY, len(self.parents) + len(self.nodes)


class UnionFind(ABC):
    """Classes of equal nodes.

    Parameters
    ----------
    steps : int
        How many terms may be built, or a quarter as many operands; then :class:`OutOfSteps` is
        raised.
    sizes : mapping of str to int
        Values of named sizes, for comparisons; others count as :data:`relgraph.ir.cost.NOMINAL`.
    """

    def __init__(self, steps: int, sizes: Mapping[str, int] = MappingProxyType({})) -> None:
        self.steps = steps
        self.sizes = sizes
        self.end: float | None = None  # of its time, by the monotonic clock
        self.bounded = True  # off while congruence is restored, which ends by itself
        self.links: list[tuple[Label, int]] = []  # id -> (label, parent in the union-find)
        self.classes: dict[int, Class] = {}
        self.table: dict[Node, Reference] = {}
        self.terms: list[tuple[Node, Shape]] = []  # id -> the node that it was made for
        self.dirty: list[dict[Node, None]] = []
        self.unions = 0
        self.tick = 0
        self._built: Node | None = None  # the last node that was looked up
        self._views: dict[int, list[tuple[Node, Label, int]]] = {}  # until a class changes

    # -- classes and references --------------------------------------------------------------------

    def find(self, x: int) -> tuple[Label, int]:
        """Return the class of an id, and the label that makes the id's term from it."""
        label, parent = self.links[x]
        if parent == x:
            return UNIT, x
        path = []
        while self.links[parent][1] != parent:
            path.append(x)
            x, (label, parent) = parent, self.links[parent]
        for y in reversed(path):  # now x's parent is the root
            label = compose(self.links[y][0], label)
            self.links[y] = (label, parent)
        return label, parent

    def canonical(self, ref: Reference) -> Reference:
        """Return the one form of all references to the same value."""
        c, x, t, i = ref
        label, x = self.find(x)
        if label is not UNIT:
            c, t, i = compose((c, t, i), label)
        of = self.classes[x]
        if of.special[0] == "zero":
            return 1, x, t if of.shape[0] != of.shape[1] else 0, 0
        if i and of.inverse_is:
            i = 0
            t ^= of.inverse_is == 1
        if t and of.symmetry:
            c, t = c * of.symmetry, 0
        return c, x, t, i

    def of(self, ref: Reference) -> Class:
        """Return the class of a reference."""
        return self.classes[self.find(ref[1])[1]]

    def special(self, ref: Reference) -> str:
        """Return the kind of constant or structure of a reference's class, or ""."""
        return str(self.of(ref).special[0])

    def shape(self, ref: Reference) -> Shape:
        """Return the rows and columns of a reference."""
        _, x, t, _ = self.canonical(ref)
        shape = self.classes[x].shape
        return (shape[1], shape[0]) if t else shape

    def extent(self, d: Dim) -> int:
        """Return the size that stands for a dimension in comparisons."""
        return d if isinstance(d, int) else self.sizes.get(str(d), NOMINAL)

    def same(self, a: Reference, b: Reference) -> bool:
        """Return whether two references are known to be equal."""
        return self.canonical(a) == self.canonical(b)

    # -- nodes and unions --------------------------------------------------------------------------

    def intern(self, node: Node, shape: Shape, special: Node = ORDINARY) -> Reference:
        """Return the reference of a node, which is in a class of its own if it is new."""
        self._built = node
        ref = self.table.get(node)
        if ref is None:
            self.spend(NEW_NODE)
            x = len(self.links)
            self.links.append((UNIT, x))
            self.terms.append((node, shape))
            self.tick += 1
            self.classes[x] = Class(shape, special, node, self.tick)
            ref = self.table[node] = (1, x, 0, 0)
            for child in set(children(node)):
                self.classes[self.find(child)[1]].parents[node] = None
        return ref

    def spend(self, steps: int) -> None:
        """Count steps, and raise :class:`OutOfSteps` at the limit."""
        if self.bounded:
            self.steps -= steps
            if self.steps < 0:
                raise OutOfSteps
            self.check_time()

    def check_time(self) -> None:
        """Raise :class:`OutOfSteps`, as at the limit of steps, if the time is over."""
        if is_over(self.end):
            raise OutOfSteps

    def union(self, a: Reference, b: Reference) -> bool:
        """State that two references of one shape are equal; return whether that was new."""
        a, b = self.canonical(a), self.canonical(b)
        if a == b:
            return False
        self.unions += 1
        self.tick += 1
        for ref in (a, b):
            self._views.pop(ref[1], None)
        if a[1] == b[1]:
            return self._stabilise(a[1], compose(inverse(label_of(b)), label_of(a)))
        if self.classes[a[1]].weight < self.classes[b[1]].weight:  # what is special stays the root
            a, b = b, a
        label, x, y = compose(inverse(label_of(b)), label_of(a)), a[1], b[1]
        kept, gone = self.classes[x], self.classes.pop(y)
        self.links[y] = (label, x)
        kept.tick = self.tick
        kept.nodes.update(gone.nodes)
        dirty, before = dict(gone.parents), kept.state
        # A class that is special under a label stays an ordinary one, except for zeros.
        if kept.special is ORDINARY and (label == UNIT or gone.special[0] == "zero"):
            kept.special = gone.special
        kept.symmetry = kept.symmetry or gone.symmetry
        if label[0] in (1, -1):
            kept.inverse_is = kept.inverse_is or gone.inverse_is
        if before != kept.state:
            dirty.update(kept.parents)
        kept.parents.update(gone.parents)
        self.dirty.append(dirty)
        return True

    def _stabilise(self, x: int, label: Label) -> bool:
        """Record that a class equals itself under a label; return whether that was new."""
        c, t, i = label
        of = self.classes[x]
        before = of.state
        if not i and (c != 1 if not t else c not in (1, -1)):
            of.special = ("zero", *of.shape)
        elif not i and t:
            of.symmetry = int(c)
        elif c == 1 and of.shape != (1, 1):
            of.inverse_is = 1 if t else 2
        if before == of.state:
            return False
        of.tick = self.tick
        self.dirty.append(dict(of.parents))
        return True

    def rebuild(self) -> None:
        """Restore congruence: build again each node whose factors have changed."""
        self.bounded = False
        while self.dirty:
            for node in self.dirty.pop():
                old = self.table.get(node)
                if old is None:
                    continue
                self._built = None
                new = self.build(node)
                if self._built != node:  # it is no longer canonical
                    del self.table[node]
                    self._views.pop(self.find(old[1])[1], None)
                    self.union(old, new)
        self.bounded = True

    @abstractmethod
    def build(self, node: Node) -> Reference:
        """Return a node built again from the classes that its factors are in now."""

    # -- views -------------------------------------------------------------------------------------

    def view(self, x: int) -> list[tuple[Node, Label, int]]:
        """Return the nodes of a class, with the label that makes the class from each, and its id.

        Left out are nodes that contain their own class, which are in no cheapest program, and
        sums and products that equal a constant.
        """
        view = self._views.get(x)
        if view is not None:
            return view
        of = self.classes[x]
        view = self._views[x] = []
        constant = of.special[0] not in ("", "diag", "multiple")
        for node in list(of.nodes):
            ref = self.table.get(node)
            if ref is None:
                del of.nodes[node]
                continue
            if constant and node[0] in ("sum", "product", "hadamard"):
                continue
            if any(self.find(child)[1] == x for child in children(node)):
                continue
            view.append((node, inverse(label_of(self.canonical(ref))), ref[1]))
            if len(view) >= FORMS:
                break
        return view

    def forms(self, kind: str, ref: Reference) -> list[tuple[Node, Label, int]]:
        """Return the nodes of a kind that a reference equals under a label."""
        c, x, t, i = self.canonical(ref)
        nodes = [entry for entry in self.view(x) if entry[0][0] == kind]
        return [(node, compose((c, t, i), label), id_) for node, label, id_ in nodes]

    def inverted(self, refs: Iterable[Reference]) -> set[int]:
        """Return the classes that terms or references invert, which are thus invertible."""
        inverses = [ref for ref in map(self.canonical, refs) if ref[3]]
        inverses += [(1, *f) for node in self.table for f in factors(node) if f[2]]
        return {self.find(ref[1])[1] for ref in inverses}


def factors(node: Node) -> list[Factor]:
    """Return the factors that a node refers to under labels."""
    match node[0]:
        case "sum" | "hadamard":
            return [factor for factor, _ in node[1]]
        case "product":
            return list(node[2])
        case "diag" | "diagonal":
            return [node[1]]
        case "apply":
            return [ref[1:] for ref in node[2]]
    return []


def children(node: Node) -> list[int]:
    """Return the ids that a node refers to."""
    if node[0] == "product":
        return [factor[0] for factor in node[2]] + [x for x, _ in node[1]]
    return [node[1]] if node[0] == "det" else [factor[0] for factor in factors(node)]
