"""Products and systems with block matrices, without building these matrices.

These rewrites are written in Python, because the sizes that cut or reshape the other operand may be
known only at the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relgraph.ir.fact_inference import fact
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable, apply
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.contraction import Matmul
from relgraph.ops.elementwise import add, multiply
from relgraph.ops.indexing.index import Index, index
from relgraph.ops.linalg.blocks import BlockDiag, Kron
from relgraph.ops.linalg.solve import Solve
from relgraph.ops.linalg.structured import Eye
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import reshape, shape
from relgraph.rewriting.rewriters import GraphRewriter, with_outputs

MATMUL, SOLVE, KRON, BLOCKS = Matmul(), Solve("general"), Kron(), BlockDiag()
ROWS = Index((("array",),))


class StructuredProducts(GraphRewriter):
    """Multiplies and solves block by block, and writes column-row products as ``A * B``.

    ``block_diag(A, B) @ X`` becomes ``concatenate([A @ X[:k], B @ X[k:]])``, and
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
            return _by_blocks(matrix, b, SOLVE)
        return _solve_kron(matrix, b) if matrix.op is KRON else None
    if op is not MATMUL or max(x.ndim for x in node.inputs) > 2:
        return _column_row(node) if op is MATMUL else None
    left, right = node.inputs
    if left.op is ROWS and _is_identity(left.inputs[0]):
        return index(right, (left.inputs[1],)) if right.dtype == node.dtype else None
    if left.op is BLOCKS:
        return _by_blocks(left, right, MATMUL)
    if right.op is BLOCKS:
        return _blocks_on_the_right(left, right)
    if left.op is KRON:
        return _multiply_kron(left, right)
    if right.op is KRON:
        turned = _multiply_kron(matrix_transpose(right), _turned(left))
        return None if turned is None else _turned(turned)
    return _column_row(node)


def _is_identity(x: Variable) -> bool:
    """Return True if a node is an identity matrix; a product with rows of it selects rows."""
    return isinstance(x.op, Eye) and x.op.params[0] == x.op.params[1] and x.op.params[2] == 0


def _column_row(node: Variable) -> Any:
    """Return a product with a single term in each sum as an elementwise product."""
    left, right = node.inputs
    if min(left.ndim, right.ndim) < 2 or not left.type.shape[-1] == 1 == right.type.shape[-2]:
        return None
    return multiply(left, right)


def _turned(x: Variable) -> Any:
    return matrix_transpose(x) if x.ndim == 2 else x


def _parts(matrix: Variable) -> list[Variable]:
    """Return the blocks of a nested block-diagonal matrix, in order."""
    blocks, x = [], matrix
    while x.op is BLOCKS:
        blocks.append(x.inputs[0])
        x = x.inputs[1]
    return [*blocks, x]


def _by_blocks(matrix: Variable, x: Variable, op: Callable[..., Any]) -> Any:
    """Return ``op(matrix, x)`` block by block; for a system the blocks are square."""
    blocks = _parts(matrix)
    if op is SOLVE and not all(fact(b, "square") for b in blocks):
        return None
    if not _fits([b.type.shape[1] for b in blocks], x.type.shape[0]):
        return None
    start: Any = 0
    parts = []
    for block in blocks:
        stop = _sum(start, shape(block)[1])
        parts.append(op(block, index(x, (slice(start, stop),))))
        start = stop
    return Concatenate(-x.ndim)(*parts)


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
