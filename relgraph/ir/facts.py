"""Facts: three-valued statements about a value, proved before the graph runs.

A fact is proved true, proved false, or unknown.  It describes the *computed* value, including
rounding and overflow: ``exp(x)`` is nonnegative, not positive (it underflows) and not finite (it
overflows).  Facts of sign and integrality mean "every element is NaN or ...".  Facts of matrices
describe the exact value, which the computed one approximates: the inverse of a symmetric matrix is
symmetric, although its last bits may differ.  So ``spd``, symmetric and positive definite, promises
that the exact matrix has a Cholesky factor.  The computed matrix has one too, unless its smallest
eigenvalue is as small as the rounding errors, about ``n u`` times the largest.  The Cholesky
factorisation of such a matrix raises, whereas an elimination would return meaningless digits.
``psd``, positive semidefinite, promises no factor; with ``invertible`` it is ``spd``, so a relation
that asks for ``spd`` takes a ``psd`` matrix that its left side inverts.  Facts are declared on
inputs, where they belong to the input's identity; :mod:`relgraph.ir.fact_inference` infers those of
other nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple

from relgraph.errors import ArgumentError, DomainError
from relgraph.ir.intervals import EVERYTHING, OF_SIGN, Interval, interval
from relgraph.ir.types import TensorType

VALUE_FACTS = (
    "positive", "nonnegative", "negative", "nonpositive", "nonzero", "integer", "finite",
    "not_nan",
)  # fmt: skip
MATRIX_FACTS = (
    "square", "symmetric", "lower_triangular", "upper_triangular", "diagonal", "orthogonal",
    "spd", "psd", "invertible", "permutation", "selection", "identity", "tridiagonal",
)  # fmt: skip
NAMES = (*VALUE_FACTS, *MATRIX_FACTS)
BIT = {name: 1 << i for i, name in enumerate(NAMES)}

_IMPLIES = {
    "positive": ("nonnegative", "nonzero"),
    "negative": ("nonpositive", "nonzero"),
    "finite": ("not_nan",),
    "symmetric": ("square",),
    "lower_triangular": ("square",),
    "upper_triangular": ("square",),
    "diagonal": ("square", "symmetric", "lower_triangular", "upper_triangular", "tridiagonal"),
    "tridiagonal": ("square",),
    "orthogonal": ("square", "invertible"),
    "spd": ("square", "symmetric", "invertible", "psd"),
    "psd": ("square", "symmetric"),
    "invertible": ("square",),
    "permutation": ("orthogonal", "selection"),
    "identity": ("diagonal", "spd", "permutation"),
}


@cache
def _closure(mask: int) -> int:
    while True:
        grown = mask
        for name, others in _IMPLIES.items():
            if grown & BIT[name]:
                for other in others:
                    grown |= BIT[other]
        if grown & BIT["lower_triangular"] and grown & BIT["upper_triangular"]:
            grown |= BIT["diagonal"]
        if grown & BIT["psd"] and grown & BIT["invertible"]:
            grown |= BIT["spd"]
        if grown == mask:
            return mask
        mask = grown


_SIGNS = sum(BIT[name] for name in OF_SIGN)


@cache
def _of_signs(mask: int) -> Interval:
    """Return the interval that facts of sign say."""
    result = EVERYTHING
    for name, of_sign in OF_SIGN.items():
        if mask & BIT[name]:
            result = result.meet(of_sign)
    return result


class Facts(NamedTuple):
    """The known facts of a value: two sets, as bit masks, and an interval.

    ``true`` holds the proved facts, ``false`` the disproved ones.  ``interval`` is None where it
    says no more than the facts of sign.
    """

    true: int = 0
    false: int = 0
    interval: Interval | None = None

    def holds(self, name: str) -> bool | None:
        """Return True, False, or None if the fact is unknown."""
        bit = BIT.get(name)
        if bit is None:
            asked = interval(name)
            return True if asked is not None and self.bounds().within(asked) else None
        return True if self.true & bit else (False if self.false & bit else None)

    def names(self) -> tuple[str, ...]:
        """Return the names of the facts proved true; :meth:`bounds` returns the interval."""
        return tuple(name for name in NAMES if self.true & BIT[name])

    def bounds(self) -> Interval:
        """Return the smallest interval that is known to contain every element that is not NaN."""
        return _of_signs(self.true & _SIGNS) if self.interval is None else self.interval

    def __or__(self, other: object) -> Facts:
        if not isinstance(other, Facts):
            return NotImplemented
        if other is NOTHING or self is NOTHING:
            return self if other is NOTHING else other
        true, false = self.true | other.true, self.false | other.false
        if self.interval is None and other.interval is None:
            return Facts(_closure(true), false)
        return within(self.bounds().meet(other.bounds()), true, false)


NOTHING = Facts()


def within(bounds: Interval, true: int = 0, false: int = 0) -> Facts:
    """Return facts with an interval, and the facts of sign that follow from it."""
    if bounds.empty():  # all elements are NaN, or there are none
        return Facts(_closure(true), false)
    for name in bounds.signs():
        true |= BIT[name]
    if math.isfinite(bounds.low) and math.isfinite(bounds.high) and true & BIT["not_nan"]:
        true |= BIT["finite"]
    plain = Facts(_closure(true), false)
    return plain if plain.bounds().within(bounds) else plain._replace(interval=bounds)


@lru_cache(4096)
def proved(*names: str) -> Facts:
    """Return these facts and all facts that they imply, proved true."""
    mask, bounds = 0, EVERYTHING
    for name in names:
        if name in BIT:
            mask |= BIT[name]
        elif (declared := interval(name)) is not None:
            bounds = bounds.meet(declared)
    plain = Facts(_closure(mask))
    return plain if bounds is EVERYTHING else within(bounds.meet(plain.bounds()), plain.true)


def is_fact(name: object) -> bool:
    """Return True for the name of a fact, and for an interval such as ``"[0, 1)"``."""
    return isinstance(name, str) and (name in BIT or interval(name) is not None)


def kept(operand: Facts, *names: str) -> Facts:
    """Return the named facts that are proved for ``operand``."""
    return proved(*(name for name in names if operand.true & BIT[name]))


def of_elements(operand: Facts) -> Facts:
    """Return the facts of the elements of ``operand``, which a choice among them keeps."""
    facts = kept(operand, *VALUE_FACTS)
    return facts if operand.interval is None else facts._replace(interval=operand.interval)


def shared(operands: Iterable[Facts]) -> Facts:
    """Return the facts that are proved for every operand."""
    common, bounds = -1, None
    for x in operands:
        common &= x.true
        bounds = x.bounds() if bounds is None else bounds.hull(x.bounds())
    plain = Facts(common)
    if bounds is None or plain.bounds().within(bounds):
        return plain
    return plain._replace(interval=bounds)


@lru_cache(4096)
def of_type(type_: TensorType) -> Facts:
    """Return the facts that the dtype and shape alone prove."""
    names = []
    kind = type_.dtype.kind
    if kind in "biu":
        names += ["integer", "finite"]
    if kind in "bu":
        names.append("nonnegative")
    square = None
    if type_.ndim >= 2:
        rows, columns = type_.shape[-2:]
        if rows is not None and rows == columns:
            names.append("diagonal" if rows == 1 else "square")
        elif isinstance(rows, int) and isinstance(columns, int):
            square = False
    else:
        square = False
    return proved(*names) | Facts(0, BIT["square"] if square is False else 0)


def check_declared(name: str, type_: TensorType, facts: Iterable[str]) -> frozenset[str]:
    """Return declared facts as a set, or raise DomainError for one that cannot hold."""
    if not isinstance(facts, Iterable):
        raise ArgumentError(
            f"the facts of {name!r} are names, not {facts!r:.60}",
            {"facts": ", ".join(NAMES)},
            'Write facts=("positive",), or leave it out.',
        )
    given = (facts,) if isinstance(facts, str) else tuple(facts)
    for one in given:
        if not is_fact(one):
            raise unknown_fact(one)
    declared = frozenset(canonical(given))
    check_possible(f"the input {name!r}", type_, declared)
    return declared


def canonical(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of facts with each interval written in one way."""
    return tuple([name if name in BIT else str(interval(name)) for name in names])


