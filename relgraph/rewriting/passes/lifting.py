"""Which indices move: where a part is enough, only that part is computed.

Masks move the other way where the whole is enough: what the mask selects is then never copied.
What an index becomes on the operands of an op is stated by the relations of
:mod:`relgraph.relations.catalogue.views`, and what becomes of masks by those of
:mod:`relgraph.relations.catalogue.masks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable, apply
from relgraph.ops.contraction import Matmul
from relgraph.ops.elementwise import Cast, Elementwise
from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.expression import advanced_place, numpy_key
from relgraph.ops.indexing.index import Index, index
from relgraph.ops.indexing.update import AddIndex, MultiplyIndex, SetIndex
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reductions import Mean, Sum
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze
from relgraph.rewriting.selection import Selection, selection_of

PASSED = (  # keys move to their operands
    Elementwise, Cast, Matmul, Index, Diagonal, Transpose, MatrixTranspose, ExpandDims, Squeeze,
    Reshape, BroadcastTo,
)  # fmt: skip
LAWS = ("index_stretchedo", "diagonal_elementwiseo", "index_matmulo")
WRITTEN = SetIndex, AddIndex, MultiplyIndex  # at a mask, an element where it is
SUMMED = Sum, Mean
MOST_MASKED = 32  # nodes of a function that a mask moves past, which is computed for all elements


@cache
def laws() -> Selection:
    """Return the relations that say what an index is on the operands of an op."""
    views = import_module("relgraph.relations.catalogue.views")
    return selection_of([getattr(views, name) for name in LAWS])


@cache
def outward() -> Selection:
    """Return the relation that says what equal indices of all operands are on the result."""
    views = import_module("relgraph.relations.catalogue.views")
    return selection_of([views.index_elementwiseo.reversed])


@cache
def of_masks() -> Selection:
    """Return the relations that replace masked updates, sums and means by choices."""
    return selection_of(import_module("relgraph.relations.catalogue.masks").RELATIONS)


class IndexLifting:
    """Moves an index to the operands of elementwise functions and products.

    A key moves past an op if it selects at most half of the elements and nothing else needs the
    whole result, which would then be computed twice.  Where the result of
    an elementwise function is assigned under a mask, or summed, the mask moves from the operands to
    the result.  Keys have one normal form: constant scalar indices become integers, evenly spaced
    indices a slice, and the indices of a diagonal a diagonal.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.lifting import IndexLifting
    >>> A, B = rg.matrices("A B", shape=(4, 4))
    >>> x = rg.vector("x", shape=(4,))
    >>> rg.rewrite_graph([(rg.exp(A) + x)[0], (A @ B)[1, 2]], IndexLifting())
    [exp(A[0]) + x, A[1] @ B[:, 2]]
    """

    name = relation = "push_index"
    tracks: tuple[Any, ...] | None = (Index, Diagonal, *WRITTEN, *SUMMED)
    pure = True

    def __repr__(self) -> str:
        return "<push_index>"

    def transform(self, node: Variable) -> Variable | None:
        """Return a node with a simpler key, or without the index at its root."""
        if isinstance(node.op, (*WRITTEN, *SUMMED)):
            return _masked_whole(node)
        simpler = _simpler(node, node.inputs[0]) if isinstance(node.op, Index) else None
        if simpler is not None and simpler is not node:
            return simpler if simpler.type.narrows(node.type) else None
        if not isinstance(node.inputs[0].op, Elementwise | Cast | Matmul):
            return None
        matcher = laws().plain(node.op) if _leaves_little(node) else None  # type: ignore[arg-type]
        fired = None if matcher is None else matcher(node)
        return None if fired is None else fired[0]

    @staticmethod
    def takes_part(node: Variable) -> bool:
        """Return True for a part of an array; otherwise a mask moves."""
        return isinstance(node.op, Index | Diagonal)

    def computed_whole(self, outputs: Sequence[Variable]) -> list[Variable]:
        """Return the nodes that a key may reach and that something needs whole, operands first."""
        order = toposort(outputs)
        parts = [x for x in order if isinstance(x.op, Index | Diagonal)]
        if not parts:
            return []
        whole = set(outputs)
        for node in reversed(order):
            if isinstance(node.op, Index | Diagonal):
                whole.update(node.inputs[_leaves_little(node) :])
            elif node in whole or not isinstance(node.op, PASSED):
                whole.update(node.inputs)
        reached = dict.fromkeys(x.inputs[0] for x in parts)
        waiting = list(reached)
        for x in waiting:  # grows as it goes
            if x not in whole and isinstance(x.op, PASSED):
                waiting += [y for y in x.inputs if y not in reached]
                reached.update(dict.fromkeys(x.inputs))
        return [x for x in order if x in whole and x in reached and x.inputs]


def _leaves_little(node: Variable) -> bool:
    """Return True if a key leaves so few elements that it moves to operands."""
    if isinstance(node.op, Diagonal):
        return True
    x = node.inputs[0]
    spec = node.op.params[0]  # type: ignore[union-attr]
    if spec == (("array",),) and isinstance(x.op, Matmul):
        sizes: list[Any] = [*node.inputs[1].type.shape, x.type.shape[0]]
        static = len(sizes) == 2 and all([isinstance(size, int) for size in sizes])
        return static and 2 * sizes[0] <= sizes[1]
    entries = keys.by_axis(spec, x.ndim)
    return entries is not None and keys.small(entries, x.type.shape)


def _masked_whole(node: Variable) -> Variable | None:
    """Return a masked update, sum or mean as a function of whole arrays, or None."""
    place = 1 if isinstance(node.op, WRITTEN) else 0
    lifted = _lifted(node.inputs[place])
    if lifted is None:
        return None
    inputs = list(node.inputs)
    inputs[place] = lifted
    matcher = of_masks().plain(node.op)  # type: ignore[arg-type]
    fired = None if matcher is None else matcher(apply(node.op, tuple(inputs)))  # type: ignore[arg-type]
    return None if fired is None else fired[0]


def _lifted(value: Variable) -> Variable | None:
    """Return a number, or what a mask selects of a function, with the mask at the root."""
    if value.ndim != 1:
        return None if value.ndim else value
    images: dict[Variable, Variable] = {}
    waiting = [value]
    while waiting and len(images) <= MOST_MASKED:
        x = waiting[-1]
        missing = [y for y in x.inputs if y not in images]
        if not x.ndim or _is_masked(x):
            images[waiting.pop()] = x
        elif not isinstance(x.op, Elementwise | Cast):
            return None
        elif missing:
            waiting += missing
        else:
            whole = apply(x.op, tuple([images[y] for y in x.inputs]))
            matcher = outward().plain(x.op)
            fired = None if matcher is None else matcher(whole)
            if fired is None:
                return None
            images[waiting.pop()] = fired[0]
    return images.get(value)


def _is_masked(x: Variable) -> bool:
    """Return True for the elements that one mask selects of a whole array."""
    return isinstance(x.op, Index) and x.op.params[0] == (("mask", x.inputs[0].ndim),)


def _simpler(node: Variable, x: Variable) -> Variable | None:
    """Return an index with constant parts made part of the key."""
    spec = node.op.params[0]  # type: ignore[union-attr]
    constants = [y for y in node.inputs[1:] if isinstance(y, Constant)]
    if not constants:
        return None
    if spec == (("array",), ("array",)) and len(constants) == 2:
        diagonal = _of_diagonal(x, constants)
        if diagonal is not None:
            return diagonal
    advanced = [entry for entry in spec if entry[0] in ("array", "mask")]
    rest = list(node.inputs[1:])
    parts = []
    for entry in spec:
        own = [rest.pop(0) for _ in range(keys.operands_of(entry))]
        simple = None
        if entry == ("array",) and len(advanced) == 1:
            simple = _progression(own[0])
        parts.append(_key_part(entry, own) if simple is None else simple)
    if advanced_place(spec) == 0 and advanced and spec[0] not in advanced:
        return None  # its axes would stand elsewhere
    if any([entry == ("ellipsis",) for entry in spec]):
        return None
    return index(x, tuple(parts))  # type: ignore[no-any-return]


def _key_part(entry: keys.Entry, operands: list[Variable]) -> Any:
    """Return an entry as a part of a key; constant scalars become ints."""
    values = [int(y.value) if isinstance(y, Constant) and not y.ndim else y for y in operands]
    if entry[0] == "slice":
        rest = iter(values)
        return slice(*[next(rest) if bound == "dynamic" else bound for bound in entry[1:]])
    return values[0] if values else numpy_key((entry,), ())[0]


def _progression(places: Variable) -> slice | None:
    """Return constant places at equal distances as a slice."""
    if not isinstance(places, Constant) or places.ndim != 1 or places.dtype.kind not in "iu":
        return None
    at = [int(v) for v in places.value]
    if not at or min(at) < 0:
        return None
    step = at[1] - at[0] if len(at) > 1 else 1
    if step <= 0 or at != list(range(at[0], at[-1] + 1, step)):
        return None
    return slice(at[0], at[-1] + 1, step)


def _of_diagonal(x: Variable, places: list[Constant]) -> Variable | None:
    """Return the diagonal of a square matrix that two equal ranges of places select."""
    rows, columns = [[int(v) for v in y.value.ravel()] for y in places]
    size = x.type.shape[0]
    if x.ndim != 2 or x.type.shape != (size, size) or any([y.ndim != 1 for y in places]):
        return None
    diagonal: Variable = Diagonal(0)(x)
    return diagonal if rows == columns == list(range(len(rows))) and len(rows) == size else None
