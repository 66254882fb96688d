"""Conversions between dtypes.

Which conversions lose nothing is read off a table of the formats: an integer of n bits is exact in
a float whose significand has n bits, IEEE 754-2019, section 3.3.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ops.elementwise import Cast
from relgraph.relations.goals import checko
from relgraph.relations.relation import Relation, identity

CANONICAL = ("canonicalize", "fast_run")
TIDY = ("canonicalize", "specialize", "fast_run")


def bits(dtype: Any) -> int:
    """Return how many bits of an integer a dtype keeps: its width, or that of its significand."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return int(np.finfo(kind).nmant) + 1
    return 1 if kind.kind == "b" else 8 * kind.itemsize - (kind.kind == "i")


def keeps_values(target: Any, source: Any) -> bool:
    """Tell whether a dtype represents every value of another one."""
    old, new = np.dtype(source), np.dtype(target)
    if old.kind == "b" or old == new:
        return True
    if old.kind == "f":
        return new.kind == "f" and new.itemsize >= old.itemsize
    if new.kind == "b" or (old.kind == "i" and new.kind == "u"):
        return False
    return bits(new) >= bits(old)


def holds_all(dtype: Any, x: Any) -> bool:
    """Tell whether a dtype represents every value of the dtype of ``x``."""
    return keeps_values(dtype, x.dtype)


def own_dtype(dtype: Any, x: Any) -> bool:
    """Tell whether ``x`` has a dtype already."""
    return bool(x.dtype == np.dtype(dtype))


@identity(
    tags=(*TIDY, "local_cast_cast"),
    rounding="exact",
    where=lambda d, x: checko(holds_all, d, x, label="the inner cast loses nothing"),
)
def merge_casto(x, d, e):
    """cast(cast(x, d), e) = cast(x, e).

    Holds where d represents every value of the dtype of x (int64 fits no float); exact, kept.
    Source: IEEE 754-2019, sections 3.3 and 5.4.1: a representable value converts to itself.
    """
    return Cast(e)(Cast(d)(x)), Cast(e)(x)


@identity(
    tags=TIDY,
    rounding="exact",
    where=lambda d, x: checko(own_dtype, d, x, label="x has that dtype"),
)
def remove_casto(x, d):
    """cast(x, dtype of x) = x.

    Holds where d is the dtype of x; exact, kept.
    Source: definition.
    """
    return Cast(d)(x), x


RELATIONS: tuple[Relation, ...] = (
    merge_casto,
    remove_casto,
)
