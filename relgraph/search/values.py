"""The values of the classes of an e-graph: their types and facts, and how to write them as nodes.

A class of n x 1 or 1 x n is a vector, one of 1 x 1 a scalar, unless it is a batch.

What is computed is a :class:`State`.  A :class:`Candidate` of a state is a function from the values
of other states to its value.  Applied to placeholders, it is a graph whose nodes tell their cost
and facts, so that neither is stated a second time here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import prod
from typing import Any, NamedTuple

import numpy as np

from relgraph.ir.fact_inference import facts_of
from relgraph.ir.facts import BIT, NOTHING, VALUE_FACTS, Facts, proved
from relgraph.ir.graph import toposort_above
from relgraph.ir.node import Constant, Variable, constant, make_input
from relgraph.ir.types import Dim, TensorType
from relgraph.ops.checks import squeeze
from relgraph.ops.elementwise import multiply, negative
from relgraph.ops.linalg.solve import Inv, Solve
from relgraph.ops.linalg.structured import Diag, Eye
from relgraph.ops.permutation import MatrixTranspose
from relgraph.ops.shape import BroadcastTo, dim, expand_dims
from relgraph.search.egraph import EGraph, Node, Shape, children
from relgraph.search.embedding import Embedding
from relgraph.search.labels import UNIT, Coefficient, Factor, Label, Reference
from relgraph.search.options import NodeCost

SCALES = 8  # the multiples of a class that are states of their own; cycles make ever new ones
FACT_NODES = 6  # how many nodes of a class are asked for facts

SWAP, INV = MatrixTranspose(), Inv()


class State(NamedTuple):
    """What is computed: a multiple of a class or of its inverse, or a factorisation of a class."""

    x: int
    inverse: int = 0
    scale: Coefficient = 1
    factored: bool = False


Build = Callable[..., Variable]


class Candidate(NamedTuple):
    """A way to compute a state: its own cost, the states it needs, and how to build it."""

    cost: Any
    needs: tuple[State, ...]
    build: Build


class Operand(NamedTuple):
    """A reference as an operand: the state that holds its value, and what to do with it."""

    state: State
    coefficient: Coefficient
    transposed: int
    shape: Shape


# Yields the ways to compute a node under a label that does not invert, or the plainest one.
Rule = Callable[["Values", Node, Label, bool], Iterator[Candidate]]


class Values:
    """The values of the classes of an e-graph.

    Parameters
    ----------
    egraph : EGraph
        Saturated; from here on it grows only by parts of products.
    embedding : Embedding
    node_cost : callable
        The cost of one node.
    memo : dict
        Facts and costs of nodes, kept between the rounds of a search.
    rules : mapping of str to Rule
        For each kind of node.
    """

    def __init__(
        self,
        egraph: EGraph,
        embedding: Embedding,
        node_cost: NodeCost,
        memo: dict[Any, Any],
        rules: Mapping[str, Rule],
    ) -> None:
        self.egraph, self.embedding, self.node_cost = egraph, embedding, node_cost
        self.rules = rules
        self.memo = memo
        self._below = frozenset(embedding.leaves)
        self.dtype = embedding.dtype or np.dtype("float64")
        self._placeholders: dict[tuple[State, str], Variable] = {}
        self.chain_orders: dict[tuple[int, ...], float] = {}
        self._parts: dict[tuple[Factor, ...], Reference] = {}
        self._scales: dict[int, dict[Coefficient, None]] = {}
        self.inverted = egraph.inverted(embedding.references.values())
        self.batches = self._batches()
        self.facts: dict[int, Facts] = {}
        self._infer_facts()

    # -- analyses ----------------------------------------------------------------------------------

    def _batches(self) -> dict[int, bool]:
        """Return for each class whether its value differs between the matrices of a batch."""
        self.batches = dict.fromkeys(self.egraph.classes, bool(self.embedding.batch))
        changed = bool(self.embedding.batch)
        while changed:
            changed = False
            for x, batched in self.batches.items():
                view = self.egraph.view(x)
                if batched and not all(self.reads_batch(node) for node, _, _ in view):
                    self.batches[x] = False
                    changed = True
        return self.batches

    def reads_batch(self, node: Node) -> bool:
        """Return whether a node is a batch, or has an operand that is one."""
        if node[0] == "leaf":
            return self.embedding.leaves[node[1]].ndim > 2
        return any(self.batches[self.egraph.find(child)[1]] for child in children(node))

    def _infer_facts(self) -> None:
        """Infer the facts of each class from those of its terms, to a fixed point."""
        self.facts = {x: self._facts_of_structure(x) for x in self.egraph.classes}
        for _ in range(4):
            before = dict(self.facts)
            for x in before:
                self.egraph.check_time()
                self.facts[x] |= self._facts_of_terms(x)
            if self.facts == before:
                break
            self._placeholders.clear()
        self._placeholders.clear()

    def _facts_of_structure(self, x: int) -> Facts:
        of = self.egraph.classes[x]
        facts = NOTHING
        if of.symmetry == 1 and of.shape != (1, 1):
            facts |= proved("symmetric")
        if of.inverse_is == 1 or (of.inverse_is == 2 and of.symmetry == 1):
            facts |= proved("orthogonal")
        if x in self.inverted and of.shape != (1, 1):
            facts |= proved("invertible")
        return facts

    def _facts_of_terms(self, x: int) -> Facts:
        """Return the facts of a class that follow from its terms and the facts of operands."""
        egraph, facts = self.egraph, NOTHING
        m, n = egraph.classes[x].shape
        for node, label, _ in egraph.view(x)[:FACT_NODES]:
            if label[2] or not (m == n != 1 or node[0] == "leaf"):
                continue
            operands = [egraph.find(child)[1] for child in children(node)]
            key = (node, *[self.facts.get(y, NOTHING) for y in operands])
            if key not in self.memo:
                candidate = next(self.rules[node[0]](self, node, UNIT, True), None)
                self.memo[key] = NOTHING if candidate is None else facts_of(self.built(candidate))
            facts |= _relabelled(self.memo[key], label)
        return facts

    def note(self, ref: Reference) -> Reference:
        """Return a reference in normal form, with facts also if it was made after the analyses."""
        ref = self.egraph.canonical(ref)
        x = ref[1]
        if x not in self.facts:
            for node in self.egraph.classes[x].nodes:
                for child in children(node):
                    self.note((1, child, 0, 0))
            self.batches[x] = all(self.reads_batch(node) for node in self.egraph.classes[x].nodes)
            self.facts[x] = self._facts_of_structure(x)
            self.facts[x] |= self._facts_of_terms(x)
        return ref

    def part(self, seq: tuple[Factor, ...]) -> Reference:
        """Return the reference of some adjacent factors of a product."""
        ref = self._parts.get(seq)
        if ref is None:
            ref = self.note(self.egraph.part([(1, *factor) for factor in seq]))
            self._parts[seq] = ref
        return ref

    @cached_property
    def shared(self) -> set[tuple[Factor, ...]]:
        """The factors of products whose classes have more than one form."""
        egraph = self.egraph
        products = [entry for entry in egraph.table.items() if entry[0][0] == "product"]
        return {
            node[2]
            for node, ref in products
            if node[2] and not node[1] and len(egraph.view(egraph.find(ref[1])[1])) > 1
        }

    def holds(self, x: int, name: str, t: int = 0) -> bool:
        """Return whether a fact is known of a class, or of its transpose."""
        return bool(self.facts[x].true & BIT[_MIRRORED.get(name, name) if t else name])

    def assumption(self, x: int) -> str:
        """Return what a system with a class as its matrix may assume."""
        if self.holds(x, "spd"):
            return "spd"
        return "symmetric" if self.holds(x, "symmetric") and not self.batches[x] else "general"

    def factorisation_cost(self, x: int) -> float:
        """Return the cost of a system without right sides."""
        matrix = self.placeholder(State(x))
        nothing = matrix.type.with_shape((*matrix.type.shape[:-1], 0))
        return self.node_cost(Solve(self.assumption(x))(matrix, make_input("y", nothing)))

    def cost(self, candidate: Candidate) -> float:
        """Return the cost of what a candidate adds; what the search does not change is free."""
        result = self.built(candidate)
        cost: float | None = self.memo.get(result)
        if cost is None:
            cost = self.memo[result] = cost_of([result], self.node_cost, self._below)
        return cost

    # -- states and operands -----------------------------------------------------------------------

    def type_of(self, x: int) -> TensorType:
        """Return the type of a class's value."""
        shape = self.egraph.classes[x].shape
        if self.batches[x]:
            return TensorType(self.dtype, (*self.embedding.batch, *shape))
        nodes = islice(self.egraph.classes[x].nodes, FACT_NODES)
        leaf = next((self.embedding.leaves[node[1]] for node in nodes if node[0] == "leaf"), None)
        return TensorType(self.dtype if leaf is None else leaf.dtype, plain(shape))

    def placeholder(self, state: State, name: str = "value") -> Variable:
        """Return an input with the type and the facts of a state's value."""
        value = self._placeholders.get((state, name))
        if value is None:
            x, i, *_ = state
            key = type_, facts, *_ = self.type_of(x), self.facts[x], i, name
            value = self.memo.get(key)
            if value is None:
                if i:
                    is_matrix = type_.ndim > 1
                    facts = facts_of(INV(self.placeholder(State(x)))) if is_matrix else NOTHING
                names = [n for n in facts.names() if type_.ndim > 1 or n in VALUE_FACTS]
                value = self.memo[key] = make_input(name, type_, frozenset(names))
            self._placeholders[state, name] = value
        return value

    def built(self, candidate: Candidate) -> Variable:
        """Return what a candidate builds of placeholders, equal ones for states that are alike."""
        needs = enumerate(candidate.needs)
        return candidate.build(*[self.placeholder(state, f"value_{k}") for k, state in needs])

    def operand(self, ref: Reference) -> Operand:
        """Return a reference as an operand."""
        c, x, t, i = self.note(ref)
        m, n = self.egraph.classes[x].shape
        return Operand(State(x, i), c, t, (n, m) if t else (m, n))

    def absorbing(self, operand: Operand, c: Coefficient) -> Operand | None:
        """Return an operand with a coefficient inside, where a sum takes it for nothing."""
        x, i, *_ = operand.state
        if c == 1 or i or not any(node[0] == "sum" for node, _, _ in self.egraph.view(x)):
            return None
        scales = self._scales.setdefault(x, {})
        if len(scales) >= SCALES and c not in scales:
            return None
        scales[c] = None
        return operand._replace(state=State(x, i, c), coefficient=1)

    def is_batch(self, *refs: Reference) -> bool:
        """Return whether any reference is a batch."""
        return any(self.batches[self.egraph.find(ref[1])[1]] for ref in refs)

    def candidate(
        self,
        operands: Sequence[Operand],
        build: Callable[[list[Variable]], Variable],
    ) -> Candidate:
        """Return a candidate that builds from operands: transposed, and matrices beside a batch."""
        states = tuple(dict.fromkeys([operand.state for operand in operands]))
        places = [states.index(operand.state) for operand in operands]

        def built(*values: Variable) -> Variable:
            parts = [
                self.oriented(values[place], operand.transposed)
                for place, operand in zip(places, operands, strict=True)
            ]
            if any(part.ndim > 2 for part in parts):
                parts = [self.at_rank(x, y.shape, 2) for x, y in zip(parts, operands, strict=True)]
            return build(parts)

        return Candidate(None, states, built)

    def linear(self, c: Coefficient, refs: Sequence[Reference], build: Build) -> Candidate:
        """Return a candidate that builds from a coefficient and the values of references.

        It is linear in each, so that their coefficients are factors of the one that it gets.
        """
        operands = [self.operand(ref) for ref in refs]
        c *= prod([operand.coefficient for operand in operands])
        return self.candidate(operands, lambda parts: build(c, *parts))

    # -- nodes -------------------------------------------------------------------------------------

    def number(self, c: Coefficient) -> Variable:
        """Return a coefficient as a constant."""
        return constant(np.asarray(float(c), self.dtype))

    def filled(self, c: Coefficient, shape: tuple[Dim, ...]) -> Variable:
        """Return an array of equal elements."""
        return self.broadcast(self.number(c), shape)

    def identity(self, n: Dim) -> Variable:
        """Return the identity of a static or named size."""
        if isinstance(n, int):
            return Eye(n, n, 0, self.dtype.name)()  # type: ignore[no-any-return]
        return Diag(0)(self.filled(1, (n,)))  # type: ignore[no-any-return]

    def broadcast(self, x: Variable, shape: tuple[Dim, ...]) -> Variable:
        """Broadcast a value to a shape of static and named sizes."""
        sizes = [self.size(d) for d in shape if not isinstance(d, int)]
        return BroadcastTo(shape)(x, *sizes)  # type: ignore[no-any-return]

    def size(self, name: Dim) -> Variable:
        """Return the size of a name, as a node."""
        for leaf in self.embedding.leaves:
            for axis, d in enumerate(leaf.type.shape):
                if d == name:
                    return dim(leaf, axis)  # type: ignore[no-any-return]
        return self.embedding.sizes[name]

    def scaled(self, c: Coefficient, x: Variable) -> Variable:
        """Return a multiple of a value."""
        if c == 1:
            return x
        if isinstance(x, Constant) and x.ndim == 0:
            return self.number(c * Fraction(float(x.value)))
        return negative(x) if c == -1 else multiply(self.number(c), x)  # type: ignore[no-any-return]

    def oriented(self, x: Variable, t: int) -> Variable:
        """Return a value, or its transpose; vectors have none."""
        return transposed(x) if t and x.ndim >= 2 else x

    def squeezed(self, x: Variable) -> Variable:
        """Return an array of up to two dimensions as the vector or scalar that it is."""
        axes = tuple([axis - x.ndim for axis, d in enumerate(x.type.shape) if d == 1])
        return squeeze(x, axes) if axes and x.ndim <= 2 else x

    def at_rank(self, x: Variable, shape: Shape, rank: int) -> Variable:
        """Return the value of a matrix of that shape with at least that number of dimensions."""
        if x.ndim >= rank:
            return x
        if x.ndim == 0:
            return expand_dims(x, tuple(range(-rank, 0)))  # type: ignore[no-any-return]
        x = expand_dims(x, (-1,) if shape[1] == 1 else (-2,))
        return expand_dims(x, tuple(range(-rank, -2))) if rank > 2 else x


