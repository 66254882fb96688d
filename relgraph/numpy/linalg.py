"""NumPy's linear algebra, for graphs: ``relgraph.numpy.linalg``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relgraph.errors import ArgumentError, DomainError, ShapeError, no_attribute
from relgraph.numpy import products
from relgraph.numpy.norms import matrix_norm, norm, vector_norm
from relgraph.numpy.operands import typed
from relgraph.numpy.products import tensordot, vecdot
from relgraph.numpy.unsupported import instead_of
from relgraph.ops import contraction, elementwise
from relgraph.ops.arguments import check_int
from relgraph.ops.checks import assert_sizes
from relgraph.ops.contraction import matmul
from relgraph.ops.docstrings import documented
from relgraph.ops.linalg import factorisations
from relgraph.ops.linalg.solve import cholesky as cholesky_of
from relgraph.ops.linalg.solve import det, inv, slogdet, solve
from relgraph.ops.linalg.structured import diagonal, eye, trace
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import broadcast_to, dim, shape

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def __getattr__(name: str) -> Any:
    fix = instead_of(f"np.linalg.{name}")
    raise no_attribute("relgraph.numpy.linalg", name, __all__, fix)


def __dir__() -> list[str]:
    return __all__


@documented()
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the cross products of vectors of three elements, as ``numpy.linalg.cross``.

    x1, x2: Other axes broadcast.
    axis (int): Where the vectors lie.
    Returns: The common dtype.
    ShapeError: For vectors that are not known to have three elements.
    """
    return products.cross(x1, x2, axis=axis)


@documented()
def outer(x1: Any, x2: Any, /) -> Any:
    """Return the products of all pairs of elements of two vectors, as ``numpy.linalg.outer``.

    x1 (Variable or array-like, [m]): A vector.
    x2 (Variable or array-like, [n]): A vector.
    Returns (Variable, [m, n]): The common dtype.
    ShapeError: For other numbers of dimensions; ``outer`` ravels its operands.
    """
    x, y = typed(x1, "outer"), typed(x2, "outer")
    for operand in (x, y):
        if operand.ndim != 1:
            raise ShapeError(
                f"linalg.outer takes vectors, not {operand.type}",
                fix="Use np.outer, which ravels its operands.",
            )
    return contraction.outer(x, y)


@documented()
def matrix_power(a: Any, n: int) -> Any:
    """Multiply square matrices with themselves, as ``numpy.linalg.matrix_power``.

    a (Variable or array-like, [..., n, n]): Any dtype; a float for a negative power.
    n (int): The power; a negative one is that of the inverse.
    Returns (Variable, [..., n, n]): As few products as repeated squaring takes.
    ArgumentError: For a power that is not an int.
    ShapeError: For matrices that are not square; at the call, where their sizes are not known
        before.
    """
    x = products.matrices_of(a, "matrix_power")
    rows, columns = x.type.shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise ShapeError(
            f"matrix_power takes square matrices, not {x.type}",
            fix="Give both sizes the same number or name, as in shape=('n', 'n').",
        )
    power = check_int(n, "matrix_power: n")
    if power == 1 and (rows != columns or rows is None):  # other powers compare the sizes
        square = elementwise.equal(dim(x, -2), dim(x, -1))
        x = assert_sizes(
            x,
            square,
            "matrix_power takes square matrices",
            "Pass matrices with as many rows as columns.",
        )
    if power == 0:
        return broadcast_to(eye(dim(x, -1), dtype=x.dtype), shape(x))
    factor: Any = inv(x) if power < 0 else x
    power = abs(power)
    if power == 3:  # in NumPy's order, which is another one than that of the loop
        return matmul(matmul(factor, factor), factor)
    result: Any = None
    while power:
        if power & 1:
            result = factor if result is None else matmul(result, factor)
        power >>= 1
        if power:
            factor = matmul(factor, factor)
    return result


