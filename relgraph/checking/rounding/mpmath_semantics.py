"""The exact value of a graph by mpmath, and a bound of the rounding error of computing it.

The bound is measured (Monte Carlo arithmetic): the exact value is computed again, with every
rounded result perturbed at random by one unit in the last place, and the bound is the largest
deviation times a constant.  A sum, a matrix product or a factorisation is at best backward stable:
its result is exact for nearby operands, so its operands are perturbed as well.

References
----------
D. S. Parker, "Monte Carlo arithmetic: exploiting randomness in floating-point arithmetic", UCLA
technical report CSD-970002, 1997.
N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, sections 3.1,
3.5, 4.2 and 9.3: the backward errors of sums, products and solutions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from relgraph.checking.rounding import mpmath_linalg
from relgraph.checking.rounding.mpmath_linalg import Undefined
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import GetItem
from relgraph.ir.types import TensorType, TupleType
from relgraph.ops import cumulative, reductions
from relgraph.ops.elementwise import Cast, Elementwise
from relgraph.ops.linalg import factorisations

Array = Any


# The error of these is small relative to the largest element of a result, not to each element:
# G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., theorem 8.1.5 and section 8.3.
NORMWISE = (factorisations.Eigvalsh, factorisations.Eigh)
# The error of these is the error of the library, measured at the same operands.  SciPy's expm uses
# a wrong norm (https://github.com/scipy/scipy/issues/25864): in 1.17, its error is up to 3,000 eps
# of the largest element, and that of a stable algorithm is 10 eps.  A measured bound accepts
# whatever it measures; a test compares it with these figures.
MEASURED = (factorisations.Expm,)
SAMPLES = 6


def value(
    graph: Variable,
    values: dict[str, Array],
    rng: np.random.Generator | None = None,
    eps: float = 0,
    moved: Constant | None = None,
) -> Array:
    """Return the value of a graph in mpmath's precision, as an array of ``mpmath.mpf``.

    With ``rng``, each step is perturbed at random by up to ``eps``, relative to its result.  The
    constant ``moved`` is replaced by the next float of its dtype.  If some step has no real value,
    this raises :class:`Undefined`.
    """
    done: dict[Variable, Array] = {}
    for x in toposort([graph]):
        if isinstance(x, Constant):
            done[x] = _real(x.value)
            if x is moved:
                done[x] = done[x] * (1 + mpmath.mpf(float(np.finfo(x.dtype).eps)) / 2)
            continue
        if x.op is None:
            result = _real(values[x.name])  # type: ignore[attr-defined]
        else:
            try:
                result = _step(x, [done[y] for y in x.inputs], rng, eps)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise Undefined(str(error)) from None
        done[x] = result
        _require_numbers(x, result)
    return done[graph]


def _step(x: Variable, operands: list[Array], rng: Any, eps: float) -> Any:
    """Return the value of a node, perturbed like a rounding error if there is an ``rng``."""
    if rng is None or not _rounds(x):
        return _apply(x, operands)
    if not isinstance(x.op, Elementwise | Cast):
        operands = [
            _noisy(v, rng, eps) if _of_floats(y) else v
            for v, y in zip(operands, x.inputs, strict=True)
        ]
    result = _rounded(x.op, _apply(x, operands), rng, eps)
    if isinstance(x.op, MEASURED) or _rounding(x.op) == "measured":
        noise = _error_of(x, operands) * _real(rng.uniform(-1, 1, result.shape))
        result = np.asarray(result + noise, dtype=object)
    return result


def _rounding(op: Any) -> str:
    """Return how exactly a library computes an elementwise op, "" for any other op."""
    return op.row.rounding if isinstance(op, Elementwise) else ""


def _error_of(x: Variable, operands: list[Array]) -> Any:
    """Return the largest error of a node's NumPy value at floats next to its operands."""
    floats = [v.astype(y.dtype) for v, y in zip(operands, x.inputs, strict=True)]
    computed = _real(x.op.perform(*floats))  # type: ignore[union-attr]
    return np.max(abs(computed - _apply(x, list(map(_real, floats)))), initial=mpmath.mpf(0))


def _require_numbers(x: Variable, result: Any) -> None:
    """Raise if a result is not real, not finite, or an integer outside the range of its dtype."""
    whole = isinstance(x.type, TensorType) and x.dtype.kind in "iu"
    low, high = (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max) if whole else (0, 0)
    for part in result if isinstance(result, tuple) else (result,):
        for one in part.reshape(-1):
            if isinstance(one, mpmath.mpc) or not mpmath.isfinite(one):
                raise Undefined(f"{x} has the value {one}")
            if whole and not low <= one <= high:
                raise Undefined(f"{x} overflows")


def _noisy(x: Array, rng: Any, eps: float) -> Array:
    return np.asarray(x * (1 + _real(eps * rng.uniform(-1, 1, x.shape))), dtype=object)


def _rounded(op: Any, result: Any, rng: Any, eps: float) -> Any:
    """Return one or several results, perturbed like a rounding error."""
    if isinstance(result, tuple):
        return tuple(_rounded(op, part, rng, eps) for part in result)
    noise = _real(eps * rng.uniform(-1, 1, result.shape))
    added = 0 * noise
    if isinstance(op, reductions.LogSumExp | reductions.LogSoftmax) or _rounding(op) == "absolute":
        added = noise  # the sum inside of a logarithm is rounded
    elif isinstance(op, NORMWISE) and result.size:
        added = noise * max(map(abs, result.reshape(-1)))
    return np.asarray(result * (1 + noise) + added, dtype=object)


