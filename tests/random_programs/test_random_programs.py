"""Random programs have NumPy's results; and what finds the wrong ones finds them."""

import numpy as np
import pytest

from tests.random_programs import batch
from tests.random_programs.batch import Failure, Setting, run_batch
from tests.random_programs.generator import Inputs
from tests.random_programs.judge import Reference
from tests.random_programs.program import NUMPY, Program, Step
from tests.random_programs.shrink import shrunk

X = np.array([0.1, 0.5, 2.0, 3.0])


def program(*steps):
    """Return a program from texts, each with the letter of its rounding and its operands."""
    named = {
        f"t{i}": Step(text, tuple(names), letter) for i, (letter, text, *names) in enumerate(steps)
    }
    return Program(named, f"t{len(steps) - 1}")


@pytest.mark.parametrize("seed", range(20, 40))
def test_random_programs_have_the_results_of_numpy(seed):
    failures = [failure.reproducer() for failure in run_batch(seed).failures]
    assert not failures, "\n\n".join(failures)


def test_a_batch_is_the_same_each_time():
    assert run_batch(3).outcomes == run_batch(3).outcomes


@pytest.mark.parametrize("rewritten", [False, True])
def test_rounding_explains_little(rewritten):
    reference = Reference(program(("F", "np.exp({0})", "x0")), {"x0": X}, rewritten)
    y = np.exp(X)
    assert reference.verdict(y)[0] == "equal"
    assert reference.verdict(np.nextafter(y, 0))[0] == "rounded"
    assert reference.verdict(y * (1 + 1e-13))[0] == "wrong"
    assert reference.verdict(y.astype("float32"))[0] == "wrong"
    assert reference.verdict(y[:, None])[0] == "wrong"


def test_arithmetic_is_exact_as_it_is_written_and_rounded_where_it_is_rewritten():
    thirds = program(("D", "{0} / 3", "x0"))
    y = np.nextafter(X / 3, 0)
    assert Reference(thirds, {"x0": X}, rewritten=False).verdict(y)[0] == "wrong"
    assert Reference(thirds, {"x0": X}, rewritten=True).verdict(y)[0] == "rounded"


def test_constants_of_a_rewritten_sum_may_be_added_first():
    sums = program(("A", "{0} - -1.5", "x0"), ("A", "{0} + 1e-3", "t0"))
    x = np.array([-1.42600436, 0.5])
    assert Reference(sums, {"x0": x}, rewritten=True).verdict(x + 1.501)[0] == "rounded"
    assert Reference(sums, {"x0": x}, rewritten=False).verdict(x + 1.501)[0] == "wrong"
    assert Reference(sums, {"x0": x}, rewritten=True).verdict(x + 1.501 + 1e-14)[0] == "wrong"


def test_a_jump_is_a_tie_only_next_to_it():
    floors = program(("F", "np.exp2({0})", "x0"), ("E", "np.floor({0})", "t0"))
    reference = Reference(floors, {"x0": np.array([1.0, 1.5])}, rewritten=False)
    assert reference.verdict([1.0, 2.0])[0] == "tie"
    assert reference.verdict([2.0, 1.0])[0] == "wrong"


def test_zeros_have_the_sign_of_numpy_where_nothing_is_rewritten():
    negated = program(("A", "-{0}", "x0"))
    inputs = {"x0": np.array([0.0])}
    assert Reference(negated, inputs, rewritten=False).verdict([0.0])[0] == "wrong"
    assert Reference(negated, inputs, rewritten=True).verdict([0.0])[0] == "equal"


def test_an_overflow_that_is_avoided_is_no_wrong_value_where_graphs_are_rewritten():
    steps = program(("F", "np.exp({0})", "x0"), ("F", "np.log({0})", "t0"))
    inputs = {"x0": np.array([800.0])}
    assert Reference(steps, inputs, rewritten=True).verdict([800.0])[0] == "range"
    assert Reference(steps, inputs, rewritten=True).verdict([900.0])[0] == "wrong"
    assert Reference(steps, inputs, rewritten=False).verdict([800.0])[0] == "wrong"
    larger = {"x0": np.array([20000.0])}  # longdoubles overflow as well
    assert Reference(steps, larger, rewritten=True).verdict([20000.0])[0] == "beyond"


def test_a_regrouped_product_may_overflow_only_where_its_factors_are_extreme():
    products = program(("A", "{0} * {1}", "x1", "x0"), ("A", "{0} * {1}", "t0", "x0"))
    for size, outcome in ((1e200, "overflow"), (1e100, "wrong")):
        inputs = {"x0": np.array([size]), "x1": np.array([1 / size])}
        assert Reference(products, inputs, rewritten=True).verdict([np.inf])[0] == outcome
        assert Reference(products, inputs, rewritten=False).verdict([np.inf])[0] == "wrong"


def test_a_failure_shrinks_to_the_step_that_fails(monkeypatch):
    def compute(programs, inputs, setting):
        values = [p.values(inputs.values, NUMPY)[p.result] for p in programs]
        wrong = ["np.sin({0})" in [s.template for s in p.steps.values()] for p in programs]
        return [value + 1 if bad else value for value, bad in zip(values, wrong, strict=True)]

    monkeypatch.setattr(batch, "compute", compute)
    steps = program(
        ("A", "{0} + {1}", "x0", "x1"), ("F", "np.sin({0})", "t0"), ("A", "{0} * {0}", "t1")
    )
    setting = Setting("function", "o4", "assume", "cpu", "static")
    failure = Failure("wrong", "", steps, Inputs({"x0": X, "x1": X}, "plain"), setting)
    smallest = shrunk(failure)
    assert [step.template for step in smallest.program.steps.values()] == ["np.sin({0})"]
    assert smallest.message.startswith("np.float64(1.8414709848078965), not np.float64(0.841470984")
    assert "rg.function" in smallest.reproducer()
