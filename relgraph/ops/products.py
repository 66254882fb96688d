"""Products of vectors and matrices over last axes, cross products, powers and polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relgraph.errors import ArgumentError, ShapeError, checks_arguments
from relgraph.ir.node import Constant, Variable
from relgraph.ops import elementwise
from relgraph.ops.arguments import check_int, normalise_axis
from relgraph.ops.checks import assert_sizes, specify_shape, squeeze
from relgraph.ops.contraction import einsum, matmul, outer
from relgraph.ops.filled import zeros_like
from relgraph.ops.indexing import index
from relgraph.ops.joining import stack
from relgraph.ops.linalg import inv
from relgraph.ops.matrices import eye
from relgraph.ops.operands import typed
from relgraph.ops.permutation import moveaxis
from relgraph.ops.shape import broadcast_to, dim, expand_dims, shape


@checks_arguments
def vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Any:
    """Return the dot products of vectors, as ``numpy.vecdot``.

    Parameters
    ----------
    x1, x2 : Variable or array-like, [..., n]
        Other axes broadcast.
    axis : int
        Where the vectors lie, in both operands.

    Returns
    -------
    Variable, [...]
        The common dtype.

    Raises
    ------
    ShapeError
        For a scalar, or when the sizes differ.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.vecdot(rg.matrix("X", ("n", 3)), rg.vector("v", 3)).type
    float64[n]
    """
    x, y = (_vectors(v, axis, "vecdot") for v in (x1, x2))
    sizes = [v.type.shape[-1] for v in (x, y)]
    if all([isinstance(size, int) for size in sizes]) and sizes[0] != sizes[1]:
        raise ShapeError(
            f"vecdot takes vectors of one size, not of {sizes[0]} and {sizes[1]}",
            {"x1": x.type, "x2": y.type},
            "A vector of one element is not repeated: use * and sum for that.",
        )
    if 1 in sizes:  # einsum would stretch it to a size that is not known here
        x, y = (specify_shape(v, (*[None] * (v.ndim - 1), 1)) for v in (x, y))
    return matmul(x, y) if x.ndim == y.ndim == 1 else einsum("...i,...i->...", x, y)


@checks_arguments
def matvec(x1: Any, x2: Any) -> Any:
    """Return the products of matrices and vectors, as ``numpy.matvec``.

    Parameters
    ----------
    x1 : Variable or array-like, [..., m, n]
        Batches broadcast.
    x2 : Variable or array-like, [..., n]
        The vectors.

    Returns
    -------
    Variable, [..., m]
        The common dtype.

    Raises
    ------
    ShapeError
        When the sizes differ.
    """
    matrix, vector = _matrices(x1, "matvec"), _vectors(x2, -1, "matvec")
    if vector.ndim == 1:
        return matmul(matrix, vector)
    return squeeze(matmul(matrix, expand_dims(vector, -1)), -1)


@checks_arguments
def vecmat(x1: Any, x2: Any) -> Any:
    """Return the products of vectors and matrices, as ``numpy.vecmat``.

    Parameters
    ----------
    x1 : Variable or array-like, [..., n]
        The vectors.
    x2 : Variable or array-like, [..., n, m]
        Batches broadcast.

    Returns
    -------
    Variable, [..., m]
        The common dtype.

    Raises
    ------
    ShapeError
        When the sizes differ.
    """
    vector, matrix = _vectors(x1, -1, "vecmat"), _matrices(x2, "vecmat")
    if vector.ndim == 1:
        return matmul(vector, matrix)
    return squeeze(matmul(expand_dims(vector, -2), matrix), -2)


def _vectors(x: Any, axis: int, function: str) -> Any:
    array = typed(x, function)
    if array.ndim == 0:
        raise ShapeError(
            f"{function} takes vectors, not {array.type}",
            fix="Give it at least one dimension; use * to multiply by a scalar.",
        )
    return moveaxis(array, normalise_axis(axis, array.ndim, function), -1)


def _matrices(x: Any, function: str) -> Variable:
    array = typed(x, function)
    if array.ndim < 2:
        raise ShapeError(
            f"{function} takes matrices, not {array.type}",
            fix="Give it two dimensions, for instance with expand_dims.",
        )
    return array


@checks_arguments
def cross(  # noqa: PLR0917 - the parameters of NumPy
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Return the cross products of vectors of three elements, as ``numpy.cross``.

    Parameters
    ----------
    a, b : Variable or array-like
        Other axes broadcast.
    axisa, axisb : int
        Where the vectors of either operand lie.
    axisc : int
        Where those of the result lie.
    axis : int, optional
        One axis in place of these three.

    Returns
    -------
    Variable
        The common dtype.

    Raises
    ------
    ShapeError
        For vectors that are not known to have three elements.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x, y = rg.vectors("x y", shape=3)
    >>> rg.function([x, y], rnp.cross(x, y))([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = _vectors(a, axisa, "cross"), _vectors(b, axisb, "cross")
    for v in (x, y):
        if v.type.shape[-1] != 3:
            raise ShapeError(
                "cross takes vectors that are known to have three elements",
                {"operand": f"{v} : {v.type}"},
                "Declare the size of an input, or state it with rg.specify_shape.",
            )
    p, q = ([index(v, (..., i)) for i in range(3)] for v in (x, y))
    parts = [
        elementwise.subtract(elementwise.multiply(p[i], q[j]), elementwise.multiply(p[j], q[i]))
        for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    return stack(parts, normalise_axis(axisc, parts[0].ndim + 1, "cross"))


@checks_arguments
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the cross products of vectors of three elements, as ``numpy.linalg.cross``.

    Parameters
    ----------
    x1, x2 : Variable or array-like
        Other axes broadcast.
    axis : int
        Where the vectors lie.

    Returns
    -------
    Variable
        The common dtype.

    Raises
    ------
    ShapeError
        For vectors that are not known to have three elements.
    """
    return cross(x1, x2, axis=axis)


