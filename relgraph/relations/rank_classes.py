"""Rank classes: for which ranks of its variables an identity with products holds.

NumPy's ``@`` means different things for vectors, matrices and batches: ``(X @ y) @ Z`` and
``X @ (y @ Z)`` have one type and two values when ``y`` is a vector.  An identity that contains a
product is therefore allowed for a combination of ranks only if both sides agree there on random
integer matrices whose sizes are all equal, the case in which types distinguish least.  A false
identity between polynomials agrees at a random point with negligible probability (Schwartz 1980,
doi:10.1145/322217.322225); each combination is tried once and remembered.

What agrees for no ranks at all is no law of products: it holds of particular matrices, such as
``P @ (P @ X) = P @ X`` of a projection, or for a reason that its conditions know.  Then the shapes
of both sides decide, and the rest is the word of who declared it, which ``rg.check`` tries.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, product
from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import RelgraphError
from relgraph.ir.fact_inference import fact
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.node import Constant, Variable, constant, digest_of
from relgraph.ops.contraction import Matmul
from relgraph.relations.clause import Rewrite
from relgraph.relations.definedness import fact_asked
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.pattern import (
    Block,
    OpPattern,
    PatternNode,
    PatternVariable,
    Term,
    subterms,
    variables,
)

SIZE = 3
# What NumPy, SciPy and the ops raise for arrays of ranks, values or kinds that they do not take.
REFUSALS = (
    RelgraphError, ArithmeticError, AssertionError, LookupError, RuntimeError,
    TypeError, ValueError, Warning,
)  # fmt: skip
TRIED = 300  # combinations of ranks, at most, in search of one that agrees
Array = npt.NDArray[Any]
Alike = Callable[[Any, Any], bool]


class Ranks:
    """The ranks for which one rewrite holds; called with a tuple of ranks.

    Attributes
    ----------
    variables : tuple of PatternVariable
        The variables whose ranks decide, in order.
    """

    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite
        own = {
            v
            for side in (rewrite.pattern, rewrite.result)
            for x in subterms(side)
            if isinstance(x, Block)
            for v in x.own
        }
        parameters = [
            p
            for side in (rewrite.pattern, rewrite.result)
            for x in subterms(side)
            if isinstance(x, PatternNode) and isinstance(x.op, OpPattern)
            for p in x.op.params
            if isinstance(p, PatternVariable)
        ]
        self.own = own
        self.variables = tuple(
            v for v in variables(rewrite.pattern) if v not in own and v not in parameters
        )
        self.parameters = tuple(dict.fromkeys(parameters))
        # A direction leaves conditions out that its pattern cannot be computed without.
        self.conditions = getattr(rewrite.origin, "conditions", rewrite.conditions)
        self.nodes = tuple(
            dict.fromkeys(
                x
                for side in (rewrite.pattern, rewrite.result)
                for x in subterms(side)
                if isinstance(x, Variable)
            )
        )
        self._allowed: dict[tuple[tuple[int, ...], tuple[Any, ...]], bool] = {}
        self._laws: dict[tuple[Any, ...], bool] = {}

    @staticmethod
    def of(rewrite: Rewrite) -> Ranks | None:
        """Return the ranks of a rewrite, or None when it has no product."""
        for side in (rewrite.pattern, rewrite.result):
            for x in subterms(side):
                if isinstance(x, PatternNode) and isinstance(x.op, Matmul):
                    found = Ranks(rewrite)
                    return found if found.variables else None
        return None

    def __call__(self, ranks: tuple[int, ...], parameters: tuple[Any, ...] = ()) -> bool:
        """Return True if the identity holds for operands of these ranks and op parameters."""
        ranks = tuple([min(r, 3) for r in ranks])
        allowed = self._allowed.get((ranks, parameters))
        if allowed is None:
            allowed = self._agree(ranks, parameters, _equal)
            if not allowed and not self._is_law(parameters):
                allowed = self._agree(ranks, parameters, _same_shape)
            self._allowed[ranks, parameters] = allowed
        return allowed

    def _is_law(self, parameters: tuple[Any, ...]) -> bool:
        """Return True if the sides agree in value for some ranks."""
        found = self._laws.get(parameters)
        if found is None:
            tries = product((2, 1, 3, 0), repeat=len(self.variables))
            found = any(self._agree(r, parameters, _equal) for r in islice(tries, TRIED))
            self._laws[parameters] = found
        return found

    def _agree(self, ranks: tuple[int, ...], parameters: tuple[Any, ...], alike: Alike) -> bool:
        """Return True if both sides are alike for operands of these ranks."""
        own = (0, 1, 2, 3) if self.own else (0,)
        results = [self._compared(ranks, r, parameters, alike) for r in own]
        # Terms of a block take their rank from the operands beside them.
        return True in results and False not in results

    def _compared(
        self, ranks: tuple[int, ...], own_rank: int, parameters: tuple[Any, ...], alike: Alike
    ) -> bool | None:
        """Return whether both sides are alike; None where neither side exists."""
        # Some ops take SPD matrices only.
        for facts in ((), ("spd",)):
            sides = self._sides(ranks, own_rank, parameters, facts)
            if sides is not None:
                return sides[1] is not None and alike(*sides)
        return None

    def _sides(
        self,
        ranks: tuple[int, ...],
        own_rank: int,
        parameters: tuple[Any, ...],
        facts: tuple[str, ...],
    ) -> tuple[Any, Any] | None:
        """Return both sides, the second one as None where it does not exist; None without a first.

        The operands are random, and so are the nodes of the relation's own.
        """
        rng = np.random.default_rng(abs(digest_of(ranks, own_rank)) % 2**32)
        values: dict[Any, Any] = dict(zip(self.parameters, parameters, strict=True))
        for x in self.nodes:
            values[x] = x.value if isinstance(x, Constant) and not x.ndim else _sample_of(rng, x)
        for v, rank in zip(self.variables, ranks, strict=True):
            asked = facts_asked(self.conditions, v)
            values[v] = sample(rng, rank, (*asked, *facts) if asked != ("zero",) else asked)
        for v in self.own:
            values[v] = [sample(rng, own_rank, ()) for _ in range(2)]
        for c in self.conditions:
            if c.kind == "calc" and getattr(c.function, "of_type", False):
                values[c.args[0]] = made_from(c, values)
        sides = []
        for side in (self.rewrite.pattern, self.rewrite.result):
            try:
                with np.errstate(all="ignore"):
                    sides.append(evaluate(side, values))
            except REFUSALS:
                sides.append(None)
        left, right = sides
        if left is None:
            return None
        if right is not None and not isinstance(self.rewrite.result, PatternNode | Block):
            try:  # it is broadcast when it is built
                right = np.broadcast_to(right, np.broadcast_shapes(np.shape(left), np.shape(right)))
            except ValueError:
                right = None
        return left, right


def _same_shape(left: Any, right: Any) -> bool:
    return bool(np.shape(left) == np.shape(right))


def _equal(left: Any, right: Any) -> bool:
    return _same_shape(left, right) and bool(np.allclose(left, right, rtol=1e-6, atol=1e-6))


def _sample_of(rng: np.random.Generator, node: Variable) -> Array:
    """Return a random array for a node of the relation's own, of its rank and facts."""
    names = [name for name in MATRIX_FACTS if node.ndim >= 2 and fact(node, name)]
    return sample(rng, node.ndim, tuple(names))


