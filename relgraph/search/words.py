"""The ring of words: sums of products of matrices, with exact coefficients, in a normal form.

A matrix is a polynomial ``{(scalars, word): coefficient}``.  A word is a product of letters, each
an atom or its transpose; ``scalars`` is a product of powers of scalar atoms.  A vector is a row.
The same type holds elementwise expressions: there the word is empty, and atoms are arrays of which
each element is meant.  :meth:`Words.entries` and :meth:`Words.matrices` convert between the two.

Each inverse q of a sum S gives a rewrite: the longest word of S beside q becomes what ``S q = 1``
says it is.  These rewrites are a Groebner basis of the free algebra that is not completed: equal
polynomials prove that matrices are equal, and different ones prove nothing.

References
----------
T. Mora, An introduction to commutative and noncommutative Groebner bases, Theoretical Computer
Science 134 (1994), 131-173.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from relgraph.ir.types import Dim
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
    whole,
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
    first : bool
        Whether an inverse rewrites the first of the longest words, or the last one.
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
        atom = self.atoms[letter[0]]
        return atom.rows if letter[1] else atom.columns

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

    def ones(self, columns: Dim) -> Letter:
        """Return a row of ones."""
        if columns is None:
            raise Unsupported("ones of an unknown size")
        return self.atom("ones", columns, columns=columns, positive=True).number, False

    def diagonal(self, p: Polynomial) -> Polynomial:
        """Return the diagonal matrices of elementwise expressions of rows."""
        out: Polynomial = {}
        for (m, _), c in p.items():
            scalars, arrays = self.scalars_of(m)
            word: Word = ()
            if arrays:
                n = self.atoms[arrays[0][0]].columns
                d = self.atom("diagonal", arrays, rows=n, columns=n, symmetric=True)
                word = ((d.number, False),)
            add_to(out, single(scalars, word, c))
        return out

    # Scalars and elementwise expressions.

    def scalars_of(self, m: Monomial) -> tuple[Monomial, Monomial]:
        """Return the factors that are scalars, and those that are arrays."""
        scalars = tuple([f for f in m if self.atoms[f[0]].is_scalar])
        if len(scalars) == len(m):
            return m, ()
        return scalars, tuple([f for f in m if not self.atoms[f[0]].is_scalar])

    def factor(self, atom: Atom, exponent: Fraction | int = 1) -> Polynomial:
        """Return a power of an atom."""
        return single(((atom.number, whole(exponent)),))

    def product(self, a: Monomial, b: Monomial) -> Polynomial:
        """Return the product of two monomials."""
        if not a or not b:
            return single(a or b)
        exponents = dict(a)
        for i, e in b:
            exponents[i] = exponents.get(i, 0) + e
        return self.monomial(exponents)

    def monomial(self, exponents: dict[int, Fraction]) -> Polynomial:
        """Return a product of powers; a whole power of a sum is expanded."""
        bases = []
        exponents = dict(exponents)
        for i, e in list(exponents.items()):
            kind = self.atoms[i].kind
            if kind == "power" and e >= 1:
                times = e.numerator // e.denominator
                bases.append((self.atoms[i], times))
                exponents[i] = e - times
            elif kind == "sign":
                exponents[i] = e % 2
        rest = tuple(sorted([(i, whole(e)) for i, e in exponents.items() if e]))
        out: Polynomial = single(rest)
        for atom, times in bases:
            for _ in range(times):
                out = self.times(out, dict(atom.content))
        return out

    def power(self, p: Polynomial, e: Fraction) -> Polynomial:
        """Return a power of a scalar or an elementwise expression."""
        if e == 0:
            return ONE
        if e == 1:
            return p
        if not p:
            if e < 0:
                raise Unsupported("a division by zero")
            return {}
        if len(p) == 1:
            (((m, _), c),) = p.items()
            if e.denominator == 1:
                return scaled(self.monomial({i: k * e for i, k in m}), c**e.numerator)
            roots = self._root(m, e) if c == 1 else None
            return self.factor(self._base(p), e) if roots is None else self.monomial(dict(roots))
        if e.denominator == 1 and 0 < e <= LARGEST_POWER:
            out = p
            for _ in range(e.numerator - 1):
                out = self.times(out, p)
            return out
        lead, common, rest = self.monic(p)
        if e.denominator == 1:
            outside = single(tuple([(i, whole(k * e)) for i, k in common]), (), lead**e.numerator)
            return self.times(outside, self.factor(self._base(rest), e))
        return self.factor(self._base(p), e)

    def _root(self, m: Monomial, e: Fraction) -> Monomial | None:
        """Return a broken power of a monomial of factors that cannot be negative."""
        safe = all([
            self.atoms[i].nonnegative or self.atoms[i].positive or k.denominator % 2 == 0
            for i, k in m
        ])  # fmt: skip
        if safe or (len(m) == 1 and m[0][1] == 1):
            return tuple([(i, whole(k * e)) for i, k in m])
        return None

    def _base(self, p: Polynomial) -> Atom:
        shapes = [self.atoms[i] for (m, _) in p for i, _ in m]
        summands = min(p.values()) > 0
        return self.atom(
            "power",
            key_of(p),
            positive=summands and all([x.positive for x in shapes]),
            rows=next((x.rows for x in shapes if x.rows != 1), 1),
            columns=next((x.columns for x in shapes if x.columns != 1), 1),
            batch=any([x.batch for x in shapes]),
        )

    def monic(self, p: Polynomial) -> tuple[Fraction, Monomial, Polynomial]:
        """Return the leading coefficient, the common scalars, and what is left of a polynomial."""
        common = dict(next(iter(p))[0])
        for m, _ in p:
            powers = dict(m)
            common = {
                i: min(e, powers[i], key=abs)
                for i, e in common.items()
                if i in powers and (e > 0) == (powers[i] > 0)
            }
        shared = tuple(sorted(common.items()))
        if shared:
            p = self.times(single(tuple([(i, -e) for i, e in shared])), p)
        lead = p[max(p, key=lambda term: (len(term[1]), term))]
        return lead, shared, scaled(p, 1 / lead)

    def logarithm(self, p: Polynomial) -> Polynomial:
        """Return log of the absolute value of a scalar or an elementwise expression."""
        if not p:
            raise Unsupported("the logarithm of zero")
        lead, common, rest = self.monic(p)
        out: Polynomial = {}
        for prime, e in _primes(abs(lead)):
            add_to(out, self.factor(self.atom("log", prime)), Fraction(e))
        for i, k in common:
            atom = self.atoms[i]
            if atom.kind == "absolute":
                atom, i = self.atoms[atom.content], atom.content
            if atom.kind == "exp":
                add_to(out, single(atom.content), k)
            elif atom.kind == "power":
                add_to(out, self.logarithm(dict(atom.content)), k)
            else:
                add_to(out, self.factor(self._like(atom, "log", i)), k)
        if rest != ONE:
            base = self._base(rest)
            add_to(out, self.factor(self._like(base, "log", base.number)))
        return out

    def _like(self, atom: Atom, kind: str, content: Any, **about: Any) -> Atom:
        """Return an atom of the shape of another one."""
        shape = {"rows": atom.rows, "columns": atom.columns, "batch": atom.batch}
        return self.atom(kind, (content,) if kind == "log" else content, **shape, **about)

    def exponential(self, p: Polynomial) -> Polynomial:
        """Return exp of a scalar or an elementwise expression."""
        out: Polynomial = ONE
        for (m, _), c in sorted(p.items()):
            power = self._undone(m, c)
            if power is not None:
                out = self.times(out, power)
                continue
            shapes = [self.atoms[i] for i, _ in m]
            exp = self.atom(
                "exp",
                m,
                rows=next((x.rows for x in shapes if x.rows != 1), 1),
                columns=next((x.columns for x in shapes if x.columns != 1), 1),
                batch=any([x.batch for x in shapes]),
                positive=True,
            )
            out = self.times(out, self.factor(exp, c))
        return out

    def _undone(self, m: Monomial, c: Fraction) -> Polynomial | None:
        """Return exp(c log |x|) as a power, if the monomial is a logarithm."""
        if len(m) != 1 or m[0][1] != 1 or self.atoms[m[0][0]].kind != "log":
            return None
        inner = self.atoms[m[0][0]].content
        if isinstance(inner, int):
            return single(c=Fraction(inner) ** c.numerator) if c.denominator == 1 else None
        (inner,) = inner
        return self.factor(self.absolute(inner) if c % 2 else self.atoms[inner], c)

    def absolute(self, number: int) -> Atom:
        """Return the absolute value of an atom."""
        atom = self.atoms[number]
        if atom.positive or atom.nonnegative:
            return atom
        return self._like(atom, "absolute", number, nonnegative=True)

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
        todo: list[tuple[Monomial, Word, Fraction]] = [(m, word, Fraction(1))]
        while todo:
            m, word, c = todo.pop()
            rewrite = self._rewrite(word)
            if rewrite is None:
                add_to(out, single(m, word, c))
                continue
            self.budget.spend()
            start, end, result = rewrite
            for (n, v), d in result.items():
                whole = word[:start] + v + word[end:]
                for (o, _), e in self.product(m, n).items():
                    todo.append((o, whole, c * d * e))
        return out

    def _rewrite(self, word: Word) -> tuple[int, int, Polynomial] | None:
        """Return a part of a word that is not in normal form, and what it is equal to."""
        for k, letter in enumerate(word):
            for before, lead, result in self.rules.get(letter, ()):
                n = len(lead)
                if before and k >= n and word[k - n : k] == lead:
                    self.laws[self._law(letter)] = None
                    return k - n, k + 1, result
                if not before and word[k + 1 : k + 1 + n] == lead:
                    self.laws[self._law(letter)] = None
                    return k, k + 1 + n, result
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

    def _beside_diagonal(self, word: Word, k: int) -> tuple[int, int, Polynomial] | None:
        """Return a rewrite of a diagonal matrix with its neighbours."""
        inner = self.atoms[word[k][0]].content
        if k + 1 < len(word):
            other = self.atoms[word[k + 1][0]]
            if other.kind == "diagonal":
                return k, k + 2, self.diagonal(self.product(inner, other.content))
            if self.columns(word[k + 1]) == 1:
                result = self.transpose(self._row_beside(self.flipped(word[k + 1 : k + 2]), inner))
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
        for (m, _), c in self.entry(row).items():
            for (n, _), d in self.product(m, inner).items():
                add_to(out, self.row(n), c * d)
        return out

    def row(self, m: Monomial) -> Polynomial:
        """Return the row whose elements are a product of powers of rows."""
        scalars, arrays = self.scalars_of(m)
        if not arrays:
            raise Unsupported("a row of an unknown size")
        long = [i for i, e in arrays if e == 1 and len(self.word_of(i)) > 1]
        if len(arrays) == 1 and arrays[0][1] == 1:
            return single(scalars, self.word_of(arrays[0][0]))
        if len(long) == 1:
            rest = tuple([f for f in arrays if f[0] != long[0]])
            return self._joined(scalars, self.word_of(long[0]), rest)
        return self._joined(scalars, (self.ones(self.atoms[arrays[0][0]].columns),), arrays)

    def _joined(self, scalars: Monomial, word: Word, arrays: Monomial) -> Polynomial:
        (d,) = self.diagonal(single(arrays))
        return single(scalars, word + d[1])

    def word_of(self, number: int) -> Word:
        """Return the word of which an atom means an element."""
        atom = self.atoms[number]
        word: Word = atom.content[0] if atom.kind == "word" else ((number, False),)
        return word

    def scalar_parts(self, word: Word) -> Iterator[tuple[int, int]]:
        """Yield the parts of a word that are one number."""
        if any([self.atoms[i].batch for i, _ in word]):
            return
        cuts = [k for k, letter in enumerate(word) if self.rows(letter) == 1]
        if word and self.columns(word[-1]) == 1:
            cuts.append(len(word))
        yield from pairwise(cuts)

    # Traces, and words that are one number.

    def trace(self, word: Word) -> Polynomial:
        """Return the trace of a word that is not empty, a scalar; one number is its own trace."""
        cut = next((k for k, letter in enumerate(word) if self.rows(letter) == 1), None)
        if cut is None:
            return self._cyclic(word)
        word = word[cut:] + word[:cut]
        cuts = [k for k, letter in enumerate(word) if self.rows(letter) == 1]
        out: Polynomial = ONE
        for start, end in zip(cuts, [*cuts[1:], len(word)], strict=True):
            out = self.times(out, self._number(word[start:end]))
        return out

    def trace_of(self, p: Polynomial, n: Dim) -> Polynomial:
        """Return the trace of a polynomial of n by n matrices."""
        out: Polynomial = {}
        for (m, w), c in p.items():
            add_to(out, self.times(single(m, (), c), self.trace(w) if w else self.size(n)))
        return out

    def size(self, n: Dim) -> Polynomial:
        """Return a size as a scalar."""
        if n is None:
            raise Unsupported("an unknown size")
        if isinstance(n, int):
            return single(c=n) if n else {}
        return self.factor(self.atom("size", n, nonnegative=True))

    def _number(self, word: Word) -> Polynomial:
        """Return a word that is one number, and no part of which is one, as a scalar."""
        normal = self.reduced((), word) if not self.split else self._without_splitting(word)
        if normal != single((), word):
            return self.trace_of(normal, 1)
        first, last = (self.atoms[word[k][0]] for k in (0, -1))
        if first.kind == last.kind == "ones" and len(word) == 2:
            return self.size(first.columns)
        terms = self._sum_over(word)
        if terms is not None:
            result = self._as_trace(terms)
            if result is not None:
                return result
        if len(word) == 3 and self.atoms[word[1][0]].kind == "product":
            return self._sum_of_products(*word)
        return self.factor(self.atom("trace", min(word, self.flipped(word), key=plainness)))

    def _sum_of_products(self, row: Letter, middle: Letter, column: Letter) -> Polynomial:
        """Return the sum of u_i A_ij B_ij v_j as the trace of diag(u) A diag(v) B.T."""
        pair = self._factors_of_two(self.atoms[middle[0]].content)
        if pair is None:
            word = row, middle, column
            return self.factor(self.atom("trace", min(word, self.flipped(word), key=plainness)))
        a, b = map(self.flipped, pair) if middle[1] else pair
        left, right = (self.diagonal(self.entry(x)) for x in ((row,), self.flipped((column,))))
        whole = self.times(self.times(left, single((), a)), right)
        whole = self.times(whole, single((), self.flipped(b)))
        return self.trace_of(whole, self.columns(row))

    def _factors_of_two(self, m: Monomial) -> tuple[Word, Word] | None:
        """Return the words of a product of two arrays."""
        if len(m) == 1 and m[0][1] == 2:
            return self.word_of(m[0][0]), self.word_of(m[0][0])
        if len(m) == 2 and m[0][1] == m[1][1] == 1:
            return self.word_of(m[0][0]), self.word_of(m[1][0])
        return None

    def _without_splitting(self, word: Word) -> Polynomial:
        self.split = False
        try:
            return self.reduced((), word)
        finally:
            self.split = True

    def _sum_over(self, word: Word) -> Monomial | None:
        """Return the product of rows of which a word is the sum, if it is one of letters."""
        middle: Monomial = ()
        if len(word) == 3 and self.atoms[word[1][0]].kind == "diagonal":
            middle = self.atoms[word[1][0]].content
        elif len(word) != 2:
            return None
        whole = self.times(self.entry(word[:1]), self.entry(self.flipped(word[-1:])))
        whole = self.times(whole, single(middle))
        ((m, _),) = whole
        return m

    def _as_trace(self, m: Monomial) -> Polynomial | None:
        """Return the sum over a product of rows as a shorter trace, None if there is none."""
        for i, e in m:
            atom = self.atoms[i]
            if atom.kind == "main_diagonal" and e == 1:
                rest = self.diagonal(single(tuple([f for f in m if f[0] != i])))
                return self.trace_of(self.times(single((), atom.content), rest), atom.columns)
        if len(m) == 1 and m[0][1] == 1:
            return None
        pair = self._factors_of_two(m)
        long = [i for i, e in m if e == 1 and len(self.word_of(i)) > 1]
        if pair is not None:
            word = pair[0] + self.flipped(pair[1])
        elif len(long) == 2:
            others = tuple([f for f in m if f[0] not in long])
            ((_, word),) = self._joined((), self.word_of(long[0]), others)
            word += self.flipped(self.word_of(long[1]))
        else:
            return None
        if len(word) == 2:
            return self.factor(self.atom("trace", min(word, self.flipped(word), key=plainness)))
        return self.trace(word)

    def _cyclic(self, word: Word) -> Polynomial:
        """Return the trace of a word without a part that is one number."""
        self.budget.spend(len(word) ** 2 // 32)
        rotations = [word[k:] + word[:k] for k in range(len(word))]
        for rotation in rotations:
            normal = self.reduced((), rotation)
            if normal != single((), rotation):
                return self.trace_of(normal, self.rows(rotation[0]))
        if len(word) == 1 and self.atoms[word[0][0]].kind == "diagonal":
            out: Polynomial = {}
            for (m, w), c in self.row(self.atoms[word[0][0]].content).items():
                total = self.trace((*w, (self.ones(self.columns(w[-1]))[0], True)))
                add_to(out, self.times(single(m, (), c), total))
            return out
        everyone = [*rotations, *map(self.flipped, rotations)]
        return self.factor(self.atom("trace", min(everyone, key=plainness)))

    # Between matrices and their elements.

    def entries(self, p: Polynomial, rows: Dim, batch: bool = False) -> Polynomial:
        """Return matrices with that many rows as an elementwise expression."""
        out: Polynomial = {}
        for (m, w), c in p.items():
            add_to(out, self.times(single(m, (), c), self.entry(w, rows, batch)))
        return out

    def entry(self, word: Word, rows: Dim = None, batch: bool = False) -> Polynomial:
        """Return a word as an elementwise expression."""
        if not word:
            return ONE if rows == 1 and not batch else self.factor(self._element((), rows, rows))
        if batch or any([self.atoms[i].batch for i, _ in word]):
            return self._elements(word)
        if self.rows(word[0]) == 1 and self.columns(word[-1]) == 1:
            return self.trace(word)
        cut = next((k for k in range(1, len(word)) if self.rows(word[k]) == 1), None)
        if cut is not None:
            return self.times(self.entry(word[:cut]), self.entry(word[cut:]))
        first, last = (self.atoms[word[k][0]] for k in (0, -1))
        if self.columns(word[-1]) == 1:
            return self.transpose_entries(self.entry(self.flipped(word)))
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
        batch = any([self.atoms[i].batch for i, _ in word])
        about = {"rows": rows, "columns": columns, "batch": batch}
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
        out: Polynomial = {}
        for (m, _), c in p.items():
            scalars, arrays = self.scalars_of(m)
            add_to(
                out, self.times(single(scalars, (), c), self._matrix(arrays, rows, columns, batch))
            )
        return out

    def _matrix(self, arrays: Monomial, rows: Dim, columns: Dim, batch: bool) -> Polynomial:
        if batch:
            if not arrays:
                raise Unsupported("a number stretched to several matrices")
            return single((), self._array(arrays, rows, columns))
        flat = [f for f in arrays if self.atoms[f[0]].rows == 1]
        tall = [f for f in arrays if self.atoms[f[0]].columns == 1]
        full = tuple([f for f in arrays if f not in flat and f not in tall])
        column = self.transpose_entries(single(tuple(tall)))
        if full:
            left, right = self.diagonal(column), self.diagonal(single(tuple(flat)))
            middle = single((), self._array(full, rows, columns))
            return self.times(self.times(left, middle), right)
        out = ONE
        if tall:
            ((m, _),) = column
            out = self.transpose(self.row(m))
        elif rows != 1:
            out = single((), ((self.ones(rows)[0], True),))
        if flat:
            out = self.times(out, self.row(tuple(flat)))
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
        batch = any([self.atoms[i].batch for i, _ in m])
        about = {"rows": rows, "columns": columns, "batch": batch, "symmetric": turned == m}
        return ((self.atom("product", m, **about).number, swap),)

    def stretched(self, p: Polynomial, rows: Dim, columns: Dim) -> Polynomial:
        """Return scalars, rows or columns repeated to a number of rows and columns, if given."""
        if rows is not None:
            p = self.times(single((), ((self.ones(rows)[0], True),)), p)
        if columns is not None:
            p = self.times(p, single((), (self.ones(columns),)))
        return p

    # Inverses.

    def inverse(self, p: Polynomial, n: Dim) -> Polynomial:
        """Return the inverse of a polynomial of n by n matrices."""
        if not p:
            raise Unsupported("the inverse of zero")
        if len(p) == 1:
            (((m, word), c),) = p.items()
            if all(map(self.is_square, word)):
                self.laws["reverse_inv_matmulo"] = None
                out: Polynomial = single(tuple([(i, -e) for i, e in m]), (), 1 / c)
                for letter in reversed(word):
                    out = self.times(out, self._inverse_of_letter(letter))
                return out
        lead, common, rest = self.monic(p)
        turned = self.transpose(rest)
        swap = self.turns(rest) > self.turns(turned)
        number = self._define(turned if swap else rest, n, symmetric=turned == rest)
        outside = tuple([(i, -e) for i, e in common])
        return single(outside, ((number, swap),), 1 / lead)

    def turns(self, p: Polynomial) -> tuple[int, Any]:
        """Return a key by which a polynomial with fewer transposes comes first."""
        return sum([plainness(w)[0] for _, w in p]), key_of(p)

    def _inverse_of_letter(self, letter: Letter) -> Polynomial:
        number, turned = letter
        atom = self.atoms[number]
        if atom.orthogonal:
            return single((), self.flipped((letter,)))
        if atom.kind == "inverse":
            p = dict(atom.content)
            return self.transpose(p) if turned else p
        if atom.kind == "diagonal":
            return self.diagonal(self.power(single(atom.content), Fraction(-1)))
        self.inverted.add(number)
        p = single((), ((number, False),))
        return {
            ((), ((self._define(p, atom.rows, symmetric=atom.symmetric), turned),)): Fraction(1)
        }

    def _define(self, p: Polynomial, n: Dim, *, symmetric: bool) -> int:
        """Return the atom of an inverse, and rewrite its products with the longest word."""
        q = self.atom("inverse", key_of(p), rows=n, columns=n, symmetric=symmetric).number
        if (q, False) in self.rules:
            return q
        self.rules[q, False] = []
        leads = [w for m, w in p if not m and w]
        if self.split:
            leads = [w for w in leads if all(self.rows(x) != 1 for x in w)] or leads
        if not leads:
            return q
        most = max(map(len, leads))
        lead = (min if self.first else max)(w for w in leads if len(w) == most)
        c = p[(), lead]
        rest = {term: -d / c for term, d in p.items() if term != ((), lead)}
        one = single(c=1 / c)
        for turned in (False, True):
            letter = q, turned
            if turned:
                lead, rest = self.flipped(lead), self.transpose(rest)
            after = one | {(m, (*w, letter)): d for (m, w), d in rest.items()}
            ahead = one | {(m, (letter, *w)): d for (m, w), d in rest.items()}
            if symmetric:  # the transpose of the first rule, or both would undo each other
                rule = (False, lead, ahead) if turned else (True, lead, after)
                self.rules[q, False].append((rule[0], rule[1], _unturned(rule[2], q)))
            else:
                self.rules[letter] = [(True, lead, after), (False, lead, ahead)]
        return q

    def orthogonal(self, number: int) -> None:
        """Rewrite products of an orthogonal matrix and its transpose."""
        letter = number, False
        ((other,),) = (self.flipped((letter,)),)
        self.rules[letter] = [(True, (other,), ONE)]
        self.rules[other] = [(True, (letter,), ONE)]

    def sign(self, p: Polynomial, e: int) -> Polynomial:
        """Return the sign of a power of a scalar."""
        if e % 2 == 0:
            return ONE
        lead, common, rest = self.monic(p)
        out: Polynomial = single(c=1 if lead > 0 else -1)
        bases = [(self.atoms[i], k) for i, k in common]
        if rest != ONE:
            bases.append((self._base(rest), Fraction(1)))
        for atom, k in bases:
            if k % 2 and not atom.positive:
                out = self.times(out, self.factor(self.atom("sign", atom.number)))
        return out

    def main_diagonal(self, word: Word, n: Dim) -> Polynomial:
        """Return the diagonal of a word of n by n matrices as a row."""
        if not word:
            return ONE
        cut = next((k for k in range(1, len(word)) if self.rows(word[k]) == 1), None)
        if cut is not None:
            return self.times(
                self.transpose_entries(self.entry(word[:cut])), self.entry(word[cut:])
            )
        for side, rest in ((0, word[1:]), (-1, word[:-1])):
            atom = self.atoms[word[side][0]]
            if atom.kind == "diagonal":
                inner = single(atom.content)
                return self.times(inner, self.main_diagonal(rest, n))
        key = min(word, self.flipped(word), key=plainness)
        return self.factor(self.atom("main_diagonal", key, columns=n))

    # The end of a proof.

    def settled(self, p: Polynomial) -> Polynomial:
        """Return a polynomial with every part of its words that is one number as a scalar."""
        out: Polynomial = {}
        for (m, w), c in p.items():
            parts = list(self.scalar_parts(w))
            total = scaled(self.monomial(dict(m)), c)
            kept: Word = ()
            at = 0
            for start, end in parts:
                kept += w[at:start]
                total = self.times(total, self.trace(w[start:end]))
                at = end
            add_to(out, {(n, kept + w[at:]): d for (n, _), d in total.items()})
        return out


def _unturned(p: Polynomial, q: int) -> Polynomial:
    """Return a polynomial in which a symmetric atom is not transposed."""
    return {(m, tuple([(i, t and i != q) for i, t in w])): c for (m, w), c in p.items()}


def _primes(c: Fraction) -> list[tuple[int, int]]:
    """Return the factors of a fraction of small numbers, with exponents."""
    out = []
    for number, sign in ((c.numerator, 1), (c.denominator, -1)):
        if number > 10**6:
            out.append((number, sign))
            continue
        p = 2
        while number > 1:
            if p * p > number:
                p = number
            e = 0
            while number % p == 0:
                number //= p
                e += 1
            if e:
                out.append((p, e * sign))
            p += 1
    return out


__all__ = ["Words"]
