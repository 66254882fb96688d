"""Kinds of ops: what an op variable of a pattern may stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from relgraph.errors import DomainError
from relgraph.ir.op import Op
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.elementwise import ROWS, Cast, Elementwise, Row
from relgraph.ops.linalg.structured import Trace, Tril
from relgraph.ops.permutation import MatrixTranspose, Rearrangement
from relgraph.ops.reductions import Max, Mean, Reduction, Sum
from relgraph.ops.shape import ExpandDims, Reshape


class OpKind:
    """A kind of ops, such as the elementwise ones.

    Attributes
    ----------
    name : str
        Its name in conditions.
    summary : str
        The first line of the docstring of its goal.
    cls : type of Op
        A class of ops whose class attributes hold for all ops of the kind.
    """

    __slots__ = ("_holds", "_samples", "cls", "name", "summary")

    def __init__(
        self,
        name: str,
        summary: str,
        cls: type[Op],
        holds: Callable[[object], bool],
        samples: Callable[[], Iterable[Op]],
    ) -> None:
        self.name = name
        self.summary = summary
        self.cls = cls
        self._holds = holds
        self._samples = samples

    def __call__(self, op: object) -> bool:
        """Return True if an op is of the kind."""
        return self._holds(op)

    def __reduce__(self) -> tuple[object, ...]:
        return kind_of_ops, (self.name,)

    def __repr__(self) -> str:
        return f"<ops: {self.name}>"

    @property
    def samples(self) -> tuple[Op, ...]:
        """Ops of the kind to check a relation with, the same ones in every run."""
        return tuple(self._samples())


def _rows() -> Iterable[Op]:
    """Yield the simplest elementwise op of each number of operands, commutative and not."""
    simplest: dict[tuple[int, bool], Row] = {}
    for row in sorted(ROWS.values(), key=_order):
        if not row.tests and not row.decides:
            simplest.setdefault((row.arity, "commutative" in row.laws), row)
    yield from [Elementwise(row.name) for _, row in sorted(simplest.items())]
    yield Cast("float32")


def _order(row: Row) -> tuple[bool, int, str]:
    """Order rows: those of numbers first, then the cheap ones."""
    return row.theme == "logic and bits", row.flops, row.name


def _reductions() -> Iterable[Op]:
    return Sum(None, False), Max(None, False), Mean((-1,), True)


def _is_linear(op: object) -> bool:
    return isinstance(op, Op) and op.linear


def _rearranges(op: object) -> bool:
    return isinstance(op, Op) and op.rearranges


KINDS = {
    kind.name: kind
    for kind in (
        OpKind(
            "elementwise",
            "Relate ops that compute each element from the matching elements of the operands.",
            Elementwise,
            lambda op: isinstance(op, Elementwise | Cast),
            _rows,
        ),
        OpKind(
            "reduction",
            "Relate reductions, such as a sum along some axes.",
            Reduction,
            lambda op: isinstance(op, Reduction),
            _reductions,
        ),
        OpKind(
            "linear",
            "Relate ops that are linear in their first operand, such as a sum or a transpose.",
            Op,
            _is_linear,
            lambda: (Sum(None, False), Trace(), MatrixTranspose(), Tril(0), Mean((-1,), True)),
        ),
        OpKind(
            "additive",
            "Relate ops that are linear in all their operands together, such as a join.",
            Op,
            lambda op: isinstance(op, Concatenate | Stack),
            lambda: (Concatenate(-1), Stack(-1)),
        ),
        OpKind(
            "rearrangement",
            "Relate ops whose results hold only elements of their first operand.",
            Rearrangement,
            _rearranges,
            lambda: (MatrixTranspose(), ExpandDims((-1,)), Reshape((-1,))),
        ),
        OpKind(
            "any",
            "Relate all ops.",
            Op,
            lambda op: isinstance(op, Op),
            lambda: (Sum((-1,), False), MatrixTranspose(), *_rows()),
        ),
    )
}


def kind_of_ops(name: object) -> OpKind:
    """Return the kind of a name; another name raises DomainError."""
    if isinstance(name, str) and name in KINDS:
        return KINDS[name]
    near = get_close_matches(str(name), KINDS, 1)
    raise DomainError(
        f"there is no kind of ops {name!r}",
        {"kinds": ", ".join(KINDS)},
        f"Did you mean {near[0]!r}?" if near else "Use one of these kinds.",
    )
