"""Both sides of a clause as graphs, with inputs of some shapes and dtypes, and parameters.

Combinations that an op or a side condition rejects are left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from math import prod
from typing import Any

import numpy as np

from relgraph.checking.generators.shapes import Shape, choices_of, parameters_of
from relgraph.errors import DomainError, RelationError, RelgraphError
from relgraph.ir.facts import check_consistent
from relgraph.ir.graph import free_inputs
from relgraph.ir.node import Apply, Input, Variable, constant, make_input
from relgraph.ir.types import TensorType
from relgraph.ops.arguments import is_open
from relgraph.relations.catalogue.conditions import Number
from relgraph.relations.clause import Clause
from relgraph.relations.generated_names import opened
from relgraph.relations.kanren.goals import condition_failed
from relgraph.relations.pattern import (
    OpPattern,
    PatternNode,
    PatternVariable,
    subterms,
    variables,
)
from relgraph.relations.rank_classes import index_operands

Refused = set[tuple[Any, ...]]  # ops with operands that they reject
INVALID = (RelgraphError, IndexError, TypeError, ValueError)  # from operands that do not fit


@dataclass(frozen=True)
class Instance:
    """The two sides of a clause as graphs, and the inputs they have in common."""

    left: Variable
    right: Variable
    inputs: tuple[Input, ...]

    def __str__(self) -> str:
        types = ", ".join(f"{x.name}: {x.type}" for x in self.inputs)
        return f"{self.left} = {self.right} ({types})"


def build(term: Any, values: dict[Any, Any], refused: Refused) -> Any:
    """Return the graph of a pattern, with nodes and parameters for its variables.

    ``refused`` collects the operands that ops reject: these are most combinations, and raising an
    error takes longer than building a graph.
    """
    if isinstance(term, PatternVariable):
        return values[term]
    if isinstance(term, PatternNode):
        op = term.op
        if isinstance(op, OpPattern):
            op = op.cls(
                *[values.get(p, p) if isinstance(p, PatternVariable) else p for p in op.params]
            )
        operands = [build(x, values, refused) for x in term.args]
        return _applied(op, [constant(x) if isinstance(x, bool) else x for x in operands], refused)
    return term


def _applied(op: Any, operands: list[Any], refused: Refused) -> Any:
    """Apply an op, unless it has already rejected such operands."""
    key = op, *map(_kind, operands)
    if key in refused:
        raise TypeError(f"{op.name} refuses these operands")
    try:
        return op(*operands)
    except RelgraphError:
        refused.add(key)
        raise


def _kind(x: Any) -> Any:
    """Return a key of what an op rejects an operand by; 1, 1.0 and True get different keys."""
    if isinstance(x, Input | Apply):
        return x.type
    return x if isinstance(x, Variable) else (type(x), x)


class Roles:
    """What the variables of a clause stand for, apart from inputs of any shape and dtype.

    Attributes
    ----------
    fixed : tuple of Input
        The inputs of graph nodes in the clause, which stand for themselves.
    names : list of str
        The names of other inputs.
    shapes : list of tuple
        Shapes that fit together with the fixed inputs.
    indices : frozenset of PatternVariable
        The integers in a key.
    zeros : frozenset
        The tokens of variables that must be arrays of zeros.
    examples : dict of object to tuple of float
        By token, the constants that conditions name as examples of valid values.
    coefficients : set of PatternVariable
        Those that must be coefficients.
    """

    def __init__(self, clause: Clause) -> None:
        self.fixed = tuple(fixed_inputs(clause))
        fixed_names = {x.name for x in self.fixed}
        names = [*"xyzwuvabcdefgh", *(f"x{i}" for i in range(10))]
        self.names = [name for name in names if name not in fixed_names]
        sizes = dict.fromkeys(d for x in self.fixed for d in x.type.shape)
        shapes = [*(x.type.shape for x in self.fixed), *((d,) for d in sizes)]
        self.shapes: list[Shape] = list(dict.fromkeys(shapes))
        self.indices = index_operands([*subterms(clause.left), *subterms(clause.right)])
        conditions = clause.conditions
        self.zeros = frozenset(token(c.args[0]) for c in conditions if c.label.startswith("zero("))
        self.examples = examples_of(clause)
        self.coefficients = {c.args[0] for c in conditions if c.label.startswith("coefficient(")}


class Operands(Roles):
    """The operands of both sides of a clause, and the parameters that no condition computes.

    Attributes
    ----------
    operands, parameters : list of PatternVariable
        The variables to draw for.
    refused : set
        The operands that ops rejected while graphs of the clause were built.
    """

    def __init__(self, clause: Clause, *, facts: bool = True) -> None:
        super().__init__(clause)
        fields = parameters_of(clause.left, clause.right)
        right = variables(clause.right)
        both = dict.fromkeys([*variables(clause.left), *right])
        computed, used = set(), set[Any]()
        for c in clause.conditions:
            if c.kind == "calc" and c.args[0] not in used:  # otherwise it inverts another condition
                computed.add(c.args[0])
                used.update(c.args[1:])
        self.operands = [v for v in both if v not in fields and v not in computed]
        self.parameters = [v for v in both if v in fields and v not in computed]
        self.facts = {v: facts_of(clause, v) if facts else () for v in self.operands}
        self.constants = {
            c.args[1]
            for c in clause.conditions
            if c.kind == "calc"
            and c.args[0] in right
            and c.args[0] not in fields
            and not getattr(c.function, "of_type", False)
        } - set(self.parameters)  # the arguments of a computed number must be numbers
        self.refused: Refused = set()
        self._operands: dict[Any, Variable | None] = {}

    def operand(self, number: int, shape: Shape, dtype: str) -> Variable | None:
        """Return operand ``number`` with this type, or None if there is none."""
        key = number, shape, dtype
        if key not in self._operands:
            self._operands[key] = self._operand(number, shape, dtype)
        return self._operands[key]

    def _operand(self, number: int, shape: Shape, dtype: str) -> Variable | None:
        v = self.operands[number]
        examples = self.examples.get(token(v))
        if (v in self.indices and dtype != "bool") or token(v) in self.zeros:
            return constant(np.zeros(shape, dtype))  # index 0 is the first of an axis
        if examples is not None:
            example = examples[(number + sum(shape)) % len(examples)]
            return constant(np.full(shape, example).astype(dtype))
        if v in self.coefficients:
            return constant(np.full(shape, number + 2, dtype))
        if v in self.constants:
            size = int(np.prod(shape))
            return constant((np.arange(size) - 1).reshape(shape).astype(dtype))
        if ("negative" in self.facts[v] and dtype[0] in "bu") or not _consistent(self.facts[v]):
            return None  # no such operand exists
        return make_input(self.names[number], TensorType(dtype, shape), self.facts[v])


def instances(
    clause: Clause,
    shapes: Sequence[Shape],
    dtypes: tuple[str, ...] = ("float64",),
    facts: bool = True,
    *,
    draws: int = 3000,
    name: str = "",
) -> Iterator[Instance]:
    """Yield instances of a clause, the same ones in every run.

    With several dtypes, each input draws its own.  ``facts`` says whether inputs declare the facts
    that the clause requires, and ``draws`` bounds the combinations to try.  With the ``name`` of
    the relation, a computed parameter that no op accepts is an error; without it, that combination
    is left out.
    """
    roles = Operands(clause, facts=facts)
    if len({x.name for x in roles.fixed}) < len(roles.fixed):
        return  # a mapping gives values by name
    masks = [(shape, "bool") for shape in shapes if "bool" in dtypes]
    index_types = [((), "int64"), ((2,), "int64"), *masks]
    types = list(product([*roles.shapes, *shapes], dtypes))
    choices: list[list[Any]] = [
        index_types if v in roles.indices else types for v in roles.operands
    ]
    parameters = choices_of(clause, clause.left, clause.right)
    choices += [parameters[v] for v in roles.parameters]
    rng = random.Random(str(clause))
    combinations: Iterable[tuple[Any, ...]]
    if prod(map(len, choices)) <= draws:
        first, *rest = product(*choices)
        rng.shuffle(rest)
        combinations = (first, *rest)
    else:
        others = (tuple(rng.choice(c) for c in choices) for _ in range(draws))
        combinations = chain((tuple(c[0] for c in choices),), others)
    built = (_instance(clause, roles, combination, name) for combination in combinations)
    yield from filter(None, built)


def _instance(
    clause: Clause, roles: Operands, combination: tuple[Any, ...], name: str
) -> Instance | None:
    operands = roles.operands
    types = combination[: len(operands)]
    if not roles.indices.isdisjoint(operands) and any(0 in shape for shape, _ in types):
        return None  # the axis has no element that a key could select
    values: dict[Any, Any] = dict(zip(roles.parameters, combination[len(operands) :], strict=True))
    try:
        for i, (v, (shape, dtype)) in enumerate(zip(operands, types, strict=True)):
            values[v] = roles.operand(i, shape, dtype)
            if values[v] is None:
                return None
        by_token = {token(v): x for v, x in values.items()}
        for c in clause.conditions:
            terms = c.args[1:] if c.kind == "calc" else c.args
            args = [
                build(x, values, roles.refused) if type(x) is PatternNode else by_token[token(x)]
                for x in terms
            ]
            if c.kind == "calc":
                result = c.function(*args)
                if result is None:
                    return None
                values[c.args[0]] = by_token[token(c.args[0])] = result
            elif not isinstance(c.function, partial) and not c.function(*args):
                return None
    except INVALID:
        return None
    except Exception as error:  # an error in a condition, reported as during rewriting
        raise condition_failed(c.label, args, error, name) from error
    try:
        left, right = (build(side, values, roles.refused) for side in (clause.left, clause.right))
    except INVALID as error:
        wrong = _wrong_parameter(clause, values, roles.refused, name) if name else None
        if wrong is not None:
            raise wrong from error
        return None
    if not isinstance(left, Variable):
        return None
    inputs = [values[v] for v in operands if isinstance(values[v], Input)]
    return Instance(left, right, (*inputs, *roles.fixed))


def _wrong_parameter(
    clause: Clause, values: dict[Any, Any], refused: Refused, name: str
) -> RelationError | None:
    """Return the error for a computed parameter that its op never accepts, or None.

    Only parameters computed from a side that can be built count; other sides may compute anything.
    """
    computed = {c.args[0]: repr(c) for c in clause.conditions if c.kind == "calc"}
    for side in (clause.left, clause.right) if computed else ():
        if not any(v in computed for v in variables(side)):
            try:
                build(side, values, refused)
            except INVALID:
                return None
    for x in chain(subterms(clause.left), subterms(clause.right)):
        op = x.op if isinstance(x, PatternNode) else None
        if isinstance(op, OpPattern) and any(p in computed for p in op.params):
            conditions = ", ".join(computed[p] for p in op.params if p in computed)
            params = tuple(values.get(p, p) if is_open(p) else p for p in op.params)
            try:
                opened(op.cls, params, name, conditions)
            except RelationError as error:
                return error
    return None


def _consistent(facts: Iterable[str]) -> bool:
    """Return True if an array can have all of these facts."""
    with suppress(DomainError):
        check_consistent("an operand", facts)
        return True
    return False


# What a clause says of its variables.


def token(x: Any) -> Any:
    """Return what identifies a variable in conditions and patterns alike."""
    return x.token if isinstance(x, PatternVariable) else x


def facts_of(clause: Any, v: PatternVariable) -> tuple[str, ...]:
    """Return the facts that a clause requires of a variable."""
    return tuple(
        c.function.args[0]
        for c in clause.conditions
        if c.kind == "check" and isinstance(c.function, partial) and token(c.args[0]) == token(v)
    )


def fixed_inputs(*clauses: Clause) -> list[Input]:
    """Return the inputs of graph nodes inside clauses, which stand for themselves."""
    terms = [x for c in clauses for side in (c.left, c.right) for x in subterms(side)]
    return free_inputs([x for x in terms if isinstance(x, Variable)])


def input_names(clause: Clause) -> dict[str, str]:
    """Return the names of the inputs that replace the operands of a clause, by variable."""
    roles = Operands(clause)
    return {v.name: name for v, name in zip(roles.operands, roles.names, strict=False)}


def examples_of(clause: Clause) -> dict[Any, tuple[float, ...]]:
    """Return the constants that conditions name as examples of valid values, by token."""
    functions = [(c.args[0], getattr(c.function, "function", None)) for c in clause.conditions]
    return {token(x): f.examples for x, f in functions if isinstance(f, Number)}
