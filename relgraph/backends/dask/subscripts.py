"""Subscripts: each op as a loop over labelled axes, in the way of ``numpy.einsum``.

They say how an op works on blocks.  An axis of an operand and an axis of the result that have one
label are divided in the same way, and block k of the result needs block k of the operand.  A label
that the result lacks is reduced: the op gives a partial result for each block, and a combiner joins
these.  A label in ``whole`` belongs to axes that must not be divided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from relgraph.backends.dask.centred import JOINED, Centred
from relgraph.backends.dask.scatters import is_scatter
from relgraph.backends.dask.tall_factor import TallFactor, stacked
from relgraph.ir.graph import is_tensor
from relgraph.ir.node import Variable
from relgraph.ir.records import record
from relgraph.ops.arguments import AxisOp
from relgraph.ops.checks import Assert, SpecifyShape
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.contraction import Einsum, Matmul, Outer
from relgraph.ops.elementwise import Elementwise, add
from relgraph.ops.indexing.expression import FULL, advanced_place
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import IndexUpdate
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal, Trace, Tril, Triu
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reductions import Reduction, reduced_axes
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze

Label = int
Labels = tuple[Label | None, ...]
Combiner = Elementwise | Callable[[Sequence[Any]], Any]


@record
class Subscripts:
    """An op as a loop over labels.

    Attributes
    ----------
    operands
        For each operand, a label for each axis; None for an axis of size 1 that is stretched.
    result
        A label for each axis of the result.  One that no operand has is not divided.
    whole
        The labels of axes that must not be divided.
    combiner
        What joins partial results, for labels that the result lacks: an op of two of them, or a
        function of all.
    windows
        For a label of the result along which the op takes a slice: the label of the operand, and
        how many elements it leaves out at the start and at the end.
    """

    operands: tuple[Labels, ...]
    result: Labels
    whole: frozenset[Label] = frozenset()
    combiner: Combiner | None = None
    windows: tuple[tuple[Label, Label, tuple[Any, Any]], ...] = ()


def subscripts(node: Variable) -> Subscripts:
    """Return the subscripts of an application of an op; by default, nothing is divided."""
    for cls in type(node.op).__mro__:
        if cls in _RULES:
            return _RULES[cls](node)
    return _pointwise(node) if node.op.pointwise else _undivided(node)  # type: ignore[union-attr]


def params_of(node: Variable) -> tuple[Any, ...]:
    """Return the parameters of the op that a node applies."""
    op: Any = node.op
    return op.params  # type: ignore[no-any-return]


def _undivided(node: Variable) -> Subscripts:
    fresh = count()
    operands = tuple([tuple([next(fresh) for _ in range(_ndim(x))]) for x in node.inputs])
    result = tuple([next(fresh) for _ in range(_ndim(node))])
    return Subscripts(operands, result, _all(*operands, result))


def _ndim(x: Variable) -> int:
    return x.ndim if is_tensor(x) else 0


def _all(*several: Labels) -> frozenset[Label]:
    return frozenset(label for labels in several for label in labels if label is not None)


def _last(labels: Labels, x: Variable) -> Labels:
    """Return the last of some labels for the axes of an operand, as broadcasting aligns them."""
    own = labels[len(labels) - x.ndim :] if x.ndim else ()
    return tuple([None if dim == 1 else k for k, dim in zip(own, x.type.shape, strict=True)])


def _pointwise(node: Variable) -> Subscripts:
    result = tuple(range(node.ndim))
    stretched = tuple([_last(result, x) for x in node.inputs])
    spanned = _all(*stretched)
    alone = tuple([k if k in spanned or dim != 1 else None for k, dim in _dims(node, result)])
    return Subscripts(stretched, alone)


def _dims(node: Variable, labels: Labels) -> Iterable[tuple[Label | None, Any]]:
    return zip(labels, node.type.shape, strict=True)


def _first_operand(node: Variable) -> Subscripts:
    """Keep the axes of the first operand, and read the others whole."""
    fresh = count(node.ndim)
    result = tuple(range(node.ndim))
    others = [tuple([next(fresh) for _ in range(x.ndim)]) for x in node.inputs[1:]]
    return Subscripts((result, *others), result, _all(*others))


def _reduction(node: Variable) -> Subscripts:
    x, op = node.inputs[0], node.op
    axes = set(reduced_axes(params_of(node)[0], x.ndim, ""))
    operand = tuple(range(x.ndim))
    kept = [None if k in axes else k for k in operand]
    result = tuple(kept if params_of(node)[1] else [k for k in kept if k is not None])
    combiner = getattr(op, "combiner", None)
    return Subscripts((operand,), result, frozenset() if combiner else frozenset(axes), combiner)


def _along_axis(node: Variable) -> Subscripts:
    labels = tuple(range(node.ndim))
    return Subscripts((labels,), labels, frozenset([labels[params_of(node)[0]]]))


def _matmul(node: Variable) -> Subscripts:
    x, y = node.inputs
    batch = tuple(range(max(x.ndim, y.ndim, 2) - 2))
    inner, row, column = -1, -2, -3
    left = (row, inner) if x.ndim > 1 else (inner,)
    right = (inner, column) if y.ndim > 1 else (inner,)
    operands = (_batch(batch, x, 2) + left, _batch(batch, y, 2) + right)
    result = (*batch, *left[:-1], *right[1:])
    return Subscripts(operands, result, combiner=add)


def _batch(labels: Labels, x: Variable, core: int) -> Labels:
    """Return the labels of the axes before the last ``core`` ones."""
    shape = x.type.shape[:-core] if x.ndim > core else ()
    own = labels[len(labels) - len(shape) :] if shape else ()
    return tuple([None if dim == 1 else k for k, dim in zip(own, shape, strict=True)])


def _matrices(node: Variable) -> Subscripts:
    """Divide batches of matrices only."""
    (x,) = node.inputs
    batch = tuple(range(x.ndim - 2))
    rest = tuple(range(x.ndim, x.ndim + node.ndim - len(batch)))
    return Subscripts(((*batch, -1, -2),), (*batch, *rest), frozenset((-1, -2, *rest)))


def _diag(node: Variable) -> Subscripts:
    (x,) = node.inputs
    batch = tuple(range(x.ndim - 1))
    return Subscripts(((*batch, -1),), (*batch, -2, -3), frozenset((-1, -2, -3)))


def _solve(node: Variable) -> Subscripts:
    """Divide batches of systems, and the columns of right sides."""
    *factors, b = node.inputs
    batch = tuple(range(node.ndim - (1 if b.ndim == 1 else 2)))
    fresh = count(node.ndim)
    left = []
    for a in factors:
        core = min(a.ndim, 2 if a.ndim - len(batch) >= 2 else 1)
        left.append(_batch(batch, a, core) + tuple([next(fresh) for _ in range(core)]))
    size, column = -1, -2
    right = (size,) if b.ndim == 1 else (*_batch(batch, b, 2), size, column)
    rest = (size,) if b.ndim == 1 else (size, column)
    whole = frozenset(range(node.ndim, next(fresh))) | {size}
    return Subscripts((*left, right), (*batch, *rest), whole)


def _tall_factor(node: Variable) -> Subscripts:
    return Subscripts(((0, 1),), (2, 1), frozenset([1, 2]), stacked)


def _centred(node: Variable) -> Subscripts:
    return Subscripts(((0, 1),), (2, 1), frozenset([1, 2]), JOINED[params_of(node)[0]])


def _outer(node: Variable) -> Subscripts:
    return Subscripts(((0,), (1,)), (0, 1))


def _einsum(node: Variable) -> Subscripts:
    terms, result = params_of(node)[0].split("->")
    operands = []
    repeated = set()
    for term, x in zip(terms.split(","), node.inputs, strict=True):
        labels = [ord(letter) for letter in term]
        repeated |= {k for k in labels if labels.count(k) > 1}
        operands.append(tuple([None if dim == 1 else k for k, dim in _dims(x, tuple(labels))]))
    return Subscripts(tuple(operands), tuple(map(ord, result)), frozenset(repeated), add)


def _transpose(node: Variable) -> Subscripts:
    labels = tuple(range(node.ndim))
    return Subscripts((labels,), tuple([labels[axis] for axis in params_of(node)[0]]))


def _matrix_transpose(node: Variable) -> Subscripts:
    labels = tuple(range(node.ndim))
    return Subscripts((labels,), (*labels[:-2], labels[-1], labels[-2]))


def _unit_axes(node: Variable) -> Subscripts:
    """Insert or remove axes of size 1."""
    (x,) = node.inputs
    longer = max(x.ndim, node.ndim)
    units = {axis % longer for axis in params_of(node)[0]}
    labels = tuple([None if k in units else k for k in range(longer)])
    kept = tuple([k for k in labels if k is not None])
    return Subscripts(
        (labels if x.ndim == longer else kept,), labels if node.ndim == longer else kept
    )


def _broadcast(node: Variable) -> Subscripts:
    x, *sizes = node.inputs
    result = tuple(range(node.ndim))
    return Subscripts((_last(result, x), *[()] * len(sizes)), result)


def _reshape(node: Variable) -> Subscripts:
    """Follow the first and the last axes that the reshape keeps."""
    x, *sizes = node.inputs
    old, new = x.type.shape, node.type.shape
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    fresh = count(first + last)
    kept = tuple(range(first)), tuple(range(first, first + last))
    operand, result = (
        (*kept[0], *[next(fresh) for _ in range(ndim - first - last)], *kept[1])
        for ndim in (x.ndim, node.ndim)
    )
    whole = _all(operand, result) - _all(*kept)
    return Subscripts((operand, *[()] * len(sizes)), result, whole)


def _concatenate(node: Variable) -> Subscripts:
    labels = tuple(range(node.ndim))
    axis = params_of(node)[0]
    operands, whole = [], {-1}
    for i, _ in enumerate(node.inputs):
        own = list(labels)
        own[axis] = -2 - i
        whole.add(own[axis])
        operands.append(tuple(own))
    result = list(labels)
    result[axis] = -1
    return Subscripts(tuple(operands), tuple(result), frozenset(whole))


def _stack(node: Variable) -> Subscripts:
    result = tuple(range(node.ndim))
    new = result[params_of(node)[0]]
    kept = tuple([k for k in result if k != new])
    return Subscripts((kept,) * len(node.inputs), result, frozenset([new]))


def _index(node: Variable) -> Subscripts:
    """Follow whole axes and slices; other parts of a key need whole axes."""
    x, *keys = node.inputs
    spec = params_of(node)[0]
    place = advanced_place(spec)
    if place is not None and [e[0] for e in spec if e != FULL] != ["array"]:
        return _undivided(node)
    operand = tuple(range(x.ndim))
    fresh = count(x.ndim)
    result: list[Label | None] = []
    whole, windows = set(), []
    key_labels: list[Labels] = [()] * len(keys)
    axis = 0
    for entry in spec:
        if entry[0] == "newaxis":
            result.append(None)
            continue
        if entry == FULL:
            result.append(operand[axis])
        elif entry[0] == "array":
            whole.add(operand[axis])
            key_labels[0] = tuple([next(fresh) for _ in range(keys[0].ndim)])
            result += key_labels[0]
        else:
            whole.add(operand[axis])
            if entry[0] == "slice":
                new = next(fresh)
                result.append(new)
                if entry[3] in (None, 1) and "dynamic" not in entry:
                    windows.append((new, operand[axis], entry[1:3]))
                    whole.discard(operand[axis])
        axis += 1
    result += operand[axis:]
    return Subscripts(
        (operand, *key_labels), tuple(result), frozenset(whole), windows=tuple(windows)
    )


def _update(node: Variable) -> Subscripts:
    """Divide the axes that the key takes whole."""
    x, value, *keys = node.inputs
    spec = params_of(node)[0]
    if any(entry[0] in ("newaxis", "ellipsis", "mask") for entry in spec):
        return _undivided(node)
    labels = tuple(range(x.ndim))
    full = [axis >= len(spec) or spec[axis] == FULL for axis in labels]
    fresh = count(x.ndim)
    part = Index(spec)(x, *keys)
    followed = iter(_index_labels(spec, labels, part, fresh))
    of_part = tuple(followed)
    values = _last(of_part, value) if value.ndim else ()
    key_labels = [tuple([next(fresh) for _ in range(k.ndim)]) for k in keys]
    whole = frozenset(k for k, all_ in zip(labels, full, strict=True) if not all_)
    own = frozenset(k for k in of_part if k is not None and k not in labels)
    if is_scatter(node) and len(keys) == 1 == keys[0].ndim:
        (key,) = [k for k in of_part if k in own]
        update: Any = node.op
        return Subscripts((labels, values, (key,)), labels, whole, update.combiner)
    return Subscripts((labels, values, *key_labels), labels, whole | own | _all(*key_labels))


def _index_labels(spec: Any, labels: Labels, part: Variable, fresh: Any) -> list[Label]:
    """Return the labels of the part that a key selects: those of whole axes, and new ones."""
    place = advanced_place(spec)
    basic: list[Label] = []
    for axis, label in enumerate(labels):
        entry = spec[axis] if axis < len(spec) else FULL
        if entry == FULL:
            basic.append(label)  # type: ignore[arg-type]
        elif entry[0] == "slice":
            basic.append(next(fresh))
    missing = [next(fresh) for _ in range(part.ndim - len(basic))]
    at = 0 if place is None else place
    return basic[:at] + missing + basic[at:]


_RULES: dict[type, Callable[[Variable], Subscripts]] = {
    Reduction: _reduction,
    AxisOp: _along_axis,
    Matmul: _matmul,
    Outer: _outer,
    Einsum: _einsum,
    Transpose: _transpose,
    MatrixTranspose: _matrix_transpose,
    ExpandDims: _unit_axes,
    Squeeze: _unit_axes,
    BroadcastTo: _broadcast,
    Reshape: _reshape,
    SpecifyShape: _first_operand,
    Assert: _first_operand,
    Concatenate: _concatenate,
    Stack: _stack,
    Index: _index,
    IndexUpdate: _update,
    Solve: _solve,
    SolveTriangular: _solve,
    ChoSolve: _solve,
    LUSolve: _undivided,
    Inv: _matrices,
    Det: _matrices,
    Cholesky: _matrices,
    Tril: _matrices,
    Triu: _matrices,
    Trace: _matrices,
    Diagonal: _matrices,
    Diag: _diag,
    TallFactor: _tall_factor,
    Centred: _centred,
}

__all__ = ["Combiner", "Label", "Labels", "Subscripts", "params_of", "subscripts"]
