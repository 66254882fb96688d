"""Values for the inputs of a graph, its NumPy meaning, and its exact value by mpmath.

The error that a graph may have is measured, not guessed: its exact value is computed again with
every operand and every intermediate result moved by one unit in the last place, at random, and the
largest deviation, times a constant, is the bound (Monte Carlo arithmetic).

References
----------
D. S. Parker, "Monte Carlo arithmetic: exploiting randomness in floating-point arithmetic", UCLA
technical report CSD-970002, 1997.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import GetItem
from relgraph.ir.types import TupleType
from relgraph.ops import decompositions, factored, linalg, reducers
from relgraph.ops.elementwise import Cast, Elementwise

Array = Any
MATRIX = {"symmetric", "spd", "orthogonal", "invertible", "permutation", "selection"}
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0)
ZEROS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0)
EXTREME = (1e300, -1e300, 1e-300, -1e-300, 800.0, -800.0, 40.0, -40.0, 1e-10, 1.0)
LARGE = (800.0, -800.0, 40.0, -40.0, 5.0, -5.0, 1e-10, -1e-10, 1.0)


def draw(x: Any, rng: np.random.Generator, kind: str = "moderate", regular: bool = False) -> Array:
    """Return values for an input, of which its declared facts hold.

    Parameters
    ----------
    x : Input
        Its type and facts are obeyed.
    kind : {"moderate", "special", "zeros", "extreme", "large"}
        Which floats to draw.
    regular : bool
        Whether matrices are to be well conditioned.
    """
    shape, dtype = x.type.shape, x.dtype
    if dtype.kind == "b":
        value = rng.integers(0, 2, shape).astype(bool)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(0 if dtype.kind == "u" else -5, 6, shape)
        ends = rng.choice(np.array([info.min, info.max], dtype), shape)
        rare = (rng.random(shape) < 0.15) & (not (regular or MATRIX & x.facts))
        value = np.where(rare, ends, small.astype(dtype))
    else:
        pool = {"special": SPECIAL, "zeros": ZEROS, "extreme": EXTREME, "large": LARGE}.get(kind)
        if pool is None:
            value = rng.uniform(-3, 3, shape)
        else:
            value = rng.choice(np.array(pool), shape)
        with np.errstate(over="ignore", under="ignore"):
            value = value.astype(dtype)
    return _obey(x, np.asarray(value, dtype), rng, regular)


def _obey(x: Any, value: Array, rng: np.random.Generator, regular: bool) -> Array:
    facts, dtype_kind = x.facts, value.dtype.kind
    if dtype_kind == "f" and {"not_nan", "finite"} & facts:
        value = np.where(np.isnan(value), 2, value)
    if dtype_kind == "f" and "integer" in facts:
        value = np.rint(value)
    if dtype_kind == "f" and "finite" in facts:
        value = np.where(np.isinf(value), 3, value)
    if {"positive", "nonnegative"} & facts:
        value = (
            np.where(value == np.iinfo(value.dtype).min, 1, np.abs(value))
            if (value.dtype.kind == "i")
            else np.abs(value)
        )
    if {"negative", "nonpositive"} & facts:
        value = np.minimum(value, 0 if dtype_kind in "bu" else -value)
    if {"positive", "nonzero"} & facts:
        value = np.where(value == 0, 1, value)
    if "negative" in facts:
        value = np.where(value == 0, -1, value)
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2]:
        side = value.shape[-1]
        if "symmetric" in facts or "spd" in facts:
            value = value + np.swapaxes(value, -1, -2)
        if "lower_triangular" in facts:
            value = np.tril(value)
        if "upper_triangular" in facts:
            value = np.triu(value)
        if "diagonal" in facts:
            value = np.where(np.eye(side, dtype=bool), value, np.zeros((), value.dtype))
        if {"orthogonal", "permutation"} & facts:
            # A permutation: exactly orthogonal in every dtype.
            value = np.broadcast_to(np.eye(side)[rng.permutation(side)], value.shape)
        elif regular or {"spd", "invertible"} & facts:
            value = value + np.asarray((32 if "spd" in facts else 8) * np.eye(side), value.dtype)
    if "selection" in facts and value.shape[-1]:
        rows = np.arange(value.shape[-1])
        value = rng.integers(value.shape[-1], size=value.shape[:-1])[..., None] == rows
    return np.asarray(value).astype(x.dtype)


def obeys(x: Any, value: Array) -> bool:
    """Tell whether the declared facts of an input hold of a value; not asked of matrices' facts."""
    if x.facts & set(MATRIX_FACTS):
        return False
    value = np.asarray(value)
    wanted = _obey(x, value, np.random.default_rng(0), False)
    return same(value, wanted, True)


