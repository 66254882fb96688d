"""Graphs built from the sides of a relation, and the answers of the engine and kanren for them.

An instance gives every variable of a clause an input of some shape and dtype, and every open
parameter a value.  It omits combinations that an op or a side condition rejects.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, islice, product
from typing import Any

import numpy as np

from relgraph.errors import DomainError, RelationError, RelgraphError
from relgraph.ir.etuple import raise_
from relgraph.ir.facts import check_consistent
from relgraph.ir.graph import free_inputs
from relgraph.ir.node import Apply, Input, Variable, apply, constant, make_input
from relgraph.ir.types import TensorType
from relgraph.ops.arguments import is_open
from relgraph.ops.indexing.index import Index
from relgraph.ops.shape import BroadcastTo, Reshape
from relgraph.relations.ac_matcher import AcMatcher
from relgraph.relations.catalogue.conditions import Number
from relgraph.relations.declaration import axis_kinds
from relgraph.relations.generated_names import opened
from relgraph.relations.kanren.goals import condition_failed
from relgraph.relations.nary import leaves
from relgraph.relations.pattern import (
    OpPattern,
    PatternNode,
    PatternVariable,
    subterms,
    variables,
)
from relgraph.rewriting.selection import selection_of

SHAPES = {
    "elementwise": [(3,), (), (0,), (2, 3), (1, 3), (2, 1)],
    "reductions": [(2, 3), (3,), (), (0, 3), (1, 3), (2, 1, 3)],
    "shape": [(2, 3), (6,), (2, 1, 3), (1, 3), (1,), (0, 3), (1, 1, 2)],
    "linalg": [(3, 3), (3,), (2, 3, 3), (), (2, 3), (3, 2), (3, 1), (1, 3)],
    "indexing": [(4, 3), (3,), (), (4,), (2, 4, 3), (1, 3), (0, 3)],
    "cumulative": [(2, 3), (2,), (3,), (4, 3), (2, 4, 3), (1, 3), (0, 3), (2, 1)],
}
PARAMETERS: dict[str, list[Any]] = {
    "axis": [(-1,), None, (-2,), (-2, -1), (), (-3,)],
    "axes": [(-1,), (-2,), (-1, -2), (-2, -1), (-1, -3, -2), (-2, -3, -1), (-3, -1, -2)],
    "keepdims": [False, True],
    "shape": [(2, 3), (6,), (3, 2), (-1,), (1, 6), (1, 2, 3), (3, -1), (4, 2, 3), (None,),
              (None, 3), (None, None)],
    "dtype": ["float64", "float32", "int64", "int8"],
    "n": [3], "m": [3], "k": [0], "lower": [True, False], "full_matrices": [False, True],
    "mode": ["reduced", "complete"],
    "message": ["it does not hold"],
    "assume": ["general", "spd"], "trans": [0, 1], "unit_diagonal": [False, True], "index": [0, 1],
    "facts": [("positive",), ("finite",)], "subscripts": ["ab,bc->ac", "ab->ba", "a,a->"],
    "spec": [
        (("int", 1),), (("slice", None, 2, None),), (("slice", 2, None, None),),
        (("slice", None, None, None), ("int", 1)), (("int", 0),), (),
        (("slice", None, None, None), ("slice", None, 1, None)), (("int", 3), ("int", 2)),
        (("slice", 1, 2, None),), (("dynamic",),), (("slice", None, None, None), ("dynamic",)),
        (("slice", 1, None, 2),), (("array",),), (("slice", 1, None, None),),
        (("slice", None, None, None), ("array",)),
        (("slice", None, 1, None),), (("slice", None, None, None), ("slice", 1, None, None)),
    ],
}  # fmt: skip
ONE_AXIS: list[Any] = [-1, -2]  # of ops that accept only one, such as softmax
# The shapes to draw from, for the themes that are not elementwise.
SHAPES_OF = {
    "linalg": "linalg", "products": "linalg", "structure": "linalg", "blocks": "linalg",
    "decompositions": "linalg",
    "reductions": "reductions", "shape": "shape", "axes": "shape", "checks": "shape",
    "indexing": "indexing", "updates": "indexing", "cumulative": "cumulative",
}  # fmt: skip
# For graphs built from one side: unknown and named sizes, and sizes that do not fit the other side.
OPEN_SHAPES: dict[str, list[tuple[Any, ...]]] = {
    "elementwise": [(), (None,), (1,), (0,), (3,), ("n",), (None, 3), (1, None), (2, 1)],
    "reductions": [(), (None,), (1,), (0,), (None, None), (1, None), (2, 3), (None, 1, "n")],
    "shape": [(None,), (1,), (6,), (None, 3), (1, None), (0, 2), (2, 3), (None, 1, None), (1, 1)],
    "linalg": [
        (None,), (1,), (3,), ("n",), (None, None), (None, None), ("n", "n"), (3, 3), (1, None),
        (None, 1), (0, 0), (3, 1), (1, 1), (2, None, None), (None, 3, 3), (),
    ],
    "indexing": [(None,), (), (3,), (4, None), (None, 3), (None, None), (1, 3), (2, 4, None)],
    "cumulative": [(None,), (2,), (3,), (2, None), (None, 2), (None, None), (1, 3), (2, 4, None)],
}  # fmt: skip
# Other sizes than those of SHAPES: a relation may contain a size as a number.
OTHER_SHAPES = {
    theme: [tuple({2: 4, 3: 5}.get(d, d) for d in shape) for shape in shapes]
    for theme, shapes in SHAPES.items()
}
# Sizes that are all equal.  Types then reveal the least: a relation that confuses axes or
# transposes a matrix keeps the type.
EQUAL_SHAPES = {
    theme: [(4,) * n if theme == "indexing" else (3,) * n for n in (2, 3, 1, 4, 0)]
    for theme in SHAPES
}
# Shapes for the smallest counterexample, smallest first.
SMALL_SHAPES = {
    "elementwise": [(), (1,), (2,), (1, 2)],
    "reductions": [(), (1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2), (2, 2, 2)],
    "shape": [(1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2), (1, 1, 2), (2, 2, 2)],
    "linalg": [(), (1,), (2,), (1, 1), (2, 1), (1, 2), (2, 2), (1, 2, 2)],
    "indexing": [(), (2,), (1,), (2, 2), (4,), (4, 3)],
    "cumulative": [(1,), (2,), (1, 2), (2, 1), (2, 2), (4,)],
}


@dataclass(frozen=True)
class Instance:
    """The two sides of a clause as graphs, and the inputs they have in common."""

    left: Variable
    right: Variable
    inputs: tuple[Input, ...]

    def __str__(self) -> str:
        types = ", ".join(f"{x.name}: {x.type}" for x in self.inputs)
        return f"{self.left} = {self.right} ({types})"


def fields_of(clause: Any) -> dict[PatternVariable, str]:
    """Return the open parameters of a clause, with the ``op.name`` of each."""
    found: dict[PatternVariable, str] = {}
    for side in (clause.left, clause.right):
        for x in subterms(side):
            if isinstance(x, PatternNode) and isinstance(x.op, OpPattern):
                for name, value in zip(x.op.cls.parameters, x.op.params, strict=True):
                    if isinstance(value, PatternVariable):
                        found[value] = f"{x.op.cls.name}.{name}"
    return found


def facts_of(clause: Any, v: PatternVariable) -> tuple[str, ...]:
    """Return the facts that a clause requires of a variable."""
    return tuple(
        c.function.args[0]
        for c in clause.conditions
        if c.kind == "check" and isinstance(c.function, partial) and token(c.args[0]) == token(v)
    )


def token(x: Any) -> Any:
    return x.token if isinstance(x, PatternVariable) else x


def is_pointwise(clause: Any) -> bool:
    """Return True if both sides are elementwise."""
    return all(
        x.op.cls.pointwise if isinstance(x.op, OpPattern) else x.op.pointwise
        for side in (clause.left, clause.right)
        for x in subterms(side)
        if isinstance(x, PatternNode)
    )


Refused = set[tuple[Any, ...]]  # ops with operands that they reject


def build(term: Any, values: dict[Any, Any], refused: Refused) -> Any:
    """Return the graph of a pattern, given nodes and parameters for its variables.

    Parameters
    ----------
    term : pattern or graph
        The pattern or graph to build.
    values : dict
        The value of each variable.
    refused : set
        The operands that ops rejected in earlier calls; this call adds its own.  Ops reject most
        combinations, and raising an error takes longer than building a graph.
    """
    if isinstance(term, PatternVariable):
        return values[term]
    if isinstance(term, PatternNode):
        op = term.op
        if isinstance(op, OpPattern):
            op = op.cls(
                *[values.get(p, p) if isinstance(p, PatternVariable) else p for p in op.params]
            )
        parts = [build(x, values, refused) for x in term.args]
        return _applied(op, [constant(x) if isinstance(x, bool) else x for x in parts], refused)
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


def instances(
    clause: Any,
    theme: str,
    dtypes: tuple[str, ...] = ("float64",),
    most: int = 24,
    facts: bool = True,
    *,
    shapes: dict[str, list[Any]] | None = None,
    draws: int = 3000,
    name: str = "",
) -> list[Instance]:
    """Return instances of a clause, the same ones in every run; see :func:`each_instance`."""
    found = each_instance(clause, theme, dtypes, facts, shapes=shapes, draws=draws, name=name)
    return list(islice(found, most))


def each_instance(
    clause: Any,
    theme: str,
    dtypes: tuple[str, ...] = ("float64",),
    facts: bool = True,
    *,
    shapes: dict[str, list[Any]] | None = None,
    draws: int = 3000,
    name: str = "",
) -> Iterator[Instance]:
    """Yield instances of a clause lazily, the same ones in every run.

    Parameters
    ----------
    clause : Clause
        With its conditions.
    theme : str
        Whose shapes to draw from.
    dtypes : tuple of str
        The dtypes that inputs may have; with several, each input draws its own.
    facts : bool
        Whether inputs declare the facts that the clause requires.
    shapes : dict of str to list, optional
        The shapes of each theme; by default ``SHAPES``.
    draws : int
        The largest number of combinations to try.
    name : str
        The name of the relation.  With it, a computed parameter that no op accepts is an error;
        without it, that combination is left out.

    Raises
    ------
    RelationError
        If a condition computes a parameter that its op never accepts.
    """
    roles = Roles(clause, facts=facts, name=name)
    fields, operands, open_, keys = roles.fields, roles.operands, roles.open_, roles.keys
    own = roles.own
    if len({x.name for x in own}) < len(own):
        return  # a mapping gives values by name
    fitting = [*shapes_beside(own), *(shapes or SHAPES)[theme]]
    choices: list[list[Any]] = [
        [((), "int64"), ((2,), "int64")] if v in keys else list(product(fitting, dtypes))
        for v in operands
    ]
    choices += [parameters_of(clause, v, fields[v]) for v in open_]
    rng = random.Random(str(clause))
    count = 1
    for c in choices:
        count *= len(c)
    drawn: Iterable[tuple[Any, ...]]
    if count <= draws:
        first, *rest = product(*choices)
        rng.shuffle(rest)
        drawn = (first, *rest)
    else:
        others = (tuple(rng.choice(c) for c in choices) for _ in range(draws))
        drawn = chain((tuple(c[0] for c in choices),), others)
    made = (_instance(clause, roles, one) for one in drawn)
    yield from filter(None, made)


def _consistent(facts: Iterable[str]) -> bool:
    """Return True if an array can have all of these facts."""
    with suppress(DomainError):
        check_consistent("an operand", facts)
        return True
    return False


class Roles:
    """The roles of a clause's variables: operands, with facts, and parameters.

    Parameters
    ----------
    clause : Clause
        With its conditions.
    facts : bool
        Whether operands declare the facts that the clause requires.
    name : str
        Of the relation.

    Attributes
    ----------
    fields : dict of PatternVariable to str
        The open parameters.
    operands, open_ : list of PatternVariable
        The variables to draw for: operands, and parameters that no condition computes.
    refused : set
        The operands that ops rejected while graphs of the clause were built.
    """

    def __init__(self, clause: Any, *, facts: bool, name: str) -> None:
        self.name = name
        self.fields = fields = fields_of(clause)
        right = variables(clause.right)
        both = dict.fromkeys([*variables(clause.left), *right])
        computed, used = set(), set[Any]()
        for c in clause.conditions:
            if c.kind == "calc" and c.args[0] not in used:  # otherwise it inverts another condition
                computed.add(c.args[0])
                used.update(c.args[1:])
        self.operands = operands = [v for v in both if v not in fields and v not in computed]
        self.open_ = open_ = [v for v in both if v in fields and v not in computed]
        self.asked = {v: facts_of(clause, v) if facts else () for v in operands}
        self.keys = index_operands(clause)  # integers in a key
        self.own = tuple(own_inputs(clause))  # of the graph nodes in the clause
        self.names = names_beside(self.own)
        self.zeros, self.examples = zeros_of(clause), examples_of(clause)
        self.coefficients = {
            c.args[0] for c in clause.conditions if c.label.startswith("coefficient(")
        }
        self.constants = {
            c.args[1]
            for c in clause.conditions
            if c.kind == "calc"
            and c.args[0] in right
            and c.args[0] not in fields
            and not getattr(c.function, "of_type", False)
        } - set(open_)  # the arguments of a computed number must be numbers
        self.refused: Refused = set()
        self._made: dict[Any, Variable | None] = {}

    def operand(self, number: int, shape: tuple[int, ...], dtype: str) -> Variable | None:
        """Return an operand of a type, or None if there is none.

        Parameters
        ----------
        number : int
            Its index among the operands.
        shape, dtype : tuple of int, str
            Of the operand.
        """
        key = number, shape, dtype
        if key not in self._made:
            self._made[key] = self._operand(number, shape, dtype)
        return self._made[key]

    def _operand(self, number: int, shape: tuple[int, ...], dtype: str) -> Variable | None:
        v = self.operands[number]
        examples = self.examples.get(token(v))
        if v in self.keys or token(v) in self.zeros:
            return constant(np.zeros(shape, dtype))  # for keys index 0, the first of an axis
        if examples is not None:
            one = examples[(number + sum(shape)) % len(examples)]
            return constant(np.full(shape, one).astype(dtype))
        if v in self.coefficients:
            return constant(np.full(shape, number + 2, dtype))
        if v in self.constants:
            return _constant(dtype, shape)
        if ("negative" in self.asked[v] and dtype[0] in "bu") or not _consistent(self.asked[v]):
            return None  # no such operand exists
        return make_input(self.names[number], TensorType(dtype, shape), self.asked[v])


def input_names(clause: Any) -> dict[str, str]:
    """Return the names of the inputs that replace the operands of a clause, by variable."""
    roles = Roles(clause, facts=False, name="")
    return {v.name: name for v, name in zip(roles.operands, roles.names, strict=False)}


def zeros_of(clause: Any) -> frozenset[Any]:
    """Return the tokens of the variables that a clause requires to be arrays of zeros."""
    return frozenset(token(c.args[0]) for c in clause.conditions if c.label.startswith("zero("))


def own_inputs(*clauses: Any) -> list[Input]:
    """Return the inputs of graph nodes inside clauses, which stand for themselves."""
    terms = [x for c in clauses for side in (c.left, c.right) for x in subterms(side)]
    return free_inputs([x for x in terms if isinstance(x, Variable)])


def inputs_of(relation: Any, graph: Variable) -> list[Input]:
    """Return the inputs of a graph, and those of the relation's own graph nodes."""
    return list(dict.fromkeys([*free_inputs([graph]), *_own_inputs(relation)]))


