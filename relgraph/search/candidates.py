"""The ways to compute each class of an e-graph, as small graphs of relgraph's ops.

What is computed is a *state*: the value of a class, or its inverse, or a factorisation that several
systems share.  A *candidate* of a state is a function from the values of other states to its value.
Applied to placeholders, it is a graph whose nodes tell their cost and facts, so that neither is
stated a second time here.

A class of n x 1 or 1 x n is a vector, one of 1 x 1 a scalar, unless it is a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from relgraph.ir.cost import NOMINAL
from relgraph.ir.fact_inference import facts_of
from relgraph.ir.facts import BIT, NOTHING, VALUE_FACTS, Facts, proved
from relgraph.ir.node import Constant, Variable, constant, make_input
from relgraph.ir.types import Dim, TensorType
from relgraph.numpy.reductions import sum as total
from relgraph.ops.checks import squeeze
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.contraction import Matmul, Outer
from relgraph.ops.elementwise import (
    add,
    multiply,
    negative,
    power,
    reciprocal,
    square,
    subtract,
    true_divide,
)
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.solve import Det, Inv, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal, Eye
from relgraph.ops.permutation import MatrixTranspose
from relgraph.ops.shape import BroadcastTo, dim, expand_dims
from relgraph.rewriting.passes.blas import structured_matmul
from relgraph.search.egraph import EGraph, Node, children
from relgraph.search.embedding import Embedding, nodes_of
from relgraph.search.labels import (
    Coefficient,
    Factor,
    Label,
    Reference,
    compose,
    flipped,
    quotient,
)
from relgraph.search.options import NodeCost

ALL_CUTS = 8  # the longest product that is cut anywhere
BEST_CUTS = 3  # at how many places a longer one is cut
SCALES = 8  # the multiples of a class that are states of their own; cycles make ever new ones
FACT_NODES = 6  # how many nodes of a class are asked for facts

MATMUL, SWAP, INV = Matmul(), MatrixTranspose(), Inv()

# "value", a class, and 1 for its inverse; or "scaled" with the same and a coefficient; or "factor"
# and a class, for its factorisation.
State = tuple[Any, ...]
Values = Sequence[Variable]
Build = Callable[..., Variable]


class Candidate(NamedTuple):
    """A way to compute a state: its own cost, the states it needs, and how to build it."""

    cost: Any
    needs: tuple[State, ...]
    build: Build
    term: int | None  # the id of the node that it computes, for derivations


class Operand(NamedTuple):
    """A reference as an operand: the state that holds its value, and what to do with it."""

    state: State
    coefficient: Coefficient
    transposed: int


class Candidates:
    """The candidates of the states of an e-graph.

    Parameters
    ----------
    egraph : EGraph
        Saturated; from here on it grows only by parts of products.
    embedding : Embedding
    node_cost : callable
        The cost of one node.
    memo : dict
        Facts of nodes, kept between the rounds of a search.
    """

    def __init__(
        self,
        egraph: EGraph,
        embedding: Embedding,
        node_cost: NodeCost,
        memo: dict[Any, Facts],
    ) -> None:
        self.egraph = egraph
        self.embedding = embedding
        self.node_cost = node_cost
        self.memo = memo
        egraph.bounded = False
        self.dtype = embedding.dtype or np.dtype("float64")
        self.batches = self._batches()
        self.facts: dict[int, Facts] = {}
        self._candidates: dict[State, list[Candidate]] = {}
        self._parts: dict[tuple[Factor, ...], Reference] = {}
        self.placeholders: dict[State, Variable] = {}
        self._orders: dict[tuple[int, ...], float] = {}
        self._below = frozenset(embedding.leaves)  # what the search does not change costs nothing
        self._scales: dict[int, dict[Coefficient, None]] = {}
        self._elementwise_costs: dict[tuple[Any, TensorType], float] = {}
        self._inverted = self._classes_inverted()
        self._explicit = self._inverses_as_wholes()
        self._infer_facts()

    # -- analyses ----------------------------------------------------------------------------------

    def _batches(self) -> dict[int, bool]:
        """Return for each class whether its value differs between the matrices of a batch."""
        leaves = self.embedding.leaves
        batched = {x: bool(self.embedding.batch) for x in self.egraph.classes}
        if not self.embedding.batch:
            return batched
        changed = True
        while changed:
            changed = False
            for x in self.egraph.classes:
                if batched[x] and any(
                    leaves[node[1]].ndim <= 2
                    if node[0] == "leaf"
                    else not any(batched[self.egraph.find(c)[1]] for c in children(node))
                    for node, _, _ in self.egraph.view(x)
                ):
                    batched[x] = False
                    changed = True
        return batched

    def _classes_inverted(self) -> set[int]:
        """Return the classes that a term of the e-graph inverts, which are thus invertible."""
        found = set()
        for node in self.egraph.table:
            for x, _, i in _factors(node):
                if i:
                    found.add(self.egraph.find(x)[1])
        for ref in self.embedding.references.values():
            _, x, _, i = self.egraph.canonical(ref)
            if i:
                found.add(x)
        return found

    def _inverses_as_wholes(self) -> set[int]:
        """Return the classes whose inverses are needed as such, not only as factors of products.

        A product with an inverse is the solution of a system.
        """
        egraph = self.egraph
        refs = list(self.embedding.references.values())
        for node in egraph.table:
            if node[0] != "product":
                refs += [(1, *factor) for factor in _factors(node)]
        found = {egraph.canonical(ref) for ref in refs}
        return {x for _, x, _, i in found if i or egraph.classes[x].shape == (1, 1)}

    def _infer_facts(self) -> None:
        """Infer the facts of each class from those of its terms, to a fixed point."""
        egraph = self.egraph
        known = self.facts
        for x, of in egraph.classes.items():
            facts = NOTHING
            if of.symmetry == 1 and of.shape != (1, 1):
                facts |= proved("symmetric")
            if of.inverse_is == 1 or (of.inverse_is == 2 and of.symmetry == 1):
                facts |= proved("orthogonal")
            if x in self._inverted and of.shape != (1, 1):
                facts |= proved("invertible")
            known[x] = facts
        memo: dict[Any, Facts] = self.memo
        for _ in range(4):
            before = dict(known)
            for x in list(known):
                m, n = egraph.classes[x].shape
                is_square = m == n != 1
                for node, label, _ in egraph.view(x)[:FACT_NODES]:
                    if label[2] or not (is_square or node[0] == "leaf"):
                        continue
                    key = (node, *[known.get(egraph.find(c)[1], NOTHING) for c in children(node)])
                    if key not in memo:
                        memo[key] = self._facts_of_node(node)
                    facts = memo[key]
                    known[x] |= _relabelled(facts, label)
            if known == before:
                break
            self.placeholders.clear()
        self.placeholders.clear()

    def _facts_of_node(self, node: Node) -> Facts:
        """Return the facts of one node, computed in the plainest way."""
        for candidate in self._direct(node, (1, 0, 0), None, plain=True):
            values = [self.placeholder(state) for state in candidate.needs]
            return facts_of(candidate.build(*values))
        return NOTHING

    def facts_of(self, x: int, i: int = 0) -> Facts:
        """Return the facts of a class, or of its inverse."""
        facts = self.facts.get(x, NOTHING)
        if not i:
            return facts
        return facts_of(INV(self.placeholder(("value", x, 0))))

    def holds(self, x: int, t: int, name: str) -> bool:
        """Return whether a fact is known of a class, or of its transpose."""
        facts = self.facts.get(x, NOTHING)
        return bool(facts.true & BIT[_MIRRORED.get(name, name) if t else name])

    # -- values ------------------------------------------------------------------------------------

    def type_of(self, x: int) -> TensorType:
        """Return the type of a class's value."""
        m, n = self.egraph.classes[x].shape
        if self.batches.get(x):
            return TensorType(self.dtype, (*self.embedding.batch, m, n))
        shape = _plain((m, n))
        for node in self.egraph.classes[x].nodes:
            if node[0] == "leaf":
                return TensorType(self.embedding.leaves[node[1]].dtype, shape)
        return TensorType(self.dtype, shape)

    def placeholder(self, state: State) -> Variable:
        """Return an input that stands for the value of a state."""
        value = self.placeholders.get(state)
        if value is None:
            kind, x, i, *_ = state
            type_ = self.type_of(x)
            names = [] if i and type_.ndim < 2 else self.facts_of(x, i).names()
            if type_.ndim < 2:
                names = [name for name in names if name in VALUE_FACTS]
            value = make_input(f"{kind}_{x}_{i}", type_, frozenset(names))
            self.placeholders[state] = value
        return value

    def operand(self, ref: Reference) -> Operand:
        """Return a reference as an operand."""
        c, x, t, i = self.egraph.canonical(ref)
        return Operand(("value", x, i), c, t)

    def goal(self, ref: Reference) -> Operand:
        """Return a reference as an operand whose state includes the coefficient."""
        operand = self.operand(ref)
        if operand.coefficient == 1:
            return operand
        _, x, i = operand.state
        return Operand(("scaled", x, i, operand.coefficient), 1, operand.transposed)

    def _absorbing(self, operand: Operand, c: Coefficient) -> Operand | None:
        """Return an operand with a coefficient inside, where a sum takes it for nothing."""
        _, x, i = operand.state
        if c == 1 or i or not any(node[0] == "sum" for node, _, _ in self.egraph.view(x)):
            return None
        scales = self._scales.setdefault(x, {})
        if len(scales) >= SCALES and c not in scales:
            return None
        scales[c] = None
        return Operand(("scaled", x, i, c), 1, operand.transposed)

    def is_batch(self, *refs: Reference) -> bool:
        """Return whether any reference is a batch."""
        return any(self.batches.get(self.egraph.find(r[1])[1], False) for r in refs)

    def is_vector(self, ref: Reference) -> bool:
        """Return whether the value of a reference is a vector or a scalar."""
        return 1 in self.egraph.of(ref).shape and not self.is_batch(ref)

    # -- candidates --------------------------------------------------------------------------------

    def of(self, state: State) -> list[Candidate]:
        """Return the candidates of a state, each with its cost."""
        known = self._candidates.get(state)
        if known is None:
            known = self._candidates[state] = []
            for candidate in self._make(state):
                if state not in candidate.needs:
                    if candidate.cost is None:
                        candidate = candidate._replace(cost=self._cost(candidate))
                    known.append(candidate)
        return known

    def spelt(self, node: Node, label: Label) -> list[Candidate]:
        """Return the plainest way to compute a node under a label that does not invert."""
        return list(self._direct(node, label, None, plain=True))

    def _cost(self, candidate: Candidate) -> float:
        values = [self.placeholder(state) for state in candidate.needs]
        result = candidate.build(*values)
        if result.op is None:
            return 0.0
        return cost_of([result], self.node_cost, self._below)

    def _make(self, state: State) -> Iterator[Candidate]:
        kind, x, *rest = state
        if kind == "factor":
            yield self._factorisation(x)
            return
        inverse, scale = rest if kind == "scaled" else (rest[0], 1)
        if kind == "scaled":
            yield self._candidate([Operand(("value", x, inverse), 1, 0)], self._times(scale), None)
        egraph = self.egraph
        for node, label, id_ in egraph.view(x):
            if self._needs_batch(x, node):
                continue
            c, t, i = compose((scale, 0, inverse), label)
            if not i:
                yield from self._direct(node, (c, t, 0), id_)
            elif node[0] == "product" and egraph.all_square(node[2]):
                powers = tuple([(y, -e) for y, e in node[1]])
                turned = ("product", powers, flipped(node[2], 0, 1), node[3])
                yield from self._direct(turned, (c, t, 0), id_)
            elif node[0] == "diag":
                yield self._diagonal_matrix(node[1], (c, t, 0), id_, reciprocals=True)
        if kind == "value" and (x in self._explicit if inverse else self._is_inverse(x)):
            yield from self._explicit_inverse(x, 1 - inverse)

    def _is_inverse(self, x: int) -> bool:
        """Return whether nodes of a class are the inverse of its value, and for matrices all."""
        inverses = [label[2] for _, label, _ in self.egraph.view(x)]
        scalar = self.egraph.classes[x].shape == (1, 1)
        return any(inverses) and (scalar or all(inverses))

    def _needs_batch(self, x: int, node: Node) -> bool:
        if not self.embedding.batch or self.batches[x]:
            return False
        if node[0] == "leaf":
            return self.embedding.leaves[node[1]].ndim > 2
        return any(self.batches[self.egraph.find(c)[1]] for c in children(node))

    def _factorisation(self, x: int) -> Candidate:
        """Return the candidate of a factorisation: what it costs is in :meth:`_solutions`."""
        matrix: State = ("value", x, 0)
        placeholder = self.placeholder(matrix)
        cost = self._system_cost(placeholder, x, 0)
        return Candidate(cost, (matrix,), lambda a: a, None)

    def _assumption(self, x: int) -> str:
        """Return what a system with a class as its matrix may assume."""
        facts = self.facts.get(x, NOTHING)
        if facts.holds("spd"):
            return "spd"
        return "symmetric" if facts.holds("symmetric") and not self.batches.get(x) else "general"

    def _system_cost(self, matrix: Variable, x: int, columns: Dim) -> float:
        """Return the cost of a system with that number of right sides."""
        shape = (*matrix.type.shape[:-1], columns)
        right = make_input("right", matrix.type.with_shape(shape), frozenset())
        return self.node_cost(Solve(self._assumption(x))(matrix, right))

    def _explicit_inverse(self, x: int, of: int) -> Iterator[Candidate]:
        """Yield the inverse of a class's value, or of its inverse."""
        shape, state = self.egraph.classes[x].shape, ("value", x, of)
        if shape == (1, 1):
            yield Candidate(None, (state,), reciprocal, None)
            return
        facts = self.facts.get(x, NOTHING)
        for name, lower in (("lower_triangular", True), ("upper_triangular", False)):
            if facts.true & BIT[name]:
                size, op = shape[0], SolveTriangular(lower, 0, False)

                def solved(a: Variable, op: Any = op, size: Dim = size) -> Variable:
                    return op(a, self.identity(size))  # type: ignore[no-any-return]

                yield Candidate(None, (state,), solved, None)
                return
        yield Candidate(None, (state,), INV, None)

    def identity(self, n: Dim) -> Variable:
        """Return the identity of a static or named size."""
        if isinstance(n, int):
            return Eye(n, n, 0, self.dtype.name)()  # type: ignore[no-any-return]
        return Diag(0)(self.filled(1, (n,)))  # type: ignore[no-any-return]

    def filled(self, c: Coefficient, shape: tuple[Dim, ...]) -> Variable:
        """Return an array of equal elements."""
        return self.broadcast(self.number(c), shape)

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
        raise AssertionError(f"no leaf has the size {name}")

    def number(self, c: Coefficient) -> Variable:
        """Return a coefficient as a constant."""
        return constant(np.asarray(float(c), self.dtype))

    def scaled(self, c: Coefficient, x: Variable) -> Variable:
        """Return a multiple of a value."""
        if c == 1:
            return x
        if isinstance(x, Constant) and x.ndim == 0:
            return self.number(c * Fraction(float(x.value)))
        return negative(x) if c == -1 else multiply(self.number(c), x)  # type: ignore[no-any-return]

    def oriented(self, x: Variable, t: int) -> Variable:
        """Return a value, or its transpose; vectors have none."""
        return SWAP(x) if t and x.ndim >= 2 else x

    def _taken(self, operands: Sequence[Operand]) -> tuple[tuple[State, ...], list[int]]:
        """Return the states that operands need, each once, and where each operand finds its own."""
        states = tuple(dict.fromkeys([operand.state for operand in operands]))
        return states, [states.index(operand.state) for operand in operands]

    def _candidate(
        self,
        operands: Sequence[Operand],
        build: Callable[[list[Variable]], Variable],
        term: int | None,
        cost: float | None = None,
    ) -> Candidate:
        """Return a candidate that builds from operands, transposed as they say."""
        states, places = self._taken(operands)

        def built(*values: Variable) -> Variable:
            return build(
                [
                    self.oriented(values[place], operand.transposed)
                    for place, operand in zip(places, operands, strict=True)
                ]
            )

        return Candidate(cost, states, built, term)

    def _direct(
        self, node: Node, label: Label, id_: int | None, plain: bool = False
    ) -> Iterator[Candidate]:
        """Yield the ways to compute a node, scaled and transposed by a label."""
        c, t, _ = label
        egraph = self.egraph
        match node[0]:
            case "leaf":
                leaf = self.embedding.leaves[node[1]]
                yield Candidate(None, (), lambda: self._leaf(leaf, c, t), id_)
            case "eye" | "zero" | "ones" | "rows":
                yield Candidate(None, (), lambda: self._constant(node, c, t), id_)
            case "sum":
                terms = [(c * d, y, v ^ t, w) for (y, v, w), d in node[1]]
                yield self._sum(terms, id_)
                if not plain:
                    if any(self._is_multiple(self.operand(term)) for term in terms):
                        yield self._sum(terms, id_, in_products=True)
                    yield from self._concatenation(terms, id_)
            case "hadamard":
                refs = [(((1, y, v ^ t, w)), e) for (y, v, w), e in node[1]]
                yield self._powers(c, refs, id_)
                if not plain:
                    yield from self._powers_of_sums(c, refs, id_)
            case "diag":
                yield self._diagonal_matrix(node[1], label, id_)
            case "diagonal":
                operand = self.operand((1, *node[1]))
                d = c * operand.coefficient

                def diagonal(values: list[Variable], d: Coefficient = d) -> Variable:
                    value = Diagonal(0)(values[0])
                    if value.ndim > 1:  # of a batch
                        value = self.oriented(expand_dims(value, (-1,)), t)
                    return self.scaled(d, value)

                yield self._candidate([operand], diagonal, id_)
            case "det":
                x = egraph.find(node[1])[1]
                operand = Operand(("value", x, 0), 1, 0)
                ref = egraph.canonical((1, node[1], 0, 0))
                n = egraph.classes[x].shape[0]
                d = c * (ref[0] ** n if isinstance(n, int) else 1)
                d = quotient(1, d) if ref[3] else d

                def determinant(values: list[Variable], d: Coefficient = d) -> Variable:
                    value = Det()(values[0])
                    return self.scaled(d, reciprocal(value) if ref[3] else value)

                yield self._candidate([operand], determinant, id_)
            case "apply":
                yield self._application(node, label, id_)
            case "product":
                yield from self._product(node, label, id_, plain)

    def _leaf(self, leaf: Variable, c: Coefficient, t: int) -> Variable:
        """Return a leaf in the form that its class has: a vector where that is n x 1."""
        value = leaf
        if value.ndim == 2 and 1 in value.type.shape:
            axes = tuple(
                [
                    axis
                    for axis, d in ((-2, value.type.shape[0]), (-1, value.type.shape[1]))
                    if d == 1
                ]
            )
            value = squeeze(value, axes)
        elif value.ndim == 1 and value.type.shape[0] == 1:
            value = squeeze(value, (0,))
        return self.scaled(c, self.oriented(value, t))

    def _constant(self, node: Node, c: Coefficient, t: int) -> Variable:
        match node[0]:
            case "eye":
                value = self.number(1) if node[1] == 1 else self.identity(node[1])
                return self.scaled(c, value)
            case "ones":
                return self.filled(c, (node[1],))
            case "zero":
                m, n = (node[2], node[1]) if t else (node[1], node[2])
                shape = _plain((m, n))
                return self.filled(0, shape)
        _, a, b, n = node
        spec = ("int", a) if b - a == 1 else ("slice", a, b, None)
        return self.scaled(c, self.oriented(Index((spec,))(self.identity(n)), t))

    def _is_multiple(self, operand: Operand) -> bool:
        """Return whether an operand is a multiple of a dyad, so that a vector can take it."""
        _, x, i = operand.state
        egraph = self.egraph
        if abs(operand.coefficient) == 1 or i or 1 in egraph.classes[x].shape:
            return False
        return any(
            node[0] == "product" and any(1 in egraph.shape((1, *f)) for f in node[2])
            for node, _, _ in egraph.view(x)
        )

    def _sum(
        self, terms: Sequence[Reference], id_: int | None, in_products: bool = False
    ) -> Candidate:
        """Return a sum, whose coefficients may go into products."""
        constants = [self.egraph.is_ones((1, *term[1:])) for term in terms]
        if not all(constants):  # a constant is added as a scalar
            number = sum(t[0] for t, one in zip(terms, constants, strict=True) if one)
            terms = [t for t, one in zip(terms, constants, strict=True) if not one]
        else:
            number = 0
        operands = [self.operand(term) for term in terms]
        for k, operand in enumerate(operands if in_products else ()):
            if self._is_multiple(operand):
                _, x, i = operand.state
                c = abs(operand.coefficient)
                sign = 1 if operand.coefficient > 0 else -1
                operands[k] = Operand(("scaled", x, i, c), sign, operand.transposed)
        operands.sort(key=lambda operand: operand.coefficient < 0)
        whole = self.is_batch(*terms)

        def build(values: list[Variable]) -> Variable:
            if whole:
                values = [self._matrix(v, terms[0]) for v in values]
            result: Variable | None = None
            for value, operand in zip(values, operands, strict=True):
                c = operand.coefficient
                if result is None:
                    result = self.scaled(c, value)
                elif c < 0:
                    result = subtract(result, self.scaled(-c, value))
                else:
                    result = add(result, self.scaled(c, value))
            assert result is not None
            if number:
                result = add(result, self.number(number))
            return result

        if whole:
            return self._candidate(operands, build, id_)
        type_ = self._type_of_shape(self.egraph.shape(terms[0]))
        scalings = sum(abs(operand.coefficient) != 1 for operand in operands)
        cost = scalings * self._elementwise_cost(multiply, type_)
        cost += (len(terms) - 1 + (number != 0)) * self._elementwise_cost(add, type_)
        if operands[0].coefficient == -1:
            cost += self._elementwise_cost(negative, type_)
        return self._candidate(operands, build, id_, cost)

    def _type_of_shape(self, shape: tuple[Dim, Dim]) -> TensorType:
        """Return the type of a value with those rows and columns that is no batch."""
        return TensorType(self.dtype, _plain(shape))

    def _elementwise_cost(self, op: Any, type_: TensorType) -> float:
        cost = self._elementwise_costs.get((op, type_))
        if cost is None:
            x = make_input("x", type_, frozenset())
            scalar = self.number(3) if op is multiply else x
            node = op(x) if op in (negative, reciprocal, square) else op(scalar, x)
            cost = self._elementwise_costs[op, type_] = self.node_cost(node)
        return cost

    def _matrix(self, value: Variable, ref: Reference) -> Variable:
        """Return a vector or scalar as the matrix that it stands for, beside a batch."""
        return value if value.ndim >= 2 else self.at_rank(value, ref, 2)

    def _concatenation(self, terms: Sequence[Reference], id_: int | None) -> Iterator[Candidate]:
        """Yield the join of terms with disjoint rows, or disjoint columns."""
        m, n = self.egraph.shape(terms[0])
        for axis, size in ((0, m), (1, n)):
            if size == 1 or not isinstance(size, int):
                continue
            parts = [self._padded(term, axis) for term in terms]
            if any(part is None for part in parts):
                continue
            placed = sorted(part for part in parts if part is not None)
            if all(a[1] <= b[0] for a, b in pairwise(placed)):
                yield self._join(placed, axis, (m, n), id_)

    def _padded(self, term: Reference, axis: int) -> tuple[int, int, Reference] | None:
        """Return the rows (or columns) that a term fills, and what stands there."""
        egraph = self.egraph
        for c, scalars, seq, _, _ in egraph.products(term):
            if len(seq) < 2:
                continue
            end = seq[0] if axis == 0 else seq[-1]
            special = egraph.of(end).special
            if special is not None and special[0] == "rows" and end[2] == 1 - axis:
                rest = seq[1:] if axis == 0 else seq[:-1]
                return special[1], special[2], egraph.product(c, scalars, rest)
        return None

    def _join(
        self,
        placed: Sequence[tuple[int, int, Reference]],
        axis: int,
        shape: tuple[Dim, Dim],
        id_: int | None,
    ) -> Candidate:
        operands = [self.operand(ref) for _, _, ref in placed]
        refs = [ref for _, _, ref in placed]
        m, n = shape
        vector = 1 in shape

        def gap(size: int) -> Variable:
            if vector:
                return self.filled(0, (size,))
            return self.filled(0, (size, n) if axis == 0 else (m, size))

        def build(values: list[Variable]) -> Variable:
            parts, end = [], 0
            for (start, stop, _), value, operand, ref in zip(
                placed, values, operands, refs, strict=True
            ):
                if start > end:
                    parts.append(gap(start - end))
                value = self.scaled(operand.coefficient, value)
                if vector:
                    value = expand_dims(value, (-1,)) if value.ndim == 0 else value
                else:
                    value = self._matrix(value, ref)
                parts.append(value)
                end = stop
            size = m if axis == 0 else n
            assert isinstance(size, int)
            if end < size:
                parts.append(gap(size - end))
            if len(parts) == 1:
                return parts[0]
            return Concatenate(-1 if vector else axis - 2)(*parts)  # type: ignore[no-any-return]

        return self._candidate(operands, build, id_)

    def _powers_of_sums(
        self, c: Coefficient, refs: Sequence[tuple[Reference, int]], id_: int | None
    ) -> Iterator[Candidate]:
        """Yield elementwise products whose coefficient goes into a sum."""
        for at, (ref, e) in enumerate(refs):
            taken = self._absorbing(self.operand(ref), c) if e == 1 else None
            if taken is not None:
                yield self._powers(1, refs, id_, {at: taken})

    def _powers(
        self,
        c: Coefficient,
        refs: Sequence[tuple[Reference, int]],
        id_: int | None,
        taken: Mapping[int, Operand] = MappingProxyType({}),
    ) -> Candidate:
        """Return the elementwise product of powers."""
        operands = []
        for at, (ref, e) in enumerate(refs):
            operand = taken.get(at) or self.operand(ref)
            if operand.coefficient != 1:
                c = (
                    c * quotient(1, operand.coefficient**-e)
                    if e < 0
                    else c * operand.coefficient**e
                )
            if self.egraph.shape(ref) == (1, 1) and operand.state[2] and e:
                # a reciprocal of a scalar is divided by
                operands.append((Operand(("value", operand.state[1], 0), 1, 0), -e))
            else:
                operands.append((operand, e))
        whole = self.is_batch(*[ref for ref, _ in refs])

        def build(values: list[Variable]) -> Variable:
            if whole:
                values = [self._matrix(v, ref) for v, (ref, _) in zip(values, refs, strict=True)]
            above: list[Variable] = []
            below: list[Variable] = []
            for value, (_, e) in zip(values, operands, strict=True):
                (above if e > 0 else below).append(self._power(value, abs(e)))
            top = self._multiplied(above)
            bottom = self._multiplied(below)
            if bottom is None:
                assert top is not None
                return self.scaled(c, top)
            if top is None:
                return true_divide(self.number(c), bottom) if c != 1 else reciprocal(bottom)  # type: ignore[no-any-return]
            return true_divide(self.scaled(c, top), bottom)  # type: ignore[no-any-return]

        return self._candidate([operand for operand, _ in operands], build, id_)

    def _power(self, x: Variable, e: int) -> Variable:
        if e == 1:
            return x
        if e == 2:
            return square(x)  # type: ignore[no-any-return]
        return power(x, self.number(e))  # type: ignore[no-any-return]

    def _multiplied(self, values: Sequence[Variable]) -> Variable | None:
        result: Variable | None = None
        for value in values:
            result = value if result is None else multiply(result, value)
        return result

    def _diagonal_matrix(
        self, factor: Factor, label: Label, id_: int | None, reciprocals: bool = False
    ) -> Candidate:
        operand = self.operand((1, *factor))
        c = label[0] * (quotient(1, operand.coefficient) if reciprocals else operand.coefficient)

        def build(values: list[Variable]) -> Variable:
            entries = reciprocal(values[0]) if reciprocals else values[0]
            return Diag(0)(self.scaled(c, entries))  # type: ignore[no-any-return]

        return self._candidate([operand], build, id_)

    def _application(self, node: Node, label: Label, id_: int | None) -> Candidate:
        _, op, refs, details = node
        operands = [self.operand(ref) for ref in refs]
        ranks = details[1:]

        def build(values: list[Variable]) -> Variable:
            args = []
            for value, operand, ref, rank in zip(values, operands, refs, ranks, strict=True):
                value = self.scaled(operand.coefficient, value)
                args.append(self.at_rank(value, ref, rank))
            result = op(*args)
            if result.ndim == 2 and 1 in result.type.shape:
                result = squeeze(
                    result,
                    tuple([a for a in (-2, -1) if result.type.shape[a] == 1]),
                )
            elif result.ndim == 1 and result.type.shape[0] == 1:
                result = squeeze(result, (0,))
            return self.scaled(label[0], self.oriented(result, label[1]))

        return self._candidate(operands, build, id_)

    def at_rank(self, value: Variable, ref: Reference, rank: int) -> Variable:
        """Return a value of a class with that number of dimensions."""
        if value.ndim == rank:
            return value
        _, n = self.egraph.shape(ref)
        if rank == 1 and value.ndim == 0:
            return expand_dims(value, (-1,))  # type: ignore[no-any-return]
        if value.ndim == 0:
            return expand_dims(value, tuple(range(-rank, 0)))  # type: ignore[no-any-return]
        assert value.ndim == 1
        value = expand_dims(value, (-1,) if n == 1 else (-2,))
        return expand_dims(value, tuple(range(-rank, -2))) if rank > 2 else value

    def finished(
        self, value: Variable, operand: Operand, ref: Reference, like: Variable
    ) -> Variable:
        """Return the value of a reference in the rank and shape of a node that it replaces."""
        value = self.scaled(operand.coefficient, self.oriented(value, operand.transposed))
        if value.ndim < like.ndim:
            value = self.at_rank(value, ref, min(like.ndim, 2))
        if value.type.shape != like.type.shape:
            value = self.broadcast(value, like.type.shape)
        return value

    # -- products ----------------------------------------------------------------------------------

    def part(self, seq: tuple[Factor, ...]) -> Reference:
        """Return the reference of some adjacent factors of a product."""
        if len(seq) == 1:
            return self.egraph.canonical((1, *seq[0]))
        ref = self._parts.get(seq)
        if ref is None:
            ref = self.egraph.canonical(
                self.egraph.product(1, (), [(1, *factor) for factor in seq])
            )
            self._parts[seq] = ref
            x = ref[1]
            if x not in self.facts:
                self.facts[x] = NOTHING
                self.batches[x] = self.is_batch(*[(1, *factor) for factor in seq])
                for node, label, _ in self.egraph.view(x):
                    if not label[2]:
                        self.facts[x] |= _relabelled(self._facts_of_node(node), label)
        return ref

    def _product(
        self, node: Node, label: Label, id_: int | None, plain: bool
    ) -> Iterator[Candidate]:
        _, powers, seq, n = node
        c, t, _ = label
        egraph = self.egraph
        if t:
            seq = flipped(seq, 1, 0)
        if powers:
            refs = [((1, x, 0, 0), e) for x, e in powers]
            if not seq and n == 1:
                yield self._powers(c, refs, id_)
                return
            scale = egraph.canonical(egraph.product(1, tuple(refs), ()))
            self._know(scale, [ref for ref, _ in refs])
            body = self.part(seq) if seq else egraph.canonical(egraph.eye(n))
            if not seq:
                self._know(body, [])
            yield self._scaling(c, scale, body, id_)
            return
        if len(seq) == 3 and not plain:
            left, right = (1, *seq[0]), (1, *seq[2])
            is_total = seq[0][1] and not seq[2][1]  # 1.T X 1, not 1.T x 1.T
            if is_total and egraph.special(left) == egraph.special(right) == "ones":
                operand = self.operand((1, *seq[1]))
                d = c * operand.coefficient

                def summed(values: list[Variable], d: Coefficient = d) -> Variable:
                    axes = (-2, -1) if values[0].ndim > 2 else None
                    return self.scaled(d, total(values[0], axis=axes, keepdims=axes is not None))

                yield self._candidate([operand], summed, id_)
        for k in [len(seq) - 1] if plain else self._cuts(seq):
            yield from self._pair(self.part(seq[:k]), self.part(seq[k:]), c, id_, plain)

    def _cuts(self, seq: tuple[Factor, ...]) -> Sequence[int]:
        """Return where to cut a product in two: a long one only where the best orders do.

        A part that occurs elsewhere under another form is cut off in any case.
        """
        if len(seq) <= ALL_CUTS:
            return range(1, len(seq))
        shapes = [self.egraph.shape((1, *factor)) for factor in seq]
        sizes = tuple([self.extent(m) for m, _ in shapes] + [self.extent(shapes[-1][1])])
        if sizes not in self._orders:
            self._orders.update(chain_orders(sizes))
        orders = self._orders
        cost = {
            k: orders[sizes[: k + 1]] + orders[sizes[k:]] + sizes[0] * sizes[k] * sizes[-1]
            for k in range(1, len(seq))
        }
        best = set(sorted(cost, key=cost.__getitem__)[:BEST_CUTS])
        return [
            k for k in cost if k in best or self._is_shared(seq[:k]) or self._is_shared(seq[k:])
        ]

    def _is_shared(self, seq: tuple[Factor, ...]) -> bool:
        """Return whether adjacent factors have a class with more than one form."""
        ref = self.egraph.table.get(("product", (), seq, 1))
        return ref is not None and len(self.egraph.view(self.egraph.find(ref[1])[1])) > 1

    def _know(self, ref: Reference, parts: Sequence[Reference]) -> None:
        """Note the facts and the batch of a class made during extraction."""
        x = self.egraph.find(ref[1])[1]
        if x not in self.facts:
            self.facts[x] = NOTHING
            self.batches[x] = self.is_batch(*parts)

    def _scaling(
        self, c: Coefficient, scale: Reference, body: Reference, id_: int | None
    ) -> Candidate:
        """Return a scalar times a matrix, or divided by one."""
        d, x, _, i = scale
        factor = Operand(("value", x, 0), 1, 0)
        operand = self.operand(body)
        c = c * d * operand.coefficient
        is_batch = self.is_batch(scale, body)

        def build(values: list[Variable]) -> Variable:
            s, value = values
            if is_batch:
                s, value = self._matrix(s, scale), self._matrix(value, body)
            if i:
                return true_divide(self.scaled(c, value), s)  # type: ignore[no-any-return]
            return multiply(self.scaled(c, s), value)  # type: ignore[no-any-return]

        return self._candidate([factor, operand], build, id_)

    def _pair(
        self, a: Reference, b: Reference, c: Coefficient, id_: int | None, plain: bool
    ) -> Iterator[Candidate]:
        """Yield the ways to multiply two references."""
        egraph = self.egraph
        kind_a, kind_b = egraph.special(a), egraph.special(b)
        if "zero" in (kind_a, kind_b):
            return
        (m, k), n = egraph.shape(a), egraph.shape(b)[1]
        if k == 1 and 1 in (m, n):
            yield self._scaling(c, *((a, b) if m == 1 else (b, a)), id_)
            return
        left, right = self.operand(a), self.operand(b)
        c = c * left.coefficient * right.coefficient
        both = [left, right]
        structured = self._structured(a, b, c, id_, plain)
        if structured is not None:
            yield from structured
            if not plain:
                yield from self._solutions(a, b, c, id_)
            return
        whole = self.is_batch(a, b)
        if k == 1 and not whole:

            def outer(values: list[Variable]) -> Variable:
                return Outer()(self.scaled(c, values[0]), values[1])  # type: ignore[no-any-return]

            yield self._candidate(both, outer, id_)
            return

        def multiplied(values: list[Variable], c: Coefficient = c) -> Variable:
            x, y = values
            if whole:
                x, y = self._matrix(x, a), self._matrix(y, b)
            if c in (1, -1):
                return self.scaled(c, _matmul(x, y))
            sizes = [self.extent(m) * self.extent(k), self.extent(k) * self.extent(n)]
            sizes.append(self.extent(m) * self.extent(n))
            at = sizes.index(min(sizes))
            if at == 0:
                return _matmul(self.scaled(c, x), y)
            if at == 1:
                return _matmul(x, self.scaled(c, y))
            return self.scaled(c, _matmul(x, y))

        if plain or not any(ref[3] and egraph.of(ref).shape != (1, 1) for ref in (a, b)):
            yield self._candidate(both, multiplied, id_)
        for side in (0, 1) if not plain else ():
            taken = self._absorbing(both[side], c)
            if taken is not None:
                operands = [taken, right] if side == 0 else [left, taken]
                yield self._candidate(operands, partial(multiplied, c=1), id_)
        if not plain:
            yield from self._solutions(a, b, c, id_)

    def _structured(
        self, a: Reference, b: Reference, c: Coefficient, id_: int | None, plain: bool
    ) -> Iterable[Candidate] | None:
        """Return the ways to multiply by rows of an identity, ones or a diagonal matrix."""
        egraph = self.egraph
        kinds = egraph.special(a), egraph.special(b)
        (m, k), n = egraph.shape(a), egraph.shape(b)[1]
        if "rows" in kinds:
            return self._selection(a, b, c, id_)
        if "ones" in kinds:
            if k == 1:
                return (self._stretch(a, b, c, (m, n), id_),)
            return (self._total(a, b, c, id_),)
        if "diag" in kinds and not plain:
            on_left = kinds[0] == "diag"
            ref, other = (a, b) if on_left else (b, a)
            return (self._scaled_rows(ref, other, on_left, c, id_),)
        return None

    def extent(self, d: Dim) -> int:
        """Return the size that stands for a dimension in comparisons."""
        return d if isinstance(d, int) else NOMINAL

    def _selection(
        self, a: Reference, b: Reference, c: Coefficient, id_: int | None
    ) -> Iterator[Candidate]:
        """Yield a product with rows of an identity: a slice, or zeros around a matrix."""
        egraph = self.egraph
        on_left = egraph.special(a) == "rows"
        place, other = (a, b) if on_left else (b, a)
        _, start, stop, size = egraph.of(place).special
        operand = self.operand(other)
        if place[2] == int(on_left):  # S.T X or X S: zeros around it
            if not isinstance(size, int):
                return  # nothing says how many zeros
            shape = (size, egraph.shape(other)[1]) if on_left else (egraph.shape(other)[0], size)
            candidate = self._join([(start, stop, other)], 0 if on_left else 1, shape, id_)
            build, scale = candidate.build, quotient(c, operand.coefficient)
            yield candidate._replace(build=lambda *values: self.scaled(scale, build(*values)))
            return

        def sliced(values: list[Variable]) -> Variable:
            (x,) = values
            if x.ndim == 1:
                spec: tuple[Any, ...] = (("slice", start, stop, None),)
                if stop - start == 1:
                    spec = (("int", start),)
            elif stop - start == 1:
                spec = (("int", start),) if on_left else (_FULL, ("int", start))
            else:
                cut = ("slice", start, stop, None)
                spec = (cut,) if on_left else (_FULL, cut)
            return self.scaled(c, Index(spec)(x))

        yield self._candidate([operand], sliced, id_)

    def _times(self, c: Coefficient) -> Callable[[list[Variable]], Variable]:
        return lambda values: self.scaled(c, values[0])

    def _stretch(
        self,
        a: Reference,
        b: Reference,
        c: Coefficient,
        shape: tuple[Dim, Dim],
        id_: int | None,
    ) -> Candidate:
        """Return a column or a row, repeated."""
        egraph = self.egraph
        plain = _plain(shape)
        if egraph.special(a) == egraph.special(b) == "ones":
            return Candidate(None, (), lambda: self.filled(c, plain), id_)
        column = egraph.special(b) == "ones"
        ref = a if column else b
        operand = self.operand(ref)

        def stretched(values: list[Variable]) -> Variable:
            value = self.scaled(c, values[0])
            if value.ndim > 2:
                return self.broadcast(value, (*value.type.shape[:-2], *shape))
            if value.ndim == 1 and column:
                value = expand_dims(value, (-1,))
            return self.broadcast(value, plain)

        return self._candidate([operand], stretched, id_)

    def _total(self, a: Reference, b: Reference, c: Coefficient, id_: int | None) -> Candidate:
        """Return the sums of rows or of columns."""
        over_rows = self.egraph.special(a) == "ones"
        operand = self.operand(b if over_rows else a)

        def summed(values: list[Variable]) -> Variable:
            (x,) = values
            axis = -2 if over_rows else -1
            if x.ndim == 1:
                axis = -1
            return self.scaled(c, total(x, axis=axis, keepdims=x.ndim > 2))

        return self._candidate([operand], summed, id_)

    def _scaled_rows(
        self, diagonal: Reference, other: Reference, on_left: bool, c: Coefficient, id_: int | None
    ) -> Candidate:
        """Return a product with a diagonal matrix: rows or columns scaled."""
        special = self.egraph.of(diagonal).special
        assert special is not None
        entries = self.operand((1, *special[1]))
        operand = self.operand(other)
        divides = bool(diagonal[3])
        d = c * (quotient(1, entries.coefficient) if divides else entries.coefficient)
        is_row = self.egraph.of((1, *special[1])).shape[1] != 1

        def build(values: list[Variable]) -> Variable:
            v, x = values
            v = self.scaled(quotient(1, d) if divides else d, v) if d != 1 else v
            if v.ndim > 1:
                v = SWAP(v) if is_row == on_left else v
                x = self._matrix(x, other)
            if v.ndim == 1 and x.ndim > 1 and on_left:
                v = expand_dims(v, (-1,))
            return true_divide(x, v) if divides else multiply(v, x)  # type: ignore[no-any-return]

        return self._candidate([entries._replace(transposed=0), operand], build, id_)

    def _solutions(
        self, a: Reference, b: Reference, c: Coefficient, id_: int | None
    ) -> Iterator[Candidate]:
        """Yield the solutions of systems: a product with an inverse on one side."""
        for ref, other, on_left in ((a, b, True), (b, a, False)):
            if not ref[3] or self.egraph.special(ref) == "diag":
                continue
            x = self.egraph.find(ref[1])[1]
            if self.egraph.classes[x].shape == (1, 1):
                continue
            # X inv(A) = solve(A.T, X.T).T
            matrix = Operand(("value", x, 0), 1, ref[2] ^ (not on_left))
            operand = self.operand(other)
            lower = self.holds(x, matrix.transposed, "lower_triangular")
            upper = self.holds(x, matrix.transposed, "upper_triangular")
            system: Any = Solve(self._assumption(x))
            if lower or upper:
                system = SolveTriangular(lower, 0, False)
            build = partial(self._solution, system=system, other=other, on_left=on_left, c=c)
            candidate = self._candidate([matrix, operand], build, id_)
            if lower or upper:
                yield candidate
            else:
                # The elimination is a state of its own, so that several systems share it.
                shared = self._system_cost(self.placeholder(("value", x, 0)), x, 0)
                yield Candidate(
                    self._cost(candidate) - shared,
                    (*candidate.needs, ("factor", x, 0)),
                    _without_last(candidate.build),
                    id_,
                )

    def _solution(
        self,
        values: list[Variable],
        *,
        system: Any,
        other: Reference,
        on_left: bool,
        c: Coefficient,
    ) -> Variable:
        """Return the solution of a system whose matrix is on the left or on the right."""
        matrix, y = values
        if matrix.ndim > 2 or y.ndim > 2:
            y = self._matrix(y, other)
        y = self.scaled(c, y)
        if on_left or y.ndim < 2:
            return system(matrix, y)  # type: ignore[no-any-return]
        return SWAP(system(matrix, SWAP(y)))  # type: ignore[no-any-return]


