"""Which products of matrices are positive semidefinite: those that are mirrored.

``psd`` says of a real matrix that it is symmetric and that ``x.T @ A @ x >= 0`` for every vector x,
``spd`` that this is positive for every x but zero.  Both are facts of the exact value, which the
computed one approximates (see :mod:`relgraph.ir.facts`): rounding may leave a matrix that is nearly
singular with a small negative eigenvalue, and Cholesky's factorisation of it raises.  Nothing is
inferred for integers, which wrap around.

References
----------
R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., Cambridge University Press, 2013: sections
7.1 (sums, multiples, congruence) and 7.5 (Schur's product theorem).
"""

from __future__ import annotations

from relgraph.ir.fact_inference import fact
from relgraph.ir.facts import NOTHING, Facts, proved
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ops.permutation import MatrixTranspose

# The number of factors of a product that are compared with its mirror image.
_MOST = 16

Factor = tuple[Variable, bool]  # and whether it is transposed

_FLIP = MatrixTranspose()


def of_product(node: Variable) -> Facts:
    """Return that a product is positive semidefinite, where it is ``B @ M @ B.T`` for such an M.

    Where it is invertible as well, it is positive definite.
    """
    if node.dtype.kind != "f" or not _mirrored(_end(node, 0), _end(node, 1)):
        return NOTHING
    factors = _factors(node)
    half, middle = divmod(len(factors), 2)
    for first, last in zip(factors[:half], reversed(factors), strict=False):
        if not _mirrored(first, last):
            return NOTHING
    if middle and not _holds(factors[half], "psd"):
        return NOTHING
    return proved("psd")


def _end(node: Variable, side: int) -> Factor:
    """Return the first factor of a product, or the last one, as deep as factors are compared."""
    x, turned, product = node, False, node.op
    for _ in range(_MOST):
        if x.op is _FLIP:
            x, turned = x.inputs[0], not turned
        elif _is_product(x, product):
            x = x.inputs[side ^ turned]
        else:
            break
    return x, turned


def _factors(node: Variable) -> list[Factor]:
    """Return the factors of a product from left to right, products among them opened."""
    factors: list[Factor] = []
    waiting: list[Factor] = [(node, False)]
    product = node.op
    while waiting:
        x, turned = waiting.pop()
        if x.op is _FLIP:
            waiting.append((x.inputs[0], not turned))
        elif _is_product(x, product) and len(factors) + len(waiting) < _MOST:
            left, right = ((y, turned) for y in x.inputs)
            waiting += [left, right] if turned else [right, left]
        else:
            factors.append((x, turned))
    return factors


def _is_product(x: Variable, product: Op | None) -> bool:
    return x.op is product and all([y.ndim >= 2 for y in x.inputs])


def _mirrored(first: Factor, last: Factor) -> bool:
    """Return True if a factor is the transpose of another one."""
    (x, a), (y, b) = first, last
    return x is y and (a != b or _holds(first, "symmetric"))


def _holds(factor: Factor, name: str) -> bool:
    return fact(factor[0], name) is True
