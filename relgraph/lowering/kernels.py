"""Kernels: a graph as a list of steps, each of which is one loop nest or one call of an op.

A :class:`Kernel` holds its nodes, and a :class:`Structure`: ops, wiring, dtypes, and the axes that
each array spans.  Kernels of equal structure are one compiled function, called with other buffers
and constants, so a long regular graph compiles few functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from math import prod
from typing import Any

from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Constant, Variable, apply, constant
from relgraph.ir.op import Op
from relgraph.ir.records import record
from relgraph.lowering.refs import Ref, Slots, dtype_name
from relgraph.lowering.regions import CALL, MAP, REDUCE, Fusion, Regions, is_scalar
from relgraph.lowering.targets import Target, Update
from relgraph.lowering.views import Operand, channel
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.differentials import StopGradient
from relgraph.ops.inputs import Assume
from relgraph.ops.reductions import Sum


@record
class Statement:
    """One elementwise statement of a kernel: an op applied to references."""

    op: Op
    operands: tuple[Ref, ...]
    dtype: str


@record
class Fold:
    """One reduction of a kernel: an op such as ``sum`` applied to a reference."""

    op: Op
    operand: Ref
    dtype: str


@record
class Pass:
    """One pass of a kernel over a row, or statements that run once for each row.

    Attributes
    ----------
    inner
        Whether the pass runs over the elements of the row.
    rows, folds
        The range of its statements and of its reductions, as start and stop.
    stores
        The values that it writes, each with the index of the result.
    """

    inner: bool
    rows: tuple[int, int]
    folds: tuple[int, int]
    stores: tuple[tuple[Ref, int], ...]


@record
class Products:
    """The products of a kernel that reads a matrix in blocks of rows.

    Attributes
    ----------
    forward
        For each product X @ b, the indices of the operands X and b; statements read its elements.
    back
        For each product X.T @ r, the index of the operand X, and the statement or array r.
    stored
        The values that are written to the results, one for each row of X.
    """

    forward: tuple[tuple[int, int], ...]
    back: tuple[tuple[int, Ref], ...]
    stored: tuple[Ref, ...]


@record
class Structure:
    """Everything that the source of a kernel depends on; equal structures share a function.

    The axes of the loop nest are merged into *groups*: adjacent axes that the same arrays span, and
    that are all reduced or all kept, become one loop.

    Attributes
    ----------
    rows
        The statements, in order.
    folds
        The reductions, all over the same groups.
    arrays
        For each array operand, its dtype and, for each group, whether it spans the group.
    reduced
        For each group, whether the reductions reduce it.
    stored
        The statements whose values are written to arrays.
    passes
        The passes of a kernel that reads rows several times; the reduced groups are those of a row.
        Without passes, all statements run in one loop nest.
    results
        In a kernel with passes or products, the dtype of each result, and whether it spans the
        rows.
    products
        The products of a kernel that multiplies a matrix by vectors.  Its groups are the rows and
        the columns of the matrix; its results are those in ``results``, then its reductions, then
        its products with the transpose.
    strides
        For each array operand that is a view, and for each group that it spans, the stride in
        elements (None if it is known only at run time) and the axis of the array.  Empty for any
        other array, whose elements are contiguous in the order of the loops.
    channels
        For each array operand, another one from whose memory it is read, and how many elements
        after it; None for an array that is read from its own.  Empty if all are.
    tables
        The dtypes of the arrays that gathers read; these operands follow the others.
    targets
        For each of ``stored``, the part of an array that it is written to; None for an array of its
        own.  Empty if each has an array of its own.
    row
        The number of elements of the last group, if it is reduced or inside of a reduced one, and
        they are few: a kernel of its own then has no loop over them.
    """

    rows: tuple[Statement, ...]
    folds: tuple[Fold, ...]
    arrays: tuple[tuple[str, tuple[bool, ...]], ...]
    reduced: tuple[bool, ...]
    stored: tuple[int, ...]
    passes: tuple[Pass, ...] = ()
    results: tuple[tuple[str, bool], ...] = ()
    products: Products | None = None
    strides: tuple[tuple[tuple[int | None, int], ...], ...] = ()
    channels: tuple[tuple[int, int] | None, ...] = ()
    tables: tuple[str, ...] = ()
    targets: tuple[Target | None, ...] = ()
    row: int | None = None

    def operands(self, part: Pass | None = None) -> list[Ref]:
        """Return the operands of the statements, then of the reductions; of one pass, if given."""
        rows = self.rows if part is None else self.rows[slice(*part.rows)]
        folds = self.folds if part is None else self.folds[slice(*part.folds)]
        return [ref for row in rows for ref in row.operands] + [fold.operand for fold in folds]

    def slot_counts(self) -> dict[str, int]:
        """Return the number of constant slots of each dtype."""
        slots = sorted({(ref.dtype, ref.index) for ref in self.operands() if ref.kind == "slot"})
        return {dtype: 1 + index for dtype, index in slots}


@record(eq=False)
class Gather:
    """The indices of a gather in a kernel along one axis, which have to be checked.

    Attributes
    ----------
    node
        The gather, or an update.
    array, axis
        The array, and its axis.
    indices, furthest
        The indices, and the largest one.
    places
        The index of the array operand that holds the indices.
    """

    node: Variable
    array: Variable
    axis: int
    indices: Variable
    furthest: Variable
    places: int


@record(eq=False)
class Kernel:
    """A loop nest over part of a graph: what it reads, computes and writes.

    Attributes
    ----------
    structure
        Everything that the source depends on.
    shape
        The shape of the loop nest, as far as the types of the nodes say.
    groups
        The axes of the loop nest that each group merges.
    arrays
        The array operands.
    scalars
        The scalar constants, one for each use.
    slots
        The constants of each dtype, which are packed into one argument.
    stored, folded
        The results: those of statements, and those of reductions.
    nodes
        All nodes that it computes.
    parts
        The steps that a kernel with passes or products was joined from.  Its results are all in
        ``stored``, and its loop nest is that of the first part.
    repeated
        The scalars that it computes again, as other kernels may too.
    tables
        The arrays that gathers read.
    gathers
        The indices that are checked before it runs.
    updates
        The updates among ``stored``.
    """

    structure: Structure
    shape: tuple[Any, ...]
    groups: tuple[tuple[int, ...], ...]
    arrays: tuple[Variable, ...]
    scalars: tuple[Constant, ...]
    slots: dict[str, tuple[Constant, ...]]
    stored: tuple[Variable, ...]
    folded: tuple[Variable, ...]
    nodes: tuple[Variable, ...]
    parts: tuple[Step, ...] = ()
    repeated: tuple[Variable, ...] = ()
    tables: tuple[Variable, ...] = ()
    gathers: tuple[Gather, ...] = ()
    updates: tuple[Update, ...] = ()

    @property
    def reads(self) -> tuple[Variable, ...]:
        """The values that it reads."""
        if not self.tables and not self.updates:
            return self.arrays
        values = [*self.arrays, *self.tables, *(gather.furthest for gather in self.gathers)]
        values += [x for update in self.updates for x in update.reads]
        return tuple(dict.fromkeys(values))

    @property
    def reductions(self) -> tuple[tuple[Variable, Kernel], ...]:
        """The reductions that it computes, each with the kernel that loops over its operand."""
        parts = (self,) if not self.parts else self.parts
        return tuple((x, part) for part in parts if isinstance(part, Kernel) for x in part.folded)

    @property
    def scanned(self) -> tuple[Variable, ...]:
        """The cumulative ops that it computes, all along one axis."""
        return tuple(filter(is_scan, self.nodes))

    @property
    def results(self) -> tuple[Variable, ...]:
        """The values that it computes and stores."""
        return self.stored + self.folded


@record(eq=False)
class Call:
    """One op that its NumPy implementation or a library computes."""

    node: Variable

    @property
    def reads(self) -> tuple[Variable, ...]:
        """The values that it reads."""
        return self.node.inputs

    @property
    def results(self) -> tuple[Variable, ...]:
        """The value that it computes."""
        return (self.node,)


Step = Kernel | Call


def without_assumptions(graph: FunctionGraph) -> FunctionGraph:
    """Return the graph without ``assume`` and ``stop_gradient``, which compute nothing."""
    nothing = (Assume, StopGradient)
    if not any(isinstance(node.op, nothing) for node in graph):
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        return inputs[0] if isinstance(node.op, nothing) else apply(node.op, inputs)

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def schedule(graph: FunctionGraph, fusion: Fusion) -> list[Step]:
    """Return the steps that compute a graph.

    Each step comes after those whose results it reads, in an order that keeps live ranges short.
    """
    regions = Regions(graph, fusion)
    steps: list[Step] = [
        Call(node) for node, role in zip(regions.order, regions.role, strict=True) if role == CALL
    ]
    pieces: list[tuple[list[int], bool]] = []
    for region in regions.groups():
        cut = regions.cut(region)
        pieces.extend((piece, len(cut) > 1) for piece in cut)
    steps.extend(_within_budget(regions, pieces))
    return ordered(graph, steps)


def _within_budget(regions: Regions, pieces: Iterable[tuple[list[int], bool]]) -> list[Kernel]:
    """Build the kernels; pieces beyond the budget for compilation get one kernel for each op."""
    fusion = regions.fusion
    kernels: list[Kernel] = []
    for piece, regular in pieces:
        for part in _by_axes(regions, piece):
            kernels.append(build(regions, part, regular))
    uses = Counter(kernel.structure for kernel in kernels)
    weight = {k.structure: sum(map(fusion.weight, k.nodes)) for k in kernels}
    if sum(weight.values()) <= fusion.budget:
        return kernels
    remaining = fusion.budget
    kept = set()
    for structure, _ in uses.most_common():
        remaining -= weight[structure]
        if remaining < 0:
            break
        kept.add(structure)
    result = []
    for kernel in kernels:
        if kernel.structure in kept:
            result.append(kernel)
        else:
            result.extend(build(regions, [regions.place[x]], True) for x in kernel.nodes)
    return result


def _by_axes(regions: Regions, piece: list[int]) -> list[list[int]]:
    """Split off the reductions and cumulative ops over other axes than those of the first one.

    Cumulative ops run in kernels with passes, which do not gather, so a piece with gathers splits
    off all of them.
    """
    main: list[int] = []
    other: dict[Hashable, list[int]] = {}
    first: Hashable = None
    gathers = any(regions.order[i] in regions.furthest for i in piece)
    for i in piece:
        if regions.role[i] != REDUCE:
            main.append(i)
            continue
        node = regions.order[i]
        axes = (is_scan(node), reduced_axes(node))
        alone = gathers and is_scan(node)
        if first is None and not alone:
            first = axes
        if axes == first and not alone:
            main.append(i)
        else:
            other.setdefault((axes, node.inputs[0]), []).append(i)
    return [main, *other.values()]


def reduced_axes(node: Variable) -> tuple[int, ...]:
    """Return the axes of a reduction or a cumulative op, counted from the front."""
    ndim = node.inputs[0].ndim
    axis = node.op.params[0]  # type: ignore[union-attr]
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % ndim for a in axes))


FEW, VECTOR = 4, 8  # elements of a row for which functions such as exp need no other rows
NARROW = 2  # how many times as long a short row may be whose float32 elements are only added
TOTALS = 12  # totals that stay in registers, of which AVX2 has 16


def short_row(
    loop: Sequence[Any],
    groups: Sequence[Sequence[int]],
    reduced: Sequence[int],
    nodes: Sequence[Variable],
    fusion: Fusion,
) -> int | None:
    """Return the constant length of a short row, which a kernel unrolls, or None.

    A reduction reduces the row itself, or the axis before it: then there are at most ``TOTALS``.
    """
    last = groups[-1]
    sizes = [loop[axis] for axis in last]
    if not last or not reduced or len(last) == len(loop) or any(map(is_scan, nodes)):
        return None
    reductions = [x for x in nodes if x.op is not None and fusion.reduces(x)]
    narrow = all([isinstance(x.op, Sum) and x.dtype.name == "float32" for x in reductions])
    longest = fusion.short_row * (NARROW if narrow else 1)
    if not all([isinstance(n, int) for n in sizes]) or not 1 < prod(sizes) <= longest:
        return None
    # Functions such as exp need full vectors: lowering.nests.short_rows makes them of more rows.
    cheap = max(map(fusion.weight, nodes)) <= 1 or prod(sizes) <= FEW
    if last[0] not in reduced:
        inside = any([g[0] in reduced for g in groups[-2:-1] if g])
        fits = prod(sizes) * len(reductions) <= TOTALS
        return prod(sizes) if inside and fits and cheap else None
    return prod(sizes) if cheap or prod(sizes) % VECTOR == 0 else None


def build(regions: Regions, piece: Sequence[int], regular: bool) -> Kernel:
    """Build the kernel of a piece of a region.

    If the piece is one of several ``regular`` ones, every use of a constant gets its own slot, so
    that pieces share a kernel no matter which of their constants are equal.
    """
    return _Builder(regions, piece, regular).kernel()


class _Builder:
    def __init__(self, regions: Regions, piece: Sequence[int], regular: bool) -> None:
        self.regions = regions
        self.nodes = [regions.order[i] for i in piece]
        self.inside = set(piece)
        self.loop: tuple[Any, ...] = regions.loop(piece[0])  # type: ignore[assignment]
        self.arrays: dict[Variable | tuple[Variable, Variable | int | str], int] = {}
        self.tables: dict[Variable, int] = {}
        self.gathers: list[Gather] = []
        self.scalars: list[Constant] = []
        self.slots = Slots(shared=not regular)
        self.row_of: dict[Variable, Ref] = {}
        self.rows: list[Statement] = []
        self.repeated: list[Variable] = []
        self.folds: list[Fold] = []
        self.stored: list[Variable] = []
        self.folded: list[Variable] = []
        self.axes: tuple[int, ...] = ()  # those that are reduced

    def kernel(self) -> Kernel:
        for node in self.nodes:
            self._note(node)
        views = self.regions.fusion.views
        operands = [
            Operand(x[0], x[0].ndim - len(self.loop), False)  # the indices that the program checked
            if isinstance(x, tuple)
            else Operand(x, x.ndim - len(self.loop), views)
            for x in self.arrays
        ]
        groups = merged_axes(self.loop, self.axes, operands)
        structure = Structure(
            tuple(self.rows),
            tuple(self.folds),
            tuple((dtype_name(x.x), spanned(x, groups)) for x in operands),
            tuple(bool(self.folds) and (not g or g[0] in self.axes) for g in groups),
            tuple(self.row_of[x].index for x in self.stored),
            strides=tuple(x.strides(groups) for x in operands),
            channels=_channels(operands),
            tables=tuple(map(dtype_name, self.tables)),
            row=short_row(self.loop, groups, self.axes, self.nodes, self.regions.fusion),
        )
        return Kernel(
            structure,
            self.loop,
            groups,
            tuple(x.x for x in operands),
            tuple(self.scalars),
            self.slots.packed(),
            tuple(self.stored),
            tuple(self.folded),
            tuple(self.nodes),
            repeated=tuple(self.repeated),
            tables=tuple(self.tables),
            gathers=tuple(self.gathers),
        )

    def _note(self, node: Variable) -> None:
        """Add a node as a statement, which is stored if others read it, or as a reduction."""
        regions = self.regions
        place = regions.place[node]
        self._repeat(node)
        assert node.op is not None
        if regions.role[place] == MAP or is_scan(node):
            self._row(node)
            if place in regions.outputs or any(
                j not in self.inside and regions.is_read(place, j) for j in regions.users[place]
            ):
                self.stored.append(node)
        else:
            self.axes = reduced_axes(node)
            operand = self._ref(node.inputs[0], False)
            self.folds.append(Fold(bare(node.op), operand, dtype_name(node)))
            self.folded.append(node)

    def _repeat(self, node: Variable) -> None:
        """Compute the scalars again that an op reads."""
        stack = list(node.inputs)
        missing = []
        while stack:
            x = stack.pop()
            place = self.regions.place[x]
            if place in self.regions.repeated and place not in self.inside:
                missing.append(x)
                stack.extend(x.inputs)
        for x in sorted(missing, key=self.regions.place.__getitem__):
            if x not in self.row_of:
                self.repeated.append(x)
                self._row(x)

    def _row(self, node: Variable) -> None:
        assert node.op is not None
        refs: tuple[Ref, ...]
        if node in self.regions.furthest:
            refs = self._gathered(node)
        else:
            literals = self.regions.fusion.literals(node)
            refs = tuple(self._ref(x, i in literals) for i, x in enumerate(node.inputs))
        self.row_of[node] = Ref("row", len(self.rows), dtype_name(node))
        op = bare(node.op) if is_scan(node) else node.op
        self.rows.append(Statement(op, refs, dtype_name(node)))

    def _gathered(self, node: Variable) -> tuple[Ref, ...]:
        """Return the operands of a gather: its array, the first indices, then sizes and indices.

        Axes of one size share the array of indices.
        """
        array, *indices = node.inputs
        table = self.tables.setdefault(array, len(self.tables))
        refs = [Ref("table", table, dtype_name(array))]
        for axis, (x, size) in enumerate(zip(indices, array.type.shape, strict=True)):
            if axis:
                refs.append(self._ref(constant(size, dtype="int64"), False))
            furthest = self.regions.furthest[node][axis]
            if furthest is None:
                refs.append(self._ref(x, False))
                continue
            key = (x, array if size is None else size)
            place = self.arrays.setdefault(key, len(self.arrays))
            self.gathers.append(Gather(node, array, axis, x, furthest, place))
            refs.append(Ref("array", place, dtype_name(x)))
        return tuple(refs)

    def _ref(self, x: Variable, literal: bool) -> Ref:
        if x in self.row_of:
            return self.row_of[x]
        if isinstance(x, Constant) and is_scalar(x):
            self.scalars.append(x)
            return self.slots.ref(x, literal)
        index = self.arrays.setdefault(x, len(self.arrays))
        return Ref("array", index, dtype_name(x))


def _channels(operands: Sequence[Operand]) -> tuple[tuple[int, int] | None, ...]:
    """Return, for each operand, the one from whose memory it is read, and how far apart they are.

    LLVM then reads the elements of all channels together, in whole vectors.
    """
    together: dict[Hashable, list[tuple[int, int]]] = {}
    for i, x in enumerate(operands):
        here = channel(x.x) if x.in_place else None
        if here is not None:
            together.setdefault(here[0], []).append((here[1], i))
    result: list[tuple[int, int] | None] = [None] * len(operands)
    for members in together.values():
        first, base = min(members)
        for number, i in members if len(members) > 1 else ():
            result[i] = base, number - first
    return tuple(result) if any(result) else ()


def merged_axes(
    loop: Sequence[Any], reduced: Collection[int], operands: Sequence[Operand]
) -> tuple[tuple[int, ...], ...]:
    """Merge adjacent axes that all operands treat alike into groups.

    Axes of size 1 need no loop.  If no axis needs one, there is a single empty group.
    """
    runs = [operand.runs(len(loop)) for operand in operands if operand.in_place]
    groups: list[list[int]] = []
    previous: tuple[int, ...] | None = None
    for axis, dim in enumerate(loop):
        if dim == 1:
            continue
        column = (axis in reduced, *[x.spans(axis) for x in operands], *[run[axis] for run in runs])
        if column == previous:
            groups[-1].append(axis)
        else:
            groups.append([axis])
        previous = column
    return tuple(map(tuple, groups)) or ((),)


def spanned(operand: Operand, groups: tuple[tuple[int, ...], ...]) -> tuple[bool, ...]:
    """Return for each group of axes whether an array spans it."""
    return tuple(not group or operand.spans(group[0]) for group in groups)


def is_scan(node: Variable) -> bool:
    """Return True if a node is a cumulative op, each of whose results needs the one before it."""
    return isinstance(node.op, Cumulative)


def bare(op: Op) -> Op:
    """Return a reduction or a cumulative op without its axes, which the loop nest determines."""
    if isinstance(op, Cumulative):
        return type(op)(-1)  # type: ignore[no-any-return]
    return type(op)(*(None if name == "axis" else False for name in op.parameters))  # type: ignore[no-any-return]


def ordered(graph: FunctionGraph, steps: Sequence[Step]) -> list[Step]:
    """Order steps depth first from the outputs, which keeps live ranges short.

    The schedule must be acyclic; the passes that join steps guarantee it.
    """
    producer: dict[Variable, int] = {}
    for i, step in enumerate(steps):
        for node in step.results:
            producer[node] = i
    begun: set[int] = set()
    done: set[int] = set()
    result: list[Step] = []
    stack = [producer[x] for x in reversed(graph.outputs) if x in producer]
    while stack:
        i = stack[-1]
        if i in done:
            stack.pop()
            continue
        waiting = [producer[x] for x in steps[i].reads if x in producer and producer[x] not in done]
        if waiting:
            assert i not in begun, f"the steps wait for each other: {steps[i]}"
            begun.add(i)
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        done.add(i)
        result.append(steps[i])
    return result


__all__ = [
    "Call", "Fold", "Gather", "Kernel", "Pass", "Products", "Statement", "Step",
    "Structure", "schedule",
]  # fmt: skip
