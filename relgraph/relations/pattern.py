"""Patterns: the two sides of an identity, built with the same operators as graphs but untyped.

A pattern is a logic variable, a number, a graph node (which matches itself), or an op applied to
patterns.  An op may be open: a class whose parameters are logic variables.  It may also be a logic
variable itself, which stands for any op of a kind.  Patterns wrap unification's variables rather
than extend them, and unify as the S-expressions they stand for, so they can be used in any kanren
goal.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import numpy as np
from cons.core import ConsPair, cons
from etuples import etuple
from etuples.core import ExpressionTuple
from unification import isvar, var
from unification.core import _reify, _unify, assoc
from unification.variable import Var

from relgraph.errors import PatternError, RelationError, UnsupportedAttributeError
from relgraph.ir.etuple import op_term
from relgraph.ir.infix import ATOM, INFIX, SIGN, Style
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.operators import Operators

if TYPE_CHECKING:
    from relgraph.relations.op_kinds import OpKind

DEEPEST = 200  # ops that may nest in a side, whose compilation recurses
Term = Any  # a Pattern, a number, a Variable, or a parameter value


class Pattern(Operators):
    """A term with logic variables; takes every operator and function that a graph takes."""

    __slots__ = ()

    def __relgraph_op__(self, op: Any, operands: tuple[Any, ...]) -> PatternNode:
        return node(op, *operands)

    def __getattr__(self, name: str) -> Any:
        if name in ("ndim", "dtype", "type"):
            raise _untyped(name)
        raise UnsupportedAttributeError(
            f"a pattern has no attribute {name!r}",
            fix="Build it with the operators, methods and functions that graphs have.",
        )

    @property
    def shape(self) -> Any:
        """Raise: a pattern has no shape."""
        raise _untyped("shape")

    @property
    def size(self) -> Any:
        """Raise: a pattern has no size."""
        raise _untyped("size")

    def __repr__(self) -> str:
        return text(self)


# The code of the function that states its sides now, in this thread.
_stated = threading.local()


def stated(function: Callable[..., Any], parameters: Iterable[Any]) -> Any:
    """Return what a function of logic variables returns; if it yields, the list of that.

    A function that compares patterns with ``==`` raises PatternError: the result, False, would
    become a part of the statement.
    """
    outer = getattr(_stated, "code", None)
    _stated.code = getattr(function, "__code__", None)
    try:
        statement = function(*parameters)
        return list(statement) if isinstance(statement, GeneratorType) else statement
    finally:
        _stated.code = outer


def _other(a: Any, b: Any) -> bool:
    """Return False to ``==``; raise PatternError if a statement uses ``==``."""
    code = getattr(_stated, "code", None)
    if code is not None and sys._getframe(2).f_code is code:
        raise PatternError(
            f"'==' and '!=' on patterns ask whether two are the same: {a!r}, {b!r}",
            fix="Use rg.equal(a, b) or rg.not_equal(a, b) to compare elements.",
        )
    return False


def _untyped(name: str) -> PatternError:
    return PatternError(
        f"a pattern has no {name}: it stands for graphs of any type",
        fix="State what the identity needs as a side condition, for instance "
        "where=lambda x: rg.checko(lambda x: x.ndim == 2, x).",
    )


_numbers = itertools.count()


def fresh(name: str) -> Any:
    """Return a new logic variable that carries its name.

    The names are unique across threads; unification numbers its own variables without a lock.
    """
    return var(f"{name}#{next(_numbers)}")


class PatternVariable(Pattern):
    """A logic variable of a pattern: its name, and the variable of unification behind it.

    A variable that is called is an *op variable*: ``f(x)`` is any op of one kind applied to one
    operand, and ``f(x, ...)`` to any number of operands, each an instance of ``x``.  ``*k`` in a
    call stands for any number of operands.

    Attributes
    ----------
    kind : OpKind or None
        Of an op variable in a declared clause: the kind of ops that it stands for.
    """

    __slots__ = ("kind", "name", "token")

    def __init__(self, name: str, token: Any = None, kind: OpKind | None = None) -> None:
        self.name = name
        self.token = fresh(name) if token is None else token
        self.kind = kind

    def __call__(self, *operands: Any) -> PatternNode | Block:
        if ... not in operands:
            return PatternNode(self, tuple(map(_operand, operands)))
        if len(operands) != 2 or operands[0] is ...:
            raise PatternError(
                f"{self.name}(..., ...) takes one operand before the three dots",
                {"operands": ", ".join("..." if x is ... else repr(x) for x in operands)},
                f"Write {self.name}(x, ...) for any number of operands, each an instance of x, or "
                f"{self.name}(x, y) for two.",
            )
        return Block(self, _operand(operands[0]), ())

    def __iter__(self) -> Iterator[Any]:
        yield Rest(self)

    def __relgraph_parameter__(
        self, cls: type[Op], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> OpPattern:
        names = cls.parameters
        given = dict(zip(names, args, strict=False)) | kwargs
        missing = [name for name in names if name not in given]
        if missing or len(args) > len(names) or len(given) != len(args) + len(kwargs):
            raise PatternError(
                f"{cls.__name__} takes the parameters ({', '.join(names)}) in a pattern too",
                {
                    "given": ", ".join(
                        [*map(repr, args), *(f"{k}={v!r}" for k, v in kwargs.items())]
                    )
                },
                "Give each of them, as a value or as a logic variable.",
            )
        return OpPattern(cls, tuple(given[name] for name in names))

    def __eq__(self, other: object) -> Any:
        same = isinstance(other, PatternVariable) and self.token is other.token
        return same or _other(self, other)

    def __hash__(self) -> int:
        return id(self.token) >> 4


class Rest(Pattern):
    """Any number of operands in sequence, ``*k`` in the call of an op."""

    __slots__ = ("variable",)

    def __init__(self, variable: PatternVariable) -> None:
        self.variable = variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rest) and self.variable.token is other.variable.token

    def __hash__(self) -> int:
        return hash(self.variable)


class PatternNode(Pattern):
    """An op, closed, open or variable, applied to patterns, numbers or graph nodes."""

    __slots__ = ("args", "op")

    def __init__(self, op: Op | OpPattern | PatternVariable, args: tuple[Term, ...]) -> None:
        self.op = op
        self.args = args

    def __eq__(self, other: object) -> Any:
        same = (
            isinstance(other, PatternNode)
            and self.op == other.op
            and len(self.args) == len(other.args)
            and all(map(same_term, self.args, other.args))
        )
        return same or _other(self, other)

    def __hash__(self) -> int:
        return hash((self.op, self.args))


class Block(Pattern):
    """``op`` applied to two or more instances of one element, or an op variable to one or more.

    The variables in ``own`` differ from element to element; all others are shared.
    ``A @ x1 + A @ x2 + ... + A @ xk`` is an instance of one, and ``f(x.mT, ...)`` is another.
    """

    __slots__ = ("element", "op", "own")

    def __init__(
        self, op: Op | PatternVariable, element: Term, own: tuple[PatternVariable, ...]
    ) -> None:
        self.op = op
        self.element = element
        self.own = own

    def __eq__(self, other: object) -> Any:
        return (
            isinstance(other, Block)
            and self.op == other.op
            and same_term(self.element, other.element)
            and self.own == other.own
        )

    def __hash__(self) -> int:
        return hash((self.op, self.element, self.own))


class OpPattern:
    """An op whose parameters may be logic variables; calling it makes a pattern node."""

    __slots__ = ("cls", "params")

    def __init__(self, cls: type[Op], params: tuple[Any, ...]) -> None:
        self.cls = cls
        self.params = params

    def __call__(self, *operands: Any) -> PatternNode:
        return PatternNode(self, operands)

    def __eq__(self, other: object) -> Any:
        return (
            isinstance(other, OpPattern) and self.cls is other.cls and self.params == other.params
        )

    def __hash__(self) -> int:
        return hash((self.cls, self.params))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{n}={v!r}" for n, v in zip(self.cls.parameters, self.params, strict=True)
        )
        return f"{self.cls.name}{{{shown}}}"


def lvars(names: str) -> tuple[PatternVariable, ...]:
    """Return fresh logic variables.

    Parameters
    ----------
    names : str
        Names separated by spaces or commas; they are for printing only.

    Returns
    -------
    tuple of PatternVariable
        One a name, in order.

    Raises
    ------
    PatternError
        For anything but a string.

    Examples
    --------
    >>> import relgraph as rg
    >>> x, y = rg.lvars("x y")
    >>> rg.exp(x) + y
    exp(x) + y
    """
    if not isinstance(names, str):
        raise PatternError(
            f"lvars takes a string of names, not {names!r}", fix='Write rg.lvars("x y z").'
        )
    return tuple(PatternVariable(name) for name in names.replace(",", " ").split())


def node(op: Any, *operands: Any) -> PatternNode:
    """Apply an op to terms; an associative op takes any number and nests to the left."""
    if isinstance(op, Op) and op.associative and len(operands) > 2:
        result = node(op, *operands[:2])
        for operand in operands[2:]:
            result = node(op, result, operand)
        return result
    return PatternNode(op, tuple(map(_operand, operands)))


def _operand(x: Any) -> Any:
    if isinstance(x, Pattern | Variable):
        return x
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, bool | int | float):
        return x
    if isvar(x):
        return PatternVariable("v", x)
    if isinstance(x, ExpressionTuple):
        return from_term(x)
    if isinstance(x, np.ndarray):
        from relgraph.ir.node import constant

        return constant(x)
    raise PatternError(
        f"{x!r} cannot stand in a pattern: it is a {type(x).__name__}",
        fix="Use logic variables, numbers, graph nodes, and ops applied to them.",
    )


def same_term(a: Term, b: Term) -> bool:
    """Compare terms without confusing ``1``, ``1.0``, ``True`` and ``-0.0``."""
    if isinstance(a, bool | int | float) or isinstance(b, bool | int | float):
        return type(a) is type(b) and repr(a) == repr(b)
    return bool(a == b)


def subterms(*terms: Term) -> list[Term]:
    """Return terms and all terms below them, parents first."""
    result: list[Term] = []
    stack = [*terms[::-1]]
    while stack:
        x = stack.pop()
        result.append(x)
        kind = type(x)
        if kind is PatternNode:
            stack.extend(x.args[::-1])
        elif kind is Block:
            stack.append(x.element)
    return result


def variables(term: Term) -> list[PatternVariable]:
    """Return the logic variables of a term, ops and parameters included, in order of occurrence."""
    if type(term) is PatternVariable:
        return [term]
    result: dict[PatternVariable, None] = {}
    for x in subterms(term):
        kind = type(x)
        if kind is PatternVariable:
            result[x] = None
        elif kind is PatternNode and type(x.op) is OpPattern:
            for p in x.op.params:
                if type(p) is PatternVariable:
                    result[p] = None
        elif kind is Rest:
            result[x.variable] = None
        elif kind in _APPLIED and type(x.op) is PatternVariable:
            result[x.op] = None
    return list(result)


_APPLIED = (PatternNode, Block)


def op_variables(*terms: Term) -> list[PatternVariable]:
    """Return the variables that stand for ops in terms, in order of occurrence."""
    heads = [x.op for x in subterms(*terms) if type(x) in _APPLIED]
    return list(dict.fromkeys(op for op in heads if type(op) is PatternVariable))


def check_nesting(*terms: Term) -> None:
    """Raise RelationError for a term that nests more than :data:`DEEPEST` ops."""
    stack: list[tuple[Any, int]] = [(term, 1) for term in terms]
    while stack:
        term, depth = stack.pop()
        if depth > DEEPEST:
            raise RelationError(
                f"a side nests more than {DEEPEST} ops",
                fix="Declare an identity of fewer ops, or of fewer terms: x + y + z nests two ops.",
            )
        if isinstance(term, PatternNode):
            stack.extend((x, depth + 1) for x in term.args)
        elif isinstance(term, Block):
            stack.append((term.element, depth + 1))


def chained_args(term: Term) -> list[Term]:
    """Return the factors of a product of matrices, flattened; none for any other pattern."""
    chained = isinstance(term, PatternNode) and isinstance(term.op, Op) and term.op.chains
    return flat_args(term) if chained else []


def brackets_of(term: Term, op: Any = None) -> Any:
    """Return the brackets of a product: pairs, with None for each factor."""
    op = term.op if op is None and isinstance(term, PatternNode) else op
    if not isinstance(term, PatternNode) or term.op is not op:
        return None
    return tuple([brackets_of(x, op) for x in term.args])


def without_brackets(term: Term) -> Any:
    """Return a key that terms share if only the brackets of their products of matrices differ."""
    if not isinstance(term, PatternNode):
        return term
    return (term.op, *map(without_brackets, chained_args(term) or term.args))


def flat_args(term: PatternNode) -> list[Term]:
    """Return the operands of nested applications of one associative op, from left to right."""
    operands: list[Term] = []
    stack = list(reversed(term.args))
    while stack:
        x = stack.pop()
        if isinstance(x, PatternNode) and x.op is term.op:
            stack.extend(reversed(x.args))
        else:
            operands.append(x)
    return operands


def rename(
    term: Term,
    image: Callable[[PatternVariable], Term],
    image_of_op: Callable[[OpPattern], OpPattern] = lambda op: op,
) -> Term:
    """Return a term with each open op replaced, and then each variable; this recurses."""
    if isinstance(term, PatternVariable):
        return image(term)
    if isinstance(term, Rest):
        rest = image(term.variable)
        return Rest(rest) if isinstance(rest, PatternVariable) else rest
    if isinstance(term, PatternNode):
        op: Any = term.op
        if isinstance(op, PatternVariable):
            op = image(op)
        elif isinstance(op, OpPattern):
            cls, params = op.cls, image_of_op(op).params
            params = tuple(image(p) if isinstance(p, PatternVariable) else p for p in params)
            is_still_open = any(isinstance(p, PatternVariable) for p in params)
            op = OpPattern(cls, params) if is_still_open else cls(*params)
        return PatternNode(op, tuple(rename(x, image, image_of_op) for x in term.args))
    if isinstance(term, Block):
        own = tuple(v for x in term.own if isinstance(v := image(x), PatternVariable))
        op = image(term.op) if isinstance(term.op, PatternVariable) else term.op
        return Block(op, rename(term.element, image, image_of_op), own)
    return term


def to_term(pattern: Term) -> Any:
    """Return a pattern as the S-expression that kanren unifies."""
    if isinstance(pattern, PatternVariable):
        return pattern.token
    if isinstance(pattern, PatternNode):
        head, args = _head_term(pattern.op), pattern.args
        if not args or not isinstance(args[-1], Rest):
            return etuple(head, *[to_term(x) for x in args])
        term = args[-1].variable.token
        for x in (*map(to_term, reversed(args[:-1])), head):
            term = cons(x, term)
        return term
    if isinstance(pattern, Block):
        return cons(_head_term(pattern.op), var())
    return pattern


def _head_term(op: Any) -> Any:
    """Return an op, closed, open or variable, as an S-expression."""
    if isinstance(op, OpPattern):
        return etuple(op.cls, *[to_term(p) for p in op.params])
    return op.token if isinstance(op, PatternVariable) else op_term(op)


def from_term(term: Any, names: dict[Any, PatternVariable] | None = None) -> Term:
    """Return the pattern of an S-expression; ``names`` collects its variables."""
    seen = {} if names is None else names
    if isvar(term):
        if term not in seen:
            name, mark, _ = str(term.token).partition("#")
            seen[term] = PatternVariable(name if mark else f"v{len(seen)}", term)
        return seen[term]
    if isinstance(term, ExpressionTuple):
        head, *rest = term
        if isinstance(head, ExpressionTuple):
            cls, *params = head
            closed = not any(map(isvar, params))
            head = (
                cls(*params)
                if closed
                else OpPattern(cls, tuple(from_term(p, seen) for p in params))
            )
        if isvar(head):
            return PatternNode(from_term(head, seen), tuple([from_term(x, seen) for x in rest]))
        if not isinstance(head, Op | OpPattern):
            raise PatternError(
                f"the head of a term must be an op, not {head!r}",
                {"term": term},
                "Write terms as etuple(op, operand, ...), for instance etuple(rg.add, x, y).",
            )
        return node(head, *[from_term(x, seen) for x in rest])
    return term


def infix(pattern: Term, style: Style = INFIX) -> tuple[str, int]:
    """Return a pattern's text and the precedence of its outermost operator."""
    if isinstance(pattern, PatternVariable):
        return style.name(pattern.name), ATOM
    if isinstance(pattern, Rest):
        return f"*{style.name(pattern.variable.name)}", ATOM
    if isinstance(pattern, Block):
        inner, block_op = infix(pattern.element, style), pattern.op
        if isinstance(block_op, PatternVariable):
            return style.call(block_op.name, [inner, (style.dots, ATOM)], ())
        text, rank = style.applied(block_op, [(inner[0], ATOM), (style.dots, ATOM)])
        if block_op.symbol:
            return text, rank
        return f"{inner[0]} {style.name(block_op.name)} {style.dots}", block_op.precedence
    if not isinstance(pattern, PatternNode):
        inputs = isinstance(pattern, Variable) and pattern.inputs
        return style.leaf(pattern), 0 if inputs else ATOM
    op = pattern.op
    parts = [infix(x, style) for x in pattern.args]
    if isinstance(op, OpPattern):
        return style.call(op.cls.name, parts, zip(op.cls.parameters, op.params, strict=True))
    if isinstance(op, PatternVariable):
        return style.call(op.name, parts, ())
    if any(isinstance(x, Rest) for x in pattern.args):
        return style.call(op.name, parts, zip(op.parameters, op.params, strict=True))
    if op.symbol == "**" and parts[0][0].startswith("-"):  # perhaps a number
        parts[0] = parts[0][0], SIGN
    return style.applied(op, parts)


