"""``rg.scan``, ``rg.fori_loop``, ``rg.while_loop`` and ``rg.cond``: loops and choices in graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from relgraph.api.linear_programs import at_arguments
from relgraph.api.pytrees import filled, flattened, rebuilt
from relgraph.api.tracing.arguments import node_of
from relgraph.api.tracing.calls import tracing
from relgraph.api.tracing.storage import BODY
from relgraph.api.tracing.tracer import argument, wrap
from relgraph.api.tracing.weak_scalar import WeakScalar
from relgraph.errors import ArgumentError, DTypeError, checks_arguments, kind_of
from relgraph.ir.dispatch import is_tracing
from relgraph.ir.node import (
    Constant,
    Variable,
    as_variable,
    constant,
    fresh_input,
)
from relgraph.ir.types import TensorType
from relgraph.ops.elementwise import Cast, maximum, subtract
from relgraph.ops.loops import Cond, Scan, WhileLoop, closed, joined, results_of
from relgraph.ops.shape import dim

_INDEX = TensorType("int64")


@checks_arguments
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Run a function along sequences, and carry values from one iteration to the next.

    This is what ``jax.lax.scan`` computes::

        def scan(f, init, xs, length=None):
            carry, ys = init, []
            for x in xs:
                carry, y = f(carry, x)
                ys.append(y)
            return carry, np.stack(ys)

    Parameters
    ----------
    f : callable
        ``f(carry, x)`` returns the next carry, and what is stacked: arrays, containers of them, or
        None.
    init : array, or container of arrays
        The first carry.  Its dtypes and shapes stay the same.
    xs : array, or container of arrays, optional
        The sequences: ``x`` has one slice of each, along the first axis.
    length : int or integer scalar, optional
        The number of iterations, which ``xs`` gives otherwise.
    reverse : bool
        Whether to run from the last slice to the first.  Results are stacked in the order of the
        slices.

    Returns
    -------
    tuple
        The last carry, and the stacked results.  Graphs or traced arrays if the arguments are, or
        inside of ``rg.jit``; arrays otherwise.

    Raises
    ------
    ArgumentError
        If ``f`` does not return a pair, or a carry of another structure; if there are neither
        sequences nor a length.
    DTypeError, ShapeError
        If the next carry is of another type than the first one; for sequences of unequal lengths.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> rg.scan(lambda total, x: (total + x, total), 0.0, np.arange(4.0))
    (np.float64(6.0), array([0., 0., 1., 3.]))
    """
    return at_arguments(partial(_scan, f, length, reverse), init, xs, literal=0)  # type: ignore[no-any-return]


@checks_arguments
def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Run a function for each integer of a range, and carry values along.

    This is what ``jax.lax.fori_loop`` computes::

        for i in range(lower, upper):
            init_val = body_fun(i, init_val)
        return init_val

    Parameters
    ----------
    lower, upper : int or integer scalar
        The range.
    body_fun : callable
        ``body_fun(i, value)`` returns the next value.
    init_val : array, or container of arrays
        The first value.  Its dtypes and shapes stay the same.

    Returns
    -------
    array, or container of arrays
        The last value.

    Raises
    ------
    ArgumentError
        If the next value has another structure.
    DTypeError, ShapeError
        If it is of another type.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.fori_loop(1, 6, lambda i, product: product * i, 1)
    np.int64(120)
    """
    return at_arguments(partial(_fori, body_fun), init_val, (lower, upper), literal=0)


@checks_arguments
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Run a function as long as a condition holds, and carry values along.

    This is what ``jax.lax.while_loop`` computes::

        while cond_fun(init_val):
            init_val = body_fun(init_val)
        return init_val

    Parameters
    ----------
    cond_fun : callable
        ``cond_fun(value)`` returns a bool.
    body_fun : callable
        ``body_fun(value)`` returns the next value.
    init_val : array, or container of arrays
        The first value.  Its dtypes and shapes stay the same.

    Returns
    -------
    array, or container of arrays
        The first value for which the condition does not hold.

    Raises
    ------
    ArgumentError
        If the next value has another structure.
    DTypeError, ShapeError
        If it is of another type, or the condition is no bool.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.while_loop(lambda x: x < 100.0, lambda x: 2 * x, 1.0)
    np.float64(128.0)
    """
    return at_arguments(partial(_while, cond_fun, body_fun), init_val, (), literal=0)


