"""Graphs as text: declared inputs, and expressions of them.

Inputs are ``"A:f8[n,n] x,y:f8[n]{positive}"``: names, a dtype, sizes (numbers, names, or ``?`` for
unknown ones) and facts.  An expression has Python's spelling, and is read by a list of what it may
hold, over the syntax tree; nothing in it is ever run as Python.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import ArgumentError, RelgraphError

CODES = {
    "f8": "float64", "f4": "float32", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8",
    "u8": "uint64", "u4": "uint32", "u2": "uint16", "u1": "uint8", "b1": "bool",
}  # fmt: skip

_INPUT = re.compile(
    r"(?P<names>[A-Za-z_]\w*(?:,[A-Za-z_]\w*)*)"
    r"(?::(?P<dtype>\w+))?(?:\[(?P<sizes>[^\]]*)\])?(?:\{(?P<facts>[^}]*)\})?"
)

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: rg.less, ast.LtE: rg.less_equal, ast.Gt: rg.greater, ast.GtE: rg.greater_equal,
    ast.Eq: rg.equal, ast.NotEq: rg.not_equal,
}  # fmt: skip
ATTRIBUTES = ("T", "mT")
LONGEST = 10_000  # characters of an expression; Python's parser recurses with its depth


@cache
def functions() -> Mapping[str, Callable[..., Any]]:
    """Return what an expression may call, by its name: ops and functions of arrays."""
    modules = {"": rnp, "linalg.": rnp.linalg}
    found = {f"{p}{name}": getattr(m, name) for p, m in modules.items() for name in m.__all__}
    found |= {name: getattr(rg, name) for name in rg.__all__}
    return {name: f for name, f in found.items() if _is_of_arrays(f)}


def _is_of_arrays(value: Any) -> bool:
    if isinstance(value, type) or not callable(value):
        return False
    home = str(getattr(value, "__module__", ""))
    ours = home.startswith(("relgraph.ops.", "relgraph.numpy.")) and home != "relgraph.ops.inputs"
    return ours or isinstance(value, rg.Op)


def inputs_of(texts: list[str]) -> dict[str, Any]:
    """Return the inputs that texts declare, by their names.

    Raises
    ------
    ArgumentError
        For a text that declares nothing, a name declared twice, and what an input refuses.
    """
    inputs: dict[str, Any] = {}
    for text in " ".join(texts).split():
        match = _INPUT.fullmatch(text)
        if match is None:
            raise ArgumentError(
                f"the declaration {text!r} is not that of an input",
                fix='Write names, a dtype and sizes, such as "A:f8[n,n] x,y:f8[n]{positive}".',
            )
        dtype = match["dtype"] or "f8"
        shape = [_size(size) for size in (match["sizes"] or "").split(",") if size.strip()]
        facts = [fact.strip() for fact in (match["facts"] or "").split(",") if fact.strip()]
        for name in match["names"].split(","):
            if name in inputs:
                raise ArgumentError(
                    f"the input {name} is declared twice", fix="Declare each name once."
                )
            inputs[name] = rg.tensor(name, shape, CODES.get(dtype, dtype), facts=facts)
    return inputs


def _size(text: str) -> Any:
    text = text.strip()
    if text == "?":
        return None
    return int(text) if text.isdecimal() else text


def graph_of(text: str, inputs: Mapping[str, Any]) -> Any:
    """Return the graph of an expression.

    Raises
    ------
    ArgumentError
        For what an expression may not hold, with its place.
    """
    if len(text) > LONGEST:
        raise ArgumentError(
            f"the expression has {len(text):,} characters, and {LONGEST:,} are read",
            fix="Write a Python function, and name it as module:function.",
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = getattr(error, "offset", None) or 1
        raise ArgumentError(
            f"the expression is not Python's syntax: {getattr(error, 'msg', error)}",
            {"expression": text.strip(), "": " " * (at - 1) + "^"},
            "Write it as Python code of NumPy, such as 'A @ x + A @ y'.",
        ) from None
    reader = _Reader(text.strip(), inputs)
    try:
        result = reader.value(tree.body)
    except RecursionError:
        raise ArgumentError(
            "the expression is too deep to be read",
            fix="Write a Python function, and name it as module:function.",
        ) from None
    if not isinstance(result, rg.Variable):
        raise ArgumentError("the expression uses no input", {"expression": text.strip()}, _DECLARE)
    return result


_DECLARE = 'Declare its inputs with -i, such as -i "x:f8[n]".'


class _Reader:
    """Reads a syntax tree: nodes of the kinds below, and no others."""

    def __init__(self, text: str, inputs: Mapping[str, Any]) -> None:
        self.text = text
        self.inputs = inputs

    def value(self, node: ast.AST) -> Any:
        """Return the graph or the Python value of a node."""
        read = getattr(self, f"_{type(node).__name__.lower()}", None)
        if read is None:
            raise self.refused(node, "an expression does not hold this")
        return read(node)

    def refused(self, node: ast.AST, what: str, fix: str = "") -> ArgumentError:
        """Return the error for a node, with its place."""
        start = getattr(node, "col_offset", 0)
        length = max(1, getattr(node, "end_col_offset", start + 1) - start)
        return ArgumentError(
            what,
            {"expression": self.text, "at": " " * start + "^" * length},
            fix or "Write operators, functions of relgraph.numpy, indices, numbers and inputs.",
        )

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.inputs:
            return self.inputs[node.id]
        if node.id in ("pi", "e", "inf", "nan", "newaxis"):
            return getattr(rnp, node.id, None) if node.id != "newaxis" else None
        near = get_close_matches(node.id, self.inputs, 2)
        what = f"there is no input {node.id}"
        if node.id in functions():
            raise self.refused(node, f"{node.id} is a function, and is called", f"{node.id}(x)")
        raise self.refused(node, what, f"Did you mean {' or '.join(near)}?" if near else _DECLARE)

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, complex | bytes):
            raise self.refused(node, "relgraph has no such numbers")
        return node.value

    def _tuple(self, node: ast.Tuple | ast.List) -> Any:
        return tuple([self.value(x) for x in node.elts])

    def _list(self, node: ast.List) -> Any:
        return [self.value(x) for x in node.elts]

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        self._numeric(node, left, right)
        if isinstance(node.op, ast.Pow | ast.LShift) and not _graphs(left, right):
            return self._small(node, BINARY[type(node.op)], left, right)
        return self._applied(node, BINARY[type(node.op)], left, right)

    def _small(self, node: ast.AST, function: Any, left: Any, right: Any) -> Any:
        """Compute a power or a shift of two numbers, if the result has few digits."""
        if not (abs(left) <= 1e9 and abs(right) <= 64):
            raise self.refused(node, "the number is too large to be computed here")
        return self._applied(node, function, left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if type(node.op) not in UNARY:
            raise self.refused(node, "graphs have no not", "Write ~ or logical_not.")
        self._numeric(node, operand)
        return self._applied(node, UNARY[type(node.op)], operand)

    def _numeric(self, node: ast.AST, *values: Any) -> None:
        for value in values:
            if not isinstance(value, rg.Variable | int | float):
                raise self.refused(node, "an operand is neither a graph nor a number")

    def _compare(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1 or type(node.ops[0]) not in COMPARISONS:
            raise self.refused(node, "one comparison of two values is read", "Join them with &.")
        left, right = self.value(node.left), self.value(node.comparators[0])
        self._numeric(node, left, right)
        return self._applied(node, COMPARISONS[type(node.ops[0])], left, right)

    def _attribute(self, node: ast.Attribute) -> Any:
        if node.attr not in ATTRIBUTES:
            raise self.refused(node, f".{node.attr} is not read", "Write .T, .mT or a function.")
        value = self.value(node.value)
        if not isinstance(value, rg.Variable):
            raise self.refused(node, f".{node.attr} is an attribute of graphs")
        return self._applied(node, lambda x: getattr(x, node.attr), value)

    def _call(self, node: ast.Call) -> Any:
        name = _dotted(node.func)
        function = functions().get(name)
        if function is None:
            near = get_close_matches(name, functions(), 3)
            fix = f"Did you mean {', '.join(near)}?" if near else ""
            raise self.refused(node.func, f"{name or 'this'} is no function that is read", fix)
        args = [self.value(x) for x in node.args]
        if any(keyword.arg is None for keyword in node.keywords):
            raise self.refused(node, "** is not read")
        kwargs = {str(k.arg): self.value(k.value) for k in node.keywords}
        return self._applied(node, function, *args, **kwargs)

    def _subscript(self, node: ast.Subscript) -> Any:
        value = self.value(node.value)
        if not isinstance(value, rg.Variable | tuple):
            raise self.refused(node, "only graphs are indexed")
        return self._applied(node, operator.getitem, value, self.value(node.slice))

    def _slice(self, node: ast.Slice) -> Any:
        bounds = [None if x is None else self.value(x) for x in (node.lower, node.upper, node.step)]
        return slice(*bounds)

    def _applied(self, node: ast.AST, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function; relgraph's errors keep their text, others say where they come from."""
        try:
            return function(*args, **kwargs)
        except RelgraphError:
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise self.refused(node, f"{type(error).__name__}: {error}") from None


def _graphs(*values: Any) -> bool:
    return any(isinstance(value, rg.Variable) for value in values)


def _dotted(node: ast.AST) -> str:
    """Return the name of a function as it is written: ``f`` or ``linalg.f``."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        prefix = node.value.id
        return node.attr if prefix in ("np", "rg") else f"{prefix}.{node.attr}"
    return ""


__all__ = ["functions", "graph_of", "inputs_of"]
