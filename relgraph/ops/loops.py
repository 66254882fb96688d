"""Loops and choices as ops: a node has the graphs of its body for parameters.

A body is a graph on inputs of its own.  :class:`Scan` runs its body a known number of times,
:class:`WhileLoop` as long as a test holds, and :class:`Cond` runs one of two bodies.  What a body
reads of the graph around it is an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from relgraph.errors import DTypeError, ShapeError
from relgraph.ir.bodies import call_texts, grouped, op_text
from relgraph.ir.cost import extent, node_flops
from relgraph.ir.graph import FunctionGraph, substitute, toposort
from relgraph.ir.node import Constant, Input, Variable, make_input
from relgraph.ir.op import GetItem, Op
from relgraph.ir.records import record
from relgraph.ir.sizes import Place, size_at
from relgraph.ir.types import TensorType, TupleType, Type

ITERATIONS = 100  # of a loop, for its cost, where nobody knows
SMALL = 64  # elements up to which a constant is part of a body, rather than an operand


@record
class Body:
    """A graph that a loop or a choice runs.

    Attributes
    ----------
    graph : FunctionGraph
        Its inputs and results.
    """

    graph: FunctionGraph

    def __repr__(self) -> str:
        parts = [*self.graph.inputs, *self.graph.outputs]
        return f"<body {hash(tuple([x.digest for x in parts])) & (2**64 - 1):016x}>"

    @property
    def types(self) -> list[TensorType]:
        """The types of its results."""
        return [x.type for x in self.graph.outputs]

    @property
    def flops(self) -> int:
        """The floating-point operations of one run."""
        return sum(map(node_flops, self.graph))

    def runner(self) -> Callable[..., list[Any]]:
        """Return the function that computes the results with NumPy, of one array for each input."""
        order = self.graph.toposort()
        steps = [(x, x.op.performer(x), x.inputs) for x in order if x.op is not None]
        constants: dict[Variable, Any] = {x: x.value for x in order if isinstance(x, Constant)}
        constants |= {x: x.value for x in self.graph.outputs if isinstance(x, Constant)}
        inputs, outputs = self.graph.inputs, self.graph.outputs

        def run(*arrays: Any) -> list[Any]:
            values = dict(constants)
            values.update(zip(inputs, arrays, strict=True))
            for node, perform, operands in steps:
                values[node] = perform(*[values[x] for x in operands])
            return [np.asarray(values[x]) for x in outputs]

        return run


class Loop(Op):
    """An op with bodies."""

    __slots__ = ()
    returns_new_array = True
    computes = False

    @property
    def bodies(self) -> tuple[Body, ...]:  # type: ignore[override]
        """Its bodies."""
        return tuple([x for x in self.params if isinstance(x, Body)])

    @property
    def own(self) -> int:
        """How many inputs of a body change, rather than being operands."""
        return 0

    def __repr__(self) -> str:
        return op_text(self)

    def infix(self, operands: list[str]) -> str | None:
        """Write a call with its bodies as functions on one line."""
        bodies, more = call_texts(self, operands)
        return self.call(operands, bodies, more)

    def call(self, operands: Sequence[str], bodies: Sequence[str], more: Sequence[str] = ()) -> str:
        """Return a call of the function that makes the op.

        Parameters
        ----------
        operands, bodies : sequence of str
            The texts of all operands, and of the bodies.
        more : sequence of str
            What stands at the end.
        """
        return f"{self.name}({', '.join([*operands[:1], *bodies, *more])})"

    def returned(self, body: Body, results: Sequence[str]) -> str:
        """Return the text of the results of a body."""
        return grouped(results)

    def with_bodies(self, bodies: Sequence[Body]) -> Loop:
        """Return the op with other bodies, of equal inputs and types of results."""
        rest = iter(bodies)
        return type(self)(*[next(rest) if isinstance(x, Body) else x for x in self.params])  # type: ignore[no-any-return]


class Scan(Loop):
    """A loop that carries values along, reads a slice of sequences and stacks results.

    The operands are the number of iterations, the first values that the loop carries, the sequences
    and what the body reads besides.  The inputs of the body are the index, the values that the loop
    carries, a slice of each sequence, and the rest; its results are the next values, then those
    that are stacked.

    Parameters
    ----------
    body : Body
        What an iteration computes.
    carries, sequences : int
        How many values it carries, and how many sequences it reads.
    size : int, str or None
        The number of iterations, as far as it is known.
    reverse : bool
        Whether the index goes from the last element to the first.

    References
    ----------
    The operation ``jax.lax.scan``, and PyTensor's ``Scan``.
    """

    __slots__ = ()
    name = "scan"
    parameters = ("body", "carries", "sequences", "size", "reverse")

    @property
    def own(self) -> int:
        """The index, what is carried, and the slices."""
        return int(1 + self.params[1] + self.params[2])

    def call(self, operands: Sequence[str], bodies: Sequence[str], more: Sequence[str] = ()) -> str:
        """Return a call of ``rg.scan``."""
        _, n, m, _, reverse = self.params
        parts = [*bodies, grouped(operands[1 : 1 + n])]
        parts += [grouped(operands[1 + n : 1 + n + m])] if m else [f"length={operands[0]}"]
        parts += ["reverse=True"] if reverse else []
        return f"scan({', '.join([*parts, *more])})"

    def returned(self, body: Body, results: Sequence[str]) -> str:
        """Return the next values, and what is stacked."""
        n = self.params[1]
        return f"({grouped(results[:n])}, {grouped(results[n:])})"

    def infer(self, *types: Any) -> Type:
        """Return the types of the last values, and of the stacked results."""
        body, carries, sequences, size, _ = self.params
        length, *rest = types
        if length.dtype.kind not in "iu" or length.ndim:
            raise DTypeError(
                f"scan: the number of iterations is an integer, not {length}",
                fix="Pass length=, or sequences xs=.",
            )
        starts, slices = rest[:carries], rest[carries : carries + sequences]
        for given, x in zip(slices, body.graph.inputs[1 + carries :], strict=False):
            _check(TensorType(given.dtype, given.shape[1:]), x, "a slice of a sequence")
            if not isinstance(size, int) and given.shape[0] is not None:
                size = given.shape[0]
        _check_all(starts, body.graph.inputs[1:], "the first value")
        _check_all(body.types[:carries], body.graph.inputs[1:], "the next value")
        stacked = [TensorType(x.dtype, (size, *x.shape)) for x in body.types[carries:]]
        return TupleType([*(x.type for x in body.graph.inputs[1 : 1 + carries]), *stacked])

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy, one iteration after the other."""
        return scanned(self, self.params[0].runner(), values)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost those of the body, for each iteration."""
        body, carries, sequences, size, _ = self.params
        length: Any = size if isinstance(size, int) else ITERATIONS
        if sequences:
            length = extent(types[1 + carries].shape[0])
        return body.flops * length  # type: ignore[no-any-return]


class WhileLoop(Loop):
    """A loop that carries values along as long as a test of them holds.

    The operands are the first values and what the bodies read besides, which are the inputs of both
    bodies.

    Parameters
    ----------
    test, body : Body
        What decides whether to go on, and what computes the next values.
    carries : int
        How many values it carries.

    References
    ----------
    The operation ``jax.lax.while_loop``.
    """

    __slots__ = ()
    name = "while_loop"
    parameters = ("test", "body", "carries")

    @property
    def own(self) -> int:
        """What is carried."""
        return int(self.params[2])

    def call(self, operands: Sequence[str], bodies: Sequence[str], more: Sequence[str] = ()) -> str:
        """Return a call of ``rg.while_loop``."""
        parts = [*bodies, grouped(operands[: self.own]), *more]
        return f"while_loop({', '.join(parts)})"

    def infer(self, *types: Any) -> Type:
        """Return the types of the last values."""
        _, body, carries = self.params
        _check_all(types[:carries], body.graph.inputs, "the first value")
        _check_all(body.types, body.graph.inputs, "the next value")
        return TupleType([x.type for x in body.graph.inputs[:carries]])

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy, one iteration after the other."""
        test, body, carries = self.params
        return repeated(test.runner(), body.runner(), carries, values)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost those of the bodies, for each iteration."""
        return int(ITERATIONS * (self.params[0].flops + self.params[1].flops))


class Cond(Loop):
    """The results of one of two bodies.

    The operands are a truth and what the bodies read, which are the inputs of both bodies.

    Parameters
    ----------
    then, other : Body
        What is computed if the truth holds, and if not.

    References
    ----------
    The operation ``jax.lax.cond``.
    """

    __slots__ = ()
    name = "cond"
    parameters = ("then", "other")

    def infer(self, *types: Any) -> Type:
        """Return the types of the results, as far as the bodies agree."""
        then, other = self.params
        if types[0].dtype.kind != "b" or types[0].ndim:
            raise DTypeError(
                f"cond: the truth is a bool without dimensions, not {types[0]}",
                fix="Compare first, for instance x > 0.",
            )
        pairs = zip(then.types, other.types, strict=True)
        return TupleType([joined(a, b, "a result of cond") for a, b in pairs])

    def perform(self, *values: Any) -> Any:
        """Compute the body that is chosen."""
        then, other = self.params
        chosen = then if values[0] else other
        return tuple([np.array(x) for x in chosen.runner()(*values[1:])])

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost those of the larger body."""
        return int(max(self.params[0].flops, self.params[1].flops))


