"""The run time of generated matchers: views, guards, and the types of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, combinations, islice, product, starmap
from typing import Any, TypeVar

import numpy as np

from relgraph.errors import RelgraphError
from relgraph.ir.node import Constant, Variable, apply, apply_chain, constant
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, TupleType, covers
from relgraph.relations.nary import alike, canonical, leaves, segments
from relgraph.relations.shape_proof import as_known, covered, proved

_T = TypeVar("_T")
WHOLE = 4  # operands of a nested sum or product up to which a pattern is tried on every split


class OutOfSteps(Exception):
    """A match used up its steps."""


class Refused(Exception):
    """The other side cannot be built here, so the relation does not fire."""


class Narrowed(Refused):
    """A result, or a part of it, would have a dtype too narrow for the node it replaces."""


_narrowed = Narrowed()
# What building a side may raise: Refused, and the type errors of ops.
REFUSED = (Refused, RelgraphError)


def fills(like: TensorType, operand: Variable) -> bool:
    """Return True if an operand has the shape of an n-ary application that it is part of."""
    return like is operand.type or covers(like.shape, operand.type.shape)


def checked(built: Variable, like: Any) -> None:
    """Raise Narrowed for an intermediate that rounds or wraps around unlike the original."""
    if built.type.__class__ is TupleType:
        return  # each result of an op with several is checked where it is used
    dtype, wanted = built.type.dtype, like.dtype
    if dtype is not wanted and wanted.kind != "b" and dtype != wanted:
        raise _narrowed


def whole(built: Variable, like: Any) -> None:
    """Raise Narrowed for a result whose dtype is too narrow for the node it replaces."""
    dtype, wanted = built.type.dtype, like.dtype
    if dtype is not wanted and not np.can_cast(wanted, dtype):
        raise _narrowed


def steady(like: Any, nodes: Sequence[Variable]) -> bool:
    """Return True if no intermediate wraps around where the result, of another dtype, does not.

    ``-y`` of uint8 inside ``x - (-y)`` of int64 is ``256 - y``.
    """
    wanted = like.dtype
    for x in nodes:
        if x.type.__class__ is TupleType:
            continue
        dtype = x.type.dtype
        if dtype is not wanted and dtype.kind != "f" and dtype != wanted:
            return False
    return True


def instance(op: Op, operands: Sequence[Variable]) -> Any:
    """Return the type of an op applied to some operands of its n-ary view."""
    type_ = op.result_type((operands[0], operands[1]))
    if len(operands) == 2 or all([x.type is type_ for x in operands]):
        return type_
    return apply_chain(op, operands).type


def attempted(build: Callable[[], _T]) -> _T | None:
    """Return what a function builds, or None if no op takes such operands."""
    try:
        return build()
    except RelgraphError:
        return None


def reduced(function: Callable[..., Any], terms: Sequence[Any]) -> Any:
    """Reduce terms by a function of two, from the left; return None if the function does."""
    value, *others = terms
    for x in others:
        value = function(value, x)
        if value is None:
            return None
    return value


@cache
def unit(op: Op, dtype: Any) -> Constant:
    """Return the identity element of an op as a constant; -1, all bits set, wraps around."""
    return constant(np.asarray(op.identity).astype(dtype))


def total(op: Op, terms: Sequence[Variable]) -> Variable:
    """Return an op applied to terms; those that are negatives are taken away from the others."""
    taken = [x.inputs[0] for x in terms if x.op is op.inverse]
    added = [x for x in terms if x.op is not op.inverse]
    if not taken or not added or op.difference is None:
        return apply_chain(op, terms)
    return apply(op.difference, (apply_chain(op, added), apply_chain(op, taken)))


def kinds(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the types of nodes, also of nodes in a list, and other values unchanged."""
    types = []
    for x in values:
        types.append(x.type if isinstance(x, Variable) else kinds(x) if type(x) is list else x)
    return tuple(types)


def spend(steps: list[int], number: int = 1) -> None:
    """Take steps from those that are left to a match."""
    steps[0] -= number
    if steps[0] < 0:
        raise OutOfSteps


def counted(steps: list[int], items: Iterable[_T]) -> Iterator[_T]:
    """Yield items; each takes one of the steps that are left to a match."""
    for x in items:
        steps[0] -= 1
        if steps[0] < 0:
            raise OutOfSteps
        yield x


