"""The tests after a pattern has matched: ranks, dtypes, sizes, and what the other side needs.

They are those of :meth:`relgraph.relations.matcher.Compiler.finish`, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.checking.diagnosis.conditions import value
from relgraph.checking.diagnosis.near_match import Way
from relgraph.checking.diagnosis.reasons import (
    DTYPE,
    RANK,
    RESULT,
    SHAPE,
    Reason,
    broadcast_operand,
    listed,
    shown,
)
from relgraph.errors import RelgraphError
from relgraph.ir.node import Variable, apply_chain, constant
from relgraph.ir.types import TensorType, TupleType, covers
from relgraph.relations.clause import Rewrite, moved_by, numbers_stay, traits, with_block
from relgraph.relations.pattern import (
    Block,
    OpPattern,
    PatternNode,
    PatternVariable,
    Rest,
    Term,
    text,
    variables,
)
from relgraph.relations.runtime import fit, steady
from relgraph.relations.shape_proof import proved, unequal_sizes


class Failed(Exception):
    """A test failed; its argument is the reason."""


def failure(rewrite: Rewrite, node: Variable, way: Way) -> Reason | None:
    """Return why a rewrite that matches a node does not replace it, or None if it does."""
    if not all(v in way.env for v in variables(rewrite.result)):
        return None
    place: Any = way.taken or node
    like = apply_chain(rewrite.pattern.op, way.taken).type if way.taken else node.type
    try:
        _check_ranks(rewrite, way)
        _check_intermediates(like, way.inner)
        _check_gathered(rewrite, way)
        built = _Builder(rewrite, node, like, way).build(rewrite.result, root=True)
        _check_fit(rewrite, built, like, place, way)
    except Failed as error:
        reason: Reason = error.args[0]
        return reason
    except RelgraphError as error:
        what = f"{text(rewrite.result)} cannot be built here: {error.what}"
        return Reason(RESULT, what, error.fix)
    return None


def _check_ranks(rewrite: Rewrite, way: Way) -> None:
    """Raise Failed for ranks for which the two sides are not equal."""
    classes = rewrite.ranks
    if classes is None or not all(v in way.env for v in classes.variables):
        return
    operands = [way.env[v] for v in classes.variables]
    if not all(isinstance(x, Variable) for x in operands):
        return
    ranks = tuple([x.type.ndim for x in operands])
    if classes(ranks, tuple([way.env[v] for v in classes.parameters])):
        return
    each = [f"{v.name} = {shown(x)} has {x.type.ndim}" for v, x in zip(classes.variables, operands,
                                                                      strict=True)]  # fmt: skip
    holds = sorted(classes.classes())[-1:]
    advice = ""
    if holds:
        names = [v.name for v in classes.variables]
        fine = listed([f"{n} with {r}" for n, r in zip(names, holds[0], strict=True)])
        advice = f"It fires for {fine}, for instance."
    what = f"the identity is false for operands with so many axes: {', '.join(each)}"
    raise Failed(Reason(RANK, what, advice))


def _check_intermediates(like: Any, inner: Sequence[Variable]) -> None:
    """Raise Failed for a matched intermediate of another dtype than the result."""
    if steady(like, inner):
        return
    wrong = next(x for x in inner if not steady(like, (x,)))
    what = f"{shown(wrong)} is computed as {wrong.type.dtype}, and the result is {like.dtype}"
    raise Failed(Reason(DTYPE, what, _CAST))


def _check_gathered(rewrite: Rewrite, way: Way) -> None:
    """Raise Failed for terms of several types where any number of them would be gathered."""
    clause = with_block(rewrite.origin)
    side = clause.right if getattr(rewrite.source, "backward", False) else clause.left
    if not isinstance(side, Block) or isinstance(side.op, PatternVariable):
        return
    first, second = [variables(x) for x in rewrite.pattern.args]
    own = [v for v in first if v not in second] + [v for v in second if v not in first]
    nodes = [way.env[v] for v in own]
    types = {x.type if not rewrite.pointwise else x.type.dtype for x in nodes}
    if len(types) > 1:
        each = listed([f"{shown(x)} is {x.type}" for x in nodes])
        what = f"terms are gathered if their parts have one type, and {each}"
        dtypes = {x.type.dtype for x in nodes}
        raise Failed(Reason(DTYPE, what, _CAST) if len(dtypes) > 1 else Reason(SHAPE, what, _SIZES))


def _check_fit(rewrite: Rewrite, built: Any, like: TensorType, place: Any, way: Way) -> None:
    """Raise Failed for a result that has not the type, or the sizes, of what it replaces."""
    fitted = fit(built, like, place, rewrite.pointwise)
    if fitted is None:
        type_ = built.type if isinstance(built, Variable) else constant(built, like.dtype).type
        what = f"the result {shown(built)} is {type_}, and it would replace {like}"
        is_float = type_.dtype.kind == "f" != like.dtype.kind
        raise Failed(Reason(DTYPE if is_float else SHAPE, what, _CAST if is_float else _SIZES))
    if rewrite.pointwise or isinstance(rewrite.result, PatternVariable):
        return
    bound = [way.env[v] for v in variables(rewrite.pattern) if v in way.env]
    if proved(fitted, place, bound) is not None:
        return
    node = unequal_sizes(fitted, place, bound)
    if node is None:
        raise Failed(Reason(SHAPE, "the sizes of the result are not shown to fit", _SIZES))
    each = [f"{shown(x)}: {x.type}" for x in node.inputs]
    what = f"nothing shows that the sizes fit that {shown(node)} needs, of {listed(each)}"
    raise Failed(Reason(SHAPE, what, _SIZES))


_CAST = "Give the inputs one dtype, or cast them first with rg.cast."
_SIZES = (
    "Declare the sizes of the inputs: equal sizes by one name or number, as in "
    'rg.matrix("A", shape=("n", "n")).'
)


class _Builder:
    """Builds the other side of a rewrite, and raises Failed where a matcher would not."""

    def __init__(self, rewrite: Rewrite, node: Variable, like: Any, way: Way) -> None:
        self.rewrite = rewrite
        self.like = self.inner = like
        self.env = way.env
        sides = (rewrite.pattern, rewrite.result)
        if all(isinstance(x, PatternNode) and traits(x.op).returns_indices for x in sides):
            self.inner = node.inputs[0].type  # the dtype of indices says nothing of the elements

    def build(self, term: Term, root: bool = False) -> Any:
        """Return a term as a graph; this recurses into the pattern."""
        if isinstance(term, Block):
            node = self._block(term)
        elif isinstance(term, PatternNode):
            op: Any = term.op
            if isinstance(op, OpPattern | PatternVariable):
                op = self._op(op)
            operands: list[Any] = []
            for x in term.args:
                if isinstance(x, Rest):
                    operands += self.env[x.variable]
                else:
                    operands.append(self.build(x))
            node = op(*[constant(x) if isinstance(x, bool) else x for x in operands])
        else:
            return value(term, self.env)
        self._check(term, node, root)
        return node

    def _op(self, op: OpPattern | PatternVariable) -> Any:
        if isinstance(op, PatternVariable):
            return self.env[op]
        return op.cls(*[value(p, self.env) for p in op.params])

    def _block(self, block: Block) -> Any:
        """Apply an op to an instance of the element for each operand."""
        outer = self.env
        lists = [outer[v] for v in block.own]
        moved = block.own.index(moved_by(block.element)) if numbers_stay(block) else None
        stays = moved is not None and any(x.type.ndim for x in lists[moved])
        operands = []
        for values in zip(*lists, strict=True):
            if stays and moved is not None and not values[moved].type.ndim:
                operands.append(values[moved])
                continue
            self.env = {**outer, **dict(zip(block.own, values, strict=True))}
            operands.append(self.build(block.element))
        self.env = outer
        op: Any = block.op
        return (self._op(op) if isinstance(op, PatternVariable) else op)(*operands)

    def _check(self, term: PatternNode | Block, node: Any, root: bool) -> None:
        """Raise Failed for a result of another dtype, and for an operand that is broadcast."""
        if not isinstance(node, Variable) or isinstance(node.type, TupleType):
            return
        dtype, wanted = node.type.dtype, (self.like if root else self.inner).dtype
        if traits(term.op).computes and dtype != wanted:
            narrow = not np.can_cast(wanted, dtype) if root else wanted.kind != "b"
            if narrow:
                what = f"{shown(node)} would be computed as {dtype}, and the graph is {wanted}"
                raise Failed(Reason(DTYPE, what, _CAST))
        if self.rewrite.pointwise or not traits(term.op).pointwise:
            return
        if isinstance(term, Block) or "*" in self.rewrite.broadcast:
            return
        for arg, x in zip(term.args, node.inputs, strict=False):
            named = isinstance(arg, PatternVariable) and arg.name in self.rewrite.broadcast
            if named or isinstance(arg, Rest | int | float):
                continue
            if not covers(node.type.shape, x.type.shape):
                raise Failed(broadcast_operand(term, arg, x, node.type))