@lru_cache(256)
def _own_inputs(relation: Any) -> tuple[Input, ...]:
    return tuple(own_inputs(*(relation.clauses or ())))


def names_beside(own: Sequence[Input]) -> list[str]:
    """Return input names for variables that differ from the names in ``own``."""
    taken = {x.name for x in own}
    names = [*"xyzwuvabcdefgh", *(f"x{i}" for i in range(10))]
    return [name for name in names if name not in taken]


def shapes_beside(own: Sequence[Input]) -> list[tuple[Any, ...]]:
    """Return shapes that fit together with the inputs of a clause's graph nodes."""
    sizes = dict.fromkeys(d for x in own for d in x.type.shape)
    return list(dict.fromkeys([*(x.type.shape for x in own), *((d,) for d in sizes)]))


def index_operands(clause: Any) -> frozenset[PatternVariable]:
    """Return the variables of a clause that stand for the integers in a key."""
    found = set()
    for side in (clause.left, clause.right):
        for x in subterms(side):
            op = getattr(x, "op", None)
            if isinstance(op, OpPattern) and "spec" in op.cls.parameters:
                found |= {*x.args[1 if op.cls is Index else 2 :]}
    return frozenset(v for v in found if isinstance(v, PatternVariable))


def parameters_of(clause: Any, v: PatternVariable, field: str) -> list[Any]:
    """Return the values to try for an open parameter of a clause, given its ``op.name``.

    A shape has as many unknown sizes as the operands supply.
    """
    name = field.partition(".")[2]
    if name == "axis":
        kinds = frozenset.intersection(*axis_kinds(clause)[v].values())
        return [x for x in ONE_AXIS + PARAMETERS[name] if type(x) in kinds]
    values = PARAMETERS[name]
    given = {
        len(x.args) - 1
        for side in (clause.left, clause.right)
        for x in subterms(side)
        if isinstance(x, PatternNode)
        and isinstance(x.op, OpPattern)
        and x.op.cls in (BroadcastTo, Reshape)
        and v in x.op.params
    }
    return [s for s in values if s.count(None) in given] or values if given else values


