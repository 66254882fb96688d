"""``rg.cost``: what a compiled program computes, moves, calls and holds in memory.

The graph is divided into kernels and library calls as the CPU back end divides it, without
compiling them.  Operations are those of each op's own rule.  A kernel reads and writes only its
operands and results; a call moves those of its op.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from relgraph.backends.report import library_calls, loops
from relgraph.errors import ArgumentError, checks_arguments, kind_of
from relgraph.ir.cost import Several, Sized, nbytes
from relgraph.ir.dispatch import traceable
from relgraph.ir.graph import FunctionGraph, as_graph, is_tensor
from relgraph.ir.infix import brief
from relgraph.ir.machine import FIXED, Machine
from relgraph.ir.node import Variable
from relgraph.ir.op import GetItem, Op
from relgraph.ir.polynomial import Number, Polynomial, at, at_most, most
from relgraph.ir.sizes import Equalities, Place, Size, size_at
from relgraph.ir.types import TensorType, TupleType
from relgraph.lowering.buffers import last_reads, plan
from relgraph.lowering.kernels import Kernel, Step
from relgraph.lowering.sizes import Sizes
from relgraph.lowering.views import is_view
from relgraph.ops.shape import BroadcastTo
from relgraph.viz.display import Displayed

MEASURES = ("flops", "bytes", "kernels", "library_calls", "peak_memory")


@dataclass(frozen=True)
class Work:
    """The work of one step.

    Attributes
    ----------
    op : Op or None
        The op of a library call; None for a kernel.
    operations : tuple of (str, int or Polynomial)
        Its operations by rate.
    bytes : int or Polynomial
        The bytes that it reads and writes.
    itemsize : int
        The bytes of one element of its result.
    calls : int or Polynomial
        How many calls of the library it makes.
    """

    op: Op | None
    operations: tuple[tuple[str, Number], ...]
    bytes: Number
    itemsize: int
    calls: Number = 1

    @property
    def flops(self) -> Number:
        """All of its operations."""
        return _total([n for _, n in self.operations])

    def at(self, sizes: Mapping[str, int]) -> Work:
        """Return the work for given sizes."""
        operations = tuple([(rate, at(n, sizes)) for rate, n in self.operations])
        moved, calls = at(self.bytes, sizes), at(self.calls, sizes)
        return Work(self.op, operations, moved, self.itemsize, calls)

    def seconds(self, machine: Machine) -> float:
        """Return the estimated time, for sizes that are numbers."""
        counts = [*(n for _, n in self.operations), self.bytes, self.calls]
        names = sorted({name for n in counts for name in getattr(n, "names", ())})
        if names:
            raise ArgumentError(
                f"a time depends on the sizes {', '.join(names)}",
                fix=f"Give them: rg.cost(graph, sizes={{{names[0]!r}: 1000, ...}}), or .at(...).",
            )
        operations: Any = self.operations
        counted: Any = self.bytes, self.itemsize, self.calls
        return machine.seconds(self.op, operations, *counted)


@dataclass(frozen=True, repr=False)
class Cost(Displayed):
    """The cost of a program.

    Over static sizes, the measures are ints.  Over sizes with names, they are polynomials; an
    unknown size is called by the place where it is read, as in ``x.shape[0]``.

    Attributes
    ----------
    flops : int or Polynomial
        Floating-point operations.  Elementwise functions count as in the table of ops.
    bytes : int or Polynomial
        The bytes that kernels and calls read and write.
    kernels : int
        How many compiled loops one call of the program runs.
    library_calls : int
        How many ops NumPy, BLAS or LAPACK compute; views don't count.
    peak_memory : int or Polynomial
        The most bytes that temporaries and results take at one time, without the arguments and the
        workspace of libraries.
    """

    flops: Number
    bytes: Number
    kernels: int
    library_calls: int
    peak_memory: Number
    steps: tuple[Work, ...]
    machine: Machine

    @property
    def seconds(self) -> float:
        """The estimated time of one call of the program, by the figures of the machine."""
        return sum([step.seconds(self.machine) for step in self.steps])

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes that the cost depends on."""
        polynomials = [x for x in (self.flops, self.bytes, self.peak_memory) if not _is_int(x)]
        return tuple(sorted({name for x in polynomials for name in x.names}))  # type: ignore[union-attr]

    @checks_arguments
    def at(self, sizes: Mapping[str, int] | None = None, **named: int) -> Cost:
        """Return the cost for given sizes.

        Parameters
        ----------
        sizes : mapping of str to int, optional
            Values of sizes, by name.
        **named : int
            More of them.

        Returns
        -------
        Cost
            Its measures are ints if no other size is left.  A fraction is rounded down.

        Raises
        ------
        ArgumentError
            For a name that the cost does not depend on, or a size that is no integer from 0.
        """
        values = {**(sizes or {}), **named}
        for name, value in values.items():
            if name not in self.names:
                raise ArgumentError(
                    f"the cost does not depend on a size {name!r}",
                    {"sizes": ", ".join(self.names) or "none"},
                    "Give values of these sizes.",
                )
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ArgumentError(
                    f"the size {name} is an integer from 0, not {value!r}", fix="Give an int."
                )
        return replace(
            self,
            flops=at(self.flops, values),
            bytes=at(self.bytes, values),
            peak_memory=at(self.peak_memory, values),
            steps=tuple([step.at(values) for step in self.steps]),
        )

    @checks_arguments
    def compare(
        self, other: Cost, measure: str = "flops", assuming: Mapping[str, int] | None = None
    ) -> int | None:
        """Compare a measure with that of another cost, for all sizes.

        Parameters
        ----------
        other : Cost
            The other cost.
        measure : {"flops", "bytes", "kernels", "library_calls", "peak_memory", "seconds"}
            What to compare.  For "seconds", no cost may depend on sizes: the time is no polynomial.
        assuming : mapping of str to int, optional
            For a size, the least value to consider, 1 by default.

        Returns
        -------
        int or None
            -1 if this cost is at most the other one for all such sizes, 0 if they are equal, 1 if
            the other one is at most this one; None if neither is known.

        Raises
        ------
        ArgumentError
            For a measure that does not exist, what is no Cost, or times that depend on sizes.

        Examples
        --------
        >>> import relgraph as rg
        >>> A, B = rg.matrices("A B", shape=("n", "n"))
        >>> x = rg.vector("x", shape=("n",))
        >>> rg.cost(A @ (B @ x)).compare(rg.cost((A @ B) @ x))
        -1
        >>> few, many = rg.cost(rg.exp(x), sizes={"n": 9}), rg.cost(rg.exp(x), sizes={"n": 9000})
        >>> few.compare(many, "seconds")
        -1
        """
        if not isinstance(other, Cost):
            raise ArgumentError(
                f"a cost compares with a cost, not with {kind_of(other)}",
                fix="Write cost.compare(rg.cost(graph)).",
            )
        if measure == "seconds":
            if assuming:
                raise ArgumentError(
                    "times have no least sizes to assume: they compare for sizes with values",
                    fix="Write rg.cost(graph, sizes={...}).compare(other, 'seconds').",
                )
            return (self.seconds > other.seconds) - (self.seconds < other.seconds)
        if measure not in MEASURES:
            raise ArgumentError(
                f"there is no measure {measure!r}",
                {"measures": ", ".join((*MEASURES, "seconds"))},
                "Use one of these.",
            )
        shifts: dict[str, Any] = {
            name: Polynomial.of(name) + (value - 1) for name, value in (assuming or {}).items()
        }
        one, two = (at(getattr(x, measure), shifts) for x in (self, other))
        if one == two:
            return 0
        if at_most(one, two):
            return -1
        return 1 if at_most(two, one) else None

    def __repr__(self) -> str:
        lines = [(name, _shown(getattr(self, name))) for name in MEASURES]
        if not self.names:
            lines.append(("seconds", f"{self.seconds:.3g}"))
        return "\n".join(f"{name:<14}{text}" for name, text in lines)