def facts_asked(conditions: tuple[Suspended, ...], variable: PatternVariable) -> tuple[str, ...]:
    """Return the facts that conditions ask of a variable."""
    if any(c.label.startswith("zero(") and c.args == (variable,) for c in conditions):
        return ("zero",)
    asked = ((c, fact_asked(c)) for c in conditions)
    return tuple(name for c, name in asked if name is not None and c.args == (variable,))


def sample(rng: np.random.Generator, rank: int, facts: tuple[str, ...]) -> Array:
    """Return a random array of a rank, of which the facts hold."""
    value = rng.integers(-4, 5, (SIZE,) * rank).astype(np.float64)
    if "zero" in facts:
        return value * 0
    if not rank:  # of which a quotient exists
        value = np.where(value == 0, 1.0, value)
    if {"positive", "nonnegative", "nonzero"} & set(facts):
        value = np.abs(value) + 1
    if rank >= 2:
        if "diagonal" in facts:
            value = value * np.eye(SIZE)
        if "lower_triangular" in facts:
            value = np.tril(value)
        if "upper_triangular" in facts:
            value = np.triu(value)
        if {"symmetric", "spd", "psd"} & set(facts):
            value = value + np.swapaxes(value, -1, -2)
        if {"permutation", "selection"} & set(facts):
            value = np.broadcast_to(np.roll(np.eye(SIZE), 1, 0), value.shape)
        elif "orthogonal" in facts:
            value = np.linalg.qr(value)[0]
        elif {"spd", "psd", "invertible"} & set(facts):
            value = value + 20 * np.eye(SIZE)
    return value


def made_from(condition: Suspended, values: dict[PatternVariable, Any]) -> Any:
    """Return what a condition computes from the types of its arguments, as an array."""
    try:
        node = condition.function(*[constant(values[x]) for x in condition.args[1:]])
    except (RelgraphError, KeyError, IndexError):
        return None
    if node is None or node.op is None:
        return getattr(node, "value", None)
    return node.op.perform()


def evaluate(term: Term, values: dict[Any, Any]) -> Any:
    """Compute a pattern with NumPy, given arrays for its variables and for its nodes."""
    if isinstance(term, PatternVariable):
        return values[term]
    if isinstance(term, Block):
        own = term.own[0]
        parts = [evaluate(term.element, {**values, own: x}) for x in values[own]]
        result = parts[0]
        for part in parts[1:]:
            result = term.op.perform(result, part)
        return result
    if isinstance(term, PatternNode):
        op = term.op
        if isinstance(op, OpPattern):
            op = op.cls(*[values[p] if isinstance(p, PatternVariable) else p for p in op.params])
        return op.perform(*[evaluate(x, values) for x in term.args])
    if isinstance(term, Variable):
        return values[term]
    return np.asarray(term, np.float64) if isinstance(term, int | float) else term
