"""Clauses that differ from one in one place: what a direction matches should not match theirs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from relgraph.checking.generators.shapes import PARAMETERS
from relgraph.ir.op import GetItem, Op
from relgraph.ops.elementwise import Elementwise
from relgraph.relations.clause import Clause, op_name
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.pattern import (
    OpPattern,
    PatternNode,
    PatternVariable,
    rename,
    subterms,
    text,
    variables,
)

Path = tuple[int, ...]
HEADS = (("cbrt", "arctan2"), ("isnan", "less"), ("isinf", "equal"))  # the others are tests
OTHER_NAMES = {"assume": ("general", "spd"), "dtype": ("float64", "bool")}


def near_misses(clause: Clause, backward: bool) -> Iterator[list[Clause]]:
    """Yield clauses of which one side is nearly what a direction matches, small changes first.

    Each comes in a list with what to make graphs of it by, the best first: with the other side of
    the clause, which needs all of its variables, or alone.
    """
    side, other = (clause.right, clause.left) if backward else (clause.left, clause.right)
    for mutant in mutants(side):
        bound = set(variables(mutant))
        kept = [c for c in clause.conditions if bound.issuperset(_asked(c))]
        computed = {c.args[0] for c in kept if c.kind == "calc"}
        whole = len(kept) == len(clause.conditions) and bound | computed >= {*variables(other)}
        apart = _differs(mutant, side)
        sides = (other, mutant) if backward else (mutant, other)
        alone = Clause(mutant, mutant, (*[c for c in kept if c.kind != "calc"], *apart))
        yield [Clause(*sides, (*kept, *apart)), alone] if whole else [alone]
    for i, c in enumerate(clause.conditions):
        yield [Clause(side, side, (*_beside(clause.conditions, i), *unmet(c)))]


def _asked(condition: Suspended) -> set[PatternVariable]:
    args = condition.args[1:] if condition.kind == "calc" else condition.args
    return {v for x in args for v in variables(x)}


def _differs(mutant: Any, side: Any) -> list[Suspended]:
    """Return what keeps a parameter that a mutant adds from being drawn as one it is to break."""
    old = [p for p in _open(side) if isinstance(p, PatternVariable)]
    new = [p for p in _open(mutant) if isinstance(p, PatternVariable) and p not in old]
    return [Suspended("check", (p, *old), "it differs", _is_new) for p in new]


def _is_new(value: Any, *others: Any) -> bool:
    return value not in others


def _open(pattern: Any) -> list[Any]:
    """Return the parameters of the ops of a pattern that are open."""
    ops = [x.op for x in subterms(pattern) if isinstance(x, PatternNode)]
    return [p for op in ops if isinstance(op, OpPattern) for p in op.params]


def _beside(conditions: tuple[Suspended, ...], which: int) -> Iterator[Suspended]:
    """Yield the conditions that may be asked of a clause although one does not hold."""
    broken = {v for x in conditions[which].args for v in variables(x)}
    for i, c in enumerate(conditions):
        mentioned = {v for x in c.args for v in variables(x)}
        if i < which or (i > which and not mentioned & broken):
            yield c
        elif c.kind == "calc":
            broken |= mentioned


def unmet(condition: Suspended) -> list[Suspended]:
    """Return what holds where a condition does not; nothing for a fact, which is not declared."""
    if isinstance(condition.function, partial):
        return []
    computes, function = condition.kind == "calc", condition.function

    def fails(*values: Any) -> bool:
        return function(*values) is None if computes else not function(*values)

    args = condition.args[1:] if computes else condition.args
    return [Suspended("check", args, f"not {condition.label}", fails)]


def mutants(side: Any) -> list[Any]:
    """Return patterns that differ from one in one place, the smallest differences first.

    That is a number, a second occurrence of a variable, a parameter, the order of the operands of
    an op, an op, or an application of one that becomes a variable.
    """
    places = list(_places(side, ()))
    by_text = {_alike(side): side}
    for kind, (path, x) in product((_leaf, _parameter, _op), places):
        for mutant in kind(side, path, x):
            by_text.setdefault(_alike(mutant), mutant)
    return list(by_text.values())[1:]


def _alike(pattern: Any) -> str:
    """Return a text that is equal for patterns that differ in the names of variables."""
    numbers = {v: PatternVariable(f"v{i}") for i, v in enumerate(variables(pattern))}
    return text(rename(pattern, numbers.__getitem__))


def _leaf(side: Any, path: Path, x: Any) -> Iterator[Any]:
    """Yield another number, or another variable in place of one that has occurred before."""
    if isinstance(x, bool | int | float):
        yield _replaced(side, path, not x if isinstance(x, bool) else x + 3)
    elif isinstance(x, PatternVariable) and path != next(p for p, y in _places(side, ()) if x == y):
        yield _replaced(side, path, PatternVariable("fresh"))


def _parameter(side: Any, path: Path, x: Any) -> Iterator[Any]:
    """Yield another parameter: a value, or a variable in place of one that occurs elsewhere."""
    if not isinstance(x, PatternNode):
        return
    cls = _class(x.op)
    every = _open(side)
    for i, (name, p) in enumerate(zip(cls.parameters, x.op.params, strict=True)):
        if isinstance(p, PatternVariable):
            others: list[Any] = [PatternVariable("fresh")] if every.count(p) > 1 else []
        else:
            others = other_values(name, p)
        for value in others[:1]:
            params = (*x.op.params[:i], value, *x.op.params[i + 1 :])
            yield _replaced(side, path, PatternNode(OpPattern(cls, params), x.args))


def other_values(name: str, value: Any) -> list[Any]:
    """Return values for a parameter of an op beside one that it has."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value - 1 if value else 1]
    listed = OTHER_NAMES.get(name) or PARAMETERS[name]
    grown = [(1, *value)] if name == "shape" else []
    return [*grown, *(x for x in listed if x != value)]


