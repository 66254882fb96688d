"""Side conditions that several themes share, each a goal on the types of its arguments."""

from __future__ import annotations

from typing import Any

from relgraph.ir.node import Constant, Variable
from relgraph.relations.kanren.goals import Suspended, checko


def scalaro(x: Any) -> Suspended:
    """Relate graphs without dimensions."""
    return checko(_is_scalar, x, label=f"scalar({x!r})")


def matrixo(x: Any) -> Suspended:
    """Relate graphs of two dimensions."""
    return checko(_is_matrix, x, label=f"matrix({x!r})")


def vectoro(x: Any) -> Suspended:
    """Relate graphs of one dimension."""
    return checko(_is_vector, x, label=f"vector({x!r})")


def signedo(x: Any) -> Suspended:
    """Relate graphs of floats and of signed integers, which have negative values."""
    return checko(_is_signed, x, label=f"signed({x!r})")


def numerico(x: Any) -> Suspended:
    """Relate graphs of numbers: of any dtype but bool, whose sum is a logical or."""
    return checko(_is_numeric, x, label=f"numeric({x!r})")


def coefficiento(x: Any) -> Suspended:
    """Relate constants of numbers that are equal in all their elements."""
    return checko(_is_coefficient, x, label=f"coefficient({x!r})")


class Number:
    """The condition to be a constant equal in all its elements, with examples that tests use."""

    def __init__(self, *examples: float) -> None:
        self.examples = examples

    def __call__(self, x: Any) -> bool:
        return _is_coefficient(x)


def numbero(x: Any, *examples: float) -> Suspended:
    """Relate constants of one number, such as these examples."""
    return checko(Number(*examples), x, label=f"number({x!r})")


def nth(function: Any, n: int) -> Any:
    """Return a function that computes one part of what another does."""

    def part(*values: Any) -> Any:
        parts = function(*values)
        return None if parts is None else parts[n]

    part.__name__ = f"{function.__name__}[{n}]"
    return part


def _is_coefficient(x: Any) -> bool:
    return isinstance(x, Constant) and x.uniform is not None and x.dtype.kind != "b"


def _is_scalar(x: Any) -> bool:
    return not isinstance(x, Variable) or x.ndim == 0


def _is_matrix(x: Any) -> bool:
    return isinstance(x, Variable) and x.ndim == 2


def _is_vector(x: Any) -> bool:
    return isinstance(x, Variable) and x.ndim == 1


def _is_signed(x: Any) -> bool:
    return not isinstance(x, Variable) or x.dtype.kind in "fi"


def _is_numeric(x: Any) -> bool:
    return not isinstance(x, Variable) or x.dtype.kind != "b"
