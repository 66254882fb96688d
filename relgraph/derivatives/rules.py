"""The differential of one application, and its adjoint, by relations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from relgraph.derivatives.templates import op_of
from relgraph.errors import DerivativeError
from relgraph.ir.graph import substitute, toposort
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable
from relgraph.ops.differentials import d, inner_product, no_partial
from relgraph.ops.elementwise import Elementwise, add, multiply
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.reductions import Sum
from relgraph.ops.shape import broadcast_to
from relgraph.relations.differentiation import varying
from relgraph.rewriting.selection import selection_of

DEPTH = 100  # substitutions of differentials in one right side


@cache
def _relations_of(theme: str) -> tuple[Any, ...]:
    """Return the relations of a theme of the catalogue, and of its part on matrices."""
    names = [f"relgraph.relations.catalogue.{x}" for x in (theme, f"matrix_{theme}")]
    return tuple([relation for name in names for relation in import_module(name).RELATIONS])


def _rewritten(subject: Variable, y: Variable, theme: str) -> Variable | None:
    """Rewrite a subject by a relation of the op of ``y`` or of the catalogue, or return None."""
    assert subject.op is not None
    for relations in (tuple(op_of(y).derivatives()), _relations_of(theme)):
        matcher = selection_of(relations, (), False).plain(subject.op) if relations else None
        fired = None if matcher is None else matcher(subject)
        if fired is not None:
            result: Variable = fired[0]
            return result
    return None


def differential(y: Variable) -> Variable:
    """Return the differential of an application, by its relation.

    Parameters
    ----------
    y : Variable
        An application to inputs and numbers.

    Returns
    -------
    Variable
        Linear in the differentials of the operands.

    Raises
    ------
    DerivativeError
        For an op without a differential.
    """
    return expanded(_stated(y))


def expanded(right: Variable) -> Variable:
    """Return a right side in terms of the differentials of inputs and numbers alone.

    A relation may state that d(f(x)) = d(g(x)), for a formula g.

    Raises
    ------
    DerivativeError
        For an op without a differential.
    """
    for _ in range(DEPTH):
        inner = [x for x in toposort(right) if x.op is d and x.inputs[0].inputs]
        if not inner:
            return right
        (right,) = substitute(right, {x: _stated(x.inputs[0]) for x in inner})
    raise DerivativeError(
        "a differential refers to other differentials without an end",
        {"reached": brief(right, 24)},
        "State it in terms of the differentials of the operands, or of formulas of other ops.",
    )


def _stated(y: Variable) -> Variable:
    right = _rewritten(d(y), y, "differentials")
    if right is None:
        raise DerivativeError(
            f"{op_of(y)!r} has no differential for these operands",
            {"operands": ", ".join([str(x.type) for x in y.inputs])},
            "Declare one with @rg.differential and return it from derivatives() of the op, or "
            "take the result for a constant with rg.stop_gradient.",
        )
    return right


def varied(order: Iterable[Variable], operands: Collection[Variable]) -> set[Variable]:
    """Return the nodes that depend on the differentials of some operands.

    ``order`` lists nodes after their operands.
    """
    dependent: set[Variable] = set()
    for x in order:
        if x.op is multiply and any([_is_zero(i) for i in x.inputs]):
            continue
        if (x.op is d and x.inputs[0] in operands) or not dependent.isdisjoint(x.inputs):
            dependent.add(x)
    return dependent


def check_partials(order: Iterable[Variable], dependent: Collection[Variable]) -> None:
    """Raise DerivativeError if an operand without a partial derivative varies."""
    for x in order:
        if x.op is no_partial and x in dependent:
            raise DerivativeError(
                f"there is no derivative with respect to the operand {x.inputs[0].inputs[0]}",
                fix="Take it for a constant with rg.stop_gradient, as the order of a Bessel "
                "function.",
            )


def _is_zero(x: Variable) -> bool:
    return isinstance(x, Constant) and x.uniform == 0


def transposed(
    right: Variable, g: Variable, operands: Collection[Variable]
) -> dict[Variable, Variable]:
    """Return the cotangents of operands from that of a graph linear in their differentials.

    Parameters
    ----------
    right : Variable
        A graph that is linear in ``d`` of some operands.
    g : Variable
        Its cotangent, in its shape.
    operands : collection of Variable
        The operands that vary.

    Returns
    -------
    dict
        The cotangents of the operands that the graph depends on, each in the shape of its operand.

    Raises
    ------
    DerivativeError
        For an op without an adjoint, and for a graph that is not linear.
    """
    order = toposort(right)
    dependent = varied(order, operands)
    check_partials(order, dependent)
    waiting, cotangents = {right: g}, dict[Variable, Variable]()
    with varying(dependent):
        for y in reversed(order):
            h = waiting.pop(y, None)
            if h is None or y not in dependent:
                continue
            if y.op is d:
                cotangents[y.inputs[0]] = h
                continue
            for part, x in _shares(h, y, dependent):
                if _reads_differential(part):
                    raise _nonlinear(y)
                waiting[x] = waiting[x] + part if x in waiting else part
    return dict(zip(cotangents, sizes_of_operands(cotangents.values()), strict=True))


def _reads_differential(graph: Variable) -> bool:
    """Return True if the elements of a graph depend on a differential, not only on its sizes."""
    waiting, seen = [graph], set[Variable]()
    while waiting:
        x = waiting.pop()
        if x.op is d:
            return True
        if x.op is not None and not x.op.reads_shape and x not in seen:
            seen.add(x)
            waiting += x.inputs
    return False


def _nonlinear(y: Variable) -> DerivativeError:
    return DerivativeError(
        "the right side of a differential is not linear in the differentials",
        {"application": y},
        "Write a sum of terms, each with one d(x), multiplied by what does not hold it.",
    )


def sizes_of_operands(graphs: Iterable[Variable]) -> tuple[Variable, ...]:
    """Return graphs with operands in place of differentials, of which only the sizes are needed."""
    nodes = list(graphs)
    return substitute(nodes, {x: x.inputs[0] for x in toposort(nodes) if x.op is d})


def _shares(
    g: Variable, y: Variable, dependent: set[Variable]
) -> Iterable[tuple[Variable, Variable]]:
    """Yield cotangents of the operands of an application from its own, by its adjoint."""
    products = [inner_product(g, y)]
    for product in products:  # grows during the loop
        right = _rewritten(product, y, "adjoints")
        if right is None and isinstance(y.op, Elementwise):  # those that are linear have one
            raise _nonlinear(y)
        if right is None:
            raise DerivativeError(
                f"{op_of(y)!r} has no adjoint by an operand that varies",
                {"application": y},
                "Declare one with @rg.adjoint, and return it from derivatives() of the op.",
            )
        for h, x in _terms(right):
            if x in dependent:
                yield fit(h, x), x
            elif not dependent.isdisjoint(x.inputs):  # the rest of an op of many operands
                products.append(inner_product(h, x))


def _terms(total: Variable) -> list[Sequence[Variable]]:
    """Return the operands of the inner products in a sum, which may be converted to a dtype."""
    terms: list[Sequence[Variable]] = []
    stack = [total]
    while stack:
        x = stack.pop()
        if x.op is add or x.op.__class__ is Cast:
            stack.extend(x.inputs)
        else:
            terms.append(x.inputs)
    return terms


def fit(h: Variable, x: Variable) -> Variable:
    """Return a cotangent in the shape of its node: summed where it is larger, else stretched."""
    lead = h.ndim - x.ndim
    if lead > 0:
        h = Sum(tuple(range(-h.ndim, -x.ndim)), False)(h)
    sizes, shape = h.type.shape, x.type.shape
    larger = [a for a in range(-len(sizes), 0) if shape[a] == 1 != sizes[a]]
    if larger:
        h = Sum(tuple(larger), True)(h)
    return h if h.type.shape == shape else broadcast_to(h, x.shape)
