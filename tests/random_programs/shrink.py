"""The smallest program that still fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.random_programs.batch import FAILURES, Failure, attempt, judged
from tests.random_programs.calls import DTYPES
from tests.random_programs.generator import Inputs
from tests.random_programs.judge import quiet
from tests.random_programs.program import NUMPY, Program

TRIES = 120


def shrunk(failure: Failure) -> Failure:
    """Return a failure of the same kind with as few steps and as simple inputs as are found.

    Parameters
    ----------
    failure : Failure
        As :func:`tests.random_programs.batch.run_batch` reports it.

    Returns
    -------
    Failure
        The one that was passed, where the program alone does not fail.
    """
    smallest, tries, progress = failure, 0, True
    while progress:
        progress = False
        for program, inputs in _smaller(smallest):
            tries += 1
            if tries > TRIES:
                return smallest
            candidate = _fails(program, inputs, smallest)
            if candidate is not None:
                smallest, progress = candidate, True
                break
    return smallest


def _fails(program: Program, inputs: Inputs, like: Failure) -> Failure | None:
    (result,) = attempt([program], inputs, like.setting)
    kind, message = judged(program, inputs, like.setting, result)
    if kind not in FAILURES or kind != like.kind:
        return None
    return Failure(kind, message, program, inputs, like.setting)


def _smaller(failure: Failure) -> Iterator[tuple[Program, Inputs]]:
    """Yield programs without a step, then with simpler inputs."""
    program, inputs = failure.program.pruned(), failure.inputs
    used = {name: x for name, x in inputs.values.items() if name in program.inputs()}
    inputs = Inputs(used, inputs.style)
    values = _values(program, inputs)
    for name in list(program.steps)[:-1]:
        if name in values:
            yield Program(program.steps, name).pruned(), inputs
    for name in reversed(program.steps):  # a step becomes an input
        value = values.get(name)
        if name == program.result or value is None or np.asarray(value).dtype.name not in DTYPES:
            continue
        steps = {other: step for other, step in program.steps.items() if other != name}
        cut = Program(steps, program.result).pruned()
        yield cut, Inputs({**used, name: np.asarray(value)}, inputs.style)
    for name, x in used.items():
        for simpler in _simpler(x):
            yield program, Inputs({**used, name: simpler}, inputs.style)


def _values(program: Program, inputs: Inputs) -> dict[str, Any]:
    """Return the values of the steps before the first one that raises."""
    values: dict[str, Any] = {}
    for name in program.steps:
        try:
            with quiet():
                values[name] = (
                    Program(program.steps, name).pruned().values(inputs.values, NUMPY)[name]
                )
        except Exception:
            break
    return values


def _simpler(x: Any) -> Iterator[Any]:
    """Yield arrays of ones and zeros, then with one more element that is 1."""
    if not isinstance(x, np.ndarray) or x.size == 0 or np.all(x == 1):
        return
    yield np.ones_like(x)
    if x.size <= 40:
        for place in np.argwhere(x != 1):
            simpler = x.copy()
            simpler[tuple(place)] = 1
            yield simpler