@checks_arguments
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """Compute one of two functions, as a condition says, and not the other one.

    This is what ``jax.lax.cond`` computes::

        return true_fun(*operands) if pred else false_fun(*operands)

    Parameters
    ----------
    pred : bool scalar
        The condition.
    true_fun, false_fun : callable
        Functions of the operands that return arrays of equal dtypes and shapes.
    *operands : array, or container of arrays
        Their arguments.

    Returns
    -------
    array, or container of arrays
        The result of one of them.

    Raises
    ------
    ArgumentError
        If they return other structures.
    DTypeError, ShapeError
        If they return other types, or the condition is no bool.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.cond(True, lambda x: x + 1, lambda x: x - 1, 5.0)
    np.float64(6.0)
    """
    return at_arguments(partial(_cond, true_fun, false_fun), operands, (pred,))


class _Traced:
    """A function run on inputs, whose results become a body."""

    def __init__(
        self, function: Callable[..., Any], types: Sequence[TensorType], call: Any
    ) -> None:
        self.inputs = [fresh_input("x", t) for t in types]
        token = BODY.set(self)
        try:
            with tracing(function):
                self.result = call(function, [argument(x) for x in self.inputs])
        finally:
            BODY.reset(token)

    def nodes(self, value: Any) -> list[Variable]:
        """Return the leaves of a result."""
        return [node_of(x, name, "result") for x, name in flattened(value, "x") if x is not None]


def _leaves(value: Any) -> list[Variable]:
    return [node_of(x, name) for x, name in flattened(value, "argument") if x is not None]


def _like(value: Any, nodes: Sequence[Variable]) -> Any:
    """Return nodes in the structure of a value, as traced arrays inside of a traced function."""
    return filled(value, list(map(wrap, nodes)) if is_tracing() else list(nodes))


def _same_structure(first: Any, second: Any, what: str) -> None:
    def shape(value: Any) -> Any:
        return rebuilt(value, lambda leaf, _: None if leaf is None else 0, "x")

    if shape(first) != shape(second):
        raise ArgumentError(
            f"{what} has another structure than the first one",
            {"first": kind_of(first), "next": kind_of(second)},
            "Return the values in the containers in which they came.",
        )


class _Carry:
    """The values that a loop carries, whose types have to be those of the next ones."""

    def __init__(self, init: Any) -> None:
        self.tree = init
        self.nodes = _leaves(init)
        leaves = [x for x, _ in flattened(init, "x") if x is not None]
        self.weak = [type(x) in (int, float, WeakScalar) for x in leaves]
        self.types: list[TensorType] = [x.type for x in self.nodes]

    def agrees(self, following: Sequence[Variable]) -> bool:
        """Return True if the next values have the types; widen them, and return False, if not."""
        agree = True
        for i, (x, type_) in enumerate(zip(following, self.types, strict=True)):
            if x.type.dtype != type_.dtype:
                if not self.weak[i]:
                    raise DTypeError(
                        f"a loop carries {type_}, and the next value is {x.type}",
                        {"next": x},
                        f"Convert the next value with .astype({type_.dtype.name!r}), or the first.",
                    )
                self.weak[i], agree = False, False
                self.nodes[i] = Cast(x.type.dtype)(self.nodes[i])
                self.types[i] = type_.with_dtype(x.type.dtype)
                continue
            wide = joined(type_, x.type, "the next value of what a loop carries")
            if wide is not type_:
                self.types[i], agree = wide, False
        return agree

    def like(self, leaves: Sequence[Any]) -> Any:
        """Return leaves in the structure of the first values."""
        return filled(self.tree, leaves)


def _scan(f: Any, length: Any, reverse: bool, init: Any, xs: Any) -> Any:
    carry = _Carry(init)
    sequences = _leaves(xs)
    size, number = _length(sequences, length)
    slices = [TensorType(x.dtype, x.type.shape[1:]) for x in sequences]
    n = len(carry.types)

    def call(function: Any, inputs: list[Any]) -> Any:
        pair = function(carry.like(inputs[1 : 1 + n]), filled(xs, inputs[1 + n :]))
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ArgumentError(
                f"the function of a scan returns a pair, not {kind_of(pair)}",
                fix="Return (carry, y); y may be None.",
            )
        _same_structure(carry.tree, pair[0], "the next carry")
        return pair

    while True:
        traced = _Traced(f, [_INDEX, *carry.types, *slices], call)
        following, stacked = map(traced.nodes, traced.result)
        if carry.agrees(following):
            break
    names = ["index", *(f"carry_{i}" for i in range(n))]
    names += [f"slice_{i}" for i in range(len(slices))]
    (body,), captured = closed([(traced.inputs, [*following, *stacked])], names)
    op = Scan(body, n, len(sequences), size, reverse)
    results = results_of(op(number, *carry.nodes, *sequences, *captured))
    return _like(init, results[:n]), _like(traced.result[1], results[n:])


