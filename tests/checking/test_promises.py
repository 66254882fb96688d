"""What ``rg.check`` compares: inputs, and arrays of equal sizes, of which types tell the least."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking import promises
from relgraph.checking.outcome import HELD, Problem
from relgraph.checking.sizes import runs_wherever


def identity(sides, name="statedo", **labels_given):
    return rg.identity(sides, name=name, specials="assumes_finite", **labels_given)


# What NumPy makes of both sides of the counterexample, given its values.
FALSE = {
    "a transpose": (
        lambda x: (rg.exp(x.T), rg.exp(x)),
        lambda x: (np.exp(x.T), np.exp(x)),
        "x",
    ),
    "factors in another order": (
        lambda A, B: (A @ B, B @ A),
        lambda x, y: (x @ y, y @ x),
        "xy",
    ),
    "factors below an exponential": (
        lambda A, B: (rg.exp(A @ B), rg.exp(B @ A)),
        lambda x, y: (np.exp(x @ y), np.exp(y @ x)),
        "xy",
    ),
    "factors below a sum": (
        lambda A, B: (rg.sum(A @ B), rg.sum(B @ A)),
        lambda x, y: (np.sum(x @ y), np.sum(y @ x)),
        "xy",
    ),
}


@pytest.mark.parametrize("case", FALSE)
def test_it_is_refuted_by_arrays_of_equal_sizes(case):
    sides, numpy, names = FALSE[case]
    report = rg.check(identity(sides))
    found = report.counterexample
    assert found is not None, str(report)
    values = [found.values[name] for name in names]
    assert len({n for v in values for n in v.shape}) == 1
    left, right = numpy(*values)
    assert left.shape == right.shape
    assert not np.allclose(left, right)


@pytest.mark.parametrize(("reduce", "numpy"), [(rg.sum, np.sum), (rg.max, np.max)])
def test_reductions_in_another_order_are_refuted_by_the_axes_that_differ(reduce, numpy):
    sides = lambda x, a, b: (  # noqa: E731
        reduce(reduce(x, axis=a), axis=b), reduce(reduce(x, axis=b), axis=a),
    )  # fmt: skip
    found = rg.check(identity(sides)).counterexample
    (x,) = found.values.values()
    (outer,), (inner,) = found.graph.op.params[0], found.graph.inputs[0].op.params[0]
    left, right = numpy(numpy(x, inner), outer), numpy(numpy(x, outer), inner)
    assert left.shape == right.shape
    assert not np.allclose(left, right)
    assert {outer, inner} == {-1, -2}
    assert x.shape == (2, 2, 2)


def test_elementwise_identities_need_no_equal_sizes():
    @rg.identity
    def negateo(x, y):
        """-(x - y) = y - x."""
        return -(x - y), y - x

    assert promises.keeps_equal_sizes(negateo).tried == 0
    assert rg.check(negateo)


def test_an_input_that_a_condition_makes_up_is_a_fault():
    out_of_nothing = rg.identity(
        lambda x, y: (rg.exp(x), rg.exp(x) + 0 * y),
        name="made_upo",
        where=lambda x, y: rg.calco(y, lambda x: rg.tensor("made_up", shape=x.type.shape), x),
    )
    found = rg.check(out_of_nothing).counterexample
    assert "made_up" in str(found.result)
    assert "made_up" not in found.values
    said = str(found)
    assert said.startswith("made_upo makes up an input")
    assert "computed : made_up" in said
    assert said.endswith("Build the other side of what the matched side binds.")
    for outcome in (promises.keeps_values(out_of_nothing), runs_wherever(out_of_nothing)):
        assert outcome.failure.problem.what == "makes up an input"


def test_what_a_library_errs_in_is_decided_exactly():
    """SciPy's expm is off by 900 eps here: no reason to refuse a law, nor to accept another."""
    A = rg.matrix("x", shape=(2, 2))
    values = {"x": np.array([[1.0, 2.0], [2.0, 2.0]])}

    def verdict(function):
        made = rg.identity(function, name="expmo", specials="assumes_finite")
        return promises.disagreement(made, rg.det(rg.expm(A)), values, "moderate")

    assert verdict(lambda X: (rg.det(rg.expm(X)), rg.exp(rg.trace(X)))) is HELD
    near = verdict(lambda X: (rg.det(rg.expm(X)), rg.exp(rg.trace(X)) * (1 + 1e-12)))
    assert isinstance(near, Problem)


