"""The etuple bridge: every node is also an S-expression.

This is the one place where nodes meet ``cons``, ``unification`` and ``etuples``.  Unification reads
a graph lazily, one level at a time: ``car`` of a node is its op and ``cdr`` its operands.  An op
without parameters is an atom; one with parameters is its class followed by them, so a pattern may
leave a parameter open.  Inputs and constants are leaves; a Python number unifies with a uniform
constant equal to it, ``0.0`` and ``-0.0`` being different.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from cons.core import ConsError, _car, _cdr
from etuples import etuple
from etuples.core import ExpressionTuple
from etuples.dispatch import apply as etuple_apply
from etuples.dispatch import etuplize
from unification import isvar
from unification.core import _reify, _unify

from relgraph.errors import ArgumentError, NonGroundError
from relgraph.ir.node import Apply, Constant, Variable, as_literal, as_variable
from relgraph.ir.op import Op

Number = bool | int | float


def op_term(op: Op) -> Any:
    """Return an op as an S-expression: itself, or its class and parameters."""
    return etuple(type(op), *op.params) if op.parameters else op


def lower(node: Variable) -> Any:
    """Return the whole S-expression of a graph; a shared node is one shared etuple.

    Parameters
    ----------
    node : Variable
        The graph.

    Returns
    -------
    ExpressionTuple or Variable
        ``etuple(op, operand, ...)`` to any depth; an input or a constant is itself.

    Raises
    ------
    ArgumentError
        For an object that is not one node.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> print(rg.lower(rg.exp(x) + 1))
    e(add, e(exp, x), 1)
    """
    from relgraph.ir.graph import toposort

    image: dict[Variable, Any] = {}
    if not isinstance(node, Variable):
        raise ArgumentError(
            f"lower takes one graph, not {node!r:.60}",
            fix="Lower each output separately; rg.constant(...) wraps an array.",
        )
    for x in toposort(node):
        if x.op is None:
            image[x] = x
        else:
            image[x] = etuple(op_term(x.op), *[image[i] for i in x.inputs])
    return image[node]


def raise_(term: Any) -> Any:
    """Build the graph of an S-expression; the inverse of :func:`lower`.

    Parameters
    ----------
    term : ExpressionTuple, Variable or number
        A ground term: ops applied to operands, to any depth.

    Returns
    -------
    Variable
        The graph, or the number unchanged when ``term`` is one.

    Raises
    ------
    NonGroundError
        When the term holds a logic variable.
    """
    done: dict[int, Any] = {}
    stack: list[Any] = [term]
    while stack:
        et = stack[-1]
        if id(et) in done:
            stack.pop()
            continue
        if isinstance(et, ExpressionTuple):
            waiting = [x for x in et if isinstance(x, ExpressionTuple) and id(x) not in done]
            if waiting:
                stack.extend(waiting)
                continue
            head, *rest = [done.get(id(x), x) if isinstance(x, ExpressionTuple) else x for x in et]
            if is_open(head) or any(map(is_open, rest)):
                raise not_a_graph(et)
            done[id(et)] = head(*map(as_literal, rest)) if isinstance(head, Op) else head(*rest)
        elif is_open(et):
            raise not_a_graph(et)
        else:
            done[id(et)] = et
        stack.pop()
    return done[id(term)]


def not_a_graph(term: Any) -> NonGroundError:
    """Return the error for a term with logic variables where a graph is needed."""
    return NonGroundError(
        "a term with unbound logic variables is not a graph",
        {"term": term},
        "Bind every variable, or ask for the term itself with relation.run.",
    )


def is_open(x: Any) -> bool:
    """Return True for a logic variable or a pattern, which are not graphs."""
    return isvar(x) or hasattr(type(x), "__relgraph_op__")


def same_number(value: Any, number: Number) -> bool:
    """Return True if a constant's uniform value equals a Python number, including the sign of zero.

    The number is weak: it is first converted to the constant's dtype, as in NumPy.
    """
    if value is None:
        return False
    if isinstance(number, bool) or isinstance(value, np.bool_):
        return isinstance(number, bool) and isinstance(value, np.bool_) and bool(value) == number
    try:
        weak = np.result_type(value.dtype, number)
        with np.errstate(over="ignore"):  # a number beyond the dtype matches nothing
            other = np.asarray(number, weak)
    except OverflowError:
        return False
    if weak != value.dtype:
        return False
    if weak.kind == "f":
        first, second = float(value), float(other)
        if first == 0.0 or second == 0.0:
            return first == second and math.copysign(1, first) == math.copysign(1, second)
        return first == second or (math.isnan(first) and math.isnan(second))
    return bool(value == other)


@_car.register(Apply)  # type: ignore[untyped-decorator]
def _car_apply(node: Apply) -> Op:
    return node.op


@_cdr.register(Apply)  # type: ignore[untyped-decorator]
def _cdr_apply(node: Apply) -> Any:
    return etuple(*node.inputs)


@_car.register(Op)  # type: ignore[untyped-decorator]
def _car_op(op: Op) -> Any:
    if not op.parameters:
        raise ConsError(f"{op!r} has no parameters: it is an atom")
    return type(op)


@_cdr.register(Op)  # type: ignore[untyped-decorator]
def _cdr_op(op: Op) -> Any:
    if not op.parameters:
        raise ConsError(f"{op!r} has no parameters: it is an atom")
    return etuple(*op.params)


def _node_etuple(node: Apply, et: Any, s: Any) -> Any:
    if len(node.inputs) + 1 != len(et):
        yield False
        return
    yield _unify((node.op, *node.inputs), et._tuple, s)


def _op_etuple(op: Op, et: Any, s: Any) -> Any:
    if not op.parameters or len(op.parameters) + 1 != len(et):
        yield False
        return
    yield _unify((type(op), *op.params), et._tuple, s)


def _same(a: object, b: object, s: Any) -> Any:
    return s if a is b else False


def _constant_number(node: Constant, number: Any, s: Any) -> Any:
    return s if same_number(node.uniform, number) else False


def _itself(x: Any, s: Any) -> Any:
    return x


_unify.add((Apply, ExpressionTuple, Mapping), _node_etuple)
_unify.add((ExpressionTuple, Apply, Mapping), lambda et, node, s: _node_etuple(node, et, s))
_unify.add((Op, ExpressionTuple, Mapping), _op_etuple)
_unify.add((ExpressionTuple, Op, Mapping), lambda et, op, s: _op_etuple(op, et, s))
_unify.add((Variable, Variable, Mapping), _same)
_unify.add((Op, Op, Mapping), _same)
for _kind in (bool, int, float):
    _unify.add((Constant, _kind, Mapping), _constant_number)
    _unify.add((_kind, Constant, Mapping), lambda n, c, s: _constant_number(c, n, s))
_reify.add((Variable, Mapping), _itself)
_reify.add((Op, Mapping), _itself)


def _etuplize(
    node: Variable, shallow: bool = False, return_bad_args: bool = False, **options: Any
) -> Any:
    """Return the S-expression of a graph, like :func:`lower`; a leaf has none."""
    if node.op is None:
        if return_bad_args:
            return node
        raise TypeError(f"{node!r} is an input or a constant, so it has no expression tuple")
    return etuple(op_term(node.op), *node.inputs) if shallow else lower(node)


etuplize.add((Variable,), _etuplize)


@etuple_apply.register(Op, ExpressionTuple)  # type: ignore[untyped-decorator]
def _apply_op(op: Op, operands: Any) -> Any:
    """Build a node when the operands are ground, and a term otherwise; never a stale result."""
    if any(isvar(x) or isinstance(x, ExpressionTuple) for x in operands):
        return etuple(op, *operands)
    return op(*map(as_literal, operands))


def as_node(term: Any, like: Variable) -> Variable:
    """Return a ground term as a node; a number takes the dtype of ``like``."""
    raised = raise_(term)
    return as_variable(as_literal(raised), [like.dtype])
