"""What products, systems and inverses cost: a time if all sizes are static, else operations.

A cost is a polynomial in the sizes that are not static.  For static sizes it is one number, a time
in picoseconds, in which a call of LAPACK on a 2 by 2 matrix costs what it costs.  For other sizes
it counts floating-point operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from relgraph.ir.op import Op
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve
from relgraph.ops.linalg.factorisations import LUFactor
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular
from relgraph.ops.linalg.structured_matmul import TridiagonalMatmul

Monomial = tuple[str, ...]
Cost = Counter[Monomial]
Size = int | str
Term = tuple[int, tuple[Any, ...]]  # a coefficient, and the sizes that multiply it

# The ops that each kind calls; their overheads are the constant terms.
OPS: dict[str, type[Op]] = {
    "inverse": Inv, "general": Solve, "symmetric": Solve, "spd": Solve,
    "triangular": SolveTriangular, "lu": LUSolve, "cholesky": ChoSolve, "lu_factor": LUFactor,
    "cholesky_factor": Cholesky, "det": Det, "slogdet": Slogdet,
}  # fmt: skip

# Picoseconds, measured with NumPy 2 and OpenBLAS on one core, sizes 2 to 1000.  The terms of lower
# order say how much slower small matrices are.  In the highest order each operation takes 25 ps, so
# that the number of operations decides for large matrices.
_CUBE = {
    "inverse": 50, "general": 17, "symmetric": 8, "spd": 8, "lu_factor": 17, "cholesky_factor": 8,
    "det": 17, "slogdet": 17,
}  # fmt: skip
_SQUARE = {
    "inverse": 25_000, "general": 8_000, "symmetric": 8_000, "spd": 6_000, "lu_factor": 8_000,
    "cholesky_factor": 8_000, "det": 8_000, "slogdet": 8_000,
}  # fmt: skip
SIDES = {"general": 50, "symmetric": 50, "spd": 50, "lu": 50, "cholesky": 50, "triangular": 25}
TURNED: Term = (
    1_500_000,
    (),
)  # to transpose both sides of a system, and to read a transposed result
_ELEMENT = 400  # an element of a matrix that is read or written
_RIGHT = 4_000  # an element of a right side

# Sixths of operations, for sizes that are not static.
_OPERATIONS = {
    "inverse": (12, 0), "general": (4, 12), "symmetric": (2, 12), "spd": (2, 12),
    "triangular": (0, 6), "lu": (0, 12), "cholesky": (0, 12), "lu_factor": (4, 0),
    "cholesky_factor": (2, 0), "det": (4, 0), "slogdet": (4, 0),
}  # fmt: skip


def product_terms(m: Any, k: Any, n: Any, timed: bool, structure: str = "") -> list[Term]:
    """Return the cost of a product of m by k and k by n matrices.

    Parameters
    ----------
    m, k, n : int or str
        The sizes.
    timed : bool
        Whether to return a time rather than operations.
    structure : {"", "half", "band"}
        ``half`` if half of the operations are left out, because an operand is triangular or the
        result symmetric, and ``band`` for a tridiagonal matrix on the left or the right.
    """
    if structure == "band":
        return (
            [(3_000, (m, n)), (TridiagonalMatmul.overhead * 1000, ())] if timed else [(36, (m, n))]
        )
    if not timed:
        return [(6 if structure else 12, (m, k, n))]
    return [
        (25 if structure else 50, (m, k, n)),
        (_ELEMENT, (m, k)),
        (_ELEMENT, (k, n)),
        (_ELEMENT, (m, n)),
        (Matmul.overhead * 1000, ()),
    ]


def solver_terms(kind: str, n: Any, r: Any, timed: bool) -> list[Term]:
    """Return the cost of a system, factorisation, inverse or determinant, of side n.

    Parameters
    ----------
    kind : str
        Such as ``general``, a key of the tables above.
    n, r : int or str
        The side, and the number of right sides.
    timed : bool
        Whether to return a time rather than operations.
    """
    if not timed:
        cube, square = _OPERATIONS[kind]
        return [(cube, (n, n, n)), (square, (n, n, r))]
    return [
        (_CUBE.get(kind, 0), (n, n, n)),
        (_SQUARE.get(kind, 0), (n, n)),
        (SIDES.get(kind, 0), (n, n, r)),
        (_RIGHT if kind in SIDES else 0, (n, r)),
        (OPS[kind].overhead * 1000, ()),
    ]


def total(terms: Iterable[Term]) -> Cost:
    """Return the sum of terms as a polynomial in the sizes that are not static."""
    result: Cost = Counter()
    for number, sizes in terms:
        names = []
        for size in sizes:
            if isinstance(size, int):
                number *= size
            else:
                names.append(size)
        if number:
            result[tuple(sorted(names))] += number
    return result


@lru_cache(4096)
def product_value(m: int, k: int, n: int, timed: bool) -> int:
    """Return the cost of a product without structure, for sizes that are numbers."""
    return value(product_terms(m, k, n, timed))


def value(terms: Sequence[Term]) -> int:
    """Return the sum of terms whose sizes are numbers."""
    result = 0
    for number, sizes in terms:
        for size in sizes:
            number *= size
        result += number
    return result


def dominates(cheap: Cost, dear: Cost, least: int = 1) -> bool:
    """Return True if a cost is at most another one for all sizes of at least ``least``.

    The test covers each monomial of the first by monomials of the second that it divides.

    Parameters
    ----------
    cheap, dear : Counter
        The costs.
    least : int
        The smallest size.
    """
    left = Counter(dear)
    for monomial, number in sorted(cheap.items(), key=lambda item: (-len(item[0]), item[0])):
        own = Counter(monomial)
        payers = sorted(
            (m for m in left if left[m] > 0 and not own - Counter(m)), key=lambda m: (len(m), m)
        )
        for m in payers:
            worth = least ** (len(m) - len(monomial))
            paid = min(-(-number // worth), left[m])
            left[m] -= paid
            number -= paid * worth
            if number <= 0:
                break
        if number > 0:
            return False
    return True
