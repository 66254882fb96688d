"""Products and systems with block matrices, without building these matrices.

These rewrites are written in Python, because the sizes that cut or reshape the other operand may be
known only at the call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

from relgraph.ir.fact_inference import fact
from relgraph.ir.graph import FunctionGraph, with_outputs
from relgraph.ir.node import Constant, Variable, apply
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.contraction import Matmul
from relgraph.ops.elementwise import add, multiply
from relgraph.ops.indexing.index import Index, index
from relgraph.ops.linalg.blocks import BlockDiag, Kron
from relgraph.ops.linalg.solve import Solve
from relgraph.ops.linalg.structured import Eye
from relgraph.ops.permutation import MatrixTranspose, matrix_transpose
from relgraph.ops.shape import BroadcastTo, reshape, shape
from relgraph.rewriting.rewriters import GraphRewriter

MATMUL, SOLVE, KRON, BLOCKS = Matmul(), Solve("general"), Kron(), BlockDiag()
SWAP, BESIDE, ABOVE = MatrixTranspose(), Concatenate(-1), Concatenate(-2)
ROWS = Index((("array",),))


class StructuredProducts(GraphRewriter):
    """Multiplies and solves with block matrices block by block.

    ``block_diag(A, B) @ X`` becomes ``concatenate([A @ X[:k], B @ X[k:]])``, as does the product
    with a concatenation of blocks, some of which are zeros; and
    ``kron(A, B) @ x`` becomes ``A @ X @ B.mT``, raveled, where ``X`` is ``x`` in rows.

    References
    ----------
    C. F. Van Loan, "The ubiquitous Kronecker product", J. Comput. Appl. Math. 123 (2000).

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.structured_products import StructuredProducts
    >>> A, B = rg.matrices("A B", shape=(3, 3))
    >>> x = rg.vector("x", shape=(9,))
    >>> rg.rewrite_graph(rg.kron(A, B) @ x, StructuredProducts())
    reshape(A @ (reshape(x, shape=(3, 3)) @ B.mT), shape=(-1,))
    """

    def __init__(self) -> None:
        super().__init__(name="structured_products")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with products and systems of block matrices decomposed."""
        if not any(x.op is MATMUL or x.op is SOLVE for x in graph):
            return graph
        done: dict[Variable, Variable] = {}
        for node in graph:
            inputs = tuple([done[x] for x in node.inputs])
            op: Any = node.op
            made = node if inputs == node.inputs else apply(op, inputs)
            rewritten = _rewritten(made)
            done[node] = (
                rewritten if rewritten is not None and rewritten.type.narrows(node.type) else made
            )
        return with_outputs(graph, [done[x] for x in graph.outputs])


def _rewritten(node: Variable) -> Any:
    """Return the replacement of a product or a system, or None."""
    op: Any = node.op
    if op is SOLVE:
        matrix, b = node.inputs
        if matrix.ndim != 2 or b.ndim > 2:
            return None
        if matrix.op is BLOCKS:
            return _by_blocks(_parts(matrix), b, SOLVE)
        if matrix.op is ABOVE:
            diagonal = _diagonal(_grid(matrix))
            return diagonal and _by_blocks(diagonal, b, SOLVE)
        return _solve_kron(matrix, b) if matrix.op is KRON else None
    if op is not MATMUL or max(x.ndim for x in node.inputs) > 2:
        return None
    left, right = node.inputs
    if left.op is ROWS and _is_identity(left.inputs[0]):
        return index(right, (left.inputs[1],)) if right.dtype == node.dtype else None
    if left.op is BLOCKS:
        return _by_blocks(_parts(left), right, MATMUL)
    if right.op is BLOCKS:
        return _blocks_on_the_right(left, right)
    if left.op is ABOVE or left.op is BESIDE:
        return _multiply_grid(_grid(left), right)
    if right.op is ABOVE or right.op is BESIDE:
        rows = [[_turned(x) for x in column] for column in zip(*_grid(right), strict=True)]
        turned = _multiply_grid(rows, _turned(left))
        return None if turned is None else _turned(turned)
    if left.op is KRON:
        return _multiply_kron(left, right)
    if right.op is KRON:
        turned = _multiply_kron(matrix_transpose(right), _turned(left))
        return None if turned is None else _turned(turned)
    return column_row(node) if 1 in node.type.shape else None


def column_row(node: Variable) -> Any:
    """Return a product with a single term in each sum as an elementwise product, or None."""
    left, right = node.inputs
    if min(left.ndim, right.ndim) < 2 or not left.type.shape[-1] == 1 == right.type.shape[-2]:
        return None
    made = multiply(left, right)
    return made if made.type.narrows(node.type) else None


def _is_identity(x: Variable) -> bool:
    """Return True if a node is an identity matrix; a product with rows of it selects rows."""
    return isinstance(x.op, Eye) and x.op.params[0] == x.op.params[1] and x.op.params[2] == 0


def _turned(x: Variable) -> Any:
    return matrix_transpose(x) if x.ndim == 2 else x


def _parts(matrix: Variable) -> list[Variable]:
    """Return the blocks of a nested block-diagonal matrix, in order."""
    blocks, x = [], matrix
    while x.op is BLOCKS:
        blocks.append(x.inputs[0])
        x = x.inputs[1]
    return [*blocks, x]


def _by_blocks(blocks: list[Variable], x: Variable, op: Callable[..., Any]) -> Any:
    """Return ``op(matrix, x)`` block by block; for a system the blocks are square."""
    if op is SOLVE and not all(fact(b, "square") for b in blocks):
        return None
    parts = _cut(x, [b.type.shape[1] for b in blocks])
    if parts is None:
        return None
    return Concatenate(-x.ndim)(*[op(*pair) for pair in zip(blocks, parts, strict=True)])


