"""Side conditions that several themes share, each a goal on the types of its arguments."""

from __future__ import annotations

from typing import Any

from relgraph.ir.node import Constant, Variable
from relgraph.relations.kanren.goals import Suspended, checko, unary_goal


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


scalaro = unary_goal("scalar", _is_scalar, "Relate graphs without dimensions.")
matrixo = unary_goal("matrix", _is_matrix, "Relate graphs of two dimensions.")
vectoro = unary_goal("vector", _is_vector, "Relate graphs of one dimension.")
signedo = unary_goal(
    "signed", _is_signed, "Relate graphs of floats and of signed integers, which have signs."
)
numerico = unary_goal(
    "numeric", _is_numeric, "Relate graphs of numbers: of any dtype but bool, whose sum is an or."
)
coefficiento = unary_goal(
    "coefficient", _is_coefficient, "Relate constants of numbers that are equal in all elements."
)


class Number:
    """The condition to be a constant equal in all its elements, with examples that tests use."""

    def __init__(self, *examples: float) -> None:
        self.examples = examples

    def __call__(self, x: Any) -> bool:
        return _is_coefficient(x)


def numbero(x: Any, *examples: float) -> Suspended:
    """Relate constants of one number, such as these examples."""
    return checko(Number(*examples), x, label=f"number({x!r})")
