"""How the loops of kernels reduce.

A float sum is added in blocks of 1024 elements, in any order within a block.  The sums of blocks
are added in order with compensation (Knuth's two-sum).

log(sum(exp(x))) reads memory once: it computes the maximum of each block and the sum of
exponentials relative to it, and rescales such pairs to the larger maximum to combine them.  An
infinite maximum is replaced by the largest finite number, so that infinite elements stay infinite
relative to it.

References
----------
M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867: how
pairs of a maximum and a sum are combined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from relgraph.lowering.kernels import Fold
from relgraph.lowering.loops.builder import ZERO, Builder
from relgraph.lowering.loops.nodes import Buffer, Const, Scalar, const
from relgraph.ops.elementwise import (
    Cast,
    add,
    exp,
    log,
    logical_and,
    maximum,
    minimum,
    multiply,
    subtract,
    true_divide,
)
from relgraph.ops.reductions import LogSumExp, Mean, Sum

BLOCK = 1024  # elements that a float sum may add in any order; blocks are added in order

_LARGEST = {name: float(np.finfo(name).max) for name in ("float32", "float64")}
_NOTHING = const(0.0, "float64")


def sums_exponentials(fold: Fold) -> bool:
    """Return True if a reduction is log(sum(exp(x)))."""
    return isinstance(fold.op, LogSumExp)


def in_blocks(fold: Fold) -> bool:
    """Return True if a reduction is a float sum, which is added in blocks."""
    return (fold.op.combiner is add or sums_exponentials(fold)) and fold.dtype[0] == "f"


def identity(fold: Fold, dtype: str) -> Const:
    """Return the identity element of a reduction, in a dtype."""
    op, kind = fold.op.combiner, np.dtype(dtype).kind
    if op in (maximum, minimum):
        if kind == "b":
            return const(op is minimum, dtype)
        if kind == "f":
            return const(-math.inf if op is maximum else math.inf, dtype)
        info = np.iinfo(dtype)
        return const(info.min if op is maximum else info.max, dtype)
    return const(op in (logical_and, multiply), dtype)


def beginning(scan: Fold) -> Const:
    """Return the initial total of a cumulative op, which must preserve a first element of -0.0."""
    if isinstance(scan.op, Sum) and scan.dtype[0] == "f":
        return const(-0.0, scan.dtype)
    return identity(scan, scan.dtype)


def cast(b: Builder, x: Scalar, dtype: str) -> Scalar:
    """Return a scalar in another dtype."""
    return x if x.dtype == dtype else b.op(Cast(dtype), x, dtype=dtype)


def joined(b: Builder, fold: Fold, total: Scalar, x: Scalar) -> Scalar:
    """Return a total combined with one more term."""
    return b.apply(fold.op.combiner, total, x)


def added(b: Builder, total: Scalar, lost: Scalar, term: Scalar) -> list[Scalar]:
    """Return a sum with one more term, and what it lost by rounding (Knuth's two-sum)."""
    new = b.apply(add, total, term)
    part = b.apply(subtract, new, total)
    old = b.apply(subtract, total, b.apply(subtract, new, part))
    rest = b.apply(add, old, b.apply(subtract, term, part))
    return [new, b.apply(add, lost, rest)]


def joined_pair(b: Builder, pair: Sequence[Scalar], other: Sequence[Scalar]) -> list[Scalar]:
    """Return a maximum and a sum relative to it, combined with another such pair."""
    top = b.apply(maximum, pair[0], other[0])
    one, two = [
        b.apply(multiply, total, b.apply(exp, b.apply(subtract, highest, top)))
        for highest, total in (pair, other)
    ]
    return [top, b.apply(add, one, two)]


def result(b: Builder, fold: Fold, totals: Sequence[Scalar]) -> Scalar:
    """Return a reduction of its totals (see :class:`Folds`); a float sum is float64."""
    if sums_exponentials(fold):
        top, total = totals
        return b.apply(add, top, b.apply(log, total))
    if not in_blocks(fold):
        return totals[0]
    total, lost = totals  # an overflow makes the second one NaN
    if lost is _NOTHING:
        return total
    is_number = b.op("equal", lost, lost, dtype="bool")
    return b.op("select", is_number, b.apply(add, total, lost), total, dtype="float64")


def mean(b: Builder, fold: Fold, total: Scalar, count: Scalar) -> Scalar:
    """Return a total, divided by the number of terms if the reduction is a mean."""
    if not isinstance(fold.op, Mean):
        return total
    return b.apply(true_divide, total, cast(b, count, total.dtype))


class Folds:
    """The reductions that a loop makes: the totals that it carries, as one list of scalars.

    A float sum has two: its total and what rounding lost; log(sum(exp(x))) a maximum and a sum
    relative to it.  Any other reduction has one.

    Parameters
    ----------
    builder : Builder
        Writes the function.
    folds : sequence of Fold
        The reductions.
    """

    def __init__(self, builder: Builder, folds: Sequence[Fold]) -> None:
        self.folds = list(folds)
        self.blocked = any(map(in_blocks, folds))
        self._builder = builder
        self._near: dict[int, Buffer] = {}  # the terms of a block, to be raised to powers of e
        for i, fold in enumerate(folds):
            if sums_exponentials(fold):
                self._near[i] = builder.stack("near", fold.dtype, [BLOCK])

    def starts(self) -> list[Scalar]:
        """Return the totals of no terms."""
        totals: list[Scalar] = []
        for fold in self.folds:
            if in_blocks(fold):
                least = const(-_LARGEST["float64"], "float64")
                totals += [least if sums_exponentials(fold) else _NOTHING, _NOTHING]
            else:
                totals.append(identity(fold, fold.dtype))
        return totals

    def block_starts(self, totals: Sequence[Scalar]) -> list[Scalar]:
        """Return what a loop over a block carries at first."""
        starts: list[Scalar] = []
        for fold, own in self.split(totals):
            if sums_exponentials(fold):
                starts.append(const(-math.inf, fold.dtype))
            else:
                starts.append(const(0.0, fold.dtype) if in_blocks(fold) else own[0])
        return starts

    def joined(self, so_far: Sequence[Scalar], terms: Sequence[Scalar], at: Scalar) -> list[Scalar]:
        """Return what a loop over a block carries after one more term.

        ``at`` is the place of the term in the block.
        """
        b = self._builder
        following = []
        for i, (fold, value, x) in enumerate(zip(self.folds, so_far, terms, strict=True)):
            term = cast(b, x, fold.dtype)
            if sums_exponentials(fold):
                following.append(b.apply(maximum, value, term))
                b.store(self._near[i], [at], term)
            elif in_blocks(fold):
                following.append(b.op("sum", value, term, dtype=fold.dtype))
            else:
                following.append(joined(b, fold, value, term))
        return following

    def block_end(
        self, totals: Sequence[Scalar], block: Sequence[Scalar], count: Scalar
    ) -> list[Scalar]:
        """Return the totals combined with those of a block of ``count`` terms."""
        b = self._builder
        following: list[Scalar] = []
        for i, (fold, own) in enumerate(self.split(totals)):
            if sums_exponentials(fold):
                following += joined_pair(b, own, self._pair(fold, self._near[i], block[i], count))
            elif in_blocks(fold) and own[0] is _NOTHING:
                following += [cast(b, block[i], "float64"), _NOTHING]
            elif in_blocks(fold):
                following += added(b, own[0], own[1], cast(b, block[i], "float64"))
            else:
                following.append(block[i])
        return following

    def _pair(self, fold: Fold, near: Buffer, top: Scalar, count: Scalar) -> list[Scalar]:
        """Return a finite maximum of a block, and the sum of exponentials relative to it."""
        b = self._builder
        most = _LARGEST[fold.dtype]
        finite = b.apply(maximum, top, const(-most, fold.dtype))
        finite = b.apply(minimum, finite, const(most, fold.dtype))
        with b.loop(ZERO, count, [const(0.0, fold.dtype)], apart=True) as loop:
            power = b.apply(exp, b.apply(subtract, b.load(near, [loop.index]), finite))
            loop.next = [b.op("sum", loop.vars[0], power, dtype=fold.dtype)]
        return [cast(b, finite, "float64"), cast(b, loop.vars[0], "float64")]

    def split(self, totals: Sequence[Scalar]) -> list[tuple[Fold, list[Scalar]]]:
        """Return each reduction with its own totals."""
        rest = iter(totals)
        return [(fold, [next(rest) for _ in range(1 + in_blocks(fold))]) for fold in self.folds]

    def results(self, totals: Sequence[Scalar]) -> list[Scalar]:
        """Return the results; those of float sums are float64."""
        return [result(self._builder, fold, own) for fold, own in self.split(totals)]


__all__ = [
    "BLOCK", "Folds", "added", "beginning", "cast", "identity", "in_blocks", "joined",
    "joined_pair", "mean", "result", "sums_exponentials",
]  # fmt: skip
