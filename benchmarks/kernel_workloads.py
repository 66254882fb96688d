"""Workloads for kernels, each written once for all frameworks.

A workload is a function of a namespace and of its inputs by name.  A namespace has NumPy's
functions; it composes functions that NumPy lacks, such as softmax, unless the framework has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from workloads import HOMES, radon, radon_inputs

Arrays = dict[str, np.ndarray]
Build = Callable[[Any, dict[str, Any]], list[Any]]
COMPILING = ("jax", "torch.compile", "pytensor", "pytensor c")  # numexpr interprets
EPSILON = 1e-5  # in the variance of a layer norm
ROWS_SHAPE = (4096, 1024)


class Composed:
    """What a framework without functions of its own makes of NumPy's."""

    exp: Any
    log1p: Any
    tanh: Any
    erf: Any
    sqrt: Any
    abs: Any
    maximum: Any
    sum: Any
    mean: Any
    max: Any
    log: Any
    cumsum: Any

    @classmethod
    def softmax(cls, x: Any) -> Any:
        """Return the softmax of the last axis."""
        e = cls.exp(x - cls.max(x, axis=-1, keepdims=True))
        return e / cls.sum(e, axis=-1, keepdims=True)

    @classmethod
    def logsumexp(cls, x: Any) -> Any:
        """Return log(sum(exp(x))) along the last axis."""
        largest = cls.max(x, axis=-1, keepdims=True)
        return cls.log(cls.sum(cls.exp(x - largest), axis=-1)) + largest[..., 0]

    @classmethod
    def layer_norm(cls, x: Any, scale: Any, shift: Any) -> Any:
        """Return the last axis centred, divided by its spread, scaled and shifted."""
        centred = x - cls.mean(x, axis=-1, keepdims=True)
        variance = cls.mean(centred**2, axis=-1, keepdims=True)
        return centred / cls.sqrt(variance + EPSILON) * scale + shift

    @classmethod
    def gelu(cls, x: Any) -> Any:
        """Return x times the probability that a standard normal variable is below it."""
        return 0.5 * x * (1 + cls.erf(x / math.sqrt(2)))

    @classmethod
    def sigmoid(cls, x: Any) -> Any:
        """Return 1 / (1 + exp(-x))."""
        return 1 / (1 + cls.exp(-x))

    @classmethod
    def softplus(cls, x: Any) -> Any:
        """Return log(1 + exp(x)), which must not overflow."""
        return cls.maximum(x, 0) + cls.log1p(cls.exp(-cls.abs(x)))


class NumpySpace(Composed):
    """NumPy, with SciPy's error function."""

    exp, log1p, tanh, sqrt, abs = np.exp, np.log1p, np.tanh, np.sqrt, np.abs
    maximum, where, sum, mean, max = np.maximum, np.where, np.sum, np.mean, np.max

    @staticmethod
    def log(x: Any) -> Any:
        """Return the logarithm; a Python number stays one, so that it takes an array's dtype."""
        return math.log(x) if isinstance(x, float) else np.log(x)

    @staticmethod
    def cumsum(x: Any) -> Any:
        """Return the sums of the elements so far, along the last axis."""
        return np.cumsum(x, axis=-1)

    @staticmethod
    def erf(x: Any) -> Any:
        """Return SciPy's error function."""
        from scipy.special import erf

        return erf(x)


class ExactSpace(NumpySpace):
    """The same on long doubles, of 64 bits of precision: what results are compared with."""

    @staticmethod
    def erf(x: Any) -> Any:
        """Return mpmath's error function."""
        import mpmath

        def one(value: Any) -> Any:
            high = float(value)
            with mpmath.workdps(25):
                found = mpmath.erf(mpmath.mpf(high) + mpmath.mpf(float(value - high)))
                head = float(found)
                return np.longdouble(head) + np.longdouble(float(found - head))

        return np.frompyfunc(one, 1, 1)(x).astype(np.longdouble)