def _instance(clause: Any, roles: Roles, chosen: Any) -> Instance | None:
    operands = roles.operands
    shapes = chosen[: len(operands)]
    if not roles.keys.isdisjoint(operands) and any(0 in shape for shape, _ in shapes):
        return None  # the axis has no element that a key could select
    values: dict[Any, Any] = dict(zip(roles.open_, chosen[len(operands) :], strict=True))
    try:
        for i, (v, (shape, dtype)) in enumerate(zip(operands, shapes, strict=True)):
            values[v] = roles.operand(i, shape, dtype)
            if values[v] is None:
                return None
        tokens = {token(v): x for v, x in values.items()}
        for c in clause.conditions:
            given = [tokens[token(x)] for x in (c.args[1:] if c.kind == "calc" else c.args)]
            if c.kind == "calc":
                found = c.function(*given)
                if found is None:
                    return None
                values[c.args[0]] = tokens[token(c.args[0])] = found
            elif not isinstance(c.function, partial) and not c.function(*given):
                return None
    except (RelgraphError, IndexError, TypeError, ValueError):
        return None
    except Exception as error:  # an error in a condition, reported as during rewriting
        raise condition_failed(c.label, given, error, roles.name) from error
    try:
        left, right = (build(side, values, roles.refused) for side in (clause.left, clause.right))
    except (RelgraphError, IndexError, TypeError, ValueError) as error:
        wrong = _wrong_parameter(clause, values, roles) if roles.name else None
        if wrong is not None:
            raise wrong from error
        return None
    if not isinstance(left, Variable):
        return None
    drawn = [values[v] for v in operands if isinstance(values[v], Input)]
    return Instance(left, right, (*drawn, *roles.own))


