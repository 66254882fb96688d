"""Arguments of the wrong kind: the text names the input, what it got, and how to mend it."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.api.argument_conversion import as_array
from relgraph.api.targets import backend_of
from relgraph.backends.cuda import adapter
from relgraph.errors import ArgumentError, DomainError, GPUNotAvailableError, ShapeError

A = rg.matrix("A", shape=("n", "n"))
CALL = rg.Function(rg.FunctionGraph([A], [A + 1]), None, target="numpy")


@pytest.mark.parametrize(
    ("value", "what", "fix"),
    [
        (np.array([[1, "a"]], dtype=object), "float64, and the array given is of Python", "astype"),
        (None, "is None, not an array", "Pass an array"),
        ([[1.0, 2.0], [3.0]], "is not an array", "equal lengths"),
    ],
)
def test_what_is_no_array_says_how_to_mend_it(value, what, fix):
    with pytest.raises(ArgumentError, match=what) as caught:
        as_array(A, value)
    assert fix in caught.value.fix
    assert "declared : float64[n, n]" in str(caught.value)


def test_one_input_of_two_sizes_is_named_once():
    with pytest.raises(ShapeError, match="'n' is 2 along axis 0 of the input 'A' and 3 along axis"):
        CALL(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("function", "value", "kind"),
    [
        (lambda v: v + 1.0, [1.0, 2.0], "list"),
        (lambda v: v.sum(), "abc", "str"),
        (lambda v: v.sum(), 3, "int"),
    ],
)
def test_containers_and_numbers_taken_for_arrays(function, value, kind):
    with pytest.raises(ArgumentError, match="cannot be called with these arguments") as caught:
        rg.jit(function, target="numpy")(value)
    assert f"v : {kind}" in str(caught.value)
    assert "np.array" in caught.value.fix


def test_errors_of_functions_of_arrays_stay_as_they_are():
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        rg.jit(lambda v: v + object() if False else 1 + "a", target="numpy")(np.ones(2))
    assert not isinstance(caught.value, ArgumentError)


def test_facts_that_exclude_each_other():
    for facts in (
        ("positive", "negative"),
        ("nonnegative", "negative"),
        ("positive", "nonpositive"),
    ):
        with pytest.raises(DomainError, match="'q' cannot be"):
            rg.vector("q", facts=facts)
    assert rg.vector("q", facts=("nonnegative", "nonpositive")).facts


def test_a_shape_is_a_tuple():
    with pytest.raises(ArgumentError, match="the shape of 't' is a string, 'nk', not a tuple"):
        rg.tensor("t", shape="nk")
    assert rg.vector("t", shape="n").type is rg.tensor("t", shape=("n",)).type


def test_a_target_without_a_device_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(adapter, "_usable", lambda: False)
    found = r"no GPU is available\n  numba  .*\n(.*\n)+  device  .*\nUse target='cpu'"
    with pytest.raises(GPUNotAvailableError, match=found):
        backend_of("cuda")
