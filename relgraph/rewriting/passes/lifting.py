"""Lifting of sizes and indices through ops of any arity.

:class:`ShapeLifting` reads a size at its origin, so that no array is computed for its shape alone;
:class:`IndexLifting` moves an index to the operands, so that only the part in use is computed.  The
relations of :mod:`relgraph.relations.catalogue.views` move rearrangements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.contraction import Matmul
from relgraph.ops.elementwise import Cast, Elementwise
from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.expression import FULL, advanced_place, numpy_key
from relgraph.ops.indexing.index import Index, index
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze

LIFTED = frozenset({Transpose, MatrixTranspose, ExpandDims, Squeeze, Reshape, BroadcastTo})
PASSED = (Elementwise, Cast, Matmul, Index, Diagonal, *LIFTED)  # keys move to their operands


class IndexLifting:
    """Moves an index to the operands of elementwise functions, products and joins.

    A key moves past an op if it selects at most half of the elements and nothing else needs the
    whole result, which would then be computed twice.  Keys have one normal form: constant scalar
    indices become integers, evenly spaced indices a slice, and the indices of a diagonal a
    diagonal.

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
    tracks: tuple[Any, ...] | None = (Index, Diagonal)

    def __repr__(self) -> str:
        return "<push_index>"

    def transform(self, node: Variable) -> Variable | None:
        """Return a node without the index at its root, or with a simpler key."""
        x = node.inputs[0]
        if isinstance(node.op, Diagonal):
            return _diagonal(node, x)
        for rule in (_simpler, _of_elementwise, _of_product, _of_join):
            moved = rule(node, x)
            if moved is not None and moved is not node:
                return moved if moved.type.narrows(node.type) else None
        return None

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
    entries = _entries(node, node.inputs[0])
    return entries is not None and keys.small([e for e, _ in entries], node.inputs[0].type.shape)


def _diagonal(node: Variable, x: Variable) -> Variable | None:
    """Return an elementwise function of diagonals."""
    if not isinstance(x.op, Elementwise | Cast):
        return None
    if any([y.ndim and y.type.shape != x.type.shape for y in x.inputs]):
        return None
    diagonal: Variable = x.op(*[node.op(y) if y.ndim else y for y in x.inputs])  # type: ignore[misc]
    return diagonal if diagonal.type.narrows(node.type) else None


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


def _entries(node: Variable, x: Variable) -> list[tuple[keys.Entry, list[Variable]]] | None:
    """Return the entry of each axis with its operands, for a basic key without new axes."""
    entries = keys.by_axis(node.op.params[0], x.ndim)  # type: ignore[union-attr]
    if entries is None:
        return None
    rest = list(node.inputs[1:])
    return [(entry, [rest.pop(0) for _ in range(keys.operands_of(entry))]) for entry in entries]


def part(x: Variable, entries: list[tuple[keys.Entry, list[Variable]]]) -> Variable:
    """Return the part of a node that entries, one for each axis, select."""
    spec = keys.trimmed([entry for entry, _ in entries])
    operands = [y for _, own in entries for y in own]
    return Index(spec)(x, *operands) if spec else x


def _of_elementwise(node: Variable, x: Variable) -> Variable | None:
    """Return an elementwise function of parts."""
    if not isinstance(x.op, Elementwise | Cast):
        return None
    entries = _entries(node, x)
    if entries is None or not keys.small([e for e, _ in entries], x.type.shape):
        return None
    operands = []
    for y in x.inputs:
        own = []
        lead = x.ndim - y.ndim
        for (entry, given), size, whole in zip(
            entries[lead:], y.type.shape, x.type.shape[lead:], strict=True
        ):
            if size != 1 or whole == 1:
                own.append((entry, given))
            else:  # stretched: the one element is the same at every place
                own.append((FULL if entry[0] == "slice" else ("int", 0), []))
        operands.append(part(y, own))
    function: Variable = x.op(*operands)
    return function


def _of_product(node: Variable, x: Variable) -> Variable | None:
    """Return a product of rows and columns."""
    if not isinstance(x.op, Matmul) or not x.ndim:
        return None
    a, b = x.inputs
    if a.ndim > 2 or b.ndim > 2:
        return None
    if node.op is Index((("array",),)) and a.ndim == 2 and node.inputs[1].ndim == 1:
        count, rows = node.inputs[1].type.shape[0], a.type.shape[0]
        fewer = isinstance(count, int) and isinstance(rows, int) and 2 * count <= rows
        return node.op(a, node.inputs[1]) @ b if fewer else None
    entries = _entries(node, x)
    if entries is None or not keys.small([e for e, _ in entries], x.type.shape):
        return None
    whole: tuple[keys.Entry, list[Variable]] = (FULL, [])
    left = [entries[0], whole] if a.ndim == 2 else [whole]
    right = [whole, entries[-1]] if b.ndim == 2 else [whole]
    return part(a, left) @ part(b, right)  # type: ignore[no-any-return]


def _of_join(node: Variable, x: Variable) -> Variable | None:
    """Return the operand of a stack or a concatenation that one place picks, or its part."""
    if not isinstance(x.op, Stack | Concatenate):
        return None
    entries = _entries(node, x)
    if entries is None:
        return None
    at = x.op.params[0] + x.ndim
    picked, given = entries[at]
    if given or len({y.dtype for y in x.inputs}) != 1:
        return None
    if isinstance(x.op, Stack):
        if picked[0] != "int":
            return None
        return part(x.inputs[picked[1]], [e for i, e in enumerate(entries) if i != at])
    places = keys.places(picked, x.type.shape[at])
    start = 0
    for y in x.inputs:
        size = y.type.shape[at]
        if not isinstance(size, int) or not places or places.step < 1:
            return None
        if start <= places[0] and places[-1] < start + size:
            own: keys.Entry = ("int", places[0] - start)
            if picked[0] == "slice":
                own = ("slice", places[0] - start, places[-1] - start + 1, places.step)
            entries[at] = (own, [])
            return _tidy(y, entries)
        start += size
    return None


def _tidy(x: Variable, entries: list[tuple[keys.Entry, list[Variable]]]) -> Variable:
    """Return the part that entries select, by a key in canonical form."""
    return index(x, tuple([_key_part(entry, given) for entry, given in entries]))  # type: ignore[no-any-return]
