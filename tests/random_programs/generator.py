"""Random inputs, and random programs over them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.random_programs import idioms, makers
from tests.random_programs.calls import DTYPES, EXACT, FLOATS, INTEGERS, LOOSE, rounding_of
from tests.random_programs.makers import broadcasts
from tests.random_programs.program import NUMPY, Program, Step, evaluate

_WEIGHTS = (40, 22, 9, 7, 3, 3, 3, 1, 2, 1, 9)


@dataclass(frozen=True)
class Inputs:
    """Arrays and numbers by name, and what kind of numbers they hold.

    Parameters
    ----------
    values : dict
        Arrays, and Python numbers.
    style : {"plain", "special", "large", "tiny"}
        Whether there are infinities and NaN, numbers that nearly overflow, or subnormal ones.
    """

    values: dict[str, Any]
    style: str


def random_array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, style: str) -> Any:
    """Return an array: simple numbers, zeros of both signs and random ones."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        small = rng.integers(max(-4, info.min), 6, shape)
        wide = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        share = 0.3 if style == "large" else 0.02
        return np.where(rng.random(shape) < share, wide, small.astype(dtype))
    simple = rng.integers(-6, 7, shape) / 2
    normal = rng.normal(size=shape) * rng.choice([0.3, 1.0, 1.0, 4.0])
    x = np.where(rng.random(shape) < rng.choice([0.0, 0.3, 1.0]), simple, normal)
    x = np.where(rng.random(shape) < 0.05, rng.choice([0.0, -0.0], shape), x)
    info = np.finfo(dtype)
    if style == "special":
        x = np.where(rng.random(shape) < 0.25, rng.choice([np.inf, -np.inf, np.nan], shape), x)
    elif style in ("large", "tiny"):
        top = info.maxexp if style == "large" else info.minexp - info.nmant
        power = np.trunc(rng.uniform(0.2, 0.999, shape) * top)
        x = np.where(rng.random(shape) < 0.4, np.copysign(2.0, x) ** power * rng.uniform(1, 2), x)
        x = np.where(rng.random(shape) < 0.1, np.sign(x) * float(info.smallest_subnormal), x)
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(dtype)


def random_inputs(rng: np.random.Generator, numbers: bool) -> Inputs:
    """Return arrays of related shapes and any layout; with ``numbers``, Python numbers too."""
    style = str(rng.choice(["plain", "special", "large", "tiny"], p=[0.66, 0.18, 0.08, 0.08]))
    sizes = [0, 1, 2, 3, 4, 5, 7, 12, 40, 70, 1500]
    chances = np.array([3, 6, 16, 22, 20, 14, 9, 5, 2, 2, 1]) / 100
    n, m, k = (int(size) for size in rng.choice(sizes, 3, p=chances))
    k = min(k, 7)
    shapes = [(n,), (n, m), (m,), (n, m), (k, k), (n, 1), (1, m), (), (k, n, m), (m, n), (1,), (n,)]
    count = int(rng.integers(5, 9))
    first = [shapes[1], shapes[0]]
    others = [shapes[int(i)] for i in rng.integers(0, len(shapes), count - 2)]
    values: dict[str, Any] = {}
    for position, shape in enumerate([*first, *others]):
        dtype = str(rng.choice(DTYPES, p=np.array(_WEIGHTS) / 100))
        if position == 0 and rng.random() < 0.8:
            dtype = str(rng.choice(FLOATS))
        if int(np.prod(shape)) > 2000:
            shape = shape[-1:]
        x = random_array(rng, shape, dtype, style)
        layout = rng.choice(["C", "F", "gaps"], p=[0.8, 0.1, 0.1])
        if layout == "gaps" and x.ndim:
            x = np.repeat(x, 2, axis=-1)[..., ::2]
        values[f"x{position}"] = np.asarray(x, order="F" if layout == "F" else None)
    if numbers:
        values["p0"] = float(rng.choice([0.5, 2.0, -1.0, 0.0, 3.7]))
        values["p1"] = int(rng.integers(-2, 5))
    return Inputs(values, style)


