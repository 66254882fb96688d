"""Exponentials, logarithms, absolute values and signs of polynomials of words.

They take products apart: exp(a + b) = exp(a) exp(b), and log |x y| = log |x| + log |y|.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from relgraph.search.labels import Coefficient
from relgraph.search.polynomials import (
    ONE,
    Atom,
    Monomial,
    Polynomial,
    Unsupported,
    add_to,
    single,
)
from relgraph.search.words import Words


def logarithm(words: Words, p: Polynomial) -> Polynomial:
    """Return log of the absolute value of a scalar or an elementwise expression."""
    if not p:
        raise Unsupported("the logarithm of zero")
    lead, common, rest = words.monic(p)
    out: Polynomial = {}
    for prime, e in [*_primes(abs(lead.numerator)), *_primes(lead.denominator, -1)]:
        add_to(out, words.factor(words.atom("log", prime)), e)
    for i, k in common:
        atom = words.atoms[i]
        if atom.kind == "absolute":
            atom = words.atoms[atom.content]
        if atom.kind == "exp":
            add_to(out, single(atom.content), k)
        elif atom.kind == "power":
            add_to(out, logarithm(words, dict(atom.content)), k)
        else:
            add_to(out, words.factor(_like(words, atom, "log", (atom.number,))), k)
    if rest != ONE:
        base = words.base(rest)
        add_to(out, words.factor(_like(words, base, "log", (base.number,))))
    return out


def exponential(words: Words, p: Polynomial) -> Polynomial:
    """Return exp of a scalar or an elementwise expression."""
    return reduce(words.times, [_exponential(words, m, c) for (m, _), c in sorted(p.items())], ONE)


def _exponential(words: Words, m: Monomial, c: Coefficient) -> Polynomial:
    """Return exp of a term; that of a logarithm is a power."""
    log = words.atoms[m[0][0]] if len(m) == 1 and m[0][1] == 1 else None
    if log and log.kind == "log" and not isinstance(log.content, int):
        (inner,) = log.content
        return words.factor(absolute(words, inner) if c % 2 else words.atoms[inner], c)
    if log and log.kind == "log" and c.denominator == 1:
        return words.power(single(c=log.content), c)
    return words.factor(words.atom("exp", m, positive=True, **words.sizes_of(m)), c)


def absolute(words: Words, number: int) -> Atom:
    """Return the absolute value of an atom."""
    atom = words.atoms[number]
    if atom.positive or atom.nonnegative:
        return atom
    return _like(words, atom, "absolute", number, nonnegative=True)


def sign(words: Words, p: Polynomial, e: int) -> Polynomial:
    """Return the sign of a power of a scalar."""
    if e % 2 == 0:
        return ONE
    lead, common, rest = words.monic(p)
    factors = common if rest == ONE else (*common, (words.base(rest).number, 1))
    signs = [
        words.factor(words.atom("sign", i))
        for i, k in factors
        if k % 2 and not words.atoms[i].positive
    ]
    return reduce(words.times, signs, single(c=1 if lead > 0 else -1))


def _like(words: Words, atom: Atom, kind: str, content: Any, **about: Any) -> Atom:
    """Return an atom of the shape of another one."""
    return words.atom(kind, content, **words.sizes_of(((atom.number, 1),)), **about)


def _primes(number: int, sign: int = 1) -> list[tuple[int, int]]:
    """Return the prime factors of a small number, or a large one itself, with exponents."""
    if number > 10**6:
        return [(number, sign)]
    out = []
    p = 2
    while number > 1:
        p = number if p * p > number else p
        e = 0
        while number % p == 0:
            number //= p
            e += 1
        if e:
            out.append((p, e * sign))
        p += 1
    return out
