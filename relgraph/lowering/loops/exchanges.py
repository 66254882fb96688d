"""Steps that exchange two buffers instead of copying one to the other.

A step that computes new elements of an array from their neighbours keeps them in a second array,
and copies them to the first one at its end.  Here a step writes the new array to the second one,
and the next step reads it there.  A loop of such steps runs two of them in each iteration, so that
the array ends where it began; an odd last step copies it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import prod
from typing import NamedTuple

from relgraph.ir.records import replace
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.changes import mapped, with_loops
from relgraph.lowering.loops.function import Array, LoopFunction
from relgraph.lowering.loops.nodes import (
    Body,
    Buffer,
    Const,
    Function,
    If,
    Let,
    Load,
    Loop,
    Node,
    Op,
    Scalar,
    Statement,
    Store,
    Var,
    While,
    const,
    walk,
)

FEWEST = 4  # steps
LONGEST = 100  # statements of a step, which is compiled twice, or three times


class _Nest(NamedTuple):
    """Loops, one inside of another, that store an element in each iteration."""

    indices: tuple[Var, ...]
    sizes: tuple[Scalar, ...]
    lets: tuple[Let, ...]
    store: Store

    @property
    def is_whole(self) -> bool:
        """Whether it writes every element of a buffer in order."""
        return self.store.index == self.indices and self.sizes == self.store.buffer.shape

    @property
    def source(self) -> Buffer | None:
        """The buffer that it copies to another one of the same shape."""
        value = self.store.value
        for s in self.lets:
            value = s.value if value is s.var else value
        if not (self.is_whole and isinstance(value, Load) and value.index == self.indices):
            return None
        return value.buffer if value.buffer.shape == self.sizes else None

    def statement(self) -> Statement:
        """Return it as a statement."""
        body: Body = (*self.lets, self.store)
        for i, n in zip(self.indices[::-1], self.sizes[::-1], strict=True):
            body = (Loop(i, ZERO, n, body, (), True),)
        return body[0]


def _nest(s: Statement) -> _Nest | None:
    """Return a statement as a nest, if it is one whose iterations are apart."""
    indices, sizes = [], []
    body: Body = (s,)
    while len(body) == 1 and isinstance(loop := body[0], Loop):
        if not loop.apart or loop.low is not ZERO or loop.carried or loop.step != 1 or loop.level:
            return None
        indices.append(loop.index)
        sizes.append(loop.high)
        body = loop.body
    lets = tuple([x for x in body[:-1] if isinstance(x, Let)])
    if not indices or len(lets) != len(body) - 1 or not isinstance(last := body[-1], Store):
        return None
    return _Nest(tuple(indices), tuple(sizes), lets, last)


class _Exchange(NamedTuple):
    """How the steps of a loop exchange buffers.

    Attributes
    ----------
    before : tuple of Statement
        What comes before the loop.
    step : tuple of Statement
        A step after which each of two buffers holds the array of the other one.
    buffers : tuple of Buffer
        These buffers.
    after : tuple of Statement
        What moves the arrays back.
    smaller : Buffer or None
        The buffer that the second one takes the place of.
    """

    before: Body
    step: Body
    buffers: tuple[Buffer, Buffer]
    after: Body
    smaller: Buffer | None = None


class _Writer:
    """Writes the loops of a function that exchange buffers.

    Attributes
    ----------
    larger : dict of Buffer to Buffer
        Arrays for the function's own use that become larger ones.
    """

    def __init__(self, loop: LoopFunction) -> None:
        self._uses = _uses(loop.function.body)
        self.own = set(loop.function.arrays[-1 - len(loop.scratch) : -1])
        self.larger: dict[Buffer, Buffer] = {}
        self._numbers = count(1)

    def changed(self, s: Loop) -> Body | None:
        """Return what a loop becomes, or None if it stays."""
        if s.carried or s.low is not ZERO or s.step != 1 or s.level or s.apart or not s.body:
            return None
        if not isinstance(s.high, Const) or s.high.value < FEWEST:
            return None
        exchange = self._match_move(s.body) or self._match_update(s)
        if exchange is None or not all(
            [_only_elements(exchange.step, x) for x in exchange.buffers]
        ):
            return None
        if sum([isinstance(x, Let | Store) for x in walk(exchange.step)]) > LONGEST:
            return None
        if exchange.smaller is not None:
            self.larger[exchange.smaller] = exchange.buffers[1]
        return self._steps(s, s.high.value, exchange)

    def _steps(self, s: Loop, n: int, exchange: _Exchange) -> Body:
        """Return a loop over pairs of steps, and the last step of an odd number."""
        one, two = exchange.buffers
        second, last = self._rename(exchange.step), self._rename(exchange.step)
        i = self._fresh(s.index)
        pair = (
            *exchange.step,
            Let(i, Op("add", (s.index, ONE), "int64")),
            *mapped(second, _replacement({s.index: i}, {one: two, two: one})),
        )
        loop = Loop(s.index, ZERO, const(n - n % 2, "int64"), pair, (), False, 2)
        if n % 2 == 0:
            return *exchange.before, loop
        final = mapped(last, _replacement({s.index: const(n - 1, "int64")}, {}))
        return *exchange.before, loop, *final, *exchange.after

    def _match_update(self, loop: Loop) -> _Exchange | None:
        """Match a step that keeps new elements in a buffer, and at its end updates an array.

        The elements that it does not update are those that they are before the loop, so all steps
        must update the same ones.
        """
        body = loop.body
        *others, s = body
        update = _nest(s)
        if update is None:
            return None
        array = update.store.buffer
        loaded = {x.buffer for x in walk((*update.lets, update.store)) if isinstance(x, Load)}
        kept = loaded - {array}
        if len(kept) != 1 or len(_stores(body, array)) != 1:
            return None
        (keeping,) = kept
        if not self._is_own(keeping, body):
            return None
        stores = [k for k, x in enumerate(others) if keeping in _stored(x)]
        new = _nest(others[stores[0]]) if len(stores) == 1 else None
        if new is None or not new.is_whole or new.store.buffer is not keeping:
            return None
        k = stores[0]
        if new.sizes != update.sizes:
            return None
        if update.source is keeping and not _loads(others[: k + 1], keeping):
            after = (self._copy(keeping, array),)
            return _Exchange((), tuple(others), (array, keeping), after)
        reads = _loads((s,), keeping)
        if (
            len(_loads(body, keeping)) != len(reads)
            or any([x.index != update.indices for x in reads])
            or any([x.index != update.store.index for x in _loads((s,), array)])
            or not (_is_fixed(update, loop) and _is_most(update))
            or _loaded(others[k]) & {x for other in others[k + 1 :] for x in _stored(other)}
        ):
            return None
        second = Buffer(keeping.name, array.dtype, array.shape, keeping.space)
        step = (*others[:k], *others[k + 1 :], _updating(new, update, second))
        before, after = (self._copy(array, second),), (self._copy(second, array),)
        return _Exchange(before, step, (array, second), after, keeping)

    def _match_move(self, body: Body) -> _Exchange | None:
        """Match a step that keeps an array, updates it, and moves the kept one to another array."""
        *others, s = body
        move = _nest(s)
        keeping = None if move is None else move.source
        if move is None or keeping is None or not self._is_own(keeping, body):
            return None
        nests = [_nest(x) for x in others]
        copies = [k for k, x in enumerate(others) if keeping in _stored(x)]
        copy = nests[copies[0]] if len(copies) == 1 else None
        array, older = None if copy is None else copy.source, move.store.buffer
        if array is None or array.dtype != older.dtype or array.shape != older.shape:
            return None
        if len(_loads(body, keeping)) != 1 or len(_stores(body, older)) != 1:
            return None
        updates = [k for k, x in enumerate(others) if array in _stored(x)]
        update = nests[updates[0]] if len(updates) == 1 else None
        if update is None or not update.is_whole or updates[0] < copies[0]:
            return None
        k = updates[0]
        rest = tuple(others[k + 1 :])
        if _loads(rest, array) or _loads(rest, older):
            return None
        if any([x.index != update.indices for x in _loads((others[k],), older)]):
            return None
        to_older = update._replace(store=Store(older, update.store.index, update.store.value))
        step = (*others[:k], to_older.statement(), *rest)
        return _Exchange(
            (),
            tuple([x for x in step if x is not others[copies[0]]]),
            (older, array),
            (self._copy(array, keeping), self._copy(older, array), self._copy(keeping, older)),
        )

    def _is_own(self, buffer: Buffer, body: Body) -> bool:
        """Return True for a buffer of the function that only one body reads or writes."""
        own = buffer in self.own or buffer.space == "stack"
        return own and self._uses[buffer] == _uses(body)[buffer]

    def _copy(self, source: Buffer, target: Buffer) -> Statement:
        """Return a statement that copies a buffer to one of its shape."""
        indices = tuple([self._fresh(Var("i", "int64")) for _ in source.shape])
        store = Store(target, indices, Load(source, indices))
        return _Nest(indices, source.shape, (), store).statement()

    def _rename(self, body: Body) -> Body:
        """Return statements with other names for the variables that they bind."""
        names: dict[Node, Node] = {var: self._fresh(var) for var in _variables(body)}
        other: Body = mapped(body, _replacement(names, {}))
        return other

    def _fresh(self, var: Var) -> Var:
        return Var(f"{var.name}x{next(self._numbers)}", var.dtype)


def _updating(new: _Nest, update: _Nest, target: Buffer) -> Statement:
    """Return a nest that updates a buffer by the new elements as it computes them."""
    names: dict[Node, Node] = dict(zip(update.indices, new.indices, strict=True))

    def change(x: Node) -> Node:
        if isinstance(x, Load) and x.buffer is new.store.buffer:
            return new.store.value
        return names.get(x, x)

    lets, store = mapped((update.lets, update.store), change)
    stored = Store(target, store.index, store.value)
    return _Nest(new.indices, new.sizes, (*new.lets, *lets), stored).statement()


def _replacement(
    names: Mapping[Node, Node], buffers: Mapping[Buffer, Buffer]
) -> Callable[[Node], Node]:
    """Return a change of variables and buffers."""

    def change(x: Node) -> Node:
        if isinstance(x, Load | Store) and x.buffer in buffers:
            return type(x)(buffers[x.buffer], *x.values[1:])
        return names.get(x, x)

    return change


def _uses(body: Body) -> Counter[Buffer]:
    """Return how often statements read or write each buffer."""
    return Counter([y for x in walk(body) for y in x.values if type(y) is Buffer])


def _loads(body: Sequence[Statement], buffer: Buffer) -> list[Load]:
    return [x for x in walk(tuple(body)) if isinstance(x, Load) and x.buffer is buffer]


def _stores(body: Sequence[Statement], buffer: Buffer) -> list[Store]:
    return [x for x in walk(tuple(body)) if isinstance(x, Store) and x.buffer is buffer]


def _loaded(s: Statement) -> set[Buffer]:
    return {x.buffer for x in walk(s) if isinstance(x, Load)}


def _stored(s: Statement) -> set[Buffer]:
    """Return the buffers that a statement writes to, or may write to."""
    return {y for x in walk(s) if not isinstance(x, Load) for y in x.values if type(y) is Buffer}


def _is_fixed(nest: _Nest, loop: Loop) -> bool:
    """Return True if a nest stores to the same elements in each iteration of a loop around it."""
    moving = {loop.index, *_variables(loop.body)}.difference(nest.indices)
    for s in nest.lets:
        if moving.isdisjoint(walk(s.value)) and not any([isinstance(x, Load) for x in walk(s)]):
            moving.discard(s.var)
    nodes = set(walk(nest.store.index))
    return moving.isdisjoint(nodes) and not any([isinstance(x, Load) for x in nodes])


def _is_most(nest: _Nest) -> bool:
    """Return True if a nest stores to at least half of a buffer."""
    sizes = [n.value for n in nest.sizes if isinstance(n, Const)]
    whole = [n.value for n in nest.store.buffer.shape if isinstance(n, Const)]
    known = len(sizes) == len(nest.sizes) and len(whole) == len(nest.store.buffer.shape)
    return known and 2 * prod(sizes) >= prod(whole)


def _variables(body: Body) -> list[Var]:
    """Return the variables that statements bind."""
    variables: list[Var] = []
    for x in walk(body):
        if isinstance(x, Let):
            variables.append(x.var)
        elif isinstance(x, Loop):
            variables += [x.index, *[c.var for c in x.carried]]
        elif isinstance(x, While):
            variables += [c.var for c in x.carried]
        elif isinstance(x, If):
            variables += [r.var for r in x.results]
    return variables


def _only_elements(body: Body, buffer: Buffer) -> bool:
    """Return True if statements read and write a buffer by its elements only."""
    return all([isinstance(x, Load | Store) for x in walk(body) if buffer in x.values])


def with_exchanges(loop: LoopFunction) -> LoopFunction:
    """Return a function whose steps exchange buffers where that saves a copy in each step."""
    writer = _Writer(loop)
    function = with_loops(loop.function, writer.changed)
    if function is loop.function:
        return loop
    arrays = tuple([writer.larger.get(x, x) for x in function.arrays])
    scratch = arrays[len(arrays) - 1 - len(loop.scratch) : -1]
    return replace(
        loop,
        function=Function(function.name, function.integers, arrays, function.body),
        scratch=tuple([Array(x.dtype, x.shape) for x in scratch]),
    )


__all__ = ["with_exchanges"]
