"""Batches of loops: one loop whose body computes the whole batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relgraph.ir.node import Variable, apply, fresh_input
from relgraph.ir.op import GetItem
from relgraph.ir.types import TensorType
from relgraph.ops.loops import Body, Cond, Scan, closed, results_of
from relgraph.ops.permutation import moveaxis
from relgraph.ops.shape import broadcast_to

Batch = Callable[[Sequence[Variable], dict[Variable, Variable], Any], list[Variable]]
Operands = Sequence[tuple[Variable, Variable | None]]


def scan_batches(y: Variable, operands: Operands, size: Any, batched: Batch) -> list[Variable]:
    """Return the batches of the results of a scan.

    Parameters
    ----------
    y : Variable
        The application.
    operands : sequence of (Variable, Variable or None)
        Its operands, each with its batch if it has one.
    size : int or Variable
        The size of the leading axis of batches.
    batched : callable
        Returns the batches of graphs.

    Returns
    -------
    list of Variable
        Each with the leading axis.
    """
    op: Any = y.op
    body: Body = op.body
    n, m = op.carries, op.sequences
    inputs = body.graph.inputs
    varies = [batch is not None for _, batch in operands]
    while True:  # what is carried varies if what it becomes does
        holes, places = _holes(inputs, varies, size)
        results = batched(body.graph.outputs, places, size)
        moved = _depends(body, {x for x, v in zip(inputs, varies, strict=True) if v})
        new = [i for i in range(n) if moved[i] and not varies[1 + i]]
        if not new:
            break
        for i in new:
            varies[1 + i] = True
    given = []
    for i, (x, batch) in enumerate(operands):
        if not varies[i]:
            given.append(x)
        elif batch is None:
            given.append(_repeated(x, size))
        else:
            given.append(moveaxis(batch, 0, 1) if n < i <= n + m else batch)
    outputs = [
        results[i] if i >= n or varies[1 + i] else body.graph.outputs[i]
        for i in range(len(results))
    ]
    names = [x.name for x in inputs]
    (new_body,), others = closed([(holes, outputs)], names)
    values = results_of(Scan(new_body, n, m, op.size, op.reverse)(*given, *others))
    return [
        moveaxis(x, 1, 0) if i >= n else x if varies[1 + i] else _repeated(x, size)
        for i, x in enumerate(values)
    ]


def cond_batches(
    y: Variable, operands: Operands, size: Any, batched: Batch
) -> list[Variable] | None:
    """Return the batches of the results of a choice, or None if each entry makes its own.

    Parameters
    ----------
    y, operands, size, batched
        As in :func:`scan_batches`.
    """
    (test, batch), *rest = operands
    if batch is not None:
        return None
    op: Any = y.op
    varies = [b is not None for _, b in rest]
    holes, places = _holes(op.then.graph.inputs, varies, size)
    graphs = [(holes, batched(body.graph.outputs, places, size)) for body in (op.then, op.other)]
    bodies, others = closed(graphs, [x.name for x in op.then.graph.inputs], whole=True)
    given = [x if b is None else b for x, b in rest]
    return results_of(Cond(*bodies)(test, *given, *others))


def picked(y: Variable, batches: Any) -> Variable:
    """Return the batch of one result of an op that has several."""
    if isinstance(batches, list):
        return batches[y.op.params[0]]  # type: ignore[union-attr, no-any-return]
    return apply(GetItem(y.op.params[0]), (batches,))  # type: ignore[union-attr]


def _holes(
    inputs: Sequence[Variable], varies: Sequence[bool], size: Any
) -> tuple[list[Any], dict[Variable, Variable]]:
    """Return inputs with the leading axis where they vary, and which of a body they replace."""
    dim = size if isinstance(size, int) else None
    holes = [
        fresh_input("x", TensorType(x.dtype, (dim, *x.type.shape))) if v else x
        for x, v in zip(inputs, varies, strict=True)
    ]
    return holes, {x: h for x, h, v in zip(inputs, holes, varies, strict=True) if v}


def _depends(body: Body, moved: set[Variable]) -> list[bool]:
    for x in body.graph:
        if not moved.isdisjoint(x.inputs):
            moved.add(x)
    return [x in moved for x in body.graph.outputs]


def _repeated(x: Variable, size: Any) -> Any:
    return broadcast_to(x, (size, *x.shape))


__all__ = ["cond_batches", "picked", "scan_batches"]
