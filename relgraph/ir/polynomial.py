"""Polynomials in sizes that have names: what a rule counts when the sizes are not numbers.

Arithmetic is exact.  A function of sizes that is no polynomial, such as ``min(m, n)``, stands in a
polynomial as if it were a name.

Examples
--------
>>> n = Polynomial.of("n")
>>> 2 * n**3 // 3 + n
2/3*n**3 + n
>>> (2 * n**3 // 3 + n).at({"n": 3})
21
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any, Union

Atom = Union[str, "Function"]
Monomial = tuple[Atom, ...]  # with repetitions, sorted by text
Number = Union[int, "Polynomial"]


@dataclass(frozen=True)
class Function:
    """The smallest or the largest of several counts, or the number of binary digits of one."""

    name: str
    operands: tuple[Number, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.operands))})"

    def at(self, sizes: Mapping[str, int]) -> Number:
        """Return the value, with the sizes that are given."""
        value: Number = _applied(self.name, [at(x, sizes) for x in self.operands])
        return value


class Polynomial:
    """A polynomial in sizes, immutable.

    Sums, differences and products are polynomials; ``p // 3`` is exact, too.  A polynomial without
    names is an int, or a fraction rounded down: see :meth:`at`.

    Parameters
    ----------
    terms : mapping of tuple to int
        The coefficient of each product of sizes.
    divisor : int
        What divides all coefficients.
    """

    __slots__ = ("divisor", "terms")

    terms: Mapping[Monomial, int]
    divisor: int

    def __init__(self, terms: Mapping[Monomial, int], divisor: int = 1) -> None:
        if divisor == 1:
            self.terms, self.divisor = {m: number for m, number in terms.items() if number}, 1
            return
        common = gcd(divisor, *terms.values())
        self.terms = {m: number // common for m, number in terms.items() if number}
        self.divisor = divisor // common

    @classmethod
    def of(cls, atom: Atom) -> Polynomial:
        """Return the polynomial that is one size."""
        return cls({(atom,): 1})

    def __add__(self, other: Any) -> Polynomial:
        if isinstance(other, int):
            constant = self.terms.get((), 0) + other * self.divisor
            return Polynomial({**self.terms, (): constant}, self.divisor) if other else self
        if not isinstance(other, Polynomial):
            return NotImplemented
        scale, other_scale = self.divisor, other.divisor
        if scale == other_scale:
            total, scale, other_scale = dict(self.terms), 1, 1
        else:
            total = {monomial: number * other_scale for monomial, number in self.terms.items()}
        for monomial, number in other.terms.items():
            total[monomial] = total.get(monomial, 0) + number * scale
        return Polynomial(total, self.divisor * other_scale)

    def __mul__(self, other: Any) -> Polynomial:
        if not isinstance(other, int | Polynomial):
            return NotImplemented
        if isinstance(other, int):
            return Polynomial({m: n * other for m, n in self.terms.items()}, self.divisor)
        total: dict[Monomial, int] = {}
        for first, a in self.terms.items():
            for second, b in other.terms.items():
                monomial = first + second
                if first and second:
                    monomial = tuple(sorted(monomial, key=str))
                total[monomial] = total.get(monomial, 0) + a * b
        return Polynomial(total, self.divisor * other.divisor)

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Polynomial:
        return self.__add__(other * -1)

    def __rsub__(self, other: Any) -> Polynomial:
        return self.__mul__(-1).__add__(other)

    def __pow__(self, power: int) -> Polynomial:
        result = Polynomial({(): 1})
        for _ in range(power):
            result = result * self
        return result

    def __floordiv__(self, divisor: int) -> Polynomial:
        return Polynomial(self.terms, self.divisor * divisor)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Polynomial):
            return NotImplemented
        other = _polynomial(other)
        return self.divisor == other.divisor and self.terms == other.terms

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.divisor))

    def __repr__(self) -> str:
        ordered = sorted(
            self.terms, key=lambda monomial: (-len(monomial), list(map(str, monomial)))
        )
        texts = [_written(monomial, self.terms[monomial], self.divisor) for monomial in ordered]
        return (" + ".join(texts) or "0").replace("+ -", "- ")

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes that it depends on, sorted."""
        return tuple(sorted(set(_names(self))))

    def at(self, sizes: Mapping[str, Any]) -> Number:
        """Return the value for given sizes: an int, or a polynomial in the sizes that are left.

        A fraction is rounded down.
        """
        total = Polynomial({})
        for monomial, number in self.terms.items():
            product = Polynomial({(): number})
            for atom in monomial:
                value = atom.at(sizes) if isinstance(atom, Function) else sizes.get(atom)
                product = product * (Polynomial.of(atom) if value is None else value)
            total = total + product
        return (total // self.divisor).number()

    def number(self) -> Number:
        """Return an int for a polynomial without names, rounded down, else the polynomial."""
        if not self.terms:
            return 0
        return self.terms[()] // self.divisor if set(self.terms) == {()} else self

    def at_most(self, other: Number, least: int = 1) -> bool:
        """Return True if it is at most another one for all sizes of at least ``least``.

        The test covers each term by terms of the other one that it divides: ``m*n + n`` is at most
        ``2*m*n``.  False means that it is not known.
        """
        terms = (_polynomial(other) - self).terms
        if min(terms.values(), default=0) >= 0:
            return True
        unit = least ** max(map(_degree, terms))  # so that what follows divides without remainder
        left = {m: unit * number for m, number in terms.items()}
        owed = sorted((m for m in left if left[m] < 0), key=lambda m: (-len(m), str(m)))
        for monomial in owed:
            atoms = Counter(monomial)
            payers = sorted(
                (m for m in left if left[m] > 0 and not atoms - Counter(m)),
                key=lambda m: (len(m), str(m)),
            )
            for payer in payers:
                worth = least ** (_degree(payer) - _degree(monomial))
                paid = min(-(left[monomial] // worth), left[payer])
                left[payer] -= paid
                left[monomial] += paid * worth
                if left[monomial] >= 0:
                    break
            if left[monomial] < 0:
                return False
        return True


def at(number: Number, sizes: Mapping[str, int]) -> Number:
    """Return the value of a number or a polynomial for given sizes."""
    return number if isinstance(number, int) else number.at(sizes)


def at_most(a: Number, b: Number, least: int = 1) -> bool:
    """Return True if ``a <= b`` for all sizes from ``least``; False if that is not known."""
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    return _polynomial(a).at_most(b, least)


def least(counts: Iterable[Any]) -> Any:
    """Return the smallest of some counts, which may depend on sizes."""
    return _applied("min", list(counts))


def most(counts: Iterable[Any]) -> Any:
    """Return the largest of some counts, which may depend on sizes."""
    return _applied("max", list(counts))


def digits(count: Any) -> Any:
    """Return the number of binary digits of a count, at least 1: about its logarithm."""
    return _applied("digits", [count])


def _applied(name: str, operands: list[Any]) -> Any:
    """Return a function of numbers, or the polynomial that stands for it."""
    if name == "digits":
        (count,) = operands
        if not isinstance(count, Polynomial):
            return max(1, int(count).bit_length())
        return Polynomial.of(Function(name, (count,)))
    left: list[Any] = []
    for x in operands:
        if not any([_covers(name, y, x) for y in left]):
            left = [*(y for y in left if not _covers(name, x, y)), x]
    if len(left) == 1:
        return left[0]
    return Polynomial.of(Function(name, tuple(sorted(left, key=str))))


def _covers(name: str, a: Number, b: Number) -> bool:
    """Return True if ``b`` does not matter beside ``a``."""
    return at_most(a, b) if name == "min" else at_most(b, a)


def _polynomial(number: Number) -> Polynomial:
    return number if isinstance(number, Polynomial) else Polynomial({(): number})


def _degree(monomial: Monomial) -> int:
    """Return how many sizes a monomial multiplies; a function may be less than all of them."""
    return sum([isinstance(atom, str) for atom in monomial])


def _names(x: Number) -> Iterator[str]:
    if isinstance(x, Polynomial):
        for monomial in x.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    yield atom
                else:
                    for operand in atom.operands:
                        yield from _names(operand)


def _written(monomial: Monomial, number: int, divisor: int) -> str:
    common = gcd(number, divisor)
    number, divisor = number // common, divisor // common
    powers = [
        str(atom) if power == 1 else f"{atom}**{power}" for atom, power in Counter(monomial).items()
    ]
    size = f"{abs(number)}/{divisor}" if divisor > 1 else str(abs(number))
    sign = "-" if number < 0 else ""
    return sign + "*".join([size] * (size != "1" or not powers) + powers)


__all__ = ["Function", "Number", "Polynomial", "at", "at_most", "digits", "least", "most"]
