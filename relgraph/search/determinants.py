"""Determinants of polynomials of words.

References
----------
D. A. Harville, Matrix Algebra From a Statistician's Perspective, Springer, 1997, theorems 13.3.4
and 18.1.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from relgraph.ir.types import Dim
from relgraph.search.inverses import inverse
from relgraph.search.polynomials import ONE, Polynomial, Unsupported, Word, add_to, single
from relgraph.search.words import Words


def determinant(words: Words, p: Polynomial, n: Dim) -> list[tuple[Polynomial, int]]:
    """Return the determinant of n by n matrices, as powers of scalars."""
    if not p:
        raise Unsupported("the determinant of zero")
    if n == 1:
        return [(words.trace_of(p, 1), 1)]
    if len(p) == 1:
        (((m, word), c),) = p.items()
        if c == 1 and not m:
            return _of_word(words, word, n)
        if isinstance(n, int):
            return [(single(m, (), c), n), *_of_word(words, word, n)]
        return [(_det(words, single(m, word, c)), 1)]
    for turned in (False, True):  # common factors on the left, then on the right
        q = words.transpose(p) if turned else p
        prefix = _square(words, _common_prefix([w for _, w in q]))
        if prefix:
            rest = {(m, w[len(prefix) :]): c for (m, w), c in q.items()}
            return _of_word(words, prefix, n) + determinant(words, rest, n)
    if ((), ()) in p and p[(), ()] == 1:
        return _near_one(words, p, n)
    regular = sorted(w for (m, w), c in p.items() if not m and c == 1 and _regular(words, w))
    if regular:
        words.laws["det_lemmao"] = None
        lead = regular[0]
        inner = words.times(inverse(words, single((), lead), n), p)
        return _of_word(words, lead, n) + determinant(words, inner, n)
    return [(_det(words, p), 1)]


def _square(words: Words, prefix: Word) -> Word:
    """Return the square letters that a word starts with."""
    stop = next((k for k, letter in enumerate(prefix) if not words.is_square(letter)), None)
    return prefix[:stop]


def _regular(words: Words, word: Word) -> bool:
    """Return True if a word is a product of invertible matrices."""
    return bool(word) and all([
        i in words.inverted or words.atoms[i].kind == "inverse" or words.atoms[i].invertible
        for i, _ in word
    ])  # fmt: skip


def _of_word(words: Words, word: Word, n: Dim) -> list[tuple[Polynomial, int]]:
    """Return the determinant of a word: of its shortest square parts."""
    if n is None:
        return [(_det(words, single((), word)), 1)] if word else []
    out = []
    start = 0
    for k in range(1, len(word) + 1):
        if k < len(word) and words.rows(word[k]) != n:
            continue
        part, start = word[start:k], k
        atom = words.atoms[part[0][0]]
        if len(part) == 1 and atom.kind == "inverse":
            inner = determinant(words, dict(atom.content), n)
            out += [(p, -e) for p, e in inner]
        else:
            out.append((_det(words, single((), part)), 1))
    if len(out) > 1:
        words.laws["det_matmulo"] = None
    return out


def _near_one(words: Words, p: Polynomial, n: Dim) -> list[tuple[Polynomial, int]]:
    """Return det(1 + U W) as det(1 + W U), for the best of the cuts."""
    rest = {term: c for term, c in p.items() if term != ((), ())}
    prefix = _common_prefix([w for _, w in rest])
    choices = [(_rank(n), _plainest(words, p), p)]
    for k in range(1, len(prefix) + 1):
        size = words.columns(prefix[k - 1])
        turned = dict(ONE)
        for (m, w), c in rest.items():
            add_to(turned, words.reduced(m, w[k:] + w[:k]), c)
        if size == 1:
            words.laws["det_rank_oneo"] = None
            return [(words.trace_of(turned, 1), 1)]
        if size is not None:
            key = _plainest(words, turned)
            choices.append((_rank(size), key, turned))
    best = min(choices, key=lambda choice: choice[:2])[2]
    if best is not p:
        words.laws["det_lemmao"] = None
    return [(_det(words, best), 1)]


def _plainest(words: Words, p: Polynomial) -> tuple[int, Any]:
    return min(words.turns(p), words.turns(words.transpose(p)))


def _det(words: Words, p: Polynomial) -> Polynomial:
    return words.factor(words.atom("det", _plainest(words, p)[1]))


def _rank(n: Dim) -> float:
    """Return a static size; others come last."""
    return n if isinstance(n, int) else inf


def _common_prefix(words: Iterable[Word]) -> Word:
    words = list(words)
    shortest = min(words, key=len)
    for k, letter in enumerate(shortest):
        if any([w[k] != letter for w in words]):
            return shortest[:k]
    return shortest


__all__ = ["determinant"]
