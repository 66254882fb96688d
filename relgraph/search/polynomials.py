"""Polynomials of words with exact coefficients, the atoms they are made of, and budgets."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Any

from relgraph.ir.node import Variable
from relgraph.ir.types import Dim
from relgraph.search.labels import Coefficient, rational

Letter = tuple[int, bool]  # the number of an atom, and whether it is transposed
Word = tuple[Letter, ...]
Monomial = tuple[tuple[int, Coefficient], ...]  # numbers of atoms, and their exponents
Term = tuple[Monomial, Word]
Polynomial = dict[Term, Coefficient]
Rule = tuple[int, Word, Polynomial]  # the place of a letter in a word, it, and what is equal

ONE: Polynomial = {((), ()): 1}


class Exhausted(Exception):
    """A budget of steps or of seconds is used up."""


class Unsupported(Exception):
    """A value that is no polynomial; it becomes an atom."""


class Budget:
    """A limit in steps and, if given, in seconds until an end by the monotonic clock."""

    def __init__(self, steps: int, seconds: float | None = None, end: float | None = None) -> None:
        self.limit, self.steps = steps, 0
        self.seconds = seconds
        self.end = end

    def spend(self, steps: int = 1) -> None:
        """Count steps, and raise :class:`Exhausted` at the limit."""
        self.steps += steps
        if self.steps > self.limit:
            raise Exhausted(f"the budget of {self.limit} steps is used up")
        if self.end is not None and monotonic() > self.end:
            raise Exhausted(f"the limit of {self.seconds:g} s is reached")


@dataclass(eq=False)
class Atom:
    """What a polynomial is made of.

    Attributes
    ----------
    number : int
        Its place in the table.
    kind : str
        ``"graph"`` for a graph that is no sum or product; ``"inverse"`` of a polynomial;
        ``"diagonal"``, the matrix, and ``"product"``, the array, of a monomial of arrays; a row of
        ``"ones"``; ``"word"``, of which an element is meant; and the scalars ``"trace"`` of a word,
        ``"power"``, the base of one, ``"det"``, ``"log"`` of an absolute value, ``"exp"``,
        ``"sign"`` and ``"size"``.
    content : object
        The polynomial, word or monomial.
    rows, columns : Dim
        Its sizes; a scalar is 1 by 1 and a vector is a row.
    batch : bool
        Whether it stands for several matrices.
    symmetric, orthogonal, invertible, positive, nonnegative : bool
        What is known of it.
    graph : Variable or None
        The graph, for that kind.
    """

    number: int
    kind: str
    content: Any
    rows: Dim = 1
    columns: Dim = 1
    batch: bool = False
    symmetric: bool = False
    orthogonal: bool = False
    invertible: bool = False
    positive: bool = False
    nonnegative: bool = False
    graph: Variable | None = None

    @property
    def is_scalar(self) -> bool:
        """Whether it is one number."""
        return self.rows == 1 and self.columns == 1 and not self.batch


def single(m: Monomial = (), word: Word = (), c: Coefficient = 1) -> Polynomial:
    """Return a polynomial of one term."""
    return {(m, word): rational(c)}


def add_to(p: Polynomial, q: Polynomial, c: Coefficient = 1) -> None:
    """Add a multiple of a polynomial to another one, in place."""
    for term, d in q.items():
        total = p.get(term, 0) + c * d
        if total:
            p[term] = total
        else:
            p.pop(term, None)


def added(p: Polynomial, q: Polynomial, c: Coefficient = 1) -> Polynomial:
    """Return the sum of a polynomial and a multiple of another one."""
    out = dict(p)
    add_to(out, q, c)
    return out


def scaled(p: Polynomial, c: Coefficient) -> Polynomial:
    """Return a multiple of a polynomial."""
    return {term: rational(c * d) for term, d in p.items()}


def plainness(word: Word) -> tuple[int, Word]:
    """Return a key by which the word with fewer transposes comes first."""
    return sum([turned for _, turned in word]), word


def key_of(p: Polynomial) -> tuple[Any, ...]:
    """Return a polynomial as a key."""
    return tuple(sorted(p.items()))