@documented()
def multi_dot(arrays: Any) -> Any:
    """Multiply several matrices, as ``numpy.linalg.multi_dot``.

    arrays (sequence of Variable or array-like): At least two matrices; the first may be a row and
        the last a column, as vectors.
    Returns: In NumPy's order of products where the sizes are static, else from the left; rewriting
        chooses the order by cost.
    ArgumentError: For fewer operands.
    ShapeError: When sizes differ, or for operands of other dimensions.
    """
    parts = [typed(x, "multi_dot") for x in arrays]
    if len(parts) < 2:
        raise ArgumentError(
            "multi_dot takes at least two arrays",
            {"given": len(parts)},
            "Pass two or more in one list: multi_dot([A, B]).",
        )
    for place, x in enumerate(parts):
        if x.ndim != 2 and not (x.ndim == 1 and place in (0, len(parts) - 1)):
            raise ShapeError(
                f"multi_dot takes matrices, and vectors at the ends, not {x.type}",
                fix="Write the product with @, which takes batches, or with * for scalars.",
            )
    first, last = parts[0].type.shape, parts[-1].type.shape
    sizes = [1 if len(first) == 1 else first[0], *(x.type.shape[0] for x in parts[1:])]
    sizes.append(1 if len(last) == 1 else last[-1])
    splits = _cheapest_splits(sizes) if all(isinstance(n, int) for n in sizes) else {}
    products: dict[tuple[int, int], Any] = {(i, i): x for i, x in enumerate(parts)}
    waiting = [(0, len(parts) - 1)]
    while waiting:
        i, j = waiting[-1]
        k = splits.get((i, j), j - 1)
        open_ = [part for part in ((i, k), (k + 1, j)) if part not in products]
        waiting.extend(open_)
        if not open_:
            products[waiting.pop()] = matmul(products[i, k], products[k + 1, j])
    return products[0, len(parts) - 1]


def _cheapest_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the last factor of the left part of each product, ties broken as in NumPy.

    References
    ----------
    T. H. Cormen et al., "Introduction to Algorithms", 3rd ed., 15.2 (matrix-chain multiplication).
    """
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            ends = sizes[i] * sizes[j + 1]
            costs = [cost[i, k] + cost[k + 1, j] + ends * sizes[k + 1] for k in range(i, j)]
            cost[i, j] = min(costs)
            splits[i, j] = i + costs.index(cost[i, j])
    return splits


@documented("square")
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Factor a symmetric positive definite matrix, as ``numpy.linalg.cholesky``.

    a (Variable or array-like, float[..., n, n]): Symmetric positive definite.
    upper (bool): Whether to return the upper factor.
    Returns: The triangular factor.
    LinearAlgebraError: At a call, for a matrix that is not positive definite.
    """
    return cholesky_of(a, lower=not upper)


@documented("triangle")
def eigh(a: Any, /, UPLO: str = "L") -> Any:
    """Return eigenvalues and eigenvectors of a symmetric matrix, as ``numpy.linalg.eigh``.

    Returns (tuple of Variable): [..., n] and [..., n, n].
    """
    return factorisations.eigh(a, lower=_lower(UPLO))


@documented("triangle")
def eigvalsh(a: Any, /, UPLO: str = "L") -> Any:
    """Return the eigenvalues of a symmetric matrix, as ``numpy.linalg.eigvalsh``.

    Returns (Variable, [..., n]): In ascending order.
    """
    return factorisations.eigvalsh(a, lower=_lower(UPLO))


def _lower(UPLO: str) -> bool:
    if UPLO not in ("L", "U"):
        raise DomainError(
            f"UPLO is 'L' or 'U', not {UPLO!r}",
            fix="Use 'L' to read the lower triangle, 'U' to read the upper one.",
        )
    return UPLO == "L"


@documented("matrix")
def svd(a: Any, /, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Return the singular value decomposition of a matrix, as ``numpy.linalg.svd``.

    compute_uv (bool): False for the singular values alone.
    Returns (Variable or tuple of Variable): U, the singular values, and V.mT.
    """
    factors = factorisations.svd(a, full_matrices if compute_uv else False)
    return factors if compute_uv else factors[1]


@documented("matrix")
def qr(a: Any, /, mode: str = "reduced") -> Any:
    """Return the QR decomposition of a matrix, as ``numpy.linalg.qr``.

    mode ({"reduced", "complete", "r"}): Whether Q is square; "r" for R alone.
    Returns (Variable or tuple of Variable): Q and R, or R.
    DomainError: For another mode.
    """
    return factorisations.qr(a)[1] if mode == "r" else factorisations.qr(a, mode)
