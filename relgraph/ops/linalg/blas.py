"""Products added to an array, each one call of BLAS: gemm, gemv, ger and syrk.

Their first operand is the array that is added to, as that of an update is: a program may give it
up to the result, and otherwise the result is a new array.  BLAS reads columns, and arrays are C
contiguous, so each routine is asked for the transpose of the result, and no operand is copied.

A result equals that of the products and sums as they are written up to rounding.  With k terms in
a product, each element is within ``gamma(k + 2) (|alpha| |A| |B| + |beta| |C|)`` of the exact one,
where ``gamma(n) = n u / (1 - n u)`` and ``u`` is half an ulp of 1.

References
----------
J. J. Dongarra, J. Du Croz, S. Hammarling and I. Duff, "A set of level 3 basic linear algebra
subprograms", ACM Trans. Math. Softw. 16 (1990).  N. J. Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., section 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np

from relgraph.errors import DTypeError, ShapeError, count_of
from relgraph.ir.cost import extent, size
from relgraph.ir.facts import Facts, kept, proved, shared
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, Type, unify_dims
from relgraph.ops.arguments import shape_text
from relgraph.ops.contraction import contracted

DTYPES = ("float32", "float64")
_LETTERS = {"f": "s", "d": "d"}
_BLOCK = 64  # rows whose upper triangle is copied at once


class _Accumulation(Op):
    """A product, times a number, added to an array, which may be multiplied by a number too."""

    __slots__ = ()
    rate = "product"
    overhead = 3000
    ranks: ClassVar[tuple[int, ...]] = ()
    scaled: ClassVar[bool] = True  # whether the last operand multiplies the array

    def infer(self, *types: Any) -> Type:
        """Return the type of the array; the product has exactly its shape."""
        for position, (one, rank) in enumerate(zip(types, self.ranks, strict=True)):
            if one.ndim != rank:
                raise ShapeError(
                    f"operand {position} has {count_of(one.ndim, 'dimension')}, not {rank}",
                    fix="Reshape it, or write the product and the sum with @ and +.",
                )
            if one.dtype != types[0].dtype or one.dtype.name not in DTYPES:
                raise DTypeError(
                    "BLAS takes operands of one dtype, float32 or float64",
                    fix="Convert them with .astype, or write the product and the sum.",
                )
        array, product = types[0], self._product(*[x.shape for x in types[2:]])
        try:
            shape = [unify_dims(*dims) for dims in zip(array.shape, product, strict=True)]
        except ShapeError as error:
            raise ShapeError(
                f"{error.what}, and nothing is stretched here",
                {"array": shape_text(array.shape), "product": shape_text(product)},
                "Give the array that shape, or write the product and the sum with @ and +.",
            ) from None
        return TensorType(array.dtype, shape)

    def perform(self, *values: Any) -> Any:
        """Add the product to a copy of the array, with SciPy's BLAS."""
        array, beta, others = self._parts(values)
        new = array.copy() if beta == 1.0 else np.multiply(array, beta, order="C")
        return self._added(new, *others)

    def overwrite(self, *values: Any) -> Any:
        """Add the product to the first operand, which nothing else reads, and return it.

        It is C-contiguous and writeable.
        """
        array, beta, others = self._parts(values)
        if beta != 1.0:  # not by BLAS, which forgets NaN and infinities where beta is 0
            np.multiply(array, beta, out=array)
        return self._added(array, *others)

    def _parts(self, values: tuple[Any, ...]) -> tuple[Any, float, tuple[Any, ...]]:
        """Return the array, what it is multiplied by, and the operands of the product."""
        if self.scaled:
            return values[0], values[-1].item(), values[1:-1]
        return values[0], 1.0, values[1:]

    def _added(self, array: Any, factor: Any, *operands: Any) -> Any:
        """Add the product to a C-contiguous array in place.

        BLAS returns at once where alpha is 0 and does not look for NaN in the product; where it
        is not finite, the order of products and sums matters.
        """
        if not self._fits(array, *operands):
            shape = shape_text(self._product(*[x.shape for x in operands]))
            raise ShapeError(
                f"{self.name}: a product of shape {shape} is added to an array of shape "
                f"{shape_text(array.shape)}",
                fix="Give it arrays of shapes that fit the op.",
            )
        alpha = factor.item()
        if alpha and math.isfinite(alpha) and array.size and operands[0].size:
            self._call(_LETTERS[array.dtype.char], array, alpha, *operands)
        else:
            np.add(array, np.multiply(alpha, self._written(*operands)), out=array)
        return array

    _product: Callable[..., tuple[Any, ...]]  # its shape, from those after the first two operands
    _fits: Callable[..., bool]  # whether the product has the shape of the array
    _written: Callable[..., Any]  # the product by NumPy
    _call: Callable[..., None]  # adds it by BLAS to a C-contiguous array that has elements

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost the product, and one addition for each element."""
        return 2 * size(result) * extent(types[2].shape[-1]) + size(result)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know of integers and of what is nonnegative in all operands."""
        return kept(shared(operands), "nonnegative", "integer")


