"""The writer of a function: statements that name shared nodes, in the spelling of one library."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.infix import ATOM, applied_text, number_text
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType
from relgraph.ops.arguments import is_int
from relgraph.ops.elementwise import Cast, Elementwise
from relgraph.ops.elementwise.instances import add, floor_divide, multiply, subtract

MODULES = ("np", "jnp", "torch", "jax", "scipy")  # what the statements call by these names
CALLED = ("int", "range", "reversed")  # functions of Python that they call
WIDTH = 88  # of an expression, before it gets a name
LARGEST = 1000  # elements of a constant that is written out
_SIZES = (add, subtract, multiply, floor_divide)  # whose values on ints are ints of Python


class UnsupportedError(Exception):
    """A library has no spelling of an application; the text says why."""


class Library(NamedTuple):
    """How a library spells what all functions need.

    Attributes
    ----------
    name, module : str
        The library, and the name that its functions are called by.
    imports : tuple of str
        The lines that import it.
    convert, number, array : str
        A value in another dtype, a number of a certain dtype, and an array.
    boolean : str
        Its name of the dtype bool.
    promotes : bool
        Whether operands of several dtypes give NumPy's dtype.
    weak : bool
        Whether functions accept Python's numbers, as operators do.
    """

    name: str
    module: str
    imports: tuple[str, ...]
    convert: str = "{0}.astype({module}.{dtype})"
    number: str = "{module}.{dtype}({0})"
    array: str = "{module}.array({0}, dtype={module}.{dtype})"
    boolean: str = "bool_"
    promotes: bool = False
    weak: bool = True


Spelling = str | Callable[["Application"], str]
Spellings = Mapping[type[Op], Mapping[str, Spelling | None]]


class Application(NamedTuple):
    """An application to spell: its node, and the texts of its operands."""

    writer: Writer
    node: Variable
    operands: tuple[str, ...]

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the op by name."""
        op: Any = self.node.op
        return dict(zip(op.parameters, op.params, strict=True))

    def filled(self, template: str) -> str:
        """Return a template with operands, parameters and the dtype of the result in it.

        ``{0}`` is an operand between commas, ``{p0}`` one beside an operator or before a dot.
        """
        fields = {f"p{i}": _bracketed(x) for i, x in enumerate(self.operands)}
        params = {k: _literal(v) for k, v in self.params.items() if k not in ("dtype", "shape")}
        return template.format(*self.operands, **fields, **params)


