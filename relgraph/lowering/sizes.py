"""Sizes at run time: which dimensions are equal, where each is read, and what the program checks.

A *term* stands for the size of a dimension: an int, a symbolic name, or an :class:`Unknown`.  A
name is bound once, by the first value that has it.  Where two dimensions must be equal and nothing
proves it, the program compares them before the step, and from then on they are one term.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from relgraph.errors import ShapeError
from relgraph.ir.graph import FunctionGraph, is_tensor
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable
from relgraph.ir.records import record
from relgraph.ir.sizes import At, stretched
from relgraph.ir.types import Dim
from relgraph.lowering.kernels import Call, Kernel, Step, reduced_axes
from relgraph.lowering.views import AsGiven, is_view
from relgraph.ops.contraction import Matmul
from relgraph.ops.indexing.expression import Spec
from relgraph.ops.indexing.index import Index
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import ExpandDims, Squeeze


@record
class Unknown:
    """A size that has no name and is not known before the program runs."""

    index: int


Term = int | str | Unknown
Terms = tuple[Term, ...]


@record(eq=False)
class Check:
    """Two dimensions that must be equal when the program runs.

    Attributes
    ----------
    left, right
        The operands.
    left_axis, right_axis
        Their dimensions, counted from the end.
    terms
        The sizes to compare.
    node
        The node that reads both.
    """

    left: Variable
    left_axis: int
    right: Variable
    right_axis: int
    terms: tuple[Term, Term]
    node: Variable

    @property
    def sides(self) -> tuple[tuple[Variable, int], tuple[Variable, int]]:
        """The operands, each with its dimension."""
        return (self.left, self.left_axis), (self.right, self.right_axis)

    def error(self, left: int, right: int) -> ShapeError:
        """Return the error for two sizes that differ."""
        one, other = self.sides
        return mismatch(self.node, (*one, left), (*other, right))


def mismatch(
    node: Variable, left: tuple[Variable, int, int], right: tuple[Variable, int, int]
) -> ShapeError:
    """Return the error for operands whose sizes must be equal and differ at run time.

    ``left`` and ``right`` are an operand, its axis and its size.
    """
    (a, a_axis, a_size), (b, b_axis, b_size) = left, right
    first, second = brief(a, 12), brief(b, 12)
    if a is b and {a_axis, b_axis} == {-2, -1}:
        return ShapeError(
            f"{first} must be square, and its sizes along axes {a_axis} and {b_axis} are "
            f"{a_size} and {b_size}",
            [("in", brief(node, 24)), (first, a.type)],
            "Give it a square matrix.",
        )
    return ShapeError(
        f"{first} and {second} must have equal sizes, and they are {a_size} and {b_size}",
        [
            ("in", brief(node, 24)),
            (first, f"{a.type}, size {a_size} along axis {a_axis}"),
            (second, f"{b.type}, size {b_size} along axis {b_axis}"),
        ],
        "Only a dimension that is declared as 1 is stretched: put a 1 in the input's shape."
        if a_axis == b_axis and (node.op is None or node.op.pointwise or a_axis < -2)
        else "Give it arrays of shapes that fit the op.",
    )


class Sizes:
    """The sizes of all values of a schedule, and the checks that each step needs.

    Attributes
    ----------
    shape
        The terms of each input and result.  Equal terms are equal sizes when the step computes the
        value; checks of later steps do not count.
    source
        The value and axis from which the program reads each name and each unknown size.
    loop
        The shape of each kernel's loop nest.
    checks
        The comparisons before each step.
    verified
        The results of calls whose shape the program compares with the terms in ``shape``.
    """

    def __init__(self, graph: FunctionGraph, steps: Sequence[Step]) -> None:
        self.shape: dict[Variable, Terms] = {}
        self.source: dict[Term, tuple[Variable, int]] = {}
        self.loop: dict[Kernel, Terms] = {}
        self.checks: dict[Step, list[Check]] = {}
        self.verified: set[Variable] = set()
        self._unknown = itertools.count()
        self._same: dict[Term, Term] = {}
        self._slices: dict[tuple[Term, int], Term] = {}
        for variable in graph.inputs:
            self._read(variable)
        for step in steps:
            for x in step.reads:
                if isinstance(x, Constant):
                    self.shape[x] = x.type.shape
            if isinstance(step, Kernel) and step.parts:
                self._parts(step)
            elif isinstance(step, Kernel):
                self._kernel(step, step)
            elif is_product(step.node):
                self._product(step)
            else:
                self._compare(step)
                if is_tensor(step.node):
                    self.verified.add(step.node)
                    self._called(step.node)

    def find(self, term: Term) -> Term:
        """Return the representative of the terms that are known to be equal to ``term``."""
        while term in self._same:
            term = self._same[term]
        return term

    def find_all(self, terms: Terms) -> Terms:
        """Return the representative of each term of a shape."""
        return tuple(map(self.find, terms))

    def _read(self, x: Variable) -> None:
        terms: list[Term] = []
        for axis, dim in enumerate(x.type.shape):
            term: Term = dim if dim is not None else Unknown(next(self._unknown))
            if not isinstance(term, int):
                self.source.setdefault(term, (x, axis))
            terms.append(term)
        self.shape[x] = tuple(terms)

    def _parts(self, step: Kernel) -> None:
        for part in step.parts:
            if isinstance(part, Kernel):
                for x in part.reads:
                    if isinstance(x, Constant):
                        self.shape[x] = x.type.shape
                self._kernel(part, step)
                self._agree(step, part)
            elif is_view_of_axes(part.node):
                self.shape[part.node] = self._view(part.node)
            else:
                self._vector_product(part.node, step)
        first = step.parts[0]
        self.loop[step] = (
            self.loop[first] if isinstance(first, Kernel) else self.shape[step.arrays[0]]
        )

    def _agree(self, owner: Kernel, part: Kernel) -> None:
        """Add the checks that a part of a kernel runs over the rows of the first part."""
        first = owner.parts[0]
        if part is first:
            return
        x = _looped(first) if isinstance(first, Kernel) else owner.arrays[0]
        y = _looped(part)
        loop = self.loop[first] if isinstance(first, Kernel) else self.shape[x]
        for axis, (a, b) in enumerate(zip(loop, self.loop[part], strict=False)):
            terms = self.find(a), self.find(b)
            if terms[0] != terms[1] and b != 1:
                check = Check(x, axis - x.ndim, y, axis - y.ndim, terms, part.nodes[-1])
                self.checks.setdefault(owner, []).append(check)
                self._join(*terms)

    def _vector_product(self, node: Variable, owner: Kernel) -> None:
        """Set the shape of a product of a matrix and a vector in a kernel, and add its check."""
        operands = inner_product(node)
        if operands is None:  # X.T @ r: the result has one element for each column of X
            self.shape[node] = self.shape[owner.arrays[0]][1:]
            return
        matrix, vector = operands
        terms = (self.find(self.shape[matrix][1]), self.find(self.shape[vector][0]))
        if terms[0] != terms[1]:
            check = Check(matrix, -1, vector, -1, terms, node)
            self.checks.setdefault(owner, []).append(check)
            self._join(*terms)
        self.shape[node] = self.shape[matrix][:1]

    def _compare(self, step: Call) -> None:
        """Add the checks of the operands of a call."""
        for (i, axis), (j, other) in unproved(step.node):
            x, y = step.node.inputs[i], step.node.inputs[j]
            terms = (self.find(self.shape[x][axis]), self.find(self.shape[y][other]))
            if terms[0] != terms[1]:
                check = Check(x, axis, y, other, terms, step.node)
                self.checks.setdefault(step, []).append(check)
                self._join(*terms)

    def _called(self, x: Variable) -> None:
        """Set the shape of the result of a call, from its operands where they determine it."""
        if is_view_of_axes(x):
            self.shape[x] = self._view(x)
        elif isinstance(x.op, AsGiven):
            self.shape[x] = self.shape[x.inputs[0]]
        elif is_transpose(x):
            self.shape[x] = self.shape[x.inputs[0]][::-1]
        elif inner_product(x) is not None:
            self.shape[x] = self.shape[x.inputs[0]][:1]
        elif is_view(x) and isinstance(x.op, Index):
            self._indexed(x, x.op.params[0])
        else:
            self._read(x)

    def _indexed(self, x: Variable, spec: Spec) -> None:
        """Set the shape of a view by a basic key.

        Two slices of axes of equal size have equal sizes if they skip the same number of elements.
        """
        self._read(x)
        terms = list(self.shape[x])
        before = iter(self.shape[x.inputs[0]])
        axis = 0
        for kind, *bounds in spec:
            if kind == "newaxis":
                axis += 1
                continue
            base = self.find(next(before))
            if kind != "slice":
                continue
            count = left_out(*bounds)
            term = terms[axis]
            if isinstance(term, Unknown) and count is not None:
                same = self._slices.setdefault((base, count), term) if count else base
                if same != term:
                    terms[axis] = same
                    del self.source[term]
            axis += 1
        self.shape[x] = (*terms[:axis], *before)

    def _view(self, x: Variable) -> Terms:
        """Return the shape of a view that only adds or drops axes of size 1."""
        assert x.op is not None
        operand_shape, axes = self.shape[x.inputs[0]], x.op.params[0]
        if isinstance(x.op, Squeeze):
            return tuple(
                d for a, d in enumerate(operand_shape, -len(operand_shape)) if a not in axes
            )
        dims = iter(operand_shape)
        return tuple(1 if a in axes else next(dims) for a in range(-x.ndim, 0))

    def _kernel(self, step: Kernel, owner: Kernel) -> None:
        indices = {update.places for update in step.updates}
        operands = [x for i, x in enumerate(step.arrays) if i not in indices]
        operands += step.scalars
        for constant in step.scalars:
            self.shape[constant] = constant.type.shape
        for update in step.updates:
            operands.append(update.part)
            if update.part in self.shape:
                continue
            if update.places is None:
                self._indexed(update.part, update.part.op.params[0])  # type: ignore[union-attr]
            else:
                axes = self.shape[update.key[0]], self.shape[update.array][1:]
                self.shape[update.part] = axes[0] + axes[1]
        ndim = len(step.shape)
        loop = [
            self._meet(owner, axis - ndim, operands, step.nodes[-1], step.shape[axis])
            for axis in range(ndim)
        ]
        self.loop[step] = tuple(loop)
        for x in step.stored:
            self.shape[x] = tuple(loop)
        for update in step.updates:
            self.shape[update.node] = self.shape[update.array]
        for x in step.folded:
            self.shape[x] = folded_shape(x, loop)

    def _meet(
        self, step: Step, axis: int, operands: Iterable[Variable], node: Variable, dim: Dim
    ) -> Term:
        """Return the size of an axis of a loop nest, and add the checks of its operands."""
        first: tuple[Variable, Term] | None = None
        for x in operands:
            if x.ndim < -axis or x.type.shape[axis] == 1:
                continue
            term = self.find(self.shape[x][axis])
            if first is None:
                first = (x, term)
            elif first[1] != term:
                check = Check(first[0], axis, x, axis, (first[1], term), node)
                self.checks.setdefault(step, []).append(check)
                first = (first[0], self._join(first[1], term))
        if first is not None:
            return first[1]
        assert isinstance(dim, int)  # no operand spans the axis, so the type says its size
        return dim

    def _join(self, a: Term, b: Term) -> Term:
        """Make two terms equal; an int represents a name, and a name an unknown size."""
        keep, drop = sorted((a, b), key=_rank)
        self._same[drop] = keep
        return keep

    def _product(self, step: Call) -> None:
        a, b = step.node.inputs
        lead = step.node.ndim - 2
        batch = [
            self._meet(step, axis - lead - 2, (a, b), step.node, step.node.type.shape[axis])
            for axis in range(lead)
        ]
        inner = (self.find(self.shape[a][-1]), self.find(self.shape[b][-2]))
        if inner[0] != inner[1]:
            self.checks.setdefault(step, []).append(Check(a, -1, b, -2, inner, step.node))
            self._join(*inner)
        self.shape[step.node] = (*batch, self.find(self.shape[a][-2]), self.find(self.shape[b][-1]))


def _rank(term: Term) -> int:
    return 0 if isinstance(term, int) else 1 if isinstance(term, str) else 2


def is_view_of_axes(node: Variable) -> bool:
    """Return True if a node only adds or drops axes of size 1."""
    return isinstance(node.op, ExpandDims | Squeeze)


def left_out(start: object, stop: object, step: object) -> int | None:
    """Return how many elements a slice skips; None if that depends on the size of the axis.

    An axis with fewer elements than that gives an empty slice.
    """
    if step not in (None, 1, -1):
        return None
    if step == -1:
        return 0 if start is None and stop is None else None
    first = 0 if start is None else start
    last = 0 if stop is None else stop
    if not isinstance(first, int) or not isinstance(last, int) or first < 0 or last > 0:
        return None
    return first - last if stop != 0 else None


def _looped(step: Kernel) -> Variable:
    """Return a value whose shape is that of a kernel's loop nest."""
    node = step.nodes[0]
    return node.inputs[0] if node in step.folded else node


