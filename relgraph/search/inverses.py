"""Inverses of polynomials of words, and the rewrites that they give.

Each inverse q of a sum S gives a rewrite: the longest word of S beside q becomes what ``S q = 1``
says it is.  These rewrites are a Groebner basis of the free algebra that is not completed: equal
polynomials prove that matrices are equal, and different ones prove nothing.

References
----------
T. Mora, An introduction to commutative and noncommutative Groebner bases, Theoretical Computer
Science 134 (1994), 131-173.
"""

from __future__ import annotations

from functools import partial, reduce

from relgraph.ir.types import Dim
from relgraph.search.labels import quotient
from relgraph.search.polynomials import ONE, Letter, Polynomial, Unsupported, Word, key_of, single
from relgraph.search.words import Words


def inverse(words: Words, p: Polynomial, n: Dim) -> Polynomial:
    """Return the inverse of a polynomial of n by n matrices."""
    if not p:
        raise Unsupported("the inverse of zero")
    if len(p) == 1:
        (((m, word), c),) = p.items()
        if all(map(words.is_square, word)):
            words.laws["reverse_inv_matmulo"] = None
            outside = single(tuple([(i, -e) for i, e in m]), (), quotient(1, c))
            return reduce(words.times, map(partial(_of_letter, words), reversed(word)), outside)
    lead, common, rest = words.monic(p)
    turned = words.transpose(rest)
    swap = words.turns(rest) > words.turns(turned)
    number = _define(words, turned if swap else rest, n, symmetric=turned == rest)
    return single(tuple([(i, -e) for i, e in common]), ((number, swap),), quotient(1, lead))


def _of_letter(words: Words, letter: Letter) -> Polynomial:
    number, turned = letter
    atom = words.atoms[number]
    if atom.orthogonal:
        return single((), words.flipped((letter,)))
    if atom.kind == "inverse":
        p = dict(atom.content)
        return words.transpose(p) if turned else p
    if atom.kind == "diagonal":
        return words.diagonal(words.power(single(atom.content), -1))
    words.inverted.add(number)
    p = single((), ((number, False),))
    return single((), ((_define(words, p, atom.rows, symmetric=atom.symmetric), turned),))


def _define(words: Words, p: Polynomial, n: Dim, *, symmetric: bool) -> int:
    """Return the atom of an inverse, and rewrite its products with the longest word."""
    q = words.atom("inverse", key_of(p), rows=n, columns=n, symmetric=symmetric).number
    if (q, False) in words.rules:
        return q
    words.rules[q, False] = []
    leads = [w for m, w in p if not m and w]
    if words.split:
        leads = [w for w in leads if all(words.rows(x) != 1 for x in w)] or leads
    if not leads:
        return q
    most = max(map(len, leads))
    lead = (min if words.first else max)(w for w in leads if len(w) == most)
    c = p[(), lead]
    rest = {term: quotient(-d, c) for term, d in p.items() if term != ((), lead)}
    one = single(c=quotient(1, c))
    for turned in (False, True):
        letter = q, turned
        if turned:
            lead, rest = words.flipped(lead), words.transpose(rest)
        after = one | {(m, (*w, letter)): d for (m, w), d in rest.items()}
        ahead = one | {(m, (letter, *w)): d for (m, w), d in rest.items()}
        rules = [(len(lead), (*lead, letter), after), (0, (letter, *lead), ahead)]
        if symmetric:  # the transpose of the first rule, or both would undo each other
            place, part, result = rules[turned]
            rule = (
                place,
                _unturned(part, q),
                {(m, _unturned(w, q)): d for (m, w), d in result.items()},
            )
            words.rules[q, False].append(rule)
        else:
            words.rules[letter] = rules
    return q


def _unturned(word: Word, q: int) -> Word:
    """Return a word in which a symmetric atom is not transposed."""
    return tuple([(i, t and i != q) for i, t in word])


def orthogonal(words: Words, number: int) -> None:
    """Rewrite products of an orthogonal matrix and its transpose."""
    letter = number, False
    (other,) = words.flipped((letter,))
    words.rules[letter] = [(1, (other, letter), ONE)]
    words.rules[other] = [(1, (letter, other), ONE)]
