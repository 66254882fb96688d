"""What transformations of functions share: other nodes, other loops, and how indices move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relgraph.lowering.loops.nodes import (
    Body,
    Buffer,
    Function,
    If,
    Let,
    Load,
    Loop,
    Node,
    Op,
    Scalar,
    Statement,
    Var,
    While,
    walk,
)


def with_loops(function: Function, change: Callable[[Loop], Body | None]) -> Function:
    """Return a function with other statements for its loops, the outermost ones first.

    ``change`` returns None for a loop that stays; then the loops inside are asked for.
    """

    def changed(body: Body) -> Body:
        return tuple([new for s in body for new in statements(s)])

    def statements(s: Statement) -> Body:
        if isinstance(s, If):
            return (If(s.test, changed(s.then), changed(s.other), s.results),)
        if isinstance(s, While):
            return (While(s.carried, changed(s.head), s.test, changed(s.body)),)
        if not isinstance(s, Loop):
            return (s,)
        new = change(s)
        if new is not None:
            return new
        body = changed(s.body)
        return (Loop(s.index, s.low, s.high, body, s.carried, s.apart, s.step, s.level),)

    return Function(function.name, function.integers, function.arrays, changed(function.body))


def mapped(x: Any, change: Callable[[Node], Node]) -> Any:
    """Return statements or scalars with each node replaced, those within it first.

    Buffers, and the sizes that they have, stay as they are.
    """
    images: dict[Node, Node] = {}

    def image(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple([image(y) for y in x])
        if not isinstance(x, Node) or isinstance(x, Buffer):
            return x
        if x not in images:
            images[x] = change(type(x)(*[image(y) for y in x.values]))
        return images[x]

    return image(x)


class Steps:
    """By how much scalars differ between neighbouring iterations of a loop.

    Both iterations are in the same iteration of the loops inside.
    """

    def __init__(self, loop: Loop) -> None:
        self._known: dict[Scalar, int | None] = {loop.index: 1}
        for x in walk(loop.body):
            if isinstance(x, Loop):
                self._known |= {x.index: 0}
                self._known |= dict.fromkeys([c.var for c in x.carried])
            elif isinstance(x, Let):
                self._known[x.var] = self.of(x.value)

    def of(self, x: Scalar) -> int | None:
        """Return the difference, or None if it is not known; 0 if all operands are the same."""
        if isinstance(x, Var):
            return self._known.get(x, 0)
        if isinstance(x, Load):
            return 0 if all([self.of(i) == 0 for i in x.index]) else None
        if not isinstance(x, Op):
            return 0
        steps = [self.of(y) for y in x.args]
        if all([n == 0 for n in steps]):
            return 0
        if None in steps or x.op not in ("add", "sub"):
            return None
        one, other = steps
        step: int = one + (other if x.op == "add" else -other)  # type: ignore[operator]
        return step or None


__all__ = ["Steps", "mapped", "with_loops"]