def _wrong_parameter(clause: Any, values: dict[Any, Any], roles: Roles) -> RelationError | None:
    """Return the error for a computed parameter that its op never accepts, or None.

    Only parameters computed from a side that can be built count; other sides may compute anything.
    """
    computed = {c.args[0]: repr(c) for c in clause.conditions if c.kind == "calc"}
    for side in (clause.left, clause.right) if computed else ():
        if not any(v in computed for v in variables(side)):
            try:
                build(side, values, roles.refused)
            except (RelgraphError, IndexError, TypeError, ValueError):
                return None
    for x in chain(subterms(clause.left), subterms(clause.right)):
        op = x.op if isinstance(x, PatternNode) else None
        if isinstance(op, OpPattern) and any(p in computed for p in op.params):
            said = ", ".join(computed[p] for p in op.params if p in computed)
            given = tuple(values.get(p, p) if is_open(p) else p for p in op.params)
            try:
                opened(op.cls, given, roles.name, said)
            except RelationError as error:
                return error
    return None


def examples_of(clause: Any) -> dict[Any, tuple[float, ...]]:
    """Return the constants that conditions name as examples of valid values."""
    asked = [(c.args[0], getattr(c.function, "function", None)) for c in clause.conditions]
    return {token(x): f.examples for x, f in asked if isinstance(f, Number)}


