"""Saturation: each law, in both directions, on every node of an e-graph, until nothing is new.

What changed is found by ticks: a node's laws run again only if a class that they look at has
changed.  Laws that make inverses run only towards a smaller inverse.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from relgraph.ir.types import Dim
from relgraph.search.egraph import EGraph, Node, Scalars, children
from relgraph.search.gathering import gathers
from relgraph.search.labels import Reference, act, inverted, quotient, raised, transposed

LONGEST_PRODUCT = 64
LONGEST_PART = 16  # of the adjacent factors that are a term of their own
LARGEST_SUM = 300
NAMED_PARTS = 40  # the terms of a sum in which other sums are looked for
SINGLE_OPENINGS = 2  # up to so many sums in a sum, each is opened alone
EXPANDED_POWERS = 16  # the terms of a sum that is multiplied out elementwise
CUT_INVERSES = 12  # the terms of a sum whose inverse is taken apart

Form = TypeVar("Form", bound=tuple[Any, ...])


class Law(NamedTuple):
    """A law that saturation applies in both directions.

    Attributes
    ----------
    equation : str
    source : str
    label : str
        "cancels" if one side subtracts numbers of nearly equal size where the other does not;
        "conditioned" if its error grows with the condition number of another matrix; else "".
    """

    equation: str
    source: str
    label: str = ""


_RING = "the axioms of a ring"
_HORN = "R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed."
_COOKBOOK = "K. B. Petersen and M. S. Pedersen, The Matrix Cookbook"
_HENDERSON = "H. V. Henderson and S. R. Searle, SIAM Review 23 (1981), 53-60"

LAWS = {
    (ASSOCIATIVITY := "associativity of products"): Law(
        "A (B C) = (A B) C; a (B C) = (a B) C", _RING
    ),
    (SUMS := "associativity of sums"): Law("A + (B + C) = (A + B) + C", _RING),
    (DISTRIBUTIVITY := "distributivity"): Law("A (b X + c Y) B = b A X B + c A Y B", _RING),
    (GRAM_OF_SUM := "Gram matrix of a sum"): Law(
        "(X + Y).T (X + Y) = X.T X + X.T Y + Y.T X + Y.T Y", _RING, "cancels"
    ),
    (ELEMENTWISE_DISTRIBUTIVITY := "distributivity of elementwise products"): Law(
        "x * (b y + c z) = b x * y + c x * z", _RING
    ),
    (SQUARE_OF_SUM := "square of a sum"): Law(
        "(x + y)**2 = (x + y) * x + (x + y) * y", _RING, "cancels"
    ),
    (ELEMENTWISE_ASSOCIATIVITY := "associativity of elementwise products"): Law(
        "x * (y * z) = (x * y) * z", _RING
    ),
    (SCALED_ROWS := "elementwise product of vectors"): Law(
        "x * y = diag(x) y", "the definition of the product"
    ),
    (DYAD := "elementwise product with a dyad"): Law(
        "(u v.T) * A = diag(u) A diag(v)", f"{_HORN}, 7.5 (Hadamard products)"
    ),
    (DIAGONAL_OF_PRODUCT := "diagonal of a product"): Law(
        "diagonal(A B) = (A * B.T) 1", f"{_HORN}, 7.5"
    ),
    (DIAGONAL_LINEAR := "linearity of the diagonal"): Law(
        "diagonal(b X + c Y) = b diagonal(X) + c diagonal(Y)", "elementwise"
    ),
    (DIAGONAL_OF_DIAG := "diagonal of a diagonal matrix"): Law(
        "diagonal(diag(v)) = v", "elementwise"
    ),
    (DET_PRODUCT := "determinant of a product"): Law("det(A B) = det(A) det(B)", f"{_HORN}, 0.3.5"),
    (DET_LEMMA := "matrix determinant lemma"): Law(
        "det(A + U V) = det(A) det(I + V inv(A) U)", _COOKBOOK, "conditioned"
    ),
    (DIAG_INVERSE := "inverse of a diagonal matrix"): Law(
        "inv(diag(v)) = diag(1 / v)", f"{_HORN}, 0.9.1"
    ),
    (DIAG_LINEAR := "linearity of diagonal matrices"): Law(
        "b diag(v) + c diag(w) = diag(b v + c w)", "elementwise"
    ),
    (BLOCK_INVERSE := "inverse of a block-diagonal matrix"): Law(
        "inv(block_diag(A, B)) = block_diag(inv(A), inv(B))", f"{_HORN}, 0.9.2"
    ),
    (PUSH_THROUGH := "push-through identity"): Law(
        "inv(c I + U V) U = U inv(c I + V U)", _HENDERSON, "conditioned"
    ),
    (WOODBURY := "Woodbury identity"): Law(
        "inv(A + U V) = inv(A) - inv(A) U inv(I + V inv(A) U) V inv(A)", _HENDERSON, "conditioned"
    ),
}


class Saturation:
    """Applies the laws of matrices to an e-graph.

    Parameters
    ----------
    egraph : EGraph
    roots : sequence of Reference
        The values that are wanted.
    excluded : collection of str
        Laws not to use.
    """

    def __init__(
        self, egraph: EGraph, roots: Sequence[Reference], excluded: Collection[str] = ()
    ) -> None:
        self.egraph = egraph
        self.roots = roots
        self.excluded = frozenset(excluded)
        self.done: dict[Node, int] = {}  # when the laws last ran on a node
        self.seen: set[tuple[Any, ...]] = set()  # instances of laws
        self.parts: dict[Node, dict[tuple[int, int], int]] = {}  # ids of its adjacent factors
        self.inverted: set[int] = set()  # classes that some term inverts
        self.fired: dict[str, int] = defaultdict(int)

    def round(self) -> bool:
        """Apply each law once where something changed; return whether that changed anything.

        Raises
        ------
        OutOfSteps
            If the e-graph has used up its steps; it is then congruent, and usable.
        """
        egraph = self.egraph
        before = (egraph.unions, len(egraph.terms))
        try:
            egraph.rebuild()
            self.inverted = egraph.inverted(self.roots)
            for x in sorted(egraph.classes):
                if x not in egraph.classes:
                    continue
                for node, _, id_ in list(egraph.view(x)):
                    apply_laws = RULES.get(node[0])
                    if apply_laws and node in egraph.table and self._is_stale(node):
                        self.done[node] = egraph.tick
                        apply_laws(self, node, (1, id_, 0, 0))
            self.inverted = egraph.inverted(self.roots)
            for x in sorted(self.inverted):
                if x in egraph.classes:
                    self._inverse(x)
        finally:
            egraph.rebuild()
        return before != (egraph.unions, len(egraph.terms))

    def _is_stale(self, node: Node) -> bool:
        at = self.done.get(node)
        if at is None:
            return True
        egraph = self.egraph
        looked_at = (*children(node), *self.parts.get(node, {}).values())
        return any(egraph.classes[egraph.find(c)[1]].tick > at for c in looked_at)

    def _once(self, *instance: Any) -> bool:
        if instance in self.seen:
            return False
        self.seen.add(instance)
        return True

    def _new(self, forms: Sequence[Form], *instance: Any) -> Iterator[Form]:
        """Yield the forms for which an instance of a law is new; the id of a form comes last."""
        return (form for form in forms if self._once(*instance, form[-1]))

    def _union(self, a: Reference, b: Reference, law: str) -> None:
        if law not in self.excluded and self.egraph.union(a, b):
            self.fired[law] += 1

    # -- products ----------------------------------------------------------------------------------

    def product(self, node: Node, ref: Reference) -> None:
        """Cut, flatten and expand a product."""
        egraph = self.egraph
        _, powers, seq, n = node
        factors = tuple([(1, *factor) for factor in seq])
        scalars = tuple([((1, x, 0, 0), e) for x, e in powers])
        if powers and seq and self._once("parts", node):
            egraph.product(1, (), factors)
            egraph.product(1, scalars, ())
        self._collapse(node, ref, scalars, factors)
        self._open_factors(ref, scalars, factors)
        self._open_scalars(ref, scalars, factors or (egraph.eye(n),))
        if scalars and len(factors) > 1 and self._once("scale", ref[1]):
            smallest = min(range(len(factors)), key=lambda p: self._area(factors[p]))
            scaled = egraph.product(1, scalars, [factors[smallest]])
            placed = [*factors[:smallest], scaled, *factors[smallest + 1 :]]
            self._union(ref, egraph.product(1, (), placed), ASSOCIATIVITY)
        turned = tuple([transposed(factor) for factor in reversed(factors)])
        both = ((ref, factors), (transposed(ref), turned))
        for whole, parts in both if len(factors) == 2 else ():
            self._two_factors(whole, scalars, *parts)
        for whole, parts in both:
            self._push_through(whole, scalars, parts)

    def _area(self, ref: Reference) -> int:
        m, n = map(self.egraph.extent, self.egraph.shape(ref))
        return m * n

    def _collapse(
        self, node: Node, ref: Reference, scalars: Scalars, factors: tuple[Reference, ...]
    ) -> None:
        """Name adjacent factors, and use what else they are equal to."""
        egraph, k = self.egraph, len(factors)
        if k <= 2 or node in egraph.parts or self._is_nested(node):
            return
        if node not in self.parts:
            widths = range(2, min(k, LONGEST_PART + 1))
            spans = [(i, i + w) for w in widths for i in range(k - w + 1)]
            self.parts[node] = {(i, j): egraph.part(factors[i:j])[1] for i, j in spans}
        for (i, j), id_ in self.parts[node].items():
            x = egraph.find(id_)[1]
            others = sum(not self._is_nested(other) for other, _, _ in egraph.view(x))
            if (x in self.inverted or others > 1) and self._once("collapse", ref[1], i, j):
                part = egraph.product(1, (), factors[i:j])
                whole = egraph.product(1, scalars, (*factors[:i], part, *factors[j:]))
                self._union(ref, whole, ASSOCIATIVITY)

    def _open_factors(
        self, ref: Reference, scalars: Scalars, factors: tuple[Reference, ...]
    ) -> None:
        """Flatten the products among the factors, and expand the sums."""
        egraph, k = self.egraph, len(factors)
        for p, factor in enumerate(factors):
            before, after = factors[:p], factors[p + 1 :]
            for c, powers, seq, n, id_ in self._new(egraph.products(factor), "flatten", ref[1], p):
                if k + len(seq) - 1 <= LONGEST_PRODUCT and id_ != ref[1]:
                    inner = (*before, *(seq or (egraph.eye(n),)), *after)
                    self._union(ref, egraph.product(c, scalars + powers, inner), ASSOCIATIVITY)
            for terms, _ in self._new(egraph.sums(factor), "expand", ref[1], p):
                if len(terms) <= LARGEST_SUM:
                    expanded = [egraph.product(1, scalars, (*before, t, *after)) for t in terms]
                    law = GRAM_OF_SUM if self._is_gram(factors, p) else DISTRIBUTIVITY
                    self._union(ref, egraph.sum(expanded), law)

    def _open_scalars(self, ref: Reference, scalars: Scalars, body: Sequence[Reference]) -> None:
        """Flatten the products among the scalars, and expand the sums."""
        egraph = self.egraph
        for p, (scalar, e) in enumerate(scalars):
            rest = scalars[:p] + scalars[p + 1 :]
            forms = egraph.products(scalar) if abs(e) == 1 else ()
            for c, powers, seq, _, _ in self._new(forms, "flatten scalar", ref[1], p):
                if not seq:
                    inner = tuple([(s, f * e) for s, f in powers])
                    c = c if e > 0 else quotient(1, c)
                    self._union(ref, egraph.product(c, rest + inner, body), ASSOCIATIVITY)
            sums = egraph.sums(scalar) if e == 1 else ()
            for terms, _ in self._new(sums, "expand scalar", ref[1], p):
                expanded = [egraph.product(1, (*rest, (t, 1)), body) for t in terms]
                self._union(ref, egraph.sum(expanded), DISTRIBUTIVITY)

    def _is_gram(self, factors: tuple[Reference, ...], p: int) -> bool:
        """Return whether a factor stands beside its own transpose."""
        egraph = self.egraph
        _, x, t, i = egraph.canonical(factors[p])
        for q in (p - 1, p + 1):
            if 0 <= q < len(factors):
                _, y, u, j = egraph.canonical(factors[q])
                if (x, i) == (y, j) and (t != u or egraph.classes[x].symmetry):
                    return True
        return False

    def _two_factors(self, ref: Reference, scalars: Scalars, u: Reference, v: Reference) -> None:
        """Write diag(v) x as v * x, and (A * B) 1 as the diagonal of A B.T."""
        egraph = self.egraph
        is_column = egraph.shape(v)[1] == 1 != egraph.shape(v)[0]
        if is_column and egraph.special(u) == "diag" and self._once("rows", ref[1], u):
            scaled = egraph.hadamard([(egraph.entries(u), 1), (v, 1)])
            self._union(ref, egraph.product(1, scalars, [scaled]), SCALED_ROWS)
        is_total = egraph.special(v) == "ones" and not egraph.canonical(v)[2]
        if is_total and egraph.shape(u)[0] == egraph.shape(u)[1]:
            for c, powers, _ in self._new(egraph.hadamards(u), "diagonal", ref[1]):
                if [e for _, e in powers] == [1, 1]:
                    (a, _), (b, _) = powers
                    inner = egraph.product(c, scalars, (a, transposed(b)))
                    self._union(ref, egraph.diagonal(inner), DIAGONAL_OF_PRODUCT)

    def _is_nested(self, node: Node) -> bool:
        """Return whether a product has a factor that is nothing but a product."""
        return node[0] == "product" and any(self._only_products(f) for f in node[2])

    def _only_products(self, factor: tuple[int, int, int]) -> bool:
        egraph = self.egraph
        view = egraph.view(egraph.find(factor[0])[1])
        return bool(view) and all(
            node[0] == "product"
            and (node[2] or node[3] != 1)
            and (not factor[2] or egraph.all_square(node[2]))
            for node, _, _ in view
        )

    def _push_through(self, ref: Reference, scalars: Scalars, factors: Sequence[Reference]) -> None:
        """inv(c I + U V) U = U inv(c I + V U), towards the smaller inverse."""
        egraph = self.egraph
        for p, (system, u) in enumerate(pairwise(factors)):
            n = egraph.shape(u)[1]
            if not system[3] or egraph.extent(n) >= egraph.extent(egraph.shape(system)[0]):
                continue
            for terms, id_ in egraph.sums((1, system[1], system[2], 0)):
                inner = self._pushed(terms, u, n)
                if inner and self._once("push through", ref[1], ref[2], p, id_):
                    smaller = inverted(egraph.sum(inner))
                    whole = [*factors[:p], u, smaller, *factors[p + 2 :]]
                    self._union(ref, egraph.product(1, scalars, whole), PUSH_THROUGH)

    def _pushed(self, terms: Sequence[Reference], u: Reference, n: Dim) -> list[Reference] | None:
        """Return the terms X' with X U = U X' for each term X, or None."""
        egraph, inner = self.egraph, []
        for term in terms:
            multiple = self._multiple_of_identity(term)
            if multiple is not None:
                inner.append(egraph.product(*multiple, (egraph.eye(n),)))
                continue
            for c, powers, seq, _, _ in egraph.products(term):
                if seq and egraph.same(seq[0], u):
                    inner.append(egraph.product(c, powers, (*seq[1:], u)))
                    break
            else:
                return None
        return inner

    def _multiple_of_identity(self, term: Reference) -> tuple[Any, Scalars] | None:
        """Return the coefficient and scalars by which a term multiplies the identity, or None."""
        egraph = self.egraph
        if egraph.special(term) == "eye":
            return egraph.canonical(term)[0], ()
        for c, powers, seq, n, _ in egraph.products(term):
            if not seq and n != 1:
                return c, powers
        return None

    # -- sums --------------------------------------------------------------------------------------

    def sum(self, node: Node, ref: Reference) -> None:
        """Flatten a sum, name its parts, and gather common factors."""
        egraph = self.egraph
        terms: list[Reference] = [(c, *factor) for factor, c in node[1]]
        self._open_terms(ref, terms)
        if len(terms) <= NAMED_PARTS:
            self._name_parts(node, ref, terms)
        self._add_diagonals(ref, terms)
        for gather in gathers(egraph, terms):
            if self._once("gather", ref[1], gather.instance):
                law = ELEMENTWISE_DISTRIBUTIVITY if gather.is_elementwise else DISTRIBUTIVITY
                self._union(ref, gather.total(egraph), law)

    def _open_terms(self, ref: Reference, terms: list[Reference]) -> None:
        """Flatten the sums among the terms: each of a few, and all."""
        egraph = self.egraph
        forms = {p: [f for f in egraph.sums(t) if f[1] != ref[1]] for p, t in enumerate(terms)}
        sums = {p: of for p, of in forms.items() if of}
        if len(sums) <= SINGLE_OPENINGS:
            for p, of in sums.items():
                for inner, _ in self._new(of, "open", ref[1], p):
                    if len(terms) + len(inner) <= LARGEST_SUM:
                        flat = terms[:p] + inner + terms[p + 1 :]
                        self._union(ref, egraph.sum(flat), SUMS)
        if len(sums) > 1:
            best = {p: max(of, key=lambda form: (len(form[0]), -form[1])) for p, of in sums.items()}
            flat = [x for p, t in enumerate(terms) for x in (best[p][0] if p in best else [t])]
            ids = tuple([id_ for _, id_ in best.values()])
            if len(flat) <= LARGEST_SUM and self._once("open all", ref[1], ids):
                self._union(ref, egraph.sum(flat), SUMS)

    def _add_diagonals(self, ref: Reference, terms: Sequence[Reference]) -> None:
        """Write diag(v) + diag(w) as diag(v + w)."""
        egraph = self.egraph
        kinds = [egraph.special(term) for term in terms]
        if "diag" not in kinds or not set(kinds) <= {"diag", "eye"}:
            return
        if self._once("diagonals", ref[1]):
            columns = [
                egraph.scaled(egraph.canonical(term)[0], egraph.ones(egraph.shape(term)[0]))
                if kind == "eye"
                else egraph.entries(term)
                for term, kind in zip(terms, kinds, strict=True)
            ]
            self._union(ref, egraph.diag(egraph.sum(columns)), DIAG_LINEAR)

    def _name_parts(self, node: Node, ref: Reference, terms: Sequence[Reference]) -> None:
        """Use a sum that occurs elsewhere where it is a part of this one."""
        egraph = self.egraph
        mine = dict(node[1])
        sums = dict.fromkeys(
            other
            for factor in mine
            for other in egraph.classes[egraph.find(factor[0])[1]].parents
            if other[0] == "sum" and 2 <= len(other[1]) < len(terms)
        )
        for other in sums:
            if other not in egraph.table or not self._is_used_whole(other):
                continue
            for t in (0, 1):
                part = [egraph.canonical((c, x, u ^ t, i)) for (x, u, i), c in other[1]]
                if not all(r[1:] in mine for r in part):
                    continue
                ratio = quotient(mine[part[0][1:]], part[0][0])
                is_multiple = all(mine[r[1:]] == ratio * r[0] for r in part)
                if is_multiple and self._once("part", ref[1], other, t):
                    gone = {r[1:] for r in part}
                    named = act((ratio, t, 0), egraph.table[other])
                    rest = [term for term in terms if term[1:] not in gone]
                    self._union(ref, egraph.sum([*rest, named]), SUMS)

    def _is_used_whole(self, node: Node) -> bool:
        """Return whether anything but a sum uses a sum: only then is it computed by itself."""
        egraph = self.egraph
        x = egraph.find(egraph.table[node][1])[1]
        return any(parent[0] != "sum" for parent in egraph.classes[x].parents) or any(
            egraph.find(root[1])[1] == x for root in self.roots
        )

    # -- elementwise products, diagonals and determinants ------------------------------------------

    def hadamard(self, node: Node, ref: Reference) -> None:
        """Flatten and expand an elementwise product; take a dyad or a vector apart."""
        egraph = self.egraph
        powers: list[tuple[Reference, int]] = [((1, *factor), e) for factor, e in node[1]]
        for p, (factor, e) in enumerate(powers):
            rest = powers[:p] + powers[p + 1 :]
            forms = [form for form in egraph.hadamards(factor) if form[-1] != ref[1]]
            for c, inner, _ in self._new(forms, "flatten elementwise", ref[1], p):
                flat = egraph.hadamard(rest + [(y, f * e) for y, f in inner])
                new = egraph.scaled(raised(c, e), flat)
                self._union(ref, new, ELEMENTWISE_ASSOCIATIVITY)
            if e == 1 or (e == 2 and not rest):
                others = rest or [(factor, 1)] * (e - 1)
                sums = [form for form in egraph.sums(factor) if len(form[0]) <= EXPANDED_POWERS]
                for terms, _ in self._new(sums, "expand elementwise", ref[1], p):
                    expanded = [egraph.hadamard([*others, (term, 1)]) for term in terms]
                    law = SQUARE_OF_SUM if e == 2 else ELEMENTWISE_DISTRIBUTIVITY
                    self._union(ref, egraph.sum(expanded), law)
            if e == 1 and rest and 1 not in egraph.shape(factor):
                self._take_dyads(ref, p, factor, rest)
            is_column = e >= 1 and egraph.shape(factor)[1] == 1 and (e > 1 or rest)
            if is_column and self._once("vector", ref[1], p):
                others = rest + ([(factor, e - 1)] if e > 1 else [])
                scale = egraph.diag(egraph.hadamard(others))
                self._union(ref, egraph.product(1, (), (scale, factor)), SCALED_ROWS)

    def _take_dyads(
        self, ref: Reference, p: int, factor: Reference, rest: Sequence[tuple[Reference, int]]
    ) -> None:
        """Write (u v.T) * A as diag(u) A diag(v)."""
        egraph = self.egraph
        for c, scalars, seq, _, id_ in egraph.products(factor):
            for k in range(1, len(seq)):
                if egraph.shape(seq[k])[0] == 1 and self._once("dyad", ref[1], p, id_):
                    left = egraph.diag(egraph.product(1, (), seq[:k]))
                    right = egraph.diag(egraph.product(1, (), seq[k:]))
                    body = (left, egraph.hadamard(rest), right)
                    self._union(ref, egraph.product(c, scalars, body), DYAD)

    def diagonal(self, node: Node, ref: Reference) -> None:
        """Take the diagonal of a diagonal matrix, a sum or a product."""
        egraph = self.egraph
        matrix: Reference = (1, *node[1])
        if egraph.special(matrix) == "diag" and self._once("diagonal of diag", ref[1]):
            self._union(ref, egraph.entries(matrix), DIAGONAL_OF_DIAG)
        for terms, _ in self._new(egraph.sums(matrix), "diagonal of sum", ref[1]):
            self._union(ref, egraph.sum([egraph.diagonal(t) for t in terms]), DIAGONAL_LINEAR)
        for c, scalars, seq, _, id_ in egraph.products(matrix):
            if scalars and seq and self._once("diagonal of multiple", ref[1], id_):
                inner = egraph.diagonal(egraph.product(1, (), seq))
                self._union(ref, egraph.product(c, scalars, (inner,)), DIAGONAL_LINEAR)
            for k in range(1, len(seq)):
                if self._once("diagonal of product", ref[1], id_, k):
                    a, b = egraph.product(1, (), seq[:k]), egraph.product(1, (), seq[k:])
                    both = egraph.hadamard([(a, 1), (transposed(b), 1)])
                    column = egraph.product(c, scalars, (both, egraph.ones(egraph.shape(a)[1])))
                    self._union(ref, column, DIAGONAL_OF_PRODUCT)

    def det(self, node: Node, ref: Reference) -> None:
        """Take the determinant of a product, or of a matrix plus one of low rank."""
        egraph = self.egraph
        matrix: Reference = (1, node[1], 0, 0)
        n = egraph.shape(matrix)[0]
        for c, scalars, seq, _, _ in self._new(egraph.products(matrix), "det", ref[1]):
            if not seq or not egraph.all_square([factor[1:] for factor in seq]):
                continue
            if isinstance(n, int):
                c, scalars = raised(c, n), tuple([(s, e * n) for s, e in scalars])
            elif c != 1 or scalars:
                continue
            dets = tuple([(egraph.det(factor), 1) for factor in seq])
            self._union(ref, egraph.product(c, scalars + dets, ()), DET_PRODUCT)
        for terms, id_ in egraph.sums(matrix):
            for a, u, v, form in self._low_rank(terms, n):
                if self._once("det lemma", ref[1], id_, form):
                    dets = ((egraph.det(a), 1), (egraph.det(self._core(a, u, v)), 1))
                    self._union(ref, egraph.product(1, dets, ()), DET_LEMMA)

    # -- inverses ----------------------------------------------------------------------------------

    def _inverse(self, x: int) -> None:
        """Take apart the inverse of a diagonal matrix, of blocks, or of a sum of low rank."""
        egraph = self.egraph
        matrix: Reference = (1, x, 0, 0)
        n = egraph.classes[x].shape[0]
        if egraph.special(matrix) == "diag" and self._once("diag inverse", x):
            new = egraph.diag(egraph.hadamard([(egraph.entries(matrix), -1)]))
            self._union(inverted(matrix), new, DIAG_INVERSE)
        for terms, id_ in egraph.sums(matrix):
            if len(terms) > CUT_INVERSES:
                continue
            blocks = self._blocks(terms, n)
            if blocks is not None:
                if self._once("block inverse", x, id_):
                    parts = [egraph.product(1, (), (s, inverted(b), r)) for s, b, r in blocks]
                    self._union(inverted(matrix), egraph.sum(parts), BLOCK_INVERSE)
                continue
            for a, u, v, form in self._low_rank(terms, n):
                if self._once("woodbury", x, id_, form):
                    core = inverted(self._core(a, u, v))
                    change = egraph.product(-1, (), (inverted(a), u, core, v, inverted(a)))
                    self._union(inverted(matrix), egraph.sum([inverted(a), change]), WOODBURY)

    def _core(self, a: Reference, u: Reference, v: Reference) -> Reference:
        """Return I + V inv(A) U."""
        egraph = self.egraph
        one = egraph.eye(egraph.shape(v)[0])
        return egraph.sum([one, egraph.product(1, (), (v, inverted(a), u))])

    def _blocks(
        self, terms: Sequence[Reference], n: Dim
    ) -> list[tuple[Reference, Reference, Reference]] | None:
        """Return the blocks of a block-diagonal matrix with their places, or None."""
        egraph, blocks, spans = self.egraph, [], []
        for term in terms:
            for c, scalars, seq, _, _ in egraph.products(term):
                if len(seq) < 2 or not egraph.same(seq[0], transposed(seq[-1])):
                    continue
                kind, *span = egraph.of(seq[-1]).special
                if kind == "rows" and not seq[-1][2]:
                    inner = seq[1:-1] or (egraph.eye(span[1] - span[0]),)
                    blocks.append((seq[0], egraph.product(c, scalars, inner), seq[-1]))
                    spans.append((span[0], span[1]))
                    break
            else:
                return None
        spans.sort()
        ends = [0, *[stop for _, stop in spans]]
        return blocks if [start for start, _ in spans] + [n] == ends else None

    def _low_rank(
        self, terms: Sequence[Reference], n: Dim
    ) -> Iterator[tuple[Reference, Reference, Reference, tuple[int, int]]]:
        """Yield the ways to read a sum as A + U V, with A easily inverted and U thin."""
        egraph = self.egraph
        for j, term in enumerate(terms):
            rest = [*terms[:j], *terms[j + 1 :]]
            if not rest or not self._easily_inverted(rest):
                continue
            for c, scalars, seq, _, id_ in egraph.products(term):
                ranks = [egraph.extent(egraph.shape(factor)[0]) for factor in seq[1:]]
                if ranks and min(ranks) < egraph.extent(n):
                    k = 1 + ranks.index(min(ranks))
                    u = egraph.product(c, scalars, seq[:k])
                    yield egraph.sum(rest), u, egraph.product(1, (), seq[k:]), (term[1], id_)

    def _easily_inverted(self, terms: Sequence[Reference]) -> bool:
        egraph = self.egraph
        if len(terms) == 1 and (
            egraph.of(terms[0]).inverse_is or egraph.find(terms[0][1])[1] in self.inverted
        ):
            return True
        return all(
            self._multiple_of_identity(t) is not None or egraph.special(t) == "diag" for t in terms
        )


RULES: dict[str, Callable[[Saturation, Node, Reference], None]] = {
    "product": Saturation.product,
    "sum": Saturation.sum,
    "hadamard": Saturation.hadamard,
    "diagonal": Saturation.diagonal,
    "det": Saturation.det,
}
