"""The operators and methods that nodes, patterns and tracers share.

Each method looks its function up by name in :data:`FUNCTIONS`, which
:mod:`relgraph.numpy.operators` fills once.  So ``x + y`` means the same for all three kinds of
operand, and this layer does not depend on ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from relgraph.errors import ArgumentError, ImmutableGraphError

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _binary(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    if swap:

        def method(self: Any, other: Any) -> Any:
            return FUNCTIONS[name](other, self)
    else:

        def method(self: Any, other: Any) -> Any:
            return FUNCTIONS[name](self, other)

    method.__name__ = method.__qualname__ = name
    return method


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return FUNCTIONS[name](self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    return method


class Operators:
    """NumPy's operators and array methods, except ``==`` and ``!=``, which compare identity."""

    __slots__ = ()

    __add__, __radd__ = _binary("add"), _binary("add", swap=True)
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", swap=True)
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", swap=True)
    __truediv__, __rtruediv__ = _binary("true_divide"), _binary("true_divide", swap=True)
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _binary("floor_divide", swap=True)
    __mod__, __rmod__ = _binary("remainder"), _binary("remainder", swap=True)
    __pow__, __rpow__ = _binary("power"), _binary("power", swap=True)
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", swap=True)
    __and__, __rand__ = _binary("bitwise_and"), _binary("bitwise_and", swap=True)
    __or__, __ror__ = _binary("bitwise_or"), _binary("bitwise_or", swap=True)
    __xor__, __rxor__ = _binary("bitwise_xor"), _binary("bitwise_xor", swap=True)
    __lshift__, __rlshift__ = _binary("left_shift"), _binary("left_shift", swap=True)
    __rshift__, __rrshift__ = _binary("right_shift"), _binary("right_shift", swap=True)
    __divmod__, __rdivmod__ = _binary("divmod"), _binary("divmod", swap=True)
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __neg__, __pos__, __abs__ = _method("negative"), _method("positive"), _method("absolute")
    __invert__ = _method("invert")
    __round__ = _method("round")
    __getitem__ = _method("index")

    T = property(_method("transpose"))
    mT = property(_method("matrix_transpose"))
    shape = property(_method("shape"))
    size = property(_method("size"))
    at = property(_method("at"))

    sum, prod, mean = _method("sum"), _method("prod"), _method("mean")
    max, min = _method("max"), _method("min")
    any, all = _method("any"), _method("all")
    argmax, argmin = _method("argmax"), _method("argmin")
    argsort = _method("argsort")
    std, var = _method("std"), _method("var")
    cumsum, cumprod = _method("cumsum"), _method("cumprod")
    reshape, transpose, squeeze = _method("reshape"), _method("transpose"), _method("squeeze")
    ravel, flatten = _method("ravel"), _method("ravel")
    swapaxes, diagonal, trace = _method("swapaxes"), _method("diagonal"), _method("trace")
    astype, dot, clip, round = _method("cast"), _method("dot"), _method("clip"), _method("round")
    copy = conj = conjugate = _method("copy")

    __array_priority__ = 1000.0

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return FUNCTIONS["__array_ufunc__"](ufunc, method, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return FUNCTIONS["__array_function__"](func, args, kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise FUNCTIONS["__array__"](self)

    def __len__(self) -> int:
        raise ArgumentError("a graph has no len()", fix="Write x.shape[0], which is a graph.")

    def __format__(self, spec: str) -> str:
        if spec:
            raise ArgumentError(
                f"a graph has no value to format as {spec!r}",
                {"graph": self},
                "Format what rg.evaluate(graph) or a compiled function returns.",
            )
        return str(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ImmutableGraphError(
            "a graph cannot be changed: its elements cannot be assigned",
            {"graph": self},
            "Use x.at[key].set(value), which returns a new graph.",
        )

    def __bool__(self) -> bool:
        raise ArgumentError(
            "the truth of a graph is not known before it runs",
            {"graph": self},
            "Use rg.where(condition, a, b) for a choice, rg.equal(a, b) to compare elements, and "
            "'is' to ask whether two nodes are the same.",
        )

    def __float__(self) -> float:
        return float(self.__array__())

    def __int__(self) -> int:
        return int(self.__array__())

    def __index__(self) -> int:
        return int(self.__array__())

    def __iter__(self) -> Iterator[Any]:
        return iter(FUNCTIONS["__iter__"](self))
