"""Derivatives of loops and choices: loops and choices over the derivatives of their bodies.

The tangents of what a scan carries are carried beside it.  Its pullback is a scan in the other
direction, which carries cotangents; it reads what the scan carried into each iteration, and
computes an iteration again.

References
----------
A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., 2008, chapters 3 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relgraph.derivatives.checkpoints import in_segments, needs_checkpoints
from relgraph.errors import DerivativeError
from relgraph.ir.graph import substitute, toposort
from relgraph.ir.node import Constant, Input, Variable, apply, fresh_input
from relgraph.ir.types import TensorType
from relgraph.numpy.creation import zeros_like
from relgraph.ops.loops import Body, Cond, Scan, WhileLoop, closed, results_of

Nodes = list[Variable]
Parts = list[Variable | None]
Forward = Callable[[Sequence[Variable], dict[Variable, Variable]], Parts]
Reverse = Callable[[Nodes, Nodes, Nodes], Parts]


def tangents(node: Variable, along: Sequence[Variable | None], jvp: Forward) -> Parts:
    """Return the tangents of the results of a loop or a choice.

    Parameters
    ----------
    node : Variable
        The application.
    along : sequence of Variable or None
        The tangents of its operands; None for one that does not vary.
    jvp : callable
        Returns the tangents of graphs, from those of nodes.

    Returns
    -------
    list of Variable or None
        None for a result that does not vary.
    """
    op: Any = node.op
    if isinstance(op, Cond):
        return _cond_tangents(node, along, jvp)
    first = 1 if isinstance(op, Scan) else 0
    body: Body = op.body
    inputs, n = body.graph.inputs, op.carries
    known = list(along[first:])
    varies = _varying(body, n, first, [t is not None for t in known])
    own: Parts = [
        fresh_input("t", x.type) if v else None for x, v in zip(inputs[first:], varies, strict=True)
    ]
    places: dict[Variable, Variable] = {
        x: t for x, t in zip(inputs[first:], own, strict=True) if t is not None
    }
    results = jvp(body.graph.outputs, places)
    moving = [i for i in range(n) if varies[i]]
    stacked = [i for i in range(n, len(results)) if results[i] is not None]
    starts = [_or_zeros(known[i], node.inputs[first + i]) for i in moving]
    following = [_or_zeros(results[i], body.graph.outputs[i]) for i in moving]
    if isinstance(op, WhileLoop):
        return _while_tangents(node, own, known, (moving, starts, following))
    m = op.sequences
    slices = [t for t in own[n : n + m] if t is not None]
    rest = [t for t in own[n + m :] if t is not None]
    new_inputs = [
        *inputs[: 1 + n], *[own[i] for i in moving],
        *inputs[1 + n : 1 + n + m], *slices, *inputs[1 + n + m :], *rest,
    ]  # fmt: skip
    new_outputs = [*body.graph.outputs[:n], *following, *[results[i] for i in stacked]]
    kinds = (n + len(moving), m + len(slices))
    operands = [
        *node.inputs[: 1 + n], *starts,
        *node.inputs[1 + n : 1 + n + m], *[t for t in known[n : n + m] if t is not None],
        *node.inputs[1 + n + m :], *[t for t in known[n + m :] if t is not None],
    ]  # fmt: skip
    values = _scan(new_inputs, new_outputs, kinds, (op.size, op.reverse), operands)
    images: Parts = [None] * len(results)
    for k, i in enumerate(moving):
        images[i] = values[n + k]
    for k, i in enumerate(stacked):
        images[i] = values[n + len(moving) + k]
    return images


def _while_tangents(
    node: Variable,
    own: Parts,
    known: Sequence[Variable | None],
    moved: tuple[list[int], Nodes, Nodes],
) -> Parts:
    op: Any = node.op
    moving, starts, following = moved
    n, inputs = op.carries, op.body.graph.inputs
    rest = [t for t in own[n:] if t is not None]
    new: Any = [*inputs[:n], *[own[i] for i in moving], *inputs[n:], *rest]
    graphs = [(new, op.test.graph.outputs), (new, [*op.body.graph.outputs, *following])]
    bodies, others = closed(graphs, [f"x_{i}" for i in range(len(new))])
    operands = [
        *node.inputs[:n],
        *starts,
        *node.inputs[n:],
        *[t for t in known[n:] if t is not None],
    ]
    values = results_of(WhileLoop(*bodies, n + len(moving))(*operands, *others))
    images: Parts = [None] * n
    for k, i in enumerate(moving):
        images[i] = values[n + k]
    return images


def _cond_tangents(node: Variable, along: Sequence[Variable | None], jvp: Forward) -> Parts:
    op: Any = node.op
    inputs = op.then.graph.inputs
    own = [None if t is None else fresh_input("t", t.type) for t in along[1:]]
    places = {x: t for x, t in zip(inputs, own, strict=True) if t is not None}
    sides = [jvp(body.graph.outputs, dict(places)) for body in (op.then, op.other)]
    moving = [i for i, pair in enumerate(zip(*sides, strict=True)) if pair != (None, None)]
    graphs: Any = [
        (
            [*inputs, *places.values()],
            [_or_zeros(side[i], body.graph.outputs[i]) for i in moving],
        )
        for side, body in zip(sides, (op.then, op.other), strict=True)
    ]
    given = [t for t in along[1:] if t is not None]
    values = _chosen(graphs, [*node.inputs, *given])
    images: Parts = [None] * len(op.then.types)
    for i, value in zip(moving, values, strict=True):
        images[i] = value
    return images


def cotangents(
    node: Variable, above: Sequence[Variable | None], varies: Sequence[bool], vjp: Reverse
) -> Parts:
    """Return the cotangents of the operands of a loop or a choice.

    Parameters
    ----------
    node : Variable
        The application.
    above : sequence of Variable or None
        The cotangents of its results; None for zeros.
    varies : sequence of bool
        Which operands vary.
    vjp : callable
        Returns the cotangents of nodes, from those of graphs.

    Returns
    -------
    list of Variable or None
        None for an operand that does not vary.

    Raises
    ------
    DerivativeError
        For ``while_loop``, since nobody knows how many iterations there will be.
    """
    op: Any = node.op
    if isinstance(op, Cond):
        return _cond_cotangents(node, above, varies, vjp)
    if isinstance(op, WhileLoop):
        raise DerivativeError(
            "while_loop has no derivative in reverse mode, because the number of its iterations, "
            "whose values are to be kept, is not known",
            {"loop": node},
            "Use rg.scan or rg.fori_loop, or rg.jvp for the derivative along a direction.",
        )
    if needs_checkpoints(node):
        return _checkpointed(node, above, varies, vjp)
    return _scan_cotangents(node, above, varies, vjp)


def _scan_cotangents(
    node: Variable, above: Sequence[Variable | None], varies: Sequence[bool], vjp: Reverse
) -> Parts:
    op: Any = node.op
    body, n, m = op.body, op.carries, op.sequences
    inputs, outputs = body.graph.inputs, body.graph.outputs
    moves = _varying(body, n, 1, varies[1:])
    carries = [i for i in range(n) if moves[i]]
    wrt = [i for i in range(n, len(inputs) - 1) if moves[i]]  # slices, then the rest
    slices = [i for i in wrt if i < n + m]
    rest = [i for i in wrt if i >= n + m]
    kept = _kept(node)
    # One iteration, from the last to the first.
    lambdas = [fresh_input("g", inputs[1 + i].type) for i in carries]
    totals = [fresh_input("total", inputs[1 + i].type) for i in rest]
    stacked = [i for i in range(n, len(outputs)) if above[i] is not None]
    seeds = [fresh_input("g", outputs[i].type) for i in stacked]
    sources = [outputs[i] for i in (*carries, *stacked)]
    parts = vjp(sources, [*lambdas, *seeds], [inputs[1 + i] for i in (*carries, *wrt)])
    back = {
        i: _or_zeros(part, inputs[1 + i]) for i, part in zip((*carries, *wrt), parts, strict=True)
    }
    sums = [total if parts[len(carries) + len(slices) + k] is None else total + back[i]
            for k, (i, total) in enumerate(zip(rest, totals, strict=True))]  # fmt: skip
    new_inputs = [
        inputs[0], *lambdas, *totals, *inputs[1 : 1 + n + m], *seeds, *inputs[1 + n + m :]
    ]  # fmt: skip
    new_outputs = [*[back[i] for i in carries], *sums, *[back[i] for i in slices]]
    operands = [
        node.inputs[0],
        *[_or_zeros(above[i], node.inputs[1 + i]) for i in carries],
        *[zeros_like(node.inputs[1 + i]) for i in rest],
        *kept, *node.inputs[1 + n : 1 + n + m], *[above[i] for i in stacked],
        *node.inputs[1 + n + m :],
    ]  # fmt: skip
    kinds = (len(carries) + len(rest), n + m + len(stacked))
    values = _scan(new_inputs, new_outputs, kinds, (op.size, not op.reverse), operands)
    results: Parts = [None] * len(node.inputs)
    for i, value in zip((*carries, *rest, *slices), values, strict=True):
        if varies[1 + i]:
            results[1 + i] = value
    return results


def _checkpointed(
    node: Variable, above: Sequence[Variable | None], varies: Sequence[bool], vjp: Reverse
) -> Parts:
    """Return cotangents by a scan of scans, of stand-ins: an operand may depend on others."""
    holes: Nodes = [
        x if isinstance(x, Constant) else fresh_input("operand", x.type) for x in node.inputs
    ]
    values = in_segments(apply(node.op, tuple(holes)))  # type: ignore[arg-type]
    pairs = [(y, g) for y, g in zip(values, above, strict=True) if g is not None]
    wrt = [x for x, v in zip(holes, varies, strict=True) if v]
    parts = vjp([y for y, _ in pairs], [g for _, g in pairs], wrt)
    images = dict(zip(holes, node.inputs, strict=True))
    found = iter([None if x is None else substitute(x, images)[0] for x in parts])
    return [next(found) if v else None for v in varies]


def _kept(node: Variable) -> Nodes:
    """Return what a scan carries into each iteration, stacked."""
    op: Any = node.op
    n = op.carries
    graph = op.body.graph
    outputs = [*graph.outputs, *graph.inputs[1 : 1 + n]]
    kinds = (n, op.sequences)
    values = _scan(graph.inputs, outputs, kinds, (op.size, op.reverse), node.inputs)
    return values[len(graph.outputs) :]


def _cond_cotangents(
    node: Variable, above: Sequence[Variable | None], varies: Sequence[bool], vjp: Reverse
) -> Parts:
    op: Any = node.op
    inputs = op.then.graph.inputs
    wrt = [i for i, v in enumerate(varies[1:]) if v and inputs[i].dtype.kind == "f"]
    stacked = [i for i, g in enumerate(above) if g is not None]
    seeds = [fresh_input("g", node.type.items[i]) for i in stacked]
    graphs: Any = []
    for body in (op.then, op.other):
        sources = [body.graph.outputs[i] for i in stacked]
        parts = vjp(sources, list(seeds), [inputs[i] for i in wrt])
        backs = [_or_zeros(part, inputs[i]) for i, part in zip(wrt, parts, strict=True)]
        graphs.append(([*inputs, *seeds], backs))
    values = _chosen(graphs, [*node.inputs, *[above[i] for i in stacked]])
    results: Parts = [None] * len(node.inputs)
    for i, value in zip(wrt, values, strict=True):
        results[1 + i] = value
    return results


def _varying(body: Body, carries: int, first: int, varies: Sequence[bool]) -> list[bool]:
    """Return which inputs of a body vary, those that it carries from later iterations on too."""
    inputs, outputs = body.graph.inputs[first:], body.graph.outputs
    order = toposort(outputs)
    moves = [v and x.dtype.kind == "f" for v, x in zip(varies, inputs, strict=True)]
    while True:
        moved: set[Variable] = {x for x, v in zip(inputs, moves, strict=True) if v}
        for y in order:
            is_float = not isinstance(y.type, TensorType) or y.type.dtype.kind == "f"
            if is_float and not moved.isdisjoint(y.inputs):
                moved.add(y)
        new = [i for i in range(carries) if outputs[i] in moved and not moves[i]]
        new = [i for i in new if inputs[i].dtype.kind == "f"]
        if not new:
            return moves
        for i in new:
            moves[i] = True


def _or_zeros(x: Variable | None, like: Variable) -> Variable:
    return zeros_like(like) if x is None else x


def _scan(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    kinds: tuple[int, int],
    options: tuple[Any, bool],
    operands: Sequence[Any],
) -> Nodes:
    """Return the results of a scan of which all inputs of the body are given."""
    n, m = kinds
    names = ["index", *(f"carry_{i}" for i in range(n)), *(f"slice_{i}" for i in range(m))]
    names += [f"operand_{i}" for i in range(len(inputs) - len(names))]
    (body,), others = closed([(inputs, outputs)], names)
    return results_of(Scan(body, n, m, *options)(*operands, *others))


def _chosen(graphs: Sequence[tuple[Sequence[Input], Nodes]], operands: Sequence[Any]) -> Nodes:
    bodies, others = closed(graphs, [f"x_{i}" for i in range(len(graphs[0][0]))], whole=True)
    return results_of(Cond(*bodies)(*operands, *others))


__all__ = ["cotangents", "tangents"]
