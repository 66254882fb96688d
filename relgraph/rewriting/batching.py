"""Batches: a graph that applies another graph to every entry of a leading axis.

Jacobians apply a linear graph to all unit vectors at once.  Ops count axes from the end, so most of
them accept a leading axis unchanged; the rules below adapt the others.  An op without a rule is
applied to one entry at a time, if the number of entries is static.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relgraph.errors import DerivativeError
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, apply
from relgraph.ir.op import GetItem, Op
from relgraph.ir.types import TupleType
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.contraction import Einsum, Matmul, Outer
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.indexing.expression import FULL, advanced_place, is_advanced
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import AddIndex, SetIndex
from relgraph.ops.linalg.factored_solve import ChoSolve
from relgraph.ops.linalg.solve import Inv, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal, Trace, Tril, Triu
from relgraph.ops.loops import Cond, Scan, results_of
from relgraph.ops.permutation import MatrixTranspose, Transpose, matrix_transpose
from relgraph.ops.reductions import LogSoftmax, Reduction, Softmax
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, broadcast_to
from relgraph.ops.sorting import Argsort, Sort
from relgraph.rewriting.loop_batching import cond_batches, picked, scan_batches

Operands = list[tuple[Variable, Variable | None]]  # a node, and its batch if it depends on one
Rule = Callable[[Variable, Operands, Any], Any]


def batched(
    outputs: Sequence[Variable], batches: dict[Variable, Variable], size: Any
) -> list[Variable]:
    """Return graphs with a leading axis in their inputs and results.

    Parameters
    ----------
    outputs : sequence of Variable
        The graphs.
    batches : dict of Variable to Variable
        The arrays with a leading axis that replace some of their nodes.
    size : int or Variable
        The size of that axis.

    Returns
    -------
    list of Variable
        The results, all with the leading axis, even those that do not depend on the batches.

    Raises
    ------
    DerivativeError
        For an op without a rule, if the size is not static.
    """
    images = dict(batches)
    alike: dict[Variable, Variable] = {}  # what is the same for all entries
    for y in toposort(outputs):
        if y in images or not any([x in images or x in alike for x in y.inputs]):
            continue
        operands = [(alike.get(x, x), images.get(x)) for x in y.inputs]
        if _op(y).reads_shape or all([batch is None for _, batch in operands]):
            alike[y] = _as_it_is(y, operands, size)
            continue
        rule = RULES.get(type(_op(y))) or _one_at_a_time
        images[y] = rule(y, operands, size)
    return [images[y] if y in images else _repeated(alike.get(y, y), size) for y in outputs]


def _op(y: Variable) -> Op:
    assert y.op is not None
    return y.op


def _repeated(x: Variable, size: Any) -> Any:
    return broadcast_to(x, (size, *x.shape))


def _whole(operand: tuple[Variable, Variable | None], size: Any) -> Any:
    """Return the batch of an operand; an operand without one is repeated."""
    x, batch = operand
    return _repeated(x, size) if batch is None else batch


def _padded(operand: tuple[Variable, Variable | None], ndim: int) -> Any:
    """Return an operand whose entries have ``ndim`` axes; new leading ones have size 1."""
    x, batch = operand
    if batch is None:
        return x
    return ExpandDims(tuple(range(-ndim, -x.ndim)))(batch) if x.ndim < ndim else batch


def _as_it_is(y: Variable, operands: Operands, size: Any) -> Any:
    """Apply an op that counts axes from the end."""
    return apply(_op(y), tuple([x if batch is None else batch for x, batch in operands]))


def _elementwise(y: Variable, operands: Operands, size: Any) -> Any:
    return apply(_op(y), tuple([_padded(x, y.ndim) for x in operands]))


def _reduction(y: Variable, operands: Operands, size: Any) -> Any:
    axes, *more = _op(y).params
    if axes is None:
        axes = tuple(range(-y.inputs[0].ndim, 0))
    return apply(type(_op(y))(axes, *more), (_whole(operands[0], size),))


def _transpose(y: Variable, operands: Operands, size: Any) -> Any:
    axes = _op(y).params[0]
    return apply(Transpose((-1 - len(axes), *axes)), (_whole(operands[0], size),))


def _shaped(y: Variable, operands: Operands, size: Any) -> Any:
    """Reshape or broadcast; a size that is not static is an operand."""
    (x, *sizes), shape = operands, _op(y).params[0]
    if any([batch is not None for _, batch in sizes]):
        return _one_at_a_time(y, operands, size)
    whole = _whole(x, size)
    if type(_op(y)) is BroadcastTo:
        whole = _padded((x[0], whole), len(shape))
    static = isinstance(size, int)
    op = type(_op(y))((size if static else None, *shape))
    return apply(op, (whole, *(() if static else (size,)), *[n for n, _ in sizes]))


def _join(y: Variable, operands: Operands, size: Any) -> Any:
    return apply(_op(y), tuple([_whole(x, size) for x in operands]))


def _outer(y: Variable, operands: Operands, size: Any) -> Any:
    left, right = [x if batch is None else batch for x, batch in operands]
    return ExpandDims((-1,))(left) * ExpandDims((-2,))(right)


def _matmul(y: Variable, operands: Operands, size: Any) -> Any:
    """Multiply matrices; a vector is a matrix of one row or column, a batch of them is a matrix."""
    (a, left), (b, right) = operands
    if a.ndim == 2 and b.ndim == 1 and left is None and right is not None:
        return right @ matrix_transpose(a)
    if a.ndim == 1 and b.ndim == 2 and right is None and left is not None:
        return left @ b
    ndim = max(a.ndim, b.ndim, 2)
    product = _matrices(operands[0], -2, ndim) @ _matrices(operands[1], -1, ndim)
    dropped = tuple([axis for axis, x in ((-2, a), (-1, b)) if x.ndim == 1])
    return Squeeze(dropped)(product) if dropped else product


def _matrices(operand: tuple[Variable, Variable | None], axis: int, ndim: int) -> Any:
    """Return an operand whose entries are matrices, or batches of them with ``ndim`` axes."""
    x, batch = operand
    whole = x if batch is None else batch
    if x.ndim == 1:
        whole = ExpandDims((axis,))(whole)
    new = tuple(range(-ndim, -max(x.ndim, 2)))
    return ExpandDims(new)(whole) if new and batch is not None else whole


def _einsum(y: Variable, operands: Operands, size: Any) -> Any:
    labels, result = _op(y).params[0].split("->")
    new = next(c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in labels)
    terms = [
        label if batch is None else new + label
        for label, (_, batch) in zip(labels.split(","), operands, strict=True)
    ]
    whole = [x if batch is None else batch for x, batch in operands]
    return apply(Einsum(",".join(terms) + "->" + new + result), tuple(whole))


def _separate(spec: tuple[Any, ...]) -> bool:
    """Return True if the axes of an advanced key would come before the leading axis."""
    return is_advanced(spec) and advanced_place((FULL, *spec)) == 0


def _index(y: Variable, operands: Operands, size: Any) -> Any:
    (x, *keys), spec = operands, _op(y).params[0]
    if _separate(spec) or any([batch is not None for _, batch in keys]):
        return _one_at_a_time(y, operands, size)
    return apply(Index((FULL, *spec)), (_whole(x, size), *[k for k, _ in keys]))


def _update(y: Variable, operands: Operands, size: Any) -> Any:
    (x, v, *keys), spec = operands, _op(y).params[0]
    if _separate(spec) or any([batch is not None for _, batch in keys]):
        return _one_at_a_time(y, operands, size)
    part = Index(spec)(x[0], *[k for k, _ in keys])
    value = _padded(v, part.ndim)
    return apply(type(_op(y))((FULL, *spec)), (_whole(x, size), value, *[k for k, _ in keys]))


def _system(y: Variable, operands: Operands, size: Any) -> Any:
    """Solve for all right sides of one matrix at once."""
    (a, A), (b, B) = operands
    op = _op(y)
    if A is None and B is not None and b.ndim == 1:
        return matrix_transpose(op(a, matrix_transpose(B)))
    matrices = _whole((a, A), size)
    if b.ndim == 1:
        solved = op(matrices, ExpandDims((-1,))(_whole((b, B), size)))
        return Squeeze((-1,))(solved)
    ndim = max(a.ndim, b.ndim)
    sides = _padded((b, _whole((b, B), size)), ndim)
    return op(_padded((a, matrices), ndim), sides)


def _scan(y: Variable, operands: Operands, size: Any) -> Any:
    return scan_batches(y, operands, size, batched)


def _cond(y: Variable, operands: Operands, size: Any) -> Any:
    batches = cond_batches(y, operands, size, batched)
    return _one_at_a_time(y, operands, size) if batches is None else batches


def _item(y: Variable, operands: Operands, size: Any) -> Any:
    return picked(y, operands[0][1])


def _one_at_a_time(y: Variable, operands: Operands, size: Any) -> Any:
    """Apply an op to each entry."""
    if not isinstance(size, int):
        raise DerivativeError(
            f"{y.op!r} cannot be applied to a batch whose size is not static",
            {"in": y},
            "Give inputs static sizes, or use rg.jvp or rg.vjp for one direction at a time.",
        )
    entries = [
        apply(_op(y), tuple([x if batch is None else batch[i] for x, batch in operands]))
        for i in range(size)
    ]
    if isinstance(y.type, TupleType):
        columns = zip(*map(results_of, entries), strict=True)
        return [Stack(-1 - parts[0].ndim)(*parts) for parts in columns]
    return Stack(-1 - y.ndim)(*entries) if entries else _repeated(0 * y, size)


RULES: dict[type[Op], Rule] = {
    **dict.fromkeys((Elementwise, Cast), _elementwise),
    **dict.fromkeys(
        (
            ExpandDims, Squeeze, MatrixTranspose, Softmax, LogSoftmax, Sort, Argsort, Diag,
            Diagonal, Trace, Tril, Triu, Inv, *Cumulative.__subclasses__(),
        ),
        _as_it_is,
    ),
    **dict.fromkeys(Reduction.__subclasses__(), _reduction),
    **dict.fromkeys((Concatenate, Stack), _join),
    **dict.fromkeys((Reshape, BroadcastTo), _shaped),
    **dict.fromkeys((AddIndex, SetIndex), _update),
    **dict.fromkeys((Solve, SolveTriangular, ChoSolve), _system),
    Transpose: _transpose,
    Outer: _outer,
    Matmul: _matmul,
    Einsum: _einsum,
    Index: _index,
    GetItem: _item,
    Scan: _scan,
    Cond: _cond,
}  # fmt: skip