def evaluate(graphs: tuple[Variable, ...], values: dict[str, Array]) -> dict[Variable, Array]:
    """Return the value of every node, op by op with NumPy."""
    done: dict[Variable, Array] = {}
    with np.errstate(all="ignore"):
        for x in toposort(list(graphs)):
            if isinstance(x, Constant):
                done[x] = x.value
            elif x.op is None:
                done[x] = values[x.name]  # type: ignore[attr-defined]
            else:
                done[x] = _stored(x.op.perform(*[done[y] for y in x.inputs]))
    return done


def _stored(value: Any) -> Array:
    """Return a value as an array; several results as an array of arrays."""
    if not isinstance(value, tuple):
        return np.asarray(value)
    several = np.empty(len(value), dtype=object)
    several[:] = value
    return several


def same(a: Array, b: Array, exact: bool) -> bool:
    """Compare bit for bit, any NaN for any NaN; without ``exact``, zeros of either sign agree."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    nan = np.isnan(a)
    if not (nan == np.isnan(b)).all():
        return False
    equal = (a == b) & ((np.signbit(a) == np.signbit(b)) | (not exact))
    return bool((equal | nan).all())


def close(a: Array, b: Array, done: dict[Variable, Array], eps: float) -> bool:
    """Compare within 256 ``eps`` of the largest intermediate; NaN is NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    if not (np.isnan(a) == np.isnan(b)).all():
        return False
    finite = np.isfinite(a) & np.isfinite(b)
    if not (finite | np.isnan(a) | (a == b)).all():
        return False
    scale = max([1.0, *[_top(v) for v in done.values()]])
    with np.errstate(all="ignore"):
        return bool((np.abs(a - b)[finite] <= 256 * eps * scale).all())


def _top(v: Array) -> float:
    v = np.asarray(v)
    if v.dtype.kind == "O":  # several results: each is looked at where it is taken
        return 0.0
    v = v[np.isfinite(v)] if v.dtype.kind == "f" else v.astype(float)
    return float(np.abs(v).max()) if v.size else 0.0


def all_finite(done: dict[Variable, Array]) -> bool:
    """Tell whether every input and intermediate is finite; a constant is what it is."""
    computed = [np.asarray(v) for x, v in done.items() if not isinstance(x, Constant)]
    return all(np.isfinite(v).all() for v in computed if v.dtype.kind == "f")


# Exact values.


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x))


def _power(x: Any, y: Any) -> Any:
    return mpmath.power(x, y)


MEANING: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "true_divide": lambda x, y: x / y,
    "power": _power,
    "negative": lambda x: -x,
    "absolute": abs,
    "square": lambda x: x * x,
    "sqrt": mpmath.sqrt,
    "reciprocal": lambda x: 1 / x,
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log1p": mpmath.log1p,
    "log1mexp": lambda x: mpmath.log(1 - mpmath.exp(x)),
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "log10": mpmath.log10,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "hypot": mpmath.hypot,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "logerfc": lambda x: mpmath.log(mpmath.erfc(x)),
    "gamma": mpmath.gamma,
    "gammaln": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "digamma": mpmath.digamma,
    "trigamma": lambda x: mpmath.psi(1, x),
    "polygamma": mpmath.psi,
    "kv": lambda v, x: _bessel(mpmath.besselk, v, x),
    "kve": lambda v, x: _bessel(mpmath.besselk, v, x) * mpmath.exp(x),
    "iv": lambda v, x: _bessel(mpmath.besseli, v, x),
    "ive": lambda v, x: _bessel(mpmath.besseli, v, x) * mpmath.exp(-abs(x)),
    "maximum": max,
    "minimum": min,
    "where": lambda c, x, y: x if c else y,
    "clip": lambda x, low, high: min(max(x, low), high),
    "sign": mpmath.sign,
    "less": lambda x, y: mpmath.mpf(x < y),
    "less_equal": lambda x, y: mpmath.mpf(x <= y),
    "greater": lambda x, y: mpmath.mpf(x > y),
    "greater_equal": lambda x, y: mpmath.mpf(x >= y),
    "equal": lambda x, y: mpmath.mpf(x == y),
    "not_equal": lambda x, y: mpmath.mpf(x != y),
    "logical_not": lambda x: mpmath.mpf(not x),
    "logical_and": lambda x, y: mpmath.mpf(bool(x) and bool(y)),
    "logical_or": lambda x, y: mpmath.mpf(bool(x) or bool(y)),
}
# Those that pick, test or change a sign only.
EXACT = {
    "negative", "absolute", "maximum", "minimum", "where", "clip", "sign", "less", "less_equal",
    "greater", "greater_equal", "equal", "not_equal", "logical_not", "logical_and", "logical_or",
}  # fmt: skip
ROUNDED = set(MEANING) - EXACT


