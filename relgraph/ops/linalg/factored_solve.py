"""Solutions by a known factor, Sylvester's equation, and the signs of permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import IndexRangeError, ShapeError, count_of
from relgraph.ir.cost import extent, size
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, Type, broadcast_shapes
from relgraph.ops.arguments import as_operand
from relgraph.ops.contraction import contracted
from relgraph.ops.docstrings import documented
from relgraph.ops.linalg.factorisations import OneByOne
from relgraph.ops.linalg.lapack import common_floats, float_dtype, routine, solved, triangular
from relgraph.ops.linalg.solve import Switch, SystemOp, matrices_of, solution_type, square_size
from relgraph.ops.linalg.structured import last_two

_POTRS = 64  # from this side, two triangular systems take less time for one right side


class LUSolve(Op):
    """The solution x of ``a @ x = b``, given both results of ``lu_factor(a)``.

    Parameters
    ----------
    trans : int
        1 to solve ``a.mT @ x = b`` instead, else 0.
    """

    __slots__ = ()
    name = "lu_solve"
    parameters = ("trans",)
    arity = 3
    conditioned = True
    needs_regular = True
    returns_new_array = True
    rate = "substitution"
    overhead = 5000

    def infer(self, *types: Any) -> Type:
        """Return the type of the solution."""
        factors, _, b = types
        return solution_type(factors, b)

    def perform(self, *values: Any) -> Any:
        """Solve with LAPACK, one matrix at a time; a singular matrix raises LinAlgError."""
        factors, pivots, b = values
        factors, b = common_floats(factors, b)
        _check_invertible(factors)
        _check_pivots(np.asarray(pivots), factors)
        return solved(self._one, factors, b, pivots)

    def _one(self, factors: Any, b: Any, pivots: Any) -> Any:
        return routine("getrs", b.dtype)(factors, pivots, b, trans=self.params[0])[0]

    def calls(self, types: tuple[Any, ...], result: Any) -> Any:
        """Return the number of matrices."""
        return matrices_of(result)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 2 n^2 for each right side."""
        return 2 * size(result) * extent(types[0].shape[-1])


class PivotSign(Op):
    """The sign of the permutation that row interchanges, in turn, make up."""

    __slots__ = ()
    name = "pivot_sign"
    overhead = 2700
    arity = 1

    def infer(self, *types: Any) -> Type:
        """Return the type float64[...]."""
        return TensorType("float64", types[0].shape[:-1])

    def perform(self, *values: Any) -> Any:
        """Count the rows that are swapped with another one."""
        pivots = np.asarray(values[0])
        moved = pivots != np.arange(pivots.shape[-1])
        swaps = np.count_nonzero(moved) if moved.ndim == 1 else np.count_nonzero(moved, axis=-1)
        return np.float64(1.0) - 2.0 * (swaps % 2)


class PermutationSign(Op):
    """The sign of each permutation of 0, ..., n - 1, given as a vector."""

    __slots__ = ()
    name = "permutation_sign"
    arity = 1

    def infer(self, *types: Any) -> Type:
        """Return the type float64[...]."""
        return TensorType("float64", types[0].shape[:-1])

    def perform(self, *values: Any) -> Any:
        """Count the cycles."""
        places = np.asarray(values[0])
        result = np.ones(places.shape[:-1])
        for at in np.ndindex(*result.shape):
            seen = np.zeros(places.shape[-1], bool)
            for start in range(places.shape[-1]):
                place, length = start, 0
                while not seen[place]:
                    seen[place] = True
                    place, length = int(places[at][place]), length + 1
                if length and length % 2 == 0:
                    result[at] = -result[at]
        return result[()]


