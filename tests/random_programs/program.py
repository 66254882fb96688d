"""Programs as lists of steps: text that means the same to NumPy and to graphs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np
from scipy import special

import relgraph as rg


@dataclass(frozen=True)
class Step:
    """One call, such as ``np.sum({0}, axis=1)`` of the operand ``x2``.

    Parameters
    ----------
    template : str
        The call in Python, with ``{0}``, ``{1}`` for the operands.
    operands : tuple of str
        Names of inputs (``x0``) and of earlier steps (``t0``).
    rounding : str
        How the call rounds; see :mod:`tests.random_programs.judge`.
    """

    template: str
    operands: tuple[str, ...]
    rounding: str

    def text(self) -> str:
        """Return the call with the names of its operands."""
        return self.template.format(*self.operands)


@dataclass(frozen=True)
class Program:
    """Steps by name, in order, of which one is the result.

    Parameters
    ----------
    steps : dict of Step
        Keyed by name.
    result : str
        The name of the step, or input, that is returned.
    """

    steps: dict[str, Step]
    result: str

    def pruned(self) -> Program:
        """Return the program without steps that the result does not read."""
        needed = {self.result}
        for name in reversed(self.steps):
            if name in needed:
                needed.update(self.steps[name].operands)
        return Program({n: s for n, s in self.steps.items() if n in needed}, self.result)

    def inputs(self) -> set[str]:
        """Return the names of the inputs that the result reads."""
        program = self.pruned()
        names = {name for step in program.steps.values() for name in step.operands}
        return ({self.result} | names) - set(program.steps)

    def values(self, inputs: Mapping[str, Any], namespace: Mapping[str, Any]) -> dict[str, Any]:
        """Run all steps.

        Parameters
        ----------
        inputs : mapping
            Arrays, graphs or tracers by name.
        namespace : mapping
            What ``np``, ``rg`` and ``at`` mean: :data:`NUMPY` or :data:`GRAPHS`.

        Returns
        -------
        dict
            The value of each input and each step.
        """
        values = dict(inputs)
        for name, step in self.steps.items():
            values[name] = evaluate(step, [values[x] for x in step.operands], namespace)
        return values

    def body(self) -> str:
        """Return the steps as lines of Python."""
        lines = [f"    {name} = {step.text()}" for name, step in self.steps.items()]
        return "\n".join([*lines, f"    return {self.result}"])


@cache
def compiled(template: str, count: int) -> CodeType:
    """Return the code of a step, which calls its operands ``_0``, ``_1``, ..."""
    return compile(template.format(*(f"_{k}" for k in range(count))), template, "eval")


def evaluate(step: Step, operands: Sequence[Any], namespace: Mapping[str, Any]) -> Any:
    """Return the value of one step for values of its operands."""
    names = {f"_{k}": value for k, value in enumerate(operands)}
    return eval(compiled(step.template, len(operands)), {**namespace, **names})


class ArrayAt:
    """``x.at`` for arrays: what NumPy's assignments and ``ufunc.at`` make of a copy."""

    def __init__(self, array: Any, key: Any = None) -> None:
        self.array, self.key = array, key

    def __getitem__(self, key: Any) -> ArrayAt:
        return ArrayAt(self.array, key)

    def set(self, value: Any) -> Any:
        """Return a copy in which the part holds the value."""
        result = np.array(self.array)
        result[self.key] = value
        return result

    def _apply(self, ufunc: np.ufunc, value: Any) -> Any:
        result = np.array(self.array, order="C")
        places = np.arange(result.size).reshape(result.shape)[self.key]
        value = np.broadcast_to(np.asarray(value).astype(result.dtype), np.shape(places))
        ufunc.at(result.reshape(-1), np.ravel(places), value.ravel())
        return result

    def add(self, value: Any) -> Any:
        """Return a copy to which the value is added."""
        return self._apply(np.add, value)

    def multiply(self, value: Any) -> Any:
        """Return a copy that the value multiplies."""
        return self._apply(np.multiply, value)

    def min(self, value: Any) -> Any:
        """Return a copy of which the part is at most the value."""
        return self._apply(np.minimum, value)

    def max(self, value: Any) -> Any:
        """Return a copy of which the part is at least the value."""
        return self._apply(np.maximum, value)


_SCIPY = SimpleNamespace(
    logsumexp=special.logsumexp,
    softmax=lambda x, axis: np.exp(special.log_softmax(x, axis=axis)),
    log_softmax=special.log_softmax,
    sigmoid=special.expit,
    softplus=lambda x: np.logaddexp(np.zeros((), x.dtype), x),
    erf=special.erf,
    erfc=special.erfc,
    gammaln=special.gammaln,
    cummax=lambda x, axis: np.maximum.accumulate(x, axis=axis),
    cummin=lambda x, axis: np.minimum.accumulate(x, axis=axis),
)
NUMPY = {"np": np, "rg": _SCIPY, "at": ArrayAt}
GRAPHS = {"np": np, "rg": rg, "at": lambda x: x.at}

_FLOATS = re.compile(r"np\.float(32|64)|\"float(32|64)\"")


def widened(step: Step) -> Step:
    """Return the step with ``longdouble`` in place of each dtype of floats."""
    template = _FLOATS.sub(
        lambda m: "np.longdouble" if m[0].startswith("np") else '"longdouble"', step.template
    )
    return Step(template, step.operands, step.rounding)