def transposed(x: Variable) -> Variable:
    """Return the transpose of matrices, which may be transposes themselves, or symmetric."""
    if x.op is SWAP:
        return x.inputs[0]
    return x if facts_of(x).holds("symmetric") else SWAP(x)


def _gains_a_transpose(x: Variable) -> bool:
    return x.op is not SWAP and not facts_of(x).holds("symmetric")


def on_fewer_transposes(
    build: Callable[[list[Variable]], Variable], parts: list[Variable], step: int = 1
) -> Variable:
    """Return f(parts) as the transpose of f(transposed parts) if those are fewer transposes.

    Parameters
    ----------
    build : callable
        The function f.
    parts : list of Variable
    step : {1, -1}
        Whether f takes transposed parts in order or, like a product, from the last to the first.
    """
    now = sum(x.op is SWAP for x in parts)
    if not now or any(x.ndim < 2 for x in parts) or sum(map(_gains_a_transpose, parts)) >= now:
        return build(parts)
    return transposed(build([transposed(x) for x in parts[::step]]))


def cost_of(
    outputs: Iterable[Variable], node_cost: NodeCost, boundary: Collection[Variable] = ()
) -> float:
    """Return the cost of a graph above a boundary, each node counted once."""
    return sum(
        node_cost(x)
        for x in toposort_above(outputs, boundary)
        if x.op is not None and x not in boundary
    )


def plain(shape: tuple[Dim, Dim]) -> tuple[Dim, ...]:
    """Return the shape of a value: a vector or a scalar where sizes are 1."""
    return tuple([d for d in shape if d != 1])


_MIRRORED = {
    "lower_triangular": "upper_triangular",
    "upper_triangular": "lower_triangular",
}
_SIGNED = frozenset({"positive", "nonnegative", "negative", "nonpositive", "spd", "psd"})
_SCALED_AWAY = frozenset({"integer", "orthogonal", "permutation", "selection"})


def _relabelled(facts: Facts, label: Label) -> Facts:
    """Return the facts of a matrix, scaled and transposed, from those of the matrix."""
    c, t, _ = label
    lost = (_SCALED_AWAY if c != 1 else frozenset()) | (_SIGNED if c < 0 else frozenset())
    names = [name for name in facts.names() if name not in lost]
    return proved(*[_MIRRORED.get(name, name) if t else name for name in names])
