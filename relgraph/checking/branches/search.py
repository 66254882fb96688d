"""A search for values that take each branch of two graphs, beyond what random values reach.

A line is a sequence of points on which inputs grow together, over all magnitudes and past every
constant.  If two neighbours on it take different branches, bisection between them ends at two
adjacent floats: the last of one branch, the first of the other, and a tie if there is one.  So the
inner function of a condition needs no inverse.  If a difference only comes near zero, the search
first looks for its extreme values on the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from relgraph.checking.branches.decisions import NEITHER, deciding, decision_of
from relgraph.checking.evaluation import evaluate
from relgraph.checking.generators.arrays import draw, with_facts
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Input, Variable

Array = Any
Points = dict[str, Array]  # by input, an array with one value for each point
Line = tuple[int, int]  # where the points of a line start and stop

ROUNDS = 64  # steps of bisection: as many as floats have bits
BRACKETS = {True: 96, False: 6}  # brackets to bisect, for points computed together and one by one
NEAR = 6  # brackets of one line and one node
CONSTANTS = 8  # constants that lines pass in small steps
PREIMAGES = 4  # constants that inner nodes are compared with
ULPS = (-8, -2, -1, 0, 1, 2, 8)
STEPS = (-1.0, 1.0, -1e-3, 1e-3)
MAGNITUDES = np.concatenate(
    [
        10.0 ** np.arange(-20, 20.25, 0.5),
        10.0 ** np.arange(-308.0, 308.5, 16),
        [5e-324, 700.0, 750.0, 1e308],
    ]
)
NEARBY = np.concatenate(
    [
        np.arange(-12, 12.5, 0.5),
        [s * 2.0**k + d for s in (-1, 1) for k in (8, 16, 24, 31, 53) for d in (-1, 0, 1)],
    ]
)  # whole numbers, up to the limits of dtypes and exact floats
COARSE = np.array([1e-300, 1e-100, 1e-12, 1e-3, 0.1, 1, 3, 10, 30, 100, 800, 1e4, 1e8, 1e18, 1e100])
BASES = 4  # values of the other inputs on a line
SPECIALS = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -750.0)
COMBINED = 400  # points with values of all inputs drawn from all lines


@dataclass
class Trial:
    """The values of two graphs at points."""

    points: Points
    lines: list[Line]
    # The value of each node, if all points are computed together.
    done: dict[Variable, Array] = field(default_factory=dict)
    # For each node with branches and each point, a bit for each branch that an element takes.
    masks: dict[Variable, Array] = field(default_factory=dict)
    # Values that change where a branch may change between two points.
    codes: dict[Any, Array] = field(default_factory=dict)
    # Values that are zero where a node changes its branch.
    heights: dict[Any, Array] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many points there are."""
        return next((len(v) for v in self.points.values()), 0)


def constants_of(graphs: Iterable[Variable]) -> list[float]:
    """Return the finite numbers in graphs."""
    numbers: dict[float, None] = {}
    for x in toposort(list(graphs)):
        if isinstance(x, Constant) and x.dtype.kind in "iuf":
            numbers |= dict.fromkeys(np.unique(x.value)[:CONSTANTS].astype(float).tolist())
    return [x for x in numbers if math.isfinite(x)]