def results_of(node: Variable) -> list[Variable]:
    """Return the results of an application of a loop."""
    return [GetItem(i)(node) for i in range(len(node.type.items))]


def closed(
    graphs: Iterable[tuple[Sequence[Input], Sequence[Variable]]],
    names: Sequence[str],
    *,
    whole: bool = False,
) -> tuple[list[Body], list[Variable]]:
    """Return bodies of equal inputs, and the operands that they read besides their own inputs.

    Parameters
    ----------
    graphs : iterable of (sequence of Input, sequence of Variable)
        The inputs and results of each body.
    names : sequence of str
        The names of these inputs in the bodies, so that equal bodies are equal graphs.
    whole : bool
        Whether bodies compute all that they need of the inputs of the graph around them, because
        one of them does not run.

    Returns
    -------
    tuple of list of Body and list of Variable
        The inputs for the operands follow the others.
    """
    pairs = [(list(inputs), list(outputs)) for inputs, outputs in graphs]
    captured: dict[Variable, Input] = {}
    first = sum([name.startswith("operand_") for name in names])
    for inputs, outputs in pairs:
        for x in _read(inputs, outputs, whole):
            if x not in captured:
                captured[x] = make_input(f"operand_{first + len(captured)}", x.type)
    bodies = []
    for inputs, outputs in pairs:
        own = [make_input(name, x.type) for name, x in zip(names, inputs, strict=True)]
        images: dict[Variable, Variable] = {**captured, **dict(zip(inputs, own, strict=True))}
        results = list(substitute(outputs, images))
        bodies.append(Body(FunctionGraph([*own, *captured.values()], results)))
    return bodies, list(captured)


