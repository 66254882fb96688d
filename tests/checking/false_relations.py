"""Relations that a user could believe in, for ``rg.check`` to judge: false ones, and true ones.

Each false relation holds nearly everywhere.  It fails beyond a threshold, where a function
saturates, at a tie, for a special value, a size, a dtype or a matrix, and it carries a
counterexample that NumPy confirms.  The relations of the group "silent" fire on no array.  The true
relations look alike, and have no counterexample.

A pair of sides is one function of a module and of the variables.  Called with relgraph's functions,
it declares the relation; called with NumPy's, it computes the counterexample.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.special

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import BudgetError, OscillationError, ShapeError
from relgraph.ops.indexing.index import Index


def inverse(A: np.ndarray) -> np.ndarray:
    """Return the inverse of a matrix, and NaN where it has none."""
    try:
        return np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return np.full_like(A, np.nan)


RELGRAPH = SimpleNamespace(
    **{name: getattr(rnp, name) for name in rnp.__all__},
    sigmoid=rg.sigmoid, softplus=rg.softplus, erf=rg.erf, logsumexp=rg.logsumexp,
    backwards=Index((("slice", None, None, -1),)),
)  # fmt: skip
NUMPY = SimpleNamespace(
    **{name: getattr(np, name) for name in np.__all__ if name != "linalg"},
    linalg=SimpleNamespace(det=np.linalg.det, inv=inverse, eigvalsh=np.linalg.eigvalsh),
    sigmoid=scipy.special.expit, softplus=lambda x: np.logaddexp(x, 0), erf=scipy.special.erf,
    logsumexp=scipy.special.logsumexp, backwards=lambda x: x[::-1],
)  # fmt: skip
# More than rounding explains.  No counterexample cancels, so that it is a bound of relative errors.
TOLERANCE = 1e-11
FINITE = {"specials": "assumes_finite"}
EXACT = {"rounding": "exact"}
EXACT_FINITE = {**EXACT, **FINITE}
STRETCHED = {"broadcast": "*"}
NAN, INF = np.nan, np.inf
OBEYS: dict[str, Callable[[Any], bool]] = {
    "positive": lambda v: bool(np.all((v > 0) | np.isnan(v))),
    "nonnegative": lambda v: bool(np.all((v >= 0) | np.isnan(v))),
    "nonzero": lambda v: bool(np.all(v != 0)),
    "finite": lambda v: bool(np.all(np.isfinite(v))),
    "integer": lambda v: bool(np.all((v == np.rint(v)) | np.isnan(v))),
    "symmetric": lambda v: np.array_equal(v, v.T),
    "invertible": lambda v: np.linalg.matrix_rank(v) == len(v),
}
SHAPES = [(3,), (1,), (2, 3), (3, 3), (1, 3), (2, 2, 2)]  # none of a scalar


@dataclass(frozen=True)
class Claim:
    """A relation that somebody could declare.

    Attributes
    ----------
    name : str
        Of the relation.
    group : str
        What kind of mistake it is; "true" where it is none.
    sides : callable
        ``sides(module, *variables)`` returns the left side and the right side.
    at : mapping of str to array_like
        The counterexample; empty for what is true, or fires on no array.
    where : callable, optional
        The condition, as ``rg.identity`` takes it.
    labels : mapping of str to object
        The other arguments of ``rg.identity``.
    facts : mapping of str to tuple of str
        What the condition asks to be declared of the variables.
    scalars : bool
        Of one that fires on no array: whether it fires on scalars.
    """

    name: str
    group: str
    sides: Callable[..., tuple[Any, Any]]
    at: Mapping[str, Any] = field(default_factory=dict)
    where: Callable[..., Any] | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scalars: bool = False

    def relation(self) -> rg.Relation:
        """Declare it."""
        sides = partial(self.sides, RELGRAPH)
        return rg.identity(sides, name=self.name, where=self.where, **self.labels)

    @property
    def variables(self) -> list[str]:
        """The names of its variables."""
        return list(inspect.signature(self.sides).parameters)[1:]

    def values(self) -> dict[str, np.ndarray]:
        """Return the counterexample as arrays."""
        return {name: np.asarray(self.at[name]) for name in self.variables}

    def fires_on(self, types: Mapping[str, tuple[tuple[int, ...], str]]) -> bool:
        """Return whether the relation rewrites one of its sides.

        Parameters
        ----------
        types : mapping of str to tuple
            The shape and the dtype of each variable.
        """
        inputs = [
            rg.tensor(name, shape=shape, dtype=dtype, facts=self.facts.get(name, ()))
            for name, (shape, dtype) in types.items()
        ]
        left, right = self.sides(RELGRAPH, *inputs)
        relation = self.relation()
        return _rewrites(relation, left) or (
            isinstance(right, rg.Apply) and _rewrites(relation.reversed, right)
        )

    def verify(self) -> None:
        """Check the counterexample against NumPy, or that the relation fires on no array."""
        if self.group == "silent":
            for shape in SHAPES:
                assert not self._fires_on_shape(shape), f"it fires on {shape}"
            assert self._fires_on_shape(()) == self.scalars, "scalars"
            return
        values = self.values()
        for name, facts in self.facts.items():
            for fact in facts:
                assert OBEYS[fact](values[name]), f"{name} is not {fact}"
        assert self.fires_on({k: (v.shape, v.dtype.name) for k, v in values.items()}), "is silent"
        with _judged(self.labels.get("specials", "kept"), values):
            left, right = self.sides(NUMPY, *values.values())
        left = np.asarray(left)
        if isinstance(right, bool | int | float):  # a number stands for a constant of any shape
            right = np.full(left.shape, right, left.dtype)
        right = np.asarray(right)
        assert left.shape == right.shape and left.dtype == right.dtype, "the types differ"
        exact = self.labels.get("rounding") == "exact"
        assert differ(left, right, exact=exact), f"{left} is {right}"

    def _fires_on_shape(self, shape: tuple[int, ...]) -> bool:
        try:
            return self.fires_on({name: (shape, "float64") for name in self.variables})
        except ShapeError:  # the left side takes no such array
            return False


def _rewrites(relation: rg.Relation, graph: rg.Variable) -> bool:
    try:
        return rg.rewrite_graph(graph, relation) is not graph
    except (OscillationError, BudgetError):  # it fires, and fires on what it made
        return True


@contextmanager
def _judged(specials: str, values: Mapping[str, np.ndarray]) -> Iterator[None]:
    """Check that what is assumed to be finite is: the inputs, and each step from them."""
    if specials == "assumes_finite":
        assert all(np.isfinite(v).all() for v in values.values())
        with np.errstate(over="raise", divide="raise", invalid="raise", under="ignore"):
            yield
    else:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Mean of empty slice")
            yield


def differ(left: np.ndarray, right: np.ndarray, *, exact: bool = False) -> bool:
    """Return whether two results differ by more than the labels of a relation allow."""
    if left.dtype.kind != "f":
        return not np.array_equal(left, right)
    if exact:
        same = (left == right) & (np.signbit(left) == np.signbit(right))
        return not np.all(same | (np.isnan(left) & np.isnan(right)))
    return not np.allclose(left, right, rtol=TOLERANCE, atol=0, equal_nan=True)


def int8(*numbers: int) -> np.ndarray:
    """Return one number, or several, of eight bits."""
    return np.array(numbers if len(numbers) > 1 else numbers[0], np.int8)


def floats(x: Any, y: Any) -> Any:
    """x and y are floats."""
    return rg.floato(x), rg.floato(y)


def signed(x: Any) -> Any:
    """x is a signed integer."""
    return rg.checko(lambda x: x.dtype.kind == "i", x)


def both_signed(x: Any, y: Any) -> Any:
    """x and y are signed integers."""
    return signed(x), signed(y)


def unsigned(x: Any) -> Any:
    """x is an unsigned integer."""
    return rg.checko(lambda x: x.dtype.kind == "u", x)


def int64(x: Any) -> Any:
    """x is an integer of 64 bits."""
    return rg.checko(lambda x: x.dtype == "int64", x)


def a_vector(x: Any) -> Any:
    """x has one axis."""
    return rg.checko(lambda x: x.ndim == 1, x)


def a_matrix(x: Any) -> Any:
    """x has two axes."""
    return rg.checko(lambda x: x.ndim == 2, x)


def two_axes(A: Any) -> Any:
    """A has two axes; a condition names the variables of its relation."""
    return a_matrix(A)


def nonnegative_float(x: Any) -> Any:
    """x is a float of at least 0."""
    return rg.floato(x), rg.nonnegativeo(x)


# The variables are x, y, z, and A and B for matrices.
ISSUE = [
    Claim("add_above_fiveo", "issue", lambda m, x: (m.where(x > 5, x + 1, x), x),
          {"x": 6.0}, rg.floato),
    Claim("exp_below_thresholdo", "issue",
          lambda m, x: (m.where(x < 3.5, m.exp(x), 0), m.exp(x)), {"x": 4.0}, rg.floato),
    Claim("clip_at_fiftyo", "issue", lambda m, x: (m.clip(x, -50, 50), x), {"x": 51.0}, rg.floato),
    Claim("minimum_of_a_milliono", "issue", lambda m, x: (m.minimum(x, 1e6), x),
          {"x": 2e6}, rg.floato),
    Claim("sigmoid_cut_offo", "issue",
          lambda m, x: (m.where(x < -30, 0, m.sigmoid(x)), m.sigmoid(x)), {"x": -31.0}, rg.floato),
    Claim("one_point_offo", "issue", lambda m, x: (m.where(m.equal(x, 7.25), 0, x), x),
          {"x": 7.25}),
    Claim("argmax_of_expo", "issue", lambda m, x: (m.argmax(m.exp(x)), m.argmax(x)),
          {"x": [-1000.0, -900.0]}),
]  # fmt: skip
# An infinity alone refutes some of them, so they are claimed of finite values, too.
ISSUE += [replace(x, name=f"finite_{x.name}", labels=FINITE) for x in ISSUE]

THRESHOLD = [
    Claim("relu_sixo", "threshold",
          lambda m, x: (m.minimum(m.maximum(x, 0), 6), m.maximum(x, 0)), {"x": 7.0}, rg.floato),
    Claim("hard_sigmoido", "threshold",
          lambda m, x: (m.clip(0.02 * x + 0.5, 0, 1), 0.02 * x + 0.5),
          {"x": 30.0}, rg.floato, FINITE),
    Claim("hubero", "threshold",
          lambda m, x: (m.where(m.abs(x) <= 10, 0.5 * x * x, 10 * (m.abs(x) - 5)), 0.5 * x * x),
          {"x": 12.0}, rg.floato, FINITE),
    Claim("cos_near_zeroo", "threshold",
          lambda m, x: (m.where(m.abs(x) < 1e-3, 1, m.cos(x)), m.cos(x)), {"x": 9e-4}, rg.floato),
    Claim("tiny_is_zeroo", "threshold",
          lambda m, x: (m.where(m.abs(x) < 1e-12, 0, x), x), {"x": 5e-13}, rg.floato, FINITE),
    Claim("exp_above_hundredo", "threshold",
          lambda m, x: (m.where(m.exp(x) > 100, 2 * x, x), x), {"x": 5.0}, rg.floato, FINITE),
    Claim("square_above_fortyo", "threshold",
          lambda m, x: (m.where(x * x > 40, 0, x), x), {"x": 7.0}, rg.floato, FINITE),
    Claim("sum_above_seveno", "threshold",
          lambda m, x: (m.where(m.sum(x) > 7, 0, m.sum(x)), m.sum(x)),
          {"x": [4.0, 5.0]}, rg.floato, FINITE),
    Claim("sum_above_five_hundredo", "threshold",
          lambda m, x: (m.minimum(m.sum(x), 500), m.sum(x)),
          {"x": [400.0, 300.0]}, rg.floato, FINITE),
    Claim("product_above_thousando", "threshold",
          lambda m, x: (m.where(m.prod(x) > 1e4, 0, m.prod(x)), m.prod(x)),
          {"x": [200.0, 100.0]}, rg.floato, FINITE),
    Claim("both_farawayo", "threshold",
          lambda m, x, y: (m.where(m.logical_and(x > 10, y < -10), 0, x + y), x + y),
          {"x": 12.0, "y": -11.0}, floats, FINITE),
    Claim("inside_a_windowo", "threshold",
          lambda m, x: (m.where(m.logical_and(x > 20, x < 20.5), 0, x), x),
          {"x": 20.25}, rg.floato, FINITE),
    Claim("branch_in_a_brancho", "threshold",
          lambda m, x: (m.where(x > 8, m.where(x > 16, 0, x), x), x),
          {"x": 17.0}, rg.floato, FINITE),
    Claim("hugeo", "threshold", lambda m, x: (m.where(x > 1e100, 0, x), x),
          {"x": 1e101}, rg.floato, FINITE),
    Claim("maximum_of_minus_ten_thousando", "threshold", lambda m, x: (m.maximum(x, -1e4), x),
          {"x": -2e4}, rg.floato, FINITE),
    Claim("clipped_expo", "threshold", lambda m, x: (m.clip(m.exp(x), 0, 1e5), m.exp(x)),
          {"x": 12.0}, rg.floato, FINITE),
    Claim("minimum_of_logo", "threshold", lambda m, x: (m.minimum(m.log(x), 10), m.log(x)),
          {"x": 1e5}, rg.positiveo, FINITE, {"x": ("positive",)}),
    Claim("log_of_tinyo", "threshold",
          lambda m, x: (m.where(m.log(x) < -20, 1, x), x),
          {"x": 1e-10}, rg.positiveo, FINITE, {"x": ("positive",)}),
    Claim("distant_pointo", "threshold",
          lambda m, x, y: (m.where(m.hypot(x, y) > 25, 1, x - y), x - y),
          {"x": 20.0, "y": -20.0}, floats, FINITE),
    Claim("apart_by_thirtyo", "threshold",
          lambda m, x, y: (m.where(m.abs(x - y) > 30, 0, x * y), x * y),
          {"x": 40.0, "y": 2.0}, floats, FINITE),
    Claim("inner_value_equalo", "threshold",
          lambda m, x: (m.where(m.equal(2 * x + 1, 10), 0, x), x), {"x": 4.5}, rg.floato, FINITE),
    Claim("truncated_quotiento", "threshold", lambda m, x: (m.trunc(x / 64), 0),
          {"x": 150.0}, rg.floato, FINITE),
    Claim("not_forty_twoo", "threshold", lambda m, x: (m.not_equal(x, 42), True),
          {"x": 42.0}, rg.floato),
    Claim("below_twelve_thousando", "threshold", lambda m, x: (m.greater(x, 12345.5), False),
          {"x": 2e4}, rg.floato, FINITE),
    Claim("remainder_of_thousando", "threshold", lambda m, x: (m.mod(x, 1000), x),
          {"x": 1500.0}, nonnegative_float, FINITE, {"x": ("nonnegative",)}),
    Claim("clipped_by_normo", "threshold",
          lambda m, x: (x * m.minimum(1, 100 / m.sqrt(1 + m.sum(x * x))), x * 1),
          {"x": [300.0, 400.0]}, rg.floato, {**FINITE, **STRETCHED}),
]  # fmt: skip

SATURATION = [
    Claim("argmax_of_tanho", "saturation", lambda m, x: (m.argmax(m.tanh(x)), m.argmax(x)),
          {"x": [20.0, 30.0]}, rg.floato, EXACT_FINITE),
    Claim("argmin_of_sigmoido", "saturation", lambda m, x: (m.argmin(m.sigmoid(x)), m.argmin(x)),
          {"x": [50.0, 45.0]}, rg.floato, EXACT_FINITE),
    Claim("equal_exponentialso", "saturation",
          lambda m, x, y: (m.equal(m.exp(x), m.exp(y)), m.equal(x, y)),
          {"x": -1000.0, "y": -900.0}, floats, EXACT_FINITE),
    Claim("ordered_tanho", "saturation",
          lambda m, x, y: (m.greater(m.tanh(x), m.tanh(y)), m.greater(x, y)),
          {"x": 30.0, "y": 20.0}, floats, EXACT_FINITE),
    Claim("positive_expo", "saturation", lambda m, x: (m.exp(x) > 0, True),
          {"x": -800.0}, rg.floato, EXACT_FINITE),
    Claim("erf_below_oneo", "saturation", lambda m, x: (m.erf(x) < 1, True),
          {"x": 7.0}, rg.floato, EXACT_FINITE),
    Claim("sigmoid_below_oneo", "saturation", lambda m, x: (m.sigmoid(x) < 1, True),
          {"x": 40.0}, rg.floato, EXACT_FINITE),
    Claim("arctanh_of_tanho", "saturation", lambda m, x: (m.arctanh(m.tanh(x)), x), {"x": 25.0}),
    Claim("log_of_sigmoido", "saturation", lambda m, x: (m.log(m.sigmoid(x)), x - m.softplus(x)),
          {"x": -800.0}),
    Claim("softplus_thresholdo", "saturation",
          lambda m, x: (m.where(x > 20, x, m.softplus(x)), m.softplus(x)), {"x": 20.25}, rg.floato),
    Claim("tanh_thresholdo", "saturation",
          lambda m, x: (m.where(m.abs(x) > 9, m.sign(x), m.tanh(x)), m.tanh(x)),
          {"x": -9.5}, rg.floato),
    Claim("erf_thresholdo", "saturation",
          lambda m, x: (m.where(x > 4, 1, m.erf(x)), m.erf(x)), {"x": 4.25}, rg.floato),
    Claim("exp_cut_offo", "saturation",
          lambda m, x: (m.where(x < -36, 0, m.exp(x)), m.exp(x)), {"x": -37.0}, rg.floato),
    Claim("exp_cappedo", "saturation", lambda m, x: (m.minimum(m.exp(x), 1e300), m.exp(x)),
          {"x": 700.0}, rg.floato, FINITE),
    Claim("logaddexp_far_aparto", "saturation",
          lambda m, x, y: (
              m.where(m.abs(x - y) > 18, m.maximum(x, y), m.logaddexp(x, y)), m.logaddexp(x, y)),
          {"x": 0.0, "y": -18.5}, floats),
    Claim("successor_is_anothero", "saturation", lambda m, x: (m.equal(x + 1, x), False),
          {"x": 2.0**53}, rg.floato, EXACT_FINITE),
    Claim("cast_to_int64o", "saturation",
          lambda m, x: (m.astype(m.astype(x, "int64"), "float64"), m.trunc(x)),
          {"x": -1e19}, rg.floato),
    Claim("cast_to_int32o", "saturation",
          lambda m, x: (m.astype(m.astype(m.astype(x, "int64"), "int32"), "int64"),
                        m.astype(x, "int64")),
          {"x": 3e9}, rg.floato, FINITE),
    Claim("integers_as_float32o", "saturation",
          lambda m, x: (m.astype(m.astype(x, "float32"), "float64"), x),
          {"x": 2.0**24 + 1}, rg.integero, EXACT_FINITE, {"x": ("integer",)}),
    Claim("square_is_zeroo", "saturation", lambda m, x: (m.equal(x * x, 0), m.equal(x, 0)),
          {"x": 1e-200}, rg.floato, EXACT_FINITE),
    Claim("half_is_zeroo", "saturation", lambda m, x: (m.equal(x / 2, 0), m.equal(x, 0)),
          {"x": 5e-324}, rg.floato, EXACT_FINITE),
    Claim("infinite_reciprocalo", "saturation", lambda m, x: (m.isinf(1 / x), m.equal(x, 0)),
          {"x": 1e-310}, rg.floato, EXACT),
    Claim("infinite_cosho", "saturation", lambda m, x: (m.isinf(m.cosh(x)), m.isinf(x)),
          {"x": 1000.0}, rg.floato, EXACT),
]  # fmt: skip

TIES = [
    Claim("greater_or_equalo", "ties", lambda m, x, y: (x >= y, x > y),
          {"x": 1.5, "y": 1.5}, floats, FINITE),
    Claim("sign_of_differenceo", "ties",
          lambda m, x, y: (m.sign(x - y), m.where(x > y, 1.0, -1.0)),
          {"x": 2.0, "y": 2.0}, floats, FINITE),
    Claim("maximum_by_brancheso", "ties",
          lambda m, x, y: (m.where(x > y, x, m.where(y > x, y, 0)), m.maximum(x, y)),
          {"x": 2.0, "y": 2.0}, floats, FINITE),
    Claim("either_is_lesso", "ties", lambda m, x, y: (m.logical_or(x < y, x > y), True),
          {"x": 3.0, "y": 3.0}, floats, FINITE),
    Claim("one_largest_elemento", "ties",
          lambda m, x: (m.sum(m.where(m.equal(x, m.max(x)), x, 0)), m.max(x)),
          {"x": [2.0, 2.0]}, rg.floato, {**FINITE, **STRETCHED}),
    Claim("product_of_equalso", "ties",
          lambda m, x, y: (m.where(m.equal(x, y), 0, x * y), x * y),
          {"x": 3.0, "y": 3.0}, floats, FINITE),
    Claim("three_equalo", "ties",
          lambda m, x, y, z: (
              m.where(m.logical_and(m.equal(x, y), m.equal(y, z)), 0, x * y * z), x * y * z),
          {"x": 2.0, "y": 2.0, "z": 2.0}, lambda x, y, z: (*floats(x, y), rg.floato(z)), FINITE),
    Claim("oppositeso", "ties", lambda m, x, y: (m.where(m.equal(x, -y), 1, x * y), x * y),
          {"x": 2.0, "y": -2.0}, floats, FINITE),
    Claim("equal_to_a_squareo", "ties",
          lambda m, x, y: (m.where(m.equal(x, y * y), 0, x), m.where(y > y + 1, 0, x)),
          {"x": 4.0, "y": -2.0}, floats, FINITE),
    Claim("argmax_of_squareo", "ties", lambda m, x: (m.argmax(m.abs(x)), m.argmax(x * x)),
          {"x": [1e-200, 2e-200]}, rg.floato, EXACT_FINITE),
    Claim("last_of_equalso", "ties",
          lambda m, x: (m.argsort(-x), m.backwards(m.argsort(x))),
          {"x": [1.0, 1.0]}, lambda x: (rg.floato(x), a_vector(x)), FINITE),
    Claim("round_half_upo", "ties", lambda m, x: (m.rint(x), m.floor(x + 0.5)),
          {"x": 2.5}, rg.floato, FINITE),
    Claim("round_half_awayo", "ties", lambda m, x: (m.rint(x), m.trunc(x + 0.5 * m.sign(x))),
          {"x": -4.5}, rg.floato, FINITE),
    Claim("ceil_of_halfo", "ties",
          lambda m, x: (m.ceil(x - 0.5), m.rint(x)), {"x": 1.5}, rg.floato, FINITE),
    Claim("strictly_sortedo", "ties",
          lambda m, x, y: (m.minimum(x, y) < m.maximum(x, y), True),
          {"x": -1.0, "y": -1.0}, floats, FINITE),
]  # fmt: skip

SPECIAL = [
    Claim("add_zeroo", "special", lambda m, x: (x + 0.0, x), {"x": -0.0}, rg.floato, EXACT),
    Claim("zero_minuso", "special", lambda m, x: (0.0 - x, -x), {"x": 0.0}, rg.floato, EXACT),
    Claim("swapped_differenceo", "special", lambda m, x, y: (-(x - y), y - x),
          {"x": 3.0, "y": 3.0}, floats, EXACT),
    Claim("times_zeroo", "special", lambda m, x: (x * 0.0, 0.0),
          {"x": -1.0}, rg.floato, EXACT_FINITE),
    Claim("abs_by_brancho", "special", lambda m, x: (m.where(x >= 0, x, -x), m.abs(x)),
          {"x": -0.0}, rg.floato, EXACT_FINITE),
    Claim("copied_signo", "special", lambda m, x: (m.copysign(1.0, x), m.where(x >= 0, 1.0, -1.0)),
          {"x": -0.0}, rg.floato, FINITE),
    Claim("relu_of_nano", "special", lambda m, x: (m.maximum(x, 0), m.where(x > 0, x, 0)),
          {"x": NAN}, rg.floato),
    Claim("zero_to_a_powero", "special", lambda m, x: (0.0**x, 0),
          {"x": 0.0}, nonnegative_float, FINITE, {"x": ("nonnegative",)}),
    Claim("divide_selfo", "special", lambda m, x: (x / x, 1), {"x": 0.0}, rg.floato),
    Claim("cancel_quotiento", "special", lambda m, x, y: (x * y / y, x),
          {"x": 1.0, "y": INF}, lambda x, y: (*floats(x, y), rg.nonzeroo(y)),
          facts={"y": ("nonzero",)}),
    Claim("not_lesso", "special", lambda m, x, y: (m.logical_not(x < y), x >= y),
          {"x": NAN, "y": 1.0}, floats),
    Claim("nan_of_sumo", "special",
          lambda m, x, y: (m.isnan(x + y), m.logical_or(m.isnan(x), m.isnan(y))),
          {"x": INF, "y": -INF}, floats),
    Claim("infinite_producto", "special",
          lambda m, x, y: (m.isinf(x * y), m.logical_or(m.isinf(x), m.isinf(y))),
          {"x": INF, "y": 0.0}, floats),
    Claim("hypot_of_nano", "special",
          lambda m, x, y: (
              m.where(m.logical_or(m.isnan(x), m.isnan(y)), x + y, m.hypot(x, y)), m.hypot(x, y)),
          {"x": INF, "y": NAN}, floats),
    Claim("guarded_producto", "special", lambda m, x, y: (m.where(m.equal(x, 0), 0, x * y), x * y),
          {"x": 0.0, "y": INF}, floats),
    Claim("angle_of_quotiento", "special", lambda m, x, y: (m.arctan2(y, x), m.arctan(y / x)),
          {"x": 0.0, "y": 0.0}, lambda x, y: (*floats(x, y), rg.nonnegativeo(x)),
          facts={"x": ("nonnegative",)}),
    Claim("arctanh_at_oneo", "special",
          lambda m, x: (m.where(m.equal(m.abs(x), 1), 0, m.arctanh(x)), m.arctanh(x)),
          {"x": 1.0}, rg.floato),
    Claim("removable_singularityo", "special",
          lambda m, x: (m.where(m.equal(x, 1), 2, (x * x - 1) / (x - 1)), (x * x - 1) / (x - 1)),
          {"x": 1.0}, rg.floato),
    Claim("sinc_at_zeroo", "special",
          lambda m, x: (m.where(m.equal(x, 0), 1, m.sin(x) / x), m.sin(x) / x),
          {"x": 0.0}, rg.floato),
    Claim("log_at_oneo", "special",
          lambda m, x: (m.where(m.equal(x, 1), 0, m.log(x)), m.where(m.equal(x, 1), 1, m.log(x))),
          {"x": 1.0}, nonnegative_float, facts={"x": ("nonnegative",)}),
    Claim("signed_unito", "special", lambda m, x: (x / m.abs(x), m.sign(x)),
          {"x": 0.0}, rg.floato),
    Claim("all_or_some_are_nano", "special", lambda m, x: (m.all(m.isnan(x)), m.isnan(m.sum(x))),
          {"x": [1.0, NAN]}, rg.floato),
    Claim("power_of_squareo", "special", lambda m, x: ((x * x) ** 1.5, x**3),
          {"x": -2.0}, rg.floato),
]  # fmt: skip

SHAPE = [
    Claim("mean_of_threeo", "shapes", lambda m, x: (m.mean(x), m.sum(x) / 3),
          {"x": [1.0, 2.0, 3.0, 4.0]}, a_vector, FINITE),
    Claim("variance_of_threeo", "shapes",
          lambda m, x: (m.var(x), m.sum(m.square(x - m.mean(x, keepdims=True))) / 3),
          {"x": [1.0, 2.0]}, a_vector, {**FINITE, **STRETCHED}),
    Claim("product_of_three_doublesso", "shapes", lambda m, x: (m.prod(2 * x), 8 * m.prod(x)),
          {"x": [1.0, 2.0]}, lambda x: (rg.floato(x), a_vector(x)), FINITE),
    Claim("sum_of_three_successorso", "shapes", lambda m, x: (m.sum(x + 1), m.sum(x) + 3),
          {"x": [1.0, 2.0, 3.0, 4.0]}, lambda x: (rg.floato(x), a_vector(x)), FINITE),
    Claim("either_axiso", "shapes", lambda m, x: (m.sum(x, axis=-1), m.sum(x, axis=-2)),
          {"x": [[1.0, 2.0], [3.0, 5.0]]}, a_matrix, FINITE),
    Claim("square_of_sumo", "shapes", lambda m, x: (m.sum(x) ** 2, m.sum(x**2)),
          {"x": [1.0, 2.0]}, rg.floato, FINITE),
    Claim("mean_of_nothingo", "shapes",
          lambda m, x: (m.where(m.isfinite(m.sum(x)), m.isnan(m.mean(x)), np.False_), False),
          {"x": np.zeros(0)}, rg.floato),
    Claim("product_of_zeroso", "shapes", lambda m, x: (m.prod(x * 0), 0),
          {"x": np.zeros(0)}, rg.floato, FINITE),
    Claim("nan_or_equalo", "shapes",
          lambda m, x: (m.logical_or(m.any(m.isnan(x)), m.any(m.equal(x, x))), True),
          {"x": np.zeros(0)}, rg.floato),
    Claim("probabilities_add_upo", "shapes",
          lambda m, x: (m.sum(m.exp(x - m.logsumexp(x, axis=-1, keepdims=True))), 1),
          {"x": [[0.0, 0.0], [0.0, 0.0]]}, a_matrix, {**FINITE, **STRETCHED}),
    Claim("stretched_differenceo", "shapes", lambda m, x, y: (m.sum(x - y), m.sum(x) - m.sum(y)),
          {"x": [1.0, 2.0], "y": 1.0}, floats, {**FINITE, **STRETCHED}),
    Claim("stretched_quotiento", "shapes", lambda m, x, y: (m.prod(x / y), m.prod(x) / m.prod(y)),
          {"x": [1.0, 3.0], "y": 2.0}, floats, {**FINITE, **STRETCHED}),
    Claim("kept_axiso", "shapes",
          lambda m, x: (x - m.mean(x, axis=-1, keepdims=True), x - m.mean(x, keepdims=True)),
          {"x": [[1.0, 2.0], [4.0, 8.0]]}, a_matrix, {**FINITE, **STRETCHED}),
    Claim("largest_of_rowso", "shapes",
          lambda m, x: (m.sum(m.max(x, axis=-1)), m.max(m.sum(x, axis=-1))),
          {"x": [[1.0, 2.0], [4.0, 8.0]]}, a_matrix, FINITE),
]  # fmt: skip

DTYPES = [
    Claim("absolute_integero", "dtypes", lambda m, x: (m.maximum(m.abs(x), 0), m.abs(x)),
          {"x": int8(-128)}, signed),
    Claim("average_of_integerso", "dtypes", lambda m, x, y: ((x + y) // 2, x + (y - x) // 2),
          {"x": int8(100), "y": int8(100)}, both_signed),
    Claim("square_of_integero", "dtypes", lambda m, x: (m.maximum(x * x, 0), x * x),
          {"x": int8(12)}, signed),
    Claim("compare_by_differenceo", "dtypes", lambda m, x, y: (x - y > 0, x > y),
          {"x": int8(-100), "y": int8(100)}, both_signed),
    Claim("shift_and_backo", "dtypes",
          lambda m, x: (m.right_shift(m.left_shift(x, 4), 4), x), {"x": int8(100)}, signed),
    Claim("double_and_halveo", "dtypes", lambda m, x: (x * 2 // 2, x), {"x": int8(100)}, signed),
    Claim("halve_and_doubleo", "dtypes", lambda m, x: (x // 2 * 2, x), {"x": int8(5)}, signed),
    Claim("floor_of_quotiento", "dtypes", lambda m, x, y: (m.floor(x / y), x // y),
          {"x": 1.0, "y": 0.1}, floats, EXACT_FINITE),
    Claim("int64_as_floato", "dtypes",
          lambda m, x: (m.astype(m.astype(x, "float64"), "int64"), x), {"x": 2**53 + 1}, int64),
    Claim("int64_as_int8o", "dtypes",
          lambda m, x: (m.astype(m.astype(x, "int8"), "int64"), x), {"x": 200}, int64),
    Claim("small_integero", "dtypes", lambda m, x: (m.minimum(x, 100), x),
          {"x": int8(127)}, signed),
    Claim("clipped_pixelo", "dtypes", lambda m, x: (m.clip(x, 0, 255), x),
          {"x": np.uint16(300)}, unsigned),
    Claim("unsigned_differenceo", "dtypes", lambda m, x, y: (m.abs(x - y), m.abs(y - x)),
          {"x": np.uint8(1), "y": np.uint8(3)}),
    Claim("truncated_divisiono", "dtypes",
          lambda m, x, y: (x // y, m.trunc(x / y)), {"x": -3.0, "y": 2.0}, floats, FINITE),
]  # fmt: skip

MATRICES = [
    Claim("determinant_of_doubleo", "matrices",
          lambda m, A: (m.linalg.det(2 * A), 8 * m.linalg.det(A)),
          {"A": [[1.0, 2.0], [3.0, 5.0]]}, None, FINITE),
    Claim("determinant_of_negativeo", "matrices",
          lambda m, A: (m.linalg.det(-A), -m.linalg.det(A)),
          {"A": [[1.0, 2.0], [3.0, 5.0]]}, None, FINITE),
    Claim("determinant_of_sumo", "matrices",
          lambda m, A, B: (m.linalg.det(A + B), m.linalg.det(A) + m.linalg.det(B)),
          {"A": [[1.0, 0.0], [0.0, 1.0]], "B": [[1.0, 0.0], [0.0, 1.0]]}, None, FINITE),
    Claim("inverse_of_producto", "matrices",
          lambda m, A, B: (m.linalg.inv(A @ B), m.linalg.inv(A) @ m.linalg.inv(B)),
          {"A": [[1.0, 1.0], [0.0, 1.0]], "B": [[1.0, 0.0], [1.0, 1.0]]}, None, FINITE),
    Claim("normalo", "matrices",
          lambda m, A: (A @ m.matrix_transpose(A), m.matrix_transpose(A) @ A),
          {"A": [[1.0, 1.0], [0.0, 1.0]]}, two_axes, FINITE),
    Claim("trace_of_squareo", "matrices", lambda m, A: (m.trace(A @ A), m.trace(A) ** 2),
          {"A": [[1.0, 2.0], [3.0, 5.0]]}, None, FINITE),
    Claim("inverse_is_transposeo", "matrices",
          lambda m, A: (m.linalg.inv(A), m.matrix_transpose(A)),
          {"A": [[2.0, 0.0], [0.0, 1.0]]}, lambda A: (rg.symmetrico(A), rg.invertibleo(A)), FINITE,
          {"A": ("symmetric", "invertible")}),
    Claim("determinant_of_diagonalo", "matrices",
          lambda m, A: (m.linalg.det(A), m.prod(m.diagonal(A))),
          {"A": [[1.0, 2.0], [2.0, 1.0]]}, lambda A: (rg.symmetrico(A), a_matrix(A)), FINITE,
          {"A": ("symmetric",)}),
    Claim("determinant_by_eigenvalueso", "matrices",
          lambda m, A: (m.linalg.det(A), m.prod(m.linalg.eigvalsh(A))),
          {"A": [[0.0, 2.0], [1.0, 0.0]]}, two_axes, FINITE),
    Claim("triangles_add_upo", "matrices", lambda m, A: (m.tril(A) + m.triu(A), A),
          {"A": [[1.0, 2.0], [3.0, 4.0]]}, None, FINITE),
    Claim("product_of_symmetrico", "matrices",
          lambda m, A, B: (m.matrix_transpose(A @ B), A @ B),
          {"A": [[1.0, 0.0], [0.0, 0.0]], "B": [[0.0, 1.0], [1.0, 0.0]]},
          lambda A, B: (rg.symmetrico(A), rg.symmetrico(B)), FINITE,
          {"A": ("symmetric",), "B": ("symmetric",)}),
    Claim("regular_ratioo", "matrices", lambda m, A: (m.linalg.det(A) / m.linalg.det(A), 1),
          {"A": [[1.0, 1.0], [1.0, 1.0]]}),
    Claim("kronecker_commuteso", "matrices", lambda m, A, B: (m.kron(A, B), m.kron(B, A)),
          {"A": [[1.0, 2.0], [3.0, 4.0]], "B": [[0.0, 1.0], [1.0, 0.0]]}, None, FINITE),
    Claim("woodburyo", "matrices",
          lambda m, A, B: (
              m.linalg.inv(A + B),
              m.linalg.inv(A) - m.linalg.inv(A) @ m.linalg.inv(
                  m.linalg.inv(A) + m.linalg.inv(B)) @ m.linalg.inv(A)),
          {"A": [[1.0, 0.0], [0.0, 0.0]], "B": [[0.0, 0.0], [0.0, 1.0]]}, None, FINITE),
]  # fmt: skip

WEAK = [
    Claim("root_of_producto", "weak where",
          lambda m, x, y: (m.sqrt(x * y), m.sqrt(x) * m.sqrt(y)),
          {"x": 0.0, "y": -1.0}, lambda x, y: (*floats(x, y), rg.nonnegativeo(x)),
          facts={"x": ("nonnegative",)}),
    Claim("log_of_squareo", "weak where", lambda m, x: (m.log(x * x), 2 * m.log(x)),
          {"x": -1.0}, lambda x: (rg.floato(x), rg.nonzeroo(x)), facts={"x": ("nonzero",)}),
    Claim("nonnegative_is_positiveo", "weak where", lambda m, x: (x > 0, True),
          {"x": 0.0}, nonnegative_float, FINITE, {"x": ("nonnegative",)}),
    Claim("sign_of_nonnegativeo", "weak where", lambda m, x: (m.sign(x), 1),
          {"x": 0.0}, nonnegative_float, FINITE, {"x": ("nonnegative",)}),
    Claim("arcsin_of_sino", "weak where", lambda m, x: (m.arcsin(m.sin(x)), x),
          {"x": 2.0}, nonnegative_float, FINITE, {"x": ("nonnegative",)}),
    Claim("finite_logo", "weak where", lambda m, x: (m.isfinite(m.log(x)), True),
          {"x": 0.0}, lambda x: (*nonnegative_float(x), rg.finiteo(x)),
          facts={"x": ("nonnegative", "finite")}),
    Claim("finite_expo", "weak where", lambda m, x: (m.isfinite(m.exp(x)), True),
          {"x": 800.0}, lambda x: (rg.floato(x), rg.finiteo(x)), facts={"x": ("finite",)}),
    Claim("finite_reciprocalo", "weak where", lambda m, x: (m.isfinite(1 / x), True),
          {"x": 1e-310}, lambda x: (rg.floato(x), rg.positiveo(x), rg.finiteo(x)), EXACT,
          {"x": ("positive", "finite")}),
    Claim("exp_above_oneo", "weak where", lambda m, x: (m.exp(x) > 1, True),
          {"x": 1e-17}, lambda x: (rg.floato(x), rg.positiveo(x)), EXACT_FINITE,
          {"x": ("positive",)}),
    Claim("square_of_an_integero", "weak where", lambda m, x: (m.maximum(x * x, x), x * x),
          {"x": int8(12)}, rg.integero),
    Claim("square_of_a_floato", "weak where", lambda m, x: (x * x >= x, True),
          {"x": 0.5}, nonnegative_float, FINITE, {"x": ("nonnegative",)}),
    Claim("remainder_of_sixteeno", "weak where", lambda m, x: (m.mod(x, 16), x),
          {"x": 17.0}, lambda x: (*nonnegative_float(x), rg.integero(x)), FINITE,
          {"x": ("nonnegative", "integer")}),
    Claim("power_of_integer_baseo", "weak where", lambda m, x, y: (m.abs(x) ** y, x**y),
          {"x": -2.0, "y": 3.0}, lambda x, y: (*floats(x, y), rg.integero(y)), FINITE,
          {"y": ("integer",)}),
]  # fmt: skip

LABELS = [
    Claim("halve_then_doubleo", "labels", lambda m, x: (x / 2 * 2, x),
          {"x": 5e-324}, rg.floato, EXACT_FINITE),
    Claim("tentho", "labels", lambda m, x: (x / 10, x * 0.1), {"x": 3.0}, rg.floato, EXACT),
    Claim("overflowing_squareo", "labels", lambda m, x: (m.sqrt(x * x), m.abs(x)),
          {"x": 1e200}, rg.floato),
    Claim("double_and_halve_kepto", "labels", lambda m, x: (x * 2 / 2, x), {"x": 1e308}, rg.floato),
    Claim("reassociated_sumo", "labels", lambda m, x, y: (x + y - y, x),
          {"x": 0.1, "y": 1.0}, floats, EXACT_FINITE),
    Claim("stable_and_cappedo", "labels",
          lambda m, x: (m.log(m.exp(x)), m.maximum(x, -700)), {"x": -710.0}, rg.floato,
          {"tags": ["stabilize"], **FINITE}),
    Claim("difference_of_differenceo", "labels",
          lambda m, x, y, z: (x - (y - z), (x - y) + z),
          {"x": 1.0, "y": 2.0**54, "z": 2.0**54},
          lambda x, y, z: (*floats(x, y), rg.floato(z)), EXACT_FINITE),
    Claim("log_of_quotiento", "labels", lambda m, x, y: (m.log(x / y), m.log(x) - m.log(y)),
          {"x": 1e300, "y": 1e-300}, lambda x, y: (rg.positiveo(x), rg.positiveo(y)),
          facts={"x": ("positive",), "y": ("positive",)}),
]  # fmt: skip

SILENT = [
    Claim("shifted_logsumexpo", "silent",
          lambda m, x: (m.log(m.sum(m.exp(x))), m.max(x) + m.log(m.sum(m.exp(x - m.max(x))))),
          labels=FINITE, scalars=True),
    Claim("unit_vectoro", "silent",
          lambda m, x: (x / m.sqrt(m.sum(x * x)), x * (1 / m.sqrt(m.sum(x * x)))), scalars=True),
    Claim("shifted_softmaxo", "silent",
          lambda m, x: (m.exp(x) / m.sum(m.exp(x)),
                        m.exp(x - m.max(x)) / m.sum(m.exp(x - m.max(x)))),
          labels=FINITE, scalars=True),
    Claim("variance_in_two_passeso", "silent",
          lambda m, x: (m.mean(m.square(x - m.mean(x))), m.mean(x * x) - m.square(m.mean(x))),
          labels=FINITE, scalars=True),
    Claim("deviations_cancelo", "silent", lambda m, x: (m.sum(x - m.mean(x)), 0),
          labels=FINITE, scalars=True),
    Claim("gradient_clippedo", "silent",
          lambda m, x: (x * m.minimum(1, 10 / m.sqrt(1 + m.sum(x * x))),
                        m.where(m.sum(x * x) < 99, x, x * 10 / m.sqrt(1 + m.sum(x * x)))),
          labels=FINITE, scalars=True),
    Claim("largest_is_allo", "silent", lambda m, x: (m.max(x), x), scalars=True),
    Claim("kept_dimensionso", "silent", lambda m, x: (m.sum(x), m.sum(x, keepdims=True)),
          scalars=True),
    Claim("transpose_is_sumo", "silent", lambda m, x: (m.matrix_transpose(x), m.sum(x))),
    Claim("contradictory_factso", "silent", lambda m, x: (m.abs(x), x),
          where=lambda x: (rg.positiveo(x), rg.facto(x, "negative"))),
    Claim("complex_onlyo", "silent", lambda m, x: (m.negative(m.negative(x)), x),
          where=lambda x: rg.checko(lambda x: x.dtype.name == "complex128", x)),
]  # fmt: skip

FALSE: Sequence[Claim] = [
    *ISSUE, *THRESHOLD, *SATURATION, *TIES, *SPECIAL, *SHAPE, *DTYPES, *MATRICES, *WEAK, *LABELS,
    *SILENT,
]  # fmt: skip


def a_three(x: Any) -> Any:
    """x has three elements."""
    return rg.checko(lambda x: x.type.shape == (3,), x)


def a_two_by_two(A: Any) -> Any:
    """A has two rows and two columns."""
    return rg.checko(lambda A: A.type.shape == (2, 2), A)


TRUE: Sequence[Claim] = [
    Claim("clip_by_extremao", "true",
          lambda m, x: (m.minimum(m.maximum(x, -50), 50), m.clip(x, -50, 50)), where=rg.floato),
    Claim("same_brancheso", "true", lambda m, x: (m.where(x > 5, x, x), x), where=rg.floato),
    Claim("same_exponentialso", "true",
          lambda m, x: (m.where(x < 3.5, m.exp(x), m.exp(x)), m.exp(x)), where=rg.floato),
    Claim("minimum_by_brancho", "true", lambda m, x: (m.where(x > 1e6, 1e6, x), m.minimum(x, 1e6)),
          where=rg.floato),
    Claim("maximum_by_brancho", "true", lambda m, x: (m.where(x < -30, -30, x), m.maximum(x, -30)),
          where=rg.floato),
    Claim("extrema_add_upo", "true", lambda m, x: (m.minimum(x, 40) + m.maximum(x, 40), x + 40),
          where=rg.floato),
    Claim("tighter_minimumo", "true",
          lambda m, x: (m.minimum(m.minimum(x, 7), 100), m.minimum(x, 7)), where=rg.floato),
    Claim("disjoint_rangeo", "true", lambda m, x: (m.maximum(m.minimum(x, -5), 5), 5),
          where=rg.floato, labels=FINITE),
    Claim("equal_pointo", "true", lambda m, x: (m.where(m.equal(x, 7.25), 7.25, x), x),
          where=rg.floato),
    Claim("argmax_of_negativeo", "true", lambda m, x: (m.argmax(-x), m.argmin(x)), where=rg.floato),
    Claim("maximum_of_expo", "true",
          lambda m, x: (m.where(m.exp(x) > 100, m.exp(x), 100), m.maximum(m.exp(x), 100)),
          where=rg.floato, labels=FINITE),
    Claim("maximum_of_squareo", "true",
          lambda m, x: (m.where(x * x > 40, x * x, 40), m.maximum(x * x, 40)),
          where=rg.floato, labels=FINITE),
    Claim("maximum_of_sumo", "true",
          lambda m, x: (m.where(m.sum(x) > 7, m.sum(x), 7), m.maximum(m.sum(x), 7)),
          where=rg.floato, labels=FINITE),
    Claim("same_sumo", "true",
          lambda m, x, y: (m.where(m.logical_and(x > 10, y < -10), x + y, x + y), x + y),
          where=floats),
    Claim("wider_clipo", "true",
          lambda m, x: (m.clip(m.clip(x, -50, 50), -100, 100), m.clip(x, -50, 50)),
          where=rg.floato),
    Claim("clip_by_signo", "true",
          lambda m, x: (m.where(m.abs(x) <= 10, x, m.sign(x) * 10), m.clip(x, -10, 10)),
          where=rg.floato),
    Claim("tanh_is_oddo", "true", lambda m, x: (m.where(x > 0, m.tanh(x), -m.tanh(-x)), m.tanh(x)),
          where=rg.floato),
    Claim("rint_is_oddo", "true", lambda m, x: (m.rint(-x), -m.rint(x)), where=rg.floato),
    Claim("swapped_comparisono", "true", lambda m, x: (x > 1e3, m.less(1e3, x)), where=rg.floato),
    Claim("not_greatero", "true", lambda m, x: (m.logical_not(x > 1e3), x <= 1e3),
          where=rg.floato, labels=FINITE),
    Claim("finite_differenceo", "true", lambda m, x: (m.isfinite(x - x), m.isfinite(x)),
          where=rg.floato, labels=EXACT),
    Claim("minimum_of_infinityo", "true", lambda m, x: (m.minimum(x, INF), x), where=rg.floato),
    Claim("power_of_zeroo", "true", lambda m, x: (x**0.0, 1), where=rg.floato),
    Claim("remainder_of_powero", "true", lambda m, x: (m.bitwise_and(x, 15), m.mod(x, 16)),
          where=signed),
    Claim("double_and_halve_finiteo", "true", lambda m, x: (x * 2 / 2, x),
          where=rg.floato, labels=EXACT_FINITE),
    Claim("eightho", "true", lambda m, x: (x / 8, x * 0.125), where=rg.floato, labels=EXACT),
    Claim("minus_zeroo", "true", lambda m, x: (x - 0.0, x), where=rg.floato, labels=EXACT),
    Claim("equal_or_largero", "true",
          lambda m, x, y: (m.where(m.equal(x, y), x, m.maximum(x, y)), m.maximum(x, y)),
          where=floats),
    Claim("mean_of_exactly_threeo", "true", lambda m, x: (m.mean(x), m.sum(x) / 3),
          where=a_three, labels=FINITE),
    Claim("determinant_of_two_by_twoo", "true",
          lambda m, A: (m.linalg.det(2 * A), 4 * m.linalg.det(A)),
          where=a_two_by_two, labels=FINITE),
    Claim("symmetric_eigenvalueso", "true",
          lambda m, A: (m.linalg.det(A), m.prod(m.linalg.eigvalsh(A))),
          where=lambda A: (rg.symmetrico(A), a_matrix(A)), labels=FINITE,
          facts={"A": ("symmetric",)}),
]  # fmt: skip