class Search:
    """Points at which a graph and its replacement take each of their branches.

    Lines pass ``constants`` in small steps.  With ``together``, scalar inputs become arrays of
    points, which requires elementwise graphs.  ``samples`` are additional numbers for inputs, by
    name, and ``regular`` asks for well conditioned matrices.
    """

    def __init__(
        self,
        graphs: tuple[Variable, Variable],
        inputs: Sequence[Input],
        constants: Sequence[float],
        rng: np.random.Generator,
        *,
        together: bool,
        samples: Mapping[str, Sequence[float]] | None = None,
        regular: bool = False,
    ) -> None:
        self._samples = dict(samples or {})
        self.graphs, self.inputs, self.rng = graphs, list(inputs), rng
        self.constants = list(constants)[:CONSTANTS]
        self.together, self.regular = together, regular
        self.deciding = deciding(graphs)
        nodes = [x for x in toposort(list(graphs)) if not isinstance(x, Constant)]
        self._floats = [x for x in nodes if getattr(x.type, "dtype", np.dtype("O")).kind == "f"]
        self.matrices = any(x.op is not None and x.op.conditioned for x in nodes)
        self._inner = [x for x in self._floats if x.op is not None]

    # Lines.

    def lines(self) -> tuple[Points, list[Line]]:
        """Return the first points: lines, then single points."""
        return self._scalar_lines() if self.together else self._array_lines()

    def _scalar_lines(self) -> tuple[Points, list[Line]]:
        grids = {x.name: self.grid(x) for x in self.inputs}
        free = [x for x in self.inputs if x.dtype.kind != "b"]
        rows: list[Points] = []
        for x in free:
            for number in range(BASES if len(self.inputs) > 1 else 1):
                rows.append(self._line(grids, {x.name: 1.0}, number))
        floats = [x for x in free if x.dtype.kind == "f"]
        if len(floats) > 1:
            for first, second in ((1.0, 1.0), (1.0, -1.0)):
                signs = {x.name: second if i % 2 else first for i, x in enumerate(floats)}
                rows.append(self._line(grids, signs, 0))
        lines, start = [], 0
        for row in rows:
            stop = start + len(next(iter(row.values())))
            lines.append((start, stop))
            start = stop
        rows.append({name: self.rng.choice(g, COMBINED) for name, g in grids.items()})
        rows += self._corners()
        whole = {x.name: np.concatenate([row[x.name] for row in rows]) for x in self.inputs}
        return whole, lines

    def _line(self, grids: Points, moving: dict[str, float], number: int) -> Points:
        """Return a line on which some inputs move up or down, and the others are constant."""
        (first, *_) = moving
        along = grids[first]
        row = {}
        for x in self.inputs:
            if x.name in moving:
                values = along if moving[x.name] > 0 else -along
                row[x.name] = with_facts(x, values.astype(x.dtype), self.rng)
            else:
                kind = ("moderate", "moderate", "extreme", "wide")[number % 4]
                value = draw(x, self.rng, kind if x.dtype.kind == "f" else "moderate")
                if number == 1 and self.constants and x.dtype.kind != "b":
                    value = self.rng.choice(grids[x.name])
                row[x.name] = np.full(len(along), value, x.dtype)
        return row

    def _corners(self) -> list[Points]:
        """Return special values of inputs, in all combinations if there are few."""
        options = []
        for x in self.inputs:
            if x.dtype.kind == "b":
                options.append(np.array([False, True]))
            elif x.dtype.kind == "f":
                centres = [v for c in self.constants[:2] for v in (c, -c)]
                special = np.array([*SPECIALS, *centres], x.dtype)
                options.append(np.unique(with_facts(x, special, self.rng)))
            else:
                options.append(np.unique(with_facts(x, np.arange(-3, 4).astype(x.dtype), self.rng)))
        count = math.prod(map(len, options))
        if count <= COMBINED:
            corners = list(product(*options))
        else:
            corners = [tuple(self.rng.choice(o) for o in options) for _ in range(COMBINED)]
        columns = list(zip(*corners, strict=True)) or [()] * len(self.inputs)
        return [{x.name: np.array(c, x.dtype) for x, c in zip(self.inputs, columns, strict=True)}]

    def grid(self, x: Input) -> Array:
        """Return sorted numbers of an input's dtype: all magnitudes, and around constants."""
        c = np.array(self.constants, float)
        sums = (c[:, None] + c).ravel(), (c[:, None] - c).ravel()
        with np.errstate(over="ignore", under="ignore"):
            centres = np.unique(np.concatenate([c, -c, *sums, c * 2, c / 2]))
            if x.dtype.kind == "f":
                near = [np.nextafter(centres, end) for end in (-math.inf, math.inf)]
                near += [centres + s for s in STEPS] + [centres * (1 + s) for s in STEPS[2:]]
                whole = np.concatenate([MAGNITUDES, -MAGNITUDES, NEARBY, centres, *near])
                values = whole.astype(x.dtype)
                values = values[np.isfinite(values)]
            elif x.dtype.kind == "b":
                values = np.array([False, True])
            else:
                info = np.iinfo(x.dtype)
                powers = [s * 2**k + d for k in range(63) for s in (1, -1) for d in (-1, 0, 1)]
                around = [int(c) + d for c in centres if abs(c) < 2**62 for d in range(-2, 3)]
                listed = {*range(-12, 13), *powers, *around, info.min, info.max}
                values = np.array([v for v in listed if info.min <= v <= info.max], x.dtype)
            values = np.append(values, np.array(self._samples.get(x.name, ())).astype(x.dtype))
        return np.unique(with_facts(x, values, self.rng))

    def _array_lines(self) -> tuple[Points, list[Line]]:
        """Return lines of arrays that are filled, stretched, shifted, or changed in one element."""
        rows: list[Points] = []
        along = np.concatenate([-COARSE[::-1], [0.0], COARSE])
        if self.matrices:
            along = along[(np.abs(along) > 1e-2) & (np.abs(along) < 5)]
        around = [v for c in self.constants[:3] for v in (np.nextafter(c, -math.inf), c, c + 1)]
        along = np.unique([*along, *around])
        along = np.unique([*along, *(v for numbers in self._samples.values() for v in numbers)])
        if any(x.dtype.kind in "iu" for x in self.inputs):
            along = np.unique(np.clip(np.rint(along), -100, 100))
        for way in ("filled", "stretched", "one sign", "shifted", "one element"):
            base = {x.name: self._drawn(x, way) for x in self.inputs}
            rows.append(
                {
                    x.name: np.stack([self._moved(x, base[x.name], t, way) for t in along])
                    for x in self.inputs
                }
            )
        size = len(along)
        lines = [(i * size, (i + 1) * size) for i in range(len(rows))]
        return {x.name: np.concatenate([row[x.name] for row in rows]) for x in self.inputs}, lines

    def _drawn(self, x: Input, way: str) -> Array:
        value = draw(x, self.rng, "moderate", self.regular)
        if way == "one sign" and x.dtype.kind == "f" and not x.facts:
            value = (1 + np.abs(value) / 3).astype(x.dtype)
        return value

    def _moved(self, x: Input, base: Array, t: float, way: str) -> Array:
        if x.dtype.kind == "b":
            filled = np.full(base.shape, t > 0)
            return with_facts(x, filled, self.rng, self.regular) if way == "filled" else base
        with np.errstate(all="ignore"):
            value = np.array(base, float)
            if way == "filled":
                value = np.full(base.shape, float(t))
            elif way in ("stretched", "one sign"):
                value = value * t
            elif way == "shifted":
                value = value + t
            elif value.size:
                value.flat[0] = t
            moved = value.astype(x.dtype)
        stays_regular = way in ("stretched", "one sign")
        return with_facts(x, moved, self.rng, self.regular and not stays_regular)

    # Values at points.

    def trial(self, points: Points, lines: Sequence[Line] = ()) -> Trial:
        """Compute both graphs at points."""
        trial = Trial(points, list(lines))
        if not self.together:
            return self._one_by_one(trial)
        done = evaluate(self.graphs, points)
        size = trial.size
        trial.done = {x: np.broadcast_to(v, (size,)) for x, v in done.items()}
        with np.errstate(all="ignore"):
            for x in self.deciding:
                self._record(trial, x, [trial.done[y] for y in x.inputs], trial.done[x])
            for x in self._floats:
                v = trial.done[x]
                trial.codes[x] = np.where(np.isnan(v), 3, np.sign(v)) + 8 * np.isinf(v)
            for x in self._inner:
                for c in self.constants[:PREIMAGES]:
                    trial.codes[x, c] = np.sign(trial.done[x] - c)
        return trial

    def _record(self, trial: Trial, x: Variable, operands: list[Array], result: Array) -> None:
        decision = decision_of(x)
        assert decision is not None
        labels = np.asarray(decision.label(operands, result))
        trial.masks[x] = np.where(labels == NEITHER, 0, 1 << np.maximum(labels, 0))
        trial.codes["branch", x] = trial.masks[x]
        for i, d in enumerate(decision.differences(operands)):
            trial.heights[x, i] = d
            trial.codes["order", x, i] = np.where(np.isnan(d), 3, np.sign(d))

    def _one_by_one(self, trial: Trial) -> Trial:
        trial.masks = {x: np.zeros(trial.size, int) for x in self.deciding}
        for i in range(trial.size):
            try:
                done = evaluate(self.graphs, at(trial.points, i))
            except (ValueError, np.linalg.LinAlgError):
                continue
            at_point = Trial({}, [])
            with np.errstate(all="ignore"):
                for x in self.deciding:
                    self._record(at_point, x, [done[y] for y in x.inputs], done[x])
                    taken = np.ravel(at_point.masks[x])
                    trial.masks[x][i] = np.bitwise_or.reduce(taken, initial=0)
        trial.codes = {("branch", x): mask for x, mask in trial.masks.items()}
        return trial

    # Boundaries of branches.

    def crossings(self, trial: Trial, unreached: Iterable[Variable] = ()) -> Points | None:
        """Return points around each change of branch on a line, or None if there is none."""
        first = set(unreached)
        keys = sorted(trial.codes, key=lambda k: not (isinstance(k, tuple) and k[1] in first))
        brackets: list[tuple[Any, int]] = []
        for key in keys:
            code = trial.codes[key]
            for start, stop in trial.lines:
                (changes,) = np.nonzero(code[start : stop - 1] != code[start + 1 : stop])
                near = changes[
                    np.linspace(0, len(changes) - 1, min(NEAR, len(changes))).astype(int)
                ]
                brackets += [(key, start + int(i)) for i in near]
        brackets = brackets[: BRACKETS[self.together]]
        if not brackets:
            return None
        starts = np.array([i for _, i in brackets])
        low = {name: v[starts] for name, v in trial.points.items()}
        high = {name: v[starts + 1] for name, v in trial.points.items()}
        low_codes = np.array([trial.codes[key][i] for key, i in brackets])
        for _ in range(ROUNDS):
            middle = self._between(low, high)
            codes = self.trial(middle).codes
            middle_codes = np.array([codes[key][i] for i, (key, _) in enumerate(brackets)])
            same = middle_codes == low_codes
            for name, v in middle.items():
                column = same.reshape(-1, *[1] * (v.ndim - 1))
                low[name] = np.where(column, v, low[name])
                high[name] = np.where(column, high[name], v)
        return self._around(low, high)

    def _between(self, low: Points, high: Points) -> Points:
        """Return the midpoints of points, with the facts of the inputs."""
        return {
            x.name: with_facts(x, between(low[x.name], high[x.name]), self.rng) for x in self.inputs
        }

    def _around(self, low: Points, high: Points) -> Points:
        """Return points next to adjacent ones, and the midpoint of each and the one after it."""
        size = len(next(iter(low.values())))
        rows = [low, high]
        for step in ULPS if self.together else ():
            rows.append({x.name: self._stepped(x, low, high, step) for x in self.inputs})
        if self.together:
            for part in STEPS:
                rows.append({x.name: self._shifted(x, low, high, part) for x in self.inputs})
            order: Array = np.argsort([float(v) for v in next(iter(low.values()))]) if size else []
            after = np.roll(order, -1)
            rows.append({n: between(v[order], v[after]) for n, v in low.items()})
            rows.append(
                {
                    x.name: with_facts(x, _mean(low[x.name][order], low[x.name][after]), self.rng)
                    for x in self.inputs
                }
            )
        return {
            x.name: with_facts(x, np.concatenate([row[x.name] for row in rows]), self.rng)
            for x in self.inputs
        }

    def _stepped(self, x: Input, low: Points, high: Points, step: int) -> Array:
        moving = low[x.name] != high[x.name]
        return np.where(moving, neighbour(low[x.name], step), low[x.name])

    def _shifted(self, x: Input, low: Points, high: Points, step: float) -> Array:
        value = low[x.name]
        if value.dtype.kind == "b":
            return value
        with np.errstate(all="ignore"):
            near = value + step if abs(step) >= 1 else value * (1 + step)
            return np.where(low[x.name] != high[x.name], near.astype(x.dtype), value)

    def peaks(self, trial: Trial, unreached: Iterable[Variable]) -> Points | None:
        """Return points where the differences that unreached branches depend on are extreme.

        The points come in pairs: a start on a line, and the extreme that halving leads to.
        """
        nodes = set(unreached)
        starts: list[tuple[Any, int, int]] = []
        for key, differences in trial.heights.items():
            if key[0] not in nodes:
                continue
            for start, stop in trial.lines:
                on_line = differences[start:stop]
                for way, score in enumerate((on_line, -on_line, np.abs(on_line))):
                    score = np.where(np.isnan(score), math.inf, score)
                    inner = np.nonzero((score[1:-1] <= score[:-2]) & (score[1:-1] <= score[2:]))[0]
                    lowest = inner[np.argsort(score[1:-1][inner], kind="stable")][:2]
                    starts += [(key, way, start + 1 + int(i)) for i in lowest]
        starts = starts[: BRACKETS[True]]
        if not starts:
            return None
        indices: Array = np.array([i for *_, i in starts])
        low, first, high = [
            {name: v[indices + step] for name, v in trial.points.items()} for step in (-1, 0, 1)
        ]
        best = first

        def score_at(points: Points) -> Array:
            heights = self.trial(points).heights
            differences = [heights[key][i] for i, (key, _, _) in enumerate(starts)]
            scores = np.array(
                [(d, -d, abs(d))[way] for d, (_, way, _) in zip(differences, starts, strict=True)]
            )
            return np.where(np.isnan(scores), math.inf, scores)

        for _ in range(ROUNDS):
            left, right = self._between(low, best), self._between(high, best)
            options: list[Points] = [left, best, right]
            winner = np.argmin(np.stack([score_at(option) for option in options]), axis=0)
            choices = (low, left, best), tuple(options), (best, right, high)
            low, best, high = (
                {name: np.choose(winner, [points[name] for points in three]) for name in best}
                for three in choices
            )
        # A line from each start to its extreme may cross into the branch.
        return {
            name: np.stack([row[name] for row in (first, best)], axis=1).reshape(2 * len(starts))
            for name in best
        }


