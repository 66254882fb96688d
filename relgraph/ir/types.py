"""Types of values: a dtype and a shape whose dimensions are sizes, names, or unknown.

A dimension is an ``int``, a name (``"n"``: equal names are equal sizes within one call) or ``None``
(unknown).  Only a dimension that is statically 1 broadcasts.  An unknown one counts as equal to any
other, and is checked when the graph runs.  Types are interned: equal types are one object, so they
compare by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    ImmutableGraphError,
    ShapeError,
    count_of,
    kind_of,
)
from relgraph.ir import forks

Dim = int | str | None
Shape = tuple[Dim, ...]

DTYPES: tuple[str, ...] = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64",
)  # fmt: skip

LAYOUTS: tuple[str, ...] = ("dense", "csr", "csc")

# NumPy computes the name of a dtype on every access.
NAME_OF: dict[np.dtype[Any], str] = {np.dtype(name): name for name in DTYPES}
_NATIVE: dict[Any, np.dtype[Any]] = {dtype: dtype for dtype in NAME_OF}
_CLASSES = frozenset(map(type, NAME_OF))  # NumPy has a class for each kind of dtype

_lock = forks.lock()


class Type:
    """The static description of a value."""

    __slots__ = ("__weakref__",)

    layout: str = "dense"

    def __setattr__(self, name: str, value: object) -> None:
        raise ImmutableGraphError(
            f"a type cannot be changed: {name}",
            {"type": self},
            "Make another one: type.with_dtype(...), type.with_shape(...) or rg.TensorType(...).",
        )

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    accepts: Callable[[object], str | None]  # why a value is not of this type; None if it is


class TensorType(Type):
    """The type of an array: its dtype and its shape.

    Parameters
    ----------
    dtype : dtype-like
        One of bool, the signed and unsigned integers, float32 and float64.
    shape : iterable of int, str or None
        One entry a dimension: a size, a symbolic name, or None where it is unknown.
    layout : {"dense", "csr", "csc"}
        How the value is stored: as an array, or as a matrix of scipy.sparse in that format.

    Raises
    ------
    DTypeError
        For a dtype that relgraph does not compute with.
    DomainError
        For a negative size, a name that is not an identifier, or a layout that does not exist.
    ShapeError
        For a sparse layout of anything but a matrix.
    """

    __slots__ = ("dtype", "layout", "ndim", "shape")
    _table: ClassVar[WeakValueDictionary[tuple[Any, ...], TensorType]] = WeakValueDictionary()

    dtype: np.dtype[Any]
    shape: Shape
    ndim: int

    def __new__(
        cls, dtype: npt.DTypeLike, shape: Iterable[Dim] = (), layout: str = "dense"
    ) -> TensorType:
        resolved = check_dtype(dtype)
        dims = tuple(map(check_dim, entries_of(shape)))
        key: tuple[Any, ...] = (resolved, dims)
        if layout != "dense":
            key = (*key, _check_layout(layout, len(dims)))
        type_ = cls._table.get(key)
        if type_ is None:
            new = object.__new__(cls)
            object.__setattr__(new, "dtype", resolved)
            object.__setattr__(new, "shape", dims)
            object.__setattr__(new, "ndim", len(dims))
            object.__setattr__(new, "layout", layout)
            with _lock:
                type_ = cls._table.setdefault(key, new)
        return type_

    def __reduce__(self) -> tuple[object, ...]:
        if self.layout == "dense":
            return TensorType, (self.dtype.name, self.shape)
        return TensorType, (self.dtype.name, self.shape, self.layout)

    def __repr__(self) -> str:
        text = f"{self.dtype.name}[{', '.join(map(dim_text, self.shape))}]"
        return text if self.layout == "dense" else f"{text} {self.layout}"

    def with_shape(self, shape: Iterable[Dim]) -> TensorType:
        """Return the type of the same dtype and layout with another shape.

        Parameters
        ----------
        shape : iterable of int, str or None
            The other shape.

        Returns
        -------
        TensorType
            Of this dtype.
        """
        return TensorType(self.dtype, shape, self.layout)

    def with_dtype(self, dtype: npt.DTypeLike) -> TensorType:
        """Return the type of the same shape and layout with another dtype.

        Parameters
        ----------
        dtype : dtype-like
            The other dtype.

        Returns
        -------
        TensorType
            Of this shape.
        """
        return TensorType(dtype, self.shape, self.layout)

    def accepts(self, value: object) -> str | None:
        """Return why an array is not of this type (dtype, rank or a static size), or None if it is.

        Parameters
        ----------
        value : object
            The value to test.

        Returns
        -------
        str or None
            The reason.
        """
        if self.layout != "dense":
            if getattr(value, "format", None) != self.layout:
                return f"it is {kind_of(value)}, not a {self.layout} matrix of scipy.sparse"
        elif not isinstance(value, np.ndarray | np.generic):
            return f"it is {kind_of(value)}, not an array"
        array: Any = value
        if array.dtype != self.dtype:
            return f"its dtype is {array.dtype}, not {self.dtype}"
        if array.ndim != self.ndim:
            return f"it has {count_of(array.ndim, 'dimension')}, not {self.ndim}"
        for axis, (size, dim) in enumerate(zip(array.shape, self.shape, strict=True)):
            if isinstance(dim, int) and size != dim:
                return f"its size along axis {axis} is {size}, not {dim}"
        return None

    def narrows(self, other: Type) -> bool:
        """Return True if this type has the dtype and layout of ``other``, and its shape or a more
        exact one.

        Parameters
        ----------
        other : Type
            The type of the replaced value.

        Returns
        -------
        bool
            Whether a value of this type can replace it.
        """
        if self is other:
            return True
        return (
            isinstance(other, TensorType)
            and self.dtype == other.dtype
            and self.layout == other.layout
            and self.ndim == other.ndim
            and all(
                size == other_size or other_size is None
                for size, other_size in zip(self.shape, other.shape, strict=True)
            )
        )


class TupleType(Type):
    """The type of an op with several results; ``getitem`` picks one of them."""

    __slots__ = ("items",)
    _table: ClassVar[WeakValueDictionary[tuple[TensorType, ...], TupleType]] = WeakValueDictionary()

    items: tuple[TensorType, ...]

    def __new__(cls, items: Iterable[TensorType]) -> TupleType:
        key = tuple(items)
        with _lock:
            type_ = cls._table.get(key)
            if type_ is None:
                type_ = object.__new__(cls)
                object.__setattr__(type_, "items", key)
                cls._table[key] = type_
        return type_

    def __reduce__(self) -> tuple[object, ...]:
        return TupleType, (self.items,)

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.items))})"

    def accepts(self, value: object) -> str | None:
        """Return why a tuple of arrays is not of this type, or None if it is."""
        if not isinstance(value, tuple) or len(value) != len(self.items):
            return f"it is not a tuple of {count_of(len(self.items), 'array')}"
        for position, (item, part) in enumerate(zip(self.items, value, strict=True)):
            why = item.accepts(part)
            if why is not None:
                return f"in result {position}, {why}"
        return None


def check_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return the native NumPy dtype, or raise DTypeError when relgraph does not compute with it."""
    if dtype.__class__ in _CLASSES:  # most callers have the object at hand
        native = _NATIVE.get(dtype)
        if native is not None:
            return native
    try:
        resolved = np.dtype(dtype)
        native = _NATIVE.get(resolved.newbyteorder("="))
    except TypeError:
        native = None
    if native is None:
        raise DTypeError(
            f"{dtype!r} is not a dtype that relgraph computes with",
            {"supported": ", ".join(DTYPES)},
            "Use one of these dtypes, or convert the array with .astype(...).",
        )
    return native  # NumPy's own object: equal dtypes are one object


