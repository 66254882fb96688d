"""Shared variables: leaves of graphs whose values are held outside the graph, between calls."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import count
from typing import Any

import numpy as np

from relgraph.api.argument_conversion import array_of, as_array
from relgraph.backends.base import Array
from relgraph.errors import ArgumentError, ShapeError, StateLostError, checks_arguments
from relgraph.ir import forks
from relgraph.ir.facts import check_declared
from relgraph.ir.node import Input, Variable, digest_of, leaf
from relgraph.ir.types import Dim, TensorType

_numbers = count()
_ALONE = 2  # references that sys.getrefcount counts to an array that only a local variable holds


class Cell:
    """The mutable cell in which a shared variable keeps its array.

    A call that updates the variable holds the lock.  While the call writes over the array itself,
    the cell is empty, and readers wait for the lock.
    """

    __slots__ = ("array", "lock", "number")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.lock = forks.lock()
        # Calls acquire locks in the order of these numbers, which prevents a deadlock.
        self.number = next(_numbers)

    def read(self, name: str) -> Any:
        """Return the array; wait for a call that is writing over it."""
        array = self.array
        if array is None:
            with self.lock:
                array = self.array
            if array is None:
                raise StateLostError(
                    f"the value of the shared variable {name!r} is lost",
                    {"cause": "a call that wrote over its memory did not finish"},
                    "Set it again: set_value(array).",
                )
        return array

    def take(self, name: str) -> tuple[Any, bool]:
        """Return an array that nothing else holds, and whether it is the stored one.

        If it is, the cell is empty until the caller stores an array.  The caller holds the lock.
        """
        array = self.read(name)
        if not isinstance(array, np.ndarray):  # on a GPU
            return array, False
        self.array = None
        if sys.getrefcount(array) <= _ALONE and array.base is None and array.flags.writeable:
            return array, True
        self.array = array
        return array.copy(), False


class Shared(Input):
    """An input whose value is held outside the graph and outlives calls.

    :func:`relgraph.shared` makes it.  A compiled function reads the value at each call, and its
    ``updates`` replace it.  Two shared variables are never one node, even of equal name and value.
    """

    __slots__ = ("storage",)
    storage: Cell

    def _row(self) -> tuple[Any, ...]:
        return "shared", self

    def __reduce__(self) -> tuple[object, ...]:
        value = self.get_value(borrow=True)
        return _restored, (self.name, self.type, tuple(sorted(self.facts)), value)

    @checks_arguments
    def get_value(self, borrow: bool = False) -> Array:
        """Return the value.

        Parameters
        ----------
        borrow : bool
            Return the array that holds the value, without a copy.  If you write to it, the value
            changes; as long as you keep it, an update computes in new memory and leaves it as it
            is.

        Returns
        -------
        array
            Of the declared dtype.

        Raises
        ------
        StateLostError
            If a call that wrote over the memory of the value did not finish.

        Examples
        --------
        >>> import relgraph as rg
        >>> w = rg.shared([1.0, 2.0])
        >>> w.get_value()
        array([1., 2.])
        """
        array = self.storage.read(self.name)
        if isinstance(array, np.ndarray):
            return array if borrow else array.copy()
        host: Array = array.to_host()  # from a GPU
        return host

    @checks_arguments
    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Replace the value.

        Parameters
        ----------
        value : array-like
            Of a dtype that converts safely to the declared one, and of the declared shape.
        borrow : bool
            Keep the array itself, without a copy, if its dtype and memory layout fit.

        Raises
        ------
        ArgumentError, DTypeError, NumberRangeError, ShapeError
            For a value that does not fit.

        Examples
        --------
        >>> import relgraph as rg
        >>> data = rg.shared([1.0, 2.0], shape=(None,))
        >>> data.set_value([1.0, 2.0, 3.0])
        >>> rg.evaluate(rg.sum(data))
        np.float64(6.0)
        """
        array = _held(as_array(self, value), value, borrow)
        why = self.type.accepts(array)
        if why is not None:
            raise ShapeError(
                f"the value does not fit the shared variable {self.name!r}: {why}",
                {"declared": self.type, "given": f"shape {array.shape}"},
                "Declare sizes that may vary: rg.shared(value, shape=(None, 3)).",
            )
        with self.storage.lock:
            self.storage.array = array


