"""Side conditions at a near match: which one fails, and of which input a fact would prove it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relgraph.checking.diagnosis.reasons import (
    CONDITION,
    DTYPE,
    FACT,
    OP,
    RANK,
    Reason,
    listed,
    shown,
)
from relgraph.errors import RelgraphError
from relgraph.ir.fact_inference import fact
from relgraph.ir.facts import NAMES, check_consistent, check_possible
from relgraph.ir.graph import free_inputs
from relgraph.ir.node import Input, Variable, make_input
from relgraph.ir.types import TensorType
from relgraph.relations.definedness import fact_asked
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.op_variables import is_kind
from relgraph.relations.pattern import OpPattern, PatternNode, PatternVariable, Rest, variables
from relgraph.rewriting.rewriters import images_of

if TYPE_CHECKING:
    from relgraph.checking.diagnosis.near_match import NearMatch, Way

DTYPES_TRIED = ("float64", "float32", "int64", "bool")
STAND_IN = "another"  # the name of an input in the place of an argument
INPUTS = 6  # inputs below the arguments of a condition for which facts are tried
ERRORS = (RelgraphError, AttributeError, TypeError, ValueError, IndexError, KeyError)


class Conditions:
    """The conditions of a rewrite, decided as soon as their arguments are bound."""

    def __init__(self, conditions: Sequence[Suspended]) -> None:
        self.conditions = conditions

    def decided(self, search: NearMatch, way: Way) -> Iterator[Way]:
        """Yield the ways past the conditions whose arguments are bound by now."""
        for i, c in enumerate(self.conditions):
            args = c.args[1:] if c.computes else c.args
            needs = [v for x in args for v in variables(x)]
            if i in way.done or not all(v in way.env for v in needs):
                continue
            done = way._replace(done=way.done | {i})
            result = _result(c, args, done.env)
            if not c.computes and result:
                yield from self.decided(search, done)
            elif not c.computes or result is None:
                for one in search.missed(done, failed(c, args, done.env)):
                    yield from self.decided(search, one)
            elif isinstance(c.args[0], PatternVariable):
                for one in search.variable(c.args[0], result, done):
                    yield from self.decided(search, one)
            elif result == value(c.args[0], done.env):
                yield from self.decided(search, done)
            return
        yield way


def value(term: Any, env: Mapping[PatternVariable, Any]) -> Any:
    """Return what a term stands for where its variables are bound; op errors pass through."""
    if isinstance(term, PatternVariable):
        return env[term]
    if isinstance(term, PatternNode):
        op: Any = term.op
        if isinstance(op, OpPattern):
            op = op.cls(*[value(p, env) for p in op.params])
        elif isinstance(op, PatternVariable):
            op = env[op]
        operands: list[Any] = []
        for x in term.args:
            if isinstance(x, Rest):
                operands += env[x.variable]
            else:
                operands.append(value(x, env))
        return op(*operands)
    return env[term.variable] if isinstance(term, Rest) else term


def _result(condition: Suspended, args: Sequence[Any], env: Mapping[PatternVariable, Any]) -> Any:
    """Return what a condition says, or computes, of its arguments; None where it cannot."""
    each = [v for x in args for v in variables(x) if isinstance(env[v], list)]
    if not each:
        try:
            result = condition.function(*[value(x, env) for x in args])
        except ERRORS:  # perhaps what an earlier condition rules out
            return None
        return result
    results = []
    for values in zip(*[env[v] for v in each], strict=True):
        results.append(_result(condition, args, {**env, **dict(zip(each, values, strict=True))}))
    return (None if None in results else results) if condition.computes else all(results)


def failed(condition: Suspended, args: Sequence[Any], env: Mapping[PatternVariable, Any]) -> Reason:
    """Return the reason where a condition does not hold."""
    bound = {v: env[v] for x in args for v in variables(x)}
    values = ", ".join(f"{v.name} = {shown(x)}" for v, x in bound.items())
    if is_kind(condition):
        what = f"{next(iter(bound.values()))!r} is not one of the ops that {condition!r} names"
        return Reason(OP, what, "Write another op in the graph, or another kind in the relation.")
    facts = _facts_that_prove(condition, args, env)
    advice = ""
    if facts:
        who = listed([x.name for x, _ in facts])
        advice = f"Declare it of {who}, with facts=({facts[0][1]!r},), where you make the input."
    name = fact_asked(condition)
    if name is not None:
        of = value(args[0], env) if not isinstance(args[0], PatternNode) else args[0]
        what = f"nothing proves that {shown(of)} is {name}"
        if isinstance(of, Variable) and not _is_possible(of, name):
            what, advice = f"{shown(of)}: {of.type} is not {name}", "Use one that is."
        elif isinstance(of, Variable):
            advice = advice or f"If you know it, write rg.assume({shown(of)}, {name!r})."
        return Reason(FACT, what, advice, facts)
    fails = "has no value" if condition.computes else "does not hold"
    what = f"the condition {condition!r} {fails} for {values}"
    if facts:
        return Reason(FACT, what, advice, facts)
    for kind, name in ((DTYPE, "dtype"), (RANK, "number of axes")):
        fitting = _fitting(condition, args, env, kind)
        if fitting is not None:
            return Reason(kind, what, f"It holds for another {name}: {fitting}.")
    return Reason(CONDITION, what, "The condition is part of the relation: see where= there.")


def _is_possible(node: Variable, name: str) -> bool:
    """Return True unless a fact is false of a node, or cannot hold for its type."""
    try:
        if isinstance(node.type, TensorType):
            check_possible(shown(node), node.type, (name,))
    except RelgraphError:
        return False
    return fact(node, name) is not False


def _fitting(
    condition: Suspended, args: Sequence[Any], env: Mapping[PatternVariable, Any], kind: str
) -> str | None:
    """Return an argument of another type for which a condition of types holds, as a message."""
    if condition.computes:
        return None
    tensors = {v: x for v, x in env.items() if isinstance(getattr(x, "type", None), TensorType)}
    named = [v for x in args for v in variables(x) if v in tensors]
    for v in dict.fromkeys(named):
        type_ = tensors[v].type
        if kind == DTYPE:
            types = [TensorType(d, type_.shape) for d in DTYPES_TRIED if d != type_.dtype]
        else:
            types = [TensorType(type_.dtype, (None,) * n) for n in range(3) if n != type_.ndim]
        for one in types:
            if _result(condition, args, {**env, v: make_input(STAND_IN, one)}):
                return f"{v.name} of {one}, not of {type_}"
    return None


def _facts_that_prove(
    condition: Suspended, args: Sequence[Any], env: Mapping[PatternVariable, Any]
) -> tuple[tuple[Input, str], ...]:
    """Return a fact of an input, or of several, that would make a condition hold, if one does."""
    if condition.computes:
        return ()
    bound = [env[v] for x in args for v in variables(x)]
    nodes = [x for x in bound if isinstance(x, Variable)]
    inputs = [x for x in free_inputs(nodes) if isinstance(x, Input)] if nodes else []
    if not inputs or len(inputs) > INPUTS:
        return ()
    asked = fact_asked(condition)
    names = dict.fromkeys([*([asked] if asked else []), *NAMES])
    groups = [(x,) for x in inputs] + ([tuple(inputs)] if len(inputs) > 1 else [])
    for name in names:
        for group in groups:
            if _holds_with(condition, args, env, group, name):
                return tuple([(x, name) for x in group])
    return ()


def _holds_with(
    condition: Suspended,
    args: Sequence[Any],
    env: Mapping[PatternVariable, Any],
    inputs: Sequence[Input],
    name: str,
) -> bool:
    """Return True if a condition holds where inputs have one more fact."""
    try:
        for x in inputs:
            check_consistent(x.name, (*x.facts, name))
        changes: dict[Variable, Variable] = {
            x: make_input(x.name, x.type, (*x.facts, name)) for x in inputs
        }
        nodes = [x for x in env.values() if isinstance(x, Variable)]
        images = images_of(nodes, changes)
    except ERRORS:  # the fact cannot hold of such an input
        return False
    changed = {v: images.get(x, x) if isinstance(x, Variable) else x for v, x in env.items()}
    return bool(_result(condition, args, changed))