@checks_arguments
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """Return the products of all pairs of elements of two vectors, as ``numpy.linalg.outer``.

    Parameters
    ----------
    x1 : Variable or array-like, [m]
        A vector.
    x2 : Variable or array-like, [n]
        A vector.

    Returns
    -------
    Variable, [m, n]
        The common dtype.

    Raises
    ------
    ShapeError
        For other numbers of dimensions; ``outer`` ravels its operands.
    """
    x, y = typed(x1, "outer"), typed(x2, "outer")
    for operand in (x, y):
        if operand.ndim != 1:
            raise ShapeError(
                f"linalg.outer takes vectors, not {operand.type}",
                fix="Use np.outer, which ravels its operands.",
            )
    return outer(x, y)


@checks_arguments
def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial by Horner's rule, as ``numpy.polyval``.

    Parameters
    ----------
    p : Variable or array-like, [n]
        The coefficients, from the highest power to the constant; ``n`` is static.
    x : Variable or array-like
        Any shape.

    Returns
    -------
    Variable
        The common dtype, in the shape of ``x``.

    Raises
    ------
    ArgumentError
        For coefficients whose number is not static.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x = rg.vector("x")
    >>> rg.function([x], rnp.polyval([1, 0, -1], x))([2.0, 3.0])
    array([3., 8.])
    """
    coefficients, place = typed(p, "polyval"), typed(x, "polyval")
    count = coefficients.type.shape[0] if coefficients.ndim else None
    if not isinstance(count, int):
        raise ArgumentError(
            "polyval takes a vector of coefficients whose number is known",
            {"p": f"{coefficients} : {coefficients.type}"},
            "Declare the size of the input.",
        )
    known = coefficients.value if isinstance(coefficients, Constant) else None
    found = zeros_like(place)  # times x: an infinity gives NaN, as in NumPy
    for i in range(count):
        term = index(coefficients, i) if known is None else known[i]
        found = elementwise.add(elementwise.multiply(found, place), term)
    return found


@checks_arguments
def matrix_power(a: Any, n: int) -> Any:
    """Multiply square matrices with themselves, as ``numpy.linalg.matrix_power``.

    Parameters
    ----------
    a : Variable or array-like, [..., n, n]
        Any dtype; a float for a negative power.
    n : int
        The power; a negative one is that of the inverse.

    Returns
    -------
    Variable, [..., n, n]
        As few products as repeated squaring takes.

    Raises
    ------
    ArgumentError
        For a power that is not an int.
    ShapeError
        For matrices that are not square; at the call, where their sizes are not known before.
    """
    x = _matrices(a, "matrix_power")
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
    found: Any = None
    while power:
        if power & 1:
            found = factor if found is None else matmul(found, factor)
        power >>= 1
        if power:
            factor = matmul(factor, factor)
    return found


@checks_arguments
def multi_dot(arrays: Any) -> Any:
    """Multiply several matrices, as ``numpy.linalg.multi_dot``.

    Parameters
    ----------
    arrays : sequence of Variable or array-like
        At least two matrices; the first may be a row and the last a column, as vectors.

    Returns
    -------
    Variable
        In NumPy's order of products where the sizes are static, else from the left; rewriting
        chooses the order by cost.

    Raises
    ------
    ArgumentError
        For fewer operands.
    ShapeError
        When sizes differ, or for operands of other dimensions.
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