def subsets(
    steps: list[int], candidates: Iterable[tuple[Any, ...]], size: int
) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Yield candidates for interchangeable terms, each set of operands in one order.

    A candidate is a slot, its operand, and what the term binds there; those of one slot follow each
    other.  Operands of several types may have intermediates of another dtype in another order, so
    each of them comes first once.
    """
    candidates = iter(candidates)
    first = list(islice(candidates, size))
    if len(first) < size:
        return
    by_slot: dict[int, list[tuple[Any, ...]]] = {}
    for x in first:
        by_slot.setdefault(x[0], []).append(x)
    if len(by_slot) == size:  # the usual case, which needs no other candidates
        spend(steps)
        yield first
    for x in candidates:
        by_slot.setdefault(x[0], []).append(x)
    mixed = len({kinds(x[1:]) for group in by_slot.values() for x in group}) > 1
    for terms in chain.from_iterable(starmap(product, combinations(by_slot.values(), size))):
        spend(steps)
        yield terms
        if mixed and len({kinds(x[1:]) for x in terms}) > 1:
            for k in range(1, size):
                spend(steps)
                yield (terms[k], *terms[:k], *terms[k + 1 :])


def splits(operands: list[Variable], groups: int) -> Iterable[tuple[list[Variable], ...]]:
    """Yield ways to deal operands out to groups, none of them empty.

    The first way gives one operand to each group and the rest to the last.  All other ways follow
    for up to :data:`WHOLE` operands; longer views are split in the first way only.
    """
    first = (*([x] for x in operands[: groups - 1]), operands[groups - 1 :])
    yield first
    n = len(operands)
    if n > WHOLE:
        return
    for places in _deals(n, groups):
        split: tuple[list[Variable], ...] = tuple([[] for _ in range(groups)])
        for x, place in zip(operands, places, strict=True):
            split[place].append(x)
        yield split


@cache
def _deals(n: int, groups: int) -> tuple[tuple[int, ...], ...]:
    """Return the ways to deal n operands out to groups, without the first of :func:`splits`."""
    first = (*range(groups - 1), *[groups - 1] * (n - groups + 1))
    ways = product(range(groups), repeat=n)
    return tuple([x for x in ways if len(set(x)) == groups and x != first])


def together(
    matches: Sequence[Any], operands: Sequence[Variable], stays: bool, regroup: bool
) -> tuple[Any, list[Any], list[Variable]] | None:
    """Return what operands share as instances of one element, and what each has of its own.

    ``matches`` holds, for each operand, its shared values, its own values and its intermediates, or
    None.  With ``stays``, an operand without axes that is no instance stands for itself.  With
    ``regroup``, shared floats may be bracketed differently.  None means that the operands are not
    instances of one element.
    """
    if None not in matches:
        shared = matches[0][0]
        if len(matches) == 1 or all([_same(m[0], shared, regroup) for m in matches]):
            return shared, [m[1] for m in matches], [x for m in matches for x in m[2]]
    are_numbers = [stays and not getattr(x.type, "ndim", 1) for x in operands]
    pairs = list(zip(matches, are_numbers, strict=True))
    shared = next((m[0] for m, is_number in pairs if m is not None and not is_number), None)
    if shared is None:
        shared = next((m[0] for m in matches if m is not None), None)
    own, inner = [], list[Variable]()
    for x, (match, is_number) in zip(operands, pairs, strict=True):
        if match is not None and _same(match[0], shared, regroup):
            own.append(match[1])
            inner += match[2]
        elif is_number:
            own.append((x,))
        else:
            return None
    return None if shared is None else (shared, own, inner)


def alike_each(xs: Sequence[Any], ys: Sequence[Any], regroup: bool = True) -> bool:
    """Return True if two sequences of nodes or parameters are equal, in order."""
    return len(xs) == len(ys) and all(_same(x, y, regroup) for x, y in zip(xs, ys, strict=True))


def _same(x: Any, y: Any, regroup: bool) -> bool:
    """Return True if two nodes, parameters or sequences of them are equal."""
    if isinstance(x, Variable):
        return alike(x, y, regroup)
    return (
        x is y
        or bool(x == y)
        or (isinstance(x, tuple) and isinstance(y, tuple) and alike_each(x, y, regroup))
    )


# The operands of an n-ary view that a variable stands for: their slots, and their combination.
Choice = tuple[tuple[int, ...], Variable]


def within(
    op: Op,
    x: Variable,
    view: Mapping[int, Variable],
    index: Mapping[Any, Any],
    taken: Sequence[int],
) -> list[Choice]:
    """Return where a node occurs in a view: as one operand, or as several that combine to it."""
    occurrences: list[Choice] = [
        ((i,), view[i]) for i in index.get(canonical(x), ()) if i not in taken
    ]
    if x.op is op:
        slots: list[int] = []
        for leaf in leaves(x, op):
            places = index.get(canonical(leaf), ())
            slot = next((i for i in places if i not in taken and i not in slots), None)
            if slot is None:
                return occurrences
            slots.append(slot)
        occurrences.append((tuple(slots), x))
    return occurrences


def members(
    op: Op, x: Variable, operands: Sequence[Variable], taken: Sequence[int]
) -> list[Choice]:
    """Return where a node occurs among operands, as :func:`within` does by an index."""
    if x.op is not op:
        return [((i,), y) for i, y in enumerate(operands) if alike(x, y) and i not in taken]
    index: dict[Any, list[int]] = {}
    for i, operand in enumerate(operands):
        index.setdefault(canonical(operand), []).append(i)
    return within(op, x, dict(enumerate(operands)), index, taken)


def free(op: Op, view: Mapping[int, Variable], taken: Sequence[int]) -> list[Choice]:
    """Return the first operand that is not taken, if any."""
    return next(([((i,), x)] for i, x in view.items() if i not in taken), [])


def rest(op: Op, view: Mapping[int, Variable], taken: Sequence[int]) -> list[Choice]:
    """Return all operands that are not taken, as one."""
    slots = tuple([i for i in view if i not in taken])
    return [(slots, apply_chain(op, [view[i] for i in slots]))] if slots else []


def choices(op: Op, view: Mapping[int, Variable], taken: Sequence[int]) -> Iterator[Choice]:
    """Yield each operand that is not taken, and in views of at most WHOLE each combination."""
    left = [i for i in view if i not in taken]
    for i in left:
        yield (i,), view[i]
    if len(view) <= WHOLE:
        for size in range(2, len(left) + 1):
            for slots in combinations(left, size):
                yield slots, apply_chain(op, [view[i] for i in slots])


def fit(built: Any, like: TensorType, place: Any, pointwise: bool) -> Variable | None:
    """Return a result with the type of the node it replaces, or None if it cannot have that type.

    ``place`` is the node, or the operands whose combination is replaced.  Only the result of an
    elementwise identity is broadcast.
    """
    node: Variable = built if isinstance(built, Variable) else constant(built, like.dtype)
    type_ = node.type
    if type_ is like:
        return node
    if not isinstance(type_, TensorType) or not isinstance(like, TensorType):
        return None
    from relgraph.ops.elementwise import cast
    from relgraph.relations.shape_fitting import broadcast_like

    if type_.dtype != like.dtype:
        if type_.dtype.kind == "f" and like.dtype.kind != "f":
            return None
        node = cast(node, like.dtype)
    if node.type.narrows(like) and not _may_stretch(node.type, like):
        return node if as_known(node.type, like, place) else None
    if not pointwise and not isinstance(node, Constant):
        return None
    return broadcast_like(node, like, place)


def _may_stretch(type_: TensorType, like: TensorType) -> bool:
    """Return True if a size is 1 where the size of the node to replace is unknown.

    Another operand may have stretched it there.
    """
    return any(
        mine == 1 and theirs is None for mine, theirs in zip(type_.shape, like.shape, strict=True)
    )


__all__ = [
    "REFUSED", "WHOLE", "Narrowed", "Refused", "alike", "alike_each", "apply_chain", "attempted",
    "canonical", "checked", "choices", "counted", "covered", "fills", "fit", "free", "instance",
    "kinds",
    "leaves", "members", "proved", "reduced", "rest", "segments", "spend", "splits", "steady",
    "subsets", "together", "total", "unit", "whole", "within",
]  # fmt: skip
