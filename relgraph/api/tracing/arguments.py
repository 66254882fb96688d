"""The arguments of a traced function: arrays, Python numbers, and static values."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from relgraph.api.argument_conversion import array_of, is_lazy
from relgraph.api.pytrees import STATIC, structure_of, why_no_leaf
from relgraph.api.tracing.number_trace import NUMBERS, Number
from relgraph.api.tracing.tracer import Tracer, operand
from relgraph.api.tracing.weak_scalar import WeakScalar
from relgraph.errors import ArgumentError, kind_of
from relgraph.ir.node import Variable, as_variable

_NONE: dict[int, Any] = {}  # shared by all calls, so never changed


class Leaves:
    """The arrays and the Python numbers among the arguments, in order, and the rest as a key.

    Attributes
    ----------
    arrays, numbers : list
        As they occur.
    others : dict of int to object
        The arguments that are not NumPy arrays, by the index of the array converted from each.
    aliases : dict of int to int
        Where one array that the function changes is passed several times: the index of its first
        occurrence, by the indices of the others.
    traced : bool
        Whether an argument is a tracer of a function that calls this one.
    """

    __slots__ = ("aliases", "arrays", "numbers", "others", "traced")

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.numbers: list[Number] = []
        self.others: dict[int, Any] = _NONE
        self.aliases: dict[int, int] = _NONE
        self.traced = False

    def signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable:
        """Return a key that separates calls that need different programs.

        Parameters
        ----------
        args, kwargs : tuple, dict
            The arguments of a call.

        Returns
        -------
        hashable
            Equal for calls that one trace may serve.

        Raises
        ------
        ArgumentError
            Naming an argument that cannot be traced.
        """
        parts: list[Hashable] = []
        try:
            for x in args:
                if type(x) is np.ndarray:
                    self.arrays.append(x)
                    parts.append((x.dtype, x.shape))
                else:
                    parts.append(structure_of(x, self._part))
            for name, x in kwargs.items():
                parts.append((name, structure_of(x, self._part)))
        except ArgumentError as error:
            which = [*range(len(args)), *kwargs][len(parts)]
            what = f"argument {which!r} {error.what}"
            raise ArgumentError(what, error.facts, error.fix) from None
        except RecursionError:
            which = [*range(len(args)), *kwargs][len(parts)]
            raise ArgumentError(
                f"argument {which!r} is nested too deeply, or holds itself",
                fix="Pass arrays, or containers of arrays a few levels deep.",
            ) from None
        return tuple(parts)

    def _part(self, x: Any) -> Hashable:
        kind = type(x)
        if kind is np.ndarray:
            self.arrays.append(x)
            return (x.dtype, x.shape)
        if kind in NUMBERS:
            self.numbers.append(x)
            return kind.__name__
        if isinstance(x, np.generic | np.ndarray):
            if isinstance(x, np.ma.MaskedArray | np.matrix):
                raise ArgumentError(
                    f"is {kind_of(x)}, whose operators are not those of arrays",
                    {"value": x},
                    "Fill a masked array with .filled(value), and pass np.asarray(x) of a matrix.",
                )
            self.arrays.append(np.asarray(x))
            return (x.dtype, x.shape if isinstance(x, np.ndarray) else None)
        if kind is Tracer or kind is WeakScalar:
            self.traced = True
            return None
        if isinstance(x, (*STATIC, np.dtype)):
            return (kind, x)
        if is_lazy(x):
            if any(map(math.isnan, x.shape)):
                raise ArgumentError(
                    "is in blocks whose sizes are not known",
                    {"shape": x.shape},
                    "Compute them with x.compute_chunk_sizes().",
                )
            self.arrays.append(x)
            return (x.dtype, x.shape)
        array = array_of(x)
        if array is not None:
            self.others = {**self.others, len(self.arrays): x}
            self.arrays.append(array)
            return (array.dtype, array.shape)
        raise ArgumentError(
            f"is {kind_of(x)}, which cannot be traced",
            {"value": x},
            why_no_leaf(x),
        )


def node_of(x: Any, name: str, role: str = "argument") -> Variable:
    """Return the node for an array, a number or a graph, or raise ArgumentError."""
    x = operand(x)
    if isinstance(x, STATIC):
        raise ArgumentError(
            f"the {role} {name} is {kind_of(x)}, not an array",
            fix="Arrays and numbers, and containers of them, can be differentiated and carried.",
        )
    if not isinstance(x, (Variable, np.ndarray, np.generic, *NUMBERS)):
        array = array_of(x)
        x = x if array is None else array
    return as_variable(x)
