"""Derivatives of lists of nodes with respect to lists of nodes: checks, stable forms, zeros."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from relgraph.api.rewrite import selected
from relgraph.derivatives import forward, reverse
from relgraph.errors import ArgumentError, DerivativeError, ShapeError, count_of, kind_of
from relgraph.ir.graph import substitute, toposort
from relgraph.ir.infix import brief
from relgraph.ir.node import Input, Variable, as_variable, constant, fresh_input
from relgraph.ir.types import TensorType
from relgraph.numpy.creation import zeros_like
from relgraph.ops.elementwise import cast
from relgraph.ops.linalg.structured import eye
from relgraph.ops.permutation import moveaxis
from relgraph.ops.shape import reshape
from relgraph.rewriting.batching import batched
from relgraph.rewriting.rewriters import map_graph

Nodes = list[Variable]


def check_floats(x: Variable, role: str) -> None:
    """Raise DerivativeError unless a node holds floats."""
    if isinstance(x.type, TensorType) and x.type.dtype.kind == "f":
        return
    raise DerivativeError(
        f"{role} holds {x.type}, and only floats have derivatives",
        {"node": f"{brief(x, 24)} : {x.type}"},
        "Declare the input with dtype='float64', pass 2.0 in place of 2, or convert an array with "
        ".astype('float64').",
    )


def check_wrt(wrt: Sequence[Any], outputs: Sequence[Variable]) -> None:
    """Raise an error unless all of ``wrt`` are nodes of floats in the graph of the outputs."""
    order = toposort(outputs)
    nodes = set(order)
    for x in wrt:
        if not isinstance(x, Variable):
            raise ArgumentError(
                f"derivatives of a graph are with respect to its nodes, not to {kind_of(x)}",
                {"wrt": f"{x!r:.60}"},
                "Pass inputs such as x = rg.vector('x'), other nodes, or containers of them.",
            )
        check_floats(x, "the node to differentiate with respect to")
        if x not in nodes:
            inputs = ", ".join([str(y) for y in order if isinstance(y, Input)])
            raise DerivativeError(
                f"{brief(x, 24)} is not a node of the graph to differentiate",
                {"node": f"{brief(x, 24)} : {x.type}", "inputs": inputs or "none"},
                "Pass a node that the graph is built from; an input is the same only with the same "
                "name, type and facts.",
            )


def check_loss(loss: Variable) -> None:
    """Raise DerivativeError unless a node is a number of floats."""
    check_floats(loss, "the loss")
    if loss.ndim:
        raise DerivativeError(
            f"a gradient is of a number, and the loss has {count_of(loss.ndim, 'dimension')}",
            {"loss": f"{brief(loss, 24)} : {loss.type}"},
            "Reduce it first, for instance with rg.sum(loss); rg.vjp takes a cotangent for the "
            "loss, and rg.jacobian returns all derivatives.",
        )


def stable(outputs: Sequence[Variable], wrt: Sequence[Variable]) -> tuple[Nodes, Nodes]:
    """Return outputs, and the nodes to differentiate with respect to, in numerically stable forms.

    The derivative of a stable form is stable; that of ``log(1 + exp(x))`` as written is NaN at
    1000.  An input takes the place of each inner node of ``wrt``, so that rewriting keeps the node.
    """
    rewriter = selected("stabilization")[0]
    holes = {x: fresh_input("wrt", x.type) for x in wrt if not isinstance(x, Input)}
    if not holes:
        return list(map_graph(list(outputs), rewriter)), list(wrt)
    inner = [x for x in toposort(outputs) if x in holes]
    parts = [*outputs, *[_below(x, holes) for x in inner]]
    cut = map_graph(list(substitute(outputs, holes)) + parts[len(outputs) :], rewriter)
    images: dict[Variable, Variable] = {}
    for x, definition in zip(inner, cut[len(outputs) :], strict=True):
        (images[holes[x]],) = substitute(definition, images)
    return (
        list(substitute(cut[: len(outputs)], images)),
        [images[holes[x]] if x in holes else x for x in wrt],
    )


def _below(x: Variable, holes: dict[Variable, Input]) -> Variable:
    """Return a node with holes in place of the other nodes below it."""
    (node,) = substitute(x, {y: hole for y, hole in holes.items() if y is not x})
    return node


def gradient(loss: Variable, wrt: Sequence[Variable], stabilize: bool) -> tuple[Variable, Nodes]:
    """Return a number in the form that was differentiated, and its gradient."""
    check_loss(loss)
    if stabilize:
        (loss,), wrt = stable([loss], wrt)
    return loss, pulled_back([loss], [constant(1, loss.dtype)], wrt)


def pulled_back(outputs: Nodes, cotangents: Nodes, wrt: Sequence[Variable]) -> Nodes:
    """Return the cotangents of nodes, zeros where they have no influence."""
    parts = reverse.vjp(outputs, cotangents, wrt)
    return [zeros_like(x) if g is None else g for g, x in zip(parts, wrt, strict=True)]


def pushed_forward(outputs: Nodes, wrt: Sequence[Variable], tangents: Nodes) -> Nodes:
    """Return the tangents of outputs, zeros where they do not vary."""
    parts = forward.jvp(outputs, dict(zip(wrt, tangents, strict=True)))
    return [zeros_like(y) if t is None else t for t, y in zip(parts, outputs, strict=True)]


def direction(value: Any, x: Variable, role: str) -> Variable:
    """Return a tangent or a cotangent as a node of the shape and dtype of another."""
    node = as_variable(value, [x.dtype])
    sizes = zip(node.type.shape, x.type.shape, strict=False)
    fits = node.ndim == x.ndim and all([_may_be_equal(a, b) for a, b in sizes])
    if not fits:
        raise ShapeError(
            f"the {role} has another shape than its node",
            {role: node.type, "node": f"{brief(x, 24)} : {x.type}"},
            f"Pass a {role} in the shape of the node, for instance rg.ones_like(x).",
        )
    return node if node.dtype == x.dtype else cast(node, x.dtype.name)


def _may_be_equal(a: Any, b: Any) -> bool:
    """Return True if two sizes are equal, or one is unknown and no size is to be stretched."""
    return a == b or (1 not in (a, b) and not (_static(a) and _static(b)))


def _static(size: Any) -> bool:
    return isinstance(size, int)


def jacobians(outputs: Nodes, wrt: Sequence[Variable], forwards: bool | None) -> list[Nodes]:
    """Return the derivatives of each output with respect to each node.

    Parameters
    ----------
    outputs, wrt : sequence of Variable
        Floats.
    forwards : bool or None
        Whether to push unit vectors forward or pull them back; None for whichever are fewer.

    Returns
    -------
    list of list of Variable
        Each in the shape of the output and then of the node.
    """
    if forwards is None:
        sizes = [_static_size(x) for x in wrt], [_static_size(y) for y in outputs]
        n, m = [None if None in many else sum(filter(None, many)) for many in sizes]
        forwards = n is not None and (m is None or n < m)
    if forwards:
        columns = [_columns(outputs, x) for x in wrt]
        return [list(row) for row in zip(*columns, strict=True)]
    return [_rows(y, wrt) for y in outputs]


def _static_size(x: Variable) -> int | None:
    return prod(x.type.shape) if all(map(_static, x.type.shape)) else None


def _units(x: Variable) -> tuple[Any, Variable]:
    """Return the number of elements of a node, and all unit vectors in its shape."""
    size: Any = 1
    for n in x.shape:
        size = size * n
    return size, reshape(eye(size, dtype=x.dtype.name), (size, *x.shape))


def _rows(y: Variable, wrt: Sequence[Variable]) -> Nodes:
    size, units = _units(y)
    g = fresh_input("g", y.type)
    parts = pulled_back([y], [g], wrt)
    rows = batched(parts, {g: units}, size)
    return [reshape(r, (*y.shape, *x.shape)) for r, x in zip(rows, wrt, strict=True)]


def _columns(outputs: Nodes, x: Variable) -> Nodes:
    size, units = _units(x)
    t = fresh_input("t", x.type)
    tangents = pushed_forward(outputs, [x], [t])
    columns = batched(tangents, {t: units}, size)
    return [
        reshape(moveaxis(c, 0, -1), (*y.shape, *x.shape))
        for c, y in zip(columns, outputs, strict=True)
    ]
