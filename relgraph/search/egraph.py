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

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from relgraph.ir.types import Dim
from relgraph.search.labels import (
    UNIT,
    Coefficient,
    Factor,
    Label,
    Reference,
    act,
    compose,
    flipped,
    inverse,
    inverted,
    label_of,
    quotient,
    rational,
    transposed,
)

Shape = tuple[Dim, Dim]
Node = tuple[Any, ...]
Scalars = tuple[tuple[Reference, int], ...]
Premise = tuple[int, int]  # two ids that are in one class

FORMS = 40  # how many nodes of a class are looked at, the oldest first
NEW_NODE = 2  # the steps that a new node takes; each term takes one, and one for 4 operands


class OutOfSteps(Exception):
    """The e-graph has used up its steps."""


class Class:
    """A class of equal terms.

    Attributes
    ----------
    shape : tuple of int or str
        Rows and columns.
    nodes : dict
        Its nodes, in the order in which they were made.
    parents : dict
        The nodes that have it as a factor.
    symmetry : int
        1 if it equals its transpose, -1 if it is its negative, 0 if neither is known.
    inverse_is : int
        1 if its inverse is its transpose, 2 if its inverse is itself, 0 if neither is known.
    special : tuple or None
        The node by which it is recognised: a constant, a diagonal matrix, or a multiple of the
        identity, ``("multiple", scalars)``.
    tick : int
        When it last changed.
    """

    __slots__ = ("inverse_is", "nodes", "parents", "shape", "special", "symmetry", "tick")

    def __init__(self, shape: Shape, tick: int) -> None:
        self.shape = shape
        self.nodes: dict[Node, None] = {}
        self.parents: dict[Node, None] = {}
        self.symmetry = 1 if shape == (1, 1) else 0
        self.inverse_is = 0
        self.special: Node | None = None
        self.tick = tick


