"""Derivatives and antiderivatives as formulas."""

from __future__ import annotations

from time import monotonic

from relgraph.api.rewrite import rewrite_graph
from relgraph.errors import (
    ArgumentError,
    DerivativeError,
    DomainError,
    DTypeError,
    NotFoundError,
    checks_arguments,
    kind_of,
)
from relgraph.ir.dispatch import traceable
from relgraph.ir.graph import toposort
from relgraph.ir.infix import brief
from relgraph.ir.node import Input, Variable, constant
from relgraph.ops.shape import broadcast_to
from relgraph.relations.catalogue.quotients import merge_numeratoro
from relgraph.search import antiderivative as search
from relgraph.search.differential_ring import derivative as tangent
from relgraph.search.polynomials import Budget


@traceable
@checks_arguments
def derivative(y: Variable, x: Variable) -> Variable:
    """Return the derivative of an elementwise expression as a simplified formula.

    Parameters
    ----------
    y : Variable, float[...]
        An expression that computes each element from the elements of ``x`` at the same place, or
        any expression if ``x`` has no dimensions.
    x : Variable, float[...]
        An input, or another node of ``y``.

    Returns
    -------
    Variable
        In the shape of ``y``; zeros if it does not depend on ``x``.

    Raises
    ------
    DerivativeError
        For an op without a differential, or if elements of ``y`` depend on other elements of ``x``.
    DTypeError
        For a graph that does not hold floats.

    See Also
    --------
    antiderivative : The other direction.

    References
    ----------
    J. R. Magnus and H. Neudecker, Matrix Differential Calculus, 3rd ed., chapter 5.

    Examples
    --------
    >>> import relgraph as rg
    >>> x, a = rg.scalars("x a")
    >>> rg.derivative(rg.exp(-a * x**2), x)
    exp(-a * square(x)) * (-2 * x * a)
    """
    _check(y, x, "derivative", "y")
    change = tangent(y, x)
    if change is None:
        zero = constant(0, y.dtype)
        return broadcast_to(zero, y.shape) if y.ndim else zero
    return _simplified(change)


@traceable
@checks_arguments
def antiderivative(
    f: Variable, x: Variable, *, budget: int = 20_000, seconds: float | None = None
) -> Variable:
    """Return an expression whose derivative is ``f``, by reading the differentials backward.

    Parameters
    ----------
    f : Variable, float[...]
        An elementwise expression of ``x``; everything else in it is a constant.
    x : Variable, float[...]
        An input.
    budget : int
        The number of steps that the search may take, for ``f`` and again for its canonical form.
    seconds : float, optional
        The time that it may take; by default, there is no limit.

    Returns
    -------
    Variable
        In the shape of ``f``; the constant of integration is arbitrary.  Its derivative is ``f`` on
        each interval on which both are continuous.

    Raises
    ------
    NotFoundError
        If no combination of the candidates has the derivative, or the budget ends.  There may be
        an antiderivative nevertheless.
    DerivativeError
        If elements of ``f`` depend on other elements of ``x``.
    DTypeError
        For a graph that does not hold floats.
    ArgumentError
        For an ``x`` that is not an input.
    DomainError
        For a budget or a time that is not positive.

    See Also
    --------
    derivative : The other direction.

    References
    ----------
    K. O. Geddes and L. Y. Stefanus, On the Risch-Norman integration method and its implementation
    in MAPLE, ISSAC 1989.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.scalar("x")
    >>> rg.antiderivative(x * rg.cos(x), x)
    cos(x) + x * sin(x)
    >>> rg.antiderivative(rg.exp(-(x**2)), x)
    0.886226925452758 * erf(x)
    """
    if isinstance(x, Variable) and not isinstance(x, Input):
        raise ArgumentError(
            f"antiderivative: x is not an input, but {brief(x)}",
            fix="Pass an input, such as rg.scalar('x') returns, that f is an expression of.",
        )
    _check(f, x, "antiderivative", "f")
    if budget < 1:
        raise DomainError(
            f"antiderivative: budget={budget} is not positive", fix="Pass a number of steps."
        )
    if seconds is not None and not seconds > 0:
        raise DomainError(
            f"antiderivative: seconds={seconds} is not positive",
            fix="Pass a time, or leave it out for no limit of time.",
        )
    end = None if seconds is None else monotonic() + seconds
    result = search.antiderivative(f, x, Budget(budget, seconds, end))
    if isinstance(result, str):
        canonical = rewrite_graph(f, mode="fast_run")
        again = (
            result
            if canonical is f
            else search.antiderivative(canonical, x, Budget(budget, seconds, end))
        )
        result = result if isinstance(again, str) else again
    if isinstance(result, str):
        raise NotFoundError(
            f"no antiderivative of {brief(f)} was found",
            {"tried": result},
            "It may have no closed form, or need a larger budget= if that is used up.",
        )
    if result.type.shape != f.type.shape:
        result = broadcast_to(result, f.shape)
    return _simplified(result)


def _simplified(formula: Variable) -> Variable:
    """Return a canonical form in which each product has one quotient."""
    return rewrite_graph(rewrite_graph(formula), merge_numeratoro, include="canonicalize")


def _check(y: Variable, x: Variable, function: str, name: str) -> None:
    """Raise unless a graph of floats is an elementwise expression of a node."""
    for argument, value in ((name, y), ("x", x)):
        if not isinstance(value, Variable):
            raise ArgumentError(
                f"{function}: {argument} is {kind_of(value)}",
                fix="Pass graphs; rg.scalar and rg.vector return inputs.",
            )
        if value.dtype.kind != "f":
            raise DTypeError(
                f"{function}: {argument} has dtype {value.dtype}",
                {argument: brief(value)},
                'Derivatives are of floats; convert with astype("float64").',
            )
    nodes = toposort([y])
    if not isinstance(x, Input) and x not in nodes:
        raise DerivativeError(
            f"{function}: x is neither an input nor a node of {name}",
            {name: brief(y), "x": brief(x)},
            "Pass an input, or a node that the expression was built from.",
        )
    if x.ndim == 0 and function == "derivative":
        return
    moving = {x}
    for node in nodes:
        if node is not x and not moving.isdisjoint(node.inputs):
            moving.add(node)
            if node.op is None or not node.op.pointwise:
                raise DerivativeError(
                    f"{function}: {name} is not an elementwise expression of x",
                    {"op": repr(node.op), "node": brief(node), "x": brief(x)},
                    "Use rg.jacobian or rg.grad for other functions of arrays.",
                )
