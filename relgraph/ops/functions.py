"""Scalar functions: what a row of an elementwise table holds, and NumPy's rules for dtypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.errors import DTypeError
from relgraph.ir.facts import NOTHING, Facts
from relgraph.ir.node import Variable, as_variable, is_weak

DTypes = tuple[np.dtype[Any], ...]
LoopRule = Callable[[str, DTypes], DTypes]
FactRule = Callable[[tuple[Facts, ...], Variable], Facts]
Prepare = Callable[[Any, tuple[Any, ...]], tuple[Variable, ...]]

_FLOAT16 = np.dtype("float16")
_FLOAT32 = np.dtype("float32")

CHEAP = 1  # flops an element: one instruction
DIVIDE = 4  # a division or a square root
TRANSCENDENTAL = 10  # a polynomial and its range reduction
SPECIAL = 20  # several of them

COMMUTATIVE = ("commutative",)
AC = ("associative", "commutative")
ACI = ("associative", "commutative", "idempotent")


def no_facts(operands: tuple[Facts, ...], node: Variable) -> Facts:
    """Prove nothing beyond what the dtype says."""
    return NOTHING


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function: one row of the tables that :class:`Elementwise` is built from.

    Attributes
    ----------
    name : str
        NumPy's name, or SciPy's where NumPy has none.
    compute : callable
        The NumPy meaning, on arrays of the dtypes that ``loop`` gives.
    arity : int
        The number of operands.
    loop : callable
        ``loop(name, dtypes)`` gives the dtypes to compute in and, last, that of the result.
    weight : int
        Floating-point operations for one element.
    laws : tuple of str
        Which of associative, commutative and idempotent hold.
    difference, inverse : str
        The functions that undo it, by name: ``difference(x, y)`` is ``f(x, inverse(y))``.
    symbol, precedence : str, int
        The infix or prefix symbol, and how tightly it binds.
    facts : callable
        ``facts(operand_facts, node)``: what is proved of the computed result.
    zero : str
        When the result is a zero: "all" of the operands are, "any" of them is (and the other
        one is finite), the "first" is (and the second neither zero nor NaN), both "branches" are,
        or "" for none of these.
    tests : bool
        Whether the result is bool whatever the dtypes of the operands.
    prepare : callable or None
        How operands become nodes, where it differs from :meth:`Op.coerce`.
    """

    name: str
    compute: Callable[..., Any]
    arity: int
    loop: LoopRule
    weight: int = CHEAP
    laws: tuple[str, ...] = ()
    difference: str = ""
    inverse: str = ""
    symbol: str = ""
    precedence: int = 0
    facts: FactRule = no_facts
    zero: str = ""
    tests: bool = False
    prepare: Prepare | None = None


def ufunc(function: np.ufunc, **fields: Any) -> Function:
    """Return the row of a NumPy ufunc: its own name, operands and dtype rule."""
    row = {"name": function.__name__, "compute": function, "arity": function.nin}
    return Function(**{**row, "loop": ufunc_loop(function), **fields})


def ufunc_loop(function: np.ufunc) -> LoopRule:
    """Return the dtype rule of a NumPy ufunc, without float16.

    Where NumPy computes in float16, which it does for float functions of bool, int8 and uint8,
    the operands are taken as float32 first; every other result has exactly NumPy's dtype.
    """

    @lru_cache(maxsize=4096)
    def loop(name: str, dtypes: DTypes) -> DTypes:
        try:
            found = function.resolve_dtypes((*dtypes, None))
            if _FLOAT16 in found:
                wide = tuple(_FLOAT32 if d.kind in "biu" else d for d in dtypes)
                found = function.resolve_dtypes((*wide, None))
        except TypeError:
            raise DTypeError(
                f"{name} is not defined for {', '.join(d.name for d in dtypes)}",
                fix="Convert the operands with .astype(...), as for the same call in NumPy.",
            ) from None
        return tuple(d.newbyteorder("=") for d in found)

    return loop


def in_floats(function: Function, operands: tuple[Any, ...]) -> tuple[Variable, ...] | None:
    """Return operands with the Python integers as floats that a function computes in.

    Parameters
    ----------
    function : Function
        It is given an integer that does not fit the dtype of its other operands.
    operands : tuple of Variable, array-like or number
        As a caller gives them.

    Returns
    -------
    tuple of Variable or None
        As nodes: ``uint8_array / -1`` divides by -1.0.  None where it computes in integers.
    """
    strong = [as_variable(x).dtype for x in operands if not is_weak(x)]
    common = np.result_type(*strong) if strong else None
    if common is None:
        return None
    dtypes = tuple([common if is_weak(x) else as_variable(x).dtype for x in operands])
    loop = function.loop(function.name, dtypes)
    if any(is_weak(x) and d.kind != "f" for x, d in zip(operands, loop, strict=False)):
        return None
    return tuple([as_variable(x, [d]) for x, d in zip(operands, loop, strict=False)])


def promote_loop(name: str, dtypes: DTypes) -> DTypes:
    """Compute in the common dtype of all operands."""
    common = np.result_type(*dtypes)
    return (common,) * (len(dtypes) + 1)


def choice_loop(name: str, dtypes: DTypes) -> DTypes:
    """Compute in the common dtype of the two branches; the condition must be bool."""
    condition, *branches = dtypes
    if condition.kind != "b":
        raise DTypeError(
            f"the condition of {name} must be bool, not {condition}",
            fix="Compare it first, for instance with rg.not_equal(condition, 0).",
        )
    common = np.result_type(*branches)
    return (condition, common, common, common)
