"""Fact rules of elementwise ops: what holds of the computed result.

A fact speaks of the value that the machine computes.  Products of positive floats underflow to
zero, sums overflow to infinity, integers wrap around, and ``1 / -0.0`` is negative; the rules claim
only what survives that.  Facts of sign mean "NaN or ...".  Rules that would need a function to be
correctly rounded are left out, so that they hold for every backend.
"""

from __future__ import annotations

import math
from functools import cache

from relgraph.ir.facts import BIT, NOTHING, Facts, kept, of_elements, proved, shared
from relgraph.ir.node import Constant, Variable
from relgraph.ir.types import TensorType, covers
from relgraph.ops.elementwise.row import DefiniteRule, FactRule
from relgraph.ops.permutation import are_transposes

Operands = tuple[Facts, ...]
Names = list[str]

SIGNS = ("positive", "nonnegative", "negative", "nonpositive")
WEAK_SIGNS = ("nonnegative", "nonpositive")
OPPOSITE = {
    "positive": "negative",
    "negative": "positive",
    "nonnegative": "nonpositive",
    "nonpositive": "nonnegative",
}


@cache
def _mask(names: tuple[str, ...]) -> int:
    return sum(BIT[name] for name in names)


def holds(facts: Facts, *names: str) -> bool:
    """Return True if every named fact is proved."""
    mask = _mask(names)
    return facts[0] & mask == mask


def every(operands: Operands, *names: str) -> bool:
    """Return True if every named fact is proved of every operand."""
    mask = _mask(names)
    return all([x[0] & mask == mask for x in operands])


def some(operands: Operands, *names: str) -> bool:
    """Return True if some operand has all the named facts."""
    mask = _mask(names)
    return any([x[0] & mask == mask for x in operands])


def is_float(node: Variable) -> bool:
    """Return True if a node holds floating-point numbers."""
    return bool(node.dtype.kind == "f")


def signed(node: Variable) -> bool:
    """Return True if a node holds signed integers, which wrap around to negative ones."""
    return bool(node.dtype.kind == "i")


def opposite(facts: Facts) -> Facts:
    """Return the facts of sign of the negated value."""
    return proved(*(OPPOSITE[name] for name in SIGNS if holds(facts, name)))


def rule(
    always: tuple[str, ...] = (),
    keeps: tuple[str, ...] = (),
    when: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (),
) -> FactRule:
    """Return the rule of a float function of one operand, as data.

    ``always`` holds of every result, and a fact of ``keeps`` if it holds of the operand.  ``when``
    has pairs (conditions, conclusions): the result has all conclusions if the operand has all
    conditions.
    """

    def facts(operands: Operands, node: Variable) -> Facts:
        (x,) = operands
        result = proved(*always) | kept(x, *keeps)
        for conditions, conclusions in when:
            if holds(x, *conditions):
                result |= proved(*conclusions)
        return result

    return facts


# Arithmetic.


def add(operands: Operands, node: Variable) -> Facts:
    """Rounding is monotone and addition does not underflow: sums keep signs, integers wrap."""
    if not is_float(node):
        return NOTHING
    names: Names = []
    for strict, weak in (("positive", "nonnegative"), ("negative", "nonpositive")):
        if every(operands, weak):
            names.append(strict if some(operands, strict) else weak)
    if every(operands, "integer"):
        names.append("integer")
    # Only inf - inf gives a new NaN.
    same_sign = every(operands, "nonnegative") or every(operands, "nonpositive")
    if every(operands, "not_nan") and (some(operands, "finite") or same_sign):
        names.append("not_nan")
    return proved(*names)


def subtract(operands: Operands, node: Variable) -> Facts:
    """Add the negated operand."""
    x, y = operands
    return add((x, opposite(y) | kept(y, "integer", "finite", "not_nan")), node)