class Generator:
    """Writes one program, and computes each step with NumPy as it is written.

    Parameters
    ----------
    rng : numpy.random.Generator
        Makes all choices.
    inputs : Inputs
        What the program reads.
    finite : bool
        Whether steps must have finite values only.
    """

    def __init__(self, rng: np.random.Generator, inputs: Inputs, finite: bool) -> None:
        self.rng = rng
        self.finite = finite
        self.values: dict[str, Any] = dict(inputs.values)
        self.steps: dict[str, Step] = {}
        self.error: Exception | None = None

    def program(self) -> Program:
        """Return a program of a few steps, 14 at most, the last of which may raise."""
        wanted = int(self.rng.integers(2, 15))
        for _ in range(4 * wanted):
            wild = self.rng.random() < 0.01
            maker = self._wild if wild else self._maker()
            step = maker(self)
            if step is not None:
                self._append(step, may_raise=wild)
            if self.chance(0.15):
                self._chain()
            if len(self.steps) >= wanted or self.error is not None:
                break
        results = (Program(self.steps, name).pruned() for name in reversed(self.steps))
        return next((program for program in results if program.inputs()), Program({}, "x0"))

    def _chain(self) -> None:
        """Append steps that can be simplified."""
        themes = [("f", 0, 5, idioms.FLOATS), ("biuf", 0, 5, idioms.NUMBERS)]
        kinds, least, most, text = self.choice([*themes, ("f", 2, 2, idioms.MATRICES)])
        chain = self.choice(idioms.chains(text))
        kinds = kinds.replace("b", "") if "at(" in chain[-1] + chain[0] else kinds
        x = self.pick(kinds, max(least, any("axis" in call for call in chain)), most)
        if x is None:
            return
        names = {"X": x, "P": x, "Q": x}
        for letter in "YZ":
            other = self.partner(x)
            names[letter] = other if other.startswith(("x", "t")) else x
        for call in chain:
            operands: list[str] = []
            template = ""
            for part in re.split(r"\b([XYZPQN])\b", call):
                if part == "N":
                    template += str(self.shape(x)[-1])
                elif part in names:
                    operands.append(names[part])
                    template += f"{{{len(operands) - 1}}}"
                else:
                    template += part
            step = self.step(template, rounding_of(call), *operands)
            if not self._append(step, may_raise=False):
                return
            names["Q"], names["P"] = names["P"], next(reversed(self.steps))

    def _append(self, step: Step, may_raise: bool) -> bool:
        operands = [self.values[name] for name in step.operands]
        name = f"t{len(self.steps)}"
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                value = evaluate(step, operands, NUMPY)
            except Exception as error:
                if may_raise or self.rng.random() < 0.03:
                    self.steps[name], self.error = step, error
                return False
        value = np.asarray(value)[()] if np.ndim(value) == 0 else value
        if not self._welcome(value) or _flushed(step, value):
            return False
        self.steps[name] = step
        self.values[name] = value
        return True

    def _welcome(self, value: Any) -> bool:
        """Return whether a value has a dtype of relgraph, and is finite where it must be."""
        dtype = np.asarray(value).dtype
        if dtype.name not in DTYPES or np.size(value) > 20_000 or np.ndim(value) > 5:
            return False
        if dtype.kind == "f" and not np.all(np.isfinite(value)):
            return not self.finite and bool(self.rng.random() < 0.5)
        return True

    def _maker(self) -> Callable[[Generator], Step | None]:
        return makers.MAKERS[int(self.rng.choice(len(makers.MAKERS), p=makers.CHANCES))]

    def _wild(self, _: Generator) -> Step | None:
        """Return an elementwise call or a product of anything with anything."""
        calls = [*makers.BINARY, ("{0} @ {1}", LOOSE), ("np.concatenate([{0}, {1}])", EXACT)]
        calls += [("{0} & {1}", EXACT), ("{0} << {1}", EXACT), ("np.vdot({0}, {1})", LOOSE)]
        template, rounding = calls[self.below(len(calls))]
        names = [name for name in self.values if not name.startswith("p")]
        return Step(template, tuple(self.choice(names) for _ in "ab"), rounding)

    # What makers ask for.

    def below(self, bound: int) -> int:
        """Return a natural number below a bound."""
        return int(self.rng.integers(0, bound))

    def chance(self, share: float) -> bool:
        """Return True with a probability."""
        return bool(self.rng.random() < share)

    def choice(self, items: Any) -> Any:
        """Return one of some items."""
        return items[self.below(len(items))]

    def pick(self, kinds: str = "biuf", least: int = 0, most: int = 5) -> str | None:
        """Return the name of an array, often a recent one, by kinds of dtype and dimensions."""
        names = [
            name
            for name, value in self.values.items()
            if not name.startswith("p")
            and np.asarray(value).dtype.kind in kinds
            and least <= np.ndim(value) <= most
        ]
        if not names:
            return None
        recent = names[-1:] if names[-1].startswith("t") else names
        return str(self.choice(recent if self.chance(0.75) else names))

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a value."""
        return np.shape(self.values[name])

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the dtype of a value."""
        return np.asarray(self.values[name]).dtype

    def axis(self, name: str) -> int:
        """Return an axis, counted from either end."""
        ndim = len(self.shape(name))
        return int(self.rng.integers(-ndim, ndim))

    def partner(self, name: str, kinds: str = "biuf") -> str:
        """Return a name or a literal that broadcasts with an array."""
        share = self.rng.random()
        numbers = [p for p in self.values if p.startswith("p")]
        if numbers and share < 0.2:
            return str(self.choice(numbers))
        if share < 0.4:
            return self.literal(name)
        shape = self.shape(name)
        fitting = [
            other
            for other, value in self.values.items()
            if not other.startswith("p")
            and np.asarray(value).dtype.kind in kinds
            and broadcasts(shape, np.shape(value))
        ]
        steps = [other for other in fitting if other.startswith("t")]
        fitting = steps if steps and self.chance(0.6) else fitting
        return str(self.choice(fitting)) if fitting else self.literal(name)

    def literal(self, name: str) -> str:
        """Return a number, or a small constant array, to stand beside an array."""
        kind = self.dtype(name).kind
        integers = ["2", "3", "1", "0", *(["5", "7"] if kind == "u" else ["-1", "-2"])]
        floats = ["0.5", "2.0", "-1.5", "0.1", "-0.0", "1e-3", "3.0", "10.0", "49.0"]
        if not self.finite and self.chance(0.15):
            floats = ["np.inf", "-np.inf", "np.nan"]
        pool = integers if kind in "iu" and self.chance(0.75) else [*floats, *integers]
        if kind == "b" and self.chance(0.5):
            pool = ["np.True_", "np.False_"]  # a graph refuses the Python bool, which x == 1 is
        number = str(self.choice(pool))
        shape = self.shape(name)
        if shape and 0 < shape[-1] < 6 and self.chance(0.15):
            row = ", ".join(str(self.choice(integers)) for _ in range(shape[-1]))
            dtype = self.choice(DTYPES if kind == "f" else [self.dtype(name).name, "float64"])
            if not (dtype.startswith("u") and "-" in row):
                return f'np.array([{row}], dtype="{dtype}")'
        if self.chance(0.15):
            return f"np.{self.choice(FLOATS)}({number})"
        return number

    def step(self, template: str, rounding: str, *operands: str) -> Step:
        """Return a step; operands that are literals become a part of its text."""
        names = [name for name in operands if name in self.values]
        places = {name: f"{{{k}}}" for k, name in enumerate(dict.fromkeys(names))}
        texts = [places.get(name, name) for name in operands]
        return Step(template.format(*texts), tuple(places), rounding)


def _flushed(step: Step, value: Any) -> bool:
    """Return whether SciPy may give 0 for numbers below the smallest normal one."""
    if not step.template.startswith(("rg.sigmoid", "rg.erfc")):
        return False
    return bool(np.any(np.abs(value) < np.finfo(value.dtype).smallest_normal))