def numbers_asked(clause: Any) -> list[float]:
    """Return the numbers that the conditions of a clause name."""
    asked = [x for examples in examples_of(clause).values() for x in examples]
    for c in clause.conditions:
        code = getattr(getattr(c.function, "function", c.function), "__code__", None)
        constants = code.co_consts if code is not None else ()
        asked += [x for x in constants if isinstance(x, int | float) and not isinstance(x, bool)]
    return [float(x) for x in asked if math.isfinite(x)]


def _constant(dtype: str, shape: tuple[int, ...]) -> Variable:
    size = int(np.prod(shape))
    return constant((np.arange(size) - 1).reshape(shape).astype(dtype))


# Answers of the engine and of kanren.


def match(relation: Any, node: Variable) -> Variable | None:
    """Return the compiled matcher's replacement of a node itself, or None."""
    selection = selection_of((relation,))
    op = node.op
    if op is None:
        return None
    found: Any = None
    matcher = selection.ac_of(op)
    if matcher is not None:
        found = matcher.pair(*node.inputs)
        if found is None and (selection.regroups or node.dtype.kind != "f"):
            return _matched_whole(matcher, node)
    else:
        compiled = selection.plain(op)
        found = compiled(node) if compiled is not None else None
    return None if found is None else found[0]


def _matched_whole(matcher: AcMatcher, node: Variable) -> Variable | None:
    """Return a matcher's replacement for all operands of a nested application, or None."""
    operands = leaves(node, matcher.op)
    if len(operands) < 3:
        return None
    view = matcher.view()
    steps = matcher.step(view, list(view.fill(operands)))
    return next((m.firing.result for m in steps if len(m.slots) == len(operands)), None)