def _bessel(function: Any, v: Any, x: Any) -> Any:
    """Return a Bessel function where that is quick: with many digits its series takes minutes.

    Of half an odd number, the order makes it elementary (DLMF 10.39 and 10.49).
    """
    elementary = abs(v) < 10 and 2 * v % 2 == 1
    if not elementary and (mpmath.mp.dps > 100 or abs(x) > 50 or abs(v) > 50):
        raise Undefined("a Bessel function of a large argument, or in many digits")
    return function(v, x)


class Undefined(Exception):
    """A graph without an exact real value: outside of a domain, or with an op not listed here."""


def exact(
    graph: Variable,
    values: dict[str, Array],
    rng: np.random.Generator | None = None,
    eps: float = 0,
) -> Array:
    """Return the value of a graph in mpmath's precision; with ``rng``, each step is rounded.

    Raises
    ------
    Undefined
        Where some step has no real value.
    """
    done: dict[Variable, Array] = {}
    for x in toposort([graph]):
        if isinstance(x, Constant):
            done[x] = _real(x.value)
            continue
        if x.op is None:
            result = _real(values[x.name])  # type: ignore[attr-defined]
        else:
            try:
                result = _apply(x, [done[y] for y in x.inputs])
            except (ZeroDivisionError, ValueError, OverflowError, TypeError) as error:
                raise Undefined(str(error)) from None
        if isinstance(result, tuple):  # its items are looked at where they are taken
            done[x] = result
            continue
        for one in result.reshape(-1):
            if isinstance(one, mpmath.mpc) or not mpmath.isfinite(one):
                raise Undefined(f"{x} has the value {one}")
        if rng is not None and _rounds(x):
            noise = _real(eps * rng.uniform(-1, 1, result.shape))
            # A logarithm of a sum has an absolute error: the sum itself is rounded.
            shift = isinstance(x.op, reducers.LogSumExp | reducers.LogSoftmax)
            if isinstance(x.op, decompositions.Expm | decompositions.Eigvalsh) and result.size:
                # The error of an element is small beside the largest one.
                noise, largest = 8 * noise, max(map(abs, result.reshape(-1)))
                result = result + noise * largest
            result = np.asarray(result * (1 + noise) + (noise if shift else 0), dtype=object)
        done[x] = result
    return done[graph]


def rounds_constants(*graphs: Variable) -> bool:
    """Tell whether some constant has too many digits to be a number that was meant exactly."""
    constants = [x for x in toposort(list(graphs)) if isinstance(x, Constant)]
    found = [float(x.uniform) for x in constants if x.dtype.kind == "f" and x.uniform is not None]
    return any(math.isfinite(v) and not (v * 2**20).is_integer() for v in found)


def _rounds(x: Variable) -> bool:
    if x.op is None:
        return True
    return not isinstance(x.op, Elementwise) or x.op.name in ROUNDED


def _real(value: Array) -> Array:
    return _array(np.asarray(value), lambda v: mpmath.mpf(float(v)))


def _array(value: Array, function: Callable[[Any], Any]) -> Array:
    result = np.empty(value.shape, dtype=object)
    flat, out = value.reshape(-1), result.reshape(-1)
    for i, v in enumerate(flat):
        out[i] = function(v)
    return result


def _apply(node: Variable, operands: list[Array]) -> Array:
    op: Any = node.op
    if isinstance(op, Cast):
        return operands[0]
    if isinstance(op, Elementwise):
        if op.name not in MEANING:
            raise Undefined(op.name)
        function = MEANING[op.name]
        whole = np.broadcast_arrays(*operands)
        result = np.empty(whole[0].shape, dtype=object)
        for i in np.ndindex(*result.shape):
            result[i] = function(*[w[i] for w in whole])
        return result
    if isinstance(op, reducers.Reduction):
        return _reduce(op, operands[0])
    if isinstance(op, reducers.Softmax | reducers.LogSoftmax):
        e = _array(operands[0], mpmath.exp)
        share = e / np.sum(e, axis=op.axis, keepdims=True)
        return share if isinstance(op, reducers.Softmax) else _array(share, mpmath.log)
    if isinstance(op, _LINEAR):
        return _linear(op, operands)
    if isinstance(node.type, TupleType):
        raise Undefined(op.name)
    if isinstance(op, GetItem):
        return np.asarray(operands[0][op.params[0]], dtype=object)
    if "spec" in op.parameters:  # an index or an update: the integers of its key follow
        first = 1 if op.name == "index" else 2
        operands[first:] = [np.asarray(k).astype("int64") for k in operands[first:]]
        found = np.asarray(op.perform(*operands), dtype=object)
        return _array(found, lambda v: v.item() if isinstance(v, np.ndarray) else v)
    return np.asarray(op.perform(*operands), dtype=object)


