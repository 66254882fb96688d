"""Tracing: run a NumPy function once on tracers and compile the graph it builds.

A tracer stands for an array.  It takes NumPy's functions, ufuncs and full set of operators, ``==``
and ``!=`` included, so that ordinary NumPy code traces; the graph itself keeps ``==`` for identity.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from relgraph.api.function import Function, function
from relgraph.errors import ArgumentError, DTypeError
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Input, Variable, as_variable, make_input
from relgraph.ir.operators import FUNCTIONS, Operators
from relgraph.ir.types import DTYPES, TensorType

_STATIC = (str, bytes, type(None), type, np.dtype)


class Tracer(Operators):
    """An array that is being traced.

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
        if name in _OWN or (name.startswith("__") and name.endswith("__")):
            return object.__getattribute__(self, name)
        found = getattr(self.node, name)
        if callable(found) and not isinstance(found, Variable):
            return lambda *args, **kwargs: wrap(found(*unwrap(args), **unwrap(kwargs)))
        return wrap(found)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        function = FUNCTIONS["__array_ufunc__"]
        return wrap(function(ufunc, method, unwrap(args), unwrap(kwargs)))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return wrap(FUNCTIONS["__array_function__"](func, unwrap(args), unwrap(kwargs)))

    def __eq__(self, other: object) -> Any:
        return wrap(FUNCTIONS["equal"](self.node, unwrap(other)))

    def __ne__(self, other: object) -> Any:
        return wrap(FUNCTIONS["not_equal"](self.node, unwrap(other)))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ArgumentError(
            "the traced function asks for the truth of an array, which is not known while tracing",
            {"array": self.node},
            "Use np.where(condition, a, b) instead of if, and np.logical_and instead of and.",
        )

    def __float__(self) -> float:
        raise ArgumentError(
            "the traced function asks for the value of an array, which is not known while tracing",
            {"array": self.node},
            "Use NumPy's functions, np.exp instead of math.exp; sizes come from x.shape.",
        )

    def __int__(self) -> int:
        return int(self.__float__())

    def __index__(self) -> int:
        return int(self.__float__())

    def __repr__(self) -> str:
        return f"Tracer({self.node!r})"


_OWN = frozenset(("node",))


def _lifted(name: str) -> Callable[..., Any]:
    method = getattr(Operators, name)

    def lifted(self: Tracer, *args: Any) -> Any:
        return wrap(method(self.node, *unwrap(args)))

    lifted.__name__ = name
    return lifted


for _name in dir(Operators):
    if (
        _name.startswith("__")
        and callable(getattr(Operators, _name))
        and _name not in vars(Tracer)
        and _name not in dir(object)
        and _name not in ("__array__", "__float__", "__int__", "__index__")
    ) or _name in ("__lt__", "__le__", "__gt__", "__ge__"):
        setattr(Tracer, _name, _lifted(_name))


def wrap(value: Any) -> Any:
    """Return nodes as tracers, inside tuples and lists too."""
    if isinstance(value, Variable):
        return Tracer(value)
    if type(value) in (tuple, list):
        return type(value)(map(wrap, value))
    return value


def unwrap(value: Any) -> Any:
    """Return tracers as nodes, inside tuples, lists, dicts and slices too."""
    if type(value) is Tracer:
        return value.node
    if type(value) in (tuple, list):
        return type(value)(map(unwrap, value))
    if type(value) is dict:
        return {k: unwrap(v) for k, v in value.items()}
    if type(value) is slice:
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    return value


