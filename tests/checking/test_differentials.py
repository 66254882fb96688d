"""rg.check of differentials and adjoints: the catalogue's hold, and wrong ones are refuted."""

from typing import ClassVar

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.promises import keeps_equal_sizes, keeps_values
from relgraph.ops.cumulative import Cumsum
from relgraph.ops.reductions import Max, Mean, Softmax, Sum
from relgraph.ops.shape import BroadcastTo
from relgraph.relations.catalogue import (
    adjoints,
    differentials,
    matrix_adjoints,
    matrix_differentials,
)

DIFFERENTIALS = [*differentials.RELATIONS, *matrix_differentials.RELATIONS]
ADJOINTS = [*adjoints.RELATIONS, *matrix_adjoints.RELATIONS]
# What the check makes no operands for; tests/derivatives compares these with NumPy.
NO_OPERANDS = {
    "d_lu_solveo": "pivots", "d_sparse_matmulo": "sparse matrices",
    "d_polygammao": "orders that are integers",
    "pair_lu_solveo": "pivots", "pair_sparse_matmulo": "sparse matrices",
}  # fmt: skip


@pytest.mark.parametrize(
    "relation", [r for r in DIFFERENTIALS if r.name not in NO_OPERANDS], ids=lambda r: r.name
)
def test_differentials_are_derivatives(relation):
    report = rg.check(relation)
    assert report.counterexample is None, str(report)
    assert sum(o.tried for of in report.outcomes.values() for o in of.values()) > 0


@pytest.mark.parametrize(
    "relation", [r for r in ADJOINTS if r.name not in NO_OPERANDS], ids=lambda r: r.name
)
def test_adjoints_keep_inner_products(relation):
    outcomes = keeps_values(relation), keeps_equal_sizes(relation)
    assert [o.failure for o in outcomes] == [None, None]
    assert (
        sum(o.tried for o in outcomes) > 0
        or "block_diag" in relation.name
        or "kron" in relation.name
    )


# Wrong statements, each with the mistake in its docstring.
WRONG = []


def wrong(function):
    WRONG.append(rg.differential(function))


def wrong_adjoint(function):
    WRONG.append(rg.adjoint(function))


@wrong
def d_coso(x):
    """A sign."""
    return rg.d(rg.cos(x)), rg.sin(x) * rg.d(x)


@wrong
def d_multiplyo(x, y):
    """A missing term."""
    return rg.d(x * y), y * rg.d(x)


@wrong
def d_squareo(x):
    """A missing factor."""
    return rg.d(rg.square(x)), x * rg.d(x)


@wrong
def d_tanho(x):
    """The operand in place of the result."""
    return rg.d(rg.tanh(x)), (1 - rg.square(x)) * rg.d(x)


@wrong
def d_invo(A):
    """Factors in another order."""
    return rg.d(rg.inv(A)), -(rg.inv(A) @ rg.inv(A) @ rg.d(A))


@wrong
def d_deto(A):
    """A missing transpose."""
    return rg.d(rg.det(A)), rg.det(A) * Sum((-2, -1), False)(rg.inv(A) * rg.d(A))


@wrong
def d_solveo(A, b):
    """A missing term of the matrix."""
    return rg.d(rg.solve(A, b)), rg.solve(A, rg.d(b))


@wrong
def d_meano(x, a, k):
    """A missing number of elements."""
    return rg.d(Mean(a, k)(x)), Sum(a, k)(rg.d(x))


@wrong
def d_maxo(x, a, k):
    """All elements in place of the largest."""
    return rg.d(Max(a, k)(x)), Sum(a, k)(rg.d(x))


@wrong
def d_softmaxo(x, a):
    """A missing mean."""
    return rg.d(Softmax(a)(x)), Softmax(a)(x) * rg.d(x)


@wrong
def d_whereo(c, x, y):
    """The branches swapped."""
    return rg.d(rg.where(c, x, y)), rg.where(c, rg.d(y), rg.d(x))


@wrong
def d_cubeo(x):
    """No linear function of the differential."""
    return rg.d(x**3), 3 * x**2 * rg.d(x) * rg.d(x)


@wrong_adjoint
def pair_matmulo(g, A, X):
    """A missing transpose."""
    return rg.inner_product(g, A @ X), rg.inner_product(A @ g, X), rg.varieso(X)


@wrong_adjoint
def pair_sumo(g, x):
    """A forgotten axis: the cotangent is broadcast along another one."""
    return rg.inner_product(g, Sum((-1,), False)(x)), rg.inner_product(g, x)


@wrong_adjoint
def pair_broadcasto(g, x, s):
    """The sum over an axis that is not stretched."""
    return (
        rg.inner_product(g, BroadcastTo(s)(x)),
        rg.inner_product(Sum((-1,), True)(g), x),
    )


@wrong_adjoint
def pair_cumsumo(g, x, a):
    """Sums from the start in place of sums from the end."""
    return rg.inner_product(g, Cumsum(a)(x)), rg.inner_product(Cumsum(a)(g), x)


@pytest.mark.parametrize("relation", WRONG, ids=lambda r: r.name)
def test_wrong_derivatives_are_refuted(relation):
    report = rg.check(relation)
    assert not report
    assert report.counterexample is not None, str(report)


class Cubic(rg.Op):
    """c x^3."""

    __slots__ = ()
    name = "cubic"
    parameters = ("c",)
    choices: ClassVar = {"c": [2.0, -1.0]}
    arity = 1
    pointwise = True

    def infer(self, x):
        """Return the type of the operand."""
        return x

    def perform(self, x):
        """Compute with NumPy."""
        return np.asarray(self.c * x**3, x.dtype)


@rg.differential
def d_cubico(c, x):
    """d(c x^3) = 3 c x^2 d(x), by another op."""
    return rg.d(Cubic(c)(x)), 3 * Cubic(c)(x) / x * rg.d(x)


@rg.differential
def d_wrong_cubico(c, x):
    """The exponent is forgotten."""
    return rg.d(Cubic(c)(x)), Cubic(c)(x) / x * rg.d(x)


def test_a_differential_of_your_own_op_is_checked_by_differences_of_floats():
    assert rg.check(d_cubico), str(rg.check(d_cubico))
    report = rg.check(d_wrong_cubico)
    assert report.counterexample is not None
    assert "does not state the derivative" in str(report)


def test_a_parameter_without_choices_is_named():
    class Scaled(Cubic):
        """c x^3, without choices."""

        __slots__ = ()
        name = "scaled"
        choices: ClassVar = {}

    relation = rg.differential(lambda c, x: (rg.d(Scaled(c)(x)), rg.d(x)), name="d_scaledo")
    with pytest.raises(rg.errors.ArgumentError, match=r"no values to try for the parameter 'c'"):
        rg.check(relation)


def test_a_linear_op_without_an_adjoint_is_reported():
    class Doubled(rg.Op):
        """2 x."""

        __slots__ = ()
        name, arity, linear = "doubled", 1, True

        def infer(self, x):
            """Return the type of the operand."""
            return x

        def perform(self, x):
            """Double."""
            return 2 * x

    relation = rg.differential(
        lambda x: (rg.d(Doubled()(x)), Doubled()(rg.d(x))), name="d_doubledo"
    )
    assert "has no adjoint" in str(rg.check(relation))