def inner_product(node: Variable) -> tuple[Variable, Variable] | None:
    """Return the matrix and the vector of a product ``X @ b`` of floats of one dtype; else None."""
    if not isinstance(node.op, Matmul) or node.dtype.kind != "f":
        return None
    x, b = node.inputs
    same = x.dtype == b.dtype == node.dtype
    return (x, b) if same and x.ndim == 2 and b.ndim == 1 and not is_transpose(x) else None


def transposed_product(node: Variable) -> tuple[Variable, Variable] | None:
    """Return X and r of a product ``X.T @ r`` or ``r @ X`` of floats of one dtype; else None."""
    if not isinstance(node.op, Matmul) or node.dtype.kind != "f":
        return None
    a, b = node.inputs
    if not a.dtype == b.dtype == node.dtype:
        return None
    if a.ndim == 2 and b.ndim == 1 and is_transpose(a):
        return a.inputs[0], b
    return (b, a) if a.ndim == 1 and b.ndim == 2 and not is_transpose(b) else None


def is_transpose(node: Variable) -> bool:
    """Return True if a node is the transpose of a matrix."""
    return (
        node.ndim == 2
        and isinstance(node.op, MatrixTranspose | Transpose)
        and (isinstance(node.op, MatrixTranspose) or node.op.params[0] == (-1, -2))
    )