@traceable
def cost(
    graph: Any, sizes: Mapping[str, int] | None = None, machine: Machine | str = "fixed"
) -> Cost:
    """Return the cost of the program that the CPU back end makes of a graph.

    Parameters
    ----------
    graph : Variable, list or tuple or dict of Variable, FunctionGraph, or Function
        The graph, which is not rewritten first.
    sizes : mapping of str to int, optional
        Values of sizes with names.  Without them the measures are polynomials in the names.
    machine : {"fixed", "measured"} or Machine
        The figures for the time: the same on all machines, or measured once on this one, which
        takes a second, and kept on disk.

    Returns
    -------
    Cost
        ``flops``, ``bytes``, ``kernels``, ``library_calls``, ``peak_memory`` and ``seconds``.

    Raises
    ------
    ArgumentError
        For an unknown machine, or a size that the cost does not depend on.

    Examples
    --------
    >>> import relgraph as rg
    >>> A, B = rg.matrices("A B", shape=("n", "n"))
    >>> rg.cost(A @ B + B)
    flops         2*n**3 + n**2
    bytes         48*n**2
    kernels       1
    library_calls 1
    peak_memory   8*n**2
    >>> rg.cost(A @ B + B, sizes={"n": 1000}).flops
    2001000000
    """
    result = _cost_on(as_graph(graph), _machine_of(machine))
    return result if sizes is None else result.at(sizes)