def multiply(operands: Operands, node: Variable) -> Facts:
    """Products keep signs weakly: they underflow, unless one factor is at least 1."""
    if not is_float(node):
        return all_kept(operands, node) if node.dtype.kind == "b" else NOTHING
    x, y = operands
    square_of = node.inputs[0] is node.inputs[1]
    names: Names = []
    strict = every(operands, "nonzero") and some(operands, "integer")
    if square_of or every(operands, "nonnegative") or every(operands, "nonpositive"):
        names.append("positive" if strict else "nonnegative")
    if (holds(x, "nonnegative") and holds(y, "nonpositive")) or (
        holds(x, "nonpositive") and holds(y, "nonnegative")
    ):
        names.append("negative" if strict else "nonpositive")
    if strict:
        names.append("nonzero")
    if every(operands, "integer"):
        names.append("integer")
    # Only 0 * inf gives a new NaN.
    no_clash = (
        square_of
        or every(operands, "finite")
        or every(operands, "nonzero")
        or some(operands, "finite", "nonzero")
    )
    if every(operands, "not_nan") and no_clash:
        names.append("not_nan")
    return proved(*names)


def true_divide(operands: Operands, node: Variable) -> Facts:
    """Quotients keep signs weakly; a float divisor that may be -0.0 proves no sign."""
    x, y = operands
    unsigned_zero = not is_float(node.inputs[1])
    below = holds(y, "positive") or (unsigned_zero and holds(y, "nonnegative"))
    names: Names = []
    if below:
        names += [name for name in WEAK_SIGNS if holds(x, name)]
    elif holds(y, "negative"):
        names += [OPPOSITE[name] for name in WEAK_SIGNS if holds(x, name)]
    # Only 0 / 0 and inf / inf give a new NaN.
    zeros = some(operands, "nonzero")
    if every(operands, "not_nan") and zeros and some(operands, "finite"):
        names.append("not_nan")
    return proved(*names)


def floor_divide(operands: Operands, node: Variable) -> Facts:
    """Quotients rounded down; by zero, floats give an infinity or NaN and integers 0."""
    x, y = operands
    names: Names = ["integer"]
    strict = is_float(node)
    if holds(y, "positive") or (not strict and holds(y, "nonnegative")):
        names += [name for name in WEAK_SIGNS if holds(x, name)]
    elif holds(x, "nonnegative") and holds(y, "negative" if strict else "nonpositive"):
        names.append("nonpositive")
    return proved(*names)


def remainder(operands: Operands, node: Variable) -> Facts:
    """The remainder has the sign of the divisor."""
    x, y = operands
    facts = kept(y, *WEAK_SIGNS)
    if every(operands, "integer"):
        facts |= proved("integer")
    if holds(x, "finite") and holds(y, "nonzero", "not_nan"):
        facts |= proved("not_nan") | kept(y, "finite")
    return facts


def power(operands: Operands, node: Variable) -> Facts:
    """A nonnegative base, or an even constant exponent, gives no negative float."""
    if not is_float(node):
        return NOTHING
    x, y = operands
    exponent = node.inputs[1]
    uniform = exponent.uniform if isinstance(exponent, Constant) else None
    even = uniform is not None and math.isfinite(uniform) and float(uniform) % 2 == 0
    names: Names = []
    if (
        holds(x, "positive")
        or (holds(x, "nonnegative") and (holds(y, "nonnegative") or not is_float(node.inputs[0])))
        or even
    ):
        names.append("nonnegative")
    # Only a negative finite base with a fractional exponent gives a new NaN.
    if every(operands, "not_nan") and (holds(x, "nonnegative") or holds(y, "integer")):
        names.append("not_nan")
    return proved(*names)


def negative(operands: Operands, node: Variable) -> Facts:
    """Signs are exchanged; the least integer is its own negative."""
    (x,) = operands
    facts = kept(x, "nonzero", "integer", "finite", "not_nan")
    if is_float(node):
        return facts | opposite(x)
    return facts | (opposite(kept(x, "positive", "nonnegative")) if signed(node) else NOTHING)


def absolute(operands: Operands, node: Variable) -> Facts:
    """The least integer is its own absolute value."""
    (x,) = operands
    if signed(node):
        return kept(x, "positive", "nonnegative", "nonzero")
    facts = proved("nonnegative") | kept(x, "integer", "finite", "not_nan")
    return facts | (proved("positive") if holds(x, "nonzero") else NOTHING)


def sign(operands: Operands, node: Variable) -> Facts:
    """-1, 0, 1 or NaN."""
    (x,) = operands
    facts = proved("integer") | kept(x, *SIGNS, "nonzero", "not_nan")
    return facts | (proved("finite") if holds(x, "not_nan") else NOTHING)