class SolveSylvester(OneByOne):
    """The solution x of ``a @ x + x @ b = q``."""

    __slots__ = ()
    name = "solve_sylvester"
    overhead = 80_000
    measure = (40, 8)
    arity = 3
    needs_regular = True

    def infer(self, *types: Any) -> Type:
        """Return the type of ``q``, in the common float dtype."""
        a, b, q = types
        rows, columns = last_two(q, "the right side of Sylvester's equation")
        m = contracted(square_size(a, "Sylvester's equation"), rows)
        n = contracted(square_size(b, "Sylvester's equation"), columns)
        batch = broadcast_shapes([x.shape[:-2] for x in types])
        return TensorType(float_dtype(*types), (*batch, m, n))

    def one(self, *matrices: Any) -> Any:
        """Solve with SciPy."""
        from scipy.linalg import solve_sylvester as substitute

        return substitute(*matrices)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 10 m^3 + 10 n^3, for two Schur forms, and 3 m n (m + n)."""
        m, n = (extent(types[i].shape[-1]) for i in (0, 1))
        return 10 * (m**3 + n**3) + 3 * m * n * (m + n)


class ChoSolve(Switch, SystemOp):
    """The solution x of ``a @ x = b``, given Cholesky's factor of ``a``.

    Parameters
    ----------
    lower : bool
        Whether the factor is L with ``a = L @ L.mT``, else U with ``a = U.mT @ U``.
    """

    __slots__ = ()
    name = "cho_solve"
    measure = (50, 4)
    parameters = ("lower",)

    def perform(self, *values: Any) -> Any:
        """Solve with LAPACK, one matrix at a time."""
        factor, b = common_floats(*values)
        _check_invertible(factor)
        return solved(self._one, factor, b)

    def _one(self, factor: Any, b: Any) -> Any:
        if b.ndim == 1 and len(b) >= _POTRS:
            lower, y = self.params[0], b
            for trans in (int(not lower), int(lower)):
                y = triangular(factor, y, trans, lower, False)
            return y
        # LAPACK's matrices lie in Fortran's order, so that the transpose needs no copy.
        return routine("potrs", b.dtype)(factor.T, b, lower=not self.params[0])[0]

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 2 n^2 for each right side."""
        return 2 * self._substitution(types, result)


def _check_invertible(factors: Any) -> None:
    """Raise LinAlgError for factors with a zero on the diagonal."""
    pivots = factors.diagonal(axis1=-2, axis2=-1)
    if np.count_nonzero(pivots) < pivots.size:
        raise np.linalg.LinAlgError("Singular matrix")


def _check_pivots(pivots: Any, factors: Any) -> None:
    """Raise an error for row interchanges that LAPACK would follow out of its memory."""
    n = factors.shape[-1]
    if pivots.dtype.kind not in "iu" or pivots.shape[-1:] != (n,):
        raise ShapeError(
            f"the pivots are integers, one for each of {count_of(n, 'row')}",
            {"pivots": f"{pivots.dtype}{list(pivots.shape)}"},
            "Pass both results of lu_factor.",
        )
    if pivots.size and not 0 <= pivots.min() <= pivots.max() < n:
        raise IndexRangeError(
            f"a pivot is not the number of one of {count_of(n, 'row')}",
            {"pivots": f"from {pivots.min()} to {pivots.max()}"},
            "Pass both results of lu_factor.",
        )


@documented()
def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0) -> Any:
    """Return the solution x of ``a @ x = b``, given ``lu_factor(a)``.

    lu_and_piv (tuple of Variable): What :func:`lu_factor` returned.
    b (Variable or array-like, [n] or [..., n, k]): A vector only where it has one dimension.
    trans ({0, 1}): Whether to solve with the transpose of ``a``.
    Returns: Of the shape of ``b``.
    ShapeError: For a factor that is not square, or when the sizes do not fit.
    """
    factors, pivots = lu_and_piv
    return LUSolve(trans)(as_operand(factors), as_operand(pivots), as_operand(b))


@documented()
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Return the solution x of Sylvester's equation ``a @ x + x @ b = q``.

    a (Variable, array-like or pattern, [m, m]): The matrix on the left.
    b (Variable, array-like or pattern, [n, n]): The matrix on the right.
    q (Variable, array-like or pattern, [m, n]): The right side.
    Returns (Variable or pattern, float[m, n]): The solution; none is unique where ``a`` and ``-b``
        have an eigenvalue in common.
    ShapeError: For operands that are not square matrices, or when the sizes do not fit.
    """
    return SolveSylvester()(as_operand(a), as_operand(b), as_operand(q))


@documented(like=lu_solve)
def cho_solve(factor_and_lower: tuple[Any, bool], b: Any) -> Any:
    """Return the solution x of ``a @ x = b``, given Cholesky's factor of ``a``.

    factor_and_lower (tuple of (Variable, bool)): The factor, and whether it is the lower one.
    """
    factor, lower = factor_and_lower
    return ChoSolve(lower)(as_operand(factor), as_operand(b))
