"""Saturation: each law, in both directions, on every node of an e-graph, until nothing is new.

What changed is found by ticks: a node's laws run again only if a class that they look at has
changed.  Sums are gathered by a hash join on common factors, with a few plans (each factor alone,
all first factors, all last factors, and the cheapest cover of all terms) in place of all subsets.
Laws that make inverses run only towards a smaller inverse.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from relgraph.ir.cost import NOMINAL
from relgraph.ir.types import Dim
from relgraph.search.covers import cheapest_cover
from relgraph.search.egraph import EGraph, Node, Scalars, children
from relgraph.search.labels import (
    Reference,
    act,
    inverted,
    quotient,
    rational,
    transposed,
)

LONGEST_PRODUCT = 64
LARGEST_SUM = 300
SINGLE_GATHERS = 4  # up to so many common factors, each is tried alone
SINGLE_OPENINGS = 2  # up to so many sums in a sum, each is opened alone
EXPANDED_POWERS = 16  # the terms of a sum that is multiplied out elementwise
CUT_INVERSES = 12  # the terms of a sum whose inverse is taken apart

ASSOCIATIVITY = "associativity of products"
SUMS = "associativity of sums"
DISTRIBUTIVITY = "distributivity"
GRAM_OF_SUM = "Gram matrix of a sum"
ELEMENTWISE_DISTRIBUTIVITY = "distributivity of elementwise products"
SQUARE_OF_SUM = "square of a sum"
ELEMENTWISE_ASSOCIATIVITY = "associativity of elementwise products"
SCALED_ROWS = "elementwise product of vectors"
DYAD = "elementwise product with a dyad"
DIAGONAL_OF_PRODUCT = "diagonal of a product"
DIAGONAL_LINEAR = "linearity of the diagonal"
DIAGONAL_OF_DIAG = "diagonal of a diagonal matrix"
DET_PRODUCT = "determinant of a product"
DET_LEMMA = "matrix determinant lemma"
DIAG_INVERSE = "inverse of a diagonal matrix"
DIAG_LINEAR = "linearity of diagonal matrices"
BLOCK_INVERSE = "inverse of a block-diagonal matrix"
PUSH_THROUGH = "push-through identity"
WOODBURY = "Woodbury identity"


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
    ASSOCIATIVITY: Law("A (B C) = (A B) C; a (B C) = (a B) C", _RING),
    SUMS: Law("A + (B + C) = (A + B) + C", _RING),
    DISTRIBUTIVITY: Law("A (b X + c Y) B = b A X B + c A Y B", _RING),
    GRAM_OF_SUM: Law("(X + Y).T (X + Y) = X.T X + X.T Y + Y.T X + Y.T Y", _RING, "cancels"),
    ELEMENTWISE_DISTRIBUTIVITY: Law("x * (b y + c z) = b x * y + c x * z", _RING),
    SQUARE_OF_SUM: Law("(x + y)**2 = (x + y) * x + (x + y) * y", _RING, "cancels"),
    ELEMENTWISE_ASSOCIATIVITY: Law("x * (y * z) = (x * y) * z", _RING),
    SCALED_ROWS: Law("x * y = diag(x) y", "the definition of the product"),
    DYAD: Law("(u v.T) * A = diag(u) A diag(v)", f"{_HORN}, 7.5 (Hadamard products)"),
    DIAGONAL_OF_PRODUCT: Law("diagonal(A B) = (A * B.T) 1", f"{_HORN}, 7.5"),
    DIAGONAL_LINEAR: Law("diagonal(b X + c Y) = b diagonal(X) + c diagonal(Y)", "elementwise"),
    DIAGONAL_OF_DIAG: Law("diagonal(diag(v)) = v", "elementwise"),
    DET_PRODUCT: Law("det(A B) = det(A) det(B)", f"{_HORN}, 0.3.5"),
    DET_LEMMA: Law("det(A + U V) = det(A) det(I + V inv(A) U)", _COOKBOOK, "conditioned"),
    DIAG_INVERSE: Law("inv(diag(v)) = diag(1 / v)", f"{_HORN}, 0.9.1"),
    DIAG_LINEAR: Law("b diag(v) + c diag(w) = diag(b v + c w)", "elementwise"),
    BLOCK_INVERSE: Law("inv(block_diag(A, B)) = block_diag(inv(A), inv(B))", f"{_HORN}, 0.9.2"),
    PUSH_THROUGH: Law("inv(c I + U V) U = U inv(c I + V U)", _HENDERSON, "conditioned"),
    WOODBURY: Law(
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
        self.parts: dict[Node, list[int]] = {}  # a product -> ids of its adjacent factors
        self.is_part: set[Node] = set()
        self.inverted: frozenset[int] = frozenset()  # classes that some term inverts
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
            self._note_inverses()
            for x in sorted(egraph.classes):
                if x not in egraph.classes:
                    continue
                for node, _, id_ in list(egraph.view(x)):
                    apply_laws = RULES.get(node[0])
                    if apply_laws and node in egraph.table and self._is_stale(node):
                        self.done[node] = egraph.tick
                        apply_laws(self, node, (1, id_, 0, 0))
            for x in self._note_inverses():
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
        looked_at = (*children(node), *self.parts.get(node, ()))
        return any(egraph.classes[egraph.find(c)[1]].tick > at for c in looked_at)

    def _once(self, *instance: Any) -> bool:
        if instance in self.seen:
            return False
        self.seen.add(instance)
        return True

    def _union(self, a: Reference, b: Reference, law: str, *premises: tuple[int, int]) -> None:
        if law not in self.excluded and self.egraph.union(a, b, law, premises):
            self.fired[law] += 1

    def _note_inverses(self) -> list[int]:
        """Note the classes that a term inverts."""
        egraph, found = self.egraph, set()
        for node in egraph.table:
            if node[0] == "product":
                found |= {egraph.find(x)[1] for x, _, i in node[2] if i}
            elif node[0] == "sum":
                found |= {egraph.find(x)[1] for (x, _, i), _ in node[1] if i}
        for root in self.roots:
            _, x, _, i = egraph.canonical(root)
            if i:
                found.add(x)
        self.inverted = frozenset(found)
        return sorted(found)

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
        self._open(ref, scalars, factors, n)
        if scalars and len(factors) > 1 and self._once("scale", ref[1]):
            smallest = min(range(len(factors)), key=lambda p: self._area(factors[p]))
            scaled = egraph.product(1, scalars, [factors[smallest]])
            placed = [*factors[:smallest], scaled, *factors[smallest + 1 :]]
            self._union(ref, egraph.product(1, (), placed), ASSOCIATIVITY)
        if len(factors) == 2:
            self._two_factors(ref, scalars, *factors)
        self._push_through(ref, scalars, factors)
        turned = [transposed(factor) for factor in reversed(factors)]
        self._push_through(transposed(ref), scalars, turned)

    def _collapse(
        self, node: Node, ref: Reference, scalars: Scalars, factors: tuple[Reference, ...]
    ) -> None:
        """Name all adjacent factors, and use what else they are equal to."""
        egraph, k = self.egraph, len(factors)
        if k <= 2 or node in self.is_part or self._is_nested(node):
            return
        spans = [(i, i + w) for w in range(2, k) for i in range(k - w + 1)]
        if node not in self.parts:
            self.parts[node] = ids = []
            for i, j in spans:
                part = egraph.product(1, (), factors[i:j])
                ids.append(part[1])
                self.is_part.add(egraph.terms[part[1]][0])
        for (i, j), id_ in zip(spans, self.parts[node], strict=True):
            x = egraph.find(id_)[1]
            others = sum(not self._is_nested(other) for other, _, _ in egraph.view(x))
            if (x in self.inverted or others > 1) and self._once("collapse", ref[1], i, j):
                part = egraph.product(1, (), factors[i:j])
                whole = egraph.product(1, scalars, (*factors[:i], part, *factors[j:]))
                self._union(ref, whole, ASSOCIATIVITY)

    def _open(
        self, ref: Reference, scalars: Scalars, factors: tuple[Reference, ...], n: Dim
    ) -> None:
        """Flatten the products among the factors, and expand the sums."""
        egraph, k = self.egraph, len(factors)
        for p, factor in enumerate(factors):
            before, after = factors[:p], factors[p + 1 :]
            for c, powers, seq, size, id_ in list(egraph.products(factor)):
                if (
                    k + len(seq) - 1 <= LONGEST_PRODUCT
                    and id_ != ref[1]
                    and self._once("flatten", ref[1], p, id_)
                ):
                    inner = seq or (egraph.eye(size),)
                    whole = egraph.product(c, scalars + powers, (*before, *inner, *after))
                    self._union(ref, whole, ASSOCIATIVITY, (factor[1], id_))
            for terms, id_ in list(egraph.sums(factor)):
                if len(terms) <= LARGEST_SUM and self._once("expand", ref[1], p, id_):
                    expanded = [
                        egraph.product(1, scalars, (*before, term, *after)) for term in terms
                    ]
                    law = GRAM_OF_SUM if self._is_gram(factors, p) else DISTRIBUTIVITY
                    self._union(ref, egraph.sum(expanded), law, (factor[1], id_))
        for p, (scalar, e) in enumerate(scalars):
            rest, body = scalars[:p] + scalars[p + 1 :], factors or (egraph.eye(n),)
            for c, powers, seq, _, id_ in list(egraph.products(scalar)):
                if not seq and abs(e) == 1 and self._once("flatten scalar", ref[1], p, id_):
                    inner_powers = tuple([(s, f * e) for s, f in powers])
                    c = c if e > 0 else quotient(1, c)
                    whole = egraph.product(c, rest + inner_powers, body)
                    self._union(ref, whole, ASSOCIATIVITY, (scalar[1], id_))
            if e == 1:
                for terms, id_ in list(egraph.sums(scalar)):
                    if self._once("expand scalar", ref[1], p, id_):
                        expanded = [egraph.product(1, (*rest, (t, 1)), body) for t in terms]
                        self._union(ref, egraph.sum(expanded), DISTRIBUTIVITY, (scalar[1], id_))

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

    def _two_factors(
        self, ref: Reference, scalars: Scalars, first: Reference, second: Reference
    ) -> None:
        """Write diag(v) x as v * x, and (A * B) 1 as the diagonal of A B.T."""
        egraph = self.egraph
        for u, v, turned in (
            (first, second, False),
            (transposed(second), transposed(first), True),
        ):
            is_column = egraph.shape(v)[1] == 1 != egraph.shape(v)[0]
            if is_column and egraph.special(u) == "diag" and self._once("rows", ref[1], u):
                scaled = egraph.hadamard([(egraph.entries(u), 1), (v, 1)])
                column = egraph.product(1, scalars, [scaled])
                self._union(ref, transposed(column) if turned else column, SCALED_ROWS)
            is_total = egraph.special(v) == "ones" and not egraph.canonical(v)[2]
            if is_total and egraph.shape(u)[0] == egraph.shape(u)[1]:
                for c, powers, id_ in list(egraph.hadamards(u)):
                    if [e for _, e in powers] == [1, 1] and self._once("diagonal", ref[1], id_):
                        (a, _), (b, _) = powers
                        inner = egraph.product(c, scalars, (a, transposed(b)))
                        column = egraph.diagonal(inner)
                        equal = transposed(column) if turned else column
                        self._union(ref, equal, DIAGONAL_OF_PRODUCT, (u[1], id_))

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
        for p in range(len(factors) - 1):
            system, u = factors[p], factors[p + 1]
            if not system[3]:
                continue
            matrix: Reference = (1, system[1], system[2], 0)
            n = egraph.shape(u)[1]
            if not self._extent(n) < self._extent(egraph.shape(system)[0]):
                continue
            for terms, id_ in list(egraph.sums(matrix)):
                inner = self._pushed(terms, u, n)
                if inner and self._once("push through", ref[1], ref[2], p, id_):
                    smaller = inverted(egraph.sum(inner))
                    whole = [*factors[:p], u, smaller, *factors[p + 2 :]]
                    new = egraph.product(1, scalars, whole)
                    self._union(ref, new, PUSH_THROUGH, (matrix[1], id_))

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
        opened = {}
        for p, term in enumerate(terms):
            forms = [(inner, id_) for inner, id_ in egraph.sums(term) if id_ != ref[1]]
            if forms:
                opened[p] = forms
        if len(opened) <= SINGLE_OPENINGS:
            for p, forms in opened.items():
                for inner, id_ in forms:
                    if len(terms) + len(inner) <= LARGEST_SUM and self._once(
                        "open", ref[1], p, id_
                    ):
                        flat = terms[:p] + inner + terms[p + 1 :]
                        self._union(ref, egraph.sum(flat), SUMS, (terms[p][1], id_))
        if len(opened) > 1:
            best = {p: max(f, key=lambda form: (len(form[0]), -form[1])) for p, f in opened.items()}
            size = sum(len(inner) for inner, _ in best.values()) + len(terms)
            ids = tuple([id_ for _, id_ in best.values()])
            if size <= LARGEST_SUM and self._once("open all", ref[1], ids):
                flat = []
                for p, term in enumerate(terms):
                    flat += best[p][0] if p in best else [term]
                premises = [(terms[p][1], id_) for p, (_, id_) in best.items()]
                self._union(ref, egraph.sum(flat), SUMS, *premises)
        if len(terms) <= 40:
            self._name_parts(node, ref, terms)
        self._add_diagonals(ref, terms)
        self._gather(ref, terms)

    def _add_diagonals(self, ref: Reference, terms: Sequence[Reference]) -> None:
        """Write diag(v) + diag(w) as diag(v + w)."""
        egraph = self.egraph
        kinds = [egraph.special(term) for term in terms]
        if "diag" not in kinds or not set(kinds) <= {"diag", "eye"}:
            return
        if self._once("diagonals", ref[1]):
            columns = []
            for term, kind in zip(terms, kinds, strict=True):
                c, *rest = egraph.canonical(term)
                column = (
                    egraph.ones(egraph.shape(term)[0])
                    if kind == "eye"
                    else egraph.entries((1, *rest))  # type: ignore[arg-type]
                )
                columns.append(egraph.scaled(c, column))
            self._union(ref, egraph.diag(egraph.sum(columns)), DIAG_LINEAR)

    def _name_parts(self, node: Node, ref: Reference, terms: Sequence[Reference]) -> None:
        """Use a sum that occurs elsewhere where it is a part of this one."""
        egraph = self.egraph
        mine = dict(node[1])
        tried = set()
        for factor in mine:
            for other in list(egraph.classes[egraph.find(factor[0])[1]].parents):
                if (
                    other[0] != "sum"
                    or not 2 <= len(other[1]) < len(terms)
                    or other in tried
                    or other not in egraph.table
                    or not self._is_used_whole(other)
                ):
                    continue
                tried.add(other)
                for t in (0, 1):
                    part = [egraph.canonical((c, x, u ^ t, i)) for (x, u, i), c in other[1]]
                    if not all(r[1:] in mine for r in part):
                        continue
                    ratio = quotient(mine[part[0][1:]], part[0][0])
                    if all(mine[r[1:]] == ratio * r[0] for r in part) and self._once(
                        "part", ref[1], other, t
                    ):
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

    def _gather(self, ref: Reference, terms: Sequence[Reference]) -> None:
        """Read distributivity from right to left, on common factors."""
        groups = self._common_factors(terms)
        if not groups:
            return
        plans = [[key] for key in groups] if len(groups) <= SINGLE_GATHERS else []
        for side in "LR":
            plans.append([key for key in groups if key[0] == side and len(key) == 2])
        if len(groups) > 1:
            plans.append(self._cover(terms, groups))
        for plan in plans:
            taken: set[int] = set()
            chosen = []
            for key in sorted(plan, key=lambda key: (-len(groups[key]), key)):
                members = {j: m for j, m in groups[key].items() if j not in taken}
                if len(members) > 1:
                    chosen.append((key, members))
                    taken |= set(members)
            instance = tuple(
                (key, tuple((j, m[3]) for j, m in members.items())) for key, members in chosen
            )
            if not chosen or not self._once("gather", ref[1], instance):
                continue
            gathered = [term for j, term in enumerate(terms) if j not in taken]
            premises = []
            for key, members in chosen:
                gathered.append(self._gathered(key, members))
                premises += [(terms[j][1], m[3]) for j, m in members.items()]
            law = ELEMENTWISE_DISTRIBUTIVITY if chosen[0][0][0] == "H" else DISTRIBUTIVITY
            self._union(ref, self.egraph.sum(gathered), law, *premises)

    def _common_factors(
        self, terms: Sequence[Reference]
    ) -> dict[tuple[Any, ...], dict[int, tuple[Any, ...]]]:
        """Return the factors that several terms share: the terms, and what is left of each.

        A key is a side (left, right, scalar or elementwise) and a factor.  What is left of a term
        is a coefficient, scalars (or powers), a sequence, and the id of its form.
        """
        egraph = self.egraph
        buckets: dict[tuple[Any, ...], dict[int, tuple[Any, ...]]] = defaultdict(dict)
        for j, term in enumerate(terms):
            for c, powers, seq, n, id_ in egraph.products(term):
                if len(seq) > 1:
                    d, *first = egraph.canonical(seq[0])
                    buckets["L", tuple(first)].setdefault(j, (c * d, powers, seq[1:], id_))
                    d, *last = egraph.canonical(seq[-1])
                    buckets["R", tuple(last)].setdefault(j, (c * d, powers, seq[:-1], id_))
                elif seq:
                    d, *rest = egraph.canonical(seq[0])
                    only = tuple(rest)
                    m, k = egraph.shape(seq[0])
                    buckets["L", only].setdefault(j, (c * d, powers, (egraph.eye(k),), id_))
                    buckets["R", only].setdefault(j, (c * d, powers, (egraph.eye(m),), id_))
                for x, e in powers:
                    if e > 0:
                        others = tuple([(y, f - (y == x)) for y, f in powers if f - (y == x)])
                        body = seq or (egraph.eye(n),)
                        d, *scalar = egraph.canonical(x)
                        buckets["S", tuple(scalar)].setdefault(j, (c * d, others, body, id_))
            for c, factors, id_ in egraph.hadamards(term):
                for y, e in factors:
                    if e >= 1:
                        others = tuple([(z, f - (z == y)) for z, f in factors if f - (z == y)])
                        d, *power = egraph.canonical(y)
                        buckets["H", tuple(power)].setdefault(j, (c * d, others, None, id_))
        for (side, factor), members in list(buckets.items()):  # X itself is X I
            shape = egraph.classes[factor[0]].shape
            if (side in "LR" and 1 not in shape) or side == "R":
                for j, term in enumerate(terms):
                    c, *same = egraph.canonical(term)
                    if tuple(same) == factor and j not in members:
                        size = egraph.shape(term)[side == "L"]
                        members[j] = (c, (), (egraph.eye(size),), term[1], "whole")
            elif side == "S" and shape == (1, 1):
                for j, term in enumerate(terms):
                    c, *same = egraph.canonical(term)
                    if tuple(same) == factor and j not in members:
                        members[j] = (c, (), (egraph.eye(1),), term[1], "whole")
            elif side == "H":
                for j, term in enumerate(terms):
                    c, *same = egraph.canonical(term)
                    if tuple(same) == factor and j not in members:
                        members[j] = (c, (), None, term[1], "whole")
        groups = {key: members for key, members in buckets.items() if len(members) > 1}
        for key, members in list(groups.items()):  # and the same without X I
            strict = {j: m for j, m in members.items() if len(m) == 4}
            if 1 < len(strict) < len(members):
                groups[*key, "strict"] = strict
        return groups

    def _gathered(self, key: tuple[Any, ...], members: dict[int, tuple[Any, ...]]) -> Reference:
        """Return the product of a common factor and the sum of what is left."""
        egraph, side = self.egraph, key[0]
        factor: Reference = (1, *key[1])
        if side == "H":
            rest = [
                egraph.scaled(m[0], egraph.hadamard(m[1]))
                if m[1]
                else egraph.number(m[0], *egraph.shape(factor))
                for m in members.values()
            ]
            return egraph.hadamard([(factor, 1), (egraph.sum(rest), 1)])
        if side == "S":
            inner = egraph.sum([egraph.product(*m[:3]) for m in members.values()])
            return egraph.product(1, ((factor, 1),), (inner,))
        common = [factor]  # the longest common beginning or end
        rests = [m[2] if side == "L" else m[2][::-1] for m in members.values()]
        while all(len(r) > 1 for r in rests) and all(egraph.same(r[0], rests[0][0]) for r in rests):
            common.append(rests[0][0])
            rests = [r[1:] for r in rests]
        inner = egraph.sum(
            [
                egraph.product(m[0], m[1], r if side == "L" else r[::-1])
                for m, r in zip(members.values(), rests, strict=True)
            ]
        )
        return egraph.product(1, (), [*common, inner] if side == "L" else [inner, *common[::-1]])

    def _cover(
        self, terms: Sequence[Reference], groups: dict[tuple[Any, ...], dict[int, Any]]
    ) -> list[tuple[Any, ...]]:
        """Return the cheapest gathers that take every term: each is an edge of its two factors."""
        left = [key for key in groups if key[0] == "L"]
        right = [key for key in groups if key[0] == "R"]
        price = {key: self._price(key, terms[0]) for key in left + right}
        edges = {a: [b for b in right if groups[a].keys() & groups[b].keys()] for a in left}
        needed = cheapest_cover(left, right, price, edges)
        covered = {j for key in needed for j in groups[key]}
        return needed + [key for key in left + right if not set(groups[key]) & covered]

    def _price(self, key: tuple[Any, ...], term: Reference) -> int:
        """Return about what one product by a common factor costs."""
        m, n = self.egraph.shape(term)
        a, b = self.egraph.classes[self.egraph.find(key[1][0])[1]].shape
        return self._extent(a) * self._extent(b) * self._extent(n if key[0] == "L" else m)

    def _extent(self, d: Dim) -> int:
        return d if isinstance(d, int) else NOMINAL

    def _area(self, ref: Reference) -> int:
        m, n = self.egraph.shape(ref)
        return self._extent(m) * self._extent(n)

    # -- elementwise products, diagonals and determinants ------------------------------------------

    def hadamard(self, node: Node, ref: Reference) -> None:
        """Flatten and expand an elementwise product; take a dyad or a vector apart."""
        egraph = self.egraph
        powers: list[tuple[Reference, int]] = [((1, *factor), e) for factor, e in node[1]]
        for p, (factor, e) in enumerate(powers):
            rest = powers[:p] + powers[p + 1 :]
            for c, inner, id_ in list(egraph.hadamards(factor)):
                if id_ != ref[1] and self._once("flatten elementwise", ref[1], p, id_):
                    flat = egraph.hadamard(rest + [(y, f * e) for y, f in inner])
                    new = egraph.scaled(rational(Fraction(c) ** e), flat)
                    self._union(ref, new, ELEMENTWISE_ASSOCIATIVITY, (factor[1], id_))
            if e == 1 or (e == 2 and not rest):
                again = [(factor, 1)] if e == 2 else []
                for terms, id_ in list(egraph.sums(factor)):
                    if len(terms) <= EXPANDED_POWERS and self._once(
                        "expand elementwise", ref[1], p, id_
                    ):
                        expanded = [egraph.hadamard([*rest, (t, 1), *again]) for t in terms]
                        law = SQUARE_OF_SUM if again else ELEMENTWISE_DISTRIBUTIVITY
                        self._union(ref, egraph.sum(expanded), law, (factor[1], id_))
            if e == 1 and rest and 1 not in egraph.shape(factor):
                for c, scalars, seq, _, id_ in list(egraph.products(factor)):
                    for k in range(1, len(seq)):
                        if egraph.shape(seq[k])[0] == 1 and self._once("dyad", ref[1], p, id_):
                            left = egraph.diag(egraph.product(1, (), seq[:k]))
                            right = egraph.diag(egraph.product(1, (), seq[k:]))
                            body = (left, egraph.hadamard(rest), right)
                            new = egraph.product(c, scalars, body)
                            self._union(ref, new, DYAD, (factor[1], id_))
            is_column = e >= 1 and egraph.shape(factor)[1] == 1 and (e > 1 or rest)
            if is_column and self._once("vector", ref[1], p):
                others = rest + ([(factor, e - 1)] if e > 1 else [])
                scale = egraph.diag(egraph.hadamard(others))
                self._union(ref, egraph.product(1, (), (scale, factor)), SCALED_ROWS)

    def diagonal(self, node: Node, ref: Reference) -> None:
        """Take the diagonal of a diagonal matrix, a sum or a product."""
        egraph = self.egraph
        matrix: Reference = (1, *node[1])
        if egraph.special(matrix) == "diag" and self._once("diagonal of diag", ref[1]):
            c, *rest = egraph.canonical(matrix)
            column = egraph.entries((1, *rest))  # type: ignore[arg-type]
            self._union(ref, egraph.scaled(c, column), DIAGONAL_OF_DIAG)
        for terms, id_ in list(egraph.sums(matrix)):
            if self._once("diagonal of sum", ref[1], id_):
                new = egraph.sum([egraph.diagonal(term) for term in terms])
                self._union(ref, new, DIAGONAL_LINEAR, (matrix[1], id_))
        for c, scalars, seq, _, id_ in list(egraph.products(matrix)):
            if scalars and seq and self._once("diagonal of multiple", ref[1], id_):
                inner = egraph.diagonal(egraph.product(1, (), seq))
                self._union(
                    ref, egraph.product(c, scalars, (inner,)), DIAGONAL_LINEAR, (matrix[1], id_)
                )
            for k in range(1, len(seq)):
                if self._once("diagonal of product", ref[1], id_, k):
                    a, b = egraph.product(1, (), seq[:k]), egraph.product(1, (), seq[k:])
                    both = egraph.hadamard([(a, 1), (transposed(b), 1)])
                    column = egraph.product(c, scalars, (both, egraph.ones(egraph.shape(a)[1])))
                    self._union(ref, column, DIAGONAL_OF_PRODUCT, (matrix[1], id_))

    def det(self, node: Node, ref: Reference) -> None:
        """Take the determinant of a product, or of a matrix plus one of low rank."""
        egraph = self.egraph
        matrix: Reference = (1, node[1], 0, 0)
        n = egraph.shape(matrix)[0]
        for c, scalars, seq, _, id_ in list(egraph.products(matrix)):
            if not isinstance(n, int) and (c != 1 or scalars):
                continue
            is_square = bool(seq) and egraph.all_square([f[1:] for f in seq])
            if is_square and self._once("det", ref[1], id_):
                power = n if isinstance(n, int) else 1
                powers = tuple([(s, e * power) for s, e in scalars])
                dets = tuple([(egraph.det(factor), 1) for factor in seq])
                new = egraph.product(rational(Fraction(c) ** power), powers + dets, ())
                self._union(ref, new, DET_PRODUCT, (node[1], id_))
        for terms, id_ in list(egraph.sums(matrix)):
            for a, u, v, premise in self._low_rank(terms, n):
                if self._once("det lemma", ref[1], id_, premise):
                    one = egraph.eye(egraph.shape(v)[0])
                    core = egraph.sum([one, egraph.product(1, (), (v, inverted(a), u))])
                    new = egraph.product(1, ((egraph.det(a), 1), (egraph.det(core), 1)), ())
                    self._union(ref, new, DET_LEMMA, (node[1], id_), premise)

    # -- inverses ----------------------------------------------------------------------------------

    def _inverse(self, x: int) -> None:
        """Take apart the inverse of a diagonal matrix, of blocks, or of a sum of low rank."""
        egraph = self.egraph
        matrix: Reference = (1, x, 0, 0)
        n = egraph.classes[x].shape[0]
        if egraph.special(matrix) == "diag" and self._once("diag inverse", x):
            new = egraph.diag(egraph.hadamard([(egraph.entries(matrix), -1)]))
            self._union(inverted(matrix), new, DIAG_INVERSE)
        for terms, id_ in list(egraph.sums(matrix)):
            if len(terms) > CUT_INVERSES:
                continue
            blocks = self._blocks(terms, n)
            if blocks is not None:
                if self._once("block inverse", x, id_):
                    parts = [egraph.product(1, (), (s, inverted(b), r)) for s, b, r in blocks]
                    self._union(inverted(matrix), egraph.sum(parts), BLOCK_INVERSE, (x, id_))
                continue
            for a, u, v, premise in self._low_rank(terms, n):
                if self._once("woodbury", x, id_, premise):
                    core = egraph.sum(
                        [
                            egraph.eye(egraph.shape(v)[0]),
                            egraph.product(1, (), (v, inverted(a), u)),
                        ]
                    )
                    change = (inverted(a), u, inverted(core), v, inverted(a))
                    new = egraph.sum([inverted(a), egraph.product(-1, (), change)])
                    self._union(inverted(matrix), new, WOODBURY, (x, id_), premise)

    def _blocks(
        self, terms: Sequence[Reference], n: Dim
    ) -> list[tuple[Reference, Reference, Reference]] | None:
        """Return the blocks of a block-diagonal matrix with their places, or None."""
        egraph, blocks, spans = self.egraph, [], []
        for term in terms:
            for c, scalars, seq, _, _ in egraph.products(term):
                if len(seq) < 2:
                    continue
                special = egraph.of(seq[-1]).special
                if (
                    special is not None
                    and special[0] == "rows"
                    and not seq[-1][2]
                    and egraph.same(seq[0], transposed(seq[-1]))
                ):
                    inner = seq[1:-1] or (egraph.eye(special[2] - special[1]),)
                    blocks.append((seq[0], egraph.product(c, scalars, inner), seq[-1]))
                    spans.append((special[1], special[2]))
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
            for c, scalars, seq, _, id_ in list(egraph.products(term)):
                if len(seq) < 2:
                    continue
                k = min(range(1, len(seq)), key=lambda k: self._extent(egraph.shape(seq[k])[0]))
                if self._extent(egraph.shape(seq[k])[0]) < self._extent(n):
                    u = egraph.product(c, scalars, seq[:k])
                    yield egraph.sum(rest), u, egraph.product(1, (), seq[k:]), (term[1], id_)

    def _easily_inverted(self, terms: Sequence[Reference]) -> bool:
        if len(terms) == 1 and self._is_invertible(terms[0]):
            return True
        return all(
            self._multiple_of_identity(t) is not None or self.egraph.special(t) == "diag"
            for t in terms
        )

    def _is_invertible(self, ref: Reference) -> bool:
        egraph = self.egraph
        known = egraph.of(ref)
        return (
            bool(known.inverse_is)
            or egraph.find(ref[1])[1] in self.inverted
            or egraph.find(ref[1])[1] in self.invertible
            or self._multiple_of_identity(ref) is not None
        )

    invertible: Collection[int] = ()  # classes known to be invertible, by their facts


RULES: dict[str, Callable[[Saturation, Node, Reference], None]] = {
    "product": Saturation.product,
    "sum": Saturation.sum,
    "hadamard": Saturation.hadamard,
    "diagonal": Saturation.diagonal,
    "det": Saturation.det,
}
