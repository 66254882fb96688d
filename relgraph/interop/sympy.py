"""SymPy: scalar expressions as graphs, and graphs of scalars as expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import reduce
from typing import Any

import sympy

import relgraph.ops.elementwise as ew
from relgraph.errors import ArgumentError, kind_of
from relgraph.interop.missing import unsupported
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Input, Variable, constant, make_input
from relgraph.ir.types import TensorType
from relgraph.ops.elementwise.cast import Cast

# SymPy's functions of one operand, by relgraph's ops.
_FUNCTIONS: dict[Any, Any] = {
    ew.exp: sympy.exp, ew.log: sympy.log, ew.sin: sympy.sin, ew.cos: sympy.cos, ew.tan: sympy.tan,
    ew.arcsin: sympy.asin, ew.arccos: sympy.acos, ew.arctan: sympy.atan, ew.sinh: sympy.sinh,
    ew.cosh: sympy.cosh, ew.tanh: sympy.tanh, ew.arcsinh: sympy.asinh, ew.arccosh: sympy.acosh,
    ew.arctanh: sympy.atanh, ew.absolute: sympy.Abs, ew.sign: sympy.sign, ew.floor: sympy.floor,
    ew.ceil: sympy.ceiling, ew.erf: sympy.erf, ew.erfc: sympy.erfc, ew.gamma: sympy.gamma,
    ew.gammaln: sympy.loggamma, ew.digamma: sympy.digamma,
}  # fmt: skip

# Other elementwise ops, as expressions.
_EXPRESSIONS: dict[Any, Callable[..., Any]] = {
    ew.add: lambda x, y: x + y,
    ew.subtract: lambda x, y: x - y,
    ew.multiply: lambda x, y: x * y,
    ew.true_divide: lambda x, y: x / y,
    ew.power: lambda x, y: x**y,
    ew.negative: lambda x: -x,
    ew.reciprocal: lambda x: 1 / x,
    ew.square: lambda x: x**2,
    ew.sqrt: sympy.sqrt,
    ew.cbrt: sympy.cbrt,
    ew.exp2: lambda x: 2**x,
    ew.expm1: lambda x: sympy.exp(x) - 1,
    ew.log1p: lambda x: sympy.log(1 + x),
    ew.log2: lambda x: sympy.log(x, 2),
    ew.log10: lambda x: sympy.log(x, 10),
    ew.log1mexp: lambda x: sympy.log(1 - sympy.exp(x)),
    ew.sigmoid: lambda x: 1 / (1 + sympy.exp(-x)),
    ew.softplus: lambda x: sympy.log(1 + sympy.exp(x)),
    ew.logit: lambda x: sympy.log(x / (1 - x)),
    ew.logaddexp: lambda x, y: sympy.log(sympy.exp(x) + sympy.exp(y)),
    ew.maximum: sympy.Max,
    ew.minimum: sympy.Min,
    ew.arctan2: sympy.atan2,
    ew.hypot: lambda x, y: sympy.sqrt(x**2 + y**2),
    ew.trigamma: lambda x: sympy.polygamma(1, x),
    ew.polygamma: sympy.polygamma,
    ew.betaln: lambda x, y: sympy.loggamma(x) + sympy.loggamma(y) - sympy.loggamma(x + y),
    ew.ndtr: lambda x: (1 + sympy.erf(x / sympy.sqrt(2))) / 2,
    ew.less: sympy.Lt,
    ew.less_equal: sympy.Le,
    ew.greater: sympy.Gt,
    ew.greater_equal: sympy.Ge,
    ew.equal: sympy.Eq,
    ew.not_equal: sympy.Ne,
    ew.logical_and: sympy.And,
    ew.logical_or: sympy.Or,
    ew.logical_not: sympy.Not,
    ew.where: lambda c, x, y: sympy.Piecewise((x, c), (y, True)),
}

_OPS: dict[Any, Any] = {
    **{f: op for op, f in _FUNCTIONS.items()},
    sympy.Add: ew.add, sympy.Mul: ew.multiply, sympy.Pow: ew.power, sympy.Max: ew.maximum,
    sympy.Min: ew.minimum, sympy.atan2: ew.arctan2, sympy.StrictLessThan: ew.less,
    sympy.LessThan: ew.less_equal, sympy.StrictGreaterThan: ew.greater,
    sympy.GreaterThan: ew.greater_equal, sympy.Equality: ew.equal,
    sympy.Unequality: ew.not_equal, sympy.And: ew.logical_and, sympy.Or: ew.logical_or,
    sympy.Not: ew.logical_not, sympy.polygamma: ew.polygamma,
}  # fmt: skip


def load(expression: Any, variables: dict[Any, Any] | None = None) -> Variable:
    """Translate an expression of SymPy to a graph in float64.

    Parameters
    ----------
    expression : sympy.Expr
        Numbers, symbols and functions.
    variables : dict of sympy.Symbol and Variable, optional
        Graphs of any shape that replace symbols.  ``load`` adds a scalar for each other symbol.

    Returns
    -------
    Variable
        The graph.

    Raises
    ------
    ArgumentError
        For an object that is not an expression.
    UnsupportedOpError
        If functions have no translation; the error lists them.

    Examples
    --------
    >>> import sympy  # doctest: +SKIP
    >>> load(sympy.exp(sympy.Symbol("x")) + 1)  # doctest: +SKIP
    exp(x) + 1
    """
    if not isinstance(expression, sympy.Basic):
        raise ArgumentError(
            f"load takes an expression of SymPy, not {kind_of(expression)}: {expression!r:.60}",
            fix='Write it with sympy.symbols("x y"), or parse it by sympy.sympify.',
        )
    variables = {} if variables is None else variables
    images: dict[Any, Any] = {}
    missing: Counter[tuple[str, str]] = Counter()
    stack = [expression]
    while stack:
        node = stack[-1]
        waiting = [x for x in node.args if x not in images] if node not in images else []
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if node not in images:
            images[node] = _loaded(node, [images[x] for x in node.args], variables, missing)
    if missing:
        raise unsupported(missing, "SymPy")
    return images[expression]  # type: ignore[no-any-return]


def _loaded(
    node: Any, operands: list[Any], variables: dict[Any, Any], missing: Counter[Any]
) -> Any:
    if node.is_Symbol:
        if node not in variables:
            variables[node] = make_input(node.name, TensorType("float64", ()))
        return variables[node]
    if isinstance(node, sympy.Integer | sympy.Rational | sympy.Float | sympy.NumberSymbol):
        return constant(float(node))
    if node in (sympy.true, sympy.false):
        return constant(bool(node))
    if isinstance(node, sympy.functions.elementary.piecewise.ExprCondPair):
        return tuple(operands)
    if isinstance(node, sympy.Piecewise):
        *cases, (last, _) = operands
        return reduce(lambda rest, case: ew.where(case[1], case[0], rest), reversed(cases), last)
    for function, op in _OPS.items():
        if isinstance(node, function):
            return op(*operands) if op.arity == len(operands) else reduce(op, operands)
    missing[type(node).__name__, "relgraph has no such function"] += 1
    return constant(0.0)


def dump(graph: Variable, variables: dict[Any, Any] | None = None) -> Any:
    """Translate a graph of elementwise ops to an expression of SymPy.

    Parameters
    ----------
    graph : Variable
        A graph of scalars.
    variables : dict of Input and sympy.Expr, optional
        Expressions that replace inputs.  ``dump`` adds a real symbol for each other input.

    Returns
    -------
    sympy.Expr
        Integers and simple fractions are exact.

    Raises
    ------
    ArgumentError
        For an array, or an object that is not a graph.
    UnsupportedOpError
        If ops have no translation; the error lists them.
    """
    if not isinstance(graph, Variable) or graph.ndim:
        raise ArgumentError(
            f"dump takes a graph of scalars, not {kind_of(graph)}: {graph!r:.60}",
            fix="Write the formula for one element, with inputs made by rg.scalar.",
        )
    variables = {} if variables is None else variables
    images: dict[Any, Any] = {}
    missing: Counter[tuple[str, str]] = Counter()
    for node in toposort(graph):
        operands = [images[x] for x in node.inputs]
        if isinstance(node, Constant):
            images[node] = _number(node)
        elif isinstance(node, Input):
            if node not in variables:
                variables[node] = sympy.Symbol(node.name, real=True)
            images[node] = variables[node]
        elif isinstance(node.op, Cast):
            (images[node],) = operands
        else:
            function = _FUNCTIONS.get(node.op) or _EXPRESSIONS.get(node.op)
            if function is None:
                assert node.op is not None
                missing[node.op.name, "SymPy has no such function of scalars"] += 1
            images[node] = sympy.Integer(0) if function is None else function(*operands)
    if missing:
        raise unsupported(missing, "relgraph to SymPy")
    return images[graph]


def _number(node: Constant) -> Any:
    value = node.value[()]
    if node.dtype.kind == "b":
        return sympy.true if value else sympy.false
    exact = sympy.Rational(value.item()) if sympy.Float(float(value)).is_finite else None
    if exact is not None and exact.q <= 2**10:
        return exact
    return sympy.Float(float(value), 17)


__all__ = ["dump", "load"]
