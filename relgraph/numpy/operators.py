"""What the operators and methods of graphs, patterns and tracers mean.

:mod:`relgraph.ir.operators` gives the three kinds of operand their operators and looks functions up
by name; this module fills that table, once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from types import FrameType
from typing import Any

import numpy as np

import relgraph.numpy as rnp
from relgraph.errors import NEAR, ArgumentError, UnsupportedAttributeError
from relgraph.ir.node import Variable
from relgraph.ir.op import GetItem
from relgraph.ir.operators import FUNCTIONS
from relgraph.ir.types import TupleType, dim_text
from relgraph.numpy import protocol
from relgraph.ops import elementwise, permutation, shape
from relgraph.ops.arguments import no_rank
from relgraph.ops.indexing import update
from relgraph.ops.indexing.index import index
from relgraph.porting import SCIPY, counterpart


def iterate(x: Any) -> list[Any]:
    """Return the parts of ``x`` along its first axis, whose size must be static, or its results."""
    if not isinstance(x, Variable):
        raise no_rank("iteration", "Make each part a variable of the identity.")
    if isinstance(x.type, TupleType):
        return [GetItem(i)(x) for i in range(len(x.type.items))]
    if x.ndim == 0:
        raise ArgumentError(
            f"a scalar cannot be iterated over: {x}",
            fix="Use it as it is, or make it a vector with expand_dims.",
        )
    first = x.type.shape[0]
    if not isinstance(first, int):
        raise ArgumentError(
            f"iteration needs a first dimension of known size, not {dim_text(first)}",
            {"graph": f"{x} : {x.type}"},
            "Declare its size, as in shape=(3,), or work on the whole array.",
        )
    return [index(x, place) for place in range(first)]


def missing_attribute(x: Any, name: str) -> AttributeError:
    """Return the error for an attribute that graphs do not have, with what to write instead."""
    if name.startswith("_"):  # Python and its libraries look such names up
        return AttributeError(f"a graph has no {name}")
    if hasattr(np.ndarray, name):
        return UnsupportedAttributeError(
            f"graphs do not have NumPy's attribute {name!r}",
            {"graph": x},
            protocol.instead_of_attribute(name)
            or "Write it with NumPy's functions that graphs have.",
        )
    near = get_close_matches(name, [n for n in dir(x) if not n.startswith("_")], 1, NEAR)
    return UnsupportedAttributeError(
        f"a graph has no attribute {name!r}",
        {"graph": x},
        counterpart("graph", name)
        or (f"Did you mean {near[0]!r}?" if near else "Use NumPy's functions and attributes."),
    )


def no_values(x: Any) -> ArgumentError:
    """Return the error for a graph that is used as an array.

    If a function of SciPy was called, the error names relgraph's function.
    """
    name = scipy_function(sys._getframe(1))
    fix = "Compile it with rg.function(inputs, outputs), or evaluate it with rg.evaluate(graph)."
    if name:
        public = getattr(sys.modules.get("relgraph"), "__all__", ())
        instead = f"rg.{name}" if name in public else SCIPY.get(name)
        if instead:
            fix = f"Write {instead}, which takes graphs."
    return ArgumentError(
        "a graph has no values, so it cannot become a NumPy array", {"graph": x}, fix
    )


def scipy_function(frame: FrameType | None) -> str:
    """Return the name of the function of SciPy that a frame was called from, or ""."""
    name = ""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("scipy."):
            wrapped = frame.f_locals.get("f")  # a decorator's, whose own name says nothing
            name = getattr(wrapped, "__name__", frame.f_code.co_name)
        elif name:
            return name
        frame = frame.f_back
    return name


MEANINGS: dict[str, Callable[..., Any]] = {
    **{name: getattr(rnp, name) for name in rnp._PUBLIC if callable(getattr(rnp, name))},
    "__array__": no_values,
    "__getattr__": missing_attribute,
    "__array_function__": protocol.array_function,
    "__array_ufunc__": protocol.array_ufunc,
    "__iter__": iterate,
    "at": update.at,
    "cast": elementwise.cast,
    "copy": elementwise.copy,
    "index": index,
    "power": elementwise.raise_to,
    "size": shape.size,
    "transpose": permutation.transpose,
}

FUNCTIONS.update(MEANINGS)
