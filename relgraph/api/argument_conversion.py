"""Arguments of compiled functions: a quick test for those that need no conversion, and the
conversion of others.

Most calls pass arrays of the right dtypes and sizes, and for small arrays the checks of a general
loop would take longer than the computation.  The general path converts all other arguments, and
raises errors that explain what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from relgraph.backends.base import Array, Pair, Wanted
from relgraph.errors import (
    ArgumentError,
    DTypeError,
    NumberRangeError,
    RelgraphError,
    ShapeError,
    count_of,
    kind_of,
)
from relgraph.ir.infix import brief
from relgraph.ir.node import Input, Variable
from relgraph.ir.operators import Operators
from relgraph.ir.types import DTYPES, NAME_OF

_RANK = {"b": 0, "u": 1, "i": 1, "f": 2}  # the order in which Python's numbers widen


def fits(wanted: Wanted, equal: Iterable[Pair]) -> Callable[..., bool]:
    """Return a function that returns True if arrays need no conversion and their sizes agree.

    Parameters
    ----------
    wanted : sequence of (dtype, int)
        The dtype and rank of each input; None for a dtype that no array has.
    equal : iterable of (source, source)
        Which sizes must be equal: each an input and its axis, or an int.

    Returns
    -------
    callable
        Takes any arguments, and returns True if there is one for each input and all are aligned,
        C-contiguous arrays of these dtypes, ranks and sizes.
    """
    return _compiled(tuple(wanted), tuple(equal))


@lru_cache(maxsize=1024)
def _compiled(
    wanted: tuple[tuple[np.dtype[Any] | None, int], ...], equal: tuple[Pair, ...]
) -> Callable[..., bool]:
    names = ", ".join(f"x{i}" for i in range(len(wanted)))
    lines = ["def fits(*args):", f"    if len(args) != {len(wanted)}:", "        return False"]
    lines += [f"    ({names},) = args"] if wanted else []
    namespace: dict[str, Any] = {"ndarray": np.ndarray}
    for i, (dtype, ndim) in enumerate(wanted):
        namespace[f"dtype{i}"] = dtype
        tests = [
            f"type(x{i}) is ndarray",
            f"x{i}.dtype is dtype{i}",
            f"x{i}.flags.c_contiguous",
            f"x{i}.flags.aligned",
        ]
        lines += [f"    if not ({' and '.join(tests)}):", "        return False"]
        lines += [f"    s{i} = x{i}.shape", f"    if len(s{i}) != {ndim}:", "        return False"]
    for pair in equal:
        first, second = (x if isinstance(x, int) else f"s{x[0]}[{x[1]}]" for x in pair)
        lines += [f"    if {first} != {second}:", "        return False"]
    lines.append("    return True")
    exec("\n".join(lines), namespace)
    fits: Callable[..., bool] = namespace["fits"]
    return fits


def bound(
    names: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Any, ...]:
    """Return the arguments of a call in the order of the inputs.

    Parameters
    ----------
    names : sequence of str
        The names of the inputs.
    args, kwargs
        The arguments of the call.
    defaults : mapping of str
        Values of inputs that a call may leave out.

    Returns
    -------
    tuple
        One value for each name.

    Raises
    ------
    ArgumentError
        For too many arguments, and for unknown, repeated and missing names.
    """
    takes = {"takes": f"({', '.join(names)})"}
    if len(args) > len(names):
        raise ArgumentError(
            f"{count_of(len(args), 'positional argument')} for {count_of(len(names), 'input')}",
            takes,
            "Pass one array for each input, by position or by name.",
        )
    values = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in values:
            raise ArgumentError(
                f"the argument {name!r} is given twice, by position and by name",
                takes,
                "Pass it once.",
            )
        if name not in names:
            near = get_close_matches(name, names, 1)
            raise ArgumentError(
                f"no input is called {name!r}",
                takes,
                f"Did you mean {near[0]!r}?" if near else "Use one of these names.",
            )
        values[name] = value
    missing = [name for name in names if name not in values and name not in defaults]
    if missing:
        raise ArgumentError(
            f"no value for the input{'s' if len(missing) > 1 else ''} "
            f"{', '.join(map(repr, missing))}",
            takes,
            "Pass one array for each input, by position or by name.",
        )
    return tuple(values[name] if name in values else defaults[name] for name in names)


def as_sparse(wanted: Input, value: Any) -> Any:
    """Return the argument for a sparse input, in its format and dtype.

    Parameters
    ----------
    wanted : Input
        The input, of the layout csr or csc.
    value : matrix of scipy.sparse
        In any format, of a dtype that converts safely.

    Returns
    -------
    matrix of scipy.sparse
        The same object if it needs no conversion.

    Raises
    ------
    ArgumentError
        For a value that is not a matrix of scipy.sparse.
    DTypeError, ShapeError
        For a dtype or rank that does not fit.
    """
    layout, dtype = wanted.type.layout, wanted.dtype
    if not (hasattr(value, "asformat") and hasattr(value, "toarray")):
        raise ArgumentError(
            f"the input {wanted.name!r} is sparse, and the value given is not",
            {"declared": wanted.type, "given": type(value).__name__},
            f"Pass scipy.sparse.{layout}_array(x), or declare the input without layout=.",
        )
    if value.ndim != 2:
        raise ShapeError(
            f"the input {wanted.name!r} has 2 dimensions, and the value has "
            f"{count_of(value.ndim, 'dimension')}",
            {"declared": wanted.type},
            "Pass a matrix.",
        )
    if value.dtype != dtype:
        if not np.can_cast(value.dtype, dtype, "safe"):
            raise DTypeError(
                f"the input {wanted.name!r} is {dtype}, and the matrix given is {value.dtype}",
                {"declared": wanted.type, "given": f"{value.dtype}, shape {value.shape}"},
                f"Convert it with .astype({dtype.name!r}).",
            )
        value = value.astype(dtype)
    return value.asformat(layout)


def array_of(value: Any) -> Array | None:
    """Return an array of another library as a NumPy array, without a copy if possible.

    Parameters
    ----------
    value : object
        Such as a tensor of torch or JAX, or a column of pandas.

    Returns
    -------
    array or None
        None for objects without ``__array__`` and ``__dlpack__``, and for graphs.
    """
    if isinstance(value, Operators):
        return None
    if hasattr(type(value), "__array__"):
        return np.asarray(value)
    if hasattr(type(value), "__dlpack__"):
        return np.from_dlpack(value)
    return None


def is_lazy(value: Any) -> bool:
    """Return True for a Dask array, or an array of xarray's that holds one.

    Parameters
    ----------
    value : object
        An argument.

    Returns
    -------
    bool
        Whether its elements are not computed yet.
    """
    graph = getattr(type(value), "__dask_graph__", None)
    return graph is not None and bool(getattr(value, "chunks", None)) and hasattr(value, "dtype")


def as_array(wanted: Input, value: Any) -> Array:
    """Return an argument in the dtype of its input if NumPy calls that conversion safe.

    Parameters
    ----------
    wanted : Input
        A dense input.
    value : array-like
        An array, or Python numbers, which are weak as in NumPy.

    Returns
    -------
    array
        Of the dtype of the input, in any layout.

    Raises
    ------
    ArgumentError
        For a value that is not an array.
    DTypeError
        For an array of a dtype that does not convert safely.
    NumberRangeError
        For a number that does not fit.
    """
    dtype = wanted.dtype
    weak = not isinstance(value, np.ndarray | np.generic) and isinstance(
        value, bool | int | float | list | tuple
    )
    if hasattr(type(value), "__relgraph_value__"):  # an array that is known while tracing
        elements = value.__relgraph_value__()
        value = value if elements is None else elements
    graph = value if isinstance(value, Variable) else getattr(value, "node", None)
    if isinstance(graph, Variable):
        raise ArgumentError(
            f"the value for the input {wanted.name!r} is a graph, not an array",
            {"declared": wanted.type, "given": brief(graph, 24)},
            "A compiled function takes arrays: build one graph, and compile it as a whole.",
        )
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"the input {wanted.name!r} is a masked array, and graphs have no masks",
            fix="Fill it first: array.filled(value).",
        )
    try:
        array = array_of(value)
        if array is None:
            array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(
            f"the value for the input {wanted.name!r} is not an array",
            {"declared": wanted.type, "numpy": error},
            "Give nested lists equal lengths, or pass an array.",
        ) from None
    if array.dtype == dtype or np.can_cast(array.dtype, dtype, "safe"):
        return array.astype(dtype, copy=False)
    kind = array.dtype.kind
    if weak and (
        array.size == 0
        or _RANK.get(kind, 3) <= _RANK[dtype.kind]
        or (dtype.kind != "b" and kind == "O" and all(isinstance(x, int) for x in array.flat))
    ):
        try:
            return np.asarray(value, dtype=dtype)
        except OverflowError as error:
            raise NumberRangeError(
                f"a value for the input {wanted.name!r} does not fit {dtype}",
                {"numpy": error},
                "Give a smaller value, or declare the input with a wider dtype.",
            ) from None
    raise _unfit(wanted, value, array)


def _unfit(wanted: Input, value: Any, array: Array) -> RelgraphError:
    """Return the error for a value that does not convert to the input's dtype."""
    name, dtype, kind = wanted.name, wanted.dtype, array.dtype.kind
    given = f"{array.dtype}, shape {array.shape}"
    if not isinstance(value, np.ndarray) and kind in "OSU":
        return ArgumentError(
            f"the value for the input {name!r} is {kind_of(value)}, not an array",
            {"declared": wanted.type, "given": f"{value!r:.60}"},
            'Declare the input with layout="csr" or "csc", or pass its .toarray().'
            if hasattr(value, "toarray")
            else "Pass an array, a number, or a list of numbers.",
        )
    if kind in "OSU":
        what = "Python objects" if kind == "O" else "strings"
        return ArgumentError(
            f"the input {name!r} is {dtype}, and the array given is of {what}",
            {"declared": wanted.type, "given": given},
            f"Convert it with .astype({dtype.name!r}) if all of its elements are numbers.",
        )
    return DTypeError(
        f"the input {name!r} is {dtype}, and the array given is {array.dtype}",
        {"declared": wanted.type, "given": given},
        f"Convert it with .astype({dtype.name!r}), or declare the input as {array.dtype.name}."
        if array.dtype in NAME_OF
        else f"Convert it to a dtype that graphs compute with: {', '.join(DTYPES)}.",
    )