def _matmul(x: Variable, y: Variable) -> Variable:
    """Return a product of matrices, by the kernel for their structure."""
    product: Variable = MATMUL(x, y)
    if max(x.ndim, y.ndim) > 2 or min(x.ndim, y.ndim) < 2:
        return product
    kernel = structured_matmul(product)
    return product if kernel is None else kernel(x, y)


def cost_of(
    outputs: Iterable[Variable], node_cost: NodeCost, boundary: Collection[Variable] = ()
) -> float:
    """Return the cost of a graph above a boundary, each node counted once."""
    return sum(
        node_cost(x) for x in nodes_of(outputs, boundary) if x.op is not None and x not in boundary
    )


def chain_orders(sizes: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Return the fewest multiplications of each part of a chain of products, keyed by its sizes.

    References
    ----------
    T. H. Cormen, C. E. Leiserson, R. L. Rivest and C. Stein, Introduction to Algorithms, 4th ed.,
    section 14.2.

    Examples
    --------
    >>> chain_orders((10, 2, 30, 1))[10, 2, 30, 1]
    80.0
    """
    n = len(sizes) - 1
    table = {(i, i + 1): 0.0 for i in range(n)}
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            ends = float(sizes[i]) * sizes[j]
            table[i, j] = min(
                [table[i, k] + table[k, j] + ends * sizes[k] for k in range(i + 1, j)]
            )
    return {sizes[i : j + 1]: cost for (i, j), cost in table.items()}


_FULL = ("slice", None, None, None)
_MIRRORED = {
    "lower_triangular": "upper_triangular",
    "upper_triangular": "lower_triangular",
}


def _plain(shape: tuple[Dim, Dim]) -> tuple[Dim, ...]:
    """Return the shape of a value: a vector or a scalar where sizes are 1."""
    return shape if 1 not in shape else tuple([d for d in shape if d != 1])


def _without_last(build: Build) -> Build:
    return lambda *values: build(*values[:-1])


def _relabelled(facts: Facts, label: Label) -> Facts:
    """Return the facts of a matrix, scaled and transposed, from those of the matrix."""
    c, t, _ = label
    names = facts.names()
    kept = []
    for name in names:
        if c != 1 and name in _SCALED_AWAY:
            continue
        if c < 0 and name in _SIGNED:
            continue
        kept.append(_MIRRORED.get(name, name) if t else name)
    return proved(*kept)


_SIGNED = frozenset({"positive", "nonnegative", "negative", "nonpositive", "spd", "psd"})
_SCALED_AWAY = frozenset({"integer", "orthogonal", "permutation", "selection"})


def _factors(node: Node) -> list[Factor]:
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