def swaps(node: Variable, most: int = 64) -> list[Variable]:
    """Return variants of a graph with the operands of its commutative ops in every order."""
    if not isinstance(node, Apply):
        return [node]
    options = [swaps(x, most) for x in node.inputs]
    found: dict[Variable, None] = {}
    for inputs in islice(product(*options), most):
        found[apply(node.op, inputs)] = None
        if node.op.commutative:
            found[apply(node.op, inputs[::-1])] = None
    return list(found)[:most]


def answers(relation: Any, node: Variable) -> bool:
    """Return True if kanren has an answer of the node's type, in some order of operands."""
    for one in swaps(node):
        for term in relation.run(4, one):
            try:
                answer = (
                    raise_(term) if not isinstance(term, Variable | bool | int | float) else term
                )
            except (RelgraphError, TypeError, ValueError):
                continue
            if answer is not None:
                return True
    return False


def canonical(node: Any) -> Any:
    """Return a key that is equal for graphs equal up to order and bracketing of AC ops."""
    if not isinstance(node, Apply):
        return node
    op = node.op
    if op.associative and op.commutative:
        terms, stack = [], list(node.inputs)
        while stack:
            x = stack.pop()
            if x.op is op:
                stack.extend(x.inputs)
            else:
                terms.append(canonical(x))
        return op, tuple(sorted(terms, key=repr))
    inner = tuple(map(canonical, node.inputs))
    return op, tuple(sorted(inner, key=repr)) if op.commutative else inner
