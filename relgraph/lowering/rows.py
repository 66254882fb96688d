"""Rows: kernels over the same rows join into one kernel with several passes over each row.

A kernel that reduces the last axes ends where other steps read its result along the same rows;
softmax takes three kernels.  Joined, they read each row while it is in cache, and values that are
computed once for a row run between the passes.  A cheap value that several passes need is computed
in each of them.  An expensive one is kept in the row of a result of its dtype until that result is
written, or else in an array of its own.

A cumulative op along the last axis is also part of a row.  Along another axis it shares a kernel
only with elementwise ops, because each element depends on those before it in its column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Variable
from relgraph.lowering.clusters import Cluster, Clusters
from relgraph.lowering.kernels import (
    Call,
    Fold,
    Kernel,
    Pass,
    Statement,
    Step,
    Structure,
    bare,
    is_scan,
    merged_axes,
    ordered,
    reduced_axes,
    short_row,
    spanned,
)
from relgraph.lowering.refs import Ref, Slots, dtype_name
from relgraph.lowering.regions import Fusion, is_scalar
from relgraph.lowering.sizes import Terms, is_view_of_axes
from relgraph.lowering.views import Operand
from relgraph.ops.reductions import LogSumExp

LOG_SUM = LogSumExp(None, False)  # over all elements: it has its own kernel
CHEAP = 6  # up to this weight, a value is computed again rather than kept in a result
EXPENSIVE = 20  # up to this weight, it is computed again rather than kept in its own array


def join_rows(graph: FunctionGraph, steps: Sequence[Step], fusion: Fusion) -> list[Step]:
    """Return a schedule in which the kernels over the same rows are joined."""
    if not any(isinstance(x, Kernel) and (x.scanned or _reduces_rows(x)) for x in steps):
        return list(steps)
    rows = _Rows(graph, steps, fusion)
    clusters = rows.build()
    if not clusters:
        return list(steps)
    joined = {i for cluster in clusters for i in cluster.members}
    result = [step for i, step in enumerate(steps) if i not in joined]
    for cluster in clusters:
        members = {steps[i]: i in cluster.full for i in cluster.members}
        lead, row, _ = cluster.key
        axes = range(len(lead), len(lead) + len(row))
        builder = _Builder(members, axes, rows.read_outside(cluster), fusion)
        result.append(builder.kernel())
        result.extend(x for x in members if isinstance(x, Call) and x.node in builder.outside)
    return ordered(graph, result)


def _reduces_rows(step: Kernel) -> bool:
    """Return True if a kernel reduces its last axes and keeps others."""
    if not step.folded:
        return False
    first, ndim = row_start(step), len(step.shape)
    return (
        first is not None
        and 0 < first < ndim
        and any(dim != 1 for dim in step.shape[:first])
        and any(dim != 1 for dim in step.shape[first:])
    )


def row_start(step: Kernel) -> int | None:
    """Return the first of the last axes that a kernel reduces; None if it reduces others."""
    ndim = len(step.shape)
    axes = reduced_axes(step.folded[0])
    return ndim - len(axes) if axes == tuple(range(ndim - len(axes), ndim)) else None


def scan_axis(step: Kernel) -> int:
    """Return the axis of the cumulative ops of a kernel, counted from the front."""
    (axis,) = reduced_axes(step.scanned[0])
    return axis


class _Rows(Clusters):
    """Steps over the same rows; their key is the sizes of the axes before, in and after a row."""

    def seed(self, step: Step) -> tuple[Terms, Terms, Terms] | None:
        """Start a cluster at a kernel that reduces its last axes, or at a cumulative op."""
        if not isinstance(step, Kernel) or step.tables:
            return None
        loop = self.loop(step)
        if step.scanned:
            axis = scan_axis(step)
            return loop[:axis], loop[axis : axis + 1], loop[axis + 1 :]
        if not _reduces_rows(step):
            return None
        first = row_start(step)
        return loop[:first], loop[first:], ()

    def kind(self, step: Step, cluster: Cluster) -> str | None:
        """Accept kernels over all elements or over one for each row, and the views between them."""
        lead, row, after = map(self.sizes.find_all, cluster.key)
        if isinstance(step, Kernel) and step.scanned and scan_axis(step) != len(lead):
            return None
        if after:
            if isinstance(step, Call) or step.tables or step.folded:
                return None
            whole = lead + row + after
            same = all(self.shape(x) == whole for x in self.operands_in(step, cluster))
            return "full" if same and self.loop(step) == whole else None
        ones = (1,) * len(row)
        if isinstance(step, Call):
            if not is_view_of_axes(step.node):
                return None
            before, after = self.shape(step.node.inputs[0]), self.shape(step.node)
            return "alias" if {before, after} == {lead, lead + ones} else None
        if step.tables:
            return None
        loop = self.loop(step)
        kind = "full" if loop == lead + row else "outer"
        if step.folded and (kind == "outer" or row_start(step) != len(lead)):
            return None
        if step.scanned and (kind == "outer" or len(row) != 1):
            return None
        if any(bare(x.op) is LOG_SUM for x in step.folded):  # type: ignore[arg-type]
            return None
        if kind == "outer" and loop not in (lead, lead + ones):
            return None
        allowed = {lead} if loop == lead else {lead + ones, lead + row}
        return (
            kind if all(self.shape(x) in allowed for x in self.operands_in(step, cluster)) else None
        )

    def complete(self, cluster: Cluster) -> bool:
        """Return True if a cluster is worth joining; a cumulative op needs such a kernel anyway."""
        return super().complete(cluster) or any(
            isinstance(self.steps[i], Kernel) and self.steps[i].scanned  # type: ignore[union-attr]
            for i in cluster.members
        )


class _Builder:
    """Builds the kernel of a cluster from its steps and whether each runs over all elements."""

    def __init__(
        self, members: Mapping[Step, bool], axes: range, read: set[Variable], fusion: Fusion
    ) -> None:
        self.fusion = fusion
        self.axes = axes  # of a row
        self.members = tuple(members)
        first = self.members[0]
        assert isinstance(first, Kernel)
        self.loop = first.shape
        self.source: dict[Variable, Variable] = {}  # maps a view to its operand
        self.order: list[Variable] = []
        self.inner: set[Variable] = set()  # values computed for each element
        self.folds: set[Variable] = set()
        self.level: dict[Variable, int] = {}
        self.repeated: set[Variable] = set()
        for step, full in members.items():
            self._note(step, full)
        self.outside = {x for x in self.source if x in read}
        shown = read.union(map(self._base, self.outside))
        self.results = [x for x in self.order if x in shown and x not in self.repeated]
        self.hosts: dict[Variable, Variable] = {}  # maps a kept value to the result that holds it
        self.first_pass: dict[Variable, int] = {}  # maps a kept value to the pass that computes it
        self._keep()
        self.arrays: dict[tuple[Variable, int], int] = {}
        self.slots = Slots()
        self.rows: list[Statement] = []
        self.reductions: list[Fold] = []
        self.once: dict[Variable, Ref] = {}  # values computed once for a row

    def _base(self, x: Variable) -> Variable:
        while x in self.source:
            x = self.source[x]
        return x

    def _note(self, step: Step, full: bool) -> None:
        """Add the nodes of a step; the level of a node is the first pass that has its operands."""
        if isinstance(step, Call):
            self.source[step.node] = step.node.inputs[0]
            return
        for node in step.repeated:
            if node not in self.level:
                self.order.append(node)
                self.level[node] = 0
                self.repeated.add(node)
        folded = set(step.folded)
        for node in step.nodes:
            self.order.append(node)
            level = max((self.level.get(self._base(x), 0) for x in node.inputs), default=0)
            if node in folded:
                self.folds.add(node)
                level += 1
            elif full:
                self.inner.add(node)
            self.level[node] = level

    # Values that one pass keeps for another.

    def _roots(self, level: int) -> list[Variable]:
        """Return the values of elements that a pass must compute."""
        roots = [x.inputs[0] for x in self.order if x in self.folds and self.level[x] == level + 1]
        roots += [x for x in self.results if x in self.inner and self.level[x] == level]
        return roots

    def _computed(self, level: int) -> dict[Variable, None]:
        """Return the values of elements that a pass computes, which are all that its roots need."""
        computed: dict[Variable, None] = {}
        stack = self._roots(level)
        while stack:
            x = stack.pop()
            if x in self.inner and x not in computed and not self._is_kept(x, level):
                computed[x] = None
                stack.extend(x.inputs)
        return computed

    def _is_kept(self, x: Variable, level: int) -> bool:
        return x in self.hosts and self.first_pass[x] < level

    def _weight(self, x: Variable) -> int:
        """Return the cost of computing a value again in a later pass."""
        recomputed: set[Variable] = set()
        stack = [x]
        while stack:
            y = stack.pop()
            if y in self.inner and y not in recomputed and (y is x or y not in self.hosts):
                recomputed.add(y)
                stack.extend(y.inputs)
        return sum(map(self.fusion.weight, recomputed))

    def _keep(self) -> None:
        """Choose the values to keep, starting with those that depend on most others."""
        recomputed: set[Variable] = set()
        while True:
            uses: dict[Variable, list[int]] = {}
            for level in range(self._levels()):
                for x in self._computed(level):
                    uses.setdefault(x, []).append(level)
            for x in reversed(self.order):
                if len(uses.get(x, ())) > 1 and x not in self.hosts and x not in recomputed:
                    weight = self._weight(x)
                    host = self._host(x, uses[x][-1]) if weight > CHEAP else None
                    if host is None and weight > EXPENSIVE:
                        host = x
                        self.results.append(x)
                    if host is not None:
                        self.hosts[x] = host
                        self.first_pass[x] = uses[x][0]
                        break
                    recomputed.add(x)
            else:
                return

    def _levels(self) -> int:
        return 1 + max(self.level.values())

    def _host(self, x: Variable, last: int) -> Variable | None:
        """Return a result whose row can hold a value until its last use."""
        if x in self.results:
            return x
        occupied = set(self.hosts.values())
        for y in self.results:
            if (
                y in self.inner
                and y not in occupied
                and dtype_name(y) == dtype_name(x)
                and self.level[y] >= last
            ):
                return y
        return None

    # The kernel.

    def kernel(self) -> Kernel:
        passes: list[Pass] = []
        for level in range(self._levels()):
            passes.extend(self._once(level))
            passes.extend(self._elements(level))
        views = self.fusion.views
        operands = [Operand(x, x.ndim - ndim, views) for x, ndim in self.arrays]
        groups = merged_axes(self.loop, self.axes, operands)
        if groups[0][0] in self.axes:  # a single row, which threads do not split
            groups = ((), *groups)
        structure = Structure(
            tuple(self.rows),
            tuple(self.reductions),
            tuple((dtype_name(x.x), self._spanned(x, groups)) for x in operands),
            tuple(bool(g) and g[0] in self.axes for g in groups),
            (),
            tuple(passes),
            tuple((dtype_name(x), x in self.inner) for x in self.results),
            strides=tuple(x.strides(groups) for x in operands),
            row=short_row(self.loop, groups, self.axes, self.order, self.fusion),
        )
        return Kernel(
            structure,
            self.loop,
            groups,
            tuple(x for x, _ in self.arrays),
            (),
            self.slots.packed(),
            tuple(self.results),
            (),
            tuple(self.order),
            self.members,
        )

    @staticmethod
    def _spanned(operand: Operand, groups: tuple[tuple[int, ...], ...]) -> tuple[bool, ...]:
        all_spans = spanned(operand, groups)
        return tuple(bool(g) and spans for g, spans in zip(groups, all_spans, strict=True))

    def _once(self, level: int) -> list[Pass]:
        """Return the pass for the values computed once for a row, before a pass over it."""
        first = len(self.rows)
        stores = []
        for x in self.order:
            if self.level[x] != level or x in self.inner:
                continue
            if x not in self.folds:
                self.once[x] = self._row(x, self.once)
            if x in self.results:
                stores.append((self.once[x], self.results.index(x)))
        if first == len(self.rows) and not stores:
            return []
        folds = (len(self.reductions),) * 2
        return [Pass(False, (first, len(self.rows)), folds, tuple(stores))]

    def _elements(self, level: int) -> list[Pass]:
        """Return a pass over the elements of a row."""
        computed = self._computed(level)
        folds = [x for x in self.order if x in self.folds and self.level[x] == level + 1]
        if not computed and not folds:
            return []
        first, first_fold = len(self.rows), len(self.reductions)
        available = dict(self.once)
        available.update(
            (x, Ref("kept", self.results.index(host), dtype_name(x)))
            for x, host in self.hosts.items()
            if self.first_pass[x] < level
        )
        for x in self.order:
            if x in computed:
                available[x] = self._row(x, available)
        stores = [
            (available[x], self.results.index(host))
            for x, host in self.hosts.items()
            if x in computed and host is not x
        ]
        stores += [
            (available[x], k)
            for k, x in enumerate(self.results)
            if x in computed and self.level[x] == level
        ]
        for x in folds:
            operand = self._ref(x.inputs[0], available, False, len(self.loop))
            assert x.op is not None
            self.once[x] = Ref("fold", len(self.reductions), dtype_name(x))
            self.reductions.append(Fold(bare(x.op), operand, dtype_name(x)))
        return [
            Pass(
                True,
                (first, len(self.rows)),
                (first_fold, len(self.reductions)),
                tuple(stores),
            )
        ]

    def _row(self, x: Variable, available: dict[Variable, Ref]) -> Ref:
        assert x.op is not None
        literals = self.fusion.literals(x)
        refs = tuple(self._ref(y, available, i in literals, x.ndim) for i, y in enumerate(x.inputs))
        self.rows.append(Statement(bare(x.op) if is_scan(x) else x.op, refs, dtype_name(x)))
        return Ref("row", len(self.rows) - 1, dtype_name(x))

    def _ref(self, x: Variable, available: dict[Variable, Ref], literal: bool, ndim: int) -> Ref:
        base = self._base(x)
        if base in available:
            return available[base]
        if isinstance(x, Constant) and is_scalar(x):
            return self.slots.ref(x, literal)
        index = self.arrays.setdefault((x, ndim), len(self.arrays))
        return Ref("array", index, dtype_name(x))


__all__ = ["join_rows"]