class Jit:
    """A NumPy function that is traced and compiled at its first call with each signature.

    Attributes
    ----------
    mode, target
        What :func:`relgraph.function` is called with.
    """

    def __init__(self, function: Callable[..., Any], mode: Any, target: str) -> None:
        self._function = function
        self.mode = mode
        self.target = target
        self._compiled: dict[Any, tuple[Function, Callable[[list[Any]], Any]]] = {}
        self._lock = threading.Lock()
        self.__name__ = getattr(function, "__name__", "function")
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays: list[Any] = []
        key = _signature(args, kwargs, arrays)
        found = self._compiled.get(key)
        if found is None:
            with self._lock:
                found = self._compiled.get(key) or self._compile(args, kwargs)
                self._compiled[key] = found
        function, pack = found
        return pack(function(*arrays))

    def graph(self, *args: Any, **kwargs: Any) -> FunctionGraph:
        """Return the graph that the function builds for these arguments, as traced.

        Parameters
        ----------
        *args, **kwargs
            Arrays, numbers and static values, as in a call.
        """
        return self._trace(args, kwargs)[0]

    def _trace(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[FunctionGraph, Callable[[list[Any]], Any]]:
        inputs: list[Input] = []
        traced_args = [_traced(x, f"a{i}", inputs) for i, x in enumerate(args)]
        traced_kwargs = {k: _traced(x, k, inputs) for k, x in kwargs.items()}
        result = self._function(*traced_args, **traced_kwargs)
        outputs: list[Variable] = []
        pack = _packer(result, outputs, self.__name__)
        return FunctionGraph(inputs, outputs), pack

    def _compile(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Function, Callable[[list[Any]], Any]]:
        graph, pack = self._trace(args, kwargs)
        made = function(list(graph.inputs), list(graph.outputs), mode=self.mode, target=self.target)
        return made, pack

    def __repr__(self) -> str:
        return f"<jit {self.__name__}, {len(self._compiled)} signatures compiled>"


def jit(
    function: Callable[..., Any] | None = None, *, mode: Any = "fast_run", target: str = "cpu"
) -> Any:
    """Trace a NumPy function, rewrite its graph and compile it.

    Parameters
    ----------
    function : callable
        Written with NumPy's functions and operators.  It is run once for each combination of
        dtypes and shapes; its Python control flow must not depend on values of arrays.
    mode : str or Query
        Which rewrites to run.
    target : {"cpu", "numpy"}
        Where to run.

    Returns
    -------
    Jit
        Takes arrays and numbers; strings and None are static and part of the signature.

    Raises
    ------
    ArgumentError
        When the function asks for the truth of an array, or returns something that is no array.
    DTypeError
        For an argument of a dtype that relgraph does not compute with.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> g = rg.jit(lambda x, mu: np.sum((x - mu) ** 2))
    >>> float(g(np.array([1.0, 2.0, 4.0]), 1.0))
    10.0
    """
    if function is None:
        return lambda f: Jit(f, mode, target)
    if not callable(function):
        raise ArgumentError(f"jit takes a function, not {function!r}")
    return Jit(function, mode, target)


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic | bool | int | float)


def _signature(args: tuple[Any, ...], kwargs: dict[str, Any], arrays: list[Any]) -> Any:
    parts: list[Any] = []
    for name, x in [*enumerate(args), *kwargs.items()]:
        if _is_array(x):
            array = np.asarray(x)
            arrays.append(array)
            parts.append((name, array.dtype.str, array.shape))
        elif isinstance(x, list | tuple) and all(map(_is_array, x)) and x:
            packed: list[Any] = []
            inner = _signature(tuple(x), {}, packed)
            arrays.extend(packed)
            parts.append((name, type(x), inner))
        elif isinstance(x, _STATIC):
            parts.append((name, x))
        else:
            raise ArgumentError(
                f"argument {name!r} is a {type(x).__name__}, which cannot be traced",
                {"value": x},
                "Pass arrays, numbers, lists or tuples of them, strings or None.",
            )
    return tuple(parts)


def _traced(x: Any, name: str, inputs: list[Input]) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(_traced(y, f"{name}_{i}", inputs) for i, y in enumerate(x))
    if not _is_array(x):
        return x
    array = np.asarray(x)
    if array.dtype.name not in DTYPES:
        raise DTypeError(
            f"argument {name!r} has the dtype {array.dtype}, which relgraph does not compute with",
            {"supported": ", ".join(DTYPES)},
            "Convert it with .astype(...).",
        )
    made = make_input(name, TensorType(array.dtype, array.shape))
    inputs.append(made)
    return Tracer(made)


def _packer(result: Any, outputs: list[Variable], name: str) -> Callable[[list[Any]], Any]:
    """Collect the outputs of a traced function, and return how to give its results back."""
    if isinstance(result, dict):
        keys = list(result)
        parts = [_packer(result[k], outputs, name) for k in keys]
        return lambda values: {k: p(values) for k, p in zip(keys, parts, strict=True)}
    if isinstance(result, list | tuple):
        items = [_packer(x, outputs, name) for x in result]
        kind = type(result) if type(result) in (list, tuple) else tuple
        return lambda values: kind([p(values) for p in items])
    value = unwrap(result)
    if not isinstance(value, Variable):
        if not _is_array(value):
            raise ArgumentError(
                f"{name} returned a {type(value).__name__}, which is no array: {value!r}",
                fix="Return arrays, or tuples, lists or dicts of them.",
            )
        value = as_variable(value)
    place = len(outputs)
    outputs.append(value)
    return lambda values: values[place]