def _cut(x: Variable, dims: list[Any]) -> list[Variable] | None:
    """Return the rows of an operand in parts of these sizes, or None if it may not have them."""
    joined = x.op is Concatenate(-x.ndim) and None not in dims
    if joined and [y.type.shape[0] for y in x.inputs] == dims:
        return list(x.inputs)
    if not _fits(dims, x.type.shape[0]):
        return None
    ends = list(accumulate(dims, initial=0))
    return [index(x, (slice(a, b),)) for a, b in pairwise(ends)]


def _grid(matrix: Variable) -> list[list[Variable]]:
    """Return the blocks of a concatenation of matrices in rows; one row if they do not line up."""
    if matrix.op is BESIDE:
        return [list(matrix.inputs)]
    rows = [list(x.inputs) if x.op is BESIDE else [x] for x in matrix.inputs]
    widths = [[x.type.shape[-1] for x in row] for row in rows]
    if any([w != widths[0] for w in widths]) or None in widths[0]:
        return [[x] for x in matrix.inputs]
    return rows


def _diagonal(rows: list[list[Variable]]) -> list[Variable] | None:
    """Return the blocks on the diagonal if all others are zero."""
    if len(rows) != len(rows[0]):
        return None
    others = [x for i, row in enumerate(rows) for k, x in enumerate(row) if i != k]
    return [row[i] for i, row in enumerate(rows)] if all(map(_is_zero, others)) else None


def _multiply_grid(rows: list[list[Variable]], x: Variable) -> Any:
    """Return the product of a matrix of blocks and ``x`` without the blocks of zeros, if any."""
    if not any([_is_zero(block) for row in rows for block in row]):
        return None  # one product takes less time than several
    parts = _cut(x, [block.type.shape[-1] for block in rows[0]])
    if parts is None:
        return None
    results = []
    for row in rows:
        terms = [
            MATMUL(block, part)
            for block, part in zip(row, parts, strict=True)
            if not _is_zero(block)
        ]
        if not terms:
            return None
        results.append(reduce(add, terms))
    return results[0] if len(results) == 1 else Concatenate(-x.ndim)(*results)


def _is_zero(x: Variable) -> bool:
    """Return True for a constant matrix of zeros."""
    if x.op is SWAP:
        x = x.inputs[0]
    if isinstance(x.op, BroadcastTo):
        x = x.inputs[0]
    return isinstance(x, Constant) and x.uniform is not None and not bool(x.value.any())


def _blocks_on_the_right(x: Variable, matrix: Variable) -> Any:
    blocks = _parts(matrix)
    if not _fits([b.type.shape[0] for b in blocks], x.type.shape[-1]):
        return None
    start: Any = 0
    parts = []
    for block in blocks:
        stop = _sum(start, shape(block)[0])
        key = (slice(None),) * (x.ndim - 1) + (slice(start, stop),)
        parts.append(MATMUL(index(x, key), block))
        start = stop
    return Concatenate(-1)(*parts)


def _fits(dims: list[Any], whole: Any) -> bool:
    """Return True if an operand is as long as all blocks: slices would cut a longer one."""
    return all(isinstance(d, int) for d in dims) and whole == sum(dims)


def _multiply_kron(matrix: Variable, x: Variable) -> Any:
    """Return ``kron(A, B) @ x`` as products with A and B."""
    if matrix.op is not KRON:
        swapped = matrix.inputs[0]  # the transpose of a Kronecker product
        a, b = (matrix_transpose(y) for y in swapped.inputs)
    else:
        a, b = matrix.inputs
    sizes = _static(a, b)
    if sizes is None or x.type.shape[0] != sizes[1] * sizes[3]:
        return None
    m, n, p, q = sizes
    if x.ndim == 1:
        rows = reshape(x, (n, q))
        return reshape(MATMUL(a, MATMUL(rows, matrix_transpose(b))), (m * p,))
    k = shape(x)[1]
    inner = MATMUL(b, reshape(x, (n, q, k)))
    outer = MATMUL(a, reshape(inner, (n, _times(p, k))))
    return reshape(outer, (m * p, k))


def _solve_kron(matrix: Variable, b: Variable) -> Any:
    """Return the solution with ``kron(A, B)`` as solutions with A and B."""
    left, right = matrix.inputs
    sizes = _static(left, right)
    if sizes is None or sizes[0] != sizes[1] or sizes[2] != sizes[3]:
        return None
    m, _, p, _ = sizes
    if b.type.shape[0] != m * p:
        return None
    if b.ndim == 1:
        inner = SOLVE(left, reshape(b, (m, p)))
        solved = matrix_transpose(SOLVE(right, matrix_transpose(inner)))
        return reshape(solved, (m * p,))
    k = shape(b)[1]
    inner = SOLVE(left, reshape(b, (m, _times(p, k))))
    return reshape(SOLVE(right, reshape(inner, (m, p, k))), (m * p, k))


def _static(a: Variable, b: Variable) -> tuple[int, int, int, int] | None:
    """Return the sizes of two matrices if all are static."""
    dims: Any = (*a.type.shape, *b.type.shape)
    return dims if all(isinstance(d, int) for d in dims) else None


def _sum(a: Any, b: Any) -> Any:
    return a + b if isinstance(a, int) and isinstance(b, int) else add(a, b)


def _times(a: int, b: Any) -> Any:
    return a * b if isinstance(b, int) else multiply(a, b)