@checks_arguments
def shared(
    value: Any,
    name: str | None = None,
    *,
    shape: Iterable[Dim] | None = None,
    dtype: Any = None,
    facts: Iterable[str] = (),
    borrow: bool = False,
) -> Shared:
    """Return a shared variable: a leaf of graphs whose value outlives calls.

    A compiled function reads the value at each call, and replaces it by the ``updates`` that you
    pass to :func:`function`.

    Parameters
    ----------
    value : array-like
        The first value.  A Python float is float64, a Python int is int64.
    name : str, optional
        An identifier; ``shared_0``, ``shared_1``, ... by default.
    shape : tuple of int, str or None, optional
        The sizes that every value has; None for one that may vary.  By default, those of the first
        value.
    dtype : dtype-like, optional
        By default, that of the first value.
    facts : iterable of str
        What is known of all values, as in :func:`tensor`.
    borrow : bool
        Keep the array itself, without a copy, if its memory layout fits.

    Returns
    -------
    Shared
        A new variable.

    Raises
    ------
    ArgumentError, DTypeError, DomainError, NumberRangeError
        For a value, name, dtype or fact that a graph cannot have.
    ShapeError
        For a value of another shape than the declared one.

    Examples
    --------
    >>> import relgraph as rg
    >>> n, x = rg.shared(0, name="n"), rg.scalar("x")
    >>> f = rg.function([x], n * x, updates={n: n + 1})
    >>> f(10.0), f(10.0), n.get_value()
    (np.float64(0.0), np.float64(10.0), array(2))
    """
    if isinstance(value, Variable):
        raise ArgumentError(
            "the value of a shared variable is a graph, not an array",
            {"given": value},
            "Compute it first: rg.shared(rg.evaluate(graph)).",
        )
    array = array_of(value)
    try:
        array = np.asarray(value if array is None else array, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "the value of a shared variable is not an array",
            {"given": f"{value!r:.60}", "numpy": error},
            "Pass an array, a number, or nested lists of equal lengths.",
        ) from None
    type_ = TensorType(array.dtype, array.shape if shape is None else shape)
    array = _held(array.astype(type_.dtype, copy=False), value, borrow)
    why = type_.accepts(array)
    if why is not None:
        raise ShapeError(
            f"the first value of a shared variable does not have its shape: {why}",
            {"declared": type_, "given": f"shape {array.shape}"},
            "Put None where a size may vary.",
        )
    return _new(name, type_, facts, array)


def _new(name: str | None, type_: TensorType, facts: Iterable[str], array: Any) -> Shared:
    cell = Cell(array)
    label = f"shared_{cell.number}" if name is None else name
    if not isinstance(label, str) or not label.isidentifier():
        raise ArgumentError(
            f"the name of a shared variable is an identifier, not {label!r}",
            fix='Name it like a variable, for instance rg.shared(value, name="w").',
        )
    declared = check_declared(label, type_, facts)
    # The number tells variables of one name apart, in the same way in every process.
    node = leaf(Shared, type_, digest_of("shared", label, type_, cell.number))
    for slot, content in (("name", label), ("facts", declared), ("storage", cell)):
        object.__setattr__(node, slot, content)
    return node  # type: ignore[no-any-return]


def _restored(name: str, type_: TensorType, facts: tuple[str, ...], array: Any) -> Shared:
    return _new(name, type_, facts, array)


def _held(array: Array, value: Any, borrow: bool) -> Array:
    """Return an array that the variable may keep: a copy, unless the caller lends it."""
    if borrow:
        return np.require(array, requirements=["C", "A"])
    return np.array(array, order="C", copy=True)


__all__ = ["Cell", "Shared", "shared"]
