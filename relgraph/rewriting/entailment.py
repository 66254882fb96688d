"""What follows from equations between graphs by adding and subtracting them.

A sum is a vector: how often each of its terms is added, less how often it is taken away.  So an
equation between sums says that the difference of two vectors is zero, and another one follows
from some where its difference is a combination of theirs with integer coefficients.  This holds
for integers that wrap around as well, which no division would.  Terms are equal where their ops
are and what they are applied to follows to be equal (congruence).

References
----------
G. Nelson and D. C. Oppen, Fast decision procedures based on congruence closure, Journal of the ACM
27, 1980, doi:10.1145/322186.322198.  H. Cohen, A Course in Computational Algebraic Number Theory,
Springer, 1993, section 2.4.2 (the Hermite normal form).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from relgraph.ir.etuple import same_number
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ops.elementwise import add, multiply
from relgraph.rewriting.equality import paths_to_terms, product_of, sum_op, uniform

Vector = dict[int, int]  # coefficients of terms, by their number

ROUNDS = 8  # how deep equations may lie inside the terms of other ones
MOST = 2_000  # equations that are combined


class Entailment:
    """Equations, and what follows from them.

    Parameters
    ----------
    equations : sequence of (Variable, Variable)
        Pairs of graphs that are equal.
    """

    def __init__(self, equations: Sequence[tuple[Variable, Variable]]) -> None:
        self.equations = tuple(equations)
        self._numbers: dict[Any, int] = {}
        self._factors: dict[int, tuple[Any, Counter[Any]]] = {}  # of the terms that are products
        self._known = Lattice()
        self._vectors: dict[Variable, Vector] = {}

    def holds(self, a: Variable, b: Variable) -> bool:
        """Tell whether the equations imply that two graphs are equal.

        Parameters
        ----------
        a, b : Variable
            The graphs.
        """
        if a.type.dtype != b.type.dtype or len(self.equations) > MOST:
            return False
        for _ in range(ROUNDS):
            self._vectors = {}
            found = Lattice()
            for before, after in self.equations:
                found.add(self._difference(before, after))
            if not found.reduced(self._difference(a, b)):
                return True
            if found.rows == self._known.rows:
                return False
            self._known = found
        return False

    def _difference(self, a: Variable, b: Variable) -> Vector:
        found = Counter(self._vector(a))
        found.subtract(self._vector(b))
        return {i: n for i, n in found.items() if n}

    def _vector(self, node: Variable) -> Vector:
        """Return a graph as a vector, by what is known to be equal inside its terms."""
        stack = [node]
        while stack:
            x = stack[-1]
            if x in self._vectors:
                stack.pop()
                continue
            terms = [_unsigned(y, n) for y, n in _terms(x).items()]
            waiting = [z for y, _ in terms for z in y.inputs if z not in self._vectors]
            if waiting:
                stack.extend(waiting)
                continue
            found: Counter[int] = Counter()
            for y, n in terms:
                for i, m in self._term(y).items():
                    found[i] += n * m
            self._vectors[x] = {i: n for i, n in found.items() if n}
            stack.pop()
        return self._vectors[node]

    def _term(self, x: Variable) -> Vector:
        """Return a term as a vector; one of a single number, but where it is a sum scaled by 1."""
        if x.op is None:
            return self._numbered(x)
        if x.op is multiply and uniform(x) and x.type.dtype.kind in "fi":
            return self._product(x)
        reduced = [self._known.reduced(self._vectors[y]) for y in x.inputs]
        parts: Any = tuple(map(_class, x.inputs, reduced))
        if x.op.commutative:
            parts = frozenset(Counter(parts).items())
        return self._numbered((x.op, parts))

    def _product(self, x: Variable) -> Vector:
        """Return a product by its factors, and theirs where one is equal to a product."""
        numbers: list[tuple[Any, int]] = []
        factors: Counter[Any] = Counter()
        single: dict[Any, Vector] = {}
        for y in x.inputs:
            vector = self._known.reduced(self._vectors[y])
            if isinstance(y, Constant) and not y.ndim and y.uniform is not None:
                numbers.append((y.uniform.item(), 1))
            elif len(vector) == 1:
                ((i, n),) = vector.items()
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
            parts = [_class(y, self._known.reduced(self._vectors[y])) for y in x.inputs]
            return self._numbered((multiply, frozenset(Counter(parts).items())))
        if scale in (1, -1) and factors.total() == 1:
            (key,) = factors
            return {i: int(scale) * n for i, n in single.get(key, {key: 1}).items()}
        key = (multiply, abs(scale), x.type.dtype, x.ndim, frozenset(factors.items()))
        vector = self._numbered(key)
        (number,) = vector
        self._factors[number] = abs(scale), factors
        return {number: -1} if scale < 0 else vector

    def _numbered(self, key: Any) -> Vector:
        return {self._numbers.setdefault(key, len(self._numbers)): 1}


def _class(x: Variable, vector: Vector) -> Any:
    """Return what is the same for nodes of one vector: known to be equal, and of one kind."""
    kind = getattr(x.type, "dtype", x.type), getattr(x, "ndim", 0)
    return frozenset(vector.items()), *kind


class Lattice:
    """The combinations of vectors with integer coefficients, by a basis in echelon form.

    Attributes
    ----------
    rows : dict of int to Vector
        The basis, by the last number of each of its vectors: what was numbered first, such as the
        inputs of a graph, is what others are expressed by.
    """

    def __init__(self) -> None:
        self.rows: dict[int, Vector] = {}

    def add(self, vector: Vector) -> None:
        """Add a vector to those that are combined.

        Parameters
        ----------
        vector : dict of int to int
            Without zeros.
        """
        while vector:
            last = max(vector)
            row = self.rows.get(last)
            if row is None:
                sign = 1 if vector[last] > 0 else -1
                self.rows[last] = {i: sign * n for i, n in vector.items()}
                return
            rest = _less(vector, vector[last] // row[last], row)
            if last in rest:  # Euclid's algorithm on the last coefficients
                self.rows[last], rest = rest, row
            vector = rest

    def reduced(self, vector: Vector) -> Vector:
        """Return the one vector that stands for all that differ from it by a combination.

        Parameters
        ----------
        vector : dict of int to int
            Without zeros.
        """
        waiting = [i for i in vector if i in self.rows]
        while waiting:
            last = max(waiting)
            row = self.rows[last]
            vector = _less(vector, vector[last] // row[last], row)
            waiting = [i for i in vector if i < last and i in self.rows]
        return vector


def _less(vector: Vector, times: int, row: Vector) -> Vector:
    found = dict(vector)
    for i, n in row.items():
        left = found.get(i, 0) - times * n
        if left:
            found[i] = left
        else:
            found.pop(i, None)
    return found


def _terms(x: Variable) -> dict[Variable, int]:
    """Return the terms of a sum, or a node that is none, with how often each counts."""
    dtype = getattr(x.type, "dtype", None)
    if dtype is None or dtype.kind not in "fi" or sum_op(x) is not add:
        return {x: 1}
    if not uniform(x):
        return {x: 1}
    found = {y: plus - minus for y, (plus, minus) in paths_to_terms(x).items()}
    return {y: n for y, n in found.items() if n and not _is_zero(y)}


def _unsigned(x: Variable, count: int) -> tuple[Variable, int]:
    """Return a term without its sign, and how often it counts with it."""
    dtype = getattr(x.type, "dtype", None)
    if dtype is None or dtype.kind not in "fi":
        return x, count
    while x.op is add.inverse and sum_op(x) is None:
        x, count = x.inputs[0], -count
    if isinstance(x, Constant) and next((v for v in x.value.flat if v), 0) < 0:
        return constant(-x.value), -count
    return x, count


def _is_zero(x: Variable) -> bool:
    return isinstance(x, Constant) and not x.ndim and same_number(x.uniform, add.identity)