class Writer:
    """The statements of a function.

    Parameters
    ----------
    library : Library
        For whom to write.
    spellings : mapping
        The text of each class of ops, for each library.
    joining : collection of classes
        The ops whose operands are taken in the dtype of the result.
    """

    def __init__(
        self, library: Library, spellings: Spellings, joining: Collection[type[Op]]
    ) -> None:
        self.library = library
        self.lines: list[str] = []
        self.unsupported: dict[str, str] = {}
        self.parts: dict[Variable, list[str]] = {}  # the names of several results
        self.first = 0  # the number of statements before these
        self._counters: set[Variable] = set()  # inputs that are ints of Python
        self._spellings = spellings
        self._joining = joining
        self._texts: dict[Variable, tuple[str, int]] = {}
        self._names: set[str] = {*MODULES, *CALLED, *keyword.kwlist}

    def named(self, text: str) -> str:
        """Write a statement that gives a text a name, and return the name."""
        name = self.fresh(f"t{self.first + len(self.lines)}")
        self.lines.append(f"{name} = {text}")
        return name

    def fresh(self, name: str) -> str:
        """Return a name that nothing else has, like the given one."""
        name = name if name.isidentifier() else "x"
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def write(self, graph: FunctionGraph, name: str) -> tuple[list[str], list[str]]:
        """Write the statements; return the parameters, and the texts of the outputs."""
        self.fresh(name)
        parameters = [self.fresh(x.name or "x") for x in graph.inputs]
        self._texts = {x: (p, ATOM) for x, p in zip(graph.inputs, parameters, strict=True)}
        return parameters, self._statements(graph)

    def block(
        self, graph: FunctionGraph, inputs: Iterable[str], counters: Iterable[Variable] = ()
    ) -> tuple[list[str], list[str]]:
        """Return the statements of a part of the function, and the texts of its outputs.

        Parameters
        ----------
        graph : FunctionGraph
            What the part computes.
        inputs : iterable of str
            The texts of its inputs.
        counters : iterable of Variable
            The inputs that are ints of Python.
        """
        inner = Writer(self.library, self._spellings, self._joining)
        inner.unsupported, inner._names = self.unsupported, self._names
        inner.first = self.first + len(self.lines)
        inner._counters = set(counters)
        inner._texts = {x: (text, ATOM) for x, text in zip(graph.inputs, inputs, strict=True)}
        outputs = inner._statements(graph)
        return inner.lines, outputs

    def _statements(self, graph: FunctionGraph) -> list[str]:
        """Write the statements of a graph; return the texts of its outputs."""
        order = graph.toposort()
        uses = dict.fromkeys(order, 0)
        for operand in (*[i for x in order for i in x.inputs], *graph.outputs):
            uses[operand] += 1
        for x in order:
            if x in self._texts:
                continue
            try:
                text, rank = self._text(x)
            except UnsupportedError as error:
                self.unsupported.setdefault(x.op.name if x.op else "a constant", str(error))
                text, rank = "...", ATOM
            short = x.op is None or self.is_size(x) or x in self.parts
            if not short and (uses[x] > 1 or len(text) > WIDTH):
                text, rank = text if text.isidentifier() else self.named(text), ATOM
            self._texts[x] = text, rank
        return [self.value(x) for x in graph.outputs]

    def is_size(self, node: Variable) -> bool:
        """Return True for arithmetic of sizes of arrays, of integers and of counters."""
        return is_size(node, self._counters)

    def value(self, node: Variable) -> str:
        """Return the text of a node as an array or number of its dtype."""
        text = self._texts[node][0]
        return self.typed(text, node.dtype) if self.is_size(node) else text

    def typed(self, text: str, dtype: np.dtype[Any]) -> str:
        """Return a number of a certain dtype."""
        return self._formed(self.library.number, text, dtype)

    def converted(self, node: Variable, dtype: np.dtype[Any]) -> str:
        """Return the text of a node in a dtype."""
        if isinstance(node, Constant) and node.ndim == 0:
            return self.typed(self._number(node.value.astype(dtype)[()]), dtype)
        text = self.value(node)
        if node.dtype == dtype:
            return text
        return self._formed(self.library.convert, _bracketed(text), dtype)

    def dtype(self, dtype: Any) -> str:
        """Return the name of a dtype in the library."""
        dtype = np.dtype(dtype)
        name = self.library.boolean if dtype.kind == "b" else dtype.name
        return f"{self.library.module}.{name}"

    def shape(self, node: Variable) -> str:
        """Return the shape that an op with ``takes_shape`` gives, as a tuple."""
        rest = iter(node.inputs[1:])
        parts = [str(x) if is_int(x) else self.size(next(rest)) for x in node.op.params[0]]  # type: ignore[union-attr]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def size(self, node: Variable) -> str:
        """Return the text of an integer scalar as an int of Python."""
        text = self._texts[node][0]
        return text if self.is_size(node) else f"int({text})"

    def _formed(self, template: str, text: str, dtype: np.dtype[Any]) -> str:
        full = self.dtype(dtype).partition(".")[2]
        return template.format(text, module=self.library.module, dtype=full)

    def _number(self, value: Any) -> str:
        if value.dtype.kind == "f" and not np.isfinite(value):
            sign = "-" if value < 0 else ""
            return f"{sign}{self.library.module}.{'nan' if np.isnan(value) else 'inf'}"
        return number_text(value)

    def _text(self, node: Variable) -> tuple[str, int]:
        if isinstance(node, Constant):
            return self._constant(node), ATOM
        if self.is_size(node):
            return self._size(node)
        op = node.op
        assert op is not None
        if isinstance(op, Cast):
            return self.converted(node.inputs[0], node.dtype), ATOM
        if isinstance(op, Elementwise):
            return self._elementwise(node, op)
        return self._spelled(node, self._operands(node), self._spelling(op))

    def _spelling(self, op: Op) -> Spelling:
        library, texts = self.library, self._spellings.get(type(op), {})
        spelling = texts.get(library.name, texts.get("numpy") if library.weak else None)
        if spelling is None:
            raise UnsupportedError(f"{library.name} has no such function")
        return spelling

    def _spelled(
        self, node: Variable, operands: Iterable[str], spelling: Spelling
    ) -> tuple[str, int]:
        texts = list(operands)
        if isinstance(spelling, str):
            for i, text in enumerate(texts):  # an operand that occurs twice is computed once
                often = spelling.count(f"{{{i}}}") + spelling.count(f"{{p{i}}}")
                if often > 1 and not text.isidentifier():
                    texts[i] = self.named(text)
        application = Application(self, node, tuple(texts))
        text = application.filled(spelling) if isinstance(spelling, str) else spelling(application)
        text = self._in_library(text)
        return (text[1:-1], 0) if _is_bracketed(text) else (text, ATOM)

    def _in_library(self, text: str) -> str:
        """Return a text that names NumPy and SciPy as one that names a library like them."""
        if self.library.name != "jax":
            return text
        for own, other in (("np.", "jnp."), ("scipy.", "jax.scipy.")):
            text = _renamed(text, own, other)
        return text

    def _operands(self, node: Variable) -> Iterator[str]:
        """Yield the operands; in their common dtype, where the library does not see to that."""
        op: Any = node.op
        together = not self.library.promotes and type(op) in self._joining
        for x in node.inputs:
            if self.is_size(x) and (op.takes_shape or "spec" in op.parameters):
                yield self.size(x)
            else:
                yield self.converted(x, node.dtype) if together else self.value(x)

    def _constant(self, node: Constant) -> str:
        value = node.value
        if node.ndim == 0:
            return self._number(value[()]) if self.is_size(node) else self.typed(
                self._number(value[()]), node.dtype
            )  # fmt: skip
        if value.size > LARGEST:
            raise UnsupportedError(f"it has {value.size} elements; make it an input")
        numbers = np.array2string(
            value, separator=", ", threshold=LARGEST + 1, formatter={"all": self._number_of},
            max_line_width=10**6,
        ).replace("\n", "")  # fmt: skip
        text = self._formed(self.library.array, numbers, node.dtype)
        return text if value.size else f"{text}.reshape({value.shape})"

    def _number_of(self, value: Any) -> str:
        return self._number(np.asarray(value)[()])

    def _size(self, node: Variable) -> tuple[str, int]:
        """Return a size as an int of Python."""
        op: Any = node.op
        if op.reads_shape:
            (x,) = node.inputs
            return f"{_bracketed(self._texts[x][0])}.shape[{op.params[0] + x.ndim}]", ATOM
        return applied_text(op, [self._texts[x] for x in node.inputs])

    def _elementwise(self, node: Variable, op: Elementwise) -> tuple[str, int]:
        library, row = self.library, op.row
        spelling = row.spelled.get(library.name)
        if spelling is None:
            spelling = self._by_name(op)
        if not spelling:
            raise UnsupportedError(f"{library.name} has no such function")
        dtypes = row.loop(row.name, tuple([x.dtype for x in node.inputs]))
        kind = dtypes[0].kind
        if not library.promotes and row.cpu is not None:
            own = row.cpu.spelling(kind)
            if own is None:
                raise UnsupportedError(f"{library.name} has it for other dtypes than {dtypes[0]}")
            if own == "{0}":  # such as the floor of an integer
                return self.converted(node.inputs[0], node.dtype), ATOM
        symbol = spelling == row.symbol
        texts = []
        for x, dtype in zip(node.inputs, dtypes, strict=False):
            others = [y.dtype for y in node.inputs if not _is_number(y)]
            if _is_number(x) and dtype in others and x.dtype == dtype and (symbol or library.weak):
                texts.append((self._number(x.value[()]), ATOM))  # type: ignore[attr-defined]
            elif x.dtype != dtype and not (library.promotes and _promotes(row.compute, node)):
                texts.append((self.converted(x, dtype), ATOM))
            else:
                rank = self._texts[x][1]
                texts.append((self.value(x), ATOM if self.is_size(x) else rank))
        if symbol:
            ranked = [(t, 13 if t.startswith("-") and r == ATOM else r) for t, r in texts]
            text, rank = applied_text(op, ranked)
            return text, rank - row.tests  # Python chains comparisons
        return self._spelled(node, [text for text, _ in texts], spelling)

    def _by_name(self, op: Elementwise) -> str:
        """Return the symbol of an op, or a call of the function of its name."""
        row = op.row
        if row.symbol:
            return row.symbol
        operands = ", ".join(f"{{{i}}}" for i in range(row.arity))
        if self.library.name == "torch":
            inside = f"special.{row.scipy[0]}" if row.scipy else row.name
        else:
            if "numpy" in row.spelled:
                return row.spelled["numpy"]
            if row.scipy:
                return f"scipy.special.{row.scipy[0]}({operands})"
            inside = row.name
            return f"np.{inside}({operands})"
        return f"{self.library.module}.{inside}({operands})"