def text(pattern: Term) -> str:
    """Write a pattern in infix."""
    return infix(pattern)[0]


def _unify_pattern(p: Any, other: Any, s: Any) -> Any:
    yield _unify(to_term(p), to_term(other) if isinstance(other, Pattern) else other, s)


def _unify_to_pattern(other: Any, p: Any, s: Any) -> Any:
    yield _unify(other, to_term(p), s)


def _bind_to_pattern(s: Any, v: Any, p: Any) -> Any:
    term = to_term(p)
    return s if term is v else assoc(s, v, term)


def _reify_pattern(p: Any, s: Any) -> Any:
    yield _reify(to_term(p), s)


# Not for Var or object, for which other packages, such as PyTensor, register signatures that would
# be ambiguous with these.  `assoc` converts the pattern that a variable is bound to.
_OTHERS = (
    Variable, Op, ExpressionTuple, ConsPair, int, float, complex, str, bytes, tuple, list, dict,
    set, frozenset, slice, type, type(None), np.generic, np.ndarray, np.dtype,
)  # fmt: skip

_unify.add((Pattern, Pattern, Mapping), _unify_pattern)
for _kind in _OTHERS:
    _unify.add((Pattern, _kind, Mapping), _unify_pattern)
    _unify.add((_kind, Pattern, Mapping), _unify_to_pattern)
assoc.add((Mapping, Var, Pattern), _bind_to_pattern)
_reify.add((Pattern, Mapping), _reify_pattern)
