"""Matrix-vector products fused with the steps between them, in one pass over the matrix.

If X @ b feeds elementwise ops and reductions whose results feed X.T @ r, the joined kernel reads X
once, in blocks of rows that are still in cache when the second product reads them.  A product
without such a partner stays a BLAS call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Variable
from relgraph.lowering.clusters import Cluster, Clusters
from relgraph.lowering.kernels import (
    Call,
    Fold,
    Kernel,
    Products,
    Statement,
    Step,
    Structure,
    bare,
    ordered,
)
from relgraph.lowering.refs import Ref, Slots, dtype_name
from relgraph.lowering.regions import Fusion, is_scalar
from relgraph.lowering.sizes import inner_product, transposed_product
from relgraph.lowering.views import is_view


def join_products(graph: FunctionGraph, steps: Sequence[Step], fusion: Fusion) -> list[Step]:
    """Return a schedule in which products of one matrix and the kernels between them are joined."""
    calls = [step.node for step in steps if isinstance(step, Call)]
    if not (any(map(inner_product, calls)) and any(map(transposed_product, calls))):
        return list(steps)
    products = _Products(graph, steps, fusion)
    kernels: list[Step] = []
    joined: set[int] = set()
    for cluster in products.build():
        joined.update(cluster.members)
        members = [steps[i] for i in cluster.members]
        kernels.append(_Builder(members, products.read_outside(cluster), fusion).kernel())
    result = [step for i, step in enumerate(steps) if i not in joined] + kernels
    return ordered(graph, result)


class _Products(Clusters):
    """Steps around one matrix, which is the key of their cluster."""

    def seed(self, step: Step) -> Variable | None:
        """Start a cluster at a product of a matrix and a vector."""
        operands = inner_product(step.node) if isinstance(step, Call) else None
        return None if operands is None or any(map(is_view, operands)) else operands[0]

    def near(self, step: Step, free: int) -> Iterable[Cluster]:
        """Return the clusters whose results a step reads, or whose matrix it multiplies."""
        key = self.seed(step)
        same = 0 if key is None else self.ancestors.with_key(key) & free
        return dict.fromkeys([*super().near(step, free), *self.ancestors.listed(same)])

    def kind(self, step: Step, cluster: Cluster) -> str | None:
        """Accept products of the same matrix, and kernels over vectors as long as its columns."""
        produced = self.operands_in(step, cluster)
        if any(transposed_product(x) is not None for x in produced):
            return None  # a sum over all rows, whose shape fits if the matrix is square
        rows = self.shape(cluster.key)[:1]
        if isinstance(step, Call):
            forward, back = inner_product(step.node), transposed_product(step.node)
            if forward is not None and forward[0] is cluster.key and not produced:
                return None if is_view(forward[1]) else "full"
            if back is None or back[0] is not cluster.key or self.shape(back[1]) != rows:
                return None
            return "full" if produced == [back[1]] else None
        if self.loop(step) != rows or step.parts or step.tables or any(step.structure.strides):
            return None
        vectors = all(self.shape(x) == rows for x in produced)
        return ("full" if step.folded else "map") if vectors else None

    def complete(self, cluster: Cluster) -> bool:
        """Return True if a second product reads the matrix again."""
        steps = [self.steps[i] for i in cluster.members]
        return any(isinstance(s, Call) and transposed_product(s.node) is not None for s in steps)


class _Builder:
    """Builds the kernel of the steps around a matrix."""

    def __init__(self, members: Sequence[Step], read: set[Variable], fusion: Fusion) -> None:
        self.fusion = fusion
        self.members = tuple(members)
        self.read = read
        self.arrays: dict[tuple[Variable, tuple[bool, bool]], int] = {}
        self.slots = Slots()
        self.refs: dict[Variable, Ref] = {}
        self.rows: list[Statement] = []
        self.folds: list[Fold] = []
        self.forward: list[tuple[int, int]] = []
        self.sums: list[Variable] = []  # the results of the reductions

    def kernel(self) -> Kernel:
        repeated: set[Variable] = set()
        for step in self.members:
            if isinstance(step, Kernel):
                self._note(step)
                repeated.update(step.repeated)
            else:
                self._note_product(step.node)
        back, gradients = self._back()
        stored = [x for x in self.refs if x in self.read and x not in repeated]
        products = Products(tuple(self.forward), back, tuple(self.refs[x] for x in stored))
        structure = Structure(
            tuple(self.rows),
            tuple(self.folds),
            tuple((dtype_name(x), spans) for x, spans in self.arrays),
            (True, False),
            (),
            results=tuple((dtype_name(x), True) for x in stored),
            products=products,
        )
        first = self.members[0]
        assert isinstance(first, Call)
        return Kernel(
            structure,
            first.node.inputs[0].type.shape,
            ((0,), (1,)),
            tuple(x for x, _ in self.arrays),
            (),
            self.slots.packed(),
            (*stored, *self.sums, *gradients),
            (),
            tuple(x for step in self.members for x in _nodes(step)),
            self.members,
        )

    def _note_product(self, node: Variable) -> None:
        """Add a product X @ b, whose elements the statements read."""
        operands = inner_product(node)
        if operands is not None:
            matrix, vector = operands
            self.refs[node] = Ref("product", len(self.forward), dtype_name(node))
            self.forward.append((self._array(matrix, True, True), self._array(vector, False, True)))

    def _note(self, step: Kernel) -> None:
        """Add the statements and the reductions of a kernel."""
        for node in (*step.repeated, *step.nodes):
            assert node.op is not None
            if node in self.refs:
                continue
            if node in step.folded:
                operand = self._ref(node.inputs[0], False)
                self.folds.append(Fold(bare(node.op), operand, dtype_name(node)))
                self.sums.append(node)
            else:
                literals = self.fusion.literals(node)
                refs = tuple(self._ref(x, i in literals) for i, x in enumerate(node.inputs))
                self.rows.append(Statement(node.op, refs, dtype_name(node)))
                self.refs[node] = Ref("row", len(self.rows) - 1, dtype_name(node))

    def _back(self) -> tuple[tuple[tuple[int, Ref], ...], list[Variable]]:
        """Return the products X.T @ r, and their nodes."""
        nodes = [step.node for step in self.members if isinstance(step, Call)]
        pairs = [(node, pair) for node in nodes if (pair := transposed_product(node)) is not None]
        back = [(self._array(x, True, True), self._ref(r, False)) for _, (x, r) in pairs]
        return tuple(back), [node for node, _ in pairs]

    def _array(self, x: Variable, rows: bool, columns: bool) -> int:
        return self.arrays.setdefault((x, (rows, columns)), len(self.arrays))

    def _ref(self, x: Variable, literal: bool) -> Ref:
        if x in self.refs:
            return self.refs[x]
        if isinstance(x, Constant) and is_scalar(x):
            return self.slots.ref(x, literal)
        spans = x.ndim > 0 and x.type.shape[-1] != 1
        return Ref("array", self._array(x, spans, False), dtype_name(x))


def _nodes(step: Step) -> tuple[Variable, ...]:
    return step.nodes if isinstance(step, Kernel) else (step.node,)


__all__ = ["join_products"]
