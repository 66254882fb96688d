"""The arrays of a traced function.

A tracer takes NumPy's functions, ufuncs and full set of operators, ``==`` and ``!=`` included, so
that ordinary NumPy code traces; the graph itself keeps ``==`` for identity.  Writing to a tracer,
or to a view of one, changes which graph it stands for (:mod:`relgraph.api.tracing.storage`).
"""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from relgraph.api.tracing.storage import Array, Step, Storage, layout
from relgraph.api.tracing.weak_scalar import CALLS, WeakNode, WeakScalar, value_of
from relgraph.errors import ArgumentError, UnsupportedAttributeError
from relgraph.ir.node import Variable, as_literal, as_variable
from relgraph.ir.operators import FUNCTIONS, Operators
from relgraph.ir.types import DTYPES, TensorType
from relgraph.ops.indexing.update import Part


class Tracer(Operators):
    """A traced array: the whole of a storage, or a view of it.

    Parameters
    ----------
    storage : Storage
        The memory that it shares with its views.
    steps : tuple of Step
        The ops from the whole array to the view.
    scalar : bool
        Whether it is a scalar of NumPy, which is never changed in place, unlike an array without
        dimensions.
    weak : bool
        Whether it is a number of Python that is computed at the call: beside arrays it takes their
        dtype.

    Attributes
    ----------
    node : Variable
        The graph of its present elements.
    """

    __slots__ = ("__weakref__", "_read", "_scalar", "_steps", "_storage", "_weak")
    node: Variable

    def __init__(
        self,
        storage: Storage,
        steps: tuple[Step, ...] = (),
        *,
        scalar: bool = False,
        weak: bool = False,
    ) -> None:
        self._storage = storage
        self._steps = steps
        self._scalar = scalar or weak
        self._weak = weak
        self._read: tuple[Variable, Variable] | None = None

    def __getattribute__(self, name: str) -> Any:
        if name == "node":
            return node_of(self)
        if name.startswith("_"):
            return object.__getattribute__(self, name)
        return CALLS["attribute"](self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise UnsupportedAttributeError(
                f"the traced function assigns the attribute {name!r} of an array",
                {"array": self.node},
                f"Write x = x.reshape({value!r})."
                if name == "shape"
                else "Write x[...] = value to change the elements, or make a new array.",
            )
        object.__setattr__(self, name, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return CALLS["ufunc"](ufunc, method, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return CALLS["function"](func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = values_of(self)
        if value is None:
            raise no_values(self.node, library_function(sys._getframe(1)))
        self._storage.changed()  # whoever gets the array may write to it
        return np.array(value, dtype, copy=copy)

    def __relgraph_value__(self) -> Array | None:
        return values_of(self)

    def __relgraph_operand__(self, dtypes: Sequence[np.dtype[Any]]) -> Variable:
        return WeakNode(self.node).__relgraph_operand__(dtypes) if self._weak else self.node

    def __eq__(self, other: object) -> Any:
        return CALLS["ufunc"](np.equal, "__call__", (self, other), {})

    def __ne__(self, other: object) -> Any:
        return CALLS["ufunc"](np.not_equal, "__call__", (self, other), {})

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        return CALLS["index"](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        CALLS["assign"](self, key, value)

    def __iter__(self) -> Iterator[Any]:
        shape = type_of(self).shape
        size = shape[0] if shape else None
        if not isinstance(size, int):
            return iter(FUNCTIONS["__iter__"](self.node))  # raises
        return (self[i] for i in range(size))

    def __contains__(self, value: object) -> bool:
        return bool((self == value).any())

    def __len__(self) -> int:
        shape = type_of(self).shape
        size = shape[0] if shape else None
        if isinstance(size, int):
            return size
        raise ArgumentError(
            "the traced function asks for len() of an array "
            + ("whose size is not known while tracing" if shape else "without dimensions"),
            {"array": f"{self.node} : {self.node.type}"},
            "Use x.shape[0], which may be an array too."
            if shape
            else "Use np.size(x), which is 1.",
        )

    def __bool__(self) -> bool:
        value = values_of(self)
        if value is not None:
            return bool(value)
        raise ArgumentError(
            "the traced function asks for the truth of an array, which is not known while tracing",
            {"array": self.node},
            "Use np.where(condition, a, b) and np.logical_and, or an if whose branches only assign "
            "values, without return, break, continue or raise.",
        )

    def _value(self) -> Any:
        value = values_of(self)
        if value is not None:
            return value
        raise ArgumentError(
            "the traced function asks for the value of an array, which is not known while tracing",
            {"array": self.node},
            "Use NumPy's functions, np.exp instead of math.exp; sizes come from x.shape, and a "
            "value that has to be known is an argument given as a Python number.",
        )

    def __float__(self) -> float:
        return float(self._value())

    def __int__(self) -> int:
        return int(self._value())

    def __index__(self) -> int:
        return int(self._value().__index__())

    def __complex__(self) -> complex:
        return complex(self._value())

    def __format__(self, spec: str) -> str:
        value = values_of(self)
        if value is not None:
            return format(value, spec)
        if not spec:
            return repr(self)
        raise ArgumentError(
            f"the traced function formats an array with {spec!r}, and it has no values yet",
            {"array": self.node},
            "Return the array, and format what the compiled function returns.",
        )

    def __repr__(self) -> str:
        value = values_of(self)
        return f"Tracer({self.node!r})" if value is None else repr(value)

    def __deepcopy__(self, memo: object) -> Tracer:
        value = values_of(self)
        return fresh(self.node) if value is None else wrap(value.copy())


def _lifted(name: str) -> Callable[..., Any]:
    method = getattr(Operators, name)
    of_arrays = getattr(np.ndarray, name, None)

    def lifted(self: Tracer, *args: Any) -> Any:
        if of_arrays is not None and is_known((self, args)):
            return wrap(of_arrays(known(self), *known(args)))
        operands = () if "matmul" in name else (self, *args)
        if self._weak:
            if all(map(is_weak, args)):
                counted = self.node.dtype.kind == "b" and name not in _OF_BOOLS
                node = as_variable(0) + self.node if counted else self.node
                return weak(method(node, *[operand(x, strong=True) for x in args]))
            others = [x.dtype for x in map(operand, args) if hasattr(x, "dtype")]
            return computed(method(as_variable(self, others), *map(operand, args)), operands)
        return computed(method(self.node, *map(operand, args)), operands)

    lifted.__name__ = name
    return lifted


_OF_BOOLS = ("__and__", "__or__", "__xor__", "__rand__", "__ror__", "__rxor__", "__lt__", "__le__",
             "__gt__", "__ge__")  # fmt: skip
"""Operators of Python's bools that do not count them."""


def _in_place(function: Callable[[Any, Any], Any], ufunc: np.ufunc) -> Callable[[Tracer, Any], Any]:
    """Return the method of an augmented assignment."""

    def method(self: Tracer, other: Any) -> Any:
        if self._scalar:
            return function(self, other)  # the name is bound to a new scalar
        return ufunc(self, other, out=(self,))

    return method


for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
    "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift,
}.items():  # fmt: skip
    setattr(Tracer, f"__i{_name.strip('_')}__", _in_place(getattr(operator, _name), _ufunc))

_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")  # which every object has
for _name, _method in vars(Operators).items():
    if _name in _ORDER or (
        _name.startswith("__")
        and callable(_method)
        and _name not in vars(Tracer)
        and _name not in vars(object)  # hasattr would find operators of the class `type`: int | str
    ):
        setattr(Tracer, _name, _lifted(_name))


# Reading.


def library_function(frame: Any) -> str:
    """Return which function of SciPy a frame is part of, as far as frames tell, or ""."""
    name = ""
    while frame is not None:
        parts = str(frame.f_globals.get("__name__", "")).split(".")
        if parts[0] == "scipy":
            public = [part for part in parts if not part.startswith("_")]
            wrapper = "_lib" in parts  # around several functions
            name = (
                name or "a function of SciPy"
                if wrapper
                else f"{'.'.join(public)}.{frame.f_code.co_name}"
            )
        elif name or parts[0] != "numpy":
            break
        frame = frame.f_back
    return name


def no_values(node: Variable, function: str) -> ArgumentError:
    """Return the error for a traced array that a function of a library, or "", needs the values of.

    Without a library the traced function itself converts the array.
    """
    if function:
        return ArgumentError(
            f"{function} needs the values of a traced array, which has none yet",
            {"array": node},
            "Write it with functions of NumPy or relgraph, or call it outside of the function.",
        )
    return ArgumentError(
        "the traced function converts a traced array, which has no values yet, to a NumPy array",
        {"array": node},
        "Write np.zeros(shape) in the function, spelled like this, and assign to its elements; "
        "join arrays with np.stack or np.concatenate.",
    )


def node_of(x: Tracer) -> Variable:
    """Return the graph of the present elements."""
    root = x._storage.node
    if not x._steps:
        return root
    if x._read is None or x._read[0] is not root:
        x._read = (root, x._storage.read(x._steps))
    return x._read[1]


def type_of(x: Tracer) -> TensorType:
    """Return the type of an array or view."""
    value = values_of(x)
    if value is not None:
        return TensorType(value.dtype, value.shape)
    kind = node_of(x).type
    assert isinstance(kind, TensorType)
    return kind


def values_of(x: Tracer) -> Array | None:
    """Return the elements of an array that are known, as an array to write to, or None."""
    value = x._storage.value
    if value is None or any(step.operands for step in x._steps):
        return None
    for step in x._steps:
        value = step.of(value)
    return value


def wrap(value: Any) -> Any:
    """Return nodes and arrays as tracers, inside tuples and lists too."""
    if isinstance(value, Variable):
        return Tracer(Storage(value, c_order=value.ndim < 2), scalar=value.ndim == 0)
    if type(value) is np.ndarray and value.dtype.name in DTYPES and running():
        return Tracer(Storage(value=value))
    if type(value) in (tuple, list):
        return type(value)(map(wrap, value))
    return CALLS["part"](value) if type(value) is Part else value


def computed(result: Any, operands: Iterable[Any]) -> Any:
    """Return a result as a tracer; it is in C order if the operands are."""
    tracer = wrap(result)
    if type(tracer) is Tracer and not tracer._scalar:
        tracer._storage.c_order = all(
            in_c_order(x) for x in operands if type(x) is Tracer and type_of(x).ndim > 1
        )
    return tracer


def in_c_order(x: Tracer) -> bool:
    """Return True if the elements are adjacent in memory, in the order of the axes."""
    strides = layout(x._storage, x._steps)
    return strides is not None and bool(strides.flags.c_contiguous)


def fresh(node: Variable, *, c_order: bool = False) -> Tracer:
    """Return a new array, which may be changed in place even if it has no dimensions."""
    return Tracer(Storage(node, c_order=c_order or node.ndim < 2))


def argument(node: Variable) -> Tracer:
    """Return an argument of a traced function; without dimensions, it is a scalar."""
    return Tracer(Storage(node, c_order=True), scalar=node.ndim == 0)


def unwrap(value: Any) -> Any:
    """Return tracers as nodes, and weak scalars as numbers, inside containers and slices too."""
    kind = type(value)
    if kind is Tracer:
        return value.node
    if kind is WeakScalar:
        return value_of(value)
    return mapped(unwrap, value)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to the parts of a container or slice, or return another value as it is."""
    kind = type(value)
    if kind in (tuple, list):
        return kind(map(function, value))
    if kind is dict:
        return {k: function(v) for k, v in value.items()}
    if kind is slice:
        return slice(function(value.start), function(value.stop), function(value.step))
    return value


def is_weak(x: Any) -> bool:
    """Return True for a number of Python, also one that is computed at the call."""
    return x._weak if type(x) is Tracer else type(x) in (bool, int, float, WeakScalar)


def weak(node: Variable) -> Tracer:
    """Return a number of Python that is computed at the call."""
    return Tracer(Storage(node, c_order=True), weak=True)


def operand(value: Any, *, strong: bool = False) -> Any:
    """Return the operand for a value; a weak scalar stays one, and the op chooses its dtype.

    Tracers compare elements with ``==``, so a Python bool is an ordinary value here.
    """
    if type(value) in (list, tuple) and traces(value):
        return stacked(value)
    if type(value) is Tracer and value._weak and not strong:
        return WeakNode(value.node)
    return value if type(value) is WeakScalar else as_literal(unwrap(value))


def stacked(parts: Sequence[Any]) -> Variable:
    """Return nested sequences of traced and other values as one array."""
    nodes = [stacked(x) if type(x) in (list, tuple) else operand(x) for x in parts]
    dtypes = [x.dtype for x in nodes if isinstance(x, Variable | np.generic | np.ndarray)]
    return FUNCTIONS["stack"]([as_variable(x, like=dtypes) for x in nodes])  # type: ignore[no-any-return]


def traces(value: Any) -> bool:
    """Return True if a value contains a tracer."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return any(map(traces, value))
    return type(value) is Tracer


def is_known(value: Any) -> bool:
    """Return True if a value contains nothing traced, except arrays whose elements are known."""
    kind = type(value)
    if kind is Tracer:
        return values_of(value) is not None
    if kind in (tuple, list):
        return all(map(is_known, value))
    if kind is dict:
        return all(map(is_known, value.values()))
    if kind is slice:
        return is_known((value.start, value.stop, value.step))
    return kind is not WeakScalar and not isinstance(value, Variable)


def known(value: Any) -> Any:
    """Return the arrays of a value that :func:`is_known`, for NumPy."""
    return values_of(value) if type(value) is Tracer else mapped(known, value)


class Trace:
    """The properties of a whole trace.

    Parameters
    ----------
    package : str
        The package of the traced function.

    Attributes
    ----------
    by_order : bool
        Whether its writes depend on arguments being in C order.
    loops : list of (Variable, CodeType)
        The loops of Python that were traced once, each with the code of its body.
    """

    def __init__(self, package: str = "") -> None:
        self.package = package
        self.by_order = False
        self.loops: list[tuple[Variable, CodeType]] = []


_traces = threading.local()


def _current() -> Trace:
    return running()[-1] if running() else Trace()


def running() -> list[Trace]:
    """Return the traces of this thread, the innermost last."""
    if not hasattr(_traces, "stack"):
        _traces.stack = []
    stack: list[Trace] = _traces.stack
    return stack
