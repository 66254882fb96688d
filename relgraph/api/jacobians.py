"""Jacobians, Hessians and their products with vectors, of graphs and of functions of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from relgraph.api import graph_derivatives as graphs
from relgraph.api.differentiation import (
    OnGraph,
    OnInputs,
    directions,
    is_function,
    one_output,
    prepared,
)
from relgraph.api.function_derivatives import Derivative, Options, positions_of
from relgraph.api.gradients import check_no_nodes, one_each
from relgraph.api.graph_derivatives import Nodes
from relgraph.api.linear_programs import at_arguments
from relgraph.api.pytrees import rebuilt
from relgraph.errors import checks_arguments
from relgraph.ir.node import Variable


def _function_jacobian(function: Any, args: Any, kwargs: Any, options: Options) -> Any:
    traced = OnInputs(function, args, kwargs, positions_of(options.argnums, args))
    outputs, wrt = prepared(traced, options.stabilize)
    rows = graphs.jacobians(outputs, wrt, None)
    single = isinstance(options.argnums, int)
    return traced.close(_nested(traced.result, [traced.like_arguments(r, single) for r in rows]))


def _function_hessian(function: Any, args: Any, kwargs: Any, options: Options) -> Any:
    traced = OnInputs(function, args, kwargs, positions_of(options.argnums, args))
    rows = _hessian(one_output(traced), traced.wrt, options.stabilize)
    single = isinstance(options.argnums, int)
    outer: Any = traced.trees[0] if single else tuple(traced.trees)
    return traced.close(_nested(outer, [traced.like_arguments(r, single) for r in rows]))


def _nested(tree: Any, parts: Sequence[Any]) -> Any:
    """Return a container of the structure of another, with containers for its leaves."""
    rest: Iterator[Any] = iter(parts)
    return rebuilt(tree, lambda leaf, name: None if leaf is None else next(rest), "x")


def _hessian(loss: Variable, wrt: Sequence[Variable], stabilize: bool) -> list[Nodes]:
    """Return the second derivatives of a number, forward over reverse."""
    gradient, wrt = _stable_gradient(loss, wrt, stabilize)
    return graphs.jacobians(gradient, wrt, True)


def _stable_gradient(
    loss: Variable, wrt: Sequence[Variable], stabilize: bool
) -> tuple[Nodes, Sequence[Variable]]:
    """Return the gradient of a number, and the nodes of ``wrt`` as they occur in it."""
    graphs.check_loss(loss)
    if stabilize:
        (loss,), wrt = graphs.stable([loss], wrt)
    _, gradient = graphs.gradient(loss, wrt, stabilize=False)
    return gradient, wrt


@checks_arguments
def jacobian(
    outputs: Any, wrt: Any = None, *, argnums: int | Sequence[int] = 0, stabilize: bool = True
) -> Any:
    """Return all derivatives of arrays: of graphs, or of a Python function of arrays.

    Parameters
    ----------
    outputs : Variable or container of Variable, or callable
        Graphs of floats, or a function of arrays that returns arrays.
    wrt : Variable or container of Variable
        For a graph: the nodes to differentiate with respect to; floats.
    argnums : int or sequence of int
        For a function: the positions of the arguments to differentiate with respect to.
    stabilize : bool
        As in :func:`relgraph.grad`.

    Returns
    -------
    Variable or container of Variable, or callable
        For an output of shape ``s`` and a node of shape ``t``, an array of shape ``(*s, *t)``.
        The result has the structure of the outputs, with the structure of ``wrt`` for each output.
        For a function, a function of the same arguments that returns the result.

    Raises
    ------
    ArgumentError
        For a missing ``wrt``, or arguments that do not apply.
    DerivativeError
        For integers, for a node that is not in the graph, for an op without a derivative, and where
        an op needs a static number of elements.

    Notes
    -----
    Forward mode pushes all unit vectors of ``wrt`` at once, or reverse mode pulls back those of the
    outputs: whichever are fewer.  The graph does not grow with the number of elements, but the
    arrays do.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> rg.jacobian(lambda x: np.stack([x[0] * x[1], x[1]]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [0., 1.]])
    """
    if is_function(outputs):
        check_no_nodes(wrt, "jacobian")
        return Derivative(_function_jacobian, outputs, Options(argnums, stabilize=stabilize))
    graph = OnGraph(outputs, wrt, "jacobian")
    values, inputs = prepared(graph, stabilize)
    rows = graphs.jacobians(values, inputs, None)
    return _nested(outputs, [graph.like_wrt(row) for row in rows])


@checks_arguments
def hessian(
    loss: Any, wrt: Any = None, *, argnums: int | Sequence[int] = 0, stabilize: bool = True
) -> Any:
    """Return the second derivatives of a number: of a graph, or of a Python function of arrays.

    Parameters
    ----------
    loss : Variable, float[], or callable
        A graph, or a function of arrays that returns a number.
    wrt, argnums, stabilize
        As in :func:`jacobian`.

    Returns
    -------
    Variable or container of Variable, or callable
        The Jacobian of the gradient: for nodes of shapes ``s`` and ``t``, an array of shape
        ``(*s, *t)``, in the structure of ``wrt`` within that of ``wrt``.

    Raises
    ------
    ArgumentError
        For a loss that is a container.
    DerivativeError
        As for :func:`relgraph.grad` and :func:`jacobian`.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> rg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    array([[6., 4.],
           [4., 0.]])
    """
    if is_function(loss):
        check_no_nodes(wrt, "hessian")
        return Derivative(_function_hessian, loss, Options(argnums, stabilize=stabilize))
    graph = OnGraph(loss, wrt, "hessian")
    rows = _hessian(graph.loss, graph.wrt, stabilize)
    return _nested(wrt, [graph.like_wrt(row) for row in rows])


def _function_hvp(function: Any, stabilize: bool, primals: Any, vectors: Any) -> Any:
    traced = OnInputs(function, primals, {}, range(len(primals)))
    nodes = directions(vectors, traced.wrt, "tangent", traced.trees)
    products = _hvp(one_output(traced), traced.wrt, nodes, stabilize)
    return traced.close(traced.like_arguments(products, single=False))


def _hvp(loss: Variable, wrt: Sequence[Variable], vectors: Nodes, stabilize: bool) -> Nodes:
    gradient, wrt = _stable_gradient(loss, wrt, stabilize)
    return graphs.pushed_forward(gradient, wrt, vectors)


@checks_arguments
def hvp(loss: Any, wrt: Any, vectors: Any, *, stabilize: bool = True) -> Any:
    """Return the product of a Hessian and a vector, without the Hessian: forward over reverse.

    Parameters
    ----------
    loss : Variable, float[], or callable
        A graph, or a function of arrays that returns a number.
    wrt : Variable or container of Variable, or sequence of array
        For a graph, the nodes to differentiate with respect to; for a function, its arguments.
    vectors : like ``wrt``
        An array or graph for each, in its shape.
    stabilize : bool
        As in :func:`relgraph.grad`.

    Returns
    -------
    like ``wrt``
        The derivative of the gradient along the vectors; for a function, a tuple with one entry for
        each argument.

    Raises
    ------
    ArgumentError, ShapeError
        For vectors that do not fit.
    DerivativeError
        As for :func:`relgraph.grad`.

    References
    ----------
    B. A. Pearlmutter, Fast exact multiplication by the Hessian, Neural Computation 6 (1994).

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> rg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    (array([ 6., 12.]),)
    """
    if is_function(loss):
        primals, along = one_each(wrt, "primals"), one_each(vectors, "vectors")
        return at_arguments(partial(_function_hvp, loss, stabilize), primals, along)
    graph = OnGraph(loss, wrt, "hvp")
    nodes = directions(vectors, graph.wrt, "tangent", graph.tree)
    return graph.like_wrt(_hvp(graph.loss, graph.wrt, nodes, stabilize))
