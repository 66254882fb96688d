"""Rank classes: the ranks of operands for which an identity with products holds.

NumPy's ``@`` means different things for vectors, matrices and batches: ``(X @ y) @ Z`` and
``X @ (y @ Z)`` have one type and two values if ``y`` is a vector.  So an identity with a product
holds for some combinations of ranks only: those for which both sides are equal on fixed arrays.
All their axes have one size, so that types distinguish least.  A false identity between polynomials
is almost never true at one point (Schwartz 1980, doi:10.1145/322217.322225).

A clause keeps its classes, which are found when it first matches.  A relation that kanren runs has
no clauses: each of its answers is compared in the same way, and answers of one form only once.  An
identity that holds for no ranks at all is not a law of products.  It holds of particular matrices,
such as ``P @ (P @ X) = P @ X`` of a projection, or because of its conditions.  Then the shapes of
both sides decide, and ``rg.check`` tests the values.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relgraph.errors import RelgraphError
from relgraph.ir import forks
from relgraph.ir.fact_inference import fact
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType
from relgraph.ops.contraction import Matmul
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

Array = npt.NDArray[Any]
Ranks = tuple[int, ...]

SIZE = 3  # of every axis of a sample
HIGHEST = 3  # a rank beyond it is one more batch axis
RANKS = (2, 1, 3, 0)  # matrices first
FREE = 4  # operands whose ranks vary in a table, where any others are matrices
KEPT = 4096  # forms of answers that are remembered

# Without a left side; with another shape, or no right side; NaN throughout; equal in shape; and
# equal in value.
ABSENT, DIFFERENT, UNDECIDED, ALIKE, EQUAL = range(5)

_FACTS = ("positive", "nonnegative", "nonzero", *MATRIX_FACTS)
_FLOAT = np.dtype(np.float64)
# What NumPy, SciPy and the ops raise for arrays of ranks, values or kinds that they do not take.
REFUSALS = (
    RelgraphError, ArithmeticError, AssertionError, LookupError, RuntimeError,
    TypeError, ValueError, Warning,
)  # fmt: skip


class Leaf(NamedTuple):
    """An operand of both sides: a number, or an array.

    The rank of an array is fixed, or it is the one at ``place`` among the ranks to compare.  A leaf
    without value and rank is computed from values, which only a graph has.
    """

    place: int | None = None
    rank: int | None = None
    facts: tuple[str, ...] = ()
    dtype: np.dtype[Any] = _FLOAT
    value: Constant | None = None


class Step(NamedTuple):
    """An op, open or closed, or the function of a condition, applied to earlier entries.

    An operand is the number of an entry or, for a function, a parameter of an op.
    """

    head: Op | OpPattern | PatternVariable | Suspended
    operands: tuple[int | PatternVariable, ...]


class Sides:
    """Two terms as one list of leaves and steps, operands first, which NumPy computes.

    Equal steps are one entry.  The entries up to the root of the left side are all it needs.
    """

    def __init__(self) -> None:
        self.entries: list[Leaf | Step] = []
        self.numbers: dict[Step, int] = {}
        self.left = self.right = 0  # the roots
        self.broadcasts = False  # whether the right side, a leaf, may have fewer axes
        self.of_values: list[
            int
        ] = []  # what conditions compute from values, which samples may lack

    def leaf(self, leaf: Leaf) -> int:
        """Append a leaf and return its number."""
        self.entries.append(leaf)
        return len(self.entries) - 1

    def step(
        self, head: Op | OpPattern | PatternVariable | Suspended, operands: Iterable[Any]
    ) -> int:
        """Append a step, unless there is an equal one, and return its number."""
        step = Step(head, tuple(operands))
        number = self.numbers.get(step)
        if number is None:
            number = self.numbers[step] = len(self.entries)
            self.entries.append(step)
        return number

    def outcomes(
        self, ranks: Sequence[int | None], parameters: dict[PatternVariable, Any]
    ) -> dict[Ranks, int]:
        """Return how the sides compare, for the ranks for which the left side can be computed.

        A rank that is None varies.  Each entry is computed as soon as its ranks are known, so that
        no combination is tried whose first ranks do not fit together.
        """
        outcomes: dict[Ranks, int] = {}
        varying = [place for place, rank in enumerate(ranks) if rank is None]
        level_of: list[int] = []  # how many of the varying ranks an entry waits for
        levels: list[list[int]] = [[] for _ in range(len(varying) + 1)]
        for number, entry in enumerate(self.entries):
            if isinstance(entry, Leaf):
                level_of.append(varying.index(entry.place) + 1 if entry.place in varying else 0)
            else:
                below = [level_of[i] for i in entry.operands if isinstance(i, int)]
                level_of.append(max(below, default=0))
            levels[level_of[-1]].append(number)
        current: list[Any] = list(ranks)
        computed: list[Any] = [None] * len(self.entries)

        def compute(level: int, more: str) -> None:
            if level == len(varying) and outcomes.get(tuple(current), UNDECIDED) != UNDECIDED:
                return
            for number in levels[level]:
                entry = self.entries[number]
                if isinstance(entry, Leaf):
                    rank = entry.rank if entry.place is None else current[entry.place]
                    computed[number] = _array(entry, number, rank, more)
                    continue
                value = computed[number] = _applied(entry, computed, parameters)
                is_needed = number <= self.left and not isinstance(entry.head, Suspended)
                if value is None and is_needed:
                    return
            if level == len(varying):
                outcome = self._compared(computed[self.left], computed[self.right])
                if outcome == DIFFERENT and any(computed[i] is None for i in self.of_values):
                    outcome = UNDECIDED
                outcomes[tuple(current)] = outcome
                return
            for rank in RANKS:
                current[varying[level]] = rank
                # What is not a refusal is a mistake in an op, and raised if these ranks occur.
                with suppress(Exception):
                    compute(level + 1, more)

        # An inverse that does not exist may be computed all the same, and some ops take SPD only.
        with np.errstate(all="ignore"):
            compute(0, "invertible")
            compute(0, "spd")
            if UNDECIDED in outcomes.values():  # such as roots of negative numbers
                compute(0, "positive")
        return outcomes

    def _compared(self, left: Any, right: Any) -> int:
        if right is None:
            return DIFFERENT
        if self.broadcasts:
            with suppress(ValueError):
                right = np.broadcast_to(right, np.broadcast_shapes(np.shape(left), np.shape(right)))
        if np.shape(left) != np.shape(right):
            return DIFFERENT
        if not np.allclose(left, right, rtol=1e-6, atol=1e-6, equal_nan=True):
            return ALIKE
        return UNDECIDED if np.isnan(left).all() else EQUAL


def _array(leaf: Leaf, number: int, rank: int | None, more: str) -> Any:
    """Return the value of a leaf: its own, or a sample; None if it has neither."""
    if leaf.value is not None:
        return leaf.value.value
    if rank is None:
        return None
    facts = leaf.facts if "zero" in leaf.facts else (*leaf.facts, more)
    value = sample(number, rank, facts)
    if leaf.dtype.kind == "b":
        return value > 0
    return (value % SIZE if leaf.dtype.kind == "i" else value).astype(leaf.dtype)


def _applied(step: Step, computed: Sequence[Any], parameters: dict[PatternVariable, Any]) -> Any:
    """Return what a step computes, or None where it or an operand does not exist."""
    head = step.head
    operands = [computed[x] if isinstance(x, int) else parameters[x] for x in step.operands]
    if any(x is None for x in operands):
        return None
    if isinstance(head, Suspended):
        return _conditioned(head, operands)
    try:
        if isinstance(head, OpPattern):
            head = head.cls(
                *[parameters[p] if isinstance(p, PatternVariable) else p for p in head.params]
            )
        return head.perform(*operands)
    except REFUSALS:
        return None


def _conditioned(condition: Suspended, operands: Sequence[Any]) -> Any:
    """Return what a condition computes from its arguments as an array, or None."""
    arrays = (np.ndarray, np.generic)
    try:
        node = condition.function(*[constant(x) if isinstance(x, arrays) else x for x in operands])
    except (*REFUSALS, AttributeError):  # of samples, which may not be what it is written for
        return None
    if isinstance(node, int | float):
        return np.asarray(float(node))
    return None if node is None else _value(node)


def _value(node: Variable) -> Any:
    """Return the value of a graph of constants, or None if it has none."""
    values: dict[Variable, Any] = {}
    try:
        for x in toposort(node):
            operands = [values[y] for y in x.inputs]
            values[x] = getattr(x, "value", None) if x.op is None else x.op.perform(*operands)
    except REFUSALS:
        return None
    return values[node]


@lru_cache(1024)
def _values(number: int) -> Array:
    """Return values between -5 and 5 that are not 0: powers of a primitive root, modulo a prime.

    There are ten thousand of them, so that two sums are not equal by chance.
    """
    count = SIZE**HIGHEST
    powers = [pow(5, count * number + k + 1, 10007) for k in range(count)]
    return (np.array(powers, _FLOAT) - 5003.5) / 1024


@lru_cache(1024)
def sample(number: int, rank: int, facts: tuple[str, ...] = ()) -> Array:
    """Return one of many arrays of a rank, of which the facts hold."""
    value = _values(number)[: SIZE**rank].reshape((SIZE,) * rank)
    if "zero" in facts:
        return value * 0
    if {"positive", "nonnegative", "nonzero"} & set(facts):
        value = np.abs(value) + 1
    if rank >= 2:
        if "diagonal" in facts:
            value = value * np.eye(SIZE)
        if "lower_triangular" in facts:
            value = np.tril(value)
        if "upper_triangular" in facts:
            value = np.triu(value)
        if "tridiagonal" in facts:
            value = np.triu(np.tril(value, 1), -1)
        if {"symmetric", "spd", "psd"} & set(facts):
            value = value + np.swapaxes(value, -1, -2)
        if {"permutation", "selection"} & set(facts):
            value = np.broadcast_to(np.roll(np.eye(SIZE), 1, 0), value.shape)
        elif "orthogonal" in facts:
            value = np.linalg.qr(value)[0]
        elif {"spd", "psd", "invertible"} & set(facts):
            value = value + 20 * np.eye(SIZE)
        if "identity" in facts:
            value = np.broadcast_to(np.eye(SIZE), value.shape)
    return value


class RankClasses:
    """The ranks of ``variables`` for which a clause with products holds.

    The values of ``parameters``, which an op of the clause leaves open, decide too.
    """

    def __init__(self, pattern: Term, result: Term, conditions: Sequence[Suspended]) -> None:
        terms = [x for side in (pattern, result) for x in subterms(side)]
        own = dict.fromkeys(v for x in terms if isinstance(x, Block) for v in x.own)
        self.parameters = tuple(dict.fromkeys(p for x in terms for p in _open_parameters(x)))
        self.variables = tuple(
            v for v in variables(pattern) if v not in own and v not in self.parameters
        )
        # The terms of a block take their rank from the operands beside them.
        self._ranks_of_terms: list[Ranks] = [(r,) for r in RANKS] if own else [()]
        self._sides = sides = Sides()
        numbers: dict[Any, Any] = {p: p for p in self.parameters}
        indices = index_operands(terms)
        for place, v in enumerate(self.variables):
            dtype = np.dtype(np.int64) if v in indices else _FLOAT
            numbers[v] = sides.leaf(Leaf(place, facts=_asked(conditions, v), dtype=dtype))
        for v in own:
            leaf = Leaf(len(self.variables))
            numbers[v] = (sides.leaf(leaf), sides.leaf(leaf))
        for x in terms:
            if isinstance(x, Variable):
                numbers[x] = sides.leaf(_leaf_of(x, None))
        for c in conditions:
            if c.kind == "calc" and c.args[0] not in self.parameters:
                number = sides.step(c, [_entry(sides, x, numbers) for x in c.args[1:]])
                numbers[c.args[0]] = number
                if not getattr(c.function, "of_type", False):
                    sides.of_values.append(number)
        sides.left = _entry(sides, pattern, numbers)
        sides.right = _entry(sides, result, numbers)
        sides.broadcasts = not isinstance(result, PatternNode | Block)
        self._allowed: dict[tuple[Ranks, tuple[Any, ...]], bool] = {}
        self._tables: dict[tuple[Any, ...], tuple[dict[Ranks, int], int]] = {}

    @staticmethod
    def of(pattern: Term, result: Term, conditions: Sequence[Suspended]) -> RankClasses | None:
        """Return the rank classes of two sides, or None if they have no product of variables."""
        for side in (pattern, result):
            for x in subterms(side):
                if isinstance(x, PatternNode) and isinstance(x.op, Matmul):
                    classes = RankClasses(pattern, result, conditions)
                    return classes if classes.variables else None
        return None

    def __call__(self, ranks: Ranks, parameters: tuple[Any, ...] = ()) -> bool:
        """Return True if the clause holds for operands of these ranks and op parameters."""
        allowed = self._allowed.get((ranks, parameters))
        if allowed is None:
            outcomes, least = self._table(parameters)
            lowered = tuple([min(r, HIGHEST) for r in ranks])
            if lowered not in outcomes:
                asked = self._outcomes(lowered, parameters)
                outcomes[lowered] = asked.get(lowered, ABSENT)
            allowed = self._allowed[ranks, parameters] = outcomes[lowered] >= least
        return allowed

    def known(self) -> dict[tuple[Ranks, tuple[Any, ...]], bool]:
        """Return what it has answered so far, by ranks and parameters."""
        return dict(self._allowed)

    def classes(self, parameters: tuple[Any, ...] = ()) -> frozenset[Ranks]:
        """Return the combinations of ranks for which the clause holds, of at most four operands."""
        outcomes, least = self._table(parameters)
        return frozenset(ranks for ranks, outcome in outcomes.items() if outcome >= least)

    def _table(self, parameters: tuple[Any, ...]) -> tuple[dict[Ranks, int], int]:
        """Return the outcomes by ranks, and the least one for which the clause holds."""
        if parameters not in self._tables:
            outcomes = self._outcomes(_varying(len(self.variables)), parameters)
            least = EQUAL if EQUAL in outcomes.values() else UNDECIDED
            self._tables[parameters] = outcomes, least
        return self._tables[parameters]

    def _outcomes(
        self, ranks: Sequence[int | None], parameters: tuple[Any, ...]
    ) -> dict[Ranks, int]:
        """Return the outcomes for the ranks of the variables: the worst for any terms of blocks."""
        named = dict(zip(self.parameters, parameters, strict=True))
        outcomes: dict[Ranks, int] = {}
        for of_terms in self._ranks_of_terms:
            for key, outcome in self._sides.outcomes((*ranks, *of_terms), named).items():
                key = key[: len(ranks)]
                outcomes[key] = min(outcome, outcomes.get(key, EQUAL))
        return outcomes


def _varying(number: int) -> list[int | None]:
    """Return the ranks of operands, None where they vary."""
    return [2] * (number - FREE) + [None] * min(number, FREE)


def takes_key(op: Op | OpPattern | PatternVariable) -> bool:
    """Return True if an op takes the operands of a key."""
    return "spec" in getattr(_head(op), "parameters", ())


def key_operands(x: PatternNode) -> tuple[Term, ...]:
    """Return the operands of an application that are those of its key."""
    return x.args[1 if _head(x.op).rearranges else 2 :] if takes_key(x.op) else ()


def index_operands(terms: Iterable[Term]) -> frozenset[PatternVariable]:
    """Return the variables that stand for the integers in a key."""
    indices = [y for x in terms if isinstance(x, PatternNode) for y in key_operands(x)]
    return frozenset(v for v in indices if isinstance(v, PatternVariable))


def _head(op: Any) -> Any:
    return op.cls if isinstance(op, OpPattern) else type(op)


def _open_parameters(term: Term) -> list[PatternVariable]:
    op = term.op if isinstance(term, PatternNode) else None
    return [p for p in op.params if isinstance(p, PatternVariable)] if type(op) is OpPattern else []


def _entry(sides: Sides, term: Term, numbers: dict[Any, Any]) -> Any:
    """Append a term to the sides and return its number, or the parameter that it is."""
    if isinstance(term, PatternNode):
        return sides.step(term.op, [_entry(sides, x, numbers) for x in term.args])
    if isinstance(term, Block):
        own = term.own[0]
        return sides.step(
            term.op, [_entry(sides, term.element, {**numbers, own: i}) for i in numbers[own]]
        )
    if isinstance(term, int | float):
        return sides.leaf(Leaf(value=constant(float(term))))
    if term not in numbers:
        numbers[term] = sides.leaf(Leaf())
    return numbers[term]


def _leaf_of(node: Variable, place: int | None) -> Leaf:
    """Return a node as an operand of both sides."""
    if isinstance(node, Constant) and not node.ndim:
        return Leaf(value=node)
    facts = tuple([name for name in _FACTS if fact(node, name)])
    return Leaf(place, node.ndim, facts, node.dtype if place is not None else _FLOAT)


def _asked(conditions: Iterable[Suspended], variable: PatternVariable) -> tuple[str, ...]:
    """Return the facts that conditions ask of a variable."""
    mine = [c for c in conditions if c.args == (variable,)]
    if any(c.label.startswith("zero(") for c in mine):
        return ("zero",)
    return tuple([name for c in mine if (name := fact_asked(c)) is not None])


# Answers of kanren.

_remembered: OrderedDict[tuple[Any, ...], bool] = OrderedDict()
_lock = forks.lock()


def lawful(place: Variable, built: Variable, changed: Sequence[Variable]) -> bool:
    """Return True if a node and the answer for it are equal for operands of their ranks.

    ``changed`` are the applications that only one of them has.  The answer is trusted if there is
    no product among them, if the node cannot be computed from samples, and if both are equal for no
    ranks at all.
    """
    if not any(isinstance(x.op, Matmul) for x in changed):
        return True
    order = _ordered((built, place), set(changed))
    leaves = list(dict.fromkeys(y for x in order for y in x.inputs if y not in order))
    if not all(isinstance(x.type, TensorType) for x in leaves):
        return True
    sides = Sides()
    numbers: dict[Variable, int] = {}
    ranks: Ranks = ()
    for x in leaves:
        leaf = _leaf_of(x, len(ranks))
        numbers[x] = sides.leaf(leaf)
        if leaf.value is None:
            ranks += (min(x.ndim, HIGHEST),)
    for x in order:
        assert x.op is not None
        numbers[x] = sides.step(x.op, [numbers[y] for y in x.inputs])
    if place not in numbers or built not in numbers:
        return True
    sides.left, sides.right = numbers[place], numbers[built]
    key = (*sides.entries, sides.left, sides.right, ranks)
    with _lock:
        known = _remembered.get(key)
        if known is not None:
            _remembered.move_to_end(key)
            return known
    equal = all(x in (EQUAL, UNDECIDED) for x in sides.outcomes(ranks, {}).values())
    if not equal:
        equal = EQUAL not in sides.outcomes(_varying(len(ranks)), {}).values()
    with _lock:
        _remembered[key] = equal
        while len(_remembered) > KEPT:
            _remembered.popitem(last=False)
    return equal


def _ordered(roots: Iterable[Variable], inside: set[Variable]) -> dict[Variable, None]:
    """Return some nodes below roots, operands first and those of the last root first."""
    order: dict[Variable, None] = {}
    stack = [(x, False) for x in roots]
    while stack:
        x, done = stack.pop()
        if done:
            order[x] = None
        elif x in inside and x not in order:
            stack.append((x, True))
            stack.extend((y, False) for y in x.inputs)
    return order
