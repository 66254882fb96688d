"""Rank classes: for which ranks of its variables an identity with products holds.

NumPy's ``@`` means different things for vectors, matrices and batches: ``(X @ y) @ Z`` and
``X @ (y @ Z)`` have one type and two values when ``y`` is a vector.  An identity that contains a
product is therefore allowed for a combination of ranks only if both sides agree there on random
integer matrices whose sizes are all equal, the case in which types distinguish least.  A false
identity between polynomials agrees at a random point with negligible probability (Schwartz 1980,
doi:10.1145/322217.322225); each combination is tried once and remembered.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import RelgraphError
from relgraph.ir.node import Variable, constant
from relgraph.ir.op import Op, digest_of
from relgraph.relations.clause import Rewrite
from relgraph.relations.goals import Suspended
from relgraph.relations.pattern import (
    Block,
    OpPattern,
    PatternNode,
    PatternVariable,
    Term,
    subterms,
    variables,
)
from relgraph.relations.required import fact_asked

SIZE = 3
Array = npt.NDArray[Any]


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
        self._allowed: dict[tuple[tuple[int, ...], tuple[Any, ...]], bool] = {}

    @staticmethod
    def of(rewrite: Rewrite) -> Ranks | None:
        """Return the ranks of a rewrite, or None when it has no product."""
        for side in (rewrite.pattern, rewrite.result):
            for x in subterms(side):
                if isinstance(x, PatternNode) and isinstance(x.op, Op) and x.op.name == "matmul":
                    found = Ranks(rewrite)
                    return found if found.variables else None
        return None

    def __call__(self, ranks: tuple[int, ...], parameters: tuple[Any, ...] = ()) -> bool:
        """Tell whether the identity holds for operands of these ranks and op parameters."""
        ranks = tuple([min(r, 3) for r in ranks])
        allowed = self._allowed.get((ranks, parameters))
        if allowed is None:
            own = (0, 1, 2, 3) if self.own else (0,)
            results = [self._holds(ranks, r, parameters) for r in own]
            # Terms of a block take their rank from the operands beside them.
            allowed = True in results and False not in results
            self._allowed[ranks, parameters] = allowed
        return allowed

    def _holds(
        self, ranks: tuple[int, ...], own_rank: int, parameters: tuple[Any, ...]
    ) -> bool | None:
        """Return whether both sides agree; None where neither side exists."""
        # Some ops take SPD matrices only.
        for facts in ((), ("spd",)):
            found = self._agree(ranks, own_rank, parameters, facts)
            if found is not None:
                return found
        return None

    def _agree(
        self,
        ranks: tuple[int, ...],
        own_rank: int,
        parameters: tuple[Any, ...],
        facts: tuple[str, ...],
    ) -> bool | None:
        rng = np.random.default_rng(abs(digest_of(ranks, own_rank)) % 2**32)
        values: dict[PatternVariable, Any] = dict(zip(self.parameters, parameters, strict=True))
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
            except Exception:  # whatever a library raises for ranks that it does not take
                sides.append(None)
        left, right = sides
        if left is None or right is None:
            return None if left is None else False
        if not isinstance(self.rewrite.result, PatternNode | Block):  # broadcast when it is built
            right = np.broadcast_to(right, np.broadcast_shapes(np.shape(left), np.shape(right)))
        return bool(
            np.shape(left) == np.shape(right) and np.allclose(left, right, rtol=1e-6, atol=1e-6)
        )


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
        if {"symmetric", "spd"} & set(facts):
            value = value + np.swapaxes(value, -1, -2)
        if {"permutation", "selection"} & set(facts):
            value = np.broadcast_to(np.roll(np.eye(SIZE), 1, 0), value.shape)
        elif "orthogonal" in facts:
            value = np.linalg.qr(value)[0]
        elif {"spd", "invertible"} & set(facts):
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


def evaluate(term: Term, values: dict[PatternVariable, Any]) -> Any:
    """Compute a pattern with NumPy, given arrays for its variables."""
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
        return getattr(term, "value", None)
    return np.asarray(term, np.float64) if isinstance(term, int | float) else term
