"""Arrays for results: the ``out`` argument of a call, and donated inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, DTypeError, count_of, kind_of
from relgraph.ir.infix import brief
from relgraph.ir.node import Input, Variable
from relgraph.ir.types import TensorType


def out_arrays(out: Any, keys: Any) -> list[Any]:
    """Return the arrays of ``out``, one for each output.

    Parameters
    ----------
    out : array, or a list, tuple or dict of array
        The argument of a call.
    keys : list, tuple or dict
        The container of the function's results.

    Raises
    ------
    ArgumentError
        If it is not a container like that of the results.
    """
    kind = "dict" if isinstance(keys, dict) else "list or tuple"
    if isinstance(keys, dict) and isinstance(out, Mapping):
        if set(out) == set(keys):
            return [out[key] for key in keys]
        raise ArgumentError(
            "out does not have the keys of the results",
            {"results": ", ".join(map(str, keys)), "out": ", ".join(map(str, out))},
            f"Give it a {kind} of arrays, one for each result.",
        )
    if not isinstance(keys, dict) and isinstance(out, list | tuple):
        return list(out)
    needed = ", ".join(map(str, keys)) if isinstance(keys, dict) else ""
    raise ArgumentError(
        f"the function returns {kind_of(keys)}, and out is {kind_of(out)}",
        {"results": needed} if needed else (),
        f"Give it a {kind} of arrays, one for each result.",
    )


def check_out(
    arrays: Sequence[Any],
    outputs: Sequence[Variable],
    elsewhere: Callable[[Any], bool] = lambda array: False,
) -> None:
    """Raise an error for arrays that cannot hold the results.

    Parameters
    ----------
    arrays : sequence of array
        The arrays.
    outputs : sequence of Variable
        The outputs.
    elsewhere : callable
        ``elsewhere(array)`` returns True if an array is on a device; the program checks it there.

    Raises
    ------
    ArgumentError
        For a wrong number of arrays, for other objects and read-only arrays, and for overlaps.
    DTypeError
        For a dtype other than the result's.
    """
    if len(arrays) != len(outputs):
        raise ArgumentError(
            f"the function has {count_of(len(outputs), 'result')}, and out "
            f"{count_of(len(arrays), 'array')}",
            fix="Give it one array for each result.",
        )
    for k, (array, node) in enumerate(zip(arrays, outputs, strict=True)):
        what = f"the array given as out for {brief(node, 24)}"
        if not isinstance(node.type, TensorType) or node.type.layout != "dense":
            raise ArgumentError(
                f"the result {brief(node, 24)} is a sparse matrix, which out does not support",
                {"result": node.type},
                "Call the function without out.",
            )
        if elsewhere(array):
            continue
        _check_array(array, node, what)
        for other in arrays[:k]:
            if not elsewhere(other) and np.may_share_memory(array, other):
                raise ArgumentError(
                    f"{what} overlaps with that of another result",
                    fix="Give each result a separate array.",
                )


def _check_array(array: Any, node: Variable, what: str) -> None:
    """Raise an error if an array cannot hold one result."""
    if not isinstance(array, np.ndarray):
        raise ArgumentError(
            f"{what} is {kind_of(array)}, not an array of NumPy",
            {"result": node.type},
            "Give it np.empty(shape, dtype).",
        )
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(
            f"{what} is a masked array, and graphs have no masks", fix="Give it its .data."
        )
    if array.dtype.newbyteorder("=") != node.type.dtype:
        raise DTypeError(
            f"{what} is {array.dtype}, and the result {node.type.dtype}",
            {"result": node.type},
            f"Give it an array of {node.type.dtype}.",
        )
    if not array.flags.writeable:
        raise ArgumentError(
            f"{what} cannot be written",
            {"flags": "writeable is False"},
            "Give it a writable array, such as a copy.",
        )
    if overlaps_itself(array):
        raise ArgumentError(
            f"{what} overlaps itself",
            {"shape": array.shape, "strides": array.strides},
            "Give it an array without overlaps: np.empty(shape, dtype).",
        )


def overlaps_itself(array: np.ndarray[Any, Any]) -> bool:
    """Return True if two elements of an array may share memory."""
    end = array.itemsize
    for stride, size in sorted(
        (abs(s), n) for s, n in zip(array.strides, array.shape, strict=True)
    ):
        if size > 1:
            if stride < end:
                return array.size > 0
            end += stride * (size - 1)
    return False


def donated_names(
    donate: str | Input | Iterable[str | Input], inputs: Sequence[Input]
) -> frozenset[str]:
    """Return the names of the donated inputs.

    Parameters
    ----------
    donate : str, Input, or iterable of them
        The inputs, or their names.
    inputs : sequence of Input
        All inputs.

    Raises
    ------
    ArgumentError
        For a name that no input has.
    """
    given = listed(donate, [x.name for x in inputs])
    names = [x.name if isinstance(x, Input) else x for x in given]
    check_donated(names, [x.name for x in inputs])
    return frozenset(names)


def listed(donate: Any, known: Iterable[str]) -> list[Any]:
    """Return the donated inputs as a list.

    Parameters
    ----------
    donate : str, Input, or iterable of them
        One, or several.
    known : iterable of str
        The names that can be donated, for the error.

    Raises
    ------
    ArgumentError
        For other values, such as True.
    """
    if isinstance(donate, str | Variable):
        return [donate]
    if isinstance(donate, Iterable):
        return list(donate)
    raise ArgumentError(
        f"donate= takes names of inputs, not {donate!r}",
        {"inputs": ", ".join(known)},
        "Name the arrays that a call may write over, such as donate='x' or donate=['x', 'y'].",
    )


def check_donated(names: Iterable[str], known: Collection[str]) -> None:
    """Raise an error for unknown names.

    Parameters
    ----------
    names : iterable of str
        The names to donate.
    known : collection of str
        The names of the inputs.

    Raises
    ------
    ArgumentError
        For a name that no input has.
    """
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            raise ArgumentError(
                f"no input to donate is called {name!r}",
                {"inputs": ", ".join(known)},
                f"Did you mean {near[0]!r}?" if near else "Use one of these names.",
            )


__all__ = ["check_donated", "check_out", "donated_names", "listed", "out_arrays"]
