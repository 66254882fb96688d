"""The arrays of a traced function.

A tracer takes NumPy's functions, ufuncs and full set of operators, ``==`` and ``!=`` included, so
that ordinary NumPy code traces; the graph itself keeps ``==`` for identity.  Writing to a tracer,
or to a view of one, changes which graph it stands for (:mod:`relgraph.api.array_storage`).
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from relgraph.api.array_storage import (
    Array,
    Step,
    Storage,
    check_writable,
    is_view,
    joined,
    layout,
    stand_in,
    steps_from,
)
from relgraph.api.weak_scalar import CALLS, WeakScalar, trace_of, value_of
from relgraph.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
    UnsupportedAttributeError,
    kind_of,
)
from relgraph.ir.node import Variable, as_literal, as_variable
from relgraph.ir.operators import FUNCTIONS, Operators
from relgraph.ir.types import DTYPES, Shape, TensorType, broadcast_shapes, covers
from relgraph.numpy.protocol import instead_of_attribute
from relgraph.ops.elementwise import cast
from relgraph.ops.indexing.expression import indexed_shape, parse_key
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import Part, SetIndex
from relgraph.ops.shape import Reshape, broadcast_to, reshape


class Tracer(Operators):
    """A traced array: the whole of a storage, or a view of it.

    Parameters
    ----------
    storage : Storage
        The memory that it shares with its views.
    steps : tuple of Step
        How it is a view of the whole.
    scalar : bool
        Whether it is a scalar of NumPy, which is never changed in place, unlike an array without
        dimensions.

    Attributes
    ----------
    node : Variable
        The graph of its present elements.
    """

    __slots__ = ("_read", "_scalar", "_steps", "_storage")
    node: Variable

    def __init__(
        self, storage: Storage, steps: tuple[Step, ...] = (), *, scalar: bool = False
    ) -> None:
        self._storage = storage
        self._steps = steps
        self._scalar = scalar
        self._read: tuple[Variable, Variable] | None = None

    def __getattribute__(self, name: str) -> Any:
        if name == "node":
            return _node(self)
        if name.startswith("_"):
            return object.__getattribute__(self, name)
        return _attribute(self, name)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return CALLS["ufunc"](ufunc, method, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return CALLS["function"](func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = values_of(self)
        if value is None:
            raise ArgumentError(
                "the traced function makes a NumPy array of one that is traced and has no values "
                "yet",
                {"array": self.node},
                "Write np.zeros(shape) in the function, by this name, and assign to its elements; "
                "join arrays with np.stack or np.concatenate.",
            )
        return np.array(value, dtype, copy=copy)

    def __relgraph_value__(self) -> Array | None:
        return values_of(self)

    def __relgraph_operand__(self, dtypes: Sequence[np.dtype[Any]]) -> Variable:
        return self.node

    def __eq__(self, other: object) -> Any:
        return CALLS["ufunc"](np.equal, "__call__", (self, other), {})

    def __ne__(self, other: object) -> Any:
        return CALLS["ufunc"](np.not_equal, "__call__", (self, other), {})

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        return part_of(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        assign(self, key, value)

    def __iter__(self) -> Iterator[Any]:
        shape = _type(self).shape
        size = shape[0] if shape else None
        if not isinstance(size, int):
            return iter(FUNCTIONS["__iter__"](self.node))  # raises
        return (self[i] for i in range(size))

    def __contains__(self, value: object) -> bool:
        return bool((self == value).any())

    def __len__(self) -> int:
        shape = _type(self).shape
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
            "Use np.where(condition, a, b) instead of if, and np.logical_and instead of and.",
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
        return computed(method(self.node, *map(operand, args)), (self, *args))

    lifted.__name__ = name
    return lifted


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


def _node(x: Tracer) -> Variable:
    """Return the graph of the present elements."""
    root = x._storage.node
    if not x._steps:
        return root
    if x._read is None or x._read[0] is not root:
        node = root
        for step in x._steps:
            node = step.read(node)
        x._read = (root, node)
    return x._read[1]


def _type(x: Tracer) -> TensorType:
    if x._storage.value is None:
        kind = _node(x).type
        assert isinstance(kind, TensorType)
        return kind
    value = values_of(x)
    assert value is not None
    return TensorType(value.dtype, value.shape)


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
    if type(value) is np.ndarray and value.dtype.name in DTYPES:
        return Tracer(Storage(value=value))
    if type(value) in (tuple, list):
        return type(value)(map(wrap, value))
    return TracedPart(value) if type(value) is Part else value


def computed(result: Any, operands: Any) -> Any:
    """Return the result of an elementwise op as a tracer, in C order if the operands are."""
    made = wrap(result)
    if type(made) is Tracer and not made._scalar:
        made._storage.c_order = all(
            in_c_order(x) for x in operands if type(x) is Tracer and _type(x).ndim > 1
        )
    return made


def in_c_order(x: Tracer) -> bool:
    """Return True if the elements are adjacent in memory, in the order of the axes."""
    strides = layout(x._storage, x._steps)
    return strides is not None and bool(strides.flags.c_contiguous)


def fresh(node: Variable, *, c_order: bool = False) -> Tracer:
    """Return a new array, which may be changed in place even if it has no dimensions."""
    return Tracer(Storage(node, c_order=c_order or node.ndim < 2))


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


def operand(value: Any) -> Any:
    """Return the operand for a value; a weak scalar stays one, and the op chooses its dtype.

    Tracers compare elements with ``==``, so a Python bool is an ordinary value here.
    """
    if type(value) in (list, tuple) and traces(value):
        return stacked(value)
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
    """Return True if a value contains no traced values, but perhaps arrays that are known."""
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


# Views.


def viewed(
    function: Callable[..., Any], args: Any, kwargs: Any, *, contiguous: bool = False
) -> Any:
    """Call a function that makes views, and return the views.

    Parameters
    ----------
    function : callable
        Of nodes.
    args, kwargs : tuple, dict
        Tracers and other values.
    contiguous : bool
        Whether NumPy makes a copy of an array that is not contiguous, as ``ravel`` does.
    """
    arrays: list[tuple[Tracer, Variable]] = []

    def replaced(value: Any) -> Any:
        if type(value) is Tracer:
            arrays.append((value, stand_in(_type(value), len(arrays))))
            return arrays[-1][1]
        return value_of(value) if type(value) is WeakScalar else mapped(replaced, value)

    def view(node: Any) -> Any:
        if type(node) in (tuple, list):
            return type(node)(map(view, node))
        if not isinstance(node, Variable):
            return wrap(node)
        for x, start in arrays:
            steps = steps_from(start, node)
            if steps is not None:
                return _view(x, steps, contiguous)
        return fresh(node)  # of no array among the arguments

    return view(function(*replaced(args), **replaced(kwargs)))


def _view(x: Tracer, steps: tuple[Step, ...], contiguous: bool = False) -> Tracer:
    """Return a view of an array, or a copy where NumPy makes one."""
    view = Tracer(x._storage, joined(x._steps, steps))
    if x._scalar:
        return fresh(view.node)
    reshaped = contiguous or any(isinstance(step.op, Reshape) for step in steps)
    strided = contiguous or _type(x).ndim > 1 or x._steps or len(steps) > 1
    if not (reshaped and strided):
        return view
    x._storage.by_order = True
    made_view = _is_view(x, steps, contiguous)
    if made_view:
        return view
    value = values_of(x)
    if value is not None:
        for step in steps:
            value = step.of(value)
        return wrap(value if value.base is None else value.copy())  # type: ignore[no-any-return]
    copy = fresh(view.node, c_order=True)
    copy._storage.by_order = True
    if made_view is None:
        copy._storage.unsure.add(x._storage)
        x._storage.unsure.add(copy._storage)
    return copy


def _is_view(x: Tracer, steps: tuple[Step, ...], contiguous: bool) -> bool | None:
    """Return True if NumPy makes a view by these steps, and None if that is not known."""
    strides = layout(x._storage, x._steps)
    if strides is None:
        return None
    if contiguous and not strides.flags.c_contiguous:
        return False
    for step in steps:
        if isinstance(step.op, Reshape) and not is_view(step, strides):
            return False
        strides = step.of(strides)
    return True


# Keys.


def key_of(key: Any) -> Any:
    """Return a key of an array; integers in it may differ from call to call."""
    if type(key) is tuple:
        return tuple(map(key_of, key))
    if type(key) is WeakScalar and isinstance(key, int) and not isinstance(key, bool):
        trace, slot = trace_of(key)
        return trace.node(slot, [])
    if type(key) is Tracer:
        value = values_of(key)
        return key.node if value is None else value.copy()
    if type(key) is slice:
        return slice(key_of(key.start), key_of(key.stop), key_of(key.step))
    if type(key) is list and traces(key):
        return stacked(key)
    return unwrap(key)


def part_of(x: Tracer, key: Any) -> Any:
    """Return what ``x[key]`` is: a scalar, a view, or for an advanced key a copy."""
    if is_known((x, key)):
        value = values_of(x)
        assert value is not None
        part = value[known(key)]
        if isinstance(part, np.generic):
            return part
        if not np.may_share_memory(part, value) and part.size:
            return wrap(part)
    start = stand_in(_type(x))
    parsed = key_of(key)
    steps = steps_from(start, FUNCTIONS["index"](start, parsed))
    if steps is None or _copies(key):
        return wrap(x.node[parsed])
    if _is_element(key, _type(x).ndim):
        return wrap(_node(Tracer(x._storage, joined(x._steps, steps))))
    return _view(x, steps)


def _copies(key: Any) -> bool:
    """Return True if an array without dimensions is an index: then NumPy makes a copy."""
    parts = key if type(key) is tuple else (key,)
    return any(type(k) is Tracer and not k._scalar for k in parts)


def _is_element(key: Any, ndim: int) -> bool:
    """Return True if a basic key selects a scalar: it has an index for each axis, and no more."""
    parts = key if type(key) is tuple else (key,)
    return len(parts) == ndim and all(
        not isinstance(k, slice) and k is not None and k is not Ellipsis for k in parts
    )


# Writing.


def assign(x: Tracer, key: Any, value: Any) -> None:
    """Do what ``x[key] = value`` does, which converts the value to the dtype of the array."""
    if x._scalar:
        raise ArgumentError(
            "the traced function assigns to elements of a scalar",
            {"scalar": x.node},
            "Make an array of one number with np.zeros(()), or np.zeros(1).",
        )
    if is_known((x, key, value)):
        array = values_of(x)
        assert array is not None
        array[known(key)] = known(value)
        x._storage.changed()
        return
    start = stand_in(_type(x))
    parsed = key_of(key)
    steps = steps_from(start, FUNCTIONS["index"](start, parsed))
    if steps is None:
        spec, operands = parse_key(start, parsed)
        part = indexed_shape(spec, start.type.shape, tuple(k.type for k in operands))
        node = without_lead(converted(value, start.dtype), part)
        write(x, SetIndex(spec)(x.node, node, *operands))
        return
    target = Tracer(x._storage, joined(x._steps, steps))
    if type(value) is Tracer and value._storage is x._storage and value._steps == target._steps:
        check_writable(target._steps)
        return  # x[key] += y has changed it already
    write(target, without_lead(converted(value, start.dtype), _type(target).shape))


def without_lead(node: Variable, shape: Shape) -> Variable:
    """Return a value without additional axes of size 1, which assignments may have."""
    extra = node.ndim - len(shape)
    if extra > 0 and set(node.type.shape[:extra]) == {1}:
        return reshape(node, node.type.shape[extra:])  # type: ignore[no-any-return]
    return node


def converted(value: Any, dtype: np.dtype[Any]) -> Variable:
    """Return the node of a value that is assigned to elements of a dtype."""
    node = as_variable(operand(value), like=[dtype])
    return cast(node, dtype)  # type: ignore[no-any-return]


def store(x: Tracer, node: Variable, casting: str = "same_kind", where: Any = True) -> None:
    """Write the result of a ufunc to an array, as its argument ``out``.

    Parameters
    ----------
    x : Tracer
        The array.
    node : Variable
        The result.
    casting : str
        The rule that the conversion to the dtype of the array must keep.
    where : bool, or array of bool
        Which elements to write.

    Raises
    ------
    DTypeError
        If the dtype does not convert by the rule of casting.
    ShapeError
        If the result does not broadcast to the shape of the array.
    """
    dtype = _type(x).dtype
    if not np.can_cast(node.dtype, dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(
            f"a result of {node.dtype} cannot be written to an array of {dtype}, with casting "
            f"{casting!r}",
            {"array": _type(x), "result": node},
            f"Convert the result with .astype({dtype.name!r}), or make the array of {node.dtype}.",
        )
    node = cast(node, dtype)
    if where is not True:
        node = FUNCTIONS["where"](operand(where), node, x.node)
    write(x, node)


def write(x: Tracer, node: Variable) -> None:
    """Make a graph the present elements of an array or view, after broadcasting it."""
    shape = _type(x).shape
    _check_shape(node.type.shape, shape)
    check_writable(x._steps)
    storage = x._storage
    if storage.by_order:
        _current().by_order = True
    wholes = [storage.node]
    for step in x._steps[:-1]:
        wholes.append(step.read(wholes[-1]))
    if not (x._steps and isinstance(x._steps[-1].op, Index)):
        node = node if node.type.shape == shape else broadcast_to(node, shape)
    for step, whole in zip(reversed(x._steps), reversed(wholes), strict=False):
        node = step.written(whole, node)
    storage.store(node)


def _check_shape(value: Shape, shape: Shape) -> None:
    try:
        fits = covers(broadcast_shapes([shape, value]), shape)
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(
            "the traced function writes an array to one of another shape",
            {"value": value, "array": shape},
            "Give the value the shape of the array, or one that broadcasts to it.",
        )


class Trace:
    """What is known of a trace as a whole.

    Parameters
    ----------
    package : str
        The package of the traced function.

    Attributes
    ----------
    by_order : bool
        Whether its writes depend on arguments being in C order.
    """

    def __init__(self, package: str = "") -> None:
        self.package = package
        self.by_order = False


_traces = threading.local()


def _current() -> Trace:
    return running()[-1] if running() else Trace()


def running() -> list[Trace]:
    """Return the traces of this thread, the innermost last."""
    if not hasattr(_traces, "stack"):
        _traces.stack = []
    stack: list[Trace] = _traces.stack
    return stack


# Attributes.

_VIEWS = frozenset(("T", "mT"))
_VIEW_METHODS = frozenset(("reshape", "transpose", "swapaxes", "squeeze", "ravel", "diagonal"))
_SAME = frozenset(("conj", "conjugate"))  # of real numbers, the array itself


def _attribute(x: Tracer, name: str) -> Any:
    if name == "at":
        return TracedParts(x.node.at)
    if name in _VIEWS:
        return viewed(lambda node: getattr(node, name), (x,), {})
    if name in _VIEW_METHODS:
        return lambda *args, **kwargs: viewed(
            lambda node, *a, **k: getattr(node, name)(*a, **k),
            (x, *args),
            kwargs,
            contiguous=name == "ravel",
        )
    if name in _SAME:
        return lambda: x
    if name in _WRITING:
        return lambda *args, **kwargs: _WRITING[name](x, *args, **kwargs)
    value = values_of(x)
    if value is not None and name != "node":
        attribute = getattr(value, name, None)
        if not callable(attribute):
            return _known_attribute(x, value, name)
        return lambda *args, **kwargs: _known_method(x, name, args, kwargs)
    return _traced_attribute(x, name)


def _known_attribute(x: Tracer, value: Array, name: str) -> Any:
    attribute = getattr(value, name)  # raises as for an array
    return wrap(attribute) if isinstance(attribute, np.ndarray) else attribute


def _known_method(x: Tracer, name: str, args: Any, kwargs: Any) -> Any:
    if not is_known((args, kwargs)):
        return _traced_attribute(x, name)(*args, **kwargs)
    result = getattr(values_of(x), name)(*known(args), **known(kwargs))
    x._storage.changed()
    return wrap(result)


def _traced_attribute(x: Tracer, name: str) -> Any:
    try:
        attribute = getattr(x.node, name)
    except AttributeError as error:
        if hasattr(np.ndarray, name):
            raise _no_attribute(x.node, name) from None
        near = get_close_matches(name, dir(np.ndarray), 1, 0.7)
        raise UnsupportedAttributeError(
            f"a traced array has no attribute {name!r}",
            {"array": x.node},
            f"Did you mean {near[0]!r}?" if near else "Use NumPy's functions and attributes.",
        ) from error
    if callable(attribute) and not isinstance(attribute, Variable):
        return lambda *args, **kwargs: _called(x, name, attribute, args, **kwargs)
    return wrap(attribute)


def _called(x: Tracer, name: str, method: Any, args: Any, out: Any = None, **kwargs: Any) -> Any:
    taken = operand if name == "clip" else unwrap
    result = method(*map(taken, args), **{k: taken(v) for k, v in kwargs.items()})
    if name in _COPIES and not x._scalar:
        return fresh(result, c_order=in_c_order(x) or name != "astype")
    return wrap(result) if out is None else into(out, result)


_COPIES = ("astype", "copy", "flatten")


def into(out: Any, result: Any, casting: str = "same_kind", where: Any = True) -> Any:
    """Write a result to the array given as ``out``, and return that."""
    if type(out) is tuple and len(out) == 1:
        (out,) = out
    if type(out) is not Tracer or out._scalar:
        raise ArgumentError(
            "the traced function writes a traced result to an array that the trace cannot follow",
            {"out": kind_of(out), "result": result},
            MADE_HERE,
        )
    store(out, result, casting, where)
    return out


MADE_HERE = (
    "Make the array in the function with np.zeros, np.empty or another function of numpy by that "
    "name (not with `from numpy import zeros`), or pass it as an argument."
)


def _fill(x: Tracer, value: Any) -> None:
    assign(x, ..., value)


def _sort(x: Tracer, axis: int = -1, **kwargs: Any) -> None:
    assign(x, ..., np.sort(x, axis=axis, **kwargs))


def _put(x: Tracer, indices: Any, values: Any, mode: str = "raise") -> None:
    CALLS["function"](np.put, (x, indices, values, mode), {})


_WRITING: dict[str, Callable[..., Any]] = {"fill": _fill, "sort": _sort, "put": _put}


class TracedParts:
    """``x.at`` of a traced array."""

    __slots__ = ("_at",)

    def __init__(self, at: Any) -> None:
        self._at = at

    def __getitem__(self, key: Any) -> TracedPart:
        return TracedPart(self._at[key_of(key)])


class TracedPart:
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