def square(operands: Operands, node: Variable) -> Facts:
    """A float square is nonnegative; an integer one wraps around, except that of a bool."""
    (x,) = operands
    if node.inputs[0].dtype.kind == "b":
        return of_elements(x)
    if not is_float(node):
        return NOTHING
    facts = proved("nonnegative") | kept(x, "integer", "not_nan")
    return facts | (proved("positive") if holds(x, "integer", "nonzero") else NOTHING)


def reciprocal(operands: Operands, node: Variable) -> Facts:
    """The reciprocal of a finite float is no zero: that of the largest is subnormal."""
    if not is_float(node):
        return NOTHING
    (x,) = operands
    names: Names = []
    for strict, weak in (("positive", "nonnegative"), ("negative", "nonpositive")):
        if holds(x, strict):
            names.append(strict if holds(x, "finite") else weak)
    if holds(x, "finite"):
        names.append("nonzero")
    return proved(*names) | kept(x, "not_nan")


# Choices: the result is one of the operands.


def all_kept(operands: Operands, node: Variable) -> Facts:
    """Keep what holds of every operand."""
    return of_elements(shared(operands))


def maximum(operands: Operands, node: Variable) -> Facts:
    """The larger one; it is positive where one of them is."""
    facts = all_kept(operands, node)
    return facts | proved(*(n for n in ("positive", "nonnegative") if some(operands, n)))


def minimum(operands: Operands, node: Variable) -> Facts:
    """The smaller one; it is negative where one of them is."""
    facts = all_kept(operands, node)
    return facts | proved(*(n for n in ("negative", "nonpositive") if some(operands, n)))


def where(operands: Operands, node: Variable) -> Facts:
    """One of two branches."""
    return all_kept(operands[1:], node)


def clip(operands: Operands, node: Variable) -> Facts:
    """``minimum(maximum(x, low), high)``."""
    x, low, high = operands
    return minimum((maximum((x, low), node), high), node)


# Rounding to integers, bits, and functions of two floats.


def rounding(*keeps: str) -> FactRule:
    """Return the rule of a function that rounds to an integer and keeps these signs."""
    return rule(always=("integer",), keeps=(*WEAK_SIGNS, *keeps, "finite", "not_nan"))


def bitwise_and(operands: Operands, node: Variable) -> Facts:
    """Nonnegative where one operand is: its sign bit is 0."""
    return proved("nonnegative") if some(operands, "nonnegative") else NOTHING


def bitwise_or(operands: Operands, node: Variable) -> Facts:
    """Nonnegative where both operands are; never zero where one of them is not."""
    weak = proved("nonnegative") if every(operands, "nonnegative") else NOTHING
    return weak | (proved("nonzero") if some(operands, "nonzero") else NOTHING)


def bitwise_xor(operands: Operands, node: Variable) -> Facts:
    """Nonnegative where both operands are."""
    return proved("nonnegative") if every(operands, "nonnegative") else NOTHING


def invert(operands: Operands, node: Variable) -> Facts:
    """``-1 - x`` for signed integers."""
    (x,) = operands
    if not signed(node):
        return NOTHING
    swapped = {"nonnegative": "negative", "negative": "nonnegative"}
    return proved(*(to for name, to in swapped.items() if holds(x, name)))


def right_shift(operands: Operands, node: Variable) -> Facts:
    """Shifting right keeps the sign bit."""
    return kept(operands[0], "nonnegative", "negative")


def logaddexp(operands: Operands, node: Variable) -> Facts:
    """At least the larger operand."""
    names: Names = [n for n in ("positive", "nonnegative") if some(operands, n)]
    return proved(*names, *(n for n in ("finite", "not_nan") if every(operands, n)))


def arctan2(operands: Operands, node: Variable) -> Facts:
    """An angle with the sign of the first operand; that of -0.0 may be -pi."""
    y = operands[0]
    names: Names = [weak for weak in WEAK_SIGNS if holds(y, _strict(weak))]
    return proved(*names, *(("finite",) if every(operands, "not_nan") else ()))


def _strict(weak: str) -> str:
    return "positive" if weak == "nonnegative" else "negative"


def hypot(operands: Operands, node: Variable) -> Facts:
    """A length, at least as large as either side."""
    names: Names = ["positive" if some(operands, "nonzero") else "nonnegative"]
    return proved(*names, *(("not_nan",) if every(operands, "not_nan") else ()))