def _read(inputs: Sequence[Variable], outputs: Sequence[Variable], whole: bool) -> list[Variable]:
    """Return the nodes that do not depend on inputs, and that nodes which do, or outputs, read.

    Views that do not depend on inputs, and small constants, are part of the body.
    """
    inside = set(inputs)
    for node in toposort(outputs):
        if not inside.isdisjoint(node.inputs):
            inside.add(node)
    read: dict[Variable, None] = {}
    stack = [x for node in toposort(outputs) if node in inside for x in node.inputs]
    stack = [*outputs, *stack][::-1]
    while stack:
        x = stack.pop()
        if x in inside or (isinstance(x, Constant) and x.value.size <= SMALL):
            continue
        is_view = x.op is not None and x.op.view and x.op.rearranges
        if is_view or (whole and x.inputs and not isinstance(x.op, GetItem)):
            stack.extend(x.inputs[::-1])
        else:
            read[x] = None
    return list(read)


def is_loop(node: Variable) -> bool:
    """Return True for an application of an op with bodies."""
    return isinstance(node.op, Loop)


def scanned(op: Scan, run: Callable[..., Sequence[Any]], values: Sequence[Any]) -> tuple[Any, ...]:
    """Run the iterations of a scan.

    Parameters
    ----------
    op : Scan
        The op.
    run : callable
        Computes its body, of an array for each input.
    values : sequence of array
        The operands.

    Returns
    -------
    tuple of array
        The last values, and the stacked results.

    Raises
    ------
    ShapeError
        For sequences of another length.
    """
    body, carries, sequences, _, reverse = op.params
    length = int(values[0])
    carried = [np.array(x) for x in values[1 : 1 + carries]]
    slices = values[1 + carries : 1 + carries + sequences]
    rest = values[1 + carries + sequences :]
    for x in slices:
        if len(x) != length:
            raise ShapeError(
                f"a scan of {length} iterations reads a sequence of length {len(x)}",
                fix="Pass sequences of one length.",
            )
    stacked: list[Any] = []
    for i in reversed(range(length)) if reverse else range(length):
        results = run(np.int64(i), *carried, *[x[i] for x in slices], *rest)
        carried = list(results[:carries])
        if not stacked:
            stacked = [np.empty((length, *np.shape(y)), y.dtype) for y in results[carries:]]
        for ys, y in zip(stacked, results[carries:], strict=True):
            ys[i] = y
    if length <= 0:
        stacked = _empty_stacks(body, carried, slices, rest)[carries:]
    return (*[np.array(x) for x in carried], *stacked)