def is_size(node: Variable, counters: Collection[Variable] = ()) -> bool:
    """Return True for a size: arithmetic of sizes of arrays, of integers and of counters."""
    waiting, seen = [node], {node}
    while waiting:
        x = waiting.pop()
        if not isinstance(x.type, TensorType) or x.ndim or x.dtype != np.int64:
            return False
        if isinstance(x, Constant) or x in counters or (x.op is not None and x.op.reads_shape):
            continue
        if x.op not in _SIZES:
            return False
        more = [y for y in x.inputs if y not in seen]
        seen.update(more)
        waiting += more
    return True


def _is_number(node: Variable) -> bool:
    return isinstance(node, Constant) and node.ndim == 0


def _promotes(compute: Any, node: Variable) -> bool:
    """Return True if NumPy's function gives relgraph's dtype for these operands."""
    if not isinstance(compute, np.ufunc):
        return getattr(np, getattr(compute, "__name__", ""), None) is compute
    dtypes = compute.resolve_dtypes((*[x.dtype for x in node.inputs], None))
    return np.dtype("float16") not in dtypes


def _renamed(text: str, own: str, other: str) -> str:
    """Replace a module's name where it begins a name."""
    parts = text.split(own)
    result = parts[0]
    for part in parts[1:]:
        inside = bool(result) and (result[-1].isalnum() or result[-1] in "._")
        result += (own if inside else other) + part
    return result


def _bracketed(text: str) -> str:
    """Return a text that an operator or a dot may follow."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and (letter.isspace() or (letter in "-~" and i == 0)):
            return f"({text})"
    return f"({text})" if text[:1].isdigit() else text


def _is_bracketed(text: str) -> bool:
    """Return True if the first bracket closes at the end."""
    if not text.startswith("("):
        return False
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def _literal(value: Any) -> str:
    return repr(value)
