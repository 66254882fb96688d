"""Intervals: between which numbers every element of a value lies, unless it is NaN.

An interval is a fact, written as in mathematics: ``"[0, 1)"`` contains 0 and not 1.  Like all facts
it is of the computed value: an end is open only where rounding cannot reach it.

References
----------
R. E. Moore, R. B. Kearfott and M. J. Cloud, Introduction to Interval Analysis, SIAM, 2009, chapter
2 (arithmetic) and section 5.1 (monotone functions).
"""

from __future__ import annotations

import math
import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

_TEXT = re.compile(r"\s*([\[(])\s*([^,\s]+)\s*,\s*([^,\s]+)\s*([\])])\s*")


class Interval(NamedTuple):
    """The numbers from ``low`` to ``high``, with or without these ends."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False

    def __str__(self) -> str:
        ends = f"{self.low:g}" if self.low == float(f"{self.low:g}") else repr(self.low)
        other = f"{self.high:g}" if self.high == float(f"{self.high:g}") else repr(self.high)
        return f"{'[('[self.low_open]}{ends}, {other}{'])'[self.high_open]}"

    def within(self, other: Interval) -> bool:
        """Return True if all numbers of the interval are in another one."""
        above = self.low > other.low or (
            self.low == other.low and (self.low_open or not other.low_open)
        )
        below = self.high < other.high or (
            self.high == other.high and (self.high_open or not other.high_open)
        )
        return above and below

    def meet(self, other: Interval) -> Interval:
        """Return the interval of the numbers that are in both."""
        low, low_open = max((self.low, self.low_open), (other.low, other.low_open))
        high, closed = min((self.high, not self.high_open), (other.high, not other.high_open))
        return Interval(low, high, low_open, not closed)

    def hull(self, other: Interval) -> Interval:
        """Return the smallest interval that contains both."""
        low, low_open = min((self.low, self.low_open), (other.low, other.low_open))
        high, closed = max((self.high, not self.high_open), (other.high, not other.high_open))
        return Interval(low, high, low_open, not closed)

    def mirrored(self) -> Interval:
        """Return the interval of the negated numbers."""
        return Interval(-self.high, -self.low, self.high_open, self.low_open)

    def empty(self) -> bool:
        """Return True if no number is in the interval."""
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def signs(self) -> tuple[str, ...]:
        """Return the facts of sign that hold of all its numbers."""
        names = []
        if self.within(POSITIVE):
            names.append("positive")
        elif self.low >= 0:
            names.append("nonnegative")
        if self.within(NEGATIVE):
            names.append("negative")
        elif self.high <= 0:
            names.append("nonpositive")
        return tuple(names)


EVERYTHING = Interval(-math.inf, math.inf)
EXACT = Interval(-(2.0**53), 2.0**53)  # where every integer is a float64
POSITIVE = Interval(0.0, math.inf, True)
NEGATIVE = Interval(-math.inf, 0.0, False, True)
# The interval that a fact of sign says by itself.
OF_SIGN = {
    "positive": POSITIVE, "nonnegative": Interval(0.0, math.inf), "negative": NEGATIVE,
    "nonpositive": Interval(-math.inf, 0.0),
}  # fmt: skip


@cache
def of_dtype(dtype: np.dtype[Any]) -> Interval:
    """Return the interval of all integers or Booleans of a dtype; floats have no limits."""
    if dtype.kind == "b":
        return Interval(0.0, 1.0)
    if dtype.kind not in "iu":
        return EVERYTHING
    return Interval(float(np.iinfo(dtype).min), float(np.iinfo(dtype).max))


@lru_cache(1024)
def interval(text: str) -> Interval | None:
    """Return the interval that a text such as ``"[0, 1)"`` says; None for any other text."""
    parts = _TEXT.fullmatch(text)
    if parts is None:
        return None
    left, low, high, right = parts.groups()
    try:
        result = Interval(float(low) + 0.0, float(high) + 0.0, left == "(", right == ")")
    except ValueError:
        return None
    return None if math.isnan(result.low) or math.isnan(result.high) else result