def bessel_k(operands: Operands, node: Variable) -> Facts:
    """A modified Bessel function of the second kind is never negative."""
    return proved("nonnegative")


def bessel_i(operands: Operands, node: Variable) -> Facts:
    """A modified Bessel function of the first kind is not negative where both operands are not."""
    return proved("nonnegative") if every(operands, "nonnegative") else NOTHING


# Structure of matrices.


def definite_sum(operands: Operands, whole: list[bool], single: list[bool]) -> Facts:
    """Sums of semidefinite matrices are semidefinite; with a definite term, definite.

    A number, the same for all elements of a matrix, stands for the matrix of that number
    everywhere, which is positive semidefinite where the number is not negative.  ``whole`` says
    which operands have the size of the result, and ``single`` which have one element per matrix.

    References
    ----------
    R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., Cambridge University Press, 2013:
    sections 7.1 (sums and multiples) and 7.5 (Schur's product theorem).
    """
    if not _semidefinite(operands, whole, single):
        return NOTHING
    definite = any([same and holds(x, "spd") for x, same in zip(operands, whole, strict=True)])
    return proved("spd" if definite else "psd")


def definite_product(operands: Operands, whole: list[bool], single: list[bool]) -> Facts:
    """Elementwise products of definite matrices and positive numbers are definite."""
    if not _semidefinite(operands, whole, single):
        return NOTHING
    definite = [same and holds(x, "spd") for x, same in zip(operands, whole, strict=True)]
    strict = [
        spd or (holds(x, "positive") and number)
        for spd, x, number in zip(definite, operands, single, strict=True)
    ]
    return proved("spd" if all(strict) and any(definite) else "psd")


def definite_quotient(operands: Operands, whole: list[bool], single: list[bool]) -> Facts:
    """A matrix divided by a positive number stays definite."""
    divided = whole[0] and single[1] and holds(operands[1], "positive")
    return kept(operands[0], "psd", "spd") if divided else NOTHING


def _semidefinite(operands: Operands, whole: list[bool], single: list[bool]) -> bool:
    """Return True if every operand is semidefinite, or a number that is not negative."""
    return all(
        (holds(x, "psd") and same) or (holds(x, "nonnegative") and number)
        for x, same, number in zip(operands, whole, single, strict=True)
    )


def structure(
    zero: str, definite: DefiniteRule | None, operands: Operands, node: Variable
) -> Facts:
    """Return the matrix facts of an elementwise result, from two columns of its row.

    Applying one function to every element keeps symmetry.  It keeps the zeros of a triangle or a
    band where it takes zeros to zero.
    """
    type_ = node.type
    if type_.ndim < 2 or not isinstance(type_, TensorType):
        return NOTHING
    whole = [covers(type_.shape[-2:], x.type.shape[-2:]) for x in node.inputs]
    single = [all(dim == 1 for dim in x.type.shape[-2:]) for x in node.inputs]
    names: Names = []
    symmetric = all(
        number or (same and holds(x, "symmetric"))
        for number, same, x in zip(single, whole, operands, strict=True)
    )
    if (symmetric and any(whole)) or _joins_transposes(node):
        names.append("symmetric")
    for triangle in ("lower_triangular", "upper_triangular", "tridiagonal"):
        triangular = [same and holds(x, triangle) for same, x in zip(whole, operands, strict=True)]
        if _keeps_zeros(zero, triangular, operands):
            names.append(triangle)
    facts = proved(*names)
    if definite is not None and is_float(node) and any(whole):
        facts |= definite(operands, whole, single)
    return facts


def _joins_transposes(node: Variable) -> bool:
    """Return True for a commutative function of a matrix and its transpose."""
    if not node.op.commutative:  # type: ignore[union-attr]
        return False
    return are_transposes(*node.inputs)


def _keeps_zeros(zero: str, triangular: list[bool], operands: Operands) -> bool:
    if zero == "all":
        return all(triangular)
    if zero == "any":
        return all(triangular) or any(
            zeros and holds(operands[1 - i], "finite") for i, zeros in enumerate(triangular)
        )
    if zero == "first":
        return triangular[0] and holds(operands[1], "nonzero", "not_nan")
    if zero == "branches":
        return triangular[1] and triangular[2]
    return False
