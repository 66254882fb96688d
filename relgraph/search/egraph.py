"""An e-graph of matrices: classes of equal terms, with sums and products of any length as nodes.

A *class* is a set of matrix expressions that are equal for all inputs for which they are defined.
A *reference* (:mod:`relgraph.search.labels`) is a class under a label.  A *node* is a tuple, a key
in the table of nodes.  There are these kinds, with factors ``(class, transposed, inverted)``:

==========================================  ======================================================
``("leaf", k)``                             the k-th value that is not taken apart
``("eye", n)``, ``("zero", m, n)``,         constants: identity, zeros, a column of ones, and rows
``("ones", n)``, ``("rows", a, b, n)``      a to b of the identity of size n
``("sum", ((factor, c), ...))``             a sum; the first coefficient is 1
``("product", ((x, e), ...), seq, n)``      powers of scalars times a sequence of factors; without
                                            factors, times the identity of size n
``("hadamard", ((factor, e), ...))``        an elementwise product of integer powers
``("diag", factor)``                        the diagonal matrix of a column
``("diagonal", factor)``                    the diagonal of a square matrix, as a column
``("det", x)``                              a determinant
``("apply", op, (factor and c, ...), t)``   any other op, with its type
==========================================  ======================================================

A vector of n elements is an n x 1 matrix, a scalar is 1 x 1.  Sums of rows, slices, broadcasting,
traces and scalings are products with constants or diagonal matrices: ``sum(X, axis=1) = X 1``,
``X[a:b] = S X``, ``broadcast(v) = 1 v.T``.  So associativity and distributivity carry them through
sums and products.

The constructors (:meth:`EGraph.sum`, :meth:`EGraph.product`, ...) return the reference of a term in
normal form: like terms are collected, factors cancelled against their inverses, scalars moved to
the front.  All arithmetic on coefficients is exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

from relgraph.ir.types import Dim
from relgraph.search.labels import (
    Coefficient,
    Factor,
    Label,
    Reference,
    act,
    flipped,
    inverted,
    quotient,
    raised,
    rational,
    transposed,
)
from relgraph.search.union_find import (
    ORDINARY,
    Node,
    OutOfSteps,
    Shape,
    UnionFind,
    children,
    factors,
)

__all__ = ["EGraph", "Node", "OutOfSteps", "Scalars", "Shape", "children", "factors"]

Scalars = tuple[tuple[Reference, int], ...]
# Terms of sums and factors of products that a reference equals, each with the id of its node.
Sum = tuple[list[Reference], int]
Hadamard = tuple[Coefficient, list[tuple[Reference, int]], int]
Product = tuple[Coefficient, Scalars, tuple[Reference, ...], Dim, int]


class EGraph(UnionFind):
    """Classes of equal matrix expressions, with the constructors of each kind of node."""

    def __init__(self, steps: int, sizes: Mapping[str, int] = MappingProxyType({})) -> None:
        super().__init__(steps, sizes)
        self.parts: set[Node] = set()  # products that were made as parts of others

    def part(self, seq: Sequence[Reference]) -> Reference:
        """Return the product of adjacent factors of a product."""
        before = len(self.terms)
        ref = self.product(1, (), seq)
        if ref[1] >= before:
            self.parts.add(self.terms[ref[1]][0])
        return ref

    def scaled(self, c: Coefficient, ref: Reference) -> Reference:
        """Return a multiple of a reference."""
        return act((c, 0, 0), ref) if c else self.zero(*self.shape(ref))

    def _either_way(
        self, node: Node, turned: Node, shape: Shape, c: Coefficient, d: Coefficient
    ) -> Reference:
        """Return c times a node, which is d times the transpose of another: the smaller stays."""
        if turned < node:
            return act((d, 1, 0), self.intern(turned, (shape[1], shape[0])))
        ref = self.intern(node, shape)
        if turned == node and not self.of(ref).symmetry:
            self.union(ref, act((quotient(d, c), 1, 0), ref))
        return act((c, 0, 0), ref)

    # -- constants ---------------------------------------------------------------------------------

    def leaf(self, k: int, shape: Shape) -> Reference:
        """Return the k-th leaf."""
        return self.intern(("leaf", k), shape)

    def zero(self, m: Dim, n: Dim) -> Reference:
        """Return the m x n matrix of zeros."""
        node = ("zero", m, n)
        return self.intern(node, (m, n), node)

    def ones(self, n: Dim) -> Reference:
        """Return a column of n ones."""
        node = ("ones", n)
        return self.eye(1) if n == 1 else self.intern(node, (n, 1), node)

    def eye(self, n: Dim) -> Reference:
        """Return the identity of size n."""
        node = ("eye", n)
        return self.intern(node, (n, n), node)

    def rows(self, a: int, b: int, n: Dim) -> Reference:
        """Return rows a to b of the identity of size n."""
        node = ("rows", a, b, n)
        return self.eye(n) if b - a == n else self.intern(node, (b - a, n), node)

    def number(self, c: Coefficient, m: Dim = 1, n: Dim = 1) -> Reference:
        """Return the m x n matrix whose elements are all c."""
        return self.scaled(c, self.product(1, (), (self.ones(m), transposed(self.ones(n)))))

    # -- sums and products -------------------------------------------------------------------------

    def sum(self, refs: Sequence[Reference], shape: Shape | None = None) -> Reference:
        """Return the sum of references of one shape."""
        self.spend(1 + len(refs) // 4)
        total: dict[Factor, Coefficient] = defaultdict(int)
        shape = shape or self.shape(refs[0])
        for ref in refs:
            c, x, t, i = self.canonical(ref)
            if c and self.classes[x].special[0] != "zero":
                total[x, t, i] += c
        total = {factor: rational(c) for factor, c in total.items() if c}
        if not total:
            return self.zero(*shape)
        if len(total) == 1:
            ((factor, c),) = total.items()
            return (c, *factor)
        turned: dict[Factor, Coefficient] = {}
        for (x, t, i), c in total.items():
            c, x, t, i = self.canonical((c, x, t ^ 1, i))
            turned[x, t, i] = c
        (node, c), (other, d) = _led_by_one(total), _led_by_one(turned)
        return self._either_way(("sum", node), ("sum", other), shape, c, d)

    def product(
        self, coefficient: Coefficient, scalars: Scalars, refs: Sequence[Reference], n: Dim = 1
    ) -> Reference:
        """Return ``coefficient * s**e * ... * refs[0] @ refs[1] @ ...``.

        Parameters
        ----------
        coefficient : int or Fraction
        scalars : tuple of (Reference, int)
            Scalars and their powers.
        refs : sequence of Reference
            The factors; without any, the identity of size ``n``.
        """
        self.spend(1 + len(refs) // 4)
        m, n = (self.shape(refs[0])[0], self.shape(refs[-1])[1]) if refs else (n, n)
        seq: list[Reference] = []
        scale, todo = list(scalars), list(reversed(refs))
        while todo:
            c, x, t, i = self.canonical(todo.pop())
            special, factor = self.classes[x].special, (1, x, t, i)
            if special[0] == "zero":
                return self.zero(m, n)
            if c != 1:
                coefficient = rational(coefficient * c)
            if self.classes[x].shape == (1, 1):
                scale.append((factor, 1))
            elif special[0] == "multiple":
                scale += [((1, y, 0, 0), -e if i else e) for y, e in special[1]]
            elif special[0] != "eye":
                merged = self._adjacent(seq[-1], factor) if seq else None
                if merged is None:
                    seq.append(factor)
                else:
                    seq.pop()
                    todo += [merged] if merged else []
        powers: dict[int, int] = defaultdict(int)
        for ref, e in scale:
            c, x, _, i = self.canonical(ref)
            kind = self.classes[x].special[0]
            if kind == "zero":
                return self.zero(m, n)
            if c != 1:
                coefficient = rational(coefficient * raised(c, e))
            if kind != "eye":
                powers[x] += -e if i else e
        factors = tuple([factor[1:] for factor in seq])
        return self._product(
            coefficient, tuple(sorted(p for p in powers.items() if p[1])), factors, m
        )

    def _product(
        self, c: Coefficient, powers: tuple[tuple[int, int], ...], seq: tuple[Factor, ...], n: Dim
    ) -> Reference:
        """Return a product whose factors are in normal form."""
        if not seq and not powers:
            return self.scaled(c, self.eye(n))
        if not seq:
            if n == 1 and len(powers) == 1 and powers[0][1] in (1, -1):
                ((x, e),) = powers
                return c, x, 0, int(e < 0)
            special = ORDINARY if n == 1 else ("multiple", powers)
            return self.scaled(c, self.intern(("product", powers, (), n), (n, n), special))
        if len(seq) == 1 and not powers:
            return (c, *seq[0])
        label: Label = (c, 0, 0)
        if all(factor[2] for factor in seq):  # inv(A) inv(B) = inv(B A)
            seq, powers = flipped(seq, 0, 1), tuple([(x, -e) for x, e in powers])
            label = (c, 0, 1)
        node = ("product", powers, seq, 1)
        shape = (self.shape((1, *seq[0]))[0], self.shape((1, *seq[-1]))[1])
        if self.canonical(transposed((1, *seq[-1])))[1:] > seq[0]:  # so the transpose comes later
            return act(label, self.intern(node, shape))
        turned = [self.canonical((1, *factor)) for factor in flipped(seq, 1, 0)]
        other = ("product", powers, tuple([factor[1:] for factor in turned]), 1)
        sign = prod([factor[0] for factor in turned])
        return act(label, self._either_way(node, other, shape, 1, sign))

    def _adjacent(self, a: Reference, b: Reference) -> Reference | tuple[()] | None:
        """Return the product of two adjacent factors in normal form.

        That is ``()`` for the identity, or None if it has no shorter form.
        """
        (_, x, t, i), (_, y, u, j) = a, b
        if x == y:
            how = self.classes[x].inverse_is
            if (t == u and i != j) or (how == 1 and t != u) or (how == 2 and t == u):
                return ()
        left, right = self.classes[x].special, self.classes[y].special
        if left is ORDINARY or right is ORDINARY:
            return None
        merged = self._constant_product(a, left, b, right)
        if merged is None:
            merged = self._constant_product(transposed(b), right, transposed(a), left)
            merged = transposed(merged) if merged else merged
        return merged

    def _constant_product(
        self, a: Reference, left: Node, b: Reference, right: Node
    ) -> Reference | tuple[()] | None:
        """Return a product of constants and diagonal matrices if it, as it stands, is another."""
        match left[0], a[2], right[0], b[2]:
            case "diag", _, "ones", 0:
                return self.entries(a)
            case "diag", _, "diag", _:
                return self.diag(self.hadamard([(self.entries(a), 1), (self.entries(b), 1)]))
            case "ones", 1, "ones", 0:
                return self.number(left[1]) if isinstance(left[1], int) else None
            case "rows", 0, "ones", 0:
                return self.ones(left[2] - left[1])
            case "rows", 0, "rows", 0:
                return self.rows(right[1] + left[1], right[1] + left[2], right[3])
            case "rows", 0, "rows", 1 if left == right:
                return ()
            case "rows", 0, "rows", 1 if left[2] <= right[1] or right[2] <= left[1]:
                return self.zero(left[2] - left[1], right[2] - right[1])
        return None

    def hadamard(self, refs: Sequence[tuple[Reference, int]]) -> Reference:
        """Return the elementwise product of integer powers of references of one shape."""
        shape = self.shape(refs[0][0])
        if shape == (1, 1):
            return self.product(1, tuple(refs), ())
        self.spend(1 + len(refs) // 4)
        coefficient: Coefficient = 1
        powers: dict[Factor, int] = defaultdict(int)
        for ref, e in refs:
            c, x, t, i = self.canonical(ref)
            if self.classes[x].special[0] == "zero" and e > 0:
                return self.zero(*shape)
            if c != 1:
                coefficient = rational(coefficient * raised(c, e))
            if not self.is_ones((1, x, t, i)):
                powers[x, t, i] += e
        powers = {factor: e for factor, e in powers.items() if e}
        if not powers:
            return self.number(coefficient, *shape)
        if len(powers) == 1 and 1 in powers.values():
            return (coefficient, *next(iter(powers)))
        sign: Coefficient = 1
        turned: dict[Factor, int] = {}
        for (x, t, i), e in powers.items():
            c, x, t, i = self.canonical((1, x, t ^ 1, i))
            sign *= c if e % 2 else 1
            turned[x, t, i] = e
        node, other = (("hadamard", tuple(sorted(p.items()))) for p in (powers, turned))
        return self._either_way(node, other, shape, coefficient, rational(coefficient * sign))

    def is_ones(self, ref: Reference) -> bool:
        """Return whether all elements of a reference with coefficient 1 are ones."""
        known = self.of(ref)
        if known.special[0] == "ones":
            return True
        for node in list(known.nodes)[:3]:
            if node[0] != "product" or node[1] or len(node[2]) != 2 or node not in self.table:
                continue
            factors = [self.canonical((1, *factor)) for factor in node[2]]
            if all([self.special(factor) == "ones" for factor in factors]):
                coefficient = self.canonical(self.table[node])[0]  # the node is so often the class
                return bool(factors[0][0] * factors[1][0] == coefficient)
        return False

    # -- diagonals, determinants and other functions -----------------------------------------------

    def diag(self, ref: Reference) -> Reference:
        """Return the diagonal matrix of a column (or row)."""
        c, x, t, i = self.canonical(ref if self.shape(ref)[1] == 1 else transposed(ref))
        of = self.classes[x]
        n = of.shape[0] if of.shape[1] == 1 else of.shape[1]
        if n == 1:
            return ref
        if of.special[0] == "ones":
            return self.scaled(c, self.eye(n))
        if of.special[0] == "zero":
            return self.zero(n, n)
        node = ("diag", (x, t, i))
        return self.scaled(c, self.intern(node, (n, n), node))

    def entries(self, ref: Reference) -> Reference:
        """Return the column whose diagonal matrix a reference is."""
        c, x, _, i = self.canonical(ref)
        column: Reference = (1, *self.classes[x].special[1])
        return self.scaled(c, self.hadamard([(column, -1)]) if i else column)

    def diagonal(self, ref: Reference) -> Reference:
        """Return the diagonal of a square matrix, as a column."""
        c, x, _, i = self.canonical(ref)
        n = self.classes[x].shape[0]
        if n == 1:
            return ref
        kind = self.special(ref)
        if kind == "zero":
            return self.zero(n, 1)
        column = self.ones(n) if kind == "eye" else self.intern(("diagonal", (x, 0, i)), (n, 1))
        return self.scaled(c, column)

    def det(self, ref: Reference) -> Reference:
        """Return the determinant of a square matrix, as a scalar."""
        c, x, _, i = self.canonical(ref)
        n = self.classes[x].shape[0]
        if n == 1:
            return ref
        assert c == 1 or isinstance(n, int)
        power = raised(c, n) if isinstance(n, int) else 1
        if self.special(ref) == "eye":
            return self.number(power)
        det = self.intern(("det", x), (1, 1))
        return self.scaled(power, inverted(det) if i else det)

    def apply(self, op: Any, refs: Sequence[Reference], details: Any, shape: Shape) -> Reference:
        """Return any other op applied to references.

        Parameters
        ----------
        op : Op
        refs : sequence of Reference
        details : hashable
            What else decides its value, such as the ranks of the operands.
        shape : pair
            The rows and columns of the result.
        """
        operands = tuple([self.canonical(ref) for ref in refs])
        whole = op.pointwise and all(self.shape(r) == shape for r in operands)
        if whole and any(r[2] for r in operands):
            turned = tuple([self.canonical(transposed(r)) for r in operands])
            if not any(r[2] for r in turned):  # f(X.T) = f(X).T
                node = ("apply", op, turned, details)
                return transposed(self.intern(node, (shape[1], shape[0])))
        return self.intern(("apply", op, operands, details), shape)

    def build(self, node: Node) -> Reference:
        """Return a node built again from the classes that its factors are in now."""
        match node[0]:
            case "sum":
                return self.sum([(c, *factor) for factor, c in node[1]])
            case "product":
                powers = tuple([((1, x, 0, 0), e) for x, e in node[1]])
                return self.product(1, powers, [(1, *f) for f in node[2]], node[3])
            case "hadamard":
                return self.hadamard([((1, *factor), e) for factor, e in node[1]])
            case "diag":
                return self.diag((1, *node[1]))
            case "diagonal":
                return self.diagonal((1, *node[1]))
            case "det":
                return self.det((1, node[1], 0, 0))
        _, op, operands, details = node
        return self.apply(op, operands, details, self.terms[self.table[node][1]][1])

    def sums(self, ref: Reference) -> list[Sum]:
        """Return the sums that a reference equals: their terms, and the id of the node."""
        return [
            ([(rational(e * c), y, v ^ t, w) for (y, v, w), e in node[1]], id_)
            for node, (c, t, i), id_ in self.forms("sum", ref)
            if not i
        ]

    def hadamards(self, ref: Reference) -> list[Hadamard]:
        """Return the elementwise products that a reference equals, and the id of the node."""
        return [
            (c, [((1, y, v ^ t, w), e) for (y, v, w), e in node[1]], id_)
            for node, (c, t, i), id_ in self.forms("hadamard", ref)
            if not i
        ]

    def products(self, ref: Reference) -> list[Product]:
        """Return the products that a reference equals.

        Each has a coefficient, powers of scalars, factors, the size of the identity that stands for
        no factors, and the id of the node.
        """
        products: list[Product] = []
        for (_, powers, seq, n), (c, t, i), id_ in self.forms("product", ref):
            if i and not self.all_square(seq):
                continue
            seq = flipped(seq, 0, 1) if i else seq
            seq = flipped(seq, 1, 0) if t else seq
            scalars = tuple([((1, y, 0, 0), -e if i else e) for y, e in powers])
            products.append((c, scalars, tuple([(1, *factor) for factor in seq]), n, id_))
        return products

    def all_square(self, seq: Iterable[Factor]) -> bool:
        """Return whether all factors are square."""
        shapes = [self.shape((1, *factor)) for factor in seq]
        return all(m == n for m, n in shapes)


def _led_by_one(
    total: Mapping[Factor, Coefficient],
) -> tuple[tuple[tuple[Factor, Coefficient], ...], Coefficient]:
    """Return terms in order, divided by the first coefficient, and that coefficient."""
    terms = sorted(total.items())
    lead = terms[0][1]
    if lead == 1:
        return tuple(terms), 1
    return tuple([(factor, quotient(c, lead)) for factor, c in terms]), lead