def _check_layout(layout: object, ndim: int) -> str:
    """Return a sparse layout, or raise when there is none of that name or that rank."""
    if layout not in LAYOUTS:
        raise DomainError(
            f"there is no layout {layout!r}",
            {"layouts": ", ".join(LAYOUTS)},
            "Leave it out for a dense array.",
        )
    if ndim != 2:
        raise ShapeError(
            f"a sparse layout is of a matrix, not of {count_of(ndim, 'dimension')}",
            {"layout": layout},
            'Give it two sizes, such as shape=("m", "n").',
        )
    return str(layout)


def entries_of(shape: Iterable[Dim]) -> tuple[Any, ...]:
    """Return the entries of a shape, or raise ArgumentError for other objects."""
    if not isinstance(shape, Iterable):
        raise ArgumentError(
            f"a shape is a tuple of sizes, not {shape!r:.60}",
            fix='Write shapes like (3, "n", None), and () for no dimensions.',
        )
    return tuple(shape)


def check_dim(dim: object) -> Dim:
    """Return a dimension as int, str or None, or raise when it is none of them."""
    if dim is None:
        return None
    if isinstance(dim, str):
        if dim.isidentifier():
            return dim
        raise DomainError(
            f"the dimension name {dim!r} is not an identifier",
            fix='Name symbolic dimensions like variables, for instance shape=("n", "k").',
        )
    if isinstance(dim, int | np.integer) and not isinstance(dim, bool):
        if dim >= 0:
            return int(dim)
        raise DomainError(
            f"a dimension cannot be negative: {dim}", fix="Use None for an unknown size."
        )
    raise ArgumentError(
        f"a dimension is an int, a name or None, not {type(dim).__name__}: {dim!r}",
        fix='Write shapes like (3, "n", None).',
    )


def dim_text(dim: Dim) -> str:
    """Write a dimension: its size, its name, or ``?`` if it is unknown."""
    return "?" if dim is None else str(dim)


def unify_dims(a: Dim, b: Dim) -> Dim:
    """Return the dimension that is both ``a`` and ``b`` (no broadcasting).

    An unknown dimension equals any other.  Two names, two sizes, or a name and a size differ, which
    raises ShapeError.
    """
    if a == b or b is None:
        return a
    if a is None:
        return b
    raise ShapeError(
        f"the sizes {dim_text(a)} and {dim_text(b)} differ",
        fix="Sizes that are equal are declared by one number, or by one name.",
    )


def broadcast_dims(a: Dim, b: Dim) -> Dim:
    """Return the dimension that ``a`` and ``b`` broadcast to; only a static 1 stretches."""
    if a == 1:
        return b
    if b == 1:
        return a
    return unify_dims(a, b)


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """Broadcast shapes by NumPy's rule, where only a static 1 stretches.

    If two sizes differ, ShapeError names the axis.
    """
    ndim = max(map(len, shapes), default=0)
    result: list[Dim] = [1] * ndim
    for shape in shapes:
        offset = ndim - len(shape)
        for axis, dim in enumerate(shape):
            try:
                result[offset + axis] = broadcast_dims(result[offset + axis], dim)
            except ShapeError as error:
                raise ShapeError(
                    f"shapes do not broadcast: {error.what} along axis {offset + axis - ndim}",
                    fix="Only a dimension that is statically 1 is stretched.",
                ) from None
    return tuple(result)


def covers(shape: Shape, operand: Shape) -> bool:
    """Return True if an operand already has the shape of its broadcast result.

    Unknown dimensions count as equal (they are checked when the graph runs).
    """
    return len(shape) == len(operand) and all(
        size == operand_size or (operand_size != 1 and (size is None or operand_size is None))
        for size, operand_size in zip(shape, operand, strict=True)
    )
