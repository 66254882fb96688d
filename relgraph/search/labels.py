"""The labels of an e-graph's edges: a coefficient, a transpose, and an inverse.

A label ``(c, t, i)`` maps a matrix ``X`` to ``c * op(X)``, where ``op`` transposes if ``t`` is 1
and inverts if ``i`` is 1.  Labels form a group, since a transpose and an inverse commute and each
is its own inverse.  So ``(A B).T = B.T A.T``, ``inv(inv(A)) = A``, ``-(-A) = A`` and
``(c A) B = c (A B)`` need no rules: a union-find whose edges carry labels decides them.

A *reference* ``(c, x, t, i)`` is the label ``(c, t, i)`` applied to the class ``x``.

References
----------
D. Lesbre, M. Lemerre, H. R. Ait-El-Hara and F. Bobot, Relational abstractions based on labeled
union-find, PLDI 2025.
"""

from __future__ import annotations

from fractions import Fraction

Coefficient = int | Fraction
Label = tuple[Coefficient, int, int]
Reference = tuple[Coefficient, int, int, int]
Factor = tuple[int, int, int]  # a reference without its coefficient

UNIT: Label = (1, 0, 0)


def rational(x: Coefficient) -> Coefficient:
    """Return a number as an int if it is one."""
    if x.__class__ is int:
        return x
    x = Fraction(x)
    return x.numerator if x.denominator == 1 else x


def quotient(x: Coefficient, y: Coefficient) -> Coefficient:
    """Return ``x / y``, exactly."""
    return x * y if y in (1, -1) else rational(Fraction(x) / y)


def raised(x: Coefficient, e: Coefficient) -> Coefficient:
    """Return a whole power, exactly."""
    return x if x == 1 else rational(Fraction(x) ** int(e))


def magnitude(x: Coefficient) -> Coefficient:
    """Return the absolute value."""
    return x if x >= 0 else -x


def compose(outer: Label, inner: Label) -> Label:
    """Return the label that applies ``inner`` first, then ``outer``."""
    c, d = outer[0], inner[0]
    if d != 1:
        c = quotient(c, d) if outer[2] else rational(c * d)
    return c, outer[1] ^ inner[1], outer[2] ^ inner[2]


def inverse(label: Label) -> Label:
    """Return the label that undoes another one."""
    c, t, i = label
    return (c if i else quotient(1, c), t, i)


def label_of(ref: Reference) -> Label:
    """Return the label of a reference."""
    return ref[0], ref[2], ref[3]


def act(label: Label, ref: Reference) -> Reference:
    """Return a reference with a label applied to it."""
    c, t, i = compose(label, (ref[0], ref[2], ref[3]))
    return c, ref[1], t, i


def transposed(ref: Reference) -> Reference:
    """Return the transpose of a reference."""
    return ref[0], ref[1], ref[2] ^ 1, ref[3]


def inverted(ref: Reference) -> Reference:
    """Return the inverse of a reference."""
    return quotient(1, ref[0]), ref[1], ref[2], ref[3] ^ 1


def flipped(factors: tuple[Factor, ...], t: int, i: int) -> tuple[Factor, ...]:
    """Return the factors of the transpose (t) or the inverse (i) of a product."""
    return tuple([(x, u ^ t, j ^ i) for x, u, j in reversed(factors)])