@dataclass(frozen=True)
class Target:
    """At least how many times as fast as the best of some peers; of all of them by default."""

    value: float
    against: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A workload, its sizes and its targets.

    Attributes
    ----------
    name : str
        What ``--rows`` calls it.
    title : str
        What tables call it.
    build : callable
        ``build(xp, inputs)`` returns the list of outputs in the namespace ``xp``.
    draw : callable
        ``draw(size, generator)`` returns the inputs by name.
    dims : dict of str to tuple of str
        The names of the sizes of each input.
    targets : tuple of Target
        What is asked of relgraph.
    sizes : tuple of int
        Elements of the largest input.
    numexpr : str, callable or None
        Its expression in numexpr over the inputs in order; or a function of what evaluates one,
        and of the inputs by name; None where numexpr lacks a function.
    operators : callable, optional
        The same of the inputs in order, for a workload that needs no namespace: a call of it is a
        call of NumPy's operators and nothing else.
    exact_size : int, optional
        The size at which errors are measured.
    given_array : bool, optional
        Whether it is also measured with the result written into a given array.
    """

    name: str
    title: str
    build: Build
    draw: Callable[[int, np.random.Generator], Arrays]
    dims: dict[str, tuple[str, ...]]
    targets: tuple[Target, ...]
    sizes: tuple[int, ...] = (1_000, 1_000_000, 10_000_000)
    numexpr: str | Callable[..., Any] | None = None
    operators: Callable[..., Any] | None = None
    exact_size: int = 1_000_000
    given_array: bool = False

    def inputs(self, size: int, dtype: str) -> Arrays:
        """Return the inputs of a size, floats in the dtype."""
        drawn = self.draw(size, np.random.default_rng(0))
        return {
            name: x.astype(dtype) if x.dtype.kind == "f" else x
            for name, x in ((name, np.asarray(x)) for name, x in drawn.items())
        }


def _normals(*names: str) -> Callable[[int, np.random.Generator], Arrays]:
    return lambda size, draw: {name: draw.normal(size=size) for name in names}


def _matrix(size: int, draw: np.random.Generator) -> np.ndarray:
    """Return rows of at most 1024 columns."""
    columns = ROWS_SHAPE[1] if size >= ROWS_SHAPE[1] else size
    return draw.normal(size=(size // columns, columns))


def _square(size: int, draw: np.random.Generator) -> np.ndarray:
    side = math.isqrt(size)
    return draw.normal(size=(side, side))


def _products(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a * b + c * d


def _triad(xp: Any, v: dict[str, Any]) -> list[Any]:
    return [_products(v["a"], v["b"], v["c"], v["d"])]


def _exp_log1p(xp: Any, v: dict[str, Any]) -> list[Any]:
    return [xp.exp(-(v["x"] ** 2) / 2) * v["y"] + xp.log1p(xp.exp(v["z"]))]


def _squares(xp: Any, v: dict[str, Any]) -> list[Any]:
    return [xp.sum((v["x"] - v["m"]) ** 2 / v["s"] ** 2)]


def _activations(xp: Any, v: dict[str, Any]) -> list[Any]:
    """Return a gated unit: an affine map, its sigmoid, its tanh, their mixture with x, rectified.

    Twelve ops where a sigmoid is a negation, an exponential, a sum and a quotient.
    """
    h = v["w"] * v["x"] + v["b"]
    gate = xp.sigmoid(h)
    return [xp.maximum(gate * xp.tanh(h) + (1 - gate) * v["x"], 0)]


RATE, VOLATILITY = 0.05, 0.2


def _black_scholes(xp: Any, v: dict[str, Any]) -> list[Any]:
    """Return the prices of calls and puts."""
    price, strike, years = v["price"], v["strike"], v["years"]
    spread = VOLATILITY * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (RATE + VOLATILITY**2 / 2) * years) / spread
    d2 = d1 - spread
    n1 = 0.5 + 0.5 * xp.erf(d1 / math.sqrt(2))
    n2 = 0.5 + 0.5 * xp.erf(d2 / math.sqrt(2))
    discounted = strike * xp.exp(-RATE * years)
    return [price * n1 - discounted * n2, discounted * (1 - n2) - price * (1 - n1)]


def _options(size: int, draw: np.random.Generator) -> Arrays:
    return {
        "price": draw.uniform(10, 50, size),
        "strike": draw.uniform(10, 50, size),
        "years": draw.uniform(1, 2, size),
    }


def _mandelbrot(xp: Any, v: dict[str, Any]) -> list[Any]:
    """Return z = z^2 + c and one more step counted, where z has not escaped."""
    x, y = v["x"], v["y"]
    x2, y2 = x * x, y * y
    inside = x2 + y2 <= 4
    return [
        xp.where(inside, x2 - y2 + v["cx"], x),
        xp.where(inside, 2 * x * y + v["cy"], y),
        xp.where(inside, v["count"] + 1, v["count"]),
    ]


def _mandelbrot_numexpr(evaluate: Any, v: Arrays) -> list[Any]:
    return [
        evaluate("where(x*x + y*y <= 4, x*x - y*y + cx, x)", x=v["x"], y=v["y"], cx=v["cx"]),
        evaluate("where(x*x + y*y <= 4, 2*x*y + cy, y)", x=v["x"], y=v["y"], cy=v["cy"]),
        evaluate("where(x*x + y*y <= 4, n + 1, n)", x=v["x"], y=v["y"], n=v["count"]),
    ]


def _planes(size: int, draw: np.random.Generator) -> Arrays:
    return {
        "x": draw.uniform(-2, 2, size),
        "y": draw.uniform(-2, 2, size),
        "cx": draw.uniform(-2, 1, size),
        "cy": draw.uniform(-1, 1, size),
        "count": draw.integers(0, 50, size).astype(float),
    }


def _stencil(xp: Any, v: dict[str, Any]) -> list[Any]:
    """Return a step of diffusion in the plane."""
    u = v["u"]
    inner = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return [inner + 0.125 * (around - 4 * inner)]


def _stencil_numexpr(evaluate: Any, v: Arrays) -> list[Any]:
    u = v["u"]
    return [
        evaluate(
            "i + (n + s + w + e - 4*i)/8",
            i=u[1:-1, 1:-1], n=u[:-2, 1:-1], s=u[2:, 1:-1], w=u[1:-1, :-2], e=u[1:-1, 2:],
        )
    ]  # fmt: skip


def _softmax_numexpr(evaluate: Any, v: Arrays) -> list[Any]:
    e = evaluate("exp(x - m)", x=v["x"], m=v["x"].max(axis=-1, keepdims=True))
    return [evaluate("e / s", e=e, s=e.sum(axis=-1, keepdims=True))]


def _logsumexp_numexpr(evaluate: Any, v: Arrays) -> list[Any]:
    largest = v["x"].max(axis=-1, keepdims=True)
    e = evaluate("exp(x - m)", x=v["x"], m=largest)
    return [np.log(e.sum(axis=-1)) + largest[..., 0]]


def _layer_norm_numexpr(evaluate: Any, v: Arrays) -> list[Any]:
    centre = v["x"].mean(axis=-1, keepdims=True)
    spread = evaluate("(x - m)**2", x=v["x"], m=centre).mean(axis=-1, keepdims=True)
    factor = 1 / np.sqrt(spread + EPSILON)
    arrays = {"x": v["x"], "m": centre, "f": factor, "g": v["scale"], "b": v["shift"]}
    return [evaluate("(x - m)*f*g + b", **arrays)]


def _cumulative_numexpr(evaluate: Any, v: Arrays) -> list[Any]:
    return [evaluate("log(x)", x=np.cumsum(evaluate("exp(x)", **v), axis=-1))]


def _layers(size: int, draw: np.random.Generator) -> Arrays:
    x = _matrix(size, draw)
    return {"x": x, "scale": draw.normal(size=x.shape[1]), "shift": draw.normal(size=x.shape[1])}


def _logistic(xp: Any, v: dict[str, Any]) -> list[Any]:
    """Return the log-likelihood of labels 0 and 1, and its gradient by the weights."""
    X, y = v["X"], v["y"]
    e = X @ v["w"]
    return [xp.sum(y * e - xp.softplus(e)), X.T @ (y - xp.sigmoid(e))]


def _logistic_numexpr(evaluate: Any, v: Arrays) -> list[Any]:
    e = v["X"] @ v["w"]
    likelihood = evaluate(
        "y*e - where(e > 0, e, 0) - log1p(exp(-abs(e)))", y=v["y"], e=e
    ).sum()  # NumPy adds in pairs, numexpr in order
    return [likelihood, v["X"].T @ evaluate("y - 1/(1 + exp(-e))", y=v["y"], e=e)]


def _observations(size: int, draw: np.random.Generator) -> Arrays:
    count = size // 20
    X = draw.normal(size=(count, 20))
    w = 0.3 * draw.normal(size=20)
    return {"X": X, "w": w, "y": (draw.random(count) < 1 / (1 + np.exp(-X @ w))).astype(float)}


_SCALARS = ("intercept", "slope", "intercept_sd_log", "slope_sd_log", "noise_log")
_HOME_DIMS = (
    dict.fromkeys(_SCALARS, ())
    | dict.fromkeys(("county_intercept", "county_slope"), ("counties",))
    | dict.fromkeys(("county", "floor", "radon"), ("homes",))
)
_ROWS = {"x": ("m", "n")}


def _vectors(*names: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(names, ("n",))


ROWS = (
    Row(
        "triad", "`a*b + c*d`", _triad, _normals(*"abcd"), _vectors(*"abcd"),
        (Target(1.0),), numexpr="a*b + c*d", operators=_products, given_array=True,
    ),
    Row(
        "exp_log1p", "`exp(-x**2/2)*y + log1p(exp(z))`", _exp_log1p, _normals(*"xyz"),
        _vectors(*"xyz"), (Target(1.3),), numexpr="exp(-x**2/2)*y + log1p(exp(z))",
    ),
    Row(
        "squares", "`sum((x - m)**2 / s**2)`", _squares,
        lambda size, draw: _normals("x", "m")(size, draw) | {"s": np.array(1.3)},
        {**_vectors("x", "m"), "s": ()}, (Target(1.5),), numexpr="sum((x - m)**2 / s**2)",
    ),
    Row(
        "softmax", "softmax of rows", lambda xp, v: [xp.softmax(v["x"])],
        lambda size, draw: {"x": _matrix(size, draw)}, _ROWS, (Target(2.0),),
        sizes=(math.prod(ROWS_SHAPE),), numexpr=_softmax_numexpr,
    ),
    Row(
        "logsumexp_rows", "logsumexp of rows", lambda xp, v: [xp.logsumexp(v["x"])],
        lambda size, draw: {"x": _matrix(size, draw)}, _ROWS, (Target(1.15),),
        sizes=(math.prod(ROWS_SHAPE),), numexpr=_logsumexp_numexpr,
    ),
    Row(
        "logsumexp_flat", "logsumexp, flat", lambda xp, v: [xp.logsumexp(v["x"])],
        _normals("x"), _vectors("x"), (Target(1.15),), numexpr=_logsumexp_numexpr,
    ),
    Row(
        "cumulative_rows", "`log(cumsum(exp(x)))` of rows",
        lambda xp, v: [xp.log(xp.cumsum(xp.exp(v["x"])))],
        lambda size, draw: {"x": _matrix(size, draw)}, _ROWS, (Target(1.2),),
        sizes=(math.prod(ROWS_SHAPE),), numexpr=_cumulative_numexpr,
    ),
    Row(
        "layer_norm", "layer norm", lambda xp, v: [xp.layer_norm(v["x"], v["scale"], v["shift"])],
        _layers, {**_ROWS, **_vectors("scale", "shift")}, (Target(1.2),),
        numexpr=_layer_norm_numexpr,
    ),
    Row(
        "gelu", "gelu", lambda xp, v: [xp.gelu(v["x"])], _normals("x"), _vectors("x"),
        (Target(1.2),), exact_size=10_000,
    ),
    Row(
        "activations", "12-op activation chain", _activations, _normals(*"xwb"), _vectors(*"xwb"),
        (Target(1.2),),
        numexpr=lambda evaluate, v: [
            evaluate(
                "where(g*tanh(w*x + b) + (1 - g)*x > 0, g*tanh(w*x + b) + (1 - g)*x, 0)",
                g=evaluate("1/(1 + exp(-(w*x + b)))", **v), **v,
            )
        ],
    ),
    Row(
        "black_scholes", "Black-Scholes", _black_scholes, _options,
        _vectors("price", "strike", "years"), (Target(1.2),), exact_size=10_000,
    ),
    Row(
        "mandelbrot", "Mandelbrot step", _mandelbrot, _planes,
        _vectors("x", "y", "cx", "cy", "count"), (Target(1.2),), numexpr=_mandelbrot_numexpr,
    ),
    Row(
        "stencil", "stencil through slices", _stencil,
        lambda size, draw: {"u": _square(size, draw)}, {"u": ("m", "n")}, (Target(1.2),),
        numexpr=_stencil_numexpr,
    ),
    Row(
        "logistic", "logistic log-likelihood and gradient", _logistic, _observations,
        {"X": ("n", "k"), "w": ("k",), "y": ("n",)}, (Target(2.0),), sizes=(200_000 * 20,),
        numexpr=_logistic_numexpr,
    ),
    Row(
        "tiny", "tiny arrays, `a*b + c*d`", _triad, _normals(*"abcd"), _vectors(*"abcd"),
        (Target(1.0, ("numpy",)), Target(4.0, COMPILING)), sizes=(1, 10),
        numexpr="a*b + c*d", operators=_products, exact_size=10,
    ),
    Row(
        "hierarchical", "hierarchical log-density", radon, radon_inputs, _HOME_DIMS,
        (Target(2.0, ("pytensor",)),), sizes=(HOMES, 100_000), exact_size=100_000,
    ),
)  # fmt: skip


def label(arrays: Arrays) -> str:
    """Return what a set of inputs is called: the shape of the largest."""
    shape = max(arrays.values(), key=lambda x: x.size).shape
    return " × ".join(f"{n:,}" for n in shape)
