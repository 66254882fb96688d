"""Batches: programs over the same inputs, compiled as the outputs of one function, and judged."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import relgraph as rg
from tests.random_programs.generator import Generator, Inputs, random_inputs
from tests.random_programs.judge import Reference, quiet
from tests.random_programs.program import GRAPHS, Program

MODES = (None, "o1", "o2", "o3", "o4", "fast_run", "fast_compile", "stabilization", "unsafe")
PLAIN = (None, "o1", "o2", "fast_compile")  # modes that regroup nothing
KEEPING = (*PLAIN, "stabilization")  # modes without relations that assume finite values

# Refusals that docs/ops.md describes: sizes that are not static are neither stretched nor cut, a
# name is not the size that it happens to have; in all settings, integers to a negative power, and
# Cholesky's factor of what is definite but for rounding.
ALWAYS = re.compile(r"matrix is not positive definite|integers to negative integer powers")
DOCUMENTED = re.compile(
    r"dimension that is (statically|declared as) 1 is stretched|is declared as 1"
    r"|cannot be cut into|which is of unknown size|are known to have|must have equal sizes"
    r"|of no static size|the sizes \S+ and \S+ differ"
)


@dataclass(frozen=True)
class Setting:
    """How a program is compiled.

    Parameters
    ----------
    way : {"function", "jit"}
        By ``rg.function`` or by ``rg.jit``.
    mode : str or None
        The mode.
    nonfinite : {"assume", "keep"}
        Whether relations may assume finite values.
    target : {"cpu", "numpy"}
        Where it runs.
    sizes : {"static", "named", "unknown"}
        How ``rg.function`` knows sizes other than 1.
    """

    way: str
    mode: str | None
    nonfinite: str
    target: str
    sizes: str

    @property
    def assumes(self) -> bool:
        """Whether results are right for finite values only."""
        return self.nonfinite == "assume" and self.mode not in KEEPING

    def __str__(self) -> str:
        return f"{self.way} {self.mode} {self.nonfinite} {self.target} {self.sizes}"


def random_setting(rng: np.random.Generator) -> Setting:
    """Return a setting; a third of them trace."""
    way = str(rng.choice(["function", "function", "jit"]))
    mode = MODES[int(rng.integers(len(MODES)))]
    nonfinite = str(rng.choice(["assume", "assume", "keep"]))
    target = str(rng.choice(["cpu", "cpu", "cpu", "numpy"]))
    sizes = "static" if way == "jit" else str(rng.choice(["static", "named", "unknown"]))
    return Setting(way, mode, nonfinite, target, sizes)


@dataclass
class Failure:
    """A program whose result is wrong, or an error where there must be none."""

    kind: str
    message: str
    program: Program
    inputs: Inputs
    setting: Setting

    def reproducer(self) -> str:
        """Return the program, its inputs and its setting as Python."""
        s = self.setting
        used = sorted(self.program.inputs())
        lines = ["import numpy as np, relgraph as rg", "at = lambda x: x.at"]
        lines += [f"{name} = {written(self.inputs.values[name])}" for name in used]
        lines += [f"def program({', '.join(used)}):", self.program.body()]
        options = f"mode={s.mode!r}, nonfinite={s.nonfinite!r}, target={s.target!r}"
        if s.way == "jit":
            lines.append(f"print(rg.jit(program, {options})({', '.join(used)}))")
        else:
            types = [
                f"rg.tensor({x!r}, {declared(self.inputs.values[x], s.sizes)}, "
                f"{np.asarray(self.inputs.values[x]).dtype.name!r})"
                for x in used
            ]
            lines.append(f"graphs = [{', '.join(types)}]")
            lines.append(f"f = rg.function(graphs, program(*graphs), {options})")
            lines.append(f"print(f({', '.join(used)}))")
        return "\n".join([f"# {self.kind}: {self.message}", *lines])


def written(x: Any) -> str:
    """Return an input as Python: its elements, and its layout."""
    if not isinstance(x, np.ndarray | np.generic):
        return repr(x)
    if x.size == 0 or np.all(x == x.flat[0]):
        number = x.flat[0].item() if x.size else 0
        text = f"np.full({x.shape}, {number!r}, {x.dtype.name!r})"
    else:
        text = f"np.array({x.tolist()!r}, {x.dtype.name!r})"
    text = re.sub(r"\b(nan|inf)\b", r"np.\1", text)
    if x.flags["C_CONTIGUOUS"]:
        return text
    if x.flags["F_CONTIGUOUS"]:
        return f"np.asfortranarray({text})"
    return f"np.repeat({text}, 2, axis=-1)[..., ::2]"


@dataclass
class Report:
    """What became of the programs of a batch."""

    setting: Setting
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    again: int = 0
    seconds: float = 0.0


def declared(value: Any, sizes: str) -> tuple[Any, ...]:
    """Return the shape to declare for an array."""
    shape = np.shape(value)
    if sizes == "static":
        return shape
    return tuple(1 if size == 1 else None if sizes == "unknown" else f"n{size}" for size in shape)


def graphs_of(inputs: Inputs, sizes: str) -> dict[str, Any]:
    """Return an input node for each array."""
    return {
        name: rg.tensor(name, shape=declared(x, sizes), dtype=np.asarray(x).dtype.name)
        for name, x in inputs.values.items()
    }


def compute(programs: Sequence[Program], inputs: Inputs, setting: Setting) -> list[Any]:
    """Return the results of programs that are compiled together.

    Parameters
    ----------
    programs : sequence of Program
        What to compute.
    inputs : Inputs
        Arrays and numbers.
    setting : Setting
        How to compile.

    Returns
    -------
    list
        For each program its result, or the error that building its graph raises.
    """
    options = {"mode": setting.mode, "nonfinite": setting.nonfinite, "target": setting.target}
    built: list[Any] = []

    def build(*arrays: Any) -> list[Any]:
        values = dict(zip(inputs.values, arrays, strict=True))
        built[:] = [_built(program, values) for program in programs]
        return [x for x in built if not isinstance(x, Exception)]

    if setting.way == "jit":
        results = rg.jit(build, **options)(*inputs.values.values())
    else:
        graphs = list(graphs_of(inputs, setting.sizes).values())
        results = rg.function(graphs, build(*graphs), **options)(*inputs.values.values())
    rest = iter(results)
    return [x if isinstance(x, Exception) else next(rest) for x in built]


def _built(program: Program, values: dict[str, Any]) -> Any:
    try:
        return program.values(values, GRAPHS)[program.result]
    except Exception as error:
        return error


def attempt(
    programs: Sequence[Program], inputs: Inputs, setting: Setting, raising: Sequence[bool] = ()
) -> list[Any]:
    """Return results, and errors in place of those that cannot be had.

    Parameters
    ----------
    programs : sequence of Program
        What to compute, together where none of them raises.
    inputs : Inputs
        Arrays and numbers.
    setting : Setting
        How to compile.
    raising : sequence of bool, optional
        Which programs raise in NumPy; each of them is compiled alone.

    Returns
    -------
    list
        For each program its result, or an error.
    """
    if not programs:
        return []
    if any(raising):
        rest = [p for p, alone in zip(programs, raising, strict=True) if not alone]
        results = iter(attempt(rest, inputs, setting))
        return [
            attempt([program], inputs, setting)[0] if alone else next(results)
            for program, alone in zip(programs, raising, strict=True)
        ]
    with quiet():
        try:
            return compute(programs, inputs, setting)
        except Exception as error:
            if len(programs) == 1:
                return [error]
    return [result for program in programs for result in attempt([program], inputs, setting)]


def judged(program: Program, inputs: Inputs, setting: Setting, result: Any) -> tuple[str, str]:
    """Return the outcome of one program, and what is wrong with it.

    Parameters
    ----------
    program : Program
        What ran.
    inputs : Inputs
        Arrays and numbers.
    setting : Setting
        How it was compiled.
    result : array or Exception
        What came of it.

    Returns
    -------
    str
        equal, rounded, tie, range, beyond, overflow, raised or documented, or a failure: refused,
        accepted or wrong.
    str
        The difference, or the error.
    """
    try:
        reference = Reference(program, inputs.values, setting.mode not in PLAIN)
    except Exception as error:
        if isinstance(result, Exception):
            return "raised", ""
        return "accepted", f"NumPy raises {type(error).__name__}: {error}"
    if isinstance(result, Exception):
        text = f"{type(result).__name__}: {result}"
        known = setting.sizes != "static" and DOCUMENTED.search(text) is not None
        known |= ALWAYS.search(text) is not None
        return ("documented" if known else "refused"), text
    return reference.verdict(result)


FAILURES = ("refused", "accepted", "wrong")


def run_batch(seed: int, count: int = 16) -> Report:
    """Write, run and judge the programs of a seed.

    Parameters
    ----------
    seed : int
        Of all choices.
    count : int, optional
        How many programs.

    Returns
    -------
    Report
        Outcomes, and failures as they are.
    """
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    setting = random_setting(rng)
    inputs = random_inputs(rng, numbers=setting.way == "jit")
    if setting.assumes and inputs.style == "special":
        setting = replace(setting, nonfinite="keep")
    report = Report(setting)
    writers = [Generator(rng, inputs, setting.assumes) for _ in range(count)]
    programs = [writer.program() for writer in writers]
    raising = [writer.error is not None for writer in writers]
    # What sizes that are not static forbid runs with static ones.
    for current in (setting, replace(setting, sizes="static")):
        results = attempt(programs, inputs, current, raising)
        again: list[Program] = []
        for program, result in zip(programs, results, strict=True):
            outcome, message = judged(program, inputs, current, result)
            if outcome == "documented" and current.sizes != "static":
                again.append(program)
                continue
            report.outcomes[outcome] += 1
            if outcome in FAILURES:
                report.failures.append(Failure(outcome, message, program, inputs, current))
        report.again += len(again)
        programs, raising = again, [False] * len(again)
    report.seconds = time.perf_counter() - start
    return report