def _empty_stacks(
    body: Body, carried: Sequence[Any], slices: Sequence[Any], rest: Sequence[Any]
) -> list[Any]:
    """Return stacks of no slices, of the sizes that the operands give to names and to inputs."""
    shapes = [(), *map(np.shape, carried), *[np.shape(x)[1:] for x in slices], *map(np.shape, rest)]
    of_inputs = dict(zip(body.graph.inputs, shapes, strict=True))
    sizes: dict[Any, int] = {}
    for x, shape in of_inputs.items():
        sizes.update(zip(x.type.shape, shape, strict=True))

    def size(y: Variable, axis: int) -> int:
        known = size_at(y, axis)
        if isinstance(known, Place):
            return of_inputs[known.node][known.axis] if known.node in of_inputs else 0
        return known if isinstance(known, int) else sizes.get(known, 0)

    return [
        np.empty((0, *[size(y, axis) for axis in range(-y.ndim, 0)]), y.dtype)
        for y in body.graph.outputs
    ]


def repeated(
    test: Callable[..., Sequence[Any]],
    run: Callable[..., Sequence[Any]],
    carries: int,
    values: Sequence[Any],
) -> tuple[Any, ...]:
    """Run the iterations of a ``while`` loop.

    Parameters
    ----------
    test, run : callable
        Compute its bodies, of an array for each input.
    carries : int
        How many values it carries.
    values : sequence of array
        The operands.

    Returns
    -------
    tuple of array
        The last values.
    """
    carried, rest = [np.array(x) for x in values[:carries]], values[carries:]
    while test(*carried, *rest)[0]:
        carried = list(run(*carried, *rest))
    return tuple([np.array(x) for x in carried])


def joined(a: TensorType, b: TensorType, what: str) -> TensorType:
    """Return the type of values that are of one of two types.

    Raises
    ------
    DTypeError, ShapeError
        For different dtypes, ranks or sizes.
    """
    if a.dtype != b.dtype:
        raise DTypeError(
            f"{what} is {a} on one side, and {b} on the other",
            fix="Convert one of them with .astype(...).",
        )
    pairs = list(zip(a.shape, b.shape, strict=False))
    if a.ndim != b.ndim or any(
        isinstance(x, int) and isinstance(y, int) and x != y for x, y in pairs
    ):
        raise ShapeError(
            f"{what} is {a} on one side, and {b} on the other",
            fix="Give both the same shape.",
        )
    return TensorType(a.dtype, [x if x == y else None for x, y in pairs])


def _check(given: TensorType, wanted: Input, what: str) -> None:
    joined(given, wanted.type, f"{what} {wanted.name!r}")


def _check_all(given: Iterable[TensorType], wanted: Iterable[Input], what: str) -> None:
    for x, y in zip(given, wanted, strict=False):
        _check(x, y, what)


__all__ = [
    "Body",
    "Cond",
    "Loop",
    "Scan",
    "WhileLoop",
    "closed",
    "is_loop",
    "joined",
    "repeated",
    "results_of",
    "scanned",
]