def _op(side: Any, path: Path, x: Any) -> Iterator[Any]:
    """Yield swapped operands, another op, and a variable in place of what an op is applied to."""
    if not isinstance(x, PatternNode):
        return
    parent = _at(side, path[:-1]) if path else None
    if parent is not None and path[-1] in _integers(parent):
        return
    sized = bool(_integers(x))
    if len(x.args) == 2 and not sized and not (isinstance(x.op, Op) and x.op.commutative):
        yield _replaced(side, path, PatternNode(x.op, x.args[::-1]))
    if parent is not None and _picks(parent):
        return  # several results, which no other op has
    if 1 <= len(x.args) <= 3 and not _picks(x) and not sized:
        yield _replaced(side, path, _under_another_op(x))
    if path:
        yield _replaced(side, path, PatternVariable("fresh"))


def _under_another_op(x: PatternNode) -> PatternNode:
    """Return the operands of a node under another op, which tests where its own does."""
    tests = isinstance(x.op, Elementwise) and x.op.row.tests
    heads = [pair for pair in HEADS[1:] if op_name(x.op) not in pair] if tests else HEADS
    one, two = map(Elementwise, heads[0])
    first, *rest = x.args
    for y in rest:
        first = PatternNode(two, (first, y))
    return first if rest else PatternNode(one, (first,))


def _class(op: Any) -> type[Op]:
    return op.cls if isinstance(op, OpPattern) else type(op)


def _integers(x: PatternNode) -> range:
    """Return which operands may be the integers of a key or a shape, where an op takes these."""
    names = _class(x.op).parameters
    if "spec" in names:
        return range(1 if op_name(x.op) == "index" else 2, 99)
    return range(1, 99) if "shape" in names else range(0)


def _picks(x: PatternNode) -> bool:
    return isinstance(x.op, GetItem)


def _places(term: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    yield path, term
    if isinstance(term, PatternNode):
        for i, x in enumerate(term.args):
            yield from _places(x, (*path, i))


def _at(term: Any, path: Path) -> Any:
    for i in path:
        term = term.args[i]
    return term


def _replaced(term: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    args = list(term.args)
    args[path[0]] = _replaced(args[path[0]], path[1:], new)
    return PatternNode(term.op, tuple(args))
