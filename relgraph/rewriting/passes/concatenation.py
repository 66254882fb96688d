"""Merging of nested concatenations into one with as few operands as possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ops.arguments import canonical_shape
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.indexing.composition import adjoining
from relgraph.ops.indexing.index import Index
from relgraph.ops.shape import BroadcastTo, Reshape, expand_dims


class JoinMerging:
    """Merges the operands of a concatenation and of the concatenations nested in it.

    It drops empty operands.  Consecutive parts of one array become one part, stacks a longer stack,
    broadcasts of one operand a larger broadcast, and a repeated array a broadcast of it.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.concatenation import JoinMerging
    >>> x = rg.vector("x", shape=(4,))
    >>> y = rg.vector("y", shape=(0,))
    >>> rg.rewrite_graph(rg.concatenate([rg.concatenate([x, y]), x[:2], x[2:3]]), JoinMerging())
    concatenate(x, x[:3], axis=-1)
    """

    name = relation = "merge_joins"
    tracks: tuple[Any, ...] | None = (Concatenate,)

    def __repr__(self) -> str:
        return "<merge_joins>"

    def transform(self, node: Variable) -> Variable | None:
        """Return a concatenation of fewer operands, its only operand, a broadcast, or None."""
        axis: int = node.op.params[0]  # type: ignore[union-attr]
        operands = list(node.inputs)
        for rule in (_flat, _filled, _merged):
            fewer = rule(operands, axis)
            if fewer is not None:
                return _joined(fewer, axis, node)
        repeated = _repeated(operands, axis)
        return repeated if repeated is not None and repeated.type.narrows(node.type) else None


def _joined(operands: list[Variable], axis: int, node: Variable) -> Variable | None:
    """Return the concatenation of operands, if it has the type of a node."""
    joined: Variable = operands[0] if len(operands) == 1 else Concatenate(axis)(*operands)
    return joined if joined.type.narrows(node.type) else None


def _flat(operands: list[Variable], axis: int) -> list[Variable] | None:
    """Return the operands with nested concatenations flattened."""
    op = Concatenate(axis)
    if not any([x.op is op for x in operands]):
        return None
    return [y for x in operands for y in (x.inputs if x.op is op else (x,))]


def _filled(operands: list[Variable], axis: int) -> list[Variable] | None:
    """Return the operands without empty ones."""
    left = [x for x in operands if x.type.shape[axis] != 0]
    return left if left and len(left) < len(operands) else None


def _merged(operands: list[Variable], axis: int) -> list[Variable] | None:
    """Return the operands with neighbours merged wherever possible."""
    merged = operands[:1]
    for x in operands[1:]:
        made = (rule(merged[-1], x, axis) for rule in PAIRS)
        both = next((y for y in made if y is not None), None)
        if both is None:
            merged.append(x)
        else:
            merged[-1] = both
    return merged if len(merged) < len(operands) else None


def _parts(x: Variable, y: Variable, axis: int) -> Variable | None:
    """Return the part of an array that two adjacent parts form."""
    if not (isinstance(x.op, Index) and isinstance(y.op, Index)):
        return None
    if len(x.inputs) != 1 or len(y.inputs) != 1 or x.inputs != y.inputs:
        return None
    array = x.inputs[0]
    key = adjoining(axis, x.op.params[0], y.op.params[0], array.type.shape)
    if key is None:
        return None
    return Index(key)(array) if key else array


def _stacks(x: Variable, y: Variable, axis: int) -> Variable | None:
    """Return the stack of the operands of two stacks along the axis."""
    op: Op = Stack(axis)
    return op(*x.inputs, *y.inputs) if x.op is op and y.op is op else None


def _broadcasts(x: Variable, y: Variable, axis: int) -> Variable | None:
    """Return the broadcast of an operand that two broadcasts repeat along the axis."""
    if not (isinstance(x.op, BroadcastTo) and isinstance(y.op, BroadcastTo)):
        return None
    if x.inputs != y.inputs or len(x.inputs) != 1:
        return None
    inner = x.inputs[0]
    first, second = list(x.op.params[0]), y.op.params[0]
    spans = inner.ndim >= -axis and inner.type.shape[axis] != 1
    if spans or not (isinstance(first[axis], int) and isinstance(second[axis], int)):
        return None
    first[axis] += second[axis]
    return BroadcastTo(tuple(first))(inner)  # type: ignore[no-any-return]


def _repeated(operands: list[Variable], axis: int) -> Variable | None:
    """Return several copies of one array as a broadcast and a reshape, for static shapes."""
    x = operands[0]
    shape = x.type.shape
    if len(operands) < 2 or any([y is not x for y in operands]):
        return None
    if not all([isinstance(size, int) for size in shape]):
        return None
    at = axis + x.ndim
    spread = BroadcastTo((*shape[:at], len(operands), *shape[at:]))(expand_dims(x, at))
    size: Any = shape[at]
    joined = (*shape[:at], len(operands) * size, *shape[at + 1 :])
    return Reshape(canonical_shape(spread.type.shape, joined))(spread)  # type: ignore[no-any-return]


PAIRS: tuple[Callable[[Variable, Variable, int], Variable | None], ...] = (
    _parts,
    _stacks,
    _broadcasts,
)