class Gemm(_Accumulation):
    """The sum ``beta * C + alpha * A @ B`` of matrices, as ``gemm(C, alpha, A, B, beta)``."""

    __slots__ = ()
    name = "gemm"
    total = True
    arity = 5
    ranks = (2, 0, 2, 2, 0)

    def _product(self, *shapes: Any) -> tuple[Any, ...]:
        a, b = shapes[:2]
        contracted(a[1], b[0])
        return (a[0], b[1])

    def _fits(self, array: Any, *operands: Any) -> bool:
        (rows, columns), (a, b) = array.shape, operands
        return bool(a.shape == (rows, len(b)) and b.shape[1] == columns)

    def _written(self, *operands: Any) -> Any:
        return np.matmul(*operands)

    def _call(self, letter: str, array: Any, alpha: float, *operands: Any) -> None:
        # array.T is added the product of the transposes in the other order.
        a, b = map(_columns, operands)
        blas_routine(letter, "gemm")(alpha, b[0], a[0], 1.0, array.T, b[1], a[1], 1)


class Gemv(_Accumulation):
    """The sum ``beta * y + alpha * A @ x`` of vectors, as ``gemv(y, alpha, A, x, beta)``."""

    __slots__ = ()
    name = "gemv"
    total = True
    arity = 5
    ranks = (1, 0, 2, 1, 0)

    def _product(self, *shapes: Any) -> tuple[Any, ...]:
        a, x = shapes[:2]
        contracted(a[1], x[0])
        return (a[0],)

    def _fits(self, array: Any, *operands: Any) -> bool:
        a, x = operands
        return bool(a.shape == (len(array), len(x)))

    def _written(self, *operands: Any) -> Any:
        return np.matmul(*operands)

    def _call(self, letter: str, array: Any, alpha: float, *operands: Any) -> None:
        a, x = operands
        columns, turned = _columns(a)
        blas_routine(letter, "gemv")(alpha, columns, x, 1.0, array, 0, 1, 0, 1, 1 - turned, 1)


class Ger(_Accumulation):
    """The sum ``A + alpha * outer(x, y)``, as ``ger(A, alpha, x, y)``."""

    __slots__ = ()
    name = "ger"
    total = True
    arity = 4
    ranks = (2, 0, 1, 1)
    scaled = False

    def _product(self, *shapes: Any) -> tuple[Any, ...]:
        x, y = shapes
        return (*x, *y)

    def _fits(self, array: Any, *operands: Any) -> bool:
        x, y = operands
        return bool(array.shape == (len(x), len(y)))

    def _written(self, *operands: Any) -> Any:
        return np.outer(*operands)

    def _call(self, letter: str, array: Any, alpha: float, *operands: Any) -> None:
        x, y = operands
        blas_routine(letter, "ger")(alpha, y, x, 1, 1, array.T, 0, 0, 1)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost a multiplication and an addition for each element."""
        return 2 * size(result)


class Syrk(_Accumulation):
    """The sum ``beta * C + alpha * A @ A.mT`` for a symmetric C, as ``syrk(C, alpha, A, beta)``.

    Only the lower triangle of C is read; the result is symmetric.
    """

    __slots__ = ()
    name = "syrk"
    total = True
    arity = 4
    overhead = 8000
    ranks = (2, 0, 2, 0)

    def _product(self, *shapes: Any) -> tuple[Any, ...]:
        rows = shapes[0][0]
        return (rows, rows)

    def _fits(self, array: Any, *operands: Any) -> bool:
        rows = len(operands[0])
        return bool(array.shape == (rows, rows))

    def _written(self, *operands: Any) -> Any:
        (a,) = operands
        return np.matmul(a, a.T)

    def _added(self, array: Any, factor: Any, *operands: Any) -> Any:
        return _mirrored(super()._added(array, factor, *operands))

    def _call(self, letter: str, array: Any, alpha: float, *operands: Any) -> None:
        columns, turned = _columns(operands[0])
        blas_routine(letter, "syrk")(alpha, columns, 1.0, array.T, 1 - turned, 0, 1)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost half of a product, and one addition for each element."""
        return size(result) * extent(types[2].shape[-1]) + size(result)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Know that it is symmetric, and what the other products know."""
        return super().facts(operands, node) | proved("symmetric")


@cache
def blas_routine(letter: str, name: str) -> Any:
    """Return a routine of SciPy's BLAS; SciPy is imported when the first one is asked for."""
    from scipy.linalg import blas

    return getattr(blas, letter + name)


def _columns(x: Any) -> tuple[Any, int]:
    """Return a matrix by columns, as BLAS reads it, and whether its transpose has to be taken.

    The matrix returned, transposed where that is asked for, is the transpose of ``x``.
    """
    flags = x.flags
    return (x, 1) if flags.f_contiguous and not flags.c_contiguous else (x.T, 0)


def _mirrored(array: Any) -> Any:
    """Copy the lower triangle of a matrix to the upper one, a few rows at a time."""
    for start in range(0, len(array), _BLOCK):
        stop = start + _BLOCK
        array[:start, start:stop] = array[start:stop, :start].T
        block = array[start:stop, start:stop]
        lower = np.tri(len(block), dtype=bool)
        block[...] = np.where(lower, block, block.T)
    return array