class EGraph:
    """A labelled union-find over hash-consed nodes, with congruence and a forest of proofs.

    Parameters
    ----------
    steps : int
        How many terms may be built, or a quarter as many operands; then :class:`OutOfSteps` is
        raised.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.bounded = True  # off while congruence is restored, which ends by itself
        self.links: list[tuple[Label, int]] = []  # id -> (label, parent in the union-find)
        self.classes: dict[int, Class] = {}
        self.table: dict[Node, Reference] = {}
        self.terms: list[tuple[Node, Shape]] = []  # id -> the node that it was made for
        self.proofs: dict[int, list[tuple[int, Label, str, tuple[Premise, ...]]]] = {}
        self.dirty: list[dict[Node, None]] = []
        self.unions = 0
        self.tick = 0
        self._built: Node | None = None  # the last node that was looked up
        self._views: dict[int, tuple[int, list[tuple[Node, Label, int]]]] = {}

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
        known = self.classes[x]
        if known.special is not None and known.special[0] == "zero":
            return 1, x, t if known.shape[0] != known.shape[1] else 0, 0
        if i and known.inverse_is:
            i = 0
            t ^= known.inverse_is == 1
        if t and known.symmetry:
            c, t = c * known.symmetry, 0
        return c, x, t, i

    def of(self, ref: Reference) -> Class:
        """Return the class of a reference."""
        return self.classes[self.find(ref[1])[1]]

    def shape(self, ref: Reference) -> Shape:
        """Return the rows and columns of a reference."""
        _, x, t, _ = self.canonical(ref)
        shape = self.classes[x].shape
        return (shape[1], shape[0]) if t else shape

    def same(self, a: Reference, b: Reference) -> bool:
        """Return whether two references are known to be equal."""
        return self.canonical(a) == self.canonical(b)

    def scaled(self, c: Coefficient, ref: Reference) -> Reference:
        """Return a multiple of a reference."""
        return act((c, 0, 0), ref) if c else self.zero(*self.shape(ref))

    # -- nodes and unions --------------------------------------------------------------------------

    def _intern(
        self, node: Node, shape: Shape, label: Label = UNIT, special: Node | None = None
    ) -> Reference:
        self._built = node
        ref = self.table.get(node)
        if ref is None:
            self._spend(NEW_NODE)
            x = len(self.links)
            self.links.append((UNIT, x))
            self.terms.append((node, shape))
            self.tick += 1
            new = self.classes[x] = Class(shape, self.tick)
            new.nodes[node] = None
            new.special = special
            ref = self.table[node] = (1, x, 0, 0)
            for child in set(children(node)):
                self.classes[self.find(child)[1]].parents[node] = None
        return act(label, ref) if label is not UNIT else ref

    def _spend(self, steps: int) -> None:
        if self.bounded:
            self.steps -= steps
            if self.steps < 0:
                raise OutOfSteps

    def union(self, a: Reference, b: Reference, law: str, premises: Iterable[Premise] = ()) -> bool:
        """State that two references are equal, by a law; return whether that was new.

        Parameters
        ----------
        a, b : Reference
            Of one shape.
        law : str
            The name of the law, for proofs.
        premises : iterable of pair of int
            Ids that the law's instance takes as equal.
        """
        ca, cb = self.canonical(a), self.canonical(b)
        if ca == cb:
            return False
        self.unions += 1
        self.tick += 1
        x, y = ca[1], cb[1]
        outer, inner = label_of(ca), label_of(cb)
        if x == y:
            return self._stabilise(x, compose(inverse(inner), outer))
        edge = compose(inverse(label_of(b)), label_of(a))
        premises = tuple([p for p in premises if p[0] != p[1]])
        self.proofs.setdefault(b[1], []).append((a[1], edge, law, premises))
        self.proofs.setdefault(a[1], []).append((b[1], inverse(edge), law, premises))
        if _weight(self.classes[x]) < _weight(self.classes[y]):  # what is special stays the root
            x, y, outer, inner = y, x, inner, outer
        label = compose(inverse(inner), outer)
        kept, gone = self.classes[x], self.classes.pop(y)
        self.links[y] = (label, x)
        kept.tick = self.tick
        kept.nodes.update(gone.nodes)
        dirty = dict(gone.parents)
        grown = False
        # A class that is special under a label stays an ordinary one, except for zeros.
        if kept.special is None and gone.special is not None:
            is_same = label == UNIT or gone.special[0] == "zero"
            kept.special, grown = (gone.special, True) if is_same else (None, False)
        if gone.symmetry and not kept.symmetry:
            kept.symmetry, grown = gone.symmetry, True
        if gone.inverse_is and not kept.inverse_is and label[0] in (1, -1):
            kept.inverse_is, grown = gone.inverse_is, True
        if grown:
            dirty.update(kept.parents)
        kept.parents.update(gone.parents)
        self.dirty.append(dirty)
        return True

    def _stabilise(self, x: int, label: Label) -> bool:
        """Record that a class equals itself under a label; return whether that was new."""
        c, t, i = label
        known = self.classes[x]
        before = (known.special, known.symmetry, known.inverse_is)
        if not i and (c != 1 if not t else c not in (1, -1)):
            known.special = ("zero", *known.shape)
        elif not i and t:
            known.symmetry = int(c)
        elif c == 1 and known.shape != (1, 1):
            known.inverse_is = 1 if t else 2
        if before == (known.special, known.symmetry, known.inverse_is):
            return False
        known.tick = self.tick
        self.dirty.append(dict(known.parents))
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
                new = self._build(node)
                if self._built == node:
                    continue  # still canonical
                del self.table[node]
                changed = [(c, self.find(c)[1]) for c in children(node)]
                self.union(old, new, "congruence", [p for p in changed if p[0] != p[1]])
        self.bounded = True

    # -- constructors ------------------------------------------------------------------------------

    def leaf(self, k: int, shape: Shape) -> Reference:
        """Return the k-th leaf."""
        return self._intern(("leaf", k), shape)

    def zero(self, m: Dim, n: Dim) -> Reference:
        """Return the m x n matrix of zeros."""
        return self._intern(("zero", m, n), (m, n), special=("zero", m, n))

    def ones(self, n: Dim) -> Reference:
        """Return a column of n ones."""
        if n == 1:
            return self.eye(1)
        return self._intern(("ones", n), (n, 1), special=("ones", n))

    def eye(self, n: Dim) -> Reference:
        """Return the identity of size n."""
        ref = self._intern(("eye", n), (n, n), special=("eye", n))
        known = self.of(ref)
        known.symmetry = known.inverse_is = 1
        return ref

    def rows(self, a: int, b: int, n: Dim) -> Reference:
        """Return rows a to b of the identity of size n."""
        if b - a == n:
            return self.eye(n)
        node = ("rows", a, b, n)
        return self._intern(node, (b - a, n), special=node)

    def number(self, c: Coefficient, m: Dim = 1, n: Dim = 1) -> Reference:
        """Return the m x n matrix whose elements are all c."""
        return self.scaled(c, self.product(1, (), (self.ones(m), transposed(self.ones(n)))))

    def sum(self, refs: Sequence[Reference], shape: Shape | None = None) -> Reference:
        """Return the sum of references of one shape."""
        self._spend(1 + len(refs) // 4)
        total: dict[Factor, Coefficient] = {}
        shape = shape or self.shape(refs[0])
        for ref in refs:
            c, x, t, i = self.canonical(ref)
            special = self.classes[x].special
            if c and (special is None or special[0] != "zero"):
                total[x, t, i] = total.get((x, t, i), 0) + c
        total = {factor: rational(c) for factor, c in total.items() if c}
        if not total:
            return self.zero(*shape)
        if len(total) == 1:
            ((factor, c),) = total.items()
            return (c, *factor)
        plain, lead = _scaled_terms(total)
        turned: dict[Factor, Coefficient] = {}
        for factor, c in total.items():
            d, *rest = self.canonical(transposed((c, *factor)))
            turned[tuple(rest)] = d  # type: ignore[index]
        other, other_lead = _scaled_terms(turned)
        if other < plain:
            ref = self._intern(("sum", other), (shape[1], shape[0]), (other_lead, 1, 0))
        else:
            ref = self._intern(("sum", plain), shape, (lead, 0, 0))
        if plain == other:
            self.union(ref, act((quotient(other_lead, lead), 1, 0), ref), "transpose of a sum")
        return ref

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
        self._spend(1 + len(refs) // 4)
        seq: list[Reference] = []
        scale = list(scalars)
        m, n = (self.shape(refs[0])[0], self.shape(refs[-1])[1]) if refs else (n, n)
        for ref in refs:
            new: Reference | None = self.canonical(ref)
            while new is not None:
                c, x, t, i = new
                known = self.classes[x]
                special = known.special
                if special is not None and special[0] == "zero":
                    return self.zero(m, n)
                if c != 1:
                    coefficient = rational(coefficient * c)
                if known.shape == (1, 1):
                    scale.append(((1, x, t, i), 1))
                    break
                if special is not None and special[0] == "multiple":
                    scale += [((1, y, 0, 0), -e if i else e) for y, e in special[1]]
                    break
                if special is not None and special[0] == "eye":
                    break
                factor: Reference = (1, x, t, i)
                merged = self._adjacent(seq[-1], factor) if seq else None
                if merged is None:
                    seq.append(factor)
                    break
                seq.pop()
                new = self.canonical(merged) if merged else None
        powers: dict[int, int] = {}
        for ref, e in scale:
            c, x, _, i = self.canonical(ref)
            special = self.classes[x].special
            if special is not None and special[0] == "zero":
                return self.zero(m, n)
            if c != 1:
                coefficient = coefficient * Fraction(c) ** e
            if special is None or special[0] != "eye":
                powers[x] = powers.get(x, 0) + (-e if i else e)
        coefficient = rational(coefficient)
        return self._product(coefficient, tuple(sorted(p for p in powers.items() if p[1])), seq, m)

    def _product(
        self, c: Coefficient, powers: tuple[tuple[int, int], ...], refs: list[Reference], n: Dim
    ) -> Reference:
        seq = tuple([(x, t, i) for _, x, t, i in refs])
        if not seq:
            if not powers:
                return self.scaled(c, self.eye(n))
            if n != 1:
                node = ("product", powers, (), n)
                ref = self._intern(node, (n, n), (c, 0, 0), ("multiple", powers))
                self.of(ref).symmetry = 1
                return ref
            if len(powers) == 1 and powers[0][1] in (1, -1):
                ((x, e),) = powers
                return c, x, 0, int(e < 0)
        elif len(seq) == 1 and not powers:
            return (c, *seq[0])
        label: Label = (c, 0, 0)
        if seq and all(factor[2] for factor in seq):  # inv(A) inv(B) = inv(B A)
            seq, powers = flipped(seq, 0, 1), tuple([(x, -e) for x, e in powers])
            label = (c, 0, 1)
        other, sign = self._turned(seq)
        symmetric = bool(seq) and other == seq
        if other < seq:
            seq = other
            label = compose(label, (sign, 1, 0))
        shape = (self.shape((1, *seq[0]))[0], self.shape((1, *seq[-1]))[1]) if seq else (n, n)
        ref = self._intern(("product", powers, seq, 1 if seq else n), shape)
        if symmetric and shape != (1, 1) and not self.of(ref).symmetry:
            self.union(ref, act((sign, 1, 0), ref), "transpose of a product")
        return act(label, ref)

    def _turned(self, seq: tuple[Factor, ...]) -> tuple[tuple[Factor, ...], Coefficient]:
        """Return the factors of the transpose of a product, and the sign that it takes."""
        sign: Coefficient = 1
        out = []
        for factor in flipped(seq, 1, 0):
            c, x, t, i = self.canonical((1, *factor))
            sign *= c
            out.append((x, t, i))
        return tuple(out), sign

    def _adjacent(self, a: Reference, b: Reference) -> Reference | tuple[()] | None:
        """Return the product of two adjacent factors in normal form.

        That is ``()`` for the identity, or None if it has no shorter form.
        """
        _, x, t, i = a
        _, y, u, j = b
        if x == y:
            if t == u and i != j:
                return ()
            how = self.classes[x].inverse_is
            if (how == 1 and t != u) or (how == 2 and t == u):
                return ()
        left, right = self.classes[x].special, self.classes[y].special
        if left is None and right is None:
            return None
        s, r = left[0] if left else "", right[0] if right else ""
        if s == "diag":
            if r == "ones" and not u:
                return self.entries(a)
            if r == "diag":
                return self.diag(self.hadamard([(self.entries(a), 1), (self.entries(b), 1)]))
        if r == "diag" and s == "ones" and t:
            return transposed(self.entries(b))
        if s == r == "ones" and t and not u:
            size = self.classes[x].shape[0]
            return self.number(size) if isinstance(size, int) else None
        if s == "rows" and not t:
            assert left is not None
            if r == "ones" and not u:
                return self.ones(left[2] - left[1])
            if r == "rows":
                assert right is not None
                if not u:
                    return self.rows(right[1] + left[1], right[1] + left[2], right[3])
                if left == right:
                    return ()
                if left[2] <= right[1] or right[2] <= left[1]:
                    return self.zero(left[2] - left[1], right[2] - right[1])
        if r == "rows" and u:
            assert right is not None
            if s == "ones" and t:
                return transposed(self.ones(right[2] - right[1]))
            if s == "rows" and t:
                merged = self._adjacent((1, y, 0, 0), (1, x, 0, 0))
                return transposed(merged) if merged else merged
        return None

    def hadamard(self, refs: Sequence[tuple[Reference, int]]) -> Reference:
        """Return the elementwise product of integer powers of references of one shape."""
        shape = self.shape(refs[0][0])
        if shape == (1, 1):
            return self.product(1, tuple(refs), ())
        self._spend(1 + len(refs) // 4)
        coefficient: Coefficient = 1
        powers: dict[Factor, int] = {}
        for ref, e in refs:
            c, x, t, i = self.canonical(ref)
            special = self.classes[x].special
            if special is not None and special[0] == "zero" and e > 0:
                return self.zero(*shape)
            if c != 1:
                coefficient = coefficient * Fraction(c) ** e
            if not self.is_ones((1, x, t, i)):
                powers[x, t, i] = powers.get((x, t, i), 0) + e
        coefficient = rational(coefficient)
        powers = {factor: e for factor, e in powers.items() if e}
        if not powers:
            return self.number(coefficient, *shape)
        if len(powers) == 1:
            ((factor, e),) = powers.items()
            if e == 1:
                return (coefficient, *factor)
        sign: Coefficient = 1
        turned: dict[Factor, int] = {}
        for factor, e in powers.items():
            c, x, t, i = self.canonical(transposed((1, *factor)))
            sign *= c if e % 2 else 1
            turned[x, t, i] = e
        plain, other = tuple(sorted(powers.items())), tuple(sorted(turned.items()))
        if other < plain:
            node, label = other, (rational(coefficient * sign), 1, 0)
            shape = (shape[1], shape[0])
        else:
            node, label = plain, (coefficient, 0, 0)
        ref = self._intern(("hadamard", node), shape)
        if plain == other and not self.of(ref).symmetry:
            self.union(ref, act((sign, 1, 0), ref), "transpose of an elementwise product")
        return act(label, ref)

    def is_ones(self, ref: Reference) -> bool:
        """Return whether all elements of a reference with coefficient 1 are ones."""
        known = self.of(ref)
        if known.special is not None and known.special[0] == "ones":
            return True
        return any(
            node[0] == "product"
            and not node[1]
            and len(node[2]) == 2
            and all(self._is_special((1, *factor), "ones") for factor in node[2])
            for node in list(known.nodes)[:3]
        )

    def _is_special(self, ref: Reference, kind: str) -> bool:
        special = self.of(ref).special
        return special is not None and special[0] == kind

    def special(self, ref: Reference) -> str:
        """Return the kind of constant or structure of a reference's class, or ""."""
        special = self.of(ref).special
        return str(special[0]) if special is not None else ""

    def diag(self, ref: Reference) -> Reference:
        """Return the diagonal matrix of a column (or row)."""
        c, x, t, i = self.canonical(ref if self.shape(ref)[1] == 1 else transposed(ref))
        known = self.classes[x]
        n = known.shape[0] if known.shape[1] == 1 else known.shape[1]
        if n == 1:
            return ref
        if known.special is not None and known.special[0] == "ones":
            return self.scaled(c, self.eye(n))
        if known.special is not None and known.special[0] == "zero":
            return self.zero(n, n)
        node = ("diag", (x, t, i))
        new = self._intern(node, (n, n), (c, 0, 0), node)
        self.of(new).symmetry = 1
        return new

    def entries(self, ref: Reference) -> Reference:
        """Return the column whose diagonal matrix a reference is."""
        c, x, _, i = self.canonical(ref)
        special = self.classes[x].special
        assert special is not None
        column: Reference = (1, *special[1])
        return self.scaled(c, self.hadamard([(column, -1)]) if i else column)

    def diagonal(self, ref: Reference) -> Reference:
        """Return the diagonal of a square matrix, as a column."""
        c, x, _, i = self.canonical(ref)
        known = self.classes[x]
        n = known.shape[0]
        if n == 1:
            return ref
        kind = self.special(ref)
        if kind == "eye":
            return self.scaled(c, self.ones(n))
        if kind == "zero":
            return self.zero(n, 1)
        return self._intern(("diagonal", (x, 0, i)), (n, 1), (c, 0, 0))

    def det(self, ref: Reference) -> Reference:
        """Return the determinant of a square matrix, as a scalar."""
        c, x, _, i = self.canonical(ref)
        n = self.classes[x].shape[0]
        if n == 1:
            return ref
        assert c == 1 or isinstance(n, int)
        power = rational(Fraction(c) ** n) if isinstance(n, int) else 1
        if n == 1:
            return ref
        if self.special(ref) == "eye":
            return self.number(power)
        new = self._intern(("det", x), (1, 1))
        return self.scaled(power, inverted(new) if i else new)

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
                return self._intern(node, (shape[1], shape[0]), (1, 1, 0))
        return self._intern(("apply", op, operands, details), shape)

    def _build(self, node: Node) -> Reference:
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

    # -- views -------------------------------------------------------------------------------------

    def view(self, x: int) -> list[tuple[Node, Label, int]]:
        """Return the nodes of a class, with the label that makes the class from each, and its id.

        Left out are nodes that contain their own class, which are in no cheapest program, and
        sums and products that equal a constant.
        """
        cached = self._views.get(x)
        if cached is not None and cached[0] == self.tick:
            return cached[1]
        known, out = self.classes[x], []
        constant = known.special is not None and known.special[0] not in ("diag", "multiple")
        for node in list(known.nodes):
            ref = self.table.get(node)
            if ref is None:
                del known.nodes[node]
                continue
            if constant and node[0] in ("sum", "product", "hadamard"):
                continue
            if any(self.find(c)[1] == x for c in children(node)):
                continue
            c, _, t, i = self.canonical(ref)
            out.append((node, inverse((c, t, i)), ref[1]))
            if len(out) >= FORMS:
                break
        self._views[x] = self.tick, out
        return out

    def sums(self, ref: Reference) -> Iterator[tuple[list[Reference], int]]:
        """Yield the sums that a reference equals: their terms, and the id of the node."""
        c, x, t, i = self.canonical(ref)
        for node, label, id_ in self.view(x):
            if node[0] == "sum":
                d, u, j = compose((c, t, i), label)
                if not j:
                    terms = node[1]
                    yield [(rational(e * d), y, v ^ u, w) for (y, v, w), e in terms], id_

    def hadamards(
        self, ref: Reference
    ) -> Iterator[tuple[Coefficient, list[tuple[Reference, int]], int]]:
        """Yield the elementwise products that a reference equals, and the id of the node."""
        c, x, t, i = self.canonical(ref)
        for node, label, id_ in self.view(x):
            if node[0] == "hadamard":
                d, u, j = compose((c, t, i), label)
                if not j:
                    yield d, [((1, y, v ^ u, w), e) for (y, v, w), e in node[1]], id_

    def products(
        self, ref: Reference
    ) -> Iterator[tuple[Coefficient, Scalars, tuple[Reference, ...], Dim, int]]:
        """Yield the products that a reference equals.

        Each has a coefficient, powers of scalars, factors, the size of the identity that stands for
        no factors, and the id of the node.
        """
        c, x, t, i = self.canonical(ref)
        for node, label, id_ in self.view(x):
            if node[0] != "product":
                continue
            d, u, j = compose((c, t, i), label)
            _, powers, seq, n = node
            if j:
                if not self.all_square(seq):
                    continue
                seq, powers = flipped(seq, 0, 1), tuple([(y, -e) for y, e in powers])
            if u:
                seq = flipped(seq, 1, 0)
            scalars = tuple([((1, y, 0, 0), e) for y, e in powers])
            yield d, scalars, tuple([(1, *factor) for factor in seq]), n, id_

    def all_square(self, seq: Iterable[Factor]) -> bool:
        """Return whether all factors are square."""
        shapes = [self.shape((1, *factor)) for factor in seq]
        return all(m == n for m, n in shapes)


def _weight(known: Class) -> tuple[bool, int]:
    return known.special is not None, len(known.parents) + len(known.nodes)


def _scaled_terms(
    total: dict[Factor, Coefficient],
) -> tuple[tuple[tuple[Factor, Coefficient], ...], Coefficient]:
    """Return terms in order, divided by the first coefficient, and that coefficient."""
    terms = sorted(total.items())
    lead = terms[0][1]
    if lead == 1:
        return tuple(terms), 1
    return tuple([(factor, quotient(c, lead)) for factor, c in terms]), lead


def children(node: Node) -> list[int]:
    """Return the ids that a node refers to."""
    match node[0]:
        case "sum" | "hadamard":
            return [factor[0] for factor, _ in node[1]]
        case "product":
            return [x for x, _ in node[1]] + [factor[0] for factor in node[2]]
        case "diag" | "diagonal":
            return [node[1][0]]
        case "det":
            return [node[1]]
        case "apply":
            return [ref[1] for ref in node[2]]
    return []