def bound(graph: Variable, values: dict[str, Array], eps: float, center: Array) -> Array:
    """Return the largest of a few random deviations of a graph from ``center``, by element.

    Each step is off by up to ``eps``, relative to its result.
    """
    rng = np.random.default_rng(7)
    deviations = [abs(value(graph, values, rng, eps) - center) for _ in range(SAMPLES)]
    return np.asarray(np.max(np.stack(deviations), axis=0), dtype=object)


def error_of_constants(graph: Variable, values: dict[str, Array], center: Array) -> Array:
    """Return how far rounded constants may move a graph from ``center``.

    A constant with as many digits as log(2) is a rounded number, not an exact one; moving each
    constant separately gives its contribution to first order, and the result is their sum.
    """
    total = 0 * center
    for x in toposort([graph]):
        if isinstance(x, Constant) and _was_rounded(x):
            total = total + abs(value(graph, values, moved=x) - center)
    return total


def _was_rounded(x: Constant) -> bool:
    if x.dtype.kind != "f" or x.uniform is None:
        return False
    number = float(x.uniform)
    return math.isfinite(number) and not (number * 2**20).is_integer()


def _of_floats(x: Variable) -> bool:
    return not isinstance(x.type, TensorType) or x.dtype.kind == "f"


def _rounds(x: Variable) -> bool:
    """Return True if what a node computes is rounded, beyond what it is computed from."""
    op: Any = x.op
    if not _of_floats(x):
        return False
    if isinstance(op, Elementwise):
        return op.row.meaning is not None and op.row.rounding != "none"
    return not op.moves_elements


def _real(value: Array) -> Array:
    return _array(np.asarray(value), _number)


def _number(v: Any) -> Any:
    v = v.item() if isinstance(v, np.ndarray | np.generic) else v
    return v if isinstance(v, mpmath.mpf | mpmath.mpc) else mpmath.mpf(v)


def _array(value: Array, function: Callable[[Any], Any]) -> Array:
    result = np.empty(value.shape, dtype=object)
    flat, out = value.reshape(-1), result.reshape(-1)
    for i, v in enumerate(flat):
        out[i] = function(v)
    return result


def _apply(node: Variable, operands: list[Array]) -> Any:
    op: Any = node.op
    if isinstance(op, Cast):
        return _converted(operands[0], node.dtype.kind)
    if isinstance(op, Elementwise):
        meaning = op.row.meaning
        if meaning is None:
            raise Undefined(op.name)
        whole = np.broadcast_arrays(*operands)
        result = np.empty(whole[0].shape, dtype=object)
        for i in np.ndindex(*result.shape):
            result[i] = meaning(mpmath, *[w[i] for w in whole])
        return result
    if isinstance(op, reductions.Reduction):
        return _reduce(op, operands[0])
    if isinstance(op, cumulative.Cumulative):
        return np.asarray(op.ufunc.accumulate(operands[0], axis=op.axis), dtype=object)
    if isinstance(op, reductions.Softmax | reductions.LogSoftmax):
        e = _array(operands[0], mpmath.exp)
        share = e / np.sum(e, axis=op.axis, keepdims=True)
        return share if isinstance(op, reductions.Softmax) else _array(share, mpmath.log)
    if type(op) in mpmath_linalg.MEANING:
        return mpmath_linalg.value(op, operands)
    if isinstance(node.type, TupleType):
        raise Undefined(op.name)
    if isinstance(op, GetItem):
        return np.asarray(operands[0][op.params[0]], dtype=object)
    if not type(op).__module__.startswith("relgraph."):
        raise Undefined(op.name)  # a user's op needs arrays of NumPy numbers
    # Ops that move, add and multiply elements work on mpmath's numbers; indices stay integers.
    arrays = [
        v if _of_floats(x) else v.astype(x.dtype)
        for v, x in zip(operands, node.inputs, strict=True)
    ]
    return _real(np.asarray(op.perform(*arrays), dtype=object))


def _converted(x: Array, kind: str) -> Array:
    """Return numbers as another kind of dtype holds them; floats are rounded by :func:`value`."""
    if kind == "b":
        return _array(x, lambda v: mpmath.mpf(v != 0))
    return x if kind == "f" else _array(x, lambda v: mpmath.floor(v) if v > 0 else mpmath.ceil(v))


def _reduce(op: Any, x: Array) -> Array:
    over = {"axis": op.axis, "keepdims": op.keepdims}
    if isinstance(op, reductions.Sum):
        result = np.sum(x, **over, initial=mpmath.mpf(0))
    elif isinstance(op, reductions.Prod):
        result = np.prod(x, **over, initial=mpmath.mpf(1))
    elif op.moves_elements:
        result = _real(op.compute(x, x.dtype))
    elif isinstance(op, reductions.Any | reductions.All):
        result = _real(op.compute(x != 0, x.dtype))
    elif isinstance(op, reductions.Mean):
        total = np.asarray(np.sum(x, **over, initial=mpmath.mpf(0)), dtype=object)
        result = total * mpmath.mpf(max(total.size, 1)) / max(x.size, 1)
        if not x.size:
            raise Undefined("the mean of nothing")
    elif isinstance(op, reductions.LogSumExp):
        total = np.asarray(np.sum(_array(x, mpmath.exp), **over, initial=mpmath.mpf(0)), object)
        result = _array(total, mpmath.log)
    else:
        raise Undefined(op.name)
    return np.asarray(result, dtype=object)
