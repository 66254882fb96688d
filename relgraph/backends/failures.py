"""Errors of a call: an error of NumPy, reworded with the op, its operands and a remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.errors import (
    DomainError,
    IndexRangeError,
    LinearAlgebraError,
    RelgraphError,
    ShapeError,
    count_of,
)
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable

_SINGULAR = (
    "Give it a matrix that is invertible; adding a small multiple of the identity makes one."
)
_INDEFINITE = (
    "Give it a symmetric positive definite matrix; one that is so up to rounding becomes so by "
    "adding a small multiple of the identity."
)
_CORE = re.compile(r"core dimension .*\(size (\d+) is different from (\d+)\)")


def failure(node: Variable, values: Sequence[Any], error: Exception) -> RelgraphError:
    """Return the error of relgraph for an op that NumPy or SciPy failed to compute.

    An operand in ``values`` that was not computed as an array is an ellipsis.  The result is a
    subclass of the builtin class of ``error``; an error of relgraph is returned unchanged.
    """
    if isinstance(error, RelgraphError):
        return error
    op = node.op
    assert op is not None
    what = str(error).removeprefix(f"{op.name}: ").rstrip(".")
    rows = [("in", brief(node, 12))]
    rows += [
        (f"operand {i}", f"{brief(x, 12)} : {x.type}{_shown(value)}")
        for i, (x, value) in enumerate(zip(node.inputs, values, strict=True))
    ]
    kind, fix = _kind(node, values, what, error)
    sizes = _CORE.search(what)
    if sizes is not None:
        what = f"the sizes {sizes[2]} and {sizes[1]} do not fit"
    return kind(f"{_named(node)}: {_lower(what)}", rows, fix)


def _named(node: Variable) -> str:
    """Return the name of an op, or its own description with its operands."""
    assert node.op is not None
    described = node.op.described([brief(x) for x in node.inputs])
    return node.op.name if described == repr(node.op) else described


def _kind(
    node: Variable, values: Sequence[Any], what: str, error: Exception
) -> tuple[type[RelgraphError], str]:
    """Return the class of the error and a remedy."""
    if isinstance(error, np.linalg.LinAlgError):
        if "ingular" in what:
            return LinearAlgebraError, _SINGULAR
        if "definite" in what:
            return LinearAlgebraError, _INDEFINITE
        if "square" in what:
            return LinearAlgebraError, "Give it a square matrix."
        return LinearAlgebraError, "Give it a matrix for which the result is defined."
    if isinstance(error, IndexError):
        return IndexRangeError, "Indices of an axis of size n run from -n to n - 1."
    assert node.op is not None
    if node.op.pointwise and _broadcast(values):
        return DomainError, "Give it values for which the function is defined."
    if "zero-size" in what or "empty sequence" in what:
        return ShapeError, "Give it an array that has elements along the reduced axes."
    return ShapeError, "Give it arrays of shapes that fit the op."


def _broadcast(values: Sequence[Any]) -> bool:
    try:
        np.broadcast_shapes(*map(np.shape, values))
    except ValueError:
        return False
    return True


def _shown(value: Any) -> str:
    """Return the description of an operand: the value of a scalar, the shape of an array."""
    if value is ...:
        return ""
    if isinstance(value, tuple):
        return f", given {count_of(len(value), 'array')}"
    return (
        f", given {np.asarray(value)}"
        if np.ndim(value) == 0
        else f", given shape {np.shape(value)}"
    )


def _lower(text: str) -> str:
    """Make the first letter lowercase, except in an abbreviation."""
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def no_elements(node: Variable) -> ShapeError:
    """Return the error of a reduction over no elements that has no identity element."""
    return ShapeError(
        f"{_named(node)} has no value over no elements",
        {"in": brief(node, 24)},
        "Give it an array that has elements along the reduced axes.",
    )


def misplaced(shape: tuple[int, ...], needed: tuple[int, ...]) -> ShapeError:
    """Return the error for an out argument whose shape is not that of the result."""
    return ShapeError(
        f"the array given as out has the shape {shape}, and the result {needed}",
        {"out": f"shape {shape}", "result": f"shape {needed}"},
        "Give it an array of the shape of the result.",
    )
