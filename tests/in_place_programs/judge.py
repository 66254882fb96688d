"""Run a function with NumPy and traced, and compare results and arguments."""

from __future__ import annotations

import linecache
import warnings
from typing import Any

import numpy as np

import relgraph as rg
from relgraph.errors import RelgraphError
from tests.in_place_programs.generator import FAILURES, Function, Generator

MODES = (None, "fast_run", "o4")
REFUSALS = (
    "is not known while tracing",
    "is not in C order",
    "memory other code sees",
    "is in a part of the same memory",
    ".at cannot write",
    "array that is read-only",  # as NumPy's ufunc.at writes to one, unlike other functions
)


def judged(seed: int, target: str = "cpu") -> tuple[str, str]:
    """Return the outcome of one random function, and a message.

    Parameters
    ----------
    seed : int
        Of the function.
    target : str
        Where the traced function runs.

    Returns
    -------
    outcome : {"equal", "refused", "fails", "wrong"}
        "refused" if the error says that the trace cannot know what NumPy does; "fails" if both
        raise.
    message : str
        The program and what differs, if it is wrong.
    """
    function = Generator(seed).make()
    mode = MODES[seed % len(MODES)]
    outcome, message = _compared(function, mode, target)
    return outcome, f"# seed {seed}, mode {mode}\n{function.source()}# {message}\n"


def _compared(function: Function, mode: Any, target: str) -> tuple[str, str]:
    source = function.source()
    name = f"<in place {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {"np": np, "__name__": "random_program"}
    exec(compile(source, name, "exec"), namespace)
    f = namespace["f"]
    expected, arguments, error = _called(f, function)
    traced, changed, refusal = _called(rg.jit(f, mode=mode, target=target), function)
    if refusal is not None:
        text = str(refusal)
        if any(reason in text for reason in REFUSALS):
            return "refused", text
        if error is not None:  # without the line that fails, results are equal
            before = Function(function.lines[:-1], function.arguments, list(function.arguments))
            outcome, message = _compared(before, mode, target)
            return "fails" if outcome == "equal" else outcome, message
        return "wrong", f"{type(refusal).__name__}: {text}"
    if error is not None:
        return "wrong", f"NumPy raises {type(error).__name__}: {error}"
    pairs = [*zip(function.names, expected, traced, strict=True)]
    pairs += [(f"argument {k}", x, changed[k]) for k, x in arguments.items()]
    for label, x, y in pairs:
        if not _equal(x, y):
            return "wrong", f"{label} is {y!r}, not {x!r}"
    return "equal", ""


def _called(f: Any, function: Function) -> tuple[Any, dict[str, Any], BaseException | None]:
    """Call with copies of the arguments, and return results, arguments and an error."""
    copies: dict[int, Any] = {}
    arguments = {}
    for name, x in function.arguments.items():
        if id(x) not in copies:
            copies[id(x)] = _copied(x)
        arguments[name] = copies[id(x)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*arguments.values()), arguments, None
    except (*FAILURES, RelgraphError) as error:
        return None, arguments, error


def _copied(x: Any) -> Any:
    """Return a copy with the strides of an array."""
    if x.base is None or x.flags.contiguous:
        return x.copy("K")
    return np.repeat(x, 2, axis=-1)[..., ::2]


def _equal(x: Any, y: Any) -> bool:
    if np.shape(x) != np.shape(y) or x.dtype != y.dtype:
        return False
    return bool(np.allclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True))