def _reduce(op: Any, x: Array) -> Array:
    over = {"axis": op.axis, "keepdims": op.keepdims}
    if isinstance(op, reducers.Sum):
        result = np.sum(x, **over, initial=mpmath.mpf(0))
    elif isinstance(op, reducers.Prod):
        result = np.prod(x, **over, initial=mpmath.mpf(1))
    elif isinstance(op, reducers.Max):
        result = np.max(x, **over)
    elif isinstance(op, reducers.Min):
        result = np.min(x, **over)
    elif isinstance(op, reducers.Mean):
        total = np.asarray(np.sum(x, **over, initial=mpmath.mpf(0)), dtype=object)
        result = total * mpmath.mpf(max(total.size, 1)) / max(x.size, 1)
        if not x.size:
            raise Undefined("the mean of nothing")
    elif isinstance(op, reducers.LogSumExp):
        total = np.asarray(np.sum(_array(x, mpmath.exp), **over, initial=mpmath.mpf(0)), object)
        result = _array(total, mpmath.log)
    else:
        raise Undefined(op.name)
    return np.asarray(result, dtype=object)


_LINEAR = (
    linalg.Inv | linalg.Det | linalg.Solve | linalg.SolveTriangular | linalg.Slogdet
    | linalg.Cholesky | decompositions.Expm | decompositions.Eigvalsh | factored.ChoSolve
)  # fmt: skip


def _linear(op: Any, operands: list[Array]) -> Any:
    a = operands[0]
    if a.ndim != 2:
        raise Undefined("a batch")
    matrix = mpmath.matrix(a.tolist())
    if isinstance(op, linalg.Det):
        return np.asarray(mpmath.det(matrix), dtype=object)
    if isinstance(op, linalg.Slogdet):
        value = mpmath.det(matrix)
        parts = (mpmath.sign(value), mpmath.log(abs(value)))
        return tuple(np.asarray(part, dtype=object) for part in parts)
    if isinstance(op, linalg.Cholesky | decompositions.Expm | decompositions.Eigvalsh):
        return _function(op, a, matrix)
    if isinstance(op, linalg.Inv):
        return np.array((matrix**-1).tolist(), dtype=object).reshape(a.shape)
    b = operands[1]
    if b.ndim > 2:
        raise Undefined("a batch")
    if isinstance(op, factored.ChoSolve):
        factor = mpmath.matrix((np.tril if op.params[0] else np.triu)(a).tolist())
        matrix = factor * factor.T if op.params[0] else factor.T * factor
    if isinstance(op, linalg.SolveTriangular):
        keep = np.tril if op.lower else np.triu
        matrix = mpmath.matrix(keep(a).tolist())
        matrix = matrix.T if op.params[1] else matrix
    right = mpmath.matrix(b.reshape(b.shape[0], -1).tolist())
    solution = np.array((matrix**-1 * right).tolist(), dtype=object)
    return solution.reshape(b.shape)


def _function(op: Any, a: Array, matrix: Any) -> Array:
    """Return a factor, an exponential or the eigenvalues of a matrix."""
    if isinstance(op, decompositions.Expm):
        return np.array(mpmath.expm(matrix).tolist(), dtype=object).reshape(a.shape)
    keep = np.tril if op.params[0] else np.triu
    half = keep(a)
    whole = mpmath.matrix((half + half.T - np.diag(np.diagonal(a))).tolist())
    if isinstance(op, decompositions.Eigvalsh):
        return np.array(sorted(mpmath.eigsy(whole, eigvals_only=True)), dtype=object)
    factor = np.array(mpmath.cholesky(whole).tolist(), dtype=object).reshape(a.shape)
    return factor if op.params[0] else factor.T


def bound(graph: Variable, values: dict[str, Array], eps: float, center: Array) -> Array:
    """Return the largest deviation of a graph from ``center`` when each step is off by ``eps``."""
    rng = np.random.default_rng(7)
    deviations = [abs(exact(graph, values, rng, eps) - center) for _ in range(6)]
    return np.max(np.stack(deviations), axis=0) if center.size else center
