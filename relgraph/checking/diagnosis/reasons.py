"""Reasons: what kept a relation from firing, with the values at hand and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relgraph.errors import count_of
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.op import Op
from relgraph.ir.records import record
from relgraph.relations.clause import Rewrite
from relgraph.relations.pattern import Block, PatternNode, PatternVariable, Term, text

SHORT = 24  # nodes of a graph that a message shows

# The kinds of reasons.  Those of a test at a node:
OP = "op"  # another op, or an op of another kind
NUMBER = "number"  # another number, or none
PARAMETER = "parameter"  # another parameter of the op
OPERAND = "operand"  # a variable that occurs twice stands for two graphs
TERMS = "terms"  # another number of operands
SIGN = "sign"  # some terms are added and others subtracted
BRACKETING = "bracketing"  # a product of matrices has other brackets
BROADCAST = "broadcast"  # an operand would have to be broadcast
FACT = "fact"  # a fact that is not proved
CONDITION = "condition"  # another side condition that does not hold
RANK = "rank"  # the relation is false for operands with so many axes
DTYPE = "dtype"  # the result would round or wrap around unlike the graph
SHAPE = "shape"  # sizes that are not shown to be equal
RESULT = "result"  # the other side cannot be built
# Those of a run:
MODE = "mode"  # the mode does not select the relation
NONFINITE = "nonfinite"  # nonfinite="keep" leaves it out
DIRECTION = "direction"  # it fires in the other direction
ORDER = "order"  # another relation fires first
SHARING = "sharing"  # a matched node has other users
BUDGET = "budget"  # rewriting ended with an error
GOAL = "goal"  # kanren runs the relation, and finds no answer

KINDS = (
    OP, NUMBER, PARAMETER, OPERAND, TERMS, SIGN, BRACKETING, BROADCAST, FACT, CONDITION, RANK,
    DTYPE, SHAPE, RESULT, MODE, NONFINITE, DIRECTION, ORDER, SHARING, BUDGET, GOAL,
)  # fmt: skip


@record
class Reason:
    """A test that failed.

    Attributes
    ----------
    kind : str
        What kind of test it is, such as ``"fact"`` or ``"broadcast"``.
    text : str
        The test, with the values at hand.
    advice : str
        What would make it pass.
    facts : tuple of (Input, str)
        Facts of inputs that would make it pass.
    """

    kind: str
    text: str
    advice: str = ""
    facts: tuple[tuple[Input, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.text}. {self.advice}" if self.advice else f"{self.text}."


@record
class Place:
    """A node at which a relation might have fired.

    Attributes
    ----------
    node : Variable
        The node.
    rewrite : Rewrite or None
        The clause that is nearest to a match there, in its direction; None for a reason that
        holds for the graph as a whole.
    reasons : tuple of Reason
        The tests of the clause that fail, the first one first.
    """

    node: Variable
    rewrite: Rewrite | None
    reasons: tuple[Reason, ...]

    @property
    def reason(self) -> Reason:
        """The first test that failed."""
        return self.reasons[0]

    @property
    def kind(self) -> str:
        """The kind of the first test that failed."""
        return self.reasons[0].kind

    def __str__(self) -> str:
        where = f" at {shown(self.node)}" if self.rewrite is not None else ""
        return f"{self.reasons[0].text}{where}"


def shown(x: object) -> str:
    """Return a node, an op or a parameter as a message shows it."""
    return brief(x, SHORT) if isinstance(x, Variable) else repr(x)


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# The tests of a pattern.


def other_op(term: PatternNode | Block, at: Any) -> Reason:
    """Return the reason where a node has another op than a part of a pattern."""
    what = f"{shown(at)} stands where the pattern has {text(term)}"
    return Reason(OP, what, f"Write {text(term)} there, or state an identity for this form too.")


def other_number(number: Any, at: Any) -> Reason:
    """Return the reason where a pattern has a number, and a graph something else."""
    what = f"{shown(at)} stands where the pattern has the number {number!r}"
    if isinstance(at, Constant):
        return Reason(NUMBER, what, f"A variable in place of {number!r} would match any number.")
    advice = f"If it is always {number!r}, write rg.constant({number!r}) in the graph."
    return Reason(NUMBER, what, advice)


def other_node(node: Variable, at: Any) -> Reason:
    """Return the reason where a pattern has a node of its own, and a graph another one."""
    what = f"{shown(at)} stands where the pattern has the node {shown(node)} itself"
    return Reason(OPERAND, what, "A variable of the function would match any node.")


def other_operand(variable: PatternVariable, known: Any, value: Any) -> Reason:
    """Return the reason where a variable would stand for two different things."""
    what = f"{variable.name} stands for {shown(known)}, and then for {shown(value)}"
    return Reason(OPERAND, what, "The same graph must stand in both places.")


def other_parameter(op: Op, name: str, wanted: Any, known: Any, value: Any) -> Reason:
    """Return the reason where an op has another parameter than in a pattern.

    ``wanted`` is what the pattern has, and ``known`` what it stands for if it is a variable.
    """
    if isinstance(wanted, PatternVariable):
        what = f"{op.name} has {name}={value!r}, and {wanted.name} stands for {known!r} already"
        return Reason(PARAMETER, what, "The same value must stand in both places.")
    what = f"{op.name} has {name}={value!r} where the pattern has {name}={wanted!r}"
    advice = f"Write {name}={value!r} in the relation, or a variable, which matches any {name}."
    return Reason(PARAMETER, what, advice)


def other_terms(term: PatternNode, at: Variable, count: int) -> Reason:
    """Return the reason where an op has another number of operands than in a pattern."""
    what = f"{shown(at)} has {count_of(count, 'operand')}, and {text(term)} does not match as many"
    return Reason(TERMS, what, "A variable in the relation may stand for the operands left over.")


def other_sign(op: Op, taken: Sequence[tuple[Variable, bool]]) -> Reason:
    """Return the reason where a graph subtracts some of the terms that a pattern adds."""
    away = listed([shown(x) for x, negative in taken if negative])
    kept = listed([shown(x) for x, negative in taken if not negative])
    what = f"{away} is taken away from {kept}, and the pattern adds them"
    return Reason(SIGN, what, "State the identity of the difference, too.")


def other_brackets(term: PatternNode, at: Variable, wanted: Variable) -> Reason:
    """Return the reason where a product of matrices has other brackets."""
    what = f"{shown(at)} is bracketed in another way than {text(term)}"
    advice = f"It would match {shown(wanted)}: write these brackets in the graph, or state the "
    return Reason(BRACKETING, what, f"{advice}identity with the other factor as a variable.")


def broadcast_operand(side: Term, arg: Term, x: Variable, like: Any) -> Reason:
    """Return the reason where an operand of an elementwise op would be broadcast."""
    stands = text(arg) if text(arg) == shown(x) else f"{text(arg)} stands for {shown(x)}"
    comma = "" if text(arg) == shown(x) else ", which"
    what = f"{stands}: {x.type}{comma} would be broadcast to {like} in {text(side)}"
    names = arg.name if isinstance(arg, PatternVariable) else "*"
    advice = (
        f'If the identity holds for operands that are broadcast, declare broadcast="{names}" in '
        "rg.identity; rg.check tests that."
    )
    return Reason(BROADCAST, what, advice)