def _cost_on(whole: FunctionGraph, machine: Machine) -> Cost:
    from relgraph.backends.numba.schedules import FUSION, planned

    lowered, steps = planned(whole, FUSION)
    types = _Types([*whole, *lowered, *(x for step in steps for x in _nodes(step))])
    works = [_work(step, types) for step in steps]
    return Cost(
        _total(x.flops for x in works),
        _total(x.bytes for x in works),
        loops(steps),
        len(library_calls(steps)),
        _peak(lowered, steps, types),
        tuple(works),
        machine,
    )


def works(graph: FunctionGraph, steps: list[Step]) -> list[Work]:
    """Return the work of each step of a program.

    Parameters
    ----------
    graph : FunctionGraph
        The graph that the steps compute.
    steps : list of Step
        Its kernels and calls.

    Returns
    -------
    list of Work
        Over sizes with names, polynomials.
    """
    types = _Types([*graph, *(x for step in steps for x in _nodes(step))])
    return [_work(step, types) for step in steps]


def _machine_of(machine: Machine | str) -> Machine:
    if isinstance(machine, Machine):
        return machine
    if machine == "fixed":
        return FIXED
    if machine == "measured":
        from relgraph.costs.measured import measured

        return measured()
    shown = repr(machine) if isinstance(machine, str) else kind_of(machine)
    raise ArgumentError(
        f"a machine is 'fixed', 'measured' or a Machine, not {shown}",
        fix="Use 'fixed' for figures that are the same everywhere.",
    )


class _Types:
    """The types of nodes as rules of cost read them: each size an int or a polynomial.

    The unknown sizes that the nodes need to be equal are one.
    """

    def __init__(self, nodes: Iterable[Variable]) -> None:
        self._equalities = Equalities()
        self._known: dict[Variable, Any] = {}
        self._computed: dict[Variable, Any] = {}
        distinct = list(dict.fromkeys(nodes))
        for node in distinct:
            self._equalities.learn(node)
        for node in distinct:  # operands first, so that no walk is deep
            self.of(node)

    def of(self, node: Variable) -> Any:
        """Return the type of a node."""
        type_ = self._known.get(node)
        if type_ is None:
            type_ = self._known[node] = self._sized(node)
        return type_

    def _sized(self, node: Variable) -> Any:
        type_ = node.type
        if isinstance(type_, TupleType):
            return Several(tuple([_item(node, i, x) for i, x in enumerate(type_.items)]))
        shape = type_.shape
        if None not in shape:
            return Sized(type_.dtype, tuple(map(_named, shape)), type_.layout)
        return Sized(type_.dtype, tuple([self._size(node, i) for i in range(-len(shape), 0)]))

    def _size(self, node: Variable, axis: int) -> Any:
        """Return the size of a node along an axis, which counts from the end."""
        size = self._equalities.find(size_at(node, axis))
        source = size.node if isinstance(size, Place) else None
        if source is None or source.op is None:
            return _named(size)
        if source in self._computed:
            computed = self._computed[source]
        else:
            self._computed[source] = None  # if a size depends on itself, it has a name
            shapes = [self.of(x).shape if is_tensor(x) else () for x in source.inputs]
            computed = self._computed[source] = source.op.result_sizes(shapes)
        return _named(size) if computed is None else computed[size.axis]  # type: ignore[union-attr]

    def work(self, node: Variable) -> tuple[tuple[str, Number], ...]:
        """Return the operations of an application by rate."""
        if node.op is None:
            return ()
        types, result = tuple(map(self.of, node.inputs)), self.of(node)
        return node.op.work(node.op.node_flops(node.inputs, types, result), types, result)

    def bytes(self, node: Variable) -> Number:
        """Return the bytes of a value that a step reads or writes; repeated elements count once."""
        while isinstance(node.op, BroadcastTo):
            node = node.inputs[0]
        return nbytes(self.of(node))


