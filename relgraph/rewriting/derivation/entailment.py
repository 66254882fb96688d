"""Entailment: equations that follow from others between graphs by adding and subtracting them.

A sum is a vector: for each term, the number of additions minus that of subtractions.  So an
equation between sums says that the difference of two vectors is zero, and it follows from others if
its difference is a combination of theirs with integer coefficients.  This also holds for integers
that wrap around, where division would be invalid.  Terms are equal if their ops are equal and the
equality of their operands follows (congruence).

Less follows for floats: infinity - infinity is not zero, so additions and subtractions are counted
separately, and cancel only where an equation says so.  Nor does ``x + z = y + z`` imply ``x = y``:
unless all values may be assumed finite, a term is replaced by an equal one, and nothing is
subtracted.  An equation holds for arrays of its shape and of shapes it broadcasts to: an equation
between empty arrays implies nothing about others.

References
----------
G. Nelson and D. C. Oppen, Fast decision procedures based on congruence closure, Journal of the ACM
27, 1980, doi:10.1145/322186.322198.  H. Cohen, A Course in Computational Algebraic Number Theory,
Springer, 1993, section 2.4.2 (the Hermite normal form).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from relgraph.ir.etuple import same_number
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ops.elementwise import add, multiply
from relgraph.relations.nary import uniform
from relgraph.rewriting.derivation.equality import paths_to_terms, product_of, sum_op

Vector = dict[int, int]  # coefficients of terms, by their number; i ^ 1 numbers the negative of i

ROUNDS = 8  # how deep equations may be nested inside the terms of others
MOST = 2_000  # the most equations to combine
LONG = 1 << 64  # rows with coefficients above this are reduced by each other
LONGEST = 1 << 1024  # equations with coefficients above this are dropped


class Equation(NamedTuple):
    """Two vectors that are equal as arrays of a type."""

    type: Any
    left: Vector
    right: Vector


class Entailment:
    """Equations, and a test of what they imply.

    Parameters
    ----------
    equations : sequence of (Variable, Variable)
        Pairs of graphs that are equal.
    finite : bool
        Whether to assume finite floats, so that terms on both sides of an equation cancel.
    """

    def __init__(
        self, equations: Sequence[tuple[Variable, Variable]], finite: bool = False
    ) -> None:
        self.equations = tuple(equations)
        self.finite = finite
        self._numbers: dict[Any, int] = {}
        self._factors: dict[int, tuple[Any, Counter[Any]]] = {}  # factors of products
        self._found: list[Equation] = []
        self._known: dict[Any, Lattice | Replacements] = {}
        self._vectors: dict[Variable, Vector] = {}

    def holds(self, a: Variable, b: Variable) -> bool:
        """Return True if the equations imply that two graphs are equal.

        Parameters
        ----------
        a, b : Variable
            The graphs.
        """
        if a.type != b.type or len(self.equations) > MOST:
            return False
        for _ in range(ROUNDS):
            self._vectors = {}
            vectors = [
                Equation(before.type, self._vector(before), self._vector(after))
                for before, after in self.equations
            ]
            left, right = self._vector(a), self._vector(b)
            last, self._found, self._known = self._found, vectors, {}
            if self._of(a.type).equal(left, right):
                return True
            if vectors == last:
                return False
        return False

    def _of(self, kind: Any) -> Lattice | Replacements:
        """Return the equations for arrays of a type: those of types that broadcast to it."""
        known = self._known.get(kind)
        if known is None:
            floats = _is_float(kind)
            known = Replacements() if floats and not self.finite else Lattice()
            for equation in self._found:
                if not _broadcasts(equation.type, kind):
                    continue
                known.equate(equation.left, equation.right)
                if floats:
                    known.equate(_opposite(equation.left), _opposite(equation.right))
            self._known[kind] = known
        return known

    def _reduced(self, x: Variable) -> Vector:
        return self._of(x.type).reduced(self._vectors[x])

    def _vector(self, node: Variable) -> Vector:
        """Return a graph as a vector, modulo the known equalities inside its terms."""
        stack = [node]
        while stack:
            x = stack[-1]
            if x in self._vectors:
                stack.pop()
                continue
            terms = _terms(x)
            waiting = [z for y, _, _ in terms for z in y.inputs if z not in self._vectors]
            if waiting:
                stack.extend(waiting)
                continue
            total: Counter[int] = Counter()
            for y, plus, minus in terms:
                term = self._term(y)
                for i, n in term.items():
                    total[i] += plus * n
                for i, n in _negative(term, x.type).items():
                    total[i] += minus * n
            self._vectors[x] = {i: n for i, n in total.items() if n}
            stack.pop()
        return self._vectors[node]

    def _term(self, x: Variable) -> Vector:
        """Return a term as a vector, with a single entry unless it is a sum scaled by 1."""
        if x.op is None:
            return self._numbered(x)
        if x.op is multiply and uniform(x) and x.type.dtype.kind in "fi":
            return self._product(x)
        parts: Any = tuple([_class(y, self._reduced(y)) for y in x.inputs])
        if x.op.commutative:
            parts = frozenset(Counter(parts).items())
        return self._numbered((x.op, x.type, parts))

    def _product(self, x: Variable) -> Vector:
        """Return a product by its factors, expanding factors that equal a product."""
        numbers: list[tuple[Any, int]] = []
        factors: Counter[Any] = Counter()
        single: dict[Any, Vector] = {}
        floats = _is_float(x.type)
        for y in x.inputs:
            vector = self._reduced(y)
            if isinstance(y, Constant) and not y.ndim and y.uniform is not None:
                numbers.append((y.uniform.item(), 1))
            elif len(vector) == 1 and not (floats and min(vector.values()) < 0):
                ((i, n),) = vector.items()
                if i & 1:
                    i, n = i - 1, -n
                inner, own = self._factors.get(i, (1, Counter({i: 1})))
                numbers += [(n, 1), (inner, 1)]
                factors += own
                single[i] = {i: 1}
            else:
                key = _class(y, vector)
                factors[key] += 1
                single[key] = vector
        scale = product_of(numbers, x.type.dtype)
        if scale is None:
            parts = Counter([_class(y, self._reduced(y)) for y in x.inputs])
            return self._numbered((multiply, x.type, frozenset(parts.items())))
        if scale in (1, -1) and factors.total() == 1:
            (key,) = factors
            vector = single.get(key, {key: 1})
            return vector if scale == 1 else _negative(vector, x.type)
        vector = self._numbered((multiply, abs(scale), x.type, frozenset(factors.items())))
        (number,) = vector
        self._factors[number] = abs(scale), factors
        return _negative(vector, x.type) if scale < 0 else vector

    def _numbered(self, key: Any) -> Vector:
        return {self._numbers.setdefault(key, 2 * len(self._numbers)): 1}


def _class(x: Variable, vector: Vector) -> Any:
    """Return a key that is equal for nodes of one type that are known to be equal."""
    return frozenset(vector.items()), x.type


def _is_float(kind: Any) -> bool:
    dtype = getattr(kind, "dtype", None)
    return dtype is not None and dtype.kind == "f"


def _broadcasts(kind: Any, to: Any) -> bool:
    """Return True if an elementwise op broadcasts arrays of a type to another type."""
    if kind == to:
        return True
    a, b = getattr(kind, "shape", None), getattr(to, "shape", None)
    if a is None or b is None or kind.dtype != to.dtype or len(a) > len(b):
        return False
    ends = zip(a, b[len(b) - len(a) :], strict=True)
    return all([n is None or n in (1, m) for n, m in ends])


def _opposite(vector: Vector) -> Vector:
    """Return a vector with each term exchanged with its negative."""
    return {i ^ 1: n for i, n in vector.items()}


def _negative(vector: Vector, kind: Any) -> Vector:
    return _opposite(vector) if _is_float(kind) else {i: -n for i, n in vector.items()}


class Replacements:
    """Terms, and the sums that they are equal to; equations between other sums are ignored.

    Attributes
    ----------
    rows : dict of int to Vector
        The replacement of each term, by its number.
    """

    def __init__(self) -> None:
        self.rows: dict[int, Vector] = {}

    def equate(self, left: Vector, right: Vector) -> None:
        """Add an equation.

        Parameters
        ----------
        left, right : dict of int to int
            Without zeros.
        """
        left, right = self.reduced(left), self.reduced(right)
        terms = [
            (next(iter(one)), other)
            for one, other in ((left, right), (right, left))
            if list(one.values()) == [1] and not {*one, *_opposite(one)} & other.keys()
        ]
        if terms:
            term, other = max(terms, key=lambda pair: pair[0])
            self.rows[term] = other

    def reduced(self, vector: Vector) -> Vector:
        """Return a vector with every term replaced.

        Parameters
        ----------
        vector : dict of int to int
            Without zeros.
        """
        waiting = [i for i in vector if i in self.rows]
        while waiting:
            i = waiting[-1]
            row = self.rows[i]
            times = vector[i]
            vector = _less({j: n for j, n in vector.items() if j != i}, -times, row)
            waiting = [i for i in vector if i in self.rows]
        return vector

    def equal(self, left: Vector, right: Vector) -> bool:
        """Return True if two vectors are the same after all replacements."""
        return self.reduced(left) == self.reduced(right)


class Lattice:
    """The combinations of vectors with integer coefficients, by a basis in echelon form.

    Attributes
    ----------
    rows : dict of int to Vector
        The basis, by the last number of each of its vectors: terms that were numbered first, such
        as the inputs of a graph, express the others.
    """

    def __init__(self) -> None:
        self.rows: dict[int, Vector] = {}

    def equate(self, left: Vector, right: Vector) -> None:
        """Add the difference of two vectors."""
        self.add(_less(left, 1, right))

    def equal(self, left: Vector, right: Vector) -> bool:
        """Return True if the difference of two vectors is a combination."""
        return not self.reduced(_less(left, 1, right))

    def add(self, vector: Vector) -> None:
        """Add a vector to the generators of the lattice.

        If coefficients grow too long, the vector or a part of it is dropped.

        Parameters
        ----------
        vector : dict of int to int
            Without zeros.
        """
        vector = self.reduced(vector)
        while vector:
            last = max(vector)
            row = self.rows.get(last)
            if row is None:
                sign = 1 if vector[last] > 0 else -1
                self.rows[last] = {i: sign * n for i, n in vector.items()}
                self._shorten(last)
                return
            rest = _less(vector, vector[last] // row[last], row)
            if last in rest:  # Euclid's algorithm on the last coefficients
                self.rows[last], rest = rest, row
                self._shorten(last)
                vector = self._below(rest)
            else:
                vector = self.reduced(rest)
            if _size(vector) >= LONGEST:
                return

    def _shorten(self, last: int) -> None:
        """Reduce a row of long coefficients by those before it."""
        row = self.rows[last]
        if _size(row) < LONG:
            return
        row = self.rows[last] = self._below(row)
        if _size(row) >= LONGEST:
            del self.rows[last]

    def _below(self, vector: Vector) -> Vector:
        """Return a vector with all but its last coefficient reduced."""
        last = max(vector)
        reduced = self.reduced({i: n for i, n in vector.items() if i != last})
        reduced[last] = vector[last]
        return reduced

    def reduced(self, vector: Vector) -> Vector:
        """Return the canonical representative of a vector modulo the lattice.

        Parameters
        ----------
        vector : dict of int to int
            Without zeros.
        """
        remainder, rows = dict(vector), self.rows
        waiting = [-i for i in remainder if i in rows]
        heapify(waiting)
        while waiting:
            last = -heappop(waiting)
            row = rows[last]
            times = remainder.get(last, 0) // row[last]
            if times:
                for i, n in row.items():
                    left = remainder.get(i)
                    if left is None:
                        remainder[i] = -times * n
                        if i in rows:
                            heappush(waiting, -i)
                    elif left == times * n:
                        del remainder[i]
                    else:
                        remainder[i] = left - times * n
        return remainder


def _size(vector: Vector) -> int:
    return max(map(abs, vector.values()), default=0)


def _less(vector: Vector, times: int, row: Vector) -> Vector:
    difference = dict(vector)
    for i, n in row.items():
        left = difference.get(i, 0) - times * n
        if left:
            difference[i] = left
        else:
            difference.pop(i, None)
    return difference


def _terms(x: Variable) -> list[tuple[Variable, int, int]]:
    """Return the terms of a sum without their signs; any other node is a single term.

    Each term comes with its numbers of additions and of subtractions; only integer terms cancel.
    """
    kind = getattr(getattr(x.type, "dtype", None), "kind", "")
    if kind not in ("f", "i"):
        return [(x, 1, 0)]
    counts = {x: (1, 0)} if sum_op(x) is not add or not uniform(x) else paths_to_terms(x)
    signs: dict[Variable, tuple[int, int]] = {}
    for y, (plus, minus) in counts.items():
        term, negative = _unsigned(y)
        if _is_zero(term):
            continue
        if negative:
            plus, minus = minus, plus
        mine = signs.get(term, (0, 0))
        signs[term] = mine[0] + plus, mine[1] + minus
    return [(y, *n) for y, n in signs.items() if kind == "f" or n[0] != n[1]]


def _unsigned(x: Variable) -> tuple[Variable, bool]:
    """Return a term of a sum without its sign, and whether the sign is negative."""
    negative = False
    while x.op is add.inverse and sum_op(x) is None:
        x, negative = x.inputs[0], not negative
    if isinstance(x, Constant) and next((v for v in x.value.flat if v), 0) < 0:
        return constant(-x.value), not negative
    return x, negative


def _is_zero(x: Variable) -> bool:
    """Return True if a term adds zero to a sum, of any shape: vectors belong to typed sums."""
    return isinstance(x, Constant) and same_number(x.uniform, add.identity)