def check_possible(what: str, type_: TensorType, facts: Iterable[str]) -> None:
    """Raise DomainError for facts that no value of a type has; ``what`` names their subject."""
    for one in sorted(facts):
        oblong = one == "selection" and type_.ndim >= 2  # one 1 in each row, zeros elsewhere
        if (
            one in MATRIX_FACTS
            and not oblong
            and (type_.ndim < 2 or of_type(type_).holds("square") is False)
        ):
            raise DomainError(
                f"{what} cannot be {one}",
                {"type": type_},
                'Only square matrices can; give it a shape such as ("n", "n").',
            )


def check_consistent(what: str, facts: Iterable[str]) -> None:
    """Raise DomainError for two facts that no array containing a number has."""
    given = set(facts)
    for one, other in combinations(sorted(given & BIT.keys(), key=NAMES.index), 2):
        known = proved(one, other)
        for sign, opposite in (("positive", "nonpositive"), ("negative", "nonnegative")):
            if known.holds(sign) and known.holds(opposite):
                raise DomainError(
                    f"{what} cannot be {one} and {other}",
                    {"facts": ", ".join(sorted(given))},
                    "Leave one of them out.",
                )
    declared = [b for name in given if name not in BIT and (b := interval(name)) is not None]
    bounds = proved(*(given & BIT.keys())).bounds()
    for own in declared:
        bounds = bounds.meet(own)
    if declared and bounds.empty():
        raise DomainError(
            f"{what} has no number in {' and '.join(sorted(given - BIT.keys()))}",
            {"facts": ", ".join(sorted(given))},
            'Write an interval as "[0, 1]" with its ends, or as "(0, 1)" without them.',
        )


def unknown_fact(name: object) -> DomainError:
    """Return the error for a fact that does not exist."""
    from difflib import get_close_matches

    near = get_close_matches(str(name), NAMES, 1)
    return DomainError(
        f"there is no fact {name!r}",
        {"facts": ", ".join(NAMES), "intervals": 'such as "[0, 1)"'},
        f"Did you mean {near[0]!r}?" if near else "Use one of these facts.",
    )
