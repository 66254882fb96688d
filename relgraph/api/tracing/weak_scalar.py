"""Python numbers of a traced function: weak scalars.

With numbers a weak scalar computes like Python, in the trace; with arrays it takes their dtype.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relgraph.api.tracing.number_trace import NUMBERS, NumberTrace, Slot
from relgraph.ir.node import Variable
from relgraph.ir.operators import Operators
from relgraph.ops.elementwise import Cast

CALLS: dict[str, Callable[..., Any]] = {}
"""The operations of traced values, by name: "ufunc", "function", "index", "assign" and others.

:mod:`relgraph.api.tracing.calls` fills it on import, which avoids a circle of imports."""


class WeakScalar:
    """A Python number that a traced function was called with, or computed from such numbers.

    Parameters
    ----------
    trace : NumberTrace
        The trace that records it.
    slot : int
        Its slot in the trace.
    """

    __slots__ = ("_numbers", "_slot")
    __relgraph_weak__ = True

    def __init__(self, trace: NumberTrace[Any], slot: int) -> None:
        self._numbers = trace
        self._slot = slot

    def __relgraph_operand__(self, dtypes: Sequence[np.dtype[Any]]) -> Variable:
        return self._numbers.node(self._slot, dtypes)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # so that isinstance(x, int) holds as for the number
        return type(self._numbers.slots[self._slot])

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return CALLS["ufunc"](ufunc, method, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return CALLS["function"](func, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array"):
            raise AttributeError(name)  # NumPy asks; only __array__ is answered
        return getattr(value_of(self), name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(value_of(self), *args)

    def __eq__(self, other: object) -> Any:
        return _with_number(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return _with_number(operator.ne, self, other)

    def __hash__(self) -> int:
        return hash(value_of(self))

    def __round__(self, digits: Any = None) -> Any:
        return recorded(round, self) if digits is None else recorded(round, self, digits)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __deepcopy__(self, memo: object) -> WeakScalar:
        return self

    def __repr__(self) -> str:
        return repr(value_of(self))

    def __format__(self, spec: str) -> str:
        return format(value_of(self), spec)


class WeakNode:
    """A number of Python that is computed at the call, as an operand: it takes the others' dtype.

    Parameters
    ----------
    node : Variable
        The number as an int64 or a float64.
    """

    __slots__ = ("node",)
    __relgraph_weak__ = True

    def __init__(self, node: Variable) -> None:
        self.node = node

    def __relgraph_operand__(self, dtypes: Sequence[np.dtype[Any]]) -> Variable:
        kind = {"f": 0.0, "b": False}.get(self.node.dtype.kind, 0)
        dtype = np.result_type(*dtypes, kind) if dtypes else self.node.dtype
        return self.node if dtype == self.node.dtype else Cast(dtype.name)(self.node)


def number_of(x: Any) -> Any:
    """Return the number of a weak scalar, and other values as they are."""
    return value_of(x) if type(x) is WeakScalar else x


def value_of(x: WeakScalar) -> Any:
    """Return the number itself; the traced program then holds for this value only."""
    return x._numbers.ask(x._slot)


def trace_of(x: WeakScalar) -> tuple[NumberTrace[Any], int]:
    """Return the trace and the slot of a number."""
    return x._numbers, x._slot


def recorded(function: Callable[..., Any], *operands: Any) -> Any:
    """Compute with numbers now and at each call; the result is weak unless all are known."""
    weak = [x for x in operands if type(x) is WeakScalar]
    trace = weak[0]._numbers
    if all(trace.knows(x._slot) for x in weak):
        return function(*map(number_of, operands))
    steps = [Slot(x._slot) if type(x) is WeakScalar else x for x in operands]
    try:
        if function is operator.pow:  # int or float or complex, by the values
            kind = trace.ask(trace.step(type, Slot(trace.step(function, *steps))))
            if kind not in NUMBERS:
                return function(*map(number_of, operands))
        return WeakScalar(trace, trace.step(function, *steps))
    except Exception:  # the function may handle it, so the trace depends on the values
        for x in weak:
            value_of(x)
        raise


def _with_number(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """Combine a weak scalar, as either operand, with another number; arrays handle themselves."""
    if all(type(z) in NUMBERS or type(z) is WeakScalar for z in (x, y)):
        return recorded(function, x, y)
    other = y if type(x) is WeakScalar else x
    if isinstance(other, Operators | np.ndarray | np.generic) or function in _EQUALITY:
        return NotImplemented
    return function(number_of(x), number_of(y))


_EQUALITY = (operator.eq, operator.ne)
_BINARY: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_COMPARE: dict[str, Callable[..., Any]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_UNARY: dict[str, Callable[..., Any]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": operator.abs,
    "invert": operator.invert,
}
_ASK: dict[str, Callable[..., Any]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
}


def _binary(function: Callable[..., Any], swap: bool) -> Callable[..., Any]:
    if swap:
        return lambda self, other: _with_number(function, other, self)
    return lambda self, other: _with_number(function, self, other)


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: recorded(function, self)


def _ask(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: function(value_of(self))


_SPECIAL: dict[str, Callable[..., Any]] = {
    **{name: _binary(function, swap=False) for name, function in (_BINARY | _COMPARE).items()},
    **{f"r{name}": _binary(function, swap=True) for name, function in _BINARY.items()},
    **{name: _unary(function) for name, function in _UNARY.items()},
    **{name: _ask(function) for name, function in _ASK.items()},
}
for _name, _method in _SPECIAL.items():
    setattr(WeakScalar, f"__{_name}__", _method)
