"""Branches of ops such as ``where``: which one a value takes, and which ones no value can take.

``where`` takes its second operand or its third, ``clip`` is below, inside or above, a comparison
finds less, equal or greater.  A check compares a relation on a branch only if a sample takes it, so
:mod:`relgraph.checking.branches.search` searches for samples until they take each branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgraph.ir.fact_inference import facts_of
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import Op
from relgraph.ops.elementwise import (
    Elementwise,
    absolute,
    isfinite,
    isinf,
    isnan,
    logical_not,
    maximum,
    minimum,
    where,
)
from relgraph.ops.reductions import Softmax

Array = Any
NEITHER = -1  # the label of NaN, and of values that take no named branch


@dataclass(frozen=True)
class Branch:
    """One branch that a node of a graph can take, such as ``"above"`` of ``clip``."""

    node: Variable
    name: str

    def __str__(self) -> str:
        return f"{self.node}: {self.name}"


@dataclass(frozen=True)
class Decision:
    """How an op chooses its branch.

    ``label`` returns the label of each element from the operands and the result, and
    ``differences`` returns, from the operands, floats that are zero where the branch changes.
    """

    names: tuple[str, ...]  # in the order of the labels; "" for a branch that needs no sample
    label: Callable[[list[Array], Array], Array]
    differences: Callable[[list[Array]], list[Array]] = lambda operands: []


def _order(a: Array, b: Array) -> Array:
    return np.where(a < b, 0, np.where(a == b, 1, np.where(a > b, 2, NEITHER)))


def _first_two(operands: list[Array], result: Array) -> Array:
    return _order(operands[0], operands[1])


def _difference(operands: list[Array]) -> list[Array]:
    return [np.subtract(operands[0], operands[1], dtype=float)]


def _sign(operands: list[Array], result: Array) -> Array:
    return _order(operands[0], np.zeros((), operands[0].dtype))


def _itself(operands: list[Array]) -> list[Array]:
    return [np.asarray(operands[0], float)]


def _clip(operands: list[Array], result: Array) -> Array:
    x, low, high = operands
    return np.where(x < low, 0, np.where(x > high, 2, np.where(np.isnan(x), NEITHER, 1)))


def _distances_from_bounds(operands: list[Array]) -> list[Array]:
    x, low, high = operands
    return [np.subtract(x, low, dtype=float), np.subtract(x, high, dtype=float)]


def _fraction(x: Array) -> Array:
    """Return labels: whether floats are whole, and on which side of zero the others lie."""
    between = np.where(x < 0, 0, 2)
    return np.where(np.isfinite(x), np.where(np.trunc(x) == x, 1, between), NEITHER)


def _fractional(operands: list[Array], result: Array) -> Array:
    return _fraction(np.asarray(operands[0], float))


def _halfway(operands: list[Array], result: Array) -> Array:
    x = np.asarray(operands[0], float)
    return np.where(np.abs(x - np.trunc(x)) == 0.5, 3, _fraction(x))


def _quotient(operands: list[Array], result: Array) -> Array:
    x, y = (np.asarray(v, float) for v in operands[:2])
    return _fraction(np.where(np.isinf(y), math.nan, x / y))


def _truth(operands: list[Array], result: Array) -> Array:
    return np.where(np.asarray(result, bool), 1, 0)


def _condition(operands: list[Array], result: Array) -> Array:
    return _truth([], operands[0])


def _ties(operands: list[Array], result: Array) -> Array:
    """Return whether the extreme elements, or any elements, are equal: one label for each array."""
    x = np.ravel(operands[0])
    return np.asarray(int(np.unique(x).size < x.size))


ORDER = Decision(("its operands less", "equal", "greater"), _first_two, _difference)
EXTREME = Decision(("its first operand less", "", "greater"), _first_two, _difference)
TRUTH = Decision(("false", "true"), _truth)
ROUNDING = Decision(("a negative fraction", "whole", "a positive fraction"), _fractional, _itself)
DIVIDED = Decision(("a negative quotient", "no remainder", "a positive quotient"), _quotient)
TIES = Decision(("", "ties"), _ties)
SIGN = Decision(("negative", "zero", "positive"), _sign, _itself)
HALFWAY = Decision((*ROUNDING.names, "halfway"), _halfway, _itself)

# By the word that an op has for it, its attribute ``decides``.
DECISIONS: dict[str, Decision] = {
    "order": ORDER,
    "extreme": EXTREME,
    "truth": TRUTH,
    "rounding": ROUNDING,
    "halfway": HALFWAY,
    "quotient": DIVIDED,
    "condition": Decision(("condition false", "condition true"), _condition),
    "bounds": Decision(("below", "inside", "above"), _clip, _distances_from_bounds),
    "sign": SIGN,
    "strict sign": Decision(("negative", "", "positive"), _sign, _itself),
    "second sign": Decision(("a negative sign", "", "a positive sign"),
                            lambda operands, result: 2 - 2 * np.signbit(operands[1]),
                            lambda operands: _itself(operands[1:])),
    "ties": TIES,
}  # fmt: skip
OF_SPECIALS = frozenset({isnan, isinf, isfinite})
CLIP = Elementwise("clip")
OF_OPERANDS = frozenset({where, CLIP, maximum, minimum})


def decision_of(node: Variable) -> Decision | None:
    """Return how a node chooses its branch; None if it has no branches."""
    return None if node.op is None else DECISIONS.get(node.op.decides)


def deciding(graphs: Iterable[Variable]) -> list[Variable]:
    """Return the nodes of graphs that have branches."""
    return [x for x in toposort(list(graphs)) if decision_of(x) is not None]


def branches_of(node: Variable, specials: str) -> dict[int, Branch]:
    """Return the branches of a node that a sample should take, by label.

    If the relation's label ``specials`` is ``assumes_finite``, non-finite values have no branch.
    """
    decision = decision_of(node)
    assert decision is not None and node.op is not None
    labels = {i for i, name in enumerate(decision.names) if name}
    if node.op in OF_SPECIALS and specials != "kept":
        return {}
    return {i: Branch(node, decision.names[i]) for i in sorted(labels & _possible(node))}


def _possible(node: Variable) -> set[int]:
    """Return the labels that are not proved unreachable."""
    assert node.op is not None
    op, inputs = node.op, node.inputs
    decision = decision_of(node)
    assert decision is not None
    if decision is ORDER or decision is EXTREME:
        return _orders(inputs[0], inputs[1])
    if decision in (SIGN, DECISIONS["strict sign"]):
        return _orders(inputs[0], None)
    if op is CLIP:
        below, above = _orders(inputs[0], inputs[1]), _orders(inputs[0], inputs[2])
        inside = {1} if below & {1, 2} and above & {0, 1} else set()
        return inside | (below & {0}) | (above & {2})
    if op is where:
        return _truths(inputs[0])
    if decision in (ROUNDING, HALFWAY):
        whole = facts_of(inputs[0]).holds("integer") or inputs[0].dtype.kind != "f"
        signs = _orders(inputs[0], None)
        return {1} if whole else signs | {1, 3}
    if decision is TRUTH:
        return _truths(node)
    return set(range(len(decision.names)))


def _orders(a: Variable, b: Variable | None) -> set[int]:
    """Return which of less, equal and greater are possible for two nodes, or for one and zero."""
    if a is b:
        return {1}
    (low, high), (least, most) = _range(a), (0.0, 0.0) if b is None else _range(b)
    orders = set()
    if low < most and not (b is not None and _at_most(b, a)):
        orders.add(0)
    zero = least == most == 0 and facts_of(a).holds("nonzero") is True
    if max(low, least) <= min(high, most) and not zero:
        orders.add(1)
    if high > least and not (b is not None and _at_most(a, b)):
        orders.add(2)
    return orders


def _at_most(a: Variable, b: Variable, depth: int = 4) -> bool:
    """Return True if ``a <= b`` follows from extremes and absolute values of equal nodes."""
    if a is b:
        return True
    if depth == 0:
        return False
    return (
        (b.op is maximum and any(_at_most(a, x, depth - 1) for x in b.inputs))
        or (a.op is minimum and any(_at_most(x, b, depth - 1) for x in a.inputs))
        or (a.op is CLIP and _at_most(a.inputs[2], b, depth - 1))
        or (b.op is absolute and _at_most(a, b.inputs[0], depth - 1))
    )


def _truths(node: Variable) -> set[int]:
    """Return which of false and true are possible."""
    if isinstance(node, Constant):
        return set(np.unique(np.asarray(node.value, bool)).astype(int).tolist())
    op = node.op
    if op is None:
        return {0, 1}
    if op is logical_not:
        return {1 - x for x in _truths(node.inputs[0])}
    if op in OF_SPECIALS:
        x = node.inputs[0]
        facts, whole = facts_of(x), x.dtype.kind != "f"
        usual = "not_nan" if op is isnan else "finite"
        if whole or facts.holds(usual) or facts.holds("finite"):
            return {int(op is isfinite)}
    if decision_of(node) is not ORDER:
        return {0, 1}
    orders = _orders(node.inputs[0], node.inputs[1])
    true = {i for i, pair in enumerate(((0, 1), (1, 1), (1, 0))) if op.perform(*pair)}
    false = set(range(3)) - true
    possible_nan = any(x.dtype.kind == "f" for x in node.inputs)
    truths = {1} if orders & true else set()
    truths |= {0} if orders & false or (possible_nan and not orders & true) else set()
    return truths


def _range(x: Variable, depth: int = 4) -> tuple[float, float]:
    """Return bounds of a node's values other than NaN, from its op and its facts."""
    if isinstance(x, Constant):
        value = np.asarray(x.value, float)
        value = value[~np.isnan(value)]
        return (float(value.min()), float(value.max())) if value.size else (-math.inf, math.inf)
    low, high = -math.inf, math.inf
    if x.dtype.kind == "b":
        low, high = 0.0, 1.0
    elif x.dtype.kind in "iu":
        low, high = float(np.iinfo(x.dtype).min), float(np.iinfo(x.dtype).max)
    facts = facts_of(x)
    if facts.holds("nonnegative"):
        low = max(low, 0.0)
    if facts.holds("nonpositive"):
        high = min(high, 0.0)
    if facts.holds("positive"):
        low = max(low, 5e-324)
    if facts.holds("negative"):
        high = min(high, -5e-324)
    least, most = (0.0, 1.0) if isinstance(x.op, Softmax) else (-math.inf, math.inf)
    if isinstance(x.op, Elementwise):
        least, most = x.op.row.range
    if depth and x.op in OF_OPERANDS:
        parts = [_range(y, depth - 1) for y in x.inputs[1 if x.op in (CLIP, where) else 0 :]]
        least, most = _of_operands(x.op, parts)
    return max(low, least), min(high, most)


def _of_operands(op: Op | None, parts: list[tuple[float, float]]) -> tuple[float, float]:
    """Return bounds of what picks one of its operands, from bounds of the operands."""
    lows, highs = zip(*parts, strict=True)
    if op is maximum:
        return max(lows), max(highs)
    if op is minimum:
        return min(lows), min(highs)
    return min(lows), highs[-1] if op is CLIP else max(highs)
