"""Online softmax: the sum of exponentials in the pass that finds the largest element.

This reads each row once less.  A thread that meets a new largest element multiplies its sum by the
exponential of the difference.  If the largest element of a row is finite, the result is as exact as
that of two passes; the other rows get the second pass.

References
----------
M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867 (2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from relgraph.lowering.kernels import Pass, Structure
from relgraph.lowering.refs import Ref
from relgraph.ops.elementwise import exp, isfinite, subtract, where
from relgraph.ops.reductions import Max, Sum


@dataclass(frozen=True)
class Online:
    """Two passes of a structure that can be merged into one.

    Attributes
    ----------
    first, second
        The pass that finds the largest element, and the one that sums the exponentials.
    top, total
        The reductions of these passes.
    array
        The operand that both read.
    rows
        The statements of the second pass: the difference, and its exponential.
    recomputed
        The results that the second pass keeps only for later passes, and the value of each, which
        the later passes recompute.
    """

    first: int
    second: int
    top: int
    total: int
    array: int
    rows: tuple[int, int]
    recomputed: dict[int, Ref]


def online(structure: Structure, kinds: list[str]) -> Online | None:
    """Return the first two passes of a structure that can be merged into one, or None."""
    inner = [number for number, part in enumerate(structure.passes) if part.inner]
    for first, second in pairwise(inner):
        pair = _pair(structure, kinds, first, second)
        if pair is not None:
            return pair
    return None


def _pair(structure: Structure, kinds: list[str], first: int, second: int) -> Online | None:
    one, other = structure.passes[first], structure.passes[second]
    if one.stores or not (_single_fold(one) and _single_fold(other)):
        return None
    top, total = one.folds[0], other.folds[0]
    largest, sums = structure.folds[top], structure.folds[total]
    x = largest.operand
    if (
        not (isinstance(largest.op, Max) and isinstance(sums.op, Sum))
        or largest.dtype != sums.dtype
    ):
        return None
    if x.kind != "array" or kinds[x.index] != "full" or not x.dtype.startswith("float"):
        return None
    rows = tuple(range(*other.rows))
    if len(rows) != 2 or range(*one.rows) or sums.operand != Ref("row", rows[1], x.dtype):
        return None
    difference, exponential = (structure.rows[k] for k in rows)
    if difference.op is not subtract or exponential.op is not exp:
        return None
    if exponential.operands[0] != Ref("row", rows[0], x.dtype) or difference.operands[0] != x:
        return None
    if not _is_shift(structure, difference.operands[1], top):
        return None
    recomputed = {result: ref for ref, result in other.stores}
    later = {result for part in structure.passes[second + 1 :] for _, result in part.stores}
    if not set(recomputed) <= later:
        return None  # others read what the second pass computes
    return Online(first, second, top, total, x.index, (rows[0], rows[1]), recomputed)


def _single_fold(part: Pass) -> bool:
    return part.folds[1] - part.folds[0] == 1


def _is_shift(structure: Structure, ref: Ref, top: int) -> bool:
    """Return True if a value equals the largest element wherever that is finite."""
    if (ref.kind, ref.index) == ("fold", top):
        return True
    if ref.kind != "row":
        return False
    row = structure.rows[ref.index]
    if row.op is not where or (row.operands[1].kind, row.operands[1].index) != ("fold", top):
        return False
    condition = row.operands[0]
    if condition.kind != "row":
        return False
    test = structure.rows[condition.index]
    return test.op is isfinite and (
        (test.operands[0].kind, test.operands[0].index) == ("fold", top)
    )