def _named(size: Size | None) -> Any:
    """Return a size as a rule reads it."""
    if isinstance(size, Place):
        axis = size.axis + size.node.ndim
        return Polynomial.of(f"{brief(size.node, 24)}.shape[{axis}]")
    return Polynomial.of(size) if isinstance(size, str) else size


def _item(node: Variable, index: int, type_: TensorType) -> Sized:
    """Return the type of one result of several; what it leaves open is named by its place."""
    text = brief(node, 24)
    dims = [
        Polynomial.of(f"{text}[{index}].shape[{axis}]") if dim is None else _named(dim)
        for axis, dim in enumerate(type_.shape)
    ]
    return Sized(type_.dtype, tuple(dims))


def _nodes(step: Step) -> tuple[Variable, ...]:
    """Return the nodes that a step computes, as often as it computes them."""
    return step.nodes + step.repeated if isinstance(step, Kernel) else (step.node,)


def _work(step: Step, types: _Types) -> Work:
    op = None if isinstance(step, Kernel) else step.node.op
    parts = [part for node in _nodes(step) for part in types.work(node)]
    if op is None:  # whatever it computes, a kernel is a loop
        parts = [("loop", _total([n for _, n in parts]))]
    if op is not None and op.view:
        return Work(op, tuple(parts), 0, 8)
    moved = _total(map(types.bytes, dict.fromkeys((*step.reads, *step.results))))
    if op is not None:
        moved = _plain(moved - op.unread(tuple(map(types.of, _nodes(step)[0].inputs))))
    dtype = getattr(step.results[0].type, "dtype", None)
    calls: Number = 1
    if op is not None:
        (node,) = _nodes(step)
        calls = op.calls(tuple(map(types.of, node.inputs)), types.of(node))
    return Work(op, tuple(parts), moved, 8 if dtype is None else dtype.itemsize, calls)


def _peak(graph: FunctionGraph, steps: list[Step], types: _Types) -> Number:
    """Return the most bytes that are live at one time."""
    takes = plan(graph, steps, Sizes(graph, steps)).takes
    last = last_reads(graph, steps)
    kept = set(graph.outputs)
    owner: dict[Variable, Variable] = {}  # the value that is computed first in its memory
    first: dict[Variable, int] = {}
    final: dict[Variable, int] = {}
    for i, step in enumerate(steps):
        for x in step.results:
            end = len(steps) if x in kept else last.get(x, i)
            if isinstance(x.op, GetItem):  # a result outlives the tuple that it was in
                owner[x], first[x] = x, last.get(x.inputs[0], i) + 1
                final[x] = max(first[x] - 1, end)
                continue
            source = takes.get(x)
            if source is None and x.op is not None and (x.op.view or is_view(x)) and x.inputs:
                source = x.inputs[0]
            if source is None:
                owner[x] = x
                first[x] = i
            elif source in owner:
                owner[x] = owner[source]
            else:
                continue  # a view of an argument
            final[owner[x]] = max(final.get(owner[x], i), end)
    changes: list[Number] = [0] * (len(steps) + 2)
    for x, i in first.items():
        amount = types.bytes(x)
        changes[i] = changes[i] + amount
        changes[final[x] + 1] = changes[final[x] + 1] - amount
    return _plain(most(dict.fromkeys(accumulate(changes[: len(steps)], initial=0))))


def _total(numbers: Iterable[Number]) -> Number:
    total: Number = 0
    for number in numbers:
        total = total + number
    return _plain(total)


def _plain(number: Number) -> Number:
    return number if isinstance(number, int) else number.number()


def _is_int(number: Number) -> bool:
    return isinstance(number, int)


def _shown(number: Number) -> str:
    return f"{number:,}" if isinstance(number, int) else str(number)


__all__ = ["Cost", "Work", "cost", "works"]