def at(points: Points, i: int) -> dict[str, Array]:
    """Return the values of one point."""
    return {name: np.asarray(v[i]) for name, v in points.items()}


def between(low: Array, high: Array) -> Array:
    """Return the midpoints of numbers in the order of all numbers of their dtype."""
    if low.dtype.kind == "b":
        return low
    a, b = _key(low), _key(high)
    return _of_key((a >> 1) + (b >> 1) + (a & b & 1), low.dtype)


def neighbour(x: Array, step: int) -> Array:
    """Return the number ``step`` positions after another in its dtype; finite if that one is."""
    if x.dtype.kind == "b":
        return x
    key = _key(x)
    moved = _of_key(key + step, x.dtype)
    if x.dtype.kind == "f":
        return np.where(np.isfinite(moved), moved, x)
    return moved if step == 0 else np.where((moved > x) == (step > 0), moved, x)


def _mean(a: Array, b: Array) -> Array:
    if a.dtype.kind == "b":
        return a
    with np.errstate(all="ignore"):
        return (a / 2 + b / 2).astype(a.dtype)


_BITS: dict[int, Any] = {8: np.int64, 4: np.int32, 2: np.int16}


def _key(x: Array) -> Array:
    """Map numbers to integers, keeping their order."""
    if x.dtype.kind != "f":
        return x.astype(np.int64)
    kind = _BITS[x.dtype.itemsize]
    whole = np.ascontiguousarray(x).view(kind)
    return np.where(whole < 0, np.iinfo(kind).min - whole, whole).astype(kind)


def _of_key(key: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        return np.clip(key, max(info.min, -(2**63)), min(info.max, 2**63 - 1)).astype(dtype)
    kind = _BITS[dtype.itemsize]
    whole = np.where(key < 0, np.iinfo(kind).min - key, key).astype(kind)
    return whole.view(dtype)