def cubed(factor=1.0):
    """State that the exponential of three logarithms is a cube, times a factor."""
    return rg.identity(
        lambda x: (rg.exp(3 * rg.log(x)), factor * x**3),
        name="cubedo", specials="assumes_finite", where=rg.positiveo,
    )  # fmt: skip


def test_a_step_may_amplify_what_the_steps_before_it_round():
    """Whatever the processor: 3 log(x) is about 680, and its half unit in the last place 256 eps.

    Some of the elements are off by more, since the logarithm is rounded too.
    """
    numbers = 10 ** np.linspace(98, 102, 500)
    apart = np.abs(np.exp(3 * np.log(numbers)) / numbers**3 - 1)
    assert apart.max() > 256 * np.finfo(float).eps
    x = rg.vector("x", shape=(2,), facts=("positive",))
    graph, values = rg.exp(3 * rg.log(x)), {"x": numbers[[0, np.argmax(apart)]]}
    assert promises.disagreement(cubed(), graph, values, "extreme") is HELD
    for factor in (1 + 1e-12, 1 - 1e-12):
        verdict = promises.disagreement(cubed(factor), graph, values, "extreme")
        assert isinstance(verdict, Problem), factor


def test_an_element_without_a_value_leaves_the_others_to_be_judged():
    graph = rg.cosh(rg.arccosh(rg.vector("x", shape=(5,))))
    values = {"x": np.r_[10 ** np.linspace(299, 301, 4), 0.0]}
    with np.errstate(all="ignore"):
        assert np.isnan(np.cosh(np.arccosh(values["x"]))).tolist() == [False] * 4 + [True]

    def verdict(factor):
        defined = lambda x: rg.where(x >= 1, factor * x, np.nan)  # noqa: E731
        made = rg.identity(lambda x: (rg.cosh(rg.arccosh(x)), defined(x)), name="inverseo")
        return promises.disagreement(made, graph, values, "extreme")

    assert verdict(1.0) is HELD
    assert isinstance(verdict(1 + 1e-12), Problem)


UNDEFINED = {
    "log_of_a_square": lambda x: (rg.log(x**2), 2 * rg.log(x)),
    "root_of_a_product": lambda x, y: (rg.sqrt(x * y), rg.sqrt(x) * rg.sqrt(y)),
    "log_of_a_product": lambda x, y: (rg.log(x * y), rg.log(x) + rg.log(y)),
    "log_of_a_quotient": lambda x, y: (rg.log(x / y), rg.log(x) - rg.log(y)),
}


@pytest.mark.parametrize("name", UNDEFINED)
@pytest.mark.parametrize("specials", ["keep", "assumes_finite"])
def test_what_is_undefined_where_its_graph_has_a_value_is_refuted(name, specials):
    declared = {} if specials == "keep" else {"specials": specials}
    report = rg.check(rg.identity(name=name, **declared)(UNDEFINED[name]))
    assert not report
    assert "is not defined here" in str(report)
    assert "assumes_finite'" not in str(report)


def test_the_converse_of_a_law_need_not_be_defined():
    gathered = rg.identity(name="gathered", specials="assumes_finite")(
        lambda x, y: (rg.log(x) + rg.log(y), rg.log(x * y))
    )
    assert rg.check(gathered)


def test_it_is_true_of_the_operands_for_which_it_is_defined():
    defined = rg.identity(name="defined", specials="assumes_finite", where=rg.positiveo)
    assert rg.check(defined(UNDEFINED["log_of_a_square"]))


def test_an_overflow_on_the_way_is_not_rounding():
    """The steps of the replacement overflow, and mpmath's do not."""
    x = rg.vector("x", shape=(2,))
    values = {"x": np.array([1.0, 1e300])}
    made = rg.identity(lambda x: (x * (1 / x), (x * x) / (x * x)), name="quotiento")
    verdict = promises.disagreement(made, x * (1 / x), values, "extreme")
    assert isinstance(verdict, Problem)
    towers = rg.identity(lambda x: (x + 1, x + 2 - 1 / rg.exp(rg.exp(1 / x))), name="towero")
    values = {"x": np.array([1e-10, 1e-10])}  # of exp(exp(1e10)) mpmath has 2 GB of digits
    verdict = promises.disagreement(towers, x + 1, values, "extreme")
    assert isinstance(verdict, Problem)
