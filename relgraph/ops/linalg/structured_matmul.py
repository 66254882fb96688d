"""Products with a triangular or a tridiagonal matrix, which leave out the zeros.

The matrix is known to have zeros elsewhere, so each product equals that of NumPy up to rounding if
the other operand is finite.  Small products are NumPy's: leaving out zeros takes longer.

References
----------
J. J. Dongarra, J. Du Croz, S. Hammarling and I. Duff, "A set of level 3 basic linear algebra
subprograms", ACM Trans. Math. Softw. 16 (1990).  G. H. Golub and C. F. Van Loan, Matrix
Computations, 4th ed., section 1.2 (band matrices).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ir.cost import extent, size
from relgraph.ir.facts import Facts
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Type
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.blas import DTYPES, blas_routine

TRIANGLE, BAND = 256, 128  # from these sides, leaving out zeros takes less time
_ROWS = 32  # rows of a band that are multiplied at once, so that they stay in cache
_MATMUL = Matmul()


class _StructuredMatmul(Op):
    """A product of two matrices, one of which has a structure."""

    __slots__ = ()
    arity = 2
    rate = "product"
    overhead = 3000
    returns_new_array = True

    def infer(self, *types: Any) -> Type:
        """Return the type of the product."""
        return _MATMUL.infer(*types)  # type: ignore[no-any-return]

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Return the facts of the plain product."""
        return _MATMUL.facts(operands, node)  # type: ignore[no-any-return]


class TriangularMatmul(_StructuredMatmul):
    """The product of two matrices, one of which is triangular.

    Parameters
    ----------
    lower : bool
        Which triangle it has.
    side : int
        Which operand it is, 0 or 1.
    """

    __slots__ = ()
    name = "triangular_matmul"
    parameters = ("lower", "side")

    def perform(self, *values: Any) -> Any:
        """Multiply with BLAS."""
        lower, side = self.params
        triangle, other = values[side], values[1 - side]
        if (
            len(triangle) < TRIANGLE
            or not other.size
            or triangle.dtype != other.dtype
            or triangle.dtype.name not in DTYPES
        ):
            return np.matmul(*values)
        # BLAS reads columns: it is asked for the transpose of the result.
        trmm = blas_routine({"f": "s", "d": "d"}[other.dtype.char], "trmm")
        if triangle.flags.f_contiguous:
            return trmm(1.0, triangle, other.T, side=1 - side, lower=lower, trans_a=1).T
        return trmm(1.0, triangle.T, other.T, side=1 - side, lower=not lower).T

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost half of a product."""
        return size(result) * extent(types[self.params[1]].shape[-1])


class TridiagonalMatmul(_StructuredMatmul):
    """The product of two matrices, one of which is tridiagonal.

    Parameters
    ----------
    side : int
        Which operand it is, 0 or 1.
    """

    __slots__ = ()
    name = "tridiagonal_matmul"
    rate = "loop"
    overhead = 10_000
    parameters = ("side",)

    def perform(self, *values: Any) -> Any:
        """Add up the products with the three diagonals, a few rows at a time."""
        (side,) = self.params
        band, other = values[side], values[1 - side]
        if len(band) < BAND or band.dtype != other.dtype or band.dtype.kind != "f":
            return np.matmul(*values)
        if side:
            return np.ascontiguousarray(_banded(band.T, other.T).T)
        return _banded(band, other)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost three multiplications and additions for each element."""
        return 6 * size(result)


def _banded(band: Any, x: Any) -> Any:
    """Return the product of a tridiagonal matrix and ``x``."""
    main, above, below = [band.diagonal(k)[:, None] for k in (0, 1, -1)]
    n = len(x)
    result = np.multiply(main, x)
    terms = np.empty_like(result[:_ROWS])
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        end, begin = min(stop, n - 1), max(start, 1)
        result[start:end] += np.multiply(
            above[start:end], x[start + 1 : end + 1], out=terms[: end - start]
        )
        result[begin:stop] += np.multiply(
            below[begin - 1 : stop - 1], x[begin - 1 : stop - 1], out=terms[: stop - begin]
        )
    return result