def is_product(node: Variable) -> bool:
    """Return True if a node is a product of matrices or of batches of matrices."""
    return isinstance(node.op, Matmul) and all(x.ndim >= 2 for x in node.inputs)


def is_dot(node: Variable) -> bool:
    """Return True if a node is the product of two vectors."""
    return isinstance(node.op, Matmul) and not node.ndim


def unproved(node: Variable) -> tuple[tuple[At, At], ...]:
    """Return the pairs of operand axes of a node that must be equal although nothing proves it.

    Each axis is the number of the operand and the axis counted from the end.  NumPy would stretch a
    size of 1 at run time; relgraph stretches only a dimension that is declared as 1.
    """
    if node.op is None:
        return ()
    return stretched(node.op, tuple([x.type for x in node.inputs]))


def folded_shape(node: Variable, loop: Sequence[Term]) -> Terms:
    """Return the shape of a reduction from that of its operand."""
    axes = reduced_axes(node)
    keepdims = bool(node.op.params[1])  # type: ignore[union-attr]
    return tuple(
        1 if axis in axes else term
        for axis, term in enumerate(loop)
        if keepdims or axis not in axes
    )


__all__ = [
    "Check", "Sizes", "Term", "Terms", "Unknown", "is_dot", "is_product", "left_out", "mismatch",
    "unproved",
]  # fmt: skip
