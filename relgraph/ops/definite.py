"""Which products of matrices are symmetric or positive semidefinite: those that are mirrored.

``psd`` says of a real matrix that it is symmetric and that ``x.T @ A @ x >= 0`` for every vector x,
``spd`` that this is positive for every x but zero.  Both are facts of the exact value, which the
computed one approximates (see :mod:`relgraph.ir.facts`): rounding may leave a matrix that is nearly
singular with a small negative eigenvalue, and Cholesky's factorisation of it raises.  Nothing is
inferred for integers, which wrap around.

A product is read as a sequence of factors: ``A * w`` is ``A @ diag(w)``, and ``solve(S, X)`` is
``inv(S) @ X``.

References
----------
R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., Cambridge University Press, 2013: sections
7.1 (sums, multiples, congruence) and 7.5 (Schur's product theorem).
"""

from __future__ import annotations

from typing import NamedTuple

from relgraph.ir.fact_inference import fact
from relgraph.ir.facts import NOTHING, Facts, proved
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ops.elementwise import multiply, true_divide
from relgraph.ops.permutation import MatrixTranspose

# The number of factors of a product that are compared with its mirror image.
_MOST = 16

_FLIP = MatrixTranspose()


class Factor(NamedTuple):
    """A matrix of a product: a node, whether it is transposed, and what is made of it.

    ``kind`` is "" for the node itself, "inverse" for its inverse, "diagonal" for the diagonal
    matrix of its elements, and "divisor" for that of their reciprocals.
    """

    node: Variable
    turned: bool = False
    kind: str = ""


def of_product(node: Variable) -> Facts:
    """Return that a product is positive semidefinite, where it is ``B @ M @ B.T`` for such an M.

    Where it is invertible as well, it is positive definite.  If M is only symmetric, so is it.
    """
    if node.dtype.kind != "f" or not _mirrored(_end(node, 0), _end(node, 1)):
        return NOTHING
    factors = _factors(node)
    half, middle = divmod(len(factors), 2)
    for first, last in zip(factors[:half], reversed(factors), strict=False):
        if not _mirrored(first, last):
            return NOTHING
    if not middle or _semidefinite(factors[half]):
        return proved("psd")
    return proved("symmetric") if _mirrored(factors[half], factors[half]) else NOTHING


def _end(node: Variable, side: int) -> Factor:
    """Return the first factor of a product, or the last one, as deep as factors are compared."""
    x = Factor(node)
    for _ in range(_MOST):
        parts = _parts(x, node.op)
        if parts is None:
            break
        x = parts[-side]
    return x


def _factors(node: Variable) -> list[Factor]:
    """Return the factors of a product from left to right, products among them opened."""
    factors: list[Factor] = []
    waiting = [Factor(node)]
    while waiting:
        x = waiting.pop()
        parts = _parts(x, node.op) if len(factors) + len(waiting) < _MOST else None
        if parts is None:
            factors.append(x)
        else:
            waiting += reversed(parts)
    return factors


def _parts(x: Factor, product: Op | None) -> tuple[Factor, ...] | None:
    """Return the factors that a factor is the product of, or None."""
    node, turned, kind = x
    op, inputs = node.op, node.inputs
    if kind or op is None:
        return None
    if op is _FLIP:
        return (Factor(inputs[0], not turned),)
    if op is product and all([y.ndim >= 2 for y in inputs]):
        parts = [Factor(y, turned) for y in inputs]
    elif op.inverts and inputs[-1].ndim >= 2:
        parts = [Factor(inputs[0], turned, "inverse"), *(Factor(y, turned) for y in inputs[1:])]
    elif op is multiply or op is true_divide:
        scaled = _scaled(node)
        if scaled is None:
            return None
        parts = [y._replace(turned=turned and not y.kind) for y in scaled]
    else:
        return None
    return tuple(reversed(parts)) if turned else tuple(parts)


def _scaled(node: Variable) -> list[Factor] | None:
    """Return a matrix whose rows or columns are scaled as two factors, or None."""
    x, y = node.inputs
    kind = "diagonal" if node.op is multiply else "divisor"
    for matrix, scale in ((x, y), (y, x)) if node.op is multiply else ((x, y),):
        shape = matrix.type.shape[-2:]
        if not 2 <= matrix.ndim == node.ndim or matrix.dtype != node.dtype or 1 in shape:
            continue
        rows, columns = ((1,) * 2 + scale.type.shape)[-2:]
        if rows == 1 and columns != 1:
            return [Factor(matrix), Factor(scale, False, kind)]
        if columns == 1 and rows != 1:
            return [Factor(scale, False, kind), Factor(matrix)]
    return None


def _mirrored(first: Factor, last: Factor) -> bool:
    """Return True if a factor is the transpose of another one."""
    if first.node is not last.node or first.kind != last.kind:
        return False
    if first.kind in ("diagonal", "divisor"):
        return True
    return first.turned != last.turned or fact(first.node, "symmetric") is True


def _semidefinite(x: Factor) -> bool:
    """Return True if a factor is positive semidefinite; one that is inverted is invertible."""
    if x.kind == "diagonal":
        return fact(x.node, "nonnegative") is True
    return fact(x.node, "positive" if x.kind == "divisor" else "psd") is True
