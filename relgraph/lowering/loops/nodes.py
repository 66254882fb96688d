"""The loop language: what kernels are written in before a printer spells them for a processor.

A :class:`Function` takes integers and arrays and has a body of statements.  Scalars are constants,
variables, ops and loads.  Nodes are immutable and interned: the same class with the same fields is
one object, so nodes compare by identity.  Each variable is bound once, by a parameter, a ``Let``, a
loop's index, a ``Carry`` or a ``Result``, and is visible to the statements after it in its block,
and inside of them.

:mod:`.interpreter` defines the meaning on scalars of NumPy, :mod:`.verify` the rules, and
:mod:`.build` writes graphs in this language.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

from relgraph.ir import forks
from relgraph.ir.op import Op as GraphOp

_lock = forks.lock()


class Node:
    """An interned tuple of fields."""

    __slots__ = ("__weakref__",)
    fields: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[tuple[Any, ...]] = ()
    _table: ClassVar[WeakValueDictionary[tuple[Any, ...], Node]] = WeakValueDictionary()

    def __new__(cls, *values: Any) -> Self:
        missing = len(cls.fields) - len(values)
        if missing:
            values += cls.defaults[-missing:]
        key = (cls, *values)
        node = cls._table.get(key)
        if node is None:
            new = object.__new__(cls)
            for name, value in zip(cls.fields, values, strict=True):
                object.__setattr__(new, name, value)
            with _lock:
                node = cls._table.setdefault(key, new)
        return node  # type: ignore[return-value]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be changed")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.values

    @property
    def values(self) -> tuple[Any, ...]:
        """The fields in order."""
        return tuple([getattr(self, name) for name in self.fields])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.values))})"


# Scalars.


class Scalar(Node):
    """A scalar of one of the dtypes of graphs."""

    __slots__ = ()
    dtype: str


class Const(Scalar):
    """A number; ``text`` is its ``repr``, which separates 0.0 from -0.0 and holds NaN."""

    __slots__ = ("dtype", "text")
    fields = ("text", "dtype")
    text: str

    @property
    def value(self) -> Any:
        """The number."""
        if self.dtype == "bool":
            return self.text == "True"
        return float(self.text) if self.dtype[0] == "f" else int(self.text)


class Var(Scalar):
    """A variable."""

    __slots__ = ("dtype", "name")
    fields = ("name", "dtype")
    name: str


class Op(Scalar):
    """An op of scalars, without side effects.

    Attributes
    ----------
    op : str or relgraph's Op
        One of :data:`PRIMITIVES`, or an elementwise op of graphs.
    args : tuple of Scalar
        The operands.
    """

    __slots__ = ("args", "dtype", "op")
    fields = ("op", "args", "dtype")
    op: str | GraphOp
    args: tuple[Scalar, ...]


PRIMITIVES: dict[str, str] = {
    "add": "the sum of indices, which does not overflow",
    "sub": "the difference of indices",
    "mul": "the product of indices",
    "div": "the quotient of indices that are not negative, rounded down; the divisor is positive",
    "rem": "the remainder of the same",
    "min": "the smaller index",
    "max": "the larger index",
    "less": "whether the first of two indices is less",
    "equal": "whether two values of one dtype are equal",
    "and": "whether both of two truths hold",
    "or": "whether one of two truths holds",
    "not": "whether a truth does not hold",
    "select": "the second operand if the first one holds, else the third",
    "sum": "the sum of two floats, which may be reassociated with others",
}
"""The ops that graphs do not have; their operands have one dtype but for the truth of "select"."""


class Load(Scalar):
    """An element of a buffer."""

    __slots__ = ("buffer", "index")
    fields = ("buffer", "index")
    buffer: Buffer
    index: tuple[Scalar, ...]

    @property
    def dtype(self) -> str:  # type: ignore[override]
        """That of the buffer."""
        return self.buffer.dtype


class Buffer(Node):
    """An array.

    Attributes
    ----------
    name, dtype : str
        Its name in the function, and the dtype of its elements.
    shape : tuple of Scalar
        Its sizes.
    space : {"argument", "stack", "shared", "bound"}
        Where it is.  One on the stack has a constant shape and no value before it is written to.
        On a GPU it is that of a thread; if a loop of level "held", or of levels "y" and "x", fills
        it, each thread has the elements of its own iterations.  The threads of a block have a
        shared one together.  ``Alias`` and ``Allocate`` bind buffers.
    strides : tuple of Scalar
        The bytes from one element to the next along each axis; empty for row-major order.
    """

    __slots__ = ("dtype", "name", "shape", "space", "strides")
    fields = ("name", "dtype", "shape", "space", "strides")
    defaults = ("argument", ())
    name: str
    dtype: str
    shape: tuple[Scalar, ...]
    space: str
    strides: tuple[Scalar, ...]


# Statements.


class Statement(Node):
    """One step of a body."""

    __slots__ = ()


Body = tuple[Statement, ...]


class Let(Statement):
    """Binds a variable."""

    __slots__ = ("value", "var")
    fields = ("var", "value")
    var: Var
    value: Scalar


class Store(Statement):
    """Writes an element."""

    __slots__ = ("buffer", "index", "value")
    fields = ("buffer", "index", "value")
    buffer: Buffer
    index: tuple[Scalar, ...]
    value: Scalar


class Stream(Statement):
    """Copies ``count`` elements of a buffer on the stack to an array, past the cache.

    ``index`` is that of the first element of the array, where a line of the cache begins; the
    others follow along the last axis.
    """

    __slots__ = ("buffer", "count", "index", "source")
    fields = ("buffer", "index", "source", "count")
    buffer: Buffer
    index: tuple[Scalar, ...]
    source: Buffer
    count: Scalar


class Carry(Node):
    """A value that a loop hands from one iteration to the next.

    ``var`` is bound in the body, to the value so far, and after the loop, to the last one.
    """

    __slots__ = ("next", "start", "var")
    fields = ("var", "start", "next")
    var: Var
    start: Scalar
    next: Scalar


class Loop(Statement):
    """Runs the body for each integer from ``low`` to below ``high``, or for each one in ``step``.

    With ``apart`` no iteration reads or writes an element that another one writes, and the loop may
    run in any order, or on vectors; values that it carries are then totals.

    ``level`` says who runs the iterations on a GPU, where functions without levels have one thread.

    - "grid": the threads of a grid, each one some of them.
    - "rows": the groups of threads of a grid.  Each thread of a group runs the whole body but for
      its stores, which the first one makes.
    - "group": the threads of a group, each one some of them.
    - "held": the same, for a constant number of iterations each, whose values stay in registers.
    - "steps": the same, all threads as many: the index may be beyond the end, by less than there
      are threads.
    - "lanes": each thread all of them, a constant number; what they read or write one after another
      is one vector.
    - "blocks": the blocks of a grid, each one some of them; "y" and "x": the threads of a block,
      along either of its axes.

    The meaning is that of groups, and of blocks, of one thread.
    """

    __slots__ = ("apart", "body", "carried", "high", "index", "level", "low", "step")
    fields = ("index", "low", "high", "body", "carried", "apart", "step", "level")
    defaults = ((), False, 1, "")
    index: Var
    low: Scalar
    high: Scalar
    body: Body
    carried: tuple[Carry, ...]
    apart: bool
    step: int
    level: str


class Join(Statement):
    """Binds a variable to the values that the threads of a group have, combined by an op.

    Every thread gets the result; with one thread it is the value.
    """

    __slots__ = ("op", "value", "var")
    fields = ("var", "value", "op")
    var: Var
    value: Scalar
    op: GraphOp


class Prefix(Statement):
    """Binds variables to ``start`` combined with values of the threads of a group, by an op.

    ``before`` gets those of the threads before this one, and ``after`` those of all threads.
    """

    __slots__ = ("after", "before", "op", "start", "value")
    fields = ("before", "after", "value", "start", "op")
    before: Var
    after: Var
    value: Scalar
    start: Scalar
    op: GraphOp


class Barrier(Statement):
    """Lets a thread go on when all threads of its block are there."""

    __slots__ = ()


class Atomic(Statement):
    """Adds to an element, to which other iterations may add at the same time."""

    __slots__ = ("buffer", "index", "value")
    fields = ("buffer", "index", "value")
    buffer: Buffer
    index: tuple[Scalar, ...]
    value: Scalar


LEVELS = ("", "grid", "rows", "group", "held", "steps", "lanes", "blocks", "y", "x")


class While(Statement):
    """Runs ``body`` as long as ``test`` holds; ``head`` binds what the test reads, each time."""

    __slots__ = ("body", "carried", "head", "test")
    fields = ("carried", "head", "test", "body")
    carried: tuple[Carry, ...]
    head: Body
    test: Scalar
    body: Body


class Result(Node):
    """A variable after a choice, and its value at the end of either branch."""

    __slots__ = ("other", "then", "var")
    fields = ("var", "then", "other")
    var: Var
    then: Scalar
    other: Scalar


class If(Statement):
    """Runs one of two bodies."""

    __slots__ = ("other", "results", "test", "then")
    fields = ("test", "then", "other", "results")
    defaults = ((),)
    test: Scalar
    then: Body
    other: Body
    results: tuple[Result, ...]


class Address(Node):
    """Where an element of a buffer is, from which a routine reads or writes a part of it."""

    __slots__ = ("buffer", "index")
    fields = ("buffer", "index")
    buffer: Buffer
    index: tuple[Scalar, ...]


class Call(Statement):
    """Calls a routine of LAPACK or BLAS.

    Attributes
    ----------
    routine : str
        Its name, such as ``dpotrf``; :mod:`.linalg.numpy_lapack` lists those that there are.
    arguments : tuple of Address or Scalar
        Its arguments.  A scalar has the dtype that the routine expects: int32, the dtype of its
        matrices, or uint8 for a letter.
    writes : tuple of Buffer
        The buffers that it changes.
    """

    __slots__ = ("arguments", "routine", "writes")
    fields = ("routine", "arguments", "writes")
    routine: str
    arguments: tuple[Address | Scalar, ...]
    writes: tuple[Buffer, ...]


class Leave(Statement):
    """Ends the function if a truth holds."""

    __slots__ = ("test",)
    fields = ("test",)
    test: Scalar


class Alias(Statement):
    """Binds a buffer to the memory that begins at an address of another one.

    ``buffer`` is in the space "bound"; its dtype may be another one.
    """

    __slots__ = ("address", "buffer")
    fields = ("buffer", "address")
    buffer: Buffer
    address: Address


class Allocate(Statement):
    """Binds a buffer to new memory, or ends the function if there is none.

    Attributes
    ----------
    buffer : Buffer
        The buffer, in the space "bound".
    number : int
        Which result it is; -1 for memory that the caller frees.
    sizes : tuple of Scalar
        The shape of the result.
    host : Buffer
        The run time, whose functions allocate and launch.
    """

    __slots__ = ("buffer", "host", "number", "sizes")
    fields = ("buffer", "number", "sizes", "host")
    buffer: Buffer
    number: int
    sizes: tuple[Scalar, ...]
    host: Buffer


class Launch(Statement):
    """Runs a kernel over its whole range, or ends the function if it raised an error.

    Attributes
    ----------
    kernel : Buffer
        The table that describes it.
    arrays : tuple of Address
        Its arrays.
    integers : tuple of Scalar
        Its integers.
    partial : int
        How many partial results it has.
    host : Buffer
        The run time; see :class:`Allocate`.
    """

    __slots__ = ("arrays", "host", "integers", "kernel", "partial")
    fields = ("kernel", "arrays", "integers", "partial", "host")
    kernel: Buffer
    arrays: tuple[Address, ...]
    integers: tuple[Scalar, ...]
    partial: int
    host: Buffer


class Function(Node):
    """Takes a table of arrays, one of integers, and a range.

    Threads share a function by its range, whose ends are the variables ``START`` and ``STOP``.

    Attributes
    ----------
    name : str
        Its symbol.
    integers : tuple of Var
        Its integers, such as sizes.
    arrays : tuple of Buffer
        Its arrays, of which no two overlap.
    body : tuple of Statement
        What it does.
    """

    __slots__ = ("arrays", "body", "integers", "name")
    fields = ("name", "integers", "arrays", "body")
    name: str
    integers: tuple[Var, ...]
    arrays: tuple[Buffer, ...]
    body: Body


START, STOP = Var("start", "int64"), Var("stop", "int64")


def walk(x: Any) -> Iterator[Node]:
    """Yield the statements and scalars of a body, each occurrence of them."""
    if isinstance(x, tuple):
        for y in x:
            yield from walk(y)
    elif isinstance(x, Node) and not isinstance(x, Buffer):
        yield x
        for y in x.values:
            yield from walk(y)


def buffers_of(body: Body) -> set[Buffer]:
    """Return the buffers that statements read or write, those on the stack included."""
    seen: set[Node] = set()
    buffers: set[Buffer] = set()
    stack: list[Any] = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif isinstance(node, Buffer):
            buffers.add(node)
        elif isinstance(node, Node) and node not in seen:
            seen.add(node)
            stack.extend(node.values)
    return buffers


def const(value: Any, dtype: str) -> Const:
    """Return a constant: a number, rounded to the dtype."""
    if dtype == "bool":
        return Const(repr(bool(value)), dtype)
    return Const(repr(float(value)) if dtype[0] == "f" else repr(int(value)), dtype)


def index(value: int | Scalar) -> Scalar:
    """Return an index: a constant for an int."""
    return const(value, "int64") if isinstance(value, int) else value


__all__ = [
    "LEVELS", "PRIMITIVES", "START", "STOP", "Address", "Alias", "Allocate", "Atomic", "Barrier",
    "Body", "Buffer", "Call", "Carry", "Const", "Function", "If", "Join", "Launch", "Leave", "Let",
    "Load", "Loop", "Node", "Op", "Prefix", "Result", "Scalar", "Statement", "Store", "Stream",
    "Var", "While", "buffers_of", "const", "index", "walk",
]  # fmt: skip
