"""Graphs of polynomials of words, so that proofs have steps to read and to replay."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

from relgraph.errors import RelgraphError
from relgraph.ir.node import Variable, constant
from relgraph.ir.types import Dim
from relgraph.ops import elementwise
from relgraph.ops.contraction import Matmul, Outer
from relgraph.ops.linalg.solve import Det, Inv
from relgraph.ops.linalg.structured import Diag, Diagonal, Eye, Trace
from relgraph.ops.permutation import MatrixTranspose
from relgraph.ops.shape import BroadcastTo, ExpandDims, Squeeze
from relgraph.search.labels import Coefficient
from relgraph.search.normal_form import NormalForms
from relgraph.search.polynomials import Atom, Monomial, Polynomial, Unsupported, Word, key_of

matmul, outer, transpose, inv = Matmul(), Outer(), MatrixTranspose(), Inv()
power = elementwise.Elementwise("power")


class WordGraphs:
    """Graphs of the polynomials of a reading."""

    def __init__(self, reading: NormalForms, dtype: Any) -> None:
        self.reading, self.words, self.dtype = reading, reading.words, dtype
        self.graphs: list[Variable | None] = []  # of atoms
        self.sums: dict[Any, Variable] = {}  # equal polynomials become one graph, as first written

    def of(self, x: Variable) -> Variable:
        """Return the normal form of a node as a graph of its type, or raise."""
        self.dtype = x.dtype
        return self.written(*self.reading.values[x], x)

    def written(self, is_field: bool, p: Polynomial, like: Variable) -> Variable:
        """Return a polynomial as a graph of the type of another graph."""
        return self._fitted(self.field(p) if is_field else self.matrix(p, like), like)

    def _fitted(self, graph: Variable, like: Variable) -> Variable:
        """Return a graph stretched to the shape of another one."""
        if graph.type.narrows(like.type):
            return graph
        shape = like.type.shape
        if graph.dtype != like.dtype or None in shape:
            raise Unsupported("another type")
        sizes = [self._size(n) for n in shape if not isinstance(n, int)]
        return BroadcastTo(shape)(graph, *sizes)  # type: ignore[no-any-return]

    def _size(self, n: Dim) -> Variable:
        if isinstance(n, int):
            return constant(n)
        if n is None:
            raise Unsupported("an unknown size")
        return self.reading.sizes[n]

    # Numbers and sums.

    def number(self, c: Coefficient) -> Variable:
        """Return a number."""
        if self.dtype.kind != "f":
            return constant(int(c), self.dtype)
        exact = Fraction(float(c)) == c
        one = constant(float(c if exact else c.numerator), self.dtype)
        if exact:
            return one
        return elementwise.true_divide(one, constant(float(c.denominator), self.dtype))  # type: ignore[no-any-return]

    def total(self, terms: list[tuple[Coefficient, Variable | None]]) -> Variable:
        """Return a sum of multiples; None stands for 1."""
        terms = sorted(terms, key=lambda term: term[0] < 0)
        out: Variable | None = None
        for c, graph in terms:
            sign = -1 if c < 0 and out is not None else 1
            c = c * sign
            if graph is None:
                graph = self.number(c)
            elif c == -1:
                graph = -graph
            elif c != 1 and c.numerator in (1, -1) and Fraction(float(c)) != c:
                graph = (graph if c > 0 else -graph) / self.number(c.denominator)
            elif c != 1:
                graph = self.number(c) * graph
            out = graph if out is None else (out - graph if sign < 0 else out + graph)
        return self.number(0) if out is None else out

    # Elementwise expressions.

    def field(self, p: Polynomial) -> Variable:
        """Return an elementwise expression as a graph, which may have to be stretched."""
        key = self.dtype, key_of(p)
        if key not in self.sums:
            self.sums[key] = self.total([(c, self.monomial(m)) for (m, _), c in p.items()])
        return self.sums[key]

    def monomial(self, m: Monomial) -> Variable | None:
        """Return a product of powers, None for 1."""
        above = [self._power(i, e) for i, e in m if e > 0]
        below = [self._power(i, -e) for i, e in m if e < 0]
        if not above and not below:
            return None
        top = reduce(elementwise.multiply, above) if above else self.number(1)
        return top / reduce(elementwise.multiply, below) if below else top

    def _power(self, number: int, e: Coefficient) -> Variable:
        graph = self.atom(number)
        if e == 1:
            return graph
        if e == Fraction(1, 2):
            return elementwise.sqrt(graph)  # type: ignore[no-any-return]
        return power(graph, self.number(e))  # type: ignore[no-any-return]

    # Atoms.

    def atom(self, number: int) -> Variable:
        """Return the graph of an atom: a row as a vector, a scalar without dimensions."""
        while len(self.graphs) <= number:  # atoms are made of earlier ones
            try:
                graph: Variable | None = self._atom(self.words.atoms[len(self.graphs)])
            except (Unsupported, RelgraphError):
                graph = None
            self.graphs.append(graph)
        written = self.graphs[number]
        if written is None:
            raise Unsupported("an atom without a graph")
        return written

    def _atom(self, atom: Atom) -> Variable:
        x = atom.content
        match atom.kind:
            case "graph":
                graph = self._as_atom(atom)
            case "word":
                graph = self._element(x[0], atom)
            case "product":
                graph = self._product(x)
            case "power":
                graph = self.field(dict(x))
            case "exp":
                graph = elementwise.exp(self._product(x))
            case "log":
                inner = self.number(x) if isinstance(x, int) else self.atom(x[0])
                graph = elementwise.log(elementwise.absolute(inner))
            case "absolute":
                graph = elementwise.absolute(self.atom(x))
            case "sign":
                graph = elementwise.sign(self.atom(x))
            case "size":
                graph = self._size(x)
            case "ones":
                graph = self._ones(x)
            case "diagonal":
                graph = Diag(0)(self._product(x))
            case "inverse":
                graph = inv(self.square(dict(x), atom.rows))
            case "det":
                graph = Det()(self.square(dict(x), None))
            case "trace":
                graph = self.word(x)
                graph = Trace()(graph) if graph.ndim == 2 else graph
            case "moved":
                graph = self._moved(atom)
            case "main_diagonal":
                graph = Diagonal(0)(self.word(x))
            case _:
                raise Unsupported(atom.kind)
        return graph

    def _as_atom(self, atom: Atom) -> Variable:
        """Return a graph with the dimensions of its atom."""
        graph = atom.graph
        assert graph is not None
        if atom.is_scalar and graph.ndim:
            return Squeeze(tuple(range(-graph.ndim, 0)))(graph)  # type: ignore[no-any-return]
        if atom.rows == 1 and not atom.batch and graph.ndim == 2:
            return Squeeze((-2,))(graph)  # type: ignore[no-any-return]
        return graph

    def _moved(self, atom: Atom) -> Variable:
        """Return what an op that moves elements makes of one term."""
        x = atom.graph
        assert x is not None and x.op is not None
        y, *others = x.inputs
        inner = self._fitted(self._product(atom.content[1]), y)
        return x.op(inner, *others)  # type: ignore[no-any-return]

    def _product(self, m: Monomial) -> Variable:
        product = self.monomial(m)
        return self.number(1) if product is None else product

    def _element(self, word: Word, atom: Atom) -> Variable:
        if not word:
            return self._identity(atom.rows)
        graph = self.word(word)
        return ExpandDims((-1,))(graph) if atom.columns == 1 else graph

    def _ones(self, n: Dim) -> Variable:
        sizes = [] if isinstance(n, int) else [self._size(n)]
        return BroadcastTo((n,))(constant(1, self.dtype), *sizes)  # type: ignore[no-any-return]

    def _identity(self, n: Dim) -> Variable:
        if isinstance(n, int):
            return Eye(n, n, 0, self.dtype.name)()  # type: ignore[no-any-return]
        return Diag(0)(self._ones(n))  # type: ignore[no-any-return]

    # Matrices.

    def matrix(self, p: Polynomial, like: Variable) -> Variable:
        """Return a polynomial as a graph with the dimensions of another one."""
        rows = like.type.shape[-2] if like.ndim > 1 else 1
        columns = like.type.shape[-1] if like.ndim else 1
        graph = self.sum_of_words(p, rows)
        if not p or like.ndim > 2 or graph.ndim == like.ndim:
            return graph
        if like.ndim == 2 and graph.ndim == 1:
            return ExpandDims((-2 if rows == 1 and columns != 1 else -1,))(graph)  # type: ignore[no-any-return]
        return ExpandDims(tuple(range(-like.ndim, 0)))(graph)  # type: ignore[no-any-return]

    def square(self, p: Polynomial, rows: Dim) -> Variable:
        """Return a polynomial of square matrices as a graph."""
        if rows is None:
            word = next((w for _, w in p if w), None)
            rows = self.words.rows(word[0]) if word else None
        return self.sum_of_words(p, rows)

    def sum_of_words(self, p: Polynomial, rows: Dim) -> Variable:
        """Return a polynomial as a graph; a row or column is a vector, one number a scalar."""
        key = self.dtype, key_of(p), rows
        if key in self.sums:
            return self.sums[key]
        terms = []
        for (m, w), c in p.items():
            graph = self.word(w) if w else None if rows == 1 else self._identity(rows)
            if graph is None or m:
                scalar = self.monomial(m)
                graph = scalar if graph is None else scalar * graph
            terms.append((c, graph))
        self.sums[key] = self.total(terms)
        return self.sums[key]

    def word(self, word: Word) -> Variable:
        """Return a word as a graph; a row or column is a vector, one number a scalar."""
        words = self.words
        if any([words.atoms[i].batch for i, _ in word]):
            return reduce(matmul, [self._letter(letter) for letter in word])
        cuts = [k for k in range(1, len(word)) if words.rows(word[k]) == 1]
        bounds = [0, *cuts, len(word)]
        parts = [self._part(word[start:end]) for start, end in pairwise(bounds)]
        vectors = [part for part in parts if part.ndim]
        numbers = [part for part in parts if not part.ndim]
        if len(vectors) == 2:
            whole = outer(*vectors)
            return reduce(elementwise.multiply, [*numbers, whole])  # type: ignore[no-any-return]
        return reduce(elementwise.multiply, [*numbers, *vectors])

    def _part(self, word: Word) -> Variable:
        """Return a word without a number inside; a vector is written with fewer transposes."""
        rows, columns = self.words.rows(word[0]), self.words.columns(word[-1])
        if rows == 1 or columns == 1:
            word = min(self.words.flipped(word), word, key=self._transposes)
        return reduce(matmul, [self._letter(letter) for letter in word])

    def _transposes(self, word: Word) -> int:
        atoms = [self.words.atoms[i] for i, turned in word if turned]
        return sum([atom.rows != 1 and atom.columns != 1 for atom in atoms])

    def _letter(self, letter: tuple[int, bool]) -> Variable:
        number, turned = letter
        graph = self.atom(number)
        atom = self.words.atoms[number]
        if atom.columns == 1 and not atom.batch and graph.ndim == 2:
            return Squeeze((-1,))(graph)  # type: ignore[no-any-return]
        return transpose(graph) if turned and graph.ndim > 1 else graph