def _length(sequences: Sequence[Variable], length: Any) -> tuple[Any, Variable]:
    """Return the number of iterations, as a size and as a node."""
    for x in sequences:
        if x.ndim == 0:
            raise ArgumentError(
                "a scan reads slices of sequences, and this one has no dimensions",
                {"sequence": f"{x} : {x.type}"},
                "Pass what stays the same by the closure of the function.",
            )
    sizes = {x.type.shape[0] for x in sequences if isinstance(x.type.shape[0], int)}
    if isinstance(length, int | np.integer):
        sizes.add(int(length))
    if len(sizes) > 1:
        raise ArgumentError(
            f"a scan has one length, not {', '.join(map(str, sorted(sizes)))}",
            fix="Pass sequences of one length; leave length= out, or give the same.",
        )
    if sizes:
        (size,) = sizes
        if size < 0:
            raise ArgumentError(
                f"the length of a scan is not negative: {size}", fix="Pass 0 or more."
            )
        return size, constant(size, dtype="int64")
    if sequences:
        return sequences[0].type.shape[0], as_variable(dim(sequences[0], 0))
    if length is None:
        raise ArgumentError(
            "a scan needs sequences or a length",
            fix="Pass xs=, or length= for the number of calls.",
        )
    node = node_of(length, "length")
    if node.dtype.kind not in "iu" or node.ndim:
        raise DTypeError(f"the length of a scan is an integer, not {node.type}", fix="Pass an int.")
    return None, Cast("int64")(node) if node.dtype != np.dtype("int64") else node


def _fori(body_fun: Any, init: Any, bounds: Any) -> Any:
    lower, upper = (node_of(x, name) for x, name in zip(bounds, ("lower", "upper"), strict=True))
    for x in (lower, upper):
        if x.dtype.kind not in "iu" or x.ndim:
            raise DTypeError(f"the range of a loop is of integers, not {x.type}", fix="Pass ints.")
    carry = _Carry(init)

    def call(function: Any, inputs: list[Any]) -> Any:
        index = inputs[0] + (int(lower.value) if isinstance(lower, Constant) else wrap(lower))
        result = function(index, carry.like(inputs[1:]))
        _same_structure(carry.tree, result, "the next value")
        return result

    while True:
        traced = _Traced(body_fun, [_INDEX, *carry.types], call)
        following = traced.nodes(traced.result)
        if carry.agrees(following):
            break
    names = ["index", *(f"carry_{i}" for i in range(len(following)))]
    (body,), captured = closed([(traced.inputs, following)], names)
    size = None
    if isinstance(lower, Constant) and isinstance(upper, Constant):
        size = max(0, int(upper.value) - int(lower.value))
        number: Any = constant(size, dtype="int64")
    else:
        number = Cast("int64")(maximum(subtract(upper, lower), 0))
    op = Scan(body, len(following), 0, size, False)
    return _like(init, results_of(op(number, *carry.nodes, *captured)))


def _while(cond_fun: Any, body_fun: Any, init: Any, _: Any) -> Any:
    carry = _Carry(init)

    def call(function: Any, inputs: list[Any]) -> Any:
        return function(carry.like(inputs))

    while True:
        traced = _Traced(body_fun, carry.types, call)
        _same_structure(carry.tree, traced.result, "the next value")
        following = traced.nodes(traced.result)
        if carry.agrees(following):
            break
    tested = _Traced(cond_fun, carry.types, call)
    test = node_of(tested.result, "condition", "condition")
    if test.dtype.kind != "b" or test.ndim:
        raise DTypeError(
            f"the condition of a loop is a bool without dimensions, not {test.type}",
            fix="Compare, for instance np.max(np.abs(x)) > 1e-6.",
        )
    names = [f"carry_{i}" for i in range(len(following))]
    graphs = [(tested.inputs, [test]), (traced.inputs, following)]
    (check, body), captured = closed(graphs, names)
    op = WhileLoop(check, body, len(following))
    return _like(init, results_of(op(*carry.nodes, *captured)))


def _cond(true_fun: Any, false_fun: Any, operands: Any, pred: Any) -> Any:
    test = node_of(pred[0], "condition")
    leaves = _leaves(operands)

    def call(function: Any, inputs: list[Any]) -> Any:
        return function(*filled(operands, inputs))

    graphs = []
    results = []
    for function in (true_fun, false_fun):
        traced = _Traced(function, [x.type for x in leaves], call)
        results.append(traced.result)
        graphs.append((traced.inputs, traced.nodes(traced.result)))
    _same_structure(results[0], results[1], "the result of the second function")
    (then, other), captured = closed(
        graphs, [f"argument_{i}" for i in range(len(leaves))], whole=True
    )
    nodes = results_of(Cond(then, other)(test, *leaves, *captured))
    return _like(results[0], nodes)


__all__ = ["cond", "fori_loop", "scan", "while_loop"]
