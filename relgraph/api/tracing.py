"""The arguments of a traced function: tracers for arrays, weak scalars for Python numbers.

A tracer takes NumPy's functions, ufuncs and full set of operators, ``==`` and ``!=`` included, so
that ordinary NumPy code traces; the graph itself keeps ``==`` for identity.  A weak scalar is a
Python number: with numbers it computes like Python, in the trace, and with arrays it takes their
dtype.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from difflib import get_close_matches
from typing import Any

import numpy as np

from relgraph.api.number_trace import NUMBERS, NumberTrace, Slot
from relgraph.errors import ArgumentError, UnsupportedAttributeError
from relgraph.ir.dispatch import intercepted_by
from relgraph.ir.node import Input, Variable, as_literal
from relgraph.ir.op import Op
from relgraph.ir.operators import FUNCTIONS, Operators
from relgraph.numpy.protocol import instead_of_attribute
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import Part
from relgraph.ops.permutation import Rearrangement


class Tracer(Operators):
    """A traced array.

    Attributes
    ----------
    node : Variable
        The graph that computes it.
    """

    __slots__ = ("node",)
    node: Variable

    def __init__(self, node: Variable) -> None:
        self.node = node

    def __getattribute__(self, name: str) -> Any:
        if name == "node" or (name.startswith("__") and name.endswith("__")):
            return object.__getattribute__(self, name)
        if name == "at":
            return _Parts(self.node.at)
        try:
            attribute = getattr(self.node, name)
        except AttributeError as error:
            if hasattr(np.ndarray, name):
                raise _no_attribute(self.node, name) from None
            near = get_close_matches(name, dir(np.ndarray), 1, 0.7)
            raise UnsupportedAttributeError(
                f"a traced array has no attribute {name!r}",
                {"array": self.node},
                f"Did you mean {near[0]!r}?" if near else "Use NumPy's functions and attributes.",
            ) from error
        if callable(attribute) and not isinstance(attribute, Variable):
            taken = operand if name == "clip" else unwrap
            return lambda *args, **kwargs: wrap(
                attribute(*map(taken, args), **{k: taken(v) for k, v in kwargs.items()})
            )
        return wrap(attribute)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return _apply_ufunc(ufunc, method, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _apply_function(func, args, kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise ArgumentError(
            "the traced function makes a NumPy array of one that is traced and has no values yet",
            {"array": self.node},
            "Leave np.asarray out; join arrays with np.stack or np.concatenate, and assign to "
            "parts of one with np.zeros_like(x).at[key].set(value).",
        )

    def __relgraph_operand__(self, dtypes: Sequence[np.dtype[Any]]) -> Variable:
        return self.node

    def __eq__(self, other: object) -> Any:
        return wrap(FUNCTIONS["equal"](self.node, operand(other)))

    def __ne__(self, other: object) -> Any:
        return wrap(FUNCTIONS["not_equal"](self.node, operand(other)))

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        return wrap(self.node[_key(key)])

    def __iter__(self) -> Iterator[Any]:
        return iter(wrap(FUNCTIONS["__iter__"](self.node)))

    def __contains__(self, value: object) -> bool:
        return bool((self == value).any())

    def __len__(self) -> int:
        size = self.node.type.shape[0] if self.node.ndim else None
        if isinstance(size, int):
            return size
        raise ArgumentError(
            "the traced function asks for len() of an array "
            + ("whose size is not known while tracing" if self.node.ndim else "without dimensions"),
            {"array": f"{self.node} : {self.node.type}"},
            "Use x.shape[0], which may be an array too."
            if self.node.ndim
            else "Use np.size(x), which is 1.",
        )

    def __bool__(self) -> bool:
        raise ArgumentError(
            "the traced function asks for the truth of an array, which is not known while tracing",
            {"array": self.node},
            "Use np.where(condition, a, b) instead of if, and np.logical_and instead of and.",
        )

    def _value(self) -> Any:
        raise ArgumentError(
            "the traced function asks for the value of an array, which is not known while tracing",
            {"array": self.node},
            "Use NumPy's functions, np.exp instead of math.exp; sizes come from x.shape, and a "
            "value that has to be known is an argument given as a Python number.",
        )

    def __float__(self) -> float:
        return float(Tracer._value(self))

    def __int__(self) -> int:
        return int(Tracer._value(self))

    def __index__(self) -> int:
        return int(Tracer._value(self))

    def __complex__(self) -> complex:
        return complex(Tracer._value(self))

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        raise ArgumentError(
            f"the traced function formats an array with {spec!r}, and it has no values yet",
            {"array": self.node},
            "Return the array, and format what the compiled function returns.",
        )

    def __repr__(self) -> str:
        return f"Tracer({self.node!r})"

    def __deepcopy__(self, memo: object) -> Tracer:
        return self


def _lifted(name: str) -> Callable[..., Any]:
    method = getattr(Operators, name)

    def lifted(self: Tracer, *args: Any) -> Any:
        return wrap(method(self.node, *map(operand, args)))

    lifted.__name__ = name
    return lifted


def _in_place(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Tracer, Any], Any]:
    """Return the method of an augmented assignment, which binds the name to a new array."""

    def method(self: Tracer, other: Any) -> Any:
        node = self.node
        while isinstance(node.op, Rearrangement | Index) and len(node.inputs) == 1:  # a view
            node = node.inputs[0]
        if isinstance(node, Input) or node is not self.node:
            whole = f"its argument {node.name!r}" if isinstance(node, Input) else "an array"
            raise ArgumentError(
                f"the traced function changes {whole} in place, which is not supported",
                {"array": self.node},
                f"Write x = x {symbol} y, which makes a new array, and return that."
                if node is self.node
                else "Write x = x.at[key].set(...), which makes a new array.",
            )
        return function(self, other)

    return method


for _name, _symbol in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}.items():  # fmt: skip
    setattr(Tracer, f"__i{_name.strip('_')}__", _in_place(_symbol, getattr(operator, _name)))

_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")  # which every object has
for _name, _method in vars(Operators).items():
    if _name in _ORDER or (
        _name.startswith("__")
        and callable(_method)
        and _name not in vars(Tracer)
        and _name not in vars(object)  # hasattr would find operators of the class `type`: int | str
    ):
        setattr(Tracer, _name, _lifted(_name))


class _Parts:
    """``x.at`` of a traced array."""

    __slots__ = ("_at",)

    def __init__(self, at: Any) -> None:
        self._at = at

    def __getitem__(self, key: Any) -> _Part:
        return _Part(self._at[_key(key)])


class _Part:
    """``x.at[key]`` of a traced array, with its updates."""

    __slots__ = ("_part",)

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        method = getattr(self._part, name)
        return lambda value: wrap(method(operand(value)))


def _no_attribute(node: Variable, name: str) -> UnsupportedAttributeError:
    return UnsupportedAttributeError(
        f"traced arrays do not have NumPy's attribute {name!r}",
        {"array": node},
        instead_of_attribute(name) or "Write it with NumPy's functions that graphs have.",
    )


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
        return _apply_ufunc(ufunc, method, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _apply_function(func, args, kwargs)

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
        return _record(round, self) if digits is None else _record(round, self, digits)

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


def value_of(x: WeakScalar) -> Any:
    """Return the number itself: the traced program holds for this value."""
    return x._numbers.ask(x._slot)


def trace_of(x: WeakScalar) -> tuple[NumberTrace[Any], int]:
    """Return the trace and the slot of a number."""
    return x._numbers, x._slot


def _record(function: Callable[..., Any], *operands: Any) -> Any:
    """Compute with numbers now, and at each call: a number, weak unless all operands are known."""
    weak = [x for x in operands if type(x) is WeakScalar]
    trace = weak[0]._numbers
    if all(trace.knows(x._slot) for x in weak):
        return function(*map(unwrap, operands))
    recorded = [Slot(x._slot) if type(x) is WeakScalar else x for x in operands]
    try:
        if function is operator.pow:  # int or float or complex, by the values
            kind = trace.ask(trace.step(lambda x, y: type(x**y), *recorded))
            if kind not in NUMBERS:
                return function(*map(unwrap, operands))
        return WeakScalar(trace, trace.step(function, *recorded))
    except Exception:  # the function may handle it, so the trace depends on the values
        for x in weak:
            value_of(x)
        raise


def _with_number(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """Combine a weak scalar, as either operand, with another number; arrays handle themselves."""
    if all(type(z) in NUMBERS or type(z) is WeakScalar for z in (x, y)):
        return _record(function, x, y)
    other = y if type(x) is WeakScalar else x
    if isinstance(other, Operators | np.ndarray | np.generic) or function in _EQUALITY:
        return NotImplemented
    return function(unwrap(x), unwrap(y))


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
    return lambda self: _record(function, self)


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


def wrap(value: Any) -> Any:
    """Return nodes as tracers, inside tuples and lists too."""
    if isinstance(value, Variable):
        return Tracer(value)
    if type(value) in (tuple, list):
        return type(value)(map(wrap, value))
    return _Part(value) if type(value) is Part else value


def unwrap(value: Any) -> Any:
    """Return tracers as nodes, and weak scalars as numbers, inside containers and slices too."""
    kind = type(value)
    if kind is Tracer:
        return value.node
    if kind is WeakScalar:
        return value_of(value)
    if kind in (tuple, list):
        return kind(map(unwrap, value))
    if kind is dict:
        return {k: unwrap(v) for k, v in value.items()}
    if kind is slice:
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    return value


def operand(value: Any) -> Any:
    """Return the operand for a value; a weak scalar stays one, and the op chooses its dtype.

    Tracers compare elements with ``==``, so a Python bool is an ordinary value here.
    """
    return value if type(value) is WeakScalar else as_literal(unwrap(value))


def _key(key: Any) -> Any:
    """Return a key of an array; integers in it may differ from call to call."""
    if type(key) is tuple:
        return tuple(map(_key, key))
    if type(key) is WeakScalar and isinstance(key, int) and not isinstance(key, bool):
        trace, slot = trace_of(key)
        return trace.node(slot, [])
    return unwrap(key)


_WITH_NUMBERS = (np.where, np.clip, np.select)  # functions of arrays that also take numbers


def _apply_ufunc(ufunc: Any, method: str, args: Any, kwargs: Any) -> Any:
    taken = operand if method == "__call__" else unwrap
    return wrap(
        FUNCTIONS["__array_ufunc__"](ufunc, method, tuple(map(taken, args)), unwrap(kwargs))
    )


def _apply_function(func: Any, args: Any, kwargs: Any) -> Any:
    if func in _WITH_NUMBERS:
        taken = tuple(map(operand, args))
        if func is np.select:  # lists of them
            taken = (*(list(map(operand, x)) for x in args[:2]), *taken[2:])
        if func is np.where and type(taken[0]) is WeakScalar:
            truth = _record(operator.truth, taken[0])
            weak = type(truth) is WeakScalar
            taken = (truth.__relgraph_operand__([]) if weak else np.bool_(truth), *taken[1:])
        named = {k: operand(v) for k, v in kwargs.items()}
        return wrap(FUNCTIONS["__array_function__"](func, taken, named))
    if not _traces((args, kwargs)):
        return func(*unwrap(args), **unwrap(kwargs))
    return wrap(FUNCTIONS["__array_function__"](func, unwrap(args), unwrap(kwargs)))


def tracing() -> AbstractContextManager[None]:
    """Make relgraph's functions and ops accept and return tracers inside a ``with`` block."""
    return intercepted_by(_apply)


def _apply(function: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of relgraph, or an op, with the nodes of tracers, if there are any."""
    if not _traces((args, kwargs)):
        return NotImplemented
    taken = operand if isinstance(function, Op) else unwrap
    return wrap(function(*map(taken, args), **unwrap(kwargs)))


def _traces(value: Any) -> bool:
    """Return True if a value contains a tracer."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return any(map(_traces, value))
    return type(value) is Tracer
