"""Where a graph begins: inputs, and what is declared of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import ArgumentError, count_of
from relgraph.ir.facts import (
    Facts,
    canonical,
    check_consistent,
    check_possible,
    is_fact,
    proved,
    unknown_fact,
)
from relgraph.ir.node import Input, Variable, make_input
from relgraph.ir.op import Op
from relgraph.ir.types import Dim, TensorType, Type, entries_of
from relgraph.ops.arguments import as_operand
from relgraph.ops.docstrings import documented

Dims = Iterable[Dim] | Dim


def _dims(shape: Dims) -> tuple[Dim, ...]:
    """Return a shape as a tuple; a lone size or name is a shape of one dimension."""
    if shape is None or isinstance(shape, int | str | np.integer):
        return (shape,)
    return entries_of(shape)


@documented("input")
def tensor(
    name: str,
    shape: Dims = (),
    dtype: npt.DTypeLike = "float64",
    facts: Iterable[str] = (),
    layout: str = "dense",
) -> Input:
    """Return an input of a graph.

    name: An identifier; arguments can be given by it at the call.
    shape (tuple of int, str or None): One entry a dimension: its size, its name, or None where it
        is not known.
    facts: What is known of the values, such as "positive", "spd" or the interval "[0, 1)". They are
        not checked at the call.
    layout ({"dense", "csr", "csc"}): "csr" and "csc" for a matrix of scipy.sparse.
    Returns (Input): The same object for an equal name, type and facts.
    DomainError: For a layout that does not exist or apply.
    ArgumentError: For a shape that is a string.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.tensor("x", shape=(None, 3, "k"), dtype="float32").type
    float32[?, 3, k]
    """
    if isinstance(shape, str):
        raise ArgumentError(
            f"the shape of {name!r} is a string, {shape!r}, not a tuple",
            fix=f"Write shape=({shape!r},) for one dimension of that name, or "
            'shape=("n", "k") for two.',
        )
    node = make_input(name, TensorType(dtype, _dims(shape), layout), facts)
    check_consistent(f"the input {name!r}", node.facts)
    return node


def _of_rank(
    ndim: int,
    name: str,
    shape: Dims,
    dtype: npt.DTypeLike,
    facts: Iterable[str],
    *,
    layout: str = "dense",
) -> Input:
    dims = (None,) * ndim if shape is None else _dims(shape)
    if len(dims) != ndim:
        kind = ("scalar", "vector", "matrix")[ndim]
        raise ArgumentError(
            f"a {kind} has {count_of(ndim, 'dimension')}, and "
            f"the shape {dims} of {name!r} has {len(dims)}",
            fix="Use rg.tensor for any number of dimensions.",
        )
    return tensor(name, dims, dtype, facts, layout)


@documented("input")
def scalar(name: str, dtype: npt.DTypeLike = "float64", facts: Iterable[str] = ()) -> Input:
    """Return an input without dimensions.

    Returns (Input): The same object for an equal name, type and facts.
    """
    return _of_rank(0, name, (), dtype, facts)


@documented(like=scalar)
def vector(
    name: str, shape: Dims = None, dtype: npt.DTypeLike = "float64", facts: Iterable[str] = ()
) -> Input:
    """Return an input with one dimension.

    shape (tuple of one int, str or None; or that entry itself): The size, a name for it, or None
        (the default) where it is not known.
    ArgumentError: For a shape of another number of dimensions.
    """
    return _of_rank(1, name, shape, dtype, facts)


@documented(like=vector)
def matrix(
    name: str,
    shape: Dims = None,
    dtype: npt.DTypeLike = "float64",
    facts: Iterable[str] = (),
    layout: str = "dense",
) -> Input:
    """Return an input with two dimensions.

    shape (tuple of two entries, each an int, str or None; or None): The sizes, names for them, or
        None (the default) where they are not known.
    facts: What is known of the values, or of the matrix, such as "symmetric".
    layout ({"dense", "csr", "csc"}): "csr" and "csc" for a matrix of scipy.sparse, which products
        and transposes take.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.matrix("S", shape=("n", "n"), facts=("spd",)).type
    float64[n, n]
    """
    return _of_rank(2, name, shape, dtype, facts, layout=layout)


def _names(names: str | Iterable[str]) -> list[str]:
    if isinstance(names, str):
        return names.replace(",", " ").split()
    if not isinstance(names, Iterable):
        raise ArgumentError(
            f"several inputs take their names, not {names!r}",
            fix='Pass a string such as "x y z", or a list of names.',
        )
    return list(names)


@documented("input")
def scalars(
    names: str | Iterable[str], dtype: npt.DTypeLike = "float64", facts: Iterable[str] = ()
) -> tuple[Input, ...]:
    """Return several scalars of one dtype.

    Returns (tuple of Input): One a name, in order.
    """
    return tuple(scalar(name, dtype, facts) for name in _names(names))


@documented(like=scalars)
def vectors(
    names: str | Iterable[str],
    shape: Dims = None,
    dtype: npt.DTypeLike = "float64",
    facts: Iterable[str] = (),
) -> tuple[Input, ...]:
    """Return several vectors of one type.

    shape (tuple of one int, str or None; or that entry itself): Their size, as for :func:`vector`.
    ArgumentError: For a shape of another number of dimensions.
    """
    return tuple(vector(name, shape, dtype, facts) for name in _names(names))


@documented(like=vectors)
def matrices(
    names: str | Iterable[str],
    shape: Dims = None,
    dtype: npt.DTypeLike = "float64",
    facts: Iterable[str] = (),
) -> tuple[Input, ...]:
    """Return several matrices of one type.

    shape (tuple of two entries, each an int, str or None; or None): Their sizes, as for
        :func:`matrix`.

    Examples
    --------
    >>> import relgraph as rg
    >>> A, B = rg.matrices("A B", shape=("n", "n"))
    >>> A @ B
    A @ B
    """
    return tuple(matrix(name, shape, dtype, facts) for name in _names(names))


class Assume(Op):
    """The operand itself, with facts that are taken as true.

    Parameters
    ----------
    facts : tuple of str
        The names of the facts, sorted.
    """

    __slots__ = ()
    name = "assume"
    total = True
    parameters = ("facts",)
    arity = 1
    pointwise = True
    view = True
    overhead = 0

    @classmethod
    def canonical(cls, facts: Any = ()) -> tuple[Any, ...]:
        """Sort the names; an open parameter passes through."""
        if not isinstance(facts, tuple | list | set | frozenset | str):
            return (facts,)
        names = (facts,) if isinstance(facts, str) else tuple(facts)
        for name in names:
            if not is_fact(name):
                raise unknown_fact(name)
        return (tuple(sorted(set(canonical(names)))),)

    def infer(self, *types: Any) -> Type:
        """Keep the type."""
        return types[0]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Return the operand."""
        return values[0]

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost nothing."""
        return 0

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Add the facts to those of the operand."""
        return operands[0] | proved(*self.params[0])


@documented()
def assume(x: Any, *facts: str) -> Any:
    """Return ``x`` with facts that are taken as true.

    x: Any type.
    *facts (str): What the caller knows of it, such as "positive". They are not checked.
    Returns: A new node with the value of ``x``; an array itself, so that a function written for
        :func:`relgraph.jit` runs without it.
    DomainError: For a fact that does not exist or cannot hold, or facts that exclude each other.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> rg.facts(rg.assume(x, "positive")).names()
    ('positive', 'nonnegative', 'nonzero')
    """
    op = Assume(facts)
    if isinstance(x, np.ndarray | np.generic):
        check_consistent("assume", facts)
        return x
    operand = as_operand(x)
    if isinstance(operand, Variable) and isinstance(operand.type, TensorType):
        check_possible(f"assume: {operand!r:.60}", operand.type, facts)
    check_consistent(f"assume: {operand!r:.60}", facts)
    return op(operand)
