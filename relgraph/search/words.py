"""The ring of words: sums of products of matrices, with exact coefficients, in a normal form.

A matrix is a polynomial ``{(scalars, word): coefficient}``.  A word is a product of letters, each
an atom or its transpose; ``scalars`` is a product of powers of scalar atoms.  A vector is a row.
The same type holds elementwise expressions: there the word is empty, and atoms are arrays of which
each element is meant.  :meth:`Words.entries` and :meth:`Words.matrices` convert between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import pairwise
from typing import Any

from relgraph.ir.types import Dim
from relgraph.search.labels import Coefficient, magnitude, quotient, raised, rational
from relgraph.search.polynomials import (
    ONE,
    Atom,
    Budget,
    Letter,
    Monomial,
    Polynomial,
    Rule,
    Unsupported,
    Word,
    add_to,
    key_of,
    plainness,
    scaled,
    single,
)

LARGEST_POWER = 12  # that is expanded


class Words:
    """A table of atoms, and the arithmetic of polynomials in them.

    Parameters
    ----------
    budget : Budget
        Counts the steps.
    split : bool
        Whether a product that is one number becomes a scalar at once, which commutes, rather than
        at the end: rewrites of rank-one updates need the product whole.
    """

    def __init__(self, budget: Budget, *, split: bool = False, first: bool = False) -> None:
        self.budget, self.split, self.first = budget, split, first
        self.atoms: list[Atom] = []
        self._interned: dict[Any, int] = {}
        self.rules: dict[Letter, list[Rule]] = {}
        self.laws: dict[str, None] = {}  # those used, in order
        self.inverted: set[int] = set()  # atoms whose inverse is written

    # Atoms and letters.

    def atom(self, kind: str, content: Any, **about: Any) -> Atom:
        """Return the atom of that kind and content."""
        key = kind, content
        number = self._interned.get(key)
        if number is None:
            number = self._interned[key] = len(self.atoms)
            self.atoms.append(Atom(number, kind, content, **about))
        return self.atoms[number]

    def rows(self, letter: Letter) -> Dim:
        """Return the rows of a letter."""
        atom = self.atoms[letter[0]]
        return atom.columns if letter[1] else atom.rows

    def columns(self, letter: Letter) -> Dim:
        """Return the columns of a letter."""
        return self.rows((letter[0], not letter[1]))

    def is_square(self, letter: Letter) -> bool:
        """Return True if a letter is a square matrix by its sizes."""
        rows = self.rows(letter)
        return rows is not None and rows == self.columns(letter)

    def flipped(self, word: Word) -> Word:
        """Return the transpose of a word."""
        return tuple([(i, not t and not self.atoms[i].symmetric) for i, t in reversed(word)])

    def transpose(self, p: Polynomial) -> Polynomial:
        """Return the transpose of a polynomial."""
        return {(m, self.flipped(w)): c for (m, w), c in p.items()}

    def plainer(self, word: Word) -> Word:
        """Return a word or its transpose: the one with fewer transposes."""
        return min(word, self.flipped(word), key=plainness)

    def has_batch(self, word: Word) -> bool:
        """Return True if a letter stands for several matrices."""
        return any([self.atoms[i].batch for i, _ in word])

    def ones(self, columns: Dim) -> Letter:
        """Return a row of ones."""
        if columns is None:
            raise Unsupported("ones of an unknown size")
        return self.atom("ones", columns, columns=columns, positive=True).number, False

    def column_of_ones(self, rows: Dim) -> Letter:
        """Return a column of ones."""
        return self.ones(rows)[0], True

    def word_of(self, number: int) -> Word:
        """Return the word of which an atom means an element."""
        atom = self.atoms[number]
        word: Word = atom.content[0] if atom.kind == "word" else ((number, False),)
        return word

    def sizes_of(self, m: Monomial) -> dict[str, Any]:
        """Return the sizes of a product of scalars and arrays, as attributes of an atom."""
        atoms = [self.atoms[i] for i, _ in m]
        return {
            "rows": next((atom.rows for atom in atoms if atom.rows != 1), 1),
            "columns": next((atom.columns for atom in atoms if atom.columns != 1), 1),
            "batch": any([atom.batch for atom in atoms]),
        }

    def turns(self, p: Polynomial) -> tuple[int, Any]:
        """Return a key by which a polynomial with fewer transposes comes first."""
        return sum([plainness(w)[0] for _, w in p]), key_of(p)

    # Sums over terms.

    def mapped(self, p: Polynomial, function: Callable[[Word], Polynomial]) -> Polynomial:
        """Return a polynomial with the value of a function in place of each word."""
        out: Polynomial = {}
        for (m, w), c in p.items():
            add_to(out, self.times(single(m, (), c), function(w)))
        return out

    def mapped_arrays(
        self, p: Polynomial, function: Callable[[Monomial], Polynomial]
    ) -> Polynomial:
        """Return a polynomial with the value of a function in place of each product of arrays."""
        out: Polynomial = {}
        for (m, _), c in p.items():
            scalars, arrays = self.scalars_of(m)
            add_to(out, self.times(single(scalars, (), c), function(arrays)))
        return out

    # Scalars and elementwise expressions.

    def scalars_of(self, m: Monomial) -> tuple[Monomial, Monomial]:
        """Return the factors that are scalars, and those that are arrays."""
        scalars = tuple([f for f in m if self.atoms[f[0]].is_scalar])
        if len(scalars) == len(m):
            return m, ()
        return scalars, tuple([f for f in m if not self.atoms[f[0]].is_scalar])

    def factor(self, atom: Atom, exponent: Coefficient = 1) -> Polynomial:
        """Return a power of an atom."""
        return single(((atom.number, rational(exponent)),))

    def product(self, a: Monomial, b: Monomial) -> Polynomial:
        """Return the product of two monomials."""
        if not a or not b:
            return single(a or b)
        exponents = dict(a)
        for i, e in b:
            exponents[i] = exponents.get(i, 0) + e
        return self.monomial(exponents)

    def monomial(self, exponents: dict[int, Coefficient]) -> Polynomial:
        """Return a product of powers; a whole power of a sum is expanded."""
        sums = []
        exponents = dict(exponents)
        for i, e in list(exponents.items()):
            atom = self.atoms[i]
            if atom.kind == "power" and e >= 1:
                times = e.numerator // e.denominator
                sums += [dict(atom.content)] * times
                exponents[i] = e - times
            elif atom.kind == "sign":
                exponents[i] = e % 2
        rest = single(tuple(sorted([(i, rational(e)) for i, e in exponents.items() if e])))
        return reduce(self.times, sums, rest)

    def power(self, p: Polynomial, e: Coefficient) -> Polynomial:
        """Return a power of a scalar or an elementwise expression."""
        e = rational(e)
        is_whole = e.denominator == 1
        if e in (0, 1):
            return p if e else ONE
        if not p:
            if e < 0:
                raise Unsupported("a division by zero")
            return {}
        if len(p) == 1:
            (((m, _), c),) = p.items()
            if is_whole:
                return scaled(self.monomial({i: k * e for i, k in m}), raised(c, e))
            roots = self._root(m, e) if c > 0 and m else None
            if roots is not None:
                return self.times(self._root_of_number(c, e), self.monomial(dict(roots)))
        if is_whole and 0 < e <= LARGEST_POWER:
            return reduce(self.times, [p] * int(e))
        if not is_whole:
            return self._root_of_sum(p, e)
        lead, common, rest = self.monic(p)
        outside = single(tuple([(i, rational(k * e)) for i, k in common]), (), raised(lead, e))
        return self.times(outside, self.factor(self.base(rest), e))

    def _root_of_sum(self, p: Polynomial, e: Coefficient) -> Polynomial:
        """Return a broken power, with the size of the leading coefficient in front of it."""
        size = magnitude(p[max(p, key=lambda term: (len(term[1]), term))])
        rest = scaled(p, quotient(1, size))
        root = ONE if rest == ONE else self.factor(self.base(rest), e)
        return self.times(self._root_of_number(size, e), root)

    def _root_of_number(self, c: Coefficient, e: Coefficient) -> Polynomial:
        """Return a broken power of a positive number, as a number if that is rational."""
        degree = e.denominator
        if c == 1:
            return ONE
        if degree <= LARGEST_POWER and max(c.numerator, c.denominator) < 2**53:
            roots = [round(k ** (1 / degree)) for k in (c.numerator, c.denominator)]
            if [k**degree for k in roots] == [c.numerator, c.denominator]:
                return single(c=raised(quotient(*roots), e.numerator))
        return self.factor(self.base(single(c=c)), e)

    def _root(self, m: Monomial, e: Coefficient) -> Monomial | None:
        """Return a broken power of a monomial of factors that cannot be negative."""
        safe = all([
            self.atoms[i].nonnegative or self.atoms[i].positive or k.denominator % 2 == 0
            for i, k in m
        ])  # fmt: skip
        if safe or (len(m) == 1 and m[0][1] == 1):
            return tuple([(i, rational(k * e)) for i, k in m])
        return None

    def base(self, p: Polynomial) -> Atom:
        """Return the base of a power."""
        factors = tuple([factor for m, _ in p for factor in m])
        positive = min(p.values()) > 0 and all([self.atoms[i].positive for i, _ in factors])
        return self.atom("power", key_of(p), positive=positive, **self.sizes_of(factors))

    def monic(self, p: Polynomial) -> tuple[Coefficient, Monomial, Polynomial]:
        """Return the leading coefficient, the common scalars, and what is left of a polynomial."""
        common = dict(next(iter(p))[0])
        for m, _ in p:
            powers = dict(m)
            common = {
                i: min(e, powers[i], key=magnitude)
                for i, e in common.items()
                if i in powers and (e > 0) == (powers[i] > 0)
            }
        shared = tuple(sorted(common.items()))
        if shared:
            p = self.times(single(tuple([(i, -e) for i, e in shared])), p)
        lead = p[max(p, key=lambda term: (len(term[1]), term))]
        return lead, shared, scaled(p, quotient(1, lead))

    def size(self, n: Dim) -> Polynomial:
        """Return a size as a scalar."""
        if n is None:
            raise Unsupported("an unknown size")
        if isinstance(n, int):
            return single(c=n) if n else {}
        return self.factor(self.atom("size", n, nonnegative=True))

    # Products and their normal form.

    def times(self, p: Polynomial, q: Polynomial) -> Polynomial:
        """Return the product of two polynomials, in normal form."""
        out: Polynomial = {}
        for (m, u), c in p.items():
            for (n, v), d in q.items():
                self.budget.spend(1 + (len(u) + len(v)) // 32)
                for (o, _), e in self.product(m, n).items():
                    word = u + v
                    product = self.reduced(o, word) if word else single(o)
                    add_to(out, product, c * d * e)
        return out

    def reduced(self, m: Monomial, word: Word) -> Polynomial:
        """Return a word in normal form."""
        out: Polynomial = {}
        todo: list[tuple[Monomial, Word, Coefficient]] = [(m, word, 1)]
        while todo:
            m, word, c = todo.pop()
            terms = self._rewritten(m, word, c)
            if terms is None:
                add_to(out, single(m, word, c))
            else:
                todo += terms
        return out

    def passes(self, p: Polynomial, q: Polynomial) -> Iterator[Polynomial]:
        """Yield the product of two polynomials as it is reduced, each word once between two."""
        whole: Polynomial = {}
        for (m, u), c in p.items():
            for (n, v), d in q.items():
                for (o, _), e in self.product(m, n).items():
                    add_to(whole, single(o, u + v, c * d * e))
        before: Polynomial = {}
        while before != whole:
            yield whole
            before, whole = whole, {}
            for (m, word), c in before.items():
                terms = self._rewritten(m, word, c)
                for n, v, d in [(m, word, c)] if terms is None else terms:
                    add_to(whole, single(n, v, d))

    def _rewritten(
        self, m: Monomial, word: Word, c: Coefficient
    ) -> list[tuple[Monomial, Word, Coefficient]] | None:
        """Return the terms that one rewrite makes of a term, None for a normal form."""
        rewrite = self._rewrite(word)
        if rewrite is None:
            return None
        self.budget.spend()
        start, end, result = rewrite
        return [
            (o, word[:start] + v + word[end:], c * d * e)
            for (n, v), d in result.items()
            for (o, _), e in self.product(m, n).items()
        ]

    def _rewrite(self, word: Word) -> tuple[int, int, Polynomial] | None:
        """Return a part of a word that is not in normal form, and what it is equal to."""
        for k, letter in enumerate(word):
            for place, part, result in self.rules.get(letter, ()):
                start, end = k - place, k - place + len(part)
                if start >= 0 and word[start:end] == part:
                    self.laws[self._law(letter)] = None
                    return start, end, result
            if self.atoms[letter[0]].kind == "diagonal":
                rewrite = self._beside_diagonal(word, k)
                if rewrite is not None:
                    return rewrite
        if self.split:
            for start, end in self.scalar_parts(word):
                return start, end, self.trace(word[start:end])
        return None

    def _law(self, letter: Letter) -> str:
        """Return the law by which a letter cancels with a word."""
        atom = self.atoms[letter[0]]
        if atom.kind == "inverse":
            return "cancel_matmul_invo"
        return "cancel_orthogonal_producto" if atom.orthogonal else "cancel_choleskyo"

    def scalar_parts(self, word: Word) -> Iterator[tuple[int, int]]:
        """Yield the parts of a word that are one number."""
        if self.has_batch(word):
            return
        cuts = [k for k, letter in enumerate(word) if self.rows(letter) == 1]
        if word and self.columns(word[-1]) == 1:
            cuts.append(len(word))
        yield from pairwise(cuts)

    def settled(self, p: Polynomial) -> Polynomial:
        """Return a polynomial with every part of its words that is one number as a scalar."""
        out: Polynomial = {}
        for (m, w), c in p.items():
            total = scaled(self.monomial(dict(m)), c)
            kept: Word = ()
            at = 0
            for start, end in self.scalar_parts(w):
                kept += w[at:start]
                total = self.times(total, self.trace(w[start:end]))
                at = end
            add_to(out, {(n, kept + w[at:]): d for (n, _), d in total.items()})
        return out

    # Diagonal matrices, and rows as products of rows.

    def diagonal(self, p: Polynomial) -> Polynomial:
        """Return the diagonal matrices of elementwise expressions of rows."""
        return self.mapped_arrays(p, lambda arrays: single((), self._diagonal(arrays)))

    def _diagonal(self, arrays: Monomial) -> Word:
        if not arrays:
            return ()
        n = self.atoms[arrays[0][0]].columns
        return ((self.atom("diagonal", arrays, rows=n, columns=n, symmetric=True).number, False),)

    def _beside_diagonal(self, word: Word, k: int) -> tuple[int, int, Polynomial] | None:
        """Return a rewrite of a diagonal matrix with its neighbours."""
        inner = self.atoms[word[k][0]].content
        after = word[k + 1 : k + 2]
        if after and self.atoms[after[0][0]].kind == "diagonal":
            both = self.product(inner, self.atoms[after[0][0]].content)
            return k, k + 2, self.diagonal(both)
        if after and self.columns(after[0]) == 1:
            result = self.transpose(self._row_beside(self.flipped(after), inner))
            if result != single((), word[k : k + 2]):
                return k, k + 2, result
        if k and self.rows(word[k - 1]) == 1:
            result = self._row_beside(word[k - 1 : k], inner)
            if result != single((), word[k - 1 : k + 1]):
                return k - 1, k + 1, result
        return None

    def _row_beside(self, row: Word, inner: Monomial) -> Polynomial:
        """Return the product of a row of one letter and the diagonal matrix of a monomial."""
        out: Polynomial = {}
        for (m, _), c in self.times(self.entry(row), single(inner)).items():
            add_to(out, self.row(m), c)
        return out

    def row(self, m: Monomial) -> Polynomial:
        """Return the row whose elements are a product of powers of rows."""
        scalars, arrays = self.scalars_of(m)
        if not arrays:
            raise Unsupported("a row of an unknown size")
        if len(arrays) == 1 and arrays[0][1] == 1:
            return single(scalars, self.word_of(arrays[0][0]))
        word: Word = (self.ones(self.atoms[arrays[0][0]].columns),)
        long = self._long_words(arrays)
        if len(long) == 1:
            word, arrays = self.word_of(long[0]), tuple([f for f in arrays if f[0] != long[0]])
        return single(scalars, word + self._diagonal(arrays))

    def _long_words(self, m: Monomial) -> list[int]:
        """Return the factors that are elements of words of several letters."""
        return [i for i, e in m if e == 1 and len(self.word_of(i)) > 1]

    # Traces, and words that are one number.

    def trace_of(self, p: Polynomial, n: Dim) -> Polynomial:
        """Return the trace of a polynomial of n by n matrices."""
        return self.mapped(p, lambda word: self.trace(word) if word else self.size(n))

    def trace(self, word: Word) -> Polynomial:
        """Return the trace of a word that is not empty, a scalar; one number is its own trace."""
        cut = next((k for k, letter in enumerate(word) if self.rows(letter) == 1), None)
        if cut is None:
            return self._cyclic(word)
        word = word[cut:] + word[:cut]
        cuts = [k for k, letter in enumerate(word) if self.rows(letter) == 1]
        parts = [self._number(word[start:end]) for start, end in pairwise([*cuts, len(word)])]
        return reduce(self.times, parts)

    def _trace(self, word: Word) -> Polynomial:
        """Return the trace of a word in normal form as an atom."""
        return self.factor(self.atom("trace", self.plainer(word)))

    def _cyclic(self, word: Word) -> Polynomial:
        """Return the trace of a word without a part that is one number."""
        self.budget.spend(len(word) ** 2 // 32)
        rotations = [word[k:] + word[:k] for k in range(len(word))]
        for rotation in rotations:
            normal = self.reduced((), rotation)
            if normal != single((), rotation):
                return self.trace_of(normal, self.rows(rotation[0]))
        if len(word) == 1 and self.atoms[word[0][0]].kind == "diagonal":
            ones = self.column_of_ones(self.columns(word[0]))
            row = self.row(self.atoms[word[0][0]].content)
            return self.mapped(row, lambda part: self.trace((*part, ones)))
        return self._trace(min(map(self.plainer, rotations), key=plainness))

    def _number(self, word: Word) -> Polynomial:
        """Return a word that is one number, and no part of which is one, as a scalar."""
        split, self.split = self.split, False
        try:
            normal = self.reduced((), word)
        finally:
            self.split = split
        if normal != single((), word):
            return self.trace_of(normal, 1)
        first, last = (self.atoms[word[k][0]] for k in (0, -1))
        if first.kind == last.kind == "ones" and len(word) == 2:
            return self.size(first.columns)
        middle = self.atoms[word[1][0]] if len(word) == 3 else None
        total = None
        if len(word) == 2:
            total = self._sum_over(word, ())
        elif middle and middle.kind == "diagonal":
            total = self._sum_over(word, middle.content)
        elif middle and middle.kind == "product":
            total = self._sum_of_products(*word)
        return self._trace(word) if total is None else total

    def _sum_of_products(self, row: Letter, middle: Letter, column: Letter) -> Polynomial | None:
        """Return the sum of u_i A_ij B_ij v_j as the trace of diag(u) A diag(v) B.T."""
        pair = self._factors_of_two(self.atoms[middle[0]].content)
        if pair is None:
            return None
        a, b = map(self.flipped, pair) if middle[1] else pair
        left, right = (self.diagonal(self.entry(x)) for x in ((row,), self.flipped((column,))))
        factors = [left, single((), a), right, single((), self.flipped(b))]
        return self.trace_of(reduce(self.times, factors), self.columns(row))

    def _factors_of_two(self, m: Monomial) -> tuple[Word, Word] | None:
        """Return the words of a product of two arrays."""
        if [e for _, e in m] not in ([2], [1, 1]):
            return None
        return self.word_of(m[0][0]), self.word_of(m[-1][0])

    def _sum_over(self, word: Word, middle: Monomial) -> Polynomial | None:
        """Return a row by a diagonal matrix by a column as a shorter trace, None if it has none."""
        whole = self.times(self.entry(word[:1]), self.entry(self.flipped(word[-1:])))
        (((m, _), _),) = self.times(whole, single(middle)).items()
        for i, e in m:
            atom = self.atoms[i]
            if atom.kind == "main_diagonal" and e == 1:
                rest = self.diagonal(single(tuple([f for f in m if f[0] != i])))
                return self.trace_of(self.times(single((), atom.content), rest), atom.columns)
        if len(m) == 1 and m[0][1] == 1:
            return None
        pair = self._factors_of_two(m)
        long = self._long_words(m)
        if pair is not None:
            word = pair[0] + self.flipped(pair[1])
        elif len(long) == 2:
            others = tuple([f for f in m if f[0] not in long])
            first, last = map(self.word_of, long)
            word = first + self._diagonal(others) + self.flipped(last)
        else:
            return None
        return self._trace(word) if len(word) == 2 else self.trace(word)

    def main_diagonal(self, word: Word, n: Dim) -> Polynomial:
        """Return the diagonal of a word of n by n matrices as a row."""
        if not word:
            return ONE
        cut = next((k for k in range(1, len(word)) if self.rows(word[k]) == 1), None)
        if cut is not None:
            column = self.transpose_entries(self.entry(word[:cut]))
            return self.times(column, self.entry(word[cut:]))
        for side, rest in ((0, word[1:]), (-1, word[:-1])):
            atom = self.atoms[word[side][0]]
            if atom.kind == "diagonal":
                return self.times(single(atom.content), self.main_diagonal(rest, n))
        return self.factor(self.atom("main_diagonal", self.plainer(word), columns=n))

    # Between matrices and their elements.

    def entries(self, p: Polynomial, rows: Dim, batch: bool = False) -> Polynomial:
        """Return matrices with that many rows as an elementwise expression."""
        return self.mapped(p, lambda word: self.entry(word, rows, batch))

    def entry(self, word: Word, rows: Dim = None, batch: bool = False) -> Polynomial:
        """Return a word as an elementwise expression."""
        if not word:
            return ONE if rows == 1 and not batch else self.factor(self._element((), rows, rows))
        if batch or self.has_batch(word):
            return self._elements(word)
        if self.rows(word[0]) == 1 and self.columns(word[-1]) == 1:
            return self.trace(word)
        cut = next((k for k in range(1, len(word)) if self.rows(word[k]) == 1), None)
        if cut is not None:
            return self.times(self.entry(word[:cut]), self.entry(word[cut:]))
        if self.columns(word[-1]) == 1:
            return self.transpose_entries(self.entry(self.flipped(word)))
        first, last = (self.atoms[word[k][0]] for k in (0, -1))
        if first.kind == "ones" and self.rows(word[0]) == 1:
            if len(word) == 1:
                return ONE
            if len(word) == 2 and last.kind == "diagonal":
                return single(last.content)
        elif len(word) > 1 and first.kind == "diagonal":
            column = self.transpose_entries(single(first.content))
            return self.times(column, self.entry(word[1:]))
        if len(word) > 1 and last.kind == "diagonal":
            return self.times(self.entry(word[:-1]), single(last.content))
        return self._elements(word)

    def _elements(self, word: Word) -> Polynomial:
        if len(word) == 1:
            atom = self.atoms[word[0][0]]
            if atom.kind == "product":
                inner = single(atom.content)
                return self.transpose_entries(inner) if word[0][1] else inner
            if not word[0][1]:
                return self.factor(atom)
        return self.factor(self._element(word, self.rows(word[0]), self.columns(word[-1])))

    def _element(self, word: Word, rows: Dim, columns: Dim) -> Atom:
        about: dict[str, Any] = {"rows": rows, "columns": columns, "batch": self.has_batch(word)}
        if len(word) == 1:
            atom = self.atoms[word[0][0]]
            about |= {"positive": atom.positive, "nonnegative": atom.nonnegative}
        return self.atom("word", (word, None if word else rows), **about)

    def transpose_entries(self, p: Polynomial) -> Polynomial:
        """Return the transpose of an elementwise expression."""
        out: Polynomial = {}
        for (m, _), c in p.items():
            factors = [(self._flipped_atom(i), e) for i, e in m]
            add_to(out, single(tuple(sorted(factors)), (), c))
        return out

    def _flipped_atom(self, number: int) -> int:
        atom = self.atoms[number]
        if atom.is_scalar or atom.symmetric:
            return number
        word = self.flipped(self.word_of(number))
        if len(word) == 1 and not word[0][1]:
            return word[0][0]
        return self._element(word, atom.columns, atom.rows).number

    def matrices(self, p: Polynomial, rows: Dim, columns: Dim, batch: bool = False) -> Polynomial:
        """Return an elementwise expression as matrices of that shape."""
        return self.mapped_arrays(p, lambda arrays: self._matrix(arrays, rows, columns, batch))

    def _matrix(self, arrays: Monomial, rows: Dim, columns: Dim, batch: bool) -> Polynomial:
        if batch:
            if not arrays:
                raise Unsupported("a number stretched to several matrices")
            return single((), self._array(arrays, rows, columns))
        flat = tuple([f for f in arrays if self.atoms[f[0]].rows == 1])
        tall = tuple([f for f in arrays if self.atoms[f[0]].columns == 1])
        full = tuple([f for f in arrays if f not in flat and f not in tall])
        ((column, _),) = self.transpose_entries(single(tall))
        if full:
            left, right = (single((), self._diagonal(m)) for m in (column, flat))
            middle = single((), self._array(full, rows, columns))
            return self.times(self.times(left, middle), right)
        out = ONE
        if tall:
            out = self.transpose(self.row(column))
        elif rows != 1:
            out = single((), (self.column_of_ones(rows),))
        if flat:
            out = self.times(out, self.row(flat))
        elif columns != 1:
            out = self.times(out, single((), (self.ones(columns),)))
        return out

    def _array(self, m: Monomial, rows: Dim, columns: Dim) -> Word:
        """Return the word of an elementwise product."""
        if len(m) == 1 and m[0][1] == 1:
            return self.word_of(m[0][0])
        ((turned, _),) = self.transpose_entries(single(m))
        swap = turned < m
        if swap:
            m, rows, columns = turned, columns, rows
        about = {**self.sizes_of(m), "rows": rows, "columns": columns, "symmetric": turned == m}
        return ((self.atom("product", m, **about).number, swap),)


__all__ = ["Words"]
