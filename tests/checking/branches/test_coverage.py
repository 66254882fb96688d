"""Relations that are false on one branch only: refuted there, or undecided and the branch named."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg

# The sides, of relgraph's functions or of NumPy's; where= asks for floats.
FALSE = {
    "a step": lambda m, x: (m.where(x > 5, x + 1, x), x),
    "a step far out": lambda m, x: (m.where(x > 12345.0, 0.0, x), x),
    "the end of an exponential": lambda m, x: (m.where(x < 3.5, m.exp(x), 0.0), m.exp(x)),
    "a wide clip": lambda m, x: (m.clip(x, -50, 50), x),
    "a clip on one side": lambda m, x: (m.clip(x, -1e12, 1e30), x),
    "a large bound": lambda m, x: (m.minimum(x, 1e6), x),
    "a small bound": lambda m, x: (m.maximum(x, -1e9), x),
    "a cut tail": lambda m, x: (m.where(x < -30, 0.0, m.tanh(x)), m.tanh(x)),
    "one point": lambda m, x: (m.where(m.equal(x, 7.25), 0.0, x), x),
    "one point of an inner function": lambda m, x: (m.where(m.equal(x * 3, 36.75), 0.0, x), x),
    "two points": lambda m, x: (m.where(m.equal(m.abs(x), 1234.5), 0.0, x), x),
    "an exponential": lambda m, x: (m.where(m.exp(x) > 100, 0.0, x), x),
    "near saturation": lambda m, x: (m.where(m.tanh(2 * x + 1) < 0.99, x, 0.0), x),
    "saturation": lambda m, x: (m.where(m.tanh(x) < 1, x, 0.0), x),
    "underflow": lambda m, x: (m.where(m.exp(x) > 0, x, 0.0), x),
    "overflow": lambda m, x: (m.where(m.square(x) < 1e36, x, 0.0), x),
    "tiny numbers": lambda m, x: (m.where(m.abs(x) < 1e-30, 0.0, x), x),
    "subnormal numbers": lambda m, x: (m.where(m.abs(x) < 1e-12, 1.0, x), x),
    "a window": lambda m, x: (m.where(m.logical_and(x > 17.0, x < 17.5), 0.0, x), x),
    "a window between": lambda m, x: (m.where(m.abs(x - 7.25) < 1e-3, 0.0, x), x),
    "a window of an inner function": lambda m, x: (
        m.where(m.abs(m.exp(x) - 7.25) < 1e-4, 0.0, x),
        x,
    ),
    "a hump": lambda m, x: (m.where(x * (1.37 - x) > 0.469, 0.0, x), x),
    "a bound that ties": lambda m, x: (m.where(x >= 5, 1.0, 0.0), m.where(x > 5, 1.0, 0.0)),
    "the half": lambda m, x: (m.rint(x), m.floor(x + 0.5)),
    "negative fractions": lambda m, x: (m.trunc(x), m.floor(x)),
    "the sign of zero": lambda m, x: (m.sign(x), m.where(x > 0, 1.0, -1.0)),
    "the root of a sum": lambda m, x: (m.where(m.sqrt(m.square(x) + 1) > 44, 0.0, x), x),
    "never true, it says": lambda m, x: (m.logical_and(x > 5, x < 6), m.logical_and(x > 5, x < 5)),
    "a bound of a sine": lambda m, x: (m.where(m.sin(x) > 0.9999, 0.0, x), x),
    "a negative power": lambda m, x: (m.where(1 / x > 1e5, 0.0, x), x),
    "a logarithm": lambda m, x: (m.where(m.log(m.abs(x)) > 25.0, 0.0, x), x),
    "a large remainder": lambda m, x: (m.where(x > 1e9, m.floor(x), x), x),
    "beyond whole floats": lambda m, x: (m.where(m.equal(x + 1, x), 0.0, x), x),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_on_one_branch_is_refuted_there(name):
    sides = FALSE[name]
    relation = rg.identity(
        lambda x: sides(rg, x),
        name="falseo",
        specials="assumes_finite",
        where=rg.floato,
    )
    report = rg.check(relation)
    assert not report
    assert report.counterexample is not None, str(report)
    (value,) = report.counterexample.values.values()
    with np.errstate(all="ignore"):
        left, right = map(np.asarray, sides(np, value))
    assert not np.array_equal(left, right, equal_nan=True)


FALSE_OF_TWO = {
    "a distance": lambda m, x, y: (m.where(x > y + 10, 0.0, x), x),
    "a product": lambda m, x, y: (m.where(x * y > 1e4, 0.0, x), x),
    "an order of sizes": lambda m, x, y: (m.maximum(x, m.abs(y)), m.maximum(m.abs(x), m.abs(y))),
    "a tie": lambda m, x, y: (m.where(m.equal(x, y), 0.0, x), x),
    "a radius": lambda m, x, y: (m.where(x * x + y * y > 1e6, 0.0, x), x),
}


@pytest.mark.parametrize("name", FALSE_OF_TWO)
def test_what_is_false_on_one_branch_of_two_variables_is_refuted_there(name):
    sides = FALSE_OF_TWO[name]
    relation = rg.identity(
        lambda x, y: sides(rg, x, y),
        name="falseo",
        specials="assumes_finite",
        where=lambda x, y: (rg.floato(x), rg.floato(y)),
    )
    found = rg.check(relation).counterexample
    values = list(found.values.values()) * (2 // len(found.values))
    with np.errstate(all="ignore"):
        left, right = map(np.asarray, sides(np, *values))
    assert not np.array_equal(left, right, equal_nan=True)


FALSE_OF_ARRAYS = {
    "ties of what saturates": lambda m, x: (m.argmax(m.exp(x)), m.argmax(x)),
    "a large sum": lambda m, x: (m.where(m.sum(x) > 777, 0.0, m.sum(x)), m.sum(x)),
    "a large element": lambda m, x: (m.where(m.any(x > 4321), 0.0, m.sum(x)), m.sum(x)),
    "the last of equals": lambda m, x: (m.argmin(m.square(x)), m.argmin(m.abs(x))),
}


@pytest.mark.parametrize("name", FALSE_OF_ARRAYS)
def test_what_is_false_of_some_arrays_is_refuted(name):
    sides = FALSE_OF_ARRAYS[name]
    report = rg.check(rg.identity(lambda x: sides(rg, x), name="falseo"))
    assert not report
    (value,) = report.counterexample.values.values()
    with np.errstate(all="ignore"):
        left, right = map(np.asarray, sides(np, value))
    assert not np.array_equal(left, right, equal_nan=True)


def test_a_branch_that_is_not_taken_leaves_a_relation_undecided():
    @rg.identity(where=lambda x, y: (rg.floato(x), rg.floato(y)))
    def unreachedo(x, y):
        """Equal, since a root of 1 and more is not below 1/2, which is not proved."""
        return rg.where(rg.sqrt(rg.square(x) + 1) < 0.5, y, x), x

    report = rg.check(unreachedo)
    assert not report
    assert report.undecided
    assert report.counterexample is None
    names = {b.name for b in report.unreached["unreachedo"]}
    assert names == {"its operands less", "equal", "condition true"}
    said = str(report)
    assert said.startswith("unreachedo is undecided")
    assert "sqrt(square(x) + 1) < 0.5: its operands less, equal" in said
    assert "samples=" in said
    with pytest.raises(rg.errors.RelationError, match="undecided"):
        report.raise_()


def test_samples_reach_what_the_search_does_not():
    sides = lambda m, x: (m.where(m.equal(m.sin(x * 1e5), SINE), 0.0, x), x)  # noqa: E731
    relation = rg.identity(lambda x: sides(rg, x), name="pointo", where=rg.floato)
    report = rg.check(relation, samples={"x": [0.7391]})
    assert report.counterexample.values["x"] == 0.7391
    with pytest.raises(rg.errors.ArgumentError, match="no operand 'y'"):
        rg.check(relation, samples={"y": [1.0]})


SINE = float(np.sin(0.7391 * 1e5))


def test_a_true_relation_says_which_branches_it_was_compared_on():
    @rg.identity(specials="assumes_finite", where=rg.floato)
    def positive_parto(x):
        """max(x, 0) is x for x > 0, and otherwise 0."""
        return rg.where(x > 0, x, 0), rg.maximum(x, 0)

    report = rg.check(positive_parto)
    assert report, str(report)
    taken = {str(b) for b in report.reached["positive_parto"]}
    assert {"x > 0: equal", "maximum(x, 0): greater"} <= taken
    assert "branches taken" in str(report)
    assert "x > 0: its operands less, equal, greater" in str(report)


TRUE = {
    "a sign that is known": lambda x: (rg.abs(rg.square(x)), rg.square(x)),
    "a range that is known": lambda x: (rg.minimum(rg.sin(x), 2.0), rg.sin(x)),
    "an order that is known": lambda x: (rg.maximum(rg.abs(x), x), rg.abs(x)),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_no_value_takes_is_not_asked_for(name):
    relation = rg.identity(TRUE[name], name="trueo", specials="assumes_finite", where=rg.floato)
    report = rg.check(relation)
    assert report, str(report)


def test_dtypes_are_advised_only_where_floats_are_covered():
    relation = rg.identity(lambda x: (rg.where(x > 100, x + 1, x), x), name="stepo")
    report = rg.check(relation)
    assert not report
    assert "floato" not in str(report)


def test_labels_are_advised_only_where_the_relation_holds_with_them():
    relation = rg.identity(
        lambda x: (rg.where(x > 1000, 0.0, x * 0), 0.0), name="nulo", where=rg.floato
    )
    assert "assumes_finite" in str(rg.check(relation)).splitlines()[-1]  # for inf * 0 only
    relation = rg.identity(
        lambda x: (rg.where(x > 1000, 1.0, x * 0), 0.0), name="nulo", where=rg.floato
    )
    report = rg.check(relation)
    assert "assumes_finite" not in str(report).splitlines()[-1]
    assert np.isfinite(report.counterexample.values["x"]).all()


def test_a_relation_that_fires_on_scalars_only_is_not_true():
    def sides(x):
        top = rg.max(x)
        return rg.log(rg.sum(rg.exp(x))), top + rg.log(rg.sum(rg.exp(x - top)))

    labels = {"specials": "assumes_finite", "where": rg.floato}
    report = rg.check(rg.identity(sides, name="lseo", **labels))
    assert not report
    assert report.counterexample is None
    assert "fires only on scalars" in str(report)
    assert "broadcast=" in str(report).splitlines()[-1]
    with pytest.raises(rg.errors.RelationError, match="only on scalars"):
        report.raise_()
    last = str(rg.check(rg.identity(sides, name="lseo", where=rg.floato))).splitlines()[-1]
    assert "only on scalars" in last  # even where infinities are left out
    report = rg.check(rg.identity(sides, name="lseo", broadcast="*", **labels))
    assert not report.scalars_only
    assert report.counterexample.values["x"].size == 0  # which has no maximum


def test_an_operand_that_can_be_no_array_is_told_and_why():
    @rg.identity(specials="assumes_finite")
    def lift_sumo(x, y):
        """sum(x sum(y)) = sum(x) sum(y)."""
        return rg.sum(x * rg.sum(y)), rg.sum(x) * rg.sum(y)

    report = rg.check(lift_sumo)  # y may be an array, but not x
    assert not report
    assert "fires only on scalars" in str(report)
    ((_, place),) = report.misses["lift_sumo"]
    assert place.kind == "broadcast"
    assert place.reason.text in str(report)


def test_a_relation_that_fires_on_no_array_says_why():
    @rg.identity(specials="assumes_finite")
    def log_scaledo(x):
        """log(exp(x) sum(x)) = x + log(sum(x)), of rows."""
        total = rg.sum(x, axis=-1, keepdims=True)
        return rg.log(rg.exp(x) * total), x + rg.log(total)

    report = rg.check(log_scaledo)
    assert not report
    first, *_, last = str(report).splitlines()
    assert first == "log_scaledo fires on no array"
    assert "would be broadcast" in str(report)
    assert 'broadcast="*"' in last
    with pytest.raises(rg.errors.RelationError, match="fires on no array"):
        report.raise_()


def test_a_singular_matrix_asks_for_invertibility():
    @rg.identity(specials="assumes_finite")
    def woodburyo(A, U, C, V):
        """The inverse of a matrix after an update, wrong for a singular C."""
        inner = rg.inv(rg.inv(C) + V @ rg.inv(A) @ U)
        return rg.inv(A + U @ C @ V), rg.inv(A) - rg.inv(A) @ U @ inner @ V @ rg.inv(A)

    last = str(rg.check(woodburyo)).splitlines()[-1]
    assert "invertibleo" in last
    assert "shapes" not in last
