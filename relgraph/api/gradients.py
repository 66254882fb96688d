"""``rg.grad`` and its relatives: first derivatives of graphs and of Python functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from relgraph.api import graph_derivatives as graphs
from relgraph.api.differentiation import (
    OnGraph,
    OnInputs,
    directions,
    holds_graphs,
    is_function,
    one_output,
    prepared,
)
from relgraph.api.function_derivatives import Derivative, Options, positions_of
from relgraph.api.linear_programs import at_arguments, linear_program
from relgraph.errors import ArgumentError, checks_arguments, kind_of
from relgraph.ir.dispatch import is_tracing


def _function_gradient(function: Any, args: Any, kwargs: Any, options: Options) -> Any:
    argnums, has_aux = options.argnums, options.has_aux
    traced = OnInputs(function, args, kwargs, positions_of(argnums, args), has_aux)
    loss, parts = graphs.gradient(one_output(traced), traced.wrt, options.stabilize)
    gradients = traced.like_arguments(parts, isinstance(argnums, int))
    if options.with_value:
        value = (loss, traced.aux) if has_aux else loss
        return traced.close((value, gradients))
    return traced.close((gradients, traced.aux) if has_aux else gradients)


def _of_loss(loss: Any, wrt: Any, options: Options) -> Any:
    """Return the gradient of a function, as a function; or of a graph."""
    name = "value_and_grad" if options.with_value else "grad"
    if is_function(loss):
        check_no_nodes(wrt, name)
        return Derivative(_function_gradient, loss, options)
    graph = OnGraph(loss, wrt, name)
    value, parts = graphs.gradient(graph.loss, graph.wrt, options.stabilize)
    gradients = graph.like_wrt(parts)
    return (graph.wrapped([value])[0], gradients) if options.with_value else gradients


def check_no_nodes(wrt: Any, name: str) -> None:
    """Raise ArgumentError if the call passes nodes to differentiate by along with a function."""
    if wrt is not None:
        raise ArgumentError(
            f"rg.{name} of a function takes positions of arguments, not {kind_of(wrt)}",
            fix=f"Write rg.{name}(f, argnums={wrt if isinstance(wrt, int | tuple) else 0}).",
        )


@checks_arguments
def grad(
    loss: Any,
    wrt: Any = None,
    *,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    stabilize: bool = True,
) -> Any:
    """Return the gradient of a number: of a graph, or of a Python function of arrays.

    Parameters
    ----------
    loss : Variable, float[], or callable
        A graph, or a function of arrays that returns a number.
    wrt : Variable or container of Variable
        For a graph: the nodes to differentiate with respect to; floats.
    argnums : int or sequence of int
        For a function: the positions of the arguments to differentiate with respect to, which
        are arrays of floats, Python floats, or containers of them.
    has_aux : bool
        For a function: whether it returns a pair ``(loss, aux)``.  The second part is returned
        beside the gradient.
    stabilize : bool
        Whether to rewrite the graph to numerically stable forms first, since the derivative of
        ``log(1 + exp(x))`` as written is NaN at 1000.

    Returns
    -------
    Variable or container of Variable, or callable
        For a graph, the gradient in the structure of ``wrt``, each part in the shape of its node.
        For a function, a function of the same arguments that returns the gradient; with several
        ``argnums``, a tuple of gradients.

    Raises
    ------
    ArgumentError
        For a missing ``wrt``, or arguments that do not apply.
    DerivativeError
        For a loss with dimensions, for integers, for a node that is not in the graph, and for an op
        without a derivative.

    Notes
    -----
    An argument or input without influence has zeros for its gradient.  ``docs/derivatives.md``
    lists the subgradients at points where a function has no derivative.

    References
    ----------
    J. R. Magnus and H. Neudecker, Matrix Differential Calculus, 3rd ed., 2019.
    A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., 2008, chapter 3.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x = rg.vector("x", 3)
    >>> rg.rewrite_graph(rg.grad(rg.sum(x * rg.sin(x)), x))
    sin(x) + x * cos(x)
    >>> rg.grad(lambda x, y: np.sum(x**2 * y), argnums=(0, 1))(np.array([1.0, 2.0]), 3.0)
    (array([ 6., 12.]), np.float64(5.0))
    """
    return _of_loss(loss, wrt, Options(argnums, has_aux, stabilize))


@checks_arguments
def value_and_grad(
    loss: Any,
    wrt: Any = None,
    *,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    stabilize: bool = True,
) -> Any:
    """Return a number and its gradient, which share what both need.

    Parameters
    ----------
    loss, wrt, argnums, has_aux, stabilize
        As in :func:`grad`.

    Returns
    -------
    tuple, or callable
        The loss, in the form that was differentiated, and its gradient; with ``has_aux``,
        ``((loss, aux), gradient)``.  For a function, a function that returns them.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> f = rg.value_and_grad(lambda x: np.sum(x**2))
    >>> f(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    return _of_loss(loss, wrt, Options(argnums, has_aux, stabilize, True))


def _function_jvp(function: Any, stabilize: bool, primals: Any, tangents: Any) -> Any:
    traced = OnInputs(function, primals, {}, range(len(primals)))
    nodes = directions(tangents, traced.wrt, "tangent", traced.trees)
    outputs, wrt = prepared(traced, stabilize)
    pushed = graphs.pushed_forward(outputs, wrt, nodes)
    return traced.close((traced.like_result(outputs), traced.like_result(pushed)))


@checks_arguments
def jvp(outputs: Any, wrt: Any, tangents: Any, *, stabilize: bool = True) -> Any:
    """Return a value and its derivative along a direction, by forward mode.

    Parameters
    ----------
    outputs : Variable or container of Variable, or callable
        Graphs of floats, or a function of arrays that returns arrays.
    wrt : Variable or container of Variable, or sequence of array
        For a graph, the nodes to differentiate with respect to; for a function, its arguments.
    tangents : like ``wrt``
        The direction: an array or graph for each, in its shape.
    stabilize : bool
        As in :func:`grad`.

    Returns
    -------
    tuple
        The outputs, in the form that was differentiated, and their tangents, both in the structure
        of the outputs.

    Raises
    ------
    ArgumentError, ShapeError
        For tangents that do not fit.
    DerivativeError
        For integers, for a node that is not in the graph, and for an op without a derivative.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x, t = rg.vectors("x t", 3)
    >>> rg.jvp(rg.sin(x), x, t)
    (sin(x), cos(x) * t)
    >>> rg.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    if is_function(outputs):
        primals, along = one_each(wrt, "primals"), one_each(tangents, "tangents")
        return at_arguments(partial(_function_jvp, outputs, stabilize), primals, along)
    graph = OnGraph(outputs, wrt, "jvp")
    nodes = directions(tangents, graph.wrt, "tangent", graph.tree)
    values, inputs = prepared(graph, stabilize)
    return graph.like_outputs(values), graph.like_outputs(
        graphs.pushed_forward(values, inputs, nodes)
    )


def one_each(values: Any, name: str) -> tuple[Any, ...]:
    """Return a sequence with one value for each argument as a tuple, or raise ArgumentError."""
    if not isinstance(values, tuple | list):
        raise ArgumentError(
            f"the {name} of a function come in a tuple, one for each argument, not in "
            f"{kind_of(values)}",
            fix=f"Write ({name[:-1]},) for a function of one argument.",
        )
    return tuple(values)


def _linear(
    function: Any, options: Options, forwards: bool, *primals: Any
) -> tuple[Any, Callable[[Any], Any]]:
    """Return a function's value, and its derivative as a function of tangents or cotangents."""
    traced = OnInputs(function, primals, {}, range(len(primals)), options.has_aux)
    outputs, wrt = prepared(traced, options.stabilize)

    def pushed(*tangents: Any) -> Any:
        nodes = directions(tangents, wrt, "tangent", traced.trees)
        return traced.close(traced.like_result(graphs.pushed_forward(outputs, wrt, nodes)))

    def pulled(cotangents: Any) -> Any:
        nodes = directions(cotangents, outputs, "cotangent", traced.result)
        parts = graphs.pulled_back(outputs, nodes, wrt)
        return traced.close(traced.like_arguments(parts, single=False))

    value = traced.like_result(outputs)
    if options.has_aux:
        value = (value, traced.aux)
    return traced.close(value), pushed if forwards else pulled


def _of_outputs(outputs: Any, wrt: Any, name: str, stabilize: bool) -> tuple[Any, ...]:
    """Return a graph's outputs in stable form, and its functions of tangents and cotangents."""
    graph = OnGraph(outputs, wrt, name)
    values, inputs = prepared(graph, stabilize)

    def pushed(tangents: Any) -> Any:
        nodes = directions(tangents, inputs, "tangent", graph.tree)
        return graph.like_outputs(graphs.pushed_forward(values, inputs, nodes))

    def pulled(cotangents: Any) -> Any:
        nodes = directions(cotangents, values, "cotangent", graph.result)
        return graph.like_wrt(graphs.pulled_back(values, nodes, inputs))

    return graph.like_outputs(values), pushed, pulled


@checks_arguments
def vjp(outputs: Any, *wrt: Any, has_aux: bool = False, stabilize: bool = True) -> Any:
    """Return a value, and the function that pulls cotangents back, by reverse mode.

    Parameters
    ----------
    outputs : Variable or container of Variable, or callable
        Graphs of floats, or a function of arrays that returns arrays.
    *wrt : Variable or container of Variable, or array
        For a graph, the nodes to differentiate with respect to, as one argument; for a function,
        its arguments.
    has_aux : bool
        For a function: whether it returns a pair ``(outputs, aux)``.
    stabilize : bool
        As in :func:`grad`.

    Returns
    -------
    tuple
        The outputs, in the form that was differentiated, and a function of cotangents in the
        structure and shapes of the outputs.  The function returns the cotangents of ``wrt``; for a
        function of arrays, a tuple with one for each argument.  With ``has_aux``, the first entry
        is ``(outputs, aux)``.

    Raises
    ------
    ArgumentError
        For a graph with no nodes to differentiate with respect to.
    DerivativeError
        For integers, for a node that is not in the graph, and for an op without a derivative.

    Notes
    -----
    With arrays, ``vjp`` computes the value once and keeps the intermediate results that the
    function of cotangents needs.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> A, x, g = rg.matrix("A", (2, 3)), rg.vector("x", 3), rg.vector("g", 2)
    >>> y, pullback = rg.vjp(A @ x, x)
    >>> pullback(g)
    A.mT @ g
    >>> value, pullback = rg.vjp(lambda x: 2 * x, np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 2., 20.]),)
    """
    if is_function(outputs):
        build = partial(_linear, outputs, Options(has_aux=has_aux, stabilize=stabilize), False)
        if is_tracing() or holds_graphs(wrt):
            return build(*wrt)
        return linear_program(build, wrt, of_value=True, has_aux=has_aux)
    if len(wrt) != 1:
        raise ArgumentError(
            f"rg.vjp of a graph takes the nodes to differentiate with respect to as one argument, "
            f"not {len(wrt)}",
            fix="Write rg.vjp(y, x), or rg.vjp(y, [x, z]).",
        )
    value, _, pulled = _of_outputs(outputs, wrt[0], "vjp", stabilize)
    return value, pulled


@checks_arguments
def linearize(outputs: Any, *wrt: Any, stabilize: bool = True) -> Any:
    """Return a value, and its derivative as a linear function of tangents, by forward mode.

    Parameters
    ----------
    outputs : Variable or container of Variable, or callable
        Graphs of floats, or a function of arrays that returns arrays.
    *wrt : Variable or container of Variable, or array
        For a graph, the nodes to differentiate with respect to, as one argument; for a function,
        its arguments.
    stabilize : bool
        As in :func:`grad`.

    Returns
    -------
    tuple
        The outputs, in the form that was differentiated, and a function that returns the tangents
        of the outputs.  For a graph, it takes the tangents of the nodes as one argument; for a
        function, the tangent of each argument as an argument.

    Raises
    ------
    ArgumentError
        For a graph with no nodes to differentiate with respect to.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> value, derivative = rg.linearize(lambda x: x**2, np.array([1.0, 3.0]))
    >>> derivative(np.array([1.0, 10.0]))
    array([ 2., 60.])
    """
    if is_function(outputs):
        build = partial(_linear, outputs, Options(stabilize=stabilize), True)
        if is_tracing() or holds_graphs(wrt):
            return build(*wrt)
        return linear_program(build, wrt, of_value=False)
    if len(wrt) != 1:
        raise ArgumentError(
            f"rg.linearize of a graph takes the nodes to differentiate with respect to as one "
            f"argument, not {len(wrt)}",
            fix="Write rg.linearize(y, x), or rg.linearize(y, [x, z]).",
        )
    value, pushed, _ = _of_outputs(outputs, wrt[0], "linearize", stabilize)
    return value, pushed
