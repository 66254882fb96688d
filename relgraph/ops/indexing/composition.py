"""Index expressions composed: one key after another, and a key moved past an op.

:mod:`relgraph.ops.indexing.expression` says what a *spec* is.  Every function here returns None
where the result is no key, or where the sizes are not known well enough to be sure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from relgraph.ir.types import Dim, Shape
from relgraph.ops.indexing.expression import FULL, Spec, advanced_place, static_slice

Entry = tuple[Any, ...]
EMPTY: Entry = ("slice", None, 0, None)
_BASIC = ("slice", "int", "dynamic", "newaxis")
_SCALAR = ("int", "dynamic")


def is_basic(spec: Spec) -> bool:
    """Return True if a key selects each element at most once: it has no array and no mask."""
    return all([entry[0] in _BASIC for entry in spec])


def trimmed(entries: Sequence[Entry]) -> Spec:
    """Return entries as a spec, without those for whole axes at the end."""
    end = len(entries)
    while end and entries[end - 1] == FULL:
        end -= 1
    return tuple(entries[:end])


def operands_of(entry: Entry) -> int:
    """Return how many operands an entry takes."""
    return int(entry[0] in ("array", "mask")) + entry.count("dynamic")


def by_axis(spec: Spec, ndim: int) -> list[Entry] | None:
    """Return one entry for each axis, or None for new axes and advanced keys."""
    if any([entry[0] not in ("slice", "int", "dynamic") for entry in spec]):
        return None
    return [*spec, *[FULL] * (ndim - len(spec))] if len(spec) <= ndim else None


def whole_axis(entry: Entry, dim: Dim) -> bool:
    """Return True if an entry keeps an axis of a size as it is."""
    return entry == FULL or (
        entry[0] == "slice"
        and "dynamic" not in entry
        and isinstance(dim, int)
        and range(dim)[slice(*entry[1:])] == range(dim)
    )


def selects_all(spec: Spec, shape: Shape) -> bool:
    """Return True if a key selects a whole array, as it is."""
    entries = by_axis(spec, len(shape))
    return entries is not None and all(map(whole_axis, entries, shape))


def small(entries: Sequence[Entry], shape: Shape) -> bool:
    """Return True if a key leaves at most half of the elements.

    Then computing only them costs less, even where several keys leave some of the same elements.
    """
    share = 1.0
    for entry, dim in zip(entries, shape, strict=True):
        if entry[0] in _SCALAR:
            share *= 1 / max(dim, 1) if isinstance(dim, int) else 0.5
        elif isinstance(dim, int) and "dynamic" not in entry and dim:
            share *= len(range(dim)[slice(*entry[1:])]) / dim
    return share <= 0.5


class Composed(NamedTuple):
    """A key that does what two do in turn."""

    spec: Spec
    order: tuple[tuple[int, int], ...]  # operand i of the first key is (0, i), of the second (1, i)


def composed(first: Spec, second: Spec, shape: Shape) -> Composed | None:
    """Return the basic key that selects what two basic keys select in sequence.

    The second applies to the part that the first selects from an array of this shape.
    """
    if not (is_basic(first) and is_basic(second)):
        return None
    if sum([entry[0] != "newaxis" for entry in first]) > len(shape):
        return None
    entries: list[Entry] = []
    order: list[tuple[int, int]] = []
    inner = [*first, *[FULL] * (len(shape) - sum([e[0] != "newaxis" for e in first]))]
    outer = list(second)
    used = [0, 0]
    axis = 0
    for entry in inner:
        dim = None if entry[0] == "newaxis" else shape[axis]
        axis += entry[0] != "newaxis"
        if entry[0] in _SCALAR:
            _take(entries, order, entry, 0, used)
            continue
        while outer and outer[0][0] == "newaxis":
            entries.append(outer.pop(0))
        over = outer.pop(0) if outer else FULL
        if FULL in (entry, over):
            _take(entries, order, *((over, 1) if entry == FULL else (entry, 0)), used)
            continue
        both = _both(entry, over, dim)
        if both is None:
            return None
        entries += both
    if any([entry[0] != "newaxis" for entry in outer]):
        return None
    return Composed(trimmed([*entries, *outer]), tuple(order))


def _take(
    entries: list[Entry], order: list[tuple[int, int]], entry: Entry, which: int, used: list[int]
) -> None:
    """Add an entry of one of two keys, with its operands."""
    entries.append(entry)
    for _ in range(operands_of(entry)):
        order.append((which, used[which]))
        used[which] += 1


def _both(inner: Entry, outer: Entry, dim: Dim) -> list[Entry] | None:
    """Return the entries that do what two do in turn to one axis, neither of them whole."""
    if inner[0] == "newaxis":
        if outer[0] == "int":
            return [] if outer[1] in (0, -1) else None
        once = outer[0] == "slice" and "dynamic" not in outer
        return [inner] if once and len(range(1)[slice(*outer[1:])]) == 1 else None
    if "dynamic" in inner or "dynamic" in outer:
        return None
    entry = _picked(inner, outer[1], dim) if outer[0] == "int" else _sliced(inner, outer, dim)
    return None if entry is None else [entry]


def _picked(inner: Entry, place: int, dim: Dim) -> Entry | None:
    """Return the index of one element of a slice."""
    if isinstance(dim, int):
        places = range(dim)[slice(*inner[1:])]
        return ("int", places[place]) if -len(places) <= place < len(places) else None
    start, stop, step = inner[1] or 0, inner[2], inner[3] or 1
    if start < 0 or step < 0 or (stop is not None and stop < 0):
        return None
    if place < 0:
        return ("int", place) if stop is None and step == 1 else None
    index = start + place * step
    return ("int", index) if stop is None or index < stop else None


def _sliced(inner: Entry, outer: Entry, dim: Dim) -> Entry | None:
    """Return the slice that is a slice of a slice."""
    if isinstance(dim, int):
        places = range(dim)[slice(*inner[1:])][slice(*outer[1:])]
        return static_slice((places.start, places.stop, places.step), dim)
    starts, steps = [inner[1] or 0, outer[1] or 0], [inner[3] or 1, outer[3] or 1]
    stops = [inner[2], outer[2]]
    if min(*starts, *steps, *[s for s in stops if s is not None]) < 0:
        return None
    start, step = starts[0] + starts[1] * steps[0], steps[0] * steps[1]
    ends = [s for s in (stops[0], None if stops[1] is None else starts[0] + stops[1] * steps[0])
            if s is not None]  # fmt: skip
    stop = min(ends) if ends else None
    if stop is not None and stop <= start:
        return EMPTY
    return ("slice", start or None, stop, None if step == 1 else step)


# Past an op: the key on its operand, and what is left of the op's parameter.


def kept_axes(entries: Sequence[Entry]) -> list[int]:
    """Return the axes that a key leaves, as positions."""
    return [i for i, entry in enumerate(entries) if entry[0] == "slice"]


def _within(axes: Collection[int], ndim: int) -> bool:
    """Return True if axes, as positions, are those of an array of rank ``ndim``."""
    return all([0 <= axis < ndim for axis in axes])


def past_permutation(spec: Spec, axes: tuple[int, ...]) -> tuple[Spec, tuple[int, ...]] | None:
    """Return the key on the operand of a transpose, and the transpose of what it selects."""
    ndim = len(axes)
    entries = by_axis(spec, ndim)
    if entries is None:
        return None
    source = [axis + ndim for axis in axes]
    moved: list[Entry] = [FULL] * ndim
    for at, entry in zip(source, entries, strict=True):
        moved[at] = entry
    left = kept_axes(moved)
    order = [left.index(source[at]) - len(left) for at in kept_axes(entries)]
    return trimmed(moved), tuple(order)


def past_new_axes(
    spec: Spec, axes: tuple[int, ...], ndim: int
) -> tuple[Spec, tuple[int, ...]] | None:
    """Return the key on the operand of expand_dims, of rank ``ndim``, and the new axes left."""
    whole = ndim + len(axes)
    entries = by_axis(spec, whole)
    if entries is None:
        return None
    new = {axis + whole for axis in axes}
    if not _within(new, whole):
        return None
    for at in new:
        entry = entries[at]
        if entry[0] == "int" and entry[1] not in (0, -1):
            return None
        if entry[0] == "dynamic" or (entry[0] == "slice" and not whole_axis(entry, 1)):
            return None
    left = kept_axes(entries)
    new_left = tuple([i - len(left) for i, at in enumerate(left) if at in new])
    return trimmed([e for at, e in enumerate(entries) if at not in new]), new_left


def past_squeeze(
    spec: Spec, axes: tuple[int, ...], ndim: int
) -> tuple[Spec, tuple[int, ...]] | None:
    """Return the key on the operand of a squeeze, of rank ``ndim``, and the axes to squeeze."""
    gone = {axis + ndim for axis in axes}
    if not _within(gone, ndim):
        return None
    entries = by_axis(spec, ndim - len(gone))
    if entries is None:
        return None
    rest = iter(entries)
    inner = [FULL if at in gone else next(rest) for at in range(ndim)]
    left = kept_axes(inner)
    return trimmed(inner), tuple([i - len(left) for i, at in enumerate(left) if at in gone])


def past_stretch(spec: Spec, shape: Shape, target: Shape) -> Spec | None:
    """Return the key on an operand of shape ``shape`` that is stretched to ``target``."""
    entries = by_axis(spec, len(target))
    if entries is None or len(shape) > len(target):
        return None
    lead = len(target) - len(shape)
    inner: list[Entry] = []
    for entry, dim, whole in zip(entries[lead:], shape, target[lead:], strict=True):
        if dim != 1 or whole == 1:
            if dim is None and whole is not None:
                return None  # it may be stretched at the call
            inner.append(entry)
        elif entry[0] == "int":
            inner.append(("int", 0))
        elif entry[0] == "dynamic":
            return None
        else:
            inner.append(FULL)
    return trimmed(inner)


def past_reduction(
    spec: Spec, axes: tuple[int, ...] | None, keepdims: bool, ndim: int
) -> tuple[Spec, tuple[int, ...]] | None:
    """Return the key on the operand of a reduction, of rank ``ndim``, and the axes to reduce."""
    reduced = set(range(ndim)) if axes is None else {axis + ndim for axis in axes}
    if not _within(reduced, ndim):
        return None
    entries = by_axis(spec, ndim if keepdims else ndim - len(reduced))
    if entries is None:
        return None
    if keepdims:
        if any([not whole_axis(entries[at], 1) for at in reduced]):
            return None
        inner = [FULL if at in reduced else entry for at, entry in enumerate(entries)]
    else:
        rest = iter(entries)
        inner = [FULL if at in reduced else next(rest) for at in range(ndim)]
    left = kept_axes(inner)
    return trimmed(inner), tuple([i - len(left) for i, at in enumerate(left) if at in reduced])


def past_axis(spec: Spec, axis: int, ndim: int) -> int | None:
    """Return where an axis, of which a key keeps the whole, is in what the key selects."""
    entries = by_axis(spec, ndim)
    if entries is None or not _within((axis + ndim,), ndim) or entries[axis] != FULL:
        return None
    left = kept_axes(entries)
    return left.index(axis + ndim) - len(left)


def places(entry: Entry, dim: Dim) -> range | None:
    """Return the indices of an axis that an entry selects, where they are known."""
    if "dynamic" in entry:
        return None
    if isinstance(dim, int):
        if entry[0] == "int":
            return range(dim)[entry[1] : entry[1] + 1 or None]
        return range(dim)[slice(*entry[1:])]
    if entry[0] == "int":
        return range(entry[1], entry[1] + 1) if entry[1] >= 0 else None
    start, stop, step = entry[1] or 0, entry[2], entry[3] or 1
    if start < 0 or step < 0 or (stop is not None and stop < 0):
        return None
    return range(start, 2**62 if stop is None else stop, step)


def before_places(first: Spec, second: Spec, shape: Shape) -> Spec | None:
    """Return the key that does what a key with one index array and a basic key do in turn.

    The second key may only touch axes before the index array, which stays where it is.
    """
    kinds = [entry[0] for entry in first]
    if kinds.count("array") != 1 or any([kind not in ("slice", "array") for kind in kinds]):
        return None
    at = kinds.index("array")
    front = composed(first[:at], second, shape[:at]) if len(second) <= at else None
    if front is None or any([entry[0] not in ("slice", "int") for entry in front.spec]):
        return None
    before = [*front.spec, *[FULL] * (at - len(front.spec))]
    spec = trimmed([*before, *first[at:]])
    return spec if advanced_place(spec) == len(kept_axes(before)) else None


def adjoining(axis: int, one_key: Spec, other_key: Spec, shape: Shape) -> Spec | None:
    """Return the key of two parts of an array that follow each other along an axis of theirs."""
    first, second = by_axis(one_key, len(shape)), by_axis(other_key, len(shape))
    if first is None or second is None:
        return None
    left = kept_axes(first)
    if left != kept_axes(second) or len(left) < -axis:
        return None
    at = left[axis]
    rest = [i for i in range(len(shape)) if i != at]
    if any([first[i] != second[i] or "dynamic" in first[i] for i in rest]):
        return None
    dim = shape[at]
    one, other = (places(entries[at], dim) for entries in (first, second))
    if one is None or other is None or one.step != 1 or other.step != 1:
        return None
    if not (len(one) and len(other) and one.stop == other.start):
        return None
    if dim is None or isinstance(dim, str):
        # x[:3] is shorter where x is; then x[3:] is empty, and x[:] is x[:3].
        joined = ("slice", one.start or None, second[at][2], None)
    else:
        joined = static_slice((one.start, other.stop, 1), dim)
    return trimmed([joined if i == at else e for i, e in enumerate(first)])


def disjoint(first: Spec, second: Spec, shape: Shape, chosen: Sequence[int] | None = None) -> bool:
    """Return True if two keys surely select no element in common.

    The first key may have one index array if ``chosen`` holds its indices.
    """
    if chosen is not None:
        if [entry for entry in first if entry[0] == "array"] != [("array",)]:
            return False
        at = first.index(("array",))
        one_by_one = [(*first[:at], ("int", place), *first[at + 1 :]) for place in chosen]
        return all([disjoint(spec, second, shape) for spec in one_by_one])
    pairs = [by_axis(spec, len(shape)) for spec in (first, second)]
    if pairs[0] is None or pairs[1] is None:
        return False
    for a, b, dim in zip(pairs[0], pairs[1], shape, strict=True):
        one, other = places(a, dim), places(b, dim)
        if one is None or other is None:
            continue
        low, high = max(_low(one), _low(other)), min(_high(one), _high(other))
        if low > high or (one.step % 2 == other.step % 2 == 0 and (one[0] - other[0]) % 2):
            return True
        # For a single index the test is exact.
        if (len(one) == 1 and one[0] not in other) or (len(other) == 1 and other[0] not in one):
            return True
    return False


def _low(r: range) -> int:
    return min(r[0], r[-1]) if len(r) else 1


def _high(r: range) -> int:
    return max(r[0], r[-1]) if len(r) else 0
