"""The totals of reductions on a GPU.

A sum or product of floats has the dtype float64.  Bools and small integers have 32 bits, which
threads exchange.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.ir.op import Op
from relgraph.lowering.kernels import Fold
from relgraph.lowering.loops.builder import Builder
from relgraph.lowering.loops.nodes import Scalar
from relgraph.lowering.nests.folds import cast, identity, mean
from relgraph.ops.elementwise import add, logical_and, logical_or, maximum, minimum, multiply


def accumulator(fold: Fold) -> str:
    """Return the dtype of a total."""
    kind = np.dtype(fold.dtype)
    if kind.kind == "f":
        return "float64" if fold.op.combiner in (add, multiply) else kind.name
    if kind.name in ("int64", "uint64"):
        return kind.name
    return "int64" if kind.name == "uint32" else "int32"


def combiner(fold: Fold) -> Op:
    """Return the op that combines totals: of 0 and 1, an extreme."""
    extremes: dict[Any, Op] = {logical_or: maximum, logical_and: minimum}
    op: Op = extremes.get(fold.op.combiner, fold.op.combiner)
    return op


class Totals:
    """Writes the totals of some reductions."""

    def __init__(self, builder: Builder, folds: Sequence[Fold]) -> None:
        self.folds = list(folds)
        self._builder = builder

    def starts(self) -> list[Scalar]:
        """Return the totals of no elements."""
        return [identity(fold, accumulator(fold)) for fold in self.folds]

    def term(self, fold: Fold, value: Scalar) -> Scalar:
        """Return an element as a total of one."""
        b = self._builder
        return cast(b, cast(b, value, fold.dtype), accumulator(fold))

    def combined(self, fold: Fold, total: Scalar, other: Scalar) -> Scalar:
        """Return two totals as one."""
        return self._builder.apply(combiner(fold), total, other)

    def following(self, totals: Sequence[Scalar], values: Sequence[Scalar]) -> list[Scalar]:
        """Return the totals with one more element each."""
        return [
            self.combined(fold, total, self.term(fold, value))
            for fold, total, value in zip(self.folds, totals, values, strict=True)
        ]

    def joined(self, totals: Sequence[Scalar]) -> list[Scalar]:
        """Return the totals of all threads of a group."""
        pairs = zip(self.folds, totals, strict=True)
        return [self._builder.join(total, combiner(fold)) for fold, total in pairs]

    def finished(self, fold: Fold, total: Scalar, count: Scalar) -> Scalar:
        """Return the result of a reduction of ``count`` elements."""
        b = self._builder
        return cast(b, mean(b, fold, total, count), fold.dtype)


__all__ = ["Totals", "accumulator", "combiner"]
